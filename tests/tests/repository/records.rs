//! The records: their invariants, comparisons with independent work, and the records that take little time to
//! compute again.

use super::stickers::Stickers;
use fathom_engine::run::SpaceSpec;
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::Setup;
use serde::Deserialize;
use serde_json::{Value, json as value};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Deserialize)]
struct Record {
    space: String,
    metric: Metric,
    states: u64,
    god_number: u32,
    complete: bool,
    counts: Vec<u64>,
    classes: Vec<u64>,
    symmetries: u64,
    digest: String,
    watched: Vec<u64>,
}

impl Record {
    fn question(&self) -> SpaceSpec {
        let board: Board = self.space.parse().unwrap();
        let labels = Labels::distinct(board.cells());
        SpaceSpec { source: PuzzleSpec::Board(board), metric: self.metric, labels }
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../records")
}

/// Returns the records by name, such as `4x4-multi`.
fn records() -> BTreeMap<String, Record> {
    let files = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let records: BTreeMap<String, Record> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap())
        })
        .collect();
    assert_eq!(records.len(), 10);
    records
}

/// Returns how many of a record's random states are at each depth.
fn random_states(name: &str, depths: usize) -> Vec<u64> {
    let text = fs::read_to_string(directory().join(format!("{name}.csv"))).unwrap();
    let mut counts = vec![0; depths];
    for line in text.lines().skip(1) {
        let (_, depth) = line.split_once(',').unwrap();
        counts[depth.parse::<usize>().unwrap()] += 1;
    }
    counts
}

/// States up to symmetry, by Burnside's lemma: a symmetry fixes the states that commute with it. `orbit`
/// numbers the orbits of cells.
fn classes(question: &SpaceSpec, orbit: impl Fn(usize) -> usize) -> u64 {
    let space = question.space().unwrap();
    let only_even = space.has_only_even_states();
    let mut fixed = 0_u64;
    for symmetry in space.symmetries() {
        let mut cycles: BTreeMap<(usize, u64), u64> = BTreeMap::new();
        let mut seen = vec![false; space.cells()];
        for start in 0..space.cells() {
            let (mut cell, mut length) = (start, 0);
            while !std::mem::replace(&mut seen[cell], true) {
                cell = usize::from(symmetry.cells[cell]);
                length += 1;
            }
            if length > 0 {
                *cycles.entry((orbit(start), length)).or_default() += 1;
            }
        }
        let commuting: u64 =
            cycles.iter().map(|((_, k), &m)| k.pow(m as u32) * (1..=m).product::<u64>()).product();
        // Unless all commuting states are even, half of them are. An odd one is a single cycle of even
        // length, or the exchange of two equal cycles of odd length.
        let has_odd = cycles.iter().any(|((_, k), &m)| k % 2 == 0 || m > 1);
        fixed += if only_even && has_odd { commuting / 2 } else { commuting };
    }
    assert!(fixed.is_multiple_of(space.symmetries().len() as u64));
    fixed / space.symmetries().len() as u64
}

#[test]
fn records_match_the_orders_of_groups_and_the_numbers_of_classes() {
    for (name, record) in records() {
        let question = record.question();
        assert_eq!(name, format!("{}-{}", record.space, record.metric));
        assert!(record.complete, "{name}");
        assert_eq!(record.states.to_string(), question.space().unwrap().states().to_string(), "{name}");
        assert_eq!(record.counts.iter().sum::<u64>(), record.states, "{name}");
        assert_eq!(record.counts.len() as u32, record.god_number + 1, "{name}");
        assert_eq!(record.symmetries as usize, question.space().unwrap().symmetries().len(), "{name}");
        assert_eq!(record.classes.iter().sum::<u64>(), classes(&question, |_| 0), "{name}");
        for (states, classes) in record.counts.iter().zip(&record.classes) {
            assert!((1..=record.symmetries).contains(&states.div_ceil(*classes)), "{name}");
        }
    }
}

#[test]
fn small_records_are_reproduced() {
    for name in ["3x4-multi", "3x4-single", "2x6-multi", "2x6-single"] {
        let record = &records()[name];
        let found = Setup::default().search(record.question());
        assert_eq!((&found.counts, &found.digest), (&record.counts, &record.digest), "{name}");
        assert_eq!(found.classes.as_ref(), Some(&record.classes), "{name}");
    }
}

/// T. Rokicki, by solving cosets: the largest distance of the 4x4 board is 18 if a move shifts a line by one
/// cell. xyzzy (speedsolving.com, thread 75180): the distances of the 8! states of the 4x4 board whose top
/// two rows are solved.
#[test]
fn board_4x4_agrees_with_independent_work() {
    let multi = [1, 6, 9, 24, 288, 1132, 1340, 8936, 16721, 8992, 2703, 168];
    let single = [1, 4, 6, 20, 137, 428, 934, 3172, 8410, 11024, 9792, 5276, 880, 236];
    let records = records();
    assert_eq!(records["4x4-single"].god_number, 18);
    for (name, expected) in [("4x4-multi", &multi[..]), ("4x4-single", &single[..])] {
        // The watched states are these states and some random ones.
        let watched = &records[name].watched;
        let random = random_states(name, watched.len());
        let two_rows: Vec<u64> = watched.iter().zip(&random).map(|(all, random)| all - random).collect();
        assert_eq!(&two_rows[..expected.len()], expected, "{name}");
        assert_eq!(two_rows.iter().sum::<u64>(), 40_320, "{name}");
    }
}

fn numbers(record: &Value, key: &str) -> Vec<u64> {
    record[key].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// The edges that each turn of a face of Rubik's cube carries: from each place to the next place, from the
/// last to the first. Places: UF UR UB UL, DF DR DB DL, FR FL BR BL. Faces: U D R L F B.
const EDGES: [[usize; 4]; 6] =
    [[0, 3, 2, 1], [4, 5, 6, 7], [1, 10, 5, 8], [3, 9, 7, 11], [0, 8, 4, 9], [2, 11, 6, 10]];
/// The same for corners. Places: UFR URB UBL ULF, DFR DRB DBL DLF.
const CORNERS: [[usize; 4]; 6] =
    [[0, 3, 2, 1], [7, 4, 5, 6], [0, 1, 5, 4], [2, 3, 7, 6], [3, 0, 4, 7], [1, 2, 6, 5]];

/// The edges of Rubik's cube: 12 places and 2 orientations, an even number of edges turned. The first counts
/// are computed again.
#[test]
fn rubiks_cube_edges_have_the_right_sum_and_first_counts() {
    let (counts, _) = complete("3x3x3-edges-multi", (1..=12_u64).product::<u64>() << 11);
    // An edge is twice its number, and one more when it is turned over, as turns of F and B do.
    let solved: [u8; 12] = std::array::from_fn(|place| 2 * place as u8);
    let turned = |state: &[u8; 12], face: usize| {
        let mut image = *state;
        for (i, &from) in EDGES[face].iter().enumerate() {
            image[EDGES[face][(i + 1) % 4]] = state[from] ^ u8::from(face >= 4);
        }
        image
    };
    let deepest = fathom_slow::choose(4, 5);
    assert_eq!(growth(solved, turned, |state| state, &[1, 2, 3], deepest), counts[..=deepest]);
}

/// The places of the corners and edges of Rubik's cube, regardless of their orientations. Corners and edges
/// have the same parity. The first counts are computed again.
#[test]
fn rubiks_cube_positions_have_the_right_sum_and_first_counts() {
    let factorial = |n: u64| (1..=n).product::<u64>();
    let source = PuzzleSpec::by_name("3x3x3-positions").unwrap();
    let question = SpaceSpec { source, metric: Metric::Multi, labels: Labels::distinct(20) };
    let orbits = classes(&question, |cell| usize::from(cell >= 8));
    let solved: [u8; 20] = std::array::from_fn(|place| place as u8);
    let turned = |state: &[u8; 20], face: usize| {
        let mut image = *state;
        for i in 0..4 {
            image[CORNERS[face][(i + 1) % 4]] = state[CORNERS[face][i]];
            image[8 + EDGES[face][(i + 1) % 4]] = state[8 + EDGES[face][i]];
        }
        image
    };
    // Half turns are moves in only one metric.
    for (metric, powers) in [("multi", &[1, 2, 3][..]), ("single", &[1, 3])] {
        let name = format!("3x3x3-positions-{metric}");
        let (counts, up_to_symmetry) = complete(&name, factorial(8) * factorial(12) / 2);
        assert_eq!(up_to_symmetry, orbits, "{name}");
        let deepest = fathom_slow::choose(4, 5);
        assert_eq!(growth(solved, turned, |state| state, powers, deepest), counts[..=deepest], "{name}");
    }
}

/// Rubik's cube with opposite faces of one colour: corners of one handedness are alike, and edges of one middle layer. The
/// classes are as many as published. The first counts are computed again, by
/// colours of stickers.
#[test]
fn three_colours_have_the_right_sum_and_first_counts() {
    let factorial = |n: u64| (1..=n).product::<u64>();
    let corners = factorial(8) / (factorial(4) * factorial(4)) * 3_u64.pow(7);
    let edges = factorial(12) / factorial(4).pow(3) * 2_u64.pow(11);
    let stickers = Stickers::new();
    let solved: [u8; 48] = std::array::from_fn(|sticker| stickers.0[sticker].1 as u8);
    let quarters: Vec<Vec<usize>> =
        (0..6).map(|face| stickers.quarter(face / 2, &[1 - 2 * (face % 2) as i8])).collect();
    let turned =
        |state: &[u8; 48], face: usize| std::array::from_fn(|sticker| state[quarters[face][sticker]]);
    // Where each sticker comes from, if the whole cube makes a half turn about an axis.
    let half_turns = [0, 1, 2].map(|fixed| -> [usize; 48] {
        let quarter = stickers.quarter(fixed, &[-1, 0, 1]);
        std::array::from_fn(|sticker| quarter[quarter[sticker]])
    });
    let arrangement = |state: [u8; 48]| {
        half_turns
            .iter()
            .map(|from| from.map(|sticker| state[sticker]))
            .fold(state, |least, state| least.min(state))
    };
    for (metric, powers, deepest) in [("multi", &[1, 2, 3][..], 4), ("single", &[1, 3], 5)] {
        let name = format!("three-colours-{metric}");
        let (counts, up_to_symmetry) = complete(&name, corners * edges);
        assert_eq!(up_to_symmetry, 226_331_259_372);
        let deepest = fathom_slow::choose(deepest, deepest + 1);
        assert_eq!(growth(solved, turned, |state| state, powers, deepest), counts[..=deepest]);
        if metric == "single" {
            continue;
        }
        // The watched states are those that one half turn leaves as they are (`records/half_turns.py`). Each of the three
        // leaves as many, so Burnside's lemma counts the arrangements.
        let fixed = watched(&name);
        assert_eq!(fixed.iter().sum::<u64>(), 933_120);
        let arrangements: Vec<u64> =
            counts.iter().zip(&fixed).map(|(all, fixed)| (all + 3 * fixed) / 4).collect();
        assert!(counts.iter().zip(&fixed).all(|(all, fixed)| (all + 3 * fixed) % 4 == 0));
        assert_eq!(arrangements.iter().sum::<u64>(), 2_715_939_771_840);
        assert_eq!(growth(solved, turned, arrangement, powers, deepest), arrangements[..=deepest]);
    }
}

/// Returns the number of watched states at each depth of a record.
fn watched(name: &str) -> Vec<u64> {
    let path = directory().join(format!("puzzles/{name}.json"));
    numbers(&serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap(), "watched")
}

/// Returns the counts, and the number of classes, of the complete record of a part of Rubik's cube with this
/// number of states and 48 symmetries.
fn complete(name: &str, states: u64) -> (Vec<u64>, u64) {
    let path = directory().join(format!("puzzles/{name}.json"));
    let record: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (counts, classes) = (numbers(&record, "counts"), numbers(&record, "classes"));
    assert_eq!((counts.iter().sum::<u64>(), &record["states"]), (states, &value!(states)));
    assert_eq!((&record["complete"], &record["god_number"]), (&value!(true), &value!(counts.len() - 1)));
    let are_orbits = |(states, classes): (&u64, &u64)| (states.div_ceil(48)..=*states).contains(classes);
    assert!(counts.iter().zip(&classes).all(are_orbits));
    (counts, classes.iter().sum())
}

/// Returns the number of states at each depth up to `deepest`, by a plain search. A move turns one of six
/// faces by one of `powers` quarter turns, at most three. `least` maps states that count as one to one of them.
fn growth<const N: usize>(
    solved: [u8; N],
    turned: impl Fn(&[u8; N], usize) -> [u8; N],
    least: impl Fn([u8; N]) -> [u8; N],
    powers: &[usize],
    deepest: usize,
) -> Vec<u64> {
    let mut layer = vec![least(solved)];
    let mut seen = HashSet::from([layer[0]]);
    let mut counts = vec![1];
    while counts.len() <= deepest {
        let mut next = Vec::new();
        for (state, face) in layer.iter().flat_map(|state| (0..6).map(move |face| (state, face))) {
            let mut image = *state;
            for power in 1..4 {
                image = turned(&image, face);
                if powers.contains(&power) && seen.insert(least(image)) {
                    next.push(least(image));
                }
            }
        }
        counts.push(next.len() as u64);
        layer = next;
    }
    counts
}

/// The compy cube and the moonspinner: T. Rokicki has the same tables (repository rokicki/twsearch-results,
/// `godsnumber/compy_cube-symm-g7.log` and `godsnumber/moonspinnerg.log`).
#[test]
fn records_of_puzzles_are_as_published() {
    const COMPY: [u64; 20] = [
        1,
        16,
        160,
        1408,
        11808,
        95712,
        754732,
        5793810,
        43183952,
        310137312,
        2115556475,
        13329858542,
        72848819814,
        298247080974,
        671767938009,
        473215625205,
        39395024521,
        84824763,
        41254,
        332,
    ];
    const MOONSPINNER: [u64; 40] = [
        1,
        5,
        8,
        20,
        32,
        80,
        127,
        315,
        504,
        1255,
        2011,
        5005,
        8023,
        19965,
        32006,
        79555,
        127505,
        316657,
        507655,
        1259316,
        2018430,
        5001586,
        8015115,
        19830132,
        31751747,
        78324333,
        125089092,
        306377668,
        485154423,
        1164117971,
        1789842613,
        4023462865,
        5583189831,
        10164926303,
        9993263671,
        9562092251,
        3235401496,
        561612418,
        9863282,
        24728,
    ];
    let factorial = |n: u64| (1..=n).product::<u64>();
    let compy = factorial(12) / 2 * 3_u64.pow(8);
    let moonspinner =
        (factorial(6) / 2) * (factorial(7) / 8) * (factorial(12) / (factorial(4) * 2 * factorial(4) * 2));
    for (name, published, states) in
        [("compy", COMPY.to_vec(), compy), ("moonspinner", MOONSPINNER.to_vec(), moonspinner)]
    {
        let path = directory().join(format!("puzzles/{name}-multi.json"));
        let record: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(numbers(&record, "counts"), published);
        assert_eq!((published.iter().sum::<u64>(), &record["states"]), (states, &value!(states)));
        let deepest = published.len() - 1;
        assert_eq!((&record["complete"], &record["god_number"]), (&value!(true), &value!(deepest)));
    }
    // Of the moonspinner's 6 large, 7 five-sided and 12 tiny pieces, those of the same colour look alike.
    let file = directory().join("../docs/examples/moonspinner.toml");
    let source = PuzzleSpec::by_name(file.to_str().unwrap()).unwrap();
    let labels = Labels::from_values(source.solved());
    let space = SpaceSpec { source, metric: Metric::Multi, labels }.space().unwrap();
    assert_eq!(space.states().to_string(), moonspinner.to_string());
}

/// An unfinished search. S. Chen (2017), by J. Scherphuis, Puzzle Pages, has the first counts; T. Rokicki
/// (repository rokicki/twsearch-results, `godsnumber/squareone-g8.log`) has all of these.
#[test]
fn unfinished_square_one_is_as_published() {
    let path = directory().join("begun/square1-face.json");
    let record: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (counts, classes) = (numbers(&record, "counts"), numbers(&record, "classes"));
    assert_eq!(counts, [1, 15, 69, 212, 1141, 3933, 14_029, 44_188, 138_952]);
    assert_eq!((&record["complete"], &record["symmetries"]), (&value!(false), &value!(4)));
    assert_eq!(record["states"], 11_958_666_854_400_u64);
    assert!(
        counts.iter().zip(&classes).all(|(states, classes)| (states.div_ceil(4)..=*states).contains(classes))
    );
}
