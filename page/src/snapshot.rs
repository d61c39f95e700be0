//! A run at a moment, from any source: the data of the page and of the metrics.

use fathom_proto::Latencies;
use serde::Serialize;
use std::collections::BTreeMap;

/// A snapshot of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The run as a whole.
    pub run: RunFacts,
    /// The finished depths, and what is expected after them.
    pub growth: Growth,
    /// The shards of the present depth, with the number of the worker that has most to do with each.
    pub shards: Vec<(ShardState, Option<u32>)>,
    /// The workers, each at its number.
    pub workers: Vec<WorkerFacts>,
    /// The events since the last snapshot, oldest first.
    pub events: Vec<EventFacts>,
    /// Numbers for the metrics alone.
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
    /// A worker fetches what it reads to compute the shard.
    Fetching,
    /// A worker computes the shard.
    Running,
    /// The shard is made, but too few workers hold it.
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
    /// Tables are being made.
    #[default]
    Preparing,
    /// A depth is being computed.
    Running,
    /// The run waits; [`RunFacts::obstacle`] says why.
    Waiting,
    /// No process is known to work on the run.
    Unfinished,
    /// The last depth that was asked for is done.
    DeepEnough,
    /// The run was stopped, and can go on.
    Stopped,
    /// The run cannot go on.
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

/// A run as a whole. Numbers of states are digits, because they are larger than a browser counts exactly.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunFacts {
    /// The name of the puzzle for people.
    pub title: String,
    /// The space and the metric as commands take them.
    pub name: String,
    /// The state of the run.
    pub state: RunState,
    /// States of the space.
    pub states: String,
    /// The states that were visited, those of the present depth included.
    pub visited: String,
    /// The visited states over all states of the space.
    pub share: f64,
    /// The present depth; the last one if the run is complete.
    pub depth: Option<u32>,
    /// The share of the present depth that is done, from 0 to 1.
    pub depth_share: f64,
    /// The states that were found in the present depth.
    pub depth_states: String,
    /// States a second, over the last half minute.
    pub rate: Option<f64>,
    /// Seconds that the present depth may still take.
    pub depth_left: Option<f64>,
    /// Seconds that the run may still take: the least and the most.
    pub run_left: Option<[f64; 2]>,
    /// Bytes of the layers that are kept.
    pub disk_used: u64,
    /// The most bytes that the next layer may take.
    pub disk_next: u64,
    /// The most bytes that the files of a run of one process may take.
    pub disk_limit: Option<u64>,
    /// Free bytes where the run's directory lies; on many hosts, the least that a worker has.
    pub disk_free: Option<u64>,
    /// Bytes of memory that this process has for itself; on many hosts, all workers together.
    pub memory: Option<u64>,
    /// The most memory that this process, or all workers together, may take, layers in the page cache
    /// included.
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
    /// The clause that distances are one way, if they are.
    pub one_way: Option<&'static str>,
    /// A sentence that the counts add up, and to what, if the run is complete.
    pub check: Option<String>,
    /// The reason why the run waits, in words.
    pub obstacle: Option<String>,
    /// The number of kernel threads, of this process or of all workers that are there.
    pub threads: Option<u64>,
    /// The formats in which a report is offered; empty until the run is complete.
    pub reports: Vec<&'static str>,
}

impl RunFacts {
    /// Says what the run waits for, unless it is over. How long it waits is not known.
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
    /// The states of the depth up to symmetry, if they were counted.
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
    /// Seconds since the worker was last heard, if that is too long.
    pub silent: Option<u64>,
    /// Kernel threads.
    pub threads: u32,
    /// The name of its kernel.
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
    /// Bytes of memory that its process has for itself.
    pub memory: u64,
    /// Bytes that its process has read from disks.
    pub read: u64,
    /// Bytes that its process has written to disks.
    pub written: u64,
    /// Its earlier rates, one for every three seconds, oldest first.
    #[serde(skip)]
    pub history: Vec<f64>,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EventFacts {
    /// Milliseconds since 1970.
    pub time: u64,
    /// One of info, warn, error.
    pub severity: &'static str,
    /// The kind of event.
    pub what: String,
    /// The depth that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The shard that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<u32>,
    /// The worker that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Details, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Numbers that only the metrics have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tallies {
    /// How often each kind of event has happened.
    pub events: BTreeMap<String, u64>,
    /// Cosets that are done in the present depth; `None` for a run that is served.
    pub cosets: Option<u64>,
    /// How long the journal takes to make writes durable; `None` for a run of one process.
    pub journal: Option<Latencies>,
    /// How long peers take to send what workers ask for; `None` for a run of one process.
    pub fetches: Option<Latencies>,
    /// What failed, and was tried again; `None` for a run of one process.
    pub faults: Option<Faults>,
}

/// Failures of tasks and copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// How often tasks and copies failed, by the kind of failure.
    pub failures: BTreeMap<&'static str, u64>,
    /// How often a task was given out once more.
    pub retries: u64,
}
