//! Stabiliser chains: a base and strong generating set of a group by the deterministic Schreier-Sims
//! algorithm, or by random elements if the order of the group is known.

mod along_orbits;

use crate::Permutation;
use num_bigint::BigUint;

/// A chain of stabilisers G = G₀ ≥ G₁ ≥ … ≥ 1, where Gᵢ₊₁ is the subgroup of Gᵢ that
/// fixes the base point of level i. The order of G is the product of the orbit lengths. (C. C. Sims,
/// *Computational methods in the study of permutation groups*, 1970.)
#[derive(Clone, Debug)]
pub struct StabiliserChain {
    degree: usize,
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    base: usize,
    generators: Vec<Permutation>,
    orbit: Vec<usize>,
    /// For each point of the orbit, an element of this level's group that maps the base point to that point.
    transversal: Vec<Option<Permutation>>,
}

impl StabiliserChain {
    /// Computes the chain of the group that `generators` generate on `degree` points.
    pub fn new<'a>(degree: usize, generators: impl IntoIterator<Item = &'a Permutation>) -> Self {
        let mut chain = Self { degree, levels: Vec::new() };
        for generator in generators {
            chain.insert(0, generator.clone());
        }
        chain
    }

    /// Computes the chain as [`StabiliserChain::new`] does, if the order of the group is at most `most`.
    /// `None` if the order is larger, which is detected early: the orbits known so far already distinguish
    /// more elements.
    pub fn up_to(most: u128, degree: usize, generators: &[Permutation]) -> Option<Self> {
        let mut chain = Self { degree, levels: Vec::new() };
        let is_small = |generator: &Permutation| chain.insert_up_to(most, 0, generator.clone());
        generators.iter().all(is_small).then_some(chain)
    }

    /// Returns the only element of the group that carries the first base points to `images`; `None` if there
    /// is none, or if elements that fix these base points are not all the identity.
    pub fn element_with(&self, images: &[usize]) -> Option<Permutation> {
        // Maps the images back to the base points.
        let mut back = Permutation::identity(self.degree);
        for (number, level) in self.levels.iter().enumerate() {
            match images.get(number) {
                Some(&image) => {
                    let carries = level.transversal[back.apply(image)].as_ref()?;
                    back = back.then(&carries.inverse());
                }
                None if level.orbit.len() > 1 => return None,
                None => {}
            }
        }
        Some(back.inverse())
    }

    /// Computes the chain of the group that `generators` generate, if that is the symmetric or the
    /// alternating group of all `degree` points. `None` if it is another group, or if random elements did not
    /// reach its order in time.
    ///
    /// A returned chain is proven correct by its order: no group of degree `degree` has more elements than
    /// the symmetric group, and no group of even permutations has more than the alternating group.
    /// [`StabiliserChain::new`] is too slow for these groups on hundreds of points, because there are too
    /// many Schreier generators.
    pub fn of_symmetric_or_alternating(degree: usize, generators: &[Permutation]) -> Option<Self> {
        /// The number of consecutive elements that may add nothing before the search gives up.
        const PATIENCE: usize = 64;
        let only_even = generators.iter().all(Permutation::is_even);
        // An even permutation that fixes all points but two is the identity, so its chain has one level less.
        let levels = (2 + usize::from(only_even)..=degree).rev();
        let is_whole = |chain: &Self| chain.orbit_lengths().eq(levels.clone());
        let mut random = fastrand::Rng::with_seed(degree as u64);
        // Product replacement: `products` is a list of elements, of which a random one is multiplied by
        // another at each step.
        let mut products: Vec<Permutation> =
            generators.iter().cycle().take(generators.len().max(10)).cloned().collect();
        let mut chain = Self::trivial_along(degree, &(0..levels.clone().count()).collect::<Vec<_>>());
        let (mut idle, mut warm) = (0, 10 * products.len());
        while products.len() > 1 && idle < PATIENCE {
            let (to, from) = (random.usize(..products.len()), random.usize(..products.len()));
            if to == from {
                continue;
            }
            products[to] = match random.bool() {
                true => products[to].then(&products[from]),
                false => products[from].inverse().then(&products[to]),
            };
            if warm > 0 {
                warm -= 1;
                continue;
            }
            idle = if chain.insert_element_of_known_group(&products[to]) { 0 } else { idle + 1 };
            if is_whole(&chain) {
                return Some(chain);
            }
        }
        None
    }

    /// Returns the chain of the trivial group, to which elements can be added.
    pub(crate) fn trivial(degree: usize) -> Self {
        Self { degree, levels: Vec::new() }
    }

    /// Returns the chain of the trivial group along these base points.
    pub(crate) fn trivial_along(degree: usize, base: &[usize]) -> Self {
        let level = |&base: &usize| {
            let mut transversal = vec![None; degree];
            transversal[base] = Some(Permutation::identity(degree));
            Level { base, generators: Vec::new(), orbit: vec![base], transversal }
        };
        Self { degree, levels: base.iter().map(level).collect() }
    }

    /// Returns the chain's element that fixes the base points before `level` and carries that of `level` to
    /// `point`; `None` if no element of the group does.
    ///
    /// # Panics
    /// If the chain has no such level, or `point` is not below the degree.
    pub fn transversal_element(&self, level: usize, point: usize) -> Option<&Permutation> {
        self.levels[level].transversal[point].as_ref()
    }

    /// Returns the number of points.
    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    /// Returns a random element of the group. All elements are equally likely.
    pub(crate) fn random(&self, random: &mut fastrand::Rng) -> Permutation {
        let element = Permutation::identity(self.degree);
        self.levels.iter().rev().fold(element, |element, level| {
            let to = level.orbit[random.usize(..level.orbit.len())];
            let carries = level.transversal[to].as_ref().expect("orbit points have a transversal element");
            element.then(carries)
        })
    }

    /// Adds an element without the Schreier generators that would follow from it; returns whether it changed
    /// the chain. The chain is complete once the product of its orbit lengths is the order of the group from
    /// which the elements come, so this method is for groups of known order.
    pub(crate) fn insert_element_of_known_group(&mut self, element: &Permutation) -> bool {
        let mut residue = element.clone();
        let mut depth = 0;
        for level in &self.levels {
            match &level.transversal[residue.apply(level.base)] {
                Some(representative) => residue = residue.then(&representative.inverse()),
                None => break,
            }
            depth += 1;
        }
        if depth == self.levels.len() {
            let Some(base) = (0..self.degree).find(|&point| residue.apply(point) != point) else {
                return false;
            };
            let mut transversal = vec![None; self.degree];
            transversal[base] = Some(Permutation::identity(self.degree));
            self.levels.push(Level { base, generators: Vec::new(), orbit: vec![base], transversal });
        }
        // The residue fixes the base points before `depth`, so it belongs to the groups of all levels up to
        // `depth`.
        for (at, level) in self.levels[..=depth].iter_mut().enumerate() {
            level.generators.push(residue.clone());
            // The orbit cannot grow any more: it has all points except the earlier base points, which this
            // level fixes.
            if level.orbit.len() + at == self.degree {
                continue;
            }
            let mut next = 0;
            while next < level.orbit.len() {
                let from = level.orbit[next];
                for generator in &level.generators {
                    let to = generator.apply(from);
                    if level.transversal[to].is_none() {
                        let path = level.transversal[from].as_ref().expect("orbit points have one");
                        level.transversal[to] = Some(path.then(generator));
                        level.orbit.push(to);
                    }
                }
                next += 1;
            }
        }
        true
    }

    /// Returns the base points. Only the identity fixes all of them. In a chain along a given base, a level
    /// may fix its own base point.
    pub fn base(&self) -> impl Iterator<Item = usize> {
        self.levels.iter().map(|level| level.base)
    }

    /// Returns for each base point its orbit under the elements that fix the base points before it.
    pub fn orbits(&self) -> impl Iterator<Item = &[usize]> {
        self.levels.iter().map(|level| level.orbit.as_slice())
    }

    /// Returns the orbit lengths along the base. Their product is the order of the group.
    pub fn orbit_lengths(&self) -> impl Iterator<Item = usize> {
        self.orbits().map(<[usize]>::len)
    }

    /// Returns a strong generating set: for each i, its elements that fix the first i base points generate
    /// the stabiliser of these points.
    pub fn strong_generators(&self) -> Vec<&Permutation> {
        let mut all: Vec<&Permutation> = Vec::new();
        for generator in self.levels.iter().flat_map(|level| &level.generators) {
            // A generator of one level may be a generator of the next level too.
            if !all.contains(&generator) {
                all.push(generator);
            }
        }
        all
    }

    /// Returns the order of the group; `None` if it exceeds 128 bits.
    pub fn order(&self) -> Option<u128> {
        self.orbit_lengths().try_fold(1_u128, |order, length| order.checked_mul(length as u128))
    }

    /// Returns the order of the group.
    pub fn big_order(&self) -> BigUint {
        self.orbit_lengths().map(BigUint::from).product()
    }

    /// Returns the product of one transversal element of each level. `choose` gets the length of the orbit
    /// and picks a number below it. Each element of the group is such a product in exactly one way, so
    /// uniform choices make all elements equally likely, and all choices together give each element once.
    pub fn element(&self, mut choose: impl FnMut(usize) -> usize) -> Permutation {
        self.levels.iter().rev().fold(Permutation::identity(self.degree), |product, level| {
            let point = level.orbit[choose(level.orbit.len())];
            let representative =
                level.transversal[point].as_ref().expect("orbit points have a transversal element");
            product.then(representative)
        })
    }

    /// Returns whether `element` is in the group.
    pub fn contains(&self, element: &Permutation) -> bool {
        element.degree() == self.degree && self.disagreement(element).is_none()
    }

    /// Returns points such that no element of the group agrees with `element` on all of them, but one agrees
    /// with `element` on all but the last. The points are a prefix of the base, or the base and one
    /// more point. `None` if `element` is in the group.
    ///
    /// # Panics
    /// If `element` is not of the degree of the group.
    pub fn disagreement(&self, element: &Permutation) -> Option<Vec<usize>> {
        self.sift(0, element)
    }

    /// Computes [`Self::disagreement`] with the group of level `from`, by dividing by one transversal
    /// element for each level.
    fn sift(&self, from: usize, element: &Permutation) -> Option<Vec<usize>> {
        let bases = || self.base().skip(from);
        let mut residue = element.clone();
        for (at, level) in self.levels[from..].iter().enumerate() {
            match &level.transversal[residue.apply(level.base)] {
                Some(representative) => residue = residue.then(&representative.inverse()),
                None => return Some(bases().take(at + 1).collect()),
            }
        }
        // The product that was divided out is the only element with these images of the base points, and
        // `element` differs from it at each point that the residue moves.
        let moved = (0..self.degree).find(|&point| residue.apply(point) != point)?;
        Some(bases().chain([moved]).collect())
    }

    /// Adds an element to the group of level `at`. Each pair of an orbit point and a generator is visited
    /// once: it either reaches a new point, or gives a Schreier generator of the next level (Schreier's
    /// lemma).
    fn insert(&mut self, at: usize, element: Permutation) {
        self.insert_up_to(u128::MAX, at, element);
    }

    /// Adds an element as [`Self::insert`] does. Returns false, with the chain unfinished, if the order turns
    /// out to be larger than `most` and that is not [`u128::MAX`].
    fn insert_up_to(&mut self, most: u128, at: usize, element: Permutation) -> bool {
        if self.sift(at, &element).is_none() {
            return true;
        }
        if at == self.levels.len() {
            let base = (0..self.degree)
                .find(|&i| element.apply(i) != i)
                .expect("the identity is contained, so this element moves a point");
            let mut transversal = vec![None; self.degree];
            transversal[base] = Some(Permutation::identity(self.degree));
            self.levels.push(Level { base, generators: Vec::new(), orbit: vec![base], transversal });
        }
        self.levels[at].generators.push(element);
        let newest = self.levels[at].generators.len() - 1;
        let old_points = self.levels[at].orbit.len();
        let mut next = 0;
        while next < self.levels[at].orbit.len() {
            let first = if next < old_points { newest } else { 0 };
            for generator in first..=newest {
                if !self.close_pair(most, at, next, generator) {
                    return false;
                }
            }
            next += 1;
        }
        most == u128::MAX || self.order().is_some_and(|order| order <= most)
    }

    /// Visits a pair. Returns false if the order turns out to be larger than `most`.
    fn close_pair(&mut self, most: u128, at: usize, orbit_index: usize, generator: usize) -> bool {
        let level = &mut self.levels[at];
        let from = level.orbit[orbit_index];
        let generator = &level.generators[generator];
        let to = generator.apply(from);
        let path = level.transversal[from]
            .as_ref()
            .expect("orbit points have a transversal element")
            .then(generator);
        match &level.transversal[to] {
            None => {
                level.transversal[to] = Some(path);
                level.orbit.push(to);
                true
            }
            Some(representative) => {
                let schreier = path.then(&representative.inverse());
                self.insert_up_to(most, at + 1, schreier)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(degree: usize, generators: &[&str]) -> u128 {
        let generators: Vec<_> = generators.iter().map(|g| Permutation::parse(g, degree).unwrap()).collect();
        StabiliserChain::new(degree, &generators).order().unwrap()
    }

    #[test]
    fn orders_of_small_groups() {
        assert_eq!(order(5, &[]), 1);
        assert_eq!(order(7, &["(1,2,3,4,5,6,7)"]), 7);
        assert_eq!(order(4, &["(1,2,3,4)", "(1,3)"]), 8);
        assert_eq!(order(9, &["(1,2,3)", "(3,4,5,6,7,8,9)"]), 181_440);
    }

    #[test]
    fn orders_may_exceed_128_bits() {
        // 64! exceeds 128 bits.
        let cycle = Permutation::from_fn(64, |i| (i + 1) % 64);
        let chain = StabiliserChain::new(64, &[Permutation::parse("(1,2)", 64).unwrap(), cycle]);
        assert_eq!(chain.order(), None);
        assert_eq!(chain.big_order(), (1_u32..=64).map(BigUint::from).product());
    }

    #[test]
    fn strong_generators_generate_the_stabilisers() {
        let generators = ["(1,4)(2,5)(3,6)", "(1,2,3)(4,5)"].map(|g| Permutation::parse(g, 6).unwrap());
        let chain = StabiliserChain::new(6, &generators);
        let lengths: Vec<u128> = chain.orbit_lengths().map(|length| length as u128).collect();
        let base: Vec<usize> = chain.base().collect();
        for fixed in 0..=base.len() {
            let fixes = |g: &&Permutation| base[..fixed].iter().all(|&point| g.apply(point) == point);
            let stabiliser = StabiliserChain::new(6, chain.strong_generators().into_iter().filter(fixes));
            assert_eq!(stabiliser.order().unwrap(), lengths[fixed..].iter().product());
        }
    }

    #[test]
    fn choices_enumerate_the_group() {
        let generators = ["(1,2,3)", "(2,3,4,5,6)"].map(|g| Permutation::parse(g, 6).unwrap());
        let chain = StabiliserChain::new(6, &generators);
        let order = chain.order().unwrap() as usize;
        let element = |mut number: usize| {
            chain.element(|length| {
                let digit = number % length;
                number /= length;
                digit
            })
        };
        let elements: std::collections::HashSet<Permutation> = (0..order).map(element).collect();
        assert_eq!((elements.len(), order), (360, 360));
        assert!(elements.iter().all(|element| chain.contains(element)));
    }

    #[test]
    fn membership_agrees_with_parity_in_the_alternating_group() {
        let generators =
            [Permutation::parse("(1,2,3)", 5).unwrap(), Permutation::parse("(1,2,3,4,5)", 5).unwrap()];
        let chain = StabiliserChain::new(5, &generators);
        for rank in 0..120 {
            let p = Permutation::unrank(5, rank).unwrap();
            assert_eq!(chain.contains(&p), p.is_even());
        }
    }
}
