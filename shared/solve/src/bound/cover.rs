//! The group whose elements bound the distances of a puzzle.
//!
//! The moves of a puzzle, acting on pieces that are all distinct, generate a group. Each state is the image
//! of the solved state under some element, and the words of up to d moves reach all states within d moves. So
//! a number of moves that suffices for all elements suffices for all states; and if fewer elements are within
//! d moves than there are states, some state is further away than d. If pieces look alike or moves are free,
//! several elements give one state, and the bounds still hold.

use crate::bound::Tally;
use fathom_algebra::{OrientedPermutation, Permutation, Stabiliser};
use fathom_puzzle::{Board, Definition, DefinitionError, Metric, Puzzle, PuzzleMove};
use num_bigint::BigUint;

/// The group of a puzzle's moves on its points. A point is a cell together with an orientation.
#[derive(Clone, Debug)]
pub struct Cover {
    /// The puzzle on its points. All pieces differ, and moves have no guards.
    pub(crate) puzzle: Puzzle,
    /// For each piece its point in orientation 0. The images of these points determine an element.
    pub(crate) first_points: Vec<usize>,
    /// The orbits of pieces, as in [`Puzzle::orbits`].
    pub(crate) orbits: Vec<Vec<usize>>,
    /// The group of all elements.
    pub(crate) group: Stabiliser,
    /// The board, if the puzzle is one.
    pub(crate) board: Option<Board>,
    pub(crate) metric: Metric,
    pub(crate) has_guards: bool,
    /// The number of states, if known.
    states: Option<BigUint>,
}

/// Why a puzzle cannot be bounded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBounded {
    /// The metric gives too many moves, or the definition is inconsistent.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The moves have guards.
    #[error(
        "no upper bound for {0}: its moves are not possible in every state, so the words of a stage may be impossible. Only a lower bound is available"
    )]
    Guarded(String),
    /// The number of states does not follow from the group and the orbits alone.
    #[error(
        "the number of states of {0} is not known exactly, so it cannot be bounded. 'fathom plan' shows an estimate and the cost of a search"
    )]
    Uncounted(String),
    /// The moves are not closed under inverses.
    #[error("the moves of {0} are not closed under inverses. Use --metric single or multi")]
    OneWay(String),
    /// The listed moves of a limited puzzle are not closed under inverses.
    #[error("the moves of {0} are not closed under inverses. Add the missing inverses to its moves")]
    LimitedOneWay(String),
    /// The metric is not one in which boards are searched.
    #[error("boards have bounds only in the metrics 'multi' and 'single', not in {0}")]
    OfBoard(Metric),
    /// The puzzle has too many points: the search stores a point in a byte.
    #[error("{name} has {points} positions of pieces (cell and orientation); the limit is 255")]
    TooLarge {
        /// The name of the puzzle.
        name: String,
        /// The number of points that moves permute.
        points: usize,
    },
    /// The puzzle has too many moves: the search stores a move in a byte.
    #[error("{name} has {moves} moves; the limit is 255. Choose fewer with --metric or in its file")]
    TooManyMoves {
        /// The name of the puzzle.
        name: String,
        /// The number of moves.
        moves: usize,
    },
}

impl Cover {
    /// Returns the group of a board.
    pub fn of_board(board: Board, metric: Metric) -> Self {
        let puzzle = board.puzzle(metric);
        let moves = puzzle.moves.iter().map(|m| m.action.cells().clone()).collect();
        let group = Stabiliser::whole(board.cells(), moves);
        let states = Some(group.order().clone());
        let (first_points, orbits) = ((0..board.cells()).collect(), puzzle.orbits());
        Self { puzzle, first_points, orbits, group, board: Some(board), metric, has_guards: false, states }
    }

    /// Returns the group of a puzzle of any kind, under the metric of its moves.
    ///
    /// # Errors
    /// [`NotBounded`] with the reason why the moves cannot be searched.
    pub fn new(definition: &Definition, metric: Metric) -> Result<Self, NotBounded> {
        let puzzle = definition.puzzle(metric)?;
        let name = || puzzle.name.clone();
        let sizes = || puzzle.free[0].orientation_counts().iter().map(|&order| usize::from(order));
        let points = sizes().sum();
        if points > usize::from(u8::MAX) {
            return Err(NotBounded::TooLarge { name: name(), points });
        }
        let moves = moves_on_points(&puzzle);
        if moves.len() > usize::from(u8::MAX) {
            return Err(NotBounded::TooManyMoves { name: name(), moves: moves.len() });
        }
        if !moves.iter().all(|m| moves.iter().any(|other| other.action == m.action.inverse())) {
            return Err(match definition.is_limited() {
                true => NotBounded::LimitedOneWay(name()),
                false => NotBounded::OneWay(name()),
            });
        }
        let group = Stabiliser::whole(points, moves.iter().map(|m| m.action.cells().clone()).collect());
        let has_guards = puzzle.moves.iter().any(|m| !m.guard.is_empty());
        let states = match () {
            () if has_guards => puzzle.counted.as_ref().map(|counted| counted.states.clone()),
            () if !definition.is_plain() => definition.states_by_orbits(),
            () if puzzle.free.len() == 1 => Some(group.order().clone()),
            () => {
                let free = puzzle.free.iter().map(OrientedPermutation::as_points);
                let all = Stabiliser::whole(points, group.generators().iter().cloned().chain(free).collect());
                Some(all.order() / puzzle.free.len())
            }
        };
        let first = sizes().scan(0, |next, size| Some(std::mem::replace(next, *next + size)));
        let first_points = first.collect();
        let orbits = puzzle.orbits();
        let puzzle = Puzzle { cells: points, seen: vec![1; points], moves, ..puzzle };
        Ok(Self { puzzle, first_points, orbits, group, board: None, metric, has_guards, states })
    }

    /// Returns the name of the puzzle.
    pub fn name(&self) -> &str {
        &self.puzzle.name
    }

    /// Returns the board, if the puzzle is one.
    pub fn board(&self) -> Option<Board> {
        self.board
    }

    /// Returns the metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Returns the number of states.
    ///
    /// # Errors
    /// [`NotBounded::Uncounted`] if the number is not known.
    pub fn states(&self) -> Result<&BigUint, NotBounded> {
        self.states.as_ref().ok_or_else(|| NotBounded::Uncounted(self.puzzle.name.clone()))
    }

    /// Returns the numbers of even and odd elements, if the elements are the states: a group with an odd
    /// element has as many odd as even ones. `None` if several elements may give one state.
    pub(crate) fn parities(&self) -> Option<Tally> {
        let states = self.states.as_ref().filter(|&states| states == self.group.order())?;
        let odd = match self.puzzle.moves.iter().all(|m| m.action.cells().is_even()) {
            true => BigUint::ZERO,
            false => states / 2_u32,
        };
        Some(Tally { even: states - &odd, odd })
    }

    /// Returns the number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.first_points.len()
    }

    /// Returns the pieces of a list that belong to the puzzle.
    pub(crate) fn own_pieces(&self, list: &[usize]) -> impl Iterator<Item = usize> {
        list.iter().copied().filter(|&piece| piece < self.pieces())
    }

    /// Returns the same group with an extra piece, which odd moves flip: a stage that brings this piece home
    /// makes the permutation of all others even. Short words are mostly even, and without this piece the last
    /// pieces might need an odd permutation. `None` if all moves are even, or if there are too many points.
    pub(crate) fn with_parity(&self) -> Option<Self> {
        let points = self.puzzle.cells;
        if self.puzzle.moves.iter().all(|m| m.action.cells().is_even()) || points + 2 > usize::from(u8::MAX) {
            return None;
        }
        let extended = |m: &PuzzleMove| {
            let cells = m.action.cells();
            let parity = |point: usize| points + (point - points + usize::from(!cells.is_even())) % 2;
            let image = |point| if point < points { cells.apply(point) } else { parity(point) };
            PuzzleMove {
                action: OrientedPermutation::from_cells(Permutation::from_fn(points + 2, image)),
                ..m.clone()
            }
        };
        let moves: Vec<PuzzleMove> = self.puzzle.moves.iter().map(extended).collect();
        let group = Stabiliser::whole(points + 2, moves.iter().map(|m| m.action.cells().clone()).collect());
        let puzzle = Puzzle { cells: points + 2, seen: vec![1; points + 2], moves, ..self.puzzle.clone() };
        let first_points = self.first_points.iter().copied().chain([points]).collect();
        Some(Self { puzzle, first_points, group, ..self.clone() })
    }

    /// Returns whether the group has all permutations of its points.
    pub(crate) fn is_symmetric(&self) -> bool {
        *self.group.order() == (1..=self.puzzle.cells).map(BigUint::from).product()
    }
}

/// Returns the moves of a puzzle on its points, without guards. Of the products of a move with free moves
/// that give one state, those that move the fewest points are chosen: the same turn, seen from any side.
/// Their inverses are then among them if the inverses of all moves are moves.
fn moves_on_points(puzzle: &Puzzle) -> Vec<PuzzleMove> {
    let mut distinct: Vec<PuzzleMove> = Vec::new();
    for m in &puzzle.moves {
        let products: Vec<Permutation> =
            puzzle.free.iter().map(|free| m.action.then(free).as_points()).collect();
        let moved = |product: &Permutation| (0..product.degree()).filter(|&i| product.apply(i) != i).count();
        let fewest = products.iter().map(moved).min();
        let name = m.name.split_whitespace().collect::<Vec<_>>().join("·");
        for product in products.into_iter().filter(|product| Some(moved(product)) == fewest) {
            if distinct.iter().any(|other| *other.action.cells() == product) {
                continue;
            }
            let numbered = |number| if number == 1 { name.clone() } else { format!("{name}#{number}") };
            let is_new = |name: &String| distinct.iter().all(|other| other.name != *name);
            let name = (1..).map(numbered).find(is_new).expect("there is always a larger number");
            let action = OrientedPermutation::from_cells(product);
            distinct.push(PuzzleMove { name, action, guard: Box::default() });
        }
    }
    distinct
}
