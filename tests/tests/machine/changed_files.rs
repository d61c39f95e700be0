//! Another program writes to a layer file in place while the next layer is computed from it. A coset is
//! compared with its checksum only when it is first read, so what a task reads later could be anything. Files
//! computed in the meantime do not count.

use fathom_engine::directory::RunDirectory;
use fathom_engine::run::ShardId;
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::process::{signal, until, until_stopped};
use fathom_tests::{assert_same, fathom, fathom_worker, json, texts};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

const SPACE: [&str; 3] = ["2x6", "--shards", "10"];
const SAYS: &str = "was changed while it was in use: no other program may write to layer files";

fn files(run: &Path, depth: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(run.join(format!("layers/d{depth:03}")));
    entries.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// Changes one bit of each file, and keeps its length.
fn change(files: &[PathBuf]) {
    for path in files {
        let file = File::options().read(true).write(true).open(path).unwrap();
        let (mut byte, at) = ([0], file.metadata().unwrap().len() - 100);
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 8], at).unwrap();
    }
}

/// Lets a command suspend itself before its last shard of depth 8 is durable, changes depth 7, and resumes
/// the command. Then restores depth 7, as a copy in place would.
fn disturbed(mut command: Command, shards: u32, run: &Path) -> Output {
    command.env("FATHOM_FAILPOINT", format!("writing:{shards}:stop"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_stopped(&child);
    let files = files(run, 7);
    let whole: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(files.len(), 10);
    change(&files);
    signal(&child, libc::SIGCONT);
    let output = child.wait_with_output().unwrap();
    files.iter().zip(whole).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    output
}

fn assert_refused(output: &Output) {
    let (out, err) = texts(output);
    assert_eq!((output.status.code(), out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains("layers/d007/s0000") && err.contains(SAYS), "{err}");
}

fn search(run: &Path, keep: &str) -> Command {
    let mut command = fathom();
    command.arg("run").args(SPACE).args(["--keep", keep, "--threads", "1", "--json"]);
    command.arg("--dir").arg(run);
    command
}

#[test]
fn search_recomputes_the_layer() {
    // At most two tasks are in progress at the same time, so before the last of ten shards is computed, eight
    // are released. The ninth may have been completed just before the stop.
    for (keep, given_back) in [("last", 0..=0), ("all", 0..=0), ("two", 8..=9)] {
        let directory = fathom_tests::tempdir().unwrap();
        let run = directory.path().join("run");
        assert_refused(&disturbed(search(&run, keep), 90, &run));
        let journal = RunDirectory::open(&run).unwrap().journal;
        let layers = journal.layers().unwrap();
        assert_eq!(layers.len(), 8);
        // Shards computed from a released shard cannot be recomputed, and were compared before.
        let stay: Vec<ShardId> = journal.given_back(&layers).unwrap().into_keys().collect();
        assert!(given_back.contains(&stay.len()), "{keep}: {stay:?}");
        let mut names = files(&run, 8);
        names.sort_unstable();
        let expected = stay.iter().map(|shard| run.join(format!("layers/d008/s{:05}.layer", shard.0)));
        assert_eq!(names, expected.collect::<Vec<_>>(), "{keep}");
        drop(journal);
        assert_same(&json(&search(&run, keep).output().unwrap()), &undisturbed(&SPACE));
        let verified = fathom().arg("verify").arg(&run).output().unwrap();
        assert!(verified.status.success(), "{}", texts(&verified).1);
    }
}

/// The bytes of the older layer stay the same: what counts is that the file was written to.
#[test]
fn older_layer_is_checked_too() {
    for keep in ["last", "two"] {
        let directory = fathom_tests::tempdir().unwrap();
        let run = directory.path().join("run");
        let mut command = search(&run, keep);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.env("FATHOM_FAILPOINT", "writing:85:stop").spawn().unwrap();
        until_stopped(&child);
        for path in files(&run, 6) {
            fs::write(&path, fs::read(&path).unwrap()).unwrap();
        }
        signal(&child, libc::SIGCONT);
        let (_, err) = texts(&child.wait_with_output().unwrap());
        assert!(err.contains("layers/d006/s0000") && err.contains(SAYS), "{keep}: {err}");
        assert_same(&json(&search(&run, keep).output().unwrap()), &undisturbed(&SPACE));
    }
}

/// A process that is killed or fails on a disk error has not checked what it had read. The next process
/// trusts no file that is older than the last change of its sources.
#[test]
fn files_older_than_their_sources_are_recomputed() {
    for (puts_back, are_found) in [(false, true), (true, false)] {
        let directory = fathom_tests::tempdir().unwrap();
        let run = directory.path().join("run");
        let killed = search(&run, "last").env("FATHOM_FAILPOINT", "writing:85").output().unwrap();
        assert_eq!(killed.status.signal(), Some(libc::SIGKILL));
        assert_eq!(files(&run, 8).iter().filter(|path| path.extension().unwrap() == "layer").count(), 4);
        if puts_back {
            let path = files(&run, 7).swap_remove(0);
            fs::write(&path, fs::read(&path).unwrap()).unwrap();
        }
        assert_same(&json(&search(&run, "last").arg("-v").output().unwrap()), &undisturbed(&SPACE));
        let log = fs::read_to_string(run.join("log.jsonl")).unwrap();
        assert_eq!(log.contains("task found done"), are_found);
    }
}

#[test]
fn tasks_leave_no_file() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    assert!(search(&run, "last").args(["--max-depth", "7"]).output().unwrap().status.success());
    let task = |shards: &str| {
        let mut command = fathom_worker();
        command.args(["task", "-q", "--threads", "1", "--depth", "8", "--shards", shards, "--run"]).arg(&run);
        command
    };
    assert!(task("0-3").output().unwrap().status.success());
    assert_refused(&disturbed(task("2-9"), 6, &run));
    // The earlier task had read the original files.
    assert_eq!(files(&run, 8).len(), 4);
    assert!(task("0-9").output().unwrap().status.success());
    assert!(fathom().args(["merge", "-q", "--depth", "8"]).arg(&run).output().unwrap().status.success());
    assert_same(&json(&search(&run, "last").output().unwrap()), &undisturbed(&SPACE));
}

#[test]
fn worker_recomputes_its_tasks() {
    for more in [&["--keep", "all", "--audit", "0"][..], &["--audit", "100%", "--replicas", "2"]] {
        let mut cluster = Cluster::new(&SPACE, more);
        cluster.serve();
        cluster.join_until("w1", "writing:50:stop");
        if more.contains(&"--replicas") {
            cluster.join(&["w2"]);
        }
        cluster.until_stopped("w1");
        let files = cluster.files("w1");
        let depth = files.iter().map(|(depth, ..)| *depth).max().unwrap() - 1;
        let files = files.into_iter().filter(|(of, ..)| *of == depth);
        change(&files.map(|(_, _, path)| path).take(2).collect::<Vec<_>>());
        cluster.signal("w1", libc::SIGCONT);
        assert_same(&cluster.finishes(), &undisturbed(&SPACE));
        let deleted = cluster.logged_by("w1", "possibly wrong file deleted");
        let says =
            |line: &serde_json::Value| line["error"].as_str().is_some_and(|error| error.contains(SAYS));
        assert!(deleted.iter().any(says), "{deleted:?}");
    }
}

/// Returns a cluster with a shared store, and that store. The worker `w1` is suspended between tasks and
/// their report.
fn before_a_report(keep: &str) -> (Cluster, PathBuf) {
    sleeping(keep, "reporting:12:stop")
}

/// Returns a cluster with a shared store, and that store. The worker `w1` is suspended at a failpoint.
fn sleeping(keep: &str, failpoint: &str) -> (Cluster, PathBuf) {
    let mut cluster =
        Cluster::new(&SPACE, &["--audit", "0", "--keep", keep, "--lease", "2s", "--shared-store"]);
    let shared = cluster.path().join("shared");
    fs::create_dir(&shared).unwrap();
    cluster.option(&shared);
    cluster.serve();
    cluster.join_until("w1", failpoint);
    cluster.until_stopped("w1");
    (cluster, shared)
}

/// A worker is suspended between a task and its report, for longer than its lease. When it resumes, the files
/// in the store are those of another worker, which has read the changed ones.
#[test]
fn resumed_worker_deletes_no_files_of_others() {
    let (mut cluster, shared) = before_a_report("all");
    let depth = (0..).find(|&depth| files(&shared, depth + 1).is_empty()).unwrap();
    for path in files(&shared, depth - 1) {
        fs::write(&path, fs::read(&path).unwrap()).unwrap();
    }
    cluster.until_worker_is("w1", "lost");
    cluster.join_until("w2", "computing:15:stop");
    cluster.until_stopped("w2");
    cluster.signal("w1", libc::SIGCONT);
    until("the first worker has looked at its files", || {
        !cluster.logged_by("w1", "file kept: another worker has computed or reported it").is_empty()
    });
    cluster.signal("w2", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert!(cluster.logged_by("w1", "possibly wrong file deleted").is_empty());
    let verified = fathom().arg("verify").arg(cluster.run()).output().unwrap();
    assert!(verified.status.success(), "{}", texts(&verified).1);
}

/// A worker is suspended between tasks and their report, for longer than its lease. Another one finds the
/// files and reports them, and their layer is committed. Then their sources change, and the first worker
/// resumes.
#[test]
fn resumed_worker_deletes_no_reported_files() {
    let (mut cluster, shared) = before_a_report("last");
    let depth = (0..40).rev().find(|&depth| !files(&shared, depth).is_empty()).unwrap();
    let mut made = files(&shared, depth);
    made.retain(|path| path.extension().is_some_and(|of| of == "layer"));
    assert!(!made.is_empty());
    let inode = |path: &PathBuf| fs::metadata(path).ok().map(|file| file.ino());
    let before: Vec<Option<u64>> = made.iter().map(inode).collect();
    let status = cluster.until_worker_is("w1", "lost");
    assert_eq!(status["depth"], depth);
    // The other worker stops in the middle of the next depth. Some shards of that depth may be reported.
    let left = 10 - status["shards_done"].as_u64().unwrap();
    cluster.join_until("w2", &format!("computing:{}:stop", left + 5));
    cluster.until_stopped("w2");
    assert_eq!(made.iter().map(inode).collect::<Vec<_>>(), before, "its files were found");
    for path in files(&shared, depth - 1) {
        File::open(path).unwrap().set_modified(SystemTime::now()).unwrap();
    }
    cluster.signal("w1", libc::SIGCONT);
    until("the first worker has looked at its files", || {
        !cluster.logged_by("w1", "file kept: another worker has computed or reported it").is_empty()
    });
    assert_eq!(made.iter().map(inode).collect::<Vec<_>>(), before);
    cluster.signal("w2", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert!(cluster.logged_by("w1", "possibly wrong file deleted").is_empty());
}

/// A worker is suspended between the last coset of a task and the task's file, for longer than its lease.
/// Another one computes the file and reports it, and its layer is committed. Then its sources change, and the
/// first worker resumes.
#[test]
fn resumed_worker_replaces_no_reported_files() {
    let (mut cluster, shared) = sleeping("last", "writing:95:stop");
    cluster.until_worker_is("w1", "lost");
    cluster.join_until("w2", "computing:15:stop");
    cluster.until_stopped("w2");
    for path in files(&shared, 8) {
        File::open(path).unwrap().set_modified(SystemTime::now()).unwrap();
    }
    let inodes = || -> BTreeMap<PathBuf, u64> {
        files(&shared, 9).into_iter().map(|path| (path.clone(), fs::metadata(path).unwrap().ino())).collect()
    };
    let mut made = inodes();
    made.retain(|path, _| path.extension().is_some_and(|of| of == "layer"));
    assert_eq!((made.len(), inodes().len()), (10, 11), "the first worker has written its file");
    cluster.signal("w1", libc::SIGCONT);
    until("the first worker has completed its task", || files(&shared, 9).len() == 10);
    assert_eq!(inodes(), made);
    cluster.signal("w2", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert!(cluster.logged_by("w1", "possibly wrong file deleted").is_empty());
}
