//! A run that is served to workers on many hosts, and those who ask after it.

use super::OUTPUT;
use super::page::HttpArguments;
use super::search::{BeginArguments, OnDoneArguments};
use super::space::SpaceArguments;
use clap::{Args, value_parser};
use fathom_command::address::to_listen_on;
use fathom_coordinator::cluster::parts::PARTS;
use fathom_proto::access::AccessArguments;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a run is served.
#[derive(Debug, Args)]
pub(crate) struct ClusterArguments {
    /// Where to listen for workers
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7400", value_parser = to_listen_on)]
    pub(crate) listen: SocketAddr,
    /// How many workers must hold a file before its task is done
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = value_parser!(u32).range(1..=16))]
    pub(crate) replicas: u32,
    /// A worker that is silent for longer is lost, for example 30s
    #[arg(long, value_name = "TIME", default_value = "30s", allow_hyphen_values = true, value_parser = lease)]
    pub(crate) lease: Duration,
    /// Stop when this depth is made
    #[arg(long, value_name = "D")]
    pub(crate) max_depth: Option<u32>,
    /// Have shards made again by other workers, in at most this share of the run's time; at least one of
    /// each depth where that fits; 0 for none
    #[arg(long, value_name = "SHARE", default_value = "2%", allow_hyphen_values = true, value_parser = share)]
    pub(crate) audit: u32,
    /// Have workers remove what their stores hold of the run when it is complete
    ///
    /// The results stay with the coordinator. A worker that is not there at the end keeps its files:
    /// 'fathom-worker clean' removes them.
    #[arg(long)]
    pub(crate) clean_stores: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    #[command(flatten)]
    pub(crate) begin: BeginArguments,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Keep the layers in this directory, which coordinator and workers see alike; nothing is sent between
    /// workers then
    #[arg(long, value_name = "DIR", conflicts_with = "clean_stores")]
    pub(crate) shared_store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on_done: OnDoneArguments,
    /// Print one JSON object instead of a table
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
    #[command(flatten)]
    pub(crate) http: HttpArguments,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// The run's directory, or its coordinator as HOST:PORT
    #[arg(value_name = "DIR|HOST:PORT")]
    pub(crate) run: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Print it again every two seconds, until the run is complete or nobody works on it
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TopArguments {
    /// The run's directory, or its coordinator as HOST:PORT
    #[arg(value_name = "DIR|HOST:PORT")]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct WorkersArguments {
    /// The coordinator, as HOST:PORT
    pub(crate) coordinator: String,
    /// Print one JSON array instead of a table
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DrainArguments {
    /// The coordinator, as HOST:PORT
    pub(crate) coordinator: String,
    /// The worker, by its name or the beginning of its id
    pub(crate) worker: String,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    /// The coordinator, as HOST:PORT
    pub(crate) coordinator: String,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// The run's directory and stores of workers, below which logs are looked for; or a coordinator as
    /// HOST:PORT, of which what happens from now on is printed
    #[arg(required = true, value_name = "DIR|HOST:PORT")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Only lines about this depth
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<u32>,
    /// Only lines about this shard
    #[arg(long, value_name = "S")]
    pub(crate) shard: Option<u32>,
    /// Only lines about this worker, by its name or the beginning of its id
    #[arg(long, value_name = "WORKER")]
    pub(crate) worker: Option<String>,
    /// Print JSON lines on a terminal too; elsewhere they are printed anyway
    #[arg(long, conflicts_with = "text", help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Print text for people elsewhere too
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct KeysArguments {
    /// The directory to make; nothing in it may be there already
    pub(crate) dir: PathBuf,
    /// How many days the certificates are valid
    #[arg(long, default_value_t = 365, value_parser = value_parser!(u32).range(1..=36_500))]
    pub(crate) days: u32,
}

/// Reads a share such as `2%` or `0.02`, in parts of [`PARTS`].
fn share(text: &str) -> Result<u32, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let share = number.parse::<f64>().ok().map(|number| number / whole).filter(|s| (0.0..=1.0).contains(s));
    let share = share.ok_or_else(|| format!("{text:?} is no share: write 2% or 0.02, and at most 100%"))?;
    Ok((share * f64::from(PARTS)).round() as u32)
}

/// Reads a time such as `30s`, no shorter than heartbeats can be told apart.
fn lease(text: &str) -> Result<Duration, String> {
    let lease = humantime::parse_duration(text).map_err(|error| format!("{text:?} is no time: {error}"))?;
    match lease >= Duration::from_millis(500) {
        true => Ok(lease),
        false => Err("a lease is 500ms at least".into()),
    }
}
