//! The whole search as a plain breadth-first search: no cosets, no symmetries, two bytes per state. It is the
//! oracle of every other engine, so it is kept as short and as obviously correct as possible.

use fathom_space::{Ranks, Space, SymbolTable};

/// The distance of every state from the solved state.
#[derive(Debug)]
pub struct Distances {
    words: Ranks,
    symbols: SymbolTable,
    distances: Vec<u16>,
}

/// The reason why a space cannot be searched this way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The search would take too much memory.
    TooLarge {
        /// Memory that the search needs, in bytes: two for each word of labels, reachable or not. `None` if
        /// the words have no ranks of 64 bits.
        bytes: Option<u64>,
        /// The memory limit, in bytes.
        limit: u64,
    },
    /// There are states beyond the largest distance that the search can represent.
    TooFar,
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        match self {
            Self::TooLarge { bytes: Some(bytes), limit } => write!(
                f,
                "the reference kernel needs {:.1} GiB of memory (two bytes per state), but only {:.1} GiB is allowed",
                gibibytes(*bytes),
                gibibytes(*limit)
            )?,
            Self::TooLarge { bytes: None, .. } => {
                f.write_str("the reference kernel does not support spaces of 2^64 or more states")?;
            }
            Self::TooFar => {
                write!(
                    f,
                    "there are states farther than {}, the largest distance that the reference kernel supports",
                    UNSEEN - 1
                )?;
            }
        }
        f.write_str(": use --kernel portable")
    }
}

impl std::error::Error for Unfit {}

const UNSEEN: u16 = u16::MAX;

impl Distances {
    /// Searches the whole space, or up to a depth.
    ///
    /// # Errors
    /// [`Unfit`] if the search would take more than `limit` bytes, or there are states too far away.
    pub fn search(space: &Space, max_depth: Option<u32>, limit: u64) -> Result<Self, Unfit> {
        let words = Self::ranks(space, limit)?;
        let mut distances = vec![UNSEEN; words.total() as usize];
        for solved in space.words_of(space.solved()) {
            distances[words.rank(&solved) as usize] = 0;
        }
        let mut word = vec![0; space.cells()];
        let mut image = word.clone();
        for depth in 0..UNSEEN {
            if max_depth.is_some_and(|max| u32::from(depth) >= max) {
                break;
            }
            let mut found = false;
            for rank in 0..distances.len() {
                if distances[rank] != depth {
                    continue;
                }
                words.unrank(rank as u64, space.symbols(), &mut word);
                for mv in 0..space.moves().len() {
                    if !space.apply(mv, &word, &mut image) {
                        continue;
                    }
                    for neighbour in space.words_of(&image) {
                        let neighbour = &mut distances[words.rank(&neighbour) as usize];
                        if *neighbour == UNSEEN {
                            if depth + 1 == UNSEEN {
                                return Err(Unfit::TooFar);
                            }
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
        Ok(Self { words, symbols: space.symbols().clone(), distances })
    }

    /// Returns ranks for the states of a space.
    ///
    /// # Errors
    /// [`Unfit::TooLarge`] if a search would take more than `limit` bytes.
    pub fn ranks(space: &Space, limit: u64) -> Result<Ranks, Unfit> {
        let bytes = |words: &Ranks| words.total().saturating_mul(size_of::<u16>() as u64);
        match space.ranks() {
            Some(words) if bytes(&words) <= limit => Ok(words),
            words => Err(Unfit::TooLarge { bytes: words.as_ref().map(bytes), limit }),
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
            self.words.unrank(rank as u64, &self.symbols, &mut word);
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
