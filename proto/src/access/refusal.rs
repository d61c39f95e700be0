//! Why two processes do not get on, in words that are right on both sides.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};
use std::io;
use std::time::Duration;

/// What is wrong with a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is none.
    #[error("was not given: give --tls-cert and --tls-key")]
    Missing,
    /// It is from an authority that is not trusted.
    #[error("is from another authority: use files of the same 'fathom keys' on both sides")]
    Foreign,
    /// It is too old or too new.
    #[error("has expired or is not valid yet: make a new one, or set the clock right")]
    OutOfDate,
    /// It is for somebody else.
    #[error("is for another name: say with --tls-name which one it has")]
    OtherName,
    /// Something else.
    #[error("cannot be used: {0}")]
    Other(String),
}

/// Why two processes do not get on. "It" is the peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This side speaks TLS.
    #[error("it speaks plain text and this side TLS: give the --tls options to both or to neither")]
    PlainText,
    /// This side speaks plain text.
    #[error("it speaks TLS and this side plain text: give the --tls options to both or to neither")]
    Tls,
    /// It speaks something else.
    #[error("what it says is not HTTP/2")]
    NotHttp2,
    /// The peer's certificate is not accepted.
    #[error("its certificate {0}")]
    Theirs(Fault),
    /// The peer does not accept this side's certificate.
    #[error("it does not accept the certificate of this side, which {0}")]
    Ours(Fault),
    /// TLS fails for another reason.
    #[error("TLS fails: {0}")]
    OtherTls(String),
    /// The connection ended before it was of use.
    #[error("it broke off while the connection was made")]
    BrokeOff,
    /// Others wanted its place while it had not shown the token.
    #[error("it did not say who it is, and others wanted its place")]
    Displaced,
    /// There is no room.
    #[error("{0}")]
    Full(String),
    /// It took too long.
    #[error("it did not say who it is within {0:?}")]
    Silent(Duration),
}

impl Refusal {
    /// What a failure of a connection says of TLS; `None` if it is about the network.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref::<Error>()?;
        Some(match error {
            Error::InvalidCertificate(error) => Self::Theirs(Fault::of(error)),
            Error::NoCertificatesPresented => Self::Theirs(Fault::Missing),
            Error::AlertReceived(alert) => match Fault::said(*alert) {
                Some(fault) => Self::Ours(fault),
                None => Self::OtherTls(format!("it says {alert:?}")),
            },
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => Self::PlainText,
            other => Self::OtherTls(other.to_string()),
        })
    }
}

impl Fault {
    fn of(error: &CertificateError) -> Self {
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

    /// What the peer says of this side's certificate, if it says anything of it.
    fn said(alert: AlertDescription) -> Option<Self> {
        Some(match alert {
            AlertDescription::CertificateRequired => Self::Missing,
            AlertDescription::UnknownCA | AlertDescription::DecryptError => Self::Foreign,
            AlertDescription::CertificateExpired => Self::OutOfDate,
            // Also what is said of a malformed one, but that would not have been read from its file.
            AlertDescription::BadCertificate => Self::OtherName,
            AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate => Self::Other(format!("{alert:?}")),
            _ => return None,
        })
    }
}
