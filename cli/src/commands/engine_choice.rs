//! Decides whether a new run is searched by cosets or by lists of states.

use crate::arguments::{BeginArguments, Engine};
use anyhow::Result;
use fathom_command::{bad_input, output};
use fathom_engine::run::{ListedSpace, RunError, SpaceSpec};
use fathom_space::Space;

/// Whether a command can search by lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lists {
    /// Workers search by cosets.
    Refused,
    /// One process searches, to this depth.
    Allowed { max_depth: Option<u32> },
}

impl Lists {
    /// In a space with fewer states, cosets are planned and searched quickly.
    const LARGE: u64 = 10_000_000_000;

    /// With at most this many states before the last depth that is asked for, lists take seconds.
    const FEW: usize = 100_000;

    /// Decides for lists. A reason is printed unless the arguments ask for them.
    ///
    /// # Errors
    /// If the arguments ask for lists, and the command cannot search by lists.
    pub(crate) fn is_chosen(
        self,
        args: &BeginArguments,
        spec: &SpaceSpec,
        space: &Result<Space, RunError>,
    ) -> Result<bool> {
        let Self::Allowed { max_depth } = self else {
            return match args.engine {
                Some(Engine::Lists) => Err(bad_input!(
                    "--engine lists searches in one process, without workers. Use 'fathom run' without --workers"
                )),
                _ => Ok(false),
            };
        };
        let needs_cosets = args.plan.is_some() || args.inverse_classes || args.watch_states.is_some();
        match (args.engine, space) {
            (Some(engine), _) => Ok(engine == Engine::Lists),
            (None, Err(_)) if needs_cosets => Ok(false),
            (None, Err(error @ (RunError::Space(_) | RunError::Puzzle(_)))) => {
                output::remark(&format!("{error}; listing states instead, depth by depth"));
                Ok(true)
            }
            (None, Err(_)) => Ok(false),
            (None, Ok(space)) => match max_depth {
                Some(depth) if !needs_cosets && *space.states() > Self::LARGE.into() => {
                    let before_last = depth.saturating_sub(1);
                    Ok(ListedSpace::new(spec, None)?.has_at_most(Self::FEW, before_last))
                }
                _ => Ok(false),
            },
        }
    }
}
