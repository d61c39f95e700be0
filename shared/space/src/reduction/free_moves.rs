//! Free moves that are left out, because the states have words enough without them.
//!
//! Let F be the group of the free moves, and N the group that the moves generate together with all moves
//! that free moves make of them, f m f⁻¹. Free moves map N to itself, so every product of moves and free
//! moves is n f with n in N, and the state n F has words in N. Two of these differ by a free move in N. So it
//! is enough to search N with the free moves F ∩ N that the moves make themselves: a state then has as many
//! words as F ∩ N has elements. Of the turns of a cube in the hand, all or half are in N. Free moves of
//! pieces that no move moves are not.
//!
//! Refused: pieces that look alike, orientations that cannot be seen, guards, a base, and puzzles of more than
//! 64 points, whose group takes too long to find.

use super::orientation_positions::OrientationPositions;
use super::{Placed, Problem, StateMap};
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling, StabiliserChain};
use fathom_puzzle::Puzzle;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;

/// What is left out of the free moves of a puzzle.
#[derive(Clone, Debug)]
pub(crate) struct FreeMoves {
    /// The group N.
    group: StabiliserChain,
    /// The points that N leaves in place.
    still: Box<[usize]>,
    /// Free moves of which one brings any product of moves and free moves into N, by where the product
    /// carries the points that N leaves in place.
    into_group: FxHashMap<Box<[usize]>, Vec<OrientedPermutation>>,
    /// The free moves that are kept.
    kept: Vec<OrientedPermutation>,
    /// By cell: the label of the piece that belongs there.
    labels: Box<[u16]>,
    /// The orientation_positions of the puzzle.
    orientation_positions: Option<Arc<OrientationPositions>>,
}

impl FreeMoves {
    /// With more points than this, the group takes too long to find.
    const MAX_POINTS: usize = 64;

    /// Looks for free moves of a puzzle that its moves do not make. Returns `None` if there are none, or they
    /// are the odd ones where all moves are even, or a symmetry does not map N to itself. All pieces and
    /// orientations must be told apart, and no move may have a guard.
    ///
    /// Without the odd free moves, N would have even elements only. The kernels are slower for axes that are
    /// halved for that, and no more than half of the words would be saved.
    pub(super) fn find(
        problem: &Problem,
        orientation_positions: Option<&Arc<OrientationPositions>>,
    ) -> Option<Self> {
        let Problem { puzzle, labels, .. } = problem;
        let is_plain = problem.has_distinct_pieces
            && puzzle.seen.iter().eq(puzzle.free[0].orientation_counts())
            && puzzle.moves.iter().all(|m| m.guard.is_empty())
            && !problem.keeps_guards
            && !problem.has_base;
        if puzzle.free.len() == 1 || !is_plain || puzzle.free[0].points() > Self::MAX_POINTS {
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
        let elements = group.strong_generators();
        let stays = |&point: &usize| elements.iter().all(|element| element.apply(point) == point);
        let still = (0..kept[0].points()).filter(stays).collect();
        let labels = labels.of_pieces().into();
        let into_group = FxHashMap::default();
        let mut found = Self {
            group,
            still,
            into_group,
            kept,
            labels,
            orientation_positions: orientation_positions.cloned(),
        };
        found.bring_back(&others);
        Some(found)
    }

    /// Leaves the free moves out of a puzzle, and renames its moves by free moves so that they are in N.
    pub(super) fn apply(&self, problem: &mut Problem) {
        let behind =
            |action: &OrientedPermutation| self.behind(action).expect("free moves bring every move into N");
        for m in &mut problem.puzzle.moves {
            m.action = m.action.then(behind(&m.action));
        }
        for m in &mut problem.puzzle.incoming_moves {
            // What must come before a move is the inverse of what must follow its inverse.
            m.action = behind(&m.action.inverse()).inverse().then(&m.action);
        }
        problem.puzzle.free = self.kept.clone();
    }

    /// Finds one free move of each coset of the kept ones; `others` are those that are not kept.
    fn bring_back(&mut self, others: &[OrientedPermutation]) {
        let mut known: FxHashSet<OrientedPermutation> = FxHashSet::default();
        let identity = self.kept[0].clone();
        for free in std::iter::once(&identity).chain(others) {
            if !known.contains(free) {
                known.extend(self.kept.iter().map(|kept| free.then(kept)));
                let carried = self.carried(&free.inverse());
                self.into_group.entry(carried).or_default().push(free.clone());
            }
        }
    }

    /// Returns where an element carries the points that N leaves in place.
    fn carried(&self, element: &OrientedPermutation) -> Box<[usize]> {
        let element = element.as_points();
        self.still.iter().map(|&point| element.apply(point)).collect()
    }

    /// Returns the free move that must follow a product of moves and free moves so that the result is in N;
    /// `None` for what is no such product.
    fn behind(&self, product: &OrientedPermutation) -> Option<&OrientedPermutation> {
        let candidates = self.into_group.get(&self.carried(product))?;
        candidates.iter().find(|&free| self.group.contains(&product.then(free).as_points()))
    }

    /// Returns the element that leads to a state from the solved one; `None` if there is none.
    fn element(&self, state: &[Placed]) -> Option<OrientedPermutation> {
        let ring = |cell: usize| {
            self.orientation_positions
                .as_ref()
                .and_then(|orientation_positions| orientation_positions.ring(cell))
        };
        let orientation_counts = self.kept[0].orientation_counts();
        let (mut cells, mut turns) =
            (vec![0_u16; orientation_counts.len()], vec![0_u16; orientation_counts.len()]);
        let position =
            |label: u16, among: Range<usize>| among.into_iter().find(|&cell| state[cell].0 == label);
        for (piece, &label) in self.labels.iter().enumerate() {
            let cell = match ring(piece) {
                // The mark belongs on the first cell of the ring.
                Some((first, size)) => {
                    let mark = position(self.labels[first], first..first + size)?;
                    first + (piece - first + mark - first) % size
                }
                None => position(label, 0..state.len())?,
            };
            cells[piece] = cell as u16;
            turns[piece] = if ring(piece).is_some() { 0 } else { state[cell].1.into() };
        }
        OrientedPermutation::new(Permutation::from_images(cells).ok()?, turns, orientation_counts).ok()
    }
}

impl StateMap for FreeMoves {
    fn lower(&self, state: &[Placed]) -> Vec<Placed> {
        let element = self.element(state);
        let Some(element) = element.as_ref().and_then(|element| Some(element.then(self.behind(element)?)))
        else {
            return state.to_vec();
        };
        let mut lowered = state.to_vec();
        for (piece, &label) in self.labels.iter().enumerate() {
            let (cell, turn) = element.apply(piece, 0);
            lowered[cell] = (label, turn as u8);
        }
        lowered
    }

    fn lift(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        Some(state.to_vec())
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
        let orientation_counts = puzzle.orientation_counts().to_vec();
        let parse = |cycles: &str| OrientedPermutation::parse(cycles, &orientation_counts).unwrap();
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
                    space.step_back(mv, space.symbols(), word, &mut source);
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
                    let order = product.orientation_counts()[cell];
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
