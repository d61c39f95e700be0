//! Bidirectional breadth-first search: a ball around the state and one around the goal, which is usually the
//! solved state, grow until they meet.
//!
//! Suppose that all states within f moves of the state are known, and all states from which at most b moves
//! lead to the goal. If the distance is f + b, each shortest solution has a state f moves from its
//! beginning that lies in the outermost levels of both balls. If the distance is larger, the balls are
//! disjoint. So the first sum f + b at which the levels meet is the distance. Moves need no inverses for
//! this, because the ball around the goal grows by predecessors. A ball stores one word for each
//! state, the smallest of its images under free moves.

use super::ball::{Ball, Full};
use super::descent::{Solutions, count, descend};
use super::model::SolveModel;
use indicatif::{HumanBytes, HumanCount};
use num_bigint::BigUint;
use rustc_hash::FxHashSet;
use std::convert::Infallible;

/// A bidirectional search. The ball around the goal is reused from one question to the next.
#[derive(Debug)]
pub struct Bidirectional<'m> {
    model: &'m SolveModel,
    memory_bytes: u64,
    around_goal: Ball,
}

/// Why there is no solution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// A ball holds all states that can be reached, without a meeting.
    #[error("it cannot be reached: the search exhausted all {} states", HumanCount(*.states))]
    Unreachable {
        /// The number of states that the search holds.
        states: u64,
    },
    /// The memory limit was reached.
    #[error(
        "no solution has {moves} moves or fewer, and the {} of memory are full with {} states",
        HumanBytes(*.memory_bytes),
        HumanCount(*.states)
    )]
    Memory {
        /// No solution has this many moves or fewer.
        moves: u32,
        /// The number of states that the search holds.
        states: u64,
        /// The memory limit.
        memory_bytes: u64,
    },
}

/// How deep a search has looked without meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// No solution has this many moves or fewer.
    pub moves: u32,
    /// The number of states that the search holds.
    pub states: u64,
}

impl<'m> Bidirectional<'m> {
    /// Creates a search for solutions, whose balls use at most `memory_bytes`.
    pub fn new(model: &'m SolveModel, memory_bytes: u64) -> Self {
        Self::towards(model, model.solved(), memory_bytes)
    }

    /// Creates a search for ways to the state `goal`, given by any of its words, whose balls use at most
    /// `memory_bytes`.
    pub fn towards(model: &'m SolveModel, goal: &[u8], memory_bytes: u64) -> Self {
        Self { model, memory_bytes, around_goal: Ball::new(&model.reduced(goal)) }
    }

    /// Returns the distance of a state, given by any of its words, and its first `most` shortest solutions,
    /// which start from that word.
    ///
    /// # Errors
    /// [`SearchError`] if the state has no solution, or the memory limit was reached. After
    /// [`SearchError::Memory`] the search must not be used again.
    pub fn solve(&mut self, state: &[u8], most: usize) -> Result<Solutions, SearchError> {
        let paths = self.paths(state, &mut |_| true)?;
        Ok(paths.expect("the search continues until the balls meet").solutions(most))
    }

    /// Returns the shortest paths from a state, given by any of its words, to the goal. `goes_on` is called
    /// after each level without a meeting; if it returns false, the search ends and the result is `None`.
    ///
    /// # Errors
    /// As [`Bidirectional::solve`].
    pub fn paths(
        &mut self,
        state: &[u8],
        goes_on: &mut dyn FnMut(Looked) -> bool,
    ) -> Result<Option<Paths<'_, 'm>>, SearchError> {
        let mut around_state = Ball::new(&self.model.reduced(state));
        if let Some((_, distance)) = self.around_goal.find(around_state.word(0)) {
            return Ok(Some(self.met(state, around_state, distance, FxHashSet::default())));
        }
        loop {
            let grown = self.grow(&mut around_state);
            let states = (around_state.len() + self.around_goal.len()) as u64;
            let moves = around_state.radius() + self.around_goal.radius();
            match grown {
                Ok(true) => {}
                Ok(false) => return Err(SearchError::Unreachable { states }),
                Err(Full) => {
                    let memory_bytes = self.memory_bytes;
                    return Err(SearchError::Memory { moves, states, memory_bytes });
                }
            }
            let meeting = self.meeting(&around_state);
            if !meeting.is_empty() {
                let on_the_way = on_ways_to(self.model, &around_state, meeting);
                return Ok(Some(self.met(state, around_state, moves, on_the_way)));
            }
            if !goes_on(Looked { moves, states }) {
                return Ok(None);
            }
        }
    }

    fn met(
        &self,
        state: &[u8],
        around_state: Ball,
        distance: u32,
        on_the_way: FxHashSet<u32>,
    ) -> Paths<'_, 'm> {
        Paths { search: self, start: state.to_vec(), around_state, distance, on_the_way }
    }

    /// Grows the ball with the smaller outermost level by one level. Returns false if the new level is empty.
    fn grow(&mut self, around_state: &mut Ball) -> Result<bool, Full> {
        let model = self.model;
        let rim = |ball: &Ball| ball.level(ball.radius()).len();
        let mut word = model.solved().to_vec();
        if rim(around_state) <= rim(&self.around_goal) {
            let most_bytes = self.memory_bytes.saturating_sub(self.around_goal.bytes());
            around_state.grow(model.moves().len(), most_bytes, |mv, state, image| {
                let may = model.apply(mv, state, &mut word);
                if may {
                    model.reduce(&word, image);
                }
                may
            })
        } else {
            let most_bytes = self.memory_bytes.saturating_sub(around_state.bytes());
            self.around_goal.grow(model.ways_back(), most_bytes, |way, state, source| {
                let may = model.undo(way, state, &mut word);
                if may {
                    model.reduce(&word, source);
                }
                may
            })
        }
    }

    /// Returns the states that the outermost levels have in common, by their numbers in `around_state`.
    fn meeting(&self, around_state: &Ball) -> FxHashSet<u32> {
        let rim = |ball: &Ball| ball.level(ball.radius());
        let (near, far) = (rim(around_state), rim(&self.around_goal));
        if near.len() <= far.len() {
            let is_far = |&number: &u32| {
                self.around_goal.find(around_state.word(number)).is_some_and(|(n, _)| far.contains(&n))
            };
            near.filter(is_far).collect()
        } else {
            let numbers = far.filter_map(|number| around_state.find(self.around_goal.word(number)));
            numbers.map(|(number, _)| number).filter(|number| near.contains(number)).collect()
        }
    }
}

/// Returns the states on shortest paths from the centre of a ball to `ends`, which are all in its outermost
/// level.
pub(super) fn on_ways_to(model: &SolveModel, ball: &Ball, ends: FxHashSet<u32>) -> FxHashSet<u32> {
    let mut on_the_way = ends.clone();
    let mut level: Vec<u32> = ends.into_iter().collect();
    let (mut source, mut reduced) = (model.solved().to_vec(), model.solved().to_vec());
    for distance in (0..ball.radius()).rev() {
        let mut before = Vec::new();
        for number in level {
            for way in 0..model.ways_back() {
                if !model.undo(way, ball.word(number), &mut source) {
                    continue;
                }
                model.reduce(&source, &mut reduced);
                if let Some((number, at)) = ball.find(&reduced)
                    && at == distance
                    && on_the_way.insert(number)
                {
                    before.push(number);
                }
            }
        }
        level = before;
    }
    on_the_way
}

/// The shortest paths from a state to the goal of a search.
#[derive(Debug)]
pub struct Paths<'s, 'm> {
    search: &'s Bidirectional<'m>,
    /// A word of the state.
    start: Vec<u8>,
    around_state: Ball,
    distance: u32,
    /// The states of `around_state` on shortest paths; it is not consulted for states within the ball around
    /// the goal.
    on_the_way: FxHashSet<u32>,
}

impl Paths<'_, '_> {
    /// Returns the first `most` paths.
    pub fn solutions(&self, most: usize) -> Solutions {
        let mut reduced = self.start.clone();
        let is_at = |word: &[u8], left| Ok(self.is_at(word, left, &mut reduced));
        let Ok(solutions) = descend::<Infallible>(self.search.model, &self.start, self.distance, most, is_at);
        solutions
    }

    /// Returns the number of paths.
    pub fn count(&self) -> BigUint {
        let mut reduced = self.start.clone();
        let is_at = |word: &[u8], left| Ok(self.is_at(word, left, &mut reduced));
        let Ok(number) = count::<Infallible>(self.search.model, &self.start, self.distance, is_at);
        number
    }

    /// Returns whether `word` is on a shortest path, `left` moves before the goal, if its predecessor is on
    /// one. `reduced` is overwritten.
    fn is_at(&self, word: &[u8], left: u32, reduced: &mut [u8]) -> bool {
        self.search.model.reduce(word, reduced);
        let goal = &self.search.around_goal;
        if left <= goal.radius() {
            return goal.find(reduced).is_some_and(|(_, at)| at == left);
        }
        let found = self.around_state.find(reduced);
        found.is_some_and(|(number, at)| at == self.distance - left && self.on_the_way.contains(&number))
    }
}
