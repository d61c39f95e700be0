//! The places of the facelets of a puzzle in space, for code that draws the puzzle.

use super::geometry::{Cell, Cells, Vector};
use super::{cube, tetrahedron};

/// A cell of a puzzle in space: x to the right, y upwards, z to the front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facelets {
    /// The place of the cell.
    pub place: Vector,
    /// The directions of the faces on which the facelets of the cell lie. A piece with orientation k has its
    /// first facelet at index k.
    pub directions: Vec<Vector>,
}

/// Returns the cells of the puzzle of a name, in their order. `None` if not all facelets of the puzzle are
/// known, or if the puzzle does not have `cells` cells.
pub fn facelets(word: &str, cells: usize) -> Option<Vec<Facelets>> {
    let orbits: Vec<Cells> = match word {
        "2x2x2" | "3x3x3-corners" | "3x3x3-edges" | "3x3x3" | "skewb" => cube::orbits(word, cells),
        "pyraminx" | "pyraminx+tips" => tetrahedron::orbits(word),
        _ => return None,
    };
    let found = orbits.into_iter().flat_map(|(_, cells)| cells);
    let found: Vec<Facelets> =
        found.map(|Cell { place, facelets }| Facelets { place, directions: facelets }).collect();
    (found.len() == cells).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PuzzleSpec;

    #[test]
    fn facelets_match_the_cells_of_puzzles() {
        for word in ["2x2x2", "3x3x3-corners", "3x3x3-edges", "3x3x3", "skewb", "pyraminx", "pyraminx+tips"] {
            for source in [PuzzleSpec::by_name(word), PuzzleSpec::whole(word)] {
                let cells = source.unwrap().cells();
                assert_eq!(facelets(word, cells).unwrap().len(), cells, "{word}");
            }
        }
        assert_eq!(facelets("dino", 12), None);
        assert_eq!(facelets("skewb", 7), None);
    }
}
