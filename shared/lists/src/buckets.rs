//! The states that a thread has found, by shard: in memory, and in runs that were spilled to a file when memory
//! was full.

use crate::key::sort_distinct;
use crate::{Key, ListSpace};
use fathom_layer::{Disk, DiskFile, LayerError, open_regular};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bytes that are read at once from a run.
const READ_BYTES: usize = 1 << 16;

/// A sorted sequence of states in a spill file.
#[derive(Clone, Copy, Debug)]
struct Run {
    shard: u32,
    offset: u64,
    states: u64,
}

/// The states that one thread has found.
pub struct Buckets<'a, K> {
    space: &'a ListSpace<K>,
    disk: &'a dyn Disk,
    /// By shard.
    states: Vec<Vec<K>>,
    /// The number of states in memory, and how many there may be.
    held: usize,
    most: usize,
    path: PathBuf,
    spill: Option<Box<dyn DiskFile>>,
    end: u64,
    runs: Vec<Run>,
}

impl<'a, K: Key> Buckets<'a, K> {
    /// Creates the buckets of a thread, which spills to the file `path` when it has `most` states.
    pub fn new(space: &'a ListSpace<K>, disk: &'a dyn Disk, shards: u32, most: usize, path: PathBuf) -> Self {
        let states = (0..shards).map(|_| Vec::new()).collect();
        Self { space, disk, states, held: 0, most, path, spill: None, end: 0, runs: Vec::new() }
    }

    /// Adds a state. [`Buckets::make_room`] must be called now and then.
    #[inline]
    pub fn add(&mut self, state: K) {
        let shards = self.states.len() as u32;
        self.states[self.space.shard(&state, shards) as usize].push(state);
        self.held += 1;
    }

    /// Makes room for more states if there are many: drops those that were found twice, or else spills all.
    ///
    /// # Errors
    /// [`LayerError::Io`] if states cannot be spilled.
    pub fn make_room(&mut self) -> Result<(), LayerError> {
        if self.held < self.most {
            return Ok(());
        }
        self.states.iter_mut().for_each(sort_distinct);
        self.held = self.states.iter().map(Vec::len).sum();
        if self.held > self.most / 2 { self.spill() } else { Ok(()) }
    }

    /// Writes all states, which are sorted, to the spill file.
    fn spill(&mut self) -> Result<(), LayerError> {
        let failed = |action| {
            let path = self.path.clone();
            move |source| LayerError::Io { action, path, source }
        };
        let file = match &mut self.spill {
            Some(file) => file,
            none => none.insert(self.disk.create(&self.path).map_err(failed("create"))?),
        };
        let size = self.space.state_bytes();
        let mut bytes = Vec::new();
        for (shard, states) in self.states.iter_mut().enumerate() {
            self.runs.push(Run { shard: shard as u32, offset: self.end, states: states.len() as u64 });
            for some in states.chunks(1 << 16) {
                bytes.resize(some.len() * size, 0);
                for (to, state) in bytes.chunks_exact_mut(size).zip(some) {
                    self.space.write(state, to);
                }
                file.write_at(&bytes, self.end).map_err(failed("write"))?;
                self.end += bytes.len() as u64;
            }
            states.clear();
        }
        self.held = 0;
        Ok(())
    }

    /// Ends the search of this thread.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the spill file cannot be opened for reading.
    pub fn finish(self) -> Result<Found<K>, LayerError> {
        let Self { states, path, runs, spill, .. } = self;
        let open = || match open_regular(&path) {
            Ok((file, _)) => Ok(Arc::new(file)),
            Err(source) => Err(LayerError::Io { action: "open", path: path.clone(), source }),
        };
        let file = spill.map(|_| open()).transpose()?;
        Ok(Found { states, path, file, runs })
    }
}

impl<K> std::fmt::Debug for Buckets<'_, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buckets").field("held", &self.held).field("path", &self.path).finish_non_exhaustive()
    }
}

/// What one thread has found: unsorted states in memory, and sorted runs in its spill file.
#[derive(Debug)]
pub struct Found<K> {
    states: Vec<Vec<K>>,
    path: PathBuf,
    /// The open spill file, if there is one.
    file: Option<Arc<File>>,
    runs: Vec<Run>,
}

impl<K: Key> Found<K> {
    /// Takes the states of a shard that are in memory.
    pub fn take(&mut self, shard: u32) -> Vec<K> {
        std::mem::take(&mut self.states[shard as usize])
    }

    /// Returns the spilled runs of a shard.
    pub fn runs<'a>(&self, space: &'a ListSpace<K>, shard: u32) -> impl Iterator<Item = RunReader<'a, K>> {
        let of_shard = self.runs.iter().filter(move |run| run.shard == shard);
        self.file.iter().flat_map(move |file| {
            of_shard.clone().map(move |&Run { offset, states: left, .. }| RunReader {
                space,
                path: self.path.clone(),
                file: Arc::clone(file),
                offset,
                left,
                states: Vec::new(),
                next: 0,
            })
        })
    }

    /// Returns the path of the spill file, if there is one.
    pub fn spill(&self) -> Option<&Path> {
        self.file.as_ref().map(|_| &*self.path)
    }
}

/// Reads a spilled run.
#[derive(Debug)]
pub struct RunReader<'a, K> {
    space: &'a ListSpace<K>,
    path: PathBuf,
    file: Arc<File>,
    offset: u64,
    /// The states that are still in the file.
    left: u64,
    states: Vec<K>,
    next: usize,
}

impl<K: Key> RunReader<'_, K> {
    /// Returns the next state, and moves on; `None` at the end.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the file cannot be read.
    #[inline]
    pub fn take_next(&mut self) -> Result<Option<K>, LayerError> {
        if self.next == self.states.len() && self.left > 0 {
            let size = self.space.state_bytes();
            let count = self.left.min((READ_BYTES / size).max(1) as u64) as usize;
            let mut bytes = vec![0; count * size];
            let read = self.file.read_exact_at(&mut bytes, self.offset);
            read.map_err(|source| LayerError::Io { action: "read", path: self.path.clone(), source })?;
            self.states.clear();
            self.states.extend(bytes.chunks_exact(size).map(|bytes| self.space.read(bytes)));
            self.next = 0;
            self.left -= count as u64;
            self.offset += bytes.len() as u64;
        }
        let state = self.states.get(self.next).copied();
        self.next += 1;
        Ok(state)
    }
}
