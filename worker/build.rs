//! Provides the binaries with the commit and the target that they are built from.

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // Without git, or in sources that were unpacked from an archive, the commit is unknown.
    let commit = git(&["rev-parse", "--short=12", "HEAD"])
        .map_or("no commit".into(), |commit| format!("commit {commit}"));
    println!("cargo::rustc-env=FATHOM_BUILT_FROM={commit}");
    let target = std::env::var("TARGET").expect("cargo names the target");
    println!("cargo::rustc-env=FATHOM_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
    // The log of HEAD grows with every commit and change of branch. Test builds ignore it, so that a commit
    // does not cause another build.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| is_release && std::path::Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
}
