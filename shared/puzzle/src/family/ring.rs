//! Puzzles of N pieces in a ring that is shifted under a fixed place.

use super::sorting::{exchange, reversal};
use crate::definition::{Definition, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};

/// Returns the puzzle in which `L` and `R` shift the ring by one, and `X` exchanges the first two pieces
/// (OEIS A186783).
pub fn lrx(n: usize) -> Definition {
    ring(format!("lrx:{n}"), n, [("L", left(n)), ("R", left(n).inverse()), ("X", exchange(n, 0, 1))])
}

/// Returns [`lrx`] without `R`: a shift to the right takes n - 1 shifts to the left (OEIS A039745).
pub fn lx(n: usize) -> Definition {
    ring(format!("lx:{n}"), n, [("L", left(n)), ("X", exchange(n, 0, 1))])
}

/// Returns [`lrx`] with beads of two colours: the last `black` of the `n` beads are black.
pub fn necklace(n: usize, black: usize) -> Definition {
    let mut puzzle = ring(
        format!("necklace:{n},{black}"),
        n,
        [("L", left(n)), ("R", left(n).inverse()), ("X", exchange(n, 0, 1))],
    );
    let bead = |cell| Piece { label: u16::from(cell >= n - black), orientation: 0, seen: 1 };
    puzzle.set_solved(&(0..n).map(bead).collect::<Vec<_>>()).expect("beads have no orientation");
    puzzle
}

/// Returns the puzzle in which `L` and `R` shift the ring by one, and `T` reverses the first `k` pieces: Top
/// Spin has 20 pieces and k = 4.
pub fn topspin(n: usize, k: usize) -> Definition {
    let moves = [("L", left(n)), ("R", left(n).inverse()), ("T", reversal(n, k))];
    ring(format!("topspin:{n},{k}"), n, moves)
}

/// Returns the shift to the left: the piece on cell 1 goes to cell 0, and so on; the first piece becomes the
/// last.
fn left(n: usize) -> Permutation {
    Permutation::from_fn(n, |cell| (cell + n - 1) % n)
}

fn ring<const M: usize>(name: String, n: usize, moves: [(&str, Permutation); M]) -> Definition {
    let mut puzzle = Definition::of_degree(name, n).expect("n is small");
    for (name, cells) in moves {
        puzzle
            .add_move(name, OrientedPermutation::from_cells(cells))
            .expect("names are distinct and there is one orbit");
    }
    puzzle
}
