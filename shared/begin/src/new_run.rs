//! The directory of a new run in this process.

use crate::engine_choice::{asks_for_few, has_few_states, has_tiny_cosets, require_bound};
use crate::plan_search::{can_be_listed, planned, without_cosets};
use anyhow::Result;
use fathom_command::bad_input;
use fathom_engine::directory::{Found, RunDirectory, look};
use fathom_engine::run::{
    Keep, ListPlan, ListedSpace, Lookback, Producers, RunManifest, RunSpace, SpaceSpec,
};
use fathom_layer::LocalDisk;
use fathom_space::{Plan, Space};
use std::path::Path;

/// How a space is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Layers of bits.
    Cosets,
    /// Sorted states.
    Lists,
}

/// The options of a new run.
#[derive(Clone, Copy, Debug)]
pub struct NewRun {
    /// The layers that are kept; `None` for the default.
    pub keep: Option<Keep>,
    /// How the space is searched; `None` to choose.
    pub engine: Option<Engine>,
    /// The last depth.
    pub max_depth: Option<u32>,
    /// The number of threads.
    pub threads: usize,
}

impl NewRun {
    /// Opens the directory of a run, or creates one for a new run. Nothing is written before all checks.
    ///
    /// # Errors
    /// If the directory is occupied, or the space cannot be searched.
    pub fn open_or_begin(self, path: &Path, spec: SpaceSpec) -> Result<RunDirectory> {
        match look(path)? {
            Found::Run => self.open(path, &spec),
            Found::Nothing => self.begin(path, spec),
            Found::Other => Err(bad_input!(
                "{} is not empty and is not a run directory. Choose another directory",
                path.display()
            )),
        }
    }

    fn open(self, path: &Path, spec: &SpaceSpec) -> Result<RunDirectory> {
        let run = RunDirectory::open(path)?;
        let there = &run.manifest;
        if there.spec != *spec {
            return Err(bad_input!(
                "{} has a run of {}, not of {spec}. Choose another directory",
                path.display(),
                there.spec
            ));
        }
        if let Some(keep) = self.keep.filter(|&keep| keep != there.keep) {
            return Err(bad_input!(
                "{} was started with keep {}, which cannot be changed to {keep}",
                path.display(),
                there.keep
            ));
        }
        if let RunSpace::Lists(space) = &run.space {
            require_bound(space, self.max_depth.is_some())?;
        }
        Ok(run)
    }

    fn begin(self, path: &Path, spec: SpaceSpec) -> Result<RunDirectory> {
        let space = match (spec.space(), self.engine) {
            (Ok(space), None | Some(Engine::Cosets)) => space,
            (space, Some(Engine::Lists)) => return self.list(path, spec, space.ok()),
            (Err(error), None) if can_be_listed(&error) => match self.may_list(&spec) {
                true => return self.list(path, spec, None),
                false => return Err(without_cosets(error)),
            },
            (Err(error), _) => return Err(error.into()),
        };
        let chooses = self.engine.is_none();
        if chooses && self.max_depth.map_or(Ok(false), |depth| asks_for_few(&spec, &space, depth))? {
            return self.list(path, spec, Some(space));
        }
        let outline = match planned(&spec, &space, || Plan::outline(&space)) {
            Ok(outline) => outline,
            Err(_) if chooses && self.may_list(&spec) => return self.list(path, spec, Some(space)),
            Err(error) => return Err(error),
        };
        // The states of runs that keep two layers cannot be listed.
        if chooses && self.keep != Some(Keep::Two) && has_tiny_cosets(&space, outline.shape.bits()) {
            return self.list(path, spec, Some(space));
        }
        let lookback = Lookback::new(&space);
        let keep = lookback.keep(self.keep)?;
        let plan = planned(&spec, &space, || outline.exact(&space))?;
        let shards = Producers::one_process(self.threads).shards(&plan, lookback);
        let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), keep, false)?;
        let graph = plan.graph().cloned();
        RunDirectory::create_planned(path, manifest, (space.into(), graph), &[], None, &LocalDisk)
    }

    /// Returns whether a list of all states ends before it fills the disk.
    fn may_list(self, spec: &SpaceSpec) -> bool {
        self.max_depth.is_some() || ListedSpace::new(spec, None).is_ok_and(|space| has_few_states(&space))
    }

    fn list(self, path: &Path, spec: SpaceSpec, space: Option<Space>) -> Result<RunDirectory> {
        let listed = ListedSpace::new(&spec, space.map(|space| space.states().clone()))?;
        require_bound(&listed, self.max_depth.is_some())?;
        let plan = ListPlan::new(&listed);
        let space = RunSpace::Lists(Box::new(listed));
        let manifest = RunManifest::plan_lists(spec, &space, plan, None, self.keep)?;
        RunDirectory::create_planned(path, manifest, (space, None), &[], None, &LocalDisk)
    }
}
