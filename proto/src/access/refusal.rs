//! Reasons why two processes cannot communicate, worded so that they are right on both sides.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};
use std::io;
use std::time::Duration;

/// A fault of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is no certificate.
    #[error("was not given: add --keys DIR, or --tls-cert and --tls-key")]
    Missing,
    /// The certificate is from an authority that is not trusted.
    #[error("is from another authority: use the files of the same 'fathom keys' on both sides (--keys)")]
    Foreign,
    /// The certificate has expired, or is not valid yet.
    #[error("has expired or is not valid yet: create a new one, or correct the clock")]
    OutOfDate,
    /// The certificate is for another name.
    #[error("is for another name: pass its name with --tls-name")]
    OtherName,
    /// Another fault.
    #[error("cannot be used: {0}")]
    Other(String),
}

/// Why two processes cannot communicate. In the messages, "it" is the peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The client does not use TLS, and the server does.
    #[error("the server requires TLS: add --keys DIR (or set FATHOM_KEYS)")]
    TlsRequired,
    /// The client uses TLS, and the server does not.
    #[error(
        "the server does not use TLS: drop --keys (or unset FATHOM_KEYS), or start the server with --keys DIR"
    )]
    NoTls,
    /// The peer begins TLS and continues with something else.
    #[error("it does not speak TLS")]
    NotTls,
    /// The peer speaks another protocol.
    #[error("it does not speak HTTP/2")]
    NotHttp2,
    /// The peer's certificate is not accepted.
    #[error("its certificate {0}")]
    Theirs(Fault),
    /// The peer does not accept this side's certificate.
    #[error("it rejected this side's certificate, which {0}")]
    Ours(Fault),
    /// TLS fails for another reason.
    #[error("TLS fails: {0}")]
    OtherTls(String),
    /// The connection was closed before HTTP/2 began.
    #[error("it closed the connection during the handshake")]
    BrokeOff,
    /// The connection was closed in favour of a new one, before it had shown the token.
    #[error("it sent no request with a token in time, and was replaced by a new connection")]
    Displaced,
    /// There are too many connections.
    #[error("{0}")]
    Full(String),
    /// The peer took too long.
    #[error("no valid handshake within {0:?}")]
    Silent(Duration),
}

impl Refusal {
    /// Returns the refusal behind an error of a connection; `None` if the error is one of the network.
    pub(super) fn new(error: &io::Error) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref::<Error>()?;
        Some(match error {
            Error::InvalidCertificate(error) => Self::Theirs(Fault::new(error)),
            Error::NoCertificatesPresented => Self::Theirs(Fault::Missing),
            Error::AlertReceived(alert) => match Fault::said(*alert) {
                Some(fault) => Self::Ours(fault),
                None => Self::OtherTls(format!("it sent the alert {alert:?}")),
            },
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => Self::NotTls,
            other => Self::OtherTls(other.to_string()),
        })
    }
}

impl Fault {
    fn new(error: &CertificateError) -> Self {
        match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::Foreign,
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Self::OutOfDate,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::OtherName
            }
            other => Self::Other(format!("{other:?}")),
        }
    }

    /// Converts the peer's alert about this side's certificate; `None` if the alert is about something else.
    fn said(alert: AlertDescription) -> Option<Self> {
        Some(match alert {
            AlertDescription::CertificateRequired => Self::Missing,
            AlertDescription::UnknownCA | AlertDescription::DecryptError => Self::Foreign,
            AlertDescription::CertificateExpired => Self::OutOfDate,
            // Also sent for a malformed certificate, but such a file would not have been read.
            AlertDescription::BadCertificate => Self::OtherName,
            AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate => Self::Other(format!("{alert:?}")),
            _ => return None,
        })
    }
}
