//! `fathom run` and `fathom resume`.

use crate::arguments::{BeginArguments, ResumeArguments, RunArguments, SpaceArguments};
use crate::commands::local;
use anyhow::{Context, Result};
use fathom_command::bad_input;
use fathom_command::exit::Interrupted;
use fathom_command::log::{self, Verbosity};
use fathom_command::output;
use fathom_coordinator::directory::{Found, LOG, RunDirectory, look};
use fathom_coordinator::estimate::disk_peak_bytes;
use fathom_coordinator::search::{End, Options, Stop, is_settled, search};
use fathom_coordinator::summary::Summary;
use fathom_coordinator::watch;
use fathom_kernel::reference::Distances;
use fathom_layer::{LocalDisk, free_bytes};
use fathom_puzzle::Metric;
use fathom_run::Reach;
use fathom_run::budget::cache_bytes;
use fathom_run::definition::{Definition, Question};
use fathom_space::{Plan, Space};
use fathom_worker::Kernel;
use indicatif::{HumanBytes, HumanCount};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(crate) fn run(asked: &RunArguments, verbosity: Verbosity) -> Result<()> {
    if let Some(workers) = asked.workers {
        return local::run(asked, workers, verbosity);
    }
    let options = asked.search.options(verbosity);
    let directory = open_or_begin(&asked.space, &asked.begin, 1, |space, plan, path| {
        require_resources(asked, options, space, plan, path)
    })?;
    go_on(directory, options, asked.search.json)
}

pub(crate) fn resume(asked: &ResumeArguments, verbosity: Verbosity) -> Result<()> {
    go_on(RunDirectory::open(&asked.dir)?, asked.search.options(verbosity), asked.search.json)
}

/// Opens the directory of a run, or makes it for so many workers, if that is known. Whatever speaks against a new one, `require`
/// among it, is found before anything is written.
pub(crate) fn open_or_begin(
    space: &SpaceArguments,
    asked: &BeginArguments,
    workers: u32,
    require: impl FnOnce(&Space, &Plan, &Path) -> Result<()>,
) -> Result<RunDirectory> {
    let mut question = space.question()?;
    let old = space.under_old_default(&question);
    let mut space = question.space()?;
    let place = |space: &Space| asked.dir.clone().unwrap_or_else(|| PathBuf::from("runs").join(space.slug()));
    let mut path = place(&space);
    if let Some(old) = old {
        let begun = begun_before(&old, &path, place)?;
        if let Some((there, old_space)) = begun {
            output::remark(&format!(
                "{} was begun when exactly the listed moves of such files were meant, and goes on so, in the metric 'given'; name another directory with --dir, or --metric multi, to search with all powers",
                there.display()
            ));
            (question, space, path) = (old, old_space, there);
        }
    }
    match look(&path)? {
        Found::Run => {
            let directory = RunDirectory::open(&path)?;
            require_same(&directory, &question, asked)?;
            Ok(directory)
        }
        Found::Nothing => {
            let plan = Plan::new(&space).map_err(|error| bad_input!("{error}"))?;
            require(&space, &plan, &path)?;
            let watched = match &asked.watch_states {
                Some(file) => watch::read(file, &space)?,
                None => Vec::new(),
            };
            let reach = Reach::of(&space);
            let keep = reach.keep(asked.keep)?;
            let by_size = || Definition::shards_by_size(&plan, reach, workers);
            let shards = asked.shards.unwrap_or_else(by_size);
            let definition =
                Definition::plan(question, &space, &plan, Some(shards), keep, asked.inverse_classes)?;
            RunDirectory::create(&path, definition, &watched, &LocalDisk)
        }
        Found::Other => Err(bad_input!(
            "{} holds something else than a run; it was left as it is: name another directory with --dir",
            path.display()
        )),
    }
}

/// Where a run of a question as it was asked before lies, and its space; `None` if there is none, or if one of the question as it is asked
/// now lies at `path`.
fn begun_before(
    old: &Question,
    path: &Path,
    place: impl Fn(&Space) -> PathBuf,
) -> Result<Option<(PathBuf, Space)>> {
    if look(path)? == Found::Run && Definition::read(path)?.question.metric == Metric::Multi {
        return Ok(None);
    }
    let space = old.space()?;
    let there = place(&space);
    let is_old = look(&there)? == Found::Run && Definition::read(&there)?.question == *old;
    Ok(is_old.then_some((there, space)))
}

/// A run's directory may be named again only for the same run.
fn require_same(directory: &RunDirectory, question: &Question, asked: &BeginArguments) -> Result<()> {
    let there = &directory.definition;
    let path = directory.path.display();
    if there.question != *question {
        return Err(bad_input!(
            "{path} holds the run {}, not {}: name another directory with --dir",
            directory.space.slug(),
            question.space()?.slug()
        ));
    }
    if let Some(shards) = asked.shards.filter(|&shards| shards != there.shards) {
        return Err(bad_input!(
            "the run in {path} is cut into {} shards, not {shards}, and stays so: leave out --shards, or name another directory with --dir",
            there.shards
        ));
    }
    if let Some(keep) = asked.keep.filter(|&keep| keep != there.keep) {
        return Err(bad_input!(
            "the run in {path} keeps the layers '{}', not '{keep}', and stays so: leave out --keep, or name another directory with --dir",
            there.keep
        ));
    }
    if asked.inverse_classes && !there.inverse_classes {
        return Err(bad_input!(
            "the run in {path} does not count classes up to inversion, and stays so: leave out --inverse-classes, or name another directory with --dir"
        ));
    }
    if let Some(file) = &asked.watch_states {
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

/// Whether this machine has what a new run takes.
fn require_resources(
    asked: &RunArguments,
    options: Options,
    space: &Space,
    plan: &Plan,
    path: &Path,
) -> Result<()> {
    options.kernel.engine(&plan.shape)?;
    if options.kernel == Kernel::Reference {
        Distances::ranks(space, options.memory_bytes).map_err(|error| bad_input!("{error}"))?;
    }
    let cosets = plan.representative_cosets;
    cache_bytes(options.memory_bytes, space, plan.patterns, cosets, &plan.shape, options.threads)?;
    require_room(asked, space, plan, path)
}

/// Whether the disk holds what a new run will write.
pub(crate) fn require_room(asked: &RunArguments, space: &Space, plan: &Plan, path: &Path) -> Result<()> {
    let needed =
        disk_peak_bytes(space, plan, Reach::of(space).keep(asked.begin.keep)?, asked.search.max_depth);
    let free = free_bytes(path)?;
    if needed <= free {
        return Ok(());
    }
    Err(bad_input!(
        "{} needs up to {} of disk, and {} are free at {}, {} bytes too few: make room, name a directory on another disk with --dir, or ask for less with --track, --labels or --max-depth",
        space.slug(),
        HumanBytes(needed),
        HumanBytes(free),
        path.display(),
        HumanCount(needed - free)
    ))
}

/// Searches until the run is complete or as deep as asked, and prints what is known then.
fn go_on(mut directory: RunDirectory, options: Options, json: bool) -> Result<()> {
    log::start(&directory.path.join(LOG), options.verbosity.beside_bars())?;
    watch::write(&directory.path, &directory.journal, &LocalDisk)?;
    if !is_settled(&directory, &LocalDisk)? {
        let signal = Arc::new(AtomicUsize::new(0));
        let stop = Stop { at_once: Arc::new(AtomicBool::new(true)), ..Stop::default() };
        for number in [SIGINT, SIGTERM] {
            // The first signal stops at the next coset, a second one at once.
            signal_hook::flag::register_conditional_shutdown(
                number,
                128 + number,
                Arc::clone(&stop.at_once),
            )?;
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
            signal_hook::flag::register(number, Arc::clone(&stop.requested))?;
            signal_hook::flag::register(number, Arc::clone(&stop.at_once))?;
        }
        let end = search(&mut directory, &LocalDisk, options, &stop)?;
        if end == End::Stopped {
            return Err(Interrupted {
                message: format!("stopped; go on with 'fathom resume {}'", directory.path.display()),
                signal: signal.load(Ordering::Relaxed) as i32,
            }
            .into());
        }
    }
    watch::write(&directory.path, &directory.journal, &LocalDisk)?;
    let summary = Summary::of(&directory)?;
    output::line(&if json { summary.to_json() } else { summary.to_string() })
}
