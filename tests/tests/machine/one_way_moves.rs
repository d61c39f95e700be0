//! Moves that are not closed under inverses: no move goes back, so distances are measured along moves, from
//! the solved state.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_engine::run::{Depth, ShardId};
use fathom_engine::run::{Keep, SpaceSpec};
use fathom_engine::task::{Job, Kernel, Layer, Resources, Store};
use fathom_kernel::Bits;
use fathom_layer::LocalDisk;
use fathom_puzzle::{Definition, Metric, PuzzleSpec};
use fathom_space::{CosetId, Labels};
use fathom_tests::{Setup, assert_same, fathom, fathom_worker, json, texts};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

const SETUP: Setup = Setup {
    kernel: Kernel::Fastest,
    threads: 2,
    shards: Some(2),
    keep: Keep::All,
    max_depth: None,
    memory_bytes: fathom_tests::MEMORY,
    checkpoint_every: std::time::Duration::ZERO,
};

fn question(source: PuzzleSpec, labels: Labels) -> SpaceSpec {
    SpaceSpec { source, metric: Metric::Given, labels }
}

fn word(word: &str) -> SpaceSpec {
    let source = PuzzleSpec::by_name(word).unwrap();
    let labels = Labels::distinct(source.cells());
    question(source, labels)
}

/// Returns the number of label words at each distance, by a search that applies the moves directly:
/// `moves[x][c]` is the cell to which move x carries the piece on cell c.
fn growth(solved: Vec<usize>, moves: &[Vec<usize>]) -> Vec<u64> {
    let mut seen = HashSet::from([solved.clone()]);
    let mut newest = vec![solved];
    let mut counts = Vec::new();
    while !newest.is_empty() {
        counts.push(newest.len() as u64);
        let mut next = Vec::new();
        for word in &newest {
            for to in moves {
                let mut image = vec![0; word.len()];
                to.iter().zip(word).for_each(|(&to, &label)| image[to] = label);
                if seen.insert(image.clone()) {
                    next.push(image);
                }
            }
        }
        newest = next;
    }
    counts
}

/// Returns the two moves of lx: turn the ring to the left, and exchange its first two pieces.
fn lx(n: usize) -> Vec<Vec<usize>> {
    vec![(0..n).map(|cell| (cell + n - 1) % n).collect(), [1, 0].into_iter().chain(2..n).collect()]
}

#[test]
fn one_way_ring_grows_as_published() {
    // OEIS A039745 (the largest distance) and A186144 (states there), from n = 3.
    for (n, (distance, farthest)) in (3..).zip([(2, 3), (6, 3), (11, 2), (18, 1), (25, 2), (35, 1), (45, 2)])
    {
        // With fewer than 8 pieces there is only one coset.
        let setup = if n < 8 { Setup { shards: Some(1), ..SETUP } } else { SETUP };
        let found = setup.search(word(&format!("lx:{n}")));
        assert_eq!((found.god_number, found.counts.last()), (Some(distance), Some(&farthest)), "lx:{n}");
        assert!(found.complete);
        if n <= 7 {
            assert_eq!(found.counts, growth((0..n).collect(), &lx(n)), "lx:{n}");
            let plain = Setup { kernel: Kernel::Reference, ..setup }.search(word(&format!("lx:{n}")));
            assert_eq!(plain.digest, found.digest, "lx:{n}");
        }
    }
}

/// A board whose lines shift in one direction only has fewer symmetries than the usual board.
#[test]
fn one_way_boards_agree_with_a_plain_search() {
    for (board, moves) in [("2x3", 5), ("3x3", 6), ("2x4", 6)] {
        let question = word(board);
        let space = question.space().unwrap();
        let shifts: Vec<Vec<usize>> =
            space.moves().iter().map(|step| step.cells.iter().map(|&to| usize::from(to)).collect()).collect();
        assert_eq!(shifts.len(), moves, "{board}");
        let found = Setup { shards: None, ..SETUP }.search(question.clone());
        assert_eq!(found.counts, growth((0..space.cells()).collect(), &shifts), "{board}");
        let plain = Setup { shards: None, kernel: Kernel::Reference, ..SETUP }.search(question);
        assert_eq!((plain.digest, plain.classes), (found.digest, found.classes), "{board}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_moves_agree_with_a_plain_search(
        moves in (4..=8_usize).prop_flat_map(|n| {
            prop::collection::vec(Just((0..n).collect::<Vec<usize>>()).prop_shuffle(), 1..4)
        }),
        labels in prop::collection::vec(0..3_usize, 8),
        distinct in any::<bool>(),
    ) {
        let cells = moves[0].len();
        let mut definition = Definition::of_degree("any", cells).unwrap();
        for (number, images) in moves.iter().enumerate() {
            let action = Permutation::from_fn(cells, |cell| images[cell]);
            definition.add_move(format!("m{number}"), OrientedPermutation::from_cells(action)).unwrap();
        }
        let labels = (0..cells).map(|cell| if distinct { cell } else { labels[cell] });
        let labels = Labels::from_values(labels);
        let solved = labels.of_pieces().iter().map(|&label| usize::from(label)).collect();
        let question = question(PuzzleSpec::Defined(Box::new(definition)), labels);
        let found = Setup { shards: Some(1), ..SETUP }.search(question.clone());
        prop_assert_eq!(&found.counts, &growth(solved, &moves));
        prop_assert!(found.complete);
        let plain = Setup { shards: Some(1), kernel: Kernel::Reference, ..SETUP }.search(question);
        prop_assert_eq!(&plain.digest, &found.digest);
        prop_assert_eq!(&plain.classes, &found.classes);
    }
}

/// The union of all older layers is read layer by layer once; then each depth adds only the newest layer.
#[test]
fn each_depth_adds_one_layer_to_the_union() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut run = SETUP.begin(word("lx:9"), &path, &LocalDisk).unwrap();
    let counts = SETUP.go_on(&mut run, &LocalDisk).unwrap().counts;
    let resources = Resources {
        kernel: Kernel::Fastest,
        threads: 1,
        memory_bytes: fathom_tests::MEMORY,
        max_depth: None,
    };
    let job = Job::load(&run.manifest, &path, resources, &LocalDisk).unwrap();
    let (cut, store) = (job.geometry.cut, Store::at(&path, &LocalDisk).unwrap());
    let layers: Vec<Layer> =
        (0..counts.len()).map(|depth| store.open(&job.geometry, Depth(depth as u32)).unwrap()).collect();
    let nothing = Layer::partial(cut, None);
    let union = job.union.as_ref().expect("the union of a small space fits into memory");
    let positions = || job.graph.shape().positions();
    for shard in cut.ids() {
        // Starts in the middle, as a resumed process does.
        for depth in 20..counts.len() {
            let newest_first = || layers[..depth].iter().rev();
            let before: Vec<&Layer> = match depth {
                20 => newest_first().collect(),
                // A layer without files cannot be read.
                _ => newest_first().take(1).chain(std::iter::repeat_n(&nothing, depth - 1)).collect(),
            };
            let of_task = union.of_task(shard, &before).unwrap().unwrap();
            for coset in cut.range(shard).map(CosetId) {
                let Bits::Dense(bits) = of_task.coset(coset) else { panic!("the union is packed") };
                let of_layers: Vec<_> = newest_first().map(|layer| layer.coset(coset).unwrap()).collect();
                for position in positions() {
                    let is_in = of_layers.iter().any(|stored| stored.contains(position));
                    assert_eq!(
                        bits[position as usize / 8] >> (position % 8) & 1 == 1,
                        is_in,
                        "depth {depth}"
                    );
                }
            }
        }
        // The union includes later layers, so a lost file of an earlier depth is recomputed without it.
        let before: Vec<&Layer> = layers[..15].iter().rev().collect();
        assert!(union.of_task(shard, &before).unwrap().is_none());
    }
    // A file that was written to since it was opened leaves nothing in the union, where it would stay.
    let fresh = Job::load(&run.manifest, &path, resources, &LocalDisk).unwrap();
    let (union, shard) = (fresh.union.as_ref().unwrap(), ShardId(0));
    let file = layers[24].file(shard).unwrap().path();
    std::fs::write(file, std::fs::read(file).unwrap()).unwrap();
    let before: Vec<&Layer> = layers[..25].iter().rev().collect();
    assert!(union.of_task(shard, &before).is_err_and(|error| error.is_damage()));
    let opened_again = store.open(&job.geometry, Depth(24)).unwrap();
    let before: Vec<&Layer> = std::iter::once(&opened_again).chain(layers[..24].iter().rev()).collect();
    assert!(union.of_task(shard, &before).unwrap().is_some());
}

fn run(directory: &Path, more: &[&str]) -> Value {
    let mut command = fathom();
    command.args(["run", "lx:8", "--shards", "6", "-q", "--json", "--dir"]).arg(directory).args(more);
    json(&command.output().unwrap())
}

#[test]
fn workers_and_tasks_find_the_same() {
    let directory = fathom_tests::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let expected = run(&at("alone"), &[]);
    assert_eq!(json(&fathom().args(["verify", "--json"]).arg(at("alone")).output().unwrap())["layers"], 36);

    assert_same(&run(&at("workers"), &["--workers", "3", "--threads", "3"]), &expected);

    run(&at("tasks"), &["--max-depth", "25"]);
    for depth in (26..=35).map(|depth: u32| depth.to_string()) {
        let mut task = fathom_worker();
        task.args(["task", "-q", "--depth", &depth, "--shards", "0-5", "--run"]).arg(at("tasks"));
        let output = task.output().unwrap();
        assert!(output.status.success(), "{}", texts(&output).1);
        json(&fathom().args(["merge", "-q", "--json", "--depth", &depth]).arg(at("tasks")).output().unwrap());
    }
    assert_same(&run(&at("tasks"), &[]), &expected);
}

/// Damage to an old layer is found when it is read, and a run that would not keep what it reads is refused.
#[test]
fn all_layers_are_read_and_kept() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    run(&path, &["--max-depth", "20"]);
    let oldest = path.join("layers/d010/s00000.layer");
    let mut bytes = std::fs::read(&oldest).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].iter_mut().for_each(|byte| *byte ^= 1);
    std::fs::write(&oldest, bytes).unwrap();
    let output = fathom().args(["resume", "-q"]).arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(texts(&output).1.contains("d010/s00000.layer"), "{}", texts(&output).1);

    let refused = |arguments: &[&str], says: &str| {
        let output = fathom().args(arguments).current_dir(directory.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(texts(&output).1.contains(says), "{}", texts(&output).1);
    };
    refused(
        &["run", "lx:7", "--keep", "last"],
        "each layer is computed from all earlier ones and all must be kept",
    );
    refused(&["plan", "lx:7", "--keep", "last"], "Drop --keep");
    refused(&["plan", "lx:7", "--workers", "2"], "Drop --workers");
    let definition = std::fs::read_to_string(path.join("run.toml")).unwrap();
    std::fs::write(path.join("run.toml"), definition.replace("keep = \"all\"", "keep = \"last\"")).unwrap();
    refused(&["resume", "run"], "Drop --keep");
}

/// Every output of a result with one-way distances says so, even with --quiet.
#[test]
fn results_say_that_distances_are_one_way() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    let texts_of = |arguments: &[&str]| {
        let output = fathom().args(arguments).current_dir(path).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", texts(&output).1);
        texts(&output)
    };
    let json_of = |arguments: &[&str]| -> Value { serde_json::from_str(&texts_of(arguments).0).unwrap() };
    let clause = "distances are one way: the moves are not closed under inverses";
    let warning = format!("warning: {clause} (");

    let (table, err) = texts_of(&["run", "lx:5", "-q", "--dir", "lx"]);
    let workers = texts_of(&["run", "lx:5", "-q", "--dir", "workers", "--workers", "2"]);
    let resumed = texts_of(&["resume", "lx", "-q"]).0;
    let status = texts_of(&["status", "lx"]).0;
    for table in [&table, &workers.0, &resumed, &status] {
        assert!(
            table.contains("\ndirected diameter: 11\n") && table.contains(&format!("\nnote: {clause} (")),
            "{table}"
        );
        assert!(!table.contains("God's number"), "{table}");
    }
    assert!(err.starts_with(&warning) && workers.1.starts_with(&warning), "{err}");
    let half = texts_of(&["run", "lx:5", "-q", "--dir", "half", "--max-depth", "4"]).0;
    assert!(half.contains("not complete") && half.contains(clause), "{half}");
    let labelled = texts_of(&["run", "lx:5", "-q", "--dir", "labelled", "--track", "0"]).0;
    assert!(labelled.contains("\nlargest directed distance: "), "{labelled}");

    for format in ["html", "md", "latex", "oeis", "json", "svg"] {
        let report = texts_of(&["report", "lx", "--format", format]).0;
        assert!(!report.contains("God's number") && !report.contains("God&#39;s number"), "{report}");
        let says = if format == "svg" { "states by distance, one way" } else { clause };
        assert!(report.contains(says), "{format}: {report}");
        if ["html", "md", "latex"].contains(&format) {
            assert!(report.contains("directed diameter"), "{format}: {report}");
        }
    }
    for command in [
        &["status", "lx", "--json"][..],
        &["report", "lx", "--format", "json"],
        &["plan", "lx:5", "--json", "-q"],
    ] {
        let told = json_of(command);
        assert_eq!(told["inverse_closed"], false, "{command:?}");
        assert!(
            told["notes"][0].as_str().is_some_and(|note| note.starts_with(clause)),
            "{command:?}: {told}"
        );
    }
    let env = "echo $FATHOM_INVERSE_CLOSED > closed";
    texts_of(&["resume", "lx", "-q", "--on-done", env]);
    assert_eq!(std::fs::read_to_string(path.join("closed")).unwrap(), "false\n");

    // With the inverses the same pieces have a God's number, and so does a ring with a free move that makes a
    // turn its inverse.
    let ring = "degree = 4\n[moves]\nR = \"(1,2,3,4)\"\n[free]\nx = \"(1,3)\"\n";
    std::fs::write(path.join("ring.toml"), ring).unwrap();
    for (name, puzzle) in
        [("lrx", &["lrx:5"][..]), ("single", &["lx:5", "--metric", "single"]), ("ring", &["ring.toml"])]
    {
        let (table, err) = texts_of(&[&["run", "-q", "--dir", name][..], puzzle].concat());
        assert!(table.contains("\nGod's number: ") && !table.contains("one way"), "{table}");
        assert_eq!(err, "");
        let told = json_of(&["status", name, "--json"]);
        assert_eq!(
            (&told["inverse_closed"], told["notes"].as_array().unwrap().len()),
            (&Value::Bool(true), 0)
        );
        for format in ["html", "md", "latex", "oeis", "svg"] {
            let report = texts_of(&["report", name, "--format", format]).0;
            assert!(!report.contains("one way"), "{format}: {report}");
        }
    }
    let compared = fathom().args(["compare", "lx", "single", "--json"]).current_dir(path).output().unwrap();
    assert!(texts(&compared).0.contains(r#""field":"inverse_closed""#), "{}", texts(&compared).0);
}
