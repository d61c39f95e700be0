//! `fathom bound`: its bounds agree with the paper, and never exceed an enumerated distance.

use fathom_tests::{fathom, json, known_tables, texts};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn bound(arguments: &[&str]) -> Value {
    json(&fathom().arg("bound").args(arguments).arg("--json").output().unwrap())
}

fn number(value: &Value) -> u128 {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn table_2_of_the_paper() {
    let found = bound(&["4x4"]);
    assert_eq!((&found["bound"], &found["states"]), (&11.into(), &"20922789888000".into()));
    let lengths = found["lengths"].as_array().unwrap();
    assert_eq!(lengths.len(), 12);
    // The row i = 11; by lemma 4.3.8 columns and rows are alike.
    let by_last_line = ["2366950703382", "2814794616906", "3347373786381", "3980720723895"];
    assert_eq!(lengths[11]["by_last_line"], Value::from([by_last_line, by_last_line].concat()));
    assert_eq!(lengths[11]["arrangements"], "25019679661128");
    assert_eq!(lengths[11]["refined"], Value::Null);
    let text = texts(&fathom().args(["bound", "4x4"]).output().unwrap()).0;
    assert!(text.contains("     11  25,019,679,661,128  26,703,866,863,933\n"), "{text}");
    assert!(text.contains("\n  11  by arrangements\n"), "{text}");
}

#[test]
fn square1() {
    // B. Sambale, Square-1 (2021): 8518 shapes, of which 24 are found last, and at least 17 moves.
    let found = bound(&["square1"]);
    assert_eq!(found["aligned"]["states"], "27695466086400");
    assert_eq!(
        (&found["aligned"]["shapes"], &found["last_shapes"]["found"]["shapes"]),
        (&8518.into(), &24.into())
    );
    assert_eq!(found["last_shapes"]["bound"], 17);
    // S. Chen (2017): 31 moves for states that can be twisted.
    let twistable = found["by_shape"]["twistable"].as_u64().unwrap();
    assert!((17..=31).contains(&twistable), "{found}");
    let text = texts(&fathom().args(["bound", "square1"]).output().unwrap()).0;
    assert!(text.contains("\n  17  by counting sequences with 8 twists\n"), "{text}");
}

#[test]
fn range_is_printed_as_a_table() {
    let (text, err) = texts(&fathom().args(["bound", "2..8"]).output().unwrap());
    assert_eq!(err, "");
    // Table 5 of the paper with its rows and columns corrected: there the first row is printed as 3 4 6 7 8 9
    // 10.
    let first = "   2    3    4    6    7    9   11   12\n   3    4    6    9   11   13   15   18\n";
    assert!(text.contains(first), "{text}");
    let told = bound(&["2..8"]);
    let boards = told.as_array().unwrap();
    // The whole table, in its order.
    assert_eq!(boards.len(), 49);
    assert_eq!((&boards[48]["space"], &boards[48]["arrangements"]), (&"8x8".into(), &48.into()));
    assert_eq!(
        [&boards[1], &boards[7]].map(|board| (&board["space"], board["lengths"][1]["by_last_line"].clone())),
        // A line of L cells has L - 1 rotations; columns come first.
        [
            (&"2x3".into(), Value::from(vec!["1", "1", "1", "2", "2"])),
            (&"3x2".into(), Value::from(vec!["2", "2", "1", "1", "1"]))
        ]
    );
    let small = texts(&fathom().args(["bound", "2..3", "--refine", "8"]).output().unwrap()).0;
    assert!(
        small.contains("are normal forms\n\n        2    3\n   2    4    7\n   3    7    8\n"),
        "{small}"
    );
}

/// Asserts that a bound and its counts hold for an enumerated growth function.
fn assert_holds(board: &str, metric: &str, growth: &[u64]) {
    let god_number = growth.len() as u64 - 1;
    let mut best = 0;
    for depth in 1..=4_usize {
        let found = bound(&[board, "--metric", metric, "--refine", &depth.to_string()]);
        let bound = found["bound"].as_u64().unwrap();
        assert!((best..=god_number).contains(&bound), "{board} {metric} {depth}: {found}");
        best = bound;
        for (length, (told, &states)) in found["lengths"].as_array().unwrap().iter().zip(growth).enumerate() {
            let (refined, arrangements) = (number(&told["refined"]), number(&told["arrangements"]));
            assert!(u128::from(states) <= refined, "{board} {metric} {depth} {length}: {told}");
            assert!(refined <= arrangements, "{board} {metric} {depth} {length}: {told}");
            assert!(
                length > depth || u128::from(states) == refined,
                "{board} {metric} {depth} {length}: {told}"
            );
        }
    }
}

#[test]
fn bounds_hold_for_all_enumerated_puzzles() {
    for known in known_tables("boards.json") {
        assert_holds(&known.puzzle, known.metric.as_str(), &known.counts);
    }
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records");
    let mut seen = 0;
    for entry in fs::read_dir(records).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let counts: Vec<u64> = serde_json::from_value(record["counts"].clone()).unwrap();
            assert_holds(record["space"].as_str().unwrap(), record["metric"].as_str().unwrap(), &counts);
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn other_puzzles_are_bounded() {
    // Rubik's cube: counting gives 18, as is well known; God's number is 20 (cube20.org).
    let told = bound(&["3x3x3"]);
    assert_eq!((&told["bound"], &told["states"]), (&18.into(), &"43252003274489856000".into()));
    // Identical pieces: 6! / (3! 3!) states.
    let alike = bound(&["../docs/examples/two-colours.toml", "--metric", "multi"]);
    assert_eq!(alike["states"], "20");
    // Free moves and guards: God's numbers of records/puzzles/fto-multi.json and of the run.
    assert!((9..=13).contains(&bound(&["../docs/examples/fto.toml"])["bound"].as_u64().unwrap()));
    let bandaged = "../docs/examples/bandaged.toml";
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let told = json(&fathom().args(["run", bandaged, "-q", "--json", "--dir"]).arg(run).output().unwrap());
    assert!(bound(&[bandaged])["bound"].as_u64() <= told["god_number"].as_u64(), "{told}");
    let output = fathom().args(["bound", "lx:6"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("not closed under inverses"), "{:?}", texts(&output));
}

/// No metric adds inverses to a puzzle that is limited by `always`.
#[test]
fn advice_on_missing_inverses_works() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("lo.toml");
    let bound = |moves: &str| {
        let text = format!(
            "name = \"lo\"\ndegree = 6\nalways = [1]\n[moves]\nL = \"(1,2,3,4)\"\nR = \"(3,5,6,4)\"\n{moves}[solved]\nlabels = [1, 1, 2, 3, 1, 1]\n"
        );
        fs::write(&path, text).unwrap();
        let output = fathom().arg("bound").arg(&path).output().unwrap();
        (output.status.code(), texts(&output).1)
    };
    let (code, err) = bound("");
    assert!(code == Some(2) && err.contains("Add the missing inverses"), "{err}");
    let (_, err) = bound("Li = \"(4,3,2,1)\"\nRi = \"(4,6,5,3)\"\n");
    assert!(!err.contains("inverses"), "{err}");
}

/// God's numbers: J. Scherphuis, Puzzle Pages (pyraminx without its tips); records/puzzles/fto-multi.json.
#[test]
fn every_puzzle_has_a_verified_upper_bound() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("upper.json");
    // All states of a pyraminx are one stage, and some chain of the octahedron has only small tables, which
    // are tried however short the time limit is.
    let (pyraminx, octahedron) = (&["--radius", "1", "--time", "600"], &["--radius", "3", "--time", "1"]);
    let puzzles = [("pyraminx", pyraminx, 11, 11), ("../docs/examples/fto.toml", octahedron, 13, 45)];
    for &(space, search, least, most) in &puzzles[..fathom_slow::choose(1, 2)] {
        let certificate = bound(&[&[space, "--upper"], &search[..]].concat());
        assert_eq!(certificate["space"], space);
        assert!((least..=most).contains(&certificate["upper_bound"].as_u64().unwrap()), "{certificate}");
        fs::write(&path, certificate.to_string()).unwrap();
        let output = fathom().arg("verify").arg(&path).output().unwrap();
        assert!(texts(&output).0.starts_with("verified: "), "{:?}", texts(&output));
    }
}

#[test]
fn upper_bound_needs_no_chain() {
    let directory = fathom_tests::tempdir().unwrap();
    let certificate = bound(&["2x3", "--upper", "--time", "600"]);
    // Table 4 of the paper: with all tiles in one stage the bound is exact.
    assert_eq!(certificate["upper_bound"], 7);
    let path = directory.path().join("2x3.json");
    fs::write(&path, certificate.to_string()).unwrap();
    assert!(fathom().arg("verify").arg(&path).output().unwrap().status.success());
    let told = texts(&fathom().args(["bound", "2x3", "--upper", "--time", "600"]).output().unwrap()).1;
    assert!(
        told.contains(
            "note: 2x3, column by column, sequences of up to 4 moves, stages of up to 256 states, "
        ),
        "{told}"
    );
}

/// The stages of a certificate are joined again within the requested memory.
#[test]
fn joined_stages_are_verified_in_limited_memory() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("joined.json");
    let verify = |metric: &str, moves: u64, memory: &str| {
        let stage = |solved: &[u64], states, moves| serde_json::json!({ "solved": solved, "states": states, "moves": moves, "exact": false, "words": [] });
        let stages = [stage(&[0, 1], 30, 4), stage(&[0, 1, 2, 3, 4, 5], 24, moves)];
        let certificate = serde_json::json!({
            "space": "2x3", "metric": metric, "upper_bound": 7, "stages": stages, "joined": true
        });
        fs::write(&path, certificate.to_string()).unwrap();
        let output = fathom().arg("verify").arg(&path).env("FATHOM_MEMORY", memory).output().unwrap();
        (output.status.code(), texts(&output).1)
    };
    for (moves, memory) in [(6, "4KiB"), (6, "1GiB"), (5, "1GiB")] {
        assert_eq!(verify("multi", moves, memory), (Some(0), String::new()), "{moves} {memory}");
    }
    let (code, err) = verify("multi", 5, "4KiB");
    assert!(code == Some(1) && err.contains("could not be checked"), "{err}");
    let (code, err) = verify("given", 6, "1GiB");
    assert!(code == Some(1) && err.contains("in the metrics 'multi' and 'single'"), "{err}");
}

#[test]
fn memory_limit_reduces_the_depth() {
    let found = bound(&["4x4", "--refine", "6", "--memory", "1MiB"]);
    let depth = found["depth"].as_u64().unwrap();
    assert!((1..6).contains(&depth), "{found}");
    assert_eq!(found["lengths"], bound(&["4x4", "--refine", &depth.to_string()])["lengths"]);
}

#[test]
fn chain_bound_and_its_certificate_are_verified() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("certificate.json");
    let verify = |text: &str| {
        fs::write(&path, text).unwrap();
        let output = fathom().args(["verify", "certificate.json"]).current_dir(&directory).output().unwrap();
        let (out, err) = texts(&output);
        (output.status.code(), out, err)
    };
    let certificate = bound(&["3x3", "--upper", "--chain", "0-2;0-8"]);
    // God's number is 8 by table 1 of the paper, and all words of eight moves are products of two words of
    // the ball.
    let upper = certificate["upper_bound"].as_u64().unwrap();
    assert!(upper >= 8, "{certificate}");
    let (code, out, err) = verify(&certificate.to_string());
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(
        out.starts_with("verified: 2 stages with ") && out.contains(&format!("at most {upper} moves")),
        "{out}"
    );
    let text = texts(&fathom().args(["bound", "3x3", "--upper", "--chain", "0-2;0-8"]).output().unwrap()).0;
    assert!(text.contains(&format!("God's number is at most {upper}\n")), "{text}");

    let mut wrong = certificate.clone();
    wrong["upper_bound"] = (upper - 1).into();
    let (code, out, err) = verify(&wrong.to_string());
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("the certificate is wrong: the stages add up to"), "{err}");
    let (code, _, err) = verify("{}");
    assert_eq!(code, Some(2));
    assert!(err.contains("neither a run directory nor a certificate"), "{err}");
}
