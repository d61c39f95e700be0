//! What happens to cosets from other workers that exceed the memory for them.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// What a worker does with cosets from other workers that exceed the memory for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SpillPolicy {
    /// They are written to disk, and read from there.
    #[default]
    Spill,
    /// The oldest are dropped, and fetched again when a later task needs them.
    Refetch,
}

impl SpillPolicy {
    /// Returns the word of the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spill => "spill",
            Self::Refetch => "refetch",
        }
    }
}

impl FromStr for SpillPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "spill" | "disk" => Ok(Self::Spill),
            "refetch" | "fetch" => Ok(Self::Refetch),
            _ => Err("use spill or refetch; 'fathom plan --workers N' shows which is faster".into()),
        }
    }
}

impl fmt::Display for SpillPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The share of the memory for cosets from other workers at which a new generation of them begins, as a
/// divisor.
const GENERATIONS: u64 = 8;

/// Returns how many of the oldest generations of cosets are dropped as a new generation begins, or `None`
/// while the youngest is smaller than its share of `most` bytes. `bytes` has the bytes of each generation,
/// the oldest first. Those that stay have at most three quarters of `most`: tasks under way keep what they
/// read until they end, and meanwhile the last quarter is for those that follow.
pub fn dropped(bytes: &[u64], most: u64) -> Option<usize> {
    bytes.last().filter(|&&youngest| youngest >= most / GENERATIONS)?;
    let mut all: u64 = bytes.iter().sum();
    let too_many = |bytes: &&u64| {
        let is_dropped = all > most / 4 * 3;
        all -= **bytes;
        is_dropped
    };
    Some(bytes.iter().take_while(too_many).count())
}

/// Returns about how many bytes of memory a coset from another worker takes: half as much again as one of the
/// worker's own on average, because cosets differ, and no more than a `dense` one. The `cosets` own ones take
/// `bytes` bytes.
pub fn coset_bytes(bytes: u64, cosets: u64, dense: u64) -> u64 {
    if cosets == 0 { dense } else { dense.min((bytes + bytes / 2).div_ceil(cosets)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for way in [SpillPolicy::Spill, SpillPolicy::Refetch] {
            assert_eq!(way.to_string().parse(), Ok(way));
        }
        assert!("auto".parse::<SpillPolicy>().is_err());
    }

    #[test]
    fn what_stays_has_three_quarters() {
        assert_eq!(dropped(&[], 800), None);
        assert_eq!(dropped(&[99], 800), None);
        assert_eq!(dropped(&[100], 800), Some(0));
        assert_eq!(dropped(&[100, 100, 100, 100, 100, 100], 800), Some(0));
        assert_eq!(dropped(&[100, 100, 100, 100, 100, 101], 800), Some(1));
        assert_eq!(dropped(&[100, 100, 700], 800), Some(3));
    }
}
