//! Questions about a puzzle, its group and its states.

use super::OUTPUT;
use super::space::SpaceArguments;
use clap::{Arg, Args, ValueEnum, value_parser};
use fathom_command::machine::{self, size};
use fathom_puzzle::Metric;
use std::path::PathBuf;

/// The help of an argument that is a puzzle or a run.
const PUZZLE_OR_RUN: &str = "The puzzle, as for 'fathom run', or the directory of a run";

/// The argument of a command that takes a puzzle or a run. A changed argument would become the last one, also
/// in manual pages, without its index.
fn a_run_too(puzzle: Arg) -> Arg {
    puzzle.index(1).value_name("PUZZLE|DIR").help(PUZZLE_OR_RUN).long_help(PUZZLE_OR_RUN)
}

#[derive(Debug, Args)]
pub(crate) struct PuzzlesArguments {
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PiecesArguments {
    /// A board such as 3x4, a puzzle such as 3x3x3 (see 'fathom puzzles'), or a file
    pub(crate) puzzle: String,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// The format of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DefinitionFormat {
    /// Fathom's own format, which holds everything
    Toml,
    /// A program in GAP
    Gap,
    /// The images of points, counted from 0, by the name of the move, for SymPy, Sage and CayleyPy
    Json,
    /// A file of ksolve or twsearch
    Tws,
    /// A definition of cubing.js, in JSON
    Kpuzzle,
}

#[derive(Debug, Args)]
pub(crate) struct DefinitionArguments {
    /// A board such as 3x4, a puzzle such as 3x3x3 (see 'fathom puzzles'), or a file
    pub(crate) puzzle: String,
    /// Format
    #[arg(long, short, value_enum, default_value = "toml")]
    pub(crate) format: DefinitionFormat,
}

/// A symmetry renames cells, and for puzzles whose pieces turn also orientations: x on a cell becomes factor x + turn on its
/// image. It maps the set of moves to itself. Those that labels do not respect are not used by a run.
#[derive(Debug, Args)]
pub(crate) struct SymmetriesArguments {
    /// A board such as 3x4, a puzzle such as 3x3x3 (see 'fathom puzzles'), or a file
    pub(crate) puzzle: String,
    /// What counts as one move, as for 'fathom run' [default: depends on the puzzle]
    #[arg(long, value_name = "M")]
    pub(crate) metric: Option<Metric>,
    /// Print JSON; cells are counted from 0
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// An element is written in moves, such as "V1*H2^-1" or "(V1 H2)^3", in cycles such as "(1,2,3)(4,5)", or as
/// the state to which it leads, as tiles row by row.
#[derive(Debug, Args)]
pub(crate) struct GroupArguments {
    /// A board such as 3x4, a puzzle such as 2x2x2 (see 'fathom puzzles'), or a file
    pub(crate) puzzle: String,
    /// Use only these generators, for example V1,H2^2: moves of the puzzle, their powers, and the derived
    /// moves of a file
    #[arg(long, value_name = "LIST")]
    pub(crate) moves: Option<String>,
    #[command(flatten)]
    pub(crate) question: GroupQuestion,
    /// Number tiles from 1, in input and output
    #[arg(long)]
    pub(crate) from_one: bool,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// A question about a group; none prints the structure of the group.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct GroupQuestion {
    /// List the strong generating set
    #[arg(long)]
    pub(crate) strong_generators: bool,
    /// Print the cycles and order of an element, given as moves "V1*H2^-1", cycles "(1,2,3)", or tiles row by
    /// row
    #[arg(long, value_name = "ELEMENT")]
    pub(crate) element: Option<String>,
    /// Write a state as a product of moves; the state is given as tiles row by row, cycles or moves
    #[arg(long, value_name = "STATE")]
    pub(crate) factor: Option<String>,
    /// Test whether a state is reachable, and if not, say why; exits with 0 if it is, 1 if not
    #[arg(long, value_name = "STATE")]
    pub(crate) contains: Option<String>,
}

/// A shape is written as its number in --list, or as the pieces of its top and bottom layer, 2 for a corner
/// and 1 for an edge, clockwise as seen from outside, from the cut in front: 21212121/12121212 is the solved
/// shape.
#[derive(Debug, Args)]
pub(crate) struct ShapesArguments {
    /// The puzzle: square1
    pub(crate) puzzle: String,
    /// Shape to describe, with a shortest path to it
    pub(crate) shape: Option<String>,
    /// Start of the path [default: the solved shape]
    #[arg(long, value_name = "SHAPE", requires = "shape")]
    pub(crate) from: Option<String>,
    /// What the path minimises: twist (twists) or face (twists and turns of layers) [default: twist]
    #[arg(long, requires = "shape")]
    pub(crate) metric: Option<Metric>,
    /// List the shapes up to turns
    #[arg(long, conflicts_with = "shape")]
    pub(crate) list: bool,
    /// SVG file for drawings of the shape and the path to it, or of all shapes up to turns
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    /// A puzzle with free rotations, such as 2x2x2, or a file with free moves
    pub(crate) puzzle: String,
    /// Sequence of moves, applied from left to right, for example "B' R B D D"
    pub(crate) sequence: String,
}

/// A state is written as the number of the tile on each cell, row by row; as the labels of --labels; as a
/// signed permutation such as "-3 1 -2"; as the 54 facelets of Rubik's cube; as cycles of cells such as
/// "(1,2,3)(4,5)", with twists as in "(1+1,2+2)" if pieces have orientations; or with --scramble as moves
/// that lead to it.
#[derive(Debug, Args)]
#[command(mut_arg("puzzle", a_run_too), mut_arg("state", |argument| argument))]
pub(crate) struct SolveArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    /// The state; --from STATE is the same
    #[arg(index = 2, allow_hyphen_values = true, required_unless_present_any = ["from", "to", "states"])]
    pub(crate) state: Option<String>,
    /// State from which the solution leads [default: the solved state]
    #[arg(long, value_name = "STATE", allow_hyphen_values = true, conflicts_with = "state")]
    pub(crate) from: Option<String>,
    /// State to which the solution leads [default: the solved state]
    #[arg(long, value_name = "STATE", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// File of states, one a line, or - for standard input; prints a line for each: the distance and the solution, with a
    /// tab between them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["state", "from", "count"], allow_hyphen_values = true)]
    pub(crate) states: Option<String>,
    /// States are given as sequences of moves that lead to them from solved, such as "V1 H2^-1" or "R U2 F'"
    #[arg(long)]
    pub(crate) scramble: bool,
    /// Number tiles from 1, in input and output
    #[arg(long)]
    pub(crate) from_one: bool,
    /// Find all shortest solutions, up to --limit
    #[arg(long)]
    pub(crate) all: bool,
    /// Table of lower bounds, made by 'fathom table' of the same puzzle, perhaps with fewer labels; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["all", "count"])]
    pub(crate) table: Vec<PathBuf>,
    /// Also print the number of all shortest solutions, those that --all would list
    #[arg(long)]
    pub(crate) count: bool,
    /// Maximum number of solutions to print with --all
    #[arg(long, value_name = "N", requires = "all", default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
    limit: u32,
    /// Memory limit, for example 2GiB [default: 90 % of the available memory]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

impl SolveArguments {
    /// Returns the maximum number of solutions.
    pub(crate) fn most(&self) -> usize {
        if self.all { self.limit as usize } else { 1 }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}

/// Each line is a state, as for 'fathom solve', or moves that lead to it. The answer to a line is written as soon as
/// no other line has arrived, so that another program may ask and wait. The run must have all its layers (--keep all).
#[derive(Debug, Args)]
pub(crate) struct DistanceArguments {
    /// Directory of a run, or a table of 'fathom table'
    #[arg(value_name = "DIR|FILE")]
    pub(crate) dir: PathBuf,
    /// File of states, one a line [default: standard input, as -]
    pub(crate) file: Option<String>,
    /// All lines are moves
    #[arg(long)]
    pub(crate) scramble: bool,
    /// Number tiles from 1
    #[arg(long)]
    pub(crate) from_one: bool,
    /// Memory limit, for example 2GiB [default: 90 % of the available memory]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print a JSON object for each line; a line that is no state has an "error" and ends nothing
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

impl DistanceArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}

/// The form of exported states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// An array of NumPy: a row for each state, of the label on each cell; if pieces turn, two rows, the second of turns
    Npy,
    /// A JSON object a line
    Jsonl,
    /// A line a state, as 'fathom solve' and 'fathom distance' read it; with --edges a line an edge: from, to, move
    Text,
    /// With --edges: GraphML, with states and distances
    Graphml,
}

/// States of a depth come in the order of the run's files, which depends on its plan alone; with their images under
/// symmetries, so that all are there. Edges need all layers (--keep all), and number states from 0, by depth.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct ExportArguments {
    /// Directory of a run
    pub(crate) dir: PathBuf,
    /// Depth whose states to export
    #[arg(long, value_name = "D", required_unless_present = "edges")]
    pub(crate) depth: Option<u32>,
    /// Export the edges of the graph of all states instead
    #[arg(long, conflicts_with_all = ["depth", "representatives", "limit"])]
    pub(crate) edges: bool,
    /// Export one state of each class up to symmetry
    #[arg(long)]
    pub(crate) representatives: bool,
    /// Maximum number of states
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Export N states that are drawn at random, each one at most once
    #[arg(long, value_name = "N", conflicts_with_all = ["limit", "representatives", "edges"], value_parser = value_parser!(u64).range(1..))]
    pub(crate) sample: Option<u64>,
    /// Seed of the random states
    #[arg(long, value_name = "N", requires = "sample", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Form of the states or edges
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ExportFormat,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE", required_if_eq("format", "npy"))]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Memory limit, for example 2GiB [default: 90 % of the available memory]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
}

impl ExportArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}

/// The run must be complete and have all its layers (--keep all). 'fathom solve --table', 'fathom distance' and programs
/// of others read the file, which docs/tables.md describes.
#[derive(Debug, Args)]
pub(crate) struct TableArguments {
    /// Directory of a run
    pub(crate) dir: PathBuf,
    /// File to write
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Memory limit, for example 2GiB [default: 90 % of the available memory]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
}

impl TableArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}

#[derive(Debug, Args)]
#[command(mut_arg("puzzle", a_run_too))]
pub(crate) struct AntipodesArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    /// Depth to list [default: the last]
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<u32>,
    /// Count a state and its inverse as one class
    #[arg(long)]
    pub(crate) up_to_inversion: bool,
    /// Maximum number of classes to print
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Memory limit, for example 2GiB [default: 90 % of the available memory]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

impl AntipodesArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}

/// A generator is a sequence of moves, such as "R2" or "V1 H1^-1". A phase uses all moves of the puzzle that are
/// in its group.
#[derive(Debug, Args)]
pub(crate) struct PhasesArguments {
    /// A board such as 3x4, a puzzle such as 3x3x3 (see 'fathom puzzles'), or a file
    pub(crate) puzzle: String,
    /// The subgroups in which the phases end, each by its generators, for example "U,D,R2,L2,F2,B2"; the last
    /// phase ends in the solved state
    #[arg(long, value_name = "LIST;LIST;...")]
    pub(crate) chain: String,
    /// What counts as one move, as for 'fathom run' [default: depends on the puzzle]
    #[arg(long, value_name = "M")]
    pub(crate) metric: Option<Metric>,
    /// Memory limit, for example 2GiB [default: 90 % of the available memory]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

impl PhasesArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}
