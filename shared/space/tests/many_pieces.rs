//! Puzzles of more pieces than symbols, whose groups are small: words distinguish only some of the pieces,
//! and have the states of all.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Definition, Metric, Orbit};
use fathom_space::{CosetGraph, CosetId, Labels, Plan, Space, SpaceError};
use std::collections::{HashMap, HashSet};

/// Returns the puzzle of `cells` cells with these moves, each an image for every cell.
fn puzzle(cells: usize, moves: &[&dyn Fn(usize) -> usize]) -> Definition {
    let mut definition = Definition::of_degree("many", cells).unwrap();
    for (number, image) in (1..).zip(moves) {
        let action = OrientedPermutation::from_cells(Permutation::from_fn(cells, image));
        definition.add_move(format!("g{number}"), action).unwrap();
    }
    definition
}

/// Returns a puzzle of dials in several orbits. A move turns some of them.
fn dials(orbits: &[(usize, u16)], moves: &[&dyn Fn(usize) -> u16]) -> Definition {
    let orbit = |(number, &(cells, orientations)): (usize, &(usize, u16))| Orbit {
        name: format!("dials{number}"),
        cells,
        orientations,
    };
    let mut definition = Definition::new("dials", orbits.iter().enumerate().map(orbit).collect()).unwrap();
    let orientation_counts = definition.orientation_counts();
    for (number, turn) in (1..).zip(moves) {
        let turns: Vec<u16> =
            orientation_counts.iter().enumerate().map(|(cell, &order)| turn(cell) % order).collect();
        let still = Permutation::identity(orientation_counts.len());
        let action = OrientedPermutation::new(still, turns, &orientation_counts[..]).unwrap();
        definition.add_move(format!("g{number}"), action).unwrap();
    }
    definition
}

fn space(definition: &Definition) -> Space {
    let labels = Labels::distinct(definition.cells());
    Space::new(definition.puzzle(Metric::Single).unwrap(), Metric::Single, labels).unwrap()
}

/// Returns all elements that the moves generate.
fn elements(definition: &Definition) -> Vec<OrientedPermutation> {
    let identity = OrientedPermutation::identity(definition.orientation_counts());
    let mut all = vec![identity.clone()];
    let mut known = HashSet::from([identity]);
    let mut next = 0;
    while next < all.len() {
        for generator in definition.moves() {
            let product = all[next].then(&generator.action);
            if known.insert(product.clone()) {
                all.push(product);
            }
        }
        next += 1;
    }
    all
}

/// Puzzles with the number of cells of their words.
fn examples() -> Vec<(Definition, usize)> {
    let cycle = |cell: usize| (cell + 1) % 300;
    let reflection = |cell: usize| (300 - cell) % 300;
    // Two cells that exchange their pieces, and 300 cells whose pieces follow.
    let exchange = |cell: usize| if cell < 2 { 1 - cell } else { 2 + ((cell - 2) ^ 1) };
    // Blocks of 3 and of 100 cells, and 300 cells that show both.
    let blocks = |cell: usize| match cell {
        0..3 => (cell + 1) % 3,
        3..103 => 3 + (cell - 2) % 100,
        _ => 103 + (cell - 102) % 300,
    };
    vec![
        (puzzle(300, &[&cycle]), 300),
        (puzzle(300, &[&cycle, &reflection]), 300),
        (puzzle(302, &[&exchange]), 2),
        (puzzle(403, &[&blocks]), 103),
        // Nothing moves.
        (puzzle(300, &[&|cell| cell]), 1),
        // x + 1 and 3x modulo the prime 257.
        (puzzle(257, &[&|x| (x + 1) % 257, &|x| 3 * x % 257]), 257),
        // Of 50 dials, one turns by itself and the others together.
        (dials(&[(50, 12)], &[&|dial| u16::from(dial == 0), &|dial| u16::from(dial > 0)]), 24),
        // The second dial turns with the first, three times as fast.
        (dials(&[(1, 250), (100, 3)], &[&|_| 1]), 250 + 3),
    ]
}

#[test]
fn words_and_elements_correspond() {
    for (definition, cells) in examples() {
        let name = format!("{} cells, {} on words", definition.cells(), cells);
        let space = space(&definition);
        assert!(space.tells_only_some(), "{name}");
        assert_eq!(space.cells(), cells, "{name}");
        let elements = elements(&definition);
        assert_eq!(space.states().to_string(), elements.len().to_string(), "{name}");
        let mut words = HashMap::new();
        for element in &elements {
            let word = space.word(element);
            let mut seen = vec![(0, 0); definition.cells()];
            for piece in 0..definition.cells() {
                let (cell, turn) = element.apply(piece, 0);
                seen[cell] = (piece as u16, turn as u8);
            }
            assert_eq!(space.pieces(&word), seen, "{name}");
            assert_eq!(space.word_of_pieces(&seen).unwrap(), word, "{name}");
            assert_eq!(words.insert(word, element), None, "{name}");
        }
    }
}

#[test]
fn every_state_has_an_address() {
    for (definition, cells) in examples() {
        let space = space(&definition);
        let plan = Plan::new(&space).unwrap();
        let graph = CosetGraph::build(&space, &plan.colouring).unwrap();
        let elements = elements(&definition);
        let mut found = HashSet::new();
        let some = elements.iter().step_by(1 + elements.len() / 2000);
        let examined = some.len();
        for element in some {
            let word = space.word(element);
            let (coset, position) = graph.locate(&word).expect("moves lead to the state");
            assert!(coset < CosetId(graph.len()));
            let image = graph.word_at(coset, position);
            assert_eq!(graph.locate(&image), Some((coset, position)), "{cells}");
            found.insert((coset, position));
        }
        // Symmetries join states, at most as many as there are symmetries.
        assert!(found.len() >= examined / graph.symmetries().len(), "{cells}");
    }
}

/// A damaged layer may have words that are not states.
#[test]
fn unreachable_words_are_not_states() {
    let definition = puzzle(
        400,
        &[&|cell| if cell < 200 { (cell + 1) % 200 } else { cell }, &|cell| {
            if cell < 200 { cell } else { 200 + (cell - 199) % 200 }
        }],
    );
    let space = space(&definition);
    let mut word = space.solved().to_vec();
    word.swap(0, 399);
    assert_eq!(space.pieces(&word), vec![(0, 0); 400]);
    assert_eq!(space.pieces(space.solved())[399], (399, 0));
}

#[test]
fn group_membership_is_decided() {
    let definition = puzzle(300, &[&|cell| (cell + 1) % 300]);
    let space = space(&definition);
    let is_member = space.membership().unwrap();
    let mut turned: Vec<u16> = (0..300).map(|cell| (cell + 17) % 300).collect();
    assert!(is_member(&turned));
    // The distinguished piece stays in place.
    turned.swap(100, 200);
    assert!(!is_member(&turned));
}

/// Labels distinguish few pieces. All permutations of 300 cells, and with them all places of two pieces, are
/// reached; in the second puzzle the ring only turns.
#[test]
fn few_labels_on_many_cells_are_counted() {
    let exchange = |cell: usize| if cell < 2 { 1 - cell } else { cell };
    let labels = || Labels::parse_tracked("0,7", 300).unwrap();
    for (definition, states) in [
        (puzzle(300, &[&|cell| (cell + 1) % 300, &exchange]), 300 * 299),
        (puzzle(300, &[&|cell| (cell + 1) % 300]), 300),
    ] {
        let space = Space::new(definition.puzzle(Metric::Single).unwrap(), Metric::Single, labels()).unwrap();
        assert!(!space.tells_only_some());
        assert_eq!(space.states().to_string(), states.to_string());
        assert_eq!(space.labels().sizes(), [1, 298, 1]);
    }
}

/// With interchangeable pieces, a base is not determined by a state, and large groups have no short base.
#[test]
fn too_many_symbols_are_rejected_with_state_count() {
    let refused = |definition: &Definition, labels: Labels| {
        let puzzle = definition.puzzle(Metric::Single).unwrap();
        match Space::new(puzzle, Metric::Single, labels).unwrap_err() {
            SpaceError::TooManyLetters { states, symbols, .. } => (states.map(|s| s.to_string()), symbols),
            other => panic!("{other}"),
        }
    };
    let cycle = puzzle(300, &[&|cell| (cell + 1) % 300]);
    let pairs = Labels::from_values((0..300).map(|piece| if piece == 299 { 0 } else { piece }));
    assert_eq!(refused(&cycle, pairs).1, 299);
    let all = puzzle(300, &[&|cell| (cell + 1) % 300, &|cell| if cell < 2 { 1 - cell } else { cell }]);
    let (states, symbols) = refused(&all, Labels::distinct(300));
    // 300! has 615 digits.
    assert_eq!((states.map(|states| states.len()), symbols), (Some(615), 300));
}
