//! `fathom serve`: a run for workers on many hosts.

use crate::arguments::ServeArguments;
use crate::commands::completion_hook;
use crate::commands::new_run::open_or_begin;
use crate::commands::page::{self, Shown};
use crate::commands::progress::coordinator::DisplayOptions;
use crate::commands::run_server::{Served, ended, listen, on_signals, report};
use anyhow::{Context, Result};
use fathom_command::exit::NotDone;
use fathom_command::{bad_input, log, shell};
use fathom_coordinator::cluster::event::Ending;
use fathom_coordinator::cluster::handle::CoordinatorHandle;
use fathom_coordinator::cluster::journal_tables;
use fathom_engine::directory::{LOG, RunDirectory};
use fathom_engine::journal::LayersAt;
use fathom_engine::run::Producers;
use fathom_engine::shared_store;
use fathom_layer::LocalDisk;
use fathom_proto::access::Access;
use fathom_proto::join_file::{self, JoinFile, JoinState, Renewed};
use std::path::Path;

/// Returns how a stopped run is continued.
fn again(path: &Path) -> String {
    format!("run 'fathom serve --dir {}'", shell::path(path))
}

/// Returns the file that leads to the coordinator of a run.
fn leading_to(run: &RunDirectory, address: String, access: &Access, state: JoinState) -> JoinFile {
    let run = run.manifest.fingerprint.to_string()[..16].into();
    JoinFile { run, address, authority: access.authority().map(str::to_owned), state }
}

pub(crate) fn serve(args: &ServeArguments, verbosity: log::Verbosity) -> Result<()> {
    let access = Access::load(&args.access)?;
    access.may_listen(args.cluster.listen)?;
    let layers_at = match &args.shared_store {
        None => LayersAt::Workers,
        // The run's own directory is created below.
        Some(path) if path.is_dir() || args.begin.dir.as_ref() == Some(path) => {
            LayersAt::Store(std::path::absolute(path)?)
        }
        Some(path) => {
            return Err(bad_input!(
                "no such directory: {path}. Create it at a path that is the same on this host and all workers",
                path = path.display()
            ));
        }
    };
    if let Some(path) = &args.join_file {
        join_file::require_replaceable(path)?;
    }
    let listening = page::listen(&args.http)?;
    let mut listener = None;
    let mut run = open_or_begin(&args.space, &args.begin, None, Producers::unknown(), None, |_, _, _| {
        if let LayersAt::Store(store) = &layers_at {
            shared_store::require_free(store, &LocalDisk)?;
        }
        listener = Some(listen(args.cluster.listen)?);
        Ok(args.begin.keep)
    })?;
    log::start(&run.path.join(LOG), verbosity.lines())?;
    // If the last coordinator was killed, workers may still be waiting to learn that the run has ended.
    let is_told = !journal_tables::has_untold(&run.journal).context("cannot read run.db")?;
    if let Some(ending) = ended(&run, args.cluster.max_depth)?.filter(|_| is_told) {
        if let Some(path) = &args.join_file {
            leading_to(&run, args.cluster.listen.to_string(), &access, JoinState::Ended).write(path)?;
        }
        let shown = Shown::ended(listening, &args.http, &run)?;
        let reported = report(&ending, &run, args.json, &again(&run.path));
        run.unlock();
        let told = completion_hook::after(&args.on_done, &run.path, false, reported);
        shown.end(&run, page::state_of(&ending))?;
        return told;
    }
    let path = run.path.clone();
    if let Some(options) = &args.options {
        options.write(&path)?;
    }
    let display = DisplayOptions { verbosity, max_depth: args.cluster.max_depth, holds_layers: false };
    let listener = listener.map_or_else(|| listen(args.cluster.listen), Ok)?;
    let served = Served::begin(run, listener, &layers_at, &args.cluster, &access, display)?;
    on_signals(served.handle.clone(), CoordinatorHandle::terminate);
    let shown = Shown::served(listening, &args.http, served.run(), &served.handle)?;
    let leading = leading_to(served.run(), served.called.clone(), &access, JoinState::Serving);
    let renewed = args.join_file.as_ref().map(|path| Renewed::begin(path, leading)).transpose()?;
    let served = served.until_end();
    if let Some(renewed) = renewed {
        renewed.end(match &served {
            Ok((Ending::Complete | Ending::MaxDepth, _)) => JoinState::Ended,
            _ => JoinState::Stopped,
        });
    }
    match served {
        Ok((ending, mut run)) => {
            let reported = report(&ending, &run, args.json, &again(&path));
            run.unlock();
            let ended = completion_hook::after(&args.on_done, &path, ending.is_stop(), reported);
            shown.end(&run, page::state_of(&ending))?;
            match args.requeue_code.filter(|_| matches!(ending, Ending::Terminated)) {
                Some(code) => ended.and(Err(NotDone(code).into())),
                None => ended,
            }
        }
        Err(error) => completion_hook::after(&args.on_done, &path, false, Err(error)),
    }
}
