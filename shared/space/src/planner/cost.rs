//! What a search takes, as a model.

use crate::Space;
use crate::counting::Fixed;

/// The model of a search's time: nanoseconds of one thread, rates rounded from `fathom bench` on a 2024
/// server core. It need only rank colourings. The choice is part of what defines a run, so a change of the
/// numbers is a new version.
#[derive(Clone, Copy, Debug)]
pub(super) struct CostModel {
    /// What `run.toml` calls the model.
    pub(super) name: &'static str,
    /// Layers whose cosets are dense.
    pub(super) dense_layers: f64,
    /// Layers in which every coset is looked at.
    pub(super) all_layers: f64,
    /// Finding the representative of a pattern, by a table.
    pub(super) find_by_table: f64,
    /// The same by trying symmetries, for each of them.
    pub(super) find_by_symmetry: f64,
    /// Looking at a coset, and at a source of it.
    pub(super) look_at_coset: f64,
    pub(super) look_at_source: f64,
    /// A pull, whatever its size.
    pub(super) pull: f64,
    /// Finding the transform of a pull along axes of what is reached.
    pub(super) listed_transform: f64,
    /// A row of up to 32 bits, of up to 64, and each word of a longer one.
    pub(super) row_32: f64,
    pub(super) row_64: f64,
    pub(super) word_of_a_long_row: f64,
    /// The same of rows that are blocks.
    pub(super) block_32: f64,
    pub(super) block_64: f64,
    /// A bit of the fastest rows.
    pub(super) fastest_bit: f64,
    /// A byte of a map, as it is made.
    pub(super) map_byte: f64,
    /// An entry of a map along an axis of what is reached, as it is made, and how many such maps an axis
    /// has.
    pub(super) map_entry: f64,
    pub(super) maps: f64,
    /// Looking at a state that a symmetry may fix, which is done where the symmetry is not used, and one in
    /// how many states that is at worst.
    pub(super) look_at_fixed: f64,
    pub(super) fixed: f64,
    /// What does not matter.
    pub(super) negligible: f64,
    /// Writing a coset, and a byte of it.
    pub(super) write_coset: f64,
    pub(super) write_byte: f64,
}

impl CostModel {
    /// The first numbers, those of axes of what is reached, and for these what unused symmetries cost.
    pub(super) const V3: Self = Self {
        name: "v3",
        dense_layers: 5.0,
        all_layers: 15.0,
        find_by_table: 60.0,
        find_by_symmetry: 10.0,
        look_at_coset: 1_500.0,
        look_at_source: 60.0,
        pull: 150.0,
        listed_transform: 200.0,
        row_32: 3.0,
        row_64: 6.0,
        word_of_a_long_row: 16.0,
        block_32: 8.0,
        block_64: 16.0,
        fastest_bit: 0.1,
        map_byte: 2.0,
        map_entry: 40.0,
        maps: 200.0,
        look_at_fixed: 1_000.0,
        fixed: 16.0,
        negligible: 2e7,
        write_coset: 1_000.0,
        write_byte: 1.0,
    };

    /// Up to here a choice costs about as much as one of this cost.
    pub(super) fn near(&self, nanoseconds: f64) -> f64 {
        nanoseconds * 1.25 + self.negligible
    }

    /// Counting classes of so many states where some symmetries are not used.
    pub(super) fn unused(&self, words: f64) -> f64 {
        (words / self.fixed).min(Fixed::MOST_CROSSING as f64) * self.look_at_fixed
    }

    /// A search that finds representatives by trying symmetries, where a pull takes `pull` and a coset has so
    /// many bytes.
    pub(super) fn search(&self, pulls: f64, cosets: f64, symmetries: f64, pull: f64, bytes: f64) -> f64 {
        pulls * symmetries * self.find_by_symmetry + self.layers(pulls, cosets, pull, bytes)
    }

    /// Listing so many cosets: by a table with so many entries, or, with none, by trying symmetries for each
    /// move.
    pub(super) fn listing(&self, space: &Space, entries: u64, cosets: u64, symmetries: usize) -> f64 {
        let pulls = cosets as f64 * space.moves().len() as f64;
        match entries {
            0 => pulls * (self.find_by_table + symmetries as f64 * self.find_by_symmetry),
            entries => entries as f64 * self.find_by_table + pulls * self.find_by_table,
        }
    }

    /// All layers.
    pub(super) fn layers(&self, pulls: f64, cosets: f64, pull: f64, bytes: f64) -> f64 {
        // Empty cosets and sources are looked at, too.
        let look = self.all_layers * (cosets * self.look_at_coset + pulls * self.look_at_source);
        look + self.dense_layers * (pulls * pull + cosets * (self.write_coset + self.write_byte * bytes))
    }
}
