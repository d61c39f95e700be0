//! A run's files, a coordinator that does almost nothing, and the lines of its log.

use fathom_proto::access::budget::Budget;
use fathom_proto::access::keys::Authority;
use fathom_proto::access::server::{BUDGET_BYTES, GREETING_LIMIT};
use fathom_proto::access::{Access, AccessArguments, TLS_NAME, server};
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use fathom_proto::v1::coordinator_server::{Coordinator, CoordinatorServer};
use fathom_proto::v1::{self, GetStatusRequest, GetStatusResponse};
use std::fs::{self, Permissions};
use std::io::Write;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tonic::service::Routes;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Response, Status};
use tracing::subscriber::DefaultGuard;

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The time limit of operations that should take no time.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn now() -> Range<SystemTime> {
    SystemTime::now() - DAY..SystemTime::now() + DAY
}

pub(crate) fn past() -> Range<SystemTime> {
    SystemTime::now() - 3 * DAY..SystemTime::now() - DAY
}

pub(crate) fn future() -> Range<SystemTime> {
    SystemTime::now() + DAY..SystemTime::now() + 3 * DAY
}

/// The files of a run.
pub(crate) struct Files {
    directory: tempfile::TempDir,
    authority: Authority,
}

impl Files {
    pub(crate) fn new() -> Self {
        let directory = fathom_tests::tempdir().unwrap();
        let files = Self { directory, authority: Authority::new(&now()).unwrap() };
        files.write("token", TOKEN, 0o600);
        files.write("ca.pem", &files.authority.pem(), 0o644);
        files.certificate("", TLS_NAME, &now());
        files
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Creates a certificate of a special kind.
    pub(crate) fn certificate(&self, what: &str, name: &str, valid: &Range<SystemTime>) {
        let (certificate, key) = self.authority.certificate(name, valid).unwrap();
        self.write(&format!("{what}cert.pem"), &certificate, 0o644);
        self.write(&format!("{what}key.pem"), &key, 0o600);
    }

    /// Returns arguments with a token and mutual TLS.
    pub(crate) fn all(&self) -> AccessArguments {
        AccessArguments { token_file: Some(self.path("token")), ..self.tls("") }
    }

    /// Mutual TLS with a special certificate.
    pub(crate) fn tls(&self, what: &str) -> AccessArguments {
        AccessArguments {
            tls_cert: Some(self.path(&format!("{what}cert.pem"))),
            tls_key: Some(self.path(&format!("{what}key.pem"))),
            tls_ca: Some(self.path("ca.pem")),
            ..AccessArguments::default()
        }
    }

    /// Only a token.
    pub(crate) fn token(&self, path: &Path) -> AccessArguments {
        AccessArguments { token_file: Some(path.into()), ..AccessArguments::default() }
    }
}

/// The lines logged by this thread.
#[derive(Clone, Default)]
pub(crate) struct Lines {
    text: Arc<Mutex<Vec<u8>>>,
    more: Arc<Notify>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.lock().unwrap().extend_from_slice(bytes);
        self.more.notify_one();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn capture() -> (Self, DefaultGuard) {
        let lines = Self::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .with_max_level(tracing::Level::INFO)
            .finish();
        (lines, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn now(&self) -> Vec<String> {
        String::from_utf8(self.text.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
    }

    /// Waits until there are `count` lines, and returns the lines.
    pub(crate) async fn wait(&self, count: usize) -> Vec<String> {
        let wait = async {
            while self.now().len() < count {
                self.more.notified().await;
            }
        };
        let _ = tokio::time::timeout(LIMIT, wait).await;
        self.now()
    }
}

/// A coordinator that accepts calls.
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    pub(crate) lines: Lines,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    _log: DefaultGuard,
}

impl Host {
    pub(crate) async fn serve(asked: &AccessArguments) -> Self {
        Self::serve_at("127.0.0.1:0".parse().unwrap(), asked).await
    }

    pub(crate) async fn serve_at(address: SocketAddr, asked: &AccessArguments) -> Self {
        Self::serve_within(Budget::new(BUDGET_BYTES), GREETING_LIMIT, address, asked).await
    }

    pub(crate) async fn serve_with(budget: Budget, asked: &AccessArguments) -> Self {
        Self::serve_within(budget, GREETING_LIMIT, "127.0.0.1:0".parse().unwrap(), asked).await
    }

    /// Serves callers that identify themselves within `limit`.
    pub(crate) async fn serve_impatiently(limit: Duration, asked: &AccessArguments) -> Self {
        let budget = Budget::new(BUDGET_BYTES);
        Self::serve_within(budget, limit, "127.0.0.1:0".parse().unwrap(), asked).await
    }

    async fn serve_within(
        budget: Budget,
        limit: Duration,
        address: SocketAddr,
        asked: &AccessArguments,
    ) -> Self {
        let (lines, log) = Lines::capture();
        let access = Access::load(asked).unwrap();
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let incoming = access.incoming(listener).unwrap().with_greeting_limit(limit);
        let (stop, stopped) = oneshot::channel();
        let service = InterceptedService::new(CoordinatorServer::new(Idle), access.token_check());
        let serving = tokio::spawn(async move {
            let stopped = Box::pin(async { drop(stopped.await) });
            server::serve_within(budget, Routes::new(service), incoming, stopped).await.unwrap();
        });
        Self { address, lines, stop, serving, _log: log }
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.serving.await.unwrap();
    }

    /// Requests the status: the answer, or the one line that users see.
    pub(crate) async fn ask(&self, asked: &AccessArguments) -> Result<String, String> {
        ask(&self.address.to_string(), asked).await
    }

    /// Asserts that a caller is refused with one line on either side, and that another caller is still
    /// served.
    pub(crate) async fn refuses(
        &self,
        asked: &AccessArguments,
        says: &str,
        logs: &str,
        good: &AccessArguments,
    ) {
        let before = self.lines.now().len();
        let said = self.ask(asked).await.expect_err(says);
        assert!(said.contains(says), "{said:?} does not say {says:?}");
        assert_eq!(said.lines().count(), 1, "{said:?}");
        let lines = self.lines.wait(before + 1).await;
        assert!(self.ask(good).await.is_ok());
        assert_eq!(self.lines.now().len(), before + 1, "{lines:#?}");
        let line = &lines[before];
        assert!(line.contains("WARN") && line.contains("peer=127.0.0.1:"), "{line}");
        assert!(line.contains(logs), "{line:?} does not say {logs:?}");
        assert!(!line.contains(TOKEN) && !said.contains(TOKEN));
    }
}

pub(crate) async fn ask(address: &str, asked: &AccessArguments) -> Result<String, String> {
    let access = Access::load(asked).unwrap();
    let connection = access.connect(address, LIMIT).await.map_err(|error| error.to_string())?;
    let answer = CoordinatorClient::new(connection).get_status(GetStatusRequest {}).await;
    answer.map(|answer| answer.into_inner().json).map_err(|status| status.message().to_owned())
}

/// Answers each status request with the caller's address, and does nothing else.
struct Idle;

macro_rules! nothing {
    ($($name:ident: $request:ident -> $response:ident;)*) => {
        #[tonic::async_trait]
        impl Coordinator for Idle {
            type WatchEventsStream = tokio_stream::Empty<Result<v1::WatchEventsResponse, Status>>;

            async fn get_status(
                &self,
                request: Request<GetStatusRequest>,
            ) -> Result<Response<GetStatusResponse>, Status> {
                let peer = request.remote_addr().expect("the peer has an address");
                Ok(Response::new(GetStatusResponse { json: peer.ip().to_string() }))
            }

            async fn watch_events(
                &self,
                _: Request<v1::WatchEventsRequest>,
            ) -> Result<Response<Self::WatchEventsStream>, Status> {
                Err(Status::unimplemented("not here"))
            }

            $(async fn $name(
                &self,
                _: Request<v1::$request>,
            ) -> Result<Response<v1::$response>, Status> {
                Err(Status::unimplemented("not here"))
            })*
        }
    };
}

nothing! {
    describe_run: DescribeRunRequest -> DescribeRunResponse;
    list_files: ListFilesRequest -> ListFilesResponse;
    register: RegisterRequest -> RegisterResponse;
    heartbeat: HeartbeatRequest -> HeartbeatResponse;
    take_commands: TakeCommandsRequest -> TakeCommandsResponse;
    report: ReportRequest -> ReportResponse;
    leave: LeaveRequest -> LeaveResponse;
    drain: DrainRequest -> DrainResponse;
    stop: StopRequest -> StopResponse;
}
