//! Puzzles given by facelets have the states of the group, whatever pieces are found.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Definition, Metric, Orbit};
use fathom_space::{CosetGraph, Labels, Plan, Space};
use std::collections::{HashMap, HashSet};

fn definition(cycles: &[&str], degree: usize) -> Definition {
    let mut definition = Definition::of_degree("facelets", degree).unwrap();
    for (number, cycles) in (1..).zip(cycles) {
        let action = Permutation::parse(cycles, degree).unwrap();
        definition.add_move(format!("g{number}"), OrientedPermutation::from_cells(action)).unwrap();
    }
    definition
}

fn space(definition: &Definition) -> Space {
    let labels = Labels::distinct(definition.cells());
    Space::new(definition.puzzle(Metric::Single).unwrap(), Metric::Single, labels).unwrap()
}

/// Returns the numbers of elements by distance from the identity.
fn growth(definition: &Definition) -> (Vec<usize>, Vec<Permutation>) {
    let generators = definition.generators(Metric::Single).unwrap();
    let identity = Permutation::identity(definition.cells());
    let mut all = vec![identity.clone()];
    let mut known = HashSet::from([identity]);
    let (mut counts, mut begin) = (vec![1], 0);
    while begin < all.len() {
        let end = all.len();
        for at in begin..end {
            for generator in &generators {
                let next = all[at].then(generator.action.cells());
                if known.insert(next.clone()) {
                    all.push(next);
                }
            }
        }
        counts.extend((all.len() > end).then_some(all.len() - end));
        begin = end;
    }
    (counts, all)
}

/// The group, the number of its points, and the number of cells of words: the cells of pieces, where a piece
/// that turns and never leaves its cell has a ring.
const GROUPS: [(&[&str], usize, usize); 11] = [
    // Edges with two facelets each, in one orbit.
    (&["(1,3,5)(2,4,6)", "(1,4)(2,3)"], 6, 3),
    // The same beside two points that nothing moves, in another order.
    (&["(8,3,5)(2,4,6)", "(8,4)(2,3)"], 8, 4),
    // Three corners with three facelets.
    (&["(1,4,8,2,5,9,3,6,7)", "(1,4)(2,5)(3,6)"], 9, 3),
    // The same with a second orbit, which moves with the first, and a third, which distinguishes the corners.
    (
        &[
            "(1,4,8,2,5,9,3,6,7)(11,14,18,12,15,19,13,16,17)(21,22,23)",
            "(1,4)(2,5)(3,6)(11,14)(12,15)(13,16)(21,22)",
        ],
        23,
        6 + 1,
    ),
    // Two edges of which one move turns both, so that facelets of both are fixed together.
    (&["(1,3)(2,4)", "(1,2)(3,4)"], 4, 4),
    // A piece of six orientations that stays.
    (&["(1,2,3,4,5,6)"], 6, 6),
    // The non-cyclic group of order six, acting regularly on six points.
    (&["(1,2,3)(4,6,5)", "(1,4)(2,5)(3,6)"], 6, 6),
    // The symmetries of a hexagon: opposite points are a piece.
    (&["(1,2,3,4,5,6)", "(1,6)(2,5)(3,4)"], 6, 3),
    // No two points belong to the same piece.
    (&["(1,2,3,4,5)", "(1,2)"], 5, 5),
    // Two orbits that move in the same way: pieces that do not turn, with two facelets each.
    (&["(1,2,3)(4,5,6)", "(1,2)(4,5)"], 6, 3),
    // Edges and corners, whose permutations are of one parity.
    (&["(1,3)(2,4)(7,10)(8,11)(9,12)", "(1,4,5)(2,3,6)(7,11,13)(8,12,14)(9,10,15)"], 15, 6),
];

#[test]
fn words_and_elements_correspond() {
    for (cycles, degree, cells) in GROUPS {
        let definition = definition(cycles, degree);
        let space = space(&definition);
        assert_eq!(space.cells(), cells, "{cycles:?}");
        let (_, elements) = growth(&definition);
        assert_eq!(space.states().to_string(), elements.len().to_string(), "{cycles:?}");
        let is_member = space.membership().unwrap();
        let mut words = HashMap::new();
        for element in &elements {
            let word = space.word(&OrientedPermutation::from_cells(element.clone()));
            // The facelet f is at the place to which the element carries f.
            let mut seen = vec![(0, 0); degree];
            (0..degree).for_each(|facelet| seen[element.apply(facelet)] = (facelet as u16, 0));
            assert_eq!(space.pieces(&word), seen, "{cycles:?}");
            assert_eq!(space.word_of_pieces(&seen).unwrap(), word);
            assert!(is_member(&seen.iter().map(|&(facelet, _)| facelet).collect::<Vec<_>>()));
            assert_eq!(words.insert(word, element), None, "{cycles:?}");
        }
        let mut swapped: Vec<u16> = (0..degree as u16).collect();
        swapped.swap(0, degree - 1);
        let exchange = Permutation::from_images(swapped.clone());
        assert_eq!(is_member(&swapped), elements.contains(&exchange.unwrap()), "{cycles:?}");
    }
}

/// Each symmetry maps the states of each distance to states of that distance.
#[test]
fn symmetries_keep_distances() {
    for (cycles, degree, _) in GROUPS {
        let definition = definition(cycles, degree);
        let space = space(&definition);
        let (counts, elements) = growth(&definition);
        let depths = counts.iter().enumerate().flat_map(|(depth, &count)| vec![depth; count]);
        let words = elements.iter().map(|e| space.word(&OrientedPermutation::from_cells(e.clone())));
        let depth_of: HashMap<Vec<u8>, usize> = words.zip(depths).collect();
        for (word, depth) in &depth_of {
            for symmetry in space.symmetries() {
                assert_eq!(depth_of.get(&space.image(symmetry, word)), Some(depth), "{cycles:?}");
            }
        }
    }
}

/// The 24 facelets of the corners of a cube: the six faces have the symmetries of the cube, and all of them
/// are used. Before pieces were found, sixteen were, and a layer took 212 GiB.
#[test]
fn cube_corner_facelets_become_pieces() {
    let stickers = [
        "(1,3,9,7)(17,41,33,29)(19,47,31,23)",
        "(51,53,59,57)(11,27,39,43)(13,21,37,49)",
        "(21,23,29,27)(1,31,59,11)(7,37,53,17)",
        "(41,43,49,47)(3,13,57,33)(9,19,51,39)",
        "(11,13,19,17)(1,21,51,41)(3,23,53,43)",
        "(31,33,39,37)(7,47,57,27)(9,49,59,29)",
    ];
    let definition = definition(&stickers, 59);
    let labels = Labels::distinct(59);
    let space = Space::new(definition.puzzle(Metric::Multi).unwrap(), Metric::Multi, labels).unwrap();
    assert_eq!(space.states().to_string(), "88179840");
    let plan = Plan::new(&space).unwrap();
    assert_eq!((plan.symmetries_used, space.symmetries().len()), (48, 48));
    assert!(CosetGraph::build(&space, &plan.colouring).unwrap().len() < 4000);
}

/// The images of cells, and the turns of the pieces that leave them.
type Action<'a> = (&'a [u16], &'a [u16]);

/// Puzzles whose pieces have orientations: the numbers of orientations of cells, the generators, and the
/// number of symbols of words.
const ORIENTED: [(&[u16], &[Action<'_>], usize); 3] = [
    // Each piece is turned whenever it comes to one of the first two cells from the others, and back.
    (&[2, 2, 2, 2], &[(&[1, 2, 3, 0], &[0, 1, 0, 1]), (&[1, 0, 2, 3], &[0, 0, 0, 0])], 4),
    // The turns of two pieces that exchange cells are their own.
    (&[2, 2], &[(&[1, 0], &[0, 0]), (&[0, 1], &[1, 0])], 4),
    // Three pieces that turn as they come to the first cell and as they leave it.
    (&[3, 3, 3], &[(&[1, 2, 0], &[1, 0, 2]), (&[1, 0, 2], &[1, 2, 0])], 3),
];

/// Orientations that follow from the positions of pieces are not symbols, and words have the states of the
/// group.
#[test]
fn implied_orientations_are_not_symbols() {
    for (orientation_counts, generators, symbols) in ORIENTED {
        let orbit = Orbit {
            name: "pieces".into(),
            cells: orientation_counts.len(),
            orientations: orientation_counts[0],
        };
        let mut definition = Definition::new("pieces", vec![orbit]).unwrap();
        let actions = generators.iter().map(|(images, turns)| {
            let cells = Permutation::from_images(images.to_vec()).unwrap();
            OrientedPermutation::new(cells, turns.to_vec(), orientation_counts).unwrap()
        });
        let actions: Vec<OrientedPermutation> = actions.collect();
        for (number, action) in (1..).zip(&actions) {
            definition.add_move(format!("g{number}"), action.clone()).unwrap();
        }
        let space = space(&definition);
        assert_eq!(space.symbols().count(), symbols, "{orientation_counts:?}");
        let mut elements = vec![OrientedPermutation::identity(orientation_counts)];
        let mut known: HashSet<OrientedPermutation> = elements.iter().cloned().collect();
        let mut at = 0;
        while let Some(element) = elements.get(at).cloned() {
            elements
                .extend(actions.iter().map(|a| element.then(a)).filter(|next| known.insert(next.clone())));
            at += 1;
        }
        assert_eq!(space.states().to_string(), elements.len().to_string(), "{orientation_counts:?}");
        let mut words = HashSet::new();
        for element in &elements {
            let word = space.word(element);
            let mut seen = vec![(0, 0); orientation_counts.len()];
            for (piece, &order) in orientation_counts.iter().enumerate() {
                let (cell, orientation) = element.apply(piece, 0);
                seen[cell] = (piece as u16, orientation as u8);
                assert!(space.comes_to(piece, cell) && space.shown(piece) == order);
            }
            assert_eq!(space.pieces(&word), seen, "{orientation_counts:?}");
            assert_eq!(space.word_of_pieces(&seen).unwrap(), word, "{orientation_counts:?}");
            assert!(words.insert(word), "{orientation_counts:?}");
        }
        assert!(space.has_turns());
    }
}
