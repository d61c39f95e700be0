//! Ownership of layers in a store that all workers share.

use fathom_tests::cluster::Cluster;
use fathom_tests::layers::layer_files;
use fathom_tests::process::well;
use fathom_tests::{fathom, texts};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const SPACE: [&str; 1] = ["3x3"];

/// Computes the layers up to depth 5 in the store `shared`, which is named as `named`.
fn served(named: &Path) -> Cluster {
    let mut cluster = Cluster::new(&SPACE, &["--max-depth", "5", "--keep", "all", "--shared-store"]);
    cluster.option(named);
    fs::create_dir(cluster.path().join("shared")).unwrap();
    let mut command = cluster.serving();
    command.current_dir(cluster.path());
    cluster.serve_by(command);
    cluster.join_by("w1", cluster.joining("w1"));
    cluster.finishes();
    cluster
}

/// Runs a command in the directory of a cluster. Returns the exit code and standard error.
fn said(cluster: &Cluster, arguments: &[&str]) -> (Option<i32>, String) {
    let output = fathom().args(arguments).current_dir(cluster.path()).output().unwrap();
    (output.status.code(), texts(&output).1)
}

#[test]
fn shared_store_belongs_to_one_run() {
    let cluster = served(Path::new("shared"));
    let shared = cluster.path().join("shared");
    let before = layer_files(&shared.join("layers"));
    assert!(before.len() >= 6, "{before:?}");
    let second = ["serve", "3x3", "--dir", "second", "--listen", "127.0.0.1:0", "--shared-store", "shared"];
    let (code, err) = said(&cluster, &second);
    assert!(code == Some(2) && err.contains("belongs to the run in"), "{err}");
    assert!(!cluster.path().join("second").exists());
    // Layers without a mark belong to an unknown run.
    let mark = fs::read_to_string(shared.join("owner.toml")).unwrap();
    fs::remove_file(shared.join("owner.toml")).unwrap();
    let (code, err) = said(&cluster, &second);
    assert!(code == Some(2) && err.contains("has layers that are not in the run's journal"), "{err}");
    assert_eq!(layer_files(&shared.join("layers")), before);
    // The run itself continues, and restores its mark.
    let on = |dir| ["resume", dir, "-q", "--max-depth", "6"];
    well(&fathom().args(on("run")).current_dir(cluster.path()).output().unwrap());
    assert_eq!(fs::read_to_string(shared.join("owner.toml")).unwrap(), mark);
    // Another run has taken over the store, by whatever means.
    fs::write(shared.join("owner.toml"), mark.replace("id = \"", "id = \"0")).unwrap();
    for arguments in [&["verify", "run"][..], &on("run"), &["audit", "run"]] {
        let (code, err) = said(&cluster, arguments);
        assert!(code != Some(0) && err.contains("belongs to the run in"), "{arguments:?}: {err}");
    }
    fs::write(shared.join("owner.toml"), &mark).unwrap();
    // A copy would delete layers that the original needs. A moved run directory does not.
    assert!(
        Command::new("cp")
            .args(["-r", "run", "copy"])
            .current_dir(cluster.path())
            .status()
            .unwrap()
            .success()
    );
    let (code, err) = said(&cluster, &on("copy"));
    assert!(code == Some(2) && err.contains("is a copy of"), "{err}");
    fs::remove_dir_all(cluster.path().join("copy")).unwrap();
    fs::rename(cluster.run(), cluster.path().join("moved")).unwrap();
    // A run of another space at the old path is not the original.
    well(&fathom().args(["run", "2x3", "-q", "--dir", "run"]).current_dir(cluster.path()).output().unwrap());
    well(&fathom().args(on("moved")).current_dir(cluster.path()).output().unwrap());
    well(&fathom().args(["verify", "moved"]).current_dir(cluster.path()).output().unwrap());
    // The directory belongs to the user, and other hosts may work there.
    let (code, err) = said(&cluster, &["remove", "moved", "--all"]);
    assert!(code == Some(0) && err.contains("are not removed"), "{err}");
    assert!(shared.join("owner.toml").exists() && !layer_files(&shared.join("layers")).is_empty());
}

/// Where the store is not mounted, its directory exists and is empty. Here a link leads to another directory
/// while the worker checks.
#[test]
fn worker_with_an_empty_mount_point_is_refused() {
    let mut cluster = Cluster::new(&SPACE, &["--shared-store"]);
    let [shared, store, mount_point] =
        ["shared", "store", "mount-point"].map(|name| cluster.path().join(name));
    cluster.option(&shared);
    for path in [&store, &mount_point] {
        fs::create_dir(path).unwrap();
    }
    let lead_to = |path: &Path| {
        let _ = fs::remove_file(&shared);
        symlink(path, &shared).unwrap();
    };
    lead_to(&store);
    cluster.serve();
    lead_to(&mount_point);
    let output = cluster.joining("blind").output().unwrap();
    let err = texts(&output).1;
    assert!(
        output.status.code() == Some(2) && err.contains("which this host does not see. Mount it"),
        "{err}"
    );
    assert_eq!(fs::read_dir(&mount_point).unwrap().count(), 0);
    lead_to(&store);
    cluster.join(&["w1"]);
    cluster.finishes();
}

/// The path is relative to the directory where the coordinator started, and other commands may start
/// elsewhere.
#[test]
fn relative_shared_store_is_found_from_everywhere() {
    let cluster = served(Path::new("shared"));
    let elsewhere = cluster.path().join("w1");
    for arguments in [&["verify", "../run"][..], &["resume", "../run", "-q", "--max-depth", "6"]] {
        well(&fathom().args(arguments).current_dir(&elsewhere).output().unwrap());
    }
    fs::rename(cluster.path().join("shared"), cluster.path().join("gone")).unwrap();
    for arguments in [&["verify", "run"][..], &["resume", "run", "-q", "--max-depth", "7"]] {
        let (code, err) = said(&cluster, arguments);
        assert!(code == Some(2) && err.contains("does not exist") && err.contains("Mount"), "{err}");
    }
    assert!(!cluster.path().join("shared").exists());
    // The mount point exists and is empty.
    fs::create_dir(cluster.path().join("shared")).unwrap();
    for arguments in [&["verify", "run"][..], &["resume", "run", "-q", "--max-depth", "7"]] {
        let (code, err) = said(&cluster, arguments);
        assert!(code == Some(2) && err.contains("has none") && err.contains("Mount"), "{err}");
    }
    assert_eq!(fs::read_dir(cluster.path().join("shared")).unwrap().count(), 0);
}
