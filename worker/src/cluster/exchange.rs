//! What peers get: cosets of layers, and whole files.

use crate::Store;
use crate::cluster::Meter;
use fathom_command::drill;
use fathom_layer::{LayerError, LayerFile};
use fathom_proto::chunk::{self, CHUNK_BYTES};
use fathom_proto::convert;
use fathom_proto::v1::{self, exchange_server};
use fathom_run::{Depth, Geometry, Task};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

/// Chunks of one answer that wait for its reader.
const AHEAD: usize = 2;
/// Answers that are made at once; others wait.
const AT_ONCE: usize = 16;
/// zstd level of files on their way.
const ZSTD_LEVEL: i32 = 1;

/// The exchange of a worker.
#[derive(Clone, Debug)]
pub struct Exchange {
    store: &'static Store<'static>,
    geometry: Geometry,
    meter: Arc<Meter>,
    files: Arc<Mutex<BTreeMap<Task, Arc<LayerFile>>>>,
    turns: Arc<Semaphore>,
}

impl Exchange {
    /// Of a store.
    pub fn new(store: &'static Store<'static>, geometry: Geometry, meter: Arc<Meter>) -> Self {
        Self { store, geometry, meter, files: Arc::default(), turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Forgets the open files of a layer, because they are removed.
    pub fn forget(&self, depth: Depth) {
        self.files.lock().expect("nothing panics with the files").retain(|task, _| task.depth != depth);
    }

    fn open(&self, task: Task) -> Result<Arc<LayerFile>, v1::FetchFailure> {
        let mut files = self.files.lock().expect("nothing panics with the files");
        if let Some(file) = files.get(&task) {
            return Ok(Arc::clone(file));
        }
        let file = self.store.open_shard(&self.geometry, task.depth, task.shard);
        let file = Arc::new(file.map_err(|error| refusal(task, &error))?);
        files.insert(task, Arc::clone(&file));
        Ok(file)
    }

    fn other_run(&self, fingerprint: &[u8]) -> Option<v1::FetchFailure> {
        use v1::fetch_failure::Kind;
        let mine = self.geometry.fingerprint;
        let other = Kind::OtherRun(v1::OtherRun { fingerprint: mine.to_vec().into() });
        (*fingerprint != mine).then_some(v1::FetchFailure { kind: Some(other) })
    }

    /// Sends cosets until all are sent, one cannot be read, or nobody listens any more.
    fn send_cosets(
        &self,
        depth: Depth,
        ranges: &[v1::CosetRange],
        mut send: impl FnMut(v1::Chunk) -> Option<()>,
    ) -> Result<(), v1::FetchFailure> {
        let mut bytes = Vec::new();
        for coset in ranges.iter().flat_map(|range| range.first..range.first + range.count) {
            let shard = self.geometry.cut.shard_of(coset);
            let task = Task { depth, shard };
            let file = self.open(task)?;
            let local = coset - file.identity().first_coset;
            let (encoding, states, stored) = file.canonical(local).map_err(|error| refusal(task, &error))?;
            let canonical = stored.canonical();
            chunk::push(&mut bytes, chunk::Coset { number: coset, encoding, states, canonical });
            if bytes.len() >= CHUNK_BYTES {
                if send(chunk::pack(&bytes)).is_none() {
                    return Ok(());
                }
                bytes.clear();
            }
        }
        if !bytes.is_empty() {
            send(chunk::pack(&bytes));
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
        let (sender, receiver) = mpsc::channel(AHEAD);
        let response = |result| Ok(v1::FetchCosetsResponse { result: Some(result) });
        if let Some(failure) = self.other_run(&fingerprint) {
            let _ = sender.send(response(Sent::Failure(failure))).await;
            return Ok(Response::new(ReceiverStream::new(receiver)));
        }
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let this = self.clone();
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let sent = this.send_cosets(Depth(depth), &ranges, |chunk| {
                drill::point("serving");
                this.meter.sent.fetch_add(chunk.zstd.len() as u64, Ordering::Relaxed);
                sender.blocking_send(response(Sent::Chunk(chunk))).ok()
            });
            if let Err(failure) = sent {
                let _ = sender.blocking_send(response(Sent::Failure(failure)));
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn copy_file(
        &self,
        request: Request<v1::CopyFileRequest>,
    ) -> Result<Response<Self::CopyFileStream>, Status> {
        use v1::copy_file_response::Result as Sent;
        let v1::CopyFileRequest { fingerprint, file } = request.into_inner();
        let task = convert::file(file.as_ref(), &self.geometry)?;
        let (sender, receiver) = mpsc::channel(AHEAD);
        let response = |result| Ok(v1::CopyFileResponse { result: Some(result) });
        if let Some(failure) = self.other_run(&fingerprint) {
            let _ = sender.send(response(Sent::Failure(failure))).await;
            return Ok(Response::new(ReceiverStream::new(receiver)));
        }
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let this = self.clone();
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            // The receiver finds what is damaged; but then it is good to know here too.
            let file = this.open(task).and_then(|file| match file.check_all() {
                Ok(()) => Ok(file),
                Err(error) => Err(refusal(task, &error)),
            });
            let file = match file {
                Ok(file) => file,
                Err(failure) => {
                    let _ = sender.blocking_send(response(Sent::Failure(failure)));
                    return;
                }
            };
            let whole = file.whole();
            for bytes in whole.chunks(CHUNK_BYTES) {
                drill::point("pushing");
                let zstd = match zstd::bulk::compress(bytes, ZSTD_LEVEL) {
                    Ok(zstd) => zstd,
                    Err(error) => {
                        let _ = sender.blocking_send(Err(Status::internal(error.to_string())));
                        return;
                    }
                };
                this.meter.sent.fetch_add(zstd.len() as u64, Ordering::Relaxed);
                let piece = v1::Piece {
                    zstd: zstd.into(),
                    uncompressed_bytes: bytes.len() as u32,
                    file_bytes: whole.len() as u64,
                };
                if sender.blocking_send(response(Sent::Piece(piece))).is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}
