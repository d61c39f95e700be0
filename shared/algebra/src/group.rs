//! The order of a generated group: a base and strong generating set by the Schreier-Sims algorithm, deterministic.

use crate::Permutation;

/// A chain of stabilisers G = G₀ ≥ G₁ ≥ … ≥ 1, where Gᵢ₊₁ fixes the base point of level i. The order of G is the
/// product of the orbit lengths. (C. C. Sims, *Computational methods in the study of permutation groups*, 1970.)
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
    /// For each point of the orbit, an element of this level's group that maps the base point to it.
    transversal: Vec<Option<Permutation>>,
}

impl StabiliserChain {
    /// The chain of the group that `generators` generate on `degree` points.
    pub fn new<'a>(degree: usize, generators: impl IntoIterator<Item = &'a Permutation>) -> Self {
        let mut chain = Self { degree, levels: Vec::new() };
        for generator in generators {
            chain.insert(0, generator.clone());
        }
        chain
    }

    /// The orbit lengths along the base: their product is the order of the group.
    pub fn orbit_lengths(&self) -> impl Iterator<Item = usize> {
        self.levels.iter().map(|level| level.orbit.len())
    }

    /// The order of the group; `None` if it exceeds 128 bits.
    pub fn order(&self) -> Option<u128> {
        self.orbit_lengths().try_fold(1_u128, |order, length| order.checked_mul(length as u128))
    }

    /// Whether `element` lies in the group.
    pub fn contains(&self, element: &Permutation) -> bool {
        element.degree() == self.degree && self.contains_from(0, element)
    }

    /// Membership in the group of level `from` on, by dividing out one transversal element a level.
    fn contains_from(&self, from: usize, element: &Permutation) -> bool {
        let mut residue = element.clone();
        for level in &self.levels[from.min(self.levels.len())..] {
            match &level.transversal[residue.apply(level.base)] {
                Some(representative) => residue = residue.then(&representative.inverse()),
                None => return false,
            }
        }
        residue.is_identity()
    }

    /// Adds an element to the group of level `at`. Each pair of an orbit point and a generator is looked at once:
    /// either it reaches a new point, or it gives a Schreier generator of the next level (Schreier's lemma).
    fn insert(&mut self, at: usize, element: Permutation) {
        if self.contains_from(at, &element) {
            return;
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
                self.close_pair(at, next, generator);
            }
            next += 1;
        }
    }

    fn close_pair(&mut self, at: usize, orbit_index: usize, generator: usize) {
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
            }
            Some(representative) => {
                let schreier = path.then(&representative.inverse());
                self.insert(at + 1, schreier);
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
    fn orders_of_well_known_groups() {
        assert_eq!(order(5, &[]), 1);
        assert_eq!(order(7, &["(1,2,3,4,5,6,7)"]), 7);
        assert_eq!(order(4, &["(1,2,3,4)", "(1,3)"]), 8);
        assert_eq!(order(9, &["(1,2,3)", "(3,4,5,6,7,8,9)"]), 181_440);
        // The Mathieu group M11, generators as in the ATLAS of finite groups.
        assert_eq!(order(11, &["(2,10)(4,11)(5,7)(8,9)", "(1,4,3,8)(2,5,6,9)"]), 7_920);
        // Rubik's cube: the six face turns on its 48 stickers.
        assert_eq!(
            order(
                48,
                &[
                    "(1,3,8,6)(2,5,7,4)(9,33,25,17)(10,34,26,18)(11,35,27,19)",
                    "(9,11,16,14)(10,13,15,12)(1,17,41,40)(4,20,44,37)(6,22,46,35)",
                    "(17,19,24,22)(18,21,23,20)(6,25,43,16)(7,28,42,13)(8,30,41,11)",
                    "(25,27,32,30)(26,29,31,28)(3,38,43,19)(5,36,45,21)(8,33,48,24)",
                    "(33,35,40,38)(34,37,39,36)(3,9,46,32)(2,12,47,29)(1,14,48,27)",
                    "(41,43,48,46)(42,45,47,44)(14,22,30,38)(15,23,31,39)(16,24,32,40)",
                ]
            ),
            43_252_003_274_489_856_000
        );
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
