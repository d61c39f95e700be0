//! Compares the number of states that `states_by_orbits` counts with the number that a stabiliser chain
//! gives.

use fathom_algebra::{
    OrientedPermutation, Permutation, StabiliserChain, VisibleLabel, label_stabiliser, states_by_orbits,
};
use num_bigint::BigUint;

fn shuffled(random: &mut fastrand::Rng, n: usize) -> Vec<usize> {
    let mut images: Vec<usize> = (0..n).collect();
    random.shuffle(&mut images);
    images
}

/// Returns four random actions on orbits, each given by its number of cells and of orientations. With
/// `keeps_sums` all twists of an orbit have sum 0; with `is_tied` an action has the same parity on all
/// orbits.
fn actions(
    random: &mut fastrand::Rng,
    orbits: &[(usize, u16)],
    keeps_sums: bool,
    is_tied: bool,
) -> Vec<OrientedPermutation> {
    let one = |random: &mut fastrand::Rng| {
        let (mut images, mut turns, mut orientation_counts) = (Vec::new(), Vec::new(), Vec::new());
        let mut parity = None;
        for &(n, order) in orbits {
            let first = images.len();
            let mut of_orbit = shuffled(random, n);
            let is_even = |images: &[usize]| Permutation::from_fn(n, |i| images[i]).is_even();
            if is_tied && n > 1 && *parity.get_or_insert(is_even(&of_orbit)) != is_even(&of_orbit) {
                of_orbit.swap(0, 1);
            }
            images.extend(of_orbit.iter().map(|&to| first + to));
            let mut twists: Vec<u16> = (0..n).map(|_| random.u16(..order)).collect();
            if keeps_sums {
                let rest: u16 = twists[1..].iter().sum();
                twists[0] = (order - rest % order) % order;
            }
            turns.extend(twists);
            orientation_counts.extend(vec![order; n]);
        }
        OrientedPermutation::new(Permutation::from_fn(images.len(), |i| images[i]), turns, orientation_counts)
            .unwrap()
    };
    (0..4).map(|_| one(random)).collect()
}

fn by_chain(actions: &[OrientedPermutation], visible_labels: &[VisibleLabel]) -> BigUint {
    let points: Vec<Permutation> = actions.iter().map(OrientedPermutation::as_points).collect();
    let order = StabiliserChain::new(points[0].degree(), &points).big_order();
    &order / label_stabiliser(actions, &order, visible_labels).unwrap()
}

fn all_shown(action: &OrientedPermutation) -> Vec<VisibleLabel> {
    action.orientation_counts().iter().zip(0..).map(|(&seen, label)| VisibleLabel { label, seen }).collect()
}

#[test]
fn both_methods_agree() {
    let mut random = fastrand::Rng::with_seed(13);
    for orbits in
        [&[(8, 3), (12, 2)][..], &[(9, 1), (8, 1), (4, 3)], &[(8, 4), (1, 4), (8, 1)], &[(10, 6), (5, 1)]]
    {
        for (keeps_sums, is_tied) in [(true, true), (true, false), (false, true), (false, false)] {
            let actions = actions(&mut random, orbits, keeps_sums, is_tied);
            let visible_labels = all_shown(&actions[0]);
            let states = states_by_orbits(&actions, &visible_labels);
            assert_eq!(
                states,
                Some(by_chain(&actions, &visible_labels)),
                "{orbits:?} {keeps_sums} {is_tied}"
            );
            // Three pieces in a row of an orbit look alike, and every second group of three hides its
            // orientations.
            let alike: Vec<VisibleLabel> = orbits
                .iter()
                .enumerate()
                .flat_map(|(orbit, &(n, order))| {
                    (0..n as u32).map(move |cell| VisibleLabel {
                        label: 100 * orbit as u32 + cell / 3,
                        seen: if (cell / 3).is_multiple_of(2) { order } else { 1 },
                    })
                })
                .collect();
            let states = states_by_orbits(&actions, &alike);
            assert_eq!(states, Some(by_chain(&actions, &alike)), "{orbits:?} {keeps_sums} {is_tied}, alike");
        }
    }
}

/// Corners of three stickers, edges of two stickers, and wings with two stickers in different orbits.
#[test]
fn stickers_of_a_piece_count_once() {
    let mut random = fastrand::Rng::with_seed(7);
    let pieces = actions(&mut random, &[(8, 3), (12, 2), (9, 1)], true, true);
    let states = by_chain(&pieces, &all_shown(&pieces[0]));
    let stickers = pieces.iter().map(|action| {
        let points = action.as_points();
        let wings = points.degree() - 9;
        let image = |i: usize| {
            if i < points.degree() { points.apply(i) } else { points.apply(wings + i - points.degree()) + 9 }
        };
        OrientedPermutation::from_cells(Permutation::from_fn(points.degree() + 9, image))
    });
    let stickers: Vec<OrientedPermutation> = stickers.collect();
    assert_eq!(states_by_orbits(&stickers, &all_shown(&stickers[0])), Some(states));
}

/// Corners that turn, edges of two stickers, and wings with two stickers in different orbits.
#[test]
fn stickers_and_turning_pieces_are_combined() {
    let mut random = fastrand::Rng::with_seed(8);
    let pieces = actions(&mut random, &[(8, 3), (12, 2), (9, 1)], true, false);
    let states = by_chain(&pieces, &all_shown(&pieces[0]));
    let mixed = pieces.iter().map(|action| {
        // 8 corners, 24 stickers of edges, and 18 stickers of wings.
        let image = |i: usize| match i {
            0..8 => action.cells().apply(i),
            8..32 => {
                let (cell, side) = (8 + (i - 8) / 2, (i - 8) % 2);
                let turned = (side + usize::from(action.turns()[cell])) % 2;
                8 + 2 * (action.cells().apply(cell) - 8) + turned
            }
            _ => 32 + action.cells().apply(20 + (i - 32) % 9) - 20 + (i - 32) / 9 * 9,
        };
        let turns = [&action.turns()[..8], &[0; 42]].concat();
        let orientation_counts = [[3; 8].as_slice(), &[1; 42]].concat();
        OrientedPermutation::new(Permutation::from_fn(50, image), turns, orientation_counts).unwrap()
    });
    let mixed: Vec<OrientedPermutation> = mixed.collect();
    assert_eq!(states_by_orbits(&mixed, &all_shown(&mixed[0])), Some(states));
}

/// Wings have one orientation on each cell, which depends on the cell. So the visible orientation of a wing
/// determines the mark of its home cell, even if wings have equal labels.
#[test]
fn pieces_with_one_orientation_per_cell_do_not_turn() {
    let mut random = fastrand::Rng::with_seed(9);
    let still = actions(&mut random, &[(9, 1), (8, 3)], true, false);
    let turned: Vec<OrientedPermutation> = still
        .iter()
        .map(|action| {
            let mark = |cell: usize| (cell % 4) as u16;
            let turn = |cell: usize| match cell {
                0..9 => (mark(action.cells().apply(cell)) + 4 - mark(cell)) % 4,
                _ => action.turns()[cell],
            };
            let orientation_counts = [[4; 9].as_slice(), &[3; 8]].concat();
            let turns: Vec<u16> = (0..17).map(turn).collect();
            OrientedPermutation::new(action.cells().clone(), turns, orientation_counts).unwrap()
        })
        .collect();
    let visible_labels = all_shown(&turned[0]);
    let states = by_chain(&still, &all_shown(&still[0]));
    assert_eq!(states_by_orbits(&turned, &visible_labels), Some(states));
    for seen in [1, 2, 4] {
        let alike = visible_labels.iter().map(|piece| match piece.label {
            0..9 => VisibleLabel { label: piece.label / 5, seen },
            _ => *piece,
        });
        let alike: Vec<VisibleLabel> = alike.collect();
        assert_eq!(states_by_orbits(&turned, &alike), Some(by_chain(&turned, &alike)), "{seen}");
    }
}

/// The order of the group of Rubik's cube is 43,252,003,274,489,856,000. (D. Singmaster, *Notes on Rubik's
/// Magic Cube*, 1981.) The random actions satisfy its laws: twists of sum 0, and equal parities.
#[test]
fn rubiks_cube() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut cube = actions(&mut random, &[(8, 3), (12, 2)], true, true);
    // All random actions may be even; this action is odd on corners and on edges.
    let swap = |i| {
        [1, 0].get(i).copied().unwrap_or(if i == 8 {
            9
        } else if i == 9 {
            8
        } else {
            i
        })
    };
    let swap = Permutation::from_fn(20, swap);
    cube.push(OrientedPermutation::new(swap, vec![0; 20], cube[0].orientation_counts()).unwrap());
    let states = states_by_orbits(&cube, &all_shown(&cube[0])).unwrap();
    assert_eq!(states.to_string(), "43252003274489856000");
}

/// M11 has no cycle of length 7, and two orbits that are permuted in the same way are not counted if the
/// pieces of one of them turn.
#[test]
fn other_groups_are_not_counted() {
    let parse = |cycles: &str| OrientedPermutation::from_cells(Permutation::parse(cycles, 11).unwrap());
    let m11 = ["(1,2,3,4,5,6,7,8,9,10,11)", "(3,7,11,8)(4,10,5,6)"].map(parse);
    assert_eq!(states_by_orbits(&m11, &all_shown(&m11[0])), None);
    let mut random = fastrand::Rng::with_seed(5);
    let twins = actions(&mut random, &[(8, 3)], false, false).into_iter().map(|action| {
        let cells = Permutation::from_fn(16, |i| action.cells().apply(i % 8) + i / 8 * 8);
        let turns: Vec<u16> = action.turns().iter().copied().chain([0; 8]).collect();
        OrientedPermutation::new(cells, turns, [vec![3; 8], vec![3; 8]].concat()).unwrap()
    });
    let twins: Vec<OrientedPermutation> = twins.collect();
    assert_eq!(states_by_orbits(&twins, &all_shown(&twins[0])), None);
}

/// Random elements of such a group have orders of more than 64 bits.
#[test]
fn orbits_may_have_thousands_of_cells() {
    let mut random = fastrand::Rng::with_seed(5);
    let (n, order) = (2000, 3_u16);
    let actions = actions(&mut random, &[(n, order)], true, false);
    // All permutations, with all twists of sum 0.
    let states: BigUint =
        (1..=n as u32).map(BigUint::from).product::<BigUint>() * BigUint::from(order).pow(n as u32 - 1);
    assert_eq!(states_by_orbits(&actions, &all_shown(&actions[0])), Some(states));
}

/// Pieces that look alike when one of them is turned, where all pieces turn by the same amount, so that this
/// amount distinguishes two of them. The stickers are shuffled, so that the code that orders the stickers of
/// a piece cannot rely on their labels.
#[test]
fn pieces_that_look_alike_when_turned() {
    let mut random = fastrand::Rng::with_seed(10);
    for (n, order) in [(4, 2), (5, 2), (7, 2), (6, 3)] {
        for round in 0..20 {
            let stickers = n * order;
            let number = shuffled(&mut random, stickers);
            let action = |pieces: &[usize], turn: usize| {
                let mut images = vec![0; stickers];
                for point in 0..stickers {
                    let to = pieces[point / order] * order + (point + turn) % order;
                    images[number[point]] = number[to];
                }
                OrientedPermutation::from_cells(Permutation::from_fn(stickers, |sticker| images[sticker]))
            };
            let cycle: Vec<usize> = (0..n).map(|piece| (piece + 1) % n).collect();
            let swap: Vec<usize> = (0..n).map(|piece| if piece < 2 { 1 - piece } else { piece }).collect();
            let stay: Vec<usize> = (0..n).collect();
            let actions = [action(&cycle, 0), action(&swap, 0), action(&stay, 1)];
            // Two pieces have the same look, starting at a random sticker.
            let mut visible_labels = vec![VisibleLabel { label: 0, seen: 1 }; stickers];
            for piece in 0..n {
                let from = random.usize(..order);
                for side in 0..order {
                    let point = order * piece + (from + side) % order;
                    visible_labels[number[point]].label = (piece / 2 * order + side) as u32;
                }
            }
            let states = states_by_orbits(&actions, &visible_labels);
            assert_eq!(
                states,
                Some(by_chain(&actions, &visible_labels)),
                "{n} of {order} stickers, round {round}"
            );
        }
    }
}
