//! Classes: states up to symmetry, by Burnside's lemma.
//!
//! The number of classes of a layer is the number of pairs (symmetry, state of the layer that it fixes), divided by
//! the number of symmetries. Those pairs add up coset by coset, so every shard can count its own:
//!
//! - symmetries that respect the colouring: those of a representative's stabiliser fix states inside its coset, which
//!   are found from the axes alone ([`Fixed::inside`]), and stand for as many pairs as the orbit has patterns;
//! - the others (where the planner chose a colouring that fewer symmetries respect) fix few states, which are listed
//!   once, with their addresses ([`Fixed::crossing`]).

use crate::{CosetGraph, CosetId, Space, Symmetry, Transform, Transforms};
use std::collections::HashSet;

/// A state that symmetries outside those in use fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// Where it lies.
    pub coset: CosetId,
    /// Its position there.
    pub position: u32,
    /// How many pairs (symmetry, state) it stands for.
    pub pairs: u32,
}

/// The fixed states of a space's symmetries, as needed to count classes.
#[derive(Debug)]
pub struct Fixed {
    crossing: Vec<Crossing>,
}

impl Fixed {
    /// The most words that are looked at for crossing states (12 bytes each).
    const MOST_CROSSING: usize = 1 << 23;

    /// Lists the states that symmetries outside those in use fix. `None` if they are too many: then classes are not
    /// counted.
    pub fn new(graph: &CosetGraph) -> Option<Self> {
        let space = graph.space();
        let used: HashSet<&Symmetry> = graph.symmetries().iter().map(|s| &s.symmetry).collect();
        let mut crossing = Vec::new();
        let mut looked_at = 0;
        for (symmetry, conjugates) in conjugacy_classes(space, &used) {
            fixed_words(space, symmetry, &mut |word| {
                looked_at += 1;
                if let Some((coset, position)) = graph.locate(word) {
                    crossing.push(Crossing { coset, position, pairs: conjugates });
                }
                looked_at <= Self::MOST_CROSSING
            });
            if looked_at > Self::MOST_CROSSING {
                return None;
            }
        }
        crossing.sort_unstable();
        Some(Self { crossing })
    }

    /// The crossing states of a coset.
    pub fn crossing(&self, coset: CosetId) -> &[Crossing] {
        let start = self.crossing.partition_point(|c| c.coset < coset);
        let end = start + self.crossing[start..].partition_point(|c| c.coset == coset);
        &self.crossing[start..end]
    }

    /// The pairs (symmetry, state) of a coset's whole orbit. `states` is the number of the coset's states in the
    /// layer, `contains(position)` tells whether one is.
    pub fn pairs(
        &self,
        transforms: &mut Transforms<'_>,
        coset: CosetId,
        states: u32,
        contains: impl Fn(u32) -> bool,
    ) -> u64 {
        let graph = transforms.graph();
        // The identity fixes all.
        let mut inside = u64::from(states);
        let mut transform = Transform::default();
        for symmetry in graph.stabiliser(coset) {
            transforms.of_symmetry(coset, symmetry, &mut transform);
            Self::inside(transforms, &transform, &mut |position| inside += u64::from(contains(position)));
        }
        let crossing: u64 =
            self.crossing(coset).iter().filter(|c| contains(c.position)).map(|c| u64::from(c.pairs)).sum();
        inside * u64::from(graph.orbit_size(coset)) + crossing
    }

    /// Calls `found` with the position of every state that a transform of a coset to itself fixes.
    ///
    /// A tuple of indices is fixed if along each axis c the map leads from index c to the index of the axis that c
    /// becomes. So along a cycle of axes one index determines the others, and it must come back to itself.
    pub fn inside(transforms: &Transforms<'_>, transform: &Transform, found: &mut impl FnMut(u32)) {
        let shape = transforms.graph().shape();
        let axes = shape.lengths().len();
        let follow = |start: usize, index: u32, indices: &mut [u32]| {
            let (mut axis, mut index) = (start, index);
            loop {
                indices[axis] = index;
                index = transforms.map(transform.maps[axis]).to[index as usize];
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
        // Every choice of one fixed index for each cycle.
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
}

/// One symmetry of each conjugacy class outside `used`, with the number of its conjugates outside: conjugate
/// symmetries fix equally many states of every layer.
fn conjugacy_classes<'s>(space: &'s Space, used: &HashSet<&Symmetry>) -> Vec<(&'s Symmetry, u32)> {
    let outside: Vec<&Symmetry> = space.symmetries().iter().filter(|s| !used.contains(s)).collect();
    if outside.is_empty() {
        return Vec::new();
    }
    let inverses: Vec<Symmetry> = space.symmetries().iter().map(|by| space.inverse(by)).collect();
    let mut counted: HashSet<Symmetry> = HashSet::new();
    let mut classes = Vec::new();
    for symmetry in &outside {
        if counted.contains(symmetry) {
            continue;
        }
        let conjugate = |(by, inverse)| space.compose(&space.compose(inverse, symmetry), by);
        let conjugates: HashSet<Symmetry> = space.symmetries().iter().zip(&inverses).map(conjugate).collect();
        let members = outside.iter().filter(|s| conjugates.contains(s)).count();
        counted.extend(conjugates);
        classes.push((*symmetry, members as u32));
    }
    classes
}

/// Calls `found` with every word of labels, reachable or not, that a symmetry fixes, until it returns false. The label
/// on the first cell of a cycle determines those on the others, and must come back to itself, as it was turned.
fn fixed_words(space: &Space, symmetry: &Symmetry, found: &mut impl FnMut(&[u8]) -> bool) {
    fn place(
        space: &Space,
        cycles: &[Vec<usize>],
        symmetry: &Symmetry,
        left: &mut [u8],
        word: &mut [u8],
        found: &mut impl FnMut(&[u8]) -> bool,
    ) -> bool {
        let Some((cycle, rest)) = cycles.split_first() else {
            return found(word);
        };
        let letters = space.letters();
        for first in 0..letters.count() as u8 {
            let label = letters.mark(first);
            if letters.orientation(first) >= letters.seen(label) || !space.belongs(label, cycle[0]) {
                continue;
            }
            let mut letter = first;
            let mut placed = 0;
            while placed < cycle.len() && left[usize::from(letters.mark(letter))] > 0 {
                left[usize::from(letters.mark(letter))] -= 1;
                word[cycle[placed]] = letter;
                letter =
                    letters.turned(symmetry.letters()[usize::from(letter)], symmetry.turn(cycle[placed]));
                placed += 1;
            }
            let goes_on =
                placed < cycle.len() || letter != first || place(space, rest, symmetry, left, word, found);
            for &cell in &cycle[..placed] {
                left[usize::from(letters.mark(word[cell]))] += 1;
            }
            if !goes_on {
                return false;
            }
        }
        true
    }
    let mut cycles = Vec::new();
    let mut seen = vec![false; space.cells()];
    for start in 0..space.cells() {
        let mut cycle = Vec::new();
        let mut cell = start;
        while !std::mem::replace(&mut seen[cell], true) {
            cycle.push(cell);
            cell = usize::from(symmetry.cells[cell]);
        }
        if !cycle.is_empty() {
            cycles.push(cycle);
        }
    }
    let mut left = space.labels().sizes().to_vec();
    place(space, &cycles, symmetry, &mut left, &mut vec![0; space.cells()], found);
}
