//! The barrier at the end of a layer: the reports of all its shards are added up, checked, and added to the
//! journal, which commits layers at the next checkpoint.

use crate::audit::first_depths;
use crate::counts::{Classes, check_growth};
use crate::directory::{RunDirectory, Visited};
use crate::journal::{Beside, Entry, Files, LayerRow, ProcessRow, ShardRow};
use crate::run::{Depth, Keep, RunSpace, ShardReport};
use crate::task::Waits;
use crate::watch;
use anyhow::{Context, Result, anyhow};
use fathom_layer::{Disk, LayerDigest, Totals};
use std::borrow::Borrow;
use tracing::{info, warn};

/// A run is long if its layers took at least this much time in total.
const LONG_SECONDS: f64 = 10.0;

/// The number of pieces that are placed on cells to count the first depths, which takes less than 0.1 s in a
/// long run.
const PIECES_IN_LONG_RUN: usize = 2_000_000;
const PIECES_IN_SHORT_RUN: usize = 20_000;

/// The depth at which the first depths of a run by lists are counted, however short it is.
const FIRST_LISTED: Depth = Depth(3);

/// What a commit records besides the reports.
#[derive(Clone, Copy)]
pub struct Commit<'a> {
    /// The number of symmetries of the space.
    pub symmetries: u64,
    /// Wall-clock seconds that the layer took.
    pub seconds: f64,
    /// The row of this process, if it computed the layer.
    pub process: Option<&'a ProcessRow>,
    /// The time that the threads of this process spent on each activity, if the process computed the layer.
    pub waits: Option<&'a Waits>,
}

/// A layer that was added to the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// The layer's row in the journal.
    pub layer: LayerRow,
    /// The layer that the search no longer reads, and that the journal marks as removed: the caller deletes
    /// its files once the layer is committed. Files that remain after an interruption do no harm, and are
    /// deleted when the run continues.
    pub retired: Option<Depth>,
}

/// Adds the layer at the next depth to the journal. The next [`checkpoint`] commits it. `reports` has the
/// reports of all its shards, in order.
///
/// # Errors
/// If the counts are impossible, or run.db cannot be read. Nothing is added then.
pub fn add_layer<R: Borrow<ShardReport>>(
    run: &mut RunDirectory,
    reports: &[R],
    commit: Commit<'_>,
) -> Result<Added> {
    let Visited { layers, visited, all, .. } = run.visited()?;
    let depth = Depth(layers.len() as u32);
    let layer = add_up(depth, reports, commit.symmetries, commit.seconds)?;
    let left = all.map_or(u64::MAX, |all| all - visited);
    if layer.states == 0 || layer.states > left {
        return Err(anyhow!(
            "the counts do not add up: {} states at depth {depth}, but {left} are left. The run is wrong: do not use its results",
            layer.states
        ));
    }
    check_growth(&layer, &layers, &run.space)?;
    check_first_depths(run, &layers, &layer, commit.process.is_some(), layer.states == left)?;
    let shards: Vec<ShardRow> = reports.iter().map(|report| ShardRow::new(report.borrow())).collect();
    let retired = match run.manifest.keep {
        Keep::Last | Keep::Two => depth.previous().and_then(Depth::previous),
        Keep::All => None,
    };
    let found: Vec<u32> = reports.iter().flat_map(|report| report.borrow().watched.iter().copied()).collect();
    let entry = Entry {
        layer: layer.clone(),
        shards,
        retired,
        found,
        process: commit.process.cloned(),
        waits: commit.waits.copied(),
    };
    run.journal.add(entry).context("cannot read run.db")?;
    info!(
        depth = depth.0,
        states = layer.states,
        classes = layer.classes,
        bytes = layer.bytes,
        seconds = layer.seconds,
        digest = %layer.digest,
        "layer done"
    );
    Ok(Added { layer, retired })
}

/// Commits the layers that were added, in one transaction: their files must be durable. So must the files of
/// the shards `made` of the layer after them, if there are any. Their sources, at a depth, may be deleted
/// then.
///
/// # Errors
/// If run.db cannot be written. Nothing is committed then.
pub fn checkpoint(
    run: &mut RunDirectory,
    disk: &dyn Disk,
    made: Option<(&[ShardReport], Depth)>,
) -> Result<()> {
    let has_found = run.journal.has_found();
    let committed = match made {
        Some((reports, sources)) => run.journal.give_back(reports, sources),
        None => run.journal.checkpoint(),
    };
    committed.context("cannot write run.db")?;
    write_watched(run, disk, has_found);
    Ok(())
}

/// Adds the layer at the next depth to the journal, and commits it immediately. `beside` writes the data of
/// the calling crate in the same transaction.
///
/// # Errors
/// The errors of [`add_layer`] and [`checkpoint`].
pub fn commit_layer<R: Borrow<ShardReport>>(
    run: &mut RunDirectory,
    disk: &dyn Disk,
    reports: &[R],
    commit: Commit<'_>,
    beside: Beside<'_>,
) -> Result<LayerRow> {
    let Added { layer, retired } = add_layer(run, reports, commit)?;
    let has_found = run.journal.has_found();
    let committed = run.journal.checkpoint_with(|change| beside(change.database(), retired));
    committed.context("cannot write run.db")?;
    write_watched(run, disk, has_found);
    Ok(layer)
}

/// Writes the depths of watched states, if some were found. A failure is not fatal: the file is written again
/// at the end of the run.
fn write_watched(run: &RunDirectory, disk: &dyn Disk, has_found: bool) {
    if has_found && let Err(error) = watch::write(run, disk) {
        warn!(error = format!("{error:#}"), "cannot write the depths of the watched states");
    }
}

/// Checks the counts of the first depths against the puzzle's moves, once when the run becomes long, and
/// at its end. `is_looked_at` says whether states of the last layer are checked against the moves anyway,
/// which is enough for a short run.
fn check_first_depths(
    run: &RunDirectory,
    layers: &[LayerRow],
    newest: &LayerRow,
    is_looked_at: bool,
    is_complete: bool,
) -> Result<()> {
    let before: f64 = layers.iter().map(|layer| layer.seconds).sum();
    let is_long = before + newest.seconds >= LONG_SECONDS;
    let becomes_long = is_long && before < LONG_SECONDS;
    // States of lists are not checked otherwise.
    let (is_listed, is_looked_at) = match &run.space {
        RunSpace::Lists(_) => (newest.depth == FIRST_LISTED, false),
        RunSpace::Cosets(_) => (false, is_looked_at),
    };
    if !is_listed && !becomes_long && !(is_complete && (is_long || !is_looked_at)) {
        return Ok(());
    }
    let most_pieces = if is_long || is_listed { PIECES_IN_LONG_RUN } else { PIECES_IN_SHORT_RUN };
    let layers = layers.iter().chain([newest]);
    first_depths::check((&run.manifest, &run.space), layers, is_complete, most_pieces)
}

/// Adds up the reports of a layer, and checks that the sums are possible.
fn add_up<R: Borrow<ShardReport>>(
    depth: Depth,
    reports: &[R],
    symmetries: u64,
    seconds: f64,
) -> Result<LayerRow> {
    let reports: Vec<&ShardReport> = reports.iter().map(Borrow::borrow).collect();
    let sum = |number: fn(&ShardReport) -> u64| -> Result<u64> {
        let sum = reports.iter().try_fold(0_u64, |sum, report| sum.checked_add(number(report)));
        sum.filter(|sum| i64::try_from(*sum).is_ok())
            .with_context(|| format!("the counts of depth {depth} are impossible: they exceed 2^63"))
    };
    sum(|report| report.totals.states)?;
    sum(|report| report.totals.stored)?;
    sum(|report| report.totals.pairs.unwrap_or(0))?;
    sum(|report| report.totals.inverse_pairs.unwrap_or(0))?;
    let bytes = sum(|report| report.bytes)?;
    let mut digest = LayerDigest::new(depth.0);
    for report in &reports {
        digest.add(&report.checksums);
    }
    let totals: Totals = reports.iter().map(|report| report.totals).sum();
    let Classes { up_to_symmetry, with_inverse } = Classes::new(&totals, symmetries)
        .map_err(|reason| anyhow!("the counts of depth {depth} contradict each other: {reason}. This layer or an earlier one is wrong: start again in another directory"))?;
    Ok(LayerRow {
        depth,
        states: totals.states,
        classes: up_to_symmetry,
        classes_with_inverse: with_inverse,
        stored: totals.stored,
        bytes,
        seconds,
        digest: digest.finish(),
        files: Files::Live,
    })
}
