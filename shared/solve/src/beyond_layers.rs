//! Solutions of states beyond the last layer of an unfinished run.
//!
//! A ball grows around the state until its outermost level meets the last layer. A way from the state to the
//! solved one must cross that layer, since each other layer is nearer. So if the first level that meets it is r moves
//! from the state, the distance is r and the depth of the layer, and each shortest solution has a state in
//! both. This holds only for states of the run's space: see [`SolveModel::has_states_of_runs`].

use super::ball::{Ball, Full};
use super::bidirectional::{Looked, SearchError, on_ways_to};
use super::descent::{Solutions, count, descend};
use super::layer_distances::LayerDistances;
use super::model::SolveModel;
use super::solutions::is_at;
use super::space_words::SpaceWords;
use anyhow::Result;
use num_bigint::BigUint;
use rustc_hash::FxHashSet;

/// How many states are looked up at a time, so that they need little memory.
const LOOKED_UP_TOGETHER: usize = 1 << 20;

/// The shortest solutions of a state that no layer contains.
#[derive(Debug)]
pub struct BeyondLayers<'k, 'd, 'm> {
    model: &'m SolveModel,
    kept: &'k mut LayerDistances<'d>,
    words: &'k SpaceWords<'m>,
    /// A word of the state.
    start: Vec<u8>,
    around_state: Ball,
    distance: u32,
    /// The states of the ball on shortest solutions.
    on_the_way: FxHashSet<u32>,
}

impl<'k, 'd, 'm> BeyondLayers<'k, 'd, 'm> {
    /// Finds the distance of a state of the run's space that no layer contains. The moves must be closed under inverses,
    /// and the files of all layers must exist. `looked` is called after each level that does not meet the last layer.
    ///
    /// # Errors
    /// [`SearchError`] if the state has no solution, or the ball exceeds `memory_bytes`; other errors if a
    /// file is missing or damaged.
    pub fn new(
        model: &'m SolveModel,
        kept: &'k mut LayerDistances<'d>,
        words: &'k SpaceWords<'m>,
        state: &[u8],
        memory_bytes: u64,
        looked: &mut dyn FnMut(Looked),
    ) -> Result<Self> {
        let last = kept.layers().len() as u32 - 1;
        let mut around_state = Ball::new(&model.reduced(state));
        let mut word = model.solved().to_vec();
        loop {
            let grown = around_state.grow(model.moves().len(), memory_bytes, |mv, state, image| {
                let may = model.apply(mv, state, &mut word);
                if may {
                    model.reduce(&word, image);
                }
                may
            });
            let states = around_state.len() as u64;
            let moves = last + around_state.radius();
            match grown {
                Ok(true) => {}
                Ok(false) => return Err(SearchError::Unreachable { states }.into()),
                Err(Full) => return Err(SearchError::Memory { moves, states, memory_bytes }.into()),
            }
            let mut met = FxHashSet::default();
            let rim: Vec<u32> = around_state.level(around_state.radius()).collect();
            for numbers in rim.chunks(LOOKED_UP_TOGETHER) {
                let states =
                    numbers.iter().map(|&number| (number, words.in_space(around_state.word(number))));
                let states: Vec<_> = states.filter_map(|(number, state)| Some((number, state?))).collect();
                met.extend(kept.those_at(&states, last)?);
            }
            if met.is_empty() {
                looked(Looked { moves, states });
                continue;
            }
            let on_the_way = on_ways_to(model, &around_state, met);
            return Ok(Self {
                model,
                kept,
                words,
                start: state.to_vec(),
                around_state,
                distance: moves,
                on_the_way,
            });
        }
    }

    /// Returns the first `most` shortest solutions.
    ///
    /// # Errors
    /// If a file is missing or damaged, or the layers contradict each other.
    pub fn solutions(&mut self, most: usize) -> Result<Solutions> {
        let (model, distance, start) = (self.model, self.distance, self.start.clone());
        descend(model, &start, distance, most, |word, left| self.is_at(word, left))
    }

    /// Returns the number of shortest solutions.
    ///
    /// # Errors
    /// As [`BeyondLayers::solutions`].
    pub fn count(&mut self) -> Result<BigUint> {
        let (model, distance, start) = (self.model, self.distance, self.start.clone());
        count(model, &start, distance, |word, left| self.is_at(word, left))
    }

    /// Returns whether `word` is on a shortest solution, `left` moves before its end, if its predecessor is
    /// on one.
    fn is_at(&mut self, word: &[u8], left: u32) -> Result<bool> {
        if (left as usize) < self.kept.layers().len() {
            return is_at(self.kept, self.words, word, left);
        }
        let found = self.around_state.find(&self.model.reduced(word));
        Ok(found.is_some_and(|(number, at)| at == self.distance - left && self.on_the_way.contains(&number)))
    }
}
