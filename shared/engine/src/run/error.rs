//! The reasons why a run cannot be planned, read or worked on.

use crate::run::{DEFINITION, FORMAT};
use bytesize::ByteSize;
use fathom_puzzle::{BoardError, LoadError, SourceError};
use fathom_space::{ColouringError, CosetError, EncodingError, NoInverses, SpaceError};
use std::error::Error;
use std::io;
use std::path::PathBuf;

/// The reason why a run cannot be planned, read or worked on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The puzzle cannot be built from its description.
    #[error(transparent)]
    Puzzle(#[from] SourceError),
    /// The puzzle's states cannot be counted or labelled.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// More shards were asked for than there are cosets.
    #[error(
        "{space} has {cosets} representative cosets and cannot be split into {asked} shards: use at most {cosets}"
    )]
    TooManyShards {
        /// The space.
        space: String,
        /// The number of its representative cosets.
        cosets: u64,
        /// The number of shards asked for.
        asked: u32,
    },
    /// Classes up to inversion were asked for, but states have no inverses.
    #[error("cannot count classes of {space} up to inversion: {reason}. Drop --inverse-classes")]
    NoInverses {
        /// The space.
        space: String,
        /// Why there are no inverses.
        reason: NoInverses,
    },
    /// Fewer layers were to be kept than the search reads.
    #[error(
        "the moves are not closed under inverses, so each layer is computed from all earlier ones and all must be kept. Drop --keep"
    )]
    AllLayersNeeded,
    /// The memory budget does not suffice.
    #[error(
        "{space} needs {:.2} of memory, but only {:.2} may be used. Raise --memory, use fewer threads, choose a smaller board, or shrink the space with --track or --labels",
        ByteSize(*needed), ByteSize(*allowed)
    )]
    Memory {
        /// The space.
        space: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes that may be taken.
        allowed: u64,
    },
    /// A directory is not the directory of a run.
    #[error(
        "{} is not a run directory{}. Pass a run's directory, or start one: fathom run PUZZLE",
        path.display(),
        if *is_there { format!(" (no {DEFINITION})") } else { " (no such file or directory)".into() }
    )]
    NoRun {
        /// The directory.
        path: PathBuf,
        /// Whether something has this name.
        is_there: bool,
    },
    /// Another process holds the lock of a run.
    #[error(
        "another process is working on this run (it holds {}): wait for it or stop it",
        path.display()
    )]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// A file that would be written is a symbolic link.
    #[error("{} is a symbolic link, and its target would be written: remove the link", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A file could not be opened, read or locked.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A directory cannot become a store, or its mark cannot be used.
    #[error("cannot use the store {}: {reason}", path.display())]
    Store {
        /// The directory.
        path: PathBuf,
        /// The reason, for the error message.
        reason: String,
    },
    /// `run.toml` cannot be used.
    #[error("cannot use {}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// `run.toml` was written by another version of Fathom, and this one cannot use it.
    #[error("the run was started by {author}; if the file was not edited, that version can finish the run")]
    OtherVersion {
        /// The program and its version.
        author: String,
        /// What is wrong with the file for this version.
        source: Box<Self>,
    },
    /// The file has no format version.
    #[error("it has no format version, so Fathom did not write it")]
    NoFormat,
    /// The file was written by a version before 1.0.0.
    #[error(
        "it was written by a version before 1.0.0, whose runs and plans this version cannot use. Start a new run"
    )]
    BeforeFirst,
    /// The file has another format.
    #[error(
        "it has format {found}, but this version of Fathom reads format {FORMAT}. Use the version that wrote it, or a newer one"
    )]
    OtherFormat {
        /// The format in the file.
        found: u32,
    },
    /// A plan file cannot be used.
    #[error("cannot use the plan {}", path.display())]
    PlanFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// A plan is for another space than the one to search.
    #[error(
        "the plan is for {planned}, not for {asked}. Drop --plan, or make a plan with 'fathom plan --output'"
    )]
    OtherPlan {
        /// What the plan is for.
        planned: String,
        /// The space to search.
        asked: String,
    },
    /// The recorded encoding is not one of the puzzle.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// This version numbers the cosets differently than the plan says.
    #[error(
        "this version of Fathom numbers the cosets of this plan differently. Use the version that made the plan"
    )]
    Numbering,
    /// `run.toml` does not have the syntax or the fields that Fathom writes.
    #[error(transparent)]
    Syntax(#[from] toml::de::Error),
    /// The board in `run.toml` is not a board.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The puzzle in `run.toml` cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The run lists states, and the command needs cosets.
    #[error(
        "this run lists its states, and the command needs a run by cosets. Where the puzzle can be cut into cosets, 'fathom run --engine cosets --dir DIR' starts one"
    )]
    Listed,
    /// A run by lists cannot release shards one by one.
    #[error(
        "a run that lists states keeps the last layers or all: --keep two is for runs by cosets. Drop --keep"
    )]
    ListsKeepTwo,
    /// There is neither a plan of cosets nor one of lists, or there are both.
    #[error("it needs one of the tables [plan] and [lists]: it was edited")]
    NoPlan,
    /// The puzzle in `run.toml` is too large.
    #[error("its puzzle has {cells} cells, more than can be searched")]
    TooManyCells {
        /// The number of cells.
        cells: usize,
    },
    /// There are no states at distance 0.
    #[error(transparent)]
    Starts(#[from] fathom_lists::list_space::StartsError),
    /// The number of labels in `run.toml` is not the number of pieces of the puzzle.
    #[error("it has {labels} labels, but {puzzle} has {cells} tiles")]
    LabelCount {
        /// The number of labels.
        labels: usize,
        /// The number of pieces.
        cells: usize,
        /// The puzzle.
        puzzle: String,
    },
    /// The fingerprint in `run.toml` does not match the definition in it.
    #[error(
        "its fingerprint is {expected}, but its contents have fingerprint {got}: it was edited, or written by another version"
    )]
    Fingerprint {
        /// The fingerprint in the file.
        expected: String,
        /// The fingerprint of the definition in the file.
        got: String,
    },
    /// The colouring in `run.toml` does not fit the space.
    #[error(transparent)]
    Colouring(#[from] ColouringError),
    /// The tensors of the cosets are too large.
    #[error("the cosets are too large")]
    TensorTooLarge,
    /// The cosets cannot be cut as `run.toml` says.
    #[error("{cosets} cosets cannot be cut into {shards} shards")]
    Cut {
        /// The number of cosets.
        cosets: u64,
        /// The number of shards.
        shards: u32,
    },
    /// The number of cosets is not the one in `run.toml`.
    #[error("run.toml says {expected} representative cosets, but there are {found}: it was edited")]
    CosetCount {
        /// The number of cosets by `run.toml`.
        expected: u32,
        /// The number of cosets that were found.
        found: u32,
    },
    /// The cosets cannot be listed.
    #[error(transparent)]
    Cosets(#[from] CosetError),
}

impl RunError {
    /// Checks that a file that is about to be written is no symbolic link.
    ///
    /// # Errors
    /// [`RunError::Link`] if it is one.
    pub fn refuse_link(path: PathBuf) -> Result<(), Self> {
        if path.is_symlink() { Err(Self::Link { path }) } else { Ok(()) }
    }

    /// Returns whether the user asked for something impossible, so that other arguments are needed.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Puzzle(_)
            | Self::Space(_)
            | Self::Starts(_)
            | Self::TooManyShards { .. }
            | Self::NoInverses { .. }
            | Self::AllLayersNeeded
            | Self::Listed
            | Self::ListsKeepTwo
            | Self::Memory { .. }
            | Self::NoRun { .. }
            | Self::Store { .. }
            | Self::PlanFile { .. }
            | Self::BeforeFirst
            | Self::OtherFormat { .. }
            | Self::OtherPlan { .. }
            | Self::Link { .. }
            | Self::Busy { .. } => true,
            Self::Unusable { source, .. } | Self::OtherVersion { source, .. } => source.is_bad_input(),
            _ => false,
        }
    }
}

/// Returns whether an error is a [`RunError`] that is bad input of the user: for the exit codes of commands.
pub fn is_bad_input(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<RunError>().is_some_and(RunError::is_bad_input)
}
