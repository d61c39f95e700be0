//! Whose layers lie in a store that all workers share.

use fathom_tests::cluster::Cluster;
use fathom_tests::layers::layer_files;
use fathom_tests::process::well;
use fathom_tests::{fathom, texts};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const SPACE: [&str; 1] = ["3x3"];

/// Makes the layers up to depth 5 in the store `shared`, which is named as `named`.
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

/// Runs a command in the directory of a cluster. Returns the exit code, and what stands on standard error.
fn said(cluster: &Cluster, arguments: &[&str]) -> (Option<i32>, String) {
    let output = fathom().args(arguments).current_dir(cluster.path()).output().unwrap();
    (output.status.code(), texts(&output).1)
}

#[test]
fn a_shared_store_belongs_to_one_run() {
    let cluster = served(Path::new("shared"));
    let shared = cluster.path().join("shared");
    let before = layer_files(&shared.join("layers"));
    assert!(before.len() >= 6, "{before:?}");
    let second = ["serve", "3x3", "--dir", "second", "--listen", "127.0.0.1:0", "--shared-store", "shared"];
    let (code, err) = said(&cluster, &second);
    assert!(code == Some(2) && err.contains("belongs to the run in"), "{err}");
    assert!(!cluster.path().join("second").exists());
    // Layers without a mark are of a run that nobody knows any more.
    let mark = fs::read_to_string(shared.join("owner.toml")).unwrap();
    fs::remove_file(shared.join("owner.toml")).unwrap();
    let (code, err) = said(&cluster, &second);
    assert!(code == Some(2) && err.contains("holds layers of which the run knows nothing"), "{err}");
    assert_eq!(layer_files(&shared.join("layers")), before);
    // The run itself goes on, and puts its mark back.
    let on = |dir| ["resume", dir, "-q", "--max-depth", "6"];
    well(&fathom().args(on("run")).current_dir(cluster.path()).output().unwrap());
    assert_eq!(fs::read_to_string(shared.join("owner.toml")).unwrap(), mark);
    // Another run has taken the store, by whatever means.
    fs::write(shared.join("owner.toml"), mark.replace("id = \"", "id = \"0")).unwrap();
    for arguments in [&["verify", "run"][..], &on("run"), &["audit", "run"]] {
        let (code, err) = said(&cluster, arguments);
        assert!(code != Some(0) && err.contains("belongs to the run in"), "{arguments:?}: {err}");
    }
    fs::write(shared.join("owner.toml"), &mark).unwrap();
    // A copy would delete layers that the first one needs. A run's directory that was moved does not.
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
    // A run of another space at the old place is not the first one.
    well(&fathom().args(["run", "2x3", "-q", "--dir", "run"]).current_dir(cluster.path()).output().unwrap());
    well(&fathom().args(on("moved")).current_dir(cluster.path()).output().unwrap());
    well(&fathom().args(["verify", "moved"]).current_dir(cluster.path()).output().unwrap());
    // The directory is the user's, and other hosts may work there.
    let (code, err) = said(&cluster, &["remove", "moved", "--all"]);
    assert!(code == Some(0) && err.contains("are not removed"), "{err}");
    assert!(shared.join("owner.toml").exists() && !layer_files(&shared.join("layers")).is_empty());
}

/// Where the store is not mounted, its directory is there and empty. Here a link leads to another directory
/// while the worker looks.
#[test]
fn a_worker_that_sees_an_empty_mount_point_is_refused() {
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
        output.status.code() == Some(2) && err.contains("which this host does not see: mount it"),
        "{err}"
    );
    assert_eq!(fs::read_dir(&mount_point).unwrap().count(), 0);
    lead_to(&store);
    cluster.join(&["w1"]);
    cluster.finishes();
}

/// The path is told from where the coordinator began, and other commands may begin elsewhere.
#[test]
fn a_relative_shared_store_is_found_from_everywhere() {
    let cluster = served(Path::new("shared"));
    let elsewhere = cluster.path().join("w1");
    for arguments in [&["verify", "../run"][..], &["resume", "../run", "-q", "--max-depth", "6"]] {
        well(&fathom().args(arguments).current_dir(&elsewhere).output().unwrap());
    }
    fs::rename(cluster.path().join("shared"), cluster.path().join("gone")).unwrap();
    for arguments in [&["verify", "run"][..], &["resume", "run", "-q", "--max-depth", "7"]] {
        let (code, err) = said(&cluster, arguments);
        assert!(code == Some(2) && err.contains("there is no directory") && err.contains("mount"), "{err}");
    }
    assert!(!cluster.path().join("shared").exists());
    // The mount point is there, and empty.
    fs::create_dir(cluster.path().join("shared")).unwrap();
    for arguments in [&["verify", "run"][..], &["resume", "run", "-q", "--max-depth", "7"]] {
        let (code, err) = said(&cluster, arguments);
        assert!(code == Some(2) && err.contains("there are no layers in") && err.contains("mount"), "{err}");
    }
    assert_eq!(fs::read_dir(cluster.path().join("shared")).unwrap().count(), 0);
}
