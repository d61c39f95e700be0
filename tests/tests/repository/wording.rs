//! Help and messages are in plain English: phrases of translated text must not return.

use crate::repository::architecture::sources;
use fathom_tests::docs::root;

/// Phrases that a native writer would not use in help or in a message (docs/style.md).
const PHRASES: [&str; 18] = [
    "go on with",
    "goes on",
    "names no ",
    "is no run",
    "is no file",
    "is no directory",
    "nothing but",
    "how far a",
    "told apart",
    "set aside",
    "given back",
    "is there already",
    ", for it ",
    "stands above",
    "so many ",
    "afresh",
    "as it was:",
    "who may",
];

/// Returns the part of a line that users read: its string literals, or in arguments its help.
fn shown(line: &str, is_arguments: bool) -> Option<&str> {
    let line = line.trim_start();
    match line.strip_prefix("///") {
        Some(help) => is_arguments.then_some(help),
        None if line.starts_with("//") => None,
        None => line.split_once('"').map(|(_, rest)| rest),
    }
}

#[test]
fn help_and_messages_are_plain_english() {
    let mut read = 0;
    for folder in ["shared", "proto/src", "page/src", "worker/src", "coordinator/src", "cli/src"] {
        for (path, text) in sources(&root().join(folder)) {
            let name = path.display().to_string();
            if name.contains("/tests") || name.contains("/examples/") || name.ends_with("generated.rs") {
                continue;
            }
            let code = text.split("#[cfg(test)]").next().expect("there is a first part");
            for (line, number) in code.lines().zip(1..) {
                let Some(shown) = shown(line, name.contains("arguments")) else { continue };
                read += 1;
                let phrase = PHRASES.iter().find(|phrase| shown.contains(**phrase));
                assert_eq!(phrase, None, "{name}:{number}: {line}");
            }
        }
    }
    assert!(read > 3000, "only {read} lines were read");
}
