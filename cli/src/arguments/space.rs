//! The options that choose a space.

use super::ADVANCED;
use anyhow::Result;
use clap::Args;
use fathom_algebra::OrientedPermutation;
use fathom_begin::SpaceChoice;
use fathom_command::{bad_input, output};
use fathom_engine::run::{DEFINITION, SpaceSpec};
use fathom_puzzle::{Metric, PuzzleSpec, Starts, one_way_note, state_text};
use fathom_report::text::many;
use fathom_solve::SolveModel;
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

    /// Returns the choice of a space with the moves of a list, or with all.
    fn choice<'a>(&'a self, moves: Option<&'a str>) -> SpaceChoice<'a> {
        SpaceChoice {
            puzzle: &self.puzzle,
            metric: self.metric,
            moves,
            free_rotations: self.free_rotations,
            // With `--moves`, the space with all moves has the same cells.
            names_parts: self.moves.is_some(),
            track: self.track.as_deref(),
            labels: self.labels.as_deref(),
            labelled: self.labelled,
            omit: &self.omit,
            ignore_orientation: &self.ignore_orientation,
        }
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
        let choice = self.choice(moves);
        let whole = choice.whole()?;
        let by = self.solved_by.as_deref().map(|names| {
            let (whole, metric) = choice.in_metric(whole.clone())?;
            starts_by(&whole, metric, names)
        });
        let by = by.transpose()?;
        let spec = choice.of(whole)?;
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
