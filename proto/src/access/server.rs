//! Accepting callers.

use super::Access;
use super::budget::Budget;
use super::connections::Place;
use super::greeting::{Greeted, Io, PREFACE, TLS_HANDSHAKE, part};
use super::refusal::Refusal;
use super::refusal_log::Refusals;
use anyhow::Result;
use bytes::Bytes;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Sleep;
use tokio_rustls::{TlsAcceptor, TlsStream};
use tokio_stream::Stream;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Time within which a caller must begin HTTP/2, unless [set](Incoming::with_greeting_limit) otherwise.
pub const GREETING_LIMIT: Duration = Duration::from_secs(10);

/// Maximum number of requests under way on one connection.
pub const STREAMS: u32 = 64;
/// Maximum size of the headers of a request, in bytes; the longest token fits.
pub const HEADER_BYTES: u32 = 16 << 10;
/// Maximum number of bytes that one request, and all requests of a connection, may be ahead of the server.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// Maximum number of requests that a caller may have started and cancelled before the server handles them.
const TAKEN_BACK: usize = 20;
/// Memory for the messages of all callers together, in bytes.
pub const BUDGET_BYTES: u64 = 256 << 20;

/// A server that ends when the run is over, or fails. It is boxed, so that the HTTP/2 stack is compiled
/// here, and not in each program that serves.
pub type Serving = Pin<Box<dyn Future<Output = Result<(), tonic::transport::Error>> + Send>>;

/// Serves callers until `over` is ready; then requests under way are completed. Lost callers are detected,
/// and the resources of each are limited, all messages together to [`BUDGET_BYTES`].
pub fn serve(
    services: Routes,
    incoming: Incoming,
    over: impl Future<Output = ()> + Send + 'static,
) -> Serving {
    serve_within(Budget::new(BUDGET_BYTES), services, incoming, Box::pin(over))
}

/// Like [`serve`], with another budget for messages.
pub fn serve_within(
    budget: Budget,
    services: Routes,
    incoming: Incoming,
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
) -> Serving {
    let keepalive = Some(incoming.access.keepalive);
    let server = Server::builder()
        .http2_keepalive_interval(keepalive)
        .http2_keepalive_timeout(keepalive)
        .max_concurrent_streams(STREAMS)
        .http2_max_pending_accept_reset_streams(Some(TAKEN_BACK))
        .http2_max_header_list_size(HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .layer(budget)
        .add_routes(services);
    Box::pin(server.serve_with_incoming_shutdown(incoming, over))
}

/// Pause in accepting callers when the system cannot take another connection.
const PAUSE: Duration = Duration::from_millis(100);

/// The reply to callers that speak plain text to a TLS port: a fatal alert, "unexpected message".
const TLS_REPLY: &[u8] = &[21, 3, 3, 0, 2, 2, 10];
/// The reply to callers that speak TLS to a plain text port. All of them notice that it is not TLS, and some
/// show the text.
const PLAIN_REPLY: &[u8] = b"HTTP/1.0 400 Bad Request\r\n\r\nThis port speaks plain text, not TLS.\n";

impl Access {
    /// Accepts callers, for [`serve`]. Each refusal is logged, up to a limit, and sent to the caller if
    /// possible.
    ///
    /// # Errors
    /// Bad input: this process may not listen on that address.
    pub fn incoming(&self, listener: TcpListener) -> Result<Incoming> {
        self.may_listen(listener.local_addr()?)?;
        Ok(Incoming {
            listener,
            access: self.clone(),
            greetings: JoinSet::new(),
            pause: None,
            is_full: false,
            greeting_limit: GREETING_LIMIT,
        })
    }
}

impl Incoming {
    /// Sets the time within which a caller must begin HTTP/2.
    pub fn with_greeting_limit(self, greeting_limit: Duration) -> Self {
        Self { greeting_limit, ..self }
    }
}

/// The stream of accepted callers. Greetings run concurrently, and end when the stream is dropped.
#[derive(Debug)]
pub struct Incoming {
    listener: TcpListener,
    access: Access,
    greetings: JoinSet<Option<Caller>>,
    pause: Option<Pin<Box<Sleep>>>,
    is_full: bool,
    greeting_limit: Duration,
}

impl Stream for Incoming {
    type Item = io::Result<Caller>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            while let Poll::Ready(Some(greeted)) = this.greetings.poll_join_next(cx) {
                // The panic has been reported already, and concerns only one caller.
                if let Ok(Some(caller)) = greeted {
                    return Poll::Ready(Some(Ok(caller)));
                }
            }
            if let Some(pause) = &mut this.pause {
                ready!(pause.as_mut().poll(cx));
                this.pause = None;
            }
            match ready!(this.listener.poll_accept(cx)) {
                Ok((tcp, peer)) => {
                    this.is_full = false;
                    match this.access.connections.enter(peer) {
                        Ok(place) => {
                            let tls = this.access.server.clone().map(TlsAcceptor::from);
                            let refusals = Arc::clone(&this.access.refusals);
                            let limit = this.greeting_limit;
                            this.greetings.spawn(greet(tcp, peer, tls, place, refusals, limit));
                        }
                        Err(full) => say(&this.access.refusals, peer, &Refusal::Full(full.to_string())),
                    }
                }
                // The error concerns only that caller.
                Err(error) if is_about_the_caller(&error) => {}
                Err(error) => {
                    if !this.is_full {
                        tracing::warn!(%error, "accept() failed; retrying");
                    }
                    this.is_full = true;
                    this.pause = Some(Box::pin(tokio::time::sleep(PAUSE)));
                }
            }
        }
    }
}

fn is_about_the_caller(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}

/// Why a caller is not accepted.
enum Turned {
    /// The caller left before it sent anything, as port scanners do.
    Left,
    /// The caller is refused. `last_word` is sent to it, unless TLS has already sent an alert.
    Away { refusal: Refusal, tcp: Option<TcpStream>, last_word: &'static [u8] },
}

impl From<Refusal> for Turned {
    fn from(refusal: Refusal) -> Self {
        Self::Away { refusal, tcp: None, last_word: &[] }
    }
}

fn say(refusals: &Refusals, peer: SocketAddr, refusal: &Refusal) {
    if let Some(left_out) = refusals.line() {
        let left_out = Some(left_out).filter(|&lines| lines > 0);
        tracing::warn!(%peer, reason = %refusal, left_out, "connection refused");
    }
}

/// Waits for the greeting of a caller. Returns `None` if the caller is refused.
async fn greet(
    tcp: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    place: Place,
    refusals: Arc<Refusals>,
    limit: Duration,
) -> Option<Caller> {
    let info = TcpConnectInfo { local_addr: tcp.local_addr().ok(), remote_addr: Some(peer) };
    // Without this option messages are late, not wrong.
    let _ = tcp.set_nodelay(true);
    let greeting = tokio::time::timeout(limit, listen_to(tcp, tls));
    let greeted = tokio::select! {
        greeted = greeting => greeted,
        () = place.end.cancelled() => Ok(Err(Refusal::Displaced.into())),
    };
    let turned = match greeted {
        Ok(Ok(stream)) => {
            let end = Box::pin(place.end.clone().cancelled_owned());
            return Some(Caller { stream, info, end, _place: place });
        }
        Ok(Err(turned)) => turned,
        Err(_) => Refusal::Silent(limit).into(),
    };
    if let Turned::Away { refusal, tcp, last_word } = turned {
        say(&refusals, peer, &refusal);
        if let Some(tcp) = tcp {
            part(tcp, last_word).await;
        }
    }
    None
}

async fn listen_to(tcp: TcpStream, tls: Option<TlsAcceptor>) -> Result<Greeted, Turned> {
    let mut first = [0];
    let speaks_tls = match tcp.peek(&mut first).await {
        Ok(0) | Err(_) => return Err(Turned::Left),
        Ok(_) => first[0] == TLS_HANDSHAKE,
    };
    let away = |refusal, tcp, last_word| Turned::Away { refusal, tcp: Some(tcp), last_word };
    let mut io = match (tls, speaks_tls) {
        (None, false) => Io::Left(tcp),
        (None, true) => return Err(away(Refusal::NoTls, tcp, PLAIN_REPLY)),
        (Some(_), false) => return Err(away(Refusal::TlsRequired, tcp, TLS_REPLY)),
        (Some(tls), true) => match tls.accept(tcp).into_fallible().await {
            Ok(stream) => Io::Right(TlsStream::Server(stream)),
            Err((error, tcp)) => {
                return Err(away(Refusal::new(&error).unwrap_or(Refusal::BrokeOff), tcp, &[]));
            }
        },
    };
    let mut preface = [0; PREFACE.len()];
    match io.read_exact(&mut preface).await {
        Ok(_) if preface == *PREFACE => Ok(Greeted::new(io, Bytes::from_static(PREFACE), &[])),
        Ok(_) => Err(Refusal::NotHttp2.into()),
        Err(error) => Err(Refusal::new(&error).unwrap_or(Refusal::BrokeOff).into()),
    }
}

/// The connection of an accepted caller, at the beginning of HTTP/2. Services get its address from
/// [`Request::remote_addr`](tonic::Request::remote_addr).
#[derive(Debug)]
pub struct Caller {
    stream: Greeted,
    info: TcpConnectInfo,
    /// Ready when the connection must close in favour of a new one.
    end: Pin<Box<WaitForCancellationFutureOwned>>,
    _place: Place,
}

impl Connected for Caller {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.info.clone()
    }
}

impl AsyncRead for Caller {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Caller {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
