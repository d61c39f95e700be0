//! New secrets for a run.

use super::{TLS_NAME, Token};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use std::fmt;
use std::ops::Range;
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Certificates are valid from this long before now, because the clocks of a cluster may differ.
const BEFORE: Duration = DAY;

/// Number of random bytes in a token.
const TOKEN_BYTES: usize = 32;

/// A token, an authority, and a certificate for all processes of a run. All but the token are PEM.
pub struct Keys {
    /// 32 random bytes as hexadecimal digits.
    pub token: String,
    /// The authority's certificate.
    pub ca: String,
    /// The authority's private key, for further certificates. No process of a run needs it.
    pub ca_key: String,
    /// The certificate for both sides of a connection, in the name of [`TLS_NAME`].
    pub cert: String,
    /// The private key of the certificate.
    pub key: String,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// Why no keys could be created.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The system provides no random bytes.
    #[error("the system provides no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    /// A key or certificate could not be created.
    #[error("cannot create a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
}

impl Keys {
    /// Creates keys whose certificates are valid for `days` days from now.
    ///
    /// # Errors
    /// If the system provides no random bytes, or a certificate cannot be created.
    pub fn make(days: u32) -> Result<Self, KeysError> {
        let now = SystemTime::now();
        let valid = now - BEFORE..now + DAY * days;
        let authority = Authority::new(&valid)?;
        let (cert, key) = authority.certificate(TLS_NAME, &valid)?;
        Ok(Self {
            token: random_hex(TOKEN_BYTES)?,
            ca: authority.0.pem(),
            ca_key: authority.0.key().serialize_pem(),
            cert,
            key,
        })
    }
}

/// The authority that signs the certificates of a run's processes.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority(..)")
    }
}

impl Authority {
    /// Creates a new authority.
    ///
    /// # Errors
    /// If the system provides no random bytes, or the certificate cannot be created.
    pub fn new(valid: &Range<SystemTime>) -> Result<Self, KeysError> {
        let mut params = CertificateParams::default();
        params.not_before = OffsetDateTime::from(valid.start);
        params.not_after = OffsetDateTime::from(valid.end);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        // Each authority gets a unique name. Otherwise a certificate of another authority would fail with a
        // bad signature instead of an unknown issuer.
        params.distinguished_name = named(&format!("Fathom authority {}", random_hex(8)?));
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    /// Returns the authority's certificate, as PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Creates a certificate for both sides of a connection. Returns the certificate and its private key, as
    /// PEM.
    ///
    /// # Errors
    /// If `name` is invalid, or the system provides no random bytes.
    pub fn certificate(&self, name: &str, valid: &Range<SystemTime>) -> Result<(String, String), KeysError> {
        let mut params = CertificateParams::new([name.to_owned()])?;
        params.not_before = OffsetDateTime::from(valid.start);
        params.not_after = OffsetDateTime::from(valid.end);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.distinguished_name = named(name);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}

/// Creates a new token.
pub(super) fn random_token() -> Result<Token, KeysError> {
    let text = random_hex(TOKEN_BYTES)?;
    Ok(Token::new(text.as_bytes()).expect("hexadecimal digits make a token"))
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn random_hex(length: usize) -> Result<String, getrandom::Error> {
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
