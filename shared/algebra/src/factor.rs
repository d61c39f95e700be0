//! Quickly finds a word for any element of a group, not necessarily a shortest one.
//!
//! The element is divided along transversals with short words. Thousands of its neighbours are divided too: a
//! word for a neighbour becomes a word for the element with a few more turns, and some neighbours have much
//! shorter words than the element. The best words are then shortened part by part.

use crate::commutators::{commutator, commutator_with_a_turn};
pub use crate::transversal::MAX_WORD;
use crate::transversal::Transversals;
use crate::word::generator_orders;
use crate::word_shortening::Shortener;
use crate::{Ball, Group, Permutation, Word};
use std::ops::Deref;
use std::sync::OnceLock;

/// The largest number of elements in the ball. If the whole group fits, all words are shortest ones.
const BALL: usize = 60_000;

/// The largest number of images that the elements of the ball have together, which bounds its memory.
const BALL_IMAGES: usize = 4_000_000;

/// The largest number of images that are computed for a ball in which all powers of generators are one turn.
/// In a larger group the ball has only the powers up to the sixth.
const ALL_POWERS: u64 = 500_000_000;

/// The number of words that are shortened.
const CANDIDATES: usize = 32;

/// Finds words for the elements of one group, which is borrowed or shared.
#[derive(Clone, Debug)]
pub struct Factoriser<G> {
    group: G,
    ball: Ball,
    /// Created when an element is far from the identity; `None` if their words would be too long.
    transversals: OnceLock<Option<Transversals>>,
}

impl<G: Deref<Target = Group>> Factoriser<G> {
    /// Prepares to find words in the generators of `group`. Results are deterministic: random numbers have
    /// fixed seeds.
    pub fn new(group: G) -> Self {
        let (degree, generators) = (group.degree(), group.generators());
        let most = BALL.min(BALL_IMAGES / degree.max(1));
        let powers = generator_orders(generators)
            .into_iter()
            .map(|order| order.unsigned_abs())
            .fold(0, u64::saturating_add);
        let images = group.chain().order().and_then(|order| {
            let order = u64::try_from(order).ok().filter(|&order| order <= most as u64)?;
            order.checked_mul(powers)?.checked_mul(degree as u64)
        });
        let ball = match images {
            Some(images) if images <= ALL_POWERS => Ball::by_all_powers(degree, generators, most),
            _ => Ball::new(degree, generators, most),
        };
        Self { group, ball, transversals: OnceLock::new() }
    }

    /// Returns a word for `element`; `None` if the element is not in the group, or if all words that are
    /// found are too long to be handled. [`Group::why_not`] distinguishes the two cases.
    ///
    /// The first element that is not a product of two elements of the ball takes longer than others.
    ///
    /// # Panics
    /// If the element is of another degree.
    pub fn factor(&self, element: &Permutation) -> Option<Word> {
        let found = self.find(element)?;
        let product = found.product(self.group.degree(), self.group.generators());
        assert_eq!(product, *element, "the word represents its element");
        Some(found)
    }

    fn find(&self, element: &Permutation) -> Option<Word> {
        if let Some(at) = self.ball.find(element) {
            return Some(self.ball.word(at));
        }
        if !self.group.chain().contains(element) {
            return None;
        }
        let halves = self.of_two_halves(element);
        // Up to this distance the two halves of every shortest word are in the ball.
        let is_shortest = |word: &Word| word.len() <= self.ball.complete_to().saturating_mul(2);
        if let Some(shortest) = halves.as_ref().filter(|word| is_shortest(word)) {
            return Some(shortest.clone());
        }
        let found = self.by_transversals(element);
        let mut best = match (halves, found) {
            (Some(halves), Some(found)) if found.len() < halves.len() => found,
            (halves, found) => halves.or(found)?,
        };
        for search in [commutator, commutator_with_a_turn] {
            if let Some(shorter) = search(&self.ball, element, best.len()) {
                best = Shortener::new(&self.ball, self.group.generators()).shorten(shorter);
            }
        }
        Some(best)
    }

    /// Returns a word for `element` as a product of two elements of the ball with the smallest total
    /// distance, if there is such a product.
    fn of_two_halves(&self, element: &Permutation) -> Option<Word> {
        let generator_orders = self.ball.generator_orders();
        let second = |near: &Permutation| self.ball.find(&near.inverse().then(element));
        let pairs = self.ball.elements().iter().enumerate();
        let pairs = pairs.filter_map(|(first, near)| Some((first, second(near)?)));
        let (first, second) =
            pairs.min_by_key(|&(first, second)| self.ball.distance(first) + self.ball.distance(second))?;
        Some(self.ball.word(first).then(&self.ball.word(second), generator_orders))
    }

    /// Returns a shortened word along the transversals for an element of the group; `None` if there are no
    /// transversals with words of bounded length.
    fn by_transversals(&self, element: &Permutation) -> Option<Word> {
        let transversals =
            self.transversals.get_or_init(|| Transversals::new(&self.group, &self.ball)).as_ref()?;
        let sides = [element.clone(), element.inverse()];
        let divided = |side: usize, near: &Permutation| transversals.divide(&near.then(&sides[side]));
        // The length of a word, the side (element or inverse) that it represents, and the neighbour's index
        // in the ball.
        let mut candidates = Vec::with_capacity(2 * self.ball.elements().len());
        for (at, near) in self.ball.elements().iter().enumerate() {
            for side in 0..sides.len() {
                let turns = self.ball.distance(at) + transversals.turns(&divided(side, near)?);
                candidates.push((turns, side, at));
            }
        }
        candidates.sort_unstable();
        candidates.truncate(CANDIDATES);
        let generator_orders = self.ball.generator_orders();
        let shortener = Shortener::new(&self.ball, self.group.generators());
        let words = candidates.into_iter().map(|(_, side, at)| {
            let places =
                divided(side, &self.ball.elements()[at]).expect("the same element was divided before");
            let word = self
                .ball
                .word(at)
                .inverse(generator_orders)
                .then(&transversals.word(&places), generator_orders);
            shortener.shorten(if side == 1 { word.inverse(generator_orders) } else { word })
        });
        words.min_by_key(|word| (word.len(), word.letters()))
    }
}
