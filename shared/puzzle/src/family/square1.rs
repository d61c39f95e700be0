//! Square-1: two layers of corners that are twice as wide as edges, and a cut through both, along which the
//! right half of the puzzle turns over while no corner lies across it.
//!
//! A layer is a circle of 12 units of 30 degrees. They count clockwise as one looks at the layer from
//! outside, from where the cut ends: units 0 to 5 are the right half, from back to front in the top layer,
//! from front to back in the bottom layer. So the twist exchanges unit k of one layer and unit k of the
//! other. Each layer has an edge cell k, which is unit k, and a corner cell k, which is units k and
//! k + 1: corners on the corner cells 5 and 11 lie across the cut. On 32 of the 48 cells nothing stands:
//! there are 16 pieces `no corner` and 16 pieces `no edge`, which are alike. The middle layer is one piece
//! that the twist turns over.
//!
//! When the puzzle is solved, the cut is left of the middle of the front, as people hold it who write down
//! moves: (1,0) and (0,-1) can be followed by a twist, (-1,0) and (0,1) cannot.

pub mod letters;
pub mod notation;
pub mod outline;
pub mod pieces;
pub mod shapes;
pub mod standing;

pub use letters::LettersError;
pub use notation::{Sequence, SequenceError, Turn};
pub use outline::{Outline, OutlineError};
pub use pieces::{Carried, NotCarried};
pub use shapes::{Least, SquareOneShapes};
pub use standing::{Side, Standing, Stood};

use crate::definition::{Definition, Orbit, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};

/// Units of a layer, and cells of each kind.
const UNITS: usize = 12;
/// The last unit of the right half.
const LAST_OF_RIGHT: usize = 5;
/// The corner cells that lie across the cut in front: of the top layer, of the bottom layer.
pub const FRONT: [u16; 2] = [LAST_OF_RIGHT as u16, (2 * UNITS - 1) as u16];
/// The corner cells that lie across the cut.
pub const CUT: [u16; 4] = [FRONT[0], (UNITS - 1) as u16, (UNITS + LAST_OF_RIGHT) as u16, FRONT[1]];

/// A layer, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Above.
    Top,
    /// Below.
    Bottom,
}

/// All turns of one layer, and the twist, are the moves; states are those that can be twisted. Between two
/// twists each layer need be turned only once, and whether a twist can be made depends on each layer by
/// itself: so the state after the first of these turns can be twisted as well, and no way between such states
/// is shorter through others.
pub fn square1() -> Definition {
    let mut puzzle = in_all_shapes();
    puzzle.set_always(&CUT).expect("the cut goes through these cells");
    puzzle
}

/// The same with the states that cannot be twisted.
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

/// The twist is the only move: turns of the layers are free.
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
        .expect("the twist keeps the orbits, and what it moves lies beside the cut");
}

fn orbits() -> Vec<Orbit> {
    let orbit = |name: &str, cells, orientations| Orbit { name: name.into(), cells, orientations };
    vec![orbit("corners", 2 * UNITS, 1), orbit("edges", 2 * UNITS, 1), orbit("middle", 1, 2)]
}

/// Whether something stands on a cell when the puzzle is solved.
fn is_piece(cell: usize) -> bool {
    match (cell / UNITS, cell % 3) {
        // Corners on units 0 and 1, 3 and 4, … above, on 1 and 2, 4 and 5, … below.
        (0, rest) => rest == 0,
        (1, rest) => rest == 1,
        // Edges on units 2, 5, … above, on 0, 3, … below.
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
            false => Piece { label: none_of(cell).expect("this cell is one") as u16, ..piece },
        })
        .collect();
    puzzle.set_solved(&solved).expect("labels are cells of the same orbit");
    puzzle
}

impl Turn {
    /// What it does to the cells.
    pub fn action(self) -> OrientedPermutation {
        let cells = 4 * UNITS + 1;
        let to = |cell: usize| match (self, cell / UNITS) {
            (_, 4) => cell,
            (Self::Layer(layer, units), part) if part % 2 == layer as usize => {
                part * UNITS + (cell % UNITS + (units + UNITS as i8) as usize) % UNITS
            }
            (Self::Layer(..), _) => cell,
            // Corners that begin on the last unit of the right half end outside of it.
            (Self::Twist, part) if cell % UNITS + usize::from(part < 2) <= LAST_OF_RIGHT => match part % 2 {
                0 => cell + UNITS,
                _ => cell - UNITS,
            },
            (Self::Twist, _) => cell,
        };
        let mut turns = vec![0; cells];
        turns[cells - 1] = u16::from(self == Self::Twist);
        let orders: Vec<u16> =
            orbits().iter().flat_map(|orbit| vec![orbit.orientations; orbit.cells]).collect();
        OrientedPermutation::new(Permutation::from_fn(cells, to), turns, orders)
            .expect("layers exchange equal cells")
    }
}
