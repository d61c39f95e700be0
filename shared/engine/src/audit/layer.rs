//! Finished layers, wherever their files are.

use crate::task::{Layer, Words};
use anyhow::{Context, Result};
use fathom_space::{CosetGraph, CosetId};
use std::sync::Arc;

/// The place of a state in a layer: the coset, and the position in the coset.
pub type Place = (CosetId, u32);

/// A finished layer that an audit can read.
pub trait KeptLayer: Send + Sync {
    /// Returns, for each of these places, whether the layer has a state there.
    ///
    /// # Errors
    /// If the layer cannot be read.
    fn contain(&self, places: &[Place]) -> Result<Vec<bool>>;

    /// Draws `samples` stored states at random, such that each word of the layer is as likely as any other. A
    /// stored state is therefore weighted by the size of its coset's orbit.
    ///
    /// # Errors
    /// If the layer cannot be read, or has no states.
    fn draw(&self, samples: u64, random: &mut fastrand::Rng) -> Result<Vec<Place>>;

    /// Calls `show` with the place of each stored state.
    ///
    /// # Errors
    /// If the layer cannot be read.
    fn for_each(&self, show: &mut dyn FnMut(Place)) -> Result<()>;
}

/// A layer whose files are all on this host.
pub(super) struct OnDisk {
    pub(super) layer: Arc<Layer>,
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
