//! Controls a real browser, Chromium, through its driver.

use crate::process::{free_port, until};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use thirtyfour::prelude::*;
use thirtyfour::{ChromiumLikeCapabilities, LoggingPrefsLogLevel};

/// The time limit for every wait on a page.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The driver and its browser. Both end when this value is dropped.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    /// The directory for the browser's own files.
    _profile: tempfile::TempDir,
    /// The page.
    pub page: WebDriver,
}

/// Returns whether a browser is installed. If not, prints a notice, and panics if `FATHOM_TEST_ALL` is set.
pub fn is_here() -> bool {
    let is_program =
        |name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let here = ["chromium", "chromedriver"].into_iter().all(is_program);
    if !here {
        let why = "Chromium and its driver are not installed: apt-get install chromium chromium-driver";
        assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "{why}");
        eprintln!("skipped: {why}");
    }
    here
}

impl Browser {
    /// Starts a browser with a window of the given size.
    ///
    /// # Panics
    /// If the browser does not start.
    pub async fn start(width: u32, height: u32) -> Self {
        let port = free_port();
        let mut command = Command::new("chromedriver");
        command.arg(format!("--port={port}")).stdout(Stdio::null()).stderr(Stdio::null());
        let driver = command.spawn().expect("chromedriver starts");
        until("chromedriver listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        let profile = tempfile::tempdir().expect("a temporary directory");
        let mut wanted = DesiredCapabilities::chrome();
        for option in [
            "--headless=new".to_owned(),
            "--disable-gpu".into(),
            "--disable-dev-shm-usage".into(),
            // The sandbox of Chromium needs rights that a container does not give.
            "--no-sandbox".into(),
            format!("--window-size={width},{height}"),
            format!("--user-data-dir={}", profile.path().display()),
        ] {
            wanted.add_arg(&option).expect("an option is text");
        }
        wanted.set_browser_log_level(LoggingPrefsLogLevel::All).expect("a valid log level");
        let page =
            WebDriver::new(&format!("http://127.0.0.1:{port}"), wanted).await.expect("Chromium starts");
        Self { driver, _profile: profile, page }
    }

    /// Evaluates an expression of JavaScript on the page, and returns the value as text.
    ///
    /// # Panics
    /// If the expression cannot be evaluated.
    pub async fn value(&self, expression: &str) -> String {
        let result = self.page.execute(format!("return String({expression})"), Vec::new()).await;
        result.and_then(|result| result.convert()).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Returns the text of the element with an id.
    pub async fn text(&self, id: &str) -> String {
        self.value(&format!("document.getElementById('{id}')?.innerText")).await
    }

    /// Waits until an expression is true on the page.
    ///
    /// # Panics
    /// If it is not true within `PATIENCE`.
    pub async fn until(&self, expression: &str) {
        let begun = Instant::now();
        while self.value(expression).await != "true" {
            if begun.elapsed() >= PATIENCE {
                panic!("never: {expression}\n{}", self.value("document.body.innerText").await);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns what the browser has logged since the last call: errors, warnings, and violations of the
    /// page's content security policy.
    ///
    /// # Panics
    /// If the browser does not return its log.
    pub async fn console(&self) -> Vec<String> {
        let noted = self.page.browser_log().await.expect("Chromium returns its log");
        noted.into_iter().map(|entry| format!("{entry:?}")).collect()
    }

    /// Ends the browser.
    ///
    /// # Panics
    /// If the browser does not accept the request to quit.
    pub async fn end(self) {
        self.page.clone().quit().await.expect("Chromium ends");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver may have ended already.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
