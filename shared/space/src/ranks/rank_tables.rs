//! Ranks by table. The cells of each orbit are cut into at most two segments, and the symbols on a segment
//! are the digits of a number. A table for each segment contains its contribution to the rank of a word: for
//! the first cells of an orbit, the number of smaller words that begin differently; for its last cells, the
//! number of smaller words that end differently, because the content of the end determines which symbols
//! remain for it.

use super::{Part, Ranks};
use crate::cells::Cell;

/// The segments and their tables. The code of a word is the sum of the [codes](Self::code) of its symbols.
#[derive(Debug)]
pub(crate) struct CodedRanks {
    segments: Box<[Segment]>,
    /// By cell: the code of the digit 1.
    places: Box<[u64]>,
    /// By symbol: its digit.
    digits: Box<[u8]>,
}

#[derive(Debug)]
struct Segment {
    /// The place of the segment's number in a code.
    shift: u32,
    mask: u64,
    /// By the segment's number: its contribution to the rank. The entry is unspecified for symbols that no
    /// word has there.
    ranks: Box<[u32]>,
}

impl CodedRanks {
    /// The largest number of entries of a table: larger ones would not stay in a processor's cache.
    const MAX_TABLE: u64 = 1 << 18;

    /// Creates the tables; `None` if they would be too large, or if ranks or codes exceed 32 and 64 bits.
    pub(crate) fn new(ranks: &Ranks) -> Option<Self> {
        u32::try_from(ranks.total).ok()?;
        let mut coded = Self {
            segments: Box::default(),
            places: vec![0; ranks.length()].into(),
            digits: ranks.locals.clone(),
        };
        let mut segments = Vec::new();
        let mut shift = 0;
        // The last orbit has the lowest digits of the rank.
        let mut unit = 1;
        for part in ranks.parts.iter().rev() {
            let base = part.marks.len() as u64 * part.radix;
            let symbols = (0..ranks.locals.len()).filter(|&letter| part.has(ranks, letter as u8));
            symbols.for_each(|letter| {
                let digit =
                    u64::from(ranks.locals[letter]) * part.radix + u64::from(ranks.orientations[letter]);
                coded.digits[letter] = digit as u8;
            });
            let cells = part.cells.len();
            let is_small =
                |cells: usize| base.checked_pow(cells as u32).is_some_and(|n| n <= Self::MAX_TABLE);
            let first = if is_small(cells) { cells } else { cells.div_ceil(2) };
            if !is_small(first) {
                return None;
            }
            for range in [0..first, first..cells] {
                let numbers = base.pow(range.len() as u32);
                if numbers == 1 {
                    continue;
                }
                let bits = u64::BITS - (numbers - 1).leading_zeros();
                if shift + bits > u64::BITS {
                    return None;
                }
                for (place, &cell) in part.cells[range.clone()].iter().enumerate() {
                    coded.places[usize::from(cell)] = base.pow(place as u32) << shift;
                }
                let mut digits = vec![0; range.len()];
                let adds = (0..numbers).map(|number| {
                    let mut rest = number;
                    for digit in &mut digits {
                        (*digit, rest) = (rest % base, rest / base);
                    }
                    part.adds(range.start, &digits).map_or(0, |rank| (rank * unit) as u32)
                });
                segments.push(Segment { shift, mask: (1 << bits) - 1, ranks: adds.collect() });
                shift += bits;
            }
            unit *= part.total;
        }
        coded.segments = segments.into();
        Some(coded)
    }

    /// Returns the code of a symbol on a cell.
    pub(crate) fn code(&self, cell: Cell, letter: u8) -> u64 {
        self.places[usize::from(cell)].wrapping_mul(self.digits[usize::from(letter)].into())
    }

    /// Replaces the codes of words by their ranks.
    pub(crate) fn ranks(&self, words: &mut [u64]) {
        let add = |code: u64, of: &Segment| of.ranks[(code >> of.shift & of.mask) as usize];
        match &*self.segments {
            [a, b] => words.iter_mut().for_each(|word| *word = u64::from(add(*word, a) + add(*word, b))),
            all => {
                let rank = |code: u64| all.iter().map(|segment| add(code, segment)).sum::<u32>();
                words.iter_mut().for_each(|word| *word = rank(*word).into());
            }
        }
    }
}

impl Part {
    /// Returns whether pieces with this symbol occur on the cells of the orbit.
    fn has(&self, ranks: &Ranks, letter: u8) -> bool {
        let (mark, local) = (letter / ranks.width, ranks.locals[usize::from(letter)]);
        self.marks.get(usize::from(local)) == Some(&mark)
    }

    /// Returns the contribution of the symbols on the cells from `first` on to the rank of the orbit's word;
    /// `None` if no word has them there. The cells must be the first or the last ones of the orbit.
    fn adds(&self, first: usize, digits: &[u64]) -> Option<u64> {
        let words = self.words();
        let marks = digits.iter().map(|digit| (digit / self.radix) as u8);
        let marks = if first == 0 { words.rank_of_beginning(marks) } else { words.rank_of_end(marks) }?;
        let shown = digits.iter().take(self.digits.saturating_sub(first)).map(|digit| digit % self.radix);
        let shown = shown.fold(0, |rank, orientation| rank * self.radix + orientation);
        let behind = self.digits.saturating_sub(first + digits.len());
        Some(marks * self.radix.pow(self.digits as u32) + shown * self.radix.pow(behind as u32))
    }
}
