//! The corpus of each fuzz target, run without a fuzzer.

use fathom_tests::fuzz::TARGETS;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Each input is also cut short at some places, and has single bits turned, which finds what the fuzzer would find first.
#[test]
fn every_target_takes_its_corpus() {
    for (name, target) in TARGETS {
        let corpus = folder().join("corpus").join(name);
        for input in names(&corpus) {
            let bytes = fs::read(corpus.join(&input)).unwrap();
            target(&bytes);
            for part in 0..8 {
                let at = bytes.len() * part / 8;
                target(&bytes[..at]);
                let mut turned = bytes.clone();
                turned[at] ^= 1 << part;
                target(&turned);
            }
        }
    }
}

/// A target that is not listed, or has no program or no corpus, would not be run.
#[test]
fn every_target_has_a_program_and_a_corpus() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&folder().join("corpus")), targets);
    let programs = names(&folder().join("fuzz_targets"));
    assert_eq!(programs, targets.iter().map(|name| format!("{name}.rs")).collect());
    let manifest: toml::Table = fs::read_to_string(folder().join("Cargo.toml")).unwrap().parse().unwrap();
    let bins = manifest["bin"].as_array().unwrap();
    let bins: BTreeSet<String> = bins.iter().map(|bin| bin["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(bins, targets);
}
