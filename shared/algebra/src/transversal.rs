//! Transversals with words: for each base point and each point of its orbit, an element that maps the base
//! point there, and a short word for this element. (T. Minkwitz, *An algorithm for solving the factorization
//! problem in permutation groups*, Journal of Symbolic Computation 26, 1998.)
//!
//! A stabiliser chain could carry words along, but each of its elements is a product of products, so word
//! lengths grow exponentially. Here elements with short words are offered instead. An element is stored if it
//! maps a base point to a new point, or has a shorter word than the element stored there. The quotient after
//! division by stored elements is offered to the next level.

use crate::{Ball, Group, Permutation, Word};

/// The largest number of turns in the quotients of the first pass; longer ones are dropped. The limit grows
/// by a quarter with each pass.
const FIRST_LIMIT: usize = 8;

/// The number of passes. Each pass offers a part of the ball, then products of the entries.
const PASSES: usize = 24;

/// The largest number of products that are offered in all passes. The limit bounds the time for groups of
/// large degree.
const PRODUCTS: usize = 400_000;

/// The maximum number of turns in a stored word. If generators act independently on two orbits, words grow
/// exponentially with the level.
pub const MAX_WORD: usize = 2_000;

/// The largest number of images and turns that are computed for all entries, which bounds the time: a product
/// counts as many as its factors have points and their words have turns.
const WORK: u64 = 10_000_000_000;

/// An element that maps a base point to a certain point.
#[derive(Clone, Debug)]
struct Entry {
    element: Permutation,
    inverse: Permutation,
    word: Word,
    /// Whether products with this entry have been offered.
    used: bool,
}

/// For each base point, the elements that map it to the other points of its orbit.
#[derive(Clone, Debug)]
pub(crate) struct Transversals {
    base: Vec<usize>,
    /// Entries by level and point.
    entries: Vec<Vec<Option<Entry>>>,
    /// The number of points without an entry.
    missing: usize,
    generator_orders: Vec<i64>,
    /// The remaining number of images and turns that may be computed.
    work_left: u64,
}

impl Transversals {
    /// Computes complete transversals of a group along the base of its chain, or returns `None` if that
    /// exceeds [`WORK`] or [`MAX_WORD`]. The words are in the generators of the group.
    pub(crate) fn new(group: &Group, ball: &Ball) -> Option<Self> {
        let chain = group.chain();
        let mut found = Self {
            base: chain.base().collect(),
            entries: vec![vec![None; group.degree()]; chain.base().count()],
            missing: chain.orbit_lengths().map(|length| length - 1).sum(),
            generator_orders: ball.generator_orders().to_vec(),
            work_left: WORK,
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
        if found.missing > 0 {
            return None;
        }
        let mut left = PRODUCTS;
        found.multiply(MAX_WORD, &mut left);
        Some(found)
    }

    /// Offers an element that fixes the base points before level `from`, with its word.
    fn offer(&mut self, from: usize, mut element: Permutation, mut word: Word, limit: usize) {
        for level in from..self.base.len() {
            if word.len() > limit.min(MAX_WORD) || self.work_left == 0 {
                return;
            }
            let to = element.apply(self.base[level]);
            if to == self.base[level] {
                continue;
            }
            let other = self.entries[level][to].as_ref().map_or(0, |old| old.word.len());
            self.spend(element.degree() + word.len() + other);
            match &self.entries[level][to] {
                None => return self.keep_both(level, element, word),
                Some(old) if word.len() < old.word.len() => {
                    let old = old.clone();
                    let inverse = word.inverse(&self.generator_orders);
                    let left = old.element.then(&element.inverse());
                    self.keep_both(level, element, word);
                    (element, word) = (left, old.word.then(&inverse, &self.generator_orders));
                }
                Some(old) => {
                    element = element.then(&old.inverse);
                    word = word.then(&old.word.inverse(&self.generator_orders), &self.generator_orders);
                }
            }
        }
    }

    /// Subtracts images and turns that are computed.
    fn spend(&mut self, work: usize) {
        self.work_left = self.work_left.saturating_sub(work as u64);
    }

    /// Stores an element, and its inverse if that has a shorter word than the entry at its point, or is the
    /// first one there.
    fn keep_both(&mut self, level: usize, element: Permutation, word: Word) {
        let (inverse, inverse_word) = (element.inverse(), word.inverse(&self.generator_orders));
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

    /// Offers the products of any two entries of a level, unless both were used before. While points are
    /// missing, products with entries of later levels are offered too.
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
                    let Some(rest) = left.checked_sub(1).filter(|_| self.work_left > 0) else {
                        return;
                    };
                    *left = rest;
                    self.spend(a.element.degree() + a.word.len() + b.word.len());
                    let product = a.element.then(&b.element);
                    self.offer(level, product, a.word.then(&b.word, &self.generator_orders), limit);
                }
            }
            for entry in self.entries[level].iter_mut().flatten() {
                entry.used = true;
            }
        }
    }

    /// Offers random words of growing length until no point is missing, or until the work or the length of
    /// words is too large. Without these limits the loop would end: once all earlier levels are complete, the
    /// quotient is a random element of the group of its level, which sooner or later carries the base point
    /// to each missing point. The ball must contain all turns: otherwise its words may generate a smaller
    /// group.
    fn complete(&mut self, group: &Group, ball: &Ball) {
        let mut random = fastrand::Rng::with_seed(1);
        let mut turns = 16;
        while self.missing > 0 && self.work_left > 0 && turns <= MAX_WORD {
            self.spend(turns * group.degree());
            let (mut element, mut word) = (Permutation::identity(group.degree()), Word::identity());
            for _ in 0..turns {
                let at = random.usize(..ball.within(1).len());
                element = element.then(&ball.elements()[at]);
                word = word.then(&ball.word(at), &self.generator_orders);
            }
            self.offer(0, element, word, usize::MAX);
            turns += 1;
        }
    }

    /// Returns the positions of the entries whose product is `element`, in the order of division: from the
    /// last factor of the product to the first. `None` if `element` is not in the group.
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

    /// Returns the number of turns in the word of a product, before neighbouring turns cancel.
    pub(crate) fn turns(&self, places: &[(usize, usize)]) -> usize {
        places.iter().map(|&place| self.word_at(place).len()).sum()
    }

    /// Returns the word of the product of the entries at these positions.
    pub(crate) fn word(&self, places: &[(usize, usize)]) -> Word {
        let words = places.iter().rev().map(|&place| self.word_at(place));
        words.fold(Word::identity(), |product, word| product.then(word, &self.generator_orders))
    }
}
