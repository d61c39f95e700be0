use super::*;
use crate::Metric;

fn error(format: Format, text: &str) -> String {
    parse(text, format, "file").unwrap_err().to_string()
}

/// Returns the error for a file of Fathom's own format that ends with these lines.
fn toml_with(line: &str) -> String {
    error(Format::Toml, &format!("orbits = [{{ name = \"a\", cells = 4, orientations = 3 }}]\n{line}\n"))
}

/// Returns the error for a ksolve file that ends with these lines.
fn ksolve_with(lines: &str) -> String {
    error(Format::Ksolve, &format!("Name x\nSet A 3 3\nSet B 2 1\n{lines}"))
}

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
        "file:3:1: \"a b\" is not a valid name: a name is not empty and has no blanks, commas, quotes or parentheses"
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
        "file: limits on states ('always', 'never') cannot be combined with free moves"
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
fn gap_texts() {
    let read = |text: &str| {
        let puzzle = parse(text, Format::Gap, "dir/some.g").unwrap();
        let moves: Vec<_> = puzzle.moves().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
        format!("{} {}: {}", puzzle.name(), puzzle.cells(), moves.join("; "))
    };
    assert_eq!(read("Group((1,2,3)(4,5), (1,2));"), "some 5: g1 (1,2,3)(4,5); g2 (1,2)");
    assert_eq!(read("g := Group( (1,2,3)\n  (4,5),\n (1,2) )"), "g 5: g1 (1,2,3)(4,5); g2 (1,2)");
    assert_eq!(read("[ (1,7), # a comment (\n (1,2)];"), "some 7: g1 (1,7); g2 (1,2)");
    assert_eq!(read("t := \"no \\\" # comment\"; g := Group((1,2)); # (1,3)"), "g 2: g1 (1,2)");
    assert_eq!(read("gens:=[(1,2),(3,4)];;G:=Group(gens);"), "G 4: g1 (1,2); g2 (3,4)");
    assert_eq!(read("R := (1,2);\nU := (2,3);"), "some 3: R (1,2); U (2,3)");
    assert_eq!(read("R := (1,2); U := (2,3); cube := Group(U, R, ());"), "cube 3: U (2,3); R (1,2)");
    assert_eq!(read("(1,2)"), "some 2: g1 (1,2)");
    assert_eq!(read("a := (1,2); G := Group(a, a);"), "G 2: a (1,2)");
    // A number in parentheses after '^' is an exponent.
    assert_eq!(read("G := Group((1,2,3,4)^(2), (1,2,3)^( -1 ));"), "G 4: g1 (1,3)(2,4); g2 (1,3,2)");
    assert_eq!(read("G := Group((1,2)^(2,3), ((1,2))^(1));"), "G 3: g1 (1,3); g2 (1,2)");
    // A permutation without a name does not get the name of another.
    assert_eq!(read("g1 := (1,2); G := Group(g1*(2,3), g1);"), "G 3: g2 (1,3,2); g1 (1,2)");
    // GAP separates points by commas; the reader accepts blanks as well.
    assert_eq!(read("(1 2 3)"), "some 3: g1 (1,2,3)");
}

#[test]
fn gap_errors() {
    let error = |text: &str| error(Format::Gap, text);
    assert_eq!(error("Group((1,2,3)(3,4));"), "file:1:15: point 3 occurs twice; cycles must be disjoint");
    assert_eq!(error("Group((1,2),\n(1,0));"), "file:2:4: point 0 is not between 1 and 1");
    assert_eq!(error("Group((1,2)"), "file:1:12: expected ',' or ')', found the end");
    assert_eq!(error("Group((1,2,"), "file:1:12: expected ')', found the end");
    assert_eq!(error("Group((1,x))"), "file:1:10: expected a point, ',' or ')', found 'x'");
    let why = "a move depends on it; use only permutations, lists of permutations and Group(...)";
    assert_eq!(
        error("G := Group(a);"),
        format!("file:1:12: \"a\", which is not defined, is not supported: {why}")
    );
    assert_eq!(error("a;"), "file:1:1: \"a\" is not defined");
    let why_not = "is not supported: use Add(NAME, VALUE) or Append(NAME, LIST), or write the whole list";
    for (text, what) in [
        ("Add(g, (1,2));", "Add of something other than the name of a list"),
        ("g := [(1,2)]; Add(g);", "Add of something other than the name of a list"),
        ("g := [(1,2)]; Add(g, (2,3), 1);", "Add with these arguments"),
        ("g := [(1,2)]; Append(g, (2,3));", "Append with these arguments"),
        ("g := [(1,2)]; Remove(g, 1);", "Remove with these arguments"),
        ("g := [(1,2)]; h := g; Add(h, (2,3));", "Add of a list that has another name besides \"h\""),
    ] {
        let found = error(text);
        assert!(found.ends_with(&format!("{what} {why_not}")), "{found}");
    }
    for entry in ["L[2]", "L[0]", "L[L]", "L[1,1]"] {
        assert!(
            error(&format!("L := [(1,2)]; G := Group({entry});")).contains(" is not supported: "),
            "{entry}"
        );
    }
    assert!(error("G := Group((1,2)); H := Group(G.2);").contains("an entry that G does not have"));
    for list in ["[1,3]", "[1,1]", "[0,1]", "1", "[1],[2]", "[(1,2)]"] {
        let found = error(&format!("PermList({list});"));
        assert!(found.starts_with("file:1:1: PermList takes "), "{found}");
    }
    assert_eq!(error("G := Group(Random(S), (1,2));"), format!("file:1:12: Random is not supported: {why}"));
    assert_eq!(error("x := 5;"), "file: the puzzle has no moves");
    assert_eq!(
        error("Group((1,2)*3)"),
        format!("file:1:7: a product of something other than permutations is not supported: {why}")
    );
    assert_eq!(error("Group([[1,2],[2,3]])"), "file:1:15: point 2 occurs twice; cycles must be disjoint");
    assert_eq!(error("Group(1)"), "file:1:7: 1 is not a permutation");
    assert_eq!(
        error("(1,2)^9999999999999999999"),
        "file:1:7: an exponent above 1099511627776: reduce it modulo the order"
    );
    // Each name doubles the previous one: values are counted before memory is allocated for them.
    let doubled: String = (0..40).map(|i| format!("a{} := [a{i}, a{i}];", i + 1)).collect();
    assert_eq!(
        error(&format!("a0 := (1,2); {doubled}")).split_once(": ").unwrap().1,
        "the file has more than 65536 values, or permutations of more than 16777216 points in total: too many for a puzzle"
    );
    let nested: String = (0..99).map(|i| format!("a{} := [a{i}];", i + 1)).collect();
    assert!(error(&format!("a0 := (1,2); {nested}")).ends_with("lists are nested more than 32 deep"));
    assert!(error(&"a:=1;".repeat(70_000)).contains("too many for a puzzle"));
    assert_eq!(
        error("(1,99999)"),
        "file:1:4: the puzzle has 99999 points (cells times orientations), more than 16384"
    );
    assert!(error("(1,99999999999999999999999)").starts_with("file:1:4: the puzzle has "));
    assert_eq!(
        error("(1,2,3); ip := [[1],[4]];"),
        "file:1:22: ip contains point 4, but the permutations act on points 1 to 3"
    );
    assert_eq!(error("(1,2,3); ip := [[1,2],[2]];"), "file:1:24: ip contains point 2 twice");
    assert_eq!(error("(1,2,3); ip := [1,2];"), "file:1:10: ip must be a list of lists of points");
    assert_eq!(error("\n \n"), "file:1:1: the file is empty");
    assert_eq!(error("\n#\n"), "file: the puzzle has no moves");
    assert_eq!(error("(1,2) (3,4) 7"), "file:1:13: expected ';', found '7'");
    assert_eq!(error(&"[".repeat(99)), "file:1:34: lists are nested more than 32 deep");
}

/// Without semicolons each line is a permutation; with semicolons line breaks have no meaning, as in GAP.
#[test]
fn gap_lines() {
    let moves = |text: &str| {
        let puzzle = parse(text, Format::Gap, "some.g").unwrap();
        let moves: Vec<_> = puzzle.moves().iter().map(|m| m.action.to_string()).collect();
        (moves.join("; "), !puzzle.remarks().is_empty())
    };
    // A remark says how such a file was read.
    assert_eq!(moves("(1,2)\n(3,4)"), ("(1,2); (3,4)".into(), true));
    assert_eq!(
        moves("\u{feff}\n (1,2,3)(4,5) # one\r\n\r\n (1,2)\n # no move\n"),
        ("(1,2,3)(4,5); (1,2)".into(), true)
    );
    assert_eq!(
        moves("(1,2) (3,4)\n(2,3)^(1,2)\n((1,2)*(2,3))^2\n(1,2)*\n(1,3)"),
        ("(1,2)(3,4); (1,3); (1,2,3); (1,2,3)".into(), true)
    );
    assert_eq!(moves("(1,2)(3,4)\n"), ("(1,2)(3,4)".into(), false));
    // GAP breaks the lines of long permutations anywhere.
    for (text, action) in [
        ("a := (1,2)\n(3,4);", "(1,2)(3,4)"),
        ("a := (1,2)\n(3,4)(5,\n6);;", "(1,2)(3,4)(5,6)"),
        ("(1,2,\n3)", "(1,2,3)"),
        ("(1,2)*\n(3,4);", "(1,2)(3,4)"),
        ("(1,2)\n*(3,4)", "(1,2)(3,4)"),
        ("((1,2)\n(3,4))", "(1,2)(3,4)"),
        ("[(1,2)\n(3,4)]", "(1,2)(3,4)"),
        ("G := Group((1,2)\n(3,4))", "(1,2)(3,4)"),
        ("(1,2)\\\n(3,4)", "(1,2)(3,4)"),
    ] {
        assert_eq!(moves(text), (action.into(), false), "{text}");
    }
    // One move or two?
    for (text, place) in [
        ("(1,2)\n(3,4);", "2:1"),
        ("(1,2)\n(2,3);", "2:1"),
        ("(1,2);\n(3,4)\n(5,6)", "3:1"),
        ("a := (1,2)\n(3,4)", "2:1"),
        ("(1,2)\n  (3,4)", "2:3"),
        ("(1,2,\n3)(4,5)\n(6,7)", "3:1"),
    ] {
        assert_eq!(
            error(Format::Gap, text),
            format!(
                "file:{place}: cycles on a new line may continue the permutation above or be another one: write each permutation as 'NAME := CYCLES;'"
            ),
            "{text}"
        );
    }
    assert_eq!(error(Format::Gap, "(1,2)\n(3,4) 5"), "file:2:7: expected ';', found '5'");
    assert_eq!(error(Format::Gap, "(1,2)^2 (3,4)\n(1,2)"), "file:1:9: expected ';', found '('");
}

/// The moves are those of the last group. If that cannot be read, another group is not used instead.
#[test]
fn the_last_group_of_a_gap_file_defines_the_moves() {
    let read = |text: &str| {
        let puzzle = parse(text, Format::Gap, "some.g").unwrap();
        let moves: Vec<_> = puzzle.moves().iter().map(|m| m.action.to_string()).collect();
        format!("{}: {}", puzzle.name(), moves.join("; "))
    };
    let group = "G := Group((1,2,3,4,5), (1,2));\n";
    assert_eq!(read(&format!("{group}H := Subgroup(G, [G.1, (1,2)(3,4)]);")), "H: (1,2,3,4,5); (1,2)(3,4)");
    assert_eq!(read(&format!("{group}gens := [G.2];\nH := SubgroupNC(G, gens);")), "H: (1,2)");
    for (call, named) in [
        ("DerivedSubgroup(G)", "DerivedSubgroup"),
        ("Stabilizer(G, 1)", "Stabilizer"),
        ("DirectProduct(G, G)", "DirectProduct"),
        ("SymmetricGroup(5)", "SymmetricGroup"),
        ("Frobnicated(G)", "Frobnicated"),
        ("G^(1,6)", "a conjugate of a group"),
        ("SymmetricGroup(5)^(1,6)", "SymmetricGroup"),
    ] {
        let why = "is not supported: the moves are those of the last group, and this may be a group: write it as Group(PERMUTATIONS), or delete the statement";
        let refused = |text: &str, place: &str| {
            assert_eq!(error(Format::Gap, text), format!("file:{place}: {named} {why}"), "{text}");
        };
        refused(&format!("{group}H := {call};"), "2:6");
        refused(&format!("{group}{call};\nSize(G);"), "2:1");
        // The group of this name is gone.
        refused(&format!("a := (1,2);\n{group}G := {call};"), "3:6");
        refused(&format!("{group}H := {call};\nI := H;"), "2:6");
        assert_eq!(read(&format!("{group}H := {call};\nI := Group(G.1);")), "I: (1,2,3,4,5)");
    }
    let why = "is not supported: the moves are those of the last group";
    assert!(error(Format::Gap, "G := SymmetricGroup(5);").contains(why));
    assert!(error(Format::Gap, "a := (1,2);\nb := Inverse(a);").contains(why));
    assert!(error(Format::Gap, "gens := [(1,2)];\nG := GroupByGenerators(gens);").contains(why));
    for harmless in
        ["n := Size(G)", "Print(DerivedSubgroup(G))", "o := Orbits(G)", "IsSolvable(G)", "x := Random(G)"]
    {
        assert_eq!(read(&format!("{group}{harmless};")), "G: (1,2,3,4,5); (1,2)");
    }
    for call in ["Subgroup(G)", "Subgroup(G, (1,2))", "Subgroup(G, [(1,2)], 1)"] {
        assert_eq!(
            error(Format::Gap, &format!("{group}{call};")),
            "file:2:1: Subgroup takes a group and a list of permutations"
        );
    }
    assert_eq!(error(Format::Gap, &format!("{group}H := Subgroup(G, []);")), "file: the puzzle has no moves");
}

#[test]
fn ksolve_rows_list_source_cells() {
    // According to ksolveformat.txt of twsearch, the move 13425, 01201 is the state 13425, 02011.
    let text = "Set A 5 3\nMove a\nA\n1 3 4 2 5\n0 1 2 0 1\nEnd\n\
                MoveTransformation b\nA\n0 2 3 1 4\n0 2 0 1 1\nEnd\n";
    let puzzle = parse(text, Format::Ksolve, "x").unwrap();
    assert_eq!(puzzle.moves()[0].action, puzzle.moves()[1].action);
    // Cell 2 gets its piece from cell 3, and the piece turns by 2: so the piece on cell 3 goes to cell 2.
    assert_eq!(puzzle.moves()[0].action.to_string(), "(2+1,4,3+2)(5+1)");
}

#[test]
fn gap_expressions() {
    let read = |text: &str| {
        let puzzle = parse(text, Format::Gap, "dir/some.g").unwrap();
        let moves: Vec<_> = puzzle.moves().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
        format!("{} {}: {}", puzzle.name(), puzzle.cells(), moves.join("; "))
    };
    // Products are read from left to right: 1 goes to 2, and then to 3.
    assert_eq!(
        read("a := (1,2); b := (2,3); G := Group(a*b, a/b, a^b, (a*b)^-1);"),
        "G 3: g1 (1,3,2); g2 (1,3,2); g3 (1,3); g4 (1,2,3)"
    );
    assert_eq!(read("Group((1,2)*(3,4,5)^2)"), "some 5: g1 (1,2)(3,5,4)");
    assert_eq!(read("Group([[1,2],[3,4]], [[5,6]])"), "some 6: g1 (1,2)(3,4); g2 (5,6)");
    assert_eq!(read("Gen := [[[1,2,3]], [[3,4]]];"), "some 4: g1 (1,2,3); g2 (3,4)");
    assert_eq!(read("Group(())"), "some 1: g1 ()");
    assert_eq!(
        read("x := 5; t := \"(1,9)\"; G := Group((1,2)); Size(G); Print(\"a\", [1..48]);"),
        "G 2: g1 (1,2)"
    );
    assert_eq!(
        read("a := PermList([2,3,1]); G := Group(a, PermList([1,2,4,3]));"),
        "G 4: a (1,2,3); g2 (3,4)"
    );
    assert_eq!(read("H := Group((1,2,3)); G := ClosureGroup(H, (1,2));"), "G 3: g1 (1,2,3); g2 (1,2)");
    // Lists grow, with and without a group that uses them.
    let grown = "gens := []; a := (1,2); Add(gens, a); Append( gens , [(2,3), (3,4)] );";
    assert_eq!(read(grown), "gens 4: a (1,2); g2 (2,3); g3 (3,4)");
    assert_eq!(read(&format!("{grown} G := Group(gens);")), "G 4: a (1,2); g2 (2,3); g3 (3,4)");
    assert_eq!(read("gens := [(1,2)]; G := Group(gens); Add(gens, (2,3));"), "G 2: g1 (1,2)");
    // A name has the value that it was given last; in a list it stays with the last of its permutations.
    assert_eq!(read("a := (1,2,3); b := (3,4); a := a^2;"), "some 4: a (1,3,2); b (3,4)");
    assert_eq!(read("a := (1,2,3); L := [a]; a := (3,4); Add(L, a); Add(L, a);"), "L 4: g1 (1,2,3); a (3,4)");
    // Entries of lists, and generators of groups.
    assert_eq!(
        read("L := [(1,2,3), [(3,4), (4,5)]]; G := Group(L[2][1]^L[1], L[ 1 ], L[2]);"),
        "G 5: g1 (1,4); g2 (1,2,3); g3 (3,4); g4 (4,5)"
    );
    assert_eq!(
        read("a := (1,2); G := Group(a, (2,3)); H := Group(G.2, G.1*G.2);"),
        "H 3: g1 (2,3); g2 (1,3,2)"
    );
    // A line that ends with a backslash continues on the next one, even within a number or a name.
    assert_eq!(read("al\\\npha := (1,2,1\\\n\\\r\n0)\\\n(3,4);"), "some 10: alpha (1,2,10)(3,4)");
    assert_eq!(read("gap> a := (1,2,1\\\n> 0);\n(1,2,10)\n"), "some 10: a (1,2,10)");
    // Each extends the list by one value.
    let grown: String = (1..=1000).map(|point| format!("Add(l,({point},1001));")).collect();
    assert_eq!(parse(&format!("l := [];{grown}"), Format::Gap, "x").unwrap().moves().len(), 1000);
    // This is the log of a GAP session.
    let session = "gap> G := Group(\n> (1,2,3),\n> (2,3) );\nGroup([ (1,2,3), (2,9) ])\ngap> Size(G);\n6\n";
    assert_eq!(read(session), "G 3: g1 (1,2,3); g2 (2,3)");
}

/// Blocks of points are lists of lists of lists of numbers, as lists of permutations in cycles are.
#[test]
fn lists_of_numbers_are_cycles_without_other_permutations() {
    let read = |text: &str| {
        let puzzle = parse(text, Format::Gap, "some.g").unwrap();
        let moves: Vec<_> = puzzle.moves().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
        (moves.join("; "), puzzle.remarks().to_vec())
    };
    let blocks = "blocks := [[[1,2],[3,4]], [[1,3],[2,4]]];";
    let passed_over = vec!["ignored, because no move uses it: blocks".to_owned()];
    let moves = "a (1,2,3); b (3,4,5)".to_owned();
    for list in ["gens := [a,b];", "G := Group(a,b);", ""] {
        let text = format!("a := (1,2,3); b := (3,4,5); {list} {blocks}");
        assert_eq!(read(&text), (moves.clone(), passed_over.clone()), "{text}");
    }
    assert_eq!(read(blocks), ("g1 (1,2)(3,4); g2 (1,3)(2,4)".into(), Vec::new()));
    assert_eq!(read(&format!("{blocks} G := Group(blocks);")), read(blocks));
    // A list of lists of numbers is a move if a list of moves contains it, and is ignored otherwise.
    let moves = "a (1,2,3); g2 (1,2)".to_owned();
    assert_eq!(read("a := (1,2,3); b := [[1,2]]; G := [a, b];"), (moves.clone(), Vec::new()));
    let passed_over = vec!["ignored, because no move uses it: c".to_owned()];
    assert_eq!(read("a := (1,2,3); b := [[1,2]]; c := [[2,3]]; G := [a, b];"), (moves, passed_over));
}

#[test]
fn unused_permutations_are_remarked() {
    let remarks = |text: &str| parse(text, Format::Gap, "some.g").unwrap().remarks().to_vec();
    assert_eq!(
        remarks("a := (1,2,3); b := (3,4,5); G := Group(a,b); H := Group(a); Size(H);"),
        ["the moves are those of the group H; unused permutations: G"]
    );
    assert_eq!(
        remarks("gens := [(1,2)]; G := [(2,3)]; Group(gens);"),
        ["the moves are those of the last group; unused permutations: G"]
    );
    assert_eq!(
        remarks("a := [(1,2)]; b := [(1,3)]; Add(a, (1,4)); c := [(1,2), (1,4)];"),
        ["the moves are those of the list c; unused permutations: b"]
    );
    // The elements from which a group is built count as used.
    assert!(remarks("a := (1,2); gens := [a, ()]; Add(gens, (2,3)); G := Group(gens);").is_empty());
    assert!(remarks("H := Group((1,2)); G := ClosureGroup(H, (1,3));").is_empty());
}

/// Two pieces with three sides look alike, turn and change places with each other; a third piece differs.
#[test]
fn gap_ip_makes_points_interchangeable() {
    let text = "M_A:=(1,2,3)(4,6,5);\nM_B:=(1,4)(2,5)(3,6);\nM_C:=(4,7)(5,8)(6,9);\nGen:=[\nM_A,M_B,M_C\n];\n\
                ip:=[[1,4],[7]];\n# Size(Group(Gen));\n\nSize(Group(Gen));\nSize(Stabilizer(Group(Gen), ip, OnTuplesSets));\n";
    let puzzle = parse(text, Format::Gap, "twisty.gap").unwrap();
    assert_eq!(puzzle.name(), "twisty");
    assert_eq!(puzzle.moves().iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["A", "B", "C"]);
    let labels: Vec<u16> = puzzle.solved().iter().map(|piece| piece.label).collect();
    assert_eq!(labels, [0, 1, 1, 0, 1, 1, 2, 1, 1]);
    assert!(puzzle.remarks()[0].starts_with("ip is used"), "{:?}", puzzle.remarks());
    assert_eq!(puzzle.metric(), Metric::Given);
    let ranges = text.replace("ip:=[[1,4],[7]]", "ip:=[[1,4..4],[7..7],[9..8]]");
    assert_eq!(parse(&ranges, Format::Gap, "twisty.gap").unwrap(), puzzle);
    let labels_of = |ip: &str| -> Vec<u16> {
        let puzzle = parse(&text.replace("ip:=[[1,4],[7]];", ip), Format::Gap, "x").unwrap();
        puzzle.solved().iter().map(|piece| piece.label).collect()
    };
    assert_eq!(labels_of("ip:=[[1..3],[5,7..9]];"), [0, 0, 0, 1, 2, 1, 2, 1, 2]);
    assert!(error(Format::Gap, "(1,2,3); ip := [[3,2..1]];").contains("a list of lists of points"));
    // Unused ranges may be long.
    assert!(
        parse(
            "(1,2); for_all := [[1..999999999],[1..16000],[1..16000],[1..16000],[1..16000],[1..16000]];",
            Format::Gap,
            "x"
        )
        .is_ok()
    );
}

#[test]
fn ksolve_files() {
    let text = "# a comment\r\nName \"two words\"\r\n\r\nSet A 4 2   # behind a command\r\nSet B 2 1\r\n\
                Solved\r\nA\r\n7 7 9 9\r\n1 ? 0 0\r\nEnd\r\n";
    assert_eq!(
        error(Format::Ksolve, text),
        "file:6:1: the pieces on cells 1 and 2 have the same label, but differ in the number of orientations that are distinguished"
    );
    let text = text.replace("7 7", "7 8");
    let text = format!(
        "{text}Move R\nA\n2 1 3 4\n1 0 0 0\nEnd\nMove Bb\nB\n2 1\nEnd\nMove x\nA\n2 3 4 1\nEnd\nMove UFv\nEnd\n\
         MoveAlias Q R\nMoveSequence RR R R' (R2)\nParallelMoves\nR Bb\nEnd\nIgnore\nA\n0 0 0 1\nEnd"
    );
    let puzzle = parse(&text, Format::Ksolve, "x").unwrap();
    assert_eq!(puzzle.name(), "two words");
    let solved: Vec<_> = puzzle.solved().iter().map(|p| (p.label, p.orientation, p.seen)).collect();
    assert_eq!(solved, [(0, 1, 2), (1, 0, 1), (2, 0, 2), (2, 0, 2), (3, 0, 1), (4, 0, 1)]);
    let names =
        |all: &[crate::Generator]| all.iter().map(|g| format!("{} {}", g.name, g.action)).collect::<Vec<_>>();
    // As in twsearch, a sequence is a move, and an alias is none.
    assert_eq!(names(puzzle.moves()), ["R (1+1,2)", "Bb (5,6)", "RR (1+1)(2+1)"]);
    assert_eq!(names(puzzle.spare()), ["x (1,4,3,2)", "UFv ()", "Q (1+1,2)"]);
    assert_eq!(puzzle.metric(), Metric::Multi);
    assert_eq!(puzzle.remarks().len(), 2, "{:?}", puzzle.remarks());
}

/// An ignored section may appear before the sets and the name.
#[test]
fn ignored_ksolve_sections_may_appear_anywhere() {
    let puzzle = "Name x\nSet A 2 1\nSolved\nEnd\nMove R\nA\n2 1\nEnd\n";
    let section = "Ignore\nA\n0 0\nEnd\n";
    let texts = [format!("{section}{puzzle}"), format!("{puzzle}{section}")];
    let [before, behind] = texts.map(|text| parse(&text, Format::Ksolve, "file").unwrap());
    assert_eq!((before.name(), before.cells(), before.remarks().len()), ("x", 2, 1));
    assert_eq!((before.moves(), before.remarks()), (behind.moves(), behind.remarks()));
}

#[test]
fn ksolve_sequences_may_use_later_names() {
    let text = "Name x\nSet A 5 1\nSolved\nEnd\nMoveSequence S T R\nMoveAlias T R'\nMoveSequence yz S, x2\nMove R\nA\n2 3 1 4 5\nEnd\nMove x\nA\n2 3 4 5 1\nEnd\n";
    let puzzle = parse(text, Format::Ksolve, "x").unwrap();
    let names: Vec<_> = puzzle.moves().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
    // Rows name the cell that a piece comes from: so R is (1,3,2), and x is (1,5,4,3,2), twice (1,4,2,5,3).
    assert_eq!(names, ["R (1,3,2)", "S ()", "yz (1,4,2,5,3)"]);
    let circle = format!("{text}MoveSequence a b\nMoveSequence b a\n");
    assert_eq!(
        error(Format::Ksolve, &circle),
        "file:16:1: the sequence \"a\" needs \"b\", but the sequences need each other in a cycle"
    );
    // BR is a name, wherever it is defined, and not B R.
    let moves = "Move B\nP\n2 1 3 4 5\nEnd\nMove R\nP\n1 3 2 4 5\nEnd\nMove C\nP\n1 2 3 5 4\nEnd\n";
    let [a, br] = ["MoveSequence A BR\n", "MoveAlias BR C\n"];
    for lines in [[a, br], [br, a], ["MoveSequence A (BR)\n", "MoveAlias BR (C)\n"]] {
        let text = format!("Name x\nSet P 5 1\nSolved\nEnd\n{moves}{}", lines.concat());
        let puzzle = parse(&text, Format::Ksolve, "x").unwrap();
        assert_eq!(puzzle.moves().last().unwrap().action.to_string(), "(4,5)");
    }
}

/// Names and actions here are those that twsearch finds: it counts 1, 4, 3 and 1, 9, 22, 24, 32, 32 states.
#[test]
fn ksolve_sequences_match_twsearch() {
    let read = |pieces: usize, lines: &str| {
        let text = format!("Name x\nSet A {pieces} 1\nSolved\nEnd\n{lines}");
        parse(&text, Format::Ksolve, "x").unwrap()
    };
    let turn = |name: &str, row: &str| format!("Move {name}\nA\n{row}\nEnd\n");
    let action = |puzzle: &Definition, name: &str| {
        let mut all = puzzle.moves().iter().chain(puzzle.spare());
        all.find(|generator| generator.name == name).unwrap().action.clone()
    };
    // R2 is listed after R, so R2 in a sequence is the square of R.
    let [r, r2] = [turn("R", "2 3 4 1 5 6"), turn("R2", "1 2 3 4 6 5")];
    let puzzle = read(6, &format!("{r}{r2}MoveSequence S R2 R"));
    assert_eq!(action(&puzzle, "S"), action(&puzzle, "R").power(3));
    assert_eq!(
        puzzle.remarks(),
        ["the move R2 differs from the power R2 of R: as in twsearch, sequences of the file use the power"]
    );
    let puzzle = read(6, &format!("{r2}{r}MoveSequence S R2,R\nMoveSequence T R2 R (R)"));
    let product = action(&puzzle, "R2").then(&action(&puzzle, "R"));
    assert_eq!(action(&puzzle, "S"), product);
    assert_eq!(action(&puzzle, "T"), product.then(&action(&puzzle, "R")));
    assert!(puzzle.remarks()[0].ends_with("use the move"), "{:?}", puzzle.remarks());
    // The square of V1 is V12, also if V1 is a sequence that comes later.
    let [v, u] = [turn("V1", "2 3 4 1 5"), turn("U", "1 2 3 5 4")];
    let puzzle = read(5, &format!("{v}{u}MoveSequence S V12 U\nMoveSequence T W12'\nMoveSequence W1 V1 U"));
    assert_eq!(action(&puzzle, "S"), action(&puzzle, "V1").power(2).then(&action(&puzzle, "U")));
    assert_eq!(action(&puzzle, "T"), action(&puzzle, "W1").power(-2));
    assert_eq!(puzzle.moves().len(), 5);
    // A power may be given its own name again.
    let puzzle = read(5, &format!("{}{u}MoveAlias R2 R2\nMoveSequence S R2 R'", turn("R", "2 3 4 1 5")));
    assert_eq!(action(&puzzle, "R2"), action(&puzzle, "R").power(2));
    assert_eq!(action(&puzzle, "S"), action(&puzzle, "R"));
    assert!(puzzle.remarks().is_empty());
    // The table has only the shorter direction: R3 is not a name there, but it is read.
    let puzzle = read(5, &format!("{}{u}MoveSequence S R3 U", turn("R", "2 3 4 1 5")));
    assert_eq!(action(&puzzle, "S"), action(&puzzle, "R").power(-1).then(&action(&puzzle, "U")));
}

#[test]
fn ksolve_question_marks_are_interchangeable_pieces() {
    let text = "Name x\nSet A 4 3\nSolved\nA\n1 ? ? 2\n0 ? ? 1\nEnd\nMove R\nA\n2 3 4 1\nEnd\n";
    let puzzle = parse(text, Format::Ksolve, "x").unwrap();
    let solved: Vec<_> = puzzle.solved().iter().map(|p| (p.label, p.orientation, p.seen)).collect();
    assert_eq!(solved, [(0, 0, 3), (1, 0, 1), (1, 0, 1), (2, 1, 3)]);
}

/// Illegal pieces limit the states; the powers of R are then listed as moves.
#[test]
fn illegal_pieces_limit_the_states() {
    let with = |lines: &str| {
        let text = format!(
            "Name x\nSet A 5 1\nSolved\nA\n1 1 2 2 3\nEnd\nMove R\nA\n2 3 4 1 5\nEnd\nMove U\nA\n1 3 4 5 2\nEnd\n{lines}"
        );
        parse(&text, Format::Ksolve, "x")
    };
    let limited = with("Illegal A 1 2\nIllegal A 1 3 3").unwrap();
    assert_eq!((limited.always(), limited.metric()), (&[0_u16][..], Metric::Given));
    let names: Vec<_> = limited.moves().iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["R", "R2", "R'", "U", "U2", "U'"]);
    let limited = with("Illegal A 1 2 3\nMoveAlias R2 R2\nMoveAlias Q R2").unwrap();
    let spare: Vec<_> = limited.spare().iter().map(|m| m.name.as_str()).collect();
    assert_eq!((limited.moves().len(), spare), (6, vec!["Q"]));
    // A number that no piece has excludes nothing.
    assert!(with("Illegal A 1 7").unwrap().always().is_empty());
    let limited = with("Illegal A 1 2\nIllegal A 4 1 7").unwrap();
    assert_eq!((limited.always(), limited.never()), (&[][..], &[(0, 2), (3, 0)][..]));
    let refused = |lines: &str| with(lines).unwrap_err().to_string();
    assert_eq!(refused("Illegal A 1 1 2"), "x:15:1: the solved state itself is illegal");
    assert_eq!(refused("Illegal A 6 1"), "x:15:11: positions of A are numbers from 1 to 5");
    assert_eq!(refused("Illegal B 1 1"), "x:15:9: there is no set \"B\"");
    assert_eq!(refused("Illegal A 1 ?"), "x:15:13: pieces are numbers from 1 to 255");
}

#[test]
fn ksolve_errors() {
    assert_eq!(ksolve_with("Move R\nA\n1 2 2\nEnd"), "file:6:5: not a permutation: 2 occurs twice");
    assert_eq!(ksolve_with("Move R\nA\n1 2 4\nEnd"), "file:6:5: 4 is not between 1 and 3");
    assert_eq!(ksolve_with("MoveTransformation R\nA\n1 2 3\nEnd"), "file:6:5: 3 is not between 0 and 2");
    assert_eq!(
        ksolve_with("Move R\nA\n1 2\nEnd"),
        "file:6:1: the set A has 3 pieces, but this row has 2 numbers"
    );
    assert_eq!(
        ksolve_with("Move R\nA\n1 2 3\n0 0 3\nEnd"),
        "file:7:5: the orientation 3 is not below the number of orientations, 3"
    );
    assert_eq!(
        ksolve_with("Move R\nA\n1 2 3\n0 0 0\n0 0 0\nEnd"),
        "file:8:1: a third row of numbers for the set A"
    );
    assert_eq!(ksolve_with("Move R\nA\n1 2 x\nEnd"), "file:6:5: \"x\" is not a number");
    assert_eq!(
        ksolve_with("Move R\nA\n1 2 ?\nEnd"),
        "file:6:5: a move needs all numbers; '?' is only for Solved"
    );
    assert_eq!(ksolve_with("Solved\nA\n1 0 3\nEnd"), "file:6:3: pieces are numbers, at least 1, or '?'");
    // The largest number of 64 bits is not '?'.
    assert_eq!(
        ksolve_with("Solved\nA\n18446744073709551615 2 3\nEnd"),
        "file:6:1: 18446744073709551615 is too large"
    );
    assert_eq!(ksolve_with("Move R\nA\nEnd"), "file:5:1: no numbers follow the name of the set");
    assert_eq!(ksolve_with("Move R\n1 2 3\nEnd"), "file:5:1: numbers must follow the name of a set");
    assert_eq!(ksolve_with("Move R\nA\n1 2 3"), "file:6:6: the file ends within Move R: End is missing");
    assert_eq!(
        ksolve_with("Move R\nA\n1 2 3\nMove U\nA\n1 2 3\nEnd"),
        "file:7:1: \"Move\" in Move R is not a set (sets: A, B); is End missing?"
    );
    assert_eq!(
        ksolve_with("Move R\nA\n1 2 3\nA\n1 2 3\nEnd"),
        "file:7:1: the set A is given twice in Move R"
    );
    assert_eq!(ksolve_with("Move R\nEnd\nMove R\nEnd"), "file:6:1: the name \"R\" is used twice");
    assert_eq!(ksolve_with("Move\nEnd"), "file:4:1: expected: Move NAME (one word)");
    assert_eq!(ksolve_with("Solved\nEnd\nSolved\nEnd"), "file:6:1: the solved state is given twice");
    assert_eq!(ksolve_with("Set A 2 1"), "file:4:1: the name \"A\" is used twice");
    assert_eq!(ksolve_with("Set C 2"), "file:4:1: expected: Set NAME PIECES ORIENTATIONS");
    assert_eq!(
        ksolve_with("Set C 0 1"),
        "file:4:1: the puzzle has no cells: it needs at least one orbit, and each orbit at least one cell"
    );
    assert_eq!(ksolve_with("Set C 99999999999999999999 1"), "file:4:7: 99999999999999999999 is too large");
    assert_eq!(
        ksolve_with("Set C 9000 2"),
        "file:4:1: the puzzle has 18011 points (cells times orientations), more than 16384"
    );
    assert_eq!(
        ksolve_with("Solved\nEnd\nSet C 2 1"),
        "file:6:1: every Set must come before Solved and the first Move"
    );
    assert_eq!(
        ksolve_with("Twist R"),
        "file:4:1: unknown keyword \"Twist\": expected one of Name, Set, Solved, StartState, Move, MoveTransformation, \
         MoveSequence, MoveAlias, Ignore, Illegal, Multiplicators, ParallelMoves, MoveLimits"
    );
    assert_eq!(ksolve_with("Illegal A 1 2"), "file:4:1: Illegal must come after Solved");
    assert_eq!(
        ksolve_with("Block\nA\n1 2\nEnd"),
        "file:4:1: Block is not supported: bandaged pieces cannot be read from this format; describe the moves with guards in a TOML file"
    );
    assert_eq!(
        ksolve_with("ForbiddenPairs\nR R\nEnd"),
        "file:4:1: ForbiddenPairs is not supported: remove it if it only prunes equivalent sequences"
    );
    assert_eq!(ksolve_with("MoveSequence a Q"), "file:4:16: unknown move \"Q\"");
    assert_eq!(ksolve_with(""), "file: the puzzle has no moves");
    assert!(error(Format::Ksolve, "Name x").starts_with("file: the puzzle has no cells"));
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
