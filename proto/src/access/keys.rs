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

/// Clocks of a cluster may be apart.
const BEFORE: Duration = DAY;

/// Bytes of a token.
const TOKEN_BYTES: usize = 32;

/// A token, an authority, and a certificate for all processes of a run. All but the token is PEM.
pub struct Keys {
    /// 32 random bytes as hexadecimal digits.
    pub token: String,
    /// The authority's certificate.
    pub ca: String,
    /// The authority's private key. It makes further certificates, and no process of a run needs it.
    pub ca_key: String,
    /// The certificate, for calling and being called, in the name of [`TLS_NAME`].
    pub cert: String,
    /// Its private key.
    pub key: String,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// Why there are no new keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The system does not give any random bytes.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    /// The keys or certificates cannot be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
}

impl Keys {
    /// Makes keys whose certificates are valid for some days from now.
    ///
    /// # Errors
    /// If the system does not give any random bytes.
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

/// Who vouches for the processes of a run.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority(..)")
    }
}

impl Authority {
    /// A new one.
    ///
    /// # Errors
    /// If the system does not give any random bytes.
    pub fn new(valid: &Range<SystemTime>) -> Result<Self, KeysError> {
        let mut params = CertificateParams::default();
        params.not_before = OffsetDateTime::from(valid.start);
        params.not_after = OffsetDateTime::from(valid.end);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        // Authorities with one name would be taken for each other, and then told apart by a signature that
        // does not fit.
        params.distinguished_name = named(&format!("Fathom authority {}", random_hex(8)?));
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    /// Its certificate, as PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for calling and being called, and its private key, as PEM.
    ///
    /// # Errors
    /// If the name is none, or the system does not give any random bytes.
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

/// A new token.
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
