//! Rubik's Clock: nine dials on each side, and four pins. A wheel turns all dials that pins connect to it.

use crate::definition::{Definition, Orbit};
use fathom_algebra::{OrientedPermutation, Permutation};

/// The pins and the wheels beside them, as seen from the front.
const CORNERS: [&str; 4] = ["UR", "DR", "DL", "UL"];
/// The dials between two corners, on each side.
const EDGES: [(&str, [usize; 2]); 4] = [("U", [0, 3]), ("R", [0, 1]), ("D", [1, 2]), ("L", [2, 3])];

/// Returns the clock. Its cells are the 14 dials that turn by themselves, of 12 hours each: the four corners,
/// which front and back share, and for each side its edges U, R, D, L and its centre.
///
/// A move turns the wheels of the corners in its name, whose pins are up, by one hour; with `b`, those whose
/// pins are down, seen from the front too. U, R, D and L stand for two corners, and ALL for the four.
pub fn clock() -> Definition {
    let dials = Orbit { name: "dials".into(), cells: 14, orientations: 12 };
    let mut clock = Definition::new("clock", vec![dials]).expect("there are 14 dials");
    for (side, first) in [("", 4), ("b", 9)] {
        for chosen in 1_u8..16 {
            let corners: Vec<usize> = (0..4).filter(|corner| chosen & 1 << corner != 0).collect();
            let edge = EDGES.iter().find(|(_, ends)| *ends == corners[..]);
            let name = match (edge, corners.len()) {
                (Some((edge, _)), _) => (*edge).to_owned(),
                (None, 4) => "ALL".to_owned(),
                (None, _) => corners.iter().map(|&corner| CORNERS[corner]).collect::<Vec<_>>().join("."),
            };
            let mut turns = vec![0; 14];
            corners.iter().for_each(|&corner| turns[corner] = 1);
            for (edge, (_, ends)) in EDGES.iter().enumerate() {
                turns[first + edge] = u16::from(ends.iter().any(|end| corners.contains(end)));
            }
            turns[first + 4] = 1;
            let action = OrientedPermutation::new(Permutation::identity(14), turns, vec![12; 14]);
            clock
                .add_move(format!("{name}{side}"), action.expect("one hour of twelve"))
                .expect("names are distinct");
        }
    }
    clock
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;
    use std::collections::HashSet;

    /// 12^14 states, of which 330 are one move away and 51,651 two (J. Kogler, 2014).
    #[test]
    fn first_depths() {
        let clock = clock();
        let moves = clock.generators(Metric::Multi).unwrap();
        let once: HashSet<_> = moves.iter().map(|m| m.action.clone()).collect();
        let twice: HashSet<_> =
            moves.iter().flat_map(|a| moves.iter().map(|b| a.action.then(&b.action))).collect();
        let new = twice.iter().filter(|state| !once.contains(*state) && !state.is_identity());
        assert_eq!((once.len(), new.count()), (330, 51_651));
        assert_eq!(clock.states(), Some(12_u128.pow(14)));
        let names: HashSet<&str> = clock.moves().iter().map(|m| m.name.as_str()).collect();
        assert!(["UR", "DL", "U", "ALL", "ALLb", "UR.DL"].iter().all(|name| names.contains(name)));
    }
}
