//! Any puzzle as words, from its definition alone: also those that are too large for a run, and move sets without inverses.
//!
//! A state shows a label at each point, a point being a way to stand on a cell. What the first point of a cell shows tells what
//! its others show, for a turn moves all of them alike; so a word has one letter a cell. Where a move brings the k-th point of a cell
//! to the first one of another, the letter there becomes the k-th one after what it was.

use super::walk::Walk;
use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Definition, DefinitionError, Generator, Metric, Piece, Source};
use fathom_run::Question;

/// The largest number of points. Groups on more take too long to look at.
const MOST_POINTS: usize = 512;
/// Letters are bytes.
const MOST_LETTERS: usize = 256;

/// A puzzle under a metric, with labels, as words.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) source: Source,
    metric: Metric,
    pub(super) definition: Definition,
    pub(super) moves: Vec<Generator>,
    /// The label at each point when the puzzle is solved.
    pub(super) labels: Vec<u16>,
    /// The first point of each cell.
    pub(super) first: Vec<usize>,
    /// By k and letter: the letter that the k-th next point shows.
    next: Vec<Vec<u8>>,
    solved: Box<[u8]>,
    forward: Vec<Step>,
    backward: Vec<Step>,
}

/// What a move does to words, or what undoes it.
#[derive(Clone, Debug)]
struct Step {
    /// For each cell the cell from which its piece comes, and which of that cell's points comes to be the first one.
    from: Box<[(u8, u16)]>,
    /// Cells with the letters, one of which must be there. The move leaves these cells as they are.
    guard: Box<[(u8, Box<[u8]>)]>,
}

/// Why states of a puzzle cannot be solved here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Moves that cost nothing.
    #[error("{puzzle} has moves that cost nothing ({moves}), with which states are not solved yet")]
    Free {
        /// The puzzle.
        puzzle: String,
        /// Their names.
        moves: String,
    },
    /// Too many points or letters.
    #[error(
        "{puzzle} has {points} points, which show {letters} different things: states of puzzles with up to {MOST_POINTS} points and {MOST_LETTERS} things to be seen are solved"
    )]
    TooLarge {
        /// The puzzle.
        puzzle: String,
        /// Its points.
        points: usize,
        /// Its letters.
        letters: usize,
    },
    /// Too many moves, or labels that do not fit.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

impl Model {
    /// Of the puzzle, metric and labels that are asked for.
    ///
    /// # Errors
    /// [`ModelError`] if states of it are not solved here.
    pub fn new(question: &Question) -> Result<Self, ModelError> {
        let source = question.source.clone();
        let mut definition = source.definition(question.metric)?;
        let puzzle = definition.name().to_owned();
        if !definition.free().is_empty() {
            let moves: Vec<&str> = definition.free().iter().map(|free| free.name.as_str()).collect();
            return Err(ModelError::Free { puzzle, moves: moves.join(" ") });
        }
        let labelled = definition.solved().iter().zip(question.labels.of_pieces());
        let solved: Vec<Piece> =
            labelled.map(|(&piece, &label)| Piece { label: label.into(), ..piece }).collect();
        definition.set_solved(&solved)?;
        let moves = definition.generators(definition.metric())?;
        let (labels, orders) = (definition.point_labels(), definition.orders());
        let (points, letters) =
            (labels.len(), labels.iter().max().map_or(0, |&label| usize::from(label) + 1));
        if points > MOST_POINTS || letters > MOST_LETTERS {
            return Err(ModelError::TooLarge { puzzle, points, letters });
        }
        let first: Vec<usize> = orders
            .iter()
            .scan(0, |next, &order| Some(std::mem::replace(next, *next + usize::from(order))))
            .collect();
        let mut next = vec![vec![0; letters]; orders.iter().copied().max().map_or(0, usize::from)];
        for (&first, &order) in first.iter().zip(&orders) {
            let shown = &labels[first..][..order.into()];
            for (k, next) in next.iter_mut().enumerate() {
                for (i, &label) in shown.iter().enumerate() {
                    next[usize::from(label)] = shown[(i + k) % shown.len()] as u8;
                }
            }
        }
        let mut model = Self {
            source,
            metric: question.metric,
            definition,
            labels,
            first,
            next,
            solved: Box::default(),
            forward: Vec::new(),
            backward: Vec::new(),
            moves,
        };
        model.solved = model.word(&OrientedPermutation::identity(orders)).into();
        let steps = model.moves.iter().map(|m| {
            let action = m.action.as_points();
            (model.step(&action, &m.guard), model.step(&action.inverse(), &m.guard))
        });
        let (forward, backward): (Vec<_>, Vec<_>) = steps.unzip();
        (model.forward, model.backward) = (forward, backward);
        Ok(model)
    }

    /// What a permutation of points brings to the first point of each cell.
    fn step(&self, action: &Permutation, guard: &[u16]) -> Step {
        let inverse = action.inverse();
        let from = |&first: &usize| {
            let point = inverse.apply(first);
            let cell = self.first.partition_point(|&first| first <= point) - 1;
            (cell as u8, (point - self.first[cell]) as u16)
        };
        let guarded = |&cell: &u16| {
            let points = self.first[usize::from(cell)]..;
            let order = self.definition.orders()[usize::from(cell)];
            let letters = self.labels[points][..order.into()].iter().map(|&label| label as u8);
            (cell as u8, letters.collect())
        };
        Step { from: self.first.iter().map(from).collect(), guard: guard.iter().map(guarded).collect() }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        self.definition.name()
    }

    /// The metric that was asked for.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The moves, by whose order solutions are ordered.
    pub fn moves(&self) -> &[Generator] {
        &self.moves
    }

    /// Whether pieces have orientations.
    pub fn has_orientations(&self) -> bool {
        self.definition.orders().iter().any(|&order| order > 1)
    }

    /// The state, as a word, to which an element leads from the solved one.
    pub fn word(&self, element: &OrientedPermutation) -> Vec<u8> {
        let inverse = element.as_points().inverse();
        self.first.iter().map(|&first| self.labels[inverse.apply(first)] as u8).collect()
    }

    /// The element that moves make, one after the other.
    ///
    /// # Panics
    /// If there is no move of such a number.
    pub fn product(&self, moves: &[usize]) -> OrientedPermutation {
        let identity = OrientedPermutation::identity(self.definition.orders());
        moves.iter().fold(identity, |product, &mv| product.then(&self.moves[mv].action))
    }

    /// The same element where the orientations of pieces count from those that they have when solved, as words of a space do.
    pub fn from_solved(&self, element: &OrientedPermutation) -> OrientedPermutation {
        let solved = self.definition.solved();
        let turn = |(piece, &turn): (usize, &u16)| {
            let order = element.orders()[piece];
            let to = element.cells().apply(piece);
            (turn + solved[piece].orientation + (order - solved[to].orientation)) % order
        };
        let turns: Vec<u16> = element.turns().iter().enumerate().map(turn).collect();
        OrientedPermutation::new(element.cells().clone(), turns, element.orders())
            .expect("turns are below the orders")
    }

    /// Whether moves solve the state to which an element leads, by the elements themselves: this shares nothing with a search
    /// but what guards ask for.
    pub fn solves(&self, element: &OrientedPermutation, moves: &[usize]) -> bool {
        let mut state = element.clone();
        for &mv in moves {
            if !self.forward[mv].may(&self.word(&state)) {
                return false;
            }
            state = state.then(&self.moves[mv].action);
        }
        let labels = |point: usize| self.labels[point];
        let end = state.as_points();
        (0..self.labels.len()).all(|point| labels(point) == labels(end.apply(point)))
    }

    /// Moves as people write them; none at all as `()`.
    pub fn written(&self, moves: &[usize]) -> String {
        match moves {
            [] => "()".into(),
            _ => moves.iter().map(|&mv| self.moves[mv].name.as_str()).collect::<Vec<_>>().join(" "),
        }
    }

    fn take(&self, step: &Step, word: &[u8], image: &mut [u8]) -> bool {
        for (letter, &(from, k)) in image.iter_mut().zip(&step.from) {
            *letter = self.next[usize::from(k)][usize::from(word[usize::from(from)])];
        }
        step.may(word)
    }
}

impl Step {
    fn may(&self, word: &[u8]) -> bool {
        self.guard.iter().all(|(cell, letters)| letters.contains(&word[usize::from(*cell)]))
    }
}

impl Walk for Model {
    fn moves(&self) -> usize {
        self.moves.len()
    }

    fn solved(&self) -> &[u8] {
        &self.solved
    }

    fn apply(&self, mv: usize, word: &[u8], image: &mut [u8]) -> bool {
        self.take(&self.forward[mv], word, image)
    }

    fn undo(&self, mv: usize, word: &[u8], source: &mut [u8]) -> bool {
        self.take(&self.backward[mv], word, source)
    }
}
