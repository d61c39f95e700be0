//! Calling other processes.

use super::Access;
use super::greeting::{Greeted, Io, PREFACE, TLS_ALERT, TLS_HANDSHAKE, part};
use super::refusal::Refusal;
use super::requests::with_marked_end;
use super::token::TokenSender;
use bytes::{Bytes, BytesMut};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, TlsStream};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::Request;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;
use tower::util::MapRequest;

/// Maximum number of bytes that one response, and all responses of a connection, may be ahead of their
/// readers: enough for a network of 10 Gbit/s with 5 ms of latency.
const STREAM_WINDOW: u32 = 2 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;
/// Maximum size of a frame of a response in bytes: a chunk of cosets takes two.
const FRAME_BYTES: u32 = 256 << 10;

/// A frame of HTTP/2 begins with its length (3 bytes), type, flags and stream (4 bytes): RFC 9113, section
/// 4.1.
const FRAME_HEADER: usize = 9;
const FRAME_TYPE: usize = 3;
const SETTINGS: u8 = 4;

/// A connection that sends the token with every request, and reconnects when it breaks.
pub type Connection = InterceptedService<MapRequest<Channel, Marking>, TokenSender>;

/// Marks where the body of a request ends.
type Marking = fn(Request<Body>) -> Request<Body>;

/// Why a process cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The process does not respond. Another attempt may succeed.
    #[error("cannot reach {address}: {reason}")]
    Unreachable {
        /// The address as HOST:PORT.
        address: String,
        /// The reason from the network.
        reason: String,
    },
    /// The two sides cannot communicate. Another attempt would fail too.
    #[error("cannot connect to {address}: {refusal}")]
    Refused {
        /// The address as HOST:PORT.
        address: String,
        /// The reason.
        refusal: Refusal,
    },
    /// The options of this side do not permit the call. Another attempt would fail too.
    #[error("cannot connect to {address}: {reason}")]
    Unfit {
        /// The address as it was given.
        address: String,
        /// The reason and how to solve it.
        reason: &'static str,
    },
}

impl ConnectError {
    /// Returns whether another attempt may succeed.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Finds the error of the failed connection behind the status of a request.
    pub fn behind(status: &Status) -> Option<&Self> {
        let mut error = status.source();
        while let Some(this) = error {
            if let Some(found) = this.downcast_ref() {
                return Some(found);
            }
            error = this.source();
        }
        None
    }
}

impl Access {
    /// Connects to a process at HOST:PORT, and returns after its first response. `limit` applies to this
    /// connection and to each reconnection.
    ///
    /// # Errors
    /// If nothing responds, or the two sides cannot communicate. A wrong token shows only at the first
    /// request, as [`Unauthenticated`](tonic::Code::Unauthenticated).
    pub async fn connect(&self, address: &str, limit: Duration) -> Result<Connection, ConnectError> {
        let unfit = |reason| ConnectError::Unfit { address: address.into(), reason };
        let is_address = address
            .rsplit_once(':')
            .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .ok()
            .filter(|_| is_address)
            .ok_or_else(|| unfit("invalid address: expected HOST:PORT, for example node7:7400"))?;
        if self.server.is_some() && self.client.is_none() {
            return Err(unfit("certificates cannot be checked without --tls-ca: add it"));
        }
        let endpoint = endpoint
            .http2_keep_alive_interval(self.keepalive)
            .keep_alive_timeout(self.keepalive)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_BYTES);
        let call = Call { access: self.clone(), address: address.into(), limit };
        let mut first = Some(call.make().await?);
        let connector = service_fn(move |_: Uri| {
            let (first, call) = (first.take(), call.clone());
            async move {
                let stream = match first {
                    Some(stream) => stream,
                    None => call.make().await?,
                };
                Ok::<_, ConnectError>(TokioIo::new(stream))
            }
        });
        let channel = endpoint.connect_with_connector(connector).await.map_err(|error| {
            ConnectError::Unreachable { address: address.into(), reason: error.to_string() }
        })?;
        let marking = MapRequest::new(channel, with_marked_end as Marking);
        Ok(InterceptedService::new(marking, self.token_sender()))
    }
}

impl Access {
    /// Returns whether the token may be sent to a peer: not to another machine in plain text, unless
    /// `--insecure` is given.
    fn may_tell(&self, peer: SocketAddr) -> bool {
        self.token.get().is_none()
            || self.client.is_some()
            || self.insecure
            || peer.ip().to_canonical().is_loopback()
    }
}

/// The target of a connection, and how to reach it.
#[derive(Clone, Debug)]
struct Call {
    access: Access,
    address: String,
    limit: Duration,
}

impl Call {
    async fn make(&self) -> Result<Greeted, ConnectError> {
        match tokio::time::timeout(self.limit, self.greet()).await {
            Ok(result) => {
                // The coordinator has responded, so its token file is now written.
                self.access.renew_token();
                result
            }
            Err(_) => Err(self.unreachable(format!("no response within {:?}", self.limit))),
        }
    }

    async fn greet(&self) -> Result<Greeted, ConnectError> {
        let failed = |error: io::Error| match Refusal::new(&error) {
            Some(refusal) => self.refused(refusal),
            None => self.unreachable(error.to_string()),
        };
        let tcp = TcpStream::connect(&self.address).await.map_err(failed)?;
        // Without this option messages are late, not wrong.
        let _ = tcp.set_nodelay(true);
        if !self.access.may_tell(tcp.peer_addr().map_err(failed)?) {
            return Err(ConnectError::Unfit {
                address: self.address.clone(),
                reason: "the token would be sent in plain text: add --keys DIR or --tls-ca, or --insecure to allow it",
            });
        }
        let mut io = match &self.access.client {
            None => Io::Left(tcp),
            Some(tls) => {
                let connector = TlsConnector::from(tls.clone());
                match connector.connect(self.access.name.clone(), tcp).into_fallible().await {
                    Ok(stream) => Io::Right(TlsStream::Client(stream)),
                    Err((error, tcp)) => {
                        part(tcp, &[]).await;
                        return Err(match Refusal::new(&error) {
                            Some(Refusal::NotTls) => self.refused(Refusal::NoTls),
                            _ => failed(error),
                        });
                    }
                }
            }
        };
        io.write_all(PREFACE).await.map_err(failed)?;
        io.flush().await.map_err(failed)?;
        let ahead = self.first_frame(&mut io).await.map_err(failed)??;
        Ok(Greeted::new(io, ahead, PREFACE))
    }

    /// Reads the first frame, which shows that the other side accepts this one.
    async fn first_frame(&self, io: &mut Io) -> io::Result<Result<Bytes, ConnectError>> {
        let mut said = BytesMut::with_capacity(1 << 10);
        while said.len() < FRAME_HEADER {
            let length = io.read_buf(&mut said).await?;
            if matches!(io, Io::Left(_)) && matches!(said.first(), Some(&(TLS_HANDSHAKE | TLS_ALERT))) {
                return Ok(Err(self.refused(Refusal::TlsRequired)));
            }
            if length == 0 {
                // The connection may break within the frame. The length comes first, in three bytes.
                let is_frame =
                    said.first() == Some(&0) && said.get(FRAME_TYPE).is_none_or(|&kind| kind == SETTINGS);
                return Ok(Err(match (said.is_empty(), is_frame) {
                    (true, _) => self.unreachable("it closed the connection immediately".into()),
                    (false, true) => {
                        self.unreachable("it closed the connection within the first frame".into())
                    }
                    (false, false) => self.refused(Refusal::NotHttp2),
                }));
            }
        }
        Ok(match said[FRAME_TYPE] {
            SETTINGS => Ok(said.freeze()),
            _ => Err(self.refused(Refusal::NotHttp2)),
        })
    }

    fn unreachable(&self, reason: String) -> ConnectError {
        ConnectError::Unreachable { address: self.address.clone(), reason }
    }

    fn refused(&self, refusal: Refusal) -> ConnectError {
        ConnectError::Refused { address: self.address.clone(), refusal }
    }
}

#[cfg(test)]
mod tests {
    use crate::access::{Access, AccessArguments, Token};

    #[test]
    fn token_is_not_sent_to_other_machines_in_plain_text() {
        let mut access = Access::load(&AccessArguments::default()).unwrap();
        let (near, far) = ("127.0.0.1:7400".parse().unwrap(), "192.0.2.1:7400".parse().unwrap());
        assert!(access.may_tell(near) && access.may_tell(far), "there is no token");
        access.token = Some(Token::new(b"0123456789abcdef").unwrap()).into();
        assert!(access.may_tell(near) && access.may_tell("[::1]:7400".parse().unwrap()));
        assert!(!access.may_tell(far) && !access.may_tell("[::ffff:192.0.2.1]:7400".parse().unwrap()));
        access.insecure = true;
        assert!(access.may_tell(far));
    }
}
