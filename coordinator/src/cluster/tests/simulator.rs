//! A simulator of whole runs. The decisions of the coordinator and the sessions of workers are the real code;
//! the network and the disks are simulated, and driven by a seeded scheduler.
//!
//! Messages are lost, duplicated or late, and so out of order. Processes die, sleep, and come back in another
//! epoch. Bits of reports flip, and another service answers at the address of a coordinator that is away.
//! Disks fill, and lose or damage files. In some runs all workers share one disk, on which a wrong worker may
//! replace the files of others. Networks are cut in one direction, and clocks jump. After every event the
//! invariants of the state are checked, and each commit is compared with the truth. After the faults the run
//! must be complete and right within a bounded simulated time, so that a run without progress fails the test.
//!
//! `FATHOM_SEEDS=100000 cargo test --release -p fathom-coordinator simulator` tries this number of seeds.
//! `FATHOM_SEED=17 cargo test ... simulator -- --nocapture` prints the events of one seed.

mod files;
mod network;
mod process;
mod simulation;

use simulation::{Outcome, Simulation};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number of seeds in every test run.
const SEEDS: u64 = 3000;
/// Maximum number of failing seeds that are listed.
const MAX_TOLD: usize = 10;
/// Number of seeds among which a planted fault must show.
const SEEDS_OF_FAULT: u64 = 1000;

/// Faults that Fathom once had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    /// Versions of holder maps begin at 1 in every epoch, and a worker keeps its map when its session ends.
    /// So it may be sent no map, and ask peers that hold nothing.
    StaleHolders,
}

fn seeds(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

/// Runs one seed. Returns what is wrong with the run, if anything is.
fn fault_of(seed: u64, planted: Option<Planted>) -> Option<String> {
    let run = || Simulation::new(seed, planted).run();
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Outcome::Right) => None,
        Ok(Outcome::Wrong(what)) => Some(what),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            Some(text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default())
        }
    }
}

#[test]
fn all_seeds_end_with_the_right_result() {
    if let Some(seed) = seeds("FATHOM_SEED") {
        assert_eq!(Simulation::new(seed, None).told().run(), Outcome::Right);
        return;
    }
    let count = seeds("FATHOM_SEEDS").unwrap_or(SEEDS);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let faults_of = |first: usize| {
        let faults = (0..count).skip(first).step_by(threads);
        let faults = faults.filter_map(|seed| fault_of(seed, None).map(|what| (seed, what)));
        faults.take(MAX_TOLD).collect::<Vec<_>>()
    };
    let mut faults: Vec<(u64, String)> = std::thread::scope(|scope| {
        let faults = (0..threads).map(|first| scope.spawn(move || faults_of(first)));
        let faults = faults.collect::<Vec<_>>().into_iter();
        faults.flat_map(|faults| faults.join().expect("panics of seeds are caught")).collect()
    });
    faults.sort();
    let faults: Vec<String> =
        faults.into_iter().take(MAX_TOLD).map(|(seed, what)| format!("seed {seed}: {what}")).collect();
    assert!(
        faults.is_empty(),
        "run a single one with FATHOM_SEED, and -- --nocapture to see each event:\n{}",
        faults.join("\n")
    );
}

#[test]
fn planted_fault_is_found() {
    let found = (0..SEEDS_OF_FAULT).find_map(|seed| fault_of(seed, Some(Planted::StaleHolders)));
    assert!(found.is_some(), "no seed shows stale holders");
}
