//! Compares the kernels of all levels with the definition: a transform applied to positions one by one.

use fathom_kernel::{Bits, SLACK_BYTES, SimdLevel};
use fathom_space::{AxisMap, MultisetRanker, Shape, Transform};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// One shape for each path through the kernels: words of 32 and of 64 bits, several words per row, rows of
/// one piece of 1,024 bits, of two, and of more than eight, few of them and enough for a square, one to four
/// bytes per row, axes that can trade places and axes that cannot, blocks of one row, an odd number of
/// blocks, blocks of up to 32, 64, 96 and 128 bytes, axes of length 1, blocks of more and of fewer than 16
/// rows for each number of bytes per row, one line of blocks and several, rows of a word in several batches,
/// rows of more than eight words that can trade places.
const SHAPES: [&[u32]; 40] = [
    &[2, 24, 24, 24],
    &[7, 7, 7, 7],
    &[3, 3, 3, 3, 3],
    &[14, 14, 14, 14],
    &[17, 17, 17, 17],
    &[3, 30, 30, 30],
    &[32, 32, 32],
    &[12, 12, 12],
    &[5, 32, 3],
    &[3, 7, 7, 7],
    &[24, 24, 24],
    &[6, 6, 6],
    &[2, 24],
    &[120, 120],
    &[70, 24],
    &[24],
    &[130],
    &[17, 100],
    &[3, 960],
    &[2, 1500],
    &[8193],
    &[65, 2050],
    &[150, 150],
    &[3, 130, 130],
    &[1, 5],
    &[13, 60],
    &[5, 33, 33],
    &[64, 64],
    &[65, 3, 65],
    &[1],
    &[1, 1],
    &[1, 1, 1, 1],
    &[32, 32],
    &[2, 24, 5],
    &[20, 30, 13],
    &[9, 9, 9],
    &[3, 9, 32],
    &[4, 12, 21],
    &[20, 20, 40],
    &[520, 520],
];

/// Shapes whose last axis is halved: words of 32 and of 64 bits, one axis and several, equal and unequal, few
/// rows and many, planes of bytes with blocks of up to 16 rows and longer ones, in one line and in several,
/// rows of a word in several batches.
const HALVED: [&[u32]; 10] = [
    &[6, 6, 6],
    &[24, 24],
    &[120, 120],
    &[6],
    &[2, 120, 6],
    &[24, 2, 24],
    &[6, 24, 24],
    &[24, 24, 6],
    &[24, 6, 24],
    &[6, 120, 120],
];

/// Shapes whose last axis is cut into blocks, with the length of a block: words of 32 and of 64 bits, blocks
/// of whole bytes and of other lengths.
const BLOCKED: [(&[u32], u32); 6] =
    [(&[360], 4), (&[96], 32), (&[3, 130], 13), (&[2, 5, 192], 64), (&[4, 135], 45), (&[5, 5, 66], 33)];

/// Shapes that are direct sums, with the number of summands: planes of bytes, words of 32 and of 64 bits, one
/// axis.
const SUMS: [(&[u32], u32); 6] = [
    (&[8, 8, 27, 27, 8], 2),
    (&[3, 8, 5, 27], 12),
    (&[6, 6, 6], 5),
    (&[40, 6], 3),
    (&[5, 60, 60], 2),
    (&[16], 16),
];

/// The axis maps and the transform of one pull, in the form in which `Transforms` returns them, and the
/// source.
#[derive(Clone, Debug)]
struct PullStep {
    transform: Transform,
    maps: Vec<AxisMap>,
    source: BTreeSet<u32>,
}

fn step(shape: Shape) -> impl Strategy<Value = PullStep> {
    let lengths = shape.lengths().to_vec();
    let axes = lengths.len();
    let order = Just((0..axes as u8).collect::<Vec<_>>()).prop_shuffle();
    let target = order.prop_map({
        let lengths = lengths.clone();
        // Only axes of equal length may become each other; if the shuffle requires anything else, every axis
        // stays.
        move |order| {
            let fits = order.iter().zip(&lengths).all(|(&t, &l)| lengths[usize::from(t)] == l);
            if fits { order } else { (0..axes as u8).collect() }
        }
    });
    let halved = shape.odd().is_some();
    let last = lengths.len() - 1;
    let row = if shape.blocks() > 1 { shape.row_bits() } else { 1 };
    let summands = shape.summands();
    let becomes = Just((0..summands).collect::<Vec<_>>()).prop_shuffle();
    let maps: Vec<_> = (0..summands)
        .flat_map(|_| lengths.iter().enumerate())
        .map(
            |(axis, &length)| {
                if axis == last && row > 1 { block_map(length, row) } else { axis_map(length, halved) }
            },
        )
        .collect();
    let bits = shape.bits();
    let few = proptest::collection::vec(0..bits, 0..20);
    let many = (any::<u64>(), 1..8_u64).prop_map(move |(seed, one_in)| {
        let mut random = seed;
        (0..bits)
            .filter(|_| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33).is_multiple_of(one_in)
            })
            .collect::<Vec<_>>()
    });
    let source = prop_oneof![few, many].prop_map(move |bits| {
        let row = u64::from(shape.row_bits());
        let packed_row = u64::from(shape.row_bytes()) * 8;
        bits.into_iter().map(|bit| (bit / row * packed_row + bit % row) as u32).collect()
    });
    (target, maps, becomes, source, any::<bool>()).prop_map(move |(target, maps, becomes, source, odd)| {
        PullStep {
            transform: Transform {
                target,
                maps: (0..maps.len() as u32).collect(),
                summands: if summands > 1 { becomes } else { Vec::new() },
                odd: odd && halved,
            },
            maps,
            source,
        }
    })
}

/// Generates any bijection. For a halved shape the map comes from moving places and renaming letters of
/// permutations, because it must change all parities or none.
fn axis_map(length: u32, halved: bool) -> BoxedStrategy<AxisMap> {
    if !halved {
        return Just((0..length).collect::<Vec<_>>()).prop_shuffle().prop_map(AxisMap::new).boxed();
    }
    let letters = (1..).find(|&n| (1..=n).product::<u32>() == length).expect("a factorial");
    let shuffled = || Just((0..letters as u8).collect::<Vec<_>>()).prop_shuffle();
    let map = move |(places, names): (Vec<u8>, Vec<u8>)| {
        let words = MultisetRanker::new(&vec![1; letters as usize]).expect("few letters");
        let mut word = vec![0; letters as usize];
        let image = |rank: u32| {
            words.unrank(rank.into(), &mut word);
            words.rank(places.iter().map(|&place| names[usize::from(word[usize::from(place)])])) as u32
        };
        AxisMap::new((0..length).map(image).collect())
    };
    (shuffled(), shuffled()).prop_map(map).boxed()
}

/// Generates any bijection that carries blocks to blocks.
fn block_map(length: u32, row: u32) -> BoxedStrategy<AxisMap> {
    let blocks = Just((0..length / row).collect::<Vec<_>>()).prop_shuffle();
    let inside =
        proptest::collection::vec(Just((0..row).collect::<Vec<_>>()).prop_shuffle(), (length / row) as usize);
    let map = move |(blocks, inside): (Vec<u32>, Vec<Vec<u32>>)| {
        let image = |index: u32| {
            let block = (index / row) as usize;
            blocks[block] * row + inside[block][(index % row) as usize]
        };
        AxisMap::new((0..length).map(image).collect())
    };
    (blocks, inside).prop_map(map).boxed()
}

fn dense(shape: &Shape, states: &BTreeSet<u32>) -> Vec<u8> {
    let mut packed = vec![0; shape.packed_bytes() as usize];
    for &position in states {
        packed[position as usize / 8] |= 1 << (position % 8);
    }
    packed.extend([0xff; SLACK_BYTES]);
    packed
}

fn sparse(states: &BTreeSet<u32>) -> Vec<u8> {
    states.iter().flat_map(|position| position.to_le_bytes()).collect()
}

fn image(shape: &Shape, step: &PullStep) -> BTreeSet<u32> {
    let axes = shape.lengths().len();
    let (mut from, mut to) = (vec![0; axes], vec![0; axes]);
    step.source
        .iter()
        .map(|&position| {
            shape.indices(position, step.transform.odd, &mut from);
            let summand = position / shape.summand_positions();
            for axis in 0..axes {
                let map = &step.maps[summand as usize * axes + axis];
                to[usize::from(step.transform.target[axis])] = map.to[from[axis] as usize];
            }
            let becomes = step.transform.summands.get(summand as usize).copied().unwrap_or(0);
            becomes * shape.summand_positions() + shape.position(&to)
        })
        .collect()
}

fn cases() -> impl Strategy<Value = (Shape, Vec<PullStep>, BTreeSet<u32>)> {
    let plain = SHAPES.iter().map(|lengths| Shape::new(lengths));
    let halved = HALVED.iter().map(|lengths| Shape::halved(lengths));
    let blocked = BLOCKED.iter().map(|&(lengths, row)| Shape::blocked(lengths, row));
    let sums = SUMS.iter().map(|&(lengths, summands)| Shape::sum(lengths, summands));
    let shapes: Vec<Shape> =
        plain.chain(halved).chain(blocked).chain(sums).map(|shape| shape.expect("small")).collect();
    proptest::sample::select(shapes).prop_flat_map(|shape| {
        let known = step(shape.clone()).prop_map(|step| step.source);
        (Just(shape.clone()), proptest::collection::vec(step(shape), 1..4), known)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(fathom_slow::choose(300, 800)))]

    #[test]
    fn kernels_match_the_definition((shape, steps, known) in cases()) {
        let mut expected = BTreeSet::new();
        let both = |level| [(level, true), (level, false)];
        for (level, use_dense) in SimdLevel::ALL.into_iter().flat_map(both) {
            let Some(mut kernel) = level.kernel(&shape) else {
                continue;
            };
            let with = format!("{level:?}, dense: {use_dense}");
            // A kernel caches what it derives from a map by number, so the maps of all steps are in one
            // table.
            let mut maps = Vec::new();
            kernel.clear();
            expected.clear();
            for (number, step) in steps.iter().enumerate() {
                // The numbers of dropped maps are reused.
                if number == 1 {
                    kernel.drop_maps();
                    maps.clear();
                }
                let transform = Transform {
                    target: step.transform.target.clone(),
                    maps: step.transform.maps.iter().map(|&m| m + maps.len() as u32).collect(),
                    summands: step.transform.summands.clone(),
                    odd: step.transform.odd,
                };
                maps.extend(step.maps.clone());
                let bytes = if use_dense { dense(&shape, &step.source) } else { sparse(&step.source) };
                let bits = if use_dense { Bits::Dense(&bytes) } else { Bits::Sparse(&bytes) };
                kernel.pull(bits, &transform, &maps);
                kernel.pull(Bits::Empty, &transform, &maps);
                expected.extend(image(&shape, step));
            }
            let bytes = if use_dense { dense(&shape, &known) } else { sparse(&known) };
            kernel.subtract(if use_dense { Bits::Dense(&bytes) } else { Bits::Sparse(&bytes) });
            expected.retain(|position| !known.contains(position));

            let mut packed = vec![0xaa; shape.packed_bytes() as usize];
            let states = kernel.pack(&mut packed);
            prop_assert_eq!(states as usize, expected.len(), "{}", with);
            let whole = dense(&shape, &expected);
            prop_assert_eq!(&packed[..], &whole[..packed.len()], "{}", with);
            kernel.clear();
            prop_assert_eq!(kernel.pack(&mut packed), 0);
        }
    }
}
