//! Workers that report wrong results.

use fathom_engine::directory::RunDirectory;
use fathom_engine::run::{ShardCut, ShardId};
use fathom_proto::Sealed;
use fathom_proto::access::{Access, AccessArguments, Connection};
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use fathom_proto::v1::{self, command, failure, outcome};
use fathom_tests::assert_same;
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::forge::{exchange_cosets, move_state};
use fathom_tests::process::until;
use std::os::unix::fs::symlink;
use std::time::Duration;

const SPACE: [&str; 3] = ["3x3", "--shards", "2"];

/// A worker that speaks the protocol and has no data.
struct Liar {
    client: CoordinatorClient<Connection>,
    session: u64,
}

impl Liar {
    async fn join(cluster: &Cluster) -> Self {
        let token_file = Some(cluster.run().join("token"));
        let access = Access::load(&AccessArguments { token_file, ..AccessArguments::default() }).unwrap();
        let connection = access.connect(&cluster.address, Duration::from_secs(60)).await.unwrap();
        let mut client = CoordinatorClient::new(connection);
        let described = client
            .describe_run(v1::DescribeRunRequest {
                protocol_version: v1::PROTOCOL_VERSION,
                worker_name: "liar".into(),
            })
            .await
            .unwrap()
            .into_inner();
        let manifest = fathom_engine::run::RunManifest::from_toml(&described.definition).unwrap();
        let registered = client
            .register(v1::RegisterRequest {
                protocol_version: v1::PROTOCOL_VERSION,
                fingerprint: manifest.fingerprint.0.to_vec().into(),
                worker_id: vec![7; 16].into(),
                name: "liar".into(),
                exchange_address: "127.0.0.1:1".into(),
                threads: 1,
                ..Default::default()
            })
            .await
            .unwrap();
        Self { client, session: registered.into_inner().session }
    }

    /// Returns the next tasks that the coordinator assigns to this worker.
    async fn tasks(&mut self) -> Vec<v1::ComputeShard> {
        self.some_tasks(4).await
    }

    async fn some_tasks(&mut self, tasks: u32) -> Vec<v1::ComputeShard> {
        loop {
            let request = v1::TakeCommandsRequest { session: self.session, tasks, holders_version: 0 };
            let commands = self.client.take_commands(request).await.unwrap().into_inner().commands;
            let tasks = commands.into_iter().filter_map(|order| match order.kind {
                Some(command::Kind::ComputeShard(make)) => Some(make),
                _ => None,
            });
            let tasks: Vec<_> = tasks.collect();
            if !tasks.is_empty() {
                return tasks;
            }
        }
    }

    async fn report(
        &mut self,
        make: &v1::ComputeShard,
        report: v1::ShardReport,
    ) -> Result<(), tonic::Status> {
        self.say(make, outcome::Result::Made(report)).await
    }

    /// Reports that the shard could not be computed because a file is damaged: the worker's own file, or that
    /// of the worker at an address.
    async fn blame(&mut self, make: &v1::ComputeShard, (depth, shard): (u32, u32), address: &str) {
        let (file, message) = (Some(v1::File { depth, shard }), "no such bits".into());
        let damaged = v1::Damaged { file, address: address.into(), message };
        let failure = v1::Failure { kind: Some(failure::Kind::Damaged(damaged)) };
        self.say(make, outcome::Result::Failure(failure)).await.unwrap();
    }

    async fn say(&mut self, make: &v1::ComputeShard, result: outcome::Result) -> Result<(), tonic::Status> {
        let outcome = v1::Outcome { file: make.file, attempt: make.attempt, result: Some(result) };
        let (session, outcomes) = (self.session, vec![outcome]);
        let request = v1::ReportRequest { session, outcomes, ..Default::default() };
        self.client.report(request.seal()).await.map(|_| ())
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Returns a report that all states are in one shard at depth 0, in a run of `cosets` cosets.
fn report_of_one_shard(cosets: usize, states: u64) -> v1::ShardReport {
    let checksum = fathom_layer::Digest::new(b"no such data").0;
    v1::ShardReport {
        stored_states: states,
        states,
        pairs: Some(states),
        file_bytes: 100_000,
        checksums: checksum.repeat(cosets).into(),
        ..Default::default()
    }
}

/// Returns the number of cosets of the shard of a task.
fn cosets(cluster: &Cluster, make: &v1::ComputeShard) -> usize {
    let status = cluster.status().unwrap();
    let cosets = status["representative_cosets"].as_u64().unwrap() as u32;
    let shard = ShardId(make.file.unwrap().shard);
    ShardCut::new(cosets, 2).unwrap().range(shard).len()
}

#[test]
fn impossible_reports_are_rejected() {
    let mut cluster = Cluster::new(&SPACE, &[]);
    cluster.serve();
    runtime().block_on(async {
        let mut liar = Liar::join(&cluster).await;
        let tasks = liar.tasks().await;
        let first = &tasks[0];
        // A number larger than a journal can store makes the report invalid.
        let beyond =
            liar.report(first, report_of_one_shard(cosets(&cluster, first), 1 << 63)).await.unwrap_err();
        assert_eq!(beyond.code(), tonic::Code::InvalidArgument, "{beyond}");
        // The report is well formed, but no space has this number of states.
        liar.report(first, report_of_one_shard(cosets(&cluster, first), 181_439)).await.unwrap();
        liar.client.leave(v1::LeaveRequest { session: liar.session, progress: None }).await.unwrap();
    });
    until("the false report is logged", || cluster.logged("implausible report").len() == 1);
    cluster.join(&["honest"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

#[test]
fn false_report_in_a_shared_store_is_dropped() {
    let mut cluster = Cluster::new(&SPACE, &["--shared-store"]);
    let shared = cluster.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    cluster.option(&shared);
    cluster.serve();
    runtime().block_on(async {
        let mut liar = Liar::join(&cluster).await;
        let tasks = liar.tasks().await;
        // This report might be true, but no file supports it.
        let empty = fathom_layer::Digest::new(&[]).0;
        let nothing = v1::ShardReport {
            pairs: Some(0),
            inverse_pairs: Some(0),
            file_bytes: 4096,
            checksums: empty.repeat(cosets(&cluster, &tasks[0])).into(),
            ..Default::default()
        };
        liar.report(&tasks[0], nothing).await.unwrap();
        liar.client.leave(v1::LeaveRequest { session: liar.session, progress: None }).await.unwrap();
    });
    let failed = cluster.until_logged("task failed");
    let detail = failed[0]["detail"].as_str().unwrap();
    assert!(detail.contains("the report contradicts the file"), "{detail}");
    cluster.join(&["honest"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

/// A faulty worker may be slow, and replace a file of a depth that was committed in the meantime.
#[test]
fn replaced_file_in_a_shared_store_is_not_read() {
    let mut cluster = Cluster::new(&SPACE, &["--audit", "0", "--shared-store"]);
    let shared = cluster.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    cluster.option(&shared);
    cluster.serve();
    cluster.alone_until("w1", 5, 2);
    move_state(&shared.join("layers/d004/s00000.layer"), 3);
    cluster.join(&["w2"]);
    assert_eq!(cluster.coordinator_ends().code(), Some(1));
    let said = cluster.said();
    assert!(said.contains("shard 0 of depth 4 is damaged"), "{said}");
    let failed = cluster.logged("task failed");
    let detail = failed[0]["detail"].as_str().unwrap();
    assert!(detail.contains("d004/s00000.layer is not the file that was committed"), "{detail}");
}

/// The liar takes one of two tasks and does nothing. Another worker completes the other task, which is
/// returned. Then the liar reports that task's file, at the given address, as damaged.
fn blame_the_first_file(cluster: &mut Cluster, address: impl Fn(&Cluster) -> String) {
    runtime().block_on(async {
        let mut liar = Liar::join(cluster).await;
        let tasks = liar.some_tasks(1).await;
        let other = 1 - tasks[0].file.unwrap().shard;
        cluster.join(&["honest"]);
        until("the honest worker has done its task", || cluster.status().unwrap()["shards_done"] == 1);
        liar.blame(&tasks[0], (0, other), &address(cluster)).await;
        liar.client.leave(v1::LeaveRequest { session: liar.session, progress: None }).await.unwrap();
    });
}

/// A worker whose host has lost the shared store reports files as damaged that others can read.
#[test]
fn file_unreadable_for_one_worker_stays_in_a_shared_store() {
    let mut cluster = Cluster::new(&SPACE, &["--audit", "0", "--lease", "60s", "--shared-store"]);
    let shared = cluster.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    cluster.option(&shared);
    cluster.serve();
    blame_the_first_file(&mut cluster, |_| String::new());
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    let kept = cluster.logged("file kept: reported as damaged by a worker, but intact");
    assert_eq!(kept.len(), 1);
    assert_eq!(cluster.logged("damaged file discarded").len(), 0);
}

/// A worker briefly cannot open a file that a peer reports as damaged, as when it has too many open files.
#[test]
fn briefly_unreadable_file_is_kept() {
    let mut cluster = Cluster::new(&SPACE, &["--audit", "0", "--lease", "60s"]);
    cluster.serve();
    blame_the_first_file(&mut cluster, |cluster| {
        let (_, _, file) = cluster.files("honest").remove(0);
        std::fs::remove_file(&file).unwrap();
        // Opening this fails with an error that means neither a missing nor a damaged file.
        symlink(&file, &file).unwrap();
        cluster.exchange_address("honest")
    });
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    let says = "file kept: reported as damaged, and cannot be read";
    assert_eq!(cluster.logged_by("honest", says).len(), 1);
    assert_eq!(cluster.logged_by("honest", "damaged file discarded").len(), 0);
}

const MANY_TASKS: [&str; 5] = ["2x6", "--metric", "single", "--shards", "16"];

/// Returns a cluster whose first worker has left with its own files, and the depth of the newest layer.
fn without_the_first() -> (Cluster, u32) {
    let mut cluster = Cluster::new(&MANY_TASKS, &["--keep", "all", "--audit", "0"]);
    cluster.serve();
    cluster.alone_until("w1", 7, 16);
    cluster.join(&["w2"]);
    let depth = cluster.status().unwrap()["depth"].as_u64().unwrap();
    (cluster, u32::try_from(depth).unwrap() - 1)
}

/// A worker returns with a file that is intact, but is not the file that the worker reported.
#[test]
fn different_file_in_a_store_is_recomputed() {
    let (mut cluster, newest) = without_the_first();
    let mut files = cluster.files("w1").into_iter().filter(|(depth, _, _)| *depth == newest);
    let (depth, shard, path) = files.next_back().expect("w1 has a part of the newest layer");
    exchange_cosets(&path);
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    let lines = cluster.logged("file differs from the reported one");
    assert!(lines.iter().any(|line| line["depth"] == depth && line["shard"] == shard), "{lines:?}");
}

/// A worker returns with a file replaced by one of another depth. Its other files are used.
#[test]
fn file_of_another_depth_in_a_store_is_recomputed() {
    let (mut cluster, newest) = without_the_first();
    let files = cluster.files("w1");
    let of = |wanted| files.iter().filter(move |(depth, _, _)| *depth == wanted);
    let (_, shard, path) = of(newest).next_back().expect("w1 has a part of the newest layer");
    let (_, _, other) =
        of(newest - 1).find(|(_, other, _)| other == shard).expect("w1 has all earlier files");
    let moved = std::fs::read(other).unwrap();
    std::fs::write(path, &moved).unwrap();
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    assert_eq!(cluster.logged_by("w1", "renaming a file that does not belong here").len(), 1);
    assert_eq!(std::fs::read(path.with_extension("misplaced")).unwrap(), moved);
}

/// All twelve shards are audited. No layer is committed before `workers` workers hold its files.
fn audited(workers: &str) -> Cluster {
    Cluster::new(&TWELVE, &["--audit", "100%", "--replicas", workers])
}

const TWELVE: [&str; 3] = ["3x3", "--shards", "12"];
/// A worker that, after the first depths, loses a state of each coset.
const BAD_MEMORY: &str = "found:40:flip";

/// One of three workers has bad memory. An audit finds a difference, the third worker's result decides which
/// one is wrong, and the wrong files are recomputed.
#[test]
fn worker_with_bad_memory_is_quarantined() {
    let mut cluster = audited("3");
    cluster.serve();
    cluster.join_until("bad", BAD_MEMORY);
    cluster.join(&["good", "better"]);
    cluster.until_logged("worker is quarantined");
    // Three replicas need three workers, and the worker that is set aside does not count.
    cluster.join(&["another"]);
    assert_same(&cluster.finishes(), &undisturbed(&TWELVE));
    let aside = cluster.logged("worker is quarantined");
    assert_eq!(aside.iter().map(|line| &line["detail"]).collect::<Vec<_>>(), ["bad"]);
    let differs = &cluster.logged("audit differs")[0]["detail"];
    assert!(differs.as_str().unwrap().contains("bad found"), "{differs}");
}

/// With two workers it is impossible to decide which one is wrong. The run continues with a third one, and
/// the shard with different results is audited.
#[test]
fn disagreement_of_two_workers_ends_the_run() {
    let mut cluster = audited("2");
    cluster.serve();
    cluster.join_until("bad", BAD_MEMORY);
    cluster.join(&["good"]);
    assert_eq!(cluster.coordinator_ends().code(), Some(1));
    let said = cluster.said();
    assert!(said.contains("was computed twice with different states"), "{said}");
    assert!(said.contains("a third worker is needed to decide which"), "{said}");
    for worker in ["bad", "good"] {
        cluster.ends(worker);
    }
    let suspected = RunDirectory::open(&cluster.run()).unwrap().journal.suspected().unwrap();
    cluster.serve();
    cluster.join(&["good", "third"]);
    assert_same(&cluster.finishes(), &undisturbed(&TWELVE));
    let audits = cluster.logged("audit agrees");
    for task in &suspected {
        let is_of =
            |line: &&serde_json::Value| line["depth"] == task.depth.0 && line["shard"] == task.shard.0;
        assert!(audits.iter().any(|line| is_of(&line)), "{task:?}: {audits:?}");
    }
    assert!(!suspected.is_empty());
}
