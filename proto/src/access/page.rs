//! Access to the web page of a run: a separate secret, and a certificate if other machines may view it.
//!
//! The page's secret is not the run's token: its owner may read the page, but can neither join as a worker
//! nor stop the run. The secret is in the run's directory as [`NAME`], so that the address of the page stays
//! the same when the run is served again.

use super::arguments::GivenFile;
use super::files;
use super::keys::random_token;
use super::local_token::{read, write};
use super::token::Token;
use anyhow::{Context, Result};
use fathom_command::bad_input;
use rustls::client::verify_server_name;
use rustls::pki_types::ServerName;
use rustls::server::ParsedCertificate;
use rustls::{ServerConfig, pki_types::CertificateDer};
use std::path::Path;
use std::sync::Arc;

/// The name of the file in the run's directory.
pub const NAME: &str = "page-token";

/// The protocol inside TLS for browsers and metrics collectors.
const ALPN: &[u8] = b"http/1.1";

/// Returns the token of a run's page. Creates one if the run's directory has none.
///
/// # Errors
/// If the directory cannot hold a secret file.
pub fn token_of_run(run: &Path) -> Result<Token> {
    let path = run.join(NAME);
    if let Ok(token) = read(&path) {
        return Ok(token);
    }
    let token = random_token()?;
    write(&path, &token).with_context(|| format!("cannot write {}", path.display()))?;
    read(&path).map_err(|error| {
        bad_input!(
            "{} cannot be kept secret there ({error}): choose a directory on another file system with --dir, or drop --http",
            path.display()
        )
    })
}

/// Returns the token of a run's page without writing into the run's directory: the existing one, or a new
/// one.
///
/// # Errors
/// If the system provides no random bytes.
pub fn token_for_reading(run: &Path) -> Result<Token> {
    match read(&run.join(NAME)) {
        Ok(token) => Ok(token),
        Err(_) => Ok(random_token()?),
    }
}

/// A certificate with its key, for callers that have no certificate.
#[derive(Clone, Debug)]
pub struct PageTls {
    /// The configuration for accepting connections.
    pub config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

impl PageTls {
    /// Reads a certificate and its key.
    ///
    /// # Errors
    /// Bad input: a file is missing or invalid, or the key is accessible to other users.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self> {
        let given = |option, path: &Path| GivenFile { option, path: path.into() };
        let identity =
            files::identity(&given("--http-tls-cert", certificate), &given("--http-tls-key", key))?;
        let certificate = identity.first().clone();
        let mut config = identity.server(None)?;
        config.alpn_protocols = vec![ALPN.into()];
        Ok(Self { config: Arc::new(config), certificate })
    }

    /// Returns whether the certificate is valid for a host name or address.
    pub fn is_for(&self, host: &str) -> bool {
        let name = ServerName::try_from(host);
        let certificate = ParsedCertificate::try_from(&self.certificate);
        matches!((certificate, name), (Ok(certificate), Ok(name)) if verify_server_name(&certificate, &name).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::keys::Authority;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    #[test]
    fn hosts_are_checked_against_the_certificate() {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
        let valid = SystemTime::now()..SystemTime::now() + Duration::from_secs(3600);
        let (cert, secret) = Authority::new(&valid).unwrap().certificate("node7.example", &valid).unwrap();
        std::fs::write(&certificate, cert).unwrap();
        std::fs::write(&key, secret).unwrap();
        let open = PageTls::load(&certificate, &key).unwrap_err().to_string();
        assert!(open.starts_with("--http-tls-key: "), "{open}");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        let tls = PageTls::load(&certificate, &key).unwrap();
        for (host, expected) in [
            ("node7.example", true),
            ("evil.example", false),
            ("127.0.0.1", false),
            ("", false),
            ("a b", false),
        ] {
            assert_eq!(tls.is_for(host), expected, "{host}");
        }
    }

    #[test]
    fn page_token_is_reused_and_private() {
        let run = tempfile::tempdir().unwrap();
        let token = token_of_run(run.path()).unwrap();
        assert_eq!(token_of_run(run.path()).unwrap(), token);
        assert_eq!(token_for_reading(run.path()).unwrap(), token);
        let path = run.path().join(NAME);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // A token that others could read is not secret, and is replaced.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(token_for_reading(run.path()).unwrap(), token);
        assert_ne!(token_of_run(run.path()).unwrap(), token);
    }
}
