//! Compares the number of unseen elements with a list of all elements, and with known numbers.

use fathom_algebra::{OrientedPermutation, Permutation, StabiliserChain, VisibleLabel, label_stabiliser};
use num_bigint::BigUint;
use proptest::prelude::*;
use std::collections::HashSet;

/// The largest number of elements that are listed.
const MOST: usize = 30_000;

fn order(generators: &[OrientedPermutation]) -> BigUint {
    let on_points: Vec<Permutation> = generators.iter().map(OrientedPermutation::as_points).collect();
    StabiliserChain::new(generators[0].points(), &on_points).big_order()
}

/// Returns all elements; `None` if there are more than `MOST`.
fn listed(generators: &[OrientedPermutation]) -> Option<Vec<OrientedPermutation>> {
    let identity = OrientedPermutation::identity(generators[0].orientation_counts());
    let mut known = HashSet::from([identity.clone()]);
    let mut all = vec![identity];
    let mut next = 0;
    while next < all.len() && all.len() <= MOST {
        for generator in generators {
            let product = all[next].then(generator);
            if known.insert(product.clone()) {
                all.push(product);
            }
        }
        next += 1;
    }
    (all.len() <= MOST).then_some(all)
}

fn is_unseen(element: &OrientedPermutation, visible_labels: &[VisibleLabel]) -> bool {
    (0..visible_labels.len()).all(|cell| {
        visible_labels[element.cells().apply(cell)] == visible_labels[cell]
            && element.turns()[cell].is_multiple_of(visible_labels[cell].seen)
    })
}

fn parsed(cycles: &[&str], orientation_counts: &[u16]) -> Vec<OrientedPermutation> {
    cycles.iter().map(|cycles| OrientedPermutation::parse(cycles, orientation_counts).unwrap()).collect()
}

fn unseen(cycles: &[&str], orientation_counts: &[u16], labels: &[u32], seen: &[u16]) -> u64 {
    let generators = parsed(cycles, orientation_counts);
    let visible_labels: Vec<VisibleLabel> =
        labels.iter().zip(seen).map(|(&label, &seen)| VisibleLabel { label, seen }).collect();
    label_stabiliser(&generators, &order(&generators), &visible_labels).unwrap().try_into().unwrap()
}

#[test]
fn small_cases_counted_by_hand() {
    // Two labels, three pieces each: 3! 3! elements of S6 are unseen, and half as many of A6.
    let labels = [0, 0, 0, 1, 1, 1];
    assert_eq!(unseen(&["(1,2)", "(1,2,3,4,5,6)"], &[1; 6], &labels, &[1; 6]), 36);
    assert_eq!(unseen(&["(1,2,3)", "(2,3,4,5,6)"], &[1; 6], &labels, &[1; 6]), 18);
    // Two orbits with equal parities: the first has four pieces that look alike; the second has none, then
    // two.
    let tied = ["(1,2)(5,6)", "(1,2,3,4)(5,6)", "(5,6,7)", "(6,7,8)"];
    assert_eq!(unseen(&tied, &[1; 8], &[0, 0, 0, 0, 1, 2, 3, 4], &[1; 8]), 12);
    assert_eq!(unseen(&tied, &[1; 8], &[0, 0, 0, 0, 1, 1, 2, 3], &[1; 8]), 24);
    // Two orbits that are permuted in the same way.
    assert_eq!(unseen(&["(1,2)(5,6)", "(1,2,3,4)(5,6,7,8)"], &[1; 8], &[0, 0, 1, 1, 2, 2, 2, 3], &[1; 8]), 2);
    // Twists of three pieces with sum 0. If one piece hides its twist, the other two twists must be 0, and
    // then so is the third.
    let twisting = ["(1+1)(2+2)", "(2+1)(3+2)"];
    assert_eq!(unseen(&twisting, &[3; 3], &[0, 1, 2], &[3, 3, 1]), 1);
    assert_eq!(unseen(&twisting, &[3; 3], &[0, 1, 2], &[3, 1, 1]), 3);
    // Rotations of a ring of six pieces: one piece is marked, and then every other one.
    assert_eq!(unseen(&["(1,2,3,4,5,6)"], &[1; 6], &[0, 1, 1, 1, 1, 1], &[1; 6]), 1);
    assert_eq!(unseen(&["(1,2,3,4,5,6)"], &[1; 6], &[0, 1, 0, 1, 0, 1], &[1; 6]), 3);
    // A group of which every element is unseen, and a trivial group.
    assert_eq!(unseen(&["(1,2,3)(4+1)"], &[1, 1, 1, 2], &[0, 0, 0, 1], &[1, 1, 1, 1]), 6);
    assert_eq!(unseen(&["()"], &[2, 2], &[0, 1], &[2, 1]), 1);
}

/// M24 is 5-transitive, and its Golay code has 2,576 words of weight 12 (J. H. Conway, *Three lectures on
/// exceptional groups*).
#[test]
fn mathieu_group_m24() {
    // Acting on the projective line over 23 elements: x + 1, 2 x, -1/x, and x^3/9 for squares and 9 x^3 for
    // others.
    let line = |f: &dyn Fn(u64) -> Option<u64>| {
        // 23 stands for infinity.
        Permutation::from_fn(24, |x| {
            if x == 23 { f(u64::MAX) } else { f(x as u64) }.map_or(23, |y| y as usize)
        })
    };
    let inverse = |x: u64| (1..23).find(|y| x * y % 23 == 1).expect("23 is a prime");
    let shift = line(&|x| (x < 23).then(|| (x + 1) % 23));
    let double = line(&|x| (x < 23).then(|| 2 * x % 23));
    let turn = line(&|x| match x {
        0 => None,
        u64::MAX => Some(0),
        x => Some((23 - inverse(x)) % 23),
    });
    let squares: HashSet<u64> = (1..23).map(|x| x * x % 23).collect();
    let cube = line(&|x| {
        (x < 23).then(|| {
            let cube = x * x % 23 * x % 23;
            if x == 0 || squares.contains(&x) { cube * inverse(9) % 23 } else { 9 * cube % 23 }
        })
    });
    let generators = [shift, double, turn, cube].map(OrientedPermutation::from_cells);
    let all = order(&generators);
    assert_eq!(all, BigUint::from(244_823_040_u32));
    let images =
        |cells: &[usize]| -> Vec<u32> { (0..24).map(|cell| u32::from(cells.contains(&cell))).collect() };
    let number = |cells: &[usize]| -> BigUint {
        let visible_labels: Vec<VisibleLabel> =
            images(cells).into_iter().map(|label| VisibleLabel { label, seen: 1 }).collect();
        &all / label_stabiliser(&generators, &all, &visible_labels).unwrap()
    };
    // The group carries any set of up to five points to any other set of the same size.
    for (cells, sets) in [(1, 24_u32), (2, 276), (3, 2024), (4, 10626), (5, 42504)] {
        assert_eq!(number(&(0..cells).collect::<Vec<_>>()), BigUint::from(sets), "{cells}");
    }
    // The non-zero squares and zero are a dodecad of the quadratic residue code; there are 2,576 dodecads.
    let mut dodecad: Vec<usize> = squares.iter().map(|&x| x as usize).collect();
    dodecad.push(0);
    assert_eq!(number(&dodecad), BigUint::from(2576_u32));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn count_matches_enumeration(
        shape in prop::collection::vec((1..=5_usize, prop::sample::select(vec![1_u16, 1, 2, 3, 4, 6])), 1..=3),
        seeds in prop::collection::vec(any::<u64>(), 1..=3),
        marks in any::<u64>(),
    ) {
        let orientation_counts: Vec<u16> = shape.iter().flat_map(|&(cells, order)| vec![order; cells]).collect();
        let next = |state: &mut u64, below: usize| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) as usize % below
        };
        let generators: Vec<OrientedPermutation> = seeds.iter().map(|&seed| {
            let mut state = seed;
            let mut images: Vec<u16> = (0..orientation_counts.len() as u16).collect();
            let mut first = 0;
            for &(cells, _) in &shape {
                if next(&mut state, 3) > 0 {
                    for i in (1..cells).rev() {
                        images.swap(first + i, first + next(&mut state, i + 1));
                    }
                }
                first += cells;
            }
            let still = next(&mut state, 2) == 0;
            let turns: Vec<u16> =
                orientation_counts.iter().map(|&order| if still { 0 } else { next(&mut state, order.into()) as u16 }).collect();
            OrientedPermutation::new(Permutation::from_images(images).unwrap(), turns, orientation_counts.clone()).unwrap()
        }).collect();
        let mut state = marks;
        let mut visible_labels = Vec::new();
        for &(cells, order) in &shape {
            // Pieces with the same label must show equally many orientations.
            let divisors: Vec<u16> = (1..=order).filter(|seen| order.is_multiple_of(*seen)).collect();
            let seen: Vec<u16> = (0..3).map(|_| divisors[next(&mut state, divisors.len())]).collect();
            for _ in 0..cells {
                let label = next(&mut state, 3);
                visible_labels.push(VisibleLabel { label: label as u32, seen: seen[label] });
            }
        }
        if let Some(all) = listed(&generators) {
            let expected = all.iter().filter(|element| is_unseen(element, &visible_labels)).count();
            let found = label_stabiliser(&generators, &order(&generators), &visible_labels);
            prop_assert_eq!(found, Some(BigUint::from(expected)));
        }
    }
}
