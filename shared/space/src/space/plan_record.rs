//! What a plan records about a space: the reductions that were found, and the symmetries. From these the same
//! space is rebuilt without a search.

use super::original_puzzle::OriginalPuzzle;
use super::{Space, SpaceError, symbols};
use crate::Labels;
use crate::reduction::{Chain, Record};
use fathom_algebra::{Permutation, Relabelling};
use fathom_puzzle::{Metric, Puzzle};
use serde::{Deserialize, Serialize};

/// The reductions and the symmetries of a space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// Whether the symmetries are all that the puzzle has.
    pub all_symmetries: bool,
    /// The symmetries of the reduced puzzle, without products with free moves; the identity first. Each is
    /// written as the image of each cell; where pieces turn, followed by `x` and the factors of the
    /// orientations, and by `+` and the turns.
    pub symmetries: Vec<String>,
    /// The reductions, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reductions: Vec<Record>,
}

/// The reason why an encoding does not fit a puzzle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// A reduction does not apply to the puzzle.
    #[error(
        "reduction {number} of the plan does not fit {puzzle}: the plan belongs to another puzzle, or was edited"
    )]
    Reduction {
        /// The number of the reduction, from 1.
        number: usize,
        /// The puzzle.
        puzzle: String,
    },
    /// A symmetry is not one of the puzzle.
    #[error(
        "symmetry {number} of the plan is not a symmetry of {puzzle}: the plan belongs to another puzzle, or was edited"
    )]
    Symmetry {
        /// The number of the symmetry, from 1.
        number: usize,
        /// The puzzle.
        puzzle: String,
    },
    /// The space cannot be built.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

impl Space {
    /// Returns the encoding, from which [`Space::open`] builds the same space.
    pub fn encoding(&self) -> Encoding {
        let used = self.used_symmetries.iter().map(|&number| &self.puzzle.symmetries[number]);
        Encoding {
            all_symmetries: self.puzzle.has_all_symmetries,
            symmetries: used.map(text_of).collect(),
            reductions: self.chain.records(),
        }
    }

    /// Builds a space from its encoding, without any search: `puzzle` needs no symmetries and no other
    /// pieces.
    ///
    /// # Errors
    /// [`EncodingError`] if the encoding does not fit this puzzle with these labels.
    ///
    /// # Panics
    /// If `labels` does not have one label for each cell of the puzzle.
    pub fn open(
        puzzle: Puzzle,
        metric: Metric,
        labels: Labels,
        encoding: &Encoding,
    ) -> Result<Self, EncodingError> {
        let name = puzzle.name.clone();
        let wrong = |number: usize| EncodingError::Reduction { number: number + 1, puzzle: name.clone() };
        let mut chain = Chain::default();
        let mut records = encoding.reductions.iter().enumerate().peekable();
        let (given, mut problem) = OriginalPuzzle::new(puzzle, labels, |problem| {
            match records.next_if(|(_, record)| matches!(record, Record::HalfTurn { .. })) {
                Some((number, record)) => chain.replay(record, problem).map_err(|_| wrong(number)),
                None => Ok(()),
            }
        })?;
        for (number, record) in records {
            chain.replay(record, &mut problem).map_err(|_| wrong(number))?;
        }
        let (labels, symbols) = symbols(&problem).map_err(|_| wrong(encoding.reductions.len()))?;
        let mut space = Self::of(problem, metric, given, chain, labels, symbols);
        let orientation_counts = space.puzzle.free[0].orientation_counts();
        let wrong = |number: usize| EncodingError::Symmetry { number: number + 1, puzzle: name.clone() };
        let relabelling =
            |(number, text): (usize, &String)| relabelling(text, orientation_counts).ok_or(wrong(number));
        let symmetries = encoding.symmetries.iter().enumerate().map(relabelling);
        space.puzzle.symmetries = symmetries.collect::<Result<_, _>>()?;
        space.puzzle.has_all_symmetries = encoding.all_symmetries;
        space.use_symmetries().map_err(wrong)?;
        Ok(space.counted()?)
    }
}

fn text_of(relabelling: &Relabelling) -> String {
    let row = |numbers: &[u16]| numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(" ");
    let mut text = row(relabelling.cells().images());
    if relabelling.orientation_counts().iter().any(|&order| order > 1) {
        text += &format!(" x {} + {}", row(relabelling.factors()), row(relabelling.turns()));
    }
    text
}

/// Reads what [`text_of`] writes.
fn relabelling(text: &str, orientation_counts: &[u16]) -> Option<Relabelling> {
    let row = |text: &str| -> Option<Vec<u16>> { text.split(' ').map(|word| word.parse().ok()).collect() };
    let (cells, factors, turns) = match text.split_once(" x ") {
        Some((cells, rest)) => {
            let (factors, turns) = rest.split_once(" + ")?;
            (row(cells)?, row(factors)?, row(turns)?)
        }
        None => (row(text)?, vec![1; orientation_counts.len()], vec![0; orientation_counts.len()]),
    };
    let cells = Permutation::from_images(cells).ok()?;
    let fit = cells.degree() == orientation_counts.len()
        && factors.len() == orientation_counts.len()
        && turns.len() == orientation_counts.len()
        && (0..orientation_counts.len()).all(|cell| {
            orientation_counts[cells.apply(cell)] == orientation_counts[cell]
                && turns[cell] < orientation_counts[cell]
                && factors[cell] <= orientation_counts[cell]
        });
    fit.then(|| Relabelling::new(cells, factors, turns, orientation_counts))
}
