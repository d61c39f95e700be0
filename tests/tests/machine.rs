//! Runs of one process, and tasks that exchange files.

mod audit;
mod changed_files;
mod crashes;
mod direct_io;
mod guards;
mod journal;
mod known_numbers;
mod limited_states;
mod list_audits;
mod lists;
mod many_cells;
mod one_way_moves;
mod plans;
mod processes;
mod replaced_files;
mod same_results;
mod spot_checks;
mod store;
mod task;
mod tasks;
mod two_layers;
mod verify;
mod watch;
