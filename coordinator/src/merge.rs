//! The barrier: the reports of all shards of a layer are added up, checked, and committed in one transaction.

use crate::directory::{RunDirectory, Visited};
use crate::journal::{Files, LayerRow, ProcessRow, ShardRow};
use crate::watch;
use anyhow::{Context, Result, anyhow};
use fathom_layer::{Disk, LayerDigest};
use fathom_proto::WorkerId;
use fathom_run::{Depth, Keep, ShardReport, Task};
use std::borrow::Borrow;
use tracing::{info, warn};

/// A layer that was committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// What it adds up to.
    pub layer: LayerRow,
    /// The layer that is read no longer, and that the journal has as removed: its files are to be deleted now. One that is still
    /// there after an interruption does no harm, and is swept away when the run goes on.
    pub retired: Option<Depth>,
}

/// Commits the layer at the next depth. `reports` are those of all its shards, in order; `symmetries` is the number of
/// symmetries of the space, `seconds` the wall-clock time that the layer took, `process` who made it, if it was this
/// process, and `holders` who holds its files, if workers do.
///
/// # Errors
/// If the counts cannot be true, or run.db cannot be written; then nothing is committed.
pub fn merge<R: Borrow<ShardReport>>(
    run: &mut RunDirectory,
    disk: &dyn Disk,
    reports: &[R],
    symmetries: u64,
    seconds: f64,
    process: Option<&ProcessRow>,
    holders: &[(Task, WorkerId)],
) -> Result<Merged> {
    let Visited { layers, visited, all } = run.visited()?;
    let depth = Depth(layers.len() as u32);
    let layer = add_up(depth, reports, symmetries, seconds)?;
    let left = all - visited;
    if layer.states == 0 || layer.states > left {
        return Err(anyhow!(
            "the counts do not add up: {} states at depth {depth}, but {left} are left; the run is wrong, and must not be used",
            layer.states
        ));
    }
    let shards: Vec<ShardRow> = reports.iter().map(|report| ShardRow::of(report.borrow())).collect();
    let retired = match run.definition.keep {
        Keep::Last => depth.previous().and_then(Depth::previous),
        Keep::All => None,
    };
    let found: Vec<u32> = reports.iter().flat_map(|report| report.borrow().watched.iter().copied()).collect();
    let committed = run.journal.commit(&layer, &shards, retired.as_slice(), &found, process, holders);
    committed.context("cannot write run.db")?;
    if !found.is_empty()
        && let Err(error) = watch::write(&run.path, &run.journal, disk)
    {
        // It is written once more at the end.
        warn!(error = format!("{error:#}"), "watched states are not written");
    }
    info!(
        depth = depth.0,
        states = layer.states,
        classes = layer.classes,
        bytes = layer.bytes,
        seconds = layer.seconds,
        digest = %layer.digest,
        "layer done"
    );
    Ok(Merged { layer, retired })
}

/// Adds up the reports of a layer, and checks that they can be true.
fn add_up<R: Borrow<ShardReport>>(
    depth: Depth,
    reports: &[R],
    symmetries: u64,
    seconds: f64,
) -> Result<LayerRow> {
    let reports: Vec<&ShardReport> = reports.iter().map(Borrow::borrow).collect();
    let mut digest = LayerDigest::new(depth.0);
    for report in &reports {
        digest.add(&report.checksums);
    }
    let pairs: Option<u64> = reports.iter().map(|report| report.pairs).sum();
    if let Some(pairs) = pairs.filter(|pairs| !pairs.is_multiple_of(symmetries)) {
        return Err(anyhow!(
            "the counts of depth {depth} contradict each other: {pairs} fixed states are no multiple of {symmetries} symmetries"
        ));
    }
    Ok(LayerRow {
        depth,
        states: reports.iter().map(|report| report.states).sum(),
        classes: pairs.map(|pairs| pairs / symmetries),
        stored: reports.iter().map(|report| report.stored).sum(),
        bytes: reports.iter().map(|report| report.bytes).sum(),
        seconds,
        digest: digest.finish(),
        files: Files::Live,
    })
}
