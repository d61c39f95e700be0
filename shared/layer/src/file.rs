//! Reading a layer file.

use crate::digest::{Digest, LayerDigest};
use crate::encoding::Encoding;
use crate::error::LayerError;
use crate::evict::{Part, evict};
use crate::format::{
    BadHeader, ENTRY_BYTES, Entry, HEADER_BYTES, Header, Identity, SLACK_BYTES, Totals, VERSION, data_offset,
};
use crate::map::{Map, Stamp};
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// One decompressor per thread: creating one takes longer than decompressing a coset.
    static DECOMPRESSOR: RefCell<zstd::bulk::Decompressor<'static>> =
        RefCell::new(zstd::bulk::Decompressor::new().expect("there is memory for zstd"));
}

/// A mapped layer file. Opening reads only the header; the directory is checked on first use, and the data of
/// each coset when the coset is first read. Threads may share a file.
#[derive(Debug)]
pub struct LayerFile {
    path: PathBuf,
    map: Map,
    header: Header,
    /// One bit per coset: whether it has states. `None` if the directory is damaged.
    occupied: OnceLock<Option<Box<[u64]>>>,
    /// One bit per coset: whether its data were checked.
    checked: Box<[AtomicU64]>,
}

/// The states of one coset.
#[derive(Clone, Debug)]
pub enum Stored<'a> {
    /// No states.
    Empty,
    /// Positions in increasing order, 32 bits each, little-endian.
    Sparse(&'a [u8]),
    /// The packed tensor, followed by 8 bytes of any content.
    Dense(&'a [u8]),
    /// A decompressed packed tensor, followed by 8 bytes.
    Decompressed(Vec<u8>),
}

impl Stored<'_> {
    /// Returns whether there is a state at a position.
    pub fn contains(&self, position: u32) -> bool {
        match self {
            Self::Sparse(positions) => {
                let (positions, _) = positions.as_chunks::<4>();
                positions.binary_search_by_key(&position, |bytes| u32::from_le_bytes(*bytes)).is_ok()
            }
            _ => self
                .canonical()
                .get(position as usize / 8)
                .is_some_and(|byte| byte >> (position % 8) & 1 == 1),
        }
    }

    /// Returns the positions of the states, in increasing order.
    pub fn positions(&self) -> impl Iterator<Item = u32> {
        let (listed, packed) = match self {
            Self::Sparse(positions) => (*positions, &[][..]),
            _ => (&[][..], self.canonical()),
        };
        let listed = listed.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes));
        let bits = |(byte, at): (&u8, u32)| {
            let byte = *byte;
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| 8 * at + bit)
        };
        listed.chain(packed.iter().zip(0..).flat_map(bits))
    }

    /// Returns the position of the state with this number, counted from 0 in increasing order of positions.
    /// `None` if there are fewer.
    pub fn nth(&self, number: u32) -> Option<u32> {
        if let Self::Sparse(positions) = self {
            return positions.as_chunks().0.get(number as usize).map(|&bytes| u32::from_le_bytes(bytes));
        }
        let mut left = number;
        for (byte, at) in self.canonical().iter().zip(0..) {
            match byte.count_ones() {
                ones if left >= ones => left -= ones,
                _ => {
                    return (0..8)
                        .filter(|bit| byte >> bit & 1 == 1)
                        .nth(left as usize)
                        .map(|bit| 8 * at + bit);
                }
            }
        }
        None
    }

    /// Returns the bytes that the checksum covers: without those after a packed tensor.
    pub fn canonical(&self) -> &[u8] {
        match self {
            Self::Empty => &[],
            Self::Sparse(bytes) => bytes,
            Self::Dense(bytes) => without_slack(bytes),
            Self::Decompressed(bytes) => without_slack(bytes),
        }
    }
}

fn without_slack(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - SLACK_BYTES as usize]
}

impl LayerFile {
    /// Opens and maps a file, and checks that it has this identity.
    ///
    /// # Errors
    /// [`LayerError`] if the file cannot be read, is not a layer file of a supported version, has another
    /// identity, or has another length than its header says.
    pub fn open(path: &Path, expected: &Identity) -> Result<Self, LayerError> {
        let map = Map::open(path).map_err(LayerError::io("open", path))?;
        let got = map.bytes().len() as u64;
        let Some(first) = map.bytes().first_chunk::<HEADER_BYTES>() else {
            return Err(LayerError::WrongLength { path: path.into(), got, expected: HEADER_BYTES as u64 });
        };
        let header = Header::from_bytes(first, expected.row_bits).map_err(|bad| match bad {
            BadHeader::Magic => LayerError::NotALayer { path: path.into(), got: first[..8].into() },
            BadHeader::Newer(got) => LayerError::NewerFormat { path: path.into(), got, supported: VERSION },
            BadHeader::Damaged(reason) => LayerError::DamagedHeader { path: path.into(), reason },
        })?;
        check_identity(path, &header.identity, expected)?;
        if header.file_bytes != got {
            return Err(LayerError::WrongLength { path: path.into(), got, expected: header.file_bytes });
        }
        if header.file_bytes < data_offset(expected.cosets) + SLACK_BYTES {
            let reason = format!("{got} bytes are too few for {} cosets", expected.cosets);
            return Err(LayerError::DamagedHeader { path: path.into(), reason });
        }
        let checked = (0..expected.cosets.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { path: path.into(), map, header, occupied: OnceLock::new(), checked })
    }

    /// Returns the fingerprint of the run that a file belongs to, or `None` if its header is damaged.
    ///
    /// # Errors
    /// [`LayerError`] if the file cannot be read, or was written by a later version.
    pub fn fingerprint_of(path: &Path) -> Result<Option<Digest>, LayerError> {
        let map = Map::open(path).map_err(LayerError::io("open", path))?;
        // The rows of tensors do not matter here.
        match map.bytes().first_chunk::<HEADER_BYTES>().map(|first| Header::from_bytes(first, 0)) {
            Some(Ok(header)) => Ok(Some(Digest(header.identity.fingerprint))),
            Some(Err(BadHeader::Newer(got))) => {
                Err(LayerError::NewerFormat { path: path.into(), got, supported: VERSION })
            }
            _ => Ok(None),
        }
    }

    /// Returns the identity of the file.
    pub fn identity(&self) -> &Identity {
        &self.header.identity
    }

    /// Returns the totals in the header.
    pub fn totals(&self) -> Totals {
        self.header.totals
    }

    /// Returns the length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.header.file_bytes
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns two numbers of states of a coset: in this layer, and in this layer and all before it. Cosets
    /// are numbered from 0 in the shard.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn states(&self, coset: u32) -> Result<(u32, u32), LayerError> {
        self.entry(coset).map(|entry| (entry.states, entry.visited))
    }

    /// Returns the checksums of all cosets in order.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn checksums(&self) -> Result<Vec<Digest>, LayerError> {
        (0..self.header.identity.cosets).map(|coset| Ok(self.entry(coset)?.checksum)).collect()
    }

    /// Returns the digest of the checksums of the file's cosets, as of a layer that consists of them.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn digest(&self) -> Result<Digest, LayerError> {
        let mut digest = LayerDigest::new(self.header.identity.depth);
        digest.add(&self.checksums()?);
        Ok(digest.finish())
    }

    /// Checks that the file holds what was committed, whose [digest](Self::digest) is `expected`. The
    /// checksums in the file cannot show this: another file for the same place in the same run has valid
    /// checksums as well.
    ///
    /// # Errors
    /// [`LayerError::Replaced`] if the file holds other states, and another [`LayerError`] if the directory
    /// is damaged.
    pub fn check_digest(&self, expected: Digest) -> Result<(), LayerError> {
        match self.digest()? {
            got if got == expected => Ok(()),
            got => Err(LayerError::Replaced { path: self.path.clone(), got, expected }),
        }
    }

    /// Returns the states of a coset, numbered from 0 in the shard. Checks the data on the first read of the
    /// coset.
    ///
    /// # Errors
    /// [`LayerError`] if the directory or the coset's data are damaged.
    pub fn coset(&self, coset: u32) -> Result<Stored<'_>, LayerError> {
        // In most layers of a search few cosets have states, and reading an entry takes a cache line.
        if self.occupied().is_some_and(|bits| bits[coset as usize / 64] >> (coset % 64) & 1 == 0) {
            assert!(coset < self.header.identity.cosets, "the coset is one of the shard");
            return Ok(Stored::Empty);
        }
        let entry = self.entry(coset)?;
        let data = self.data(&entry).map(|range| &self.map.bytes()[range]);
        let (word, bit) = (&self.checked[coset as usize / 64], 1 << (coset % 64));
        let is_checked = word.load(Ordering::Relaxed) & bit != 0;
        let stored = self.decoded(coset, &entry, data, is_checked)?;
        if !is_checked {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(stored)
    }

    /// Returns the states of a coset from its data; `data` is `None` if they would extend beyond the file.
    /// Checks the data unless they were checked before.
    pub(crate) fn decoded<'a>(
        &self,
        coset: u32,
        entry: &Entry,
        data: Option<&'a [u8]>,
        is_checked: bool,
    ) -> Result<Stored<'a>, LayerError> {
        let damaged = |reason: String| LayerError::DamagedCoset {
            path: self.path.clone(),
            coset: self.header.identity.first_coset + coset,
            offset: entry.offset,
            length: entry.length,
            reason,
        };
        if entry.encoding == Encoding::Empty {
            return Ok(Stored::Empty);
        }
        let packed_bytes = self.header.identity.packed_bytes as usize;
        let data = data.ok_or_else(|| damaged("its data extends past the end of the file".into()))?;
        let stored = match entry.encoding {
            Encoding::Empty => Stored::Empty,
            Encoding::Sparse => Stored::Sparse(data),
            Encoding::Dense => Stored::Dense(data),
            Encoding::DenseZstd => {
                // The capacity limits the output to one coset and the bytes after it, whatever the data say.
                let mut packed = Vec::with_capacity(packed_bytes + SLACK_BYTES as usize);
                DECOMPRESSOR
                    .with_borrow_mut(|zstd| zstd.decompress_to_buffer(data, &mut packed))
                    .map_err(|error| damaged(format!("decompression failed: {error}")))?;
                packed.resize(packed.len() + SLACK_BYTES as usize, 0);
                Stored::Decompressed(packed)
            }
        };
        if !is_checked {
            self.check(entry, &stored).map_err(damaged)?;
        }
        Ok(stored)
    }

    /// Returns the encoding of a coset's canonical bytes, the number of its states, and the states.
    ///
    /// # Errors
    /// [`LayerError`] if the directory or the coset's data are damaged.
    pub fn canonical(&self, coset: u32) -> Result<(Encoding, u32, Stored<'_>), LayerError> {
        let entry = self.entry(coset)?;
        let encoding = match entry.encoding {
            Encoding::DenseZstd => Encoding::Dense,
            other => other,
        };
        Ok((encoding, entry.states, self.coset(coset)?))
    }

    /// Requires the data of each coset to be checked again on the next read.
    pub fn forget_checks(&self) {
        self.checked.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Returns whether the file at its path is still the one that is mapped.
    pub fn is_at_its_path(&self) -> bool {
        self.map.is_at(&self.path)
    }

    /// Checks that no program has written to the file since it was opened. Code that has read cosets more
    /// than once must check this before using the results: only the first read compares checksums.
    ///
    /// # Errors
    /// [`LayerError::Changed`].
    pub fn check_unchanged(&self) -> Result<(), LayerError> {
        match self.map.has_changed(&self.path) {
            true => Err(LayerError::Changed { path: self.path.clone() }),
            false => Ok(()),
        }
    }

    /// Returns the stamp of the file when it was opened.
    pub fn stamp(&self) -> Stamp {
        self.map.stamp()
    }

    /// Returns the bytes of the whole file.
    pub fn whole(&self) -> &[u8] {
        self.map.bytes()
    }

    /// Disables read-ahead: only prefetched data and pages that are accessed are read from disk.
    pub fn read_no_more_than_asked(&self) {
        self.map.read_no_more_than_asked();
    }

    /// Starts to read the data of a coset into the page cache, without waiting. Returns their length in
    /// bytes.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn prefetch(&self, coset: u32) -> Result<u32, LayerError> {
        let entry = self.entry(coset)?;
        if let Some(data) = self.data(&entry) {
            self.map.will_need(data);
        }
        Ok(entry.length)
    }

    /// Returns the part of the file that has the data of a coset, for [`evict`], or `None` if the coset has
    /// none. If the coset before it or after it `stays`, pages that the two may share are omitted.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn part(&self, coset: u32, stays: impl Fn(u32) -> bool) -> Result<Option<Part<'_>>, LayerError> {
        let but_first = coset.checked_sub(1).is_some_and(&stays);
        let but_last = coset + 1 < self.header.identity.cosets && stays(coset + 1);
        Ok(self.data(&self.entry(coset)?).map(|data| Part::new(&self.map, data, but_first, but_last)))
    }

    /// Asks the operating system to evict the whole file from memory.
    pub fn release_all(&self) {
        evict(&[Part::new(&self.map, 0..self.map.bytes().len(), false, false)]);
    }

    /// Checks the directory, the data of all cosets that were not read before, and the header's number of
    /// stored states.
    ///
    /// # Errors
    /// [`LayerError`] for the first damage.
    pub fn check_all(&self) -> Result<(), LayerError> {
        let mut stored = 0;
        for coset in 0..self.header.identity.cosets {
            self.coset(coset)?;
            stored += u64::from(self.entry(coset)?.states);
        }
        match self.header.totals.stored {
            expected if expected == stored => Ok(()),
            expected => {
                let reason = format!("it claims {expected} stored states, but its cosets have {stored}");
                Err(LayerError::DamagedHeader { path: self.path.clone(), reason })
            }
        }
    }

    /// Checks that data are what their entry says, so that later reads need no check.
    fn check(&self, entry: &Entry, stored: &Stored<'_>) -> Result<(), String> {
        let canonical = stored.canonical();
        let got = Digest::new(canonical);
        if got != entry.checksum {
            return Err(format!("checksum {got}, expected {}", entry.checksum));
        }
        entry.encoding.check(canonical, entry.states, self.header.identity.tensor())
    }

    /// Returns the range of a coset's data, with the bytes after a packed tensor; `None` if the range is not
    /// inside the file.
    pub(crate) fn data(&self, entry: &Entry) -> Option<Range<usize>> {
        let slack = if entry.encoding == Encoding::Dense { SLACK_BYTES } else { 0 };
        let end = entry.offset.checked_add(u64::from(entry.length) + slack)?;
        (end <= self.map.bytes().len() as u64).then_some(entry.offset as usize..end as usize)
    }

    fn directory(&self) -> &[[u8; ENTRY_BYTES]] {
        let cosets = self.header.identity.cosets as usize;
        self.map.bytes()[HEADER_BYTES..HEADER_BYTES + cosets * ENTRY_BYTES].as_chunks().0
    }

    /// Returns one bit per coset, whether it has states, or `None` if the directory is damaged. The directory
    /// is checked on the first call.
    fn occupied(&self) -> Option<&[u64]> {
        let of_word = |entries: &[[u8; ENTRY_BYTES]]| {
            // A damaged entry does not count as empty, so it is examined.
            let is_empty = |entry| Entry::from_bytes(entry).is_some_and(|e| e.encoding == Encoding::Empty);
            entries.iter().rev().fold(0, |bits, entry| bits << 1 | u64::from(!is_empty(entry)))
        };
        let read = || {
            let directory = self.directory();
            let is_whole = Digest::new(directory.as_flattened()) == self.header.directory_checksum;
            is_whole.then(|| directory.chunks(64).map(of_word).collect())
        };
        self.occupied.get_or_init(read).as_deref()
    }

    pub(crate) fn entry(&self, coset: u32) -> Result<Entry, LayerError> {
        let cosets = self.header.identity.cosets;
        assert!(coset < cosets, "coset {coset} of a shard of {cosets}");
        let entry = self.occupied().and_then(|_| Entry::from_bytes(&self.directory()[coset as usize]));
        entry.ok_or_else(|| LayerError::DamagedDirectory {
            path: self.path.clone(),
            got: Digest::new(self.directory().as_flattened()).to_string(),
            expected: self.header.directory_checksum.to_string(),
        })
    }
}

fn check_identity(path: &Path, got: &Identity, expected: &Identity) -> Result<(), LayerError> {
    let hex = |fingerprint| Digest(fingerprint).to_string();
    let fields = [
        (LayerError::RUN, hex(got.fingerprint), hex(expected.fingerprint)),
        ("depth", got.depth.to_string(), expected.depth.to_string()),
        ("shard", got.shard.to_string(), expected.shard.to_string()),
        ("first coset", got.first_coset.to_string(), expected.first_coset.to_string()),
        ("number of cosets", got.cosets.to_string(), expected.cosets.to_string()),
        ("tensor size", got.packed_bytes.to_string(), expected.packed_bytes.to_string()),
    ];
    match fields.into_iter().find(|(_, got, expected)| got != expected) {
        Some((field, got, expected)) => {
            Err(LayerError::Misplaced { path: path.into(), field, got, expected })
        }
        None => Ok(()),
    }
}
