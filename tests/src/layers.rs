//! The layer files of a run, and damage to them.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Returns the complete files below a directory `layers`: depth, shard and path.
pub fn layer_files(layers: &Path) -> Vec<(u32, u32, PathBuf)> {
    let number = |path: &Path, prefix: char| {
        path.file_stem()?.to_str()?.strip_prefix(prefix).and_then(|digits| digits.parse().ok())
    };
    let entries = |path: &Path| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for layer in entries(layers) {
        for file in entries(&layer) {
            if let Some((depth, shard)) = number(&layer, 'd').zip(number(&file, 's'))
                && file.extension().is_some_and(|extension| extension == "layer")
            {
                found.push((depth, shard, file));
            }
        }
    }
    found.sort();
    found
}

/// Flips bits throughout the second half of a layer file, which has the bytes of cosets. Their data starts at
/// multiples of 64; the bytes between them are never read.
///
/// # Panics
/// If the file cannot be read or written.
pub fn damage(file: &Path) {
    let length = file.metadata().expect("a layer file").len();
    (length / 128..length / 64).for_each(|block| damage_at(file, 64 * block));
}

/// Flips a bit of the byte at an offset of a file.
///
/// # Panics
/// If the file cannot be read or written.
pub fn damage_at(file: &Path, at: u64) {
    // The file is changed in place, as a bad disk does, because the file may be mapped.
    let file = File::options().read(true).write(true).open(file).expect("a layer file");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("a byte");
    file.write_all_at(&[byte[0] ^ 4], at).expect("a byte");
}
