//! The states within a number of moves of a centre, level by level, within a memory limit.
//!
//! Words are stored one after the other in the order in which they were found, and a hash table of their
//! numbers finds them: a word of n letters takes n + 6 to n + 12 bytes. The table doubles when it is full.
//! The words double too if that fits beside the old ones, and otherwise grow by less.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;

/// States by their distances from a centre.
#[derive(Debug)]
pub struct Ball {
    width: usize,
    words: Vec<u8>,
    /// The numbers of words.
    index: HashTable<u32>,
    /// The first number of each complete level, and the first number after all of them.
    levels: Vec<u32>,
}

/// There is no memory for another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Ball {
    /// Creates a ball that contains only its centre.
    pub fn new(centre: &[u8]) -> Self {
        let mut ball =
            Self { width: centre.len(), words: Vec::new(), index: HashTable::new(), levels: vec![0] };
        ball.insert(centre, u64::MAX).expect("one state fits");
        ball.levels.push(1);
        ball
    }

    /// Returns the largest distance up to which all states are known.
    pub fn radius(&self) -> u32 {
        self.levels.len() as u32 - 2
    }

    /// Returns the number of states.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns false: a ball always contains its centre.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the memory of the words and the table, in bytes.
    pub fn bytes(&self) -> u64 {
        (self.words.capacity() + self.index.allocation_size()) as u64
    }

    /// Returns the numbers of the states at a distance.
    pub fn level(&self, distance: u32) -> Range<u32> {
        self.levels[distance as usize]..self.levels[distance as usize + 1]
    }

    /// Returns the word of a state.
    pub fn word(&self, number: u32) -> &[u8] {
        word(&self.words, self.width, number)
    }

    /// Returns the number of a state and its distance.
    pub fn find(&self, word: &[u8]) -> Option<(u32, u32)> {
        let number = *self.index.find(hash(word), |&number| self.word(number) == word)?;
        let distance = self.levels.partition_point(|&first| first <= number) as u32 - 1;
        Some((number, distance))
    }

    /// Computes the next level: the new states among the images of the outermost level under `step`, for each
    /// of `moves` moves. `step` returns false where a move is not possible. Returns false if the new level is
    /// empty.
    ///
    /// # Errors
    /// [`Full`] if the ball would need more than `most_bytes`. The level is then incomplete, and the ball
    /// must not be used again.
    pub fn grow(
        &mut self,
        moves: usize,
        most_bytes: u64,
        mut step: impl FnMut(usize, &[u8], &mut [u8]) -> bool,
    ) -> Result<bool, Full> {
        let (mut state, mut image) = (vec![0; self.width], vec![0; self.width]);
        for number in self.level(self.radius()) {
            state.copy_from_slice(self.word(number));
            for mv in 0..moves {
                if step(mv, &state, &mut image) {
                    self.insert(&image, most_bytes)?;
                }
            }
        }
        self.levels.push(self.len() as u32);
        Ok(!self.level(self.radius()).is_empty())
    }

    fn insert(&mut self, new: &[u8], most_bytes: u64) -> Result<(), Full> {
        let hash_of_new = hash(new);
        if self.index.find(hash_of_new, |&number| self.word(number) == new).is_some() {
            return Ok(());
        }
        let number = u32::try_from(self.len()).map_err(|_| Full)?;
        self.make_room(most_bytes)?;
        let Self { words, width, .. } = self;
        words.extend_from_slice(new);
        self.index.insert_unique(hash_of_new, number, |&number| hash(word(words, *width, number)));
        Ok(())
    }

    /// Reserves memory for one more word. While the words or the table grow, the old ones use memory too.
    fn make_room(&mut self, most_bytes: u64) -> Result<(), Full> {
        let free = most_bytes.saturating_sub(self.bytes());
        let Self { words, width, index, .. } = self;
        if words.len() == words.capacity() {
            let more = [1, 2, 4, 8, 16].map(|part| (words.len() / *width / part).max(64) * *width);
            let fits = |more: &usize| (words.len() + more) as u64 <= free;
            words.try_reserve_exact(more.into_iter().find(fits).ok_or(Full)?).map_err(|_| Full)?;
        }
        if index.len() == index.capacity() {
            let free = most_bytes.saturating_sub((words.capacity() + index.allocation_size()) as u64);
            if 2 * index.allocation_size() as u64 > free {
                return Err(Full);
            }
            index.try_reserve(1, |&number| hash(word(words, *width, number))).map_err(|_| Full)?;
        }
        Ok(())
    }
}

fn word(words: &[u8], width: usize, number: u32) -> &[u8] {
    &words[number as usize * width..][..width]
}

fn hash(word: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(word);
    hasher.finish()
}
