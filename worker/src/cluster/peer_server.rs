//! Serves peers: cosets of layers, whole files, and checks of files.
//!
//! A response is a stream of pieces. A blocking thread produces each piece in one of [`AT_ONCE`] turns, and
//! the turn ends before the piece is sent. So a reader that takes nothing costs the memory of a few pieces
//! and no turn, and its response ends after [`UNREAD`]. Each connection has at most [`ANSWERS_OF_ONE`]
//! responses under way, and all connections together at most [`ANSWERS`]; further requests wait.
//!
//! All responses together take at most the memory of `ANSWERS * (AHEAD + 2)` pieces, beside the buffers of
//! HTTP/2 for each stream.

mod inspect;

use crate::cluster::Meter;
use crate::cluster::files::OpenFiles;
use bytes::Bytes;
use fathom_command::failpoint;
use fathom_engine::run::{Depth, Geometry, ShardId, Task};
use fathom_engine::task::{Job, Store};
use fathom_layer::chunk::{self, CHUNK_BYTES, Packed};
use fathom_layer::{LayerError, LayerFile};
use fathom_proto::access::Access;
use fathom_proto::convert;
use fathom_proto::v1;
use fathom_proto::v1::exchange_server::{self, ExchangeServer};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Response, Status};

/// Number of pieces of one response that wait for its reader.
const AHEAD: usize = 2;
/// Number of pieces that are produced concurrently.
pub const AT_ONCE: usize = 16;
/// Number of files that are verified concurrently, beside the turns: counting a whole file takes long.
const VERIFIED_AT_ONCE: usize = 2;
/// Number of responses under way on one connection.
pub const ANSWERS_OF_ONE: usize = 8;
/// Number of responses under way on all connections.
pub const ANSWERS: usize = 256;
/// Time after which an unread response ends.
pub const UNREAD: Duration = Duration::from_secs(15);

/// The exchange service of a worker.
#[derive(Clone, Debug)]
pub struct Exchange {
    files: OpenFiles,
    geometry: Geometry,
    meter: Arc<Meter>,
    turns: Arc<Semaphore>,
    verifying: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    /// The semaphore of each connection. An entry lasts as long as a request of the connection.
    of_peers: Arc<Mutex<Peers>>,
    unread: Duration,
    /// The data needed to count states again, for [`Exchange::with_counting`].
    counting: Option<Counting>,
}

#[derive(Clone, Copy, Debug)]
struct Counting {
    job: &'static Job,
    store: &'static Store<'static>,
}

type Peers = BTreeMap<Option<SocketAddr>, Weak<Semaphore>>;

/// The source of a response's messages.
trait Answer: Send + 'static {
    /// A message of the stream.
    type Message: Send + 'static;
    /// Produces the next message; `None` at the end of the response.
    fn next(&mut self, exchange: &Exchange) -> Result<Option<Self::Message>, v1::FetchFailure>;
    /// Returns the message that ends the response with a failure.
    fn refused(failure: v1::FetchFailure) -> Self::Message;
}

impl Exchange {
    /// Creates an exchange of these files, which does not verify them.
    pub fn new(files: OpenFiles, geometry: Geometry, meter: Arc<Meter>) -> Self {
        Self {
            files,
            geometry,
            meter,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            verifying: Arc::new(Semaphore::new(VERIFIED_AT_ONCE)),
            answers: Arc::new(Semaphore::new(ANSWERS)),
            of_peers: Arc::default(),
            unread: UNREAD,
            counting: None,
        }
    }

    /// Lets the exchange also verify files and look up states in them.
    #[must_use]
    pub fn with_counting(self, job: &'static Job, store: &'static Store<'static>) -> Self {
        Self { counting: Some(Counting { job, store }), ..self }
    }

    /// Returns the service for peers that have the token.
    pub fn into_services(self, access: &Access) -> Routes {
        Routes::new(InterceptedService::new(ExchangeServer::new(self), access.token_check()))
    }

    /// Sets the time after which an unread response ends.
    #[must_use]
    pub fn with_unread(self, unread: Duration) -> Self {
        Self { unread, ..self }
    }

    fn of_peers(&self) -> MutexGuard<'_, Peers> {
        self.of_peers.lock().expect("the lock is never poisoned: no code panics while holding it")
    }

    /// Returns the semaphore of a connection.
    fn of_peer(&self, peer: Option<SocketAddr>) -> Arc<Semaphore> {
        let mut peers = self.of_peers();
        peers.retain(|_, answers| answers.strong_count() > 0);
        if let Some(answers) = peers.get(&peer).and_then(Weak::upgrade) {
            return answers;
        }
        let answers = Arc::new(Semaphore::new(ANSWERS_OF_ONE));
        peers.insert(peer, Arc::downgrade(&answers));
        answers
    }

    fn other_run(&self, fingerprint: &[u8]) -> Option<v1::FetchFailure> {
        use v1::fetch_failure::Kind;
        let mine = self.geometry.fingerprint;
        let other = Kind::OtherRun(v1::OtherRun { fingerprint: mine.to_vec().into() });
        (*fingerprint != mine).then_some(v1::FetchFailure { kind: Some(other) })
    }

    /// Answers a request, once the connection and the exchange have few enough responses under way.
    async fn answer<A: Answer>(
        &self,
        peer: Option<SocketAddr>,
        fingerprint: &[u8],
        answer: A,
    ) -> Response<Stream<A::Message>> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let other_run = self.other_run(fingerprint);
        let never_closed = "the semaphores are never closed";
        let of_peer = self.of_peer(peer).acquire_owned().await.expect(never_closed);
        let of_all = Arc::clone(&self.answers).acquire_owned().await.expect(never_closed);
        // Sent after everything before it has been read.
        let late = Arc::new(OnceLock::new());
        let (this, ended) = (self.clone(), Arc::clone(&late));
        tokio::spawn(async move {
            let _under_way = (of_peer, of_all);
            match other_run {
                Some(failure) => drop(sender.send(Ok(A::refused(failure))).await),
                None => this.send_all(answer, sender, &ended).await,
            }
        });
        let last = tokio_stream::once(late).filter_map(|late| late.get().cloned().map(Err));
        Response::new(Box::pin(ReceiverStream::new(receiver).chain(last)))
    }

    /// Produces and sends messages until the response ends or is no longer read.
    async fn send_all<A: Answer>(
        &self,
        mut answer: A,
        sender: mpsc::Sender<Result<A::Message, Status>>,
        late: &OnceLock<Status>,
    ) {
        loop {
            let turn = Arc::clone(&self.turns).acquire_owned().await.expect("the semaphore is never closed");
            let this = self.clone();
            let made = tokio::task::spawn_blocking(move || {
                let made = answer.next(&this);
                drop(turn);
                (answer, made)
            });
            // The panic has been reported already, and the reader notices that the response is incomplete.
            let Ok((back, made)) = made.await else { return };
            answer = back;
            let (message, is_last) = match made {
                Ok(Some(message)) => (message, false),
                Ok(None) => return,
                Err(failure) => (A::refused(failure), true),
            };
            let sent = tokio::time::timeout(self.unread, sender.send(Ok(message))).await;
            match sent {
                Ok(Ok(())) if !is_last => {}
                Ok(_) => return,
                Err(_) => {
                    tracing::debug!(seconds = self.unread.as_secs_f64(), "unread response ended");
                    let _ = late.set(Status::deadline_exceeded("the response was not read for too long"));
                    return;
                }
            }
        }
    }
}

/// A response with cosets of a layer.
struct Cosets {
    depth: Depth,
    ranges: std::vec::IntoIter<v1::CosetRange>,
    /// The remainder of the current range.
    left: std::ops::Range<u32>,
    /// Shards whose checksums the peer has, or has been sent.
    known: BTreeSet<ShardId>,
    compressor: Option<chunk::Compressor>,
}

impl Iterator for Cosets {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(coset) = self.left.next() {
                return Some(coset);
            }
            let range = self.ranges.next()?;
            self.left = range.first..range.first + range.count;
        }
    }
}

impl Answer for Cosets {
    type Message = v1::FetchCosetsResponse;

    fn next(&mut self, exchange: &Exchange) -> Result<Option<Self::Message>, v1::FetchFailure> {
        // A chunk ends with the coset that makes it long enough.
        let coset_bytes = chunk::HEADER_BYTES + exchange.geometry.packed_bytes as usize;
        let mut bytes = Vec::with_capacity(CHUNK_BYTES + coset_bytes);
        let mut open: Option<(Task, Arc<LayerFile>)> = None;
        let mut checksums = Vec::new();
        let mut sums = 0;
        while bytes.len() + sums < CHUNK_BYTES
            && let Some(coset) = Iterator::next(self)
        {
            let task = Task { depth: self.depth, shard: exchange.geometry.cut.shard_of(coset) };
            let refused = |error| refusal(task, &error);
            let file = match &open {
                Some((of, file)) if *of == task => Arc::clone(file),
                _ => exchange.files.open(task).map_err(refused)?,
            };
            if self.known.insert(task.shard) {
                let all = file.checksums().map_err(refused)?;
                let all: Vec<u8> = all.iter().flat_map(|checksum| checksum.0).collect();
                exchange.meter.sent.fetch_add(all.len() as u64, Ordering::Relaxed);
                sums += all.len();
                checksums.push(v1::Checksums { shard: task.shard.0, checksums: all.into() });
            }
            let local = coset - file.identity().first_coset;
            let (encoding, states, stored) = file.canonical(local).map_err(refused)?;
            let canonical = stored.canonical();
            chunk::push(&mut bytes, chunk::Coset { number: coset, encoding, states, canonical });
            open = Some((task, file));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let uncompressed_bytes = bytes.len() as u32;
        let (zstd, plain) = packed(&mut self.compressor, bytes);
        failpoint::point("serving");
        exchange.meter.sent.fetch_add((zstd.len() + plain.len()) as u64, Ordering::Relaxed);
        let chunk = v1::Chunk { zstd, uncompressed_bytes, plain };
        let result = Some(v1::fetch_cosets_response::Result::Chunk(chunk));
        Ok(Some(v1::FetchCosetsResponse { result, checksums }))
    }

    fn refused(failure: v1::FetchFailure) -> Self::Message {
        let result = Some(v1::fetch_cosets_response::Result::Failure(failure));
        v1::FetchCosetsResponse { result, checksums: Vec::new() }
    }
}

/// A response with a whole file.
struct Whole {
    task: Task,
    /// Opened and checked when the first piece is produced.
    file: Option<Arc<LayerFile>>,
    sent: usize,
    compressor: Option<chunk::Compressor>,
}

impl Answer for Whole {
    type Message = v1::CopyFileResponse;

    fn next(&mut self, exchange: &Exchange) -> Result<Option<Self::Message>, v1::FetchFailure> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let refused = |error| refusal(self.task, &error);
                let file = exchange.files.open(self.task).map_err(refused)?;
                // The receiver checks the file too, but this side should also learn of the damage.
                file.check_all().map_err(refused)?;
                self.file = Some(Arc::clone(&file));
                file
            }
        };
        let left = &file.whole()[self.sent..];
        if left.is_empty() {
            return Ok(None);
        }
        let bytes = &left[..left.len().min(CHUNK_BYTES)];
        failpoint::point("pushing");
        self.sent += bytes.len();
        let (uncompressed_bytes, file_bytes) = (bytes.len() as u32, file.whole().len() as u64);
        let (zstd, plain) = packed(&mut self.compressor, bytes.to_vec());
        exchange.meter.sent.fetch_add((zstd.len() + plain.len()) as u64, Ordering::Relaxed);
        let piece = v1::Piece { zstd, uncompressed_bytes, file_bytes, plain };
        Ok(Some(v1::CopyFileResponse { result: Some(v1::copy_file_response::Result::Piece(piece)) }))
    }

    fn refused(failure: v1::FetchFailure) -> Self::Message {
        v1::CopyFileResponse { result: Some(v1::copy_file_response::Result::Failure(failure)) }
    }
}

/// Returns the bytes of a chunk or a piece compressed, or else plain. The other result is empty.
fn packed(compressor: &mut Option<chunk::Compressor>, bytes: Vec<u8>) -> (Bytes, Bytes) {
    match compressor.get_or_insert_with(chunk::Compressor::new).pack(bytes) {
        Packed::Zstd(zstd) => (zstd.into(), Bytes::new()),
        Packed::Plain(plain) => (Bytes::new(), plain.into()),
    }
}

/// Converts an error in reading a file to a failure for the peer.
fn refusal(task: Task, error: &LayerError) -> v1::FetchFailure {
    use v1::fetch_failure::Kind;
    let message = error.to_string();
    let kind = if error.is_missing() {
        Kind::Missing(v1::Missing { file: Some(task.into()) })
    } else if error.is_damage() {
        Kind::Damaged(v1::Damaged { file: Some(task.into()), address: String::new(), message })
    } else {
        Kind::Other(v1::Other { message })
    };
    v1::FetchFailure { kind: Some(kind) }
}

type Stream<T> = Pin<Box<dyn tokio_stream::Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl exchange_server::Exchange for Exchange {
    type FetchCosetsStream = Stream<v1::FetchCosetsResponse>;
    type CopyFileStream = Stream<v1::CopyFileResponse>;

    async fn fetch_cosets(
        &self,
        request: Request<v1::FetchCosetsRequest>,
    ) -> Result<Response<Self::FetchCosetsStream>, Status> {
        let peer = request.remote_addr();
        let v1::FetchCosetsRequest { fingerprint, depth, ranges, known_shards } = request.into_inner();
        let cosets = self.geometry.cut.cosets();
        let mut end = 0;
        for range in &ranges {
            let last =
                range.first.checked_add(range.count).filter(|&last| last <= cosets && range.first >= end);
            end = last.ok_or_else(|| {
                Status::invalid_argument(format!(
                    "ranges: {} cosets from {} are out of order, or beyond the {cosets} cosets of the run",
                    range.count, range.first
                ))
            })?;
        }
        let known = known_shards.into_iter().map(ShardId).collect();
        let ranges = ranges.into_iter();
        let cosets = Cosets { depth: Depth(depth), ranges, left: 0..0, known, compressor: None };
        Ok(self.answer(peer, &fingerprint, cosets).await)
    }

    async fn verify_file(
        &self,
        request: Request<v1::VerifyFileRequest>,
    ) -> Result<Response<v1::VerifyFileResponse>, Status> {
        use v1::verify_file_response::Result as Answer;
        let peer = request.remote_addr();
        let v1::VerifyFileRequest { fingerprint, file } = request.into_inner();
        let stored = convert::stored_file(file.as_ref(), &self.geometry)?;
        let verified = self.inspect(peer, &fingerprint, &self.verifying, move |this| this.verify(stored));
        let result = Some(verified.await?.map_or_else(Answer::Failure, Answer::Verified));
        Ok(Response::new(v1::VerifyFileResponse { result }))
    }

    async fn look_up(
        &self,
        request: Request<v1::LookUpRequest>,
    ) -> Result<Response<v1::LookUpResponse>, Status> {
        use v1::look_up_response::Result as Answer;
        let peer = request.remote_addr();
        let v1::LookUpRequest { fingerprint, file, places, words } = request.into_inner();
        let stored = convert::stored_file(file.as_ref(), &self.geometry)?;
        let places = convert::looked_up(&places, &words, stored.task.shard, &self.geometry)?;
        let look_up = move |this: &Self| this.look_up(stored, &places, &words);
        let looked_up = self.inspect(peer, &fingerprint, &self.turns, look_up);
        let result = Some(looked_up.await?.map_or_else(Answer::Failure, Answer::LookedUp));
        Ok(Response::new(v1::LookUpResponse { result }))
    }

    async fn copy_file(
        &self,
        request: Request<v1::CopyFileRequest>,
    ) -> Result<Response<Self::CopyFileStream>, Status> {
        let peer = request.remote_addr();
        let v1::CopyFileRequest { fingerprint, file } = request.into_inner();
        let task = convert::file(file.as_ref(), &self.geometry)?;
        let whole = Whole { task, file: None, sent: 0, compressor: None };
        Ok(self.answer(peer, &fingerprint, whole).await)
    }
}
