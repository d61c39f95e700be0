//! Reads elements of a puzzle's group: as moves, as cycles, or as the state to which they lead.

use fathom_algebra::{CycleError, ExpressionError, Named, Permutation, expression};
use fathom_puzzle::Move;
use fathom_puzzle::tiles;

/// Why a text is not an element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElementError {
    /// The text looks like cycles, but is malformed.
    #[error("{0}; cycles are written as (1,2,3)(4,5), with points numbered from 1")]
    Cycles(CycleError),
    /// The text looks like tiles, but does not name each tile once.
    #[error("{0}")]
    Tiles(String),
    /// The text is a malformed expression in the moves.
    #[error("{0}")]
    Expression(ExpressionError),
}

/// Reads an element of degree `points`. A text that consists of digits, brackets and separators is cycles if
/// it begins with a bracket, and otherwise the tiles of a state, unless moves have numbers for names and
/// there are not as many numbers as tiles. Any other text is an expression in the names of the moves.
///
/// The element of a state carries tile p from cell p, its home, to the cell where it is.
///
/// # Errors
/// [`ElementError`] with the position and the reason.
pub fn read(text: &str, points: usize, moves: &[Move]) -> Result<Permutation, ElementError> {
    let text = text.trim();
    let is_numbers = text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || "()[],;".contains(c));
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty()).count();
    let are_names = moves.iter().any(|m| m.name.bytes().all(|digit| digit.is_ascii_digit()));
    match text.chars().next() {
        Some('(' | '[') if is_numbers => Permutation::parse(text, points).map_err(ElementError::Cycles),
        Some(_) if is_numbers && (numbers == points || !are_names) => {
            let tiles = tiles::read_from_zero(text, points).map_err(ElementError::Tiles)?;
            Ok(of_tiles(&tiles))
        }
        _ => {
            let named: Vec<Named> = moves.iter().map(Move::named).collect();
            expression::parse(text, points, &named).map_err(ElementError::Expression)
        }
    }
}

/// Returns the element that leads to a state with each tile once: tile p goes from cell p to the cell where
/// it is.
pub fn of_tiles(tiles: &[usize]) -> Permutation {
    Permutation::from_fn(tiles.len(), |cell| tiles[cell]).inverse()
}

/// Returns the tile on each cell in the state to which an element leads from the solved state.
pub fn tiles_of(element: &Permutation) -> Vec<u16> {
    element.inverse().images().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::Board;
    use proptest::prelude::*;

    /// Returns the number of cells of the 3 x 4 board, and its shifts by one cell.
    fn moves() -> (usize, Vec<Move>) {
        let board: Board = "3x4".parse().unwrap();
        let moves =
            board.lines().map(|line| Move { name: line.move_name(1), action: board.rotation(line, 1) });
        (board.cells(), moves.collect())
    }

    fn element(text: &str) -> Result<Permutation, String> {
        let (points, moves) = moves();
        read(text, points, &moves).map_err(|error| error.to_string())
    }

    #[test]
    fn moves_cycles_and_tiles_agree() {
        // The first row moves left: tile 0 comes to cell 3, and tile 1 to cell 0.
        for text in
            ["H1", "(4,3,2,1)", "[[4,3,2,1]]", " 1,2,3,0; 4,5,6,7; 8,9,10,11 ", "1 2 3 0 4 5 6 7 8 9 10 11"]
        {
            assert_eq!(element(text), element("H1^-3"), "{text}");
        }
        for identity in ["()", "[]", "V1^3", "0 1 2 3 4 5 6 7 8 9 10 11"] {
            assert!(element(identity).unwrap().is_identity(), "{identity}");
        }
        assert_eq!(tiles_of(&element("H1").unwrap())[..5], [1, 2, 3, 0, 4]);
    }

    #[test]
    fn invalid_elements_are_rejected_with_a_reason() {
        for (text, says) in [
            ("", "at offset 0: expected a move or '('"),
            ("(1,2", "at offset 4: expected a point, found the end; cycles are written as"),
            ("(1,13)", "at offset 3: point 13 is not between 1 and 12"),
            ("(1,2)(2,3)", "at offset 6: point 2 occurs twice"),
            ("1 2 3", "expected 12 tiles, got 3"),
            ("1 2 3 4 5 6 7 8 9 10 11 12", "there is no tile 12: tiles are numbered 0 to 11"),
            ("0 1 2 3 4 5 6 7 8 9 10 10", "tile 10 occurs twice"),
            ("99999999999999999999 1", "is not a tile: tiles are numbered 0 to 11"),
            ("V1*V5", "at offset 3: unknown move \"V5\". Moves: V1 V2 V3 V4 H1 H2 H3"),
            ("V1^2^", "at offset 5: expected a number"),
        ] {
            let error = element(text).unwrap_err();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in ".*", near in "[VH1-4^*(),; '\\[\\]-]{0,24}") {
            let _ = (element(&text), element(&near));
        }

        #[test]
        fn written_states_round_trip(tiles in Just((0..12_u16).collect::<Vec<_>>()).prop_shuffle()) {
            let written: Vec<String> = tiles.iter().map(u16::to_string).collect();
            let read = element(&written.join(",")).unwrap();
            prop_assert_eq!(&tiles_of(&read), &tiles);
            prop_assert_eq!(element(&read.to_string()).unwrap(), read);
        }
    }
}
