//! Nonsense, and run directories that are not what they should be: a message that names the thing and the way out, an
//! exit code that says whose fault it is, and nothing written.

use fathom_tests::{fathom, texts};
use std::fs;
use std::path::{Path, PathBuf};

/// Runs `fathom` in a directory; returns exit code, standard output and error.
fn in_directory(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = fathom().args(arguments).current_dir(directory).output().unwrap();
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

#[test]
fn nonsense_is_refused_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (&["run", "3y4"][..], "\"3y4\" names no space: a board is written as ROWSxCOLUMNS"),
        (&["run", "0x3"], "the board \"0x3\" has no cells"),
        (&["run", "9x9"], "has 81 cells, more than 64"),
        (&["run", "3x4", "--metric", "double"], "there is no metric \"double\": use 'multi'"),
        (
            &["run", "3x3", "--labels", "0,1"],
            "--labels: the label list has 2 entries, but the puzzle has 9 tiles",
        ),
        (&["run", "3x3", "--labels", "0,1,x,0,0,0,0,0,0"], "\"x\" is no label"),
        (&["run", "3x3", "--track", "0-9"], "--track: tile 9 is off the board"),
        (&["run", "3x3", "--track", "2-1"], "\"2-1\" names no tiles"),
        (&["run", "3x3", "--track", "0", "--labels", "0"], "cannot be used with"),
        (&["run", "3x3", "--shards", "1000"], "cannot be cut into 1000 shards: ask for at most"),
        (&["run", "3x3", "--shards", "0"], "0 is not in 1.."),
        (&["run", "3x3", "--threads", "0"], "0 is not in 1.."),
        (&["run", "3x3", "--kernel", "magic"], "kernels are 'reference' and 'portable'"),
        (&["run", "3x3", "--keep", "some"], "layers to keep are 'last' or 'all'"),
        (&["run", "5x5"], "7755605021665492992000000 states, too many to enumerate"),
        (&["run", "8x8"], "choose a smaller board, or fewer distinct tiles with --track or --labels"),
        (&["plan", "5x5"], "too many to enumerate"),
        (&["resume", "nowhere"], "nowhere is no run directory"),
        (&["status", "nowhere"], "nowhere is no run directory"),
        (&["verify", "nowhere"], "nowhere is no run directory"),
        (&["walk"], "unrecognized subcommand"),
    ] {
        let (code, out, err) = in_directory(directory.path(), arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
        assert_eq!(err.matches("error:").count(), 1, "{err}");
        assert_eq!(out, "", "{arguments:?}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{arguments:?} left something behind");
    }
}

#[test]
fn a_space_too_large_for_the_disk_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    // 18! states under 72 symmetries, a bit each, three layers: more than 30 terabytes.
    let (code, _, err) = in_directory(directory.path(), &["run", "3x6"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("3x6-multi needs up to") && err.contains("too few: make room"), "{err}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    // Up to a depth it fits.
    let (code, _, err) = in_directory(directory.path(), &["run", "3x3", "--max-depth", "2", "-q"]);
    assert_eq!(code, Some(0), "{err}");
}

/// A directory with the run 3x3 up to depth 5, all layers kept.
struct HalfRun(tempfile::TempDir);

impl HalfRun {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let arguments = ["run", "3x3", "--dir", "run", "--keep", "all", "--max-depth", "5", "-q"];
        let (code, out, err) = in_directory(directory.path(), &arguments);
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains("not complete: 34,727 of 181,440 states visited"), "{out}");
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("run").join(name)
    }

    fn fathom(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        in_directory(self.0.path(), arguments)
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.path(name)).unwrap();
        change(&mut bytes);
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Every file but the log with its contents.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(path: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, found);
                } else if !path.ends_with("log.jsonl") {
                    found.push((path.clone(), fs::read(&path).unwrap()));
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.path(""), &mut found);
        found.sort();
        found
    }

    /// Has a command fail, and shows that it changed nothing.
    fn refuses(&self, arguments: &[&str], expected_code: i32, says: &str) {
        let before = self.contents();
        let (code, out, err) = self.fathom(arguments);
        assert_eq!(code, Some(expected_code), "{arguments:?}: {err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
        assert_eq!(out, "");
        assert!(self.contents() == before, "{arguments:?} changed the run's files");
    }
}

const LAST_LAYER: &str = "layers/d005/s00000.layer";

#[test]
fn another_run_in_the_directory() {
    let half = HalfRun::new();
    half.refuses(
        &["run", "3x4", "--dir", "run"],
        2,
        "run holds the run 3x3-multi, not 3x4-multi: name another",
    );
    half.refuses(&["run", "3x3", "--metric", "single", "--dir", "run"], 2, "not 3x3-single");
    half.refuses(&["run", "3x3", "--track", "0", "--dir", "run"], 2, "not 3x3-multi-abbbbbbbb");
    half.refuses(&["run", "3x3", "--shards", "2", "--dir", "run"], 2, "is cut into 1 shards, not 2");
    half.refuses(&["run", "3x3", "--keep", "last", "--dir", "run"], 2, "keeps the layers 'all', not 'last'");
    // And the right one goes on.
    let (code, out, err) = half.fathom(&["run", "3x3", "--dir", "run", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("\"complete\":true"));
}

#[test]
fn a_directory_that_holds_something_else() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("thesis.tex"), "months of work").unwrap();
    let (code, _, err) = in_directory(directory.path(), &["run", "3x3", "--dir", "."]);
    assert_eq!(code, Some(2));
    assert!(err.contains("holds something else than a run; it was left as it is"), "{err}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn damaged_layer_files() {
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let damage: [(&str, Change<'_>); 5] = [
        ("is damaged at coset", &|b| {
            let at = b.len() - 100;
            b[at] ^= 4;
        }),
        ("has a damaged header", &|b| b[100] ^= 1),
        ("has a damaged directory", &|b| b[300] ^= 1),
        ("was truncated or overwritten", &|b| b.truncate(5000)),
        ("has layer format 9, and this version of Fathom reads up to 1", &|b| b[8] = 9),
    ];
    for (says, change) in damage {
        let half = HalfRun::new();
        half.change(LAST_LAYER, change);
        half.refuses(&["resume", "run", "-q"], 1, says);
        half.refuses(&["verify", "run"], 1, says);
        half.refuses(&["verify", "run"], 1, LAST_LAYER);
    }
    let half = HalfRun::new();
    fs::remove_file(half.path(LAST_LAYER)).unwrap();
    half.refuses(&["resume", "run", "-q"], 1, "cannot open run/layers/d005/s00000.layer");
}

#[test]
fn a_whole_file_with_wrong_states_is_found_by_verify() {
    // Another run's layer with its checksums in order.
    let (half, other) = (HalfRun::new(), HalfRun::new());
    fs::copy(other.path("layers/d002/s00000.layer"), half.path("layers/d003/s00000.layer")).unwrap();
    half.refuses(&["verify", "run"], 1, "does not belong here: its depth is 2, expected 3");
}

#[test]
fn damaged_run_files() {
    let half = HalfRun::new();
    fs::remove_file(half.path("run.db")).unwrap();
    for command in ["resume", "status", "verify"] {
        half.refuses(&[command, "run"], 1, "run/run.db is missing");
    }
    half.refuses(
        &["run", "3x3", "--dir", "run"],
        1,
        "put it back from a copy, or remove run and begin again",
    );

    let half = HalfRun::new();
    half.change("run.db", |b| b[..100].fill(0));
    half.refuses(&["resume", "run"], 1, "cannot use run/run.db");

    let half = HalfRun::new();
    let other = tempfile::tempdir().unwrap();
    in_directory(other.path(), &["run", "2x3", "--dir", "run", "-q"]);
    fs::copy(other.path().join("run/run.db"), half.path("run.db")).unwrap();
    half.refuses(&["resume", "run"], 1, "it is the journal of another run");

    let half = HalfRun::new();
    half.change("run.toml", |b| {
        *b = String::from_utf8(b.clone()).unwrap().replace("3x3", "3x2").into_bytes()
    });
    for command in ["resume", "status", "verify"] {
        half.refuses(&[command, "run"], 1, "cannot use run/run.toml");
    }

    let half = HalfRun::new();
    half.change("run.toml", |b| {
        *b = String::from_utf8(b.clone()).unwrap().replace("format = 1", "format = 7").into_bytes()
    });
    half.refuses(&["status", "run"], 1, "it has format 7, and this version of Fathom reads up to 1");
}
