//! What the laws read of the layers that a run has kept, whichever engine has made them: their counts, and the
//! depths of states in them.

use super::plain_states::State;
use anyhow::Result;
use std::collections::HashMap;

/// A finished layer by its counts.
pub(super) struct Counts {
    /// The number of states.
    pub(super) states: u64,
    /// The number of states in the stored representatives.
    pub(super) stored: u64,
    /// Whether its files are kept.
    pub(super) is_kept: bool,
}

/// The files of the kept layers.
pub(super) trait KeptFiles: Sync {
    /// Returns the depths of the kept layers that have a state: at most one, if the layers are correct.
    ///
    /// # Errors
    /// If a layer cannot be read.
    fn depths_of(&self, state: &State) -> Result<Vec<u32>>;

    /// Returns the same for many states, if that is faster than to look them up one by one.
    ///
    /// # Errors
    /// If a layer cannot be read.
    fn look_ahead(&self, states: &mut dyn Iterator<Item = State>) -> Result<HashMap<State, Vec<u32>>>;

    /// Returns `samples` random states of a kept layer, or all stored ones, each under a random renaming that
    /// the engine takes to be the same state.
    ///
    /// # Errors
    /// If the layer cannot be read, or has no states.
    fn draw(&self, depth: u32, samples: Option<u64>, random: &mut fastrand::Rng) -> Result<Vec<State>>;
}

/// The finished layers of a run, open for reading as far as they are kept.
pub(super) struct KeptLayers<'d> {
    /// The finished layers, by depth.
    pub(super) layers: Vec<Counts>,
    /// Whether the finished layers have all states of the space.
    pub(super) is_complete: bool,
    /// Whether the moves are closed under inverses, so that the depths of neighbours differ by at most one.
    pub(super) is_closed: bool,
    /// The largest number of states that a thread takes at a time.
    pub(super) chunk: u64,
    pub(super) files: &'d dyn KeptFiles,
}

impl KeptLayers<'_> {
    /// Returns the depth of the last finished layer.
    pub(super) fn last(&self) -> u32 {
        self.layers.len() as u32 - 1
    }

    /// Returns whether the files of a finished layer are kept.
    pub(super) fn has(&self, depth: u32) -> bool {
        self.layers.get(depth as usize).is_some_and(|layer| layer.is_kept)
    }

    /// Returns the depths whose layers are kept.
    pub(super) fn depths(&self) -> impl Iterator<Item = u32> {
        (0..=self.last()).filter(|&depth| self.has(depth))
    }

    /// Returns whether the layers of all these depths are kept.
    pub(super) fn has_all(&self, depths: std::ops::RangeInclusive<u32>) -> bool {
        depths.into_iter().all(|depth| self.has(depth))
    }

    /// Prepares lookups of these states.
    ///
    /// # Errors
    /// If a layer cannot be read.
    pub(super) fn look_ahead(&self, mut states: impl Iterator<Item = State>) -> Result<Lookup<'_>> {
        Ok(Lookup { kept: self, ahead: self.files.look_ahead(&mut states)? })
    }
}

/// Lookups of depths; some states were looked up ahead.
pub(super) struct Lookup<'a> {
    pub(super) kept: &'a KeptLayers<'a>,
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
            None => self.kept.files.depths_of(state),
        }
    }
}
