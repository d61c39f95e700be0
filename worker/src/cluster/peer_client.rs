//! The client side of the exchange: fetches cosets that tasks read, and copies files.
//!
//! If a holder fails, the next one is tried. If all have failed, they are tried again a few times, and then
//! the failure is reported with its kind.

use crate::cluster::holders::Holders;
use crate::cluster::{Meter, failure};
use backon::{BackoffBuilder, ExponentialBuilder};
use fathom_command::failpoint;
use fathom_engine::run::{Depth, Geometry, ShardId, Task};
use fathom_engine::task::error::chain;
use fathom_engine::task::{Layer, Store};
use fathom_layer::chunk;
use fathom_layer::writer::temporary;
use fathom_layer::{Digest, Disk, Import, Imports, LayerDigest, LayerError, LayerFile};
use fathom_proto::access::{Access, Connection};
use fathom_proto::v1::exchange_client::ExchangeClient;
use fathom_proto::v1::{self, fetch_failure};
use fathom_proto::{Copied, Failure, StoredFile, convert};
use fathom_space::CosetId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinSet, block_in_place};
use tokio_stream::StreamExt;
use tonic::Status;

/// Time limit for making a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Time limit for each further message of a response: a peer that is silent for longer is abandoned.
const SILENCE: Duration = Duration::from_secs(20);
/// Time limit for the beginning of a response: the peer may have to answer many others first.
const TURN: Duration = Duration::from_secs(120);
/// Number of concurrent requests to one peer. The peer allows [more](super::peer_server::ANSWERS_OF_ONE) on a
/// connection.
const REQUESTS_AT_ONCE: usize = 6;
/// Number of requests into which the cosets of one peer are divided, so that several threads on both sides
/// compress, check and copy them.
const STREAMS: usize = 4;
/// Minimum number of bytes of cosets that justifies a separate request.
const MIN_OF_STREAM: u64 = 1 << 20;
/// Maximum number of cosets in one request, which keeps the message small.
const COSETS_AT_ONCE: usize = 1 << 16;
/// Number of rounds in which all holders are tried.
const MAX_ROUNDS: usize = 3;
/// Maximum size of a chunk or piece, in bytes.
const MAX_MESSAGE_BYTES: usize = chunk::MAX_BYTES + (1 << 20);

/// Why a holder did not serve a request.
#[derive(Debug)]
enum Denial {
    /// Another holder may serve it.
    Elsewhere(String),
    /// A requested file is damaged there. It need not be the first of the requested files.
    Damaged(Task, String),
    /// This worker cannot write what it receives.
    Mine(Failure),
}

/// Fetches from peers.
#[derive(Debug)]
pub struct Fetcher {
    access: Access,
    geometry: Geometry,
    meter: Arc<Meter>,
    /// The connection to each peer. All requests that need the first connection to a peer wait for it.
    connections: Mutex<BTreeMap<String, Arc<Connecting>>>,
    /// The files being copied. All requests for the same file wait for that one copy.
    copying: Mutex<BTreeMap<Task, Arc<Turn>>>,
    /// The checksums of the cosets of files, verified against the files' digests.
    checksums: Mutex<BTreeMap<Task, Confirmed>>,
    /// The semaphore of each peer, which limits the requests to the peer.
    requests: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

/// The digest of a file, and the checksums that have this digest.
type Confirmed = (Digest, Arc<[Digest]>);

/// A connection, once it is established.
type Connecting = OnceCell<ExchangeClient<Connection>>;

/// The lock that is held while a file is copied.
type Turn = tokio::sync::Mutex<()>;

impl Fetcher {
    /// Creates a fetcher without connections.
    pub fn new(access: Access, geometry: Geometry, meter: Arc<Meter>) -> Self {
        Self {
            access,
            geometry,
            meter,
            connections: Mutex::default(),
            copying: Mutex::default(),
            checksums: Mutex::default(),
            requests: Mutex::default(),
        }
    }

    async fn connect(&self, address: &str) -> Result<ExchangeClient<Connection>, Denial> {
        let connecting = Arc::clone(self.connections().entry(address.into()).or_default());
        let connect = || async {
            let connection = self.access.connect(address, CONNECT).await;
            let connection = connection.map_err(|error| Denial::Elsewhere(error.to_string()))?;
            // The checksums of a shard come in one message, along with a chunk.
            let checksums = 32 * self.geometry.cut.cosets().div_ceil(self.geometry.cut.shards()) as usize;
            Ok(ExchangeClient::new(connection).max_decoding_message_size(MAX_MESSAGE_BYTES + checksums))
        };
        connecting.get_or_try_init(connect).await.cloned()
    }

    /// Waits until few enough requests to a peer are under way.
    async fn turn(&self, address: &str) -> OwnedSemaphorePermit {
        let requests = {
            let mut requests =
                self.requests.lock().expect("the lock is never poisoned: no code panics while holding it");
            let new = || Arc::new(Semaphore::new(REQUESTS_AT_ONCE));
            Arc::clone(requests.entry(address.into()).or_insert_with(new))
        };
        requests.acquire_owned().await.expect("the semaphore is never closed")
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Connecting>>> {
        self.connections.lock().expect("no thread panics while it holds the lock")
    }

    /// Fetches cosets of a layer into its imports. `needed` must be sorted.
    ///
    /// # Errors
    /// [`Failure`] if some cosets cannot be fetched.
    pub async fn cosets(
        self: &Arc<Self>,
        depth: Depth,
        needed: &[CosetId],
        layer: &Arc<Layer>,
        holders: &Arc<Holders>,
    ) -> Result<(), Failure> {
        // One request for all cosets with the same holders; requests to different holders run concurrently.
        let mut requests: BTreeMap<Vec<String>, Vec<CosetId>> = BTreeMap::new();
        for of_shard in needed.chunk_by(|a, b| self.shard(*a) == self.shard(*b)) {
            let task = Task { depth, shard: self.shard(of_shard[0]) };
            let mut addresses = holders.of(task);
            // Spread the load: different shards start with different holders.
            let turn = task.shard.0 as usize % addresses.len().max(1);
            addresses.rotate_left(turn);
            requests.entry(addresses).or_default().extend(of_shard);
        }
        // Each request is a task of the runtime. If one fails, or this call is dropped, the others end too.
        let mut fetches = JoinSet::new();
        for (addresses, cosets) in &requests {
            for cosets in cosets.chunks(self.of_stream(cosets.len())) {
                let (this, layer, holders) = (Arc::clone(self), Arc::clone(layer), Arc::clone(holders));
                let (cosets, addresses) = (cosets.to_vec(), addresses.clone());
                fetches.spawn(
                    async move { this.cosets_from(depth, &cosets, &addresses, &layer, &holders).await },
                );
            }
        }
        while let Some(fetched) = fetches.join_next().await {
            fetched.unwrap_or_else(|error| Err(Failure::Other(error.to_string())))?;
        }
        Ok(())
    }

    /// Returns the number of cosets per request if a peer is asked for `cosets` cosets.
    fn of_stream(&self, cosets: usize) -> usize {
        let bytes = cosets as u64 * u64::from(self.geometry.packed_bytes);
        let streams = (bytes / MIN_OF_STREAM).clamp(1, STREAMS as u64) as usize;
        cosets.div_ceil(streams).min(COSETS_AT_ONCE)
    }

    fn shard(&self, coset: CosetId) -> ShardId {
        self.geometry.cut.shard_of(coset.0)
    }

    async fn cosets_from(
        &self,
        depth: Depth,
        cosets: &[CosetId],
        addresses: &[String],
        layer: &Layer,
        holders: &Holders,
    ) -> Result<(), Failure> {
        let file = Task { depth, shard: self.shard(cosets[0]) };
        self.ask_all(file, addresses, |address| async move {
            let missing: Vec<CosetId> = cosets.iter().copied().filter(|&coset| !layer.holds(coset)).collect();
            if !missing.is_empty() {
                let mut fetched = self.cosets_of(depth, &missing, &address, layer, holders).await;
                // Bits may have changed in transit: a file counts as damaged if this is found twice.
                if matches!(fetched, Err(Denial::Damaged(..))) {
                    fetched = self.cosets_of(depth, &missing, &address, layer, holders).await;
                }
                fetched?;
            }
            match cosets.iter().all(|&coset| layer.holds(coset)) {
                true => Ok(()),
                false => Err(Denial::Elsewhere(format!("{address} sent less than requested"))),
            }
        })
        .await
    }

    async fn cosets_of(
        &self,
        depth: Depth,
        cosets: &[CosetId],
        address: &str,
        layer: &Layer,
        holders: &Holders,
    ) -> Result<(), Denial> {
        use v1::fetch_cosets_response::Result as Sent;
        let shards: BTreeSet<ShardId> = cosets.iter().map(|&coset| self.shard(coset)).collect();
        let mut checksums: BTreeMap<ShardId, Arc<[Digest]>> = BTreeMap::new();
        for &shard in &shards {
            let stored = holders.stored(Task { depth, shard });
            checksums.extend(self.known_checksums(stored).map(|checksums| (shard, checksums)));
        }
        let request = v1::FetchCosetsRequest {
            fingerprint: self.geometry.fingerprint.to_vec().into(),
            depth: depth.0,
            ranges: ranges(cosets),
            known_shards: checksums.keys().map(|shard| shard.0).collect(),
        };
        let lost = |status: Status| Denial::Elsewhere(format!("{address}: {}", said(&status)));
        let _turn = self.turn(address).await;
        let asked = Instant::now();
        let mut client = self.connect(address).await?;
        let mut stream =
            in_time(TURN, client.fetch_cosets(request), address).await?.map_err(lost)?.into_inner();
        while let Some(message) = next(&mut stream, address).await? {
            let message = message.map_err(lost)?;
            for sent in message.checksums {
                self.meter.received.fetch_add(sent.checksums.len() as u64, Ordering::Relaxed);
                let task = Task { depth, shard: ShardId(sent.shard) };
                if shards.contains(&task.shard) {
                    let confirmed = self.confirm(holders.stored(task), &sent.checksums)?;
                    checksums.insert(task.shard, confirmed);
                }
            }
            match message.result {
                Some(Sent::Chunk(chunk)) => {
                    let received = chunk.zstd.len() + chunk.plain.len();
                    self.meter.received.fetch_add(received as u64, Ordering::Relaxed);
                    let imports = layer.imports().expect("layers that cosets are fetched for have imports");
                    block_in_place(|| self.add(depth, imports, &chunk, &checksums))?;
                }
                Some(Sent::Failure(failure)) => return Err(self.denial(address, failure)),
                None => return Err(Denial::Elsewhere(format!("{address} sent an invalid message"))),
            }
        }
        self.meter.note_fetch(asked.elapsed());
        Ok(())
    }

    /// Returns the checksums of a file's cosets, if they are known here.
    fn known_checksums(&self, stored: StoredFile) -> Option<Arc<[Digest]>> {
        let known =
            self.checksums.lock().expect("the lock is never poisoned: no code panics while holding it");
        let (digest, checksums) = known.get(&stored.task)?;
        (Some(*digest) == stored.digest).then(|| Arc::clone(checksums))
    }

    /// Stores the checksums of a file's cosets, if they have the digest that the coordinator gave.
    fn confirm(&self, stored: StoredFile, bytes: &[u8]) -> Result<Arc<[Digest]>, Denial> {
        let (checksums, rest) = bytes.as_chunks::<32>();
        let checksums: Arc<[Digest]> = checksums.iter().map(|&checksum| Digest(checksum)).collect();
        let mut digest = LayerDigest::new(stored.task.depth.0);
        digest.add(&checksums);
        let got = digest.finish();
        let cosets = self.geometry.cut.range(stored.task.shard).len();
        if checksums.len() != cosets || !rest.is_empty() || stored.digest.is_some_and(|digest| digest != got)
        {
            return Err(Denial::Damaged(stored.task, "it is not the reported file".into()));
        }
        let mut known =
            self.checksums.lock().expect("the lock is never poisoned: no code panics while holding it");
        // Older layers are not fetched from again, except to repair a lost file.
        known.retain(|task, _| task.depth.0 + 1 >= stored.task.depth.0);
        known.insert(stored.task, (got, Arc::clone(&checksums)));
        Ok(checksums)
    }

    /// Adds the cosets of a chunk to the imports of a layer, after checking each against its checksum.
    fn add(
        &self,
        depth: Depth,
        imports: &Imports,
        chunk: &v1::Chunk,
        checksums: &BTreeMap<ShardId, Arc<[Digest]>>,
    ) -> Result<(), Denial> {
        let elsewhere = |error: chunk::BadChunk| Denial::Elsewhere(error.to_string());
        let length = chunk.uncompressed_bytes as usize;
        let bytes = chunk::unpack(&chunk.zstd, &chunk.plain, length).map_err(elsewhere)?;
        let mut cosets = Vec::new();
        for coset in chunk::cosets(&bytes) {
            let chunk::Coset { number, encoding, states, canonical } = coset.map_err(elsewhere)?;
            if number >= self.geometry.cut.cosets() {
                return Err(Denial::Elsewhere(format!("coset {number} does not exist")));
            }
            let shard = self.geometry.cut.shard_of(number);
            let first = self.geometry.cut.range(shard).start;
            let expected = checksums.get(&shard).and_then(|of| of.get((number - first) as usize));
            if expected != Some(&Digest::new(canonical)) {
                let file = Task { depth, shard };
                return Err(Denial::Damaged(file, format!("coset {number} does not match its checksum")));
            }
            cosets.push(Import { coset: number, encoding, states, canonical });
        }
        imports.push(&cosets).map_err(|error| match error.is_damage() {
            true => Denial::Elsewhere(error.to_string()),
            false => Denial::Mine(match error.is_disk_full() {
                true => Failure::DiskFull(chain(&error)),
                false => Failure::Other(chain(&error)),
            }),
        })
    }

    /// Copies a file into the store, and returns its size and digest. If the file is already being copied,
    /// the call waits for that copy, and starts another one only if that copy fails.
    ///
    /// # Errors
    /// [`Failure`] if the file cannot be fetched or stored.
    pub async fn copy(
        &self,
        store: &'static Store<'static>,
        disk: &'static dyn Disk,
        file: StoredFile,
        addresses: &[String],
    ) -> Result<Copied, Failure> {
        let task = file.task;
        let turn = Arc::clone(self.copying().entry(task).or_default());
        let copied = {
            let _turn = turn.lock().await;
            self.copy_in_turn(store, disk, file, addresses).await
        };
        drop(turn);
        // No other call can start to wait while the map is locked, so a count of one means that none waits.
        self.copying().retain(|_, turn| Arc::strong_count(turn) > 1);
        copied
    }

    fn copying(&self) -> std::sync::MutexGuard<'_, BTreeMap<Task, Arc<Turn>>> {
        self.copying.lock().expect("the lock is never poisoned: no code panics while holding it")
    }

    async fn copy_in_turn(
        &self,
        store: &'static Store<'static>,
        disk: &'static dyn Disk,
        stored: StoredFile,
        addresses: &[String],
    ) -> Result<Copied, Failure> {
        let task = stored.task;
        // An existing file counts only if it is intact and the reported one. Otherwise it would be reported
        // as a copy, and discarded again.
        let here = || {
            let file = store.open_shard(&self.geometry, task.depth, task.shard)?;
            whole(&file, stored.digest)
        };
        if let Ok(copied) = block_in_place(here) {
            return Ok(copied);
        }
        self.ask_all(
            task,
            addresses,
            |address| async move { self.copy_from(store, disk, stored, &address).await },
        )
        .await
    }

    async fn copy_from(
        &self,
        store: &'static Store<'static>,
        disk: &'static dyn Disk,
        stored: StoredFile,
        address: &str,
    ) -> Result<Copied, Denial> {
        let task = stored.task;
        use v1::copy_file_response::Result as Sent;
        let request = v1::CopyFileRequest {
            fingerprint: self.geometry.fingerprint.to_vec().into(),
            file: Some(task.into()),
        };
        let lost = |status: Status| Denial::Elsewhere(format!("{address}: {}", said(&status)));
        let _turn = self.turn(address).await;
        let asked = Instant::now();
        let mut client = self.connect(address).await?;
        let mut stream = in_time(TURN, client.copy_file(request), address).await?.map_err(lost)?.into_inner();
        let path = store.path(task.depth, task.shard);
        let incoming = temporary(&path);
        let mine = |error: LayerError| Denial::Mine(failure::of_disk(&error));
        let io = |action| {
            let path = incoming.clone();
            move |source| mine(LayerError::Io { action, path, source })
        };
        // Waiting for the disk must not block the runtime's other tasks, such as heartbeats.
        let mut file = block_in_place(|| {
            store.prepare(task.depth).map_err(mine)?;
            disk.create(&incoming).map_err(io("create"))
        })?;
        let received: Result<(), Denial> = async {
            let mut offset = 0;
            while let Some(message) = next(&mut stream, address).await? {
                match message.map_err(lost)?.result {
                    Some(Sent::Piece(piece)) => {
                        let received = piece.zstd.len() + piece.plain.len();
                        self.meter.received.fetch_add(received as u64, Ordering::Relaxed);
                        let length = (piece.uncompressed_bytes as usize).min(chunk::CHUNK_BYTES);
                        offset += block_in_place(|| {
                            let bytes = chunk::unpack(&piece.zstd, &piece.plain, length)
                                .map_err(|error| Denial::Elsewhere(format!("{address}: {error}")))?;
                            file.write_at(&bytes, offset).map_err(io("write"))?;
                            Ok(bytes.len() as u64)
                        })?;
                    }
                    Some(Sent::Failure(failure)) => return Err(self.denial(address, failure)),
                    None => return Err(Denial::Elsewhere(format!("{address} sent an invalid message"))),
                }
            }
            self.meter.note_fetch(asked.elapsed());
            Ok(())
        }
        .await;
        let identity = self.geometry.identity(task.depth, task.shard);
        block_in_place(|| {
            let kept = received.and_then(|()| {
                failpoint::point("copying");
                file.sync().map_err(io("sync"))?;
                let checked =
                    LayerFile::open(&incoming, &identity).and_then(|file| whole(&file, stored.digest));
                let copied = checked.map_err(|error| match error {
                    LayerError::Replaced { .. } => Denial::Damaged(task, error.to_string()),
                    _ => Denial::Elsewhere(format!("{address} sent a wrong file: {error}")),
                })?;
                disk.rename(&incoming, &path).map_err(io("rename"))?;
                disk.sync_directory(&store.directory_of(task.depth)).map_err(io("sync the directory of"))?;
                Ok(copied)
            });
            if kept.is_err() {
                let _ = disk.remove(&incoming);
            }
            kept
        })
    }

    /// Tries the holders in turn.
    async fn ask_all<T, F>(
        &self,
        file: Task,
        addresses: &[String],
        ask: impl Fn(String) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Denial>>,
    {
        let mut message = String::from("no worker holds it");
        let mut pauses =
            ExponentialBuilder::default().with_min_delay(Duration::from_millis(100)).with_jitter().build();
        for round in 0..MAX_ROUNDS {
            for address in addresses {
                match ask(address.clone()).await {
                    Ok(value) => return Ok(value),
                    // Another copy may be intact, but the coordinator must learn of this damaged one.
                    Err(Denial::Damaged(file, message)) => {
                        return Err(Failure::Damaged { file, address: Some(address.clone()), message });
                    }
                    Err(Denial::Mine(failure)) => return Err(failure),
                    Err(Denial::Elsewhere(reason)) => {
                        tracing::debug!(
                            address,
                            reason,
                            depth = file.depth.0,
                            shard = file.shard.0,
                            "not served"
                        );
                        self.connections().remove(address);
                        message = reason;
                    }
                }
            }
            if round + 1 < MAX_ROUNDS && !addresses.is_empty() {
                tokio::time::sleep(pauses.next().unwrap_or(CONNECT)).await;
            }
        }
        Err(Failure::Unreachable { file, addresses: addresses.to_vec(), message })
    }

    /// Converts the peer's report of a damaged or missing file.
    fn useless(&self, address: &str, file: Option<v1::File>, message: String) -> Denial {
        match convert::file(file.as_ref(), &self.geometry) {
            Ok(file) => Denial::Damaged(file, message),
            Err(error) => Denial::Elsewhere(format!("{address}: {error}")),
        }
    }

    fn denial(&self, address: &str, failure: v1::FetchFailure) -> Denial {
        match failure.kind {
            Some(fetch_failure::Kind::Damaged(damaged)) => {
                self.useless(address, damaged.file, damaged.message)
            }
            // The file was deleted there, and the coordinator must learn that.
            Some(fetch_failure::Kind::Missing(missing)) => {
                self.useless(address, missing.file, format!("{address} does not have it"))
            }
            Some(fetch_failure::Kind::OtherRun(_)) => {
                Denial::Elsewhere(format!("{address} works on another run"))
            }
            Some(fetch_failure::Kind::Other(other)) => {
                Denial::Elsewhere(format!("{address}: {}", other.message))
            }
            None => Denial::Elsewhere(format!("{address} refused for an unknown reason")),
        }
    }
}

/// Returns the display message of a status. If the connection failed, this is the reason of the failure.
pub fn said(status: &Status) -> String {
    match fathom_proto::access::ConnectError::behind(status) {
        Some(error) => error.to_string(),
        None => status.message().to_owned(),
    }
}

/// Checks that a file is intact and is the reported one. Returns its size and digest.
///
/// # Errors
/// [`LayerError`] if it is not.
pub(super) fn whole(file: &LayerFile, digest: Option<Digest>) -> Result<Copied, LayerError> {
    file.check_all()?;
    digest.map_or(Ok(()), |digest| file.check_digest(digest))?;
    Ok(Copied { bytes: file.bytes(), digest: file.digest()? })
}

/// Waits for the next message of a response, up to a time limit.
async fn next<S: tokio_stream::Stream<Item = T> + Unpin, T>(
    stream: &mut S,
    address: &str,
) -> Result<Option<T>, Denial> {
    in_time(SILENCE, stream.next(), address).await
}

/// Waits for a peer, up to a time limit.
async fn in_time<T>(limit: Duration, said: impl Future<Output = T>, address: &str) -> Result<T, Denial> {
    let said = tokio::time::timeout(limit, said).await;
    said.map_err(|_| Denial::Elsewhere(format!("{address} was silent for {} s", limit.as_secs())))
}

/// Converts sorted cosets to ranges.
fn ranges(cosets: &[CosetId]) -> Vec<v1::CosetRange> {
    let runs = cosets.chunk_by(|a, b| a.0 + 1 == b.0);
    runs.map(|run| v1::CosetRange { first: run[0].0, count: run.len() as u32 }).collect()
}
