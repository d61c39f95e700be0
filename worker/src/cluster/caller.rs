//! Calls to the coordinator, repeated while it cannot be reached.

use crate::cluster::fetch::said;
use anyhow::{Result, anyhow};
use backon::{Backoff, BackoffBuilder, ExponentialBuilder};
use fathom_command::bad_input;
use fathom_proto::access::{Access, ConnectError, Connection};
use fathom_proto::v1;
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tonic::{Code, Status};
use tracing::{info, warn};

/// Time limit for making a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Time behind the end of the patience at which the last attempt is made.
const LAST_PAUSE: Duration = Duration::from_millis(10);
/// Largest message of the coordinator, in bytes.
const MOST_MESSAGE_BYTES: usize = 64 << 20;

/// Calls the coordinator.
#[derive(Clone, Debug)]
pub struct Caller {
    access: Access,
    address: String,
    /// Time since the first of several failed attempts after which calls fail.
    patience: Duration,
    client: Arc<Mutex<Option<CoordinatorClient<Connection>>>>,
    /// When the first attempt failed since the last answer. A process that was stopped has not asked, so the
    /// time since the answer itself says nothing.
    away_since: Arc<Mutex<Option<Instant>>>,
}

impl Caller {
    /// Creates a caller for the coordinator at an address. Calls fail once attempts have failed for
    /// `patience`.
    pub fn new(access: Access, address: String, patience: Duration) -> Self {
        Self { access, address, patience, client: Arc::default(), away_since: Arc::default() }
    }

    pub(super) async fn client(&self) -> Result<CoordinatorClient<Connection>, ConnectError> {
        if let Some(client) = self.client.lock().expect("no thread panics while it holds the lock").clone() {
            return Ok(client);
        }
        // Each call moves its future several times, which would have room for this one.
        let connection = Box::pin(self.access.connect(&self.address, CONNECT)).await?;
        let client = CoordinatorClient::new(connection)
            .max_decoding_message_size(MOST_MESSAGE_BYTES)
            .max_encoding_message_size(MOST_MESSAGE_BYTES);
        *self.client.lock().expect("no thread panics while it holds the lock") = Some(client.clone());
        Ok(client)
    }

    /// Makes a call, and repeats it until it is answered, cannot succeed, or the patience is at an end.
    ///
    /// # Errors
    /// If the call is not answered.
    pub async fn call<T, F>(&self, call: impl Fn(CoordinatorClient<Connection>) -> F) -> Result<T>
    where
        F: Future<Output = Result<tonic::Response<T>, Status>>,
    {
        let mut pauses = self.pauses();
        loop {
            let reason = match self.client().await {
                Ok(client) => match call(client).await {
                    Ok(response) => {
                        self.answered();
                        return Ok(response.into_inner());
                    }
                    Err(status) => {
                        let behind = ConnectError::behind(&status).cloned();
                        match behind {
                            Some(error) if !error.may_pass() => return Err(bad_input!("{error}")),
                            Some(error) => error.to_string(),
                            None if is_final(&status) => return Err(bad_input!("{}", status.message())),
                            None => said(&status),
                        }
                    }
                },
                Err(error) if error.may_pass() => error.to_string(),
                Err(error) => return Err(bad_input!("{error}")),
            };
            // The next attempt makes a new connection.
            *self.client.lock().expect("no thread panics while it holds the lock") = None;
            let away_since = *self
                .away_since
                .lock()
                .expect("no thread panics while it holds the lock")
                .get_or_insert_with(|| {
                    let patience_s = self.patience.as_secs();
                    warn!(reason, patience_s, "coordinator cannot be reached; trying again");
                    Instant::now()
                });
            let silent = away_since.elapsed();
            if silent > self.patience {
                return Err(anyhow!(
                    "the coordinator was silent for {} s: {reason}; the store is as it was, and the same command goes on",
                    silent.as_secs()
                ));
            }
            // The last attempt is made when the patience is at an end.
            let pause = pauses.next().unwrap_or(CONNECT).min(self.patience - silent + LAST_PAUSE);
            tokio::time::sleep(pause).await;
        }
    }

    fn answered(&self) {
        let away_since = self.away_since.lock().expect("no thread panics while it holds the lock").take();
        if away_since.is_some() {
            info!("coordinator is back");
        }
    }

    /// Returns whether the last attempt of a call has failed.
    pub(super) fn is_away(&self) -> bool {
        self.away_since.lock().expect("no thread panics while it holds the lock").is_some()
    }

    fn pauses(&self) -> impl Backoff + use<> {
        ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(50))
            .with_max_delay(Duration::from_secs(10).min(self.patience))
            .without_max_times()
            .with_jitter()
            .build()
    }

    /// Asks for the description of the run.
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
}

/// Returns whether a repeated call would fail in the same way.
fn is_final(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unauthenticated
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::InvalidArgument
            | Code::Unimplemented
            // A message is too large.
            | Code::OutOfRange
    )
}
