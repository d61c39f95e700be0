//! Ranks of words of a space, orbit by orbit.

use crate::space::CellOrbit;
use crate::{Letters, Words};

/// All words of letters in which every orbit of cells has the marks that it has in the solved word, each in
/// any orientation. The rank is a number in mixed radix: for each orbit the [rank](Words) of its marks, then
/// the orientation on each of its cells, but for the last cell of an orbit whose orientations always have the
/// same sum.
#[derive(Clone, Debug)]
pub struct Ranks {
    parts: Box<[Part]>,
    /// By letter.
    locals: Box<[u8]>,
    orientations: Box<[u8]>,
    total: u64,
    /// All cells are one orbit whose pieces do not turn: the rank is that of the word.
    is_plain: bool,
}

#[derive(Clone, Debug)]
struct Part {
    cells: Box<[u8]>,
    /// By number among the marks of the orbit.
    marks: Box<[u8]>,
    words: Words,
    /// The number of orientations.
    radix: u64,
    /// How many of the cells have a digit.
    digits: usize,
    /// How many ranks there are for the orbit.
    total: u64,
}

impl Ranks {
    /// Ranks for the words that have the letters of `solved`. `None` if they number 2^64 or more.
    pub(crate) fn new(orbits: &[CellOrbit], letters: &Letters, solved: &[u8]) -> Option<Self> {
        let mut locals = vec![0; letters.count()];
        let mut total = 1_u64;
        let mut parts = Vec::new();
        for orbit in orbits {
            let mut marks: Vec<u8> =
                orbit.cells.iter().map(|&cell| letters.mark(solved[usize::from(cell)])).collect();
            let all = marks.clone();
            marks.sort_unstable();
            marks.dedup();
            for (letter, local) in locals.iter_mut().enumerate() {
                if let Ok(number) = marks.binary_search(&letters.mark(letter as u8)) {
                    *local = number as u8;
                }
            }
            let count = |mark: &u8| all.iter().filter(|&other| other == mark).count() as u8;
            let words = Words::new(&marks.iter().map(count).collect::<Vec<_>>())?;
            let radix = marks.iter().map(|&mark| u64::from(letters.seen(mark))).max().unwrap_or(1);
            let implied = orbit.keeps_sum && marks.iter().all(|&mark| u64::from(letters.seen(mark)) == radix);
            let digits = if radix == 1 { 0 } else { orbit.cells.len() - usize::from(implied) };
            let here = radix.checked_pow(digits as u32)?.checked_mul(words.total())?;
            total = total.checked_mul(here)?;
            let (cells, marks) = (orbit.cells.clone(), marks.into());
            parts.push(Part { cells, marks, words, radix, digits, total: here });
        }
        let orientations = (0..letters.count()).map(|letter| letters.orientation(letter as u8)).collect();
        let is_plain = parts.len() == 1 && parts[0].radix == 1;
        Some(Self { parts: parts.into(), locals: locals.into(), orientations, total, is_plain })
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of cells.
    pub fn length(&self) -> usize {
        self.parts.iter().map(|part| part.cells.len()).sum()
    }

    /// The rank of a word.
    #[inline]
    pub fn rank(&self, word: &[u8]) -> u64 {
        if self.is_plain {
            return self.parts[0].words.rank(word.iter().copied());
        }
        self.parts.iter().fold(0, |rank, part| {
            let letters = || part.cells.iter().map(|&cell| usize::from(word[usize::from(cell)]));
            let marks = part.words.rank(letters().map(|letter| self.locals[letter]));
            let orientations = letters().take(part.digits);
            rank * part.total
                + orientations
                    .fold(marks, |rank, letter| rank * part.radix + u64::from(self.orientations[letter]))
        })
    }

    /// Whether a word with the right marks is one of those that are ranked: whether its orientations have the
    /// sum that never changes.
    pub fn has(&self, word: &[u8]) -> bool {
        let orientation = |cell: &u8| u64::from(self.orientations[usize::from(word[usize::from(*cell)])]);
        let implied = |part: &&Part| part.radix > 1 && part.digits < part.cells.len();
        self.parts
            .iter()
            .filter(implied)
            .all(|part| part.cells.iter().map(orientation).sum::<u64>().is_multiple_of(part.radix))
    }

    /// Writes the word of this rank: the inverse of [`Ranks::rank`] on words whose orientations have, in
    /// orbits where that never changes, the sum 0.
    ///
    /// # Panics
    /// If `rank` is not below [`Ranks::total`], or the letters are not those of the ranks.
    pub fn unrank(&self, mut rank: u64, letters: &Letters, word: &mut [u8]) {
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
            part.words.unrank(rest, &mut marks);
            for ((&cell, &mark), &orientation) in part.cells.iter().zip(&marks).zip(&orientations) {
                word[usize::from(cell)] = letters.letter(part.marks[usize::from(mark)], orientation as u8);
            }
        }
    }
}
