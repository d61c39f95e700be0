//! States that symmetries map to their inverses.

use super::Listed;
use crate::placements::{Action, NoInverses, Placements, conjugacy_classes, then};
use crate::{CosetGraph, CosetId, Space};

/// Counts the pairs of a symmetry and a state that the symmetry maps to the state's inverse.
#[derive(Debug)]
pub(super) enum Inverted {
    /// The states of all pairs, because they are few.
    Listed(Listed),
    /// A test for each state, because the states are many.
    Tested(Box<StateTest>),
}

/// Tests states one by one.
#[derive(Debug)]
pub(super) struct StateTest {
    placements: Placements,
    /// The inversion followed by each symmetry.
    actions: Vec<Action>,
}

/// The actions that fix the states which symmetries map to their inverses.
pub(super) struct Inversions {
    test: StateTest,
    /// The inversion followed by a symmetry: one action of each conjugacy class, with the number of its
    /// members.
    classes: Vec<(Action, u32)>,
    symmetries: Vec<Action>,
}

impl Inverted {
    /// The number of words that are examined in any case, which takes a tenth of a second.
    pub(super) const FEW: usize = 1 << 18;
    /// Examining a word for the list takes about this many times as long as testing a state.
    const TESTS_PER_WORD: u64 = 8;
    /// The largest number of words that are examined for a list, so that the list takes at most about 3 GB.
    const MOST: usize = 1 << 28;

    /// Prepares the count for the space of a graph. Returns [`NoInverses`] if its states have no inverses.
    pub(super) fn new(graph: &CosetGraph) -> Result<Self, NoInverses> {
        let worth = usize::try_from(graph.space().states() / Self::TESTS_PER_WORD).unwrap_or(usize::MAX);
        Self::within(graph, worth.clamp(Self::FEW, Self::MOST))
    }

    /// Does the same, and lists the states only if at most `most` words have to be examined.
    pub(super) fn within(graph: &CosetGraph, most: usize) -> Result<Self, NoInverses> {
        let space = graph.space();
        let Inversions { test, classes, symmetries } = Inversions::of(space)?;
        let shortening = test.placements.shortening(space, &symmetries);
        Ok(match Listed::of(graph, &test.placements, &classes, shortening, most) {
            Some(listed) => Self::Listed(listed),
            None => Self::Tested(test.into()),
        })
    }

    /// Returns the list, if the states are listed.
    pub(super) fn listed(&self) -> Option<&Listed> {
        match self {
            Self::Listed(listed) => Some(listed),
            Self::Tested(_) => None,
        }
    }

    /// Counts the pairs of the whole orbit of a coset, for the states whose positions `contains` accepts.
    pub(super) fn pairs(&self, graph: &CosetGraph, coset: CosetId, contains: impl Fn(u32) -> bool) -> u64 {
        match self {
            Self::Listed(listed) => listed.pairs(coset, contains),
            Self::Tested(test) => {
                let states = graph.shape().positions().filter(|&position| contains(position));
                let pairs = states.map(|position| test.pairs(&graph.word_at(coset, position)));
                pairs.sum::<u64>() * u64::from(graph.orbit_size(coset))
            }
        }
    }
}

impl Inversions {
    /// Finds the actions for a space. Returns [`NoInverses`] if its states have no inverses.
    pub(super) fn of(space: &Space) -> Result<Self, NoInverses> {
        let placements = Placements::new(space);
        let inversion = placements.inversion(space)?;
        let of_symmetry = |symmetry| placements.of_symmetry(space, symmetry);
        let symmetries: Vec<Action> = space.symmetries().iter().map(of_symmetry).collect();
        let actions: Vec<Action> = symmetries.iter().map(|symmetry| then(&inversion, symmetry)).collect();
        let classes = conjugacy_classes(&actions, &symmetries, &[]).ok_or(NoInverses::FreeMoves)?;
        let classes = classes.into_iter().map(|(number, members)| (actions[number].clone(), members));
        let classes = classes.collect();
        Ok(Self { test: StateTest { placements, actions }, classes, symmetries })
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
    pub fn of(space: &Space) -> Result<Self, NoInverses> {
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

impl StateTest {
    /// Returns the number of actions that map a word to itself.
    fn pairs(&self, word: &[u8]) -> u64 {
        let stands: Vec<u32> =
            word.iter().zip(0..).map(|(&letter, cell)| self.placements.number(cell, letter)).collect();
        let fixes = |action: &&Action| {
            stands.iter().all(|&placement| {
                let (cell, letter) = self.placements.at(action[placement as usize]);
                word[usize::from(cell)] == letter
            })
        };
        self.actions.iter().filter(fixes).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::Pairs;
    use crate::{Labels, Plan};
    use fathom_puzzle::{Metric, PuzzleSpec};
    use std::collections::HashSet;

    /// Checks that listing and testing agree on sets of states that are closed under symmetries.
    #[test]
    fn both_ways_count_alike() {
        // Moves reach a quarter of the words of a skewb.
        for (word, metric) in [
            ("3x3", Metric::Single),
            ("2x2x2", Metric::Multi),
            ("topspin:7,4", Metric::Given),
            ("skewb", Metric::Multi),
        ] {
            let puzzle = PuzzleSpec::by_name(word).unwrap().puzzle(metric).unwrap();
            let labels = Labels::distinct(puzzle.cells);
            let space = Space::new(puzzle, metric, labels).unwrap();
            let plan = Plan::new(&space).unwrap();
            let graph = CosetGraph::build(&space, &plan.colouring).unwrap();
            let Inversions { test, classes, symmetries } = Inversions::of(&space).unwrap();
            let listed = Listed::of(&graph, &test.placements, &classes, &symmetries, usize::MAX).unwrap();
            let [listed, test] = [Inverted::Listed(listed), Inverted::Tested(test.into())];
            let is_in = |word: &[u8]| {
                let images = space.symmetries().iter().map(|symmetry| space.image(symmetry, word));
                let smallest = images.min().expect("the identity is a symmetry");
                smallest.iter().zip(1..).map(|(&letter, cell)| cell * u32::from(letter)).sum::<u32>() % 3 == 0
            };
            for inverted in [false, true] {
                let (made, list) = (Pairs::new(&graph, inverted), Pairs::list(&graph, inverted).unwrap());
                let read = Pairs::from_list(&list, &graph).unwrap();
                assert_eq!(format!("{read:?}"), format!("{made:?}"), "{word}");
                for length in (0..list.len()).step_by(7) {
                    assert!(
                        Pairs::from_list(&list[..length], &graph)
                            .is_none_or(|pairs| pairs.inverted.is_none())
                    );
                }
            }
            let mut pairs = [0, 0];
            for coset in (0..graph.len()).map(CosetId) {
                let states = graph.shape().positions();
                let layer: HashSet<u32> = states.filter(|&p| is_in(&graph.word_at(coset, p))).collect();
                for (pairs, way) in pairs.iter_mut().zip([&listed, &test]) {
                    *pairs += way.pairs(&graph, coset, |position| layer.contains(&position));
                }
            }
            assert_eq!(pairs[0], pairs[1], "{word}");
            assert!(pairs[0] > 0, "{word}");
        }
    }
}
