//! The token: a secret that every request carries.

use super::Access;
use super::connections::Connections;
use super::refusal_log::Refusals;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use subtle::ConstantTimeEq;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// Smallest length: shorter tokens could be guessed.
const SHORTEST: usize = 16;
/// Largest length: longer tokens do not fit into the headers that a server accepts.
const LONGEST: usize = 1024;

const HEADER: &str = "authorization";
const SCHEME: &str = "Bearer ";

/// The secret that all processes of a run share.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Arc<str>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Why a text is not a token. The messages never quote the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text is too short or too long.
    #[error("contains a token of {0} characters: it must have {SHORTEST} to {LONGEST}")]
    Length(usize),
    /// The text has characters that cannot be sent.
    #[error("contains no token: a token is one word of ASCII letters, digits and symbols")]
    Characters,
}

impl Token {
    /// Creates a token from the contents of a file, without the white space around it.
    ///
    /// # Errors
    /// [`TokenError`] if the text is not a token.
    pub fn new(text: &[u8]) -> Result<Self, TokenError> {
        let text = text.trim_ascii();
        if !text.iter().all(u8::is_ascii_graphic) {
            return Err(TokenError::Characters);
        }
        if !(SHORTEST..=LONGEST).contains(&text.len()) {
            return Err(TokenError::Length(text.len()));
        }
        let text = str::from_utf8(text).expect("ASCII is UTF-8");
        Ok(Self(text.into()))
    }
}

impl Token {
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Returns the secret itself, for an address that is shown to its owner. Keep it out of logs and errors.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether `given` is this token. The time depends only on the lengths, and the length is not
    /// secret.
    pub fn is(&self, given: &[u8]) -> bool {
        given.ct_eq(self.0.as_bytes()).into()
    }
}

/// The token of a process, which may be replaced by a newer one.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(Arc<RwLock<Option<Token>>>);

impl Known {
    pub(super) fn get(&self) -> Option<Token> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, token: Token) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }
}

impl From<Option<Token>> for Known {
    fn from(token: Option<Token>) -> Self {
        Self(Arc::new(RwLock::new(token)))
    }
}

impl Access {
    /// Returns the check of the token of every request. Set the limits of the service before wrapping it:
    /// `InterceptedService::new(service, access.token_check())`.
    pub fn token_check(&self) -> TokenCheck {
        TokenCheck {
            expected: self.token.clone(),
            hint: self.hint.clone().unwrap_or_else(|| {
                "pass the keys of this run with --keys, or its token with --token-file".into()
            }),
            told: Arc::default(),
            connections: self.connections.clone(),
            refusals: Arc::clone(&self.refusals),
        }
    }

    /// Returns the interceptor that adds the token to every request.
    pub(super) fn token_sender(&self) -> TokenSender {
        TokenSender { token: self.token.clone() }
    }
}

/// Refuses requests without the right token.
#[derive(Clone, Debug)]
pub struct TokenCheck {
    expected: Known,
    /// The advice for callers without the token.
    hint: Arc<str>,
    /// The last connection that was refused. Repeated requests on one connection do not fill the log.
    told: Arc<Mutex<Option<SocketAddr>>>,
    connections: Connections,
    refusals: Arc<Refusals>,
}

impl TokenCheck {
    fn refuse(&self, request: &Request<()>, reason: &'static str) -> Status {
        let peer = request.remote_addr();
        let told = std::mem::replace(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner), peer);
        if (peer.is_none() || told != peer)
            && let Some(left_out) = self.refusals.line()
        {
            let left_out = Some(left_out).filter(|&lines| lines > 0);
            tracing::warn!(peer = peer.map(tracing::field::display), reason, left_out, "request refused");
        }
        Status::unauthenticated(format!("{reason}: {}", self.hint))
    }
}

impl TokenCheck {
    /// Accepts a request. From now on its connection is not closed in favour of others.
    fn accept(&self, request: Request<()>) -> Request<()> {
        if let Some(peer) = request.remote_addr() {
            self.connections.prove(peer);
        }
        request
    }
}

impl Interceptor for TokenCheck {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        let Some(expected) = self.expected.get() else { return Ok(self.accept(request)) };
        let given = request.metadata().get(HEADER).map(MetadataValue::as_bytes);
        match given.and_then(|given| given.strip_prefix(SCHEME.as_bytes())) {
            Some(given) if expected.is(given) => Ok(self.accept(request)),
            Some(_) => Err(self.refuse(&request, "wrong token")),
            None => Err(self.refuse(&request, "no token")),
        }
    }
}

fn header(token: &Token) -> MetadataValue<Ascii> {
    let text = format!("{SCHEME}{}", token.0);
    let mut header = MetadataValue::try_from(text).expect("tokens are visible ASCII");
    header.set_sensitive(true);
    header
}

/// Adds the token to requests.
#[derive(Clone, Debug)]
pub struct TokenSender {
    token: Known,
}

impl Interceptor for TokenSender {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = self.token.get() {
            request.metadata_mut().insert(HEADER, header(&token));
        }
        Ok(request)
    }
}
