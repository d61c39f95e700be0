//! Commands that are printed for users to run.

use std::path::Path;

/// Returns a path as a word for a shell.
pub fn path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// Quotes a word for a shell, if it needs quotes.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_if_needed() {
        for (word, written) in [
            ("runs/3x4-multi", "runs/3x4-multi"),
            ("topspin:6,3", "topspin:6,3"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$HOME", "'$HOME'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(quoted(word), written);
        }
    }
}
