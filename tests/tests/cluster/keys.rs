//! `fathom keys`: the processes of a run accept its files, and it never overwrites existing files.

use fathom_proto::access::{Access, AccessArguments};
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::process::well;
use fathom_tests::{assert_same, fathom, fathom_worker, texts};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Runs `fathom keys` in a directory. Returns the exit code, standard output and standard error.
fn keys(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = fathom().arg("keys").args(arguments).current_dir(directory).output().unwrap();
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn arguments(dir: &Path) -> AccessArguments {
    AccessArguments {
        token_file: Some(dir.join("token")),
        tls_cert: Some(dir.join("cert.pem")),
        tls_key: Some(dir.join("key.pem")),
        tls_ca: Some(dir.join("ca.pem")),
        ..AccessArguments::default()
    }
}

#[test]
fn generated_keys_are_usable() {
    let directory = fathom_tests::tempdir().unwrap();
    fs::create_dir(directory.path().join("empty")).unwrap();
    for name in ["keys", "a/b/c", "empty", "it's there/", "./dot/../keys-2"] {
        let (code, out, err) = keys(directory.path(), &[name]);
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(err, "");
        assert_eq!(out.lines().count(), 2, "{out}");
        assert!(out.starts_with("fathom serve 3x4 --listen 0.0.0.0:7400 --keys "), "{out}");
        assert!(out.contains("\nfathom-worker --join ") && out.contains(" --store store --keys "), "{out}");
    }
    let (_, out, _) = keys(directory.path(), &["it's"]);
    assert!(out.contains(r"--keys 'it'\''s'"), "{out}");

    let dir = directory.path().join("keys");
    assert_eq!(mode(&dir), 0o700);
    let mut names: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["ca-key.pem", "ca.pem", "cert.pem", "key.pem", "token"]);
    for secret in ["token", "ca-key.pem", "key.pem"] {
        assert_eq!(mode(&dir.join(secret)), 0o600);
    }
    let token = fs::read_to_string(dir.join("token")).unwrap();
    assert_eq!(token.trim_end().len(), 64);
    assert!(token.trim_end().bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_ne!(fs::read_to_string(directory.path().join("empty/token")).unwrap(), token);
    let access = Access::load(&arguments(&dir)).unwrap();
    access.may_listen("0.0.0.0:7400".parse().unwrap()).unwrap();
    // The key of one run does not match the certificate of another.
    let mixed = AccessArguments { tls_key: Some(directory.path().join("empty/key.pem")), ..arguments(&dir) };
    assert!(Access::load(&mixed).is_err());
    // No temporary file is left.
    for entry in fs::read_dir(directory.path()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(!name.to_string_lossy().starts_with('.'), "{name:?}");
    }
}

/// The commands in messages can be run as printed.
#[test]
fn commands_in_messages_name_the_keys() {
    // Two workers must hold each file, so the run waits for the second one.
    let mut cluster = Cluster::new(&["3x3"], &["--replicas", "2"]);
    let keys = cluster.path().join("keys");
    well(&fathom().arg("keys").arg(&keys).output().unwrap());
    cluster.option(Path::new("--keys"));
    cluster.option(&keys);
    cluster.serve();
    let (address, keys) = (cluster.address.clone(), keys.to_str().unwrap());
    let status = format!("fathom status {address} --keys {keys}");
    let said = well(&fathom().arg("status").arg(cluster.run()).output().unwrap());
    assert!(said.contains(&format!("'{status}' shows the progress")), "{said}");
    let said = well(&fathom().args(status.split(' ').skip(1)).output().unwrap());
    let join = format!("fathom-worker --join {address} --store DIR --keys {keys}");
    assert!(said.contains(&format!("no worker is connected: start one with '{join}'")), "{said}");
    let joining = |cluster: &Cluster, name: &str| {
        let join = join.replace("DIR", cluster.store(name).to_str().unwrap());
        let mut command = fathom_worker();
        command.args(join.split(' ').skip(1)).args(["--name", name]);
        command
    };
    cluster.join_first("one", joining(&cluster, "one"));
    let refused = cluster.ask("drain", &["one", "--keys", keys]);
    let (_, err) = texts(&refused);
    assert_eq!(refused.status.code(), Some(2), "{err}");
    assert!(err.contains(&format!("stop the run with 'fathom stop {address} --keys {keys}'")), "{err}");
    cluster.join_by("two", joining(&cluster, "two"));
    assert_same(&cluster.finishes(), &undisturbed(&["3x3"]));
}

#[test]
fn existing_files_are_not_overwritten() {
    let directory = fathom_tests::tempdir().unwrap();
    assert_eq!(keys(directory.path(), &["keys"]).0, Some(0));
    fs::create_dir(directory.path().join("other")).unwrap();
    fs::write(directory.path().join("other/file"), "something").unwrap();
    fs::write(directory.path().join("file"), "something").unwrap();
    std::os::unix::fs::symlink("nowhere", directory.path().join("link")).unwrap();
    fs::create_dir(directory.path().join("empty")).unwrap();
    std::os::unix::fs::symlink("empty", directory.path().join("link-to-empty")).unwrap();
    let before = fs::read(directory.path().join("keys/key.pem")).unwrap();
    let count = fs::read_dir(directory.path()).unwrap().count();
    for (arguments, says) in [
        (&["keys"][..], "error: keys already exists; choose a new or an empty directory"),
        (&["other"], "other already exists"),
        (&["file"], "file already exists"),
        (&["link"], "link already exists"),
        (&["link-to-empty"], "link-to-empty already exists"),
        (&["file/new"], "cannot create file/new: part of the path is a file"),
        (&["/proc/new"], "cannot create a directory in /proc: entity not found"),
        (&["new", "--days", "0"], "0 is not in 1..=36500"),
        (&[], "<DIR>"),
    ] {
        let (code, out, err) = keys(directory.path(), arguments);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains(says), "{err}");
        assert_eq!(out, "");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), count);
    assert_eq!(fs::read_dir(directory.path().join("other")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(directory.path().join("keys")).unwrap().count(), 5);
    assert_eq!(fs::read(directory.path().join("keys/key.pem")).unwrap(), before);
    assert_eq!(fs::read_to_string(directory.path().join("file")).unwrap(), "something");
}
