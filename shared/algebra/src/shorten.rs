//! Shorter words for the same element: parts of a word are replaced by shorter ones that are known.

use crate::{Ball, Permutation, Word};

/// What parts of words are looked up in.
#[derive(Debug)]
pub(crate) struct Shortener<'a> {
    ball: &'a Ball,
    generators: &'a [Permutation],
    /// The elements whose products with elements of the ball are looked up as well, the identity first.
    near: &'a [Permutation],
    /// The turns in the longest part that is looked up.
    longest_part: usize,
}

/// So many elements are tried as the first factor of a part.
const NEAR: usize = 400;

/// Parts may be so much longer than the distance up to which any element is found.
const SLACK: usize = 3;

/// How an element is written as a product of two in the ball: the first, the second, turns in all.
type Split = (usize, usize, usize);

impl<'a> Shortener<'a> {
    pub(crate) fn new(ball: &'a Ball, generators: &'a [Permutation]) -> Self {
        let radius =
            (0..=ball.complete_to().min(8)).rev().find(|&r| ball.within(r).len() <= NEAR).unwrap_or(0);
        let near = ball.within(radius);
        let longest_part = ball.complete_to().saturating_add(radius).saturating_add(SLACK);
        Self { ball, generators, near, longest_part }
    }

    /// A word of the same element, no longer. Parts that do not overlap are replaced at once, chosen such
    /// that the whole becomes as short as it can in one go, until nothing is gained.
    pub(crate) fn shorten(&self, word: Word) -> Word {
        let mut word = word;
        loop {
            let shorter = self.pass(&word);
            if shorter.len() >= word.len() {
                return word;
            }
            word = shorter;
        }
    }

    /// A shortest path over the places between turns, where a step over a part costs the turns of the best
    /// word that is known for it.
    fn pass(&self, word: &Word) -> Word {
        let turns: Vec<Permutation> =
            word.turns().iter().map(|turn| self.generators[turn.generator].power(turn.exponent)).collect();
        let Some(first) = turns.first() else {
            return Word::identity();
        };
        let mut best: Vec<(usize, Option<(usize, Split)>)> = (0..=turns.len()).map(|at| (at, None)).collect();
        for start in 0..turns.len() {
            // Or the turn before is kept.
            if start > 0 && best[start - 1].0 + 1 < best[start].0 {
                best[start] = (best[start - 1].0 + 1, None);
            }
            let mut product = Permutation::identity(first.degree());
            for end in start + 1..=turns.len().min(start.saturating_add(self.longest_part)) {
                product = product.then(&turns[end - 1]);
                if let Some(split) = self.split(&product, end - start) {
                    let cost = best[start].0 + split.2;
                    if cost < best[end].0 {
                        best[end] = (cost, Some((start, split)));
                    }
                }
            }
        }
        let last = turns.len();
        if best[last - 1].0 + 1 < best[last].0 {
            best[last] = (best[last - 1].0 + 1, None);
        }
        self.replaced(word, &best)
    }

    /// An element as a product of two in the ball of fewer than `below` turns.
    fn split(&self, element: &Permutation, below: usize) -> Option<Split> {
        if let Some(at) = self.ball.find(element) {
            let distance = self.ball.distance(at);
            return (distance < below).then_some((0, at, distance));
        }
        let mut found: Option<Split> = None;
        for (first, near) in self.near.iter().enumerate().skip(1) {
            let before = self.ball.distance(first);
            let below = found.map_or(below, |(_, _, turns)| turns);
            // What is not in the ball is farther than it is complete to.
            if before + 1 >= below || self.ball.complete_to() + 1 >= below {
                break;
            }
            // The inverse of an element is as near as it.
            if let Some(at) = self.ball.find(&near.then(element)) {
                let turns = before + self.ball.distance(at);
                if turns < below {
                    found = Some((first, at, turns));
                }
            }
        }
        found
    }

    /// The word along the path that ends at the last place.
    fn replaced(&self, word: &Word, best: &[(usize, Option<(usize, Split)>)]) -> Word {
        let orders = self.ball.orders();
        let mut parts = Vec::new();
        let mut at = word.len();
        while at > 0 {
            match best[at].1 {
                Some((start, (first, second, _))) => {
                    parts.push(self.ball.word(first).inverse(orders).then(&self.ball.word(second), orders));
                    at = start;
                }
                None => {
                    let mut turn = Word::identity();
                    turn.push(word.turns()[at - 1], orders);
                    parts.push(turn);
                    at -= 1;
                }
            }
        }
        parts.iter().rev().fold(Word::identity(), |product, part| product.then(part, orders))
    }
}
