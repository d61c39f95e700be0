//! What can happen, and what is done about it.

use fathom_layer::Digest;
use fathom_proto::{Attempt, Outcome, Session, StoredFile, Usage};
use fathom_run::WorkerId;
use fathom_run::{Depth, ShardReport, Task};
use std::sync::Arc;
use std::time::Duration;

/// Milliseconds since the coordinator began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

impl Millis {
    /// So much later.
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0 + duration.as_millis() as u64)
    }

    /// The time since then.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// A request that waits for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// What a worker says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Its store.
    pub worker: WorkerId,
    /// The name that people read.
    pub name: String,
    /// The address at which peers reach the worker.
    pub address: String,
    /// Kernel threads.
    pub threads: u32,
    /// Bytes of memory that it takes.
    pub memory_bytes: u64,
    /// What computes.
    pub kernel: String,
    /// Its version.
    pub version: String,
    /// Whole files in its store.
    pub inventory: Vec<StoredFile>,
}

/// How far a worker is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Cosets done since it began with this depth.
    pub cosets: u64,
    /// States found in them.
    pub states: u64,
    /// Bytes that it has sent to its peers since it registered.
    pub sent_bytes: u64,
    /// Bytes that it has received from them.
    pub received_bytes: u64,
    /// Free bytes of its disk.
    pub free_bytes: u64,
    /// What was ordered and not reported yet.
    pub underway: Vec<Task>,
    /// What its process takes of its host.
    pub usage: Usage,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A worker joins, or joins again.
    Register(RequestId, Registration),
    /// A worker lives.
    Heartbeat(RequestId, Session, Progress),
    /// A worker waits for orders.
    TakeOrders {
        /// Answered when there are orders.
        request: RequestId,
        /// The session of the worker.
        session: Session,
        /// How many tasks the worker would take.
        tasks: u32,
        /// The version of the holder map that the worker knows.
        version: u64,
    },
    /// A worker tells how orders ended.
    Report {
        /// Answered at once.
        request: RequestId,
        /// The session of the worker.
        session: Session,
        /// Counts the worker's reports, from 1: one that comes twice counts once. 0 if the worker does not
        /// count.
        number: u64,
        /// How orders ended.
        outcomes: Vec<Outcome>,
    },
    /// A worker leaves.
    Leave(RequestId, Session),
    /// Somebody wants a worker to leave, by its name or the beginning of its id.
    Drain(RequestId, String),
    /// Somebody wants the run to stop.
    Stop(RequestId),
    /// The coordinator itself was told to end; it will come back.
    Terminate,
    /// Time passes.
    Tick,
}

/// Why a worker is told to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// The run is complete, or as deep as was asked.
    Done,
    /// Somebody has stopped the run.
    Stopped,
    /// The run is complete, and what workers hold of it is not kept.
    Clean,
    /// It was drained.
    Drained,
    /// The run has failed.
    Failed,
    /// The coordinator ends and will come back.
    CoordinatorGoes,
}

/// What a worker is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Make a shard.
    Make(Task, Attempt),
    /// Make a shard without a look at a file of it that is there: it may be wrong.
    MakeAfresh(Task, Attempt),
    /// Find once more what a shard comes to, if possible with another engine than the one of this name.
    Audit(Task, Attempt, String),
    /// Take a copy of a file from one of these workers.
    Copy(StoredFile, Vec<WorkerId>),
    /// Delete a file that is damaged, or not the one that was reported.
    Discard(StoredFile),
    /// Delete a file, for it is read no longer.
    GiveBack(Task),
    /// A layer is read no longer, or for what was visited alone: it is deleted, or compressed if it is kept.
    Retire(Depth),
    /// Leave.
    Leave(LeaveReason),
}

/// Who holds files: each with each of its holders.
pub type Held = Vec<(Task, WorkerId)>;

/// The places of the newest layers: for each depth, the holders of each shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// Changes when the rest does.
    pub version: u64,
    /// The holders, by depth, then by shard.
    pub layers: Vec<(Depth, Vec<Holding>)>,
}

/// The place of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The digest of its checksums, if there is such a file.
    pub digest: Option<Digest>,
    /// Who has it and is there.
    pub holders: Vec<WorkerId>,
}

/// An answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The answer to a registration.
    Registered {
        /// The worker's session from now on.
        session: Session,
        /// The layers that it should keep.
        needed: Vec<Depth>,
    },
    /// The session has ended: register again.
    Unknown,
    /// The message was taken.
    Known,
    /// Orders, and who holds what if that has changed.
    Orders(Vec<Order>, Option<Arc<Holders>>),
    /// An answer that people read.
    Said(String),
    /// It cannot be done, for people.
    Refused(String),
}

/// How the run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every state was visited.
    Complete,
    /// The last depth that was asked for is made.
    MaxDepth,
    /// Somebody has stopped it.
    Stopped,
    /// The coordinator was told to end.
    Terminated,
    /// It cannot go on.
    Failed(String),
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// A worker has joined.
    Registered,
    /// The process of a worker has died and begun again before it was missed.
    BeginsAgain,
    /// A worker has left.
    Left,
    /// A worker was silent for longer than its lease.
    Lost,
    /// A worker leaves when others hold what it holds.
    Drained,
    /// A worker has failed several times in a row, and gets nothing for a while.
    Rests,
    /// A worker makes a shard.
    TaskGiven,
    /// A shard was made.
    TaskDone,
    /// A shard was not made.
    TaskFailed,
    /// A worker knows nothing of an order.
    OrderLost,
    /// A report is of an attempt that has been given up.
    LateReport,
    /// A worker says that it has copied what it was to make.
    NoAnswer,
    /// A report cannot be true.
    Implausible,
    /// A worker takes a copy.
    CopyOrdered,
    /// A copy was taken.
    CopyDone,
    /// A copy was not taken.
    CopyFailed,
    /// A worker cannot reach a peer.
    Unreachable,
    /// A damaged file is deleted.
    Discarded,
    /// A worker has another file than the one that was reported.
    OtherFile,
    /// A file that was lost is made again.
    MadeAgain,
    /// A file is deleted, for it is read no longer.
    GivenBack,
    /// A worker finds once more what a shard comes to.
    AuditGiven,
    /// An audit has found what the maker of the shard has found.
    Audited,
    /// The maker of a shard has found the same again, because there is no other worker.
    SelfCheck,
    /// An audit has found something else.
    AuditDiffers,
    /// A shard is not audited, because audits of it have failed.
    NotAudited,
    /// A worker is wrong, and makes nothing any more.
    SetAside,
    /// A worker that was to leave stays, because nobody else would.
    Stays,
}

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteLevel {
    /// Happens to every task.
    Detail,
    /// Worth a line.
    Info,
    /// Something is wrong, and the run gets over it.
    Warning,
}

impl NoteKind {
    /// The message in the log.
    pub fn message(self) -> &'static str {
        match self {
            Self::Registered => "worker registered",
            Self::BeginsAgain => "worker begins again",
            Self::Left => "worker left",
            Self::Lost => "worker lost",
            Self::Drained => "worker is drained",
            Self::Rests => "worker rests",
            Self::TaskGiven => "task given",
            Self::TaskDone => "task done",
            Self::TaskFailed => "task failed",
            Self::OrderLost => "order was lost",
            Self::LateReport => "late report ignored",
            Self::NoAnswer => "a copy is no answer to a task",
            Self::Implausible => "implausible report",
            Self::CopyOrdered => "copy ordered",
            Self::CopyDone => "copy done",
            Self::CopyFailed => "copy failed",
            Self::Unreachable => "peer cannot be reached",
            Self::Discarded => "damaged file discarded",
            Self::OtherFile => "file is not the one that was reported",
            Self::MadeAgain => "file is made again",
            Self::GivenBack => "shard given back",
            Self::AuditGiven => "audit given",
            Self::Audited => "audit agrees",
            Self::SelfCheck => "self-check agrees",
            Self::AuditDiffers => "audit differs",
            Self::NotAudited => "shard is not audited",
            Self::SetAside => "worker is set aside",
            Self::Stays => "worker is not drained, for nobody else would stay",
        }
    }

    /// How much it matters.
    pub fn level(self) -> NoteLevel {
        match self {
            Self::TaskGiven
            | Self::TaskDone
            | Self::CopyOrdered
            | Self::CopyDone
            | Self::GivenBack
            | Self::AuditGiven
            | Self::Audited
            | Self::SelfCheck => NoteLevel::Detail,
            Self::Lost
            | Self::Rests
            | Self::TaskFailed
            | Self::LateReport
            | Self::Implausible
            | Self::CopyFailed
            | Self::Unreachable
            | Self::Discarded
            | Self::OtherFile
            | Self::AuditDiffers
            | Self::NotAudited
            | Self::SetAside
            | Self::Stays => NoteLevel::Warning,
            Self::Registered
            | Self::BeginsAgain
            | Self::Left
            | Self::Drained
            | Self::OrderLost
            | Self::NoAnswer
            | Self::MadeAgain => NoteLevel::Info,
        }
    }
}

/// Something worth a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What has happened.
    pub kind: NoteKind,
    /// The worker with which it happened.
    pub worker: Option<WorkerId>,
    /// The file with which it happened.
    pub task: Option<Task>,
    /// The attempt in which it happened.
    pub attempt: Option<Attempt>,
    /// What else there is to say.
    pub detail: Option<String>,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Answers a request.
    Reply(RequestId, Reply),
    /// Makes durable which shards of the current layer are done, and who holds them.
    SaveReports(Vec<Arc<ShardReport>>, Held),
    /// Makes durable that files of the older layer may be deleted, each with whether an audit has agreed with
    /// what was made from it, and who holds that; in a shared store deletes them.
    GiveBack(Vec<(Task, bool)>, Held),
    /// Forgets reports of the current layer: the shards are made again.
    ForgetReports(Vec<Task>),
    /// Makes durable that a worker makes nothing any more.
    SetAside(WorkerId),
    /// Makes durable who the workers are.
    SaveWorker(WorkerId, String, String),
    /// Commits the layer: the reports of all its shards, in order, how long it took, and who holds the newest
    /// layers.
    Commit(Vec<Arc<ShardReport>>, Duration, Held),
    /// Deletes or compresses a layer in the shared store.
    RetireShared(Depth),
    /// Deletes a damaged file in the shared store.
    DiscardShared(Task),
    /// Writes a line to the log.
    Note(Note),
    /// Ends the run, when the replies are out.
    End(Ending),
}
