//! Files with tokens, keys and certificates, and the TLS configurations built from them.
//!
//! Only TLS 1.3 is used, because both sides are Fathom. Sessions are never resumed: certificates are checked
//! at every connection, so that an expired one is refused.

use super::arguments::GivenFile;
use super::token::Token;
use anyhow::Result;
use fathom_command::bad_input;
use fathom_layer::Digest;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

/// Largest size of a file with a secret or certificates, in bytes.
const LARGEST: u64 = 1 << 20;

/// The protocol inside TLS.
const ALPN: &[u8] = b"h2";

/// Reads a file, and refuses it if others than its owner may access it.
fn read_secret(given: &GivenFile) -> Result<Vec<u8>> {
    let file = open(given)?;
    let mode = file.metadata().map_err(|error| unreadable(given, &error))?.permissions().mode();
    if mode & 0o077 != 0 {
        let (option, path) = (given.option, given.path.display());
        return Err(bad_input!(
            "{option}: {path} is accessible to other users (mode {:03o}): chmod 600 {path}",
            mode & 0o777
        ));
    }
    read(file, given)
}

fn open(given: &GivenFile) -> Result<File> {
    File::open(&given.path).map_err(|error| unreadable(given, &error))
}

fn read(file: File, given: &GivenFile) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(given, &error))?;
    if bytes.len() as u64 > LARGEST {
        let (option, path) = (given.option, given.path.display());
        return Err(bad_input!("{option}: {path} is larger than {LARGEST} bytes: give another file"));
    }
    Ok(bytes)
}

fn unreadable(given: &GivenFile, error: &std::io::Error) -> anyhow::Error {
    bad_input!("{}: cannot read {}: {error}", given.option, given.path.display())
}

/// Reads a token.
pub(super) fn token(given: &GivenFile) -> Result<Token> {
    Token::new(&read_secret(given)?)
        .map_err(|error| bad_input!("{}: {} {error}", given.option, given.path.display()))
}

fn certificates(given: &GivenFile) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = read(open(given)?, given)?;
    let (option, path) = (given.option, given.path.display());
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(bad_input!("{option}: {path} contains no certificate: give a PEM file")),
        Err(error) => Err(bad_input!("{option}: {path} is not a PEM file: {error}")),
    }
}

/// The certificate of this process.
pub(super) struct Identity {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// The files of the certificate and of its key, for messages.
    files: [GivenFile; 2],
}

/// Reads a certificate and its key.
pub(super) fn identity(certificate: &GivenFile, key: &GivenFile) -> Result<Identity> {
    let certificates = certificates(certificate)?;
    let files = [certificate.clone(), key.clone()];
    let (option, path) = (key.option, key.path.display());
    // The error is dropped, because it might quote the file.
    let key = PrivateKeyDer::from_pem_slice(&read_secret(key)?)
        .map_err(|_| bad_input!("{option}: {path} contains no private key: give a PEM file"))?;
    Ok(Identity { certificates, key, files })
}

impl Identity {
    /// Returns the certificate itself, without its chain.
    pub(super) fn first(&self) -> &CertificateDer<'static> {
        &self.certificates[0]
    }

    /// Returns the configuration for accepting callers. With an authority, callers must have a certificate
    /// from it.
    pub(super) fn server(&self, authority: Option<&Authority>) -> Result<ServerConfig> {
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .expect("ring supports TLS 1.3");
        let config = match authority {
            Some(authority) => {
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::clone(&authority.roots), provider());
                config.with_client_cert_verifier(
                    verifier.build().expect("an authority has a certificate, and nothing is revoked"),
                )
            }
            None => config.with_no_client_auth(),
        };
        let mut config = config
            .with_single_cert(self.certificates.clone(), self.key.clone_key())
            .map_err(|error| self.unfit(&error))?;
        config.alpn_protocols = vec![ALPN.into()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    fn unfit(&self, error: &rustls::Error) -> anyhow::Error {
        let [certificate, key] = &self.files;
        let (option, path) = (certificate.option, certificate.path.display());
        bad_input!("{option}: {path} cannot be used with the key {}: {error}", key.path.display())
    }
}

/// The authorities whose certificates are trusted.
pub(super) struct Authority {
    roots: Arc<RootCertStore>,
    /// The digest of the certificates.
    fingerprint: Digest,
}

/// Reads the certificates of authorities.
pub(super) fn authority(given: &GivenFile) -> Result<Authority> {
    let mut roots = RootCertStore::empty();
    let (option, path) = (given.option, given.path.display());
    let certificates = certificates(given)?;
    let fingerprint = Digest::new(
        &certificates.iter().flat_map(|certificate| certificate.iter()).copied().collect::<Vec<u8>>(),
    );
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|error| bad_input!("{option}: {path} is not a certificate authority: {error}"))?;
    }
    Ok(Authority { roots: Arc::new(roots), fingerprint })
}

impl Authority {
    /// Returns a text that tells this authority from others.
    pub(super) fn fingerprint(&self) -> String {
        self.fingerprint.to_string()[..16].into()
    }

    /// Returns the configuration for calling others, with this process's certificate if there is one.
    pub(super) fn client(&self, identity: Option<&Identity>) -> Result<ClientConfig> {
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::clone(&self.roots), provider())
            .build()
            .expect("an authority has a certificate, and nothing is revoked");
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .expect("ring supports TLS 1.3")
            .with_webpki_verifier(verifier);
        let mut config = match identity {
            Some(identity) => config
                .with_client_auth_cert(identity.certificates.clone(), identity.key.clone_key())
                .map_err(|error| identity.unfit(&error))?,
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![ALPN.into()];
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
