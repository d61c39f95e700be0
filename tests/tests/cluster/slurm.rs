//! The scripts of `deploy/slurm` under a real Slurm.

use fathom_proto::{JoinFile, JoinState};
use fathom_tests::slurm::Slurm;
use fathom_tests::{assert_same, fathom, json, texts};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const SPACE: &str = "3x4";

/// Returns the result of an undisturbed `fathom run`.
fn undisturbed(slurm: &Slurm, arguments: &[&str]) -> Value {
    let path = slurm.path().join("undisturbed");
    json(&fathom().args(["run", "-q", "--json", "--dir"]).arg(path).args(arguments).output().unwrap())
}

/// A run computed by job arrays.
struct Chain<'a> {
    slurm: &'a Slurm,
    path: PathBuf,
}

impl Chain<'_> {
    fn submit(&self, arguments: &[&str]) -> Output {
        let mut command = self.slurm.command(self.slurm.script("array.sbatch"));
        command.arg(&self.path).args(["--tasks", "3", "--threads", "1"]).args(arguments).output().unwrap()
    }

    fn status(&self) -> Value {
        json(&fathom().args(["status", "--json"]).arg(&self.path).output().unwrap())
    }

    fn layers(&self) -> usize {
        self.status()["counts"].as_array().unwrap().len()
    }

    /// Waits until the chain has ended, for any reason.
    fn ended(&self) {
        self.slurm.until("the chain ends", || self.slurm.ask("squeue", &["--noheader"]).is_empty());
    }

    /// Returns the logs of the jobs whose names contain `of`.
    fn logs(&self, of: &str) -> String {
        let Ok(entries) = fs::read_dir(self.path.with_extension("slurm")) else { return String::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let named = |path: &&PathBuf| path.file_name().unwrap().to_string_lossy().contains(of);
        paths.iter().filter(named).map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    /// Waits until a task of a depth has started. Returns a running job.
    fn meet(&self, depth: u32) -> String {
        let layer = self.path.join(format!("layers/d{depth:03}"));
        self.slurm.until("a task starts", || unfinished(&layer));
        let name = format!("-d{depth:03}");
        let running = self.slurm.jobs("RUNNING");
        running.into_iter().find(|(_, job)| job.ends_with(&name)).expect("a task is running").0
    }
}

/// Returns how often Slurm put a job back into the queue.
fn restarts(slurm: &Slurm, job: &str) -> u32 {
    let said = slurm.ask("scontrol", &["show", "job", job]);
    said.split_once("Restarts=").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok()).unwrap_or(0)
}

fn unfinished(layer: &Path) -> bool {
    let names = fs::read_dir(layer).into_iter().flatten().map(|entry| entry.unwrap().path());
    names.into_iter().any(|path| path.extension().is_some_and(|extension| extension == "tmp"))
}

#[test]
fn job_arrays_complete_a_run() {
    let Some(slurm) = Slurm::start() else { return };
    // Slurm would expand this to the job's number in the names of logs.
    let chain = Chain { slurm: &slurm, path: slurm.path().join("run%j") };
    let nothing = chain.submit(&[]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(texts(&nothing).1.contains("start one with --begin"), "{}", texts(&nothing).1);
    let begin = format!("{SPACE} --shards 6");
    let refused = chain.submit(&["--begin", &begin, "--", "--partition=nowhere"]);
    let (out, err) = texts(&refused);
    assert_eq!((refused.status.code(), out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains("error: sbatch rejected the job"), "{err}");
    let submitted = chain.submit(&["--begin", &begin, "--", "--comment=from the user"]);
    assert!(submitted.status.success(), "{}", texts(&submitted).1);
    // A second chain would interfere with the first one.
    let again = chain.submit(&["--begin", &begin]);
    assert_eq!(again.status.code(), Some(2));
    assert!(texts(&again).1.contains("already has jobs in the queue"), "{}", texts(&again).1);
    chain.ended();
    assert_same(&chain.status(), &undisturbed(&slurm, &[SPACE]));
    assert!(chain.logs("-merge").contains("the run is complete"), "{}", chain.logs("-merge"));
    // Submits the chain again for a complete run.
    assert!(chain.submit(&[]).status.success());
    chain.ended();
    assert_eq!(chain.logs("-begin").matches("the run is complete").count(), 1, "{}", chain.logs("-begin"));
}

#[test]
fn chain_stops_at_a_failure_and_continues() {
    let Some(slurm) = Slurm::start() else { return };
    let chain = Chain { slurm: &slurm, path: slurm.path().join("run") };
    let begun = fathom()
        .args(["run", SPACE, "-q", "--shards", "6", "--max-depth", "9", "--dir"])
        .arg(&chain.path)
        .output();
    assert!(begun.unwrap().status.success());
    let file = chain.path.join("layers/d009/s00002.layer");
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    let at = damaged.len() - 100;
    damaged[at] ^= 4;
    fs::write(&file, damaged).unwrap();
    assert!(chain.submit(&[]).status.success());
    chain.ended();
    assert_eq!(chain.layers(), 10);
    assert!(
        chain.logs("-d010.").contains("d009/s00002.layer is damaged at coset"),
        "{}",
        chain.logs("-d010.")
    );
    let said = chain.logs("-d010-merge");
    for says in ["depth 10 is missing", "the chain stops at depth 10", "continue with: array.sbatch"] {
        assert!(said.contains(says), "{said}");
    }
    fs::write(&file, whole).unwrap();
    assert!(chain.submit(&[]).status.success());
    chain.ended();
    assert_same(&chain.status(), &undisturbed(&slurm, &[SPACE]));
}

/// The job that starts a run is killed before depth 0 exists.
#[test]
fn chain_continues_from_an_interrupted_start() {
    const SMALL: &str = "2x3";
    let Some(slurm) = Slurm::start() else { return };
    let chain = Chain { slurm: &slurm, path: slurm.path().join("run") };
    let mut killed = fathom();
    killed.args(["run", SMALL, "-q", "--shards", "2", "--dir"]).arg(&chain.path);
    assert!(!killed.env("FATHOM_FAILPOINT", "writing:1").output().unwrap().status.success());
    assert_eq!(chain.layers(), 0);
    assert!(chain.submit(&["--begin", "2x3 --shards 2"]).status.success());
    chain.ended();
    assert_same(&chain.status(), &undisturbed(&slurm, &[SMALL]));
}

/// Tasks take about a second at this depth.
const SLOW: [&str; 5] = ["2x7", "--shards", "6", "--max-depth", "9"];

#[test]
fn stopped_or_requeued_tasks_are_run_again() {
    let Some(slurm) = Slurm::start() else { return };
    let chain = Chain { slurm: &slurm, path: slurm.path().join("run") };
    let begun = fathom().args(["run", "-q", "--dir"]).arg(&chain.path).args(SLOW).output();
    assert!(begun.unwrap().status.success());
    assert!(chain.submit(&["--", "--signal=B:TERM@60", "--time=30"]).status.success());

    // Signals all tasks, as Slurm does at the end of their time limit; one of them may have completed before.
    let met = chain.meet(10);
    let (array, _) = met.split_once('_').expect("an element of an array");
    let array: Vec<String> = (0..3).map(|element| format!("{array}_{element}")).collect();
    // A signal before the script can handle it would end its job.
    slurm.until("all tasks have started", || chain.logs("-d010.").matches("makes shards").count() == 3);
    slurm.ask("scancel", &["--signal=TERM", "--batch", &array[0], &array[1], &array[2]]);
    for job in &array {
        slurm.until("the task is requeued", || restarts(&slurm, job) == 1);
    }
    let said = chain.logs("-d010.");
    // A task may receive the signal before it begins to compute.
    assert_eq!(said.matches("requeuing job").count(), 3, "{said}");

    // Slurm itself requeues a task, as after a preemption.
    let requeued = chain.meet(10);
    slurm.ask("scontrol", &["requeue", &requeued]);
    slurm.until("Slurm requeues the task", || restarts(&slurm, &requeued) == 2);

    slurm.until("depth 10 is merged", || chain.layers() == 11);
    // A cancelled chain stays cancelled, although its tasks receive the same signal as above.
    slurm.until("depth 11 starts", || slurm.jobs("RUNNING").iter().any(|(_, name)| name.ends_with("-d011")));
    slurm.ask("scancel", &["--user=root"]);
    chain.ended();
    assert_same(&chain.status(), &undisturbed(&slurm, &["2x7", "--max-depth", "10"]));
}

#[test]
fn stopped_coordinator_and_workers_are_requeued() {
    let Some(slurm) = Slurm::start() else { return };
    let directory = slurm.path().join("cluster");
    let said = |name: &str| fs::read_to_string(slurm.path().join(name)).unwrap_or_default();
    let submit = |script: &str, log: &str, options: &[&str], arguments: &[&str]| {
        let mut command = slurm.command("sbatch");
        command.arg("--parsable").arg("--output").arg(slurm.path().join(log)).args(options);
        let output = command.arg(slurm.script(script)).arg(&directory).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", texts(&output).1);
        texts(&output).0.trim().to_owned()
    };
    let keys = fathom().arg("keys").arg(directory.join("keys")).output().unwrap();
    assert!(keys.status.success(), "{}", texts(&keys).1);
    // The workers start first, and wait for the coordinator.
    let workers = submit("worker.sbatch", "worker-%a.log", &["--array=1-2"], &[]);
    let serve = ["2x7", "--shards", "12", "--max-depth", "10"];
    let coordinator = submit("coordinator.sbatch", "coordinator.log", &[], &serve);

    let stop = |job: &str| {
        slurm.ask("scancel", &["--signal=TERM", "--batch", job]);
        slurm.until("the job is requeued", || restarts(&slurm, job) == 1);
    };
    let layers = directory.join("run/layers");
    slurm.until("depth 9 starts", || unfinished(&layers.join("d009")));
    let worker = format!("{workers}_2");
    stop(&worker);
    slurm.until("depth 10 starts", || unfinished(&layers.join("d010")));
    stop(&coordinator);
    slurm.until("the run ends", || slurm.ask("squeue", &["--noheader"]).is_empty());
    for job in [coordinator, worker, format!("{workers}_1")] {
        let told = slurm.ask("scontrol", &["show", "job", &job]);
        assert!(
            told.contains("JobState=COMPLETED"),
            "{told}\n{}",
            said("worker-1.log") + said("worker-2.log").as_str()
        );
    }
    let status = fathom().args(["status", "--json"]).arg(directory.join("run")).output().unwrap();
    assert_same(&json(&status), &undisturbed(&slurm, &["2x7", "--max-depth", "10"]));
}

/// A coordinator that a user stops has not completed the run: workers wait for the next one.
#[test]
fn stopped_coordinator_is_not_taken_for_complete() {
    let Some(slurm) = Slurm::start() else { return };
    let directory = slurm.path().join("cluster");
    let keys = directory.join("keys");
    assert!(fathom().arg("keys").arg(&keys).output().unwrap().status.success());
    let log = slurm.path().join("coordinator.log");
    let serve = |more: &[&str]| {
        let mut command = slurm.command("sbatch");
        command.arg("--output").arg(&log).arg(slurm.script("coordinator.sbatch")).arg(&directory);
        let output = command.args(["2x7", "--shards", "12"]).args(more).output().unwrap();
        assert!(output.status.success(), "{}", texts(&output).1);
        let join =
            || JoinFile::read(&directory.join("join")).ok().filter(|join| join.state == JoinState::Serving);
        slurm.until("the coordinator serves", || join().is_some());
        join().unwrap().address
    };
    let jobs = || slurm.ask("squeue", &["--noheader"]).lines().count();
    let address = serve(&[]);
    let mut worker = slurm.command("sbatch");
    worker.arg("--output").arg(slurm.path().join("worker.log"));
    worker.arg(slurm.script("worker.sbatch")).arg(&directory);
    assert!(worker.output().unwrap().status.success());
    slurm.until("depth 8 starts", || unfinished(&directory.join("run/layers/d008")));
    assert!(fathom().args(["stop", &address, "--keys"]).arg(&keys).output().unwrap().status.success());
    slurm.until("the coordinator's job ends", || jobs() == 1);
    let state = || JoinFile::read(&directory.join("join")).unwrap().state;
    assert_eq!(state(), JoinState::Stopped);
    serve(&["--max-depth=10"]);
    slurm.until("both jobs end", || jobs() == 0);
    assert_eq!(state(), JoinState::Ended);
    let said = fs::read_to_string(slurm.path().join("worker.log")).unwrap();
    assert_eq!(said.matches("INFO registered").count(), 2, "{said}");
}
