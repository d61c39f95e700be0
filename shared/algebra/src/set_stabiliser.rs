//! Stabilisers of sets of points.
//!
//! Random elements are drawn uniformly from a group of known order, by its stabiliser chain. Let an element
//! map a set S to S'. Its product with the inverse of a known element that maps S to S' stabilises S,
//! and is uniformly distributed over the stabiliser. The order of the stabiliser is the order of the group
//! divided by the length of the orbit of S, so it is known when the stabiliser is complete. The result is
//! therefore certain; only the running time is random. (The method is that of random Schreier generators; see
//! A. Seress, *Permutation Group Algorithms*, 2003, chapters 2 and 4.)

use crate::{Permutation, StabiliserChain};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use num_bigint::BigUint;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// A group that can compute the stabilisers of sets of its points.
#[derive(Clone, Debug)]
pub struct Stabiliser {
    generators: Vec<Permutation>,
    chain: StabiliserChain,
    order: BigUint,
}

impl Stabiliser {
    /// Computes the group that `generators` generate on `degree` points.
    pub fn whole(degree: usize, generators: Vec<Permutation>) -> Self {
        let chain = StabiliserChain::new(degree, &generators);
        Self::with_chain(generators, chain)
    }

    /// Returns the group that `generators` generate, with its chain.
    pub fn with_chain(generators: Vec<Permutation>, chain: StabiliserChain) -> Self {
        Self { generators, order: chain.big_order(), chain }
    }

    /// Returns a list of generators of the group.
    pub fn generators(&self) -> &[Permutation] {
        &self.generators
    }

    /// Searches for two, three or four random generators of the group, which suffice for most groups. Returns
    /// all known generators if the search fails.
    pub fn few_generators(&self) -> Vec<Permutation> {
        const MOST: usize = 4;
        let mut random = fastrand::Rng::with_seed(0);
        for count in 2..self.generators.len().min(MOST + 1) {
            let few: Vec<Permutation> = (0..count).map(|_| self.chain.random(&mut random)).collect();
            if self.is_generated_by(&few, &mut random) {
                return few;
            }
        }
        self.generators.clone()
    }

    /// Returns whether random products of `elements` generate the whole group. False may be wrong; true is
    /// proven by the order.
    fn is_generated_by(&self, elements: &[Permutation], random: &mut fastrand::Rng) -> bool {
        /// The number of consecutive products that may add nothing before the search gives up.
        const PATIENCE: usize = 12;
        let base: Vec<usize> = self.chain.base().collect();
        let mut chain = StabiliserChain::trivial_along(self.chain.degree(), &base);
        let (mut product, mut idle) = (Permutation::identity(self.chain.degree()), 0);
        while idle < PATIENCE {
            for _ in 0..2 * elements.len() {
                product = product.then(&elements[random.usize(..elements.len())]);
            }
            idle = if chain.insert_element_of_known_group(&product) { 0 } else { idle + 1 };
            if chain.big_order() == self.order {
                return true;
            }
        }
        false
    }

    /// Returns the number of elements.
    pub fn order(&self) -> &BigUint {
        &self.order
    }

    /// Computes the chain along a base that begins with these points.
    pub fn along(&self, base: &[usize]) -> StabiliserChain {
        let mut chain = StabiliserChain::trivial_along(self.chain.degree(), base);
        let mut random = fastrand::Rng::with_seed(0);
        while chain.big_order() != self.order {
            chain.insert_element_of_known_group(&self.chain.random(&mut random));
        }
        chain
    }

    /// Returns the subgroup of the elements that map `set` to itself, and the length of the orbit of `set`.
    /// `None` if the orbit is longer than `most`.
    pub fn of_set(&self, set: &[usize], most: usize) -> Option<(Self, usize)> {
        /// Up to this length, listing the orbit with all generators is no slower than searching for a few
        /// generators.
        const SHORT: usize = 1 << 10;
        let degree = self.chain.degree();
        let mut start = vec![0; degree.div_ceil(64)];
        set.iter().for_each(|&point| add(&mut start, point));
        let few;
        let (generators, orbit) = match Orbit::new(&start, &self.generators, most.min(SHORT)) {
            Some(orbit) => (&self.generators, orbit),
            None if most <= SHORT => return None,
            None => {
                few = self.few_generators();
                (&few, Orbit::new(&start, &few, most)?)
            }
        };
        let length = orbit.from.len();
        if length == 1 {
            return Some((self.clone(), 1));
        }
        let order = &self.order / length;
        let mut random = fastrand::Rng::with_seed(0);
        let mut found = Vec::new();
        let mut chain = StabiliserChain::trivial(degree);
        while chain.big_order() != order {
            let mut element = self.chain.random(&mut random);
            // Maps the image of the set back to the set, along the path on which the image was found.
            let mut at = orbit.number_of_image(&element);
            while at > 0 {
                let (before, generator) = orbit.from[at as usize];
                element = element.then(&generators[generator as usize].inverse());
                at = before;
            }
            if chain.insert_element_of_known_group(&element) {
                found.push(element);
            }
        }
        Some((Self { generators: found, chain, order }, length))
    }
}

/// The images of a set under the group, numbered in order of discovery. A set has one bit for each point.
struct Orbit {
    /// The number of 64-bit words of a set.
    width: usize,
    /// The words of all sets, one set after the other.
    sets: Vec<u64>,
    /// The numbers of the sets, indexed by the hash of the set.
    numbers: HashTable<u32>,
    /// For each set but the first: the number of an earlier set, and of the generator that carries the
    /// earlier set to this one.
    from: Vec<(u32, u32)>,
}

impl Orbit {
    /// Lists the orbit of `start`; `None` if the orbit is longer than `most`.
    fn new(start: &[u64], generators: &[Permutation], most: usize) -> Option<Self> {
        let mut orbit =
            Self { width: start.len(), sets: Vec::new(), numbers: HashTable::new(), from: Vec::new() };
        orbit.insert(start, (0, 0));
        let mut image = vec![0; start.len()];
        let mut next = 0;
        while next < orbit.from.len() {
            for (number, generator) in generators.iter().enumerate() {
                carry(orbit.set(next as u32), generator, &mut image);
                orbit.insert(&image, (next as u32, number as u32));
            }
            if orbit.from.len() > most {
                return None;
            }
            next += 1;
        }
        Some(orbit)
    }

    /// Adds a set that was found in this way, unless it is already present.
    fn insert(&mut self, set: &[u64], from: (u32, u32)) {
        let (width, sets) = (self.width, &self.sets);
        let known = |&number: &u32| &sets[number as usize * width..][..width];
        if let Entry::Vacant(entry) =
            self.numbers.entry(hash(set), |number| known(number) == set, |number| hash(known(number)))
        {
            entry.insert(self.from.len() as u32);
            self.sets.extend_from_slice(set);
            self.from.push(from);
        }
    }

    fn set(&self, number: u32) -> &[u64] {
        &self.sets[number as usize * self.width..][..self.width]
    }

    /// Returns the number of the image of the first set under an element of the group.
    fn number_of_image(&self, element: &Permutation) -> u32 {
        let mut image = vec![0; self.width];
        carry(self.set(0), element, &mut image);
        let is_image = |&number: &u32| self.set(number) == image;
        *self.numbers.find(hash(&image), is_image).expect("the orbit has all images")
    }
}

fn hash(set: &[u64]) -> u64 {
    FxBuildHasher.hash_one(set)
}

fn add(set: &mut [u64], point: usize) {
    set[point / 64] |= 1 << (point % 64);
}

/// Writes to `image` the image of a set under an element.
fn carry(set: &[u64], by: &Permutation, image: &mut [u64]) {
    image.fill(0);
    for (number, &word) in set.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            add(image, by.apply(64 * number + rest.trailing_zeros() as usize));
            rest &= rest - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(degree: usize, generators: &[&str]) -> Stabiliser {
        let parse = |cycles: &&str| Permutation::parse(cycles, degree).unwrap();
        Stabiliser::whole(degree, generators.iter().map(parse).collect())
    }

    /// A set of this many points needs several words of 64 bits. A regular 150-gon has 300 symmetries; those
    /// that map an edge to itself are the identity and a reflection, so there are 150 edges.
    #[test]
    fn sets_may_need_several_words() {
        const CORNERS: usize = 150;
        let turn = Permutation::from_fn(CORNERS, |corner| (corner + 1) % CORNERS);
        let reflection = Permutation::from_fn(CORNERS, |corner| CORNERS - 1 - corner);
        let whole = Stabiliser::whole(CORNERS, vec![turn, reflection]);
        for edge in [[0, CORNERS - 1], [63, 64], [127, 128]] {
            let (stabiliser, orbit) = whole.of_set(&edge, 1000).unwrap();
            assert_eq!((orbit, stabiliser.order()), (CORNERS, &2_u32.into()));
            assert!(stabiliser.generators().iter().all(|x| edge.contains(&x.apply(edge[0]))));
        }
    }

    #[test]
    fn stabilisers_fix_the_set_and_have_the_right_order() {
        // The symmetric group of 7 points, a group of 4 blocks of 2 points with two sets, and M11.
        for (degree, generators, set, length) in [
            (7, &["(1,2)", "(1,2,3,4,5,6,7)"][..], &[0, 2, 5][..], 35),
            (8, &["(1,2)", "(1,3)(2,4)", "(1,3,5,7)(2,4,6,8)"], &[0, 1, 4, 5], 6),
            (8, &["(1,2)", "(1,3)(2,4)", "(1,3,5,7)(2,4,6,8)"], &[0, 2], 24),
            (11, &["(1,2,3,4,5,6,7,8,9,10,11)", "(3,7,11,8)(4,10,5,6)"], &[0, 1, 2], 165),
        ] {
            let whole = group(degree, generators);
            let (stabiliser, orbit) = whole.of_set(set, 1000).unwrap();
            assert_eq!(orbit, length);
            assert_eq!(stabiliser.order() * orbit, *whole.order());
            let again = StabiliserChain::new(degree, stabiliser.generators());
            assert_eq!(again.big_order(), *stabiliser.order());
            for generator in stabiliser.generators() {
                assert!(set.iter().all(|&point| set.contains(&generator.apply(point))));
            }
            assert!(whole.of_set(set, length - 1).is_none());
            let few = stabiliser.few_generators();
            assert!(few.len() <= stabiliser.generators().len());
            assert_eq!(StabiliserChain::new(degree, &few).big_order(), *stabiliser.order());
            // The group is the same along any base.
            let base: Vec<usize> = (0..degree).rev().collect();
            let chain = whole.along(&base);
            assert!(chain.base().take(degree).eq(base) && chain.big_order() == *whole.order());
            assert!(whole.generators().iter().all(|generator| chain.contains(generator)));
            // Stabilisers are found within the stabiliser too.
            let (point, orbit) = stabiliser.of_set(&set[..1], 1000).unwrap();
            assert_eq!(point.order() * orbit, *stabiliser.order());
        }
    }
}
