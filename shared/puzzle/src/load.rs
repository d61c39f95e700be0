//! Puzzles read from files: [Fathom's own format](toml), [GAP](gap), [ksolve and twsearch](ksolve), [kpuzzle]
//! (cubing.js), lists of [images] (SymPy, Sage), [Kaggle's Santa 2023](santa), and graphs with [tokens].
//! `docs/puzzles.md` describes the formats field by field.
//!
//! Each reader reports a fault at a byte offset; this module turns the offset into a file, a line and a
//! column.

pub mod gap;
pub mod images;
mod javascript;
pub mod kpuzzle;
pub mod ksolve;
pub mod santa;
pub mod scramble_file;
pub mod sequence;
pub mod tokens;
pub mod toml;

use crate::definition::{Definition, DefinitionError};
use fathom_algebra::CycleError;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The largest file that is read, in bytes: far larger than the file of the largest puzzle.
pub const MAX_BYTES: u64 = 1 << 24;

/// The name of standard input.
pub const STDIN: &str = "-";

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Fathom's own: `.toml`.
    Toml,
    /// Permutations as GAP reads them: `.g`, `.gap`.
    Gap,
    /// ksolve and twsearch: `.tws`, `.def`, `.ksolve`.
    Ksolve,
    /// A kpuzzle definition of cubing.js: `.json`, or a module that exports it, `.js` or `.ts`.
    Kpuzzle,
    /// Lists of images, and permutations of SymPy and Sage: `.py`, `.sage`; also `.json`, if it has nothing
    /// else.
    Images,
    /// The moves of Kaggle's Santa 2023: `.csv`.
    Santa,
    /// A graph with tokens: `.graph`, or any file whose name follows `tokens:`.
    Tokens,
}

/// A position in a file. Lines and columns are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the file, as given.
    pub file: String,
    /// The line and the column, if the fault is at one place.
    pub line_and_column: Option<(usize, usize)>,
}

/// What is wrong with the text of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The text was parsed, but the definition is invalid.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The text is not cycle notation.
    #[error("{}", .0.reason())]
    Cycles(CycleError),
    /// The format does not allow this at this place.
    #[error("{0}")]
    Syntax(String),
    /// The format does not have this keyword.
    #[error("unknown keyword {word:?}: expected one of {known}")]
    UnknownKeyword {
        /// The text in place of a keyword.
        word: String,
        /// The keywords of the format.
        known: &'static str,
    },
    /// Fathom does not support this part of the format.
    #[error("{what} is not supported: {why}")]
    Unsupported {
        /// The part.
        what: String,
        /// Why the part cannot be ignored, or what to do.
        why: &'static str,
    },
}

/// Why a file cannot be loaded as a puzzle.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The operating system refused to read the file.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// The name of the file, as given.
        file: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is larger than [`MAX_BYTES`].
    #[error("{file}: the file is larger than {MAX_BYTES} bytes, too large for a puzzle")]
    TooLarge {
        /// The name of the file, as given.
        file: String,
    },
    /// The text has a fault.
    #[error("{place}: {reason}")]
    Bad {
        /// The place of the fault.
        place: Place,
        /// The kind of fault.
        reason: Box<Reason>,
    },
}

impl LoadError {
    /// Adds to a syntax error that the file is read as TOML because nothing indicates another format.
    fn guessed_toml(mut self) -> Self {
        if let Self::Bad { reason, .. } = &mut self
            && let Reason::Syntax(text) = &mut **reason
        {
            text.push_str(
                "; the file is read as TOML, because neither its name (.tws, .def, .ksolve, .g, .gap, .json, .js, .ts, .py, .sage, .csv, .graph) nor its first line indicates another format",
            );
        }
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match self.line_and_column {
            Some((line, column)) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

impl Format {
    /// Returns the format of a file by its extension, or by its text if the extension is ambiguous
    /// (`.txt`).
    pub fn new(file: &str, text: &str) -> Self {
        let extension = Path::new(file).extension().and_then(|e| e.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "toml" => Self::Toml,
            "g" | "gap" => Self::Gap,
            "tws" | "def" | "ksolve" => Self::Ksolve,
            "json" | "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" => Self::Kpuzzle,
            "py" | "sage" => Self::Images,
            "csv" => Self::Santa,
            "graph" => Self::Tokens,
            _ => Self::of_text(text),
        }
    }

    /// Returns the format by the first line that is neither empty nor a comment.
    fn of_text(text: &str) -> Self {
        let mut rest = text.trim_start_matches('\u{feff}').trim_start();
        while rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest.trim_start());
        }
        let list = rest.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('('));
        match rest.split_whitespace().next().unwrap_or_default() {
            "Name" | "Set" => Self::Ksolve,
            "import" | "export" => Self::Kpuzzle,
            "from" => Self::Images,
            _ if images::is_lists(rest) => Self::Images,
            word if word.starts_with('{') || word.starts_with("//") || word.starts_with("/*") => {
                Self::Kpuzzle
            }
            word if list || word.starts_with('(') || word.starts_with("Group") => Self::Gap,
            _ if rest.lines().next().is_some_and(|line| line.contains(":=")) => Self::Gap,
            _ => Self::Toml,
        }
    }
}

/// Reads the puzzle that a file defines; `-` is standard input. A file of several puzzles is followed by a
/// colon and the type of one of them: `puzzle_info.csv:cube_2/2/2`. A file after `tokens:` is a graph.
///
/// # Errors
/// [`LoadError`] with the file, the place and the reason.
pub fn load(path: &Path) -> Result<Definition, LoadError> {
    let word = path.display().to_string();
    let graph = word.strip_prefix(tokens::PREFIX);
    let word = graph.unwrap_or(&word).to_owned();
    let (file, kind) = match word.split_once(".csv:") {
        Some((file, kind)) => (format!("{file}.csv"), Some(kind)),
        None if word == STDIN => ("stdin".into(), None),
        None => (word.clone(), None),
    };
    let read = |source| LoadError::Read { file: file.clone(), source };
    let input: Box<dyn Read> = match &*word {
        STDIN => Box::new(io::stdin()),
        _ => Box::new(File::open(&file).map_err(read)?),
    };
    // The length of a device or of a pipe is not known in advance, so the limit applies while reading.
    let mut bytes = Vec::new();
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(read)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(LoadError::TooLarge { file });
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..at]).into_owned();
        Fault::syntax(at, "the file is not valid UTF-8").in_file(&file, &before)
    })?;
    if let Some(kind) = kind {
        return santa::read(&text, Some(kind)).map_err(|fault| fault.in_file(&file, &text));
    }
    let format = if graph.is_some() { Format::Tokens } else { Format::new(&file, &text) };
    let is_guessed = format == Format::Toml
        && Path::new(&file).extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("toml"));
    read_text(&text, format, &file).map_err(|error| if is_guessed { error.guessed_toml() } else { error })
}

/// Reads the puzzle that a text defines. `file` is named in errors; if the text does not name the puzzle, its
/// name is the stem of `file`.
///
/// # Errors
/// [`LoadError`] with the file, the place and the reason.
pub fn parse(text: &str, format: Format, file: &str) -> Result<Definition, LoadError> {
    // The text may have been written by this program, which numbers labels in order.
    read_text(text, format, file).map(Definition::without_written_labels)
}

/// Reads a puzzle as [`parse`] does, with the labels as the text writes them.
pub(crate) fn read_text(text: &str, format: Format, file: &str) -> Result<Definition, LoadError> {
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or("puzzle");
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Fault::syntax(0, "the file is empty").in_file(file, text));
    }
    match format {
        Format::Toml => toml::read(text, stem),
        Format::Gap => gap::read(text, stem),
        Format::Ksolve => ksolve::read(text, stem),
        Format::Kpuzzle if images::is_lists(text) => images::read(text, stem),
        Format::Kpuzzle => kpuzzle::read(text),
        Format::Images => images::read(text, stem),
        Format::Santa => santa::read(text, None),
        Format::Tokens => tokens::read(text, stem),
    }
    .map_err(|fault| fault.in_file(file, text))
}

/// A reason, and the byte offset of the fault; no offset if the fault concerns the file as a whole.
#[derive(Debug)]
struct Fault {
    at: Option<usize>,
    reason: Reason,
}

impl Fault {
    fn new(at: usize, reason: impl Into<Reason>) -> Self {
        Self { at: Some(at), reason: reason.into() }
    }

    fn syntax(at: usize, reason: impl Into<String>) -> Self {
        Self::new(at, Reason::Syntax(reason.into()))
    }

    /// Creates a fault that concerns the whole file.
    fn whole(reason: impl Into<Reason>) -> Self {
        Self { at: None, reason: reason.into() }
    }

    fn in_file(self, file: &str, text: &str) -> LoadError {
        let line_and_column = self.at.map(|at| {
            let before = &text[..text.floor_char_boundary(at)];
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
        });
        let place = Place { file: file.into(), line_and_column };
        LoadError::Bad { place, reason: Box::new(self.reason) }
    }
}

/// Maps labels of a file, which are numbered in each orbit, to labels of a definition, which are numbered
/// across orbits.
#[derive(Default)]
struct LabelNumbers {
    numbers: HashMap<(usize, u64), u16>,
}

impl LabelNumbers {
    fn number(&mut self, orbit: usize, label: u64) -> u16 {
        let next = self.numbers.len() as u16;
        *self.numbers.entry((orbit, label)).or_insert(next)
    }
}

/// Returns the images of a permutation of one orbit. Files give, for each cell, the cell that its piece comes
/// from, numbered from `first`. The error is an index in the list, and the reason.
fn images_of_sources(sources: &[u64], first: u64) -> Result<Vec<usize>, (usize, String)> {
    let cells = sources.len() as u64;
    let mut images = vec![usize::MAX; sources.len()];
    for (to, &source) in sources.iter().enumerate() {
        let from = source.checked_sub(first).filter(|&from| from < cells).ok_or_else(|| {
            (to, format!("{source} is not between {first} and {}", (cells + first).saturating_sub(1)))
        })?;
        if images[from as usize] != usize::MAX {
            return Err((to, format!("not a permutation: {source} occurs twice")));
        }
        images[from as usize] = to;
    }
    Ok(images)
}

/// Checks that an orientation is below the number of orientations.
fn below(at: usize, turn: u64, order: u16) -> Result<u16, Fault> {
    match u16::try_from(turn) {
        Ok(turn) if turn < order => Ok(turn),
        _ => {
            let reason = format!("the orientation {turn} is not below the number of orientations, {order}");
            Err(Fault::syntax(at, reason))
        }
    }
}

#[cfg(test)]
mod tests;
