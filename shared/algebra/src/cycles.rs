//! Cycle notation, both ways: `(1,2,3)(4,5)` as in the literature and `[[1,2,3],[4,5]]` as some programs write it.
//! Points are counted from 1; commas or blanks separate them; `()` is the identity.

use crate::Permutation;
use std::fmt;

/// Why a text is not a permutation in cycle notation. Positions are byte offsets from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CycleError {
    /// Something else than what the notation allows at this place.
    Unexpected {
        /// Byte offset.
        at: usize,
        /// What was found: a character, or the end.
        found: Option<char>,
        /// What would have been right.
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
    /// A point that stands in two places.
    Repeated {
        /// Byte offset of the second place.
        at: usize,
        /// The point, counted from 1.
        point: usize,
    },
}

impl fmt::Display for CycleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { at, found: Some(found), expected } => {
                write!(f, "at offset {at}: expected {expected}, found {found:?}")
            }
            Self::Unexpected { at, found: None, expected } => {
                write!(f, "at offset {at}: expected {expected}, found the end")
            }
            Self::OutOfRange { at, point, degree } => {
                write!(f, "at offset {at}: point {point} is not between 1 and {degree}")
            }
            Self::Repeated { at, point } => {
                write!(f, "at offset {at}: point {point} occurs twice; cycles must be disjoint")
            }
        }
    }
}

impl std::error::Error for CycleError {}

impl Permutation {
    /// Reads a permutation of `degree` points in either notation.
    ///
    /// # Errors
    /// [`CycleError`] with the place and the reason.
    pub fn parse(text: &str, degree: usize) -> Result<Self, CycleError> {
        Parser { text, at: 0, degree, images: (0..degree as u16).collect(), seen: vec![false; degree] }.run()
    }

    /// Writes it as `[[1,2,3],[4,5]]`; the identity is `[]`.
    pub fn to_nested_lists(&self) -> String {
        format!(
            "[{}]",
            self.cycles().iter().map(|c| format!("[{}]", points(c))).collect::<Vec<_>>().join(",")
        )
    }
}

/// Writes it as `(1,2,3)(4,5)`; the identity is `()`.
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
    images: Vec<u16>,
    seen: Vec<bool>,
}

impl Parser<'_> {
    fn run(mut self) -> Result<Permutation, CycleError> {
        if self.accept('[') {
            if !self.accept(']') {
                loop {
                    self.expect('[', "'['")?;
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
            None => Ok(Permutation::from_images(self.images).expect("disjoint cycles are a permutation")),
            found => Err(self.unexpected(found, "the end")),
        }
    }

    /// The rest of a cycle, its opening bracket already read.
    fn cycle(&mut self, close: char) -> Result<(), CycleError> {
        let mut cycle = Vec::new();
        if !self.accept(close) {
            loop {
                cycle.push(self.point()?);
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
        Ok(point - 1)
    }

    /// The next character that is not blank.
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
    fn writing_and_reading_again_is_the_identity_on_all_of_s5() {
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
    }
}
