//! A complete search in a few lines: a puzzle, a directory, a result.

use crate::directory::{Found, RunDirectory, look};
use crate::observer::{Observer, Silent};
use crate::run::{Keep, ListPlan, ListedSpace, Lookback, PlanDocument, Producers, RunError, RunManifest};
use crate::run::{RunSpace, SpaceSpec};
use crate::search::{Options, Stop, search};
use crate::summary::Summary;
use crate::task::Kernel;
use anyhow::{Context, Result, anyhow};
use fathom_command::machine;
use fathom_layer::LocalDisk;
use fathom_puzzle::PuzzleSpec;
use fathom_space::{Labels, Plan};
use std::path::PathBuf;

/// The enumeration of a state space on this machine.
///
/// The run's directory has the layers and the journal. If it already has a run of the same space, the run is
/// continued, or reported if it is complete.
///
/// # Examples
/// ```
/// use fathom_engine::Enumeration;
///
/// let directory = tempfile::tempdir()?;
/// let found = Enumeration::of("2x3")?.directory(directory.path().join("run")).threads(2).run()?;
/// assert_eq!(found.counts, [1, 7, 31, 115, 274, 253, 36, 3]);
/// assert_eq!(found.god_number, Some(7));
/// # Ok::<(), anyhow::Error>(())
/// ```
///
/// A first part, and then the rest:
/// ```
/// use fathom_engine::Enumeration;
///
/// let directory = tempfile::tempdir()?;
/// let run = directory.path().join("run");
/// let part = Enumeration::of("pancake:6")?.directory(&run).max_depth(3).run()?;
/// assert!(!part.complete);
/// let whole = Enumeration::of("pancake:6")?.directory(&run).run()?;
/// assert_eq!(whole.counts.iter().sum::<u64>(), 720);
/// assert_eq!(whole.god_number, Some(7));
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug)]
pub struct Enumeration {
    spec: SpaceSpec,
    directory: Option<PathBuf>,
    plan: Option<PlanDocument>,
    lists: bool,
    keep: Option<Keep>,
    options: Options,
    stop: Stop,
}

impl Enumeration {
    /// Makes an enumeration of a space with default options: all processors, nine tenths of the memory, all
    /// depths.
    pub fn new(spec: SpaceSpec) -> Self {
        let options = Options {
            threads: machine::processors(),
            kernel: Kernel::Fastest,
            max_depth: None,
            memory_bytes: machine::memory_bytes(None),
            checkpoint_every: Options::CHECKPOINT_EVERY,
        };
        let stop = Stop::default();
        Self { spec, directory: None, plan: None, lists: false, keep: None, options, stop }
    }

    /// Makes an enumeration of a puzzle by its name, such as `3x4`, `pancake:8` or the path of a file, in its
    /// own metric and with its own labels.
    ///
    /// # Errors
    /// If the puzzle does not exist.
    pub fn of(puzzle: &str) -> Result<Self> {
        let source = PuzzleSpec::by_name(puzzle)?;
        let (metric, labels) = (source.metric(), Labels::from_values(source.solved()));
        Ok(Self::new(SpaceSpec { source, metric, labels }))
    }

    /// Sets the directory of the run. It is created if it does not exist.
    #[must_use]
    pub fn directory(self, path: impl Into<PathBuf>) -> Self {
        Self { directory: Some(path.into()), ..self }
    }

    /// Sets the plan of a new run, which is otherwise chosen.
    #[must_use]
    pub fn plan(self, plan: PlanDocument) -> Self {
        Self { plan: Some(plan), ..self }
    }

    /// Lists the states of a new run, instead of cutting the space into cosets: for the first depths of spaces of any
    /// size.
    ///
    /// # Examples
    /// ```
    /// use fathom_engine::Enumeration;
    ///
    /// let directory = tempfile::tempdir()?;
    /// let cube = Enumeration::of("3x3x3")?.lists().max_depth(3).directory(directory.path().join("run"));
    /// assert_eq!(cube.run()?.counts, [1, 18, 243, 3240]);
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn lists(self) -> Self {
        Self { lists: true, ..self }
    }

    /// Sets which layers a new run keeps.
    #[must_use]
    pub fn keep(self, keep: Keep) -> Self {
        Self { keep: Some(keep), ..self }
    }

    /// Sets the number of kernel threads.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { options: Options { threads, ..self.options }, ..self }
    }

    /// Sets the memory in bytes, layers in the page cache included.
    #[must_use]
    pub fn memory(self, memory_bytes: u64) -> Self {
        Self { options: Options { memory_bytes, ..self.options }, ..self }
    }

    /// Sets the last depth to enumerate.
    #[must_use]
    pub fn max_depth(self, depth: u32) -> Self {
        Self { options: Options { max_depth: Some(depth), ..self.options }, ..self }
    }

    /// Sets the flags by which another thread stops the search.
    #[must_use]
    pub fn stop(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// Runs the enumeration, or continues it, and returns the result.
    ///
    /// # Errors
    /// If no directory was set, it has a run of another space, the space cannot be planned, or the search
    /// fails. A run that was interrupted can be continued.
    pub fn run(self) -> Result<Summary> {
        self.observed_by(&Silent)
    }

    /// Does the same as [`Enumeration::run`], and reports each step to an observer.
    ///
    /// # Errors
    /// As for [`Enumeration::run`].
    pub fn observed_by(self, observer: &dyn Observer) -> Result<Summary> {
        let path = self.directory.as_deref().context("an enumeration needs a directory")?;
        let mut run = match look(path)? {
            Found::Nothing => RunDirectory::create(path, self.manifest()?, &[], &LocalDisk)?,
            Found::Run => RunDirectory::open(path)?,
            Found::Other => {
                return Err(anyhow!("{} is not empty and is not a run directory", path.display()));
            }
        };
        if run.manifest.spec != self.spec {
            let (there, asked) = (&run.manifest.spec, &self.spec);
            return Err(anyhow!("{} has a run of {there}, not of {asked}", path.display()));
        }
        search(&mut run, &LocalDisk, self.options, &self.stop, observer)?;
        Summary::new(&run)
    }

    /// Plans a new run.
    fn manifest(&self) -> Result<RunManifest> {
        if self.lists {
            let states = self.spec.space().ok().map(|space| space.states().clone());
            let listed = ListedSpace::new(&self.spec, states)?;
            let (plan, space) = (ListPlan::new(&listed), RunSpace::Lists(Box::new(listed)));
            return Ok(RunManifest::plan_lists(self.spec.clone(), &space, plan, None, self.keep)?);
        }
        let (space, plan) = match &self.plan {
            Some(plan) => {
                let (space, colouring) = plan.open(&self.spec)?;
                let plan = Plan::recorded(&space, colouring, plan.cosets).ok_or(RunError::TensorTooLarge)?;
                (space, plan)
            }
            None => {
                let space = self.spec.space()?;
                let plan = Plan::new(&space)?;
                (space, plan)
            }
        };
        let lookback = Lookback::new(&space);
        let shards = Producers::one_process(self.options.threads).shards(&plan, lookback);
        let keep = lookback.keep(self.keep)?;
        Ok(RunManifest::plan(self.spec.clone(), &space, &plan, Some(shards), keep, false)?)
    }
}
