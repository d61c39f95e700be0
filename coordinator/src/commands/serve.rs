//! `fathom serve`: a run for workers on many hosts.

use crate::arguments::ServeArguments;
use crate::commands::begin::open_or_begin;
use crate::commands::served::{Served, ended, on_signals, report};
use anyhow::Result;
use fathom_command::log;
use fathom_coordinator::cluster::serve::Desk;
use fathom_engine::directory::LOG;
use fathom_engine::journal::LayersAt;
use fathom_proto::access::Access;

pub(crate) fn serve(asked: &ServeArguments, verbosity: log::Verbosity) -> Result<()> {
    let access = Access::load(&asked.access)?;
    access.may_listen(asked.cluster.listen)?;
    let layers_at = match &asked.shared_store {
        None => LayersAt::Workers,
        Some(path) => LayersAt::SharedStore(path.clone()),
    };
    let run = open_or_begin(&asked.space, &asked.begin, 1, |_, _, _| Ok(()))?;
    log::start(&run.path.join(LOG), verbosity.lines())?;
    if let Some(ending) = ended(&run, asked.cluster.max_depth)? {
        return report(&ending, &run, asked.json);
    }
    let served = Served::begin(run, &layers_at, &asked.cluster, &access)?;
    on_signals(served.desk.clone(), Desk::terminate)?;
    let (ending, run) = served.until_end()?;
    report(&ending, &run, asked.json)
}
