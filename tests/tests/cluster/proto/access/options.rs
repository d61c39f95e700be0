//! What may be requested on the command line, and what is refused.

use super::world::{Files, TOKEN};
use fathom_command::exit::BadInput;
use fathom_proto::access::{Access, AccessArguments};
use std::path::Path;

/// Asserts that options are refused as bad input, in one line.
fn refuses(asked: &AccessArguments, says: &str) {
    let error = Access::load(asked).expect_err(says);
    assert!(error.is::<BadInput>(), "{error:#}");
    let text = format!("{error:#}");
    assert!(text.contains(says), "{text:?} does not say {says:?}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!text.contains(TOKEN), "{text}");
}

#[test]
fn unusable_files_are_refused() {
    let files = Files::new();
    for (mode, says) in [(0o644, "644"), (0o640, "640"), (0o604, "604"), (0o620, "620"), (0o666, "666")] {
        let path = files.write("shared", TOKEN, mode);
        let says = format!(
            "--token-file: {} is accessible to other users (mode {says}): chmod 600 {}",
            path.display(),
            path.display()
        );
        refuses(&files.token(&path), &says);
    }
    for (text, says) in [
        ("", "contains a token of 0 characters: it must have 16 to 1024"),
        ("short", "contains a token of 5 characters"),
        (&"x".repeat(1025), "contains a token of 1025 characters"),
        ("not one word but several", "contains no token: a token is one word"),
        ("not-ascii-æøå-not-ascii", "contains no token"),
    ] {
        refuses(&files.token(&files.write("bad", text, 0o600)), says);
    }
    assert!(Access::load(&files.token(&files.write("framed", &format!(" {TOKEN}\r\n"), 0o400))).is_ok());
    refuses(&files.token(&files.path("nowhere")), "--token-file: cannot read");
    let keys = |path| AccessArguments { keys: Some(path), ..AccessArguments::default() };
    refuses(&keys(files.path("nowhere")), "--keys: directory ");
    std::fs::create_dir(files.path("empty")).unwrap();
    refuses(&keys(files.path("empty")), "--keys: cannot read");
    let passed_over = AccessArguments { insecure: true, ..keys(files.path("nowhere")) };
    assert!(Access::load(&passed_over).is_ok());
    refuses(&files.token(Path::new("/dev/zero")), "/dev/zero is accessible to other users");
    refuses(&files.token(&files.write("large", &"x".repeat((1 << 20) + 1), 0o600)), "is larger than 1048576");

    let tls = |change: &dyn Fn(&mut AccessArguments)| {
        let mut asked = files.all();
        change(&mut asked);
        asked
    };
    let (token, cert, key) = (files.path("token"), files.path("cert.pem"), files.path("key.pem"));
    let shared = files.write("shared-key.pem", &std::fs::read_to_string(&key).unwrap(), 0o640);
    let broken =
        files.write("broken.pem", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", 0o600);
    files.certificate("other-", "fathom", &super::world::now());
    let other = files.path("other-key.pem");
    for (asked, says) in [
        (tls(&|asked| asked.tls_key = Some(shared.clone())), "--tls-key: "),
        (tls(&|asked| asked.tls_key = Some(cert.clone())), "--tls-key: "),
        (tls(&|asked| asked.tls_key = Some(token.clone())), "token contains no private key: give a PEM file"),
        (tls(&|asked| asked.tls_key = Some(other.clone())), "cannot be used with the key "),
        (tls(&|asked| asked.tls_key = None), "--tls-cert needs its private key: add --tls-key"),
        (tls(&|asked| asked.tls_cert = None), "--tls-key needs its certificate: add --tls-cert"),
        (
            tls(&|asked| asked.tls_cert = Some(key.clone())),
            "key.pem contains no certificate: give a PEM file",
        ),
        (tls(&|asked| asked.tls_cert = Some(broken.clone())), "broken.pem is not a PEM file"),
        (tls(&|asked| asked.tls_ca = Some(token.clone())), "token contains no certificate: give a PEM file"),
        (tls(&|asked| asked.tls_ca = Some("nowhere".into())), "--tls-ca: cannot read nowhere"),
        (tls(&|asked| asked.tls_name = Some("two words".into())), "\"two words\" is not a valid host name"),
        (tls(&|asked| asked.insecure = true), "--insecure and the --tls options are mutually exclusive"),
        (
            AccessArguments { tls_name: Some("fathom".into()), ..AccessArguments::default() },
            "--tls-name has no effect without --tls-ca",
        ),
    ] {
        refuses(&asked, says);
    }
}

#[test]
fn unprotected_addresses_are_refused() {
    let files = Files::new();
    let token = files.token(&files.path("token"));
    let tls = files.tls("");
    let insecure = AccessArguments { insecure: true, ..AccessArguments::default() };
    let insecure_with_token = AccessArguments { insecure: true, ..token.clone() };
    let authority = AccessArguments { tls_cert: None, tls_key: None, ..files.all() };
    let near = ["127.0.0.1:7400", "127.1.2.3:0", "[::1]:7400", "[::ffff:127.0.0.1]:7400"];
    let far = ["0.0.0.0:7400", "192.0.2.1:7400", "[::]:7400", "[2001:db8::1]:0", "[::ffff:192.0.2.1]:7400"];
    for (asked, here, elsewhere) in [
        (AccessArguments::default(), None, Some("add --token-file, --tls-cert and --tls-key (")),
        (token, None, Some("add --tls-cert and --tls-key (")),
        (tls, None, Some("add --token-file (")),
        (files.all(), None, None),
        (AccessArguments { tls_ca: None, ..files.all() }, None, None),
        (insecure, None, None),
        (insecure_with_token, None, None),
        (authority, Some("with only --tls-ca"), Some("with only --tls-ca")),
    ] {
        let access = Access::load(&asked).unwrap();
        for (addresses, refused) in [(&near[..], here), (&far, elsewhere)] {
            for address in addresses {
                let result = access.may_listen(address.parse().unwrap());
                let Some(says) = refused else {
                    result.unwrap();
                    continue;
                };
                let error = result.expect_err(address);
                assert!(error.is::<BadInput>());
                assert!(error.to_string().contains(says), "{error}");
                if elsewhere != here {
                    assert!(error.to_string().contains("or add --insecure"), "{error}");
                    assert!(error.to_string().contains(address.trim_end_matches("]")), "{error}");
                }
            }
        }
    }
}

#[tokio::test]
async fn unprotected_listener_is_refused() {
    let access = Access::load(&AccessArguments::default()).unwrap();
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    assert!(access.incoming(listener).unwrap_err().is::<BadInput>());
}

#[test]
fn secrets_are_not_shown() {
    let files = Files::new();
    let access = Access::load(&files.all()).unwrap();
    let shown = format!("{access:?} {:?}", access.token_check());
    assert!(shown.contains("Token(..)") && !shown.contains(TOKEN), "{shown}");
    let keys = fathom_proto::access::Keys::make(1).unwrap();
    assert_eq!(format!("{keys:?}"), "Keys(..)");
    assert_eq!(keys.token.len(), 64);
}
