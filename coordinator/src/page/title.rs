//! What a run enumerates, in people's words.

use fathom_puzzle::{PuzzleSpec, families};

/// Puzzles that have a name among people, by the first word of what Fathom calls them.
const NAMES: [(&str, &str); 7] = [
    ("2x2x2", "The pocket cube"),
    ("3x3x3-corners", "The corners of Rubik's cube"),
    ("3x3x3-edges", "The edges of Rubik's cube"),
    ("dino", "The dino cube"),
    ("pyraminx", "The pyraminx"),
    ("skewb", "The skewb"),
    ("square1", "Square-1"),
];

/// The puzzle.
pub(super) fn title(source: &PuzzleSpec) -> String {
    let name = source.name();
    if let PuzzleSpec::Board(board) = source {
        return format!("The {} × {} board whose rows and columns rotate", board.rows(), board.columns());
    }
    let word = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
    if let Some((_, title)) = NAMES.into_iter().find(|(known, _)| *known == name) {
        return title.into();
    }
    match families().iter().find(|family| word(family.pattern) == word(&name)) {
        Some(family) => {
            let about = family.about.split([';', ':']).next().unwrap_or_default();
            format!("{name}: {about}")
        }
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puzzles_are_called_as_people_call_them() {
        for (word, expected) in [
            ("3x4", "The 3 × 4 board whose rows and columns rotate"),
            ("2x2x2", "The pocket cube"),
            ("pancake:7", "pancake:7: N pancakes in a stack"),
        ] {
            assert_eq!(title(&PuzzleSpec::whole(word).unwrap()), expected);
        }
    }
}
