//! Definitions of ksolve and of twsearch (`.def`, `.tws`).
//!
//! A row of a permutation has, for each cell, the cell that its piece comes from. Under `Move` and `Solved`
//! cells are numbered from 1, under `MoveTransformation` and `StartState` from 0. The orientations of a
//! `Move` are listed at the cell that the piece leaves; those of a `MoveTransformation`, like those of a
//! state, at the cell that the piece reaches (twsearch, `ksolveformat.txt` and `readksolve.cpp`; ksolve+,
//! `readdef.h`).
//!
//! Both programs count every power of a move as one move, which is the metric `multi`. Moves that twsearch
//! treats as rotations of the whole puzzle (`x`, `y`, `z`, and capitals followed by `v`) are not moves in
//! twsearch, and are [spare](Definition::spare) here. In twsearch a `MoveSequence` is a move that costs 1
//! like the others, and a `MoveAlias` is not a move (`addnewmove` in `readksolve.cpp`, `goodmove` in
//! `filtermoves.cpp`). Both may use names that the file defines later.

use super::{Fault, LabelNumbers, Reason, below, images_of_sources, sequence};
use crate::Metric;
use crate::definition::{Definition, DefinitionError, Generator, Orbit, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

const KEYWORDS: &str = "Name, Set, Solved, StartState, Move, MoveTransformation, MoveSequence, MoveAlias, Ignore, \
                        Illegal, Multiplicators, ParallelMoves, MoveLimits";

/// The maximum number of times that evaluation of a sequence is deferred for names defined later in the file.
const MAX_DEPTH: usize = 32;

/// The label of pieces that are written as `?`. No file that twsearch reads has this number: the largest is
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

/// The pieces that `Illegal` lines exclude from one cell.
struct Forbidden {
    at: usize,
    values: BTreeSet<u64>,
}

/// The limits set by all `Illegal` lines together.
#[derive(Default, PartialEq, Eq)]
struct Limits {
    /// Cells that hold a piece with their own label: all other pieces of their sets are illegal.
    always: Vec<u16>,
    /// Pairs of a cell and a piece that is never allowed there.
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
                let remark = format!("{keyword} is ignored: the search includes all states and all moves");
                puzzle.add_remark(&remark);
            }
            if limits != Limits::default() {
                puzzle = limited(&puzzle, &limits).map_err(Fault::whole)?;
            }
            if reader.labels.is_empty() {
                reader.labels = puzzle.orbits().iter().flat_map(|orbit| 1..=orbit.cells as u64).collect();
            }
            puzzle.set_written_labels(reader.labels);
            puzzle.validated().map_err(Fault::whole)
        }
        None if reader.orbits.is_empty() => Err(Fault::whole(DefinitionError::NoCells)),
        None => Err(Fault::whole(DefinitionError::NoMoves)),
    }
}

/// Returns the same puzzle with its states limited. The powers of each move are listed one by one, because
/// each of them is a move wherever it leads to an allowed state, even if the states on the way are excluded.
fn limited(whole: &Definition, limits: &Limits) -> Result<Definition, DefinitionError> {
    let mut limited = Definition::new(whole.name(), whole.orbits().to_vec())?;
    limited.set_solved(whole.solved())?;
    for power in whole.generators(Metric::Multi)? {
        limited.add_move(power.name, power.action)?;
    }
    // A spare move may be a power that is now listed, under the same name.
    for spare in whole.spare() {
        if limited.moves().contains(spare) {
            continue;
        }
        limited.add_spare(spare.name.clone(), spare.action.clone())?;
    }
    limited.set_always(&limits.always)?;
    limited.set_never(&limits.never)?;
    for remark in whole.remarks() {
        limited.add_remark(remark);
    }
    Ok(limited)
}

/// Returns the words of each non-empty line. A word that starts with `#` begins a comment, up to the end of
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
    /// The names of these sets, and their total number of points.
    set_names: HashSet<String>,
    points: usize,
    /// The puzzle, once a line was read for which all sets must be known.
    puzzle: Option<Definition>,
    solved: bool,
    /// For each cell the number in the solved state, counted from 1; empty until that state has been read.
    labels: Vec<u64>,
    sequences: Vec<Sequence<'a>>,
    sequence_bytes: usize,
    /// The illegal pieces, by cell.
    forbidden: BTreeMap<usize, Forbidden>,
    /// The keywords of ignored sections, which change neither states nor distances.
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
            "Block" => Err(unsupported(
                at,
                keyword,
                "bandaged pieces cannot be read from this format; describe the moves with guards in a TOML file",
            )),
            "ForbiddenPairs" | "ForbiddenGroups" => {
                Err(unsupported(at, keyword, "remove it if it only prunes equivalent sequences"))
            }
            "SwizzleSet" => Err(unsupported(at, keyword, "remove it if it is used only for symmetries")),
            _ => Err(Fault::new(at, Reason::UnknownKeyword { word: keyword.into(), known: KEYWORDS })),
        }
    }

    fn set(&mut self, line: &[Word<'_>]) -> Result<(), Fault> {
        let &[(at, _), (_, name), pieces, orientations] = line else {
            return Err(Fault::syntax(line[0].0, "expected: Set NAME PIECES ORIENTATIONS"));
        };
        if self.puzzle.is_some() {
            return Err(Fault::syntax(at, "every Set must come before Solved and the first Move"));
        }
        let small = |word: Word<'_>| match number(word)? {
            (_, Some(n)) if n <= Definition::MAX_POINTS as u64 => Ok(n),
            _ => Err(Fault::syntax(word.0, format!("{} is too large", word.1))),
        };
        let (cells, orientations) = (small(pieces)? as usize, small(orientations)? as u16);
        let orbit = Orbit { name: unquoted(name).into(), cells, orientations };
        // A trial definition reports an error of this set, or of all sets so far, at this line.
        self.points += cells * usize::from(orientations);
        let is_of_all = self.points > Definition::MAX_POINTS || !self.set_names.insert(orbit.name.clone());
        self.orbits.push(orbit.clone());
        let trial = if is_of_all { self.orbits.clone() } else { vec![orbit] };
        Definition::new("trial", trial).map_err(|error| Fault::new(at, error))?;
        Ok(())
    }

    /// Returns the puzzle, which has all sets from the first call on.
    fn puzzle(&mut self, at: usize) -> Result<&mut Definition, Fault> {
        if self.puzzle.is_none() {
            let puzzle = Definition::new(self.name.clone(), self.orbits.clone());
            self.puzzle = Some(puzzle.map_err(|error| Fault::new(at, error))?);
        }
        Ok(self.puzzle.as_mut().expect("it was just created"))
    }

    fn solved(&mut self, at: usize, keyword: &str) -> Result<(), Fault> {
        let first = u64::from(keyword == "Solved");
        if std::mem::replace(&mut self.solved, true) {
            return Err(Fault::syntax(at, "the solved state is given twice"));
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
                // All pieces of a set written as '?' are interchangeable.
                let label = label.unwrap_or(WILD);
                if label < first {
                    return Err(Fault::syntax(
                        place,
                        format!("pieces are numbers, at least {first}, or '?'"),
                    ));
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
            return Err(Fault::syntax(line[0].0, format!("expected: {keyword} NAME (one word)")));
        };
        self.puzzle(at)?;
        let rows = self.rows(&format!("{keyword} {name}"))?;
        let puzzle = self.puzzle(at)?;
        let orientation_counts = puzzle.orientation_counts();
        let mut images: Vec<u16> = (0..orientation_counts.len() as u16).collect();
        let mut turns = vec![0; orientation_counts.len()];
        for rows in rows {
            let known = |&(place, number): &Number| {
                number.ok_or_else(|| Fault::syntax(place, "a move needs all numbers; '?' is only for Solved"))
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
                    turns[cell] = below(entry.0, known(&entry)?, orientation_counts[cell])?;
                }
            }
        }
        let cells = Permutation::from_images(images).expect("each orbit is permuted within itself");
        let action = OrientedPermutation::new(cells, turns, orientation_counts)
            .expect("turns are below the orientation_counts of their orbits");
        let name = unquoted(name);
        let added =
            if is_rotation(name) { puzzle.add_spare(name, action) } else { puzzle.add_move(name, action) };
        added.map_err(|error| Fault::new(at, error))
    }

    /// Stores the line `MoveSequence NAME MOVES`, or `MoveAlias NAME MOVE`, to be evaluated later.
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

    /// Adds the sequences to the puzzle, each once all names that it uses are known.
    ///
    /// As in twsearch, sequences are evaluated in rounds, in the order of the file, and each word between
    /// blanks or commas is looked up among the [names and their powers](Table). Sequences in another notation
    /// are evaluated once a round leaves only those.
    fn work_out_sequences(&mut self) -> Result<(), Fault> {
        let Some(puzzle) = &mut self.puzzle else { return Ok(()) };
        let mut table = Table::default();
        let listed = puzzle.moves().iter().enumerate().map(|(i, listed)| (Place::Move(i), listed));
        let spare = puzzle.spare().iter().enumerate().map(|(i, spare)| (Place::Spare(i), spare));
        for (place, Generator { name, action, .. }) in listed.chain(spare) {
            table.add(name, place, action);
        }
        let mut waiting = std::mem::take(&mut self.sequences);
        let mut names: HashSet<String> = waiting.iter().map(|sequence| sequence.name.to_owned()).collect();
        names.extend(table.entries.keys().cloned());
        let longest = names.iter().map(String::len).max().unwrap_or(0);
        let mut any_notation = false;
        for depth in 0.. {
            let before = waiting.len();
            let mut still = Vec::new();
            for sequence in waiting {
                let mut needs = None;
                let action =
                    sequence.action(puzzle, &table, any_notation.then_some((&names, longest)), &mut needs)?;
                let Some(action) = action else {
                    still.push((sequence, needs));
                    continue;
                };
                let Sequence { at, name, is_alias, .. } = sequence;
                let is_spare = is_alias || is_rotation(name);
                let place = match is_spare {
                    true => Place::Spare(puzzle.spare().len()),
                    false => Place::Move(puzzle.moves().len()),
                };
                table.add(name, place, &action);
                let added =
                    if is_spare { puzzle.add_spare(name, action) } else { puzzle.add_move(name, action) };
                added.map_err(|error| Fault::new(at, error))?;
            }
            let Some((first, missing)) = still.first() else { break };
            let is_stuck = still.len() == before;
            if let (true, true, Some(missing)) = (is_stuck, any_notation, missing) {
                let reason = format!(
                    "the sequence {:?} needs {missing:?}, but the sequences need each other in a cycle",
                    first.name
                );
                return Err(Fault::syntax(first.at, reason));
            }
            if depth == 2 * MAX_DEPTH {
                let reason = format!("sequences refer to later ones more than {MAX_DEPTH} levels deep");
                return Err(Fault::syntax(first.at, reason));
            }
            any_notation = is_stuck;
            waiting = still.into_iter().map(|(sequence, _)| sequence).collect();
        }
        for remark in table.remarks(puzzle) {
            puzzle.add_remark(&remark);
        }
        Ok(())
    }

    /// Reads `Illegal SET POSITION VALUE...`: none of these pieces is at the position in any state.
    fn illegal(&mut self, line: &[Word<'_>]) -> Result<(), Fault> {
        let &[(at, _), (named, set), position, ref values @ ..] = line else {
            return Err(Fault::syntax(line[0].0, "expected: Illegal SET POSITION VALUES"));
        };
        if self.labels.is_empty() {
            return Err(Fault::syntax(at, "Illegal must come after Solved"));
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
            let puzzle = self.puzzle.as_ref().expect("Illegal comes after the solved state");
            let cells = puzzle.cells_of(puzzle.orbit_of(cell));
            let all: BTreeSet<u64> = self.labels[cells.clone()].iter().copied().collect();
            if !all.iter().copied().eq(1..=all.len() as u64) {
                let why = "the pieces of its set are not numbered from 1 without gaps, and twsearch would compare other numbers";
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
                    return Err(Fault::syntax(place, "numbers must follow the name of a set"));
                };
                let Orbit { name, cells, .. } = &self.orbits[rows.orbit];
                if numbers.len() != *cells {
                    let found = numbers.len();
                    return Err(Fault::syntax(
                        place,
                        format!("the set {name} has {cells} pieces, but this row has {found} numbers"),
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
                    format!("{word:?} in {what} is not a set (sets: {names}); is End missing?"),
                ));
            };
            if all.iter().any(|rows| rows.orbit == orbit) {
                return Err(Fault::syntax(place, format!("the set {word} is given twice in {what}")));
            }
            all.push(Rows { orbit, at: place, permutation: Vec::new(), orientation: None });
        }
        match all.iter().find(|rows| rows.permutation.is_empty()) {
            Some(rows) => Err(Fault::syntax(rows.at, "no numbers follow the name of the set")),
            None => Ok(all),
        }
    }

    fn missing_end(&self, what: &str) -> Fault {
        Fault::syntax(self.end, format!("the file ends within {what}: End is missing"))
    }
}

impl Sequence<'_> {
    /// Returns the permutation of the sequence; `None` if a name is not known yet. With the names of the
    /// whole file, and the length of the longest, sequences in any notation are read; then `needs` is set to
    /// the unknown name.
    fn action(
        &self,
        puzzle: &Definition,
        table: &Table,
        names: Option<(&HashSet<String>, usize)>,
        needs: &mut Option<String>,
    ) -> Result<Option<OrientedPermutation>, Fault> {
        let identity = OrientedPermutation::identity(puzzle.orientation_counts());
        let is_separator = |c: char| c.is_whitespace() || c == ',';
        let words = || self.text.split(is_separator).filter(|word| !word.is_empty());
        // A text with brackets or signs is read as a whole.
        let is_plain =
            words().all(|word| !word.starts_with('\'') && !word.contains(|c| "()[]*^:".contains(c)));
        let parts: Vec<&str> = if is_plain { words().collect() } else { vec![self.text] };
        if names.is_none() && !parts.iter().all(|part| table.find(part).is_some()) {
            return Ok(None);
        }
        let mut product = identity.clone();
        for part in parts {
            let start = self.start + (part.as_ptr().addr() - self.text.as_ptr().addr());
            let fault = |(offset, reason)| Fault::syntax(start + offset, reason);
            let action = match (table.find(part), names) {
                (Some((place, exponent)), _) => place.action(puzzle).power(exponent),
                (None, None) => return Ok(None),
                (None, Some((names, longest))) => {
                    let used =
                        sequence::names_in(part, longest, |name| names.contains(name)).map_err(fault)?;
                    *needs = used.into_iter().find(|name| !table.entries.contains_key(name));
                    if needs.is_some() {
                        return Ok(None);
                    }
                    // Other names are not part of the sequence, but its text may begin like them.
                    let mut named = |name: &str| {
                        let known = table.entries.get(name).map(|entry| entry.place.action(puzzle));
                        Ok(names.contains(name).then(|| known.unwrap_or(&identity).clone()))
                    };
                    sequence::evaluate(part, &identity, longest, &mut named).map_err(fault)?
                }
            };
            product = product.then(&action);
        }
        Ok(Some(product))
    }
}

/// Where in a puzzle a permutation is.
#[derive(Clone, Copy)]
enum Place {
    Move(usize),
    Spare(usize),
}

impl Place {
    fn action(self, puzzle: &Definition) -> &OrientedPermutation {
        match self {
            Self::Move(number) => &puzzle.moves()[number].action,
            Self::Spare(number) => &puzzle.spare()[number].action,
        }
    }
}

/// A permutation with a name.
struct Entry {
    /// Entries are searched in this order: rotations after all others, otherwise in order of insertion.
    rank: (bool, usize),
    place: Place,
    /// The order of the permutation; `None` if it is larger than 64 bits.
    order: Option<u64>,
}

/// The names in the order in which twsearch looks for them, each followed by the names of its powers: the
/// name, a number, and `'` if the inverse is shorter (`expandonemove` in `readksolve.cpp`). So `R2` listed
/// after `R` is the square of `R`, and the square of `V1` is `V12`.
#[derive(Default)]
struct Table {
    entries: HashMap<String, Entry>,
}

impl Table {
    fn add(&mut self, name: &str, place: Place, action: &OrientedPermutation) {
        let rank = (is_rotation(name), self.entries.len());
        let order = action.order();
        self.entries.entry(name.into()).or_insert(Entry { rank, place, order });
    }

    /// Returns the entries that have a power of this name, with the name of the entry and the exponent.
    fn with_power<'t>(&'t self, word: &'t str) -> impl Iterator<Item = (&'t str, &'t Entry, i64)> {
        let (number, sign) = match word.strip_suffix('\'') {
            Some(number) => (number, -1),
            None => (word, 1),
        };
        let digits = number.len() - number.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let whole = self.entries.get_key_value(word).map(|(name, entry)| (&**name, entry, 1));
        let powers = (0..=digits).filter_map(move |digits| {
            let (name, times) = number.split_at(number.len() - digits);
            let entry = self.entries.get(name)?;
            let times: u64 = match times {
                "" if sign < 0 => 1,
                _ if times.starts_with('0') => return None,
                _ => times.parse().ok().filter(|&times| times > 1)?,
            };
            let twice = times.checked_mul(2)?;
            let has_name = entry.order.is_none_or(|order| twice < order || sign > 0 && twice == order);
            has_name.then_some((name, entry, sign * times as i64))
        });
        whole.into_iter().chain(powers)
    }

    /// Returns the entry and the exponent that twsearch finds for a word.
    fn find(&self, word: &str) -> Option<(Place, i64)> {
        let first = self.with_power(word).min_by_key(|(_, entry, _)| entry.rank);
        first.map(|(_, entry, exponent)| (entry.place, exponent))
    }

    /// Returns a remark on each name that is also the name of a power of something else.
    fn remarks(&self, puzzle: &Definition) -> Vec<String> {
        let mut remarks = BTreeMap::new();
        for (name, entry) in &self.entries {
            let action = entry.place.action(puzzle);
            let other = self.with_power(name).filter(|(base, ..)| base != name);
            let other = other.min_by_key(|(_, other, _)| other.rank);
            let Some((base, other, exponent)) = other else { continue };
            if other.place.action(puzzle).power(exponent) == *action {
                continue;
            }
            let meant = if other.rank < entry.rank { "the power" } else { "the move" };
            let remark = format!(
                "the move {name} differs from the power {name} of {base}: as in twsearch, sequences of the file use {meant}"
            );
            remarks.insert(entry.rank, remark);
        }
        remarks.into_values().collect()
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
        _ => Err(Fault::syntax(at, format!("{word:?} is not a number"))),
    }
}

/// Returns whether twsearch treats a name as that of a rotation of the whole puzzle.
fn is_rotation(name: &str) -> bool {
    let axis = name.strip_suffix(['2', '\'']).unwrap_or(name);
    let grip = name.strip_suffix('v').unwrap_or_default();
    ["x", "y", "z"].contains(&axis)
        || (!grip.is_empty() && grip.bytes().all(|byte| byte == b'_' || byte.is_ascii_uppercase()))
}
