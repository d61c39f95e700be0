//! Measures the page of a run with 1,024 workers and 16,384 shards: `crowd [WORKERS]`. The coordinator is the
//! real one. The workers only register, take orders and report changing numbers; a hundred of them share a
//! connection. The program prints the times of `/metrics`, the bytes a second that a reader gets, and the
//! frames a second of Chromium while it scrolls the page.

use anyhow::{Context, Result};
use fathom_engine::run::RunManifest;
use fathom_proto::access::{Access, AccessArguments, Connection};
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use fathom_proto::v1::{self, PROTOCOL_VERSION};
use fathom_tests::browser::{self, Browser};
use fathom_tests::cluster::Cluster;
use fathom_tests::fathom;
use fathom_tests::page::{get, token, until_served};
use fathom_tests::process::free_port;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// A board with 34,650 cosets, whose tables take little time.
const SPACE: [&str; 1] = ["pancake:12"];
const SHARDS: &str = "16384";
const OF_ONE_CONNECTION: usize = 100;
const LONG: Duration = Duration::from_secs(20);

type Client = CoordinatorClient<Connection>;

#[tokio::main]
async fn main() -> Result<()> {
    let workers: usize = std::env::args().nth(1).map_or(Ok(1024), |count| count.parse())?;
    let at = format!("127.0.0.1:{}", free_port());
    let mut cluster = Cluster::new(&SPACE, &[]);
    // A worker that reports every 6 seconds counts as alive.
    let mut command = fathom();
    command.arg("serve").args(SPACE).args(["--shards", SHARDS, "--lease", "60s", "--http", &at]);
    command.args(["--listen", &cluster.address, "--dir"]).arg(cluster.run());
    tokio::task::block_in_place(|| {
        cluster.serve_by(command);
        until_served(&at);
    });
    let access = Access::load(&AccessArguments::default())?.for_coordinator(&cluster.address);
    let mut joined = Vec::new();
    for first in (0..workers).step_by(OF_ONE_CONNECTION) {
        let client = Client::new(access.connect(&cluster.address, LONG).await?);
        for number in first..workers.min(first + OF_ONE_CONNECTION) {
            joined.push(tokio::spawn(join(client.clone(), number)));
        }
    }
    let mut sessions = Vec::new();
    for joined in joined {
        sessions.push(joined.await??);
    }
    println!("{} workers have registered", sessions.len());
    for (number, (client, session)) in sessions.into_iter().enumerate() {
        tokio::spawn(live(client, session, number as u64));
    }
    sleep(Duration::from_secs(3)).await;
    tokio::task::block_in_place(|| {
        metrics(&at, &cluster.run());
        watch_as_reader(&at, &cluster.run())
    })?;
    if browser::is_here() {
        scroll(&at, &cluster.run()).await?;
    }
    Ok(())
}

async fn join(mut client: Client, number: usize) -> Result<(Client, u64)> {
    let request = v1::DescribeRunRequest { protocol_version: PROTOCOL_VERSION, worker_name: String::new() };
    let described = client.describe_run(request).await?.into_inner();
    let fingerprint = RunManifest::from_toml(&described.definition)?.fingerprint;
    let mut id = [0; 16];
    id[..8].copy_from_slice(&(number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    let request = v1::RegisterRequest {
        protocol_version: PROTOCOL_VERSION,
        fingerprint: fingerprint.0.to_vec().into(),
        worker_id: id.to_vec().into(),
        name: format!("node{number}"),
        exchange_address: format!("10.0.{}.{}:41000", number / 256, number % 256),
        threads: 64,
        memory_bytes: 256 << 30,
        kernel: "avx512".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        inventory: Vec::new(),
        ..Default::default()
    };
    let session = client.register(request).await?.into_inner().session;
    let request = v1::TakeCommandsRequest { session, tasks: 16, holders_version: 0 };
    client.take_commands(request).await?;
    Ok((client, session))
}

/// Reports changing numbers in an endless loop.
async fn live(mut client: Client, session: u64, number: u64) {
    for beat in 1.. {
        let usage = v1::Usage {
            memory_bytes: (beat + number) << 24,
            memory_limit_bytes: 256 << 30,
            read_bytes: (beat * number) << 22,
            fetches: vec![beat; 10],
            ..v1::Usage::default()
        };
        let progress = v1::Progress {
            found_states: beat * (1000 + number * 10),
            sent_bytes: (beat * number) << 20,
            free_bytes: (1 << 40) - (beat << 28),
            usage: Some(usage),
            ..v1::Progress::default()
        };
        let request = v1::HeartbeatRequest { session, progress: Some(progress) };
        if client.heartbeat(request).await.is_err() {
            return;
        }
        sleep(Duration::from_secs(6)).await;
    }
}

fn metrics(at: &str, run: &Path) {
    let mut bytes = 0;
    let mut times: Vec<Duration> = (0..100)
        .map(|_| {
            let begun = Instant::now();
            bytes = get(at, "/metrics", run).body.len();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("/metrics: {bytes} bytes, median {:.1?}, 99 of 100 within {:.1?}", times[50], times[98]);
}

fn watch_as_reader(at: &str, run: &Path) -> Result<()> {
    let mut reader = TcpStream::connect(at)?;
    let bearer = token(run);
    write!(reader, "GET /api/events HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {bearer}\r\n\r\n")?;
    reader.set_read_timeout(Some(Duration::from_secs(1)))?;
    let (mut sizes, begun, mut buffer) = (Vec::new(), Instant::now(), vec![0; 1 << 20]);
    while begun.elapsed() < LONG {
        if let Ok(size) = reader.read(&mut buffer) {
            sizes.push((begun.elapsed(), size));
        }
    }
    let first = |(at, _): &&(Duration, usize)| at.as_secs() == 0;
    let all: usize = sizes.iter().filter(first).map(|(_, size)| size).sum();
    let rest: usize = sizes.iter().filter(|size| !first(size)).map(|(_, size)| size).sum();
    println!(
        "a reader is told {all} bytes in the first second, then {} a second",
        rest / (LONG.as_secs() as usize - 1)
    );
    Ok(())
}

/// The number of frames in ten seconds, while the page is scrolled to its end and back.
const SCROLL: &str = "(() => { window.times = []; const begun = performance.now(); \
    const step = (now) => { times.push(now); const way = (now - begun) / 2500; \
        const most = document.documentElement.scrollHeight - innerHeight; \
        scrollTo(0, most * (way % 2 < 1 ? way % 1 : 1 - way % 1)); \
        const list = document.getElementById('workers-scroll'); \
        list.scrollTop = (list.scrollHeight - list.clientHeight) * (way % 1); \
        if (now - begun < 10000) requestAnimationFrame(step); else window.done = true; }; \
    requestAnimationFrame(step); })()";
/// The duration of the longest frame.
const WORST: &str = "Math.max(...times.slice(1).map((time, at) => time - times[at])).toFixed(0)";

async fn scroll(at: &str, run: &Path) -> Result<()> {
    let browser = Browser::start(1280, 900).await;
    browser.page.goto(format!("http://{at}/?token={}", token(run))).await.context("the page is there")?;
    browser.until("document.querySelectorAll('#workers tbody tr').length > 1000").await;
    browser.value(SCROLL).await;
    browser.until("window.done === true").await;
    let frames: f64 = browser.value("times.length").await.parse()?;
    println!(
        "scrolled: {:.0} frames a second, the longest took {} ms",
        frames / 10.0,
        browser.value(WORST).await
    );
    if let Some(file) = std::env::args().nth(2) {
        browser.page.screenshot(Path::new(&file)).await?;
    }
    browser.end().await;
    Ok(())
}
