//! `fathom plan`.

use crate::arguments::PlanArguments;
use anyhow::Result;
use fathom_begin::has_tiny_cosets;
use fathom_begin::plan_search::{planned, without_cosets};
use fathom_command::bad_input;
use fathom_command::exit::said_by_system;
use fathom_command::output;
use fathom_engine::estimate::Estimate;
use fathom_engine::forecast::growth::GrowthSource;
use fathom_engine::forecast::{Cluster, Forecast};
use fathom_engine::run::{Lookback, PlanDocument, PlanFile, Producers, RunManifest, SpaceSpec};
use fathom_engine::task::SpillPolicy;
use fathom_report::text::{many, or_more};
use fathom_space::Plan;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

pub(crate) fn plan(args: &PlanArguments) -> Result<()> {
    let spec = args.space.spec()?;
    let space = spec.space().map_err(without_cosets)?;
    if let Some(file) = &args.output
        && file.exists()
    {
        return Err(bad_input!("{} already exists: choose another --output", file.display()));
    }
    let plan = planned(&spec, &space, || match (args.workers, &args.output) {
        (None, None) => Plan::outline(&space),
        // The forecast for a cluster and a plan file need the exact number of cosets.
        _ => Plan::new(&space),
    })?;
    let lookback = Lookback::new(&space);
    let keep = lookback.keep(args.keep)?;
    let mut estimate = Estimate::new(&space, &plan, args.threads(), keep);
    if args.keep.is_some() {
        estimate.disk_peak_bytes_of_two = None;
    }
    let forecast = match args.cluster()? {
        Some(_) if lookback == Lookback::All => {
            return Err(bad_input!(
                "cannot forecast a cluster for {}: its moves are not closed under inverses. Drop --workers",
                space.slug()
            ));
        }
        Some(cluster) => {
            let producers = Producers { processes: args.workers.unwrap_or(1), ..Producers::unknown() };
            let shards = args.shards.unwrap_or_else(|| producers.shards(&plan, lookback));
            let manifest = RunManifest::plan(spec.clone(), &space, &plan, Some(shards), keep, false)?;
            Some(Forecast::new(&manifest, &space, &plan, cluster)?)
        }
        None => None,
    };
    if let Some(file) = &args.output {
        let plan = PlanFile { spec: spec.clone(), plan: PlanDocument::new(&space, &plan) };
        write_new(file, &plan.to_toml())?;
    }
    output::line(&match (args.json, &forecast) {
        (true, cluster) => {
            let notes = &spec.notes(estimate.inverse_closed);
            serde_json::to_string(&Planned { estimate: &estimate, notes, cluster: cluster.as_ref() })?
        }
        (false, None) => {
            let lists = match has_tiny_cosets(&space, plan.shape.bits()) {
                true => "\nengine: lists of states, which are faster than cosets as small as these",
                false => "",
            };
            format!("{}\n{}{lists}", space_text(&estimate, &spec), one_text(&estimate, args.memory))
        }
        (false, Some(forecast)) => {
            format!("{}\n{}", space_text(&estimate, &spec), cluster_text(forecast))
        }
    })
}

/// Writes a file that does not exist yet.
fn write_new(path: &Path, text: &str) -> Result<()> {
    let failed =
        |error: &std::io::Error| bad_input!("cannot write {}: {}", path.display(), said_by_system(error));
    let mut file = std::fs::File::create_new(path).map_err(|error| failed(&error))?;
    file.write_all(text.as_bytes()).map_err(|error| failed(&error))
}

/// The object that `plan --json` prints.
#[derive(Serialize)]
struct Planned<'a> {
    #[serde(flatten)]
    estimate: &'a Estimate,
    /// What users must know about the results of a run.
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a Forecast>,
}

/// Describes the space and its cosets, which are the same for one process and for a cluster.
fn space_text(estimate: &Estimate, spec: &SpaceSpec) -> String {
    let board = |values: &[u16]| {
        let rows = values.chunks(spec.source.columns());
        let rows = rows.map(|row| row.iter().map(u16::to_string).collect::<Vec<_>>().join(" "));
        rows.map(|row| format!("    {row}\n")).collect::<String>()
    };
    let labels = match &estimate.labels {
        Some(labels) => format!("labels:\n{}", board(labels)),
        None => String::new(),
    };
    let told = match estimate.told_apart {
        None => String::new(),
        Some((told, all)) => {
            format!("base: {} of {}, which determine the others\n", told, many(all as u64, "piece"))
        }
    };
    let axes = estimate.axes.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
    let axes = match estimate.summands {
        1 => axes,
        summands => format!("{summands} x ({axes})"),
    };
    let reached = match &estimate.reached[..] {
        [] => String::new(),
        reached => format!(
            "axes restricted to reachable arrangements of pieces (p), orientations (o) or both (b): {}\n",
            reached.join(", ")
        ),
    };
    let patterns = match estimate.patterns {
        0 => String::new(),
        patterns => format!("{}, ", many(patterns, "pattern")),
    };
    let unused =
        estimate.symmetries_unused.iter().map(|(reason, count)| format!("; {count} unused: {reason}"));
    let unused = unused.collect::<String>();
    format!(
        "{} {}: {}, {}
{labels}{told}colouring:
{}{reached}coset: {axes} = {}
cosets: {patterns}{} under {} of {}{}{unused}
fill: {:.3}, states / (symmetries x stored bits)
layer: {} when dense",
        estimate.space,
        estimate.metric,
        many(estimate.states, "state"),
        many(estimate.moves as u64, "move"),
        board(&estimate.colouring.iter().map(|&colour| colour.into()).collect::<Vec<u16>>()),
        many(estimate.coset_bits, "bit"),
        match estimate.cosets_are_exact {
            true => many(estimate.representative_cosets, "representative"),
            false => format!("about {}", many(estimate.representative_cosets, "representative")),
        },
        estimate.symmetries_used,
        many(estimate.symmetries as u64, "symmetry"),
        or_more(estimate.symmetries_are_all),
        estimate.fill,
        HumanBytes(estimate.layer_bytes)
    )
}

/// Describes a search by one process, which may use `memory` bytes.
fn one_text(estimate: &Estimate, memory: Option<u64>) -> String {
    let cache = match memory.map(|memory| (memory, memory.checked_sub(estimate.memory_bytes))) {
        None => String::new(),
        Some((_, Some(left))) => format!(", leaving {} for layers", HumanBytes(left)),
        Some((memory, None)) => format!(", which is more than the {} of --memory", HumanBytes(memory)),
    };
    let two = match estimate.disk_peak_bytes_of_two {
        Some(two) if two < estimate.disk_peak_bytes => {
            format!(" ({} with --keep two, chosen automatically when space is short)", HumanBytes(two))
        }
        _ => String::new(),
    };
    format!(
        "memory: {}, plus page cache{cache}
peak disk use: {}{two}
time: about {} with {} ({:.1} us per dense pull, measured here; the growth is estimated)",
        HumanBytes(estimate.memory_bytes),
        HumanBytes(estimate.disk_peak_bytes),
        seconds(estimate.seconds),
        many(estimate.threads as u64, "thread"),
        estimate.pull_microseconds
    )
}

/// Describes a search by several workers.
fn cluster_text(forecast: &Forecast) -> String {
    let Cluster { workers, threads, network_bits_per_second, disk_bytes_per_second, memory_bytes, replicas } =
        forecast.cluster;
    let copies = match replicas {
        1 => String::new(),
        _ => format!(", {replicas} copies of each file"),
    };
    let idle = match forecast.idle_threads() {
        0 => String::new(),
        idle => format!(", leaving {} idle; raise --shards to use them", many(idle, "thread")),
    };
    let growth = match forecast.growth {
        GrowthSource::Known => "known",
        GrowthSource::Modelled => "counted for the first depths, then extrapolated",
    };
    let dense = match workers {
        1 => String::new(),
        _ => format!("each dense layer crosses the network {:.1} times in total\n", forecast.layers_sent),
    };
    let spill_policy = match forecast.spill_policy {
        None => String::new(),
        Some(way) => {
            let faster = match way {
                SpillPolicy::Refetch => "a link is faster than a disk",
                SpillPolicy::Spill => "a disk is at least as fast as a link",
            };
            format!(
                "beyond memory: there is not enough memory for cosets from other workers, so the time is a lower bound; start the workers with --spill-policy {way}, because {faster}\n"
            )
        }
    };
    format!(
        "cluster: {} of {}, each with {} Gbit/s, {} GB/s of disk, {} of memory{copies}
shards: {}{idle}
growth: {growth}
memory per worker: {}, plus {} for layers and cosets from other workers
peak disk use per worker: {}
{dense}sent per worker: {}, and the same amount received; {} in total
{spill_policy}time: about {}, limited by {}",
        many(workers.into(), "worker"),
        many(threads as u64, "thread"),
        network_bits_per_second as f64 / 1e9,
        disk_bytes_per_second as f64 / 1e9,
        HumanBytes(memory_bytes),
        HumanCount(forecast.shards.into()),
        HumanBytes(forecast.worker_process_bytes),
        HumanBytes(forecast.worker_cache_bytes),
        HumanBytes(forecast.worker_disk_bytes),
        HumanBytes(forecast.worker_sent_bytes),
        HumanBytes(forecast.sent_bytes),
        seconds(forecast.seconds),
        forecast.limit.as_str()
    )
}

/// Formats a time with about two digits, because the estimate is not more exact.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 600.0 => format!("{s:.0} s"),
        s if s < 36_000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}
