//! The origin of a report's numbers: what was run, by which version, on what machine, and how to repeat it.

use anyhow::{Context, Result};
use fathom_command::shell::quoted;
use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::ProcessRow;
use fathom_engine::run::Keep;
use fathom_engine::run::manifest::written_by;
use fathom_engine::summary::Summary;
use fathom_puzzle::{PuzzleSpec, family};
use fathom_space::Labels;
use serde::Serialize;

/// The file that a definition is to be saved as.
const PUZZLE: &str = "puzzle.toml";

/// The origin of a run, as recorded in its directory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    /// The program that started the run, with its version.
    pub begun_by: String,
    /// The program that wrote the report, with its version.
    pub reported_by: String,
    /// The fingerprint of everything on which the numbering of states depends.
    pub fingerprint: String,
    /// The number of shards that the space is cut into.
    pub shards: u32,
    /// Which layers are kept.
    pub keep: Keep,
    /// Where the layers are: `run`, `workers`, or `store` and a path.
    pub layers_at: String,
    /// The processes that searched without workers.
    pub processes: Vec<ProcessRow>,
    /// The workers of a run that was served, by name: their hosts unless they were named otherwise.
    pub workers: Vec<String>,
    /// The command that repeats the run. For a run without layers, the command for the complete run: no
    /// command ends before the first layer.
    pub command: String,
    /// The definition of a puzzle that is not a board, in the format of definition files.
    pub definition: Option<String>,
    /// The file that the command reads the definition from, if it does.
    pub definition_file: Option<&'static str>,
}

impl Provenance {
    /// Reads the origin of a run from its directory. `workers` has the names of the workers that it was
    /// served to.
    ///
    /// # Errors
    /// If `run.toml` or the journal cannot be read.
    pub fn new(run: &RunDirectory, summary: &Summary, mut workers: Vec<String>) -> Result<Self> {
        let manifest = &run.manifest;
        let journal = &run.journal;
        let unreadable = "cannot read run.db";
        workers.sort_unstable();
        let (puzzle, definition_file) = match &manifest.spec.source {
            PuzzleSpec::Board(board) => (board.to_string(), None),
            PuzzleSpec::Defined(defined) => match family::by_name(defined.name()) {
                Ok(family) if family == **defined => (defined.name().into(), None),
                _ => (PUZZLE.into(), Some(PUZZLE)),
            },
        };
        Ok(Self {
            begun_by: written_by(&run.path)?,
            reported_by: format!("fathom {}", env!("CARGO_PKG_VERSION")),
            fingerprint: manifest.fingerprint.to_string(),
            shards: manifest.shards,
            keep: manifest.keep,
            layers_at: journal.layers_at().context(unreadable)?.to_string(),
            processes: journal.processes().context(unreadable)?,
            workers,
            command: command(run, summary, &puzzle),
            definition: match &manifest.spec.source {
                PuzzleSpec::Board(_) => None,
                PuzzleSpec::Defined(defined) => Some(defined.to_toml()),
            },
            definition_file,
        })
    }
}

/// Returns the command that repeats the run: with the same fingerprint and, down to the same depth
/// if there is a layer, the same digest.
fn command(run: &RunDirectory, summary: &Summary, puzzle: &str) -> String {
    let manifest = &run.manifest;
    let spec = &manifest.spec;
    let mut words = vec!["fathom".into(), "run".into(), puzzle.to_owned()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if spec.metric != spec.source.metric() {
        option("--metric", spec.metric.to_string());
    }
    if spec.labels != Labels::from_values(spec.source.solved()) {
        let labels: Vec<String> = spec.labels.of_pieces().iter().map(u16::to_string).collect();
        option("--labels", labels.join(","));
    }
    option("--shards", manifest.shards.to_string());
    if manifest.keep != Keep::default() {
        option("--keep", manifest.keep.to_string());
    }
    if let (false, Some(depth)) = (summary.complete, summary.counts.len().checked_sub(1)) {
        option("--max-depth", depth.to_string());
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
