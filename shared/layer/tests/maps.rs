//! The contents of a map when the file at its path is replaced or changed in place. The module `map` states
//! the guarantees.

use fathom_layer::map::{Map, Stamp};
use fathom_layer::{Disk, Identity, LayerFile, LayerWriter, LocalDisk, Totals};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

const BYTES: u32 = 4096;

fn identity() -> Identity {
    Identity {
        fingerprint: [3; 32],
        depth: 2,
        shard: 0,
        first_coset: 0,
        cosets: 2,
        packed_bytes: BYTES,
        row_bits: 8,
    }
}

/// Writes a file whose two cosets consist of this byte.
fn write(path: &Path, byte: u8) {
    let mut writer = LayerWriter::create(&LocalDisk, path, identity()).unwrap();
    let states = byte.count_ones() * BYTES;
    for _ in 0..2 {
        writer.push(&[byte; BYTES as usize], states, states).unwrap();
    }
    let stored = 2 * u64::from(states);
    writer.finish(Totals { stored, states: stored, ..Totals::default() }).unwrap();
}

/// Writes to the data of the second coset in place, which Fathom itself never does.
fn change_in_place(path: &Path) {
    let end = fs::metadata(path).unwrap().len();
    File::options().write(true).open(path).unwrap().write_all_at(&[0xff], end - 200).unwrap();
}

#[test]
fn replacing_a_file_keeps_its_map() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00000.layer");
    write(&path, 1);
    let stamp = Stamp::new(&path).unwrap();
    let old = LayerFile::open(&path, &identity()).unwrap();
    write(&path, 3);
    for coset in 0..2 {
        assert!(old.coset(coset).unwrap().canonical().iter().all(|&byte| byte == 1));
    }
    old.check_all().unwrap();
    assert_ne!(Stamp::new(&path).unwrap(), stamp, "whoever asks again sees that it is another file");
    let new = LayerFile::open(&path, &identity()).unwrap();
    assert!(new.coset(0).unwrap().canonical().iter().all(|&byte| byte == 3));
    fs::remove_file(&path).unwrap();
    assert!(Stamp::new(&path).is_err());
    new.check_all().unwrap();
}

#[test]
fn every_change_alters_the_stamp() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("s00000.layer"), directory.path().join("other"));
    write(&path, 1);
    let stamp = Stamp::new(&path).unwrap();
    let times = fs::metadata(&path).unwrap();
    assert_eq!(Stamp::new(&path).unwrap(), stamp, "looking changes nothing");
    LayerFile::open(&path, &identity()).unwrap().check_all().unwrap();
    assert_eq!(Stamp::new(&path).unwrap(), stamp, "reading changes nothing");
    // The length stays the same and the modification time is set back, but the inode's change time cannot be
    // set.
    change_in_place(&path);
    let times = std::fs::FileTimes::new().set_modified(times.modified().unwrap());
    File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
    let changed = Stamp::new(&path).unwrap();
    assert_ne!(changed, stamp);
    // Equal bytes, but another file.
    fs::copy(&path, &other).unwrap();
    fs::rename(&other, &path).unwrap();
    let replaced = Stamp::new(&path).unwrap();
    assert_ne!(replaced, changed);
    let length = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(length - 1).unwrap();
    assert_ne!(Stamp::new(&path).unwrap(), replaced);
}

/// A change in place shows through a map. A coset that is first read after the change is refused; a coset
/// that was read before is not compared again, which is why code that keeps files open compares their stamps.
#[test]
fn first_read_of_a_coset_checks_its_checksum() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00000.layer");
    write(&path, 1);
    let (read, unread) =
        (LayerFile::open(&path, &identity()).unwrap(), LayerFile::open(&path, &identity()).unwrap());
    read.coset(1).unwrap();
    change_in_place(&path);
    assert!(unread.coset(0).is_ok());
    assert!(unread.coset(1).unwrap_err().is_damage());
    assert!(unread.check_all().is_err());
    assert!(read.coset(1).unwrap().canonical().contains(&0xff));
    read.forget_checks();
    assert!(read.coset(1).unwrap_err().is_damage());
    // A newly opened file compares each checksum again.
    assert!(LayerFile::open(&path, &identity()).unwrap().coset(1).unwrap_err().is_damage());
}

#[test]
fn change_is_detected_after_rename_or_removal() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("s00000.layer"), directory.path().join("other"));
    write(&path, 1);
    let open = || LayerFile::open(&path, &identity()).unwrap();
    let file = open();
    file.check_unchanged().unwrap();
    // Its names and permissions are not part of its contents.
    fs::hard_link(&path, &other).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    fs::rename(&other, &path).unwrap();
    file.check_unchanged().unwrap();
    fs::remove_file(&path).unwrap();
    write(&path, 3);
    file.check_unchanged().unwrap();
    let file = open();
    change_in_place(&path);
    let error = file.check_unchanged().unwrap_err();
    assert!(error.is_damage() && error.to_string().contains("was changed while it was in use"), "{error}");
    fs::remove_file(&path).unwrap();
    assert!(file.check_unchanged().is_err());
    write(&path, 1);
    assert!(file.check_unchanged().is_err());
    // A file that is truncated and filled again.
    let file = open();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, whole).unwrap();
    assert!(file.check_unchanged().is_err());
}

#[test]
fn only_regular_files_are_mapped() {
    let directory = tempfile::tempdir().unwrap();
    assert!(Map::open(directory.path()).is_err());
    assert!(Map::open(Path::new("/dev/zero")).is_err());
    // Opening a named pipe must not wait for a writer.
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(Map::open(&pipe).unwrap_err().to_string().contains("not a regular file"));
    assert!(Stamp::claim(&pipe).unwrap_err().to_string().contains("not a regular file"));
    assert!(LocalDisk.sync_file(&pipe).unwrap_err().to_string().contains("not a regular file"));
    let empty = directory.path().join("empty");
    fs::write(&empty, []).unwrap();
    assert!(LayerFile::open(&empty, &identity()).unwrap_err().is_damage());
}
