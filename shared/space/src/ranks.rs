//! Ranks of the words of a space, orbit by orbit.

mod rank_tables;

pub(crate) use rank_tables::CodedRanks;

use crate::cells::{Cell, CellOrbit};
use crate::{MultisetRanker, SymbolTable};

/// All words in which every orbit of cells has the same marks as in the solved word, each in any orientation.
/// The rank is a number in mixed radix: for each orbit the [rank](MultisetRanker) of its marks, followed by
/// the orientation on each of its cells. If the sum of an orbit's orientations never changes, its last cell
/// has no digit.
#[derive(Clone, Debug)]
pub struct Ranks {
    parts: Box<[Part]>,
    /// By symbol: the number of its mark among the marks of the orbit.
    locals: Box<[u8]>,
    orientations: Box<[u8]>,
    /// The number of symbols of a mark.
    width: u8,
    total: u64,
    /// Whether all cells are one orbit whose pieces do not turn. The rank is then that of the word itself.
    is_plain: bool,
}

#[derive(Clone, Debug)]
struct Part {
    cells: Box<[Cell]>,
    /// The marks of the orbit, in increasing order.
    marks: Box<[u8]>,
    /// `None` if there are too many to rank.
    words: Option<MultisetRanker>,
    /// The largest number of orientations that one of the marks shows.
    radix: u64,
    /// The number of cells whose orientation is a digit of the rank.
    digits: usize,
    /// The number of ranks for the orbit; [`Ranks::TOO_MANY`] if there are more.
    total: u64,
}

impl Part {
    #[inline]
    fn words(&self) -> &MultisetRanker {
        self.words.as_ref().expect("words that are ranked are not too many")
    }
}

impl Ranks {
    /// The [total](Ranks::total) of words that have no ranks: there are at least 2^64 - 1 of them, or the
    /// tables for an orbit would be too large.
    pub const TOO_MANY: u64 = u64::MAX;

    /// Creates the ranks of the words that have in every orbit the marks of `solved`.
    pub(crate) fn new(orbits: &[CellOrbit], symbols: &SymbolTable, solved: &[u8]) -> Self {
        let mut locals = vec![0; symbols.count()];
        let mut parts = Vec::new();
        for orbit in orbits {
            let mut marks: Vec<u8> =
                orbit.cells.iter().map(|&cell| symbols.mark(solved[usize::from(cell)])).collect();
            let all = marks.clone();
            marks.sort_unstable();
            marks.dedup();
            for (letter, local) in locals.iter_mut().enumerate() {
                if let Ok(number) = marks.binary_search(&symbols.mark(letter as u8)) {
                    *local = number as u8;
                }
            }
            let count = |mark: &u8| all.iter().filter(|&other| other == mark).count() as u16;
            let words = MultisetRanker::new(&marks.iter().map(count).collect::<Vec<_>>());
            let radix = marks.iter().map(|&mark| u64::from(symbols.seen(mark))).max().unwrap_or(1);
            let implied = orbit.keeps_sum && marks.iter().all(|&mark| u64::from(symbols.seen(mark)) == radix);
            let digits = if radix == 1 { 0 } else { orbit.cells.len() - usize::from(implied) };
            let of_marks = words.as_ref().map_or(Self::TOO_MANY, MultisetRanker::total);
            let total = radix.saturating_pow(digits as u32).saturating_mul(of_marks);
            let (cells, marks) = (orbit.cells.clone(), marks.into());
            parts.push(Part { cells, marks, words, radix, digits, total });
        }
        let total = parts.iter().fold(1_u64, |total, part| total.saturating_mul(part.total));
        let orientations = (0..symbols.count()).map(|letter| symbols.orientation(letter as u8)).collect();
        let is_plain = parts.len() == 1 && parts[0].radix == 1;
        Self {
            parts: parts.into(),
            locals: locals.into(),
            orientations,
            width: symbols.width(),
            total,
            is_plain,
        }
    }

    /// Returns the number of words, or [`Ranks::TOO_MANY`].
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of cells.
    pub fn length(&self) -> usize {
        self.parts.iter().map(|part| part.cells.len()).sum()
    }

    /// Returns the rank of a word.
    ///
    /// # Panics
    /// If the words of an orbit are too many to rank.
    #[inline]
    pub fn rank(&self, word: &[u8]) -> u64 {
        if self.is_plain {
            return self.parts[0].words().rank(word.iter().copied());
        }
        self.parts.iter().fold(0, |rank, part| {
            let symbols = || part.cells.iter().map(|&cell| usize::from(word[usize::from(cell)]));
            let marks = part.words().rank(symbols().map(|letter| self.locals[letter]));
            let orientations = symbols().take(part.digits);
            rank * part.total
                + orientations
                    .fold(marks, |rank, letter| rank * part.radix + u64::from(self.orientations[letter]))
        })
    }

    /// Returns whether a word with the right marks is one of the ranked words: whether the orientations of
    /// each orbit whose sum never changes have the sum 0 modulo their number.
    pub fn has(&self, word: &[u8]) -> bool {
        let orientation = |cell: &Cell| u64::from(self.orientations[usize::from(word[usize::from(*cell)])]);
        let implied = |part: &&Part| part.radix > 1 && part.digits < part.cells.len();
        self.parts
            .iter()
            .filter(implied)
            .all(|part| part.cells.iter().map(orientation).sum::<u64>().is_multiple_of(part.radix))
    }

    /// Writes the word with this rank: the inverse of [`Ranks::rank`] on words that [`Ranks::has`] accepts.
    /// `symbols` must be the symbols for which the ranks were made.
    ///
    /// # Panics
    /// If `rank` is not below [`Ranks::total`], or `word` does not have [`Ranks::length`] cells.
    pub fn unrank(&self, mut rank: u64, symbols: &SymbolTable, word: &mut [u8]) {
        assert!(rank < self.total && word.len() == self.length(), "rank {rank} of {} words", self.total);
        let mut marks = vec![0; word.len()];
        let mut orientations = vec![0_u64; word.len()];
        for part in self.parts.iter().rev() {
            let mut rest = rank % part.total;
            rank /= part.total;
            let cells = part.cells.len();
            orientations[..cells].fill(0);
            for digit in orientations[..part.digits].iter_mut().rev() {
                (*digit, rest) = (rest % part.radix, rest / part.radix);
            }
            if part.digits + 1 == cells && part.digits > 0 {
                let sum: u64 = orientations[..part.digits].iter().sum();
                orientations[part.digits] = (part.radix - sum % part.radix) % part.radix;
            }
            part.words().unrank(rest, &mut marks);
            for ((&cell, &mark), &orientation) in part.cells.iter().zip(&marks).zip(&orientations) {
                word[usize::from(cell)] = symbols.letter(part.marks[usize::from(mark)], orientation as u8);
            }
        }
    }
}
