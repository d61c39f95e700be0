//! Logs: readable lines on standard error, and JSON lines in the run's directory.

use crate::bad_input;
use crate::machine;
use crate::rotation::{LogFile, MAX_BYTES};
use crate::terminal_line;
use anyhow::{Context, Result};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// The verbosity on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Only errors.
    Quiet,
    /// Progress, as bars on a terminal and one line per layer elsewhere.
    #[default]
    Normal,
    /// A line for each task.
    Verbose,
}

impl Verbosity {
    /// Returns the verbosity that the options `--quiet` and `--verbose` ask for.
    pub fn new(quiet: bool, verbose: bool) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (_, true) => Self::Verbose,
            _ => Self::Normal,
        }
    }

    /// Returns whether progress is shown as bars.
    pub fn shows_bars(self) -> bool {
        self == Self::Normal && std::io::stderr().is_terminal()
    }

    /// Returns the level of log lines for a command that shows bars if possible.
    pub fn beside_bars(self) -> LevelFilter {
        if self.shows_bars() { LevelFilter::WARN } else { self.lines() }
    }

    /// Returns the level of log lines for a command that has no bars.
    pub fn lines(self) -> LevelFilter {
        match self {
            Self::Quiet => LevelFilter::ERROR,
            Self::Normal => LevelFilter::INFO,
            Self::Verbose => LevelFilter::DEBUG,
        }
    }
}

/// Returns the path of the log for processes of this host, `logs/WHAT-HOST.jsonl`, below a directory in which
/// processes of many hosts may work. Lines are appended whole, so the processes of a host may share the log.
///
/// # Errors
/// If the directory cannot be created.
pub fn file_of_host(directory: &Path, what: &str) -> Result<PathBuf> {
    let logs = directory.join("logs");
    std::fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
    Ok(logs.join(format!("{what}-{}.jsonl", machine::host_name())))
}

/// Returns the filter of events: those of Fathom up to a level, and only warnings and errors of libraries.
fn ours(level: LevelFilter) -> Targets {
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("fathom", level)
}

/// Adds the worker and the run to every line that is written to the file from now on.
pub fn tag(run: &str, worker: &str) {
    // Only the first call counts: a process works as one worker on one run.
    let _ = TAGS.set(format!(r#"{{"run":"{run}","worker":"{worker}","#));
}

static TAGS: OnceLock<String> = OnceLock::new();

/// A file of JSON lines, each of which is written in one call and with the tags.
struct Tagged(LogFile);

impl Write for Tagged {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match (TAGS.get(), line.strip_prefix(b"{")) {
            (Some(tags), Some(rest)) => self.0.line(&[tags.as_bytes(), rest].concat())?,
            _ => self.0.line(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard error, with log lines above the line of progress.
struct People;

impl Write for People {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        terminal_line::above(|| io::stderr().write_all(text)).map(|()| text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Starts logging, once in a process: readable lines to standard error, up to a level, and JSON lines to a
/// file, to which they are appended.
///
/// # Errors
/// Bad input if the log file is a symbolic link; an error if it cannot be opened.
pub fn start(path: &Path, people_hear: LevelFilter) -> Result<()> {
    if path.is_symlink() {
        return Err(bad_input!(
            "{} is a symbolic link, and the log would be written to its target: remove the link",
            path.display()
        ));
    }
    let file = LogFile::open(path, MAX_BYTES).with_context(|| format!("cannot open {}", path.display()))?;
    let people = fmt::layer().with_writer(|| People).with_ansi(std::io::stderr().is_terminal());
    // Standard error may be closed. Without this, the layer would try to report that there, and panic.
    let people = people.with_target(false).log_internal_errors(false).compact();
    let machines = fmt::layer()
        .json()
        .flatten_event(true)
        .log_internal_errors(false)
        .with_writer(Mutex::new(Tagged(file)));
    // A process that already has a log keeps it: tests run several searches in one process.
    let _ = tracing_subscriber::registry()
        .with(people.with_filter(ours(people_hear)))
        .with(machines.with_filter(ours(LevelFilter::DEBUG)))
        .try_init();
    Ok(())
}
