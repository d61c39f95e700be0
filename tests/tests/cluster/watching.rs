//! What users see of runs: progress, running processes, logs, comparisons; and what they do afterwards:
//! follow-up commands and cleaning up.

use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::page::until_served;
use fathom_tests::process::{free_port, signal, started_until, until, well};
use fathom_tests::{assert_same, fathom, fathom_worker, json, texts};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs `fathom` in a directory, and asserts success. Returns standard output.
fn out(directory: &Path, arguments: &[&str]) -> String {
    let output = fathom().args(arguments).current_dir(directory).output().unwrap();
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{arguments:?}: {err}");
    out
}

/// Runs `fathom` in a directory. Returns its exit code and standard error.
fn refused(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = fathom().args(arguments).current_dir(directory).output().unwrap();
    (output.status.code(), texts(&output).1)
}

/// The directory's name is not valid text and has a space. A line of the log is damaged.
#[test]
fn odd_directories_and_damaged_logs_are_shown() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join(OsStr::from_bytes(b"odd \xff"));
    well(&fathom().args(["run", "2x3", "-q", "--max-depth", "2", "--dir"]).arg(&run).output().unwrap());
    let status = well(&fathom().arg("status").arg(&run).output().unwrap());
    let shown = run.display().to_string();
    assert!(status.contains(&format!("continue with 'fathom resume '{shown}''")), "{status}");
    let lines = || well(&fathom().arg("logs").arg(&run).arg(&run).output().unwrap()).lines().count();
    let before = lines();
    assert_eq!(before, fs::read_to_string(run.join("log.jsonl")).unwrap().lines().count());
    let mut log = fs::OpenOptions::new().append(true).open(run.join("log.jsonl")).unwrap();
    log.write_all(b"\xff\n{\"message\": \"\xff\"}\n").unwrap();
    assert_eq!(lines(), before + 1);
}

/// Runs a shell command line on its own terminal, with typed input. Returns `None` if the tool for that is
/// missing.
fn on_terminal(line: &str, typed: &str) -> Option<Output> {
    let program = fathom();
    let bin = Path::new(program.get_program()).parent().unwrap().to_owned();
    let path =
        std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH")?)));
    let line = format!("stty cols 80 rows 24; {line}");
    let mut script = Command::new("script");
    script.args(["-qefc", &line, "/dev/null"]).env("PATH", path.unwrap()).env("TERM", "xterm");
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    match script.spawn() {
        Ok(mut child) => {
            child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
            Some(child.wait_with_output().unwrap())
        }
        Err(error) => {
            assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "script: {error}");
            eprintln!("not tested: script: {error}");
            None
        }
    }
}

#[test]
fn terminal_shows_one_line_that_is_erased() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let Some(output) = on_terminal(&format!("fathom run 3x4 --threads 1 --dir '{}'", run.display()), "")
    else {
        return;
    };
    assert!(output.status.success());
    let (shown, _) = texts(&output);
    assert!(shown.contains("of 479,001,600") || shown.contains("states/s"), "{shown}");
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with("digest: 42c7d742"), "{last}");
    // Only the table is left on the terminal.
    let table = shown.split("3x4 multi").nth(1).unwrap();
    assert!(!table.contains("states/s") && !table.contains('\u{1b}'), "{table}");
}

/// The terminal writes `^C` after the line. If the line filled its row, `^C` would start another row, and the
/// line would stay.
#[test]
fn progress_line_leaves_space_for_terminal_output() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let line = format!(
        "stty cols 60; timeout --foreground -s INT 4 fathom run 2x7 --threads 1 --dir '{}'; true",
        run.display()
    );
    let Some(output) = on_terminal(&line, "") else {
        return;
    };
    let (shown, _) = texts(&output);
    let rows: Vec<&str> = shown.split("\r\u{1b}[2K").filter(|row| row.starts_with("depth ")).collect();
    let written = rows.iter().filter(|row| !row.contains('\n')).map(|row| row.chars().count());
    let widest = written.max().unwrap_or_else(|| panic!("{shown}"));
    assert!((20..=57).contains(&widest), "{widest}: {shown}");
    // The line is erased before the last words.
    let last = shown.split("\r\u{1b}[2K").last().unwrap();
    assert!(last.starts_with("stopped; continue with"), "{shown:?}");
}

/// The line is below the log lines, and is written again after each of them.
#[test]
fn progress_line_is_below_the_log_lines() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let line = format!("fathom run 3x4 --workers 1 --threads 1 --dir '{}'", run.display());
    let Some(output) = on_terminal(&line, "") else {
        return;
    };
    let (shown, _) = texts(&output);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("of 479,001,600") && shown.contains(" disk"), "{shown}");
    for written in shown.lines().filter(|line| line.contains("INFO")) {
        // The line of progress is erased before the log line is written.
        let before = written.split("INFO").next().unwrap().rsplit("\u{1b}[2K").next().unwrap();
        assert!(!before.contains("states/s"), "{written:?}");
    }
    let table = shown.split("3x4 multi\r").nth(1).unwrap();
    assert!(!table.contains("states/s") && !table.contains('\u{1b}'), "{table}");
}

#[test]
fn top_draws_and_restores_the_screen() {
    let directory = fathom_tests::tempdir().unwrap();
    out(directory.path(), &["run", "3x3", "-q", "--dir", "run"]);
    let run = directory.path().join("run");
    let Some(output) = on_terminal(&format!("fathom top '{}'", run.display()), "q\n") else {
        return;
    };
    assert!(output.status.success());
    let (shown, _) = texts(&output);
    // Each word is placed separately.
    assert!(["growth", "1,260", "complete:"].iter().all(|word| shown.contains(word)), "{shown}");
    // The previous screen is restored.
    assert!(shown.contains("\u{1b}[?1049l"), "{shown}");
    let (code, err) = refused(directory.path(), &["top", "run"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("fathom status --watch"), "{err}");
}

#[test]
fn status_shows_the_running_process() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut child = fathom()
        .args(["run", "3x4", "-q", "--threads", "1", "--disk-limit", "1GiB", "--dir"])
        .arg(&run)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the process is running", || {
        fs::read_to_string(run.join("at-work.json")).is_ok_and(|text| text.contains("\"depth\":"))
    });
    fathom_tests::process::signal(&child, libc::SIGSTOP);
    let said = out(directory.path(), &["status", "run"]);
    assert!(said.contains(&format!("searched by process {} on ", child.id())), "{said}");
    assert!(said.contains("of its cosets") && said.contains("states/s"), "{said}");
    assert!(!said.contains("go on with"), "{said}");
    let status: serde_json::Value =
        serde_json::from_str(&out(directory.path(), &["status", "run", "--json"])).unwrap();
    assert_eq!(status["at_work"]["pid"], child.id());
    assert_eq!(status["at_work"]["progress"]["states"], 479_001_600);
    assert!(said.contains(" of 1.00 GiB of disk"), "{said}");
    assert_eq!(status["at_work"]["disk_limit_bytes"], 1 << 30);
    // Meanwhile no process may remove the layers.
    let (code, err) = refused(directory.path(), &["remove", "run", "--all"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(run.join("run.toml").exists());

    child.kill().unwrap();
    child.wait().unwrap();
    let said = out(directory.path(), &["status", "run"]);
    assert!(said.contains("continue with 'fathom resume run'") && !said.contains("searched by"), "{said}");
    out(directory.path(), &["resume", "run", "-q"]);
    assert!(!run.join("at-work.json").exists());
}

#[test]
fn status_shows_the_progress_of_a_served_run() {
    let mut cluster = Cluster::new(&["2x6", "--metric", "single", "--shards", "16"], &["--audit", "0"]);
    cluster.stands_still("here", 7);
    let run = cluster.run();
    let depth = cluster.status().unwrap()["depth"].clone();
    let progress = || {
        json(&fathom().args(["status", "--json"]).arg(&run).output().unwrap())["at_work"]["progress"].clone()
    };
    until("the depth is reported", || progress()["depth"] == depth);
    let progress = progress();
    assert_eq!((&progress["states"], &progress["shards"]), (&479_001_600.into(), &16.into()), "{progress}");
    // The workers hold the layers.
    assert!(progress["disk_bytes"].is_null(), "{progress}");
    let (said, _) = texts(&fathom().arg("status").arg(&run).output().unwrap());
    assert!(said.contains("shows the progress") && said.contains(" of 16 shards done"), "{said}");
    assert!(said.contains("states/s") && !said.contains("of disk"), "{said}");
}

#[test]
fn slow_command_is_announced_and_can_be_stopped() {
    // No process writes to the file, so that the command takes long on every machine.
    let directory = fathom_tests::tempdir().unwrap();
    let pipe = directory.path().join("puzzle.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child =
        fathom().arg("plan").arg(&pipe).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert_eq!(line, "planning …\n");
    signal(&child, libc::SIGINT);
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "stopped\n");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn logs_are_readable_by_people_and_machines() {
    let directory = fathom_tests::tempdir().unwrap();
    out(directory.path(), &["run", "3x3", "-q", "--shards", "3", "--dir", "run"]);
    let lines = out(directory.path(), &["logs", "run", "--depth", "7", "--shard", "2"]);
    let done: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((done["message"].as_str(), done["depth"].as_u64()), (Some("task done"), Some(7)));
    let text = out(directory.path(), &["logs", "run", "--depth", "7", "--text"]);
    assert_eq!(text.lines().filter(|line| line.contains("  task done  ")).count(), 3, "{text}");
    assert!(text.contains("  layer done  ") && !text.contains('{'), "{text}");
}

#[test]
fn logs_know_workers_by_name() {
    let mut cluster = Cluster::new(&["3x3"], &["--shards", "8"]);
    cluster.serve();
    cluster.join_together(&["w1", "w2"]);
    cluster.finishes();
    let logs = |worker: &str| {
        let output = fathom()
            .arg("logs")
            .arg(cluster.run())
            .arg(cluster.store("w1"))
            .arg(cluster.store("w2"))
            .args(["--worker", worker, "--json"])
            .output()
            .unwrap();
        texts(&output).0
    };
    let ids: Vec<String> = ["w1", "w2"]
        .map(|name| {
            let lines = logs(name);
            let ids = lines.lines().map(|line| {
                let fields: serde_json::Value = serde_json::from_str(line).unwrap();
                fields["worker"].as_str().unwrap().to_owned()
            });
            let ids: std::collections::BTreeSet<String> = ids.collect();
            assert_eq!(ids.len(), 1, "{ids:?}");
            ids.into_iter().next().unwrap()
        })
        .into();
    assert_ne!(ids[0], ids[1]);
    assert_eq!(logs(&ids[0]), logs("w1"));
    assert_eq!(logs("w3"), "");

    // The store can be emptied once the worker is gone.
    let store = cluster.store("w1");
    let clean = |options: &[&str]| {
        fathom_worker().arg("clean").arg("--store").arg(&store).args(options).output().unwrap()
    };
    let listed = json(&clean(&["--dry-run", "--json"]));
    assert_eq!(listed["removed"], false);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
    assert_eq!(listed["runs"][0]["space"], "3x3 multi");
    let run = listed["runs"][0]["run"].as_str().unwrap();
    assert!(store.join(run).is_dir());
    assert_eq!(clean(&["--run", "ffffffff"]).status.code(), Some(2));
    fs::write(store.join("mine"), "not Fathom's").unwrap();
    assert!(json(&clean(&["--run", &run[..6], "--json"]))["removed"].as_bool().unwrap());
    assert!(!store.join(run).exists() && store.join("worker-id").exists());
    assert!(clean(&["--all"]).status.success());
    let left: Vec<_> = fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mine"]);
    let output = fathom_worker().args(["clean", "--store"]).arg(cluster.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn store_in_use_is_not_cleaned() {
    // Three heartbeats are over long before the lease expires.
    let mut cluster = Cluster::new(&["3x4"], &["--lease", "10s"]);
    cluster.serve();
    cluster.join_until("w1", "computing:3:stop");
    cluster.until_stopped("w1");
    let output =
        fathom_worker().args(["clean", "--all", "--store"]).arg(cluster.store("w1")).output().unwrap();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    cluster.until_worker_is("w1", "silent");
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&["3x4"]));
}

/// When a run is complete, workers keep only their identity and their logs.
#[test]
fn stores_are_cleaned_when_the_run_is_complete() {
    let mut cluster = Cluster::new(&["3x3"], &["--shards", "8", "--clean-stores"]);
    cluster.serve();
    cluster.join_together(&["a", "b"]);
    assert_same(&cluster.finishes(), &undisturbed(&["3x3"]));
    for worker in ["a", "b"] {
        let store = cluster.store(worker);
        let names =
            || fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        until("the store is cleaned", || names().all(|name| name.len() != 16));
        assert!(store.join("worker-id").exists());
        let log = || fs::read_to_string(store.join("log.jsonl")).unwrap();
        until("the log reports it", || log().contains("\"message\":\"store cleaned\""));
    }
    let (code, err) = refused(&cluster.run(), &["serve", "3x3", "--clean-stores", "--shared-store", "here"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("cannot be used with"), "{err}");
}

/// Workers report their resources to the coordinator.
#[test]
fn workers_report_their_resources() {
    // Only one of two required workers, so that the run does not end.
    let mut cluster = Cluster::on_disk(&["3x4"], &["--replicas", "2"]);
    cluster.serve();
    let mut command = cluster.joining("a");
    command.args(["--disk-limit", "1GiB", "--memory", "512MiB"]);
    cluster.join_by("a", command);
    let mut worker = serde_json::Value::Null;
    until("the worker reports", || {
        worker = cluster.status().map_or(serde_json::Value::Null, |status| status["workers"][0].clone());
        worker["memory_bytes"].as_u64() > Some(0)
    });
    assert_eq!(worker["disk_limit_bytes"], 1 << 30);
    assert_eq!(worker["memory_limit_bytes"], 512 << 20);
    assert!(worker["free_bytes"].as_u64() <= Some(1 << 30), "{worker}");
    assert!(worker["read_bytes"].is_u64() && worker["written_bytes"].as_u64() > Some(0), "{worker}");
    assert_eq!([&worker["kept_bytes"], &worker["spilled_bytes"]], [0, 0], "a single worker fetches nothing");
    let (table, _) = texts(&cluster.ask("workers", &[]));
    assert!(table.contains(" of 1.00 GiB"), "{table}");
}

/// Workers on one machine without a memory limit divide the memory of the machine as they join.
#[test]
fn workers_on_one_host_share_its_memory() {
    // Three are required, so that the run does not end.
    let mut cluster = Cluster::new(&["3x4"], &["--replicas", "3"]);
    cluster.serve();
    let limits = |cluster: &Cluster| -> Vec<u64> {
        let status = cluster.status().unwrap_or_default();
        let workers = status["workers"].as_array().into_iter().flatten();
        workers
            .filter_map(|worker| worker["memory_limit_bytes"].as_u64())
            .filter(|&limit| limit > 0)
            .collect()
    };
    cluster.join(&["a"]);
    until("the first worker reports", || limits(&cluster).len() == 1);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next());
    let all = total.unwrap().parse::<u64>().unwrap() * 1024 / 10 * 9;
    assert!(limits(&cluster)[0] <= all);
    cluster.join(&["b"]);
    // Workers of other tests may be present, too.
    until("both have at most half", || {
        let limits = limits(&cluster);
        limits.len() == 2 && limits.iter().all(|&limit| limit <= all / 2)
    });
}

#[test]
fn results_remain_when_layers_are_removed() {
    let directory = fathom_tests::tempdir().unwrap();
    out(directory.path(), &["run", "3x3", "-q", "--dir", "run"]);
    out(directory.path(), &["run", "3x3", "-q", "--max-depth", "4", "--dir", "part"]);
    let table = out(directory.path(), &["run", "3x3", "-q", "--dir", "run"]);
    fs::write(directory.path().join("run/notes"), "mine").unwrap();

    let listed = out(directory.path(), &["remove", "run", "--dry-run", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed["removed"], listed["files"].as_array().unwrap().len()), (&false.into(), 1));
    assert!(listed["bytes"].as_u64().unwrap() > 0 && directory.path().join("run/layers").is_dir());
    out(directory.path(), &["remove", "run"]);
    assert!(!directory.path().join("run/layers").exists());
    assert_eq!(out(directory.path(), &["run", "3x3", "-q", "--dir", "run"]), table);
    assert!(out(directory.path(), &["report", "run", "--format", "csv"]).lines().count() == 10);
    assert!(out(directory.path(), &["remove", "run"]).starts_with("nothing to remove"));

    let (code, err) = refused(directory.path(), &["remove", "part"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("is not complete") && err.contains("--all"), "{err}");
    // A killed process has left the first one. The next process deletes it.
    let left = ["cosets.bin.0123456789abcdef-1.tmp", "token", "page-token"];
    left.iter().for_each(|name| fs::write(directory.path().join("part").join(name), "left").unwrap());
    out(directory.path(), &["resume", "part", "-q"]);
    assert!(!directory.path().join("part").join(left[0]).exists());
    fs::write(directory.path().join("part").join(left[0]), "left").unwrap();
    out(directory.path(), &["remove", "part", "--all"]);
    assert!(!directory.path().join("part").exists());
    out(directory.path(), &["remove", "run", "--all"]);
    let left: Vec<_> =
        fs::read_dir(directory.path().join("run")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["notes"]);
    assert_eq!(refused(directory.path(), &["remove", "."]).0, Some(2));
}

#[test]
fn results_are_compared() {
    let directory = fathom_tests::tempdir().unwrap();
    let result = out(directory.path(), &["run", "3x3", "-q", "--json", "--dir", "run"]);
    fs::write(directory.path().join("result.json"), &result).unwrap();
    fs::write(directory.path().join("wrong.json"), result.replace("54741,2475", "54740,2476")).unwrap();
    fs::write(directory.path().join("none.json"), "{}").unwrap();
    assert_eq!(out(directory.path(), &["compare", "run", "result.json"]), "the same: 3x3 multi, 9 depths\n");
    let output =
        fathom().args(["compare", "run", "wrong.json"]).current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (told, _) = texts(&output);
    let rows: Vec<Vec<&str>> = told.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [["7", "counts", "54,741", "54,740"], ["8", "counts", "2,475", "2,476"]]);
    for name in ["none.json", "nowhere"] {
        let (code, err) = refused(directory.path(), &["compare", "run", name]);
        assert_eq!(code, Some(2));
        assert!(err.contains(name), "{err}");
    }
}

#[test]
fn on_done_command_runs_at_the_end() {
    let directory = fathom_tests::tempdir().unwrap();
    let command = "echo \"$FATHOM_STATUS $FATHOM_SPACE $FATHOM_STATES $FATHOM_DEPTH [$FATHOM_GOD_NUMBER]\" >> told; exit 3";
    let run = |more: &[&str]| {
        let mut command_line = vec!["run", "3x3", "--dir", "run", "--on-done", command];
        command_line.extend(more);
        let output = fathom().args(&command_line).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success());
        let (_, err) = texts(&output);
        assert!(err.contains("warning: the --on-done command failed: exit status: 3"), "{err}");
    };
    run(&["--max-depth", "5"]);
    run(&[]);
    out(directory.path(), &["resume", "run", "-q", "--on-done", command]);
    let (code, _) = refused(directory.path(), &["run", "3x4", "--dir", "run", "--on-done", command]);
    assert_eq!(code, Some(2));
    let told = fs::read_to_string(directory.path().join("told")).unwrap();
    assert_eq!(told, "max-depth 3x3 181440 5 []\ncomplete 3x3 181440 8 [8]\ncomplete 3x3 181440 8 [8]\n");
}

/// The help names exactly the variables that are set.
#[test]
fn on_done_sets_the_documented_variables() {
    let directory = fathom_tests::tempdir().unwrap();
    let help = out(directory.path(), &["run", "--help"]);
    let about = help.split("--on-done <COMMAND>").nth(1).unwrap().split("\n      --").next().unwrap();
    let words = about.split(|c: char| !c.is_ascii_uppercase() && c != '_');
    let mut told: Vec<&str> = words.filter(|word| word.starts_with("FATHOM_")).collect();
    told.sort_unstable();
    let command = "env | grep -o '^FATHOM_[A-Z_]*' | sort > there";
    out(directory.path(), &["run", "3x3", "-q", "--dir", "run", "--on-done", command]);
    let there = fs::read_to_string(directory.path().join("there")).unwrap();
    // This run did not fail.
    told.retain(|&name| name != "FATHOM_ERROR");
    // The variables of the test process are set as well.
    let there: Vec<&str> = there.lines().filter(|name| std::env::var_os(name).is_none()).collect();
    assert_eq!(there, told);
}

/// The command runs when the run ends, while its page is still served.
#[test]
fn on_done_runs_before_the_page_lingers() {
    let directory = fathom_tests::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let run = |command: &mut Command| {
        let told = directory.path().join("told");
        let options = ["--dir", "run", "--http", &address, "--http-linger", "1h"];
        command.args(options).args(["--on-done", "echo $FATHOM_STATUS > part; mv part told"]);
        command.current_dir(directory.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        until("the command has run", || told.exists());
        assert_eq!(fs::read_to_string(&told).unwrap(), "complete\n");
        fs::remove_file(told).unwrap();
        // Only a signal ends the page before an hour is over.
        until_served(&address);
        assert!(process.try_wait().unwrap().is_none());
        signal(&process, libc::SIGINT);
        assert!(process.wait().unwrap().success());
    };
    run(fathom().args(["run", "3x3"]));
    // A run that is complete already.
    run(fathom().args(["run", "3x3"]));
    fs::remove_dir_all(directory.path().join("run")).unwrap();
    run(fathom().args(["run", "3x3", "--workers", "1"]));
    run(fathom().args(["serve", "3x3", "--listen", "127.0.0.1:0"]));
}

/// The command is told whether the run was stopped, and may use the run.
#[test]
fn on_done_may_use_a_stopped_run() {
    let directory = fathom_tests::tempdir().unwrap();
    let command = "echo $FATHOM_STATUS > part; \"$FATHOM\" resume \"$FATHOM_RUN\" -q --max-depth 3 >> part && mv part told";
    let told = || {
        let told = fs::read_to_string(directory.path().join("told")).unwrap();
        fs::remove_file(directory.path().join("told")).unwrap();
        told.lines().next().unwrap().to_owned()
    };
    let fathom = |arguments: &[&str]| {
        let program = fathom().get_program().to_owned();
        let mut command_line = Command::new(&program);
        command_line.args(arguments).args(["--on-done", command]).env("FATHOM", &program);
        command_line.current_dir(directory.path());
        command_line
    };
    well(&fathom(&["run", "3x3", "--dir", "run", "--max-depth", "2", "-q"]).output().unwrap());
    assert_eq!(told(), "max-depth");
    well(
        &fathom(&["run", "3x3", "--dir", "two", "--max-depth", "2", "-q", "--workers", "2"])
            .output()
            .unwrap(),
    );
    assert_eq!(told(), "max-depth");
    let mut serve =
        fathom(&["serve", "3x3", "--dir", "run", "--shared-store", "run", "--listen", "127.0.0.1:0"]);
    let (mut serve, _err) = started_until(&mut serve, " serving ");
    signal(&serve, libc::SIGTERM);
    assert!(serve.wait().unwrap().success());
    assert_eq!(told(), "stopped");
}

#[test]
fn disk_limit_is_enforced() {
    let directory = fathom_tests::tempdir().unwrap();
    let (code, err) = refused(directory.path(), &["run", "3x4", "--dir", "run", "--disk-limit", "1MiB"]);
    assert_eq!(code, Some(2));
    let said = "1.00 MiB are available at run within --disk-limit 1.00 MiB";
    assert!(err.contains(said) && !directory.path().join("run").exists(), "{err}");
    // Each depth is checked when the run exists.
    out(directory.path(), &["run", "3x4", "-q", "--max-depth", "6", "--dir", "run"]);
    let (code, err) = refused(directory.path(), &["resume", "run", "--disk-limit", "600KiB"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("raise --disk-limit, then continue with 'fathom resume run'"), "{err}");
    // Before a depth begins, where what it takes is known for certain.
    out(directory.path(), &["resume", "run", "-q", "--max-depth", "8"]);
    let (code, err) = refused(directory.path(), &["resume", "run", "--disk-limit", "3MiB"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("depth 9 will need about") && err.contains("within --disk-limit 3.00 MiB"), "{err}");
    assert!(!directory.path().join("run/layers/d009").exists());
    let complete = out(directory.path(), &["resume", "run", "-q", "--disk-limit", "1GiB"]);
    assert!(complete.contains("digest: 42c7d7426320e1a1d830f161a7fb3895f2f2ef6f6355f3db6511badb34c4de7b"));
}

#[test]
fn watched_states_are_read_from_standard_input() {
    let directory = fathom_tests::tempdir().unwrap();
    let mut child = fathom()
        .args(["run", "3x3", "-q", "--dir", "run", "--watch-states", "-"])
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"1 2 0 3 4 5 6 7 8\n").unwrap();
    let (said, _) = texts(&child.wait_with_output().unwrap());
    assert!(said.contains("watched states by depth: 0 1 0 0 0 0 0 0 0"), "{said}");
}
