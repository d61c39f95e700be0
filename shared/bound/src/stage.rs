//! One stage of a chain: its words bring further tiles home, and leave the tiles of earlier stages where they
//! are.

use fathom_algebra::Permutation;
use rayon::prelude::*;

/// The states of a stage: the placements of its tiles on the cells that earlier tiles leave free. A state
/// lists the cells of the stage's tiles, in the order of the tiles. The index of a state has a digit for each
/// tile, to the base of the number of free cells.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The tiles that are brought home.
    tiles: Vec<usize>,
    /// The cells that earlier tiles do not hold.
    free: Vec<usize>,
    /// The number of each cell among the free ones.
    number: Vec<usize>,
    /// The number of states.
    states: u64,
}

/// The largest number of entries of a table.
const LARGEST: usize = 1 << 28;

const UNSEEN: u8 = u8::MAX;

/// The largest distance that a table can hold.
const FARTHEST: u32 = UNSEEN as u32 - 1;

/// Up to this number of words, [`Stage::largest`] finds shortest products. No metric has more moves.
const FEW: usize = 256;

impl Stage {
    /// Makes the stage that solves the tiles `after` of a board with `cells` cells when the tiles `before`
    /// are solved. `only_even` tells whether the board's group is the alternating group instead of the
    /// symmetric one. `None` if the table would have more than 2^28 entries.
    pub fn new(cells: usize, before: &[usize], after: &[usize], only_even: bool) -> Option<Self> {
        let free: Vec<usize> = (0..cells).filter(|cell| !before.contains(cell)).collect();
        let tiles: Vec<usize> = after.iter().copied().filter(|tile| !before.contains(tile)).collect();
        let mut number = vec![usize::MAX; cells];
        free.iter().enumerate().for_each(|(at, &cell)| number[cell] = at);
        u32::try_from(tiles.len())
            .ok()
            .and_then(|digits| free.len().checked_pow(digits))
            .filter(|&size| size <= LARGEST)?;
        let mut states: u64 = (0..tiles.len()).map(|taken| (free.len() - taken) as u64).product();
        // If two free tiles are not in the stage, exchanging them makes any permutation even. If not, half of
        // the placements cannot be reached.
        if only_even && tiles.len() + 1 >= free.len() && free.len() > 1 {
            states /= 2;
        }
        Some(Self { tiles, free, number, states })
    }

    /// Returns the tiles that are brought home.
    pub fn tiles(&self) -> &[usize] {
        &self.tiles
    }

    /// Returns the number of states.
    pub fn states(&self) -> u64 {
        self.states
    }

    /// Returns the size of a table with an entry for each index.
    pub(crate) fn table(&self) -> usize {
        self.free.len().pow(self.tiles.len() as u32)
    }

    /// Returns the index of the state in which tile t is on the free cell `at(t)`.
    pub(crate) fn index(&self, at: impl Fn(usize) -> usize) -> usize {
        self.tiles.iter().fold(0, |index, &tile| index * self.free.len() + self.number[at(tile)])
    }

    /// Returns the largest number of moves that solve a state by products of `words`; `None` if the words do
    /// not solve all states within 254 moves, or within `limit`. A word is a permutation that moves only free
    /// cells, and its length.
    ///
    /// With at most 256 words, the shortest product counts for each state. With more words, a state that a
    /// single word solves counts the shortest such word, even if a product of several is shorter; the result
    /// is then an upper bound.
    pub fn largest(&self, words: &[(Permutation, u32)], limit: Option<u32>) -> Option<u32> {
        let limit = limit.unwrap_or(FARTHEST).min(FARTHEST);
        let words: Vec<Word> = words.iter().filter_map(|(word, length)| self.word(word, *length)).collect();
        let distances = match words.len() <= FEW {
            true => self.outwards(&words, limit),
            false => self.homewards(&words),
        };
        let reached = distances.iter().filter(|&&d| u32::from(d) <= limit);
        let largest = reached.clone().max().map(|&d| d.into());
        largest.filter(|_| reached.count() as u64 == self.states)
    }

    /// Returns the word as it moves free cells; `None` if the word is too long for a table.
    fn word(&self, word: &Permutation, length: u32) -> Option<Word> {
        let to = self.free.iter().map(|&cell| self.number[word.apply(cell)]).collect();
        let inverse = word.inverse();
        let from = self.free.iter().map(|&cell| self.number[inverse.apply(cell)]).collect();
        Some(Word { to, from, length: u8::try_from(length).ok().filter(|&length| length < UNSEEN)? })
    }

    /// Returns the lengths of the shortest products, by a search from the solved state outwards.
    fn outwards(&self, words: &[Word], limit: u32) -> Vec<u8> {
        let mut distances = vec![UNSEEN; self.table()];
        let mut open: Vec<Vec<u32>> = vec![Vec::new(); limit as usize + 1];
        let solved = self.index(|tile| tile);
        distances[solved] = 0;
        open[0].push(solved as u32);
        let mut at = vec![0; self.tiles.len()];
        for distance in 0..=limit {
            for index in std::mem::take(&mut open[distance as usize]) {
                // The state may have been reached by shorter words since.
                if u32::from(distances[index as usize]) != distance {
                    continue;
                }
                self.cells(index as usize, &mut at);
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
        distances
    }

    /// Returns the length of the shortest word for each state that one word solves. For other states, takes
    /// the word after which the fewest moves are left, and repeats until no entry gets smaller.
    fn homewards(&self, words: &[Word]) -> Vec<u8> {
        let mut distances = vec![UNSEEN; self.table()];
        let home: Vec<usize> = self.tiles.iter().map(|&tile| self.number[tile]).collect();
        for word in words {
            let index = self.image(&home, &word.from);
            distances[index] = distances[index].min(word.length);
        }
        distances[self.image(&home, &(0..self.free.len()).collect::<Vec<_>>())] = 0;
        let left: Vec<usize> = (0..distances.len())
            .filter(|&index| distances[index] == UNSEEN && self.is_state(index))
            .collect();
        loop {
            let least = |&index: &usize| {
                let mut at = vec![0; self.tiles.len()];
                self.cells(index, &mut at);
                let after = |word: &Word| distances[self.image(&at, &word.to)].saturating_add(word.length);
                words.iter().map(after).min().unwrap_or(UNSEEN).min(distances[index])
            };
            let found: Vec<u8> = left.par_iter().map(least).collect();
            let mut is_shorter = false;
            for (&index, distance) in left.iter().zip(found) {
                is_shorter |= distance < distances[index];
                distances[index] = distance;
            }
            if !is_shorter {
                return distances;
            }
        }
    }

    /// Writes to `at` the cells of the tiles of an index, as numbers of free cells.
    fn cells(&self, index: usize, at: &mut [usize]) {
        let mut rest = index;
        for cell in at.iter_mut().rev() {
            (*cell, rest) = (rest % self.free.len(), rest / self.free.len());
        }
    }

    /// Returns the index of the state after the tiles on the free cells `at` are moved by `moved`.
    fn image(&self, at: &[usize], moved: &[usize]) -> usize {
        at.iter().fold(0, |image, &cell| image * self.free.len() + moved[cell])
    }

    /// Returns whether the tiles of an index stand on different cells.
    fn is_state(&self, index: usize) -> bool {
        let mut at = vec![0; self.tiles.len()];
        self.cells(index, &mut at);
        let mut taken = vec![false; self.free.len()];
        at.iter().all(|&cell| !std::mem::replace(&mut taken[cell], true))
    }
}

/// The action of a word on the free cells, by their numbers, and the inverse of the action.
struct Word {
    to: Vec<usize>,
    from: Vec<usize>,
    length: u8,
}
