//! Runs whose layers are spread over several stores: the same results, killed, full, moved, mixed up and
//! gone.

use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::layers::layer_files;
use fathom_tests::process::{signal, until_stopped, well};
use fathom_tests::{assert_same, fathom, fathom_worker, json, texts};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// 12! states in 15 layers.
const SPACE: [&str; 3] = ["2x6", "--shards", "10"];
const NAMES: [&str; 3] = ["a", "b", "c"];

/// A run over the stores `a`, `b` and `c` of a temporary directory.
struct Spread(TempDir);

impl Spread {
    fn new() -> Self {
        Self(fathom_tests::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns a command in the temporary directory.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = fathom();
        command.current_dir(self.0.path()).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns the command that begins the run over these stores, or goes on with it.
    fn run(&self, stores: &[&str]) -> Command {
        let mut command = self.command(&["run"]);
        command.args(SPACE).args(["--json", "-q", "--threads", "1", "--dir", "run"]);
        for store in stores {
            command.args(["--store", store]);
        }
        command
    }

    fn resume(&self) -> Command {
        self.command(&["resume", "run", "--json", "-q"])
    }

    /// Runs until a depth is made.
    fn until(&self, depth: u32) {
        well(&self.run(&NAMES).args(["--max-depth", &depth.to_string()]).output().unwrap());
    }

    /// Returns the directory of the run in a store.
    fn of_run(&self, store: &str) -> PathBuf {
        let mut entries = fs::read_dir(self.path(store)).unwrap();
        entries.next().expect("a directory of the run").unwrap().path()
    }

    /// Returns the numbers of the shards in a store.
    fn shards(&self, store: &str) -> Vec<u32> {
        let files = layer_files(&self.of_run(store).join("layers"));
        let mut shards: Vec<u32> = files.into_iter().map(|(_, shard, _)| shard).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// Returns all paths, with the contents of the list of stores.
    fn everything(&self) -> (Vec<PathBuf>, String) {
        fn walk(path: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                found.push(path.clone());
                if path.is_dir() {
                    walk(&path, found);
                }
            }
        }
        let mut found = Vec::new();
        walk(self.0.path(), &mut found);
        found.sort();
        (found, fs::read_to_string(self.path("run/stores.toml")).unwrap_or_default())
    }

    /// Asserts that a command is refused as bad input with this message, and writes nothing.
    fn refuses(&self, command: &mut Command, message: &str) {
        let before = self.everything();
        refused(&command.output().unwrap(), message);
        assert_eq!(self.everything(), before, "{message}");
    }
}

fn refused(output: &Output, message: &str) {
    let (out, err) = texts(output);
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(err.contains(message), "{err}");
}

#[test]
fn stores_change_nothing_but_where_files_lie() {
    for &keep in fathom_slow::choose(&["two"][..], &["last", "two", "all"]) {
        let spread = Spread::new();
        let found = json(&spread.run(&NAMES).args(["--keep", keep]).output().unwrap());
        assert_same(&found, &undisturbed(&SPACE));
        assert!(!spread.path("run/layers").exists());
        let shards = NAMES.map(|store| spread.shards(store));
        assert_eq!(shards, [vec![0, 3, 6, 9], vec![1, 4, 7], vec![2, 5, 8]], "{keep}");
        // The other commands find the files by the run's directory alone.
        let verified = json(&spread.command(&["verify", "run", "--json"]).output().unwrap());
        assert_eq!(verified["files"].as_u64().unwrap() % 10, 0);
        well(&spread.command(&["audit", "run", "--samples", "20"]).output().unwrap());
        well(&spread.command(&["antipodes", "run", "--limit", "1"]).output().unwrap());
        let state = "1 0 2 3 4 5 6 7 8 9 10 11";
        let solved = json(&spread.command(&["solve", "run", state, "--json"]).output().unwrap());
        assert_eq!(solved["method"] == "layers", keep == "all", "{solved}");
        let status = json(&spread.command(&["status", "run", "--json"]).output().unwrap());
        assert_same(&status, &undisturbed(&SPACE));
        let removed = json(&spread.command(&["remove", "run", "--json"]).output().unwrap());
        assert!(removed["bytes"].as_u64() > verified["bytes"].as_u64(), "{removed}");
        let left: Vec<PathBuf> = NAMES
            .iter()
            .flat_map(|store| fs::read_dir(spread.path(store)).unwrap())
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(left, Vec::<PathBuf>::new());
        assert!(!spread.path("run/stores.toml").exists());
        // Results need no stores.
        for mut again in [spread.resume(), spread.run(&NAMES)] {
            assert_same(&json(&again.output().unwrap()), &undisturbed(&SPACE));
        }
    }
}

#[test]
fn killed_anywhere_and_resumed() {
    let last =
        ["writing:1", "writing:53", "writing:88", "committing:7", "committed:9"].map(|at| ("last", at));
    let two = ["writing:88", "deleting:67", "deleted:63"].map(|at| ("two", at));
    for (keep, failpoint) in last.into_iter().chain(two) {
        let spread = Spread::new();
        let mut command = spread.run(&NAMES);
        let killed = command.args(["--keep", keep]).env("FATHOM_FAILPOINT", failpoint).output().unwrap();
        assert_eq!(killed.status.signal(), Some(libc::SIGKILL), "{failpoint}: {}", texts(&killed).1);
        assert_same(&json(&spread.resume().output().unwrap()), &undisturbed(&SPACE));
        well(&spread.command(&["verify", "run"]).output().unwrap());
    }
}

/// The run's directory is written before the stores are.
#[test]
fn killed_before_the_stores_are_made() {
    let spread = Spread::new();
    let mut command = spread.run(&NAMES);
    let killed = command.env("FATHOM_FAILPOINT", "writing:1").output().unwrap();
    assert_eq!(killed.status.signal(), Some(libc::SIGKILL));
    fs::remove_file(spread.of_run("b").join("store.toml")).unwrap();
    fs::remove_dir_all(spread.of_run("b").join("layers")).unwrap();
    fs::write(spread.of_run("b").join("store.toml.tmp"), "form").unwrap();
    fs::remove_dir_all(spread.path("c")).unwrap();
    assert_same(&json(&spread.resume().output().unwrap()), &undisturbed(&SPACE));
}

#[test]
fn the_order_of_stores_does_not_matter() {
    let spread = Spread::new();
    spread.until(6);
    let before = spread.everything();
    well(&spread.run(&["c", "a", "b"]).args(["--max-depth", "6"]).output().unwrap());
    assert_eq!(spread.everything(), before);
    assert_same(&json(&spread.run(&["b", "c", "a"]).output().unwrap()), &undisturbed(&SPACE));
    assert_eq!(spread.shards("a"), [0, 3, 6, 9]);
}

#[test]
fn stores_that_are_mounted_elsewhere_are_named_anew() {
    let spread = Spread::new();
    spread.until(6);
    fs::rename(spread.path("b"), spread.path("elsewhere")).unwrap();
    let mut resume = spread.resume();
    resume.args(["--store", "elsewhere", "--store", "a", "--store", "c", "--max-depth", "7"]);
    well(&resume.output().unwrap());
    // The new place is remembered.
    assert_same(&json(&spread.resume().output().unwrap()), &undisturbed(&SPACE));
    assert_eq!(spread.shards("elsewhere"), [1, 4, 7]);
    assert!(!spread.path("b").exists());
}

#[test]
fn disks_that_have_changed_places_are_noticed() {
    let spread = Spread::new();
    spread.until(6);
    fs::rename(spread.path("b"), spread.path("x")).unwrap();
    fs::rename(spread.path("c"), spread.path("b")).unwrap();
    fs::rename(spread.path("x"), spread.path("c")).unwrap();
    let b = spread.of_run("b");
    let message = format!("cannot use the store {}: it is store 2, in the place of store 1", b.display());
    spread.refuses(&mut spread.resume(), &message);
    spread.refuses(&mut spread.command(&["verify", "run"]), &message);
    assert_same(&json(&spread.run(&NAMES).output().unwrap()), &undisturbed(&SPACE));
    assert_eq!(spread.shards("b"), [2, 5, 8]);
}

#[test]
fn other_stores_are_refused() {
    let spread = Spread::new();
    spread.until(4);
    fs::create_dir(spread.path("d")).unwrap();
    spread.refuses(&mut spread.run(&["a", "b", "c", "d"]), "it is none of the stores");
    spread.refuses(&mut spread.run(&["a", "b", "d"]), "it is none of the stores");
    spread.refuses(&mut spread.run(&["a", "b"]), "it is not named with --store");
    let mut resume = spread.resume();
    spread.refuses(resume.args(["--store", "a", "--store", "c"]), "it is not named with --store");
    // A store of one run can have layers of another space, but not of another run of the same space.
    let mut other = spread.command(&["run", "2x6", "--shards", "10", "--dir", "other", "--store", "a"]);
    spread.refuses(&mut other, &format!("it belongs to the run in {}", spread.path("run").display()));
    well(&spread.command(&["run", "2x3", "-q", "--dir", "small", "--store", "a"]).output().unwrap());
    fs::create_dir_all(spread.path("d").join(spread.of_run("b").file_name().unwrap()).join("notes")).unwrap();
    let mut other = spread.command(&["run", "2x6", "--shards", "10", "--dir", "other", "--store", "d"]);
    spread.refuses(&mut other, "it holds something else, notes");
    // The layers of a run stay where they are.
    well(&spread.command(&["run", "3x3", "-q", "--dir", "alone"]).output().unwrap());
    let mut alone = spread.command(&["run", "3x3", "-q", "--dir", "alone", "--store", "d"]);
    spread.refuses(&mut alone, "do not lie in stores, and stay where they are");
    let mut served = spread.command(&["serve", "3x3", "--store", "d", "--dir", "more"]);
    spread.refuses(&mut served, "workers that keep layers themselves take --store");
}

#[test]
fn workers_of_one_machine_use_all_stores() {
    let spread = Spread::new();
    let found = json(&spread.run(&NAMES).args(["--workers", "2"]).output().unwrap());
    assert_same(&found, &undisturbed(&SPACE));
    assert!(NAMES.iter().all(|store| !spread.shards(store).is_empty()));
    well(&spread.command(&["verify", "run"]).output().unwrap());
}

#[test]
fn a_directory_is_given_once() {
    let spread = Spread::new();
    fs::create_dir(spread.path("a")).unwrap();
    symlink(spread.path("a"), spread.path("link")).unwrap();
    for (one, other) in [("a", "link"), ("a", "./b/../a"), ("link/new", "a/new"), ("new", "x/../new")] {
        let message = format!("cannot use the store {other}: it is the same directory as {one}");
        spread.refuses(&mut spread.run(&[one, other]), &message);
        let mut join = fathom_worker();
        join.current_dir(spread.0.path()).args(["--join", "127.0.0.1:1", "--store", one, "--store", other]);
        spread.refuses(&mut join, &message);
    }
}

#[test]
fn a_store_that_is_gone_is_named_and_not_made_anew() {
    let spread = Spread::new();
    spread.until(6);
    let b = spread.of_run("b");
    fs::rename(spread.path("b"), spread.path("unmounted")).unwrap();
    // What is left is a mount point.
    fs::create_dir(spread.path("b")).unwrap();
    let message =
        format!("cannot use the store {}: its files are gone, or its disk is not mounted", b.display());
    for arguments in [&["verify", "run"][..], &["audit", "run"], &["antipodes", "run"]] {
        spread.refuses(&mut spread.command(arguments), &message);
    }
    spread.refuses(&mut spread.resume(), &message);
    // Results need no stores.
    well(&spread.command(&["status", "run"]).output().unwrap());
    well(&spread.command(&["report", "run", "--format", "csv"]).output().unwrap());
    fs::remove_dir(spread.path("b")).unwrap();
    fs::rename(spread.path("unmounted"), spread.path("b")).unwrap();
    // The disk goes while the process stands still before depth 8.
    let child = spread.resume().env("FATHOM_FAILPOINT", "committed:1:stop").spawn().unwrap();
    until_stopped(&child);
    fs::rename(spread.path("b"), spread.path("unmounted")).unwrap();
    signal(&child, libc::SIGCONT);
    let output = child.wait_with_output().unwrap();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("depth 8 could not be made; mount the disk of the store"), "{err}");
    assert!(err.contains(&message), "{err}");
    assert!(!spread.path("b").exists());
    fs::rename(spread.path("unmounted"), spread.path("b")).unwrap();
    assert_same(&json(&spread.resume().output().unwrap()), &undisturbed(&SPACE));
}

#[test]
fn what_lies_on_a_disk_that_is_gone_is_not_removed() {
    let spread = Spread::new();
    well(&spread.run(&NAMES).output().unwrap());
    let b = spread.of_run("b");
    fs::rename(spread.path("b"), spread.path("unmounted")).unwrap();
    let output = spread.command(&["remove", "run"]).output().unwrap();
    well(&output);
    let (_, err) = texts(&output);
    assert!(err.contains(&format!("{} keeps what it holds", b.display())), "{err}");
    assert_eq!(spread.shards("unmounted"), [1, 4, 7]);
    assert_eq!(fs::read_dir(spread.path("a")).unwrap().count(), 0);
}

/// One of three stores lies on a file system that really runs full: a tmpfs in a mount namespace.
#[test]
fn one_store_runs_full() {
    let spread = Spread::new();
    fs::create_dir(spread.path("b")).unwrap();
    let mount = spread.path("b").display().to_string();
    let namespace = |script: &str| {
        let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
        let flags: &[&str] = if root { &["-m"] } else { &["-r", "-m"] };
        let mut command = Command::new("unshare");
        command.current_dir(spread.0.path()).args(flags).args(["sh", "-ec", script]).output()
    };
    let possible = namespace(&format!("mount -t tmpfs -o size=64k none {mount}"));
    if !possible.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "a tmpfs cannot be mounted here");
        eprintln!("skipped: a tmpfs cannot be mounted here");
        return;
    }
    let fathom = fathom().get_program().to_string_lossy().into_owned();
    let (space, stores) = (SPACE.join(" "), "--store a --store b --store c");
    // First a layer that is a guess, and is begun; then one that will be dense for certain, and is not.
    let output = namespace(&format!(
        "mount -t tmpfs -o size=12m none {mount}
         fill() {{
             free=$(df --output=avail -k {mount} | tail -n 1)
             head -c $((free - $1))k /dev/zero > {mount}/filler
         }}
         {fathom} run {space} -q --json --max-depth 5 --dir run {stores} >/dev/null
         fill 80
         set +e
         {fathom} resume run -q --json
         echo code $?
         rm {mount}/filler
         {fathom} resume run -q --json --max-depth 7 >/dev/null
         fill 500
         {fathom} resume run -q --json
         echo code $?
         rm {mount}/filler
         {fathom} resume run -q --json"
    ))
    .unwrap();
    let (out, err) = texts(&output);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..2], ["code 1", "code 1"], "{out} {err}");
    let messages: Vec<&str> = err.lines().filter(|line| line.starts_with("error")).collect();
    assert!(messages[0].contains("the disk is full at depth 6"), "{err}");
    assert!(messages[0].contains(&format!("write {mount}/")), "{err}");
    assert!(messages[1].contains("depth 8 will need about"), "{err}");
    assert!(messages[1].contains(&format!("are free at {mount}/")), "{err}");
    let whole: Value = serde_json::from_str(lines[2]).unwrap();
    assert_same(&whole, &undisturbed(&SPACE));
}

/// `--disk-limit` is one of each store, and the free space of each is looked at.
#[test]
fn a_limit_is_one_of_each_store() {
    let spread = Spread::new();
    let mut begin = spread.command(&["run", "2x6", "--dir", "run", "--threads", "1", "--keep", "last"]);
    begin.args(["--store", "a", "--store", "b", "--disk-limit"]);
    let planned = spread.command(&["plan", "2x6", "--json", "--keep", "last"]).output().unwrap();
    let needed = json(&planned)["disk_peak_bytes"].as_u64().unwrap();
    let (half, less) = (format!("{}B", needed / 2 + 1), format!("{}B", needed / 2 - 1));
    let mut too_little = spread.command(&[]);
    too_little.args(begin.get_args()).arg(less);
    spread.refuses(&mut too_little, "are free for what is spread evenly over 2 stores");
    let found = json(&begin.args([&half, "--json", "-q"]).output().unwrap());
    assert_eq!(found["counts"], undisturbed(&SPACE)["counts"]);
}

#[test]
fn tasks_without_a_coordinator_use_the_stores_of_the_run() {
    let spread = Spread::new();
    spread.until(3);
    let mut task = fathom_worker();
    task.current_dir(spread.0.path()).args(["task", "--run", "run", "--depth", "4", "--shards", "0-9", "-q"]);
    well(&task.output().unwrap());
    well(&spread.command(&["merge", "run", "--depth", "4", "-q"]).output().unwrap());
    assert!(!spread.path("run/layers").exists());
    assert_same(&json(&spread.resume().output().unwrap()), &undisturbed(&SPACE));
}

/// A run over several stores is served to workers that see all of them.
#[test]
fn a_run_over_several_stores_is_a_shared_store() {
    let mut cluster = Cluster::new(&SPACE, &["--shared-store"]);
    let run = cluster.run();
    cluster.option(&run);
    for store in NAMES {
        cluster.option(Path::new("--store"));
        let store = cluster.path().join(store);
        cluster.option(&store);
    }
    cluster.serve();
    cluster.join_until("w1", "writing:60");
    cluster.dies("w1");
    cluster.join(&["w2"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert!(!run.join("layers").exists());
    well(&fathom().arg("verify").arg(&run).output().unwrap());
}

/// The copy has the list of the same stores. Two processes would delete each other's layers.
#[test]
fn a_copy_of_the_directory_does_not_use_the_stores() {
    let run = Spread::new();
    let begin = ["run", "3x3", "--max-depth", "5", "--dir", "run", "--store", "a", "--store", "b", "-q"];
    well(&run.command(&begin).output().unwrap());
    let copied = Command::new("cp").arg("-r").arg(run.path("run")).arg(run.path("copy")).status().unwrap();
    assert!(copied.success());
    for arguments in [&["resume", "copy", "-q"][..], &["remove", "copy", "--all"]] {
        let output = run.command(arguments).output().unwrap();
        let (_, err) = texts(&output);
        assert!(output.status.code() == Some(2) && err.contains("is a copy of"), "{arguments:?}: {err}");
    }
    // Without the first one, or if it is the same under another name, the copy has them.
    symlink(run.path("run"), run.path("link")).unwrap();
    well(&run.command(&["resume", "link", "-q", "--max-depth", "6"]).output().unwrap());
    fs::remove_dir_all(run.path("run")).unwrap();
    well(&run.command(&["resume", "copy", "-q", "--max-depth", "5"]).output().unwrap());
}
