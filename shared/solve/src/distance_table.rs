//! Files with the distance of every state by its number ([`StateRanks`]): `fathom table` writes them, and `solve`,
//! `distance` and programs of others read them. docs/tables.md describes the file.

use super::layer_distances::LayerDistances;
use super::model::SolveModel;
use super::space_words::SpaceWords;
use super::state_ranks::{RankedOrbit, StateRanks};
use anyhow::{Context, Result, ensure};
use fathom_command::bad_input;
use fathom_engine::run::{PuzzleTable, SpaceSpec};
use fathom_layer::map::Map;
use fathom_puzzle::Definition;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

/// The first bytes of a file.
pub const MAGIC: [u8; 8] = *b"FATHOMDT";

/// The version of the format.
pub const VERSION: u32 = 1;

/// The bytes before the description: magic, version, length of the description.
const PREFIX: usize = 16;

/// The data begin at a multiple of this.
const ALIGNMENT: usize = 4096;

/// The description at the beginning of a file, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// The puzzle, the metric and the labels.
    pub space: PuzzleTable,
    /// The numbers of states.
    pub orbits: Vec<RankedOrbit>,
    /// The number of entries.
    pub entries: u64,
    /// The bits of an entry: 4 or 8. The first of two entries in a byte has the lower four bits.
    pub bits: u8,
    /// The entry of a number that is no state, or none that moves reach.
    pub none: u8,
    /// The number of states.
    pub states: u64,
    /// The largest distance.
    pub largest: u32,
    /// The digest of the run.
    pub digest: String,
    /// BLAKE3 of the entries.
    pub blake3: String,
}

/// The distances of all states while they are found.
#[derive(Debug)]
pub struct TableMaker {
    ranks: StateRanks,
    bits: u8,
    entries: Vec<AtomicU8>,
}

impl TableMaker {
    /// Creates a table without states, for distances up to `largest`; `None` if there are more than 254 of them.
    pub fn new(ranks: StateRanks, largest: u32) -> Option<Self> {
        let bits = match largest {
            0..15 => 4,
            15..255 => 8,
            _ => return None,
        };
        let bytes = ranks.total().div_ceil(8 / u64::from(bits));
        let entries = (0..bytes).map(|_| AtomicU8::new(u8::MAX)).collect();
        Some(Self { ranks, bits, entries })
    }

    /// Returns the memory of a table in bytes.
    pub fn bytes(ranks: &StateRanks, largest: u32) -> u64 {
        ranks.total().div_ceil(if largest < 15 { 2 } else { 1 })
    }

    /// Notes the distances of all states of these layers, whose files must exist.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub(crate) fn add_layers(
        &self,
        kept: &mut LayerDistances<'_>,
        words: &SpaceWords<'_>,
        cells: usize,
        depths: impl IntoIterator<Item = u32>,
    ) -> Result<()> {
        for depth in depths {
            let note = |words: Vec<u8>| {
                self.add(&words, cells, depth);
                Vec::new()
            };
            kept.each_state(depth, words, &note, &mut |_| Ok(true))?;
        }
        Ok(())
    }

    /// Notes the distance of states, given as words of the model, one behind the other. No state may be noted twice.
    fn add(&self, words: &[u8], cells: usize, distance: u32) {
        for word in words.chunks_exact(cells) {
            let rank = self.ranks.rank(word);
            match self.bits {
                // All bits are set before.
                4 => {
                    let shift = (rank & 1) * 4;
                    let unset = (!distance as u8 & 15) << shift;
                    self.entries[(rank >> 1) as usize].fetch_and(!unset, Ordering::Relaxed);
                }
                _ => self.entries[rank as usize].store(distance as u8, Ordering::Relaxed),
            }
        }
    }

    /// Returns the distance that was noted for a state, given as any word of the model's pieces; `None` if there is none.
    pub fn distance(&self, word: &[u8]) -> Option<u32> {
        if !self.ranks.has(word) {
            return None;
        }
        let byte = |at: usize| self.entries[at].load(Ordering::Relaxed);
        entry(byte, self.bits == 4, self.ranks.rank(word), none(self.bits))
    }

    /// Returns the number of states whose distances were noted.
    pub fn states(&self) -> u64 {
        let of_byte = |entry: &AtomicU8| {
            let entry = entry.load(Ordering::Relaxed);
            match self.bits {
                4 => u64::from(entry & 15 != 15) + u64::from(entry >> 4 != 15),
                _ => u64::from(entry != u8::MAX),
            }
        };
        self.entries.iter().map(of_byte).sum()
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(
        self,
        spec: &SpaceSpec,
        (states, largest, digest): (u64, u32, String),
        out: &mut dyn Write,
    ) -> Result<()> {
        let bytes: Vec<u8> = self.entries.into_iter().map(AtomicU8::into_inner).collect();
        let head = Head {
            space: PuzzleTable::new(spec),
            orbits: self.ranks.orbits().to_vec(),
            entries: self.ranks.total(),
            bits: self.bits,
            none: none(self.bits),
            states,
            largest,
            digest,
            blake3: blake3::hash(&bytes).to_string(),
        };
        let mut text = serde_json::to_string(&head)?;
        let padded = (PREFIX + text.len() + 1).next_multiple_of(ALIGNMENT) - PREFIX - 1;
        text.extend(std::iter::repeat_n(' ', padded - text.len()));
        text.push('\n');
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(text.len() as u32).to_le_bytes())?;
        out.write_all(text.as_bytes())?;
        out.write_all(&bytes)?;
        Ok(())
    }
}

/// A table that is open for reading.
#[derive(Debug)]
pub struct DistanceTable {
    head: Head,
    spec: SpaceSpec,
    begin: usize,
    map: Map,
}

impl DistanceTable {
    /// Returns whether a file begins like a table.
    pub fn is_one(path: &Path) -> bool {
        let mut begin = [0; MAGIC.len()];
        File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == MAGIC
    }

    /// Opens a table, and checks its entries.
    ///
    /// # Errors
    /// If the file cannot be read, is no table, or is damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let map = Map::open(path).map_err(|error| bad_input!("{shown}: cannot be read: {error}"))?;
        let bytes = map.bytes();
        let is_whole = bytes.len() >= PREFIX && bytes[..8] == MAGIC;
        if !is_whole {
            return Err(bad_input!(
                "{shown} is not a table of distances. Make one with 'fathom table RUN -o FILE'"
            ));
        }
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        ensure!(
            number(8) == VERSION,
            "{shown} has version {} of the format; this program reads {VERSION}",
            number(8)
        );
        let begin = PREFIX + number(12) as usize;
        let text = bytes.get(PREFIX..begin).with_context(|| format!("{shown} is cut off"))?;
        let head: Head = serde_json::from_slice(text).with_context(|| format!("{shown}: bad description"))?;
        let length = match head.bits {
            4 => head.entries.div_ceil(2),
            8 => head.entries,
            bits => anyhow::bail!("{shown}: entries of {bits} bits"),
        };
        ensure!(
            (bytes.len() - begin) as u64 == length,
            "{shown} has {} bytes of entries instead of {length}",
            bytes.len() - begin
        );
        ensure!(
            blake3::hash(&bytes[begin..]).to_string() == head.blake3,
            "{shown} is damaged: its entries have another checksum. Make it again"
        );
        let spec = head.space.clone().spec().with_context(|| format!("{shown}: bad description"))?;
        Ok(Self { head, spec, begin, map })
    }

    /// Returns the description.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the space.
    pub fn spec(&self) -> &SpaceSpec {
        &self.spec
    }

    /// Returns what looks up the states of a model of the same puzzle, whose labels may be finer.
    ///
    /// # Errors
    /// If the table is of another puzzle or metric, or distinguishes pieces that look alike in the model.
    pub fn for_model(&self, model: &SolveModel, spec: &SpaceSpec) -> Result<TableOfModel<'_>> {
        Ok(TableOfModel {
            ranks: self.ranks(model, spec)?,
            none: self.head.none,
            is_packed: self.head.bits == 4,
            entries: &self.map.bytes()[self.begin..],
        })
    }

    /// Returns the numbers of the states of a model of the same puzzle, as [`DistanceTable::for_model`] uses them.
    ///
    /// # Errors
    /// As for [`DistanceTable::for_model`].
    pub fn ranks(&self, model: &SolveModel, spec: &SpaceSpec) -> Result<StateRanks> {
        let definition = self.spec.source.definition(self.spec.metric)?;
        let rules = |of: &Definition| {
            (of.moves().to_vec(), of.free().to_vec(), of.always().to_vec(), of.never().to_vec())
        };
        if rules(&definition) != rules(model.definition()) || self.spec.metric != spec.metric {
            return Err(bad_input!(
                "the table is of {}, not of {spec}: make one of the same puzzle in the same metric, with the same moves",
                self.spec
            ));
        }
        // Where the group does not say which states moves reach, bounds would rise without end for the others.
        if self.spec != *spec && !model.is_group() {
            return Err(bad_input!(
                "pieces of {spec} look alike, or its moves have guards, and the table has other labels: make one with the same labels"
            ));
        }
        let seen = |definition: &Definition, piece: usize| definition.solved()[piece].seen;
        let mut coarser = HashMap::new();
        for (piece, &fine) in spec.labels.of_pieces().iter().enumerate() {
            let coarse = self.spec.labels.of_pieces()[piece];
            let hides = !seen(model.definition(), piece).is_multiple_of(seen(&definition, piece));
            if hides || *coarser.entry(fine).or_insert(coarse) != coarse {
                return Err(bad_input!(
                    "the table distinguishes pieces or orientations that look alike in {spec}"
                ));
            }
        }
        let ranks = StateRanks::new(model, &definition, &self.spec.labels);
        let ranks = ranks.filter(|ranks| ranks.orbits() == self.head.orbits);
        ranks.context("the table numbers states in another way. Make it again")
    }

    /// Returns the distance of the state with a number; `None` if moves do not reach it.
    pub fn distance(&self, rank: u64) -> Option<u32> {
        let entries = &self.map.bytes()[self.begin..];
        entry(|at| entries[at], self.head.bits == 4, rank, self.head.none)
    }
}

/// A table that looks up the words of a model. With the labels of the table, distances are exact; with finer labels, they
/// are lower bounds.
#[derive(Debug)]
pub struct TableOfModel<'a> {
    ranks: StateRanks,
    none: u8,
    is_packed: bool,
    entries: &'a [u8],
}

impl TableOfModel<'_> {
    /// Returns the distance of a state, given as any word of the model's pieces; `None` if moves do not reach it.
    pub fn distance_of_any(&self, word: &[u8]) -> Option<u32> {
        self.ranks.has(word).then(|| self.distance(word)).flatten()
    }

    /// Returns the distance of a state; `None` if moves do not reach it. Orientations must add up as
    /// [`StateRanks::has`] requires.
    #[inline]
    pub fn distance(&self, word: &[u8]) -> Option<u32> {
        entry(|at| self.entries[at], self.is_packed, self.ranks.rank(word), self.none)
    }
}

/// Returns the entry of a number that is no state, for entries of 4 or 8 bits.
fn none(bits: u8) -> u8 {
    if bits == 4 { 15 } else { u8::MAX }
}

/// Returns the distance at a number, from the bytes of a table.
#[inline]
fn entry(byte: impl Fn(usize) -> u8, is_packed: bool, rank: u64, none: u8) -> Option<u32> {
    let entry = match is_packed {
        true => byte((rank >> 1) as usize) >> ((rank & 1) * 4) & 15,
        false => byte(rank as usize),
    };
    (entry != none).then_some(entry.into())
}
