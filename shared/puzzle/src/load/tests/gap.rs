//! Tests of GAP files.

use super::*;

#[test]
fn gap_texts() {
    let read = |text: &str| {
        let puzzle = parse(text, Format::Gap, "dir/some.g").unwrap();
        let moves: Vec<_> = puzzle.moves().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
        format!("{} {}: {}", puzzle.name(), puzzle.cells(), moves.join("; "))
    };
    assert_eq!(read("Group((1,2,3)(4,5), (1,2));"), "some 5: g1 (1,2,3)(4,5); g2 (1,2)");
    assert_eq!(read("g := Group( (1,2,3)\n  (4,5),\n (1,2) )"), "some 5: g1 (1,2,3)(4,5); g2 (1,2)");
    assert_eq!(read("[ (1,7), # a comment (\n (1,2)];"), "some 7: g1 (1,7); g2 (1,2)");
    assert_eq!(read("t := \"no \\\" # comment\"; g := Group((1,2)); # (1,3)"), "some 2: g1 (1,2)");
    assert_eq!(read("gens:=[(1,2),(3,4)];;G:=Group(gens);"), "some 4: g1 (1,2); g2 (3,4)");
    assert_eq!(read("R := (1,2);\nU := (2,3);"), "some 3: R (1,2); U (2,3)");
    assert_eq!(read("R := (1,2); U := (2,3); cube := Group(U, R, ());"), "some 3: U (2,3); R (1,2)");
    assert_eq!(read("(1,2)"), "some 2: g1 (1,2)");
    assert_eq!(read("a := (1,2); G := Group(a, a);"), "some 2: a (1,2)");
    // A number in parentheses after '^' is an exponent.
    assert_eq!(read("G := Group((1,2,3,4)^(2), (1,2,3)^( -1 ));"), "some 4: g1 (1,3)(2,4); g2 (1,3,2)");
    assert_eq!(read("G := Group((1,2)^(2,3), ((1,2))^(1));"), "some 3: g1 (1,3); g2 (1,2)");
    // A permutation without a name does not get the name of another.
    assert_eq!(read("g1 := (1,2); G := Group(g1*(2,3), g1);"), "some 3: g2 (1,3,2); g1 (1,2)");
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
    assert_eq!(
        read(&format!("{group}H := Subgroup(G, [G.1, (1,2)(3,4)]);")),
        "some: (1,2,3,4,5); (1,2)(3,4)"
    );
    assert_eq!(read(&format!("{group}gens := [G.2];\nH := SubgroupNC(G, gens);")), "some: (1,2)");
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
        assert_eq!(read(&format!("{group}H := {call};\nI := Group(G.1);")), "some: (1,2,3,4,5)");
    }
    let why = "is not supported: the moves are those of the last group";
    assert!(error(Format::Gap, "G := SymmetricGroup(5);").contains(why));
    assert!(error(Format::Gap, "a := (1,2);\nb := Inverse(a);").contains(why));
    assert!(error(Format::Gap, "gens := [(1,2)];\nG := GroupByGenerators(gens);").contains(why));
    for harmless in
        ["n := Size(G)", "Print(DerivedSubgroup(G))", "o := Orbits(G)", "IsSolvable(G)", "x := Random(G)"]
    {
        assert_eq!(read(&format!("{group}{harmless};")), "some: (1,2,3,4,5); (1,2)");
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
fn gap_expressions() {
    let read = |text: &str| {
        let puzzle = parse(text, Format::Gap, "dir/some.g").unwrap();
        let moves: Vec<_> = puzzle.moves().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
        format!("{} {}: {}", puzzle.name(), puzzle.cells(), moves.join("; "))
    };
    // Products are read from left to right: 1 goes to 2, and then to 3.
    assert_eq!(
        read("a := (1,2); b := (2,3); G := Group(a*b, a/b, a^b, (a*b)^-1);"),
        "some 3: g1 (1,3,2); g2 (1,3,2); g3 (1,3); g4 (1,2,3)"
    );
    assert_eq!(read("Group((1,2)*(3,4,5)^2)"), "some 5: g1 (1,2)(3,5,4)");
    assert_eq!(read("Group([[1,2],[3,4]], [[5,6]])"), "some 6: g1 (1,2)(3,4); g2 (5,6)");
    assert_eq!(read("Gen := [[[1,2,3]], [[3,4]]];"), "some 4: g1 (1,2,3); g2 (3,4)");
    assert_eq!(read("Group(())"), "some 1: g1 ()");
    assert_eq!(
        read("x := 5; t := \"(1,9)\"; G := Group((1,2)); Size(G); Print(\"a\", [1..48]);"),
        "some 2: g1 (1,2)"
    );
    assert_eq!(
        read("a := PermList([2,3,1]); G := Group(a, PermList([1,2,4,3]));"),
        "some 4: a (1,2,3); g2 (3,4)"
    );
    assert_eq!(read("H := Group((1,2,3)); G := ClosureGroup(H, (1,2));"), "some 3: g1 (1,2,3); g2 (1,2)");
    // Lists grow, with and without a group that uses them.
    let grown = "gens := []; a := (1,2); Add(gens, a); Append( gens , [(2,3), (3,4)] );";
    assert_eq!(read(grown), "some 4: a (1,2); g2 (2,3); g3 (3,4)");
    assert_eq!(read(&format!("{grown} G := Group(gens);")), "some 4: a (1,2); g2 (2,3); g3 (3,4)");
    assert_eq!(read("gens := [(1,2)]; G := Group(gens); Add(gens, (2,3));"), "some 2: g1 (1,2)");
    // A name has the value that it was given last; in a list it stays with the last of its permutations.
    assert_eq!(read("a := (1,2,3); b := (3,4); a := a^2;"), "some 4: a (1,3,2); b (3,4)");
    assert_eq!(
        read("a := (1,2,3); L := [a]; a := (3,4); Add(L, a); Add(L, a);"),
        "some 4: g1 (1,2,3); a (3,4)"
    );
    // Entries of lists, and generators of groups.
    assert_eq!(
        read("L := [(1,2,3), [(3,4), (4,5)]]; G := Group(L[2][1]^L[1], L[ 1 ], L[2]);"),
        "some 5: g1 (1,4); g2 (1,2,3); g3 (3,4); g4 (4,5)"
    );
    assert_eq!(
        read("a := (1,2); G := Group(a, (2,3)); H := Group(G.2, G.1*G.2);"),
        "some 3: g1 (2,3); g2 (1,3,2)"
    );
    // A line that ends with a backslash continues on the next one, even within a number or a name.
    assert_eq!(read("al\\\npha := (1,2,1\\\n\\\r\n0)\\\n(3,4);"), "some 10: alpha (1,2,10)(3,4)");
    assert_eq!(read("gap> a := (1,2,1\\\n> 0);\n(1,2,10)\n"), "some 10: a (1,2,10)");
    // Each extends the list by one value.
    let grown: String = (1..=1000).map(|point| format!("Add(l,({point},1001));")).collect();
    assert_eq!(parse(&format!("l := [];{grown}"), Format::Gap, "x").unwrap().moves().len(), 1000);
    // This is the log of a GAP session.
    let session = "gap> G := Group(\n> (1,2,3),\n> (2,3) );\nGroup([ (1,2,3), (2,9) ])\ngap> Size(G);\n6\n";
    assert_eq!(read(session), "some 3: g1 (1,2,3); g2 (2,3)");
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
    let moves = "a (1,2,3); b (1,2)".to_owned();
    assert_eq!(read("a := (1,2,3); b := [[1,2]]; G := [a, b];"), (moves.clone(), Vec::new()));
    let products = "a (1,2)(3,4); b (1,2); g3 (2,3)".to_owned();
    assert_eq!(read("a := [[1,2],[3,4]]; M_b := [[1,2]]; G := [a, M_b, [[2,3]]];"), (products, Vec::new()));
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

/// What GAP would have to execute is named, not the first character that cannot be read.
#[test]
fn programs_are_refused_by_name() {
    let why = "is not supported: no programs are run; let GAP print the permutations, and save what it prints as a file";
    for (text, place, what) in [
        ("f := [];\nf[1] := (1,2);", "2:1", "an assignment to an entry of \"f\""),
        ("f[1][2]:=(1,2);", "1:1", "an assignment to an entry of \"f\""),
        ("r.a := (1,2);", "1:1", "an assignment to an entry of \"r\""),
        ("l := [(1,2)];\nfor i in [1..5] do Add(l, (i,i+1)); od;", "2:1", "'for'"),
        ("while true do od;", "1:1", "'while'"),
        ("if true then a := (1,2); fi;", "1:1", "'if'"),
        ("a := (1,2);\nG := Group(List([1..4], i -> (i,i+1)));", "2:25", "a function 'i -> …'"),
        ("f := function(n) return (1,2); end;", "1:6", "'function'"),
        ("r := rec(a := (1,2));", "1:6", "'rec'"),
    ] {
        assert_eq!(error(Format::Gap, text), format!("file:{place}: {what} {why}"), "{text}");
    }
    // Names may begin with these words.
    assert!(parse("former := (1,2); record := (2,3); Group(former, record);", Format::Gap, "x").is_ok());
}

#[test]
fn named_permutations_beside_the_moves_can_be_chosen() {
    let text = "U := (1,2,3,4); U2 := U*U; W := U; V := (4,5); far := (1,9); one := U^4; G := Group(U, V);";
    let puzzle = parse(text, Format::Gap, "some.g").unwrap();
    let spare: Vec<_> = puzzle.spare().iter().map(|m| format!("{} {}", m.name, m.action)).collect();
    assert_eq!(spare, ["U2 (1,3)(2,4)", "W (1,2,3,4)"]);
    let chosen = |words| -> Vec<String> {
        puzzle.select(Metric::Given, words).unwrap().into_iter().map(|m| m.name).collect()
    };
    assert_eq!(chosen("U2,V"), ["U2", "V"]);
    assert_eq!(chosen("W"), ["U"]);
    // A move without a name does not take the name of another permutation.
    let puzzle = parse("g1 := (1,2,3); Group((1,2), (2,3));", Format::Gap, "some.g").unwrap();
    let names: Vec<_> = puzzle.moves().iter().map(|m| m.name.as_str()).collect();
    assert_eq!((names, puzzle.spare()[0].name.as_str()), (vec!["g2", "g3"], "g1"));
}
