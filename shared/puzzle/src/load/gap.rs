//! Permutations as [GAP](https://www.gap-system.org) reads them: `name := Group((1,2,3)(4,5), (1,2));`, a list
//! `[ (1,2,3), (1,2) ]`, or permutations that are assigned to names first. `#` starts a comment. The puzzle has as
//! many cells as its largest point; points in between that nothing moves are cells too.

use super::{Fault, Reason};
use crate::definition::{Definition, DefinitionError};
use fathom_algebra::{OrientedPermutation, Permutation};
use std::ops::Range;

/// How deep lists may be nested.
const MAX_DEPTH: usize = 32;

/// A permutation as it stands in the text, and the name that it was assigned to.
#[derive(Clone, Debug)]
struct Element {
    name: Option<String>,
    text: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Permutation,
    List,
    Group,
}

#[derive(Clone, Debug)]
struct Value {
    kind: Kind,
    elements: Vec<Element>,
}

pub(super) fn read(text: &str, stem: &str) -> Result<Definition, Fault> {
    let text = without_comments(text);
    let mut reader = Reader { text: &text, at: 0, known: Vec::new() };
    let mut values: Vec<(Option<String>, Value)> = Vec::new();
    while reader.peek().is_some() {
        values.push(reader.statement()?);
    }
    // The last group is what is meant; without a group the last list; without a list all permutations.
    let last = |kind| values.iter().rev().find(|(_, value)| value.kind == kind);
    let (name, elements) = match last(Kind::Group).or_else(|| last(Kind::List)) {
        Some((name, value)) => (name.clone(), value.elements.clone()),
        None => (None, values.iter().flat_map(|(_, value)| value.elements.clone()).collect()),
    };
    let (degree, at) = largest_point(&text, &elements);
    if elements.is_empty() {
        return Err(Fault::whole(DefinitionError::NoMoves));
    }
    let mut puzzle = Definition::of_degree(name.unwrap_or_else(|| stem.into()), degree)
        .map_err(|error| Fault::new(at, error))?;
    for (number, element) in (1..).zip(&elements) {
        let cells = Permutation::parse(&text[element.text.clone()], degree)
            .map_err(|error| Fault::new(element.text.start + error.at(), Reason::Cycles(error)))?;
        let name = element.name.clone().unwrap_or_else(|| format!("g{number}"));
        puzzle
            .add_move(name, OrientedPermutation::from_cells(cells))
            .map_err(|error| Fault::new(element.text.start, error))?;
    }
    puzzle.finished().map_err(Fault::whole)
}

/// The text with comments blanked, so that offsets stay what they are.
fn without_comments(text: &str) -> String {
    let mut comment = false;
    let blanked = text.bytes().map(|byte| {
        comment = byte != b'\n' && (comment || byte == b'#');
        if comment { b' ' } else { byte }
    });
    String::from_utf8(blanked.collect()).expect("whole characters are blanked: '#' and '\\n' are ASCII")
}

/// The largest point of the permutations, and where it stands.
fn largest_point(text: &str, elements: &[Element]) -> (usize, usize) {
    let mut largest = (0, 0);
    for element in elements {
        let mut at = element.text.start;
        for part in text[element.text.clone()].split_inclusive(|c: char| !c.is_ascii_digit()) {
            let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
            if !digits.is_empty() {
                let point = digits.parse().unwrap_or(usize::MAX);
                if point > largest.0 {
                    largest = (point, at);
                }
            }
            at += part.len();
        }
    }
    largest
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    known: Vec<(String, Value)>,
}

impl Reader<'_> {
    /// `name := value;` or `value;`, the last semicolon being optional.
    fn statement(&mut self) -> Result<(Option<String>, Value), Fault> {
        let start = self.at;
        let mut name = None;
        if let Some(word) = self.word() {
            if self.accept(":=") {
                name = Some(word);
            } else {
                self.at = start;
            }
        }
        let mut value = self.value(0)?;
        if let (Some(name), Kind::Permutation) = (&name, value.kind) {
            value.elements.iter_mut().for_each(|element| element.name = Some(name.clone()));
        }
        if let Some(name) = &name {
            self.known.push((name.clone(), value.clone()));
        }
        if self.peek().is_some() && !self.accept(";") {
            return Err(self.unexpected("';'"));
        }
        while self.accept(";") {}
        Ok((name, value))
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::syntax(self.at, format!("lists are nested more than {MAX_DEPTH} deep")));
        }
        let value = match self.peek() {
            Some('(') => self.permutation()?,
            Some('[') => {
                self.at += 1;
                Value { kind: Kind::List, elements: self.elements("]", depth)? }
            }
            _ => {
                let start = self.at;
                match self.word() {
                    Some(word) if self.peek() == Some('(') => {
                        if word != "Group" && word != "GroupWithGenerators" {
                            let why = "write permutations, lists of them, and Group(...)";
                            return Err(Fault::new(start, Reason::Unsupported { what: word, why }));
                        }
                        self.at += 1;
                        Value { kind: Kind::Group, elements: self.elements(")", depth)? }
                    }
                    Some(word) => match self.known.iter().rev().find(|(name, _)| *name == word) {
                        Some((_, value)) => value.clone(),
                        None => return Err(Fault::syntax(start, format!("{word:?} is not defined"))),
                    },
                    None => return Err(self.unexpected("a permutation, a list or Group(...)")),
                }
            }
        };
        if let Some(operator @ ('*' | '^' | '/')) = self.peek() {
            let what = format!("the operator {operator:?}");
            let why = "write the permutation itself in cycles";
            return Err(Fault::new(self.at, Reason::Unsupported { what, why }));
        }
        Ok(value)
    }

    /// The values up to the closing bracket. The identity generates nothing and is left out.
    fn elements(&mut self, close: &str, depth: usize) -> Result<Vec<Element>, Fault> {
        let mut elements = Vec::new();
        if self.accept(close) {
            return Ok(elements);
        }
        loop {
            elements.extend(self.value(depth + 1)?.elements);
            if elements.len() > Definition::MAX_MOVES {
                return Err(Fault::new(self.at, DefinitionError::TooManyMoves));
            }
            if self.accept(close) {
                break;
            }
            if !self.accept(",") {
                return Err(self.unexpected(if close == "]" { "',' or ']'" } else { "',' or ')'" }));
            }
        }
        elements.retain(|element| self.text[element.text.clone()].contains(|c: char| c.is_ascii_digit()));
        Ok(elements)
    }

    /// One permutation: cycles up to the last bracket that follows another directly. What is in them is read when
    /// the degree is known.
    fn permutation(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let mut end = start;
        while self.peek() == Some('(') {
            let inside = &self.text[self.at + 1..];
            let length = inside.find(|c: char| !(c.is_ascii_digit() || c == ',' || c.is_whitespace()));
            match length.map(|length| (length, &inside[length..])) {
                Some((length, rest)) if rest.starts_with(')') => self.at += length + 2,
                Some((length, _)) => {
                    self.at += 1 + length;
                    return Err(self.unexpected("a point, ',' or ')'"));
                }
                None => {
                    self.at = self.text.len();
                    return Err(self.unexpected("')'"));
                }
            }
            end = self.at;
        }
        Ok(Value { kind: Kind::Permutation, elements: vec![Element { name: None, text: start..end }] })
    }

    fn word(&mut self) -> Option<String> {
        self.peek();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| rest[..end].to_string())
    }

    /// The next character that is not blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn accept(&mut self, wanted: &str) -> bool {
        self.peek();
        let found = self.text[self.at..].starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn unexpected(&mut self, expected: &str) -> Fault {
        let found = self.peek().map_or("the end".into(), |found| format!("{found:?}"));
        Fault::syntax(self.at, format!("expected {expected}, found {found}"))
    }
}
