//! Opens or creates the directory of a run, for the commands that start runs.

use crate::arguments::{BeginArguments, RunArguments, SearchArguments, SpaceArguments};
use anyhow::Result;
use fathom_begin::{NewRun, Room};
use fathom_command::activity::doing;
use fathom_command::{bad_input, output};
use fathom_engine::directory::RunDirectory;
use fathom_engine::estimate::Peak;
use fathom_engine::run::{Keep, ListedSpace, Producers};
use fathom_engine::search::Options;
use fathom_engine::task::Kernel;
use fathom_kernel::SimdLevel;
use fathom_kernel::reference::Distances;
use fathom_space::{Labels, Plan, Space};
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
/// keeps, as [`Room::require`] does.
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
    let room = Room {
        memory_bytes: options.memory_bytes,
        threads: options.threads,
        disk_limit: args.search.disk_limit,
        keep: args.begin.keep,
        peak: Peak {
            max_depth: args.search.max_depth,
            threads: args.search.options().threads,
            shards: args.begin.shards,
            workers: args.workers,
            ..Peak::default()
        },
    };
    room.require(space, plan, args.store.as_deref().unwrap_or(path))
}
