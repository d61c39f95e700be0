//! Reads the distances of states from the layers that a run has kept.

use anyhow::{Context, Result};
use fathom_engine::coset_graph::within;
use fathom_engine::directory::{RunDirectory, Visited};
use fathom_engine::journal::{Files, LayerRow};
use fathom_engine::list_layers::{ListLayers, list_layers};
use fathom_engine::run::{Depth, Geometry, ShardId, saved_tables};
use fathom_engine::task::Store;
use fathom_layer::{Digest, Disk, LayerError, LayerFile, Stored};
use fathom_space::{Colouring, CosetGraph, CosetId, Locator, Space};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// The entry of a table for a position that no kept layer has.
const NONE: u8 = u8::MAX;

/// How many states a thread locates at a time.
const LOCATED_TOGETHER: usize = 1024;

/// The layers of a run whose files exist. A file is opened and checked when a state of its shard is first
/// looked up; after that, each lookup reads one coset.
#[derive(Debug)]
pub struct LayerDistances<'d> {
    visited: Visited,
    pub(super) layers: Layers<'d>,
}

/// Layers as bits of cosets, or as lists of states.
#[derive(Debug)]
pub(super) enum Layers<'d> {
    Cosets(Box<CosetLayers<'d>>),
    Lists(Box<dyn ListLayers + 'd>),
}

#[derive(Debug)]
pub(super) struct CosetLayers<'d> {
    pub(super) graph: CosetGraph,
    pub(super) geometry: Geometry,
    store: Store<'d>,
    pub(super) open: FxHashMap<(Depth, ShardId), LayerFile>,
    /// The digests of the shards, by depth, for the layers whose files exist.
    digests: FxHashMap<Depth, Vec<Digest>>,
    /// The depth of each state, by coset and position, once it is [tabulated](LayerDistances::tabulate).
    table: Option<Box<[u8]>>,
}

/// The depth of every state of the kept layers, by coset and position.
#[derive(Clone, Copy, Debug)]
pub struct DepthTable<'a> {
    graph: &'a CosetGraph,
    a_coset: usize,
    depths: &'a [u8],
}

impl<'a> DepthTable<'a> {
    /// Returns what looks up states. Each thread needs its own.
    pub fn finder(self) -> DepthFinder<'a> {
        DepthFinder { locator: Locator::new(self.graph), table: self }
    }
}

/// Looks up the depths of states in a table, one after another.
#[derive(Debug)]
pub struct DepthFinder<'a> {
    locator: Locator<'a>,
    table: DepthTable<'a>,
}

impl DepthFinder<'_> {
    /// Returns the depth of a state, or `None` if the state is in none of the layers whose files exist.
    pub fn depth_of(&mut self, word: &[u8]) -> Option<u32> {
        let (coset, position) = self.locator.locate(word)?;
        let depth = self.table.depths[coset.0 as usize * self.table.a_coset + position as usize];
        (depth != NONE).then_some(depth.into())
    }
}

impl<'d> LayerDistances<'d> {
    /// Opens the kept layers of a run. Returns `None` if the run has no store of its own, because workers
    /// hold all layers.
    ///
    /// # Errors If the store does not exist, the files of the run are damaged, or its tables do not fit in
    /// `memory_bytes`.
    pub fn new(run: &RunDirectory, memory_bytes: u64, disk: &'d dyn Disk) -> Result<Option<Self>> {
        let visited = run.visited()?;
        let layers = match run.space.listed() {
            Some(space) => list_layers(run, space, disk)?.map(Layers::Lists),
            None => CosetLayers::new(run, &visited, memory_bytes, disk)?.map(Box::new).map(Layers::Cosets),
        };
        Ok(layers.map(|layers| Self { visited, layers }))
    }

    /// Returns the finished layers, ordered by depth, including those whose files were removed.
    pub fn layers(&self) -> &[LayerRow] {
        &self.visited.layers
    }

    /// Returns whether every state was visited.
    pub fn is_complete(&self) -> bool {
        self.visited.is_complete
    }

    /// Returns whether the files of the finished layer of this depth exist.
    pub fn has(&self, depth: u32) -> bool {
        self.layers().get(depth as usize).is_some_and(|layer| layer.files != Files::Removed)
    }

    /// Returns whether the files of all finished layers up to this depth exist.
    pub fn has_all_to(&self, depth: u32) -> bool {
        (0..=depth).all(|depth| self.has(depth))
    }

    /// Reads all layers into a table of one byte for each position of each coset, so that a lookup reads one byte.
    /// Returns whether there is a table: there is none if it exceeds `memory_bytes`, or the run lists states.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn tabulate(&mut self, memory_bytes: u64) -> Result<bool> {
        let depths: Vec<u32> = (0..self.layers().len() as u32).filter(|&depth| self.has(depth)).collect();
        match &mut self.layers {
            Layers::Cosets(layers) if depths.last().is_none_or(|&last| last < NONE.into()) => {
                layers.tabulate(&depths, memory_bytes)
            }
            _ => Ok(false),
        }
    }

    /// Returns the table; `None` if there is none.
    pub fn table(&self) -> Option<DepthTable<'_>> {
        let Layers::Cosets(layers) = &self.layers else { return None };
        let depths = layers.table.as_deref()?;
        Some(DepthTable { graph: &layers.graph, a_coset: layers.positions_of_a_coset(), depths })
    }

    /// Returns the depth of a state, or `None` if the state is in none of the layers whose files exist.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn depth_of(&mut self, word: &[u8]) -> Result<Option<u32>> {
        if let Some(table) = self.table() {
            return Ok(table.finder().depth_of(word));
        }
        for depth in 0..self.layers().len() as u32 {
            if self.has(depth) && self.is_at(word, depth)? {
                return Ok(Some(depth));
            }
        }
        Ok(None)
    }

    /// Returns whether a state is at this depth. The files of the depth must exist.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn is_at(&mut self, word: &[u8], depth: u32) -> Result<bool> {
        match &mut self.layers {
            Layers::Cosets(layers) => layers.is_at(word, depth),
            Layers::Lists(layers) => layers.contains(word, Depth(depth)),
        }
    }

    /// Returns the numbers of those of some states that are at a depth. The files of the depth must exist. Many states take
    /// less time than with [`LayerDistances::is_at`], since each coset is read once.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn those_at(&mut self, states: &[(u32, Vec<u8>)], depth: u32) -> Result<Vec<u32>> {
        match &mut self.layers {
            Layers::Cosets(layers) => layers.those_at(states, depth),
            Layers::Lists(layers) => {
                let mut found = Vec::new();
                for (number, state) in states {
                    if layers.contains(state, Depth(depth))? {
                        found.push(*number);
                    }
                }
                Ok(found)
            }
        }
    }

    /// Calls `found` with every stored state of a depth, and with its space if that has symmetries: then only
    /// representative cosets are stored, which have at least one state of each class. The files of the depth must exist.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn each_stored(&mut self, depth: u32, mut found: impl FnMut(Option<&Space>, Vec<u8>)) -> Result<()> {
        match &mut self.layers {
            Layers::Cosets(layers) => {
                layers.each_stored(depth, |graph, word| found(Some(graph.space()), word))
            }
            Layers::Lists(layers) => layers.each(Depth(depth), &mut |word| found(None, word)),
        }
    }
}

impl<'d> CosetLayers<'d> {
    /// Opens the kept layers of a run, as [`LayerDistances::new`] does.
    fn new(
        run: &RunDirectory,
        visited: &Visited,
        memory_bytes: u64,
        disk: &'d dyn Disk,
    ) -> Result<Option<Self>> {
        let Some(store) = run.store()? else {
            return Ok(None);
        };
        let definition = &run.manifest;
        let make = |space: &Space, colouring: &Colouring| {
            saved_tables::cosets_for_reading(&run.path, definition.fingerprint, space, colouring)
        };
        let (graph, geometry) = within(definition, memory_bytes, make)?;
        let store = Store::at(&store, disk)?;
        let there = visited.layers.iter().filter(|layer| layer.files != Files::Removed);
        let digests = there.map(|layer| Ok((layer.depth, run.digests(layer.depth)?)));
        let digests = digests.collect::<Result<_>>()?;
        Ok(Some(Self { graph, geometry, store, open: FxHashMap::default(), digests, table: None }))
    }

    /// Returns the number of entries of the table for a coset.
    fn positions_of_a_coset(&self) -> usize {
        self.graph.shape().packed_bytes() as usize * 8
    }

    fn tabulate(&mut self, depths: &[u32], memory_bytes: u64) -> Result<bool> {
        let a_coset = self.positions_of_a_coset();
        let bytes = u64::from(self.graph.len()) * a_coset as u64;
        if bytes > memory_bytes {
            return Ok(false);
        }
        let mut table = vec![NONE; bytes as usize].into_boxed_slice();
        for &depth in depths {
            for shard in self.geometry.cut.ids() {
                let file = self.file(Depth(depth), shard)?;
                let first = file.identity().first_coset as usize * a_coset;
                let cosets = file.identity().cosets as usize;
                table[first..][..cosets * a_coset].par_chunks_mut(a_coset).enumerate().try_for_each(
                    |(local, of_coset)| -> Result<()> {
                        for position in positions(&file.coset(local as u32)?) {
                            of_coset[position as usize] = depth as u8;
                        }
                        Ok(())
                    },
                )?;
            }
        }
        self.table = Some(table);
        Ok(true)
    }

    fn is_at(&mut self, word: &[u8], depth: u32) -> Result<bool> {
        let Some((coset, position)) = self.graph.locate(word) else {
            return Ok(false);
        };
        let shard = self.geometry.cut.shard_of(coset.0);
        let file = self.file(Depth(depth), shard)?;
        let local = coset.0 - file.identity().first_coset;
        Ok(file.coset(local)?.contains(position))
    }

    fn those_at(&mut self, states: &[(u32, Vec<u8>)], depth: u32) -> Result<Vec<u32>> {
        let graph = &self.graph;
        let mut located: Vec<(CosetId, u32, u32)> = states
            .par_chunks(LOCATED_TOGETHER)
            .flat_map_iter(|states| {
                let mut locator = Locator::new(graph);
                states.iter().filter_map(move |(number, state)| {
                    locator.locate(state).map(|(coset, position)| (coset, position, *number))
                })
            })
            .collect();
        located.par_sort_unstable();
        let of_cosets: Vec<&[(CosetId, u32, u32)]> = located.chunk_by(|a, b| a.0 == b.0).collect();
        for of_coset in &of_cosets {
            let shard = self.geometry.cut.shard_of(of_coset[0].0.0);
            self.file(Depth(depth), shard)?;
        }
        let found = of_cosets.into_par_iter().map(|of_coset| {
            let coset = of_coset[0].0;
            let file = &self.open[&(Depth(depth), self.geometry.cut.shard_of(coset.0))];
            let stored = file.coset(coset.0 - file.identity().first_coset)?;
            let there = of_coset.iter().filter(|(_, position, _)| stored.contains(*position));
            Ok(there.map(|(_, _, number)| *number).collect())
        });
        let found: Vec<Vec<u32>> = found.collect::<Result<_>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    fn each_stored(&mut self, depth: u32, mut found: impl FnMut(&CosetGraph, Vec<u8>)) -> Result<()> {
        for shard in self.geometry.cut.ids() {
            self.file(Depth(depth), shard)?;
            let file = &self.open[&(Depth(depth), shard)];
            let identity = file.identity();
            for local in 0..identity.cosets {
                let coset = CosetId(identity.first_coset + local);
                for position in positions(&file.coset(local)?) {
                    found(&self.graph, self.graph.word_at(coset, position));
                }
            }
        }
        Ok(())
    }

    pub(super) fn file(&mut self, depth: Depth, shard: ShardId) -> Result<&LayerFile> {
        match self.open.entry((depth, shard)) {
            Entry::Occupied(file) => Ok(file.into_mut()),
            Entry::Vacant(place) => {
                let digests = self.digests.get(&depth).context("the files of the layer do not exist")?;
                let open = || -> Result<LayerFile, LayerError> {
                    let file = self.store.open_shard(&self.geometry, depth, shard)?;
                    file.check_digest(digests[shard.0 as usize])?;
                    Ok(file)
                };
                let file = open().with_context(|| format!("cannot read the layer of depth {depth}"))?;
                Ok(place.insert(file))
            }
        }
    }
}

/// Returns the positions of the states of a coset, in increasing order.
pub(super) fn positions(stored: &Stored<'_>) -> Vec<u32> {
    if let Stored::Sparse(positions) = stored {
        let (positions, _) = positions.as_chunks::<4>();
        return positions.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    }
    let bits = stored.canonical().iter().zip(0..);
    bits.flat_map(|(&byte, at)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| 8 * at + bit))
        .collect()
}
