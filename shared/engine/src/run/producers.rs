//! The number of shards that a run is cut into, depending on the processes that will compute them.

use crate::run::Lookback;
use fathom_space::Plan;

/// The number of shards for each thread: enough that threads end a depth at about the same time. Each file
/// takes some tenths of a millisecond of a file system, whose directories threads change one after another.
const SHARDS_A_THREAD: u64 = 4;
/// The smallest size, in bytes, of a shard of a dense layer if there are more shards than threads.
const WELCOME_SHARD_BYTES: u64 = 1 << 20;
/// The smallest size, in bytes, of a shard of a dense layer, unless cosets or the user require more shards.
const MIN_SHARD_BYTES: u64 = 256 << 10;
/// The largest size, in bytes, of a shard of a dense layer, up to [`MAX_SHARDS`]: an interruption loses the
/// shards that are being computed.
const MAX_SHARD_BYTES: u64 = 16 << 20;
/// The bytes of a dense layer from which on there are at least two shards, so that two processors have work.
const PAIR_BYTES: u64 = 32 << 10;
/// The number of shards is at least the number of cosets divided by this number, however small the cosets
/// are.
const SHARD_COSETS: u64 = 1 << 14;
/// The maximum number of shards that a run is cut into unless the user asks otherwise.
const MAX_SHARDS: u64 = 512;
/// The maximum number of shards if all layers are read: each shard of each layer is a memory map then, and
/// Linux allows a process 65,530 maps.
const MAX_SHARDS_OF_ALL: u64 = 64;

/// The processes that will compute the shards of a run, as far as they are known when it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producers {
    /// The number of processes.
    pub processes: u32,
    /// The number of threads of all of them; `None` if any number may join.
    pub threads: Option<usize>,
}

impl Producers {
    /// Returns the producers of a cluster whose workers join after the run has started.
    pub fn unknown() -> Self {
        Self { processes: 1, threads: None }
    }

    /// Returns the producers of a search by one process with `threads` threads.
    pub fn one_process(threads: usize) -> Self {
        Self { processes: 1, threads: Some(threads) }
    }

    /// Returns the number of shards that a run is cut into unless the user asks otherwise. The number depends
    /// on the size of a layer and on the number of threads. It is a multiple of the number of processes,
    /// unless there are fewer shards than processes.
    pub fn shards(self, plan: &Plan, lookback: Lookback) -> u32 {
        let most = match lookback {
            Lookback::Two => MAX_SHARDS,
            Lookback::All => MAX_SHARDS_OF_ALL,
        };
        let cosets = plan.representative_cosets;
        let bytes = plan.layer_bytes();
        let fewest = if bytes < PAIR_BYTES { 1 } else { 2 };
        let for_threads = self.threads.map_or(most, |threads| {
            let threads = threads as u64;
            (bytes / WELCOME_SHARD_BYTES).clamp(threads, SHARDS_A_THREAD * threads)
        });
        let by_threads = for_threads.min(bytes / MIN_SHARD_BYTES);
        let by_size = by_threads.max(bytes / MAX_SHARD_BYTES).max(cosets / SHARD_COSETS);
        let by_size = by_size.clamp(fewest, most).min(cosets) as u32;
        let processes = self.processes;
        if by_size < processes { by_size } else { by_size - by_size % processes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::SpaceSpec;
    use fathom_puzzle::PuzzleSpec;
    use fathom_space::Labels;

    /// A dense layer of 3x3 takes 5,520 bytes, of 2x2x2 45,360, and of 2x6 2,688,768, which is a little more
    /// than 10 times 256 KiB and 2 times 1 MiB. One of 2x7 takes 539,884,800, a little more than 32 times
    /// 16 MiB, in 170 cosets.
    #[test]
    fn shards_are_cut_by_size_and_threads() {
        for (word, processes, threads, shards) in [
            ("3x3", 1, None, 1),
            ("3x3", 1, Some(16), 1),
            ("2x2x2", 1, None, 2),
            ("2x2x2", 3, None, 2),
            ("2x6", 1, None, 10),
            ("2x6", 3, None, 9),
            ("2x6", 1, Some(1), 2),
            ("2x6", 1, Some(2), 2),
            ("2x6", 1, Some(4), 4),
            ("2x6", 1, Some(16), 10),
            ("2x6", 3, Some(3), 3),
            ("2x7", 1, None, 170),
            ("2x7", 1, Some(2), 32),
            ("2x7", 1, Some(16), 64),
            ("2x7", 1, Some(1000), 170),
        ] {
            let source = PuzzleSpec::whole(word).unwrap();
            let (metric, labels) = (source.metric(), Labels::from_values(source.solved()));
            let plan = Plan::new(&SpaceSpec { source, metric, labels }.space().unwrap()).unwrap();
            assert_eq!(
                Producers { processes, threads }.shards(&plan, Lookback::Two),
                shards,
                "{word}, {} bytes, {processes} processes with {threads:?} threads",
                plan.layer_bytes()
            );
        }
    }
}
