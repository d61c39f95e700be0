//! Classes: states up to symmetry, by Burnside's lemma.
//!
//! The number of classes of a layer is the number of pairs (symmetry, state of the layer that it fixes),
//! divided by the number of symmetries. Those pairs add up coset by coset, so every shard can count its own:
//!
//! - symmetries that respect the colouring: those of a representative's stabiliser fix states inside its
//!   coset, which are found from the axes alone ([`Fixed::inside`]), and stand for as many pairs as the orbit
//!   has patterns;
//! - the others (where the planner chose a colouring that fewer symmetries respect) fix few states, which are
//!   listed once, with their addresses ([`Listed`]).
//!
//! Up to inversion, the group that acts has inversions followed by symmetries as well. What these fix, states
//! that a symmetry maps to their inverses, is few too, and is listed in the same way.

mod inverted;
mod listed;

use crate::placements::{Action, NoInverses, Placements, conjugacy_classes};
use crate::{CosetGraph, CosetId, Space, Symmetry, Transform, Transforms};
pub use inverted::Inverses;
use inverted::{Inversions, Inverted};
pub use listed::Listed;
use std::collections::HashSet;

/// Counts what classes are made of, coset by coset.
#[derive(Debug)]
pub struct Pairs {
    fixed: Option<Fixed>,
    inverted: Option<Inverted>,
}

impl Pairs {
    /// Spaces of so many states have their classes up to inversion counted unless asked otherwise.
    pub const MOST_STATES_INVERTED: u64 = 1_000_000_000;

    /// What is needed to count; with `inverted`, up to inversion as well, if states have inverses.
    pub fn new(graph: &CosetGraph, inverted: bool) -> Self {
        Self { fixed: Fixed::new(graph), inverted: inverted.then(|| Inverted::new(graph).ok()).flatten() }
    }

    /// As [`Pairs::of`], of no states.
    pub fn of_nothing(&self) -> (Option<u64>, Option<u64>) {
        (self.fixed.is_some().then_some(0), self.inverted.is_some().then_some(0))
    }

    /// Of a coset's whole orbit: the pairs of a symmetry and a state that it fixes, and those of a symmetry
    /// and a state that it maps to its inverse; `None` if they are not counted. `states` is the number of
    /// the coset's states in the layer, `contains(position)` tells whether one is.
    pub fn of(
        &self,
        transforms: &mut Transforms<'_>,
        coset: CosetId,
        states: u32,
        contains: impl Fn(u32) -> bool,
    ) -> (Option<u64>, Option<u64>) {
        let inverted =
            self.inverted.as_ref().map(|inverted| inverted.pairs(transforms.graph(), coset, &contains));
        let fixed = self.fixed.as_ref().map(|fixed| fixed.pairs(transforms, coset, states, contains));
        (fixed, inverted)
    }
}

impl Space {
    /// Whether classes up to inversion can be counted.
    ///
    /// # Errors
    /// [`NoInverses`] with the reason why not.
    pub fn has_inverses(&self) -> Result<(), NoInverses> {
        Inversions::of(self).map(|_| ())
    }
}

/// The fixed states of a space's symmetries.
#[derive(Debug)]
pub struct Fixed {
    /// Those of symmetries outside those in use.
    crossing: Listed,
}

impl Fixed {
    /// The most words that are looked at for crossing states.
    pub(crate) const MOST_CROSSING: usize = 1 << 23;

    /// Lists the states that symmetries outside those in use fix. `None` if they are too many: then classes
    /// are not counted.
    pub fn new(graph: &CosetGraph) -> Option<Self> {
        let space = graph.space();
        let used: HashSet<&Symmetry> = graph.symmetries().iter().map(|s| &s.symmetry).collect();
        if used.len() == space.symmetries().len() {
            return Some(Self { crossing: Listed::default() });
        }
        let placements = Placements::new(space);
        let of_symmetry = |symmetry: &Symmetry| placements.of_symmetry(space, symmetry);
        let all: Vec<Action> = space.symmetries().iter().map(of_symmetry).collect();
        let (inside, outside): (Vec<_>, Vec<_>) =
            space.symmetries().iter().zip(&all).partition(|(symmetry, _)| used.contains(symmetry));
        let [inside, outside] = [inside, outside]
            .map(|part| part.into_iter().map(|(_, action)| action.clone()).collect::<Vec<_>>());
        let classes = conjugacy_classes(&outside, &all, &inside).expect("symmetries are a group");
        let classes: Vec<(Action, u32)> =
            classes.into_iter().map(|(number, members)| (outside[number].clone(), members)).collect();
        Some(Self { crossing: Listed::of(graph, &placements, &classes, &all, Self::MOST_CROSSING)? })
    }

    /// The pairs (symmetry, state) of a coset's whole orbit. `states` is the number of the coset's states in
    /// the layer, `contains(position)` tells whether one is.
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
            if Self::changes_nothing(transforms, &transform) {
                inside += u64::from(states);
                continue;
            }
            Self::inside(transforms, &transform, &mut |position| inside += u64::from(contains(position)));
        }
        inside * u64::from(graph.orbit_size(coset)) + self.crossing.pairs(coset, contains)
    }

    /// Whether a transform of a coset to itself fixes all states, as symmetries do that move only what the
    /// pattern tells.
    fn changes_nothing(transforms: &Transforms<'_>, transform: &Transform) -> bool {
        let keeps = |(axis, &to): (usize, &u8)| axis == usize::from(to);
        let is_identity = |&map: &u32| transforms.map(map).to.iter().zip(0..).all(|(&to, index)| to == index);
        transform.target.iter().enumerate().all(keeps) && transform.maps.iter().all(is_identity)
    }

    /// Calls `found` with the position of every state that a transform of a coset to itself fixes.
    ///
    /// A tuple of indices is fixed if along each axis c the map leads from index c to the index of the axis
    /// that c becomes. So along a cycle of axes one index determines the others, and it must come back to
    /// itself.
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
