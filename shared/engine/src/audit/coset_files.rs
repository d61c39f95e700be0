//! The layers of a run by cosets: states are looked up and drawn by coset and position.

use super::kept_layers::{Counts, KeptFiles, KeptLayers};
use super::layer::{KeptLayer, OnDisk, Place};
use super::plain_states::State;
use super::{CHUNK, finished_layers};
use crate::coset_graph::within;
use crate::directory::RunDirectory;
use crate::journal::{Files, LayerRow};
use crate::run::{Lookback, saved_tables};
use crate::task::{Layer, Store};
use anyhow::{Context, Result};
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

/// The layers of a run by cosets, as far as they are kept.
pub(super) struct CosetFiles {
    pub(super) graph: Arc<CosetGraph>,
    /// The finished layers, by depth.
    layers: Vec<FinishedLayer>,
    /// Whether the files are on other hosts, so that a lookup of many states takes hardly longer than a
    /// lookup of one.
    is_far: bool,
    /// The depth of each state, by coset and position, if the table fits into memory.
    table: Option<Box<[u8]>>,
}

impl CosetFiles {
    /// Opens the layers of a run whose files are on this host.
    ///
    /// # Errors
    /// If there is no layer to read, a layer is not the one that was committed, or the tables do not fit into
    /// `memory_bytes`.
    pub(super) fn open(run: &RunDirectory, memory_bytes: u64, disk: &dyn Disk) -> Result<Self> {
        let (store, layers) = finished_layers(run)?;
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
        let layers = layers
            .iter()
            .map(|row| open(row).with_context(|| format!("cannot read the layer of depth {}", row.depth)));
        Ok(Self::new(Arc::clone(&graph), layers.collect::<Result<_>>()?))
    }

    /// Wraps layers that are already open.
    pub(super) fn new(graph: Arc<CosetGraph>, layers: Vec<FinishedLayer>) -> Self {
        Self { layers, graph, is_far: false, table: None }
    }

    /// Wraps layers whose files are on other hosts.
    pub(super) fn far(graph: Arc<CosetGraph>, layers: Vec<FinishedLayer>) -> Self {
        Self { is_far: true, ..Self::new(graph, layers) }
    }

    /// Returns the layers as the laws read them.
    pub(super) fn kept(&self) -> KeptLayers<'_> {
        let visited: u128 = self.layers.iter().map(|layer| u128::from(layer.states)).sum();
        let count = |layer: &FinishedLayer| Counts {
            states: layer.states,
            stored: layer.stored,
            is_kept: layer.files.is_some(),
        };
        KeptLayers {
            is_complete: u128::try_from(self.graph.space().states()).is_ok_and(|all| all == visited),
            is_closed: Lookback::new(self.graph.space()) == Lookback::Two,
            layers: self.layers.iter().map(count).collect(),
            chunk: CHUNK,
            files: self,
        }
    }

    /// Returns the depths and the files of the layers that are kept.
    fn files(&self) -> impl Iterator<Item = (u32, &dyn KeptLayer)> {
        (0..).zip(&self.layers).filter_map(|(depth, layer)| Some((depth, layer.files.as_deref()?)))
    }

    /// Returns the size of the table in bytes: one byte for each position of each coset.
    fn table_bytes(&self) -> u64 {
        u64::from(self.graph.len()) * u64::from(self.graph.shape().packed_bytes()) * 8
    }

    /// Reads all layers into a table, so that the lookup of a state reads one byte. Does nothing if the table
    /// exceeds `memory_bytes` or the files are on other hosts. Returns the first 16 states that two layers
    /// have, each with the larger depth.
    ///
    /// # Errors
    /// If a file is damaged.
    pub(super) fn tabulate(&mut self, memory_bytes: u64) -> Result<Vec<(u32, State)>> {
        const MOST: usize = 16;
        let mut twice = Vec::new();
        if self.is_far || self.table_bytes() > memory_bytes || self.layers.len() > usize::from(NONE) {
            return Ok(Vec::new());
        }
        let a_coset = self.graph.shape().packed_bytes() as usize * 8;
        let mut table = vec![NONE; self.graph.len() as usize * a_coset].into_boxed_slice();
        for (depth, files) in self.files() {
            files.for_each(&mut |(coset, position)| {
                let place = &mut table[coset.0 as usize * a_coset + position as usize];
                if *place != NONE && twice.len() < MOST {
                    twice.push((depth, (coset, position)));
                }
                *place = depth as u8;
            })?;
        }
        self.table = Some(table);
        Ok(twice.into_iter().map(|(depth, place)| (depth, self.state(place))).collect())
    }

    fn locate(&self, state: &State) -> Option<Place> {
        self.graph.locate(&self.graph.space().word_of_pieces(state)?)
    }

    /// Returns a stored state as a plain word.
    fn state(&self, (coset, position): Place) -> State {
        let space = self.graph.space();
        space.pieces(&self.graph.word_at(coset, position)).into()
    }
}

impl KeptFiles for CosetFiles {
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
        for (depth, files) in self.files() {
            found.extend(files.contain(&[(coset, position)])?[0].then_some(depth));
        }
        Ok(found)
    }

    /// If the files are on other hosts, looks all states up in one request.
    fn look_ahead(&self, states: &mut dyn Iterator<Item = State>) -> Result<HashMap<State, Vec<u32>>> {
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
            for (depth, files) in self.files() {
                let found = files.contain(&places)?;
                for ((state, _), _) in placed.iter().zip(found).filter(|(_, found)| *found) {
                    ahead.entry(state.clone()).or_default().push(depth);
                }
            }
        }
        Ok(ahead)
    }

    /// Draws each word as likely as any other, under a random symmetry.
    fn draw(&self, depth: u32, samples: Option<u64>, random: &mut fastrand::Rng) -> Result<Vec<State>> {
        let files =
            self.layers[depth as usize].files.as_deref().context("a layer that was opened is there")?;
        let mut places = Vec::new();
        match samples {
            None => files.for_each(&mut |place| places.push(place))?,
            Some(samples) => places = files.draw(samples, random)?,
        }
        Ok(places.into_iter().map(|place| renamed(&self.graph, place, random)).collect())
    }
}

/// Returns a stored state under a random symmetry.
pub(super) fn renamed(graph: &CosetGraph, (coset, position): Place, random: &mut fastrand::Rng) -> State {
    let space = graph.space();
    let symmetry = &space.symmetries()[random.usize(..space.symmetries().len())];
    space.pieces(&space.image(symmetry, &graph.word_at(coset, position))).into()
}
