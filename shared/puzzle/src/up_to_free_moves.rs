//! Actions up to free moves that follow.

use fathom_algebra::OrientedPermutation;
use rustc_hash::FxHashMap;

/// A cell and an orientation on it.
type Place = (usize, u16);

/// Computes a canonical form of actions: equal for two actions if and only if they differ by a free move
/// that follows.
///
/// An action, followed by one of the free moves, leads the solved piece of each cell to some place. The
/// smallest of these sequences of places is found cell by cell: the free moves that give the smallest prefix
/// remain for the next cells. The remaining sets are cached, because many actions lead to the same places.
pub(crate) struct UpToFree<'f> {
    free: &'f [OrientedPermutation],
    /// Sets of free moves, by number; the first contains all of them.
    sets: Vec<Vec<u32>>,
    /// For each set, and each place to which an action leads: the smallest place to which the free moves of
    /// the set lead from there, and the set of those that lead to it.
    steps: FxHashMap<(usize, Place), (Place, usize)>,
}

impl<'f> UpToFree<'f> {
    /// Expects all free moves, including the identity.
    pub(crate) fn new(free: &'f [OrientedPermutation]) -> Self {
        Self { free, sets: vec![(0..free.len() as u32).collect()], steps: FxHashMap::default() }
    }

    /// Returns the smallest sequence of places for an action.
    pub(crate) fn of(&mut self, action: &OrientedPermutation) -> Vec<Place> {
        let mut left = 0;
        let smallest = |cell| {
            let place = action.apply(cell, 0);
            if let [last] = self.sets[left][..] {
                return self.leads_to(last, place);
            }
            let smallest;
            (smallest, left) = match self.steps.get(&(left, place)) {
                Some(&known) => known,
                None => self.step(left, place),
            };
            smallest
        };
        (0..action.degree()).map(smallest).collect()
    }

    fn step(&mut self, from: usize, place: Place) -> (Place, usize) {
        let set = &self.sets[from];
        let smallest = set.iter().map(|&free| self.leads_to(free, place)).min();
        let smallest = smallest.expect("sets are not empty");
        let left: Vec<u32> =
            set.iter().copied().filter(|&free| self.leads_to(free, place) == smallest).collect();
        let to = if left.len() == set.len() { from } else { self.sets.len() };
        if to == self.sets.len() {
            self.sets.push(left);
        }
        self.steps.insert((from, place), (smallest, to));
        (smallest, to)
    }

    fn leads_to(&self, free: u32, (cell, turn): Place) -> Place {
        self.free[free as usize].apply(cell, turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Definition, Orbit};
    use std::collections::HashMap;

    /// Actions have the same sequence if and only if one is the other followed by a free move.
    #[test]
    fn canonical_form_identifies_actions_up_to_free_moves() {
        let orientation_counts = [3, 3, 3, 1, 1, 1];
        let parse = |cycles| OrientedPermutation::parse(cycles, &orientation_counts).unwrap();
        let orbit = |orientations| Orbit { name: format!("o{orientations}"), cells: 3, orientations };
        let mut puzzle = Definition::new("test", vec![orbit(3), orbit(1)]).unwrap();
        for (name, cycles) in [("r", "(1+1,2+0,3+0)"), ("s", "(4,5)")] {
            puzzle.add_free(name, parse(cycles)).unwrap();
        }
        let group = puzzle.free_group().unwrap();
        let free = group.elements();
        let mut actions: Vec<OrientedPermutation> = vec![parse("()")];
        for cycles in ["(1,2)", "(2+1,3+2)", "(4,6)", "(1+2)"] {
            let more: Vec<_> = actions.iter().map(|action| action.then(&parse(cycles))).collect();
            actions.extend(more);
        }
        actions.extend(actions.clone().iter().flat_map(|x| free.iter().map(|free| x.then(free))));
        let mut up_to_free = UpToFree::new(free);
        let mut by_sequence: HashMap<_, Vec<&OrientedPermutation>> = HashMap::new();
        for action in &actions {
            by_sequence.entry(up_to_free.of(action)).or_default().push(action);
        }
        let all: Vec<(&Vec<Place>, &&OrientedPermutation)> = by_sequence
            .iter()
            .flat_map(|(key, alike)| alike.iter().map(move |action| (key, action)))
            .collect();
        for (x, one) in &all {
            for (y, other) in &all {
                assert_eq!(x == y, free.contains(&one.inverse().then(other)));
            }
        }
    }
}
