//! Elements written in generators: `f*l`, `(V1 H1^2)^-3`. A product is read from left to right, and its factors stand beside
//! each other, with `*` or blanks between them or nothing where a parenthesis stands; `^` and a number behind a factor is a
//! power, and `'` is `^-1`; `()` is the identity.

use crate::Permutation;

/// Why a text is no expression. Positions are byte offsets from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// Something else than what an expression allows at this place.
    #[error("at offset {at}: expected {expected}, found {}", found.map_or("the end".into(), |c| format!("{c:?}")))]
    Unexpected {
        /// Byte offset.
        at: usize,
        /// What was found: a character, or the end.
        found: Option<char>,
        /// What would have been right.
        expected: &'static str,
    },
    /// A name that no generator has.
    #[error("at offset {at}: there is no generator {name:?}: they are {known}")]
    NoSuchGenerator {
        /// Byte offset of the name.
        at: usize,
        /// The name as written.
        name: String,
        /// All names.
        known: String,
    },
    /// An exponent that does not fit 64 bits.
    #[error("at offset {at}: the exponent {exponent} is too large")]
    Exponent {
        /// Byte offset of the exponent.
        at: usize,
        /// The exponent as written.
        exponent: String,
    },
    /// A parenthesis that is not closed.
    #[error("at offset {at}: this '(' is not closed")]
    Open {
        /// Byte offset of the parenthesis.
        at: usize,
    },
}

/// A generator and its name: no empty one, and without blanks, parentheses, and `*`. Where several names begin a text, the longest
/// that ends there is meant: beside a generator `V1` there may be one that is called `V1^2`.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a str,
    /// The generator.
    pub action: &'a Permutation,
}

/// Reads an expression as an element of `degree` points. No word is made of it: exponents may be as large as 64 bits allow.
///
/// # Errors
/// [`ExpressionError`] with the place and the reason.
///
/// # Panics
/// If a generator is of another degree.
pub fn parse(text: &str, degree: usize, generators: &[Named]) -> Result<Permutation, ExpressionError> {
    Parser { text, at: 0, generators }.run(degree)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    generators: &'a [Named<'a>],
}

const FACTOR: &str = "a generator or '('";

impl Parser<'_> {
    /// The products in open parentheses wait on a stack of their own: texts may be nested deeper than calls.
    fn run(mut self, degree: usize) -> Result<Permutation, ExpressionError> {
        let mut product = Permutation::identity(degree);
        let mut waiting: Vec<(Permutation, usize)> = Vec::new();
        // Whether a factor has just ended, which '*' needs before it and ')' too, unless it follows '('.
        let mut ended = false;
        let mut opened = false;
        loop {
            let at_name = self.peek();
            let factor = match at_name {
                Some('(') => {
                    let identity = Permutation::identity(degree);
                    waiting.push((std::mem::replace(&mut product, identity), self.at));
                    self.at += 1;
                    (ended, opened) = (false, true);
                    continue;
                }
                Some(')') if ended || opened => {
                    let Some((outer, _)) = waiting.pop() else {
                        return Err(self.unexpected("'*', '^', a generator, or the end"));
                    };
                    self.at += 1;
                    std::mem::replace(&mut product, outer)
                }
                Some('*') if ended => {
                    self.at += 1;
                    ended = false;
                    continue;
                }
                None if ended => break,
                None | Some('*' | '^' | ')' | '\'') => return Err(self.unexpected(FACTOR)),
                Some(_) => self.generator()?.clone(),
            };
            product = product.then(&self.powers(factor)?);
            (ended, opened) = (true, false);
        }
        match waiting.last() {
            None => Ok(product),
            Some(&(_, at)) => Err(ExpressionError::Open { at }),
        }
    }

    /// The generator of the longest name that ends here.
    fn generator(&mut self) -> Result<&Permutation, ExpressionError> {
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_whitespace() || "*^()'".contains(c);
        let fits = |name: &str| {
            rest.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(ends))
        };
        let found = self.generators.iter().filter(|g| fits(g.name)).max_by_key(|g| g.name.len());
        let Some(found) = found else {
            let name = rest.split(ends).next().unwrap_or_default().to_owned();
            let known: Vec<&str> = self.generators.iter().map(|g| g.name).collect();
            return Err(ExpressionError::NoSuchGenerator { at: self.at, name, known: known.join(" ") });
        };
        self.at += found.name.len();
        Ok(found.action)
    }

    /// The powers behind a factor.
    fn powers(&mut self, mut factor: Permutation) -> Result<Permutation, ExpressionError> {
        loop {
            match self.peek() {
                Some('\'') => {
                    self.at += 1;
                    factor = factor.inverse();
                }
                Some('^') => {
                    self.at += 1;
                    factor = factor.power(self.exponent()?);
                }
                _ => return Ok(factor),
            }
        }
    }

    fn exponent(&mut self) -> Result<i64, ExpressionError> {
        let found = self.peek();
        let start = self.at;
        let sign = usize::from(found == Some('-'));
        let digits = self.text[start + sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            self.at += sign;
            return Err(self.unexpected("a number"));
        }
        self.at += sign + digits;
        let written = &self.text[start..self.at];
        written.parse().map_err(|_| ExpressionError::Exponent { at: start, exponent: written.into() })
    }

    /// The next character that is not blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn unexpected(&mut self, expected: &'static str) -> ExpressionError {
        let found = self.peek();
        ExpressionError::Unexpected { at: self.at, found, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Word;
    use crate::word::{Turn, orders};
    use proptest::prelude::*;

    const DEGREE: usize = 6;

    fn generators() -> Vec<(&'static str, Permutation)> {
        let read = |(name, cycles)| (name, Permutation::parse(cycles, DEGREE).unwrap());
        // A name that is a power of another generator, and means something else than that power.
        [("a", "(1,2)"), ("b", "(1,2,3,4,5,6)"), ("V1", "(2,4,6)"), ("V1^2", "(1,3,5)")].map(read).to_vec()
    }

    fn read(text: &str) -> Result<String, String> {
        let generators = generators();
        let named: Vec<Named> = generators.iter().map(|(name, action)| Named { name, action }).collect();
        let element = parse(text, DEGREE, &named);
        element.map(|element| element.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_product_of_the_article_has_order_105() {
        // "How to count the number of positions of Rubik's cube", HaskellForMaths, 2009: f*l.
        let cycles = [
            ("f", "(1,3,9,7)(2,6,8,4)(17,41,33,29)(18,44,32,26)(19,47,31,23)"),
            ("l", "(21,23,29,27)(22,26,28,24)(1,31,59,11)(4,34,56,14)(7,37,53,17)"),
        ];
        let [f, l] = cycles.map(|(name, cycles)| (name, Permutation::parse(cycles, 59).unwrap()));
        let named = [Named { name: f.0, action: &f.1 }, Named { name: l.0, action: &l.1 }];
        let product = parse("f*l", 59, &named).unwrap();
        assert_eq!(
            product.to_nested_lists(),
            "[[1,3,9,37,53,17,41,33,27,21,23,19,47,59,11],[2,6,8,34,56,14,4],[7,31,29],[18,44,32,28,24,22,26]]"
        );
        assert_eq!(product.order(), Some(105));
        assert!(parse("(f*l)^105", 59, &named).unwrap().is_identity());
        assert_eq!(parse("l^-1 f'", 59, &named).unwrap(), product.inverse());
    }

    #[test]
    fn expressions_mean_what_they_say() {
        for (one, other) in [
            ("a*b", "a b"),
            (" a  *  b ", "a b"),
            ("a(b)", "a*b"),
            ("(a)(b)", "a*b"),
            ("(a b)^2", "a b a b"),
            ("(a b)'", "b^-1 a"),
            ("b^2^3", "b^6"),
            ("b ^ -1", "b'"),
            ("b''", "b"),
            ("()", "b^0"),
            ("a * () * b", "a b"),
            ("((((a)))^3)", "a"),
            ("b^9223372036854775807", "b"),
            ("V1^3", "()"),
            ("V1^2", "V1^2^4"),
            ("V1^2^3", "()"),
            ("(V1)^2", "V1^-1"),
        ] {
            assert_eq!(read(one).unwrap(), read(other).unwrap(), "{one} = {other}");
        }
        assert_eq!(read("V1^2").unwrap(), "(1,3,5)");
        assert_eq!(read("(V1)^2").unwrap(), "(2,6,4)");
    }

    #[test]
    fn errors_name_place_and_reason() {
        for (text, says) in [
            ("", "at offset 0: expected a generator or '(', found the end"),
            ("  ", "at offset 2: expected a generator or '(', found the end"),
            ("a*", "at offset 2: expected a generator or '(', found the end"),
            ("a**b", "at offset 2: expected a generator or '(', found '*'"),
            ("*a", "at offset 0: expected a generator or '(', found '*'"),
            ("^2", "at offset 0: expected a generator or '(', found '^'"),
            ("(a*)", "at offset 3: expected a generator or '(', found ')'"),
            ("a)", "at offset 1: expected '*', '^', a generator, or the end, found ')'"),
            ("b (a (b)", "at offset 2: this '(' is not closed"),
            ("(", "at offset 1: expected a generator or '(', found the end"),
            ("a^", "at offset 2: expected a number, found the end"),
            ("a^-b", "at offset 3: expected a number, found 'b'"),
            ("a^+1", "at offset 2: expected a number, found '+'"),
            ("a^99999999999999999999", "at offset 2: the exponent 99999999999999999999 is too large"),
            ("a*ab", "at offset 2: there is no generator \"ab\": they are a b V1 V1^2"),
            ("é", "at offset 0: there is no generator \"é\": they are a b V1 V1^2"),
            ("V1^2x", "at offset 4: there is no generator \"x\": they are a b V1 V1^2"),
            ("2", "at offset 0: there is no generator \"2\": they are a b V1 V1^2"),
        ] {
            assert_eq!(read(text).unwrap_err(), says, "{text:?}");
        }
    }

    #[test]
    fn nesting_is_as_deep_as_the_text_is_long() {
        let text = format!("{}b{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(read(&text), read("b"));
        assert_eq!(
            read(&"(".repeat(100_000)).unwrap_err(),
            "at offset 100000: expected a generator or '(', found the end"
        );
    }

    proptest! {
        #[test]
        fn words_are_read_as_they_are_written(turns in proptest::collection::vec((0_usize..4, -6_i64..7), 0..12)) {
            let (names, generators): (Vec<_>, Vec<_>) = generators().into_iter().unzip();
            let orders = orders(&generators);
            let mut word = Word::identity();
            turns.into_iter().for_each(|(generator, exponent)| word.push(Turn { generator, exponent }, &orders));
            prop_assert_eq!(read(&word.written(&names)).unwrap(), word.product(DEGREE, &generators).to_string());
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = read(&text);
        }

        #[test]
        fn nearly_valid_texts_are_read_or_refused_with_a_place(text in "[abV12()*^' é-]{0,24}") {
            if let Err(message) = read(&text) {
                let at: usize = message["at offset ".len()..message.find(':').unwrap()].parse().unwrap();
                prop_assert!(text.is_char_boundary(at), "{}", message);
            }
        }
    }
}
