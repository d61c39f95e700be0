//! States that symmetries map to their inverses.

use super::{FixedStates, StateTest};
use crate::placements::{Action, NoInverses, Placements, conjugacy_classes, inverse, then};
use crate::{CosetGraph, CosetId, Space};
use rustc_hash::FxHashSet;

/// Counts the pairs of a symmetry and a state that the symmetry maps to the state's inverse.
#[derive(Debug)]
pub(super) enum Inverted {
    /// The states of all pairs, because they are few.
    FixedStates(FixedStates),
    /// A test for each state, because the states of all pairs are too many, or there are few states.
    Tested(Box<StateTest>),
}

/// The actions that fix the states which symmetries map to their inverses.
pub(super) struct Inversions {
    placements: Placements,
    symmetries: Vec<Action>,
    /// The inversion followed by each symmetry.
    actions: Vec<Action>,
}

impl Inverted {
    /// The number of words that are examined in any case, which takes a tenth of a second.
    const FEW: usize = 1 << 18;
    /// Examining a word for the list takes about this many times as long as testing a state.
    const TESTS_PER_WORD: u64 = 8;
    /// The largest number of words that are examined for a list, so that the list takes at most about 3 GB.
    const MOST: usize = 1 << 28;

    /// Prepares the count for the space of a graph. Returns [`NoInverses`] if its states have no inverses.
    pub(super) fn new(graph: &CosetGraph) -> Result<Self, NoInverses> {
        let worth = usize::try_from(graph.space().states() / Self::TESTS_PER_WORD).unwrap_or(usize::MAX);
        let most = worth.clamp(Self::FEW, Self::MOST);
        let inversions = Inversions::new(graph.space())?;
        let most = StateTest::most_listed(graph, inversions.actions.len(), most);
        Ok(match inversions.list(graph, most) {
            Some(listed) => Self::FixedStates(listed),
            None => Self::Tested(inversions.test().into()),
        })
    }

    /// Counts the pairs of the whole orbit of a coset, for the states whose positions `contains` accepts.
    pub(super) fn pairs(&self, graph: &CosetGraph, coset: CosetId, contains: impl Fn(u32) -> bool) -> u64 {
        match self {
            Self::FixedStates(listed) => listed.pairs(coset, contains),
            Self::Tested(test) => test.pairs(graph, coset, contains),
        }
    }
}

impl Inversions {
    /// Finds the actions for a space. Returns [`NoInverses`] if its states have no inverses.
    pub(super) fn new(space: &Space) -> Result<Self, NoInverses> {
        let placements = Placements::new(space);
        let inversion = placements.inversion(space)?;
        let symmetries = placements.of_symmetries(space);
        // Conjugates of symmetries by the inversion must be symmetries.
        let known: FxHashSet<&Action> = symmetries.iter().collect();
        let back = inverse(&inversion);
        let is_kept = |symmetry| known.contains(&then(&then(&back, symmetry), &inversion));
        if !symmetries.iter().all(is_kept) {
            return Err(NoInverses::FreeMoves);
        }
        let actions = symmetries.iter().map(|symmetry| then(&inversion, symmetry)).collect();
        Ok(Self { placements, symmetries, actions })
    }

    /// Lists the states that the actions fix. Returns `None` if more than `most` words would have to be
    /// examined.
    fn list(&self, graph: &CosetGraph, most: usize) -> Option<FixedStates> {
        if most == 0 {
            return None;
        }
        let classes = conjugacy_classes(&self.actions, &self.symmetries, &[]);
        let classes = classes.expect("conjugates of the actions are among them").into_iter();
        let classes: Vec<(Action, u32)> =
            classes.map(|(number, members)| (self.actions[number].clone(), members)).collect();
        let shortening = self.placements.shortening(graph.space(), &self.symmetries);
        FixedStates::new(graph, &self.placements, &classes, shortening, most)
    }

    /// Prepares to test states.
    fn test(self) -> StateTest {
        StateTest::new(self.placements, &self.actions)
    }
}

/// Inverts states of a space that has inverses.
#[derive(Debug)]
pub struct Inverses {
    placements: Placements,
    inversion: Action,
}

impl Inverses {
    /// Prepares the inversion of the states of a space.
    ///
    /// # Errors
    /// [`NoInverses`] if states have no inverses, or if symmetries do not map the inverses of the words of
    /// one state to each other.
    pub fn new(space: &Space) -> Result<Self, NoInverses> {
        space.has_inverses()?;
        let placements = Placements::new(space);
        Ok(Self { inversion: placements.inversion(space)?, placements })
    }

    /// Returns a word of the inverse of the state that has this word. If states have several words,
    /// symmetries map the inverses of the words of one state to each other.
    pub fn inverse(&self, word: &[u8]) -> Vec<u8> {
        let mut inverse = vec![0; word.len()];
        for (&letter, cell) in word.iter().zip(0..) {
            let placement = self.inversion[self.placements.number(cell, letter) as usize];
            let (cell, letter) = self.placements.at(placement);
            inverse[usize::from(cell)] = letter;
        }
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::Fixed;
    use crate::{Labels, Plan, Transforms};
    use fathom_puzzle::{Metric, PuzzleSpec};
    use std::collections::HashSet;

    fn graph(word: &str, metric: Metric) -> CosetGraph {
        let puzzle = PuzzleSpec::by_name(word).unwrap().puzzle(metric).unwrap();
        let labels = Labels::distinct(puzzle.cells);
        let space = Space::new(puzzle, metric, labels).unwrap();
        CosetGraph::build(&space, &Plan::new(&space).unwrap().colouring).unwrap()
    }

    /// Checks that listing and testing agree on sets of states that are closed under symmetries.
    #[test]
    fn listing_and_testing_agree() {
        // Moves reach a quarter of the words of a skewb.
        for (word, metric) in [
            ("3x3", Metric::Single),
            ("2x2x2", Metric::Multi),
            ("topspin:7,4", Metric::Given),
            ("skewb", Metric::Multi),
        ] {
            let graph = graph(word, metric);
            let space = graph.space();
            let inversions = Inversions::new(space).unwrap();
            let listed = inversions.list(&graph, usize::MAX).unwrap();
            let [listed, test] = [Inverted::FixedStates(listed), Inverted::Tested(inversions.test().into())];
            let is_in = |word: &[u8]| {
                let images = space.symmetries().iter().map(|symmetry| space.image(symmetry, word));
                let smallest = images.min().expect("the identity is a symmetry");
                smallest.iter().zip(1..).map(|(&letter, cell)| cell * u32::from(letter)).sum::<u32>() % 3 == 0
            };
            let apart = Fixed::apart(&graph, usize::MAX).unwrap();
            let fixed = [apart, Fixed::Tested(Fixed::test(&graph).into())];
            let mut transforms = Transforms::new(&graph);
            let mut of_fixed = [0, 0];
            let mut pairs = [0, 0];
            for coset in (0..graph.len()).map(CosetId) {
                let states = graph.shape().positions();
                let layer: HashSet<u32> = states.filter(|&p| is_in(&graph.word_at(coset, p))).collect();
                for (pairs, way) in of_fixed.iter_mut().zip(&fixed) {
                    let states = layer.len() as u32;
                    *pairs += way.pairs(&mut transforms, coset, states, |position| layer.contains(&position));
                }
                for (pairs, way) in pairs.iter_mut().zip([&listed, &test]) {
                    *pairs += way.pairs(&graph, coset, |position| layer.contains(&position));
                }
            }
            assert_eq!(of_fixed[0], of_fixed[1], "{word}");
            assert_eq!(pairs[0], pairs[1], "{word}");
            assert!(pairs[0] > 0, "{word}");
        }
    }
}
