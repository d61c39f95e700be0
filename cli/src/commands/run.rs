//! `fathom run` and `fathom resume`.

use crate::arguments::{HttpArguments, ResumeArguments, RunArguments, SearchArguments};
use crate::commands::completion_hook;
use crate::commands::new_run::{open_or_begin, require_resources};
use crate::commands::page::{self, Shown};
use crate::commands::progress::Display;
use crate::commands::result;
use crate::commands::with_workers;
use anyhow::Result;
use fathom_begin::engine_choice::require_bound;
use fathom_command::exit::Interrupted;
use fathom_command::interrupt::{Interrupts, interrupts};
use fathom_command::log::{self, Verbosity};
use fathom_command::{output, shell};
use fathom_engine::directory::{LOG, RunDirectory};
use fathom_engine::observer::Both;
use fathom_engine::run::{Producers, RunSpace};
use fathom_engine::search::{End, Options, Stop, is_settled, search};
use fathom_engine::watch;
use fathom_layer::{Disk, LimitedDisk, LocalDisk};
use fathom_page::{Limits, Listening, RunState};
use std::sync::atomic::Ordering;

pub(crate) fn run(args: &RunArguments, verbosity: Verbosity) -> Result<()> {
    if let Some(workers) = args.workers {
        return with_workers::run(args, workers, verbosity);
    }
    let options = args.search.options();
    let page = (page::listen(&args.http)?, &args.http);
    let producers = Producers::one_process(options.threads);
    let store = args.store.as_deref();
    let search = Some(&args.search);
    let directory =
        open_or_begin(&args.space, &args.begin, store, producers, search, |space, plan, path| {
            require_resources(args, options, space, plan, path)
        })?;
    go_on(directory, &args.search, verbosity, page)
}

pub(crate) fn resume(args: &ResumeArguments, verbosity: Verbosity) -> Result<()> {
    let page = (page::listen(&args.http)?, &args.http);
    let directory = RunDirectory::open(&args.dir)?;
    go_on(directory, &args.search, verbosity, page)
}

/// Searches until the run is complete or has reached the requested depth, then prints the result and shows it
/// on the page.
fn go_on(
    mut directory: RunDirectory,
    args: &SearchArguments,
    verbosity: Verbosity,
    (listening, http): (Option<Listening>, &HttpArguments),
) -> Result<()> {
    if let RunSpace::Lists(space) = &directory.space
        && !is_settled(&directory, &LocalDisk)?
    {
        require_bound(space, args.is_bounded())?;
    }
    log::start(&directory.path.join(LOG), verbosity.beside_bars())?;
    let Options { threads, memory_bytes, .. } = args.options();
    let limits = Limits { threads, memory_bytes, disk_bytes: args.disk_limit };
    let shown = Shown::local(listening, http, &directory, limits)?;
    let ended = searched(&mut directory, args, verbosity, &shown);
    let state = match &ended {
        Ok(state) => *state,
        Err(error) if error.is::<Interrupted>() => RunState::Stopped,
        Err(_) => RunState::Failed,
    };
    shown.ends_with_a_signal();
    directory.unlock();
    let ended = completion_hook::after(&args.on_done, &directory.path, false, ended.map(drop));
    shown.end(&directory, state)?;
    ended
}

fn searched(
    directory: &mut RunDirectory,
    args: &SearchArguments,
    verbosity: Verbosity,
    shown: &Shown,
) -> Result<RunState> {
    let options = args.options();
    let layers_at = directory.store_path()?.unwrap_or_else(|| directory.path.clone());
    let limited = args.disk_limit.map(|most| LimitedDisk::new(layers_at, most));
    let disk: &dyn Disk = limited.as_ref().map_or(&LocalDisk, |limited| limited);
    watch::write(directory, &LocalDisk)?;
    let mut state = RunState::Complete;
    if is_settled(directory, &LocalDisk)? {
        if args.resources.has_memory() {
            output::remark("the run is complete: --memory has no effect");
        }
    } else {
        let Interrupts { at_once, requested, signal } = interrupts().clone();
        let stop = Stop { requested, at_once };
        let display = Display::new(directory, verbosity, options.max_depth, args.disk_limit)?;
        let end = search(directory, disk, options, &stop, &Both(&display, shown.observer()))?;
        drop(display);
        if end == End::Stopped {
            return Err(Interrupted {
                message: format!("stopped; continue with 'fathom resume {}'", shell::path(&directory.path)),
                signal: signal.load(Ordering::Relaxed) as i32,
            }
            .into());
        }
        state = page::state_of_search(end);
    }
    watch::write(directory, &LocalDisk)?;
    result::print(directory, args.json)?;
    Ok(state)
}
