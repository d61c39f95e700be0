//! Orbits of a generated group, and the blocks of an orbit.

use crate::Permutation;
use std::collections::BTreeMap;

/// The maximum number of elements fixing a point by which [`smallest_blocks`] determines which other points
/// are equivalent.
const MAX_FIXING: usize = 16;
/// The maximum number of points for which an element leading there is stored meanwhile.
const MAX_WAYS: usize = 512;

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
/// orbit, so the group acts on the orbit primitively. (M. D. Atkinson, *An algorithm for finding the
/// blocks of a permutation group*, 1975.)
pub fn smallest_blocks(orbit: &[usize], generators: &[Permutation]) -> Option<Vec<Vec<usize>>> {
    let (&first, others) = orbit.split_first()?;
    generators.first()?;
    let others = unlike(first, others, generators);
    let systems = others.into_iter().map(|other| finest(orbit, generators, other));
    systems.min_by_key(|system| system[0].len()).filter(|system| system.len() > 1)
}

/// Returns the finest partition of an orbit into blocks with its first point and `other` in the same part.
fn finest(orbit: &[usize], generators: &[Permutation], other: usize) -> Vec<Vec<usize>> {
    // If two points are in the same part, so are their images.
    let mut classes = Classes::new(generators[0].degree());
    let mut joined = vec![(orbit[0], other)];
    while let Some((a, b)) = joined.pop() {
        if classes.join(a, b) {
            joined.extend(generators.iter().map(|generator| (generator.apply(a), generator.apply(b))));
        }
    }
    classes.listed(orbit.to_vec())
}

/// Returns one representative of each class of points that elements fixing `first` map to each other: these
/// elements also map the parts with `first` and one of these points to each other, so one of them is enough.
fn unlike(first: usize, others: &[usize], generators: &[Permutation]) -> Vec<usize> {
    let mut classes = Classes::new(generators[0].degree());
    for element in fixing(first, generators) {
        for &point in others {
            classes.join(point, element.apply(point));
        }
    }
    classes.listed(others.to_vec()).into_iter().map(|alike| alike[0]).collect()
}

/// Returns up to [`MAX_FIXING`] elements other than the identity that fix a point. Each edge that closes a
/// cycle in the graph of an orbit gives one (Schreier's lemma). The cycles nearest to the point
/// come first, because their elements take the fewest products.
fn fixing(point: usize, generators: &[Permutation]) -> Vec<Permutation> {
    let mut ways = BTreeMap::from([(point, Permutation::identity(generators[0].degree()))]);
    let (mut reached, mut next, mut found) = (vec![point], 0, Vec::new());
    while let Some(from) = reached.get(next).copied() {
        next += 1;
        for generator in generators {
            let to = generator.apply(from);
            let way = || ways[&from].then(generator);
            if let Some(other) = ways.get(&to) {
                let element = way().then(&other.inverse());
                found.extend(Some(element).filter(|element| !element.is_identity()));
                if found.len() == MAX_FIXING {
                    return found;
                }
            } else if ways.len() < MAX_WAYS {
                ways.insert(to, way());
                reached.push(to);
            }
        }
    }
    found
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

    /// Merges the classes of two points. Returns whether they were different.
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
    fn orbits_are_connected_components() {
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
        // prime length has no blocks, nor does a 2-transitive group.
        assert_eq!(blocks(4, &["(1,2,3,4)", "(1,3)"]), Some(vec![vec![0, 2], vec![1, 3]]));
        assert_eq!(
            blocks(6, &["(1,2,3,4,5,6)", "(2,6)(3,5)"]),
            Some(vec![vec![0, 3], vec![1, 4], vec![2, 5]])
        );
        assert_eq!(blocks(7, &["(1,2,3,4,5,6,7)"]), None);
        assert_eq!(blocks(5, &["(1,2,3)", "(3,4,5)"]), None);
    }

    /// Skipping equivalent points must not change which block system is found.
    #[test]
    fn equivalent_points_do_not_change_blocks() {
        for (degree, generators) in [
            (6, &["(1,2,3,4,5,6)", "(2,6)(3,5)"][..]),
            (8, &["(1,2,3,4)(5,6,7,8)", "(1,5)(2,8)(3,7)(4,6)"]),
            (8, &["(1,2)", "(1,3,5,7)(2,4,6,8)"]),
            (9, &["(1,2,3)", "(1,4,7)(2,5,8)(3,6,9)"]),
            (12, &["(1,2)", "(1,3,5)(2,4,6)", "(1,7)(2,8)(3,9)(4,10)(5,11)(6,12)"]),
            (12, &["(1,2,3,4,5,6,7,8,9,10,11,12)"]),
            (12, &["(1,2,3,4,5,6,7,8,9,10,11,12)", "(1,2)"]),
        ] {
            let generators = parsed(degree, generators);
            for element in fixing(3, &generators) {
                assert!(element.apply(3) == 3 && !element.is_identity());
            }
            let orbit: Vec<usize> = (0..degree).collect();
            let all = (1..degree).map(|other| finest(&orbit, &generators, other));
            let expected = all.min_by_key(|system| system[0].len()).filter(|system| system.len() > 1);
            assert_eq!(smallest_blocks(&orbit, &generators), expected, "{generators:?}");
        }
        let symmetric = parsed(
            40,
            &[
                "(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40)",
                "(1,2)",
            ],
        );
        let others: Vec<usize> = (1..40).collect();
        assert!(unlike(0, &others, &symmetric).len() < 30);
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
