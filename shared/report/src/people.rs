//! Names of puzzles for people: in titles, and in the names of sequences.

use fathom_puzzle::{Metric, PuzzleSpec};
use fathom_run::SpaceSpec;
use fathom_space::Labels;

/// The names of a puzzle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The title, such as `The pocket cube`.
    pub title: String,
    /// The part of a sequence's name after "Number of": what is counted, and when it has the distance n.
    pub counted: String,
    /// The part of the same name after "where": what one move is.
    pub one_move: String,
}

/// Returns the title of a space: of a puzzle, some of whose pieces have one label where they do not by
/// themselves if `is_labelled`.
pub fn title(source: &PuzzleSpec, metric: &str, is_labelled: bool) -> String {
    let puzzle = words(source, metric).map_or_else(|| source.name(), |words| words.title);
    if is_labelled { format!("{puzzle}, some pieces alike") } else { puzzle }
}

/// Returns whether pieces of a space have other labels than its puzzle gives them.
pub fn is_labelled(spec: &SpaceSpec) -> bool {
    spec.labels != Labels::from_values(spec.source.solved())
}

/// Returns the names of a board or of a puzzle that Fathom knows by its name; `None` for a puzzle that
/// somebody defined.
pub fn words(source: &PuzzleSpec, metric: &str) -> Option<Words> {
    let power = if metric == Metric::Multi.word() {
        "any power of a generator"
    } else {
        "a generator or its inverse"
    };
    let (title, counted, one_move) = match source {
        PuzzleSpec::Board(board) => {
            let (rows, columns) = (board.rows(), board.columns());
            let one_move = match metric == Metric::Multi.word() {
                true => "a move rotates one row or column by any number of cells",
                false => "a move rotates one row or column by one cell",
            };
            let counted = format!(
                "arrangements of a {rows} X {columns} board with cyclically rotating rows and columns that need exactly n moves to be solved"
            );
            (format!("The {rows} × {columns} board"), counted, one_move.to_owned())
        }
        PuzzleSpec::Defined(_) if !is_of_its_word(source) => return None,
        PuzzleSpec::Defined(_) => {
            let name = source.name();
            let (family, number) = name.split_once(':').unwrap_or((&name, ""));
            let permutations =
                format!("permutations of {number} elements that need exactly n moves to be sorted");
            let positions =
                |puzzle: &str| format!("positions of {puzzle} that need exactly n moves to be solved");
            let face = match metric == Metric::Multi.word() {
                true => "a move turns one face by any angle".to_owned(),
                false => "a move turns one face by its smallest angle, either way".to_owned(),
            };
            match family {
                "pancake" => (
                    format!("{number} pancakes"),
                    format!("stacks of {number} pancakes that need exactly n flips to be sorted"),
                    "a flip turns over any number of pancakes from the top".into(),
                ),
                "burnt-pancake" => (
                    format!("{number} burnt pancakes"),
                    format!("stacks of {number} burnt pancakes that need exactly n flips to be sorted"),
                    "a flip turns over any number of pancakes from the top".into(),
                ),
                "star" => (
                    format!("The star graph of {number} pieces"),
                    permutations,
                    "a move exchanges the first element with any other".into(),
                ),
                "coxeter" => (
                    format!("Bubble sort of {number} pieces"),
                    permutations,
                    "a move exchanges two neighbors".into(),
                ),
                "all-transpositions" => (
                    format!("All exchanges of {number} pieces"),
                    permutations,
                    "a move exchanges any two elements".into(),
                ),
                "lrx" => (
                    format!("{number} pieces in a ring, L, R and X"),
                    permutations,
                    "a move rotates all elements by one place either way, or exchanges the first two".into(),
                ),
                "lx" => (
                    format!("{number} pieces in a ring, L and X"),
                    permutations,
                    "a move rotates all elements by one place to the left, or exchanges the first two".into(),
                ),
                "topspin" => {
                    let (all, turned) = number.split_once(',')?;
                    (
                        format!("TopSpin with {all} pieces"),
                        format!(
                            "permutations of {all} elements in a ring that need exactly n moves to be sorted"
                        ),
                        format!(
                            "a move rotates the ring by one place, or reverses the first {turned}, by {power}"
                        ),
                    )
                }
                "2x2x2" => ("The pocket cube".into(), positions("the 2 X 2 X 2 Rubik cube"), face),
                "3x3x3-corners" => (
                    "The corners of Rubik's cube".into(),
                    positions("the corners of the 3 X 3 X 3 Rubik cube"),
                    face,
                ),
                "3x3x3-edges" => (
                    "The edges of Rubik's cube".into(),
                    positions("the edges of the 3 X 3 X 3 Rubik cube"),
                    face,
                ),
                "3x3x3-positions" => (
                    "The positions of the pieces of Rubik's cube".into(),
                    positions("the pieces of the 3 X 3 X 3 Rubik cube, however these are turned,"),
                    face,
                ),
                "3x3x3" => ("Rubik's cube".into(), positions("the 3 X 3 X 3 Rubik cube"), face),
                "skewb" => (
                    "The Skewb".into(),
                    positions("the Skewb"),
                    "a move turns half of the puzzle about one corner".into(),
                ),
                "dino" => {
                    ("The Dino Cube".into(), positions("the Dino Cube"), "a move turns one corner".into())
                }
                "compy" => {
                    ("The Compy Cube".into(), positions("the Compy Cube"), "a move turns one corner".into())
                }
                "pyraminx" => (
                    "The Pyraminx without its tips".into(),
                    positions("the Pyraminx (without the trivial tips)"),
                    "a move turns one corner".into(),
                ),
                "pyraminx+tips" => (
                    "The Pyraminx with its tips".into(),
                    positions("the Pyraminx (with its tips)"),
                    "a move turns one corner or tip".into(),
                ),
                "square1" => {
                    let one_move = match metric == Metric::Twist.word() {
                        true => "a move is a twist, and turns of the two layers are free",
                        false => "a move is a twist, or turns one layer by any angle",
                    };
                    ("Square-1".into(), positions("the Square-1 puzzle"), one_move.into())
                }
                _ => return None,
            }
        }
    };
    Some(Words { title, counted, one_move })
}

/// Returns whether a puzzle is the one that its name stands for: a file may have any name.
pub(crate) fn is_of_its_word(source: &PuzzleSpec) -> bool {
    let name = source.name();
    let metric = source.metric();
    let found = [PuzzleSpec::by_name(&name), PuzzleSpec::whole(&name), PuzzleSpec::in_hand(&name)];
    found.into_iter().filter_map(|found| found.ok()?.in_metric(metric).ok()).any(|found| found == *source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::families;

    #[test]
    fn every_family_has_words() {
        for family in families()
            .iter()
            .filter(|family| !family.example.contains('+') || family.example.starts_with("pyraminx"))
        {
            let source = PuzzleSpec::by_name(family.example).unwrap();
            let metric = source.metric().to_string();
            let words = words(&source, &metric).unwrap_or_else(|| panic!("{}", family.example));
            assert!(words.counted.contains("exactly n") && !words.title.contains(':'), "{words:?}");
        }
    }

    #[test]
    fn a_name_alone_is_no_puzzle() {
        let board = PuzzleSpec::by_name("3x4").unwrap();
        assert_eq!(title(&board, "multi", false), "The 3 × 4 board");
        assert_eq!(title(&board, "multi", true), "The 3 × 4 board, some pieces alike");
        assert_eq!(title(&PuzzleSpec::whole("2x2x2").unwrap(), "multi", false), "The pocket cube");
        let mut definition = PuzzleSpec::by_name("pancake:5").unwrap().definition(Metric::Given).unwrap();
        let other = PuzzleSpec::by_name("star:5").unwrap().definition(Metric::Given).unwrap();
        assert!(words(&PuzzleSpec::Defined(Box::new(definition.clone())), "given").is_some());
        for (name, action) in other.moves().iter().map(|m| (m.name.clone(), m.action.clone())) {
            // One more move, under a name that is free.
            let _ = definition.add_move(format!("x{name}"), action);
        }
        assert_eq!(words(&PuzzleSpec::Defined(Box::new(definition)), "given"), None);
    }
}
