//! The page of a run over HTTP, without a browser: access, contents, and requests that must do no harm.

use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::page::{Answer, ask, get, token, until_served};
use fathom_tests::process::{free_port, signal, until};
use fathom_tests::{assert_same, fathom, json, texts};
use serde_json::{Value, json as value};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, SystemTime};

/// A complete run of 3x3 whose page lingers. The process is killed when this value is dropped.
struct Lingering {
    directory: tempfile::TempDir,
    address: String,
    process: Child,
}

impl Lingering {
    fn begin(more: &[&str]) -> Self {
        let directory = fathom_tests::tempdir().unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = fathom();
        command.args(["run", "3x3", "--http", &address, "--http-linger", "1h", "--dir"]);
        command.arg(directory.path().join("run")).args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = command.spawn().unwrap();
        let this = Self { directory, address, process };
        until_served(&this.address);
        until("the run is complete", || this.get("/metrics").body.contains("\nfathom_complete 1"));
        this
    }

    fn run(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    fn get(&self, path: &str) -> Answer {
        get(&self.address, path, &self.run())
    }

    /// Ends the page with Ctrl-C. Returns the output of the process.
    fn end(mut self) -> Output {
        signal(&self.process, libc::SIGINT);
        let mut output =
            Output { status: self.process.wait().unwrap(), stdout: Vec::new(), stderr: Vec::new() };
        self.process.stdout.take().unwrap().read_to_end(&mut output.stdout).unwrap();
        self.process.stderr.take().unwrap().read_to_end(&mut output.stderr).unwrap();
        output
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn only_the_token_gives_access() {
    let page = Lingering::begin(&[]);
    let (address, token) = (&*page.address, token(&page.run()));
    let mode = std::fs::metadata(page.run().join("page-token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let bearer = format!("Bearer {token}");
    let asked =
        |method: &str, path: &str, headers: &[(&str, &str)]| ask(address, method, path, headers).unwrap();
    for path in ["/", "/page.js", "/api/status", "/api/events", "/metrics", "/report/csv", "/nothing"] {
        let answer = asked("GET", path, &[("Host", address)]);
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.body.contains("3x3") && !answer.body.contains(&token), "{}", answer.body);
        let foreign = asked("GET", path, &[("Host", "evil.example"), ("Authorization", &bearer)]);
        assert_eq!(foreign.status, 421, "{path}");
        let written =
            asked("POST", path, &[("Host", address), ("Authorization", &bearer), ("Content-Length", "0")]);
        assert_eq!((written.status, written.header("allow")), (405, Some("GET, HEAD")), "{path}");
    }
    let health = asked("GET", "/healthz", &[("Host", address)]);
    assert_eq!((health.status, &*health.body), (200, "ok\n"));
    assert_eq!(asked("GET", "/?token=0123456789abcdef", &[("Host", address)]).status, 403);
    // The printed address leads to a cookie and to an address without the token.
    let admitted = asked("GET", &format!("/?token={token}"), &[("Host", address)]);
    assert_eq!((admitted.status, admitted.header("location")), (303, Some("/")));
    let cookie = admitted.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let answer = asked("GET", "/", &[("Host", address), ("Cookie", cookie)]);
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("<script type=\"module\" src=\"/page.js\">"));
    let other_port = cookie.replace("fathom-", "fathom-1");
    assert_eq!(asked("GET", "/", &[("Host", address), ("Cookie", &other_port)]).status, 401);
    // Headers on every answer keep foreign scripts, frames and caches out.
    for answer in [answer, health, admitted, asked("GET", "/", &[("Host", address)])] {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    }
    let log = std::fs::read_to_string(page.run().join("log.jsonl")).unwrap();
    assert!(!log.is_empty() && !log.contains(&token), "the log is readable and must have no secret");
    let output = page.end();
    assert!(output.status.success(), "{output:?}");
    let (table, said) = texts(&output);
    assert!(table.contains("God's number"), "{table}");
    assert!(said.contains(&format!("?token={token}")), "the address is printed: {said}");
}

#[test]
fn api_returns_what_commands_print() {
    let page = Lingering::begin(&["-q"]);
    let told = page.get("/api/status");
    assert_eq!(told.header("content-type"), Some("application/json"));
    let told: Value = serde_json::from_str(&told.body).unwrap();
    let asked = json(&fathom().args(["status", "--json"]).arg(page.run()).output().unwrap());
    assert_eq!(told, asked);
    for format in ["html", "md", "csv", "json", "latex", "oeis", "svg"] {
        let report = page.get(&format!("/report/{format}"));
        assert_eq!(report.status, 200, "{format}");
        assert!(report.header("content-disposition").unwrap().starts_with("attachment; "), "{format}");
        let made = fathom().args(["report", "--format", format]).arg(page.run()).output().unwrap();
        assert_eq!(report.body.trim_end(), texts(&made).0.trim_end(), "{format}");
    }
    assert_eq!(page.get("/report/doc").status, 404);
    assert_eq!(page.get("/nothing").status, 404);
    assert_eq!(page.get("/api/shards/x").status, 400);
}

/// Each line of the metrics that is not a comment is a name, optional labels, and a number.
#[test]
fn metrics_follow_openmetrics() {
    let page = Lingering::begin(&["-q"]);
    let answer = page.get("/metrics");
    let kind = answer.header("content-type").unwrap();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    assert!(answer.body.ends_with("# EOF\n"));
    let mut families = Vec::new();
    for line in answer.body.lines().filter(|line| *line != "# EOF") {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            families.push(family.split(' ').next().unwrap().to_owned());
        }
        if line.starts_with('#') {
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let family = families.last().unwrap();
        assert!(name.starts_with(family.as_str()) && name.starts_with("fathom_"), "{line}");
    }
    let count = families.len();
    families.sort();
    families.dedup();
    assert_eq!(families.len(), count, "no family occurs twice");
    // The moves of 3x3 are even: 9! / 2 states.
    assert!(answer.body.contains("\nfathom_visited_states 181440.0\n"), "{}", answer.body);
}

/// The Grafana dashboard uses only metrics that exist.
#[test]
fn dashboard_uses_existing_metrics() {
    let source = include_str!("../../../page/src/metrics.rs");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/grafana/fathom.json");
    let text = std::fs::read_to_string(path).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(!panels.is_empty());
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            let asked = target["expr"].as_str().unwrap();
            let names = asked.split(|c: char| !c.is_ascii_lowercase() && c != '_');
            for name in names.filter_map(|word| word.strip_prefix("fathom_")) {
                let ends = [
                    "",
                    "_bytes",
                    "_seconds",
                    "_total",
                    "_bytes_total",
                    "_seconds_bucket",
                    "_seconds_count",
                    "_seconds_sum",
                ];
                let stems = ends.iter().filter_map(|end| name.strip_suffix(end));
                assert!(stems.map(|stem| format!("\"{stem}\"")).any(|stem| source.contains(&stem)), "{name}");
            }
        }
    }
}

#[test]
fn unusable_address_is_refused_before_anything_is_written() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let key = directory.path().join("key.pem");
    std::fs::write(&key, "no key").unwrap();
    let key = key.to_str().unwrap();
    for (options, said) in [
        (vec!["--http", &taken], "cannot listen on"),
        (vec!["--http", "192.0.2.1:8080"], "in plain text"),
        (vec!["--http", "0.0.0.0:0"], "in plain text"),
        (vec!["--http", "[::]:0"], "in plain text"),
        (vec!["--http", "localhost"], "invalid value"),
        (vec!["--http", "127.0.0.1:0", "--http-tls-cert", key], "--http-tls-key"),
        (
            vec!["--http", "127.0.0.1:0", "--http-tls-cert", key, "--http-tls-key", key],
            "contains no certificate",
        ),
        (vec!["--http-linger", "1h"], "--http"),
    ] {
        for command in [["run", "3x3"], ["serve", "3x3"]] {
            let output = fathom().args(command).args(&options).arg("--dir").arg(&run).output().unwrap();
            let (_, error) = texts(&output);
            assert_eq!(output.status.code(), Some(2), "{options:?}: {error}");
            assert!(error.contains(said), "{options:?}: {error}");
            assert!(!run.exists(), "{options:?}");
        }
    }
    let mut serve = fathom();
    let output = serve.args(["serve", "3x3", "--listen", &taken, "--dir"]).arg(&run).output().unwrap();
    let (_, error) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("Address already in use. Choose another address with --listen"), "{error}");
    assert!(!run.exists());
}

#[test]
fn certificate_makes_the_page_tls_only() {
    let directory = fathom_tests::tempdir().unwrap();
    let keys = directory.path().join("keys");
    assert!(fathom().arg("keys").arg(&keys).output().unwrap().status.success());
    let (certificate, key) = (keys.join("cert.pem"), keys.join("key.pem"));
    let options = ["--http-tls-cert", certificate.to_str().unwrap(), "--http-tls-key", key.to_str().unwrap()];
    let run = directory.path().join("run");
    assert!(fathom().args(["run", "2x3", "-q", "--dir"]).arg(&run).output().unwrap().status.success());
    let address = format!("0.0.0.0:{}", free_port());
    let mut command = fathom();
    command.arg("page").arg(&run).args(["--http", &address]).args(options);
    let mut process = command.stdout(Stdio::null()).spawn().unwrap();
    let here = address.replace("0.0.0.0", "127.0.0.1");
    until("the page listens", || TcpStream::connect(&here).is_ok());
    let plain = ask(&here, "GET", "/healthz", &[("Host", &here)]);
    assert!(plain.is_none_or(|answer| answer.status != 200));
    signal(&process, libc::SIGINT);
    assert!(process.wait().unwrap().success());
}

/// Two hundred clients request events, and half of them read nothing: the others receive the end of the run,
/// and the run ends.
#[test]
fn many_readers_do_no_harm() {
    let address = format!("127.0.0.1:{}", free_port());
    let mut cluster = Cluster::new(&["3x4"], &["--http", &address]);
    cluster.serve();
    until_served(&address);
    let bearer = token(&cluster.run());
    let ask =
        format!("GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {bearer}\r\n\r\n");
    let reader = |_| {
        let mut tcp = TcpStream::connect(&address).unwrap();
        tcp.write_all(ask.as_bytes()).unwrap();
        tcp
    };
    let mut readers: Vec<TcpStream> = (0..200).map(reader).collect();
    let silent = readers.split_off(100);
    let reading: Vec<_> = readers
        .into_iter()
        .map(|mut reader| {
            std::thread::spawn(move || {
                let mut told = Vec::new();
                // The server may close the connection in any way.
                let _ = reader.read_to_end(&mut told);
                String::from_utf8(told).unwrap()
            })
        })
        .collect();
    cluster.join(&["a"]);
    assert_same(&cluster.finishes(), &undisturbed(&["3x4"]));
    for told in reading {
        let told = told.join().unwrap();
        assert!(told.starts_with("HTTP/1.1 200 OK") && told.contains(r#""state":"waiting""#));
        assert!(told.contains(r#""state":"complete""#), "{told}");
    }
    drop(silent);
}

/// The figures that workers reported remain after the run has ended.
#[test]
fn metrics_include_worker_resources() {
    let address = format!("127.0.0.1:{}", free_port());
    let mut cluster = Cluster::new(&["3x4"], &["--shards", "8", "--http", &address, "--http-linger", "1h"]);
    cluster.serve();
    until_served(&address);
    cluster.join_together(&["a", "b"]);
    let metrics = || get(&address, "/metrics", &cluster.run()).body;
    until("the run is complete", || metrics().contains("\nfathom_complete 1"));
    let value = |name: &str| {
        let text = metrics();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.rsplit(' ').next());
        line.unwrap_or_else(|| panic!("no {name}: {text}")).parse::<f64>().unwrap()
    };
    // Neither worker has all the files that it reads. The last figures arrive when a worker leaves.
    until("fetches are reported", || value("fathom_fetch_seconds_count") > 0.0);
    assert!(value("fathom_fetch_seconds_sum") > 0.0);
    for worker in ["a", "b"] {
        let of = |name: &str| value(&format!("fathom_worker_{name}{{worker=\"{worker}\",id="));
        until("memory is reported", || of("memory_bytes") > 0.0);
        assert!(of("read_bytes_total") >= 0.0 && of("written_bytes_total") >= 0.0);
    }
    cluster.signal_coordinator(libc::SIGINT);
    assert_same(&cluster.finishes(), &undisturbed(&["3x4"]));
}

/// `fathom page` for a directory.
struct Shown {
    process: Child,
    address: String,
    cookie: String,
}

impl Shown {
    fn begin(run: &Path) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = fathom();
        command.arg("page").arg(run).args(["--http", &address]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        until_served(&address);
        let mut line = String::new();
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(process.stdout.as_mut().unwrap()),
            &mut line,
        )
        .unwrap();
        let path = line.trim().strip_prefix(&format!("http://{address}")).unwrap();
        let admitted = ask(&address, "GET", path, &[("Host", &address)]).unwrap();
        let cookie = admitted.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Self { process, address, cookie }
    }

    /// Waits until the metrics have these lines.
    fn until_says(&self, lines: &[&str]) {
        let headers = [("Host", &*self.address), ("Cookie", &*self.cookie)];
        until(&format!("the page says {lines:?}"), || {
            let body = ask(&self.address, "GET", "/metrics", &headers).unwrap().body;
            lines.iter().all(|line| body.lines().any(|told| told == *line))
        });
    }

    fn end(mut self) {
        signal(&self.process, libc::SIGINT);
        assert!(self.process.wait().unwrap().success());
    }
}

/// A process on another host writes its progress. Its file is dated in the future, as if just written.
#[test]
fn directory_in_use_shows_progress() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut command = fathom();
    command.args(["run", "2x3", "-q", "--max-depth", "1", "--dir"]).arg(&run);
    assert!(command.output().unwrap().status.success());
    // By hand: two rows of three cells rotate in two ways each, three columns of two in one way.
    let note = value!({
        "host": "elsewhere", "pid": 7, "what": "searched", "address": null, "since": 0,
        "progress": {
            "depth": 2, "shards_done": 0, "shards": 1, "cosets_done": 1, "cosets": 4, "depth_seconds": 2.0, "visited": 18,
            "states": 720, "states_per_second": 125.0, "seconds_left": null, "disk_bytes": null,
        },
    });
    let path = run.join("at-work.json");
    std::fs::write(&path, note.to_string()).unwrap();
    let written = std::fs::File::options().append(true).open(&path).unwrap();
    written.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
    let page = Shown::begin(&run);
    page.until_says(&[
        "fathom_depth 2.0",
        "fathom_depth_done_ratio 0.25",
        "fathom_depth_states 10.0",
        "fathom_states_per_second 125.0",
    ]);
    std::fs::remove_file(&path).unwrap();
    page.until_says(&["fathom_depth 1.0", "fathom_depth_done_ratio 1.0", "fathom_depth_states 7.0"]);
    page.end();
}

#[test]
fn finished_directory_is_shown_and_not_modified() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    assert!(fathom().args(["run", "2x3", "-q", "--dir"]).arg(&run).output().unwrap().status.success());
    let files = || {
        let names = std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    let before = files();
    let page = Shown::begin(&run);
    // 2x3 has 6! states.
    page.until_says(&["fathom_visited_states 720.0"]);
    page.end();
    assert_eq!(files(), before);
    let missing = fathom().arg("page").arg(directory.path().join("none")).output().unwrap();
    assert_eq!(missing.status.code(), Some(2), "{}", texts(&missing).1);
}

/// Reads everything that a page tells a new reader.
fn told_at_first(address: &str, run: &Path) -> Value {
    let bearer = token(run);
    let mut tcp = TcpStream::connect(address).unwrap();
    write!(tcp, "GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {bearer}\r\n\r\n")
        .unwrap();
    for line in std::io::BufRead::lines(std::io::BufReader::new(tcp)) {
        if let Some(data) = line.unwrap().strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
    panic!("the page tells nothing");
}

/// A run by lists has no forecast and no shards to show.
#[test]
fn run_by_lists_is_shown() {
    let page = Lingering::begin(&["-q", "--engine", "lists"]);
    let metrics = page.get("/metrics").body;
    for line in ["fathom_space_states 181440.0", "fathom_visited_states 181440.0", "fathom_depth 8.0"] {
        assert!(metrics.lines().any(|told| told == line), "{line}: {metrics}");
    }
    assert!(!metrics.contains("depth_cosets") && !metrics.contains("NaN"), "{metrics}");
    let told = told_at_first(&page.address, &page.run());
    let facts = &told["run"];
    assert_eq!((&facts["state"], &facts["share"]), (&"complete".into(), &1.0.into()), "{facts}");
    let check = "the counts add up to 181,440, the number of states of the space";
    assert_eq!((&facts["check"], &facts["depth_share"]), (&check.into(), &1.0.into()), "{facts}");
    assert_eq!((&facts["disk_next"], &facts["has_forecast"]), (&Value::Null, &false.into()), "{facts}");
    assert_eq!(told["growth"]["depths"].as_array().unwrap().len(), 9);
    assert_eq!((&told["growth"]["expected"], &told["shards"]), (&value!([]), &value!([])), "{told}");
    assert_eq!(page.get("/report/csv").status, 200);
    assert!(page.end().status.success());
}

/// Nothing is known of so many cells but the moves: the number of states is left out, and so are shares of it.
#[test]
fn run_of_unknown_size_is_shown() {
    let directory = fathom_tests::tempdir().unwrap();
    let swaps = (0..10).map(|swap| format!("s{swap} = \"({},{})\"\n", 300 * swap + 1, 300 * swap + 2));
    let text = format!("name = \"swaps\"\ndegree = 3000\n[moves]\n{}", swaps.collect::<String>());
    std::fs::write(directory.path().join("swaps.toml"), text).unwrap();
    let run = directory.path().join("run");
    let mut command = fathom();
    command.current_dir(directory.path()).args(["run", "swaps.toml", "-q", "--max-depth", "4", "--dir"]);
    assert!(command.arg(&run).output().unwrap().status.success());
    let address = format!("127.0.0.1:{}", free_port());
    let mut command = fathom();
    command.arg("resume").arg(&run).args([
        "--max-depth",
        "5",
        "-q",
        "--http",
        &address,
        "--http-linger",
        "1h",
    ]);
    let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lingering = Lingering { directory, address, process };
    until_served(&lingering.address);
    // The ten swaps commute: a state for each subset of five.
    until("depth 5 is done", || lingering.get("/metrics").body.contains("\nfathom_visited_states 638.0\n"));
    let metrics = lingering.get("/metrics").body;
    assert!(!metrics.contains("space_states") && !metrics.contains("NaN"), "{metrics}");
    until("the run has ended", || told_at_first(&lingering.address, &run)["run"]["state"] == "deep-enough");
    let facts = &told_at_first(&lingering.address, &run)["run"];
    assert_eq!(
        (&facts["states"], &facts["share"], &facts["check"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!((&facts["depth"], &facts["depth_states"]), (&5.into(), &"252".into()), "{facts}");
    // The same from the directory alone.
    let page = Shown::begin(&run);
    page.until_says(&["fathom_visited_states 638.0", "fathom_depth 5.0", "fathom_depth_states 252.0"]);
    page.end();
    assert!(lingering.end().status.success());
}
