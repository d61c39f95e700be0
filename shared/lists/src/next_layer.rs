//! One layer from those before it: the successors of the newest layer's states, without the states that were
//! visited before.

use crate::buckets::{Buckets, Found, RunReader};
use crate::key::sort_distinct;
use crate::list_file::{Identity, ListFile, ListWriter, Stream, Written};
use crate::{Key, ListSpace};
use fathom_layer::{Digest, Disk, LayerError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Why there is no layer.
#[derive(Debug)]
pub enum Failed {
    /// The caller asked to stop.
    Stopped,
    /// A file cannot be read or written.
    Layer(LayerError),
}

impl From<LayerError> for Failed {
    fn from(error: LayerError) -> Self {
        Self::Layer(error)
    }
}

/// How far a layer is.
#[derive(Debug, Default)]
pub struct Progress {
    /// The states whose successors were made.
    pub expanded: AtomicU64,
    /// The states of the new layer that were written.
    pub states: AtomicU64,
    /// Set by the caller to stop.
    pub stop: AtomicBool,
}

impl Progress {
    fn check(&self) -> Result<(), Failed> {
        if self.stop.load(Ordering::Relaxed) { Err(Failed::Stopped) } else { Ok(()) }
    }
}

/// A layer to be computed.
#[derive(Debug)]
pub struct Layer<'a, K> {
    /// The states and moves.
    pub space: &'a ListSpace<K>,
    /// The fingerprint of the run.
    pub fingerprint: Digest,
    /// The depth of the new layer.
    pub depth: u32,
    /// The number of shards.
    pub shards: u32,
    /// The layers in which states of the new layer may have been visited, the newest last, shard by shard: the two
    /// before it if moves are closed under inverses, otherwise all.
    pub before: &'a [Vec<ListFile<K>>],
    /// The directory of the new layer, which exists.
    pub directory: &'a Path,
    /// The number of threads.
    pub threads: usize,
    /// The memory for states in bytes.
    pub memory_bytes: u64,
}

/// Returns the path of the file of a shard in the directory of a layer.
pub fn path(directory: &Path, shard: u32) -> PathBuf {
    directory.join(format!("s{shard:05}.list"))
}

/// Computes a layer, and writes the file of each shard. Returns what was written, shard by shard. At depth 0 the
/// states are the starts.
///
/// # Panics
/// At depth 0, if the space has no [starts](ListSpace::starts).
///
/// # Errors
/// [`Failed`] if the caller asks to stop, or a file cannot be read or written. Files of some shards may then be
/// there.
pub fn next_layer<K: Key>(
    layer: &Layer<'_, K>,
    disk: &dyn Disk,
    progress: &Progress,
) -> Result<Vec<Written>, Failed> {
    let mut found = expand(layer, disk, progress)?;
    let spilled: Vec<PathBuf> = found.iter().filter_map(|found| found.spill().map(Into::into)).collect();
    let written = merge(layer, disk, progress, &mut found)?;
    for path in spilled {
        disk.remove(&path).map_err(|source| LayerError::Io { action: "remove", path, source })?;
    }
    Ok(written)
}

/// Runs `work` on some threads, each with its number. All end early when one fails; the first error is returned.
fn on_threads<T: Send>(
    threads: usize,
    progress: &Progress,
    work: impl Fn(usize) -> Result<T, Failed> + Sync,
) -> Result<Vec<T>, Failed> {
    let work = |thread| work(thread).inspect_err(|_| progress.stop.store(true, Ordering::Relaxed));
    let results: Vec<_> = if threads == 1 {
        vec![work(0)]
    } else {
        std::thread::scope(|scope| {
            let work = &work;
            let spawned: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
            spawned.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    };
    let (done, failed): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let mut failed: Vec<Failed> = failed.into_iter().filter_map(Result::err).collect();
    // The others stopped because of the one that failed.
    let cause = failed.iter().position(|failed| matches!(failed, Failed::Layer(_))).unwrap_or(0);
    match failed.is_empty() {
        true => Ok(done.into_iter().filter_map(Result::ok).collect()),
        false => Err(failed.swap_remove(cause)),
    }
}

/// Makes the successors of all states of the newest layer.
fn expand<K: Key>(
    layer: &Layer<'_, K>,
    disk: &dyn Disk,
    progress: &Progress,
) -> Result<Vec<Found<K>>, Failed> {
    let &Layer { space, shards, directory, .. } = layer;
    let sources = layer.before.last().map_or(&[][..], |newest| newest);
    let blocks: Vec<(&ListFile<K>, usize)> =
        sources.iter().flat_map(|file| (0..file.blocks()).map(move |block| (file, block))).collect();
    let threads = layer.threads.min(blocks.len()).max(1);
    // A vector that grows takes up to three times its contents for a moment, and most of them grow at once.
    let most = layer.memory_bytes / (3 * threads as u64 * size_of::<K>() as u64);
    let starts = if layer.depth == 0 { space.starts().expect("the starts were checked") } else { Vec::new() };
    let next = AtomicUsize::new(0);
    on_threads(threads, progress, |thread| {
        let spill = directory.join(format!("t{thread:05}.spill"));
        let mut buckets = Buckets::new(space, disk, shards, most as usize, spill);
        if layer.depth == 0 {
            for some in starts.chunks(256) {
                some.iter().for_each(|&state| buckets.add(state));
                buckets.make_room()?;
            }
        }
        let mut states = Vec::new();
        while let Some(&(file, block)) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
            states.clear();
            file.read_block(space, block, &mut states)?;
            for some in states.chunks(256) {
                progress.check()?;
                some.iter().for_each(|state| space.successors(state, |found| buckets.add(found)));
                buckets.make_room()?;
                progress.expanded.fetch_add(some.len() as u64, Ordering::Relaxed);
            }
        }
        Ok(buckets.finish()?)
    })
}

/// Writes each shard: the states that were found, once each, without those of the layers before.
fn merge<K: Key>(
    layer: &Layer<'_, K>,
    disk: &dyn Disk,
    progress: &Progress,
    found: &mut [Found<K>],
) -> Result<Vec<Written>, Failed> {
    let found: Vec<Mutex<&mut Found<K>>> = found.iter_mut().map(Mutex::new).collect();
    let next = AtomicU32::new(0);
    let threads = layer.threads.min(layer.shards as usize);
    let written = on_threads(threads, progress, |_| {
        let mut written = Vec::new();
        loop {
            let shard = next.fetch_add(1, Ordering::Relaxed);
            if shard >= layer.shards {
                return Ok(written);
            }
            progress.check()?;
            let mut states = Vec::new();
            let mut runs = Vec::new();
            for found in &found {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                let more = found.take(shard);
                match states.is_empty() {
                    true => states = more,
                    false => states.extend(more),
                }
                runs.extend(found.runs(layer.space, shard));
            }
            sort_distinct(&mut states);
            written.push((shard, write_shard(layer, disk, progress, shard, &states, runs)?));
        }
    })?;
    let mut written: Vec<(u32, Written)> = written.into_iter().flatten().collect();
    written.sort_unstable_by_key(|(shard, _)| *shard);
    Ok(written.into_iter().map(|(_, written)| written).collect())
}

/// Writes the file of a shard from sorted sequences of states.
fn write_shard<K: Key>(
    layer: &Layer<'_, K>,
    disk: &dyn Disk,
    progress: &Progress,
    shard: u32,
    states: &[K],
    mut runs: Vec<RunReader<'_, K>>,
) -> Result<Written, Failed> {
    let &Layer { space, fingerprint, depth, .. } = layer;
    let identity = Identity { fingerprint, depth, shard };
    let mut writer = ListWriter::create(space, disk, &path(layer.directory, shard), identity)?;
    let mut visited: Vec<Stream<'_, K>> =
        layer.before.iter().map(|layer| layer[shard as usize].stream(space)).collect();
    let mut count = 0_u64;
    let mut new = |state: &K| -> Result<(), Failed> {
        for before in &mut visited {
            if before.has(state)? {
                return Ok(());
            }
        }
        writer.push(state)?;
        count += 1;
        if count.is_multiple_of(4096) {
            progress.check()?;
            progress.states.fetch_add(4096, Ordering::Relaxed);
        }
        Ok(())
    };
    if runs.is_empty() {
        states.iter().try_for_each(&mut new)?;
    } else {
        // The next state of each run, and of the states in memory as the last of the runs.
        let mut heap = BinaryHeap::new();
        let mut in_memory = states.iter().copied();
        for (number, run) in runs.iter_mut().enumerate() {
            heap.extend(run.take_next()?.map(|state| Reverse((state, number))));
        }
        heap.extend(in_memory.next().map(|state| Reverse((state, runs.len()))));
        let mut last = None;
        while let Some(Reverse((state, number))) = heap.pop() {
            if last != Some(state) {
                new(&state)?;
                last = Some(state);
            }
            let after = match runs.get_mut(number) {
                Some(run) => run.take_next()?,
                None => in_memory.next(),
            };
            heap.extend(after.map(|state| Reverse((state, number))));
        }
    }
    progress.states.fetch_add(count % 4096, Ordering::Relaxed);
    Ok(writer.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list_space::words;
    use fathom_layer::LocalDisk;
    use fathom_puzzle::{Metric, PuzzleSpec};
    use fathom_space::Labels;

    /// Searches to a depth, with this much memory. Returns the counts, and the digests of all shards.
    fn search<K: Key>(
        puzzle: &str,
        metric: Metric,
        depth: u32,
        memory_bytes: u64,
    ) -> (Vec<u64>, Vec<Digest>) {
        let source = PuzzleSpec::by_name(puzzle).unwrap();
        let labels = Labels::from_values(source.solved());
        let puzzle = source.moves_alone(metric).unwrap();
        assert!(words(&puzzle, &labels) <= K::WORDS);
        let space = ListSpace::<K>::new(&puzzle, &labels);
        let root = tempfile::tempdir().unwrap();
        let (mut before, mut counts, mut digests) = (Vec::new(), Vec::new(), Vec::new());
        for depth in 0..=depth {
            let directory = root.path().join(depth.to_string());
            std::fs::create_dir(&directory).unwrap();
            let fingerprint = Digest::new(b"a run");
            let layer = Layer {
                space: &space,
                fingerprint,
                depth,
                shards: 5,
                before: &before,
                directory: &directory,
                threads: 2,
                memory_bytes,
            };
            let written = next_layer(&layer, &LocalDisk, &Progress::default()).unwrap();
            let open = |shard| {
                let identity = Identity { fingerprint, depth, shard };
                ListFile::open(&space, &path(&directory, shard), identity).unwrap()
            };
            counts.push(written.iter().map(|written| written.states).sum());
            digests.extend(written.iter().map(|written| written.digest));
            if space.is_closed_under_inverses() && before.len() == 2 {
                before.remove(0);
            }
            before.push((0..5).map(open).collect());
            assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 5);
        }
        (counts, digests)
    }

    /// The counts of Rubik's cube are those of OEIS A080601, and those with quarter turns OEIS A080602.
    #[test]
    fn first_depths_are_known() {
        let (counts, digests) = search::<u128>("3x3x3", Metric::Multi, 5, 1 << 30);
        assert_eq!(counts, [1, 18, 243, 3240, 43239, 574908]);
        for memory in [1, 300_000] {
            assert_eq!(search::<u128>("3x3x3", Metric::Multi, 5, memory), (counts.clone(), digests.clone()));
        }
        let (_, wide) = search::<[u64; 4]>("3x3x3", Metric::Multi, 4, 1 << 30);
        assert_eq!(wide, digests[..wide.len()], "shards do not depend on the width of keys");
        assert_eq!(search::<[u64; 4]>("3x3x3", Metric::Single, 4, 1 << 30).0, [1, 12, 114, 1068, 10011]);
    }
}
