//! The Gear Cube of Oskar van Deventer, held by the corner DBL. A half turn of a face turns the slice beside it
//! by a quarter, and the slice's four edges, which are gears, in place. A gear looks the same after three such
//! turns. Jaap Scherphuis's page about the puzzle shows that the centres follow from the edges.

use super::geometry::{Vector, clockwise, dot};
use crate::definition::{Definition, Orbit};
use fathom_algebra::{OrientedPermutation, Permutation};

const FACES: [(&str, Vector); 3] = [("U", [0, 1, 0]), ("R", [1, 0, 0]), ("F", [0, 0, 1])];
/// The number of quarter turns after which a gear looks as before.
const GEAR_TURNS: u16 = 3;

/// Returns the Gear Cube: its corners and its edges. A move is a half turn of a face.
pub fn gear() -> Definition {
    let places = |zeros: usize| {
        let all = (0..27).map(|n| [n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1]);
        all.filter(move |place: &Vector| place.iter().filter(|&&x| x == 0).count() == zeros)
    };
    let cells: Vec<Vector> = places(0).chain(places(1)).collect();
    let orbit = |name: &str, cells, orientations| Orbit { name: name.into(), cells, orientations };
    let orbits = vec![orbit("corners", 8, 1), orbit("gears", 12, GEAR_TURNS)];
    let mut gear = Definition::new("gear", orbits).expect("few cells");
    for (name, axis) in FACES {
        let to = |place: Vector| match dot(place, axis) {
            1 => clockwise(axis, clockwise(axis, place)),
            0 => clockwise(axis, place),
            _ => place,
        };
        let images = Permutation::from_fn(cells.len(), |cell| {
            cells.iter().position(|&place| place == to(cells[cell])).expect("turns carry cells to cells")
        });
        let turns: Vec<u16> = cells.iter().map(|&place| u16::from(dot(place, axis) == 0)).collect();
        let action = OrientedPermutation::new(images, turns, gear.orientation_counts());
        gear.add_move(name, action.expect("only gears turn")).expect("names are distinct");
    }
    gear
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;
    use std::collections::HashSet;

    /// Jaap Scherphuis's page: 4! (4 * 3)^3 = 41,472 positions, and twelve half turns suffice.
    #[test]
    fn published_numbers() {
        let gear = gear();
        assert_eq!(gear.states(), Some(41_472));
        let moves = gear.generators(Metric::Single).unwrap();
        let mut layer = vec![OrientedPermutation::identity(gear.orientation_counts())];
        let mut seen: HashSet<OrientedPermutation> = layer.iter().cloned().collect();
        let mut depths = 0;
        while !layer.is_empty() {
            depths += 1;
            let next = layer.iter().flat_map(|state| moves.iter().map(|m| state.then(&m.action)));
            layer = next.filter(|state| seen.insert(state.clone())).collect();
        }
        assert_eq!((depths - 1, seen.len()), (12, 41_472));
    }
}
