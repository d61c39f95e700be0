//! A numbering of the words of the states that a layer stores, in the order of their cosets. A random number
//! gives a random state such that each word is as likely as any other.

use fathom_layer::{LayerError, Stored};
use fathom_space::{CosetGraph, CosetId};
use std::ops::Range;

/// The numbers of words in a range of cosets.
#[derive(Clone, Debug)]
pub struct Words {
    /// The first coset.
    first: u32,
    /// The number of words up to the end of each coset.
    up_to: Vec<u128>,
}

impl Words {
    /// Counts the words in the cosets `cosets` of a layer. A stored state stands for one word in each coset
    /// of the orbit. `states` returns the number of states that a coset stores.
    ///
    /// # Errors
    /// The errors of `states`.
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

    /// Returns the number of words.
    pub fn number(&self) -> u128 {
        self.up_to.last().copied().unwrap_or(0)
    }

    /// Returns the place of the stored state that stands for a word: the coset, and the position in the
    /// coset. `stored` reads a coset. `None` if `word` is not less than the number of words, or the coset has
    /// fewer states than were counted.
    ///
    /// # Errors
    /// The errors of `stored`.
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
        let position = u32::try_from(number).ok().map(|number| Ok(stored(coset)?.nth(number)));
        Ok(position.transpose()?.flatten().map(|position| (coset, position)))
    }
}
