//! Questions about a puzzle, its group and its states.

use super::OUTPUT;
use super::space::SpaceArguments;
use clap::{Arg, Args, value_parser};
use fathom_command::machine::{self, size};
use fathom_puzzle::Metric;
use std::path::PathBuf;

/// What may stand in the place of a space.
const SPACE_OR_RUN: &str = "The puzzle, as for 'fathom run', or the directory of a run";

/// The argument for a puzzle of a command that takes a run as well. A changed argument becomes the last one,
/// and stands so in manual pages.
fn a_run_too(puzzle: Arg) -> Arg {
    puzzle.index(1).value_name("SPACE|DIR").help(SPACE_OR_RUN).long_help(SPACE_OR_RUN)
}

#[derive(Debug, Args)]
pub(crate) struct PuzzlesArguments {
    /// Print one JSON array instead of a table
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// An element is written in moves, such as "V1*H2^-1" or "(V1 H2)^3", in cycles such as "(1,2,3)(4,5)", or as
/// the state that it leads to, as tiles row by row.
#[derive(Debug, Args)]
pub(crate) struct GroupArguments {
    /// The puzzle: a board as ROWSxCOLUMNS, for example 3x4, a word of a family such as 2x2x2, or a file
    pub(crate) puzzle: String,
    /// Generate with these moves alone: those of the puzzle, their powers, and the spare moves of a file,
    /// for example V1,H2^2
    #[arg(long, value_name = "LIST")]
    pub(crate) moves: Option<String>,
    #[command(flatten)]
    pub(crate) question: GroupQuestion,
    /// Tiles are counted from 1, where they are read and where they are printed
    #[arg(long)]
    pub(crate) from_one: bool,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// What is asked of a group, if not what it is.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct GroupQuestion {
    /// List the strong generating set
    #[arg(long)]
    pub(crate) strong_generators: bool,
    /// Tell cycles and order of an element: moves "V1*H2^-1", cycles "(1,2,3)", or tiles row by row
    #[arg(long, value_name = "ELEMENT")]
    pub(crate) element: Option<String>,
    /// Find a word in the moves that makes a state: tiles row by row, cycles, or other moves
    #[arg(long, value_name = "STATE")]
    pub(crate) factor: Option<String>,
    /// Tell whether moves lead to a state, and why not: exit code 0 if they do, 1 if not
    #[arg(long, value_name = "STATE")]
    pub(crate) contains: Option<String>,
}

/// A shape is written as its number in --list, or as the pieces of its top and bottom layer, 2 for a corner
/// and 1 for an edge, clockwise as one looks at the layer from outside, from the cut in front:
/// 21212121/12121212 is the solved one.
#[derive(Debug, Args)]
pub(crate) struct ShapesArguments {
    /// The puzzle: square1
    pub(crate) puzzle: String,
    /// A shape to tell of, and the shortest way to it
    pub(crate) shape: Option<String>,
    /// Where the way begins [default: the solved shape]
    #[arg(long, value_name = "SHAPE", requires = "shape")]
    pub(crate) from: Option<String>,
    /// What is least on the way: twist (twists) or face (twists and turns of layers together) [default:
    /// twist]
    #[arg(long, requires = "shape")]
    pub(crate) metric: Option<Metric>,
    /// List the shapes up to turns
    #[arg(long, conflicts_with = "shape")]
    pub(crate) list: bool,
    /// Draw the shape and those on the way to it, or all shapes up to turns, into this SVG file
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    /// The puzzle: a word of a family that is turned in the hand, such as 2x2x2, or a file with free moves
    pub(crate) puzzle: String,
    /// The sequence, carried out from left to right, for example "B' R B D D"
    pub(crate) sequence: String,
}

/// A state is written as the number of the tile on each cell, row by row; as cycles of cells such as
/// "(1,2,3)(4,5)", with turns behind them where pieces turn, "(1+1,2+2)"; or as moves that lead to it, with
/// --scramble.
#[derive(Debug, Args)]
#[command(mut_arg("puzzle", a_run_too), mut_arg("state", |argument| argument))]
pub(crate) struct SolveArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    /// The state
    #[arg(index = 2)]
    pub(crate) state: String,
    /// The state is written as moves, such as "V1 H2^-1" or "R U2 F'"
    #[arg(long)]
    pub(crate) scramble: bool,
    /// Tiles are counted from 1, where they are read and where they are printed
    #[arg(long)]
    pub(crate) from_one: bool,
    /// Find all shortest solutions, up to --limit
    #[arg(long)]
    pub(crate) all: bool,
    /// How many solutions of --all to print
    #[arg(long, value_name = "N", requires = "all", default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
    limit: u32,
    /// Memory to take, for example 2GiB [default: nine tenths of what there is]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

impl SolveArguments {
    /// How many solutions are asked for.
    pub(crate) fn most(&self) -> usize {
        if self.all { self.limit as usize } else { 1 }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}

#[derive(Debug, Args)]
#[command(mut_arg("puzzle", a_run_too))]
pub(crate) struct AntipodesArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    /// The depth to list [default: the last]
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<u32>,
    /// Take a state and its inverse for one class
    #[arg(long)]
    pub(crate) up_to_inversion: bool,
    /// How many classes to print
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Memory to take, for example 2GiB [default: nine tenths of what there is]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print one JSON object instead of a table
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

impl AntipodesArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}
