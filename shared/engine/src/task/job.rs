//! The data of a run that threads need to do its tasks. It is the same for all tasks.

use crate::run::budget::Budget;
use crate::run::{Geometry, Lookback, RunManifest, ShardOrder, saved_tables};
use crate::task::{Cache, Kernel, Layer, Resources, Union, Watched};
use anyhow::{Context, Result};
use fathom_command::bad_input;
use fathom_kernel::SimdLevel;
use fathom_kernel::reference::Distances;
use fathom_layer::writer::BUFFER_BYTES;
use fathom_layer::{Disk, Totals, readahead, writeback};
use fathom_space::counting::Pairs;
use fathom_space::{Colouring, CosetGraph, CosetId, Shape, Space, Transforms};
use rayon::ThreadPoolBuilder;
use std::path::Path;
use std::sync::Arc;

/// The data of a run that tasks need.
#[derive(Debug)]
pub struct Job {
    /// The coset graph.
    pub graph: Arc<CosetGraph>,
    /// The counter of the pairs from which the numbers of classes follow.
    pub pairs: Pairs,
    /// The sizes and identities of the layer files.
    pub geometry: Geometry,
    /// The order in which shards are computed: that of their numbers, unless it is set to another one.
    pub order: Arc<ShardOrder>,
    /// The layers from which a layer is computed.
    pub lookback: Lookback,
    /// The union of all layers before the one being computed, if tasks read all layers and memory can hold
    /// the union.
    pub union: Option<Union>,
    /// The method by which new layers are found.
    pub method: Method,
    /// The memory for layers.
    pub cache: Cache,
    /// The bytes that the axis maps of each thread may take, including the data that its kernel derives from
    /// them.
    pub map_bytes: usize,
    /// The number of threads that do tasks.
    pub threads: usize,
    /// Whether all threads do a task [together](crate::task::pool), because memory cannot hold the sources of
    /// as many tasks as there are threads.
    pub shares_tasks: bool,
    /// The watched states, which are looked up in every computed shard.
    pub watched: Watched,
}

/// The method by which new layers are found.
#[derive(Debug)]
pub enum Method {
    /// An engine pulls cosets through moves.
    Cosets(SimdLevel),
    /// The distances that a plain search found are looked up.
    Reference(Distances),
}

/// The number of buffers of a thread: of the layer that is read ahead, of the file that is written behind,
/// and of the one before, which is being made durable.
const BUFFERS: usize = readahead::BUFFERS + 2 * writeback::BUFFERS;

/// The smallest file, in bytes, that is written behind: smaller ones are written in a few calls.
const MIN_BEHIND_BYTES: u64 = 16 << 20;

/// The smallest cosets, in bytes, that threads compute together: handing a coset over takes a few
/// microseconds, and computing a coset of this size about a hundred.
const MIN_SHARED_BYTES: u32 = 48 << 10;
/// The number of tensors for each thread that only shared tasks need: a copy of a coset of the second layer,
/// and a coset that waits to be written.
const TENSORS_HANDED_OVER: u64 = 2;
/// The number of files that are being computed at once if tasks are shared: while the last cosets of one
/// file are computed, the next is started.
const SHARED_FILES: usize = 2;

/// Returns the bytes of the sources of `tasks` tasks of a dense layer, if none of them is common to two
/// cosets.
fn source_bytes(graph: &CosetGraph, geometry: &Geometry, tasks: usize) -> u64 {
    let cut = geometry.cut;
    let moves = graph.sources(CosetId(0)).count() as u64;
    let cosets = u64::from(cut.cosets().div_ceil(cut.shards())) * tasks as u64 * moves;
    cosets.min(cut.cosets().into()) * u64::from(geometry.packed_bytes)
}

/// Returns the bytes of memory that tasks need in addition because all `threads` threads of a process do each
/// of them [together](crate::task::pool). `None` if each thread does its own tasks, because `cache_bytes`
/// bytes for layers are enough for that, or too few for tasks that are shared.
pub fn shared_bytes(
    graph: &CosetGraph,
    geometry: &Geometry,
    threads: usize,
    cache_bytes: u64,
) -> Option<u64> {
    let handed_over = threads as u64 * TENSORS_HANDED_OVER * u64::from(geometry.packed_bytes);
    let is_shared = threads > 1
        && Lookback::new(graph.space()) == Lookback::Two
        && geometry.packed_bytes >= MIN_SHARED_BYTES
        && handed_over <= cache_bytes / 4
        && source_bytes(graph, geometry, threads) > cache_bytes;
    is_shared.then_some(handed_over)
}

/// Returns the part of the cache for data that passes through memory once: the layer before the newest, and
/// the new one.
fn passing_bytes(cache_bytes: u64) -> u64 {
    cache_bytes / 16
}

impl Job {
    /// Builds a run's tables, or reads them from the directory `tables` if they are saved there. Everything
    /// is checked before anything is written, except for the number of cosets and the memory of the reference
    /// engine.
    ///
    /// # Errors
    /// If the manifest contradicts itself, the engine does not support its cosets, or memory does not
    /// suffice.
    pub fn load(
        manifest: &RunManifest,
        tables: &Path,
        resources: Resources,
        disk: &dyn Disk,
    ) -> Result<Self> {
        let (space, colouring) = manifest.open()?;
        Self::new(manifest, (&space, &colouring), None, tables, resources, disk)
    }

    /// Does the same as [`Job::load`] if the space and the colouring, and perhaps the coset graph, are
    /// already known. They must be those of the [manifest](RunManifest::open).
    ///
    /// # Errors
    /// The errors of [`Job::load`].
    pub fn new(
        manifest: &RunManifest,
        (space, colouring): (&Space, &Colouring),
        graph: Option<Arc<CosetGraph>>,
        tables: &Path,
        resources: Resources,
        disk: &dyn Disk,
    ) -> Result<Self> {
        let Resources { kernel, threads, memory_bytes, max_depth } = resources;
        let geometry = Geometry::new(manifest, space, colouring)?;
        let shape = Shape::of(space, colouring).context("the cosets are too large")?;
        let engine = kernel.engine(&shape)?;
        let cosets = manifest.plan.cosets()?.cosets;
        let patterns = CosetGraph::table_entries(space, colouring);
        let Budget { cache_bytes, map_bytes } =
            Budget::new(memory_bytes, space, patterns, cosets, &shape, threads)?;
        let builders = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let id = manifest.fingerprint;
        let graph = match graph {
            Some(graph) => {
                saved_tables::keep(tables, id, &graph, disk);
                graph
            }
            None => Arc::new(builders.install(|| saved_tables::cosets(tables, id, space, colouring, disk))?),
        };
        geometry.check_graph(&graph)?;
        let method = match kernel {
            Kernel::Cosets(_) | Kernel::Fastest => Method::Cosets(engine),
            Kernel::Reference => Method::Reference(
                Distances::search(graph.space(), max_depth, memory_bytes)
                    .map_err(|error| bad_input!("{error}"))?,
            ),
        };
        let pairs = builders.install(|| Pairs::new(&graph, manifest.inverse_classes));
        let lookback = Lookback::new(graph.space());
        let union_bytes = Union::bytes(geometry.cut, geometry.packed_bytes);
        let has_union = lookback == Lookback::All && union_bytes <= cache_bytes / 2;
        let union = has_union.then(|| Union::new(geometry.cut, geometry.packed_bytes));
        let shared_bytes = match method {
            Method::Cosets(_) => shared_bytes(&graph, &geometry, threads, cache_bytes),
            Method::Reference(_) => None,
        };
        let shares_tasks = shared_bytes.is_some();
        let other_bytes = if has_union { union_bytes } else { shared_bytes.unwrap_or(0) };
        let cache = Cache::new(memory_bytes, cache_bytes - other_bytes);
        let watched = Watched::default();
        let order = Arc::new(ShardOrder::by_number(geometry.cut.shards()));
        Ok(Self {
            graph,
            pairs,
            geometry,
            order,
            lookback,
            union,
            method,
            cache,
            map_bytes,
            threads,
            shares_tasks,
            watched,
        })
    }

    /// Chooses the order in which this process computes all shards. If memory cannot hold a dense layer,
    /// tasks that follow each other should read the same cosets.
    ///
    /// # Errors
    /// If no threads can be started.
    pub fn order_shards(&mut self) -> Result<()> {
        if self.geometry.dense_bytes > self.cache.bytes() {
            let builders = ThreadPoolBuilder::new().num_threads(self.threads).build()?;
            // No layer is in memory yet.
            let (graph, cut, most_bytes) = (&self.graph, self.geometry.cut, self.cache.bytes());
            let find = || ShardOrder::by_bisection(graph, cut, most_bytes);
            self.order = Arc::new(builders.install(find));
        }
        Ok(())
    }

    /// Prepares a layer for reading. `newest` says whether tasks pull from the layer. If such a layer is
    /// large, it gets a window, which keeps only a part of it in memory.
    pub fn windowed(&self, layer: Layer, newest: bool) -> Layer {
        // A newest layer that is small is still in memory.
        let cache_bytes = self.cache.bytes();
        if !newest || layer.bytes() <= cache_bytes / 4 {
            return layer;
        }
        // The rest of the cache is for data that passes through memory once.
        layer.with_window(cache_bytes - passing_bytes(cache_bytes), &self.order)
    }

    /// Returns whether a task reads the layer before `newest`, and writes the new layer, bypassing the page
    /// cache. The new layer will be about as large as the newest: if both do not fit into the cache, then
    /// pages that are read once, or only at the next depth, would displace those that are read again.
    pub fn bypasses_page_cache(&self, newest: &Layer) -> bool {
        newest.bytes() > self.cache.bytes() / 2
    }

    /// Returns whether a task may write a file large enough for a thread of its own: a state has at most as
    /// many new neighbours as there are moves.
    pub fn writes_behind(&self, newest: &Layer) -> bool {
        let moves = self.graph.sources(CosetId(0)).count() as u64;
        let file_bytes = newest.bytes().saturating_mul(moves) / u64::from(self.geometry.cut.shards());
        file_bytes > MIN_BEHIND_BYTES
    }

    /// Returns the size of the buffers in bytes through which a task reads ahead and writes behind.
    pub fn buffer_bytes(&self) -> usize {
        let files = if self.shares_tasks { SHARED_FILES } else { self.threads };
        let buffers = files as u64 * BUFFERS as u64;
        let fair = passing_bytes(self.cache.bytes()) / buffers;
        let largest = BUFFER_BYTES + self.geometry.packed_bytes as usize;
        largest.min(fair as usize)
    }

    /// Returns the counts of a coset without states in the layer.
    pub fn nothing(&self) -> Totals {
        let (pairs, inverse_pairs) = self.pairs.of_nothing();
        Totals { stored: 0, states: 0, pairs, inverse_pairs }
    }

    /// Returns whether totals have exactly the counts that this job computes.
    pub fn counts_as(&self, totals: &Totals) -> bool {
        let own = self.nothing();
        own.pairs.is_some() == totals.pairs.is_some()
            && own.inverse_pairs.is_some() == totals.inverse_pairs.is_some()
    }

    /// Returns the counts of a coset that has `stored` states in a layer. `contains(position)` says whether
    /// the state at a position is one of them.
    pub fn count(
        &self,
        transforms: &mut Transforms<'_>,
        coset: CosetId,
        stored: u32,
        contains: impl Fn(u32) -> bool,
    ) -> Totals {
        if stored == 0 {
            return self.nothing();
        }
        let (pairs, inverse_pairs) = self.pairs.of(transforms, coset, stored, contains);
        let states = self.graph.states(coset, stored);
        Totals { stored: stored.into(), states, pairs, inverse_pairs }
    }

    /// Returns the fastest engine other than the one named `word` that supports the cosets on this processor.
    /// `None` if there is none, or if this job does not use `word` itself.
    pub fn engine_other_than(&self, word: &str) -> Option<SimdLevel> {
        let is_usual = self.kernel() == word;
        let shape = self.graph.shape();
        let does = |engine: &SimdLevel| engine.as_str() != word && engine.kernel(shape).is_some();
        SimdLevel::ALL.into_iter().rfind(does).filter(|_| is_usual)
    }

    /// Returns the name of the engine, or `reference`.
    pub fn kernel(&self) -> &'static str {
        match self.method {
            Method::Cosets(engine) => engine.as_str(),
            Method::Reference(_) => "reference",
        }
    }
}
