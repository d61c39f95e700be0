//! One version everywhere.

use fathom_tests::docs::root;
use std::fs;

#[test]
fn files_name_the_version_of_the_programs() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("CITATION.cff", format!("\nversion: {version}\n")),
        ("CHANGELOG.md", format!("\n## {version}")),
        ("python/Cargo.toml", format!("\nversion = \"{version}\"\n")),
        ("python/pyproject.toml", format!("\nversion = \"{version}\"\n")),
        ("deploy/apptainer.def", format!("VERSION={version}\n")),
        ("deploy/kubernetes/overlays/example/kustomization.yaml", format!("newTag: {version}\n")),
        ("deploy/kubernetes/overlays/shared-store/kustomization.yaml", format!("newTag: {version}\n")),
    ] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(&line), "{file} lacks {line:?}");
    }
}
