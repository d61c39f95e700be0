//! The tables of cosets for commands that read a run and do not search.

use crate::run::{Geometry, RunError, RunManifest};
use anyhow::Result;
use fathom_command::bad_input;
use fathom_space::{Colouring, CosetGraph, Space};
use indicatif::HumanBytes;

/// Returns the coset graph of a run and the geometry of its files. `make` is called to build the graph if its
/// tables fit into `memory_bytes`.
///
/// # Errors
/// If the tables do not fit, the definition contradicts itself, or `make` fails.
pub fn within(
    definition: &RunManifest,
    memory_bytes: u64,
    make: impl FnOnce(&Space, &Colouring) -> Result<CosetGraph, RunError>,
) -> Result<(CosetGraph, Geometry)> {
    let (space, colouring) = definition.open()?;
    let patterns = CosetGraph::table_entries(&space, &colouring);
    let table_bytes = CosetGraph::table_bytes(&space, patterns, definition.plan.cosets()?.cosets);
    if table_bytes > memory_bytes {
        return Err(bad_input!(
            "the tables of {} take {} of memory, but only {} may be used. Raise --memory",
            space.slug(),
            HumanBytes(table_bytes),
            HumanBytes(memory_bytes)
        ));
    }
    let graph = make(&space, &colouring)?;
    let geometry = Geometry::new(definition, &space, &colouring)?;
    geometry.check_graph(&graph)?;
    Ok((graph, geometry))
}
