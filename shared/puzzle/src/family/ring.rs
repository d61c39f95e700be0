//! Puzzles of N pieces in a ring that is shifted under a fixed place.

use super::sorting::{exchange, reversal};
use crate::definition::Definition;
use fathom_algebra::{OrientedPermutation, Permutation};

/// `L` and `R` shift the ring by one, `X` exchanges the first two pieces (OEIS A186783).
pub fn lrx(n: usize) -> Definition {
    ring(format!("lrx:{n}"), n, [("L", left(n)), ("R", left(n).inverse()), ("X", exchange(n, 0, 1))])
}

/// [`lrx`] without `R`: the shift to the right takes n - 1 shifts to the left (OEIS A039745).
pub fn lx(n: usize) -> Definition {
    ring(format!("lx:{n}"), n, [("L", left(n)), ("X", exchange(n, 0, 1))])
}

/// `L` and `R` shift the ring by one, `T` turns round the first `k` pieces: Top Spin is 20 pieces and k = 4.
pub fn topspin(n: usize, k: usize) -> Definition {
    let moves = [("L", left(n)), ("R", left(n).inverse()), ("T", reversal(n, k))];
    ring(format!("topspin:{n},{k}"), n, moves)
}

/// The piece on cell 2 goes to cell 1, and so on; the first becomes the last.
fn left(n: usize) -> Permutation {
    Permutation::from_fn(n, |cell| (cell + n - 1) % n)
}

fn ring<const M: usize>(name: String, n: usize, moves: [(&str, Permutation); M]) -> Definition {
    let mut puzzle = Definition::of_degree(name, n).expect("n is small");
    for (name, cells) in moves {
        puzzle
            .add_move(name, OrientedPermutation::from_cells(cells))
            .expect("names differ and the orbit is one");
    }
    puzzle
}
