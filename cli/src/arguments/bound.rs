//! The options of bounds on God's number.

use super::OUTPUT;
use clap::{Args, value_parser};
use fathom_command::machine::{self, size};
use fathom_puzzle::{BoardError, Definition, Metric, PuzzleSpec, SourceError};
use fathom_solve::bound::{Boards, BoardsError};
use std::path::Path;
use std::str::FromStr;

/// No board whose ball could be listed is deeper.
const MAX_LETTERS: i64 = 100;

/// A search of two weeks.
const MAX_SECONDS: u64 = 1_209_600;

/// What is bounded.
#[derive(Clone, Debug)]
pub(crate) enum Bounded {
    /// A board, or many.
    Boards(Boards),
    /// Square-1, in the metric in which a turn of one layer is a move.
    SquareOne,
    /// Any other puzzle, with the word or the path that names it.
    Puzzle(String, Box<Definition>),
}

/// An argument that does not name something that can be bounded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BoundedError {
    /// Not a board, a range of boards, or another puzzle.
    #[error(
        "unknown puzzle {0:?}. Pass a board such as 3x4, a range of sides such as 2..8, square1, another puzzle such as 3x3x3, or a file"
    )]
    Unknown(String),
    /// A file that is not a puzzle.
    #[error(transparent)]
    Puzzle(#[from] SourceError),
    /// Boards that do not exist.
    #[error(transparent)]
    Boards(#[from] BoardsError),
}

impl FromStr for Bounded {
    type Err = BoundedError;

    fn from_str(word: &str) -> Result<Self, BoundedError> {
        match word.parse::<Boards>() {
            _ if word == "square1" => Ok(Self::SquareOne),
            Ok(boards) => Ok(Self::Boards(boards)),
            Err(error) => match PuzzleSpec::by_name(word) {
                Ok(PuzzleSpec::Defined(puzzle)) => Ok(Self::Puzzle(word.into(), puzzle)),
                Ok(PuzzleSpec::Board(board)) => Ok(Self::Boards(Boards::One(board))),
                // A path may have two points, as a range has.
                Err(error) if Path::new(word).exists() => Err(error.into()),
                Err(_) if matches!(error, BoardsError::Board(BoardError::NotABoard(_))) => {
                    Err(BoundedError::Unknown(word.into()))
                }
                Err(_) => Err(error.into()),
            },
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct BoundArguments {
    /// A board such as 3x4, all boards with sides from MIN to MAX such as 2..8, square1, another puzzle (see
    /// 'fathom puzzles'; --refine 2 by default), or a file
    #[arg(value_name = "PUZZLE|MIN..MAX")]
    pub(crate) bounded: Bounded,
    /// Also print how many arrangements end with each line, columns first (v_k in the paper)
    #[arg(long, conflicts_with = "upper", help_heading = OUTPUT)]
    pub(crate) by_last_line: bool,
    /// What counts as one move of a board: multi (any rotation of a line) or single (a shift by one cell)
    /// [default: multi]
    #[arg(long)]
    pub(crate) metric: Option<Metric>,
    /// Get a better lower bound by enumerating all states within this many moves and not counting
    /// sequences known to be redundant; larger values take more memory
    #[arg(long, value_name = "DEPTH", value_parser = value_parser!(u32).range(1..=MAX_LETTERS))]
    pub(crate) refine: Option<u32>,
    /// Prove an upper bound, by solving every state in stages; without --chain,
    /// good stages are searched for
    #[arg(long, conflicts_with = "refine")]
    pub(crate) upper: bool,
    /// Stages to use with --upper: the tiles that are solved after each, for example "0-3;0-7;0-15"
    #[arg(long, value_name = "LIST;LIST;...", requires = "upper")]
    pub(crate) chain: Option<String>,
    /// Time limit for the search for stages, in seconds; the cheapest stages are always tried
    #[arg(long, value_name = "SECONDS", requires = "upper", conflicts_with = "chain", default_value_t = 60, value_parser = value_parser!(u64).range(1..=MAX_SECONDS))]
    pub(crate) time: u64,
    /// Length of the move sequences that are combined to solve a stage; larger values give better bounds but take more memory
    #[arg(long, value_name = "MOVES", requires = "upper", default_value_t = 4, value_parser = value_parser!(u32).range(1..=MAX_LETTERS))]
    pub(crate) radius: u32,
    /// Memory for the states within --refine or --radius moves, for example 8GiB [default: 90 % of the
    /// available memory]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print JSON: an object for a board, an array for a range; with --upper a certificate for 'verify'
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

impl BoundArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}
