//! `fathom audit` of runs by lists: what it proves, what it finds, and what it reports as unchecked.

use fathom_engine::directory::RunDirectory;
use fathom_layer::{Digest, LayerDigest, LocalDisk, run_digest};
use fathom_lists::{Identity, ListFile, ListSpace, ListWriter};
use fathom_tests::{fathom, tempdir, texts};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples");

/// A ring that is turned by hand, with starts, and with one way moves.
const RING: &str = "name = \"ring\"\ndegree = 6\n[moves]\nU = \"(1,2,3)\"\n[free]\nr = \"(1,2,3,4,5,6)\"\n[solved]\nstates = [\"(1,2)\", \"(1,3)\"]\n";

struct Run(tempfile::TempDir);

impl Run {
    /// Lists a space, with one file for each layer.
    fn new(space: &[&str]) -> Self {
        let run = Self(tempdir().unwrap());
        fs::write(run.path("ring.toml"), RING).unwrap();
        let options = ["--engine", "lists", "--shards", "1", "--dir", "run", "-q"];
        let arguments = [&["run"], space, &options].concat();
        let output = fathom().args(&arguments).current_dir(run.0.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", texts(&output).1);
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

    fn refuses(&self, more: &[&str], code: i32, says: &str) {
        let arguments = [&["audit", "run"], more].concat();
        let output = fathom().args(&arguments).current_dir(self.0.path()).output().unwrap();
        let (out, err) = texts(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(code), ""), "{arguments:?}: {err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
    }

    /// Replaces the states of a layer as `change` says, with valid checksums, and makes run.db agree.
    fn forge(&self, depth: u32, change: impl FnOnce(&mut Vec<u64>)) {
        let run = RunDirectory::open_for_reading(&self.path("run")).unwrap();
        let listed = run.space.listed().unwrap();
        let space = ListSpace::<u64>::new(&listed.puzzle, &listed.labels);
        let identity = Identity { fingerprint: run.manifest.fingerprint, depth, shard: 0 };
        let file = self.path(&format!("run/layers/d{depth:03}/s00000.list"));
        let mut states = Vec::new();
        ListFile::open(&space, &file, identity).unwrap().read_block(&space, 0, &mut states).unwrap();
        change(&mut states);
        let mut writer = ListWriter::create(&space, &LocalDisk, &file, identity).unwrap();
        states.iter().for_each(|state| writer.push(state).unwrap());
        let written = writer.finish().unwrap();
        let mut digest = LayerDigest::new(depth);
        digest.add(&[written.digest]);
        commit(&self.path("run"), depth, (written.states, digest.finish()));
    }
}

/// Makes run.db agree with a layer of one shard.
fn commit(run: &Path, depth: u32, (states, digest): (u64, Digest)) {
    let database = rusqlite::Connection::open(run.join("run.db")).unwrap();
    for table in ["shard", "layer"] {
        let sql = format!("UPDATE {table} SET digest = ?1, states = ?2, stored = ?2 WHERE depth = ?3");
        assert_eq!(database.execute(&sql, (&digest.0[..], states as i64, depth)).unwrap(), 1);
    }
    // Each state is a class of its own.
    database
        .execute("UPDATE layer SET classes = states WHERE depth = ?1 AND classes IS NOT NULL", [depth])
        .unwrap();
    let mut query = database.prepare("SELECT digest FROM layer ORDER BY depth").unwrap();
    let rows = query.query_map([], |row| Ok(Digest(row.get(0)?))).unwrap();
    let digests: Vec<Digest> = rows.collect::<Result<_, _>>().unwrap();
    for to in depth as usize..digests.len() {
        let digest = run_digest(&digests[..=to]);
        let sql = "UPDATE layer SET run_digest = ?1 WHERE depth = ?2";
        assert_eq!(database.execute(sql, (&digest.0[..], to as u32)).unwrap(), 1);
    }
}

/// Boards, labels, orientations, moves without inverses, guards, limits, free moves and several starts.
#[test]
fn audit_proves_small_lists() {
    let example = |name: &str| format!("{EXAMPLES}/{name}");
    let [colours, bandaged, limited, free] =
        ["two-colours.toml", "bandaged.toml", "limited.toml", "2x2x2-free.toml"].map(example);
    for (space, at_large) in [
        (&["2x4"][..], true),
        (&["2x4", "--labels", "0,0,0,1,1,1,2,2"], true),
        (&["2x3", "--solved-by", "V1"], false),
        (&["burnt-pancake:4"], true),
        (&["lx:6"], true),
        (&[&colours], true),
        (&[&bandaged], false),
        (&[&limited], false),
        (&["ring.toml"], false),
        (&[&free, "--max-depth", "3"], true),
        (&["3x3x3", "--max-depth", "3"], true),
    ] {
        let run = Run::new(&[space, &["--keep", "all"]].concat());
        let (code, found) = run.audit(&["--exhaustive"]);
        assert_eq!((code, &found["proof"]), (Some(0), &true.into()), "{space:?}: {found}");
        assert_eq!(found["complete"], !space.contains(&"--max-depth"), "{space:?}: {found}");
        for layer in found["layers"].as_array().unwrap() {
            assert_eq!(layer["checked"], layer["states"], "{space:?}: {found}");
        }
        let (code, found) = run.audit(&["--samples", "50", "--seed", "1"]);
        assert_eq!((code, &found["wrong"], &found["proof"]), (Some(0), &0.into(), &false.into()), "{found}");
        assert_eq!(found["at_large"].is_object(), at_large, "{space:?}: {found}");
        assert_eq!(found["unchecked"].as_array().unwrap().len(), usize::from(!at_large), "{found}");
        if found["complete"] == true && at_large {
            assert_eq!(found["at_large"]["in_layers"], 50, "{found}");
        }
        // The same seed selects the same states.
        assert_eq!(run.audit(&["--samples", "50", "--seed", "1"]).1, found);
    }
}

#[test]
fn audit_of_two_lists_leaves_some_statements_unchecked() {
    let run = Run::new(&["3x3"]);
    let (code, found) = run.audit(&["--samples", "700", "--seed", "2"]);
    assert_eq!((code, &found["wrong"]), (Some(0), &0.into()), "{found}");
    assert_eq!(found["layers"].as_array().unwrap().len(), 2);
    assert!(found["unchecked"].to_string().contains("whose layers were not kept: 0 to 6"), "{found}");
    run.refuses(&["--exhaustive"], 2, "auditing every state needs all layers");
}

/// The file of a layer lacks a state, or has one that belongs to the layer before it, or has a state that is not one of
/// the space; the journal agrees with the file.
#[test]
fn audit_finds_forged_lists() {
    let begin = |more: &[&str]| Run::new(&[&["2x3", "--metric", "single", "--keep", "all"], more].concat());
    let lacks = |run: &Run| {
        run.forge(4, |states| {
            states.remove(states.len() / 2);
        });
    };
    let deeper = |run: &Run| {
        let mut moved = 0;
        run.forge(3, |states| moved = states.remove(states.len() / 2));
        run.forge(4, |states| {
            states.push(moved);
            states.sort_unstable();
        });
    };
    // The file has three bits for each of six cells: the piece on the first cell is there twice.
    let foreign = |run: &Run| {
        run.forge(4, |states| {
            states[7] ^= 1 << 61;
            states.sort_unstable();
        });
    };
    type Forgery<'a> = (&'a str, &'a dyn Fn(&Run), &'a str);
    let forgeries: [Forgery<'_>; 3] = [
        ("lacks", &lacks, "but no layer has it"),
        ("deeper", &deeper, "at depth"),
        ("foreign", &foreign, "but no layer has it"),
    ];
    for (name, forge, says) in forgeries {
        for more in [&[][..], &["--max-depth", "5"]] {
            let run = begin(more);
            forge(&run);
            for how in [&["--exhaustive"][..], &["--samples", "1000", "--seed", "3"]] {
                let (code, found) = run.audit(how);
                assert_eq!((code, &found["proof"]), (Some(1), &false.into()), "{name}: {found}");
                assert!(found["contradictions"].to_string().contains(says), "{name}: {found}");
            }
        }
    }
    // One state twice: neither an error of distances nor one of counts.
    let run = begin(&["--max-depth", "5"]);
    run.forge(4, |states| states.insert(7, states[7]));
    run.refuses(&["--exhaustive"], 1, "a state is out of place");
}

/// A start state is missing, or another state is taken for one.
#[test]
fn audit_finds_wrong_starts_of_lists() {
    for change in [0, 1] {
        let run = Run::new(&["2x3", "--solved-by", "V1,V2,V3", "--keep", "all"]);
        run.forge(0, |states| match change {
            0 => states.truncate(states.len() - 1),
            _ => states.reverse(),
        });
        match change {
            0 => {
                let (code, found) = run.audit(&["--exhaustive"]);
                assert_eq!(code, Some(1), "{found}");
                let reasons = found["contradictions"].to_string();
                assert!(reasons.contains("it is solved, but is not at depth 0"), "{reasons}");
            }
            _ => run.refuses(&["--exhaustive"], 1, "out of place"),
        }
    }
}
