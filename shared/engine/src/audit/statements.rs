//! What must be true of a state, by the depths of its neighbours.
//!
//! A function f from all states to depths is the distance from the solved states if f is 0 on these alone,
//! every other state has a predecessor whose f is one less, and none whose f is less than that. (By
//! induction: the second gives d <= f. If d < f for a state, take one of least d = k; a predecessor of it has
//! d = k - 1, and f = d there, so f = k - 1 < f - 1 at a predecessor.) The proof does not care how f was
//! found. So with all layers kept and all states looked at, nothing but these statements is relied on.

use super::kept::{Kept, Lookup};
use super::plain::{Plain, State};
use anyhow::Result;

/// A state of which a statement does not hold.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Contradiction {
    /// The depth of the layer that has it; `None` if no kept layer has.
    pub depth: Option<u32>,
    /// What stands on each cell of the puzzle: the label of the piece, and with a `+` how far it is turned.
    pub state: String,
    /// What does not hold.
    pub reason: String,
}

/// The depths that a neighbour of a state may have, by that of the state and the direction of the move.
#[derive(Clone, Copy)]
enum Neighbour {
    Predecessor,
    Successor,
}

/// All states whose depths may be asked for when these are looked at.
pub(super) fn concerned(plain: &Plain, states: &[State]) -> impl Iterator<Item = State> {
    let of_one = |state: &State| -> Vec<State> {
        let neighbours = plain.predecessors(state).into_iter().chain(plain.successors(state));
        std::iter::once(state.clone()).chain(neighbours).collect()
    };
    states.iter().flat_map(of_one)
}

/// Looks at one state, which should be at `depth` if that is told. Returns the depth of the layer that has
/// it, and what does not hold.
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
            Some(format!("it was taken from depth {depth}, and is found at depth {found}"))
        }
        ([], Some(depth)) => Some(format!("it was taken from depth {depth}, and is not found there again")),
        ([found], _) => of_layer(plain, lookup, state, *found)?,
        ([], None) => of_none(plain, lookup, state)?,
    };
    let at = found.first().copied().or(depth);
    Ok((at, reason.map(|reason| Contradiction { depth: at, state: Plain::written(state), reason })))
}

/// What does not hold of a state of a layer.
fn of_layer(plain: &Plain, lookup: &Lookup<'_>, state: &State, depth: u32) -> Result<Option<String>> {
    let kept = lookup.kept;
    match (depth, plain.is_solved(state)) {
        (0, false) => return Ok(Some("it is at depth 0, and is not solved".into())),
        (0, true) => {}
        (_, true) => return Ok(Some(format!("it is solved, and at depth {depth}"))),
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

/// What does not hold of a state that no kept layer has.
fn of_none(plain: &Plain, lookup: &Lookup<'_>, state: &State) -> Result<Option<String>> {
    let kept = lookup.kept;
    if kept.has(0) && plain.is_solved(state) {
        return Ok(Some("it is solved, and not at depth 0".into()));
    }
    if kept.is_complete && kept.has_all(0..=kept.last()) {
        return Ok(Some("no layer has it, and the run is complete".into()));
    }
    for before in plain.predecessors(state) {
        for depth in lookup.depths_of(&before)? {
            if let Some((least, most)) = range(kept, depth, Neighbour::Successor)
                && kept.has_all(least..=most)
            {
                return Ok(Some(format!(
                    "a move leads to it from depth {depth}, so that it is at depth {least} to {most}, and no layer has it"
                )));
            }
        }
    }
    Ok(None)
}

/// Why a neighbour of a state at a depth cannot be where it was found.
fn misplaced(kept: &Kept, neighbour: &State, found: &[u32], depth: u32, which: Neighbour) -> Option<String> {
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
            "a move leads {direction} {written}, which is at depth {least} to {most}, and no layer has it"
        )
    })
}

/// The depths that a neighbour may have, whether there are layers of them or not.
fn possible(kept: &Kept, depth: u32, which: Neighbour) -> std::ops::RangeInclusive<u32> {
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

/// The same, as the first and the last finished layer; `None` if a neighbour may be in no finished layer.
fn range(kept: &Kept, depth: u32, which: Neighbour) -> Option<(u32, u32)> {
    let possible = possible(kept, depth, which);
    let most = match kept.is_complete {
        true => (*possible.end()).min(kept.last()),
        false => *possible.end(),
    };
    (most <= kept.last()).then_some((*possible.start(), most))
}

/// The statements that the kept layers do not suffice for, for people.
pub(super) fn unchecked(kept: &Kept) -> Vec<String> {
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
    // A predecessor that was found at a depth that is possible is at no other.
    let are_found = |depth| {
        range(kept, depth, Neighbour::Predecessor).is_some_and(|(least, most)| kept.has_all(least..=most))
    };
    let below =
        |depth: u32| kept.has(depth) && (depth < 2 || kept.has_all(0..=depth - 2) || are_found(depth));
    [
        say(lacking(&|depth| kept.has(depth)), "states of these depths, whose layers were not kept"),
        say(
            lacking(&|depth| !kept.has(depth) || depth == 0 || kept.has(depth - 1)),
            "that states of these depths have a predecessor one depth before",
        ),
        say(
            lacking(&|depth| !kept.has(depth) || below(depth)),
            "that states of these depths have no predecessor at some of the lower depths",
        ),
        say(
            lacking(&|depth| !kept.has(depth) || is_full(depth, Neighbour::Successor)),
            "that all moves from these depths lead to states that some layer has",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Numbers in order, as ranges.
fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{} to {}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(", ")
}
