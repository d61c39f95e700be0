//! A group and its properties: its order and orbits, whether it is a symmetric or alternating group, and why
//! an element is not in it.

use crate::orbits::{orbits, smallest_blocks};
use crate::{Permutation, StabiliserChain};
use num_bigint::BigUint;

/// The group that some permutations generate.
#[derive(Clone, Debug)]
pub struct Group {
    degree: usize,
    generators: Vec<Permutation>,
    chain: StabiliserChain,
    orbits: Vec<GroupOrbit>,
}

/// An orbit of at least two points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOrbit {
    /// The points, in increasing order.
    pub points: Vec<usize>,
    /// The partition into the smallest blocks; `None` if the group acts primitively on the orbit.
    pub blocks: Option<Vec<Vec<usize>>>,
}

/// On more points than this, the symmetric and the alternating group are tried first, because the general
/// algorithm is slow for them.
const LARGE: usize = 64;

/// The kind of a group: a recognised group, or another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The trivial group.
    Trivial,
    /// All permutations of this number of points; the group fixes the others.
    Symmetric(usize),
    /// All even permutations of this number of points; the group fixes the others.
    Alternating(usize),
    /// Any other group.
    Other,
}

/// Why an element is not in a group. Points are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NonMembership {
    /// The element carries a point out of its orbit.
    Orbit {
        /// The point.
        from: usize,
        /// Its image.
        to: usize,
    },
    /// The element carries the points of a block to more than one block.
    Torn {
        /// The points of the block.
        block: Vec<usize>,
    },
    /// Followed by a cycle of the points of this block, the element is in the group.
    Turned {
        /// The points of the block.
        block: Vec<usize>,
        /// Whether the element turns this block within itself, and moves no other point of its orbit. If
        /// not, turning this block compensates for the effect of the element on several blocks.
        alone: bool,
    },
    /// In total, the element permutes the points of some orbits and the blocks of some orbits oddly, but all
    /// generators permute them evenly.
    BlockParity {
        /// The orbits whose points count, as indices of [`Group::orbits`].
        points: Vec<usize>,
        /// The orbits whose blocks count, as indices of [`Group::orbits`].
        blocks: Vec<usize>,
    },
    /// In total, the element permutes the points of these orbits oddly, but all generators permute them
    /// evenly.
    Parity {
        /// The orbits, as indices of [`Group::orbits`].
        orbits: Vec<usize>,
    },
    /// No element of the group acts on the points of all these orbits as the element does, but on those of
    /// any smaller selection of them some element does.
    Together {
        /// Two or more orbits, as indices of [`Group::orbits`].
        orbits: Vec<usize>,
    },
    /// No element of the group agrees with the element on all of these points, but one agrees with it on all
    /// but the last.
    Images {
        /// The points.
        points: Vec<usize>,
    },
}

impl Group {
    /// Computes the group that `generators` generate on `degree` points.
    ///
    /// # Panics
    /// If a generator is of another degree.
    pub fn new(degree: usize, generators: Vec<Permutation>) -> Self {
        assert!(generators.iter().all(|g| g.degree() == degree), "generators have the same degree");
        let giant = (degree > LARGE)
            .then(|| StabiliserChain::of_symmetric_or_alternating(degree, &generators))
            .flatten();
        let chain = giant.unwrap_or_else(|| StabiliserChain::new(degree, &generators));
        Self::with_chain(degree, generators, chain)
    }

    /// Computes the group as [`Group::new`] does, by algorithms that are fast on thousands of points: it must
    /// be the symmetric or the alternating group, or one whose chain [`StabiliserChain::along_orbits`] finds.
    /// `None` if it is another.
    ///
    /// # Panics
    /// If a generator is of another degree.
    pub fn of_many_points(degree: usize, generators: Vec<Permutation>) -> Option<Self> {
        assert!(generators.iter().all(|g| g.degree() == degree), "generators have the same degree");
        let chain = match orbits(degree, &generators).len() {
            1 => StabiliserChain::of_symmetric_or_alternating(degree, &generators),
            _ => StabiliserChain::along_orbits(degree, &generators),
        };
        let chain = chain?;
        Some(Self::with_chain(degree, generators, chain))
    }

    fn with_chain(degree: usize, generators: Vec<Permutation>, chain: StabiliserChain) -> Self {
        let orbits = orbits(degree, &generators).into_iter().map(|points| {
            let blocks = smallest_blocks(&points, &generators);
            GroupOrbit { points, blocks }
        });
        Self { degree, orbits: orbits.collect(), chain, generators }
    }

    /// Returns the number of points.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Returns the generators, as they were given.
    pub fn generators(&self) -> &[Permutation] {
        &self.generators
    }

    /// Returns the stabiliser chain: a base and a strong generating set.
    pub fn chain(&self) -> &StabiliserChain {
        &self.chain
    }

    /// Returns the number of elements.
    pub fn order(&self) -> BigUint {
        self.chain.big_order()
    }

    /// Returns the orbits of more than one point, in order of their smallest points.
    pub fn orbits(&self) -> &[GroupOrbit] {
        &self.orbits
    }

    /// Returns the number of points that some element moves.
    pub fn moved_points(&self) -> usize {
        self.orbits.iter().map(|orbit| orbit.points.len()).sum()
    }

    /// Returns the number of generators that are odd permutations. If no generator is odd, no element is;
    /// otherwise half of all elements are.
    pub fn odd_generators(&self) -> usize {
        self.generators.iter().filter(|generator| !generator.is_even()).count()
    }

    /// Returns the kind of the group on the points that it moves. The order decides, because the alternating
    /// group is the only subgroup of index 2 of a symmetric group.
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

    /// Returns the largest k such that the group carries any k moved points, in order, to any k moved points.
    /// The result is 0 if there are several orbits, or none.
    pub fn transitivity(&self) -> usize {
        let moved = self.moved_points();
        let free = |(fixed, length): &(usize, usize)| *length == moved - fixed;
        let free = self.chain.orbit_lengths().enumerate().take_while(free).count();
        // A permutation that fixes all points but one fixes that point too.
        if free + 1 == moved { moved } else { free }
    }

    /// Returns why an element is not in the group; `None` if the element is in the group.
    ///
    /// # Panics
    /// If the element is of another degree.
    pub fn why_not(&self, element: &Permutation) -> Option<NonMembership> {
        let points = self.chain.disagreement(element)?;
        if let Some(from) = self.leaves_orbit(element) {
            return Some(NonMembership::Orbit { from, to: element.apply(from) });
        }
        if let Some(block) = self.torn_block(element) {
            return Some(NonMembership::Torn { block: block.clone() });
        }
        Some(match (self.turned_block(element), self.odd_orbits(element)) {
            (Some((block, alone)), _) => NonMembership::Turned { block, alone },
            (None, Some((orbits, blocks))) if blocks.is_empty() => NonMembership::Parity { orbits },
            (None, Some((points, blocks))) => NonMembership::BlockParity { points, blocks },
            (None, None) => match self.tied_orbits(element) {
                orbits if orbits.len() > 1 => NonMembership::Together { orbits },
                _ => NonMembership::Images { points },
            },
        })
    }

    /// Returns orbits on which the group does not act as `element` does, though it does on each smaller
    /// selection of them.
    fn tied_orbits(&self, element: &Permutation) -> Vec<usize> {
        let acts_so_on = |orbits: &[usize]| {
            let counts = |point| orbits.iter().any(|&orbit| self.orbits[orbit].points.contains(&point));
            let on_orbits = |p: &Permutation| {
                Permutation::from_fn(self.degree, |point| if counts(point) { p.apply(point) } else { point })
            };
            let generators: Vec<Permutation> = self.generators.iter().map(on_orbits).collect();
            StabiliserChain::new(self.degree, &generators).contains(&on_orbits(element))
        };
        let mut kept: Vec<usize> = (0..self.orbits.len()).collect();
        for orbit in 0..self.orbits.len() {
            let others: Vec<usize> = kept.iter().copied().filter(|&other| other != orbit).collect();
            if !acts_so_on(&others) {
                kept = others;
            }
        }
        kept
    }

    /// Returns a block that `element` carries to no single block.
    fn torn_block(&self, element: &Permutation) -> Option<&Vec<usize>> {
        let of_orbits = self.orbits.iter().filter_map(|orbit| orbit.blocks.as_ref());
        of_orbits
            .flat_map(|blocks| {
                let holder = |point: usize| blocks.iter().position(|block| block.contains(&point));
                let is_torn = move |block: &&Vec<usize>| {
                    let first = holder(element.apply(block[0]));
                    block.iter().any(|&point| holder(element.apply(point)) != first)
                };
                blocks.iter().filter(is_torn)
            })
            .next()
    }

    /// Finds a block such that `element`, followed by a cycle of all points of the block, is in the group,
    /// and says whether `element` turns this block and moves no other of the orbit. Blocks that `element`
    /// turns are tried first. Of an orbit without such blocks only the first is tried.
    fn turned_block(&self, element: &Permutation) -> Option<(Vec<usize>, bool)> {
        let of_orbits = self.orbits.iter().filter_map(|orbit| orbit.blocks.as_ref());
        let turns_itself = |block: &&Vec<usize>| {
            let stays = |&point: &usize| block.contains(&element.apply(point));
            block.iter().all(stays) && block.iter().any(|&point| element.apply(point) != point)
        };
        let (own, others): (Vec<_>, Vec<_>) = of_orbits
            .filter(|blocks| blocks[0].len() <= MAX_TURNED)
            .flat_map(|blocks| {
                let own: Vec<&Vec<usize>> = blocks.iter().filter(turns_itself).collect();
                let is_moved = |block: &&Vec<usize>| block.iter().any(|&point| element.apply(point) != point);
                let alone = blocks.iter().filter(is_moved).count() == 1;
                let first = own.is_empty().then(|| &blocks[0]);
                own.into_iter().map(move |block| (block, alone)).chain(first.map(|block| (block, false)))
            })
            .partition(|(_, alone)| *alone);
        own.into_iter().chain(others).find_map(|(block, alone)| {
            // Tries every cycle of all points of the block.
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

    /// Returns a point that `element` maps out of its orbit.
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

    /// Finds orbits whose points or blocks `element` in total permutes oddly, but all generators permute
    /// evenly. Returns the orbits whose points count, and those whose blocks count. The simplest answers are
    /// tried first: points only; then blocks instead of points for orbits that have blocks; then both
    /// together.
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

    /// Selects from `parities`, each of the points (false) or the blocks (true) of an orbit, some whose sum
    /// is odd for `element` and even for all generators. Parities of a product add up, so this is linear
    /// algebra over the field of two elements: each permutation is a vector with one coordinate for each
    /// parity.
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
        // Each row has an even number of ones at the columns chosen here: a pivot column has a one in its own
        // row only.
        let mut odd: Vec<usize> =
            rows.iter().filter(|(_, row)| row[column]).map(|(pivot, _)| *pivot).collect();
        odd.push(column);
        odd.sort_unstable();
        Some(odd.into_iter().map(|at| parities[at]).collect())
    }
}

/// The size of the largest block whose cycles are tried.
const MAX_TURNED: usize = 4;

/// Calls `found` with each order of `things` that keeps the first `from`.
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

/// Returns whether a permutation permutes the blocks of an orbit oddly; `None` if it does not map blocks to
/// blocks. An orbit without blocks counts as even.
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

/// Clears the pivot columns of `row` by adding rows.
fn reduce(row: &mut [bool], rows: &[(usize, Vec<bool>)]) {
    for (pivot, other) in rows {
        if row[*pivot] {
            row.iter_mut().zip(other).for_each(|(entry, other)| *entry ^= other);
        }
    }
}

/// Returns whether a permutation is odd on an orbit, which it maps to itself.
fn is_odd_on(permutation: &Permutation, orbit: &[usize]) -> bool {
    let cycles = permutation.cycles();
    let inside = cycles.iter().filter(|cycle| orbit.binary_search(&cycle[0]).is_ok());
    inside.map(|cycle| cycle.len() - 1).sum::<usize>() % 2 == 1
}
