//! Bidirectional breadth-first search: a ball around the state and one around the solved state grow until
//! they meet.
//!
//! Suppose that all states within f moves of the state are known, and all states from which at most b moves
//! lead to the solved one. If the distance is f + b, each shortest solution has a state f moves from its
//! beginning that lies in the outermost levels of both balls. If the distance is larger, the balls are
//! disjoint. So the first sum f + b at which the levels meet is the distance. Moves need no inverses for
//! this, because the ball around the solved state grows by predecessors. A ball stores one word for each
//! state, the smallest of its images under free moves.

use super::ball::{Ball, Full};
use super::descent::{Solutions, descend};
use super::model::SolveModel;
use indicatif::{HumanBytes, HumanCount};
use rustc_hash::FxHashSet;
use std::convert::Infallible;

/// A bidirectional search. The ball around the solved state is reused from one question to the next.
#[derive(Debug)]
pub struct Bidirectional<'m> {
    model: &'m SolveModel,
    memory_bytes: u64,
    around_solved: Ball,
}

/// Why there is no solution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// One of the balls holds all states that can be reached, and the balls are disjoint.
    #[error("it cannot be reached: the search exhausted all {} states", HumanCount(*.states))]
    Unreachable {
        /// The number of states in both balls.
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
        /// The number of states in both balls.
        states: u64,
        /// The memory limit.
        memory_bytes: u64,
    },
}

impl<'m> Bidirectional<'m> {
    /// Creates a search whose balls use at most `memory_bytes`.
    pub fn new(model: &'m SolveModel, memory_bytes: u64) -> Self {
        Self { model, memory_bytes, around_solved: Ball::new(&model.reduced(model.solved())) }
    }

    /// Returns the distance of a state, given by any of its words, and its first `most` shortest solutions,
    /// which start from that word.
    ///
    /// # Errors
    /// [`SearchError`] if the state has no solution, or the memory limit was reached. After
    /// [`SearchError::Memory`] the search must not be used again.
    pub fn solve(&mut self, state: &[u8], most: usize) -> Result<Solutions, SearchError> {
        let mut around_state = Ball::new(&self.model.reduced(state));
        if let Some((_, distance)) = self.around_solved.find(around_state.word(0)) {
            return Ok(self.solutions(state, &around_state, distance, &FxHashSet::default(), most));
        }
        loop {
            let grown = self.grow(&mut around_state);
            let states = (around_state.len() + self.around_solved.len()) as u64;
            let radii = (around_state.radius(), self.around_solved.radius());
            match grown {
                Ok(true) => {}
                Ok(false) => return Err(SearchError::Unreachable { states }),
                Err(Full) => {
                    let memory_bytes = self.memory_bytes;
                    return Err(SearchError::Memory { moves: radii.0 + radii.1, states, memory_bytes });
                }
            }
            let meeting = self.meeting(&around_state);
            if !meeting.is_empty() {
                let on_the_way = self.ways_to(&around_state, meeting);
                return Ok(self.solutions(state, &around_state, radii.0 + radii.1, &on_the_way, most));
            }
        }
    }

    /// Grows the ball with the smaller outermost level by one level. Returns false if the new level is empty.
    fn grow(&mut self, around_state: &mut Ball) -> Result<bool, Full> {
        let model = self.model;
        let rim = |ball: &Ball| ball.level(ball.radius()).len();
        let mut word = model.solved().to_vec();
        if rim(around_state) <= rim(&self.around_solved) {
            let most_bytes = self.memory_bytes.saturating_sub(self.around_solved.bytes());
            around_state.grow(model.moves().len(), most_bytes, |mv, state, image| {
                let may = model.apply(mv, state, &mut word);
                if may {
                    model.reduce(&word, image);
                }
                may
            })
        } else {
            let most_bytes = self.memory_bytes.saturating_sub(around_state.bytes());
            self.around_solved.grow(model.ways_back(), most_bytes, |way, state, source| {
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
        let (near, far) = (rim(around_state), rim(&self.around_solved));
        if near.len() <= far.len() {
            let is_far = |&number: &u32| {
                self.around_solved.find(around_state.word(number)).is_some_and(|(n, _)| far.contains(&n))
            };
            near.filter(is_far).collect()
        } else {
            let numbers = far.filter_map(|number| around_state.find(self.around_solved.word(number)));
            numbers.map(|(number, _)| number).filter(|number| near.contains(number)).collect()
        }
    }

    /// Returns the states on shortest paths from the centre of `around_state` to `ends`, which are all in its
    /// outermost level.
    fn ways_to(&self, around_state: &Ball, ends: FxHashSet<u32>) -> FxHashSet<u32> {
        let mut on_the_way = ends.clone();
        let mut level: Vec<u32> = ends.into_iter().collect();
        let (mut source, mut reduced) = (self.model.solved().to_vec(), self.model.solved().to_vec());
        for distance in (0..around_state.radius()).rev() {
            let mut before = Vec::new();
            for number in level {
                for way in 0..self.model.ways_back() {
                    if !self.model.undo(way, around_state.word(number), &mut source) {
                        continue;
                    }
                    self.model.reduce(&source, &mut reduced);
                    if let Some((number, at)) = around_state.find(&reduced)
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

    /// Returns the solutions from `state`, a word of the centre of `around_state`. `on_the_way` contains the
    /// states of `around_state` on shortest solutions; it is not consulted for states within the ball around
    /// the solved state.
    fn solutions(
        &self,
        state: &[u8],
        around_state: &Ball,
        distance: u32,
        on_the_way: &FxHashSet<u32>,
        most: usize,
    ) -> Solutions {
        let solved = &self.around_solved;
        let mut reduced = state.to_vec();
        let is_at = |word: &[u8], left: u32| -> Result<bool, Infallible> {
            self.model.reduce(word, &mut reduced);
            Ok(if left <= solved.radius() {
                solved.find(&reduced).is_some_and(|(_, at)| at == left)
            } else {
                let found = around_state.find(&reduced);
                found.is_some_and(|(number, at)| at == distance - left && on_the_way.contains(&number))
            })
        };
        let Ok(solutions) = descend(self.model, state, distance, most, is_at);
        solutions
    }
}
