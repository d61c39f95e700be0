//! Numbers of states that contradict the cosets.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Counted, Definition, Metric, Puzzle};
use fathom_space::{CosetError, CosetGraph, Labels, Plan, Space};

/// The symmetric group of five cells, which has 120 elements.
fn five() -> Definition {
    let mut five = Definition::of_degree("five", 5).unwrap();
    for (name, cycles) in [("A", "(1,2,3,4,5)"), ("B", "(1,2)")] {
        let cells = Permutation::parse(cycles, 5).unwrap();
        five.add_move(name, OrientedPermutation::from_cells(cells)).unwrap();
    }
    five
}

#[test]
fn impossible_state_count_is_detected() {
    let built = |states: u32| {
        let counted = Some(Counted { labels: (0..5).collect(), states: states.into() });
        let puzzle = Puzzle { counted, ..five().puzzle(Metric::Single).unwrap() };
        let space = Space::new(puzzle, Metric::Single, Labels::distinct(5)).unwrap();
        // The plan of the correct number, so that cosets are the same.
        let right = five().puzzle(Metric::Single).unwrap();
        let right = Space::new(right, Metric::Single, Labels::distinct(5)).unwrap();
        let plan = Plan::new(&right).unwrap();
        CosetGraph::build(&space, &plan.colouring).map(|graph| graph.states_per_coset())
    };
    assert!(built(120).is_ok());
    for wrong in [121, 240] {
        let error = built(wrong).unwrap_err();
        assert!(matches!(error, CosetError::Miscounted { .. }), "{error}");
    }
}
