//! What peers get: cosets of layers, and whole files.

use crate::cluster::Meter;
use crate::cluster::files::OpenFiles;
use fathom_command::failpoint;
use fathom_layer::LayerError;
use fathom_layer::chunk::{self, CHUNK_BYTES};
use fathom_proto::convert;
use fathom_proto::v1::{self, exchange_server};
use fathom_run::{Depth, Geometry, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

/// Chunks of one answer that wait for its reader.
const AHEAD: usize = 2;
/// Answers that are made at once; others wait.
const AT_ONCE: usize = 16;

/// The exchange of a worker.
#[derive(Clone, Debug)]
pub struct Exchange {
    files: OpenFiles,
    geometry: Geometry,
    meter: Arc<Meter>,
    turns: Arc<Semaphore>,
}

impl Exchange {
    /// Of these files.
    pub fn new(files: OpenFiles, geometry: Geometry, meter: Arc<Meter>) -> Self {
        Self { files, geometry, meter, turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    fn other_run(&self, fingerprint: &[u8]) -> Option<v1::FetchFailure> {
        use v1::fetch_failure::Kind;
        let mine = self.geometry.fingerprint;
        let other = Kind::OtherRun(v1::OtherRun { fingerprint: mine.to_vec().into() });
        (*fingerprint != mine).then_some(v1::FetchFailure { kind: Some(other) })
    }

    /// Answers a request when its turn comes, in a thread of its own: `send` says by `None` that nobody listens any more.
    async fn answer<R: Send + 'static>(
        &self,
        fingerprint: &[u8],
        refused: impl FnOnce(v1::FetchFailure) -> R + Send + 'static,
        work: impl FnOnce(&Self, &dyn Fn(R) -> Option<()>) -> Result<(), v1::FetchFailure> + Send + 'static,
    ) -> Response<Stream<R>> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let other_run = self.other_run(fingerprint);
        // The semaphore is never closed.
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let this = self.clone();
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let send = |message| sender.blocking_send(Ok(message)).ok();
            let answered = match other_run {
                Some(failure) => Err(failure),
                None => work(&this, &send),
            };
            if let Err(failure) = answered {
                send(refused(failure));
            }
        });
        Response::new(ReceiverStream::new(receiver))
    }

    /// Sends cosets until all are sent, one cannot be read, or nobody listens any more.
    fn send_cosets(
        &self,
        depth: Depth,
        ranges: &[v1::CosetRange],
        send: impl Fn(v1::Chunk) -> Option<()>,
    ) -> Result<(), v1::FetchFailure> {
        let mut compressor = chunk::Compressor::new();
        let mut send = |bytes: &[u8]| {
            let chunk =
                v1::Chunk { zstd: compressor.compress(bytes).into(), uncompressed_bytes: bytes.len() as u32 };
            failpoint::point("serving");
            self.meter.sent.fetch_add(chunk.zstd.len() as u64, Ordering::Relaxed);
            send(chunk)
        };
        let mut bytes = Vec::new();
        for coset in ranges.iter().flat_map(|range| range.first..range.first + range.count) {
            let task = Task { depth, shard: self.geometry.cut.shard_of(coset) };
            let refused = |error| refusal(task, &error);
            let file = self.files.open(task).map_err(refused)?;
            let local = coset - file.identity().first_coset;
            let (encoding, states, stored) = file.canonical(local).map_err(refused)?;
            let canonical = stored.canonical();
            chunk::push(&mut bytes, chunk::Coset { number: coset, encoding, states, canonical });
            if bytes.len() >= CHUNK_BYTES {
                if send(&bytes).is_none() {
                    return Ok(());
                }
                bytes.clear();
            }
        }
        if !bytes.is_empty() {
            send(&bytes);
        }
        Ok(())
    }

    /// Sends a file until it is sent, or nobody listens any more.
    fn send_file(&self, task: Task, send: impl Fn(v1::Piece) -> Option<()>) -> Result<(), v1::FetchFailure> {
        let refused = |error| refusal(task, &error);
        let file = self.files.open(task).map_err(refused)?;
        // The receiver finds what is damaged; but then it is good to know here too.
        file.check_all().map_err(refused)?;
        let mut compressor = chunk::Compressor::new();
        for bytes in file.whole().chunks(CHUNK_BYTES) {
            failpoint::point("pushing");
            let piece = v1::Piece {
                zstd: compressor.compress(bytes).into(),
                uncompressed_bytes: bytes.len() as u32,
                file_bytes: file.whole().len() as u64,
            };
            self.meter.sent.fetch_add(piece.zstd.len() as u64, Ordering::Relaxed);
            if send(piece).is_none() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Why a file cannot be served.
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

type Stream<T> = ReceiverStream<Result<T, Status>>;

#[tonic::async_trait]
impl exchange_server::Exchange for Exchange {
    type FetchCosetsStream = Stream<v1::FetchCosetsResponse>;
    type CopyFileStream = Stream<v1::CopyFileResponse>;

    async fn fetch_cosets(
        &self,
        request: Request<v1::FetchCosetsRequest>,
    ) -> Result<Response<Self::FetchCosetsStream>, Status> {
        use v1::fetch_cosets_response::Result as Sent;
        let v1::FetchCosetsRequest { fingerprint, depth, ranges } = request.into_inner();
        let cosets = self.geometry.cut.cosets();
        let mut end = 0;
        for range in &ranges {
            let last =
                range.first.checked_add(range.count).filter(|&last| last <= cosets && range.first >= end);
            end = last.ok_or_else(|| {
                Status::invalid_argument(format!(
                    "ranges: {} cosets from {} on are out of order, or not among the {cosets} of the run",
                    range.count, range.first
                ))
            })?;
        }
        let message = |result| v1::FetchCosetsResponse { result: Some(result) };
        let work = move |this: &Self, send: &dyn Fn(_) -> Option<()>| {
            this.send_cosets(Depth(depth), &ranges, |chunk| send(message(Sent::Chunk(chunk))))
        };
        Ok(self.answer(&fingerprint, move |failure| message(Sent::Failure(failure)), work).await)
    }

    async fn copy_file(
        &self,
        request: Request<v1::CopyFileRequest>,
    ) -> Result<Response<Self::CopyFileStream>, Status> {
        use v1::copy_file_response::Result as Sent;
        let v1::CopyFileRequest { fingerprint, file } = request.into_inner();
        let task = convert::file(file.as_ref(), &self.geometry)?;
        let message = |result| v1::CopyFileResponse { result: Some(result) };
        let work = move |this: &Self, send: &dyn Fn(_) -> Option<()>| {
            this.send_file(task, |piece| send(message(Sent::Piece(piece))))
        };
        Ok(self.answer(&fingerprint, move |failure| message(Sent::Failure(failure)), work).await)
    }
}
