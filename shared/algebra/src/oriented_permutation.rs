//! Oriented permutations: pieces change cells and turn on the way.
//!
//! Each cell has an order, the number of orientations of the pieces that may stand there (1 where pieces have
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
    orders: Box<[u16]>,
}

/// Why cells, turns and orders are not an oriented permutation. The fields count cells from 0; the message
/// counts them from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrientedPermutationError {
    /// The three lists are not equally long.
    Lengths {
        /// The number of cells.
        cells: usize,
        /// The number of turns.
        turns: usize,
        /// The number of orders.
        orders: usize,
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
            Self::Lengths { cells, turns, orders } => {
                write!(f, "{cells} cells, {turns} turns and {orders} orders do not match")
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
                    "the piece on cell {} goes to cell {}, where pieces have another number of orientations",
                    from + 1,
                    to + 1
                )
            }
        }
    }
}

impl std::error::Error for OrientedPermutationError {}

impl OrientedPermutation {
    /// Returns the identity on cells of these orders.
    ///
    /// # Panics
    /// If there are more than 65,535 cells, or an order is 0.
    pub fn identity(orders: impl Into<Box<[u16]>>) -> Self {
        let orders = orders.into();
        assert!(orders.iter().all(|&order| order > 0), "a piece has at least one orientation");
        Self { cells: Permutation::identity(orders.len()), turns: vec![0; orders.len()].into(), orders }
    }

    /// Returns the oriented permutation that carries the piece on cell `c` to `cells.apply(c)` and turns it
    /// by `turns[c]`. Cell `c` is of order `orders[c]`.
    ///
    /// # Errors
    /// [`OrientedPermutationError`] if there is not one turn and one order for each cell, if a turn is not
    /// below the order of its cell, or if a cell is sent to a cell of another order.
    pub fn new(
        cells: Permutation,
        turns: impl Into<Box<[u16]>>,
        orders: impl Into<Box<[u16]>>,
    ) -> Result<Self, OrientedPermutationError> {
        let (turns, orders) = (turns.into(), orders.into());
        if turns.len() != cells.degree() || orders.len() != cells.degree() {
            return Err(OrientedPermutationError::Lengths {
                cells: cells.degree(),
                turns: turns.len(),
                orders: orders.len(),
            });
        }
        for (cell, (&turn, &order)) in turns.iter().zip(&orders).enumerate() {
            if turn >= order {
                return Err(OrientedPermutationError::TurnOutOfRange { cell, turn, order });
            }
            let to = cells.apply(cell);
            if orders[to] != order {
                return Err(OrientedPermutationError::OrderChanges { from: cell, to });
            }
        }
        Ok(Self { cells, turns, orders })
    }

    /// Returns a permutation of cells whose pieces have no orientation.
    pub fn from_cells(cells: Permutation) -> Self {
        let degree = cells.degree();
        Self { cells, turns: vec![0; degree].into(), orders: vec![1; degree].into() }
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
    pub fn orders(&self) -> &[u16] {
        &self.orders
    }

    /// Returns the cell to which the piece on `cell` with `orientation` goes, and its orientation there.
    pub fn apply(&self, cell: usize, orientation: u16) -> (usize, u16) {
        (self.cells.apply(cell), add(orientation, self.turns[cell], self.orders[cell]))
    }

    /// Returns the product that applies this oriented permutation first and `next` after it.
    ///
    /// # Panics
    /// If the two are not on cells of the same orders.
    pub fn then(&self, next: &Self) -> Self {
        assert_eq!(self.orders, next.orders, "oriented permutations compose only on the same cells");
        let turns = (0..self.degree()).map(|cell| {
            let (to, turn) = self.apply(cell, 0);
            add(turn, next.turns[to], self.orders[cell])
        });
        Self { cells: self.cells.then(&next.cells), turns: turns.collect(), orders: self.orders.clone() }
    }

    /// Returns the oriented permutation that undoes this one.
    pub fn inverse(&self) -> Self {
        let mut turns = vec![0; self.degree()];
        for cell in 0..self.degree() {
            let (to, turn) = self.apply(cell, 0);
            turns[to] = (self.orders[cell] - turn) % self.orders[cell];
        }
        Self { cells: self.cells.inverse(), turns: turns.into(), orders: self.orders.clone() }
    }

    /// Returns this oriented permutation applied `exponent` times; negative exponents are powers of the
    /// inverse.
    pub fn power(&self, exponent: i64) -> Self {
        let mut square = if exponent < 0 { self.inverse() } else { self.clone() };
        let mut rest = exponent.unsigned_abs();
        let mut product = Self::identity(self.orders.clone());
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
    /// If the two are not on cells of the same orders.
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
            let orientations = u64::from(self.orders[cycle[0]]);
            let turn = cycle.iter().map(|&cell| u64::from(self.turns[cell])).sum::<u64>() % orientations;
            let period = cycle.len() as u64 * (orientations / gcd(turn, orientations));
            order.checked_mul(period / gcd(order, period))
        })
    }

    /// Returns the number of points that [`OrientedPermutation::as_points`] permutes: the sum of the orders.
    pub fn points(&self) -> usize {
        self.orders.iter().map(|&order| usize::from(order)).sum()
    }

    /// Returns the action on points, one point for each cell and orientation. Points are sorted by cell, then
    /// by orientation. This map is an injective homomorphism: it keeps products, inverses and orders, and
    /// maps different oriented permutations to different permutations.
    ///
    /// # Panics
    /// If there are more than 65,535 points.
    pub fn as_points(&self) -> Permutation {
        let first: Vec<usize> = self
            .orders
            .iter()
            .scan(0, |next, &order| {
                let first = *next;
                *next += usize::from(order);
                Some(first)
            })
            .collect();
        let points: Vec<(usize, u16)> =
            (0..self.degree()).flat_map(|cell| (0..self.orders[cell]).map(move |k| (cell, k))).collect();
        Permutation::from_fn(points.len(), |point| {
            let (to, orientation) = self.apply(points[point].0, points[point].1);
            first[to] + usize::from(orientation)
        })
    }
}

/// Returns a + b modulo `order`, without overflow for orders up to 65,535.
fn add(a: u16, b: u16, order: u16) -> u16 {
    ((u32::from(a) + u32::from(b)) % u32::from(order)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Generates cells of orders 1, 2 and 3, up to four of each, and `N` oriented permutations of these
    /// cells.
    fn elements<const N: usize>() -> impl Strategy<Value = [OrientedPermutation; N]> {
        proptest::array::uniform3(0_usize..=4).prop_flat_map(|sizes| {
            let orders: Vec<u16> =
                sizes.iter().enumerate().flat_map(|(i, &n)| vec![i as u16 + 1; n]).collect();
            let one = || {
                let blocks = sizes.map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle());
                let turns: Vec<_> = orders.iter().map(|&order| 0..order).collect();
                let orders = orders.clone();
                (blocks, turns).prop_map(move |(blocks, turns)| {
                    let mut images = Vec::new();
                    for block in blocks {
                        let first = images.len();
                        images.extend(block.iter().map(|&i| (first + i) as u16));
                    }
                    let cells = Permutation::from_images(images).unwrap();
                    OrientedPermutation::new(cells, turns, orders.clone()).unwrap()
                })
            };
            std::array::from_fn::<_, N, _>(|_| one())
        })
    }

    proptest! {
        #[test]
        fn group_laws([a, b, c] in elements::<3>()) {
            let one = OrientedPermutation::identity(a.orders());
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
        fn points_are_a_faithful_homomorphism([a, b] in elements::<2>()) {
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
                prop_assert!(!a.power(divisor).is_identity(), "{} is no order: {} is", order, divisor);
            }
        }

        #[test]
        fn what_is_written_is_read_again([a] in elements::<1>()) {
            prop_assert_eq!(OrientedPermutation::parse(&a.to_string(), a.orders()), Ok(a));
        }
    }

    #[test]
    fn the_turn_is_added_as_the_piece_leaves() {
        // The piece on cell 1 goes to cell 2 as it is, the piece on cell 2 goes to cell 1 and is turned by
        // one. So the square turns both pieces.
        let a = OrientedPermutation::parse("(1,2+1)", &[3, 3]).unwrap();
        assert_eq!(a.apply(0, 2), (1, 2));
        assert_eq!(a.apply(1, 2), (0, 0));
        assert_eq!(a.power(2).to_string(), "(1+1)(2+1)");
        assert_eq!(a.order(), Some(6));
    }

    #[test]
    fn what_is_no_oriented_permutation_is_refused_with_the_evidence() {
        let swap = || Permutation::parse("(1,2)", 2).unwrap();
        let message = |turns: &[u16], orders: &[u16]| {
            OrientedPermutation::new(swap(), turns, orders).unwrap_err().to_string()
        };
        assert_eq!(
            message(&[0, 3], &[3, 3]),
            "the turn 3 at cell 2 is not below the number of orientations, 3"
        );
        assert_eq!(
            message(&[0, 0], &[2, 3]),
            "the piece on cell 1 goes to cell 2, where pieces have another number of orientations"
        );
        assert_eq!(message(&[0], &[1, 1]), "2 cells, 1 turns and 2 orders do not match");
    }
}
