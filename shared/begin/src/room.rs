//! The memory and the disk space that a new run needs.

use anyhow::Result;
use fathom_command::{bad_input, output};
use fathom_engine::estimate::Peak;
use fathom_engine::run::budget::Budget;
use fathom_engine::run::{Keep, Lookback};
use fathom_layer::free_bytes;
use fathom_space::{Plan, Space};
use indicatif::HumanBytes;
use std::path::Path;

/// What a new run may take.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The bytes of memory of one process.
    pub memory_bytes: u64,
    /// The threads of one process.
    pub threads: usize,
    /// The largest number of bytes on disk, if there is a limit besides the free space.
    pub disk_limit: Option<u64>,
    /// The layers that are kept; `None` for the default.
    pub keep: Option<Keep>,
    /// The search. Its `keep` is not used.
    pub peak: Peak,
}

impl Room {
    /// Checks that memory and disk can hold a new run, with its layers below `place`. Returns which layers the run
    /// keeps: as requested, or two layers if nothing was requested and the disk cannot hold the default of three.
    ///
    /// # Errors
    /// If memory or disk space is too small, or free space cannot be read.
    pub fn require(&self, space: &Space, plan: &Plan, place: &Path) -> Result<Option<Keep>> {
        let cosets = plan.representative_cosets;
        Budget::new(self.memory_bytes, space, plan.patterns, cosets, &plan.shape, self.threads)?;
        let by_default = Lookback::new(space).keep(self.keep)?;
        let peak_to = |max_depth, keep| Peak { keep, max_depth, ..self.peak }.bytes(space, plan);
        let free = free_bytes(place)?.min(self.disk_limit.unwrap_or(u64::MAX));
        // Counting the states up to a depth takes a few milliseconds, and usually the disk can hold them all anyway.
        if self.peak.max_depth.is_some() && peak_to(None, by_default) <= free {
            return Ok(self.keep);
        }
        let peak = |keep| peak_to(self.peak.max_depth, keep);
        let needed = peak(by_default);
        if needed <= free {
            return Ok(self.keep);
        }
        let may_keep_two = self.keep.is_none() && by_default == Keep::Last;
        if may_keep_two && peak(Keep::Two) <= free {
            output::remark(&format!(
                "three layers may need {}, but {} are free; keeping two, as with --keep two",
                HumanBytes(needed),
                HumanBytes(free)
            ));
            return Ok(Some(Keep::Two));
        }
        let limit = self.disk_limit.map(|limit| format!(" within --disk-limit {}", HumanBytes(limit)));
        let two = match peak(Keep::Two) {
            two if two < needed && may_keep_two => format!(" ({} with two layers)", HumanBytes(two)),
            _ => String::new(),
        };
        Err(bad_input!(
            "{} needs up to {} of disk space{two}, but only {} are available at {}{} ({} short). Free some space, use another disk with --dir or --store, or reduce the run with --track, --labels or --max-depth",
            space.slug(),
            HumanBytes(needed),
            HumanBytes(free),
            place.display(),
            limit.unwrap_or_default(),
            HumanBytes(needed - free)
        ))
    }
}
