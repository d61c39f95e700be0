//! `fathom bench`: measures the speed of this machine, for `docs/performance.md` and for comparing machines.

use crate::arguments::BenchArguments;
use anyhow::{Context, Result};
use fathom_command::machine;
use fathom_command::output;
use fathom_command::scratch::Scratch;
use fathom_engine::directory::RunDirectory;
use fathom_engine::estimate::dense_pull_time;
use fathom_engine::observer::Silent;
use fathom_engine::rates::{self, Rate};
use fathom_engine::run::{Keep, RunManifest, SpaceSpec};
use fathom_engine::run::{Lookback, Producers};
use fathom_engine::search::{Options, Stop, search};
use fathom_engine::task::Kernel;
use fathom_kernel::SimdLevel;
use fathom_layer::LocalDisk;
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_report::text;
use fathom_space::{Labels, Plan, Shape};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// The coset axes of 3x3, 2x5, 3x4, 2x6, 4x4, 3x5 and 2x7, and whether the last axis is halved.
const SHAPES: [(&[u32], bool); 7] = [
    (&[6, 6, 6], true),
    (&[120, 120], false),
    (&[24, 24, 24], false),
    (&[720, 720], false),
    (&[24, 24, 24, 24], false),
    (&[120, 120, 120], true),
    (&[5040, 5040], false),
];

/// The axes of the cosets of 4x4.
const LARGE: &[u32] = &[24, 24, 24, 24];

pub(super) const SEARCHES: [(&str, Metric); 5] = [
    ("3x3", Metric::Multi),
    ("2x5", Metric::Multi),
    ("3x4", Metric::Multi),
    ("3x4", Metric::Single),
    ("2x6", Metric::Multi),
];

#[derive(Serialize)]
struct Bench {
    level: &'static str,
    threads: usize,
    pulls: Vec<Pull>,
    rates: Vec<Rate>,
    searches: Vec<Search>,
}

#[derive(Serialize)]
struct Pull {
    kernel: &'static str,
    axes: String,
    microseconds: f64,
    state_moves_per_second: f64,
}

#[derive(Serialize)]
struct Search {
    space: String,
    metric: String,
    states: u64,
    median_seconds: f64,
    fastest_seconds: f64,
}

pub(crate) fn bench(args: &BenchArguments) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let pulls =
        SHAPES.into_iter().flat_map(|axes| SimdLevel::ALL.map(|level| pull(axes, level))).flatten().collect();
    let root = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = scratch(&root)?;
    let shape = Shape::new(LARGE).expect("the shapes are small");
    let mut rates = rates::encodings(&shape, scratch.path())?;
    rates.extend(rates::disk(scratch.path())?);
    let searches = SEARCHES
        .into_iter()
        .map(|(board, metric)| time_search(board, metric, threads, args.repeat, &root))
        .collect::<Result<_>>()?;
    let level = SimdLevel::of_processor().as_str();
    let bench = Bench { level, threads, pulls, rates, searches };
    match args.json {
        true => output::line(&serde_json::to_string(&bench)?),
        false => output::line(table(&bench, args.repeat).trim_end()),
    }
}

/// Measures a dense pull; `None` if the engine does not support the shape.
fn pull((lengths, halved): (&[u32], bool), level: SimdLevel) -> Option<Pull> {
    let shape = if halved { Shape::halved(lengths) } else { Shape::new(lengths) };
    let shape = shape.expect("the shapes are small");
    let seconds = dense_pull_time(&shape, level)?.as_secs_f64();
    Some(Pull {
        kernel: level.as_str(),
        axes: lengths.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
            + if halved { " / 2" } else { "" },
        microseconds: seconds * 1e6,
        state_moves_per_second: shape.bits() as f64 / seconds,
    })
}

pub(super) fn scratch(root: &Path) -> Result<Scratch> {
    let made = Scratch::new_in(root, "fathom-bench-");
    made.with_context(|| format!("cannot create a directory in {}", root.display()))
}

/// Times whole searches, from planning to the last commit, with files written and synced.
fn time_search(board: &str, metric: Metric, threads: usize, repeat: u32, root: &Path) -> Result<Search> {
    let board: Board = board.parse()?;
    let mut times = Vec::new();
    let mut states = 0;
    for _ in 0..repeat {
        let directory = scratch(root)?;
        let begun = Instant::now();
        let spec =
            SpaceSpec { source: PuzzleSpec::Board(board), metric, labels: Labels::distinct(board.cells()) };
        let space = spec.space()?;
        let plan = Plan::new(&space)?;
        let producers = Producers::one_process(threads);
        let shards = producers.shards(&plan, Lookback::new(&space));
        let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), Keep::Last, false)?;
        let mut run = RunDirectory::create(&directory.path().join("run"), manifest, &[], &LocalDisk)?;
        let options = Options {
            threads,
            kernel: Kernel::Fastest,
            max_depth: None,
            memory_bytes: machine::available_bytes(),
            checkpoint_every: Options::CHECKPOINT_EVERY,
        };
        search(&mut run, &LocalDisk, options, &Stop::default(), &Silent)?;
        times.push(begun.elapsed().as_secs_f64());
        states = u64::try_from(space.states())?;
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(Search {
        space: board.to_string(),
        metric: metric.to_string(),
        states,
        median_seconds: times[times.len() / 2],
        fastest_seconds: times[0],
    })
}

fn table(bench: &Bench, repeat: u32) -> String {
    let rows = bench.pulls.iter().map(|pull| {
        let rate = format!("{:.1}", pull.state_moves_per_second / 1e9);
        [pull.kernel.into(), pull.axes.clone(), format!("{:.2}", pull.microseconds), rate]
    });
    let pulls = text::plain(["kernel", "axes", "microseconds", "10^9 state-moves/s"], rows);
    let rows =
        bench.rates.iter().map(|rate| [rate.what.into(), format!("{:.2}", rate.bytes_per_second / 1e9)]);
    let rates = text::plain(["what", "10^9 bytes/s"], rows);
    let rows = bench.searches.iter().map(|search| {
        [
            format!("{} {}", search.space, search.metric),
            search.states.to_string(),
            format!("{:.3}", search.median_seconds),
            format!("{:.3}", search.fastest_seconds),
            format!("{:.0}", search.states as f64 / search.median_seconds / 1e6),
        ]
    });
    let searches = text::plain(["space", "states", "median s", "fastest s", "10^6 states/s"], rows);
    format!(
        "SIMD level of this processor: {}\n\ndense pull of one coset through one move, one thread\n\n{pulls}\ncosets of 24 x 24 x 24 x 24 and files, one thread\n\n{rates}\nwhole search, {} threads, files written and synced, {repeat} times\n\n{searches}",
        bench.level, bench.threads
    )
}
