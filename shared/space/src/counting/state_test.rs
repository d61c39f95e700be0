//! States tested one by one for the actions that fix them.

use crate::placements::{Action, Placements};
use crate::{CosetGraph, CosetId};

/// Counts the actions that fix a state.
#[derive(Debug)]
pub(super) struct StateTest {
    placements: Placements,
    actions: usize,
    /// By placement, and by action: where the action carries the placement.
    images: Box<[u32]>,
}

impl StateTest {
    /// Producing the word of a state takes about as long as testing this many actions.
    const ACTIONS_PER_WORD: usize = 128;
    /// Examining a word for a list takes about as long as testing this many actions.
    const ACTIONS_PER_LISTED: usize = 256;
    /// The number of tests that take a few milliseconds.
    const VERY_FEW: usize = 1 << 22;
    /// The number of tests that take about a tenth of a second.
    const FEW: usize = 1 << 26;
    /// With more actions than this, preparing a list takes longer than a few tests.
    const MANY_ACTIONS: usize = 1 << 8;

    pub(super) fn new(placements: Placements, actions: &[Action]) -> Self {
        let images = (0..placements.len()).flat_map(|from| actions.iter().map(move |action| action[from]));
        Self { images: images.collect(), actions: actions.len(), placements }
    }

    /// Returns the number of tests of all states of a graph, where producing a word counts as tests.
    fn of_all(graph: &CosetGraph, actions: usize) -> Option<usize> {
        let states = usize::try_from(u64::from(graph.len()).checked_mul(graph.states_per_coset())?).ok()?;
        states.checked_mul(actions + Self::ACTIONS_PER_WORD).filter(|&tests| tests <= Self::FEW)
    }

    /// Returns the largest number of words that may be examined to list the states of a graph that actions
    /// fix: none if testing all states takes no longer than preparing the list, and `otherwise` where there
    /// are many states. All processes of a run get the same result.
    pub(super) fn most_listed(graph: &CosetGraph, actions: usize, otherwise: usize) -> usize {
        match Self::of_all(graph, actions) {
            None => otherwise,
            Some(tests) if tests <= Self::VERY_FEW || actions > Self::MANY_ACTIONS => 0,
            Some(tests) => otherwise.min(tests / Self::ACTIONS_PER_LISTED),
        }
    }

    /// Returns whether the states of a graph are few enough to be tested in any case.
    pub(super) fn is_short(graph: &CosetGraph, actions: usize) -> bool {
        Self::of_all(graph, actions).is_some()
    }

    /// Counts the pairs of an action and a state that the action fixes, of the whole orbit of a coset, for
    /// the states whose positions `contains` accepts.
    pub(super) fn pairs(&self, graph: &CosetGraph, coset: CosetId, contains: impl Fn(u32) -> bool) -> u64 {
        let mut stands = vec![false; self.placements.len()];
        let mut pairs = 0;
        let mut words = graph.words(coset);
        for position in graph.shape().positions().filter(|&position| contains(position)) {
            let word = words.at(position);
            let placements =
                word.iter().zip(0..).map(|(&letter, cell)| self.placements.number(cell, letter) as usize);
            placements.clone().for_each(|placement| stands[placement] = true);
            pairs += self.fixing(placements.clone(), &stands);
            placements.for_each(|placement| stands[placement] = false);
        }
        pairs * u64::from(graph.orbit_size(coset))
    }

    /// Counts the actions that carry the placements of a word, which are marked in `stands`, to each other.
    fn fixing(&self, mut placements: impl Iterator<Item = usize> + Clone, stands: &[bool]) -> u64 {
        let images = |placement: usize| &self.images[placement * self.actions..][..self.actions];
        let first = placements.next().expect("words have cells");
        // One placement rules out most actions.
        let kept = images(first).iter().enumerate().filter(|&(_, &to)| stands[to as usize]);
        let fixes = |&(action, _): &(usize, &u32)| {
            placements.clone().all(|placement| stands[images(placement)[action] as usize])
        };
        kept.filter(fixes).count() as u64
    }
}
