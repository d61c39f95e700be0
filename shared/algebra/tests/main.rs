//! The integration tests of `fathom-algebra`, as one program: it is linked once, and its tests share the
//! processors.

mod known_groups;
mod label_stabilisers;
mod state_counts;
