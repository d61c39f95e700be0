//! Cheap bounds on the report of a shard. A worker whose report violates one is faulty or malicious.

use fathom_engine::run::{Geometry, ShardReport};
use fathom_layer::{Digest, format};
use fathom_space::Space;

/// The bounds on the reports of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The partition into shards and the size of cosets; `None` if there are no bounds.
    geometry: Option<Geometry>,
    /// Number of symmetries of the space, the largest possible size of an orbit of cosets.
    symmetries: u64,
    /// Number of zero-cost moves: at most this many state vectors represent one state.
    free: u64,
    /// Largest possible number of successors of a state.
    successors: u64,
    /// Number of states that the run watches.
    watched: usize,
    /// Whether the reports count classes up to symmetry, and also up to inversion; `None` before the first
    /// layer is committed.
    pub counted: Option<(bool, bool)>,
}

/// Why a report cannot be true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Implausible {
    /// The number of checksums is not the number of cosets.
    #[error("the shard has {expected} cosets, and the report has {found} checksums")]
    Cosets {
        /// Cosets of the shard.
        expected: usize,
        /// Checksums in the report.
        found: usize,
    },
    /// More or fewer stored states than the nonempty cosets can have.
    #[error("{stored} stored states do not fit into {filled} nonempty cosets of at most {bits} each")]
    Stored {
        /// Stored states.
        stored: u64,
        /// Cosets that are not empty, according to their checksums.
        filled: u64,
        /// Number of positions of a coset.
        bits: u64,
    },
    /// The number of states is not compatible with the number of stored states.
    #[error("{stored} stored states cannot represent {states} states under {symmetries} symmetries")]
    States {
        /// States.
        states: u64,
        /// Stored states.
        stored: u64,
        /// Symmetries.
        symmetries: u64,
    },
    /// More states than moves from the layer before can lead to.
    #[error("{states} states exceed the {most} that can be reached by a move")]
    Growth {
        /// States.
        states: u64,
        /// The upper bound.
        most: u64,
    },
    /// More states than have not been visited.
    #[error("{states} states exceed the {left} unvisited ones")]
    Left {
        /// States.
        states: u64,
        /// Number of states that are in no committed layer.
        left: u64,
    },
    /// The number of pairs of a symmetry and a state that it fixes is impossible.
    #[error("{pairs} pairs of a symmetry and a state are impossible with {states} states")]
    Pairs {
        /// Pairs.
        pairs: u64,
        /// States.
        states: u64,
    },
    /// A watched state that the run does not watch, or more of them than it watches.
    #[error("the report lists {found} watched states, but the run watches {watched}")]
    Watched {
        /// Number of watched states in the report.
        found: usize,
        /// Number of states that the run watches.
        watched: usize,
    },
    /// Classes are counted in this report but not in other layers, or the other way round.
    #[error("classes are counted in some layers, and not in others")]
    Counted,
    /// The size of the file is impossible for these cosets.
    #[error("a file of {bytes} bytes cannot hold the shard, which takes {least} to {most}")]
    Bytes {
        /// Bytes of the file.
        bytes: u64,
        /// The smallest possible size.
        least: u64,
        /// The largest possible size.
        most: u64,
    },
}

/// Returns whether a report counts classes up to symmetry, and whether it also counts them up to inversion.
pub fn counted(report: &ShardReport) -> (bool, bool) {
    let up_to_symmetry = report.totals.pairs.is_some();
    (up_to_symmetry, up_to_symmetry && report.totals.inverse_pairs.is_some())
}

impl Bounds {
    /// Returns the bounds for a space with `watched` watched states. `counted` is as in [`Bounds::counted`].
    pub fn new(geometry: Geometry, space: &Space, watched: usize, counted: Option<(bool, bool)>) -> Self {
        Self {
            geometry: Some(geometry),
            symmetries: space.symmetries().len() as u64,
            free: space.free_order().into(),
            successors: fathom_engine::run::most_successors(space),
            watched,
            counted,
        }
    }

    /// Returns bounds that any report satisfies, for the rules of a run that is not opened yet.
    pub fn none() -> Self {
        Self { geometry: None, symmetries: 1, free: 1, successors: 1, watched: 0, counted: None }
    }

    /// Checks a report of the current layer. `newest` is the number of states of the layer before, if there
    /// is one, and `left` is the number of states that are in no committed layer.
    ///
    /// # Errors
    /// The first bound that the report violates.
    pub fn check(&self, report: &ShardReport, newest: Option<u64>, left: u64) -> Result<(), Implausible> {
        let Some(geometry) = self.geometry else {
            return Ok(());
        };
        let cosets = geometry.cut.range(report.task.shard).len();
        if report.checksums.len() != cosets {
            return Err(Implausible::Cosets { expected: cosets, found: report.checksums.len() });
        }
        let (stored, states) = (report.totals.stored, report.totals.states);
        let empty = Digest::new(&[]);
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
        // The identity fixes each state, and at most all symmetries do.
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
        let (found, watched) = (report.watched.len(), self.watched);
        if found > watched || report.watched.iter().any(|&number| number as usize >= watched) {
            return Err(Implausible::Watched { found, watched });
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
