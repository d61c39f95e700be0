//! Compares every axis transform with the move applied to single states.

use fathom_puzzle::{Metric, PuzzleSpec};
use fathom_space::counting::fixed_by;
use fathom_space::{CosetGraph, CosetId, Labels, Plan, Space, Transform, Transforms};
use proptest::prelude::*;
use std::sync::OnceLock;

fn graph(word: &str, labels: Option<&str>) -> CosetGraph {
    let source = match word {
        IN_HAND => PuzzleSpec::in_hand("2x2x2").unwrap(),
        BY_TWISTS => PuzzleSpec::by_name("square1").unwrap().in_metric(Metric::Twist).unwrap(),
        _ => PuzzleSpec::by_name(word).unwrap(),
    };
    let labels = match labels {
        Some(list) => Labels::parse_list(list, source.cells()).unwrap(),
        None => Labels::from_values(source.solved()),
    };
    let space = Space::new(source.puzzle(source.metric()).unwrap(), source.metric(), labels).unwrap();
    let plan = Plan::new(&space).unwrap();
    CosetGraph::build(&space, &plan.colouring).unwrap()
}

/// Spaces that the name of a puzzle does not select.
const IN_HAND: &str = "2x2x2 in the hand";
const BY_TWISTS: &str = "square1 by twists";
const BANDAGED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/bandaged.toml");
const LIMITED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/limited.toml");

const SPACES: [(&str, Option<&str>); 17] = [
    ("2x3", None),
    ("2x5", None),
    ("3x3", None),
    ("3x4", None),
    ("2x6", None),
    ("1x5", None),
    ("1x3", None),
    ("3x3", Some("0,0,0,1,1,1,2,2,2")),
    ("3x4", Some("0,1,2,3,4,4,4,4,4,4,4,4")),
    ("3x3", Some("0,0,1,2,2,1,3,4,5")),
    // Pieces that turn, in one orbit and in several; free moves, with which there is no pattern table;
    // guards.
    ("2x2x2", None),
    ("burnt-pancake:5", None),
    ("skewb", None),
    ("pyraminx", None),
    (IN_HAND, None),
    (BANDAGED, None),
    (LIMITED, None),
];

/// Returns the position of a state inside the coset of its pattern.
fn position(graph: &CosetGraph, coset: CosetId, word: &[u8]) -> u32 {
    graph.position(coset, word).expect("the state is reached")
}

fn pattern(graph: &CosetGraph, word: &[u8]) -> Vec<u8> {
    word.iter().map(|&letter| graph.colouring().of_letter(letter)).collect()
}

fn transformed(transforms: &Transforms<'_>, transform: &Transform, position: u32) -> u32 {
    let shape = transforms.graph().shape();
    let mut indices = vec![0; shape.lengths().len()];
    shape.indices(position, transform.odd, &mut indices);
    let summand = position / shape.summand_positions();
    let (_, becomes, maps) = transform.of_summands().nth(summand as usize).unwrap();
    let mut images = indices.clone();
    for (axis, &index) in indices.iter().enumerate() {
        images[usize::from(transform.target[axis])] = transforms.map(maps[axis]).to[index as usize];
    }
    becomes * shape.summand_positions() + shape.position(&images)
}

/// Returns the position of a bit that represents a state, chosen by a random number.
fn some_position(graph: &CosetGraph, random: u64) -> u32 {
    let shape = graph.shape();
    let bit = random % shape.bits();
    (bit / u64::from(shape.row_bits()) * u64::from(shape.row_bytes()) * 8 + bit % u64::from(shape.row_bits()))
        as u32
}

#[test]
fn transforms_match_moves_on_states() {
    let larger = [("3x5", None), (BY_TWISTS, None)];
    let larger = &larger[..fathom_slow::choose(1, 2)];
    for (word, labels) in SPACES.into_iter().chain(larger.iter().copied()) {
        let graph = graph(word, labels);
        let space = graph.space();
        let mut transforms = Transforms::new(&graph);
        let mut transform = Transform::default();
        let mut random = 1_u64;
        for coset in (0..graph.len()).step_by(1 + graph.len() as usize / 40).map(CosetId) {
            for mv in 0..space.incoming_moves().len() {
                let Some((source, symmetry)) = graph.source(coset, mv) else {
                    assert!(space.is_guarded(), "{word} {labels:?}");
                    continue;
                };
                transforms.of_move(coset, mv, &mut transform);
                for _ in 0..8 {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let from = some_position(&graph, random >> 20);
                    let state = graph.word_at(source, from);
                    assert_eq!(pattern(&graph, &state), graph.pattern(source));
                    assert_eq!(position(&graph, source, &state), from);
                    let carried = space.image(&graph.symmetries()[symmetry].symmetry, &state);
                    let step = &space.incoming_moves()[mv];
                    let mut moved = carried.clone();
                    for (cell, &to) in step.cells.iter().enumerate() {
                        moved[usize::from(to)] = space.symbols().turned(carried[cell], step.turn(cell));
                    }
                    assert_eq!(pattern(&graph, &moved), graph.pattern(coset), "{word} {labels:?}");
                    assert_eq!(position(&graph, coset, &moved), transformed(&transforms, &transform, from));
                }
            }
        }
    }
}

/// Maps that were dropped are computed again, and never take more than the limit.
#[test]
fn transforms_are_independent_of_map_limit() {
    let mut has_dropped = false;
    for (word, labels) in SPACES {
        let graph = graph(word, labels);
        let mut kept = Transforms::new(&graph);
        // The limit of the second is below the size of any transform's maps, which are kept nevertheless.
        const LIMIT: usize = 1 << 16;
        let mut limited = [LIMIT, 0].map(|bytes| Transforms::within(&graph, bytes));
        let [mut expected, mut found] = [Transform::default(), Transform::default()];
        for coset in (0..graph.len()).step_by(1 + graph.len() as usize / 40).map(CosetId) {
            let moves =
                (0..graph.space().incoming_moves().len()).filter(|&mv| graph.source(coset, mv).is_some());
            type Fill<'a> = &'a dyn Fn(&mut Transforms<'_>, &mut Transform);
            let mut compare = |fill: Fill<'_>| {
                fill(&mut kept, &mut expected);
                for limited in &mut limited {
                    fill(limited, &mut found);
                    assert_eq!(
                        (&found.target, found.odd),
                        (&expected.target, expected.odd),
                        "{word} {labels:?}"
                    );
                    let own: usize = limited.maps().iter().map(|map| map.to.len() * 8).sum();
                    assert!(own <= limited.bytes(), "{word} {labels:?}");
                    for (&map, &number) in expected.maps.iter().zip(&found.maps) {
                        assert_eq!(limited.map(number), kept.map(map), "{word} {labels:?}");
                    }
                }
                let [some, few] = &limited;
                let of_one = graph.shape().lengths().len() * graph.shape().summands() as usize;
                assert!(some.bytes() <= LIMIT && few.maps().len() <= of_one, "{word}");
            };
            moves.for_each(|mv| compare(&|transforms, transform| transforms.of_move(coset, mv, transform)));
            graph.stabiliser(coset).for_each(|symmetry| {
                compare(&|transforms, transform| transforms.of_symmetry(coset, symmetry, transform));
            });
        }
        assert!(limited[1].dropped() > 0, "{word} {labels:?}");
        has_dropped |= limited[0].dropped() > 0;
        assert_eq!(kept.dropped(), 0);
    }
    assert!(has_dropped);
}

#[test]
fn stabiliser_fixed_points_match_counting() {
    for (word, labels) in SPACES {
        let graph = graph(word, labels);
        let mut transforms = Transforms::new(&graph);
        let mut transform = Transform::default();
        let mut looked_at = 0;
        for coset in (0..graph.len()).map(CosetId) {
            let stabiliser: Vec<usize> = graph.stabiliser(coset).collect();
            assert_eq!((stabiliser.len() + 1) * graph.orbit_size(coset) as usize, graph.symmetries().len());
            for symmetry in stabiliser {
                transforms.of_symmetry(coset, symmetry, &mut transform);
                let mut listed = Vec::new();
                fixed_by(&transforms, &transform, &mut |position| listed.push(position));
                listed.sort_unstable();
                let symmetry = &graph.symmetries()[symmetry].symmetry;
                let fixed: Vec<u32> = (0..graph.shape().bits())
                    .map(|bit| some_position(&graph, bit))
                    .filter(|&at| {
                        let state = graph.word_at(coset, at);
                        graph.space().image(symmetry, &state) == state
                    })
                    .collect();
                assert_eq!(listed, fixed, "{word} {labels:?}");
                looked_at += 1;
            }
            if looked_at > 60 {
                break;
            }
        }
        let has_none = word == "1x5" || graph.symmetries().len() == 1;
        assert!(looked_at > 0 || has_none, "{word} {labels:?} has no coset with a stabiliser");
    }
}

proptest! {
    /// The images of a state under symmetries have one address, up to the stabiliser of the coset.
    #[test]
    fn symmetric_states_share_an_address(
        which in 0..SPACES.len(), coset: u32, random: u64, symmetry: usize,
    ) {
        static GRAPHS: [OnceLock<CosetGraph>; SPACES.len()] = [const { OnceLock::new() }; SPACES.len()];
        let (word, labels) = SPACES[which];
        let graph = GRAPHS[which].get_or_init(|| graph(word, labels));
        let coset = CosetId(coset % graph.len());
        let at = some_position(graph, random);
        let state = graph.word_at(coset, at);
        let symmetry = &graph.symmetries()[symmetry % graph.symmetries().len()].symmetry;
        let image = graph.space().image(symmetry, &state);
        let (found, position) = graph.locate(&image).unwrap();
        prop_assert_eq!(found, coset);
        let mut transforms = Transforms::new(graph);
        let mut transform = Transform::default();
        let reachable = std::iter::once(at)
            .chain(graph.stabiliser(coset).map(|s| {
                transforms.of_symmetry(coset, s, &mut transform);
                transformed(&transforms, &transform, at)
            }))
            .collect::<Vec<_>>();
        prop_assert!(reachable.contains(&position));
    }
}
