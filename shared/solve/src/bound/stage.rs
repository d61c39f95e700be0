//! The order in which pieces are solved, and one stage of it: its words bring further pieces home and fix the
//! pieces of earlier stages.

use crate::bound::Cover;
use fathom_algebra::orbits::orbits;
use fathom_algebra::{Permutation, StabiliserChain};
use rayon::prelude::*;
use std::ops::Range;

/// Pieces in the order in which they are solved. A piece that is home whenever earlier ones are counts as
/// solved with them.
#[derive(Clone, Debug)]
pub(crate) struct SolvingOrder {
    /// The group along the points of all pieces, in this order.
    chain: StabiliserChain,
    /// The levels of the chain at which a piece can still move. Only these pieces need to be brought home.
    levels: Vec<usize>,
    /// For each number of pieces brought home, the remaining effect of elements.
    rests: Vec<Rest>,
}

/// The effect of the elements that fix the first pieces of an order.
#[derive(Clone, Debug)]
struct Rest {
    /// All pieces that these elements fix.
    solved: Vec<usize>,
    /// The number of each point within its orbit under these elements.
    number: Vec<usize>,
    /// For each point its orbit, as a number; and the points of each orbit.
    orbit: Vec<usize>,
    orbits: Vec<Vec<usize>>,
}

impl SolvingOrder {
    pub(crate) fn new(cover: &Cover, pieces: &[usize]) -> Self {
        let base: Vec<usize> = pieces.iter().map(|&piece| cover.first_points[piece]).collect();
        let chain = cover.group.along(&base);
        let lengths: Vec<usize> = chain.orbit_lengths().collect();
        let levels: Vec<usize> = (0..lengths.len()).filter(|&level| lengths[level] > 1).collect();
        let generators = chain.strong_generators();
        let rest = |fixed: &[usize]| {
            let leaves = |g: &&&Permutation| fixed.iter().all(|&level| g.apply(base[level]) == base[level]);
            let generators: Vec<Permutation> = generators.iter().filter(leaves).map(|&g| g.clone()).collect();
            let is_home = |piece: &usize| {
                let point = cover.first_points[*piece];
                generators.iter().all(|g| g.apply(point) == point)
            };
            let solved = (0..cover.first_points.len()).filter(is_home).collect();
            let points = cover.puzzle.cells;
            let (mut number, mut orbit) = (vec![0; points], vec![usize::MAX; points]);
            let mut orbits = orbits(points, &generators);
            let alone = |point: &usize| !orbits.iter().any(|orbit| orbit.contains(point));
            orbits.extend((0..points).filter(alone).map(|point| vec![point]).collect::<Vec<_>>());
            for (which, members) in orbits.iter().enumerate() {
                for (at, &point) in members.iter().enumerate() {
                    (number[point], orbit[point]) = (at, which);
                }
            }
            Rest { solved, number, orbit, orbits }
        };
        let rests = (0..=levels.len()).map(|count| rest(&levels[..count])).collect();
        Self { chain, levels, rests }
    }

    /// Returns the number of pieces that must be brought home.
    pub(crate) fn len(&self) -> usize {
        self.levels.len()
    }

    /// Returns how many of the first `pieces` pieces of the order must be brought home.
    pub(crate) fn needed(&self, pieces: usize) -> usize {
        self.levels.partition_point(|&level| level < pieces)
    }

    /// Returns all pieces that are solved once `brought` pieces were brought home.
    pub(crate) fn solved(&self, brought: usize) -> &[usize] {
        &self.rests[brought].solved
    }

    /// Returns the points of the first pieces that are brought home.
    pub(crate) fn points(&self, brought: usize) -> Vec<usize> {
        let base: Vec<usize> = self.chain.base().collect();
        self.levels[..brought].iter().map(|&level| base[level]).collect()
    }

    /// Returns the size of a stage's table with an entry for each index; `None` if it exceeds a word.
    pub(crate) fn table(&self, brought: &Range<usize>) -> Option<usize> {
        let rest = &self.rests[brought.start];
        let points = &self.points(brought.end)[brought.start..];
        points.iter().try_fold(1_usize, |size, &point| size.checked_mul(rest.orbits[rest.orbit[point]].len()))
    }

    /// Returns the stage that brings the pieces of a range home, when all before the range are solved. `None`
    /// if its table would have more than 2^28 entries.
    pub(crate) fn stage(&self, brought: &Range<usize>) -> Option<Stage> {
        let table = self.table(brought).filter(|&size| size <= LARGEST)?;
        let rest = &self.rests[brought.start];
        let points = self.points(brought.end).split_off(brought.start);
        let orbit = |&point: &usize| rest.orbits[rest.orbit[point]].clone();
        let homewards = |&level: &usize| {
            let back = |point| {
                let element = self.chain.transversal_element(level, point)?;
                Some(element.inverse().images().to_vec())
            };
            (0..rest.number.len()).map(back).collect()
        };
        let lengths: Vec<usize> = self.chain.orbit_lengths().collect();
        let levels = &self.levels[brought.clone()];
        Some(Stage {
            orbits: points.iter().map(orbit).collect(),
            homewards: levels.iter().map(homewards).collect(),
            states: levels.iter().map(|&level| lengths[level] as u64).product(),
            number: rest.number.clone(),
            points,
            table,
        })
    }
}

/// The states of a stage: where the points of its pieces can be when earlier pieces are home. The index of a
/// state has a digit for each point, to the base of the length of the point's orbit.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The points that are brought home, one for each piece.
    points: Vec<usize>,
    /// The points to which each of these can be carried.
    orbits: Vec<Vec<usize>>,
    /// The number of each point within its orbit.
    number: Vec<usize>,
    /// For each of these points and each image, the images of all points under an element that carries the
    /// image back and fixes the points before it.
    homewards: Vec<Vec<Option<Vec<u16>>>>,
    /// The number of states.
    states: u64,
    /// The number of indices.
    table: usize,
}

/// The largest number of entries of a table.
const LARGEST: usize = 1 << 28;

const UNSEEN: u8 = u8::MAX;

/// The largest distance that a table can hold.
const FARTHEST: u32 = UNSEEN as u32 - 1;

/// Up to this number of words, [`Stage::largest`] finds shortest products. No metric has more moves.
const FEW: usize = 256;

impl Stage {
    /// Returns the number of states.
    pub fn states(&self) -> u64 {
        self.states
    }

    /// Returns the size of a table with an entry for each index.
    pub(crate) fn table(&self) -> usize {
        self.table
    }

    /// Returns the index of the state in which each point p is at `at(p)`.
    pub(crate) fn index(&self, at: impl Fn(usize) -> usize) -> usize {
        let digits = self.points.iter().zip(&self.orbits);
        digits.fold(0, |index, (&point, orbit)| index * orbit.len() + self.number[at(point)])
    }

    /// Returns the largest number of moves that solve a state by products of `words`; `None` if the words do
    /// not solve all states within 254 moves, or within `limit`, or if `goes_on` returns false. A word is an
    /// element that fixes the points of earlier pieces, with its length.
    ///
    /// With at most 256 words, the shortest product counts for each state. With more words, a state that a
    /// single word solves counts the shortest such word, even if a product of several is shorter; the result
    /// is then an upper bound.
    pub fn largest(
        &self,
        words: &[(Permutation, u32)],
        limit: Option<u32>,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Option<u32> {
        let limit = limit.unwrap_or(FARTHEST).min(FARTHEST);
        let words: Vec<Word> = words.iter().filter_map(|(word, length)| self.word(word, *length)).collect();
        let distances = match words.len() <= FEW {
            true => self.outwards(&words, limit, goes_on)?,
            false => self.homewards(&words, goes_on)?,
        };
        let reached = distances.iter().filter(|&&d| u32::from(d) <= limit);
        let largest = reached.clone().max().map(|&d| d.into());
        largest.filter(|_| reached.count() as u64 == self.states)
    }

    /// Returns how the word moves points; `None` if the word is too long for a table.
    fn word(&self, word: &Permutation, length: u32) -> Option<Word> {
        let numbers = |word: &Permutation| -> Vec<usize> {
            (0..self.number.len()).map(|point| self.number[word.apply(point)]).collect()
        };
        let length = u8::try_from(length).ok().filter(|&length| length < UNSEEN)?;
        Some(Word { to: numbers(word), from: numbers(&word.inverse()), length })
    }

    /// Returns the lengths of the shortest products, by a search from the solved state outwards.
    fn outwards(&self, words: &[Word], limit: u32, goes_on: &dyn Fn() -> bool) -> Option<Vec<u8>> {
        let mut distances = vec![UNSEEN; self.table()];
        let mut open: Vec<Vec<u32>> = vec![Vec::new(); limit as usize + 1];
        let solved = self.index(|point| point);
        distances[solved] = 0;
        open[0].push(solved as u32);
        let mut at = vec![0; self.points.len()];
        for distance in 0..=limit {
            for (number, index) in std::mem::take(&mut open[distance as usize]).into_iter().enumerate() {
                if number.is_multiple_of(1 << 16) && !goes_on() {
                    return None;
                }
                // The state may have been reached by shorter words in the meantime.
                if u32::from(distances[index as usize]) != distance {
                    continue;
                }
                self.read(index as usize, &mut at);
                for word in words {
                    let next = distance + u32::from(word.length);
                    let image = self.image(&at, &word.from);
                    if next <= limit && next < distances[image].into() {
                        distances[image] = next as u8;
                        open[next as usize].push(image as u32);
                    }
                }
            }
        }
        Some(distances)
    }

    /// Returns the length of the shortest word for each state that one word solves. For other states, takes
    /// the word after which the fewest moves remain, and repeats until no entry decreases.
    fn homewards(&self, words: &[Word], goes_on: &(dyn Fn() -> bool + Sync)) -> Option<Vec<u8>> {
        let mut distances = vec![UNSEEN; self.table()];
        for word in words {
            let index = self.image(&self.points, &word.from);
            distances[index] = distances[index].min(word.length);
        }
        distances[self.index(|point| point)] = 0;
        let left: Vec<usize> = (0..distances.len())
            .into_par_iter()
            .filter(|&index| distances[index] == UNSEEN && self.is_state(index))
            .collect();
        loop {
            let least = |&index: &usize| {
                if !goes_on() {
                    return UNSEEN;
                }
                let mut at = vec![0; self.points.len()];
                self.read(index, &mut at);
                let after = |word: &Word| distances[self.image(&at, &word.to)].saturating_add(word.length);
                words.iter().map(after).min().unwrap_or(UNSEEN).min(distances[index])
            };
            let found: Vec<u8> = left.par_iter().map(least).collect();
            if !goes_on() {
                return None;
            }
            let mut is_shorter = false;
            for (&index, distance) in left.iter().zip(found) {
                is_shorter |= distance < distances[index];
                distances[index] = distance;
            }
            if !is_shorter {
                return Some(distances);
            }
        }
    }

    /// Writes the positions of the points of an index to `at`.
    fn read(&self, index: usize, at: &mut [usize]) {
        let mut rest = index;
        for (point, orbit) in at.iter_mut().zip(&self.orbits).rev() {
            (*point, rest) = (orbit[rest % orbit.len()], rest / orbit.len());
        }
    }

    /// Returns the index of the state after the points at `at` are moved by a word.
    fn image(&self, at: &[usize], moved: &[usize]) -> usize {
        at.iter().zip(&self.orbits).fold(0, |image, (&point, orbit)| image * orbit.len() + moved[point])
    }

    /// Returns whether some element carries the points to the positions of an index.
    fn is_state(&self, index: usize) -> bool {
        let mut at = vec![0; self.points.len()];
        self.read(index, &mut at);
        (0..at.len()).all(|level| match &self.homewards[level][at[level]] {
            Some(back) => {
                at[level + 1..].iter_mut().for_each(|point| *point = back[*point].into());
                true
            }
            None => false,
        })
    }
}

/// The number of the point to which a word carries each point, and of the point from which it carries each.
struct Word {
    to: Vec<usize>,
    from: Vec<usize>,
    length: u8,
}
