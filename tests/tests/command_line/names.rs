//! The numbering of cells, pieces and orientations does not change any count, nor does it matter whether
//! symmetries are given or found.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_engine::run::SpaceSpec;
use fathom_engine::summary::Summary;
use fathom_engine::task::Kernel;
use fathom_puzzle::{Definition, Metric, Orbit, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::Setup;
use fathom_tests::boards::labelled_boards;
use proptest::prelude::*;

const SETUP: fn() -> Setup = || Setup { shards: Some(1), ..Setup::default() };

/// The numbers of cells and of orientations of two orbits.
type Shape = [(usize, u16); 2];

/// Generates an arbitrary permutation of the cells of each orbit, with arbitrary turns.
fn element(shape: Shape) -> impl Strategy<Value = OrientedPermutation> {
    let orbit = |(cells, order): (usize, u16)| {
        let images = Just((0..cells as u16).collect::<Vec<u16>>()).prop_shuffle();
        (images, prop::collection::vec(0..order, cells))
    };
    shape.map(orbit).prop_map(move |[a, b]| {
        let behind = |image: &u16| image + shape[0].0 as u16;
        let images: Vec<u16> = a.0.iter().copied().chain(b.0.iter().map(behind)).collect();
        let orders: Vec<u16> = shape.iter().flat_map(|&(cells, order)| vec![order; cells]).collect();
        OrientedPermutation::new(Permutation::from_images(images).unwrap(), [a.1, b.1].concat(), orders)
            .unwrap()
    })
}

fn question(shape: Shape, moves: impl Iterator<Item = OrientedPermutation>) -> SpaceSpec {
    let orbit = |(number, &(cells, orientations)): (usize, &(usize, u16))| Orbit {
        name: format!("orbit{number}"),
        cells,
        orientations,
    };
    let mut definition = Definition::new("any", shape.iter().enumerate().map(orbit).collect()).unwrap();
    for (number, action) in moves.enumerate() {
        definition.add_move(format!("m{number}"), action).unwrap();
    }
    let labels = Labels::distinct(definition.cells());
    SpaceSpec { source: PuzzleSpec::Defined(Box::new(definition)), metric: Metric::Single, labels }
}

fn counted(found: Summary) -> ([Option<Vec<u64>>; 3], usize) {
    ([Some(found.counts), found.classes, found.classes_with_inverse], found.symmetries)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn renaming_changes_no_counts(
        (shape, moves, names) in ((1..=4_usize, 1..=3_u16), (1..=2_usize, 1..=4_u16)).prop_flat_map(|(a, b)| {
            let shape = [a, b];
            (Just(shape), prop::collection::vec(element(shape), 1..=3), element(shape))
        }),
    ) {
        let found = SETUP().search(question(shape, moves.iter().cloned()));
        let renamed = SETUP().search(question(shape, moves.iter().map(|action| action.relabel(&names))));
        // The plain search uses no symmetries.
        let plain = Setup { kernel: Kernel::Reference, ..SETUP() }.search(question(shape, moves.into_iter()));
        prop_assert_eq!(&plain.digest, &found.digest);
        prop_assert_eq!(&plain.counts, &found.counts);
        prop_assert_eq!(counted(found), counted(renamed));
    }

    #[test]
    fn symmetries_may_be_given_or_found(told in labelled_boards()) {
        let definition = told.source.definition(told.metric).unwrap();
        let metric = definition.metric();
        let found = SpaceSpec { source: PuzzleSpec::Defined(Box::new(definition)), metric, ..told.clone() };
        let [told, found] = [told, found].map(|question| SETUP().search(question));
        prop_assert_eq!(&told.counts, &found.counts);
        prop_assert!(told.complete && found.symmetries % told.symmetries == 0);
    }
}
