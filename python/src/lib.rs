//! The native part of the Python package `fathom_search`: the libraries of the workspace as Python sees them.
//!
//! Reading order: [`failure`] (errors, and how Ctrl-C ends a computation), [`puzzle`] (puzzles and groups), [`search`]
//! (runs), [`run`] (their results), [`table`] (files of distances), [`questions`] (single states and plans). The Python
//! part checks and documents arguments, and shapes arrays; results that are not arrays come as JSON.

mod failure;
mod puzzle;
mod questions;
mod run;
mod search;
mod table;

use pyo3::prelude::*;

/// The native part of `fathom_search`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Notes are for terminals; a result has those that matter.
    fathom_command::output::leave_out_remarks();
    module.add_class::<puzzle::Puzzle>()?;
    module.add_class::<puzzle::Group>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(search::search, module)?)?;
    module.add_function(wrap_pyfunction!(questions::solve, module)?)?;
    module.add_function(wrap_pyfunction!(questions::plan, module)?)
}
