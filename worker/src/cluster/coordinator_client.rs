//! Calls to the coordinator, repeated while it cannot be reached.

use crate::cluster::peer_client::said;
use anyhow::{Result, anyhow};
use backon::{Backoff, BackoffBuilder, ExponentialBuilder};
use fathom_command::bad_input;
use fathom_proto::access::{Access, ConnectError, Connection};
use fathom_proto::join_file::{JoinFile, JoinFileError, JoinState, RENEWAL};
use fathom_proto::v1;
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tonic::{Code, Status};
use tracing::{info, warn};

/// Time limit for making a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Time after the end of the patience at which the last attempt is made.
const LAST_PAUSE: Duration = Duration::from_millis(10);
/// Maximum size of a message from the coordinator, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// Where the coordinator is.
#[derive(Clone, Debug)]
pub enum Place {
    /// At an address, as HOST:PORT.
    At(String),
    /// Where this [`JoinFile`] says.
    In(PathBuf),
}

/// The run has ended, as its join file says.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the run has ended")]
pub struct RunEnded;

/// Why there is no connection to the coordinator.
#[derive(Debug)]
pub(super) enum NoClient {
    /// It cannot be called.
    Connect(ConnectError),
    /// Nobody serves the run now.
    Absent(String),
    /// The file leads to a coordinator that this worker cannot work for.
    Unfit(String),
    /// The run has ended.
    Ended,
}

/// Calls the coordinator.
#[derive(Clone, Debug)]
pub struct Caller {
    access: Access,
    place: Place,
    /// Calls fail once attempts have failed for this time.
    patience: Duration,
    client: Arc<Mutex<Option<CoordinatorClient<Connection>>>>,
    /// The attempts that have failed since the last answer; `None` if the last attempt was answered.
    away: Arc<Mutex<Option<Away>>>,
    /// Whether this process has ever registered, so that its options are known to fit the coordinator.
    has_registered: Arc<AtomicBool>,
}

/// Attempts that have failed.
#[derive(Debug)]
struct Away {
    /// When the first one failed. The time since the last response would not do, because a process that was
    /// stopped has not called.
    since: Instant,
    /// Why the last one failed.
    reason: String,
}

impl Caller {
    /// Creates a caller for the coordinator. Calls fail once attempts have failed for `patience`.
    pub fn new(access: Access, place: Place, patience: Duration) -> Self {
        Self {
            access,
            place,
            patience,
            client: Arc::default(),
            away: Arc::default(),
            has_registered: Arc::default(),
        }
    }

    /// Returns the address of the coordinator now.
    fn address(&self) -> Result<String, NoClient> {
        let path = match &self.place {
            Place::At(address) => return Ok(address.clone()),
            Place::In(path) => path,
        };
        let file = JoinFile::read(path).map_err(|error| match error {
            JoinFileError::Absent { .. } => NoClient::Absent(error.to_string()),
            JoinFileError::Foreign { .. } => NoClient::Unfit(error.to_string()),
        })?;
        match file.state {
            JoinState::Ended => return Err(NoClient::Ended),
            JoinState::Stopped => {
                let path = path.display();
                return Err(NoClient::Absent(format!("the coordinator has stopped, as {path} says")));
            }
            JoinState::Serving => {}
        }
        if file.authority.as_deref() != self.access.authority() {
            let path = path.display();
            return Err(NoClient::Unfit(format!(
                "the coordinator of {path} has other keys than this worker. Use the same --keys directory, or a copy"
            )));
        }
        Ok(file.address)
    }

    pub(super) async fn client(&self) -> Result<CoordinatorClient<Connection>, NoClient> {
        if let Some(client) = self.client.lock().expect("no thread panics while it holds the lock").clone() {
            return Ok(client);
        }
        let address = self.address()?;
        // Peers must have the same token, so it is that of all clones.
        self.access.follow(&address);
        // Boxed, because each call moves its future several times, and would have to move this one with it.
        let connection = Box::pin(self.access.connect(&address, CONNECT)).await.map_err(NoClient::Connect)?;
        let client = CoordinatorClient::new(connection)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        *self.client.lock().expect("no thread panics while it holds the lock") = Some(client.clone());
        Ok(client)
    }

    /// Makes a call, and repeats it until it is answered, cannot succeed, or the patience is exhausted.
    ///
    /// # Errors
    /// If the call is not answered.
    pub async fn call<T, F>(&self, call: impl Fn(CoordinatorClient<Connection>) -> F) -> Result<T>
    where
        F: Future<Output = Result<tonic::Response<T>, Status>>,
    {
        let mut pauses = self.pauses();
        loop {
            let (reason, is_final) = match self.client().await {
                Ok(client) => match call(client).await {
                    Ok(response) => {
                        self.answered();
                        return Ok(response.into_inner());
                    }
                    Err(status) => (said(&status), is_final(&status, self.has_registered())),
                },
                Err(NoClient::Connect(error)) => {
                    (error.to_string(), is_final_error(&error, self.has_registered()))
                }
                Err(NoClient::Absent(reason)) => (reason, false),
                // Another coordinator may have taken the file for a while.
                Err(NoClient::Unfit(reason)) => (reason, !self.has_registered()),
                Err(NoClient::Ended) => return Err(RunEnded.into()),
            };
            if is_final {
                return Err(bad_input!("{reason}"));
            }
            // The next attempt makes a new connection.
            *self.client.lock().expect("no thread panics while it holds the lock") = None;
            let silent = self.failed(&reason).elapsed();
            if silent > self.patience {
                return Err(anyhow!(
                    "no response from the coordinator for {} s: {reason}{}. The store is unchanged; run the same command to continue",
                    silent.as_secs(),
                    self.age_of_file()
                ));
            }
            // The last attempt is made when the patience is exhausted.
            let pause = pauses.next().unwrap_or(CONNECT).min(self.patience - silent + LAST_PAUSE);
            tokio::time::sleep(pause).await;
        }
    }

    /// Records that an attempt has failed, and returns when the first one failed. Each new reason is logged.
    fn failed(&self, reason: &str) -> Instant {
        let mut away = self.away();
        let away = away.get_or_insert_with(|| Away { since: Instant::now(), reason: String::new() });
        if away.reason != reason {
            let patience_s = self.patience.as_secs();
            warn!(reason, patience_s, "coordinator cannot be reached{}; trying again", self.age_of_file());
            away.reason = reason.into();
        }
        away.since
    }

    /// Returns when the join file was last renewed, in words, if it should have been renewed since.
    fn age_of_file(&self) -> String {
        let Place::In(path) = &self.place else { return String::new() };
        match JoinFile::age(path).map(|age| Duration::from_secs(age.as_secs())) {
            Some(age) if age > 3 * RENEWAL => format!(
                " ({} was last renewed {} ago: its coordinator was killed, or cannot write the file)",
                path.display(),
                humantime::format_duration(age)
            ),
            _ => String::new(),
        }
    }

    fn answered(&self) {
        if self.away().take().is_some() {
            info!("coordinator is back");
        }
    }

    /// Returns whether the last attempt of a call has failed.
    pub(super) fn is_away(&self) -> bool {
        self.away().is_some()
    }

    fn away(&self) -> MutexGuard<'_, Option<Away>> {
        self.away.lock().expect("no thread panics while it holds the lock")
    }

    /// Returns whether this process has ever registered.
    pub(super) fn has_registered(&self) -> bool {
        self.has_registered.load(Ordering::Relaxed)
    }

    fn pauses(&self) -> impl Backoff + use<> {
        ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(50))
            .with_max_delay(Duration::from_secs(10).min(self.patience))
            .without_max_times()
            .with_jitter()
            .build()
    }

    /// Requests the description of the run.
    ///
    /// # Errors
    /// If the coordinator does not answer, or refuses.
    pub fn describe(
        &self,
        name: &str,
    ) -> Pin<Box<dyn Future<Output = Result<v1::DescribeRunResponse>> + '_>> {
        let request =
            v1::DescribeRunRequest { protocol_version: v1::PROTOCOL_VERSION, worker_name: name.into() };
        Box::pin(self.call(move |mut client| {
            let request = request.clone();
            async move { client.describe_run(request).await }
        }))
    }

    /// Registers this process.
    ///
    /// # Errors
    /// If the coordinator does not answer, or refuses.
    pub(super) async fn register(&self, request: v1::RegisterRequest) -> Result<v1::RegisterResponse> {
        let call = |mut client: CoordinatorClient<Connection>| {
            let request = request.clone();
            async move { client.register(request).await }
        };
        let registered = self.call(call).await?;
        self.has_registered.store(true, Ordering::Relaxed);
        Ok(registered)
    }
}

/// Returns whether an error of a connection ends a worker: a wrong address or key is reported immediately.
/// After a registration the options are known to fit, and something else may answer at the coordinator's
/// address for a while.
fn is_final_error(error: &ConnectError, has_registered: bool) -> bool {
    !error.may_pass() && !has_registered
}

/// Returns whether a status ends a worker, because a repeated call would fail in the same way.
/// `has_registered` says whether the coordinator has ever registered this process.
pub fn is_final(status: &Status, has_registered: bool) -> bool {
    if let Some(error) = ConnectError::behind(status) {
        return is_final_error(error, has_registered);
    }
    match status.code() {
        // The token does not fit, or another service answers.
        Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented => !has_registered,
        // The coordinator has read the request and refuses it, or a message is too large.
        Code::FailedPrecondition | Code::InvalidArgument | Code::OutOfRange => true,
        _ => false,
    }
}
