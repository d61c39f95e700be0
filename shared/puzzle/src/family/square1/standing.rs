//! The pieces of a state of Square-1: where each stands, and where it belongs.

use super::{Layer, UNITS, is_piece};

/// A side of the cube that the solved puzzle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Where the cut ends in the top layer.
    Back,
    /// Of the half that turns over.
    Right,
    /// Left of whose middle the cut is.
    Front,
    /// Of the half that stays.
    Left,
}

/// A corner or an edge. The units of a place count as [in this module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether it takes two units.
    pub is_corner: bool,
    /// Its layer and its first unit.
    pub place: (Layer, usize),
    /// The same in the solved puzzle.
    pub home: (Layer, usize),
}

impl Standing {
    /// The sides from which its colours are, clockwise as one looks at its layer from outside: turns and
    /// twists keep their order.
    pub fn sides(&self) -> impl Iterator<Item = Side> {
        let (layer, unit) = self.home;
        (unit..=unit + usize::from(self.is_corner)).map(move |unit| side(layer, unit))
    }
}

/// A state of all pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stood {
    /// The corners and edges.
    pub pieces: Vec<Standing>,
    /// Whether the right half of the middle layer is turned over.
    pub middle: bool,
}

impl Stood {
    /// By the labels on the cells of the solved puzzle and of a state, and the middle layer; `None` if they
    /// are not those of Square-1, or pieces are alike.
    pub fn of(solved: &[u8], word: &[u8], middle: bool) -> Option<Self> {
        if solved.len() != 4 * UNITS + 1 || word.len() != solved.len() {
            return None;
        }
        let cells = || 0..4 * UNITS;
        let homes = |label: u8| cells().filter(move |&cell| solved[cell] == label);
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
            is_piece(home).then(|| Standing { is_corner, place: at(cell), home: at(home) })
        };
        Some(Self { pieces: cells().filter_map(stands).collect(), middle })
    }
}

/// The side at which a unit of a layer lies when the layers are squares.
fn side(layer: Layer, unit: usize) -> Side {
    // The first three units of a side are those about its middle.
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

    fn solved() -> Vec<u8> {
        square1().solved().iter().map(|piece| piece.label as u8).collect()
    }

    #[test]
    fn the_solved_puzzle_is_a_cube() {
        let stood = Stood::of(&solved(), &solved(), false).unwrap();
        assert_eq!(stood.pieces.len(), 16);
        assert!(stood.pieces.iter().all(|piece| piece.place == piece.home));
        for layer in [Layer::Top, Layer::Bottom] {
            // An edge in the middle of each side, and a corner where two sides meet.
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
    fn pieces_that_are_alike_belong_nowhere() {
        let mut alike = solved();
        alike[3] = alike[0];
        assert_eq!(Stood::of(&alike, &alike, false), None);
        assert_eq!(Stood::of(&solved()[1..], &solved()[1..], false), None);
    }
}
