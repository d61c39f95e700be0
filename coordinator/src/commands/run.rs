//! `fathom run` and `fathom resume`.

use crate::arguments::{ResumeArguments, RunArguments, SearchArguments};
use crate::commands::begin::{open_or_begin, require_resources};
use crate::commands::local;
use crate::commands::on_done;
use crate::commands::progress::Display;
use crate::commands::result;
use anyhow::Result;
use fathom_command::exit::Interrupted;
use fathom_command::interrupt::{Interrupts, interrupts};
use fathom_command::log::{self, Verbosity};
use fathom_engine::directory::{LOG, RunDirectory};
use fathom_engine::search::{End, Stop, is_settled, search};
use fathom_engine::watch;
use fathom_layer::{Disk, LimitedDisk, LocalDisk};
use std::sync::atomic::Ordering;

pub(crate) fn run(args: &RunArguments, verbosity: Verbosity) -> Result<()> {
    if let Some(workers) = args.workers {
        return local::run(args, workers, verbosity);
    }
    let options = args.search.options();
    let directory = open_or_begin(&args.space, &args.begin, 1, |space, plan, path| {
        require_resources(args, options, space, plan, path)
    })?;
    go_on(directory, &args.search, verbosity)
}

pub(crate) fn resume(args: &ResumeArguments, verbosity: Verbosity) -> Result<()> {
    go_on(RunDirectory::open(&args.dir)?, &args.search, verbosity)
}

/// Searches until the run is complete or as deep as asked, and prints what is known then.
fn go_on(directory: RunDirectory, args: &SearchArguments, verbosity: Verbosity) -> Result<()> {
    let path = directory.path.clone();
    on_done::after(&args.on_done, &path, searched(directory, args, verbosity))
}

fn searched(mut directory: RunDirectory, args: &SearchArguments, verbosity: Verbosity) -> Result<()> {
    let options = args.options();
    let limited = args.disk_limit.map(|most| LimitedDisk::new(&directory.path, most));
    let disk: &dyn Disk = limited.as_ref().map_or(&LocalDisk, |limited| limited);
    log::start(&directory.path.join(LOG), verbosity.beside_bars())?;
    watch::write(&directory.path, &directory.journal, &LocalDisk)?;
    if !is_settled(&directory, &LocalDisk)? {
        let Interrupts { at_once, requested, signal } = interrupts().clone();
        let stop = Stop { requested, at_once };
        let display = Display::new(&directory, verbosity, options.max_depth)?;
        let end = search(&mut directory, disk, options, &stop, &display)?;
        drop(display);
        if end == End::Stopped {
            return Err(Interrupted {
                message: format!("stopped; go on with 'fathom resume {}'", directory.path.display()),
                signal: signal.load(Ordering::Relaxed) as i32,
            }
            .into());
        }
    }
    watch::write(&directory.path, &directory.journal, &LocalDisk)?;
    result::print(&directory, args.json)
}
