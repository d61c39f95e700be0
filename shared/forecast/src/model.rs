//! A model of how a space grows, coset by coset.
//!
//! The model follows the mean density of each coset through the real coset graph. A state that is not in the
//! depths up to d is at depth d + 1 if a move leads into it from depth d. Of the m moves into a coset C, the
//! move from coset S hits with probability q(S): the share of depth d among the states of S that are not in
//! the depths up to d - 1. If moves were independent, the next depth would have a share 1 - prod (1 - q(S))
//! of the unvisited states of C. But moves commute and cancel, so that some of them find the same states: the
//! product is raised to the power alpha, which is below one. For the first depths alpha is chosen so that the
//! number of states is the one that a plain search counts. After them alpha continues to fall by the same
//! factor until half of the space is visited. Where all counts are known, they determine alpha to the end.

use super::sizes::{CosetSize, GrowthSource, LayerSizes};
use super::wire;
use fathom_space::{CosetGraph, CosetId, Space};
use rayon::prelude::*;

/// The largest layer that the plain search expands, in states.
const MOST_EXPANDED: usize = 1 << 19;

/// The factor by which alpha falls, if the first depths do not determine one.
const FALL: f64 = 0.97;

/// The lower limit of alpha, so that every search ends.
const LEAST_ALPHA: f64 = 0.1;

/// A coset with a smaller mean number of states counts as empty.
const NO_STATE: f32 = 0.5;

/// The model and its current depth.
#[derive(Debug)]
pub struct GrowthModel<'g> {
    graph: &'g CosetGraph,
    /// The known numbers of states, by depth.
    counts: Vec<u64>,
    /// [`GrowthSource::Known`] if `counts` covers all depths, [`GrowthSource::Modelled`] if only the first
    /// ones.
    pub source: GrowthSource,
    depth: usize,
    /// The states of the newest layer, and the unvisited states, by coset.
    states: Vec<f32>,
    left: Vec<f32>,
    /// The power alpha of each depth.
    alphas: Vec<f64>,
}

impl<'g> GrowthModel<'g> {
    /// Makes the model of a space with this graph. `counts` has the known numbers of states by depth.
    pub fn new(graph: &'g CosetGraph, counts: Vec<u64>, source: GrowthSource) -> Self {
        let cosets = graph.len() as usize;
        Self {
            graph,
            counts,
            source,
            depth: 0,
            states: vec![0.0; cosets],
            left: vec![graph.states_per_coset() as f32; cosets],
            alphas: Vec::new(),
        }
    }

    /// Returns the next layer; `None` when all states are visited.
    pub fn next_layer(&mut self) -> Option<LayerSizes> {
        if self.depth == 0 {
            self.begin();
        } else {
            self.step();
        }
        self.depth += 1;
        let states = self.all(|coset| self.states[coset]);
        let shape = self.graph.shape();
        let size = |(&states, &left): (&f32, &f32)| CosetSize {
            states,
            left,
            data_bytes: wire::data_bytes(f64::from(states), shape) as f32,
            sent_bytes: wire::random_bytes(f64::from(states), shape) as f32,
        };
        let cosets = self.states.par_iter().zip(&self.left).map(size).collect();
        (states >= NO_STATE.into()).then_some(LayerSizes { states, cosets })
    }

    fn begin(&mut self) {
        let solved = self.graph.locate(self.graph.space().solved());
        let (solved, _) = solved.expect("the solved state is reachable");
        // The solved state has as many words as there are free moves, spread over the cosets of its orbit.
        let state = self.graph.space().free_order() as f32 / self.graph.orbit_size(solved) as f32;
        self.states[solved.0 as usize] = state;
        self.left[solved.0 as usize] -= state;
    }

    fn step(&mut self) {
        let hit = |(&states, &left): (&f32, &f32)| match states {
            0.0 => 0.0,
            _ => -(-(states / (states + left)).min(1.0 - f32::EPSILON)).ln_1p(),
        };
        let hits: Vec<f32> = self.states.par_iter().zip(&self.left).map(hit).collect();
        let into: Vec<f32> = (0..self.graph.len())
            .into_par_iter()
            .map(|coset| self.graph.sources(CosetId(coset)).map(|(_, source)| hits[source.0 as usize]).sum())
            .collect();
        let found = |coset: usize, alpha: f64| self.left[coset] * -(-alpha as f32 * into[coset]).exp_m1();
        let alpha = match self.counts.get(self.depth) {
            Some(&count) => {
                // The number of states grows with alpha. A power of 8 finds practically all states.
                let (mut low, mut high) = (0.0, 8.0);
                for _ in 0..30 {
                    let alpha = (low + high) / 2.0;
                    match self.all(|coset| found(coset, alpha)) < count as f64 {
                        true => low = alpha,
                        false => high = alpha,
                    }
                }
                low
            }
            None => self.extrapolated(),
        };
        self.states = (0..into.len()).into_par_iter().map(|coset| found(coset, alpha)).collect();
        self.alphas.push(alpha);
        for (states, left) in self.states.iter_mut().zip(&mut self.left) {
            *left = (*left - *states).max(0.0);
            if *left < NO_STATE {
                *states += *left;
                *left = 0.0;
            }
        }
    }

    /// Returns alpha as extrapolated from the earlier depths.
    fn extrapolated(&self) -> f64 {
        let &[.., newest] = &self.alphas[..] else {
            return FALL;
        };
        let half = self.all(|coset| self.left[coset]) * 2.0
            < self.graph.states_per_coset() as f64 * self.graph.reachable_patterns() as f64
                / f64::from(self.graph.space().free_order());
        // At the first depth no moves cancel, so its alpha is left out.
        let counted = (self.counts.len() - 1).min(self.alphas.len());
        let fall = match self.alphas.get(1..counted).unwrap_or_default() {
            [.., before, _, last] => (last / before).sqrt().min(1.0),
            [before, last] => (last / before).min(1.0),
            _ => FALL,
        };
        (newest * if half { 1.0 } else { fall }).max(LEAST_ALPHA)
    }

    /// Sums over all cosets, not only representatives.
    fn all(&self, of_coset: impl Fn(usize) -> f32 + Sync) -> f64 {
        let free = f64::from(self.graph.space().free_order());
        let weight = |coset: usize| f64::from(self.graph.orbit_size(CosetId(coset as u32))) / free;
        (0..self.left.len()).into_par_iter().map(|coset| weight(coset) * f64::from(of_coset(coset))).sum()
    }
}

/// Counts the states of the first depths by a plain search, as long as layers are small.
pub fn first_counts(space: &Space) -> Vec<u64> {
    let mut counts = vec![1];
    let (cells, bits) = (space.cells(), usize::BITS - (space.letters().count() - 1).leading_zeros());
    // This search cannot identify the words of one state, so it does not count spaces with free moves.
    if bits as usize * cells > u128::BITS as usize || space.free_order() > 1 {
        return counts;
    }
    let pack = |word: &[u8]| word.iter().fold(0_u128, |packed, &letter| packed << bits | u128::from(letter));
    let unpack = |packed: u128| -> Vec<u8> {
        (0..cells).rev().map(|cell| (packed >> (bits as usize * cell) & ((1 << bits) - 1)) as u8).collect()
    };
    let (mut before, mut newest) = (Vec::new(), vec![pack(space.solved())]);
    while newest.len() <= MOST_EXPANDED {
        let from_one = |&packed: &u128| {
            let (word, mut image) = (unpack(packed), vec![0; cells]);
            (0..space.moves().len()).filter_map(move |mv| match space.apply(mv, &word, &mut image) {
                true => Some(pack(&image)),
                false => None,
            })
        };
        let mut next: Vec<u128> = newest.par_iter().flat_map_iter(from_one).collect();
        next.par_sort_unstable();
        next.dedup();
        next.retain(|word| newest.binary_search(word).is_err() && before.binary_search(word).is_err());
        if next.is_empty() {
            break;
        }
        counts.push(next.len() as u64);
        (before, newest) = (newest, next);
    }
    counts
}
