//! Moves of Square-1 in the letters of B. Sambale, *Square-1* (2021): u, d and s, manoeuvres made of them,
//! commutators `[a, b]` and powers.
//!
//! In the article the puzzle is upside down. Its u turns our bottom layer counterclockwise, seen from outside
//! that layer; its d turns our top layer counterclockwise, seen from below.

use super::{Layer, Sequence, SequenceError, Turn};
use fathom_algebra::{ExpressionError, Turns, expression};

/// The letters for moves. [`Turns`] numbers them in this order.
const MOVES: [&str; 3] = ["u", "d", "s"];

/// The manoeuvres of the article, and their definitions. All but `f` begin in the state after `d`.
pub const MANOEUVRES: [(&str, &str); 6] = [
    ("A", "[s,u^3]^2s"),
    ("B", "[A,d^3]"),
    ("C", "[t,d^6]"),
    ("D", "[B,C]"),
    ("t", "[ud^-1,s]"),
    ("f", "su^3d^-3sud^-2su^2d^2"),
];

/// The maximum number of moves in a sequence.
const MOST: usize = 1 << 16;

/// Why a text is not a sequence of moves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LettersError {
    /// The text is in the usual notation, and has an error.
    #[error(transparent)]
    Usual(#[from] SequenceError),
    /// The text is in letters, and has an error.
    #[error("{0}")]
    Letters(ExpressionError),
    /// A letter is not the name of a move.
    #[error(
        "at offset {at}: unknown move {name:?}. Moves of Square-1 are written (1,0)/(3,-3)/, or T1 / T3 B-3 /, or in Sambale's letters u d s A B C D t f"
    )]
    NoSuchMove {
        /// The byte offset.
        at: usize,
        /// The letter as written.
        name: String,
    },
    /// Powers make the sequence too long.
    #[error("the sequence has more than {MOST} moves")]
    TooLong,
}

impl Sequence {
    /// Reads the usual notation, `(1,0)/(3,-3)/`; the article's letters, `su^3[A,d]`; or the names of moves,
    /// `T3 B-1 /`. In letters and names, all turns of one layer between two twists are combined into one.
    ///
    /// # Errors
    /// [`LettersError`] with the place and the reason.
    pub fn read(text: &str) -> Result<Self, LettersError> {
        if !text.contains(char::is_alphabetic) {
            return Ok(text.parse()?);
        }
        let names = named();
        let mut sequence = Vec::new();
        let mut units = [0, 0];
        for turn in turns(text, &names)?.0 {
            // Twelve units are a whole turn.
            let times = turn.exponent % 12;
            let twists = match turn.generator.checked_sub(MOVES.len()).map(|at| names[at]) {
                Some(Turn::Layer(layer, of_one)) => {
                    units[layer as usize] += i64::from(of_one) * times;
                    continue;
                }
                None if turn.generator == 0 => {
                    units[Layer::Bottom as usize] -= times;
                    continue;
                }
                None if turn.generator == 1 => {
                    units[Layer::Top as usize] += times;
                    continue;
                }
                Some(Turn::Twist) | None => turn.exponent.unsigned_abs(),
            };
            if twists > (MOST - sequence.len().min(MOST)) as u64 {
                return Err(LettersError::TooLong);
            }
            sequence.extend(turned(std::mem::take(&mut units)));
            sequence.extend((0..twists).map(|_| Turn::Twist));
        }
        sequence.extend(turned(units));
        Ok(Self(sequence))
    }
}

/// Returns the turns of both layers by these numbers of units, modulo whole turns.
fn turned([top, bottom]: [i64; 2]) -> impl Iterator<Item = Turn> {
    Turn::of_layer(Layer::Top, top).into_iter().chain(Turn::of_layer(Layer::Bottom, bottom))
}

/// Returns the moves for names such as `T3`, `B-1` and `/`.
fn named() -> Vec<Turn> {
    let of = |layer| (-5..=6).filter_map(move |units| Turn::of_layer(layer, units));
    of(Layer::Top).chain(of(Layer::Bottom)).chain([Turn::Twist]).collect()
}

/// Returns the moves for a text of letters and names, with their exponents.
fn turns(text: &str, names: &[Turn]) -> Result<Turns, LettersError> {
    let one = |generator| Turns(vec![fathom_algebra::Turn { generator, exponent: 1 }]);
    let mut known = |name: &str| {
        if let Some(generator) = MOVES.iter().position(|letter| *letter == name) {
            return Ok(Some(one(generator)));
        }
        if let Some(at) = names.iter().position(|turn| turn.to_string() == name) {
            return Ok(Some(one(MOVES.len() + at)));
        }
        match MANOEUVRES.iter().find(|(letter, _)| *letter == name) {
            Some((_, made_of)) => {
                Ok(Some(turns(made_of, names).expect("the article's manoeuvres can be read")))
            }
            None => Ok(None),
        }
    };
    let read = expression::sequence(text, &Turns::default(), &mut known);
    let read = read.map_err(|error| match error {
        ExpressionError::NoSuchGenerator { at, name, .. } => LettersError::NoSuchMove { at, name },
        other => LettersError::Letters(other),
    })?;
    Ok(read.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<String, String> {
        Sequence::read(text).map(|sequence| sequence.to_string()).map_err(|error| error.to_string())
    }

    /// The letters agree with the description in `docs/square-1.md`; another test applies the manoeuvres move
    /// by move.
    #[test]
    fn letters_match_the_article() {
        for (letters, usual) in [
            ("s", "/"),
            ("u^3", "(0,-3)"),
            ("d^3", "(3,0)"),
            ("[s,u^3]", "/(0,-3)/(0,3)"),
            ("A", "/(0,-3)/(0,3)/(0,-3)/(0,3)/"),
            ("B", "/(0,-3)/(0,3)/(0,-3)/(0,3)/(3,0)/(0,-3)/(0,3)/(0,-3)/(0,3)/(-3,0)"),
            ("su^6su^6su^6", "/(0,6)/(0,6)/(0,6)"),
            ("", ""),
            ("(1,0)/(3,-3)/", "(1,0)/(3,-3)/"),
            ("T1 / T3 B-3 /", "(1,0)/(3,-3)/"),
        ] {
            assert_eq!(read(letters).as_deref(), Ok(usual), "{letters}");
        }
        assert_eq!(read("C").as_deref(), Ok("(-1,-1)/(1,1)/(6,0)/(-1,-1)/(-5,1)"));
        assert_eq!(read("D"), read("B C B^-1 C^-1"));
        assert_eq!(read("t"), read("ud^-1 s du^-1 s"));
        assert_eq!(read("f s f'"), read("su^3d^-3sud^-2su^2d^2s d^-2u^-2s d^2u^-1s d^3u^-3s"));
    }

    #[test]
    fn invalid_sequences_are_rejected() {
        for (text, says) in [
            ("u q", "at offset 2: unknown move \"q\". Moves of Square-1 are written (1,0)/"),
            ("[s,u", "this '[' is not closed"),
            ("(1,0)x", "at offset 1: unknown move \"1\""),
            ("s^99999999", "the sequence has more than"),
            ("(1,2,3)", "is not a pair of turns"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_rejected(text in ".*|[-udsABCDt0-9^\\[\\](),/ ']{0,16}") {
            if let Ok(sequence) = Sequence::read(&text) {
                prop_assert_eq!(Sequence::read(&sequence.to_string()).unwrap(), sequence);
            }
        }
    }
}
