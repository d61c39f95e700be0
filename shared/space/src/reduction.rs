//! Reductions: each replaces a puzzle by another one that is easier to search and has the same growth.
//!
//! A reduction is one file with one type: its `find` searches for what the reduction needs and determines
//! whether it applies, its `apply` builds the reduced puzzle, and its `StateMap` maps states in both
//! directions. What `find` has chosen is its [`Record`], from which `apply` builds the same puzzle again
//! without a search. What `half_turn` and `facelets` need is found in `fathom-puzzle`, in
//! `definition/half_turn_extension.rs` and `definition/facelet_pieces.rs`, because it depends on the definition
//! only. CONTRIBUTING.md has the steps to add a reduction.
//!
//! The chain is tried in a fixed order:
//! 1. `half_turn`: one more cell records how the puzzle is held, which yields more symmetries;
//! 2. `facelets`: facelets that move together are pieces that turn;
//! 3. [`base`]: only the pieces of a base are distinguished, if there are too many pieces for symbols;
//! 4. `orientation_positions`: the orientation of a piece that stays on its cell is the position of a mark on
//!    a ring;
//! 5. `free_moves`: free moves that the moves do not generate are omitted.
//!
//! Laws, tested on random puzzles in `tests/reductions.rs`: the counts of states at each distance are the
//! same; `lift(lower(state))` is the state, up to free moves; a puzzle rebuilt from records is the one for
//! which they were found.

pub mod base;
mod facelets;
pub(crate) mod free_moves;
mod half_turn;
pub(crate) mod orientation_positions;

use crate::{Labels, SymbolTable};
use base::Base;
use facelets::FaceletMap;
use fathom_algebra::Permutation;
use fathom_puzzle::{Facelets, Puzzle};
use free_moves::FreeMoves;
use half_turn::HalfTurn;
use num_bigint::BigUint;
use orientation_positions::OrientationPositions;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What is on a cell: the label of the piece, and its orientation.
pub(crate) type Placed = (u16, u8);

/// A puzzle with labels: the input and output of a reduction.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) puzzle: Puzzle,
    /// The label of each piece. Pieces that never occupy the same cells have different labels.
    pub(crate) labels: Labels,
    /// The number of states, where it is known. Then free moves are known to change every state.
    pub(crate) states: Option<BigUint>,
    /// The order of the group of the moves and free moves, where it is known.
    pub(crate) group_order: Option<BigUint>,
    /// Whether all pieces of the given puzzle are distinguished.
    pub(crate) has_distinct_pieces: bool,
    /// Whether free moves are known to map the guards of moves to guards of other moves.
    pub(crate) keeps_guards: bool,
    /// Whether the labels are those of a base: they distinguish some pieces, which determine all others.
    pub(crate) has_base: bool,
}

/// Maps states of one puzzle to those of another, and back. A state is given as the contents of each cell.
pub(crate) trait StateMap: fmt::Debug + Send + Sync {
    /// Returns the state of the reduced puzzle for a state of the puzzle. With free moves it is one of
    /// several. The pieces of the state must be those of the puzzle. `None` if the reduced puzzle has no such state,
    /// because pieces that moves keep together are apart.
    fn lower(&self, state: &[Placed]) -> Option<Vec<Placed>>;

    /// Returns the state of the puzzle for a state of the reduced one; `None` if there is none.
    fn lift(&self, state: &[Placed]) -> Option<Vec<Placed>>;
}

/// What a reduction has chosen, as a plan records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Record {
    /// One more cell records how the puzzle is held.
    HalfTurn {
        /// Where the turn of the whole carries each piece, the piece of the new cell last.
        cells: Vec<u16>,
        /// By cell: how far the turn of the whole turns the piece.
        turns: Vec<u16>,
    },
    /// Facelets are joined to pieces.
    Facelets {
        /// For each facelet the cell of its piece, and its number there.
        places: Vec<(usize, u16)>,
    },
    /// Only a base is distinguished.
    Base(base::Choice),
    /// Pieces that stay on their cells become rings.
    #[serde(rename = "rings")]
    OrientationPositions {
        /// By cell: the number of cells of its ring, or 1.
        sizes: Vec<u16>,
    },
    /// Free moves that the moves do not generate are omitted.
    FreeMoves {},
}

/// The reductions of a puzzle, and their state maps, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    steps: Vec<(Record, Arc<dyn StateMap>)>,
    /// The rings of the last puzzle.
    orientation_positions: Option<Arc<OrientationPositions>>,
    base: Option<Arc<Base>>,
}

/// A recorded reduction that does not apply to the puzzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoSuchReduction;

impl Chain {
    /// Returns what was chosen.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.steps.iter().map(|(record, _)| record.clone()).collect()
    }

    /// Returns the rings, if there are any.
    pub(crate) fn orientation_positions(&self) -> Option<&OrientationPositions> {
        self.orientation_positions.as_deref()
    }

    /// Returns the base by which states are distinguished, if there is one.
    pub(crate) fn base(&self) -> Option<&Base> {
        self.base.as_deref()
    }

    /// Returns the state of the last puzzle for a state of the first; `None` if there is none.
    pub(crate) fn lower(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        self.steps.iter().try_fold(state.to_vec(), |state, (_, map)| map.lower(&state))
    }

    /// Returns the state of the first puzzle for a state of the last; `None` if there is none.
    pub(crate) fn lift(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        self.steps.iter().rev().try_fold(state.to_vec(), |state, (_, map)| map.lift(&state))
    }

    fn add(&mut self, record: Record, map: Arc<dyn StateMap>) {
        self.steps.push((record, map));
    }

    /// Builds the puzzle with a cell for how it is held, if it has one. `problem` has labels for all cells
    /// but that one.
    pub(crate) fn find_half_turn(&mut self, problem: &mut Problem) {
        if let Some(held) = problem.puzzle.held.take() {
            let half_turn = HalfTurn::found(&held);
            problem.keeps_guards = true;
            problem.puzzle = *held;
            self.add(half_turn.record(), Arc::new(half_turn));
        }
    }

    /// Tries the other reductions one after another.
    ///
    /// # Errors
    /// The number of symbols that would be needed, if there are too many.
    pub(crate) fn find(&mut self, problem: &mut Problem) -> Result<(), usize> {
        if let Some((facelets, puzzle)) = problem.puzzle.facelets.take().map(|found| *found) {
            self.add_facelets(facelets, Some(&puzzle), problem);
        }
        let ringed = |problem: &Problem| match OrientationPositions::find(problem) {
            Some(orientation_positions) => {
                (orientation_positions.apply(problem), Some(orientation_positions))
            }
            None => (problem.clone(), None),
        };
        let (mut reduced, mut orientation_positions) = ringed(problem);
        if let Err(needed) = symbols(&reduced) {
            let is_plain = problem.labels.are_distinct();
            let base = is_plain.then(|| Base::find(&problem.puzzle)).flatten().ok_or(needed)?;
            self.add_base(base, problem);
            (reduced, orientation_positions) = ringed(problem);
            symbols(&reduced).map_err(|_| needed)?;
        }
        *problem = reduced;
        if let Some(orientation_positions) = orientation_positions {
            self.add_rings(orientation_positions);
        }
        if let Some(free_moves) = FreeMoves::find(problem, self.orientation_positions.as_ref()) {
            self.add_free_moves(free_moves, problem);
        }
        Ok(())
    }

    /// Applies one of the reductions that were found for a puzzle.
    pub(crate) fn replay(&mut self, record: &Record, problem: &mut Problem) -> Result<(), NoSuchReduction> {
        match record {
            Record::HalfTurn { cells, turns } => {
                let (half_turn, held) =
                    HalfTurn::with(&problem.puzzle, cells, turns).ok_or(NoSuchReduction)?;
                (problem.keeps_guards, problem.puzzle) = (true, held);
                self.add(half_turn.record(), Arc::new(half_turn));
            }
            Record::Facelets { places } => {
                let moves: Vec<Permutation> =
                    problem.puzzle.moves.iter().map(|m| m.action.as_points()).collect();
                let facelets =
                    Facelets::with_places(problem.puzzle.free[0].orientation_counts(), &moves, places)
                        .ok_or(NoSuchReduction)?;
                self.add_facelets(facelets, None, problem);
            }
            Record::Base(choice) => {
                let base = Base::with(&problem.puzzle, choice).ok_or(NoSuchReduction)?;
                self.add_base(base, problem);
            }
            Record::OrientationPositions { sizes } => {
                let orientation_positions =
                    OrientationPositions::with(problem, sizes).ok_or(NoSuchReduction)?;
                *problem = orientation_positions.apply(problem);
                self.add_rings(orientation_positions);
            }
            Record::FreeMoves {} => {
                let free_moves =
                    FreeMoves::find(problem, self.orientation_positions.as_ref()).ok_or(NoSuchReduction)?;
                self.add_free_moves(free_moves, problem);
            }
        }
        Ok(())
    }

    fn add_facelets(&mut self, facelets: Facelets, found: Option<&Puzzle>, problem: &mut Problem) {
        let map = FaceletMap::new(facelets, problem);
        map.apply(problem, found);
        self.add(map.record(), Arc::new(map));
    }

    fn add_base(&mut self, base: Base, problem: &mut Problem) {
        let base = Arc::new(base);
        *problem = base.apply(problem);
        self.base = Some(Arc::clone(&base));
        self.add(Record::Base(base.choice()), base);
    }

    fn add_rings(&mut self, orientation_positions: OrientationPositions) {
        let orientation_positions = Arc::new(orientation_positions);
        self.orientation_positions = Some(Arc::clone(&orientation_positions));
        self.add(
            Record::OrientationPositions { sizes: orientation_positions.sizes() },
            orientation_positions,
        );
    }

    fn add_free_moves(&mut self, free_moves: FreeMoves, problem: &mut Problem) {
        free_moves.apply(problem);
        self.add(Record::FreeMoves {}, Arc::new(free_moves));
    }
}

/// Returns the labels as bytes and the symbols of pieces.
///
/// # Errors
/// The number of symbols that would be needed, if there are too many.
pub(crate) fn symbols(problem: &Problem) -> Result<(Labels<u8>, SymbolTable), usize> {
    let Problem { puzzle, labels, .. } = problem;
    let mut seen = vec![0; labels.sizes().len()];
    for (&label, &shown) in labels.of_pieces().iter().zip(&puzzle.seen) {
        seen[usize::from(label)] = shown;
    }
    // The identity is always a free move.
    let turns = puzzle.free[0].orientation_counts().iter().copied().max().unwrap_or(1);
    match (SymbolTable::new(&seen, turns), labels.as_bytes()) {
        (Some(symbols), Some(labels)) => Ok((labels, symbols)),
        _ => Err(seen.len() * usize::from(seen.iter().copied().max().unwrap_or(1))),
    }
}
