//! A space by the name of a puzzle and by the options of a command.

use anyhow::Result;
use fathom_command::{bad_input, shell};
use fathom_engine::run::{DEFINITION, SpaceSpec};
use fathom_puzzle::{Metric, PuzzleSpec, SourceError};
use fathom_space::Labels;
use std::borrow::Cow;
use std::path::Path;

/// The choice of a space. The texts are those of the options of `fathom run`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpaceChoice<'a> {
    /// The name of a puzzle, or its file.
    pub puzzle: &'a str,
    /// The metric; `None` for that of the puzzle.
    pub metric: Option<Metric>,
    /// The names of the moves that are used; `None` for all.
    pub moves: Option<&'a str>,
    /// Whether rotations of the whole puzzle cost nothing.
    pub free_rotations: bool,
    /// Whether other options name moves or cells of the puzzle without free rotations.
    pub names_parts: bool,
    /// The pieces that are distinguished.
    pub track: Option<&'a str>,
    /// The label of each piece.
    pub labels: Option<&'a str>,
    /// Whether all pieces are distinguished, even those that look alike in the file.
    pub labelled: bool,
    /// The orbits that are omitted.
    pub omit: &'a [String],
    /// The orbits whose orientations are ignored.
    pub ignore_orientation: &'a [String],
}

impl SpaceChoice<'_> {
    /// Returns the puzzle with all its moves.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn whole(&self) -> Result<PuzzleSpec> {
        let names_parts =
            self.names_parts || self.moves.is_some() || self.track.is_some() || self.labels.is_some();
        let (option, found) = match self.free_rotations {
            true => ("--free-rotations: ", PuzzleSpec::in_hand(self.puzzle)),
            // Names of moves and numbers of tiles are those of the puzzle without free rotations.
            false if names_parts => ("", PuzzleSpec::by_name(self.puzzle)),
            false => ("", PuzzleSpec::whole(self.puzzle)),
        };
        let reduced = |source: PuzzleSpec| {
            let source = if self.labelled { source.with_distinct_pieces()? } else { source };
            source.reduced(self.omit, self.ignore_orientation)
        };
        let source = found.map_err(|error| match Path::new(self.puzzle) {
            path if path.is_dir() && path.join(DEFINITION).exists() => bad_input!(
                "{} is a run directory, not a puzzle. To continue the run: fathom resume {}",
                path.display(),
                shell::path(path)
            ),
            path if path.is_dir() => {
                bad_input!("{} is a directory without a run. Pass a puzzle or a puzzle file", path.display())
            }
            _ => bad_input!("{option}{error}"),
        })?;
        reduced(source).map_err(|error| bad_input!("{error}"))
    }

    /// Returns the puzzle in the chosen metric, and the metric.
    ///
    /// # Errors
    /// If the puzzle does not have the metric.
    pub fn in_metric(&self, whole: PuzzleSpec) -> Result<(PuzzleSpec, Metric)> {
        let metric = self.metric.unwrap_or(whole.metric());
        let whole = whole.in_metric(metric).map_err(|error| bad_input!("{error}"))?;
        // Where states are limited, the moves are exactly those that the puzzle lists for the metric.
        let metric = if whole.name().starts_with("sliding:") { whole.metric() } else { metric };
        Ok((whole, metric))
    }

    /// Returns the space of a puzzle, whose cells are those of [`SpaceChoice::puzzle`].
    ///
    /// # Errors
    /// If the metric, the moves or the labels do not fit the puzzle.
    pub fn of(&self, whole: PuzzleSpec) -> Result<SpaceSpec> {
        let refused = |error: SourceError| bad_input!("{error}");
        let (whole, metric) = self.in_metric(whole)?;
        let (mut source, metric) = match self.moves {
            None => (whole, metric),
            Some(names) => (whole.with_moves(metric, names).map_err(refused)?, Metric::Given),
        };
        let tiles = source.cells();
        let track = self.track.map(|list| self.tracked(list, tiles)).transpose()?;
        let labels = match (&track, self.labels) {
            (Some(list), _) => Labels::parse_tracked(list, tiles),
            (_, Some(list)) => Labels::parse_list(&numbered(list), tiles),
            _ => Ok(Labels::from_values(source.solved())),
        };
        let option = if self.track.is_some() { "--track" } else { "--labels" };
        let labels = labels.map_err(|error| bad_input!("{option}: {error}"))?;
        source.check_labels(labels.of_pieces()).map_err(|error| bad_input!("{option}: {error}"))?;
        if let Some(list) = &track {
            let hidden: Vec<bool> =
                Labels::tracked(list, tiles)?.into_iter().map(|tracked| !tracked).collect();
            source = source.without_orientations(&hidden).map_err(|error| bad_input!("{option}: {error}"))?;
        }
        source.remark_on_labels(labels.of_pieces(), self.track.is_none() && self.labels.is_none());
        Ok(SpaceSpec { source, metric, labels })
    }

    /// Returns a list of pieces by their numbers. The faces in the name of a piece may be in any order.
    fn tracked(&self, list: &str, cells: usize) -> Result<String> {
        let letters = |name: &str| {
            let mut letters: Vec<char> = name.chars().collect();
            letters.sort_unstable();
            letters
        };
        let names = PuzzleSpec::piece_names(self.puzzle).filter(|names| names.len() == cells);
        let number = |entry: &str| match &names {
            Some(names) if entry.trim().starts_with(|c: char| c.is_ascii_alphabetic()) => {
                let wanted = letters(entry.trim());
                let found = names.iter().position(|name| letters(name) == wanted);
                let unknown = || {
                    bad_input!(
                        "--track: unknown piece {:?}. 'fathom pieces {}' lists the pieces",
                        entry.trim(),
                        self.puzzle
                    )
                };
                Ok(found.ok_or_else(unknown)?.to_string())
            }
            _ => Ok(entry.to_owned()),
        };
        Ok(list.split(',').map(number).collect::<Result<Vec<_>>>()?.join(","))
    }
}

/// Returns labels that are words, such as `A;A;B;B`, as numbers. Other labels are returned as they are.
fn numbered(labels: &str) -> Cow<'_, str> {
    let words: Vec<&str> = labels.split([',', ';']).map(str::trim).collect();
    if !words.iter().all(|word| word.starts_with(|c: char| c.is_ascii_alphabetic())) {
        return labels.into();
    }
    let number =
        |word: &&str| words.iter().position(|other| other == word).expect("it is one of them").to_string();
    words.iter().map(number).collect::<Vec<_>>().join(",").into()
}
