//! Invalid arguments and unusable run directories: the message names the thing and the way out, the exit code
//! tells whose fault it is, and nothing is written.

use fathom_engine::directory::RunDirectory;
use fathom_engine::run::{Depth, ShardId, Task};
use fathom_tests::layers::layer_files;
use fathom_tests::{fathom, fathom_worker, texts};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A puzzle whose moves have guards.
const BANDAGED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/bandaged.toml");

/// Runs `fathom` in a directory. Returns the exit code, standard output and standard error.
fn in_directory(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = fathom().args(arguments).current_dir(directory).output().unwrap();
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

#[test]
fn unknown_failpoint_is_refused() {
    let commands: [(Command, &[&str]); 2] =
        [(fathom(), &["verify", "nowhere"]), (fathom_worker(), &["verify", "--store", "nowhere"])];
    for (mut command, arguments) in commands {
        command.args(arguments);
        for (text, says) in [("writing", "which is not POINT:N"), ("writting:1", "there are committed, ")] {
            let output = command.env("FATHOM_FAILPOINT", text).output().unwrap();
            let (_, err) = texts(&output);
            assert_eq!(output.status.code(), Some(2), "{err}");
            assert!(
                err.contains(&format!("FATHOM_FAILPOINT is \"{text}\", ")) && err.contains(says),
                "{err}"
            );
        }
    }
}

#[test]
fn invalid_arguments_are_refused_and_leave_nothing_behind() {
    let directory = fathom_tests::tempdir().unwrap();
    for (arguments, says) in [
        (&["run", "3y4"][..], "unknown puzzle \"3y4\""),
        (&["run", "0x3"], "the board \"0x3\" has no cells"),
        (&["run", "9x9"], "has 81 cells, more than 64"),
        (&["run", "1x27"], "1x27 multi has only 27 states, but more pieces that are told apart than"),
        (&["run", "1x27"], "'--track 0' tells apart the pieces that determine where all others are"),
        (&["run", "3x3", "--dir", "d", "--store", "d/s"], "the store d/s is in the run's directory"),
        (&["run", "3x4", "--metric", "double"], "unknown metric \"double\": use 'multi'"),
        (
            &["run", "3x3", "--labels", "0,1"],
            "--labels: the label list has 2 entries, but the puzzle has 9 tiles",
        ),
        (&["run", "3x3", "--labels", "0,1,x,0,0,0,0,0,0"], "invalid label \"x\""),
        (&["run", "3x3", "--track", "0-9"], "--track: tile 9 is off the board"),
        (&["run", "3x3", "--track", "2-1"], "invalid tiles \"2-1\""),
        (&["run", "3x3", "--track", "0", "--labels", "0"], "cannot be used with"),
        (&["run", "3x3", "--shards", "1000"], "cannot be cut into 1000 shards: ask for at most"),
        (&["run", "3x3", "--shards", "0"], "0 is not in 1.."),
        (&["run", "3x4", "--shards", "20000"], "20000 is not in 1..=16384"),
        (&["run", "4x4", "--kernel", "reference"], "the reference engine needs 38971.7 GiB of memory"),
        (&["run", "3x3", "--threads", "0"], "0 is not in 1.."),
        (
            &["run", "3x3", "--kernel", "magic"],
            "expected 'fastest', 'avx512', 'avx2', 'portable' or 'reference', not",
        ),
        (&["serve", "3x3", "--shared-store", "nowhere"], "no such directory: nowhere. Create it where"),
        (
            &["serve", "3x3", "--listen", "nowhere.invalid:7400"],
            "the name nowhere.invalid has no address here",
        ),
        (&["serve", "3x3", "--listen", "7400"], "no address with a port: give one such as 127.0.0.1:7400"),
        (&["serve", "3x3", "--keys", "nowhere"], "--keys: directory nowhere does not exist"),
        (&["run", "3x3", "--workers", "2", "--memory", "10MiB"], "of memory, and may take 5.00 MiB"),
        (&["solve", "2x3", "0 1; 2 3; 5 4"], "STATE: row 1 has 2 tiles, but rows of the board have 3"),
        (&["run", "3x3", "--keep", "some"], "layers to keep are 'last', 'two' or 'all'"),
        (
            &["run", "5x5"],
            "5x5 multi has 7,755,605,021,665,492,992,000,000 states, too many to search: at one bit per state up to",
        ),
        (&["run", "8x8"], "You can distinguish fewer pieces with --track or --labels; 'fathom solve' finds"),
        (&["plan", "5x5"], "5x5 multi has 7,755,605,021,665,492,992,000,000 states"),
        (&["plan", "3x4", "--workers", "0"], "0 is not in 1.."),
        (
            &["plan", "3x4", "--workers", "2", "--network", "0"],
            "'--network <RATE>': nothing would ever arrive",
        ),
        (&["plan", "3x4", "--workers", "2", "--disk", "0"], "'--disk <RATE>': nothing would ever arrive"),
        (
            &["plan", "3x4", "--workers", "2", "--network", "fast"],
            "\"fast\" is no rate: give a number and a unit",
        ),
        (&["plan", "3x4", "--network", "25G"], "--workers <N>"),
        (
            &["plan", "3x4", "--workers", "2", "--replicas", "3"],
            "2 workers cannot hold 3 replicas of each file",
        ),
        (&["plan", "3x4", "--workers", "2", "--memory", "1MiB"], "of memory, but only 1.00 MiB may be used"),
        (&["plan", "3x3", "--workers", "2", "--shards", "1000"], "cannot be cut into 1000 shards"),
        (&["group", "3y4"], "unknown puzzle \"3y4\""),
        (&["group", "17x16"], "'fathom group' takes boards of up to 16x16"),
        (&["group", "3x3", "--element", ""], "--element: at offset 0: expected a move or '(', found the end"),
        (&["group", "3x3", "--element", "V1*V4"], "unknown move \"V4\". Moves: V1 V2 V3 H1 H2 H3"),
        (&["group", "3x3", "--element", "V1**H1"], "at offset 3: expected a move or '(', found '*'"),
        (&["group", "3x3", "--element", "(V1 H1"], "at offset 0: this '(' is not closed"),
        (
            &["group", "3x3", "--element", "V1^99999999999999999999"],
            "the exponent 99999999999999999999 is too large",
        ),
        (&["group", "3x3", "--element", "(1,2)(2,3)"], "point 2 occurs twice; cycles must be disjoint"),
        (
            &["group", "3x3", "--contains", "(1,10)"],
            "--contains: at offset 3: point 10 is not between 1 and 9",
        ),
        (
            &["group", "3x3", "--contains", "0 1 2"],
            "it has 3 tiles, but the puzzle has 9; tiles are numbered from 0",
        ),
        (
            &["group", "3x3", "--contains", "1 2 3 4 5 6 7 8 9"],
            "there is no tile 9: tiles are numbered 0 to 8",
        ),
        (
            &["group", "2x3", "--element", "0 1;2 3;5 4"],
            "--element: row 1 has 2 tiles, and a row of the board",
        ),
        (&["group", "3x3", "--factor", "0,1,2;3,4,5;6,7,7"], "--factor: tile 7 occurs twice"),
        (
            &["group", "3x3", "--factor", "1,0,2;3,4,5;6,7,8"],
            "--factor: this state cannot be reached: it is an odd permutation, and all generators are even",
        ),
        (
            &["group", "1x6", "--factor", "(1,2)(3,4)", "--json"],
            "it carries the points 1 4, which all moves keep together, to 2 3",
        ),
        (&["group", "3x3", "--factor", "V1", "--element", "V1"], "cannot be used with"),
        (
            &["group", BANDAGED],
            "has moves that are not possible in every state, so they do not generate a group",
        ),
        (
            &["run", BANDAGED, "--metric", "given"],
            "they are not closed under inverses. Add the inverses (--metric single does",
        ),
        (&["run", "lx:6", "--inverse-classes"], "cannot count classes of lx-6-given up to inversion: "),
        (&["run", BANDAGED, "--inverse-classes"], "for pieces that look alike"),
        (&["run", BANDAGED, "--labels", "0,1,2,3,4,5"], "pieces with the same label cannot be distinguished"),
        (
            &["run", "3x3", "--labels", "0,0,0,0,1,1,1,1,1", "--inverse-classes"],
            "for pieces that look alike leave a state's permutation undetermined",
        ),
        (
            &["run", "2x2x2", "--free-rotations", "--labels", "0,0,0,0,0,0,0,0"],
            "has free moves that may change nothing visible",
        ),
        (&["run", "2x2x2", "--watch-states", BANDAGED], "the pieces of 2x2x2 have orientations"),
        (&["group"], "<PUZZLE>"),
        (&["bound", "3y4"], "\"3y4\" names no space"),
        (&["bound", "square1-twist"], "\"square1-twist\" names no space that is bounded"),
        (&["bound", "square1", "--metric", "multi"], "square1 is bounded in the metric 'face'"),
        (&["bound", "3x3", "--metric", "face"], "bounds of boards are in the metrics 'multi' and 'single'"),
        (&["run", "3x3", "--metric", "twist"], "3x3 has no metric 'twist'; only square1 does"),
        (&["plan", "dino", "--free-rotations", "--metric", "face"], "dino-free has no metric 'face'"),
        (
            &["run", "3x4", "--free-rotations"],
            "--free-rotations: \"3x4\" has no free rotations; only 2x2x2, 3x3x3-corners, 3x3x3-edges, dino have them",
        ),
        (&["plan", "3x3x3", "--free-rotations"], "\"3x3x3\" has no free rotations"),
        (&["plan", "square1", "--metric", "twist", "--free-rotations"], "\"square1\" has no free rotations"),
        (&["run", "2x2x2-free"], "unknown puzzle \"2x2x2-free\""),
        (&["run", "2x2x2", "--moves", "U,D"], "unknown move \"D\""),
        (&["run", "2x2x2", "--free-rotations", "--moves", "U,M"], "unknown move \"M\""),
        (&["bound", "square1", "--refine", "3"], "--refine and --upper are not for square1"),
        (&["bound", "square1", "--upper"], "--refine and --upper are not for square1"),
        (&["bound", "2..3", "--by-last-line"], "--by-last-line is for one board"),
        (&["bound", "2x2x2", "--by-last-line"], "--by-last-line is for one board"),
        (&["group", "square1"], "has moves that can be made only in some states"),
        (&["bound", "2..9"], "has 81 cells, more than 64"),
        (&["bound", "8..2"], "\"8..2\" is no range of boards"),
        (&["bound", "3x4", "--metric", "double"], "unknown metric \"double\""),
        (&["bound", "3x4", "--refine", "0"], "0 is not in 1.."),
        (&["bound", "3x4", "--upper", "--time", "0"], "0 is not in"),
        (&["bound", BANDAGED, "--upper"], "moves are not possible in every state"),
        (&["bound", "2x2x2", "--upper", "--chain", "0-3"], "--chain applies only to boards"),
        (&["bound", "3x4", "--time", "5"], "--upper"),
        (&["shapes", "3x3"], "has no shapes to tell of"),
        (&["shapes", "square1", "cube"], "is not a shape"),
        (&["antipodes", "lx:6", "--up-to-inversion"], "the inverse of a move may be no move"),
        (&["bound", "3x4", "--chain", "0-11"], "--upper"),
        (&["bound", "2..3", "--upper", "--chain", "0-3"], "--upper takes a single board"),
        (
            &["bound", "3x4", "--upper", "--chain", "0-3;4-11"],
            "\"4-11\" must contain all tiles of the stage before it",
        ),
        (&["bound", "3x4", "--upper", "--chain", "0-3"], "must contain all tiles, 0-11"),
        (&["bound", "4x4", "--upper", "--chain", "0-15"], "stage 1 needs a table of more than 2^28 entries"),
        (&["resume", "nowhere"], "nowhere is no run directory: No such file or directory"),
        (&["remove", "nowhere"], "cannot remove nowhere: No such file or directory"),
        (&["run", "nowhere.tws"], "nowhere.tws: cannot be read: No such file or directory\n"),
        (&["run", "3x3", "--memory", "-2GiB"], "\"-2GiB\" is not a size"),
        (&["status", "nowhere"], "nowhere is not a run directory"),
        (&["verify", "nowhere"], "nowhere is not a run directory"),
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
fn space_too_large_for_the_disk_is_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    // 18! states under 72 symmetries, one bit each, three layers: more than 30 terabytes.
    let (code, _, err) = in_directory(directory.path(), &["run", "3x6"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("3x6-multi needs up to") && err.contains("too few. Free some space"), "{err}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    // The run fits up to a depth.
    let (code, _, err) = in_directory(directory.path(), &["run", "3x3", "--max-depth", "2", "-q"]);
    assert_eq!(code, Some(0), "{err}");
}

/// A directory with the run 3x3 up to depth 5, with all layers kept.
struct HalfRun(tempfile::TempDir);

impl HalfRun {
    fn new() -> Self {
        let directory = fathom_tests::tempdir().unwrap();
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

    /// Returns every file except the log, with its contents.
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

    /// Asserts that a command fails and changes nothing.
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
fn directory_of_another_run_is_refused() {
    let half = HalfRun::new();
    half.refuses(
        &["run", "3x4", "--dir", "run"],
        2,
        "run holds the run 3x3-multi, not 3x4-multi. Choose another",
    );
    half.refuses(&["run", "3x3", "--metric", "single", "--dir", "run"], 2, "not 3x3-single");
    half.refuses(&["run", "3x3", "--track", "0", "--dir", "run"], 2, "not 3x3-multi-abbbbbbbb");
    half.refuses(&["run", "3x3", "--shards", "2", "--dir", "run"], 2, "was started with 1 shard, not 2");
    half.refuses(
        &["run", "3x3", "--keep", "last", "--dir", "run"],
        2,
        "was started with --keep all, not last",
    );
    let (code, _, err) = half.fathom(&["run", "2x7", "--max-depth", "1", "--dir", "large", "-q"]);
    assert_eq!(code, Some(0), "{err}");
    half.refuses(
        &["run", "2x7", "--max-depth", "1", "--dir", "large", "--inverse-classes"],
        2,
        "large was started without --inverse-classes",
    );
    // The right command continues the run.
    let (code, out, err) = half.fathom(&["run", "3x3", "--dir", "run", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("\"complete\":true"));
}

#[test]
fn directory_with_other_files_is_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    fs::write(directory.path().join("thesis.tex"), "months of work").unwrap();
    let (code, _, err) = in_directory(directory.path(), &["run", "3x3", "--dir", "."]);
    assert_eq!(code, Some(2));
    assert!(err.contains("is not empty and is not a run directory"), "{err}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn damaged_layer_files_are_refused() {
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let damage: [(&str, Change<'_>); 6] = [
        ("is damaged at coset", &|b| {
            let at = b.len() - 100;
            b[at] ^= 4;
        }),
        ("has a damaged header", &|b| b[100] ^= 1),
        ("has a damaged directory", &|b| b[300] ^= 1),
        ("was truncated or overwritten", &|b| b.truncate(5000)),
        // A later format differs in more than its number.
        ("has a damaged header", &|b| b[8] = 9),
        ("has layer format 9, and this version of Fathom reads up to 2", &|b| (b[8], b[100]) = (9, 1)),
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
fn valid_file_with_wrong_states_is_found_by_verify() {
    // A layer of another run, with valid checksums.
    let (half, other) = (HalfRun::new(), HalfRun::new());
    fs::copy(other.path("layers/d002/s00000.layer"), half.path("layers/d003/s00000.layer")).unwrap();
    half.refuses(&["verify", "run"], 1, "does not belong here: its depth is 2, expected 3");
}

#[test]
fn damaged_run_files_are_refused() {
    let half = HalfRun::new();
    fs::remove_file(half.path("run.db")).unwrap();
    for command in ["resume", "status", "verify"] {
        half.refuses(&[command, "run"], 1, "run/run.db is missing");
    }
    half.refuses(
        &["run", "3x3", "--dir", "run"],
        1,
        "restore it from a backup, or remove run and start again",
    );

    let half = HalfRun::new();
    half.change("run.db", |b| b[..100].fill(0));
    half.refuses(&["resume", "run"], 1, "cannot use run/run.db");

    let half = HalfRun::new();
    let other = fathom_tests::tempdir().unwrap();
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
    half.refuses(&["status", "run"], 2, "it has format 7, but this version of Fathom reads format 1");
}

/// Another version may plan or describe a run differently.
#[test]
fn run_of_another_version_names_it() {
    let directory = fathom_tests::tempdir().unwrap();
    let begin = ["run", "2x3", "-q", "--max-depth", "2", "--dir", "run"];
    assert_eq!(in_directory(directory.path(), &begin).0, Some(0));
    let file = directory.path().join("run/run.toml");
    let text = fs::read_to_string(&file).unwrap();
    let of_this = format!("fathom {}", env!("CARGO_PKG_VERSION"));
    let (before, colours) = text.split_once("colouring = [").unwrap();
    let colour = if colours.starts_with('0') { '1' } else { '0' };
    let other =
        format!("{before}colouring = [{colour}{}", &colours[1..]).replacen(&of_this, "fathom 9.8.7", 1);
    assert!(other.contains("fathom 9.8.7"), "{text}");
    fs::write(&file, other).unwrap();
    let (code, out, err) = in_directory(directory.path(), &["resume", "run", "-q"]);
    assert_eq!((code, out.as_str(), err.lines().count()), (Some(1), "", 1), "{err}");
    assert!(err.contains("the run was started by fathom 9.8.7"), "{err}");
    assert!(err.contains("that version can finish the run"), "{err}");
}

/// Changes `run.db` as another program might.
fn alter(half: &HalfRun, sql: &str) {
    let database = rusqlite::Connection::open(half.path("run.db")).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    assert_eq!(database.execute(sql, []).unwrap(), 1, "{sql}");
}

#[test]
fn inconsistent_journal_is_refused() {
    for (sql, says) in [
        (
            "UPDATE layer SET digest = zeroblob(32) WHERE depth = 2",
            "the layers up to depth 2 have run digest",
        ),
        ("UPDATE layer SET states = states + 1 WHERE depth = 2", "run.db contradicts itself at depth 2"),
        ("UPDATE layer SET classes = classes + 1 WHERE depth = 1", "run.db contradicts itself at depth 1"),
        ("UPDATE shard SET states = states + 1 WHERE depth = 2", "run.db contradicts itself at depth 2"),
        ("DELETE FROM shard WHERE depth = 3", "run.db contradicts itself at depth 3"),
        ("UPDATE shard SET shard = 7 WHERE depth = 3", "run.db contradicts itself at depth 3"),
        (
            "INSERT INTO watched VALUES (1, x'000102030405060708', 6)",
            "run.db has a watched state at depth 6, which is not finished",
        ),
        ("UPDATE layer SET states = 200000 WHERE depth = 2", "counts more states than the 181440"),
        ("UPDATE layer SET states = 0 WHERE depth = 2", "run.db has no states at depth 2"),
        ("DELETE FROM layer WHERE depth = 2", "the row of depth 2 is missing"),
        ("UPDATE layer SET files = 'lost' WHERE depth = 2", "depth 2 has files \"lost\""),
    ] {
        for command in ["verify", "status", "resume"] {
            let half = HalfRun::new();
            alter(&half, sql);
            half.refuses(&[command, "run"], 1, says);
        }
    }
}

/// The journal names another place for the layers, or a link leads there: the files there belong to another
/// run.
#[test]
fn layers_of_another_run_are_not_touched() {
    let other = fathom_tests::tempdir().unwrap();
    in_directory(other.path(), &["run", "2x4", "--keep", "all", "--dir", "run", "-q"]);
    let theirs = other.path().join("run/layers");
    let files = || layer_files(&theirs).len();
    let before = files();
    let elsewhere = |half: &HalfRun| {
        let at = format!("store {}", other.path().join("run").display());
        let database = rusqlite::Connection::open(half.path("run.db")).unwrap();
        database.execute("DELETE FROM cluster", []).unwrap();
        database.execute("INSERT INTO cluster VALUES (1, ?1)", [at]).unwrap();
    };
    let linked = |half: &HalfRun| {
        fs::rename(half.path("layers"), half.path("ours")).unwrap();
        std::os::unix::fs::symlink(&theirs, half.path("layers")).unwrap();
    };
    let lead_there: [&dyn Fn(&HalfRun); 2] = [&elsewhere, &linked];
    for leads_there in lead_there {
        let half = HalfRun::new();
        alter(&half, "UPDATE layer SET files = 'removed' WHERE depth = 1");
        leads_there(&half);
        half.refuses(&["resume", "run", "-q"], 1, "does not belong here: its run fingerprint is");
        assert_eq!(files(), before);
        let mut ours = RunDirectory::open(&half.path("")).unwrap();
        ours.journal.doubt(Task { depth: Depth(6), shard: ShardId(0) }).unwrap();
        drop(ours);
        half.refuses(&["resume", "run", "-q"], 1, "does not belong here: its run fingerprint is");
        assert_eq!(files(), before);
    }
}

#[test]
fn inconsistent_counts_are_refused() {
    let half = HalfRun::new();
    // Moves lead from the 5208 states at depth 4 to at most 62,496.
    for table in ["layer", "shard"] {
        alter(&half, &format!("UPDATE {table} SET states = states + 33900 WHERE depth = 5"));
    }
    for command in ["resume", "status", "verify"] {
        half.refuses(&[command, "run"], 1, "the counts are impossible: 62574 states at depth 5");
    }
    let half = HalfRun::new();
    for table in ["layer", "shard"] {
        alter(&half, &format!("UPDATE {table} SET states = states + 33000 WHERE depth = 5"));
    }
    for _ in 0..2 {
        let (code, out, err) = half.fathom(&["resume", "run", "-q"]);
        assert_eq!((code, out.as_str()), (Some(1), ""));
        assert!(
            err.contains("the counts do not add up: 54741 states at depth 7, but 24216 are left"),
            "{err}"
        );
    }
}

/// The first depths are counted from the moves at the end of a run of several workers, and of a run of one
/// process that has taken 10 seconds; in such a run also as soon as it has taken that long.
#[test]
fn counts_that_contradict_the_moves_are_refused() {
    let miscounted = |seconds: f64| {
        let half = HalfRun::new();
        for table in ["layer", "shard"] {
            alter(&half, &format!("UPDATE {table} SET states = states - 1 WHERE depth = 1"));
            alter(&half, &format!("UPDATE {table} SET states = states + 1 WHERE depth = 2"));
        }
        for (depth, seconds) in (0..6).zip([seconds, 0.0, 0.0, 0.0, 0.0, 0.0]) {
            alter(&half, &format!("UPDATE layer SET seconds = {seconds} WHERE depth = {depth}"));
        }
        half
    };
    let before_ten = 10.0_f64.next_down();
    for (seconds, more, committed) in [(0.0, "--workers=2", 8), (10.0, "-q", 8), (before_ten, "-q", 6)] {
        let half = miscounted(seconds);
        let (code, out, err) = half.fathom(&["run", "3x3", "--dir", "run", more]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
        let says = "depth 1 has 11 states, but a direct count gives 12. The run is wrong";
        assert!(err.contains(says), "{err}");
        assert_eq!(RunDirectory::open(&half.path("")).unwrap().visited().unwrap().layers.len(), committed);
    }
}

#[test]
fn damaged_file_of_an_unfinished_layer_is_recomputed() {
    let whole = HalfRun::new();
    let (_, expected, _) = whole.fathom(&["resume", "run", "--json", "-q"]);
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let damage: [Change<'_>; 5] = [
        &|b| b.truncate(300),
        &|b| b.fill(0),
        &|b| b[300] ^= 1,
        &|b| {
            let at = b.len() - 100;
            b[at] ^= 4;
        },
        &|_| {},
    ];
    for (number, change) in damage.into_iter().enumerate() {
        let half = HalfRun::new();
        fs::create_dir(half.path("layers/d006")).unwrap();
        // An uncompressed file, as the search writes it.
        let other = fathom_tests::tempdir().unwrap();
        in_directory(other.path(), &["run", "3x3", "--dir", "run", "--max-depth", "6", "-q"]);
        let file = "layers/d006/s00000.layer";
        fs::copy(other.path().join("run").join(file), half.path(file)).unwrap();
        half.change(file, change);
        let (code, out, err) = half.fathom(&["resume", "run", "--json"]);
        assert_eq!(code, Some(0), "{err}");
        let digest = |out: &str| out.split("\"digest\":").nth(1).map(str::to_owned);
        assert_eq!(digest(&out), digest(&expected));
        // The last file is whole, and is used unchanged.
        assert_eq!(err.contains("is damaged and will be recomputed"), number < 4, "{err}");
    }
}

#[test]
fn full_or_closed_standard_output() {
    let half = HalfRun::new();
    let to = |out: std::process::Stdio| {
        let mut command = fathom();
        command.args(["status", "run"]).current_dir(half.0.path()).stdout(out);
        command.stderr(std::process::Stdio::piped()).output().unwrap()
    };
    let full = to(fs::File::options().write(true).open("/dev/full").unwrap().into());
    assert_eq!(full.status.code(), Some(1));
    assert!(texts(&full).1.contains("cannot write the result to standard output: No space left"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let closed = to(writer.into());
    assert_eq!((closed.status.code(), texts(&closed).1), (Some(0), String::new()));
}

/// Sizes are checked before memory is allocated.
#[test]
fn files_that_would_exhaust_memory_are_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let statements = file("statements.g", &"a:=1;".repeat(3_000_000));
    let aliases = file(
        "aliases.tws",
        &format!("Name x\nSet A 2 1\nSolved\nEnd\n{}", "MoveAlias a b\n".repeat(1_000_000)),
    );
    let many = file(
        "many.toml",
        "orbits = [{ name = \"a\", cells = 9, orientations = 256 }]\n[moves]\nR = \"(1,2,3,4,5,6,7+1)\"\n",
    );
    let huge = file("huge.tws", "Name x\nSet A 4000000000 2\n");
    for (path, says) in [
        ("/dev/zero", "/dev/zero: the file is larger than 16777216 bytes"),
        (&statements, "statements.g:1:"),
        (&aliases, "there are more than 4096 moves"),
        (&many, "too many pieces and orientations to encode"),
        (&huge, "huge.tws:2:7: 4000000000 is too large"),
    ] {
        for command in ["plan", "run"] {
            let (code, out, err) = in_directory(directory.path(), &[command, path]);
            assert_eq!((code, out.as_str()), (Some(2), ""), "{path}: {err}");
            assert!(err.contains(says) && !err.contains("panicked"), "{path}: {err}");
        }
    }
}
