//! Access control: where a process listens, which callers it accepts, and how it calls others.
//!
//! Reading order: [`arguments`] (the options of the command line), [`Access`] (the same, read and checked),
//! [`token`] (a secret that every request carries), [`local_token`] (the token of a coordinator that serves this
//! machine only), [`server`] (accepting callers), [`connections`] (limits on their number), [`budget`] (a
//! limit on the memory of their requests), [`client`] (calling others), [`refusal`] (why two processes cannot
//! communicate), `refusal_log` (a limit on log lines about refusals), [`keys`] (new secrets), [`page`] (access
//! to the web page of a run).
//!
//! Invariants: no process listens to other machines without a token and TLS, unless `--insecure` is given. A
//! token is sent to another machine only inside TLS, with the same exception. No secret is in a log, an error
//! or a `Debug` output. A caller that is silent or sends something other than HTTP/2 is disconnected after
//! [`server::GREETING_LIMIT`] at the latest, and delays no other caller. Callers can exhaust neither the
//! connections, nor the memory, nor the log. No other user of this machine can use a coordinator without its
//! token, unless `--insecure` is given.

pub mod arguments;
pub mod budget;
pub mod client;
pub mod connections;
mod files;
mod greeting;
pub mod keys;
pub mod local_token;
pub mod page;
pub mod refusal;
mod refusal_log;
mod requests;
pub mod server;
pub mod token;

pub use arguments::AccessArguments;
pub use client::{ConnectError, Connection};
pub use keys::Keys;
pub use local_token::LocalToken;
pub use page::PageTls;
pub use refusal::{Fault, Refusal};
pub use server::Incoming;
pub use token::{Token, TokenCheck, TokenSender};

use anyhow::Result;
use fathom_command::bad_input;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ServerConfig};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// The name in the certificates of a run, independent of the names of the hosts.
pub const TLS_NAME: &str = "fathom";

/// The time without data after which a connection is tested, unless the lease is short.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// The shortest such time.
const MIN_KEEPALIVE: Duration = Duration::from_millis(250);

/// The credentials and limits of this process, for all of its listening sockets and outgoing calls.
#[derive(Clone)]
pub struct Access {
    token: token::Known,
    /// The addresses of this machine for which this process looks up a coordinator's token, if no token was
    /// given.
    look_up: Arc<RwLock<Vec<SocketAddr>>>,
    /// Whether a token was given.
    has_token: bool,
    /// The advice for callers without the token.
    hint: Option<Arc<str>>,
    /// TLS for accepting callers, with this process's certificate.
    server: Option<Arc<ServerConfig>>,
    /// TLS for calling others, with the authority that their certificates are checked against.
    client: Option<Arc<ClientConfig>>,
    /// The name that the certificates of others must have.
    name: ServerName<'static>,
    insecure: bool,
    /// After this time without data the other side of a connection is sent a ping, which it must answer within
    /// the same time.
    keepalive: Duration,
    /// The fingerprint of the authority that the certificates of others are checked against.
    authority: Option<Arc<str>>,
    /// The options that this was loaded from, in command line form.
    options: Arc<str>,
    /// The connections of callers.
    connections: connections::Connections,
    refusals: Arc<refusal_log::Refusals>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("token", &self.token)
            .field("listens_with_tls", &self.server.is_some())
            .field("calls_with_tls", &self.client.is_some())
            .field("name", &self.name)
            .field("insecure", &self.insecure)
            .finish()
    }
}

impl Access {
    /// Reads the files that the options name.
    ///
    /// # Errors
    /// Bad input: options that contradict each other, or files that are missing, invalid, or secret and
    /// readable by others.
    pub fn load(asked: &AccessArguments) -> Result<Self> {
        let given = asked.files()?;
        if asked.insecure && asked.has_tls() {
            return Err(bad_input!(
                "--insecure and the --tls options are mutually exclusive: drop one of them"
            ));
        }
        if asked.tls_name.is_some() && given.ca.is_none() {
            return Err(bad_input!("--tls-name has no effect without --tls-ca: give both or neither"));
        }
        let identity = match (&given.cert, &given.key) {
            (Some(certificate), Some(key)) => Some(files::identity(certificate, key)?),
            (None, None) => None,
            (Some(_), None) => return Err(bad_input!("--tls-cert needs its private key: add --tls-key")),
            (None, Some(_)) => return Err(bad_input!("--tls-key needs its certificate: add --tls-cert")),
        };
        let authority = given.ca.as_ref().map(files::authority).transpose()?;
        let name = asked.tls_name.as_deref().unwrap_or(TLS_NAME);
        Ok(Self {
            token: given.token.as_ref().map(files::token).transpose()?.into(),
            look_up: Arc::default(),
            has_token: given.token.is_some(),
            hint: None,
            server: match &identity {
                Some(identity) => Some(Arc::new(identity.server(authority.as_ref())?)),
                None => None,
            },
            client: match &authority {
                Some(authority) => Some(Arc::new(authority.client(identity.as_ref())?)),
                None => None,
            },
            name: ServerName::try_from(name.to_owned())
                .map_err(|_| bad_input!("--tls-name: {name:?} is not a valid host name"))?,
            insecure: asked.insecure,
            keepalive: KEEPALIVE,
            authority: authority.as_ref().map(|authority| authority.fingerprint().into()),
            options: asked.options().into(),
            connections: connections::Connections::default(),
            refusals: Arc::default(),
        })
    }

    /// Returns access for a process that counts as lost after `lease`: dead connections are noticed within
    /// that time, if it is shorter than the usual 20 s.
    #[must_use]
    pub fn for_lease(&self, lease: Duration) -> Self {
        Self { keepalive: (lease / 2).clamp(MIN_KEEPALIVE, KEEPALIVE), ..self.clone() }
    }

    /// Returns the options that other processes of the run need, in command line form, each preceded by a
    /// space.
    pub fn options(&self) -> &str {
        &self.options
    }

    /// Returns the fingerprint of the authority that signs the certificates of this run, if there is one.
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// Checks that this process may listen on an address: a loopback address is always allowed, any other
    /// needs a token and TLS, or `--insecure`.
    ///
    /// # Errors
    /// Bad input: the address is not allowed, or certificates are incomplete.
    pub fn may_listen(&self, address: SocketAddr) -> Result<()> {
        if self.client.is_some() && self.server.is_none() {
            return Err(bad_input!(
                "with only --tls-ca, this process cannot accept connections: add --tls-cert and --tls-key"
            ));
        }
        let missing = match (self.token.get(), &self.server) {
            _ if self.insecure || address.ip().to_canonical().is_loopback() => return Ok(()),
            (Some(_), Some(_)) => return Ok(()),
            (None, Some(_)) => "--token-file",
            (Some(_), None) => "--tls-cert and --tls-key",
            (None, None) => "--token-file, --tls-cert and --tls-key",
        };
        Err(bad_input!(
            "{address} can be reached from other machines: add {missing} ('fathom keys DIR' creates the files), or listen on 127.0.0.1, or add --insecure to give full access to anyone who can reach this machine"
        ))
    }
}
