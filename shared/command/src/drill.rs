//! Drills: a process that kills itself at a point of its work, to see that nothing is lost.
//!
//! `FATHOM_DRILL=POINT:N` kills the process the N-th time that it comes to a point, as `kill -9` would.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable.
pub const VARIABLE: &str = "FATHOM_DRILL";

struct Drill {
    point: String,
    left: AtomicU64,
}

/// A point of the work at which a drill may kill this process.
pub fn point(name: &str) {
    static DRILL: OnceLock<Option<Drill>> = OnceLock::new();
    let drill = DRILL.get_or_init(|| {
        let asked = std::env::var(VARIABLE).ok()?;
        let (point, times) = asked.split_once(':')?;
        Some(Drill { point: point.into(), left: AtomicU64::new(times.parse().ok()?) })
    });
    if let Some(drill) = drill.as_ref().filter(|drill| drill.point == name)
        && drill.left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        eprintln!("drill: killed at {name}");
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
