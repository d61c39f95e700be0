//! States as words, derived only from the definition, so that they exist for puzzles too large for a run.
//!
//! A point is a cell together with an orientation, and a state shows a label at each point. The label at the
//! first point of a cell determines the labels at the other points, because a turn moves all of them alike,
//! so a word has one letter per cell. Where a move brings the k-th point of a cell to the first point of
//! another, the letter there becomes the k-th successor of the old letter.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Definition, Guard};

/// The letters on the cells of a puzzle, and how turns change them.
#[derive(Clone, Debug)]
pub struct Alphabet {
    /// The label at each point when the puzzle is solved.
    pub(super) labels: Vec<u16>,
    /// The first point of each cell.
    pub(super) first: Vec<usize>,
    /// The number of points of each cell.
    orientation_counts: Vec<u16>,
    /// The number of points of each cell after which the labels repeat, whatever piece is there.
    periods: Vec<u16>,
    /// The letter at the k-th next point of a cell, by k and the letter at the first point.
    next: Vec<Vec<u8>>,
}

/// Letters are bytes.
pub(super) const MAX_LETTERS: usize = 256;

/// The effect of an action on words, and the condition under which the action is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordMap {
    /// For each cell, the cell from which its piece comes, and the point of that cell which becomes the
    /// first point here.
    pub(super) from: Box<[(u16, u16)]>,
    /// Pairs of a cell and the letters allowed there.
    pub(super) guard: Box<[(u16, Box<[u8]>)]>,
}

impl WordMap {
    /// Returns whether the guard holds in the state `word`.
    #[inline]
    pub fn may(&self, word: &[u8]) -> bool {
        self.guard.iter().all(|(cell, letters)| letters.contains(&word[usize::from(*cell)]))
    }
}

impl Alphabet {
    /// Creates the alphabet of a puzzle; `None` if the puzzle has more than `MAX_LETTERS` letters.
    pub fn new(definition: &Definition) -> Option<Self> {
        let (labels, orientation_counts) = (definition.point_labels(), definition.orientation_counts());
        let letters = labels.iter().max().map_or(0, |&label| usize::from(label) + 1);
        if letters > MAX_LETTERS {
            return None;
        }
        let first: Vec<usize> = orientation_counts
            .iter()
            .scan(0, |next, &order| Some(std::mem::replace(next, *next + usize::from(order))))
            .collect();
        let mut next =
            vec![vec![0; letters]; orientation_counts.iter().copied().max().map_or(0, usize::from)];
        for (&first, &order) in first.iter().zip(&orientation_counts) {
            let shown = &labels[first..][..order.into()];
            for (k, next) in next.iter_mut().enumerate() {
                for (i, &label) in shown.iter().enumerate() {
                    next[usize::from(label)] = shown[(i + k) % shown.len()] as u8;
                }
            }
        }
        Some(Self {
            labels,
            first,
            orientation_counts,
            periods: definition.visible_orientation_counts(),
            next,
        })
    }

    /// Returns the word of the state to which an element leads from the solved state.
    pub fn word(&self, element: &OrientedPermutation) -> Vec<u8> {
        let inverse = element.inverse();
        let letter = |cell| {
            let (piece, orientation) = inverse.apply(cell, 0);
            self.labels[self.first[piece] + usize::from(orientation)] as u8
        };
        (0..self.first.len()).map(letter).collect()
    }

    /// Returns the effect of an action on words. Actions that differ in nothing visible have equal effects.
    /// The action is possible where all of `guard` holds, whatever the orientations.
    pub fn step(&self, action: &Permutation, guard: impl IntoIterator<Item = Guard>) -> WordMap {
        let inverse = action.inverse();
        let from = |&first: &usize| {
            let point = inverse.apply(first);
            let cell = self.cell_of(point);
            (cell as u16, (point - self.first[cell]) as u16 % self.periods[cell])
        };
        let guarded = |Guard { cell, piece, holds }: Guard| {
            let piece = usize::from(piece);
            let shown = &self.labels[self.first[piece]..][..self.orientation_counts[piece].into()];
            let letters = (0..self.next[0].len() as u16).filter(|letter| shown.contains(letter) == holds);
            (cell, letters.map(|letter| letter as u8).collect())
        };
        let mut guard: Vec<(u16, Box<[u8]>)> = guard.into_iter().map(guarded).collect();
        guard.sort_unstable();
        WordMap { from: self.first.iter().map(from).collect(), guard: guard.into() }
    }

    /// Returns the letter of a piece on a cell, after the piece has come there from its own cell and was
    /// turned by `turn` on the way.
    pub fn letter(&self, piece: usize, turn: u16) -> u8 {
        let order = self.orientation_counts[piece];
        self.labels[self.first[piece] + usize::from((order - turn % order) % order)] as u8
    }

    /// Returns the letter on `cell` after a step from `word`.
    #[inline]
    pub fn after(&self, step: &WordMap, word: &[u8], cell: usize) -> u8 {
        let (from, k) = step.from[cell];
        self.next[usize::from(k)][usize::from(word[usize::from(from)])]
    }

    /// Writes the word after a step to `image`. Does not check the guard.
    #[inline]
    pub fn take(&self, step: &WordMap, word: &[u8], image: &mut [u8]) {
        for (cell, letter) in image.iter_mut().enumerate() {
            *letter = self.after(step, word, cell);
        }
    }

    /// Returns the cell of a point.
    pub(super) fn cell_of(&self, point: usize) -> usize {
        self.first.partition_point(|&first| first <= point) - 1
    }
}
