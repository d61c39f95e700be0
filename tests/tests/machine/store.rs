//! Runs whose layers are in a directory of their own, on another disk than the run's directory: the same
//! results, after kills, on full disks, and with copied or missing stores.

use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::layers::layer_files;
use fathom_tests::process::{signal, until_stopped, well};
use fathom_tests::{assert_same, fathom, fathom_worker, json, texts};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// 12! states in 15 layers.
const SPACE: [&str; 3] = ["2x6", "--shards", "10"];

/// The run `run` with its layers below `disk`, both in a temporary directory.
struct Run(TempDir);

impl Run {
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

    /// Returns the command that starts the run, or continues it.
    fn run(&self) -> Command {
        let mut command = self.command(&["run"]);
        command.args(SPACE).args(["--json", "-q", "--threads", "1"]);
        command.args(["--dir", "run", "--store", "disk"]);
        command
    }

    fn resume(&self) -> Command {
        self.command(&["resume", "run", "--json", "-q"])
    }

    /// Runs until a depth is complete.
    fn until(&self, depth: u32) {
        well(&self.run().args(["--max-depth", &depth.to_string()]).output().unwrap());
    }

    /// Returns the directory of the run's layers, the only one below `disk`.
    fn store(&self) -> PathBuf {
        let entries: Vec<PathBuf> =
            fs::read_dir(self.path("disk")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(entries.len(), 1, "{entries:?}");
        entries[0].clone()
    }

    /// Returns all paths.
    fn everything(&self) -> Vec<PathBuf> {
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
        found
    }

    /// Asserts that a command is refused as bad input with this message, and writes nothing.
    fn refuses(&self, command: &mut Command, message: &str) {
        let before = self.everything();
        let output = command.output().unwrap();
        let (out, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{out}{err}");
        assert!(err.contains(message), "{err}");
        assert_eq!(self.everything(), before, "{message}");
    }
}

#[test]
fn store_changes_only_where_files_are() {
    for &keep in fathom_slow::choose(&["two"][..], &["last", "two", "all"]) {
        let run = Run::new();
        let found = json(&run.run().args(["--keep", keep]).output().unwrap());
        assert_same(&found, &undisturbed(&SPACE));
        assert!(!run.path("run/layers").exists());
        assert!(!layer_files(&run.store().join("layers")).is_empty());
        // The other commands locate the files through the run's directory.
        let verified = json(&run.command(&["verify", "run", "--json"]).output().unwrap());
        assert_eq!(verified["files"].as_u64().unwrap() % 10, 0);
        well(&run.command(&["audit", "run", "--samples", "20"]).output().unwrap());
        well(&run.command(&["antipodes", "run", "--limit", "1"]).output().unwrap());
        let state = "1 0 2 3 4 5 6 7 8 9 10 11";
        let solved = json(&run.command(&["solve", "run", state, "--json"]).output().unwrap());
        assert_eq!(solved["method"] == "layers", keep == "all", "{solved}");
        let status = json(&run.command(&["status", "run", "--json"]).output().unwrap());
        assert_same(&status, &undisturbed(&SPACE));
        let removed = json(&run.command(&["remove", "run", "--json"]).output().unwrap());
        assert!(removed["bytes"].as_u64() > verified["bytes"].as_u64(), "{removed}");
        assert_eq!(fs::read_dir(run.path("disk")).unwrap().count(), 0);
        // Results need no store.
        for mut again in [run.resume(), run.run()] {
            assert_same(&json(&again.output().unwrap()), &undisturbed(&SPACE));
        }
        well(&run.command(&["remove", "run", "--all", "-q"]).output().unwrap());
        assert!(!run.path("run").exists());
    }
}

#[test]
fn killed_anywhere_and_resumed() {
    let last = ["writing:1", "writing:53", "committing:7", "committed:9"].map(|at| ("last", at));
    let two = ["writing:88", "deleting:67", "deleted:63"].map(|at| ("two", at));
    for (keep, failpoint) in last.into_iter().chain(two) {
        let run = Run::new();
        let mut command = run.run();
        let killed = command.args(["--keep", keep]).env("FATHOM_FAILPOINT", failpoint).output().unwrap();
        assert_eq!(killed.status.signal(), Some(libc::SIGKILL), "{failpoint}: {}", texts(&killed).1);
        assert_same(&json(&run.resume().output().unwrap()), &undisturbed(&SPACE));
        well(&run.command(&["verify", "run"]).output().unwrap());
    }
}

/// The store is created before the run's directory, and gets its mark after it.
#[test]
fn killed_before_the_store_has_its_mark() {
    let run = Run::new();
    let mut command = run.run();
    let killed = command.env("FATHOM_FAILPOINT", "writing:1").output().unwrap();
    assert_eq!(killed.status.signal(), Some(libc::SIGKILL));
    fs::remove_file(run.store().join("owner.toml")).unwrap();
    fs::write(run.store().join("owner.toml.tmp"), "form").unwrap();
    fs::remove_dir_all(run.store().join("layers")).unwrap();
    assert_same(&json(&run.resume().output().unwrap()), &undisturbed(&SPACE));
    assert!(!run.store().join("owner.toml.tmp").exists());
}

#[test]
fn other_stores_are_refused() {
    let run = Run::new();
    run.until(4);
    fs::create_dir(run.path("other")).unwrap();
    let begin = |dir: &str, store: &str| {
        let mut command = run.command(&["run", "-q", "--dir", dir, "--store", store]);
        command.args(SPACE);
        command
    };
    let stays = format!("are stored in {} and cannot be moved", run.store().display());
    run.refuses(&mut begin("run", "other"), &stays);
    // A directory can have layers of several spaces, but not of two runs of one space.
    let run_path = run.path("run");
    run.refuses(&mut begin("second", "disk"), &format!("it belongs to the run in {}", run_path.display()));
    let name = run.store().file_name().unwrap().to_owned();
    fs::create_dir_all(run.path("other").join(name).join("notes")).unwrap();
    run.refuses(&mut begin("second", "other"), "it is not empty: it contains notes");
    run.refuses(&mut begin("second", "second/layers"), "is inside the run's directory");
    // The layers of a run stay in its directory, too.
    well(&run.command(&["run", "3x3", "-q", "--dir", "without"]).output().unwrap());
    let mut with = run.command(&["run", "3x3", "-q", "--dir", "without", "--store", "other"]);
    run.refuses(&mut with, "are stored in without and cannot be moved");
    // Workers and coordinators have options of their own.
    run.refuses(&mut run.command(&["serve", "3x3", "--store", "other"]), "unexpected argument '--store'");
    run.refuses(begin("second", "other").args(["--store", "third"]), "cannot be used multiple times");
    well(&run.command(&["run", "2x3", "-q", "--dir", "small", "--store", "disk"]).output().unwrap());
    assert_same(&json(&run.run().output().unwrap()), &undisturbed(&SPACE));
}

#[test]
fn workers_of_one_machine_use_the_store() {
    let run = Run::new();
    let found = json(&run.run().args(["--workers", "2"]).output().unwrap());
    assert_same(&found, &undisturbed(&SPACE));
    assert!(!run.path("run/layers").exists());
    assert!(!layer_files(&run.store().join("layers")).is_empty());
    well(&run.command(&["verify", "run"]).output().unwrap());
}

#[test]
fn missing_store_is_named_and_not_created_again() {
    let run = Run::new();
    run.until(6);
    let store = run.store();
    fs::rename(run.path("disk"), run.path("unmounted")).unwrap();
    let gone = format!(
        "the directory {}, which should have the layers of the run in run, does not exist",
        store.display()
    );
    // With the disk, only the mount point is left.
    fs::create_dir(run.path("disk")).unwrap();
    for arguments in [
        &["verify", "run"][..],
        &["audit", "run"],
        &["antipodes", "run"],
        &["resume", "run"],
        &["merge", "run", "--depth", "7"],
    ] {
        run.refuses(&mut run.command(arguments), &gone);
    }
    // Results need no store.
    well(&run.command(&["status", "run"]).output().unwrap());
    well(&run.command(&["report", "run", "--format", "csv"]).output().unwrap());
    fs::remove_dir(run.path("disk")).unwrap();
    fs::rename(run.path("unmounted"), run.path("disk")).unwrap();
    // The disk disappears while the process is suspended before depth 8.
    let child = run.resume().env("FATHOM_FAILPOINT", "committed:1:stop").spawn().unwrap();
    until_stopped(&child);
    fs::rename(run.path("disk"), run.path("unmounted")).unwrap();
    signal(&child, libc::SIGCONT);
    let output = child.wait_with_output().unwrap();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("depth 8 could not be computed; mount the disk of the store"), "{err}");
    let message =
        format!("cannot use the store {}: its disk is not mounted, its files are gone", store.display());
    assert!(err.contains(&message), "{err}");
    assert!(!run.path("disk").exists());
    fs::rename(run.path("unmounted"), run.path("disk")).unwrap();
    assert_same(&json(&run.resume().output().unwrap()), &undisturbed(&SPACE));
}

#[test]
fn layers_on_a_missing_disk_are_not_removed() {
    let run = Run::new();
    well(&run.run().output().unwrap());
    let (store, before) = (run.store(), layer_files(&run.store().join("layers")));
    fs::rename(run.path("disk"), run.path("unmounted")).unwrap();
    let output = run.command(&["remove", "run"]).output().unwrap();
    well(&output);
    let (_, err) = texts(&output);
    assert!(err.contains(&format!("layers in {} are not removed", store.display())), "{err}");
    fs::rename(run.path("unmounted"), run.path("disk")).unwrap();
    assert_eq!(layer_files(&run.store().join("layers")), before);
}

#[test]
fn disk_limit_applies_to_the_store() {
    let run = Run::new();
    let mut begin = run.command(&["run", "2x6", "--dir", "run", "--threads", "1", "--keep", "last"]);
    // A search that syncs nothing before its end still deletes what it no longer reads.
    begin.args(["--store", "disk", "--disk-limit"]);
    let planned = run.command(&["plan", "2x6", "--json", "--keep", "last"]).output().unwrap();
    let needed = json(&planned)["disk_peak_bytes"].as_u64().unwrap();
    let mut too_little = run.command(&[]);
    too_little.args(begin.get_args()).arg(format!("{}B", needed - 1));
    run.refuses(&mut too_little, "are available at disk within --disk-limit");
    let found = json(&begin.args([&format!("{needed}B"), "--json", "-q"]).output().unwrap());
    assert_eq!(found["counts"], undisturbed(&SPACE)["counts"]);
    // Existing layers count.
    let part = Run::new();
    part.until(6);
    let mut resume = part.resume();
    let output = resume.args(["--disk-limit", "100KiB"]).output().unwrap();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.contains("102400 bytes of --disk-limit") && err.contains(part.store().to_str().unwrap()),
        "{err}"
    );
}

#[test]
fn tasks_without_a_coordinator_use_the_store_of_the_run() {
    let run = Run::new();
    run.until(3);
    let mut task = fathom_worker();
    task.current_dir(run.0.path()).args(["task", "--run", "run", "--depth", "4", "--shards", "0-9", "-q"]);
    well(&task.output().unwrap());
    well(&run.command(&["merge", "run", "--depth", "4", "-q"]).output().unwrap());
    assert!(!run.path("run/layers").exists());
    assert_same(&json(&run.resume().output().unwrap()), &undisturbed(&SPACE));
}

/// A run of one process continues on several hosts, if all of them see its store.
#[test]
fn store_can_be_served_as_a_shared_store() {
    let mut cluster = Cluster::new(&SPACE, &["--shared-store"]);
    let (run, disk) = (cluster.run(), cluster.path().join("disk"));
    let mut begin = fathom();
    begin.arg("run").args(SPACE).args(["-q", "--max-depth", "5", "--dir"]).arg(&run);
    well(&begin.arg("--store").arg(&disk).output().unwrap());
    let store = fs::read_dir(&disk).unwrap().next().unwrap().unwrap().path();
    cluster.option(&store);
    cluster.serve();
    // A worker's own files would be in the same directory.
    let mut inside = fathom_worker();
    inside.args(["--join", &cluster.address, "--name", "inside", "--store"]).arg(&disk);
    let output = inside.output().unwrap();
    let (_, err) = texts(&output);
    assert!(output.status.code() == Some(2) && err.contains("contains the layers of the run in"), "{err}");
    for file in ["worker-id", "lock", "log.jsonl"] {
        fs::remove_file(disk.join(file)).unwrap();
    }
    cluster.join_until("w1", "writing:40");
    cluster.dies("w1");
    cluster.join(&["w2"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert!(!run.join("layers").exists());
    well(&fathom().arg("verify").arg(&run).output().unwrap());
}

/// The copy names the same store. Two processes would delete each other's layers.
#[test]
fn copied_directory_does_not_use_the_store() {
    let run = Run::new();
    let begin = ["run", "3x3", "--max-depth", "5", "--dir", "run", "--store", "disk", "-q"];
    well(&run.command(&begin).output().unwrap());
    let copied = Command::new("cp").arg("-r").arg(run.path("run")).arg(run.path("copy")).status().unwrap();
    assert!(copied.success());
    for arguments in
        [&["resume", "copy", "-q"][..], &["merge", "copy", "--depth", "5"], &["remove", "copy", "--all"]]
    {
        let output = run.command(arguments).output().unwrap();
        let (_, err) = texts(&output);
        assert!(output.status.code() == Some(2) && err.contains("is a copy of"), "{arguments:?}: {err}");
    }
    // If the original is gone, or is the same directory under another name, the copy may use the store.
    symlink(run.path("run"), run.path("link")).unwrap();
    well(&run.command(&["resume", "link", "-q", "--max-depth", "6"]).output().unwrap());
    fs::remove_dir_all(run.path("run")).unwrap();
    well(&run.command(&["resume", "copy", "-q", "--max-depth", "5"]).output().unwrap());
}
