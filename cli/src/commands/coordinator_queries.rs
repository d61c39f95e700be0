//! Commands that query a coordinator: `fathom status HOST:PORT`, `fathom workers`, `fathom drain`, `fathom
//! stop`.

use crate::arguments::{DrainArguments, StopArguments, WorkersArguments};
use anyhow::{Context, Result, anyhow};
use fathom_command::exit::BadInput;
use fathom_command::{bad_input, output};
use fathom_coordinator::cluster::serve::SERVING_ENDS;
use fathom_coordinator::cluster::status::{ClusterStatus, WorkerStatus};
use fathom_engine::run::RunManifest;
use fathom_proto::access::{Access, AccessArguments, Connection};
use fathom_proto::v1;
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use fathom_report::text;
use indicatif::{HumanBytes, HumanCount};
use serde_json::Value;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tonic::{Code, Response, Status};

/// The maximum size of a response in bytes. A list of files may have a million entries.
const MAX_ANSWER_BYTES: usize = 256 << 20;
/// The time limit for connecting to the coordinator, and for each of its answers.
const LIMIT: Duration = Duration::from_secs(10);

/// Returns the argument as the address of a coordinator if it has a colon and no file has that name.
pub(crate) fn address_of(named: &Path) -> Option<&str> {
    named.to_str().filter(|text| text.contains(':') && !named.exists())
}

/// A connection to a coordinator.
pub(crate) struct Coordinator {
    runtime: Runtime,
    client: CoordinatorClient<Connection>,
}

impl Coordinator {
    /// Connects to the coordinator at an address.
    pub(crate) fn call(address: &str, access: &AccessArguments) -> Result<Self> {
        let access = Access::load(access)?.for_coordinator(address);
        // A separate thread answers the coordinator's keep-alive requests, even while this process computes
        // or is blocked on writing its output.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let connection = runtime.block_on(access.connect(address, LIMIT));
        let connection = connection.map_err(|error| match error.may_pass() {
            true => anyhow!("{error}. Is 'fathom serve' running there?"),
            false => bad_input!("{error}"),
        })?;
        let client = CoordinatorClient::new(connection).max_decoding_message_size(MAX_ANSWER_BYTES);
        Ok(Self { runtime, client })
    }

    fn answer<T>(&self, call: impl Future<Output = Result<Response<T>, Status>>) -> Result<T> {
        let answered = self.runtime.block_on(async { tokio::time::timeout(LIMIT, call).await });
        let answered = answered.map_err(|_| anyhow!("no response from the coordinator"))?;
        answered.map(Response::into_inner).map_err(|status| match status.code() {
            Code::FailedPrecondition | Code::Unauthenticated | Code::InvalidArgument => {
                bad_input!("{}", status.message())
            }
            _ => anyhow!("{}", status.message()),
        })
    }

    /// Passes each event to `tell` as a line of JSON until the coordinator exits.
    pub(crate) fn follow(&mut self, tell: impl Fn(&str) -> Result<()>) -> Result<()> {
        let mut client = self.client.clone();
        let mut events = self.answer(async move { client.watch_events(v1::WatchEventsRequest {}).await })?;
        loop {
            match self.runtime.block_on(events.message()) {
                Ok(Some(event)) => tell(&event.json)?,
                Ok(None) => return Ok(()),
                // A coordinator that has exited sends no response.
                Err(_) if self.status().is_err() => return Ok(()),
                Err(error) => {
                    return Err(anyhow!(
                        "the coordinator is reachable but rejected the request: {}",
                        error.message()
                    ));
                }
            }
        }
    }

    /// Requests the list of kept files and the workers that hold them.
    pub(crate) fn files(&mut self) -> Result<v1::ListFilesResponse> {
        let mut client = self.client.clone();
        self.answer(async move { client.list_files(v1::ListFilesRequest {}).await })
    }

    /// Requests the definition of the run.
    pub(crate) fn manifest(&mut self) -> Result<RunManifest> {
        let mut client = self.client.clone();
        let request =
            v1::DescribeRunRequest { protocol_version: v1::PROTOCOL_VERSION, worker_name: "audit".into() };
        let described = self.answer(async move { client.describe_run(request).await })?;
        RunManifest::from_toml(&described.definition)
            .context("the coordinator sent an unusable run definition")
    }

    /// Requests the object that `fathom status --json` prints.
    pub(crate) fn status(&mut self) -> Result<String> {
        let mut client = self.client.clone();
        Ok(self.answer(async move { client.get_status(v1::GetStatusRequest {}).await })?.json)
    }
}

/// A coordinator that is watched: it may be away for a while, and says how it ends.
pub(crate) struct Watched {
    address: String,
    access: AccessArguments,
    coordinator: Option<Coordinator>,
    /// Since when it cannot be reached.
    away: Option<Instant>,
    events: Arc<Mutex<Events>>,
}

/// The events of a coordinator.
#[derive(Debug, Default)]
struct Events {
    newest: VecDeque<Value>,
    /// How the coordinator ended, in its words.
    ending: Option<String>,
}

/// What is known of a coordinator.
pub(crate) enum Seen {
    /// The object that `fathom status --json` prints.
    Status(String),
    /// It cannot be reached for this time.
    Away(Duration),
    /// It has ended in order; how, in its words.
    Ended(String),
}

impl Watched {
    /// The maximum number of events that are kept.
    const EVENTS: usize = 200;

    /// Connects to the coordinator at an address.
    pub(crate) fn call(address: &str, access: &AccessArguments) -> Result<Self> {
        let coordinator = Some(Coordinator::call(address, access)?);
        let events = Arc::default();
        let this = Self { address: address.into(), access: access.clone(), coordinator, away: None, events };
        this.follow()?;
        Ok(this)
    }

    /// Returns the newest events, the last one last.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.locked().newest.iter().cloned().collect()
    }

    fn locked(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread that gathers events, until the coordinator exits.
    fn follow(&self) -> Result<()> {
        let mut coordinator = Coordinator::call(&self.address, &self.access)?;
        let events = Arc::clone(&self.events);
        std::thread::Builder::new().name("events".into()).spawn(move || {
            // The next request reports that the coordinator has exited.
            let _ = coordinator.follow(|text| {
                if let Ok(event) = serde_json::from_str::<Value>(text) {
                    let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
                    events.ending = (event["message"] == SERVING_ENDS)
                        .then(|| event["detail"].as_str().unwrap_or_default().to_owned());
                    events.newest.push_back(event);
                    if events.newest.len() > Self::EVENTS {
                        events.newest.pop_front();
                    }
                }
                Ok(())
            });
        })?;
        Ok(())
    }

    /// Asks for the status once. A coordinator that cannot be reached is called again.
    ///
    /// # Errors
    /// If the coordinator refuses, for example because another one has taken its address.
    pub(crate) fn look(&mut self) -> Result<Seen> {
        let status = match &mut self.coordinator {
            Some(coordinator) => coordinator.status(),
            None => match Coordinator::call(&self.address, &self.access) {
                Ok(mut coordinator) => {
                    self.follow()?;
                    let status = coordinator.status();
                    self.coordinator = Some(coordinator);
                    status
                }
                Err(error) => Err(error),
            },
        };
        match status {
            Ok(status) => {
                self.away = None;
                Ok(Seen::Status(status))
            }
            Err(error) if error.is::<BadInput>() => Err(error),
            Err(_) => {
                self.coordinator = None;
                if let Some(ending) = self.locked().ending.clone() {
                    return Ok(Seen::Ended(ending));
                }
                Ok(Seen::Away(self.away.get_or_insert_with(Instant::now).elapsed()))
            }
        }
    }
}

pub(crate) fn workers(args: &WorkersArguments) -> Result<()> {
    let json = Coordinator::call(&args.coordinator, &args.access)?.status()?;
    let status: ClusterStatus = serde_json::from_str(&json)?;
    output::line(&match args.json {
        true => serde_json::to_string(&status.workers)?,
        false => table_of(&status.workers),
    })
}

/// Formats a table with one line for each worker.
pub(crate) fn table_of(workers: &[WorkerStatus]) -> String {
    let rows = workers.iter().map(|worker| {
        [
            worker.id.clone(),
            worker.name.clone(),
            worker.presence.clone(),
            match worker.kernel.as_str() {
                "" => worker.threads.to_string(),
                kernel => format!("{} {kernel}", worker.threads),
            },
            worker.shards_running.to_string(),
            worker.files.to_string(),
            match worker.states_per_second as u64 {
                // Not known yet.
                0 => "-".into(),
                rate => format!("{}/s", HumanCount(rate)),
            },
            worker.heard_seconds.map_or("-".into(), |seconds| format!("{seconds:.1} s ago")),
            HumanBytes(worker.sent_bytes).to_string(),
            match worker.disk_limit_bytes {
                None => HumanBytes(worker.free_bytes).to_string(),
                Some(limit) => format!("{} of {}", HumanBytes(worker.free_bytes), HumanBytes(limit)),
            },
            worker.address.clone(),
        ]
    });
    let header =
        ["id", "name", "is", "threads", "shards", "files", "states", "heard", "sent", "free disk", "address"];
    text::plain(header, rows).trim_end().to_owned()
}

pub(crate) fn drain(args: &DrainArguments) -> Result<()> {
    let coordinator = Coordinator::call(&args.coordinator, &args.access)?;
    let mut client = coordinator.client.clone();
    let request = v1::DrainRequest { worker: args.worker.clone() };
    output::line(&coordinator.answer(async move { client.drain(request).await })?.message)
}

pub(crate) fn stop(args: &StopArguments) -> Result<()> {
    let coordinator = Coordinator::call(&args.coordinator, &args.access)?;
    let mut client = coordinator.client.clone();
    output::line(&coordinator.answer(async move { client.stop(v1::StopRequest {}).await })?.message)
}
