//! Waiting while the journal cannot be written.
//!
//! A coordinator must not end because someone inspects run.db with a tool that locks it, or because the
//! disk is full for a while. In both cases the call is repeated after a pause, and the log says so,
//! until the call succeeds, or until the process is asked to stop. A database that cannot be opened is tried
//! again for [`MAX_OPENING`] pauses. All other failures are immediate errors.

use super::Journal;
use anyhow::Result;
use fathom_command::exit::without_numbers;
use rusqlite::{Error, ErrorCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// The first pause. Each pause is twice as long as the one before, up to `LONGEST`.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);
/// The number of pauses before the first line in the log: most locks are released by then.
const QUIET: i32 = 8;
/// The number of pauses between two lines in the log.
const BETWEEN_LINES: i32 = 60;
/// The most pauses for a database that cannot be opened.
const MAX_OPENING: i32 = 300;

const MESSAGE: &str = "cannot write the journal; retrying";

/// When a journal of this process last paused after [`QUIET`] pauses, and why. While another process holds
/// the database, SQLite calls a function without data, so this belongs to the process.
static OBSTACLE: Mutex<Option<(Instant, String)>> = Mutex::new(None);
/// Whether journals of this process wait for [`QUIET`] pauses at most.
static GIVES_UP: AtomicBool = AtomicBool::new(false);

/// Returns why a journal of this process has waited for seconds and still waits; `None` if none does.
pub fn obstacle() -> Option<String> {
    let obstacle = OBSTACLE.lock().expect("no thread panics while it holds the lock");
    obstacle.as_ref().filter(|(at, _)| at.elapsed() < 2 * LONGEST).map(|(_, reason)| reason.clone())
}

/// Lets journals of this process wait for a few seconds at most from now on, because the process is about to
/// end.
pub fn give_up() {
    GIVES_UP.store(true, Ordering::Relaxed);
}

impl Journal {
    /// Makes all later calls wait while another process locks the database, or while its disk is full.
    pub fn wait_while_busy(&mut self) -> Result<()> {
        self.database.busy_handler(Some(|pauses| {
            // Changes are then retried below.
            let waits = !GIVES_UP.load(Ordering::Relaxed);
            if waits {
                pause(pauses, "another process has locked run.db");
            }
            waits
        }))?;
        self.waits = true;
        Ok(())
    }

    /// Makes a change; if the journal waits, tries again until the change succeeds. Each try must be a
    /// transaction of its own.
    pub(super) fn patiently<T>(&mut self, mut change: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        let mut pauses = 0;
        loop {
            let error = match change(self) {
                Ok(value) => {
                    if pauses > QUIET {
                        info!("the journal is writable again");
                    }
                    return Ok(value);
                }
                Err(error) => error,
            };
            match may_pass(&error) {
                Some(_) if self.waits && pauses >= QUIET && GIVES_UP.load(Ordering::Relaxed) => {
                    return Err(error.context("this process was asked to stop before the problem had passed"));
                }
                Some(most) if self.waits && most.is_none_or(|most| pauses < most) => {
                    pause(pauses, &without_numbers(format!("{error:#}")));
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
    if pauses >= QUIET {
        let obstacle = (Instant::now(), reason.to_owned());
        *OBSTACLE.lock().expect("no thread panics while it holds the lock") = Some(obstacle);
    }
    std::thread::sleep(SHORTEST.saturating_mul(1 << pauses.clamp(0, 16)).min(LONGEST));
}

/// Returns whether a failure may be temporary: `Some(most)` if so, with the largest number of pauses to wait,
/// where `None` means no limit.
fn may_pass(error: &anyhow::Error) -> Option<Option<i32>> {
    let Error::SqliteFailure(failure, _) = error.chain().find_map(|cause| cause.downcast_ref())? else {
        return None;
    };
    match failure.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull => Some(None),
        // File descriptors may be short for a while, but the directory may also be gone for good.
        ErrorCode::CannotOpen => Some(Some(MAX_OPENING)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_layer::Digest;
    use rusqlite::{Connection, params};

    fn journal() -> (tempfile::TempDir, Journal) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let journal = Journal::create(&directory.path().join("run.db"), Digest([7; 32]), &[]);
        (directory, journal.expect("a journal"))
    }

    fn save(journal: &mut Journal, number: u8) -> Result<()> {
        journal.change(|change| {
            let row = params![number, [number; 1000]];
            change.database().execute("INSERT INTO watched VALUES (?1, ?2, NULL)", row)?;
            Ok(())
        })
    }

    /// Simulates a full disk: SQLite reports one when the database has more than `pages` pages.
    fn set_most_pages(journal: &Journal, pages: u32) {
        journal.database.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).expect("a limit");
    }

    #[test]
    fn full_disk_is_waited_out() {
        let (_directory, mut journal) = journal();
        set_most_pages(&journal, 1);
        let error = (0..100).find_map(|number| save(&mut journal, number).err()).expect("it is full");
        assert_eq!(may_pass(&error), Some(None), "{error:#}");
        // Without waiting, a full disk is an error. With waiting, the call succeeds once there is space.
        journal.wait_while_busy().expect("it waits");
        let mut tries = 0;
        let saved = journal.patiently(|journal| {
            tries += 1;
            if tries == 3 {
                set_most_pages(journal, 10_000);
            }
            journal.database.execute("INSERT INTO watched VALUES (NULL, zeroblob(9000), NULL)", [])?;
            Ok(())
        });
        saved.expect("it is saved at last");
        assert_eq!(tries, 3);
    }

    #[test]
    fn foreign_lock_is_waited_out() {
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
    fn permanent_failure_is_an_error() {
        let (_directory, mut journal) = journal();
        journal.wait_while_busy().expect("it waits");
        journal.database.execute_batch("DROP TABLE watched").expect("it was there");
        let error = save(&mut journal, 1).expect_err("there is no such table");
        assert_eq!(may_pass(&error), None, "{error:#}");
    }
}
