use super::draft::Draft;
use super::partitions::candidates;
use super::*;
use crate::Labels;
use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Board, Definition, Metric, Orbit, PuzzleSpec};

fn space(word: &str, track: Option<&str>) -> Space {
    let board: Board = word.parse().unwrap();
    let labels = match track {
        Some(list) => Labels::parse_tracked(list, board.cells()).unwrap(),
        None => Labels::distinct(board.cells()),
    };
    Space::new(board.puzzle(Metric::Multi), Metric::Multi, labels).unwrap()
}

#[test]
fn representative_counts_match_closure() {
    for word in ["1x1", "1x2", "1x7", "2x2", "2x3", "2x4", "2x5", "3x3", "3x4", "2x6"] {
        let space = space(word, None);
        let plan = Plan::new(&space).unwrap();
        let graph = CosetGraph::build(&space, &plan.colouring).unwrap();
        assert_eq!(u64::from(graph.len()), plan.representative_cosets, "{word}");
        assert_eq!(graph.symmetries().len(), plan.symmetries_used, "{word}");
    }
}

#[test]
fn planned_colourings_of_large_boards() {
    // The expected choices are those of the design's prototype. 4x4: four sublattices, 63,063,000 patterns,
    // 499,961 representative cosets under all 128 symmetries. 3x4: rows, 826 cosets. 2x6: columns mod 3,
    // 1,556 cosets. 3x6: three sublattices, 240,095 cosets of 46.7 MB under all 72 symmetries.
    let sizes = |word| {
        let space = space(word, None);
        let plan = Plan::new(&space).unwrap();
        (plan.patterns, plan.representative_cosets, plan.symmetries_used, plan.shape.packed_bytes())
    };
    assert_eq!(sizes("4x4"), (63_063_000, 499_961, 128, 41_472));
    assert_eq!(sizes("3x4"), (34_650, 826, 48, 1_728));
    assert_eq!(sizes("2x6"), (34_650, 1_556, 24, 1_728));
    assert_eq!(sizes("3x6"), (17_153_136, 240_095, 72, 46_656_000));
}

/// Candidates that cannot be the cheapest are not judged. The result is the same as if all were judged, and
/// no candidate costs less than its lower bound.
#[test]
fn cheapest_candidate_survives_pruning() {
    let of_board = |word, track| space(word, track);
    let of_word = |word: &str| {
        let source = PuzzleSpec::by_name(word).unwrap();
        let puzzle = source.puzzle(source.metric()).unwrap();
        Space::new(puzzle, source.metric(), Labels::from_values(source.solved())).unwrap()
    };
    let spaces = [
        of_board("3x3", None),
        of_board("2x5", None),
        of_board("3x4", Some("1-6")),
        of_word("2x2x2"),
        of_word("pyraminx"),
        of_word("pancake:7"),
        of_word("dino"),
    ];
    let model = &CostModel::MEASURED;
    let mut skipped = 0;
    for space in &spaces {
        let name = &space.puzzle().name;
        let actions = actions_on_letters(space);
        let mut all = Vec::new();
        for of_piece in candidates(space, &actions) {
            let Some(draft) = Draft::new(space, of_piece) else { continue };
            let least = draft.least(space, model);
            let Some(candidate) = draft.judge(space, &actions, model, None) else { continue };
            assert!(least <= candidate.nanoseconds, "{name} {:?}", candidate.of_piece);
            all.push((candidate, least));
        }
        // Of equally cheap ones the first.
        let (best, _) = all.iter().min_by(|(a, _), (b, _)| a.nanoseconds.total_cmp(&b.nanoseconds)).unwrap();
        let found = Candidate::cheapest(space, &actions, model, None).unwrap();
        assert_eq!((&found.of_piece, found.nanoseconds), (&best.of_piece, best.nanoseconds), "{name}");
        skipped += all.iter().filter(|(_, least)| *least > best.nanoseconds).count();
    }
    assert!(skipped > 0);
}

/// Whether a symmetry has an action on colours is determined without computing the action.
#[test]
fn colour_preserving_symmetries_have_an_action() {
    for word in ["3x3", "2x2x2", "pyraminx", "skewb"] {
        let source = PuzzleSpec::by_name(word).unwrap();
        let puzzle = source.puzzle(source.metric()).unwrap();
        let space = Space::new(puzzle, source.metric(), Labels::from_values(source.solved())).unwrap();
        let mut counts = [0, 0];
        for of_piece in candidates(&space, &actions_on_letters(&space)) {
            let Some(draft) = Draft::new(&space, of_piece) else { continue };
            let Ok(colouring) = Colouring::new(&draft.of_piece, &space) else { continue };
            for symmetry in space.symmetries() {
                let respects = colouring.is_respected_by(symmetry);
                assert_eq!(respects, colouring.action(symmetry).is_some(), "{word} {:?}", draft.of_piece);
                counts[usize::from(respects)] += 1;
            }
        }
        assert!(counts.iter().all(|&count| count > 0), "{word}");
    }
}

/// If moves reach few words, axes of reachable words store few bits that are unreachable or images of others.
/// If moves reach all words, colours are axes.
#[test]
fn sparse_reachability_uses_reachable_axes() {
    for (word, is_reached) in
        [("skewb", true), ("pyraminx", true), ("dino", false), ("2x2x2", false), ("3x4", false)]
    {
        let source = PuzzleSpec::by_name(word).unwrap();
        let puzzle = source.puzzle(source.metric()).unwrap();
        let space = Space::new(puzzle, source.metric(), Labels::from_values(source.solved())).unwrap();
        let plan = Plan::new(&space).unwrap();
        let views = plan.colouring.views();
        assert_eq!(!views.is_empty(), is_reached, "{word} {views:?}");
        assert!(!is_reached || plan.fill(&space) > 0.4, "{word} {}", plan.fill(&space));
        let unused: usize = plan.refusals(&space).iter().map(|(_, count)| count).sum();
        assert_eq!(
            plan.symmetries_used / space.free_order() as usize + unused,
            space.symmetry_order(),
            "{word}"
        );
    }
}

/// With free moves, turns of the solved puzzle rename pieces and keep every pattern, so they save no cosets.
#[test]
fn pattern_fixing_symmetries_save_no_cosets() {
    if !fathom_slow::is_wanted() {
        return;
    }
    let source = PuzzleSpec::by_name("square1").unwrap().in_metric(Metric::Twist).unwrap();
    let labels = Labels::from_values(source.solved());
    let space = Space::new(source.puzzle(Metric::Twist).unwrap(), Metric::Twist, labels).unwrap();
    let outline = Plan::outline(&space).unwrap();
    assert!(!outline.is_exact);
    let estimate = outline.representative_cosets as f64;
    let exact = outline.exact(&space).unwrap().representative_cosets as f64;
    assert!((0.9..1.1).contains(&(exact / estimate)), "{estimate} for {exact}");
}

/// Each twist turns over the middle layer of Square-1, so the states of a layer have it one way. It is part
/// of the pattern, and an axis has the 4! arrangements of the corners or the edges of one layer.
#[test]
fn alternating_ring_is_not_an_axis() {
    let by_twists = PuzzleSpec::by_name("square1").unwrap().in_metric(Metric::Twist).unwrap();
    for (source, metric, bits, period) in [
        (by_twists, Metric::Twist, 24_u64.pow(4), 2),
        // The middle, and the cell for how the puzzle is held.
        (PuzzleSpec::by_name("square1").unwrap(), Metric::Face, 2 * 2 * 24_u64.pow(4), 1),
    ] {
        let labels = Labels::from_values(source.solved());
        let space = Space::new(source.puzzle(metric).unwrap(), metric, labels).unwrap();
        let plan = Plan::outline(&space).unwrap();
        assert_eq!(plan.shape.bits(), bits, "{metric}");
        let cosets = plan.representative_cosets.div_ceil(period);
        assert_eq!(plan.layer_bytes(), cosets * u64::from(plan.shape.packed_bytes()), "{metric}");
    }
}

fn group_space(name: &str, degree: usize, cycles: &[&str], labels: Labels) -> Space {
    let mut definition = Definition::of_degree(name, degree).unwrap();
    for (number, cycles) in cycles.iter().enumerate() {
        let action = OrientedPermutation::from_cells(Permutation::parse(cycles, degree).unwrap());
        definition.add_move(format!("m{number}"), action).unwrap();
    }
    Space::new(definition.puzzle(Metric::Multi).unwrap(), Metric::Multi, labels).unwrap()
}

/// M24 has 244,823,040 elements, and carries any four points to any four points in order. So there are 24 x
/// 23 x 22 x 21 patterns, each of 960 states. (Conway and Sloane, *Sphere Packings, Lattices and Groups*,
/// chapter 11.)
#[test]
fn transitive_group_is_cut_by_base_points() {
    let generators = [
        "(1,24)(2,23)(3,12)(4,16)(5,18)(6,10)(7,20)(8,14)(9,21)(11,17)(13,22)(15,19)",
        "(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23)",
        "(3,17,10,7,9)(4,13,14,19,5)(8,18,11,12,23)(15,20,22,21,16)",
    ];
    let space = group_space("m24", 24, &generators, Labels::distinct(24));
    assert_eq!(space.states().to_string(), "244823040");
    let plan = Plan::outline(&space).unwrap();
    assert_eq!(plan.symmetries_used, 1);
    assert_eq!((plan.representative_cosets, plan.shape.lengths()), (24 * 23 * 22 * 21, &[960][..]));
    assert!(!plan.is_exact);
}

/// Nine tiles, of which squares of four turn. A symmetry that leaves all tiles in place and turns them by
/// different amounts renames no move, so it changes no state, and is omitted. The others are used.
#[test]
fn trivial_symmetries_are_not_used() {
    let orbits = vec![Orbit { name: "tiles".into(), cells: 9, orientations: 4 }];
    let mut tiles = Definition::new("tiles", orbits).unwrap();
    for (name, corner) in [("A", 0), ("B", 1), ("C", 3), ("D", 4)] {
        let square = [corner, corner + 1, corner + 4, corner + 3];
        let to = |cell: usize| match square.iter().position(|&at| at == cell) {
            Some(at) => square[(at + 1) % 4],
            None => cell,
        };
        let turns: Vec<u16> = (0..9).map(|cell| square.contains(&cell).into()).collect();
        let action = OrientedPermutation::new(Permutation::from_fn(9, to), turns, tiles.orientation_counts());
        tiles.add_move(name, action.unwrap()).unwrap();
    }
    let puzzle = tiles.puzzle(Metric::Multi).unwrap();
    let space = Space::new(puzzle, Metric::Multi, Labels::distinct(9)).unwrap();
    let plan = Plan::outline(&space).unwrap();
    assert_eq!((plan.symmetries_used, space.symmetries().len()), (8, 8));
    assert_eq!(plan.shape.bits() * 362_880, u64::try_from(space.states()).unwrap());
    // The orientations of the corners, the edges and the centre are tied: each can be changed by half turns,
    // with an even number of them in all. A class fixes the parity of their number.
    assert_eq!((plan.shape.summands(), plan.shape.lengths()), (4, &[1, 8, 8][..]));
    let views: Vec<String> = plan.colouring.views().iter().map(ToString::to_string).collect();
    assert_eq!(views, ["4o ~0", "1o 3o 5o 7o ~0", "0o 2o 6o 8o ~0"]);
}

/// 10 corners of two kinds and 11 edges of two kinds, permuted in all ways, have C(10, 4) x C(11, 5) states.
#[test]
fn sets_with_identical_pieces_are_axes() {
    let turns = ["(1,2,3,4,5,6)(11,12,13,14,15,16)", "(5,6,7,8,9,10)(16,17,18,19,20,21)"];
    let labels = [
        [0, 1].map(|kind| vec![kind; [6, 4][kind]]).concat(),
        [2, 3].map(|kind| vec![kind; [6, 5][kind - 2]]).concat(),
    ];
    let space = group_space("two orientation_positions", 21, &turns, Labels::from_values(labels.concat()));
    assert_eq!(space.states().to_string(), (210 * 462).to_string());
    let plan = Plan::new(&space).unwrap();
    assert_eq!((plan.representative_cosets, plan.shape.bits()), (1, 210 * 462));
}

/// 20 cells, permuted in all ways, with 7, 7, 3 and 3 pieces alike. With one or two labels in a colour of
/// their own, there are too many patterns or words. With two labels in one colour and two in another, there
/// are C(20, 6) x C(14, 7) x C(6, 3) states.
#[test]
fn sets_are_cut_into_parts_as_last_resort() {
    let labels = [7, 7, 3, 3].iter().zip(0..).flat_map(|(&n, label)| vec![label; n]);
    let cycle = format!("({})", (1..=20).map(|i| i.to_string()).collect::<Vec<_>>().join(","));
    let space = group_space("alike", 20, &["(1,2)", &cycle], Labels::from_values(labels.collect::<Vec<_>>()));
    assert_eq!(space.states().to_string(), (38_760_u64 * 3_432 * 20).to_string());
    let plan = Plan::outline(&space).unwrap();
    let mut lengths = plan.shape.lengths().to_vec();
    lengths.sort_unstable();
    assert_eq!(lengths, [20, 3_432]);
}

/// A dial of 30 pieces turns, and a switch can be thrown while piece 0 is on cell 0: 30 x 2 states. The 7!
/// arrangements of seven pieces would be a long axis with one state.
#[test]
fn small_guarded_spaces_are_stored_densely() {
    let orbit = |name: &str, cells| Orbit { name: name.into(), cells, orientations: 1 };
    let mut dial = Definition::new("dial", vec![orbit("dial", 30), orbit("switch", 2)]).unwrap();
    let action = |image: fn(usize) -> usize| OrientedPermutation::from_cells(Permutation::from_fn(32, image));
    dial.add_move("U", action(|cell| if cell < 30 { (cell + 1) % 30 } else { cell })).unwrap();
    dial.add_guarded_move("S", action(|cell| if cell < 30 { cell } else { 61 - cell }), &[0]).unwrap();
    let space = Space::new(dial.puzzle(Metric::Multi).unwrap(), Metric::Multi, Labels::distinct(32)).unwrap();
    assert_eq!(space.states().to_string(), "60");
    let plan = Plan::new(&space).unwrap();
    let bits = plan.representative_cosets * plan.shape.bits();
    assert!(bits <= 60, "{bits} bits for 60 states");
}

/// The states of a ring of n cells are its n turns, and turns by k and by -k are equivalent: n / 2 + 1
/// classes, rounded down. Axes of several cells would store many times as many bits. A table of n! patterns
/// must not become large for that.
#[test]
fn tiny_spaces_use_single_state_cosets() {
    for cells in [4, 5, 7] {
        let space = space(&format!("1x{cells}"), None);
        let plan = Plan::new(&space).unwrap();
        assert_eq!((plan.shape.bits(), plan.representative_cosets), (1, cells / 2 + 1), "{cells}");
        assert_eq!(plan.symmetries_used, space.symmetries().len());
    }
    for cells in 8..=23 {
        let space = space(&format!("1x{cells}"), None);
        assert!(Plan::new(&space).unwrap().table_bytes(&space) < 1 << 20, "{cells}");
    }
}

/// All 720 permutations of six cells, and as many symmetries: a class for each cycle type, of which there are
/// 11. Listing the cosets of each candidate under so many symmetries takes longer than any search, and axes
/// would lose most symmetries.
#[test]
fn many_symmetries_use_single_state_cosets() {
    let source = PuzzleSpec::by_name("all-transpositions:6").unwrap();
    let puzzle = source.puzzle(source.metric()).unwrap();
    let space = Space::new(puzzle, source.metric(), Labels::distinct(6)).unwrap();
    let plan = Plan::new(&space).unwrap();
    assert_eq!((space.symmetries().len(), plan.symmetries_used), (720, 720));
    assert_eq!((plan.shape.bits(), plan.representative_cosets), (1, 11));
}

/// An outline chooses the same colouring as an exact plan. If it does not list the cosets, it reports at most
/// their number.
#[test]
fn outlines_match_exact_plans() {
    for word in ["3x4", "2x2x2", "skewb", "pyraminx", "pancake:9"] {
        let source = PuzzleSpec::by_name(word).unwrap();
        let puzzle = source.puzzle(source.metric()).unwrap();
        let space = Space::new(puzzle, source.metric(), Labels::from_values(source.solved())).unwrap();
        let (outline, plan) = (Plan::outline(&space).unwrap(), Plan::new(&space).unwrap());
        assert_eq!(outline.colouring.of_pieces(), plan.colouring.of_pieces(), "{word}");
        assert_eq!(outline.colouring.views(), plan.colouring.views(), "{word}");
        let graph = CosetGraph::build(&space, &plan.colouring).unwrap();
        assert_eq!(plan.representative_cosets, u64::from(graph.len()), "{word}");
        assert!(outline.representative_cosets <= plan.representative_cosets, "{word}");
    }
}

#[test]
fn every_board_up_to_sixteen_cells_has_a_plan() {
    for m in 1..=16 {
        for n in 1..=16 / m {
            let space = space(&format!("{m}x{n}"), None);
            Plan::new(&space).unwrap_or_else(|error| panic!("{m}x{n}: {error}"));
        }
    }
}

#[test]
fn oversized_spaces_are_rejected_with_their_size() {
    let error = Plan::new(&space("5x5", None)).unwrap_err().to_string();
    assert!(error.contains("5x5 multi has 7,755,605,021,665,492,992,000,000 states"), "{error}");
    assert!(Plan::new(&space("5x5", Some("0-3"))).is_ok());
}

/// Pieces that might turn and never do: a table of patterns counts their turns, and one axis for all of them
/// would be too long. They are cut into parts, not into single states.
#[test]
fn overlong_axis_is_cut_into_parts() {
    let orbit = |name: &str, cells, orientations| Orbit { name: name.into(), cells, orientations };
    let mut definition = Definition::new("t", vec![orbit("a", 3, 1), orbit("b", 9, 3)]).unwrap();
    for (name, cycles) in
        [("x", "(3,1,2)(5,6,11)(9,7)"), ("y", "(7,6,4,10)(11,12)"), ("z", "(3,2,1)(12,11)(7,10)")]
    {
        let action = OrientedPermutation::parse(cycles, &definition.orientation_counts()).unwrap();
        definition.add_move(name, action).unwrap();
    }
    let puzzle = definition.puzzle(Metric::Single).unwrap();
    let space = Space::new(puzzle, Metric::Single, Labels::distinct(12)).unwrap();
    // 8! arrangements of one orbit, and the turns of three pieces.
    assert_eq!(space.states().to_string(), (3 * 40_320).to_string());
    let plan = Plan::new(&space).unwrap();
    assert!(plan.shape.bits() >= 24 && plan.fill(&space) > 0.4, "{:?}", plan.shape.lengths());
}

/// A move with many sets of pieces has many candidates, and with 72 states it is not worth judging all of
/// them.
#[test]
fn small_space_is_planned_quickly() {
    let orbit = |name: &str, cells, orientations| Orbit { name: name.into(), cells, orientations };
    let orbits = vec![orbit("a", 7, 3), orbit("b", 8, 1), orbit("c", 6, 4)];
    let mut definition = Definition::new("t", orbits).unwrap();
    let cycles = "(5+1,6+0,1+1)(2,3)(13,9,12,14,8,10,11,15)(20+3,21+0)";
    definition
        .add_move("x", OrientedPermutation::parse(cycles, &definition.orientation_counts()).unwrap())
        .unwrap();
    let puzzle = definition.puzzle(Metric::Multi).unwrap();
    let space = Space::new(puzzle, Metric::Multi, Labels::distinct(21)).unwrap();
    assert_eq!(space.states().to_string(), "72");
    let actions = actions_on_letters(&space);
    let found = |model| reachable_axes::Search::run(&space, &actions, model, f64::INFINITY, false).len();
    let patient = CostModel { plan_word: f64::INFINITY, ..CostModel::MEASURED };
    assert!(found(&CostModel::MEASURED) > 0);
    assert!(found(&patient) > 4 * found(&CostModel::MEASURED));
}

/// Nearly all symmetries fix each pattern of one choice, so it stores a hundred times as many cosets as there
/// are patterns for each symmetry. By that number it would be the cheapest.
#[test]
fn fixed_patterns_count_in_the_cost() {
    let orbit = |name: &str, cells, orientations| Orbit { name: name.into(), cells, orientations };
    let orbits = vec![orbit("a", 6, 1), orbit("b", 4, 1), orbit("c", 7, 2)];
    let mut definition = Definition::new("t", orbits).unwrap();
    let parse = |cycles, definition: &Definition| {
        OrientedPermutation::parse(cycles, &definition.orientation_counts())
    };
    let long = "(1,6)(2,4)(8,9,7)(11+1,15+1,16+1,17+1,14+0,13+0,12+0)";
    for (name, cycles) in [("x", "(8,10)(15+1,16+1)"), ("y", long)] {
        definition.add_move(name, parse(cycles, &definition).unwrap()).unwrap();
    }
    for (name, cycles) in [("f", "(7,9,8)"), ("g", "(5,3)(4,1)(9,7,10,8)(11,14,17,12)(15,16)")] {
        definition.add_free(name, parse(cycles, &definition).unwrap()).unwrap();
    }
    let puzzle = definition.puzzle(Metric::Single).unwrap();
    let space = Space::new(puzzle, Metric::Single, Labels::distinct(17)).unwrap();
    let plan = Plan::new(&space).unwrap();
    // With that choice, 0.0003: 138,240 bits for each of 358 cosets.
    assert!(plan.fill(&space) > 0.005, "{:?}", plan.shape.lengths());
}

/// Three colours on Rubik's cube by quarter turns: a colouring that 16 of the 48 symmetries respect has no unused bits either,
/// but stores three times as many states.
#[test]
fn symmetries_are_not_given_up_in_a_large_space() {
    let labels = [0, 1, 0, 1, 1, 0, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4, 4, 4, 4];
    let source = PuzzleSpec::by_name("3x3x3").unwrap();
    for metric in [Metric::Single, Metric::Multi] {
        let puzzle = source.puzzle(metric).unwrap();
        let space = Space::new(puzzle, metric, Labels::from_values(labels)).unwrap();
        let plan = Plan::outline(&space).unwrap();
        assert_eq!((plan.symmetries_used, space.symmetries().len()), (48, 48));
        assert!(plan.fill(&space) > 0.99);
    }
}
