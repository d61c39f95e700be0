//! The pieces of a state of Square-1: where each of them is, and where it belongs.

use super::{Layer, UNITS, is_piece};

/// A side of the cube that Square-1 is when solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The side at which the cut ends in the top layer.
    Back,
    /// The side of the half that is flipped.
    Right,
    /// The side on which the cut lies left of the middle.
    Front,
    /// The side of the half that stays in place.
    Left,
}

/// A corner or an edge. Units count as [in the parent module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedPiece {
    /// Whether the piece is a corner, which takes two units.
    pub is_corner: bool,
    /// The layer where the piece is, and its first unit there.
    pub place: (Layer, usize),
    /// The layer to which the piece belongs, and its first unit when the puzzle is solved.
    pub home: (Layer, usize),
}

impl PlacedPiece {
    /// Returns the sides whose colours the piece has, clockwise seen from outside its layer. Turns and twists
    /// preserve this order.
    pub fn sides(&self) -> impl Iterator<Item = Side> {
        let (layer, unit) = self.home;
        (unit..=unit + usize::from(self.is_corner)).map(move |unit| side(layer, unit))
    }
}

/// The places of all pieces in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The corners and edges.
    pub pieces: Vec<PlacedPiece>,
    /// Whether the right half of the middle layer is flipped.
    pub middle: bool,
}

impl Placement {
    /// Reads the places from the labels on the cells of the solved puzzle and of a state, and from the middle
    /// layer. `None` if the labels are not those of the 49 cells of Square-1, or if pieces have the same
    /// label.
    pub fn new(solved: &[u16], word: &[u16], middle: bool) -> Option<Self> {
        if solved.len() != 4 * UNITS + 1 || word.len() != solved.len() {
            return None;
        }
        let cells = || 0..4 * UNITS;
        let homes = |label: u16| cells().filter(move |&cell| solved[cell] == label);
        let is_known = |home: usize| homes(solved[home]).count() == 1;
        if !cells().filter(|&cell| is_piece(cell)).all(is_known) {
            return None;
        }
        let stands = |cell: usize| {
            let home = homes(word[cell]).next()?;
            let at = |cell: usize| match cell / UNITS % 2 {
                0 => (Layer::Top, cell % UNITS),
                _ => (Layer::Bottom, cell % UNITS),
            };
            let is_corner = cell < 2 * UNITS;
            is_piece(home).then(|| PlacedPiece { is_corner, place: at(cell), home: at(home) })
        };
        Some(Self { pieces: cells().filter_map(stands).collect(), middle })
    }
}

/// Returns the side of the cube at which a unit of a layer lies when the puzzle is solved.
fn side(layer: Layer, unit: usize) -> Side {
    // Adding `first` to a unit makes the three units of each side begin at a multiple of three.
    let (sides, first) = match layer {
        Layer::Top => ([Side::Back, Side::Right, Side::Front, Side::Left], 2),
        Layer::Bottom => ([Side::Front, Side::Right, Side::Back, Side::Left], 1),
    };
    sides[(unit + first) % UNITS / 3]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::square1::square1;

    fn solved() -> Vec<u16> {
        square1().solved().iter().map(|piece| piece.label).collect()
    }

    #[test]
    fn solved_puzzle_is_a_cube() {
        let stood = Placement::new(&solved(), &solved(), false).unwrap();
        assert_eq!(stood.pieces.len(), 16);
        assert!(stood.pieces.iter().all(|piece| piece.place == piece.home));
        for layer in [Layer::Top, Layer::Bottom] {
            // There is an edge in the middle of each side, and a corner where two sides meet.
            let of = |is_corner| {
                let there =
                    stood.pieces.iter().filter(move |p| p.is_corner == is_corner && p.place.0 == layer);
                let mut sides: Vec<Vec<Side>> = there.map(|piece| piece.sides().collect()).collect();
                sides.sort();
                sides
            };
            use Side::{Back, Front, Left, Right};
            assert_eq!(of(false), [[Back], [Right], [Front], [Left]]);
            let clockwise = match layer {
                Layer::Top => [[Back, Right], [Right, Front], [Front, Left], [Left, Back]],
                Layer::Bottom => [[Back, Left], [Right, Back], [Front, Right], [Left, Front]],
            };
            assert_eq!(of(true), clockwise);
        }
    }

    #[test]
    fn equal_labels_are_rejected() {
        let mut alike = solved();
        alike[3] = alike[0];
        assert_eq!(Placement::new(&alike, &alike, false), None);
        assert_eq!(Placement::new(&solved()[1..], &solved()[1..], false), None);
    }
}
