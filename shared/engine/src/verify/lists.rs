//! Verification of a run by lists: order, shards, digests and counts of the states that are kept, and that no two
//! layers share a state.

use super::Verified;
use crate::directory::RunDirectory;
use crate::journal::{Files, LayerRow, ShardRow};
use crate::list_files::{list_path, report};
use crate::run::{Depth, ListedSpace, ShardId};
use crate::task::Store;
use anyhow::{Context, Result, anyhow};
use fathom_layer::{Disk, LayerError};
use fathom_lists::list_space::words;
use fathom_lists::{Identity, Key, ListFile, ListSpace, with_key};

/// Reads every file that a run keeps, and compares it with the journal.
///
/// # Errors
/// The first contradiction that is found.
pub(super) fn verify(run: &RunDirectory, space: &ListedSpace, disk: &dyn Disk) -> Result<Verified> {
    with_key!(words(&space.puzzle, &space.labels), verify_with(run, space, disk))
}

fn verify_with<K: Key>(run: &RunDirectory, space: &ListedSpace, disk: &dyn Disk) -> Result<Verified> {
    let space = ListSpace::<K>::new(&space.puzzle, &space.labels);
    let Some(store) = run.store()? else { return Ok(Verified::default()) };
    let store = Store::at(&store, disk)?;
    let layers = run.visited()?.layers;
    let kept: Vec<&LayerRow> = layers.iter().filter(|layer| layer.files != Files::Removed).collect();
    let mut verified = Verified::default();
    for layer in &kept {
        let rows = run.journal.shards(layer.depth).context("cannot read run.db")?;
        let mut states = 0;
        for row in &rows {
            let file = open(run, &space, &store, layer.depth, row)?;
            let (digest, counted) = file.count(&space, run.manifest.shards)?;
            let written = file.written();
            if (digest, counted) != (written.digest, row.totals.states) {
                return Err(anyhow!(
                    "depth {} does not match run.db: {} has {counted} states with the digest {digest}, expected {} and {}",
                    layer.depth,
                    file.path().display(),
                    row.totals.states,
                    written.digest
                ));
            }
            verified.files += 1;
            verified.bytes += written.bytes;
            states += counted;
        }
        if states != layer.states {
            let (depth, committed) = (layer.depth, layer.states);
            return Err(anyhow!(
                "depth {depth} does not match run.db: {states} states, expected {committed}"
            ));
        }
        verified.states += states;
        verified.layers += 1;
    }
    for shard in 0..run.manifest.shards {
        let open = |layer: &&LayerRow| {
            let rows = run.journal.shards(layer.depth).context("cannot read run.db")?;
            open(run, &space, &store, layer.depth, &rows[shard as usize])
        };
        let files: Vec<ListFile<K>> = kept.iter().map(open).collect::<Result<_>>()?;
        for (at, file) in files.iter().enumerate() {
            let mut others: Vec<_> = files[..at].iter().map(|other| other.stream(&space)).collect();
            let mut states = file.stream(&space);
            while let Some(state) = states.peek()? {
                for other in &mut others {
                    if other.has(&state)? {
                        return Err(anyhow!("{} has a state of an earlier layer", file.path().display()));
                    }
                }
                states.advance();
            }
        }
    }
    Ok(verified)
}

/// Opens the file of a shard, and compares its digest with the journal.
pub(crate) fn open<K: Key>(
    run: &RunDirectory,
    space: &ListSpace<K>,
    store: &Store<'_>,
    depth: Depth,
    row: &ShardRow,
) -> Result<ListFile<K>> {
    let ShardId(shard) = row.shard;
    let identity = Identity { fingerprint: run.manifest.fingerprint, depth: depth.0, shard };
    let does_not_match = || format!("depth {depth} does not match run.db");
    let path = list_path(store, depth, row.shard);
    let file = ListFile::open(space, &path, identity).with_context(does_not_match)?;
    let (got, expected) = (ShardRow::new(&report(depth, row.shard, &file)).digest, row.digest);
    match got == expected {
        true => Ok(file),
        false => Err(LayerError::Replaced { path, got, expected }).with_context(does_not_match),
    }
}
