//! Waiting while the journal cannot be written.
//!
//! A run that is served must not end because somebody looks into run.db with a tool that locks it, or because
//! the disk is full for a while. Such a state is a pause: the log says so, the same call is made again and
//! again, and the run goes on when the call succeeds. All other failures, and a database that cannot be
//! opened for [`MOST_OPENING`] pauses, are errors.

use super::Journal;
use anyhow::Result;
use rusqlite::{Error, ErrorCode};
use std::time::Duration;
use tracing::{info, warn};

/// The first pause, and the longest.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);
/// The number of the pause before which nothing is said: most holders are done by then.
const QUIET: i32 = 8;
/// Pauses between two lines in the log.
const BETWEEN_LINES: i32 = 60;
/// Pauses for a database that cannot be opened.
const MOST_OPENING: i32 = 300;

const MESSAGE: &str = "the journal cannot be written now, and is tried again and again";

impl Journal {
    /// Has calls wait from now on while another process holds the database, or its disk is full.
    ///
    /// # Errors
    /// If SQLite refuses.
    pub fn wait_while_busy(&mut self) -> Result<()> {
        self.database.busy_handler(Some(|pauses| {
            pause(pauses, "another process holds run.db");
            true
        }))?;
        self.waits = true;
        Ok(())
    }

    /// Makes a change, again and again if the journal waits. Each try is a transaction of its own.
    pub(super) fn patiently<T>(&mut self, mut change: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        let mut pauses = 0;
        loop {
            let error = match change(self) {
                Ok(value) => {
                    if pauses > QUIET {
                        info!("the journal can be written again");
                    }
                    return Ok(value);
                }
                Err(error) => error,
            };
            match may_pass(&error) {
                Some(most) if self.waits && most.is_none_or(|most| pauses < most) => {
                    pause(pauses, &format!("{error:#}"));
                    pauses += 1;
                }
                _ => return Err(error),
            }
        }
    }
}

fn pause(pauses: i32, reason: &str) {
    if pauses >= QUIET && (pauses - QUIET) % BETWEEN_LINES == 0 {
        warn!(reason, "{MESSAGE}");
    }
    std::thread::sleep(SHORTEST.saturating_mul(1 << pauses.clamp(0, 16)).min(LONGEST));
}

/// Whether a failure may pass by itself, and if so for how many pauses at most it is waited for that.
fn may_pass(error: &anyhow::Error) -> Option<Option<i32>> {
    let Error::SqliteFailure(failure, _) = error.chain().find_map(|cause| cause.downcast_ref())? else {
        return None;
    };
    match failure.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull => Some(None),
        // File descriptors may be short; but the directory may also be gone.
        ErrorCode::CannotOpen => Some(Some(MOST_OPENING)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_layer::Digest;
    use fathom_run::WorkerId;
    use rusqlite::Connection;

    fn journal() -> (tempfile::TempDir, Journal) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let journal = Journal::create(&directory.path().join("run.db"), Digest([7; 32]), &[]);
        (directory, journal.expect("a journal"))
    }

    fn save(journal: &mut Journal, number: u8) -> Result<()> {
        journal.save_worker(WorkerId([number; 16]), &"n".repeat(1000), "")
    }

    /// Has the disk run full: after so many pages SQLite says what it says then.
    fn set_most_pages(journal: &Journal, pages: u32) {
        journal.database.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).expect("a limit");
    }

    #[test]
    fn a_full_disk_is_waited_for() {
        let (_directory, mut journal) = journal();
        set_most_pages(&journal, 1);
        let error = (0..100).find_map(|number| save(&mut journal, number).err()).expect("it is full");
        assert_eq!(may_pass(&error), Some(None), "{error:#}");
        // Without patience that was the end. With it, it is so only until there is room.
        journal.wait_while_busy().expect("it waits");
        let mut tries = 0;
        let saved = journal.patiently(|journal| {
            tries += 1;
            if tries == 3 {
                set_most_pages(journal, 10_000);
            }
            journal.database.execute("INSERT INTO worker VALUES (zeroblob(9000), '', '')", [])?;
            Ok(())
        });
        saved.expect("it is saved at last");
        assert_eq!(tries, 3);
    }

    #[test]
    fn another_process_is_waited_for() {
        let (directory, mut journal) = journal();
        let other = Connection::open(directory.path().join("run.db")).expect("it is there");
        other.execute_batch("BEGIN EXCLUSIVE").expect("it is free");
        journal.database.busy_timeout(Duration::ZERO).expect("no waiting");
        let error = save(&mut journal, 1).expect_err("it is held");
        assert_eq!(may_pass(&error), Some(None), "{error:#}");
        journal.wait_while_busy().expect("it waits");
        std::thread::scope(|scope| {
            scope.spawn(|| save(&mut journal, 1).expect("it is saved at last"));
            other.execute_batch("ROLLBACK").expect("it lets go");
        });
    }

    #[test]
    fn what_does_not_pass_is_an_error() {
        let (_directory, mut journal) = journal();
        journal.wait_while_busy().expect("it waits");
        journal.database.execute_batch("DROP TABLE worker").expect("it was there");
        let error = save(&mut journal, 1).expect_err("there is no such table");
        assert_eq!(may_pass(&error), None, "{error:#}");
    }
}
