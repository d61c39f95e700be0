//! Compares the bytes of a layer file with bytes put together here by hand from `docs/format.md`.

use fathom_layer::{Disk, Identity, LayerFile, LayerWriter, LocalDisk, NullDisk, Stored, Totals, archive};
use std::fs;
use std::os::unix::fs::MetadataExt;

const PACKED_BYTES: u32 = 64;

fn identity() -> Identity {
    Identity {
        fingerprint: [7; 32],
        depth: 3,
        shard: 2,
        first_coset: 40,
        cosets: 3,
        packed_bytes: PACKED_BYTES,
        row_bits: 8,
    }
}

/// Returns an empty coset, one with a state at position 300, and one with eight states in each of its first
/// nine bytes.
fn tensors() -> [(Vec<u8>, u32, u32); 3] {
    let mut sparse = vec![0; PACKED_BYTES as usize];
    sparse[300 / 8] = 1 << (300 % 8);
    let mut dense = vec![0; PACKED_BYTES as usize];
    dense[..9].fill(0xff);
    [(vec![0; PACKED_BYTES as usize], 0, 11), (sparse, 1, 12), (dense, 72, 100)]
}

const TOTALS: Totals = Totals { stored: 73, states: 73 * 48, pairs: Some(99), inverse_pairs: None };

fn write(path: &std::path::Path) -> u64 {
    let mut writer = LayerWriter::create(&LocalDisk, path, identity()).unwrap();
    for (packed, states, visited) in tensors() {
        writer.push(&packed, states, visited).unwrap();
    }
    writer.finish(TOTALS).unwrap().bytes
}

/// Builds the file from the description of the format, field by field.
fn golden() -> Vec<u8> {
    let hash = |bytes: &[u8]| *blake3::hash(bytes).as_bytes();
    let [_, _, (dense, _, _)] = tensors();
    let positions = 300_u32.to_le_bytes();

    // Three entries of 56 bytes after the header of 256 end at 424; the next multiple of 64 is 448.
    let mut directory = Vec::new();
    for (offset, length, states, visited, encoding, checksum) in [
        (0_u64, 0_u32, 0_u32, 11_u32, 0_u8, hash(&[])),
        (448, 4, 1, 12, 1, hash(&positions)),
        (512, 64, 72, 100, 2, hash(&dense)),
    ] {
        directory.extend(offset.to_le_bytes());
        directory.extend(length.to_le_bytes());
        directory.extend(states.to_le_bytes());
        directory.extend(visited.to_le_bytes());
        directory.extend([encoding, 0, 0, 0]);
        directory.extend(checksum);
    }

    let mut file = Vec::new();
    file.extend(b"FATHOMLY");
    file.extend(2_u32.to_le_bytes());
    file.extend(256_u32.to_le_bytes());
    file.extend([7; 32]);
    for number in [3_u32, 2, 40, 3, PACKED_BYTES, 0] {
        file.extend(number.to_le_bytes());
    }
    for number in [73_u64, 73 * 48, 99, 640] {
        file.extend(number.to_le_bytes());
    }
    file.extend(hash(&directory));
    file.extend(u64::MAX.to_le_bytes());
    file.resize(224, 0);
    file.extend(hash(&file));
    file.extend(directory);
    file.resize(448, 0);
    file.extend(positions);
    file.resize(512, 0);
    file.extend(dense);
    // At least eight more bytes, up to a multiple of 64.
    file.resize(640, 0);
    file
}

#[test]
fn golden_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00002.layer");
    assert_eq!(write(&path), 640);
    assert_eq!(fs::read(&path).unwrap(), golden());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "the temporary name is gone");
}

#[test]
fn written_layers_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layer");
    write(&path);
    for archived in [false, true] {
        if archived {
            let bytes = archive(&LocalDisk, &path, &identity()).unwrap();
            let number = || fs::metadata(&path).unwrap().ino();
            let compressed = number();
            // Nothing is left to be done.
            assert_eq!(archive(&LocalDisk, &path, &identity()).unwrap(), bytes);
            assert_eq!(number(), compressed);
        }
        let file = LayerFile::open(&path, &identity()).unwrap();
        assert_eq!(file.totals(), TOTALS);
        for (coset, (packed, states, visited)) in tensors().into_iter().enumerate() {
            let coset = coset as u32;
            assert_eq!(file.states(coset).unwrap(), (states, visited));
            let stored = file.coset(coset).unwrap();
            match (&stored, coset, archived) {
                (Stored::Empty, 0, _)
                | (Stored::Sparse(_), 1, _)
                | (Stored::Dense(_), 2, false)
                | (Stored::Decompressed(_), 2, true) => {}
                other => panic!("coset {coset} is {other:?}"),
            }
            let mut listed = stored.positions();
            let mut number = 0;
            for position in 0..PACKED_BYTES * 8 {
                let there = packed[position as usize / 8] >> (position % 8) & 1 == 1;
                assert_eq!(stored.contains(position), there, "{coset} {position} {archived}");
                if there {
                    assert_eq!(listed.next(), Some(position), "{coset} {archived}");
                    assert_eq!(stored.nth(number), Some(position), "{coset} {archived}");
                    number += 1;
                }
            }
            assert_eq!(listed.next(), None);
            assert_eq!(stored.nth(number), None);
        }
    }
}

#[test]
fn unfinished_file_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = LayerWriter::create(&LocalDisk, &directory.path().join("layer"), identity()).unwrap();
    writer.push(&[], 0, 0).unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn null_disk_gives_the_same_checksums() {
    let directory = tempfile::tempdir().unwrap();
    let checksums = |disk: &dyn Disk| {
        let mut writer = LayerWriter::create(disk, &directory.path().join("layer"), identity()).unwrap();
        for (packed, states, visited) in tensors() {
            writer.push(&packed, states, visited).unwrap();
        }
        let files = fs::read_dir(directory.path()).unwrap().count();
        (writer.abandon(), files)
    };
    let ((kept, one), (same, none)) = (checksums(&LocalDisk), checksums(&NullDisk));
    assert_eq!((kept.len(), one, none), (3, 1, 0));
    assert_eq!(kept, same);
}

/// Two threads of a process may write the same file. Neither touches the other's temporary file.
#[test]
fn concurrent_writers_use_separate_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00002.layer");
    let mut slow = LayerWriter::create(&LocalDisk, &path, identity()).unwrap();
    write(&path);
    for (packed, states, visited) in tensors() {
        slow.push(&packed, states, visited).unwrap();
    }
    slow.finish(TOTALS).unwrap();
    assert_eq!(fs::read(&path).unwrap(), golden());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Most cosets of most layers are empty, which is known without examining their entries.
#[test]
fn occupied_cosets_are_found_among_empty_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layer");
    for cosets in [1, 63, 64, 65, 130, 200] {
        let has_states = |coset: u32| coset == cosets - 1 || coset % 7 == 3;
        let identity = Identity { cosets, ..identity() };
        let mut writer = LayerWriter::create(&LocalDisk, &path, identity.clone()).unwrap();
        let mut stored = 0;
        for coset in 0..cosets {
            let mut packed = vec![0; PACKED_BYTES as usize];
            packed[coset as usize % 64] = u8::from(has_states(coset));
            stored += u64::from(has_states(coset));
            writer.push(&packed, has_states(coset).into(), 1).unwrap();
        }
        writer.finish(Totals { stored, states: stored, ..Totals::default() }).unwrap();
        let file = LayerFile::open(&path, &identity).unwrap();
        for coset in 0..cosets {
            let positions: Vec<u32> = file.coset(coset).unwrap().positions().collect();
            let expected = if has_states(coset) { vec![coset % 64 * 8] } else { Vec::new() };
            assert_eq!(positions, expected, "coset {coset} of {cosets}");
        }
    }
}
