//! A run that keeps all layers for one question, in a temporary directory that is removed afterwards.

use anyhow::{Error, Result};
use fathom_begin::plan_search::planned;
use fathom_command::scratch::Scratch;
use fathom_command::{bad_input, machine};
use fathom_engine::directory::RunDirectory;
use fathom_engine::estimate::Peak;
use fathom_engine::observer::Silent;
use fathom_engine::run::{Keep, Lookback, Producers, RunManifest, SpaceSpec};
use fathom_engine::search::{Options, Stop, search};
use fathom_engine::task::Kernel;
use fathom_layer::LocalDisk;
use fathom_space::{Plan, Space};
use std::path::Path;

/// A planned run.
pub(crate) struct TemporaryRun {
    spec: SpaceSpec,
    space: Space,
    plan: Plan,
}

/// Creates the directory of a temporary run.
pub(crate) fn directory() -> Result<Scratch> {
    Scratch::new().map_err(|error| {
        bad_input!(
            "cannot create a temporary directory in {}: {}. Set TMPDIR to another directory",
            std::env::temp_dir().display(),
            // The error's own text names the directory that could not be created.
            error.kind()
        )
    })
}

impl TemporaryRun {
    /// A space is small if the layers of its run have at most this many bits each: one for each state up to
    /// symmetry, and some that are not used.
    const SMALL: u64 = 1 << 26;

    /// Plans a run.
    ///
    /// # Errors
    /// If the space cannot be searched.
    pub(crate) fn plan(spec: SpaceSpec) -> Result<Self> {
        let space = spec.space()?;
        let plan = planned(&spec, &space, || Plan::new(&space))?;
        Ok(Self { spec, space, plan })
    }

    /// Plans a run whose layers give the distances of states to the solved one; `None` if the space is not
    /// [small](TemporaryRun::SMALL), or such a run is not possible.
    pub(crate) fn of_small_space(spec: &SpaceSpec) -> Option<Self> {
        let space = spec.space().ok().filter(Space::is_closed_under_inverses)?;
        // Most spaces are too large without any plan.
        if *space.states() > (u128::from(Self::SMALL) * space.symmetry_order() as u128).into() {
            return None;
        }
        let plan = Plan::new(&space).ok()?;
        let bits = plan.representative_cosets.saturating_mul(plan.shape.bits());
        (bits <= Self::SMALL).then(|| Self { spec: spec.clone(), space, plan })
    }

    /// Returns the puzzle.
    pub(crate) fn spec(&self) -> &SpaceSpec {
        &self.spec
    }

    /// Returns the name of the space.
    pub(crate) fn slug(&self) -> String {
        self.space.slug()
    }

    /// Returns the largest disk use of the run, in bytes.
    pub(crate) fn disk_bytes(&self, max_depth: Option<u32>) -> u64 {
        Peak { keep: Keep::All, max_depth, ..Peak::default() }.bytes(&self.space, &self.plan)
    }

    /// Enumerates the space, up to a depth.
    pub(crate) fn run(
        self,
        path: &Path,
        max_depth: Option<u32>,
        memory_bytes: u64,
    ) -> Result<RunDirectory, Error> {
        let Self { spec, space, plan } = self;
        let threads = machine::processors();
        let shards = Producers::one_process(threads).shards(&plan, Lookback::new(&space));
        let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), Keep::All, false)?;
        let graph = plan.graph().cloned();
        let mut run =
            RunDirectory::create_planned(path, manifest, (space.into(), graph), &[], None, &LocalDisk)?;
        let options = Options {
            threads,
            kernel: Kernel::Fastest,
            max_depth,
            memory_bytes,
            checkpoint_every: Options::CHECKPOINT_EVERY,
        };
        search(&mut run, &LocalDisk, options, &Stop::default(), &Silent)?;
        Ok(run)
    }
}
