//! Layer directories that are symbolic links to directories that belong to someone else.

use fathom_engine::run::Depth;
use fathom_engine::task::Store;
use fathom_layer::LocalDisk;
use std::fs;
use std::os::unix::fs::symlink;

const FOREIGN: [&str; 2] = ["s00000.layer", "s00001.layer.0123456789abcdef.tmp"];

#[test]
fn layers_behind_a_link_are_stored_at_its_target() {
    let directory = tempfile::tempdir().unwrap();
    let (run, elsewhere) = (directory.path().join("run"), directory.path().join("elsewhere"));
    fs::create_dir(&run).unwrap();
    let store = Store::at(&run, &LocalDisk).unwrap();
    let root = || store.place().to_owned();
    assert_eq!(root(), run);
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, run.join("layers")).unwrap();
    assert_eq!(root().canonicalize().unwrap(), elsewhere.canonicalize().unwrap());
}

#[test]
fn files_behind_a_link_are_not_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let (run, elsewhere) = (directory.path().join("run"), directory.path().join("elsewhere"));
    fs::create_dir_all(run.join("layers")).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    for name in FOREIGN {
        fs::write(elsewhere.join(name), "of somebody else").unwrap();
    }
    symlink(&elsewhere, run.join("layers/d003")).unwrap();
    let store = Store::at(&run, &LocalDisk).unwrap();
    // Each call may fail or do nothing, but must delete nothing.
    let _ = store.remove(Depth(3));
    let _ = store.remove_unfinished(Depth(3));
    for kept in [true, false] {
        let leftovers = store.leftovers(|_| kept).unwrap();
        let _ = store.sweep(&leftovers);
    }
    for name in FOREIGN {
        assert!(elsewhere.join(name).exists(), "{name}");
    }
    let error = store.prepare(Depth(3)).unwrap_err();
    assert!(
        format!("{error}: {:?}", std::error::Error::source(&error)).contains("symbolic link"),
        "{error:?}"
    );
}
