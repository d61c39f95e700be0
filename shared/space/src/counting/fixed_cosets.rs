//! The states that the symmetries in use fix, which are in the cosets whose patterns these symmetries fix.

use crate::{CosetGraph, CosetId, Transform, Transforms};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest number of cosets whose fixed states are cached.
const MAX_COSETS: u32 = 1 << 14;
/// The largest number of positions that are cached, 8 bytes each.
const MAX_POSITIONS: usize = 1 << 20;

/// Counts the states that symmetries in use fix. In a small space the positions of these states are found
/// once, not in each layer.
#[derive(Debug)]
pub(super) struct Inside {
    /// By coset; empty if the cosets are too many.
    remembered: Box<[OnceLock<FixedStates>]>,
    /// The number of positions that may still be cached.
    room: AtomicUsize,
}

/// The states of a coset that the symmetries of its pattern fix.
#[derive(Debug)]
struct FixedStates {
    /// The number of symmetries that fix all states, the identity included.
    idle: u32,
    /// In increasing order: the positions of the states that others fix, with the numbers of these.
    positions: Box<[(u32, u32)]>,
}

impl Inside {
    pub(super) fn new(graph: &CosetGraph) -> Self {
        let remembered = if graph.len() <= MAX_COSETS { graph.len() } else { 0 };
        Self {
            remembered: (0..remembered).map(|_| OnceLock::new()).collect(),
            room: AtomicUsize::new(MAX_POSITIONS),
        }
    }

    /// Counts the pairs (symmetry in use, state that the symmetry fixes) of a coset. `states` is the number
    /// of the coset's states in the layer, and `contains(position)` returns whether the state at a position
    /// is one of them.
    pub(super) fn pairs(
        &self,
        transforms: &mut Transforms<'_>,
        coset: CosetId,
        states: u32,
        contains: impl Fn(u32) -> bool,
    ) -> u64 {
        let place = self.remembered.get(coset.0 as usize);
        if let Some(fixed) = place.and_then(OnceLock::get) {
            return fixed.pairs(states, contains);
        }
        let Some(place) = place.filter(|_| self.room.load(Ordering::Relaxed) > 0) else {
            let mut pairs = 0;
            let idle = visit(transforms, coset, &mut |position| pairs += u64::from(contains(position)));
            return pairs + u64::from(idle) * u64::from(states);
        };
        let fixed = FixedStates::new(transforms, coset);
        let pairs = fixed.pairs(states, contains);
        let left = |room: usize| Some(room.saturating_sub(fixed.positions.len()));
        let room = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        if room.is_ok_and(|room| room >= fixed.positions.len()) {
            // Another thread may have been faster.
            let _ = place.set(fixed);
        }
        pairs
    }
}

impl FixedStates {
    fn new(transforms: &mut Transforms<'_>, coset: CosetId) -> Self {
        let mut positions = Vec::new();
        let idle = visit(transforms, coset, &mut |position| positions.push(position));
        positions.sort_unstable();
        let runs = positions.chunk_by(|a, b| a == b);
        Self { idle, positions: runs.map(|run| (run[0], run.len() as u32)).collect() }
    }

    fn pairs(&self, states: u32, contains: impl Fn(u32) -> bool) -> u64 {
        let fixed = self.positions.iter().filter(|&&(position, _)| contains(position));
        let pairs: u64 = fixed.map(|&(_, symmetries)| u64::from(symmetries)).sum();
        pairs + u64::from(self.idle) * u64::from(states)
    }
}

/// Calls `found` with the positions of the states of a coset that a symmetry of its pattern fixes, once for
/// each such symmetry, except for those that fix all states. Returns the number of these, the identity
/// included.
fn visit(transforms: &mut Transforms<'_>, coset: CosetId, found: &mut impl FnMut(u32)) -> u32 {
    let graph = transforms.graph();
    let mut idle = 1;
    let mut transform = Transform::default();
    for symmetry in graph.stabiliser(coset) {
        transforms.of_symmetry(coset, symmetry, &mut transform);
        if changes_nothing(transforms, &transform) {
            idle += 1;
        } else {
            fixed_by(transforms, &transform, found);
        }
    }
    idle
}

/// Returns whether a transform of a coset to itself fixes all states. The transform of a symmetry does so if
/// the symmetry moves only what the pattern contains.
fn changes_nothing(transforms: &Transforms<'_>, transform: &Transform) -> bool {
    let keeps = |(axis, &to): (usize, &u8)| axis == usize::from(to);
    let is_identity = |&map: &u32| transforms.map(map).to.iter().zip(0..).all(|(&to, index)| to == index);
    transform.target.iter().enumerate().all(keeps)
        && transform.summands.iter().zip(0..).all(|(&to, summand)| to == summand)
        && transform.maps.iter().all(is_identity)
}

/// Calls `found` with the position of every state that a transform of a coset to itself fixes.
///
/// A tuple of indices is fixed if the map along each axis c leads from index c to the index of the axis
/// that c becomes. Along a cycle of axes one index therefore determines the others, and must come back to
/// itself.
pub fn fixed_by(transforms: &Transforms<'_>, transform: &Transform, found: &mut impl FnMut(u32)) {
    let positions = transforms.graph().shape().summand_positions();
    for (summand, to, maps) in transform.of_summands() {
        if summand == to {
            fixed_in_summand(transforms, maps, transform, &mut |position| {
                found(summand * positions + position)
            });
        }
    }
}

/// Does what [`fixed_by`] does for a summand, along whose axes `maps` lead.
fn fixed_in_summand(
    transforms: &Transforms<'_>,
    maps: &[u32],
    transform: &Transform,
    found: &mut impl FnMut(u32),
) {
    let shape = transforms.graph().shape();
    let axes = shape.lengths().len();
    let follow = |start: usize, index: u32, indices: &mut [u32]| {
        let (mut axis, mut index) = (start, index);
        loop {
            indices[axis] = index;
            index = transforms.map(maps[axis]).to[index as usize];
            axis = usize::from(transform.target[axis]);
            if axis == start {
                return index;
            }
        }
    };
    let mut scratch = vec![0; axes];
    let mut seen = vec![false; axes];
    let mut cycles: Vec<(usize, Vec<u32>)> = Vec::new();
    for start in 0..axes {
        if seen[start] {
            continue;
        }
        let mut axis = start;
        while !std::mem::replace(&mut seen[axis], true) {
            axis = usize::from(transform.target[axis]);
        }
        let fixed = (0..shape.lengths()[start])
            .filter(|&index| follow(start, index, &mut scratch) == index)
            .collect();
        cycles.push((start, fixed));
    }
    // Visit every choice of one fixed index for each cycle.
    let mut indices = vec![0; axes];
    let mut chosen = vec![0; cycles.len()];
    if cycles.iter().any(|(_, fixed)| fixed.is_empty()) {
        return;
    }
    loop {
        for ((start, fixed), &choice) in cycles.iter().zip(&chosen) {
            follow(*start, fixed[choice], &mut indices);
        }
        if shape.holds(&indices, transform.odd) {
            found(shape.position(&indices));
        }
        let Some(next) = (0..cycles.len()).rev().find(|&c| chosen[c] + 1 < cycles[c].1.len()) else {
            return;
        };
        chosen[next] += 1;
        chosen[next + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, Plan, Space};
    use fathom_puzzle::{Metric, PuzzleSpec};

    /// Counts the pairs of a coset one by one.
    fn one_by_one(graph: &CosetGraph, coset: CosetId, contains: impl Fn(u32) -> bool) -> u64 {
        let positions = graph.shape().positions().filter(|&position| contains(position));
        let pairs = positions.map(|position| {
            let word = graph.word_at(coset, position);
            let fixes = |symmetry: &usize| {
                graph.space().image(&graph.symmetries()[*symmetry].symmetry, &word) == word
            };
            1 + graph.stabiliser(coset).filter(fixes).count() as u64
        });
        pairs.sum()
    }

    /// A second layer is counted from the cached positions of the first, as far as the cache is large enough.
    #[test]
    fn cached_states_are_counted_correctly() {
        for (word, metric) in
            [("skewb", Metric::Multi), ("2x2x2", Metric::Multi), ("pyraminx", Metric::Single)]
        {
            let puzzle = PuzzleSpec::by_name(word).unwrap().puzzle(metric).unwrap();
            let labels = Labels::distinct(puzzle.cells);
            let space = Space::new(puzzle, metric, labels).unwrap();
            let graph = CosetGraph::build(&space, &Plan::new(&space).unwrap().colouring).unwrap();
            let none = || Inside { remembered: Box::default(), room: AtomicUsize::new(0) };
            let mut transforms = Transforms::new(&graph);
            let cosets = || (0..graph.len()).step_by(7).map(CosetId);
            let all: usize =
                cosets().map(|coset| FixedStates::new(&mut transforms, coset).positions.len()).sum();
            let little = Inside { room: AtomicUsize::new(all - 1), ..Inside::new(&graph) };
            let all = [Inside::new(&graph), little, none()];
            for layer in 0..3 {
                for coset in cosets() {
                    let contains = |position: u32| (position ^ coset.0) % 3 == layer;
                    let states = graph.shape().positions().filter(|&position| contains(position)).count();
                    let expected = one_by_one(&graph, coset, contains);
                    for inside in &all {
                        let pairs = inside.pairs(&mut transforms, coset, states as u32, contains);
                        assert_eq!(pairs, expected, "{word}, layer {layer}, coset {}", coset.0);
                    }
                }
            }
            let remembered =
                |inside: &Inside| inside.remembered.iter().filter(|fixed| fixed.get().is_some()).count();
            let [of_all, of_some, of_none] = [0, 1, 2].map(|number| remembered(&all[number]));
            assert_eq!((of_all, of_none), (cosets().count(), 0), "{word}");
            assert!(0 < of_some && of_some < of_all, "{word}: {of_some} of {of_all}");
        }
    }
}
