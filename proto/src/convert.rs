//! Conversion between the messages and their meaning. Messages from the network may contain anything, and are
//! checked once, here.

use crate::outcome::{Copied, Done, Failure, Outcome, StoredFile};
use crate::{Attempt, Command, LeaveReason, WorkerId, v1};
use fathom_engine::run::{Depth, Geometry, ShardId, ShardReport, Task};
use fathom_layer::{Digest, Totals};

/// An invalid message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Malformed {
    /// The invalid field.
    pub field: &'static str,
    /// The reason.
    pub reason: String,
}

impl From<Malformed> for tonic::Status {
    fn from(malformed: Malformed) -> Self {
        Self::invalid_argument(malformed.to_string())
    }
}

fn malformed(field: &'static str, reason: impl Into<String>) -> Malformed {
    Malformed { field, reason: reason.into() }
}

/// A bound on depths. No puzzle that can be enumerated is deeper.
const MAX_DEPTH: u32 = 100_000;

impl From<Task> for v1::File {
    fn from(task: Task) -> Self {
        Self { depth: task.depth.0, shard: task.shard.0 }
    }
}

/// Converts a file of a run.
///
/// # Errors
/// [`Malformed`] if the run does not have the file.
pub fn file(file: Option<&v1::File>, geometry: &Geometry) -> Result<Task, Malformed> {
    let file = file.ok_or_else(|| malformed("file", "is missing"))?;
    let shards = geometry.cut.shards();
    if file.shard >= shards {
        return Err(malformed("shard", format!("shard {} does not exist: the run has {shards}", file.shard)));
    }
    if file.depth > MAX_DEPTH {
        return Err(malformed("depth", format!("depth {} does not exist", file.depth)));
    }
    Ok(Task { depth: Depth(file.depth), shard: ShardId(file.shard) })
}

/// Converts a file that a worker has, or should have. The digest may be omitted.
///
/// # Errors
/// [`Malformed`] if the run does not have the file, or the digest has the wrong length.
pub fn stored_file(stored: Option<&v1::StoredFile>, geometry: &Geometry) -> Result<StoredFile, Malformed> {
    let stored = stored.ok_or_else(|| malformed("file", "is missing"))?;
    Ok(StoredFile { task: file(stored.file.as_ref(), geometry)?, digest: optional_digest(&stored.digest)? })
}

/// Maximum number of places, and of numbers of words, in one request.
pub const MAX_LOOKED_UP: usize = 4096;

/// Checks a request of an audit on the file of a shard, and returns its places as pairs of coset and
/// position.
///
/// # Errors
/// [`Malformed`] if there are more places or words than [`MAX_LOOKED_UP`], or a place is not in the shard.
pub fn looked_up(
    places: &[v1::Place],
    words: &[u64],
    shard: ShardId,
    geometry: &Geometry,
) -> Result<Vec<(u32, u32)>, Malformed> {
    for (field, number) in [("places", places.len()), ("words", words.len())] {
        if number > MAX_LOOKED_UP {
            return Err(malformed(field, format!("{number} exceeds the maximum of {MAX_LOOKED_UP}")));
        }
    }
    let cosets = geometry.cut.range(shard);
    let tensor = geometry.tensor();
    let place = |&v1::Place { coset, position }: &v1::Place| {
        let is_there = cosets.contains(&coset) && tensor.has(position);
        let not_there = || malformed("places", format!("shard {} has no place {coset}/{position}", shard.0));
        is_there.then_some((coset, position)).ok_or_else(not_there)
    };
    places.iter().map(place).collect()
}

/// Converts a digest that may be omitted.
///
/// # Errors
/// [`Malformed`] if the field is neither empty nor 32 bytes long.
pub fn optional_digest(bytes: &[u8]) -> Result<Option<Digest>, Malformed> {
    (!bytes.is_empty()).then(|| digest("digest", bytes)).transpose()
}

impl From<StoredFile> for v1::StoredFile {
    fn from(stored: StoredFile) -> Self {
        let digest = stored.digest.map(|digest| digest.0.to_vec()).unwrap_or_default();
        Self { file: Some(stored.task.into()), digest: digest.into() }
    }
}

/// Converts the id of a worker.
///
/// # Errors
/// [`Malformed`] if the id does not have 16 bytes, or is the id of the shared store.
pub fn worker_id(bytes: &[u8]) -> Result<WorkerId, Malformed> {
    let id = bytes.try_into().map(WorkerId);
    let id = id.map_err(|_| malformed("worker_id", format!("has {} bytes instead of 16", bytes.len())))?;
    if id == WorkerId::SHARED_STORE {
        return Err(malformed("worker_id", "is the id of the shared store"));
    }
    Ok(id)
}

/// Converts a digest. `field` is the name for errors.
///
/// # Errors
/// [`Malformed`] if the digest does not have 32 bytes.
pub fn digest(field: &'static str, bytes: &[u8]) -> Result<Digest, Malformed> {
    bytes
        .try_into()
        .map(Digest)
        .map_err(|_| malformed(field, format!("has {} bytes instead of 32", bytes.len())))
}

impl From<Attempt> for v1::Attempt {
    fn from(attempt: Attempt) -> Self {
        Self { epoch: attempt.epoch, number: attempt.number }
    }
}

impl From<v1::Attempt> for Attempt {
    fn from(attempt: v1::Attempt) -> Self {
        Self { epoch: attempt.epoch, number: attempt.number }
    }
}

impl From<ShardReport> for v1::ShardReport {
    fn from(report: ShardReport) -> Self {
        Self {
            stored_states: report.totals.stored,
            states: report.totals.states,
            pairs: report.totals.pairs,
            inverse_pairs: report.totals.inverse_pairs,
            file_bytes: report.bytes,
            checksums: Digest::concatenated(&report.checksums).into(),
            watched: report.watched,
            computed: false,
        }
    }
}

fn report(task: Task, report: v1::ShardReport, geometry: &Geometry) -> Result<ShardReport, Malformed> {
    let (checksums, rest) = report.checksums.as_chunks::<32>();
    let cosets = geometry.cut.range(task.shard).len();
    if !rest.is_empty() || checksums.len() != cosets {
        let reason = format!("{} bytes are not {cosets} checksums", report.checksums.len());
        return Err(malformed("checksums", reason));
    }
    // The journal stores numbers below 2^63, and no searchable space has more states.
    let numbers = [
        ("stored_states", report.stored_states),
        ("states", report.states),
        ("pairs", report.pairs.unwrap_or(0)),
        ("inverse_pairs", report.inverse_pairs.unwrap_or(0)),
        ("file_bytes", report.file_bytes),
    ];
    if let Some((field, number)) = numbers.into_iter().find(|(_, number)| i64::try_from(*number).is_err()) {
        return Err(malformed(field, format!("{number} exceeds 2^63 - 1")));
    }
    Ok(ShardReport {
        task,
        totals: Totals {
            stored: report.stored_states,
            states: report.states,
            pairs: report.pairs,
            inverse_pairs: report.inverse_pairs,
        },
        bytes: report.file_bytes,
        checksums: checksums.iter().map(|&checksum| Digest(checksum)).collect(),
        watched: report.watched,
    })
}

impl From<Outcome> for v1::Outcome {
    fn from(outcome: Outcome) -> Self {
        use v1::outcome::Result as Wire;
        let result = match outcome.result {
            Ok(Done::Made(report)) => Wire::Made(v1::ShardReport { computed: true, ..report.into() }),
            Ok(Done::Found(report)) => Wire::Made(report.into()),
            Ok(Done::Copied(Copied { bytes, digest })) => {
                Wire::Copied(v1::Copied { file_bytes: bytes, digest: digest.0.to_vec().into() })
            }
            Err(failure) => Wire::Failure(failure.into()),
        };
        Self {
            file: Some(outcome.task.into()),
            attempt: outcome.attempt.map(Into::into),
            result: Some(result),
        }
    }
}

/// Converts the report of a worker on a command.
///
/// # Errors
/// [`Malformed`] if a part is missing or invalid.
pub fn outcome(outcome: v1::Outcome, geometry: &Geometry) -> Result<Outcome, Malformed> {
    use v1::outcome::Result as Wire;
    let task = file(outcome.file.as_ref(), geometry)?;
    let result = match outcome.result.ok_or_else(|| malformed("result", "is missing"))? {
        Wire::Made(made) if made.computed => Ok(Done::Made(report(task, made, geometry)?)),
        Wire::Made(found) => Ok(Done::Found(report(task, found, geometry)?)),
        Wire::Copied(v1::Copied { file_bytes, digest }) => {
            Ok(Done::Copied(Copied { bytes: file_bytes, digest: self::digest("digest", &digest)? }))
        }
        Wire::Failure(failure) => Err(self::failure(failure, geometry)?),
    };
    Ok(Outcome { task, attempt: outcome.attempt.map(Into::into), result })
}

/// Maximum length of a failure's message, in characters.
const MAX_TEXT: usize = 1000;

/// Returns whether a character changes how the text around it is shown, instead of being shown itself:
/// control characters, and those that set the direction of writing (Unicode Standard Annex 9, section 2).
pub fn is_control(c: char) -> bool {
    let directs =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || directs
}

/// Bounds the length of a message, and escapes control characters, so that it can be shown in a terminal.
fn text(message: String) -> String {
    let escaped = message.chars().flat_map(|c| {
        let control = is_control(c).then(|| c.escape_default());
        let plain = control.is_none().then_some(c);
        control.into_iter().flatten().chain(plain)
    });
    escaped.take(MAX_TEXT).collect()
}

impl From<Failure> for v1::Failure {
    fn from(failure: Failure) -> Self {
        use v1::failure::Kind;
        let kind = match failure {
            Failure::Stopped => Kind::Stopped(v1::Stopped {}),
            Failure::Unreachable { file, addresses, message } => {
                Kind::Unreachable(v1::Unreachable { file: Some(file.into()), message, addresses })
            }
            Failure::Damaged { file, address, message } => Kind::Damaged(v1::Damaged {
                file: Some(file.into()),
                address: address.unwrap_or_default(),
                message,
            }),
            Failure::DiskFull(message) => Kind::DiskFull(v1::DiskFull { message }),
            Failure::Other(message) => Kind::Other(v1::Other { message }),
            Failure::Contradiction(message) => Kind::Contradiction(v1::Contradiction { message }),
        };
        Self { kind: Some(kind) }
    }
}

/// Converts the reason why a command failed.
///
/// # Errors
/// [`Malformed`] if a part is missing or invalid.
pub fn failure(failure: v1::Failure, geometry: &Geometry) -> Result<Failure, Malformed> {
    use v1::failure::Kind;
    Ok(match failure.kind.ok_or_else(|| malformed("failure", "is of no kind that is known"))? {
        Kind::Stopped(_) => Failure::Stopped,
        Kind::Unreachable(unreachable) => Failure::Unreachable {
            file: file(unreachable.file.as_ref(), geometry)?,
            addresses: unreachable.addresses,
            message: text(unreachable.message),
        },
        Kind::Damaged(damaged) => Failure::Damaged {
            file: file(damaged.file.as_ref(), geometry)?,
            address: Some(damaged.address).filter(|address| !address.is_empty()),
            message: text(damaged.message),
        },
        Kind::DiskFull(full) => Failure::DiskFull(text(full.message)),
        Kind::Other(other) => Failure::Other(text(other.message)),
        Kind::Contradiction(contradiction) => Failure::Contradiction(text(contradiction.message)),
    })
}

impl From<Command<String>> for v1::Command {
    fn from(order: Command<String>) -> Self {
        use v1::command::Kind;
        let make = |task: Task, attempt: Attempt| v1::ComputeShard {
            file: Some(task.into()),
            attempt: Some(attempt.into()),
            ..Default::default()
        };
        let kind = match order {
            Command::Compute(task, attempt) => Kind::ComputeShard(make(task, attempt)),
            Command::Recompute(task, attempt) => {
                Kind::ComputeShard(v1::ComputeShard { afresh: true, ..make(task, attempt) })
            }
            Command::Audit(task, attempt, other_than_kernel) => {
                Kind::ComputeShard(v1::ComputeShard { audit: true, other_than_kernel, ..make(task, attempt) })
            }
            Command::Copy(file, addresses) => {
                Kind::TakeCopy(v1::TakeCopy { file: Some(file.into()), addresses })
            }
            Command::Discard(file) => Kind::Discard(file.into()),
            Command::Release(task) => Kind::Release(task.into()),
            Command::RetireLayer(depth) => Kind::RetireLayer(v1::RetireLayer { depth: depth.0 }),
            Command::Leave(reason) => {
                let reason = match reason {
                    LeaveReason::Done => v1::LeaveReason::Done,
                    LeaveReason::Stopped => v1::LeaveReason::Stopped,
                    LeaveReason::Clean => v1::LeaveReason::Clean,
                    LeaveReason::Drained => v1::LeaveReason::Drained,
                    LeaveReason::Failed => v1::LeaveReason::Failed,
                    LeaveReason::CoordinatorGoes => v1::LeaveReason::CoordinatorGoes,
                };
                Kind::Leave(v1::Leave { reason: reason.into() })
            }
        };
        Self { kind: Some(kind) }
    }
}

/// Converts a command.
///
/// # Errors
/// [`Malformed`] if a part is missing or invalid, or the run does not have the file.
pub fn command(command: v1::Command, geometry: &Geometry) -> Result<Command<String>, Malformed> {
    use v1::command::Kind;
    Ok(match command.kind.ok_or_else(|| malformed("command", "is of no kind that is known"))? {
        Kind::ComputeShard(v1::ComputeShard { file, attempt, audit, other_than_kernel, afresh }) => {
            let attempt = attempt.map_or(Attempt { epoch: 0, number: 0 }, Attempt::from);
            let task = self::file(file.as_ref(), geometry)?;
            match (audit, afresh) {
                (true, _) => Command::Audit(task, attempt, other_than_kernel),
                (false, true) => Command::Recompute(task, attempt),
                (false, false) => Command::Compute(task, attempt),
            }
        }
        Kind::TakeCopy(v1::TakeCopy { file, addresses }) => {
            Command::Copy(stored_file(file.as_ref(), geometry)?, addresses)
        }
        Kind::Discard(file) => Command::Discard(stored_file(Some(&file), geometry)?),
        Kind::Release(file) => Command::Release(self::file(Some(&file), geometry)?),
        Kind::RetireLayer(v1::RetireLayer { depth }) => Command::RetireLayer(Depth(depth)),
        Kind::Leave(v1::Leave { reason }) => Command::Leave(match v1::LeaveReason::try_from(reason) {
            Ok(v1::LeaveReason::Done) => LeaveReason::Done,
            Ok(v1::LeaveReason::Stopped) => LeaveReason::Stopped,
            Ok(v1::LeaveReason::Clean) => LeaveReason::Clean,
            Ok(v1::LeaveReason::Drained) => LeaveReason::Drained,
            Ok(v1::LeaveReason::Failed) => LeaveReason::Failed,
            Ok(v1::LeaveReason::CoordinatorGoes) => LeaveReason::CoordinatorGoes,
            Ok(v1::LeaveReason::Unspecified) | Err(_) => {
                return Err(malformed("reason to leave", format!("is {reason}, which is not known")));
            }
        }),
    })
}
