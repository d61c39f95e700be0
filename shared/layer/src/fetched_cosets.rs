//! Cosets of a layer that come from other workers. They are kept in memory as long as a budget allows, and
//! beyond it on disk, in files that are mapped while the layer is read.
//!
//! The cosets are appended to anonymous memory, or to files without names, so that nothing remains after the
//! process ends for any reason. A coset is never overwritten, and is read in place. Memory and disk space are
//! released once the cosets are dropped.

use crate::encoding::{Encoding, Tensor};
use crate::error::LayerError;
use crate::file::Stored;
use crate::format::{ALIGNMENT, SLACK_BYTES};
use memmap2::{MmapOptions, MmapRaw, UncheckedAdvice};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};

/// The size of a segment in bytes, unless a single coset is larger.
const SEGMENT_BYTES: u64 = 256 << 20;

/// The memory in which a process keeps cosets from other workers, for all layers together. All sizes are in
/// bytes, and include the padding after each coset.
#[derive(Debug, Default)]
pub struct ImportMemory {
    most: AtomicU64,
    taken: AtomicU64,
    kept: AtomicU64,
    spilled: AtomicU64,
    /// Segments of dropped layers. The system reclaims their pages only when it needs memory: a page that is
    /// still present is written without a fault, and without being cleared first.
    spare: Mutex<Vec<MmapRaw>>,
}

impl ImportMemory {
    /// Creates a budget of `most` bytes.
    pub fn new(most: u64) -> Self {
        Self { most: most.into(), ..Self::default() }
    }

    /// Changes the budget. Cosets in memory stay there, even if the new budget is smaller.
    pub fn set_most(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Returns the bytes that are in memory now.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Returns the total number of bytes kept in memory so far.
    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Returns the total number of bytes written to disk instead so far.
    pub fn spilled(&self) -> u64 {
        self.spilled.load(Ordering::Relaxed)
    }

    /// Takes memory, if the budget allows.
    fn take(&self, bytes: u64) -> bool {
        let most = self.most.load(Ordering::Relaxed);
        let fits = |taken: u64| taken.checked_add(bytes).filter(|&sum| sum <= most);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Returns the budget.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    /// Returns whether the budget allows that many more bytes.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.taken().saturating_add(bytes) <= self.most()
    }

    fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn spare(&self) -> MutexGuard<'_, Vec<MmapRaw>> {
        self.spare.lock().expect("no thread panics while it holds the lock")
    }

    /// Returns anonymous memory of this size. Its bytes are those of a dropped segment, or zero.
    fn segment(&self, bytes: usize) -> io::Result<MmapRaw> {
        let spare = self.spare().pop().filter(|map| map.len() == bytes);
        // The system allocates memory to pages when they are written, so it need not reserve the rest.
        let new = || Ok(MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?.into());
        spare.map_or_else(new, Ok)
    }

    /// Keeps an unreferenced segment for [`ImportMemory::segment`].
    fn put_back(&self, map: MmapRaw) {
        // SAFETY: the contents may turn to zeros at any time from now on. No reference to them is left, and
        // the next owner of the segment writes each byte before it is read.
        if unsafe { map.unchecked_advise(UncheckedAdvice::Free) }.is_ok() {
            self.spare().push(map);
        }
    }
}

/// Cosets from other workers. Threads may read while others add cosets.
#[derive(Debug)]
pub struct Imports {
    directory: PathBuf,
    cosets: u32,
    tensor: Tensor,
    segment_bytes: u64,
    segments: Box<[OnceLock<Segment>]>,
    /// The number of segments that were started.
    begun: AtomicUsize,
    index: RwLock<FxHashMap<u32, Place>>,
    memory: Arc<ImportMemory>,
    /// The bytes that the cosets take in memory.
    memory_bytes: AtomicU64,
    /// The bytes that the cosets take on disk.
    disk_bytes: AtomicU64,
    /// The end of the cosets in memory, and of those on disk.
    in_memory: Mutex<End>,
    on_disk: Mutex<End>,
}

/// A piece of anonymous memory, or a file without a name. Published bytes, and the slack after them, were
/// written, and are not written again.
#[derive(Debug)]
struct Segment {
    file: Option<File>,
    map: MmapRaw,
}

/// The segment that is being filled, and the offset of its end.
#[derive(Clone, Copy, Debug)]
struct End {
    segment: usize,
    offset: u64,
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

/// Cosets that have a place on disk but are not yet written, all in one segment.
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

/// Returns the bytes that canonical bytes take, with the slack that kernels may read.
fn room(canonical: &[u8]) -> u64 {
    if canonical.is_empty() { 0 } else { (canonical.len() as u64 + SLACK_BYTES).next_multiple_of(ALIGNMENT) }
}

impl Imports {
    /// Creates a store for up to `cosets` cosets with tensors of this shape: in `memory` as long as they fit,
    /// then in files in `directory`.
    pub fn new(directory: &Path, cosets: u32, tensor: Tensor, memory: Arc<ImportMemory>) -> Self {
        Self::with_segments_of(SEGMENT_BYTES, directory, cosets, tensor, memory)
    }

    fn with_segments_of(
        bytes: u64,
        directory: &Path,
        cosets: u32,
        tensor: Tensor,
        memory: Arc<ImportMemory>,
    ) -> Self {
        let most = (u64::from(tensor.packed_bytes) + SLACK_BYTES).next_multiple_of(ALIGNMENT);
        let segment_bytes = bytes.max(most);
        // Each segment, except the last one in memory and the last one on disk, is filled until it has no
        // space for a coset of the largest size.
        let a_segment = segment_bytes / most;
        let segments = u64::from(cosets).div_ceil(a_segment) + 1;
        let full = End { segment: 0, offset: segment_bytes };
        Self {
            directory: directory.into(),
            cosets,
            tensor,
            segment_bytes,
            segments: (0..segments).map(|_| OnceLock::new()).collect(),
            begun: AtomicUsize::new(0),
            index: RwLock::default(),
            memory,
            memory_bytes: AtomicU64::new(0),
            disk_bytes: AtomicU64::new(0),
            in_memory: Mutex::new(full),
            on_disk: Mutex::new(full),
        }
    }

    /// Adds cosets. Cosets that are already stored are skipped. If two calls add the same coset at the same
    /// time, it takes space twice.
    ///
    /// # Errors
    /// [`LayerError`] if the cosets are not in increasing order, one of them is invalid, or writing fails.
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
        let (mut kept, mut others) = (Vec::new(), Vec::new());
        for import in cosets.iter().filter(|import| !self.holds(import.coset)) {
            match self.keep(import) {
                Some(place) => kept.push((import.coset, place)),
                None => others.push(import),
            }
        }
        self.publish(kept);
        self.spill(&others)
    }

    fn check(&self, import: &Import<'_>, next: u32) -> Result<(), String> {
        let &Import { coset, encoding, states, canonical } = import;
        if coset < next || coset >= self.cosets {
            return Err("it is out of order, or its number is out of range".into());
        }
        if encoding == Encoding::DenseZstd || canonical.len() > self.tensor.packed_bytes as usize {
            return Err("its encoding or length is invalid".into());
        }
        encoding.check(canonical, states, self.tensor)
    }

    /// Copies a coset into memory. Returns `None` if the budget or the system refuses the memory.
    fn keep(&self, import: &Import<'_>) -> Option<Place> {
        let &Import { encoding, canonical, .. } = import;
        let bytes = room(canonical);
        if bytes == 0 {
            return Some(Place { segment: 0, encoding, offset: 0, length: 0 });
        }
        if !self.memory.take(bytes) {
            return None;
        }
        let Ok(End { segment, offset }) = self.reserve(bytes) else {
            self.memory.give_back(bytes);
            return None;
        };
        let map = &self.segments[segment].get().expect("the segment was begun").map;
        // SAFETY: `reserve` returns a range inside the segment, and never returns any part of it again.
        // No reader knows the range before it is published.
        unsafe {
            let to = map.as_mut_ptr().add(offset as usize);
            std::ptr::copy_nonoverlapping(canonical.as_ptr(), to, canonical.len());
            std::ptr::write_bytes(to.add(canonical.len()), 0, bytes as usize - canonical.len());
        }
        self.memory_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.memory.kept.fetch_add(bytes, Ordering::Relaxed);
        Some(Place { segment: segment as u32, encoding, offset, length: canonical.len() as u32 })
    }

    /// Returns the start of `bytes` bytes of memory that belong only to the caller.
    fn reserve(&self, bytes: u64) -> io::Result<End> {
        let mut end = self.in_memory.lock().expect("no thread panics while it holds the lock");
        if end.offset + bytes > self.segment_bytes {
            let map = self.memory.segment(self.segment_bytes as usize)?;
            *end = self.begin(Segment { file: None, map })?;
        }
        let place = *end;
        end.offset += bytes;
        Ok(place)
    }

    /// Appends cosets to files.
    fn spill(&self, cosets: &[&Import<'_>]) -> Result<(), LayerError> {
        let mut end = self.on_disk.lock().expect("no thread panics while it holds the lock");
        let mut pending = Pending::default();
        for &&Import { coset, encoding, canonical, .. } in cosets {
            let bytes = room(canonical);
            if end.offset + pending.bytes.len() as u64 + bytes > self.segment_bytes {
                self.write(&mut end, &mut pending)?;
                let begun = self.file().and_then(|file| self.begin(file));
                *end = begun.map_err(LayerError::io("create a file in", &self.directory))?;
            }
            let offset = end.offset + pending.bytes.len() as u64;
            let length = canonical.len() as u32;
            pending.places.push((coset, Place { segment: end.segment as u32, encoding, offset, length }));
            let whole = pending.bytes.len() + bytes as usize;
            pending.bytes.extend_from_slice(canonical);
            pending.bytes.resize(whole, 0);
        }
        self.write(&mut end, &mut pending)
    }

    /// Writes the pending bytes, and only then publishes the pending cosets.
    fn write(&self, end: &mut End, pending: &mut Pending) -> Result<(), LayerError> {
        let Pending { bytes, places } = std::mem::take(pending);
        if !bytes.is_empty() {
            let segment = self.segments[end.segment].get().expect("the segment was begun");
            let file = segment.file.as_ref().expect("cosets on disk lie in files");
            file.write_all_at(&bytes, end.offset).map_err(LayerError::io("write", &self.directory))?;
            end.offset += bytes.len() as u64;
            self.disk_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            self.memory.spilled.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        self.publish(places);
        Ok(())
    }

    /// Adds cosets to the index, where readers find them.
    fn publish(&self, places: Vec<(u32, Place)>) {
        self.index.write().expect("no thread panics while it holds the lock").extend(places);
    }

    fn file(&self) -> io::Result<Segment> {
        let file = tempfile::tempfile_in(&self.directory)?;
        // Holes in a file take no space on disk, and read as zeros.
        file.set_len(self.segment_bytes)?;
        let map = MmapOptions::new().map_raw_read_only(&file)?;
        Ok(Segment { file: Some(file), map })
    }

    /// Adds an empty segment, and returns its start.
    fn begin(&self, segment: Segment) -> io::Result<End> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let place =
            self.segments.get(number).ok_or_else(|| io::Error::other("cosets were imported twice"))?;
        place.set(segment).expect("no number is given out twice");
        Ok(End { segment: number, offset: 0 })
    }

    /// Returns whether a coset is stored.
    pub fn holds(&self, coset: u32) -> bool {
        self.index.read().expect("no thread panics while it holds the lock").contains_key(&coset)
    }

    /// Returns the states of a coset, if it is stored.
    pub fn coset(&self, coset: u32) -> Option<Stored<'_>> {
        let place = *self.index.read().expect("no thread panics while it holds the lock").get(&coset)?;
        if place.length == 0 {
            return Some(Stored::Empty);
        }
        let segment = self.segments[place.segment as usize].get().expect("what is in the index was written");
        let slack = if place.encoding == Encoding::Dense { SLACK_BYTES as usize } else { 0 };
        // SAFETY: places are inside their segments, and the map lives as long as `self`. The bytes were
        // written before the place was published in the index, and neither they nor the slack after them are
        // written again; the memory is private or of a file without a name, so no other process can change
        // it.
        let bytes = unsafe {
            let start = segment.map.as_ptr().add(place.offset as usize);
            std::slice::from_raw_parts(start, place.length as usize + slack)
        };
        Some(match place.encoding {
            Encoding::Sparse => Stored::Sparse(bytes),
            _ => Stored::Dense(bytes),
        })
    }

    /// Creates an empty store for cosets of the same layer, in the same directory and the same memory.
    #[must_use]
    pub fn successor(&self) -> Self {
        Self::with_segments_of(
            self.segment_bytes,
            &self.directory,
            self.cosets,
            self.tensor,
            Arc::clone(&self.memory),
        )
    }

    /// Returns the bytes that the cosets take in memory and on disk.
    pub fn bytes(&self) -> u64 {
        self.memory_bytes() + self.disk_bytes.load(Ordering::Relaxed)
    }

    /// Returns the bytes that the cosets take in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Imports {
    fn drop(&mut self) {
        self.memory.give_back(self.memory_bytes());
        let segments = self.segments.iter_mut().filter_map(OnceLock::take);
        segments
            .filter(|segment| segment.file.is_none())
            .for_each(|segment| self.memory.put_back(segment.map));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a dense coset and a sparse coset take.
    const DENSE: u64 = 64;
    const SPARSE: u64 = 64;
    const ROUNDS: u32 = 25;

    /// Adds 75 cosets and reads them back, with a budget of `most` bytes of memory.
    fn added(most: u64) -> (Imports, Arc<ImportMemory>) {
        let directory = tempfile::tempdir().unwrap();
        let memory = Arc::new(ImportMemory::new(most));
        let tensor = Tensor { packed_bytes: 41, row_bits: 8 };
        let imports = Imports::new(directory.path(), 100, tensor, Arc::clone(&memory));
        let dense: Vec<u8> = (0..41).map(|i| i * 6).collect();
        let states = crate::encoding::count(&dense) as u32;
        let sparse: Vec<u8> = [3_u32, 9, 300].iter().flat_map(|position| position.to_le_bytes()).collect();
        for round in 0..ROUNDS {
            let import = |coset, encoding, states, canonical| Import { coset, encoding, states, canonical };
            let cosets = [
                import(round * 4, Encoding::Dense, states, &dense[..]),
                import(round * 4 + 1, Encoding::Sparse, 3, &sparse),
                import(round * 4 + 2, Encoding::Empty, 0, &[]),
            ];
            // All in one call, and one by one.
            match round % 2 {
                0 => imports.push(&cosets).unwrap(),
                _ => cosets.iter().for_each(|coset| imports.push(&[*coset]).unwrap()),
            }
        }
        let bytes = || (memory.taken(), memory.kept(), memory.spilled());
        let before = bytes();
        imports.push(&[Import { coset: 0, encoding: Encoding::Empty, states: 0, canonical: &[] }]).unwrap();
        assert_eq!(bytes(), before, "what is there stays");
        for round in 0..ROUNDS {
            let Some(Stored::Dense(there)) = imports.coset(round * 4) else { panic!("not dense") };
            assert_eq!((&there[..41], &there[41..]), (&dense[..], &[0; 8][..]));
            assert!(matches!(imports.coset(round * 4 + 1), Some(Stored::Sparse(there)) if there == sparse));
            assert!(matches!(imports.coset(round * 4 + 2), Some(Stored::Empty)));
            assert!(imports.coset(round * 4 + 3).is_none());
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "files without names");
        assert_eq!(imports.memory_bytes(), memory.taken());
        (imports, memory)
    }

    #[test]
    fn cosets_spill_to_disk_beyond_the_budget() {
        let all = u64::from(ROUNDS) * (DENSE + SPARSE);
        for most in [0, 1, DENSE - 1, DENSE, all / 2, all - 1, all, u64::MAX] {
            let (imports, memory) = added(most);
            assert_eq!(memory.kept() + memory.spilled(), all, "{most}");
            assert_eq!(memory.kept(), most.min(all) / DENSE * DENSE, "{most}");
            assert_eq!(memory.taken(), memory.kept());
            drop(imports);
            assert_eq!(memory.taken(), 0, "memory is given back");
        }
    }

    #[test]
    fn layers_share_the_budget() {
        let (first, memory) = added(DENSE);
        memory.set_most(3 * DENSE);
        let directory = tempfile::tempdir().unwrap();
        let tensor = Tensor { packed_bytes: 41, row_bits: 8 };
        let second = Imports::new(directory.path(), 100, tensor, Arc::clone(&memory));
        let dense = [1; 41];
        let push = |coset| {
            second.push(&[Import { coset, encoding: Encoding::Dense, states: 41, canonical: &dense }])
        };
        (0..3).for_each(|coset| push(coset).unwrap());
        assert_eq!((second.memory_bytes(), memory.taken()), (2 * DENSE, 3 * DENSE));
        drop(first);
        (3..6).for_each(|coset| push(coset).unwrap());
        assert_eq!((second.memory_bytes(), memory.taken()), (3 * DENSE, 3 * DENSE));
        // A smaller budget removes nothing.
        memory.set_most(0);
        push(6).unwrap();
        assert!(
            (0..7).all(
                |coset| matches!(second.coset(coset), Some(Stored::Dense(there)) if there[..41] == dense)
            )
        );
        drop(second);
        assert_eq!(memory.taken(), 0);
    }

    /// A layer reuses the memory of a dropped one, but does not see its contents.
    #[test]
    fn segments_are_reused() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Arc::new(ImportMemory::new(u64::MAX));
        // A dense coset takes 128 bytes, and one of a single state 64.
        let tensor = Tensor { packed_bytes: 100, row_bits: 8 };
        let of = |segment_bytes| {
            Imports::with_segments_of(segment_bytes, directory.path(), 100, tensor, Arc::clone(&memory))
        };
        let push = |imports: &Imports, coset, encoding, states, canonical: &[u8]| {
            imports.push(&[Import { coset, encoding, states, canonical }]).unwrap();
        };
        let first = of(256);
        (0..10).for_each(|coset| push(&first, coset, Encoding::Dense, 800, &[0xff; 100]));
        assert_eq!(memory.spare().len(), 0);
        drop(first);
        assert_eq!((memory.spare().len(), memory.taken()), (5, 0));
        let second = of(256);
        for coset in 0..3 {
            push(&second, 2 * coset, Encoding::Sparse, 1, &7_u32.to_le_bytes());
            push(&second, 2 * coset + 1, Encoding::Dense, 100, &[1; 100]);
            let Some(Stored::Dense(there)) = second.coset(2 * coset + 1) else { panic!("not dense") };
            assert_eq!((&there[..100], &there[100..]), (&[1; 100][..], &[0; 8][..]), "{coset}");
        }
        assert_eq!(memory.spare().len(), 2, "three segments of five are in use");
        // Segments of another size are unusable, and are released to the system.
        let third = of(384);
        (0..6).for_each(|coset| push(&third, coset, Encoding::Dense, 100, &[1; 100]));
        assert_eq!(memory.spare().len(), 0);
    }

    /// Segments of two cosets, some full, some not, of both kinds.
    #[test]
    fn there_are_segments_for_all_cosets() {
        let directory = tempfile::tempdir().unwrap();
        for most in [0, DENSE, 7 * DENSE, 8 * DENSE, u64::MAX] {
            let memory = Arc::new(ImportMemory::new(most));
            let tensor = Tensor { packed_bytes: 41, row_bits: 8 };
            let imports = Imports::with_segments_of(2 * DENSE, directory.path(), 17, tensor, memory);
            for coset in 0..17 {
                let bits = [1 << (coset % 8); 41];
                let import = Import { coset, encoding: Encoding::Dense, states: 41, canonical: &bits };
                imports.push(&[import]).unwrap();
            }
            for coset in 0..17 {
                let Some(Stored::Dense(there)) = imports.coset(coset) else { panic!("not dense") };
                assert_eq!(there[..41], [1 << (coset % 8); 41]);
            }
        }
    }

    #[test]
    fn failed_spill_is_retried() {
        let directory = tempfile::tempdir().unwrap();
        let gone = directory.path().join("gone");
        let memory = Arc::new(ImportMemory::new(DENSE));
        let imports = Imports::new(&gone, 10, Tensor { packed_bytes: 41, row_bits: 8 }, Arc::clone(&memory));
        let import = |coset| Import { coset, encoding: Encoding::Dense, states: 41, canonical: &[1; 41] };
        for _ in 0..20 {
            let error = imports.push(&[import(1), import(2)]).unwrap_err();
            assert!(!error.is_damage(), "{error}");
            assert!(imports.holds(1) && !imports.holds(2), "what is in memory needs no disk");
        }
        std::fs::create_dir(&gone).unwrap();
        imports.push(&[import(1), import(2)]).unwrap();
        assert!(imports.holds(2));
        assert_eq!((memory.kept(), memory.spilled()), (DENSE, DENSE));
    }

    #[test]
    fn invalid_cosets_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let imports = Imports::new(
            directory.path(),
            10,
            Tensor { packed_bytes: 41, row_bits: 8 },
            Arc::new(ImportMemory::new(u64::MAX)),
        );
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
