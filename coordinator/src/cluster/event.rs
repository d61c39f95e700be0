//! The inputs and outputs of the coordinator's decisions: events, and the effects that follow.

use fathom_engine::forecast::rate::Moment;
use fathom_engine::run::{Depth, ShardReport, Task};
use fathom_layer::Digest;
pub use fathom_proto::LeaveReason;
use fathom_proto::{Attempt, FailureKind, Outcome, Session, StoredFile, Usage, WorkerId};
use std::sync::Arc;
use std::time::Duration;

/// A time, in milliseconds since the coordinator started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

impl Millis {
    /// Returns the time `duration` later.
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0 + duration.as_millis() as u64)
    }

    /// Returns the time since `earlier`; zero if that is later than `self`.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl Moment for Millis {
    fn since(self, earlier: Self) -> Duration {
        Self::since(self, earlier)
    }
}

/// A request that waits for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A worker's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The id of its store.
    pub worker: WorkerId,
    /// The display name.
    pub name: String,
    /// The address at which peers reach the worker.
    pub address: String,
    /// Kernel threads.
    pub threads: u32,
    /// Its memory limit, in bytes.
    pub memory_bytes: u64,
    /// The kernel that it uses.
    pub kernel: String,
    /// Its version of Fathom.
    pub version: String,
    /// The complete files in its store.
    pub inventory: Vec<StoredFile>,
    /// The number of its process, and that of the registration; `None` if it does not number registrations.
    pub number: Option<(u64, u64)>,
}

/// Maximum number of bytes that a worker writes to its log between two heartbeats while its tasks are stuck.
const MAX_LOGGED: u64 = 1 << 16;

/// The progress of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The depth that the worker works on.
    pub depth: Option<Depth>,
    /// Number of cosets done since it started this depth.
    pub cosets: u64,
    /// Number of states found in these cosets.
    pub states: u64,
    /// Number of states found since the process started, at all depths.
    pub found_states: u64,
    /// Number of cosets done in audits, since the process started.
    pub audited_cosets: u64,
    /// Bytes sent to peers since the process started.
    pub sent_bytes: u64,
    /// Bytes received from peers since the process started.
    pub received_bytes: u64,
    /// Free bytes on its disk.
    pub free_bytes: u64,
    /// Commands that have not ended.
    pub underway: Vec<Task>,
    /// The tasks among these whose inputs are being fetched.
    pub fetching: Vec<Task>,
    /// Memory and disk use of its process.
    pub usage: Usage,
}

impl Progress {
    /// Returns whether the worker has made progress on its commands since it reported `before`. A worker that
    /// waits for its disk still writes to its log, so a few bytes do not count.
    pub fn has_moved_since(&self, before: &Self) -> bool {
        let done = |progress: &Self| {
            (progress.cosets, progress.states, progress.audited_cosets, progress.received_bytes)
        };
        let passed = |progress: &Self| progress.usage.read_bytes.saturating_add(progress.usage.written_bytes);
        self.underway.is_empty()
            || self.underway != before.underway
            || done(self) != done(before)
            || passed(self) > passed(before).saturating_add(MAX_LOGGED)
    }
}

/// An input of the coordinator's decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A worker joins, or rejoins.
    Register(RequestId, Registration),
    /// A worker sends a heartbeat.
    Heartbeat(RequestId, Session, Progress),
    /// A worker asks for commands.
    TakeCommands {
        /// The request, answered when there are commands or after a timeout.
        request: RequestId,
        /// The session of the worker.
        session: Session,
        /// Number of tasks that the worker can take.
        tasks: u32,
        /// The version of the holder map that the worker has.
        version: u64,
    },
    /// A worker reports how commands ended.
    Report {
        /// The request, answered immediately.
        request: RequestId,
        /// The session of the worker.
        session: Session,
        /// The number of the report in the session, from 1, so that a report that arrives twice counts once;
        /// 0 if the worker does not count its reports.
        number: u64,
        /// The outcomes of commands.
        outcomes: Vec<Outcome>,
    },
    /// A worker leaves.
    Leave(RequestId, Session),
    /// A user drains a worker, identified by its name or a prefix of its id.
    Drain(RequestId, String),
    /// A user stops the run.
    Stop(RequestId),
    /// The coordinator process was told to end; it will come back.
    Terminate,
    /// Time has passed.
    Tick,
}

/// A command to a worker.
pub type Command = fathom_proto::Command<WorkerId>;

/// The holders of files: one pair for each file and holder.
pub type Held = Vec<(Task, WorkerId)>;

/// The report of a finished shard, and the worker that computed the shard, if that is known.
pub type MadeShard = (Arc<ShardReport>, Option<WorkerId>);

/// The holder map: the holders of each shard of the layers that tasks read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// The version of the map, which changes when the map does.
    pub version: u64,
    /// The holders, by depth and then by shard.
    pub layers: Vec<(Depth, Vec<Holding>)>,
}

/// The holders of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The digest of its checksums, or `None` if there is no such file.
    pub digest: Option<Digest>,
    /// The live workers that hold the file.
    pub holders: Vec<WorkerId>,
}

/// An answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The answer to a registration.
    Registered {
        /// The worker's session from now on.
        session: Session,
        /// The depths that the worker should keep.
        needed: Vec<Depth>,
    },
    /// The session has ended: the worker must register again.
    Unknown,
    /// The session lasts, and the message was handled.
    Known,
    /// Commands, and the holder map if the worker needs a newer one.
    Commands(Vec<Command>, Option<Arc<Holders>>),
    /// A message for the user.
    Said(String),
    /// The reason why a user's request is refused.
    Refused(String),
}

/// How the run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every state was visited.
    Complete,
    /// The last depth of the run is complete.
    MaxDepth,
    /// A user stopped the run.
    Stopped,
    /// The coordinator was told to end.
    Terminated,
    /// The run cannot continue, for this reason.
    Failed(String),
}

impl Ending {
    /// Returns whether the run was stopped, and can be continued.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Stopped | Self::Terminated)
    }

    /// Returns what happened, in words.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::MaxDepth => "last depth reached",
            Self::Stopped => "stopped by a user",
            Self::Terminated => "stopped by a signal",
            Self::Failed(_) => "failed",
        }
    }
}

/// The subject of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// A worker registered.
    Registered,
    /// A worker registered again while its old session lasted: its process died and was restarted.
    BeginsAgain,
    /// A worker holds later layers than the run has: the run's directory is an old copy, or another one.
    IsAhead,
    /// A worker left.
    Left,
    /// A worker was silent for longer than its lease.
    Lost,
    /// A worker is being drained: it leaves once others hold its files.
    Drained,
    /// A worker has failed several times in a row, and gets no tasks for a while.
    Rests,
    /// A worker makes no progress on its commands.
    Stuck,
    /// A task was given to a worker.
    TaskGiven,
    /// A shard was computed.
    TaskDone,
    /// A task failed.
    TaskFailed(FailureKind),
    /// A worker does not know a command that it was given.
    CommandLost,
    /// A report of an abandoned attempt was ignored.
    LateReport,
    /// A worker answered a task or an audit with a copy.
    NoAnswer,
    /// A report violates a bound.
    Implausible,
    /// A copy was commanded.
    CopyOrdered,
    /// A copy was completed.
    CopyDone,
    /// A copy failed.
    CopyFailed(FailureKind),
    /// A worker cannot reach a peer.
    Unreachable,
    /// A damaged file is deleted.
    Discarded,
    /// A worker has another file than the reported one.
    OtherFile,
    /// A lost file is recomputed.
    MadeAgain,
    /// A file that is no longer read is deleted.
    Releases,
    /// An audit was given to a worker.
    AuditGiven,
    /// An audit agrees with the producer of the shard.
    Audited,
    /// The producer of a shard audited it itself, for lack of another worker, and agrees.
    SelfCheck,
    /// An audit differs from the report of the producer.
    AuditDiffers,
    /// A shard is not audited, because its audit failed too often.
    NotAudited,
    /// A worker was wrong, and is quarantined.
    Quarantined,
    /// A drained worker stays, because no other worker would remain.
    Stays,
}

/// The severity of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteLevel {
    /// An event of every task.
    Detail,
    /// An event that users may want to see.
    Info,
    /// A fault that the run recovers from.
    Warning,
}

impl NoteKind {
    /// Returns the message for the log.
    pub fn message(self) -> &'static str {
        match self {
            Self::Registered => "worker registered",
            Self::BeginsAgain => "worker registered again",
            Self::IsAhead => "worker is ahead of this run",
            Self::Left => "worker left",
            Self::Lost => "worker lost",
            Self::Drained => "worker is drained",
            Self::Rests => "worker backs off",
            Self::Stuck => "worker is stuck",
            Self::TaskGiven => "task given",
            Self::TaskDone => "task done",
            Self::TaskFailed(FailureKind::Stopped) => "task handed back",
            Self::TaskFailed(_) => "task failed",
            Self::CommandLost => "command was lost",
            Self::LateReport => "late report ignored",
            Self::NoAnswer => "task answered with a copy",
            Self::Implausible => "implausible report",
            Self::CopyOrdered => "copy requested",
            Self::CopyDone => "copy done",
            Self::CopyFailed(_) => "copy failed",
            Self::Unreachable => "peer cannot be reached",
            Self::Discarded => "damaged file discarded",
            Self::OtherFile => "file differs from the reported one",
            Self::MadeAgain => "lost file is recomputed",
            Self::Releases => "shard released",
            Self::AuditGiven => "audit given",
            Self::Audited => "audit agrees",
            Self::SelfCheck => "self-check agrees",
            Self::AuditDiffers => "audit differs",
            Self::NotAudited => "shard is not audited",
            Self::Quarantined => "worker is quarantined",
            Self::Stays => "worker is not drained: no other worker would remain",
        }
    }

    /// Returns the severity.
    pub fn level(self) -> NoteLevel {
        match self {
            Self::TaskGiven
            | Self::TaskFailed(FailureKind::Stopped)
            | Self::TaskDone
            | Self::CopyOrdered
            | Self::CopyDone
            | Self::Releases
            | Self::AuditGiven
            | Self::Audited
            | Self::SelfCheck => NoteLevel::Detail,
            Self::Lost
            | Self::IsAhead
            | Self::Rests
            | Self::Stuck
            | Self::TaskFailed(_)
            | Self::LateReport
            | Self::Implausible
            | Self::CopyFailed(_)
            | Self::Unreachable
            | Self::Discarded
            | Self::OtherFile
            | Self::AuditDiffers
            | Self::NotAudited
            | Self::Quarantined
            | Self::Stays => NoteLevel::Warning,
            Self::Registered
            | Self::BeginsAgain
            | Self::Left
            | Self::Drained
            | Self::CommandLost
            | Self::NoAnswer
            | Self::MadeAgain => NoteLevel::Info,
        }
    }
}

/// An event for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The kind of event.
    pub kind: NoteKind,
    /// The worker concerned.
    pub worker: Option<WorkerId>,
    /// The file concerned.
    pub task: Option<Task>,
    /// The attempt concerned.
    pub attempt: Option<Attempt>,
    /// Details, as text.
    pub detail: Option<String>,
}

/// A side effect to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Answers a request.
    Reply(RequestId, Reply),
    /// Makes durable which shards of the current layer are done, who computed them, and their holders.
    SaveReports(Vec<MadeShard>, Held),
    /// Makes durable that files of the older layer were released, then deletes them in a shared store. Each
    /// comes with whether an audit agreed with the shard computed from it. The second field has the holders
    /// of those shards.
    Release(Vec<(Task, bool)>, Held),
    /// Removes reports of the current layer from the journal: their shards are computed again.
    ForgetReports(Vec<Task>),
    /// Makes durable that two results of a shard of the current layer differ.
    Doubt(Task),
    /// Makes durable that a worker was quarantined.
    Quarantined(WorkerId),
    /// Makes durable the id, name and address of a worker.
    SaveWorker(WorkerId, String, String),
    /// Commits the layer: the reports of all its shards, in order, the time that it took, and the holders of
    /// the newest layers.
    Commit(Vec<Arc<ShardReport>>, Duration, Held),
    /// Deletes or compresses a layer in the shared store.
    RetireShared(Depth),
    /// Deletes a damaged or wrong file in the shared store.
    DiscardShared(Task),
    /// Makes durable that workers were informed how the run ended: none of them waits for another epoch.
    NoteTold,
    /// Writes a line to the log.
    Note(Note),
    /// Ends the run, after the replies before this effect.
    End(Ending),
}

/// Returns a line for the log about the outcome of a command.
pub(super) fn note(
    kind: NoteKind,
    worker: Option<WorkerId>,
    outcome: &Outcome,
    detail: Option<String>,
) -> Effect {
    Effect::Note(Note { kind, worker, task: Some(outcome.task), attempt: outcome.attempt, detail })
}

/// Returns a line for the log about a file.
pub(super) fn note_of(
    kind: NoteKind,
    worker: Option<WorkerId>,
    task: Task,
    detail: Option<String>,
) -> Effect {
    Effect::Note(Note { kind, worker, task: Some(task), attempt: None, detail })
}

/// Returns a line for the log about a worker.
pub(super) fn note_of_worker(kind: NoteKind, worker: WorkerId, detail: Option<String>) -> Effect {
    Effect::Note(Note { kind, worker: Some(worker), task: None, attempt: None, detail })
}
