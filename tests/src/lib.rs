//! Code shared by the tests of the whole system: known tables, searches in this process, and the real
//! commands.

pub mod boards;
pub mod browser;
pub mod cluster;
pub mod docs;
pub mod forge;
pub mod fuzz;
pub mod layers;
pub mod module_imports;
pub mod page;
pub mod process;
pub mod slurm;

use fathom_engine::directory::RunDirectory;
use fathom_engine::observer::Silent;
use fathom_engine::run::{Keep, RunManifest, SpaceSpec};
use fathom_engine::search::{Options, Stop, search};
use fathom_engine::summary::Summary;
use fathom_engine::task::Kernel;
use fathom_layer::{Disk, LocalDisk};
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::{Labels, Plan};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;
use tempfile::TempDir;

/// The bytes of memory for reference searches.
pub const MEMORY: u64 = 2 << 30;

/// The directory where Linux keeps files in memory.
const IN_MEMORY: &str = "/dev/shm";
/// The minimum of free bytes there for tests to use it, several times what they take together.
const ENOUGH_BYTES: u64 = 4 << 30;

/// Creates a temporary directory, in memory if there is enough. Most tests sync thousands of small files, and
/// would wait for a disk longer than they compute. Tests of disk behaviour, and tests that kill one process
/// anywhere, call [`tempfile::tempdir`]. If `TMPDIR` is set in the environment, all tests write there.
///
/// # Errors
/// If the operating system cannot create it.
pub fn tempdir() -> io::Result<TempDir> {
    static USES_MEMORY: LazyLock<bool> = LazyLock::new(|| {
        let free = fathom_layer::free_bytes(Path::new(IN_MEMORY));
        std::env::var_os("TMPDIR").is_none() && free.is_ok_and(|free| free >= ENOUGH_BYTES)
    });
    if *USES_MEMORY { tempfile::tempdir_in(IN_MEMORY) } else { tempfile::tempdir() }
}

/// A growth table of `tests/data`.
#[derive(Clone, Debug, Deserialize)]
pub struct KnownTable {
    /// The board, or a description of the labelled space.
    pub puzzle: String,
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
    /// The metric.
    pub metric: Metric,
    /// Tiles with labels of their own; all others look alike.
    pub tiles: Option<Vec<usize>>,
    /// A label for each tile.
    pub colouring: Option<Vec<usize>>,
    /// The number of symmetries.
    pub symmetry_order: Option<usize>,
    /// The number of states.
    pub states: u64,
    /// The largest depth.
    pub god_number: u32,
    /// States at each depth.
    pub counts: Vec<u64>,
    /// States up to symmetry at each depth.
    pub classes: Option<Vec<u64>>,
    /// States up to symmetry and inversion at each depth.
    pub classes_with_inverse: Option<Vec<u64>>,
}

impl KnownTable {
    /// Returns the space that the table is about.
    pub fn question(&self) -> SpaceSpec {
        let board = Board::new(self.m, self.n).expect("known boards are boards");
        let tiles = 0..board.cells();
        let labels = match (&self.tiles, &self.colouring) {
            (Some(tracked), _) => {
                Labels::from_values(tiles.map(|tile| if tracked.contains(&tile) { tile } else { 99 }))
            }
            (_, Some(labels)) => Labels::from_values(labels.iter().copied()),
            _ => Labels::distinct(board.cells()),
        };
        SpaceSpec { source: PuzzleSpec::Board(board), metric: self.metric, labels }
    }
}

/// Reads a file from `tests/data`.
pub fn data<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the tables in a file of `tests/data`.
pub fn known_tables(name: &str) -> Vec<KnownTable> {
    #[derive(Deserialize)]
    struct File {
        tables: Vec<KnownTable>,
    }
    data::<File>(name).tables
}

/// The options of a search in this process.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The engine.
    pub kernel: Kernel,
    /// Threads.
    pub threads: usize,
    /// The number of shards; if `None`, it depends on the size of the space.
    pub shards: Option<u32>,
    /// Layers to keep.
    pub keep: Keep,
    /// The last depth.
    pub max_depth: Option<u32>,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The minimum time between two checkpoints. The default is zero, so that each depth is a step that can
    /// fail.
    pub checkpoint_every: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            kernel: Kernel::Fastest,
            threads: 2,
            shards: None,
            keep: Keep::Last,
            max_depth: None,
            memory_bytes: MEMORY,
            checkpoint_every: Duration::ZERO,
        }
    }
}

impl Setup {
    /// Creates the directory of a run.
    pub fn begin(&self, question: SpaceSpec, path: &Path, disk: &dyn Disk) -> anyhow::Result<RunDirectory> {
        self.begin_in(question, path, None, disk)
    }

    /// Creates the directory of a run whose layers go into `store`, or into its own directory.
    pub fn begin_in(
        &self,
        question: SpaceSpec,
        path: &Path,
        store: Option<&Path>,
        disk: &dyn Disk,
    ) -> anyhow::Result<RunDirectory> {
        let space = question.space()?;
        let plan = Plan::new(&space)?;
        let manifest = RunManifest::plan(question, &space, &plan, self.shards, self.keep, false)?;
        RunDirectory::create_planned(path, manifest, (space.into(), None), &[], store, disk)
    }

    /// Continues a run.
    pub fn go_on(&self, run: &mut RunDirectory, disk: &dyn Disk) -> anyhow::Result<Summary> {
        let options = Options {
            threads: self.threads,
            kernel: self.kernel,
            max_depth: self.max_depth,
            memory_bytes: self.memory_bytes,
            checkpoint_every: self.checkpoint_every,
        };
        search(run, disk, options, &Stop::default(), &Silent)?;
        Summary::new(run)
    }

    /// Searches a whole space in a directory of its own.
    pub fn search(&self, question: SpaceSpec) -> Summary {
        let directory = crate::tempdir().expect("a temporary directory");
        let path = directory.path().join("run");
        let mut run = self.begin(question, &path, &LocalDisk).expect("the run starts");
        self.go_on(&mut run, &LocalDisk).expect("the run ends")
    }
}

/// Returns the command `fathom`, built like these tests, beside the command `fathom-worker`, which
/// `run --workers` starts.
pub fn fathom() -> Command {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    fathom_worker();
    Command::new(BINARY.get_or_init(|| build("fathom")))
}

/// Returns the command `fathom-worker`, built like these tests.
pub fn fathom_worker() -> Command {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    Command::new(BINARY.get_or_init(|| build("fathom-worker")))
}

fn build(name: &str) -> PathBuf {
    let build = escargot::CargoBuild::new()
        .bin(name)
        .manifest_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"));
    // The variables that the outer cargo sets for this package are removed: they would cause build scripts to
    // run again, and everything that depends on them to be rebuilt.
    let of_package = |name: &String| {
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_CRATE_NAME"
    };
    let variables = std::env::vars().map(|(name, _)| name).filter(of_package);
    let build = variables.fold(build, |build, name| build.env_remove(name));
    let build = if cfg!(debug_assertions) { build } else { build.release() };
    build.run().unwrap_or_else(|error| panic!("{name} builds: {error}")).path().into()
}

/// Returns standard output and standard error of a command, as text. Omits lines such as `auditing …`, which
/// a command writes to standard error when it takes longer than ten seconds, as on a busy machine.
pub fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let is_message = |line: &&str| !line.ends_with(" …\n");
    (text(&output.stdout), text(&output.stderr).split_inclusive('\n').filter(is_message).collect())
}

/// Returns the JSON object that a command printed. Panics if the command failed.
pub fn json(output: &Output) -> Value {
    let (out, err) = texts(output);
    assert!(output.status.success(), "{err}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// Asserts that two runs, as printed by `--json`, have the same results.
pub fn assert_same(found: &Value, expected: &Value) {
    for field in ["digest", "counts", "classes", "classes_with_inverse", "god_number", "complete"] {
        assert_eq!(found[field], expected[field], "{field}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_notices_are_filtered_from_output() {
        let stderr = "auditing …\nthe run is wrong\n".into();
        let output = Output { status: Default::default(), stdout: Vec::new(), stderr };
        assert_eq!(texts(&output), (String::new(), "the run is wrong\n".into()));
    }
}
