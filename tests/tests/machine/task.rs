//! The external tests of tasks.

mod durable;
mod links;
mod together;
