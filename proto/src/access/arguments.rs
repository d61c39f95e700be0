//! The options of every command that communicates with other processes.

use anyhow::Result;
use clap::Args;
use fathom_command::{bad_input, shell};
use std::path::PathBuf;

/// Authentication and encryption of connections to and from this process.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Authentication and TLS")]
pub struct AccessArguments {
    /// Directory created by 'fathom keys': provides the defaults of --token-file, --tls-cert, --tls-key and
    /// --tls-ca
    #[arg(long, value_name = "DIR", env = "FATHOM_KEYS", hide_env_values = true)]
    pub keys: Option<PathBuf>,
    /// File with the secret shared by all processes of a run; must be readable only by its owner
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub token_file: Option<PathBuf>,
    /// Certificate of this process with its chain, in PEM format
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM format; must be readable only by its owner
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tls_key: Option<PathBuf>,
    /// CA certificate, in PEM format, that must have signed the certificates of all peers and clients
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tls_ca: Option<PathBuf>,
    /// Name expected in the certificates of the servers this process connects to [default: fathom]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub tls_name: Option<String>,
    /// Communicate with other machines without a token or TLS
    #[arg(long)]
    pub insecure: bool,
}

impl AccessArguments {
    /// Returns the files named by these options, with files of the directory of keys in place of those that
    /// are not named. With `--insecure` that directory is ignored: users may have a default for `--keys` in
    /// their settings, for other runs.
    ///
    /// # Errors
    /// Bad input: the directory of keys does not exist.
    pub(super) fn files(&self) -> Result<GivenFiles> {
        let keys = self.keys.as_ref().filter(|_| !self.insecure);
        if let Some(keys) = keys.filter(|keys| !keys.is_dir()) {
            let keys = keys.display();
            return Err(bad_input!(
                "--keys: directory {keys} does not exist (it may come from FATHOM_KEYS or config.toml). Create it: fathom keys {keys}"
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

    /// Returns these options in command line form, each preceded by a space: other processes of the run need
    /// the same. Paths are absolute.
    pub(super) fn options(&self) -> String {
        let absolute =
            |path: &PathBuf| shell::path(&std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        let files = [
            ("keys", self.keys.as_ref().filter(|_| !self.insecure)),
            ("token-file", self.token_file.as_ref()),
            ("tls-cert", self.tls_cert.as_ref()),
            ("tls-key", self.tls_key.as_ref()),
            ("tls-ca", self.tls_ca.as_ref()),
        ];
        let files = files.map(|(option, path)| Some(format!(" --{option} {}", absolute(path?))));
        let name = self.tls_name.as_ref().map(|name| format!(" --tls-name {}", shell::quoted(name)));
        let insecure = self.insecure.then(|| " --insecure".to_owned());
        files.into_iter().chain([name, insecure]).flatten().collect()
    }

    pub(super) fn has_tls(&self) -> bool {
        self.tls_cert.is_some() || self.tls_key.is_some() || self.tls_ca.is_some() || self.tls_name.is_some()
    }
}

/// A file, and the option that named it, with which messages begin.
#[derive(Clone, Debug)]
pub(super) struct GivenFile {
    pub(super) option: &'static str,
    pub(super) path: PathBuf,
}

/// The files for authentication and encryption.
#[derive(Clone, Debug)]
pub(super) struct GivenFiles {
    pub(super) token: Option<GivenFile>,
    pub(super) cert: Option<GivenFile>,
    pub(super) key: Option<GivenFile>,
    pub(super) ca: Option<GivenFile>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_reproduced() {
        let options = |arguments: AccessArguments| arguments.options();
        assert_eq!(options(AccessArguments::default()), "");
        let keys = AccessArguments { keys: Some("/etc/my keys".into()), ..AccessArguments::default() };
        assert_eq!(options(keys.clone()), " --keys '/etc/my keys'");
        // The directory of keys is ignored.
        assert_eq!(options(AccessArguments { insecure: true, ..keys }), " --insecure");
        let here = std::env::current_dir().unwrap();
        let files = AccessArguments {
            token_file: Some("token".into()),
            tls_cert: Some("/c".into()),
            tls_key: Some("/k".into()),
            tls_ca: Some("/a".into()),
            tls_name: Some("node7".into()),
            ..AccessArguments::default()
        };
        let token = shell::path(&here.join("token"));
        let all = format!(" --token-file {token} --tls-cert /c --tls-key /k --tls-ca /a --tls-name node7");
        assert_eq!(options(files), all);
    }
}
