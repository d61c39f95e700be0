//! Permutations as [GAP](https://www.gap-system.org) reads them.
//!
//! The forms are `name := Group((1,2,3)(4,5), (1,2));`, a list `[ (1,2,3), (1,2) ]`, permutations that are
//! assigned to names first, and products, powers and conjugates of permutations. PuzzleGeometry and CayleyPy
//! write `Gen := [...]`, and `ip := [[1],[4,7],...]` for the points that look alike. `#` starts a comment.
//! The puzzle has as many cells as its largest point; smaller points that nothing moves are cells too.
//!
//! Values that are no permutations are ignored as long as no move is made of them: numbers, texts, calls of
//! functions such as `Size(Group(Gen))`. A move that would be made of such a value is refused.

use super::{Fault, Reason};
use crate::definition::{Definition, DefinitionError, Piece};
use fathom_algebra::{CycleError, OrientedPermutation, Permutation};
use std::collections::HashMap;

/// The largest depth to which lists, calls and parentheses may be nested.
const MAX_DEPTH: usize = 32;
/// The largest number of values in all statements together: a puzzle has fewer.
const MAX_VALUES: usize = 1 << 16;
/// The largest number of points of all permutations together.
const MAX_POINTS_IN_ALL: usize = 1 << 24;
/// The largest exponent. Larger exponents are never needed, because they can be reduced modulo the order of
/// the permutation.
const MAX_EXPONENT: i64 = 1 << 40;
/// The name that PuzzleGeometry gives to the list of the points that look alike.
const ALIKE: &str = "ip";

/// A permutation on as many points as its largest one, its byte offset in the text, and the name that it was
/// assigned to.
#[derive(Clone, Debug)]
struct Element {
    name: Option<String>,
    at: usize,
    action: Permutation,
}

/// The value on the right of `:=`.
#[derive(Clone, Debug)]
enum Value {
    Permutation(Element),
    List(Vec<Value>),
    Group(Vec<Element>),
    /// A whole number, with its byte offset.
    Number(usize, u64),
    /// Something that makes no moves: its byte offset, and a description.
    Other(usize, String),
}

pub(super) fn read(text: &str, stem: &str) -> Result<Definition, Fault> {
    let text = without_comments(text);
    let mut reader = Reader { text: &text, at: 0, known: HashMap::new(), values: 0, points: 0 };
    let mut groups = Vec::new();
    let mut lists = Vec::new();
    let mut single = Vec::new();
    let mut alike = None;
    let mut passed_over: Vec<String> = Vec::new();
    while reader.peek().is_some() {
        let start = reader.at;
        let (name, value) = reader.statement()?;
        match value {
            Value::Group(elements) => groups.push((name, elements)),
            Value::List(values) if name.as_deref() == Some(ALIKE) => alike = Some((start, values)),
            Value::List(values) if holds_permutations(&values) => lists.push((name, values)),
            Value::Permutation(element) => single.push(element),
            Value::Other(_, what) => passed_over.extend(name.map(|name| format!("{name} := {what}"))),
            Value::List(_) | Value::Number(..) => passed_over.extend(name),
        }
    }
    // The moves are those of the last group; without a group, those of the last list; without a list, all
    // permutations.
    let (name, mut elements) = match (groups.pop(), lists.pop()) {
        (Some((name, elements)), _) => (name, elements),
        (None, Some((name, values))) => (name, elements_of(values)?),
        (None, None) => (None, single),
    };
    // The identity generates nothing, so it is left out. If there is nothing else, it is the only move of a
    // puzzle with one state.
    if elements.iter().any(|element| !element.action.is_identity()) {
        elements.retain(|element| !element.action.is_identity());
    } else {
        elements.truncate(1);
    }
    let sizes = elements.iter().map(|element| (element.at, element.action.degree().max(1)));
    let Some((at, degree)) = sizes.max_by_key(|&(_, degree)| degree) else {
        return Err(Fault::whole(DefinitionError::NoMoves));
    };
    let mut puzzle =
        Definition::of_degree(puzzle_name(name, stem), degree).map_err(|error| Fault::new(at, error))?;
    for (number, Element { name, at, action }) in (1..).zip(elements) {
        let name = name.unwrap_or_else(|| format!("g{number}"));
        let action = OrientedPermutation::from_cells(extended(&action, degree));
        puzzle.add_move(name, action).map_err(|error| Fault::new(at, error))?;
    }
    if let Some((at, values)) = alike {
        let pieces = pieces(&puzzle, at, &values)?;
        puzzle.set_solved(&pieces).map_err(|error| Fault::new(at, error))?;
        puzzle.add_remark(format!(
            "{ALIKE} of the file is honoured: points of one list look alike, and points of no list are not looked at; --labelled tells all apart"
        ));
    }
    if !passed_over.is_empty() {
        let more = if passed_over.len() > 3 { ", …" } else { "" };
        let first = passed_over[..passed_over.len().min(3)].join(", ");
        puzzle.add_remark(format!("passed over, for no move is made of it: {first}{more}"));
    }
    puzzle.validated().map_err(Fault::whole)
}

/// Returns the name of the puzzle. `Gen` does not name one, because PuzzleGeometry gives this name to all its
/// lists.
fn puzzle_name(name: Option<String>, stem: &str) -> String {
    name.filter(|name| name != "Gen").unwrap_or_else(|| stem.into())
}

/// Returns the text with comments replaced by blanks, so that offsets stay the same. In the protocol of a
/// session, where the input lines begin with `gap>` or `>`, the answers are replaced by blanks too.
fn without_comments(text: &str) -> String {
    let is_protocol = text.lines().any(|line| line.starts_with("gap>"));
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let prompt = ["gap>", ">"].into_iter().find(|prompt| line.starts_with(prompt));
        let from = match prompt {
            _ if !is_protocol => comment_start(line),
            Some(prompt) => {
                bytes[at..at + prompt.len()].fill(b' ');
                comment_start(line)
            }
            None => 0,
        };
        for byte in &mut bytes[at + from..at + line.len()] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at += line.len();
    }
    String::from_utf8(bytes).expect("whole characters are blanked: '#' and '\\n' are ASCII")
}

/// Returns the offset of the comment in a line, or the length of the line. `#` in a text in quotes begins no
/// comment.
fn comment_start(line: &str) -> usize {
    let mut is_text = false;
    let mut is_escaped = false;
    let starts = |&(_, byte): &(usize, u8)| {
        match byte {
            b'"' if !is_escaped => is_text = !is_text,
            b'#' if !is_text => return true,
            _ => {}
        }
        is_escaped = is_text && byte == b'\\' && !is_escaped;
        false
    };
    line.bytes().enumerate().find(starts).map_or(line.len(), |(at, _)| at)
}

/// Returns whether a list stands for moves: it has a permutation, or lists of lists of numbers, which are
/// cycles.
fn holds_permutations(values: &[Value]) -> bool {
    values.iter().any(|value| match value {
        Value::Permutation(_) | Value::Group(_) => true,
        Value::List(inner) => holds_permutations(inner) || is_cycles(inner),
        Value::Number(..) | Value::Other(..) => false,
    })
}

/// Returns whether a list is a permutation in the form of its cycles, `[[1,2],[3,4]]`.
fn is_cycles(values: &[Value]) -> bool {
    let is_cycle = |value: &Value| match value {
        Value::List(points) => !points.is_empty() && points.iter().all(|p| matches!(p, Value::Number(..))),
        _ => false,
    };
    !values.is_empty() && values.iter().all(is_cycle)
}

/// Returns the permutations of a list.
fn elements_of(values: Vec<Value>) -> Result<Vec<Element>, Fault> {
    let mut elements = Vec::new();
    for value in values {
        match value {
            Value::Permutation(element) => elements.push(element),
            Value::Group(more) => elements.extend(more),
            Value::List(cycles) if is_cycles(&cycles) => elements.push(of_cycles(&cycles)?),
            Value::List(inner) => elements.extend(elements_of(inner)?),
            Value::Number(at, number) => {
                return Err(Fault::syntax(at, format!("{number} is no permutation")));
            }
            Value::Other(at, what) => {
                let why = "a move would be made of it: write permutations, lists of them, and Group(...)";
                return Err(Fault::new(at, Reason::Unsupported { what, why }));
            }
        }
        if elements.len() > Definition::MAX_MOVES {
            return Err(Fault::new(elements[0].at, DefinitionError::TooManyMoves));
        }
    }
    Ok(elements)
}

/// Returns the permutation of a list of cycles.
fn of_cycles(cycles: &[Value]) -> Result<Element, Fault> {
    let points = |cycle: &Value| match cycle {
        Value::List(points) => points.clone(),
        _ => Vec::new(),
    };
    let cycles: Vec<Vec<(usize, u64)>> = cycles
        .iter()
        .map(|cycle| {
            points(cycle)
                .iter()
                .filter_map(|point| match *point {
                    Value::Number(at, number) => Some((at, number)),
                    _ => None,
                })
                .collect()
        })
        .collect();
    let mut largest = (0, 0);
    for &(at, point) in cycles.iter().flatten() {
        if point > largest.1 {
            largest = (at, point);
        }
    }
    let degree = checked_degree(largest.0, largest.1)?;
    let mut images: Vec<u16> = (0..degree as u16).collect();
    let mut seen = vec![false; degree];
    for cycle in &cycles {
        for (i, &(at, point)) in cycle.iter().enumerate() {
            if point == 0 {
                return Err(Fault::new(
                    at,
                    Reason::Cycles(CycleError::OutOfRange { at: 0, point: "0".into(), degree }),
                ));
            }
            let point = point as usize - 1;
            if std::mem::replace(&mut seen[point], true) {
                return Err(Fault::new(at, Reason::Cycles(CycleError::Repeated { at: 0, point: point + 1 })));
            }
            images[point] = (cycle[(i + 1) % cycle.len()].1.max(1) - 1) as u16;
        }
    }
    let at = cycles[0][0].0;
    let action = Permutation::from_images(images).expect("no point occurs twice");
    Ok(Element { name: None, at, action })
}

impl Value {
    /// Returns the number of values in this value, the number of points of its permutations, and the depth to
    /// which it is nested.
    fn size(&self) -> (usize, usize, usize) {
        let add = |(values, points, depth), (v, p, d): (usize, usize, usize)| {
            (values + v, points + p, d.max(depth))
        };
        match self {
            Self::Permutation(element) => (1, element.action.degree(), 0),
            Self::List(values) => {
                let (values, points, depth) = values.iter().map(Self::size).fold((1, 0, 0), add);
                (values, points, depth + 1)
            }
            Self::Group(elements) => {
                (1 + elements.len(), elements.iter().map(|element| element.action.degree()).sum(), 1)
            }
            Self::Number(..) | Self::Other(..) => (1, 0, 0),
        }
    }
}

fn too_deep(at: usize) -> Fault {
    Fault::syntax(at, format!("lists are nested more than {MAX_DEPTH} deep"))
}

/// Checks that a puzzle may have this many points.
fn checked_degree(at: usize, largest: u64) -> Result<usize, Fault> {
    match usize::try_from(largest) {
        Ok(degree) if degree <= Definition::MAX_POINTS => Ok(degree),
        largest => {
            let points = largest.unwrap_or(usize::MAX);
            Err(Fault::new(at, DefinitionError::TooManyPoints { points }))
        }
    }
}

/// Returns the same permutation on more points, which it fixes.
fn extended(action: &Permutation, degree: usize) -> Permutation {
    Permutation::from_fn(degree, |point| if point < action.degree() { action.apply(point) } else { point })
}

/// Returns the pieces on the points: the points of one list look alike, and so do all points of no list. The
/// elements that then change nothing visible form the stabiliser of the tuple of sets,
/// `Stabilizer(Group(Gen), ip, OnTuplesSets)`.
fn pieces(puzzle: &Definition, at: usize, lists: &[Value]) -> Result<Vec<Piece>, Fault> {
    let cells = puzzle.cells();
    let mut label_of: Vec<Option<u16>> = vec![None; cells];
    for (label, list) in (1..).zip(lists) {
        let Value::List(points) = list else {
            return Err(Fault::syntax(at, format!("{ALIKE} is a list of lists of points that look alike")));
        };
        for point in points {
            let &Value::Number(at, point) = point else {
                return Err(Fault::syntax(
                    at,
                    format!("{ALIKE} is a list of lists of points that look alike"),
                ));
            };
            let cell = usize::try_from(point).ok().filter(|cell| (1..=cells).contains(cell));
            let cell = cell.ok_or_else(|| {
                let reason = format!(
                    "{ALIKE} has the point {point}, and the permutations move points from 1 to {cells}"
                );
                Fault::syntax(at, reason)
            })?;
            if label_of[cell - 1].replace(label).is_some() {
                return Err(Fault::syntax(at, format!("{ALIKE} has the point {point} twice")));
            }
        }
    }
    let piece = |label: Option<u16>| Piece { label: label.unwrap_or(0), orientation: 0, seen: 1 };
    Ok(label_of.into_iter().map(piece).collect())
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    known: HashMap<String, Value>,
    /// The number of values that have been made so far, and of the points of the permutations among them.
    values: usize,
    points: usize,
}

impl Reader<'_> {
    /// Reads `name := value;` or `value;`; the last semicolon is optional.
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
        if let (Some(name), Value::Permutation(element)) = (&name, &mut value) {
            element.name = Some(puzzle_move_name(name));
        }
        if let Some(name) = &name {
            self.known.insert(name.clone(), value.clone());
        }
        if self.peek().is_some() && !self.accept(";") {
            return Err(self.unexpected("';'"));
        }
        while self.accept(";") {}
        Ok((name, value))
    }

    /// Reads a product of powers.
    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        let start = self.at;
        let mut value = self.power(depth)?;
        loop {
            let by = match self.peek() {
                Some(operator @ ('*' | '/')) => {
                    self.at += 1;
                    let factor = self.power(depth)?;
                    (operator, factor)
                }
                _ => return Ok(value),
            };
            value = match (value, by) {
                (Value::Permutation(a), (operator, Value::Permutation(b))) => {
                    let degree = a.action.degree().max(b.action.degree());
                    let [x, y] = [&a.action, &b.action].map(|action| extended(action, degree));
                    let action = if operator == '*' { x.then(&y) } else { x.then(&y.inverse()) };
                    Value::Permutation(Element { name: None, at: a.at, action })
                }
                _ => Value::Other(start, "a product of something else than permutations".into()),
            };
        }
    }

    /// Reads a value and the exponents behind it: each is a number, or a permutation that conjugates the
    /// value.
    fn power(&mut self, depth: usize) -> Result<Value, Fault> {
        let start = self.at;
        let mut value = self.single(depth)?;
        while self.accept("^") {
            let at = self.at;
            let sign = if self.accept("-") { -1 } else { 1 };
            let exponent = self.single(depth)?;
            value = match (value, exponent) {
                (Value::Permutation(base), Value::Number(_, times)) => {
                    let times = i64::try_from(times).ok().filter(|&times| times <= MAX_EXPONENT);
                    let times = times.ok_or_else(|| {
                        Fault::syntax(at, format!("an exponent above {MAX_EXPONENT}: reduce it by the order"))
                    })?;
                    Value::Permutation(Element {
                        name: None,
                        action: base.action.power(sign * times),
                        ..base
                    })
                }
                (Value::Permutation(base), Value::Permutation(by)) if sign == 1 => {
                    let degree = base.action.degree().max(by.action.degree());
                    let [x, y] = [&base.action, &by.action].map(|action| extended(action, degree));
                    let action = y.inverse().then(&x).then(&y);
                    Value::Permutation(Element { name: None, at: base.at, action })
                }
                _ => Value::Other(start, "a power of something else than a permutation".into()),
            };
        }
        Ok(value)
    }

    fn single(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > MAX_DEPTH {
            return Err(too_deep(self.at));
        }
        self.count(1, 0)?;
        match self.peek() {
            Some('(')
                if self.text[self.at + 1..]
                    .trim_start()
                    .starts_with(|c: char| c.is_ascii_digit() || ",)".contains(c)) =>
            {
                self.permutation()
            }
            Some('(') => {
                self.at += 1;
                let inner = self.value(depth + 1)?;
                if self.accept(")") { Ok(inner) } else { Err(self.unexpected("a point, ',' or ')'")) }
            }
            Some('[') => {
                self.at += 1;
                Ok(Value::List(self.values("]", depth)?))
            }
            Some('"' | '\'') => self.string(),
            Some('-') => {
                let start = self.at;
                self.at += 1;
                self.single(depth + 1)?;
                Ok(Value::Other(start, "a negative number".into()))
            }
            _ => {
                let start = self.at;
                match self.word() {
                    Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                        Ok(Value::Number(start, number.parse().unwrap_or(u64::MAX)))
                    }
                    Some(word) if self.peek() == Some('(') => {
                        self.at += 1;
                        let arguments = self.values(")", depth)?;
                        match word.as_str() {
                            "Group" | "GroupWithGenerators" => Ok(Value::Group(elements_of(arguments)?)),
                            _ => Ok(Value::Other(start, word)),
                        }
                    }
                    Some(word) => match self.known.get(&word) {
                        Some(value) => {
                            let (values, points, nested) = value.size();
                            if depth + nested > MAX_DEPTH {
                                return Err(too_deep(start));
                            }
                            let value = value.clone();
                            self.count(values, points)?;
                            Ok(value)
                        }
                        // This may be the name of a function of GAP, such as OnTuplesSets. It is refused if a
                        // move would be made of it.
                        None if depth > 0 => {
                            Ok(Value::Other(start, format!("{word:?}, which is not defined,")))
                        }
                        None => Err(Fault::syntax(start, format!("{word:?} is not defined"))),
                    },
                    None => Err(self.unexpected("a permutation, a list or Group(...)")),
                }
            }
        }
    }

    /// Counts values before memory is taken for them, and refuses too many.
    fn count(&mut self, values: usize, points: usize) -> Result<(), Fault> {
        self.values += values;
        self.points += points;
        if self.values > MAX_VALUES || self.points > MAX_POINTS_IN_ALL {
            let reason = format!(
                "the file has more than {MAX_VALUES} values, or permutations of more than {MAX_POINTS_IN_ALL} points in all: too many for a puzzle"
            );
            return Err(Fault::syntax(self.at, reason));
        }
        Ok(())
    }

    /// Reads the values up to the closing bracket.
    fn values(&mut self, close: &str, depth: usize) -> Result<Vec<Value>, Fault> {
        let mut values = Vec::new();
        if self.accept(close) {
            return Ok(values);
        }
        loop {
            values.push(self.value(depth + 1)?);
            // This is a range, such as [1..48].
            if self.accept("..") {
                let start = self.at;
                self.value(depth + 1)?;
                values.push(Value::Other(start, "a range".into()));
            }
            if self.accept(close) {
                return Ok(values);
            }
            if !self.accept(",") {
                return Err(self.unexpected(if close == "]" { "',' or ']'" } else { "',' or ')'" }));
            }
        }
    }

    /// Reads a text in quotes, which makes no moves.
    fn string(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let quote = self.text.as_bytes()[start];
        let mut is_escaped = false;
        let ends = |&byte: &u8| {
            let is_end = byte == b'\n' || byte == quote && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            is_end
        };
        let end = self.text.as_bytes()[start + 1..].iter().position(ends);
        match end.map(|end| start + 1 + end) {
            Some(end) if self.text.as_bytes()[end] == quote => {
                self.at = end + 1;
                Ok(Value::Other(start, "a text".into()))
            }
            _ => Err(Fault::syntax(start, "this quote is not closed on its line")),
        }
    }

    /// Reads one permutation: all cycles that directly follow each other.
    fn permutation(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let mut end = start;
        let mut largest = (start, 0);
        while self.peek() == Some('(') {
            let inside = &self.text[self.at + 1..];
            let length = inside.find(|c: char| !(c.is_ascii_digit() || c == ',' || c.is_whitespace()));
            let point =
                |part: &str| part.trim().parse().unwrap_or(if part.trim().is_empty() { 0 } else { u64::MAX });
            let mut at = self.at + 1;
            for part in inside[..length.unwrap_or(0)].split_inclusive([',', ' ', '\n', '\t']) {
                let found = point(part.trim_end_matches(','));
                if found > largest.1 {
                    largest = (at + part.len() - part.trim_start().len(), found);
                }
                at += part.len();
            }
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
        let degree = checked_degree(largest.0, largest.1)?;
        self.count(0, degree)?;
        let action = Permutation::parse(&self.text[start..end], degree)
            .map_err(|error| Fault::new(start + error.at(), Reason::Cycles(error)))?;
        Ok(Value::Permutation(Element { name: None, at: start, action }))
    }

    fn word(&mut self) -> Option<String> {
        self.peek();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| rest[..end].to_string())
    }

    /// Passes over blanks, and returns the next character without passing over it.
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

/// Returns the name of a move. PuzzleGeometry writes `M_` before the names, because GAP would take a name
/// such as `2U` for a number otherwise.
fn puzzle_move_name(name: &str) -> String {
    name.strip_prefix("M_").filter(|rest| !rest.is_empty()).unwrap_or(name).into()
}
