//! A complete search in thirty lines: `cargo run --release -p fathom-engine --example enumerate -- 3x3
//! /tmp/run`.

use fathom_engine::directory::RunDirectory;
use fathom_engine::observer::Observer;
use fathom_engine::run::{Keep, RunManifest, SpaceSpec};
use fathom_engine::run::{Lookback, Makers};
use fathom_engine::search::{Options, Stop, search};
use fathom_engine::task::Kernel;
use fathom_engine::{journal::LayerRow, summary::Summary};
use fathom_layer::LocalDisk;
use fathom_puzzle::{Metric, PuzzleSpec};
use fathom_space::{Labels, Plan};

const THREADS: usize = 2;

struct Lines;

impl Observer for Lines {
    fn layer_committed(&self, layer: &LayerRow) {
        println!("{} states at distance {}", layer.states, layer.depth);
    }
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(board), Some(path)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: enumerate ROWSxCOLUMNS DIRECTORY");
    };
    let source = PuzzleSpec::Board(board.parse()?);
    let labels = Labels::distinct(source.cells());
    let spec = SpaceSpec { source, metric: Metric::Multi, labels };
    let space = spec.space()?;
    let plan = Plan::new(&space)?;
    let shards = Makers::one_process(THREADS).shards(&plan, Lookback::of(&space));
    let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), Keep::Last, false)?;
    let mut run = RunDirectory::create(path.as_ref(), manifest, &[], &LocalDisk)?;
    let options = Options {
        threads: THREADS,
        kernel: Kernel::Fastest,
        max_depth: None,
        memory_bytes: 1 << 30,
        checkpoint_every: Options::CHECKPOINT_EVERY,
    };
    search(&mut run, &LocalDisk, options, &Stop::default(), &Lines)?;
    println!("{}", Summary::of(&run)?.to_json());
    Ok(())
}
