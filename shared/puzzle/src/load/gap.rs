//! Permutations as [GAP](https://www.gap-system.org) reads them.
//!
//! The forms are `name := Group((1,2,3)(4,5), (1,2));`, a list `[ (1,2,3), (1,2) ]`, permutations that are
//! assigned to names first, and products, powers and conjugates of permutations. PuzzleGeometry and CayleyPy
//! write `Gen := [...]`, and `ip := [[1],[4,7],...]` for the points that look alike. `#` starts a comment.
//! Named permutations that are not moves become [spare](Definition::spare). The puzzle is named after the
//! file: most files call their group `G`. It has as many cells as its largest point; smaller points that
//! nothing moves are cells too. `PermList([2,3,1])` is a permutation, `Add(gens, (1,2))` and `Append(gens,
//! [(1,2)])` make a list longer, and `ClosureGroup(G, (1,2))` a group.
//!
//! `Subgroup(G, [(1,2)])` is the group that the list generates.
//!
//! Values that are not permutations are ignored unless a move uses them: numbers, strings, calls of functions
//! such as `Size(Group(Gen))`. A move that would use such a value is an error, and so is a value that may be
//! a group, such as `DerivedSubgroup(G)`, after everything that could define the moves.
//!
//! A file without semicolons may have one permutation on each line.

mod names;
mod reader;
mod value;

use super::{Fault, Reason};
use crate::definition::{Definition, DefinitionError, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};
use reader::{Reader, Said, has_one_a_line};
use std::collections::{BTreeSet, HashMap, HashSet};
use value::{Element, Value, elements_of, extended, has_cycles, has_permutation, is_cycles};

/// The name that PuzzleGeometry gives to the list of the points that look alike.
const ALIKE: &str = "ip";

pub(super) fn read(text: &str, stem: &str) -> Result<Definition, Fault> {
    let text = without_comments(text);
    let mut sources = Sources::default();
    let mut alike = None;
    let mut passed_over: Vec<String> = Vec::new();
    // The last value that may be a group: the offset of its statement, and the error to report unless the
    // moves come from a later statement.
    let mut unknown: Option<(usize, Fault)> = None;
    let said = Reader::new(&text).statements()?;
    let named: Vec<Element> = said.iter().filter_map(Said::permutation).cloned().collect();
    // A list of cycles that has a name: a copy of it in another list begins at the same offset of the text.
    let lists: HashMap<usize, String> = said.iter().filter_map(Said::named_cycles).collect();
    let is_by_line = said.len() > 1 && has_one_a_line(&text);
    for Said { name, at, value } in said {
        match value {
            Value::Group(elements) => sources.groups.push(Source { name, at, of: elements }),
            Value::List(values) if name.as_deref() == Some(ALIKE) => alike = Some((at, values)),
            Value::List(values) if has_permutation(&values) => {
                sources.lists.push(Source { name, at, of: values });
            }
            Value::List(values) if has_cycles(&values) => {
                sources.cycles.push(Source { name, at, of: values });
            }
            Value::List(cycles) if is_cycles(&cycles) => {
                sources.alone.push(Source { name, at, of: vec![Value::List(cycles)] });
            }
            Value::Permutation(element) => sources.single.push(Source { name, at, of: element }),
            Value::Unknown(place, what) => {
                passed_over.extend(name.map(|name| format!("{name} := {what}")));
                if unknown.as_ref().is_none_or(|(last, _)| *last < at) {
                    let why = "the moves are those of the last group, and this may be a group: write it as Group(PERMUTATIONS), or delete the statement";
                    unknown = Some((at, Fault::new(place, Reason::Unsupported { what, why })));
                }
            }
            Value::Other(_, what) => passed_over.extend(name.map(|name| format!("{name} := {what}"))),
            Value::List(_) | Value::Number(..) => passed_over.extend(name),
        }
    }
    let chosen = sources.choose()?;
    if let Some((at, fault)) = unknown
        && chosen.as_ref().is_none_or(|chosen| chosen.at < at)
    {
        return Err(fault);
    }
    let Some(Chosen { kind, name, mut elements, unused, blocks, .. }) = chosen else {
        return Err(Fault::whole(DefinitionError::NoMoves));
    };
    for element in elements.iter_mut().filter(|element| element.name.is_none()) {
        element.name = lists.get(&element.at).cloned();
    }
    passed_over.extend(blocks);
    let unused = (!unused.is_empty()).then(|| {
        let whose =
            name.as_ref().map_or_else(|| format!("the last {kind}"), |name| format!("the {kind} {name}"));
        format!("the moves are those of {whose}; unused permutations: {}", first_few(&unused))
    });
    // The identity generates nothing, so it is omitted. If there is nothing else, it is the only move of a
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
    // A name may have been assigned to several permutations of a list, one after another. It belongs to the
    // last.
    let mut last: HashMap<String, Permutation> = HashMap::new();
    for element in elements.iter_mut().rev() {
        let Some(name) = element.name.clone() else { continue };
        let action = extended(&element.action, degree);
        if *last.entry(name).or_insert_with(|| action.clone()) != action {
            element.name = None;
        }
    }
    let mut puzzle = Definition::of_degree(stem, degree).map_err(|error| Fault::new(at, error))?;
    let mut names: HashSet<String> =
        elements.iter().chain(&named).filter_map(|element| element.name.clone()).collect();
    for (number, Element { name, at, action }) in (1..).zip(elements) {
        let is_given = name.is_some();
        let other_name = || (number..).map(|number| format!("g{number}")).find(|name| !names.contains(name));
        let name = name.or_else(other_name).expect("there are more numbers than names");
        names.insert(name.clone());
        let action = OrientedPermutation::from_cells(extended(&action, degree));
        // A generator may be listed twice.
        if is_given && puzzle.moves().iter().any(|known| known.name == name && known.action == action) {
            continue;
        }
        puzzle.add_move(name, action).map_err(|error| Fault::new(at, error))?;
    }
    // The other permutations that have names are not moves, but users can choose them by name.
    for Element { name, action, .. } in named {
        let Some(name) = name.filter(|_| action.degree() <= degree && !action.is_identity()) else {
            continue;
        };
        let is_move = puzzle.moves().iter().any(|known| known.name == name);
        if !is_move && puzzle.moves().len() + puzzle.spare().len() < Definition::MAX_MOVES {
            let action = OrientedPermutation::from_cells(extended(&action, degree));
            puzzle.add_spare(name, action).map_err(|error| Fault::new(at, error))?;
        }
    }
    if let Some((at, values)) = alike {
        let pieces = pieces(&puzzle, at, &values)?;
        puzzle.set_solved(&pieces).map_err(|error| Fault::new(at, error))?;
        puzzle.add_remark(&format!(
            "{ALIKE} is used: points of the same list are interchangeable, and points in no list are ignored; --labelled distinguishes all points"
        ));
    }
    if let Some(remark) = unused {
        puzzle.add_remark(&remark);
    }
    if is_by_line {
        puzzle.add_remark("each line is read as one move, because no permutation ends with ';'");
    }
    if !passed_over.is_empty() {
        let names = first_few(&passed_over);
        puzzle.add_remark(&format!("ignored, because no move uses it: {names}"));
    }
    puzzle.validated().map_err(Fault::whole)
}

/// Returns the first three names, and an ellipsis if there are more.
fn first_few(names: &[String]) -> String {
    let more = if names.len() > 3 { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(3)].join(", "))
}

/// A group or a list that may define the moves. `at` is the byte offset of the statement that gave it
/// its value.
struct Source<T> {
    name: Option<String>,
    at: usize,
    of: T,
}

/// What may define the moves of a file.
#[derive(Default)]
struct Sources {
    groups: Vec<Source<Vec<Element>>>,
    /// The lists that contain a permutation.
    lists: Vec<Source<Vec<Value>>>,
    /// The other lists of lists of lists of numbers: cycles, or something else, such as systems of blocks.
    cycles: Vec<Source<Vec<Value>>>,
    /// The lists of lists of numbers, each in a list of its own: the cycles of one permutation, or something
    /// else, such as blocks.
    alone: Vec<Source<Vec<Value>>>,
    /// The permutations that are the values of statements.
    single: Vec<Source<Element>>,
}

/// The permutations that define the moves.
struct Chosen {
    /// The kind and the name of the group or list that contains them.
    kind: &'static str,
    name: Option<String>,
    /// The byte offset of the last statement that gives any of them.
    at: usize,
    elements: Vec<Element>,
    /// The groups and lists that contain other permutations, in the order of the file.
    unused: Vec<String>,
    /// The lists of lists of numbers, and of such lists, that define none of these permutations.
    blocks: Vec<String>,
}

impl Sources {
    /// Chooses the permutations of the last group; without a group, those of the last list; without a list,
    /// all permutations; and without any, those of the last list of cycles. Returns `None` if there are none.
    fn choose(mut self) -> Result<Option<Chosen>, Fault> {
        let last_single = self.single.iter().map(|source| source.at).max();
        let (kind, name, at, elements) = if let Some(group) = take_last(&mut self.groups) {
            ("group", group.name, group.at, group.of)
        } else if let Some(list) = take_last(&mut self.lists) {
            ("list", list.name, list.at, elements_of(list.of)?)
        } else if let Some(last) = last_single {
            ("file", None, last, self.single.into_iter().map(|source| source.of).collect())
        } else if let Some(list) = take_last(&mut self.cycles) {
            ("list", list.name, list.at, elements_of(list.of)?)
        } else {
            return Ok(None);
        };
        let degree = elements.iter().map(|element| element.action.degree()).max().unwrap_or(0);
        let used: HashSet<_> = elements.iter().map(|element| extended(&element.action, degree)).collect();
        // What the group or the list was built from is used too.
        let has_others = |of: Vec<Element>| {
            of.iter().map(|element| &element.action).any(|action| {
                let is_move = action.degree() <= degree && used.contains(&extended(action, degree));
                !is_move && !action.is_identity()
            })
        };
        let other_list = |list: Source<Vec<Value>>| {
            let has_others = elements_of(list.of).map_or(true, has_others);
            has_others.then(|| (list.at, list.name.unwrap_or_else(|| "[...]".into())))
        };
        let other_group = |group: Source<Vec<Element>>| {
            has_others(group.of).then(|| (group.at, group.name.unwrap_or_else(|| "Group(...)".into())))
        };
        let groups = self.groups.into_iter().filter_map(other_group);
        let unused: BTreeSet<(usize, String)> =
            groups.chain(self.lists.into_iter().filter_map(other_list)).collect();
        let blocks = self.cycles.into_iter().chain(self.alone);
        let blocks = blocks.filter_map(other_list).map(|(_, name)| name).collect();
        Ok(Some(Chosen {
            kind,
            name,
            at,
            elements,
            unused: unused.into_iter().map(|(_, name)| name).collect(),
            blocks,
        }))
    }
}

/// Removes the one that comes last in the file.
fn take_last<T>(sources: &mut Vec<Source<T>>) -> Option<Source<T>> {
    let last = (0..sources.len()).max_by_key(|&i| sources[i].at)?;
    Some(sources.swap_remove(last))
}

/// Returns the text with comments replaced by blanks, so that offsets stay the same. In the log of a
/// session, where the input lines begin with `gap>` or `>`, the output is replaced by blanks too.
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
    join_lines(&mut bytes, is_protocol);
    String::from_utf8(bytes).expect("whole characters are blanked: '#' and '\\n' are ASCII")
}

/// Joins lines of which the first ends with `\`, even within a number: what continues the word before `\` is
/// moved there, and blanks take its place, so that other offsets stay the same. In the log of a session
/// the next line begins with a prompt, which is blank by now.
fn join_lines(bytes: &mut [u8], is_protocol: bool) {
    let next_line = |bytes: &[u8], at: usize| {
        let rest = bytes[at..].strip_prefix(b"\\")?;
        let rest = rest.strip_prefix(b"\r").unwrap_or(rest).strip_prefix(b"\n")?;
        let rest = rest.strip_prefix(b"  ").filter(|_| is_protocol).unwrap_or(rest);
        Some(bytes.len() - rest.len())
    };
    let mut at = 0;
    while at < bytes.len() {
        let mut to = at;
        while let Some(start) = next_line(bytes, at) {
            at = start;
            while bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                bytes[to] = bytes[at];
                (to, at) = (to + 1, at + 1);
            }
        }
        bytes[to..at].fill(b' ');
        at += usize::from(to == at);
    }
}

/// Returns the offset of the comment in a line, or the length of the line. `#` inside quotes does not start a
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

/// Returns the pieces on the points: the points of one list look alike, and so do all points in no list. The
/// elements that then change nothing visible form the stabiliser of the tuple of sets,
/// `Stabilizer(Group(Gen), ip, OnTuplesSets)`.
fn pieces(puzzle: &Definition, at: usize, lists: &[Value]) -> Result<Vec<Piece>, Fault> {
    let cells = puzzle.cells();
    let mut label_of: Vec<Option<u16>> = vec![None; cells];
    for (label, list) in (1..).zip(lists) {
        let Value::List(points) = list else {
            return Err(Fault::syntax(at, format!("{ALIKE} must be a list of lists of points")));
        };
        for point in points {
            let &Value::Number(at, point) = point else {
                return Err(Fault::syntax(at, format!("{ALIKE} must be a list of lists of points")));
            };
            let cell = usize::try_from(point).ok().filter(|cell| (1..=cells).contains(cell));
            let cell = cell.ok_or_else(|| {
                let reason = format!(
                    "{ALIKE} contains point {point}, but the permutations act on points 1 to {cells}"
                );
                Fault::syntax(at, reason)
            })?;
            if label_of[cell - 1].replace(label).is_some() {
                return Err(Fault::syntax(at, format!("{ALIKE} contains point {point} twice")));
            }
        }
    }
    let piece = |label: Option<u16>| Piece { label: label.unwrap_or(0), orientation: 0, seen: 1 };
    Ok(label_of.into_iter().map(piece).collect())
}
