//! Square-1, compared with B. Sambale, *Square-1* (2021), and with published counts.

use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use fathom_puzzle::family::square1::{Layer, Sequence, Turn};
use fathom_puzzle::family::{self, square1};
use fathom_puzzle::{Definition, Metric, SquareOneShapes};
use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

fn factorial(n: u32) -> BigUint {
    (1..=n).map(BigUint::from).product()
}

/// Returns the number of states in one shape: arrangements of eight corners, of eight edges, and of the
/// middle layer.
fn states_in_a_shape() -> BigUint {
    factorial(8).pow(2) * 2_u32
}

fn binomial(n: usize, k: usize) -> usize {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

#[test]
fn shapes_by_pass() {
    let shapes = SquareOneShapes::new();
    let passes = shapes.passes();
    // The article gives the sum, says that eight passes find all shapes, and that the last pass finds 24. The
    // other numbers are from the same closure over pairs of vectors, computed independently of this code.
    let new: Vec<usize> = passes.iter().map(Vec::len).collect();
    assert_eq!(new, [1, 5, 72, 176, 684, 2654, 3958, 944, 24]);
    assert_eq!(new.iter().sum::<usize>(), 8518);
}

#[test]
fn every_valid_shape_is_reachable() {
    let shapes = SquareOneShapes::new();
    // According to the article, e corners and 12 - 2e edges of a layer follow the cut in any order.
    let in_order = |e: usize| binomial(12 - e, e);
    let aligned: usize = (2..=6).map(|e| in_order(e) * in_order(8 - e)).sum();
    assert_eq!((0..shapes.count()).filter(|&shape| shapes.is_aligned(shape)).count(), aligned);
    // Alternatively a corner lies across the cut, and the other pieces follow in any order.
    let around = |e: usize| in_order(e) + binomial(11 - e, e - 1);
    assert_eq!((2..=6).map(around).collect::<Vec<_>>(), [54, 112, 105, 36, 2]);
    assert_eq!(shapes.count(), (2..=6).map(|e| around(e) * around(8 - e)).sum::<usize>());
}

#[test]
fn shapes_up_to_turns() {
    // There are 170 classes (J. Scherphuis, Puzzle Pages). A closure that is independent of this code gave
    // the numbers by twists.
    let shapes = SquareOneShapes::new();
    let classes = shapes.classes_by_twists();
    assert_eq!(classes.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 3, 13, 44, 74, 32, 2]);
    assert_eq!(classes.iter().flatten().count(), 170);
    assert_eq!(classes.iter().flatten().flatten().count(), 19_305);
    // The numbers of shapes that can be twisted are from that closure too; S. Chen gives their sum, 3678.
    let twistable = classes
        .iter()
        .map(|layer| layer.iter().flatten().filter(|&&shape| shapes.is_twistable(shape)).count());
    let twistable: Vec<usize> = twistable.collect();
    assert_eq!(twistable, [1 + 3, 16, 88, 240, 1130, 1640, 544, 16]);
    assert_eq!(twistable.iter().sum::<usize>(), 3678);
}

#[test]
fn state_counts() {
    let states = square1::in_all_shapes().groupoid(20_000).unwrap();
    assert_eq!(states.states_in_a_shape(), states_in_a_shape());
    assert_eq!(states.states(), Some(states_in_a_shape() * 19_305_u32));
    // The number is equation (4.1) of the article.
    assert_eq!(states.states_where(&square1::FRONT), BigUint::from(27_695_466_086_400_u64));
    // The number is that of S. Chen, "Square one can be solved in 31 moves in face turn metric" (2017).
    assert_eq!(states.states_where(&square1::CUT), BigUint::from(11_958_666_854_400_u64));
    let twistable = family::by_name("square1").unwrap().groupoid(20_000).unwrap();
    assert_eq!(twistable.shapes().count(), 3678);
    assert_eq!(twistable.states(), Some(BigUint::from(11_958_666_854_400_u64)));
    // The number is that of M. Masonjones, forum.cubeman.org, node 35 (2005).
    let twists = square1::by_twists().groupoid(20_000).unwrap();
    assert_eq!(twists.states(), Some(BigUint::from(435_891_456_000_u64)));
    assert_eq!(square1::in_all_shapes().groupoid(19_304).map(|found| found.states()), None);
}

/// Reads a word of the article: `s`, and powers of `u` and `d`. In the article the puzzle is upside down: its
/// `u` turns our bottom layer counterclockwise, seen from outside that layer, and its `d` turns our top layer
/// counterclockwise, seen from below.
fn article(word: &str) -> Sequence {
    let turns = word.split_whitespace().map(|letter| {
        let times = || letter[1..].parse().unwrap_or(1);
        match &letter[..1] {
            "u" => Turn::of_layer(Layer::Bottom, -times()).unwrap(),
            "d" => Turn::of_layer(Layer::Top, times()).unwrap(),
            _ => Turn::Twist,
        }
    });
    Sequence(turns.collect())
}

fn product(sequences: &[&Sequence]) -> Sequence {
    Sequence(sequences.iter().flat_map(|sequence| sequence.0.clone()).collect())
}

fn commutator(x: &Sequence, y: &Sequence) -> Sequence {
    product(&[x, y, &x.inverse(), &y.inverse()])
}

/// Returns the action of a sequence applied after `first`, if every move is possible.
fn made(puzzle: &Definition, first: &Sequence, sequence: &Sequence) -> Option<OrientedPermutation> {
    let identity = || OrientedPermutation::identity(puzzle.orientation_counts());
    let mut state = identity();
    let make = |turn: &Turn, state: &mut OrientedPermutation| {
        let generator = puzzle.moves().iter().find(|generator| generator.name == turn.to_string()).unwrap();
        let back = state.cells().inverse();
        let label = |cell: usize| puzzle.solved()[cell].label;
        let holds = |&cell: &u16| label(back.apply(cell.into())) == label(cell.into());
        let can_be_made = generator.guard.iter().all(holds);
        *state = state.then(&generator.action);
        can_be_made.then(|| generator.action.clone())
    };
    for turn in &first.0 {
        make(turn, &mut state)?;
    }
    sequence.0.iter().try_fold(identity(), |done, turn| Some(done.then(&make(turn, &mut state)?)))
}

/// The cells of the article's pieces 1 to 16 after `d`. Corners have odd numbers, and both layers are
/// numbered counterclockwise, seen from the article's top.
const NUMBERED: [usize; 16] = {
    let (corner, edge, top, bottom) = (0, 24, 0, 12);
    [
        corner + bottom + 4,
        edge + bottom + 3,
        corner + bottom + 1,
        edge + bottom,
        corner + bottom + 10,
        edge + bottom + 9,
        corner + bottom + 7,
        edge + bottom + 6,
        corner + top + 10,
        edge + top,
        corner + top + 1,
        edge + top + 3,
        corner + top + 4,
        edge + top + 6,
        corner + top + 7,
        edge + top + 9,
    ]
};

/// Returns the permutation of the article's pieces by a sequence after `d`, and whether the sequence flips
/// the middle layer.
fn effect(sequence: &Sequence) -> (Permutation, bool) {
    let puzzle = family::by_name("square1").unwrap();
    let action = made(&puzzle, &article("d"), sequence).expect("every move is possible");
    let number =
        |cell: usize| NUMBERED.iter().position(|&numbered| numbered == cell).expect("it is a cube again");
    let pieces = Permutation::from_fn(16, |piece| number(action.cells().apply(NUMBERED[piece])));
    (pieces, action.turns()[48] == 1)
}

#[test]
fn manoeuvres_of_the_article() {
    let [s, u3, d3, d6] = ["s", "u3", "d3", "d6"].map(article);
    let a = product(&[&commutator(&s, &u3), &commutator(&s, &u3), &s]);
    let b = commutator(&a, &d3);
    let t = commutator(&article("u d-1"), &s);
    let c = commutator(&t, &d6);
    let d = commutator(&b, &c);
    for (sequence, cycles) in [
        (&s, "(1,13)(2,12)(3,11)(4,10)"),
        (&u3, "(1,3,5,7)(2,4,6,8)"),
        (&d3, "(9,11,13,15)(10,12,14,16)"),
        (&commutator(&s, &u3), "(1,7,13,11,3)(2,8,12,10,4)"),
        (&a, "(3,7)(4,8)(10,12)(11,13)"),
        (&b, "(9,11,13)(10,12,16)"),
        (&t, "(4,10)(8,14)"),
        (&c, "(4,8)(10,14)"),
        (&d, "(10,14,16)"),
    ] {
        let (pieces, turned_over) = effect(sequence);
        assert_eq!(pieces.to_string(), cycles, "{sequence}");
        let twists = sequence.0.iter().filter(|&&turn| turn == Turn::Twist).count();
        assert_eq!(turned_over, twists % 2 == 1);
    }
    // In the solved state, u^-1 s is not possible.
    let cube = family::by_name("square1").unwrap();
    assert_eq!(made(&cube, &Sequence::default(), &article("u-1 s")), None);
    assert!(made(&cube, &Sequence::default(), &article("u s")).is_some());
}

#[test]
fn layers_swap_and_the_middle_flips() {
    let (pieces, turned_over) = effect(&article("s u6 d6 s"));
    assert!((0..16).all(|piece| (piece < 8) != (pieces.apply(piece) < 8)));
    assert!(!turned_over);
    let (pieces, turned_over) = effect(&article("s u6 s u6 s u6"));
    assert!(pieces.is_identity() && turned_over);
}

#[test]
fn documentation_lists_the_manoeuvres() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/square-1.md");
    let page = std::fs::read_to_string(page).unwrap();
    let a = "/(0,-3)/(0,3)/(0,-3)/(0,3)/";
    for (name, usual, cycles) in [
        ("s", "/", "(1,13)(2,12)(3,11)(4,10)"),
        ("u^3", "(0,-3)", "(1,3,5,7)(2,4,6,8)"),
        ("d^3", "(3,0)", "(9,11,13,15)(10,12,14,16)"),
        ("[s,u^3]", "/(0,-3)/(0,3)", "(1,7,13,11,3)(2,8,12,10,4)"),
        ("A = [s,u^3]^2 s", a, "(3,7)(4,8)(10,12)(11,13)"),
        ("B = [A,d^3]", &format!("{a}(3,0){a}(-3,0)"), "(9,11,13)(10,12,16)"),
        ("t = [u d^-1,s]", "(-1,-1)/(1,1)/", "(4,10)(8,14)"),
        ("C = [t,d^6]", "(-1,-1)/(1,1)/(6,0)/(-1,-1)/(-5,1)", "(4,8)(10,14)"),
    ] {
        assert_eq!(effect(&usual.parse().unwrap()).0.to_string(), cycles, "{name}");
        let row = format!("| {name} | `{usual}` | {cycles} |\n");
        assert!(page.contains(&row), "docs/square-1.md lacks\n{row}");
    }
    for (word, usual) in [
        ("s d6 u6 s", "/(6,6)/"),
        ("s u6 s u6 s u6", "/(0,6)/(0,6)/(0,6)"),
        (
            "s d-3 u3 s d-2 u s d2 u2 s u-2 d-2 s u-1 d2 s u-3 d3 s",
            "/(-3,-3)/(-2,-1)/(2,-2)/(-2,2)/(2,1)/(3,3)/",
        ),
    ] {
        let cube = family::by_name("square1").unwrap();
        let of = |sequence: &Sequence| {
            made(&cube, &Sequence::default(), sequence).expect("every move is possible")
        };
        assert_eq!(of(&usual.parse().unwrap()), of(&article(word)), "{word}");
        assert!(page.contains(&format!("`{usual}`")), "docs/square-1.md lacks {usual}");
    }
}

#[test]
fn parity_is_corrected() {
    let [u3, d3, s, t] = ["u3", "d3", "s", "u d-1 s d u-1 s"].map(|word| effect(&article(word)).0);
    assert!([u3, d3, s, t].iter().all(Permutation::is_even));
    let f = article("s u3 d-3 s u d-2 s u2 d2");
    let puzzle = family::by_name("square1").unwrap();
    let mended = product(&[&f, &article("s"), &f.inverse()]);
    let action = made(&puzzle, &Sequence::default(), &mended).expect("every move is possible");
    // At the star, three corners of one layer are swapped with three of the other; then the cube is
    // restored.
    let label = |cell: usize| puzzle.solved()[cell].label;
    let alone = |cell: usize| puzzle.solved().iter().filter(|piece| piece.label == label(cell)).count() == 1;
    let exchanged: Vec<_> = action.cells().cycles().into_iter().filter(|cycle| alone(cycle[0])).collect();
    assert_eq!(exchanged.len(), 3);
    let is_corner = |cell: &usize| puzzle.orbits()[puzzle.orbit_of(*cell)].name == "corners";
    assert!(exchanged.iter().all(|cycle| cycle.len() == 2 && alone(cycle[1]) && cycle.iter().all(is_corner)));
}

/// Returns the number of twistable states at each distance, counted by a plain search.
fn twistable_growth(puzzle: &Definition, deepest: usize) -> Vec<usize> {
    let generators = puzzle.generators(Metric::Given).unwrap();
    let solved: Vec<u16> = puzzle.solved().iter().map(|piece| 2 * piece.label).collect();
    let holds = |state: &[u16], guard: &[u16]| {
        guard.iter().all(|&cell| state[usize::from(cell)] == solved[usize::from(cell)])
    };
    let mut reached = FxHashSet::from_iter([solved.clone()]);
    let mut layer = vec![solved.clone()];
    let mut counts = Vec::new();
    while counts.len() <= deepest {
        counts.push(layer.iter().filter(|state| holds(state, &square1::CUT)).count());
        let mut next_layer = Vec::new();
        for state in &layer {
            for generator in generators.iter().filter(|generator| holds(state, &generator.guard)) {
                let mut next = vec![0; state.len()];
                for (cell, &piece) in state.iter().enumerate() {
                    let turn = generator.action.turns()[cell];
                    next[generator.action.cells().apply(cell)] = piece ^ turn;
                }
                if holds(&next, puzzle.always()) && reached.insert(next.clone()) {
                    next_layer.push(next);
                }
            }
        }
        layer = next_layer;
    }
    counts
}

#[test]
fn first_distances_between_twistable_states() {
    // The counts are those of S. Chen (2017), after J. Scherphuis, Puzzle Pages. Turns that lead to states
    // that cannot be twisted are not counted.
    let published = [1, 15, 69, 212, 1141, 3933, 14_029];
    let found = twistable_growth(&family::by_name("square1").unwrap(), 8);
    assert_eq!(found[..=6], published);
    // A run, which uses cosets and symmetries, has counted the same.
    let record = include_str!("../../../records/begun/square1-face.json");
    let counts: Vec<String> = found.iter().map(usize::to_string).collect();
    assert!(record.contains(&format!("\"counts\":[{}]", counts.join(","))), "{counts:?}");
    // Paths through other states are not shorter.
    assert_eq!(twistable_growth(&square1::in_all_shapes(), 5), published[..=5]);
}

/// With one more cell, which records which half is held, two flips and their product relabel cells. A plain
/// search of state vectors shows that each of them preserves the distance of every state.
#[test]
fn half_turn_symmetries_preserve_distances() {
    let puzzle = family::by_name("square1").unwrap();
    let plain = puzzle.puzzle(Metric::Face).unwrap();
    let held = plain.held.as_ref().expect("the halves are alike");
    assert_eq!((held.cells, held.free.len(), held.moves.len()), (plain.cells + 1, 2, plain.moves.len()));
    // A state vector has the label and the orientation of the piece on each cell, so equal vectors are equal
    // states.
    let label = |piece: usize| puzzle.solved().get(piece).map_or(u16::MAX, |piece| piece.label);
    type Word = Vec<(u16, u16)>;
    let word = |state: &OrientedPermutation| -> Word {
        let mut word = vec![(0, 0); state.degree()];
        for piece in 0..state.degree() {
            word[state.cells().apply(piece)] = (label(piece), state.turns()[piece]);
        }
        word
    };
    let after = |action: &OrientedPermutation, state: &Word| -> Word {
        let mut image = vec![(0, 0); state.len()];
        for (cell, &(label, turn)) in state.iter().enumerate() {
            image[action.cells().apply(cell)] =
                (label, (turn + action.turns()[cell]) % action.orientation_counts()[cell]);
        }
        image
    };
    let solved = word(&held.free[0]);
    let is_free = |state: &Word, guard: &[fathom_puzzle::Guard]| {
        guard.iter().all(|asked| state[usize::from(asked.cell)].0 == label(asked.piece.into()))
    };
    let mut depths: FxHashMap<Word, usize> = FxHashMap::default();
    let mut layer = vec![solved];
    for depth in 0..=5 {
        let mut next = Vec::new();
        for state in layer.iter().flat_map(|state| held.free.iter().map(|free| after(free, state))) {
            if depths.contains_key(&state) {
                continue;
            }
            let steps = held.moves.iter().filter(|step| is_free(&state, &step.guard));
            next.extend(steps.map(|step| after(&step.action, &state)));
            depths.insert(state, depth);
        }
        layer = next;
    }
    // The counts are the published ones, with two state vectors for each state.
    for (depth, states) in [1, 15, 69, 212, 1141, 3933].into_iter().enumerate() {
        assert_eq!(depths.values().filter(|&&other| other == depth).count(), 2 * states);
    }
    let keeps_labels = |relabelling: &&Relabelling| {
        let mut images = FxHashMap::default();
        (0..held.cells).all(|piece| {
            let image = label(relabelling.cells().apply(piece));
            // This relabelling may exchange the middle layer with the cell that records how the puzzle is
            // held.
            *images.entry(label(piece)).or_insert(image) == image
        })
    };
    let mut moved = FxHashSet::default();
    for relabelling in held.symmetries.iter().filter(keeps_labels) {
        let to: FxHashMap<u16, u16> =
            (0..held.cells).map(|piece| (label(piece), label(relabelling.cells().apply(piece)))).collect();
        for (state, depth) in &depths {
            let mut image = state.clone();
            for (cell, &(label, turn)) in state.iter().enumerate() {
                image[relabelling.cells().apply(cell)] = (to[&label], turn);
            }
            let found = depths.get(&image).or_else(|| {
                // A relabelling may turn the piece of the cell that records how the puzzle is held.
                depths.get(&after(&held.free[1], &image))
            });
            assert_eq!(found, Some(depth));
        }
        moved.insert(relabelling.cells().clone());
    }
    assert_eq!(moved.len(), 4);
}
