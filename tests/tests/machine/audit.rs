//! `fathom audit`: what it proves, what it finds, and what it reports as unchecked.

use fathom_layer::{Digest, LayerDigest, run_digest};
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::forge::{checksums, exchange_cosets, move_state};
use fathom_tests::{fathom, json, texts};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples");

/// A puzzle with a free move: the whole ring is turned by hand.
const RING: &str = "name = \"ring\"\ndegree = 6\n[moves]\nU = \"(1,2,3)\"\n\"U'\" = \"(1,3,2)\"\n[free]\nr = \"(1,2,3,4,5,6)\"\n";

struct Run(tempfile::TempDir);

impl Run {
    fn new(space: &[&str]) -> Self {
        let run = Self(fathom_tests::tempdir().unwrap());
        fs::write(run.path("ring.toml"), RING).unwrap();
        let arguments = [&["run"], space, &["--dir", "run", "-q", "--json"]].concat();
        json(&fathom().args(arguments).current_dir(run.0.path()).output().unwrap());
        run
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn audit(&self, more: &[&str]) -> (Option<i32>, Value) {
        let arguments = [&["audit", "run", "--json"], more].concat();
        let output = fathom().args(&arguments).current_dir(self.0.path()).output().unwrap();
        let (out, err) = texts(&output);
        let said =
            serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}{err}"));
        (output.status.code(), said)
    }

    fn refuses(&self, more: &[&str], says: &str) {
        let arguments = [&["audit", "run"], more].concat();
        let output = fathom().args(&arguments).current_dir(self.0.path()).output().unwrap();
        let (out, err) = texts(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
    }

    /// Makes run.db agree with the present file of the only shard of a layer.
    fn commit(&self, depth: u32) {
        commit(&self.path("run"), depth, &self.path(&format!("run/layers/d{depth:03}/s00000.layer")));
    }
}

/// Makes run.db agree with a file that holds the only shard of a layer.
fn commit(run: &Path, depth: u32, file: &Path) {
    let mut digest = LayerDigest::new(depth);
    digest.add(&checksums(file));
    let digest = digest.finish();
    let database = rusqlite::Connection::open(run.join("run.db")).unwrap();
    let set = |sql: &str, digest: Digest, depth: u32| {
        assert_eq!(database.execute(sql, (&digest.0[..], depth)).unwrap(), 1);
    };
    set("UPDATE shard SET digest = ?1 WHERE depth = ?2", digest, depth);
    set("UPDATE layer SET digest = ?1 WHERE depth = ?2", digest, depth);
    let mut query = database.prepare("SELECT digest FROM layer ORDER BY depth").unwrap();
    let rows = query.query_map([], |row| Ok(Digest(row.get(0)?))).unwrap();
    let digests: Vec<Digest> = rows.collect::<Result<_, _>>().unwrap();
    for to in depth as usize..digests.len() {
        let digest = run_digest(&digests[..=to]);
        set("UPDATE layer SET run_digest = ?1 WHERE depth = ?2", digest, to as u32);
    }
}

fn example(name: &str) -> String {
    Path::new(EXAMPLES).join(name).to_str().unwrap().to_owned()
}

/// Boards, labels, orientations, moves without inverses, guards, limits and free moves are each proven, with
/// nothing left unchecked.
#[test]
fn exhaustive_audit_proves_small_spaces() {
    let (two_colours, bandaged) = (example("two-colours.toml"), example("bandaged.toml"));
    let limited = example("limited.toml");
    for space in [
        &["2x4"][..],
        &["2x3", "--metric", "single"],
        &["2x3+flip"],
        &["2x4", "--labels", "0,0,0,1,1,1,2,2"],
        &["3x3", "--track", "0,4"],
        &["burnt-pancake:4"],
        &["lx:6"],
        &[&two_colours],
        &[&bandaged],
        &[&limited],
        &["ring.toml"],
    ] {
        let run = Run::new(&[space, &["--keep", "all"]].concat());
        let (code, found) = run.audit(&["--exhaustive"]);
        assert_eq!(
            (code, &found["proof"], &found["complete"]),
            (Some(0), &true.into(), &true.into()),
            "{space:?}: {found}"
        );
        for layer in found["layers"].as_array().unwrap() {
            assert_eq!(layer["checked"], layer["states"], "{space:?}: {found}");
        }
        assert_eq!(found["unchecked"].as_array().unwrap().len(), 0);
        // Samples agree, too. Layers smaller than the sample are checked completely.
        let (code, found) = run.audit(&["--samples", "50", "--seed", "1"]);
        assert_eq!((code, &found["wrong"], &found["proof"]), (Some(0), &0.into(), &false.into()), "{found}");
        let is_guarded = space[0] == bandaged || space[0] == limited;
        assert_eq!(found["at_large"].is_null(), is_guarded, "{found}");
        assert_eq!(found["unchecked"].as_array().unwrap().len(), usize::from(is_guarded), "{found}");
        if !is_guarded {
            assert_eq!(found["at_large"]["in_layers"], 50, "{found}");
        }
    }
}

/// Words of the search may depend on how the puzzle is held, which an audit does not use.
#[test]
fn puzzles_with_two_ways_to_hold_them_are_proven() {
    let orbits = "{ name = \"C\", cells = 1, orientations = 2 }, { name = \"D\", cells = 1 }, { name = \"B\", cells = 2 }";
    let run = Run(fathom_tests::tempdir().unwrap());
    fs::write(run.path("held.toml"), format!("orbits = [{orbits}]\nalways = [2]\n[moves]\nm = \"(3,4)\"\n"))
        .unwrap();
    let arguments = ["run", "held.toml", "--keep", "all", "--dir", "run", "-q", "--json"];
    let found = json(&fathom().args(arguments).current_dir(run.0.path()).output().unwrap());
    assert_eq!(found["counts"], serde_json::json!([1, 1]));
    let (code, found) = run.audit(&["--exhaustive"]);
    assert_eq!((code, &found["proof"]), (Some(0), &true.into()), "{found}");
}

/// An audit proves the committed layers of an unfinished run.
#[test]
fn layers_of_an_unfinished_run_are_proven() {
    for space in ["2x4", "lx:6", "burnt-pancake:4"] {
        let run = Run::new(&[space, "--keep", "all", "--max-depth", "3"]);
        let (code, found) = run.audit(&["--exhaustive"]);
        let said = (&found["proof"], &found["complete"]);
        assert_eq!((code, said), (Some(0), (&true.into(), &false.into())), "{found}");
        let (code, found) = run.audit(&["--samples", "300", "--seed", "4"]);
        assert_eq!((code, &found["wrong"]), (Some(0), &0.into()), "{found}");
        assert!(found["at_large"]["in_layers"].as_u64().unwrap() < 300, "{found}");
    }
}

#[test]
fn with_two_layers_some_statements_are_not_checked() {
    let run = Run::new(&["3x3"]);
    let (code, found) = run.audit(&["--samples", "700", "--seed", "2"]);
    assert_eq!((code, &found["wrong"]), (Some(0), &0.into()), "{found}");
    let depths: Vec<u64> =
        found["layers"].as_array().unwrap().iter().map(|layer| layer["depth"].as_u64().unwrap()).collect();
    assert_eq!(depths.len(), 2);
    let unchecked = found["unchecked"].to_string();
    assert!(unchecked.contains("whose layers were not kept: 0 to"), "{unchecked}");
    assert!(
        unchecked.contains("that states at these depths have a predecessor at the previous depth"),
        "{unchecked}"
    );
    // 1 - 0.001^(1/700).
    let excluded = found["at_large"]["excluded"].as_f64().unwrap();
    assert!((excluded - 0.009_819).abs() < 1e-5, "{excluded}");
    run.refuses(&["--exhaustive"], "auditing every state needs all layers");
    run.refuses(&["--samples", "0"], "0 is not in 1..");
    run.refuses(&["--exhaustive", "--samples", "3"], "cannot be used with");
    run.refuses(&["--memory", "1KiB"], "but only 1.00 KiB may be used");
    // The same seed selects the same states.
    assert_eq!(run.audit(&["--samples", "700", "--seed", "2"]).1, found);
}

/// A layer file has one state in the wrong place, and the journal agrees with the file. `verify` cannot find
/// the error; an audit does.
#[test]
fn misplaced_state_is_found() {
    // The last two layers are not compressed.
    for (max_depth, depths) in [("5", [4, 5]), ("8", [7, 8])] {
        for depth in depths {
            let run = Run::new(&["2x4", "--metric", "single", "--keep", "all", "--max-depth", max_depth]);
            move_state(&run.path(&format!("run/layers/d{depth:03}/s00000.layer")), 3);
            run.commit(depth);
            let (code, found) = run.audit(&["--exhaustive"]);
            assert_eq!((code, &found["proof"]), (Some(1), &false.into()), "{depth}: {found}");
            assert!(found["wrong"].as_u64().unwrap() > 0);
            // A sample as large as the layers checks every stored state.
            let (code, found) = run.audit(&["--samples", "20000", "--seed", "3"]);
            assert_eq!(code, Some(1), "{depth}: {found}");
            let exhaustive = ["audit", "run", "--exhaustive"];
            let output = fathom().args(exhaustive).current_dir(run.0.path()).output().unwrap();
            let (out, err) = texts(&output);
            assert_eq!((output.status.code(), err.as_str()), (Some(1), ""), "{out}");
            assert!(out.contains("the run is wrong: "), "{out}");
        }
    }
}

/// With only two layers kept, the remaining checks still find the misplaced state.
#[test]
fn misplaced_state_is_found_with_two_layers() {
    let run = Run::new(&["3x3", "--max-depth", "5"]);
    move_state(&run.path("run/layers/d005/s00000.layer"), 3);
    run.commit(5);
    let (code, found) = run.audit(&["--samples", "20000", "--seed", "3"]);
    assert_eq!(code, Some(1), "{found}");
    let reasons = found["contradictions"].to_string();
    assert!(reasons.contains("no move leads to it from depth 4"), "{reasons}");
}

#[test]
fn audit_without_a_run_is_refused() {
    let run = Run::new(&["2x3"]);
    let output = fathom().args(["audit", "nowhere"]).current_dir(run.0.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("nowhere is not a run directory"));
    assert!(!run.path("nowhere").exists());
}

/// An audit reads the layers of a served run in the stores of the workers.
#[test]
fn layers_held_by_workers_are_audited() {
    let space = ["2x6", "--metric", "single", "--shards", "16"];
    let mut cluster = Cluster::new(&space, &["--keep", "all", "--audit", "0"]);
    cluster.stands_still("here", 7);
    let found = json(&cluster.ask("audit", &["--samples", "60", "--json"]));
    assert_eq!(
        (&found["wrong"], &found["complete"], &found["proof"]),
        (&0.into(), &false.into(), &false.into())
    );
    let known: Value = undisturbed(&space)["counts"].clone();
    let layers = found["layers"].as_array().unwrap();
    assert_eq!(layers.len(), 7);
    for (depth, layer) in layers.iter().enumerate() {
        assert_eq!(layer["states"], known[depth], "{depth}");
        // The first layers have fewer states than the sample size.
        assert!(
            if depth < 2 { layer["all"] == true } else { layer["all"] == true || layer["checked"] == 60 },
            "{layer}"
        );
    }
    assert_eq!(found["at_large"]["checked"], 60);
    let refused = cluster.ask("audit", &["--exhaustive"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    // The audit does not read a file that differs from the reported one.
    let (depth, shard, path) = cluster.files("here").into_iter().rfind(|(depth, _, _)| *depth == 6).unwrap();
    exchange_cosets(&path);
    let (_, err) = texts(&cluster.ask("audit", &["--samples", "2000"]));
    assert!(err.contains(&format!("cannot read shard {shard} of depth {depth}: ")), "{err}");
    // No worker holds the files any more.
    cluster.kill(&["here"]);
    cluster.until_worker_is("here", "lost");
    let output = cluster.ask("audit", &["--samples", "60"]);
    let (out, err) = texts(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains("no connected worker has shard"), "{err}");
}

/// One state is in the wrong place, both in a worker's file and in the coordinator's journal.
#[test]
fn wrong_layer_held_by_a_worker_is_found() {
    let mut cluster = Cluster::new(&["3x3", "--shards", "1"], &["--keep", "all", "--audit", "0"]);
    cluster.stands_still("w1", 6);
    // The processes that know the original file have exited when the file is changed.
    cluster.signal_coordinator(libc::SIGKILL);
    cluster.coordinator_dies();
    cluster.kill(&["w1"]);
    let (depth, _, file) = cluster.files("w1").into_iter().rfind(|(depth, _, _)| *depth == 5).unwrap();
    move_state(&file, 3);
    commit(&cluster.run(), depth, &file);
    cluster.serve();
    cluster.join(&["w1"]);
    let verified = cluster.ask("verify", &[]);
    assert!(verified.status.success(), "{verified:?}");
    let output = cluster.ask("audit", &["--samples", "20000"]);
    let (out, err) = texts(&output);
    assert_eq!((output.status.code(), err.as_str()), (Some(1), ""), "{out}");
    assert!(out.contains("the run is wrong: "), "{out}");
}

#[test]
fn run_without_layers_cannot_be_audited() {
    let run = Run::new(&["3x3"]);
    let removed = fathom().args(["remove", "run"]).current_dir(run.0.path()).output().unwrap();
    assert!(removed.status.success());
    run.refuses(&[], "so there is nothing to audit");
}

/// The piece turns by one of 256 steps, so each depth has one state.
#[test]
fn piece_with_256_orientations() {
    let directory = fathom_tests::tempdir().unwrap();
    let dial = "orbits = [{ name = \"dial\", cells = 1, orientations = 256 }]\n[moves]\nR = \"(1+1)\"\n";
    fs::write(directory.path().join("dial.toml"), dial).unwrap();
    let asked = |arguments: &[&str]| {
        json(&fathom().args(arguments).arg("--json").current_dir(directory.path()).output().unwrap())
    };
    let found = asked(&["run", "dial.toml", "--keep", "all", "--dir", "run", "-q"]);
    assert_eq!(found["counts"], Value::from(vec![1; 256]));
    assert_eq!(asked(&["audit", "run", "--exhaustive"])["proof"], true);
}
