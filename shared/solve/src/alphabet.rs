//! States as words, from the definition alone: also of puzzles that are too large for a run.
//!
//! A state shows a label at each point, a point being a way to stand on a cell. What the first point of a
//! cell shows tells what its others show, for a turn moves all of them alike; so a word has one letter a
//! cell. Where a move brings the k-th point of a cell to the first one of another, the letter there becomes
//! the k-th one after what it was.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Definition, Guard};

/// The letters that stand on the cells of a puzzle, and what turns make of them.
#[derive(Clone, Debug)]
pub struct Alphabet {
    /// The label at each point when the puzzle is solved.
    pub(super) labels: Vec<u16>,
    /// The first point of each cell.
    pub(super) first: Vec<usize>,
    /// The number of points of each cell.
    orders: Vec<u16>,
    /// After so many points everything that may stand on the cell shows the same again.
    periods: Vec<u16>,
    /// The letter that the k-th next point shows, by k and letter.
    next: Vec<Vec<u8>>,
}

/// Letters are bytes.
pub(super) const MOST_LETTERS: usize = 256;

/// What carrying pieces does to words, where it may be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordMap {
    /// For each cell the cell from which its piece comes, and which of that cell's points comes to be the
    /// first one.
    pub(super) from: Box<[(u8, u16)]>,
    /// Cells with the letters, one of which must be there.
    pub(super) guard: Box<[(u8, Box<[u8]>)]>,
}

impl WordMap {
    /// Whether its guard lets it be made in the state `word`.
    #[inline]
    pub fn may(&self, word: &[u8]) -> bool {
        self.guard.iter().all(|(cell, letters)| letters.contains(&word[usize::from(*cell)]))
    }
}

impl Alphabet {
    /// That of a puzzle; `None` if it has more than `MOST_LETTERS`.
    pub fn new(definition: &Definition) -> Option<Self> {
        let (labels, orders) = (definition.point_labels(), definition.orders());
        let letters = labels.iter().max().map_or(0, |&label| usize::from(label) + 1);
        if letters > MOST_LETTERS {
            return None;
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
        Some(Self { labels, first, orders, periods: definition.seen_orders(), next })
    }

    /// The state, as a word, to which an element leads from the solved one.
    pub fn word(&self, element: &OrientedPermutation) -> Vec<u8> {
        let inverse = element.as_points().inverse();
        self.first.iter().map(|&first| self.labels[inverse.apply(first)] as u8).collect()
    }

    /// What an action does to words; equal for actions between which nothing that can be seen tells. It may
    /// be done while all of the guard is so, in any orientations.
    pub fn step(&self, action: &Permutation, guard: impl IntoIterator<Item = Guard>) -> WordMap {
        let inverse = action.inverse();
        let from = |&first: &usize| {
            let point = inverse.apply(first);
            let cell = self.cell_of(point);
            (cell as u8, (point - self.first[cell]) as u16 % self.periods[cell])
        };
        let guarded = |Guard { cell, piece, holds }: Guard| {
            let piece = usize::from(piece);
            let shown = &self.labels[self.first[piece]..][..self.orders[piece].into()];
            let letters = (0..self.next[0].len() as u16).filter(|letter| shown.contains(letter) == holds);
            (cell as u8, letters.map(|letter| letter as u8).collect())
        };
        let mut guard: Vec<(u8, Box<[u8]>)> = guard.into_iter().map(guarded).collect();
        guard.sort_unstable();
        WordMap { from: self.first.iter().map(from).collect(), guard: guard.into() }
    }

    /// The letter that a piece shows on a cell, when it has come there from the cell where it belongs and was
    /// turned by so much.
    pub fn letter(&self, piece: usize, turn: u16) -> u8 {
        let order = self.orders[piece];
        self.labels[self.first[piece] + usize::from((order - turn % order) % order)] as u8
    }

    /// The letter on a cell after a step.
    #[inline]
    pub fn after(&self, step: &WordMap, word: &[u8], cell: usize) -> u8 {
        let (from, k) = step.from[cell];
        self.next[usize::from(k)][usize::from(word[usize::from(from)])]
    }

    /// The word after a step, its guard aside.
    #[inline]
    pub fn take(&self, step: &WordMap, word: &[u8], image: &mut [u8]) {
        for (cell, letter) in image.iter_mut().enumerate() {
            *letter = self.after(step, word, cell);
        }
    }

    /// The cell of a point.
    pub(super) fn cell_of(&self, point: usize) -> usize {
        self.first.partition_point(|&first| first <= point) - 1
    }
}
