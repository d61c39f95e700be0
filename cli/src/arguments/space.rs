//! The options that choose a space.

use super::ADVANCED;
use anyhow::Result;
use clap::Args;
use fathom_algebra::OrientedPermutation;
use fathom_command::{bad_input, output, shell};
use fathom_engine::run::{DEFINITION, SpaceSpec};
use fathom_puzzle::{Metric, PuzzleSpec, SourceError, Starts, one_way_note, state_text};
use fathom_report::text::many;
use fathom_solve::SolveModel;
use fathom_space::Labels;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The options that choose a space.
#[derive(Debug, Args)]
pub(crate) struct SpaceArguments {
    /// A board such as 3x4, a puzzle such as pancake:8 (see 'fathom puzzles'), or a file
    ///
    /// A board is written as ROWSxCOLUMNS. 'fathom puzzles' lists the built-in puzzles.
    #[arg(value_name = "PUZZLE")]
    puzzle: String,
    /// What counts as one move: multi, single or given; for square1 face or twist [default: depends on the
    /// puzzle]
    ///
    /// multi: any rotation of a line, or any power of a listed move (half-turn metric of cubes, also "htm").
    /// single: a shift by one cell, or a listed move or its inverse (quarter-turn metric, also "qtm").
    /// given: only the listed moves. For square1, face counts turns of a layer and twists, and twist counts
    /// only twists. The default is multi for boards, twisty puzzles, and files of twsearch, ksolve and
    /// cubing.js; face for square1; given for everything else.
    #[arg(long, value_name = "M")]
    metric: Option<Metric>,
    /// Use only these moves, for example V1,H2^-1
    #[arg(long, value_name = "LIST")]
    moves: Option<String>,
    /// Rotations of the whole puzzle cost nothing
    ///
    /// Only for 2x2x2, 3x3x3-corners, 3x3x3-edges and dino. The default for 2x2x2, except with --moves,
    /// --track or
    /// --labels, which refer to the cube with one corner fixed.
    #[arg(long, hide_short_help = true, help_heading = ADVANCED)]
    free_rotations: bool,
    /// Distinguish only these tiles or pieces, for example 0-3,8 or DF,DR; the others are alike (alias:
    /// --only)
    ///
    /// Tiles are numbered from 0, row by row. 'fathom pieces' lists the numbers and names of pieces.
    /// Orientations of the other pieces are ignored.
    #[arg(long, alias = "only", value_name = "LIST", conflicts_with = "labels")]
    track: Option<String>,
    /// A label for each tile, row by row, for example 0,0,1,1 or A;A;B;B; tiles with the same label are alike
    #[arg(long, value_name = "LIST")]
    pub(crate) labels: Option<String>,
    /// Distinguish all pieces, even those that look alike in the file
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, conflicts_with_all = ["track", "labels"])]
    labelled: bool,
    /// Count distances from the states in a file, one a line
    ///
    /// States are written as for 'fathom solve'. With '-' they are read from standard input. Such a space is
    /// searched by lists of states.
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_name = "FILE")]
    solved: Option<PathBuf>,
    /// Count distances from all states that these moves reach from the solved one, for example U,D,R2
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_name = "LIST")]
    solved_by: Option<String>,
    /// Omit the pieces of an orbit
    ///
    /// twsearch calls an orbit a set. May be repeated.
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_name = "ORBIT")]
    omit: Vec<String>,
    /// Ignore the orientations of the pieces of an orbit
    ///
    /// May be repeated.
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_name = "ORBIT")]
    ignore_orientation: Vec<String>,
}

impl SpaceArguments {
    /// Returns the run directory that is given instead of a puzzle, if one is.
    pub(crate) fn directory(&self) -> Result<Option<&Path>> {
        let path = Path::new(&self.puzzle);
        let is_run =
            path.join(DEFINITION).exists() || path.is_dir() && PuzzleSpec::by_name(&self.puzzle).is_err();
        let chosen = [
            ("--metric", self.metric.is_some()),
            ("--moves", self.moves.is_some()),
            ("--free-rotations", self.free_rotations),
            ("--track", self.track.is_some()),
            ("--labels", self.labels.is_some()),
            ("--labelled", self.labelled),
            ("--solved", self.solved.is_some()),
            ("--solved-by", self.solved_by.is_some()),
            ("--omit", !self.omit.is_empty()),
            ("--ignore-orientation", !self.ignore_orientation.is_empty()),
        ];
        match chosen.into_iter().find(|(_, chosen)| is_run && *chosen) {
            Some((option, _)) => Err(bad_input!(
                "{option} cannot be used with the existing run {}, which determines it",
                path.display()
            )),
            None => Ok(is_run.then_some(path)),
        }
    }

    /// The puzzle with all its moves.
    fn whole(&self) -> Result<PuzzleSpec> {
        let names_parts = self.moves.is_some() || self.track.is_some() || self.labels.is_some();
        let (option, found) = match self.free_rotations {
            true => ("--free-rotations: ", PuzzleSpec::in_hand(&self.puzzle)),
            // Names of moves and numbers of tiles are those of the puzzle without free rotations.
            false if names_parts => ("", PuzzleSpec::by_name(&self.puzzle)),
            false => ("", PuzzleSpec::whole(&self.puzzle)),
        };
        let reduced = |source: PuzzleSpec| {
            let source = if self.labelled { source.with_distinct_pieces()? } else { source };
            source.reduced(&self.omit, &self.ignore_orientation)
        };
        let source = found.map_err(|error| match Path::new(&self.puzzle) {
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

    /// Returns a list of pieces by their numbers. The faces in the name of a piece may be in any order.
    fn tracked(&self, list: &str, cells: usize) -> Result<String> {
        let letters = |name: &str| {
            let mut letters: Vec<char> = name.chars().collect();
            letters.sort_unstable();
            letters
        };
        let names = PuzzleSpec::piece_names(&self.puzzle).filter(|names| names.len() == cells);
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

    /// Returns the space, and prints remarks on how the puzzle was read.
    pub(crate) fn spec(&self) -> Result<SpaceSpec> {
        let spec = self.with_moves(self.moves.as_deref())?;
        spec.source.remarks().iter().for_each(|remark| output::remark(remark));
        if spec.source.is_one_way(spec.metric).map_err(|error| bad_input!("{error}"))? {
            output::warning(&one_way_note());
        }
        Ok(spec)
    }

    /// Returns the space with all moves of the puzzle; `None` if they are not limited by `--moves`.
    pub(crate) fn with_all_moves(&self) -> Result<Option<SpaceSpec>> {
        self.moves.is_some().then(|| self.with_moves(None)).transpose()
    }

    /// Returns the space with the moves of a list, or with all.
    fn with_moves(&self, moves: Option<&str>) -> Result<SpaceSpec> {
        let refused = |error: SourceError| bad_input!("{error}");
        let whole = self.whole()?;
        let metric = self.metric.unwrap_or(whole.metric());
        let whole = whole.in_metric(metric).map_err(refused)?;
        // Where states are limited, the moves are exactly those that the puzzle lists for the metric.
        let metric = if whole.name().starts_with("sliding:") { whole.metric() } else { metric };
        let by = self.solved_by.as_deref().map(|names| starts_by(&whole, metric, names)).transpose()?;
        let (mut source, metric) = match moves {
            None => (whole, metric),
            Some(names) => (whole.with_moves(metric, names).map_err(refused)?, Metric::Given),
        };
        let tiles = source.cells();
        let track = self.track.as_ref().map(|list| self.tracked(list, tiles)).transpose()?;
        let labels = match (&track, &self.labels) {
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
        let spec = SpaceSpec { source, metric, labels };
        match (&self.solved, by) {
            (None, None) => Ok(spec),
            (file, by) => self.with_starts(spec, file.as_deref(), by),
        }
    }

    /// Returns a space with distances from the states of a file, or from the solved state if there is none, and from
    /// those to which moves lead from them.
    fn with_starts(
        &self,
        spec: SpaceSpec,
        file: Option<&Path>,
        by: Option<(String, Box<[OrientedPermutation]>)>,
    ) -> Result<SpaceSpec> {
        let states: Box<[OrientedPermutation]> = match file {
            Some(file) => states(file, &spec, self.labels.as_deref())?.into(),
            None => Box::default(),
        };
        let count = (!states.is_empty()).then(|| many(states.len() as u64, "start").replace(' ', "-"));
        let (names, by) = by.map_or((None, Box::default()), |(names, by)| (Some(names), by));
        let suffix: Vec<String> = count.into_iter().chain(names).collect();
        let starts = Starts { states, by };
        let source = spec.source.with_starts(spec.metric, starts, &suffix.join("-"));
        let source = source.map_err(|error| bad_input!("{error}"))?;
        let metric = if matches!(spec.source, PuzzleSpec::Board(_)) { Metric::Given } else { spec.metric };
        Ok(SpaceSpec { source, metric, ..spec })
    }
}

/// Returns the moves that lead from starts to starts, and a name for them.
fn starts_by(
    whole: &PuzzleSpec,
    metric: Metric,
    names: &str,
) -> Result<(String, Box<[OrientedPermutation]>)> {
    let definition = whole.definition(metric).map_err(|error| bad_input!("{error}"))?;
    let moves = definition.select(definition.metric(), names);
    let moves = moves.map_err(|error| bad_input!("--solved-by: {error}"))?;
    if let Some(guarded) = moves.iter().find(|generator| !generator.guard.is_empty()) {
        return Err(bad_input!(
            "--solved-by: the move {} is not always possible. List the states with --solved",
            guarded.name
        ));
    }
    let words: Vec<&str> = moves.iter().map(|generator| generator.name.as_str()).collect();
    let name = format!("solved-by-{}", words.join("-"));
    Ok((name, moves.into_iter().map(|generator| generator.action).collect()))
}

/// Reads the states in a file, one a line. Empty lines and text after a `#` are ignored.
fn states(file: &Path, spec: &SpaceSpec, labels: Option<&str>) -> Result<Vec<OrientedPermutation>> {
    let text = match file == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let text = text.map_err(|error| bad_input!("--solved: cannot read {}: {error}", file.display()))?;
    let model = SolveModel::new(spec).map_err(|error| bad_input!("--solved: {error}"))?;
    let mut states = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let plain = state_text::plain(line, &spec.source, labels);
        let state = plain.and_then(|text| model.read(&text, false).map_err(|error| error.to_string()));
        let wrong = |error| bad_input!("--solved: {}, line {number}: {error}", file.display());
        states.push(state.map_err(wrong)?);
    }
    match states.is_empty() {
        true => Err(bad_input!("--solved: {} has no states", file.display())),
        false => Ok(states),
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
