//! What each shard of a layer costs its worker: processor time, bytes from peers, bytes of files.

use super::cluster::Owners;
use super::fetched::Fetched;
use super::sizes::{CosetSize, LayerSizes};
use super::wire::{self, CHUNK_BYTES, CHUNK_OVERHEAD_BYTES, COSET_HEADER_BYTES};
use fathom_engine::run::{ShardCut, ShardId};
use fathom_engine::task::beyond::coset_bytes;
use fathom_engine::task::expand::{COMPLETION_CHECKS, NEARLY_FULL};
use fathom_layer::chunk;
use fathom_layer::encoding::SPARSE_BITS;
use fathom_layer::format::ENTRY_BYTES;
use fathom_space::{CosetGraph, CosetId};
use rayon::prelude::*;
use std::ops::Range;

/// Seconds a packed byte to transpose the accumulators of a coset and to remove the visited states: 14 us for
/// 41,472 bytes (`docs/performance.md`, *Kernel*).
const PACK_SECONDS: f64 = 14e-6 / 41_472.0;

/// Checksummed bytes a second and thread (`docs/performance.md`, *Checksums*).
const CHECKSUM_RATE: f64 = 4.5e9;

/// Seconds of a thread for the directory entries of a coset, which a coset without work costs too. A depth of
/// 4x4 without states takes 0.4 s of two threads for 499,961 cosets.
const COSET_SECONDS: f64 = 1.6e-6;

/// Seconds of a thread to start on a source that has states.
const SOURCE_SECONDS: f64 = 150e-9;

/// Uncompressed bytes that a thread compresses, and decompresses, in a second. On random tensors, zstd level
/// 1 compresses 0.3 to 1.6 GB and decompresses 0.7 to 1.8 GB a second on a processor of
/// `docs/performance.md`.
pub(super) const COMPRESS_RATE: f64 = 0.5e9;
const DECOMPRESS_RATE: f64 = 0.9e9;

/// The mean padding of a coset's data in a layer file, in bytes.
const PADDING_BYTES: f64 = 32.0;

/// Bytes of the checksum of a coset. A peer sends those of all cosets of a shard, uncompressed, before the
/// first coset of the shard: the digest that the coordinator gave confirms all of them together.
const CHECKSUM_BYTES: f64 = 32.0;

/// The costs of one shard of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShardLoad {
    /// Seconds of a thread.
    pub seconds: f64,
    /// Compressed bytes from peers: of cosets that the worker does not have, because no earlier shard needed
    /// them, or because they were dropped.
    pub received_bytes: f64,
    /// The uncompressed bytes of these cosets.
    pub fetched_bytes: f64,
    /// Those of `fetched_bytes` that the worker had fetched before.
    pub again_bytes: f64,
    /// Those of `fetched_bytes` that go to disk although others were dropped, because a shard needs more than
    /// memory holds.
    pub spilled_bytes: f64,
    /// The bytes of fetched cosets that were dropped before the shard is made, and those that were fetched
    /// until then, or are expected to be. What lies between them is in memory while the shard is made. Both
    /// are 0 if nothing is ever dropped.
    pub span: [f64; 2],
    /// Bytes of the worker's own cosets that no earlier shard of the same worker read.
    pub own_bytes: f64,
    /// Bytes of all distinct cosets that the shard reads at random.
    pub touched_bytes: f64,
    /// Bytes of the same shard two depths above, which are read once.
    pub older_bytes: f64,
    /// Bytes of the new file.
    pub file_bytes: f64,
    /// Bytes of the new file, compressed.
    pub compressed_bytes: f64,
}

/// The costs of one layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loads {
    /// The load of each shard, in the order of [`Owners`].
    pub shards: Vec<ShardLoad>,
    /// Compressed bytes to peers, by worker.
    pub sent_bytes: Vec<f64>,
    /// Uncompressed bytes of the cosets that are sent to peers, by worker. A coset counts once for each peer
    /// that asks for it.
    pub served_bytes: Vec<f64>,
    /// Those of `served_bytes` that the worker compresses, or tries to: of cosets that do not compress, one
    /// chunk of several is tried.
    pub tried_bytes: Vec<f64>,
}

/// The layer to make, and the layers before it, as far as they exist.
#[derive(Clone, Copy, Debug)]
pub struct LayerStep<'a> {
    /// The layer that is made.
    pub next: &'a LayerSizes,
    /// The layer before it, from which the moves start.
    pub newest: Option<&'a LayerSizes>,
    /// The layer before `newest`.
    pub older: Option<&'a LayerSizes>,
}

impl Loads {
    /// Computes the costs of a step. `pull_seconds` is the time of a dense pull. Workers that have
    /// `most_bytes` bytes for fetched cosets drop the oldest of them, and fetch them again; with `None` they
    /// fetch each coset once.
    pub fn of(
        graph: &CosetGraph,
        cut: ShardCut,
        owners: &Owners,
        step: LayerStep<'_>,
        pull_seconds: f64,
        most_bytes: Option<f64>,
    ) -> Self {
        let workers = owners.workers() as usize;
        // There are few ranges, because each needs marks for all cosets.
        let ranges = rayon::current_num_threads().min(workers);
        let bounds = |range: usize| (range * workers / ranges) as u32;
        let parts: Vec<Self> = (0..ranges)
            .into_par_iter()
            .map(|range| {
                let part = Part::new(graph, cut, owners, step, pull_seconds, most_bytes);
                part.of(bounds(range)..bounds(range + 1))
            })
            .collect();
        let sum = |of_part: fn(&Self) -> &Vec<f64>| {
            (0..workers).map(|worker| parts.iter().map(|part| of_part(part)[worker]).sum()).collect()
        };
        Self {
            sent_bytes: sum(|part| &part.sent_bytes),
            served_bytes: sum(|part| &part.served_bytes),
            tried_bytes: sum(|part| &part.tried_bytes),
            shards: parts.into_iter().flat_map(|part| part.shards).collect(),
        }
    }
}

/// Cosets that a shard requests from a peer.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// The bytes before and after compression.
    plain_bytes: f64,
    sent_bytes: f64,
    /// Those of `plain_bytes` that compress.
    compressing_bytes: f64,
}

/// Computes the shards of some workers.
struct Part<'a> {
    graph: &'a CosetGraph,
    cut: ShardCut,
    owners: &'a Owners,
    step: LayerStep<'a>,
    pull_seconds: f64,
    /// The last shard that read each coset, and the last worker that read each of its own; both counted from
    /// 1, with 0 for none.
    seen_by_shard: Vec<u32>,
    seen_by_worker: Vec<u32>,
    /// The cosets from peers that the worker has, and those that the shard reads.
    fetched: Fetched,
    remote: Vec<u32>,
    /// The bytes in memory that a worker expects a coset from a peer to take.
    coset_bytes: f64,
    /// The last worker that received the checksums of each shard, likewise.
    confirmed_by_worker: Vec<u32>,
    /// What a shard requests from each peer.
    asked: Vec<Asked>,
    loads: Loads,
}

impl<'a> Part<'a> {
    fn new(
        graph: &'a CosetGraph,
        cut: ShardCut,
        owners: &'a Owners,
        step: LayerStep<'a>,
        pull_seconds: f64,
        most_bytes: Option<f64>,
    ) -> Self {
        let (cosets, workers) = (graph.len() as usize, owners.workers() as usize);
        let none = || vec![0.0; workers];
        let loads =
            Loads { shards: Vec::new(), sent_bytes: none(), served_bytes: none(), tried_bytes: none() };
        Self {
            graph,
            cut,
            owners,
            step,
            pull_seconds,
            seen_by_shard: vec![0; cosets],
            seen_by_worker: vec![0; cosets],
            fetched: Fetched::new(graph.len(), most_bytes),
            remote: Vec::new(),
            coset_bytes: 0.0,
            confirmed_by_worker: vec![0; cut.shards() as usize],
            asked: vec![Asked::default(); workers],
            loads,
        }
    }

    fn of(mut self, workers: Range<u32>) -> Loads {
        for worker in workers {
            self.fetched.next_worker();
            self.coset_bytes = self.expected_bytes(worker);
            for &shard in self.owners.shards(worker) {
                let load = self.shard(worker, shard);
                self.loads.shards.push(load);
            }
        }
        self.loads
    }

    fn shard(&mut self, worker: u32, shard: ShardId) -> ShardLoad {
        let mut load = ShardLoad::default();
        for coset in self.cut.range(shard) {
            let next = self.step.next.cosets[coset as usize];
            load.file_bytes += file_bytes(next);
            load.compressed_bytes += f64::from(next.sent_bytes);
            load.seconds += COSET_SECONDS;
            let Some(newest) = self.step.newest else {
                continue;
            };
            let before = newest.cosets[coset as usize];
            if let Some(older) = self.step.older {
                load.older_bytes += file_bytes(older.cosets[coset as usize]);
            }
            if before.left == 0.0 {
                continue;
            }
            for (_, CosetId(source)) in self.graph.sources(CosetId(coset)) {
                self.read(worker, shard, source, newest.cosets[source as usize], &mut load);
            }
            self.read(worker, shard, coset, before, &mut load);
            load.seconds += self.work(coset, newest, next);
        }
        if let Some(newest) = self.step.newest {
            self.fetch(worker, newest, &mut load);
        }
        for (peer, asked) in self.asked.iter_mut().enumerate().filter(|(_, asked)| asked.plain_bytes > 0.0) {
            let Asked { plain_bytes, sent_bytes, compressing_bytes } = std::mem::take(asked);
            let sent = sent_bytes + (plain_bytes / CHUNK_BYTES as f64).ceil() * CHUNK_OVERHEAD_BYTES as f64;
            load.received_bytes += sent;
            load.seconds += compressing_bytes / DECOMPRESS_RATE;
            self.loads.sent_bytes[peer] += sent;
            self.loads.served_bytes[peer] += plain_bytes;
            self.loads.tried_bytes[peer] +=
                compressing_bytes + chunk::tried_bytes(plain_bytes - compressing_bytes);
        }
        // Checksums are computed for what is written, and for what is read for the first time. Cosets from
        // peers are checked once more as they arrive.
        let checked = load.file_bytes + load.own_bytes + load.older_bytes + 2.0 * load.fetched_bytes;
        load.seconds += checked / CHECKSUM_RATE;
        load
    }

    /// Adds the costs of a shard that reads a coset of the newest layer.
    fn read(&mut self, worker: u32, shard: ShardId, coset: u32, size: CosetSize, load: &mut ShardLoad) {
        let at = coset as usize;
        if self.seen_by_shard[at] == shard.0 + 1 {
            return;
        }
        self.seen_by_shard[at] = shard.0 + 1;
        load.touched_bytes += f64::from(size.data_bytes);
        if self.owners.of(self.cut.shard_of(coset)) != worker {
            self.remote.push(coset);
        } else if std::mem::replace(&mut self.seen_by_worker[at], worker + 1) != worker + 1 {
            load.own_bytes += f64::from(size.data_bytes);
        }
    }

    /// Adds the costs of what a shard reads from peers and the worker does not have.
    fn fetch(&mut self, worker: u32, newest: &LayerSizes, load: &mut ShardLoad) {
        self.fetched.age();
        let mut remote = std::mem::take(&mut self.remote);
        let expected = loop {
            let lacking = remote.iter().filter(|&&coset| !self.fetched.has(coset)).count();
            let expected = lacking as f64 * self.coset_bytes;
            // What is dropped may be something that this shard needs.
            if !self.fetched.make_room(expected) {
                break expected;
            }
        };
        remote.retain(|&coset| !self.fetched.has(coset));
        if self.fetched.is_limited() {
            let dropped = self.fetched.dropped_bytes();
            load.span = [dropped, dropped + self.fetched.bytes() + expected];
        }
        let bytes_of = |coset: u32| f64::from(newest.cosets[coset as usize].data_bytes);
        load.spilled_bytes = self.fetched.excess(remote.iter().map(|&coset| bytes_of(coset)).sum());
        for coset in remote.drain(..) {
            let size = newest.cosets[coset as usize];
            let data_bytes = f64::from(size.data_bytes);
            load.fetched_bytes += data_bytes;
            if self.fetched.had(coset) {
                load.again_bytes += data_bytes;
            }
            self.fetched.push(coset, data_bytes);
            let source = self.cut.shard_of(coset);
            let asked = &mut self.asked[self.owners.of(source) as usize];
            let (plain_bytes, sent_bytes) =
                (COSET_HEADER_BYTES as f64 + data_bytes, f64::from(size.sent_bytes));
            asked.plain_bytes += plain_bytes;
            asked.sent_bytes += sent_bytes;
            if chunk::pays(sent_bytes as usize, plain_bytes as usize) {
                asked.compressing_bytes += plain_bytes;
            }
            let confirmed = &mut self.confirmed_by_worker[source.0 as usize];
            if std::mem::replace(confirmed, worker + 1) != worker + 1 {
                asked.sent_bytes += CHECKSUM_BYTES * self.cut.range(source).len() as f64;
            }
        }
        self.remote = remote;
    }

    /// Returns the bytes in memory that a worker expects a coset from a peer to take.
    fn expected_bytes(&self, worker: u32) -> f64 {
        let Some(newest) = self.step.newest else {
            return 0.0;
        };
        let own = self.owners.shards(worker).iter().flat_map(|&shard| self.cut.range(shard));
        let (bytes, cosets) = own.fold((0.0, 0), |(bytes, cosets), coset| {
            (bytes + file_bytes(newest.cosets[coset as usize]), cosets + 1)
        });
        coset_bytes(bytes as u64, cosets, self.graph.shape().packed_bytes().into()) as f64
    }

    /// Returns the seconds of a thread to make a coset.
    fn work(&self, coset: u32, newest: &LayerSizes, next: CosetSize) -> f64 {
        let shape = self.graph.shape();
        // At the size where the encoding changes, a push of a sparse coset takes about as long as a pull of a
        // dense one.
        let push = self.pull_seconds * SPARSE_BITS as f64 / shape.bits() as f64;
        let (mut seconds, mut sources, mut share) = (0.0, 0.0, 0.0);
        for (_, source) in self.graph.sources(CosetId(coset)) {
            let source = newest.cosets[source.0 as usize];
            let states = f64::from(source.states);
            // A mean below one is the chance that there is a state.
            let is_there = states.min(1.0);
            seconds += match wire::is_sparse(states, shape) {
                true => is_there * SOURCE_SECONDS + states * push,
                false => self.pull_seconds,
            };
            sources += is_there;
            share += states / self.graph.states_per_coset() as f64;
        }
        let left = newest.cosets[coset as usize].left;
        if left * NEARLY_FULL as f32 <= self.graph.states_per_coset() as f32
            && next.left == 0.0
            && sources > 0.0
        {
            // Each pull leaves a share 1 - p of the unvisited states.
            let needed = f64::from(left).ln() / -(-(share / sources).min(1.0 - f64::EPSILON)).ln_1p();
            if let Some(look) =
                COMPLETION_CHECKS.map(f64::from).into_iter().find(|&look| look >= needed && look < sources)
            {
                seconds *= look / sources;
            }
        }
        seconds + sources.min(1.0) * f64::from(shape.packed_bytes()) * PACK_SECONDS
    }
}

/// Returns the bytes of a coset in a layer file.
fn file_bytes(size: CosetSize) -> f64 {
    ENTRY_BYTES as f64 + f64::from(size.data_bytes) + if size.states > 0.5 { PADDING_BYTES } else { 0.0 }
}
