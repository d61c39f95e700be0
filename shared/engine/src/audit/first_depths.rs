//! The first depths of a run, counted directly by applying the moves one by one from the solved state. Only
//! the counts of the search are used, so the layers may be anywhere.

use super::plain_states::{Plain, State};
use super::{plain_of, plain_of_puzzle};
use crate::journal::LayerRow;
use crate::run::{RunManifest, RunSpace};
use anyhow::{Result, anyhow};
use std::collections::HashSet;
use tracing::debug;

/// Checks the counts of a run's first depths, as far as they can be counted by placing `most_pieces`
/// pieces on cells. `layers` has all layers by depth; `is_complete` says whether they have all states of the
/// space.
///
/// # Errors
/// If the run's definition of the puzzle cannot be read, or a depth has another number of states.
pub(crate) fn check<'a>(
    (manifest, space): (&RunManifest, &RunSpace),
    layers: impl Iterator<Item = &'a LayerRow>,
    is_complete: bool,
    most_pieces: usize,
) -> Result<()> {
    let (given, of_pieces) = space.labels();
    let plain = match space.listed() {
        // Lists have spaces that are too large for cosets.
        Some(listed) => plain_of_puzzle(listed.puzzle.clone(), (given, &of_pieces)),
        None => plain_of(manifest, (given, &of_pieces))?,
    };
    let counts = first_depths(&plain, most_pieces);
    let states = layers.map(|layer| layer.states).chain(is_complete.then_some(0));
    for ((depth, states), &counted) in (0..).zip(states).zip(&counts) {
        if states != counted {
            return Err(anyhow!(
                "the counts contradict the puzzle's moves: depth {depth} has {states} states, but a direct count gives {counted}. The run is wrong: do not use its results"
            ));
        }
    }
    debug!(depths = counts.len(), "first depths agree");
    Ok(())
}

/// Returns the number of states at each depth, as far as they can be counted by placing `most_pieces` pieces
/// on cells; 0 after the last depth of the space.
fn first_depths(plain: &Plain, most_pieces: usize) -> Vec<u64> {
    let mut newest = plain.starts();
    let pieces_of_each = plain.neighbours().saturating_mul(plain.cells());
    let mut left = most_pieces;
    let mut seen = newest.clone();
    let mut counts = vec![newest.len() as u64];
    while !newest.is_empty() {
        left = match left.checked_sub(newest.len().saturating_mul(pieces_of_each)) {
            Some(left) => left,
            None => break,
        };
        let images = newest.iter().flat_map(|word| plain.successors(word));
        let next: HashSet<State> = images.map(|image| plain.least_word(&image)).collect();
        newest = next.into_iter().filter(|word| seen.insert(word.clone())).collect();
        counts.push(newest.len() as u64);
    }
    counts
}
