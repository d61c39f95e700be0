//! Invalid arguments and unusable run directories: the message names the thing and the way out, the exit code
//! tells whose fault it is, and nothing is written.

use fathom_engine::directory::RunDirectory;
use fathom_engine::run::{Depth, ShardId, Task};
use fathom_tests::layers::layer_files;
use fathom_tests::{fathom, fathom_worker, texts};
use std::fs;
use std::os::unix::fs::symlink;
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
        for (text, says) in [
            ("writing", "which is not POINT:N"),
            ("writting:1", "Points: committed, "),
            ("found:1", "no point \"found\" kills or stops a process. Points: committed, "),
            ("writing:1:flip", "no point \"writing\" makes errors. Points: found"),
        ] {
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

/// Each command of `tests/data/messages.txt` is refused with exit code 2 and with the message recorded there, and leaves
/// nothing behind. This file is the only place with the wording of these messages: `FATHOM_UPDATE=1` writes the present
/// wording, to be read in the diff. Sizes are replaced by `#`, because they depend on the
/// machine, and the directory of the test by `DIR`.
#[test]
fn invalid_arguments_are_refused_and_leave_nothing_behind() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/messages.txt");
    let recorded = fs::read_to_string(&path).unwrap();
    let directory = fathom_tests::tempdir().unwrap();
    fs::copy(BANDAGED, directory.path().join("bandaged.toml")).unwrap();
    let program = fathom().get_program().to_owned();
    let programs = Path::new(&program).parent().unwrap().display().to_string();
    let path_variable = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let mut blocks = Vec::new();
    for command in recorded.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(directory.path()).env("PATH", &path_variable);
        for variable in ["FATHOM_KEYS", "FATHOM_DIR", "FATHOM_MEMORY", "FATHOM_THREADS"] {
            shell.env_remove(variable);
        }
        let output = shell.output().unwrap();
        let (out, err) = texts(&output);
        let err = err.replace(&directory.path().display().to_string(), "DIR");
        assert_eq!(output.status.code(), Some(2), "{command}: {err}");
        assert_eq!(err.matches("error:").count(), 1, "{command}: {err}");
        assert_eq!(out, "", "{command}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{command} left something behind");
        blocks.push(format!("$ {command}\n{}\n", without_sizes(err.trim_end())));
    }
    assert!(blocks.len() > 100, "{} commands", blocks.len());
    if std::env::var_os("FATHOM_UPDATE").is_some() {
        fs::write(&path, blocks.join("\n")).unwrap();
    }
    let known: Vec<&str> =
        recorded.split("\n$ ").map(|block| block.trim_start_matches("$ ").trim_end()).collect();
    let changed: Vec<&String> =
        blocks.iter().filter(|block| !known.contains(&block[2..].trim_end())).collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

/// Replaces numbers before units of bytes by `#`.
fn without_sizes(text: &str) -> String {
    let is_unit = |word: &str| {
        let word = word.trim_end_matches([',', '.', ')', ';']);
        ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].contains(&word)
    };
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let next = words.iter().skip(1).map(|word| is_unit(word)).chain([false]);
        let shown = words.iter().zip(next).map(|(word, before_unit)| match before_unit {
            true => "#",
            false => *word,
        });
        shown.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn space_too_large_for_the_disk_is_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    // 18! states under 72 symmetries, one bit each, three layers: more than 30 terabytes.
    let (code, _, err) = in_directory(directory.path(), &["run", "3x6"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("3x6-multi needs up to") && err.contains(". Free some space"), "{err}");
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

/// Nothing is written through a symbolic link in a run's directory or in a worker's store.
#[test]
fn links_in_place_of_files_are_refused() {
    let half = HalfRun::new();
    let target = half.0.path().join("target");
    let refuses = |mut command: Command, link: &Path, says: &str| {
        symlink(&target, link).unwrap();
        let output = command.current_dir(half.0.path()).output().unwrap();
        let (_, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{}: {err}", link.display());
        assert!(err.contains(says) && err.contains("remove the link"), "{}: {err}", link.display());
        assert!(!target.exists(), "{}", link.display());
        fs::remove_file(link).unwrap();
    };
    let with = |mut command: Command, arguments: &[&str]| {
        command.args(arguments);
        command
    };
    fs::remove_file(half.path("log.jsonl")).unwrap();
    let resume = || with(fathom(), &["resume", "run", "-q"]);
    refuses(resume(), &half.path("log.jsonl"), "run/log.jsonl is a symbolic link");
    fs::remove_file(half.path("lock")).unwrap();
    refuses(resume(), &half.path("lock"), "run/lock is a symbolic link");
    let new = half.0.path().join("new");
    fs::create_dir(&new).unwrap();
    for name in ["run.db", "run.db-journal", "lock", "run.toml.tmp"] {
        let run = with(fathom(), &["run", "3x3", "-q", "--dir", "new"]);
        refuses(run, &new.join(name), &format!("new/{name} is a symbolic link"));
        assert_eq!(fs::read_dir(&new).unwrap().count(), 0, "{name}");
    }
    let store = half.0.path().join("store");
    fs::create_dir(&store).unwrap();
    for name in ["lock", "log.jsonl"] {
        let join = with(fathom_worker(), &["--join", "127.0.0.1:1", "--store", "store", "-q"]);
        refuses(join, &store.join(name), &format!("store/{name} is a symbolic link"));
    }
    let (code, _, err) = half.fathom(&["resume", "run", "-q"]);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn directory_of_another_run_is_refused() {
    let half = HalfRun::new();
    half.refuses(
        &["run", "3x4", "--dir", "run"],
        2,
        "run already contains the run 3x3-multi, not 3x4-multi. Choose another",
    );
    half.refuses(&["run", "3x3", "--metric", "single", "--dir", "run"], 2, "not 3x3-single");
    half.refuses(&["run", "3x3", "--track", "0", "--dir", "run"], 2, "not 3x3-multi-abbbbbbbb");
    half.refuses(
        &["run", "3x3", "--shards", "2", "--dir", "run"],
        2,
        "was started with 1 shard, which cannot be changed to 2",
    );
    half.refuses(
        &["run", "3x3", "--keep", "last", "--dir", "run"],
        2,
        "was started with --keep all, which cannot be changed to last",
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
        ("UPDATE layer SET files = 'lost' WHERE depth = 2", "depth 2 has the unknown file state \"lost\""),
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
