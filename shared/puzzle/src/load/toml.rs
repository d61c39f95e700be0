//! Fathom's own format, read and written. `docs/puzzles.md` describes the format field by field.

use super::{Fault, Reason};
use crate::definition::{Ask, Definition, DefinitionError, Generator, Orbit, Piece};
use crate::{Metric, Starts};
use ::toml::Spanned;
use fathom_algebra::OrientedPermutation;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use std::fmt::{self, Write};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    metric: Option<Metric>,
    degree: Option<Spanned<usize>>,
    orbits: Option<Spanned<Vec<OrbitTable>>>,
    #[serde(default)]
    moves: Table,
    #[serde(default)]
    free: Table,
    #[serde(default)]
    spare: Table,
    solved: Option<Spanned<Solved>>,
    always: Option<Guard>,
    #[serde(default)]
    never: Vec<Spanned<Listed>>,
    #[serde(default)]
    notes: Vec<String>,
}

/// A cell, and pieces that are there, or never are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    cell: u64,
    pieces: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrbitTable {
    name: String,
    cells: usize,
    #[serde(default = "one")]
    orientations: u16,
}

fn one() -> u16 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Solved {
    labels: Option<Spanned<Vec<u16>>>,
    orientations: Option<Spanned<Vec<u16>>>,
    seen: Option<Spanned<Vec<u16>>>,
    states: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    by: Vec<Spanned<String>>,
}

/// Names and permutations, in the order of the file.
#[derive(Default)]
struct Table(Vec<(Spanned<String>, Spanned<Action>)>);

/// A permutation in cycles, or a table of the permutation and its guard.
enum Action {
    Cycles(String),
    Guarded { cycles: Spanned<String>, guard: Conditions },
}

type Conditions = Spanned<Vec<Condition>>;

/// A condition of a guard: a cell that holds its own piece, or a cell and the pieces that it may hold.
enum Condition {
    Cell(u64),
    Pieces { cell: u64, pieces: Vec<u64> },
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrTable;
        impl<'de> Visitor<'de> for NumberOrTable {
            type Value = Condition;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a cell, or a table of 'cell' and 'pieces'")
            }

            fn visit_i64<E: Error>(self, cell: i64) -> Result<Condition, E> {
                let negative = |_| E::invalid_value(Unexpected::Signed(cell), &self);
                cell.try_into().map(Condition::Cell).map_err(negative)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Condition, A::Error> {
                let Listed { cell, pieces } = Listed::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Condition::Pieces { cell, pieces })
            }
        }
        deserializer.deserialize_any(NumberOrTable)
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Guarded {
            cycles: Spanned<String>,
            guard: Conditions,
        }
        struct StringOrTable;
        impl<'de> Visitor<'de> for StringOrTable {
            type Value = Action;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a permutation in cycles, or a table of 'cycles' and 'guard'")
            }

            fn visit_str<E: Error>(self, cycles: &str) -> Result<Action, E> {
                Ok(Action::Cycles(cycles.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Action, A::Error> {
                let Guarded { cycles, guard } = Guarded::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Action::Guarded { cycles, guard })
            }
        }
        deserializer.deserialize_any(StringOrTable)
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Table;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of names and permutations in cycles")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
                let mut entries: Vec<(Spanned<String>, Spanned<Action>)> = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                entries.sort_by_key(|(name, _)| name.span().start);
                Ok(Table(entries))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

pub(super) fn read(text: &str, stem: &str) -> Result<Definition, Fault> {
    let file: File = ::toml::from_str(text).map_err(|error| Fault {
        at: error.span().map(|span| span.start),
        reason: Reason::Syntax(error.message().trim().into()),
    })?;
    let name = file.name.unwrap_or_else(|| stem.into());
    let mut puzzle = match (file.degree, file.orbits) {
        (Some(degree), None) => Definition::of_degree(name, *degree.get_ref())
            .map_err(|error| Fault::new(degree.span().start, error)),
        (None, Some(orbits)) => {
            let at = orbits.span().start;
            let orbits = orbits.into_inner().into_iter().map(|orbit| Orbit {
                name: orbit.name,
                cells: orbit.cells,
                orientations: orbit.orientations,
            });
            Definition::new(name, orbits.collect()).map_err(|error| Fault::new(at, error))
        }
        (Some(degree), Some(_)) => {
            Err(Fault::syntax(degree.span().start, "give either 'degree' or 'orbits', not both"))
        }
        (None, None) => Err(Fault::syntax(0, "give 'degree' (the number of cells) or 'orbits'")),
    }?;
    if let Some(metric) = file.metric {
        puzzle.set_metric(metric);
    }
    let mut starts = None;
    if let Some(solved) = file.solved {
        let at = solved.span().start;
        let has_labels = solved.get_ref().labels.is_some();
        let mut solved = solved.into_inner();
        let (states, by) = (solved.states.take(), std::mem::take(&mut solved.by));
        let pieces = pieces(&puzzle, solved)?;
        starts = Some((at, states, by));
        puzzle.set_solved(&pieces).map_err(|error| Fault::new(at, error))?;
        if has_labels {
            puzzle.set_written_labels(pieces.iter().map(|piece| piece.label.into()).collect());
        }
    }
    if let Some(always) = &file.always {
        let cells = cells(always, "in 'always'", puzzle.cells())?;
        puzzle.set_always(&cells).map_err(|error| Fault::new(always.span().start, error))?;
    }
    let mut never = Vec::new();
    for listed in &file.never {
        let at = listed.span();
        let named = |numbers: Vec<u64>| Spanned::new(at.clone(), numbers);
        let Listed { cell, pieces } = listed.get_ref();
        let cell = cells(&named(vec![*cell]), "in 'never'", puzzle.cells())?[0];
        let pieces = cells(&named(pieces.clone()), "in 'never'", puzzle.cells())?;
        never.extend(pieces.into_iter().map(|piece| (cell, piece)));
        puzzle.set_never(&never).map_err(|error| Fault::new(at.start, error))?;
    }
    let orientation_counts = puzzle.orientation_counts();
    if let Some((at, states, by)) = starts {
        if let Some(states) = states.as_ref().filter(|states| states.get_ref().is_empty()) {
            return Err(Fault::new(states.span().start, DefinitionError::NoStarts));
        }
        let states = states.map_or(Vec::new(), Spanned::into_inner);
        let read = |cycles: &Spanned<String>| read_cycles(text, cycles, &orientation_counts);
        let elements = |list: &[Spanned<String>]| list.iter().map(read).collect::<Result<Box<[_]>, _>>();
        let starts = Starts { states: elements(&states)?, by: elements(&by)? };
        puzzle.set_starts(starts).map_err(|error| Fault::new(at, error))?;
    }
    for (name, action) in file.moves.0 {
        let at = name.span().start;
        let (action, guard) = read_action(text, action, &orientation_counts)?;
        let (mut guarded, mut asks) = (Vec::new(), Vec::new());
        if let Some(guard) = guard {
            let at = guard.span();
            let numbered =
                |numbers: Vec<u64>| cells(&Spanned::new(at.clone(), numbers), "in the guard", puzzle.cells());
            for condition in guard.into_inner() {
                match condition {
                    Condition::Cell(cell) => guarded.extend(numbered(vec![cell])?),
                    Condition::Pieces { cell, pieces } => {
                        let (cell, pieces) = (numbered(vec![cell])?[0], numbered(pieces)?.into());
                        asks.push(Ask { cell, pieces });
                    }
                }
            }
        }
        puzzle
            .add_asking_move(name.into_inner(), action, &guarded, asks.into())
            .map_err(|error| Fault::new(at, error))?;
    }
    for (table, add) in [
        (file.free, Definition::add_free as fn(&mut Definition, String, OrientedPermutation) -> _),
        (file.spare, Definition::add_spare),
    ] {
        for (name, action) in table.0 {
            let at = name.span().start;
            let (action, guard) = read_action(text, action, &orientation_counts)?;
            if let Some(guard) = guard {
                return Err(Fault::syntax(guard.span().start, "only entries of [moves] can have a guard"));
            }
            add(&mut puzzle, name.into_inner(), action).map_err(|error| Fault::new(at, error))?;
        }
    }
    file.notes.iter().for_each(|note| puzzle.add_remark(note));
    puzzle.validated().map_err(Fault::whole)
}

type Guard = Spanned<Vec<u64>>;

fn read_action(
    text: &str,
    action: Spanned<Action>,
    orientation_counts: &[u16],
) -> Result<(OrientedPermutation, Option<Conditions>), Fault> {
    let span = action.span();
    let (cycles, guard) = match action.into_inner() {
        Action::Cycles(cycles) => (Spanned::new(span, cycles), None),
        Action::Guarded { cycles, guard } => (cycles, Some(guard)),
    };
    Ok((read_cycles(text, &cycles, orientation_counts)?, guard))
}

fn read_cycles(
    text: &str,
    cycles: &Spanned<String>,
    orientation_counts: &[u16],
) -> Result<OrientedPermutation, Fault> {
    OrientedPermutation::parse(cycles.get_ref(), orientation_counts)
        .map_err(|error| Fault::new(place_within(text, cycles, error.at()), Reason::Cycles(error)))
}

/// Converts cells from files, numbered from 1, to cells numbered from 0.
fn cells(guard: &Guard, whose: &str, cells: usize) -> Result<Vec<u16>, Fault> {
    let index = |&cell: &u64| match cell {
        1.. if cell <= cells as u64 => Ok((cell - 1) as u16),
        _ => {
            let reason = format!("cell {cell} {whose} is not between 1 and {cells}");
            Err(Fault::syntax(guard.span().start, reason))
        }
    };
    guard.get_ref().iter().map(index).collect()
}

/// Returns the offset in the text of an offset within a string. If the string has escapes, the result is the
/// start of the string.
fn place_within(text: &str, string: &Spanned<String>, offset: usize) -> usize {
    let written = text.get(string.span()).unwrap_or_default();
    match written.find(string.get_ref().as_str()) {
        Some(start) => string.span().start + start + offset,
        None => string.span().start,
    }
}

fn pieces(puzzle: &Definition, solved: Solved) -> Result<Vec<Piece>, Fault> {
    let mut pieces = puzzle.solved().to_vec();
    let Solved { labels, orientations, seen, .. } = solved;
    set_all(&mut pieces, "labels", labels, |piece, label| piece.label = label)?;
    set_all(&mut pieces, "orientations", orientations, |piece, turn| piece.orientation = turn)?;
    set_all(&mut pieces, "seen", seen, |piece, seen| piece.seen = seen)?;
    Ok(pieces)
}

/// Sets one field of every piece from a list with one number for each cell, if the file has the list.
fn set_all(
    pieces: &mut [Piece],
    name: &str,
    list: Option<Spanned<Vec<u16>>>,
    set: impl Fn(&mut Piece, u16),
) -> Result<(), Fault> {
    let Some(list) = list else { return Ok(()) };
    let (found, cells) = (list.get_ref().len(), pieces.len());
    if found != cells {
        let reason = format!("'{name}' has {found} numbers, but there are {cells} cells");
        return Err(Fault::syntax(list.span().start, reason));
    }
    for (piece, number) in pieces.iter_mut().zip(list.into_inner()) {
        set(piece, number);
    }
    Ok(())
}

impl Definition {
    /// Returns the definition in Fathom's own format. [`super::parse`] reads an equal definition from the
    /// text.
    pub fn to_toml(&self) -> String {
        let mut text = format!("name = {}\nmetric = \"{}\"\n", quoted(self.name()), self.metric());
        text.push_str("orbits = [\n");
        for Orbit { name, cells, orientations } in self.orbits() {
            let name = quoted(name);
            writeln!(text, "    {{ name = {name}, cells = {cells}, orientations = {orientations} }},")
                .expect("writing to a string cannot fail");
        }
        text.push_str("]\n");
        if !self.always().is_empty() {
            writeln!(text, "always = [{}]", from_one(self.always()))
                .expect("writing to a string cannot fail");
        }
        if !self.never().is_empty() {
            text.push_str("never = [\n");
            for listed in self.never().chunk_by(|(one, _), (other, _)| one == other) {
                let cell = listed[0].0 + 1;
                let pieces: Vec<u16> = listed.iter().map(|&(_, piece)| piece).collect();
                writeln!(text, "    {{ cell = {cell}, pieces = [{}] }},", from_one(&pieces))
                    .expect("writing to a string cannot fail");
            }
            text.push_str("]\n");
        }
        if !self.remarks().is_empty() {
            let notes: String =
                self.remarks().iter().map(|note| format!("    {},\n", quoted(note))).collect();
            write!(text, "notes = [\n{notes}]\n").expect("writing to a string cannot fail");
        }
        let tables: [(&str, &[Generator]); 3] =
            [("moves", self.moves()), ("free", self.free()), ("spare", self.spare())];
        for (title, generators) in tables {
            if !generators.is_empty() {
                write!(text, "\n[{title}]\n").expect("writing to a string cannot fail");
            }
            for Generator { name, action, guard, asks } in generators {
                let name = if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
                    name.clone()
                } else {
                    quoted(name)
                };
                let asks = asks.iter().map(|Ask { cell, pieces }| {
                    format!("{{ cell = {}, pieces = [{}] }}", cell + 1, from_one(pieces))
                });
                let guard: Vec<String> =
                    guard.iter().map(|cell| (cell + 1).to_string()).chain(asks).collect();
                if guard.is_empty() {
                    writeln!(text, "{name} = \"{action}\"").expect("writing to a string cannot fail");
                } else {
                    writeln!(text, "{name} = {{ cycles = \"{action}\", guard = [{}] }}", guard.join(", "))
                        .expect("writing to a string cannot fail");
                }
            }
        }
        let is_usual = self.is_plain() && self.solved().iter().all(|piece| piece.orientation == 0);
        if !is_usual || !self.starts().are_solved_alone() {
            text.push_str("\n[solved]\n");
        }
        if !is_usual {
            let mut list = |name: &str, field: fn(&Piece) -> u16| {
                let numbers: Vec<_> = self.solved().iter().map(|piece| field(piece).to_string()).collect();
                writeln!(text, "{name} = [{}]", numbers.join(", ")).expect("writing to a string cannot fail");
            };
            list("labels", |piece| piece.label);
            list("orientations", |piece| piece.orientation);
            list("seen", |piece| piece.seen);
        }
        for (name, elements) in [("states", &self.starts().states), ("by", &self.starts().by)] {
            if !elements.is_empty() {
                let lines: String = elements.iter().map(|element| format!("    \"{element}\",\n")).collect();
                write!(text, "{name} = [\n{lines}]\n").expect("writing to a string cannot fail");
            }
        }
        text
    }
}

/// Writes cells as in files, numbered from 1.
fn from_one(cells: &[u16]) -> String {
    cells.iter().map(|cell| (cell + 1).to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns a text as a basic string of TOML, on one line.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(c)).expect("writing to a string cannot fail");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
