//! A puzzle by the name that a user gives: a board, a member of a family, or a file.

use crate::definition::{Definition, DefinitionError};
use crate::family::{self, FamilyError, sliding};
use crate::load::{self, LoadError, tokens};
use crate::{Board, BoardError, Generator, Metric, Puzzle, PuzzleMove, SelectionError, Starts};
use num_bigint::BigUint;
use std::path::Path;

/// The note on distances if the moves are not closed under inverses.
pub const ONE_WAY: &str = "distances are one way: the moves are not closed under inverses";

/// Returns [`ONE_WAY`], and how to get the undirected number.
pub fn one_way_note() -> String {
    format!(
        "{ONE_WAY} (to get two-way distances, list the inverses too; without --moves, --metric single adds them)"
    )
}

/// A board, or any other puzzle by its definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PuzzleSpec {
    /// A board, whose symmetries are known.
    Board(Board),
    /// Any puzzle by its definition, whose symmetries are found.
    Defined(Box<Definition>),
}

/// Why a puzzle does not exist, or cannot be searched.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The name has the form of a board, but is not a valid board.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The name does not belong to a family.
    #[error(transparent)]
    Family(#[from] FamilyError),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] LoadError),
    /// The chosen moves do not exist.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The metric has too many moves, the definition is inconsistent, or an orbit does not exist.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The metric exists only for another puzzle.
    #[error("{puzzle} has no metric '{metric}'; only square1 does")]
    NotItsMetric {
        /// The puzzle.
        puzzle: String,
        /// The metric.
        metric: Metric,
    },
    /// The puzzle has more cells than [`PuzzleSpec::MAX_CELLS`].
    #[error("{puzzle} has {}{cells} cells, but a search supports at most {limit}: omit orbits with --omit", states_and(states.as_ref()), limit = PuzzleSpec::MAX_CELLS)]
    TooManyCells {
        /// The puzzle.
        puzzle: String,
        /// The number of cells.
        cells: usize,
        /// The number of states, if it is known.
        states: Option<BigUint>,
    },
}

impl PuzzleSpec {
    /// The largest number of cells of a puzzle that can be searched. With more cells, tables of the group
    /// would take gigabytes.
    pub const MAX_CELLS: usize = 2048;

    /// Returns the puzzle of a name: `3x4`, `pancake:8`, the path of a file, or `tokens:` and that of a graph.
    ///
    /// # Errors
    /// [`SourceError`] if no puzzle has this name.
    pub fn by_name(word: &str) -> Result<Self, SourceError> {
        Self::named(word, family::by_name)
    }

    /// Returns the whole puzzle of a name: if the puzzle of a family has a fixed piece, such as a corner of
    /// `2x2x2`, the variant with free rotations. Both have the same number of states at each distance, and
    /// the variant has more symmetries.
    ///
    /// # Errors
    /// As [`PuzzleSpec::by_name`].
    pub fn whole(word: &str) -> Result<Self, SourceError> {
        Self::named(word, family::whole)
    }

    /// Returns the variant of a family with free rotations of the whole puzzle.
    ///
    /// # Errors
    /// [`SourceError`] if the family has no such variant; the error lists the families that have one.
    pub fn in_hand(word: &str) -> Result<Self, SourceError> {
        Ok(Self::Defined(Box::new(family::in_hand(&word.to_lowercase().replace('×', "x"))?)))
    }

    fn named(
        word: &str,
        of_family: fn(&str) -> Result<Definition, FamilyError>,
    ) -> Result<Self, SourceError> {
        match word.parse::<Board>() {
            Ok(board) => return Ok(Self::Board(board)),
            Err(BoardError::NotABoard(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let path = Path::new(word);
        let is_file = path.extension().is_some() || word.contains('/') || word == load::STDIN;
        if is_file || word.starts_with(tokens::PREFIX) {
            return Ok(Self::Defined(Box::new(load::load(path)?)));
        }
        // Case does not matter, and `×` may be written for `x`.
        let plain = word.to_lowercase().replace('×', "x");
        let found = match of_family(&plain) {
            Err(FamilyError::Unknown { .. }) if path.is_file() => load::load(path)?,
            Err(FamilyError::Unknown { nearest, .. }) => {
                return Err(FamilyError::Unknown { word: word.into(), nearest }.into());
            }
            found => found?,
        };
        Ok(Self::Defined(Box::new(found)))
    }

    /// Returns the same puzzle under a metric, if the puzzle supports it. A metric of a single family may
    /// change the moves of the puzzle.
    ///
    /// # Errors
    /// [`SourceError::NotItsMetric`] if the puzzle does not support the metric.
    pub fn in_metric(self, metric: Metric) -> Result<Self, SourceError> {
        // Sliding tiles list the moves of their metrics, because these depend on where the blank is.
        if matches!(metric, Metric::Multi | Metric::Single)
            && self.name().starts_with(sliding::PREFIX)
            && Self::by_name(&self.name()).is_ok_and(|own| own == self)
        {
            let found = family::in_metric(&self.name(), metric).expect("the name is that of a family");
            return Ok(Self::Defined(Box::new(found)));
        }
        if !metric.is_square1_only() || self.metric() == metric {
            return Ok(self);
        }
        // A puzzle with the family's name but not one of its metrics is a different puzzle.
        let found = self.metric().is_square1_only().then(|| family::in_metric(&self.name(), metric));
        let found =
            found.flatten().ok_or_else(|| SourceError::NotItsMetric { puzzle: self.name(), metric })?;
        Ok(Self::Defined(Box::new(found)))
    }

    /// Returns the same puzzle with some of its moves, given by their comma-separated names. They
    /// become the listed moves, and the metric becomes [`Metric::Given`]. The new name of the puzzle contains
    /// the names of the moves, and `-free` if there are free moves.
    ///
    /// # Errors
    /// [`SourceError`] with the first name that does not exist.
    pub fn with_moves(&self, metric: Metric, names: &str) -> Result<Self, SourceError> {
        let whole = self.definition(metric)?;
        let chosen = whole.select(whole.metric(), names)?;
        let words: Vec<&str> = chosen.iter().map(|generator| generator.name.as_str()).collect();
        let tells = whole.free().is_empty() || whole.name().ends_with("-free");
        let free = if tells { "" } else { "-free" };
        let name = format!("{}{free}-{}", whole.name(), words.join("-"));
        let mut some = Definition::new(name, whole.orbits().to_vec())?;
        some.set_solved(whole.solved())?;
        for Generator { name, action, guard, asks } in chosen {
            some.add_asking_move(name, action, &guard, asks)?;
        }
        for Generator { name, action, .. } in whole.free() {
            some.add_free(name.clone(), action.clone())?;
        }
        some.set_always(whole.always())?;
        some.set_never(whole.never())?;
        some.set_starts(whole.starts().clone())?;
        for remark in whole.remarks() {
            some.add_remark(remark);
        }
        Ok(Self::Defined(Box::new(some.validated()?)))
    }

    /// Returns the same puzzle with distances from other states than the solved one. `suffix` is appended to the name. The
    /// moves of a board become listed moves, and the metric becomes [`Metric::Given`].
    ///
    /// # Errors
    /// As [`Definition::set_starts`].
    pub fn with_starts(&self, metric: Metric, starts: Starts, suffix: &str) -> Result<Self, SourceError> {
        let mut definition = self.definition(metric)?.renamed(format!("{}-{suffix}", self.name()));
        definition.set_starts(starts)?;
        Ok(Self::Defined(Box::new(definition)))
    }

    /// Returns the states from which distances are counted.
    pub fn starts(&self) -> Starts {
        match self {
            Self::Board(_) => Starts::default(),
            Self::Defined(definition) => definition.starts().clone(),
        }
    }

    /// Returns the same puzzle with all pieces distinguished. The pieces of a board always are.
    ///
    /// # Errors
    /// [`DefinitionError::Guarded`] if guards or limits of the puzzle refer to labels.
    pub fn with_distinct_pieces(self) -> Result<Self, SourceError> {
        match self {
            Self::Board(_) => Ok(self),
            Self::Defined(definition) => Ok(Self::Defined(Box::new(definition.with_distinct_pieces()?))),
        }
    }

    /// Returns the same puzzle with the orientations of some pieces ignored, given by piece.
    ///
    /// # Errors
    /// [`DefinitionError::Guarded`] if guards or limits of the puzzle refer to labels that only some of them
    /// have.
    pub fn without_orientations(self, hidden: &[bool]) -> Result<Self, SourceError> {
        match self {
            Self::Defined(definition) if definition.orientation_counts().iter().any(|&count| count > 1) => {
                Ok(Self::Defined(Box::new(definition.without_orientations(hidden)?)))
            }
            other => Ok(other),
        }
    }

    /// Returns the names of the pieces of a built-in puzzle, in the order of their cells: the faces where a
    /// piece belongs. `None` if the pieces have no names.
    pub fn piece_names(word: &str) -> Option<Vec<&'static str>> {
        let plain = word.to_lowercase().replace('×', "x");
        let is_file = Path::new(word).extension().is_some() || word.contains('/');
        (!is_file).then(|| family::piece_names(&plain))?
    }

    /// Checks that the puzzle means the same with other labels, given by piece.
    ///
    /// # Errors
    /// [`DefinitionError::Guarded`] if guards or limits refer to interchangeable pieces, and the labels
    /// distinguish them.
    pub fn check_labels(&self, labels: &[u16]) -> Result<(), SourceError> {
        match self {
            Self::Board(_) => Ok(()),
            Self::Defined(definition) => Ok(definition.check_labels(labels)?),
        }
    }

    /// Adds a remark for users about the labels with which the puzzle is searched, given by piece: pieces
    /// with the same label that are still distinguished. If these labels are not those of the file, remarks
    /// about the file's labels are removed.
    pub fn remark_on_labels(&mut self, labels: &[u16], are_the_files: bool) {
        let Self::Defined(definition) = self else { return };
        if !are_the_files {
            definition.forget_remarks_on_labels();
        }
        if let Some([one, other]) = definition.kept_apart(labels) {
            definition.add_remark(&format!(
                "pieces that show different numbers of orientations, such as those of cells {one} and {other}, are distinguished although they have the same label"
            ));
        }
    }

    /// Returns the same puzzle without the orbits `omitted`, and with the orientations of the orbits
    /// `unturned` ignored.
    ///
    /// # Errors
    /// [`SourceError`] if there are no such orbits, guards or limits refer to omitted pieces, or no
    /// orbits are left.
    pub fn reduced(self, omitted: &[String], unturned: &[String]) -> Result<Self, SourceError> {
        match (self, omitted.iter().chain(unturned).next()) {
            (same, None) => Ok(same),
            (Self::Board(board), Some(orbit)) => Err(DefinitionError::NoSuchOrbit {
                name: orbit.clone(),
                known: format!("only the tiles of {board}"),
            }
            .into()),
            (Self::Defined(definition), _) => {
                Ok(Self::Defined(Box::new(definition.reduced(omitted, unturned)?)))
            }
        }
    }

    /// Returns remarks for users about how the puzzle was read: one line each, without a full stop.
    pub fn remarks(&self) -> &[String] {
        match self {
            Self::Board(_) => &[],
            Self::Defined(definition) => definition.remarks(),
        }
    }

    /// Returns whether the inverse of some move is not a move in a metric, so that [distances are one
    /// way](ONE_WAY).
    ///
    /// # Errors
    /// [`DefinitionError`] if the metric has too many moves.
    pub fn is_one_way(&self, metric: Metric) -> Result<bool, DefinitionError> {
        let definition = self.definition(metric)?;
        let metric = definition.metric();
        Ok(metric == Metric::Given && !definition.is_closed_under_inverses(metric)?)
    }

    /// Returns the definition of the puzzle under a metric: its moves are the generators of the definition
    /// in its own metric. For a board, all moves of `metric` are listed.
    ///
    /// # Errors
    /// [`DefinitionError`] if there are too many moves.
    pub fn definition(&self, metric: Metric) -> Result<Definition, DefinitionError> {
        match self {
            Self::Board(board) => of_board(*board, metric),
            Self::Defined(definition) => {
                let mut definition = (**definition).clone();
                definition.set_metric(metric);
                Ok(definition)
            }
        }
    }

    /// Returns the name of the puzzle.
    pub fn name(&self) -> String {
        match self {
            Self::Board(board) => board.to_string(),
            Self::Defined(definition) => definition.name().into(),
        }
    }

    /// Returns the default metric.
    pub fn metric(&self) -> Metric {
        match self {
            Self::Board(_) => Metric::default(),
            Self::Defined(definition) => definition.metric(),
        }
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        match self {
            Self::Board(board) => board.cells(),
            Self::Defined(definition) => definition.cells(),
        }
    }

    /// Returns the number of cells in one row when a state is written.
    pub fn columns(&self) -> usize {
        match self {
            Self::Board(board) => board.columns(),
            Self::Defined(definition) => definition.cells(),
        }
    }

    /// Returns the label of the piece on each cell when the puzzle is solved: pieces with one label are
    /// interchangeable.
    pub fn solved(&self) -> Vec<usize> {
        match self {
            Self::Board(board) => (0..board.cells()).collect(),
            Self::Defined(definition) => {
                definition.solved().iter().map(|piece| usize::from(piece.label)).collect()
            }
        }
    }

    /// Checks what does not depend on the moves: that the puzzle does not have too many cells to be searched.
    ///
    /// # Errors
    /// [`SourceError::TooManyCells`] if there are more than [`PuzzleSpec::MAX_CELLS`].
    pub fn check(&self) -> Result<(), SourceError> {
        let Self::Defined(definition) = self else {
            return Ok(());
        };
        let puzzle = definition.name().to_owned();
        let cells = definition.cells();
        if cells > Self::MAX_CELLS {
            return Err(SourceError::TooManyCells { puzzle, cells, states: definition.states_by_orbits() });
        }
        Ok(())
    }

    /// Returns the puzzle under a metric, with its symmetries, as it is searched. Finding the symmetries
    /// takes up to tenths of a second.
    ///
    /// # Errors
    /// [`SourceError`] if the puzzle has too many cells, or as [`Definition::puzzle`].
    pub fn puzzle(&self, metric: Metric) -> Result<Puzzle, SourceError> {
        self.check()?;
        let definition = match self {
            Self::Board(board) => return Ok(board.puzzle(metric)),
            Self::Defined(definition) => definition,
        };
        Ok(definition.puzzle(metric)?)
    }

    /// Returns the puzzle under a metric as [`PuzzleSpec::puzzle`] does, without searching for symmetries or
    /// other pieces: the only symmetry is the identity.
    ///
    /// # Errors
    /// As [`PuzzleSpec::puzzle`].
    pub fn unsearched(&self, metric: Metric) -> Result<Puzzle, SourceError> {
        self.check()?;
        match self {
            Self::Board(board) => {
                let mut puzzle = board.puzzle(metric);
                puzzle.symmetries.truncate(1);
                Ok(puzzle)
            }
            Self::Defined(definition) => Ok(definition.unsearched(metric)?),
        }
    }

    /// Returns the moves of the puzzle and what they act on. The symmetries of a definition are not searched
    /// for, so the identity is the only one.
    ///
    /// # Errors
    /// As [`PuzzleSpec::puzzle`].
    pub fn moves_alone(&self, metric: Metric) -> Result<Puzzle, SourceError> {
        self.check()?;
        match self {
            Self::Board(board) => Ok(board.puzzle(metric)),
            Self::Defined(definition) => Ok(definition.moves_alone(metric)?),
        }
    }
}

/// Formats the number of states as the beginning of a list, `120 states and `; empty if the number is not
/// known.
pub fn states_and(states: Option<&BigUint>) -> String {
    states.map(|states| format!("{} states and ", grouped(states))).unwrap_or_default()
}

/// Formats a number with commas between groups of three digits.
pub fn grouped(number: &BigUint) -> String {
    let digits = number.to_string();
    let from_the_end = digits.bytes().rev().collect::<Vec<_>>();
    let groups: Vec<&[u8]> = from_the_end.chunks(3).collect();
    groups.join(&b',').iter().rev().map(|&byte| char::from(byte)).collect()
}

/// Returns the definition of a board whose listed generators are the moves of a metric.
fn of_board(board: Board, metric: Metric) -> Result<Definition, DefinitionError> {
    let mut definition = Definition::of_degree(board.to_string(), board.cells())?;
    for PuzzleMove { name, action, .. } in board.puzzle(metric).moves {
        definition.add_move(name, action)?;
    }
    Ok(definition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_of_boards_families_and_files() {
        assert!(matches!(PuzzleSpec::by_name("3x4"), Ok(PuzzleSpec::Board(_))));
        assert!(matches!(PuzzleSpec::by_name("0x4"), Err(SourceError::Board(_))));
        assert_eq!(PuzzleSpec::by_name("pancake:8").unwrap().cells(), 8);
        assert!(matches!(PuzzleSpec::by_name("pancakes"), Err(SourceError::Family(_))));
        assert!(matches!(PuzzleSpec::by_name("no/such.toml"), Err(SourceError::File(_))));
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/pancake-5.toml");
        assert_eq!(PuzzleSpec::by_name(example).unwrap().cells(), 5);
    }

    /// The symmetries found for the moves of a board include those known for boards. There are more where
    /// places along lines can be multiplied by a number.
    #[test]
    fn board_symmetries_are_found() {
        for word in ["2x3", "3x3", "2x4", "3x4", "2x5", "4x4", "2x6", "3x5", "2x7", "5x5"] {
            let board: Board = word.parse().unwrap();
            for metric in Metric::ALL {
                let puzzle = board.puzzle(metric);
                let known: HashSet<_> = puzzle.symmetries.into_iter().collect();
                let source = PuzzleSpec::Defined(Box::new(of_board(board, metric).unwrap()));
                let found: HashSet<_> =
                    source.puzzle(Metric::Given).unwrap().symmetries.into_iter().collect();
                assert!(known.is_subset(&found), "{word} {metric}");
                assert_eq!(found.len() == known.len(), puzzle.has_all_symmetries, "{word} {metric}");
            }
        }
    }

    #[test]
    fn a_subset_of_moves_can_be_selected() {
        let board = PuzzleSpec::by_name("2x3").unwrap();
        let some = board.with_moves(Metric::Multi, "V1,H1^2,H1").unwrap();
        assert_eq!((some.name(), some.metric()), ("2x3-V1-H1'-H1".into(), Metric::Given));
        let names: Vec<_> = some.puzzle(Metric::Given).unwrap().moves.into_iter().map(|m| m.name).collect();
        assert_eq!(names, ["V1", "H1'", "H1"]);
        let refused = board.with_moves(Metric::Single, "V4").unwrap_err().to_string();
        assert!(refused.starts_with("unknown move \"V4\""), "{refused}");
    }

    #[test]
    fn missing_inverses_are_detected_with_free_moves() {
        let told = |source: &PuzzleSpec, metric| source.is_one_way(metric).unwrap();
        let free = PuzzleSpec::in_hand("2x2x2").unwrap();
        assert!(told(&free, Metric::Given) && told(&PuzzleSpec::in_hand("dino").unwrap(), Metric::Given));
        assert!(!told(&free, Metric::Single) && !told(&free, Metric::Multi));
        assert!(told(&free.with_moves(Metric::Multi, "U,R").unwrap(), Metric::Given));
        assert!(!told(&free.with_moves(Metric::Multi, "U,R2,U'").unwrap(), Metric::Given));
        // The free move carries the ring's turn to its inverse; before a guarded move it helps only if
        // it fixes the cell of the guard.
        for (guard, free, is_told) in
            [("", "(1,3)", false), ("", "(5,6)", true), ("5", "(1,3)", false), ("5", "(1,3)(5,6)", true)]
        {
            let text = format!(
                "degree = 6\n[moves]\nR = {{ cycles = \"(1,2,3,4)\", guard = [{guard}] }}\n[free]\nx = \"{free}\""
            );
            let ring = crate::load::parse(&text, crate::Format::Toml, "ring").unwrap();
            let ring = PuzzleSpec::Defined(Box::new(ring));
            assert_eq!(told(&ring, Metric::Given), is_told, "{text}");
            let is_closed = ring.puzzle(Metric::Given).unwrap().is_closed_under_inverses();
            assert_eq!(is_closed, !is_told, "{text}");
        }
    }

    #[test]
    fn names_distinguish_spaces() {
        let named = |source: PuzzleSpec, moves| {
            let metric = source.metric();
            source.with_moves(metric, moves).unwrap().name()
        };
        let (held, free) = (PuzzleSpec::by_name("2x2x2").unwrap(), PuzzleSpec::in_hand("2x2x2").unwrap());
        assert_eq!(PuzzleSpec::whole("2x2x2").unwrap(), free);
        assert_ne!(held, free);
        assert_eq!(named(held, "U,R2"), "2x2x2-U-R2");
        assert_eq!(named(free, "U,R2"), "2x2x2-free-U-R2");
        assert_eq!(named(PuzzleSpec::in_hand("dino").unwrap(), "URF"), "dino-free-URF");
        let face = PuzzleSpec::by_name("square1").unwrap();
        let twist = face.clone().in_metric(Metric::Twist).unwrap();
        assert_eq!((named(face, "/"), named(twist, "/")), ("square1-/".into(), "square1-free-/".into()));
    }

    #[test]
    fn family_metrics_are_rejected_elsewhere() {
        let face = PuzzleSpec::by_name("square1").unwrap();
        assert_eq!(face.metric(), Metric::Face);
        let twist = face.clone().in_metric(Metric::Twist).unwrap();
        assert_eq!((twist.name(), twist.metric()), ("square1".into(), Metric::Twist));
        assert_eq!(twist.in_metric(Metric::Face).unwrap(), face);
        let other = Definition::of_degree("square1", 5).unwrap();
        for source in [
            PuzzleSpec::by_name("3x4").unwrap(),
            PuzzleSpec::in_hand("dino").unwrap(),
            PuzzleSpec::Defined(Box::new(other)),
        ] {
            let name = source.name();
            assert_eq!(source.clone().in_metric(Metric::Single).unwrap(), source);
            let refused = source.in_metric(Metric::Twist).unwrap_err().to_string();
            assert_eq!(refused, format!("{name} has no metric 'twist'; only square1 does"));
        }
    }

    #[test]
    fn unsearchable_puzzles_are_rejected() {
        let large = PuzzleSpec::Defined(Box::new(Definition::of_degree("large", 2049).unwrap()));
        assert!(large.check().unwrap_err().to_string().starts_with("large has 2049 cells"));
    }
}
