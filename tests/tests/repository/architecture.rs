//! The rules of the folder tree: which crate may use which, and where a few kinds of code may be.

use fathom_tests::module_imports::Modules;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates from the lowest to the highest: each uses only crates listed before it.
const ORDER: [&str; 18] = [
    "tests/slow",
    "algebra",
    "puzzle",
    "space",
    "kernel",
    "layer",
    "lists",
    "command",
    "engine",
    "solve",
    "report",
    "begin",
    "proto",
    "page",
    "worker",
    "coordinator",
    "cli",
    "tests",
];

/// Pairs of crates that do not use each other, although their order would allow it.
const STRANGERS: [(&str, &str); 5] =
    [("report", "solve"), ("layer", "space"), ("layer", "kernel"), ("command", "puzzle"), ("worker", "page")];

/// External crates that only one crate uses, or that only crates outside `shared` may use.
const RESERVED: [(&str, &[&str]); 18] = [
    ("askama", &["report"]),
    ("plotters", &["report"]),
    ("csv", &["report", "tests"]),
    ("comfy-table", &["report"]),
    ("rusqlite", &["engine", "coordinator", "tests"]),
    ("memmap2", &["layer"]),
    ("tokio", &["proto", "page", "worker", "coordinator", "cli", "tests"]),
    ("tonic", &["proto", "worker", "coordinator", "cli", "tests"]),
    ("axum", &["page"]),
    ("hyper", &["page"]),
    ("prometheus-client", &["page"]),
    ("thirtyfour", &["tests"]),
    ("prost", &["proto", "tests"]),
    ("clap", &["proto", "worker", "cli"]),
    ("clap_complete", &["worker", "cli"]),
    ("clap_mangen", &["cli"]),
    ("ratatui", &["cli"]),
    ("strsim", &["puzzle", "cli"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn folder(name: &str) -> PathBuf {
    let shared = root().join("shared").join(name);
    if shared.is_dir() { shared } else { root().join(name) }
}

/// Returns the names of a crate's dependencies, except those that only its tests use.
fn dependencies(name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder(name).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    let table = |key: &str| manifest.get(key).and_then(|value| value.as_table()).cloned();
    let named = ["dependencies", "build-dependencies"].into_iter().filter_map(table);
    named.flat_map(|table| table.keys().cloned().collect::<Vec<_>>()).collect()
}

/// Returns the Rust files below a folder, with their text. Panics if there are none.
pub(super) fn sources(folder: &Path) -> BTreeMap<PathBuf, String> {
    fn add(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path, text);
            }
        }
    }
    let mut found = BTreeMap::new();
    add(folder, &mut found);
    assert!(!found.is_empty(), "{} has no Rust files", folder.display());
    found
}

#[test]
#[should_panic(expected = "has no Rust files")]
fn folder_without_sources_is_noticed() {
    sources(&root().join("docs/decisions"));
}

#[test]
fn crates_use_only_those_below_them() {
    for (place, name) in ORDER.iter().enumerate() {
        for dependency in dependencies(name) {
            let Some(used) = dependency.strip_prefix("fathom-") else {
                continue;
            };
            let below = ORDER[..place].contains(&used);
            assert!(below, "{name} uses {used}, which stands above it");
            assert!(!STRANGERS.contains(&(name, used)), "{name} uses {used}, which it should not know");
        }
    }
}

#[test]
fn every_crate_has_its_place() {
    let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    let mut members: Vec<&str> =
        members.iter().map(|member| member.as_str().unwrap().trim_start_matches("shared/")).collect();
    let mut order = ORDER.to_vec();
    members.sort_unstable();
    order.sort_unstable();
    assert_eq!(members, order);
}

#[test]
fn libraries_are_used_only_where_allowed() {
    for name in ORDER {
        for dependency in dependencies(name) {
            let reserved = RESERVED.iter().find(|(library, _)| *library == dependency);
            if let Some((library, users)) = reserved {
                assert!(users.contains(&name), "{name} uses {library}, which is for {users:?}");
            }
        }
    }
}

#[test]
fn only_kernel_and_layer_have_unsafe_code() {
    for name in ORDER.iter().filter(|name| !["kernel", "layer"].contains(name)) {
        for (path, text) in sources(&folder(name).join("src")) {
            let found = text.lines().find(|line| {
                let code = line.split("//").next().unwrap_or_default();
                ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|word| code.contains(word))
            });
            assert_eq!(found, None, "{}", path.display());
        }
    }
}

#[test]
fn modules_are_files_beside_their_folders() {
    for name in ORDER {
        for path in sources(&folder(name).join("src")).keys() {
            assert!(!path.ends_with("mod.rs"), "{}: use NAME.rs beside NAME/", path.display());
        }
    }
}

/// The types of the command line do not use commands.
#[test]
fn arguments_do_not_use_commands() {
    for (path, text) in sources(&folder("cli").join("src/arguments")) {
        assert!(!text.contains("crate::commands"), "{}", path.display());
    }
}

/// A page shows a run; a run does not know about its page.
#[test]
fn cluster_does_not_use_its_page() {
    for (path, text) in sources(&folder("coordinator").join("src/cluster")) {
        for word in ["fathom_page", "crate::feed"] {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
}

/// Modules below one module count as part of it. What a scan of the text does not see, such as method calls,
/// may still go both ways.
#[test]
fn modules_do_not_import_each_other_in_cycles() {
    let mut imports = 0;
    for name in ORDER {
        let src = folder(name).join("src");
        let modules = Modules::new(&src, &sources(&src));
        imports += modules.imports();
        assert_eq!(modules.circle(), None, "{name}");
    }
    assert!(imports > 400, "only {imports} imports were seen");
}
