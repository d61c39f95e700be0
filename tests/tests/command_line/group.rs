//! Tests `fathom group`: the group that the moves of a puzzle generate, and questions about its elements.

use fathom_tests::{fathom, json, texts};
use serde_json::{Value, json as value};

/// Runs `fathom group`, and returns the exit code, standard output and standard error.
fn group(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = fathom().arg("group").args(arguments).output().unwrap();
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

fn group_json(arguments: &[&str]) -> Value {
    json(&fathom().arg("group").args(arguments).arg("--json").output().unwrap())
}

/// Returns the state after moves such as `V2^-1`. Works tile by tile, and shares no code with Fathom.
fn replay(rows: usize, columns: usize, word: &str) -> Vec<usize> {
    let mut tiles: Vec<usize> = (0..rows * columns).collect();
    for turn in word.split('*').filter(|turn| *turn != "()") {
        let (line, shift) = match turn.strip_suffix('\'') {
            Some(line) => (line, "-1"),
            None => turn.split_once('^').unwrap_or((turn, "1")),
        };
        let (number, shift): (usize, isize) = (line[1..].parse().unwrap(), shift.parse().unwrap());
        let cells: Vec<usize> = match &line[..1] {
            "V" => (0..rows).map(|row| row * columns + number - 1).collect(),
            _ => (0..columns).map(|column| (number - 1) * columns + column).collect(),
        };
        let old: Vec<usize> = cells.iter().map(|&cell| tiles[cell]).collect();
        for (at, &cell) in cells.iter().enumerate() {
            // A line moves up or left, so a cell receives the tile from below or from the right.
            tiles[cell] = old[(at as isize + shift).rem_euclid(cells.len() as isize) as usize];
        }
    }
    tiles
}

fn line(tiles: &[usize]) -> String {
    tiles.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn groups_are_named_with_their_orders() {
    // Jia, Zhang and Xiang, theorems 3.3 and 5.2.3.
    for (board, says) in [
        ("3x3", ["3x3: the alternating group of degree 9\n", "order: 181,440\n", "odd elements: none\n"]),
        ("3x4", ["3x4: the symmetric group of degree 12\n", "order: 479,001,600\n", "(4 even, 3 odd)\n"]),
        ("1x6", ["1x6: a group of degree 6\n", "order: 6\n", "orbit 1: 6 points, 3 blocks of 2\n"]),
        ("1x1", ["1x1: the trivial group\n", "order: 1\n", "fixed: 1 point\n"]),
    ] {
        let (code, out, err) = group(&[board]);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        for says in says {
            assert!(out.contains(says), "{board}: {out}");
        }
    }
    let found = group_json(&["8x8"]);
    // 64!, which is beyond 128 bits.
    let order = "126886932185884164103433389335161480802865516174545192198801894375214704230400000000000000";
    assert_eq!(
        (&found["order"], &found["kind"], &found["degree"]),
        (&value!(order), &value!("symmetric"), &value!(64))
    );
    assert_eq!(found["orbits"][0]["primitive"], value!(true));
    let lengths: Vec<u64> = serde_json::from_value(found["orbit_lengths"].clone()).unwrap();
    assert_eq!(lengths, (2..=64).rev().collect::<Vec<_>>());
}

#[test]
fn strong_generators_are_listed() {
    let (_, out, _) = group(&["2x3", "--strong-generators"]);
    let listed: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let found = group_json(&["2x3"]);
    assert_eq!(value!(listed), found["strong_generators"]);
    assert!(out.contains(&format!("strong generating set: {} elements\n", listed.len())));
}

#[test]
fn element_is_given_in_moves_cycles_or_tiles() {
    // Lemma 3.1 of Jia, Zhang and Xiang.
    let lemma = "V1^-1 H1^1 V1^1 H1^1 V1^-1 H1^-2 V1^1";
    let (code, out, _) = group(&["3x3", "--element", lemma]);
    assert_eq!(
        (code, out.as_str()),
        (Some(0), "(1,2,3)\norder: 3\nparity: even\ntiles: 2 0 1 3 4 5 6 7 8\n")
    );
    for same in ["(1,2,3)", "[[1,2,3]]", "2,0,1;3,4,5;6,7,8", "(V1^-1*H1*V1)*H1*(V1^-1 H1^-2 V1)"] {
        assert_eq!(group(&["3x3", "--element", same]).1, out, "{same}");
    }
    let found = group_json(&["4x4", "--element", "V1*H1"]);
    assert_eq!((&found["order"], &found["parity"]), (&value!(7), &value!("even")));
    assert_eq!(found["tiles"], value!(replay(4, 4, "V1*H1")));
}

#[test]
fn word_reproduces_its_state() {
    const BOARDS: [(usize, usize); 8] = [(1, 1), (1, 5), (2, 2), (3, 4), (5, 5), (3, 3), (4, 4), (8, 8)];
    for &(rows, columns) in &BOARDS[..fathom_slow::choose(5, 8)] {
        let board = format!("{rows}x{columns}");
        let scrambles = ["()".to_owned(), scramble(rows, columns, 3), scramble(rows, columns, 60)];
        for scramble in scrambles {
            let state = line(&replay(rows, columns, &scramble));
            let found = group_json(&[&board, "--factor", &state]);
            let word = found["word"].as_str().unwrap();
            assert_eq!(line(&replay(rows, columns, word)), state, "{board}: {word}");
            let moves = if word == "()" { 0 } else { word.split('*').count() };
            assert_eq!(found["moves"], value!(moves));
            let (code, out, err) = group(&[&board, "--factor", &state]);
            assert_eq!((code, err.as_str()), (Some(0), ""));
            // The same state gives the same word.
            assert_eq!(out.lines().next(), Some(word));
        }
    }
}

/// Returns the given number of random moves, of which no two consecutive ones move the same line.
fn scramble(rows: usize, columns: usize, moves: usize) -> String {
    let turn = |at: usize| match at % 2 {
        0 => format!("V{}^{}", at * 7 % columns + 1, at % 5 + 1),
        _ => format!("H{}^-{}", at * 5 % rows + 1, at % 3 + 1),
    };
    (0..moves).map(turn).collect::<Vec<_>>().join("*")
}

#[test]
fn exit_code_shows_membership_and_result_the_reason() {
    for (board, state, expected, says) in [
        ("3x3", "(1,2,3)", true, "yes: the state is reachable\n"),
        ("3x3", "(1,2)", false, "no: it is an odd permutation, but all generators are even\n"),
        ("3x4", "(1,2)", true, "yes"),
        ("3x4", "11 10 9 8 7 6 5 4 3 2 1 0", true, "yes"),
        ("1x6", "H1^-4", true, "yes"),
        (
            "1x6",
            "(1,2)(3,4)",
            false,
            "no: it carries the points 1 4, which all moves keep together, to 2 3\n",
        ),
        ("1x5", "(1,2)(3,4)", false, "no: no element of the group carries the points 1 2 to 2 1\n"),
        ("1x1", "0", true, "yes"),
    ] {
        let (code, out, err) = group(&[board, "--contains", state]);
        assert_eq!((code, err.as_str()), (Some(if expected { 0 } else { 1 }), ""), "{board} {state}");
        assert!(out.starts_with(says), "{board} {state}: {out}");
        let (again, out, err) = group(&[board, "--contains", state, "--json"]);
        assert_eq!((again, err.as_str()), (code, ""));
        let found: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(found["contains"], value!(expected));
        assert_eq!(found["why"].is_string(), !expected);
    }
}

/// Tests groups of some of the moves, moves that a file lists without making them generators, and sequences
/// in common notations.
#[test]
fn moves_are_selected_and_common_notations_are_read() {
    let file = format!("{}/../docs/examples/sequences.tws", env!("CARGO_MANIFEST_DIR"));
    let told = |arguments: &[&str]| texts(&fathom().arg("group").args(arguments).output().unwrap()).0;
    assert!(told(&["3x3", "--moves", "V1,H1'"]).contains("generators: V1 H1' (2 even, 0 odd)"));
    assert!(told(&["3x3", "--moves", "V_1^{-1}"]).contains("order: 3\n"));
    assert!(told(&["3x3+flip"]).contains("order: 362,880\n"));
    // Q is another name of L2. It is not a generator unless it is selected.
    assert!(told(&[&file, "--moves", "Q"]).contains("order: 2\n"));
    let element = |text: &str| told(&["3x3", "--element", text]);
    assert_eq!(element("[V1, H1']"), element("V1 H1' V1' H1"));
    assert_eq!(element("V1H1'"), element("V_1^{1} H_1^{-1}"));
    assert_eq!(told(&[&file, "--element", "RQL'"]), told(&[&file, "--element", "R L"]));
    assert!(told(&["3x3", "--factor", "(1,4,7)"]).starts_with("V1'\n1 move"));
}

/// The numbers are from the article of HaskellForMaths, from theorem 5.2.3 of Jia, Zhang and Xiang for a
/// board that is too large to search, and from B. Sambale's manoeuvres.
#[test]
fn group_results_of_the_papers() {
    let rubik = format!("{}/../docs/examples/rubik.gap", env!("CARGO_MANIFEST_DIR"));
    let (code, out, _) = group(&[&rubik, "--contains", "(1,17,23)"]);
    assert_eq!(
        (code, out.as_str()),
        (Some(1), "no: the piece of the points 1 17 23 is twisted, and no other piece is\n")
    );
    let (_, out, _) = group(&[&rubik, "--contains", "(1,19)(3,17)(23,41)"]);
    assert!(out.starts_with("no: its combined parity on the pieces of orbit 1 2 is odd, but"), "{out}");
    // Each corner of a skewb can be twisted with others, and none alone.
    let (code, out, _) = group(&["skewb", "--contains", "(1,2,3)"]);
    assert_eq!(code, Some(1));
    let together = "no: no sequence of moves acts like this on orbits 1 2 3 4 5 together, although it becomes possible if any one of them is ignored\n";
    assert_eq!(out, together);
    assert_eq!(group_json(&["16x15"])["kind"], value!("symmetric"));
    let (code, _, err) = group(&["17x16"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("'fathom group' accepts boards of up to 16x16"), "{err}");
    let (code, _, err) = group(&["16x16", "--factor", "(1,2)"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("boards of up to 64 cells"), "{err}");
    for (letters, cycles) in [("A", "(3,7)(4,8)(10,12)(11,13)"), ("[B,C]", "(10,14,16)")] {
        assert_eq!(group_json(&["square1", "--element", letters])["element"], value!(cycles));
    }
    // Three twists turn the middle layer over, and repeating them undoes that.
    let thrice = group_json(&["SQUARE1", "--element", "/(6,0)/(6,0)/(6,0)"]);
    assert_eq!((&thrice["element"], &thrice["order"]), (&value!("()"), &value!(2)));
    assert_eq!(thrice["middle_turned_over"], value!(true));
    let (code, _, err) = group(&["SQUARE1"]);
    assert!(code == Some(2) && err.contains("use --element"), "{err}");
    for wrong in ["q", "f", "u^-1s"] {
        assert_eq!(group(&["square1", "--element", wrong]).0, Some(2), "{wrong}");
    }
}

/// Two permutations of two orbits of 40 points, chosen at random.
const TWO_ORBITS: [&str; 2] = [
    "(1,24,20,36,8,10,30,7,6,33,31,26,13,39,37,17,11,35,32,25,14,22,15,28,16,23,27)(2,3,12,21,40,9,18, \
    34,29,4)(5,38)(41,65,68,61,51,69,58,60,57,47,73,42,52,49)(44,80,76,77,79,55,45,62,71,72,67)(46, \
    66)(48,53)(50,74,59,54,56,78,63)(70,75)",
    "(1,27,30,16,8,18,21,22,19,37,6,5,3,32,26,2,15,28)(4,25,10,14,39,36,29,38,40,24,23,20,13)(7,35,33, \
    11,31,12,9,34)(41,42,61,63,70,52,79,73,44,48,64,56,55,50,43,46,62,80,65,75,54,60)(47,67)(49, \
    78)(51,66,57)(58,69,59,72,71,77,74,68)",
];

/// Words along the stabiliser chain of this group would be too long for any memory.
#[test]
fn short_elements_are_factored_and_others_are_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    let file = directory.path().join("two-orbits.toml");
    let [a, b] = TWO_ORBITS;
    let text = format!("name = \"two-orbits\"\ndegree = 80\n[moves]\nA = \"{a}\"\nB = \"{b}\"\n");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let found = group_json(&[file, "--factor", "A B A A B"]);
    assert_eq!((&found["moves"], &found["word"]), (&value!(4), &value!("A*B*A2*B")));
    let (code, out, err) = group(&[file, "--factor", "(A B)^100"]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("this state can be reached, but not within the limit"), "{err}");
    let (code, _, err) = group(&[file, "--factor", "(1,41)"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("this state cannot be reached"), "{err}");
}

#[test]
fn tiles_are_counted_from_one_on_request() {
    // The first row to the left.
    let told = group_json(&["3x3", "--element", "2 3 1 4 5 6 7 8 9", "--from-one"]);
    assert_eq!(
        (&told["element"], &told["tiles"]),
        (&value!("(1,3,2)"), &value!([2, 3, 1, 4, 5, 6, 7, 8, 9]))
    );
    let (code, _, err) = group(&["3x3", "--element", "1 2 0 3 4 5 6 7 8", "--from-one"]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains(
            "there is no tile 0: tiles are numbered 1 to 9; with --from-one tiles are numbered from 1"
        ),
        "{err}"
    );
    let solved =
        fathom().args(["solve", "3x3", "3 1 2 4 5 6 7 8 9", "--from-one", "--json"]).output().unwrap();
    let solved = json(&solved);
    assert_eq!((&solved["state"], &solved["distance"]), (&value!("3 1 2 4 5 6 7 8 9"), &value!(1)));
}
