//! The page of a run: shows the progress live in a browser, and serves the same numbers to programs.
//!
//! Reading order: [`snapshot`] (a run at a moment), [`feed`] (the source of snapshots), [`outline`] (the part of
//! a snapshot that follows from a run's finished depths), `local` (the feed of a search in this process),
//! `deltas` (what has changed since the last update of the readers), `hub` (passes snapshots to all
//! readers), `guard` (checks requests), `server` (answers requests), `metrics` (for Prometheus). This module
//! combines them.
//! The feeds of a run that is served, and of a directory, are in `fathom-coordinator`.
//!
//! Invariants: nothing that a reader does changes a run or delays it; a snapshot is taken about twice a
//! second, however many readers there are; a slow reader is disconnected, and receives everything when it
//! connects again; text from workers and files enters the page as text and never as markup.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod deltas;
pub mod feed;
mod guard;
mod hub;
mod local;
mod metrics;
pub mod outline;
mod server;
pub mod snapshot;

pub use local::{Limits, Local};
pub use snapshot::RunState;

use anyhow::{Context, Result};
use fathom_command::{bad_input, machine};
use fathom_engine::directory::RunDirectory;
use fathom_proto::access::{PageTls, Token, page};
use feed::{Feed, ReportMaker, StatusMaker};
use guard::Guard;
use hub::Hub;
use server::Answers;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;

/// The time between two snapshots of a run.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(500);
/// The time that readers have to receive the last change.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(400);

/// The addresses that this process listens on, before there is a run to show.
#[derive(Debug)]
pub struct Listening {
    page: Option<PageListener>,
    /// Where programs get metrics, without a token.
    metrics: Option<TcpListener>,
    report: ReportMaker,
}

/// Where the page is served.
#[derive(Debug)]
struct PageListener {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<PageTls>,
}

impl Listening {
    /// Listens on the addresses of the page and of metrics, if they are given. If other machines can reach the page, it
    /// needs TLS. Metrics are served in plain text and without a token.
    ///
    /// # Errors
    /// Bad input if an address does not belong to this machine, is in use, or is one of the page that other machines can
    /// reach without TLS.
    pub fn at(
        page: Option<(SocketAddr, Option<PageTls>)>,
        metrics: Option<SocketAddr>,
        report: ReportMaker,
    ) -> Result<Self> {
        let page = page.map(|(address, tls)| PageListener::at(address, tls)).transpose()?;
        let metrics = metrics.map(|address| bound(address, "--metrics")).transpose()?;
        Ok(Self { page, metrics, report })
    }
}

/// Listens on the address that an option gives.
fn bound(address: SocketAddr, option: &str) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).map_err(|error| {
        bad_input!(
            "cannot listen on {address} for {option}: {}. Choose another address or port",
            error.kind()
        )
    })?;
    listener.set_nonblocking(true).context("cannot set a listener to non-blocking mode")?;
    Ok(listener)
}

impl PageListener {
    fn at(address: SocketAddr, tls: Option<PageTls>) -> Result<Self> {
        if tls.is_none() && !address.ip().to_canonical().is_loopback() {
            return Err(bad_input!(
                "--http {address} would serve the page to other machines in plain text. Add --http-tls-cert and --http-tls-key, or listen on 127.0.0.1 and use an ssh tunnel"
            ));
        }
        let listener = bound(address, "--http")?;
        let address = listener.local_addr().context("cannot determine the address of --http")?;
        Ok(Self { listener, address, tls })
    }

    /// Returns the address of the page, with the token. With TLS the host is one that the certificate has.
    fn page_address(&self, token: &Token) -> String {
        let port = self.address.port();
        let (scheme, at) = match &self.tls {
            None => ("http", self.address.to_string()),
            Some(tls) => {
                let hosts = [self.address.ip().to_string(), machine::host_name(), "localhost".to_owned()];
                let host = hosts.into_iter().find(|host| tls.is_for(host));
                let host = host.unwrap_or_else(|| "A-NAME-OF-THE-CERTIFICATE".to_owned());
                match host.contains(':') {
                    true => ("https", format!("[{host}]:{port}")),
                    false => ("https", format!("{host}:{port}")),
                }
            }
        };
        format!("{scheme}://{at}/?token={}", token.reveal())
    }
}

impl Listening {
    /// Shows a run that this process is computing.
    ///
    /// # Errors
    /// If the token cannot be written into the run's directory, or a thread cannot be started.
    pub fn show(self, run: &RunDirectory, feed: Box<dyn Feed>, status: StatusMaker) -> Result<Page> {
        let token = self.page.is_some().then(|| page::token_of_run(&run.path)).transpose()?;
        self.show_with(run, token, feed, status)
    }

    /// Shows a directory without writing into it.
    ///
    /// # Errors
    /// As [`Listening::show`].
    pub fn show_for_reading(
        self,
        run: &RunDirectory,
        feed: Box<dyn Feed>,
        status: StatusMaker,
    ) -> Result<Page> {
        let token = self.page.is_some().then(|| page::token_for_reading(&run.path)).transpose()?;
        self.show_with(run, token, feed, status)
    }

    fn show_with(
        self,
        run: &RunDirectory,
        token: Option<Token>,
        feed: Box<dyn Feed>,
        status: StatusMaker,
    ) -> Result<Page> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("page").enable_all().build();
        let runtime = runtime.context("cannot start the thread of --http")?;
        let hub = Arc::new(Hub::new());
        let answers = Answers {
            hub: Arc::clone(&hub),
            stories: feed.stories(),
            status,
            report: self.report,
            run: run.path.clone(),
            reporting: Mutex::new(()),
        };
        let answers = Arc::new(answers);
        let listening = |listener| {
            let _in_runtime = runtime.enter();
            tokio::net::TcpListener::from_std(listener).context("cannot listen")
        };
        let mut address = None;
        if let Some((page, token)) = self.page.zip(token) {
            address = Some(page.page_address(&token));
            let guard = Guard { token, tls: page.tls };
            let router = server::page(guard.clone(), Arc::clone(&answers));
            runtime.spawn(server::serve(listening(page.listener)?, guard.tls, router));
        }
        if let Some(listener) = self.metrics {
            runtime.spawn(server::serve(listening(listener)?, None, server::metrics_alone(answers)));
        }
        let (over, is_over) = oneshot::channel();
        let looking = runtime.spawn(publish_snapshots(feed, Arc::clone(&hub), is_over));
        Ok(Page { runtime, address, hub, looking: Some(looking), over: Some(over) })
    }
}

/// Publishes a snapshot at each interval until `is_over` resolves, and returns the feed.
async fn publish_snapshots(
    mut feed: Box<dyn Feed>,
    hub: Arc<Hub>,
    mut is_over: oneshot::Receiver<()>,
) -> Box<dyn Feed> {
    loop {
        tokio::select! {
            _ = &mut is_over => return feed,
            snapshot = feed.snapshot() => snapshot.into_iter().for_each(|snapshot| hub.publish(snapshot)),
        }
        tokio::select! {
            _ = &mut is_over => return feed,
            () = tokio::time::sleep(SNAPSHOT_INTERVAL) => {}
        }
    }
}

/// A page that is served until the value is dropped.
#[derive(Debug)]
pub struct Page {
    runtime: Runtime,
    address: Option<String>,
    hub: Arc<Hub>,
    looking: Option<JoinHandle<Box<dyn Feed>>>,
    over: Option<oneshot::Sender<()>>,
}

impl Page {
    /// Returns the address of the page, with the token; `None` if only metrics are served.
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Shows all readers how the run has ended. The page then stays unchanged until the value is dropped.
    ///
    /// # Errors
    /// If the run cannot be read.
    pub fn end(&mut self, run: &RunDirectory, state: RunState) -> Result<()> {
        drop(self.over.take());
        let Some(looking) = self.looking.take() else { return Ok(()) };
        let mut feed = self.runtime.block_on(looking).context("the page ended before the run")?;
        self.hub.publish(feed.ended(run, state)?);
        Ok(())
    }

    /// Ends the page, after giving readers the time to receive the last change.
    pub fn close(self) {
        std::thread::sleep(SHUTDOWN_TIMEOUT);
        self.runtime.shutdown_background();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_proto::access::keys::Authority;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    #[test]
    fn printed_address_is_accepted_by_the_page() {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
        let valid = SystemTime::now()..SystemTime::now() + Duration::from_secs(3600);
        let token = Token::new(b"0123456789abcdef0123456789abcdef").unwrap();
        let shown = |name: Option<&str>, at: &str| {
            let tls = name.map(|name| {
                let (cert, secret) = Authority::new(&valid).unwrap().certificate(name, &valid).unwrap();
                fs::write(&certificate, cert).unwrap();
                fs::write(&key, secret).unwrap();
                fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
                PageTls::load(&certificate, &key).unwrap()
            });
            let page = PageListener::at(at.parse().unwrap(), tls).unwrap();
            let port = page.address.port().to_string();
            page.page_address(&token).replace(&port, "PORT").replace(token.reveal(), "TOKEN")
        };
        assert_eq!(shown(None, "127.0.0.1:0"), "http://127.0.0.1:PORT/?token=TOKEN");
        assert_eq!(shown(Some("localhost"), "0.0.0.0:0"), "https://localhost:PORT/?token=TOKEN");
        let own = format!("https://{}:PORT/?token=TOKEN", machine::host_name());
        assert_eq!(shown(Some(&machine::host_name()), "0.0.0.0:0"), own);
        assert_eq!(
            shown(Some("node7.example"), "0.0.0.0:0"),
            "https://A-NAME-OF-THE-CERTIFICATE:PORT/?token=TOKEN"
        );
    }
}
