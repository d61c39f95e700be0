//! The file that leads workers to a coordinator: `fathom serve --join-file` writes it, and `fathom worker
//! --join-file` reads it.
//!
//! It is a TOML file on a file system that both can access. A coordinator that moves to another host, or comes back
//! there, replaces it; a worker reads it at each new connection.

use anyhow::Result;
use fathom_command::bad_input;
use fathom_command::new_file::to_file;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// The interval at which a coordinator writes the file again, so that its age tells whether the coordinator is alive.
pub const RENEWAL: Duration = Duration::from_secs(10);

/// What a coordinator tells those who look for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinFile {
    /// The fingerprint of the run, in hexadecimal digits.
    pub run: String,
    /// Where workers reach the coordinator, as HOST:PORT.
    pub address: String,
    /// The fingerprint of the authority that signed its certificate, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// Whether workers find it there.
    pub state: JoinState,
}

/// The state of a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinState {
    /// It serves the run, unless it was killed.
    Serving,
    /// It has stopped, and the run can be continued.
    Stopped,
    /// The run is complete, or has reached its last depth.
    Ended,
}

/// Why a file leads to no coordinator.
#[derive(Debug, thiserror::Error)]
pub enum JoinFileError {
    /// There is none yet, or it cannot be read now.
    #[error("cannot read {path}, which the coordinator writes: {reason}")]
    Absent {
        /// The file.
        path: PathBuf,
        /// The reason from the system.
        reason: String,
    },
    /// It is another file.
    #[error("{path} was not written by 'fathom serve --join-file': {reason}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl JoinFile {
    /// Reads a file. It is always whole: a new one replaces it.
    ///
    /// # Errors
    /// If there is no such file, or it is another one.
    pub fn read(path: &Path) -> Result<Self, JoinFileError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(JoinFileError::Foreign { path: path.into(), reason: "it is not text".into() });
            }
            Err(error) => {
                let reason = fathom_command::exit::said_by_system(&error);
                return Err(JoinFileError::Absent { path: path.into(), reason });
            }
        };
        toml::from_str(&text).map_err(|error| {
            let reason = error.message().to_owned();
            JoinFileError::Foreign { path: path.into(), reason }
        })
    }

    /// Returns the time since a file was last written, if that is known.
    pub fn age(path: &Path) -> Option<Duration> {
        let written = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
        SystemTime::now().duration_since(written).ok()
    }

    /// Writes or replaces a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = toml::to_string(self)?;
        to_file(path, true, |out| Ok(out.write_all(text.as_bytes())?))
    }
}

/// Writes the file of a coordinator at regular intervals, until it is dropped.
#[derive(Debug)]
pub struct Renewed {
    file: JoinFile,
    path: PathBuf,
    /// Dropped to end the thread.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Renewed {
    /// Writes the file of a coordinator that serves from now on.
    ///
    /// # Errors
    /// If the path holds another file, the file cannot be written, or a thread cannot be started.
    pub fn begin(path: &Path, file: JoinFile) -> Result<Self> {
        require_replaceable(path)?;
        file.write(path)?;
        let (over, is_over) = channel::<()>();
        let (renewed, at) = (file.clone(), path.to_owned());
        let thread = std::thread::Builder::new().name("join-file".into()).spawn(move || {
            while is_over.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = renewed.write(&at) {
                    tracing::warn!(reason = format!("{error:#}"), "the join file cannot be renewed");
                }
            }
        })?;
        Ok(Self { file, path: path.into(), over: Some(over), thread: Some(thread) })
    }

    /// Writes that the coordinator no longer serves.
    pub fn end(mut self, state: JoinState) {
        self.join();
        let file = JoinFile { state, ..self.file.clone() };
        if let Err(error) = file.write(&self.path) {
            tracing::warn!(reason = format!("{error:#}"), "the join file cannot be written");
        }
    }

    fn join(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Renewed {
    fn drop(&mut self) {
        self.join();
    }
}

/// Checks that a path is free, or holds a join file.
///
/// # Errors
/// Bad input: the path holds another file.
pub fn require_replaceable(path: &Path) -> Result<()> {
    match JoinFile::read(path) {
        Err(error @ JoinFileError::Foreign { .. }) => {
            Err(bad_input!("--join-file: {error}. Choose another name"))
        }
        Err(JoinFileError::Absent { .. }) if path.exists() => Err(bad_input!(
            "--join-file: {} is not a file that can be read. Choose another name",
            path.display()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> JoinFile {
        let (run, address) = ("0123456789abcdef".into(), "node-7:7400".into());
        JoinFile { run, address, authority: Some("ab".into()), state: JoinState::Serving }
    }

    #[test]
    fn files_are_renewed_and_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("join");
        assert!(matches!(JoinFile::read(&path), Err(JoinFileError::Absent { .. })));
        let renewed = Renewed::begin(&path, example()).unwrap();
        assert_eq!(JoinFile::read(&path).unwrap(), example());
        renewed.end(JoinState::Ended);
        assert_eq!(JoinFile::read(&path).unwrap(), JoinFile { state: JoinState::Ended, ..example() });
    }

    #[test]
    fn other_files_are_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes");
        std::fs::write(&path, "my notes").unwrap();
        let error = Renewed::begin(&path, example()).unwrap_err().to_string();
        assert!(error.contains("was not written by"), "{error}");
        assert!(Renewed::begin(directory.path(), example()).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes");
    }
}
