//! Pairs of states and symmetries, where symmetries are many.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Definition, Metric};
use fathom_space::counting::Pairs;
use fathom_space::{CosetGraph, CosetId, Labels, Plan, Space, Transforms};
use std::collections::HashSet;

/// Free moves of four cells and of two others have thousands of renamings. Two pieces look alike, so that no
/// free moves are omitted.
#[test]
fn pair_counts_match_brute_force() {
    let action = |cycles: &str| OrientedPermutation::from_cells(Permutation::parse(cycles, 11).unwrap());
    let mut definition = Definition::of_degree("many", 11).unwrap();
    for (name, cycles) in [("A", "(7,8)"), ("B", "(8,9)")] {
        definition.add_move(name, action(cycles)).unwrap();
    }
    for (name, cycles) in [("x", "(1,2)"), ("y", "(1,2,3,4)"), ("z", "(5,6)(10,11)")] {
        definition.add_free(name, action(cycles)).unwrap();
    }
    let puzzle = definition.puzzle(Metric::Given).unwrap();
    let labels = Labels::parse_list("0,1,2,3,4,5,6,7,8,9,9", 11).unwrap();
    let space = Space::new(puzzle, Metric::Given, labels).unwrap();
    assert!(space.symmetries().len() > 4096, "{}", space.symmetries().len());
    let plan = Plan::new(&space).unwrap();
    let graph = CosetGraph::build(&space, &plan.colouring).unwrap();
    let pairs = Pairs::new(&graph, false);
    let mut transforms = Transforms::new(&graph);
    let (mut counted, mut words) = (0, HashSet::new());
    for coset in (0..graph.len()).map(CosetId) {
        let positions: Vec<u32> = graph.shape().positions().collect();
        counted += pairs.of(&mut transforms, coset, positions.len() as u32, |_| true).0.unwrap();
        for word in positions.into_iter().map(|position| graph.word_at(coset, position)) {
            words.extend(space.symmetries().iter().map(|symmetry| space.image(symmetry, &word)));
        }
    }
    assert_eq!(words.len(), 6 * 48);
    let fixed = |word: &&Vec<u8>| {
        space.symmetries().iter().filter(|symmetry| space.image(symmetry, word) == **word).count() as u64
    };
    assert_eq!(counted, words.iter().map(|word| fixed(&word)).sum::<u64>());
}
