//! The whole search as a plain breadth-first search: no cosets, no symmetries, one byte a state. It is the
//! oracle of every other engine, so it is kept as short and as obviously right as possible.

use fathom_space::{Letters, Ranks, Space};

/// The distance of every state from the solved state.
#[derive(Debug)]
pub struct Distances {
    words: Ranks,
    letters: Letters,
    distances: Vec<u8>,
}

/// Why a space cannot be searched this way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Memory that the search needs, in bytes: one for each word of labels, reachable or not. `None` if the
    /// words have no ranks of 64 bits.
    pub bytes: Option<u64>,
    /// The memory limit, in bytes.
    pub limit: u64,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        match self.bytes {
            Some(bytes) => write!(
                f,
                "the reference engine needs {:.1} GiB of memory, a byte a state, and {:.1} GiB are allowed",
                gibibytes(bytes),
                gibibytes(self.limit)
            )?,
            None => f.write_str("the reference engine has no ranks for spaces of 2^64 states and more")?,
        }
        f.write_str(": use --kernel portable")
    }
}

impl std::error::Error for TooLarge {}

const UNSEEN: u8 = u8::MAX;

impl Distances {
    /// Searches the whole space, or up to a depth. Distances of more than 254 are not found.
    ///
    /// # Errors
    /// [`TooLarge`] if the search would take more than `limit` bytes.
    pub fn search(space: &Space, max_depth: Option<u32>, limit: u64) -> Result<Self, TooLarge> {
        let words = Self::ranks(space, limit)?;
        let mut distances = vec![UNSEEN; words.total() as usize];
        for solved in space.words_of(space.solved()) {
            distances[words.rank(&solved) as usize] = 0;
        }
        let mut word = vec![0; space.cells()];
        let mut image = word.clone();
        for depth in 0..UNSEEN - 1 {
            if max_depth.is_some_and(|max| u32::from(depth) >= max) {
                break;
            }
            let mut found = false;
            for rank in 0..distances.len() {
                if distances[rank] != depth {
                    continue;
                }
                words.unrank(rank as u64, space.letters(), &mut word);
                for mv in 0..space.moves().len() {
                    if !space.apply(mv, &word, &mut image) {
                        continue;
                    }
                    for neighbour in space.words_of(&image) {
                        let neighbour = &mut distances[words.rank(&neighbour) as usize];
                        if *neighbour == UNSEEN {
                            *neighbour = depth + 1;
                            found = true;
                        }
                    }
                }
            }
            if !found {
                break;
            }
        }
        Ok(Self { words, letters: space.letters().clone(), distances })
    }

    /// Returns ranks for the states of a space.
    ///
    /// # Errors
    /// [`TooLarge`] if a search would take more than `limit` bytes.
    pub fn ranks(space: &Space, limit: u64) -> Result<Ranks, TooLarge> {
        match space.ranks() {
            Some(words) if words.total() <= limit => Ok(words),
            words => Err(TooLarge { bytes: words.map(|words| words.total()), limit }),
        }
    }

    /// Returns the distance of a state that is given as a word of labels; `None` if the search did not reach
    /// the state.
    pub fn of(&self, word: &[u8]) -> Option<u32> {
        match self.distances[self.words.rank(word) as usize] {
            UNSEEN => None,
            distance => Some(distance.into()),
        }
    }

    /// Returns all states that were reached, with their distances.
    pub fn states(&self) -> impl Iterator<Item = (Vec<u8>, u32)> {
        self.distances.iter().enumerate().filter(|&(_, &d)| d != UNSEEN).map(|(rank, &distance)| {
            let mut word = vec![0; self.words.length()];
            self.words.unrank(rank as u64, &self.letters, &mut word);
            (word, distance.into())
        })
    }

    /// Returns the number of words at each distance.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = Vec::new();
        for &distance in self.distances.iter().filter(|&&d| d != UNSEEN) {
            let distance = usize::from(distance);
            if counts.len() <= distance {
                counts.resize(distance + 1, 0);
            }
            counts[distance] += 1;
        }
        counts
    }
}
