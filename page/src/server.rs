//! The server of the page: its limits on callers, its routes, and its responses.

use crate::feed::{ReportMaker, StatusMaker, StoryMaker};
use crate::guard::{Guard, HEALTH, Verdict, restrict, text, with_type};
use crate::hub::Hub;
use crate::metrics;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::get;
use fathom_proto::access::PageTls;
use fathom_report::Format;
use futures::stream::{self, Stream};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

/// The number of callers that are served at a time; others wait.
const MAX_CALLERS: usize = 512;
/// The time limit for a caller to send a request, and to receive a response.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest time without a message to a reader. The page takes a longer silence for the end of the
/// server.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The pause after the system has refused a connection.
const PAUSE: Duration = Duration::from_millis(100);
/// The largest number of headers of a request.
const MAX_HEADERS: usize = 64;
/// The largest size of all headers of a request, in bytes.
const MAX_HEADER_BYTES: usize = 16 << 10;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";

/// The files of the page, which are part of the program.
const FILES: [(&str, &str, &str); 9] = [
    ("/", HTML, include_str!("files/index.html")),
    ("/page.css", CSS, include_str!("files/page.css")),
    ("/page.js", SCRIPT, include_str!("files/page.js")),
    ("/words.js", SCRIPT, include_str!("files/words.js")),
    ("/growth.js", SCRIPT, include_str!("files/growth.js")),
    ("/shards.js", SCRIPT, include_str!("files/shards.js")),
    ("/antipodes.js", SCRIPT, include_str!("files/antipodes.js")),
    ("/workers.js", SCRIPT, include_str!("files/workers.js")),
    ("/icon.svg", "image/svg+xml", include_str!("files/icon.svg")),
];

/// The sources of all responses.
pub(crate) struct Answers {
    pub(crate) hub: Arc<Hub>,
    pub(crate) stories: StoryMaker,
    pub(crate) status: StatusMaker,
    pub(crate) report: ReportMaker,
    pub(crate) run: PathBuf,
    /// Locked while a report is generated, so that only one report at a time reads layers.
    pub(crate) reporting: Mutex<()>,
}

type Shared = State<Arc<Answers>>;

/// Answers callers until the future is dropped.
pub(crate) async fn serve(listener: TcpListener, tls: Option<PageTls>, router: Router) {
    let tls = tls.map(|tls| TlsAcceptor::from(Arc::clone(&tls.config)));
    let room = Arc::new(Semaphore::new(MAX_CALLERS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((tcp, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (router, tls) = (router.clone(), tls.clone());
        tokio::spawn(async move {
            greet(tcp, tls, router).await;
            drop(place);
        });
    }
}

async fn greet(tcp: TcpStream, tls: Option<TlsAcceptor>, router: Router) {
    // Without this option responses are late, but not wrong.
    let _ = tcp.set_nodelay(true);
    match tls {
        None => talk(tcp, router).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, tls.accept(tcp)).await {
                talk(stream, router).await;
            }
        }
    }
}

/// Answers the requests of a connection. A caller that does not receive its responses in time is
/// disconnected.
async fn talk(io: impl AsyncRead + AsyncWrite + Send + 'static, router: Router) {
    let mut io = TimeoutStream::new(io);
    io.set_write_timeout(Some(PATIENCE));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(Box::pin(io)), TowerToHyperService::new(router));
    // An error only means that the caller has disconnected.
    let _ = connection.await;
}

/// Returns what answers requests for metrics and for the health of the process, from anybody.
pub(crate) fn metrics_alone(answers: Arc<Answers>) -> Router {
    Router::new()
        .route(HEALTH, get(|| async { text(StatusCode::OK, "ok\n") }))
        .route("/metrics", get(numbers))
        .fallback(|| async { text(StatusCode::NOT_FOUND, "This port has /metrics and /healthz.\n") })
        .with_state(answers)
}

/// Returns what answers the requests of the page.
pub(crate) fn page(guard: Guard, answers: Arc<Answers>) -> Router {
    let mut router = Router::new();
    for (path, kind, file) in FILES {
        router = router.route(path, get(move || async move { with_type(StatusCode::OK, kind, file) }));
    }
    router
        .route(HEALTH, get(|| async { text(StatusCode::OK, "ok\n") }))
        .route("/api/events", get(events))
        .route("/api/status", get(status))
        .route("/api/shards/{shard}", get(shard))
        .route("/metrics", get(numbers))
        .route("/report/{format}", get(report))
        .fallback(|| async { text(StatusCode::NOT_FOUND, "Not found.\n") })
        .with_state(answers)
        .layer(from_fn_with_state(Arc::new(guard), guarded))
}

async fn guarded(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response<Body> {
    restrict(match guard.judge(&request) {
        Verdict::Answer(answer) => answer,
        Verdict::Pass => next.run(request).await,
    })
}

/// Answers with server-sent events: first the complete state, and then each change.
async fn events(State(answers): Shared) -> Response<Body> {
    let (all, changes) = answers.hub.read();
    let first = stream::iter([event("all", &all)]);
    let rest = stream::unfold(changes, async |mut changes| {
        let next = match tokio::time::timeout(HEARTBEAT, changes.recv()).await {
            Ok(Ok(change)) => event("change", &change),
            Ok(Err(RecvError::Lagged(_) | RecvError::Closed)) => return None,
            Err(_) => event("beat", "{}"),
        };
        Some((next, changes))
    });
    with_type(StatusCode::OK, "text/event-stream", Body::from_stream(both(first, rest)))
}

fn both(
    first: impl Stream<Item = Bytes> + Send + 'static,
    rest: impl Stream<Item = Bytes> + Send + 'static,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    use futures::StreamExt;
    first.chain(rest).map(Ok)
}

/// Makes a server-sent event. `json` has no line ends, so it takes one line.
fn event(name: &str, json: &str) -> Bytes {
    format!("event: {name}\ndata: {json}\n\n").into()
}

async fn status(State(answers): Shared) -> Response<Body> {
    match (answers.status)().await {
        Ok(json) => with_type(StatusCode::OK, JSON, json),
        Err(error) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
    }
}

async fn shard(State(answers): Shared, Path(shard): Path<u32>) -> Response<Body> {
    let story = (answers.stories)(shard).await;
    let facts: Vec<[String; 2]> = story.into_iter().map(|(what, said)| [what.into(), said]).collect();
    match serde_json::to_string(&facts) {
        Ok(json) => with_type(StatusCode::OK, JSON, json),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "Internal error.\n"),
    }
}

async fn numbers(State(answers): Shared) -> Response<Body> {
    match metrics::text(answers.hub.newest()) {
        Ok(text) => with_type(StatusCode::OK, metrics::CONTENT_TYPE, text),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "The metrics could not be encoded.\n"),
    }
}

async fn report(State(answers): Shared, Path(word): Path<String>) -> Response<Body> {
    let Ok(format) = word.parse::<Format>() else {
        return text(StatusCode::NOT_FOUND, "Unknown report format.\n");
    };
    if answers.hub.newest().run.reports.is_empty() {
        return text(StatusCode::CONFLICT, "The run is not complete.\n");
    }
    let _alone = answers.reporting.lock().await;
    let (run, report) = (answers.run.clone(), answers.report);
    let made = tokio::task::spawn_blocking(move || report(&run, format));
    let Ok(Ok(report)) = made.await else {
        return text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The report could not be generated. Run 'fathom report' to see why.\n",
        );
    };
    let mut answer = with_type(StatusCode::OK, kind(format), report);
    let name = answers.run.file_name().and_then(|name| name.to_str()).unwrap_or("run");
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
    let attached = format!("attachment; filename=\"{name}.{}\"", extension(format));
    if let Ok(attached) = HeaderValue::from_str(&attached) {
        answer.headers_mut().insert(header::CONTENT_DISPOSITION, attached);
    }
    answer
}

fn kind(format: Format) -> &'static str {
    match format {
        Format::Html => HTML,
        Format::Json => JSON,
        Format::Svg => "image/svg+xml",
        Format::Csv => "text/csv; charset=utf-8",
        Format::Markdown | Format::Latex | Format::Bibtex | Format::Oeis => "text/plain; charset=utf-8",
    }
}

fn extension(format: Format) -> &'static str {
    match format {
        Format::Latex => "tex",
        Format::Bibtex => "bib",
        Format::Oeis => "txt",
        other => other.as_str(),
    }
}
