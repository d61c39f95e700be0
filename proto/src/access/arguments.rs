//! The options of every command that communicates with other processes.

use clap::Args;
use std::path::PathBuf;

/// Who may talk to this process, and how it calls others.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Who may talk")]
pub struct AccessArguments {
    /// A directory that 'fathom keys' made: stands for --token-file, --tls-cert, --tls-key and --tls-ca where
    /// these are not given
    #[arg(long, value_name = "DIR", env = "FATHOM_KEYS", hide_env_values = true)]
    pub keys: Option<PathBuf>,
    /// A file with the secret that all processes of a run share; nobody else may be able to read it
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// This process's certificate and those that vouch for it, as PEM
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM; nobody else may be able to read it
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// The authority that must have signed the certificates of all peers, callers included, as PEM
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// The name that must be in the certificates of those that are called [default: fathom]
    #[arg(long, value_name = "NAME")]
    pub tls_name: Option<String>,
    /// Talk to other machines without token and TLS
    #[arg(long)]
    pub insecure: bool,
}

impl AccessArguments {
    /// Returns these options, with files of the directory of keys in place of those that are not named.
    pub(super) fn with_keys(&self) -> Self {
        let file = |own: &Option<PathBuf>, name| {
            own.clone().or_else(|| self.keys.as_ref().map(|directory| directory.join(name)))
        };
        Self {
            token_file: file(&self.token_file, "token"),
            tls_cert: file(&self.tls_cert, "cert.pem"),
            tls_key: file(&self.tls_key, "key.pem"),
            tls_ca: file(&self.tls_ca, "ca.pem"),
            ..self.clone()
        }
    }

    pub(super) fn has_tls(&self) -> bool {
        self.tls_cert.is_some() || self.tls_key.is_some() || self.tls_ca.is_some() || self.tls_name.is_some()
    }
}
