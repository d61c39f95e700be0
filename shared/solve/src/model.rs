//! Any puzzle as words with moves between them, derived only from its definition. This includes puzzles that
//! are too large for a run, move sets without inverses, and puzzles with free moves.
//!
//! With free moves a state has several words, one for each free move. The smallest word represents the state
//! where states are stored and compared. A solution starts from the given word, so that it can be
//! carried out as written.

use super::alphabet::{Alphabet, MAX_LETTERS, WordMap};
use super::moves::{Move, distinct};
use super::square1::SquareOne;
use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_engine::run::SpaceSpec;
use fathom_puzzle::definition::FreeGroup;
use fathom_puzzle::family::sliding::Sliding;
use fathom_puzzle::family::square1::in_all_shapes;
use fathom_puzzle::{Definition, DefinitionError, Generator, Metric, Piece, PuzzleSpec, state_text};
use fathom_space::Base;
use std::collections::HashMap;

/// The maximum number of points if all pieces have letters. With more, the group computations of `why_not`
/// take too long.
pub(super) const MAX_POINTS: usize = 512;

/// A puzzle with a metric and labels, as words and moves.
#[derive(Clone, Debug)]
pub struct SolveModel {
    pub(super) source: PuzzleSpec,
    metric: Metric,
    pub(super) definition: Definition,
    pub(super) generators: Vec<Generator>,
    pub(super) free: FreeGroup,
    /// If there are more pieces than letters, the base whose images identify a state.
    pub(super) alphabet: Alphabet,
    pub(super) told: Option<Base>,
    /// The label at each point when the puzzle is solved, with distinct pieces kept distinct.
    pub(super) shown: Vec<u16>,
    pub(super) square1: Option<SquareOne>,
    /// The board, if the puzzle has sliding tiles, whose states have a form of their own.
    pub(super) sliding: Option<Sliding>,
    solved: Box<[u8]>,
    moves: Vec<Move>,
    ways_back: Vec<WordMap>,
    /// The effects of the free moves on words, the identity first.
    words_of: Vec<WordMap>,
}

/// Makes elements that lead from the solved state to the states of words, one after another.
#[derive(Clone, Debug)]
pub struct Elements {
    /// By letter: the label of the piece, and its turn.
    letters: Vec<Option<(u16, u16)>>,
    /// By label: the pieces, the first one last.
    alike: Vec<Vec<usize>>,
    orientation_counts: Vec<u16>,
}

impl Elements {
    /// Returns an element that leads to a state with this word. Of pieces that look alike, those with smaller numbers are
    /// on the first cells.
    ///
    /// # Panics
    /// If `word` is not a word of the puzzle's pieces.
    pub fn of(&self, word: &[u8]) -> OrientedPermutation {
        let mut left: Vec<&[usize]> = self.alike.iter().map(Vec::as_slice).collect();
        let (mut images, mut turns) = (vec![0; word.len()], vec![0; word.len()]);
        for (cell, &letter) in word.iter().enumerate() {
            let (label, turn) = self.letters[usize::from(letter)].expect("a piece has the letter");
            let of_label = &mut left[usize::from(label)];
            let (&piece, others) = of_label.split_last().expect("a piece is left");
            *of_label = others;
            (images[piece], turns[piece]) = (cell, turn);
        }
        let cells = Permutation::from_fn(word.len(), |piece| images[piece]);
        OrientedPermutation::new(cells, turns, &*self.orientation_counts)
            .expect("pieces are on cells of their orbits")
    }
}

/// Why states of a puzzle cannot be solved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The puzzle has too many points or letters.
    #[error(
        "{puzzle} is too large to solve: it has {points} points with {letters} distinct labels, and the limits are {MAX_POINTS} points and {MAX_LETTERS} labels, except for puzzles with few states"
    )]
    TooLarge {
        /// The name of the puzzle.
        puzzle: String,
        /// The number of its points.
        points: usize,
        /// The number of its letters.
        letters: usize,
    },
    /// There are too many moves or free moves, or the labels do not fit.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

impl SolveModel {
    /// Creates the model of a puzzle with a metric and labels.
    ///
    /// # Errors
    /// [`ModelError`] if the puzzle is too large, or the labels do not fit it.
    pub fn new(question: &SpaceSpec) -> Result<Self, ModelError> {
        let source = question.source.clone();
        let mut definition = source.definition(question.metric)?;
        definition.require_not_listed()?;
        // Reject whatever a search rejects.
        definition.generators(definition.metric())?;
        // Pieces of different orbits never share cells, whatever their labels, and pieces that show different
        // numbers of orientations do not look alike.
        let kinds =
            (0..).zip(definition.solved()).map(|(cell, piece)| (definition.orbit_of(cell), piece.seen));
        let mut numbers = HashMap::new();
        let labels = question.labels.of_pieces().iter().zip(kinds).map(|label| {
            let next = numbers.len() as u16;
            *numbers.entry(label).or_insert(next)
        });
        let labelled = definition.solved().iter().zip(labels);
        let solved: Vec<Piece> = labelled.map(|(&piece, label)| Piece { label, ..piece }).collect();
        definition.set_solved(&solved)?;
        let square1 = SquareOne::new(&definition);
        let sliding = state_text::sliding(&source);
        // If Square-1 has all its turns, some shortest path between states with the required cells passes
        // only through such states. So the requirement can be dropped, and states of other shapes are solved
        // too.
        if square1.is_some() && definition.moves().len() == in_all_shapes().moves().len() {
            definition.set_always(&[])?;
        }
        let shown = definition.point_labels();
        let (points, letters) = (shown.len(), shown.iter().max().map_or(0, |&label| usize::from(label) + 1));
        let alphabet = Some(&definition).filter(|_| points <= MAX_POINTS).and_then(Alphabet::new);
        let told = match alphabet {
            None if question.labels.are_distinct() => {
                source.puzzle(question.metric).ok().and_then(|puzzle| Base::find(&puzzle))
            }
            _ => None,
        };
        let of_told = || {
            let mut some = definition.clone();
            some.set_solved(&pieces_told(&definition, told.as_ref()?)).ok()?;
            Alphabet::new(&some)
        };
        let alphabet = alphabet.or_else(of_told);
        let alphabet = alphabet.ok_or_else(|| ModelError::TooLarge {
            puzzle: definition.name().into(),
            points,
            letters,
        })?;
        let (generators, free) = (definition.generators(definition.metric())?, definition.free_group()?);
        let back =
            |generator: &Generator| Generator { action: generator.action.inverse(), ..generator.clone() };
        let back: Vec<Generator> = generators.iter().map(back).collect();
        let limits = |action: &OrientedPermutation| definition.limits(action).collect();
        Ok(Self {
            source,
            metric: question.metric,
            solved: alphabet.word(&OrientedPermutation::identity(definition.orientation_counts())).into(),
            moves: distinct(&alphabet, &generators, &free, limits)?,
            ways_back: distinct(&alphabet, &back, &free, limits)?.into_iter().map(|back| back.step).collect(),
            square1,
            sliding,
            words_of: free.elements().iter().map(|free| alphabet.step(&free.as_points(), [])).collect(),
            definition,
            generators,
            free,
            alphabet,
            told,
            shown,
        })
    }

    /// Returns whether the states of the model are those of a run, and no others. Square-1 is solved in all shapes, while a run has only
    /// states that can be twisted.
    pub fn has_states_of_runs(&self) -> bool {
        self.square1.is_none()
    }

    /// Returns the definition of the puzzle, with labels by orbit.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Returns the puzzle.
    pub fn source(&self) -> &PuzzleSpec {
        &self.source
    }

    /// Returns the name of the puzzle.
    pub fn name(&self) -> &str {
        self.definition.name()
    }

    /// Returns by letter a piece and a turn that have the letter; `None` for letters that no piece has.
    pub fn pieces_of_letters(&self) -> Vec<Option<(u16, u16)>> {
        let mut pieces = vec![None; MAX_LETTERS + 1];
        for (piece, &count) in self.definition.orientation_counts().iter().enumerate() {
            for turn in 0..count {
                let letter = usize::from(self.alphabet.letter(piece, turn));
                pieces[letter] = pieces[letter].or(Some((piece as u16, turn)));
            }
        }
        pieces
    }

    /// Returns what makes elements of words.
    pub fn elements(&self) -> Elements {
        let label = |piece: usize| self.definition.solved()[piece].label;
        let cells = self.definition.cells();
        let mut alike = vec![Vec::new(); cells];
        (0..cells).rev().for_each(|piece| alike[usize::from(label(piece))].push(piece));
        let of_letter = |piece: Option<(u16, u16)>| piece.map(|(piece, turn)| (label(piece.into()), turn));
        Elements {
            letters: self.pieces_of_letters().into_iter().map(of_letter).collect(),
            alike,
            orientation_counts: self.definition.orientation_counts(),
        }
    }

    /// Returns the metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Returns the moves, whose order is the order of solutions: first the generators, then the moves that
    /// need a free move before them.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Returns the group of the free moves.
    pub fn free(&self) -> &FreeGroup {
        &self.free
    }

    /// Returns whether pieces have orientations.
    pub fn has_orientations(&self) -> bool {
        self.definition.orientation_counts().iter().any(|&order| order > 1)
    }

    /// Returns the word of the solved state.
    pub fn solved(&self) -> &[u8] {
        &self.solved
    }

    /// Returns the word to which an element leads from the word of the solved state.
    pub fn word(&self, element: &OrientedPermutation) -> Vec<u8> {
        self.alphabet.word(element)
    }

    /// Writes to `image` the word after move `mv`. Returns false, without writing, if the move is not used in
    /// `word`.
    pub fn apply(&self, mv: usize, word: &[u8], image: &mut [u8]) -> bool {
        let mv = &self.moves[mv];
        let may = mv.may(word, &self.moves);
        if may {
            self.alphabet.take(&mv.step, word, image);
        }
        may
    }

    /// Returns the number of predecessor moves. From any word of a state, those that are possible lead to
    /// words of all its predecessors.
    pub fn ways_back(&self) -> usize {
        self.ways_back.len()
    }

    /// Writes to `source` the word after a predecessor move. Returns false, without writing, if the move is
    /// not possible from `word`.
    pub fn undo(&self, way: usize, word: &[u8], source: &mut [u8]) -> bool {
        let way = &self.ways_back[way];
        let may = way.may(word);
        if may {
            self.alphabet.take(way, word, source);
        }
        may
    }

    /// Writes to `smallest` the smallest word of the state that has this word.
    pub fn reduce(&self, word: &[u8], smallest: &mut [u8]) {
        smallest.copy_from_slice(word);
        for free in &self.words_of[1..] {
            let letters = (0..word.len()).map(|cell| self.alphabet.after(free, word, cell));
            // Most words differ in one of the first letters, so the comparison is short.
            let differ = letters.zip(&*smallest).find(|(letter, least)| letter != *least);
            if differ.is_some_and(|(letter, &least)| letter < least) {
                self.alphabet.take(free, word, smallest);
            }
        }
    }

    /// Returns the smallest word of the state that has this word.
    pub fn reduced(&self, word: &[u8]) -> Vec<u8> {
        let mut smallest = word.to_vec();
        self.reduce(word, &mut smallest);
        smallest
    }

    /// Returns the index of the first free move that turns the word `from` into `to`.
    pub fn free_between(&self, from: &[u8], to: &[u8]) -> Option<usize> {
        let leads =
            |free: &WordMap| (0..to.len()).all(|cell| self.alphabet.after(free, from, cell) == to[cell]);
        self.words_of.iter().position(leads)
    }

    /// Returns the product of moves, from left to right.
    ///
    /// # Panics
    /// If a move's number is out of range.
    pub fn product(&self, moves: &[usize]) -> OrientedPermutation {
        let identity = OrientedPermutation::identity(self.definition.orientation_counts());
        moves.iter().fold(identity, |product, &mv| product.then(&self.moves[mv].action))
    }

    /// Applies moves to the state to which an element leads, and returns the resulting element; `None` if a
    /// guard forbids one of the moves. Computes with elements instead of words, so that the result checks a
    /// search independently; only the guards are shared.
    pub fn carry_out(&self, element: &OrientedPermutation, moves: &[usize]) -> Option<OrientedPermutation> {
        moves.iter().try_fold(element.clone(), |state, &mv| {
            let Move { step, action, .. } = &self.moves[mv];
            step.may(&self.word(&state)).then(|| state.then(action))
        })
    }

    /// Returns whether moves lead from the state of one element to that of another, up to free moves, when
    /// they are [carried out](SolveModel::carry_out).
    pub fn leads(&self, from: &OrientedPermutation, to: &OrientedPermutation, moves: &[usize]) -> bool {
        let (labels, back) = (&self.shown, to.inverse());
        let is_there = |end: &OrientedPermutation| {
            let end = end.then(&back).as_points();
            (0..labels.len()).all(|point| labels[point] == labels[end.apply(point)])
        };
        let end = self.carry_out(from, moves);
        end.is_some_and(|end| self.free.elements().iter().any(|free| is_there(&end.then(free))))
    }

    /// Returns whether moves solve the state to which an element leads, up to free moves.
    pub fn solves(&self, element: &OrientedPermutation, moves: &[usize]) -> bool {
        self.leads(element, &self.product(&[]), moves)
    }

    /// Returns whether the states are the elements of a group, up to free moves: all pieces and orientations
    /// are visible, and every move is always possible. Then as many moves lead from one state to another as
    /// from the first, followed by the inverse of the second, to the solved one.
    pub fn is_group(&self) -> bool {
        let mut shown = self.shown.clone();
        shown.sort_unstable();
        shown.dedup();
        let is_unguarded = self.moves.iter().all(|mv| mv.step.guard.is_empty());
        shown.len() == self.shown.len() && is_unguarded && !self.definition.is_limited()
    }

    /// Writes moves as text, each after the free move that it needs; no moves at all are `()`. If any move of
    /// the puzzle needs a free move, the free move with index `behind` follows at the end. Otherwise the free
    /// moves change only how the puzzle is held, and are not written.
    pub fn written(&self, moves: &[usize], behind: usize) -> String {
        let behind = if self.moves.iter().any(|mv| mv.before != 0) { behind } else { 0 };
        if let Some(square1) = self.square1.as_ref().filter(|_| !self.definition.free().is_empty()) {
            let free = |number: usize| &self.free.elements()[number];
            let made = moves.iter().flat_map(|&mv| {
                let Move { before, generator, .. } = self.moves[mv];
                [free(before), &self.generators[generator].action]
            });
            return square1.written(made.chain([free(behind)]));
        }
        let made = moves.iter().map(|&mv| {
            let Move { before, generator, .. } = self.moves[mv];
            format!("{}{}", self.free.names()[before], self.generators[generator].name)
        });
        let behind = self.free.names()[behind].trim_end().to_owned();
        let words: Vec<String> = made.chain([behind]).filter(|word| !word.is_empty()).collect();
        if words.is_empty() { "()".into() } else { words.join(" ") }
    }
}

/// Returns the solved pieces if only those of the base are distinguished: the others of an orbit look alike
/// and hide their orientations.
fn pieces_told(definition: &Definition, told: &Base) -> Vec<Piece> {
    // The first such piece of each orbit of moves gives them its label.
    let first =
        |piece: usize| (0..=piece).find(|&other| !told.is_told(other) && told.are_in_one_orbit(other, piece));
    let piece = |(number, &solved): (usize, &Piece)| match told.is_told(number) {
        true => solved,
        false => {
            let alike = first(number).expect("the piece itself, if no other");
            Piece { label: definition.solved()[alike].label, orientation: 0, seen: 1 }
        }
    };
    definition.solved().iter().enumerate().map(piece).collect()
}
