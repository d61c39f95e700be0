//! What the report of a shard can say, by bounds that cost nothing. A worker that reports something else has
//! no data, or lies.

use fathom_layer::{Digest, format};
use fathom_run::{Geometry, ShardReport};
use fathom_space::Space;

/// Bounds of the reports of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Which file holds what; `None` if there are no bounds.
    geometry: Option<Geometry>,
    /// Symmetries of the space: no orbit of cosets is larger.
    symmetries: u64,
    /// Free moves: so many words are one state.
    free: u64,
    /// States to which moves lead from one state, at most.
    successors: u64,
    /// Whether classes up to symmetry, and up to inversion, are counted; `None` as long as no layer tells.
    pub counted: Option<(bool, bool)>,
}

/// Why a report cannot be true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Implausible {
    /// The shard has another number of cosets.
    #[error("the shard has {expected} cosets, and the report has {found} checksums")]
    Cosets {
        /// Cosets of the shard.
        expected: usize,
        /// Checksums in the report.
        found: usize,
    },
    /// More or fewer stored states than the cosets with states can have.
    #[error("{stored} stored states cannot lie in {filled} cosets that have states, of at most {bits} each")]
    Stored {
        /// Stored states.
        stored: u64,
        /// Cosets that are not empty, by their checksums.
        filled: u64,
        /// Positions of a coset.
        bits: u64,
    },
    /// The number of states is none that the stored states can stand for.
    #[error("{stored} stored states cannot stand for {states} states under {symmetries} symmetries")]
    States {
        /// States.
        states: u64,
        /// Stored states.
        stored: u64,
        /// Symmetries.
        symmetries: u64,
    },
    /// More states than moves can lead to.
    #[error("{states} states are more than the {most} that moves can lead to")]
    Growth {
        /// States.
        states: u64,
        /// The upper bound.
        most: u64,
    },
    /// More states than are left.
    #[error("{states} states are more than the {left} that are left")]
    Left {
        /// States.
        states: u64,
        /// States that were not visited.
        left: u64,
    },
    /// Pairs of symmetries and states that cannot be.
    #[error("{pairs} pairs of a symmetry and a state are not possible with {states} states")]
    Pairs {
        /// Pairs.
        pairs: u64,
        /// States.
        states: u64,
    },
    /// Classes are counted here and not elsewhere, or the other way round.
    #[error("classes are counted in some layers, and not in others")]
    Counted,
    /// The file is smaller or larger than such states need.
    #[error("a file of {bytes} bytes cannot hold the shard, which takes {least} to {most}")]
    Bytes {
        /// Bytes of the file.
        bytes: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
}

/// Whether a report counts classes up to symmetry, and up to inversion as well.
pub fn counted(report: &ShardReport) -> (bool, bool) {
    let up_to_symmetry = report.totals.pairs.is_some();
    (up_to_symmetry, up_to_symmetry && report.totals.inverse_pairs.is_some())
}

impl Bounds {
    /// Those of a run.
    pub fn new(geometry: Geometry, space: &Space, counted: Option<(bool, bool)>) -> Self {
        Self {
            geometry: Some(geometry),
            symmetries: space.symmetries().len() as u64,
            free: space.free_order().into(),
            successors: fathom_engine::commit::most_successors(space),
            counted,
        }
    }

    /// No bounds: any report can be true. For rules of a run that is not opened yet.
    pub fn none() -> Self {
        Self { geometry: None, symmetries: 1, free: 1, successors: 1, counted: None }
    }

    /// Checks a report of the current layer. `newest` is the number of states of the layer before, if there
    /// is one, and `left` that of the states that are in no committed layer.
    ///
    /// # Errors
    /// The first bound that the report breaks.
    pub fn check(&self, report: &ShardReport, newest: Option<u64>, left: u64) -> Result<(), Implausible> {
        let Some(geometry) = self.geometry else {
            return Ok(());
        };
        let cosets = geometry.cut.range(report.task.shard).len();
        if report.checksums.len() != cosets {
            return Err(Implausible::Cosets { expected: cosets, found: report.checksums.len() });
        }
        let (stored, states) = (report.totals.stored, report.totals.states);
        let empty = Digest::of(&[]);
        let filled = report.checksums.iter().filter(|checksum| **checksum != empty).count() as u64;
        let bits = u64::from(geometry.packed_bytes) * 8;
        if stored < filled || u128::from(stored) > u128::from(filled) * u128::from(bits) {
            return Err(Implausible::Stored { stored, filled, bits });
        }
        let symmetries = self.symmetries;
        let is_too_many = u128::from(states) > u128::from(stored) * u128::from(symmetries);
        if is_too_many || u128::from(states) * u128::from(self.free) < u128::from(stored) {
            return Err(Implausible::States { states, stored, symmetries });
        }
        let most = newest.map_or(1, |newest| newest.saturating_mul(self.successors));
        if states > most {
            return Err(Implausible::Growth { states, most });
        }
        if states > left {
            return Err(Implausible::Left { states, left });
        }
        // Each state is fixed by the identity, and at most by all symmetries.
        if let Some(pairs) = report.totals.pairs
            && (pairs < states || u128::from(pairs) > u128::from(states) * u128::from(symmetries))
        {
            return Err(Implausible::Pairs { pairs, states });
        }
        if let Some(pairs) = report.totals.inverse_pairs
            && u128::from(pairs) > u128::from(states) * u128::from(symmetries)
        {
            return Err(Implausible::Pairs { pairs, states });
        }
        if self.counted.is_some_and(|expected| expected != counted(report)) {
            return Err(Implausible::Counted);
        }
        let (least, most) = format::file_bytes(cosets as u32, filled as u32, geometry.packed_bytes);
        if !(least..=most).contains(&report.bytes) {
            return Err(Implausible::Bytes { bytes: report.bytes, least, most });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
