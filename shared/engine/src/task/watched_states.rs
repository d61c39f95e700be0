//! The states whose depths are recorded: when a shard is computed, each watched state that the shard could
//! have is looked up in it.

use fathom_layer::{LayerError, LayerFile};
use fathom_space::CosetGraph;

/// The place of a watched state in its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    coset: u32,
    position: u32,
    /// The number of the state in the list of watched states.
    number: u32,
}

/// The addresses of the watched states, ordered by coset and position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched(Vec<Address>);

impl Watched {
    /// Locates states given as words of labels. States that moves do not reach have no address.
    pub fn new(graph: &CosetGraph, words: &[Vec<u8>]) -> Self {
        let located = words.iter().zip(0..).filter_map(|(word, number)| {
            let (coset, position) = graph.locate(word)?;
            Some(Address { coset: coset.0, position, number })
        });
        let mut addresses: Vec<Address> = located.collect();
        addresses.sort_unstable();
        Self(addresses)
    }

    /// Returns the addresses of the watched states whose coset is in this range.
    fn among(&self, cosets: std::ops::Range<u32>) -> &[Address] {
        let start = self.0.partition_point(|address| address.coset < cosets.start);
        let end = self.0.partition_point(|address| address.coset < cosets.end);
        &self.0[start..end]
    }

    /// Returns the numbers of the watched states in the layer file of the cosets `cosets`. `open` is
    /// called only if the file could have any.
    ///
    /// # Errors
    /// The errors of `open`, and [`LayerError`] if a coset is damaged.
    pub fn found(
        &self,
        cosets: std::ops::Range<u32>,
        open: impl FnOnce() -> Result<LayerFile, LayerError>,
    ) -> Result<Vec<u32>, LayerError> {
        let addresses = self.among(cosets.clone());
        if addresses.is_empty() {
            return Ok(Vec::new());
        }
        let file = open()?;
        let mut found = Vec::new();
        for of_one_coset in addresses.chunk_by(|a, b| a.coset == b.coset) {
            let coset = of_one_coset[0].coset;
            let stored = file.coset(coset - cosets.start)?;
            found.extend(self.in_coset(coset, |position| stored.contains(position)));
        }
        Ok(found)
    }

    /// Returns the numbers of the watched states among those of a coset in a layer. `contains(position)`
    /// says whether the layer has the state at a position.
    pub fn in_coset(&self, coset: u32, contains: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
        let addresses = self.among(coset..coset + 1).iter();
        addresses.filter(move |address| contains(address.position)).map(|address| address.number)
    }
}
