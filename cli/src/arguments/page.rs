//! A page in a browser that shows a run.

use clap::Args;
use fathom_command::address::to_listen_on;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Whether a run is shown on a page, and to whom.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Page")]
pub(crate) struct HttpArguments {
    /// Show the run in a browser, at this address, for example 127.0.0.1:8080; port 0 takes one that is free
    #[arg(long, value_name = "ADDR:PORT", value_parser = to_listen_on)]
    pub(crate) http: Option<SocketAddr>,
    /// The certificate of the page and those that vouch for it, as PEM; needed where other machines may look
    #[arg(long, value_name = "FILE", requires = "http_tls_key")]
    pub(crate) http_tls_cert: Option<PathBuf>,
    /// The private key of the certificate of the page, as PEM; nobody else may be able to read it
    #[arg(long, value_name = "FILE", requires = "http_tls_cert")]
    pub(crate) http_tls_key: Option<PathBuf>,
    /// Go on showing the page for so long when the run has ended, for example 1h; Ctrl-C ends the page
    /// earlier
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = humantime::parse_duration, requires = "http")]
    pub(crate) http_linger: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) http: HttpArguments,
}
