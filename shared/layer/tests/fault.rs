//! A file that is shortened while it is mapped ends the process with a message, not with a bare signal.

use fathom_layer::{Identity, LayerFile, LayerWriter, LocalDisk, Totals, map};
use std::fs::File;
use std::process::Command;

const CHILD: &str = "FATHOM_TEST_FAULT_CHILD";

/// The child process reads a file whose pages are gone; the parent process checks how the child ends.
#[test]
fn read_fault_names_the_file() {
    if let Ok(path) = std::env::var(CHILD) {
        map::report_faults().unwrap();
        let identity = Identity {
            fingerprint: [0; 32],
            depth: 0,
            shard: 0,
            first_coset: 0,
            cosets: 1,
            packed_bytes: 1 << 20,
            row_bits: 8,
        };
        let mut writer = LayerWriter::create(&LocalDisk, path.as_ref(), identity.clone()).unwrap();
        writer.push(&vec![1; 1 << 20], 1 << 20, 1 << 20).unwrap();
        writer.finish(Totals { stored: 1 << 20, states: 1, ..Totals::default() }).unwrap();
        let file = LayerFile::open(path.as_ref(), &identity).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
        let _ = file.coset(0);
        println!("the fault did not happen");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00000.layer");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fault::read_fault_names_the_file", "--nocapture"])
        .env(CHILD, &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said.contains(&format!("error: reading {} failed", path.display())), "{said}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("did not happen"));
}
