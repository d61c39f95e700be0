//! `fathom audit HOST:PORT`: audits the layers of a run by asking the workers that hold them.

use crate::arguments::AuditArguments;
use crate::commands::coordinator_queries::Coordinator;
use anyhow::{Result, anyhow};
use fathom_command::bad_input;
use fathom_coordinator::far_layers::{KeptShard, Workers};
use fathom_engine::audit::{Audit, FinishedLayer, Options, audit_far, tables_of};
use fathom_proto::access::Access;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The minimum number of threads. They spend most of their time waiting for answers.
const THREADS: usize = 16;

/// Audits a run that a coordinator serves. Returns the name of the space, and the findings.
pub(super) fn audit(args: &AuditArguments, address: &str, options: Options) -> Result<(String, Audit)> {
    if options.samples.is_none() {
        return Err(bad_input!(
            "auditing every state needs the layers on this machine. Pass the run's directory, or use --samples"
        ));
    }
    let mut coordinator = Coordinator::call(address, &args.access)?;
    let manifest = coordinator.manifest()?;
    let (graph, geometry) = tables_of(&manifest, options.memory_bytes)?;
    // The files are listed last because the run continues and deletes old layers meanwhile.
    let listed = coordinator.files()?;
    if listed.states.is_empty() {
        return Err(bad_input!("the run has no finished layer yet"));
    }
    if listed.stored.len() != listed.states.len() {
        return Err(anyhow!(
            "the coordinator does not report what each finished layer stores; it is a different version of fathom"
        ));
    }
    let access = Access::load(&args.access)?.for_coordinator(address);
    let workers = Workers::new(access, listed.fingerprint.to_vec(), geometry)?;
    let mut kept: BTreeMap<u32, Vec<KeptShard>> = BTreeMap::new();
    for shard in KeptShard::all(&listed) {
        kept.entry(shard.depth).or_default().push(shard);
    }
    let layers = (0..).zip(listed.states.iter().zip(&listed.stored)).map(|(depth, (&states, &stored))| {
        let files = kept.remove(&depth).map(|shards| workers.layer(shards));
        FinishedLayer { states, stored, files }
    });
    let options = Options { threads: options.threads.max(THREADS), ..options };
    let slug = graph.space().slug();
    Ok((slug, audit_far(&manifest, Arc::new(graph), layers.collect(), options)?))
}
