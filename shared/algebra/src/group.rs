//! A group and what can be told of it: order, orbits, which well-known group it is, and why an element is not
//! in it.

use crate::orbits::{orbits, smallest_blocks};
use crate::{Permutation, StabiliserChain};
use num_bigint::BigUint;

/// The group that permutations generate.
#[derive(Clone, Debug)]
pub struct Group {
    degree: usize,
    generators: Vec<Permutation>,
    chain: StabiliserChain,
    orbits: Vec<GroupOrbit>,
}

/// Points that a group carries to each other, at least two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOrbit {
    /// In increasing order.
    pub points: Vec<usize>,
    /// The partition into the smallest blocks; `None` if the group acts primitively here.
    pub blocks: Option<Vec<Vec<usize>>>,
}

/// On more points the symmetric and the alternating group are looked for first.
const LARGE: usize = 64;

/// A group by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but the identity.
    Trivial,
    /// All permutations of so many points; others are fixed.
    Symmetric(usize),
    /// All even permutations of so many points; others are fixed.
    Alternating(usize),
    /// None of these.
    Other,
}

/// Why an element is not in a group. Points are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// It carries a point out of its orbit.
    Orbit {
        /// The point.
        from: usize,
        /// Its image.
        to: usize,
    },
    /// A block of points is turned among itself; but for that, the element is in the group.
    Turned {
        /// Its points.
        block: Vec<usize>,
        /// Whether the element itself turns them, and not only something else that turning them makes good.
        alone: bool,
    },
    /// It permutes the points of some orbits and the blocks of others, all taken together, oddly, all
    /// generators evenly.
    BlockParity {
        /// Indices of [`Group::orbits`] whose points count.
        points: Vec<usize>,
        /// Those whose blocks count.
        blocks: Vec<usize>,
    },
    /// It permutes the points of these orbits oddly, all generators evenly.
    Parity {
        /// Indices of [`Group::orbits`].
        orbits: Vec<usize>,
    },
    /// No element of the group maps all of these points to the same images, though one does so for all but
    /// the last.
    Images {
        /// The points.
        points: Vec<usize>,
    },
}

impl Group {
    /// The group that `generators` generate on `degree` points.
    ///
    /// # Panics
    /// If a generator is of another degree.
    pub fn new(degree: usize, generators: Vec<Permutation>) -> Self {
        assert!(generators.iter().all(|g| g.degree() == degree), "generators are of one degree");
        let giant = (degree > LARGE).then(|| StabiliserChain::of_giant(degree, &generators)).flatten();
        let chain = giant.unwrap_or_else(|| StabiliserChain::new(degree, &generators));
        let orbits = orbits(degree, &generators).into_iter().map(|points| {
            let blocks = smallest_blocks(&points, &generators);
            GroupOrbit { points, blocks }
        });
        Self { degree, orbits: orbits.collect(), chain, generators }
    }

    /// The number of points.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The generators, as they were given.
    pub fn generators(&self) -> &[Permutation] {
        &self.generators
    }

    /// Base and strong generating set.
    pub fn chain(&self) -> &StabiliserChain {
        &self.chain
    }

    /// The number of elements.
    pub fn order(&self) -> BigUint {
        self.chain.big_order()
    }

    /// The orbits of more than one point, in order of their smallest points.
    pub fn orbits(&self) -> &[GroupOrbit] {
        &self.orbits
    }

    /// How many points are moved by some element.
    pub fn moved_points(&self) -> usize {
        self.orbits.iter().map(|orbit| orbit.points.len()).sum()
    }

    /// How many generators are odd permutations. If none is, no element is; otherwise half of all elements
    /// are.
    pub fn odd_generators(&self) -> usize {
        self.generators.iter().filter(|generator| !generator.is_even()).count()
    }

    /// Whether it is the symmetric or the alternating group of the points that it moves: by its order, for
    /// the alternating group is the only subgroup of index 2.
    pub fn kind(&self) -> Kind {
        let moved = self.moved_points();
        let factorial: BigUint = (1..=moved).map(BigUint::from).product();
        let order = self.order();
        match moved {
            0 => Kind::Trivial,
            _ if order == factorial => Kind::Symmetric(moved),
            _ if order * 2_u32 == factorial => Kind::Alternating(moved),
            _ => Kind::Other,
        }
    }

    /// The largest k such that any k moved points, in order, can be carried to any k others: 0 where there
    /// are several orbits, or none.
    pub fn transitivity(&self) -> usize {
        let moved = self.moved_points();
        let free = |(fixed, length): &(usize, usize)| *length == moved - fixed;
        let free = self.chain.orbit_lengths().enumerate().take_while(free).count();
        // Where all points but one stay, so does the last.
        if free + 1 == moved { moved } else { free }
    }

    /// Why an element is not in the group; `None` if it is.
    ///
    /// # Panics
    /// If the element is of another degree.
    pub fn why_not(&self, element: &Permutation) -> Option<WhyNot> {
        let points = self.chain.disagreement(element)?;
        if let Some(from) = self.leaves_orbit(element) {
            return Some(WhyNot::Orbit { from, to: element.apply(from) });
        }
        Some(match (self.turned_block(element), self.odd_orbits(element)) {
            (Some((block, alone)), _) => WhyNot::Turned { block, alone },
            (None, Some((orbits, blocks))) if blocks.is_empty() => WhyNot::Parity { orbits },
            (None, Some((points, blocks))) => WhyNot::BlockParity { points, blocks },
            (None, None) => WhyNot::Images { points },
        })
    }

    /// A block that must be turned within itself, as the group can turn it, to make an element of the group
    /// of this one; and whether the element turns that block itself. Blocks that it turns come first.
    fn turned_block(&self, element: &Permutation) -> Option<(Vec<usize>, bool)> {
        let of_orbits = self.orbits.iter().filter_map(|orbit| orbit.blocks.as_ref());
        let turns_itself = |block: &&Vec<usize>| {
            let stays = |&point: &usize| block.contains(&element.apply(point));
            block.iter().all(stays) && block.iter().any(|&point| element.apply(point) != point)
        };
        let (own, others): (Vec<_>, Vec<_>) = of_orbits
            .filter(|blocks| blocks[0].len() <= MOST_TURNED)
            .flat_map(|blocks| {
                let own: Vec<&Vec<usize>> = blocks.iter().filter(turns_itself).collect();
                let first = own.is_empty().then(|| &blocks[0]);
                own.into_iter().map(|block| (block, true)).chain(first.map(|block| (block, false)))
            })
            .partition(|(_, alone)| *alone);
        own.into_iter().chain(others).find_map(|(block, alone)| {
            // By each turn that is a cycle of all its points.
            let mut rest: Vec<usize> = block[1..].to_vec();
            let mut found = false;
            each_order(&mut rest, 0, &mut |rest| {
                let mut images: Vec<u16> = (0..self.degree).map(|point| point as u16).collect();
                let cycle: Vec<usize> = std::iter::once(block[0]).chain(rest.iter().copied()).collect();
                cycle
                    .iter()
                    .zip(cycle.iter().cycle().skip(1))
                    .for_each(|(&from, &to)| images[from] = to as u16);
                let turn = Permutation::from_images(images).expect("a cycle permutes the points");
                found |= self.chain.contains(&element.then(&turn));
            });
            found.then(|| (block.clone(), alone))
        })
    }

    /// A point that `element` carries out of its orbit.
    fn leaves_orbit(&self, element: &Permutation) -> Option<usize> {
        let mut orbit_of: Vec<Option<usize>> = vec![None; self.degree];
        for (number, orbit) in self.orbits.iter().enumerate() {
            orbit.points.iter().for_each(|&point| orbit_of[point] = Some(number));
        }
        (0..self.degree).find(|&point| {
            let image = element.apply(point);
            image != point && (orbit_of[point].is_none() || orbit_of[point] != orbit_of[image])
        })
    }

    /// Orbits whose points, or whose blocks, `element` permutes oddly, all taken together, and all generators
    /// evenly: points alone if they tell it, blocks alone, or both.
    fn odd_orbits(&self, element: &Permutation) -> Option<(Vec<usize>, Vec<usize>)> {
        let orbits = || 0..self.orbits.len();
        let keeps_blocks = self.orbits.iter().all(|orbit| blocks_parity(element, orbit).is_some());
        let has_blocks = |orbit: &usize| keeps_blocks && self.orbits[*orbit].blocks.is_some();
        let points: Vec<(usize, bool)> = orbits().map(|orbit| (orbit, false)).collect();
        let either: Vec<(usize, bool)> = orbits().map(|orbit| (orbit, has_blocks(&orbit))).collect();
        let both =
            points.iter().copied().chain(orbits().filter(has_blocks).map(|orbit| (orbit, true))).collect();
        let odd = [points, either, both].into_iter().find_map(|of| self.odd_together(element, &of))?;
        let (blocks, points): (Vec<_>, Vec<_>) = odd.into_iter().partition(|(_, of_blocks)| *of_blocks);
        let numbers = |of: Vec<(usize, bool)>| of.into_iter().map(|(orbit, _)| orbit).collect();
        Some((numbers(points), numbers(blocks)))
    }

    /// Which of the parities, each of the points or of the blocks of an orbit, make an odd one of `element`
    /// and an even one of all generators, by linear algebra over two elements: a permutation gives one
    /// coordinate a parity, and products add.
    fn odd_together(&self, element: &Permutation, parities: &[(usize, bool)]) -> Option<Vec<(usize, bool)>> {
        let parity = |p: &Permutation, (orbit, of_blocks): (usize, bool)| match of_blocks {
            true => blocks_parity(p, &self.orbits[orbit]).unwrap_or(false),
            false => is_odd_on(p, &self.orbits[orbit].points),
        };
        let coordinates =
            |p: &Permutation| -> Vec<bool> { parities.iter().map(|&of| parity(p, of)).collect() };
        let mut rows: Vec<(usize, Vec<bool>)> = Vec::new();
        for generator in &self.generators {
            let mut row = coordinates(generator);
            reduce(&mut row, &rows);
            if let Some(pivot) = row.iter().position(|&odd| odd) {
                let new = [(pivot, row)];
                rows.iter_mut().for_each(|(_, row)| reduce(row, &new));
                rows.extend(new);
            }
        }
        let mut rest = coordinates(element);
        reduce(&mut rest, &rows);
        let column = rest.iter().position(|&odd| odd)?;
        // Each row is odd on an even number of these, because a pivot is odd in its own row alone.
        let mut odd: Vec<usize> =
            rows.iter().filter(|(_, row)| row[column]).map(|(pivot, _)| *pivot).collect();
        odd.push(column);
        odd.sort_unstable();
        Some(odd.into_iter().map(|at| parities[at]).collect())
    }
}

/// Blocks of more points are not turned in all ways.
const MOST_TURNED: usize = 4;

/// All orders of the things from a place on.
fn each_order(things: &mut [usize], from: usize, found: &mut impl FnMut(&[usize])) {
    if from >= things.len() {
        return found(things);
    }
    for at in from..things.len() {
        things.swap(from, at);
        each_order(things, from + 1, found);
        things.swap(from, at);
    }
}

/// Whether a permutation permutes the blocks of an orbit oddly; `None` if it tears one apart. An orbit
/// without blocks is permuted evenly.
fn blocks_parity(permutation: &Permutation, orbit: &GroupOrbit) -> Option<bool> {
    let Some(blocks) = &orbit.blocks else { return Some(false) };
    let block_of = |point: usize| blocks.iter().position(|block| block.contains(&point));
    let image = |block: &Vec<usize>| {
        let to = block_of(permutation.apply(block[0]))?;
        block.iter().all(|&point| blocks[to].contains(&permutation.apply(point))).then_some(to as u16)
    };
    let images: Vec<u16> = blocks.iter().map(image).collect::<Option<_>>()?;
    Some(!Permutation::from_images(images).ok()?.is_even())
}

/// Clears the pivot columns of a row.
fn reduce(row: &mut [bool], rows: &[(usize, Vec<bool>)]) {
    for (pivot, other) in rows {
        if row[*pivot] {
            row.iter_mut().zip(other).for_each(|(entry, other)| *entry ^= other);
        }
    }
}

/// The parity on an orbit that is mapped to itself.
fn is_odd_on(permutation: &Permutation, orbit: &[usize]) -> bool {
    let cycles = permutation.cycles();
    let inside = cycles.iter().filter(|cycle| orbit.binary_search(&cycle[0]).is_ok());
    inside.map(|cycle| cycle.len() - 1).sum::<usize>() % 2 == 1
}
