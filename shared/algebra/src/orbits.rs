//! Orbits of a generated group, and the blocks of an orbit.

use crate::Permutation;

/// Returns the orbits of more than one point of the group that `generators` generate on `degree` points. The
/// points of an orbit are in increasing order, and orbits are in order of their smallest points.
///
/// # Panics
/// If a generator is of a smaller degree.
pub fn orbits(degree: usize, generators: &[Permutation]) -> Vec<Vec<usize>> {
    all_orbits(degree, generators).into_iter().filter(|orbit| orbit.len() > 1).collect()
}

/// Returns the [orbits], with those of a single point.
///
/// # Panics
/// If a generator is of a smaller degree.
pub fn all_orbits(degree: usize, generators: &[Permutation]) -> Vec<Vec<usize>> {
    let mut classes = Classes::new(degree);
    for generator in generators {
        for point in 0..degree {
            classes.join(point, generator.apply(point));
        }
    }
    classes.listed((0..degree).collect())
}

/// Returns the partition of an orbit into the smallest blocks of more than one point. Blocks are the parts of
/// a partition that every element of the group maps to parts. `None` if the only such block is the whole
/// orbit, so that the group acts on the orbit primitively. (M. D. Atkinson, *An algorithm for finding the
/// blocks of a permutation group*, 1975.)
pub fn smallest_blocks(orbit: &[usize], generators: &[Permutation]) -> Option<Vec<Vec<usize>>> {
    let (&first, others) = orbit.split_first()?;
    let degree = generators.first()?.degree();
    let systems = others.iter().map(|&other| {
        // The finest partition with both points in one part: if two points are in one part, so are their
        // images.
        let mut classes = Classes::new(degree);
        let mut joined = vec![(first, other)];
        while let Some((a, b)) = joined.pop() {
            if classes.join(a, b) {
                joined.extend(generators.iter().map(|generator| (generator.apply(a), generator.apply(b))));
            }
        }
        classes.listed(orbit.to_vec())
    });
    systems.min_by_key(|system| system[0].len()).filter(|system| system.len() > 1)
}

/// A partition of points, as a union-find forest. The root of a class is its smallest point.
struct Classes {
    parents: Vec<usize>,
}

impl Classes {
    fn new(degree: usize) -> Self {
        Self { parents: (0..degree).collect() }
    }

    fn find(&mut self, mut point: usize) -> usize {
        while self.parents[point] != point {
            self.parents[point] = self.parents[self.parents[point]];
            point = self.parents[point];
        }
        point
    }

    /// Unites the classes of two points. Returns whether they were different classes.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b)] = a.min(b);
        a != b
    }

    /// Returns the classes of `points`, each in the order of `points`, by their first points.
    fn listed(&mut self, points: Vec<usize>) -> Vec<Vec<usize>> {
        let mut places = vec![None; self.parents.len()];
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for point in points {
            let place = *places[self.find(point)].get_or_insert_with(|| {
                classes.push(Vec::new());
                classes.len() - 1
            });
            classes[place].push(point);
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(degree: usize, generators: &[&str]) -> Vec<Permutation> {
        generators.iter().map(|g| Permutation::parse(g, degree).unwrap()).collect()
    }

    #[test]
    fn orbits_are_what_generators_connect() {
        assert_eq!(orbits(7, &parsed(7, &["(1,4)", "(4,5)(2,7)"])), [vec![0, 3, 4], vec![1, 6]]);
        assert!(orbits(7, &[]).is_empty());
    }

    #[test]
    fn blocks_of_well_known_groups() {
        let blocks = |degree, generators: &[&str]| {
            let generators = parsed(degree, generators);
            smallest_blocks(&(0..degree).collect::<Vec<_>>(), &generators)
        };
        // The symmetries of a square map diagonals to diagonals, and so do those of a hexagon. A cycle of
        // prime length has no blocks, and neither has a 2-transitive group.
        assert_eq!(blocks(4, &["(1,2,3,4)", "(1,3)"]), Some(vec![vec![0, 2], vec![1, 3]]));
        assert_eq!(
            blocks(6, &["(1,2,3,4,5,6)", "(2,6)(3,5)"]),
            Some(vec![vec![0, 3], vec![1, 4], vec![2, 5]])
        );
        assert_eq!(blocks(7, &["(1,2,3,4,5,6,7)"]), None);
        assert_eq!(blocks(5, &["(1,2,3)", "(3,4,5)"]), None);
    }

    #[test]
    fn blocks_are_mapped_to_blocks() {
        // A wreath product on 2 x 3 x 2 points: its blocks of two points are found before the larger ones.
        let generators = parsed(12, &["(1,2)", "(1,3,5)(2,4,6)", "(1,7)(2,8)(3,9)(4,10)(5,11)(6,12)"]);
        let blocks = smallest_blocks(&(0..12).collect::<Vec<_>>(), &generators).unwrap();
        assert_eq!(blocks.len(), 6);
        for generator in &generators {
            for block in &blocks {
                let mut image: Vec<usize> = block.iter().map(|&point| generator.apply(point)).collect();
                image.sort_unstable();
                assert!(blocks.contains(&image));
            }
        }
    }
}
