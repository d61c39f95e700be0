//! Tests of kpuzzle files, and of modules of JavaScript that contain them.

use super::*;

/// Returns the error for a kpuzzle whose move `R` has this text, which starts on line 5.
fn kpuzzle_with(movement: &str) -> String {
    let text = format!(
        "{{\n\"name\": \"x\", \"orbits\": [{{\"orbitName\": \"A\", \"numPieces\": 3, \"numOrientations\": 3}}],\n\
         \"defaultPattern\": {{\"A\": {{\"pieces\": [0, 1, 2], \"orientation\": [0, 0, 0]}}}},\n\
         \"moves\": {{\n\"R\": {movement}\n}}}}"
    );
    error(Format::Kpuzzle, &text)
}

#[test]
fn old_and_new_kpuzzles() {
    let new = r#"{ "name": "x",
        "orbits": [{"orbitName": "A", "numPieces": 3, "numOrientations": 4}],
        "defaultPattern": {"A": {"pieces": [1, 2, 2], "orientation": [0, 3, 1], "orientationMod": [0, 2, 2]}},
        "moves": {"b": {"A": {"permutation": [1, 2, 0], "orientationDelta": [0, 1, 2]}},
                  "a": {"A": {"permutation": [0, 1, 2], "orientationDelta": [0, 0, 1]}}},
        "derivedMoves": {"c": "a b'", "d": "[c: a]2"} }"#;
    let old = r#"{ "name": "x", "orbits": {"A": {"numPieces": 3, "numOrientations": 4}},
        "startStateData": {"A": {"pieces": [1, 2, 2], "orientation": [0, 3, 1], "orientationMod": [0, 2, 2]}},
        "moves": {"b": {"A": {"permutation": [1, 2, 0], "orientation": [0, 1, 2]}},
                  "a": {"A": {"permutation": [0, 1, 2], "orientation": [0, 0, 1]}}},
        "experimentalDerivedMoves": {"c": "a b'", "d": "[c: a]2"} }"#;
    let puzzle = parse(new, Format::Kpuzzle, "x").unwrap();
    assert_eq!(parse(old, Format::Kpuzzle, "x").unwrap(), puzzle);
    let solved: Vec<_> = puzzle.solved().iter().map(|p| (p.label, p.orientation, p.seen)).collect();
    assert_eq!(solved, [(0, 0, 4), (1, 1, 2), (1, 1, 2)]);
    // Cell 1 gets its piece from cell 2 without a turn, cell 2 from cell 3 turned by 1, cell 3 from cell 1
    // turned by 2.
    let names: Vec<_> = puzzle.moves().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
    assert_eq!(names, ["b (1+2,3+1,2)", "a (3+1)"]);
    let [b, a] = [0, 1].map(|i| puzzle.moves()[i].action.clone());
    let c = a.then(&b.inverse());
    assert_eq!(puzzle.spare()[0].action, c);
    assert_eq!(puzzle.spare()[1].action, c.then(&a).then(&c.inverse()).power(2));
}

/// Returns a kpuzzle of three pieces with four orientations, of the moves R and M.
fn kpuzzle_of(orientation_mod: &str, pieces: &str, derived: &str) -> Result<Definition, LoadError> {
    let text = format!(
        "{{\"name\": \"x\", \"orbits\": [{{\"orbitName\": \"A\", \"numPieces\": 3, \"numOrientations\": 4}}], \
         \"defaultPattern\": {{\"A\": {{\"pieces\": {pieces}, \"orientation\": [0, 0, 0], \"orientationMod\": {orientation_mod}}}}}, \
         \"moves\": {{\"R\": {{\"A\": {{\"permutation\": [1, 2, 0], \"orientationDelta\": [0, 0, 1]}}}}, \
         \"M\": {{\"A\": {{\"permutation\": [0, 2, 1], \"orientationDelta\": [0, 0, 0]}}}}}}, \"derivedMoves\": {derived}}}"
    );
    parse(&text, Format::Kpuzzle, "x")
}

#[test]
fn unreadable_derived_moves_are_omitted() {
    let derived = |derived: &str| {
        let puzzle = kpuzzle_of("[0, 0, 0]", "[0, 1, 2]", derived).unwrap();
        let spare: Vec<String> = puzzle.spare().iter().map(|generator| generator.name.clone()).collect();
        (spare.join(" "), puzzle.remarks().to_vec())
    };
    let left_out = |reason: &str| vec![format!("derived moves that cannot be read are omitted: {reason}")];
    assert_eq!(
        derived("{\"X\": \"R Q\", \"Y\": \"M R\", \"Z\": \"X M\"}"),
        ("Y".into(), left_out("X (in \"R Q\" at offset 2: unknown move \"Q\"), and 1 more"))
    );
    let circle = "a (derived moves refer to each other in a cycle, or more than 32 levels deep), and 1 more";
    assert_eq!(derived("{\"a\": \"b\", \"b\": \"a R\"}"), (String::new(), left_out(circle)));
    // A comment ends with its line.
    let puzzle = kpuzzle_of("[0, 0, 0]", "[0, 1, 2]", "{\"X\": \"R // not M\\n R // and no Q\"}").unwrap();
    assert_eq!(
        (puzzle.spare()[0].action.clone(), puzzle.remarks().len()),
        (puzzle.moves()[0].action.power(2), 0)
    );
}

/// As in cubing.js, pieces with the same number are distinguished if their `orientationMod` differs.
#[test]
fn pieces_with_different_moduli_are_distinct() {
    let solved = |orientation_mod: &str, pieces: &str| {
        let puzzle = kpuzzle_of(orientation_mod, pieces, "{}").unwrap();
        puzzle.solved().iter().map(|p| (p.label, p.seen)).collect::<Vec<_>>()
    };
    assert_eq!(solved("[1, 2, 1]", "[5, 5, 5]"), [(0, 1), (1, 2), (0, 1)]);
    assert_eq!(solved("[0, 0, 0]", "[5, 5, 1]"), [(0, 4), (0, 4), (1, 4)]);
}

/// The text of a derived move may begin with the name of the move itself.
#[test]
fn derived_move_names_are_not_prefixes_of_longer_names() {
    let turn = |permutation: &str| {
        format!("{{\"A\": {{\"permutation\": {permutation}, \"orientationDelta\": [0, 0, 0]}}}}")
    };
    let text = format!(
        "{{\"name\": \"x\", \"orbits\": [{{\"orbitName\": \"A\", \"numPieces\": 3, \"numOrientations\": 1}}], \
         \"defaultPattern\": {{\"A\": {{\"pieces\": [0, 1, 2], \"orientation\": [0, 0, 0]}}}}, \
         \"moves\": {{\"Rw\": {}, \"M\": {}}}, \"derivedMoves\": {{\"R\": \"Rw2 M\"}}}}",
        turn("[1, 2, 0]"),
        turn("[0, 2, 1]")
    );
    let puzzle = parse(&text, Format::Kpuzzle, "x").unwrap();
    let [rw, m] = [0, 1].map(|number| puzzle.moves()[number].action.clone());
    assert_eq!(puzzle.spare()[0].action, rw.power(2).then(&m));
}

#[test]
fn kpuzzle_errors() {
    let good = "{\"A\": {\"permutation\": [0, 1, 2], \"orientationDelta\": [0, 0, 0]}}";
    let with = |old: &str, new: &str| kpuzzle_with(&good.replace(old, new));
    assert_eq!(with("1, 2]", "1, 1]"), "file:5:12: permutation of A: not a permutation: 1 occurs twice");
    assert_eq!(with("1, 2]", "1, 3]"), "file:5:12: permutation of A: 3 is not between 0 and 2");
    assert_eq!(
        with("[0, 1, 2]", "[0, 1]"),
        "file:5:12: the orbit A has 3 pieces, but its permutation has 2 numbers"
    );
    assert_eq!(with("0, 0]", "0, 3]"), "file:5:12: the turn 3 is not below the number of orientations, 3");
    assert_eq!(
        with("[0, 0, 0]", "[]"),
        "file:5:12: the orbit A has 3 pieces, but its orientationDelta has 0 numbers"
    );
    assert_eq!(with("0, 1, 2", "0, -1, 2"), "file:5:33: invalid value: integer `-1`, expected u64");
    assert_eq!(with("permutation", "perm"), "file:5:61: missing field `permutation`");
    assert!(with("}}", "}").starts_with("file:6:"), "{}", with("}}", "}"));
    assert_eq!(kpuzzle_with(&format!("{good}, \"R\": {good}")), "file:5:77: the name \"R\" is used twice");
    assert_eq!(
        error(Format::Kpuzzle, "{\n\"name\": 3}"),
        "file:2:9: invalid type: integer `3`, expected a string"
    );
    assert_eq!(
        error(Format::Kpuzzle, ";"),
        "file:1:1: this is neither JSON nor a module that exports an object"
    );
    let no_moves = r#"{"name": "x", "orbits": [], "defaultPattern": {}, "moves": {}}"#;
    assert!(error(Format::Kpuzzle, no_moves).starts_with("file:1:25: the puzzle has no cells"));
}

#[test]
fn modules_are_read_as_their_export() {
    let json = "{\"name\": \"x\", \"orbits\": [{\"orbitName\": \"A\", \"numPieces\": 3, \"numOrientations\": 4}],\
                \"defaultPattern\": {\"A\": {\"pieces\": [0, 1, 2], \"orientation\": [0, 0, 0]}},\
                \"moves\": {\"R\": {\"A\": {\"permutation\": [1, 0, 2], \"orientationDelta\": [1, -1, 0]}}},\
                \"derivedMoves\": {\"Q\": \"[R2: R]\", \"nothing\": \".\"}}";
    let module = "// A comment.\nimport type { T } from \"../t\";\n\nconst none = new Array(3).fill(0);\nconst turns = [1, -1, 0];\nconst range = none.map((_, i) => i);\n\
                  export const x: T = {\n  name: 'x', /* another */\n  orbits: [{ orbitName: \"A\", numPieces: 3, numOrientations: 4 }],\n\
                  defaultPattern: { A: { pieces: range, orientation: none } },\n  moves: {\n    R: { A: { permutation: [1, 0, 2], orientationDelta: turns, }, },\n  },\n\
                  derivedMoves: { Q: `[R2: R]`, \"nothing\": \".\" },\n} as const;\n";
    let read = |text: &str, file: &str| parse(text, Format::new(file, text), file);
    assert_eq!(read(module, "x.ts").unwrap(), read(json, "x.json").unwrap());
    assert_eq!(read(module, "x.txt").unwrap().metric(), Metric::Multi);
    for common in ["module.exports=", "module.exports = ", "export default "] {
        assert_eq!(read(&format!("{common}{json};"), "x.js").unwrap(), read(json, "x.json").unwrap());
    }
    let twice = format!("{module}export default x;");
    assert_eq!(read(&twice, "x.ts").unwrap(), read(json, "x.json").unwrap());
    for (before, behind) in [
        ("\"use strict\";\nconst a = ", ";\nexport { a, };"),
        ("const a = ", "; export { a, a as default }; export {}; export { b } from \"b\";"),
        ("export const a = Object.freeze(", ");"),
        ("exports.a = ", ";"),
    ] {
        assert_eq!(
            read(&format!("{before}{json}{behind}"), "x.js").unwrap(),
            read(json, "x.json").unwrap(),
            "{before}"
        );
    }
    let filled = json.replace("[0, 0, 0]", "Array(3).fill(0)");
    assert_eq!(read(&format!("export default {filled}"), "x.js").unwrap(), read(json, "x.json").unwrap());
    let refused = |text: &str| read(text, "x.js").unwrap_err().to_string();
    assert!(refused("const a = 1;\nexport { a, b };").starts_with("x.js:2:13: \"b\" is not a constant"));
    assert!(
        refused("const a = {};\nconst b = { c: 1 };\nexport { a, b };")
            .starts_with("x.js:3:1: the module exports more than one object")
    );
    assert_eq!(
        refused("const a = [1];\nconst b = a.slice(1);"),
        "x.js:2:12: expected the end of a value, found '.': only objects, lists, numbers, strings and constants can be read from a module; no code is run"
    );
    assert!(
        refused("const a = [1];\nconst b = a.map((_, i) => 2 * i);")
            .starts_with("x.js:2:27: expected \"i\", the number of an entry, found '2'")
    );
    assert!(
        refused("export const a = { b: c };")
            .starts_with("x.js:1:23: \"c\" is not a constant of this module")
    );
    assert!(
        refused("export const a = {};\nexport const b = { c: 1 };")
            .starts_with("x.js:2:1: the module exports more than one object")
    );
    assert!(refused("console.log(1)").starts_with("x.js:1:1: expected 'export const NAME = {...}'"));
    assert!(refused("// nothing").starts_with("x.js:1:1: this is neither JSON nor a module"));
    assert!(refused(&format!("export const a = {}", "[".repeat(99))).contains("nested more than 32 deep"));
    // Places in errors are places in the module.
    let fault = module.replace("numPieces: 3", "numPieces: 2");
    assert!(refused(&fault).starts_with("x.js:10:22: the orbit A has 2 pieces"), "{}", refused(&fault));
    // Each name doubles the previous one: bytes are counted before memory is allocated for them.
    let doubled: String = (0..40).map(|i| format!("const a{} = [a{i}, a{i}];", i + 1)).collect();
    assert!(refused(&format!("const a0 = [1];{doubled}")).contains("take more than 268435456 bytes"));
    let filled = "const a = new Array(4096).fill(0); export const b = new Array(4096).fill(a)";
    assert!(refused(filled).contains("is larger than 16777216 bytes"));
}

/// As in cubing.js, orbits of a transformation that the definition does not have are ignored.
#[test]
fn orbits_missing_from_the_definition_are_ignored() {
    let text = "{\"name\": \"x\", \"orbits\": [{\"orbitName\": \"A\", \"numPieces\": 2, \"numOrientations\": 1}],\
                \"defaultPattern\": {\"A\": {\"pieces\": [0, 1], \"orientation\": [0, 0]}},\
                \"moves\": {\"R\": {\"A\": {\"permutation\": [1, 0], \"orientationDelta\": [0, 0]}, \"B\": {\"permutation\": [7]}}}}";
    let puzzle = parse(text, Format::Kpuzzle, "x.json").unwrap();
    assert_eq!(puzzle.moves()[0].action.to_string(), "(1,2)");
    assert_eq!(puzzle.remarks(), ["ignored, because the definition has no such orbits: B"]);
}
