//! The files of docs/examples, and invalid files.

use crate::search::growth;
use fathom_algebra::expression::MAX_NAME;
use fathom_algebra::{OrientedPermutation, StabiliserChain};
use fathom_puzzle::load::{load, parse, sequence};
use fathom_puzzle::{Definition, Format, Metric, Orbit, Piece, families, family};
use proptest::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples")
}

fn example(file: &str) -> Definition {
    load(&examples().join(file)).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the action of a sequence of listed and spare moves.
fn sequence(puzzle: &Definition, text: &str) -> OrientedPermutation {
    let identity = OrientedPermutation::identity(puzzle.orientation_counts());
    sequence::evaluate(text, &identity, MAX_NAME, &mut |name| {
        let named = puzzle.moves().iter().chain(puzzle.spare()).find(|generator| generator.name == name);
        Ok(named.map(|generator| generator.action.clone()))
    })
    .unwrap()
}

/// Edges and corners are permuted evenly, corners are flipped in even numbers, and twelve rotations map faces
/// to faces of their kind. A rotation maps each face's turn to another's.
#[test]
fn octahedron_with_free_rotations() {
    let fto = example("fto.toml");
    let factorial = |n: u128| (1..=n).product::<u128>();
    assert_eq!(fto.states(), Some(factorial(6) / 2 * 32 * (factorial(12) / 2) / 12));
    let turns = crate::search::free_products(&fto);
    assert_eq!(turns.len(), 12);
    let actions: Vec<_> = fto.moves().iter().map(|face| face.action.clone()).collect();
    for (turn, face) in turns.iter().flat_map(|turn| actions.iter().map(move |face| (turn, face))) {
        let carried = turn.inverse().then(face).then(turn);
        assert!(actions.contains(&carried), "{carried}");
    }
    // The bit-parallel search of records/puzzles/fto-multi.json counts the same as a plain one.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records/puzzles/fto-multi.json");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let counts: Vec<usize> = serde_json::from_value(record["counts"].clone()).unwrap();
    let deepest = fathom_slow::choose(3, 4);
    assert_eq!(growth(&fto, Metric::Multi, deepest), counts[..=deepest]);
    assert_eq!(Some(counts.iter().sum::<usize>() as u128), fto.states());
}

#[test]
fn every_example_loads() {
    let mut files: Vec<_> = std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none_or(|extension| extension != "md" && extension != "py"))
        .collect();
    files.sort();
    assert!(files.len() >= 8, "{files:?}");
    for file in files {
        let puzzle = load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert!(!puzzle.generators(puzzle.metric()).unwrap().is_empty());
    }
}

#[test]
fn pocket_cube_is_equal_in_all_formats() {
    let cube = family::by_name("2x2x2").unwrap();
    assert_eq!(example("2x2x2.toml"), cube);
    let ksolve = example("2x2x2.tws");
    assert_eq!(ksolve.moves(), cube.moves());
    assert_eq!(ksolve.states(), Some(3_674_160));
    // The geometry gives the same faces and rotations that the kpuzzle derives from three moves.
    let kpuzzle = example("2x2x2.kpuzzle.json");
    let six_faces = family::in_hand("2x2x2").unwrap();
    for generator in six_faces.moves().iter().chain(six_faces.free()) {
        assert_eq!(sequence(&kpuzzle, &generator.name), generator.action, "{}", generator.name);
    }
    let chosen = kpuzzle.select(Metric::Given, "U,R,F").unwrap();
    let chosen: Vec<_> = chosen.iter().map(|generator| generator.action.as_points()).collect();
    assert_eq!(StabiliserChain::new(24, &chosen).order(), Some(3_674_160));
}

#[test]
fn orders_of_well_known_sequences() {
    // The orders of R, R U, R U R' U' and R U' are from D. Singmaster, Notes on Rubik's Magic
    // Cube.
    let cube = family::by_name("3x3x3").unwrap();
    for (text, order) in [("R", 4), ("R U", 105), ("R U R' U'", 6), ("R U'", 63), ("R2 U2", 6)] {
        assert_eq!(sequence(&cube, text).order(), Some(order), "{text}");
    }
    let stickers = example("rubik.gap");
    for (text, order) in [("r", 4), ("r u", 105), ("r u r' u'", 6), ("r u'", 63), ("r2 u2", 6)] {
        assert_eq!(sequence(&stickers, text).order(), Some(order), "{text}");
    }
    assert_eq!(stickers.states(), cube.states());
    // Without edges, the orders on the 2x2x2 are smaller.
    let pocket = example("2x2x2.tws");
    for (text, order) in [("R", 4), ("R U", 15), ("R U R' U'", 6)] {
        assert_eq!(sequence(&pocket, text).order(), Some(order), "{text}");
    }
}

#[test]
fn examples_match_their_descriptions() {
    assert_eq!(example("pyraminx.toml"), family::by_name("pyraminx").unwrap());
    assert_eq!(example("pancake-5.toml").moves(), family::by_name("pancake:5").unwrap().moves());
    // One face and free rotations generate the whole cube. The counts are OEIS A079761.
    let free = example("2x2x2-free.toml");
    assert_eq!(free.states(), Some(3_674_160));
    assert_eq!(growth(&free, Metric::Multi, 5), [1, 9, 54, 321, 1847, 9992]);
    // There are 6 choose 3 ways to place three white pieces.
    let colours = example("two-colours.toml");
    assert_eq!(colours.states(), None);
    assert_eq!(growth(&colours, Metric::Given, usize::MAX).iter().sum::<usize>(), 20);
    // There are 6 * 5 ways to place the two rough pieces; the two that block both discs are unreachable.
    let bandaged = example("bandaged.toml");
    assert_eq!(growth(&bandaged, Metric::Single, usize::MAX).iter().sum::<usize>(), 30 - 2);
    // In the limited puzzle, no rough piece is behind the window.
    let limited = example("limited.toml");
    assert_eq!(growth(&limited, Metric::Given, usize::MAX).iter().sum::<usize>(), 5 * 4);
}

#[test]
fn documented_error_is_reproduced() {
    let text = std::fs::read_to_string(examples().join("2x2x2.tws")).unwrap();
    let error =
        parse(&text.replace("4 1 2 3 5 6 7", "4 1 2 3 5 6 4"), Format::Ksolve, "pocket.tws").unwrap_err();
    assert_eq!(error.to_string(), "pocket.tws:14:13: not a permutation: 4 occurs twice");
    let page = std::fs::read_to_string(examples().join("../puzzles.md")).unwrap();
    assert!(page.contains(&error.to_string()));
}

#[test]
fn burnt_pancakes_without_sides_are_pancakes() {
    let mut burnt = family::by_name("burnt-pancake:6").unwrap();
    let plain: Vec<Piece> = burnt.solved().iter().map(|&piece| Piece { seen: 1, ..piece }).collect();
    burnt.set_solved(&plain).unwrap();
    // The counts are OEIS A092113, row 6. Flipping a single pancake changes nothing visible.
    assert_eq!(growth(&burnt, Metric::Given, usize::MAX), [1, 5, 20, 79, 199, 281, 133, 2]);
}

#[test]
fn families_round_trip() {
    for family in families() {
        let puzzle = family::by_name(family.example).unwrap();
        assert_eq!(parse(&puzzle.to_toml(), Format::Toml, "x").unwrap(), puzzle, "{}", family.example);
    }
}

/// Definitions of up to three orbits, with two generators of each kind, equal labels and hidden orientations.
fn definitions() -> impl Strategy<Value = Definition> {
    let orbits = prop::collection::vec((1_usize..5, 1_u16..5), 1..4);
    let seeds = prop::collection::vec(any::<u64>(), 6);
    let name = "[a-zA-Z0-9'^_.+ \"\\\\\u{e9}#=\\[\\]]{1,12}";
    (orbits, seeds, prop::collection::vec(0_u16..3, 12), name, 0..3).prop_map(
        |(sizes, seeds, labels, name, metric)| {
            let orbits = sizes.iter().enumerate().map(|(i, &(cells, orientations))| Orbit {
                name: format!("orbit{i}"),
                cells,
                orientations,
            });
            let mut puzzle = Definition::new(format!("p{name}"), orbits.collect()).unwrap();
            puzzle.set_metric([Metric::Multi, Metric::Single, Metric::Given][metric as usize]);
            for (i, &seed) in seeds.iter().enumerate() {
                // Each orbit is rotated by some bits of the seed, and pieces are turned by others.
                let (mut images, mut turns) = (Vec::new(), Vec::new());
                for (orbit, &(cells, orientations)) in sizes.iter().enumerate() {
                    let first = images.len();
                    let shift = (seed >> (8 * orbit)) as usize;
                    for cell in 0..cells {
                        images.push((first + (cell + shift) % cells) as u16);
                        turns.push((seed >> (4 * cell)) as u16 % orientations);
                    }
                }
                let cells = fathom_algebra::Permutation::from_images(images).unwrap();
                let action = OrientedPermutation::new(cells, turns, puzzle.orientation_counts()).unwrap();
                let word: String = name.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
                let name = format!("m{i}{word}");
                match i / 2 {
                    0 => {
                        let fixed = (0..puzzle.cells() as u16)
                            .filter(|&cell| action.cells().apply(cell.into()) == usize::from(cell));
                        let guard: Vec<u16> = fixed.filter(|cell| seed >> (20 + cell) & 1 == 1).collect();
                        puzzle.add_guarded_move(name, action, &guard)
                    }
                    1 => puzzle.add_free(name, action),
                    _ => puzzle.add_spare(name, action),
                }
                .unwrap();
            }
            let orientation_counts = puzzle.orientation_counts();
            let pieces: Vec<Piece> = (0..puzzle.cells())
                .map(|cell| {
                    let orbit = puzzle.orbit_of(cell) as u16;
                    let seen = if seeds[0] >> orbit & 1 == 1 { orientation_counts[cell] } else { 1 };
                    let label = 3 * orbit + labels[cell];
                    Piece { label, orientation: labels[(cell + 1) % 12] % orientation_counts[cell], seen }
                })
                .collect();
            puzzle.set_solved(&pieces).unwrap();
            puzzle
        },
    )
}

/// The text of an example with some bytes changed, inserted or removed, or cut short.
fn damaged() -> impl Strategy<Value = (Format, String)> {
    let files = [
        "2x2x2.toml",
        "two-colours.toml",
        "bandaged.toml",
        "limited.toml",
        "2x2x2.tws",
        "2x2x2.kpuzzle.json",
        "rubik.gap",
        "alike.gap",
        "sequences.tws",
        "ring.kpuzzle.ts",
    ];
    let texts: Vec<(Format, Vec<u8>)> = files
        .iter()
        .map(|file| {
            let text = std::fs::read(examples().join(file)).unwrap();
            (Format::new(file, ""), text)
        })
        .collect();
    let damage = (
        any::<prop::sample::Index>(),
        0..4_u8,
        prop::sample::select(b"0129()[]{},:;\"'#=+-*? \nAE\x00\xff".to_vec()),
    );
    (prop::sample::select(texts), prop::collection::vec(damage, 1..6)).prop_map(
        |((format, mut text), damages)| {
            for (place, kind, byte) in damages {
                if text.is_empty() {
                    break;
                }
                let at = place.index(text.len());
                match kind {
                    0 => text[at] = byte,
                    1 => text.insert(at, byte),
                    2 => drop(text.remove(at)),
                    _ => text.truncate(at),
                }
            }
            (format, String::from_utf8_lossy(&text).into_owned())
        },
    )
}

const FORMATS: [Format; 4] = [Format::Toml, Format::Gap, Format::Ksolve, Format::Kpuzzle];

/// Checks that a text gives a definition that round-trips, or an error that names the file.
fn is_read_or_refused(text: &str, format: Format) {
    match parse(text, format, "some.file") {
        Ok(puzzle) => {
            assert!(!puzzle.moves().is_empty());
            let again = parse(&puzzle.to_toml(), Format::Toml, "x").unwrap();
            assert_eq!(again, puzzle);
            // Equality of definitions ignores remarks.
            assert_eq!(again.remarks(), puzzle.remarks());
        }
        Err(error) => assert!(error.to_string().starts_with("some.file:"), "{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn definitions_round_trip(puzzle in definitions()) {
        prop_assert_eq!(parse(&puzzle.to_toml(), Format::Toml, "x").unwrap(), puzzle);
    }

    #[test]
    fn arbitrary_text_is_read_or_rejected(text in any::<String>()) {
        for format in FORMATS {
            is_read_or_refused(&text, format);
        }
    }

    #[test]
    fn text_of_format_keywords_is_read_or_rejected(
        words in prop::collection::vec(prop::sample::select(vec![
            "Name", "Set", "A", "Move", "MoveTransformation", "MoveSequence", "Solved", "StartState", "End", "Ignore",
            "R", "R'", "0", "1", "2", "3", "99999999999999999999", "?", "#", "\n", "\n", "\n", " ", " ", "x2", "(", ")",
            "guard", "cycles", "[", "]", ",", ":=", ";", "Group", "degree", "=", "\"", "moves", "orbits", "{", "}", "cells", "name",
            "orientations", "seen", "labels", ":", "\"moves\"", "\"orbits\"", "\"name\"", "\"\"", "(1,2)", "(1+1)", "é",
            "ip", "Illegal", "MoveAlias", "*", "^", "-1", "/", "gap>", "\n>", "..", "export ", "const ", "default ", "import ", "new Array(3)",
            ".fill(0)", "//", "/*", "*/", "`", " as ", "a", "b",
        ]), 0..60)
    ) {
        let text = words.concat();
        for format in FORMATS {
            is_read_or_refused(&text, format);
        }
    }

    #[test]
    fn damaged_files_are_read_or_rejected((format, text) in damaged()) {
        is_read_or_refused(&text, format);
    }

    #[test]
    fn arbitrary_bytes_are_read_or_rejected(bytes in any::<Vec<u8>>(), format in 0_usize..5) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(["a.toml", "a.g", "a.tws", "a.json", "a"][format]);
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = load(&path) {
            prop_assert!(error.to_string().starts_with(&path.display().to_string()));
        }
    }
}
