//! Runs the corpus of each fuzz target without a fuzzer.

use fathom_tests::fuzz::TARGETS;
use proptest::prelude::*;
use proptest::sample::Index;
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

/// Each input is also truncated at some places, and single bits are flipped. This finds the faults that a
/// fuzzer would find first.
#[test]
fn targets_accept_their_corpora() {
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

/// A change to an input: a byte is replaced, bytes are removed, or a part of another input is inserted.
#[derive(Clone, Debug)]
enum Change {
    Byte(Index, u8),
    Cut(Index, Index),
    Splice(Index, Index, Index, usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let index = any::<Index>;
    let byte = (index(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte));
    let cut = (index(), index()).prop_map(|(from, to)| Change::Cut(from, to));
    let splice = (index(), index(), index(), 0..80_usize);
    let splice = splice.prop_map(|(at, other, from, length)| Change::Splice(at, other, from, length));
    proptest::collection::vec(prop_oneof![3 => byte, 1 => cut, 2 => splice], 1..8)
}

fn change(mut bytes: Vec<u8>, change: &Change, inputs: &[Vec<u8>]) -> Vec<u8> {
    match change {
        _ if bytes.is_empty() => {}
        Change::Byte(at, byte) => *at.get_mut(&mut bytes[..]) = *byte,
        Change::Cut(from, to) => {
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            bytes.drain(from.min(to)..from.max(to));
        }
        Change::Splice(at, other, from, length) => {
            let other = other.get(inputs);
            let from = from.index(other.len() + 1);
            let part = &other[from..(from + length).min(other.len())];
            let at = at.index(bytes.len());
            bytes.splice(at..at, part.iter().copied());
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(512), ..ProptestConfig::default() })]

    /// Changes inputs at random, like a fuzzer without guidance. The environment variable `PROPTEST_CASES`
    /// sets the number of cases.
    #[test]
    fn targets_accept_mutations(which in 0..TARGETS.len(), input in any::<Index>(), changes in changes()) {
        let (name, target) = TARGETS[which];
        let corpus = folder().join("corpus").join(name);
        let inputs: Vec<Vec<u8>> =
            names(&corpus).iter().map(|input| fs::read(corpus.join(input)).unwrap()).collect();
        let bytes = changes.iter().fold(input.get(&inputs).clone(), |bytes, by| change(bytes, by, &inputs));
        target(&bytes);
    }
}

/// Each target must be listed here, and have a program and a corpus; otherwise it would not be run.
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
