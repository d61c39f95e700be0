//! The committed code of the messages is what the generator produces from `fathom.proto`.
//!
//! After a change to the messages, `FATHOM_GENERATE=1 cargo test --release --test all generated::` writes the
//! code again.

use std::fs;
use std::path::Path;

const HEADER: &str = "// Generated from proto/fathom/v1/fathom.proto; do not edit (see tests/tests/repository/generated.rs).\n";

#[test]
fn generated_message_code_is_current() {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto");
    let include = proto.join("proto");
    let descriptors = protox::compile([include.join("fathom/v1/fathom.proto")], [include]).unwrap();
    let made = fathom_tests::tempdir().unwrap();
    tonic_prost_build::configure().bytes(".").out_dir(made.path()).compile_fds(descriptors).unwrap();
    let made = fs::read_to_string(made.path().join("fathom.v1.rs")).unwrap();
    let code = format!("{HEADER}{made}");
    let committed = proto.join("src/v1/generated.rs");
    if std::env::var_os("FATHOM_GENERATE").is_some() {
        fs::write(&committed, &code).unwrap();
    }
    let is_current = fs::read_to_string(&committed).unwrap() == code;
    assert!(is_current, "{} is not what the generator makes; see the top of this test", committed.display());
}
