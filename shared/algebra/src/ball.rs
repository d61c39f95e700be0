//! The elements of a group that are nearest to the identity, each with a shortest word.

use crate::Permutation;
use crate::word::{Turn, Word, generator_orders};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// The largest exponent, positive or negative, of a power that counts as one turn, unless all powers do. Only
/// generators of order 14 and above have other powers; in a large group all of them would be too many turns
/// for a search.
const MAX_EXPONENT: i64 = 6;

/// The elements found by breadth-first search from the identity, where each power of a generator up to the
/// sixth, or every power, is one turn. The ball has all elements nearer than its last distance, and of
/// that distance the elements that were found first.
#[derive(Clone, Debug)]
pub struct Ball {
    turns: Vec<(Turn, Permutation)>,
    generator_orders: Vec<i64>,
    elements: Vec<Permutation>,
    /// For each element but the first: the index of an element that is one turn nearer, and the index of the
    /// turn that leads from there.
    steps: Vec<(u32, u32)>,
    distances: Vec<u8>,
    index: FxHashMap<Permutation, u32>,
    /// The distance up to which no element of the group is missing.
    complete_to: usize,
}

impl Ball {
    /// Finds the `most` elements nearest to the identity, or the whole group if it is smaller. The identity
    /// is always found.
    ///
    /// # Panics
    /// If a generator is not of degree `degree`, or `most` is not below 2^32.
    pub fn new(degree: usize, generators: &[Permutation], most: usize) -> Self {
        Self::by_powers(degree, generators, most, MAX_EXPONENT)
    }

    /// Finds the same with every power of a generator as one turn. A step takes as many products as there are
    /// powers.
    ///
    /// # Panics
    /// As [`Ball::new`].
    pub fn by_all_powers(degree: usize, generators: &[Permutation], most: usize) -> Self {
        Self::by_powers(degree, generators, most, i64::MAX)
    }

    fn by_powers(degree: usize, generators: &[Permutation], most: usize, largest_exponent: i64) -> Self {
        assert!(u32::try_from(most).is_ok(), "elements are numbered with 32 bits");
        let generator_orders = generator_orders(generators);
        let turns = turns(generators, &generator_orders, largest_exponent);
        let identity = Permutation::identity(degree);
        let mut ball = Self {
            turns,
            generator_orders,
            elements: vec![identity.clone()],
            steps: vec![(0, 0)],
            distances: vec![0],
            index: FxHashMap::from_iter([(identity, 0)]),
            complete_to: 0,
        };
        let mut from = 0;
        while let Some(element) = ball.elements.get(from).cloned() {
            let distance = ball.distances[from];
            ball.complete_to = usize::from(distance);
            if distance == u8::MAX {
                return ball;
            }
            for turn in 0..ball.turns.len() {
                let next = element.then(&ball.turns[turn].1);
                if let Entry::Vacant(place) = ball.index.entry(next) {
                    if ball.elements.len() >= most {
                        return ball;
                    }
                    ball.elements.push(place.key().clone());
                    place.insert(ball.elements.len() as u32 - 1);
                    ball.steps.push((from as u32, turn as u32));
                    ball.distances.push(distance + 1);
                }
            }
            from += 1;
        }
        ball.complete_to = usize::MAX;
        ball
    }

    /// Returns the orders of the generators.
    pub fn generator_orders(&self) -> &[i64] {
        &self.generator_orders
    }

    /// Returns the elements in order of their distances, the identity first.
    pub fn elements(&self) -> &[Permutation] {
        &self.elements
    }

    /// Returns the elements of the ball up to this distance. Elements of the group may be missing beyond
    /// [`Ball::complete_to`].
    pub fn within(&self, distance: usize) -> &[Permutation] {
        &self.elements[..self.distances.partition_point(|&d| usize::from(d) <= distance)]
    }

    /// Returns the distance up to which no element is missing; `usize::MAX` if the ball is the whole group.
    pub fn complete_to(&self) -> usize {
        self.complete_to
    }

    /// Returns the index of an element in [`Ball::elements`].
    pub fn find(&self, element: &Permutation) -> Option<usize> {
        self.index.get(element).map(|&at| at as usize)
    }

    /// Returns the number of turns in a shortest word of the element at an index.
    pub fn distance(&self, at: usize) -> usize {
        self.distances[at].into()
    }

    /// Returns a shortest word of the element at an index.
    pub fn word(&self, mut at: usize) -> Word {
        let mut backwards = Vec::new();
        while at != 0 {
            let (before, turn) = self.steps[at];
            backwards.push(self.turns[turn as usize].0);
            at = before as usize;
        }
        let mut word = Word::identity();
        backwards.into_iter().rev().for_each(|turn| word.push(turn, &self.generator_orders));
        word
    }
}

/// Returns the powers of the generators up to an exponent, positive or negative.
fn turns(
    generators: &[Permutation],
    generator_orders: &[i64],
    largest_exponent: i64,
) -> Vec<(Turn, Permutation)> {
    let mut turns = Vec::new();
    for (generator, action) in generators.iter().enumerate() {
        let order = generator_orders[generator];
        let most = largest_exponent.min(order / 2);
        // Half the order and its negative are the same power.
        let least = if 2 * most == order { 1 - most } else { -most };
        for exponent in (least..=most).filter(|&exponent| exponent != 0) {
            turns.push((Turn { generator, exponent }, action.power(exponent)));
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns and rows of the 2 x 2 board.
    fn square() -> Vec<Permutation> {
        ["(1,3)", "(2,4)", "(1,2)", "(3,4)"].map(|g| Permutation::parse(g, 4).unwrap()).to_vec()
    }

    fn shells(ball: &Ball) -> Vec<usize> {
        let last = ball.distance(ball.elements().len() - 1);
        (0..=last).map(|d| (0..ball.elements().len()).filter(|&at| ball.distance(at) == d).count()).collect()
    }

    #[test]
    fn whole_group_growth_function() {
        // The counts are those of an independent breadth-first search; the diameter 4 is in table 4 of Jia,
        // Zhang and Xiang.
        let ball = Ball::new(4, &square(), 1000);
        assert_eq!(ball.elements().len(), 24);
        assert_eq!(shells(&ball), [1, 4, 10, 8, 1]);
        assert_eq!(ball.complete_to(), usize::MAX);
    }

    #[test]
    fn words_are_correct_and_shortest() {
        let generators = square();
        for most in [1, 2, 4, 5, 6, 24, 25] {
            let ball = Ball::new(4, &generators, most);
            assert_eq!(ball.elements().len(), most.min(24));
            for (at, element) in ball.elements().iter().enumerate() {
                assert_eq!(ball.word(at).product(4, &generators), *element);
                assert_eq!(ball.word(at).len(), ball.distance(at));
                assert_eq!(ball.find(element), Some(at));
            }
            let complete = ball.complete_to().min(4);
            assert_eq!(ball.within(complete).len(), Ball::new(4, &generators, 24).within(complete).len());
        }
    }

    #[test]
    fn every_power_is_a_turn() {
        let generators = ["(1,2,3,4,5)", "(1,6)(2,5)(3,4)"].map(|g| Permutation::parse(g, 6).unwrap());
        let ball = Ball::new(6, &generators, 6);
        assert_eq!(ball.distance(ball.find(&generators[0].power(2)).unwrap()), 1);
        assert_eq!(ball.distance(ball.find(&generators[0].power(-2)).unwrap()), 1);
        assert_eq!(ball.within(1).len(), 6);
        assert!(Ball::new(3, &[], 10).elements().len() == 1);
    }

    #[test]
    fn powers_beyond_the_sixth_can_be_turns() {
        let cycle = Permutation::from_fn(17, |point| (point + 1) % 17);
        let far = cycle.power(8);
        let generators = [cycle];
        let balls = [Ball::new(17, &generators, 100), Ball::by_all_powers(17, &generators, 100)];
        for (ball, distance) in balls.iter().zip([2, 1]) {
            assert_eq!(ball.elements().len(), 17);
            assert_eq!(ball.distance(ball.find(&far).unwrap()), distance);
        }
    }
}
