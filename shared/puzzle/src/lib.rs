//! Permutation puzzles as moves and symmetries on numbered cells.
//!
//! Reading order: [`puzzle`] (the form of a puzzle that the engine searches), [`metric`] (which powers of a
//! move count as one move), [`board`] (the m x n two-dimensional magic cube), [`notation`] (move names such
//! as `V2^-1`). Then puzzles of any other shape: [`definition`] (orbits, oriented pieces, generators and
//! their guards, the solved state; the shapes that guards depend on, and the number of states), [`facelets`]
//! (the pieces of a puzzle given by facelets), [`generators`] (the generators that a metric derives from the
//! listed moves), [`load`] (definitions read from files), [`family`] (puzzles with built-in names),
//! [`rotation_normalizer`] (rewrites sequences with rotations of the whole puzzle as sequences without them),
//! [`puzzle_spec`] (any of these puzzles, by the name that a user gives), [`tiles`] (states of boards as
//! text), [`state_text`] (states as people write them).
//!
//! Invariants: a move is a permutation of the cells, and `move.apply(c)` is the cell to which the move
//! carries the piece on cell `c`; piece `p` belongs on cell `p`; a symmetry renames cells and pieces in the
//! same way and maps the set of moves onto itself.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod board;
pub mod definition;
pub mod facelets;
pub mod family;
pub mod generators;
pub mod load;
pub mod metric;
pub mod notation;
pub mod puzzle;
pub mod puzzle_spec;
pub mod rotation_normalizer;
pub mod starts;
pub mod state_text;
pub mod tiles;
mod up_to_free_moves;
mod written;

pub use board::{Board, BoardError, Line};
pub use definition::held_by;
pub use definition::{Ask, Definition, DefinitionError, Generator, Groupoid, Orbit, Piece, Shapes};
pub use facelets::Facelets;
pub use family::square1::SquareOneShapes;
pub use family::{Family, FamilyError, InHand, families};
pub use generators::SelectionError;
pub use load::{Format, LoadError};
pub use metric::{Metric, UnknownMetric};
pub use notation::NotationError;
pub use puzzle::{Counted, Guard, Move, Puzzle, PuzzleMove};
pub use puzzle_spec::{ONE_WAY, PuzzleSpec, SourceError, grouped, one_way_note, states_and};
pub use rotation_normalizer::{NormalizeError, RotationNormalizer};
pub use starts::Starts;
