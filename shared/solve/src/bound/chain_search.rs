//! Searches for a good chain: which pieces each stage solves, so that few moves are enough in total.
//!
//! Pieces are solved in some order. For one order, the moves of a stage depend only on the numbers of pieces
//! that are solved before and after the stage. So once the stages between all such numbers are known, the
//! best chain is a shortest path. Stages with small tables are tried first, for all orders, with words of
//! increasing length; then larger tables. So some chain is found soon, and better ones as long as time
//! remains.

use crate::bound::cover::{Cover, NotBounded};
use crate::bound::stage::SolvingOrder;
use crate::bound::stage_pairs::{Joined, joined};
use crate::bound::upper_bound::{Ball, Certificate, UpperError, by_cuts, certified};
use fathom_puzzle::Board;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The radius of the ball whose words are tried first, regardless of the time limit.
const SMALL_RADIUS: u32 = 2;

/// Limits of the size of a stage's table, in entries, tried in this order.
const TABLES: [usize; 5] = [1 << 8, 1 << 13, 1 << 17, 1 << 21, 1 << 25];

/// The maximum number of trials of words on states for a stage; stages that need more are skipped.
const MAX_TRIALS: u64 = 1 << 32;

/// A report of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All stages of one order were tried, up to a table size.
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
    /// The length of the longest words.
    pub longest: usize,
    /// The largest table of a stage, in entries.
    pub table: usize,
    /// The number of stages that were tried.
    pub stages: usize,
    /// The number of pieces solved after each stage of the best chain, and its number of moves;
    /// `None` if the stages so far give no complete chain.
    pub best: Option<(Vec<usize>, u32)>,
}

/// Returns named orders in which the pieces of a puzzle can be solved.
fn piece_orders(cover: &Cover) -> Vec<(&'static str, Vec<usize>)> {
    match cover.board {
        Some(board) => orders_of_tiles(board),
        None => orders_of_pieces(cover),
    }
}

/// Returns the orders of a puzzle that is not a board: orbit by orbit, and by how many moves fix the pieces.
fn orders_of_pieces(cover: &Cover) -> Vec<(&'static str, Vec<usize>)> {
    let count = cover.pieces();
    let moves: Vec<&[u16]> = cover.puzzle.moves.iter().map(|m| m.action.cells().images()).collect();
    let leaves = |images: &[u16], piece: usize| {
        usize::from(images[cover.first_points[piece]]) == cover.first_points[piece]
    };
    // The number of the orbit of each piece, and the length of the orbit.
    let mut orbit = vec![(0, 0); count];
    for (number, pieces) in cover.orbits.iter().enumerate() {
        pieces.iter().for_each(|&piece| orbit[piece] = (number, pieces.len()));
    }
    // The next piece is the one among the first that, together with the pieces before it, is fixed by as many
    // moves as possible.
    let by_moves = |first: &dyn Fn(usize) -> (usize, usize)| {
        let mut order: Vec<usize> = Vec::new();
        let mut left = moves.clone();
        while order.len() < count {
            let free = (0..count).filter(|piece| !order.contains(piece));
            let key = |&piece: &usize| {
                let kept = left.iter().filter(|images| leaves(images, piece)).count();
                (first(piece), std::cmp::Reverse(kept))
            };
            let next = free.min_by_key(key).expect("some piece is left");
            left.retain(|images| leaves(images, next));
            order.push(next);
        }
        order
    };
    let mut piece_orders = vec![
        ("by moves that fix pieces", by_moves(&|_| (0, 0))),
        ("small orbits first", by_moves(&|piece| (orbit[piece].1, orbit[piece].0))),
        ("large orbits first", by_moves(&|piece| (count - orbit[piece].1, orbit[piece].0))),
    ];
    for at in (1..piece_orders.len()).rev() {
        if piece_orders[..at].iter().any(|(_, order)| *order == piece_orders[at].1) {
            piece_orders.remove(at);
        }
    }
    piece_orders
}

/// Returns the orders of the tiles of a board.
fn orders_of_tiles(board: Board) -> Vec<(&'static str, Vec<usize>)> {
    let (rows, columns) = (board.rows(), board.columns());
    let by = |key: &dyn Fn(usize, usize) -> (usize, usize, usize)| {
        let mut tiles: Vec<usize> = (0..board.cells()).collect();
        tiles.sort_by_key(|&tile| {
            let (row, column) = board.position(tile);
            key(row, column)
        });
        tiles
    };
    let mut piece_orders = vec![
        ("row by row", by(&|row, column| (row, column, 0))),
        (
            "frames from a corner",
            by(&|row, column| (row.min(column), usize::from(row > column), row + column)),
        ),
        ("squares of four", by(&|row, column| (row / 2, column / 2, row % 2 * columns + column % 2))),
        ("growing squares", by(&|row, column| (row.max(column), usize::from(column < row), row + column))),
    ];
    if rows != columns {
        piece_orders.push(("column by column", by(&|row, column| (column, row, 0))));
    }
    piece_orders
}

/// An order and the known numbers of moves of its stages.
struct Known {
    name: &'static str,
    pieces: Vec<usize>,
    order: SolvingOrder,
    /// The moves of each stage, by the numbers of pieces brought home before and after it; `None` if the
    /// words do not solve it.
    stages: FxHashMap<Range<usize>, Option<u32>>,
}

/// Searches for a chain while `goes_on` returns true, and passes each report to `tell`. Stages with small
/// tables and short words are tried even after that. `space` is the name from which a reader of the
/// certificate can load the puzzle.
///
/// # Errors
/// [`UpperError`] if the puzzle's moves have guards, or if no chain was found.
pub fn search(
    cover: &Cover,
    space: &str,
    radius: u32,
    memory_bytes: u64,
    goes_on: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(&Progress),
) -> Result<Certificate, UpperError> {
    if cover.has_guards {
        return Err(NotBounded::Guarded(space.into()).into());
    }
    // The parity, if moves change it, is the last piece of this group, and the first in all orders.
    let with_parity = cover.with_parity();
    let all = with_parity.as_ref().unwrap_or(cover);
    let parity = with_parity.as_ref().map(|_| cover.pieces());
    let mut known: Vec<Known> = piece_orders(cover)
        .into_iter()
        .map(|(name, pieces)| {
            let order = SolvingOrder::new(all, &parity.into_iter().chain(pieces.clone()).collect::<Vec<_>>());
            Known { name, pieces, order, stages: FxHashMap::default() }
        })
        .collect();
    let mut best: Option<(Found, u32)> = None;
    let mut balls: Vec<Ball> = Vec::new();
    let radii = SMALL_RADIUS.min(radius)..=radius;
    'search: for (pass, ball_radius) in radii.enumerate() {
        let (is_first, is_last) = (pass == 0, ball_radius == radius);
        let may_go_on = || is_first || goes_on();
        balls.push(Ball::new(all, ball_radius, memory_bytes, &may_go_on));
        let ball = &balls[pass];
        known.iter_mut().for_each(|known| known.stages.clear());
        let tables = if is_last { &TABLES[..] } else { &TABLES[..1] };
        for &table in tables {
            let may_go_on = || (is_first && table == TABLES[0]) || goes_on();
            for (number, known) in known.iter_mut().enumerate() {
                // If nothing moves, there are no stages to try, and the empty chain is found.
                if known.try_stages(all, ball, table, &may_go_on) == 0 && known.order.len() > 0 {
                    continue;
                }
                let found = known.shortest();
                let told = found.as_ref().map(|(cuts, moves)| {
                    let solved = |&cut: &usize| cover.own_pieces(known.order.solved(cut)).count();
                    (cuts.iter().map(solved).collect(), *moves)
                });
                let (order, stages, longest) = (known.name, known.stages.len(), 2 * ball.depth());
                tell(&Progress::Tried(Tried { order, longest, table, stages, best: told }));
                let is_better = |moves: u32| best.as_ref().is_none_or(|&(_, least)| moves < least);
                if let Some((cuts, moves)) = found.filter(|&(_, moves)| is_better(moves)) {
                    best = Some((Found::Chain { pass, number, cuts }, moves));
                }
                if !may_go_on() {
                    break 'search;
                }
            }
            if table == TABLES[0] && is_last && cover.is_symmetric() {
                for (order, tiles) in first_halves(cover.puzzle.cells, &known) {
                    let tell =
                        &mut |joined: &Joined| tell(&Progress::Joined { order, joined: joined.clone() });
                    if let Some(found) = joined(cover, &tiles, memory_bytes, goes_on, tell)
                        && best.as_ref().is_none_or(|&(_, least)| found.moves < least)
                    {
                        let moves = found.moves;
                        best = Some((Found::Joined(found), moves));
                    }
                }
            }
        }
    }
    match best {
        Some((Found::Chain { pass, number, cuts }, _)) => {
            let found = by_cuts(all, space, &known[number].order, &cuts, &balls[pass])?;
            Ok(found.of_pieces(cover))
        }
        Some((Found::Joined(joined), _)) => Ok(Certificate::joined(cover, space, &joined)),
        None => Err(UpperError::NoChain { moves: balls.last().map_or(0, |ball| 2 * ball.depth()) }),
    }
}

/// The best stages so far.
enum Found {
    /// The cuts of an order, and the words of the ball of one pass.
    Chain {
        pass: usize,
        number: usize,
        cuts: Vec<usize>,
    },
    Joined(Joined),
}

impl Known {
    /// Tries all untried stages up to a table size, while `goes_on` returns true. Returns the number of
    /// stages that were tried.
    fn try_stages(
        &mut self,
        cover: &Cover,
        ball: &Ball,
        table: usize,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> usize {
        let (count, before) = (self.order.len(), self.stages.len());
        let ranges = (0..count).flat_map(|from| (from + 1..=count).map(move |to| from..to));
        for brought in ranges {
            if self.stages.contains_key(&brought)
                || self.order.table(&brought).is_none_or(|size| size > table)
            {
                continue;
            }
            let stage = self.order.stage(&brought);
            let moves = stage.and_then(|stage| {
                certified(ball, &cover.puzzle, &stage, &self.order, &brought, MAX_TRIALS, goes_on)
            });
            if !goes_on() {
                break;
            }
            self.stages.insert(brought, moves.map(|stage| stage.moves));
        }
        self.stages.len() - before
    }

    /// Returns the numbers of pieces brought home after each stage of the chain with the fewest moves, and
    /// these moves.
    fn shortest(&self) -> Option<(Vec<usize>, u32)> {
        let count = self.order.len();
        let mut best: Vec<Option<(u32, usize)>> = vec![None; count + 1];
        best[0] = Some((0, 0));
        for to in 1..=count {
            best[to] = (0..to)
                .filter_map(|from| {
                    let moves = (*self.stages.get(&(from..to))?)?;
                    Some((best[from]?.0 + moves, from))
                })
                .min();
        }
        let moves = best[count]?.0;
        let mut cuts = vec![count];
        while let Some((_, from)) = best[*cuts.last().expect("the end is one")].filter(|&(_, from)| from > 0)
        {
            cuts.push(from);
        }
        cuts.reverse();
        Some((cuts, moves))
    }
}

/// Returns the first tiles of each order, without duplicates. Their number minimises the sum of the places of
/// these tiles and the arrangements of the others.
fn first_halves(cells: usize, piece_orders: &[Known]) -> Vec<(&'static str, Vec<usize>)> {
    let cells = cells as u64;
    let product = |range: std::ops::RangeInclusive<u64>| {
        range.fold(1_u64, |product, factor| product.saturating_mul(factor))
    };
    let sum = |tiles: &u64| product(cells - tiles + 1..=cells).saturating_add(product(1..=cells - tiles));
    let Some(tiles) = (1..cells).min_by_key(sum) else {
        return Vec::new();
    };
    let mut halves: Vec<(&'static str, Vec<usize>)> = Vec::new();
    for &Known { name, ref pieces, .. } in piece_orders {
        let mut half = pieces[..tiles as usize].to_vec();
        half.sort_unstable();
        if halves.iter().all(|(_, other)| *other != half) {
            halves.push((name, half));
        }
    }
    halves
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::{Metric, PuzzleSpec};

    fn found(word: &str, goes_on: bool) -> (Certificate, Vec<Progress>) {
        let cover = Cover::of_board(word.parse().unwrap(), Metric::Multi);
        let mut tried = Vec::new();
        let certificate =
            search(&cover, word, 4, 1 << 30, &|| goes_on, &mut |told| tried.push(told.clone())).unwrap();
        (certificate, tried)
    }

    #[test]
    fn small_boards_reach_gods_number() {
        // Table 4 of the paper: with all tiles in one stage, the bound is exact.
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

    /// God's numbers: a single tile has none, a cycle of five has one; a stack of five pancakes (OEIS
    /// A058986); fto.toml as in records/puzzles.
    #[test]
    fn all_kinds_of_puzzles_are_solved_in_stages() {
        let octahedron = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/fto.toml");
        for (space, metric, god_number, most, goes_on) in [
            ("1x1", Metric::Multi, 0, 0, false),
            ("1x5", Metric::Multi, 1, 1, true),
            ("pancake:5", Metric::Given, 5, 5, true),
            (octahedron, Metric::Multi, 13, 60, false),
        ] {
            let cover = match PuzzleSpec::by_name(space).unwrap() {
                PuzzleSpec::Board(board) => Cover::of_board(board, metric),
                PuzzleSpec::Defined(definition) => Cover::new(&definition, metric).unwrap(),
            };
            let certificate = search(&cover, space, 3, 1 << 30, &|| goes_on, &mut |_| ()).unwrap();
            let bound = certificate.upper_bound;
            assert!((god_number..=most).contains(&bound), "{space}: {bound}");
            assert_eq!(certificate.verify(1 << 30), Ok(()), "{space}");
        }
    }

    /// A rotation of four tiles is odd, and a stage of two tiles cannot end with one exchange.
    #[test]
    fn odd_moves_add_a_parity_stage() {
        let (certificate, _) = found("2x4", false);
        // Table 4 of the paper: God's number is 8.
        assert!(certificate.even && certificate.upper_bound >= 8, "{certificate:?}");
        assert!(certificate.stages.len() > 1 && certificate.stages[1].solved.iter().all(|&tile| tile < 8));
        assert_eq!(certificate.verify(1 << 30), Ok(()));
        assert!(Certificate { even: false, ..certificate }.verify(1 << 30).is_err());
    }

    #[test]
    fn some_chain_is_found_without_time() {
        let (certificate, tried) = found("3x3", false);
        // Table 1: God's number is 8.
        assert!((8..40).contains(&certificate.upper_bound), "{}", certificate.upper_bound);
        assert_eq!(certificate.verify(1 << 30), Ok(()));
        assert!(!tried.is_empty());
    }

    #[test]
    fn orders_contain_each_tile_once() {
        for word in ["2x2", "3x4", "5x5"] {
            let board: Board = word.parse().unwrap();
            for (name, mut order) in orders_of_tiles(board) {
                order.sort_unstable();
                assert_eq!(order, (0..board.cells()).collect::<Vec<_>>(), "{word} {name}");
            }
        }
    }
}
