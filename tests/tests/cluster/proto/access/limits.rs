//! Limits on the resources that one caller can take from a server: connections, streams, memory.

use super::world::{Files, Host, LIMIT};
use fathom_proto::access::budget::Budget;
use fathom_proto::access::{Access, AccessArguments};
use fathom_proto::v1::DescribeRunRequest;
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;

/// A number of connections above the limit for simultaneous handshakes, and below the number of descriptors
/// of a test.
const FLOOD: usize = 400;

#[tokio::test]
async fn later_callers_displace_silent_ones() {
    let files = Files::new();
    for good in [files.all(), AccessArguments::default()] {
        let host = Host::serve(&good).await;
        let mut silent = Vec::new();
        for _ in 0..FLOOD {
            silent.push(TcpStream::connect(host.address).await.unwrap());
        }
        assert!(host.ask(&good).await.is_ok());
        let lines = host.lines.wait(1).await;
        assert!(lines[0].contains("replaced by a new connection"), "{lines:#?}");
        // The oldest connections are closed, the newest are not.
        let oldest = tokio::time::timeout(LIMIT, silent[0].read(&mut [0])).await;
        assert_eq!(oldest.unwrap().unwrap(), 0);
    }
}

/// The start of an HTTP/2 connection, with an empty settings frame.
const BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Frame types: RFC 9113, section 6.
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
/// A setting: RFC 9113, section 6.5.2.
const MAX_CONCURRENT_STREAMS: u16 = 3;

/// Returns a frame that starts a request and does not end it.
fn begin(stream: u32) -> Vec<u8> {
    // POST, http, two names as literals, and the content type. RFC 7541, appendix A.
    let mut block = vec![0x83, 0x86];
    for (name, value) in
        [(0x44, "/fathom.v1.Coordinator/GetStatus"), (0x41, "fathom"), (0x5f, "application/grpc")]
    {
        block.push(name);
        block.push(value.len() as u8);
        block.extend(value.as_bytes());
    }
    let mut frame = (block.len() as u32).to_be_bytes()[1..].to_vec();
    // HEADERS, END_HEADERS.
    frame.extend([1, 4]);
    frame.extend(stream.to_be_bytes());
    frame.extend(block);
    frame
}

/// Reads the next frame, and returns its type and payload.
async fn frame(tcp: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; 9];
    tcp.read_exact(&mut header).await.ok()?;
    let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
    let mut payload = vec![0; length as usize];
    tcp.read_exact(&mut payload).await.ok()?;
    Some((header[3], payload))
}

#[tokio::test]
async fn streams_per_connection_are_limited() {
    let host = Host::serve(&AccessArguments::default()).await;
    let mut tcp = TcpStream::connect(host.address).await.unwrap();
    tcp.write_all(BEGIN).await.unwrap();
    let settings = loop {
        match tokio::time::timeout(LIMIT, frame(&mut tcp)).await.unwrap().unwrap() {
            (SETTINGS, settings) => break settings,
            _ => continue,
        }
    };
    let settings = settings.chunks(6).map(|setting| {
        let id = u16::from_be_bytes([setting[0], setting[1]]);
        (id, u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]))
    });
    let most = settings.filter(|(id, _)| *id == MAX_CONCURRENT_STREAMS).map(|(_, most)| most).next();
    let most = most.expect("a limit is set");
    assert!(most <= 64, "{most}");
    // A client that ignores the limit has its streams refused, or its connection closed.
    for number in 0..2 * most {
        tcp.write_all(&begin(2 * number + 1)).await.unwrap();
    }
    let mut refused = 0;
    while refused < most {
        match tokio::time::timeout(LIMIT, frame(&mut tcp)).await.unwrap() {
            Some((RST_STREAM, _)) => refused += 1,
            Some((GOAWAY, _)) | None => break,
            Some(_) => {}
        }
    }
    assert!(host.ask(&AccessArguments::default()).await.is_ok());
}

/// Messages that together take too much memory are refused, and memory is released afterwards.
#[tokio::test]
async fn messages_of_all_callers_share_a_budget() {
    const MOST: u64 = 1 << 20;
    let open = AccessArguments::default();
    let host = Host::serve_with(Budget::new(MOST), &open).await;
    let connection = Access::load(&open).unwrap().connect(&host.address.to_string(), LIMIT).await.unwrap();
    let mut client = CoordinatorClient::new(connection);
    let mut send = async |bytes: u64| {
        let request = DescribeRunRequest { protocol_version: 1, worker_name: "n".repeat(bytes as usize) };
        client.describe_run(request).await.unwrap_err().code()
    };
    for _ in 0..3 {
        assert_eq!(send(2 * MOST).await, Code::ResourceExhausted);
        // The message is accepted; the coordinator does not know the sender.
        assert_eq!(send(MOST / 2).await, Code::Unimplemented);
    }
}
