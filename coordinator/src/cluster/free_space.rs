//! Checks that the disks of the live workers can hold the next layer. The size of that layer is an estimate.

use crate::cluster::state::{Rules, State};
use anyhow::Result;
use fathom_engine::directory::{RunDirectory, Visited};
use fathom_engine::estimate::Need;
use fathom_engine::run::lookback::most_in_the_making;
use fathom_engine::run::{Geometry, Keep};
use indicatif::HumanBytes;

/// Returns a warning if the next layer may need more free space than there is; `None` if it fits, or there is
/// no next layer.
pub(super) fn warning(run: &RunDirectory, state: &State, geometry: &Geometry) -> Result<Option<String>> {
    let Visited { layers, visited, .. } = run.visited()?;
    let all = run.all_states()?;
    if visited == all {
        return Ok(None);
    }
    let need = Need::after(&layers, all - visited, geometry).bytes;
    let need = match (state.rules().keep, &layers[..]) {
        // Released sources free space, except those of the shards that are ahead.
        (Keep::Two, [.., older, _]) => {
            let threads = state.members().alive().map(|(_, worker)| u64::from(worker.threads)).sum();
            let shards = state.rules().shards;
            let ahead =
                u128::from(need) * u128::from(most_in_the_making(shards, threads)) / u128::from(shards);
            need.saturating_sub(older.bytes).max(ahead as u64)
        }
        _ => need,
    };
    // A worker that has not reported its free bytes yet has 0, so the sum would be too small.
    let free: Vec<u64> = state.members().alive().map(|(_, worker)| worker.progress.free_bytes).collect();
    Ok(if free.contains(&0) { None } else { short(need, &free, state.rules()) })
}

/// Returns a warning if the workers have too little free space for a layer of `need` bytes. `free` has the
/// free bytes of each worker.
pub(super) fn short(need: u64, free: &[u64], rules: &Rules) -> Option<String> {
    let need = need.saturating_mul(rules.replicas as u64);
    // In a shared store all workers share one disk.
    let free: u64 = if rules.shared_store { free.iter().copied().min()? } else { free.iter().sum() };
    (need > free).then(|| {
        format!(
            "the next depth may need {} on the workers' disks, of which {} are free. Free some space, raise --disk-limit, or start more workers",
            HumanBytes(need),
            HumanBytes(free)
        )
    })
}
