//! A simulator of whole runs. The decisions of the coordinator and the sessions of workers are the real code;
//! the network and the disks are simulated, and driven by a seeded scheduler.
//!
//! Messages are lost, duplicated or late, and so out of order. Processes die, sleep, and come back in another
//! epoch. Disks fill, and lose or damage files. Networks are cut in one direction, and clocks jump. After
//! every event the invariants of the state are checked, and each commit is compared with the truth. After the
//! faults the run must be complete and right within a bounded simulated time, so that a run without progress
//! fails the test.
//!
//! `FATHOM_SEEDS=100000 cargo test --release -p fathom-coordinator simulator` tries this number of seeds.
//! `FATHOM_SEED=17 cargo test ... simulator -- --nocapture` prints the events of one seed.

mod network;
mod process;
mod simulation;

use simulation::{Outcome, Simulation};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number of seeds in every test run.
const SEEDS: u64 = 3000;
/// Largest number of failing seeds that are listed.
const MOST_TOLD: usize = 10;
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
fn every_seed_ends_and_is_right() {
    if let Some(seed) = seeds("FATHOM_SEED") {
        assert_eq!(Simulation::new(seed, None).told().run(), Outcome::Right);
        return;
    }
    let count = seeds("FATHOM_SEEDS").unwrap_or(SEEDS);
    let faults =
        (0..count).filter_map(|seed| fault_of(seed, None).map(|what| format!("seed {seed}: {what}")));
    let faults: Vec<String> = faults.take(MOST_TOLD).collect();
    assert!(
        faults.is_empty(),
        "run one alone with FATHOM_SEED, and -- --nocapture to see each event:\n{}",
        faults.join("\n")
    );
}

#[test]
fn a_planted_fault_is_found() {
    let found = (0..SEEDS_OF_FAULT).find_map(|seed| fault_of(seed, Some(Planted::StaleHolders)));
    assert!(found.is_some(), "no seed shows stale holders");
}
