//! What is enumerated: the states of a puzzle, up to exchanging pieces with equal labels.

mod slug;
mod states;

use crate::rings::Rings;
use crate::{Labels, Letters, Ranks, Symmetry};
use fathom_algebra::{OrientedPermutation, Permutation, StabiliserChain};
use fathom_puzzle::{Guard, Metric, Puzzle, PuzzleMove, states_and};
use num_bigint::BigUint;
use states::{count_states, states_by_orbits_of, states_without_words};
use std::sync::OnceLock;

/// A puzzle under a metric, with labels: a Cayley graph when all labels differ, a Schreier coset graph
/// otherwise.
#[derive(Clone, Debug)]
pub struct Space {
    /// On the cells of words.
    puzzle: Puzzle,
    rings: Rings,
    metric: Metric,
    /// Of the puzzle's pieces.
    piece_labels: Labels,
    /// Of what stands on the cells of words.
    labels: Labels,
    letters: Letters,
    solved: Box<[u8]>,
    /// The order of each cell.
    orders: Box<[u16]>,
    orbits: Box<[CellOrbit]>,
    moves: Vec<WordMove>,
    /// The moves with free moves behind them: through them a state is reached from all others that lead to
    /// it.
    incoming_moves: Vec<WordMove>,
    /// What the free moves do to words, the identity first.
    free: Vec<Symmetry>,
    symmetries: Vec<Symmetry>,
    /// Found when it is asked for: the chain of a large puzzle takes seconds.
    group_order: OnceLock<BigUint>,
    states: BigUint,
}

/// What a move does to words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordMove {
    /// The cell to which it carries what stands on each.
    pub cells: Box<[u8]>,
    /// The turn of what leaves each cell; empty if there are none.
    turns: Box<[u8]>,
    /// What must be so for it.
    guard: Box<[WordGuard]>,
}

/// What a move asks of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WordGuard {
    /// The cell.
    pub(crate) cell: u8,
    /// A label.
    pub(crate) label: u8,
    /// Whether the label must be there; otherwise any other one must.
    pub(crate) holds: bool,
}

impl WordMove {
    /// What must be so for it.
    #[inline]
    pub(crate) fn guard(&self) -> &[WordGuard] {
        &self.guard
    }

    /// The turn of what leaves a cell.
    #[inline]
    pub fn turn(&self, cell: usize) -> u8 {
        self.turns.get(cell).copied().unwrap_or(0)
    }
}

/// Cells between which moves carry pieces.
#[derive(Clone, Debug)]
pub(crate) struct CellOrbit {
    pub(crate) cells: Box<[u8]>,
    /// The labels of its pieces.
    pub(crate) labels: Box<[u8]>,
    /// Whether no move changes the sum of the orientations.
    pub(crate) keeps_sum: bool,
}

/// Why a puzzle and labels make no space that Fathom can enumerate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// A guarded move without its inverse among the moves: then the states that moves reach are not those
    /// from which they lead back.
    #[error(
        "{0} has moves that can be made only in some states, and they are not closed under inverses: add the inverses with --metric single"
    )]
    GuardedOneWay(String),
    /// Labels with which the solved state is none to which the puzzle's states are limited.
    #[error(
        "the labels rule out the solved state of {0}: they make a piece look like one that may never stand where it belongs: tell more apart"
    )]
    SolvedRuledOut(String),
    /// Letters are bytes.
    #[error(
        "{name} has {}more pieces and orientations than words have letters for: {letters}, of at most 255: tell fewer apart with --track, --labels or --ignore-orientation, or leave some out with --omit",
        states_and(states.as_ref())
    )]
    TooManyLetters {
        /// The puzzle.
        name: String,
        /// Its states, if they are known.
        states: Option<BigUint>,
        /// Labels times orientations.
        letters: usize,
    },
    /// Free moves that change nothing in some states make fewer states of them than in others.
    #[error("{0} has free moves that may change nothing that can be seen: tell more of its pieces apart")]
    NotFree(String),
    /// The elements that cannot be seen are not counted in reasonable time, or states are listed and are too
    /// many.
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
    /// Beyond, a chain of stabilisers takes longer than a look at each orbit.
    const MANY_POINTS: usize = 64;

    /// Where moves have guards states are listed up to this number.
    const LARGEST_LISTED: usize = 1 << 20;

    /// The space of a puzzle with labels. `metric` is the one that the puzzle's moves were made for.
    ///
    /// # Errors
    /// [`SpaceError`] if the states cannot be counted.
    pub fn new(puzzle: Puzzle, metric: Metric, labels: Labels) -> Result<Self, SpaceError> {
        assert_eq!(puzzle.cells, labels.pieces(), "one label a piece");
        let counted = puzzle.counted.as_ref().filter(|counted| {
            Labels::from_values(counted.labels.iter().map(|&label| label.into())) == labels
        });
        let counted = counted.map(|counted| counted.states.clone());
        if puzzle.moves.iter().any(|m| !m.guard.is_empty()) && !puzzle.is_closed_under_inverses() {
            return Err(SpaceError::GuardedOneWay(puzzle.name));
        }
        let alike = |guard: &Guard| {
            let label = |piece: u16| labels.of_pieces()[usize::from(piece)];
            !guard.holds && label(guard.cell) == label(guard.piece)
        };
        // What limits the states is asked for by every move.
        let by_all = |guard: &&Guard| puzzle.moves.iter().all(|m| m.guard.contains(guard));
        if puzzle.moves.first().is_some_and(|m| m.guard.iter().filter(by_all).any(alike)) {
            return Err(SpaceError::SolvedRuledOut(puzzle.name));
        }
        // Pieces that never stand on the same cells are told apart by that.
        let orbits_of_pieces = puzzle.orbits();
        let orbit_of = |piece: &usize| orbits_of_pieces.iter().position(|cells| cells.contains(piece));
        let key = |piece| (labels.of_pieces()[piece], orbit_of(&piece), puzzle.seen[piece]);
        let piece_labels = Labels::from_keys((0..puzzle.cells).map(key));
        let rings = Rings::of(&puzzle);
        // On a ring the first cell has the mark.
        let on_ring = |(piece, at): (usize, u16)| (piece_labels.of_pieces()[piece], at > 0);
        let labels = Labels::from_keys(rings.origins().map(on_ring));
        let puzzle = rings.puzzle(&puzzle);
        let orbits = orbits(&puzzle, puzzle.orbits(), &labels);
        let of_pieces = labels.of_pieces();
        let mut seen = vec![0; labels.sizes().len()];
        for (&label, &shown) in of_pieces.iter().zip(&puzzle.seen) {
            seen[usize::from(label)] = shown;
        }
        // The identity at least is there.
        let orders: Box<[u16]> = puzzle.free[0].orders().into();
        let turns = orders.iter().copied().max().unwrap_or(1);
        let letters = Letters::new(&seen, turns).ok_or_else(|| SpaceError::TooManyLetters {
            name: puzzle.name.clone(),
            states: states_without_words(&puzzle, &labels),
            letters: seen.len() * usize::from(seen.iter().copied().max().unwrap_or(1)),
        })?;
        let solved = of_pieces.iter().map(|&label| letters.letter(label, 0)).collect();
        let guard = |m: &PuzzleMove| {
            let mut guard: Vec<WordGuard> = Vec::new();
            for &Guard { cell, piece, holds } in &m.guard {
                let asked = WordGuard { cell: cell as u8, label: of_pieces[usize::from(piece)], holds };
                // What looks alike is ruled out once.
                if holds || !guard.contains(&asked) {
                    guard.push(asked);
                }
            }
            guard.into()
        };
        let step = |m: &PuzzleMove| WordMove {
            cells: bytes(m.action.cells()),
            turns: match letters.width() {
                1 => Box::default(),
                _ => m.action.turns().iter().map(|&turn| turn as u8).collect(),
            },
            guard: guard(m),
        };
        let moves = puzzle.moves.iter().map(step).collect();
        let incoming_moves = puzzle.incoming_moves.iter().map(step).collect();
        let mut space = Self {
            puzzle,
            rings,
            metric,
            piece_labels,
            labels,
            letters,
            solved,
            orders,
            orbits,
            moves,
            incoming_moves,
            free: Vec::new(),
            symmetries: Vec::new(),
            group_order: OnceLock::new(),
            states: BigUint::ZERO,
        };
        space.free = space.puzzle.free.iter().map(|free| Symmetry::free(free, &space)).collect();
        space.symmetries = space.all_symmetries();
        // Where states were counted it is known that they are.
        if counted.is_none() && !space.free_moves_are_free() {
            return Err(SpaceError::NotFree(space.puzzle.name));
        }
        let is_large =
            space.orders.iter().map(|&order| usize::from(order)).sum::<usize>() > Self::MANY_POINTS;
        let by_orbits = || is_large.then(|| states_by_orbits_of(&space.puzzle, &space.labels)).flatten();
        space.states = counted.or_else(by_orbits).or_else(|| count_states(&space)).ok_or_else(|| {
            SpaceError::Uncounted { name: space.puzzle.name.clone(), order: space.group_order().clone() }
        })?;
        Ok(space)
    }

    /// The puzzle, on the cells of words: where a piece turns on a cell that it never leaves, these are as
    /// many as it has orientations, one of them marked.
    pub fn puzzle(&self) -> &Puzzle {
        &self.puzzle
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The labels of what stands on the cells of words.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The labels of the puzzle's pieces.
    pub fn piece_labels(&self) -> &Labels {
        &self.piece_labels
    }

    /// Whether pieces turn where they stand.
    pub fn has_turns(&self) -> bool {
        self.letters.width() > 1 || !self.rings.is_empty()
    }

    pub(crate) fn rings(&self) -> &Rings {
        &self.rings
    }

    /// The number of cells of words.
    pub fn cells(&self) -> usize {
        self.puzzle.cells
    }

    /// The letters of words.
    pub fn letters(&self) -> &Letters {
        &self.letters
    }

    /// The largest number of orientations on a cell.
    pub(crate) fn most_turns(&self) -> u16 {
        self.orders.iter().copied().max().unwrap_or(1)
    }

    /// The number of orientations on a cell.
    pub(crate) fn order(&self, cell: usize) -> u16 {
        self.orders[cell]
    }

    /// The orbits of cells under the moves.
    pub(crate) fn orbits(&self) -> &[CellOrbit] {
        &self.orbits
    }

    /// Whether pieces with a label may stand on a cell.
    pub(crate) fn belongs(&self, label: u8, cell: usize) -> bool {
        let has = |orbit: &CellOrbit| orbit.cells.contains(&(cell as u8)) && orbit.labels.contains(&label);
        self.orbits.iter().any(has)
    }

    /// Ranks for all words of labels, reachable or not. `None` if they number 2^64 or more.
    pub fn ranks(&self) -> Option<Ranks> {
        Ranks::new(&self.orbits, &self.letters, &self.solved)
    }

    /// The moves, in the order of the puzzle's moves.
    pub fn moves(&self) -> &[WordMove] {
        &self.moves
    }

    /// Whether the inverse of every move is a move, so that the depths of neighbours differ by at most one.
    /// Distances are along moves, from the solved state, in any case.
    pub fn is_closed_under_inverses(&self) -> bool {
        self.puzzle.is_closed_under_inverses()
    }

    /// The solved state, as a word.
    pub fn solved(&self) -> &[u8] {
        &self.solved
    }

    /// The state, as a word, to which this permutation of the puzzle's cells leads from the solved one.
    pub fn word(&self, state: &OrientedPermutation) -> Vec<u8> {
        let state = self.rings.action(state);
        let mut word = vec![0; self.cells()];
        for (piece, &label) in self.labels.of_pieces().iter().enumerate() {
            let shown = u16::from(self.letters.seen(label));
            let turn = (state.turns()[piece] % shown) as u8;
            word[state.cells().apply(piece)] = self.letters.letter(label, turn);
        }
        word
    }

    /// What stands on each cell of the puzzle: the [label of the piece](Space::piece_labels), and its
    /// orientation.
    pub fn pieces(&self, word: &[u8]) -> Vec<(u8, u8)> {
        let on = |(cell, &(first, size)): (usize, &(usize, u16))| match size {
            1 => {
                let mark = self.letters.mark(word[first]);
                let piece = (0..self.rings.spread().len()).find(|&piece| self.label(piece) == mark);
                let piece = piece.expect("every label has a piece");
                (self.piece_labels.of_pieces()[piece], self.letters.orientation(word[first]))
            }
            size => {
                let turn = (0..usize::from(size)).find(|at| word[first + at] == self.solved[first]);
                (self.piece_labels.of_pieces()[cell], turn.expect("a ring has its mark") as u8)
            }
        };
        self.rings.spread().iter().enumerate().map(on).collect()
    }

    /// The word of the state in which this stands on the cells of the puzzle: the inverse of
    /// [`Space::pieces`].
    pub fn word_of_pieces(&self, pieces: &[(u8, u8)]) -> Vec<u8> {
        let labels = self.piece_labels.of_pieces();
        let mut word = self.solved.to_vec();
        for (&(label, orientation), &(first, size)) in pieces.iter().zip(self.rings.spread()) {
            if size == 1 {
                let piece = labels.iter().position(|&of_piece| of_piece == label);
                let mark = self.label(piece.expect("every label has a piece"));
                word[first] = self.letters.letter(mark, orientation);
            } else {
                word[first..][..usize::from(size)].rotate_right(orientation.into());
            }
        }
        word
    }

    /// How many orientations of a piece of the puzzle are told apart.
    pub fn shown(&self, piece: usize) -> u16 {
        match self.rings.spread()[piece] {
            (_, 1) => self.letters.seen(self.label(piece)).into(),
            (_, size) => size,
        }
    }

    /// Whether moves bring a piece of the puzzle, or one with its label, to a cell of the puzzle.
    pub fn comes_to(&self, piece: usize, cell: usize) -> bool {
        self.belongs(self.label(piece), self.rings.spread()[cell].0)
    }

    /// The label of a piece of the puzzle in words; on a ring, of its mark.
    fn label(&self, piece: usize) -> u8 {
        self.labels.of_pieces()[self.rings.spread()[piece].0]
    }

    /// Writes to `image` the state to which a move leads from the state `word`. Returns false, and may leave
    /// anything in `image`, if the move cannot be made there.
    #[inline]
    pub fn apply(&self, mv: usize, word: &[u8], image: &mut [u8]) -> bool {
        self.step(mv, &self.letters, word, image);
        let is_met = |asked: &WordGuard| {
            (self.letters.mark(word[usize::from(asked.cell)]) == asked.label) == asked.holds
        };
        self.moves[mv].guard.iter().all(is_met)
    }

    /// Whether there are moves that cannot be made in all states.
    pub fn is_guarded(&self) -> bool {
        self.moves.iter().any(|step| !step.guard.is_empty())
    }

    /// The order of the group of free moves: so many words are one state.
    pub fn free_order(&self) -> u32 {
        self.puzzle.free.len() as u32
    }

    /// All words of the state that has this word: what free moves make of it.
    pub fn words_of(&self, word: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        self.free.iter().map(|free| self.image(free, word))
    }

    /// What the free moves do to words, the identity first.
    pub(crate) fn free(&self) -> &[Symmetry] {
        &self.free
    }

    /// What a move does to words of any letters, labels or colours, its guard aside.
    #[inline]
    pub(crate) fn step(&self, mv: usize, letters: &Letters, word: &[u8], image: &mut [u8]) {
        let WordMove { cells, turns, .. } = &self.moves[mv];
        if turns.is_empty() {
            for (&to, &letter) in cells.iter().zip(word) {
                image[usize::from(to)] = letter;
            }
        } else {
            for ((&to, &letter), &turn) in cells.iter().zip(word).zip(turns) {
                image[usize::from(to)] = letters.turned(letter, turn);
            }
        }
    }

    /// The moves with free moves behind them, no two of which differ by a free move before: they lead to a
    /// word of a state from some word of each state before it. Without free moves, the moves.
    pub fn incoming_moves(&self) -> &[WordMove] {
        &self.incoming_moves
    }

    /// Writes to `source` the word from which an [arrival](Space::incoming_moves) leads to `word`.
    #[inline]
    pub(crate) fn step_back(&self, mv: usize, letters: &Letters, word: &[u8], source: &mut [u8]) {
        let step = &self.incoming_moves[mv];
        for (cell, &to) in step.cells.iter().enumerate() {
            let letter = word[usize::from(to)];
            source[cell] = match step.turn(cell) {
                0 => letter,
                turn => letters.turned(letter, self.orders[cell] as u8 - turn),
            };
        }
    }

    /// The symmetries of the puzzle that map labels to labels, the identity first. Classes are counted up to
    /// these.
    pub fn symmetries(&self) -> &[Symmetry] {
        &self.symmetries
    }

    /// How many symmetries there are of states: those that differ by a free move do the same.
    pub fn symmetry_order(&self) -> usize {
        self.symmetries.len() / self.puzzle.free.len()
    }

    /// The order of the group that the moves generate (Schreier-Sims).
    pub fn group_order(&self) -> &BigUint {
        self.group_order.get_or_init(|| group(&self.puzzle).big_order())
    }

    /// The number of states: the order of the group over the order of the subgroup that exchanges only pieces
    /// with equal labels.
    pub fn states(&self) -> &BigUint {
        &self.states
    }

    /// Whether the states are all even permutations of pieces that all differ.
    pub fn has_only_even_states(&self) -> bool {
        let factorial: BigUint = (1..=self.cells()).map(BigUint::from).product();
        self.letters.width() == 1 && self.labels.are_distinct() && self.group_order() * 2_u32 == factorial
    }

    /// Tells of a word with each label as often as it should be whether moves lead from the solved state to
    /// it; `None` unless all pieces are told apart and do not turn.
    pub fn membership(&self) -> Option<impl Fn(&[u8]) -> bool> {
        let chain = group(&self.puzzle);
        let is_member = move |word: &[u8]| {
            let images = word.iter().map(|&piece| u16::from(piece)).collect::<Vec<_>>();
            Permutation::from_images(images).is_ok_and(|element| chain.contains(&element))
        };
        (self.letters.width() == 1 && self.labels.are_distinct()).then_some(is_member)
    }

    /// Whether every free move but the identity changes every state: whether it moves, or turns, the cells on
    /// which some piece with a label of its own could stay.
    fn free_moves_are_free(&self) -> bool {
        let keeps = |free: &OrientedPermutation, cell: usize| {
            free.cells().apply(cell) == cell && free.turns()[cell] == 0
        };
        let changes_all = |free: &OrientedPermutation| {
            self.orbits.iter().any(|orbit| {
                let own = orbit.labels.iter().filter(|&&label| self.labels.sizes()[usize::from(label)] == 1);
                own.count() > orbit.cells.iter().filter(|&&cell| keeps(free, cell.into())).count()
            })
        };
        self.puzzle.free[1..].iter().all(changes_all)
    }
}

/// The group that the moves generate, on points.
fn group(puzzle: &Puzzle) -> StabiliserChain {
    let moves = puzzle.moves.iter().map(|m| &m.action);
    let generators: Vec<Permutation> = moves.chain(&puzzle.free).map(|action| action.as_points()).collect();
    let points = generators.first().map_or(puzzle.cells, Permutation::degree);
    StabiliserChain::new(points, &generators)
}

fn orbits(puzzle: &Puzzle, cells_of: Vec<Vec<usize>>, labels: &Labels) -> Box<[CellOrbit]> {
    let actions = puzzle.moves.iter().map(|m| &m.action).chain(&puzzle.free);
    let orbit = |cells: Vec<usize>| {
        let keeps_sum = actions.clone().all(|action| {
            let turns = cells.iter().map(|&cell| u32::from(action.turns()[cell])).sum::<u32>();
            turns.is_multiple_of(action.orders()[cells[0]].into())
        });
        CellOrbit {
            labels: cells.iter().map(|&cell| labels.of_pieces()[cell]).collect(),
            cells: cells.iter().map(|&cell| cell as u8).collect(),
            keeps_sum,
        }
    };
    cells_of.into_iter().map(orbit).collect()
}

fn bytes(permutation: &Permutation) -> Box<[u8]> {
    permutation.images().iter().map(|&i| u8::try_from(i).expect("spaces have at most 255 cells")).collect()
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
        // All permutations, and all necklaces of two, three and one.
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
