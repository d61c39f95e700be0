//! Commands on a run on many hosts.

use super::page::HttpArguments;
use super::search::{BeginArguments, OnDoneArguments};
use super::served_options::ServedOptions;
use super::space::SpaceArguments;
use super::{ADVANCED, OUTPUT};
use clap::{Args, value_parser};
use fathom_command::address::{Reached, to_listen_on};
use fathom_coordinator::cluster::parts::PARTS;
use fathom_proto::access::AccessArguments;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The options of a coordinator.
#[derive(Debug, Args)]
pub(crate) struct ClusterArguments {
    /// Address to listen on for workers
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7400", value_parser = to_listen_on)]
    pub(crate) listen: SocketAddr,
    /// Address given to workers, as HOST or HOST:PORT [default: the address of --listen, or the name of this host]
    #[arg(long, hide_short_help = true, value_name = "HOST")]
    pub(crate) advertise: Option<Reached>,
    /// Number of workers that must store each file before its task counts as done
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = value_parser!(u32).range(1..=16))]
    pub(crate) replicas: u32,
    /// Declare a worker lost after this long without a heartbeat, for example 30s
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_name = "TIME", default_value = "30s", allow_hyphen_values = true, value_parser = lease)]
    pub(crate) lease: Duration,
    /// Stop after this depth
    #[arg(long, value_name = "D")]
    pub(crate) max_depth: Option<u32>,
    /// Fraction of computing time spent on catching faulty workers, by recomputing shards on a second worker; 0
    /// turns this off
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_name = "SHARE", default_value = "2%", allow_hyphen_values = true, value_parser = share)]
    pub(crate) audit: u32,
    /// Delete the run's files from the workers' stores when the run is complete
    ///
    /// The results stay with the coordinator. A worker that is not connected at the end keeps its files;
    /// 'fathom worker clean' removes them.
    #[arg(long, hide_short_help = true, help_heading = ADVANCED)]
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
    /// Directory for the layers on a file system that the coordinator and all workers share; workers then
    /// send each other nothing
    #[arg(long, value_name = "DIR", conflicts_with = "clean_stores")]
    pub(crate) shared_store: Option<PathBuf>,
    /// Write a file that leads workers to this coordinator, for 'fathom worker --join-file'
    ///
    /// The file is renewed every ten seconds. At the end it says whether the run has ended, or can be continued.
    #[arg(long, value_name = "FILE")]
    pub(crate) join_file: Option<PathBuf>,
    /// Exit with this code if a signal stops the coordinator before the run ends, so that a batch system starts it again
    #[arg(long, hide_short_help = true, value_name = "CODE", value_parser = value_parser!(u8).range(1..))]
    pub(crate) requeue_code: Option<u8>,
    #[command(flatten)]
    pub(crate) on_done: OnDoneArguments,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
    #[command(flatten)]
    pub(crate) http: HttpArguments,
    /// These options, as they are recorded in the run's directory.
    #[arg(skip)]
    pub(crate) options: Option<ServedOptions>,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// The run's directory, or its coordinator as HOST:PORT
    #[arg(value_name = "DIR|HOST:PORT")]
    pub(crate) run: PathBuf,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Refresh every two seconds, until the run is complete or no process is working on it
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
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DrainArguments {
    /// The coordinator, as HOST:PORT
    pub(crate) coordinator: String,
    /// The worker, by its name or an id prefix
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
    /// Directories of the run and of workers' stores, which are searched for logs; or a coordinator as
    /// HOST:PORT, whose log is followed
    #[arg(required = true, value_name = "DIR|HOST:PORT")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Only lines about this depth
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<u32>,
    /// Only lines about this shard
    #[arg(long, value_name = "S")]
    pub(crate) shard: Option<u32>,
    /// Only lines about this worker, given by its name or an id prefix
    #[arg(long, value_name = "WORKER")]
    pub(crate) worker: Option<String>,
    /// Print JSON lines even to a terminal
    #[arg(long, conflicts_with = "text", help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Print text even if the output is not a terminal
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct KeysArguments {
    /// Directory to create; it must not contain keys yet
    pub(crate) dir: PathBuf,
    /// Validity of the certificates in days
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
    let share = share.ok_or_else(|| format!("{text:?} is not a share; write 2% or 0.02, at most 100%"))?;
    Ok((share * f64::from(PARTS)).round() as u32)
}

/// Reads a time such as `30s`, long enough to distinguish heartbeats.
fn lease(text: &str) -> Result<Duration, String> {
    let lease =
        humantime::parse_duration(text).map_err(|error| format!("{text:?} is not a time: {error}"))?;
    match lease >= Duration::from_millis(500) {
        true => Ok(lease),
        false => Err("a lease must be at least 500ms".into()),
    }
}
