//! One stage of a chain: tiles are brought to their cells by words that leave the tiles of earlier stages
//! where they are.

use fathom_algebra::Permutation;
use rayon::prelude::*;

/// Where the tiles of a stage may stand while all earlier tiles are solved. A state is the cells of the
/// stage's tiles, in the order of the tiles; its index has a digit for each, to the base of the number of
/// free cells.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The tiles that are brought home.
    tiles: Vec<usize>,
    /// The cells that earlier tiles do not hold.
    free: Vec<usize>,
    /// The number of each cell among the free ones.
    number: Vec<usize>,
    /// How many states there are.
    states: u64,
}

/// Larger tables are not made.
const LARGEST: usize = 1 << 28;

const UNSEEN: u8 = u8::MAX;

/// Larger distances are not told apart.
const FARTHEST: u32 = UNSEEN as u32 - 1;

/// As many words as a metric may have moves, and more: that many are tried from each state.
const FEW: usize = 256;

impl Stage {
    /// The stage that solves `after` of a board with so many cells when `before` are solved, in a group of
    /// all permutations, or of the even ones. `None` if its table would have more than 2^28 entries.
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
        // With two free tiles that are alike any permutation can be made even; without, half of them are out
        // of reach.
        if only_even && tiles.len() + 1 >= free.len() && free.len() > 1 {
            states /= 2;
        }
        Some(Self { tiles, free, number, states })
    }

    /// The tiles that are brought home.
    pub fn tiles(&self) -> &[usize] {
        &self.tiles
    }

    /// The number of states.
    pub fn states(&self) -> u64 {
        self.states
    }

    /// The size of a table with an entry for each index.
    pub(crate) fn table(&self) -> usize {
        self.free.len().pow(self.tiles.len() as u32)
    }

    /// The index of the state that has tile t on the cell `at(t)`, which is free.
    pub(crate) fn index(&self, at: impl Fn(usize) -> usize) -> usize {
        self.tiles.iter().fold(0, |index, &tile| index * self.free.len() + self.number[at(tile)])
    }

    /// The largest number of moves that products of the words take; `None` if they do not solve all states
    /// within 254 moves, or within `limit`. A word is a permutation of the cells that leaves all but the
    /// free ones, and its length. If each state is solved by one of the words, or if the words are at
    /// most 256, the products that count are the shortest.
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

    /// The word as it moves free cells; `None` if it is too long to matter.
    fn word(&self, word: &Permutation, length: u32) -> Option<Word> {
        let to = self.free.iter().map(|&cell| self.number[word.apply(cell)]).collect();
        let inverse = word.inverse();
        let from = self.free.iter().map(|&cell| self.number[inverse.apply(cell)]).collect();
        Some(Word { to, from, length: u8::try_from(length).ok().filter(|&length| length < UNSEEN)? })
    }

    /// The shortest products, by distance from the solved state.
    fn outwards(&self, words: &[Word], limit: u32) -> Vec<u8> {
        let mut distances = vec![UNSEEN; self.table()];
        let mut open: Vec<Vec<u32>> = vec![Vec::new(); limit as usize + 1];
        let solved = self.index(|tile| tile);
        distances[solved] = 0;
        open[0].push(solved as u32);
        let mut at = vec![0; self.tiles.len()];
        for distance in 0..=limit {
            for index in std::mem::take(&mut open[distance as usize]) {
                // It may have been reached by shorter words since.
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

    /// By one word where one solves the state; elsewhere by the word after which the least is left, until
    /// nothing gets shorter.
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

    /// The free cells, by number, of the tiles of an index.
    fn cells(&self, index: usize, at: &mut [usize]) {
        let mut rest = index;
        for cell in at.iter_mut().rev() {
            (*cell, rest) = (rest % self.free.len(), rest / self.free.len());
        }
    }

    /// The index of tiles on these free cells when each is moved on.
    fn image(&self, at: &[usize], moved: &[usize]) -> usize {
        at.iter().fold(0, |image, &cell| image * self.free.len() + moved[cell])
    }

    /// Whether the tiles of an index stand on different cells.
    fn is_state(&self, index: usize) -> bool {
        let mut at = vec![0; self.tiles.len()];
        self.cells(index, &mut at);
        let mut taken = vec![false; self.free.len()];
        at.iter().all(|&cell| !std::mem::replace(&mut taken[cell], true))
    }
}

/// What a word does to the free cells, by their numbers.
struct Word {
    to: Vec<usize>,
    from: Vec<usize>,
    length: u8,
}
