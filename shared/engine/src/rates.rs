//! The rates at which this machine encodes and decodes cosets, and writes and reads files, for `fathom
//! bench`.

use anyhow::{Context, Result};
use fathom_layer::{Disk, Identity, LayerFile, LayerWriter, LocalDisk, NullDisk, Totals, archive};
use fathom_space::Shape;
use serde::Serialize;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// The number of cosets in the layer file of the benchmark.
const COSETS: u32 = 1000;

/// The size in bytes of the file with which the disk is measured, and of each write.
const FILE_BYTES: usize = 1 << 30;
const PIECE_BYTES: usize = 1 << 20;

/// A measured rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// The activity.
    pub what: &'static str,
    /// Bytes of packed tensors, or of the file, per second.
    pub bytes_per_second: f64,
}

impl Rate {
    fn new<T>(what: &'static str, bytes: u64, work: impl FnOnce() -> Result<T>) -> Result<(Self, T)> {
        let begun = Instant::now();
        let result = work()?;
        Ok((Self { what, bytes_per_second: bytes as f64 / begun.elapsed().as_secs_f64() }, result))
    }
}

/// Measures the encoding and decoding of cosets of a shape on one thread, with files in the page cache.
///
/// # Errors
/// If files cannot be written or read in `directory`.
pub fn encodings(shape: &Shape, directory: &Path) -> Result<Vec<Rate>> {
    let bytes = u64::from(shape.packed_bytes()) * u64::from(COSETS);
    let identity = Identity {
        fingerprint: [0; 32],
        depth: 0,
        shard: 0,
        first_coset: 0,
        cosets: COSETS,
        packed_bytes: shape.packed_bytes(),
        // Rows of whole bytes have no padding bits, which random tensors would have to leave zero.
        row_bits: 8,
    };
    let write = |disk: &dyn Disk, path: &Path, packed: &[u8]| -> Result<()> {
        let states: u32 = packed.iter().map(|byte| byte.count_ones()).sum();
        let stored = u64::from(states) * u64::from(COSETS);
        let mut writer = LayerWriter::create(disk, path, identity.clone())?;
        (0..COSETS).try_for_each(|_| writer.push(packed, states, states))?;
        writer.finish(Totals { stored, ..Totals::default() })?;
        Ok(())
    };
    let read = |path: &Path| Ok(LayerFile::open(path, &identity)?.check_all()?);
    let mut rates = Vec::new();
    for (what, one_in) in [
        (["encode sparse, one state in 2048", "decode sparse, one state in 2048"], 2048),
        (["encode dense", "decode dense"], 8),
    ] {
        let packed = random(shape.packed_bytes() as usize, one_in);
        let path = directory.join(format!("one-in-{one_in}.layer"));
        rates.push(Rate::new(what[0], bytes, || write(&NullDisk, &path, &packed))?.0);
        write(&LocalDisk, &path, &packed)?;
        rates.push(Rate::new(what[1], bytes, || read(&path))?.0);
        if one_in == 8 {
            rates.push(
                Rate::new("compress dense, write and sync", bytes, || {
                    Ok(archive(&LocalDisk, &path, &identity)?)
                })?
                .0,
            );
            // The first read brings the file into the page cache.
            read(&path)?;
            rates.push(Rate::new("decompress dense", bytes, || read(&path))?.0);
        }
    }
    Ok(rates)
}

/// Returns bytes in which one bit in `one_in`, a power of two, is set at random. The bytes are the same each
/// time.
fn random(bytes: usize, one_in: u32) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bit = || {
        // Xorshift64* (Vigna, 2016).
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        u8::from(state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32 & u64::from(one_in - 1) == 0)
    };
    (0..bytes).map(|_| (0..8).fold(0, |byte, _| byte << 1 | bit())).collect()
}

/// Measures writing and syncing a file, and reading the file through a memory map after it has left the page
/// cache.
///
/// # Errors
/// If files cannot be written or read in `directory`.
pub fn disk(directory: &Path) -> Result<Vec<Rate>> {
    let path = directory.join("disk");
    let piece = random(PIECE_BYTES, 2);
    let (written, mut file) = Rate::new("write and sync a file of 1 GiB", FILE_BYTES as u64, || {
        let mut file = LocalDisk.create(&path)?;
        for offset in (0..FILE_BYTES).step_by(PIECE_BYTES) {
            file.write_at(&piece, offset as u64)?;
        }
        file.sync()?;
        Ok(file)
    })
    .with_context(|| format!("cannot write {}", path.display()))?;
    file.uncache();
    let (read, _) =
        Rate::new("read it by a memory map, when it has left the page cache", FILE_BYTES as u64, || {
            let map = fathom_layer::map::Map::open(&path)?;
            let (words, _) = map.bytes().as_chunks::<8>();
            Ok(black_box(words.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word))))
        })?;
    Ok(vec![written, read])
}
