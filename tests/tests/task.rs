//! The tests of `fathom-task` from outside.

mod durable;
mod links;
mod together;
