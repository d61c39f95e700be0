//! Definitions of ksolve and of twsearch (`.def`, `.tws`).
//!
//! A row of a permutation has, for each cell, the cell that its piece comes from. Under `Move` and `Solved`
//! cells count from 1, under `MoveTransformation` and `StartState` from 0. The orientations of a `Move` stand
//! at the cell that the piece leaves; those of a `MoveTransformation`, like those of a state, stand at the
//! cell that the piece reaches (twsearch, `ksolveformat.txt` and `readksolve.cpp`; ksolve+, `readdef.h`).
//!
//! Both programs count every power of a move as one move, which is the metric `multi`. Moves that twsearch
//! takes for rotations of the whole puzzle (`x`, `y`, `z`, and capitals followed by `v`) are no moves in
//! twsearch, and [spare](Definition::spare) here. In twsearch a `MoveSequence` is a move that costs 1 like
//! the others, and a `MoveAlias` is no move (`addnewmove` in `readksolve.cpp`, `goodmove` in
//! `filtermoves.cpp`). Both may use names that the file defines later.

use super::{Fault, LabelNumbers, Reason, below, images_of_sources, sequence};
use crate::Metric;
use crate::definition::{Definition, DefinitionError, Orbit, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};
use std::collections::{BTreeMap, BTreeSet, HashSet};

const KEYWORDS: &str = "Name, Set, Solved, StartState, Move, MoveTransformation, MoveSequence, MoveAlias, Ignore, \
                        Illegal, Multiplicators, ParallelMoves, MoveLimits";

/// The largest number of times that a sequence may wait for names that are defined later in the file.
const MAX_DEPTH: usize = 32;

/// The label of pieces that are written as `?`. A file that twsearch reads has no such number: the largest is
/// 255.
const WILD: u64 = u64::MAX;

/// A word and its byte offset.
type Word<'a> = (usize, &'a str);

/// The byte offset of a number in a row, and the number: `None` for `?`.
type Number = (usize, Option<u64>);

/// The rows of one set in a state or a move.
struct Rows {
    orbit: usize,
    at: usize,
    permutation: Vec<Number>,
    orientation: Option<Vec<Number>>,
}

/// A `MoveSequence` or a `MoveAlias`. It is evaluated when the whole file has been read.
struct Sequence<'a> {
    at: usize,
    name: &'a str,
    start: usize,
    text: &'a str,
    is_alias: bool,
}

/// The pieces that lines with `Illegal` rule out on one cell.
struct Forbidden {
    at: usize,
    values: BTreeSet<u64>,
}

/// The limits that all lines with `Illegal` set together.
#[derive(Default, PartialEq, Eq)]
struct Limits {
    /// Cells that hold a piece with their own label: all other pieces of their sets are illegal.
    always: Vec<u16>,
    /// Pairs of a cell and a piece that never stands there.
    never: Vec<(u16, u16)>,
}

pub(super) fn read(text: &str, stem: &str) -> Result<Definition, Fault> {
    let mut reader = Reader {
        lines: lines_of(text),
        next: 0,
        end: text.trim_end().len(),
        name: stem.into(),
        orbits: Vec::new(),
        set_names: HashSet::new(),
        points: 0,
        puzzle: None,
        solved: false,
        labels: Vec::new(),
        sequences: Vec::new(),
        sequence_bytes: 0,
        forbidden: BTreeMap::new(),
        passed_over: Vec::new(),
    };
    while let Some(line) = reader.line() {
        reader.command(text, line)?;
    }
    reader.work_out_sequences()?;
    let limits = reader.limits()?;
    match reader.puzzle {
        Some(mut puzzle) => {
            puzzle.set_metric(Metric::Multi);
            for keyword in reader.passed_over {
                let remark = format!("{keyword} is passed over: all states, and all moves, are meant");
                puzzle.add_remark(remark);
            }
            if limits != Limits::default() {
                puzzle = limited(&puzzle, &limits).map_err(Fault::whole)?;
            }
            puzzle.validated().map_err(Fault::whole)
        }
        None if reader.orbits.is_empty() => Err(Fault::whole(DefinitionError::NoCells)),
        None => Err(Fault::whole(DefinitionError::NoMoves)),
    }
}

/// Returns the same puzzle with its states limited. The powers of each move are listed one by one, because
/// each of them is a move where it leads to an allowed state, even if the states on the way are ruled out.
fn limited(whole: &Definition, limits: &Limits) -> Result<Definition, DefinitionError> {
    let mut limited = Definition::new(whole.name(), whole.orbits().to_vec())?;
    limited.set_solved(whole.solved())?;
    for power in whole.generators(Metric::Multi)? {
        limited.add_move(power.name, power.action)?;
    }
    for spare in whole.spare() {
        limited.add_spare(spare.name.clone(), spare.action.clone())?;
    }
    limited.set_always(&limits.always)?;
    limited.set_never(&limits.never)?;
    for remark in whole.remarks() {
        limited.add_remark(remark.clone());
    }
    Ok(limited)
}

/// Returns the words of each line that has any. A word that starts with `#` begins a comment, which ends with
/// the line.
fn lines_of(text: &str) -> Vec<Vec<Word<'_>>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        let mut words = Vec::new();
        let mut at = start;
        for part in line.split_inclusive(char::is_whitespace) {
            let word = part.trim_end();
            if word.starts_with('#') {
                break;
            }
            if !word.is_empty() {
                words.push((at, word));
            }
            at += part.len();
        }
        if !words.is_empty() {
            lines.push(words);
        }
        start += line.len();
    }
    lines
}

struct Reader<'a> {
    lines: Vec<Vec<Word<'a>>>,
    next: usize,
    /// The offset of the end of the text.
    end: usize,
    name: String,
    orbits: Vec<Orbit>,
    /// The names of these sets, and the points that they have together.
    set_names: HashSet<String>,
    points: usize,
    /// The puzzle, from the first line on for which all sets must be known.
    puzzle: Option<Definition>,
    solved: bool,
    /// For each cell the number that the solved state has there, counted from 1; empty until that state has
    /// been read.
    labels: Vec<u64>,
    sequences: Vec<Sequence<'a>>,
    sequence_bytes: usize,
    /// The illegal pieces, by cell.
    forbidden: BTreeMap<usize, Forbidden>,
    /// The keywords of the sections that change neither states nor distances.
    passed_over: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn line(&mut self) -> Option<Vec<Word<'a>>> {
        let line = self.lines.get(self.next).cloned();
        self.next += 1;
        line
    }

    fn command(&mut self, text: &'a str, line: Vec<Word<'a>>) -> Result<(), Fault> {
        let (at, keyword) = line[0];
        match keyword {
            "Name" => {
                let (last, word) = line[line.len() - 1];
                let name = text[at + keyword.len()..last + word.len()].trim();
                self.name = unquoted(name).into();
                Ok(())
            }
            "Set" => self.set(&line),
            "Solved" | "StartState" => self.solved(at, keyword),
            "Move" | "MoveTransformation" => self.one_move(&line, keyword),
            "MoveSequence" | "MoveAlias" => self.sequence(text, &line, keyword == "MoveAlias"),
            // These are deprecated, or guide searches for solutions: states and distances are the same
            // without them.
            "Ignore" | "Multiplicators" | "ParallelMoves" | "MoveLimits" => {
                while let Some(line) = self.line() {
                    if line[0].1 == "End" {
                        self.passed_over.push(keyword);
                        return Ok(());
                    }
                }
                Err(self.missing_end(keyword))
            }
            "Illegal" => self.illegal(&line),
            "Block" => Err(unsupported(at, keyword, "moves that some states forbid cannot be searched")),
            "ForbiddenPairs" | "ForbiddenGroups" => {
                Err(unsupported(at, keyword, "remove it if it only spares the search equal sequences"))
            }
            "SwizzleSet" => Err(unsupported(at, keyword, "remove it if it only serves symmetries")),
            _ => Err(Fault::new(at, Reason::UnknownKeyword { word: keyword.into(), known: KEYWORDS })),
        }
    }

    fn set(&mut self, line: &[Word<'_>]) -> Result<(), Fault> {
        let &[(at, _), (_, name), pieces, orientations] = line else {
            return Err(Fault::syntax(line[0].0, "expected: Set NAME PIECES ORIENTATIONS"));
        };
        if self.puzzle.is_some() {
            return Err(Fault::syntax(at, "every Set stands before Solved and before the first Move"));
        }
        let small = |word: Word<'_>| match number(word)? {
            (_, Some(n)) if n <= Definition::MAX_POINTS as u64 => Ok(n),
            _ => Err(Fault::syntax(word.0, format!("{} is too large", word.1))),
        };
        let (cells, orientations) = (small(pieces)? as usize, small(orientations)? as u16);
        let orbit = Orbit { name: unquoted(name).into(), cells, orientations };
        // A trial definition reports a fault at this line: of this set, or of all of them.
        self.points += cells * usize::from(orientations);
        let is_of_all = self.points > Definition::MAX_POINTS || !self.set_names.insert(orbit.name.clone());
        self.orbits.push(orbit.clone());
        let trial = if is_of_all { self.orbits.clone() } else { vec![orbit] };
        Definition::new("", trial).map_err(|error| Fault::new(at, error))?;
        Ok(())
    }

    /// Returns the puzzle, which has all sets from the first call on.
    fn puzzle(&mut self, at: usize) -> Result<&mut Definition, Fault> {
        if self.puzzle.is_none() {
            let puzzle = Definition::new(self.name.clone(), self.orbits.clone());
            self.puzzle = Some(puzzle.map_err(|error| Fault::new(at, error))?);
        }
        Ok(self.puzzle.as_mut().expect("it has just been made"))
    }

    fn solved(&mut self, at: usize, keyword: &str) -> Result<(), Fault> {
        let first = u64::from(keyword == "Solved");
        if std::mem::replace(&mut self.solved, true) {
            return Err(Fault::syntax(at, "the solved state is told twice"));
        }
        let mut pieces = self.puzzle(at)?.solved().to_vec();
        let mut labels = LabelNumbers::default();
        let rows = self.rows(keyword)?;
        let mut written = Vec::new();
        let puzzle = self.puzzle(at)?;
        for orbit in 0..puzzle.orbits().len() {
            let cells = puzzle.cells_of(orbit);
            let Some(rows) = rows.iter().find(|rows| rows.orbit == orbit) else {
                written.extend(1..=cells.len() as u64);
                for (label, piece) in (0..).zip(&mut pieces[cells]) {
                    piece.label = labels.number(orbit, label);
                }
                continue;
            };
            let from_one = |&(_, label): &Number| label.map_or(WILD, |label| label.saturating_add(1 - first));
            written.extend(rows.permutation.iter().map(from_one));
            for (i, piece) in pieces[cells].iter_mut().enumerate() {
                let (place, label) = rows.permutation[i];
                // All pieces of a set that are written as '?' are alike.
                let label = label.unwrap_or(WILD);
                if label < first {
                    return Err(Fault::syntax(place, format!("pieces are numbers from {first} on, or '?'")));
                }
                *piece = Piece { label: labels.number(orbit, label), orientation: 0, seen: piece.seen };
                match rows.orientation.as_ref().map(|row| row[i]) {
                    Some((_, None)) => piece.seen = 1,
                    Some((place, Some(turn))) => piece.orientation = below(place, turn, piece.seen)?,
                    None => {}
                }
            }
        }
        puzzle.set_solved(&pieces).map_err(|error| Fault::new(at, error))?;
        self.labels = written;
        Ok(())
    }

    fn one_move(&mut self, line: &[Word<'_>], keyword: &str) -> Result<(), Fault> {
        let &[(at, _), (_, name)] = line else {
            return Err(Fault::syntax(
                line[0].0,
                format!("expected: {keyword} NAME, the name being one word"),
            ));
        };
        self.puzzle(at)?;
        let rows = self.rows(&format!("{keyword} {name}"))?;
        let puzzle = self.puzzle(at)?;
        let orders = puzzle.orders();
        let mut images: Vec<u16> = (0..orders.len() as u16).collect();
        let mut turns = vec![0; orders.len()];
        for rows in rows {
            let known = |&(place, number): &Number| {
                number.ok_or_else(|| Fault::syntax(place, "a move tells all numbers; '?' is for Solved"))
            };
            let sources: Vec<u64> = rows.permutation.iter().map(known).collect::<Result<_, _>>()?;
            let first = u64::from(keyword == "Move");
            let of_orbit = images_of_sources(&sources, first)
                .map_err(|(i, reason)| Fault::syntax(rows.permutation[i].0, reason))?;
            let cells = puzzle.cells_of(rows.orbit);
            for (from, &to) in of_orbit.iter().enumerate() {
                let cell = cells.start + from;
                images[cell] = (cells.start + to) as u16;
                if let Some(row) = &rows.orientation {
                    let entry = row[if keyword == "Move" { from } else { to }];
                    turns[cell] = below(entry.0, known(&entry)?, orders[cell])?;
                }
            }
        }
        let cells = Permutation::from_images(images).expect("each orbit is permuted within itself");
        let action = OrientedPermutation::new(cells, turns, orders)
            .expect("turns are below the orders of their orbits");
        let name = unquoted(name);
        let added =
            if is_rotation(name) { puzzle.add_spare(name, action) } else { puzzle.add_move(name, action) };
        added.map_err(|error| Fault::new(at, error))
    }

    /// Keeps the line `MoveSequence NAME MOVES`, or `MoveAlias NAME MOVE`, to be evaluated later.
    fn sequence(&mut self, text: &'a str, line: &[Word<'a>], is_alias: bool) -> Result<(), Fault> {
        let (&[(at, _), (_, name), (start, _), ..], true) = (line, !is_alias || line.len() == 3) else {
            let expected = if is_alias { "MoveAlias NAME MOVE" } else { "MoveSequence NAME MOVES" };
            return Err(Fault::syntax(line[0].0, format!("expected: {expected}")));
        };
        self.puzzle(at)?;
        if self.sequences.len() >= Definition::MAX_MOVES {
            return Err(Fault::new(at, DefinitionError::TooManyMoves));
        }
        let (last, word) = line[line.len() - 1];
        let name = unquoted(name);
        self.sequence_bytes += last + word.len() - start;
        if self.sequence_bytes > sequence::MAX_BYTES {
            let reason = format!("the sequences of the file have more than {} bytes", sequence::MAX_BYTES);
            return Err(Fault::syntax(at, reason));
        }
        self.sequences.push(Sequence { at, name, start, text: &text[start..last + word.len()], is_alias });
        Ok(())
    }

    /// Adds the sequences to the puzzle, each of them when all names that it uses are known.
    fn work_out_sequences(&mut self) -> Result<(), Fault> {
        let Some(puzzle) = &mut self.puzzle else { return Ok(()) };
        let identity = OrientedPermutation::identity(puzzle.orders());
        let named = puzzle.moves().iter().chain(puzzle.spare());
        let mut known: HashSet<String> = named.map(|generator| generator.name.clone()).collect();
        let waiting = std::mem::take(&mut self.sequences);
        let mut names: HashSet<&str> = waiting.iter().map(|sequence| sequence.name).collect();
        names.extend(known.iter().map(String::as_str));
        let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
        let parts = waiting.iter().map(|sequence| {
            sequence::names_in(sequence.text, longest, |name| names.contains(name))
                .map_err(|(offset, reason)| Fault::syntax(sequence.start + offset, reason))
        });
        let parts: Vec<BTreeSet<String>> = parts.collect::<Result<_, _>>()?;
        let names: HashSet<String> = names.into_iter().map(str::to_owned).collect();
        let mut waiting: Vec<(Sequence<'_>, BTreeSet<String>)> = waiting.into_iter().zip(parts).collect();
        for depth in 0.. {
            let before = waiting.len();
            let mut still = Vec::new();
            for (sequence, parts) in waiting {
                if !parts.iter().all(|part| known.contains(part)) {
                    still.push((sequence, parts));
                    continue;
                }
                let Sequence { at, name, .. } = sequence;
                let action = sequence::evaluate(sequence.text, &identity, longest, &mut |name| {
                    if !names.contains(name) {
                        return Ok(None);
                    }
                    let mut all = puzzle.moves().iter().chain(puzzle.spare());
                    let found = all.find(|generator| generator.name == name);
                    // Other names are no part of the sequence, but the text may begin as they do.
                    Ok(Some(found.map_or_else(|| identity.clone(), |generator| generator.action.clone())))
                });
                let action =
                    action.map_err(|(offset, reason)| Fault::syntax(sequence.start + offset, reason))?;
                let added = match sequence.is_alias || is_rotation(name) {
                    true => puzzle.add_spare(name, action),
                    false => puzzle.add_move(name, action),
                };
                added.map_err(|error| Fault::new(at, error))?;
                known.insert(name.to_owned());
            }
            let Some((first, parts)) = still.first() else { break };
            if still.len() == before {
                let missing = parts.iter().find(|part| !known.contains(*part)).expect("a part is not known");
                let reason = format!(
                    "the sequence {:?} needs {missing:?}, and sequences need each other in a circle",
                    first.name
                );
                return Err(Fault::syntax(first.at, reason));
            }
            if depth == MAX_DEPTH {
                let reason = format!("sequences refer to later ones more than {MAX_DEPTH} deep");
                return Err(Fault::syntax(first.at, reason));
            }
            waiting = still;
        }
        Ok(())
    }

    /// Reads `Illegal SET POSITION VALUE...`: none of these pieces stands at the position in any state.
    fn illegal(&mut self, line: &[Word<'_>]) -> Result<(), Fault> {
        let &[(at, _), (named, set), position, ref values @ ..] = line else {
            return Err(Fault::syntax(line[0].0, "expected: Illegal SET POSITION VALUES"));
        };
        if self.labels.is_empty() {
            return Err(Fault::syntax(at, "Illegal stands behind Solved"));
        }
        let puzzle = self.puzzle.as_ref().expect("there is a solved state");
        let orbit = self.orbits.iter().position(|orbit| orbit.name == unquoted(set));
        let orbit = orbit.ok_or_else(|| Fault::syntax(named, format!("there is no set {set:?}")))?;
        let cells = puzzle.cells_of(orbit);
        let cell = match number(position)? {
            (_, Some(n)) if (1..=cells.len() as u64).contains(&n) => cells.start + n as usize - 1,
            (place, _) => {
                let reason = format!("positions of {set} are numbers from 1 to {}", cells.len());
                return Err(Fault::syntax(place, reason));
            }
        };
        let forbidden = self.forbidden.entry(cell).or_insert(Forbidden { at, values: BTreeSet::new() });
        for &value in values {
            match number(value)? {
                (_, Some(value @ 1..=255)) => forbidden.values.insert(value),
                (place, _) => return Err(Fault::syntax(place, "pieces are numbers from 1 to 255")),
            };
        }
        Ok(())
    }

    /// Returns the limits that the illegal pieces set.
    fn limits(&self) -> Result<Limits, Fault> {
        let mut limits = Limits::default();
        for (&cell, Forbidden { at, values }) in &self.forbidden {
            let puzzle = self.puzzle.as_ref().expect("what is illegal stands behind the solved state");
            let cells = puzzle.cells_of(puzzle.orbit_of(cell));
            let all: BTreeSet<u64> = self.labels[cells.clone()].iter().copied().collect();
            if !all.iter().copied().eq(1..=all.len() as u64) {
                let why = "the pieces of its set are not numbered from 1 without gaps, and twsearch compares other numbers then";
                return Err(unsupported(*at, "Illegal", why));
            }
            if values.contains(&self.labels[cell]) {
                return Err(Fault::syntax(*at, "the solved state itself is illegal"));
            }
            if all.difference(values).count() == 1 {
                limits.always.push(cell as u16);
                continue;
            }
            let piece = |value| cells.clone().find(|&piece| self.labels[piece] == value);
            let pieces = values.iter().filter_map(|&value| piece(value));
            limits.never.extend(pieces.map(|piece| (cell as u16, piece as u16)));
        }
        Ok(limits)
    }

    /// Reads the rows up to `End`.
    fn rows(&mut self, what: &str) -> Result<Vec<Rows>, Fault> {
        let mut all: Vec<Rows> = Vec::new();
        loop {
            let Some(line) = self.line() else { return Err(self.missing_end(what)) };
            let (place, word) = line[0];
            if word == "End" {
                break;
            }
            if word == "?" || word.starts_with(|c: char| c.is_ascii_digit()) {
                let numbers: Vec<Number> = line.iter().map(|&word| number(word)).collect::<Result<_, _>>()?;
                let Some(rows) = all.last_mut() else {
                    return Err(Fault::syntax(place, "numbers stand behind the name of a set"));
                };
                let Orbit { name, cells, .. } = &self.orbits[rows.orbit];
                if numbers.len() != *cells {
                    let found = numbers.len();
                    return Err(Fault::syntax(
                        place,
                        format!("the set {name} has {cells} pieces, but here are {found} numbers"),
                    ));
                }
                if rows.permutation.is_empty() {
                    rows.permutation = numbers;
                } else if rows.orientation.is_none() {
                    rows.orientation = Some(numbers);
                } else {
                    return Err(Fault::syntax(place, format!("a third row of numbers for the set {name}")));
                }
                continue;
            }
            let Some(orbit) = self.orbits.iter().position(|orbit| orbit.name == unquoted(word)) else {
                let names: Vec<_> = self.orbits.iter().map(|orbit| orbit.name.as_str()).collect();
                let names = names.join(", ");
                return Err(Fault::syntax(
                    place,
                    format!("{word:?} in {what} is no set (there are {names}); is End missing?"),
                ));
            };
            if all.iter().any(|rows| rows.orbit == orbit) {
                return Err(Fault::syntax(place, format!("the set {word} is told twice in {what}")));
            }
            all.push(Rows { orbit, at: place, permutation: Vec::new(), orientation: None });
        }
        match all.iter().find(|rows| rows.permutation.is_empty()) {
            Some(rows) => Err(Fault::syntax(rows.at, "no numbers stand behind the name of the set")),
            None => Ok(all),
        }
    }

    fn missing_end(&self, what: &str) -> Fault {
        Fault::syntax(self.end, format!("the file ends within {what}: End is missing"))
    }
}

fn unsupported(at: usize, what: &str, why: &'static str) -> Fault {
    Fault::new(at, Reason::Unsupported { what: what.into(), why })
}

fn unquoted(name: &str) -> &str {
    name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name)
}

fn number((at, word): Word<'_>) -> Result<Number, Fault> {
    match word {
        "?" => Ok((at, None)),
        _ if word.bytes().all(|byte| byte.is_ascii_digit()) => match word.parse::<u32>() {
            Ok(number) => Ok((at, Some(number.into()))),
            Err(_) => Err(Fault::syntax(at, format!("{word} is too large"))),
        },
        _ => Err(Fault::syntax(at, format!("{word:?} is no number"))),
    }
}

/// Returns whether twsearch takes a name for that of a rotation of the whole puzzle.
fn is_rotation(name: &str) -> bool {
    let axis = name.strip_suffix(['2', '\'']).unwrap_or(name);
    let grip = name.strip_suffix('v').unwrap_or_default();
    ["x", "y", "z"].contains(&axis)
        || (!grip.is_empty() && grip.bytes().all(|byte| byte == b'_' || byte.is_ascii_uppercase()))
}
