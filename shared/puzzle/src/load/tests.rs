//! Tests of the formats of puzzle files.

mod gap;
mod images;
mod kpuzzle;
mod ksolve;
mod scramble_file;
mod tokens;

use super::*;
use crate::Metric;

fn error(format: Format, text: &str) -> String {
    parse(text, format, "file").unwrap_err().to_string()
}

/// Returns the error for a file of Fathom's own format that ends with these lines.
fn toml_with(line: &str) -> String {
    error(Format::Toml, &format!("orbits = [{{ name = \"a\", cells = 4, orientations = 3 }}]\n{line}\n"))
}

#[test]
fn formats_are_detected_by_extension_then_text() {
    for (file, format) in [
        ("a.toml", Format::Toml),
        ("a.g", Format::Gap),
        ("a.gap", Format::Gap),
        ("a.tws", Format::Ksolve),
        ("A.DEF", Format::Ksolve),
        ("a.ksolve", Format::Ksolve),
        ("a.kpuzzle.json", Format::Kpuzzle),
        ("a.json", Format::Kpuzzle),
        ("a.graph", Format::Tokens),
    ] {
        assert_eq!(Format::new(file, "?"), format, "{file}");
    }
    for (text, format) in [
        ("degree = 3\n[moves]", Format::Toml),
        ("\n# x\nGroup((1,2))", Format::Gap),
        ("a := (1,2);", Format::Gap),
        ("[ (1,2) ]", Format::Gap),
        ("[\n  (1,2)]", Format::Gap),
        ("(1,2)", Format::Gap),
        ("# by hand\n\nName x\nSet A 2 1", Format::Ksolve),
        ("  {\"name\": 1}", Format::Kpuzzle),
        ("[moves]\na = \"(1,2)\"", Format::Toml),
        ("", Format::Toml),
        ("\u{feff}a := (1,2,3);", Format::Gap),
        ("\u{feff}{\"name\": 1}", Format::Kpuzzle),
        ("\u{feff}# x\nName x", Format::Ksolve),
    ] {
        assert_eq!(Format::new("a.txt", text), format, "{text:?}");
    }
}

#[test]
fn toml_errors() {
    assert_eq!(
        toml_with("[moves]\nR = \"(1,2)(2,3)\""),
        "file:3:12: point 2 occurs twice; cycles must be disjoint"
    );
    assert_eq!(toml_with("[moves]\nR = \"(1,5)\""), "file:3:9: point 5 is not between 1 and 4");
    assert_eq!(toml_with("[moves]\nR = \"(1,2\""), "file:3:10: expected a point, found the end");
    assert_eq!(
        toml_with("[moves]\nR = \"(1,2+3)\""),
        "file:3:11: the turn 3 is not below the number of orientations, 3"
    );
    assert_eq!(toml_with("[moves]\nR = '''\n(1,2)\n(3,9)'''"), "file:5:4: point 9 is not between 1 and 4");
    assert_eq!(
        toml_with("[moves]\nR = \"(1,2)\"\n[free]\nR = \"(1,2)\""),
        "file:5:1: the name \"R\" is used twice"
    );
    assert_eq!(
        toml_with("[moves]\n\"a b\" = \"(1,2)\""),
        "file:3:1: \"a b\" is not a valid name: a name is not empty and has no blanks, commas, quotes, parentheses or invisible characters"
    );
    assert_eq!(
        toml_with("[moves]\n\"[\" = \"(1,2)\""),
        "file:3:1: \"[\" is not a move name: a name cannot begin with [ ] * ' ^ or :, which have a meaning in sequences"
    );
    assert_eq!(
        error(Format::Toml, "name = \" \"\ndegree = 2"),
        "file:2:10: the puzzle's name is blank: give it a name"
    );
    assert_eq!(
        toml_with("[move]"),
        "file:2:2: unknown field `move`, expected one of `name`, `metric`, `degree`, `orbits`, `moves`, `free`, \
         `spare`, `solved`, `always`, `never`, `notes`"
    );
    assert_eq!(
        toml_with("moves = 3"),
        "file:2:9: invalid type: integer `3`, expected a table of names and permutations in cycles"
    );
    assert_eq!(toml_with("degree = 4"), "file:2:10: give either 'degree' or 'orbits', not both");
    assert_eq!(
        toml_with("metric = \"all\""),
        "file:2:10: unknown variant `all`, expected one of `multi`, `single`, `given`, `face`, `twist`"
    );
    assert_eq!(
        toml_with("[solved]\nlabels = [1, 2]"),
        "file:3:10: 'labels' has 2 numbers, but there are 4 cells"
    );
    assert_eq!(
        toml_with("[solved]\norientations = [0, 0, 3, 0]"),
        "file:2:1: the piece on cell 3 has orientation 3 in the solved state, but has only 3 orientations, numbered from 0"
    );
    assert_eq!(toml_with(""), "file: the puzzle has no moves");
    assert_eq!(error(Format::Toml, ""), "file:1:1: the file is empty");
    assert_eq!(
        error(Format::Toml, "name = 'x'"),
        "file:1:1: give 'degree' (the number of cells) or 'orbits'"
    );
    assert_eq!(
        error(Format::Toml, "degree = 50000"),
        "file:1:10: the puzzle has 50000 points (cells times orientations), more than 16384"
    );
    assert!(error(Format::Toml, "degree = -1").starts_with("file:1:10: "));
    assert!(error(Format::Toml, "degree = 4\n[moves\n").starts_with("file:2:7: "));
    let guarded = |guard: &str| toml_with(&format!("[moves]\nR = {{ cycles = \"(1,2)\", {guard} }}"));
    assert_eq!(guarded("guard = [3, 5]"), "file:3:33: cell 5 in the guard is not between 1 and 4");
    assert_eq!(guarded("guard = [0]"), "file:3:33: cell 0 in the guard is not between 1 and 4");
    assert!(guarded("guard = [-1]").starts_with("file:3:34: "), "{}", guarded("guard = [-1]"));
    assert_eq!(
        guarded("guard = [4, 2]"),
        "file:3:1: R carries the piece on cell 2 to cell 1, but cell 2 is in its guard: a move must leave the pieces on the cells of its guard where they are"
    );
    assert_eq!(toml_with("always = [3, 5]"), "file:2:10: cell 5 in 'always' is not between 1 and 4");
    assert_eq!(
        toml_with("always = [3]\n[moves]\nR = \"(1,2)\"\n[free]\nU = \"(1,2)\""),
        "file: limits on states ('always', 'never') and guards that name pieces cannot be combined with free moves"
    );
    assert_eq!(guarded("guards = [3]"), "file:3:25: unknown field `guards`, expected `cycles` or `guard`");
    assert_eq!(
        toml_with("[moves]\nR = 3"),
        "file:3:5: invalid type: integer `3`, expected a permutation in cycles, or a table of 'cycles' and 'guard'"
    );
    assert_eq!(
        toml_with("[moves]\nR = { cycles = \"(1,2)(3,9)\", guard = [] }"),
        "file:3:25: point 9 is not between 1 and 4"
    );
    assert_eq!(
        toml_with("[moves]\nR = \"(1,2)\"\n[free]\nU = { cycles = \"(1,2)\", guard = [3] }"),
        "file:5:33: only entries of [moves] can have a guard"
    );
    let two = "orbits = [{ name = \"a\", cells = 2 }, { name = \"b\", cells = 2 }]\n[moves]\nR = \"(2,3)\"";
    assert_eq!(
        error(Format::Toml, two),
        "file:3:1: R carries the piece on cell 2 (a) to cell 3 (b), which is in another orbit"
    );
}

#[test]
fn unreadable_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.toml");
    let message = || load(&path).unwrap_err().to_string();
    assert!(message().contains("a.toml: cannot be read: "), "{}", message());
    std::fs::write(&path, b"degree = 3\n# caf\xe9").unwrap();
    assert!(message().ends_with("a.toml:2:6: the file is not valid UTF-8"), "{}", message());
    std::fs::File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
    assert!(message().ends_with("too large for a puzzle"), "{}", message());
    // Nothing indicates the format of this text.
    let path = directory.path().join("a.txt");
    std::fs::write(&path, "hello world").unwrap();
    let message = load(&path).unwrap_err().to_string();
    assert!(message.contains("a.txt:1:7: ") && message.contains("is read as TOML"), "{message}");
    let path = directory.path().join("a.TOML");
    std::fs::write(&path, "hello world").unwrap();
    let message = load(&path).unwrap_err().to_string();
    assert!(!message.contains("is read as TOML"), "{message}");
    // The byte order mark that some editors put in front of a text is ignored.
    let text = "\u{feff}degree = 2\n[moves]\na = \"(1,2)\"";
    assert!(parse(text, Format::Toml, "x").is_ok());
}
