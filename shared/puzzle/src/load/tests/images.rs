//! Tests of lists of images, and of the moves of Kaggle's Santa 2023.

use super::*;

fn read(file: &str, text: &str) -> String {
    let puzzle = parse(text, Format::new(file, text), file).unwrap();
    let moves: Vec<_> = puzzle.moves().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
    format!("{} {}: {}", puzzle.name(), puzzle.cells(), moves.join("; "))
}

#[test]
fn dicts_and_lists_of_images() {
    let both = "some 4: L (1,2,3,4); X (1,2)";
    assert_eq!(read("some.json", r#"{"L": [1, 2, 3, 0], "X": [1, 0, 2, 3]}"#), both);
    assert_eq!(read("some.py", "{'L': [1, 2, 3, 0],\n 'X': [1, 0, 2, 3],}"), both);
    assert_eq!(read("some.txt", "{'L': [1, 2, 3, 0], 'X': [1, 0, 2, 3]}"), both);
    assert_eq!(read("some.py", "L = [1,2,3,0]\nX = [1,0,2,3]  # a comment\nmoves = {'L': L, 'X': X}"), both);
    assert_eq!(read("some.py", "L = [1,2,3,0]\nX = [1,0,2,3]\nmoves = [L, X]\nn = -1"), both);
    // From 1, because no image is 0.
    assert_eq!(read("some.json", r#"{"L": [2, 3, 4, 1], "X": [2, 1, 3, 4]}"#), both);
    assert_eq!(read("some.json", "[[1, 2, 3, 0], [1, 0, 2, 3]]"), "some 4: g1 (1,2,3,4); g2 (1,2)");
}

/// SymPy's own documentation: `Permutation([1, 2, 0])` is the cycle (0 1 2), and `Permutation(0, 1)(2, 3)` is
/// `Permutation([1, 0, 3, 2])`. Sage counts from 1: `Permutation([2, 3, 1])` is its cycle (1, 2, 3).
#[test]
fn permutations_of_sympy_and_sage() {
    let sympy = "from sympy.combinatorics import Permutation, PermutationGroup\n";
    for (text, moves) in [
        ("PermutationGroup([Permutation([1, 2, 0]), Permutation(0, 1)])", "g1 (1,2,3); g2 (1,2)"),
        ("a = Permutation(0, 1)(2, 3)\nb = Permutation([[0, 2]], size=5)", "a (1,2)(3,4); b (1,3)"),
        ("a = Permutation(0, 1)\nb = Permutation(0, 1, 2)\nPermutationGroup(a, b)", "a (1,2); b (1,2,3)"),
        // SymPy multiplies from left to right, as Fathom does.
        (
            "a = Permutation(0, 1)\nb = Permutation(1, 2)\nc = [a*b, a**-1, (a*b)**2]",
            "g1 (1,3,2); g2 (1,2); g3 (1,2,3)",
        ),
    ] {
        let found = read("some.py", &format!("{sympy}{text}\n"));
        assert_eq!(found.split_once(": ").unwrap().1, moves, "{text}");
    }
    assert_eq!(read("some.py", "Permutation([1, 0], size=5)"), "some 5: g1 (1,2)");
    for text in [
        "G = PermutationGroup([[(1,2,3),(4,5)], [(1,2)]])",
        "G = PermutationGroup(['(1,2,3)(4,5)', '(1,2)'])",
        "PermutationGroup([Permutation('(1,2,3)(4,5)'), Permutation((1,2))])",
        "PermutationGroup([Permutation([2,3,1,5,4]), Permutation([(1,2)])])",
    ] {
        assert_eq!(read("some.sage", text), "some 5: g1 (1,2,3)(4,5); g2 (1,2)", "{text}");
    }
}

#[test]
fn faults_in_lists_of_images() {
    let error = |text: &str| error(Format::Images, text);
    let nothing = "is not supported: nothing is executed; let the program print the lists of images, and save what it prints as a file";
    assert_eq!(
        error("{'a': [1, 2, 0], 'b': [1, 0]}"),
        "file:1:18: the length of the list is 2, but that of the first is 3"
    );
    assert_eq!(error("{'a': [1, 1, 0]}"), "file:1:2: not a permutation: 1 occurs twice");
    assert_eq!(error("{'a': [1, 3, 0]}"), "file:1:2: 3 is not between 0 and 2");
    // The second entry would be a move if it were taken for one.
    assert_eq!(
        error("{'generators': [[1, 2, 0]], 'central_state': [0, 1, 2]}"),
        "file:1:2: expected a list of images such as [1, 2, 0], as the other entries are"
    );
    assert_eq!(
        error("a = [list(range(3))]"),
        format!("file:1:6: \"list\", which is not the name of a value above, {nothing}")
    );
    assert_eq!(
        error("a = [0, 1]\nb = a[::-1]"),
        format!("file:2:5: a use of \"a\" other than by its name {nothing}")
    );
    assert_eq!(error("a = 5"), "file: the puzzle has no moves");
    assert!(error("{'a' [1, 0]}").starts_with("file:1:6: expected a name and ':', found '['"));
    assert!(error("a = 'x").contains("this quote is not closed"));
    assert!(error(&"[".repeat(40)).contains("nested more than 16 deep"));
}

/// A list has the place that each piece comes from.
#[test]
fn puzzles_of_santa_2023() {
    let text = "puzzle_type,allowed_moves\n\
                ring/3,\"{'f': [1, 2, 0], 'r0': [1, 0, 2]}\"\n\
                ring/2,\"{'r': [1, 0]}\"\n";
    let one = |kind| santa::read(text, Some(kind)).unwrap();
    let moves: Vec<_> = one("ring/3").moves().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
    assert_eq!((one("ring/3").name(), moves.join("; ")), ("ringx3", "f (1,3,2); r0 (1,2)".into()));
    assert_eq!(one("ring/2").metric(), Metric::Single);
    let alone = text.rsplit_once("ring/2").unwrap().0;
    assert_eq!(parse(alone, Format::new("a.csv", alone), "a.csv").unwrap(), one("ring/3"));
    let error = |text: &str| error(Format::Santa, text);
    assert_eq!(error(text), "file: the file has 2 puzzles; write FILE:TYPE with one of ring/3 ring/2");
    assert_eq!(
        error("a,b\n"),
        "file:1:1: expected the columns \"puzzle_type,allowed_moves\" of Kaggle's Santa 2023"
    );
    assert_eq!(
        error(&alone.replace("[1, 0, 2]", "[1, 0, 0]")),
        "file:2:26: not a permutation: 0 occurs twice"
    );
    let unknown = santa::read(text, Some("cube")).unwrap_err().in_file("file", text).to_string();
    assert_eq!(unknown, "file: unknown puzzle type \"cube\"; the file has ring/3 ring/2");
}
