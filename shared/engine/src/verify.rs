//! Verification: reads every file that a run keeps on disk, and compares it with the journal.

mod lists;

pub(crate) use lists::open as open_list;

use crate::directory::RunDirectory;
use crate::journal::{Files, LayerRow, ShardRow, Watched as WatchedState};
use crate::run::budget::MAX_MAP_BYTES;
use crate::run::{Depth, Geometry, Lookback, RunManifest, ShardId, ShardOrder, ShardReport, Task};
use crate::task::{Cache, Job, Method, Store, Watched};
use anyhow::{Context, Result, anyhow};
use fathom_kernel::SimdLevel;
use fathom_layer::{Digest, Disk, LayerDigest, LayerError, LayerFile, Totals};
use fathom_space::counting::Pairs;
use fathom_space::{CosetGraph, CosetId, Transforms};
use std::sync::Arc;

/// The amount of data that was read and found to be correct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The number of layers with files.
    pub layers: u32,
    /// The number of layer files.
    pub files: u64,
    /// The size of these files in bytes.
    pub bytes: u64,
    /// The number of states that were counted again.
    pub states: u64,
}

/// Reads every layer file that a run keeps, checks every checksum, counts again, and compares with the
/// journal.
///
/// # Errors
/// The first contradiction that is found.
pub fn verify(run: &RunDirectory, disk: &dyn Disk) -> Result<Verified> {
    if let Some(space) = run.space.listed() {
        return lists::verify(run, space, disk);
    }
    let job = job(&run.manifest)?;
    let store = run.store()?.map(|path| Store::at(&path, disk)).transpose()?;
    let layers = run.visited()?.layers;
    let watched = run.journal.watched().context("cannot read run.db")?;
    let mut verified = Verified::default();
    let mut counter = Counter::new(&job, store.as_ref());
    for layer in &layers {
        let shards = run.journal.shards(layer.depth).context("cannot read run.db")?;
        let Some(store) = store.as_ref().filter(|_| layer.files != Files::Removed) else {
            continue;
        };
        // Files of a layer that is marked as removed may be in any state.
        let is_kept = |depth: Depth| layers[depth.0 as usize].files != Files::Removed;
        counter.store = Some(store).filter(|_| layer.depth.previous().is_some_and(is_kept));
        verify_layer(&mut counter, store, layer, &shards, &mut verified).map_err(|error| {
            let is_unread = error
                .downcast_ref::<LayerError>()
                .is_some_and(|error| !error.is_damage() && !error.is_missing());
            let found = if is_unread { "cannot be checked" } else { "does not match run.db" };
            error.context(format!("depth {} {found}", layer.depth))
        })?;
        verify_watched(&job, store, layer, &run.digests(layer.depth)?, &watched)
            .with_context(|| format!("watched states do not match run.db at depth {}", layer.depth))?;
        verified.layers += 1;
    }
    Ok(verified)
}

/// Reads every layer file of a run that a store holds, checks every checksum, counts again, and compares with
/// the headers of the files and with each other. The journal is not available here, so it is not checked
/// whether the files are the committed ones.
///
/// # Errors
/// The first contradiction that is found.
pub fn verify_store(manifest: &RunManifest, store: &Store<'_>) -> Result<Verified> {
    let job = job(manifest)?;
    let mut counter = Counter::new(&job, Some(store));
    let mut verified = Verified::default();
    for depth in store.depths()? {
        let shards = store.shards(depth)?;
        for &shard in &shards {
            if shard.0 >= job.geometry.cut.shards() {
                return Err(anyhow!("{}: the run has no such shard", store.path(depth, shard).display()));
            }
            let file = store.open_shard(&job.geometry, depth, shard)?;
            let report = counter.count(&file, depth)?;
            verified.files += 1;
            verified.bytes += report.bytes;
            verified.states += report.totals.states;
        }
        verified.layers += u32::from(!shards.is_empty());
    }
    Ok(verified)
}

/// Reads a whole layer file, checks every checksum and counts again. If `store` has the file of the same
/// shard one depth before, the numbers of visited states are compared with that file.
///
/// # Errors
/// The first contradiction that is found.
pub fn verify_file(job: &Job, store: &Store<'_>, file: &LayerFile, depth: Depth) -> Result<ShardReport> {
    Counter::new(job, Some(store)).count(file, depth)
}

/// Makes the job that counting needs. The coset graph is built again, because saved tables are not trusted.
fn job(manifest: &RunManifest) -> Result<Job> {
    let (space, colouring) = manifest.open()?;
    let graph = CosetGraph::build(&space, &colouring)?;
    let geometry = Geometry::new(manifest, &space, &colouring)?;
    geometry.check_graph(&graph)?;
    let pairs = Pairs::new(&graph, manifest.inverse_classes);
    Ok(Job {
        pairs,
        graph: Arc::new(graph),
        geometry,
        order: Arc::new(ShardOrder::by_number(geometry.cut.shards())),
        lookback: Lookback::new(&space),
        union: None,
        method: Method::Cosets(SimdLevel::Portable),
        cache: Cache::new(u64::MAX, u64::MAX),
        map_bytes: MAX_MAP_BYTES as usize,
        threads: 1,
        shares_tasks: false,
        watched: Watched::default(),
    })
}

fn verify_layer(
    counter: &mut Counter<'_>,
    store: &Store<'_>,
    layer: &LayerRow,
    shards: &[ShardRow],
    verified: &mut Verified,
) -> Result<()> {
    let job = counter.job;
    let mut digest = LayerDigest::new(layer.depth.0);
    let mut totals = Totals::default();
    for row in shards {
        let path = store.path(layer.depth, row.shard);
        let file = store.open_shard(&job.geometry, layer.depth, row.shard)?;
        file.check_digest(row.digest)?;
        let report = counter.count(&file, layer.depth)?;
        let found = ShardRow::new(&report);
        if found != *row {
            return Err(anyhow!("{}: counted {found:?}, run.db says {row:?}", path.display()));
        }
        digest.add(&report.checksums);
        totals = totals + report.totals;
        verified.files += 1;
        verified.bytes += report.bytes;
    }
    let Totals { states, stored, .. } = totals;
    if (states, stored, digest.finish()) != (layer.states, layer.stored, layer.digest) {
        return Err(anyhow!(
            "counted {states} states ({stored} stored), digest {}; run.db says {} ({}), {}",
            digest.finish(),
            layer.states,
            layer.stored,
            layer.digest
        ));
    }
    verified.states += states;
    Ok(())
}

/// Looks up every watched state: the layer must have it exactly if the layer's depth is the recorded one.
fn verify_watched(
    job: &Job,
    store: &Store<'_>,
    layer: &LayerRow,
    digests: &[Digest],
    watched: &[WatchedState],
) -> Result<()> {
    if watched.is_empty() {
        return Ok(());
    }
    let files = store.open(&job.geometry, layer.depth)?;
    files.check_digests(digests)?;
    for (state, number) in watched.iter().zip(1..) {
        let found = match job.graph.locate(&state.word(job.graph.space())?) {
            Some((coset, position)) => files.coset(coset)?.contains(position),
            None => false,
        };
        if found != (state.depth == Some(layer.depth)) {
            let there = if found { "is in this layer" } else { "is not in this layer" };
            return Err(anyhow!("watched state {number} {there}, but run.db has it at {:?}", state.depth));
        }
    }
    Ok(())
}

/// Counts the states of layer files again, from their bits.
struct Counter<'j> {
    job: &'j Job,
    /// The store that may have the files of the layers before.
    store: Option<&'j Store<'j>>,
    transforms: Transforms<'j>,
}

impl<'j> Counter<'j> {
    fn new(job: &'j Job, store: Option<&'j Store<'j>>) -> Self {
        Self { job, store, transforms: Transforms::within(&job.graph, job.map_bytes) }
    }

    /// Returns the file of the same shard one depth before, if the store has it.
    fn before(&self, task: Task) -> Result<Option<LayerFile>> {
        let Some((store, depth)) = self.store.zip(task.depth.previous()) else {
            return Ok(None);
        };
        match store.open_shard(&self.job.geometry, depth, task.shard) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn count(&mut self, file: &LayerFile, depth: Depth) -> Result<ShardReport> {
        let job = self.job;
        let identity = file.identity();
        let task = Task { depth, shard: ShardId(identity.shard) };
        let before = self.before(task)?;
        let mut totals = job.nothing();
        for local in 0..identity.cosets {
            let coset = CosetId(identity.first_coset + local);
            // Reading a coset checks its bits against its checksum and its number of states.
            let bits = file.coset(local)?;
            let (found, visited) = file.states(local)?;
            if u64::from(visited) > job.graph.states_per_coset() {
                return Err(anyhow!("coset {} has more visited states than states", coset.0));
            }
            // At depth 0 nothing was visited before.
            let visited_before = match &before {
                Some(before) => Some(before.states(local)?.1),
                None => (depth == Depth(0)).then_some(0),
            };
            if visited_before.unwrap_or(visited.saturating_sub(found)).checked_add(found) != Some(visited) {
                return Err(anyhow!(
                    "{}: coset {} has {visited} states visited, with {found} at depth {depth} and {visited_before:?} before",
                    file.path().display(),
                    coset.0
                ));
            }
            let contains = |position| bits.contains(position);
            totals = totals + job.count(&mut self.transforms, coset, found, contains);
        }
        if totals != file.totals() {
            return Err(anyhow!(
                "{}: counted {totals:?}; its header says {:?}",
                file.path().display(),
                file.totals()
            ));
        }
        Ok(ShardReport {
            task,
            totals,
            bytes: file.bytes(),
            checksums: file.checksums()?,
            watched: Vec::new(),
        })
    }
}
