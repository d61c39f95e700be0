//! `--http`, and `fathom page`.

use crate::arguments::{HttpArguments, PageArguments};
use crate::commands::{report, status};
use anyhow::{Context, Result};
use fathom_command::interrupt::{Interrupts, interrupts};
use fathom_command::output;
use fathom_coordinator::cluster::event::Ending;
use fathom_coordinator::cluster::handle::CoordinatorHandle;
use fathom_coordinator::feed::coordinator::{self, Served};
use fathom_coordinator::feed::directory::Directory;
use fathom_engine::directory::RunDirectory;
use fathom_engine::observer::{Observer, Silent};
use fathom_engine::search::End;
use fathom_page::feed::StatusMaker;
use fathom_page::{Limits, Listening, Local, Page, RunState};
use fathom_proto::access::PageTls;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a lingering page checks whether it should end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Listens on the addresses of `--http` and `--metrics`. Called before the run starts, so that nothing is written if an
/// address cannot be used.
pub(crate) fn listen(args: &HttpArguments) -> Result<Option<Listening>> {
    if args.http.is_none() && args.metrics.is_none() {
        return Ok(None);
    }
    let tls = match (&args.http_tls_cert, &args.http_tls_key) {
        (Some(certificate), Some(key)) => Some(PageTls::load(certificate, key)?),
        _ => None,
    };
    Listening::at(args.http.map(|address| (address, tls)), args.metrics, report::text_of).map(Some)
}

/// The page of a run, if `--http` is given.
#[derive(Debug)]
pub(crate) struct Shown {
    page: Option<Page>,
    local: Option<Local>,
    linger: Duration,
}

impl Shown {
    /// Shows a run that this process computes.
    pub(crate) fn local(
        listening: Option<Listening>,
        args: &HttpArguments,
        run: &RunDirectory,
        limits: Limits,
    ) -> Result<Self> {
        let local = listening.is_some().then(|| Local::new(run, limits)).transpose()?;
        let page = match (listening, &local) {
            (Some(listening), Some(local)) => {
                Some(listening.show(run, Box::new(local.clone()), of_directory(&run.path))?)
            }
            _ => None,
        };
        Ok(Self::new(page, local, args))
    }

    /// Shows a run that a coordinator in this process serves.
    pub(crate) fn served(
        listening: Option<Listening>,
        args: &HttpArguments,
        run: &RunDirectory,
        handle: &CoordinatorHandle,
    ) -> Result<Self> {
        let page = match listening {
            Some(listening) => {
                let feed = Box::new(Served::new(run, handle.clone())?);
                Some(listening.show(run, feed, coordinator::status(handle))?)
            }
            None => None,
        };
        Ok(Self::new(page, None, args))
    }

    /// Shows a run that has ended already, if `--http-linger` is given.
    pub(crate) fn ended(
        listening: Option<Listening>,
        args: &HttpArguments,
        run: &RunDirectory,
    ) -> Result<Self> {
        let listening = listening.filter(|_| args.http_linger.is_some());
        let page = listening.map(|listening| show_directory(listening, run)).transpose()?;
        let shown = Self::new(page, None, args);
        shown.ends_with_a_signal();
        Ok(shown)
    }

    /// Makes the next signal close the page instead of ending the process immediately.
    pub(crate) fn ends_with_a_signal(&self) {
        if self.page.is_some() {
            stopped();
        }
    }

    fn new(page: Option<Page>, local: Option<Local>, args: &HttpArguments) -> Self {
        if let Some(address) = page.as_ref().and_then(Page::address) {
            output::remark(&format!("the page of this run is at {address}"));
        }
        Self { page, local, linger: args.http_linger.unwrap_or_default() }
    }

    /// Returns the observer that the search reports to.
    pub(crate) fn observer(&self) -> &dyn Observer {
        match &self.local {
            Some(local) => local,
            None => &Silent,
        }
    }

    /// Shows how the run ended, for the time of `--http-linger`. If the run was stopped or has failed, the
    /// page closes as soon as connected browsers have been notified.
    pub(crate) fn end(self, run: &RunDirectory, state: RunState) -> Result<()> {
        let Some(mut page) = self.page else { return Ok(()) };
        page.end(run, state)?;
        let has_broken_off = matches!(state, RunState::Stopped | RunState::Failed);
        let linger = if has_broken_off { Duration::ZERO } else { self.linger };
        let until = Instant::now() + linger;
        let stopped = stopped();
        while Instant::now() < until && !stopped.load(Ordering::Relaxed) {
            std::thread::sleep(POLL_INTERVAL);
        }
        page.close();
        Ok(())
    }
}

/// Returns the state that the page shows at the end of a search.
pub(crate) fn state_of_search(end: End) -> RunState {
    match end {
        End::Complete => RunState::Complete,
        End::MaxDepth => RunState::DeepEnough,
        End::Stopped => RunState::Stopped,
    }
}

/// Returns the state that the page shows at the end of a run that was served.
pub(crate) fn state_of(ending: &Ending) -> RunState {
    match ending {
        Ending::Complete => RunState::Complete,
        Ending::MaxDepth => RunState::DeepEnough,
        Ending::Stopped | Ending::Terminated => RunState::Stopped,
        Ending::Failed(_) => RunState::Failed,
    }
}

/// Shows the run in a directory, without writing to it.
fn show_directory(listening: Listening, run: &RunDirectory) -> Result<Page> {
    listening.show_for_reading(run, Box::new(Directory::new(run)), of_directory(&run.path))
}

fn of_directory(path: &Path) -> StatusMaker {
    let path = path.to_owned();
    Arc::new(move || {
        let path = path.clone();
        Box::pin(async move {
            let made = tokio::task::spawn_blocking(move || status::json_of_directory(&path));
            made.await.context("the status could not be computed")?
        })
    })
}

/// Returns a flag that the first signal sets. A second signal ends the process.
fn stopped() -> Arc<AtomicBool> {
    let Interrupts { at_once, requested, .. } = interrupts().clone();
    at_once.store(false, Ordering::Relaxed);
    requested
}

/// Runs `fathom page`: shows a directory until a signal arrives or the time of `--http-linger` is over.
pub(crate) fn page(args: &PageArguments) -> Result<()> {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let http = HttpArguments { http: Some(args.http.http.unwrap_or(any_port)), ..args.http.clone() };
    let listening = listen(&http)?;
    let run = RunDirectory::open_for_reading(&args.dir)?;
    let stopped = stopped();
    let Some(listening) = listening else { return Ok(()) };
    let page = show_directory(listening, &run)?;
    output::line(page.address().unwrap_or_default())?;
    let until = http.http_linger.map(|linger| Instant::now() + linger);
    while !stopped.load(Ordering::Relaxed) && until.is_none_or(|until| Instant::now() < until) {
        std::thread::sleep(POLL_INTERVAL);
    }
    page.close();
    Ok(())
}
