//! Rewrites sequences with rotations of the whole puzzle as sequences without them.
//!
//! A turn of the left face of the 2x2x2 cube is a turn of its right face followed by a rotation of the whole
//! cube. So three faces suffice instead of six, if the moves that follow are renamed: if the sequence so far
//! equals Q r, with a rotation r of the whole puzzle, the next move x gives Q r x = Q (r x r⁻¹) r, and r x
//! r⁻¹ is a move again.

use crate::definition::FreeGroup;
use crate::{Definition, Generator};
use fathom_algebra::{
    ExpressionError, OrientedPermutation, Turn, Turns, begins_with, expression, power_name,
};
use std::borrow::Cow;

/// A puzzle with free moves, and a selection of its moves that can replace all others.
#[derive(Debug)]
pub struct RotationNormalizer<'d> {
    whole: &'d Definition,
    /// The group of the free moves: the rotations of the whole puzzle.
    turns: FreeGroup,
    /// Of the moves that differ by a power and a rotation, the one that is listed first.
    moves: Vec<&'d Generator>,
    /// The rotation z, if the free moves x and y define one.
    third: Option<Generator>,
}

/// Why a sequence cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NormalizeError {
    /// The puzzle has no free moves.
    #[error("{0} has no free moves (rotations of the whole puzzle), so there is nothing to convert")]
    NotFree(String),
    /// The group of the free moves is larger than the rotation group of any solid.
    #[error("the free moves of {puzzle} generate more than {limit} rotations of the whole puzzle", limit = Definition::MAX_FREE)]
    TooManyTurns {
        /// The puzzle.
        puzzle: String,
    },
    /// A word of the sequence is not a move.
    #[error(
        "unknown move {word:?}. Moves of {puzzle}: {known}. Each may be followed by a number, by ' or by both"
    )]
    NotAMove {
        /// The word as written.
        word: String,
        /// The puzzle.
        puzzle: String,
        /// The names of moves and free moves, with blanks between them.
        known: String,
    },
    /// A sequence with brackets or powers cannot be read.
    #[error("{0}")]
    Sequence(ExpressionError),
    /// A move does not become any of the selected moves.
    #[error(
        "{word:?} cannot be converted: without the rotations before it, it is a move for which {puzzle} has no name"
    )]
    Unnamed {
        /// The word as written.
        word: String,
        /// The puzzle.
        puzzle: String,
    },
}

/// A move or a rotation in a sequence.
struct SequenceTurn<'h, 't> {
    word: Cow<'t, str>,
    generator: &'h Generator,
    is_free: bool,
    /// The text after the name.
    suffix: Cow<'t, str>,
    exponent: i64,
}

impl Definition {
    /// Returns the rotation z, in the direction in which F turns, of a puzzle whose free moves are x
    /// and y, in the directions of R and U: z = x y x⁻¹, because x brings F to the place of U. `None` if
    /// there are no such free moves, or if the name `z` is taken.
    pub fn third_rotation(&self) -> Option<Generator> {
        let free = |name: &str| self.free().iter().find(|generator| generator.name == name);
        let mut named = self.moves().iter().chain(self.free()).chain(self.spare());
        let (x, y) = (free("x")?, free("y")?);
        let z = x.action.then(&y.action).then(&x.action.inverse());
        let is_taken = named.any(|generator| generator.name == "z");
        (!is_taken).then(|| Generator {
            name: "z".into(),
            action: z,
            guard: Box::default(),
            asks: Box::default(),
        })
    }
}

impl<'d> RotationNormalizer<'d> {
    /// Selects the moves of a puzzle with free moves.
    ///
    /// # Errors
    /// [`NormalizeError`] if there are no free moves, or if they generate more than [`Definition::MAX_FREE`]
    /// rotations.
    pub fn new(whole: &'d Definition) -> Result<Self, NormalizeError> {
        if whole.free().is_empty() {
            return Err(NormalizeError::NotFree(whole.name().into()));
        }
        let turns =
            whole.free_group().map_err(|_| NormalizeError::TooManyTurns { puzzle: whole.name().into() })?;
        let mut held = Self { whole, turns, moves: Vec::new(), third: whole.third_rotation() };
        for listed in whole.moves() {
            if held.split(&listed.action, 1).is_none() {
                held.moves.push(listed);
            }
        }
        Ok(held)
    }

    /// Returns the names of the selected moves, with which sequences are written.
    pub fn moves(&self) -> impl Iterator<Item = &str> {
        self.moves.iter().map(|generator| generator.name.as_str())
    }

    /// Writes a sequence with only the selected moves. Each move keeps its place, and the text after its
    /// name if that text is still correct.
    ///
    /// # Errors
    /// [`NormalizeError`] for the first word that is not a move, or does not become a selected move.
    pub fn convert(&self, sequence: &str) -> Result<String, NormalizeError> {
        let mut turned = OrientedPermutation::identity(self.whole.orientation_counts());
        let mut words = Vec::new();
        for step in self.steps(sequence) {
            let SequenceTurn { word, generator, is_free, suffix, exponent } = step?;
            let action = generator.action.power(exponent);
            if is_free {
                turned = turned.then(&action);
                continue;
            }
            let renamed = turned.then(&action).then(&turned.inverse());
            let (kept, power, turn) = self.split(&renamed, exponent).ok_or_else(|| {
                NormalizeError::Unnamed { word: word.into_owned(), puzzle: self.whole.name().into() }
            })?;
            turned = turn.then(&turned);
            let as_written = format!("{}{suffix}", kept.name);
            let known = || self.known().map(|(other, _)| &*other.name);
            words.push(match power == exponent && begins_with(&as_written, &kept.name, known()) {
                true => as_written,
                false => power_name(&kept.name, power, known()),
            });
        }
        Ok(words.join(" "))
    }

    /// Returns whether two sequences lead to the same state, up to a rotation.
    ///
    /// # Errors
    /// [`NormalizeError`] for the first word that is not a move.
    pub fn are_alike(&self, one: &str, other: &str) -> Result<bool, NormalizeError> {
        let difference = self.product(one)?.inverse().then(&self.product(other)?);
        Ok(self.turns.contains(&difference))
    }

    fn product(&self, sequence: &str) -> Result<OrientedPermutation, NormalizeError> {
        let identity = OrientedPermutation::identity(self.whole.orientation_counts());
        self.steps(sequence).into_iter().try_fold(identity, |done, step| {
            let SequenceTurn { generator, exponent, .. } = step?;
            Ok(done.then(&generator.action.power(exponent)))
        })
    }

    /// Splits `action` into a power of a selected move and a rotation after the power. The power
    /// `exponent` is tried first.
    fn split(
        &self,
        action: &OrientedPermutation,
        exponent: i64,
    ) -> Option<(&'d Generator, i64, OrientedPermutation)> {
        self.moves.iter().find_map(|&kept| {
            let order = kept.action.order().map_or(0, |order| i64::try_from(order).unwrap_or(0));
            std::iter::once(exponent).chain(1..order.min(i64::from(u8::MAX))).find_map(|power| {
                let turn = kept.action.power(-power).then(action);
                self.turns.contains(&turn).then_some((kept, power, turn))
            })
        })
    }

    /// Returns the steps of a sequence: its words, if each of them is a move; otherwise the moves of the
    /// sequence as an expression with brackets or without blanks.
    fn steps<'t>(&self, sequence: &'t str) -> Vec<Result<SequenceTurn<'_, 't>, NormalizeError>> {
        let words: Vec<_> = self.words(sequence).collect();
        if words.iter().all(Result::is_ok) {
            return words;
        }
        match self.written_out(sequence) {
            Ok(steps) => steps.into_iter().map(Ok).collect(),
            Err(error) if sequence.contains(['(', ')', '[', ']', '^']) => {
                vec![Err(self.not_an_expression(error))]
            }
            Err(_) => words,
        }
    }

    fn not_an_expression(&self, error: ExpressionError) -> NormalizeError {
        match error {
            ExpressionError::NoSuchGenerator { name, .. } => self.not_a_move(&name),
            error => NormalizeError::Sequence(error),
        }
    }

    fn not_a_move(&self, word: &str) -> NormalizeError {
        let known: Vec<&str> = self.known().map(|(generator, _)| generator.name.as_str()).collect();
        NormalizeError::NotAMove {
            word: word.into(),
            puzzle: self.whole.name().into(),
            known: known.join(" "),
        }
    }

    /// Returns the moves of a sequence that may have brackets or lack blanks, after everything has been
    /// multiplied out.
    fn written_out<'t>(&self, sequence: &str) -> Result<Vec<SequenceTurn<'_, 't>>, ExpressionError> {
        let known: Vec<&Generator> = self.known().map(|(generator, _)| generator).collect();
        let mut named = |name: &str| {
            let found = known.iter().position(|generator| generator.name == name);
            Ok(found.map(|generator| Turns(vec![Turn { generator, exponent: 1 }])))
        };
        let turns = expression::sequence(sequence, &Turns::default(), &mut named)?.unwrap_or_default();
        let step = |turn: Turn| {
            let generator = known[turn.generator];
            let name = power_name(&generator.name, turn.exponent, std::iter::empty());
            let suffix = name[generator.name.len()..].to_owned().into();
            let is_free = turn.generator >= self.whole.moves().len();
            SequenceTurn { word: name.into(), generator, is_free, suffix, exponent: turn.exponent }
        };
        Ok(turns.0.into_iter().filter(|turn| turn.exponent != 0).map(step).collect())
    }

    /// Returns the moves and the rotations, each with whether it is a rotation.
    fn known(&self) -> impl Iterator<Item = (&Generator, bool)> + Clone {
        let free = self.whole.free().iter().chain(&self.third);
        self.whole.moves().iter().map(|g| (g, false)).chain(free.map(|g| (g, true)))
    }

    /// Reads the words of a sequence, separated by blanks: each is a name, optionally followed by a number,
    /// `'` or both.
    fn words<'h, 't>(
        &'h self,
        sequence: &'t str,
    ) -> impl Iterator<Item = Result<SequenceTurn<'h, 't>, NormalizeError>> + use<'h, 't, 'd> {
        let known: Vec<(&'h Generator, bool)> = self.known().collect();
        sequence.split_whitespace().map(move |word| {
            let unprimed = word.strip_suffix('\'').unwrap_or(word);
            let sign = if unprimed == word { 1 } else { -1 };
            let base = unprimed.trim_end_matches(|c: char| c.is_ascii_digit());
            let times =
                unprimed[base.len()..].parse().ok().filter(|times| (1..=i64::from(u32::MAX)).contains(times));
            let readings =
                [(word, Some(1)), (unprimed, Some(sign)), (base, times.map(|times: i64| sign * times))];
            let step = readings.into_iter().find_map(|(name, exponent)| {
                let &(generator, is_free) = known.iter().find(|(generator, _)| generator.name == name)?;
                Some(SequenceTurn {
                    word: word.into(),
                    generator,
                    is_free,
                    suffix: word[name.len()..].into(),
                    exponent: exponent?,
                })
            });
            step.ok_or_else(|| self.not_a_move(word))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family;
    use proptest::prelude::*;

    fn cube() -> Definition {
        family::in_hand("2x2x2").unwrap()
    }

    fn converted(sequence: &str) -> String {
        RotationNormalizer::new(&cube()).unwrap().convert(sequence).unwrap()
    }

    /// Two pairs from the cubing forum, thread "2x2x2 Cube", message "To Group or Not to Group".
    #[test]
    fn published_pairs() {
        assert_eq!(converted("B' R B D D R' B D' B' R B'"), "F' U F U U R' U R' U' R F'");
        assert_eq!(converted("L' B' D D L D' L L D' B"), "R' U' F F R F' U U F' U");
    }

    #[test]
    fn spelling_is_kept_and_rotations_are_removed() {
        assert_eq!(converted("U R2 F2' U3 R'"), "U R2 F2' U3 R'");
        // After the half rotation, the bottom layer is on top.
        assert_eq!(converted("L2 D"), "R2 U");
        assert_eq!(converted("x y2 x'"), "");
        assert_eq!(converted("y R"), converted("B y"));
        // z brings U to the right, where R turns it.
        assert_eq!(converted("z R"), converted("U z"));
        assert_eq!(converted("z F"), "F");
        assert_eq!(converted("[R: z]2 y z'"), converted("R z R' R z R'"));
        assert_eq!(converted(""), "");
    }

    #[test]
    fn brackets_and_unspaced_words_are_expanded() {
        assert_eq!(converted("[L, B']"), converted("L B' L' B"));
        assert_eq!(converted("(L D)2 x"), converted("L D L D x"));
        assert_eq!(converted("LB'D2"), converted("L B' D2"));
        assert_eq!(converted("U'' R^{-1}"), "U R'");
    }

    #[test]
    fn invalid_sequences_are_rejected() {
        let cube = cube();
        let held = RotationNormalizer::new(&cube).unwrap();
        assert_eq!(held.moves().collect::<Vec<_>>(), ["U", "R", "F"]);
        for word in ["X", "u", "2", "U-1", "Z"] {
            let error = held.convert(&format!("R {word} U")).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("unknown move {word:?}. Moves of 2x2x2: U R F D L B x y z. ")),
                "{error}"
            );
        }
        for (sequence, says) in [
            ("R U)", "at offset 3: unmatched ')'"),
            ("[R, (U F]", "at offset 8: expected ')'"),
            ("(R U", "at offset 0: this '(' is not closed"),
            ("(R U L)^30000", "at offset 8: the exponent 30000 is too large"),
            ("R^", "at offset 2: expected "),
            ("(R X U)2", "unknown move \"X\". Moves of 2x2x2"),
        ] {
            let error = held.convert(sequence).unwrap_err().to_string();
            assert!(error.contains(says), "{sequence}: {error}");
        }
        let pocket = family::by_name("2x2x2").unwrap();
        assert!(
            RotationNormalizer::new(&pocket).unwrap_err().to_string().starts_with("2x2x2 has no free moves")
        );
    }

    /// With one face and rotations, a sequence can need other faces, which have no names.
    #[test]
    fn unnamed_moves_are_rejected() {
        let cube = cube();
        let mut one_face = Definition::new("one", cube.orbits().to_vec()).unwrap();
        one_face.add_move("U", cube.moves()[0].action.clone()).unwrap();
        for free in cube.free() {
            one_face.add_free(free.name.clone(), free.action.clone()).unwrap();
        }
        let held = RotationNormalizer::new(&one_face).unwrap();
        assert_eq!(held.convert("U y U x2 U'").unwrap(), "U U U'");
        assert!(matches!(held.convert("U x U"), Err(NormalizeError::Unnamed { word, .. }) if word == "U"));
    }

    proptest! {
        #[test]
        fn conversion_preserves_the_state(
            words in prop::collection::vec(("[URFDLBxyz]", prop::sample::select(vec!["", "'", "2", "2'", "3", "4"])), 0..40),
        ) {
            let cube = cube();
            let held = RotationNormalizer::new(&cube).unwrap();
            let words: Vec<String> = words.into_iter().map(|(name, suffix)| name + suffix).collect();
            let sequence = words.join(" ");
            let converted = held.convert(&sequence).unwrap();
            prop_assert!(held.are_alike(&sequence, &converted).unwrap(), "{sequence}: {converted}");
            let moves = words.iter().filter(|word| !word.starts_with(['x', 'y', 'z'])).count();
            prop_assert_eq!(converted.split_whitespace().count(), moves);
            prop_assert!(converted.split_whitespace().all(|word| word.starts_with(['U', 'R', 'F'])));
            let longer = format!("{converted} U");
            prop_assert!(!held.are_alike(&sequence, &longer).unwrap());
        }

        #[test]
        fn any_text_is_converted_or_rejected(text in ".*", near in "[URFDLBxyz0-3' ]{0,30}") {
            let cube = cube();
            let held = RotationNormalizer::new(&cube).unwrap();
            for text in [text, near] {
                if let Ok(converted) = held.convert(&text) {
                    prop_assert!(held.are_alike(&text, &converted).unwrap());
                }
            }
        }
    }
}
