//! Definitions of cubing.js (`KPuzzleDefinition`, <https://standards.cubing.net/draft/3/kpuzzle/>), also in
//! their form before 2023: orbits as an object, `startStateData`, `experimentalDerivedMoves`.
//!
//! Cells count from 0. A permutation has, for each cell, the cell that its piece comes from; the orientation
//! that is added is listed at the cell that the piece reaches. All entries of `moves` are generators, even
//! rotations of the whole puzzle: users select them by name. Derived moves are evaluated, and become
//! [spare](Definition::spare). cubing.js only uses the orbits of the definition; it ignores other orbits in a
//! pattern or a transformation, and so does this reader.

use super::{Fault, LabelNumbers, Reason, below, images_of_sources, javascript, sequence};
use crate::Metric;
use crate::definition::{Definition, Orbit, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::marker::PhantomData;

/// The largest depth to which derived moves may refer to each other.
const MAX_DEPTH: usize = 32;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    name: String,
    #[serde(borrow)]
    orbits: &'a RawValue,
    #[serde(borrow, alias = "startStateData")]
    default_pattern: Entries<&'a RawValue>,
    #[serde(borrow)]
    moves: Entries<&'a RawValue>,
    #[serde(borrow, default, alias = "experimentalDerivedMoves")]
    derived_moves: Option<Entries<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedOrbit {
    orbit_name: String,
    num_pieces: usize,
    num_orientations: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OrbitSize {
    num_pieces: usize,
    num_orientations: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pattern {
    pieces: Vec<u64>,
    orientation: Vec<u64>,
    orientation_mod: Option<Vec<u64>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Transformation {
    permutation: Vec<u64>,
    #[serde(alias = "orientation")]
    orientation_delta: Vec<i64>,
}

/// The entries of an object, in their order.
struct Entries<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

pub(super) fn read(text: &str) -> Result<Definition, Fault> {
    if !javascript::is_module(text) {
        return read_json(text);
    }
    let json = javascript::exported(text)?;
    read_json(&json.text).map_err(|fault| Fault { at: fault.at.map(|at| json.place(at)), ..fault })
}

fn read_json(text: &str) -> Result<Definition, Fault> {
    let file: File<'_> = serde_json::from_str(text).map_err(|error| json_fault(text, 0, &error))?;
    let reader = Reader { text, ignored: RefCell::default() };
    let orbits = reader.orbits(file.orbits)?;
    let mut puzzle =
        Definition::new(file.name, orbits).map_err(|error| Fault::new(reader.place(file.orbits), error))?;
    reader.solved(&mut puzzle, &file.default_pattern)?;
    for (name, raw) in &file.moves.0 {
        let action = reader.transformation(&puzzle, raw)?;
        puzzle.add_move(name, action).map_err(|error| Fault::new(reader.place(raw), error))?;
    }
    // In cubing.js a move may have any amount: R2 is one move, and so is R3.
    puzzle.set_metric(Metric::Multi);
    let derived = file.derived_moves.map_or(Vec::new(), |entries| entries.0);
    reader.derived(&mut puzzle, &derived)?;
    let ignored: Vec<String> = reader.ignored.into_inner().into_iter().collect();
    if !ignored.is_empty() {
        let names = ignored.join(", ");
        puzzle.add_remark(&format!("ignored, because the definition has no such orbits: {names}"));
    }
    puzzle.validated().map_err(Fault::whole)
}

/// Reads the parts of a file. The parts are slices of the text, so that each part has an offset in the text.
struct Reader<'a> {
    text: &'a str,
    /// Names of orbits that occur in the file, but not among the orbits of the definition.
    ignored: RefCell<BTreeSet<String>>,
}

impl Reader<'_> {
    /// Returns the byte offset of a part of the text.
    fn place(&self, raw: &RawValue) -> usize {
        (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn part<T: DeserializeOwned>(&self, raw: &RawValue) -> Result<T, Fault> {
        serde_json::from_str(raw.get()).map_err(|error| json_fault(raw.get(), self.place(raw), &error))
    }

    fn entries<'r>(&self, raw: &'r RawValue) -> Result<Vec<(String, &'r RawValue)>, Fault> {
        let entries: Result<Entries<&'r RawValue>, _> = serde_json::from_str(raw.get());
        entries.map(|entries| entries.0).map_err(|error| json_fault(raw.get(), self.place(raw), &error))
    }

    fn orbits(&self, raw: &RawValue) -> Result<Vec<Orbit>, Fault> {
        if raw.get().starts_with('[') {
            let orbits: Vec<NamedOrbit> = self.part(raw)?;
            return Ok(orbits
                .into_iter()
                .map(|orbit| Orbit {
                    name: orbit.orbit_name,
                    cells: orbit.num_pieces,
                    orientations: orbit.num_orientations,
                })
                .collect());
        }
        self.entries(raw)?
            .into_iter()
            .map(|(name, raw)| {
                let size: OrbitSize = self.part(raw)?;
                Ok(Orbit { name, cells: size.num_pieces, orientations: size.num_orientations })
            })
            .collect()
    }

    /// Returns the index of the orbit of this name; `None`, with a note in `ignored`, if the definition has
    /// no such orbit.
    fn orbit(&self, puzzle: &Definition, name: &str) -> Option<usize> {
        let found = puzzle.orbits().iter().position(|orbit| orbit.name == name);
        if found.is_none() {
            self.ignored.borrow_mut().insert(name.into());
        }
        found
    }

    fn solved(&self, puzzle: &mut Definition, pattern: &Entries<&RawValue>) -> Result<(), Fault> {
        let mut labels = LabelNumbers::default();
        // As in cubing.js, pieces with the same number differ if they show different numbers of orientations.
        let mut kinds: HashMap<(u64, u16), u64> = HashMap::new();
        let mut pieces: Vec<Piece> = puzzle.solved().to_vec();
        let mut told = vec![false; puzzle.orbits().len()];
        for (name, raw) in &pattern.0 {
            let at = self.place(raw);
            let Some(orbit) = self.orbit(puzzle, name) else { continue };
            if std::mem::replace(&mut told[orbit], true) {
                return Err(Fault::syntax(at, format!("the orbit {name:?} is given twice")));
            }
            let Pattern { pieces: here, orientation, orientation_mod } = self.part(raw)?;
            let cells = puzzle.cells_of(orbit);
            let orientation_mod = orientation_mod.unwrap_or_else(|| vec![0; cells.len()]);
            for (list, numbers) in
                [("pieces", &here), ("orientation", &orientation), ("orientationMod", &orientation_mod)]
            {
                check_length(at, name, cells.len(), list, numbers)?;
            }
            for (i, cell) in cells.enumerate() {
                let order = pieces[cell].seen;
                let seen = match orientation_mod[i] {
                    0 => order,
                    seen => u16::try_from(seen).unwrap_or(u16::MAX),
                };
                let orientation = below(at, orientation[i], order)?;
                let next = kinds.len() as u64;
                let kind = *kinds.entry((here[i], seen)).or_insert(next);
                pieces[cell] = Piece { label: labels.number(orbit, kind), orientation, seen };
            }
        }
        if let Some(orbit) = told.iter().position(|told| !told) {
            let name = &puzzle.orbits()[orbit].name;
            return Err(Fault::whole(Reason::Syntax(format!(
                "the default pattern lacks the orbit {name:?}"
            ))));
        }
        let at = pattern.0.first().map_or(0, |(_, raw)| self.place(raw));
        puzzle.set_solved(&pieces).map_err(|error| Fault::new(at, error))
    }

    fn transformation(&self, puzzle: &Definition, raw: &RawValue) -> Result<OrientedPermutation, Fault> {
        let orientation_counts = puzzle.orientation_counts();
        let mut images: Vec<u16> = (0..orientation_counts.len() as u16).collect();
        let mut turns = vec![0; orientation_counts.len()];
        let mut told = vec![false; puzzle.orbits().len()];
        for (name, raw) in self.entries(raw)? {
            let at = self.place(raw);
            let Some(orbit) = self.orbit(puzzle, &name) else { continue };
            if std::mem::replace(&mut told[orbit], true) {
                return Err(Fault::syntax(at, format!("the orbit {name:?} is given twice")));
            }
            let Transformation { permutation, orientation_delta } = self.part(raw)?;
            let cells = puzzle.cells_of(orbit);
            check_length(at, &name, cells.len(), "permutation", &permutation)?;
            check_length(at, &name, cells.len(), "orientationDelta", &orientation_delta)?;
            let of_orbit = images_of_sources(&permutation, 0)
                .map_err(|(_, reason)| Fault::syntax(at, format!("permutation of {name}: {reason}")))?;
            for (from, &to) in of_orbit.iter().enumerate() {
                let cell = cells.start + from;
                images[cell] = (cells.start + to) as u16;
                let (delta, order) = (orientation_delta[to], orientation_counts[cell]);
                // A turn in the other direction may be written as a negative number.
                turns[cell] = match u16::try_from(delta.rem_euclid(order.into())) {
                    Ok(turn) if delta.unsigned_abs() < order.into() => turn,
                    _ => {
                        return Err(Fault::syntax(
                            at,
                            format!("the turn {delta} is not below the number of orientations, {order}"),
                        ));
                    }
                };
            }
        }
        let cells = Permutation::from_images(images).expect("each orbit is permuted within itself");
        Ok(OrientedPermutation::new(cells, turns, orientation_counts)
            .expect("turns are below the orientation_counts of their orbits"))
    }

    fn derived(&self, puzzle: &mut Definition, entries: &[(String, &RawValue)]) -> Result<(), Fault> {
        let mut sequences: HashMap<String, String> = HashMap::new();
        let mut bytes = 0;
        for (name, raw) in entries {
            bytes += raw.get().len();
            if bytes > sequence::MAX_BYTES || sequences.len() >= Definition::MAX_MOVES {
                let limits = (Definition::MAX_MOVES, sequence::MAX_BYTES);
                let reason = format!(
                    "there are more than {} derived moves, or more than {} bytes of them",
                    limits.0, limits.1
                );
                return Err(Fault::syntax(self.place(raw), reason));
            }
            sequences.insert(name.clone(), without_comments(self.part(raw)?));
        }
        let mut done: HashMap<String, OrientedPermutation> = puzzle
            .moves()
            .iter()
            .map(|generator| (generator.name.clone(), generator.action.clone()))
            .collect();
        let identity = OrientedPermutation::identity(puzzle.orientation_counts());
        let longest = done.keys().chain(sequences.keys()).map(String::len).max().unwrap_or(0);
        let mut left_out = Vec::new();
        for (name, raw) in entries {
            let at = self.place(raw);
            let action = match work_out(name, &sequences, &identity, longest, &mut done, 0) {
                Ok(action) => action.expect("the name is one of the sequences"),
                Err(reason) => {
                    left_out.push(format!("{name} ({reason})"));
                    continue;
                }
            };
            // A listed move takes precedence over a derived move of the same name.
            if puzzle.moves().iter().any(|generator| generator.name == *name) {
                continue;
            }
            puzzle.add_spare(name, action).map_err(|error| Fault::new(at, error))?;
        }
        if let Some(first) = left_out.first() {
            let more = left_out.len() - 1;
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            puzzle.add_remark(&format!("derived moves that cannot be read are omitted: {first}{more}"));
        }
        Ok(())
    }
}

/// Returns a sequence with its comments, from `//` to the end of the line, replaced by blanks.
fn without_comments(sequence: String) -> String {
    if !sequence.contains("//") {
        return sequence;
    }
    let mut lines = String::new();
    for line in sequence.split_inclusive('\n') {
        let (moves, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        lines.push_str(moves);
        lines.push_str(&" ".repeat(comment.len()));
    }
    lines
}

/// Returns the action of a listed or derived move; `None` if there is no move of this name. Names have at
/// most `longest` bytes.
fn work_out(
    name: &str,
    sequences: &HashMap<String, String>,
    identity: &OrientedPermutation,
    longest: usize,
    done: &mut HashMap<String, OrientedPermutation>,
    depth: usize,
) -> Result<Option<OrientedPermutation>, String> {
    if let Some(action) = done.get(name) {
        return Ok(Some(action.clone()));
    }
    let Some(sequence) = sequences.get(name) else { return Ok(None) };
    if depth > MAX_DEPTH {
        return Err(format!(
            "derived moves refer to each other in a cycle, or more than {MAX_DEPTH} levels deep"
        ));
    }
    let fault = |(at, reason)| format!("in {sequence:?} at offset {at}: {reason}");
    let is_name = |name: &str| done.contains_key(name) || sequences.contains_key(name);
    for part in sequence::names_in(sequence, longest, is_name).map_err(fault)? {
        work_out(&part, sequences, identity, longest, done, depth + 1)?;
    }
    let action = sequence::evaluate(sequence, identity, longest, &mut |name| {
        // Other names are not part of the sequence, but its text may begin like them.
        let other = || sequences.contains_key(name).then(|| identity.clone());
        Ok(done.get(name).cloned().or_else(other))
    });
    let action = action.map_err(fault)?;
    done.insert(name.into(), action.clone());
    Ok(Some(action))
}

fn check_length<T>(at: usize, orbit: &str, cells: usize, list: &str, numbers: &[T]) -> Result<(), Fault> {
    if numbers.len() == cells {
        return Ok(());
    }
    let found = numbers.len();
    Err(Fault::syntax(
        at,
        format!("the orbit {orbit} has {cells} pieces, but its {list} has {found} numbers"),
    ))
}

/// Converts an error of the JSON reader in a part of the text; the part begins at offset `start` of the text.
fn json_fault(part: &str, start: usize, error: &serde_json::Error) -> Fault {
    let line_start: usize =
        part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (line_start + error.column().saturating_sub(1)).min(part.len());
    // The message of the reader ends with the place within the part, which is dropped.
    let reason = error.to_string();
    let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
    Fault::syntax(start + at, reason)
}
