//! The layers of a run by lists: states are looked up and drawn as the bytes that lists have.

use super::kept_layers::{Counts, KeptFiles, KeptLayers};
use super::plain_states::{Plain, State};
use super::{CHUNK, finished_layers};
use crate::directory::RunDirectory;
use crate::journal::{Files, LayerRow};
use crate::list_layers::{ListLayers, list_layers};
use crate::run::{Depth, ListedSpace, Lookback};
use anyhow::{Context, Result};
use fathom_layer::Disk;
use fathom_lists::{Packing, packing};
use fathom_space::Labels;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The approximate number of bytes of a state that is looked up ahead, besides its cells: its packed bytes, the depths
/// that are found, and the entries of the tables.
const LOOKUP_BYTES: u64 = 256;

/// The layers of a run by lists, as far as they are kept.
pub(super) struct ListFiles<'d> {
    reader: Mutex<Box<dyn ListLayers + 'd>>,
    /// The finished layers, by depth.
    layers: Vec<LayerRow>,
    letters: Letters,
    plain: &'d Plain,
}

/// Translates plain words to the bytes of lists, and back.
struct Letters {
    packing: Box<dyn Packing>,
    /// By cell: the number of its tables, which cells of one orbit share.
    orbit_of: Vec<usize>,
    /// By orbit: the symbol of each label and orientation.
    symbols: Vec<HashMap<(u16, u8), u64>>,
    /// By orbit: the label and the orientation of each symbol.
    pieces: Vec<HashMap<u64, (u16, u8)>>,
}

impl Letters {
    /// Makes the tables for labels that differ for pieces that their cells distinguish.
    fn new(space: &ListedSpace, of_pieces: &Labels) -> Self {
        let packing = packing(&space.puzzle, &space.labels);
        let mut orbit_of = vec![0; space.puzzle.cells];
        let (mut symbols, mut pieces) = (Vec::new(), Vec::new());
        for (number, orbit) in space.puzzle.orbits().into_iter().enumerate() {
            let (mut of_piece, mut of_symbol) = (HashMap::new(), HashMap::new());
            for &piece in &orbit {
                orbit_of[piece] = number;
                for turn in 0..space.puzzle.seen[piece] {
                    if let Some(symbol) = packing.symbol(piece, turn, orbit[0]) {
                        let letter = (of_pieces.of_pieces()[piece], turn as u8);
                        of_piece.insert(letter, symbol);
                        of_symbol.insert(symbol, letter);
                    }
                }
            }
            symbols.push(of_piece);
            pieces.push(of_symbol);
        }
        Self { packing, orbit_of, symbols, pieces }
    }

    /// Returns the bytes of a state; `None` if some piece never comes to its cell.
    fn packed(&self, state: &State) -> Option<Vec<u8>> {
        let symbol = |(letter, &orbit): (&(u16, u8), &usize)| self.symbols[orbit].get(letter).copied();
        let symbols = state.iter().zip(&self.orbit_of).map(symbol).collect::<Option<Vec<u64>>>()?;
        Some(self.packing.pack(&symbols))
    }

    /// Returns a word of the state with these bytes.
    ///
    /// # Errors
    /// If no state has them.
    fn word(&self, bytes: &[u8]) -> Result<State> {
        let symbols = self.packing.symbols(bytes);
        let letter = |(symbol, &orbit): (&u64, &usize)| self.pieces[orbit].get(symbol).copied();
        let word = symbols.iter().zip(&self.orbit_of).map(letter).collect::<Option<State>>();
        // Of the words of a state, lists have the one with the least bytes.
        word.filter(|word| self.packed(word).as_deref() == Some(bytes))
            .context("a list has bytes that are not those of a state: the run is wrong")
    }
}

impl<'d> ListFiles<'d> {
    /// Opens the layers of a run whose files are on this host. `plain` has the same labels as `of_pieces`.
    ///
    /// # Errors
    /// If there is no layer to read, or the store does not exist.
    pub(super) fn open(
        run: &RunDirectory,
        (space, of_pieces): (&ListedSpace, &Labels),
        plain: &'d Plain,
        disk: &'d dyn Disk,
    ) -> Result<Self> {
        let (_, layers) = finished_layers(run)?;
        let reader = list_layers(run, space, disk)?.context("the layers of the run are not on this host")?;
        Ok(Self { reader: Mutex::new(reader), layers, letters: Letters::new(space, of_pieces), plain })
    }

    /// Returns the layers as the laws read them. `is_complete` says whether they have all states; `memory_bytes` is for
    /// the states that `threads` threads look up at the same time.
    pub(super) fn kept(
        &self,
        (is_complete, lookback): (bool, Lookback),
        memory_bytes: u64,
        threads: usize,
    ) -> KeptLayers<'_> {
        let count = |layer: &LayerRow| Counts {
            states: layer.states,
            stored: layer.stored,
            is_kept: layer.files != Files::Removed,
        };
        let looked_up =
            (self.plain.neighbours() as u64 + 1) * (12 * self.plain.cells() as u64 + LOOKUP_BYTES);
        KeptLayers {
            is_complete,
            is_closed: lookback == Lookback::Two,
            layers: self.layers.iter().map(count).collect(),
            chunk: (memory_bytes / threads.max(1) as u64 / looked_up).max(CHUNK),
            files: self,
        }
    }

    /// Reads all states of a kept layer, and checks that their lists have none twice. Returns their number.
    ///
    /// # Errors
    /// If a file is damaged, or a state is out of place.
    pub(super) fn count(&self, depth: u32) -> Result<u64> {
        let mut states = 0;
        self.reader().each(Depth(depth), &mut |_| states += 1)?;
        Ok(states)
    }

    /// Returns a word of each of the states of a kept layer with these numbers, which increase.
    ///
    /// # Errors
    /// If a file is damaged, or a list has bytes of no state.
    pub(super) fn numbered(&self, depth: u32, numbers: &[u64]) -> Result<Vec<State>> {
        let states = self.reader().numbered(Depth(depth), numbers)?;
        states.iter().map(|bytes| self.letters.word(bytes)).collect()
    }

    fn reader(&self) -> MutexGuard<'_, Box<dyn ListLayers + 'd>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the depths of the kept layers that have each of these states.
    fn depths_of_each(&self, states: &[State]) -> Result<Vec<Vec<u32>>> {
        let mut depths = vec![Vec::new(); states.len()];
        let (mut packed, mut at) = (Vec::new(), Vec::new());
        for (number, state) in states.iter().enumerate() {
            if let Some(bytes) = self.letters.packed(state) {
                packed.push(bytes);
                at.push(number);
            }
        }
        for layer in self.layers.iter().filter(|layer| layer.files != Files::Removed) {
            let found = self.reader().contain(&packed, layer.depth)?;
            at.iter()
                .zip(found)
                .filter(|(_, found)| *found)
                .for_each(|(&at, _)| depths[at].push(layer.depth.0));
        }
        Ok(depths)
    }
}

impl KeptFiles for ListFiles<'_> {
    fn depths_of(&self, state: &State) -> Result<Vec<u32>> {
        Ok(self.depths_of_each(std::slice::from_ref(state))?.remove(0))
    }

    /// States that are looked up together share the blocks that are read for them.
    fn look_ahead(&self, states: &mut dyn Iterator<Item = State>) -> Result<HashMap<State, Vec<u32>>> {
        let states: HashSet<State> = states.collect();
        let states: Vec<State> = states.into_iter().collect();
        let depths = self.depths_of_each(&states)?;
        Ok(states.into_iter().zip(depths).collect())
    }

    /// Draws each state as likely as any other, as a random one of its words.
    fn draw(&self, depth: u32, samples: Option<u64>, random: &mut fastrand::Rng) -> Result<Vec<State>> {
        let all = self.layers[depth as usize].states;
        let mut numbers: Vec<u64> = match samples {
            None => (0..all).collect(),
            Some(samples) => (0..samples).map(|_| random.u64(..all)).collect(),
        };
        numbers.sort_unstable();
        let words = self.numbered(depth, &numbers)?;
        let of_each = self.plain.words_of_each() as usize;
        let renamed = |word: &State| self.plain.words_of(word).nth(random.usize(..of_each));
        words.iter().map(renamed).collect::<Option<_>>().context("each state has a word for each free move")
    }
}
