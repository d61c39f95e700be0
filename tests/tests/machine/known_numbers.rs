//! Known growth tables, with both engines. Each table in `tests/data` names its source.

use fathom_engine::summary::Summary;
use fathom_engine::task::Kernel;
use fathom_kernel::reference::Distances;
use fathom_puzzle::Board;
use fathom_tests::{KnownTable, MEMORY, Setup, data, known_tables};
use serde::Deserialize;
use std::collections::BTreeMap;

fn assert_is(found: &Summary, known: &KnownTable) {
    let name = format!("{} {}", known.puzzle, known.metric);
    assert_eq!(found.counts, known.counts, "{name}");
    assert_eq!(found.god_number, Some(known.god_number), "{name}");
    assert_eq!(found.states, Some(known.states), "{name}");
    assert!(found.complete, "{name}");
    if let Some(order) = known.symmetry_order {
        assert_eq!(found.symmetries, order, "{name}");
    }
    if known.classes.is_some() {
        assert_eq!(found.classes, known.classes, "{name}");
    }
}

#[test]
fn boards_with_both_engines_states_and_classes() {
    // Above these numbers of states, the plain search takes seconds, then minutes.
    let reference_up_to = fathom_slow::choose(1_000_000, 10_000_000);
    let tables = known_tables("boards.json");
    assert_eq!(tables.len(), 18);
    for known in tables {
        let by_cosets = Setup::default().search(known.question());
        assert_is(&by_cosets, &known);
        if known.states <= reference_up_to {
            let plain = Setup { kernel: Kernel::Reference, ..Setup::default() }.search(known.question());
            assert_is(&plain, &known);
            assert_eq!(plain.digest, by_cosets.digest, "{} {}", known.puzzle, known.metric);
        }
    }
}

#[test]
fn labelled_spaces_with_both_engines() {
    for known in known_tables("colourings.json") {
        let by_cosets = Setup::default().search(known.question());
        assert_is(&by_cosets, &known);
        let plain = Setup { kernel: Kernel::Reference, ..Setup::default() }.search(known.question());
        assert_is(&plain, &known);
        assert_eq!(plain.digest, by_cosets.digest);
        assert_eq!(plain.classes, by_cosets.classes);
    }
}

#[test]
fn tracked_tiles_of_the_4x4_board() {
    for known in fathom_slow::one_in(2, known_tables("tracked_tiles.json")) {
        assert_is(&Setup::default().search(known.question()), &known);
    }
}

#[derive(Deserialize)]
struct Published {
    growth: Vec<Growth>,
    god_numbers: GodNumbers,
}

#[derive(Deserialize)]
struct Growth {
    puzzle: String,
    counts: Vec<u64>,
}

#[derive(Deserialize)]
struct GodNumbers {
    boards: BTreeMap<String, u32>,
}

#[test]
fn tables_1_and_4_of_the_paper() {
    let published: Published = data("published.json");
    let search = |board: &str| {
        let board: Board = board.parse().unwrap();
        let known = known_tables("boards.json");
        let table = known.iter().find(|t| (t.m, t.n) == (board.rows(), board.columns())).unwrap();
        assert_eq!(table.metric.as_str(), "multi");
        Setup::default().search(table.question())
    };
    for growth in published.growth {
        assert_eq!(search(&growth.puzzle).counts, growth.counts, "{}", growth.puzzle);
    }
    for (board, god_number) in published.god_numbers.boards {
        assert_eq!(search(&board).god_number, Some(god_number), "{board}");
    }
}

#[test]
fn classes_are_the_orbits_of_a_plain_search() {
    // Counted without Burnside's lemma: a state counts if it is the smallest of its images.
    for known in known_tables("boards.json").into_iter().chain(known_tables("colourings.json")) {
        if known.states > 500_000 {
            continue;
        }
        let space = known.question().space().unwrap();
        let distances = Distances::search(&space, None, MEMORY).unwrap();
        let mut classes = vec![0; known.counts.len()];
        let mut with_inverse = classes.clone();
        for (state, distance) in distances.states() {
            let is_smallest = |of: &[u8]| space.symmetries().iter().all(|s| state <= space.image(s, of));
            classes[distance as usize] += u64::from(is_smallest(&state));
            if known.colouring.is_none() {
                let mut inverse = state.clone();
                for (cell, &tile) in state.iter().enumerate() {
                    inverse[usize::from(tile)] = cell as u8;
                }
                with_inverse[distance as usize] += u64::from(is_smallest(&state) && is_smallest(&inverse));
            }
        }
        let name = format!("{} {}", known.puzzle, known.metric);
        let found = Setup::default().search(known.question());
        assert_eq!(found.classes, Some(classes), "{name}");
        assert_eq!(found.classes_with_inverse, known.colouring.is_none().then_some(with_inverse), "{name}");
    }
}
