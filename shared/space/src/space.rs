//! The space to enumerate: the states of a puzzle, up to exchanging pieces with equal labels.

mod free_moves;
mod moves;
mod original_puzzle;
mod plan_record;
mod slug;
mod state_count;
pub mod symmetry;

use crate::cells::{Cell, CellOrbit};
use crate::reduction::{Chain, Problem, symbols};
use crate::{Labels, Ranks, SymbolTable};
use fathom_algebra::{OrientedPermutation, Permutation, StabiliserChain, VisibleLabel, states_by_orbits};
use fathom_puzzle::{Metric, Puzzle, PuzzleMove, states_and};
pub(crate) use moves::WordGuard;
pub use moves::WordMove;
use num_bigint::BigUint;
use original_puzzle::OriginalPuzzle;
pub use original_puzzle::labels_by_cells;
pub use plan_record::{Encoding, EncodingError};
pub use slug::run_name;
pub(crate) use state_count::reached_words;
use state_count::{count_states, states_by_orbits_of, states_without_words};
use std::sync::OnceLock;
pub use symmetry::Symmetry;

/// A puzzle with a metric and labels. Its states form a Cayley graph if all labels differ, and a Schreier
/// coset graph otherwise.
///
/// The cells, labels and moves are those of the puzzle that [reductions](crate::reduction) have produced from
/// the given one.
#[derive(Clone, Debug)]
pub struct Space {
    /// The puzzle on the cells of words.
    puzzle: Puzzle,
    metric: Metric,
    /// Properties of the given puzzle.
    given: OriginalPuzzle,
    /// The reductions that lead from the given puzzle to this one.
    chain: Chain,
    /// The labels of the contents of the cells of words.
    labels: Labels<u8>,
    symbols: SymbolTable,
    solved: Box<[u8]>,
    /// The number of orientations on each cell.
    orientation_counts: Box<[u16]>,
    /// By cell: the number of turns after which all pieces that come there look the same.
    periods: Box<[u16]>,
    orbits: Box<[CellOrbit]>,
    moves: Vec<WordMove>,
    /// The moves followed by free moves. Through them a state is reached from all states that lead to it.
    incoming_moves: Vec<WordMove>,
    /// The actions of the free moves on words, the identity first.
    free: Vec<Symmetry>,
    symmetries: Vec<Symmetry>,
    /// The numbers, among the puzzle's symmetries, of those of which `symmetries` are products with free
    /// moves.
    used_symmetries: Vec<usize>,
    /// Whether free moves are known to map the guards of moves to guards of other moves.
    keeps_guards: bool,
    /// Computed when it is first needed, because the chain of a large puzzle takes seconds.
    group_order: OnceLock<BigUint>,
    /// See [`Space::has_chains`].
    has_chains: OnceLock<bool>,
    /// Whether the states are the even arrangements of pieces in their orbits.
    are_even: OnceLock<bool>,
    states: BigUint,
}

/// The reason why a puzzle and labels do not form a space that Fathom can enumerate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// A guarded move has no inverse among the moves. The states that moves reach are then not those from
    /// which moves lead back.
    #[error(
        "{0} has moves that can be made only in some states, and they are not closed under inverses. Add the inverses (--metric single does, unless cells are limited by 'always' or 'never')"
    )]
    GuardedOneWay(String),
    /// With these labels, the limits on the puzzle's states exclude the solved state.
    #[error(
        "the labels rule out the solved state of {0}: they give a piece the same label as one that is excluded from its home cell. Use more labels"
    )]
    SolvedRuledOut(String),
    /// There are more symbols than a byte can represent.
    #[error(
        "{name} has {}too many pieces and orientations to encode: {symbols} symbols, of at most 255. Distinguish fewer with --track, --labels or --ignore-orientation, or omit an orbit with --omit",
        states_and(states.as_ref())
    )]
    TooManyLetters {
        /// The puzzle.
        name: String,
        /// The number of states, if it is known.
        states: Option<BigUint>,
        /// The number of labels times the number of orientations.
        symbols: usize,
    },
    /// A free move may change nothing in some states, which would then have fewer words than others.
    #[error("{0} has free moves that may change nothing visible: distinguish more of its pieces")]
    NotFree(String),
    /// There are so many cells that nothing is known about the group.
    #[error(
        "the states of {name} cannot be counted: with {cells} cells, finding the order of its group takes too long. Omit an orbit with --omit"
    )]
    UnknownGroup {
        /// The name.
        name: String,
        /// The number of cells.
        cells: usize,
    },
    /// The elements of the group that change nothing visible take too long to count, or states are listed and
    /// are too many.
    #[error(
        "the labelled states of {name} cannot be counted: its group has order {order}, too large to enumerate the elements that change nothing visible or the states that block moves. Use more labels, or omit an orbit with --omit"
    )]
    Uncounted {
        /// The puzzle.
        name: String,
        /// The order of its group.
        order: BigUint,
    },
}

impl Space {
    /// With more points than this, the states are first counted orbit by orbit, because a chain of
    /// stabilisers takes longer.
    const MANY_POINTS: usize = 64;

    /// With more cells than this, a chain of stabilisers takes too long and too much memory unless the group
    /// is small.
    const MAX_CELLS_OF_CHAINS: usize = 255;

    /// The largest order of a group that is small.
    const MAX_ELEMENTS: u128 = 1 << 64;

    /// The largest number of words that are listed to count the states of a puzzle with guards.
    const MAX_LISTED: usize = 1 << 20;

    /// Builds the space of a puzzle with labels. `metric` must be the metric for which the puzzle's moves
    /// were created.
    ///
    /// # Errors
    /// [`SpaceError`] if guarded moves have no inverses, the labels rule out the solved state, there are too
    /// many symbols, a free move may change nothing, or the states cannot be counted.
    ///
    /// # Panics
    /// If `given_labels` does not have one label for each cell of the puzzle.
    pub fn new(puzzle: Puzzle, metric: Metric, given_labels: Labels) -> Result<Self, SpaceError> {
        let mut chain = Chain::default();
        let (given, mut problem) = OriginalPuzzle::new(puzzle, given_labels, |problem| {
            chain.find_half_turn(problem);
            Ok(())
        })?;
        chain.find(&mut problem).map_err(|symbols| SpaceError::TooManyLetters {
            name: problem.puzzle.name.clone(),
            states: states_without_words(&problem.puzzle, &problem.labels),
            symbols,
        })?;
        let (labels, symbols) = symbols(&problem).expect("the chain has found symbols");
        let mut space = Self::of(problem, metric, given, chain, labels, symbols);
        (space.symmetries, space.used_symmetries) = space.all_symmetries();
        space.counted()
    }

    /// Uses all symmetries of the puzzle, as a plan records them.
    ///
    /// # Errors
    /// The number of one that is not a symmetry.
    fn use_symmetries(&mut self) -> Result<(), usize> {
        self.symmetries = self.recorded_symmetries()?;
        self.used_symmetries = (0..self.puzzle.symmetries.len()).collect();
        Ok(())
    }

    /// Builds the space of a problem, with the identity as its only symmetry.
    fn of(
        problem: Problem,
        metric: Metric,
        given: OriginalPuzzle,
        chain: Chain,
        labels: Labels<u8>,
        symbols: SymbolTable,
    ) -> Self {
        // The limits are part of the guards of all moves.
        let puzzle = Puzzle { limits: Vec::new(), ..problem.puzzle };
        // The identity is always a free move.
        let orientation_counts: Box<[u16]> = puzzle.free[0].orientation_counts().into();
        let orbits = orbits(&puzzle, puzzle.orbits(), &labels);
        let of_pieces = labels.of_pieces();
        let step = |m: &PuzzleMove| WordMove::new(m, of_pieces, &symbols);
        let mut space = Self {
            metric,
            solved: of_pieces.iter().map(|&label| symbols.letter(label, 0)).collect(),
            moves: puzzle.moves.iter().map(step).collect(),
            incoming_moves: puzzle.incoming_moves.iter().map(step).collect(),
            periods: periods(&orientation_counts, &orbits, &symbols),
            orientation_counts,
            orbits,
            free: Vec::new(),
            symmetries: Vec::new(),
            used_symmetries: vec![0],
            keeps_guards: problem.keeps_guards,
            group_order: problem.group_order.map_or_else(OnceLock::new, OnceLock::from),
            has_chains: if problem.has_base { true.into() } else { OnceLock::new() },
            are_even: OnceLock::new(),
            states: problem.states.unwrap_or_default(),
            labels,
            symbols,
            puzzle,
            given,
            chain,
        };
        space.free = space.puzzle.free.iter().map(|free| Symmetry::free(free, &space)).collect();
        space.symmetries.clone_from(&space.free);
        space
    }

    /// Returns the space with its number of states.
    fn counted(mut self) -> Result<Self, SpaceError> {
        if self.states != BigUint::ZERO {
            return Ok(self);
        }
        if !self.free_moves_are_free() {
            return Err(SpaceError::NotFree(self.puzzle.name));
        }
        let is_large = points(&self.orientation_counts) > Self::MANY_POINTS;
        let known = is_large.then(|| states_by_orbits_of(&self.puzzle, &self.labels)).flatten();
        if known.is_none() && !self.has_chains() {
            return Err(SpaceError::UnknownGroup { cells: self.cells(), name: self.puzzle.name });
        }
        self.states = known.or_else(|| count_states(&self)).ok_or_else(|| SpaceError::Uncounted {
            name: self.puzzle.name.clone(),
            order: self.group_order().clone(),
        })?;
        Ok(self)
    }

    /// Returns the puzzle on the cells of words. A piece that turns and never leaves its cell has one such
    /// cell for each of its orientations, and one of these cells is marked. Free moves that the moves do not
    /// generate may be [omitted](Space::all_free_order).
    pub fn puzzle(&self) -> &Puzzle {
        &self.puzzle
    }

    /// Returns the metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Returns the labels of the contents of the cells of words.
    pub fn labels(&self) -> &Labels<u8> {
        &self.labels
    }

    /// Returns the ring that has a cell of words, as the ring's first cell and size; `None` if the cell is on
    /// no ring. The cells of a ring belong to one piece, which turns and stays; its orientation is the
    /// position of a mark.
    pub(crate) fn ring(&self, cell: usize) -> Option<(usize, usize)> {
        self.chain.orientation_positions().and_then(|orientation_positions| orientation_positions.ring(cell))
    }

    /// Returns all [rings](Space::ring), each as its first cell and the number of its cells.
    pub(crate) fn orientation_positions(&self) -> impl Iterator<Item = (usize, usize)> {
        self.chain
            .orientation_positions()
            .into_iter()
            .flat_map(|orientation_positions| orientation_positions.orientation_positions())
    }

    /// Returns whether free moves are known to map the guards of moves to guards of other moves.
    pub(crate) fn keeps_guards(&self) -> bool {
        self.keeps_guards
    }

    /// Returns the number of cells of words.
    pub fn cells(&self) -> usize {
        self.puzzle.cells
    }

    /// Returns the symbols of words.
    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// Returns the largest number of orientations on a cell.
    pub(crate) fn most_turns(&self) -> u16 {
        self.orientation_counts.iter().copied().max().unwrap_or(1)
    }

    /// Returns the number of orientations on a cell.
    pub(crate) fn order(&self, cell: usize) -> u16 {
        self.orientation_counts[cell]
    }

    /// Returns the number of turns of a cell after which all pieces that come there look the same. It
    /// divides the number of the cell's orientations.
    pub(crate) fn period(&self, cell: usize) -> u16 {
        self.periods[cell]
    }

    /// Returns the orbits of cells under the moves.
    pub(crate) fn orbits(&self) -> &[CellOrbit] {
        &self.orbits
    }

    /// Returns whether pieces with a label may be on a cell.
    pub(crate) fn belongs(&self, label: u8, cell: usize) -> bool {
        let has = |orbit: &CellOrbit| {
            orbit.cells.binary_search(&(cell as Cell)).is_ok() && orbit.labels.contains(&label)
        };
        self.orbits.iter().any(has)
    }

    /// Returns the ranks of all words of labels, reachable or not; `None` if there are [too
    /// many](Ranks::TOO_MANY).
    pub fn ranks(&self) -> Option<Ranks> {
        let ranks = Ranks::new(&self.orbits, &self.symbols, &self.solved);
        (ranks.total() < Ranks::TOO_MANY).then_some(ranks)
    }

    /// Returns the solved state as a word.
    pub fn solved(&self) -> &[u8] {
        &self.solved
    }

    /// Returns the symmetries of the puzzle that map labels to labels, the identity first. Classes are
    /// counted up to these symmetries.
    pub fn symmetries(&self) -> &[Symmetry] {
        &self.symmetries
    }

    /// Returns the number of symmetries of states. Symmetries that differ by a free move have the same action
    /// on states.
    pub fn symmetry_order(&self) -> usize {
        self.symmetries.len() / self.puzzle.free.len()
    }

    /// Returns whether the symmetries are known to be complete.
    pub fn has_all_symmetries(&self) -> bool {
        self.puzzle.has_all_symmetries
    }

    /// Returns the order of the group that the moves and the free moves of [`Space::puzzle`] generate
    /// (Schreier-Sims).
    pub fn group_order(&self) -> &BigUint {
        self.group_order.get_or_init(|| {
            let orientation_counts = &self.orientation_counts;
            let is_large = points(orientation_counts) > Self::MANY_POINTS;
            let actions =
                || self.puzzle.moves.iter().map(|m| m.action.clone()).chain(self.puzzle.free.clone());
            let all_differ =
                orientation_counts.iter().zip(0..).map(|(&seen, label)| VisibleLabel { label, seen });
            let by_orbits = is_large
                .then(|| states_by_orbits(&actions().collect::<Vec<_>>(), &all_differ.collect::<Vec<_>>()));
            by_orbits.flatten().unwrap_or_else(|| group(&self.puzzle).big_order())
        })
    }

    /// Returns whether chains of stabilisers are computed for the group. With very many cells, only those of
    /// small groups are.
    pub(crate) fn has_chains(&self) -> bool {
        *self.has_chains.get_or_init(|| {
            self.cells() <= Self::MAX_CELLS_OF_CHAINS || {
                let generators = generators(&self.puzzle);
                let points = generators.first().map_or(0, Permutation::degree);
                StabiliserChain::up_to(Self::MAX_ELEMENTS, points, &generators).is_some()
            }
        })
    }

    /// Returns the number of states. Without guards and free moves, this number is the order of the group
    /// divided by the order of the subgroup that exchanges only pieces with equal labels.
    pub fn states(&self) -> &BigUint {
        &self.states
    }

    /// Returns whether all pieces differ and do not turn, and the moves reach the even permutations that keep
    /// each piece in its orbit, and no others. With a single orbit they generate the alternating group.
    pub fn has_only_even_states(&self) -> bool {
        let factorial =
            |orbit: &CellOrbit| -> BigUint { (1..=orbit.cells.len()).map(BigUint::from).product() };
        let arrangements = || -> BigUint { self.orbits.iter().map(factorial).product() };
        let actions = || self.puzzle.moves.iter().map(|m| &m.action).chain(&self.puzzle.free);
        let are_even = || {
            self.symbols.width() == 1
                && self.labels.are_distinct()
                && actions().all(|action| action.cells().is_even())
                && self.group_order() * 2_u32 == arrangements()
        };
        *self.are_even.get_or_init(are_even)
    }

    /// Returns whether a word is the smallest of the words of its state, which free moves carry to each other.
    /// `image` has as many cells as the word, and is overwritten.
    pub fn is_first_word(&self, word: &[u8], image: &mut [u8]) -> bool {
        self.free[1..].iter().all(|free| {
            self.write_image(free, word, image);
            word <= &*image
        })
    }

    /// Returns whether a reduction has replaced the cells of the given puzzle by others.
    pub fn is_reduced(&self) -> bool {
        !self.chain.records().is_empty()
    }

    /// Returns whether every free move but the identity changes every state. A free move does so if, in some
    /// orbit, it leaves fewer cells unchanged than there are pieces with a label of their own: one of these
    /// pieces must then move or turn. A turn that not all of them show leaves the cell unchanged.
    fn free_moves_are_free(&self) -> bool {
        let changes_all = |free: &OrientedPermutation| {
            self.orbits.iter().any(|orbit| {
                let is_own = |label: &&u8| self.labels.sizes()[usize::from(**label)] == 1;
                let own: Vec<u8> = orbit.labels.iter().filter(is_own).copied().collect();
                let is_kept = |cell: usize| {
                    let hides =
                        |label: &u8| free.turns()[cell].is_multiple_of(self.symbols.seen(*label).into());
                    free.cells().apply(cell) == cell && own.iter().any(hides)
                };
                own.len() > orbit.cells.iter().filter(|&&cell| is_kept(cell.into())).count()
            })
        };
        self.puzzle.free[1..].iter().all(changes_all)
    }
}

/// Returns the number of points of cells with these numbers of orientations.
fn points(orientation_counts: &[u16]) -> usize {
    orientation_counts.iter().map(|&order| usize::from(order)).sum()
}

/// Returns the group that the moves and the free moves generate, on points.
fn group(puzzle: &Puzzle) -> StabiliserChain {
    let generators = generators(puzzle);
    let points = generators.first().map_or(puzzle.cells, Permutation::degree);
    StabiliserChain::new(points, &generators)
}

/// Returns the moves and the free moves, on points.
fn generators(puzzle: &Puzzle) -> Vec<Permutation> {
    let moves = puzzle.moves.iter().map(|m| &m.action);
    moves.chain(&puzzle.free).map(|action| action.as_points()).collect()
}

/// Returns the periods of cells with these numbers of orientations.
fn periods(orientation_counts: &[u16], orbits: &[CellOrbit], symbols: &SymbolTable) -> Box<[u16]> {
    let mut periods: Box<[u16]> = orientation_counts.into();
    for CellOrbit { cells, labels, .. } in orbits {
        let shows_all =
            |period: &u16| labels.iter().all(|&label| period.is_multiple_of(symbols.seen(label).into()));
        for &cell in cells {
            let period = &mut periods[usize::from(cell)];
            *period = (1..=*period).find(shows_all).unwrap_or(*period);
        }
    }
    periods
}

fn orbits(puzzle: &Puzzle, cells_of: Vec<Vec<usize>>, labels: &Labels<u8>) -> Box<[CellOrbit]> {
    let actions = puzzle.moves.iter().map(|m| &m.action).chain(&puzzle.free);
    let orbit = |cells: Vec<usize>| {
        let keeps_sum = actions.clone().all(|action| {
            let turns = cells.iter().map(|&cell| u32::from(action.turns()[cell])).sum::<u32>();
            turns.is_multiple_of(action.orientation_counts()[cells[0]].into())
        });
        CellOrbit {
            labels: cells.iter().map(|&cell| labels.of_pieces()[cell]).collect(),
            cells: cells.iter().map(|&cell| cell as Cell).collect(),
            keeps_sum,
        }
    };
    cells_of.into_iter().map(orbit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::{Board, Definition};

    fn space(word: &str, labels: Option<&str>) -> Space {
        let board: Board = word.parse().unwrap();
        let labels = match labels {
            Some(list) => Labels::parse_list(list, board.cells()).unwrap(),
            None => Labels::distinct(board.cells()),
        };
        Space::new(board.puzzle(Metric::Multi), Metric::Multi, labels).unwrap()
    }

    #[test]
    fn numbers_of_states() {
        let states = |word, labels| space(word, labels).states().to_string();
        assert_eq!(states("3x4", None), "479001600");
        assert_eq!(states("3x3", None), "181440");
        assert_eq!(states("3x3", Some("0,0,0,1,1,1,2,2,2")), "1680");
        assert_eq!(states("1x7", None), "7");
        assert_eq!(states("1x6", Some("0,1,0,1,0,1")), "2");
        assert_eq!(states("1x1", None), "1");
        let factorial: BigUint = (1..=64_u32).map(BigUint::from).product();
        assert_eq!(states("8x8", None), factorial.to_string());
        assert_eq!(states("6x6", Some(&["0"; 36].join(","))), "1");
    }

    #[test]
    fn free_move_equivalent_words_are_one_state() {
        let mut ring = Definition::of_degree("ring", 6).unwrap();
        let parse = |cycles| OrientedPermutation::from_cells(Permutation::parse(cycles, 6).unwrap());
        ring.add_move("U", parse("(1,2,3)")).unwrap();
        ring.add_free("r", parse("(1,2,3,4,5,6)")).unwrap();
        let states = |list| {
            let labels = Labels::parse_list(list, 6).unwrap();
            Space::new(ring.puzzle(Metric::Multi).unwrap(), Metric::Multi, labels)
                .unwrap()
                .states()
                .to_string()
        };
        // All permutations, and all necklaces of two, three and one beads, up to rotation.
        assert_eq!((states("0,1,2,3,4,5"), states("0,0,1,1,1,2")), ("120".into(), "10".into()));
    }

    #[test]
    fn symmetries_must_respect_labels() {
        assert_eq!(space("4x4", None).symmetries().len(), 128);
        // The top row is distinguished: only the translations along it and two reflections are left.
        assert_eq!(space("4x4", Some("1,1,1,1,0,0,0,0,0,0,0,0,0,0,0,0")).symmetries().len(), 16);
        // Exchanging the two colours of a checkerboard is a symmetry.
        assert_eq!(space("4x4", Some("0,1,0,1,1,0,1,0,0,1,0,1,1,0,1,0")).symmetries().len(), 128);
    }

    /// Three rows of facelets that always move together: renaming facelets row by row changes no state. The
    /// only remaining symmetry is the reversal of the rows, which exchanges the moves.
    #[test]
    fn equivalent_symmetries_are_deduplicated() {
        let moved = |cell: usize, a: usize, b: usize| match cell % 3 {
            at if at == a => cell - a + b,
            at if at == b => cell - b + a,
            _ => cell,
        };
        let mut facelets = Definition::of_degree("facelets", 9).unwrap();
        for (name, a, b) in [("A", 0, 1), ("B", 1, 2)] {
            let cells = Permutation::from_fn(9, |cell| moved(cell, a, b));
            facelets.add_move(name, OrientedPermutation::from_cells(cells)).unwrap();
        }
        let puzzle = Puzzle { facelets: None, ..facelets.puzzle(Metric::Given).unwrap() };
        // 3! ways to rename the rows, with or without the reversal.
        assert_eq!(puzzle.symmetries.len(), 12);
        let space = Space::new(puzzle, Metric::Given, Labels::distinct(9)).unwrap();
        assert_eq!((space.states().to_string(), space.symmetry_order()), ("6".into(), 2));
        let reversed = |cell: Cell| cell - cell % 3 + 2 - cell % 3;
        assert!((0..9).all(|cell| space.symmetries()[1].cells[usize::from(cell)] == reversed(cell)));
        // Rotations of a dial rename no move at all.
        let mut dial = Definition::of_degree("dial", 5).unwrap();
        let cells = Permutation::from_fn(5, |cell| (cell + 1) % 5);
        dial.add_move("U", OrientedPermutation::from_cells(cells)).unwrap();
        let puzzle = dial.puzzle(Metric::Given).unwrap();
        assert_eq!(puzzle.symmetries.len(), 5);
        assert_eq!(Space::new(puzzle, Metric::Given, Labels::distinct(5)).unwrap().symmetry_order(), 1);
    }

    #[test]
    fn slugs_are_distinct() {
        assert_eq!(space("3x4", None).slug(), "3x4-multi");
        let labelled = space("2x2", Some("5,5,1,1"));
        assert_eq!(labelled.slug(), "2x2-multi-aabb");
        assert_eq!(labelled.short_slug(false), "2x2-multi-aabb");
        assert_eq!(labelled.short_slug(true), "2x2-multi");
        let many = ["5x5", "5x6"].map(|board| {
            let cells = board.parse::<Board>().unwrap().cells();
            let list: Vec<String> = (0..cells).map(|tile| (tile % 2).to_string()).collect();
            space(board, Some(&list.join(","))).short_slug(false)
        });
        assert_eq!(many.each_ref().map(String::len), [26, 26]);
        assert_ne!(many[0][10..], many[1][10..]);
    }
}
