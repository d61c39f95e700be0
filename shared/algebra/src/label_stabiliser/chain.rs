//! A stabiliser chain along a given base, and a backtracking search for unseen elements along this chain.

use super::Cells;
use crate::Permutation;
use num_bigint::BigUint;

/// A stabiliser chain along a given base.
#[derive(Clone)]
pub(super) struct Chain {
    degree: usize,
    levels: Vec<Level>,
}

#[derive(Clone)]
struct Level {
    base: usize,
    generators: Vec<Permutation>,
    orbit: Vec<usize>,
    /// For each point of the orbit, an element of this level's group that carries the base point to that
    /// point.
    transversal: Vec<Option<Permutation>>,
}

impl Level {
    fn new(base: usize, degree: usize) -> Self {
        let mut transversal = vec![None; degree];
        transversal[base] = Some(Permutation::identity(degree));
        Self { base, generators: Vec::new(), orbit: vec![base], transversal }
    }

    fn add(&mut self, generator: &Permutation) {
        self.generators.push(generator.clone());
        let mut next = 0;
        while next < self.orbit.len() {
            let from = self.orbit[next];
            for generator in &self.generators {
                let to = generator.apply(from);
                if self.transversal[to].is_none() {
                    let path =
                        self.transversal[from].as_ref().expect("the point is in the orbit").then(generator);
                    self.transversal[to] = Some(path);
                    self.orbit.push(to);
                }
            }
            next += 1;
        }
    }
}

impl Chain {
    /// Computes the chain of a group of known order along a base of all points. Random elements, from a fixed
    /// seed, are inserted until the product of the orbit lengths is `order`, which proves that the chain is
    /// complete. The loop does not end if `order` exceeds the order of the group.
    pub(super) fn of_order(generators: &[Permutation], base: Vec<usize>, order: &BigUint) -> Self {
        let degree = base.len();
        let mut chain =
            Self { degree, levels: base.into_iter().map(|point| Level::new(point, degree)).collect() };
        let mut random = Random::new(generators);
        let mut reached = BigUint::from(1_u32);
        for generator in generators {
            if chain.insert(generator.clone()) {
                reached = chain.big_order();
            }
        }
        while reached < *order {
            if chain.insert(random.element()) {
                reached = chain.big_order();
            }
        }
        chain
    }

    pub(super) fn big_order(&self) -> BigUint {
        self.levels.iter().map(|level| BigUint::from(level.orbit.len())).product()
    }

    /// Returns the chain of the elements that fix the first `points` base points.
    pub(super) fn after(mut self, points: usize) -> Self {
        self.levels.drain(..points);
        self.levels.retain(|level| level.orbit.len() > 1);
        self
    }

    /// Divides an element by transversal elements as far as possible. Returns the quotient and the level at
    /// which the division stops.
    fn divided(&self, mut element: Permutation) -> (Permutation, usize) {
        for (at, level) in self.levels.iter().enumerate() {
            let to = element.apply(level.base);
            if to == level.base {
                continue;
            }
            match &level.transversal[to] {
                Some(path) => element = element.then(&path.inverse()),
                None => return (element, at),
            }
        }
        (element, self.levels.len())
    }

    /// Adds an element, unless it is in the group already; returns whether it was added. The quotient becomes
    /// a generator of each level whose earlier base points it fixes.
    fn insert(&mut self, element: Permutation) -> bool {
        let (rest, at) = self.divided(element);
        if at == self.levels.len() {
            return false;
        }
        for level in &mut self.levels[..=at] {
            level.add(&rest);
        }
        true
    }

    pub(super) fn generators(&self) -> impl Iterator<Item = &Permutation> {
        self.levels.iter().flat_map(|level| &level.generators)
    }

    pub(super) fn contains(&self, element: &Permutation) -> bool {
        self.divided(element.clone()).0.is_identity()
    }

    /// Returns whether some element of this group, which moves only `part`, agrees with `element` on `part`.
    pub(super) fn contains_on_part(&self, element: &Permutation, cells: &Cells, part: &[usize]) -> bool {
        let points = cells.points(part);
        let mut images: Vec<usize> = (0..self.degree).collect();
        points.iter().for_each(|&point| images[point] = element.apply(point));
        self.contains(&Permutation::from_fn(self.degree, |point| images[point]))
    }

    /// Returns the number of unseen elements; `None` if `nodes` runs out. Unseen elements form a group, so
    /// their number is the product of the orbit lengths along the base. From the last base point to the
    /// first, each image that the unseen elements found so far do not reach is searched for.
    pub(super) fn unseen(&self, cells: &Cells, nodes: &mut u64) -> Option<BigUint> {
        let fixed = self.fixed_points();
        let mut order = BigUint::from(1_u32);
        let mut found: Vec<Permutation> = Vec::new();
        for at in (0..self.levels.len()).rev() {
            let level = &self.levels[at];
            let mut reached = vec![level.base];
            let mut refused: Vec<usize> = Vec::new();
            loop {
                close(&mut reached, &found);
                let candidate = level.orbit.iter().copied().find(|&point| {
                    cells.alike(level.base, point) && !reached.contains(&point) && !refused.contains(&point)
                });
                let Some(point) = candidate else { break };
                let path = level.transversal[point].clone().expect("the point is in the orbit");
                match self.search(at + 1, path, cells, &fixed, nodes)? {
                    Some(element) => found.push(element),
                    None => {
                        // No image of `point` under the unseen elements found so far can be reached either:
                        // from there, `point` would be reached.
                        let mut orbit = vec![point];
                        close(&mut orbit, &found);
                        refused.extend(orbit);
                    }
                }
            }
            order *= reached.len();
        }
        Some(order)
    }

    /// Returns whether an element of this chain, followed by `element`, is unseen on the cells of `part`;
    /// `None` if `nodes` runs out.
    pub(super) fn coset_has_unseen(
        &self,
        cells: &Cells,
        part: &[usize],
        element: &Permutation,
        nodes: &mut u64,
    ) -> Option<bool> {
        // Other parts do not matter, so `element` is replaced by an element that fixes their points.
        let points = cells.points(part);
        let mut images: Vec<usize> = (0..self.degree).collect();
        points.iter().for_each(|&point| images[point] = element.apply(point));
        let element = Permutation::from_fn(self.degree, |point| images[point]);
        let fixed = self.fixed_points();
        let keeps = |point: &usize| cells.alike(*point, element.apply(*point));
        if !(0..self.degree)
            .filter(|&point| {
                self.levels.iter().all(|level| level.generators.iter().all(|g| g.apply(point) == point))
            })
            .all(|point| keeps(&point))
        {
            return Some(false);
        }
        Some(self.search(0, element, cells, &fixed, nodes)?.is_some())
    }

    /// Returns for each level the points that its group moves and the group of the next level fixes.
    fn fixed_points(&self) -> Vec<Vec<usize>> {
        let moves = |at: usize, point: usize| {
            self.levels.get(at).is_some_and(|level| level.generators.iter().any(|g| g.apply(point) != point))
        };
        let moved: Vec<Vec<bool>> = (0..=self.levels.len())
            .map(|at| (0..self.degree).map(|point| moves(at, point)).collect())
            .collect();
        (0..self.levels.len())
            .map(|at| (0..self.degree).filter(|&point| moved[at][point] && !moved[at + 1][point]).collect())
            .collect()
    }

    /// Searches for an unseen element that is the product of an element of level `at` and `behind`.
    /// Returns `Some(None)` if there is none, and `None` if `nodes` runs out.
    fn search(
        &self,
        at: usize,
        behind: Permutation,
        cells: &Cells,
        fixed: &[Vec<usize>],
        nodes: &mut u64,
    ) -> Option<Option<Permutation>> {
        *nodes = nodes.checked_sub(1)?;
        // The points that the rest of the chain fixes have their final images.
        if at > 0 && !fixed[at - 1].iter().all(|&point| cells.alike(point, behind.apply(point))) {
            return Some(None);
        }
        let Some(level) = self.levels.get(at) else { return Some(Some(behind)) };
        for &point in &level.orbit {
            if cells.alike(level.base, behind.apply(point)) {
                let path = level.transversal[point].as_ref().expect("the point is in the orbit");
                if let Some(found) = self.search(at + 1, path.then(&behind), cells, fixed, nodes)? {
                    return Some(Some(found));
                }
            }
        }
        Some(None)
    }
}

/// Adds all points to which products of `generators` map the present points.
fn close(points: &mut Vec<usize>, generators: &[Permutation]) {
    let mut next = 0;
    while next < points.len() {
        for generator in generators {
            let image = generator.apply(points[next]);
            if !points.contains(&image) {
                points.push(image);
            }
        }
        next += 1;
    }
}

/// A source of random elements of a group, by product replacement with an accumulator. (F. Celler et al.,
/// *Generating random elements of a finite group*, 1995.)
struct Random {
    elements: Vec<Permutation>,
    accumulator: Permutation,
    state: u64,
}

impl Random {
    fn new(generators: &[Permutation]) -> Self {
        let copies = generators.iter().cycle().take(generators.len().max(10)).cloned().collect();
        let accumulator = Permutation::identity(generators[0].degree());
        let mut random = Self { elements: copies, accumulator, state: 0x9e37_79b9_7f4a_7c15 };
        for _ in 0..60 {
            random.element();
        }
        random
    }

    /// Returns a number below `below` (xorshift64*, S. Vigna 2016).
    fn number(&mut self, below: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below
    }

    fn element(&mut self) -> Permutation {
        let all = self.elements.len();
        let (i, step) = (self.number(all), 1 + self.number(all - 1));
        let other = match self.number(2) {
            0 => self.elements[(i + step) % all].clone(),
            _ => self.elements[(i + step) % all].inverse(),
        };
        self.elements[i] = match self.number(2) {
            0 => self.elements[i].then(&other),
            _ => other.then(&self.elements[i]),
        };
        self.accumulator = self.accumulator.then(&self.elements[i]);
        self.accumulator.clone()
    }
}
