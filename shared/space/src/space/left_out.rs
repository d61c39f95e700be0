//! Free moves that are left out, because the states have words enough without them.
//!
//! Let F be the group of the free moves, and N the group that the moves generate together with all moves that
//! free moves make of them, f m f⁻¹. Free moves map N to itself, so every product of moves and free moves is
//! n f with n in N, and the state n F has words in N. Two of these differ by a free move in N. So it is enough
//! to search N with the free moves F ∩ N that the moves make themselves: a state then has |F ∩ N| words
//! instead of |F|. Of the turns of a cube in the hand all are in N. Free moves of pieces that no move moves
//! are not.

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
    /// so that they are in N. Changes nothing and returns `None` if there are no such free moves, or if a
    /// symmetry does not map N to itself. All pieces must be told apart, and no move may have a guard.
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
        if others.is_empty() || !puzzle.symmetries.iter().all(is_kept) {
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
