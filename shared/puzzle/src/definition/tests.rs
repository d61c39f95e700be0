use super::*;
use fathom_algebra::Permutation;

fn orbits(sizes: &[(&str, usize, u16)]) -> Vec<Orbit> {
    sizes
        .iter()
        .map(|&(name, cells, orientations)| Orbit { name: name.into(), cells, orientations })
        .collect()
}

fn two_orbits() -> Definition {
    Definition::new("test", orbits(&[("corners", 3, 3), ("edges", 2, 2)])).unwrap()
}

#[test]
fn invalid_orbits_are_rejected() {
    let error = |sizes| Definition::new("x", orbits(sizes)).unwrap_err().to_string();
    let no_cells = "the puzzle has no cells: it needs at least one orbit, and each orbit at least one cell";
    assert_eq!(error(&[]), no_cells);
    assert_eq!(error(&[("a", 2, 1), ("b", 0, 1)]), no_cells);
    assert_eq!(error(&[("a", 2, 0)]), "orbit \"a\" has 0 orientations: use 1 if orientation does not matter");
    assert_eq!(error(&[("a", 2, 1), ("a", 2, 1)]), "the name \"a\" is used twice");
    assert_eq!(
        error(&[("a", 8193, 2)]),
        "the puzzle has 16386 points (cells times orientations), more than 16384"
    );
    assert_eq!(
        error(&[("a", usize::MAX, 3)]),
        format!("the puzzle has {} points (cells times orientations), more than 16384", usize::MAX)
    );
    assert_eq!(Definition::of_degree("x", 16384).unwrap().cells(), 16384);
    assert_eq!(Definition::of_degree("x", 2).unwrap().validated(), Err(DefinitionError::NoMoves));
}

#[test]
fn invalid_generators_are_rejected() {
    let mut puzzle = two_orbits();
    let orientation_counts = puzzle.orientation_counts();
    let good = OrientedPermutation::parse("(1,2+1,3+2)(4,5)", &orientation_counts).unwrap();
    puzzle.add_move("R", good.clone()).unwrap();
    let mut error =
        |name: &str, action: &OrientedPermutation| puzzle.add_free(name, action.clone()).unwrap_err();
    assert_eq!(error("R", &good).to_string(), "the name \"R\" is used twice");
    for name in ["", "a b", "a,b", "(a)", "a\"", "a\n", "a\u{fffe}", "\u{ffff}", "a\u{202e}", "\u{200b}"] {
        assert_eq!(error(name, &good), DefinitionError::BadName(name.into()));
    }
    // `a *b` would be read as a product of `a` and `b`.
    for name in ["[", "]a", "*b", "'a", "^a", ":", "[a]", "''"] {
        assert_eq!(error(name, &good), DefinitionError::BeginsWithSign(name.into()));
    }
    for name in ["a'", "a^", "a[", "-"] {
        assert!(two_orbits().add_free(name, good.clone()).is_ok(), "{name}");
    }
    for name in ["", " ", "\u{2003}"] {
        assert_eq!(Definition::of_degree(name, 2).unwrap_err(), DefinitionError::NoTitle);
    }
    let no_character = Definition::of_degree("a\u{ffff}", 2).unwrap_err();
    assert_eq!(no_character, DefinitionError::BadTitle { name: "a\u{ffff}".into(), control: '\u{ffff}' });
    for invisible in ['\u{202e}', '\u{2066}', '\u{200d}', '\u{feff}', '\u{ad}'] {
        let name = format!("cube{invisible}");
        let hidden = Definition::of_degree(&name, 2).unwrap_err();
        assert_eq!(hidden, DefinitionError::BadTitle { name, control: invisible });
    }
    let two_lines = Definition::of_degree("a\nb", 2).unwrap_err();
    assert_eq!(two_lines, DefinitionError::BadTitle { name: "a\nb".into(), control: '\n' });
    let other = OrientedPermutation::from_cells(Permutation::identity(4));
    assert_eq!(error("x", &other).to_string(), "x acts on 4 cells, but the puzzle has 5");
    let other = OrientedPermutation::from_cells(Permutation::identity(5));
    assert_eq!(
        error("x", &other).to_string(),
        "x turns the piece on cell 1 modulo 1, but the piece has 3 orientations"
    );
    let mut puzzle = Definition::new("x", orbits(&[("a", 2, 1), ("b", 2, 1)])).unwrap();
    let across = OrientedPermutation::from_cells(Permutation::parse("(2,3)", 4).unwrap());
    assert_eq!(
        puzzle.add_spare("x", across).unwrap_err().to_string(),
        "x carries the piece on cell 2 (a) to cell 3 (b), which is in another orbit"
    );
}

#[test]
fn invalid_guards_are_rejected() {
    let mut puzzle = two_orbits();
    let swap = OrientedPermutation::parse("(4,5)", &puzzle.orientation_counts()).unwrap();
    let mut add = |name: &str, guard: &[u16]| puzzle.add_guarded_move(name, swap.clone(), guard);
    assert_eq!(
        add("R", &[1, 5]).unwrap_err().to_string(),
        "the guard of R names cell 6, but the puzzle has 5 cells"
    );
    assert_eq!(
        add("R", &[2, 3]).unwrap_err().to_string(),
        "R carries the piece on cell 4 to cell 5, but cell 4 is in its guard: a move must leave the pieces on the cells of its guard where they are"
    );
    assert_eq!(add("R", &[2, 0, 2]), Ok(()));
    assert_eq!(add("R", &[]).unwrap_err().to_string(), "the name \"R\" is used twice");
    assert_eq!(*puzzle.moves()[0].guard, [0, 2]);
    assert!(puzzle.is_guarded() && !two_orbits().is_guarded());
    assert_eq!(puzzle.states(), None);
}

#[test]
fn invalid_limits_are_rejected() {
    let mut puzzle = two_orbits();
    assert_eq!(
        puzzle.set_always(&[2, 5]).unwrap_err().to_string(),
        "the limits on states name cell 6, but the puzzle has 5 cells"
    );
    assert_eq!(puzzle.set_always(&[2, 0, 2]), Ok(()));
    assert_eq!(puzzle.always(), [0, 2]);
    assert!(puzzle.is_guarded());
    let swap = OrientedPermutation::parse("(4,5)", &puzzle.orientation_counts()).unwrap();
    puzzle.add_move("R", swap.clone()).unwrap();
    assert_eq!(puzzle.generators(Metric::Given).unwrap().len(), 1);
    for metric in Metric::ALL {
        let refused = Err(DefinitionError::AlwaysListed("test".into(), metric));
        assert_eq!(puzzle.generators(metric), refused);
        assert!(
            puzzle
                .select(metric, "R")
                .unwrap_err()
                .to_string()
                .starts_with("test restricts which states are allowed")
        );
    }
    assert!(puzzle.clone().validated().is_ok());
    let ruled_out = Err(DefinitionError::NeverSolved { cell: 2 });
    assert_eq!(puzzle.set_never(&[(0, 2), (1, 1)]), ruled_out);
    assert_eq!(puzzle.set_never(&[(0, 2), (1, 5)]), Err(DefinitionError::AlwaysCell { cell: 6, cells: 5 }));
    assert_eq!(puzzle.set_never(&[(1, 2), (0, 2), (1, 2)]), Ok(()));
    assert_eq!(puzzle.never(), [(0, 2), (1, 2)]);
    let alike = puzzle.solved().iter().map(|piece| Piece { label: u16::from(piece.label > 2), ..*piece });
    assert_eq!(puzzle.set_solved(&alike.collect::<Vec<_>>()), Err(DefinitionError::NeverSolved { cell: 1 }));
    puzzle.add_free("x", swap).unwrap();
    assert_eq!(puzzle.puzzle(Metric::Given).unwrap_err(), DefinitionError::AlwaysFree);
    assert_eq!(puzzle.validated(), Err(DefinitionError::AlwaysFree));
}

#[test]
fn invalid_solved_states_are_rejected() {
    let mut puzzle = two_orbits();
    let plain = puzzle.solved().to_vec();
    let mut error = |change: fn(&mut Vec<Piece>)| {
        let mut pieces = plain.clone();
        change(&mut pieces);
        puzzle.set_solved(&pieces).unwrap_err().to_string()
    };
    assert_eq!(
        error(|pieces| pieces.truncate(4)),
        "the solved state lists 4 pieces, but the puzzle has 5 cells"
    );
    assert_eq!(
        error(|pieces| pieces[4].orientation = 2),
        "the piece on cell 5 has orientation 2 in the solved state, but has only 2 orientations, numbered from 0"
    );
    assert_eq!(
        error(|pieces| pieces[0].seen = 2),
        "2 orientations of the piece on cell 1 cannot be distinguished: not a divisor of its 3 orientations"
    );
    assert_eq!(
        error(|pieces| pieces[3].label = 0),
        "the pieces on cells 1 and 4 have the same label, but differ in their orbits"
    );
    assert_eq!(
        error(|pieces| {
            pieces[1].label = 0;
            pieces[1].seen = 1;
        }),
        "the pieces on cells 1 and 2 have the same label, but differ in the number of orientations that are distinguished"
    );
}

#[test]
fn labels_are_numbered_in_order_of_appearance() {
    let mut puzzle = two_orbits();
    let piece = |label, orientation, seen| Piece { label, orientation, seen };
    puzzle
        .set_solved(&[piece(7, 2, 3), piece(9, 2, 1), piece(7, 0, 3), piece(1, 1, 2), piece(0, 0, 2)])
        .unwrap();
    assert_eq!(
        puzzle.solved(),
        [piece(0, 2, 3), piece(1, 0, 1), piece(0, 0, 3), piece(2, 1, 2), piece(3, 0, 2)]
    );
    assert!(!puzzle.is_plain());
    assert!(two_orbits().is_plain());
}

#[test]
fn points_show_the_sides_of_pieces() {
    let mut puzzle = Definition::new("x", orbits(&[("a", 3, 2)])).unwrap();
    assert_eq!(puzzle.point_labels(), [0, 1, 2, 3, 4, 5]);
    let piece = |label, orientation, seen| Piece { label, orientation, seen };
    puzzle.set_solved(&[piece(0, 0, 2), piece(0, 1, 2), piece(1, 0, 1)]).unwrap();
    // The second piece equals the first turned by one; both sides of the third look alike.
    assert_eq!(puzzle.point_labels(), [0, 1, 1, 0, 2, 2]);
}

/// Rings of oriented pieces that reach all arrangements: with 40 pieces the puzzle is too large for any
/// search, so symmetries are not computed; with eight pieces they are.
#[test]
fn symmetries_of_unsearchable_puzzles_are_skipped() {
    for (cells, has_some) in [(8, true), (40, false)] {
        let orbits = vec![Orbit { name: "ring".into(), cells, orientations: 4 }];
        let mut ring = Definition::new("ring", orbits).unwrap();
        let round = Permutation::from_fn(cells, |cell| (cell + 1) % cells);
        let turns: Vec<u16> = (0..cells).map(|cell| u16::from(cell == 0)).collect();
        let swap = Permutation::from_fn(cells, |cell| if cell < 2 { 1 - cell } else { cell });
        let orientation_counts = ring.orientation_counts();
        let actions =
            [(round, vec![0; cells]), (Permutation::identity(cells), turns), (swap, vec![0; cells])];
        for ((cells, turns), name) in actions.into_iter().zip(["R", "T", "S"]) {
            ring.add_move(name, OrientedPermutation::new(cells, turns, &*orientation_counts).unwrap())
                .unwrap();
        }
        let symmetries = ring.puzzle(Metric::Multi).unwrap().symmetries;
        assert_eq!(symmetries.len() > 1, has_some, "{cells}");
    }
}

/// All exchanges of n pieces have n! symmetries. Six cells that change places freely have 6!, each with 6!
/// free moves, which would be 518,400 symmetries of words.
#[test]
fn too_many_symmetries_are_reported_as_incomplete() {
    let puzzle = |cells: usize, moves: &[&str], free: &[&str]| {
        let mut definition = Definition::of_degree("x", cells).unwrap();
        let action =
            |cycles: &&str| OrientedPermutation::from_cells(Permutation::parse(cycles, cells).unwrap());
        for (number, cycles) in moves.iter().enumerate() {
            definition.add_move(format!("m{number}"), action(cycles)).unwrap();
        }
        for (number, cycles) in free.iter().enumerate() {
            definition.add_free(format!("f{number}"), action(cycles)).unwrap();
        }
        definition.puzzle(Metric::Single).unwrap()
    };
    for (cells, all) in [(6, 720), (7, 720)] {
        let exchanges: Vec<String> =
            (1..=cells).flat_map(|to| (1..to).map(move |from| format!("({from},{to})"))).collect();
        let exchanges = puzzle(cells, &exchanges.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        assert_eq!((exchanges.symmetries.len(), exchanges.has_all_symmetries), (all, cells == 6));
    }
    let free = puzzle(6, &["(5,6)"], &["(1,2)", "(1,2,3,4,5)"]);
    assert_eq!((free.symmetries.len(), free.has_all_symmetries), (120, true));
    let free = puzzle(7, &["(6,7)"], &["(1,2)", "(1,2,3,4,5,6)"]);
    assert!(free.symmetries.len() * free.free.len() <= 1 << 14, "{}", free.symmetries.len());
    assert!(!free.has_all_symmetries);
}

/// The move turns two pieces in place, and exchanges two pieces of four orientations. Each exchange of two of
/// these pieces is a symmetry, and so is the factor -1 of the four orientations: 8 in all, whichever
/// orientation of the last cell is numbered 0. The points alone, without the cells, have far more symmetries
/// than are searched for.
#[test]
fn symmetries_do_not_depend_on_orientation_numbering() {
    for renamed in [0, 1, 2, 3] {
        let mut definition = Definition::new("x", orbits(&[("a", 3, 2), ("b", 2, 4)])).unwrap();
        let cells = Permutation::parse("(4,5)", 5).unwrap();
        let turns = vec![0, 1, 1, (2 + renamed) % 4, (2 + 4 - renamed) % 4];
        let action = OrientedPermutation::new(cells, turns, &*definition.orientation_counts()).unwrap();
        definition.add_move("M", action).unwrap();
        assert_eq!(definition.puzzle(Metric::Single).unwrap().symmetries.len(), 8, "{renamed}");
    }
}
