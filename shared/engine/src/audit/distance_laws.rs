//! Properties that every state must satisfy, given the depths of its neighbours.
//!
//! A function f from states to depths is the distance d from the solved states if it has three properties:
//! (1) f is 0 exactly on the solved states; (2) every other state s has a predecessor with depth f(s) - 1;
//! (3) no predecessor of a state s has a depth less than f(s) - 1.
//!
//! Proof: by (1) and (2), f(s) moves lead from a solved state to s, so d <= f. Suppose that d < f for some
//! state s, and take one with the smallest d(s) = k. By (1), k > 0, so s has a predecessor with d = k - 1,
//! where f = d. Then f = k - 1 < f(s) - 1 at a predecessor of s, which contradicts (3).
//!
//! The proof does not use how f was found. With all layers kept and all states checked, an audit relies on
//! these statements only.

use super::kept_layers::{KeptLayers, Lookup};
use super::plain_states::{Plain, State};
use anyhow::Result;

/// A state for which a statement does not hold.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Contradiction {
    /// The depth of the layer that has the state; `None` if no kept layer has it.
    pub depth: Option<u32>,
    /// The label of the piece on each cell of the puzzle, followed by `+` and the orientation if that is not
    /// 0.
    pub state: String,
    /// The statement that does not hold.
    pub reason: String,
}

/// The direction of the move between a state and its neighbour.
#[derive(Clone, Copy)]
enum Neighbour {
    Predecessor,
    Successor,
}

/// Returns all states whose depths [`check`] may look up for these states: the states and their neighbours.
pub(super) fn concerned(plain: &Plain, states: &[State]) -> impl Iterator<Item = State> {
    let of_one = |state: &State| -> Vec<State> {
        let neighbours = plain.predecessors(state).into_iter().chain(plain.successors(state));
        std::iter::once(state.clone()).chain(neighbours).collect()
    };
    states.iter().flat_map(of_one)
}

/// Checks one state, which should be at `depth` if that is given. Returns the depth of the layer that has the
/// state, and the statement that does not hold, if there is one.
///
/// # Errors
/// If a layer cannot be read.
pub(super) fn check(
    plain: &Plain,
    lookup: &Lookup<'_>,
    state: &State,
    depth: Option<u32>,
) -> Result<(Option<u32>, Option<Contradiction>)> {
    let found = lookup.depths_of(state)?;
    let reason = match (&found[..], depth) {
        ([first, second, ..], _) => Some(format!("the layers of depths {first} and {second} both have it")),
        ([found], Some(depth)) if *found != depth => {
            Some(format!("it was drawn from depth {depth}, but is found at depth {found}"))
        }
        ([], Some(depth)) => Some(format!("it was drawn from depth {depth}, but is not found there again")),
        ([found], _) => of_layer(plain, lookup, state, *found)?,
        ([], None) => of_none(plain, lookup, state)?,
    };
    let at = found.first().copied().or(depth);
    Ok((at, reason.map(|reason| Contradiction { depth: at, state: Plain::written(state), reason })))
}

/// Returns the statement that does not hold for a state that the layer at `depth` has.
fn of_layer(plain: &Plain, lookup: &Lookup<'_>, state: &State, depth: u32) -> Result<Option<String>> {
    let kept = lookup.kept;
    match (depth, plain.is_solved(state)) {
        (0, false) => return Ok(Some("it is at depth 0, but is not solved".into())),
        (0, true) => {}
        (_, true) => return Ok(Some(format!("it is solved, but is at depth {depth}"))),
        (_, false) => {
            let mut has_before = !kept.has(depth - 1);
            for before in plain.predecessors(state) {
                let found = lookup.depths_of(&before)?;
                if let Some(reason) = misplaced(kept, &before, &found, depth, Neighbour::Predecessor) {
                    return Ok(Some(reason));
                }
                has_before |= found.contains(&(depth - 1));
            }
            if !has_before {
                return Ok(Some(format!("no move leads to it from depth {}", depth - 1)));
            }
        }
    }
    for after in plain.successors(state) {
        let found = lookup.depths_of(&after)?;
        if let Some(reason) = misplaced(kept, &after, &found, depth, Neighbour::Successor) {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

/// Returns the statement that does not hold for a state that no kept layer has.
fn of_none(plain: &Plain, lookup: &Lookup<'_>, state: &State) -> Result<Option<String>> {
    let kept = lookup.kept;
    if kept.has(0) && plain.is_solved(state) {
        return Ok(Some("it is solved, but is not at depth 0".into()));
    }
    if kept.is_complete && kept.has_all(0..=kept.last()) {
        return Ok(Some("no layer has it, although the run is complete".into()));
    }
    for before in plain.predecessors(state) {
        for depth in lookup.depths_of(&before)? {
            if let Some((least, most)) = range(kept, depth, Neighbour::Successor)
                && kept.has_all(least..=most)
            {
                return Ok(Some(format!(
                    "a move leads to it from depth {depth}, so it must be at depth {least} to {most}, but no layer has it"
                )));
            }
        }
    }
    Ok(None)
}

/// Returns the reason why a neighbour of a state at `depth` cannot be in the layers `found`.
fn misplaced(
    kept: &KeptLayers<'_>,
    neighbour: &State,
    found: &[u32],
    depth: u32,
    which: Neighbour,
) -> Option<String> {
    let written = Plain::written(neighbour);
    let direction = match which {
        Neighbour::Predecessor => "to it from",
        Neighbour::Successor => "from it to",
    };
    let possible = possible(kept, depth, which);
    if let Some(wrong) = found.iter().find(|found| !possible.contains(found)) {
        return Some(format!("a move leads {direction} {written}, at depth {wrong}"));
    }
    let (least, most) = range(kept, depth, which)?;
    (found.is_empty() && kept.has_all(least..=most)).then(|| {
        format!(
            "a move leads {direction} {written}, which must be at depth {least} to {most}, but no layer has it"
        )
    })
}

/// Returns the depths that a neighbour may have by property (3), whether or not there are such layers. If the
/// moves are closed under inverses, every predecessor is also a successor, and the depths differ by at most
/// one.
fn possible(kept: &KeptLayers<'_>, depth: u32, which: Neighbour) -> std::ops::RangeInclusive<u32> {
    match which {
        Neighbour::Successor => match kept.is_closed {
            true => depth.saturating_sub(1)..=depth + 1,
            false => 0..=depth + 1,
        },
        Neighbour::Predecessor => match kept.is_closed {
            true => depth.saturating_sub(1)..=depth + 1,
            false => depth.saturating_sub(1)..=u32::MAX,
        },
    }
}

/// Returns the first and the last depth of [`possible`], limited to the finished layers if the run is
/// complete. `None` if the neighbour may be in a layer that is not finished.
fn range(kept: &KeptLayers<'_>, depth: u32, which: Neighbour) -> Option<(u32, u32)> {
    let possible = possible(kept, depth, which);
    let most = match kept.is_complete {
        true => (*possible.end()).min(kept.last()),
        false => *possible.end(),
    };
    (most <= kept.last()).then_some((*possible.start(), most))
}

/// Returns, as readable text, the statements that cannot be checked with the kept layers.
pub(super) fn unchecked(kept: &KeptLayers<'_>) -> Vec<String> {
    let depths: Vec<u32> = (0..=kept.last()).collect();
    let say = |depths: Vec<u32>, what: &str| -> Option<String> {
        (!depths.is_empty()).then(|| format!("{what}: {}", ranges(&depths)))
    };
    let lacking = |is_checked: &dyn Fn(u32) -> bool| -> Vec<u32> {
        depths.iter().copied().filter(|&depth| !is_checked(depth)).collect()
    };
    let is_full = |depth: u32, which| {
        kept.has(depth) && range(kept, depth, which).is_none_or(|(least, most)| kept.has_all(least..=most))
    };
    // A predecessor that was found at a possible depth is not also at an impossible one.
    let are_found = |depth| {
        range(kept, depth, Neighbour::Predecessor).is_some_and(|(least, most)| kept.has_all(least..=most))
    };
    let below =
        |depth: u32| kept.has(depth) && (depth < 2 || kept.has_all(0..=depth - 2) || are_found(depth));
    [
        say(lacking(&|depth| kept.has(depth)), "the states at these depths, whose layers were not kept"),
        say(
            lacking(&|depth| !kept.has(depth) || depth == 0 || kept.has(depth - 1)),
            "that states at these depths have a predecessor at the previous depth",
        ),
        say(
            lacking(&|depth| !kept.has(depth) || below(depth)),
            "that states at these depths have no predecessor at a lower depth whose layer was not kept",
        ),
        say(
            lacking(&|depth| !kept.has(depth) || is_full(depth, Neighbour::Successor)),
            "that all moves from these depths lead to states in some layer",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Writes increasing numbers as ranges.
fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{} to {}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(", ")
}
