//! Bounds on God's numbers. Lower bounds follow from the maximum number of states that k moves can reach,
//! upper bounds from moves that solve all states stage by stage.
//!
//! Reading order: [`tally`] (counts by parity), [`arrangements`] (the counting of Jia, Zhang and Xiang),
//! [`normal_forms`] (one word for each state of a ball), [`automaton`] (the words without a forbidden part,
//! counted at any length), [`cover`] (the group of any puzzle), [`lower_bound`] (from counts to bounds), [`boards`]
//! (one board or a range), [`square1`] (Square-1, shape by shape); [`stage_chain`] (stages), [`stage`] (the states
//! of one stage), [`mod@upper_bound`] (words that solve all states, and certificates), [`stage_pairs`] (two stages that
//! take fewer moves together), [`chain_search`] (a search for a good chain). The proofs are in `docs/bounds.md`.
//!
//! Invariants: the count at length k is never less than the number of states at distance k, for even and odd
//! permutations separately. Counts are integers of any size, never rounded.

pub mod arrangements;
pub mod automaton;
pub mod boards;
pub mod chain_search;
pub mod cover;
pub mod lower_bound;
pub mod normal_forms;
pub mod square1;
pub mod stage;
pub mod stage_chain;
pub mod stage_pairs;
pub mod tally;
pub mod upper_bound;

pub use arrangements::Arrangements;
pub use automaton::Automaton;
pub use boards::{Boards, BoardsError};
pub use cover::{Cover, NotBounded};
pub use lower_bound::{LowerBounds, Refined, by_words};
pub use normal_forms::NormalForms;
pub use square1::SquareOneBounds;
pub use stage_chain::{Chain, ChainError};
pub use stage_pairs::Joined;
pub use tally::Tally;
pub use upper_bound::{Certificate, UpperError, upper_bound};
