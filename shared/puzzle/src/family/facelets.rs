//! Where the facelets of a puzzle's cells are in space, for those who draw it.

use super::geometry::{Cell, Cells, Vector};
use super::{cube, tetrahedron};

/// A cell of a puzzle in space: x to the right, y upwards, z to the front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facelets {
    /// Where the cell is.
    pub place: Vector,
    /// The directions of the faces on which its facelets lie. A piece with orientation k has its first
    /// facelet at place k of them.
    pub directions: Vec<Vector>,
}

/// The cells of the puzzle that a word names, in their order, if it has so many and each of their facelets is
/// known.
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
    fn puzzles_have_as_many_cells_as_are_known() {
        for word in ["2x2x2", "3x3x3-corners", "3x3x3-edges", "3x3x3", "skewb", "pyraminx", "pyraminx+tips"] {
            for source in [PuzzleSpec::of_word(word), PuzzleSpec::whole(word)] {
                let cells = source.unwrap().cells();
                assert_eq!(facelets(word, cells).unwrap().len(), cells, "{word}");
            }
        }
        assert_eq!(facelets("dino", 12), None);
        assert_eq!(facelets("skewb", 7), None);
    }
}
