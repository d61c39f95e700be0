//! A run at a moment, from any source: the data of the page and of the metrics.

use fathom_proto::Latencies;
use serde::Serialize;
use std::collections::BTreeMap;

/// A snapshot of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The run as a whole.
    pub run: RunFacts,
    /// The finished depths, and the estimates for the next ones.
    pub growth: Growth,
    /// The shards of the present depth, each with the number of the worker most involved with it; none for a run by
    /// lists, whose shards are all done at the same time.
    pub shards: Vec<(ShardState, Option<u32>)>,
    /// The workers, indexed by number.
    pub workers: Vec<WorkerFacts>,
    /// The events since the last snapshot, oldest first.
    pub events: Vec<EventFacts>,
    /// Numbers only for the metrics.
    pub tallies: Tallies,
}

/// The progress of a shard of the current layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShardState {
    /// No worker computes the shard.
    #[default]
    Waiting,
    /// No worker computes the shard, because an attempt failed.
    Failed,
    /// A worker is fetching the inputs of the shard.
    Fetching,
    /// A worker is computing the shard.
    Running,
    /// The shard is computed, but too few workers hold it.
    Copying,
    /// The shard is done.
    Done,
}

impl ShardState {
    /// All states, each with its letter and its name.
    pub const ALL: [(Self, char, &'static str); 6] = [
        (Self::Waiting, 'w', "waiting"),
        (Self::Failed, 'f', "failed"),
        (Self::Fetching, 'g', "fetching"),
        (Self::Running, 'r', "running"),
        (Self::Copying, 'c', "copying"),
        (Self::Done, 'd', "done"),
    ];
}

/// The state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Tables are being computed.
    #[default]
    Preparing,
    /// A depth is being computed.
    Running,
    /// The run waits; [`RunFacts::obstacle`] says why.
    Waiting,
    /// No process is known to work on the run.
    Unfinished,
    /// The last requested depth is done.
    DeepEnough,
    /// The run was stopped, and can be continued.
    Stopped,
    /// The run cannot continue.
    Failed,
    /// Every state was visited.
    Complete,
}

impl RunState {
    /// Returns whether this state is final for the process that shows the page.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Preparing | Self::Running | Self::Waiting)
    }
}

/// A run as a whole. Numbers of states are strings of digits, because they exceed the exact integers of a
/// browser.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunFacts {
    /// The display name of the puzzle.
    pub title: String,
    /// The space and the metric in the form that commands accept.
    pub name: String,
    /// The first digits of the fingerprint, the space, and the metric.
    pub identity: [String; 3],
    /// The state of the run.
    pub state: RunState,
    /// States of the space, if their number is known.
    pub states: Option<String>,
    /// The visited states, including those of the present depth.
    pub visited: String,
    /// The visited states as a share of all states of the space, if their number is known.
    pub share: Option<f64>,
    /// The state or the states from which distances are counted.
    pub distances_from: &'static str,
    /// Whether the states of the next depths and the remaining time are estimated.
    pub has_forecast: bool,
    /// The present depth; the last one if the run is complete.
    pub depth: Option<u32>,
    /// The share of the present depth that is done, from 0 to 1.
    pub depth_share: f64,
    /// The states found in the present depth.
    pub depth_states: String,
    /// States a second, over the last half minute.
    pub rate: Option<f64>,
    /// Estimated remaining seconds of the present depth.
    pub depth_left: Option<f64>,
    /// Estimated remaining seconds of the run: minimum and maximum.
    pub run_left: Option<[f64; 2]>,
    /// Seconds that the finished depths took.
    pub seconds: f64,
    /// Bytes of the layers that are kept.
    pub disk_used: u64,
    /// Maximum number of bytes of the next layer, if it is known.
    pub disk_next: Option<u64>,
    /// Maximum number of bytes of the files of a run of one process.
    pub disk_limit: Option<u64>,
    /// Free bytes on the file system of the run's directory; on many hosts, the minimum over the workers.
    pub disk_free: Option<u64>,
    /// Bytes of private memory of this process; on many hosts, of all workers together.
    pub memory: Option<u64>,
    /// Memory limit of this process, or of all workers together, including layers in the page cache.
    pub memory_limit: Option<u64>,
    /// Bytes that this process, or all workers together, have read from disks.
    pub read: Option<u64>,
    /// Bytes that workers have sent each other; `None` for a run of one process.
    pub sent: Option<u64>,
    /// The seconds in which half of the fetches between workers are complete, and 99 % of them; `None`
    /// within the pair stands for more than ten.
    pub fetches: Option<[Option<f64>; 2]>,
    /// The digest of the finished depths.
    pub digest: String,
    /// The name of the largest distance, and its value, if the run is complete.
    pub largest: Option<(String, u32)>,
    /// The note that distances are one-way, if they are.
    pub one_way: Option<&'static str>,
    /// A sentence stating that the counts add up, and to what, if the run is complete.
    pub check: Option<String>,
    /// The reason why the run waits, as text.
    pub obstacle: Option<String>,
    /// The number of kernel threads, of this process or of all connected workers.
    pub threads: Option<u64>,
    /// The formats in which a report is available; empty until the run is complete.
    pub reports: Vec<&'static str>,
}

impl RunFacts {
    /// Sets the reason why the run waits, unless the run is over. The duration of the wait is not known.
    pub fn wait_for(&mut self, obstacle: String) {
        self.obstacle = Some(obstacle);
        if self.state == RunState::Running {
            self.state = RunState::Waiting;
            (self.run_left, self.depth_left) = (None, None);
        }
    }
}

/// The growth of the space.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Growth {
    /// The finished depths.
    pub depths: Vec<DepthFacts>,
    /// The expected number of states at each of the next depths.
    pub expected: Vec<f64>,
}

/// A finished depth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DepthFacts {
    /// The states of the depth.
    pub states: String,
    /// The states of the depth up to symmetry, if counted.
    pub classes: Option<String>,
    /// Seconds that the depth took.
    pub seconds: f64,
    /// Bytes of the depth's files as the search wrote them.
    pub bytes: u64,
}

/// A worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkerFacts {
    /// The first characters of the worker's id.
    pub id: String,
    /// The worker's name.
    pub name: String,
    /// The address at which its peers reach it.
    pub address: String,
    /// One of alive, silent, draining, awaited, lost, left.
    pub presence: String,
    /// Seconds since the worker's last message, if that is too long.
    pub silent: Option<u64>,
    /// Kernel threads.
    pub threads: u32,
    /// The name of the worker's kernel.
    pub kernel: String,
    /// The shards that it is working on.
    pub shards: u32,
    /// States a second, over the last half minute.
    pub rate: f64,
    /// Bytes that it has sent to its peers.
    pub sent: u64,
    /// Bytes that it has received from its peers.
    pub received: u64,
    /// Free bytes of its disk.
    pub free: u64,
    /// Bytes of private memory of its process.
    pub memory: u64,
    /// Bytes that its process has read from disks.
    pub read: u64,
    /// Bytes that its process has written to disks.
    pub written: u64,
    /// Its earlier rates, one for every three seconds, oldest first.
    #[serde(skip)]
    pub history: Vec<f64>,
}

/// An event of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EventFacts {
    /// Milliseconds since 1970.
    pub time: u64,
    /// One of info, warn, error.
    pub severity: &'static str,
    /// The kind of event.
    pub what: String,
    /// The depth concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The shard concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<u32>,
    /// The worker concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Details, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Numbers that only the metrics have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tallies {
    /// How often each kind of event has occurred.
    pub events: BTreeMap<String, u64>,
    /// Cosets that are done in the present depth; `None` for a run that is served or by lists.
    pub cosets: Option<u64>,
    /// How long the journal takes to make writes durable; `None` for a run of one process.
    pub journal: Option<Latencies>,
    /// How long peers take to send what workers request; `None` for a run of one process.
    pub fetches: Option<Latencies>,
    /// Failures that were retried; `None` for a run of one process.
    pub faults: Option<Faults>,
}

/// Failures of tasks and copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// How often tasks and copies failed, by the kind of failure.
    pub failures: BTreeMap<&'static str, u64>,
    /// How often a task was assigned again.
    pub retries: u64,
}
