//! The layers that a run has kept, asked for the depth of a state.

use super::plain::State;
use crate::directory::RunDirectory;
use crate::journal::{Files, LayerRow};
use anyhow::{Context, Result};
use fathom_command::bad_input;
use fathom_layer::Disk;
use fathom_run::{Geometry, Lookback, tables};
use fathom_space::{CosetGraph, CosetId};
use fathom_task::{Layer, Store};
use indicatif::HumanBytes;

/// Stands in a table for a state of no kept layer.
const NONE: u8 = u8::MAX;

/// Layers, open for reading.
pub(super) struct Kept {
    pub(super) graph: CosetGraph,
    /// By depth; `None` where the files are not there.
    layers: Vec<Option<Layer>>,
    pub(super) rows: Vec<LayerRow>,
    /// Every state is in one of the finished layers, by the journal.
    pub(super) is_complete: bool,
    /// Whether moves lead back, so that the depths of neighbours differ by at most one.
    pub(super) is_closed: bool,
    /// By coset and position the depth, where that fits into memory.
    table: Option<Box<[u8]>>,
}

impl Kept {
    /// Opens the layers of a run.
    ///
    /// # Errors
    /// If there are none to read, they are not those that were committed, or tables do not fit
    /// `memory_bytes`.
    pub(super) fn open(run: &RunDirectory, memory_bytes: u64, disk: &dyn Disk) -> Result<Self> {
        let path = run.path.display();
        let Some(store) = run.store_path()? else {
            return Err(bad_input!(
                "the layers of the run in {path} lie with its workers, and are not looked for there"
            ));
        };
        let visited = run.visited()?;
        if visited.layers.is_empty() {
            return Err(bad_input!("the run in {path} has no finished layer yet"));
        }
        let definition = &run.manifest;
        let (space, colouring) = definition.check()?;
        let patterns = CosetGraph::table_entries(&space, &colouring);
        let table_bytes = CosetGraph::table_bytes(&space, patterns, definition.representative_cosets);
        if table_bytes > memory_bytes {
            return Err(bad_input!(
                "the tables of {} take {} of memory, and {} may be taken: give it more with --memory",
                space.slug(),
                HumanBytes(table_bytes),
                HumanBytes(memory_bytes)
            ));
        }
        let graph = tables::cosets_for_reading(&run.path, definition.fingerprint, &space, &colouring)?;
        let geometry = Geometry::of(definition, &space, &colouring)?;
        geometry.check_graph(&graph)?;
        let store = Store::new(&store, disk);
        let open = |row: &LayerRow| -> Result<Option<Layer>> {
            if row.files == Files::Removed {
                return Ok(None);
            }
            let layer = store.open(&geometry, row.depth)?;
            layer.check_digests(&run.digests(row.depth)?)?;
            Ok(Some(layer))
        };
        let layers = visited
            .layers
            .iter()
            .map(|row| open(row).with_context(|| format!("cannot read the layer of depth {}", row.depth)));
        Ok(Self {
            layers: layers.collect::<Result<_>>()?,
            is_complete: visited.visited == visited.all,
            rows: visited.layers,
            is_closed: Lookback::of(graph.space()) == Lookback::Two,
            graph,
            table: None,
        })
    }

    /// The depth of the last finished layer.
    pub(super) fn last(&self) -> u32 {
        self.layers.len() as u32 - 1
    }

    /// Whether the files of a finished layer are there.
    pub(super) fn has(&self, depth: u32) -> bool {
        self.layers.get(depth as usize).is_some_and(Option::is_some)
    }

    /// The layer at a depth, if it is there.
    pub(super) fn layer(&self, depth: u32) -> Option<&Layer> {
        self.layers.get(depth as usize)?.as_ref()
    }

    /// The depths whose layers are there.
    pub(super) fn depths(&self) -> impl Iterator<Item = u32> {
        (0..=self.last()).filter(|&depth| self.has(depth))
    }

    /// Whether the layers of all these depths are there.
    pub(super) fn has_all(&self, depths: std::ops::RangeInclusive<u32>) -> bool {
        depths.into_iter().all(|depth| self.has(depth))
    }

    /// Bytes of a table of all positions.
    pub(super) fn table_bytes(&self) -> u64 {
        u64::from(self.graph.len()) * u64::from(self.graph.shape().packed_bytes()) * 8
    }

    /// Reads all layers into a table, if that fits into so many bytes, so that a state takes one look.
    /// Returns the first states that two layers have, with the depth of the second.
    ///
    /// # Errors
    /// If a file is damaged.
    pub(super) fn tabulate(&mut self, memory_bytes: u64) -> Result<Vec<(u32, CosetId, u32)>> {
        const MOST: usize = 16;
        let mut twice = Vec::new();
        if self.table_bytes() > memory_bytes || self.layers.len() > usize::from(NONE) {
            return Ok(twice);
        }
        let a_coset = self.graph.shape().packed_bytes() as usize * 8;
        let mut table = vec![NONE; self.graph.len() as usize * a_coset].into_boxed_slice();
        for (depth, layer) in (0..).zip(&self.layers) {
            let Some(layer) = layer else { continue };
            for (coset, places) in (0..).map(CosetId).zip(table.chunks_exact_mut(a_coset)) {
                for position in layer.coset(coset)?.positions() {
                    let place = &mut places[position as usize];
                    if *place != NONE && twice.len() < MOST {
                        twice.push((depth, coset, position));
                    }
                    *place = depth as u8;
                }
            }
        }
        self.table = Some(table);
        Ok(twice)
    }

    /// The depths of the kept layers that have a state: one at most, if they are right.
    ///
    /// # Errors
    /// If a file is damaged.
    pub(super) fn depths_of(&self, state: &State) -> Result<Vec<u32>> {
        let word = self.graph.space().word_of_pieces(state);
        let Some((coset, position)) = self.graph.locate(&word) else {
            return Ok(Vec::new());
        };
        if let Some(table) = &self.table {
            let a_coset = self.graph.shape().packed_bytes() as usize * 8;
            let depth = table[coset.0 as usize * a_coset + position as usize];
            return Ok(Some(u32::from(depth)).filter(|_| depth != NONE).into_iter().collect());
        }
        let mut found = Vec::new();
        for (depth, layer) in (0..).zip(&self.layers) {
            if let Some(layer) = layer
                && layer.coset(coset)?.contains(position)
            {
                found.push(depth);
            }
        }
        Ok(found)
    }

    /// A stored state as a plain word.
    pub(super) fn state(&self, coset: CosetId, position: u32) -> State {
        let space = self.graph.space();
        space.pieces(&self.graph.word_at(coset, position)).into()
    }
}
