//! Every kind of damage to a layer file is detected and reported.

use fathom_layer::{Identity, LayerError, LayerFile, LayerWriter, LocalDisk, Totals, archive};
use std::fs;
use std::path::Path;

fn identity() -> Identity {
    Identity {
        fingerprint: [1; 32],
        depth: 5,
        shard: 0,
        first_coset: 0,
        cosets: 2,
        packed_bytes: 64,
        row_bits: 8,
    }
}

/// Writes a file with a sparse and a dense coset, and returns its bytes.
fn write(path: &Path) -> Vec<u8> {
    let mut sparse = [0; 64];
    sparse[17] = 4;
    let mut writer = LayerWriter::create(&LocalDisk, path, identity()).unwrap();
    writer.push(&sparse, 1, 1).unwrap();
    writer.push(&[0x11; 64], 128, 129).unwrap();
    writer.finish(Totals { stored: 129, states: 1000, ..Totals::default() }).unwrap();
    fs::read(path).unwrap()
}

/// Opens the file and reads all of it.
fn read(path: &Path) -> Result<(), LayerError> {
    let file = LayerFile::open(path, &identity())?;
    for coset in 0..identity().cosets {
        file.states(coset)?;
        file.coset(coset)?;
    }
    Ok(())
}

#[test]
fn flipped_bits_are_detected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layer");
    for archived in [false, true] {
        let mut whole = write(&path);
        if archived {
            archive(&LocalDisk, &path, &identity()).unwrap();
            whole = fs::read(&path).unwrap();
        }
        let mut unnoticed = Vec::new();
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &damaged).unwrap();
            match read(&path) {
                Ok(()) => unnoticed.push(bit / 8),
                Err(error) => assert!(error.to_string().contains("layer"), "{error}"),
            }
        }
        unnoticed.dedup();
        // Only padding may change: after the directory (368 to 384), between the data, and at the end. A zstd
        // frame has bits without meaning; its decompressed bytes were compared with the checksum.
        let in_frame = |at: usize| archived && (448..512).contains(&at);
        assert!(unnoticed.iter().all(|&at| (whole[at] == 0 && at >= 368) || in_frame(at)), "{unnoticed:?}");
        assert!(!unnoticed.iter().any(|at| (384..388).contains(at)), "{unnoticed:?}");
    }
}

#[test]
fn truncation_is_detected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layer");
    let whole = write(&path);
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(read(&path).is_err(), "{length}");
    }
    let mut longer = whole;
    longer.push(0);
    fs::write(&path, longer).unwrap();
    assert!(matches!(read(&path), Err(LayerError::WrongLength { .. })));
}

#[test]
fn each_kind_of_damage_has_its_own_message() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layer");
    let whole = write(&path);
    let message = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        read(&path).unwrap_err().to_string()
    };
    // A later format differs in more than its version number.
    let says = "has layer format 3, and this version of Fathom reads up to 2";
    assert!(message(&|b| (b[8], b[48]) = (3, 9)).contains(says));
    assert!(message(&|b| b[8] = 3).contains("format version 3, but the checksum of version 2"));
    assert!(message(&|b| b[8] = 1).contains("format version 1 is no longer supported"));
    assert!(message(&|b| b[0] = 0).contains("is not a layer file"));
    assert!(message(&|b| b[48] ^= 1).contains("has a damaged header"));
    assert!(message(&|b| b[260] ^= 1).contains("has a damaged directory"));
    assert!(message(&|b| b[384] ^= 1).contains("is damaged at coset 0"));
    assert!(message(&|b| b.truncate(400)).contains("was truncated or overwritten"));
    assert!(message(&|b| b.clear()).contains("truncated") || cfg!(not(target_os = "linux")));
    fs::remove_file(&path).unwrap();
    assert!(read(&path).unwrap_err().to_string().starts_with("cannot open"));
}

#[test]
fn misplaced_files_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layer");
    write(&path);
    let error = |other: Identity| LayerFile::open(&path, &other).unwrap_err();
    let refusal = |other: Identity| error(other).to_string();
    // A file of another run is not deleted.
    let [of_run, of_shard] =
        [Identity { fingerprint: [2; 32], ..identity() }, Identity { shard: 1, ..identity() }];
    assert!(!error(of_run).is_damage() && error(of_shard).is_damage());
    assert!(refusal(Identity { fingerprint: [2; 32], ..identity() }).contains("its run fingerprint is 0101"));
    assert!(refusal(Identity { depth: 6, ..identity() }).contains("its depth is 5, expected 6"));
    assert!(refusal(Identity { shard: 1, ..identity() }).contains("its shard is 0, expected 1"));
    assert!(refusal(Identity { cosets: 3, ..identity() }).contains("its number of cosets is 2, expected 3"));
}
