//! A coordinator and its workers as processes on this machine, and the faults that tests inject into them.

use crate::layers::layer_files;
use crate::process::{PATIENCE, POLL_INTERVAL, free_port, prefixed, signal, start, until, until_stopped};
use crate::{fathom, fathom_worker, json};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Instant;
use tempfile::TempDir;

/// Returns what `fathom run --json` prints for a space in an undisturbed run. The result of each space is
/// cached, so that it is computed once.
///
/// # Panics
/// If the run fails.
pub fn undisturbed(space: &[&str]) -> Value {
    static FOUND: Mutex<Option<HashMap<String, Value>>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    let entry = found.entry(space.join(" ")).or_insert_with(|| {
        let directory = crate::tempdir().expect("a temporary directory");
        let mut command = fathom();
        command.arg("run").args(space).args(["-q", "--json", "--dir"]).arg(directory.path().join("run"));
        json(&command.output().expect("fathom starts"))
    });
    entry.clone()
}

/// A served run. When the value is dropped, all remaining processes are killed.
#[derive(Debug)]
pub struct Cluster {
    directory: TempDir,
    space: Vec<String>,
    options: Vec<String>,
    /// The address at which the coordinator listens.
    pub address: String,
    /// A prefix for commands that serve or query, such as `ip netns exec`.
    prefix: Vec<String>,
    coordinator: Option<Child>,
    workers: BTreeMap<String, Child>,
}

impl Cluster {
    /// Creates a cluster for a space, with options of `fathom serve`. Nothing is started yet.
    ///
    /// # Panics
    /// If no temporary directory can be created.
    pub fn new(space: &[&str], options: &[&str]) -> Self {
        Self::within(crate::tempdir().expect("a temporary directory"), space, options)
    }

    /// Creates a cluster whose files are on a disk.
    ///
    /// # Panics
    /// If no temporary directory can be created.
    pub fn on_disk(space: &[&str], options: &[&str]) -> Self {
        Self::within(tempfile::tempdir().expect("a temporary directory"), space, options)
    }

    fn within(directory: TempDir, space: &[&str], options: &[&str]) -> Self {
        // The programs are built here, before any time limit starts.
        let _ = (fathom(), fathom_worker());
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Self {
            directory,
            space: words(space),
            options: words(options),
            address: format!("127.0.0.1:{}", free_port()),
            prefix: Vec::new(),
            coordinator: None,
            workers: BTreeMap::new(),
        }
    }

    /// Puts a prefix before the coordinator and the commands that query it, and gives the coordinator another
    /// address.
    pub fn behind(mut self, prefix: &[&str], address: &str) -> Self {
        self.prefix = prefix.iter().map(|&word| word.to_owned()).collect();
        self.address = address.into();
        self
    }

    /// Adds an option of `fathom serve`.
    ///
    /// # Panics
    /// If the option is not UTF-8.
    pub fn option(&mut self, option: &Path) {
        self.options.push(option.to_str().expect("paths of tests are UTF-8").into());
    }

    /// Returns the directory with all files of the cluster.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the run's directory.
    pub fn run(&self) -> PathBuf {
        self.path().join("run")
    }

    /// Returns the store of a worker.
    pub fn store(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn prefixed(&self, command: &Command) -> Command {
        prefixed(&self.prefix, command)
    }

    /// Runs a command that queries the coordinator: `fathom WORD ADDRESS …`.
    pub fn ask(&self, word: &str, more: &[&str]) -> Output {
        let mut command = fathom();
        command.arg(word).arg(&self.address).args(more);
        self.prefixed(&command).output().expect("fathom starts")
    }

    /// Returns the command that serves the run.
    pub fn serving(&self) -> Command {
        let mut command = fathom();
        command.arg("serve").args(&self.space).arg("--json").arg("--dir").arg(self.run()).args(&self.options);
        for (option, usual) in [("--lease", "2s"), ("--listen", &self.address)] {
            if !self.options.iter().any(|given| given == option) {
                command.args([option, usual]);
            }
        }
        self.prefixed(&command)
    }

    /// Starts the coordinator.
    pub fn serve(&mut self) {
        self.serve_by(self.serving());
    }

    /// Starts the coordinator with a failpoint: `POINT:N` kills it when it reaches the point for the N-th
    /// time, `POINT:N:stop` suspends it there.
    pub fn serve_until(&mut self, failpoint: &str) {
        let mut command = self.serving();
        command.env("FATHOM_FAILPOINT", failpoint);
        self.serve_by(command);
    }

    /// Starts the coordinator with a command, and waits until it listens.
    ///
    /// # Panics
    /// If the cluster has a coordinator already.
    pub fn serve_by(&mut self, mut command: Command) {
        assert!(self.coordinator.is_none(), "one coordinator is enough");
        let before = self.logged("listening").len();
        let mut child = start(&mut command, &self.path().join("coordinator"));
        until("the coordinator listens, or ends", || {
            self.logged("listening").len() > before || child.try_wait().is_ok_and(|ended| ended.is_some())
        });
        self.coordinator = Some(child);
    }

    /// Returns the command that joins as a worker.
    pub fn joining(&self, name: &str) -> Command {
        self.joining_at(name, &self.address)
    }

    /// Returns the command that joins as a worker at another of the coordinator's addresses.
    pub fn joining_at(&self, name: &str, coordinator: &str) -> Command {
        let mut command = fathom_worker();
        command.args(["--join", coordinator, "--name", name, "--threads", "1"]);
        command.arg("--store").arg(self.store(name));
        command
    }

    /// Starts workers, and waits until the coordinator knows them: otherwise the run could be complete before
    /// the last one has registered.
    pub fn join(&mut self, names: &[&str]) {
        let before: Vec<usize> = names.iter().map(|name| self.registrations(name)).collect();
        names.iter().for_each(|name| self.join_by(name, self.joining(name)));
        until("the workers are registered", || {
            names.iter().zip(&before).all(|(name, before)| self.registrations(name) > *before)
        });
    }

    /// Starts workers in a run that has not started, and lets none of them get ahead: the first one stops at
    /// its first task until the coordinator knows the others.
    ///
    /// # Panics
    /// If no worker is named.
    pub fn join_together(&mut self, names: &[&str]) {
        let (first, others) = names.split_first().expect("a worker");
        self.join_until(first, "computing:1:stop");
        self.until_stopped(first);
        self.join(others);
        self.signal(first, libc::SIGCONT);
    }

    /// Returns how often a worker has registered.
    fn registrations(&self, name: &str) -> usize {
        let of = format!("{name} at ");
        let lines = self.logged("worker registered");
        lines.iter().filter(|line| line["detail"].as_str().is_some_and(|is| is.starts_with(&of))).count()
    }

    /// Starts a worker with a failpoint: `POINT:N` kills it when it reaches the point for the N-th time,
    /// `POINT:N:stop` suspends it there. Waits until the coordinator knows the worker: otherwise a worker
    /// that is started next could leave no work for this one.
    pub fn join_until(&mut self, name: &str, failpoint: &str) {
        let mut command = self.joining(name);
        command.env("FATHOM_FAILPOINT", failpoint);
        self.join_first(name, command);
    }

    /// Starts a worker with a command, and waits until the coordinator knows the worker.
    ///
    /// # Panics
    /// If the worker has been started already.
    pub fn join_first(&mut self, name: &str, command: Command) {
        let before = self.registrations(name);
        self.join_by(name, command);
        until("the worker is registered", || self.registrations(name) > before);
    }

    /// Starts a worker with a command.
    ///
    /// # Panics
    /// If the worker has been started already.
    pub fn join_by(&mut self, name: &str, mut command: Command) {
        let child = start(&mut command, &self.path().join(format!("{name}-worker")));
        assert!(self.workers.insert(name.into(), child).is_none(), "{name} is there already");
    }

    /// Returns the process of a worker.
    pub fn worker(&self, name: &str) -> &Child {
        &self.workers[name]
    }

    /// Sends a signal to a worker.
    pub fn signal(&self, name: &str, number: i32) {
        signal(self.worker(name), number);
    }

    /// Waits until a failpoint has suspended a worker.
    pub fn until_stopped(&self, name: &str) {
        until_stopped(self.worker(name));
    }

    /// Starts a coordinator that suspends itself as soon as `layers` layers are committed, so that a test can
    /// act in the middle of the run.
    pub fn serve_up_to(&mut self, layers: u32) {
        self.serve_until(&format!("committed:{layers}:stop"));
    }

    /// Waits until the coordinator has suspended itself, calls `act`, and resumes the coordinator.
    pub fn in_the_middle(&mut self, act: impl FnOnce(&mut Self)) {
        self.until_coordinator_stopped();
        act(self);
        self.signal_coordinator(libc::SIGCONT);
    }

    /// Starts a worker that computes all layers before a depth and then dies. The run has `shards` shards.
    /// Only this worker holds these layers, and no file of that depth exists. The cluster must run without
    /// audits, so that the number of tasks is known.
    pub fn alone_until(&mut self, name: &str, depth: u32, shards: u32) {
        self.join_until(name, &format!("computing:{}", depth * shards + 1));
        self.dies(name);
    }

    /// Starts a worker that computes `layers` layers, and then brings the run to a standstill: from then on,
    /// two workers must hold each file, so the files of the worker stay until another one joins. The cluster
    /// must run without audits, so that nothing is read when this function returns.
    pub fn stands_still(&mut self, name: &str, layers: u32) {
        self.serve_up_to(layers);
        self.join(&[name]);
        self.until_coordinator_stopped();
        self.signal_coordinator(libc::SIGKILL);
        self.coordinator_dies();
        self.options.extend(["--replicas".into(), "2".into()]);
        self.serve();
        self.until_status("the run halts", |status| {
            let workers = status["workers"].as_array().expect("a list of workers");
            status["obstacle"].as_str().is_some_and(|obstacle| obstacle.contains("2 workers must hold"))
                && status["shards_waiting"] == 0
                && workers.iter().all(|worker| worker["shards_running"] == 0)
        });
    }

    /// Waits until a failpoint has suspended the coordinator.
    ///
    /// # Panics
    /// If no coordinator was started.
    pub fn until_coordinator_stopped(&self) {
        until_stopped(self.coordinator.as_ref().expect("a coordinator"));
    }

    /// Sends a signal to the coordinator.
    ///
    /// # Panics
    /// If no coordinator was started.
    pub fn signal_coordinator(&self, number: i32) {
        signal(self.coordinator.as_ref().expect("a coordinator"), number);
    }

    /// Waits until a worker ends.
    pub fn ends(&mut self, name: &str) -> ExitStatus {
        let mut child = self.workers.remove(name).expect("a worker that was started");
        let ended = self.ended(name, &mut child);
        // The worker is put back, so that it is killed with the others when the cluster is dropped.
        ended.unwrap_or_else(|| {
            self.workers.insert(name.into(), child);
            panic!("{name} does not end")
        })
    }

    /// Waits until a failpoint, or the test, has killed a worker.
    ///
    /// # Panics
    /// If the worker ended in another way.
    pub fn dies(&mut self, name: &str) {
        let status = self.ends(name);
        assert_eq!(status.signal(), Some(libc::SIGKILL), "{name} was not killed: {status}\n{}", self.said());
    }

    /// Kills several workers at the same time.
    pub fn kill(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.signal(name, libc::SIGKILL));
        names.iter().for_each(|name| self.dies(name));
    }

    /// Waits until the coordinator ends.
    ///
    /// # Panics
    /// If the coordinator does not end within [`PATIENCE`].
    pub fn coordinator_ends(&mut self) -> ExitStatus {
        let mut child = self.coordinator.take().expect("a coordinator");
        let ended = self.ended("the coordinator", &mut child);
        ended.unwrap_or_else(|| {
            self.coordinator = Some(child);
            panic!("the coordinator does not end\n{}", self.said())
        })
    }

    /// Waits until a failpoint, or the test, has killed the coordinator.
    ///
    /// # Panics
    /// If the coordinator ended in another way.
    pub fn coordinator_dies(&mut self) {
        let status = self.coordinator_ends();
        assert_eq!(status.signal(), Some(libc::SIGKILL), "it was not killed: {status}\n{}", self.said());
    }

    fn ended(&self, who: &str, child: &mut Child) -> Option<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = child.try_wait().expect("a child of this process") {
                return Some(status);
            }
            sleep(POLL_INTERVAL);
        }
        eprintln!("{who} does not end:\n{}", self.said());
        None
    }

    /// Waits until the run is complete and all processes have exited without an error. Returns what the
    /// coordinator printed.
    ///
    /// # Panics
    /// If any process exits in another way.
    pub fn finishes(&mut self) -> Value {
        let status = self.coordinator_ends();
        assert!(status.success(), "the coordinator ended with {status}:\n{}", self.said());
        let names: Vec<String> = self.workers.keys().cloned().collect();
        for name in names {
            let status = self.ends(&name);
            assert!(status.success(), "{name} ended with {status}:\n{}", self.said());
        }
        let out = fs::read_to_string(self.path().join("coordinator.out")).expect("what it printed");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// Returns what `fathom status ADDRESS --json` prints; `None` if no coordinator answers.
    pub fn status(&self) -> Option<Value> {
        let output = self.ask("status", &["--json"]);
        output.status.success().then(|| json(&output))
    }

    /// Waits until the status satisfies a condition, and returns it.
    ///
    /// # Panics
    /// If the condition is not satisfied within [`PATIENCE`].
    pub fn until_status(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let status = self.status();
            if let Some(status) = status.as_ref().filter(|status| is_so(status)) {
                return status.clone();
            }
            assert!(begun.elapsed() < PATIENCE, "never: {what}; last status {status:?}\n{}", self.said());
            sleep(POLL_INTERVAL);
        }
    }

    /// Returns the presence of a worker, given its name in a status.
    pub fn presence<'v>(status: &'v Value, name: &str) -> Option<&'v str> {
        let workers = status["workers"].as_array()?;
        workers.iter().find(|worker| worker["name"] == name)?["presence"].as_str()
    }

    /// Returns the address where a worker serves its peers. A status lists workers by their ids, which are
    /// random.
    ///
    /// # Panics
    /// If no coordinator answers, or no worker has this name.
    pub fn exchange_address(&self, name: &str) -> String {
        let status = self.status().expect("a coordinator that answers");
        let mut workers = status["workers"].as_array().into_iter().flatten();
        let worker = workers.find(|worker| worker["name"] == name).expect("a worker of this name");
        worker["address"].as_str().expect("an address").into()
    }

    /// Returns the id of a worker, given its name in a status.
    pub fn worker_id(status: &Value, name: &str) -> Option<String> {
        let workers = status["workers"].as_array()?;
        let worker = workers.iter().find(|worker| worker["name"] == name)?;
        worker["id"].as_str().map(str::to_owned)
    }

    /// Waits until the coordinator reports a presence for a worker: alive, lost, left.
    pub fn until_worker_is(&self, name: &str, presence: &str) -> Value {
        self.until_status(&format!("{name} is {presence}"), |status| {
            Self::presence(status, name) == Some(presence)
        })
    }

    /// Returns the lines of the coordinator's log that have a given message.
    pub fn logged(&self, message: &str) -> Vec<Value> {
        lines(&self.run().join("log.jsonl"), message)
    }

    /// Returns the lines of a worker's log that have a given message.
    pub fn logged_by(&self, name: &str, message: &str) -> Vec<Value> {
        lines(&self.store(name).join("log.jsonl"), message)
    }

    /// Waits until the coordinator has logged a message.
    ///
    /// # Panics
    /// If the message is not logged within [`PATIENCE`].
    pub fn until_logged(&self, message: &str) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let lines = self.logged(message);
            if !lines.is_empty() {
                return lines;
            }
            assert!(begun.elapsed() < PATIENCE, "{message:?} was never logged\n{}", self.said());
            sleep(POLL_INTERVAL);
        }
    }

    /// Returns the layer files in a worker's store: depth, shard and path.
    pub fn files(&self, name: &str) -> Vec<(u32, u32, PathBuf)> {
        let Ok(entries) = fs::read_dir(self.store(name)) else { return Vec::new() };
        entries.flat_map(|entry| layer_files(&entry.expect("an entry").path().join("layers"))).collect()
    }

    /// Returns the last lines that each process wrote to standard error.
    pub fn said(&self) -> String {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "err"))
            .collect();
        files.sort();
        let said = files.iter().map(|path| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last = lines[lines.len().saturating_sub(60)..].join("\n");
            format!("--- {}\n{last}\n", path.file_name().unwrap_or_default().to_string_lossy())
        });
        said.collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.said());
        }
        for child in self.workers.values_mut().chain(&mut self.coordinator) {
            // The process may have exited already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the lines of a log that have a given message.
fn lines(log: &Path, message: &str) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["message"] == message).collect()
}
