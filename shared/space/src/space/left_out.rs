//! Free moves that are left out, because the states have words enough without them.
//!
//! Let F be the group of the free moves, and N the group that the moves generate together with all moves
//! that free moves make of them, f m f⁻¹. Free moves map N to itself, so every product of moves and free
//! moves is n f with n in N, and the state n F has words in N. Two of these differ by a free move in N. So it
//! is enough to search N with the free moves F ∩ N that the moves make themselves: a state then has as many
//! words as F ∩ N has elements. Of the turns of a cube in the hand, all or half are in N. Free moves of
//! pieces that no move moves are not.

use fathom_algebra::{OrientedPermutation, Permutation, Relabelling, StabiliserChain};
use fathom_puzzle::Puzzle;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is left out of the free moves of a puzzle.
#[derive(Clone, Debug)]
pub(super) struct LeftOut {
    /// The group N.
    group: StabiliserChain,
    /// The points that N leaves in place.
    still: Box<[usize]>,
    /// Free moves of which one brings any product of moves and free moves into N, by where the product
    /// carries the points that N leaves in place.
    into_group: FxHashMap<Box<[usize]>, Vec<OrientedPermutation>>,
    /// The number of all free moves for each one that is kept.
    index: usize,
    /// The orbits of cells under the moves and all free moves.
    orbits: Vec<Vec<usize>>,
}

impl LeftOut {
    /// Leaves out the free moves of a puzzle that its moves do not make, and renames its moves by free moves
    /// so that they are in N. Changes nothing and returns `None` if there are no such free moves, or they are
    /// the odd ones where all moves are even, or a symmetry does not map N to itself. All pieces must be told
    /// apart, and no move may have a guard.
    ///
    /// Without the odd free moves, N would have even elements alone. The kernels are slower for axes that are
    /// halved for that, and no more than half of the words would be saved.
    pub(super) fn of(puzzle: &mut Puzzle) -> Option<Self> {
        if puzzle.free.len() == 1 {
            return None;
        }
        let (group, generators) = group(puzzle);
        let is_in_group = |action: &OrientedPermutation| group.contains(&action.as_points());
        let is_kept = |relabelling: &Relabelling| {
            generators.iter().all(|action| is_in_group(&relabelling.rename(action)))
        };
        let (kept, others): (Vec<_>, Vec<_>) = puzzle.free.iter().cloned().partition(is_in_group);
        let is_even = |action: &OrientedPermutation| action.cells().is_even();
        let are_the_odd = others.iter().all(|free| !is_even(free)) && generators.iter().all(is_even);
        if others.is_empty() || are_the_odd || !puzzle.symmetries.iter().all(is_kept) {
            return None;
        }
        let left_out = Self::without(&kept, &others, group, puzzle.orbits());
        let behind = |action: &OrientedPermutation| {
            left_out.behind(action).expect("free moves bring every move into the group")
        };
        for m in &mut puzzle.moves {
            m.action = m.action.then(behind(&m.action));
        }
        for m in &mut puzzle.incoming_moves {
            // What must come before a move is the inverse of what must follow its inverse.
            m.action = behind(&m.action.inverse()).inverse().then(&m.action);
        }
        puzzle.free = kept;
        Some(left_out)
    }

    /// Finds what is needed to bring elements into `group`, which has the free moves `kept` and not `others`.
    fn without(
        kept: &[OrientedPermutation],
        others: &[OrientedPermutation],
        group: StabiliserChain,
        orbits: Vec<Vec<usize>>,
    ) -> Self {
        let elements = group.strong_generators();
        let stays = |&point: &usize| elements.iter().all(|element| element.apply(point) == point);
        let still = (0..kept[0].points()).filter(stays).collect();
        let index = (kept.len() + others.len()) / kept.len();
        let mut left_out = Self { group, still, into_group: FxHashMap::default(), index, orbits };
        // One free move of each coset of the kept ones.
        let mut known: FxHashSet<OrientedPermutation> = FxHashSet::default();
        for free in kept[..1].iter().chain(others) {
            if !known.contains(free) {
                known.extend(kept.iter().map(|kept| free.then(kept)));
                let carried = left_out.carried(&free.inverse());
                left_out.into_group.entry(carried).or_default().push(free.clone());
            }
        }
        left_out
    }

    /// Returns where an element carries the points that N leaves in place.
    fn carried(&self, element: &OrientedPermutation) -> Box<[usize]> {
        let element = element.as_points();
        self.still.iter().map(|&point| element.apply(point)).collect()
    }

    /// Returns the free move that must follow a product of moves and free moves so that the result is in N;
    /// `None` for what is no such product.
    pub(super) fn behind(&self, product: &OrientedPermutation) -> Option<&OrientedPermutation> {
        let candidates = self.into_group.get(&self.carried(product))?;
        candidates.iter().find(|&free| self.group.contains(&product.then(free).as_points()))
    }

    /// Returns the number of all free moves for each one that is kept.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Returns whether moves and free moves carry a piece from one cell to another.
    pub(super) fn may_carry(&self, from: usize, to: usize) -> bool {
        self.orbits.iter().any(|cells| cells.contains(&from) && cells.contains(&to))
    }
}

/// Returns the group N of a puzzle, and moves from which free moves make generators of N.
fn group(puzzle: &Puzzle) -> (StabiliserChain, Vec<OrientedPermutation>) {
    let degree = puzzle.free[0].points();
    let mut group = StabiliserChain::new(degree, []);
    let mut renamed: Vec<Permutation> = Vec::new();
    let mut moves = Vec::new();
    for m in &puzzle.moves {
        // A move may have free moves after it that are not in N.
        if puzzle.free.iter().any(|free| group.contains(&m.action.then(free).as_points())) {
            continue;
        }
        let by = |free: &OrientedPermutation| free.then(&m.action).then(&free.inverse()).as_points();
        renamed.extend(puzzle.free.iter().map(by));
        group = StabiliserChain::new(degree, &renamed);
        moves.push(m.action.clone());
    }
    (group, moves)
}

#[cfg(test)]
mod tests {
    use crate::{Labels, Space};
    use fathom_algebra::{OrientedPermutation, Permutation};
    use fathom_puzzle::{Definition, Metric, Orbit};
    use std::collections::HashMap;
    use std::hash::Hash;

    /// A puzzle with orbits of so many cells and orientations, and its moves and free moves in cycles.
    fn puzzle(orbits: &[(usize, u16)], moves: &[&str], free: &[&str]) -> Definition {
        let named = |(number, &(cells, orientations)): (usize, &(usize, u16))| Orbit {
            name: format!("orbit{number}"),
            cells,
            orientations,
        };
        let mut puzzle = Definition::new("test", orbits.iter().enumerate().map(named).collect()).unwrap();
        let orders = puzzle.orders().to_vec();
        let parse = |cycles: &str| OrientedPermutation::parse(cycles, &orders).unwrap();
        for (number, cycles) in moves.iter().enumerate() {
            puzzle.add_move(format!("m{number}"), parse(cycles)).unwrap();
        }
        for (number, cycles) in free.iter().enumerate() {
            puzzle.add_free(format!("f{number}"), parse(cycles)).unwrap();
        }
        puzzle
    }

    /// Returns all products of moves and free moves, with the number of moves that each takes.
    fn distances(puzzle: &Definition) -> HashMap<OrientedPermutation, u32> {
        let moves = puzzle.generators(Metric::Single).unwrap();
        let free = puzzle.free_group().unwrap();
        let free = free.elements();
        search(free.to_vec(), |product| {
            let moved = moves.iter().map(|m| product.then(&m.action));
            moved.flat_map(|product| free.iter().map(move |free| product.then(free))).collect()
        })
    }

    /// Returns all words to which moves lead, with the number of moves that each takes.
    fn distances_of_words(space: &Space) -> HashMap<Vec<u8>, u32> {
        search(space.words_of(space.solved()).collect(), |word| {
            let moved = (0..space.moves().len()).map(|mv| {
                let mut image = vec![0; word.len()];
                assert!(space.apply(mv, word, &mut image));
                image
            });
            moved.flat_map(|image| space.words_of(&image).collect::<Vec<_>>()).collect()
        })
    }

    /// Returns everything to which steps lead from `layer`, with the number of steps.
    fn search<T: Clone + Eq + Hash>(mut layer: Vec<T>, steps: impl Fn(&T) -> Vec<T>) -> HashMap<T, u32> {
        let mut known: HashMap<T, u32> = layer.iter().map(|at| (at.clone(), 0)).collect();
        for depth in 1.. {
            let mut next = Vec::new();
            for to in layer.iter().flat_map(&steps) {
                if !known.contains_key(&to) {
                    known.insert(to.clone(), depth);
                    next.push(to);
                }
            }
            if next.is_empty() {
                break;
            }
            layer = next;
        }
        known
    }

    /// Every product of moves and free moves has a word to which the moves lead, at its distance, and
    /// products have words of one state if they differ by a free move, and only then.
    #[test]
    fn every_state_keeps_a_word() {
        let beside = puzzle(&[(3, 1), (3, 1)], &["(1,2)"], &["(1,2,3)", "(4,5,6)"]);
        let apart = puzzle(&[(3, 1), (3, 1)], &["(1,2)"], &["(2,3)(4,5)", "(4,5,6)"]);
        let turned = puzzle(&[(2, 3), (1, 2), (2, 2)], &["(1+1,2+2)"], &["(1,2)(3+1)", "(4+1,5+0)"]);
        // A symmetry that exchanges two threes of cells maps the move to the move and a free move. So the
        // group of the move alone is not kept.
        let exchanged = puzzle(&[(8, 1)], &["(1,2)(3,4,5)", "(1,2)(6,7,8)"], &["(5,4,3)(6,7,8)"]);
        // The moves are even, and half of the turns are odd.
        let ring = puzzle(&[(6, 1)], &["(1,2,3)"], &["(1,2,3,4,5,6)"]);
        // The moves make all turns, as those of a cube do.
        let whole = puzzle(&[(4, 1)], &["(1,2)"], &["(1,2,3,4)"]);
        let puzzles =
            [(beside, 3, 9), (apart, 1, 6), (turned, 1, 8), (exchanged, 3, 3), (ring, 6, 6), (whole, 4, 4)];
        for (puzzle, kept, all) in puzzles {
            let labels = Labels::distinct(puzzle.cells());
            let space = Space::new(puzzle.puzzle(Metric::Single).unwrap(), Metric::Single, labels).unwrap();
            assert_eq!((space.free_order(), space.all_free_order()), (kept, all));
            let products = distances(&puzzle);
            let words = distances_of_words(&space);
            assert_eq!(words.len() as u32 * all, products.len() as u32 * kept);
            for (word, distance) in &words {
                let mut source = vec![0; word.len()];
                let sources = (0..space.incoming_moves().len()).map(|mv| {
                    space.step_back(mv, space.letters(), word, &mut source);
                    words[&source]
                });
                let nearest = if *distance == 0 { 1 } else { distance - 1 };
                assert_eq!(sources.min(), Some(nearest));
            }
            assert_eq!((space.states() * all).to_string(), products.len().to_string());
            let free = puzzle.free_group().unwrap();
            let state_of = |product: &OrientedPermutation| {
                let word = space.word(product);
                assert_eq!(words[&word], products[product]);
                space.words_of(&word).min().unwrap()
            };
            let first = products.keys().next().unwrap();
            for product in products.keys() {
                let is_same = free.contains(&first.inverse().then(product));
                assert_eq!(state_of(first) == state_of(product), is_same);
                let pieces = product.inverse();
                let on = |cell| {
                    let (piece, back) = pieces.apply(cell, 0);
                    let order = product.orders()[cell];
                    (piece as u16, ((order - back) % order) as u8)
                };
                let pieces: Vec<(u16, u8)> = (0..puzzle.cells()).map(on).collect();
                assert_eq!(space.word_of_pieces(&pieces), space.word(product));
            }
            if let Some(is_member) = space.membership() {
                let all = (0..720).filter_map(|rank| Permutation::unrank(puzzle.cells(), rank));
                for state in all {
                    let pieces: Vec<u16> = state.images().to_vec();
                    let is_product = products.contains_key(&OrientedPermutation::from_cells(state));
                    assert_eq!(is_member(&pieces), is_product);
                }
            }
        }
    }
}
