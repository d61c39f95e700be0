//! Cosets of a layer that come from other workers. They are kept on disk, and mapped while the layer is read.
//!
//! The cosets are appended to files without names, so that nothing remains on disk after the process ends,
//! however it ends. A coset is never overwritten, and is read in place.

use crate::encoding::{Encoding, Tensor};
use crate::error::LayerError;
use crate::file::Stored;
use crate::format::{ALIGNMENT, SLACK_BYTES};
use memmap2::{MmapOptions, MmapRaw};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, RwLock};

/// The size of a file in bytes, unless a single coset is larger.
const SEGMENT_BYTES: u64 = 256 << 20;

/// Cosets from other workers. Threads may read while another one adds cosets.
#[derive(Debug)]
pub struct Imports {
    directory: PathBuf,
    cosets: u32,
    tensor: Tensor,
    segment_bytes: u64,
    segments: Box<[OnceLock<Segment>]>,
    index: RwLock<FxHashMap<u32, Place>>,
    /// The segment that is being filled, and the offset of its end.
    end: Mutex<(usize, u64)>,
}

/// A file without a name. Its bytes are zero until they are written, and published bytes are not written
/// again.
#[derive(Debug)]
struct Segment {
    file: File,
    map: MmapRaw,
}

/// A coset from another worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Import<'a> {
    /// The number of the coset among the representatives.
    pub coset: u32,
    /// The encoding of `canonical`, which must not be compressed.
    pub encoding: Encoding,
    /// The number of states.
    pub states: u32,
    /// Nothing, positions, or the packed tensor.
    pub canonical: &'a [u8],
}

/// Cosets that have a place but are not written yet, all in one segment.
#[derive(Default)]
struct Pending {
    /// The bytes to write at the end of the segment.
    bytes: Vec<u8>,
    places: Vec<(u32, Place)>,
}

/// The place of a coset's canonical bytes.
#[derive(Clone, Copy, Debug)]
struct Place {
    segment: u32,
    encoding: Encoding,
    offset: u64,
    length: u32,
}

impl Imports {
    /// Prepares to hold up to `cosets` cosets with tensors of this shape, in files in `directory`.
    pub fn new(directory: &Path, cosets: u32, tensor: Tensor) -> Self {
        let most = u64::from(tensor.packed_bytes) + SLACK_BYTES + ALIGNMENT;
        let segment_bytes = SEGMENT_BYTES.max(most.next_multiple_of(ALIGNMENT));
        // Each segment but the last is filled until it has no room for a largest coset.
        let a_segment = segment_bytes / most;
        let segments = u64::from(cosets).div_ceil(a_segment).max(1);
        Self {
            directory: directory.into(),
            cosets,
            tensor,
            segment_bytes,
            segments: (0..segments).map(|_| OnceLock::new()).collect(),
            index: RwLock::default(),
            end: Mutex::new((0, 0)),
        }
    }

    /// Adds cosets. Cosets that are held already are skipped.
    ///
    /// # Errors
    /// [`LayerError`] if the cosets are not in increasing order, one of them is invalid, or the disk refuses.
    pub fn push(&self, cosets: &[Import<'_>]) -> Result<(), LayerError> {
        let mut next = 0;
        for import in cosets {
            self.check(import, next).map_err(|reason| LayerError::DamagedCoset {
                path: self.directory.clone(),
                coset: import.coset,
                offset: 0,
                length: import.canonical.len() as u32,
                reason,
            })?;
            next = import.coset + 1;
        }
        let mut end = self.end.lock().expect("no thread panics while it holds the lock");
        let mut pending = Pending::default();
        for &Import { coset, encoding, canonical, .. } in cosets {
            if self.holds(coset) {
                continue;
            }
            let room = self.segment_bytes - end.1 - pending.bytes.len() as u64;
            if canonical.len() as u64 + SLACK_BYTES > room {
                self.publish(&mut end, &mut pending)?;
                *end = (end.0 + 1, 0);
            }
            let offset = end.1 + pending.bytes.len() as u64;
            let place = Place { segment: end.0 as u32, encoding, offset, length: canonical.len() as u32 };
            pending.places.push((coset, place));
            if !canonical.is_empty() {
                pending.bytes.extend_from_slice(canonical);
                let slack = pending.bytes.len() + SLACK_BYTES as usize;
                pending.bytes.resize(slack.next_multiple_of(ALIGNMENT as usize), 0);
            }
        }
        self.publish(&mut end, &mut pending)
    }

    fn check(&self, import: &Import<'_>, next: u32) -> Result<(), String> {
        let &Import { coset, encoding, states, canonical } = import;
        if coset < next || coset >= self.cosets {
            return Err("it is out of order, or there is none of that number".into());
        }
        if encoding == Encoding::DenseZstd || canonical.len() > self.tensor.packed_bytes as usize {
            return Err("it is not written down as it should be".into());
        }
        encoding.check(canonical, states, self.tensor)
    }

    /// Writes the pending bytes, and only then adds the pending cosets to the index, where readers find them.
    fn publish(&self, end: &mut (usize, u64), pending: &mut Pending) -> Result<(), LayerError> {
        let bytes = std::mem::take(&mut pending.bytes);
        if !bytes.is_empty() {
            let written = self.segment(end.0)?.file.write_all_at(&bytes, end.1);
            written.map_err(LayerError::io("write", &self.directory))?;
            end.1 += bytes.len() as u64;
        }
        self.index
            .write()
            .expect("no thread panics while it holds the lock")
            .extend(pending.places.drain(..));
        Ok(())
    }

    fn segment(&self, number: usize) -> Result<&Segment, LayerError> {
        let cell = self.segments.get(number).expect("there are segments for all cosets");
        if let Some(segment) = cell.get() {
            return Ok(segment);
        }
        let make = || -> io::Result<Segment> {
            let file = tempfile::tempfile_in(&self.directory)?;
            // Holes in a file take no space on disk, and read as zeros.
            file.set_len(self.segment_bytes)?;
            let map = MmapOptions::new().map_raw_read_only(&file)?;
            Ok(Segment { file, map })
        };
        let segment = make().map_err(LayerError::io("make a file in", &self.directory))?;
        Ok(cell.get_or_init(|| segment))
    }

    /// Returns whether a coset is held.
    pub fn holds(&self, coset: u32) -> bool {
        self.index.read().expect("no thread panics while it holds the lock").contains_key(&coset)
    }

    /// Returns the states of a coset, if it is held.
    pub fn coset(&self, coset: u32) -> Option<Stored<'_>> {
        let place = *self.index.read().expect("no thread panics while it holds the lock").get(&coset)?;
        if place.length == 0 {
            return Some(Stored::Empty);
        }
        let segment = self.segments[place.segment as usize].get().expect("what is in the index was written");
        let slack = if place.encoding == Encoding::Dense { SLACK_BYTES as usize } else { 0 };
        // SAFETY: `push` gives out only places inside the segment, and the map lives as long as `self`. The
        // bytes were written before the place was published in the index, and neither they nor the slack
        // after them are written again; the file has no name, so no other process can change it.
        let bytes = unsafe {
            let start = segment.map.as_ptr().add(place.offset as usize);
            std::slice::from_raw_parts(start, place.length as usize + slack)
        };
        Some(match place.encoding {
            Encoding::Sparse => Stored::Sparse(bytes),
            _ => Stored::Dense(bytes),
        })
    }

    /// Returns the bytes that the cosets take in the files.
    pub fn bytes(&self) -> u64 {
        let (segment, offset) = *self.end.lock().expect("no thread panics while it holds the lock");
        segment as u64 * self.segment_bytes + offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let imports = Imports::new(directory.path(), 100, Tensor { packed_bytes: 41, row_bits: 8 });
        let dense: Vec<u8> = (0..41).map(|i| i * 6).collect();
        let states = crate::encoding::count(&dense) as u32;
        let sparse: Vec<u8> = [3_u32, 9, 300].iter().flat_map(|position| position.to_le_bytes()).collect();
        for round in 0..25 {
            let import = |coset, encoding, states, canonical| Import { coset, encoding, states, canonical };
            let cosets = [
                import(round * 4, Encoding::Dense, states, &dense[..]),
                import(round * 4 + 1, Encoding::Sparse, 3, &sparse),
                import(round * 4 + 2, Encoding::Empty, 0, &[]),
            ];
            // Together in one call, and one by one.
            match round % 2 {
                0 => imports.push(&cosets).unwrap(),
                _ => cosets.iter().for_each(|coset| imports.push(&[*coset]).unwrap()),
            }
        }
        let bytes = imports.bytes();
        imports.push(&[Import { coset: 0, encoding: Encoding::Empty, states: 0, canonical: &[] }]).unwrap();
        assert_eq!(imports.bytes(), bytes, "what is there stays");
        for round in 0..25 {
            let Some(Stored::Dense(there)) = imports.coset(round * 4) else { panic!("not dense") };
            assert_eq!((&there[..41], &there[41..]), (&dense[..], &[0; 8][..]));
            assert!(matches!(imports.coset(round * 4 + 1), Some(Stored::Sparse(there)) if there == sparse));
            assert!(matches!(imports.coset(round * 4 + 2), Some(Stored::Empty)));
            assert!(imports.coset(round * 4 + 3).is_none());
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "files without names");
    }

    #[test]
    fn what_is_no_coset_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let imports = Imports::new(directory.path(), 10, Tensor { packed_bytes: 41, row_bits: 8 });
        let position = |position: u32| position.to_le_bytes();
        for (encoding, states, bytes) in [
            (Encoding::Empty, 1, &[][..]),
            (Encoding::Empty, 0, &[1]),
            (Encoding::Sparse, 1, &[1, 2, 3]),
            (Encoding::Sparse, 2, &position(7)),
            (Encoding::Sparse, 1, &position(41 * 8)),
            (Encoding::Dense, 1, &[1; 40]),
            (Encoding::Dense, 1, &[1; 41]),
            (Encoding::DenseZstd, 41, &[1; 41]),
        ] {
            let import = Import { coset: 1, encoding, states, canonical: bytes };
            assert!(imports.push(&[import]).unwrap_err().is_damage(), "{encoding:?} {states}");
            assert!(!imports.holds(1));
        }
        let empty = |coset| Import { coset, encoding: Encoding::Empty, states: 0, canonical: &[] };
        for cosets in [[3, 2], [3, 3], [3, 10]] {
            assert!(imports.push(&cosets.map(empty)).unwrap_err().is_damage(), "{cosets:?}");
            assert!(!imports.holds(3));
        }
    }
}
