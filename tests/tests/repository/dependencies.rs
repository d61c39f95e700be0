//! The crates that Fathom is built from: their licences, their origin, and those banned by `deny.toml`.
//! `cargo deny check` reports more, where it is installed.

use fathom_tests::docs::root;
use serde_json::Value;
use spdx::{Expression, ParseMode};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// The only registry that is allowed. Cargo uses this name for mirrors too.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn rules() -> toml::Table {
    fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap()
}

fn words(list: &toml::Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Returns the crates that are built for one of the platforms of `deny.toml`, including those of tests.
fn crates() -> Vec<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform"]);
    let output = command.arg("x86_64-unknown-linux-gnu").current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nodes = found["resolve"]["nodes"].as_array().unwrap();
    let built: BTreeSet<String> = nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect();
    let Value::Array(packages) = found["packages"].take() else { panic!("no packages") };
    packages.into_iter().filter(|package| built.contains(package["id"].as_str().unwrap())).collect()
}

#[test]
fn licences_allow_redistribution_of_binaries() {
    let allowed = words(&rules()["licenses"]["allow"]);
    for package in crates() {
        let licence =
            package["license"].as_str().unwrap_or_else(|| panic!("{}: no licence", package["name"]));
        let parsed = Expression::parse_mode(licence, ParseMode::LAX).unwrap();
        let is_allowed = parsed.evaluate(|wanted| {
            wanted.addition.is_none() && wanted.license.id().is_some_and(|id| allowed.contains(id.name))
        });
        assert!(is_allowed, "{} {}: {licence}", package["name"], package["version"]);
    }
}

#[test]
fn crates_come_from_one_registry() {
    for package in crates() {
        match package["source"].as_str() {
            Some(source) => assert_eq!(source, REGISTRY, "{}", package["name"]),
            None => assert_eq!(package["publish"], Value::Array(Vec::new()), "{}", package["name"]),
        }
    }
}

#[test]
fn banned_crates_are_not_built() {
    let rules = rules();
    let banned = rules["bans"]["deny"].as_array().unwrap();
    let banned: BTreeSet<&str> = banned.iter().map(|ban| ban["crate"].as_str().unwrap()).collect();
    assert!(!banned.is_empty());
    for package in crates() {
        assert!(!banned.contains(package["name"].as_str().unwrap()), "{}", package["name"]);
        for dependency in package["dependencies"].as_array().unwrap() {
            let is_ours = package["source"].is_null() && dependency["source"].is_string();
            assert!(!is_ours || dependency["req"] != "*", "{}: {}", package["name"], dependency["name"]);
        }
    }
}
