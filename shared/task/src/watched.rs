//! States whose depths are noted: each is looked up in the shard that it would be in, when the shard is made.

use fathom_layer::{LayerError, LayerFile};
use fathom_space::CosetGraph;

/// The place of a state in the layer that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    coset: u32,
    position: u32,
    /// The number of the state among the watched ones.
    number: u32,
}

/// The addresses of watched states, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched(Vec<Address>);

impl Watched {
    /// Of states given as words of labels. Those that moves do not reach have no address.
    pub fn new(graph: &CosetGraph, words: &[Vec<u8>]) -> Self {
        let located = words.iter().zip(0..).filter_map(|(word, number)| {
            let (coset, position) = graph.locate(word)?;
            Some(Address { coset: coset.0, position, number })
        });
        let mut addresses: Vec<Address> = located.collect();
        addresses.sort_unstable();
        Self(addresses)
    }

    /// The numbers of those whose coset lies in this range, and which may so be in its layer files.
    fn among(&self, cosets: std::ops::Range<u32>) -> &[Address] {
        let start = self.0.partition_point(|address| address.coset < cosets.start);
        let end = self.0.partition_point(|address| address.coset < cosets.end);
        &self.0[start..end]
    }

    /// The numbers of those that lie in a file, which is only opened if it can hold any.
    ///
    /// # Errors
    /// Those of `open`, and [`LayerError`] if a coset is damaged.
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
            let stored = file.coset(of_one_coset[0].coset - cosets.start)?;
            let here = of_one_coset.iter().filter(|address| stored.contains(address.position));
            found.extend(here.map(|address| address.number));
        }
        Ok(found)
    }
}
