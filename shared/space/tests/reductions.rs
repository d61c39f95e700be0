//! The laws of reductions, on random puzzles: the growth stays the same, states are mapped in both
//! directions, and a space that is rebuilt from its encoding is the space that was found.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Definition, Generator, Metric, Orbit};
use fathom_space::fingerprint::fingerprint;
use fathom_space::{Colouring, Encoding, Labels, Plan, Space};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The numbers of cells and of orientations of two orbits.
type Orbits = [(usize, u16); 2];

/// An element that keeps the orbits, from numbers that choose it.
fn element(orbits: Orbits) -> impl Strategy<Value = OrientedPermutation> {
    let cells: usize = orbits.iter().map(|&(cells, _)| cells).sum();
    let orientation_counts: Vec<u16> =
        orbits.iter().flat_map(|&(cells, order)| std::iter::repeat_n(order, cells)).collect();
    let shuffled = |from: usize, to: usize| Just((from..to).collect::<Vec<usize>>()).prop_shuffle();
    let images = (shuffled(0, orbits[0].0), shuffled(orbits[0].0, cells));
    (images, prop::collection::vec(0..6_u16, cells)).prop_map(move |((one, other), turns)| {
        let images: Vec<usize> = one.into_iter().chain(other).collect();
        let turns: Vec<u16> =
            turns.iter().zip(&orientation_counts).map(|(turn, order)| turn % order).collect();
        OrientedPermutation::new(
            Permutation::from_fn(cells, |cell| images[cell]),
            turns,
            &orientation_counts[..],
        )
        .unwrap()
    })
}

/// A puzzle with moves, and sometimes with free moves, and a label for each piece.
fn puzzles() -> impl Strategy<Value = (Definition, Vec<usize>)> {
    let orbits = [(1..=3_usize, 1..=3_u16), (1..=3_usize, 1..=3_u16)];
    orbits.prop_flat_map(|orbits| {
        let moves = prop::collection::vec(element(orbits), 1..=2);
        let free = prop::collection::vec(element(orbits), 0..=1);
        let cells = orbits[0].0 + orbits[1].0;
        let labels = prop_oneof![Just((0..cells).collect()), prop::collection::vec(0..3_usize, cells)];
        (moves, free, labels).prop_map(move |(moves, free, labels)| {
            let orbit = |(number, &(cells, orientations)): (usize, &(usize, u16))| Orbit {
                name: format!("orbit{number}"),
                cells,
                orientations,
            };
            let mut definition =
                Definition::new("any", orbits.iter().enumerate().map(orbit).collect()).unwrap();
            for (number, action) in moves.into_iter().enumerate() {
                definition.add_move(format!("m{number}"), action).unwrap();
            }
            for (number, action) in free.into_iter().enumerate() {
                definition.add_free(format!("f{number}"), action).unwrap();
            }
            (definition, labels)
        })
    })
}

/// The stickers of such a puzzle, with a colour each.
fn stickers() -> impl Strategy<Value = (Definition, Vec<usize>)> {
    const MAX_STICKERS: usize = 18;
    (puzzles(), prop::collection::vec(0..3_usize, MAX_STICKERS)).prop_map(|((pieces, _), colours)| {
        let stickers = pieces.moves()[0].action.as_points().degree();
        let mut definition = Definition::of_degree("stickers", stickers).unwrap();
        for Generator { name, action, .. } in pieces.moves() {
            let action = OrientedPermutation::from_cells(action.as_points());
            definition.add_move(name.clone(), action).unwrap();
        }
        (definition, colours[..stickers].to_vec())
    })
}

fn all_puzzles() -> impl Strategy<Value = (Definition, Vec<usize>)> {
    prop_oneof![puzzles(), stickers()]
}

fn space((definition, labels): &(Definition, Vec<usize>)) -> Option<Space> {
    let puzzle = definition.puzzle(Metric::Single).ok()?;
    Space::new(puzzle, Metric::Single, Labels::from_values(labels.iter().copied())).ok()
}

fn opened((definition, labels): &(Definition, Vec<usize>), encoding: &Encoding) -> Space {
    let puzzle = definition.unsearched(Metric::Single).unwrap();
    Space::open(puzzle, Metric::Single, Labels::from_values(labels.iter().copied()), encoding).unwrap()
}

/// Returns the states by distance: from `start`, the states to which steps lead.
fn layers<S: Clone + Ord + std::hash::Hash>(start: S, step: impl Fn(&S) -> Vec<S>) -> Vec<BTreeSet<S>> {
    let mut known = HashSet::from([start.clone()]);
    let mut layers = vec![BTreeSet::from([start])];
    loop {
        let next = layers.last().unwrap().iter().flat_map(&step);
        let next: BTreeSet<S> = next.filter(|state| known.insert(state.clone())).collect();
        if next.is_empty() {
            return layers;
        }
        layers.push(next);
    }
}

/// The contents of each cell: the label of the piece, with its orbit, and its orientation.
type Pieces = Vec<(usize, usize, u16)>;

/// Returns the states of a puzzle by distance, from its moves only. A state is the smallest of its images
/// under free moves.
fn plain((definition, labels): &(Definition, Vec<usize>)) -> Vec<BTreeSet<Pieces>> {
    let free = definition.free_group().unwrap();
    let orientation_counts = definition.orientation_counts();
    let apply = |action: &OrientedPermutation, state: &Pieces| {
        let mut image = state.clone();
        for (cell, &(label, orbit, turn)) in state.iter().enumerate() {
            let (to, turned) = action.apply(cell, turn);
            image[to] = (label, orbit, turned);
        }
        image
    };
    let smallest = |state: Pieces| free.elements().iter().map(|free| apply(free, &state)).min().unwrap();
    let moves = definition.generators(Metric::Single).unwrap();
    let solved: Pieces =
        (0..orientation_counts.len()).map(|cell| (labels[cell], definition.orbit_of(cell), 0)).collect();
    layers(smallest(solved), |state| {
        let words = free.elements().iter().map(|free| apply(free, state));
        words
            .flat_map(|word| moves.iter().map(|m| smallest(apply(&m.action, &word))).collect::<Vec<_>>())
            .collect()
    })
}

/// Returns the states of a space by distance, each as its smallest word.
fn states(space: &Space) -> Vec<BTreeSet<Vec<u8>>> {
    let smallest = |word: &[u8]| space.words_of(word).min().unwrap();
    layers(smallest(space.solved()), |word| {
        let moved = (0..space.moves().len()).filter_map(|mv| {
            let mut image = vec![0; word.len()];
            space.apply(mv, word, &mut image).then(|| smallest(&image))
        });
        moved.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn reductions_preserve_growth(puzzle in all_puzzles()) {
        let Some(space) = space(&puzzle) else { return Ok(()) };
        let found: Vec<usize> = states(&space).iter().map(BTreeSet::len).collect();
        let expected: Vec<usize> = plain(&puzzle).iter().map(BTreeSet::len).collect();
        prop_assert_eq!(found, expected, "{:?}", space.encoding());
    }

    #[test]
    fn state_maps_round_trip(puzzle in all_puzzles()) {
        let Some(space) = space(&puzzle) else { return Ok(()) };
        let smallest = |word: &[u8]| space.words_of(word).min().unwrap();
        let mut known = HashMap::new();
        for word in states(&space).into_iter().flatten() {
            let pieces = space.pieces(&word);
            prop_assert_eq!(&smallest(&space.word_of_pieces(&pieces).unwrap()), &word);
            prop_assert_eq!(known.insert(pieces, word), None, "two states with the same pieces");
        }
    }

    #[test]
    fn opened_space_equals_the_original(puzzle in all_puzzles()) {
        let Some(space) = space(&puzzle) else { return Ok(()) };
        let encoding = space.encoding();
        let opened = opened(&puzzle, &encoding);
        prop_assert_eq!(&opened.encoding(), &encoding);
        prop_assert_eq!(opened.symmetries(), space.symmetries());
        prop_assert_eq!(opened.moves(), space.moves());
        prop_assert_eq!(opened.incoming_moves(), space.incoming_moves());
        prop_assert_eq!(opened.states(), space.states());
        // Some tiny spaces with free moves have no plan.
        let Ok(plan) = Plan::new(&space) else { return Ok(()) };
        let (colours, views) = (plan.colouring.of_pieces(), plan.colouring.views());
        let again = Colouring::with_axes(colours, &views, &opened).unwrap();
        prop_assert_eq!(fingerprint(&opened, &again), fingerprint(&space, &plan.colouring));
        for word in states(&space).into_iter().flatten() {
            prop_assert_eq!(opened.pieces(&word), space.pieces(&word));
        }
    }
}
