//! Requests to the page of a run, as sent by a browser or a program.

use crate::process::until;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// An HTTP response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code, such as 200.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body of the response.
    pub body: String,
}

impl Answer {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Sends a request with headers in addition to `Connection`; `None` if there is no response.
pub fn ask(address: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> Option<Answer> {
    let mut tcp = TcpStream::connect(address).ok()?;
    tcp.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(tcp, "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").ok()?;
    let mut bytes = Vec::new();
    tcp.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Some(Answer { status, headers, body: body.to_owned() })
}

/// Requests a path with the token of the run in a directory.
///
/// # Panics
/// If there is no response.
pub fn get(address: &str, path: &str, run: &Path) -> Answer {
    let bearer = format!("Bearer {}", token(run));
    let headers = [("Host", address), ("Authorization", &bearer)];
    ask(address, "GET", path, &headers).expect("the page answers")
}

/// Returns the token of the page of a run.
///
/// # Panics
/// If the run has no token.
pub fn token(run: &Path) -> String {
    let text = std::fs::read_to_string(run.join("page-token")).expect("a token of the page");
    text.trim().to_owned()
}

/// Waits until a page responds.
pub fn until_served(address: &str) {
    until("the page answers", || {
        ask(address, "GET", "/healthz", &[("Host", address)]).is_some_and(|answer| answer.status == 200)
    });
}
