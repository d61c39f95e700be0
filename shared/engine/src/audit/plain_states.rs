//! States as plain words of pieces and orientations, and moves applied to them one by one.
//!
//! This module shares only the puzzle's moves with the search: no cosets, no numbering, no transforms, no
//! kernels.

use fathom_algebra::{OrientedPermutation, Permutation, StabiliserChain};
use fathom_puzzle::{Guard, Puzzle};
use fathom_space::{Cell, Labels};
use std::collections::HashSet;
use std::sync::OnceLock;

/// With more cells than this, only groups of up to [`MAX_ELEMENTS`] elements are computed.
const MAX_CELLS: usize = 255;
const MAX_ELEMENTS: u128 = 1 << 64;

/// The label and the orientation of the piece on each cell of the puzzle.
pub(super) type State = Box<[(u16, u8)]>;

/// A puzzle with labelled pieces: what is needed to apply moves to states and to distinguish states.
#[derive(Debug)]
pub(super) struct Plain {
    /// The label of each piece.
    labels: Vec<u16>,
    /// By label: the number of orientations that are distinguished.
    seen: Vec<u16>,
    moves: Vec<(Action, Box<[Guard]>)>,
    /// The free moves, the identity first.
    free: Vec<Action>,
    /// The moves and free moves, acting on points. A point is one orientation on one cell.
    generators: Vec<Permutation>,
    /// The group of `generators`, once it was requested. `None` if there are too many cells for the chain of
    /// so large a group.
    group: OnceLock<Option<StabiliserChain>>,
    points: Vec<(Cell, u16)>,
    /// Whether the elements of the group and the words of states correspond one to one.
    is_faithful: bool,
    /// All words of all start states.
    solved: HashSet<State>,
}

/// The action of a move on states, cell by cell: the target cell, and the turn.
#[derive(Debug)]
struct Action {
    to: Vec<Cell>,
    turns: Vec<u16>,
}

impl Action {
    fn new(action: &OrientedPermutation) -> Self {
        Self { to: action.cells().images().to_vec(), turns: action.turns().to_vec() }
    }
}

impl Plain {
    /// Prepares a puzzle with labels, which differ for pieces that their cells distinguish.
    pub(super) fn new(puzzle: &Puzzle, piece_labels: &Labels) -> Self {
        let labels = piece_labels.of_pieces().to_vec();
        let mut seen = vec![1; labels.iter().map(|&label| usize::from(label) + 1).max().unwrap_or(0)];
        for (&label, &shown) in labels.iter().zip(&puzzle.seen) {
            seen[usize::from(label)] = shown;
        }
        let actions = || puzzle.moves.iter().map(|mv| &mv.action).chain(&puzzle.free);
        let generators: Vec<Permutation> = actions().map(OrientedPermutation::as_points).collect();
        let orders = puzzle.free[0].orientation_counts();
        let points: Vec<(Cell, u16)> = orders
            .iter()
            .zip(0..)
            .flat_map(|(&order, cell)| (0..order).map(move |turn| (cell, turn)))
            .collect();
        let mut plain = Self {
            is_faithful: piece_labels.are_distinct()
                && puzzle.seen.iter().eq(orders)
                && puzzle.moves.iter().all(|mv| mv.guard.is_empty()),
            generators,
            group: OnceLock::new(),
            moves: puzzle.moves.iter().map(|mv| (Action::new(&mv.action), mv.guard.clone())).collect(),
            free: puzzle.free.iter().map(Action::new).collect(),
            labels,
            seen,
            points,
            solved: HashSet::new(),
        };
        let solved: State = plain.labels.iter().map(|&label| (label, 0)).collect();
        let actions = |elements: &[OrientedPermutation]| elements.iter().map(Action::new).collect::<Vec<_>>();
        let by = actions(&puzzle.starts.by);
        let mut open: Vec<State> = match &puzzle.starts.states[..] {
            [] => vec![solved],
            states => actions(states).iter().map(|start| plain.after(start, &solved)).collect(),
        };
        let mut starts = HashSet::new();
        while let Some(start) = open.pop() {
            if !starts.contains(&start) {
                open.extend(by.iter().map(|by| plain.after(by, &start)));
                starts.insert(start);
            }
        }
        plain.solved = starts.iter().flat_map(|start| plain.words_of(start).collect::<Vec<_>>()).collect();
        plain
    }

    /// Returns the number of cells.
    pub(super) fn cells(&self) -> usize {
        self.labels.len()
    }

    /// Returns whether some moves have guards.
    pub(super) fn is_guarded(&self) -> bool {
        self.moves.iter().any(|(_, guard)| !guard.is_empty())
    }

    /// Returns the least word of each start state.
    pub(super) fn starts(&self) -> HashSet<State> {
        self.solved.iter().map(|word| self.least_word(word)).collect()
    }

    /// Returns whether a word is a word of a start state.
    pub(super) fn is_solved(&self, state: &State) -> bool {
        self.solved.contains(state)
    }

    /// Returns the group of moves and free moves if its elements and the words of states correspond one to
    /// one.
    pub(super) fn faithful_group(&self) -> Option<&StabiliserChain> {
        self.chain().filter(|_| self.is_faithful)
    }

    /// Returns the group of moves and free moves, whose elements map the solved state to every state.
    /// `None` if moves have guards, or there are too many cells for so large a group.
    pub(super) fn group(&self) -> Option<&StabiliserChain> {
        self.chain().filter(|_| !self.is_guarded())
    }

    /// Returns the reason why there is no [`group`](Self::group), if there is none.
    pub(super) fn why_no_group(&self) -> Option<&'static str> {
        match (self.is_guarded(), self.group()) {
            (true, _) => Some("moves have guards, so not every element of the group is a state"),
            (false, None) => Some("the group is too large, on too many cells, to draw elements from it"),
            (false, Some(_)) => None,
        }
    }

    fn chain(&self) -> Option<&StabiliserChain> {
        let chain = || match self.labels.len() > MAX_CELLS {
            true => StabiliserChain::up_to(MAX_ELEMENTS, self.points.len(), &self.generators),
            false => Some(StabiliserChain::new(self.points.len(), &self.generators)),
        };
        self.group.get_or_init(chain).as_ref()
    }

    /// Returns the word to which an element of the group maps the solved state.
    pub(super) fn word(&self, element: &Permutation) -> State {
        let mut word = vec![(0, 0); self.labels.len()];
        for (point, &(piece, turn)) in self.points.iter().enumerate() {
            if turn == 0 {
                let (cell, turn) = self.points[element.apply(point)];
                let label = self.labels[usize::from(piece)];
                word[usize::from(cell)] = (label, (turn % self.seen[usize::from(label)]) as u8);
            }
        }
        word.into()
    }

    /// Returns all words of a state, given one of them: its images under free moves.
    pub(super) fn words_of(&self, word: &State) -> impl Iterator<Item = State> {
        self.free.iter().map(|free| self.after(free, word))
    }

    /// Returns the least word of a state, given one of them.
    pub(super) fn least_word(&self, word: &State) -> State {
        self.words_of(word).min().expect("the identity is a free move")
    }

    /// Returns the number of words of each state.
    pub(super) fn words_of_each(&self) -> u64 {
        self.free.len() as u64
    }

    /// Returns the number of predecessors and successors of a state, each counted as often as moves lead
    /// there, if no move has a guard.
    pub(super) fn neighbours(&self) -> usize {
        self.moves.len() * (self.free.len() + 1)
    }

    /// Returns one word of each state to which a move leads.
    pub(super) fn successors(&self, word: &State) -> impl Iterator<Item = State> {
        let may = self.moves.iter().filter(|(_, guard)| self.allows(guard, word));
        may.map(|(action, _)| self.after(action, word))
    }

    /// Returns one word of each state from which a move leads to the state of `word`.
    pub(super) fn predecessors(&self, word: &State) -> Vec<State> {
        let words: Vec<State> = self.words_of(word).collect();
        let back = words.iter().flat_map(|word| {
            let sources = self.moves.iter().map(|(action, guard)| (self.before(action, word), guard));
            sources.filter(|(source, guard)| self.allows(guard, source)).map(|(source, _)| source)
        });
        back.collect()
    }

    /// Returns all words of all states, as the closure of the solved state under moves and free moves.
    pub(super) fn close(&self) -> Vec<State> {
        let mut seen = self.solved.clone();
        let mut open: Vec<State> = self.solved.iter().cloned().collect();
        while let Some(word) = open.pop() {
            for image in self.successors(&word).flat_map(|image| self.words_of(&image).collect::<Vec<_>>()) {
                if !seen.contains(&image) {
                    open.push(image.clone());
                    seen.insert(image);
                }
            }
        }
        seen.into_iter().collect()
    }

    /// Formats a word: for each cell the label, followed by `+` and the orientation if that is not
    /// 0.
    pub(super) fn written(word: &State) -> String {
        let cell = |&(label, turn): &(u16, u8)| match turn {
            0 => label.to_string(),
            turn => format!("{label}+{turn}"),
        };
        word.iter().map(cell).collect::<Vec<_>>().join(" ")
    }

    fn after(&self, action: &Action, word: &State) -> State {
        let mut image = word.clone();
        for ((&to, &by), &(label, turn)) in action.to.iter().zip(&action.turns).zip(word) {
            let seen = self.seen[usize::from(label)];
            image[usize::from(to)] = (label, ((u16::from(turn) + by % seen) % seen) as u8);
        }
        image
    }

    fn before(&self, action: &Action, word: &State) -> State {
        let cells = action.to.iter().zip(&action.turns).map(|(&to, &by)| {
            let (label, turn) = word[usize::from(to)];
            let seen = self.seen[usize::from(label)];
            (label, ((u16::from(turn) + seen - by % seen) % seen) as u8)
        });
        cells.collect()
    }

    fn allows(&self, guard: &[Guard], word: &State) -> bool {
        let is_there =
            |asked: &Guard| word[usize::from(asked.cell)].0 == self.labels[usize::from(asked.piece)];
        guard.iter().all(|asked| is_there(asked) == asked.holds)
    }
}
