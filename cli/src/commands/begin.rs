//! Opens or makes the directory of a run, for the commands that begin runs.

use crate::arguments::{BeginArguments, RunArguments, SpaceArguments};
use crate::commands::planning::planned;
use anyhow::{Context, Result};
use fathom_command::doing::doing;
use fathom_command::{bad_input, output};
use fathom_engine::directory::{Found, RunDirectory, look};
use fathom_engine::estimate::Peak;
use fathom_engine::journal::Files;
use fathom_engine::run::budget::Budget;
use fathom_engine::run::{Keep, RunManifest, SpaceSpec};
use fathom_engine::run::{Lookback, Makers, PlanFile, RunError, Stores, stores};
use fathom_engine::search::Options;
use fathom_engine::task::Kernel;
use fathom_engine::watch;
use fathom_kernel::reference::Distances;
use fathom_layer::{LocalDisk, free_bytes, tree_bytes};
use fathom_puzzle::Metric;
use fathom_report::text::many;
use fathom_space::{Labels, Plan, Space};
use indicatif::{HumanBytes, HumanCount};
use std::path::{Path, PathBuf};

/// Opens the directory of a run, or makes one for a new run by `makers`. All checks of a new run,
/// `require` among them, come before anything is written. `require` also returns which layers the new run
/// keeps; `None` stands for the default.
pub(crate) fn open_or_begin(
    space: &SpaceArguments,
    args: &BeginArguments,
    makers: Makers,
    require: impl FnOnce(&Space, &Plan, &Path) -> Result<Option<Keep>>,
) -> Result<RunDirectory> {
    stores::require_distinct(&args.store)?;
    let reading = doing("reading the puzzle");
    let mut spec = space.spec()?;
    let old = space.under_old_default(&spec);
    let mut space = spec.space()?;
    drop(reading);
    let place = |spec: &SpaceSpec, space: &Space| {
        let are_its_own = spec.labels == Labels::from_values(spec.source.solved());
        args.dir.clone().unwrap_or_else(|| args.runs.join(space.short_slug(are_its_own)))
    };
    let mut path = place(&spec, &space);
    if let Some(old) = old
        && (args.dir.is_none() || look(&path)? == Found::Run)
    {
        let begun = begun_before(&old, &path, place)?;
        if let Some((there, old_space)) = begun {
            output::remark(&format!(
                "{} was begun when exactly the listed moves of such files were meant, and goes on so, in the metric 'given'; name another directory with --dir, or --metric multi, to search with all powers",
                there.display()
            ));
            (spec, space, path) = (old, old_space, there);
        }
    }
    if args.dir.is_none() && look(&path)? == Found::Nothing {
        // Version 0.1.0 gave the directory this name.
        let old = args.runs.join(space.slug());
        if old != path && look(&old)? == Found::Run && RunManifest::read(&old)?.spec == spec {
            output::remark(&format!("the run goes on in {}, where it began", old.display()));
            path = old;
        }
    }
    match look(&path)? {
        Found::Run => {
            let directory = RunDirectory::open(&path)?;
            require_same(&directory, &spec, args)?;
            find_stores(&directory, &args.store)?;
            Ok(directory)
        }
        Found::Nothing => {
            let (space, outline) = match &args.plan {
                Some(file) => recorded(file, &spec)?,
                None => {
                    let outline = planned(&spec, &space, || Plan::outline(&space))?;
                    (space, outline)
                }
            };
            let asked = require(&space, &outline, &path)?;
            let plan = planned(&spec, &space, || outline.exact(&space))?;
            let watched = match &args.watch_states {
                Some(file) => watch::read(file, &space)?,
                None => Vec::new(),
            };
            let lookback = Lookback::of(&space);
            let keep = lookback.keep(asked)?;
            // With two layers kept, the shards in the making take room besides: many small ones take less.
            let makers = if keep == Keep::Two { Makers { threads: None, ..makers } } else { makers };
            let by_size = || makers.shards(&plan, lookback);
            let shards = args.shards.unwrap_or_else(by_size);
            let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), keep, args.inverse_classes)?;
            let graph = plan.graph().cloned();
            require_outside(&args.store, &path)?;
            let stores = stores::of_run(&args.store, manifest.fingerprint);
            stores::make(&stores, &LocalDisk)?;
            RunDirectory::create_planned(&path, manifest, (space, graph), &watched, &stores, &LocalDisk)
        }
        Found::Other => Err(bad_input!(
            "{} is not empty and holds no run; it was left as it is: name another directory with --dir",
            path.display()
        )),
    }
}

/// Makes the space of what is searched by the plan in a file, and returns it with the plan.
///
/// # Errors
/// If the file is not a plan, or is a plan of something else.
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

/// Checks that stores do not lie in the directory of the run, which must be empty when the run begins.
fn require_outside(stores: &[PathBuf], run: &Path) -> Result<()> {
    let run = std::path::absolute(run)?;
    for store in stores {
        if std::path::absolute(store)?.starts_with(&run) {
            return Err(bad_input!(
                "the store {} lies in the run's directory {}: leave out --store, for layers lie there anyway, or name another directory",
                store.display(),
                run.display()
            ));
        }
    }
    Ok(())
}

/// Returns the directory and the space of a run of `old`, which is what the same arguments meant in earlier
/// versions. Returns `None` if there is no such run, or if `path` holds a run of what they mean now.
fn begun_before(
    old: &SpaceSpec,
    path: &Path,
    place: impl Fn(&SpaceSpec, &Space) -> PathBuf,
) -> Result<Option<(PathBuf, Space)>> {
    if look(path)? == Found::Run && RunManifest::read(path)?.spec.metric == Metric::Multi {
        return Ok(None);
    }
    let space = old.space()?;
    let there = place(old, &space);
    let is_old = look(&there)? == Found::Run && RunManifest::read(&there)?.spec == *old;
    Ok(is_old.then_some((there, space)))
}

/// Returns an error unless the directory holds the run that the arguments describe.
fn require_same(directory: &RunDirectory, spec: &SpaceSpec, args: &BeginArguments) -> Result<()> {
    let there = &directory.manifest;
    let path = directory.path.display();
    if there.spec != *spec {
        let (held, asked) = (directory.space.slug(), spec.space()?.slug());
        return Err(match held == asked {
            true => bad_input!(
                "{path} holds a run of another puzzle of the name {held}, as it stands in {path}/run.toml: name another directory with --dir"
            ),
            false => {
                bad_input!("{path} holds the run {held}, not {asked}: name another directory with --dir")
            }
        });
    }
    if let Some(file) = &args.plan
        && PlanFile::read(file)?.plan != there.plan
    {
        return Err(bad_input!(
            "the run in {path} was started with another plan than {}: leave out --plan, or name another directory with --dir",
            file.display()
        ));
    }
    if let Some(shards) = args.shards.filter(|&shards| shards != there.shards) {
        return Err(bad_input!(
            "the run in {path} is cut into {}, not {shards}, and stays so: leave out --shards, or name another directory with --dir",
            many(there.shards.into(), "shard")
        ));
    }
    if let Some(keep) = args.keep.filter(|&keep| keep != there.keep) {
        return Err(bad_input!(
            "the run in {path} keeps the layers '{}', not '{keep}', and stays so: leave out --keep, or name another directory with --dir",
            there.keep
        ));
    }
    if args.inverse_classes && !there.inverse_classes {
        return Err(bad_input!(
            "the run in {path} does not count classes up to inversion, and stays so: leave out --inverse-classes, or name another directory with --dir"
        ));
    }
    if let Some(file) = &args.watch_states {
        let watched = directory.journal.watched().context("cannot read run.db")?;
        let states = watch::read(file, &directory.space)?;
        if !watched.iter().map(|state| &state.tiles).eq(&states) {
            return Err(bad_input!(
                "the run in {path} does not watch the states of {}, and what is watched stays as it was when the run began: leave out --watch-states, or name another directory with --dir",
                file.display()
            ));
        }
    }
    Ok(())
}

/// Finds the stores of a run that exists among the directories that are given with `--store`, if any are.
///
/// # Errors
/// If they are not the stores of the run.
pub(crate) fn find_stores(run: &RunDirectory, given: &[PathBuf]) -> Result<()> {
    if given.is_empty() {
        return Ok(());
    }
    stores::require_distinct(given)?;
    let mut stores = Stores::of(&run.path)?;
    if !stores.are_listed() {
        let layers = run.journal.layers().context("cannot read run.db")?;
        if !layers.is_empty() && layers.iter().all(|layer| layer.files == Files::Removed) {
            // 'fathom remove' has removed the list with the layers.
            return Ok(());
        }
        return Err(bad_input!(
            "the layers of the run in {} do not lie in stores, and stay where they are: leave out --store, or name another directory with --dir",
            run.path.display()
        ));
    }
    stores.arrange(&stores::of_run(given, run.manifest.fingerprint), false, &LocalDisk)?;
    Ok(())
}

/// Checks that this machine has the kernel, the memory and the disk for a new run. Returns which layers the
/// run keeps, as [`require_room`] does.
pub(crate) fn require_resources(
    args: &RunArguments,
    options: Options,
    space: &Space,
    plan: &Plan,
    path: &Path,
) -> Result<Option<Keep>> {
    options.kernel.engine(&plan.shape)?;
    if options.kernel == Kernel::Reference {
        Distances::ranks(space, options.memory_bytes).map_err(|error| bad_input!("{error}"))?;
    }
    let cosets = plan.representative_cosets;
    Budget::of(options.memory_bytes, space, plan.patterns, cosets, &plan.shape, options.threads)?;
    require_room(args, space, plan, path)
}

/// Checks that the disks can hold a new run. Returns which layers the run keeps: what was asked for, or two
/// layers if nothing was asked for and the disks cannot hold the three of the default.
pub(crate) fn require_room(
    args: &RunArguments,
    space: &Space,
    plan: &Plan,
    path: &Path,
) -> Result<Option<Keep>> {
    let asked = args.begin.keep;
    let by_default = Lookback::of(space).keep(asked)?;
    let at = match &args.begin.store[..] {
        [] => vec![path.to_owned()],
        stores => stores.to_vec(),
    };
    let peak_to = |max_depth, keep| {
        let threads = args.search.options().threads;
        let (shards, workers) = (args.begin.shards, args.workers);
        Peak { keep, max_depth, threads, shards, workers }.bytes(space, plan)
    };
    // What shards that go to all disks in turn can take before the first disk is full.
    let mut rooms = Vec::new();
    for (store, sharers) in at.iter().zip(stores::sharers(&at)) {
        let mut free = free_bytes(store)? / sharers;
        if let Some(limit) = args.search.disk_limit {
            free = free.min(limit.saturating_sub(tree_bytes(store)?));
        }
        rooms.push((free * at.len() as u64, store));
    }
    let (free, least) = rooms.into_iter().min().expect("there is a directory");
    // It takes some milliseconds to count the states up to a depth, and mostly there is room for all of them.
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
            "three layers may take {}, and {} are free: the run keeps two, as with --keep two",
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
    let (place, way_out) = match at.len() {
        1 => (format!("at {}", least.display()), "name a directory on another disk with --dir or --store"),
        stores => (
            format!("for what is spread evenly over {stores} stores, of which {} has least", least.display()),
            "name stores on other disks",
        ),
    };
    Err(bad_input!(
        "{} needs up to {} of disk{two}, and {} are free {place}{}, {} bytes too few: make room, {way_out}, or ask for less with --track, --labels or --max-depth",
        space.slug(),
        HumanBytes(needed),
        HumanBytes(free),
        limit.unwrap_or_default(),
        HumanCount(needed - free)
    ))
}
