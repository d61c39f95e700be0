//! A metric is a choice of generators.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which rotations of a line cost one move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Any rotation of one line: the *manipulation* of Jia, Zhang and Xiang.
    #[default]
    Multi,
    /// A shift of one line by one cell, either way.
    Single,
}

impl Metric {
    /// All metrics, in the order in which they are listed to users.
    pub const ALL: [Self; 2] = [Self::Multi, Self::Single];

    /// Its word on the command line and in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Multi => "multi",
            Self::Single => "single",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A word that names no metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no metric {0:?}: use 'multi' (any rotation of a line is one move) or 'single' (a shift by one cell)"
)]
pub struct UnknownMetric(pub String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        Self::ALL.into_iter().find(|metric| metric.word() == text).ok_or_else(|| UnknownMetric(text.into()))
    }
}
