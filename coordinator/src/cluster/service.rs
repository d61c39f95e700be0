//! The gRPC service around the decisions: converts messages to events, and replies to messages.

use crate::cluster::event::{Event, Holders, Holding, Progress, Registration, Reply};
use crate::cluster::handle::{Answer, Closed, CoordinatorHandle, KeptFiles, held_up};
use anyhow::Result;
use fathom_command::bad_input;
use fathom_engine::run::{Depth, Geometry, Task};
use fathom_proto::access::Access;
use fathom_proto::v1;
use fathom_proto::v1::coordinator_server::{self, CoordinatorServer};
use fathom_proto::{Sealed, Session, WorkerId, convert};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::broadcast::error::RecvError;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Response, Status};
use tracing::warn;

/// Largest message of a worker, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// Maximum number of cosets of a shard: the report has a checksum of 32 bytes for each, which take almost the
/// whole message.
const MAX_COSETS: u32 = (MAX_MESSAGE_BYTES / 32) as u32 - (1 << 15);
/// Maximum number of tasks that a worker may request at once.
const MAX_TASKS: u32 = 4096;
/// Maximum length in bytes of a worker's name, address, kernel and version.
const MAX_NAME: usize = 256;

/// The gRPC service of the coordinator.
#[derive(Clone, Debug)]
pub struct Service {
    handle: CoordinatorHandle,
    geometry: Geometry,
    description: v1::DescribeRunResponse,
    heartbeat: Duration,
}

/// Checks that the report of a shard fits in a message.
///
/// # Errors
/// If the shards have too many cosets.
pub(super) fn require_small_shards(geometry: &Geometry) -> Result<()> {
    let (cosets, shards) = (geometry.cut.cosets(), geometry.cut.shards());
    let least = cosets.div_ceil(MAX_COSETS);
    match shards >= least {
        true => Ok(()),
        false => Err(bad_input!(
            "the run has {shards} shards, too few for {cosets} cosets: the reports would be too large for the network. Start a run with --shards {least} or more, or continue this one in a single process with 'fathom resume'"
        )),
    }
}

impl Service {
    /// Creates the service. `description` is the response to workers that ask about the run.
    pub fn new(
        handle: CoordinatorHandle,
        geometry: Geometry,
        description: v1::DescribeRunResponse,
        heartbeat: Duration,
    ) -> Self {
        Self { handle, geometry, description, heartbeat }
    }

    /// Returns the services of the coordinator's server, restricted to authorised callers.
    pub fn into_services(self, access: &Access) -> Routes {
        let service = CoordinatorServer::new(self).max_decoding_message_size(MAX_MESSAGE_BYTES);
        Routes::new(InterceptedService::new(service, access.token_check()))
    }

    fn tasks(&self, files: &[v1::File]) -> Result<Vec<Task>, Status> {
        Ok(files.iter().map(|file| convert::file(Some(file), &self.geometry)).collect::<Result<_, _>>()?)
    }

    fn progress(&self, progress: v1::Progress) -> Result<Progress, Status> {
        Ok(Progress {
            depth: Some(Depth(progress.depth)),
            cosets: progress.cosets,
            states: progress.states,
            found_states: progress.found_states,
            audited_cosets: progress.audited_cosets,
            sent_bytes: progress.sent_bytes,
            received_bytes: progress.received_bytes,
            free_bytes: progress.free_bytes,
            underway: self.tasks(&progress.underway)?,
            fetching: self.tasks(&progress.fetching)?,
            usage: progress.usage.unwrap_or_default().into(),
        })
    }

    /// Returns the worker's message, or `None` if its session is unknown: a message that does not fit this
    /// run may be from a worker of another run, which registers again and then learns of the mismatch.
    async fn of_session<T, E: Into<Status>>(
        &self,
        session: u64,
        sent: Result<T, E>,
    ) -> Result<Option<T>, Status> {
        match sent {
            Ok(sent) => Ok(Some(sent)),
            Err(error) => {
                let ask = move |request| Event::Heartbeat(request, Session(session), Progress::default());
                match known(self.handle.ask(ask).await?)? {
                    true => Err(error.into()),
                    false => Ok(None),
                }
            }
        }
    }

    fn registration(
        &self,
        request: v1::RegisterRequest,
        peer: Option<SocketAddr>,
    ) -> Result<Registration, Status> {
        require_names(&[
            ("name", &request.name),
            ("exchange_address", &request.exchange_address),
            ("kernel", &request.kernel),
            ("version", &request.version),
        ])?;
        require_version(request.protocol_version, &request.name)?;
        let fingerprint = convert::digest("fingerprint", &request.fingerprint)?;
        if fingerprint.0 != self.geometry.fingerprint {
            warn!(worker = request.name, "a worker of another run was refused");
            return Err(Status::failed_precondition(format!(
                "this coordinator serves another run than the one that this worker has prepared for ({fingerprint}). Restart the worker, or join another coordinator"
            )));
        }
        let address = match (request.exchange_address.strip_prefix(':'), peer) {
            (Some(port), Some(SocketAddr::V6(peer))) => format!("[{}]:{port}", peer.ip()),
            (Some(port), Some(SocketAddr::V4(peer))) => format!("{}:{port}", peer.ip()),
            (Some(_), None) => return Err(Status::invalid_argument("exchange_address: has no host")),
            (None, _) => request.exchange_address,
        };
        Ok(Registration {
            number: (request.process != 0).then_some((request.process, request.registration)),
            worker: convert::worker_id(&request.worker_id)?,
            name: request.name,
            address,
            threads: request.threads.clamp(1, MAX_TASKS),
            memory_bytes: request.memory_bytes,
            kernel: request.kernel,
            version: request.version,
            inventory: request
                .inventory
                .iter()
                .map(|file| convert::stored_file(Some(file), &self.geometry))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// Rejects texts that are too long, or that have control characters, which a terminal would interpret.
fn require_names(names: &[(&str, &str)]) -> Result<(), Status> {
    for (field, text) in names {
        if text.len() > MAX_NAME {
            return Err(Status::invalid_argument(format!(
                "{field}: longer than {MAX_NAME} bytes: choose a shorter name"
            )));
        }
        if let Some(control) = text.chars().find(|&c| convert::is_control(c)) {
            return Err(Status::invalid_argument(format!(
                "{field}: the character {control:?} is not allowed in a name"
            )));
        }
    }
    Ok(())
}

fn require_version(version: u32, worker: &str) -> Result<(), Status> {
    if version == v1::PROTOCOL_VERSION {
        return Ok(());
    }
    warn!(worker, version, "a worker of another version was refused");
    Err(Status::failed_precondition(format!(
        "this coordinator speaks version {} of the protocol, this worker version {version}. Use the same version of Fathom for both",
        v1::PROTOCOL_VERSION
    )))
}

/// Waits for the loop to answer a user's call, but not while the loop waits for the journal.
async fn unless_held_up<T>(answer: impl Future<Output = Result<T, Closed>>) -> Result<T, Status> {
    tokio::select! {
        answer = answer => Ok(answer?),
        reason = held_up() => {
            Err(Status::unavailable(format!("{reason}; a stop or a drain takes effect afterwards")))
        }
    }
}

impl From<Closed> for Status {
    fn from(closed: Closed) -> Self {
        Self::unavailable(closed.to_string())
    }
}

/// The status for a reply of the wrong kind; the loop never gives one.
fn unfitting(reply: &Reply) -> Status {
    Status::internal(format!("unexpected reply {reply:?}"))
}

fn known(answer: Answer) -> Result<bool, Status> {
    match answer.reply {
        Reply::Known => Ok(true),
        Reply::Unknown => Ok(false),
        reply => Err(unfitting(&reply)),
    }
}

fn said(answer: Answer) -> Result<String, Status> {
    match answer.reply {
        Reply::Said(message) => Ok(message),
        Reply::Refused(message) => Err(Status::failed_precondition(message)),
        reply => Err(unfitting(&reply)),
    }
}

#[tonic::async_trait]
impl coordinator_server::Coordinator for Service {
    type WatchEventsStream = Pin<Box<dyn Stream<Item = Result<v1::WatchEventsResponse, Status>> + Send>>;

    async fn describe_run(
        &self,
        request: Request<v1::DescribeRunRequest>,
    ) -> Result<Response<v1::DescribeRunResponse>, Status> {
        let request = request.into_inner();
        require_names(&[("worker_name", &request.worker_name)])?;
        require_version(request.protocol_version, &request.worker_name)?;
        Ok(Response::new(self.description.clone()))
    }

    async fn register(
        &self,
        request: Request<v1::RegisterRequest>,
    ) -> Result<Response<v1::RegisterResponse>, Status> {
        let peer = request.remote_addr();
        let registration = self.registration(request.into_inner(), peer)?;
        let answer = self.handle.ask(|request| Event::Register(request, registration)).await?;
        match answer.reply {
            Reply::Registered { session, needed } => Ok(Response::new(v1::RegisterResponse {
                session: session.0,
                heartbeat_interval_ms: self.heartbeat.as_millis() as u64,
                needed_depths: needed.into_iter().map(|depth| depth.0).collect(),
            })),
            Reply::Refused(message) => Err(Status::failed_precondition(message)),
            reply => Err(unfitting(&reply)),
        }
    }

    async fn heartbeat(
        &self,
        request: Request<v1::HeartbeatRequest>,
    ) -> Result<Response<v1::HeartbeatResponse>, Status> {
        let v1::HeartbeatRequest { session, progress } = request.into_inner();
        let Some(progress) = self.of_session(session, self.progress(progress.unwrap_or_default())).await?
        else {
            return Ok(Response::new(v1::HeartbeatResponse { known: false }));
        };
        let answer =
            self.handle.ask(move |request| Event::Heartbeat(request, Session(session), progress)).await?;
        Ok(Response::new(v1::HeartbeatResponse { known: known(answer)? }))
    }

    async fn take_commands(
        &self,
        request: Request<v1::TakeCommandsRequest>,
    ) -> Result<Response<v1::TakeCommandsResponse>, Status> {
        let v1::TakeCommandsRequest { session, tasks, holders_version } = request.into_inner();
        let (session, tasks, version) = (Session(session), tasks.min(MAX_TASKS), holders_version);
        let event = move |request| Event::TakeCommands { request, session, tasks, version };
        let Answer { reply, addresses } = self.handle.ask(event).await?;
        match reply {
            Reply::Unknown => {
                let unknown = v1::TakeCommandsResponse { known: false, ..Default::default() };
                Ok(Response::new(unknown.seal()))
            }
            Reply::Commands(commands, holders) => {
                let commands = v1::TakeCommandsResponse {
                    known: true,
                    commands: commands
                        .into_iter()
                        .map(|order| order.with_holders(|id| addresses.get(&id).cloned()).into())
                        .collect(),
                    holders: holders.map(|holders| message_of_holders(&holders, &addresses)),
                    ..Default::default()
                };
                Ok(Response::new(commands.seal()))
            }
            reply => Err(unfitting(&reply)),
        }
    }

    async fn report(
        &self,
        request: Request<v1::ReportRequest>,
    ) -> Result<Response<v1::ReportResponse>, Status> {
        let v1::ReportRequest { session, number, outcomes, .. } = request.into_inner().open()?;
        let outcomes = outcomes.into_iter().map(|outcome| convert::outcome(outcome, &self.geometry));
        let Some(outcomes) = self.of_session(session, outcomes.collect::<Result<_, _>>()).await? else {
            return Ok(Response::new(v1::ReportResponse { known: false }));
        };
        let session = Session(session);
        let answer =
            self.handle.ask(move |request| Event::Report { request, session, number, outcomes }).await?;
        Ok(Response::new(v1::ReportResponse { known: known(answer)? }))
    }

    async fn leave(&self, request: Request<v1::LeaveRequest>) -> Result<Response<v1::LeaveResponse>, Status> {
        let v1::LeaveRequest { session, progress } = request.into_inner();
        if let Some(progress) = progress
            && let Some(progress) = self.of_session(session, self.progress(progress)).await?
        {
            self.handle.ask(move |request| Event::Heartbeat(request, Session(session), progress)).await?;
        }
        self.handle.ask(move |request| Event::Leave(request, Session(session))).await?;
        Ok(Response::new(v1::LeaveResponse {}))
    }

    async fn drain(&self, request: Request<v1::DrainRequest>) -> Result<Response<v1::DrainResponse>, Status> {
        let name = request.into_inner().worker;
        let answer = unless_held_up(self.handle.ask(move |request| Event::Drain(request, name))).await?;
        Ok(Response::new(v1::DrainResponse { message: said(answer)? }))
    }

    async fn stop(&self, _: Request<v1::StopRequest>) -> Result<Response<v1::StopResponse>, Status> {
        let answer = unless_held_up(self.handle.ask(Event::Stop)).await?;
        Ok(Response::new(v1::StopResponse { message: said(answer)? }))
    }

    async fn get_status(
        &self,
        _: Request<v1::GetStatusRequest>,
    ) -> Result<Response<v1::GetStatusResponse>, Status> {
        Ok(Response::new(v1::GetStatusResponse { json: unless_held_up(self.handle.status()).await? }))
    }

    async fn list_files(
        &self,
        _: Request<v1::ListFilesRequest>,
    ) -> Result<Response<v1::ListFilesResponse>, Status> {
        let KeptFiles { holders, addresses, layers } = unless_held_up(self.handle.files()).await?;
        Ok(Response::new(v1::ListFilesResponse {
            fingerprint: self.geometry.fingerprint.to_vec().into(),
            holders: Some(message_of_holders(&holders, &addresses)),
            states: layers.iter().map(|layer| layer.states).collect(),
            stored: layers.iter().map(|layer| layer.stored).collect(),
        }))
    }

    async fn watch_events(
        &self,
        _: Request<v1::WatchEventsRequest>,
    ) -> Result<Response<Self::WatchEventsStream>, Status> {
        let mut events = self.handle.events();
        let (sender, receiver) = tokio::sync::mpsc::channel(16);
        tokio::spawn(async move {
            loop {
                let json = match events.recv().await {
                    Ok(json) => json,
                    Err(RecvError::Lagged(lines)) => {
                        format!(r#"{{"message":"lines omitted","lines":{lines}}}"#)
                    }
                    Err(RecvError::Closed) => return,
                };
                let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let event = v1::WatchEventsResponse { time_unix_ms: time.as_millis() as u64, json };
                if sender.send(Ok(event)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
}

pub(super) fn message_of_holders(holders: &Holders, addresses: &BTreeMap<WorkerId, String>) -> v1::Holders {
    let numbers: BTreeMap<WorkerId, u32> = addresses.keys().copied().zip(0..).collect();
    let of_shard = |held: &Holding| v1::HeldShard {
        holders: held.holders.iter().filter_map(|id| numbers.get(id).copied()).collect(),
        digest: held.digest.map(|digest| digest.0.to_vec()).unwrap_or_default().into(),
    };
    let layers = holders.layers.iter().map(|(depth, shards)| v1::HeldLayer {
        depth: depth.0,
        shards: shards.iter().map(of_shard).collect(),
    });
    v1::Holders {
        version: holders.version,
        addresses: addresses.values().cloned().collect(),
        layers: layers.collect(),
    }
}
