//! What SIGINT and SIGTERM do to a process that runs in a terminal.
//!
//! A thread of its own hears them. As long as nothing would be lost, a signal ends the process at once, with
//! a word; later the first one is a request, and a second one ends the process.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What the signals of this process have set.
#[derive(Clone, Debug)]
pub struct Interrupts {
    /// Whether the next signal ends the process.
    pub at_once: Arc<AtomicBool>,
    /// Whether a signal asked for a stop when `at_once` was false.
    pub requested: Arc<AtomicBool>,
    /// That signal.
    pub signal: Arc<AtomicUsize>,
}

static INTERRUPTS: OnceLock<Interrupts> = OnceLock::new();

/// What the signals of this process have set.
pub fn interrupts() -> &'static Interrupts {
    INTERRUPTS.get_or_init(|| Interrupts {
        at_once: Arc::new(AtomicBool::new(true)),
        requested: Arc::default(),
        signal: Arc::default(),
    })
}

/// Starts the thread that hears signals.
///
/// # Errors
/// If the operating system refuses.
#[expect(clippy::print_stderr, reason = "the last word of a process that is stopped")]
pub fn listen() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let Interrupts { at_once, requested, signal } = interrupts().clone();
    std::thread::Builder::new().name("interrupts".into()).spawn(move || {
        for number in signals.forever() {
            if at_once.swap(true, Ordering::Relaxed) {
                crate::doing::clear();
                eprintln!("stopped");
                std::process::exit(128 + number);
            }
            signal.store(number as usize, Ordering::Relaxed);
            requested.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(())
}
