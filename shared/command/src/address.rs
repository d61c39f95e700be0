//! Addresses that users enter: where to listen, and where others reach this process.

use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// Reads an address to listen on, as `ADDR:PORT`; the address may be a name of this host. If a name has
/// several addresses, the first IPv4 address is used, which can be written without brackets.
///
/// # Errors
/// A message for the user, if the text is not an address or the name has none.
pub fn to_listen_on(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (name, _) = split(text)
        .and_then(|(name, port)| Some((name, port?)))
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| {
            format!("{text:?} is not an address with a port, such as 127.0.0.1:7400 or [::1]:7400")
        })?;
    let found: Vec<SocketAddr> = text.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let found = found.iter().find(|address| address.is_ipv4()).or(found.first());
    found.copied().ok_or_else(|| {
        format!("the name {name} has no address on this host. Use an address such as 127.0.0.1:7400")
    })
}

/// Where other hosts reach a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// A name or an address, in brackets if it is an IPv6 address; empty if the peer determines it from the
    /// connection.
    host: String,
    /// The port, if it is not the one that the process listens on.
    port: Option<u16>,
}

impl Reached {
    /// Returns the address as `HOST:PORT`; `own` is the port that the process listens on.
    pub fn with_port(&self, own: u16) -> String {
        format!("{}:{}", self.host, self.port.unwrap_or(own))
    }
}

impl FromStr for Reached {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) =
            split(text).filter(|(host, port)| port.is_some() || !host.is_empty()).ok_or_else(|| {
                format!("{text:?} is neither HOST nor HOST:PORT, such as node7, node7:7500 or [fe80::1]:7500")
            })?;
        Ok(Self { host, port })
    }
}

/// Splits `HOST` or `HOST:PORT`. Puts an IPv6 address in brackets, without which it cannot have a port.
fn split(text: &str) -> Option<(String, Option<u16>)> {
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Some((format!("[{address}]"), None));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    let is_address = |host: &str| {
        let inside = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        inside.is_some_and(|inside| inside.parse::<Ipv6Addr>().is_ok())
    };
    let is_name = host.chars().all(|char| char.is_ascii_alphanumeric() || "-._".contains(char));
    (is_name || is_address(host)).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses_are_parsed() {
        assert_eq!(to_listen_on("127.0.0.1:7400").unwrap().to_string(), "127.0.0.1:7400");
        assert_eq!(to_listen_on("[::1]:0").unwrap().to_string(), "[::1]:0");
        let local = to_listen_on("localhost:7400").unwrap();
        assert!(local.ip().is_loopback() && local.port() == 7400, "{local}");
        for (text, named) in [
            ("127.0.0.1", "is not an address with a port"),
            (":7400", "is not an address with a port"),
            ("localhost:http", "is not an address with a port"),
            ("1.2.3:4:5", "is not an address with a port"),
            ("no-such-host.invalid:7400", "the name no-such-host.invalid has no address"),
        ] {
            let error = to_listen_on(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn advertised_addresses_are_parsed() {
        for (text, with_port) in [
            ("node7", "node7:80"),
            ("node7:7500", "node7:7500"),
            ("node-7.cluster_a.example:7500", "node-7.cluster_a.example:7500"),
            ("10.0.0.7", "10.0.0.7:80"),
            (":7500", ":7500"),
            ("fe80::1", "[fe80::1]:80"),
            ("[fe80::1]", "[fe80::1]:80"),
            ("[fe80::1]:7500", "[fe80::1]:7500"),
        ] {
            assert_eq!(text.parse::<Reached>().map(|reached| reached.with_port(80)), Ok(with_port.into()));
        }
        for text in
            ["", "node7:", "node7:http", "node7:70000", "http://node7", "a b", "[fe80::1", "[x]:1", "a:b:1"]
        {
            assert!(text.parse::<Reached>().is_err(), "{text}");
        }
    }
}
