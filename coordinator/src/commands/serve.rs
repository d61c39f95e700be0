//! `fathom serve`: a run for workers on many hosts.

use crate::arguments::ServeArguments;
use crate::commands::begin::open_or_begin;
use crate::commands::on_done;
use crate::commands::served::{Served, ended, on_signals, report};
use anyhow::Result;
use fathom_command::log;
use fathom_coordinator::cluster::serve::CoordinatorHandle;
use fathom_engine::directory::{LOG, RunDirectory};
use fathom_engine::journal::LayersAt;
use fathom_proto::access::Access;

pub(crate) fn serve(args: &ServeArguments, verbosity: log::Verbosity) -> Result<()> {
    let access = Access::load(&args.access)?;
    access.may_listen(args.cluster.listen)?;
    let layers_at = match &args.shared_store {
        None => LayersAt::Workers,
        Some(path) => LayersAt::SharedStore(path.clone()),
    };
    let run = open_or_begin(&args.space, &args.begin, 1, |_, _, _| Ok(()))?;
    log::start(&run.path.join(LOG), verbosity.lines())?;
    if let Some(ending) = ended(&run, args.cluster.max_depth)? {
        return report(&ending, &run, args.json);
    }
    let path = run.path.clone();
    on_done::after(&args.on_done, &path, served(run, args, &layers_at, &access))
}

fn served(run: RunDirectory, args: &ServeArguments, layers_at: &LayersAt, access: &Access) -> Result<()> {
    let served = Served::begin(run, layers_at, &args.cluster, access)?;
    on_signals(served.handle.clone(), CoordinatorHandle::terminate)?;
    let (ending, run) = served.until_end()?;
    report(&ending, &run, args.json)
}
