//! The hashes that identify a plan and a run.

use crate::cells::Cell;
use crate::space::WordGuard;
use crate::{Colouring, Shape, Space};

/// Returns the BLAKE3 hash of everything on which the numbering of states depends: cells, moves, labels,
/// symmetries, the colouring, axes that are given, and the halving of the last axis.
pub fn fingerprint(space: &Space, colouring: &Colouring) -> [u8; 32] {
    let mut hash = blake3::Hasher::new_derive_key("fathom 2026 plan fingerprint, version 1");
    let mut field = |name: &str, bytes: &[u8]| {
        for part in [name.as_bytes(), bytes] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    };
    field("cells", &(space.cells() as u64).to_le_bytes());
    let turns = space.symbols().width() > 1;
    for (step, m) in space.moves().iter().zip(&space.puzzle().moves) {
        field("move", &bytes_of(&step.cells, space.cells()));
        if turns {
            field("turns", &numbers(m.action.turns()));
        }
        for (name, holds) in [("guard", true), ("never", false)] {
            let asked = step.guard().iter().filter(|asked| asked.holds == holds);
            let bytes = |asked: &WordGuard| {
                let mut bytes = bytes_of(&[asked.cell], space.cells());
                bytes.push(asked.label);
                bytes
            };
            let asked: Vec<u8> = asked.flat_map(bytes).collect();
            if !asked.is_empty() {
                field(name, &asked);
            }
        }
    }
    field("labels", space.labels().of_pieces());
    if turns {
        field("seen", &numbers(&space.puzzle().seen));
    }
    for symmetry in space.symmetries() {
        field("symmetry", &bytes_of(&symmetry.cells, space.cells()));
        if turns {
            field("letters", symmetry.symbols());
        }
    }
    field("colouring", colouring.of_pieces());
    for view in colouring.views() {
        field("axis", view.to_string().as_bytes());
    }
    if Shape::of(space, colouring).is_some_and(|shape| shape.odd().is_some()) {
        field("last axis", b"halved");
    }
    *hash.finalize().as_bytes()
}

/// Returns the fingerprint of a run: that of its plan, with the number of shards into which the cosets are
/// cut.
pub fn cut_fingerprint(plan: &[u8; 32], shards: u32) -> [u8; 32] {
    let mut hash = blake3::Hasher::new_derive_key("fathom 2026 run fingerprint, version 2");
    hash.update(plan);
    hash.update(&shards.to_le_bytes());
    *hash.finalize().as_bytes()
}

/// Returns the bytes of numbers of cells: one byte each if there are at most 256 cells, otherwise two bytes
/// in little-endian order.
fn bytes_of(cells: &[Cell], of: usize) -> Vec<u8> {
    match of {
        0..=256 => cells.iter().map(|&cell| cell as u8).collect(),
        _ => numbers(cells),
    }
}

fn numbers(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use fathom_puzzle::{Board, Metric};

    #[test]
    fn different_runs_have_different_fingerprints() {
        let mut seen = std::collections::HashSet::new();
        for word in ["2x3", "3x2"] {
            for metric in Metric::ALL {
                for labels in ["0,1,2,3,4,5", "0,0,1,1,2,2"] {
                    for shards in [1, 2] {
                        let board: Board = word.parse().unwrap();
                        let labels = Labels::parse_list(labels, 6).unwrap();
                        let space = Space::new(board.puzzle(metric), metric, labels).unwrap();
                        let colouring = Colouring::new(&[0, 0, 1, 1, 2, 2], &space).unwrap();
                        seen.insert(cut_fingerprint(&fingerprint(&space, &colouring), shards));
                    }
                }
            }
        }
        // On 2x3, and also on 3x2, both metrics have the same moves.
        assert_eq!(seen.len(), 8);
    }
}
