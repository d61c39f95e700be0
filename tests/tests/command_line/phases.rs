//! `fathom phases`, as a real process.

use fathom_tests::{fathom, json, texts};
use serde_json::{Value, json as value};

fn phases(arguments: &[&str]) -> Value {
    json(&fathom().arg("phases").args(arguments).arg("--json").output().unwrap())
}

fn of_each<'a>(found: &'a Value, field: &str) -> Vec<&'a Value> {
    found["phases"].as_array().unwrap().iter().map(|phase| &phase[field]).collect()
}

/// The numbers of cosets and the largest distances are on Jaap's Puzzle Page, "Thistlethwaite's 52-move
/// algorithm".
#[test]
fn phases_of_thistlethwaite_have_the_published_numbers() {
    let chain = "L,R,F,B,U2,D2; L,R,F2,B2,U2,D2; L2,R2,F2,B2,U2,D2";
    let found = phases(&["3x3x3", "--chain", chain]);
    assert_eq!(of_each(&found, "gods_number"), [7, 10, 13, 15]);
    assert_eq!(of_each(&found, "cosets"), [2048, 1_082_565, 29_400, 663_552]);
    assert_eq!(of_each(&found, "order")[3], "663552");
    assert_eq!(found["upper_bound"], 45);
    let moves = of_each(&found, "moves").into_iter().map(|moves| moves.as_array().unwrap().len());
    assert_eq!(moves.collect::<Vec<_>>(), [18, 14, 10, 6]);
    assert_eq!(of_each(&found, "subgroup")[3], &value!([]));
}

/// A chain whose last group is the puzzle's own has one more phase, of no moves, and the distances of a run.
#[test]
fn phases_without_subgroups_are_a_run() {
    for (puzzle, whole) in [("3x3", "V1,V2,V3,H1,H2,H3"), ("burnt-pancake:4", "r1,r2,r3,r4"), ("lx:6", "L,X")]
    {
        let directory = fathom_tests::tempdir().unwrap();
        let run =
            fathom().args(["run", puzzle, "-q", "--json"]).current_dir(directory.path()).output().unwrap();
        let found = phases(&[puzzle, "--chain", whole]);
        assert_eq!(of_each(&found, "counts"), [&value!([1]), &json(&run)["counts"]], "{puzzle}");
    }
}

#[test]
fn text_has_the_numbers_of_the_object() {
    let arguments = ["2x2x2", "--chain", "U,R2,F2"];
    let found = phases(&arguments);
    let output = fathom().arg("phases").args(arguments).output().unwrap();
    let (out, err) = texts(&output);
    assert_eq!(err, "");
    assert!(out.starts_with("2x2x2 multi: 3,674,160 states\n"), "{out}");
    let [first, second] = of_each(&found, "gods_number")[..] else { panic!("{found}") };
    let bound = format!("God's number is at most {} = {first} + {second}\n", found["upper_bound"]);
    assert!(out.ends_with(&bound), "{out}");
    assert_eq!(
        of_each(&found, "cosets").iter().map(|cosets| cosets.as_u64().unwrap()).product::<u64>(),
        3_674_160
    );
}

#[test]
fn chains_that_are_none_are_refused() {
    for (arguments, says) in [
        (&["3x3x3", "--chain", "U,D,R2; U,F2"][..], "generator F2 of subgroup 2 is not in subgroup 1"),
        (&["3x3x3", "--chain", "U,Q"], "generator Q of subgroup 1: at offset 0: unknown move \"Q\""),
        (&["3x3x3", "--chain", "U,,R"], "subgroup 1 has an empty generator"),
        (&["3x3x3", "--chain", "U;"], "subgroup 2 has an empty generator"),
        (&["3x3x3", "--chain", "U"], "phase 1 has 10,813,000,818,622,464,000 cosets, too many for"),
        (
            &["3x3x3", "--chain", "L,R,F,B,U2,D2; L,R,F2,B2,U2,D2; L2,R2,F2,B2,U2,D2", "--memory", "20MiB"],
            "phase 2 has 1,082,565 cosets, too many for 20.00 MiB of memory",
        ),
        (
            &["2x2x2", "--metric", "single", "--chain", "U2,R2,F2"],
            "phase 2 cannot be solved within its group: from only 1 of its 24 cosets, the 0 moves",
        ),
        (&["square1", "--chain", "/"], "the states of square1 are not the elements of a group"),
        (&["nothing", "--chain", "U"], "unknown puzzle"),
    ] {
        let output = fathom().arg("phases").args(arguments).output().unwrap();
        let (out, err) = texts(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(says) && err.matches("error:").count() == 1, "{arguments:?}: {err}");
    }
}
