//! Puzzles of N pieces in a row, sorted by reversals or exchanges.

use crate::definition::{Definition, Orbit};
use fathom_algebra::{OrientedPermutation, Permutation};

/// Returns the pancakes, topmost first: `r<k>` flips the k topmost, for k from 2 to n.
pub fn pancake(n: usize) -> Definition {
    of_permutations("pancake", n, (2..=n).map(|k| (format!("r{k}"), reversal(n, k))))
}

/// Returns the burnt pancakes: `r<k>` flips the k topmost, each of which then shows its other side, for
/// k from 1 to n.
pub fn burnt_pancake(n: usize) -> Definition {
    let pancakes = Orbit { name: "pancakes".into(), cells: n, orientations: 2 };
    let mut puzzle = Definition::new(format!("burnt-pancake:{n}"), vec![pancakes]).expect("n is small");
    for k in 1..=n {
        let turns: Vec<u16> = (0..n).map(|cell| u16::from(cell < k)).collect();
        let turned = OrientedPermutation::new(reversal(n, k), turns, vec![2; n]).expect("one turn in two");
        puzzle.add_move(format!("r{k}"), turned).expect("names are distinct and there is one orbit");
    }
    puzzle
}

/// Returns the star graph of Akers and Krishnamurthy: `t<i>` exchanges the i-th piece with the first, for i
/// from 2 to n.
pub fn star(n: usize) -> Definition {
    of_permutations("star", n, (1..n).map(|i| (format!("t{}", i + 1), exchange(n, 0, i))))
}

/// Returns the adjacent transpositions, which are the Coxeter generators of the symmetric group: `s<i>`
/// exchanges the pieces at i and i + 1.
pub fn coxeter(n: usize) -> Definition {
    of_permutations("coxeter", n, (1..n).map(|i| (format!("s{i}"), exchange(n, i - 1, i))))
}

/// Returns all transpositions: `t<i>-<j>` exchanges the pieces at i and j.
pub fn all_transpositions(n: usize) -> Definition {
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    let moves = pairs.map(|(i, j)| (format!("t{}-{}", i + 1, j + 1), exchange(n, i, j)));
    of_permutations("all-transpositions", n, moves)
}

/// Returns the permutation that reverses the first `k` of `n` cells.
pub(super) fn reversal(n: usize, k: usize) -> Permutation {
    Permutation::from_fn(n, |cell| if cell < k { k - 1 - cell } else { cell })
}

/// Returns the permutation that exchanges the cells `i` and `j` of `n`.
pub(super) fn exchange(n: usize, i: usize, j: usize) -> Permutation {
    Permutation::from_fn(n, |cell| match cell {
        _ if cell == i => j,
        _ if cell == j => i,
        _ => cell,
    })
}

fn of_permutations(family: &str, n: usize, moves: impl Iterator<Item = (String, Permutation)>) -> Definition {
    let mut puzzle = Definition::of_degree(format!("{family}:{n}"), n).expect("n is small");
    for (name, cells) in moves {
        puzzle
            .add_move(name, OrientedPermutation::from_cells(cells))
            .expect("names are distinct and there is one orbit");
    }
    puzzle
}
