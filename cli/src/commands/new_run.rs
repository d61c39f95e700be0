//! Opens or creates the directory of a run, for the commands that start runs.

use crate::arguments::{BeginArguments, RunArguments, SpaceArguments};
use crate::commands::engine_choice::Lists;
use crate::commands::run_server::is_same;
use anyhow::{Context, Result};
use fathom_begin::plan_search::{can_be_listed, planned, without_cosets};
use fathom_command::activity::doing;
use fathom_command::{bad_input, output};
use fathom_engine::directory::{Found, RunDirectory, look};
use fathom_engine::estimate::Peak;
use fathom_engine::run::budget::Budget;
use fathom_engine::run::{Keep, ListPlan, ListedSpace, Lookback, PlanFile, Producers, RunError, RunManifest};
use fathom_engine::run::{RunPlan, RunSpace, SpaceSpec};
use fathom_engine::search::Options;
use fathom_engine::task::Kernel;
use fathom_engine::watch;
use fathom_kernel::SimdLevel;
use fathom_kernel::reference::Distances;
use fathom_layer::{Digest, LocalDisk, free_bytes};
use fathom_report::text::many;
use fathom_space::{Labels, Plan, Space};
use indicatif::HumanBytes;
use std::path::{Path, PathBuf};

/// Opens the directory of a run, or creates one for a new run by `producers`, with its layers below `store`
/// if that is given. All checks of a new run, including `require`, come before anything is written. `require`
/// also returns which layers the new run keeps; `None` means the default.
pub(crate) fn open_or_begin(
    space: &SpaceArguments,
    args: &BeginArguments,
    store: Option<&Path>,
    producers: Producers,
    lists: Lists,
    require: impl FnOnce(&Space, &Plan, &Path) -> Result<Option<Keep>>,
) -> Result<RunDirectory> {
    let reading = doing("reading the puzzle");
    let spec = space.spec()?;
    let space = spec.space();
    drop(reading);
    let are_its_own = spec.labels == Labels::from_values(spec.source.solved());
    let path = match (&args.dir, &space) {
        (Some(path), _) => path.clone(),
        (None, Ok(space)) => args.runs.join(space.short_slug(are_its_own)),
        (None, Err(_)) => args.runs.join(ListedSpace::new(&spec, None)?.short_slug(are_its_own)),
    };
    match look(&path)? {
        Found::Run => {
            let directory = RunDirectory::open(&path)?;
            require_same(&directory, &spec, args)?;
            store.map_or(Ok(()), |store| require_same_store(&directory, store))?;
            Ok(directory)
        }
        Found::Nothing if lists.are_chosen(args, &spec, space.as_ref().ok())? => {
            begin_lists(&path, spec, space.ok(), args, (store, lists))
        }
        Found::Nothing => {
            let space = match space {
                Ok(space) => space,
                Err(error) if !can_be_listed(&error) => return Err(error.into()),
                Err(error) => {
                    lists.replace_cosets(args, &spec, without_cosets(error))?;
                    return begin_lists(&path, spec, None, args, (store, lists));
                }
            };
            let (space, outline) = match &args.plan {
                Some(file) => recorded(file, &spec)?,
                None => match planned(&spec, &space, || Plan::outline(&space)) {
                    Ok(outline) => (space, outline),
                    Err(error) => {
                        lists.replace_cosets(args, &spec, error)?;
                        return begin_lists(&path, spec, Some(space), args, (store, lists));
                    }
                },
            };
            if lists.replace_tiny_cosets(args, &space, &outline) {
                return begin_lists(&path, spec, Some(space), args, (store, lists));
            }
            let asked = require(&space, &outline, &path)?;
            let plan = planned(&spec, &space, || outline.exact(&space))?;
            let watched = match &args.watch_states {
                Some(file) => watch::read(file, &space)?,
                None => Vec::new(),
            };
            let lookback = Lookback::new(&space);
            let keep = lookback.keep(asked)?;
            // With two layers kept, unfinished shards take extra disk space; many small shards take less.
            let producers =
                if keep == Keep::Two { Producers { threads: None, ..producers } } else { producers };
            let by_size = || producers.shards(&plan, lookback);
            let shards = args.shards.unwrap_or_else(by_size);
            let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), keep, args.inverse_classes)?;
            let graph = plan.graph().cloned();
            store.map_or(Ok(()), |store| require_outside(store, &path))?;
            let store = store.map(|store| store_of_run(store, manifest.fingerprint));
            let store = store.as_deref();
            RunDirectory::create_planned(&path, manifest, (space.into(), graph), &watched, store, &LocalDisk)
        }
        Found::Other => Err(bad_input!(
            "{} is not empty and is not a run directory. Choose another directory with --dir",
            path.display()
        )),
    }
}

/// Creates the directory of a run that lists states. `space` is the space in the form for cosets, if there is one.
fn begin_lists(
    path: &Path,
    spec: SpaceSpec,
    space: Option<Space>,
    args: &BeginArguments,
    (store, lists): (Option<&Path>, Lists),
) -> Result<RunDirectory> {
    for (option, given) in [
        ("--plan", args.plan.is_some()),
        ("--inverse-classes", args.inverse_classes),
        ("--watch-states", args.watch_states.is_some()),
    ] {
        if given {
            return Err(bad_input!(
                "{option} is for runs by cosets, and this one lists states. Drop it, or choose --engine cosets"
            ));
        }
    }
    let states = space.map(|space| space.states().clone());
    let listed = ListedSpace::new(&spec, states)?;
    lists.require_bound(&listed)?;
    let plan = ListPlan::new(&listed);
    let space = RunSpace::Lists(Box::new(listed));
    let manifest = RunManifest::plan_lists(spec, &space, plan, args.shards, args.keep)?;
    store.map_or(Ok(()), |store| require_outside(store, path))?;
    let store = store.map(|store| store_of_run(store, manifest.fingerprint));
    RunDirectory::create_planned(path, manifest, (space, None), &[], store.as_deref(), &LocalDisk)
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
pub(crate) fn store_of_run(store: &Path, fingerprint: Digest) -> PathBuf {
    store.join(&fingerprint.to_string()[..16])
}

/// Checks that a store is not inside the run's directory, which must be empty when the run starts.
fn require_outside(store: &Path, run: &Path) -> Result<()> {
    let run = std::path::absolute(run)?;
    if std::path::absolute(store)?.starts_with(&run) {
        return Err(bad_input!(
            "the store {} is inside the run's directory {}, where layers are written by default. Drop --store, or choose another directory",
            store.display(),
            run.display()
        ));
    }
    Ok(())
}

/// Checks that the directory holds the run that the arguments describe.
fn require_same(directory: &RunDirectory, spec: &SpaceSpec, args: &BeginArguments) -> Result<()> {
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
    if let Some(file) = &args.plan
        && RunPlan::Cosets(PlanFile::read(file)?.plan) != there.plan
    {
        return Err(bad_input!(
            "{path} was started with a different plan than {}. Drop --plan, or use another --dir",
            file.display()
        ));
    }
    if let Some(shards) = args.shards.filter(|&shards| shards != there.shards) {
        return Err(bad_input!(
            "{path} was started with {}, which cannot be changed to {shards}. Drop --shards, or use another --dir",
            many(there.shards.into(), "shard")
        ));
    }
    if let Some(keep) = args.keep.filter(|&keep| keep != there.keep) {
        return Err(bad_input!(
            "{path} was started with --keep {}, which cannot be changed to {keep}. Drop --keep, or use another --dir",
            there.keep
        ));
    }
    if args.inverse_classes && !there.inverse_classes {
        return Err(bad_input!(
            "{path} was started without --inverse-classes, which cannot be turned on later. Drop --inverse-classes, or use another --dir"
        ));
    }
    if let Some(file) = &args.watch_states {
        let watched = directory.journal.watched().context("cannot read run.db")?;
        let states = watch::read(file, directory.space.cosets()?)?;
        if !watched.iter().map(|state| &state.tiles).eq(&states) {
            return Err(bad_input!(
                "{path} was started with other watched states than those in {}; they cannot be changed. Drop --watch-states, or use another --dir",
                file.display()
            ));
        }
    }
    Ok(())
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

/// Checks that this machine has the kernel, memory and disk space for a new run. Returns which layers the run
/// keeps, as [`require_room`] does.
pub(crate) fn require_resources(
    args: &RunArguments,
    options: Options,
    space: &Space,
    plan: &Plan,
    path: &Path,
) -> Result<Option<Keep>> {
    options.kernel.engine(&plan.shape)?;
    if options.kernel == Kernel::Fastest && !SimdLevel::FASTEST.is_supported() {
        let (fastest, here) = (SimdLevel::FASTEST.as_str(), SimdLevel::of_processor().as_str());
        output::remark(&format!(
            "this processor supports the kernel {here}, but not {fastest}, which is faster"
        ));
    }
    if options.kernel == Kernel::Reference {
        Distances::ranks(space, options.memory_bytes).map_err(|error| bad_input!("{error}"))?;
    }
    let cosets = plan.representative_cosets;
    Budget::new(options.memory_bytes, space, plan.patterns, cosets, &plan.shape, options.threads)?;
    require_room(args, space, plan, path)
}

/// Checks that the disk can hold a new run. Returns which layers the run keeps: as requested, or two layers
/// if nothing was requested and the disk cannot hold the default of three.
pub(crate) fn require_room(
    args: &RunArguments,
    space: &Space,
    plan: &Plan,
    path: &Path,
) -> Result<Option<Keep>> {
    let asked = args.begin.keep;
    let by_default = Lookback::new(space).keep(asked)?;
    let place = args.store.as_deref().unwrap_or(path);
    let peak_to = |max_depth, keep| {
        let threads = args.search.options().threads;
        let (shards, workers) = (args.begin.shards, args.workers);
        Peak { keep, max_depth, threads, shards, workers }.bytes(space, plan)
    };
    let free = free_bytes(place)?.min(args.search.disk_limit.unwrap_or(u64::MAX));
    // Counting the states up to a depth takes a few milliseconds, and usually the disk can hold them all anyway.
    if args.search.max_depth.is_some() && peak_to(None, by_default) <= free {
        return Ok(asked);
    }
    let peak = |keep| peak_to(args.search.max_depth, keep);
    let needed = peak(by_default);
    if needed <= free {
        return Ok(asked);
    }
    let may_keep_two = asked.is_none() && by_default == Keep::Last;
    if may_keep_two && peak(Keep::Two) <= free {
        output::remark(&format!(
            "three layers may need {}, but {} are free; keeping two, as with --keep two",
            HumanBytes(needed),
            HumanBytes(free)
        ));
        return Ok(Some(Keep::Two));
    }
    let limit = args.search.disk_limit.map(|limit| format!(" within --disk-limit {}", HumanBytes(limit)));
    let two = match peak(Keep::Two) {
        two if two < needed && may_keep_two => format!(" ({} with two layers)", HumanBytes(two)),
        _ => String::new(),
    };
    Err(bad_input!(
        "{} needs up to {} of disk space{two}, but only {} are available at {}{} ({} short). Free some space, use another disk with --dir or --store, or reduce the run with --track, --labels or --max-depth",
        space.slug(),
        HumanBytes(needed),
        HumanBytes(free),
        place.display(),
        limit.unwrap_or_default(),
        HumanBytes(needed - free)
    ))
}
