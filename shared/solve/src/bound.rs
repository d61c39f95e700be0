//! Bounds on God's numbers. Lower bounds follow from the maximum number of states that k moves can reach,
//! upper bounds from moves that solve all states stage by stage.
//!
//! Reading order: [`tally`] (counts by parity), [`arrangements`] (the counting of Jia, Zhang and Xiang),
//! [`normal_forms`] (one word for each state of a ball), [`automaton`] (the words without a forbidden part,
//! counted at any length), [`cover`] (the group of any puzzle), [`lower`] (from counts to bounds), [`boards`]
//! (one board or a range), [`square1`] (Square-1, shape by shape); [`chain`] (stages), [`stage`] (the states
//! of one stage), [`upper`] (words that solve all states, and certificates), [`stage_pairs`] (two stages that
//! take fewer moves together), [`chains`] (a search for a good chain). The proofs are in `docs/bounds.md`.
//!
//! Invariants: the count at length k is never less than the number of states at distance k, for even and odd
//! permutations separately. Counts are integers of any size, never rounded.

pub mod arrangements;
pub mod automaton;
pub mod boards;
pub mod chain;
pub mod chains;
pub mod cover;
pub mod lower;
pub mod normal_forms;
pub mod square1;
pub mod stage;
pub mod stage_pairs;
pub mod tally;
pub mod upper;

pub use arrangements::Arrangements;
pub use automaton::Automaton;
pub use boards::{Boards, BoardsError};
pub use chain::{Chain, ChainError};
pub use cover::{Cover, NotBounded};
pub use lower::{LowerBounds, Refined, by_words};
pub use normal_forms::NormalForms;
pub use square1::SquareOneBounds;
pub use stage_pairs::Joined;
pub use tally::Tally;
pub use upper::{Certificate, UpperError, upper_bound};
