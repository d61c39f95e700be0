//! Lists of images, as Python programs write them: `{"a": [1, 2, 0], "b": [1, 0, 2]}` in JSON or as a dict,
//! and the permutations and groups of SymPy and Sage.
//!
//! A list gives the image of each point: `[1, 2, 0]` carries the piece on the first point to the second.
//! Points are numbered from 0, or from 1 in a list without 0. `Permutation(0, 1, 2)(3, 4)` and
//! `Permutation([[0, 1, 2], [3, 4]])` are cycles that count from 0, as in SymPy; strings and tuples such as
//! `"(1,2,3)(4,5)"` are cycles that count from 1, as in Sage. The moves are those of the last group, failing
//! that the last dict or list of permutations, and failing that all permutations that have names. Nothing is
//! executed.

use super::{Fault, Reason};
use crate::definition::{Definition, DefinitionError};
use fathom_algebra::{OrientedPermutation, Permutation};
use std::collections::HashMap;

/// The largest depth to which values may be nested.
const MAX_DEPTH: usize = 16;
/// The largest number of values in a file, counted again wherever a name stands for them.
const MAX_VALUES: usize = 1 << 22;
/// The largest exponent.
const MAX_EXPONENT: u64 = 1 << 40;

#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    Text(String),
    /// A list, or a tuple.
    List(Vec<Entry>, bool),
    Dict(Vec<Entry>),
    Permutation(Permutation),
    Group(Vec<Entry>),
    /// A value that defines no moves, such as a negative number.
    Other,
}

/// A value in a list or a dict, or of a statement: its name and its byte offset.
#[derive(Clone, Debug)]
struct Entry {
    name: Option<String>,
    /// Whether this is an argument of a function that is given by its name, such as `size=5`.
    is_option: bool,
    at: usize,
    value: Value,
}

/// Returns whether a text is an object or a list whose first entry is a list of numbers.
pub(super) fn is_lists(text: &str) -> bool {
    let text = text.trim_start();
    let value = match text.strip_prefix('{') {
        Some(rest) => rest.split_once(':').map_or("", |(_, value)| value),
        None => text.strip_prefix('[').unwrap_or_default(),
    };
    let list = value.trim_start().strip_prefix('[');
    list.is_some_and(|list| list.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

pub(super) fn read(text: &str, stem: &str) -> Result<Definition, Fault> {
    read_lists(text, stem, of_images)
}

/// Reads lists that have, for each point, the point that its piece comes from, as in [`read`].
pub(super) fn read_sources(text: &str, stem: &str) -> Result<Definition, Fault> {
    read_lists(text, stem, |at, sources| Ok(of_images(at, sources)?.inverse()))
}

fn read_lists(
    text: &str,
    stem: &str,
    of_list: fn(usize, &[u64]) -> Result<Permutation, Fault>,
) -> Result<Definition, Fault> {
    let mut reader = Reader { text, at: 0, known: HashMap::new(), values: 0 };
    let (mut group, mut list, mut single) = (None, None, Vec::<Entry>::new());
    while reader.peek().is_some() {
        let Some(said) = reader.statement()? else { continue };
        match &said.value {
            Value::Group(moves) => group = Some(moves.clone()),
            Value::Dict(entries) | Value::List(entries, false) if entries.iter().any(is_move) => {
                list = Some(entries.clone());
            }
            Value::Permutation(_) => {
                single.retain(|known| known.name != said.name);
                single.push(said);
            }
            _ => {}
        }
    }
    let moves = group.or(list).unwrap_or(single);
    let action = |entry: &Entry| match &entry.value {
        Value::Permutation(action) => Ok(action.clone()),
        value if is_move(entry) => of_list(entry.at, &numbers(value).unwrap_or_default()),
        _ => Err(Fault::syntax(
            entry.at,
            "expected a list of images such as [1, 2, 0], as the other entries are",
        )),
    };
    let actions = moves.iter().map(action).collect::<Result<Vec<_>, Fault>>()?;
    // Lists have an image for every point, so lists of other lengths belong to another puzzle. Cycles do not.
    let is_list = |&i: &usize| matches!(moves[i].value, Value::List(..));
    let lists: Vec<usize> = (0..moves.len()).filter(is_list).collect();
    if let Some(&other) = lists.iter().find(|&&i| actions[i].degree() != actions[lists[0]].degree()) {
        let [first, found] = [lists[0], other].map(|i| actions[i].degree());
        return Err(Fault::syntax(
            moves[other].at,
            format!("the length of the list is {found}, but that of the first is {first}"),
        ));
    }
    definition(stem, &moves, &actions)
}

/// Returns the puzzle of these moves. It has as many cells as the largest of them has points.
fn definition(stem: &str, moves: &[Entry], actions: &[Permutation]) -> Result<Definition, Fault> {
    let degree = actions.iter().map(Permutation::degree).max();
    let degree = degree.ok_or_else(|| Fault::whole(DefinitionError::NoMoves))?;
    let mut puzzle = Definition::of_degree(stem, degree).map_err(Fault::whole)?;
    for (number, (entry, action)) in (1..).zip(moves.iter().zip(actions)) {
        let name = entry.name.clone().unwrap_or_else(|| format!("g{number}"));
        puzzle
            .add_move(name, OrientedPermutation::from_cells(extended(action, degree)))
            .map_err(|error| Fault::new(entry.at, error))?;
    }
    puzzle.validated().map_err(Fault::whole)
}

/// Returns whether an entry of a list or a dict is a permutation, or a list of images.
fn is_move(entry: &Entry) -> bool {
    matches!(&entry.value, Value::Permutation(_))
        || matches!(&entry.value, Value::List(_, false))
            && numbers(&entry.value).is_some_and(|all| !all.is_empty())
}

/// Returns the numbers of a list or a tuple; `None` if it has other entries.
fn numbers(value: &Value) -> Option<Vec<u64>> {
    let Value::List(entries, _) = value else { return None };
    entries.iter().map(|entry| if let Value::Number(n) = entry.value { Some(n) } else { None }).collect()
}

/// Returns the permutation of a list of images, numbered from 0, or from 1 if no image is 0.
fn of_images(at: usize, images: &[u64]) -> Result<Permutation, Fault> {
    let first = u64::from(!images.contains(&0));
    if images.len() > Definition::MAX_POINTS {
        return Err(Fault::new(at, DefinitionError::TooManyPoints { points: images.len() }));
    }
    super::images_of_sources(images, first).map_err(|(_, reason)| Fault::syntax(at, reason))?;
    Ok(Permutation::from_fn(images.len(), |point| (images[point] - first) as usize))
}

/// Returns the permutation of cycles, whose points are numbered from `first`.
fn of_cycles(at: usize, cycles: &[Vec<u64>], first: u64) -> Result<Permutation, Fault> {
    let degree = cycles.iter().flatten().map(|&point| point.saturating_sub(first).saturating_add(1)).max();
    let degree = usize::try_from(degree.unwrap_or(1)).unwrap_or(usize::MAX);
    if degree > Definition::MAX_POINTS {
        return Err(Fault::new(at, DefinitionError::TooManyPoints { points: degree }));
    }
    let mut images: Vec<u16> = (0..degree as u16).collect();
    let mut seen = vec![false; degree];
    for cycle in cycles {
        for (i, &point) in cycle.iter().enumerate() {
            let index = |point: u64| point.checked_sub(first).map(|point| point as usize);
            let next = index(cycle[(i + 1) % cycle.len()]);
            let (Some(point), Some(next)) = (index(point), next) else {
                return Err(Fault::syntax(at, format!("point 0 in cycles that count from {first}")));
            };
            if std::mem::replace(&mut seen[point], true) {
                let point = point as u64 + first;
                return Err(Fault::syntax(
                    at,
                    format!("point {point} occurs twice; cycles must be disjoint"),
                ));
            }
            images[point] = next as u16;
        }
    }
    Ok(Permutation::from_images(images).expect("disjoint cycles are a permutation"))
}

/// Returns the cycles of a list or tuple of lists or tuples of numbers.
fn cycles(value: &Value) -> Option<Vec<Vec<u64>>> {
    let Value::List(entries, _) = value else { return None };
    entries.iter().map(|entry| numbers(&entry.value)).collect()
}

/// Returns the permutation that an argument of a group, or of `Permutation` in Sage, stands for: cycles that
/// count from 1, as a string, a tuple, or a list of tuples. `None` if it is something else.
fn of_sage(at: usize, value: &Value) -> Result<Option<Permutation>, Fault> {
    let is_tuple = |entry: &Entry| matches!(entry.value, Value::List(_, true));
    match value {
        Value::Text(text) => {
            let points = text.split(|c: char| !c.is_ascii_digit()).filter_map(|point| point.parse().ok());
            let degree = points.max().unwrap_or(1).clamp(1, Definition::MAX_POINTS);
            let read = Permutation::parse(text, degree);
            read.map(Some).map_err(|error| Fault::new(at, Reason::Cycles(error)))
        }
        Value::List(_, true) => numbers(value).map(|cycle| of_cycles(at, &[cycle], 1)).transpose(),
        Value::List(entries, false) if entries.iter().all(is_tuple) => {
            cycles(value).map(|cycles| of_cycles(at, &cycles, 1)).transpose()
        }
        _ => Ok(None),
    }
}

/// Returns the value of `Permutation(...)`.
fn permutation(at: usize, arguments: &[Entry]) -> Result<Value, Fault> {
    let given: Vec<&Entry> = arguments.iter().filter(|argument| !argument.is_option).collect();
    let all = Value::List(given.iter().map(|&argument| argument.clone()).collect(), true);
    let found = match (&given[..], numbers(&all)) {
        // SymPy: Permutation(0, 1, 2) is a cycle.
        (_, Some(cycle)) => of_cycles(at, &[cycle], 0)?,
        ([Entry { value: Value::Permutation(action), .. }], _) => action.clone(),
        ([one], _) => match (numbers(&one.value), of_sage(at, &one.value)?, cycles(&one.value)) {
            (_, Some(action), _) => action,
            (Some(images), ..) => of_images(one.at, &images)?,
            (.., Some(cycles)) => of_cycles(at, &cycles, 0)?,
            _ => return Err(Fault::syntax(at, "Permutation takes a list of images, or cycles")),
        },
        _ => return Err(Fault::syntax(at, "Permutation takes one list of images, or cycles")),
    };
    let size =
        arguments.iter().find(|argument| argument.is_option && argument.name.as_deref() == Some("size"));
    let size = match size.map(|size| &size.value) {
        Some(&Value::Number(size)) => usize::try_from(size).unwrap_or(usize::MAX).min(Definition::MAX_POINTS),
        _ => 0,
    };
    Ok(Value::Permutation(extended(&found, size)))
}

/// Returns the value of `PermutationGroup(...)`: its arguments, or the entries of its only argument.
fn group(arguments: Vec<Entry>) -> Result<Value, Fault> {
    let given: Vec<Entry> = arguments.into_iter().filter(|argument| !argument.is_option).collect();
    let entries = match &given[..] {
        [Entry { value: Value::List(entries, _), .. }] => entries.clone(),
        _ => given,
    };
    let entry = |entry: Entry| {
        let value = match of_sage(entry.at, &entry.value)? {
            Some(action) => Value::Permutation(action),
            None => entry.value,
        };
        Ok(Entry { value, ..entry })
    };
    Ok(Value::Group(entries.into_iter().map(entry).collect::<Result<_, Fault>>()?))
}

fn extended(action: &Permutation, degree: usize) -> Permutation {
    let image = |point| if point < action.degree() { action.apply(point) } else { point };
    Permutation::from_fn(degree.max(action.degree()), image)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    known: HashMap<&'a str, Value>,
    values: usize,
}

impl<'a> Reader<'a> {
    /// Reads `NAME = VALUE` or `VALUE`; `None` for an import or a call of `print`.
    fn statement(&mut self) -> Result<Option<Entry>, Fault> {
        let start = self.at;
        let word = self.word();
        if ["import", "from", "print"].contains(&word) {
            self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
            return Ok(None);
        }
        let name = Some(word).filter(|word| !word.is_empty() && self.accept("=")).map(str::to_owned);
        if name.is_none() {
            self.at = start;
        }
        let value = self.value(0)?;
        if name.is_some() {
            self.known.insert(word, value.clone());
        }
        self.accept(";");
        Ok(Some(Entry { name, is_option: false, at: start, value }))
    }

    /// Reads a product of powers.
    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        let mut product = self.power(depth)?;
        while self.accept("*") {
            let at = self.at;
            product = match (product, self.power(depth)?) {
                (Value::Permutation(a), Value::Permutation(b)) => {
                    let degree = a.degree().max(b.degree());
                    Value::Permutation(extended(&a, degree).then(&extended(&b, degree)))
                }
                _ => return Err(program(at, "a product of something other than permutations")),
            };
        }
        Ok(product)
    }

    fn power(&mut self, depth: usize) -> Result<Value, Fault> {
        let base = self.single(depth)?;
        if !self.accept("**") && !self.accept("^") {
            return Ok(base);
        }
        let at = self.at;
        let sign = if self.accept("-") { -1 } else { 1 };
        match (base, self.single(depth)?) {
            (Value::Permutation(base), Value::Number(times)) if times <= MAX_EXPONENT => {
                Ok(Value::Permutation(base.power(sign * times as i64)))
            }
            _ => Err(program(at, "a power of something other than a permutation")),
        }
    }

    fn single(&mut self, depth: usize) -> Result<Value, Fault> {
        let next = self.peek();
        let start = self.at;
        self.count(1)?;
        if depth > MAX_DEPTH {
            return Err(Fault::syntax(start, format!("values are nested more than {MAX_DEPTH} deep")));
        }
        let value = match next {
            Some('[') => Value::List(self.entries("[", "]", depth)?, false),
            Some('{') => Value::Dict(self.entries("{", "}", depth)?),
            Some('(') => {
                let mut entries = self.entries("(", ")", depth)?;
                let has_comma = self.text[..self.at - 1].trim_end().ends_with(',');
                match entries.len() {
                    // Parentheses around one value.
                    1 if !has_comma => entries.remove(0).value,
                    _ => Value::List(entries, true),
                }
            }
            Some('"' | '\'') => Value::Text(self.string()?),
            Some('-') => {
                self.at += 1;
                self.single(depth + 1)?;
                Value::Other
            }
            _ => match self.word() {
                "" => return Err(self.unexpected("a value")),
                digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Value::Number(digits.parse().unwrap_or(u64::MAX))
                }
                "None" | "True" | "False" | "null" | "true" | "false" => Value::Other,
                "Permutation" | "Cycle" => {
                    let arguments = self.entries("(", ")", depth)?;
                    let mut product = permutation(start, &arguments)?;
                    // Permutation(0, 1)(2, 3) is a product of cycles.
                    while let (Value::Permutation(a), true) =
                        (&product, self.text[self.at..].starts_with('('))
                    {
                        let arguments = self.entries("(", ")", depth)?;
                        let Value::Permutation(b) = permutation(start, &arguments)? else { break };
                        let degree = a.degree().max(b.degree());
                        product = Value::Permutation(extended(a, degree).then(&extended(&b, degree)));
                    }
                    product
                }
                "PermutationGroup" => group(self.entries("(", ")", depth)?)?,
                word => match self.known.get(word).cloned() {
                    Some(value) if self.text[self.at..].starts_with(['(', '.', '[']) => {
                        drop(value);
                        return Err(program(start, &format!("a use of {word:?} other than by its name")));
                    }
                    Some(value) => {
                        self.count(size(&value))?;
                        value
                    }
                    None => {
                        return Err(program(
                            start,
                            &format!("{word:?}, which is not the name of a value above,"),
                        ));
                    }
                },
            },
        };
        Ok(value)
    }

    /// Reads values in brackets. In braces each has a name and a colon before it; in parentheses it may have
    /// a name and an equals sign. A value that is a name has this name.
    fn entries(&mut self, open: &str, close: &str, depth: usize) -> Result<Vec<Entry>, Fault> {
        let mut entries = Vec::new();
        if !self.accept(open) {
            return Err(self.unexpected(&format!("{open:?}")));
        }
        while !self.accept(close) {
            self.peek();
            let at = self.at;
            let (name, is_option) = match open {
                "{" => {
                    let name = match self.peek() {
                        Some('"' | '\'') => self.string()?,
                        _ => self.word().to_owned(),
                    };
                    if !self.accept(":") {
                        return Err(self.unexpected("a name and ':'"));
                    }
                    (Some(name), false)
                }
                _ => {
                    let word = self.word();
                    let is_argument = open == "(" && !word.is_empty() && self.accept("=");
                    if !is_argument {
                        self.at = at;
                    }
                    (is_argument.then(|| word.to_owned()), is_argument)
                }
            };
            let before = self.at;
            let value = self.value(depth + 1)?;
            let written = self.text[before..self.at].trim();
            let is_permutation = matches!(value, Value::Permutation(_) | Value::List(_, false));
            let own =
                Some(written).filter(|word| open != "{" && is_permutation && self.known.contains_key(word));
            entries.push(Entry { name: name.or(own.map(str::to_owned)), is_option, at, value });
            if !self.accept(",") {
                if !self.accept(close) {
                    return Err(self.unexpected(&format!("',' or {close:?}")));
                }
                break;
            }
        }
        Ok(entries)
    }

    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let quote = &self.text[start..=start];
        let line = self.text[start + 1..].lines().next().unwrap_or_default();
        match line.split_once(quote) {
            Some((text, _)) if !text.contains('\\') => {
                self.at += text.len() + 2;
                Ok(text.to_owned())
            }
            Some(_) => Err(Fault::syntax(start, "strings with escapes are not supported")),
            None => Err(Fault::syntax(start, "this quote is not closed on its line")),
        }
    }

    fn word(&mut self) -> &'a str {
        self.peek();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Skips blanks and comments, and returns the next character.
    fn peek(&mut self) -> Option<char> {
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
            match self.text[self.at..].chars().next() {
                Some('#') => {
                    self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
                }
                next => return next,
            }
        }
    }

    fn accept(&mut self, wanted: &str) -> bool {
        self.peek();
        let rest = &self.text[self.at..];
        let is_longer = wanted == "*" && rest.starts_with("**") || wanted == "=" && rest.starts_with("==");
        let found = rest.starts_with(wanted) && !is_longer;
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    fn count(&mut self, values: usize) -> Result<(), Fault> {
        self.values += values;
        match self.values > MAX_VALUES {
            true => Err(Fault::syntax(self.at, format!("there are more than {MAX_VALUES} values"))),
            false => Ok(()),
        }
    }

    fn unexpected(&mut self, expected: &str) -> Fault {
        let found = self.peek().map_or("the end".into(), |found| format!("{found:?}"));
        Fault::syntax(
            self.at,
            format!(
                "expected {expected}, found {found}: only lists, dicts, numbers, strings, Permutation(...) and PermutationGroup(...) are read; nothing is executed"
            ),
        )
    }
}

/// Returns the number of values in a value.
fn size(value: &Value) -> usize {
    match value {
        Value::List(entries, _) | Value::Dict(entries) | Value::Group(entries) => {
            1 + entries.iter().map(|entry| size(&entry.value)).sum::<usize>()
        }
        Value::Permutation(action) => 1 + action.degree(),
        Value::Number(_) | Value::Text(_) | Value::Other => 1,
    }
}

/// Returns the fault of a text that Python would have to execute.
fn program(at: usize, what: &str) -> Fault {
    let why =
        "nothing is executed; let the program print the lists of images, and save what it prints as a file";
    Fault::new(at, Reason::Unsupported { what: what.into(), why })
}
