//! The end of a run: how it ends, and how long workers may take to leave.

use crate::cluster::event::{Ending, LeaveReason, Millis};
use std::time::Duration;

/// Time that workers have to leave when the run ends.
pub const GRACE: Duration = Duration::from_secs(30);

/// How the run ends, if it does.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// How the run ends, and until when workers may leave.
    ending: Option<(Ending, Millis)>,
    /// Whether the run has ended.
    is_over: bool,
}

impl Shutdown {
    /// Returns how the run ends; `None` if it is not ending yet.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref().map(|(ending, _)| ending)
    }

    /// Starts to end the run. A run that is already ending keeps its ending, except that a failure replaces
    /// it. [`Ending::Terminated`] then only ends the wait for workers. Returns whether the run was not ending
    /// before.
    pub fn begin(&mut self, now: Millis, ending: Ending) -> bool {
        let until = if ending == Ending::Terminated { now } else { now.after(GRACE) };
        match &mut self.ending {
            None => {
                self.ending = Some((ending, until));
                return true;
            }
            Some((_, before)) if ending == Ending::Terminated => *before = until,
            Some((Ending::Failed(_), _)) => {}
            Some(before) if matches!(ending, Ending::Failed(_)) => *before = (ending, until),
            Some(_) => {}
        }
        false
    }

    /// Returns why workers must leave, if they must. `clean` says whether they delete their files when the
    /// run is complete.
    pub fn leave_reason(&self, clean: bool) -> Option<LeaveReason> {
        Some(match self.ending()? {
            Ending::Complete if clean => LeaveReason::Clean,
            Ending::Complete | Ending::MaxDepth => LeaveReason::Done,
            Ending::Stopped => LeaveReason::Stopped,
            Ending::Terminated => LeaveReason::CoordinatorGoes,
            Ending::Failed(_) => LeaveReason::Failed,
        })
    }

    /// Ends the run, unless workers that must still be told have time left. Returns how the run ended, once.
    pub fn finish(&mut self, now: Millis, is_awaited: impl FnOnce() -> bool) -> Option<Ending> {
        let (ending, until) = self.ending.as_ref()?;
        let is_due = !self.is_over && (now >= *until || !is_awaited());
        self.is_over |= is_due;
        is_due.then(|| ending.clone())
    }
}
