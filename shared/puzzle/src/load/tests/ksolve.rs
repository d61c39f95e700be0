//! Tests of ksolve and twsearch files.

use super::*;

/// Returns the error for a ksolve file that ends with these lines.
fn ksolve_with(lines: &str) -> String {
    error(Format::Ksolve, &format!("Name x\nSet A 3 3\nSet B 2 1\n{lines}"))
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
