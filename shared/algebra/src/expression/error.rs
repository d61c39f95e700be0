//! Errors in expressions.

use super::MAX_FACTORS;

/// Why a text is not an expression. Positions are byte offsets from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// An unexpected character or the end of the text.
    #[error("at offset {at}: expected {expected}, found {}", found.map_or("the end".into(), |c| format!("{c:?}")))]
    Unexpected {
        /// Byte offset.
        at: usize,
        /// What was found: a character, or the end.
        found: Option<char>,
        /// What is allowed there.
        expected: &'static str,
    },
    /// A name that is not that of a generator.
    #[error("at offset {at}: unknown move {name:?}. Moves: {known}")]
    NoSuchGenerator {
        /// Byte offset of the name.
        at: usize,
        /// The name as written.
        name: String,
        /// The names of all generators, separated by blanks. Empty if the error comes from
        /// [`super::sequence`], which does not know them.
        known: String,
    },
    /// A known name that cannot be used.
    #[error("at offset {at}: {reason}")]
    Name {
        /// Byte offset of the name.
        at: usize,
        /// The reason given by the caller.
        reason: String,
    },
    /// Names without blanks between them that can be read in more than one way.
    #[error("at offset {at}: {word:?} can be read in more than one way: put blanks between the moves")]
    Ambiguous {
        /// Byte offset of the first name.
        at: usize,
        /// The text without blanks.
        word: String,
    },
    /// An exponent that does not fit in 64 bits, or that gives too many turns.
    #[error("at offset {at}: the exponent {exponent} is too large")]
    Exponent {
        /// Byte offset of the exponent, or of the text without blanks around it.
        at: usize,
        /// The exponent as written.
        exponent: String,
    },
    /// A parenthesis or bracket that is not closed.
    #[error("at offset {at}: this '{bracket}' is not closed")]
    Open {
        /// Byte offset of the bracket.
        at: usize,
        /// The bracket.
        bracket: char,
    },
    /// A closing parenthesis or bracket without an open one.
    #[error("at offset {at}: unmatched '{bracket}'")]
    Closed {
        /// Byte offset of the bracket.
        at: usize,
        /// The bracket.
        bracket: char,
    },
    /// A text with too many factors, or one that is too long when brackets and powers are expanded.
    #[error("at offset {at}: more than {limit} factors", limit = MAX_FACTORS)]
    TooLong {
        /// Byte offset after the first factor beyond the limit.
        at: usize,
    },
}

impl ExpressionError {
    /// Returns the byte offset of the error.
    pub fn at(&self) -> usize {
        match self {
            Self::Unexpected { at, .. }
            | Self::NoSuchGenerator { at, .. }
            | Self::Name { at, .. }
            | Self::Ambiguous { at, .. }
            | Self::Closed { at, .. }
            | Self::Exponent { at, .. }
            | Self::Open { at, .. }
            | Self::TooLong { at } => *at,
        }
    }

    /// Describes the error without its place.
    pub fn reason(&self) -> String {
        let text = self.to_string();
        text.split_once(": ").map_or(text.clone(), |(_, reason)| reason.into())
    }
}
