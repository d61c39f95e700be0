//! Square-1: two layers, in which a corner is twice as wide as an edge, and a cut through both layers. The
//! right half of the puzzle can be flipped along the cut while no corner lies across the cut.
//!
//! A layer is a circle of 12 units of 30 degrees. Units count clockwise, seen from outside the layer, from
//! the end of the cut: units 0 to 5 are the right half, from back to front in the top layer, from front to
//! back in the bottom layer. So the twist exchanges unit k of one layer and unit k of the other. In each
//! layer, edge cell k is unit k, and corner cell k consists of the units k and k + 1: corners on the corner
//! cells 5 and 11 lie across the cut. 32 of the 48 cells are empty, which the definition expresses
//! by 16 interchangeable pieces `no corner` and 16 interchangeable pieces `no edge`. The middle layer is one
//! piece, which the twist flips.
//!
//! When the puzzle is solved, the cut is left of the middle of the front, as in the usual notation of moves:
//! a twist can follow (1,0) and (0,-1), but not (-1,0) and (0,1).

pub mod letters;
pub mod notation;
pub mod outline;
pub mod piece_positions;
pub mod pieces;
pub mod shapes;

pub use letters::LettersError;
pub use notation::{Sequence, SequenceError, Turn};
pub use outline::{Outline, OutlineError};
pub use piece_positions::{PlacedPiece, Placement, Side};
pub use pieces::{Effect, NoEffect};
pub use shapes::{Least, SquareOneShapes};

use crate::definition::{Definition, Orbit, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};

/// The number of units of a layer, and of the cells of each kind in a layer.
const UNITS: usize = 12;
/// The last unit of the right half.
const LAST_OF_RIGHT: usize = 5;
/// The corner cells that lie across the cut in front: in the top layer, in the bottom layer.
pub const FRONT: [u16; 2] = [LAST_OF_RIGHT as u16, (2 * UNITS - 1) as u16];
/// The four corner cells that lie across the cut.
pub const CUT: [u16; 4] = [FRONT[0], (UNITS - 1) as u16, (UNITS + LAST_OF_RIGHT) as u16, FRONT[1]];

/// A layer. Its number is that of its block of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The upper layer.
    Top,
    /// The lower layer.
    Bottom,
}

/// Returns Square-1 in the face metric: the moves are all turns of one layer, and the twist; the states are
/// those that can be twisted.
///
/// The limit does not change distances. Between two twists each layer need be turned only once, and whether
/// the twist is possible depends on each layer separately: so the state after the first of these turns can be
/// twisted as well, and no path between such states is shorter if it passes through other states.
pub fn square1() -> Definition {
    let mut puzzle = in_all_shapes();
    puzzle.set_always(&CUT).expect("the cut goes through these cells");
    puzzle
}

/// Returns [`square1`] without the limit: the states include those that cannot be twisted.
pub fn in_all_shapes() -> Definition {
    let mut puzzle = without_moves("square1");
    for layer in [Layer::Top, Layer::Bottom] {
        for units in (1..=6).chain(-5..=-1) {
            let turn = Turn::Layer(layer, units);
            puzzle.add_move(turn.to_string(), turn.action()).expect("a turn keeps the orbits");
        }
    }
    add_twist(&mut puzzle);
    puzzle
}

/// Returns Square-1 in the twist metric: the twist is the only move, and turns of the layers are free.
pub fn by_twists() -> Definition {
    let mut puzzle = without_moves("square1");
    for layer in [Layer::Top, Layer::Bottom] {
        let turn = Turn::Layer(layer, 1);
        puzzle.add_free(turn.to_string(), turn.action()).expect("a turn keeps the orbits");
    }
    add_twist(&mut puzzle);
    puzzle
}

fn add_twist(puzzle: &mut Definition) {
    let twist = Turn::Twist;
    puzzle
        .add_guarded_move(twist.to_string(), twist.action(), &CUT)
        .expect("the twist keeps the orbits, and does not move the cells of its guard");
}

fn orbits() -> Vec<Orbit> {
    let orbit = |name: &str, cells, orientations| Orbit { name: name.into(), cells, orientations };
    vec![orbit("corners", 2 * UNITS, 1), orbit("edges", 2 * UNITS, 1), orbit("middle", 1, 2)]
}

/// Returns whether a cell holds a real piece, not `no corner` or `no edge`, when the puzzle is solved.
fn is_piece(cell: usize) -> bool {
    match (cell / UNITS, cell % 3) {
        // Corners are on the units 0 and 1, 3 and 4, … of the top layer, on 1 and 2, 4 and 5, … of the
        // bottom layer.
        (0, rest) => rest == 0,
        (1, rest) => rest == 1,
        // Edges are on the units 2, 5, … of the top layer, on 0, 3, … of the bottom layer.
        (2, rest) => rest == 2,
        (3, rest) => rest == 0,
        _ => true,
    }
}

fn without_moves(name: &str) -> Definition {
    let mut puzzle = Definition::new(name, orbits()).expect("49 cells are few");
    let none_of =
        |cell: usize| (0..).find(|&other| other / (2 * UNITS) == cell / (2 * UNITS) && !is_piece(other));
    let solved: Vec<Piece> = puzzle
        .solved()
        .iter()
        .enumerate()
        .map(|(cell, &piece)| match is_piece(cell) {
            true => piece,
            false => Piece { label: none_of(cell).expect("this cell itself qualifies") as u16, ..piece },
        })
        .collect();
    puzzle.set_solved(&solved).expect("labels are cells of the same orbit");
    puzzle
}

impl Turn {
    /// Returns the action of the move on the 49 cells.
    pub fn action(self) -> OrientedPermutation {
        let cells = 4 * UNITS + 1;
        let to = |cell: usize| match (self, cell / UNITS) {
            (_, 4) => cell,
            (Self::Layer(layer, units), part) if part % 2 == layer as usize => {
                part * UNITS + (cell % UNITS + (units + UNITS as i8) as usize) % UNITS
            }
            (Self::Layer(..), _) => cell,
            // A corner that begins on the last unit of the right half ends outside of that half.
            (Self::Twist, part) if cell % UNITS + usize::from(part < 2) <= LAST_OF_RIGHT => match part % 2 {
                0 => cell + UNITS,
                _ => cell - UNITS,
            },
            (Self::Twist, _) => cell,
        };
        let mut turns = vec![0; cells];
        turns[cells - 1] = u16::from(self == Self::Twist);
        let orientation_counts: Vec<u16> =
            orbits().iter().flat_map(|orbit| vec![orbit.orientations; orbit.cells]).collect();
        OrientedPermutation::new(Permutation::from_fn(cells, to), turns, orientation_counts)
            .expect("layers exchange equal cells")
    }
}
