//! Lower bounds of God's numbers: how many states so many moves can reach at most.
//!
//! Reading order: [`tally`] (counts by parity), [`arrangements`] (the counting of Jia, Zhang and Xiang), [`normal`] (one word for
//! each state of a ball), [`automaton`] (the words that have no forbidden part, counted at any length), [`lower`] (from counts to
//! bounds), [`boards`] (which boards are asked for). The proofs are in `docs/bounds.md`.
//!
//! Invariants: what is counted at length k is never less than the number of states at distance k, even and odd permutations each;
//! counts are integers of any size, never rounded.

pub mod arrangements;
pub mod automaton;
pub mod boards;
pub mod lower;
pub mod normal;
pub mod tally;

pub use arrangements::Arrangements;
pub use automaton::Automaton;
pub use boards::{Boards, BoardsError};
pub use lower::{LowerBounds, Refined};
pub use normal::NormalForms;
pub use tally::Tally;
