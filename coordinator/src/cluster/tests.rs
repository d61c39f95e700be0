//! Tests of the decisions using only events, without sockets or clocks. Each test compares all replies and
//! effects.

mod audits;
mod copies;
mod damage;
mod failures;
mod free_space;
mod harness;
mod joining;
mod layers;
mod leaving;
mod placement;
mod restarts;
mod scale;
mod shared_store;
mod simulator;
mod tasks;
mod two_layers;
mod watchers;

use crate::cluster::state::Rules;
use harness::{Table, rules};
