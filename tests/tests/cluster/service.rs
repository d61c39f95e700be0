//! Who may use a coordinator, and that strangers cannot exhaust its connections or reach its journal and
//! files.

use fathom_command::machine;
use fathom_proto::access::{Access, AccessArguments};
use fathom_proto::v1;
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::page::{get, token};
use fathom_tests::process::{free_port, signal, started_until, until, well};
use fathom_tests::{assert_same, fathom, texts};
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use tonic::Code;

/// 12! states in 14 layers.
const SPACE: [&str; 3] = ["3x4", "--shards", "8"];

/// Returns the same command with a hard limit on file descriptors.
fn with_descriptors(most: u32, command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-ec", &format!("ulimit -n {most}; exec \"$0\" \"$@\"")]);
    limited.arg(command.get_program()).args(command.get_args());
    limited
}

/// More silent connections than the coordinator has descriptors, reopened whenever they are closed. The run
/// continues.
#[test]
fn silent_connections_do_not_end_a_run() {
    const DESCRIPTORS: u32 = 256;
    let mut cluster = Cluster::new(&SPACE, &[]);
    cluster.serve_by(with_descriptors(DESCRIPTORS, &cluster.serving()));
    cluster.join_until("w1", "computing:40:stop");
    cluster.until_stopped("w1");
    let flood: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(&cluster.address).expect("the system accepts it")).collect();
    until("the coordinator is out of descriptors", || {
        !cluster.logged("connection refused").is_empty()
            || !cluster.logged("accept() failed; retrying").is_empty()
    });
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    drop(flood);
}

/// Returns a cluster whose coordinator waits, because the connection holds a lock on its journal.
fn with_held_journal(options: &[&str]) -> (Cluster, Connection) {
    let mut cluster = Cluster::new(&SPACE, options);
    cluster.serve();
    cluster.join_until("w1", "computing:40:stop");
    cluster.until_stopped("w1");
    let holder = Connection::open(cluster.run().join("run.db")).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    cluster.signal("w1", libc::SIGCONT);
    cluster.until_logged("cannot write the journal; retrying");
    (cluster, holder)
}

#[test]
fn locked_journal_is_waited_for() {
    let (mut cluster, holder) = with_held_journal(&[]);
    holder.execute_batch("ROLLBACK").unwrap();
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

/// A query returns what the run waits for, and the coordinator ends if it is told to. The run continues
/// later.
#[test]
fn coordinator_with_a_locked_journal_answers_and_ends() {
    let http = format!("127.0.0.1:{}", free_port());
    let (mut cluster, holder) = with_held_journal(&["--http", &http]);
    for (path, status) in [("/api/status", 503), ("/api/shards/0", 200)] {
        let answer = get(&http, path, &cluster.run());
        assert!(
            answer.status == status && answer.body.contains("cannot write run.db"),
            "{path}: {}",
            answer.body
        );
    }
    // The page says so, too.
    let token = token(&cluster.run());
    let mut events = TcpStream::connect(&http).unwrap();
    write!(events, "GET /api/events HTTP/1.1\r\nHost: {http}\r\nAuthorization: Bearer {token}\r\n\r\n")
        .unwrap();
    events.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut told = Vec::new();
    until("the page says what the run waits for", || {
        let mut bytes = [0; 4096];
        let read = events.read(&mut bytes).unwrap_or(0);
        told.extend_from_slice(&bytes[..read]);
        let told = String::from_utf8_lossy(&told);
        told.contains(r#""state":"waiting""#) && told.contains("cannot write run.db")
    });
    let output = cluster.ask("status", &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let (_, err) = texts(&output);
    assert!(
        err.contains("cannot write run.db") && err.contains("another process has locked run.db"),
        "{err}"
    );
    cluster.signal_coordinator(libc::SIGTERM);
    assert_eq!(cluster.coordinator_ends().code(), Some(1));
    assert!(cluster.said().contains("asked to stop before the problem had passed"), "{}", cluster.said());
    holder.execute_batch("ROLLBACK").unwrap();
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

/// Each address of this machine has its own ports. Commands find the token of the right coordinator.
#[test]
fn same_port_at_two_addresses_is_two_coordinators() {
    let [mut first, mut second] = [(); 2].map(|()| Cluster::new(&["3x3"], &[]));
    second.address = first.address.replace("127.0.0.1", "127.0.0.2");
    first.serve();
    second.serve();
    let token = |cluster: &Cluster| fs::read(cluster.run().join("token")).unwrap();
    assert_ne!(token(&first), token(&second));
    well(&first.ask("status", &[]));
    well(&second.ask("status", &[]));
    second.signal_coordinator(libc::SIGTERM);
    second.coordinator_ends();
    well(&first.ask("status", &[]));
}

/// A signal ends the coordinator, however early in serving it arrives.
#[test]
fn no_signal_is_lost_during_startup() {
    for _ in 0..12 {
        let directory = fathom_tests::tempdir().unwrap();
        let mut command = fathom();
        command.args(["serve", "3x3", "--listen", "127.0.0.1:0", "--dir"]).arg(directory.path().join("run"));
        let (mut process, _err) = started_until(&mut command, "listening");
        signal(&process, libc::SIGTERM);
        let mut ended = None;
        until("the coordinator ends", || {
            ended = process.try_wait().unwrap();
            ended.is_some()
        });
        // Either the preparation was lost, or the run was stopped in order.
        assert!(matches!(ended.and_then(|status| status.code()), Some(0 | 143)), "{ended:?}");
    }
}

#[test]
fn file_size_limit_ends_a_run_with_a_message() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut command = Command::new("sh");
    // The limit is in blocks of 512 or of 1024 bytes; a dense layer is larger in either case.
    command.args(["-ec", "ulimit -f 256; exec \"$0\" \"$@\""]).arg(fathom().get_program());
    let output = command.args(["run", "3x4", "-q", "--dir"]).arg(&run).output().unwrap();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{} {err}", output.status);
    assert!(err.contains("File too large") && err.contains("'ulimit -f unlimited'"), "{err}");
    assert!(!err.contains("disk is full"), "{err}");
    well(&fathom().args(["resume", "-q"]).arg(&run).output().unwrap());
}

/// Commands need more stack than the first thread has here.
#[test]
fn small_stack_suffices() {
    let directory = fathom_tests::tempdir().unwrap();
    for arguments in [&["plan", "3x4"][..], &["run", "3x3", "-q", "--dir", "run"], &["verify", "run"]] {
        let mut command = Command::new("sh");
        command.args(["-ec", "ulimit -s 100; exec \"$0\" \"$@\""]).arg(fathom().get_program());
        well(&command.args(arguments).current_dir(directory.path()).output().unwrap());
    }
}

/// A search keeps files open until the next checkpoint, but no more than the limit allows.
#[test]
fn search_has_more_shards_than_open_files() {
    let directory = fathom_tests::tempdir().unwrap();
    let mut command = fathom();
    command.args(["run", "2x2x2", "--shards", "200", "-q", "--dir"]).arg(directory.path().join("run"));
    assert!(well(&with_descriptors(100, &command).output().unwrap()).contains("God's number: 11"));
}

/// A run on a read-only file system, in a mount namespace of its own.
#[test]
fn read_only_directory_is_verified_and_audited() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    well(&fathom().args(["run", "2x4", "-q", "--dir"]).arg(&run).output().unwrap());
    let run = run.display();
    for prepare in ["true", &format!("rm {run}/lock")] {
        let read_only = format!("{prepare}; mount --bind {run} {run}; mount -o remount,bind,ro {run}");
        let possible = Command::new("unshare").args(["-m", "sh", "-ec", &read_only]).status();
        if !possible.is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "nothing can be mounted here");
            eprintln!("skipped: nothing can be mounted here");
            return;
        }
        let verify = format!(
            "mount --bind {run} {run}; mount -o remount,bind,ro {run}; \"$0\" audit {run}; exec \"$0\" verify {run}"
        );
        let output = Command::new("unshare")
            .args(["-m", "sh", "-ec", &verify])
            .arg(fathom().get_program())
            .output()
            .unwrap();
        assert!(well(&output).contains("verified"));
    }
}

/// Runs commands as a user without the owner's runtime and temporary directories.
fn as_stranger(cluster: &Cluster, arguments: &[&str]) -> Output {
    let nowhere = cluster.path().join("nowhere");
    fs::create_dir_all(&nowhere).unwrap();
    let mut command = fathom();
    command.args(arguments).env("XDG_RUNTIME_DIR", &nowhere).env("TMPDIR", &nowhere);
    command.output().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn other_users_of_this_machine_are_refused() {
    let mut cluster = Cluster::new(&SPACE, &[]);
    cluster.serve();
    cluster.join_until("w1", "computing:40:stop");
    cluster.until_stopped("w1");
    let token = cluster.run().join("token");
    for word in ["stop", "status", "workers"] {
        let output = as_stranger(&cluster, &[word, &cluster.address]);
        let (_, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{word}: {err}");
        let hint = "add --token-file with the file 'token' in the run's directory, which the owner";
        assert!(err.contains(hint) && !err.contains(&*cluster.path().to_string_lossy()), "{word}: {err}");
    }
    assert_eq!(mode(&token), 0o600);
    let option = ["status", &cluster.address, "--token-file", token.to_str().unwrap()];
    well(&as_stranger(&cluster, &option));
    // The owner needs no option.
    well(&cluster.ask("status", &[]));
    well(&cluster.ask("workers", &[]));
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert!(!token.exists(), "it ends with the run");
}

/// Callers of a worker need the token, too.
#[tokio::test]
async fn workers_refuse_callers_without_a_token() {
    // With a single worker no layer is completed.
    let mut cluster = Cluster::new(&SPACE, &["--replicas", "2"]);
    cluster.serve();
    cluster.join(&["w1"]);
    let status = cluster.status().unwrap();
    let address = status["workers"][0]["address"].as_str().unwrap();
    let access = Access::load(&AccessArguments::default()).unwrap();
    let connection = access.connect(address, Duration::from_secs(60)).await.unwrap();
    let mut client = v1::exchange_client::ExchangeClient::new(connection);
    let refused = client.copy_file(v1::CopyFileRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
    cluster.join(&["w2"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

/// Returns the path where a coordinator with its own runtime directory publishes the token for its user's
/// commands.
fn published(runtime: &Path, cluster: &Cluster) -> PathBuf {
    let name = format!("{}-{}", machine::host_name(), cluster.address.replace(':', "-"));
    runtime.join("fathom").join(name)
}

fn in_runtime(mut command: Command, runtime: &Path) -> Command {
    command.env("XDG_RUNTIME_DIR", runtime);
    command
}

/// A killed coordinator leaves its token behind. Neither its successor nor a coordinator without a token is
/// affected.
#[test]
fn stale_token_does_no_harm() {
    let directory = fathom_tests::tempdir().unwrap();
    let runtime = directory.path().to_owned();
    let mut cluster = Cluster::new(&SPACE, &[]);
    cluster.serve_by(in_runtime(cluster.serving(), &runtime));
    let published = published(&runtime, &cluster);
    assert_eq!(mode(&published), 0o600);
    assert_eq!(mode(published.parent().unwrap()), 0o700);
    cluster.join_by("w1", in_runtime(cluster.joining("w1"), &runtime));
    cluster.until_logged("worker registered");
    cluster.signal_coordinator(libc::SIGKILL);
    cluster.coordinator_dies();
    assert!(published.exists(), "no process removed it");
    // The published token has changed in the meantime; the worker waits with the token that it knows.
    fs::write(&published, "ffffffffffffffffffffffffffffffff").unwrap();
    cluster.serve_by(in_runtime(cluster.serving(), &runtime));
    let status = |cluster: &Cluster| {
        let mut status = in_runtime(fathom(), &runtime);
        status.args(["status", &cluster.address]).output().unwrap()
    };
    // The run may be over by now.
    let output = status(&cluster);
    assert_ne!(output.status.code(), Some(2), "{:?}", texts(&output));
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert!(!published.exists());
    drop(cluster);

    let mut open = Cluster::new(&SPACE, &["--insecure"]);
    let published = self::published(&runtime, &open);
    fs::write(&published, "ffffffffffffffffffffffffffffffff").unwrap();
    fs::set_permissions(&published, Permissions::from_mode(0o600)).unwrap();
    open.serve_by(in_runtime(open.serving(), &runtime));
    assert!(!published.exists(), "it can only be stale");
    // Workers that find the run's token and workers that look elsewhere are both admitted.
    open.join_by("w1", in_runtime(open.joining("w1"), &runtime));
    open.join(&["w2"]);
    assert_same(&open.finishes(), &undisturbed(&SPACE));
}

/// Without a runtime directory the temporary directory is used, where every user may create files.
#[test]
fn directory_of_another_user_is_not_trusted() {
    let mut cluster = Cluster::new(&SPACE, &[]);
    let temporary = cluster.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let in_temporary = |mut command: Command| {
        command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", &temporary);
        command
    };
    cluster.serve_by(in_temporary(cluster.serving()));
    let mut status = in_temporary(fathom());
    status.args(["status", &cluster.address]);
    well(&status.output().unwrap());
    let made: BTreeSet<PathBuf> =
        fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path()).collect();
    let own = made.first().expect("the user's own directory");
    assert_eq!(mode(own), 0o700);
    // The directory looks as if another user had created it first.
    fs::set_permissions(own, Permissions::from_mode(0o777)).unwrap();
    let output = status.output().unwrap();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("add --token-file"), "{err}");
    cluster.signal_coordinator(libc::SIGTERM);
    assert!(cluster.coordinator_ends().success());
    cluster.serve_by(in_temporary(cluster.serving()));
    assert_eq!(cluster.logged("commands on this machine need --token-file to find the token").len(), 1);
    let token = cluster.run().join("token");
    well(&status.arg("--token-file").arg(token).output().unwrap());
}

/// The number of one session does not reveal that of another.
#[tokio::test]
async fn session_numbers_cannot_be_guessed() {
    let mut cluster = Cluster::new(&SPACE, &["--insecure"]);
    cluster.serve();
    let fingerprint = fathom_engine::run::RunManifest::read(&cluster.run()).unwrap().fingerprint.0;
    let access = Access::load(&AccessArguments::default()).unwrap();
    let connection = access.connect(&cluster.address, Duration::from_secs(60)).await.unwrap();
    let mut client = CoordinatorClient::new(connection);
    let mut sessions = BTreeSet::new();
    for number in 1..=8 {
        let request = v1::RegisterRequest {
            protocol_version: v1::PROTOCOL_VERSION,
            fingerprint: fingerprint.to_vec().into(),
            worker_id: vec![number; 16].into(),
            name: format!("w{number}"),
            exchange_address: ":1".into(),
            threads: 1,
            ..Default::default()
        };
        sessions.insert(client.register(request).await.unwrap().into_inner().session);
    }
    let sessions: Vec<u64> = sessions.into_iter().collect();
    assert_eq!(sessions.len(), 8);
    // Eight of 2^64 numbers are that close to each other only once in 2^25 times.
    assert!(sessions.windows(2).all(|pair| pair[1] - pair[0] > 1 << 32), "{sessions:x?}");
}
