//! Compares searches along axes that hold only what moves reach with the plain breadth-first search: every
//! way to cut small groups of many kinds, and groups that random elements of them generate.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_kernel::reference::Distances;
use fathom_kernel::{Bits, SLACK_BYTES, SimdLevel};
use fathom_puzzle::definition::Orbit;
use fathom_puzzle::{Definition, Metric, Puzzle};
use fathom_space::{
    AxisView, Colouring, Component, CosetGraph, CosetId, Labels, Plan, Space, Transform, Transforms, View,
};

/// A name, orbits as cells and orientations, generators (free ones begin with a star), and the labels if some
/// pieces look alike.
type Family = (&'static str, &'static [(usize, u16)], &'static [&'static str], Option<&'static str>);

const FAMILIES: [Family; 15] = [
    (
        "two sets moved and turned alike",
        &[(3, 3), (4, 3)],
        &["(1+1,2,3+2)(4,5+1,6+2)", "(4,5+1)(6+1,7+1)"],
        None,
    ),
    (
        "two sets moved alike, one of which turns",
        &[(4, 1), (4, 2)],
        &["(1,2,3)(5+1,6,7)", "(2,3,4)(6,7,8+1)"],
        None,
    ),
    ("a wreath product", &[(6, 1)], &["(1,2)", "(1,3)(2,4)", "(1,3,5)(2,4,6)"], None),
    ("a parity of two sets", &[(4, 1), (4, 1)], &["(1,2)(5,6)", "(1,2,3,4)(5,6,7,8)", "(1,2,3)"], None),
    ("a tie of index 3", &[(4, 1), (3, 1)], &["(1,2,3)(5,6,7)", "(1,2)(3,4)"], None),
    ("a tie of index 6", &[(4, 1), (3, 1)], &["(1,2,3)(5,6,7)", "(1,2)(5,6)", "(1,2)(3,4)"], None),
    ("a tie of index 4", &[(4, 1), (4, 1)], &["(1,2,3,4)(5,6,7,8)", "(1,3)", "(5,7)"], None),
    (
        "a tie of index 9",
        &[(3, 3), (3, 3)],
        &["(1+1,2+2)(4+1,5+2)", "(2+1,3+2)(5+2,6+1)", "(1+1,2+1,3+1)(4,5,6)"],
        None,
    ),
    ("orientations of four", &[(4, 4)], &["(1+1,2+1,3+1,4+1)", "(1,2+2)"], None),
    (
        "even permutations of six with turned corners",
        &[(6, 1), (4, 3)],
        &["(1,2,3)(7+1,8+1,9+1)", "(4,5,6)(10+1)", "(3,4,5)(8,9,10)"],
        None,
    ),
    ("alike pieces", &[(6, 1), (3, 1)], &["(1,2,3)(7,8,9)", "(3,4,5,6)(7,8)"], Some("0,0,1,1,2,2,3,4,5")),
    (
        "alike pieces of a small group",
        &[(8, 1)],
        &["(1,2,3,4)(5,6,7,8)", "(1,5)(2,6)(3,7)(4,8)", "(1,3)(5,7)"],
        Some("0,0,1,1,2,3,2,3"),
    ),
    ("few of all permutations", &[(8, 1)], &["(1,2,3,4,5,6,7)", "(2,3)(4,7)", "(1,8)(2,4)(3,7)(5,6)"], None),
    (
        "two sets moved alike, held in no way",
        &[(4, 1), (4, 2)],
        &["(1,2,3)(5+1,6,7)", "*(2,3,4)(6,7,8)", "*(1,2)(3,4)(5,6)(7,8)"],
        None,
    ),
    ("turned and moved alike, none alone", &[(3, 2), (3, 4)], &["(1+1,2,3)(4+1,5,6)", "(1,2)(4+2,5)"], None),
];

/// Makes the space of a family. With `random`, the moves are random products of the generators.
fn space((name, orbits, texts, labels): Family, random: Option<u64>) -> Space {
    let named = |(number, &(cells, orientations)): (usize, &(usize, u16))| Orbit {
        name: format!("set{number}"),
        cells,
        orientations,
    };
    let mut definition = Definition::new(name, orbits.iter().enumerate().map(named).collect()).unwrap();
    let orders = definition.orientation_counts();
    let generators: Vec<OrientedPermutation> = texts
        .iter()
        .map(|g| OrientedPermutation::parse(g.trim_start_matches('*'), &orders).unwrap())
        .collect();
    let is_free = |number: usize| random.is_none() && texts[number].starts_with('*');
    let mut state = random.unwrap_or_default();
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let moves: Vec<OrientedPermutation> = match random {
        None => generators,
        Some(_) => (0..2 + draw(2))
            .map(|_| {
                let factors = (0..1 + draw(5)).map(|_| &generators[draw(generators.len())]);
                factors.fold(OrientedPermutation::identity(orders.clone()), |product, factor| {
                    product.then(factor)
                })
            })
            .filter(|product| !product.is_identity())
            .collect(),
    };
    for (number, action) in moves.into_iter().enumerate() {
        let name = format!("m{number}");
        match is_free(number) {
            true => definition.add_free(&name, action).unwrap(),
            false => definition.add_move(&name, action).unwrap(),
        }
    }
    let labels = match labels {
        Some(list) => Labels::parse_list(list, definition.cells()).unwrap(),
        None => Labels::distinct(definition.cells()),
    };
    // Sets are cut as they are given, although some that move alike could be facelets of pieces.
    let puzzle = Puzzle { facelets: None, ..definition.puzzle(Metric::Multi).unwrap() };
    Space::new(puzzle, Metric::Multi, labels).unwrap()
}

/// Returns all ways to cut a space with these orbits: each set of pieces as a whole or piece by piece, with
/// its orientations in the pattern, apart or joint; and each of these with all axes joined.
fn cuts(space: &Space, orbits: &[(usize, u16)]) -> Vec<(Vec<u8>, Vec<AxisView>)> {
    let mut cuts: Vec<(Vec<u8>, Vec<AxisView>)> = vec![(Vec::new(), Vec::new())];
    for &(cells, orientations) in orbits {
        let mut next = Vec::new();
        for (of_piece, views) in cuts {
            let first = of_piece.iter().max().map_or(0, |&colour: &u8| colour + 1);
            let labels = &space.labels().of_pieces()[of_piece.len()..][..cells];
            let own = |view| move |colour| AxisView(vec![Component { colour, view }]);
            let smallest = *labels.iter().min().unwrap();
            let split: Vec<u8> = labels.iter().map(|label| label - smallest + first).collect();
            let colours = first..=*split.iter().max().unwrap();
            let mut add = |pieces: Vec<u8>, more: Vec<AxisView>| {
                next.push(([&of_piece[..], &pieces].concat(), [&views[..], &more].concat()));
            };
            add(split.clone(), Vec::new());
            add(vec![first; cells], vec![own(View::Pieces)(first)]);
            if orientations > 1 {
                add(split, colours.map(own(View::Orientations)).collect());
                add(vec![first; cells], vec![own(View::Both)(first)]);
                add(vec![first; cells], vec![own(View::Pieces)(first), own(View::Orientations)(first)]);
            }
        }
        cuts = next;
    }
    let joined = |(of_piece, views): &(Vec<u8>, Vec<AxisView>)| {
        let all = views.iter().flat_map(|view| view.0.iter().copied()).collect();
        (views.len() > 1).then(|| (of_piece.clone(), vec![AxisView(all)]))
    };
    let joined: Vec<_> = cuts.iter().filter_map(joined).collect();
    cuts.extend(joined);
    cuts.retain(|(_, views)| !views.is_empty());
    cuts
}

/// Returns the distances of all addresses, and the number of states at each, by a search that pulls cosets.
fn search(graph: &CosetGraph, engine: SimdLevel) -> (Vec<Vec<Option<u32>>>, Vec<u64>) {
    let shape = graph.shape();
    let bytes = shape.packed_bytes() as usize;
    let mut kernel = engine.kernel(shape).expect("the engine does the shape");
    let mut transforms = Transforms::new(graph);
    let mut transform = Transform::default();
    let mut distances = vec![vec![None; bytes * 8]; graph.len() as usize];
    let mut layer = vec![vec![0_u8; bytes + SLACK_BYTES]; graph.len() as usize];
    for word in graph.space().words_of(graph.space().solved()) {
        let (coset, position) = graph.locate(&word).unwrap();
        layer[coset.0 as usize][position as usize / 8] |= 1 << (position % 8);
    }
    let mut before = layer.clone();
    let mut counts = Vec::new();
    loop {
        let mut states = 0;
        for coset in (0..graph.len()).map(CosetId) {
            let is_set = |position: &usize| layer[coset.0 as usize][position / 8] >> (position % 8) & 1 == 1;
            let here: Vec<usize> = (0..bytes * 8).filter(is_set).collect();
            states += graph.states(coset, here.len() as u32);
            for position in here {
                assert_eq!(distances[coset.0 as usize][position], None);
                distances[coset.0 as usize][position] = Some(counts.len() as u32);
            }
        }
        if states == 0 {
            return (distances, counts);
        }
        counts.push(states);
        let mut next = layer.clone();
        for coset in (0..graph.len()).map(CosetId) {
            kernel.clear();
            for (mv, source) in graph.sources(coset) {
                transforms.of_move(coset, mv, &mut transform);
                kernel.pull(Bits::Dense(&layer[source.0 as usize]), &transform, transforms.maps());
            }
            kernel.subtract(Bits::Dense(&before[coset.0 as usize]));
            kernel.pack(&mut next[coset.0 as usize][..bytes]);
        }
        for (before, next) in before.iter_mut().flatten().zip(next.iter().flatten()) {
            *before |= next;
        }
        layer = next;
    }
}

/// The result of a plain search: the number of states at each distance, and the words of all states.
struct Plain {
    counts: Vec<u64>,
    states: Vec<(Vec<u8>, u32)>,
    distances: Distances,
}

impl Plain {
    fn new(space: &Space) -> Self {
        let distances = Distances::search(space, None, 1 << 28).unwrap();
        let free = u64::from(space.free_order());
        let counts = distances.counts().iter().map(|words| words / free).collect();
        Self { counts, states: distances.states().collect(), distances }
    }
}

/// Compares a search along these axes with the plain one. Returns whether the axes can be made.
fn check(space: &Space, plain: &Plain, of_piece: &[u8], views: &[AxisView]) -> bool {
    let Ok(colouring) = Colouring::with_axes(of_piece, views, space) else {
        return false;
    };
    let graph = CosetGraph::build(space, &colouring).unwrap();
    check_graph(space, plain, &graph, views);
    if graph.symmetries().len() == 1 {
        let carried = CosetGraph::build_with_frames(space, &colouring, 0).unwrap();
        check_graph(space, plain, &carried, views);
    }
    true
}

fn check_graph(space: &Space, plain: &Plain, graph: &CosetGraph, views: &[AxisView]) {
    let of_piece = graph.colouring().of_pieces();
    let with = format!(
        "{} {of_piece:?} {:?}",
        space.puzzle().name,
        views.iter().map(ToString::to_string).collect::<Vec<_>>()
    );
    let states = plain.counts.iter().sum::<u64>() * u64::from(space.free_order());
    assert_eq!(graph.states_per_coset() * graph.reachable_patterns(), states, "{with}");
    assert!(graph.shape().bits() >= graph.states_per_coset(), "{with}");
    // A single axis stores only states that can be reached.
    assert!(views.len() != 1 || graph.shape().bits() == graph.states_per_coset(), "{with}");
    let engines = SimdLevel::ALL.into_iter().filter(|engine| engine.kernel(graph.shape()).is_some());
    let found: Vec<_> = engines
        .map(|engine| {
            let (distances, counts) = search(graph, engine);
            assert_eq!(counts, plain.counts, "{with} {engine:?}");
            (engine, distances)
        })
        .collect();
    for &(ref word, distance) in &plain.states {
        let (coset, position) = graph.locate(word).expect("the state is reached");
        for (engine, distances) in &found {
            assert_eq!(distances[coset.0 as usize][position as usize], Some(distance), "{with} {engine:?}");
        }
        let there = graph.word_at(coset, position);
        assert_eq!(graph.position(coset, &there), Some(position), "{with}");
        assert_eq!(plain.distances.of(&there), Some(distance), "{with}");
    }
}

#[test]
fn searches_along_all_cuts_of_small_groups_are_the_plain_search() {
    let mut used = 0;
    for family in FAMILIES {
        let space = space(family, None);
        let plain = Plain::new(&space);
        let cuts = cuts(&space, family.1);
        let some = fathom_slow::one_in(2, cuts.iter());
        let here = some.filter(|(p, views)| check(&space, &plain, p, views)).count();
        assert!(here > 0, "{}", family.0);
        used += here;
    }
    assert!(used > fathom_slow::choose(30, 60), "{used}");
}

#[test]
fn searches_of_random_subgroups_are_the_plain_search() {
    let mut used = 0;
    for number in fathom_slow::one_in(7, 0..120) {
        let family = FAMILIES[number as usize % FAMILIES.len()];
        let space = space(family, Some(number));
        if space.cells() != family.1.iter().map(|(cells, _)| cells).sum::<usize>() || space.moves().is_empty()
        {
            continue;
        }
        let plain = Plain::new(&space);
        let cuts = cuts(&space, family.1);
        let some = cuts.iter().skip(number as usize % 3).step_by(3);
        used += some.filter(|(p, views)| check(&space, &plain, p, views)).count();
    }
    assert!(used > fathom_slow::choose(14, 100), "{used}");
}

#[test]
fn what_the_planner_chooses_is_the_plain_search() {
    for family in FAMILIES {
        let space = space(family, None);
        let plain = Plain::new(&space);
        let plan = Plan::new(&space).unwrap();
        let views = plan.colouring.views();
        assert!(check(&space, &plain, plan.colouring.of_pieces(), &views), "{}", family.0);
        let graph = CosetGraph::build(&space, &plan.colouring).unwrap();
        assert_eq!(u64::from(graph.len()), plan.representative_cosets, "{}", family.0);
    }
}

/// M11 is sharply transitive on each four points (C. C. Sims; 11 x 10 x 9 x 8 elements). The pattern gives
/// some points, and the words of the others are carried from coset to coset.
#[test]
fn carried_frames_of_a_group_without_structure_are_the_plain_search() {
    let mut definition = Definition::of_degree("m11", 11).unwrap();
    for (name, cycles) in [("a", "(1,2,3,4,5,6,7,8,9,10,11)"), ("b", "(3,7,11,8)(4,10,5,6)")] {
        let action = OrientedPermutation::from_cells(Permutation::parse(cycles, 11).unwrap());
        definition.add_move(name, action).unwrap();
    }
    let labels = Labels::distinct(11);
    let space = Space::new(definition.puzzle(Metric::Multi).unwrap(), Metric::Multi, labels).unwrap();
    assert_eq!(space.states().to_string(), "7920");
    let plain = Plain::new(&space);
    for told in 2..4_u8 {
        let of_piece: Vec<u8> = (0..11).map(|piece| piece.min(told)).collect();
        let view: AxisView = format!("{told}p").parse().unwrap();
        let colouring = Colouring::with_axes(&of_piece, std::slice::from_ref(&view), &space).unwrap();
        let graph = CosetGraph::build_with_frames(&space, &colouring, 0).unwrap();
        assert_eq!(graph.symmetries().len(), 1);
        check_graph(&space, &plain, &graph, &[view]);
    }
}
