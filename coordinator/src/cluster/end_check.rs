//! The check at the end of a run: before the last layer is committed, random states of it and of the layer
//! before are compared with the puzzle's moves, as a search in one process does. States are looked up in the
//! shared store, or by the workers that hold the files. A separate thread does this, because workers whose
//! heartbeats are not received count as lost.

use crate::far_layers::{KeptShard, Workers};
use anyhow::{Result, anyhow};
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use fathom_command::machine;
use fathom_engine::audit::{Contradiction, FinishedLayer, check_newest, tables_of};
use fathom_engine::run::RunManifest;
use fathom_engine::task::Layer;
use fathom_proto::access::Access;
use std::io;
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The time after which the run ends without the check.
const LIMIT: Duration = Duration::from_secs(600);

/// The files of a layer.
#[derive(Debug)]
pub(super) enum LayerFiles {
    /// They are not read.
    Unread,
    /// They are in the shared store.
    Here(Arc<Layer>),
    /// They are on workers.
    Far(Vec<KeptShard>),
}

/// A layer as the check sees it.
#[derive(Debug)]
pub(super) struct Row {
    /// The number of states.
    pub(super) states: u64,
    /// The number of states in the stored representatives.
    pub(super) stored: u64,
    /// The files.
    pub(super) files: LayerFiles,
}

/// The number of states that were checked, and the first contradiction.
type Found = Result<(u64, Option<Contradiction>)>;

/// A check that is under way.
#[derive(Debug)]
pub(super) struct EndCheck {
    found: Receiver<Found>,
    begun: Instant,
}

impl EndCheck {
    /// Starts the check of a run whose layers are `rows`, by depth.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(super) fn start(manifest: RunManifest, rows: Vec<Row>, access: Access) -> io::Result<Self> {
        let (sender, found) = bounded(1);
        Builder::new().name("end-check".into()).spawn(move || {
            // The loop may have ended in the meantime.
            let _ = sender.send(check(&manifest, rows, access));
        })?;
        Ok(Self { found, begun: Instant::now() })
    }

    /// Returns the result, once; `None` if there is none within `wait`.
    pub(super) fn result(&self, wait: Duration) -> Option<Found> {
        match self.found.recv_timeout(wait) {
            Ok(found) => Some(found),
            Err(RecvTimeoutError::Disconnected) => Some(Err(anyhow!("its thread has panicked"))),
            Err(RecvTimeoutError::Timeout) if self.begun.elapsed() < LIMIT => None,
            Err(RecvTimeoutError::Timeout) => {
                Some(Err(anyhow!("it has not ended within {} s", LIMIT.as_secs())))
            }
        }
    }
}

fn check(manifest: &RunManifest, rows: Vec<Row>, access: Access) -> Found {
    let (graph, geometry) = tables_of(manifest, machine::memory_bytes(None) / 2)?;
    let graph = Arc::new(graph);
    let workers = Workers::new(access, geometry.fingerprint.to_vec(), geometry)?;
    let finished = |Row { states, stored, files }: Row| match files {
        LayerFiles::Here(layer) => FinishedLayer::on_disk(states, stored, layer, &graph),
        LayerFiles::Far(shards) => FinishedLayer { states, stored, files: Some(workers.layer(shards)) },
        LayerFiles::Unread => FinishedLayer { states, stored, files: None },
    };
    let layers = rows.into_iter().map(finished).collect();
    check_newest(manifest, Arc::clone(&graph), layers)
}
