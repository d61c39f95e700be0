//! Reading a layer file.

use crate::digest::{Digest, LayerDigest};
use crate::encoding::Encoding;
use crate::error::LayerError;
use crate::format::{
    BadHeader, ENTRY_BYTES, Entry, HEADER_BYTES, Header, Identity, SLACK_BYTES, Totals, VERSION, data_offset,
};
use crate::map::Map;
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// A decompressor for each thread: making one for each coset would take longer than decompressing the
    /// coset.
    static DECOMPRESSOR: RefCell<zstd::bulk::Decompressor<'static>> =
        RefCell::new(zstd::bulk::Decompressor::new().expect("there is memory for zstd"));
}

/// A layer file, mapped. Opening reads the header alone; the directory is checked when it is first needed,
/// and the data of a coset when they are first read. May be shared by threads.
#[derive(Debug)]
pub struct LayerFile {
    path: PathBuf,
    map: Map,
    header: Header,
    directory_is_whole: OnceLock<bool>,
    /// One bit a coset: its data were checked.
    checked: Box<[AtomicU64]>,
}

/// The states of one coset.
#[derive(Clone, Debug)]
pub enum Stored<'a> {
    /// None.
    Empty,
    /// Positions in increasing order, 32 bits each, little-endian.
    Sparse(&'a [u8]),
    /// The packed tensor, and 8 bytes of any content behind it.
    Dense(&'a [u8]),
    /// The same, decompressed.
    Decompressed(Vec<u8>),
}

impl Stored<'_> {
    /// Whether the state at a position is there.
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

    /// The positions of the states, in increasing order.
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

    /// The bytes that the checksum is about: without those behind a packed tensor.
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
    /// Opens and maps a file that should have this identity.
    ///
    /// # Errors
    /// [`LayerError`] if it cannot be read, is no layer file of a version that is understood, is another one
    /// than expected, or has another length than its header says.
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
        Ok(Self { path: path.into(), map, header, directory_is_whole: OnceLock::new(), checked })
    }

    /// Which file it is.
    pub fn identity(&self) -> &Identity {
        &self.header.identity
    }

    /// What it adds up to, by its header.
    pub fn totals(&self) -> Totals {
        self.header.totals
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.header.file_bytes
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of states of a coset of this shard in this layer, and in this layer and all before it.
    /// Cosets are numbered from 0 in the shard.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn states(&self, coset: u32) -> Result<(u32, u32), LayerError> {
        self.entry(coset).map(|entry| (entry.states, entry.visited))
    }

    /// The checksums of all cosets in order.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn checksums(&self) -> Result<Vec<Digest>, LayerError> {
        (0..self.header.identity.cosets).map(|coset| Ok(self.entry(coset)?.checksum)).collect()
    }

    /// The digest of the checksums of its cosets: that of a layer which has no others.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn digest(&self) -> Result<Digest, LayerError> {
        let mut digest = LayerDigest::new(self.header.identity.depth);
        digest.add(&self.checksums()?);
        Ok(digest.finish())
    }

    /// Checks that it holds what was committed, of which this is the [digest](Self::digest). Its own
    /// checksums do not tell: another file of the same place in the same run has some that are in order
    /// as well.
    ///
    /// # Errors
    /// [`LayerError::Replaced`] if it holds something else, and another [`LayerError`] if the directory is
    /// damaged.
    pub fn check_digest(&self, expected: Digest) -> Result<(), LayerError> {
        match self.digest()? {
            got if got == expected => Ok(()),
            got => Err(LayerError::Replaced { path: self.path.clone(), got, expected }),
        }
    }

    /// The states of a coset, numbered from 0 in the shard.
    ///
    /// # Errors
    /// [`LayerError`] if the directory or the coset's data are damaged.
    pub fn coset(&self, coset: u32) -> Result<Stored<'_>, LayerError> {
        let entry = self.entry(coset)?;
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
        let data = self
            .data(&entry)
            .map(|range| &self.map.bytes()[range])
            .ok_or_else(|| damaged("its data would lie outside of the file".into()))?;
        let stored = match entry.encoding {
            Encoding::Empty => Stored::Empty,
            Encoding::Sparse => Stored::Sparse(data),
            Encoding::Dense => Stored::Dense(data),
            Encoding::DenseZstd => {
                // There is room for no more than a coset and what is behind it, whatever the data say.
                let mut packed = Vec::with_capacity(packed_bytes + SLACK_BYTES as usize);
                DECOMPRESSOR
                    .with_borrow_mut(|zstd| zstd.decompress_to_buffer(data, &mut packed))
                    .map_err(|error| damaged(format!("it does not decompress: {error}")))?;
                packed.resize(packed.len() + SLACK_BYTES as usize, 0);
                Stored::Decompressed(packed)
            }
        };
        let (word, bit) = (&self.checked[coset as usize / 64], 1 << (coset % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            self.check(&entry, &stored).map_err(damaged)?;
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(stored)
    }

    /// How the states of a coset are written down, their number, and their canonical bytes: nothing,
    /// positions, or the packed tensor.
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

    /// The bytes of the whole file.
    pub fn whole(&self) -> &[u8] {
        self.map.bytes()
    }

    /// Has nothing read from disk but what is prefetched, and pages that are read without that.
    pub fn read_no_more_than_asked(&self) {
        self.map.read_no_more_than_asked();
    }

    /// Has the data of a coset read into the page cache, without waiting for it. Returns their bytes.
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

    /// Has the data of a coset leave memory.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn release(&self, coset: u32) -> Result<(), LayerError> {
        let entry = self.entry(coset)?;
        if let Some(data) = self.data(&entry) {
            self.map.page_out(data);
        }
        Ok(())
    }

    /// Has everything leave memory.
    pub fn release_all(&self) {
        self.map.page_out(0..self.map.bytes().len());
    }

    /// Reads everything, and checks it against all checksums and the header's number of stored states.
    ///
    /// # Errors
    /// [`LayerError`] for the first thing that is damaged.
    pub fn check_all(&self) -> Result<(), LayerError> {
        let mut stored = 0;
        for coset in 0..self.header.identity.cosets {
            self.coset(coset)?;
            stored += u64::from(self.entry(coset)?.states);
        }
        match self.header.totals.stored {
            expected if expected == stored => Ok(()),
            expected => {
                let reason = format!("it says {expected} stored states, its cosets have {stored}");
                Err(LayerError::DamagedHeader { path: self.path.clone(), reason })
            }
        }
    }

    /// Whether data are what their entry says, so that nothing read later needs a second look.
    fn check(&self, entry: &Entry, stored: &Stored<'_>) -> Result<(), String> {
        let canonical = stored.canonical();
        let got = Digest::of(canonical);
        if got != entry.checksum {
            return Err(format!("checksum {got}, expected {}", entry.checksum));
        }
        entry.encoding.check(canonical, entry.states, self.header.identity.tensor())
    }

    /// Where the data of a coset lie, with the bytes behind a packed tensor; `None` if that is outside of the
    /// file.
    fn data(&self, entry: &Entry) -> Option<Range<usize>> {
        let slack = if entry.encoding == Encoding::Dense { SLACK_BYTES } else { 0 };
        let end = entry.offset.checked_add(u64::from(entry.length) + slack)?;
        (end <= self.map.bytes().len() as u64).then_some(entry.offset as usize..end as usize)
    }

    pub(crate) fn entry(&self, coset: u32) -> Result<Entry, LayerError> {
        let cosets = self.header.identity.cosets as usize;
        assert!((coset as usize) < cosets, "coset {coset} of a shard of {cosets}");
        let directory = &self.map.bytes()[HEADER_BYTES..HEADER_BYTES + cosets * ENTRY_BYTES];
        let whole =
            self.directory_is_whole.get_or_init(|| Digest::of(directory) == self.header.directory_checksum);
        let entry: &[u8; ENTRY_BYTES] = directory[coset as usize * ENTRY_BYTES..][..ENTRY_BYTES]
            .try_into()
            .expect("the slice is as long as an entry");
        Some(entry).filter(|_| *whole).and_then(Entry::from_bytes).ok_or_else(|| {
            LayerError::DamagedDirectory {
                path: self.path.clone(),
                got: Digest::of(directory).to_string(),
                expected: self.header.directory_checksum.to_string(),
            }
        })
    }
}

fn check_identity(path: &Path, got: &Identity, expected: &Identity) -> Result<(), LayerError> {
    let hex = |fingerprint| Digest(fingerprint).to_string();
    let fields = [
        ("run fingerprint", hex(got.fingerprint), hex(expected.fingerprint)),
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
