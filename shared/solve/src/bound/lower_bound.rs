//! From counts of words to lower bounds on God's number.
//!
//! If there are fewer words of up to d letters than states, some state is further away than d. The same holds
//! for the even states and the odd states separately.

use crate::bound::cover::NotBounded;
use crate::bound::{Arrangements, Automaton, Cover, NormalForms, Tally};
use fathom_puzzle::{Board, Metric, Puzzle};
use num_bigint::BigUint;

/// Lower bounds on the God's number of a board, each at least as good as the previous one.
#[derive(Clone, Debug)]
pub struct LowerBounds {
    /// The number of states: the order of the group.
    pub states: BigUint,
    /// The bound by counting arrangements, as in the paper.
    pub arrangements: u32,
    /// The bound by counting even and odd arrangements separately.
    pub parity: u32,
    /// The bound by counting words without forbidden subwords.
    pub refined: Option<Refined>,
    /// The arrangements of each length up to the largest of these bounds.
    pub rows: Vec<crate::bound::arrangements::Row>,
}

/// The bound by words without forbidden subwords.
#[derive(Clone, Debug)]
pub struct Refined {
    /// The length of the longest known normal forms.
    pub depth: u32,
    /// The number of states of the automaton.
    pub automaton: usize,
    /// The bound, with parities counted separately.
    pub bound: u32,
    /// Upper bounds on the states at each distance up to `bound`; exact up to `depth`.
    pub counts: Vec<Tally>,
}

impl LowerBounds {
    /// Computes the bounds of a board in a metric. With `refine`, forbidden words of up to that many letters
    /// are used, or of as many as fit in `memory_bytes`.
    pub fn new(board: Board, metric: Metric, refine: Option<u32>, memory_bytes: u64) -> Self {
        let cover = Cover::of_board(board, metric);
        let states = cover.group.order().clone();
        let by_parity = cover.parities().expect("the states of a board are the elements of its group");
        let words = || Arrangements::new(board, metric).map(|row| row.total);
        let (parity, _) = covering(words(), |sum| sum.covers(&by_parity));
        let (arrangements, _) = covering(words(), |sum| sum.total() >= states);
        let refined = refine.map(|depth| {
            Refined::new(&cover.puzzle, |sum| sum.covers(&by_parity), depth, memory_bytes, words().map(Some))
        });
        let largest = refined.as_ref().map_or(parity, |refined| refined.bound);
        let rows = Arrangements::new(board, metric).take(largest as usize + 1).collect();
        Self { states, arrangements, parity, refined, rows }
    }

    /// Returns the bounds of `board`, which must be this board with rows and columns exchanged. The counts
    /// are the same, and only the order of lines in the rows differs.
    pub fn turned(&self, board: Board, metric: Metric) -> Self {
        let rows = Arrangements::new(board, metric).take(self.rows.len()).collect();
        Self { rows, ..self.clone() }
    }

    /// Returns the best bound.
    pub fn best(&self) -> u32 {
        self.refined.as_ref().map_or(self.parity, |refined| refined.bound)
    }
}

/// Returns the bound of a puzzle by words without forbidden subwords of up to `depth` letters.
///
/// # Errors
/// [`NotBounded::Uncounted`] if the number of states is not known.
pub fn by_words(cover: &Cover, depth: u32, memory_bytes: u64) -> Result<Refined, NotBounded> {
    let states = cover.states()?;
    let parities = cover.parities();
    let is_enough = |sum: &Tally| match &parities {
        Some(parities) => sum.covers(parities),
        None => sum.total() >= *states,
    };
    Ok(Refined::new(&cover.puzzle, is_enough, depth, memory_bytes, std::iter::repeat(None)))
}

impl Refined {
    /// Computes the bound of a puzzle: the least length up to which the counts add up to enough. `others`
    /// yields a further upper bound on the states at each distance, or `None`.
    fn new(
        puzzle: &Puzzle,
        is_enough: impl Fn(&Tally) -> bool,
        depth: u32,
        memory_bytes: u64,
        others: impl Iterator<Item = Option<Tally>>,
    ) -> Self {
        let forms = NormalForms::search(puzzle, depth, memory_bytes);
        let automaton = Automaton::new(&forms, puzzle);
        let counts = automaton.counts().zip(others).map(|(count, other)| match other {
            Some(other) => count.smaller(other),
            None => count,
        });
        let (bound, counts) = covering(counts, is_enough);
        Self { depth: forms.depth() as u32, automaton: automaton.states(), bound, counts }
    }
}

/// Returns the least length up to which the counts add up to enough, and the counts up to that length.
fn covering(counts: impl Iterator<Item = Tally>, is_enough: impl Fn(&Tally) -> bool) -> (u32, Vec<Tally>) {
    let mut sum = Tally::default();
    let mut so_far = Vec::new();
    for count in counts {
        sum += &count;
        so_far.push(count);
        if is_enough(&sum) {
            break;
        }
    }
    (so_far.len() as u32 - 1, so_far)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::PuzzleSpec;

    fn board(rows: usize, columns: usize) -> Board {
        Board::new(rows, columns).unwrap()
    }

    fn bounds(rows: usize, columns: usize, metric: Metric, refine: Option<u32>) -> LowerBounds {
        LowerBounds::new(board(rows, columns), metric, refine, 1 << 30)
    }

    /// Table 3 of the paper: order, lower bound.
    const TABLE_3: [(usize, u32); 7] = [(2, 3), (3, 6), (4, 11), (5, 18), (6, 26), (7, 36), (8, 48)];

    /// Table 5 of the paper as printed: rows and columns 2 to 8.
    const TABLE_5_AS_PRINTED: [[u32; 7]; 7] = [
        [3, 4, 6, 7, 8, 9, 10],
        [4, 6, 9, 10, 13, 14, 16],
        [6, 9, 11, 14, 17, 20, 23],
        [7, 10, 14, 18, 22, 25, 29],
        [8, 13, 17, 22, 26, 31, 35],
        [9, 14, 20, 25, 31, 36, 41],
        [10, 16, 23, 29, 35, 41, 48],
    ];

    /// The entries where the argument gives more than is printed: rows, columns, the bound, and the sums of
    /// arrangements up to one move less and up to the bound. Computed independently, by a simple
    /// program for the recursion.
    const DIFFER: [(usize, usize, u32, &str, &str); 6] = [
        (2, 6, 9, "163280584", "1608871784"),
        (2, 7, 11, "86409251480", "1010720115692"),
        (2, 8, 12, "4981004339595", "67437413849404"),
        (3, 5, 11, "640243740143", "9201460805103"),
        (3, 7, 15, "5419770915803376825", "113906780013015510201"),
        (3, 8, 18, "602921980163612678844928", "14672423978467625176924672"),
    ];

    /// The program of the paper's appendix 2, unchanged: `v` has m entries and `h` has n in the first row,
    /// but n and m afterwards, and each uses the number of moves of the other kind of line.
    fn by_the_appendix(m: usize, n: usize) -> u32 {
        let factorial: BigUint = (1..=m * n).map(BigUint::from).product();
        let states = factorial / (m * n % 2 + 1);
        let mut v = vec![BigUint::from(n - 1); m];
        let mut h = vec![BigUint::from(m - 1); n];
        let mut sum = BigUint::from(m * (n - 1) + n * (m - 1) + 1);
        let mut length = 1;
        while sum < states {
            let total = |counts: &[BigUint]| counts.iter().sum::<BigUint>();
            let next = |lines: usize, moves: usize, own: &[BigUint], across: &[BigUint]| -> Vec<BigUint> {
                (0..lines).map(|i| (total(&own[..i.min(own.len())]) + total(across)) * moves).collect()
            };
            (v, h) = (next(n, n - 1, &v, &h), next(m, m - 1, &h, &v));
            sum += total(&v) + total(&h);
            length += 1;
        }
        length
    }

    #[test]
    fn all_kinds_of_puzzles_are_bounded_by_words() {
        let bound = |word: &str, metric, depth| {
            let cover = match PuzzleSpec::by_name(word).unwrap() {
                PuzzleSpec::Board(board) => Cover::of_board(board, metric),
                PuzzleSpec::Defined(definition) => Cover::new(&definition, metric)?,
            };
            Ok((cover.states()?.clone(), by_words(&cover, depth, 1 << 30)?))
        };
        // Counted by hand since Singmaster's notes of 1981: some position of the cube takes at least 18 face
        // turns.
        let (states, cube) = bound("3x3x3", Metric::Multi, 2).unwrap();
        assert_eq!(states.to_string(), "43252003274489856000");
        assert_eq!(cube.bound, 18);
        // J. Scherphuis, Puzzle Pages: states of the 2x2x2 by half and quarter turns; God's number 11.
        let (states, pocket) = bound("2x2x2", Metric::Multi, 5).unwrap();
        assert_eq!(states.to_string(), "3674160");
        let counts: Vec<BigUint> = pocket.counts[..6].iter().map(Tally::total).collect();
        assert_eq!(counts, [1_u32, 9, 54, 321, 1847, 9992].map(BigUint::from));
        assert!((7..=11).contains(&pocket.bound), "{}", pocket.bound);
        // A board, bounded as a puzzle of any kind.
        let board = bounds(3, 3, Metric::Multi, Some(4)).refined.unwrap();
        assert!(bound("3x3", Metric::Multi, 4).unwrap().1.bound <= board.bound);
        // Guards: 31 moves by S. Chen (2017), for states that can be twisted.
        let (states, square) = bound("square1", Metric::Face, 2).unwrap();
        assert_eq!(states.to_string(), "11958666854400");
        assert!((10..=31).contains(&square.bound), "{}", square.bound);
        // Free moves: God's number is that of records/puzzles/fto-multi.json.
        let octahedron = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/fto.toml");
        let (states, octahedron) = bound(octahedron, Metric::Multi, 3).unwrap();
        assert_eq!(states.to_string(), "229920768000");
        let counts: Vec<BigUint> = octahedron.counts[..4].iter().map(Tally::total).collect();
        assert_eq!(counts, [1_u32, 16, 208, 2688].map(BigUint::from));
        assert!((9..=13).contains(&octahedron.bound), "{}", octahedron.bound);
        assert!(matches!(bound("lx:6", Metric::Given, 2), Err(NotBounded::OneWay(_))));
    }

    #[test]
    fn bounds_match_tables_3_and_5_of_the_paper() {
        for (order, bound) in TABLE_3 {
            assert_eq!(bounds(order, order, Metric::Multi, None).arrangements, bound, "{order}");
        }
        for (m, printed) in (2..).zip(TABLE_5_AS_PRINTED) {
            for (n, printed) in (2..).zip(printed) {
                let found = bounds(m, n, Metric::Multi, None);
                let differs =
                    DIFFER.iter().find(|&&(rows, columns, ..)| (rows, columns) == (m.min(n), m.max(n)));
                assert_eq!(found.arrangements, differs.map_or(printed, |differs| differs.2), "{m}x{n}");
                assert!(found.arrangements > printed || differs.is_none(), "{m}x{n}");
                // The printed values are those of the printed program.
                assert_eq!(by_the_appendix(m, n), printed, "{m}x{n}");
            }
        }
    }

    #[test]
    fn sums_confirm_the_corrections_to_table_5() {
        for (m, n, bound, short, enough) in DIFFER {
            for (m, n) in [(m, n), (n, m)] {
                let found = bounds(m, n, Metric::Multi, None);
                let sum = |lengths: u32| -> BigUint {
                    found.rows[..=lengths as usize].iter().map(|row| row.total.total()).sum()
                };
                assert_eq!([sum(bound - 1).to_string(), sum(bound).to_string()], [short, enough], "{m}x{n}");
                assert!(sum(bound - 1) < found.states && found.states <= sum(bound));
            }
        }
    }

    /// God's numbers from complete enumerations: Table 4 of the paper, `records/`, and the others by a search
    /// over Lehmer ranks, as in tests/data/boards.json.
    const GOD_NUMBERS: [(usize, usize, Metric, u32); 18] = [
        (2, 2, Metric::Multi, 4),
        (2, 3, Metric::Multi, 7),
        (2, 4, Metric::Multi, 8),
        (2, 5, Metric::Multi, 12),
        (2, 6, Metric::Multi, 14),
        (3, 3, Metric::Multi, 8),
        (3, 4, Metric::Multi, 13),
        (2, 7, Metric::Multi, 18),
        (3, 5, Metric::Multi, 14),
        (4, 4, Metric::Multi, 14),
        (2, 4, Metric::Single, 10),
        (2, 5, Metric::Single, 13),
        (2, 6, Metric::Single, 16),
        (3, 3, Metric::Single, 8),
        (3, 4, Metric::Single, 14),
        (2, 7, Metric::Single, 20),
        (3, 5, Metric::Single, 17),
        (4, 4, Metric::Single, 18),
    ];

    #[test]
    fn bounds_are_valid_and_grow_with_the_depth() {
        for (m, n, metric, god_number) in GOD_NUMBERS {
            let plain = bounds(m, n, metric, None);
            assert!(plain.arrangements <= plain.parity, "{m}x{n} {metric}");
            assert!(plain.best() <= god_number, "{m}x{n} {metric}");
            let mut best = plain.best();
            for depth in 1..=4 {
                let refined = bounds(m, n, metric, Some(depth));
                assert!((best..=god_number).contains(&refined.best()), "{m}x{n} {metric} {depth}");
                best = refined.best();
                // The bound does not change when rows and columns are exchanged.
                assert_eq!(bounds(n, m, metric, Some(1)).best(), bounds(m, n, metric, Some(1)).best());
            }
        }
    }

    #[test]
    fn full_depth_gives_gods_number() {
        for (m, n, metric, god_number) in GOD_NUMBERS {
            if m * n <= 9 {
                let whole = bounds(m, n, metric, Some(god_number));
                assert_eq!(whole.best(), god_number, "{m}x{n} {metric}");
                let counted: BigUint = whole.refined.unwrap().counts.iter().map(Tally::total).sum();
                assert_eq!(counted, whole.states);
            }
        }
    }

    #[test]
    fn boards_with_one_row() {
        // The group is generated by one rotation, so the bounds are known by hand.
        for (n, multi, single) in [(1, 0, 0), (2, 1, 1), (5, 1, 2), (8, 1, 4)] {
            for refine in [None, Some(3)] {
                assert_eq!(bounds(1, n, Metric::Multi, refine).best(), multi, "{n}");
                assert_eq!(bounds(1, n, Metric::Single, refine).best(), single, "{n}");
            }
        }
    }
}
