//! The file of one shard of a layer: its states in increasing order, in compressed blocks. `docs/format.md`
//! describes the bytes. The digest is that of the states, and does not depend on blocks.

use crate::{Key, ListSpace};
use fathom_layer::{Digest, Disk, DiskFile, LayerError, open_regular};
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use zstd::bulk::{Compressor, Decompressor};

/// The first eight bytes.
pub const MAGIC: [u8; 8] = *b"FATHLIST";
/// The version that is written and read.
pub const VERSION: u32 = 1;
/// The largest number of states of a block.
const BLOCK_STATES: usize = 1 << 15;
/// States of more than 128 bytes have smaller blocks, so that a block takes at most this many bytes.
const BLOCK_BYTES: usize = 1 << 22;
/// Files are written in pieces of this many bytes.
const BUFFER_BYTES: usize = 1 << 20;
/// The level favours speed: the bytes of states are nearly random after the common prefixes.
const COMPRESSION_LEVEL: i32 = 1;
const HEADER_BYTES: usize = 56;
const FOOTER_BYTES: usize = 88;
/// Of an index entry.
const ENTRY_BYTES: usize = 32;

/// What a reader knows of a file before it opens the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The fingerprint of the run.
    pub fingerprint: Digest,
    /// The depth of the layer.
    pub depth: u32,
    /// The number of the shard.
    pub shard: u32,
}

impl Identity {
    fn header(&self, state_bytes: usize) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        for number in [VERSION, self.depth, self.shard, state_bytes as u32] {
            header.extend(number.to_le_bytes());
        }
        header.extend(self.fingerprint.0);
        header
    }
}

/// A file that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The number of states.
    pub states: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// The digest of the states.
    pub digest: Digest,
}

/// A block of a file.
#[derive(Clone, Copy, Debug)]
struct Block {
    offset: u64,
    length: u32,
    states: u32,
    checksum: [u8; 16],
}

fn checksum(bytes: &[u8]) -> [u8; 16] {
    blake3::hash(bytes).as_bytes()[..16].try_into().expect("16 of 32 bytes")
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LayerError {
    move |source| LayerError::Io { action, path: path.into(), source }
}

/// Starts the digest of a list: of the size of a state, and of all states.
fn digest_of<K: Key>(space: &ListSpace<K>) -> blake3::Hasher {
    let mut digest = blake3::Hasher::new_derive_key("fathom 2026 list of states, version 1");
    digest.update(&(space.state_bytes() as u32).to_le_bytes());
    digest
}

/// Writes a file, state by state in increasing order.
pub struct ListWriter<'a, K> {
    space: &'a ListSpace<K>,
    disk: &'a dyn Disk,
    path: PathBuf,
    temporary: PathBuf,
    file: Box<dyn DiskFile>,
    header: Vec<u8>,
    /// Bytes that are not written yet, and where they go.
    buffer: Vec<u8>,
    buffer_offset: u64,
    index: Vec<u8>,
    blocks: u32,
    states: u64,
    /// The bytes of the states of the current block.
    block: Vec<u8>,
    block_bytes: usize,
    packed: Vec<u8>,
    compressor: Compressor<'static>,
    digest: blake3::Hasher,
}

impl<'a, K: Key> ListWriter<'a, K> {
    /// Creates the file that will be `path`, under a temporary name.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the temporary file cannot be created.
    pub fn create(
        space: &'a ListSpace<K>,
        disk: &'a dyn Disk,
        path: &Path,
        identity: Identity,
    ) -> Result<Self, LayerError> {
        let temporary = path.with_extension("list.tmp");
        let file = disk.create(&temporary).map_err(failed("create", &temporary))?;
        let header = identity.header(space.state_bytes());
        let compressor = Compressor::new(COMPRESSION_LEVEL).map_err(failed("compress", path))?;
        let states = BLOCK_STATES.min(BLOCK_BYTES / space.state_bytes());
        Ok(Self {
            space,
            disk,
            path: path.into(),
            temporary,
            file,
            buffer: header.clone(),
            header,
            buffer_offset: 0,
            index: Vec::new(),
            blocks: 0,
            states: 0,
            block: Vec::new(),
            block_bytes: states * space.state_bytes(),
            packed: Vec::new(),
            compressor,
            digest: digest_of(space),
        })
    }

    /// Adds the next state, which must be larger than the one before.
    ///
    /// # Errors
    /// [`LayerError::Io`] if writing fails.
    #[inline]
    pub fn push(&mut self, state: &K) -> Result<(), LayerError> {
        let at = self.block.len();
        self.block.resize(at + self.space.state_bytes(), 0);
        self.space.write(state, &mut self.block[at..]);
        self.states += 1;
        if self.block.len() >= self.block_bytes { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), LayerError> {
        let size = self.space.state_bytes();
        self.digest.update(&self.block);
        self.packed.clear();
        let mut before: &[u8] = &[];
        let mut suffixes = Vec::with_capacity(self.block.len());
        for state in self.block.chunks_exact(size) {
            let common = before.iter().zip(state).take(255).take_while(|(a, b)| a == b).count();
            self.packed.push(common as u8);
            suffixes.extend_from_slice(&state[common..]);
            before = state;
        }
        self.packed.append(&mut suffixes);
        let compressed = self.compressor.compress(&self.packed).map_err(failed("compress", &self.path))?;
        let offset = self.buffer_offset + self.buffer.len() as u64;
        self.index.extend(offset.to_le_bytes());
        self.index.extend((compressed.len() as u32).to_le_bytes());
        self.index.extend(((self.block.len() / size) as u32).to_le_bytes());
        self.index.extend(checksum(&compressed));
        self.blocks += 1;
        self.block.clear();
        self.buffer.extend(compressed);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        let written = self.file.write_at(&self.buffer, self.buffer_offset);
        written.map_err(failed("write", &self.temporary))?;
        self.buffer_offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the rest, makes the file durable, and gives it its final name.
    ///
    /// # Errors
    /// [`LayerError::Io`] if writing fails.
    pub fn finish(mut self) -> Result<Written, LayerError> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let index_offset = self.buffer_offset + self.buffer.len() as u64;
        let digest = Digest(*self.digest.finalize().as_bytes());
        let mut end = self.index.clone();
        end.extend(self.states.to_le_bytes());
        end.extend(u64::from(self.blocks).to_le_bytes());
        end.extend(index_offset.to_le_bytes());
        end.extend(digest.0);
        let all = [&self.header[..], &end[..]].concat();
        end.extend(blake3::hash(&all).as_bytes());
        self.buffer.append(&mut end);
        self.flush()?;
        self.file.sync().map_err(failed("sync", &self.temporary))?;
        self.disk.rename(&self.temporary, &self.path).map_err(failed("rename", &self.temporary))?;
        let directory = self.path.parent().unwrap_or(Path::new("."));
        self.disk.sync_directory(directory).map_err(failed("sync", directory))?;
        Ok(Written { states: self.states, bytes: self.buffer_offset, digest })
    }
}

impl<K> std::fmt::Debug for ListWriter<'_, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

/// An open file.
#[derive(Debug)]
pub struct ListFile<K> {
    path: PathBuf,
    shard: u32,
    file: File,
    blocks: Vec<Block>,
    states: PhantomData<K>,
    written: Written,
}

impl<K: Key> ListFile<K> {
    /// Opens a file, and checks its header and its index.
    ///
    /// # Errors
    /// [`LayerError`] if the file cannot be read, is damaged, or has another identity.
    pub fn open(space: &ListSpace<K>, path: &Path, identity: Identity) -> Result<Self, LayerError> {
        let damaged = |reason: &str| LayerError::DamagedHeader { path: path.into(), reason: reason.into() };
        let (file, metadata) = open_regular(path).map_err(failed("open", path))?;
        let bytes = metadata.len();
        let size = space.state_bytes();
        let mut header = vec![0; HEADER_BYTES];
        let mut footer = vec![0; FOOTER_BYTES];
        if bytes < (HEADER_BYTES + FOOTER_BYTES) as u64 {
            return Err(damaged("it is too short"));
        }
        file.read_exact_at(&mut header, 0).map_err(failed("read", path))?;
        if header[..8] != MAGIC {
            return Err(LayerError::NotALayer { path: path.into(), got: header[..8].into() });
        }
        let got = u32::from_le_bytes(header[8..12].try_into().expect("4 bytes"));
        if got != VERSION {
            return Err(LayerError::NewerFormat { path: path.into(), got, supported: VERSION });
        }
        file.read_exact_at(&mut footer, bytes - FOOTER_BYTES as u64).map_err(failed("read", path))?;
        let number = |at: usize| u64::from_le_bytes(footer[at..at + 8].try_into().expect("8 bytes"));
        let (states, blocks, index_offset) = (number(0), number(8), number(16));
        let length = blocks.checked_mul(ENTRY_BYTES as u64);
        if length.and_then(|length| length.checked_add(index_offset)) != Some(bytes - FOOTER_BYTES as u64) {
            return Err(damaged("its index has another length"));
        }
        let mut end = vec![0; blocks as usize * ENTRY_BYTES];
        file.read_exact_at(&mut end, index_offset).map_err(failed("read", path))?;
        let index = end.clone();
        end.extend_from_slice(&footer[..FOOTER_BYTES - 32]);
        if blake3::hash(&[&header[..], &end[..]].concat()).as_bytes()[..] != footer[FOOTER_BYTES - 32..] {
            return Err(damaged("its header or its index does not match the checksum"));
        }
        for (field, at) in [("depth", 12), ("shard", 16), ("size of a state", 20)] {
            let number = |header: &[u8]| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
            let (got, expected) = (number(&header), number(&identity.header(size)));
            if got != expected {
                let (got, expected) = (got.to_string(), expected.to_string());
                return Err(LayerError::Misplaced { path: path.into(), field, got, expected });
            }
        }
        if header[24..] != identity.fingerprint.0 {
            let got = Digest(header[24..].try_into().expect("32 bytes")).to_string();
            let expected = identity.fingerprint.to_string();
            let field = "run fingerprint";
            return Err(LayerError::Misplaced { path: path.into(), field, got, expected });
        }
        let block = |entry: &[u8]| Block {
            offset: u64::from_le_bytes(entry[..8].try_into().expect("8 bytes")),
            length: u32::from_le_bytes(entry[8..12].try_into().expect("4 bytes")),
            states: u32::from_le_bytes(entry[12..16].try_into().expect("4 bytes")),
            checksum: entry[16..32].try_into().expect("16 bytes"),
        };
        let blocks: Vec<Block> = index.chunks_exact(ENTRY_BYTES).map(block).collect();
        // A file that somebody has made up must not exhaust memory.
        let fits = |block: &Block| {
            block.states as usize <= BLOCK_STATES
                && block.offset.checked_add(block.length.into()).is_some_and(|end| end <= index_offset)
        };
        if !blocks.iter().all(fits)
            || blocks.iter().map(|block| u64::from(block.states)).sum::<u64>() != states
        {
            return Err(damaged("its index contradicts itself"));
        }
        Ok(Self {
            path: path.into(),
            shard: identity.shard,
            file,
            blocks,
            states: PhantomData,
            written: Written { states, bytes, digest: Digest(footer[24..56].try_into().expect("32 bytes")) },
        })
    }

    /// Returns the counts and the digest of the file, according to its end.
    pub fn written(&self) -> Written {
        self.written
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the number of states of a block.
    pub fn block_states(&self, block: usize) -> u64 {
        self.blocks[block].states.into()
    }

    /// Reads the states of a block, after those that `states` has.
    ///
    /// # Errors
    /// [`LayerError`] if the block cannot be read, or is damaged.
    pub fn read_block(
        &self,
        space: &ListSpace<K>,
        block: usize,
        states: &mut Vec<K>,
    ) -> Result<(), LayerError> {
        let Block { offset, length, states: count, checksum: expected } = self.blocks[block];
        let mut compressed = vec![0; length as usize];
        self.file.read_exact_at(&mut compressed, offset).map_err(failed("read", &self.path))?;
        let damaged = |reason: String| LayerError::DamagedBlock { path: self.path.clone(), block, reason };
        if checksum(&compressed) != expected {
            return Err(damaged("its bytes do not match the checksum".into()));
        }
        let size = space.state_bytes();
        let most = count as usize * (size + 1);
        let packed =
            Decompressor::new().and_then(|mut decompressor| decompressor.decompress(&compressed, most));
        let packed = packed.map_err(|error| damaged(format!("it cannot be decompressed: {error}")))?;
        let short = || damaged("it has fewer states than the index says".into());
        let (prefixes, mut suffixes) = packed.split_at_checked(count as usize).ok_or_else(short)?;
        let mut bytes = vec![0; size];
        states.reserve(count as usize);
        for &common in prefixes {
            let common = usize::from(common);
            let rest = size.checked_sub(common).ok_or_else(short)?;
            let (suffix, after) = suffixes.split_at_checked(rest).ok_or_else(short)?;
            bytes[common..].copy_from_slice(suffix);
            suffixes = after;
            states.push(space.read(&bytes));
        }
        Ok(())
    }

    /// Reads all states, and checks that they are in increasing order and belong to the shard out of `shards`. Returns
    /// their digest and their number.
    ///
    /// # Errors
    /// [`LayerError`] if a block cannot be read or is damaged, or a state is out of place.
    pub fn count(&self, space: &ListSpace<K>, shards: u32) -> Result<(Digest, u64), LayerError> {
        let mut digest = digest_of(space);
        let mut before: Option<K> = None;
        let mut count = 0;
        let mut states = Vec::new();
        let mut bytes = vec![0; space.state_bytes()];
        for block in 0..self.blocks() {
            states.clear();
            self.read_block(space, block, &mut states)?;
            for &state in &states {
                if before.is_some_and(|before| before >= state) || space.shard(&state, shards) != self.shard {
                    let reason = "a state is out of place".into();
                    return Err(LayerError::DamagedBlock { path: self.path.clone(), block, reason });
                }
                before = Some(state);
                space.write(&state, &mut bytes);
                digest.update(&bytes);
            }
            count += states.len() as u64;
        }
        Ok((Digest(*digest.finalize().as_bytes()), count))
    }

    /// Returns the states in order.
    pub fn stream<'a>(&'a self, space: &'a ListSpace<K>) -> Stream<'a, K> {
        Stream { file: self, space, block: 0, states: Vec::new(), next: 0 }
    }
}

/// The states of a file in order.
#[derive(Debug)]
pub struct Stream<'a, K> {
    file: &'a ListFile<K>,
    space: &'a ListSpace<K>,
    block: usize,
    states: Vec<K>,
    next: usize,
}

impl<K: Key> Stream<'_, K> {
    /// Returns the next state, and does not move on; `None` at the end.
    ///
    /// # Errors
    /// As [`ListFile::read_block`].
    #[inline]
    pub fn peek(&mut self) -> Result<Option<K>, LayerError> {
        if self.next == self.states.len() && self.block < self.file.blocks() {
            self.states.clear();
            self.next = 0;
            self.file.read_block(self.space, self.block, &mut self.states)?;
            self.block += 1;
        }
        Ok(self.states.get(self.next).copied())
    }

    /// Moves on to the next state.
    #[inline]
    pub fn advance(&mut self) {
        self.next += 1;
    }

    /// Returns whether the file has the state. States must be asked for in increasing order.
    ///
    /// # Errors
    /// As [`ListFile::read_block`].
    #[inline]
    pub fn has(&mut self, state: &K) -> Result<bool, LayerError> {
        while let Some(next) = self.peek()? {
            if next >= *state {
                return Ok(next == *state);
            }
            self.advance();
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_layer::LocalDisk;
    use fathom_puzzle::{Metric, PuzzleSpec};
    use fathom_space::Labels;

    const IDENTITY: Identity = Identity { fingerprint: Digest([7; 32]), depth: 0, shard: 0 };

    fn space() -> ListSpace<u64> {
        let puzzle = PuzzleSpec::by_name("3x3").unwrap().moves_alone(Metric::Multi).unwrap();
        ListSpace::new(&puzzle, &Labels::distinct(9))
    }

    /// Writes a file of states; several blocks.
    fn written(path: &Path, states: impl IntoIterator<Item = u64>) -> Written {
        let space = space();
        let mut writer = ListWriter::create(&space, &LocalDisk, path, IDENTITY).unwrap();
        states.into_iter().for_each(|state| writer.push(&state).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn states_are_read_as_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s00000.list");
        let states: Vec<u64> = (1..100_000).map(|number| (number * number) << 28).collect();
        let written = written(&path, states.iter().copied());
        let file = ListFile::open(&space(), &path, IDENTITY).unwrap();
        assert_eq!((file.written(), file.blocks()), (written, 4));
        let mut read = Vec::new();
        (0..4).for_each(|block| file.read_block(&space(), block, &mut read).unwrap());
        assert_eq!(read, states);
        assert_eq!(file.count(&space(), 1).unwrap(), (written.digest, 99_999));
        assert!(file.count(&space(), 2).unwrap_err().to_string().contains("out of place"));
    }

    #[test]
    fn states_out_of_order_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s00000.list");
        for states in [[2 << 28, 1 << 28], [1 << 28, 1 << 28]] {
            written(&path, states);
            let error = ListFile::open(&space(), &path, IDENTITY).unwrap().count(&space(), 1).unwrap_err();
            assert!(error.to_string().contains("out of place"), "{error}");
        }
    }

    /// The checksums are right, as anyone can make them.
    #[test]
    fn made_up_index_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s00000.list");
        written(&path, [1 << 28, 2 << 28]);
        let good = std::fs::read(&path).unwrap();
        let entry = good.len() - FOOTER_BYTES - ENTRY_BYTES;
        let forgeries: [(usize, &[u8]); 4] = [
            (entry, &[255; 8]),
            (entry + 8, &[255; 4]),
            (entry + 12, &[255; 4]),
            (entry + 12, &[3, 0, 0, 0]),
        ];
        for (at, bytes) in forgeries {
            let mut forged = good.clone();
            forged[at..at + bytes.len()].copy_from_slice(bytes);
            let end = forged.len() - 32;
            let checksum = blake3::hash(&[&forged[..HEADER_BYTES], &forged[entry..end]].concat());
            forged[end..].copy_from_slice(checksum.as_bytes());
            std::fs::write(&path, forged).unwrap();
            let error = ListFile::open(&space(), &path, IDENTITY).unwrap_err();
            assert!(error.to_string().contains("contradicts itself"), "{at}: {error}");
        }
    }
}
