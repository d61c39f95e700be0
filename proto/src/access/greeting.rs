//! The first bytes of a connection.
//!
//! With TLS 1.3 a client's handshake is complete before the server has checked its certificate, and HTTP/2
//! does not wait for the other side either. A refusal would then appear only at some later request. So the
//! client here sends the HTTP/2 preface and waits for the server's first frame, and the server waits for the
//! preface. This costs one round trip per connection. [`Greeted`] then presents the connection to HTTP/2 as
//! if nothing had been exchanged.

use bytes::Bytes;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;
use tokio_util::either::Either;

/// The bytes with which a client begins HTTP/2: RFC 9113, section 3.4.
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The first byte of a TLS connection: a handshake or an alert. RFC 8446, section 5.1.
pub(super) const TLS_HANDSHAKE: u8 = 22;
pub(super) const TLS_ALERT: u8 = 21;

/// A connection in plain text or TLS.
pub(super) type Io = Either<TcpStream, TlsStream<TcpStream>>;

/// Closes a connection so that `last_word` arrives. If bytes of the peer remained unread, the system would
/// reset the connection, and the peer might see only the reset.
pub(super) async fn part(mut tcp: TcpStream, last_word: &[u8]) {
    /// Time after which the rest of the peer's bytes is no longer read; no more than `MOST` bytes are read
    /// either.
    const LIMIT: Duration = Duration::from_secs(1);
    const MOST: u64 = 64 << 10;
    let parting = async {
        tcp.write_all(last_word).await?;
        tcp.shutdown().await?;
        tokio::io::copy(&mut tcp.take(MOST), &mut tokio::io::sink()).await
    };
    // The connection ends now, whatever the result.
    let _ = tokio::time::timeout(LIMIT, parting).await;
}

/// A connection whose first bytes were already exchanged.
#[derive(Debug)]
pub(super) struct Greeted {
    io: Io,
    /// Bytes that were read from the peer, and not yet by HTTP/2.
    ahead: Bytes,
    /// Bytes that were sent to the peer, and that HTTP/2 will write first.
    said: &'static [u8],
}

impl Greeted {
    /// Wraps a connection on which `ahead` was read and `said` was written.
    pub(super) fn new(io: Io, ahead: Bytes, said: &'static [u8]) -> Self {
        Self { io, ahead, said }
    }
}

impl AsyncRead for Greeted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, buffer);
        }
        let length = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.said.is_empty() {
            return Pin::new(&mut self.io).poll_write(cx, bytes);
        }
        let length = self.said.len().min(bytes.len());
        let (said, rest) = self.said.split_at(length);
        if bytes[..length] != *said {
            return Poll::Ready(Err(io::Error::other("unexpected beginning of HTTP/2")));
        }
        self.said = rest;
        Poll::Ready(Ok(length))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.said.is_empty() {
            return Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        }
        let first = slices.iter().find(|slice| !slice.is_empty());
        self.poll_write(cx, first.map_or(&[], |slice| slice))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
