//! Impossible reports are refused.

use fathom_engine::run::{Geometry, ShardCut};
use fathom_proto::{Sealed, convert, v1};
use prost::Message;

fn geometry() -> Geometry {
    let cut = ShardCut::new(2, 1).unwrap();
    Geometry { cut, fingerprint: [7; 32], packed_bytes: 41, row_bits: 8, dense_bytes: 82 }
}

fn outcome(result: v1::outcome::Result) -> v1::Outcome {
    v1::Outcome { file: Some(v1::File { depth: 5, shard: 0 }), attempt: None, result: Some(result) }
}

/// SQLite stores numbers below 2^63.
#[test]
fn numbers_too_large_for_the_journal_are_refused() {
    let most = i64::MAX as u64;
    for field in 0..5 {
        for (number, is_kept) in [(most, true), (most + 1, false), (u64::MAX, false)] {
            let is = |other| if field == other { number } else { 1 };
            let report = v1::ShardReport {
                stored_states: is(0),
                states: is(1),
                pairs: Some(is(2)),
                inverse_pairs: Some(is(3)),
                file_bytes: is(4),
                checksums: vec![0; 64].into(),
                watched: Vec::new(),
                computed: true,
            };
            let said = convert::outcome(outcome(v1::outcome::Result::Made(report)), &geometry());
            assert_eq!(said.is_ok(), is_kept, "{field}: {said:?}");
        }
    }
}

#[test]
fn messages_are_escaped_for_terminals() {
    let message = format!("\u{1b}[2Jgone\n\u{202e}{}", "long".repeat(100_000));
    for kind in [
        v1::failure::Kind::Other(v1::Other { message: message.clone() }),
        v1::failure::Kind::DiskFull(v1::DiskFull { message: message.clone() }),
        v1::failure::Kind::Contradiction(v1::Contradiction { message }),
    ] {
        let failure = convert::failure(v1::Failure { kind: Some(kind) }, &geometry()).unwrap().to_string();
        assert!(failure.contains("gone"), "{failure}");
        assert!(failure.len() < 2000, "{} bytes", failure.len());
        assert!(!failure.chars().any(convert::is_control), "{failure}");
    }
}

#[test]
fn flipped_bits_of_reports_are_noticed() {
    let report = v1::ShardReport {
        stored_states: 3,
        states: 300,
        pairs: Some(0),
        file_bytes: 4096,
        checksums: vec![5; 64].into(),
        computed: true,
        ..Default::default()
    };
    let outcomes = vec![outcome(v1::outcome::Result::Made(report))];
    let sent = v1::ReportRequest { session: 9, outcomes, number: 2, ..Default::default() };
    let bytes = sent.clone().seal().encode_to_vec();
    let read = |bytes: &[u8]| v1::ReportRequest::decode(bytes).ok().and_then(|report| report.open().ok());
    assert_eq!(read(&bytes), Some(sent.clone()));
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // Few bits mean nothing: 3 is as true as 1.
        assert!(read(&flipped).is_none_or(|report| report == sent), "bit {bit}");
    }
    assert!(sent.open().is_err(), "a report without a digest");
}
