//! Laws that the counts of every layer satisfy. Counts that break them are wrong.

use crate::journal::LayerRow;
use crate::run::RunSpace;
use anyhow::{Result, anyhow};
use fathom_layer::Totals;

/// The numbers of classes of a layer, as far as they were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// The number of states up to symmetry.
    pub up_to_symmetry: Option<u64>,
    /// The number of states up to symmetry and inversion.
    pub with_inverse: Option<u64>,
}

impl Classes {
    /// Computes the numbers of classes by Burnside's lemma: the number of pairs of a symmetry and a state
    /// that it fixes, divided by the number of symmetries. With inversion the group is twice as large, and
    /// its other half contributes the pairs of a symmetry and a state that the symmetry maps to its inverse.
    ///
    /// # Errors
    /// If a number of pairs is not a multiple of the order of the group; the string is the reason.
    pub fn new(totals: &Totals, symmetries: u64) -> Result<Self, String> {
        let ratio = |pairs: u64, symmetries: u64| match pairs.is_multiple_of(symmetries) {
            true => Ok(pairs / symmetries),
            false => Err(format!("{pairs} fixed states are not a multiple of {symmetries} symmetries")),
        };
        let Totals { pairs, inverse_pairs, .. } = *totals;
        let of_both = pairs.zip(inverse_pairs).map(|(pairs, inverse_pairs)| pairs + inverse_pairs);
        Ok(Self {
            up_to_symmetry: pairs.map(|pairs| ratio(pairs, symmetries)).transpose()?,
            with_inverse: of_both.map(|pairs| ratio(pairs, 2 * symmetries)).transpose()?,
        })
    }
}

/// Checks that a layer is not too large to follow the last of `layers`: depth 0 has the start states, and each state of
/// a later layer is one move from the layer before.
///
/// # Errors
/// If the layer is too large.
pub(crate) fn check_growth(layer: &LayerRow, layers: &[LayerRow], space: &RunSpace) -> Result<()> {
    let most = match layers.last() {
        None => space.starts(),
        Some(newest) => newest.states.saturating_mul(space.most_successors()),
    };
    if layer.states > most {
        return Err(anyhow!(
            "the counts are impossible: {} states at depth {}, where moves lead to at most {most}. The run is wrong: do not use its results",
            layer.states,
            layer.depth
        ));
    }
    Ok(())
}
