//! Chains of groups with many short orbits, such as those of large cubes: computed from random elements, one
//! orbit after another, and proven complete by the order of the group.

use super::{Level, StabiliserChain};
use crate::Permutation;
use crate::orbits::{orbits, smallest_blocks};
use num_bigint::BigUint;

/// The largest number of points of an orbit. The group on its points is computed deterministically.
const MAX_ORBIT: usize = 128;
/// The number of consecutive random elements that may add nothing to the levels of an orbit. If a point of a
/// basic orbit of k points is missing, one element in k finds it.
const PATIENCE: usize = 128;
/// The number of elements from which random ones are made, beyond those that generate all parities: so many
/// more random elements generate them almost certainly.
const SPARE: usize = 20;

/// What the group does on one orbit.
struct Constituent {
    points: Vec<usize>,
    /// The group on the points, numbered along the orbit.
    chain: StabiliserChain,
    /// For each generator, the parities that it has on the points of the orbit and on its smallest blocks.
    parities: Vec<Vec<bool>>,
}

impl StabiliserChain {
    /// Computes the chain of the group that `generators` generate, if all of its orbits have at most 128
    /// points. `None` if one has more, or if random elements did not reach the order of the group in time, as
    /// where it is not the largest with the constituents and the parities of the generators.
    ///
    /// A returned chain is proven complete. The group is isomorphic to a subgroup of the product of its
    /// constituents, the groups that it induces on its orbits; of orbits on which it acts in the same way,
    /// one suffices. The parities of an element on the points and blocks of orbits are homomorphisms to the
    /// group of order 2, so the group lies in the preimage of what the generators span. The chain is complete
    /// if its order is that of the preimage.
    pub fn along_orbits(degree: usize, generators: &[Permutation]) -> Option<Self> {
        let constituents = constituents(degree, generators)?;
        let mut random = fastrand::Rng::with_seed(degree as u64);
        let mut chain = Self::trivial(degree);
        let length = SPARE + rank(parities(&constituents));
        let mut whole = Random::new(generators, length)?;
        // Elements of the group that fix all orbits before the next one.
        let mut kernel = generators.to_vec();
        for Constituent { points, chain: group, .. } in &constituents {
            let first = chain.levels.len();
            let base: Vec<usize> = group.base().map(|point| points[point]).collect();
            chain.levels.extend(Self::trivial_along(degree, &base).levels);
            let lengths: Vec<usize> = group.orbit_lengths().collect();
            let Some(mut elements) = Random::new(&kernel, length) else { break };
            let mut idle = 0;
            while idle < PATIENCE && !chain.orbit_lengths().skip(first).eq(lengths.iter().copied()) {
                let element = elements.next_in_normal_closure(&mut whole, &mut random);
                idle = if chain.insert_below(first, &lengths, &element) { 0 } else { idle + 1 };
            }
            kernel.clear();
            for _ in 0..2 * length {
                let element = elements.next_in_normal_closure(&mut whole, &mut random);
                let residue = chain.residue(first, &element).1;
                if !residue.is_identity() && kernel.len() < length {
                    kernel.push(residue);
                }
            }
        }
        // Levels without another point than their base point say nothing.
        chain.levels.retain(|level| level.orbit.len() > 1);
        (chain.big_order() == largest_order(&constituents)).then_some(chain)
    }

    /// Divides an element that fixes the base points before level `first` by transversal elements, from that
    /// level on. Returns the level at which there is none, and the quotient.
    fn residue(&self, first: usize, element: &Permutation) -> (usize, Permutation) {
        let mut residue = element.clone();
        for (at, level) in self.levels.iter().enumerate().skip(first) {
            match &level.transversal[residue.apply(level.base)] {
                Some(_) if residue.apply(level.base) == level.base => {}
                Some(representative) => residue = residue.then(&representative.inverse()),
                None => return (at, residue),
            }
        }
        (self.levels.len(), residue)
    }

    /// Adds an element that fixes the base points before level `first`, as
    /// [`StabiliserChain::insert_element_of_known_group`] does, to the levels from there on, whose orbits
    /// have at most these lengths. Returns whether it changed the chain.
    fn insert_below(&mut self, first: usize, lengths: &[usize], element: &Permutation) -> bool {
        let (depth, residue) = self.residue(first, element);
        if depth == self.levels.len() {
            return false;
        }
        for (at, level) in self.levels[..=depth].iter_mut().enumerate().skip(first) {
            if level.orbit.len() < lengths[at - first] {
                level.generators.push(residue.clone());
                level.close_orbit();
            }
        }
        true
    }
}

impl Level {
    /// Extends the orbit of the base point by the generators of this level.
    fn close_orbit(&mut self) {
        let mut next = 0;
        while next < self.orbit.len() {
            let from = self.orbit[next];
            for generator in &self.generators {
                let to = generator.apply(from);
                if self.transversal[to].is_none() {
                    let path = self.transversal[from].as_ref().expect("orbit points have one");
                    self.transversal[to] = Some(path.then(generator));
                    self.orbit.push(to);
                }
            }
            next += 1;
        }
    }
}

/// Random elements, by product replacement: at each step one element is multiplied by another.
struct Random {
    elements: Vec<Permutation>,
}

impl Random {
    /// Starts with these elements, repeated up to a length; `None` if there are none.
    fn new(elements: &[Permutation], length: usize) -> Option<Self> {
        let length = elements.len().max(length);
        (!elements.is_empty())
            .then(|| Self { elements: elements.iter().cycle().take(length).cloned().collect() })
    }

    /// Returns the next element of the group that the elements generate.
    fn next(&mut self, random: &mut fastrand::Rng) -> &Permutation {
        let (to, by) = (random.usize(..self.elements.len()), random.usize(..self.elements.len() - 1));
        let by = by + usize::from(by >= to);
        self.elements[to] = match random.bool() {
            true => self.elements[to].then(&self.elements[by]),
            false => self.elements[by].inverse().then(&self.elements[to]),
        };
        &self.elements[to]
    }

    /// Returns the next element of the normal closure of the elements in a group.
    fn next_in_normal_closure(&mut self, group: &mut Self, random: &mut fastrand::Rng) -> Permutation {
        let by = group.next(random);
        let at = random.usize(..self.elements.len());
        self.elements[at] = by.inverse().then(&self.elements[at]).then(by);
        self.next(random).clone()
    }
}

/// Returns the constituents of a group, one for each kind of action on its orbits. `None` if an orbit has too
/// many points.
fn constituents(degree: usize, generators: &[Permutation]) -> Option<Vec<Constituent>> {
    let mut found: Vec<Constituent> = Vec::new();
    for points in orbits(degree, generators) {
        if points.len() > MAX_ORBIT {
            return None;
        }
        if found.iter().any(|known| is_same_action(&known.points, &points, generators)) {
            continue;
        }
        let mut number = vec![0; degree];
        points.iter().enumerate().for_each(|(i, &point)| number[point] = i);
        let on_points = |generator: &Permutation| {
            Permutation::from_fn(points.len(), |i| number[generator.apply(points[i])])
        };
        let blocks = smallest_blocks(&points, generators).unwrap_or_default();
        let mut block_of = vec![0; degree];
        blocks.iter().enumerate().for_each(|(i, block)| block.iter().for_each(|&point| block_of[point] = i));
        let on_blocks = |generator: &Permutation| {
            Permutation::from_fn(blocks.len(), |i| block_of[generator.apply(blocks[i][0])])
        };
        let actions: Vec<Permutation> = generators.iter().map(on_points).collect();
        let parities = generators.iter().zip(&actions);
        let parities =
            parities.map(|(whole, action)| vec![!action.is_even(), !on_blocks(whole).is_even()]).collect();
        found.push(Constituent { chain: StabiliserChain::new(points.len(), &actions), points, parities });
    }
    Some(found)
}

/// Returns whether there is a bijection from one orbit to another that commutes with all generators.
fn is_same_action(one: &[usize], other: &[usize], generators: &[Permutation]) -> bool {
    let extends = |&start: &usize| {
        let mut images = std::collections::HashMap::from([(one[0], start)]);
        let mut reached = vec![one[0]];
        let mut next = 0;
        while next < reached.len() {
            let (point, image) = (reached[next], images[&reached[next]]);
            for generator in generators {
                let (to, expected) = (generator.apply(point), generator.apply(image));
                match images.insert(to, expected) {
                    None => reached.push(to),
                    Some(known) if known != expected => return false,
                    Some(_) => {}
                }
            }
            next += 1;
        }
        true
    };
    one.len() == other.len() && other.iter().any(extends)
}

/// Returns the order of the largest group with these constituents whose parities are among those that the
/// generators span.
fn largest_order(constituents: &[Constituent]) -> BigUint {
    let alone: usize = constituents.iter().map(|group| rank(group.parities.clone())).sum();
    let product: BigUint = constituents.iter().map(|group| group.chain.big_order()).product();
    product >> (alone - rank(parities(constituents)))
}

/// Returns for each generator its parities on all constituents.
fn parities(constituents: &[Constituent]) -> Vec<Vec<bool>> {
    let generators = constituents.first().map_or(0, |constituent| constituent.parities.len());
    (0..generators)
        .map(|i| constituents.iter().flat_map(|group| group.parities[i].clone()).collect())
        .collect()
}

/// Returns the rank of a matrix over the field of two elements.
fn rank(mut rows: Vec<Vec<bool>>) -> usize {
    let columns = rows.first().map_or(0, Vec::len);
    let mut rank = 0;
    for column in 0..columns {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column]) else { continue };
        rows.swap(rank, pivot);
        let (above, below) = rows.split_at_mut(rank + 1);
        for row in below.iter_mut().filter(|row| row[column]) {
            row.iter_mut().zip(&above[rank]).for_each(|(entry, pivot)| *entry ^= pivot);
        }
        rank += 1;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the turns of all layers of the n x n x n cube, on its 6 n^2 stickers.
    fn cube(n: usize) -> Vec<Permutation> {
        type Place = [i32; 3];
        let side = n as i32 - 1;
        let mut stickers: Vec<(Place, usize, i32)> = Vec::new();
        for axis in 0..3 {
            for end in [0, side] {
                for a in 0..=side {
                    for b in 0..=side {
                        let mut place = [end; 3];
                        place[(axis + 1) % 3] = a;
                        place[(axis + 2) % 3] = b;
                        stickers.push((place, axis, end));
                    }
                }
            }
        }
        let number: std::collections::HashMap<_, _> =
            stickers.iter().enumerate().map(|(i, &sticker)| (sticker, i)).collect();
        let turn = |axis: usize, layer: i32| {
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            Permutation::from_fn(stickers.len(), |i| {
                let (place, face, end) = stickers[i];
                if place[axis] != layer {
                    return i;
                }
                let mut to = place;
                (to[a], to[b]) = (place[b], side - place[a]);
                let turned = match face {
                    face if face == axis => (to, face, end),
                    face if face == a => (to, b, side - end),
                    _ => (to, a, end),
                };
                number[&turned]
            })
        };
        (0..3)
            .flat_map(|axis| (0..=side).map(move |layer| (axis, layer)))
            .map(|(axis, layer)| turn(axis, layer))
            .collect()
    }

    /// The deterministic algorithm finds the same orders.
    #[test]
    fn orders_of_small_cubes() {
        for n in 2..=3 {
            let turns = cube(n);
            let chain = StabiliserChain::along_orbits(6 * n * n, &turns).unwrap();
            assert_eq!(chain.big_order(), StabiliserChain::new(6 * n * n, &turns).big_order(), "{n}");
            assert!(turns.iter().all(|turn| chain.contains(turn)), "{n}");
            assert!(!chain.contains(&Permutation::parse("(1,2)", 6 * n * n).unwrap()), "{n}");
        }
    }

    /// Of a cube of even side n, let m be n / 2 - 1. There are 8 corners, m kinds of 24 edge pieces, and m^2
    /// kinds of 24 centres, all of which can be arranged in any way as far as parities allow: a turn of an
    /// outer layer is odd on the corners and on all kinds of centres, and a turn of an inner layer is odd on
    /// one kind of edges and on some kinds of centres. So the parities of corners and edges are independent,
    /// and those of the centres follow from them.
    #[test]
    fn large_cubes_are_proven() {
        let factorial = |n: u32| (1..=n).map(BigUint::from).product::<BigUint>();
        let order = |m: u32| (factorial(8) * 3_u32.pow(7) * factorial(24).pow(m + m * m)) >> (m * m);
        let turns = cube(10);
        let chain = StabiliserChain::along_orbits(600, &turns).unwrap();
        assert_eq!(chain.big_order(), order(4));
        for m in [1, 6] {
            let n = 2 * m as usize + 2;
            let chain = StabiliserChain::along_orbits(6 * n * n, &cube(n)).unwrap();
            assert_eq!(chain.big_order(), order(m), "{n}");
        }
        let mut random = fastrand::Rng::with_seed(1);
        let mut product = Permutation::identity(600);
        for _ in 0..200 {
            product = product.then(&turns[random.usize(..turns.len())]);
            assert!(chain.contains(&product));
        }
        // The strong generators generate the same levels.
        let again: Vec<Permutation> = chain.strong_generators().into_iter().cloned().collect();
        assert!(again.iter().all(|element| chain.contains(element)));
    }

    /// A subdirect product that parities do not describe: two orbits on which the group acts as A4, with the
    /// same element of order 3 in the quotient by the Klein four-group.
    #[test]
    fn other_groups_are_not_claimed() {
        let parse = |text| Permutation::parse(text, 8).unwrap();
        let generators = [parse("(1,2,3)(5,6,7)"), parse("(1,2)(3,4)"), parse("(5,6)(7,8)")];
        assert!(StabiliserChain::along_orbits(8, &generators).is_none());
        assert_eq!(StabiliserChain::new(8, &generators).order(), Some(48));
    }
}
