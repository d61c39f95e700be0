//! Writes the file `at-work.json` of a run, and formats its content for display.

use crate::commands::progress_estimator::Sample;
use crate::commands::progress_estimator::line::{duration, percent, rounded};
use fathom_command::machine::host_name;
use fathom_coordinator::cluster::suggested_commands::Commands;
use fathom_engine::run_presence::{FILE, Progress};
pub(crate) use fathom_engine::run_presence::{Note, of};
use fathom_layer::writer::temporary;
use fathom_report::text::many;
use indicatif::HumanBytes;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The age in seconds from which a file is reported as possibly out of date. Processes write it once a
/// second.
const STALE: u64 = 20;

/// Describes the process that works on the run, with its progress and speed.
pub(crate) fn text(note: &Note) -> String {
    let Note { host, pid, what, address: _, status_command, since, disk_limit_bytes, progress, age } = note;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(*since, |now| now.as_secs());
    let mut lines = vec![format!(
        "{what} by process {pid} on {host} for {}",
        duration(now.saturating_sub(*since) as f64)
    )];
    lines.extend(status_command.as_ref().map(|command| format!("'{command}' shows the progress")));
    if let Some(progress) = progress {
        let Progress { depth, shards_done, shards, cosets_done, cosets, depth_seconds, .. } = *progress;
        lines.push(format!(
            "depth {depth}: {shards_done} of {shards} shards done, {} of its cosets, for {}",
            percent(cosets_done, cosets),
            duration(depth_seconds)
        ));
        let left = progress.seconds_left.map(|left| format!(", about {} left", duration(left)));
        let limit = disk_limit_bytes.map_or(String::new(), |limit| format!(" of {}", HumanBytes(limit)));
        let disk = progress.disk_bytes.map(|bytes| format!("; {}{limit} of disk", HumanBytes(bytes)));
        let visited = match progress.states {
            Some(all) => format!("{} of all states", percent(progress.visited, all)),
            None => many(progress.visited, "state"),
        };
        lines.push(format!(
            "{visited} visited, {} states/s{}{}",
            rounded(progress.states_per_second),
            left.unwrap_or_default(),
            disk.unwrap_or_default()
        ));
        if *age >= STALE {
            let age = duration(*age as f64);
            lines.push(format!("last update {age} ago; the process may be stopped or blocked on I/O"));
        }
    }
    lines.join("\n")
}

/// Maintains the file of the process that works on the run, and removes it when dropped.
#[derive(Debug)]
pub(crate) struct RunPresence {
    path: PathBuf,
    note: Note,
}

impl RunPresence {
    /// Writes the file into a run's directory, which this process has locked.
    pub(crate) fn begin(
        run: &Path,
        what: &str,
        commands: Option<&Commands>,
        disk_limit_bytes: Option<u64>,
    ) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let note = Note {
            host: host_name(),
            pid: std::process::id(),
            what: what.into(),
            address: commands.map(|commands| commands.address().to_owned()),
            status_command: commands.map(Commands::status),
            since,
            disk_limit_bytes,
            progress: None,
            age: 0,
        };
        let this = Self { path: run.join(FILE), note };
        this.save();
        this
    }

    /// Writes the progress of the search.
    pub(crate) fn write(&mut self, reading: &Sample) {
        let Sample { depth, cosets, shards, seconds, visited, all, rate, left, disk_bytes } = *reading;
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
        // If the file cannot be written, `fathom status` lacks the progress, but the search continues.
        if fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &self.path)).is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }
}

impl Drop for RunPresence {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exited_process_is_not_reported() {
        let directory = tempfile::tempdir().unwrap();
        let begun = RunPresence::begin(directory.path(), "searched", None, None);
        let note: Note =
            serde_json::from_str(&fs::read_to_string(directory.path().join(FILE)).unwrap()).unwrap();
        assert_eq!(note.pid, std::process::id());
        // The process of this test has the name of its crate.
        assert_eq!(of(directory.path()).map(|found| Note { age: 0, ..found }), Some(note.clone()));
        let save = |note: &Note| {
            fs::write(directory.path().join(FILE), serde_json::to_string(note).unwrap()).unwrap();
        };
        // No process has the largest process id.
        save(&Note { pid: u32::MAX, ..note.clone() });
        assert_eq!(of(directory.path()), None);
        save(&Note { host: "elsewhere".into(), pid: u32::MAX, ..note });
        assert!(of(directory.path()).is_some());
        drop(begun);
        assert_eq!(of(directory.path()), None);
    }

    #[test]
    fn stale_progress_is_reported_as_such() {
        let progress = Progress {
            depth: 9,
            shards_done: 1,
            shards: 4,
            cosets_done: 10,
            cosets: 40,
            depth_seconds: 30.0,
            visited: 1000,
            states: Some(4000),
            states_per_second: 10.0,
            seconds_left: None,
            disk_bytes: None,
        };
        let note = |age| Note {
            host: "here".into(),
            pid: 7,
            what: "searched".into(),
            address: None,
            status_command: None,
            since: 0,
            disk_limit_bytes: None,
            progress: Some(progress.clone()),
            age,
        };
        assert!(text(&note(2)).ends_with("25 % of all states visited, 10 states/s"), "{}", text(&note(2)));
        let old = "last update 2 min ago; the process may be stopped or blocked on I/O";
        assert!(text(&note(100)).ends_with(old), "{}", text(&note(100)));
    }
}
