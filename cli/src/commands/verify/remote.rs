//! `fathom verify HOST:PORT`: makes the workers of a run check the files that they hold.

use crate::arguments::VerifyArguments;
use crate::commands::coordinator_queries::Coordinator;
use anyhow::{Result, anyhow};
use fathom_command::output;
use fathom_coordinator::far_layers::{CONNECT_LIMIT, KeptShard};
use fathom_proto::access::{Access, Connection};
use fathom_proto::v1;
use fathom_proto::v1::exchange_client::ExchangeClient;
use fathom_proto::v1::fetch_failure::Kind;
use fathom_proto::v1::verify_file_response::Result as Answer;
use fathom_report::text::many;
use futures::StreamExt;
use futures::stream;
use indicatif::HumanBytes;
use std::collections::{BTreeMap, BTreeSet};
use tokio::runtime::Builder;

/// The number of concurrent requests to one worker, which checks these files in parallel.
const AT_ONCE: usize = 4;
/// The maximum number of faults listed; the others are only counted.
const MAX_TOLD: usize = 10;

/// The result of checking a file that a worker should have.
enum Checked {
    Right(v1::VerifiedFile),
    /// The worker does not have the file.
    Missing,
    Wrong(String),
    Unknown(String),
}

/// The totals of all files.
#[derive(Default)]
struct Sum {
    files: u64,
    bytes: u64,
    /// The number of states of each shard, by depth and shard, as counted by a holder.
    states: BTreeMap<(u32, u32), u64>,
    wrong: Vec<String>,
    unknown: Vec<String>,
}

pub(super) fn verify(args: &VerifyArguments, address: &str) -> Result<()> {
    let mut coordinator = Coordinator::call(address, &args.access)?;
    let listed = coordinator.files()?;
    let access = Access::load(&args.access)?.for_coordinator(address);
    let mut sum = Sum::default();
    let mut held: BTreeMap<String, Vec<KeptShard>> = BTreeMap::new();
    let shards = KeptShard::all(&listed);
    for file in &shards {
        if file.holders.is_empty() {
            let KeptShard { depth, shard, .. } = file;
            sum.unknown.push(format!("no connected worker has shard {shard} of depth {depth}"));
        }
        for address in &file.holders {
            held.entry(address.clone()).or_default().push(file.clone());
        }
    }
    let workers = held.len() as u64;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let checked = runtime.block_on(ask_all(&access, &listed.fingerprint, held));
    let missing = checked.iter().any(|(_, _, checked)| matches!(checked, Checked::Missing));
    let still_listed = if missing { holders_of(&coordinator.files()?) } else { BTreeSet::new() };
    for (address, file, checked) in checked {
        let of = format!("shard {} of depth {} at {address}", file.shard, file.depth);
        match checked {
            Checked::Right(v1::VerifiedFile { file_bytes, states }) => {
                sum.files += 1;
                sum.bytes += file_bytes;
                sum.states.insert((file.depth, file.shard), states);
            }
            Checked::Missing if still_listed.contains(&(file.depth, file.shard, address)) => {
                sum.wrong.push(format!("{of}: the worker does not have the file"));
            }
            // The worker has deleted the file meanwhile, because the run no longer needs it.
            Checked::Missing => {}
            Checked::Wrong(why) => sum.wrong.push(format!("{of}: {why}")),
            Checked::Unknown(why) => sum.unknown.push(format!("{of}: {why}")),
        }
    }
    let mut layers = 0;
    for of_layer in shards.chunk_by(|a, b| a.depth == b.depth) {
        let depth = of_layer[0].depth;
        let verified: Vec<u64> = sum.states.range((depth, 0)..(depth + 1, 0)).map(|(_, n)| *n).collect();
        let Some(&committed) = listed.states.get(depth as usize) else { continue };
        if verified.len() < of_layer.len() {
            continue;
        }
        layers += 1;
        let counted: u64 = verified.iter().sum();
        if counted != committed {
            sum.wrong.push(format!(
                "depth {depth}: the files have {counted} states, but the coordinator committed {committed}"
            ));
        }
    }
    tell(args, &sum, layers, workers)
}

fn tell(args: &VerifyArguments, sum: &Sum, layers: u64, workers: u64) -> Result<()> {
    let states: u64 = sum.states.values().sum();
    let verified = sum.wrong.is_empty() && sum.unknown.is_empty() && sum.files > 0;
    if args.json {
        let json = serde_json::json!({
            "verified": verified,
            "layers": layers,
            "files": sum.files,
            "bytes": sum.bytes,
            "states": states,
            "workers": workers,
            "wrong": sum.wrong,
            "not_verified": sum.unknown,
        });
        output::line(&json.to_string())?;
    }
    let some = |faults: &[String]| {
        let told: Vec<&str> = faults.iter().take(MAX_TOLD).map(String::as_str).collect();
        let more = faults.len().saturating_sub(MAX_TOLD);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("{}{more}", told.join("; "))
    };
    if !sum.wrong.is_empty() {
        return Err(anyhow!("files do not match the coordinator's records: {}", some(&sum.wrong)));
    }
    if !sum.unknown.is_empty() {
        return Err(anyhow!("could not verify: {}", some(&sum.unknown)));
    }
    if sum.files == 0 {
        return Err(anyhow!("nothing to verify: the run has no finished layer yet"));
    }
    if args.json {
        return Ok(());
    }
    output::line(&format!(
        "verified: {} in {} ({}) on {}, {} recounted, all matching the coordinator's records",
        many(layers, "layer"),
        many(sum.files, "file"),
        HumanBytes(sum.bytes),
        many(workers, "worker"),
        many(states, "state")
    ))
}

/// Returns which workers hold which files, as (depth, shard, address).
fn holders_of(listed: &v1::ListFilesResponse) -> BTreeSet<(u32, u32, String)> {
    let held = |file: KeptShard| {
        let KeptShard { depth, shard, holders, .. } = file;
        holders.into_iter().map(move |address| (depth, shard, address))
    };
    KeptShard::all(listed).into_iter().flat_map(held).collect()
}

/// Asks all workers to check the files that they hold. Returns an entry for each file of each worker.
async fn ask_all(
    access: &Access,
    fingerprint: &[u8],
    held: BTreeMap<String, Vec<KeptShard>>,
) -> Vec<(String, KeptShard, Checked)> {
    let workers = held.into_iter().map(|(address, files)| ask_worker(access, fingerprint, address, files));
    futures::future::join_all(workers).await.into_iter().flatten().collect()
}

/// Asks one worker to check files that it holds.
async fn ask_worker(
    access: &Access,
    fingerprint: &[u8],
    address: String,
    files: Vec<KeptShard>,
) -> Vec<(String, KeptShard, Checked)> {
    let connection = match access.connect(&address, CONNECT_LIMIT).await {
        Ok(connection) => connection,
        Err(error) => {
            let unknown = |file| (address.clone(), file, Checked::Unknown(error.to_string()));
            return files.into_iter().map(unknown).collect();
        }
    };
    let client = ExchangeClient::new(connection);
    let asked = files.into_iter().map(|file| ask(client.clone(), fingerprint, &address, file));
    stream::iter(asked).buffer_unordered(AT_ONCE).collect().await
}

async fn ask(
    mut client: ExchangeClient<Connection>,
    fingerprint: &[u8],
    address: &str,
    held: KeptShard,
) -> (String, KeptShard, Checked) {
    let fingerprint = fingerprint.to_vec().into();
    let request = v1::VerifyFileRequest { fingerprint, file: Some(held.stored_file()) };
    let checked = match client.verify_file(request).await {
        Err(status) => Checked::Unknown(status.message().to_owned()),
        Ok(answer) => match answer.into_inner().result {
            Some(Answer::Verified(verified)) => Checked::Right(verified),
            Some(Answer::Failure(v1::FetchFailure { kind })) => match kind {
                Some(Kind::Missing(_)) => Checked::Missing,
                Some(Kind::Damaged(damaged)) => Checked::Wrong(damaged.message),
                Some(Kind::OtherRun(_)) => Checked::Unknown("the worker belongs to another run".into()),
                Some(Kind::Other(other)) => Checked::Unknown(other.message),
                None => Checked::Unknown("empty response".into()),
            },
            None => Checked::Unknown("empty response".into()),
        },
    };
    (address.to_owned(), held, checked)
}
