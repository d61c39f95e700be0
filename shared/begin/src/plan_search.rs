//! Planning before a search: chooses a colouring, shows a message meanwhile, and rejects spaces that are too
//! large.

use anyhow::{Error, Result};
use fathom_command::activity::doing;
use fathom_command::bad_input;
use fathom_engine::run::{RunError, SpaceSpec};
use fathom_puzzle::{DefinitionError, SourceError};
use fathom_report::text::{grouped, many};
use fathom_space::{Base, Plan, PlanError, Space, SpaceError};
use indicatif::HumanBytes;
use num_bigint::BigUint;

const FIRST_DEPTHS: &str = "list the states of the first depths with 'fathom run' and --max-depth";

/// Returns whether a space that cannot be cut into cosets can be listed.
pub fn can_be_listed(error: &RunError) -> bool {
    use SpaceError::{GuardedOneWay, NotFree, TooManyLetters, Uncounted, UnknownGroup};
    match error {
        RunError::Puzzle(
            SourceError::TooManyCells { .. }
            | SourceError::Definition(DefinitionError::OtherStarts(_) | DefinitionError::Asks(_)),
        ) => true,
        RunError::Space(error) => {
            matches!(
                error,
                GuardedOneWay(_)
                    | NotFree(_)
                    | TooManyLetters { .. }
                    | Uncounted { .. }
                    | UnknownGroup { .. }
            )
        }
        _ => false,
    }
}

/// Adds what is possible nevertheless to the reason why a puzzle cannot be cut into cosets.
pub fn without_cosets(error: RunError) -> Error {
    match can_be_listed(&error) {
        true => bad_input!("{error}. You can also {FIRST_DEPTHS}"),
        false => error.into(),
    }
}

/// Computes a plan. A terminal shows a message if planning takes more than a second.
pub fn planned(
    spec: &SpaceSpec,
    space: &Space,
    plan: impl FnOnce() -> Result<Plan, PlanError>,
) -> Result<Plan> {
    let planning = doing(&format!("planning {}", space.puzzle().name));
    let plan = plan();
    drop(planning);
    plan.map_err(|PlanError::TooLarge { .. }| too_large(spec, space))
}

/// Returns the pieces that determine where all others are, in the syntax of `--track`, if all pieces are
/// distinct.
fn base(spec: &SpaceSpec) -> Option<String> {
    let puzzle = spec.source.puzzle(spec.metric).ok().filter(|_| spec.labels.are_distinct())?;
    let pieces = Base::find(&puzzle)?.pieces_of_base();
    Some(pieces.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

/// Returns the error for a space that is too large with any colouring, with suggestions.
fn too_large(spec: &SpaceSpec, space: &Space) -> Error {
    /// A space with fewer states than this is too large only because of its number of pieces.
    const FEW_STATES: u32 = 1 << 30;
    if *space.states() < BigUint::from(FEW_STATES) {
        let help = match base(spec) {
            Some(pieces) => format!(
                "use '--track {pieces}', the pieces that determine all others, which gives the same states and distances"
            ),
            None => "distinguish fewer pieces with --track or --labels".into(),
        };
        return bad_input!(
            "{} {} has only {} states, but too many distinct pieces for the tables of a search: {help}",
            space.puzzle().name,
            space.metric(),
            grouped(space.states())
        );
    }
    let (states, symmetries) = (space.states(), space.symmetry_order());
    let mut help =
        vec![FIRST_DEPTHS.to_owned(), "distinguish fewer pieces with --track or --labels".to_owned()];
    let definition = spec.source.definition(spec.metric).ok();
    let orbits = definition.iter().flat_map(|definition| definition.orbits());
    let orbits: Vec<&str> = orbits.map(|orbit| orbit.name.as_str()).collect();
    if orbits.len() > 1 {
        help.push(format!(
            "omit pieces with --omit, or ignore their orientations with --ignore-orientation ({})",
            orbits.join(", ")
        ));
    }
    if spec.source.name().to_lowercase().starts_with("3x3x3") {
        help.push("search a named part: 3x3x3-corners, 3x3x3-edges or 3x3x3-positions".into());
    }
    bad_input!(
        "{} {} has {} states, too many to search: even at one bit per state, reduced by {}, a layer would take {}. You can {}; 'fathom solve' finds shortest solutions of individual states without a full search",
        space.puzzle().name,
        space.metric(),
        grouped(states),
        many(symmetries as u64, "symmetry"),
        bytes(&(states / symmetries / 8_u32)),
        help.join("; ")
    )
}

/// Formats a number of bytes; as a power of ten if it does not fit into 64 bits.
fn bytes(bytes: &BigUint) -> String {
    match u64::try_from(bytes) {
        Ok(bytes) => HumanBytes(bytes).to_string(),
        Err(_) => {
            let digits = bytes.to_string();
            format!("{}.{} x 10^{} bytes", &digits[..1], &digits[1..2], digits.len() - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_size_are_formatted() {
        assert_eq!(bytes(&BigUint::from(1_u32 << 30)), "1.00 GiB");
        assert_eq!(bytes(&BigUint::from(10_u32).pow(30)), "1.0 x 10^30 bytes");
        assert_eq!(bytes(&(BigUint::from(27_u32) * BigUint::from(10_u32).pow(24))), "2.7 x 10^25 bytes");
    }
}
