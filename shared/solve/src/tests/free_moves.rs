//! Free moves: states that differ by them are the same state, and so are their solutions.

use super::*;
use fathom_puzzle::family::square1::{Sequence, Turn};

/// Creates a puzzle from moves with guards and free moves, all given as cycles.
fn puzzle(
    orientation_counts: &[u16],
    moves: &[(&str, &str, &[u16])],
    free: &[(&str, &str)],
    labels: &[u16],
    metric: Metric,
) -> SpaceSpec {
    let orbit =
        Orbit { name: "cells".into(), cells: orientation_counts.len(), orientations: orientation_counts[0] };
    let mut puzzle = Definition::new("test", vec![orbit]).unwrap();
    let parse = |cycles| OrientedPermutation::parse(cycles, orientation_counts).unwrap();
    for (name, cycles, guard) in moves {
        puzzle.add_guarded_move(*name, parse(cycles), guard).unwrap();
    }
    for (name, cycles) in free {
        puzzle.add_free(*name, parse(cycles)).unwrap();
    }
    let solved: Vec<_> = puzzle
        .solved()
        .iter()
        .zip(labels)
        .map(|(&piece, &label)| fathom_puzzle::Piece { label, ..piece })
        .collect();
    puzzle.set_solved(&solved).unwrap();
    puzzle.set_metric(metric);
    let source = PuzzleSpec::Defined(Box::new(puzzle));
    SpaceSpec { labels: Labels::from_values(source.solved()), source, metric }
}

/// A ring of six pieces that may be rotated as a whole.
const RING: (&str, &str) = ("r", "(1,2,3,4,5,6)");

/// Puzzles that are small enough for a plain search, with the numbers of their states where the order of a
/// group gives that number.
fn small() -> [(SpaceSpec, Option<usize>); 6] {
    let distinct: Vec<u16> = (0..6).collect();
    [
        (puzzle(&[1; 6], &[("U", "(1,2)", &[])], &[RING], &distinct, Metric::Multi), Some(120)),
        // Both moves are the same one, seen from two sides.
        (
            puzzle(
                &[1; 6],
                &[("U", "(1,2,3)", &[]), ("D", "(4,5,6)", &[])],
                &[RING],
                &distinct,
                Metric::Single,
            ),
            Some(120),
        ),
        // Pieces that turn as they change places: the parity of the turns is that of the exchanges.
        (
            puzzle(
                &[2; 5],
                &[("U", "(1,2+1)", &[])],
                &[("r", "(1,2,3,4,5)")],
                &distinct[..5],
                Metric::Single,
            ),
            Some(120 * 16 / 5),
        ),
        // Pieces that look alike.
        (puzzle(&[1; 6], &[("U", "(1,2,3)", &[])], &[RING], &[0, 0, 1, 1, 1, 2], Metric::Multi), None),
        // A guard that only pieces 5 and 6 satisfy.
        (puzzle(&[1; 6], &[("U", "(1,2,3)", &[4])], &[RING], &[0, 1, 2, 3, 4, 4], Metric::Single), None),
        // A guard that either of two identical pieces satisfies. The free moves exchange these, so that the
        // move is the same after them.
        (
            puzzle(
                &[1; 7],
                &[("U", "(1,2)", &[3]), ("W", "(2,3)", &[])],
                &[("s", "(4,5)(6,7)")],
                &[0, 1, 2, 3, 3, 4, 5],
                Metric::Given,
            ),
            Some(6),
        ),
    ]
}

#[test]
fn each_state_has_one_solution_of_each_class() {
    for (number, (question, states)) in small().into_iter().enumerate() {
        let model = SolveModel::new(&question).unwrap();
        let known = plain(&model);
        assert!(
            known.len() > 5 && states.is_none_or(|states| known.len() == states),
            "{number}: {}",
            known.len()
        );
        let mut search = Bidirectional::new(&model, 1 << 30);
        let free = free_moves(&model);
        for (at, known) in known.values().enumerate() {
            for look in &free {
                let known = Known { element: known.element.then(look), ..*known };
                let state = model.word(&known.element);
                check(&model, &known, &search.solve(&state, usize::MAX).unwrap());
                if at % 7 == 0 {
                    let found = Bidirectional::new(&model, 1 << 30).solve(&state, usize::MAX).unwrap();
                    check(&model, &known, &found);
                }
                assert_eq!(model.why_not(&known.element), None);
                assert!(model.reduced(&state) <= state);
                assert_eq!(model.reduced(&state), model.reduced(&model.word(&known.element.then(&free[1]))));
            }
        }
    }
}

#[test]
fn ways_between_states_match_a_plain_search() {
    for (question, _) in small() {
        let model = SolveModel::new(&question).unwrap();
        check_ways_between(&model, if plain(&model).len() < 100 { 3 } else { 37 });
    }
}

#[test]
fn layers_give_distances_and_solutions() {
    for (question, _) in small() {
        check_layers(question.clone());
        check_classes(question);
    }
}

#[test]
fn scrambles_reach_states_without_inverse_moves() {
    let ring = puzzle(&[1; 6], &[("L", "(1,2,3)", &[])], &[RING], &[0, 1, 2, 3, 4, 5], Metric::Given);
    for question in
        [ring, question("lx:6", Some(Metric::Given), None), question("lx:5", None, Some("0,0,1,1,2"))]
    {
        let model = SolveModel::new(&question).unwrap();
        let free = free_moves(&model);
        let directory = tempfile::tempdir().unwrap();
        let run = run(question, &directory.path().join("run"), None);
        assert!(!run.space.cosets().unwrap().is_closed_under_inverses());
        let mut kept = LayerDistances::new(&run, u64::MAX, &LocalDisk).unwrap().unwrap();
        let words = SpaceWords::new(&model, &run.space);
        // Forwards from the solved state, by products of elements.
        let solved = model.product(&[]);
        let mut known = HashSet::from([seen(&model, &free, &solved)]);
        let mut level = vec![solved.clone()];
        for depth in 0.. {
            for state in &level {
                let word = model.word(state);
                assert_eq!(kept.depth_of(&words.in_space(&word).unwrap()).unwrap(), Some(depth));
                let is_at = |word: &[u8], depth| kept.is_at(&words.in_space(word).unwrap(), depth);
                let way = way_to(&model, &word, depth, is_at).unwrap().unwrap();
                assert_eq!(way.len() as u32, depth);
                let made = model.carry_out(&solved, &way).unwrap();
                assert_eq!(seen(&model, &free, &made), seen(&model, &free, state));
            }
            let next = |state: &OrientedPermutation| {
                let looks = free.iter().map(|free| state.then(free)).collect::<Vec<_>>();
                looks.into_iter().flat_map(|look| model.generators.iter().map(move |g| look.then(&g.action)))
            };
            level = level.iter().flat_map(next).filter(|to| known.insert(seen(&model, &free, to))).collect();
            if level.is_empty() {
                break;
            }
        }
        assert_eq!(run.space.cosets().unwrap().states().to_string(), known.len().to_string());
        // Layers without predecessors are detected.
        let word = model.product(&[0]);
        assert_eq!(way_to(&model, &model.word(&word), 3, |_, _| Ok::<_, ()>(false)), Ok(None));
    }
}

/// Where free moves are needed at all, the printed solution leads exactly to the word of the solved state.
#[test]
fn free_moves_are_written_only_if_needed() {
    for (question, _) in small() {
        let model = SolveModel::new(&question).unwrap();
        let mut search = Bidirectional::new(&model, 1 << 30);
        let needs_free = model.moves().iter().any(|mv| mv.before != 0);
        for known in plain(&model).into_values() {
            let found = search.solve(&model.word(&known.element), 1).unwrap();
            let end = model.carry_out(&known.element, &found.solutions[0]).unwrap();
            let behind = model.free_between(&model.word(&end), model.solved()).unwrap();
            // The guards were checked from the state on; reading checks them from the solved state, hence the
            // inverse.
            let back = model.read(&format!("({})'", model.written(&found.solutions[0], behind)), true);
            if needs_free && known.distance > 0 {
                assert_eq!(model.word(&known.element.then(&back.unwrap().inverse())), model.solved());
            }
        }
    }
}

static HELD: LazyLock<[SolveModel; 2]> = LazyLock::new(|| pocket("2x2x2"));
static FREE: LazyLock<[SolveModel; 2]> = LazyLock::new(|| pocket("2x2x2 whole"));

fn pocket(word: &str) -> [SolveModel; 2] {
    [Metric::Multi, Metric::Single].map(|metric| model(word, Some(metric), None))
}

/// Returns the sizes of the first levels around the solved state.
fn levels(model: &SolveModel, radius: u32) -> Vec<usize> {
    let mut ball = ball::Ball::new(&model.reduced(model.solved()));
    let mut word = model.solved().to_vec();
    for _ in 0..radius {
        let step = |mv, state: &[u8], image: &mut [u8]| {
            let may = model.apply(mv, state, &mut word);
            if may {
                model.reduce(&word, image);
            }
            may
        };
        ball.grow(model.moves().len(), u64::MAX, step).unwrap();
    }
    (0..=radius).map(|distance| ball.level(distance).len()).collect()
}

#[test]
fn ball_sizes_match_published_counts() {
    // J. Scherphuis, "Mini Cube, the 2x2x2 Rubik's Cube", jaapsch.net.
    for models in [&*HELD, &*FREE] {
        assert_eq!(levels(&models[0], 5), [1, 9, 54, 321, 1847, 9992]);
        assert_eq!(levels(&models[1], 6), [1, 6, 27, 120, 534, 2256, 8969]);
    }
    // M. Masonjones, forum.cubeman.org (2005).
    assert_eq!(levels(&model("square1", Some(Metric::Twist), None), 4), [1, 64, 1153, 17050, 235_144]);
}

/// Solutions turn only three faces, and no rotation is written.
#[test]
fn free_cube_is_solved_with_three_faces() {
    for model in &*FREE {
        let faces: HashSet<char> =
            (0..model.moves().len()).map(|mv| model.written(&[mv], 1).chars().next().unwrap()).collect();
        assert_eq!(faces, HashSet::from(['U', 'R', 'F']));
        assert_eq!(model.moves().len(), HELD[usize::from(model.metric() == Metric::Single)].moves().len());
    }
    let by_name = |word: &str| -> Vec<Vec<u8>> {
        let model = &FREE[0];
        vec![model.reduced(&model.word(&model.read(word, true).unwrap()))]
    };
    assert_eq!(by_name("L"), by_name("R"));
    assert_eq!(by_name("x L2 y' x2"), by_name("R2"));
    assert_ne!(by_name("U"), by_name("x U"));
}

#[test]
fn free_and_fixed_cubes_have_equal_layers() {
    let question = question("2x2x2 whole", Some(Metric::Multi), None);
    let directory = tempfile::tempdir().unwrap();
    let run = run(question, &directory.path().join("run"), None);
    let mut kept = LayerDistances::new(&run, u64::MAX, &LocalDisk).unwrap().unwrap();
    let (held, free) = (&HELD[0], &FREE[0]);
    let words = SpaceWords::new(free, &run.space);
    let mut search = Bidirectional::new(held, 1 << 30);
    // A long, fixed walk through the states.
    let mut walk: Vec<usize> = Vec::new();
    for step in 0..40_usize {
        walk.push((5 * step * step + step / 3) % 9);
        let names = held.written(&walk, 0);
        let [of_held, of_free] = [held, free].map(|model| model.read(&names, true).unwrap());
        let word = free.word(&of_free);
        let distance = kept.depth_of(&words.in_space(&word).unwrap()).unwrap().unwrap();
        let found = search.solve(&held.word(&of_held), usize::MAX).unwrap();
        assert_eq!(found.distance, distance);
        let is_at = |word: &[u8], depth| kept.is_at(&words.in_space(word).unwrap(), depth);
        let by_layers = descend(free, &word, distance, usize::MAX, is_at).unwrap();
        assert_eq!(by_layers.solutions.len(), found.solutions.len());
        for solution in &by_layers.solutions {
            assert!(free.solves(&of_free, solution), "{names}");
        }
    }
}

/// A name in a scramble means its own move, not another one with the same permutation.
#[test]
fn each_name_has_its_own_guard() {
    let directory = tempfile::tempdir().unwrap();
    let of_file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        model(path.to_str().unwrap(), None, None)
    };
    // x does what A does, and is free.
    let turned = "degree = 4\n[moves]\nA = { cycles = \"(1,2)\", guard = [4] }\n[free]\nx = \"(1,2)\"\ny = \"(3,4)\"\nz = \"(3,4)\"\n";
    let turned = of_file("turned.toml", turned);
    let told = |text: &str| turned.read(text, true).map(|_| ()).map_err(|error| error.to_string());
    for text in ["y x", "y x3", "z x", "z' A z A"] {
        let is_blocked = text.contains('A');
        assert_eq!(told(text).is_err(), is_blocked, "{text}");
    }
    // B does what A does, and is always possible.
    let doubled =
        "degree = 4\n[moves]\nA = { cycles = \"(3,4)\", guard = [1] }\nB = \"(3,4)\"\nC = \"(1,2)\"\n";
    let doubled = of_file("doubled.toml", doubled);
    let told = |text: &str| doubled.read(text, true).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(told("A C B"), Ok(()));
    for text in ["C A", "C A'"] {
        assert_eq!(told(text).unwrap_err(), "move 2, A, is not possible after the moves before it", "{text}");
    }
}

#[test]
fn blocked_moves_are_rejected() {
    // L brings piece 4, which is not smooth, to the bolt of R.
    let bandaged = model(BANDAGED, Some(Metric::Single), None);
    let told = |text: &str| bandaged.read(text, true).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(told("L' R"), Ok(()));
    for text in ["L R", "[L: R]", "(L R)2"] {
        let error = told(text).unwrap_err();
        assert_eq!(error, "move 2, R, is not possible after the moves before it", "{text}");
    }

    // L brings piece 4, which is not smooth, behind the window, unless R has brought a smooth one there.
    let limited = model(LIMITED, None, None);
    let told = |text: &str| limited.read(text, true).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(told("R L R'"), Ok(()));
    assert_eq!(told("L R L'").unwrap_err(), "move 1, L, is not possible after the moves before it");

    for metric in [Metric::Face, Metric::Twist] {
        let model = model("square1", Some(metric), None);
        let told = |text: &str| model.read(text, true).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(told("(1,0)/(3,-3)/"), Ok(()));
        assert_eq!(told("T1 / T3 B-3 /"), Ok(()));
        // The article's A, after d.
        assert_eq!(told("d [s,u^3]^2 s d^-1"), Ok(()));
        assert_eq!(model.read("d A d^-1", true), model.read("(1,0)/(0,-3)/(0,3)/(0,-3)/(0,3)/(-1,0)", true));
        assert_eq!(told("(1,0)/(1,0)/").unwrap_err(), "move 4, /, is not possible after the moves before it");
        assert_eq!(told("T1 / T1 /").unwrap_err(), "move 4, /, is not possible after the moves before it");
        assert!(
            told("R U").unwrap_err().contains("unknown move \"R\". Moves of Square-1 are written (1,0)/")
        );
        assert!(told("T1 / Q").unwrap_err().contains("unknown move \"Q\""), "{:?}", told("T1 / Q"));
    }
}

static TWISTS: LazyLock<SolveModel> = LazyLock::new(|| model("square1", Some(Metric::Twist), None));

/// Applies turns and twists to a state; `None` if a corner is across the cut before a twist.
fn turned(model: &SolveModel, state: &OrientedPermutation, turns: &Sequence) -> Option<OrientedPermutation> {
    turns.0.iter().try_fold(state.clone(), |state, turn| {
        let back = state.cells().inverse();
        let is_corner = |&cell: &u16| {
            model.definition.solved()[back.apply(cell.into())].label != model.definition.solved()[5].label
        };
        let is_blocked = fathom_puzzle::family::square1::CUT.iter().any(is_corner);
        (*turn != Turn::Twist || !is_blocked).then(|| state.then(&turn.action()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn free_and_fixed_cubes_have_equal_distances(
        scramble in proptest::collection::vec(0_usize..9, 0..9),
        looks in proptest::collection::vec(0_usize..24, 9),
    ) {
        for (held, free) in HELD.iter().zip(&*FREE) {
            let scramble: Vec<usize> = scramble.iter().map(|&mv| mv % held.moves().len()).collect();
            let names = held.written(&scramble, 0);
            let (state, of_free) = (held.read(&names, true).unwrap(), free.read(&names, true).unwrap());
            let found = Bidirectional::new(held, 1 << 30).solve(&held.word(&state), usize::MAX).unwrap();
            let all = free_moves(free);
            // Rotating the cube before or after does not change the distance.
            let of_free = all[looks[0]].then(&of_free).then(&all[looks[1]]);
            let of_hand = Bidirectional::new(free, 1 << 30).solve(&free.word(&of_free), usize::MAX).unwrap();
            prop_assert_eq!(found.distance, of_hand.distance);
            prop_assert_eq!(found.solutions.len(), of_hand.solutions.len());
            for solution in &of_hand.solutions {
                let end = of_free.then(&free.read(&free.written(solution, 0), true).unwrap());
                prop_assert!(all.contains(&end), "{}", free.written(solution, 0));
            }
        }
    }

    #[test]
    fn square1_scrambles_are_solved_in_at_most_as_many_twists(pairs in proptest::collection::vec((0..12_i64, 0..12_i64), 0..6)) {
        let model = &*TWISTS;
        let one = OrientedPermutation::identity(model.definition.orientation_counts());
        let mut scramble = Sequence::default();
        let mut twists = 0;
        for (x, y) in pairs {
            let next: Sequence = format!("{scramble}({x},{y})/").parse().unwrap();
            if turned(model, &one, &next).is_some() {
                (scramble, twists) = (next, twists + 1);
            }
        }
        let state = model.read(&scramble.to_string(), true).unwrap();
        prop_assert_eq!(Some(state.clone()), turned(model, &one, &scramble));
        prop_assert_eq!(model.why_not(&state), None);
        let found = Bidirectional::new(model, 1 << 30).solve(&model.word(&state), 10).unwrap();
        prop_assert!(found.distance <= twists);
        for solution in &found.solutions {
            let end = model.carry_out(&state, solution).unwrap();
            let behind = model.free_between(&model.word(&end), model.solved()).unwrap();
            let written = model.written(solution, behind);
            let turns: Sequence = if written == "()" { Sequence::default() } else { written.parse().unwrap() };
            prop_assert_eq!(turns.0.iter().filter(|&&turn| turn == Turn::Twist).count() as u32, found.distance);
            let end = turned(model, &state, &turns);
            prop_assert!(end.is_some_and(|end| model.word(&end) == model.solved()), "{}", written);
        }
    }
}
