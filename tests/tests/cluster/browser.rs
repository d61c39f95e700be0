//! The page in a real browser: what it shows of a run without user action.

use fathom_tests::browser::{self, Browser};
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::page::{token, until_served};
use fathom_tests::process::free_port;
use fathom_tests::{assert_same, fathom, fathom_worker};
use std::process::Stdio;
use thirtyfour::Key;

/// The space to search: 2x7 with ten distinct tiles takes seconds.
const SPACE: [&str; 3] = ["2x7", "--track", "0-5"];

fn address(cluster: &mut Cluster, at: &str) -> String {
    cluster.serve();
    until_served(at);
    format!("http://{at}/?token={}", token(&cluster.run()))
}

/// One of two workers is killed and returns. The page shows both without a reload, receives the end of each
/// depth, and shows the result.
#[tokio::test(flavor = "multi_thread")]
async fn run_is_shown_from_start_to_end() {
    if !browser::is_here() {
        return;
    }
    let at = format!("127.0.0.1:{}", free_port());
    // No depth ends while one of the two workers is away, because each file needs two replicas.
    let options = ["--shards", "24", "--replicas", "2", "--http", &at, "--http-linger", "1h"];
    let mut cluster = Cluster::new(&SPACE, &options);
    let page = address(&mut cluster, &at);
    let browser = Browser::start(1280, 900).await;
    browser.page.goto(&page).await.unwrap();
    assert_eq!(
        browser.page.current_url().await.unwrap().as_str(),
        format!("http://{at}/"),
        "the token is removed"
    );
    assert_eq!(browser.value("document.cookie").await, "", "scripts cannot read the cookie");
    browser.until("document.getElementById('state').innerText === 'waiting'").await;
    assert!(browser.text("obstacle").await.contains("no worker is connected"));
    assert_eq!(browser.text("title").await, "The 2 × 7 board, some pieces alike");
    // A reload of the page would lose this value.
    browser.value("window.same = 'page'").await;

    let lists = "document.getElementById('events').innerText";
    cluster.join_until("second", "reporting:1:stop");
    browser.until("document.getElementById('workers').innerText.includes('second')").await;
    cluster.until_stopped("second");
    cluster.kill(&["second"]);
    browser.until("[...document.querySelectorAll('#workers td.lost')].length === 1").await;
    browser.until(&format!("{lists}.includes('worker lost')")).await;
    browser.until("document.querySelector('#events li.warn') !== null").await;
    cluster.join_until("first", "computing:10:stop");
    browser.until("document.getElementById('workers').innerText.includes('first')").await;
    cluster.until_stopped("first");
    // The keyboard selects the first shard, and shows its history.
    browser.until("document.getElementById('shards').getAttribute('aria-label').includes('24')").await;
    browser.value("document.getElementById('shards').focus()").await;
    let canvas = browser.page.active_element().await.unwrap();
    canvas.send_keys(Key::Right + Key::Enter).await.unwrap();
    browser
        .until("document.getElementById('story').innerText.includes('at second: the worker is gone')")
        .await;
    browser.value("document.getElementById('by-worker').click()").await;
    browser.until("document.getElementById('by-worker').getAttribute('aria-pressed') === 'true'").await;
    // A process with the same store is the same worker.
    cluster.join(&["second"]);
    let is_back = "[...document.querySelectorAll('#workers tr')]\
        .some((row) => row.innerText.includes('second') && !row.querySelector('td.lost'))";
    browser.until(is_back).await;
    cluster.signal("first", libc::SIGCONT);
    browser.until("document.getElementById('growth-table').tBodies[0].rows.length > 3").await;
    browser.until(&format!("{lists}.includes('layer done')")).await;
    assert!(
        browser.value("document.querySelectorAll('#growth .mark').length").await.parse::<u32>().unwrap() > 3
    );

    browser.until("document.getElementById('state').innerText === 'complete'").await;
    let found = undisturbed(&SPACE);
    let digest = found["digest"].as_str().unwrap();
    assert_eq!(browser.text("digest").await, digest);
    browser.until("!document.getElementById('result').hidden").await;
    let result = browser.text("result-text").await;
    assert!(result.contains(&format!("largest distance: {}.", found["god_number"])), "{result}");
    assert_eq!(browser.value("document.querySelectorAll('#downloads a').length").await, "8");
    let depths = found["counts"].as_array().unwrap().len().to_string();
    assert_eq!(browser.value("document.getElementById('growth-table').tBodies[0].rows.length").await, depths);
    // The page shows that both workers left, even if the run ended right after.
    assert_eq!(browser.value("document.querySelectorAll('#workers td.lost').length").await, "0");
    assert_eq!(browser.value("window.same").await, "page");
    assert_eq!(browser.console().await, [""; 0]);
    cluster.signal_coordinator(libc::SIGINT);
    assert_same(&cluster.finishes(), &found);
    // The page says that the server has gone.
    browser.until("document.getElementById('connection').innerText.includes('the server ended')").await;
    browser.end().await;
}

/// The page has no horizontal overflow at any width from telephones to wide screens. Every control has a name
/// and can be reached by keyboard.
#[tokio::test(flavor = "multi_thread")]
async fn page_fits_every_window_and_the_keyboard() {
    if !browser::is_here() {
        return;
    }
    let directory = fathom_tests::tempdir().unwrap();
    let at = format!("127.0.0.1:{}", free_port());
    let run = directory.path().join("run");
    let mut command = fathom();
    command.args(["run", "3x3", "-q", "--http", &at, "--http-linger", "1h", "--dir"]).arg(&run);
    let mut process = command.stdout(Stdio::null()).spawn().unwrap();
    until_served(&at);
    let browser = Browser::start(400, 800).await;
    browser.page.goto(format!("http://{at}/?token={}", token(&run))).await.unwrap();
    browser.until("document.getElementById('state').innerText === 'complete'").await;
    for width in [400, 700, 1280, 2000] {
        // Sets the size of the browser window, not only that of the page in it.
        browser.page.set_window_rect(0, 0, width, 900).await.unwrap();
        browser.until("document.querySelector('#growth svg') !== null").await;
        let sticks_out = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
        assert_eq!(browser.value(sticks_out).await, "false", "{width}");
    }
    let nameless = "[...document.querySelectorAll('button, a, input, select, canvas, progress, svg[role]')]\
        .filter((e) => !(e.innerText || e.labels?.length || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')))\
        .map((e) => e.outerHTML).join()";
    assert_eq!(browser.value(nameless).await, "");
    assert_eq!(browser.value("document.documentElement.lang").await, "en");
    assert_eq!(
        browser
            .value("document.querySelectorAll('[role=status], [role=alert], [aria-live]').length > 2")
            .await,
        "true"
    );
    // Changes the scale of the plot by keyboard alone.
    browser.value("document.getElementById('logarithmic').focus()").await;
    let button = browser.page.active_element().await.unwrap();
    button.send_keys(" ").await.unwrap();
    browser.until("document.getElementById('logarithmic').getAttribute('aria-pressed') === 'true'").await;

    // The events of depth 1 do not include those of depths 10 and more.
    browser.value("document.getElementById('containing').focus()").await;
    browser.page.active_element().await.unwrap().send_keys("depth 1").await.unwrap();
    let of_depth =
        "[...document.querySelectorAll('#events li')].map((li) => /depth \\d+/.exec(li.innerText)[0])";
    browser.until(&format!("{of_depth}.join() === 'depth 1,depth 1'")).await;

    // 3x3 has an antipode of each of some classes, with solutions of eight moves.
    browser.value("document.getElementById('show-antipodes').click()").await;
    browser.until("document.querySelectorAll('#antipodes .board td').length >= 9").await;
    let moves = "document.querySelector('#antipodes code').innerText.split(' ').length";
    assert_eq!(browser.value(moves).await, "8");
    assert_eq!(browser.console().await, [""; 0]);

    // Another process shows the page again, at the same address.
    browser.value("window.same = 'page'").await;
    process.kill().unwrap();
    process.wait().unwrap();
    browser.until("document.getElementById('connection').innerText !== 'live'").await;
    let mut again = fathom();
    again.arg("page").arg(&run).args(["--http", &at]);
    let mut process = again.stdout(Stdio::null()).spawn().unwrap();
    browser.until("document.getElementById('connection').innerText === 'live'").await;
    browser.until("document.getElementById('events').innerText.includes('layer done')").await;
    assert_eq!(browser.value("window.same").await, "page", "the page was not reloaded");
    browser.end().await;
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Names of workers appear on the page as text, never as markup.
#[tokio::test(flavor = "multi_thread")]
async fn worker_names_are_text() {
    if !browser::is_here() {
        return;
    }
    let at = format!("127.0.0.1:{}", free_port());
    let mut cluster = Cluster::new(&["3x4"], &["--http", &at]);
    let page = address(&mut cluster, &at);
    let browser = Browser::start(1000, 800).await;
    browser.page.goto(&page).await.unwrap();
    let name = "<img src=x onerror=alert(1)><b>bold</b>";
    let mut command = fathom_worker();
    command.args(["--join", &cluster.address, "--threads", "1", "--name", name]);
    command.arg("--store").arg(cluster.store("node")).env("FATHOM_FAILPOINT", "reporting:1:stop");
    cluster.join_by("node", command);
    browser.until("document.getElementById('workers').innerText.includes('onerror')").await;
    assert_eq!(browser.value("document.querySelectorAll('img, #workers b, #events b b').length").await, "0");
    assert_eq!(browser.console().await, [""; 0]);
    browser.end().await;
}
