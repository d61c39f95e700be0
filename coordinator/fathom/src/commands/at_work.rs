//! The file `at-work.json` in a run's directory: the process that works on the run writes it, and `fathom
//! status` and `fathom top` read it.
//!
//! The file is not part of the run: the search does not depend on its content, or on whether it can be
//! written.

use crate::commands::gauge::Reading;
use crate::commands::gauge::line::{duration, percent, rounded};
use fathom_command::machine::host_name;
use fathom_layer::writer::temporary;
use indicatif::HumanBytes;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The name of the file.
const FILE: &str = "at-work.json";
/// A process on another host counts as gone after this time without a write.
const SILENT: Duration = Duration::from_secs(60);

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The host of the process; `pid` is its number there.
    pub(crate) host: String,
    pub(crate) pid: u32,
    /// `searched` or `served`: what the process does with the run.
    pub(crate) what: String,
    /// The address that answers `fathom status`, if the run is served.
    pub(crate) address: Option<String>,
    /// When the process began, in seconds since 1970.
    pub(crate) since: u64,
    /// The most bytes that the run's files may take, if there is a limit.
    #[serde(default)]
    pub(crate) disk_limit_bytes: Option<u64>,
    /// The progress of the search; `None` while the search prepares.
    pub(crate) progress: Option<Progress>,
}

impl Note {
    /// Describes for people which process works on the run, with its progress and speed.
    pub(crate) fn text(&self) -> String {
        let Self { host, pid, what, address, since, disk_limit_bytes, progress } = self;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(*since, |now| now.as_secs());
        let mut lines = vec![format!(
            "{what} by process {pid} on {host}, for {}",
            duration(now.saturating_sub(*since) as f64)
        )];
        lines
            .extend(address.as_ref().map(|address| format!("'fathom status {address}' tells how far it is")));
        if let Some(progress) = progress {
            let Progress { depth, shards_done, shards, cosets_done, cosets, depth_seconds, .. } = *progress;
            lines.push(format!(
                "depth {depth}: {shards_done} of {shards} shards done, {} of its cosets, for {}",
                percent(cosets_done, cosets),
                duration(depth_seconds)
            ));
            let left = progress.seconds_left.map(|left| format!(", about {} to the end", duration(left)));
            let limit = disk_limit_bytes.map_or(String::new(), |limit| format!(" of {}", HumanBytes(limit)));
            let disk = progress.disk_bytes.map(|bytes| format!("; {}{limit} of disk", HumanBytes(bytes)));
            lines.push(format!(
                "{} of all states visited, {} states/s{}{}",
                percent(progress.visited, progress.states),
                rounded(progress.states_per_second),
                left.unwrap_or_default(),
                disk.unwrap_or_default()
            ));
        }
        lines.join("\n")
    }
}

/// The progress of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub(crate) depth: u32,
    pub(crate) shards_done: u32,
    pub(crate) shards: u32,
    pub(crate) cosets_done: u64,
    pub(crate) cosets: u64,
    pub(crate) depth_seconds: f64,
    pub(crate) visited: u64,
    pub(crate) states: u64,
    pub(crate) states_per_second: f64,
    pub(crate) seconds_left: Option<f64>,
    /// `None` if the layers do not lie in the run's directory.
    pub(crate) disk_bytes: Option<u64>,
}

/// Keeps the file of the process at work, and removes it when dropped.
#[derive(Debug)]
pub(crate) struct AtWork {
    path: PathBuf,
    note: Note,
}

impl AtWork {
    /// Writes the file into a run's directory, which this process has locked.
    pub(crate) fn begin(
        run: &Path,
        what: &str,
        address: Option<String>,
        disk_limit_bytes: Option<u64>,
    ) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let note = Note {
            host: host_name(),
            pid: std::process::id(),
            what: what.into(),
            address,
            since,
            disk_limit_bytes,
            progress: None,
        };
        let this = Self { path: run.join(FILE), note };
        this.save();
        this
    }

    /// Writes the progress of the search.
    pub(crate) fn write(&mut self, reading: &Reading) {
        let Reading { depth, cosets, shards, seconds, visited, all, rate, left, disk_bytes } = *reading;
        self.note.progress = Some(Progress {
            depth,
            shards_done: shards[0],
            shards: shards[1],
            cosets_done: cosets[0],
            cosets: cosets[1],
            depth_seconds: seconds,
            visited,
            states: all,
            states_per_second: rate,
            seconds_left: left.map(|left| left.seconds),
            disk_bytes,
        });
        self.save();
    }

    fn save(&self) {
        let text = serde_json::to_string(&self.note).expect("numbers and strings are JSON");
        let temporary = temporary(&self.path);
        // If the file cannot be written, `fathom status` lacks the progress, and the search goes on.
        if fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &self.path)).is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the note of the process that works on a run now; `None` if there is no note or the process is
/// gone.
pub(crate) fn of(run: &Path) -> Option<Note> {
    let path = run.join(FILE);
    let note: Note = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
    let is_there = match note.host == host_name() {
        true => fs::read_to_string(format!("/proc/{}/comm", note.pid))
            .is_ok_and(|name| name.starts_with("fathom")),
        false => {
            let age = path.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
            age < SILENT
        }
    };
    is_there.then_some(note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_gone_is_not_at_work() {
        let directory = tempfile::tempdir().unwrap();
        let begun = AtWork::begin(directory.path(), "searched", None, None);
        let note: Note =
            serde_json::from_str(&fs::read_to_string(directory.path().join(FILE)).unwrap()).unwrap();
        assert_eq!(note.pid, std::process::id());
        // The process of this test is called after its crate.
        assert_eq!(of(directory.path()), Some(note.clone()));
        let save = |note: &Note| {
            fs::write(directory.path().join(FILE), serde_json::to_string(note).unwrap()).unwrap();
        };
        // No process has the largest number.
        save(&Note { pid: u32::MAX, ..note.clone() });
        assert_eq!(of(directory.path()), None);
        save(&Note { host: "elsewhere".into(), pid: u32::MAX, ..note });
        assert!(of(directory.path()).is_some());
        drop(begun);
        assert_eq!(of(directory.path()), None);
    }
}
