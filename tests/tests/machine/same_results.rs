//! A run gives the same counts and digests whatever its engine, memory and threads.

use fathom_engine::run::budget::memory_bytes;
use fathom_engine::run::{Keep, RunManifest, SpaceSpec};
use fathom_engine::task::{Job, Kernel, Resources};
use fathom_kernel::SimdLevel;
use fathom_layer::LocalDisk;
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::{Labels, Plan};
use fathom_tests::Setup;
use fathom_tests::boards::labelled_boards;
use proptest::prelude::*;

fn question(board: &str, metric: Metric) -> SpaceSpec {
    let board: Board = board.parse().unwrap();
    SpaceSpec { source: PuzzleSpec::Board(board), metric, labels: Labels::distinct(board.cells()) }
}

#[test]
fn digests_do_not_depend_on_threads_shards_kernel_or_compression() {
    let board = fathom_slow::choose("2x4", "2x5");
    for metric in Metric::ALL {
        let expected =
            Setup { threads: 1, shards: Some(1), ..Setup::default() }.search(question(board, metric));
        for (threads, shards, kernel, keep) in [
            (2, Some(1), Kernel::Cosets(SimdLevel::Portable), Keep::Last),
            (3, Some(7), Kernel::Cosets(SimdLevel::Portable), Keep::All),
            (1, Some(13), Kernel::Fastest, Keep::All),
            (2, Some(5), Kernel::Reference, Keep::Last),
            (8, None, Kernel::Fastest, Keep::Last),
        ] {
            let found =
                Setup { threads, shards, kernel, keep, ..Setup::default() }.search(question(board, metric));
            assert_eq!(found.digest, expected.digest, "{threads} {shards:?} {kernel:?} {keep}");
            assert_eq!(found.counts, expected.counts);
            assert_eq!(found.classes, expected.classes);
        }
    }
}

/// Layers of 2x6 take 2.6 MB: with this memory only a part of one is read at a time, and written data leaves
/// memory.
#[test]
fn digests_do_not_depend_on_memory() {
    let question = question("2x6", Metric::Multi);
    let expected = Setup::default().search(question.clone());
    let space = question.space().unwrap();
    let plan = Plan::new(&space).unwrap();
    let tables = memory_bytes(&space, plan.patterns, plan.representative_cosets, &plan.shape, 2);
    let little = tables + (3 << 19);
    let found = Setup { memory_bytes: little, ..Setup::default() }.search(question);
    assert_eq!(found.digest, expected.digest);
    assert_eq!(found.counts, expected.counts);
}

/// Layers of 11 pancakes take 5 MB. If memory cannot hold one, shards are computed in an order by bisection,
/// also with two layers on disk.
#[test]
fn digests_do_not_depend_on_the_order_of_shards() {
    let source = PuzzleSpec::by_name("pancake:11").unwrap();
    let labels = Labels::from_values(source.solved());
    let question = SpaceSpec { source, metric: Metric::Given, labels };
    let space = question.space().unwrap();
    let plan = Plan::new(&space).unwrap();
    let tables = memory_bytes(&space, plan.patterns, plan.representative_cosets, &plan.shape, 2);
    let little = tables + (2 << 20);
    let expected = Setup::default().search(question.clone());
    for keep in [Keep::Last, Keep::Two] {
        let setup = Setup { shards: Some(64), keep, memory_bytes: little, ..Setup::default() };
        let found = setup.search(question.clone());
        assert_eq!((&found.digest, &found.counts), (&expected.digest, &expected.counts), "{keep}");
    }
    let manifest = RunManifest::plan(question, &space, &plan, Some(64), Keep::Last, false).unwrap();
    for (memory_bytes, is_by_number) in [(little, false), (1 << 30, true)] {
        let resources = Resources { kernel: Kernel::Fastest, threads: 2, memory_bytes, max_depth: None };
        let tables = fathom_tests::tempdir().unwrap();
        let mut job = Job::load(&manifest, tables.path(), resources, &LocalDisk).unwrap();
        job.order_shards().unwrap();
        assert_eq!(job.order.is_by_number(), is_by_number, "with {memory_bytes} bytes");
    }
}

#[test]
fn degenerate_boards() {
    // A single line of n cells is a cyclic group: n states, and n / 2 single shifts reach the farthest.
    for n in 1..=13 {
        let multi = Setup::default().search(question(&format!("1x{n}"), Metric::Multi));
        let expected: Vec<u64> = if n == 1 { vec![1] } else { vec![1, n - 1] };
        assert_eq!(multi.counts, expected, "1x{n}");
        let single = Setup::default().search(question(&format!("{n}x1"), Metric::Single));
        assert_eq!(single.god_number, Some(n as u32 / 2), "{n}x1");
        assert_eq!(single.counts.iter().sum::<u64>(), n);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(fathom_slow::choose(10, 40)))]

    /// Random labels on small boards: cosets and the plain search agree on every bit.
    #[test]
    fn both_engines_agree_on_random_labels(question in labelled_boards()) {
        let by_cosets = Setup { shards: Some(1), ..Setup::default() }.search(question.clone());
        let plain = Setup { kernel: Kernel::Reference, shards: Some(1), ..Setup::default() }.search(question);
        prop_assert_eq!(&plain.digest, &by_cosets.digest);
        prop_assert_eq!(&plain.counts, &by_cosets.counts);
        prop_assert_eq!(&plain.classes, &by_cosets.classes);
        prop_assert!(by_cosets.complete);
    }
}
