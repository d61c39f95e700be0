//! Whatever the names of moves are, all commands read what any of them prints, and read it the same way.

use fathom_tests::process::well;
use fathom_tests::{fathom, json};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Moves with names that look like powers of other moves.
const PUZZLES: [(&str, &str); 3] = [
    ("listed", "[moves]\nA = '(1,2,3,4,5)'\nA2 = '(1,2,6)'"),
    ("spare", "[moves]\nA = '(1,2,3,4,5)'\nB = '(5,6)'\n[spare]\nA2 = '(1,6,2)'"),
    ("numbers", "[moves]\n1 = '(1,2,3,4,5)'\n12 = '(1,2,6)'"),
];

fn out(directory: &Path, arguments: &[&str]) -> String {
    well(&fathom().args(arguments).current_dir(directory).output().unwrap())
}

fn told(directory: &Path, arguments: &[&str]) -> Value {
    json(&fathom().args(arguments).current_dir(directory).output().unwrap())
}

/// Returns the cycles of an element.
fn element(directory: &Path, file: &str, text: &str) -> String {
    let said = out(directory, &["group", file, "--element", text]);
    said.lines().next().unwrap().to_owned()
}

#[test]
fn names_are_read_as_printed() {
    let directory = fathom_tests::tempdir().unwrap();
    for (name, moves) in PUZZLES {
        let file = &*format!("{name}.toml");
        fs::write(directory.path().join(file), format!("degree = 6\nmetric = 'multi'\n{moves}\n")).unwrap();
        let [first, second] = if name == "numbers" { ["1", "12"] } else { ["A", "A2"] };
        let texts = [
            format!("({first})^2"),
            second.to_owned(),
            format!("({first})^-2"),
            format!("{second}' ({first})^2"),
            format!("({first})^2 {second} ({first})^-1 {second}'"),
        ];
        for text in texts {
            let found = told(directory.path(), &["solve", file, "--scramble", &text, "--json"]);
            let solution = found["solutions"][0].as_str().unwrap();
            assert_eq!(
                element(directory.path(), file, &format!("{text} {solution}")),
                "()",
                "{file}: {text}, {solution}"
            );
            let cycles = element(directory.path(), file, &text);
            let word = told(directory.path(), &["group", file, "--factor", &cycles, "--json"]);
            assert_eq!(
                element(directory.path(), file, word["word"].as_str().unwrap()),
                cycles,
                "{file}: {text}"
            );
        }
        // `--moves` reads the same move as `group`: one of order 3.
        let inverse = format!("{second}'");
        let chosen = out(directory.path(), &["run", file, "--moves", &inverse, "-q", "--dir", name]);
        assert!(chosen.contains("add up to 3,"), "{file}: {chosen}");
    }
}

#[test]
fn converted_sequence_is_read_the_same() {
    let directory = fathom_tests::tempdir().unwrap();
    let moves = "A = '(1,2,3,4,5)'\nB = '(6,7,8,9,10)'\nA2 = '(1,2,3)'\nB2 = '(6,7,8)'";
    let turn = "x = '(1,6)(2,7)(3,8)(4,9)(5,10)'";
    let text = format!("degree = 10\nmetric = 'multi'\n[moves]\n{moves}\n[free]\n{turn}\n");
    fs::write(directory.path().join("turned.toml"), text).unwrap();
    for sequence in ["B^2", "(B)2", "(B)^2 x", "B2 x B^-2"] {
        let said = out(directory.path(), &["convert", "turned.toml", sequence]);
        assert!(!said.is_empty(), "{sequence}");
    }
    // The same text after the name of one move means a power, after that of another it does not.
    let moves = "A = '(1,2,3,4,5)'\nB = '(6,7,8,9,10)'\nA2 = '(1,2,3)'\n'é' = '(6,7,8)'\n'é2' = '(8,9,10)'\n'é^2' = '(7,8,9)'";
    let text = format!("degree = 10\nmetric = 'multi'\n[moves]\n{moves}\n[free]\n{turn}\n");
    fs::write(directory.path().join("turned.toml"), text).unwrap();
    for sequence in ["x B2", "x B^2", "(é)2", "x (é)^-1 x é2"] {
        out(directory.path(), &["convert", "turned.toml", sequence]);
    }
}
