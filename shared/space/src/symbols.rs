//! Symbols: a label or a colour together with an orientation, as one byte.

use crate::cells::Cell;

/// The symbols for one kind of marks, labels or colours. The symbol of mark k in orientation o is
/// `k * width + o`, where the width is the largest number of orientations that a mark shows. Where pieces do
/// not turn, the width is 1 and symbols are marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolTable {
    width: u8,
    seen: Box<[u8]>,
    /// By the amount of a turn and by symbol: the turned symbol.
    turned: Box<[Box<[u8]>]>,
    /// The mark of each symbol.
    marks: Box<[u8]>,
}

impl SymbolTable {
    /// Creates the symbols of marks, where mark k shows `seen[k]` orientations and is turned by less than
    /// `turns`. Returns `None` if there are more than 255 symbols, if `turns` is more than 255, or if a mark
    /// shows no orientation.
    pub fn new(seen: &[u16], turns: u16) -> Option<Self> {
        let width = seen.iter().copied().max().unwrap_or(1);
        let symbols = usize::from(width) * seen.len();
        if symbols > 255 || turns > 255 || seen.contains(&0) {
            return None;
        }
        let turned = |by: u16| {
            let turn = |letter: usize| {
                let (mark, orientation) = (letter / usize::from(width), letter as u16 % width);
                let shown = seen[mark];
                let orientation = if orientation < shown { (orientation + by) % shown } else { orientation };
                (mark * usize::from(width) + usize::from(orientation)) as u8
            };
            (0..symbols).map(turn).collect()
        };
        Some(Self {
            width: width as u8,
            seen: seen.iter().map(|&shown| shown as u8).collect(),
            turned: (0..turns).map(turned).collect(),
            marks: (0..symbols).map(|letter| (letter / usize::from(width)) as u8).collect(),
        })
    }

    /// Returns the number of symbols. Some symbols are unused if marks show different numbers of
    /// orientations.
    pub fn count(&self) -> usize {
        self.marks.len()
    }

    /// Returns the largest number of orientations that a mark shows.
    #[inline]
    pub fn width(&self) -> u8 {
        self.width
    }

    /// Returns the number of orientations that a mark shows.
    pub fn seen(&self, mark: u8) -> u8 {
        self.seen[usize::from(mark)]
    }

    /// Returns the symbol of a mark in an orientation, which is taken modulo the number that the mark shows.
    #[inline]
    pub fn letter(&self, mark: u8, orientation: u8) -> u8 {
        mark * self.width + orientation % self.seen[usize::from(mark)]
    }

    /// Returns the mark of a symbol.
    #[inline]
    pub fn mark(&self, letter: u8) -> u8 {
        self.marks[usize::from(letter)]
    }

    /// Returns the orientation of a symbol.
    #[inline]
    pub fn orientation(&self, letter: u8) -> u8 {
        letter % self.width
    }

    /// Returns the symbol after a turn by `by`, which must be less than the `turns` of [`SymbolTable::new`].
    #[inline]
    pub fn turned(&self, letter: u8, by: u8) -> u8 {
        self.turned[usize::from(by)][usize::from(letter)]
    }

    /// Writes the image of a word: the symbol on cell c goes to `cells[c]`, renamed by `renamed` and then
    /// turned by `turns[c]`. Nothing is turned if `turns` is empty.
    #[inline]
    pub(crate) fn carry(&self, cells: &[Cell], turns: &[u8], renamed: &[u8], word: &[u8], image: &mut [u8]) {
        if turns.is_empty() {
            for (&to, &letter) in cells.iter().zip(word) {
                image[usize::from(to)] = renamed[usize::from(letter)];
            }
        } else {
            for ((&to, &letter), &turn) in cells.iter().zip(word).zip(turns) {
                image[usize::from(to)] = self.turned(renamed[usize::from(letter)], turn);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_encode_marks_and_orientations() {
        let symbols = SymbolTable::new(&[3, 1, 3], 3).unwrap();
        assert_eq!((symbols.count(), symbols.width()), (9, 3));
        for (mark, orientation) in [(0, 0), (0, 2), (1, 0), (2, 1)] {
            let letter = symbols.letter(mark, orientation);
            assert_eq!((symbols.mark(letter), symbols.orientation(letter)), (mark, orientation));
            for by in 0..3 {
                let turned = (orientation + by) % symbols.seen(mark);
                assert_eq!(symbols.turned(letter, by), symbols.letter(mark, turned));
            }
        }
        let plain = SymbolTable::new(&[1; 255], 1).unwrap();
        assert!((0..255).all(|letter| plain.mark(letter) == letter && plain.turned(letter, 0) == letter));
        assert_eq!(SymbolTable::new(&[2; 128], 2), None);
        // Of 6 orientations, the first mark shows 2, and the second 3.
        let mixed = SymbolTable::new(&[2, 3], 6).unwrap();
        assert_eq!([0, 1].map(|mark| mixed.orientation(mixed.turned(mixed.letter(mark, 0), 5))), [1, 2]);
    }
}
