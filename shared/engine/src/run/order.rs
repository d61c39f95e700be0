//! The order in which the shards of a layer are computed.

mod bisection;

use crate::run::{ShardCut, ShardId};
use bisection::Graph;
use fathom_space::{Colouring, CosetGraph, CosetId, Space};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An order of the shards of a layer, in which shards that read the same cosets should be close together. A
/// process whose memory does not hold the layer before computes shards in such an order, and workers that
/// fetch cosets from each other get contiguous pieces of one. Files do not depend on the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardOrder {
    shards: Box<[ShardId]>,
    /// By shard: its place in the order.
    places: Box<[u32]>,
}

impl ShardOrder {
    /// The memory of a search for an order, in bytes, for which 16,384 shards of a board need less than half.
    pub const MAX_BYTES: u64 = 1 << 30;

    /// The bytes that an edge of the graph of shards takes in all data structures that hold it at the same
    /// time.
    const EDGE_BYTES: u64 = 128;

    /// The largest size of the tables of all cosets for which an order is sought. Workers need these tables
    /// anyway, but the host of a coordinator may be a small one.
    const MAX_TABLE_BYTES: u64 = 2 << 30;

    /// Returns whether an order of the shards of a space is sought by bisection. `cosets` is the number of
    /// representative cosets.
    pub fn is_sought(space: &Space, colouring: &Colouring, cosets: u64) -> bool {
        let patterns = CosetGraph::table_entries(space, colouring);
        CosetGraph::table_bytes(space, patterns, cosets) <= Self::MAX_TABLE_BYTES
    }

    /// Returns the order of the numbers of the shards.
    pub fn by_number(shards: u32) -> Self {
        Self { shards: (0..shards).map(ShardId).collect(), places: (0..shards).collect() }
    }

    /// Returns the order in which all of these shards are listed. Returns `None` unless they are the shards
    /// 0, 1, … in some order.
    pub fn new(shards: Vec<ShardId>) -> Option<Self> {
        const NONE: u32 = u32::MAX;
        let mut places = vec![NONE; shards.len()];
        for (&ShardId(shard), place) in shards.iter().zip(0..) {
            let known = places.get_mut(shard as usize).filter(|known| **known == NONE)?;
            *known = place;
        }
        Some(Self { shards: shards.into(), places: places.into() })
    }

    /// Returns an order by recursive bisection of the graph of shards, in which the weight of an edge is the
    /// number of cosets of one shard that the other one reads. Returns the order of numbers if that is the
    /// better one, or if the graph needs more than about `most_bytes` bytes.
    ///
    /// Takes the time to list the sources of all cosets, and for 16,384 shards of a board a few seconds.
    pub fn by_bisection(graph: &CosetGraph, cut: ShardCut, most_bytes: u64) -> Self {
        let by_number = Self::by_number(cut.shards());
        let most_edges = usize::try_from(most_bytes / Self::EDGE_BYTES).unwrap_or(usize::MAX);
        let shards = (cut.shards() > 2).then(|| graph_of(graph, cut, most_edges)).flatten();
        let Some(shards) = shards else {
            return by_number;
        };
        let order = shards.order().into_iter().map(ShardId).collect();
        let by_bisection = Self::new(order).expect("each node is in one half");
        if by_bisection.cost(&shards) < by_number.cost(&shards) { by_bisection } else { by_number }
    }

    /// Returns whether this is the order of numbers.
    pub fn is_by_number(&self) -> bool {
        self.shards.is_sorted()
    }

    /// Returns the shards in this order.
    pub fn shards(&self) -> &[ShardId] {
        &self.shards
    }

    /// Returns the place of a shard, counted from 0.
    ///
    /// # Panics
    /// If the shard does not exist.
    pub fn place(&self, shard: ShardId) -> u32 {
        self.places[shard.0 as usize]
    }

    /// Returns the weight of the edges between different pieces, if the order is cut into 2 pieces, plus that
    /// for 4 pieces, and so on for each power of two up to 2^32.
    fn cost(&self, graph: &Graph) -> u128 {
        let shards = self.shards.len() as u64;
        // Of 2^k pieces, an element is in the one numbered by its first k bits.
        let bits = |place: u32| ((u64::from(place) << u32::BITS) / shards) as u32;
        let bits: Vec<u32> = self.places.iter().map(|&place| bits(place)).collect();
        let of_edge = |(a, b, weight): (usize, usize, u64)| {
            u128::from(weight) * u128::from(u32::BITS - (bits[a] ^ bits[b]).leading_zeros())
        };
        graph.edges().map(of_edge).sum()
    }
}

/// Returns the graph of shards, `None` if it has more than `most` edges.
fn graph_of(graph: &CosetGraph, cut: ShardCut, most: usize) -> Option<Graph> {
    let edges = AtomicUsize::new(0);
    let read_by = |shard: ShardId| {
        if edges.load(Ordering::Relaxed) > most {
            return Vec::new();
        }
        let cosets = cut.range(shard);
        let mut sources: Vec<u32> = cosets
            .flat_map(|coset| graph.sources(CosetId(coset)))
            .map(|(_, CosetId(source))| source)
            .collect();
        sources.sort_unstable();
        sources.dedup();
        let mut read: Vec<(u32, u64)> = Vec::new();
        for source in sources {
            let ShardId(of) = cut.shard_of(source);
            match read.last_mut().filter(|(last, _)| *last == of) {
                Some((_, cosets)) => *cosets += 1,
                None => read.push((of, 1)),
            }
        }
        read.retain(|&(of, _)| of != shard.0);
        edges.fetch_add(read.len(), Ordering::Relaxed);
        read
    };
    let shards: Vec<ShardId> = cut.ids().collect();
    let read: Vec<Vec<(u32, u64)>> = shards.into_par_iter().map(read_by).collect();
    let read = (edges.into_inner() <= most).then_some(read)?;
    let edges = read.into_iter().enumerate().flat_map(|(shard, read)| {
        read.into_iter().map(move |(source, cosets)| (shard as u32, source, cosets))
    });
    Some(Graph::new(vec![1; cut.shards() as usize], edges))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::{Metric, PuzzleSpec};
    use fathom_space::{Labels, Plan, Space};
    use std::collections::BTreeSet;

    fn graph_of_word(word: &str, metric: Metric) -> CosetGraph {
        let spec = PuzzleSpec::by_name(word).unwrap();
        let labels = Labels::from_values(spec.solved());
        let space = Space::new(spec.puzzle(metric).unwrap(), metric, labels).unwrap();
        CosetGraph::build(&space, &Plan::outline(&space).unwrap().colouring).unwrap()
    }

    /// Returns how many cosets workers fetch from each other for one layer, if each of them gets a piece of
    /// the order and fetches each coset once.
    fn fetched(graph: &CosetGraph, cut: ShardCut, order: &ShardOrder, workers: usize) -> usize {
        let fetched_for = |shards: &[ShardId]| {
            let own: BTreeSet<u32> = shards.iter().flat_map(|&shard| cut.range(shard)).collect();
            let read = own.iter().flat_map(|&coset| graph.sources(CosetId(coset)));
            read.map(|(_, source)| source.0)
                .filter(|source| !own.contains(source))
                .collect::<BTreeSet<_>>()
                .len()
        };
        order.shards().chunks(order.shards().len().div_ceil(workers)).map(fetched_for).sum()
    }

    #[test]
    fn order_has_each_shard_once() {
        let order = ShardOrder::new([2, 0, 1].map(ShardId).into()).unwrap();
        assert_eq!([0, 1, 2].map(|shard| order.place(ShardId(shard))), [1, 2, 0]);
        assert_eq!(ShardOrder::new(vec![ShardId(0), ShardId(0)]), None);
        assert_eq!(ShardOrder::new(vec![ShardId(0), ShardId(2)]), None);
        assert_eq!(ShardOrder::new((0..5).map(ShardId).collect()), Some(ShardOrder::by_number(5)));
    }

    /// A flip of a few pancakes at the end changes the rank of a pattern by much, and a flip of a few at the
    /// beginning by little; bisection finds pieces that few flips leave.
    #[test]
    fn bisection_reduces_fetches_of_pancakes() {
        let graph = graph_of_word("pancake:12", Metric::Given);
        let cut = ShardCut::new(graph.len(), 512).unwrap();
        let (by_number, by_bisection) =
            (ShardOrder::by_number(512), ShardOrder::by_bisection(&graph, cut, ShardOrder::MAX_BYTES));
        assert_eq!(ShardOrder::new(by_bisection.shards().into()).as_ref(), Some(&by_bisection));
        for workers in [4, 16] {
            let [plain, better] =
                [&by_number, &by_bisection].map(|order| fetched(&graph, cut, order, workers));
            assert!(better * 4 < plain * 3, "{workers} workers fetch {better} instead of {plain} cosets");
        }
    }

    #[test]
    fn order_of_numbers_is_kept_if_best() {
        // Two shards can be ordered in two ways, which are equally good.
        let graph = graph_of_word("3x3", Metric::Multi);
        let order = |shards, most_bytes| {
            ShardOrder::by_bisection(&graph, ShardCut::new(graph.len(), shards).unwrap(), most_bytes)
        };
        assert_eq!(order(1, ShardOrder::MAX_BYTES), ShardOrder::by_number(1));
        assert_eq!(order(2, ShardOrder::MAX_BYTES), ShardOrder::by_number(2));
        // If the graph is too large, it is not built.
        assert!(graph_of(&graph, ShardCut::new(graph.len(), 8).unwrap(), 1).is_none());
        assert_eq!(order(8, 0), ShardOrder::by_number(8));
    }
}
