//! Workers that fetch from each other over loopback.

#[path = "peers/traffic.rs"]
mod traffic;

use fathom_engine::run::{Depth, Geometry, ShardCut, ShardId, Task};
use fathom_engine::task::layer::bits;
use fathom_engine::task::{Layer, Store};
use fathom_kernel::Bits;
use fathom_layer::{ImportMemory, Imports, LocalDisk, Totals};
use fathom_proto::access::{Access, AccessArguments, server};
use fathom_proto::v1::exchange_client::ExchangeClient;
use fathom_proto::v1::exchange_server::{self, ExchangeServer};
use fathom_proto::v1::{self, copy_file_response};
use fathom_proto::{Failure, StoredFile};
use fathom_space::CosetId;
use fathom_worker::cluster::Meter;
use fathom_worker::cluster::files::OpenFiles;
use fathom_worker::cluster::holders::Holders;
use fathom_worker::cluster::peer_client::Fetcher;
use fathom_worker::cluster::peer_server::{ANSWERS_OF_ONE, Exchange};
use futures::StreamExt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tonic::service::Routes;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Endpoint;
use tonic::{Code, Request, Response, Status};

/// The time limit of every wait.
const PATIENCE: Duration = Duration::from_secs(60);
const COSETS: u32 = 64;
const PACKED_BYTES: u32 = 41_472;
/// The only file of the store.
const FILE: Task = Task { depth: Depth(3), shard: ShardId(0) };

/// A worker's store. The directory exists as long as this value; the store as long as the process.
struct Home {
    _directory: tempfile::TempDir,
    store: &'static Store<'static>,
    geometry: Geometry,
}

impl Home {
    fn empty() -> Self {
        let directory = fathom_tests::tempdir().unwrap();
        let store = Box::leak(Box::new(Store::at(directory.path(), &LocalDisk).unwrap()));
        let cut = ShardCut::new(COSETS, 1).unwrap();
        let geometry = Geometry {
            cut,
            fingerprint: [7; 32],
            packed_bytes: PACKED_BYTES,
            row_bits: PACKED_BYTES * 8,
            dense_bytes: u64::from(COSETS) * u64::from(PACKED_BYTES),
        };
        Self { _directory: directory, store, geometry }
    }

    /// A store with an incompressible file of 2.6 MB: more than any buffer holds.
    fn with_file() -> Self {
        Self::with_file_of(7)
    }

    /// Another seed gives another, equally valid file.
    fn with_file_of(seed: u64) -> Self {
        let home = Self::empty();
        home.store.prepare(FILE.depth).unwrap();
        let mut writer = home.store.writer(&home.geometry, FILE).unwrap();
        let mut stored = 0;
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..COSETS {
            let packed: Vec<u8> = (0..PACKED_BYTES).map(|_| random.u8(..)).collect();
            let states = packed.iter().map(|byte| byte.count_ones()).sum();
            writer.push(&packed, states, states).unwrap();
            stored += u64::from(states);
        }
        writer.finish(Totals { stored, states: stored, pairs: None, inverse_pairs: None }).unwrap();
        home
    }

    fn exchange(&self) -> Exchange {
        Exchange::new(OpenFiles::new(self.store, self.geometry), self.geometry, Arc::default())
    }

    fn fetcher(&self) -> Arc<Fetcher> {
        let access = Access::load(&AccessArguments::default()).unwrap();
        Arc::new(Fetcher::new(access, self.geometry, Arc::new(Meter::default())))
    }

    /// Returns the file as a coordinator describes it.
    fn stored(&self) -> StoredFile {
        let file = self.store.open_shard(&self.geometry, FILE.depth, FILE.shard).unwrap();
        StoredFile { task: FILE, digest: Some(file.digest().unwrap()) }
    }

    /// Returns a map in which `peer` holds the file of this store.
    fn map(&self, peer: &str) -> Holders {
        let shard =
            v1::HeldShard { holders: vec![0], digest: self.stored().digest.unwrap().0.to_vec().into() };
        let layers = vec![v1::HeldLayer { depth: FILE.depth.0, shards: vec![shard] }];
        Holders::new(v1::Holders { version: 1, addresses: vec![peer.into()], layers })
    }

    fn request(&self) -> v1::CopyFileRequest {
        v1::CopyFileRequest {
            fingerprint: self.geometry.fingerprint.to_vec().into(),
            file: Some(FILE.into()),
        }
    }
}

/// Serves a peer on a port of its own until the test ends. Returns its address.
async fn serve(exchange: impl exchange_server::Exchange) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let access = Access::load(&AccessArguments::default()).unwrap();
    let incoming = access.incoming(listener).unwrap();
    let service = InterceptedService::new(ExchangeServer::new(exchange), access.token_check());
    tokio::spawn(server::serve(Routes::new(service), incoming, std::future::pending()));
    address
}

async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// A peer that counts requests, flips a bit in a number of its first answers with cosets, and answers
/// requests for a file once its gate is open.
struct Peer {
    exchange: Exchange,
    asked: Arc<AtomicUsize>,
    wrong: usize,
    gate: Arc<Semaphore>,
}

impl Peer {
    fn new(home: &Home) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        Self { exchange: home.exchange(), asked: Arc::default(), wrong: 0, gate }
    }
}

#[tonic::async_trait]
impl exchange_server::Exchange for Peer {
    type FetchCosetsStream =
        Pin<Box<dyn futures::Stream<Item = Result<v1::FetchCosetsResponse, Status>> + Send>>;
    type CopyFileStream = <Exchange as exchange_server::Exchange>::CopyFileStream;

    async fn fetch_cosets(
        &self,
        request: Request<v1::FetchCosetsRequest>,
    ) -> Result<Response<Self::FetchCosetsStream>, Status> {
        use v1::fetch_cosets_response::Result as Sent;
        let is_wrong = self.asked.fetch_add(1, Ordering::Relaxed) < self.wrong;
        let answer = self.exchange.fetch_cosets(request).await?.into_inner();
        let changed = answer.map(move |message| {
            let mut message = message?;
            if let (true, Some(Sent::Chunk(chunk))) = (is_wrong, &mut message.result) {
                let mut bytes = chunk.plain.to_vec();
                *bytes.last_mut().expect("random bits are sent plain") ^= 1;
                chunk.plain = bytes.into();
            }
            Ok(message)
        });
        Ok(Response::new(Box::pin(changed)))
    }

    async fn copy_file(
        &self,
        request: Request<v1::CopyFileRequest>,
    ) -> Result<Response<Self::CopyFileStream>, Status> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.gate.acquire().await.expect("the gate is never closed").forget();
        self.exchange.copy_file(request).await
    }

    async fn verify_file(
        &self,
        request: Request<v1::VerifyFileRequest>,
    ) -> Result<Response<v1::VerifyFileResponse>, Status> {
        self.exchange.verify_file(request).await
    }

    async fn look_up(
        &self,
        request: Request<v1::LookUpRequest>,
    ) -> Result<Response<v1::LookUpResponse>, Status> {
        self.exchange.look_up(request).await
    }
}

/// An order to copy a file and the preparation of a task may need the same file at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn file_needed_twice_is_transferred_once() {
    let (from, to) = (Home::with_file(), Home::empty());
    let peer = Peer::new(&from);
    let (asked, gate) = (Arc::clone(&peer.asked), Arc::clone(&peer.gate));
    let addresses = [serve(peer).await];
    let fetcher = to.fetcher();
    let file = from.stored();
    let mut one = Box::pin(fetcher.copy(to.store, &LocalDisk, file, &addresses));
    let mut other = Box::pin(fetcher.copy(to.store, &LocalDisk, file, &addresses));
    assert!(futures::poll!(one.as_mut()).is_pending());
    assert!(futures::poll!(other.as_mut()).is_pending());
    gate.add_permits(2);
    let (one, other) = in_time("both copies", futures::future::join(one, other)).await;
    assert_eq!(one.unwrap(), other.unwrap());
    to.store.open_shard(&to.geometry, FILE.depth, FILE.shard).unwrap().check_all().unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

/// The cosets equal the peer's wherever they are stored, and arrive in two streams over one connection.
#[tokio::test(flavor = "multi_thread")]
async fn fetched_cosets_are_the_same_in_memory_and_on_disk() {
    let (from, to) = (Home::with_file(), Home::empty());
    let peer = Peer::new(&from);
    let asked = Arc::clone(&peer.asked);
    let holders = Arc::new(from.map(&serve(peer).await));
    let fetcher = to.fetcher();
    let file = from.store.open_shard(&from.geometry, FILE.depth, FILE.shard).unwrap();
    let all: Vec<CosetId> = (0..COSETS).map(CosetId).collect();
    let whole = to.geometry.dense_bytes + 64 * u64::from(COSETS);
    for most in [0, whole / 2, whole] {
        let memory = Arc::new(ImportMemory::new(most));
        let directory = to.store.root();
        let imports = Imports::new(directory, COSETS, to.geometry.tensor(), Arc::clone(&memory));
        let layer = Arc::new(Layer::partial(to.geometry.cut, Some(imports)));
        let fetched = fetcher.cosets(FILE.depth, &all, &layer, &holders);
        in_time("all cosets", fetched).await.unwrap();
        for &coset in &all {
            let (expected, got) = (file.coset(coset.0).unwrap(), layer.coset(coset).unwrap());
            let packed = PACKED_BYTES as usize;
            match (bits(&expected), bits(&got)) {
                (Bits::Dense(expected), Bits::Dense(got)) => assert!(expected[..packed] == got[..packed]),
                other => panic!("{other:?}"),
            }
        }
        let (kept, spilled) = (memory.kept(), memory.spilled());
        assert!(kept <= most && kept + u64::from(PACKED_BYTES) * 2 > most, "{kept} of {most} bytes");
        assert!(kept + spilled > to.geometry.dense_bytes, "{kept} and {spilled}");
        drop(layer);
        assert_eq!(memory.taken(), 0);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 3 * 2);
}

/// Fetches two cosets of a peer's file, as a task does.
async fn fetch(to: &Home, fetcher: &Arc<Fetcher>, holders: Holders) -> (Result<(), Failure>, Arc<Layer>) {
    let store = to.store.directory_of(FILE.depth);
    let memory = Arc::new(ImportMemory::new(u64::MAX));
    let imports = Imports::new(store.parent().unwrap(), COSETS, to.geometry.tensor(), memory);
    let layer = Arc::new(Layer::partial(to.geometry.cut, Some(imports)));
    let fetched = fetcher.cosets(FILE.depth, &[CosetId(3), CosetId(60)], &layer, &Arc::new(holders)).await;
    (fetched, layer)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_reported_file_is_accepted() {
    let (right, other, to) = (Home::with_file(), Home::with_file_of(8), Home::empty());
    let (honest, liar) = (serve(right.exchange()).await, serve(other.exchange()).await);
    let fetcher = to.fetcher();
    let is_named = |failure: &Failure| matches!(failure, Failure::Damaged { file: FILE, address: Some(at), .. } if *at == liar);
    let (fetched, layer) = in_time("cosets of another file", fetch(&to, &fetcher, right.map(&liar))).await;
    assert!(is_named(&fetched.unwrap_err()));
    assert!(!layer.holds(CosetId(3)) && !layer.holds(CosetId(60)), "nothing of another file is kept");
    let copied = fetcher.copy(to.store, &LocalDisk, right.stored(), std::slice::from_ref(&liar));
    assert!(is_named(&in_time("a copy of another file", copied).await.unwrap_err()));
    assert!(to.store.shards(FILE.depth).unwrap().is_empty(), "no other file is kept");
    let (fetched, layer) = in_time("cosets", fetch(&to, &fetcher, right.map(&honest))).await;
    fetched.unwrap();
    assert!(layer.holds(CosetId(3)) && layer.holds(CosetId(60)));
    // A different file in the store does not count as a copy.
    let here = Home::with_file_of(8);
    let copied =
        here.fetcher().copy(here.store, &LocalDisk, right.stored(), std::slice::from_ref(&honest)).await;
    copied.unwrap();
    assert_eq!(here.stored(), right.stored());
}

/// A bit that is flipped in transit must not count against the peer; a bit that is wrong every time must.
#[tokio::test(flavor = "multi_thread")]
async fn file_is_damaged_if_read_so_twice() {
    let (from, to) = (Home::with_file(), Home::empty());
    for wrong in [0, 1, 2] {
        let peer = Peer { wrong, ..Peer::new(&from) };
        let asked = Arc::clone(&peer.asked);
        let address = serve(peer).await;
        let (fetched, layer) = in_time("cosets", fetch(&to, &to.fetcher(), from.map(&address))).await;
        match fetched {
            Ok(()) => assert!(wrong < 2 && layer.holds(CosetId(60))),
            Err(Failure::Damaged { file: FILE, .. }) => assert!(wrong == 2 && !layer.holds(CosetId(60))),
            Err(failure) => panic!("{failure:?}"),
        }
        assert_eq!(asked.load(Ordering::Relaxed), wrong.min(1) + 1);
    }
}

/// A connection that accepts almost nothing of an answer until its reader reads it.
async fn slow_reader(address: &str) -> ExchangeClient<tonic::transport::Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    ExchangeClient::new(endpoint.initial_stream_window_size(1 << 10).connect().await.unwrap())
}

async fn read(answer: Response<tonic::Streaming<v1::CopyFileResponse>>) -> Result<u64, Status> {
    let mut answer = answer.into_inner();
    let mut bytes = 0;
    while let Some(message) = answer.message().await? {
        match message.result {
            Some(copy_file_response::Result::Piece(piece)) => bytes += u64::from(piece.uncompressed_bytes),
            other => panic!("{other:?}"),
        }
    }
    Ok(bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_answers_do_not_block_others() {
    let (from, to) = (Home::with_file(), Home::empty());
    let address = serve(from.exchange()).await;
    let mut unread = Vec::new();
    for _ in 0..3 {
        let mut reader = slow_reader(&address).await;
        for _ in 0..ANSWERS_OF_ONE {
            unread.push(reader.copy_file(from.request()).await.unwrap());
        }
    }
    let (fetcher, addresses) = (to.fetcher(), [address]);
    let copied =
        in_time("somebody else gets the file", fetcher.copy(to.store, &LocalDisk, from.stored(), &addresses));
    let copied = copied.await.unwrap();
    // None of them was lost.
    assert_eq!(in_time("it is read at last", read(unread.swap_remove(0))).await.unwrap(), copied.bytes);
}

/// Unread answers time out, so that others on the same connection can proceed.
#[tokio::test(flavor = "multi_thread")]
async fn unread_answers_time_out() {
    let home = Home::with_file();
    let bytes = home.store.open_shard(&home.geometry, FILE.depth, FILE.shard).unwrap().bytes();
    let address = serve(home.exchange().with_unread(Duration::from_millis(100))).await;
    let mut reader = slow_reader(&address).await;
    let mut unread = Vec::new();
    for _ in 0..2 * ANSWERS_OF_ONE {
        unread.push(reader.copy_file(home.request()).await.unwrap());
    }
    // On a busy machine this reader may be too slow as well; then it asks again.
    let last = async {
        loop {
            match read(reader.copy_file(home.request()).await.unwrap()).await {
                Err(status) if status.code() == Code::DeadlineExceeded => {}
                other => return other,
            }
        }
    };
    assert_eq!(in_time("the last has its turn", last).await.unwrap(), bytes);
    // The first answer is incomplete, and its reader can detect that.
    let first = in_time("the first ends", read(unread.swap_remove(0))).await;
    assert_eq!(first.unwrap_err().code(), Code::DeadlineExceeded);
}
