//! Tests that true reports satisfy the bounds, and that each kind of false report violates one.

use super::*;
use fathom_engine::directory::RunDirectory;
use fathom_engine::observer::Silent;
use fathom_engine::run::{Depth, Task};
use fathom_engine::run::{Keep, RunManifest, SpaceSpec};
use fathom_engine::search::{Options, Stop, search};
use fathom_engine::task::{Kernel, Store, store};
use fathom_layer::LocalDisk;
use fathom_puzzle::PuzzleSpec;
use fathom_space::{Labels, Plan};

/// Returns the bounds of a run, the reports of all its shards by depth, and the number of states.
fn searched(word: &str, shards: u32) -> (Bounds, Vec<Vec<ShardReport>>, u64) {
    let source = PuzzleSpec::by_name(word).unwrap();
    let metric = source.metric();
    let labels = Labels::from_values(source.solved());
    let spec = SpaceSpec { source, metric, labels };
    let space = spec.space().unwrap();
    let plan = Plan::new(&space).unwrap();
    let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), Keep::All, false).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut run = RunDirectory::create(&path, manifest.clone(), &[], &LocalDisk).unwrap();
    let options = Options {
        threads: 1,
        kernel: Kernel::Fastest,
        max_depth: None,
        memory_bytes: 1 << 30,
        checkpoint_every: Options::CHECKPOINT_EVERY,
    };
    search(&mut run, &LocalDisk, options, &Stop::default(), &Silent).unwrap();
    let (space, colouring) = manifest.open().unwrap();
    let geometry = Geometry::new(&manifest, &space, &colouring).unwrap();
    let store = Store::at(&path, &LocalDisk).unwrap();
    let layers = run.visited().unwrap();
    let report = |depth, shard| {
        let file = store.open_shard(&geometry, depth, shard).unwrap();
        let report = store::report(Task { depth, shard }, &file).unwrap();
        // Archived layers are smaller than they were when they were written.
        let bytes = report.bytes.max(format::file_bytes(geometry.cut.range(shard).len() as u32, 0, 1).0);
        ShardReport { bytes, ..report }
    };
    let of_layer = |depth| geometry.cut.ids().map(|shard| report(depth, shard)).collect();
    let reports = layers.layers.iter().map(|layer| of_layer(layer.depth)).collect();
    (Bounds::new(geometry, &space, 2, None), reports, layers.all.unwrap())
}

fn newest(reports: &[Vec<ShardReport>], depth: usize) -> Option<u64> {
    let before = depth.checked_sub(1)?;
    Some(reports[before].iter().map(|report| report.totals.states).sum())
}

#[test]
fn true_reports_satisfy_the_bounds() {
    for (word, shards) in
        [("2x2x2", 3), ("pyraminx", 2), ("square1-shapes", 1), ("pancake:7", 1), ("skewb", 2)]
    {
        if PuzzleSpec::by_name(word).is_err() {
            continue;
        }
        let (mut bounds, reports, all) = searched(word, shards);
        let mut left = all;
        for (depth, layer) in reports.iter().enumerate() {
            for report in layer {
                assert_eq!(report.task.depth, Depth(depth as u32));
                assert_eq!(bounds.check(report, newest(&reports, depth), left), Ok(()), "{word} {depth}");
            }
            bounds.counted.get_or_insert_with(|| counted(&layer[0]));
            left -= layer.iter().map(|report| report.totals.states).sum::<u64>();
        }
        assert_eq!(left, 0);
    }
}

#[test]
fn false_reports_violate_a_bound() {
    let (bounds, reports, all) = searched("2x2x2", 1);
    let check = |depth: usize, lie: &dyn Fn(&mut ShardReport)| {
        let mut report = reports[depth][0].clone();
        lie(&mut report);
        let visited: u64 = reports[..depth].iter().flatten().map(|report| report.totals.states).sum();
        let counted = Some(counted(&reports[0][0]));
        Bounds { counted, ..bounds }.check(&report, newest(&reports, depth), all - visited)
    };
    assert_eq!(check(3, &|_| {}), Ok(()));
    // A worker without data that claims that the run is over.
    let all_at_once = |report: &mut ShardReport| report.totals.states = all - 1;
    assert!(matches!(check(1, &all_at_once), Err(Implausible::States { .. })));
    let consistent = |report: &mut ShardReport| {
        let cosets = report.checksums.len() as u64;
        report.checksums.iter_mut().for_each(|checksum| *checksum = Digest::new(b"full"));
        report.totals.stored = (all - 1).div_ceil(bounds.symmetries).max(cosets);
        report.totals.states = all - 1;
    };
    assert!(matches!(check(1, &consistent), Err(Implausible::Growth { most, .. }) if most < 10_000));
    assert!(matches!(
        check(0, &|r| r.totals.states = 2),
        Err(Implausible::States { .. } | Implausible::Growth { .. })
    ));
    let depth = reports.len() - 1;
    assert!(matches!(
        check(depth, &|r| (r.totals.stored, r.totals.states) = (r.totals.stored + 9, r.totals.states + 200)),
        Err(Implausible::Left { .. } | Implausible::States { .. } | Implausible::Stored { .. })
    ));
    assert!(matches!(check(3, &|r| r.checksums.truncate(1)), Err(Implausible::Cosets { found: 1, .. })));
    assert!(matches!(check(3, &|r| r.totals.stored = 0), Err(Implausible::Stored { .. })));
    assert!(matches!(check(3, &|r| r.totals.stored = u64::MAX >> 1), Err(Implausible::Stored { .. })));
    assert!(matches!(check(3, &|r| r.totals.pairs = Some(1)), Err(Implausible::Pairs { .. })));
    assert!(matches!(check(3, &|r| r.totals.inverse_pairs = Some(1 << 40)), Err(Implausible::Pairs { .. })));
    assert!(matches!(check(3, &|r| r.totals.pairs = None), Err(Implausible::Counted)));
    assert_eq!(check(3, &|r| r.watched = vec![1, 0]), Ok(()));
    assert!(matches!(check(3, &|r| r.watched = vec![2]), Err(Implausible::Watched { found: 1, watched: 2 })));
    assert!(matches!(check(3, &|r| r.watched = vec![0; 3]), Err(Implausible::Watched { found: 3, .. })));
    assert!(matches!(check(3, &|r| r.bytes = 7), Err(Implausible::Bytes { bytes: 7, .. })));
    assert!(matches!(check(3, &|r| r.bytes = 1 << 40), Err(Implausible::Bytes { .. })));
    let empty = |r: &mut ShardReport| r.checksums.iter_mut().for_each(|c| *c = Digest::new(&[]));
    assert!(matches!(check(3, &empty), Err(Implausible::Stored { filled: 0, .. })));
}
