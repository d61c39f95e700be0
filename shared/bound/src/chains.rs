//! Searches for a good chain: which tiles each stage solves, so that few moves are enough in total.
//!
//! Tiles are solved in some order. For one order, the moves of a stage depend only on the numbers of tiles
//! that are solved before and after the stage. So once the stages between all such numbers are known, the
//! best chain is a shortest path. Stages with small tables are tried first, for all orders, and larger ones
//! later: some chain is found soon, and better ones as long as there is time.

use crate::chain::Chain;
use crate::joined::{Joined, joined};
use crate::upper::{Ball, UpperError, certified, only_even};
use crate::{Certificate, stage::Stage};
use fathom_puzzle::{Board, Metric};
use rustc_hash::FxHashMap;

/// Limits of the size of a stage's table, in entries; tried one after the other.
const TABLES: [usize; 5] = [1 << 8, 1 << 13, 1 << 17, 1 << 21, 1 << 25];

/// A stage is left out if it would need more trials of words on states.
const MOST_TRIALS: u64 = 1 << 32;

/// A report of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All stages of one order, up to a table size, were tried.
    Tried(Tried),
    /// Two stages were joined: the first tiles of an order, and all others.
    Joined {
        /// The order in which tiles are solved.
        order: &'static str,
        /// The moves of both stages together.
        joined: Joined,
    },
}

/// The stages that were tried for an order, and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The order in which tiles are solved.
    pub order: &'static str,
    /// The largest table of a stage, in entries.
    pub table: usize,
    /// The number of stages that were tried.
    pub stages: usize,
    /// The best chain and its number of moves; `None` if the stages so far give no complete chain.
    pub best: Option<(Chain, u32)>,
}

/// Returns named orders in which tiles can be solved.
fn orders(board: Board) -> Vec<(&'static str, Vec<usize>)> {
    let (rows, columns) = (board.rows(), board.columns());
    let by = |key: &dyn Fn(usize, usize) -> (usize, usize, usize)| {
        let mut tiles: Vec<usize> = (0..board.cells()).collect();
        tiles.sort_by_key(|&tile| {
            let (row, column) = board.position(tile);
            key(row, column)
        });
        tiles
    };
    let mut orders = vec![
        ("row by row", by(&|row, column| (row, column, 0))),
        (
            "frames from a corner",
            by(&|row, column| (row.min(column), usize::from(row > column), row + column)),
        ),
        ("squares of four", by(&|row, column| (row / 2, column / 2, row % 2 * columns + column % 2))),
        ("squares that grow", by(&|row, column| (row.max(column), usize::from(column < row), row + column))),
    ];
    if rows != columns {
        orders.push(("column by column", by(&|row, column| (column, row, 0))));
    }
    orders
}

/// Searches for a chain while `goes_on` returns true, and passes each report to `tell`. Even after that, the
/// search continues until it has found some chain.
///
/// # Errors
/// [`UpperError`] if the board's group is neither symmetric nor alternating, or if no chain was found.
pub fn search(
    board: Board,
    metric: Metric,
    radius: u32,
    memory_bytes: u64,
    goes_on: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(&Progress),
) -> Result<Certificate, UpperError> {
    let puzzle = board.puzzle(metric);
    let only_even = only_even(board, &puzzle)?;
    let ball = Ball::new(&puzzle, radius, memory_bytes);
    let orders = orders(board);
    // For each order, the moves of each stage by the numbers of tiles before and after it; `None` if words do
    // not solve it.
    let mut known: Vec<FxHashMap<(usize, usize), Option<u32>>> = vec![FxHashMap::default(); orders.len()];
    let mut best: Option<(Chain, u32)> = None;
    let mut together: Option<Joined> = None;
    'search: for table in TABLES {
        for ((name, order), known) in orders.iter().zip(&mut known) {
            let set = |tiles: usize| {
                let mut set = order[..tiles].to_vec();
                set.sort_unstable();
                set
            };
            let pairs =
                (0..board.cells()).flat_map(|from| (from + 1..=board.cells()).map(move |to| (from, to)));
            // A stage that leaves one tile has solved that tile too.
            let pairs = pairs.filter(|&(_, to)| to + 1 != board.cells());
            for (from, to) in pairs {
                let free = board.cells() - from;
                let fits = u32::try_from(to - from).ok().and_then(|tiles| free.checked_pow(tiles));
                if known.contains_key(&(from, to)) || fits.is_none_or(|size| size > table) {
                    continue;
                }
                if !goes_on() && best.is_some() {
                    break 'search;
                }
                let (before, after) = (set(from), set(to));
                let stage = Stage::new(board.cells(), &before, &after, only_even);
                let moves =
                    stage.and_then(|stage| certified(&ball, &puzzle, &stage, &before, &after, MOST_TRIALS));
                known.insert((from, to), moves.map(|stage| stage.moves));
            }
            let found = shortest(board.cells(), known)
                .map(|(cuts, moves)| (Chain { stages: cuts.into_iter().map(&set).collect() }, moves));
            tell(&Progress::Tried(Tried { order: name, table, stages: known.len(), best: found.clone() }));
            let better = |(_, moves): &(Chain, u32)| best.as_ref().is_none_or(|(_, least)| moves < least);
            if let Some(found) = found.filter(better) {
                best = Some(found);
            }
        }
        if table == TABLES[0] && !only_even {
            for (order, tiles) in first_halves(board, &orders) {
                let tell = &mut |joined: &Joined| tell(&Progress::Joined { order, joined: joined.clone() });
                let found = joined(board, metric, &tiles, memory_bytes, goes_on, tell);
                let is_better =
                    |found: &Joined| together.as_ref().is_none_or(|best| found.moves < best.moves);
                together = found.filter(is_better).or(together);
            }
        }
    }
    let least = best.as_ref().map_or(u32::MAX, |&(_, moves)| moves);
    if let Some(together) = together.filter(|together| together.moves < least) {
        return Ok(Certificate::joined(board, &puzzle, metric, &together));
    }
    let (chain, _) = best.ok_or(UpperError::NoChain { moves: 2 * ball.depth() })?;
    crate::upper::by_chain(board, metric, &chain, &ball, &puzzle, only_even)
}

/// Returns the first tiles of each order, without duplicates. Their number minimises the sum of the places of
/// these tiles and the arrangements of the others.
fn first_halves(board: Board, orders: &[(&'static str, Vec<usize>)]) -> Vec<(&'static str, Vec<usize>)> {
    let cells = board.cells() as u64;
    let product = |range: std::ops::RangeInclusive<u64>| {
        range.fold(1_u64, |product, factor| product.saturating_mul(factor))
    };
    let sum = |tiles: &u64| product(cells - tiles + 1..=cells).saturating_add(product(1..=cells - tiles));
    let Some(tiles) = (1..cells).min_by_key(sum) else {
        return Vec::new();
    };
    let mut halves: Vec<(&'static str, Vec<usize>)> = Vec::new();
    for &(name, ref order) in orders {
        let mut half = order[..tiles as usize].to_vec();
        half.sort_unstable();
        if halves.iter().all(|(_, other)| *other != half) {
            halves.push((name, half));
        }
    }
    halves
}

/// Returns the numbers of solved tiles after each stage of the chain with the fewest moves, and these moves.
fn shortest(tiles: usize, stages: &FxHashMap<(usize, usize), Option<u32>>) -> Option<(Vec<usize>, u32)> {
    let mut best: Vec<Option<(u32, usize)>> = vec![None; tiles + 1];
    best[0] = Some((0, 0));
    for to in 1..=tiles {
        best[to] = (0..to)
            .filter_map(|from| {
                let moves = (*stages.get(&(from, to))?)?;
                Some((best[from]?.0 + moves, from))
            })
            .min();
    }
    let moves = best[tiles]?.0;
    let mut cuts = vec![tiles];
    while let Some((_, from)) = best[*cuts.last().expect("the end is one")].filter(|&(_, from)| from > 0) {
        cuts.push(from);
    }
    cuts.reverse();
    Some((cuts, moves))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(word: &str, goes_on: bool) -> (Certificate, Vec<Progress>) {
        let board: Board = word.parse().unwrap();
        let mut tried = Vec::new();
        let certificate =
            search(board, Metric::Multi, 4, 1 << 30, &|| goes_on, &mut |told| tried.push(told.clone()))
                .unwrap();
        (certificate, tried)
    }

    #[test]
    fn small_boards_come_to_gods_number() {
        // Table 4 of the paper: with all tiles in one stage nothing is lost.
        for (board, god_number) in [("2x2", 4), ("2x3", 7)] {
            let (certificate, tried) = found(board, true);
            assert_eq!(
                (certificate.upper_bound, certificate.verify(1 << 30)),
                (god_number, Ok(())),
                "{board}"
            );
            let moves = |told: &Progress| match told {
                Progress::Tried(tried) => Some(tried.best.as_ref()?.1),
                Progress::Joined { joined, .. } => Some(joined.moves),
            };
            let least = tried.iter().filter_map(moves).min();
            assert_eq!(least, Some(god_number));
        }
    }

    #[test]
    fn without_time_there_is_some_chain() {
        let (certificate, tried) = found("3x3", false);
        // Table 1: God's number is 8.
        assert!((8..40).contains(&certificate.upper_bound), "{}", certificate.upper_bound);
        assert_eq!(certificate.verify(1 << 30), Ok(()));
        assert!(!tried.is_empty());
    }

    #[test]
    fn each_order_has_each_tile_once() {
        for word in ["2x2", "3x4", "5x5"] {
            let board: Board = word.parse().unwrap();
            for (name, mut order) in orders(board) {
                order.sort_unstable();
                assert_eq!(order, (0..board.cells()).collect::<Vec<_>>(), "{word} {name}");
            }
        }
    }
}
