//! Decides which requests are answered, and restricts what a browser may do with the answers.
//!
//! A request must name this server as its host, so that no other page can make a browser send requests
//! under another name. A request must be a GET or a HEAD. A request must carry the token: in a cookie, as a bearer
//! token, or once in the address, from where the token is moved into the cookie. No response may be shown in
//! a frame, run scripts of other servers, or be stored by a cache.

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use fathom_proto::access::{PageTls, Token};
use std::net::IpAddr;

/// The path that is answered without a token; its response says nothing about the run.
pub(crate) const HEALTH: &str = "/healthz";
/// The parameter with the token, in the printed address.
const PARAMETER: &str = "token=";
const SCHEME: &str = "Bearer ";

/// Headers that restrict what a browser may do with any response.
const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// What requests are checked against: the token, and with TLS the names of this server.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) token: Token,
    pub(crate) tls: Option<PageTls>,
}

/// The decision on a request.
pub(crate) enum Verdict {
    /// The request is answered.
    Pass,
    /// The request is answered with this response and not processed further.
    Answer(Response<Body>),
}

impl Guard {
    /// Decides on a request.
    pub(crate) fn judge<B>(&self, request: &Request<B>) -> Verdict {
        // A request of a proxy names the host in its address, too.
        let authority = request.uri().authority();
        let is_foreign = authority.is_some_and(|authority| !self.is_own(authority.as_str()));
        let Some(host) = self.host(request.headers()).filter(|_| !is_foreign) else {
            let said = if self.tls.is_some() { NOT_IN_CERTIFICATE } else { NOT_THIS_HOST };
            return Verdict::Answer(text(StatusCode::MISDIRECTED_REQUEST, said));
        };
        // The router answers HEAD as it would answer GET, without the body.
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "This page is read-only.\n");
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Verdict::Answer(answer);
        }
        if request.uri().path() == HEALTH || self.has_token(request.headers(), host) {
            return match in_address(request.uri()) {
                Some(_) if request.uri().path() != HEALTH => Verdict::Answer(self.admit(host)),
                _ => Verdict::Pass,
            };
        }
        match in_address(request.uri()) {
            Some(given) if self.token.is(given.as_bytes()) => Verdict::Answer(self.admit(host)),
            Some(_) => Verdict::Answer(text(StatusCode::FORBIDDEN, WRONG)),
            None => Verdict::Answer(text(StatusCode::UNAUTHORIZED, MISSING)),
        }
    }

    /// Returns the host that a request names, if it is this server.
    fn host<'r>(&self, headers: &'r HeaderMap) -> Option<&'r str> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next()?.to_str().ok()?;
        (self.is_own(host) && hosts.next().is_none()).then_some(host)
    }

    /// Returns whether `HOST` or `HOST:PORT` is this server.
    fn is_own(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else { return false };
        match (&self.tls, name.parse::<IpAddr>()) {
            (Some(tls), _) => tls.is_for(name),
            (None, Ok(address)) => address.to_canonical().is_loopback(),
            (None, Err(_)) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    fn has_token(&self, headers: &HeaderMap, host: &str) -> bool {
        let bearer = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        if let Some(given) = bearer.and_then(|given| given.strip_prefix(SCHEME.as_bytes())) {
            return self.token.is(given);
        }
        let name = cookie_name(host);
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(key, value)| key == name && self.token.is(value.as_bytes()))
    }

    /// Moves the token from the address into a cookie, and redirects to an address without the token.
    fn admit(&self, host: &str) -> Response<Body> {
        let secure = if self.tls.is_some() { "; Secure" } else { "" };
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict{secure}",
            cookie_name(host),
            self.token.reveal()
        );
        let mut answer = text(StatusCode::SEE_OTHER, "");
        answer.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
        if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
            cookie.set_sensitive(true);
            answer.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        answer
    }
}

const NOT_THIS_HOST: &str = "This page is not served under that host name. Open it at localhost, or at the address that the command printed.\n";
const NOT_IN_CERTIFICATE: &str =
    "This page is not served under that host name. Open it under a name from its certificate.\n";
const MISSING: &str = "This page requires a token. Open the address that the command printed, which ends with the token. If you have just followed a link to it, reload this page.\n";
const WRONG: &str = "The token in this address does not belong to this run. Open the address that the command printed last.\n";

/// Returns the token in an address.
fn in_address(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix(PARAMETER))
}

/// Returns the host of `HOST` or `HOST:PORT`; `None` if the port is not a number.
fn without_port(host: &str) -> Option<&str> {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    if let Some(rest) = host.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        return port
            .is_empty()
            .then_some(address)
            .or_else(|| is_port(port.strip_prefix(':')?).then_some(address));
    }
    match host.split_once(':') {
        None => Some(host),
        Some((name, port)) => is_port(port).then_some(name),
    }
}

/// Returns the name of the cookie. The name includes the port, because browsers share cookies between all
/// ports of a host, and several pages may run on one machine.
fn cookie_name(host: &str) -> String {
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let port: String = port.chars().filter(char::is_ascii_digit).collect();
    format!("fathom-{port}")
}

/// Creates a plain text response.
pub(crate) fn text(status: StatusCode, said: impl Into<Body>) -> Response<Body> {
    with_type(status, "text/plain; charset=utf-8", said)
}

/// Creates a response with a content type.
pub(crate) fn with_type(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Adds the headers that restrict what a browser may do with a response.
pub(crate) fn restrict(mut answer: Response<Body>) -> Response<Body> {
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn guard() -> Guard {
        Guard { token: Token::new(SECRET.as_bytes()).unwrap(), tls: None }
    }

    fn asked(uri: &str, headers: &[(&str, &str)]) -> Option<Response<Body>> {
        let mut request = Request::get(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match guard().judge(&request.body(()).unwrap()) {
            Verdict::Pass => None,
            Verdict::Answer(answer) => Some(answer),
        }
    }

    fn status(uri: &str, headers: &[(&str, &str)]) -> u16 {
        asked(uri, headers).map_or(200, |answer| answer.status().as_u16())
    }

    #[test]
    fn only_local_host_names_are_accepted() {
        let cookie = format!("fathom-80={SECRET}");
        for (host, expected) in [
            ("localhost:80", 200),
            ("LOCALHOST:80", 200),
            ("127.0.0.1:80", 200),
            ("127.8.8.8:80", 200),
            ("[::1]:80", 200),
            ("[::ffff:127.0.0.1]:80", 200),
            ("evil.example:80", 421),
            ("localhost.evil.example:80", 421),
            ("127.0.0.1.evil.example:80", 421),
            ("10.0.0.1:80", 421),
            ("[::2]:80", 421),
            ("localhost:80:80", 421),
            ("localhost:port", 421),
            ("", 421),
        ] {
            assert_eq!(status("/", &[("host", host), ("cookie", &cookie)]), expected, "{host:?}");
        }
        assert_eq!(status("/", &[("cookie", &cookie)]), 421, "no host");
        let two = [("host", "localhost:80"), ("host", "evil.example"), ("cookie", &cookie)];
        assert_eq!(status("/", &two), 421, "two hosts");
        let own = [("host", "localhost:80"), ("cookie", &*cookie)];
        for (uri, expected) in [
            ("http://localhost:80/", 200),
            ("http://127.0.0.1/", 200),
            ("http://evil.example/", 421),
            ("http://localhost@evil.example:80/", 421),
            ("http://evil.example@localhost:80/", 421),
        ] {
            assert_eq!(status(uri, &own), expected, "{uri}");
        }
    }

    #[test]
    fn token_is_required_and_removed_from_address() {
        let host = ("host", "localhost:8080");
        assert_eq!(status("/", &[host]), 401);
        assert_eq!(status("/healthz", &[host]), 200);
        assert_eq!(status("/healthz/", &[host]), 401);
        assert_eq!(status("/?token=wrong", &[host]), 403);
        assert_eq!(status("/metrics", &[host, ("authorization", &format!("Bearer {SECRET}"))]), 200);
        assert_eq!(status("/metrics", &[host, ("authorization", &format!("Bearer {SECRET}0"))]), 401);
        assert_eq!(status("/metrics", &[host, ("authorization", SECRET)]), 401);
        assert_eq!(status("/", &[host, ("cookie", &format!("fathom-80={SECRET}"))]), 401, "another port's");
        assert_eq!(status("/", &[host, ("cookie", &format!("a=b; fathom-8080={SECRET}; c=d"))]), 200);
        let admitted = asked(&format!("/?token={SECRET}"), &[host]).unwrap();
        assert_eq!(
            (admitted.status().as_u16(), &admitted.headers()["location"]),
            (303, &HeaderValue::from_static("/"))
        );
        let cookie = admitted.headers()["set-cookie"].to_str().unwrap();
        assert_eq!(cookie, format!("fathom-8080={SECRET}; Path=/; HttpOnly; SameSite=Strict"));
        let again = [host, ("cookie", &*format!("fathom-8080={SECRET}"))];
        assert_eq!(
            status(&format!("/?token={SECRET}"), &again),
            303,
            "the token is removed from the address every time"
        );
    }

    #[test]
    fn only_get_and_head_are_allowed() {
        let cookie = format!("fathom-80={SECRET}");
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            let request = Request::builder().method(method).uri("/").header("host", "localhost:80");
            let request = request.header("cookie", &cookie).body(()).unwrap();
            match guard().judge(&request) {
                Verdict::Answer(answer) => assert_eq!(answer.status(), 405, "{method}"),
                Verdict::Pass => panic!("{method}"),
            }
        }
        let head = Request::builder().method("HEAD").uri("/").header("host", "localhost:80");
        let head = head.header("cookie", &cookie).body(()).unwrap();
        assert!(matches!(guard().judge(&head), Verdict::Pass));
    }
}
