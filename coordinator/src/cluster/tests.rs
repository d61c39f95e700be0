//! Tests of the decisions on events alone, without sockets or clocks. Each test compares all replies and
//! effects.

mod audits;
mod copies;
mod damage;
mod failures;
mod joining;
mod layers;
mod leaving;
mod placement;
mod restarts;
mod room;
mod scale;
mod shared;
mod simulator;
mod table;
mod tasks;
mod two_layers;
mod watched;

use crate::cluster::state::Rules;
use table::{Table, rules};
