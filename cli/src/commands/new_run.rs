//! Opens or creates the directory of a run, for the commands that start runs.

use crate::arguments::{BeginArguments, RunArguments, SearchArguments, SpaceArguments};
use anyhow::Result;
use fathom_begin::NewRun;
use fathom_command::activity::doing;
use fathom_command::{bad_input, output};
use fathom_engine::directory::RunDirectory;
use fathom_engine::estimate::Peak;
use fathom_engine::run::budget::Budget;
use fathom_engine::run::{Keep, ListedSpace, Lookback, Producers};
use fathom_engine::search::Options;
use fathom_engine::task::Kernel;
use fathom_kernel::SimdLevel;
use fathom_kernel::reference::Distances;
use fathom_layer::free_bytes;
use fathom_space::{Labels, Plan, Space};
use indicatif::HumanBytes;
use std::path::Path;

/// Opens the directory of a run, or creates one for a new run by `producers`, with its layers below `store`
/// if that is given. All checks of a new run, including `require`, come before anything is written. `require`
/// also returns which layers the new run keeps; `None` means the default. `search` has the options of the search, if one
/// process searches.
pub(crate) fn open_or_begin(
    space: &SpaceArguments,
    args: &BeginArguments,
    store: Option<&Path>,
    producers: Producers,
    search: Option<&SearchArguments>,
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
    let new = NewRun {
        keep: args.keep,
        engine: args.engine.map(Into::into),
        can_list: search.is_some(),
        max_depth: search.and_then(|search| search.max_depth),
        is_bounded: search.is_some_and(SearchArguments::is_bounded),
        producers,
        shards: args.shards,
        inverse_classes: args.inverse_classes,
        plan: args.plan.as_deref(),
        watch_states: args.watch_states.as_deref(),
        store,
    };
    new.open_or_begin(&path, spec, space, require)
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
