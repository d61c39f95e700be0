//! A definition as the engine takes it: with nothing in it that cannot be seen, and with its symmetries.

use super::{Definition, DefinitionError};
use crate::{Generator, Metric, Puzzle};
use fathom_algebra::{OrientedPermutation, Relabelling, relabellings_among};
use std::collections::HashSet;

impl Definition {
    /// Of the symmetries that are found no more are used.
    const MOST_SYMMETRIES: usize = 1024;

    /// The puzzle under a metric. Orientations that no piece of an orbit shows are gone; those that are left count from that
    /// of the solved piece. Symmetries are found, in up to tenths of a second.
    ///
    /// # Errors
    /// [`DefinitionError`] if the metric makes too many moves.
    pub fn puzzle(&self, metric: Metric) -> Result<Puzzle, DefinitionError> {
        let orders = self.seen_orders();
        let mut moves: Vec<Generator> = Vec::new();
        let mut known = HashSet::from([OrientedPermutation::identity(orders.clone())]);
        for Generator { name, action } in self.generators(metric)? {
            let action = self.seen_action(&action, &orders);
            if known.insert(action.clone()) {
                moves.push(Generator { name, action });
            }
        }
        let mut puzzle = Puzzle {
            name: self.name.clone(),
            cells: self.cells(),
            seen: self.solved.iter().map(|piece| piece.seen).collect(),
            moves,
            symmetries: Vec::new(),
        };
        puzzle.symmetries = symmetries(&puzzle, &orders);
        Ok(puzzle)
    }

    /// The number of orientations on each cell, without those that no piece of its orbit shows.
    fn seen_orders(&self) -> Vec<u16> {
        let of_orbit = |orbit: usize| {
            let seen: HashSet<u16> = self.cells_of(orbit).map(|cell| self.solved[cell].seen).collect();
            match seen.iter().next() {
                Some(&seen_by_all) if seen.len() == 1 => seen_by_all,
                _ => self.orbits[orbit].orientations,
            }
        };
        let of_orbit: Vec<u16> = (0..self.orbits.len()).map(of_orbit).collect();
        self.orbit_of.iter().map(|&orbit| of_orbit[orbit]).collect()
    }

    /// What an action does to the orientations of these orders, counted from those of the solved pieces.
    fn seen_action(&self, action: &OrientedPermutation, orders: &[u16]) -> OrientedPermutation {
        let turns = (0..self.cells()).map(|cell| {
            let to = action.cells().apply(cell);
            let order = orders[cell];
            let (leaves, arrives) = (self.solved[cell].orientation, self.solved[to].orientation);
            (action.turns()[cell] % order + leaves % order + order - arrives % order) % order
        });
        OrientedPermutation::new(action.cells().clone(), turns.collect::<Vec<_>>(), orders)
            .expect("cells of one orbit have one order")
    }
}

/// The relabellings that map the moves onto themselves. The first cell of each orbit is renamed without a turn: with a turn of
/// all its pieces alike a relabelling does the same.
fn symmetries(puzzle: &Puzzle, orders: &[u16]) -> Vec<Relabelling> {
    let points: Vec<(usize, u16)> =
        orders.iter().enumerate().flat_map(|(cell, &order)| (0..order).map(move |k| (cell, k))).collect();
    let mut is_first = vec![false; points.len()];
    for orbit in puzzle.orbits() {
        is_first[points.partition_point(|&(cell, _)| cell < orbit[0])] = true;
    }
    let may = |from: usize, to: usize| !is_first[from] || points[to].1 == 0;
    let actions: Vec<_> = puzzle.moves.iter().map(|m| m.action.as_points()).collect();
    relabellings_among(points.len(), &actions, Definition::MOST_SYMMETRIES, &may)
        .iter()
        .filter_map(|a| Relabelling::from_points(a, orders))
        .collect()
}
