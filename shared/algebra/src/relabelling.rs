//! Renamings of cells and of orientations.

use crate::{OrientedPermutation, Permutation};

/// A renaming of cells and orientations. Cell `c` with orientation `i` is renamed to cell `cells.apply(c)`
/// with orientation `factors[c] i + turns[c]`, modulo the number of orientations of the cell. For example, a
/// mirror has factors -1 where pieces have three orientations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Relabelling {
    cells: Permutation,
    factors: Box<[u16]>,
    turns: Box<[u16]>,
    orientation_counts: Box<[u16]>,
}

impl Relabelling {
    /// Returns a renaming of cells whose pieces have no orientation.
    pub fn from_cells(cells: Permutation) -> Self {
        let degree = cells.degree();
        let ones: Box<[u16]> = vec![1; degree].into();
        Self { cells, factors: ones.clone(), turns: vec![0; degree].into(), orientation_counts: ones }
    }

    /// Returns the renaming that acts as `points` on the [points](OrientedPermutation::as_points) of cells of
    /// these orientation counts. `None` if `points` does not map cells to cells of the same order, or does
    /// not map the orientations on a cell by a factor and a turn.
    pub fn from_points(points: &Permutation, orientation_counts: &[u16]) -> Option<Self> {
        let firsts: Vec<usize> = orientation_counts
            .iter()
            .scan(0, |next, &order| {
                let first = *next;
                *next += usize::from(order);
                Some(first)
            })
            .collect();
        let place = |point: usize| {
            let cell = firsts.partition_point(|&first| first <= point) - 1;
            (cell, point - firsts[cell])
        };
        let (mut cells, mut factors, mut turns) = (Vec::new(), Vec::new(), Vec::new());
        for (&first, &order) in firsts.iter().zip(orientation_counts) {
            let order = usize::from(order);
            let (to, turn) = place(points.apply(first));
            let factor = match order {
                1 => 1,
                _ => (place(points.apply(first + 1)).1 + order - turn) % order,
            };
            let is_kept = |k: usize| place(points.apply(first + k)) == (to, (factor * k + turn) % order);
            if usize::from(orientation_counts[to]) != order || !(0..order).all(is_kept) {
                return None;
            }
            cells.push(to as u16);
            factors.push(factor as u16);
            turns.push(turn as u16);
        }
        let cells = Permutation::from_images(cells).ok()?;
        Some(Self {
            cells,
            factors: factors.into(),
            turns: turns.into(),
            orientation_counts: orientation_counts.into(),
        })
    }

    /// Returns the renaming with these factors and turns, on cells of these orientation counts. Each factor
    /// must be a unit modulo the order of its cell, and each turn must be below that order; neither is
    /// checked.
    ///
    /// # Panics
    /// If there is not one factor, one turn and one order for each cell, or if a cell goes to a cell of
    /// another order.
    pub fn new(
        cells: Permutation,
        factors: impl Into<Box<[u16]>>,
        turns: impl Into<Box<[u16]>>,
        orientation_counts: impl Into<Box<[u16]>>,
    ) -> Self {
        let (factors, turns, orientation_counts) = (factors.into(), turns.into(), orientation_counts.into());
        assert!(
            [factors.len(), turns.len(), orientation_counts.len()] == [cells.degree(); 3],
            "one of each per cell"
        );
        let keeps = |(cell, order): (usize, &u16)| orientation_counts[cells.apply(cell)] == *order;
        assert!(
            orientation_counts.iter().enumerate().all(keeps),
            "a cell goes to a cell with equally many orientations"
        );
        Self { cells, factors, turns, orientation_counts }
    }

    /// Returns the renaming that moves the names like `action` moves the pieces.
    pub fn from_action(action: &OrientedPermutation) -> Self {
        let (turns, orientation_counts) = (action.turns().into(), action.orientation_counts().into());
        Self {
            cells: action.cells().clone(),
            factors: vec![1; action.degree()].into(),
            turns,
            orientation_counts,
        }
    }

    /// Returns the product that applies this renaming first and `next` after it.
    ///
    /// # Panics
    /// If the two are not on cells of the same orientation counts.
    pub fn then(&self, next: &Self) -> Self {
        assert_eq!(
            self.orientation_counts, next.orientation_counts,
            "renamings compose only on the same cells"
        );
        let composed = |cell: usize| {
            let (to, order) = (self.cells.apply(cell), u32::from(self.orientation_counts[cell]));
            let (factor, turn) = (u32::from(next.factors[to]), u32::from(next.turns[to]));
            let factors = factor * u32::from(self.factors[cell]);
            let turned = factor * u32::from(self.turns[cell]) + turn;
            (if order == 1 { 1 } else { (factors % order) as u16 }, (turned % order) as u16)
        };
        let (factors, turns): (Vec<u16>, Vec<u16>) = (0..self.orientation_counts.len()).map(composed).unzip();
        let (factors, turns, orientation_counts) =
            (factors.into(), turns.into(), self.orientation_counts.clone());
        Self { cells: self.cells.then(&next.cells), factors, turns, orientation_counts }
    }

    /// Returns the permutation of the cells.
    pub fn cells(&self) -> &Permutation {
        &self.cells
    }

    /// Returns the factor of each cell, by which an orientation is multiplied before the turn is added: a
    /// unit modulo the order of the cell.
    pub fn factors(&self) -> &[u16] {
        &self.factors
    }

    /// Returns for each cell the turn that is added to an orientation.
    pub fn turns(&self) -> &[u16] {
        &self.turns
    }

    /// Returns the number of orientations on each cell.
    pub fn orientation_counts(&self) -> &[u16] {
        &self.orientation_counts
    }

    /// Returns whether every name is unchanged.
    pub fn is_identity(&self) -> bool {
        self.cells.is_identity()
            && self.turns.iter().all(|&turn| turn == 0)
            && self.factors.iter().all(|&factor| factor == 1)
    }

    /// Returns `action` under the new names. Cells that `action` carries to each other must have equal
    /// factors: otherwise the renamed action is not an oriented permutation, and the result is wrong. This
    /// is not checked.
    ///
    /// # Panics
    /// If the two are not on cells of the same orientation counts.
    pub fn rename(&self, action: &OrientedPermutation) -> OrientedPermutation {
        assert_eq!(
            &*self.orientation_counts,
            action.orientation_counts(),
            "only permutations of the same cells can be renamed"
        );
        let mut turns = vec![0; action.degree()];
        for cell in 0..action.degree() {
            // Let this renaming be (c, i) -> (a(c), f(c) i + t(c)), and let `action` carry (c, 0) to (c', u).
            // The renamed action carries (a(c), t(c)) to (a(c'), f(c') u + t(c')).
            let (to, turn) = action.apply(cell, 0);
            let order = u32::from(self.orientation_counts[cell]);
            let arrives = u32::from(self.factors[to]) * u32::from(turn) + u32::from(self.turns[to]);
            turns[self.cells.apply(cell)] = ((arrives + order - u32::from(self.turns[cell])) % order) as u16;
        }
        let cells = action.cells().relabel(&self.cells);
        OrientedPermutation::new(cells, turns, self.orientation_counts.clone())
            .expect("renaming keeps orientation counts")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automorphisms::automorphisms;

    /// Three cells in a row, whose pieces have three orientations. The set has a swap of each two
    /// neighbours, and its inverse.
    #[test]
    fn point_renamings_are_cell_renamings() {
        let orientation_counts = [3_u16; 3];
        let set: Vec<OrientedPermutation> = ["(1,2+1)", "(2,3+1)", "(1,2+1)^-1", "(2,3+1)^-1"]
            .iter()
            .map(|text| match text.strip_suffix("^-1") {
                Some(text) => OrientedPermutation::parse(text, &orientation_counts).unwrap().inverse(),
                None => OrientedPermutation::parse(text, &orientation_counts).unwrap(),
            })
            .collect();
        let points: Vec<Permutation> = set.iter().map(OrientedPermutation::as_points).collect();
        let found = automorphisms(9, &points, 1000).found;
        let mut factors = std::collections::HashSet::new();
        for a in &found {
            let relabelling = Relabelling::from_points(a, &orientation_counts).unwrap();
            assert_eq!(relabelling.is_identity(), a.is_identity());
            factors.insert(relabelling.factors()[0]);
            for b in &found {
                let next = Relabelling::from_points(b, &orientation_counts).unwrap();
                assert_eq!(
                    Some(relabelling.then(&next)),
                    Relabelling::from_points(&a.then(b), &orientation_counts)
                );
            }
            for (x, on_points) in set.iter().zip(&points) {
                let renamed = relabelling.rename(x);
                assert_eq!(renamed.as_points(), on_points.relabel(a));
                assert!(set.contains(&renamed));
            }
        }
        // Turning all pieces by the same amount changes no move, which gives three automorphisms; swapping
        // the ends of the row gives three more.
        assert!(found.len() >= 6 && factors.contains(&1), "{}", found.len());
    }

    #[test]
    fn permutations_are_renamings() {
        let orientation_counts = [3; 4];
        let [a, x] = ["(1,2+1,3)(4+2)", "(1+1,4)(2+1)"]
            .map(|text| OrientedPermutation::parse(text, &orientation_counts).unwrap());
        assert_eq!(Relabelling::from_action(&a).rename(&x), x.relabel(&a));
    }

    #[test]
    fn renamings_must_map_cells_to_cells() {
        let torn = Permutation::parse("(1,3)", 4).unwrap();
        assert_eq!(Relabelling::from_points(&torn, &[2, 2]), None);
        let orders_differ = Permutation::parse("(1,3)(2,4)", 4).unwrap();
        assert_eq!(Relabelling::from_points(&orders_differ, &[2, 1, 1]), None);
        let not_affine = Permutation::parse("(1,2)", 5).unwrap();
        assert_eq!(Relabelling::from_points(&not_affine, &[5]), None);
    }
}
