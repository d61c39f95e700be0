//! Failpoints: a process kills or stops itself at a chosen point of its work, so that tests can rely on that
//! point.
//!
//! `FATHOM_FAILPOINT=POINT:N` kills the process when it reaches `POINT` for the N-th time, as `kill -9`
//! would. `FATHOM_FAILPOINT=POINT:N:stop` stops the process there, as `kill -STOP` would, until it gets
//! SIGCONT. `FATHOM_FAILPOINT=POINT:N:flip` makes the process compute wrong results there from the N-th time
//! on, as one with bad memory does.
//!
//! A search with a failpoint makes a checkpoint at each depth, however short the depth is, so the state
//! committed at a point does not depend on the speed of the machine.

use crate::bad_input;
use rustix::process::Signal;
use signal_hook::low_level::raise;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable.
pub const VARIABLE: &str = "FATHOM_FAILPOINT";

/// The points at which a process makes errors, with `flip`.
const ERRORS: [&str; 1] = ["found"];

/// The points at which a process kills or stops itself.
const POINTS: [&str; 14] = [
    "committed",
    "committing",
    "computing",
    "copying",
    "deleted",
    "deleting",
    "released",
    "releasing",
    "pushing",
    "replying",
    "reporting",
    "saving",
    "serving",
    "writing",
];

/// Checks that the environment variable, if set, names a failpoint.
///
/// # Errors
/// If it does not.
pub fn check() -> anyhow::Result<()> {
    match asked() {
        None => Ok(()),
        Some(text) => match Failpoint::parse(&text) {
            None => Err(bad_input!(
                "{VARIABLE} is {text:?}, which is not POINT:N, POINT:N:stop or POINT:N:flip. Unset it, unless this is a test"
            )),
            Some(Failpoint { point, signal, .. }) => {
                let (what, points): (_, &[&str]) = match signal {
                    Some(_) => ("kills or stops a process", &POINTS),
                    None => ("makes errors", &ERRORS),
                };
                match points.contains(&&*point) {
                    true => Ok(()),
                    false => Err(bad_input!(
                        "{VARIABLE} is {text:?}, but no point {point:?} {what}. Points: {}",
                        points.join(", ")
                    )),
                }
            }
        },
    }
}

/// Returns the value of the environment variable, if it is set.
fn asked() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

struct Failpoint {
    point: String,
    left: AtomicU64,
    /// The signal that the process sends to itself; `None` if the process makes errors instead.
    signal: Option<Signal>,
}

impl Failpoint {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (point, times, action) = (parts.next()?.to_owned(), parts.next()?, parts.next());
        let signal = match action {
            None | Some("kill") => Some(Signal::KILL),
            Some("stop") => Some(Signal::STOP),
            Some("flip") => None,
            Some(_) => return None,
        };
        Some(Self { point, left: AtomicU64::new(times.parse().ok()?), signal })
    }
}

fn failpoint() -> Option<&'static Failpoint> {
    static FAILPOINT: OnceLock<Option<Failpoint>> = OnceLock::new();
    let failpoint = FAILPOINT.get_or_init(|| Failpoint::parse(&asked()?));
    failpoint.as_ref()
}

/// Returns whether the environment names a failpoint.
pub fn is_set() -> bool {
    failpoint().is_some()
}

/// Returns whether the environment asks this process to make an error at a point of its work.
pub fn flips(name: &str) -> bool {
    debug_assert!(ERRORS.contains(&name), "{name} is not listed");
    let errs = |failpoint: &&Failpoint| failpoint.point == name && failpoint.signal.is_none();
    failpoint().filter(errs).is_some_and(|failpoint| {
        // The counter stops at 0, so that the process makes errors from then on.
        let less = |left: u64| left.checked_sub(1);
        failpoint.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).unwrap_or(1) <= 1
    })
}

/// Marks a point at which the environment may ask this process to kill or stop itself.
#[expect(clippy::print_stderr, reason = "a process that dies here has no other way to say why")]
pub fn point(name: &str) {
    debug_assert!(POINTS.contains(&name), "{name} is not listed");
    if let Some(failpoint) = failpoint().filter(|failpoint| failpoint.point == name)
        && let Some(signal) = failpoint.signal
        && failpoint.left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        eprintln!("failpoint: {} at {name}", if signal == Signal::STOP { "stopped" } else { "killed" });
        // The signal goes to this thread, which handles it before it does anything else. Another thread that
        // got the signal might stop the process only after this one has passed the point.
        raise(signal.as_raw()).expect("a process may signal itself");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failpoints_are_parsed() {
        let parse = |text| Failpoint::parse(text).map(|f| (f.point, f.left.into_inner(), f.signal));
        assert_eq!(parse("writing:60"), Some(("writing".into(), 60, Some(Signal::KILL))));
        assert_eq!(parse("writing:60:kill"), Some(("writing".into(), 60, Some(Signal::KILL))));
        assert_eq!(parse("replying:2:stop"), Some(("replying".into(), 2, Some(Signal::STOP))));
        assert_eq!(parse("found:7:flip"), Some(("found".into(), 7, None)));
        assert_eq!(parse("replying"), None);
        assert_eq!(parse("replying:x"), None);
        assert_eq!(parse("replying:1:explode"), None);
    }
}
