//! The effects of SIGINT and SIGTERM on a process that runs in a terminal.
//!
//! A thread of its own receives them. As long as nothing would be lost, a signal ends the process at once,
//! with a message. Later the first signal asks for a stop, and a second one ends the process.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

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
        for number in signals.forever() {
            if at_once.swap(true, Ordering::Relaxed) {
                crate::terminal_line::clear();
                crate::terminal_line::tell("stopped");
                std::process::exit(128 + number);
            }
            signal.store(number as usize, Ordering::Relaxed);
            requested.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(())
}
