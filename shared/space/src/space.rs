//! The space that is enumerated: the states of a puzzle, up to exchanging pieces with equal labels.

mod free;
mod left_out;
mod moves;
mod on_words;
mod pieces;
mod slug;
mod states;
pub mod symmetry;

use crate::cells::{Cell, CellOrbit};
use crate::rings::Rings;
use crate::{Labels, Letters, Ranks};
use fathom_algebra::{OrientedPermutation, Permutation, Shown, StabiliserChain, states_by_orbits};
use fathom_puzzle::{Facelets, Guard, Metric, Puzzle, PuzzleMove, Told, states_and};
use left_out::LeftOut;
pub(crate) use moves::WordGuard;
pub use moves::WordMove;
use num_bigint::BigUint;
use on_words::OnWords;
pub(crate) use states::reached_words;
use states::{count_states, show_all_turns, states_by_orbits_of, states_without_words};
use std::sync::{Arc, OnceLock};
pub use symmetry::Symmetry;

/// A puzzle with a metric and labels. Its states form a Cayley graph if all labels differ, and a Schreier
/// coset graph otherwise.
#[derive(Clone, Debug)]
pub struct Space {
    /// The puzzle on the cells of words.
    puzzle: Puzzle,
    rings: Rings,
    /// Whether the last cells of words are a ring that tells [how the puzzle is held](Puzzle::held).
    is_held: bool,
    metric: Metric,
    /// The labels of the puzzle's pieces, as they are given.
    given_labels: Labels,
    /// The labels of the puzzle's pieces. Those that can be told apart by their cells have different labels.
    piece_labels: Labels,
    /// The pieces by which the puzzle is searched, if they are others than those that it is given with.
    /// Words have the cells of these pieces.
    facelets: Option<Facelets>,
    /// Where there are too many pieces for letters: what is told apart instead. Words have the cells of its
    /// puzzle.
    told: Option<Arc<Told>>,
    /// The free moves of the puzzle that `puzzle` does without.
    left_out: Option<Arc<LeftOut>>,
    /// The labels of the pieces on the cells that words have before rings are made.
    cell_labels: Labels,
    /// The labels of what stands on the cells of words.
    labels: Labels<u8>,
    letters: Letters,
    solved: Box<[u8]>,
    /// The number of orientations on each cell.
    orders: Box<[u16]>,
    /// By cell: the number of turns after which all pieces that come there look as before.
    periods: Box<[u16]>,
    orbits: Box<[CellOrbit]>,
    moves: Vec<WordMove>,
    /// The moves followed by free moves. Through them a state is reached from all states that lead to it.
    incoming_moves: Vec<WordMove>,
    /// The actions of the free moves on words, the identity first.
    free: Vec<Symmetry>,
    symmetries: Vec<Symmetry>,
    /// Computed when it is first needed, because the chain of a large puzzle takes seconds.
    group_order: OnceLock<BigUint>,
    /// See [`Space::has_chains`].
    has_chains: OnceLock<bool>,
    /// Whether the states are the even arrangements of pieces in their orbits.
    are_even: OnceLock<bool>,
    /// Whether the parity of all pieces together counts where there are several orbits.
    has_joint_parity: bool,
    states: BigUint,
}

/// The reason why a puzzle and labels make no space that Fathom can enumerate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// A guarded move has no inverse among the moves. The states that moves reach are then not those from
    /// which moves lead back.
    #[error(
        "{0} has moves that can be made only in some states, and they are not closed under inverses: add the inverses, which --metric single does unless cells are limited by always or never"
    )]
    GuardedOneWay(String),
    /// With these labels, the limits on the puzzle's states exclude the solved state.
    #[error(
        "the labels rule out the solved state of {0}: they make a piece look like one that may never stand where it belongs: tell more apart"
    )]
    SolvedRuledOut(String),
    /// There are more letters than a byte can tell apart.
    #[error(
        "{name} has {}more pieces and orientations than words have letters for: {letters}, of at most 255: tell fewer apart with --track, --labels or --ignore-orientation, or leave some out with --omit",
        states_and(states.as_ref())
    )]
    TooManyLetters {
        /// The puzzle.
        name: String,
        /// The number of states, if it is known.
        states: Option<BigUint>,
        /// The number of labels times the number of orientations.
        letters: usize,
    },
    /// A free move may change nothing in some states, which would then have fewer words than others.
    #[error("{0} has free moves that may change nothing that can be seen: tell more of its pieces apart")]
    NotFree(String),
    /// There are so many cells that nothing is known of the group.
    #[error(
        "the states of {name} cannot be counted: with {cells} cells, the order of its group takes too long to find: leave some out with --omit"
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
        "the labelled states of {name} cannot be counted: its group has order {order}, and what cannot be seen of it, or where its moves are blocked, is too much to go through: tell more pieces apart, or leave some out with --omit"
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
    const MOST_CELLS_OF_CHAINS: usize = 255;

    /// The largest order of a group that is small.
    const MOST_ELEMENTS: u128 = 1 << 64;

    /// The largest number of words that are listed to count the states of a puzzle with guards.
    const LARGEST_LISTED: usize = 1 << 20;

    /// Makes the space of a puzzle with labels. `metric` must be the metric for which the puzzle's moves were
    /// made.
    ///
    /// # Errors
    /// [`SpaceError`] if guarded moves have no inverses, the labels rule out the solved state, there are too
    /// many letters, a free move may change nothing, or the states cannot be counted.
    ///
    /// # Panics
    /// If `given_labels` does not have one label for each cell of the puzzle.
    pub fn new(puzzle: Puzzle, metric: Metric, given_labels: Labels) -> Result<Self, SpaceError> {
        assert_eq!(puzzle.cells, given_labels.pieces(), "one label a piece");
        let counted = puzzle.counted.as_ref().filter(|counted| {
            Labels::from_values(counted.labels.iter().map(|&label| label.into())) == given_labels
        });
        let counted = counted.map(|counted| counted.states.clone());
        // With other labels, the puzzle with a cell for how it is held may have other symmetries.
        let is_held = counted.is_some() && puzzle.held.is_some();
        let pieces = puzzle.cells;
        let mut puzzle = puzzle;
        let mut puzzle = match puzzle.held.take() {
            Some(held) if is_held => *held,
            _ => puzzle,
        };
        puzzle.rule_out_alike(given_labels.of_pieces());
        if puzzle.moves.iter().any(|m| !m.guard.is_empty()) && !puzzle.is_closed_under_inverses() {
            return Err(SpaceError::GuardedOneWay(puzzle.name));
        }
        let alike = |guard: &Guard| {
            let label = |piece: u16| given_labels.of_pieces()[usize::from(piece)];
            !guard.holds && label(guard.cell) == label(guard.piece)
        };
        if puzzle.limits.iter().any(alike) {
            return Err(SpaceError::SolvedRuledOut(puzzle.name));
        }
        // Pieces that never stand on the same cells are told apart by their cells.
        let orbits_of_pieces = puzzle.orbits();
        let orbit_of = |piece: &usize| orbits_of_pieces.iter().position(|cells| cells.contains(piece));
        let key = |piece| (given_labels.of_pieces().get(piece), orbit_of(&piece), puzzle.seen[piece]);
        let piece_labels = Labels::from_keys((0..pieces).map(key));
        let (facelets, puzzle) = match puzzle.facelets.take() {
            Some(by_pieces) if given_labels.are_distinct() => (Some(by_pieces.0), by_pieces.1),
            _ => (None, puzzle),
        };
        let cell_labels = match &facelets {
            Some(_) => Labels::distinct(puzzle.cells),
            None => piece_labels.clone(),
        };
        let mut on_words = OnWords::of(&puzzle, is_held, &cell_labels);
        let mut cell_labels = cell_labels;
        let mut told = None;
        if on_words.is_err()
            && cell_labels.are_distinct()
            && let Some(some) = Told::of(&puzzle)
        {
            let labels = Labels::numbered(some.labels());
            if let Ok(some_on_words) = OnWords::of(some.puzzle(), false, &labels) {
                (on_words, cell_labels, told) = (Ok(some_on_words), labels, Some(Arc::new(some)));
            }
        }
        let OnWords { rings, mut puzzle, labels, letters } =
            on_words.map_err(|letters| SpaceError::TooManyLetters {
                name: puzzle.name.clone(),
                states: states_without_words(&puzzle, &cell_labels),
                letters,
            })?;
        let of_pieces = labels.of_pieces();
        // The identity is always a free move.
        let orders: Box<[u16]> = puzzle.free[0].orders().into();
        let are_elements = piece_labels.are_distinct() && show_all_turns(&labels, &letters, &orders);
        let has_guards = !puzzle.limits.is_empty() || puzzle.moves.iter().any(|m| !m.guard.is_empty());
        let is_plain = are_elements && !has_guards && !is_held && told.is_none();
        let left_out = match is_plain && points(&orders) <= Self::MANY_POINTS {
            true => LeftOut::of(&mut puzzle).map(Arc::new),
            false => None,
        };
        let orbits = orbits(&puzzle, puzzle.orbits(), &labels);
        let solved = of_pieces.iter().map(|&label| letters.letter(label, 0)).collect();
        let guard = |m: &PuzzleMove| {
            let mut guard: Vec<WordGuard> = Vec::new();
            for &Guard { cell, piece, holds } in &m.guard {
                let asked = WordGuard { cell, label: of_pieces[usize::from(piece)], holds };
                // A label is ruled out once, although several pieces may have it.
                if holds || !guard.contains(&asked) {
                    guard.push(asked);
                }
            }
            guard.into()
        };
        let step = |m: &PuzzleMove| WordMove {
            cells: m.action.cells().images().into(),
            turns: match letters.width() {
                1 => Box::default(),
                _ => m.action.turns().iter().map(|&turn| turn as u8).collect(),
            },
            guard: guard(m),
        };
        let moves = puzzle.moves.iter().map(step).collect();
        let incoming_moves = puzzle.incoming_moves.iter().map(step).collect();
        let periods = periods(&orders, &orbits, &letters);
        let mut space = Self {
            puzzle,
            rings,
            is_held,
            metric,
            given_labels,
            piece_labels,
            facelets,
            told,
            left_out,
            cell_labels,
            labels,
            letters,
            solved,
            periods,
            orders,
            orbits,
            moves,
            incoming_moves,
            free: Vec::new(),
            symmetries: Vec::new(),
            group_order: OnceLock::new(),
            has_chains: OnceLock::new(),
            are_even: OnceLock::new(),
            has_joint_parity: true,
            states: BigUint::ZERO,
        };
        space.free = space.puzzle.free.iter().map(|free| Symmetry::free(free, &space)).collect();
        space.symmetries = space.all_symmetries();
        // If the states were counted before, free moves are known to change every state.
        if counted.is_none() && space.told.is_none() && !space.free_moves_are_free() {
            return Err(SpaceError::NotFree(space.puzzle.name));
        }
        let is_large = points(&space.orders) > Self::MANY_POINTS;
        let by_orbits = || is_large.then(|| states_by_orbits_of(&space.puzzle, &space.labels)).flatten();
        if let Some(told) = &space.told {
            (space.group_order, space.has_chains) = (told.order().into(), true.into());
        }
        let of_told = space.told.as_ref().map(|told| told.order() / space.free_order());
        let known = counted.or(of_told).or_else(by_orbits);
        if known.is_none() && !space.has_chains() {
            return Err(SpaceError::UnknownGroup { cells: space.cells(), name: space.puzzle.name });
        }
        space.states = known.or_else(|| count_states(&space)).ok_or_else(|| SpaceError::Uncounted {
            name: space.puzzle.name.clone(),
            order: space.group_order().clone(),
        })?;
        Ok(space)
    }

    /// Returns the puzzle on the cells of words. A piece that turns and never leaves its cell has one such
    /// cell for each of its orientations, and one of these cells is marked. Free moves that the moves do not
    /// make may be [left out](Space::all_free_order).
    pub fn puzzle(&self) -> &Puzzle {
        &self.puzzle
    }

    /// Returns the metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Returns the labels of what stands on the cells of words.
    pub fn labels(&self) -> &Labels<u8> {
        &self.labels
    }

    /// Returns the labels of the puzzle's pieces, as they are given.
    pub fn given_labels(&self) -> &Labels {
        &self.given_labels
    }

    /// Returns the labels of the puzzle's pieces, different ones for those that their cells tell apart.
    pub fn piece_labels(&self) -> &Labels {
        &self.piece_labels
    }

    /// Returns whether words tell [how the puzzle is held](Puzzle::held).
    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    pub(crate) fn rings(&self) -> &Rings {
        &self.rings
    }

    /// Returns the number of cells of words.
    pub fn cells(&self) -> usize {
        self.puzzle.cells
    }

    /// Returns the letters of words.
    pub fn letters(&self) -> &Letters {
        &self.letters
    }

    /// Returns the largest number of orientations on a cell.
    pub(crate) fn most_turns(&self) -> u16 {
        self.orders.iter().copied().max().unwrap_or(1)
    }

    /// Returns the number of orientations on a cell.
    pub(crate) fn order(&self, cell: usize) -> u16 {
        self.orders[cell]
    }

    /// Returns the number of turns of a cell after which all pieces that come there look as before. It
    /// divides the number of the cell's orientations.
    pub(crate) fn period(&self, cell: usize) -> u16 {
        self.periods[cell]
    }

    /// Returns the orbits of cells under the moves.
    pub(crate) fn orbits(&self) -> &[CellOrbit] {
        &self.orbits
    }

    /// Returns whether pieces with a label may stand on a cell.
    pub(crate) fn belongs(&self, label: u8, cell: usize) -> bool {
        let has = |orbit: &CellOrbit| {
            orbit.cells.binary_search(&(cell as Cell)).is_ok() && orbit.labels.contains(&label)
        };
        self.orbits.iter().any(has)
    }

    /// Returns the ranks of all words of labels, reachable or not; `None` if there are [too
    /// many](Ranks::TOO_MANY).
    pub fn ranks(&self) -> Option<Ranks> {
        let ranks = Ranks::new(&self.orbits, &self.letters, &self.solved);
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

    /// Returns whether the symmetries are known to be all that there are.
    pub fn has_all_symmetries(&self) -> bool {
        self.puzzle.has_all_symmetries
    }

    /// Returns the order of the group that the moves and the free moves of [`Space::puzzle`] generate
    /// (Schreier-Sims).
    pub fn group_order(&self) -> &BigUint {
        self.group_order.get_or_init(|| {
            let orders = &self.orders;
            let is_large = points(orders) > Self::MANY_POINTS;
            let actions =
                || self.puzzle.moves.iter().map(|m| m.action.clone()).chain(self.puzzle.free.clone());
            let all_differ = orders.iter().zip(0..).map(|(&seen, label)| Shown { label, seen });
            let by_orbits = is_large
                .then(|| states_by_orbits(&actions().collect::<Vec<_>>(), &all_differ.collect::<Vec<_>>()));
            by_orbits.flatten().unwrap_or_else(|| group(&self.puzzle).big_order())
        })
    }

    /// Returns whether chains of stabilisers are made of the group. With very many cells they are made of
    /// small groups only.
    pub(crate) fn has_chains(&self) -> bool {
        *self.has_chains.get_or_init(|| {
            self.cells() <= Self::MOST_CELLS_OF_CHAINS || {
                let generators = generators(&self.puzzle);
                let points = generators.first().map_or(0, Permutation::degree);
                StabiliserChain::up_to(Self::MOST_ELEMENTS, points, &generators).is_some()
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
            self.letters.width() == 1
                && self.labels.are_distinct()
                && actions().all(|action| action.cells().is_even())
                && self.group_order() * 2_u32 == arrangements()
        };
        (self.orbits.len() == 1 || self.has_joint_parity) && *self.are_even.get_or_init(are_even)
    }

    /// Returns the space as runs have it that were begun with a cost model before v5: where there are several
    /// orbits, each axis has all its words, though half of the states of a coset are then odd.
    pub fn without_joint_parity(self) -> Self {
        Self { has_joint_parity: false, ..self }
    }

    /// Returns whether every free move but the identity changes every state. A free move does so if, in some
    /// orbit, it leaves fewer cells as they are than there are pieces with a label of their own: one of these
    /// pieces must then move or turn. A turn that not all of them show leaves the cell as it is.
    fn free_moves_are_free(&self) -> bool {
        let changes_all = |free: &OrientedPermutation| {
            self.orbits.iter().any(|orbit| {
                let is_own = |label: &&u8| self.labels.sizes()[usize::from(**label)] == 1;
                let own: Vec<u8> = orbit.labels.iter().filter(is_own).copied().collect();
                let is_kept = |cell: usize| {
                    let hides =
                        |label: &u8| free.turns()[cell].is_multiple_of(self.letters.seen(*label).into());
                    free.cells().apply(cell) == cell && own.iter().any(hides)
                };
                own.len() > orbit.cells.iter().filter(|&&cell| is_kept(cell.into())).count()
            })
        };
        self.puzzle.free[1..].iter().all(changes_all)
    }
}

/// Returns the number of points of cells with these numbers of orientations.
fn points(orders: &[u16]) -> usize {
    orders.iter().map(|&order| usize::from(order)).sum()
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
fn periods(orders: &[u16], orbits: &[CellOrbit], letters: &Letters) -> Box<[u16]> {
    let mut periods: Box<[u16]> = orders.into();
    for CellOrbit { cells, labels, .. } in orbits {
        let shows_all =
            |period: &u16| labels.iter().all(|&label| period.is_multiple_of(letters.seen(label).into()));
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
            turns.is_multiple_of(action.orders()[cells[0]].into())
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
    fn words_that_free_moves_make_of_each_other_are_one_state() {
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
        // The top row stands out: only the translations along it and two reflections are left.
        assert_eq!(space("4x4", Some("1,1,1,1,0,0,0,0,0,0,0,0,0,0,0,0")).symmetries().len(), 16);
        // Exchanging the two colours of a checkerboard is a symmetry.
        assert_eq!(space("4x4", Some("0,1,0,1,1,0,1,0,0,1,0,1,1,0,1,0")).symmetries().len(), 128);
    }

    /// Three rows of facelets that always move together: renaming facelets row by row changes no state. What
    /// is left is the reversal of the rows, which exchanges the moves.
    #[test]
    fn of_symmetries_that_act_alike_on_states_one_is_used() {
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
        let puzzle = facelets.puzzle(Metric::Given).unwrap();
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
    fn slugs_tell_spaces_apart() {
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
