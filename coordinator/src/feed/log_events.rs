//! The events of a run that another process computes, from the log in the run's directory.

use fathom_command::log_text::{Names, details, worker};
use fathom_engine::directory::LOG;
use fathom_page::snapshot::EventFacts;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Maximum number of bytes that are read from the end of the log when a page starts.
const MAX_BYTES: u64 = 8 << 20;

/// The position in the log up to which events have been read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Log {
    told: u64,
}

impl Log {
    /// Returns the events added to the log since the last call, oldest first; at the first call, those at its
    /// end. A log that cannot be read yields none.
    pub(super) fn news(&mut self, directory: &Path, names: &Names) -> Vec<EventFacts> {
        let text = self.read(&directory.join(LOG)).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.filter_map(|fields: Value| event(&fields, names)).collect()
    }

    /// Returns the complete lines that have not been read yet.
    fn read(&mut self, path: &Path) -> io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        if length < self.told {
            // The log was started again.
            self.told = 0;
        }
        self.told = self.told.max(length.saturating_sub(MAX_BYTES));
        file.seek(SeekFrom::Start(self.told))?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        // A partly written line is read once it is complete.
        bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1));
        self.told += bytes.len() as u64;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Returns an event in the form that the page shows; `None` for events of every task.
fn event(fields: &Value, names: &Names) -> Option<EventFacts> {
    let severity = match fields["level"].as_str()? {
        "INFO" => "info",
        "WARN" => "warn",
        "ERROR" => "error",
        _ => return None,
    };
    let time = humantime::parse_rfc3339_weak(fields["timestamp"].as_str()?).ok()?;
    let number = |name: &str| fields[name].as_u64().and_then(|number| u32::try_from(number).ok());
    let details = details(fields, &["depth", "shard"]);
    Some(EventFacts {
        time: time.duration_since(UNIX_EPOCH).ok()?.as_millis() as u64,
        severity,
        what: fields["message"].as_str()?.to_owned(),
        depth: number("depth"),
        shard: number("shard"),
        worker: worker(fields, names).map(str::to_owned),
        detail: (!details.is_empty()).then(|| details.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn complete_lines_are_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let names = vec![("0123456789abcdef".into(), "node-3".into())];
        let mut log = Log::default();
        assert_eq!(log.news(directory.path(), &names), []);
        let mut file = File::create(directory.path().join(LOG)).unwrap();
        let lost = r#"{"timestamp":"2026-11-22T08:12:33.123456Z","level":"WARN","message":"worker lost","worker":"01234567"}"#;
        writeln!(file, r#"{{"timestamp":"2026-11-22T08:12:33Z","level":"DEBUG","message":"task done"}}"#)
            .unwrap();
        writeln!(file, "{lost}").unwrap();
        write!(
            file,
            r#"{{"timestamp":"2026-11-22T08:12:34Z","level":"INFO","message":"layer done","depth":9"#
        )
        .unwrap();
        let news = log.news(directory.path(), &names);
        let [event] = &news[..] else { panic!("{news:?}") };
        assert_eq!(
            (&*event.what, event.severity, event.worker.as_deref()),
            ("worker lost", "warn", Some("node-3"))
        );
        assert_eq!(event.time, 1_795_335_153_123);
        writeln!(file, r#","states":1200}}"#).unwrap();
        let news = log.news(directory.path(), &names);
        let [event] = &news[..] else { panic!("{news:?}") };
        assert_eq!((event.depth, event.detail.as_deref()), (Some(9), Some("states 1,200")));
        assert_eq!(log.news(directory.path(), &names), []);
    }
}
