//! Reads single states from the layers that a run by lists has kept.

use crate::directory::RunDirectory;
use crate::journal::ShardRow;
use crate::run::{Depth, ListedSpace, ShardId};
use crate::task::Store;
use crate::verify::open_list;
use anyhow::{Context, Result};
use fathom_layer::Disk;
use fathom_lists::list_space::words;
use fathom_lists::{Key, ListFile, ListSpace, with_key};
use std::collections::HashMap;
use std::fmt::Debug;

/// The layers of a run by lists. States are given by the bytes that lists have.
pub trait ListLayers: Debug + Send {
    /// Returns whether a state is at a depth, whose files must exist.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    fn contains(&mut self, bytes: &[u8], depth: Depth) -> Result<bool>;

    /// Calls `found` with every state of a depth, whose files must exist.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    fn each(&mut self, depth: Depth, found: &mut dyn FnMut(Vec<u8>)) -> Result<()>;
}

#[derive(Debug)]
struct Layers<'d, K> {
    space: ListSpace<K>,
    store: Store<'d>,
    run: RunDirectory,
    open: HashMap<(Depth, u32), ListFile<K>>,
    /// The states of the block that was read last.
    block: Option<((Depth, u32, usize), Vec<K>)>,
    /// The first and the last state of each block that was read.
    ends: HashMap<(Depth, u32, usize), (K, K)>,
}

/// Opens the layers of a run; `None` if it has none yet.
///
/// # Errors
/// If the store does not exist.
pub fn list_layers<'d>(
    run: &RunDirectory,
    space: &ListedSpace,
    disk: &'d dyn Disk,
) -> Result<Option<Box<dyn ListLayers + 'd>>> {
    let Some(store) = run.store()? else { return Ok(None) };
    let store = Store::at(&store, disk)?;
    let run = RunDirectory::open_for_reading(&run.path)?;
    Ok(Some(with_key!(words(&space.puzzle, &space.labels), of_run(run, space, store))))
}

fn of_run<'d, K: Key>(run: RunDirectory, space: &ListedSpace, store: Store<'d>) -> Box<dyn ListLayers + 'd> {
    let space = ListSpace::<K>::new(&space.puzzle, &space.labels);
    Box::new(Layers { space, store, run, open: HashMap::new(), block: None, ends: HashMap::new() })
}

impl<K: Key> Layers<'_, K> {
    /// Opens the file of a shard, unless it is open.
    fn open(&mut self, depth: Depth, shard: u32) -> Result<()> {
        if !self.open.contains_key(&(depth, shard)) {
            let rows = self.run.journal.shards(depth).context("cannot read run.db")?;
            let is_it = |row: &&ShardRow| row.shard == ShardId(shard);
            let row = rows.iter().find(is_it).context("the files of the layer do not exist")?;
            let file = open_list(&self.run, &self.space, &self.store, depth, row)?;
            self.open.insert((depth, shard), file);
        }
        Ok(())
    }

    /// Returns the states of a block of an open file.
    fn block(&mut self, depth: Depth, shard: u32, block: usize) -> Result<&[K]> {
        let place = (depth, shard, block);
        if self.block.as_ref().is_none_or(|(read, _)| *read != place) {
            let mut states = Vec::new();
            self.open[&(depth, shard)].read_block(&self.space, block, &mut states)?;
            if let (Some(&first), Some(&last)) = (states.first(), states.last()) {
                self.ends.insert(place, (first, last));
            }
            self.block = Some((place, states));
        }
        Ok(self.block.as_ref().map_or(&[], |(_, states)| states))
    }

    /// Returns the first and the last state of a block of an open file; `None` if it has no states.
    fn ends(&mut self, depth: Depth, shard: u32, block: usize) -> Result<Option<(K, K)>> {
        if let Some(&ends) = self.ends.get(&(depth, shard, block)) {
            return Ok(Some(ends));
        }
        let states = self.block(depth, shard, block)?;
        Ok(states.first().copied().zip(states.last().copied()))
    }
}

impl<K: Key> ListLayers for Layers<'_, K> {
    fn contains(&mut self, bytes: &[u8], depth: Depth) -> Result<bool> {
        let state = self.space.read(bytes);
        let shard = self.space.shard(&state, self.run.manifest.shards);
        self.open(depth, shard)?;
        let (mut first, mut end) = (0, self.open[&(depth, shard)].blocks());
        while first < end {
            let middle = first.midpoint(end);
            match self.ends(depth, shard, middle)? {
                Some((least, _)) if state < least => end = middle,
                Some((_, most)) if state > most => first = middle + 1,
                Some(_) => return Ok(self.block(depth, shard, middle)?.binary_search(&state).is_ok()),
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    fn each(&mut self, depth: Depth, found: &mut dyn FnMut(Vec<u8>)) -> Result<()> {
        for shard in 0..self.run.manifest.shards {
            self.open(depth, shard)?;
            let file = &self.open[&(depth, shard)];
            let mut states = Vec::new();
            for block in 0..file.blocks() {
                states.clear();
                file.read_block(&self.space, block, &mut states)?;
                for state in &states {
                    let mut bytes = vec![0; self.space.state_bytes()];
                    self.space.write(state, &mut bytes);
                    found(bytes);
                }
            }
        }
        Ok(())
    }
}
