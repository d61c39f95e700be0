//! The status of a run on many hosts, for display.

use crate::cluster::event::Millis;
use crate::cluster::parts::{Presence, TaskProgress, Worker};
use crate::cluster::state::State;
use crate::cluster::state::failures::STALL;
use anyhow::Result;
use fathom_engine::directory::RunDirectory;
use fathom_engine::run::Task;
use fathom_engine::summary::Summary;
use fathom_proto::{Latencies, WorkerId};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Time for which a worker that is gone and holds no needed files is still shown.
const SHOWN: Duration = Duration::from_secs(3600);
/// Time without progress after which a worker is named as an obstacle.
const IDLE: Duration = Duration::from_secs(3 * 60);

/// The fields of `status --json` of a run that is served: those of a summary, and those of the cluster.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    #[serde(flatten)]
    summary: Summary,
    #[serde(flatten)]
    cluster: ClusterStatus,
}

/// The progress of a run on many hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterStatus {
    /// The depth of the current layer.
    pub depth: u32,
    /// Number of its shards that are done: computed, and held by enough workers.
    pub shards_done: u32,
    /// Number of its shards that workers compute, or that wait for copies.
    pub shards_running: u32,
    /// Number of its shards that wait to be computed.
    pub shards_waiting: u32,
    /// Seconds since the layer started.
    pub depth_seconds: f64,
    /// Estimated seconds until the layer is done; `None` before a shard is done, or while the layer cannot
    /// continue.
    pub depth_eta_seconds: Option<f64>,
    /// Bytes that the shown workers sent to peers since their processes started.
    pub sent_bytes: u64,
    /// The workers. Those that are gone are shown for a while.
    pub workers: Vec<WorkerStatus>,
    /// The names of workers without which the run cannot continue.
    pub waiting_for: Vec<String>,
    /// The reason why the run cannot continue, as text; `None` if it can.
    pub obstacle: Option<String>,
    /// The results of audits.
    pub audits: AuditStatus,
}

/// The results of audits in this epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditStatus {
    /// Number of audits that agreed with the producer of the shard.
    pub agreed: u64,
    /// Number of audits that differed from the producer.
    pub differed: u64,
    /// The names of workers that were quarantined in this epoch or an earlier one: they were wrong, and
    /// compute nothing.
    pub quarantined: Vec<String>,
}

/// The status of a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The address at which peers reach the worker.
    pub address: String,
    /// One of alive, silent (for three heartbeats), draining, awaited, lost and left.
    pub presence: String,
    /// Kernel threads.
    pub threads: u32,
    /// The kernel that the worker uses.
    pub kernel: String,
    /// Number of shards that it computes.
    pub shards_running: u32,
    /// Number of its files in the layers that the coordinator tracks.
    pub files: u32,
    /// States per second, over the last half minute.
    pub states_per_second: f64,
    /// Seconds since its last message; `None` if there was none in this epoch.
    pub heard_seconds: Option<f64>,
    /// Bytes that it sent to its peers.
    pub sent_bytes: u64,
    /// Bytes that it received from its peers.
    pub received_bytes: u64,
    /// Free bytes on its disk, within its limit.
    pub free_bytes: u64,
    /// Maximum size in bytes of the files in its store, if there is a limit.
    pub disk_limit_bytes: Option<u64>,
    /// Bytes of anonymous memory of its process.
    pub memory_bytes: u64,
    /// Its memory limit in bytes, which includes layers in the page cache.
    pub memory_limit_bytes: u64,
    /// Bytes that its process read from disks.
    pub read_bytes: u64,
    /// Bytes that its process wrote to disks.
    pub written_bytes: u64,
    /// Bytes of cosets from peers that it has kept in memory.
    pub kept_bytes: u64,
    /// Bytes of cosets from peers that it has written to disk, because they did not fit in memory.
    pub spilled_bytes: u64,
    /// Latencies of its requests to peers.
    #[serde(skip)]
    pub fetches: Latencies,
}

impl Status {
    /// Returns the status of a run that is served.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn new(run: &RunDirectory, state: &State, now: Millis) -> Result<Self> {
        Ok(Self { summary: Summary::new(run)?, cluster: ClusterStatus::new(state, now) })
    }
}

impl ClusterStatus {
    /// Returns the status of a cluster.
    pub(super) fn new(state: &State, now: Millis) -> Self {
        let seconds = now.since(state.scheduler().begun()).as_secs_f64();
        let (mut done, mut running) = (0, 0);
        for shard in state.shards() {
            let task = Task { depth: state.depth(), shard };
            match state.tasks().get(task).map(|task| &task.making) {
                _ if state.is_done(task) => done += 1,
                Some(TaskProgress::Running(..) | TaskProgress::Made(_)) => running += 1,
                _ => {}
            }
        }
        let waiting = state.rules().shards - done - running;
        // A layer that waits for files, workers or free space has no rate.
        let obstacle = obstacle(state, now);
        let is_at_work = obstacle.is_none()
            && state.files().missing().is_empty()
            && state.members().alive().next().is_some();
        let eta = (done > 0 && is_at_work)
            .then(|| seconds / f64::from(done) * f64::from(state.rules().shards - done));
        let is_shown = |id: WorkerId, worker: &Worker| match worker.presence() {
            Presence::Alive(_) | Presence::Reconnecting => true,
            Presence::Lost | Presence::Left => {
                !state.files().held_by(id).is_empty() || now.since(worker.heard) < SHOWN
            }
        };
        let shown = state.members().iter().filter(|(id, worker)| is_shown(*id, worker));
        let workers: Vec<WorkerStatus> =
            shown.map(|(id, worker)| WorkerStatus::new(id, worker, state, now)).collect();
        let name =
            |id: &WorkerId| state.members().get(*id).map_or_else(|| id.to_string(), |w| w.name.clone());
        let (agreed, differed) = state.audits().results();
        let quarantined = state.members().iter().filter(|(_, worker)| worker.is_set_aside);
        let quarantined = quarantined.map(|(_, worker)| worker.name.clone()).collect();
        Self {
            depth: state.depth().0,
            shards_done: done,
            shards_running: running,
            shards_waiting: waiting,
            depth_seconds: seconds,
            depth_eta_seconds: eta,
            sent_bytes: workers.iter().map(|worker| worker.sent_bytes).sum(),
            workers,
            waiting_for: state.waiting_for().iter().map(name).collect(),
            obstacle,
            audits: AuditStatus { agreed, differed, quarantined },
        }
    }
}

impl WorkerStatus {
    fn new(id: WorkerId, worker: &Worker, state: &State, now: Millis) -> Self {
        let presence = match worker.presence() {
            // The worker's lease is not over yet.
            Presence::Alive(_) if now.since(worker.heard) > 3 * state.rules().heartbeat => "silent",
            Presence::Alive(_) if worker.draining => "draining",
            Presence::Alive(_) => "alive",
            Presence::Reconnecting => "awaited",
            Presence::Lost => "lost",
            Presence::Left => "left",
        };
        let heard =
            (worker.presence() != Presence::Reconnecting).then(|| now.since(worker.heard).as_secs_f64());
        Self {
            id: id.to_string(),
            name: worker.name.clone(),
            address: worker.address.clone(),
            presence: presence.into(),
            threads: worker.threads,
            kernel: worker.kernel.clone(),
            shards_running: state.tasks().running(id).len() as u32,
            files: state.files().held_by(id).len() as u32,
            states_per_second: worker.rate.per_second(now).filter(|_| worker.is_alive()).unwrap_or(0.0),
            heard_seconds: heard,
            sent_bytes: worker.progress.sent_bytes,
            received_bytes: worker.progress.received_bytes,
            free_bytes: worker.progress.free_bytes,
            disk_limit_bytes: worker.progress.usage.disk_limit_bytes,
            memory_bytes: worker.progress.usage.memory_bytes,
            memory_limit_bytes: worker.progress.usage.memory_limit_bytes,
            read_bytes: worker.progress.usage.read_bytes,
            written_bytes: worker.progress.usage.written_bytes,
            kept_bytes: worker.progress.usage.kept_bytes,
            spilled_bytes: worker.progress.usage.spilled_bytes,
            fetches: worker.progress.usage.fetches,
        }
    }
}

/// Returns the reason why the run cannot continue, if there is one. A run that ends waits for nothing, although its
/// workers take no more files.
pub(super) fn obstacle(state: &State, now: Millis) -> Option<String> {
    if state.ending().is_some() {
        return None;
    }
    let name = |id: &WorkerId| {
        state.members().get(*id).map_or_else(|| id.to_string(), |worker| format!("{} ({id})", worker.name))
    };
    if let Some(task) = state.files().missing().first() {
        let holders: Vec<String> = state.waiting_for().iter().map(name).collect();
        let what = format!(
            "{} files are held only by disconnected workers, among them shard {} of depth {}",
            state.files().missing().len(),
            task.shard,
            task.depth
        );
        return Some(match holders.is_empty() {
            true => format!(
                "{what}: no intact copy is left. Restore one to a worker's store and restart that worker"
            ),
            false => format!("{what}: waiting for {} to return with its store", holders.join(", ")),
        });
    }
    let alive = state.members().alive().count();
    if alive == 0 {
        return Some(format!("no worker is connected: start one with '{}'", state.commands().join()));
    }
    if let Some(dispute) = state.dispute() {
        return Some(dispute);
    }
    if alive < state.rules().replicas {
        return Some(format!(
            "{} workers must hold each file, but only {alive} are connected: start more",
            state.rules().replicas
        ));
    }
    if state.members().alive().all(|(_, worker)| worker.draining) {
        return Some("all workers are being drained: start another one".into());
    }
    if state.members().alive().all(|(_, worker)| worker.backoff_until > now) {
        return Some(
            "all workers back off because their disks are full, their quotas are used up, or tasks failed (see the log)".into(),
        );
    }
    without_copies(state, now).or_else(|| unreached(state, now)).or_else(|| stalled(state, now))
}

/// Returns a message about the workers missing for the required number of copies.
fn without_copies(state: &State, now: Millis) -> Option<String> {
    let is_willing = |worker: &Worker| worker.is_willing(now);
    let names = state.members().alive().filter(|(_, worker)| !is_willing(worker));
    let names: Vec<String> = names.map(|(id, worker)| format!("{} ({id})", worker.name)).collect();
    let willing = state.members().alive().filter(|(_, worker)| is_willing(worker)).count();
    (willing < state.rules().replicas).then(|| {
        format!(
            "{} workers must hold each file, but {} cannot take copies now because they are drained or back off: a disk may be full or a quota used up (see the log). Start another worker",
            state.rules().replicas,
            names.join(", ")
        )
    })
}

/// Returns a message about workers that have made no progress on their commands for a while.
fn stalled(state: &State, now: Millis) -> Option<String> {
    let stalled = state.members().alive().filter(|(_, worker)| worker.is_stuck(now, IDLE));
    let names: Vec<String> = stalled
        .map(|(_, worker)| {
            let minutes = now.since(worker.moved).as_secs() / 60;
            format!("{} has made no progress on its commands for {minutes} min", worker.name)
        })
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: its disk or a network file system may hang; after {} min others take over",
            names.join(", "),
            STALL.as_secs() / 60
        )
    })
}

/// Returns a message about workers that cannot reach others, and the consequences for the run.
fn unreached(state: &State, now: Millis) -> Option<String> {
    let pairs: Vec<String> = state
        .members()
        .alive()
        .flat_map(|(_, worker)| {
            let marked = worker.unreached.iter().filter(|(_, unreached)| unreached.is_marked(now));
            marked.filter_map(|(peer, unreached)| {
                let peer = state.members().get(*peer)?;
                let (from, to, at) = (&worker.name, &peer.name, &peer.address);
                Some(format!("{from} cannot reach {to} at {at} ({})", unreached.message()))
            })
        })
        .collect();
    let able = state.members().alive().filter(|(_, worker)| worker.is_able(now)).map(|(_, w)| w.name.clone());
    let able: Vec<String> = able.collect();
    let what = match able.is_empty() {
        true => "no worker can reach all needed files".to_owned(),
        false => format!("{} can reach all needed files and continue", able.join(", ")),
    };
    (!pairs.is_empty()).then(|| {
        format!(
            "{}; {what}. Check firewalls and --advertise; connections are retried every minute",
            pairs.join("; ")
        )
    })
}
