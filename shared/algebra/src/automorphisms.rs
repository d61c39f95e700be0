//! Automorphisms: the permutations that map a set of permutations onto itself when points are renamed by
//! them.
//!
//! The search backtracks over partial maps. Once the images of a point c and of an element x are decided, the
//! image of the point x(c) follows. So a few decisions, propagated along orbits, determine everything, and
//! contradictions are found early.
//!
//! Before the search, a colouring of points and elements is refined until it is stable (Weisfeiler and
//! Leman). Colours distinguish points and elements by properties that do not depend on names, such as cycle
//! types. Points and elements keep their colours. Decisions distinguish more: if x goes to y, a point in
//! a cycle of x goes to a point in a cycle of y of the same length. The search always decides a point or
//! element with few images left. This keeps it near earlier decisions where several sets of points are
//! independent of each other.

use crate::Permutation;
use crate::orbits::orbits;
use rustc_hash::FxHashMap;
use std::fmt::Debug;
use std::hash::Hash;

/// Automorphisms that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automorphisms {
    /// A group, the identity first.
    pub found: Vec<Permutation>,
    /// Whether these are all.
    pub are_all: bool,
}

/// Returns all automorphisms: the permutations `a` such that [`x.relabel(&a)`](Permutation::relabel) is in
/// `set` for every x in `set`. Automorphisms form a group, and are returned in order of their images, so the
/// identity is first. Points that no element moves are fixed.
///
/// If there are more than `most`, the result is a subgroup: the automorphisms that fix certain points, as few
/// points as possible. Orbits that are moved together with few other points are fixed first, because an orbit
/// that moves independently has symmetries of its own.
///
/// # Panics
/// If `set` contains a permutation twice, or permutations of another degree.
pub fn automorphisms(degree: usize, set: &[Permutation], most: usize) -> Automorphisms {
    relabellings_among(degree, set, most, &|_, _| true, &|_, _| true)
}

/// Returns those [`automorphisms`] that carry no point `from` to a point `to` unless `may(from, to)`, and no
/// element number `x` of the set to an element number `y` unless `alike(x, y)`. If there are more than
/// `most`, the result is a subgroup, as for [`automorphisms`].
///
/// The result is a group only if `alike` is an equivalence relation, and `may` allows the identity, products
/// and inverses.
///
/// # Panics
/// As for [`automorphisms`]. May also panic if `may` does not allow a point to be fixed.
pub fn relabellings_among(
    degree: usize,
    set: &[Permutation],
    most: usize,
    may: &dyn Fn(usize, usize) -> bool,
    alike: &dyn Fn(usize, usize) -> bool,
) -> Automorphisms {
    let numbers: FxHashMap<&Permutation, usize> = set.iter().zip(0..).collect();
    let (of_points, of_elements) = colours(degree, set, alike);
    let may = &|from: usize, to: usize| of_points[from] == of_points[to] && may(from, to);
    let alike = &|x: usize, y: usize| of_elements[x] == of_elements[y] && alike(x, y);
    assert_eq!(numbers.len(), set.len(), "a set contains each element once");
    assert!(set.iter().all(|x| x.degree() == degree), "all permutations have the same degree");
    let cycles: Vec<Vec<u16>> = set.iter().map(cycle_lengths).collect();
    let mut orbits = orbits(degree, set);
    let moved: Vec<usize> = set.iter().map(|x| (0..degree).filter(|&i| x.apply(i) != i).count()).collect();
    orbits.sort_by_cached_key(|orbit| {
        let moves = |x: &Permutation| orbit.iter().any(|&point| x.apply(point) != point);
        set.iter().zip(&moved).filter(|(x, _)| moves(x)).map(|(_, &moved)| moved).max()
    });
    let order: Vec<usize> = orbits.into_iter().flatten().collect();
    let fixing = |fixed: usize| {
        let told = Invariants { cycles: &cycles, of_points: &of_points, of_elements: &of_elements };
        Search { degree, set, told, numbers: &numbers, most, may, alike, found: Vec::new() }
            .all(&order[..fixed])
    };
    if let Some(found) = fixing(0) {
        return Automorphisms { found, are_all: true };
    }
    // Automorphisms that fix more points are fewer, so halving finds the least number of points.
    let (mut too_few, mut enough) = (0, order.len());
    let mut found = fixing(order.len()).expect("only the identity fixes all points");
    while too_few + 1 < enough {
        let middle = usize::midpoint(too_few, enough);
        match fixing(middle) {
            Some(fewer) => (enough, found) = (middle, fewer),
            None => too_few = middle,
        }
    }
    Automorphisms { found, are_all: false }
}

/// Returns colours of points and of elements that every relabelling preserves.
fn colours(
    degree: usize,
    set: &[Permutation],
    alike: &dyn Fn(usize, usize) -> bool,
) -> (Vec<usize>, Vec<usize>) {
    let mut of_points = vec![0; degree];
    let first_alike = |x: usize| (0..x).find(|&y| alike(x, y)).unwrap_or(x);
    let mut of_elements: Vec<usize> = (0..set.len()).map(first_alike).collect();
    loop {
        let colour = |x: &Permutation, point: usize| {
            (of_points[point], of_points[x.apply(point)], x.apply(point) == point)
        };
        let elements = set.iter().zip(&of_elements).map(|(x, &before)| {
            let mut cycles: Vec<Vec<(usize, usize, bool)>> = Vec::new();
            let mut seen = vec![false; degree];
            for start in 0..degree {
                let mut cycle = Vec::new();
                let mut point = start;
                while !std::mem::replace(&mut seen[point], true) {
                    cycle.push(colour(x, point));
                    point = x.apply(point);
                }
                cycle.sort_unstable();
                cycles.push(cycle);
            }
            cycles.sort_unstable();
            (before, cycles)
        });
        let elements = numbered(elements);
        let points = (0..degree).map(|point| {
            let mut moved: Vec<_> =
                set.iter().zip(&elements).map(|(x, &of_x)| (of_x, colour(x, point))).collect();
            moved.sort_unstable();
            moved
        });
        let points = numbered(points);
        let count = |colours: &[usize]| colours.iter().max().map_or(0, |most| most + 1);
        let is_stable = count(&points) == count(&of_points) && count(&elements) == count(&of_elements);
        (of_points, of_elements) = (points, elements);
        if is_stable {
            return (of_points, of_elements);
        }
    }
}

/// Returns for each point the length of its cycle.
fn cycle_lengths(x: &Permutation) -> Vec<u16> {
    let mut lengths = vec![0; x.degree()];
    for start in 0..x.degree() {
        if lengths[start] > 0 {
            continue;
        }
        let cycle = std::iter::successors(Some(start), |&at| Some(x.apply(at)).filter(|&next| next != start));
        let cycle: Vec<usize> = cycle.collect();
        cycle.iter().for_each(|&point| lengths[point] = cycle.len() as u16);
    }
    lengths
}

/// Returns numbers for keys, in order of first appearance: equal keys have equal numbers.
///
/// # Panics
/// If `N` cannot hold the number of different keys.
pub fn numbered<K, N>(keys: impl Iterator<Item = K>) -> Vec<N>
where
    K: Hash + Eq,
    N: TryFrom<usize, Error: Debug> + Copy,
{
    let mut numbers = FxHashMap::default();
    keys.map(|key| {
        let next = numbers.len();
        *numbers.entry(key).or_insert_with(|| N::try_from(next).expect("few keys"))
    })
    .collect()
}

/// Properties of points and elements that are known before the search.
#[derive(Clone, Copy)]
struct Invariants<'a> {
    /// The length of the cycle of each point, for each element.
    cycles: &'a [Vec<u16>],
    of_points: &'a [usize],
    of_elements: &'a [usize],
}

/// Returns a hash that combines a hash with another number.
fn mixed(before: u64, number: u64) -> u64 {
    let mixed = (before.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

struct Search<'a> {
    degree: usize,
    set: &'a [Permutation],
    told: Invariants<'a>,
    numbers: &'a FxHashMap<&'a Permutation, usize>,
    most: usize,
    may: &'a dyn Fn(usize, usize) -> bool,
    alike: &'a dyn Fn(usize, usize) -> bool,
    found: Vec<Permutation>,
}

/// A partial map: the decided images of points and of elements.
#[derive(Clone)]
struct Partial {
    points: Vec<Option<usize>>,
    /// For each point, its preimage.
    preimages: Vec<Option<usize>>,
    elements: Vec<Option<usize>>,
    taken: Vec<bool>,
    /// Hashes of the information from decided elements about each point: as a source, and as an image. A
    /// point can only go to a point with an equal hash.
    marks: Vec<u64>,
    image_marks: Vec<u64>,
}

impl Search<'_> {
    /// Finds all automorphisms that fix some points; `None` if there are more than `most`.
    fn all(mut self, fixed: &[usize]) -> Option<Vec<Permutation>> {
        let partial = Partial {
            points: vec![None; self.degree],
            preimages: vec![None; self.degree],
            elements: vec![None; self.set.len()],
            taken: vec![false; self.set.len()],
            marks: self.told.of_points.iter().map(|&colour| colour as u64).collect(),
            image_marks: self.told.of_points.iter().map(|&colour| colour as u64).collect(),
        };
        let is_moved = |point: usize| self.set.iter().any(|x| x.apply(point) != point);
        let stay = (0..self.degree).filter(|point| fixed.contains(point) || !is_moved(*point));
        let stay: Vec<(usize, usize)> = stay.map(|point| (point, point)).collect();
        let begun = self.with(partial, stay, None).expect("the identity always extends the map");
        self.extend(begun).then(|| {
            // Sorting by images puts the identity first.
            self.found.sort_unstable();
            self.found
        })
    }

    /// Finds all automorphisms that extend a partial map. Returns false if there are more than `most`.
    fn extend(&mut self, partial: Partial) -> bool {
        let Some(point) = self.fewest_ways(&partial) else {
            // The images of the points determine the images of the elements.
            let images: Vec<u16> = partial.points.iter().flatten().map(|&to| to as u16).collect();
            let relabelling = Permutation::from_images(images).expect("no two points have the same image");
            let is_kept = |(number, x): (usize, &Permutation)| {
                let image = self.numbers.get(&x.relabel(&relabelling));
                image.is_some_and(|&image| (self.alike)(number, image))
            };
            if self.set.iter().enumerate().all(is_kept) {
                self.found.push(relabelling);
            }
            return self.found.len() <= self.most;
        };
        // The point or element with the fewest possible images is decided next. Deciding an element helps
        // only if it carries a point with a known image to a point without one.
        let known: Vec<(usize, usize)> =
            partial.points.iter().enumerate().filter_map(|(from, to)| Some((from, (*to)?))).collect();
        let tells =
            |x: &usize| known.iter().any(|&(from, _)| partial.points[self.set[*x].apply(from)].is_none());
        let mut images: FxHashMap<u64, usize> = FxHashMap::default();
        for y in (0..self.set.len()).filter(|&y| !partial.taken[y]) {
            let to = |&(_, to): &(usize, usize)| {
                partial.preimages[self.set[y].apply(to)].map(|_| self.set[y].apply(to))
            };
            *images.entry(self.mark(y, known.iter().map(to))).or_default() += 1;
        }
        let number_of_ways = |x: &usize| {
            let to = |&(from, _): &(usize, usize)| partial.points[self.set[*x].apply(from)];
            images.get(&self.mark(*x, known.iter().map(to))).copied().unwrap_or(0)
        };
        let open = || (0..self.set.len()).filter(|&x| partial.elements[x].is_none());
        // An element all of whose images are known adds nothing, but may contradict known images.
        if !known.is_empty() && open().any(|x| number_of_ways(&x) == 0) {
            return true;
        }
        let element = open().filter(tells).min_by_key(number_of_ways).map(|x| -> (usize, Vec<usize>) {
            (x, (0..self.set.len()).filter(|&y| self.may_go(&partial, x, y, &known)).collect())
        });
        let ways_of_point: Vec<usize> = (0..self.degree)
            .filter(|&to| partial.preimages[to].is_none() && partial.marks[point] == partial.image_marks[to])
            .filter(|&to| (self.may)(point, to))
            .collect();
        match element {
            Some((x, ways)) if ways.len() <= ways_of_point.len() => {
                ways.into_iter().all(|to| match self.with(partial.clone(), Vec::new(), Some((x, to))) {
                    Some(more) => self.extend(more),
                    None => true,
                })
            }
            _ => ways_of_point.into_iter().all(|to| {
                match self.with(partial.clone(), vec![(point, to)], None) {
                    Some(more) => self.extend(more),
                    None => true,
                }
            }),
        }
    }

    /// Returns the undecided point with the fewest possible images; `None` if all points are decided.
    fn fewest_ways(&self, partial: &Partial) -> Option<usize> {
        let mut ways: FxHashMap<u64, usize> = FxHashMap::default();
        for to in (0..self.degree).filter(|&to| partial.preimages[to].is_none()) {
            *ways.entry(partial.image_marks[to]).or_default() += 1;
        }
        let open = (0..self.degree).filter(|&point| partial.points[point].is_none());
        open.min_by_key(|&point| ways.get(&partial.marks[point]).copied().unwrap_or(0))
    }

    /// Returns a hash of the colour of an element and of its images of decided points, as far as they are
    /// decided too.
    fn mark(&self, element: usize, images: impl Iterator<Item = Option<usize>>) -> u64 {
        images.fold(self.told.of_elements[element] as u64, |mark, to| {
            mixed(mark, to.map_or(0, |to| to as u64 + 1))
        })
    }

    /// Returns whether element `x` may go to `y`, given the images of the points in `known`.
    fn may_go(&self, partial: &Partial, x: usize, y: usize, known: &[(usize, usize)]) -> bool {
        !partial.taken[y]
            && (self.alike)(x, y)
            && known.iter().all(|&(from, to)| {
                let (from, to) = (self.set[x].apply(from), self.set[y].apply(to));
                match (partial.points[from], partial.preimages[to]) {
                    (Some(image), _) => image == to,
                    (None, None) => (self.may)(from, to),
                    (None, Some(_)) => false,
                }
            })
    }

    /// Decides some points, or an element, and everything that follows. `None` on a contradiction.
    fn with(
        &self,
        mut partial: Partial,
        mut points: Vec<(usize, usize)>,
        element: Option<(usize, usize)>,
    ) -> Option<Partial> {
        // If point c goes to d and element x to y, then x(c) goes to y(d).
        let follows =
            |x: usize, y: usize, (from, to): (usize, usize)| (self.set[x].apply(from), self.set[y].apply(to));
        if let Some((x, y)) = element {
            partial.taken[y] = true;
            partial.elements[x] = Some(y);
            for (marks, of) in [(&mut partial.marks, x), (&mut partial.image_marks, y)] {
                let lengths = &self.told.cycles[of];
                marks.iter_mut().zip(lengths).for_each(|(mark, &length)| *mark = mixed(*mark, length.into()));
            }
            let known = partial.points.iter().enumerate().filter_map(|(from, to)| Some((from, (*to)?)));
            points.extend(known.map(|known| follows(x, y, known)));
        }
        while let Some((from, to)) = points.pop() {
            match (partial.points[from], partial.preimages[to]) {
                (Some(before), _) if before == to => continue,
                (None, None) if (self.may)(from, to) => {}
                _ => return None,
            }
            partial.points[from] = Some(to);
            partial.preimages[to] = Some(from);
            let known = partial.elements.iter().enumerate().filter_map(|(x, y)| Some((x, (*y)?)));
            points.extend(known.map(|(x, y)| follows(x, y, (from, to))));
        }
        Some(partial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn set(degree: usize, cycles: &[&str]) -> Vec<Permutation> {
        cycles.iter().map(|cycles| Permutation::parse(cycles, degree).unwrap()).collect()
    }

    fn every(degree: usize) -> impl Iterator<Item = Permutation> {
        let all: u64 = (1..=degree as u64).product();
        (0..all).map(move |rank| Permutation::unrank(degree, rank.into()).unwrap())
    }

    /// Compares with an exhaustive search of all permutations, for all sets of up to three permutations of
    /// four points, and for others.
    #[test]
    fn all_automorphisms_are_found() {
        let four: Vec<Permutation> = every(4).filter(|x| !x.is_identity()).collect();
        let mut sets: Vec<(usize, Vec<Permutation>)> = vec![(4, Vec::new())];
        for (i, x) in four.iter().enumerate() {
            sets.push((4, vec![x.clone()]));
            for (j, y) in four[..i].iter().enumerate() {
                sets.push((4, vec![x.clone(), y.clone()]));
                sets.extend(four[..j].iter().map(|z| (4, vec![x.clone(), y.clone(), z.clone()])));
            }
        }
        for cycles in [
            &["(1,2,3)(4,5,6)", "(1,4)"][..],
            &["(1,2)(3,4)", "(5,6)", "(1,3)"],
            &["(1,2,3,4,5,6)", "(1,6,5,4,3,2)", "(1,2)"],
        ] {
            sets.push((6, set(6, cycles)));
        }
        for (degree, set) in sets {
            let is_moved = |c: usize| set.iter().any(|x| x.apply(c) != c);
            let maps = |a: &Permutation| {
                set.iter().all(|x| set.contains(&x.relabel(a)))
                    && (0..degree).all(|c| is_moved(c) || a.apply(c) == c)
            };
            let right: HashSet<Permutation> = every(degree).filter(maps).collect();
            let Automorphisms { found, are_all } = automorphisms(degree, &set, usize::MAX);
            assert!(are_all);
            assert!(found[0].is_identity());
            assert_eq!(found.len(), right.len(), "{set:?}");
            assert_eq!(found.into_iter().collect::<HashSet<_>>(), right, "{set:?}");
        }
    }

    #[test]
    fn too_many_automorphisms_give_a_subgroup() {
        let transpositions: Vec<Permutation> = (0..8)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| {
                Permutation::from_fn(8, |c| {
                    if c == i {
                        j
                    } else if c == j {
                        i
                    } else {
                        c
                    }
                })
            })
            .collect();
        // All 8! permutations map the set of transpositions onto itself; 6! of them fix two points.
        let Automorphisms { found, are_all } = automorphisms(8, &transpositions, 1000);
        assert!(!are_all);
        assert_eq!(found.len(), 720);
        assert!(found.iter().all(|a| a.apply(0) == 0 && a.apply(1) == 1));
        assert_eq!(found.iter().collect::<HashSet<_>>().len(), 720);
    }

    /// One set acts in the same way on several copies of its points. Automorphisms carry copies to copies,
    /// and do the same in all of them. A search that considers only new points would try all mappings of each
    /// cycle.
    #[test]
    fn copies_are_swapped() {
        let of_copies = |copies: usize| {
            let generators = set(4, &["(1,2,3,4)", "(1,2,4,3)"]);
            let copied = |x: &Permutation| Permutation::from_fn(4 * copies, |c| 4 * (c / 4) + x.apply(c % 4));
            let copied: Vec<Permutation> = generators.iter().map(copied).collect();
            automorphisms(4 * copies, &copied, 4000).found.len()
        };
        let one = of_copies(1);
        for (copies, exchanges) in [(2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
            assert_eq!(of_copies(copies), exchanges * one);
        }
    }
}
