//! Sequences of moves as cubing.js and twsearch write them: `R U R'`, `R2`, groups `(R U)3`, conjugates `[A: B]`,
//! which are A B A', and commutators `[A, B]`, which are A B A' B'.

use fathom_algebra::OrientedPermutation;

/// How deep brackets may be nested.
const MAX_DEPTH: usize = 32;

/// The permutation that a sequence makes, read from left to right. `move_named` tells what a name does, or why it
/// does nothing; a name that it does not know is tried again without `'` and without the number at its end.
///
/// # Errors
/// The byte offset, and what is wrong there.
pub fn evaluate(
    text: &str,
    identity: &OrientedPermutation,
    move_named: &mut dyn FnMut(&str) -> Result<Option<OrientedPermutation>, String>,
) -> Result<OrientedPermutation, (usize, String)> {
    let mut reader = Reader { text, at: 0, identity, move_named };
    let product = reader.sequence(0)?;
    match reader.peek() {
        None => Ok(product),
        Some(found) => Err((reader.at, format!("expected a move, found {found:?}"))),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    identity: &'a OrientedPermutation,
    move_named: &'a mut dyn FnMut(&str) -> Result<Option<OrientedPermutation>, String>,
}

impl Reader<'_> {
    fn sequence(&mut self, depth: usize) -> Result<OrientedPermutation, (usize, String)> {
        if depth > MAX_DEPTH {
            return Err((self.at, format!("brackets are nested more than {MAX_DEPTH} deep")));
        }
        let mut product = self.identity.clone();
        loop {
            let next = match self.peek() {
                None | Some(']' | ')' | ':' | ',') => return Ok(product),
                Some('[') => {
                    self.at += 1;
                    let a = self.sequence(depth + 1)?;
                    let commutator = self.peek() == Some(',');
                    self.expect(if commutator { ',' } else { ':' })?;
                    let b = self.sequence(depth + 1)?;
                    self.expect(']')?;
                    let conjugate = a.then(&b).then(&a.inverse());
                    let whole = if commutator { conjugate.then(&b.inverse()) } else { conjugate };
                    self.amount(&whole)?
                }
                Some('(') => {
                    self.at += 1;
                    let group = self.sequence(depth + 1)?;
                    self.expect(')')?;
                    self.amount(&group)?
                }
                Some(_) => self.one_move()?,
            };
            product = product.then(&next);
        }
    }

    fn one_move(&mut self) -> Result<OrientedPermutation, (usize, String)> {
        let start = self.at;
        let rest = &self.text[start..];
        let end = rest.find(|c: char| c.is_whitespace() || "[]():,".contains(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        self.at += end;
        let unprimed = word.strip_suffix('\'').unwrap_or(word);
        let base = unprimed.trim_end_matches(|c: char| c.is_ascii_digit());
        let sign = if unprimed == word { 1 } else { -1 };
        let times: i64 = unprimed[base.len()..].parse().unwrap_or(1);
        for (name, exponent) in [(word, 1), (unprimed, sign), (base, sign * times)] {
            if let Some(found) = (self.move_named)(name).map_err(|reason| (start, reason))? {
                return Ok(found.power(exponent));
            }
        }
        Err((start, format!("there is no move {word:?}")))
    }

    /// What stands behind a bracket, applied to what is in it: `2`, `'`, `3'`.
    fn amount(&mut self, of: &OrientedPermutation) -> Result<OrientedPermutation, (usize, String)> {
        let start = self.at;
        let digits = self.text[start..].bytes().take_while(u8::is_ascii_digit).count();
        self.at += digits;
        let times: i64 = match &self.text[start..self.at] {
            "" => 1,
            written => written.parse().map_err(|_| (start, format!("{written} times is too often")))?,
        };
        let prime = self.text[self.at..].starts_with('\'');
        self.at += usize::from(prime);
        Ok(of.power(if prime { -times } else { times }))
    }

    /// The next character that is not blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn expect(&mut self, wanted: char) -> Result<(), (usize, String)> {
        match self.peek() {
            Some(found) if found == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(found) => Err((self.at, format!("expected {wanted:?}, found {found:?}"))),
            None => Err((self.at, format!("expected {wanted:?}, found the end"))),
        }
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
        evaluate(text, &identity, &mut moves)
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
    fn what_is_no_sequence_is_refused() {
        assert_eq!(run("R F").unwrap_err(), "2: there is no move \"F\"");
        assert_eq!(run("[R U]").unwrap_err(), "4: expected ':', found ']'");
        assert_eq!(run("(R").unwrap_err(), "2: expected ')', found the end");
        assert_eq!(run("R)").unwrap_err(), "1: expected a move, found ')'");
        assert_eq!(run(&"(".repeat(99)).unwrap_err(), "33: brackets are nested more than 32 deep");
        assert_eq!(run("(R)99999999999999999999").unwrap_err(), "3: 99999999999999999999 times is too often");
    }
}
