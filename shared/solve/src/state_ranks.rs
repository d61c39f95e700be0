//! A number for each state of a puzzle, which other programs can compute: see docs/tables.md.

use super::model::SolveModel;
use fathom_puzzle::Definition;
use fathom_space::{Labels, MultisetRanker};
use serde::{Deserialize, Serialize};

/// The cells of an orbit, and how their contents are numbered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankedOrbit {
    /// The cells, in increasing order.
    pub cells: Vec<u16>,
    /// The distinct labels of the pieces, in increasing order.
    pub labels: Vec<u16>,
    /// How many pieces have each label.
    pub counts: Vec<u16>,
    /// The number of orientations that are distinguished; 1 if pieces do not turn.
    pub orientations: u16,
    /// How many cells, from the first, have their orientation in the number.
    pub digits: usize,
    /// The number of numbers of the orbit.
    pub size: u64,
}

/// The numbers of all arrangements of the pieces of each orbit, in all orientations.
#[derive(Clone, Debug)]
pub struct StateRanks {
    orbits: Vec<RankedOrbit>,
    rankers: Vec<MultisetRanker>,
    /// By letter: the number of its label in the orbit, and the turn.
    letters: Vec<(u8, u16)>,
    /// By orbit: the sum of all turns modulo the number of orientations, if it follows from the others.
    sums: Vec<Option<u64>>,
    total: u64,
}

impl StateRanks {
    /// Numbers the states of a puzzle whose pieces have these labels. `definition` says which orientations are
    /// distinguished. `model` is a model of the same puzzle; it may distinguish more pieces and orientations, and its words
    /// are the ones that are numbered. Returns `None` if there are 2^63 numbers or more.
    pub fn new(model: &SolveModel, definition: &Definition, labels: &Labels) -> Option<Self> {
        let of_pieces = labels.of_pieces();
        let mut letters = vec![(0, 0); model.pieces_of_letters().len()];
        let (mut orbits, mut rankers, mut total) = (Vec::new(), Vec::new(), 1_u64);
        for orbit in 0..definition.orbits().len() {
            let cells: Vec<usize> = definition.cells_of(orbit).collect();
            let mut known: Vec<u16> = cells.iter().map(|&cell| of_pieces[cell]).collect();
            known.sort_unstable();
            known.dedup();
            let number = |cell: usize| known.binary_search(&of_pieces[cell]).ok();
            let mut counts = vec![0; known.len()];
            for &cell in &cells {
                counts[number(cell)?] += 1;
            }
            let seen = |cell: usize| definition.solved()[cell].seen;
            let orientations = cells.iter().map(|&cell| seen(cell)).max()?;
            let all_turn = cells.iter().all(|&cell| seen(cell) == orientations);
            let keeps_sum = model.moves().iter().all(|mv| {
                let sum: u32 = cells.iter().map(|&cell| u32::from(mv.action.turns()[cell])).sum();
                sum.is_multiple_of(orientations.into())
            });
            let digits = match orientations {
                1 => 0,
                _ => cells.len() - usize::from(all_turn && keeps_sum),
            };
            for (letter, piece) in model.pieces_of_letters().into_iter().enumerate() {
                if let Some((piece, turn)) = piece
                    && definition.orbit_of(piece.into()) == orbit
                {
                    letters[letter] = (number(piece.into())? as u8, turn % seen(piece.into()));
                }
            }
            let ranker = MultisetRanker::new(&counts)?;
            let size = u64::from(orientations).checked_pow(digits as u32)?.checked_mul(ranker.total())?;
            total = total.checked_mul(size).filter(|&total| total < 1 << 63)?;
            let cells = cells.into_iter().map(|cell| cell as u16).collect();
            orbits.push(RankedOrbit { cells, labels: known, counts, orientations, digits, size });
            rankers.push(ranker);
        }
        let mut ranks = Self { orbits, rankers, letters, sums: Vec::new(), total };
        let sum = |orbit: &RankedOrbit| {
            let follows = orbit.orientations > 1 && orbit.digits < orbit.cells.len();
            follows.then(|| ranks.turns(orbit, model.solved()))
        };
        ranks.sums = ranks.orbits.iter().map(sum).collect();
        Some(ranks)
    }

    /// Returns the orbits, of which the first has the most significant part of the number.
    pub fn orbits(&self) -> &[RankedOrbit] {
        &self.orbits
    }

    /// Returns the number of numbers.
    pub fn total(&self) -> u64 {
        self.total
    }

    fn turns(&self, orbit: &RankedOrbit, word: &[u8]) -> u64 {
        let turn = |&cell: &u16| u64::from(self.letters[usize::from(word[usize::from(cell)])].1);
        orbit.cells.iter().map(turn).sum::<u64>() % u64::from(orbit.orientations)
    }

    /// Returns whether a word of the model's pieces has a number of its own: where the turns of all but one piece
    /// determine that of the last one, it has this turn.
    pub fn has(&self, word: &[u8]) -> bool {
        let known = self.orbits.iter().zip(&self.sums);
        known.into_iter().all(|(orbit, &sum)| sum.is_none_or(|sum| sum == self.turns(orbit, word)))
    }

    /// Returns the number of a state, given as a word of the model that [has](StateRanks::has) one.
    #[inline]
    pub fn rank(&self, word: &[u8]) -> u64 {
        self.orbits.iter().zip(&self.rankers).fold(0, |rank, (orbit, ranker)| {
            let letters =
                || orbit.cells.iter().map(|&cell| self.letters[usize::from(word[usize::from(cell)])]);
            let of_labels = ranker.rank(letters().map(|(label, _)| label));
            let turns = letters().take(orbit.digits).map(|(_, turn)| u64::from(turn));
            let of_orbit = turns.fold(of_labels, |rank, turn| rank * u64::from(orbit.orientations) + turn);
            rank * orbit.size + of_orbit
        })
    }
}
