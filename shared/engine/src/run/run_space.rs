//! The space of a run, in the form that its engine searches.

use crate::run::{Lookback, RunError, SpaceSpec};
use fathom_lists::key::MAX_WORDS;
use fathom_lists::{Key, ListSpace, first_depths, list_space, with_key};
use fathom_puzzle::{Metric, Puzzle, PuzzleSpec};
use fathom_space::{Labels, Space, labels_by_cells, run_name};
use num_bigint::BigUint;
use std::collections::HashMap;

/// The space of a run.
#[derive(Clone, Debug)]
pub enum RunSpace {
    /// It is cut into cosets, whose layers are bits.
    Cosets(Box<Space>),
    /// Its layers are lists of states.
    Lists(Box<ListedSpace>),
}

/// A space whose states are listed. It may be so large that nothing is known of it but its moves.
#[derive(Clone, Debug)]
pub struct ListedSpace {
    /// The moves and what they act on.
    pub puzzle: Puzzle,
    /// The label of each piece.
    pub labels: Labels,
    /// The metric.
    pub metric: Metric,
    /// The number of states, if it is known.
    pub states: Option<BigUint>,
    /// The number of states at distance 0.
    starts: u64,
}

impl ListedSpace {
    /// Builds the space, of which `states` is the number of states, if it is known.
    ///
    /// # Errors
    /// If the puzzle cannot be built, a state takes too many words, or the start states cannot be used.
    pub fn new(spec: &SpaceSpec, states: Option<BigUint>) -> Result<Self, RunError> {
        let puzzle = match &spec.source {
            PuzzleSpec::Board(board) => board.puzzle(spec.metric),
            PuzzleSpec::Defined(definition) => {
                definition.moves_alone(spec.metric).map_err(fathom_puzzle::SourceError::from)?
            }
        };
        if list_space::words(&puzzle, &spec.labels) > MAX_WORDS {
            return Err(RunError::TooManyCells { cells: puzzle.cells });
        }
        let labels = spec.labels.clone();
        let starts = with_key!(list_space::words(&puzzle, &labels), starts(&puzzle, &labels))?;
        Ok(Self { puzzle, labels, metric: spec.metric, states, starts })
    }

    /// Returns an upper bound on the number of states: the number of arrangements of the pieces of each orbit, in all
    /// orientations that they show.
    pub fn most_states(&self) -> BigUint {
        let factorial = |n: usize| (1..=n).fold(BigUint::from(1_u32), |product, factor| product * factor);
        let of_orbit = |orbit: Vec<usize>| {
            let mut alike: HashMap<(u16, u16), usize> = HashMap::new();
            for &piece in &orbit {
                *alike.entry((self.labels.of_pieces()[piece], self.puzzle.seen[piece])).or_default() += 1;
            }
            let turned: BigUint = orbit.iter().map(|&piece| BigUint::from(self.puzzle.seen[piece])).product();
            factorial(orbit.len()) / alike.into_values().map(factorial).product::<BigUint>() * turned
        };
        self.puzzle.orbits().into_iter().map(of_orbit).product()
    }

    /// Returns whether at most `most` states are within `depth` moves of the solved one.
    pub fn has_at_most(&self, most: usize, depth: u32) -> bool {
        with_key!(list_space::words(&self.puzzle, &self.labels), has_at_most(self, most, depth))
    }

    /// Returns a name of the space that is suitable as a file name, with labels as letters.
    pub fn slug(&self) -> String {
        run_name(&self.puzzle, self.metric, &self.labels, false)
    }

    /// Returns a name that is short enough for a directory. Labels are omitted if they are the puzzle's own.
    pub fn short_slug(&self, labels_are_its_own: bool) -> String {
        run_name(&self.puzzle, self.metric, &self.labels, labels_are_its_own)
    }

    /// Returns the number of moves, or more: an upper bound on the states to which moves lead from one state.
    fn most_successors(&self) -> u64 {
        let free = self.puzzle.free.len() as u64;
        (self.puzzle.moves.len() as u64).saturating_mul(free)
    }
}

/// Returns the number of start states.
fn starts<K: Key>(puzzle: &Puzzle, labels: &Labels) -> Result<u64, RunError> {
    Ok(ListSpace::<K>::new(puzzle, labels).starts()?.len() as u64)
}

fn has_at_most<K: Key>(space: &ListedSpace, most: usize, depth: u32) -> bool {
    first_depths(&ListSpace::<K>::new(&space.puzzle, &space.labels), depth, most).is_some()
}

impl RunSpace {
    /// Returns the space that is cut into cosets.
    ///
    /// # Errors
    /// [`RunError::Listed`] if the run lists states.
    pub fn cosets(&self) -> Result<&Space, RunError> {
        match self {
            Self::Cosets(space) => Ok(space),
            Self::Lists(_) => Err(RunError::Listed),
        }
    }

    /// Returns the space whose states are listed; `None` if it is cut into cosets.
    pub fn listed(&self) -> Option<&ListedSpace> {
        match self {
            Self::Cosets(_) => None,
            Self::Lists(space) => Some(space),
        }
    }

    /// Returns the labels of the pieces as they are given, and different ones for pieces that their cells
    /// distinguish.
    pub(crate) fn labels(&self) -> (&Labels, Labels) {
        match self {
            Self::Cosets(space) => (space.given_labels(), space.piece_labels().clone()),
            Self::Lists(space) => (&space.labels, labels_by_cells(&space.puzzle, &space.labels)),
        }
    }

    /// Returns the puzzle on whose cells the engine searches.
    pub fn puzzle(&self) -> &Puzzle {
        match self {
            Self::Cosets(space) => space.puzzle(),
            Self::Lists(space) => &space.puzzle,
        }
    }

    /// Returns a name of the puzzle, the metric and the labels, of characters that file names may have.
    pub fn slug(&self) -> String {
        match self {
            Self::Cosets(space) => space.slug(),
            Self::Lists(space) => space.slug(),
        }
    }

    /// Returns the number of states, if it is known.
    pub fn states(&self) -> Option<&BigUint> {
        match self {
            Self::Cosets(space) => Some(space.states()),
            Self::Lists(space) => space.states.as_ref(),
        }
    }

    /// Returns whether the inverse of every move is a move.
    pub fn is_closed_under_inverses(&self) -> bool {
        match self {
            Self::Cosets(space) => space.is_closed_under_inverses(),
            Self::Lists(space) => space.puzzle.is_closed_under_inverses(),
        }
    }

    /// Returns the layers from which a layer is computed.
    pub fn lookback(&self) -> Lookback {
        if self.is_closed_under_inverses() { Lookback::Two } else { Lookback::All }
    }

    /// Returns the number of symmetries up to which classes are counted.
    pub fn symmetry_order(&self) -> usize {
        match self {
            Self::Cosets(space) => space.symmetry_order(),
            Self::Lists(_) => 1,
        }
    }

    /// Returns whether these are known to be all symmetries.
    pub fn has_all_symmetries(&self) -> bool {
        match self {
            Self::Cosets(space) => space.has_all_symmetries(),
            Self::Lists(_) => false,
        }
    }

    /// Returns the number of symmetries of words of states, which those of [`RunSpace::symmetry_order`] times the free
    /// moves are.
    pub fn word_symmetries(&self) -> u64 {
        match self {
            Self::Cosets(space) => space.symmetries().len() as u64,
            Self::Lists(_) => 1,
        }
    }

    /// Returns the number of states at distance 0.
    pub(crate) fn starts(&self) -> u64 {
        match self {
            Self::Cosets(_) => 1,
            Self::Lists(space) => space.starts,
        }
    }

    /// Returns an upper bound on the number of states to which moves lead from one state.
    pub(crate) fn most_successors(&self) -> u64 {
        match self {
            Self::Cosets(space) => most_successors(space),
            Self::Lists(space) => space.most_successors(),
        }
    }
}

/// Returns an upper bound on the number of states to which moves lead from one state: each move can be
/// preceded or followed by each free move.
pub fn most_successors(space: &Space) -> u64 {
    let moves = space.moves().len() as u64;
    moves.saturating_mul(space.free_order().into()).max(space.incoming_moves().len() as u64)
}

impl From<Space> for RunSpace {
    fn from(space: Space) -> Self {
        Self::Cosets(Box::new(space))
    }
}
