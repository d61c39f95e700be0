//! The options of the page that shows a run in a browser.

use clap::Args;
use fathom_command::address::to_listen_on;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The options of the page.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Page")]
pub(crate) struct HttpArguments {
    /// Show the run in a browser at this address, for example 127.0.0.1:8080; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", value_parser = to_listen_on)]
    pub(crate) http: Option<SocketAddr>,
    /// PEM certificate chain of the page; required if other machines can reach the page
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "http_tls_key")]
    pub(crate) http_tls_cert: Option<PathBuf>,
    /// PEM private key of the certificate; the file must be readable only by you
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "http_tls_cert")]
    pub(crate) http_tls_key: Option<PathBuf>,
    /// Keep serving the page for this long after the run has ended, for example 1h, or until Ctrl-C
    #[arg(long, hide_short_help = true, value_name = "TIME", allow_hyphen_values = true, value_parser = humantime::parse_duration, requires = "http")]
    pub(crate) http_linger: Option<Duration>,
    /// Serve metrics for Prometheus at this address, as /metrics, and the health of the process, as /healthz: in plain
    /// text, to anybody who can reach the address
    #[arg(long, hide_short_help = true, value_name = "ADDR:PORT", value_parser = to_listen_on)]
    pub(crate) metrics: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) http: HttpArguments,
}
