//! The file `at-work.json` in a run's directory: the process that works on the run writes it, and `fathom
//! status`, `fathom top` and `fathom page` read it.
//!
//! The file is not part of the run: the search does not depend on its content, or on whether it can be
//! written.

use fathom_command::machine::host_name;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The name of the file.
pub const FILE: &str = "at-work.json";
/// A process on another host counts as ended after this time without a write.
const SILENT: Duration = Duration::from_secs(60);

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The host of the process.
    pub host: String,
    /// The number of the process on its host.
    pub pid: u32,
    /// `searched` or `served`: what the process does with the run.
    pub what: String,
    /// The address that answers `fathom status`, if the run is served.
    pub address: Option<String>,
    /// The command that queries that address for the status.
    pub status_command: Option<String>,
    /// When the process began, in seconds since 1970.
    pub since: u64,
    /// The most bytes that the run's files may take, if there is a limit.
    #[serde(default)]
    pub disk_limit_bytes: Option<u64>,
    /// The progress of the search; `None` while the search prepares.
    pub progress: Option<Progress>,
    /// The age of the file, in seconds. Zero for the process that writes it.
    #[serde(skip)]
    pub age: u64,
}

/// The progress of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The depth that is being computed.
    pub depth: u32,
    /// Number of its shards that are done.
    pub shards_done: u32,
    /// Number of all its shards.
    pub shards: u32,
    /// Number of its cosets that are done.
    pub cosets_done: u64,
    /// Number of all its cosets.
    pub cosets: u64,
    /// Seconds since the depth was started.
    pub depth_seconds: f64,
    /// Number of states visited at this depth and all smaller ones.
    pub visited: u64,
    /// Number of states of the space, if it is known.
    pub states: Option<u64>,
    /// New states per second, over the last half minute.
    pub states_per_second: f64,
    /// Seconds that the search may still take, if that is known.
    pub seconds_left: Option<f64>,
    /// Bytes of the run's files. `None` if the layers are not in the run's directory.
    pub disk_bytes: Option<u64>,
}

/// Returns the note of the process that works on a run now; `None` if there is no note or the process has
/// ended.
pub fn of(run: &Path) -> Option<Note> {
    let path = run.join(FILE);
    let mut note: Note = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
    let age = path.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
    note.age = age.as_secs();
    let is_there = match note.host == host_name() {
        true => fs::read_to_string(format!("/proc/{}/comm", note.pid))
            .is_ok_and(|name| name.starts_with("fathom")),
        false => age < SILENT,
    };
    is_there.then_some(note)
}
