//! Whether a space is searched by cosets or by lists of states.

use anyhow::Result;
use fathom_command::bad_input;
use fathom_engine::run::{ListedSpace, SpaceSpec};
use fathom_space::Space;

/// In a space with fewer states, cosets are planned and searched quickly.
const LARGE: u64 = 1_000_000_000_000;

/// With at most this many states before the last depth that is asked for, lists take seconds.
const FEW: usize = 100_000;

/// Returns whether a space is known to have few states.
pub fn has_few_states(space: &ListedSpace) -> bool {
    const FEW_STATES: u32 = 1_000_000_000;
    *space.states.as_ref().unwrap_or(&space.most_states()) <= FEW_STATES.into()
}

/// Returns whether the cosets of a small space are so small that listing its states is faster: a coset is read and
/// written at once, in rows of up to 64 bits. Without inverses, a list is compared with those of all depths before it,
/// of which there may be thousands.
pub fn has_tiny_cosets(space: &Space, coset_bits: u64) -> bool {
    const LARGEST: u32 = 2_000_000;
    const SMALLEST: u32 = 10_000;
    let is_small = (SMALLEST.into()..=LARGEST.into()).contains(space.states());
    is_small && space.is_closed_under_inverses() && coset_bits < u64::from(u64::BITS)
}

/// Returns whether few of very many states are asked for, so that listing them is faster than planning cosets. `space`
/// is the space in the form for cosets.
///
/// # Errors
/// If states cannot be listed.
pub fn asks_for_few(spec: &SpaceSpec, space: &Space, max_depth: u32) -> Result<bool> {
    if *space.states() <= LARGE.into() {
        return Ok(false);
    }
    Ok(ListedSpace::new(spec, None)?.has_at_most(FEW, max_depth.saturating_sub(1)))
}

/// Checks that a search by lists ends before it fills the disk: at a depth, at a size, or because the space has few
/// states.
///
/// # Errors
/// If it would not.
pub fn require_bound(space: &ListedSpace, is_bounded: bool) -> Result<()> {
    match is_bounded || has_few_states(space) {
        true => Ok(()),
        false => Err(bad_input!(
            "this run lists its states, and would fill the disk: give --max-depth or --disk-limit. To search a whole space by cosets, start another run with --engine cosets and --dir"
        )),
    }
}
