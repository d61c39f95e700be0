//! The 2x2x2 cube: its published antipodes, and the cube in the hand.

use super::solve::{answer, arguments_for, same_answer_without_run};
use fathom_algebra::OrientedPermutation;
use fathom_engine::run::SpaceSpec;
use fathom_puzzle::{Definition, Metric, PuzzleSpec};
use fathom_solve::{Bidirectional, SolveModel};
use fathom_space::Labels;
use fathom_tests::{fathom, texts};
use serde_json::{Value, json as value};
use std::collections::HashSet;

/// The eight antipodes of the 2x2x2 cube in quarter turns, up to the 48 symmetries of the cube and inversion:
/// B. Norskog, "2x2x2 Cube", forum of cubezzz.dyndns.org, which also has their 276 states.
const ANTIPODES: [&str; 8] = [
    "R R U R F R' U R R U' F U' F' U'",
    "R R U R R F' U R F' R F' U R' F'",
    "R R U R' U F U' R F R' U' R U R",
    "R R U F F R' U' R F' R F' U U F",
    "R R U R' F R R U' R F R' U R R",
    "R R U R R U F U' R F' U R U' R",
    "R R U R R U' R F' U R' U R U U",
    "R U R R F' R F R U' F' U R U' F",
];

/// The faces of a cube, with opposite faces next to each other.
const FACES: [char; 6] = ['R', 'L', 'U', 'D', 'F', 'B'];

/// A quarter turn: the index of a face in [`FACES`], and whether it is clockwise.
type Turn = (usize, bool);

/// The face to which each of the six faces is mapped.
type Faces = [usize; 6];

fn turns(sequence: &str) -> Vec<Turn> {
    let face = |turn: &str| FACES.iter().position(|&face| turn.starts_with(face)).unwrap();
    sequence.split(' ').map(|turn| (face(turn), !turn.ends_with('\''))).collect()
}

/// Returns the 48 symmetries of the cube: where the faces are mapped, and whether clockwise stays clockwise.
fn symmetries() -> Vec<(Faces, bool)> {
    let mut all = Vec::new();
    for (axes, even) in [
        ([0, 1, 2], true),
        ([1, 2, 0], true),
        ([2, 0, 1], true),
        ([0, 2, 1], false),
        ([2, 1, 0], false),
        ([1, 0, 2], false),
    ] {
        for signs in 0..8 {
            let image = |face: usize| 2 * axes[face / 2] + (face + (signs >> (face / 2))) % 2;
            let is_rotation = (u32::count_ones(signs as u32).is_multiple_of(2)) == even;
            all.push((std::array::from_fn(image), is_rotation));
        }
    }
    all
}

/// Returns where the faces are mapped when the whole cube is turned clockwise as seen from R, U or F.
fn rotation(about: usize) -> Faces {
    // Clockwise as seen from R, from U and from F.
    let ring = match about {
        0 => ['F', 'U', 'B', 'D'],
        2 => ['F', 'L', 'B', 'R'],
        _ => ['U', 'R', 'D', 'L'],
    };
    let mut faces = std::array::from_fn(|face| face);
    for (at, from) in ring.iter().enumerate() {
        let place = |face: char| FACES.iter().position(|&other| other == face).unwrap();
        faces[place(*from)] = place(ring[(at + 1) % 4]);
    }
    faces
}

/// The same turns on a cube whose corner between D, B and L is fixed: a turn of L is one of R, after which
/// the cube is turned as a whole.
fn held(turns: &[Turn]) -> Vec<Turn> {
    let mut frame: Faces = std::array::from_fn(|face| face);
    let mut held = Vec::new();
    for &(face, clockwise) in turns {
        let seen = frame[face];
        let about = seen / 2 * 2;
        held.push((about, clockwise));
        if seen != about {
            // The whole cube followed the turn of L, which is the opposite direction as seen from R; later
            // turns are seen from before that.
            for _ in 0..if clockwise { 1 } else { 3 } {
                frame = frame.map(|face| rotation(about)[face]);
            }
        }
    }
    held
}

/// Returns the words of all states to which symmetries and inversion map the state after `turns`.
fn class(model: &SolveModel, turns: &[Turn]) -> HashSet<Vec<u8>> {
    let inverse: Vec<Turn> = turns.iter().rev().map(|&(face, clockwise)| (face, !clockwise)).collect();
    let mut class = HashSet::new();
    for turns in [turns, &inverse] {
        for (faces, is_rotation) in symmetries() {
            let image: Vec<Turn> =
                turns.iter().map(|&(face, clockwise)| (faces[face], clockwise == is_rotation)).collect();
            let sequence: Vec<String> = held(&image)
                .iter()
                .map(|&(face, clockwise)| format!("{}{}", FACES[face], if clockwise { "" } else { "'" }))
                .collect();
            class.insert(model.word(&model.read(&sequence.join(" "), true).unwrap()));
        }
    }
    class
}

/// The eight published antipodes, as classes under the 48 symmetries of the cube and inversion.
fn antipodes_of_the_pocket_cube() -> (SolveModel, Vec<HashSet<Vec<u8>>>) {
    let source = PuzzleSpec::by_name("2x2x2").unwrap();
    let labels = Labels::from_values(source.solved());
    let model = SolveModel::new(&SpaceSpec { source, metric: Metric::Single, labels }).unwrap();
    let classes = ANTIPODES.iter().map(|sequence| class(&model, &turns(sequence))).collect();
    (model, classes)
}

#[test]
fn published_antipodes_of_the_pocket_cube_are_antipodes() {
    let directory = fathom_tests::tempdir().unwrap();
    for sequence in ANTIPODES {
        let arguments = ["solve", "2x2x2", sequence, "--scramble", "--metric", "single"];
        assert_eq!(answer(directory.path(), &arguments)["distance"], 14, "{sequence}");
    }
    let (model, classes) = antipodes_of_the_pocket_cube();
    let all: HashSet<&Vec<u8>> = classes.iter().flatten().collect();
    // As published: no two of the eight are in one class, and together they are the 276 states of depth 14.
    assert_eq!(classes.iter().map(HashSet::len).sum::<usize>(), 276);
    assert_eq!(all.len(), 276);
    let mut search = Bidirectional::new(&model, 1 << 30);
    for state in all {
        let found = search.solve(state, 1).unwrap();
        assert_eq!(found.distance, 14);
        let mut word = state.clone();
        for &mv in &found.solutions[0] {
            let before = word.clone();
            assert!(model.apply(mv, &before, &mut word));
        }
        assert_eq!(word, model.solved());
    }
}

/// Returns how many states of each published class `fathom antipodes` finds.
fn sizes_of_published(
    found: &Value,
    published: &[HashSet<Vec<u8>>],
    word: impl Fn(&Value) -> Vec<u8>,
) -> Vec<usize> {
    assert_eq!((&found["depth"], &found["states"]), (&value!(14), &value!(276)));
    let representatives = found["representatives"].as_array().unwrap();
    assert_eq!(value!(representatives.len()), found["classes"]);
    let mut sizes = vec![0; published.len()];
    for class in representatives {
        let [size, symmetry] = ["size", "symmetry"].map(|field| class[field].as_u64().unwrap());
        assert_eq!(size * symmetry, found["symmetries"].as_u64().unwrap());
        let word = word(class);
        let number = published.iter().position(|class| class.contains(&word)).unwrap();
        sizes[number] += size as usize;
    }
    sizes
}

#[test]
fn antipodes_of_the_pocket_cube_are_the_published_ones() {
    let directory = fathom_tests::tempdir().unwrap();
    let found = |moves: [&str; 2]| {
        answer(directory.path(), &["antipodes", "2x2x2", moves[0], moves[1], "--limit", "1000"])
    };
    let (model, published) = antipodes_of_the_pocket_cube();
    let all: Vec<usize> = published.iter().map(HashSet::len).collect();
    // A run of the cube with a fixed corner knows the symmetries that fix its corner; the other ones and
    // inversion merge these classes into eight.
    let held = sizes_of_published(&found(["--moves", "U,U',R,R',F,F'"]), &published, |class| {
        let state = model.read(class["state"].as_str().unwrap(), false).unwrap();
        let solution = model.read(class["solution"].as_str().unwrap(), true).unwrap();
        assert_eq!(model.word(&state.then(&solution)), model.solved());
        model.word(&state)
    });
    assert_eq!(held, all);
    // With free turns of the whole, the search uses all 48 symmetries, and only inversion is left.
    let free = found(["--metric", "single"]);
    assert_eq!((&free["symmetries"], &free["classes"]), (&value!(48), &value!(10)));
    let whole = PuzzleSpec::whole("2x2x2").unwrap().definition(Metric::Single).unwrap();
    let turns = turns_of_the_whole(&whole);
    let free = sizes_of_published(&free, &published, |class| {
        let state = OrientedPermutation::parse(class["state"].as_str().unwrap(), &[3; 8]).unwrap();
        let solution = class["solution"].as_str().unwrap();
        assert!(turns.contains(&state.then(&product(&whole, solution))));
        // Three faces do, so the same moves solve the cube with a fixed corner.
        model.word(&model.read(solution, true).unwrap().inverse())
    });
    assert_eq!(free, all);
}

/// Returns the product of moves such as `R U' F`, from the listed permutations alone.
fn product(puzzle: &Definition, sequence: &str) -> OrientedPermutation {
    let identity = OrientedPermutation::identity(puzzle.orientation_counts());
    sequence.split_whitespace().fold(identity, |product, word| {
        let (name, exponent) = word.strip_suffix('\'').map_or((word, 1), |name| (name, -1));
        let (name, exponent) = name.strip_suffix('2').map_or((name, exponent), |name| (name, 2 * exponent));
        let mut listed = puzzle.moves().iter().chain(puzzle.free());
        let generator = listed.find(|generator| generator.name == name).unwrap();
        product.then(&generator.action.power(exponent))
    })
}

/// Returns the 24 rotations of a cube.
fn turns_of_the_whole(puzzle: &Definition) -> HashSet<OrientedPermutation> {
    let ways = ["", "x", "x2", "x'", "x y x'", "x y' x'"];
    let turns: HashSet<_> = ways
        .iter()
        .flat_map(|way| ["", "y", "y2", "y'"].map(|spin| product(puzzle, &format!("{way} {spin}"))))
        .collect();
    assert_eq!(turns.len(), 24);
    turns
}

#[test]
fn cube_in_the_hand_is_solved_with_and_without_a_run() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    answer(path, &["run", "2x2x2", "--keep", "all", "--dir", "hand", "-q"]);
    let whole = PuzzleSpec::whole("2x2x2").unwrap().definition(Metric::Multi).unwrap();
    let turns = turns_of_the_whole(&whole);
    for scramble in ["()", "x y", "L", "B2 x D' L y R2", "U R2 F' L D2 B U' x' R F2 L'", "R L' U D2 y F B"] {
        let of_run = same_answer_without_run(path, "hand", "2x2x2", &arguments_for(scramble));
        let state = product(&whole, scramble.trim_matches(['(', ')']));
        for solution in of_run["solutions"].as_array().unwrap() {
            let solution = solution.as_str().unwrap().trim_matches(['(', ')']);
            assert!(turns.contains(&state.then(&product(&whole, solution))), "{scramble}: {solution}");
            assert_eq!(value!(solution.split_whitespace().count()), of_run["distance"]);
            assert!(!solution.contains(['x', 'y', 'L', 'D', 'B']));
        }
        // As far as the same cube with a fixed corner.
        let converted =
            fathom().args(["convert", "2x2x2", scramble.trim_matches(['(', ')'])]).output().unwrap();
        if !texts(&converted).0.trim().is_empty() {
            let held = fathom_tests::json(
                &fathom()
                    .args(["solve", "2x2x2", texts(&converted).0.trim(), "--scramble", "--json"])
                    .args(["--moves", "U,U2,U',R,R2,R',F,F2,F'"])
                    .output()
                    .unwrap(),
            );
            assert_eq!(held["distance"], of_run["distance"], "{scramble}");
        }
    }
}
