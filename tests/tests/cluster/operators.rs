//! What an operator meets in a day: a run that is continued, coordinators that are away, directories that cannot be used.

use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::page::{ask, token, until_served};
use fathom_tests::process::{free_port, until, well};
use fathom_tests::{assert_same, fathom, fathom_worker, texts};
use std::fs::{self, File};
use std::process::{Command, Stdio};

/// Returns the command that continues a served run by its directory alone.
fn serving_again(cluster: &Cluster) -> Command {
    let mut command = fathom();
    command.arg("serve").arg("--dir").arg(cluster.run());
    command
}

#[test]
fn served_runs_continue_with_their_options() {
    let mut cluster = Cluster::new(&["2x6"], &["--shards", "6", "--max-depth", "8", "--audit", "0"]);
    cluster.serve_up_to(5);
    cluster.join(&["a"]);
    cluster.until_coordinator_stopped();
    cluster.signal_coordinator(libc::SIGKILL);
    cluster.coordinator_dies();
    let again = serving_again(&cluster);
    cluster.serve_by(again);
    let printed = cluster.finishes();
    assert_same(&printed, &undisturbed(&["2x6", "--max-depth", "8"]));
    // An option that is given again overrides the recorded one.
    let mut deeper = serving_again(&cluster);
    deeper.args(["--max-depth", "10"]);
    cluster.serve_by(deeper);
    cluster.join(&["a"]);
    assert_same(&cluster.finishes(), &undisturbed(&["2x6", "--max-depth", "10"]));
}

#[test]
fn runs_that_were_never_served_need_a_puzzle() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    well(&fathom().args(["run", "3x3", "-q", "--dir"]).arg(&run).output().unwrap());
    for (path, more, says) in [
        (&run, "", "was not served yet"),
        (&directory.path().join("none"), "", "<PUZZLE>"),
        // Another mistake is what the message is about.
        (&run, "3x3 --nonsense", "unexpected argument '--nonsense'"),
    ] {
        let output =
            fathom().args(["serve", "--dir"]).arg(path).args(more.split_whitespace()).output().unwrap();
        let (_, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(says), "{err}");
    }
}

#[test]
fn watchers_outlive_the_coordinator() {
    let mut cluster = Cluster::new(&["3x4"], &[]);
    cluster.serve();
    let shown = cluster.path().join("shown");
    let mut watching = fathom()
        .args(["status", "--watch", &cluster.address])
        .stdout(File::create(&shown).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let says = |words: &str| until(words, || fs::read_to_string(&shown).unwrap().contains(words));
    says("no worker is connected");
    cluster.signal_coordinator(libc::SIGKILL);
    cluster.coordinator_dies();
    says("\nunreachable for ");
    let before = fs::read_to_string(&shown).unwrap().len();
    cluster.serve();
    until("the run is shown again", || {
        let text = fs::read_to_string(&shown).unwrap();
        text[before..].lines().last().is_some_and(|line| line.contains("no worker is connected"))
    });
    well(&cluster.ask("stop", &[]));
    assert!(cluster.coordinator_ends().success());
    assert!(watching.wait().unwrap().success());
    says("the coordinator has ended: stopped by a user");
}

#[test]
fn orderly_stop_logs_no_warnings() {
    let mut cluster = Cluster::new(&["2x7"], &["--shards", "64"]);
    cluster.serve();
    cluster.join(&["a", "b"]);
    cluster.until_status("depth 7", |status| status["depth"].as_u64() >= Some(7));
    well(&cluster.ask("stop", &[]));
    assert!(cluster.coordinator_ends().success());
    for name in ["a", "b"] {
        assert!(cluster.ends(name).success());
    }
    for log in [cluster.run(), cluster.store("a"), cluster.store("b")] {
        let text = fs::read_to_string(log.join("log.jsonl")).unwrap();
        let warnings: Vec<&str> =
            text.lines().filter(|line| line.contains("\"WARN\"") || line.contains("\"ERROR\"")).collect();
        assert!(warnings.is_empty(), "{warnings:#?}");
    }
    assert_eq!(cluster.logged("serving ends")[0]["ending"], "stopped by a user");
    assert_eq!(cluster.logged_by("a", "worker ends")[0]["end"], "the run was stopped");
}

#[test]
fn coordinator_without_workers_says_so() {
    let mut cluster = Cluster::new(&["3x3"], &[]);
    cluster.serve();
    let waiting = cluster.until_logged("waiting");
    let join = format!("start one with 'fathom-worker --join {} --store DIR'", cluster.address);
    assert!(waiting[0]["reason"].as_str().unwrap().contains(&join), "{waiting:?}");
}

/// Somebody copies a layer of another run into a worker's store.
#[test]
fn files_of_another_run_are_set_aside() {
    let mut other = Cluster::new(&["2x4"], &["--shards", "2"]);
    other.serve_up_to(4);
    other.join(&["x"]);
    other.until_coordinator_stopped();
    let (depth, shard, foreign) = other.files("x").into_iter().next_back().unwrap();

    let mut cluster = Cluster::new(&["3x4"], &["--shards", "4"]);
    cluster.serve_up_to(6);
    cluster.join(&["a"]);
    cluster.until_coordinator_stopped();
    cluster.kill(&["a"]);
    cluster.signal_coordinator(libc::SIGCONT);
    let (_, _, own) = cluster.files("a").into_iter().next().unwrap();
    let layers = own.parent().unwrap().parent().unwrap();
    let place = layers.join(format!("d{:03}", depth + 20)).join(format!("s{shard:05}.layer"));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::copy(&foreign, &place).unwrap();
    cluster.join(&["a"]);
    assert_same(&cluster.finishes(), &undisturbed(&["3x4"]));
    assert_eq!(fs::read(place.with_extension("foreign")).unwrap(), fs::read(&foreign).unwrap());
}

#[test]
fn unusable_directories_are_refused_with_the_reason() {
    let directory = fathom_tests::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "mine").unwrap();
    let refused = |mut command: Command, says: &str| {
        let output = command.output().unwrap();
        let (_, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(says) && !err.contains("os error"), "{err}");
    };
    for (path, says) in [
        (file.clone(), "is a file"),
        (file.join("below"), "lies below one"),
        ("/proc/fathom".into(), "cannot write to /proc"),
    ] {
        for arguments in [&["run", "3x3", "--dir"][..], &["serve", "3x3", "--dir"]] {
            let mut command = fathom();
            command.args(arguments).arg(&path);
            refused(command, says);
        }
        let mut command = fathom_worker();
        command.args(["--join", "127.0.0.1:9", "--store"]).arg(&path);
        refused(command, "cannot use the store");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn options_without_effect_are_named() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let ran = |more: &[&str]| fathom().args(["run", "3x3", "--dir"]).arg(&run).args(more).output().unwrap();
    well(&ran(&[]));
    let output = ran(&["--memory", "1MB"]);
    assert!(output.status.success());
    assert!(texts(&output).1.contains("the run is complete: --memory has no effect"), "{output:?}");
}

#[test]
fn metrics_have_a_port_of_their_own() {
    let mut cluster = Cluster::new(&["3x3"], &[]);
    let (metrics, page) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let mut command = cluster.serving();
    command.args(["--metrics", &metrics, "--http", &page]);
    cluster.serve_by(command);
    until_served(&page);
    let get = |path: &str| ask(&metrics, "GET", path, &[("Host", "node-7:9464")]).unwrap();
    assert_eq!((get("/healthz").status, get("/healthz").body.as_str()), (200, "ok\n"));
    // There is nothing to tell before the first look at the run.
    until("the run is known", || get("/metrics").body.contains("space=\"3x3\",metric=\"multi\"} 1\n"));
    let text = get("/metrics").body;
    assert!(text.contains("\nfathom_build_info{version=\""), "{text}");
    // There is nothing else, and no token.
    for path in ["/", "/api/status", "/report/csv"] {
        assert_eq!(get(path).status, 404, "{path}");
    }
    assert!(!text.contains(&token(&cluster.run())));
    let bearer = format!("Bearer {}", token(&cluster.run()));
    let head = ask(&page, "HEAD", "/metrics", &[("Host", &page), ("Authorization", &bearer)]).unwrap();
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}
