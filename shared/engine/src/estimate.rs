//! Estimates of the memory, disk space and time that a run needs. Sizes are computed, the speed of the kernel
//! is measured briefly on this machine, and the growth is guessed.

use crate::journal::LayerRow;
use crate::older_layer::Older;
use crate::run::budget::memory_bytes;
use crate::run::lookback::most_in_the_making;
use crate::run::manifest::Keep;
use crate::run::saved_tables::PATTERNS_WORTH_KEEPING;
use crate::run::{Geometry, Lookback, Producers};
use fathom_kernel::{Bits, SLACK_BYTES, SimdLevel};
use fathom_layer::encoding::SPARSE_BITS;
use fathom_layer::format::{ALIGNMENT, ENTRY_BYTES};
use fathom_space::{AxisMap, Plan, Shape, Space, Transform};
use serde::Serialize;
use std::collections::HashSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The maximum number of bytes that a coset takes in a layer file besides its data: its directory entry, and
/// the padding of its data.
pub const COSET_OVERHEAD_BYTES: u64 = ENTRY_BYTES as u64 + ALIGNMENT;

/// The maximum number of bytes per state in any encoding: a coset with fewer than one state in
/// [`SPARSE_BITS`] bits is sparse, which takes 4 bytes a state.
const MAX_BYTES_A_STATE: u64 = 32;

/// If a layer has this many times the states at which cosets of average filling become dense, practically all
/// its cosets are dense, although the number of its states is a guess.
const CERTAINLY_DENSE: f64 = 4.0;

/// The bytes of run.db and log.jsonl of a small run, of the headers of layer files, and of partly filled file
/// system blocks.
const RUN_OVERHEAD_BYTES: u64 = 256 << 10;

/// What a run will need. The fields are those of `plan --json`, in its order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The puzzle.
    pub space: String,
    /// The metric.
    pub metric: String,
    /// The label of each piece; `None` if all differ.
    pub labels: Option<Vec<u16>>,
    /// The number of states of the space.
    pub states: u64,
    /// The number of moves.
    pub moves: usize,
    /// Whether the moves are closed under inverses.
    pub inverse_closed: bool,
    /// The number of pieces that words distinguish, and of all pieces, if the former determine where the
    /// others are (`docs/decisions/0037`); `None` if words distinguish all pieces that have different labels.
    pub told_apart: Option<(usize, usize)>,
    /// The colour of each piece.
    pub colouring: Vec<u8>,
    /// The lengths of the axes of a coset's tensor. If `reached` is empty, each colour is an axis, whose
    /// length is the number of its arrangements.
    pub axes: Vec<u32>,
    /// The number of tensors with these axes of which that of a coset is the direct sum; 1 unless axes are
    /// tied.
    pub summands: u32,
    /// The properties that each axis holds, if axes have only the words that moves reach; empty if each
    /// colour is an axis of all its arrangements.
    pub reached: Vec<String>,
    /// The number of symmetries of the space.
    pub symmetries: usize,
    /// Whether these are known to be all symmetries.
    pub symmetries_are_all: bool,
    /// The number of symmetries that respect the colouring, by which the search is smaller.
    pub symmetries_used: usize,
    /// The reasons why the other symmetries are not used, each with the number of symmetries.
    pub symmetries_unused: Vec<(&'static str, usize)>,
    /// The number of patterns.
    pub patterns: u64,
    /// The number of representative cosets.
    pub representative_cosets: u64,
    /// Whether `representative_cosets` is exact. If the cosets would take long to list, the number is
    /// estimated as patterns / symmetries.
    pub cosets_are_exact: bool,
    /// The number of bits of a coset.
    pub coset_bits: u64,
    /// States / (symmetries x stored bits): near 1 if no unreachable bits are stored and all symmetries are
    /// used.
    pub fill: f64,
    /// The size in bytes of a layer whose cosets are all dense.
    pub layer_bytes: u64,
    /// The memory that the run needs in bytes, without the page cache.
    pub memory_bytes: u64,
    /// The disk space at the peak, in bytes.
    pub disk_peak_bytes: u64,
    /// The disk space at the peak if the run keeps two layers, in bytes; `None` unless the estimate is for
    /// [`Keep::Last`].
    pub disk_peak_bytes_of_two: Option<u64>,
    /// The number of threads assumed.
    pub threads: usize,
    /// Microseconds to pull one dense coset through one move, measured on this machine.
    pub pull_microseconds: f64,
    /// A rough estimate of the duration of the search, in seconds.
    pub seconds: f64,
}

impl Estimate {
    /// Estimates what a run with `threads` threads needs. Measures the kernel for about 20 ms.
    pub fn new(space: &Space, plan: &Plan, threads: usize, keep: Keep) -> Self {
        let peak = |keep| Peak { keep, threads, ..Peak::default() }.bytes(space, plan);
        let pull = dense_pull_time(&plan.shape, SimdLevel::fastest(&plan.shape))
            .expect("the fastest engine does the shape");
        let pulls = plan.pulls_per_layer(space) as f64;
        // A layer is written, synced and read again, each at a gigabyte a second.
        let bytes = (plan.layer_bytes() * 3) as f64 / 1e9;
        let dense_layer = pulls * pull.as_secs_f64() / threads as f64 + bytes;
        let start = plan.patterns as f64 * 60e-9;
        Self {
            space: space.puzzle().name.clone(),
            metric: space.metric().to_string(),
            labels: (!space.given_labels().are_distinct()).then(|| space.given_labels().of_pieces().to_vec()),
            states: u64::try_from(space.states()).expect("a planned space has fewer than 2^64 states"),
            moves: space.moves().len(),
            inverse_closed: space.is_closed_under_inverses(),
            told_apart: space.told_apart(),
            colouring: plan.colouring.of_pieces().to_vec(),
            axes: plan.shape.lengths().to_vec(),
            summands: plan.shape.summands(),
            reached: plan.colouring.views().iter().map(ToString::to_string).collect(),
            symmetries: space.symmetry_order(),
            symmetries_are_all: space.has_all_symmetries(),
            symmetries_used: plan.symmetries_used / space.free_order() as usize,
            symmetries_unused: plan
                .refusals(space)
                .into_iter()
                .map(|(refusal, count)| (refusal.reason(), count))
                .collect(),
            patterns: plan.patterns,
            representative_cosets: plan.representative_cosets,
            cosets_are_exact: plan.is_exact,
            coset_bits: plan.shape.bits(),
            fill: plan.fill(space),
            layer_bytes: plan.layer_bytes(),
            memory_bytes: memory_bytes(
                space,
                plan.patterns,
                plan.representative_cosets,
                &plan.shape,
                threads,
            ),
            disk_peak_bytes: peak(keep),
            disk_peak_bytes_of_two: (keep == Keep::Last).then(|| peak(Keep::Two)),
            threads,
            pull_microseconds: pull.as_secs_f64() * 1e6,
            seconds: start + dense_layers(space) * dense_layer,
        }
    }
}

/// The parameters, besides the space, of the disk space of a search at its peak.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peak {
    /// The layers that are kept.
    pub keep: Keep,
    /// The last depth, if one was given.
    pub max_depth: Option<u32>,
    /// The number of kernel threads.
    pub threads: usize,
    /// The number of shards; `None` for a number by the size of a layer.
    pub shards: Option<u32>,
    /// The number of worker processes that share the threads; `None` for a search by one process.
    pub workers: Option<u32>,
}

impl Peak {
    /// Returns the disk space at the peak, in bytes: the layer being computed and the two before it, all as
    /// if dense. With two layers kept, the new layer takes the space of the older one, except for the shards
    /// in the making. With all layers kept, the older ones are taken to compress to two dense layers. If
    /// there are many layers, their directories take the most: with moves that are not closed under inverses
    /// the number of layers is taken to be 64 (`lx:10` has 59). `max_depth` limits the number of states of a
    /// layer. Worker processes share the files.
    pub fn bytes(self, space: &Space, plan: &Plan) -> u64 {
        let entries = plan.representative_cosets * COSET_OVERHEAD_BYTES;
        let dense = plan.layer_bytes();
        let lookback = Lookback::new(space);
        let largest = match self.max_depth {
            Some(depth) => most_states(space, depth)
                .map(|states| states.div_ceil(plan.symmetries_used as u64 / u64::from(space.free_order())))
                // A coset that symmetries fix stores several states of one orbit, so the number is doubled.
                .map(|states| states.saturating_mul(2))
                .and_then(|stored| stored.checked_mul(MAX_BYTES_A_STATE))
                .map_or(dense, |bytes| bytes.min(dense)),
            None => dense,
        };
        let (layers, directories) = match (self.keep, lookback) {
            (Keep::Two, _) => (2, 2),
            (Keep::Last, _) => (3, 3),
            (Keep::All, Lookback::Two) => (5, 5),
            (Keep::All, Lookback::All) => (5, 64),
        };
        let in_the_making = match self.keep {
            Keep::Two => {
                let producers = Producers { processes: self.workers.unwrap_or(1), threads: None };
                let by_size = || producers.shards(plan, lookback);
                let shards = self.shards.unwrap_or_else(by_size);
                let at_once = match self.workers {
                    None => Older::most_at_once(self.threads),
                    // A worker has at least one thread.
                    Some(workers) => most_in_the_making(shards, u64::from(workers).max(self.threads as u64)),
                };
                let waiting = match self.workers {
                    None => Older::waiting_bytes(largest + entries, shards),
                    Some(_) => 0,
                };
                (largest + entries).div_ceil(shards.into()) * at_once.min(shards.into()) + waiting
            }
            Keep::Last | Keep::All => 0,
        };
        let kept = if plan.patterns < PATTERNS_WORTH_KEEPING { 0 } else { plan.table_bytes(space) };
        RUN_OVERHEAD_BYTES + kept + layers * largest + directories * entries + in_the_making
    }
}

/// Returns the maximum number of states of a depth; `None` if that exceeds 2^64. The first depths are
/// counted.
///
/// In a Cayley graph all states look alike, so depth a + b has at most as many states as depth a times depth
/// b, and the product of the counts is a bound. In other graphs the last counted depths are assumed to keep
/// growing as they did, which is not a bound: a search checks the disk again before each depth.
fn most_states(space: &Space, depth: u32) -> Option<u64> {
    let counts = first_counts(space, depth);
    let counted = counts.len() as u32 - 1;
    if let Some(&count) = counts.get(depth as usize) {
        return Some(count);
    }
    if space.piece_labels().are_distinct() && !space.is_guarded() && space.free_order() == 1 {
        let whole = counts[counted as usize].checked_pow(depth / counted)?;
        return whole.checked_mul(counts[(depth % counted) as usize]);
    }
    // The growth over two depths, because some metrics have depths that grow fast and slowly in turn.
    let span = counted.min(2);
    let last = counts[counted as usize] as f64;
    let growth = last / counts[(counted - span) as usize] as f64;
    let states = last * growth.powf(f64::from(depth - counted) / f64::from(span));
    (states < u64::MAX as f64).then_some(states as u64)
}

/// Counts the states of the first depths, up to `depth`: as many depths as take little time, and one more.
/// The result ends with depth 1 at the earliest, or with an empty depth if the space has no more states.
pub fn first_counts(space: &Space, depth: u32) -> Vec<u64> {
    // Each state has a word for each free move, and so has each of its neighbours.
    let few = (1 << 13) / (space.free_order() as usize).pow(2);
    let state_of = |word: &[u8]| space.words_of(word).min().expect("the identity is a free move");
    let mut counts = vec![1];
    let mut newest = vec![state_of(space.solved())];
    let mut seen: HashSet<Vec<u8>> = newest.iter().cloned().collect();
    while !newest.is_empty() && (counts.len() == 1 || newest.len() <= few) && counts.len() <= depth as usize {
        let mut next = Vec::new();
        for word in newest.iter().flat_map(|state| space.words_of(state)) {
            for mv in 0..space.moves().len() {
                let mut image = vec![0; word.len()];
                if space.apply(mv, &word, &mut image) {
                    let state = state_of(&image);
                    if seen.insert(state.clone()) {
                        next.push(state);
                    }
                }
            }
        }
        counts.push(next.len() as u64);
        newest = next;
    }
    counts
}

/// The disk space that the next layer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The number of bytes.
    pub bytes: u64,
    /// Whether practically all its cosets will be dense, so `bytes` is not a guess.
    pub certain: bool,
}

impl Need {
    /// Estimates the disk space of the layer after `layers` in a run of this geometry, if `left` states are
    /// not visited yet.
    ///
    /// The number of stored states is assumed to grow by the same factor as last time, and to be no larger
    /// than what is left. A sparse coset takes four bytes a state, and a coset is dense from one state in
    /// [`SPARSE_BITS`] bits on. Some cosets have more states than others, so a share of them is dense before
    /// the average coset is; this share is taken to grow with the fourth power of the filling.
    pub fn after(layers: &[LayerRow], left: u64, geometry: &Geometry) -> Self {
        let dense = geometry.dense_bytes;
        let stored = match layers {
            [.., before, newest] => {
                let all = newest.stored as f64 / newest.states as f64 * left as f64;
                all.min(newest.stored as f64 * (newest.stored as f64 / before.stored as f64))
            }
            _ => 1.0,
        };
        let filled = stored * SPARSE_BITS as f64 / (8.0 * dense as f64);
        let data = dense.min((stored * 4.0 + dense as f64 * filled.powi(4)) as u64);
        let cosets = u64::from(geometry.cut.cosets());
        Self { bytes: cosets * COSET_OVERHEAD_BYTES + data, certain: filled >= CERTAINLY_DENSE }
    }
}

/// Estimates the number of dense layers of a search. A layer is taken to be larger than the one before by a
/// factor of 0.6 times the moves, because moves commute and cancel. Cosets are dense from one state in
/// [`SPARSE_BITS`] bits on, and the search continues for two layers after the largest.
fn dense_layers(space: &Space) -> f64 {
    let growth = (0.6 * space.moves().len() as f64).max(2.0);
    2.0 + (SPARSE_BITS as f64).ln() / growth.ln()
}

/// Returns the median time of a dense pull, measured for about 20 ms; `None` if the engine does not support
/// the shape on this processor.
pub fn dense_pull_time(shape: &Shape, engine: SimdLevel) -> Option<Duration> {
    let mut kernel = engine.kernel(shape)?;
    let axes = shape.lengths().len();
    // The reversed order is a map that uses every stage of its bit network.
    let maps: Vec<AxisMap> =
        shape.lengths().iter().map(|&length| AxisMap::new((0..length).rev().collect())).collect();
    let mut target: Vec<u8> = (0..axes as u8).collect();
    let summands = 0..shape.summands();
    let kept = Transform {
        target: target.clone(),
        maps: summands.clone().flat_map(|_| 0..axes as u32).collect(),
        summands: summands.collect(),
        odd: false,
    };
    // If the last axis has the same length as another, moves can exchange the two. Half of the pulls that are
    // measured do so.
    let equal = shape.lengths()[..axes - 1].iter().position(|&length| length == shape.lengths()[axes - 1]);
    if let Some(other) = equal {
        target.swap(other, axes - 1);
    }
    let traded = Transform { target, ..kept.clone() };
    let mut packed: Vec<u8> = (0..shape.packed_bytes()).map(|i| (i * 37 % 251) as u8).collect();
    packed.extend([0; SLACK_BYTES]);
    kernel.clear();
    let mut times = Vec::new();
    let begun = Instant::now();
    while times.len() < 8 || (begun.elapsed() < Duration::from_millis(20) && times.len() < 1000) {
        let start = Instant::now();
        kernel.pull(Bits::Dense(black_box(&packed)), &kept, &maps);
        kernel.pull(Bits::Dense(black_box(&packed)), &traded, &maps);
        times.push(start.elapsed() / 2);
    }
    times.sort_unstable();
    Some(times[times.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::{Board, Metric, PuzzleSpec};
    use fathom_space::Labels;

    /// The counts are those of `records/4x4-multi.json`.
    #[test]
    fn bound_exceeds_every_depth() {
        let board: Board = "4x4".parse().unwrap();
        let space = Space::new(board.puzzle(Metric::Multi), Metric::Multi, Labels::distinct(16)).unwrap();
        let counts = [1, 24, 396, 6264, 97_558, 1_486_728, 22_201_916, 324_714_424, 4_612_908_913_u64];
        for (depth, count) in counts.into_iter().enumerate() {
            let bound = most_states(&space, depth as u32).unwrap();
            assert!(bound >= count && bound < 4 * count, "{bound} for {count}");
        }
        assert_eq!(most_states(&space, 100), None);
    }

    /// The counts are those of T. Rokicki (rokicki/twsearch-results, `squareone-g8.log`).
    #[test]
    fn guarded_puzzles_are_extrapolated() {
        let source = PuzzleSpec::by_name("square1").unwrap();
        let labels = Labels::from_values(source.solved());
        let space = Space::new(source.puzzle(Metric::Face).unwrap(), Metric::Face, labels).unwrap();
        let counts = [1, 15, 69, 212, 1141, 3933, 14_029, 44_188, 138_952_u64];
        for (depth, count) in counts.into_iter().enumerate() {
            let states = most_states(&space, depth as u32).unwrap();
            assert!(states >= count && states < 4 * count, "{states} for {count}");
        }
    }

    /// Free moves leave time to count one depth. The counts are those of M. Masonjones (forum.cubeman.org,
    /// 2005).
    #[test]
    fn bound_holds_with_free_moves() {
        let source = PuzzleSpec::by_name("square1").unwrap().in_metric(Metric::Twist).unwrap();
        let labels = Labels::from_values(source.solved());
        let space = Space::new(source.puzzle(Metric::Twist).unwrap(), Metric::Twist, labels).unwrap();
        for (depth, count) in [1, 64, 1153, 17_050, 235_144, 3_091_458_u64].into_iter().enumerate() {
            let states = most_states(&space, depth as u32).unwrap();
            assert!(states >= count, "{states} for {count}");
        }
    }
}
