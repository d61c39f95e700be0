//! Facelets that move together are pieces, which turn. `Definition::puzzle` finds them
//! ([`Puzzle::facelets`](fathom_puzzle::Puzzle::facelets)); the sticker files of the corpus have them, such
//! as `docs/examples/2x2x2.tws`.
//!
//! What a facelet shows is the label of its piece in the given puzzle and a side of that piece. What a piece
//! shows are its facelets in order, and pieces that show the same, up to a turn, get one label. For that their
//! orientations are counted from facelets that correspond.
//!
//! Refused: free moves, guards and limits.

use super::{Placed, Problem, Record, StateMap};
use crate::Labels;
use fathom_algebra::permutation::gcd;
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use fathom_puzzle::{Facelets, Puzzle};
use std::collections::HashMap;

/// What the facelets of a piece show, by number: a list for each orbit of facelets that the piece has.
type Look = Vec<(usize, Vec<Placed>)>;

/// The map from the facelets of a puzzle, or its pieces and their orientations, to other pieces.
#[derive(Clone, Debug)]
pub(super) struct FaceletMap {
    facelets: Facelets,
    /// For each facelet the label of its piece in the given puzzle, and the side of that piece.
    shown: Vec<Placed>,
    /// By label of the given puzzle: the number of orientations that are distinguished.
    given_seen: Vec<u16>,
    /// By piece: the label.
    labels: Vec<usize>,
    /// By piece: the number of orientations that are distinguished.
    seen: Vec<u16>,
    /// By label: the first piece that has it.
    first: Vec<usize>,
    /// The label and the orientation of a piece with this look.
    of_look: HashMap<Look, Placed>,
    /// By piece: how far its orientations are turned against those of the pieces that were found.
    turns: Vec<u16>,
}

impl FaceletMap {
    /// Takes the pieces that were found for the puzzle of a problem.
    pub(super) fn new(facelets: Facelets, problem: &Problem) -> Self {
        let (given_labels, sides) = (problem.labels.of_pieces(), &problem.puzzle.seen);
        let mut given_seen = vec![1; given_labels.len()];
        for (&label, &seen) in given_labels.iter().zip(sides) {
            given_seen[usize::from(label)] = seen;
        }
        let show = |facelet: usize| {
            let (piece, number) = facelets.given(facelet);
            (given_labels[piece], (number % sides[piece]) as u8)
        };
        let shown: Vec<Placed> = (0..facelets.places().len()).map(show).collect();
        let counts = facelets.orientation_counts();
        let (mut labels, mut seen, mut turns) = (Vec::new(), Vec::new(), Vec::new());
        let (mut first, mut of_look) = (Vec::new(), HashMap::new());
        for (piece, &count) in counts.iter().enumerate() {
            let own: Look = facelets
                .on_cell(piece)
                .map(|(orbit, on_piece)| (orbit, on_piece.iter().map(|&facelet| shown[facelet]).collect()))
                .collect();
            // A piece that looks like the first one of a label after a turn is turned back.
            let (turn, label) = match of_look.get(&own) {
                Some(&(label, orientation)) => ((count - u16::from(orientation)) % count, usize::from(label)),
                None => {
                    let label = first.len();
                    first.push(piece);
                    for orientation in 0..count {
                        let known = of_look.entry(turned(&own, orientation));
                        known.or_insert((label as u16, orientation as u8));
                    }
                    (0, label)
                }
            };
            labels.push(label);
            turns.push(turn);
            let period = |seen: &u16| turned(&own, *seen) == own;
            seen.push((1..count).find(period).unwrap_or(count));
        }
        let facelets = facelets.turned(&turns);
        Self { facelets, shown, given_seen, labels, seen, first, of_look, turns }
    }

    /// Returns by cell the number of orientations that some piece of its orbit shows: the least common multiple of
    /// `seen` in the orbit, whose pieces have a divisor of their number of facelets each.
    fn visible_orientation_counts(&self) -> Vec<u16> {
        let on_cell = |cell: usize| self.facelets.on_cell(cell).map(|(orbit, _)| orbit).min();
        let mut of_orbit: HashMap<Option<usize>, u64> = HashMap::new();
        for (cell, &seen) in self.seen.iter().enumerate() {
            let all = of_orbit.entry(on_cell(cell)).or_insert(1);
            *all = *all / gcd(*all, seen.into()) * u64::from(seen);
        }
        (0..self.seen.len()).map(|cell| of_orbit[&on_cell(cell)] as u16).collect()
    }

    pub(super) fn record(&self) -> Record {
        Record::Facelets { places: self.facelets.places().to_vec() }
    }

    /// Replaces the puzzle of the problem by the one on the cells of pieces. `found` is that puzzle as it was
    /// found; without it, the only symmetry is the identity.
    pub(super) fn apply(&self, problem: &mut Problem, found: Option<&Puzzle>) {
        let mut puzzle = Puzzle { seen: self.seen.clone(), ..problem.puzzle.on_pieces(&self.facelets) };
        if let Some(found) = found {
            let (cells, counts) = (Permutation::identity(puzzle.cells), self.facelets.orientation_counts());
            let turn = OrientedPermutation::new(cells, self.turns.clone(), counts)
                .expect("turns are below the numbers of orientations");
            let [back, turn] = [turn.inverse(), turn].map(|action| Relabelling::from_action(&action));
            puzzle.symmetries = found.symmetries.iter().map(|a| back.then(a).then(&turn)).collect();
            puzzle.has_all_symmetries = found.has_all_symmetries;
        }
        problem.labels = Labels::numbered(&self.labels);
        problem.puzzle = puzzle.with_fewer_orientations(&self.visible_orientation_counts());
    }
}

/// Returns what a piece shows that is turned by `turn`.
fn turned(look: &Look, turn: u16) -> Look {
    let turned = |shown: &Vec<Placed>| {
        let mut shown = shown.clone();
        shown.rotate_right(usize::from(turn));
        shown
    };
    look.iter().map(|(orbit, shown)| (*orbit, turned(shown))).collect()
}

impl StateMap for FaceletMap {
    fn lower(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        let shown_at = |facelet: usize| {
            let (cell, number) = self.facelets.given(facelet);
            let (label, orientation) = state[cell];
            let seen = self.given_seen[usize::from(label)];
            (label, ((number + seen - u16::from(orientation) % seen) % seen) as u8)
        };
        let piece_on = |cell: usize| {
            let on_cell = self.facelets.on_cell(cell);
            let look =
                on_cell.map(|(orbit, on_cell)| (orbit, on_cell.iter().map(|&f| shown_at(f)).collect()));
            self.of_look.get(&look.collect::<Look>()).copied()
        };
        (0..self.labels.len()).map(piece_on).collect()
    }

    fn lift(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        let on = |&(at, _): &(usize, u16)| {
            let (label, turn) = state[self.facelets.place(at).0];
            let facelet = self.facelets.seen_at(at, self.first[usize::from(label)], turn.into());
            let (label, side) = self.shown[facelet];
            let seen = self.given_seen[usize::from(label)];
            (label, ((seen - u16::from(side)) % seen) as u8)
        };
        Some(self.facelets.given_cells().iter().map(on).collect())
    }
}
