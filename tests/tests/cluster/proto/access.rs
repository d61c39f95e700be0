//! Which callers are admitted, over real sockets: a refused caller gets one clear line, the log another, and
//! all other callers are served as before.

mod limits;
mod options;
mod world;

use fathom_proto::access::{Access, AccessArguments, ConnectError, Refusal, TLS_NAME};
use fathom_proto::v1::GetStatusRequest;
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use fathom_tests::process::free_port;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use world::{Files, Host, LIMIT, TOKEN, ask, future, now, past};

#[tokio::test]
async fn valid_token_and_certificate_are_accepted() {
    let files = Files::new();
    let host = Host::serve(&files.all()).await;
    assert_eq!(host.ask(&files.all()).await.unwrap(), "127.0.0.1");
    assert_eq!(host.lines.now(), [""; 0]);

    // On one machine no credentials may be required, or only a token.
    let open = AccessArguments::default();
    assert!(Host::serve(&open).await.ask(&open).await.is_ok());
    let token = files.token(&files.path("token"));
    assert!(Host::serve(&token).await.ask(&token).await.is_ok());
    // A caller with a token may use a server that requires none.
    assert!(Host::serve(&open).await.ask(&token).await.is_ok());
    // Without --tls-ca callers need no certificate.
    let one_way = AccessArguments { tls_ca: None, ..files.all() };
    let caller = AccessArguments { tls_cert: None, tls_key: None, ..files.all() };
    assert!(Host::serve(&one_way).await.ask(&caller).await.is_ok());
}

#[tokio::test]
async fn wrong_or_missing_token_is_refused() {
    let files = Files::new();
    let host = Host::serve(&files.all()).await;
    let way_out = "pass the keys of this run with --keys, or its token with --token-file";
    for (name, text) in [
        ("other", "another token, as long, perhaps"),
        ("longer", &format!("{TOKEN}0")),
        ("shorter", &TOKEN[1..]),
    ] {
        let path = files.write(name, &text.replace([' ', ','], "-"), 0o600);
        let wrong = AccessArguments { token_file: Some(path), ..files.all() };
        host.refuses(&wrong, &format!("wrong token: {way_out}"), "reason=\"wrong token\"", &files.all())
            .await;
    }
    let none = AccessArguments { token_file: None, ..files.all() };
    host.refuses(&none, &format!("no token: {way_out}"), "reason=\"no token\"", &files.all()).await;
}

/// Of two callers on connections that die silently, the one with a short lease notices first.
#[tokio::test]
async fn short_lease_notices_a_dead_connection_early() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let access = Access::load(&AccessArguments::default()).unwrap();
    let call = async |lease| {
        let connection = access.for_lease(lease).connect(&address, LIMIT).await.unwrap();
        CoordinatorClient::new(connection).get_status(GetStatusRequest {}).await.unwrap_err()
    };
    let silent = async {
        let mut callers = Vec::new();
        loop {
            let (mut caller, _) = listener.accept().await.unwrap();
            // Empty settings, and nothing after them.
            caller.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
            callers.push(caller);
        }
    };
    tokio::select! {
        biased;
        status = call(Duration::from_secs(30)) => panic!("{status}"),
        status = call(Duration::from_millis(500)) => assert_eq!(status.code(), tonic::Code::Unavailable),
        () = silent => {}
    }
}

#[tokio::test]
async fn repeated_refusals_are_logged_once() {
    let files = Files::new();
    let host = Host::serve(&files.all()).await;
    let access = Access::load(&AccessArguments { token_file: None, ..files.all() }).unwrap();
    let connection = access.connect(&host.address.to_string(), LIMIT).await.unwrap();
    let mut client = CoordinatorClient::new(connection);
    for _ in 0..100 {
        let status = client.get_status(GetStatusRequest {}).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::Unauthenticated);
    }
    assert_eq!(host.lines.now().len(), 1);
}

#[tokio::test]
async fn invalid_client_certificates_are_refused() {
    let (files, foreign) = (Files::new(), Files::new());
    let host = Host::serve(&files.all()).await;
    let ours = "it rejected this side's certificate, which";
    let with = |tls: AccessArguments| AccessArguments {
        token_file: Some(files.path("token")),
        tls_ca: Some(files.path("ca.pem")),
        ..tls
    };
    files.certificate("old-", TLS_NAME, &past());
    files.certificate("new-", TLS_NAME, &future());
    for (caller, says) in [
        (with(AccessArguments::default()), "was not given: add --keys DIR, or --tls-cert and --tls-key"),
        (with(files.tls("old-")), "has expired or is not valid yet: create a new one, or correct the clock"),
        (with(files.tls("new-")), "has expired or is not valid yet"),
        (
            with(foreign.tls("")),
            "is from another authority: use the files of the same 'fathom keys' on both sides (--keys)",
        ),
    ] {
        let cannot = format!("cannot connect to {}: {ours} {says}", host.address);
        host.refuses(&caller, &cannot, &format!("reason=its certificate {says}"), &files.all()).await;
    }
}

#[tokio::test]
async fn invalid_server_certificates_are_refused() {
    let (files, foreign) = (Files::new(), Files::new());
    files.certificate("old-", TLS_NAME, &past());
    files.certificate("other-", "elsewhere", &now());
    let ours = "it rejected this side's certificate, which";
    for (what, says) in [
        ("old-", "has expired or is not valid yet"),
        ("other-", "is for another name: pass its name with --tls-name"),
    ] {
        let host = Host::serve(&AccessArguments { tls_ca: None, ..files.tls(what) }).await;
        let caller = AccessArguments { tls_ca: Some(files.path("ca.pem")), ..AccessArguments::default() };
        let said = host.ask(&caller).await.unwrap_err();
        assert!(
            said.contains(&format!("cannot connect to {}: its certificate {says}", host.address)),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1);
        let lines = host.lines.wait(1).await;
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(lines[0].contains(&format!("reason={ours} {says}")), "{}", lines[0]);
    }
    let host = Host::serve(&files.all()).await;
    let foreigner = AccessArguments { token_file: Some(files.path("token")), ..foreign.tls("") };
    let says = "is from another authority";
    host.refuses(
        &foreigner,
        &format!("its certificate {says}"),
        &format!("reason={ours} {says}"),
        &files.all(),
    )
    .await;
    // The name in the certificate is accepted if it is the expected one.
    let host = Host::serve(&files.tls("other-")).await;
    let caller = AccessArguments { tls_name: Some("elsewhere".into()), ..files.tls("") };
    assert!(host.ask(&caller).await.is_ok());
}

#[tokio::test]
async fn plain_text_and_tls_do_not_mix() {
    let files = Files::new();
    let token = files.token(&files.path("token"));
    let required = "the server requires TLS: add --keys DIR (or set FATHOM_KEYS)";
    let unused = "the server does not use TLS: drop --keys (or unset FATHOM_KEYS), or start the server";
    for (server, client, says) in [(files.all(), &token, required), (token.clone(), &files.all(), unused)] {
        let host = Host::serve(&server).await;
        let cannot = format!("cannot connect to {}: {says}", host.address);
        host.refuses(client, &cannot, &format!("reason={says}"), &server).await;
    }
}

/// A stream of bytes that is the same in each run: xorshift64.
fn noise(seed: u64) -> impl Iterator<Item = u8> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
}

/// Returns the first message of a TLS client.
fn hello() -> Vec<u8> {
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(TLS_NAME).unwrap();
    let mut hello = Vec::new();
    ClientConnection::new(Arc::new(config), name).unwrap().write_tls(&mut hello).unwrap();
    hello
}

/// Sends bytes, and reads until the other side closes the connection.
async fn say(host: &Host, bytes: &[u8]) {
    let mut tcp = TcpStream::connect(host.address).await.unwrap();
    // The other side may hang up before everything is sent.
    let _ = tcp.write_all(bytes).await;
    let _ = tcp.shutdown().await;
    let _ = tokio::time::timeout(LIMIT, tcp.read_to_end(&mut Vec::new())).await.expect("it hangs up");
}

#[tokio::test]
async fn invalid_bytes_are_logged_once_per_connection() {
    let files = Files::new();
    let hello = hello();
    let mut nonsense: Vec<Vec<u8>> = (1..=60).map(|n| noise(n).take(7 * n as usize).collect()).collect();
    nonsense.extend((1..hello.len()).step_by(5).map(|length| hello[..length].to_vec()));
    nonsense.extend((1..hello.len()).step_by(5).map(|at| {
        let mut bytes = hello.clone();
        bytes[at] ^= 0xff;
        bytes
    }));
    nonsense.push(b"GET / HTTP/1.1\r\n\r\n".to_vec());
    nonsense.push(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r".to_vec());
    for good in [files.all(), AccessArguments::default()] {
        let host = Host::serve(&good).await;
        for (count, bytes) in nonsense.iter().enumerate() {
            assert_eq!(host.lines.now().len(), count);
            say(&host, bytes).await;
            // If a task panicked, nothing would be logged here.
            let lines = host.lines.wait(count + 1).await;
            assert_eq!(lines.len(), count + 1, "{bytes:?}");
            assert!(lines[count].contains("connection refused"), "{}", lines[count]);
        }
        // A connection without any bytes only checks that the port is open.
        say(&host, &[]).await;
        assert!(host.ask(&good).await.is_ok());
        assert_eq!(host.lines.now().len(), nonsense.len());
    }
}

#[tokio::test]
async fn silent_connections_block_nobody() {
    let files = Files::new();
    for good in [files.all(), AccessArguments::default()] {
        let host = Host::serve(&good).await;
        let hello = hello();
        let mut silent = Vec::new();
        let come = async {
            for count in 0..300 {
                let mut tcp = TcpStream::connect(host.address).await.unwrap();
                if count % 3 == 0 && good.tls_ca.is_some() {
                    tcp.write_all(&hello[..hello.len() / 2]).await.unwrap();
                }
                silent.push(tcp);
            }
        };
        tokio::time::timeout(LIMIT, come).await.expect("all connect");
        // Some of them were closed to admit others; only some of those closures are logged.
        assert!(host.ask(&good).await.is_ok());
    }
}

/// Asserts that a host closes a connection that sends only `begun`, and logs why.
async fn hangs_up(good: &AccessArguments, begun: &[u8]) {
    let host = Host::serve_impatiently(Duration::from_secs(2), good).await;
    let mut tcp = TcpStream::connect(host.address).await.unwrap();
    tcp.write_all(begun).await.unwrap();
    let mut said = Vec::new();
    let hung_up = tokio::time::timeout(LIMIT, tcp.read_to_end(&mut said)).await;
    assert!(hung_up.is_ok());
    let lines = host.lines.now();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(lines[0].contains("reason=no valid handshake within 2s"), "{}", lines[0]);
}

#[test]
fn silent_connections_time_out() {
    let (files, hello) = (Files::new(), hello());
    let silent = [
        (files.all(), &[][..]),
        (files.all(), &hello[..hello.len() / 2]),
        (AccessArguments::default(), &[]),
        (AccessArguments::default(), b"PRI * HTTP"),
    ];
    // In parallel, because each takes the whole time limit.
    std::thread::scope(|scope| {
        for (good, begun) in &silent {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(hangs_up(good, begun));
            });
        }
    });
}

#[tokio::test]
async fn connecting_to_other_servers_fails() {
    let files = Files::new();
    // The port stays reserved after the listener is closed.
    let address = format!("127.0.0.1:{}", free_port());
    let listener = TcpListener::bind(&address).await.unwrap();
    let other = tokio::spawn(async move {
        loop {
            let (mut tcp, _) = listener.accept().await.unwrap();
            tcp.write_all(b"SSH-2.0-something\r\n").await.unwrap();
            let _ = tcp.read_to_end(&mut Vec::new()).await;
        }
    });
    let open = AccessArguments::default();
    assert_eq!(
        ask(&address, &open).await.unwrap_err(),
        format!("cannot connect to {address}: it does not speak HTTP/2")
    );
    assert!(ask(&address, &files.all()).await.unwrap_err().contains("the server does not use TLS"));
    other.abort();
    let _ = other.await;

    let access = Access::load(&open).unwrap();
    // The first frame of a coordinator, truncated after each number of bytes.
    let settings = [0, 0, 18, 4, 0, 0, 0, 0, 0];
    for length in 0..settings.len() {
        let cutting = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = cutting.local_addr().unwrap().to_string();
        let cut = tokio::spawn(async move {
            let (mut tcp, _) = cutting.accept().await.unwrap();
            // Unread bytes would reset the connection.
            let _ = tcp.read(&mut [0; 1 << 10]).await;
            tcp.write_all(&settings[..length]).await.unwrap();
        });
        let error = access.connect(&address, LIMIT).await.unwrap_err();
        assert!(error.may_pass(), "{length}: {error}");
        cut.await.unwrap();
    }
    let error = access.connect(&address, LIMIT).await.unwrap_err();
    assert!(
        error.may_pass() && error.to_string().starts_with(&format!("cannot reach {address}: ")),
        "{error}"
    );
    for bad in ["nowhere", ":7400", "node:port", "node 7:7400", "node:123456"] {
        let error = access.connect(bad, LIMIT).await.unwrap_err();
        assert!(!error.may_pass() && error.to_string().contains("expected HOST:PORT"), "{error}");
    }
    let access = Access::load(&AccessArguments { tls_ca: None, ..files.all() }).unwrap();
    let error = access.connect(&address, LIMIT).await.unwrap_err();
    assert!(!error.may_pass() && error.to_string().contains("without --tls-ca"), "{error}");
}

#[tokio::test]
async fn silent_server_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let files = Files::new();
    for asked in [AccessArguments::default(), files.all()] {
        let access = Access::load(&asked).unwrap();
        let error = access.connect(&address, Duration::from_millis(500)).await.unwrap_err();
        assert_eq!(error.to_string(), format!("cannot reach {address}: no response within 500ms"));
        assert!(error.may_pass());
    }
}

#[tokio::test]
async fn connection_follows_a_restarted_coordinator() {
    let (files, foreign) = (Files::new(), Files::new());
    let address = (Ipv4Addr::LOCALHOST, free_port()).into();
    let host = Host::serve_at(address, &files.all()).await;
    let access = Access::load(&files.all()).unwrap();
    let mut client = CoordinatorClient::new(access.connect(&address.to_string(), LIMIT).await.unwrap());
    assert!(client.get_status(GetStatusRequest {}).await.is_ok());
    host.stop().await;

    let foreigner = Host::serve_at(address, &foreign.all()).await;
    let mut found = None;
    // The first request may still use the old connection.
    for _ in 0..3 {
        let status = client.get_status(GetStatusRequest {}).await.unwrap_err();
        found = found.or(ConnectError::behind(&status).cloned());
    }
    let Some(ConnectError::Refused { refusal: Refusal::Theirs(_), .. }) = found else { panic!("{found:?}") };
    foreigner.stop().await;

    let host = Host::serve_at(address, &files.all()).await;
    let mut client = CoordinatorClient::new(access.connect(&address.to_string(), LIMIT).await.unwrap());
    host.stop().await;
    let _host = Host::serve_at(address, &files.all()).await;
    let mut answered = false;
    for _ in 0..3 {
        answered |= client.get_status(GetStatusRequest {}).await.is_ok();
    }
    assert!(answered, "the connection is established again");
}
