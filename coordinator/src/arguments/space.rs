//! Which space.

use anyhow::Result;
use clap::Args;
use fathom_command::bad_input;
use fathom_puzzle::{Metric, Source, SourceError};
use fathom_run::definition::{DEFINITION, Question};
use fathom_space::Labels;
use std::path::Path;

/// Which space.
#[derive(Debug, Args)]
pub(crate) struct SpaceArguments {
    /// The puzzle: a board as ROWSxCOLUMNS, for example 3x4, a word of a family such as pancake:8 ('fathom puzzles' lists them), or a
    /// file
    #[arg(value_name = "SPACE")]
    puzzle: String,
    /// What costs one move: multi (any rotation of a line, or power of a listed move), single (a shift by one cell, or a listed
    /// move or its inverse) or given (the listed moves alone); of square1 face (a turn of one layer, or a twist) or twist (a twist
    /// alone) [default: multi for boards and cubes, face for square1, given for others]
    #[arg(long)]
    metric: Option<Metric>,
    /// Use these moves alone, of those of the metric, for example V1,H2^-1
    #[arg(long, value_name = "LIST")]
    moves: Option<String>,
    /// Turning the whole puzzle in the hand costs nothing: for 2x2x2, 3x3x3-corners, 3x3x3-edges and dino. 2x2x2 is in the hand unless
    /// moves, tiles or labels are chosen, which are those of the cube that is held at a corner
    #[arg(long)]
    free_rotations: bool,
    /// Tell only these tiles apart, numbered from 0 row by row, for example 0-3,8; all others are alike
    #[arg(long, value_name = "LIST", conflicts_with = "labels")]
    track: Option<String>,
    /// A label for each tile, row by row, for example 0,0,1,1; tiles with one label are alike
    #[arg(long, value_name = "LIST")]
    labels: Option<String>,
}

impl SpaceArguments {
    /// The run directory that stands in the place of a space, if one does.
    pub(crate) fn directory(&self) -> Result<Option<&Path>> {
        let path = Path::new(&self.puzzle);
        let is_run =
            path.join(DEFINITION).exists() || path.is_dir() && Source::of_word(&self.puzzle).is_err();
        let chosen = [
            ("--metric", self.metric.is_some()),
            ("--moves", self.moves.is_some()),
            ("--free-rotations", self.free_rotations),
            ("--track", self.track.is_some()),
            ("--labels", self.labels.is_some()),
        ];
        match chosen.into_iter().find(|(_, chosen)| is_run && *chosen) {
            Some((option, _)) => {
                Err(bad_input!("the run in {} says all that {option} would: leave it out", path.display()))
            }
            None => Ok(is_run.then_some(path)),
        }
    }

    /// The puzzle with all its moves.
    fn whole(&self) -> Result<Source> {
        let names_parts = self.moves.is_some() || self.track.is_some() || self.labels.is_some();
        let (option, found) = match self.free_rotations {
            true => ("--free-rotations: ", Source::in_hand(&self.puzzle)),
            // Names of moves, and numbers of tiles, are those of what the word names by itself.
            false if names_parts => ("", Source::of_word(&self.puzzle)),
            false => ("", Source::whole(&self.puzzle)),
        };
        found.map_err(|error| bad_input!("{option}{error}"))
    }

    pub(crate) fn question(&self) -> Result<Question> {
        let refused = |error: SourceError| bad_input!("{error}");
        let whole = self.whole()?;
        let metric = self.metric.unwrap_or(whole.metric());
        let whole = whole.in_metric(metric).map_err(refused)?;
        let (source, metric) = match &self.moves {
            None => (whole, metric),
            Some(names) => (whole.with_moves(metric, names).map_err(refused)?, Metric::Given),
        };
        // Before labels, for it tells how many pieces there can be.
        source.check().map_err(refused)?;
        let tiles = source.cells();
        let labels = match (&self.track, &self.labels) {
            (Some(list), _) => Labels::parse_tracked(list, tiles),
            (_, Some(list)) => Labels::parse_list(list, tiles),
            _ => Ok(Labels::from_values(source.solved())),
        };
        let option = if self.track.is_some() { "--track" } else { "--labels" };
        let labels = labels.map_err(|error| bad_input!("{option}: {error}"))?;
        Ok(Question { source, metric, labels })
    }
}
