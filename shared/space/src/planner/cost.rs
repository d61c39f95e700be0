//! A model of the time that a search takes.

use crate::Space;
use crate::counting::MAX_CROSSING;

/// The model of a search's time. Times are in nanoseconds of one thread; the rates are rounded from
/// measurements with `fathom bench` on a 2024 server core. The model only has to rank colourings. A plan is
/// recorded, so changing the numbers does not affect runs that have started.
#[derive(Clone, Copy, Debug)]
pub(super) struct CostModel {
    /// Number of layers whose cosets are dense.
    pub(super) dense_layers: f64,
    /// Number of layers in which every coset is examined.
    pub(super) all_layers: f64,
    /// Time to find the representative of a pattern by a table.
    pub(super) find_by_table: f64,
    /// Time to find the representative by trying symmetries, for each symmetry.
    pub(super) find_by_symmetry: f64,
    /// Time to examine a coset, and to examine a source of a coset.
    pub(super) look_at_coset: f64,
    pub(super) look_at_source: f64,
    /// Time of a pull, whatever its size.
    pub(super) pull: f64,
    /// Time to find the transform of a pull along axes of reachable words.
    pub(super) listed_transform: f64,
    /// Time to pull a row of up to 32 bits, of up to 64 bits, and each 64-bit word of a longer row.
    pub(super) row_32: f64,
    pub(super) row_64: f64,
    pub(super) word_of_a_long_row: f64,
    /// Time to pull a row where all axes have at most 32 entries.
    pub(super) row_in_planes: f64,
    /// Time to pull a row that is a block, of up to 32 and of up to 64 bits.
    pub(super) block_32: f64,
    pub(super) block_64: f64,
    /// Time to pull a bit of the fastest rows.
    pub(super) fastest_bit: f64,
    /// Time to compute a byte of a map.
    pub(super) map_byte: f64,
    /// Time to compute an entry of a map along an axis of reachable words, and the least number of such maps
    /// of an axis.
    pub(super) map_entry: f64,
    pub(super) maps: f64,
    /// Time that planning may take for each word of the space.
    pub(super) plan_word: f64,
    /// Time of the planner to find the group that keeps a set of pieces, and to list a word of an axis.
    pub(super) keep_set: f64,
    pub(super) list_word: f64,
    /// Time to examine a state that a symmetry may fix, if the symmetry is not used; and the number of
    /// states of which, at worst, one is examined.
    pub(super) look_at_fixed: f64,
    pub(super) fixed: f64,
    /// The largest difference in time that does not matter.
    pub(super) negligible: f64,
    /// Time to write a coset, and to write a byte of it.
    pub(super) write_coset: f64,
    pub(super) write_byte: f64,
}

impl CostModel {
    /// The measured rates.
    pub(super) const MEASURED: Self = Self {
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
        row_in_planes: 0.5,
        block_32: 8.0,
        block_64: 16.0,
        fastest_bit: 0.1,
        map_byte: 2.0,
        map_entry: 40.0,
        maps: 200.0,
        plan_word: 50.0,
        keep_set: 200_000.0,
        list_word: 300.0,
        look_at_fixed: 1_000.0,
        fixed: 16.0,
        negligible: 2e7,
        write_coset: 1_000.0,
        write_byte: 1.0,
    };

    /// Returns the cost up to which choices are about as good as one that costs `nanoseconds`.
    pub(super) fn near(&self, nanoseconds: f64) -> f64 {
        nanoseconds * 1.25 + self.negligible
    }

    /// Returns the time that it may take to choose a candidate for a space with `words` words, if a search
    /// with the best one does not take longer.
    pub(super) fn planning(&self, words: f64) -> f64 {
        self.negligible.max(words * self.plan_word)
    }

    /// Returns the time to count the classes of a space with `words` words if some symmetries are not used.
    pub(super) fn unused(&self, words: f64) -> f64 {
        (words / self.fixed).min(MAX_CROSSING as f64) * self.look_at_fixed
    }

    /// Returns the time of a search that finds representatives by trying symmetries. `pull` is the time of a
    /// pull, and `bytes` the size of a coset.
    pub(super) fn search(&self, pulls: f64, cosets: f64, symmetries: f64, pull: f64, bytes: f64) -> f64 {
        pulls * symmetries * self.find_by_symmetry + self.layers(pulls, cosets, pull, bytes)
    }

    /// Returns the time to list `cosets` cosets: by a table with `entries` entries or, if `entries` is 0, by
    /// trying symmetries for each move.
    pub(super) fn listing(&self, space: &Space, entries: u64, cosets: u64, symmetries: usize) -> f64 {
        let pulls = cosets as f64 * space.moves().len() as f64;
        match entries {
            0 => pulls * (self.find_by_table + symmetries as f64 * self.find_by_symmetry),
            entries => entries as f64 * self.find_by_table + pulls * self.find_by_table,
        }
    }

    /// Returns the time of all layers.
    pub(super) fn layers(&self, pulls: f64, cosets: f64, pull: f64, bytes: f64) -> f64 {
        // Empty cosets and sources are examined, too.
        let look = self.all_layers * (cosets * self.look_at_coset + pulls * self.look_at_source);
        look + self.dense_layers * (pulls * pull + cosets * (self.write_coset + self.write_byte * bytes))
    }
}
