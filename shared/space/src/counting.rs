//! Counts classes, which are states up to symmetry, by Burnside's lemma.
//!
//! The number of classes of a layer is the number of pairs (symmetry, state of the layer that the symmetry
//! fixes), divided by the number of symmetries. These pairs add up coset by coset, so every shard can count
//! its own:
//!
//! - A symmetry that respects the colouring fixes states only in cosets whose patterns it fixes, which are
//!   those with the symmetry in their stabiliser. In a representative coset these states are found from the
//!   axes alone ([`fixed_by`]). Each counts as many pairs as the orbit of the coset has patterns.
//! - A symmetry that does not respect the colouring, if the planner chose such a colouring, fixes few states.
//!   These states are listed once, with their addresses ([`FixedStates`]).
//!
//! Up to inversion, the acting group also contains the inversion followed by each symmetry. These actions fix
//! the states that a symmetry maps to their inverses. Such states are listed in the same way if they are few;
//! otherwise each state is tested. In a space that is small for its symmetries, each state is tested in any
//! case.

mod fixed_cosets;
mod fixed_states;
mod inversion;
mod state_test;

use crate::placements::{Action, NoInverses, Placements, conjugacy_classes};
use crate::{CosetGraph, CosetId, Space, Symmetry, Transforms};
use fixed_cosets::Inside;
pub use fixed_cosets::fixed_by;
pub use fixed_states::FixedStates;
pub use inversion::Inverses;
use inversion::{Inversions, Inverted};
use state_test::StateTest;
use std::collections::HashSet;

/// The largest number of words that are examined to list the states which symmetries that are not in use fix.
pub(crate) const MAX_CROSSING: usize = 1 << 23;

/// Counts the pairs from which the numbers of classes follow, coset by coset.
#[derive(Debug)]
pub struct Pairs {
    fixed: Option<Fixed>,
    inverted: Option<Inverted>,
}

impl Pairs {
    /// The largest number of states of a space whose classes up to inversion are counted by default.
    pub const MAX_STATES_INVERTED: u64 = 1_000_000_000;

    /// Prepares the count of a space's pairs. With `inverted`, pairs up to inversion are counted too, if
    /// states have inverses.
    pub fn new(graph: &CosetGraph, inverted: bool) -> Self {
        Self { fixed: Fixed::new(graph), inverted: inverted.then(|| Inverted::new(graph).ok()).flatten() }
    }

    /// Returns the result of [`Pairs::of`] for a coset without states in the layer.
    pub fn of_nothing(&self) -> (Option<u64>, Option<u64>) {
        (self.fixed.is_some().then_some(0), self.inverted.is_some().then_some(0))
    }

    /// Counts the pairs of the whole orbit of a coset: those of a symmetry and a state that the symmetry
    /// fixes, and those of a symmetry and a state that the symmetry maps to the state's inverse. `None`
    /// stands for pairs that are not counted. `states` is the number of the coset's states in the layer, and
    /// `contains(position)` returns whether the state at a position is one of them.
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
    /// Checks that classes up to inversion can be counted.
    ///
    /// # Errors
    /// [`NoInverses`] with the reason if they cannot.
    pub fn has_inverses(&self) -> Result<(), NoInverses> {
        Inversions::new(self).map(|_| ())
    }
}

/// The states that the symmetries of a space fix.
#[derive(Debug)]
enum Fixed {
    /// Those of symmetries in use, and those of the others.
    Apart {
        /// The states that symmetries in use fix.
        inside: Inside,
        /// The states that symmetries outside those in use fix.
        crossing: FixedStates,
    },
    /// A test of each state with all symmetries, because there are few states.
    Tested(Box<StateTest>),
}

impl Fixed {
    /// Lists the states that symmetries outside those in use fix, or tests states where that takes less time,
    /// or where there are few states. Returns `None` if too many words would have to be examined; classes are
    /// then not counted.
    fn new(graph: &CosetGraph) -> Option<Self> {
        let symmetries = graph.space().symmetries().len();
        let most = StateTest::most_listed(graph, symmetries, MAX_CROSSING);
        Self::apart(graph, most).or_else(|| {
            StateTest::is_short(graph, symmetries).then(|| Self::Tested(Self::test(graph).into()))
        })
    }

    /// Lists the states that symmetries outside those in use fix. Returns `None` if more than `most` words
    /// would have to be examined.
    fn apart(graph: &CosetGraph, most: usize) -> Option<Self> {
        let space = graph.space();
        let used: HashSet<&Symmetry> = graph.symmetries().iter().map(|s| &s.symmetry).collect();
        if used.len() == space.symmetries().len() {
            return Some(Self::Apart { inside: Inside::new(graph), crossing: FixedStates::default() });
        }
        if most == 0 {
            return None;
        }
        let placements = Placements::new(space);
        let all = placements.of_symmetries(space);
        let (inside, outside): (Vec<_>, Vec<_>) =
            space.symmetries().iter().zip(&all).partition(|(symmetry, _)| used.contains(symmetry));
        let [inside, outside] = [inside, outside]
            .map(|part| part.into_iter().map(|(_, action)| action.clone()).collect::<Vec<_>>());
        let classes = conjugacy_classes(&outside, &all, &inside).expect("symmetries are a group");
        let classes: Vec<(Action, u32)> =
            classes.into_iter().map(|(number, members)| (outside[number].clone(), members)).collect();
        let shortening = placements.shortening(space, &all);
        let crossing = FixedStates::new(graph, &placements, &classes, shortening, most)?;
        Some(Self::Apart { inside: Inside::new(graph), crossing })
    }

    /// Prepares to test states with all symmetries.
    fn test(graph: &CosetGraph) -> StateTest {
        let placements = Placements::new(graph.space());
        let all = placements.of_symmetries(graph.space());
        StateTest::new(placements, &all)
    }

    /// Counts the pairs (symmetry, state that the symmetry fixes) of the whole orbit of a coset. `states` is
    /// the number of the coset's states in the layer, and `contains(position)` returns whether the state at a
    /// position is one of them.
    fn pairs(
        &self,
        transforms: &mut Transforms<'_>,
        coset: CosetId,
        states: u32,
        contains: impl Fn(u32) -> bool,
    ) -> u64 {
        match self {
            Self::Apart { inside, crossing } => {
                let inside = inside.pairs(transforms, coset, states, &contains);
                inside * u64::from(transforms.graph().orbit_size(coset)) + crossing.pairs(coset, contains)
            }
            Self::Tested(test) => test.pairs(transforms.graph(), coset, contains),
        }
    }
}
