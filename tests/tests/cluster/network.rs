//! Faults and attacks over the network: cut links, strangers, and malformed messages.

use fathom_proto::access::{Access, AccessArguments, Connection};
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use fathom_proto::v1::exchange_client::ExchangeClient;
use fathom_proto::v1::{self, fetch_failure};
use fathom_proto::{Sealed, WorkerId};
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::process::{prefixed, until, well};
use fathom_tests::{assert_same, fathom, texts};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tonic::Code;

/// 12! states in 14 layers.
const SPACE: [&str; 3] = ["3x4", "--shards", "8"];
/// Tasks of tenths of a second at depths 8 and 9.
const LONG_TASKS: [&str; 5] = ["2x7", "--shards", "8", "--max-depth", "9"];

/// A coordinator `c` and two workers on hosts of their own, with a link between each pair. The network is
/// removed when this value is dropped.
struct Network {
    tag: String,
}

impl Network {
    /// Returns `None` if network namespaces are not available. With `FATHOM_TEST_ALL` in the environment that
    /// is a failure instead.
    fn new() -> Option<Self> {
        let network = Self { tag: format!("fathom{}", std::process::id()) };
        let hosts = ["c", "w1", "w2"];
        let made = hosts.iter().all(|host| network.ip(&["netns", "add", &network.host(host)]))
            && hosts.iter().all(|host| network.ip(&["-n", &network.host(host), "link", "set", "lo", "up"]))
            && network.link("c", "w1", 1)
            && network.link("c", "w2", 2)
            && network.link("w1", "w2", 3);
        if !made {
            assert!(
                std::env::var_os("FATHOM_TEST_ALL").is_none(),
                "network namespaces cannot be created here"
            );
            eprintln!("skipped: network namespaces cannot be created here");
            return None;
        }
        Some(network)
    }

    fn ip(&self, arguments: &[&str]) -> bool {
        Command::new("ip").args(arguments).status().is_ok_and(|status| status.success())
    }

    fn host(&self, name: &str) -> String {
        format!("{}-{name}", self.tag)
    }

    /// Links two hosts. The network of the link is 10.77.NUMBER.0/24, and the address of the first host ends
    /// in 1.
    fn link(&self, a: &str, b: &str, number: u8) -> bool {
        let (host_a, host_b) = (self.host(a), self.host(b));
        let (name_a, name_b) = (format!("to-{b}"), format!("to-{a}"));
        let pair =
            ["link", "add", &name_a, "netns", &host_a, "type", "veth", "peer", &name_b, "netns", &host_b];
        self.ip(&pair)
            && [(host_a, name_a, 1), (host_b, name_b, 2)].iter().all(|(host, name, last)| {
                let address = format!("10.77.{number}.{last}/24");
                self.ip(&["-n", host, "address", "add", &address, "dev", name])
                    && self.ip(&["-n", host, "link", "set", name, "up"])
            })
    }

    /// Cuts or heals the link between two hosts.
    fn set(&self, a: &str, b: &str, state: &str) {
        assert!(self.ip(&["-n", &self.host(a), "link", "set", &format!("to-{b}"), state]));
    }

    fn prefix(&self, host: &str) -> Vec<String> {
        ["ip", "netns", "exec", &self.host(host)].map(String::from).to_vec()
    }

    /// Returns a run whose coordinator listens on all links, and whose workers listen on the link between
    /// them. The run halts once `layers` layers are committed.
    fn cluster(&self, layers: u32) -> Cluster {
        let prefix = self.prefix("c");
        let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
        let mut cluster = Cluster::new(&LONG_TASKS, &["--insecure", "--listen", "0.0.0.0:7400"])
            .behind(&prefix, "127.0.0.1:7400");
        cluster.serve_up_to(layers);
        for (name, coordinator, own) in
            [("w1", "10.77.1.1:7400", "10.77.3.1:0"), ("w2", "10.77.2.1:7400", "10.77.3.2:0")]
        {
            let mut joining = cluster.joining_at(name, coordinator);
            joining.args(["--listen", own, "--insecure"]);
            cluster.join_by(name, prefixed(&self.prefix(name), &joining));
        }
        cluster
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in ["c", "w1", "w2"] {
            self.ip(&["netns", "delete", &self.host(host)]);
        }
    }
}

#[test]
fn links_are_cut_and_healed() {
    let Some(network) = Network::new() else { return };
    let mut cluster = network.cluster(8);
    // The link is cut for longer than the lease, so the worker is lost and its files are missing.
    cluster.in_the_middle(|_| network.set("c", "w1", "down"));
    let status = cluster.until_worker_is("w1", "lost");
    assert_eq!(status["waiting_for"], serde_json::json!(["w1"]));
    network.set("c", "w1", "up");
    cluster.until_worker_is("w1", "alive");
    assert_same(&cluster.finishes(), &undisturbed(&LONG_TASKS));
    assert_eq!(cluster.logged("worker lost").len(), 1);
    drop(cluster);

    let mut cluster = network.cluster(7);
    // Both workers reach the coordinator, but not each other.
    cluster.in_the_middle(|_| network.set("w1", "w2", "down"));
    let unreachable =
        |line: &Value| line["detail"].as_str().is_some_and(|detail| detail.contains("10.77.3."));
    until("a peer is unreachable", || cluster.logged("task failed").iter().any(unreachable));
    assert!(cluster.logged("worker lost").is_empty());
    network.set("w1", "w2", "up");
    assert_same(&cluster.finishes(), &undisturbed(&LONG_TASKS));
}

/// Returns a halted run: one worker has computed part of the run, and the other worker is gone.
fn halted() -> Cluster {
    let mut cluster = Cluster::new(&SPACE, &[]);
    cluster.serve();
    cluster.join_until("w1", "computing:48");
    cluster.dies("w1");
    cluster.join(&["w2"]);
    cluster.until_worker_is("w1", "lost");
    cluster
}

/// Sends bytes to a port, and reads until the other side closes the connection.
fn send(address: &str, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    // The other side may close before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn random_bytes_do_no_harm() {
    let mut cluster = halted();
    let ports = [cluster.address.clone(), cluster.exchange_address("w2")];
    let mut random = noise(b"nonsense");
    for address in &ports {
        for length in [0, 1, 3, 24, 100, 70_000] {
            random = noise(&random);
            let bytes: Vec<u8> = random.iter().copied().cycle().take(length).collect();
            send(address, &bytes);
            // The same bytes after the preface of HTTP/2.
            send(address, &[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &bytes[..]].concat());
        }
        send(address, b"GET / HTTP/1.1\r\nHost: fathom\r\n\r\n");
    }
    assert!(cluster.status().is_some());
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

/// Returns pseudo-random bytes that are the same in each run.
fn noise(bytes: &[u8]) -> Vec<u8> {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let mut next = |byte: u8| {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        (state >> 29) as u8
    };
    bytes.iter().copied().cycle().take(257).map(&mut next).collect()
}

/// Connects with the token of the run.
async fn connect(cluster: &Cluster, address: &str) -> Connection {
    let token_file = Some(cluster.run().join("token"));
    let access = Access::load(&AccessArguments { token_file, ..AccessArguments::default() }).unwrap();
    access.connect(address, Duration::from_secs(60)).await.unwrap()
}

/// Returns the registration of a worker of this run.
fn registration(fingerprint: &[u8]) -> v1::RegisterRequest {
    v1::RegisterRequest {
        protocol_version: v1::PROTOCOL_VERSION,
        fingerprint: fingerprint.to_vec().into(),
        worker_id: vec![7; 16].into(),
        name: "stranger".into(),
        exchange_address: ":1".into(),
        threads: 1,
        ..Default::default()
    }
}

/// Returns a report with its digest.
fn report(session: u64, outcomes: Vec<v1::Outcome>) -> v1::ReportRequest {
    v1::ReportRequest { session, outcomes, ..Default::default() }.seal()
}

fn fingerprint(cluster: &Cluster) -> Vec<u8> {
    fathom_engine::run::RunManifest::read(&cluster.run()).unwrap().fingerprint.0.to_vec()
}

#[tokio::test]
async fn invalid_messages_to_a_coordinator_do_no_harm() {
    let mut cluster = halted();
    let right = fingerprint(&cluster);
    let mut client = CoordinatorClient::new(connect(&cluster, &cluster.address).await);
    let describe = v1::DescribeRunRequest { protocol_version: 99, worker_name: "stranger".into() };
    let status = client.describe_run(describe).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("Use the same version of Fathom for both"), "{status}");
    let file = |depth, shard| v1::File { depth, shard };
    let stored = |depth, shard| v1::StoredFile { file: Some(file(depth, shard)), digest: vec![1; 32].into() };
    for (wrong, code, says) in [
        (
            v1::RegisterRequest { protocol_version: 99, ..registration(&right) },
            Code::FailedPrecondition,
            "this worker version 99",
        ),
        (registration(&[1; 32]), Code::FailedPrecondition, "serves another run"),
        (registration(&[1; 3]), Code::InvalidArgument, "fingerprint"),
        (
            v1::RegisterRequest { worker_id: vec![7; 3].into(), ..registration(&right) },
            Code::InvalidArgument,
            "worker_id",
        ),
        (
            v1::RegisterRequest { worker_id: vec![0; 16].into(), ..registration(&right) },
            Code::InvalidArgument,
            "worker_id",
        ),
        (
            v1::RegisterRequest { name: "node\u{202e}7".into(), ..registration(&right) },
            Code::InvalidArgument,
            "is not allowed in a name",
        ),
        (
            v1::RegisterRequest { name: "n".repeat(1000), ..registration(&right) },
            Code::InvalidArgument,
            "longer than",
        ),
        (
            v1::RegisterRequest { inventory: vec![stored(3, 8)], ..registration(&right) },
            Code::InvalidArgument,
            "shard 8 does not exist",
        ),
        (
            v1::RegisterRequest { inventory: vec![stored(u32::MAX, 1)], ..registration(&right) },
            Code::InvalidArgument,
            "does not exist",
        ),
    ] {
        let status = client.register(wrong).await.unwrap_err();
        assert_eq!(status.code(), code, "{status}");
        assert!(status.message().contains(says), "{status}");
    }
    // A session that does not exist.
    let session = u64::MAX;
    assert!(
        !client.heartbeat(v1::HeartbeatRequest { session, progress: None }).await.unwrap().into_inner().known
    );
    let ask = v1::TakeCommandsRequest { session, tasks: u32::MAX, holders_version: 0 };
    assert!(!client.take_commands(ask).await.unwrap().into_inner().known);
    assert!(!client.report(report(session, vec![])).await.unwrap().into_inner().known);
    // A report from a worker of another run: the answer makes the worker register again, and the worker then learns that this
    // is another run.
    let of_another_run = v1::Outcome { file: Some(file(1, 8)), attempt: None, result: None };
    let foreign = report(session, vec![of_another_run]);
    assert!(!client.report(foreign).await.unwrap().into_inner().known);
    let progress = Some(v1::Progress { underway: vec![file(1, 8)], ..Default::default() });
    assert!(!client.heartbeat(v1::HeartbeatRequest { session, progress }).await.unwrap().into_inner().known);
    client.leave(v1::LeaveRequest { session, progress: None }).await.unwrap();

    // A worker that reports a task that was not assigned to it.
    let session = client.register(registration(&right)).await.unwrap().into_inner().session;
    let depth = cluster.status().unwrap()["depth"].as_u64().unwrap() as u32;
    let stopped = || {
        v1::outcome::Result::Failure(v1::Failure { kind: Some(v1::failure::Kind::Stopped(v1::Stopped {})) })
    };
    let made = v1::outcome::Result::Made(v1::ShardReport {
        checksums: vec![1; 32 * 1000].into(),
        ..Default::default()
    });
    let attempt = Some(v1::Attempt { epoch: 77, number: 3 });
    let outcome = |file, result| v1::Outcome { file, attempt, result };
    for (wrong, says) in [
        (outcome(Some(file(depth, 8)), Some(stopped())), "shard 8 does not exist"),
        (outcome(None, Some(stopped())), "file"),
        (outcome(Some(file(depth, 0)), None), "result"),
        (outcome(Some(file(depth, 0)), Some(made)), "checksums"),
        (
            outcome(Some(file(depth, 0)), Some(v1::outcome::Result::Failure(v1::Failure { kind: None }))),
            "failure",
        ),
    ] {
        let status = client.report(report(session, vec![wrong])).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!(status.message().contains(says), "{status}");
    }
    let late = outcome(Some(file(depth, 0)), Some(stopped()));
    let mut changed = report(session, vec![late.clone()]);
    changed.number += 1;
    let status = client.report(changed).await.unwrap_err();
    assert_eq!(status.code(), Code::DataLoss, "{status}");
    assert!(client.report(report(session, vec![late])).await.unwrap().into_inner().known);
    // A report from the other worker may be late, too.
    let ignored = cluster.logged("late report ignored");
    let stranger = WorkerId([7; 16]).to_string();
    assert_eq!(ignored.iter().filter(|line| line["worker"] == stranger.as_str()).count(), 1, "{ignored:?}");
    // A worker's last progress arrives with its departure.
    let progress = |underway| Some(v1::Progress { sent_bytes: 12_345, underway, ..Default::default() });
    let wrong = v1::LeaveRequest { session, progress: progress(vec![file(depth, 8)]) };
    assert_eq!(client.leave(wrong).await.unwrap_err().code(), Code::InvalidArgument);
    client.leave(v1::LeaveRequest { session, progress: progress(vec![]) }).await.unwrap();
    let status = cluster.status().unwrap();
    let workers = status["workers"].as_array().unwrap();
    let left =
        workers.iter().find(|worker| worker["id"] == stranger.as_str()).expect("a worker that has left");
    assert_eq!(left["sent_bytes"], 12_345, "{left}");

    // A message above the size limit.
    let large = v1::ReportRequest {
        session,
        outcomes: vec![v1::Outcome {
            file: Some(file(depth, 0)),
            attempt,
            result: Some(v1::outcome::Result::Made(v1::ShardReport {
                checksums: vec![1; 65 << 20].into(),
                ..Default::default()
            })),
        }],
        ..Default::default()
    };
    let status = client.report(large).await.unwrap_err();
    assert!(matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted), "{status}");

    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

#[tokio::test]
async fn invalid_messages_to_a_worker_do_no_harm() {
    let mut cluster = halted();
    let right = fingerprint(&cluster);
    let mut client = ExchangeClient::new(connect(&cluster, &cluster.exchange_address("w2")).await);
    let range = |first, count| v1::CosetRange { first, count };
    let fetch = |fingerprint: &[u8], depth, ranges| v1::FetchCosetsRequest {
        fingerprint: fingerprint.to_vec().into(),
        depth,
        ranges,
        known_shards: Vec::new(),
    };
    for ranges in [
        vec![range(u32::MAX, 1)],
        vec![range(1, u32::MAX)],
        vec![range(826, 1)],
        vec![range(0, 827)],
        vec![range(5, 2), range(6, 1)],
        vec![range(5, 2), range(1, 1)],
    ] {
        let status = client.fetch_cosets(fetch(&right, 3, ranges)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    }
    for (wrong, is_so) in [
        (fetch(&[9; 32], 3, vec![range(0, 1)]), true),
        (fetch(&[], 3, vec![range(0, 1)]), true),
        (fetch(&right, u32::MAX, vec![range(0, 1)]), false),
    ] {
        let mut answers = client.fetch_cosets(wrong).await.unwrap().into_inner();
        let Some(v1::fetch_cosets_response::Result::Failure(failure)) =
            answers.message().await.unwrap().unwrap().result
        else {
            panic!("the request was served")
        };
        match failure.kind {
            Some(fetch_failure::Kind::OtherRun(_)) => assert!(is_so),
            Some(fetch_failure::Kind::Missing(_)) => assert!(!is_so),
            other => panic!("{other:?}"),
        }
    }
    let copy = |file| v1::CopyFileRequest { fingerprint: right.clone().into(), file };
    for file in [None, Some(v1::File { depth: 3, shard: 8 }), Some(v1::File { depth: u32::MAX, shard: 0 })] {
        let status = client.copy_file(copy(file)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    }
    let mut answers =
        client.copy_file(copy(Some(v1::File { depth: 99, shard: 0 }))).await.unwrap().into_inner();
    assert!(matches!(
        answers.message().await.unwrap().unwrap().result,
        Some(v1::copy_file_response::Result::Failure(v1::FetchFailure {
            kind: Some(fetch_failure::Kind::Missing(_))
        }))
    ));
    // A request above the size limit.
    let large = vec![range(0, 0); 3 << 20];
    assert!(client.fetch_cosets(fetch(&right, 3, large)).await.is_err());
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

#[test]
fn run_with_keys_refuses_callers_without_them() {
    let mut cluster = Cluster::new(&SPACE, &[]);
    let keys = cluster.path().join("keys");
    well(&fathom().arg("keys").arg(&keys).output().unwrap());
    let options: Vec<String> =
        [("token-file", "token"), ("tls-cert", "cert.pem"), ("tls-key", "key.pem"), ("tls-ca", "ca.pem")]
            .into_iter()
            .flat_map(|(option, file)| [format!("--{option}"), keys.join(file).display().to_string()])
            .collect();
    let mut serving = cluster.serving();
    serving.args(&options);
    cluster.serve_by(serving);
    let wrong = keys.join("wrong");
    fs::write(&wrong, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(&wrong, fs::Permissions::from_mode(0o600)).unwrap();
    let mut stranger = cluster.joining("stranger");
    stranger.args(["-q", "--token-file"]).arg(&wrong).args(&options[2..]);
    let output = stranger.output().unwrap();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(
        err.contains("wrong token: pass the keys of this run with --keys, or its token with --token-file"),
        "{err}"
    );
    for name in ["w1", "w2"] {
        let mut joining = cluster.joining(name);
        joining.args(&options);
        cluster.join_by(name, joining);
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    // A caller without keys is told which options name them.
    let refused = cluster.ask("status", &[]);
    let (_, err) = texts(&refused);
    assert_eq!(refused.status.code(), Some(2), "{err}");
    assert!(err.contains("the server requires TLS: add --keys DIR (or set FATHOM_KEYS)"), "{err}");
    well(&cluster.ask("status", &["--keys", keys.to_str().unwrap()]));
    well(&fathom().args(["status", &cluster.address]).env("FATHOM_KEYS", &keys).output().unwrap());
    well(&cluster.ask("status", &options));
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert!(cluster.logged("worker registered").len() >= 2);
    // The files that w2 fetched from w1 came over TLS as well.
    let received = cluster.logged_by("w2", "worker ends");
    assert!(received[0]["received_bytes"].as_u64() > Some(0), "{received:?}");
}

/// Bytes that a worker sends after its last heartbeat count, too.
#[test]
fn coordinator_counts_all_bytes_that_workers_sent() {
    let mut cluster = Cluster::new(&["2x6", "--shards", "8"], &[]);
    cluster.serve();
    cluster.join_together(&["w1", "w2"]);
    cluster.finishes();
    let sent = |line: &serde_json::Value| line["sent_bytes"].as_u64().unwrap();
    let by = |name| sent(cluster.logged_by(name, "worker ends").last().unwrap());
    let all = sent(cluster.logged("serving ends").last().unwrap());
    assert!(all > 0);
    assert_eq!(all, by("w1") + by("w2"));
}

/// Passes on what goes between a client of HTTP/2 and a server, and flips one bit in the middle of the first
/// `flips` frames that `is_flipped` selects by its payload.
fn flip(
    mut from: TcpStream,
    mut to: TcpStream,
    preface: usize,
    flips: &AtomicUsize,
    is_flipped: fn(&[u8]) -> bool,
) {
    let pass = |from: &mut TcpStream, length: usize| {
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes).map(|()| bytes)
    };
    let mut frames = || -> std::io::Result<()> {
        to.write_all(&pass(&mut from, preface)?)?;
        loop {
            let header = pass(&mut from, 9)?;
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            let mut payload = pass(&mut from, length)?;
            if header[3] == 0
                && is_flipped(&payload)
                && flips
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_ok()
            {
                payload[length / 2] ^= 1;
            }
            to.write_all(&[header, payload].concat())?;
        }
    };
    // A side that has closed the connection ends it for the other.
    let _ = frames();
    let _ = to.shutdown(Shutdown::Both);
}

/// A flipped bit in a report or in an order is a failed call, which is repeated: no audit is needed to find
/// it.
#[test]
fn flipped_bits_between_a_worker_and_its_coordinator_do_no_harm() {
    static REPORTS: AtomicUsize = AtomicUsize::new(3);
    static ORDERS: AtomicUsize = AtomicUsize::new(3);
    let mut cluster = Cluster::new(&SPACE, &["--audit", "0"]);
    cluster.serve();
    let between = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut worker = cluster.joining_at("w1", &between.local_addr().unwrap().to_string());
    worker.arg("--token-file").arg(cluster.run().join("token"));
    let coordinator = cluster.address.clone();
    std::thread::spawn(move || {
        for near in between.incoming() {
            let (near, far) = (near.unwrap(), TcpStream::connect(&coordinator).unwrap());
            let (back, out) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            // Only reports have so many bytes: they contain the checksums of all cosets.
            std::thread::spawn(move || flip(near, out, 24, &REPORTS, |payload| payload.len() > 1000));
            // The other answers are shorter, or have the text of run.toml.
            let is_order = |payload: &[u8]| {
                payload.len() > 40 && !payload.windows(11).any(|part| part == b"fingerprint")
            };
            std::thread::spawn(move || flip(far, back, 0, &ORDERS, is_order));
        }
    });
    cluster.join_first("w1", worker);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert_eq!((REPORTS.load(Ordering::Relaxed), ORDERS.load(Ordering::Relaxed)), (0, 0));
}
