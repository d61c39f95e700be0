//! Layer files that no search has written, but whose checksums are all valid.

use fathom_layer::{Digest, Identity, chunk};
use std::borrow::Cow;
use std::fs;
use std::path::Path;

/// The number of bytes of a header.
pub const HEADER: usize = 256;
const ENTRY: usize = 56;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// Returns the header of a layer file of `length` bytes. [`reseal`] must then set the checksums.
pub fn header_of(identity: &Identity, length: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    put(&mut header, 0, &fathom_layer::format::MAGIC);
    put(&mut header, 16, &identity.fingerprint);
    let Identity { depth, shard, first_coset, cosets, packed_bytes, .. } = *identity;
    let (version, bytes) = (fathom_layer::format::VERSION, HEADER as u32);
    let numbers = [version, bytes, depth, shard, first_coset, cosets, packed_bytes];
    for (at, number) in [8, 12, 48, 52, 56, 60, 64].into_iter().zip(numbers) {
        put(&mut header, at, &number.to_le_bytes());
    }
    put(&mut header, 96, &length.to_le_bytes());
    header
}

/// Returns the byte range of a coset's data and its encoding; `None` if the data lies outside the file or the
/// encoding is unknown.
fn data(bytes: &[u8], coset: usize) -> Option<(std::ops::Range<usize>, u8)> {
    let entry = HEADER + coset * ENTRY;
    let start = usize::try_from(u64::from(u32_at(bytes, entry)) | u64::from(u32_at(bytes, entry + 4)) << 32);
    let (start, length) = (start.ok()?, u32_at(bytes, entry + 8) as usize);
    let end = start.checked_add(length).filter(|&end| end <= bytes.len())?;
    let encoding = bytes[entry + 20];
    (encoding < 4).then_some((start..end, encoding))
}

/// Sets all checksums and numbers of stored states to match the data, as anyone with the program can.
pub fn reseal(bytes: &mut [u8]) {
    let cosets = u32_at(bytes, 60) as usize;
    let mut stored = 0_u64;
    for coset in 0..cosets {
        let entry = HEADER + coset * ENTRY;
        if let Some((range, encoding)) = data(bytes, coset) {
            let canonical = match encoding {
                0 => Cow::Borrowed(&[][..]),
                3 => match chunk::decompress(&bytes[range], u32_at(bytes, 64) as usize) {
                    Ok(packed) => Cow::Owned(packed),
                    Err(_) => continue,
                },
                _ => Cow::Borrowed(&bytes[range]),
            };
            let states: u32 = match encoding {
                1 => canonical.len() as u32 / 4,
                _ => canonical.iter().map(|byte| byte.count_ones()).sum(),
            };
            let checksum = Digest::new(&canonical);
            put(bytes, entry + 12, &states.to_le_bytes());
            put(bytes, entry + 24, &checksum.0);
        }
        stored += u64::from(u32_at(bytes, entry + 12));
    }
    put(bytes, 72, &stored.to_le_bytes());
    let directory = Digest::new(&bytes[HEADER..HEADER + cosets * ENTRY]);
    put(bytes, 104, &directory.0);
    let header = Digest::new(&bytes[..224]);
    put(bytes, 224, &header.0);
}

/// Moves a state of a dense coset to another position in the same byte, in an uncompressed layer file, and
/// seals the file again. `row_bits` is the number of bits of a row, which takes one byte, so that both
/// positions are positions of states.
pub fn move_state(path: &Path, row_bits: u32) {
    let mut bytes = fs::read(path).expect("the layer file exists");
    let cosets = u32_at(&bytes, 60) as usize;
    let full = (1_u8 << row_bits) - 1;
    let dense = (0..cosets).filter_map(|coset| data(&bytes, coset).filter(|(_, encoding)| *encoding == 2));
    let places: Vec<usize> = dense.flat_map(|(range, _)| range).collect();
    let at = places.into_iter().find(|&at| bytes[at] != 0 && bytes[at] != full);
    let at = at.expect("a row is neither empty nor full");
    let (set, free) = (bytes[at].trailing_zeros(), bytes[at].trailing_ones());
    bytes[at] ^= 1 << set | 1 << free;
    reseal(&mut bytes);
    fs::write(path, bytes).expect("the layer file can be written");
}

/// Exchanges the states of two cosets with equally long data, in an uncompressed layer file, and seals the
/// file again.
pub fn exchange_cosets(path: &Path) {
    let mut bytes = fs::read(path).expect("the layer file exists");
    let cosets = u32_at(&bytes, 60) as usize;
    let places: Vec<_> =
        (0..cosets).filter_map(|coset| data(&bytes, coset)).filter(|(_, kind)| *kind > 0).collect();
    let alike = |one: &(std::ops::Range<usize>, u8), other: &(std::ops::Range<usize>, u8)| {
        let (a, b) = (&one.0, &other.0);
        one.1 == other.1 && a.len() == b.len() && bytes[a.clone()] != bytes[b.clone()]
    };
    let pairs = places.iter().flat_map(|one| places.iter().map(move |other| (one, other)));
    let (one, other) =
        pairs.into_iter().find(|(one, other)| alike(one, other)).expect("two cosets of one length");
    let (one, other) = (one.0.clone(), other.0.clone());
    let kept = bytes[one.clone()].to_vec();
    bytes.copy_within(other.clone(), one.start);
    bytes[other].copy_from_slice(&kept);
    reseal(&mut bytes);
    fs::write(path, bytes).expect("the layer file can be written");
}

/// Returns the checksums in the directory of a layer file, in the order of cosets.
pub fn checksums(path: &Path) -> Vec<Digest> {
    let bytes = fs::read(path).expect("the layer file exists");
    let cosets = u32_at(&bytes, 60) as usize;
    let checksum = |coset| {
        let at = HEADER + coset * ENTRY + 24;
        Digest(bytes[at..at + 32].try_into().expect("32 bytes"))
    };
    (0..cosets).map(checksum).collect()
}

/// Changes the number of visited states that the file has for a coset: the first coset for which the new
/// number is plausible.
pub fn set_visited(path: &Path, change: i32) {
    let mut bytes = fs::read(path).expect("the layer file exists");
    let cosets = u32_at(&bytes, 60) as usize;
    let entries = (0..cosets).map(|coset| HEADER + coset * ENTRY);
    // Any number from the states of the layer to less than the 1,440 states of a coset of 3x3 is plausible.
    let mut entries = entries.filter(|&entry| {
        let (states, visited) = (u32_at(&bytes, entry + 12), u32_at(&bytes, entry + 16));
        visited.checked_add_signed(change).is_some_and(|visited| visited >= states && visited < 1000)
    });
    let entry = entries.next().expect("a coset is not full");
    let visited = u32_at(&bytes, entry + 16).wrapping_add_signed(change);
    put(&mut bytes, entry + 16, &visited.to_le_bytes());
    reseal(&mut bytes);
    fs::write(path, bytes).expect("the layer file can be written");
}
