//! Oriented permutations: pieces change cells and turn on the way.
//!
//! Each cell has an order, the number of orientations of the pieces that may be there (1 if pieces have
//! none). An oriented permutation carries the piece on cell `c` to another cell of the same order and adds
//! `turn(c)` to its orientation, modulo that order. All oriented permutations of the same cells form a direct
//! product of wreath products of cyclic groups, with one factor for each order. They compose as [permutations
//! do](crate): from left to right.

use crate::Permutation;
use crate::permutation::gcd;
use std::fmt;

/// A permutation of cells, with an amount for each cell: the orientation of the piece that leaves the cell
/// increases by this amount.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrientedPermutation {
    cells: Permutation,
    turns: Box<[u16]>,
    orientation_counts: Box<[u16]>,
}

/// Why cells, turns and orientation counts are not an oriented permutation. The fields count cells from 0;
/// the message counts them from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrientedPermutationError {
    /// The three lists have different lengths.
    Lengths {
        /// The number of cells.
        cells: usize,
        /// The number of turns.
        turns: usize,
        /// The number of orientation counts.
        orientation_counts: usize,
    },
    /// The amount added at a cell is not below the order of the cell.
    TurnOutOfRange {
        /// The cell.
        cell: usize,
        /// The amount.
        turn: u16,
        /// The order.
        order: u16,
    },
    /// A piece goes to a cell of another order.
    OrderChanges {
        /// The cell that the piece leaves.
        from: usize,
        /// The cell that the piece reaches.
        to: usize,
    },
}

impl fmt::Display for OrientedPermutationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths { cells, turns, orientation_counts } => {
                write!(
                    f,
                    "{cells} cells, {turns} turns and {orientation_counts} orientation counts do not match"
                )
            }
            Self::TurnOutOfRange { cell, turn, order } => {
                write!(
                    f,
                    "the turn {turn} at cell {} is not below the number of orientations, {order}",
                    cell + 1
                )
            }
            Self::OrderChanges { from, to } => {
                write!(
                    f,
                    "the piece on cell {} goes to cell {}, where pieces have a different number of orientations",
                    from + 1,
                    to + 1
                )
            }
        }
    }
}

impl std::error::Error for OrientedPermutationError {}

impl OrientedPermutation {
    /// Returns the identity on cells of these orientation counts.
    ///
    /// # Panics
    /// If there are more than 65,535 cells, or an order is 0.
    pub fn identity(orientation_counts: impl Into<Box<[u16]>>) -> Self {
        let orientation_counts = orientation_counts.into();
        assert!(orientation_counts.iter().all(|&order| order > 0), "a piece has at least one orientation");
        Self {
            cells: Permutation::identity(orientation_counts.len()),
            turns: vec![0; orientation_counts.len()].into(),
            orientation_counts,
        }
    }

    /// Returns the oriented permutation that carries the piece on cell `c` to `cells.apply(c)` and turns it
    /// by `turns[c]`. Cell `c` is of order `orientation_counts[c]`.
    ///
    /// # Errors
    /// [`OrientedPermutationError`] if there is not one turn and one order for each cell, if a turn is not
    /// below the order of its cell, or if a cell is sent to a cell of another order.
    pub fn new(
        cells: Permutation,
        turns: impl Into<Box<[u16]>>,
        orientation_counts: impl Into<Box<[u16]>>,
    ) -> Result<Self, OrientedPermutationError> {
        let (turns, orientation_counts) = (turns.into(), orientation_counts.into());
        if turns.len() != cells.degree() || orientation_counts.len() != cells.degree() {
            return Err(OrientedPermutationError::Lengths {
                cells: cells.degree(),
                turns: turns.len(),
                orientation_counts: orientation_counts.len(),
            });
        }
        for (cell, (&turn, &order)) in turns.iter().zip(&orientation_counts).enumerate() {
            if turn >= order {
                return Err(OrientedPermutationError::TurnOutOfRange { cell, turn, order });
            }
            let to = cells.apply(cell);
            if orientation_counts[to] != order {
                return Err(OrientedPermutationError::OrderChanges { from: cell, to });
            }
        }
        Ok(Self { cells, turns, orientation_counts })
    }

    /// Returns a permutation of cells whose pieces have no orientation.
    pub fn from_cells(cells: Permutation) -> Self {
        let degree = cells.degree();
        Self { cells, turns: vec![0; degree].into(), orientation_counts: vec![1; degree].into() }
    }

    /// Returns the number of cells.
    pub fn degree(&self) -> usize {
        self.cells.degree()
    }

    /// Returns the permutation of the cells.
    pub fn cells(&self) -> &Permutation {
        &self.cells
    }

    /// Returns for each cell the amount that is added to the orientation of the piece that leaves the cell.
    pub fn turns(&self) -> &[u16] {
        &self.turns
    }

    /// Returns the order of each cell.
    pub fn orientation_counts(&self) -> &[u16] {
        &self.orientation_counts
    }

    /// Returns the cell to which the piece on `cell` with `orientation` goes, and its orientation there.
    pub fn apply(&self, cell: usize, orientation: u16) -> (usize, u16) {
        (self.cells.apply(cell), add(orientation, self.turns[cell], self.orientation_counts[cell]))
    }

    /// Returns the product that applies this oriented permutation first and `next` after it.
    ///
    /// # Panics
    /// If the two are not on cells of the same orientation counts.
    pub fn then(&self, next: &Self) -> Self {
        assert_eq!(
            self.orientation_counts, next.orientation_counts,
            "oriented permutations compose only on the same cells"
        );
        let turns = (0..self.degree()).map(|cell| {
            let (to, turn) = self.apply(cell, 0);
            add(turn, next.turns[to], self.orientation_counts[cell])
        });
        Self {
            cells: self.cells.then(&next.cells),
            turns: turns.collect(),
            orientation_counts: self.orientation_counts.clone(),
        }
    }

    /// Returns the oriented permutation that undoes this one.
    pub fn inverse(&self) -> Self {
        let mut turns = vec![0; self.degree()];
        for cell in 0..self.degree() {
            let (to, turn) = self.apply(cell, 0);
            turns[to] = (self.orientation_counts[cell] - turn) % self.orientation_counts[cell];
        }
        Self {
            cells: self.cells.inverse(),
            turns: turns.into(),
            orientation_counts: self.orientation_counts.clone(),
        }
    }

    /// Returns this oriented permutation applied `exponent` times; negative exponents are powers of the
    /// inverse.
    pub fn power(&self, exponent: i64) -> Self {
        let mut square = if exponent < 0 { self.inverse() } else { self.clone() };
        let mut rest = exponent.unsigned_abs();
        let mut product = Self::identity(self.orientation_counts.clone());
        while rest > 0 {
            if rest % 2 == 1 {
                product = product.then(&square);
            }
            square = square.then(&square);
            rest /= 2;
        }
        product
    }

    /// Returns this oriented permutation after cells and orientations are renamed by `names`: the product of
    /// `names⁻¹`, `self` and `names`.
    ///
    /// # Panics
    /// If the two are not on cells of the same orientation counts.
    pub fn relabel(&self, names: &Self) -> Self {
        names.inverse().then(self).then(names)
    }

    /// Returns whether every piece stays on its cell and is not turned.
    pub fn is_identity(&self) -> bool {
        self.cells.is_identity() && self.turns.iter().all(|&turn| turn == 0)
    }

    /// Returns the smallest positive exponent whose power is the identity; `None` if it exceeds 64 bits. A
    /// cycle of length l on cells of order o, whose turns add up to t, has period l o / gcd(t, o); the result
    /// is the least common multiple of the periods.
    pub fn order(&self) -> Option<u64> {
        self.cells.cycles_with_fixed_points().iter().try_fold(1_u64, |order, cycle| {
            let orientations = u64::from(self.orientation_counts[cycle[0]]);
            let turn = cycle.iter().map(|&cell| u64::from(self.turns[cell])).sum::<u64>() % orientations;
            let period = cycle.len() as u64 * (orientations / gcd(turn, orientations));
            order.checked_mul(period / gcd(order, period))
        })
    }

    /// Returns the number of points that [`OrientedPermutation::as_points`] permutes: the sum of the
    /// orientation counts.
    pub fn points(&self) -> usize {
        self.orientation_counts.iter().map(|&order| usize::from(order)).sum()
    }

    /// Returns the action on points, one point for each cell and orientation. Points are sorted by cell, then
    /// by orientation. This map is an injective homomorphism: it keeps products, inverses and
    /// orders, and maps different oriented permutations to different permutations.
    ///
    /// # Panics
    /// If there are more than 65,535 points.
    pub fn as_points(&self) -> Permutation {
        let first: Vec<usize> = self
            .orientation_counts
            .iter()
            .scan(0, |next, &order| {
                let first = *next;
                *next += usize::from(order);
                Some(first)
            })
            .collect();
        let points: Vec<(usize, u16)> = (0..self.degree())
            .flat_map(|cell| (0..self.orientation_counts[cell]).map(move |k| (cell, k)))
            .collect();
        Permutation::from_fn(points.len(), |point| {
            let (to, orientation) = self.apply(points[point].0, points[point].1);
            first[to] + usize::from(orientation)
        })
    }
}

/// Returns a + b modulo `order`, without overflow for orientation counts up to 65,535.
fn add(a: u16, b: u16, order: u16) -> u16 {
    ((u32::from(a) + u32::from(b)) % u32::from(order)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Generates cells of orientation counts 1, 2 and 3, up to four of each, and `N` oriented permutations of
    /// these cells.
    fn elements<const N: usize>() -> impl Strategy<Value = [OrientedPermutation; N]> {
        proptest::array::uniform3(0_usize..=4).prop_flat_map(|sizes| {
            let orientation_counts: Vec<u16> =
                sizes.iter().enumerate().flat_map(|(i, &n)| vec![i as u16 + 1; n]).collect();
            let one = || {
                let blocks = sizes.map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle());
                let turns: Vec<_> = orientation_counts.iter().map(|&order| 0..order).collect();
                let orientation_counts = orientation_counts.clone();
                (blocks, turns).prop_map(move |(blocks, turns)| {
                    let mut images = Vec::new();
                    for block in blocks {
                        let first = images.len();
                        images.extend(block.iter().map(|&i| (first + i) as u16));
                    }
                    let cells = Permutation::from_images(images).unwrap();
                    OrientedPermutation::new(cells, turns, orientation_counts.clone()).unwrap()
                })
            };
            std::array::from_fn::<_, N, _>(|_| one())
        })
    }

    proptest! {
        #[test]
        fn group_laws([a, b, c] in elements::<3>()) {
            let one = OrientedPermutation::identity(a.orientation_counts());
            prop_assert_eq!(a.then(&b).then(&c), a.then(&b.then(&c)));
            prop_assert_eq!(a.then(&one), a.clone());
            prop_assert_eq!(one.then(&a), a.clone());
            prop_assert!(a.then(&a.inverse()).is_identity());
            prop_assert!(a.inverse().then(&a).is_identity());
            prop_assert_eq!(a.then(&b).inverse(), b.inverse().then(&a.inverse()));
            prop_assert_eq!(a.relabel(&b).relabel(&c), a.relabel(&b.then(&c)));
            prop_assert_eq!(a.then(&b).relabel(&c), a.relabel(&c).then(&b.relabel(&c)));
        }

        #[test]
        fn as_points_is_a_faithful_homomorphism([a, b] in elements::<2>()) {
            prop_assert_eq!(a.then(&b).as_points(), a.as_points().then(&b.as_points()));
            prop_assert_eq!(a.inverse().as_points(), a.as_points().inverse());
            prop_assert_eq!(a.relabel(&b).as_points(), a.as_points().relabel(&b.as_points()));
            prop_assert_eq!(a.order(), a.as_points().order());
            prop_assert_eq!(a == b, a.as_points() == b.as_points());
            prop_assert_eq!(a.points(), a.as_points().degree());
        }

        #[test]
        fn powers_add_up([a] in elements::<1>(), i in -40_i64..40, j in -40_i64..40) {
            prop_assert_eq!(a.power(i).then(&a.power(j)), a.power(i + j));
            let order = a.order().unwrap() as i64;
            prop_assert!(a.power(order).is_identity());
            for divisor in (1..order).filter(|d| order % d == 0) {
                prop_assert!(!a.power(divisor).is_identity(), "{} is not the order: {} is", order, divisor);
            }
        }

        #[test]
        fn writing_and_reading_round_trip([a] in elements::<1>()) {
            prop_assert_eq!(OrientedPermutation::parse(&a.to_string(), a.orientation_counts()), Ok(a));
        }
    }

    #[test]
    fn turns_are_added_at_the_source_cell() {
        // The piece on cell 1 goes to cell 2 unturned, the piece on cell 2 goes to cell 1 and is turned by
        // one. So the square turns both pieces.
        let a = OrientedPermutation::parse("(1,2+1)", &[3, 3]).unwrap();
        assert_eq!(a.apply(0, 2), (1, 2));
        assert_eq!(a.apply(1, 2), (0, 0));
        assert_eq!(a.power(2).to_string(), "(1+1)(2+1)");
        assert_eq!(a.order(), Some(6));
    }

    #[test]
    fn invalid_oriented_permutations_are_rejected() {
        let swap = || Permutation::parse("(1,2)", 2).unwrap();
        let message = |turns: &[u16], orientation_counts: &[u16]| {
            OrientedPermutation::new(swap(), turns, orientation_counts).unwrap_err().to_string()
        };
        assert_eq!(
            message(&[0, 3], &[3, 3]),
            "the turn 3 at cell 2 is not below the number of orientations, 3"
        );
        assert_eq!(
            message(&[0, 0], &[2, 3]),
            "the piece on cell 1 goes to cell 2, where pieces have a different number of orientations"
        );
        assert_eq!(message(&[0], &[1, 1]), "2 cells, 1 turns and 2 orientation counts do not match");
    }
}
