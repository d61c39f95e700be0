//! Recursive bisection: an order of the nodes of a graph in which nodes with heavy edges between them are
//! close together.
//!
//! A graph is halved in levels (G. Karypis, V. Kumar, *A Fast and High Quality Multilevel Scheme for
//! Partitioning Irregular Graphs*, SIAM J. Sci. Comput. 20, 1998). Pairs of nodes with heavy edges are merged
//! until few nodes are left. One half of these is grown from a single node. Then the merges are undone level
//! by level, and at each level single nodes change sides as long as the edges between the halves become
//! lighter (C. M. Fiduccia, R. M. Mattheyses, *A Linear-Time Heuristic for Improving Network Partitions*, DAC
//! 1982). The result depends only on the graph.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Graphs of up to this number of nodes are halved without merging nodes.
const FEW_NODES: usize = 64;

/// The number of nodes from which a half is grown.
const SEEDS: usize = 8;

/// The largest number of rounds in which nodes change sides at a level.
const MAX_ROUNDS: usize = 8;

/// The sides of nodes: `false` for the first half, `true` for the second.
type Sides = Vec<bool>;

/// An undirected graph with weights.
#[derive(Debug)]
pub(super) struct Graph {
    /// By node: the number of nodes that were merged into the node.
    sizes: Vec<u64>,
    /// By node: where the neighbours of the node begin; one entry more is the end.
    first: Vec<usize>,
    /// The neighbours of all nodes, each with the weight of the edge. An edge is listed for both of its
    /// nodes.
    neighbours: Vec<(u32, u64)>,
}

impl Graph {
    /// Makes a graph of nodes with these sizes. Edges are two nodes and a weight; weights of the same edge
    /// add up, and edges from a node to itself are omitted.
    pub(super) fn new(sizes: Vec<u64>, edges: impl Iterator<Item = (u32, u32, u64)>) -> Self {
        let both_ways = |(a, b, weight): (u32, u32, u64)| [(a, b, weight), (b, a, weight)];
        let mut edges: Vec<(u32, u32, u64)> = edges.filter(|(a, b, _)| a != b).flat_map(both_ways).collect();
        edges.sort_unstable();
        edges.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            if is_same {
                kept.2 += next.2;
            }
            is_same
        });
        let mut first = vec![0; sizes.len() + 1];
        edges.iter().for_each(|&(node, ..)| first[node as usize + 1] += 1);
        for node in 0..sizes.len() {
            first[node + 1] += first[node];
        }
        Self { sizes, first, neighbours: edges.into_iter().map(|(_, to, weight)| (to, weight)).collect() }
    }

    fn len(&self) -> usize {
        self.sizes.len()
    }

    fn neighbours(&self, node: usize) -> impl Iterator<Item = (usize, u64)> {
        let neighbours = &self.neighbours[self.first[node]..self.first[node + 1]];
        neighbours.iter().map(|&(to, weight)| (to as usize, weight))
    }

    /// Returns each edge once: two nodes and the weight.
    pub(super) fn edges(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let of_node = |node| self.neighbours(node).map(move |(to, weight)| (node, to, weight));
        (0..self.len()).flat_map(of_node).filter(|(node, to, _)| node < to)
    }

    /// Returns the nodes in an order in which each half, each quarter and so on has few and light edges to
    /// the others. Halves differ by at most one node.
    pub(super) fn order(&self) -> Vec<u32> {
        if self.len() <= 2 {
            return (0..self.len() as u32).collect();
        }
        let middle = self.len() / 2;
        // The given order of the nodes may be a good one.
        let mut by_number = (0..self.len()).map(|node| node >= middle).collect();
        self.improve(&mut by_number, middle as u64);
        let sides = [by_number, self.halved(middle as u64)];
        let sides = sides.iter().min_by_key(|sides| self.between(sides)).expect("there are two");
        let half = |side: bool| -> Vec<u32> {
            let nodes: Vec<u32> =
                (0..self.len() as u32).filter(|&node| sides[node as usize] == side).collect();
            self.part(&nodes).order().into_iter().map(|node| nodes[node as usize]).collect()
        };
        let (mut order, rest) = rayon::join(|| half(false), || half(true));
        order.extend(rest);
        order
    }

    /// Returns the graph of some of the nodes, in increasing order, and the edges between them.
    fn part(&self, nodes: &[u32]) -> Self {
        let mut numbers = vec![None; self.len()];
        nodes.iter().zip(0..).for_each(|(&node, number)| numbers[node as usize] = Some(number));
        let edges = nodes.iter().zip(0..).flat_map(|(&node, number)| {
            let here = self.neighbours(node as usize).filter_map(|(to, weight)| Some((numbers[to]?, weight)));
            here.filter(move |&(to, _)| number < to).map(move |(to, weight)| (number, to, weight))
        });
        Self::new(nodes.iter().map(|&node| self.sizes[node as usize]).collect(), edges)
    }

    /// Divides the nodes into a first half of size `target`, or as close to it as single nodes allow, and the
    /// rest.
    fn halved(&self, target: u64) -> Sides {
        if self.len() > FEW_NODES
            && let Some((merged, into)) = self.merged()
        {
            let coarse = merged.halved(target);
            let mut sides = into.into_iter().map(|node| coarse[node as usize]).collect();
            self.improve(&mut sides, target);
            return sides;
        }
        if self.len() > 16 * FEW_NODES {
            // There are almost no edges to choose by.
            let before = self.sizes.iter().scan(0, |sum, size| Some(std::mem::replace(sum, *sum + size)));
            return before.map(|before| before >= target).collect();
        }
        let seeds = (0..self.len()).step_by(self.len().div_ceil(SEEDS));
        let grown = seeds.map(|seed| {
            let mut sides = self.grown(seed, target);
            self.improve(&mut sides, target);
            sides
        });
        grown.min_by_key(|sides| self.between(sides)).expect("a graph has nodes")
    }

    /// Returns the weight of the edges between the sides.
    fn between(&self, sides: &[bool]) -> u64 {
        self.edges().filter(|&(a, b, _)| sides[a] != sides[b]).map(|(.., weight)| weight).sum()
    }

    /// Merges pairs of neighbours, those with the heaviest edges for their sizes. Returns the graph of the
    /// merged nodes, and into which of these each node was merged; `None` if few nodes can be merged.
    fn merged(&self) -> Option<(Self, Vec<u32>)> {
        // Halves can be balanced as long as no node is large.
        let most = (self.sizes.iter().sum::<u64>() / 40).max(2);
        let mut into: Vec<Option<u32>> = vec![None; self.len()];
        let mut sizes = Vec::new();
        let mut nodes: Vec<usize> = (0..self.len()).collect();
        nodes.sort_by_key(|&node| self.first[node + 1] - self.first[node]);
        for node in nodes {
            if into[node].is_some() {
                continue;
            }
            let fits =
                |&(to, _): &(usize, u64)| into[to].is_none() && self.sizes[node] + self.sizes[to] <= most;
            // Weights are compared in proportion to sizes.
            let scaled = |weight: u64, other: usize| u128::from(weight) * u128::from(self.sizes[other]);
            let by_weight = |&(a, of_a): &(usize, u64), &(b, of_b): &(usize, u64)| {
                scaled(of_a, b).cmp(&scaled(of_b, a)).then(b.cmp(&a))
            };
            let mate = self.neighbours(node).filter(fits).max_by(by_weight).map(|(mate, _)| mate);
            let number = Some(sizes.len() as u32);
            into[node] = number;
            sizes.push(self.sizes[node] + mate.map_or(0, |mate| self.sizes[mate]));
            if let Some(mate) = mate {
                into[mate] = number;
            }
        }
        if sizes.len() * 10 > self.len() * 9 {
            return None;
        }
        let into: Vec<u32> = into.into_iter().map(|number| number.expect("each node is visited")).collect();
        let edges = self.edges().map(|(a, b, weight)| (into[a], into[b], weight));
        Some((Self::new(sizes, edges), into))
    }

    /// Grows the first half from a node, by the node that has the heaviest edges to the half for its other
    /// edges, until the half has size `target`.
    fn grown(&self, seed: usize, target: u64) -> Sides {
        let mut sides = vec![true; self.len()];
        // By node: the weight of the edges to the first half, less that of the others.
        let mut gains: Vec<i64> = (0..self.len())
            .map(|node| -self.neighbours(node).map(|(_, weight)| weight as i64).sum::<i64>())
            .collect();
        let mut size = 0;
        let mut next = Some(seed);
        while let Some(node) = next.filter(|_| size < target) {
            sides[node] = false;
            size += self.sizes[node];
            self.neighbours(node).for_each(|(to, weight)| gains[to] += 2 * weight as i64);
            next =
                (0..self.len()).filter(|&node| sides[node]).max_by_key(|&node| (gains[node], Reverse(node)));
        }
        sides
    }

    /// Moves single nodes to the other side, as long as the edges between the sides become lighter.
    fn improve(&self, sides: &mut Sides, target: u64) {
        for _ in 0..MAX_ROUNDS {
            if !Round::new(self, sides, target).improves() {
                break;
            }
        }
    }
}

/// A round in which each node changes sides at most once: always the node that makes the edges between the
/// sides lightest, even if they become heavier for a while. In the end the best division is restored.
struct Round<'r> {
    graph: &'r Graph,
    sides: &'r mut Sides,
    target: u64,
    /// The size of the first half.
    size: u64,
    /// By node: by how much the edges between the sides become lighter if the node changes sides.
    gains: Vec<i64>,
    has_moved: Vec<bool>,
    /// By side: the nodes by their gains. Entries whose gain is out of date are skipped.
    by_gain: [BinaryHeap<(i64, Reverse<usize>)>; 2],
}

/// The quality of a division; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Quality {
    is_unbalanced: bool,
    /// The weight of the edges between the sides, beyond that at the beginning of the round.
    weight: i64,
    off_target: u64,
}

impl<'r> Round<'r> {
    fn new(graph: &'r Graph, sides: &'r mut Sides, target: u64) -> Self {
        let first = sides.iter().zip(&graph.sizes).filter(|(side, _)| !**side);
        let size = first.map(|(_, size)| size).sum();
        let gain = |node: usize| -> i64 {
            let of = |(to, weight): (usize, u64)| {
                if sides[to] == sides[node] { -(weight as i64) } else { weight as i64 }
            };
            graph.neighbours(node).map(of).sum()
        };
        let gains: Vec<i64> = (0..graph.len()).map(gain).collect();
        let of_side = |side: bool| {
            let nodes = (0..graph.len()).filter(|&node| sides[node] == side);
            nodes.map(|node| (gains[node], Reverse(node))).collect()
        };
        let by_gain = [of_side(false), of_side(true)];
        Self { graph, target, size, has_moved: vec![false; graph.len()], gains, by_gain, sides }
    }

    /// Does the round. Returns whether the division has become better.
    fn improves(mut self) -> bool {
        let nodes = self.graph.len();
        let patience = (nodes / 20).max(nodes.min(200));
        let slack = self.graph.sizes.iter().max().map_or(0, |largest| largest / 2);
        let target = self.target;
        let mut weight = 0;
        let quality = |weight, size: u64| {
            let off_target = size.abs_diff(target);
            Quality { is_unbalanced: off_target > slack, weight, off_target }
        };
        let begin = quality(0, self.size);
        let (mut best, mut moves_of_best) = (begin, 0);
        let mut moved = Vec::new();
        while moved.len() < moves_of_best + patience
            && let Some(node) = self.next(slack)
        {
            weight -= self.gains[node];
            self.change_side(node);
            moved.push(node);
            let now = quality(weight, self.size);
            if now < best {
                (best, moves_of_best) = (now, moved.len());
            }
        }
        moved[moves_of_best..].iter().for_each(|&node| self.sides[node] ^= true);
        best < begin
    }

    /// Returns the node with the largest gain among those whose move keeps the sides balanced, or makes them
    /// more so.
    fn next(&mut self, slack: u64) -> Option<usize> {
        let off_target = self.size.abs_diff(self.target);
        let candidate = |side: bool| {
            let heap = &mut self.by_gain[usize::from(side)];
            while heap.peek().is_some_and(|&(gain, Reverse(node))| {
                self.has_moved[node] || self.sides[node] != side || self.gains[node] != gain
            }) {
                heap.pop();
            }
            let &(gain, Reverse(node)) = heap.peek()?;
            let size = self.graph.sizes[node];
            let after = if side { self.size + size } else { self.size - size }.abs_diff(self.target);
            (after <= slack.max(size) || after < off_target).then_some((
                gain,
                after < off_target,
                Reverse(node),
            ))
        };
        let [first, second] = [false, true].map(candidate);
        first.max(second).map(|(.., Reverse(node))| node)
    }

    fn change_side(&mut self, node: usize) {
        let size = self.graph.sizes[node];
        self.size = if self.sides[node] { self.size + size } else { self.size - size };
        self.sides[node] ^= true;
        self.has_moved[node] = true;
        for (to, weight) in self.graph.neighbours(node).filter(|&(to, _)| !self.has_moved[to]) {
            let change = 2 * weight as i64;
            self.gains[to] += if self.sides[to] == self.sides[node] { -change } else { change };
            self.by_gain[usize::from(self.sides[to])].push((self.gains[to], Reverse(to)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a graph of nodes of size 1 and edges of weight 1, whose numbers are shuffled.
    fn shuffled(nodes: usize, edges: &[(usize, usize)]) -> Graph {
        let mut names: Vec<u32> = (0..nodes as u32).collect();
        fastrand::Rng::with_seed(1).shuffle(&mut names);
        Graph::new(vec![1; nodes], edges.iter().map(|&(a, b)| (names[a], names[b], 1)))
    }

    /// Returns the weight of the edges between pieces of equal lengths.
    fn between_pieces(graph: &Graph, pieces: usize) -> u64 {
        let order = graph.order();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..graph.len() as u32));
        let mut piece_of = vec![0; graph.len()];
        for (place, &node) in order.iter().enumerate() {
            piece_of[node as usize] = place * pieces / graph.len();
        }
        graph.edges().filter(|&(a, b, _)| piece_of[a] != piece_of[b]).map(|(.., weight)| weight).sum()
    }

    #[test]
    fn ring_is_cut_into_arcs() {
        let nodes = 512;
        let ring: Vec<(usize, usize)> = (0..nodes).map(|node| (node, (node + 1) % nodes)).collect();
        let graph = shuffled(nodes, &ring);
        for pieces in [2, 4] {
            assert_eq!(between_pieces(&graph, pieces), pieces as u64);
        }
    }

    /// No division of a grid of k x k nodes with even k into equal halves has fewer than k edges between
    /// them (F. T. Leighton, *Introduction to Parallel Algorithms and Architectures*, 1992).
    #[test]
    fn grid_is_cut_along_its_middle() {
        const SIDE: usize = 20;
        let node = |row: usize, column: usize| row * SIDE + column;
        let right = (0..SIDE).flat_map(|row| (1..SIDE).map(move |c| (node(row, c - 1), node(row, c))));
        let down =
            (0..SIDE).flat_map(|column| (1..SIDE).map(move |r| (node(r - 1, column), node(r, column))));
        let graph = shuffled(SIDE * SIDE, &right.chain(down).collect::<Vec<_>>());
        assert_eq!(between_pieces(&graph, 2), SIDE as u64);
    }

    #[test]
    fn connected_sets_stay_together() {
        // Eight sets of 64 nodes with all edges inside, and one edge to the next set.
        let sets = 0..8_usize;
        let inside = sets
            .clone()
            .flat_map(|set| (0..64).flat_map(move |a| (0..a).map(move |b| (64 * set + a, 64 * set + b))));
        let links = sets.map(|set| (64 * set, 64 * ((set + 1) % 8) + 1));
        let graph = shuffled(512, &inside.chain(links).collect::<Vec<_>>());
        assert_eq!([2, 4, 8].map(|pieces| between_pieces(&graph, pieces)), [2, 4, 8]);
    }

    #[test]
    fn any_graph_has_an_order() {
        for nodes in [0, 1, 2, 3, 65, 3000] {
            let all = (0..nodes).filter(|_| nodes < 100).flat_map(|a| (0..a).map(move |b| (a, b)));
            let star = (1..nodes).map(|node| (0, node));
            for edges in [Vec::new(), all.collect(), star.collect()] {
                between_pieces(&shuffled(nodes, &edges), 2);
            }
        }
    }

    /// A merged node counts as the nodes that it is made of, so halves are balanced at each level.
    #[test]
    fn halves_are_equal() {
        let nodes = 1000;
        let path: Vec<(usize, usize)> = (1..nodes).map(|node| (node - 1, node)).collect();
        let graph = shuffled(nodes, &path);
        let sides = graph.halved(nodes as u64 / 2);
        assert_eq!(sides.iter().filter(|side| **side).count(), nodes / 2);
        let (merged, into) = graph.merged().unwrap();
        assert_eq!(merged.sizes.iter().sum::<u64>(), nodes as u64);
        assert!(merged.len() < nodes && into.iter().all(|&node| (node as usize) < merged.len()));
    }
}
