//! The words of the states that a layer stores, numbered in the order of their cosets, so that random ones
//! can be taken of which each is as likely as any other.

use fathom_layer::{LayerError, Stored};
use fathom_space::{CosetGraph, CosetId};
use std::ops::Range;

/// How many words lie in some cosets.
#[derive(Clone, Debug)]
pub struct Words {
    /// The first coset.
    first: u32,
    /// The number of words up to the end of each coset.
    up_to: Vec<u128>,
}

impl Words {
    /// Counts the words of cosets of a layer: a stored state stands for as many in each as the coset has
    /// images.
    ///
    /// # Errors
    /// Those of `states`, which tells how many a coset stores.
    pub fn count(
        graph: &CosetGraph,
        cosets: Range<u32>,
        states: impl Fn(CosetId) -> Result<u32, LayerError>,
    ) -> Result<Self, LayerError> {
        let first = cosets.start;
        let mut words = 0;
        let up_to = cosets.map(CosetId).map(|coset| {
            words += u128::from(states(coset)?) * u128::from(graph.orbit_size(coset));
            Ok(words)
        });
        Ok(Self { up_to: up_to.collect::<Result<_, LayerError>>()?, first })
    }

    /// How many there are.
    pub fn number(&self) -> u128 {
        self.up_to.last().copied().unwrap_or(0)
    }

    /// The coset of a word, and the position of the stored state that stands for it; `None` if there are not
    /// so many words, or fewer states than were counted.
    ///
    /// # Errors
    /// Those of `stored`, which reads a coset.
    pub fn place<'a>(
        &self,
        graph: &CosetGraph,
        word: u128,
        stored: impl FnOnce(CosetId) -> Result<Stored<'a>, LayerError>,
    ) -> Result<Option<(CosetId, u32)>, LayerError> {
        if word >= self.number() {
            return Ok(None);
        }
        let index = self.up_to.partition_point(|&up_to| up_to <= word);
        let before = index.checked_sub(1).map_or(0, |before| self.up_to[before]);
        let coset = CosetId(self.first + index as u32);
        let number = (word - before) / u128::from(graph.orbit_size(coset));
        Ok(stored(coset)?.positions().nth(number as usize).map(|position| (coset, position)))
    }
}
