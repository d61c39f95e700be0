//! Finished layers, wherever their files are.

use anyhow::{Context, Result};
use fathom_space::{CosetGraph, CosetId};
use fathom_task::{Layer, Words};
use std::sync::Arc;

/// The place at which a layer stores a state: the coset, and the position in the coset.
pub type Place = (CosetId, u32);

/// A finished layer that an audit looks into.
pub trait KeptLayer: Send + Sync {
    /// Whether the layer has a state at each of these places.
    ///
    /// # Errors
    /// If the layer cannot be read.
    fn contain(&self, places: &[Place]) -> Result<Vec<bool>>;

    /// Random stored states, so that each word of the layer is as likely as any other.
    ///
    /// # Errors
    /// If the layer cannot be read, or has no states.
    fn draw(&self, samples: u64, random: &mut fastrand::Rng) -> Result<Vec<Place>>;

    /// Shows each stored state.
    ///
    /// # Errors
    /// If the layer cannot be read.
    fn for_each(&self, show: &mut dyn FnMut(Place)) -> Result<()>;
}

/// A layer whose files are all here.
pub(super) struct OnDisk {
    pub(super) layer: Layer,
    pub(super) graph: Arc<CosetGraph>,
}

impl KeptLayer for OnDisk {
    fn contain(&self, places: &[Place]) -> Result<Vec<bool>> {
        let look = |&(coset, position): &Place| Ok(self.layer.coset(coset)?.contains(position));
        places.iter().map(look).collect()
    }

    fn draw(&self, samples: u64, random: &mut fastrand::Rng) -> Result<Vec<Place>> {
        let states = |coset| Ok(self.layer.states(coset)?.0);
        let words = Words::count(&self.graph, 0..self.graph.len(), states)?;
        anyhow::ensure!(words.number() > 0, "the layer has no states");
        let draw = |_| {
            let word = random.u128(..words.number());
            let place = words.place(&self.graph, word, |coset| self.layer.coset(coset))?;
            place.context("a coset has fewer states than its file says")
        };
        (0..samples).map(draw).collect()
    }

    fn for_each(&self, show: &mut dyn FnMut(Place)) -> Result<()> {
        for coset in (0..self.graph.len()).map(CosetId) {
            self.layer.coset(coset)?.positions().for_each(|position| show((coset, position)));
        }
        Ok(())
    }
}
