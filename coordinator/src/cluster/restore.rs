//! Restores the state of a run when a coordinator starts: from the journal, and from the files in the store
//! that all workers share.

use crate::cluster::journal_tables;
use crate::cluster::parts::FileHolders;
use crate::cluster::state::{Past, Rules, digest_of};
use anyhow::{Context, Result};
use fathom_engine::journal::{Files, Journal, LayerRow, LayersAt};
use fathom_engine::run::{Depth, Geometry, ShardReport, Task};
use fathom_engine::task::{Store, store};
use fathom_layer::{Disk, LayerError};
use fathom_proto::WorkerId;
use std::collections::BTreeMap;
use std::path::Path;
use tracing::warn;

/// Reads the state of the run from the journal.
pub(super) fn past(journal: &Journal, layers: &[LayerRow], rules: &Rules) -> Result<Past> {
    let Rules { shards, shared_store, .. } = *rules;
    let reports = journal.reports()?;
    let orphaned = |bytes, digest| FileHolders { holders: Default::default(), bytes, digest };
    let mut files: BTreeMap<Task, FileHolders> = BTreeMap::new();
    let given_back = journal.given_back(layers)?;
    let first = layers.iter().position(|layer| layer.files != Files::Removed).unwrap_or(layers.len());
    // The remaining files of the older of two layers are still read, although that layer counts as removed.
    let first = if given_back.is_empty() { first } else { layers.len() - 2 };
    for (number, layer) in layers.iter().enumerate().skip(first) {
        let is_given_back = |shard| number + 2 == layers.len() && given_back.contains_key(&shard);
        for row in journal.shards(layer.depth)?.into_iter().filter(|row| !is_given_back(row.shard)) {
            files.insert(Task { depth: layer.depth, shard: row.shard }, orphaned(0, row.digest));
        }
    }
    for report in &reports {
        files.insert(report.task, orphaned(report.bytes, digest_of(report)));
    }
    let holders = match shared_store {
        true => files.keys().map(|&task| (task, WorkerId::SHARED_STORE)).collect(),
        false => journal_tables::holders(journal)?,
    };
    for (task, worker) in holders {
        if let Some(file) = files.get_mut(&task) {
            file.holders.insert(worker);
        }
    }
    Ok(Past {
        counts: layers.iter().map(|layer| layer.states).collect(),
        order: journal_tables::shard_order(journal, shards)?,
        workers: journal_tables::workers(journal)?,
        quarantined: journal_tables::workers_set_aside(journal)?,
        invalidated: journal.invalidated()?,
        suspected: journal.suspected()?,
        producers: journal_tables::producers(journal)?,
        files: files.into_iter().collect(),
        reports,
        given_back,
    })
}

/// Returns the store that all workers share, or `None` if each has its own.
pub(super) fn store_of<'d>(
    layers_at: &LayersAt,
    run: &Path,
    disk: &'d dyn Disk,
) -> Result<Option<Store<'d>>> {
    Ok(match layers_at {
        LayersAt::RunDirectory => Some(Store::at(run, disk)?),
        LayersAt::Store(path) => Some(Store::at(path, disk)?),
        LayersAt::Workers => None,
    })
}

/// Checks that the files of some layers in the shared store are the committed ones. Missing or damaged files
/// are noticed when a worker reads them.
///
/// # Errors
/// If a file differs, or the journal cannot be read.
pub(super) fn check_committed(
    journal: &Journal,
    store: &Store<'_>,
    geometry: &Geometry,
    depths: &[Depth],
) -> Result<()> {
    for &depth in depths {
        for row in journal.shards(depth).context("cannot read run.db")? {
            let checked =
                store.open_shard(geometry, depth, row.shard).map(|file| file.check_digest(row.digest));
            if let Ok(Err(error @ LayerError::Replaced { .. })) = checked {
                return Err(error.into());
            }
        }
    }
    Ok(())
}

/// Drops the reports of the current layer that contradict the files in the shared store, so that their shards
/// are recomputed.
pub(super) fn drop_false(past: &mut Past, store: &Store<'_>, geometry: &Geometry) {
    let mut dropped = Vec::new();
    past.reports.retain(|report| match compare(store, geometry, report) {
        Ok(()) => true,
        Err(reason) => {
            let (depth, shard) = (report.task.depth.0, report.task.shard.0);
            warn!(depth, shard, reason, "report dropped");
            dropped.push(report.task);
            false
        }
    });
    past.files.retain(|(task, _)| !dropped.contains(task));
    past.invalidated.extend(dropped);
}

/// Compares a report with its file.
///
/// # Errors
/// The difference, or the reason why the file cannot be read.
pub(super) fn compare(store: &Store<'_>, geometry: &Geometry, report: &ShardReport) -> Result<(), String> {
    let Task { depth, shard } = report.task;
    let file = store.open_shard(geometry, depth, shard);
    let file = file.and_then(|file| store::report(report.task, &file)).map_err(|error| error.to_string())?;
    report.difference(&file).map_or(Ok(()), Err)
}
