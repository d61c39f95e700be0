//! Base encoding, for puzzles of very many pieces and few states.
//!
//! A group element is determined by where it takes the points of a *base*: points that only the identity
//! fixes together. So if all pieces of a puzzle are distinguished, it is enough to distinguish the points of
//! a base and treat all others as identical: the states, and the moves between them, are the same. Orbits
//! without a point of the base are omitted.

use super::{Placed, Problem, StateMap};
use crate::Labels;
use fathom_algebra::orbits::{all_orbits, orbits};
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling, Stabiliser, StabiliserChain};
use fathom_puzzle::{Puzzle, PuzzleMove, PuzzleSpec, Starts};
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The points by which the states of a puzzle are distinguished. A plan records them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The points that become cells, in increasing order.
    pub kept: Vec<usize>,
    /// The points of the base.
    pub base: Vec<usize>,
    /// The points that are distinguished, those of the base first.
    pub told: Vec<usize>,
}

/// The points of a puzzle that are distinguished, and the puzzle on the orbits of these points. A point is an
/// orientation on a cell, as in [`OrientedPermutation::as_points`].
#[derive(Clone, Debug)]
pub struct Base {
    /// For each cell its first point.
    firsts: Vec<usize>,
    /// For each point its cell, and the number of the orientation.
    places: Vec<(usize, u16)>,
    /// For each cell the number of its orbit.
    orbits: Vec<usize>,
    /// For each point the number of its orbit.
    point_orbits: Vec<usize>,
    /// The points that are kept, in increasing order: the cells of `puzzle`.
    kept: Vec<usize>,
    /// For each cell, whether some point of its piece is distinguished.
    are_told: Vec<bool>,
    /// The points that are distinguished, those of the base first.
    told: Vec<usize>,
    /// The points of the base, as cells of `puzzle`.
    base: Vec<usize>,
    /// For each cell of `puzzle`: a number for the piece that belongs there. Pieces that look alike have the
    /// same number; the others come first.
    labels: Vec<usize>,
    /// The group on all points, along the base.
    chain: StabiliserChain,
    puzzle: Puzzle,
}

impl Base {
    /// The largest order of a group for which a base is searched. No search can finish in a larger one.
    const MAX_ELEMENTS: u128 = 1 << 64;

    /// The largest number of points of a puzzle for which a base is searched. Points become cells of words.
    const MAX_POINTS: usize = PuzzleSpec::MAX_CELLS;

    /// The largest number of orientations of a piece: states are written with one byte for each.
    const MAX_ORIENTATIONS: u16 = 256;

    /// The largest number of points that are distinguished so that more symmetries can be used.
    const MAX_TOLD: usize = 8;

    /// Finds a base of a puzzle whose pieces are all distinguished. Returns `None` if moves have guards, a
    /// piece hides orientations, there are more points than cells of words may be, or the group has more than
    /// 2^64 elements.
    pub fn find(puzzle: &Puzzle) -> Option<Self> {
        let points = Points::new(puzzle)?;
        let mut symmetries = symmetries_of(puzzle, puzzle.free[0].orientation_counts());
        let classes = classes(points.places.len(), &points.generators, &symmetries);
        let (base, mut kept) = base(&points.group, classes);
        // Where nothing moves, one point is kept, so that words have a cell.
        if kept.is_empty() {
            kept.push(0);
            symmetries.truncate(1);
        }
        let told = told(&base, &symmetries, Self::MAX_TOLD);
        let mut found = Self::from_choice(puzzle, points, &Choice { kept, base, told })?;
        let kept = &found.kept;
        let number_of: HashMap<usize, usize> = kept.iter().copied().zip(0..).collect();
        let restricted = |s: &PointSymmetry| {
            Permutation::from_fn(kept.len(), |cell| number_of[&s.points.apply(kept[cell])])
        };
        found.puzzle.has_all_symmetries =
            puzzle.has_all_symmetries && symmetries.len() == puzzle.symmetries.len();
        found.puzzle.symmetries = symmetries.iter().map(|s| Relabelling::from_cells(restricted(s))).collect();
        Some(found)
    }

    /// Restores the encoding that was found for a puzzle, with the identity as its only symmetry. Returns
    /// `None` if the choice does not fit this puzzle.
    pub fn with(puzzle: &Puzzle, choice: &Choice) -> Option<Self> {
        Self::from_choice(puzzle, Points::new(puzzle)?, choice)
    }

    /// Returns the choice from which [`Base::with`] restores the same encoding.
    pub fn choice(&self) -> Choice {
        let base = self.base.iter().map(|&cell| self.kept[cell]).collect();
        Choice { kept: self.kept.clone(), base, told: self.told.clone() }
    }

    fn from_choice(puzzle: &Puzzle, points: Points, choice: &Choice) -> Option<Self> {
        let Points { places, generators, group } = points;
        let Choice { kept, base, told } = choice.clone();
        let number_of: HashMap<usize, usize> = kept.iter().copied().zip(0..).collect();
        let is_closed =
            |action: &Permutation| kept.iter().all(|&at| number_of.contains_key(&action.apply(at)));
        let is_valid = !kept.is_empty()
            && kept.is_sorted_by(|one, other| one < other)
            && kept.iter().all(|&point| point < places.len())
            && base.iter().chain(&told).all(|point| number_of.contains_key(point))
            && base.iter().all(|point| told.contains(point))
            && generators.iter().all(is_closed);
        if !is_valid {
            return None;
        }
        let chain = group.along(&base);
        if chain.base().count() != base.len() {
            return None;
        }
        let point_orbits = numbers_of(&all_orbits(places.len(), &generators), places.len());
        let restricted = |points: &Permutation| -> Permutation {
            Permutation::from_fn(kept.len(), |cell| number_of[&points.apply(kept[cell])])
        };
        let action =
            |action: &OrientedPermutation| OrientedPermutation::from_cells(restricted(&action.as_points()));
        let moves = |moves: &[PuzzleMove]| -> Vec<PuzzleMove> {
            moves.iter().map(|m| PuzzleMove { action: action(&m.action), ..m.clone() }).collect()
        };
        let small = Puzzle {
            name: puzzle.name.clone(),
            cells: kept.len(),
            seen: vec![1; kept.len()],
            moves: moves(&puzzle.moves),
            incoming_moves: moves(&puzzle.incoming_moves),
            free: puzzle.free.iter().map(action).collect(),
            limits: Vec::new(),
            counted: None,
            kinds: vec![0; kept.len()],
            has_all_symmetries: false,
            symmetries: vec![Relabelling::from_cells(Permutation::identity(kept.len()))],
            starts: Starts::default(),
            held: None,
            facelets: None,
        };
        let of_small = numbers_of(&small.orbits(), kept.len());
        let key = |cell: usize| match told.iter().position(|&point| point == kept[cell]) {
            Some(number) => number,
            None => told.len() + of_small[cell],
        };
        Some(Self {
            firsts: places.iter().zip(0..).filter(|((_, k), _)| *k == 0).map(|(_, point)| point).collect(),
            orbits: numbers_of(&puzzle.orbits(), puzzle.cells),
            point_orbits,
            labels: {
                // Distinguished points come first, whatever their places, without gaps.
                let keys: Vec<usize> = (0..kept.len()).map(key).collect();
                let mut sorted = keys.clone();
                sorted.sort_unstable();
                sorted.dedup();
                let number = |key: &usize| sorted.binary_search(key).expect("all keys are there");
                keys.iter().map(number).collect()
            },
            base: base.iter().map(|point| number_of[point]).collect(),
            are_told: {
                let mut are_told = vec![false; puzzle.cells];
                told.iter().for_each(|&point| are_told[places[point].0] = true);
                are_told
            },
            told,
            places,
            kept,
            chain,
            puzzle: small,
        })
    }

    /// Returns the puzzle in which the kept points are cells.
    pub fn puzzle(&self) -> &Puzzle {
        &self.puzzle
    }

    /// Returns for each cell of [`Base::puzzle`] the label of the piece that belongs there.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// Returns the pieces with a point of the base, in increasing order: their cells and orientations
    /// determine those of all others.
    pub fn pieces_of_base(&self) -> Vec<usize> {
        let mut pieces: Vec<usize> = self.base.iter().map(|&point| self.places[self.kept[point]].0).collect();
        pieces.sort_unstable();
        pieces.dedup();
        pieces
    }

    /// Returns whether a piece must be distinguished from the others of its orbit.
    pub fn is_told(&self, piece: usize) -> bool {
        self.are_told[piece]
    }

    /// Returns the number of pieces that are distinguished, and the number of all pieces.
    pub fn count(&self) -> (usize, usize) {
        (self.are_told.iter().filter(|&&is_told| is_told).count(), self.are_told.len())
    }

    /// Returns the number of elements of the group.
    pub fn order(&self) -> BigUint {
        self.chain.big_order()
    }

    /// Returns whether an action, on the cells of the whole puzzle, is an element of the group.
    pub fn contains(&self, action: &OrientedPermutation) -> bool {
        self.chain.contains(&action.as_points())
    }

    /// Returns whether pieces have orientations.
    pub fn has_turns(&self) -> bool {
        self.places.len() > self.firsts.len()
    }

    /// Returns the number of orientations of a piece.
    pub fn order_of(&self, piece: usize) -> u16 {
        let end = self.firsts.get(piece + 1).copied().unwrap_or(self.places.len());
        (end - self.firsts[piece]) as u16
    }

    /// Returns whether moves bring a piece to a cell.
    pub fn are_in_one_orbit(&self, piece: usize, cell: usize) -> bool {
        self.orbits[piece] == self.orbits[cell]
    }

    /// Returns the number of the orbit of a cell's first point.
    pub fn point_orbit(&self, cell: usize) -> usize {
        self.point_orbits[self.firsts[cell]]
    }

    /// Returns whether moves can bring a piece to a cell in an orientation.
    pub fn may_stand(&self, piece: usize, turn: u16, cell: usize) -> bool {
        self.point_orbits[self.point(piece, 0, turn)] == self.point_orbit(cell)
    }

    /// Returns the home point of what is on point `k` of a cell, if a piece is there in an orientation.
    fn point(&self, piece: usize, k: u16, turn: u16) -> usize {
        let order = self.order_of(piece);
        self.firsts[piece] + usize::from((k % order + order - turn % order) % order)
    }

    /// Returns an action on the cells of the whole puzzle as one on the cells of [`Base::puzzle`]; `None` if
    /// it carries kept points to others.
    pub fn action(&self, action: &OrientedPermutation) -> Option<OrientedPermutation> {
        let points = action.as_points();
        let image =
            |&point: &usize| self.kept.binary_search(&points.apply(point)).ok().map(|cell| cell as u16);
        let images: Vec<u16> = self.kept.iter().map(image).collect::<Option<_>>()?;
        Some(OrientedPermutation::from_cells(Permutation::from_images(images).ok()?))
    }

    /// Returns the piece and its orientation on each cell of the whole puzzle, in the state in which the
    /// points of the base are on the cells of [`Base::puzzle`] that `stands` returns. `None` if there is no
    /// such state.
    pub fn pieces(&self, stands: impl Fn(usize) -> Option<usize>) -> Option<Vec<(usize, u16)>> {
        let images = self.base.iter().map(|&point| Some(self.kept[stands(point)?]));
        let element = self.chain.element_with(&images.collect::<Option<Vec<_>>>()?)?;
        let mut pieces = vec![(0, 0); self.firsts.len()];
        for (piece, &first) in self.firsts.iter().enumerate() {
            let (cell, turn) = self.places[element.apply(first)];
            pieces[cell] = (piece, turn);
        }
        Some(pieces)
    }

    /// Returns, for each cell of [`Base::puzzle`], the cell whose piece is there, given the piece and its
    /// orientation on each cell of the whole puzzle. A piece of an omitted orbit represents the one that
    /// belongs there.
    pub fn on_cells(&self, pieces: &[(usize, u16)]) -> Vec<usize> {
        let on = |(cell, &point): (usize, &usize)| {
            let (at, k) = self.places[point];
            let (piece, turn) = pieces[at];
            self.kept.binary_search(&self.point(piece, k, turn)).unwrap_or(cell)
        };
        self.kept.iter().enumerate().map(on).collect()
    }
}

impl Base {
    /// Returns the problem in which only the base is distinguished.
    pub(super) fn apply(&self, problem: &Problem) -> Problem {
        Problem {
            puzzle: self.puzzle.clone(),
            labels: Labels::numbered(&self.labels),
            states: Some(self.order() / problem.puzzle.free.len()),
            group_order: Some(self.order()),
            has_base: true,
            ..problem.clone()
        }
    }
}

impl StateMap for Base {
    fn lower(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        // All pieces are distinguished, and their labels are their numbers.
        let pieces: Vec<(usize, u16)> =
            state.iter().map(|&(piece, turn)| (piece.into(), turn.into())).collect();
        Some(self.on_cells(&pieces).into_iter().map(|cell| (self.labels[cell] as u16, 0)).collect())
    }

    fn lift(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        let stands =
            |cell: usize| state.iter().position(|&(label, _)| usize::from(label) == self.labels[cell]);
        let pieces = self.pieces(stands)?;
        Some(pieces.into_iter().map(|(piece, turn)| (piece as u16, turn as u8)).collect())
    }
}

/// The points of a puzzle, and the group of its moves and free moves on them.
struct Points {
    /// For each point its cell, and the number of the orientation.
    places: Vec<(usize, u16)>,
    generators: Vec<Permutation>,
    group: Stabiliser,
}

impl Points {
    /// Returns `None` if moves have guards, a piece hides orientations, there are more points than cells of
    /// words may be, or the group is too large.
    fn new(puzzle: &Puzzle) -> Option<Self> {
        let orientation_counts = puzzle.free[0].orientation_counts();
        let is_told =
            puzzle.moves.iter().all(|m| m.guard.is_empty()) && puzzle.seen.iter().eq(orientation_counts);
        let turns_too_often = orientation_counts.iter().any(|&order| order > Base::MAX_ORIENTATIONS);
        if !is_told || turns_too_often || puzzle.free[0].points() > Base::MAX_POINTS {
            return None;
        }
        let places: Vec<(usize, u16)> = orientation_counts
            .iter()
            .enumerate()
            .flat_map(|(cell, &order)| (0..order).map(move |k| (cell, k)))
            .collect();
        let mut generators: Vec<Permutation> = Vec::new();
        for action in puzzle.moves.iter().map(|m| &m.action).chain(&puzzle.free) {
            let action = action.as_points();
            if !action.is_identity() && !generators.contains(&action) {
                generators.push(action);
            }
        }
        let chain = StabiliserChain::up_to(Base::MAX_ELEMENTS, places.len(), &generators)?;
        let group = Stabiliser::with_chain(generators.clone(), chain);
        Some(Self { places, generators, group })
    }
}

/// Returns for each of `count` points the number of its orbit.
fn numbers_of(orbits: &[Vec<usize>], count: usize) -> Vec<usize> {
    let mut numbers = vec![0; count];
    for (number, orbit) in orbits.iter().enumerate() {
        orbit.iter().for_each(|&point| numbers[point] = number);
    }
    numbers
}

/// A symmetry as a permutation of points, and its action on the moves.
struct PointSymmetry {
    points: Permutation,
    /// By move: the number of the move that it becomes, or `None` if a free move follows.
    moves: Vec<Option<usize>>,
}

/// Returns the symmetries as permutations of points, the identity first. Automorphisms of pieces that turn
/// are a group only up to turns of whole orbits, so of these only the identity is returned.
fn symmetries_of(puzzle: &Puzzle, orientation_counts: &[u16]) -> Vec<PointSymmetry> {
    let used = if orientation_counts.iter().all(|&order| order == 1) { puzzle.symmetries.len() } else { 1 };
    let degree = puzzle.free[0].points();
    let of_move: HashMap<&OrientedPermutation, usize> =
        puzzle.moves.iter().map(|m| &m.action).zip(0..).collect();
    let of = |(number, symmetry): (usize, &Relabelling)| PointSymmetry {
        points: if number == 0 { Permutation::identity(degree) } else { symmetry.cells().clone() },
        moves: puzzle.moves.iter().map(|m| of_move.get(&symmetry.rename(&m.action)).copied()).collect(),
    };
    puzzle.symmetries[..used].iter().enumerate().map(of).collect()
}

/// Returns the points that some generator moves, in classes of orbits that symmetries exchange: the points of
/// each class in increasing order, the smallest class first.
fn classes(degree: usize, generators: &[Permutation], symmetries: &[PointSymmetry]) -> Vec<Vec<usize>> {
    let moved = orbits(degree, generators);
    let all: Vec<Permutation> =
        generators.iter().chain(symmetries.iter().map(|symmetry| &symmetry.points)).cloned().collect();
    let mut classes = orbits(degree, &all);
    // Symmetries may also exchange points that nothing moves.
    let mut is_moved = vec![false; degree];
    moved.iter().flatten().for_each(|&point| is_moved[point] = true);
    classes.retain(|class| is_moved[class[0]]);
    classes.sort_by_key(Vec::len);
    classes
}

/// Chooses a base: in each class in turn, as long as something moves there when the base so far is fixed, the
/// smallest point of the longest orbit. Returns the base, and the points of the classes that have a point of
/// it, in increasing order.
fn base(group: &Stabiliser, classes: Vec<Vec<usize>>) -> (Vec<usize>, Vec<usize>) {
    let (mut base, mut kept) = (Vec::new(), Vec::new());
    let mut chain = group.along(&base);
    for class in classes {
        let before = base.len();
        loop {
            let fixes = |generator: &&Permutation| base.iter().all(|&point| generator.apply(point) == point);
            let left: Vec<Permutation> =
                chain.strong_generators().into_iter().filter(fixes).cloned().collect();
            let here = |orbit: &Vec<usize>| class.binary_search(&orbit[0]).is_ok();
            let orbits = orbits(class.last().map_or(0, |last| last + 1), &within(&left, &class));
            let longest = orbits.into_iter().filter(here).rev().max_by_key(Vec::len);
            let Some(longest) = longest else { break };
            base.push(longest[0]);
            chain = group.along(&base);
        }
        if base.len() > before {
            kept.extend(class);
        }
    }
    kept.sort_unstable();
    (base, kept)
}

/// Returns generators that act only on a class: on points up to its last one.
fn within(generators: &[Permutation], class: &[usize]) -> Vec<Permutation> {
    let degree = class.last().map_or(0, |last| last + 1);
    let acts = |generator: &Permutation| {
        Permutation::from_fn(degree, |point| match class.binary_search(&point) {
            Ok(_) => generator.apply(point),
            Err(_) => point,
        })
    };
    generators.iter().map(acts).collect()
}

/// Returns the points that are distinguished: the base and, if there are at most `most`, its images under
/// symmetries, which can then be used. Of symmetries that rename the moves in the same way, one is enough:
/// the one that carries the most points of the base to points of the base.
fn told(base: &[usize], symmetries: &[PointSymmetry], most: usize) -> Vec<usize> {
    let mut best: HashMap<&[Option<usize>], (usize, &Permutation)> = HashMap::new();
    for PointSymmetry { points, moves } in symmetries {
        let kept = base.iter().filter(|&&point| base.contains(&points.apply(point))).count();
        let known = best.entry(moves).or_insert((kept, points));
        if kept > known.0 {
            *known = (kept, points);
        }
    }
    let mut told = base.to_vec();
    let mut next = 0;
    while let Some(&point) = told.get(next) {
        for (_, points) in best.values() {
            let image = points.apply(point);
            if !told.contains(&image) {
                told.push(image);
            }
        }
        if told.len() > most {
            return base.to_vec();
        }
        next += 1;
    }
    told[base.len()..].sort_unstable();
    told
}
