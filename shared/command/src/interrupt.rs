//! The effects of SIGINT and SIGTERM on a process that runs in a terminal.
//!
//! A dedicated thread receives them. As long as nothing would be lost, a signal ends the process immediately,
//! with a message. Later the first signal asks for a stop, and a second one ends the process.
//!
//! The program `timeout` signals a process, and then the process's group, to which the process belongs. So a
//! signal that immediately follows the first one is not a second request.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Signals within this time of the first one are the same request.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Flags that the signals of this process set.
#[derive(Clone, Debug)]
pub struct Interrupts {
    /// Whether the next signal ends the process.
    pub at_once: Arc<AtomicBool>,
    /// Whether a signal asked for a stop when `at_once` was false.
    pub requested: Arc<AtomicBool>,
    /// The number of the signal that asked for a stop.
    pub signal: Arc<AtomicUsize>,
}

static INTERRUPTS: OnceLock<Interrupts> = OnceLock::new();

/// The function that is called when a signal asks for a stop, once the flags are set.
static TOLD: Mutex<Option<Box<dyn FnMut() + Send>>> = Mutex::new(None);

/// Makes the next signal call `tell` instead of ending the process. Only the thread of [`listen`] handles
/// signals, so a signal that arrives at this moment is not lost.
///
/// # Panics
/// If `tell` of an earlier call has panicked.
pub fn tell_of_stop(tell: impl FnMut() + Send + 'static) {
    *TOLD.lock().expect("no thread panics while it holds the lock") = Some(Box::new(tell));
    interrupts().at_once.store(false, Ordering::Relaxed);
}

/// Returns the flags that the signals of this process set.
pub fn interrupts() -> &'static Interrupts {
    INTERRUPTS.get_or_init(|| Interrupts {
        at_once: Arc::new(AtomicBool::new(true)),
        requested: Arc::default(),
        signal: Arc::default(),
    })
}

/// Starts the thread that receives signals.
///
/// # Errors
/// If the signals cannot be caught, or the thread cannot be started.
pub fn listen() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let Interrupts { at_once, requested, signal } = interrupts().clone();
    std::thread::Builder::new().name("interrupts".into()).spawn(move || {
        let mut asked: Option<Instant> = None;
        for number in signals.forever() {
            if is_answered(asked) {
                continue;
            }
            if at_once.swap(true, Ordering::Relaxed) {
                crate::terminal_line::clear();
                crate::terminal_line::tell("stopped");
                crate::scratch::remove_all();
                std::process::exit(128 + number);
            }
            asked = Some(Instant::now());
            signal.store(number as usize, Ordering::Relaxed);
            requested.store(true, Ordering::Relaxed);
            if let Some(tell) = &mut *TOLD.lock().expect("no thread panics while it holds the lock") {
                tell();
            }
        }
    })?;
    Ok(())
}

/// Starts a thread that calls `tell` with the number of the first signal. A second signal ends the process
/// immediately.
///
/// # Errors
/// If the signals cannot be caught, or the thread cannot be started.
pub fn on_request(mut tell: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut asked: Option<Instant> = None;
        for number in signals.forever() {
            if is_answered(asked) {
                continue;
            }
            if asked.replace(Instant::now()).is_some() {
                std::process::exit(128 + number);
            }
            tell(number);
        }
    })?;
    Ok(())
}

/// Returns whether a signal that comes now belongs to the request of a signal that came at `asked`.
fn is_answered(asked: Option<Instant>) -> bool {
    asked.is_some_and(|at| at.elapsed() < ONE_REQUEST)
}
