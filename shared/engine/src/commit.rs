//! The barrier at the end of a layer: the reports of all its shards are added up, checked, and committed in
//! one transaction.

use crate::directory::{RunDirectory, Visited};
use crate::journal::{Entry, Files, LayerRow, ProcessRow, ShardRow};
use crate::watch;
use anyhow::{Context, Result, anyhow};
use fathom_layer::{Disk, LayerDigest, Totals};
use fathom_run::WorkerId;
use fathom_run::{Depth, Keep, ShardReport, Task};
use fathom_space::Space;
use fathom_task::Waits;
use std::borrow::Borrow;
use tracing::{info, warn};

/// What a commit records besides the reports.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    /// The number of symmetries of the space.
    pub symmetries: u64,
    /// Wall-clock seconds that the layer took.
    pub seconds: f64,
    /// The row of this process, if it made the layer.
    pub process: Option<&'a ProcessRow>,
    /// The time that the threads of this process spent on each activity, if the process made the layer.
    pub waits: Option<&'a Waits>,
    /// The holders of the files of the newest layers, if workers hold them.
    pub holders: &'a [(Task, WorkerId)],
}

/// A layer that was committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// The layer's row in the journal.
    pub layer: LayerRow,
    /// The layer that the search no longer reads, and that the journal has as removed: the caller deletes
    /// its files. Files that an interruption leaves there do no harm, and are swept away when the run
    /// goes on.
    pub retired: Option<Depth>,
}

/// Commits the layer at the next depth. `reports` has the reports of all its shards, in order.
///
/// # Errors
/// If the counts cannot be true, or run.db cannot be written. Nothing is committed then.
pub fn commit_layer<R: Borrow<ShardReport>>(
    run: &mut RunDirectory,
    disk: &dyn Disk,
    reports: &[R],
    commit: Commit<'_>,
) -> Result<Committed> {
    let Visited { layers, visited, all } = run.visited()?;
    let depth = Depth(layers.len() as u32);
    let layer = add_up(depth, reports, commit.symmetries, commit.seconds)?;
    let left = all - visited;
    if layer.states == 0 || layer.states > left {
        return Err(anyhow!(
            "the counts do not add up: {} states at depth {depth}, but {left} are left; the run is wrong, and must not be used",
            layer.states
        ));
    }
    check_growth(&layer, &layers, &run.space)?;
    let shards: Vec<ShardRow> = reports.iter().map(|report| ShardRow::of(report.borrow())).collect();
    let retired = match run.manifest.keep {
        Keep::Last | Keep::Two => depth.previous().and_then(Depth::previous),
        Keep::All => None,
    };
    let found: Vec<u32> = reports.iter().flat_map(|report| report.borrow().watched.iter().copied()).collect();
    let entry = Entry {
        layer: &layer,
        shards: &shards,
        retired,
        found: &found,
        process: commit.process,
        waits: commit.waits,
        holders: commit.holders,
    };
    run.journal.commit(&entry).context("cannot write run.db")?;
    if !found.is_empty()
        && let Err(error) = watch::write(&run.path, &run.journal, disk)
    {
        // A failure is not fatal: the file is written again at the end of the run.
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
    Ok(Committed { layer, retired })
}

/// The numbers of classes of a layer, as far as they were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// The number of states up to symmetry.
    pub up_to_symmetry: Option<u64>,
    /// The number of states up to symmetry and inversion.
    pub with_inverse: Option<u64>,
}

impl Classes {
    /// Computes the numbers of classes by Burnside's lemma: the number of pairs of a symmetry and a state
    /// that it fixes, divided by the number of symmetries. With inversion the group is twice as large, and
    /// its other half contributes the pairs of a symmetry and a state that the symmetry maps to its inverse.
    ///
    /// # Errors
    /// If a number of pairs is not a multiple of the order of the group; the string is the reason.
    pub fn of(totals: &Totals, symmetries: u64) -> Result<Self, String> {
        let ratio = |pairs: u64, symmetries: u64| match pairs.is_multiple_of(symmetries) {
            true => Ok(pairs / symmetries),
            false => Err(format!("{pairs} fixed states are no multiple of {symmetries} symmetries")),
        };
        let Totals { pairs, inverse_pairs, .. } = *totals;
        let of_both = pairs.zip(inverse_pairs).map(|(pairs, inverse_pairs)| pairs + inverse_pairs);
        Ok(Self {
            up_to_symmetry: pairs.map(|pairs| ratio(pairs, symmetries)).transpose()?,
            with_inverse: of_both.map(|pairs| ratio(pairs, 2 * symmetries)).transpose()?,
        })
    }
}

/// Returns a bound of the number of states to which moves lead from one state: each move can be preceded or
/// followed by each free move.
pub fn most_successors(space: &Space) -> u64 {
    let moves = space.moves().len() as u64;
    moves.saturating_mul(space.free_order().into()).max(space.incoming_moves().len() as u64)
}

/// Checks that a layer is not too large to follow the last of `layers`: depth 0 is the solved state alone,
/// and each state of a later layer is one move from the layer before.
///
/// # Errors
/// If the layer is too large.
pub(crate) fn check_growth(layer: &LayerRow, layers: &[LayerRow], space: &Space) -> Result<()> {
    let most = match layers.last() {
        None => 1,
        Some(newest) => newest.states.saturating_mul(most_successors(space)),
    };
    if layer.states > most {
        return Err(anyhow!(
            "the counts cannot be true: {} states at depth {}, where moves lead to {most} at most; the run is wrong, and must not be used",
            layer.states,
            layer.depth
        ));
    }
    Ok(())
}

/// Adds up the reports of a layer, and checks that they can be true.
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
            .with_context(|| format!("the counts of depth {depth} are beyond 2^63: they cannot be true"))
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
    let Classes { up_to_symmetry, with_inverse } = Classes::of(&totals, symmetries)
        .map_err(|reason| anyhow!("the counts of depth {depth} contradict each other: {reason}"))?;
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
