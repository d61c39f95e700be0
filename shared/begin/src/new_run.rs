//! Opens the directory of a run, or creates it for a new run: by cosets or by lists of states.

use crate::engine_choice::{asks_for_few, has_few_states, has_tiny_cosets, require_bound};
use crate::plan_search::{can_be_listed, planned, without_cosets};
use anyhow::{Context, Error, Result};
use fathom_command::exit::said_by_system;
use fathom_command::{bad_input, output};
use fathom_engine::directory::{Found, RunDirectory, look};
use fathom_engine::run::{Keep, ListPlan, ListedSpace, Lookback, PlanFile, Producers, RunError, RunManifest};
use fathom_engine::run::{RunPlan, RunSpace, SpaceSpec};
use fathom_engine::watch;
use fathom_layer::{Digest, LocalDisk};
use fathom_report::text::many;
use fathom_space::{Plan, Space};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

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
pub struct NewRun<'a> {
    /// The layers that are kept; `None` for the default.
    pub keep: Option<Keep>,
    /// How the space is searched; `None` to choose.
    pub engine: Option<Engine>,
    /// Whether states can be listed: one process searches, and not workers.
    pub can_list: bool,
    /// The last depth, if the search ends at one.
    pub max_depth: Option<u32>,
    /// Whether the search ends at a depth or at a size.
    pub is_bounded: bool,
    /// Who computes the layers.
    pub producers: Producers,
    /// The number of shards; `None` for the default.
    pub shards: Option<u32>,
    /// Whether classes up to inversion are counted in large spaces too.
    pub inverse_classes: bool,
    /// The file of a plan.
    pub plan: Option<&'a Path>,
    /// The file of the states whose depths are reported.
    pub watch_states: Option<&'a Path>,
    /// The directory below which layers are stored, if they are not in the run's directory.
    pub store: Option<&'a Path>,
}

impl NewRun<'_> {
    /// Opens the directory of a run, or creates one for a new run. `space` is the space of `spec` in the form for cosets.
    /// All checks of a new run, including `require`, come before anything is written. `require` is called for runs by
    /// cosets, and returns which layers the run keeps; `None` means the default.
    ///
    /// # Errors
    /// If the directory is occupied, the space cannot be searched, or `require` fails.
    pub fn open_or_begin(
        &self,
        path: &Path,
        spec: SpaceSpec,
        space: Result<Space, RunError>,
        require: impl FnOnce(&Space, &Plan, &Path) -> Result<Option<Keep>>,
    ) -> Result<RunDirectory> {
        match look(path)? {
            Found::Run => {
                let directory = RunDirectory::open(path)?;
                self.require_same(&directory, &spec)?;
                return Ok(directory);
            }
            Found::Other if !path.is_dir() => {
                return Err(bad_input!(
                    "{} is a file, or lies below one. Choose a directory with --dir",
                    path.display()
                ));
            }
            Found::Other => {
                return Err(bad_input!(
                    "{} is not empty and is not a run directory. Choose another directory with --dir",
                    path.display()
                ));
            }
            Found::Nothing => require_writable(path)?,
        }
        if self.lists_are_chosen(&spec, space.as_ref().ok())? {
            return self.list(path, spec, space.ok());
        }
        let space = match space {
            Ok(space) => space,
            Err(error) if !can_be_listed(&error) => return Err(error.into()),
            Err(error) => {
                self.replace_cosets(&spec, without_cosets(error))?;
                return self.list(path, spec, None);
            }
        };
        let (space, outline) = match self.plan {
            Some(file) => recorded(file, &spec)?,
            None => match planned(&spec, &space, || Plan::outline(&space)) {
                Ok(outline) => (space, outline),
                Err(error) => {
                    self.replace_cosets(&spec, error)?;
                    return self.list(path, spec, Some(space));
                }
            },
        };
        // A run by lists cannot keep two layers.
        if self.chooses_lists()
            && self.keep != Some(Keep::Two)
            && has_tiny_cosets(&space, outline.shape.bits())
        {
            return self.list(path, spec, Some(space));
        }
        let asked = require(&space, &outline, path)?;
        let plan = planned(&spec, &space, || outline.exact(&space))?;
        let watched = self.watch_states.map_or(Ok(Vec::new()), |file| watch::read(file, &space))?;
        let lookback = Lookback::new(&space);
        let keep = lookback.keep(asked)?;
        // With two layers kept, unfinished shards take extra disk space; many small shards take less.
        let producers = match keep {
            Keep::Two => Producers { threads: None, ..self.producers },
            _ => self.producers,
        };
        let shards = self.shards.unwrap_or_else(|| producers.shards(&plan, lookback));
        let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), keep, self.inverse_classes)?;
        let graph = plan.graph().cloned();
        let store = self.store_of(path, manifest.fingerprint)?;
        let space = (space.into(), graph);
        RunDirectory::create_planned(path, manifest, space, &watched, store.as_deref(), &LocalDisk)
    }

    /// Returns whether an option is given that only runs by cosets have.
    fn needs_cosets(&self) -> bool {
        self.plan.is_some() || self.inverse_classes || self.watch_states.is_some()
    }

    /// Returns whether states are listed if that is faster.
    fn chooses_lists(&self) -> bool {
        self.can_list && self.engine.is_none() && !self.needs_cosets()
    }

    /// Returns whether states are listed although the space may be cut into cosets: because the options say so, or
    /// because few of very many states are asked for.
    fn lists_are_chosen(&self, spec: &SpaceSpec, space: Option<&Space>) -> Result<bool> {
        match (self.engine, space, self.max_depth) {
            (Some(Engine::Lists), ..) if !self.can_list => Err(bad_input!(
                "--engine lists searches in one process, without workers. Use 'fathom run' without --workers"
            )),
            (Some(engine), ..) => Ok(engine == Engine::Lists),
            (None, Some(space), Some(depth)) if self.chooses_lists() => asks_for_few(spec, space, depth),
            _ => Ok(false),
        }
    }

    /// Prints that states are listed because cosets are impossible for the reason `error`.
    ///
    /// # Errors
    /// The reason, if states cannot be listed either, or the search could fill the disk.
    fn replace_cosets(&self, spec: &SpaceSpec, error: Error) -> Result<()> {
        let is_small = || ListedSpace::new(spec, None).is_ok_and(|space| has_few_states(&space));
        if !self.chooses_lists() || !(self.is_bounded || is_small()) {
            return Err(error);
        }
        output::remark("the space cannot be cut into cosets; listing its states depth by depth");
        Ok(())
    }

    /// Creates the directory of a run that lists states.
    fn list(&self, path: &Path, spec: SpaceSpec, space: Option<Space>) -> Result<RunDirectory> {
        for (option, given) in [
            ("--plan", self.plan.is_some()),
            ("--inverse-classes", self.inverse_classes),
            ("--watch-states", self.watch_states.is_some()),
        ] {
            if given {
                return Err(bad_input!(
                    "{option} is for runs by cosets, and this one lists states. Drop it, or choose --engine cosets"
                ));
            }
        }
        let listed = ListedSpace::new(&spec, space.map(|space| space.states().clone()))?;
        require_bound(&listed, self.is_bounded)?;
        let plan = ListPlan::new(&listed);
        let space = RunSpace::Lists(Box::new(listed));
        let manifest = RunManifest::plan_lists(spec, &space, plan, self.shards, self.keep)?;
        let store = self.store_of(path, manifest.fingerprint)?;
        RunDirectory::create_planned(path, manifest, (space, None), &[], store.as_deref(), &LocalDisk)
    }

    /// Returns the directory for the layers of a new run, if it is not the run's own.
    ///
    /// # Errors
    /// If the store is inside the run's directory, which must be empty when the run starts.
    fn store_of(&self, run: &Path, fingerprint: Digest) -> Result<Option<PathBuf>> {
        let Some(store) = self.store else { return Ok(None) };
        let run = std::path::absolute(run)?;
        if std::path::absolute(store)?.starts_with(&run) {
            return Err(bad_input!(
                "the store {} is inside the run's directory {}, where layers are written by default. Drop --store, or choose another directory",
                store.display(),
                run.display()
            ));
        }
        Ok(Some(store_of_run(store, fingerprint)))
    }

    /// Checks that the directory holds the run that the options describe.
    fn require_same(&self, directory: &RunDirectory, spec: &SpaceSpec) -> Result<()> {
        let there = &directory.manifest;
        let path = directory.path.display();
        if there.spec != *spec {
            let (held, asked) = (directory.space.slug(), ListedSpace::new(spec, None)?.slug());
            return Err(match held == asked {
                true => bad_input!(
                    "{path} holds a run of a different puzzle named {held} (see {path}/run.toml). Choose another directory with --dir"
                ),
                false => {
                    bad_input!(
                        "{path} already contains the run {held}, not {asked}. Choose another directory with --dir"
                    )
                }
            });
        }
        if let Some(file) = self.plan
            && RunPlan::Cosets(PlanFile::read(file)?.plan) != there.plan
        {
            return Err(bad_input!(
                "{path} was started with a different plan than {}. Drop --plan, or use another --dir",
                file.display()
            ));
        }
        if let Some(shards) = self.shards.filter(|&shards| shards != there.shards) {
            return Err(bad_input!(
                "{path} was started with {}, which cannot be changed to {shards}. Drop --shards, or use another --dir",
                many(there.shards.into(), "shard")
            ));
        }
        if let Some(keep) = self.keep.filter(|&keep| keep != there.keep) {
            return Err(bad_input!(
                "{path} was started with --keep {}, which cannot be changed to {keep}. Drop --keep, or use another --dir",
                there.keep
            ));
        }
        if self.inverse_classes && !there.inverse_classes {
            return Err(bad_input!(
                "{path} was started without --inverse-classes, which cannot be turned on later. Drop --inverse-classes, or use another --dir"
            ));
        }
        if let Some(file) = self.watch_states {
            let watched = directory.journal.watched().context("cannot read run.db")?;
            let states = watch::read(file, directory.space.cosets()?)?;
            if !watched.iter().map(|state| &state.tiles).eq(&states) {
                return Err(bad_input!(
                    "{path} was started with other watched states than those in {}; they cannot be changed. Drop --watch-states, or use another --dir",
                    file.display()
                ));
            }
        }
        self.store.map_or(Ok(()), |store| require_same_store(directory, store))
    }
}

/// Checks that a directory can be created, or that files can be created in it.
fn require_writable(path: &Path) -> Result<()> {
    let is_there = |path: &&Path| !path.as_os_str().is_empty() && path.exists();
    let there = path.ancestors().find(is_there).unwrap_or(Path::new("."));
    // Threads of a process may begin runs beside each other.
    static TRIALS: AtomicU64 = AtomicU64::new(0);
    let number = TRIALS.fetch_add(1, Ordering::Relaxed);
    let tried = there.join(format!(".fathom-{}-{number}", std::process::id()));
    std::fs::create_dir(&tried).and_then(|()| std::fs::remove_dir(&tried)).map_err(|error| {
        let (why, path) = (said_by_system(&error), path.display());
        bad_input!(
            "cannot write to {}: {why}. Choose another directory than {path} with --dir",
            there.display()
        )
    })
}

/// Reads a plan from a file, and returns it with the space built from it.
///
/// # Errors
/// If the file is not a plan, or is a plan of another space.
fn recorded(file: &Path, spec: &SpaceSpec) -> Result<(Space, Plan)> {
    let PlanFile { spec: planned, plan } = PlanFile::read(file)?;
    if planned != *spec {
        let (planned, asked) = (planned.to_string(), spec.to_string());
        return Err(RunError::OtherPlan { planned, asked }.into());
    }
    let wrong = |source| RunError::PlanFile { path: file.into(), source: Box::new(source) };
    let (space, colouring) = plan.open(spec).map_err(wrong)?;
    let plan =
        Plan::recorded(&space, colouring, plan.cosets).ok_or(RunError::TensorTooLarge).map_err(wrong)?;
    Ok((space, plan))
}

/// Returns the directory for the layers of a run below a directory that may hold layers of several runs.
pub fn store_of_run(store: &Path, fingerprint: Digest) -> PathBuf {
    store.join(&fingerprint.to_string()[..16])
}

/// Checks that the layers of an existing run are below the directory given with `--store`.
fn require_same_store(run: &RunDirectory, store: &Path) -> Result<()> {
    let given = std::path::absolute(store_of_run(store, run.manifest.fingerprint))?;
    let there = run.store_path()?;
    if there.as_ref().is_some_and(|there| is_same(there, &given)) {
        return Ok(());
    }
    Err(bad_input!(
        "the layers of the run in {} are stored {} and cannot be moved. Drop --store, or use another --dir",
        run.path.display(),
        there.map_or("on its workers".into(), |there| format!("in {}", there.display()))
    ))
}

/// Returns whether two paths lead to the same file or directory.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let same = a.canonicalize().ok().zip(b.canonicalize().ok()).map(|(a, b)| a == b);
    same.unwrap_or(a == b)
}
