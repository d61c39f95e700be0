//! Reads expressions: elements written in generators, and sequences of moves.
//!
//! | written | meaning |
//! |---|---|
//! | `f*l`, `f l`, `f, l`, `V1(H1)` | a product, read from left to right |
//! | `FR'`, `flffudrll` | a product of names without blanks, if there is only one way to read it |
//! | `a^-2`, `(V1 H1^2)^-3`, `V_1^{-1}` | a power; a name may have `_` and braces, as in formulas |
//! | `R'`, `R2`, `R2'` | a power, as on cubes; a number requires a name that does not end in a digit |
//! | `R’`, `R‘`, `R′`, `R´`, `Rʹ`, `Rʼ`, `R＇` | `R'`, if no name has the character |
//! | `(R U)3` | a power: a number directly after a bracket |
//! | `[A, B]`, `[A: B]` | the commutator A B A' B', and the conjugate A B A' |
//! | `()`, `.` | the identity |
//! | `(1,2,3)`, `[[1,2,3],[4,5]]` | cycles, in [`parse`], unless a generator has a number as its name |
//!
//! The caller defines the names. They need not be permutations: any type with products, inverses and powers
//! can be an [`Element`], for instance the list of [turns](Turns) of a sequence.

mod error;

pub use error::ExpressionError;

use crate::word::Turn;
use crate::{OrientedPermutation, Permutation};
use std::collections::{BTreeMap, HashMap};

/// A value that expressions compute with.
pub trait Element: Clone {
    /// Returns the product of this element and `next`; `None` if the result is too large to be represented.
    fn then(self, next: &Self) -> Option<Self>;
    /// Returns the inverse.
    fn inverse(&self) -> Self;
    /// Returns the power with this exponent; `None` if the result is too large to be represented.
    fn power(&self, exponent: i64) -> Option<Self>;
}

impl Element for Permutation {
    fn then(self, next: &Self) -> Option<Self> {
        Some(Permutation::then(&self, next))
    }

    fn inverse(&self) -> Self {
        self.inverse()
    }

    fn power(&self, exponent: i64) -> Option<Self> {
        Some(self.power(exponent))
    }
}

impl Element for OrientedPermutation {
    fn then(self, next: &Self) -> Option<Self> {
        Some(OrientedPermutation::then(&self, next))
    }

    fn inverse(&self) -> Self {
        self.inverse()
    }

    fn power(&self, exponent: i64) -> Option<Self> {
        Some(self.power(exponent))
    }
}

/// A sequence of turns. Products are not reduced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns(pub Vec<Turn>);

impl Turns {
    /// The largest number of turns that a power may have.
    const MOST: usize = 1 << 16;
}

impl Element for Turns {
    fn then(mut self, next: &Self) -> Option<Self> {
        self.0.extend_from_slice(&next.0);
        (self.0.len() <= MAX_FACTORS).then_some(self)
    }

    fn inverse(&self) -> Self {
        Self(
            self.0
                .iter()
                .rev()
                .map(|turn| Turn { exponent: turn.exponent.saturating_neg(), ..*turn })
                .collect(),
        )
    }

    fn power(&self, exponent: i64) -> Option<Self> {
        if let [turn] = self.0[..] {
            return Some(Self(vec![Turn { exponent: turn.exponent.checked_mul(exponent)?, ..turn }]));
        }
        let times = usize::try_from(exponent.unsigned_abs()).ok()?;
        let once = if exponent < 0 { self.inverse() } else { self.clone() };
        (self.0.len().saturating_mul(times) <= Self::MOST).then(|| Self(once.0.repeat(times)))
    }
}

/// Characters that word processors and web pages substitute for `'`. Names may have these characters, too.
const PRIMES: [char; 7] = ['\u{2018}', '\u{2019}', '\u{2032}', '\u{b4}', '\u{2b9}', '\u{2bc}', '\u{ff07}'];
/// The maximum number of factors in a text. The limit bounds the time for untrusted text.
const MAX_FACTORS: usize = 1 << 18;
/// The longest name that is looked up, in bytes.
pub const MAX_NAME: usize = 64;
/// The longest text of names without blanks between them, in bytes.
const MAX_WORD: usize = 1 << 10;

/// A generator and its name. A name is not empty, and has no blanks, parentheses, or `*`. If several names
/// match the start of a text, the longest one that ends where a name can end is used: besides a generator
/// `V1` there may be a generator called `V1^2`.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a str,
    /// The generator.
    pub action: &'a Permutation,
}

/// Reads an expression as a permutation of `degree` points. Powers are computed directly, so exponents may be
/// as large as 64 bits allow.
///
/// # Errors
/// [`ExpressionError`] with the place and the reason. An empty text is an error.
///
/// # Panics
/// If a generator that occurs in the text is not of degree `degree`.
pub fn parse(text: &str, degree: usize, generators: &[Named]) -> Result<Permutation, ExpressionError> {
    let has_numbers = generators.iter().any(|g| g.name.bytes().all(|byte| byte.is_ascii_digit()));
    let longest = generators.iter().map(|g| g.name.len()).max().unwrap_or(0);
    let mut named = |name: &str| match name.starts_with(['(', '[']) {
        true if has_numbers => Ok(None),
        true => Permutation::parse(name, degree).map(Some).map_err(|error| error.to_string()),
        false => Ok(generators.iter().find(|g| g.name == name).map(|g| g.action.clone())),
    };
    let product = sequence_of(text, &Permutation::identity(degree), longest, &mut named).map_err(
        |error| match error {
            ExpressionError::NoSuchGenerator { at, name, .. } => {
                let known: Vec<&str> = generators.iter().map(|g| g.name).collect();
                ExpressionError::NoSuchGenerator { at, name, known: known.join(" ") }
            }
            other => other,
        },
    )?;
    // A text without factors is not an expression.
    product.ok_or(ExpressionError::Unexpected { at: text.len(), found: None, expected: FACTOR })
}

/// Reads a sequence of elements, or returns `None` if the text is blank. `named` returns the element for a
/// name, `None` for an unknown name, or the reason why a known name cannot be used.
///
/// # Errors
/// [`ExpressionError`] with the place and the reason. In [`ExpressionError::NoSuchGenerator`] the list of
/// known names is empty.
pub fn sequence<E: Element>(
    text: &str,
    identity: &E,
    named: &mut dyn FnMut(&str) -> Result<Option<E>, String>,
) -> Result<Option<E>, ExpressionError> {
    sequence_of(text, identity, MAX_NAME, named)
}

/// Reads a sequence as [`sequence`] does, of names of at most `longest` bytes. `named` is not called for
/// longer names, which saves most of the time where words are long and names short.
///
/// # Errors
/// As [`sequence`].
pub fn sequence_of<E: Element>(
    text: &str,
    identity: &E,
    longest: usize,
    named: &mut dyn FnMut(&str) -> Result<Option<E>, String>,
) -> Result<Option<E>, ExpressionError> {
    let longest = longest.min(MAX_NAME);
    let mut read = |text: &str| {
        let known = HashMap::new();
        Parser { text, at: 0, identity, longest, named: &mut *named, known, is_formula: false, factors: 0 }
            .run()
    };
    let as_written = read(text);
    match as_written {
        Err(_) if text.contains(PRIMES) => read(&text.replace(PRIMES, "'")).or(as_written),
        _ => as_written,
    }
}

/// Returns the beginning of a text: at least `most` bytes if it is that long, and at most a few more.
fn beginning(text: &str, most: usize) -> &str {
    &text[..text.ceil_char_boundary(most)]
}

/// Returns the length of the cycle `(1,2,3)` or of the list of cycles `[[1,2,3],[4,5]]` with which a text
/// begins.
fn end_of_cycles(text: &str) -> Option<usize> {
    let is_list = text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('['));
    if !is_list && !text.starts_with('(') {
        return None;
    }
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' if at == 0 => depth += 1,
            '[' if is_list && depth < 2 => depth += 1,
            ')' | ']' => depth -= 1,
            c if c.is_ascii_digit() || c == ',' || c.is_whitespace() => {}
            _ => return None,
        }
        if depth == 0 {
            // `()` and `(7)` are not cycles of several points.
            return text[..at].contains(',').then_some(at + 1);
        }
    }
    None
}

struct Parser<'a, E> {
    text: &'a str,
    at: usize,
    identity: &'a E,
    /// The length of the longest name, in bytes.
    longest: usize,
    named: &'a mut dyn FnMut(&str) -> Result<Option<E>, String>,
    /// The elements that `named` has returned. Texts that are not names are not stored: a long word has
    /// millions of parts.
    known: HashMap<String, E>,
    /// Whether the current factor is read as in formulas.
    is_formula: bool,
    factors: usize,
}

/// An open bracket: the product before it, and its byte offset.
enum Open<E> {
    Parenthesis(E, usize),
    /// `[A`, before the comma or colon.
    First(E, usize),
    /// `[A,` or `[A:`: also the element A, and whether the bracket is a commutator.
    Second(E, usize, E, bool),
}

const FACTOR: &str = "a move or '('";
/// The characters at which a name ends. A name may contain some of them, such as `V1^2`.
const ENDS: &str = "*^()[]:,'";

impl<E: Element> Parser<'_, E> {
    /// Reads the whole text. Open brackets are kept on an explicit stack, because a text may be nested deeper
    /// than the call stack allows.
    fn run(mut self) -> Result<Option<E>, ExpressionError> {
        let mut product = self.identity.clone();
        let mut open: Vec<Open<E>> = Vec::new();
        // Whether a factor has just ended. `*` must follow a factor, and so must `)`, except right after
        // `(`.
        let mut ended = false;
        let mut opened = false;
        let mut is_empty = true;
        loop {
            let factor = match self.cycles()? {
                Some(cycles) => cycles,
                None => match self.peek() {
                    Some(bracket @ ('(' | '[')) => {
                        let before = std::mem::replace(&mut product, self.identity.clone());
                        open.push(match bracket {
                            '(' => Open::Parenthesis(before, self.at),
                            _ => Open::First(before, self.at),
                        });
                        self.at += 1;
                        (ended, opened) = (false, bracket == '(');
                        continue;
                    }
                    Some(separator @ (',' | ':')) if ended => {
                        match open.pop() {
                            Some(Open::First(before, at)) => {
                                let first = std::mem::replace(&mut product, self.identity.clone());
                                open.push(Open::Second(before, at, first, separator == ','));
                            }
                            // In parentheses, and outside of all brackets, a comma separates factors as a
                            // blank does.
                            other if separator == ',' && !matches!(other, Some(Open::Second(..))) => {
                                open.extend(other)
                            }
                            _ => return Err(self.unexpected("'*', '^', a move, or the end")),
                        }
                        self.at += 1;
                        ended = false;
                        continue;
                    }
                    Some(close @ (')' | ']')) if ended || opened && close == ')' => {
                        let whole = match (open.pop(), close) {
                            (Some(Open::Parenthesis(before, _)), ')') => {
                                std::mem::replace(&mut product, before)
                            }
                            (Some(Open::Second(before, _, a, is_commutator)), ']') => {
                                let b = std::mem::replace(&mut product, before);
                                let a_inverse = a.inverse();
                                let conjugate = a.then(&b).and_then(|product| product.then(&a_inverse));
                                match is_commutator {
                                    true => conjugate.and_then(|conjugate| conjugate.then(&b.inverse())),
                                    false => conjugate,
                                }
                                .ok_or(ExpressionError::TooLong { at: self.at })?
                            }
                            (Some(Open::First(..)), _) => return Err(self.unexpected("',' or ':'")),
                            (Some(Open::Second(..)), _) => return Err(self.unexpected("']'")),
                            (Some(Open::Parenthesis(..)), _) => return Err(self.unexpected("')'")),
                            (None, bracket) => {
                                return Err(ExpressionError::Closed { at: self.at, bracket });
                            }
                        };
                        self.at += 1;
                        self.times(whole)?
                    }
                    Some('*') if ended => {
                        self.at += 1;
                        ended = false;
                        continue;
                    }
                    None if ended || is_empty && open.is_empty() => break,
                    None | Some('*' | '^' | ')' | ']' | ':' | ',' | '\'') => {
                        return Err(self.unexpected(FACTOR));
                    }
                    Some(_) => {
                        let (before, last) = self.names()?;
                        if let Some(before) = before {
                            product =
                                product.then(&before).ok_or(ExpressionError::TooLong { at: self.at })?;
                        }
                        last
                    }
                },
            };
            is_empty = false;
            self.factors += 1;
            if self.factors > MAX_FACTORS {
                return Err(ExpressionError::TooLong { at: self.at });
            }
            let factor = self.powers(factor)?;
            product = product.then(&factor).ok_or(ExpressionError::TooLong { at: self.at })?;
            (ended, opened) = (true, false);
        }
        match open.last() {
            None => Ok((!is_empty).then_some(product)),
            Some(&Open::Parenthesis(_, at)) => Err(ExpressionError::Open { at, bracket: '(' }),
            Some(&(Open::First(_, at) | Open::Second(_, at, ..))) => {
                Err(ExpressionError::Open { at, bracket: '[' })
            }
        }
    }

    /// Returns the element for a name. In a formula, the name without `_` and braces is tried too.
    fn find(&mut self, name: &str) -> Result<Option<E>, ExpressionError> {
        let found = self.find_as_written(name)?;
        if found.is_some() || !self.is_formula || !name.contains('_') {
            return Ok(found);
        }
        let plain: String = name.chars().filter(|c| !"_{}".contains(*c)).collect();
        self.find_as_written(&plain)
    }

    fn find_as_written(&mut self, name: &str) -> Result<Option<E>, ExpressionError> {
        if name.len() > self.longest {
            return Ok(None);
        }
        if let Some(known) = self.known.get(name) {
            return Ok(Some(known.clone()));
        }
        let found = self.ask(name)?;
        if let Some(found) = &found {
            self.known.insert(name.into(), found.clone());
        }
        Ok(found)
    }

    fn ask(&mut self, name: &str) -> Result<Option<E>, ExpressionError> {
        (self.named)(name).map_err(|reason| ExpressionError::Name { at: self.at, reason })
    }

    /// Reads the cycles at this place, if there are numbers in brackets and the caller supports cycles.
    fn cycles(&mut self) -> Result<Option<E>, ExpressionError> {
        self.peek();
        let rest = &self.text[self.at..];
        let Some(end) = end_of_cycles(rest) else {
            return Ok(None);
        };
        let found = self.ask(&rest[..end])?;
        self.at += if found.is_some() { end } else { 0 };
        Ok(found)
    }

    /// Reads the factor at this place, as [`Self::names_here`] does, and if that fails, as in formulas, which
    /// write `V_{1}` for `V1`: names that have `_` come first.
    fn names(&mut self) -> Result<(Option<E>, E), ExpressionError> {
        match self.names_here() {
            Err(unknown @ ExpressionError::NoSuchGenerator { .. }) => {
                self.is_formula = true;
                let read = self.names_here();
                self.is_formula = false;
                match read {
                    Err(ExpressionError::NoSuchGenerator { .. }) => Err(unknown),
                    read => read,
                }
            }
            read => read,
        }
    }

    /// Reads the factor at this place: the longest name that ends here, or a name followed by a number and
    /// `'`, or several of those without blanks between them. In the last case the first value is the product
    /// of all but the last, because a power after the text applies only to the last.
    fn names_here(&mut self) -> Result<(Option<E>, E), ExpressionError> {
        let rest = &self.text[self.at..];
        // Each search stays within the longest name or word: the rest of the text may be long.
        let head = beginning(rest, MAX_NAME);
        let long = head.find(|c: char| c.is_whitespace() || "()".contains(c)).unwrap_or(head.len());
        let ends =
            |end: &usize| rest[*end..].chars().next().is_none_or(|c| c.is_whitespace() || ENDS.contains(c));
        let candidates: Vec<usize> =
            (1..=long.min(MAX_NAME)).filter(|&end| rest.is_char_boundary(end)).collect();
        for &end in candidates.iter().rev().filter(|end| ends(end)) {
            // `U'` may be a name.
            let is_cut = rest[end..].starts_with('\'') && self.find(&rest[..=end])?.is_some();
            if let Some(found) = self.find(&rest[..end])?.filter(|_| !is_cut) {
                self.at += end;
                return Ok((None, found));
            }
        }
        let head = beginning(rest, MAX_WORD + 1);
        let length = head.find(|c: char| c.is_whitespace() || "*^()[]:,".contains(c)).unwrap_or(head.len());
        let word = &rest[..length];
        if word == "." {
            self.at += 1;
            return Ok((None, self.identity.clone()));
        }
        let at = self.at;
        let unknown = || {
            let name = rest.split(|c: char| c.is_whitespace() || ENDS.contains(c)).next().unwrap_or_default();
            ExpressionError::NoSuchGenerator { at, name: name.into(), known: String::new() }
        };
        if word.is_empty() || word.len() > MAX_WORD {
            return Err(unknown());
        }
        if let Some(found) = self.with_suffix(word, 0)?.remove(&word.len()) {
            self.at = at + word.len();
            return Ok((None, found));
        }
        // By dynamic programming from the end: the number of ways, up to two, to read the rest of the text,
        // and the first element of the rest with the place where its name ends.
        let mut ways: Vec<(u8, Option<(usize, E)>)> = vec![(0, None); word.len() + 1];
        ways[word.len()].0 = 1;
        for start in (0..word.len()).rev().filter(|&start| word.is_char_boundary(start)) {
            for (end, found) in self.with_suffix(word, start)? {
                if ways[end].0 > 0 {
                    ways[start].0 = (ways[start].0 + ways[end].0).min(2);
                    ways[start].1 = Some((end, found));
                }
            }
        }
        match ways[0].0 {
            0 => return Err(unknown()),
            1 => {}
            _ => return Err(ExpressionError::Ambiguous { at, word: word.into() }),
        }
        let mut before: Option<E> = None;
        let mut start = 0;
        loop {
            let (end, found) = ways[start].1.take().expect("there is a way to the end");
            if end == word.len() {
                self.at = at + end;
                return Ok((before, found));
            }
            self.factors += 1;
            before = match before {
                None => Some(found),
                Some(before) => Some(before.then(&found).ok_or(ExpressionError::TooLong { at: self.at })?),
            };
            start = end;
        }
    }

    /// Returns the names that begin at `start` in `word`, each alone and followed by a number and `'`, by
    /// the place where it ends. Of several that end in one place the longest name is used: `U'` may be the
    /// name of a move, and is then not the inverse of `U`.
    fn with_suffix(&mut self, word: &str, start: usize) -> Result<BTreeMap<usize, E>, ExpressionError> {
        let mut found = BTreeMap::new();
        for end in (start + 1..=word.len().min(start + MAX_NAME)).filter(|&end| word.is_char_boundary(end)) {
            let Some(element) = self.find(&word[start..end])? else { continue };
            let digits = match word.as_bytes()[end - 1].is_ascii_digit() {
                true => 0,
                false => word[end..].bytes().take_while(u8::is_ascii_digit).count(),
            };
            // Any number of the digits may belong to this name: the others begin the next name.
            for digits in 0..=digits {
                let number = &word[end..end + digits];
                let times = match number {
                    "" => 1,
                    _ => number.parse().map_err(|_| self.too_large(number))?,
                };
                let is_inverse = word[end + digits..].starts_with('\'');
                let exponent: i64 = if is_inverse { -times } else { times };
                let power = element.power(exponent).ok_or_else(|| self.too_large(number))?;
                found.insert(end + digits + usize::from(is_inverse), power);
            }
        }
        Ok(found)
    }

    fn too_large(&self, exponent: &str) -> ExpressionError {
        ExpressionError::Exponent { at: self.at, exponent: exponent.into() }
    }

    /// Raises `factor` to the power directly after its bracket, if there is a number.
    fn times(&mut self, factor: E) -> Result<E, ExpressionError> {
        let start = self.at;
        let digits = self.text[start..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Ok(factor);
        }
        let written = &self.text[start..start + digits];
        let power = written.parse().ok().and_then(|times| factor.power(times));
        let power = power.ok_or_else(|| self.too_large(written))?;
        self.at += digits;
        Ok(power)
    }

    /// Raises `factor` to the powers `'` and `^` after it.
    fn powers(&mut self, mut factor: E) -> Result<E, ExpressionError> {
        loop {
            match self.peek() {
                Some('\'') => {
                    self.at += 1;
                    factor = factor.inverse();
                }
                Some('^') => {
                    self.at += 1;
                    let (at, exponent) = self.exponent()?;
                    factor = factor
                        .power(exponent)
                        .ok_or(ExpressionError::Exponent { at, exponent: exponent.to_string() })?;
                }
                _ => return Ok(factor),
            }
        }
    }

    /// Reads a number, with or without braces, and returns its place and value.
    fn exponent(&mut self) -> Result<(usize, i64), ExpressionError> {
        let has_brace = self.peek() == Some('{');
        self.at += usize::from(has_brace);
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
        let exponent =
            written.parse().map_err(|_| ExpressionError::Exponent { at: start, exponent: written.into() })?;
        if has_brace {
            if self.peek() != Some('}') {
                return Err(self.unexpected("'}'"));
            }
            self.at += 1;
        }
        Ok((start, exponent))
    }

    /// Skips blanks, and returns the next character without reading it.
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
mod tests;
