//! Serves a run to workers, from the first listener to the last reply, for `fathom serve` and `fathom run
//! --workers`.

use crate::arguments::ClusterArguments;
use crate::commands::progress::coordinator::{DisplayOptions, ServedDisplay};
use crate::commands::result;
use crate::commands::run_presence::RunPresence;
use anyhow::{Context, Result, anyhow};
use fathom_begin::new_run::is_same;
use fathom_command::activity::doing;
use fathom_command::bad_input;
use fathom_command::exit::said_by_system;
use fathom_command::interrupt::tell_of_stop;
use fathom_command::shell;
use fathom_command::terminal_line;
use fathom_coordinator::cluster::event::Ending;
use fathom_coordinator::cluster::handle::CoordinatorHandle;
use fathom_coordinator::cluster::journal_tables;
use fathom_coordinator::cluster::report_bounds::Bounds;
use fathom_coordinator::cluster::serve::Coordinator;
use fathom_coordinator::cluster::service::Service;
use fathom_coordinator::cluster::state::Rules;
use fathom_coordinator::cluster::suggested_commands::Commands;
use fathom_engine::directory::{RunDirectory, Visited};
use fathom_engine::journal::{self, LayersAt};
use fathom_engine::run::{Geometry, ShardOrder};
use fathom_engine::watch;
use fathom_layer::LocalDisk;
use fathom_proto::access::{Access, LocalToken, local_token, server};
use fathom_proto::v1::DescribeRunResponse;
use fathom_space::CosetGraph;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The time limit for the last replies when the run has ended.
const LAST_REPLIES: Duration = Duration::from_millis(500);

/// Returns how a run ended, if it has already ended before it is served.
pub(crate) fn ended(run: &RunDirectory, max_depth: Option<u32>) -> Result<Option<Ending>> {
    let Visited { layers, visited, .. } = run.visited()?;
    let all = run.all_states()?;
    let deep_enough = max_depth.is_some_and(|max| layers.len() > max as usize);
    Ok(match visited == all {
        true => Some(Ending::Complete),
        false => deep_enough.then_some(Ending::MaxDepth),
    })
}

/// Makes the first signal call `tell` and limit the journal's waits to seconds from then on. A second signal
/// ends the process immediately.
pub(crate) fn on_signals(handle: CoordinatorHandle, tell: fn(&CoordinatorHandle)) {
    tell_of_stop(move || {
        tell(&handle);
        journal::give_up();
    });
}

/// Prints the result of a run that has ended. `again` says how it is continued if it was stopped.
pub(crate) fn report(ending: &Ending, run: &RunDirectory, json: bool, again: &str) -> Result<()> {
    watch::write(run, &LocalDisk)?;
    match ending {
        Ending::Complete | Ending::MaxDepth => result::print(run, json),
        Ending::Stopped | Ending::Terminated => {
            let path = shell::path(&run.path);
            terminal_line::tell(&format!(
                "stopped; {again} to continue, or 'fathom status {path}' to see the progress"
            ));
            Ok(())
        }
        Ending::Failed(message) => Err(anyhow!("{message}")),
    }
}

/// Listens for workers, which are accepted later. Returns the listener with its runtime.
///
/// # Errors
/// If another process listens there, or this host does not have the address.
pub(crate) fn listen(address: SocketAddr) -> Result<(Runtime, TcpListener)> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind(address));
    let listener = listener.map_err(|error| {
        let why = said_by_system(&error);
        bad_input!("cannot listen on {address}: {why}. Choose another address with --listen")
    })?;
    Ok((runtime, listener))
}

/// A run that is being served.
pub(crate) struct Served {
    runtime: Runtime,
    coordinator: Coordinator<'static>,
    /// Queries the coordinator from other threads of this process.
    pub(crate) handle: CoordinatorHandle,
    /// The address at which the coordinator listens.
    pub(crate) address: SocketAddr,
    /// The address at which other hosts reach it, as HOST:PORT.
    pub(crate) called: String,
    server: JoinHandle<()>,
    /// The token that callers on this machine must present, if access is not otherwise restricted.
    token: Option<LocalToken>,
    /// Shows the progress of the run.
    display: ServedDisplay,
    /// Dropped to stop the server.
    over: oneshot::Sender<()>,
}

impl Served {
    /// Restores the run from its journal and accepts the workers that connect to `listener`.
    pub(crate) fn begin(
        mut run: RunDirectory,
        (runtime, listener): (Runtime, TcpListener),
        layers_at: &LayersAt,
        args: &ClusterArguments,
        access: &Access,
        options: DisplayOptions,
    ) -> Result<Self> {
        let layers_at = fitting(&run, layers_at)?;
        let definition = run.manifest.clone();
        let watched = run.journal.watched().context("cannot read run.db")?;
        let shared_store = match &layers_at {
            LayersAt::Workers => None,
            LayersAt::RunDirectory => Some(absolute(&run.path)?),
            LayersAt::Store(path) => Some(absolute(path)?),
        };
        if args.replicas > 1 && shared_store.is_some() {
            return Err(bad_input!(
                "--replicas cannot be used with --shared-store, where each file is stored once for all workers"
            ));
        }
        if let LayersAt::Store(path) = &layers_at {
            run.claim(path, &LocalDisk)?;
        }
        let shared_store_id = match &layers_at {
            LayersAt::Store(_) => run.journal.store_id().context("cannot read run.db")?,
            LayersAt::RunDirectory | LayersAt::Workers => None,
        };
        let is_local = options.holds_layers;
        let options = DisplayOptions {
            holds_layers: options.holds_layers || layers_at == LayersAt::RunDirectory,
            ..options
        };
        let rules = Rules {
            shards: definition.shards,
            // Placeholders: these two are set from the journal and the space when the run is restored.
            states: u64::MAX,
            bounds: Bounds::none(),
            keep: definition.keep,
            lookback: run.space.lookback(),
            max_depth: args.max_depth,
            shared_store: shared_store.is_some(),
            replicas: args.replicas as usize,
            lease: args.lease,
            heartbeat: args.lease / 5,
            audit: args.audit,
            clean_stores: args.clean_stores,
        };
        let address = listener.local_addr()?;
        // The token is published before any caller is accepted, so that all callers find it.
        let token = match access.needs_local_token(address) {
            true => Some(LocalToken::publish(&run.path, address)?),
            false => {
                local_token::remove_stale(address);
                None
            }
        };
        let access = match &token {
            Some(token) => access.requiring(token),
            None => access.clone(),
        };
        let access = access.for_lease(args.lease);
        let commands = Commands::new(address, args.advertise.as_ref(), access.options());
        let called = commands.address().to_owned();
        let at_work = RunPresence::begin(&run.path, "served", Some(&commands), None);
        // If another process locks run.db, or its disk is full, the run pauses instead of failing.
        run.journal.wait_while_busy().context("cannot use run.db")?;
        order_shards(&mut run, &layers_at, is_local)?;
        let (coordinator, handle) =
            Coordinator::new(run, &LocalDisk, rules, layers_at, (access.clone(), commands))?;
        let description = DescribeRunResponse {
            definition: definition.to_toml(),
            shared_store: shared_store.unwrap_or_default(),
            shared_store_id: shared_store_id.unwrap_or_default(),
            watched: watched.into_iter().map(|state| state.tiles.into_vec().into()).collect(),
            shard_order: match coordinator.order() {
                order if order.is_by_number() => Vec::new(),
                order => order.shards().iter().map(|shard| shard.0).collect(),
            },
            lease_ms: rules.lease.as_millis() as u64,
        };
        let service = Service::new(handle.clone(), coordinator.geometry(), description, rules.heartbeat);
        let services = service.into_services(&access);
        let incoming = {
            let _in_runtime = runtime.enter();
            access.incoming(listener)?
        };
        let (over, is_over) = oneshot::channel::<()>();
        let server = runtime.spawn(async move {
            // No value is ever sent: the sender is dropped when the run ends.
            let over = async { drop(is_over.await) };
            if let Err(error) = server::serve(services, incoming, over).await {
                tracing::error!(error = &error as &dyn std::error::Error, "workers are no longer served");
            }
        });
        tracing::info!(%address, "listening");
        let cut = coordinator.geometry().cut;
        let display = ServedDisplay::new(coordinator.run(), cut, handle.clone(), at_work, &options)?;
        Ok(Self { runtime, coordinator, handle, address, called, server, token, display, over })
    }

    /// Returns the file with the token for workers on this machine, if they need one.
    pub(crate) fn token_file(&self) -> Option<PathBuf> {
        self.token.as_ref().map(|token| token.file().to_owned())
    }

    /// Returns the run, before it is served.
    pub(crate) fn run(&self) -> &RunDirectory {
        self.coordinator.run()
    }

    /// Serves until the run ends.
    pub(crate) fn until_end(self) -> Result<(Ending, RunDirectory)> {
        let Self { runtime, coordinator, server, mut token, over, display, .. } = self;
        let end = coordinator.serve();
        drop(display);
        if let (Ok((Ending::Terminated, _)), Some(token)) = (&end, &mut token) {
            token.keep();
        }
        drop(over);
        // Replies in flight are delivered; other pending calls fail.
        let _ = runtime.block_on(async { tokio::time::timeout(LAST_REPLIES, server).await });
        runtime.shutdown_background();
        end
    }
}

/// Chooses the order in which workers get the shards of a new run, so that they fetch little from each other,
/// or read little from the shared store. `is_local` says whether 'fathom run' starts the workers.
fn order_shards(run: &mut RunDirectory, layers_at: &LayersAt, is_local: bool) -> Result<()> {
    /// Smaller layers of a shared store stay in memory.
    const LARGE_LAYER: u64 = 1 << 30;
    let shards = run.manifest.shards;
    let is_ordered =
        journal_tables::shard_order(&run.journal, shards).context("cannot read run.db")?.is_some();
    if is_ordered || !run.visited()?.layers.is_empty() {
        return Ok(());
    }
    let colouring = run.manifest.plan.cosets()?.colouring(run.space.cosets()?)?;
    let geometry = Geometry::new(&run.manifest, run.space.cosets()?, &colouring)?;
    let is_worth = match layers_at {
        LayersAt::Workers => true,
        LayersAt::Store(_) if !is_local => geometry.dense_bytes >= LARGE_LAYER,
        // 'fathom run' computes the tables for its workers while they start, so that they are not computed
        // twice.
        LayersAt::Store(_) | LayersAt::RunDirectory => {
            geometry.dense_bytes >= LARGE_LAYER && run.graph.is_some()
        }
    };
    let cosets = run.manifest.plan.cosets()?.cosets;
    if !is_worth || shards == 1 || !ShardOrder::is_sought(run.space.cosets()?, &colouring, cosets) {
        return Ok(());
    }
    let _ordering = doing("ordering the shards");
    let graph = match run.graph.take() {
        Some(graph) => graph,
        None => Arc::new(CosetGraph::build(run.space.cosets()?, &colouring)?),
    };
    geometry.check_graph(&graph)?;
    let order = ShardOrder::by_bisection(&graph, geometry.cut, ShardOrder::MAX_BYTES);
    journal_tables::save_shard_order(&mut run.journal, &order).context("cannot write run.db")
}

/// Returns where the layers of the run are. Returns an error if the run has layers elsewhere.
fn fitting(run: &RunDirectory, args: &LayersAt) -> Result<LayersAt> {
    let args = match args {
        LayersAt::Store(path) if is_same(path, &run.path) => LayersAt::RunDirectory,
        other => other.clone(),
    };
    let Visited { layers, .. } = run.visited()?;
    let before = run.journal.layers_at().context("cannot read run.db")?;
    let same = match (&before, &args) {
        (LayersAt::Store(a), LayersAt::Store(b)) => is_same(a, b),
        (before, args) => before == args,
    };
    if layers.is_empty() || same {
        return Ok(args);
    }
    let path = shell::path(&run.path);
    Err(match before {
        LayersAt::RunDirectory => bad_input!(
            "the layers of the run in {path} are in its own directory. Use --shared-store {path} if all workers can access it, or 'fathom resume {path}'"
        ),
        LayersAt::Store(store) => bad_input!(
            "the layers of the run in {path} are in {}. Use --shared-store {}",
            store.display(),
            shell::path(&store)
        ),
        LayersAt::Workers => {
            bad_input!("the layers of the run in {path} are on its workers. Drop --shared-store")
        }
    })
}

fn absolute(path: &Path) -> Result<String> {
    let absolute = std::path::absolute(path)?;
    absolute.to_str().map(str::to_owned).ok_or_else(|| {
        bad_input!(
            "{} is not valid UTF-8, so it cannot be sent to workers. Choose another directory",
            path.display()
        )
    })
}
