//! Finds shorter words for the same element: parts of a word are replaced by shorter words from a ball.

use crate::{Ball, Permutation, Word};

/// Shortens words by looking up their parts in a ball.
#[derive(Debug)]
pub(crate) struct Shortener<'a> {
    ball: &'a Ball,
    generators: &'a [Permutation],
    /// The elements by which a part is multiplied before it is looked up, the identity first.
    near: &'a [Permutation],
    /// The largest number of turns in a part that is looked up.
    longest_part: usize,
}

/// The largest number of elements that are tried as the first factor of a part.
const NEAR: usize = 400;

/// The number of turns by which parts may be longer than the distance up to which every element is found.
const SLACK: usize = 3;

/// An element as a product x⁻¹ y of elements of the ball: the index of x, the index of y, and the number
/// of turns of both.
type Split = (usize, usize, usize);

impl<'a> Shortener<'a> {
    pub(crate) fn new(ball: &'a Ball, generators: &'a [Permutation]) -> Self {
        let radius =
            (0..=ball.complete_to().min(8)).rev().find(|&r| ball.within(r).len() <= NEAR).unwrap_or(0);
        let near = ball.within(radius);
        let longest_part = ball.complete_to().saturating_add(radius).saturating_add(SLACK);
        Self { ball, generators, near, longest_part }
    }

    /// Returns a word of the same element that is at most as long. Each pass replaces parts that do not
    /// overlap, chosen to make the word as short as possible. Passes are repeated until the word does not
    /// become shorter.
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

    /// Replaces parts along a shortest path. The nodes are the positions between turns; an edge over a part
    /// costs the number of turns of the best known word for that part.
    fn pass(&self, word: &Word) -> Word {
        let turns: Vec<Permutation> =
            word.turns().iter().map(|turn| self.generators[turn.generator].power(turn.exponent)).collect();
        let Some(first) = turns.first() else {
            return Word::identity();
        };
        let mut best: Vec<(usize, Option<(usize, Split)>)> = (0..=turns.len()).map(|at| (at, None)).collect();
        for start in 0..turns.len() {
            // Keeping the turn before `start` costs one.
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

    /// Writes an element as a product of two elements of the ball, with fewer than `below` turns.
    fn split(&self, element: &Permutation, below: usize) -> Option<Split> {
        if let Some(at) = self.ball.find(element) {
            let distance = self.ball.distance(at);
            return (distance < below).then_some((0, at, distance));
        }
        let mut found: Option<Split> = None;
        for (first, near) in self.near.iter().enumerate().skip(1) {
            let before = self.ball.distance(first);
            let below = found.map_or(below, |(_, _, turns)| turns);
            // An element that is not in the ball is farther away than the distance up to which the ball is
            // complete.
            if before + 1 >= below || self.ball.complete_to() + 1 >= below {
                break;
            }
            // `near` stands for its inverse, which is at the same distance.
            if let Some(at) = self.ball.find(&near.then(element)) {
                let turns = before + self.ball.distance(at);
                if turns < below {
                    found = Some((first, at, turns));
                }
            }
        }
        found
    }

    /// Returns the word along the path to the last position.
    fn replaced(&self, word: &Word, best: &[(usize, Option<(usize, Split)>)]) -> Word {
        let generator_orders = self.ball.generator_orders();
        let mut parts = Vec::new();
        let mut at = word.len();
        while at > 0 {
            match best[at].1 {
                Some((start, (first, second, _))) => {
                    parts.push(
                        self.ball
                            .word(first)
                            .inverse(generator_orders)
                            .then(&self.ball.word(second), generator_orders),
                    );
                    at = start;
                }
                None => {
                    let mut turn = Word::identity();
                    turn.push(word.turns()[at - 1], generator_orders);
                    parts.push(turn);
                    at -= 1;
                }
            }
        }
        parts.iter().rev().fold(Word::identity(), |product, part| product.then(part, generator_orders))
    }
}
