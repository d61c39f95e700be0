//! Metrics: which powers of the listed moves count as one move.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which powers of a listed move count as one move. A board lists the shift of each line by one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Every power: any rotation of one line, called a *manipulation* by Jia, Zhang and Xiang.
    #[default]
    Multi,
    /// The listed move and its inverse: a shift of one line by one cell, either way.
    Single,
    /// Only the listed move. The listed moves need not be closed under inverses.
    Given,
    /// For Square-1 only: a turn of one layer by any amount, or a twist. The listed moves are these.
    Face,
    /// For Square-1 only: a twist. Turns of the layers are free moves, and the twist is the only listed move.
    Twist,
}

impl Metric {
    /// The metrics that are closed under inverses for every puzzle, in the order in which users see them:
    /// those in which a board is searched.
    pub const ALL: [Self; 2] = [Self::Multi, Self::Single];

    /// Returns whether the metric exists only for one family, which lists the moves of the metric itself.
    pub fn is_square1_only(self) -> bool {
        matches!(self, Self::Face | Self::Twist)
    }

    /// Returns the name of the metric on the command line and in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Multi => "multi",
            Self::Single => "single",
            Self::Given => "given",
            Self::Face => "face",
            Self::Twist => "twist",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a text that is not the name of a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown metric {0:?}: use 'multi' (any rotation of a line, or power of a listed move, is one move), \
     'single' (a shift by one cell, or a listed move or its inverse) or 'given' (only the listed moves); for square1 \
     'face' (a turn of one layer, or a twist) or 'twist' (only a twist)"
)]
pub struct UnknownMetric(pub String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        match text {
            "multi" | "htm" => Ok(Self::Multi),
            "single" | "qtm" => Ok(Self::Single),
            "given" => Ok(Self::Given),
            "face" => Ok(Self::Face),
            "twist" => Ok(Self::Twist),
            _ => Err(UnknownMetric(text.into())),
        }
    }
}
