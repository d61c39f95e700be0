//! Transversals with words: for each point of each orbit along a base an element that carries the base point
//! there, and a word that makes it, as short as can be found. (T. Minkwitz, *An algorithm for solving the
//! factorization problem in permutation groups*, Journal of Symbolic Computation 26, 1998.)
//!
//! A chain of stabilisers could carry words along, but each of its elements is a product of products, and
//! their lengths grow exponentially. Here elements with short words are offered instead. One that carries a
//! base point where nothing carried it yet, or by a shorter word than what did, is kept there; what is left
//! over after division by what is kept is offered to the next level.

use crate::{Ball, Group, Permutation, Word};

/// Leftovers longer than so many turns are dropped at first, and each time that the transversals are gone
/// through they may be longer by a quarter.
const FIRST_LIMIT: usize = 8;

/// How often they are gone through.
const PASSES: usize = 24;

/// Products that are offered in all, besides the ball: this bounds the time for groups of large degree.
const PRODUCTS: usize = 400_000;

/// An element that carries a base point to a point.
#[derive(Clone, Debug)]
struct Entry {
    element: Permutation,
    inverse: Permutation,
    word: Word,
    /// Whether products with it were offered.
    used: bool,
}

/// For each base point the elements that carry it to the points of its orbit, but for itself.
#[derive(Clone, Debug)]
pub(crate) struct Transversals {
    base: Vec<usize>,
    /// By level and point.
    entries: Vec<Vec<Option<Entry>>>,
    /// How many points are not reached yet.
    missing: usize,
    orders: Vec<i64>,
}

impl Transversals {
    /// Transversals of a group along the base of its chain, complete; its generators are the words' letters.
    pub(crate) fn new(group: &Group, ball: &Ball) -> Self {
        let chain = group.chain();
        let mut found = Self {
            base: chain.base().collect(),
            entries: vec![vec![None; group.degree()]; chain.base().count()],
            missing: chain.orbit_lengths().map(|length| length - 1).sum(),
            orders: ball.orders().to_vec(),
        };
        let mut limit = FIRST_LIMIT;
        let mut left = PRODUCTS;
        let share = ball.elements().len().div_ceil(PASSES);
        for share in (0..ball.elements().len()).collect::<Vec<_>>().chunks(share) {
            for &at in share {
                found.offer(0, ball.elements()[at].clone(), ball.word(at), limit);
            }
            found.multiply(limit, &mut left);
            limit += limit.div_ceil(4);
        }
        found.complete(group, ball);
        let mut left = PRODUCTS;
        found.multiply(usize::MAX, &mut left);
        found
    }

    /// Offers an element of the group of a level, with its word.
    fn offer(&mut self, from: usize, mut element: Permutation, mut word: Word, limit: usize) {
        for level in from..self.base.len() {
            if word.len() > limit {
                return;
            }
            let to = element.apply(self.base[level]);
            if to == self.base[level] {
                continue;
            }
            match &self.entries[level][to] {
                None => return self.keep_both(level, element, word),
                Some(old) if word.len() < old.word.len() => {
                    let old = old.clone();
                    let inverse = word.inverse(&self.orders);
                    let left = old.element.then(&element.inverse());
                    self.keep_both(level, element, word);
                    (element, word) = (left, old.word.then(&inverse, &self.orders));
                }
                Some(old) => {
                    element = element.then(&old.inverse);
                    word = word.then(&old.word.inverse(&self.orders), &self.orders);
                }
            }
        }
    }

    /// Keeps an element, and its inverse where it is better than what is there.
    fn keep_both(&mut self, level: usize, element: Permutation, word: Word) {
        let (inverse, inverse_word) = (element.inverse(), word.inverse(&self.orders));
        let back = inverse.apply(self.base[level]);
        self.keep(level, element.clone(), inverse.clone(), word);
        let old = &self.entries[level][back];
        if old.as_ref().is_none_or(|old| inverse_word.len() < old.word.len()) {
            self.keep(level, inverse, element, inverse_word);
        }
    }

    fn keep(&mut self, level: usize, element: Permutation, inverse: Permutation, word: Word) {
        let place = &mut self.entries[level][element.apply(self.base[level])];
        self.missing -= usize::from(place.is_none());
        *place = Some(Entry { element, inverse, word, used: false });
    }

    /// Offers the products of any two elements of a level of which one is new, and while points are missing
    /// those with elements of later levels too.
    fn multiply(&mut self, limit: usize, left: &mut usize) {
        for level in 0..self.base.len() {
            let here: Vec<Entry> = self.entries[level].iter().flatten().cloned().collect();
            let others: Vec<Entry> = match self.missing {
                0 => here.clone(),
                _ => self.entries[level..].iter().flatten().flatten().cloned().collect(),
            };
            for a in &here {
                for b in &others {
                    if (a.used && b.used) || a.word.len() + b.word.len() > limit {
                        continue;
                    }
                    let Some(rest) = left.checked_sub(1) else {
                        return;
                    };
                    *left = rest;
                    let product = a.element.then(&b.element);
                    self.offer(level, product, a.word.then(&b.word, &self.orders), limit);
                }
            }
            for entry in self.entries[level].iter_mut().flatten() {
                entry.used = true;
            }
        }
    }

    /// Offers random words of growing length until no point is missing: where all earlier levels are
    /// complete, what is left over is any element of the group of a level alike, and sooner or later
    /// carries its base point anywhere.
    fn complete(&mut self, group: &Group, ball: &Ball) {
        let mut random = fastrand::Rng::with_seed(1);
        let mut turns = 16;
        while self.missing > 0 {
            let (mut element, mut word) = (Permutation::identity(group.degree()), Word::identity());
            for _ in 0..turns {
                let at = random.usize(..ball.within(1).len());
                element = element.then(&ball.elements()[at]);
                word = word.then(&ball.word(at), &self.orders);
            }
            self.offer(0, element, word, usize::MAX);
            turns += 1;
        }
    }

    /// The places of the entries whose product is an element: in the order in which they are divided out,
    /// from the right to the left of the product. `None` if it is not in the group.
    pub(crate) fn divide(&self, element: &Permutation) -> Option<Vec<(usize, usize)>> {
        let mut residue = element.clone();
        let mut places = Vec::new();
        for (level, &base) in self.base.iter().enumerate() {
            let to = residue.apply(base);
            if to != base {
                residue = residue.then(&self.entries[level][to].as_ref()?.inverse);
                places.push((level, to));
            }
        }
        residue.is_identity().then_some(places)
    }

    fn word_at(&self, (level, point): (usize, usize)) -> &Word {
        &self.entries[level][point].as_ref().expect("places are of entries").word
    }

    /// The number of turns of a product, before neighbours cancel.
    pub(crate) fn turns(&self, places: &[(usize, usize)]) -> usize {
        places.iter().map(|&place| self.word_at(place).len()).sum()
    }

    /// The word of a product.
    pub(crate) fn word(&self, places: &[(usize, usize)]) -> Word {
        let words = places.iter().rev().map(|&place| self.word_at(place));
        words.fold(Word::identity(), |product, word| product.then(word, &self.orders))
    }
}
