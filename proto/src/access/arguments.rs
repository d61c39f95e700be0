//! The options of every command that communicates with other processes.

use anyhow::Result;
use clap::Args;
use fathom_command::bad_input;
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
    /// Returns the files that these options name, with files of the directory of keys in place of those that
    /// are not named. With `--insecure` that directory is passed over: users may have a default for `--keys`
    /// in their settings, for other runs.
    ///
    /// # Errors
    /// Bad input: there is no directory of keys.
    pub(super) fn files(&self) -> Result<GivenFiles> {
        let keys = self.keys.as_ref().filter(|_| !self.insecure);
        if let Some(keys) = keys.filter(|keys| !keys.is_dir()) {
            let keys = keys.display();
            return Err(bad_input!(
                "--keys: there is no directory {keys}: 'fathom keys {keys}' makes one; FATHOM_KEYS or config.toml may name it too"
            ));
        }
        let file = |option, own: &Option<PathBuf>, name| {
            let own = own.as_ref().map(|path| GivenFile { option, path: path.clone() });
            own.or_else(|| keys.map(|keys| GivenFile { option: "--keys", path: keys.join(name) }))
        };
        Ok(GivenFiles {
            token: file("--token-file", &self.token_file, "token"),
            cert: file("--tls-cert", &self.tls_cert, "cert.pem"),
            key: file("--tls-key", &self.tls_key, "key.pem"),
            ca: file("--tls-ca", &self.tls_ca, "ca.pem"),
        })
    }

    pub(super) fn has_tls(&self) -> bool {
        self.tls_cert.is_some() || self.tls_key.is_some() || self.tls_ca.is_some() || self.tls_name.is_some()
    }
}

/// A file, and the option by which it was named, which messages begin with.
#[derive(Clone, Debug)]
pub(super) struct GivenFile {
    pub(super) option: &'static str,
    pub(super) path: PathBuf,
}

/// The files that stand for who may talk.
#[derive(Clone, Debug)]
pub(super) struct GivenFiles {
    pub(super) token: Option<GivenFile>,
    pub(super) cert: Option<GivenFile>,
    pub(super) key: Option<GivenFile>,
    pub(super) ca: Option<GivenFile>,
}
