//! Decides whether a new run is searched by cosets or by lists of states.

use crate::arguments::{BeginArguments, Engine};
use anyhow::{Error, Result};
use fathom_begin::engine_choice::{asks_for_few, has_few_states, has_tiny_cosets, require_bound};
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

impl Lists {
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
            (Self::Allowed { max_depth: Some(depth), .. }, None) if !args.need_cosets() => {
                space.map_or(Ok(false), |space| asks_for_few(spec, space, depth))
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
