//! Tokens of coordinators that serve only this machine.
//!
//! Every user of a machine can call the processes that listen on its loopback addresses. So a coordinator
//! that listens there without a token creates one. It writes the token into the run's directory, as [`NAME`],
//! and into a private directory of the user, where the same user's commands find it. That directory is
//! `$XDG_RUNTIME_DIR/fathom`, or `fathom-UID` in the directory for temporary files. The file there has the
//! name of the host, because hosts may share such a directory, and the address and the port: another
//! coordinator may use the same port at another loopback address.
//!
//! A directory or a file is trusted only if the user owns it and nobody else may access it. A stale token
//! is harmless: a coordinator replaces or removes the file of its address, and a token of no running
//! coordinator gives no access.

use super::Access;
use super::keys::random_token;
use super::token::Token;
use anyhow::{Context, Result, anyhow};
use fathom_command::{bad_input, machine};
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The name of the file in the run's directory.
pub const NAME: &str = "token";

/// The time limit for a connection to a coordinator on this machine.
const PROBE: Duration = Duration::from_millis(200);

/// Largest size of a token file, in bytes.
const MAX_BYTES: u64 = 4096;

/// The token of a coordinator, in files for other processes of the same user. Removes the files when dropped.
#[derive(Debug)]
pub struct LocalToken {
    token: Token,
    in_run: PathBuf,
    of_address: Option<PathBuf>,
    keeps: bool,
}

impl LocalToken {
    /// Writes the token of a coordinator that listens at an address. If the run's directory has the token of
    /// an earlier epoch, that one is reused, because workers may be waiting with it.
    ///
    /// # Errors
    /// If the run's directory cannot hold a secret file.
    pub fn publish(run: &Path, address: SocketAddr) -> Result<Self> {
        let in_run = std::path::absolute(run)?.join(NAME);
        let token = match read(&in_run) {
            Ok(token) => token,
            Err(_) => random_token()?,
        };
        write(&in_run, &token).with_context(|| format!("cannot write {}", in_run.display()))?;
        read(&in_run).map_err(|error| {
            bad_input!(
                "{} cannot be kept secret there ({error}): create a token with 'fathom keys DIR', and pass its file with --token-file",
                in_run.display()
            )
        })?;
        let of_address = match publish_at(&token, address) {
            Ok(path) => Some(path),
            Err(error) => {
                let (reason, token_file) = (format!("{error:#}"), in_run.display());
                tracing::warn!(reason, %token_file, "commands on this machine need --token-file to find the token");
                None
            }
        };
        Ok(Self { token, in_run, of_address, keeps: false })
    }

    /// Returns the path of the file in the run's directory, for `--token-file`.
    pub fn file(&self) -> &Path {
        &self.in_run
    }

    /// Keeps the token in the run's directory when dropped, because workers wait for the coordinator to come
    /// back.
    pub fn keep(&mut self) {
        self.keeps = true;
    }
}

impl Drop for LocalToken {
    fn drop(&mut self) {
        let kept = Some(&self.in_run).filter(|_| !self.keeps);
        for path in kept.into_iter().chain(&self.of_address) {
            // Another coordinator may use the address by now. A file that cannot be removed is harmless.
            if read(path).is_ok_and(|token| token == self.token) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Removes the token that an earlier coordinator left under an address, for a coordinator that needs no such
/// token.
pub fn remove_stale(address: SocketAddr) {
    for directory in directories().iter().filter(|directory| is_own(directory).is_ok()) {
        // Usually there is no such file.
        let _ = fs::remove_file(directory.join(name_of(address)));
    }
}

/// Returns the token of this user's coordinator at one of these addresses of this machine, if there is one.
pub(super) fn find(addresses: &[SocketAddr]) -> Option<Token> {
    let directories = directories();
    let own = directories.iter().filter(|directory| is_own(directory).is_ok());
    let mut paths = own.flat_map(|own| addresses.iter().map(move |&address| own.join(name_of(address))));
    paths.find_map(|path| read(&path).ok())
}

/// Returns the addresses of this machine that an address may resolve to, if any.
pub(super) fn on_loopback(address: &str) -> Vec<SocketAddr> {
    let Some((host, port)) = address.rsplit_once(':') else { return Vec::new() };
    let Ok(port) = port.parse() else { return Vec::new() };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let addresses = match host.parse::<IpAddr>() {
        Ok(address) => vec![address.to_canonical()],
        Err(_) if host == "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Err(_) => Vec::new(),
    };
    let here = addresses.into_iter().filter(IpAddr::is_loopback);
    here.map(|address| SocketAddr::new(address, port)).collect()
}

/// Returns the name of the file for the token of a coordinator at an address of this machine.
fn name_of(address: SocketAddr) -> String {
    let (host, ip, port) = (machine::host_name(), address.ip().to_canonical(), address.port());
    format!("{}-{ip}-{port}", host.replace('/', "-"))
}

impl Access {
    /// Returns whether a coordinator that listens on an address must create a token: it listens on a loopback
    /// address, which every user can call, and has neither a token nor certificates nor `--insecure`.
    pub fn needs_local_token(&self, address: SocketAddr) -> bool {
        let has_certificates = self.server.is_some() && self.client.is_some();
        let is_protected = self.token.get().is_some() || has_certificates || self.insecure;
        address.ip().to_canonical().is_loopback() && !is_protected
    }

    /// Returns access that requires this token of callers.
    #[must_use]
    pub fn requiring(&self, local: &LocalToken) -> Self {
        // Refused callers may be other users, who are not told where the run is.
        let hint = format!(
            "add --token-file with the file '{NAME}' in the run's directory, which the owner of the run can read"
        );
        let access = Self { hint: Some(hint.into()), token: Default::default(), ..self.clone() };
        access.token.set(local.token.clone());
        access
    }

    /// Returns access to a coordinator on this machine, and to its workers. Unless a token was given, the
    /// coordinator's token is looked up at each new connection.
    #[must_use]
    pub fn for_coordinator(&self, address: &str) -> Self {
        let access = Self { look_up: Arc::default(), token: self.token.get().into(), ..self.clone() };
        access.follow(address);
        access
    }

    /// Makes this access and its clones look up the token of the coordinator at an address, unless a token was given.
    pub fn follow(&self, address: &str) {
        if !self.has_token {
            *self.look_up.write().unwrap_or_else(PoisonError::into_inner) = on_loopback(address);
            self.renew_token();
        }
    }

    /// Looks up the coordinator's token again, if it is not fixed.
    pub(super) fn renew_token(&self) {
        if let Some(token) = find(&self.look_up.read().unwrap_or_else(PoisonError::into_inner)) {
            self.token.set(token);
        }
    }
}

fn publish_at(token: &Token, address: SocketAddr) -> Result<PathBuf> {
    let directories = directories();
    let directory = directories.first().context("no directory for temporary files")?;
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.with_context(|| format!("cannot create {}", directory.display()))?,
    }
    is_own(directory).map_err(|reason| anyhow!("{} is not trusted: {reason}", directory.display()))?;
    remove_dead(directory, address);
    let path = directory.join(name_of(address));
    write(&path, token).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Removes the tokens of coordinators on this machine that were killed: nobody listens at their addresses any more.
fn remove_dead(directory: &Path, own: SocketAddr) {
    let mine = format!("{}-", machine::host_name().replace('/', "-"));
    let address_of = |name: &std::ffi::OsStr| -> Option<SocketAddr> {
        let (ip, port) = name.to_str()?.strip_prefix(&mine)?.rsplit_once('-')?;
        Some(SocketAddr::new(ip.parse().ok()?, port.parse().ok()?))
    };
    // First the tokens, then who listens: a coordinator listens before it writes its token.
    let entries: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().collect();
    let Some(listening) = machine::listening() else { return };
    for entry in entries {
        let Some(address) = address_of(&entry.file_name()).filter(|address| *address != own) else {
            continue;
        };
        // The list may lack an address if it changes while it is read, and a connection alone would be logged as
        // refused by a coordinator that is alive.
        if !listening.contains(&address) && is_refused(address) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns whether nobody accepts connections at an address of this machine.
fn is_refused(address: SocketAddr) -> bool {
    let connected = std::net::TcpStream::connect_timeout(&address, PROBE);
    connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Returns the directories that may have tokens; new tokens go into the first one.
fn directories() -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let runtime = runtime.filter(|path| fs::metadata(path).is_ok_and(|is| is.is_dir() && is.uid() == user));
    let temporary = std::env::temp_dir().join(format!("fathom-{user}"));
    runtime.map(|path| path.join("fathom")).into_iter().chain([temporary]).collect()
}

/// Why a file or directory is not trusted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Distrust {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it has the wrong type, and may be a link")]
    Kind,
    #[error("it belongs to another user")]
    Owner,
    #[error("it is accessible to other users (mode {0:03o})")]
    Mode(u32),
    #[error("{0}")]
    Token(#[from] super::token::TokenError),
}

fn is_own(directory: &Path) -> Result<(), Distrust> {
    let is = fs::symlink_metadata(directory)?;
    if !is.is_dir() {
        return Err(Distrust::Kind);
    }
    is_private(&is)
}

fn is_private(is: &Metadata) -> Result<(), Distrust> {
    if is.uid() != rustix::process::geteuid().as_raw() {
        return Err(Distrust::Owner);
    }
    match is.mode() & 0o077 {
        0 => Ok(()),
        _ => Err(Distrust::Mode(is.mode() & 0o777)),
    }
}

/// Reads a token, if nobody else may access its file.
pub(super) fn read(path: &Path) -> Result<Token, Distrust> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let is = file.metadata()?;
    if !is.is_file() {
        return Err(Distrust::Kind);
    }
    is_private(&is)?;
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    Ok(Token::new(&text)?)
}

/// Writes a token to a temporary file, and renames that file, so that no reader sees a part of the token.
pub(super) fn write(path: &Path, token: &Token) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(name);
    // A killed process with the same process id may have left this file.
    let _ = fs::remove_file(&temporary);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(token.text().as_bytes())?;
    file.write_all(b"\n")?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[test]
    fn tokens_of_dead_coordinators_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (alive, dead) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let names = [&alive, &dead].map(|listener| name_of(listener.local_addr().unwrap()));
        drop(dead);
        let others = ["notes", "another-host-127.0.0.1-1"];
        let names = names.iter().map(String::as_str).chain(others);
        let files: Vec<PathBuf> = names.map(|name| directory.path().join(name)).collect();
        files.iter().for_each(|file| fs::write(file, "").unwrap());
        remove_dead(directory.path(), "127.0.0.1:1".parse().unwrap());
        let left: Vec<bool> = files.iter().map(|file| file.exists()).collect();
        assert_eq!(left, [true, false, true, true]);
        // The one that is alive has not noticed anything.
        alive.set_nonblocking(true).unwrap();
        assert_eq!(alive.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    /// One process removes dead tokens again and again, while coordinators start and end.
    #[test]
    fn tokens_of_coordinators_that_start_meanwhile_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let (passes, is_done) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    remove_dead(directory.path(), "127.0.0.1:1".parse().unwrap());
                    passes.fetch_add(1, Ordering::Relaxed);
                }
            });
            let mut kept = 0;
            for _ in 0..100 {
                let before = passes.load(Ordering::Relaxed);
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let token = directory.path().join(name_of(listener.local_addr().unwrap()));
                fs::write(&token, "").unwrap();
                // The first pass may have begun before the token was there, the second one has seen it.
                while passes.load(Ordering::Relaxed) < before + 2 {
                    std::thread::yield_now();
                }
                kept += usize::from(token.exists());
                let _ = fs::remove_file(token);
            }
            is_done.store(true, Ordering::Relaxed);
            assert_eq!(kept, 100);
        });
    }

    #[test]
    fn only_addresses_of_this_machine_are_looked_up() {
        for (address, here) in [
            ("127.0.0.1:7400", &["127.0.0.1:7400"][..]),
            ("127.1.2.3:80", &["127.1.2.3:80"]),
            ("localhost:7400", &["127.0.0.1:7400", "[::1]:7400"]),
            ("[::1]:7400", &["[::1]:7400"]),
            ("[::ffff:127.0.0.1]:7400", &["127.0.0.1:7400"]),
            ("10.0.0.1:7400", &[]),
            ("node7:7400", &[]),
            ("localhost.example.org:7400", &[]),
            ("127.0.0.1", &[]),
            ("127.0.0.1:port", &[]),
        ] {
            let here: Vec<SocketAddr> = here.iter().map(|here| here.parse().unwrap()).collect();
            assert_eq!(on_loopback(address), here, "{address}");
        }
    }

    #[test]
    fn links_and_accessible_files_are_not_trusted() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let path = directory.path().join("7400");
        let token = Token::new(b"0123456789abcdef").unwrap();
        write(&path, &token).unwrap();
        assert_eq!(read(&path).unwrap(), token);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let link = directory.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(read(&link).is_err());
        symlink(directory.path(), directory.path().join("here")).unwrap();
        assert!(is_own(directory.path()).is_ok());
        assert!(matches!(is_own(&directory.path().join("here")), Err(Distrust::Kind)));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read(&path), Err(Distrust::Mode(0o640))));
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o750)).unwrap();
        assert!(matches!(is_own(directory.path()), Err(Distrust::Mode(0o750))));
        assert!(matches!(read(directory.path()), Err(Distrust::Kind)));
    }
}
