//! Logs: for people on standard error, and as JSON lines in the run's directory.

use crate::machine;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// How much is said on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors alone.
    Quiet,
    /// Progress, as bars on a terminal and a line a layer elsewhere.
    #[default]
    Normal,
    /// A line for each task.
    Verbose,
}

impl Verbosity {
    /// By the options `--quiet` and `--verbose`.
    pub fn of(quiet: bool, verbose: bool) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (_, true) => Self::Verbose,
            _ => Self::Normal,
        }
    }

    /// Whether progress is shown as bars.
    pub fn shows_bars(self) -> bool {
        self == Self::Normal && std::io::stderr().is_terminal()
    }

    fn level(self) -> LevelFilter {
        match self {
            Self::Quiet => LevelFilter::ERROR,
            Self::Normal if self.shows_bars() => LevelFilter::WARN,
            Self::Normal => LevelFilter::INFO,
            Self::Verbose => LevelFilter::DEBUG,
        }
    }
}

/// The log of this host's processes, among many that work in one directory: `logs/WHAT-HOST.jsonl` below it. Lines are appended
/// whole, so processes of one host may share it.
///
/// # Errors
/// If the directory cannot be made.
pub fn file_of_host(directory: &Path, what: &str) -> Result<PathBuf> {
    let logs = directory.join("logs");
    std::fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    Ok(logs.join(format!("{what}-{}.jsonl", machine::host_name())))
}

/// What Fathom says itself; of the libraries that it uses, only what must be known.
fn ours(level: LevelFilter) -> Targets {
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("fathom", level)
}

/// Starts logging, once a process: for people on standard error, and appended to a file as JSON lines.
///
/// # Errors
/// If the log file cannot be opened.
pub fn start(path: &Path, verbosity: Verbosity) -> Result<()> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    let people = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let people = people.with_target(false).compact();
    let machines = fmt::layer().json().flatten_event(true).with_writer(Mutex::new(file));
    // A process that has a log already keeps it: tests run several searches in one.
    let _ = tracing_subscriber::registry()
        .with(people.with_filter(ours(verbosity.level())))
        .with(machines.with_filter(ours(LevelFilter::DEBUG)))
        .try_init();
    Ok(())
}
