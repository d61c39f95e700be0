//! State counts of puzzles with guards, by shapes and by a plain search.

use crate::search::growth;
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use fathom_puzzle::{Definition, Format, Metric, Orbit, Piece, families, family, load};
use num_bigint::BigUint;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

/// An upper bound on the number of shapes of the puzzles in these tests.
const MOST: usize = 100_000;

fn states(puzzle: &Definition) -> Option<BigUint> {
    puzzle.groupoid(MOST).and_then(|found| found.states())
}

#[test]
fn without_guards_the_count_is_the_group_order() {
    for family in families().iter().filter(|family| !family.name().starts_with("square1")) {
        let puzzle = family::by_name(family.example).unwrap();
        if !puzzle.is_plain() {
            continue;
        }
        assert!(puzzle.states().is_some());
        assert_eq!(states(&puzzle), puzzle.states().map(BigUint::from), "{}", family.example);
    }
}

#[test]
fn examples() {
    let example = |file: &str| {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
        load::load(&examples.join(file)).unwrap()
    };
    // There are 6 choose 3 ways to place three white pieces.
    assert_eq!(states(&example("two-colours.toml")), Some(20_u32.into()));
    // There are 6 * 5 ways to place two rough pieces, minus the two that block both discs.
    assert_eq!(states(&example("bandaged.toml")), Some(28_u32.into()));
    // There are 5 * 4 ways to place two rough pieces outside the window.
    assert_eq!(states(&example("limited.toml")), Some(20_u32.into()));
}

#[test]
fn limited_puzzles_are_closed_and_have_symmetries() {
    let discs = |always: &[u16]| {
        let mut puzzle = Definition::of_degree("discs", 6).unwrap();
        for (name, cycles) in
            [("L", "(1,2,3,4)"), ("L'", "(1,4,3,2)"), ("R", "(3,5,6,4)"), ("R'", "(3,4,6,5)")]
        {
            let cells = Permutation::parse(cycles, 6).unwrap();
            puzzle.add_move(name, OrientedPermutation::from_cells(cells)).unwrap();
        }
        puzzle.set_always(always).unwrap();
        puzzle.puzzle(Metric::Given).unwrap()
    };
    let all = discs(&[]).symmetries;
    // The discs can be exchanged and mirrored, which gives four symmetries. One window leaves one of them,
    // and two adjacent windows leave two.
    assert_eq!(all.len(), 4);
    for (always, symmetries) in [(&[0][..], 1), (&[0, 1], 2), (&[0, 1, 4, 5], 4), (&[0, 4], 2), (&[2, 3], 4)]
    {
        let puzzle = discs(always);
        assert!(puzzle.is_closed_under_inverses(), "{always:?}");
        assert_eq!(puzzle.symmetries.len(), symmetries, "{always:?}");
        assert!(puzzle.symmetries.iter().all(|symmetry| puzzle.is_symmetry(symmetry)), "{always:?}");
        let cells = |a: &Relabelling| always.iter().map(|&cell| a.cells().apply(cell.into())).collect();
        for symmetry in &all {
            let kept: BTreeSet<usize> = cells(symmetry);
            let is_kept =
                kept.iter().eq(always.iter().map(|&cell| usize::from(cell)).collect::<Vec<_>>().iter());
            assert_eq!(puzzle.symmetries.contains(symmetry), is_kept, "{always:?}");
        }
    }
}

/// The two edges swap places only with a flip.
#[test]
fn pieces_that_swap_places_have_the_same_kind() {
    let orbit = |name: &str, cells, orientations| Orbit { name: name.into(), cells, orientations };
    let mut puzzle = Definition::new("flip", vec![orbit("edges", 2, 2), orbit("caps", 2, 1)]).unwrap();
    let action = |images: [u16; 4], turns: [u16; 4]| {
        let cells = Permutation::from_images(images.to_vec()).unwrap();
        OrientedPermutation::new(cells, turns.to_vec(), vec![2, 2, 1, 1]).unwrap()
    };
    puzzle.add_move("U", action([0, 1, 3, 2], [0; 4])).unwrap();
    puzzle.add_guarded_move("R", action([1, 0, 2, 3], [1, 1, 0, 0]), &[2]).unwrap();
    let groupoid = puzzle.validated().unwrap().groupoid(10).unwrap();
    let kinds = groupoid.kinds();
    assert!(kinds[0] == kinds[1] && kinds[0] != 0, "{kinds:?}");
}

#[test]
fn states_fixed_by_free_moves_are_not_counted() {
    let mut puzzle = Definition::of_degree("coins", 4).unwrap();
    let add = |cycles: &str| OrientedPermutation::from_cells(Permutation::parse(cycles, 4).unwrap());
    puzzle.add_move("a", add("(1,2)")).unwrap();
    puzzle.add_free("b", add("(1,2)(3,4)")).unwrap();
    assert_eq!(states(&puzzle), Some(2_u32.into()));
    let alike = |label| Piece { label, orientation: 0, seen: 1 };
    puzzle.set_solved(&[0, 0, 1, 1].map(alike)).unwrap();
    assert_eq!(states(&puzzle), None);
}

/// Puzzles of up to five cells whose pieces have no orientation and up to three whose pieces may have one,
/// with three guarded moves, perhaps a free move, and few labels.
fn guarded() -> impl Strategy<Value = Definition> {
    let seeds = prop::collection::vec(any::<u64>(), 4);
    let labels = prop::collection::vec(0_u16..5, 8);
    (1_usize..6, 1_usize..4, 1_u16..4, seeds, labels, any::<[bool; 3]>()).prop_map(
        |(plain, turning, orientations, seeds, labels, [seen, solved_turned, free])| {
            let orbit = |name: &str, cells, orientations| Orbit { name: name.into(), cells, orientations };
            let orbits = vec![orbit("plain", plain, 1), orbit("turning", turning, orientations)];
            let mut puzzle = Definition::new("guarded", orbits).unwrap();
            for (i, &seed) in seeds.iter().enumerate() {
                // Two transpositions in each orbit leave most moves with fixed cells; a move without any
                // could not have a guard.
                let mut images: Vec<u16> = (0..puzzle.cells() as u16).collect();
                for step in 0..2 {
                    let [one, other] = [0, 8].map(|at| (seed >> (16 * step + at)) as usize);
                    images.swap(one % plain, other % plain);
                    images.swap(plain + one % turning, plain + (other >> 4) % turning);
                }
                let turns: Vec<u16> = (0..puzzle.cells())
                    .map(|cell| {
                        if cell < plain {
                            0
                        } else {
                            (seed >> (32 + 2 * (cell - plain))) as u16 % orientations
                        }
                    })
                    .collect();
                let cells = Permutation::from_images(images).unwrap();
                let action = OrientedPermutation::new(cells, turns, puzzle.orientation_counts()).unwrap();
                let fixed = (0..puzzle.cells() as u16)
                    .filter(|&cell| action.cells().apply(cell.into()) == usize::from(cell));
                let guard: Vec<u16> = fixed.filter(|cell| seed >> (40 + 2 * cell) & 3 == 3).collect();
                match i {
                    3 if free => puzzle.add_free("free", action).unwrap(),
                    3 => {}
                    _ => puzzle.add_guarded_move(format!("m{i}"), action, &guard).unwrap(),
                }
            }
            let pieces: Vec<Piece> = (0..puzzle.cells())
                .map(|cell| {
                    let orbit = puzzle.orbit_of(cell) as u16;
                    let (order, label) = (puzzle.orientation_counts()[cell], 8 * orbit + labels[cell]);
                    let turned = if solved_turned { labels[7 - cell] % order } else { 0 };
                    Piece { label, orientation: turned, seen: if seen { order } else { 1 } }
                })
                .collect();
            puzzle.set_solved(&pieces).unwrap();
            puzzle
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn state_counts_match_a_search(puzzle in guarded()) {
        let found: usize = growth(&puzzle, Metric::Given, usize::MAX).iter().sum();
        match states(&puzzle) {
            Some(states) => prop_assert_eq!(states, BigUint::from(found)),
            // The number is unknown only if a free move fixes some state.
            None => prop_assert!(!puzzle.free().is_empty()),
        }
    }

    #[test]
    fn limited_state_counts_match_a_search(
        puzzle in guarded(),
        always in prop::collection::vec(0_u16..8, 0..3),
        never in prop::collection::vec((0_u16..8, 0_u16..8), 0..4),
    ) {
        // Inverses are listed, because repeating a possible move may lead to an excluded state.
        let mut limited = Definition::new("limited", puzzle.orbits().to_vec()).unwrap();
        limited.set_solved(puzzle.solved()).unwrap();
        for generator in puzzle.generators(Metric::Single).unwrap() {
            limited.add_guarded_move(generator.name, generator.action, &generator.guard).unwrap();
        }
        let cells = puzzle.cells() as u16;
        limited.set_always(&always.into_iter().map(|cell| cell % cells).collect::<Vec<_>>()).unwrap();
        let label = |cell: u16| puzzle.solved()[usize::from(cell)].label;
        let never = never.into_iter().map(|(cell, piece)| (cell % cells, piece % cells));
        limited.set_never(&never.filter(|&(cell, piece)| label(cell) != label(piece)).collect::<Vec<_>>()).unwrap();
        let found: usize = growth(&limited, Metric::Given, usize::MAX).iter().sum();
        prop_assert_eq!(states(&limited), Some(BigUint::from(found)));
        if !limited.moves().is_empty() {
            prop_assert_eq!(&load::parse(&limited.to_toml(), Format::Toml, "x").unwrap(), &limited);
        }
    }
}
