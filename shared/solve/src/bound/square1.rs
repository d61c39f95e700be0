//! Lower bounds for Square-1, where a move is a turn of one layer or a twist, by counting the words that lead
//! to each shape.
//!
//! The shape alone determines whether a twist is possible, and also to which shapes a word can lead. Words
//! are counted in a normal form of every shortest word: no twist follows a twist, and between two twists each
//! layer is turned at most once, the top layer first.

use fathom_puzzle::family::square1::{CUT, FRONT, in_all_shapes};
use fathom_puzzle::{Groupoid, SquareOneShapes};
use num_bigint::BigUint;

/// A limit that is larger than the number of shapes.
const MAX_SHAPES: usize = 1 << 16;

/// Lower bounds on the God's number of Square-1, and the counts from which they follow.
#[derive(Clone, Debug)]
pub struct SquareOneBounds {
    /// All states.
    pub all: Kind,
    /// States without a corner across the front cut.
    pub aligned: Kind,
    /// States that can be twisted.
    pub twistable: Kind,
    /// The bound by B. Sambale's argument.
    pub last: LastShapes,
    /// The bounds by counting words until each shape has as many words as states: over the states that can
    /// be twisted, and over all states.
    pub by_shape: [u32; 2],
}

/// A set of shapes, and the number of states in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The number of shapes.
    pub shapes: usize,
    /// The number of states.
    pub states: BigUint,
}

/// The argument of B. Sambale, *Square-1* (2021), section 4: the aligned shapes found last need so many
/// twists that few short words lead to them.
#[derive(Clone, Debug)]
pub struct LastShapes {
    /// The number of passes after which all aligned shapes are found.
    pub passes: usize,
    /// The aligned shapes found by the last pass, and the states in them whose middle layer is as in the
    /// solved state.
    pub found: Kind,
    /// A lower bound on the twists that lead to these states: at least one fewer than the passes, and even.
    pub twists: usize,
    /// Upper bounds on the number of ways to turn one layer of an aligned shape so that an aligned shape
    /// results, and on the number of ways to turn both.
    pub turns: [u64; 2],
    /// Upper bounds on the number of words of each length from 0 that lead to these states, up to the bound.
    pub words: Vec<BigUint>,
}

impl LastShapes {
    fn new(shapes: &SquareOneShapes, states_in_a_shape: &BigUint) -> Self {
        let passes = shapes.passes();
        let found = passes.last().map_or(0, Vec::len);
        // Pass p first meets the aligned shapes that take p - 1 twists, and those to which the twists at its
        // end lead; the last pass ends without such twists.
        let passes = passes.len() - 1;
        let twists = (passes - 1).next_multiple_of(2);
        // Half of the states in a shape have the middle layer in its solved state: s u^6 s u^6 s u^6 changes
        // that layer and nothing else.
        let states = states_in_a_shape * found / 2_u32;
        let aligned = || (0..shapes.count()).filter(|&shape| shapes.is_aligned(shape));
        let turned = |shape: usize, layer| shapes.turned(shape, layer).filter(|&to| shapes.is_aligned(to));
        let of_one = |shape: usize| (turned(shape, 0).count() + turned(shape, 1).count()) as u64;
        let of_both =
            |shape: usize| turned(shape, 0).map(|shape| turned(shape, 1).count()).sum::<usize>() as u64;
        let turns = [aligned().map(of_one).max(), aligned().map(of_both).max()];
        let turns = turns.map(|most| most.expect("the solved shape is aligned"));
        let mut words: Vec<BigUint> = Vec::new();
        while words.iter().sum::<BigUint>() < states {
            words.push(words_of(words.len(), twists, turns));
        }
        Self { passes, found: Kind { shapes: found, states }, twists, turns, words }
    }

    /// Returns the lower bound.
    pub fn bound(&self) -> u32 {
        self.words.len() as u32 - 1
    }
}

/// Returns the number of words of a length with an even number of twists, at least `least`: one or both
/// layers are turned between two twists, and none, one or both before the first twist and after the last.
fn words_of(length: usize, least: usize, [one, both]: [u64; 2]) -> BigUint {
    let times = |words: &[BigUint], gap: [u64; 3]| -> Vec<BigUint> {
        let ways = |turns: usize| {
            (0..=turns.min(2)).filter_map(|t| Some(words.get(turns - t)? * gap[t])).sum::<BigUint>()
        };
        (0..words.len() + 2).map(ways).collect()
    };
    let with = |twists: usize| {
        let outside = [1, one, both];
        let ends = times(&times(&[BigUint::from(1_u32)], outside), outside);
        let by_turns = (1..twists).fold(ends, |words, _| times(&words, [0, one, both]));
        by_turns.get(length - twists).cloned().unwrap_or_default()
    };
    (least..=length).step_by(2).map(with).sum()
}

/// The last letter of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Top,
    Bottom,
    Twist,
}

impl Last {
    const ALL: [Self; 4] = [Self::Nothing, Self::Top, Self::Bottom, Self::Twist];

    fn can_be_followed_by(self, next: Self) -> bool {
        match next {
            Self::Nothing => false,
            Self::Top => matches!(self, Self::Nothing | Self::Twist),
            Self::Bottom => self != Self::Bottom,
            Self::Twist => self != Self::Twist,
        }
    }
}

/// Returns, for each shape, the length up to which words add up to `enough` for both states of the middle
/// layer.
fn lengths_by_shape(shapes: &SquareOneShapes, enough: u128) -> Vec<u32> {
    // Indexed by shape, by the parity of the twists, and by the last letter.
    let mut words = vec![[[0_u128; 4]; 2]; shapes.count()];
    words[0][0][Last::Nothing as usize] = 1;
    let mut sums = vec![[0_u128; 2]; shapes.count()];
    let mut lengths: Vec<Option<u32>> = vec![None; shapes.count()];
    for length in 0.. {
        for ((sums, words), found) in sums.iter_mut().zip(&words).zip(&mut lengths) {
            for (sum, words) in sums.iter_mut().zip(words) {
                *sum = words.iter().fold(*sum, |sum, &more| sum.saturating_add(more));
            }
            if found.is_none() && sums.iter().all(|&sum| sum >= enough) {
                *found = Some(length);
            }
        }
        if lengths.iter().all(Option::is_some) {
            break;
        }
        let mut longer = vec![[[0_u128; 4]; 2]; shapes.count()];
        for (shape, words) in words.iter().enumerate() {
            let mut add = |to: usize, twists: usize, next: Last| {
                for odd in 0..2 {
                    for last in Last::ALL.into_iter().filter(|last| last.can_be_followed_by(next)) {
                        let count = &mut longer[to][odd ^ twists][next as usize];
                        *count = count.saturating_add(words[odd][last as usize]);
                    }
                }
            };
            shapes.turned(shape, 0).for_each(|to| add(to, 0, Last::Top));
            shapes.turned(shape, 1).for_each(|to| add(to, 0, Last::Bottom));
            shapes.twisted(shape).into_iter().for_each(|to| add(to, 1, Last::Twist));
        }
        words = longer;
    }
    lengths.into_iter().flatten().collect()
}

impl SquareOneBounds {
    /// Computes the bounds from all shapes. Takes tenths of a second.
    pub fn new() -> Self {
        let shapes = SquareOneShapes::new();
        let states: Groupoid =
            in_all_shapes().groupoid(MAX_SHAPES).expect("there are fewer shapes than the limit");
        let in_a_shape = states.states_in_a_shape();
        let kind = |guard: &[u16]| {
            let shapes = (0..shapes.count()).filter(|&shape| states.shapes().holds(shape, guard)).count();
            Kind { shapes, states: states.states_where(guard) }
        };
        let half = u128::try_from(&in_a_shape / 2_u32).expect("it has eleven digits");
        let lengths = lengths_by_shape(&shapes, half);
        let most = |of: &dyn Fn(usize) -> bool| {
            let lengths = lengths.iter().enumerate().filter(|&(shape, _)| of(shape));
            lengths.map(|(_, &length)| length).max().expect("the solved shape is one of them")
        };
        Self {
            all: kind(&[]),
            aligned: kind(&FRONT),
            twistable: kind(&CUT),
            last: LastShapes::new(&shapes, &in_a_shape),
            by_shape: [most(&|shape| shapes.is_twistable(shape)), most(&|_| true)],
        }
    }

    /// Returns the best bound for all states.
    pub fn best(&self) -> u32 {
        self.last.bound().max(self.by_shape[1])
    }
}

impl Default for SquareOneBounds {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_matches_the_article() {
        let last = SquareOneBounds::new().last;
        assert_eq!((last.passes, last.found.shapes, last.twists), (8, 24, 8));
        let factorial: u64 = (1..=8).product();
        assert_eq!(last.found.states, BigUint::from(24 * factorial * factorial));
        assert_eq!(last.bound(), 17);
        // There are 14^7 words of 15 moves. A 16th move comes before the first twist, after the last, or
        // between two twists. For the last case the article counts up to 63 pairs, which include those in
        // which one layer is not turned.
        let [one, both] = last.turns;
        assert_eq!((one, both), (14, 63 - 14));
        assert!(last.words[..15].iter().all(|count| *count == BigUint::ZERO));
        assert_eq!(last.words[15], 14_u64.pow(7).into());
        assert_eq!(last.words[16], (2 * 14_u64.pow(8) + 7 * 14_u64.pow(6) * both).into());
        let article = 14_u64.pow(7) + 2 * 14_u64.pow(8) + 7 * 14_u64.pow(6) * 63;
        assert!(BigUint::from(article) < last.found.states);
    }

    #[test]
    fn bounds_are_below_gods_number() {
        // S. Chen (2017): 31 for states that can be twisted. One turn of each layer leads from any other
        // state to one of these.
        let bounds = SquareOneBounds::new();
        let [twistable, all] = bounds.by_shape;
        // Computed independently, by a simple program over pairs of vectors.
        assert_eq!([twistable, all], [24, 24]);
        assert!(bounds.last.bound() <= twistable && twistable <= 31, "{twistable}");
        assert!(twistable <= all && all <= 31 + 2, "{all}");
    }

    #[test]
    fn short_words_match_their_normal_form() {
        // Counts all sequences of moves, shape by shape.
        let shapes = SquareOneShapes::new();
        let mut words: Vec<(usize, Vec<Last>)> = vec![(0, vec![])];
        let mut counts = vec![[0_u128; 2]; shapes.count()];
        for _length in 0..=4 {
            let mut longer = Vec::new();
            for (shape, word) in &words {
                let twists = word.iter().filter(|&&last| last == Last::Twist).count();
                counts[*shape][twists % 2] += 1;
                let mut add = |to: usize, next: Last| {
                    let mut word = word.clone();
                    word.push(next);
                    let gap: Vec<Last> = word.rsplit(|&last| last == Last::Twist).next().unwrap().to_vec();
                    let twice = word.ends_with(&[Last::Twist, Last::Twist]);
                    let in_order =
                        gap.len() < 2 || (gap.len() == 2 && gap[0] == Last::Top && gap[1] == Last::Bottom);
                    if !twice && in_order {
                        longer.push((to, word));
                    }
                };
                shapes.turned(*shape, 0).for_each(|to| add(to, Last::Top));
                shapes.turned(*shape, 1).for_each(|to| add(to, Last::Bottom));
                shapes.twisted(*shape).into_iter().for_each(|to| add(to, Last::Twist));
            }
            words = longer;
        }
        // Shapes that these words reach at least `enough` times for both states of the middle layer take at
        // most 4 moves, and others take more.
        for enough in [1, 2, 5, 20] {
            let lengths = lengths_by_shape(&shapes, enough);
            for (shape, &[even, odd]) in counts.iter().enumerate() {
                assert_eq!(lengths[shape] <= 4, even >= enough && odd >= enough, "{shape} {enough}");
            }
        }
    }
}
