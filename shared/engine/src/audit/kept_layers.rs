//! The layers that a run has kept, and the depths of states in them.

use super::layer::{KeptLayer, OnDisk, Place};
use super::plain_states::State;
use crate::coset_graph::within;
use crate::directory::RunDirectory;
use crate::journal::{Files, LayerRow};
use crate::run::{Lookback, saved_tables};
use crate::task::{Layer, Store};
use anyhow::{Context, Result};
use fathom_command::bad_input;
use fathom_layer::Disk;
use fathom_space::{Colouring, CosetGraph, Space};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The entry of the table for a position that no kept layer has.
const NONE: u8 = u8::MAX;

/// A finished layer.
pub struct FinishedLayer {
    /// The number of states.
    pub states: u64,
    /// The number of states in the stored representatives.
    pub stored: u64,
    /// The layer's files, if they are kept.
    pub files: Option<Box<dyn KeptLayer>>,
}

impl FinishedLayer {
    /// Returns a layer whose files are on this host.
    pub fn on_disk(states: u64, stored: u64, layer: Arc<Layer>, graph: &Arc<CosetGraph>) -> Self {
        let files = Box::new(OnDisk { layer, graph: Arc::clone(graph) });
        Self { states, stored, files: Some(files) }
    }
}

/// The finished layers of a run, open for reading as far as they are kept.
pub(super) struct KeptLayers {
    pub(super) graph: Arc<CosetGraph>,
    /// The finished layers, by depth.
    pub(super) layers: Vec<FinishedLayer>,
    /// Whether the counts of the finished layers add up to all states of the space.
    pub(super) is_complete: bool,
    /// Whether the moves are closed under inverses, so that the depths of neighbours differ by at most one.
    pub(super) is_closed: bool,
    /// Whether the files are on other hosts, so that a lookup of many states takes hardly longer than a
    /// lookup of one.
    is_far: bool,
    /// The depth of each state, by coset and position, if the table fits into memory.
    table: Option<Box<[u8]>>,
}

impl KeptLayers {
    /// Opens the layers of a run whose files are on this host.
    ///
    /// # Errors
    /// If there is no layer to read, a layer is not the one that was committed, or the tables do not fit into
    /// `memory_bytes`.
    pub(super) fn open(run: &RunDirectory, memory_bytes: u64, disk: &dyn Disk) -> Result<Self> {
        let path = run.path.display();
        let Some(store) = run.store()? else {
            return Err(bad_input!(
                "the layers of the run in {path} are on its workers. While it is served, pass its coordinator as HOST:PORT"
            ));
        };
        let visited = run.visited()?;
        if visited.layers.is_empty() {
            return Err(bad_input!("the run in {path} has no finished layer yet"));
        }
        if visited.layers.iter().all(|layer| layer.files == Files::Removed) {
            return Err(bad_input!("no layers of the run in {path} are left, so there is nothing to audit"));
        }
        let definition = &run.manifest;
        let make = |space: &Space, colouring: &Colouring| {
            saved_tables::cosets_for_reading(&run.path, definition.fingerprint, space, colouring)
        };
        let (graph, geometry) = within(definition, memory_bytes, make)?;
        let graph = Arc::new(graph);
        let store = Store::at(&store, disk)?;
        let open = |row: &LayerRow| -> Result<FinishedLayer> {
            let files = match row.files {
                Files::Removed => None,
                _ => {
                    let layer = store.open(&geometry, row.depth)?;
                    layer.check_digests(&run.digests(row.depth)?)?;
                    Some(Box::new(OnDisk { layer: Arc::new(layer), graph: Arc::clone(&graph) })
                        as Box<dyn KeptLayer>)
                }
            };
            Ok(FinishedLayer { states: row.states, stored: row.stored, files })
        };
        let layers = visited
            .layers
            .iter()
            .map(|row| open(row).with_context(|| format!("cannot read the layer of depth {}", row.depth)));
        Ok(Self::new(Arc::clone(&graph), layers.collect::<Result<_>>()?))
    }

    /// Wraps layers that are already open.
    pub(super) fn new(graph: Arc<CosetGraph>, layers: Vec<FinishedLayer>) -> Self {
        let visited: u128 = layers.iter().map(|layer| u128::from(layer.states)).sum();
        Self {
            is_complete: u128::try_from(graph.space().states()).is_ok_and(|all| all == visited),
            is_closed: Lookback::new(graph.space()) == Lookback::Two,
            layers,
            graph,
            is_far: false,
            table: None,
        }
    }

    /// Wraps layers whose files are on other hosts.
    pub(super) fn far(graph: Arc<CosetGraph>, layers: Vec<FinishedLayer>) -> Self {
        Self { is_far: true, ..Self::new(graph, layers) }
    }

    /// Returns the depth of the last finished layer.
    pub(super) fn last(&self) -> u32 {
        self.layers.len() as u32 - 1
    }

    /// Returns whether the files of a finished layer are kept.
    pub(super) fn has(&self, depth: u32) -> bool {
        self.files(depth).is_some()
    }

    /// Returns the files of a finished layer, if they are kept.
    pub(super) fn files(&self, depth: u32) -> Option<&dyn KeptLayer> {
        self.layers.get(depth as usize)?.files.as_deref()
    }

    /// Returns the depths whose layers are kept.
    pub(super) fn depths(&self) -> impl Iterator<Item = u32> {
        (0..=self.last()).filter(|&depth| self.has(depth))
    }

    /// Returns whether the layers of all these depths are kept.
    pub(super) fn has_all(&self, depths: std::ops::RangeInclusive<u32>) -> bool {
        depths.into_iter().all(|depth| self.has(depth))
    }

    /// Returns the size of the table in bytes: one byte for each position of each coset.
    pub(super) fn table_bytes(&self) -> u64 {
        u64::from(self.graph.len()) * u64::from(self.graph.shape().packed_bytes()) * 8
    }

    /// Reads all layers into a table, so that the lookup of a state reads one byte. Does nothing if the table
    /// exceeds `memory_bytes` or the files are on other hosts. Returns the first 16 states that two layers
    /// have, each with the larger depth.
    ///
    /// # Errors
    /// If a file is damaged.
    pub(super) fn tabulate(&mut self, memory_bytes: u64) -> Result<Vec<(u32, Place)>> {
        const MOST: usize = 16;
        let mut twice = Vec::new();
        if self.is_far || self.table_bytes() > memory_bytes || self.layers.len() > usize::from(NONE) {
            return Ok(twice);
        }
        let a_coset = self.graph.shape().packed_bytes() as usize * 8;
        let mut table = vec![NONE; self.graph.len() as usize * a_coset].into_boxed_slice();
        for depth in self.depths() {
            let files = self.files(depth).context("the layer is there")?;
            files.for_each(&mut |(coset, position)| {
                let place = &mut table[coset.0 as usize * a_coset + position as usize];
                if *place != NONE && twice.len() < MOST {
                    twice.push((depth, (coset, position)));
                }
                *place = depth as u8;
            })?;
        }
        self.table = Some(table);
        Ok(twice)
    }

    /// Prepares lookups of these states: if the files are on other hosts, looks all of them up in one
    /// request.
    ///
    /// # Errors
    /// If a layer cannot be read.
    pub(super) fn look_ahead(&self, states: impl Iterator<Item = State>) -> Result<Lookup<'_>> {
        let mut ahead = HashMap::new();
        if self.is_far {
            let mut placed: Vec<(State, Place)> = Vec::new();
            for state in states {
                if let Entry::Vacant(unseen) = ahead.entry(state) {
                    placed.extend(self.locate(unseen.key()).map(|place| (unseen.key().clone(), place)));
                    unseen.insert(Vec::new());
                }
            }
            let places: Vec<Place> = placed.iter().map(|(_, place)| *place).collect();
            for depth in self.depths() {
                let found = self.files(depth).context("the layer is there")?.contain(&places)?;
                for ((state, _), _) in placed.iter().zip(found).filter(|(_, found)| *found) {
                    ahead.entry(state.clone()).or_default().push(depth);
                }
            }
        }
        Ok(Lookup { kept: self, ahead })
    }

    /// Returns the depths of the kept layers that have a state: at most one, if the layers are correct.
    fn depths_of(&self, state: &State) -> Result<Vec<u32>> {
        let Some((coset, position)) = self.locate(state) else {
            return Ok(Vec::new());
        };
        if let Some(table) = &self.table {
            let a_coset = self.graph.shape().packed_bytes() as usize * 8;
            let depth = table[coset.0 as usize * a_coset + position as usize];
            return Ok(Some(u32::from(depth)).filter(|_| depth != NONE).into_iter().collect());
        }
        let mut found = Vec::new();
        for depth in self.depths() {
            let files = self.files(depth).context("the layer is there")?;
            found.extend(files.contain(&[(coset, position)])?[0].then_some(depth));
        }
        Ok(found)
    }

    fn locate(&self, state: &State) -> Option<Place> {
        self.graph.locate(&self.graph.space().word_of_pieces(state))
    }

    /// Returns a stored state as a plain word.
    pub(super) fn state(&self, (coset, position): Place) -> State {
        let space = self.graph.space();
        space.pieces(&self.graph.word_at(coset, position)).into()
    }
}

/// Lookups of depths; some states were looked up ahead.
pub(super) struct Lookup<'a> {
    pub(super) kept: &'a KeptLayers,
    ahead: HashMap<State, Vec<u32>>,
}

impl Lookup<'_> {
    /// Returns the depths of the kept layers that have a state: at most one, if the layers are correct.
    ///
    /// # Errors
    /// If a layer cannot be read.
    pub(super) fn depths_of(&self, state: &State) -> Result<Vec<u32>> {
        match self.ahead.get(state) {
            Some(depths) => Ok(depths.clone()),
            None => self.kept.depths_of(state),
        }
    }
}
