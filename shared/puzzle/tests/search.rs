//! A short, obviously correct breadth-first search, for definitions of up to 18 cells.

use fathom_algebra::OrientedPermutation;
use fathom_puzzle::{Definition, Metric};
use rustc_hash::FxHashSet;

/// The label and the orientation of the piece on each cell, 7 bits a cell.
type State = u128;

fn moved(state: State, action: &OrientedPermutation, seen: &[u16]) -> State {
    let mut next = 0;
    for cell in 0..action.degree() {
        let piece = (state >> (7 * cell)) as u16 & 127;
        let label = piece >> 2;
        let to = action.cells().apply(cell);
        let orientation = ((piece & 3) + action.turns()[cell]) % seen[usize::from(label)];
        next |= State::from(label << 2 | orientation) << (7 * to);
    }
    next
}

/// Returns the group of the free moves, the identity first.
pub(crate) fn free_products(puzzle: &Definition) -> Vec<OrientedPermutation> {
    let mut all = vec![OrientedPermutation::identity(puzzle.orientation_counts())];
    let mut next = 0;
    while next < all.len() {
        for free in puzzle.free() {
            let product = all[next].then(&free.action);
            if !all.contains(&product) {
                all.push(product);
            }
        }
        next += 1;
    }
    all
}

/// Returns the number of states at each depth up to `deepest`. States that differ by free moves are counted
/// once.
pub(crate) fn growth(puzzle: &Definition, metric: Metric, deepest: usize) -> Vec<usize> {
    let mut seen = vec![1; puzzle.cells()];
    let mut solved: State = 0;
    for (cell, piece) in puzzle.solved().iter().enumerate() {
        assert!(cell < 18 && piece.label < 32 && piece.orientation < 4, "larger than this search is for");
        seen[usize::from(piece.label)] = piece.seen;
        solved |= State::from(piece.label << 2 | piece.orientation) << (7 * cell);
    }
    let (free, seen) = (&free_products(puzzle), &seen);
    let equals =
        |state| std::iter::once(state).chain(free[1..].iter().map(move |action| moved(state, action, seen)));
    let least = |state| equals(state).min().unwrap();
    let moves = puzzle.generators(metric).unwrap();
    let holds = |cells: &[u16], state: State| {
        let label = |&cell: &u16| (state >> (7 * cell + 2)) as u16 & 31;
        cells.iter().all(|cell| label(cell) == puzzle.solved()[usize::from(*cell)].label)
    };
    let is_meant = |state: State| {
        let label = |cell: u16| (state >> (7 * cell + 2)) as u16 & 31;
        let solved = |piece: u16| puzzle.solved()[usize::from(piece)].label;
        holds(puzzle.always(), state)
            && puzzle.never().iter().all(|&(cell, piece)| label(cell) != solved(piece))
    };
    // Two numbers of 64 bits are hashed faster than one of 128 bits.
    let key = |state: State| (state as u64, (state >> 64) as u64);
    let mut reached: FxHashSet<(u64, u64)> = FxHashSet::default();
    let mut layer = vec![least(solved)];
    reached.insert(key(layer[0]));
    let mut counts = Vec::new();
    while !layer.is_empty() && counts.len() <= deepest {
        counts.push(layer.len());
        let mut next_layer = Vec::new();
        for state in layer {
            // Free moves may precede each move: the moves are tried from all states that differ by free
            // moves.
            for turned in equals(state) {
                for generator in moves.iter().filter(|generator| holds(&generator.guard, turned)) {
                    let next = least(moved(turned, &generator.action, seen));
                    if is_meant(next) && reached.insert(key(next)) {
                        next_layer.push(next);
                    }
                }
            }
        }
        layer = next_layer;
    }
    counts
}
