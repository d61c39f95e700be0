//! Cycle notation, reading and writing: `(1,2,3)(4,5)` as in the literature and `[[1,2,3],[4,5]]` as some
//! programs write it. Points are numbered from 1 and separated by commas or spaces; `()` is the identity.
//!
//! In an oriented permutation a point may be followed by the amount that is added to the orientation of the
//! piece that leaves it: `(1,2+1,3+2)` carries the piece on cell 1 to cell 2 unturned, the piece on cell 2 to
//! cell 3 turned by 1, and the piece on cell 3 to cell 1 turned by 2. `(4+1)` turns the piece on cell 4 in
//! place. With 3 orientations, `-1` means `+2`.

use crate::{OrientedPermutation, OrientedPermutationError, Permutation};
use std::fmt;

/// Why a text is not a permutation in cycle notation. Positions are byte offsets from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CycleError {
    /// An unexpected character, or the end of the text.
    Unexpected {
        /// Byte offset.
        at: usize,
        /// What was found: a character, or the end.
        found: Option<char>,
        /// What the notation allows there.
        expected: &'static str,
    },
    /// A point that is 0 or above the degree.
    OutOfRange {
        /// Byte offset of the number.
        at: usize,
        /// The number as written.
        point: String,
        /// The degree.
        degree: usize,
    },
    /// A point that occurs twice.
    Repeated {
        /// Byte offset of the second occurrence.
        at: usize,
        /// The point, counted from 1.
        point: usize,
    },
    /// An amount that is not below the number of orientations.
    TurnOutOfRange {
        /// Byte offset of the number.
        at: usize,
        /// The number as written.
        turn: String,
        /// The number of orientations.
        order: u16,
    },
    /// A cycle through cells with different numbers of orientations.
    OrderChanges {
        /// Byte offset of the cell `from`.
        at: usize,
        /// The cell that a piece leaves, counted from 1.
        from: usize,
        /// The cell that the piece reaches, counted from 1.
        to: usize,
    },
}

impl CycleError {
    /// Returns the byte offset of the error.
    pub fn at(&self) -> usize {
        match self {
            Self::Unexpected { at, .. }
            | Self::OutOfRange { at, .. }
            | Self::Repeated { at, .. }
            | Self::TurnOutOfRange { at, .. }
            | Self::OrderChanges { at, .. } => *at,
        }
    }

    /// Describes the error without its place, for readers of larger texts, which add the place themselves.
    pub fn reason(&self) -> String {
        match self {
            Self::Unexpected { found: Some(found), expected, .. } => {
                format!("expected {expected}, found {found:?}")
            }
            Self::Unexpected { found: None, expected, .. } => format!("expected {expected}, found the end"),
            Self::OutOfRange { point, degree, .. } => format!("point {point} is not between 1 and {degree}"),
            Self::Repeated { point, .. } => format!("point {point} occurs twice; cycles must be disjoint"),
            Self::TurnOutOfRange { turn, order: 1, .. } => {
                format!("a turn by {turn} of a piece that has only one orientation")
            }
            Self::TurnOutOfRange { turn, order, .. } => {
                format!("the turn {turn} is not below the number of orientations, {order}")
            }
            Self::OrderChanges { from, to, .. } => {
                format!("cells {from} and {to} have different numbers of orientations")
            }
        }
    }
}

impl fmt::Display for CycleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at offset {}: {}", self.at(), self.reason())
    }
}

impl std::error::Error for CycleError {}

impl Permutation {
    /// Reads a permutation of `degree` points in either notation.
    ///
    /// # Errors
    /// [`CycleError`] with the place and the reason, if `text` is not in cycle notation, or has points out of
    /// range or twice.
    pub fn parse(text: &str, degree: usize) -> Result<Self, CycleError> {
        let mut parser = Parser::new(text, degree, None);
        parser.run()?;
        Ok(Permutation::from_images(parser.images).expect("disjoint cycles are a permutation"))
    }

    /// Writes this permutation as `[[1,2,3],[4,5]]`; the identity is `[]`.
    pub fn to_nested_lists(&self) -> String {
        format!(
            "[{}]",
            self.cycles().iter().map(|c| format!("[{}]", points(c))).collect::<Vec<_>>().join(",")
        )
    }
}

impl OrientedPermutation {
    /// Reads an oriented permutation of cells of these orientation counts, in either notation.
    ///
    /// # Panics
    /// If an order is 0.
    ///
    /// # Errors
    /// [`CycleError`] with the place and the reason: as for [`Permutation::parse`], and if an amount is not
    /// below the order of its cell, or a cycle goes through cells of different orientation counts.
    pub fn parse(text: &str, orientation_counts: &[u16]) -> Result<Self, CycleError> {
        assert!(orientation_counts.iter().all(|&order| order > 0), "a piece has at least one orientation");
        let mut parser = Parser::new(text, orientation_counts.len(), Some(orientation_counts));
        parser.run()?;
        let cells = Permutation::from_images(parser.images).expect("disjoint cycles are a permutation");
        Self::new(cells, parser.turns, orientation_counts).map_err(|error| match error {
            OrientedPermutationError::OrderChanges { from, to } => {
                CycleError::OrderChanges { at: parser.places[from], from: from + 1, to: to + 1 }
            }
            _ => unreachable!("turns are checked as they are read, and there are as many as cells"),
        })
    }
}

/// Writes the oriented permutation as `(1,2+1,3+2)`; the identity is `()`.
impl fmt::Display for OrientedPermutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_identity() {
            return f.write_str("()");
        }
        for cycle in self.cells().cycles_with_fixed_points() {
            if cycle.len() == 1 && self.turns()[cycle[0]] == 0 {
                continue;
            }
            for (i, &cell) in cycle.iter().enumerate() {
                write!(f, "{}{}", if i == 0 { '(' } else { ',' }, cell + 1)?;
                if self.turns()[cell] > 0 {
                    write!(f, "+{}", self.turns()[cell])?;
                }
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Debug for OrientedPermutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes the permutation as `(1,2,3)(4,5)`; the identity is `()`.
impl fmt::Display for Permutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cycles = self.cycles();
        if cycles.is_empty() {
            return f.write_str("()");
        }
        cycles.iter().try_for_each(|cycle| write!(f, "({})", points(cycle)))
    }
}

impl fmt::Debug for Permutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn points(cycle: &[usize]) -> String {
    cycle.iter().map(|point| (point + 1).to_string()).collect::<Vec<_>>().join(",")
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    degree: usize,
    /// The order of each cell; `None` if points have no amounts after them.
    orientation_counts: Option<&'a [u16]>,
    images: Vec<u16>,
    turns: Vec<u16>,
    /// The byte offset at which each point was read.
    places: Vec<usize>,
    seen: Vec<bool>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, degree: usize, orientation_counts: Option<&'a [u16]>) -> Self {
        Self {
            text,
            at: 0,
            degree,
            orientation_counts,
            images: (0..degree as u16).collect(),
            turns: vec![0; degree],
            places: vec![0; degree],
            seen: vec![false; degree],
        }
    }

    fn run(&mut self) -> Result<(), CycleError> {
        if self.accept('[') {
            if !self.accept(']') {
                loop {
                    self.expect('[', "a cycle such as [1,2]")?;
                    self.cycle(']')?;
                    if !self.accept(',') {
                        break;
                    }
                }
                self.expect(']', "',' or ']'")?;
            }
        } else {
            self.expect('(', "'(' or '['")?;
            self.cycle(')')?;
            while self.accept('(') {
                self.cycle(')')?;
            }
        }
        match self.peek() {
            None => Ok(()),
            found => Err(self.unexpected(found, "the end")),
        }
    }

    /// Reads the rest of a cycle, after its opening bracket.
    fn cycle(&mut self, close: char) -> Result<(), CycleError> {
        let mut cycle = Vec::new();
        if !self.accept(close) {
            loop {
                let point = self.point()?;
                if let Some(orientation_counts) = self.orientation_counts {
                    self.turns[point] = self.turn(orientation_counts[point])?;
                }
                cycle.push(point);
                self.accept(',');
                if self.accept(close) {
                    break;
                }
            }
        }
        for (i, &point) in cycle.iter().enumerate() {
            self.images[point] = cycle[(i + 1) % cycle.len()] as u16;
        }
        Ok(())
    }

    fn point(&mut self) -> Result<usize, CycleError> {
        let found = self.peek();
        let start = self.at;
        let digits = self.text[start..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.unexpected(found, "a point"));
        }
        self.at += digits;
        let written = &self.text[start..self.at];
        let point: usize = match written.parse() {
            Ok(point) if (1..=self.degree).contains(&point) => point,
            _ => {
                return Err(CycleError::OutOfRange { at: start, point: written.into(), degree: self.degree });
            }
        };
        if std::mem::replace(&mut self.seen[point - 1], true) {
            return Err(CycleError::Repeated { at: start, point });
        }
        self.places[point - 1] = start;
        Ok(point - 1)
    }

    /// Reads the amount after a point; 0 if there is none.
    fn turn(&mut self, order: u16) -> Result<u16, CycleError> {
        let backwards = match self.peek() {
            Some('+') => false,
            Some('-') => true,
            _ => return Ok(0),
        };
        self.at += 1;
        let found = self.peek();
        let start = self.at;
        let digits = self.text[start..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.unexpected(found, "an amount to turn by"));
        }
        self.at += digits;
        let written = &self.text[start..self.at];
        match written.parse::<u16>() {
            Ok(turn) if turn < order => Ok(if backwards { (order - turn) % order } else { turn }),
            _ => Err(CycleError::TurnOutOfRange { at: start, turn: written.into(), order }),
        }
    }

    /// Skips blanks, and returns the next character without reading it.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char, expected: &'static str) -> Result<(), CycleError> {
        if self.accept(wanted) {
            return Ok(());
        }
        let found = self.peek();
        Err(self.unexpected(found, expected))
    }

    fn unexpected(&self, found: Option<char>, expected: &'static str) -> CycleError {
        CycleError::Unexpected { at: self.at, found, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations_are_read_and_written() {
        let p = Permutation::parse("(1,2,3)(4,5)", 6).unwrap();
        assert_eq!(Permutation::parse(" ( 1 2 3 ) (4 , 5)", 6).unwrap(), p);
        assert_eq!(Permutation::parse("[[1,2,3],[4,5]]", 6).unwrap(), p);
        assert_eq!(p.to_string(), "(1,2,3)(4,5)");
        assert_eq!(p.to_nested_lists(), "[[1,2,3],[4,5]]");
    }

    #[test]
    fn round_trip_on_all_of_s5() {
        for rank in 0..120 {
            let p = Permutation::unrank(5, rank).unwrap();
            assert_eq!(Permutation::parse(&p.to_string(), 5).unwrap(), p);
            assert_eq!(Permutation::parse(&p.to_nested_lists(), 5).unwrap(), p);
        }
    }

    #[test]
    fn errors_name_place_and_reason() {
        let message = |text| Permutation::parse(text, 4).unwrap_err().to_string();
        assert_eq!(message("(1,2"), "at offset 4: expected a point, found the end");
        assert_eq!(message("(1,7)"), "at offset 3: point 7 is not between 1 and 4");
        assert_eq!(message("(0,1)"), "at offset 1: point 0 is not between 1 and 4");
        assert_eq!(message("(1,2)(2,3)"), "at offset 6: point 2 occurs twice; cycles must be disjoint");
        assert_eq!(message("(1,2)x"), "at offset 5: expected the end, found 'x'");
        assert_eq!(message("[[1,2]"), "at offset 6: expected ',' or ']', found the end");
        assert_eq!(message(""), "at offset 0: expected '(' or '[', found the end");
        assert_eq!(
            message("(99999999999999999999)"),
            "at offset 1: point 99999999999999999999 is not between 1 and 4"
        );
        assert!(Permutation::parse("(1,é)", 4).is_err());
        assert_eq!(message("(1,2+1)"), "at offset 4: expected a point, found '+'");
    }

    #[test]
    fn turns_are_read_and_written() {
        let read = |text| OrientedPermutation::parse(text, &[3, 3, 3, 2]).map(|p| p.to_string());
        assert_eq!(read("(1,2+1,3+2)").unwrap(), "(1,2+1,3+2)");
        assert_eq!(read("(2+1,3-1,1) (4-1)").unwrap(), "(1,2+1,3+2)(4+1)");
        assert_eq!(read("[[1, 2 + 1 3]]").unwrap(), "(1,2+1,3)");
        assert_eq!(read("()").unwrap(), "()");
        let message = |text| read(text).unwrap_err().to_string();
        assert_eq!(message("(1,2+3)"), "at offset 5: the turn 3 is not below the number of orientations, 3");
        assert_eq!(message("(1,2+)"), "at offset 5: expected an amount to turn by, found ')'");
        assert_eq!(
            message("(1,2)(3,4)"),
            "at offset 6: cells 3 and 4 have different numbers of orientations"
        );
        assert_eq!(
            message("(4+99999)"),
            "at offset 3: the turn 99999 is not below the number of orientations, 2"
        );
    }
}
