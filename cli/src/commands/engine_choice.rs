//! Decides whether a new run is searched by cosets or by lists of states.

use crate::arguments::{BeginArguments, Engine};
use anyhow::{Error, Result};
use fathom_command::{bad_input, output};
use fathom_engine::run::{ListedSpace, SpaceSpec};
use fathom_space::{Plan, Space};

/// Whether a command can search by lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lists {
    /// Workers search by cosets.
    Refused,
    /// One process searches.
    Allowed {
        /// The last depth.
        max_depth: Option<u32>,
        /// Whether the search ends at a depth or at a size.
        is_bounded: bool,
    },
}

/// Returns whether a space is known to have few states.
fn has_few_states(space: &ListedSpace) -> bool {
    const FEW_STATES: u32 = 1_000_000_000;
    *space.states.as_ref().unwrap_or(&space.most_states()) <= FEW_STATES.into()
}

/// Returns whether the cosets of a small space are so small that listing its states is faster: a coset is read and
/// written at once, in rows of up to 64 bits. Without inverses, a list is compared with those of all depths before it,
/// of which there may be thousands.
pub(crate) fn has_tiny_cosets(space: &Space, coset_bits: u64) -> bool {
    const LARGEST: u32 = 2_000_000;
    const SMALLEST: u32 = 10_000;
    let is_small = (SMALLEST.into()..=LARGEST.into()).contains(space.states());
    is_small && space.is_closed_under_inverses() && coset_bits < u64::from(u64::BITS)
}

/// Checks that a search by lists ends before it fills the disk: at a depth, at a size, or because the space has few
/// states.
///
/// # Errors
/// If it would not.
pub(crate) fn require_bound(space: &ListedSpace, is_bounded: bool) -> Result<()> {
    match is_bounded || has_few_states(space) {
        true => Ok(()),
        false => Err(bad_input!(
            "this run lists its states, and would fill the disk: give --max-depth or --disk-limit. To search a whole space by cosets, start another run with --engine cosets and --dir"
        )),
    }
}

impl Lists {
    /// In a space with fewer states, cosets are planned and searched quickly.
    const LARGE: u64 = 1_000_000_000_000;

    /// With at most this many states before the last depth that is asked for, lists take seconds.
    const FEW: usize = 100_000;

    /// Returns whether states are listed although the space may be cut into cosets: because the arguments say so, or
    /// because few of very many states are asked for. `space` is the space in the form for cosets, if there is one.
    ///
    /// # Errors
    /// If the arguments ask for lists, and the command cannot search by lists.
    pub(crate) fn are_chosen(
        self,
        args: &BeginArguments,
        spec: &SpaceSpec,
        space: Option<&Space>,
    ) -> Result<bool> {
        match (self, args.engine) {
            (Self::Refused, Some(Engine::Lists)) => Err(bad_input!(
                "--engine lists searches in one process, without workers. Use 'fathom run' without --workers"
            )),
            (_, Some(engine)) => Ok(engine == Engine::Lists),
            (Self::Allowed { max_depth: Some(depth), .. }, None)
                if !args.need_cosets() && space.is_some_and(|space| *space.states() > Self::LARGE.into()) =>
            {
                Ok(ListedSpace::new(spec, None)?.has_at_most(Self::FEW, depth.saturating_sub(1)))
            }
            _ => Ok(false),
        }
    }

    /// Returns whether states are listed because their cosets [are tiny](has_tiny_cosets), and no argument needs cosets.
    pub(crate) fn replace_tiny_cosets(self, args: &BeginArguments, space: &Space, plan: &Plan) -> bool {
        let is_free = matches!(self, Self::Allowed { .. });
        is_free && args.engine.is_none() && !args.need_cosets() && has_tiny_cosets(space, plan.shape.bits())
    }

    /// Checks that a search of a space ends before it fills the disk.
    ///
    /// # Errors
    /// As [`require_bound`].
    pub(crate) fn require_bound(self, space: &ListedSpace) -> Result<()> {
        require_bound(space, matches!(self, Self::Allowed { is_bounded: true, .. }))
    }

    /// Prints that states are listed because cosets are impossible for the reason `error`.
    ///
    /// # Errors
    /// The reason, if states cannot be listed either, or the search could fill the disk.
    pub(crate) fn replace_cosets(self, args: &BeginArguments, spec: &SpaceSpec, error: Error) -> Result<()> {
        let Self::Allowed { is_bounded, .. } = self else { return Err(error) };
        let is_small = || ListedSpace::new(spec, None).is_ok_and(|space| has_few_states(&space));
        if args.need_cosets() || args.engine == Some(Engine::Cosets) || !(is_bounded || is_small()) {
            return Err(error);
        }
        output::remark("the space cannot be cut into cosets; listing its states depth by depth");
        Ok(())
    }
}
