//! Positive-sequence arrangements (Jia, Zhang, Xiang, sections 4.3.2 and 5.4). These are words in which
//! consecutive rotations of parallel lines are merged if they rotate the same line, and sorted otherwise.
//!
//! Every state is the product of such a word, and no other word for the state is shorter. So there are at
//! most as many states at distance k as arrangements of length k. The paper counts in the metric in which
//! each rotation costs one move. Here a rotation costs what the given metric charges; the argument is the
//! same.

use crate::bound::Tally;
use fathom_puzzle::{Board, Line, Metric};

/// Iterates over the numbers of arrangements of length 0, 1, 2, … of a board.
#[derive(Clone, Debug)]
pub struct Arrangements {
    lines: Vec<Line>,
    /// The numbers of even and odd rotations of each line that cost 1, 2, … moves.
    rotations: Vec<Vec<(u32, u32)>>,
    rows: Vec<Row>,
}

/// The numbers of arrangements of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The arrangements that end with a rotation of each line, in the order of [`Board::lines`]: |v¹|, |v²|,
    /// … and |h¹|, |h²|, … in the paper.
    pub by_last_line: Vec<Tally>,
    /// All arrangements of the length; at length 0, only the empty one.
    pub total: Tally,
}

impl Arrangements {
    /// Creates the iterator for a board and a metric.
    pub fn new(board: Board, metric: Metric) -> Self {
        let lines: Vec<Line> = board.lines().collect();
        let rotations = lines.iter().map(|&line| rotations(board, line, metric)).collect();
        Self { lines, rotations, rows: Vec::new() }
    }

    /// Returns |v(i)| and |h(i)| by the paper's recursion: the last rotation, of line k, follows an
    /// arrangement that is empty, or ends with an earlier parallel line or with any line across.
    fn by_last_line(&self, length: usize) -> Vec<Tally> {
        let is_column = |at: usize| matches!(self.lines[at], Line::Column(_));
        let ending_with = |k: usize| {
            let mut tally = Tally::default();
            for (row, &(even, odd)) in self.rows[..length].iter().rev().zip(&self.rotations[k]) {
                for (j, words) in row.by_last_line.iter().enumerate() {
                    if is_column(j) != is_column(k) || j < k {
                        tally.add_products(words, even, odd);
                    }
                }
            }
            if let Some(&(even, odd)) = self.rotations[k].get(length - 1) {
                tally.add_products(&Tally::one(), even, odd);
            }
            tally
        };
        (0..self.lines.len()).map(ending_with).collect()
    }
}

/// Yields one row for each length, without end.
impl Iterator for Arrangements {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let row = match self.rows.len() {
            0 => Row { by_last_line: vec![Tally::default(); self.lines.len()], total: Tally::one() },
            length => {
                let by_last_line = self.by_last_line(length);
                let mut total = Tally::default();
                by_last_line.iter().for_each(|tally| total += tally);
                Row { by_last_line, total }
            }
        };
        self.rows.push(row.clone());
        Some(row)
    }
}

/// Returns the numbers of even and odd rotations of a line, by cost.
fn rotations(board: Board, line: Line, metric: Metric) -> Vec<(u32, u32)> {
    let length = board.line_length(line);
    let mut by_cost = Vec::new();
    for shift in 1..length {
        let cost = match metric {
            Metric::Multi => 1,
            Metric::Single => shift.min(length - shift),
            Metric::Given | Metric::Face | Metric::Twist => shift,
        };
        by_cost.resize(by_cost.len().max(cost), (0, 0));
        // A rotation by one cell is a cycle of all cells of the line.
        match (length - 1) * shift % 2 {
            0 => by_cost[cost - 1].0 += 1,
            _ => by_cost[cost - 1].1 += 1,
        }
    }
    by_cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

    fn board(word: &str) -> Board {
        word.parse().unwrap()
    }

    /// Table 2 of the paper: i, |v¹|, |v²|, |v³|, |v⁴|, |Ω(i)|, and their sum up to i.
    const TABLE_2: [[u64; 7]; 11] = [
        [1, 3, 3, 3, 3, 24, 25],
        [2, 36, 45, 54, 63, 396, 421],
        [3, 594, 702, 837, 999, 6264, 6685],
        [4, 9396, 11178, 13284, 15795, 99306, 105991],
        [5, 148959, 177147, 210681, 250533, 1574640, 1680631],
        [6, 2361960, 2808837, 3340278, 3972321, 24966792, 26647423],
        [7, 37450188, 44536068, 52962579, 62983413, 395864496, 422511919],
        [8, 593796744, 706147308, 839755512, 998643249, 6276685626, 6699197545],
        [9, 9415028439, 11196418671, 13314860595, 15834127131, 99520869672, 106220067217],
        [10, 149281304508, 177526389825, 211115645838, 251060227623, 1577967135588, 1684187202805],
        [11, 2366950703382, 2814794616906, 3347373786381, 3980720723895, 25019679661128, 26703866863933],
    ];

    #[test]
    fn counts_match_table_2_of_the_paper() {
        let mut arrangements = Arrangements::new(board("4x4"), Metric::Multi);
        let first = arrangements.next().unwrap();
        assert_eq!(first.total, Tally::one());
        let mut sum = first.total.total();
        for ([length, v1, v2, v3, v4, all, sum_to_here], row) in TABLE_2.into_iter().zip(arrangements) {
            let by_last_line: Vec<BigUint> = row.by_last_line.iter().map(Tally::total).collect();
            // Lemma 4.3.8: rows and columns have equal counts.
            assert_eq!(by_last_line, [v1, v2, v3, v4, v1, v2, v3, v4].map(BigUint::from), "length {length}");
            assert_eq!(row.total.total(), BigUint::from(all), "length {length}");
            sum += row.total.total();
            assert_eq!(sum, BigUint::from(sum_to_here), "length {length}");
        }
    }

    /// Counts all arrangements up to a length by generating them: each is continued in every way that keeps
    /// parallel lines in order.
    fn written_out(board: Board, metric: Metric, longest: usize) -> Vec<Tally> {
        fn go_on(
            board: Board,
            metric: Metric,
            last: Option<Line>,
            odd: bool,
            length: usize,
            found: &mut [Tally],
        ) {
            let tally = &mut found[length];
            *(if odd { &mut tally.odd } else { &mut tally.even }) += 1_u32;
            for line in board.lines() {
                let in_order = match (last, line) {
                    (Some(Line::Column(last)), Line::Column(next))
                    | (Some(Line::Row(last)), Line::Row(next)) => last < next,
                    _ => true,
                };
                let cells = board.line_length(line);
                for shift in (1..cells).filter(|_| in_order) {
                    let cost = if metric == Metric::Multi { 1 } else { shift.min(cells - shift) };
                    if length + cost < found.len() {
                        let odd = odd == board.rotation(line, shift as i64).is_even();
                        go_on(board, metric, Some(line), odd, length + cost, found);
                    }
                }
            }
        }
        let mut found = vec![Tally::default(); longest + 1];
        go_on(board, metric, None, false, 0, &mut found);
        found
    }

    #[test]
    fn recursion_matches_generated_arrangements() {
        for word in ["1x1", "1x6", "2x2", "2x3", "3x2", "2x5", "3x3", "3x4", "2x7"] {
            for metric in Metric::ALL {
                let counted: Vec<Tally> =
                    Arrangements::new(board(word), metric).map(|row| row.total).take(5).collect();
                assert_eq!(counted, written_out(board(word), metric, 4), "{word} {metric}");
            }
        }
    }
}
