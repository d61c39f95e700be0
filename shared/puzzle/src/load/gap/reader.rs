//! The grammar: statements, products, powers, lists and calls.

use super::super::{Fault, Reason};
use super::names::{CHANGE_LISTS, PROGRAM, gives_no_group};
use super::value::{Element, Value, checked_degree, elements_of, extended, is_cycles, of_images};
use crate::definition::Definition;
use fathom_algebra::Permutation;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The largest depth to which lists, calls and parentheses may be nested.
const MAX_DEPTH: usize = 32;
/// The largest number of values in all statements together: a puzzle has fewer.
const MAX_VALUES: usize = 1 << 16;
/// The largest number of points of all permutations together.
const MAX_POINTS_IN_ALL: usize = 1 << 24;
/// The largest exponent. Larger exponents are never needed, because they can be reduced modulo the order of
/// the permutation.
const MAX_EXPONENT: i64 = 1 << 40;

/// The value of a statement.
pub(super) struct Said {
    pub(super) name: Option<String>,
    /// The byte offset of the last statement that assigned the name a value, or modified the list.
    pub(super) at: usize,
    pub(super) value: Value,
}

impl Said {
    /// Returns the value if it is a permutation, which has a name if it was assigned to one.
    pub(super) fn permutation(&self) -> Option<&Element> {
        match &self.value {
            Value::Permutation(element) => Some(element),
            _ => None,
        }
    }

    /// Returns the offset of the first point, and the name of the move, if the value is a list of the cycles
    /// of one permutation that was assigned to a name.
    pub(super) fn named_cycles(&self) -> Option<(usize, String)> {
        let Value::List(cycles) = &self.value else { return None };
        let Some(Value::List(points)) = cycles.first().filter(|_| is_cycles(cycles)) else { return None };
        let &Value::Number(at, _) = points.first()? else { return None };
        Some((at, puzzle_move_name(self.name.as_deref()?)))
    }
}

/// Reads statements one after another, and keeps the values of names.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    said: Vec<Said>,
    /// The index in `said` of the value of each name: the last one assigned.
    known: HashMap<String, usize>,
    /// The names of lists that have several.
    shared: HashSet<String>,
    /// Whether each line of the text is one permutation.
    has_one_a_line: bool,
    /// Whether the current statement assigns its value to a name.
    is_named: bool,
    /// Where cycles of the current statement continue on a new line, outside brackets.
    continued: Option<usize>,
    /// The number of values created so far, and of the points of the permutations among them.
    values: usize,
    points: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            said: Vec::new(),
            known: HashMap::new(),
            shared: HashSet::new(),
            has_one_a_line: has_one_a_line(text),
            is_named: false,
            continued: None,
            values: 0,
            points: 0,
        }
    }

    /// Reads all statements. A name that is assigned several values has the last of them, and the place of
    /// the first.
    pub(super) fn statements(mut self) -> Result<Vec<Said>, Fault> {
        while self.peek().is_some() {
            self.statement()?;
        }
        Ok(self.said)
    }

    /// Reads `name := value;`, `value;` or a call that modifies a list; the last semicolon is optional. A
    /// text with one permutation on each line needs no semicolons.
    fn statement(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let mut name = None;
        if let Some(word) = self.word() {
            if PROGRAM.contains(&word.as_str()) {
                return Err(program(start, format!("'{word}'")));
            }
            if self.accept(":=") {
                name = Some(word);
            } else if self.assigns_entry() {
                return Err(program(start, format!("an assignment to an entry of {word:?}")));
            } else {
                self.at = start;
            }
        }
        self.is_named = name.is_some();
        if name.is_some() || !self.change()? {
            let mut value = self.named_value(name.as_deref())?;
            if let (Some(name), Value::Permutation(element)) = (&name, &mut value) {
                element.name = Some(puzzle_move_name(name));
            }
            let place = name.as_ref().and_then(|name| self.known.get(name)).copied();
            let said = Said { name: name.clone(), at: start, value };
            match place {
                Some(place) => self.said[place] = said,
                None => {
                    self.known.extend(name.map(|name| (name, self.said.len())));
                    self.said.push(said);
                }
            }
        }
        let continued = self.continued.take();
        match (self.peek(), continued) {
            (None, Some(at)) => return Err(new_line(at)),
            (Some('('), _) if self.has_one_a_line && self.begins_line() => return Ok(()),
            (Some(_), _) if !self.accept(";") => return Err(self.unexpected("';'")),
            _ => {}
        }
        while self.accept(";") {}
        Ok(())
    }

    /// Returns whether an entry in brackets, or a component after a dot, and `:=` are next.
    fn assigns_entry(&self) -> bool {
        let statement = self.text[self.at..].split(';').next().unwrap_or_default();
        let entry = statement.split_once(":=").map_or("", |(entry, _)| entry.trim());
        entry.starts_with('[') && entry.ends_with(']') || entry.starts_with('.') && !entry.contains(' ')
    }

    /// Reads the value of a statement. If the value is only another name, both names refer to the same list,
    /// and changes are visible under both.
    fn named_value(&mut self, name: Option<&str>) -> Result<Value, Fault> {
        let start = self.at;
        let value = self.value(0)?;
        let other = self.text[start..self.at].trim();
        if let (Some(name), Value::List(_), true) = (name, &value, self.known.contains_key(other)) {
            self.shared.extend([name.to_owned(), other.to_owned()]);
        }
        Ok(value)
    }

    /// Reads `Add(name, value)` or `Append(name, list)`, and extends the list. Returns false if
    /// something else is next.
    fn change(&mut self) -> Result<bool, Fault> {
        let start = self.at;
        let Some(function) = self.word().filter(|word| CHANGE_LISTS.contains(&word.as_str())) else {
            self.at = start;
            return Ok(false);
        };
        let cannot = |what: String| {
            let why = "use Add(NAME, VALUE) or Append(NAME, LIST), or write the whole list";
            Err(Fault::new(start, Reason::Unsupported { what, why }))
        };
        let name = if self.accept("(") { self.word() } else { None };
        if let Some(name) = name.as_ref().filter(|name| self.shared.contains(*name)) {
            return cannot(format!("{function} of a list that has another name besides {name:?}"));
        }
        let place = name.and_then(|name| self.known.get(&name)).copied();
        let place = place.filter(|&place| matches!(self.said[place].value, Value::List(_)));
        let (Some(place), true) = (place, self.accept(",")) else {
            return cannot(format!("{function} of something other than the name of a list"));
        };
        let mut arguments = self.values(")", 0)?;
        let Said { at, value: Value::List(values), .. } = &mut self.said[place] else {
            unreachable!("reading a value changes none of those before");
        };
        match (function.as_str(), arguments.pop(), arguments.is_empty()) {
            ("Add", Some(value), true) => values.push(value),
            ("Append", Some(Value::List(more)), true) => values.extend(more),
            _ => return cannot(format!("{function} with these arguments")),
        }
        *at = start;
        Ok(true)
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
                _ => Value::Other(start, "a product of something other than permutations".into()),
            };
        }
    }

    /// Reads a value and the exponents after it: each is a number, or a permutation that conjugates the
    /// value.
    fn power(&mut self, depth: usize) -> Result<Value, Fault> {
        self.peek();
        let start = self.at;
        let mut value = self.single(depth)?;
        while self.accept("^") {
            let at = self.at;
            let (sign, exponent) = match self.number_in_parentheses() {
                Some(number) => number,
                None => (if self.accept("-") { -1 } else { 1 }, self.single(depth)?),
            };
            value = match (value, exponent) {
                (Value::Permutation(base), Value::Number(_, times)) => {
                    let times = i64::try_from(times).ok().filter(|&times| times <= MAX_EXPONENT);
                    let times = times.ok_or_else(|| {
                        Fault::syntax(
                            at,
                            format!("an exponent above {MAX_EXPONENT}: reduce it modulo the order"),
                        )
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
                (Value::Group(_), _) => Value::Unknown(start, "a conjugate of a group".into()),
                (Value::Unknown(_, what), _) => Value::Unknown(start, what),
                _ => Value::Other(start, "a power of something other than a permutation".into()),
            };
        }
        Ok(value)
    }

    /// Reads a number in parentheses, such as `(-1)`, with its sign. On its own it would be a
    /// cycle.
    fn number_in_parentheses(&mut self) -> Option<(i64, Value)> {
        self.peek().filter(|&next| next == '(')?;
        let (inside, _) = self.text[self.at + 1..].split_once(')')?;
        let (sign, digits) = match inside.trim().strip_prefix('-') {
            Some(digits) => (-1, digits.trim_start()),
            None => (1, inside.trim()),
        };
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = Value::Number(self.at, digits.parse().unwrap_or(u64::MAX));
        self.at += if is_number { inside.len() + 2 } else { 0 };
        is_number.then_some((sign, number))
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
                self.permutation(depth)
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
                    Some(word) if ["function", "rec"].contains(&word.as_str()) => {
                        Err(program(start, format!("'{word}'")))
                    }
                    Some(word) if self.accept("->") => {
                        Err(program(start, format!("a function '{word} -> …'")))
                    }
                    Some(word) if self.peek() == Some('(') => {
                        self.at += 1;
                        let arguments = self.values(")", depth)?;
                        match word.as_str() {
                            "Group" | "GroupWithGenerators" | "ClosureGroup" => {
                                Ok(Value::Group(elements_of(arguments)?))
                            }
                            "Subgroup" | "SubgroupNC" => subgroup(start, arguments),
                            "PermList" => of_images(start, &arguments),
                            function if gives_no_group(function) => Ok(Value::Other(start, word)),
                            _ => Ok(Value::Unknown(start, word)),
                        }
                    }
                    Some(word) => match self.known.get(&word) {
                        Some(&place) => {
                            let path = self.path(place, depth)?;
                            let Some(value) = self.said[place].value.entry(&path) else {
                                return Ok(Value::Other(
                                    start,
                                    format!("an entry that {word} does not have"),
                                ));
                            };
                            let (values, points, nested) = value.size();
                            if depth + nested > MAX_DEPTH {
                                return Err(too_deep(start));
                            }
                            let value = value.into_owned();
                            self.count(values, points)?;
                            Ok(value)
                        }
                        // This may be the name of a function of GAP, such as OnTuplesSets. It is an error if
                        // a move would use it.
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

    /// Reads the numbers of entries after the name of a list or a group: `[1]`, `[1][2]`, `.1`.
    fn path(&mut self, place: usize, depth: usize) -> Result<Vec<usize>, Fault> {
        let mut path = Vec::new();
        loop {
            let next = self.peek();
            let entry = self.said[place].value.entry(&path);
            let is_list = matches!(entry, Some(Cow::Borrowed(Value::List(_))));
            let is_group = matches!(entry, Some(Cow::Borrowed(Value::Group(_))));
            let rest = &self.text[self.at..];
            let has_number = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
            let number = match next {
                Some('[') if is_list => {
                    self.at += 1;
                    match self.values("]", depth)?[..] {
                        [Value::Number(_, number)] => usize::try_from(number).ok(),
                        _ => None,
                    }
                }
                Some('.') if is_group && has_number => {
                    self.at += 1;
                    self.word().and_then(|number| number.parse().ok())
                }
                _ => return Ok(path),
            };
            // No list is this long.
            path.push(number.unwrap_or(usize::MAX));
        }
    }

    /// Counts values before memory is allocated for them, and returns an error if there are too many.
    fn count(&mut self, values: usize, points: usize) -> Result<(), Fault> {
        self.values += values;
        self.points += points;
        if self.values > MAX_VALUES || self.points > MAX_POINTS_IN_ALL {
            let reason = format!(
                "the file has more than {MAX_VALUES} values, or permutations of more than {MAX_POINTS_IN_ALL} points in total: too many for a puzzle"
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
            if self.accept("..") {
                let start = self.at;
                let last = self.value(depth + 1)?;
                match range(&values, &last).filter(|range| self.values + range.len() <= MAX_VALUES / 2) {
                    Some(range) => {
                        self.count(range.len(), 0)?;
                        values = range.into_iter().map(|number| Value::Number(start, number)).collect();
                    }
                    None => values.push(Value::Other(start, "a range".into())),
                }
            }
            if self.accept(close) {
                return Ok(values);
            }
            if !self.accept(",") {
                return Err(self.unexpected(if close == "]" { "',' or ']'" } else { "',' or ')'" }));
            }
        }
    }

    /// Reads a quoted string, which defines no moves.
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

    /// Reads one permutation: all cycles that directly follow each other. Within brackets, and in a statement
    /// `name := value;`, they may take several lines, as GAP writes them. Elsewhere only a text with one
    /// permutation on each line determines whether cycles on a new line are another permutation.
    fn permutation(&mut self, depth: usize) -> Result<Value, Fault> {
        let start = self.at;
        let mut end = start;
        let mut largest = (start, 0);
        while self.peek() == Some('(') {
            if depth == 0 && end > start && self.begins_line() {
                if self.has_one_a_line {
                    break;
                }
                if !self.is_named {
                    return Err(new_line(self.at));
                }
                self.continued.get_or_insert(self.at);
            }
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

    /// Skips blanks, and returns the next character without consuming it.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Returns whether there are only blanks before this place on its line.
    fn begins_line(&self) -> bool {
        self.text[..self.at].trim_end_matches([' ', '\t', '\r']).ends_with('\n')
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

/// Returns whether a text has no semicolons, and one permutation, or one product, on each of several lines:
/// lines that begin in the same column with a parenthesis, and close all parentheses that they open.
pub(super) fn has_one_a_line(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let Some(column) = lines.peek().map(|line| line.len() - line.trim_start().len()) else { return false };
    let is_whole = |line: &str| {
        line.find(|c: char| !c.is_whitespace()) == Some(column)
            && line[column..].starts_with('(')
            && line.matches('(').count() == line.matches(')').count()
    };
    !text.contains(';') && lines.next().is_some_and(is_whole) && lines.peek().is_some() && lines.all(is_whole)
}

/// Returns the fault of a text that GAP would have to execute.
fn program(at: usize, what: String) -> Fault {
    let why = "no programs are run; let GAP print the permutations, and save what it prints as a file";
    Fault::new(at, Reason::Unsupported { what, why })
}

fn new_line(at: usize) -> Fault {
    Fault::syntax(
        at,
        "cycles on a new line may continue the permutation above or be another one: write each permutation as 'NAME := CYCLES;'",
    )
}

/// Returns the numbers of a range such as `[1..48]` or `[1,3..47]`, of which the first one or two are known;
/// `None` for a range of decreasing numbers, or one that is longer than a puzzle has points.
fn range(first: &[Value], last: &Value) -> Option<Vec<u64>> {
    let (first, step, last) = match (first, last) {
        (&[Value::Number(_, first)], &Value::Number(_, last)) => (first, 1, last),
        (&[Value::Number(_, first), Value::Number(_, second)], &Value::Number(_, last)) => {
            (first, second.checked_sub(first).filter(|&step| step > 0)?, last)
        }
        _ => return None,
    };
    let most = Definition::MAX_POINTS as u64;
    (last.saturating_sub(first) / step < most).then(|| (first..=last).step_by(step as usize).collect())
}

/// Returns the group of the arguments of `Subgroup`: a group, which is otherwise ignored, and a list
/// of generators.
fn subgroup(at: usize, arguments: Vec<Value>) -> Result<Value, Fault> {
    match <[Value; 2]>::try_from(arguments) {
        Ok([_, Value::List(generators)]) => Ok(Value::Group(elements_of(generators)?)),
        _ => Err(Fault::syntax(at, "Subgroup takes a group and a list of permutations")),
    }
}

fn too_deep(at: usize) -> Fault {
    Fault::syntax(at, format!("lists are nested more than {MAX_DEPTH} deep"))
}

/// Returns the name of a move. PuzzleGeometry prefixes names with `M_`, because GAP would otherwise read a
/// name such as `2U` as a number.
fn puzzle_move_name(name: &str) -> String {
    name.strip_prefix("M_").filter(|rest| !rest.is_empty()).unwrap_or(name).into()
}
