//! Any bytes from the wire decode to a valid message or an error: no panic, and no more memory than the
//! message has bytes.
//!
//! Each property is a fuzz target for one kind of message that is decoded further. Half of the inputs are
//! real messages with bytes changed, because random bytes seldom get far.

use fathom_engine::run::{Depth, Geometry, ShardCut, ShardId, ShardReport, Task};
use fathom_layer::chunk;
use fathom_layer::{Digest, Totals};
use fathom_proto::{Attempt, Command, Copied, Done, Failure, LeaveReason, Outcome, StoredFile, convert, v1};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;

const GEOMETRY: fn() -> Geometry = || Geometry {
    cut: ShardCut::new(100, 7).unwrap(),
    fingerprint: [3; 32],
    packed_bytes: 41,
    row_bits: 8,
    dense_bytes: 4100,
};

fn outcomes() -> Vec<Outcome> {
    let task = Task { depth: Depth(5), shard: ShardId(3) };
    let attempt = Some(Attempt { epoch: 2, number: 7 });
    let cosets = GEOMETRY().cut.range(task.shard).len();
    let report = ShardReport {
        task,
        totals: Totals { stored: 5, states: 17, pairs: Some(20), inverse_pairs: None },
        bytes: 4096,
        checksums: vec![Digest([9; 32]); cosets],
        watched: vec![1, 2],
    };
    let message = || String::from("why");
    let results = [
        Ok(Done::Made(report.clone())),
        Ok(Done::Found(report)),
        Ok(Done::Copied(Copied { bytes: 77, digest: Digest([9; 32]) })),
        Err(Failure::Stopped),
        Err(Failure::Unreachable { file: task, addresses: vec!["node:7400".into()], message: message() }),
        Err(Failure::Damaged { file: task, address: Some("node:7400".into()), message: message() }),
        Err(Failure::Damaged { file: task, address: None, message: message() }),
        Err(Failure::DiskFull(message())),
        Err(Failure::Other(message())),
        Err(Failure::Contradiction(message())),
    ];
    results.into_iter().map(|result| Outcome { task, attempt, result }).collect()
}

fn commands() -> Vec<Command<String>> {
    let task = Task { depth: Depth(5), shard: ShardId(3) };
    let attempt = Attempt { epoch: 2, number: 7 };
    let file = StoredFile { task, digest: Some(Digest([9; 32])) };
    let leave = [
        LeaveReason::Done,
        LeaveReason::Stopped,
        LeaveReason::Clean,
        LeaveReason::Drained,
        LeaveReason::Failed,
        LeaveReason::CoordinatorGoes,
    ];
    let commands = [
        Command::Compute(task, attempt),
        Command::Recompute(task, attempt),
        Command::Audit(task, attempt, "avx2".into()),
        Command::Copy(file, vec!["node:7400".into()]),
        Command::Discard(file),
        Command::Release(task),
        Command::RetireLayer(Depth(4)),
    ];
    commands.into_iter().chain(leave.map(Command::Leave)).collect()
}

/// Random bytes, or real ones with some of them changed.
fn bytes(real: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changed = (prop::sample::select(real), vec((any::<prop::sample::Index>(), any::<u8>()), 0..4))
        .prop_map(|(mut bytes, changes)| {
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        });
    prop_oneof![vec(any::<u8>(), 0..300), changed]
}

fn real_outcomes() -> Vec<Vec<u8>> {
    outcomes().into_iter().map(|outcome| v1::Outcome::from(outcome).encode_to_vec()).collect()
}

fn real_orders() -> Vec<Vec<u8>> {
    commands().into_iter().map(|order| v1::Command::from(order).encode_to_vec()).collect()
}

fn real_chunk() -> v1::Chunk {
    let mut bytes = Vec::new();
    for number in 0..20 {
        let canonical = [number as u8; 41];
        let encoding = fathom_layer::Encoding::Dense;
        chunk::push(&mut bytes, chunk::Coset { number, encoding, states: 3, canonical: &canonical });
    }
    let zstd = chunk::Compressor::new().compress(&bytes).into();
    v1::Chunk { zstd, uncompressed_bytes: bytes.len() as u32, ..Default::default() }
}

#[test]
fn messages_survive_a_round_trip() {
    for outcome in outcomes() {
        assert_eq!(convert::outcome(v1::Outcome::from(outcome.clone()), &GEOMETRY()), Ok(outcome));
    }
    for order in commands() {
        assert_eq!(convert::command(v1::Command::from(order.clone()), &GEOMETRY()), Ok(order));
    }
}

#[test]
fn items_unknown_to_the_run_are_refused() {
    let file = |depth, shard| convert::file(Some(&v1::File { depth, shard }), &GEOMETRY());
    assert!(file(5, 6).is_ok());
    assert_eq!(file(5, 7).unwrap_err().to_string(), "shard: shard 7 does not exist: the run has 7");
    assert_eq!(file(u32::MAX, 0).unwrap_err().to_string(), "depth: depth 4294967295 does not exist");
    assert_eq!(convert::file(None, &GEOMETRY()).unwrap_err().to_string(), "file: is missing");
    let leave = v1::command::Kind::Leave(v1::Leave { reason: 7 });
    let refused = convert::command(v1::Command { kind: Some(leave) }, &GEOMETRY()).unwrap_err().to_string();
    assert_eq!(refused, "reason to leave: is 7, which is not known");
    assert!(convert::command(v1::Command { kind: None }, &GEOMETRY()).is_err());
    let mut report = v1::Outcome::from(outcomes().remove(0));
    if let Some(v1::outcome::Result::Made(made)) = &mut report.result {
        made.checksums = vec![0; 33].into();
    }
    let refused = convert::outcome(report, &GEOMETRY()).unwrap_err().to_string();
    assert_eq!(refused, "checksums: 33 bytes are not 15 checksums");
    assert!(convert::worker_id(&[0; 16]).is_err(), "the shared store is not a worker");
    let geometry = GEOMETRY();
    let first = geometry.cut.range(ShardId(6)).start;
    let places =
        |coset, position| convert::looked_up(&[v1::Place { coset, position }], &[], ShardId(6), &geometry);
    assert_eq!(places(first, 0), Ok(vec![(first, 0)]));
    let refused = places(first - 1, 0).unwrap_err().to_string();
    assert_eq!(refused, format!("places: shard 6 has no place {}/0", first - 1));
    assert!(places(first, 8 * geometry.packed_bytes).is_err() && places(u32::MAX, 0).is_err());
    let too_many = convert::looked_up(&[], &vec![0; 4097], ShardId(6), &geometry);
    assert_eq!(too_many.unwrap_err().to_string(), "words: 4097 exceeds the maximum of 4096");
    assert!(convert::worker_id(&[1; 15]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn outcomes_decode_from_any_bytes(bytes in bytes(real_outcomes())) {
        if let Ok(message) = v1::Outcome::decode(&bytes[..]) {
            let understood = convert::outcome(message, &GEOMETRY());
            if let Ok(Outcome { task, .. }) = understood {
                prop_assert!(task.shard.0 < 7);
            }
        }
    }

    #[test]
    fn commands_decode_from_any_bytes(bytes in bytes(real_orders())) {
        if let Ok(message) = v1::Command::decode(&bytes[..])
            && let Ok(Command::Compute(task, _) | Command::Release(task)) = convert::command(message, &GEOMETRY())
        {
            prop_assert!(task.shard.0 < 7);
        }
    }

    #[test]
    fn chunks_decode_from_any_bytes(bytes in bytes(vec![real_chunk().encode_to_vec()])) {
        if let Ok(message) = v1::Chunk::decode(&bytes[..])
            && let Ok(bytes) = chunk::decompress(&message.zstd, message.uncompressed_bytes as usize)
        {
            let cosets: usize = chunk::cosets(&bytes).take_while(Result::is_ok).count();
            prop_assert!(cosets * chunk::HEADER_BYTES <= bytes.len());
        }
    }

    #[test]
    fn pieces_decode_from_any_bytes(bytes in bytes(vec![real_chunk().zstd.to_vec()]), length in 0..3_000_usize) {
        if let Ok(bytes) = chunk::decompress(&bytes, length) {
            prop_assert_eq!(bytes.len(), length);
        }
    }
}
