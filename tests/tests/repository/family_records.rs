//! Records of families: sums, published numbers, and the first depths, counted again by a plain search that
//! shares no code with Fathom.

use super::stickers::Stickers;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// A move: for each cell, the cell whose piece comes there, and the cell that must be empty, if one must.
type Move = (Vec<usize>, Option<usize>);

/// A puzzle as plain lists of moves.
struct Plain {
    cells: usize,
    moves: Vec<Move>,
    /// States that differ by one of these are one.
    free: Vec<Vec<usize>>,
}

impl Plain {
    fn new(cells: usize, moves: Vec<Vec<usize>>) -> Self {
        Self { cells, moves: moves.into_iter().map(|cells| (cells, None)).collect(), free: Vec::new() }
    }

    /// Returns the numbers of states at the first depths.
    fn growth(&self, depths: usize, most: usize) -> Vec<u64> {
        let moved =
            |state: &[u8], cells: &[usize]| cells.iter().map(|&cell| state[cell]).collect::<Vec<u8>>();
        let least = |state: Vec<u8>| {
            let images = self.free.iter().map(|cells| moved(&state, cells));
            images.chain([state.clone()]).min().unwrap()
        };
        let empty = self.cells as u8 - 1;
        let solved = least((0..self.cells as u8).collect());
        let (mut seen, mut layer, mut counts) = (HashSet::from([solved.clone()]), vec![solved], Vec::new());
        while !layer.is_empty() && counts.len() < depths && seen.len() < most {
            counts.push(layer.len() as u64);
            let mut next = Vec::new();
            for state in &layer {
                // A state stands for all that it differs from by free moves.
                let all = self.free.iter().map(|cells| moved(state, cells)).chain([state.clone()]);
                for state in all {
                    for (cells, at) in &self.moves {
                        if at.is_none_or(|at| state[at] == empty) {
                            let image = least(moved(&state, cells));
                            if seen.insert(image.clone()) {
                                next.push(image);
                            }
                        }
                    }
                }
            }
            layer = next;
        }
        counts
    }
}

/// The lines of a board, as lists of cells.
fn lines(rows: usize, columns: usize) -> Vec<Vec<usize>> {
    let across = (0..rows).map(|row| (0..columns).map(|column| row * columns + column).collect());
    let down = (0..columns).map(|column| (0..rows).map(|row| row * columns + column).collect());
    across.chain(down).collect()
}

/// Which shifts of a line are moves.
#[derive(Clone, Copy)]
enum Shifts {
    All,
    ByOne,
    OneWay,
}

/// A board whose lines rotate.
fn board(rows: usize, columns: usize, shifts: Shifts) -> Plain {
    let mut moves = HashSet::new();
    for line in lines(rows, columns) {
        let length = line.len();
        let shifted = |by: usize| {
            let mut cells: Vec<usize> = (0..rows * columns).collect();
            (0..length).for_each(|at| cells[line[(at + by) % length]] = line[at]);
            cells
        };
        match shifts {
            Shifts::All => moves.extend((1..length).map(shifted)),
            Shifts::ByOne => moves.extend([1, length - 1].map(shifted)),
            Shifts::OneWay => moves.extend([shifted(1)]),
        }
    }
    Plain::new(rows * columns, moves.into_iter().collect())
}

/// For each cell of a board, the cell whose coordinates a function gives.
fn from(rows: usize, columns: usize, of: impl Fn(usize, usize) -> (usize, usize)) -> Vec<usize> {
    let coordinates = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    coordinates.map(|(row, column)| of(row, column)).map(|(row, column)| row * columns + column).collect()
}

/// A board that can be flipped from left to right and, with `both`, from top to bottom.
fn flipped(rows: usize, columns: usize, shifts: Shifts, both: bool) -> Plain {
    let mut plain = board(rows, columns, shifts);
    plain.moves.push((from(rows, columns, |row, column| (row, columns - 1 - column)), None));
    if both {
        plain.moves.push((from(rows, columns, |row, column| (rows - 1 - row, column)), None));
    }
    plain
}

/// The 4x4 board that may be turned over, mirrored and rotated at no cost.
fn turned() -> Plain {
    let quarter =
        |cells: &[usize]| from(4, 4, |row, column| (column, 3 - row)).iter().map(|&at| cells[at]).collect();
    let mut free: Vec<Vec<usize>> = vec![(0..16).collect(), from(4, 4, |row, column| (row, 3 - column))];
    for number in 0..6 {
        free.push(quarter(&free[number]));
    }
    assert_eq!(free.iter().collect::<HashSet<_>>().len(), 8);
    Plain { free, ..board(4, 4, Shifts::All) }
}

/// Sliding tiles. The empty cell is the last one at the start; `far`: several tiles may slide at once.
fn sliding(rows: usize, columns: usize, torus: bool, far: bool) -> Plain {
    let mut moves = HashSet::new();
    for line in lines(rows, columns) {
        let length = line.len();
        for (start, way) in (0..length).flat_map(|start| [(start, 1), (start, length - 1)]) {
            let mut cells: Vec<usize> = (0..rows * columns).collect();
            let mut empty = start;
            for _ in 0..if far { length } else { 1 } {
                let next = (empty + way) % length;
                if !torus && next.abs_diff(empty) != 1 {
                    break;
                }
                cells.swap(line[empty], line[next]);
                empty = next;
                moves.insert((cells.clone(), Some(line[start])));
            }
        }
    }
    Plain { cells: rows * columns, moves: moves.into_iter().collect(), free: Vec::new() }
}

/// Tokens on the Petersen graph: a ring, a star, and an edge between each vertex of one and of the other. The blank vertex is
/// the last one at the start.
fn petersen() -> Plain {
    let edges = (0..5).flat_map(|at| [(at, (at + 1) % 5), (5 + at, 5 + (at + 2) % 5), (at, 5 + at)]);
    let moves = edges.flat_map(|(from, to)| [(from, to), (to, from)]).map(|(from, to)| {
        let mut cells: Vec<usize> = (0..10).collect();
        cells.swap(from, to);
        (cells, Some(from))
    });
    Plain { cells: 10, moves: moves.collect(), free: Vec::new() }
}

/// A ring that rotates either way, and whose first pieces another move rearranges.
fn ring(pieces: usize, first: &[usize]) -> Plain {
    let rest: Vec<usize> = first.iter().copied().chain(first.len()..pieces).collect();
    let rotated = |by: usize| (0..pieces).map(|at| (at + by) % pieces).collect();
    Plain::new(pieces, vec![rotated(1), rotated(pieces - 1), rest])
}

/// A stack whose top 1, 2, ... layers are reversed; a pancake has `sides` layers.
fn stack(pancakes: usize, sides: usize) -> Plain {
    let cells = pancakes * sides;
    let least = if sides == 1 { 2 } else { 1 };
    let flipped = |top: usize| (0..cells).map(|at| if at < top { top - 1 - at } else { at }).collect();
    Plain::new(cells, (least..=pancakes).map(|number| flipped(number * sides)).collect())
}

/// Rubik's cube by its 48 stickers, with two moves: the faces R and L turn the same way in space, or D turns.
fn slice_turn() -> Plain {
    let stickers = Stickers::new();
    let mut moves = Vec::new();
    for quarter in [stickers.quarter(0, &[-1, 1]), stickers.quarter(1, &[-1])] {
        let three: Vec<usize> = quarter.iter().map(|&cell| quarter[quarter[cell]]).collect();
        moves.extend([quarter, three]);
    }
    Plain::new(48, moves)
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

/// God's numbers are those of: lrx, CayleyPy's tables and n (n - 1) / 2; topspin, CayleyPy's tables;
/// pancake, OEIS A058986; burnt-pancake, A078941; sliding 2x7, A346736, which also has the first terms; petersen, the
/// forum cubeman.org, "A cubic graph with cubic diameter" (2017).
/// Those of other puzzles were not published: `None`.
#[test]
fn records_of_families_have_the_right_sums_and_first_counts() {
    use Shifts::{All, ByOne, OneWay};
    let twelve = factorial(12);
    let records: Vec<(&str, Plain, u64, Option<usize>)> = vec![
        ("2x7-flips-multi", flipped(2, 7, All, true), factorial(14), None),
        ("2x7-flips-single", flipped(2, 7, ByOne, true), factorial(14), None),
        ("3x5-flip-multi", flipped(3, 5, All, false), factorial(15) / 2, None),
        ("3x5-flip-single", flipped(3, 5, ByOne, false), factorial(15) / 2, None),
        ("3x5-flips-multi", flipped(3, 5, All, true), factorial(15), None),
        ("4x4-free-multi", turned(), factorial(16) / 8, None),
        ("3x4-one-way-given", board(3, 4, OneWay), twelve, None),
        ("2x6-one-way-given", board(2, 6, OneWay), twelve, None),
        ("2x7-one-way-given", board(2, 7, OneWay), factorial(14), None),
        ("3x5-one-way-given", board(3, 5, OneWay), factorial(15) / 2, None),
        ("slice-turn-single", slice_turn(), 169_305_292_800, None),
        ("sliding-2x7-given", sliding(2, 7, false, false), factorial(14) / 2, Some(108)),
        ("sliding-2x7-multi-given", sliding(2, 7, false, true), factorial(14) / 2, None),
        ("petersen-given", petersen(), factorial(10), Some(27)),
        ("sliding-3x3-torus-given", sliding(3, 3, true, false), factorial(9), None),
        ("sliding-2x5-torus-given", sliding(2, 5, true, false), factorial(10), None),
        ("sliding-3x4-torus-given", sliding(3, 4, true, false), twelve, None),
        ("lrx-13-given", ring(13, &[1, 0]), factorial(13), Some(78)),
        ("lrx-14-given", ring(14, &[1, 0]), factorial(14), Some(91)),
        ("topspin-14-4-given", ring(14, &[3, 2, 1, 0]), factorial(14), Some(47)),
        ("pancake-13-given", stack(13, 1), factorial(13), Some(15)),
        ("pancake-14-given", stack(14, 1), factorial(14), Some(16)),
        ("burnt-pancake-10-given", stack(10, 2), factorial(10) << 10, Some(18)),
        ("burnt-pancake-11-given", stack(11, 2), factorial(11) << 11, Some(19)),
    ];
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records/puzzles");
    for (name, plain, states, published) in records {
        let text = fs::read_to_string(directory.join(format!("{name}.json"))).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        let counts: Vec<u64> =
            record["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
        assert_eq!(counts.iter().sum::<u64>(), states, "{name}");
        assert_eq!(record["complete"], true, "{name}");
        assert_eq!(record["god_number"], counts.len() - 1, "{name}");
        if let Some(published) = published {
            assert_eq!(counts.len() - 1, published, "{name}");
        }
        let first = plain.growth(counts.len(), fathom_slow::choose(20_000, 200_000));
        assert!(first.len() > 3, "{name}");
        assert_eq!(counts[..first.len()], first, "{name}");
    }
}

/// Makes the moves of a word: `H1` and `V1` move a line of a board by one cell, to the left or upwards; `b1-2` moves the blank, which
/// is 0, from cell 1 to cell 2.
fn made(mut state: Vec<usize>, columns: usize, word: &str) -> Vec<usize> {
    for mv in word.split(' ') {
        let (kind, rest) = mv.split_at(1);
        let number = |text: &str| text.parse::<usize>().unwrap() - 1;
        let line = |all: Vec<Vec<usize>>| all[number(rest)].clone();
        let all = lines(state.len() / columns, columns);
        let cells = match kind {
            "b" => rest.split('-').map(number).collect(),
            "H" => line(all[..state.len() / columns].to_vec()),
            _ => line(all[state.len() / columns..].to_vec()),
        };
        assert!(kind != "b" || state[cells[0]] == 0, "{mv}");
        cells.windows(2).for_each(|pair| state.swap(pair[0], pair[1]));
    }
    state
}

/// Each listed antipode has a word of the right length. Those of boards lead to or from the solved board; Fathom
/// made the moves of those of three colours.
#[test]
fn words_of_antipodes_are_right() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records");
    for file in fs::read_dir(directory.join("antipodes")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let record = fs::read_to_string(directory.join(format!("puzzles/{name}.json"))).unwrap();
        let record: Value = serde_json::from_str(&record).unwrap();
        let (depth, classes) =
            (record["god_number"].as_u64().unwrap(), record["classes"].as_array().unwrap());
        let text = fs::read_to_string(&path).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('\t').collect()).collect();
        assert_eq!(rows.len() as u64, classes[depth as usize].as_u64().unwrap().min(25), "{name}");
        assert_eq!(rows.iter().map(|row| row[0]).collect::<HashSet<_>>().len(), rows.len(), "{name}");
        for row in rows {
            assert_eq!((row[1].parse(), row[2].split(' ').count() as u64), (Ok(depth), depth), "{name}");
            let Some((_, columns)) = name.strip_prefix("sliding-").unwrap_or(name).split_once('x') else {
                continue;
            };
            let columns = columns[..1].parse().unwrap();
            let state: Vec<usize> = row[0].split(' ').map(|tile| tile.parse().unwrap()).collect();
            let solved: Vec<usize> = (0..state.len()).collect();
            match name.starts_with("sliding") {
                true => {
                    let blank_last: Vec<usize> = (1..state.len()).chain([0]).collect();
                    assert_eq!(made(state, columns, row[2]), blank_last, "{name}");
                }
                false => assert_eq!(made(solved, columns, row[2]), state, "{name}"),
            }
        }
    }
}
