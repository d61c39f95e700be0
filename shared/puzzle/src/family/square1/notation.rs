//! The usual notation of moves of Square-1: `(x,y)` turns the top layer by x and the bottom layer by y times
//! 30 degrees, each clockwise seen from outside the layer, and `/` is the twist. In Fathom a turn of one
//! layer is a move, so `(3,-1)` is two moves: `T3 B-1`.

use super::{Layer, UNITS};
use std::fmt;
use std::str::FromStr;

/// A move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Turns a layer clockwise by a number of units from -5 to 6, but not 0: `T3`, `B-1`.
    Layer(Layer, i8),
    /// Turns the right half over: `/`.
    Twist,
}

/// Moves, applied from left to right. They are read and written in the usual notation, `(1,0)/(3,-3)/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence(pub Vec<Turn>);

/// Why a text is not a sequence. Offsets are in bytes, from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// There is something other than a twist or a pair of turns.
    #[error(
        "at offset {at}: expected '/' or '(', found {found:?}: moves of Square-1 are written (1,0)/(3,-3)/"
    )]
    Unexpected {
        /// The offset.
        at: usize,
        /// The character at the offset.
        found: char,
    },
    /// The parentheses contain something other than two numbers.
    #[error(
        "at offset {at}: {pair:?} is not a pair of turns: write both in units of 30 degrees, for example (3,-1)"
    )]
    Pair {
        /// The offset of the parenthesis.
        at: usize,
        /// The text from the parenthesis on, up to the closing one.
        pair: String,
    },
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layer(Layer::Top, units) => write!(f, "T{units}"),
            Self::Layer(Layer::Bottom, units) => write!(f, "B{units}"),
            Self::Twist => f.write_str("/"),
        }
    }
}

impl Turn {
    /// Returns the turn of a layer by any number of units; `None` for a multiple of a whole turn.
    pub fn of_layer(layer: Layer, units: i64) -> Option<Self> {
        let units = (units + 5).rem_euclid(UNITS as i64) - 5;
        (units != 0).then_some(Self::Layer(layer, units as i8))
    }

    /// Returns the move that undoes this move.
    pub fn inverse(self) -> Self {
        match self {
            Self::Layer(layer, units) => {
                Self::of_layer(layer, -i64::from(units)).expect("it is not a whole turn")
            }
            Self::Twist => Self::Twist,
        }
    }
}

impl Sequence {
    /// Returns the sequence that undoes this sequence.
    pub fn inverse(&self) -> Self {
        Self(self.0.iter().rev().map(|turn| turn.inverse()).collect())
    }
}

impl FromStr for Sequence {
    type Err = SequenceError;

    fn from_str(text: &str) -> Result<Self, SequenceError> {
        let mut turns = Vec::new();
        let mut at = 0;
        while let Some(found) = text[at..].chars().next() {
            match found {
                '/' => turns.push(Turn::Twist),
                '(' => {
                    let rest = &text[at..];
                    let length = rest.find(')').map_or(rest.len(), |end| end + 1);
                    let pair = &rest[..length];
                    let read = || {
                        let (x, y) = pair.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
                        Some([(Layer::Top, units(x)?), (Layer::Bottom, units(y)?)])
                    };
                    let pair = read().ok_or_else(|| SequenceError::Pair { at, pair: pair.into() })?;
                    turns.extend(pair.into_iter().filter_map(|(layer, units)| Turn::of_layer(layer, units)));
                    at += length;
                    continue;
                }
                blank if blank.is_whitespace() => {}
                found => return Err(SequenceError::Unexpected { at, found }),
            }
            at += found.len_utf8();
        }
        Ok(Self(turns))
    }
}

/// Reads a number of units: one or two digits, with an optional minus sign.
fn units(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut turns = self.0.iter().peekable();
        while let Some(turn) = turns.next() {
            match *turn {
                Turn::Twist => f.write_str("/")?,
                Turn::Layer(Layer::Bottom, y) => write!(f, "(0,{y})")?,
                Turn::Layer(Layer::Top, x) => match turns.peek() {
                    Some(&&Turn::Layer(Layer::Bottom, y)) => {
                        turns.next();
                        write!(f, "({x},{y})")?;
                    }
                    _ => write!(f, "({x},0)")?,
                },
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> Result<String, String> {
        let read: Result<Sequence, _> = text.parse();
        let names = |all: Sequence| all.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        read.map(names).map_err(|error| error.to_string())
    }

    #[test]
    fn usual_notation_is_read_as_moves() {
        for (text, moves) in [
            ("", ""),
            ("/", "/"),
            ("(1,0)/(3,-3)/", "T1 / T3 B-3 /"),
            (" ( -5 , 6 ) / (0,0) / ", "T-5 B6 / /"),
            ("(7,-6)(12,-13)", "T-5 B6 B-1"),
        ] {
            assert_eq!(names(text).unwrap(), moves, "{text:?}");
        }
    }

    #[test]
    fn errors_name_the_offset() {
        for (text, says) in [
            (
                "1,0",
                "at offset 0: expected '/' or '(', found '1': moves of Square-1 are written (1,0)/(3,-3)/",
            ),
            (
                "/é",
                "at offset 1: expected '/' or '(', found 'é': moves of Square-1 are written (1,0)/(3,-3)/",
            ),
        ] {
            assert_eq!(names(text).unwrap_err(), says);
        }
        for pair in ["(", "()", "(1)", "(1,)", "(1,2,3)", "(1,2", "(+1,2)", "(1,--2)", "(100,0)", "(é,1)"] {
            assert_eq!(
                names(&format!("/{pair}")).unwrap_err(),
                format!(
                    "at offset 1: {pair:?} is not a pair of turns: write both in units of 30 degrees, for example (3,-1)"
                )
            );
        }
    }

    fn turn() -> impl Strategy<Value = Turn> {
        prop_oneof![
            Just(Turn::Twist),
            (prop_oneof![Just(Layer::Top), Just(Layer::Bottom)], prop_oneof![-5_i8..0, 1_i8..7])
                .prop_map(|(layer, units)| Turn::Layer(layer, units)),
        ]
    }

    proptest! {
        #[test]
        fn writing_and_reading_round_trip(turns in proptest::collection::vec(turn(), 0..20)) {
            let sequence = Sequence(turns);
            prop_assert_eq!(sequence.to_string().parse::<Sequence>().unwrap(), sequence.clone());
            prop_assert_eq!(sequence.inverse().inverse(), sequence);
        }

        #[test]
        fn any_text_is_read_or_rejected(text in ".*|[-0-9(),/ é]{0,16}") {
            if let Err(SequenceError::Unexpected { at, .. } | SequenceError::Pair { at, .. }) = text.parse::<Sequence>() {
                prop_assert!(text.is_char_boundary(at));
            }
        }
    }
}
