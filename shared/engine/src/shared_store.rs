//! The ownership of a store outside the directory of its run, such as one that all workers of the run share.

use crate::journal::{self, Files, Journal, LayerRow};
use crate::run::{DEFINITION, OWNER, Owner, RunManifest};
use crate::task::{LAYERS, Store};
use anyhow::{Context, Result};
use fathom_command::bad_input;
use fathom_layer::{Digest, Disk, LocalDisk};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Takes a store for a run that is about to write there: the store gets the run's mark. `run` is the run's
/// directory, and `fingerprint` the run's.
pub(crate) fn claim(
    journal: &mut Journal,
    (run, fingerprint): (&Path, Digest),
    store: &Path,
    disk: &dyn Disk,
) -> Result<()> {
    require_there(run, store)?;
    let known = journal.store_id().context("cannot read run.db")?;
    match (Owner::of(store)?, known) {
        (Some(owner), Some(id)) if owner.id == id => {
            let here = Owner::new(id, run);
            if owner != here {
                require_no_copy((run, fingerprint), store, &owner)?;
                here.write(store, disk)?;
            }
        }
        (Some(_), _) => require_free(store, disk)?,
        (None, known) => {
            let shards = journal.shards_done().context("cannot read run.db")?;
            let layers = journal.layers().context("cannot read run.db")?;
            // The path in run.db may lead to the layers of another space, or nothing may be mounted there.
            Store::at(store, disk)?.require_run(fingerprint)?;
            require_layers(&layers, run, store)?;
            if known.is_none() && shards == 0 && layers.is_empty() {
                require_free(store, disk)?;
            }
            let id = known.unwrap_or_else(Owner::new_id);
            // The journal first: a store with a mark that no run knows would be useless.
            journal.save_store_id(&id).context("cannot write run.db")?;
            Owner::new(id, run).write(store, disk)?;
        }
    }
    Ok(())
}

/// Checks that no run has a store, and that there are no layers in it.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] with advice.
pub fn require_free(store: &Path, disk: &dyn Disk) -> Result<()> {
    let place = store.display();
    if let Some(owner) = Owner::of(store)? {
        return Err(bad_input!(
            "the store {place} belongs to the run in {}. Use another directory, or delete {place}/{LAYERS} and {place}/{OWNER} if that run no longer needs them",
            owner.run.display()
        ));
    }
    match Store::at(store, disk)?.depths()?.is_empty() {
        true => Ok(()),
        false => Err(bad_input!(
            "the store {place} has layers that are not in the run's journal. Use another directory, or delete {place}/{LAYERS} if no run needs them"
        )),
    }
}

/// Checks that a worker's host sees a shared store, and not the empty directory on which it is to be mounted.
/// `id` is the id of the store's mark, and empty if the store is the run's directory.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] with advice if the host does not see the store.
pub fn require_seen(store: &Path, id: &str) -> Result<()> {
    let is_seen = match id {
        "" => store.join(DEFINITION).exists(),
        id => Owner::of(store)?.is_some_and(|owner| owner.id == id),
    };
    match is_seen {
        true => Ok(()),
        false => Err(bad_input!(
            "the layers of this run are in {}, which this host does not see. Mount it here, or serve the run without --shared-store",
            store.display()
        )),
    }
}

/// Checks that a store can be reached, and does not belong to another run in the meantime. A store without
/// layers need not have the mark yet.
pub(crate) fn require_own(journal: &Journal, run: &Path, store: &Path) -> Result<()> {
    require_there(run, store)?;
    let known = journal.store_id().context("cannot read run.db")?;
    match Owner::of(store)? {
        None => require_layers(&journal.layers().context("cannot read run.db")?, run, store),
        Some(owner) if known.as_ref() == Some(&owner.id) => Ok(()),
        Some(owner) => Err(bad_input!(
            "the layers of the run in {} were in {}, which now belongs to the run in {}",
            run.display(),
            store.display(),
            owner.run.display()
        )),
    }
}

/// Returns whether a store has the mark of a run, so that its layers can be removed with the run.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] if the run's directory is a copy of the one that has the store.
pub fn is_owned(journal: &Journal, (run, fingerprint): (&Path, Digest), store: &Path) -> Result<bool> {
    let known = journal.store_id().context("cannot read run.db")?;
    match Owner::of(store)?.filter(|owner| known.as_ref() == Some(&owner.id)) {
        Some(owner) => require_no_copy((run, fingerprint), store, &owner).map(|()| true),
        None => Ok(false),
    }
}

fn require_there(run: &Path, store: &Path) -> Result<()> {
    if store.is_dir() {
        return Ok(());
    }
    Err(bad_input!(
        "the directory {}, which should have the layers of the run in {}, does not exist. Mount its disk",
        store.display(),
        run.display()
    ))
}

/// Checks that a store without a mark has layers, if the run has some: it may be an empty mount point.
fn require_layers(layers: &[LayerRow], run: &Path, store: &Path) -> Result<()> {
    let is_kept = |layer: &LayerRow| layer.files != Files::Removed;
    if !layers.iter().any(is_kept) || !Store::at(store, &LocalDisk)?.depths()?.is_empty() {
        return Ok(());
    }
    Err(bad_input!(
        "the directory {}, which should have the layers of the run in {}, has none. Mount its disk",
        store.display(),
        run.display()
    ))
}

/// Checks that the run whose mark a store has is not another directory with the same journal: a copy would
/// delete layers that the first one needs. A run's directory that was moved is not a copy.
fn require_no_copy((run, fingerprint): (&Path, Digest), store: &Path, owner: &Owner) -> Result<()> {
    let identity = |path: &Path| path.join(DEFINITION).metadata().map(|file| (file.dev(), file.ino())).ok();
    let first = &owner.run;
    if identity(first).is_none_or(|of_first| Some(of_first) == identity(run)) {
        return Ok(());
    }
    // The path may now have another run.
    if RunManifest::read(first).is_ok_and(|other| other.fingerprint != fingerprint) {
        return Ok(());
    }
    let journal = Journal::open(&first.join(journal::NAME), fingerprint);
    match journal.and_then(|journal| journal.store_id()) {
        Ok(id) if id.as_ref() != Some(&owner.id) => Ok(()),
        Ok(_) | Err(_) => Err(bad_input!(
            "{copy} is a copy of {first}, and both would use the layers in {}. Continue in {first}",
            store.display(),
            copy = run.display(),
            first = first.display()
        )),
    }
}
