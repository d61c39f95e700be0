//! `fathom run` and `fathom resume`.

use crate::arguments::{HttpArguments, ResumeArguments, RunArguments};
use crate::commands::begin::{open_or_begin, require_resources};
use crate::commands::local;
use crate::commands::page::{self, Shown};
use crate::commands::progress::Bars;
use crate::commands::result;
use anyhow::Result;
use fathom_command::exit::Interrupted;
use fathom_command::log::{self, Verbosity};
use fathom_coordinator::page::{Listening, RunState};
use fathom_engine::directory::{LOG, RunDirectory};
use fathom_engine::observer::Both;
use fathom_engine::search::{End, Options, Stop, is_settled, search};
use fathom_engine::watch;
use fathom_layer::LocalDisk;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(crate) fn run(args: &RunArguments, verbosity: Verbosity) -> Result<()> {
    if let Some(workers) = args.workers {
        return local::run(args, workers, verbosity);
    }
    let options = args.search.options();
    let page = (page::listen(&args.http)?, &args.http);
    let directory = open_or_begin(&args.space, &args.begin, 1, |space, plan, path| {
        require_resources(args, options, space, plan, path)
    })?;
    go_on(directory, options, verbosity, args.search.json, page)
}

pub(crate) fn resume(args: &ResumeArguments, verbosity: Verbosity) -> Result<()> {
    let page = (page::listen(&args.http)?, &args.http);
    go_on(RunDirectory::open(&args.dir)?, args.search.options(), verbosity, args.search.json, page)
}

/// Searches until the run is complete or as deep as asked, and prints what is known then.
fn go_on(
    mut directory: RunDirectory,
    options: Options,
    verbosity: Verbosity,
    json: bool,
    (listening, http): (Option<Listening>, &HttpArguments),
) -> Result<()> {
    log::start(&directory.path.join(LOG), verbosity.beside_bars())?;
    watch::write(&directory.path, &directory.journal, &LocalDisk)?;
    let shown = Shown::local(listening, http, &directory, options.threads)?;
    let mut state = RunState::Complete;
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
        let bars = Bars::new(verbosity);
        let told = Both(&bars, shown.observer());
        let ended = search(&mut directory, &LocalDisk, options, &stop, &told);
        if ended.is_err() {
            shown.end(&directory, RunState::Failed)?;
            return ended.map(drop);
        }
        let end = ended?;
        state = page::state_of_search(end);
        if end == End::Stopped {
            shown.end(&directory, state)?;
            return Err(Interrupted {
                message: format!("stopped; go on with 'fathom resume {}'", directory.path.display()),
                signal: signal.load(Ordering::Relaxed) as i32,
            }
            .into());
        }
    }
    watch::write(&directory.path, &directory.journal, &LocalDisk)?;
    result::print(&directory, json)?;
    shown.end(&directory, state)
}
