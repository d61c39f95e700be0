//! Well-known groups: their orders, transitivity and kinds, and elements that are not in them.

use fathom_algebra::{Ball, Factoriser, Group, Kind, NonMembership, Permutation};
use num_bigint::BigUint;
use proptest::prelude::*;

fn group(degree: usize, generators: &[&str]) -> Group {
    Group::new(degree, generators.iter().map(|g| Permutation::parse(g, degree).unwrap()).collect())
}

/// Rubik's cube on its 48 stickers, with faces in the order up, left, front, right, back, down, as in
/// `CubeGroup` of SageMath.
fn rubik() -> Group {
    let turns = [
        "(1,3,8,6)(2,5,7,4)(9,33,25,17)(10,34,26,18)(11,35,27,19)",
        "(9,11,16,14)(10,13,15,12)(1,17,41,40)(4,20,44,37)(6,22,46,35)",
        "(17,19,24,22)(18,21,23,20)(6,25,43,16)(7,28,42,13)(8,30,41,11)",
        "(25,27,32,30)(26,29,31,28)(3,38,43,19)(5,36,45,21)(8,33,48,24)",
        "(33,35,40,38)(34,37,39,36)(3,9,46,32)(2,12,47,29)(1,14,48,27)",
        "(41,43,48,46)(42,45,47,44)(14,22,30,38)(15,23,31,39)(16,24,32,40)",
    ];
    group(48, &turns)
}

/// The group of the maps x -> x + 1 and x -> -1/x of the projective line over p elements. The last point is
/// infinity.
fn psl2(p: usize) -> Group {
    let inverse = |x: usize| (1..p).find(|y| x * y % p == 1).expect("p is prime");
    let translation = Permutation::from_fn(p + 1, |x| if x == p { p } else { (x + 1) % p });
    let inversion = Permutation::from_fn(p + 1, |x| match x {
        0 => p,
        x if x == p => 0,
        x => p - inverse(x),
    });
    Group::new(p + 1, vec![translation, inversion])
}

#[test]
fn mathieu_groups() {
    // The generators are those of the ATLAS of finite groups (the first M11) and of `MathieuGroup` of GAP
    // (the others). The orders and transitivities are in J. Dixon and B. Mortimer, *Permutation
    // groups*, chapter 6.
    let eleven = "(1,2,3,4,5,6,7,8,9,10,11)";
    let twelve = [eleven, "(3,7,11,8)(4,10,5,6)", "(1,12)(2,11)(3,6)(4,8)(5,9)(7,10)"];
    let twenty_four = [
        "(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23)",
        "(3,17,10,7,9)(4,13,14,19,5)(8,18,11,12,23)(15,20,22,21,16)",
        "(1,24)(2,23)(3,12)(4,16)(5,18)(6,10)(7,20)(8,14)(9,21)(11,17)(13,22)(15,19)",
    ];
    for (group, order, transitivity) in [
        (group(11, &["(2,10)(4,11)(5,7)(8,9)", "(1,4,3,8)(2,5,6,9)"]), 7_920_u32, 4),
        (group(11, &twelve[..2]), 7_920, 4),
        (group(12, &twelve), 95_040, 5),
        (group(24, &twenty_four[..2]), 10_200_960, 4),
        (group(24, &twenty_four), 244_823_040, 5),
    ] {
        assert_eq!(group.order(), BigUint::from(order));
        assert_eq!(group.transitivity(), transitivity);
        assert_eq!(group.kind(), Kind::Other);
        assert_eq!(group.orbits().len(), 1);
        assert_eq!(group.orbits()[0].blocks, None);
        assert_eq!(group.odd_generators(), 0);
    }
}

#[test]
fn projective_groups() {
    // PSL(2, p) has p (p² - 1) / 2 elements for odd p, and is primitive. PSL(2, 5) is A5 on 6 points.
    for p in [5_usize, 7, 11, 13, 29, 61] {
        let group = psl2(p);
        assert_eq!(group.order(), BigUint::from(p * (p * p - 1) / 2), "p = {p}");
        assert_eq!(group.kind(), Kind::Other);
        assert_eq!(group.transitivity(), 2);
        assert_eq!(group.orbits()[0].blocks, None);
    }
    assert_eq!(psl2(3).kind(), Kind::Alternating(4));
}

#[test]
fn rubiks_cube() {
    let cube = rubik();
    assert_eq!(cube.order(), "43252003274489856000".parse().unwrap());
    assert_eq!(cube.chain().order(), Some(43_252_003_274_489_856_000));
    assert_eq!((cube.kind(), cube.transitivity(), cube.odd_generators()), (Kind::Other, 0, 6));
    // The stickers of a corner or an edge are a block.
    let [corners, edges] = cube.orbits() else { panic!("two orbits") };
    assert_eq!((corners.points.len(), edges.points.len()), (24, 24));
    assert_eq!(corners.blocks.as_ref().unwrap()[0], [0, 8, 34]);
    assert_eq!(edges.blocks.as_ref().unwrap()[0], [1, 33]);
    // The laws of the cube: no sticker of a corner goes to an edge, no single edge flips, no single corner
    // twists, and no single pair of corners is swapped.
    let why_not = |cycles| cube.why_not(&Permutation::parse(cycles, 48).unwrap());
    assert_eq!(why_not("(1,2)"), Some(NonMembership::Orbit { from: 0, to: 1 }));
    assert_eq!(why_not("(2,34)"), Some(NonMembership::Turned { block: vec![1, 33], alone: true }));
    assert_eq!(why_not("(1,9,35)"), Some(NonMembership::Turned { block: vec![0, 8, 34], alone: true }));
    let exchanged = NonMembership::BlockParity { points: vec![], blocks: vec![0, 1] };
    assert_eq!(why_not("(1,3)(9,33)(35,27)"), Some(exchanged));
    assert_eq!(why_not("(1,3,8,6)(2,5,7,4)(9,33,25,17)(10,34,26,18)(11,35,27,19)"), None);
}

#[test]
fn symmetric_alternating_and_neither() {
    for (degree, generators, kind, transitivity) in [
        (5, &[][..], Kind::Trivial, 0),
        (5, &["()"], Kind::Trivial, 0),
        (2, &["(1,2)"], Kind::Symmetric(2), 2),
        (5, &["(2,3)", "(3,4)", "(4,5)"], Kind::Symmetric(4), 4),
        (3, &["(1,2,3)"], Kind::Alternating(3), 1),
        (7, &["(1,2,3)", "(3,4,5,6,7)"], Kind::Alternating(7), 5),
        (4, &["(1,2,3,4)"], Kind::Other, 1),
        // A group of order 4 on two orbits.
        (4, &["(1,2)", "(3,4)"], Kind::Other, 0),
        (7, &["(1,2,3)", "(4,5,6,7)"], Kind::Other, 0),
    ] {
        let group = group(degree, generators);
        assert_eq!((group.kind(), group.transitivity()), (kind, transitivity), "{generators:?}");
    }
}

#[test]
fn parities_of_several_orbits_are_combined() {
    // Each generator is odd on two of the three orbits, so every element is odd on an even number of
    // them.
    let group = group(6, &["(1,2)(3,4)", "(3,4)(5,6)"]);
    let why_not = |cycles| group.why_not(&Permutation::parse(cycles, 6).unwrap());
    assert_eq!(why_not("(1,2)"), Some(NonMembership::Parity { orbits: vec![0, 1, 2] }));
    assert_eq!(why_not("(1,2)(3,4)(5,6)"), Some(NonMembership::Parity { orbits: vec![0, 1, 2] }));
    assert_eq!(why_not("(1,2)(5,6)"), None);
}

/// Two triangles that turn only together.
#[test]
fn tied_orbits_are_reported() {
    let generators = vec![Permutation::parse("(1,2,3)(4,5,6)(7,8)", 8).unwrap()];
    let group = Group::new(8, generators);
    let why_not = |cycles| group.why_not(&Permutation::parse(cycles, 8).unwrap());
    assert_eq!(why_not("(1,2,3)"), Some(NonMembership::Together { orbits: vec![0, 1] }));
    assert_eq!(why_not("(1,2,3)(4,6,5)(7,8)"), Some(NonMembership::Together { orbits: vec![0, 1] }));
    assert_eq!(why_not("(1,2,3)(4,5,6)"), None);
}

/// The maps x -> a x + b of the integers modulo 29, of which there are 29 * 28. They are a translation and a
/// power of x -> 2 x, because 2 generates the integers that are not 0.
#[test]
fn words_use_powers_beyond_the_sixth() {
    let maps = [Permutation::from_fn(29, |x| (x + 1) % 29), Permutation::from_fn(29, |x| 2 * x % 29)];
    let group = Group::new(29, maps.to_vec());
    assert_eq!(group.order(), BigUint::from(29_u32 * 28));
    let factoriser = Factoriser::new(&group);
    for factor in 0..28 {
        for summand in 0..29 {
            let element = maps[1].power(factor).then(&maps[0].power(summand));
            let moves = usize::from(factor != 0) + usize::from(summand != 0);
            assert_eq!(factoriser.factor(&element).unwrap().len(), moves, "2^{factor} x + {summand}");
        }
    }
}

/// Two orbits of 40 points, on which two generators act independently: words along the stabiliser chain would
/// be astronomically long.
#[test]
fn only_short_words_are_found_without_transversals() {
    let mut random = fastrand::Rng::with_seed(1);
    let generators = [(); 2].map(|()| {
        let [mut left, mut right] = [0..40_u16, 40..80].map(|points| points.collect::<Vec<_>>());
        random.shuffle(&mut left);
        random.shuffle(&mut right);
        left.append(&mut right);
        Permutation::from_images(left).unwrap()
    });
    let group = Group::new(80, generators.to_vec());
    assert_eq!(group.orbits().len(), 2);
    let factoriser = Factoriser::new(&group);
    let product = |moves: &[usize]| {
        moves.iter().fold(Permutation::identity(80), |product, &m| product.then(&generators[m]))
    };
    // Four moves, because A A is one, and six, which are found by halves.
    for (moves, most) in [(&[0, 1, 0, 0, 1][..], 4), (&[0, 1, 0, 1, 0, 1][..], 6)] {
        let element = product(moves);
        let word = factoriser.factor(&element).unwrap();
        assert!(word.len() <= most, "{word:?}");
        assert_eq!(word.product(80, &generators), element);
    }
    let outside = Permutation::parse("(1,41)", 80).unwrap();
    assert_eq!(factoriser.factor(&outside), None);
    let far = product(&[0, 1].repeat(100));
    assert_eq!((factoriser.factor(&far), group.why_not(&far)), (None, None));
}

fn permutation(degree: usize) -> impl Strategy<Value = Permutation> {
    let images: Vec<u16> = (0..degree as u16).collect();
    Just(images).prop_shuffle().prop_map(|images| Permutation::from_images(images).unwrap())
}

proptest! {
    #[test]
    fn non_membership_reasons_are_true(
        generators in proptest::collection::vec(permutation(6), 0..3),
        element in permutation(6),
        // The test needs small groups, which powers of random permutations often generate.
        squares in 1_i64..5,
    ) {
        let generators: Vec<_> = generators.iter().map(|g| g.power(squares)).collect();
        let elements = Ball::new(6, &generators, 1000).elements().to_vec();
        let group = Group::new(6, generators);
        prop_assert_eq!(group.order(), BigUint::from(elements.len()));
        let odd_on = |p: &Permutation, orbits: &[usize]| {
            let inside = |cycle: &&Vec<usize>| {
                orbits.iter().any(|&orbit| group.orbits()[orbit].points.contains(&cycle[0]))
            };
            p.cycles().iter().filter(inside).map(|cycle| cycle.len() - 1).sum::<usize>() % 2 == 1
        };
        match group.why_not(&element) {
            None => prop_assert!(elements.contains(&element)),
            Some(NonMembership::Orbit { from, to }) => {
                prop_assert_eq!(element.apply(from), to);
                prop_assert!(elements.iter().all(|g| g.apply(from) != to));
            }
            Some(NonMembership::Parity { orbits }) => {
                prop_assert!(odd_on(&element, &orbits));
                prop_assert!(elements.iter().all(|g| !odd_on(g, &orbits)));
            }
            Some(NonMembership::Torn { block }) => {
                let same = |g: &Permutation| block.iter().all(|&point| g.apply(point) == element.apply(point));
                prop_assert!(!elements.iter().any(same));
            }
            Some(NonMembership::Turned { block, alone }) => {
                prop_assert!(!elements.contains(&element));
                let orbit = group.orbits().iter().find(|orbit| orbit.points.contains(&block[0])).unwrap();
                let moves = |point: usize| element.apply(point) != point;
                prop_assert!(!alone || orbit.points.iter().all(|&p| !moves(p) || block.contains(&p)));
                // Some element of the group differs only on points that move to the block.
                let differs = |g: &Permutation, p: usize| g.apply(p) != element.apply(p);
                let all_but = |g: &&Permutation| (0..6).all(|p| !differs(g, p) || block.contains(&element.apply(p)));
                prop_assert!(elements.iter().any(|g| all_but(&g)));
            }
            Some(NonMembership::BlockParity { points, blocks }) => {
                let blocks_odd = |p: &Permutation, orbit: usize| {
                    let blocks = group.orbits()[orbit].blocks.as_ref().unwrap();
                    let to = |block: &Vec<usize>| blocks.iter().position(|b| b.contains(&p.apply(block[0])));
                    let images: Vec<u16> = blocks.iter().map(|block| to(block).unwrap() as u16).collect();
                    !Permutation::from_images(images).unwrap().is_even()
                };
                let odd = |p: &Permutation| {
                    blocks.iter().filter(|&&orbit| blocks_odd(p, orbit)).count() % 2 == usize::from(!odd_on(p, &points))
                };
                prop_assert!(odd(&element));
                prop_assert!(!elements.iter().any(odd));
            }
            Some(NonMembership::Together { orbits }) => {
                let agrees = |g: &Permutation, orbits: &[usize]| {
                    let mut points = orbits.iter().flat_map(|&orbit| &group.orbits()[orbit].points);
                    points.all(|&p| g.apply(p) == element.apply(p))
                };
                prop_assert!(orbits.len() > 1);
                prop_assert!(!elements.iter().any(|g| agrees(g, &orbits)));
                for left_out in &orbits {
                    let others: Vec<usize> = orbits.iter().copied().filter(|o| o != left_out).collect();
                    prop_assert!(elements.iter().any(|g| agrees(g, &others)));
                }
            }
            Some(NonMembership::Images { points }) => {
                let agrees =
                    |g: &Permutation, points: &[usize]| points.iter().all(|&p| g.apply(p) == element.apply(p));
                prop_assert!(!elements.iter().any(|g| agrees(g, &points)));
                prop_assert!(elements.iter().any(|g| agrees(g, &points[..points.len() - 1])));
            }
        }
    }

    #[test]
    fn orbits_and_transitivity_match_the_elements(
        generators in proptest::collection::vec(permutation(5), 0..3),
        squares in 1_i64..5,
    ) {
        let generators: Vec<_> = generators.iter().map(|g| g.power(squares)).collect();
        let elements = Ball::new(5, &generators, 1000).elements().to_vec();
        let group = Group::new(5, generators);
        for orbit in group.orbits() {
            let mut images: Vec<usize> = elements.iter().map(|g| g.apply(orbit.points[0])).collect();
            images.sort_unstable();
            images.dedup();
            prop_assert_eq!(&images, &orbit.points);
        }
        let moved: Vec<usize> = group.orbits().iter().flat_map(|orbit| orbit.points.clone()).collect();
        // The group is k-transitive if the first k moved points have all possible images.
        let mut transitivity = 0;
        while transitivity < moved.len() {
            let k = transitivity + 1;
            let tuple = |g: &Permutation| moved[..k].iter().map(|&p| g.apply(p)).collect::<Vec<_>>();
            let images: std::collections::HashSet<_> = elements.iter().map(tuple).collect();
            if images.len() != (moved.len() - k + 1..=moved.len()).product::<usize>() {
                break;
            }
            transitivity = k;
        }
        prop_assert_eq!(group.transitivity(), transitivity);
    }
}
