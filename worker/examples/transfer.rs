//! Measures how fast one worker gets cosets from another. `records/transfers.sh` runs both sides:
//!
//!     transfer serve 10.78.0.1:7500 --dir DIR    creates a layer and serves it until standard input ends
//!     transfer fetch 10.78.0.1:7500 --dir DIR    fetches all cosets of the layer, several times
//!
//! Both sides print their processor time, and the fetching side the rate on the wire.

use anyhow::{Context, Result, anyhow};
use clap::{Args, Parser};
use fathom_command::machine::processor_seconds;
use fathom_engine::run::{Depth, Geometry, ShardCut, Task};
use fathom_engine::task::{Layer, Store};
use fathom_layer::{ImportMemory, Imports, LocalDisk, Totals};
use fathom_proto::access::{Access, AccessArguments, server};
use fathom_proto::v1;
use fathom_space::CosetId;
use fathom_worker::cluster::Meter;
use fathom_worker::cluster::files::OpenFiles;
use fathom_worker::cluster::holders::Holders;
use fathom_worker::cluster::peer_client::Fetcher;
use fathom_worker::cluster::peer_server::Exchange;
use std::io::{Read, stdin};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::net::TcpListener;

/// The cosets of 4x4: 331,776 bits, and about 1,000 of them in a shard.
const PACKED_BYTES: u32 = 41_472;
const OF_A_SHARD: u32 = 1000;
const DEPTH: Depth = Depth(3);
/// Threads for the network, as in a worker.
const NETWORK_THREADS: usize = 2;

#[derive(Debug, Parser)]
enum Command {
    /// Create a layer and serve it
    Serve(Side),
    /// Fetch the layer
    Fetch(Side),
}

#[derive(Debug, Args)]
struct Side {
    /// Address at which the layer is served
    address: SocketAddr,
    /// Directory for temporary files
    #[arg(long)]
    dir: PathBuf,
    /// Number of cosets of the layer
    #[arg(long, default_value_t = 20_000)]
    cosets: u32,
    /// One bit in this many is set
    #[arg(long, default_value_t = 2)]
    one_in: u32,
    /// Number of times the layer is fetched
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    #[command(flatten)]
    access: AccessArguments,
}

fn main() -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(NETWORK_THREADS).enable_all().build()?;
    match Command::parse() {
        Command::Serve(side) => runtime.block_on(serve(&side)),
        Command::Fetch(side) => runtime.block_on(fetch(&side)),
    }
}

impl Side {
    fn geometry(&self) -> Result<Geometry> {
        Ok(Geometry {
            cut: ShardCut::new(self.cosets, self.cosets.div_ceil(OF_A_SHARD)).context("too few cosets")?,
            fingerprint: [7; 32],
            packed_bytes: PACKED_BYTES,
            row_bits: PACKED_BYTES * 8,
            dense_bytes: u64::from(self.cosets) * u64::from(PACKED_BYTES),
        })
    }
}

async fn serve(side: &Side) -> Result<()> {
    let geometry = side.geometry()?;
    let store: &'static Store<'static> = Box::leak(Box::new(Store::at(&side.dir, &LocalDisk)?));
    store.prepare(DEPTH)?;
    let mut random = fastrand::Rng::with_seed(7);
    for shard in geometry.cut.ids() {
        let mut writer = store.writer(&geometry, Task { depth: DEPTH, shard })?;
        let mut stored = 0;
        for _ in geometry.cut.range(shard) {
            // Each round leaves half of the bits.
            let mut packed = vec![0xff_u8; PACKED_BYTES as usize];
            for _ in 0..side.one_in.ilog2() {
                packed.iter_mut().for_each(|byte| *byte &= random.u8(..));
            }
            let states = packed.iter().map(|byte| byte.count_ones()).sum();
            writer.push(&packed, states, states)?;
            stored += u64::from(states);
        }
        writer.finish(Totals { stored, states: stored, pairs: None, inverse_pairs: None })?;
    }
    let access = Access::load(&side.access)?;
    let incoming = access.incoming(TcpListener::bind(side.address).await?)?;
    let exchange = Exchange::new(OpenFiles::new(store, geometry), geometry, Arc::default());
    tokio::spawn(server::serve(exchange.into_services(&access), incoming, std::future::pending()));
    let before = processor_seconds();
    println!("serving");
    tokio::task::spawn_blocking(|| stdin().read_to_end(&mut Vec::new())).await??;
    println!("serving took {:.2} s of CPU time", processor_seconds() - before);
    Ok(())
}

async fn fetch(side: &Side) -> Result<()> {
    let geometry = side.geometry()?;
    let meter = Arc::new(Meter::default());
    let fetcher = Arc::new(Fetcher::new(Access::load(&side.access)?, geometry, Arc::clone(&meter)));
    let shards =
        geometry.cut.ids().map(|_| v1::HeldShard { holders: vec![0], digest: Vec::new().into() }).collect();
    let layers = vec![v1::HeldLayer { depth: DEPTH.0, shards }];
    let holders = v1::Holders { version: 1, addresses: vec![side.address.to_string()], layers };
    let holders = Arc::new(Holders::new(holders));
    let all: Vec<CosetId> = (0..side.cosets).map(CosetId).collect();
    let memory = Arc::new(ImportMemory::new(u64::MAX));
    for _ in 0..side.rounds {
        let imports = Imports::new(&side.dir, side.cosets, geometry.tensor(), Arc::clone(&memory));
        let layer = Arc::new(Layer::partial(geometry.cut, Some(imports)));
        let (before, received, begun) =
            (processor_seconds(), meter.received.load(Ordering::Relaxed), Instant::now());
        fetcher
            .cosets(DEPTH, &all, &layer, &holders)
            .await
            .map_err(|failure| anyhow!("cannot fetch: {failure:?}"))?;
        let seconds = begun.elapsed().as_secs_f64();
        let bytes = meter.received.load(Ordering::Relaxed) - received;
        println!(
            "fetched {bytes} bytes in {seconds:.2} s: {:.3} Gbit/s; fetching took {:.2} s of CPU time",
            bytes as f64 * 8e-9 / seconds,
            processor_seconds() - before
        );
    }
    Ok(())
}
