//! Sequences of moves in files, as cubing.js and twsearch write them. The [reader of all
//! sequences](fathom_algebra::expression) reads them.

use fathom_algebra::expression::Element;
use fathom_algebra::{ExpressionError, OrientedPermutation, expression};
use std::collections::BTreeSet;

/// The largest number of bytes of all sequences of a file together.
pub const MAX_BYTES: usize = 1 << 20;

/// Returns the permutation of a sequence, read from left to right. `move_named` returns the action of
/// the move of a name of at most `longest` bytes, `None` if there is no such move, or the reason why the name
/// cannot be used.
///
/// # Errors
/// The byte offset of the fault, and the reason.
pub fn evaluate(
    text: &str,
    identity: &OrientedPermutation,
    longest: usize,
    move_named: &mut dyn FnMut(&str) -> Result<Option<OrientedPermutation>, String>,
) -> Result<OrientedPermutation, (usize, String)> {
    match expression::sequence_of(text, identity, longest, move_named) {
        Ok(product) => Ok(product.unwrap_or_else(|| identity.clone())),
        Err(error) => Err(fault(error)),
    }
}

/// Returns the names that a sequence consists of, whatever they mean. `is_name` recognises all names of the
/// file, because how a text without blanks splits into names depends on all of them; none is longer than
/// `longest` bytes.
///
/// # Errors
/// The byte offset of the fault, and the reason.
pub fn names_in(
    text: &str,
    longest: usize,
    is_name: impl Fn(&str) -> bool,
) -> Result<BTreeSet<String>, (usize, String)> {
    let mut named = |name: &str| Ok(is_name(name).then(|| Names(BTreeSet::from([name.to_owned()]))));
    match expression::sequence_of(text, &Names::default(), longest, &mut named) {
        Ok(names) => Ok(names.unwrap_or_default().0),
        Err(error) => Err(fault(error)),
    }
}

/// The names that an expression consists of.
#[derive(Clone, Debug, Default)]
struct Names(BTreeSet<String>);

impl Element for Names {
    fn then(mut self, next: &Self) -> Option<Self> {
        self.0.extend(next.0.iter().cloned());
        Some(self)
    }

    fn inverse(&self) -> Self {
        self.clone()
    }

    fn power(&self, _: i64) -> Option<Self> {
        Some(self.clone())
    }
}

/// Returns the byte offset of a fault, and the reason.
fn fault(error: ExpressionError) -> (usize, String) {
    match error {
        ExpressionError::NoSuchGenerator { at, name, .. } => (at, format!("unknown move {name:?}")),
        error => (error.at(), error.reason()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_algebra::Permutation;

    fn run(text: &str) -> Result<String, String> {
        let named = |cycles| OrientedPermutation::from_cells(Permutation::parse(cycles, 5).unwrap());
        let identity = named("()");
        let mut moves = |name: &str| {
            Ok(match name {
                "R" => Some(named("(1,2,3)")),
                "U" => Some(named("(3,4,5)")),
                "2U" => Some(named("(1,2)")),
                _ => None,
            })
        };
        evaluate(text, &identity, 2, &mut moves)
            .map(|product| product.to_string())
            .map_err(|(at, reason)| format!("{at}: {reason}"))
    }

    #[test]
    fn sequences_are_read_from_left_to_right() {
        assert_eq!(run("R U").unwrap(), "(1,2,4,5,3)");
        assert_eq!(run("").unwrap(), "()");
        assert_eq!(run("R2").unwrap(), run("R'").unwrap());
        assert_eq!(run("R4'").unwrap(), run("R R").unwrap());
        assert_eq!(run("2U").unwrap(), "(1,2)");
        assert_eq!(run("[R: U]").unwrap(), run("R U R'").unwrap());
        assert_eq!(run("[R, U]").unwrap(), run("R U R' U'").unwrap());
        assert_eq!(run("[[R,U]2: (U R)3']'").unwrap(), run("[R, U] [R, U] (U R)3 [U, R] [U, R]").unwrap());
    }

    #[test]
    fn invalid_sequences_are_rejected() {
        assert_eq!(run("R F").unwrap_err(), "2: unknown move \"F\"");
        assert_eq!(run("[R U]").unwrap_err(), "4: expected ',' or ':', found ']'");
        assert_eq!(run("(R").unwrap_err(), "0: this '(' is not closed");
        assert_eq!(run("R)").unwrap_err(), "1: unmatched ')'");
        assert_eq!(
            run("(R)99999999999999999999").unwrap_err(),
            "3: the exponent 99999999999999999999 is too large"
        );
    }
}
