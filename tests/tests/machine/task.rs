//! The tests of tasks from outside.

mod durable;
mod links;
mod together;
