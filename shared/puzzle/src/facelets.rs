//! Puzzles given by facelets, such as the stickers of a cube: which facelets form a piece, and how the pieces
//! turn. If a puzzle is given with pieces, their orientations count as facelets too.
//!
//! Two facelets of an orbit are on one piece if a permutation of the orbit that commutes with all moves
//! carries one to the other. Then each element of the group that fixes one fixes the other. If these
//! permutations form a cyclic group, its generator turns all pieces by one orientation, and an element of the
//! group is equivalent to an oriented permutation of the pieces.

use fathom_algebra::orbits::all_orbits;
use fathom_algebra::{OrientedPermutation, Permutation};
use std::collections::HashSet;
use std::ops::Range;

/// The pieces of a puzzle given by facelets. Pieces are on *cells*. The *place* of a facelet is the
/// cell of its piece and its number there, below the number of orientations of the piece: a piece that turns
/// by k carries the facelet of number n to number n + k.
#[derive(Clone, Debug)]
pub struct Facelets {
    /// For each cell the number of orientations of its piece.
    orientation_counts: Vec<u16>,
    /// For each facelet its place when the puzzle is solved.
    places: Vec<(usize, u16)>,
    /// For each facelet the number of its orbit.
    orbits: Vec<usize>,
    /// For each orbit and cell the facelets by number; empty if the orbit has none there.
    facelets: Vec<Vec<Vec<usize>>>,
    /// For each facelet the cell and the orientation that it represents in the given puzzle.
    given: Vec<(usize, u16)>,
    /// For each cell of the given puzzle its first facelet and the number of its orientations.
    given_cells: Vec<(usize, u16)>,
}

impl Facelets {
    /// Finds the pieces of a puzzle by its moves. There is a facelet for each orientation of each cell of the
    /// given puzzle; `given` has the numbers of orientations. `orbits` are those of facelets, including
    /// facelets that no move moves.
    pub(crate) fn find(given: &[u16], orbits: &[Vec<usize>], moves: &[Permutation]) -> Self {
        let degree = orbits.iter().map(Vec::len).sum();
        let mut places: Vec<Option<(usize, u16)>> = vec![None; degree];
        let mut orientation_counts: Vec<u16> = Vec::new();
        for orbit in orbits {
            if places[orbit[0]].is_some() {
                continue;
            }
            let carried = |to: usize| commuting(orbit[0], to, degree, moves);
            let on_piece: Vec<Vec<usize>> = orbit.iter().filter_map(|&to| carried(to)).collect();
            // All powers of one of them, if one generates the others.
            let turns = on_piece.iter().find_map(|turn| {
                let powers =
                    std::iter::successors(Some(orbit[0]), |&at| Some(turn[at]).filter(|&to| to != orbit[0]));
                (powers.count() == on_piece.len()).then_some((turn, on_piece.len() as u16))
            });
            // If none generates the others, each facelet is a piece.
            let (turn, order) = turns.unwrap_or((&on_piece[0], 1));
            let begin = orientation_counts.len();
            for &facelet in orbit {
                let mut at = facelet;
                if places[facelet].is_none() {
                    for number in 0..order {
                        places[at] = Some((orientation_counts.len(), number));
                        at = turn[at];
                    }
                    orientation_counts.push(order);
                }
            }
            if order > 1 {
                let marks = marks(orbit, &places, moves, begin..orientation_counts.len());
                for &facelet in orbit {
                    let (cell, number) = places[facelet].as_mut().expect("the orbit has places");
                    *number = (*number + order - marks[*cell - begin]) % order;
                }
            }
            // Orbits that move with this one.
            for other in orbits.iter().filter(|other| other.len() == orbit.len()) {
                if places[other[0]].is_none()
                    && let Some(with) = other.iter().find_map(|&to| carried(to))
                {
                    orbit.iter().for_each(|&facelet| places[with[facelet]] = places[facelet]);
                }
            }
        }
        let placed = |place: Option<_>| place.expect("each facelet is in an orbit");
        Self::of_places(given, orbits, places.into_iter().map(placed).collect(), orientation_counts)
    }

    /// Restores the pieces that were found for a puzzle, from the [places](Facelets::places) of its facelets.
    /// `given` has the numbers of orientations of the given puzzle, and `moves` are its moves on facelets.
    /// Returns `None` if these are not places of pieces that the moves keep together.
    pub fn with_places(given: &[u16], moves: &[Permutation], places: &[(usize, u16)]) -> Option<Self> {
        let degree = given.iter().copied().map(usize::from).sum();
        let cells = places.iter().map(|&(cell, _)| cell + 1).max()?;
        let orientation_counts = (0..cells).map(|cell| {
            let numbers = places.iter().filter(|&&(of, _)| of == cell).map(|&(_, number)| number + 1);
            numbers.max().unwrap_or(0)
        });
        let orientation_counts: Vec<u16> = orientation_counts.collect();
        if places.len() != degree || orientation_counts.contains(&0) {
            return None;
        }
        let orbits = all_orbits(degree, moves);
        // In each orbit, a piece has all its facelets or none.
        for orbit in &orbits {
            let mut numbers = vec![0; cells];
            orbit.iter().for_each(|&facelet| numbers[places[facelet].0] += 1);
            let distinct: HashSet<(usize, u16)> = orbit.iter().map(|&facelet| places[facelet]).collect();
            let are_whole =
                numbers.iter().zip(&orientation_counts).all(|(&has, &order)| has == 0 || has == order);
            if distinct.len() != orbit.len() || !are_whole {
                return None;
            }
        }
        let found = Self::of_places(given, &orbits, places.to_vec(), orientation_counts);
        moves.iter().all(|action| found.action(action).is_some()).then_some(found)
    }

    fn of_places(
        given: &[u16],
        orbits: &[Vec<usize>],
        places: Vec<(usize, u16)>,
        orientation_counts: Vec<u16>,
    ) -> Self {
        let mut orbit_of = vec![0; places.len()];
        for (number, orbit) in orbits.iter().enumerate() {
            orbit.iter().for_each(|&facelet| orbit_of[facelet] = number);
        }
        let mut facelets = vec![vec![Vec::new(); orientation_counts.len()]; orbits.len()];
        for (facelet, &(cell, _)) in places.iter().enumerate() {
            facelets[orbit_of[facelet]][cell].push(facelet);
        }
        facelets.iter_mut().flatten().for_each(|on_cell| on_cell.sort_by_key(|&facelet| places[facelet].1));
        let given_cells = given.iter().scan(0, |next, &order| {
            let first = *next;
            *next += usize::from(order);
            Some((first, order))
        });
        let in_cell = |(cell, &order): (usize, &u16)| (0..order).map(move |orientation| (cell, orientation));
        Self {
            orientation_counts,
            places,
            orbits: orbit_of,
            facelets,
            given: given.iter().enumerate().flat_map(in_cell).collect(),
            given_cells: given_cells.collect(),
        }
    }

    /// Returns the place of each facelet when the puzzle is solved.
    pub fn places(&self) -> &[(usize, u16)] {
        &self.places
    }

    /// Returns for each cell of the given puzzle its first facelet and the number of its
    /// orientations. A cell has a facelet for each orientation.
    pub fn given_cells(&self) -> &[(usize, u16)] {
        &self.given_cells
    }

    /// Returns the cell and the orientation of the given puzzle that a facelet represents.
    pub fn given(&self, facelet: usize) -> (usize, u16) {
        self.given[facelet]
    }

    /// Returns for each cell the number of orientations of its piece.
    pub fn orientation_counts(&self) -> &[u16] {
        &self.orientation_counts
    }

    /// Returns the number of facelets.
    fn count(&self) -> usize {
        self.places.len()
    }

    /// Returns the place of a facelet.
    pub fn place(&self, facelet: usize) -> (usize, u16) {
        self.places[facelet]
    }

    /// Returns the facelet at the place of `at` when `piece` is there, turned by `turn`.
    pub fn seen_at(&self, at: usize, piece: usize, turn: u16) -> usize {
        let on_piece = &self.facelets[self.orbits[at]][piece];
        let size = on_piece.len();
        on_piece[(usize::from(self.places[at].1) + size - usize::from(turn) % size) % size]
    }

    /// Returns the facelets of a cell by number: a list for each orbit that has facelets there, with the number
    /// of the orbit.
    pub fn on_cell(&self, cell: usize) -> impl Iterator<Item = (usize, &[usize])> {
        let on_cell = self.facelets.iter().map(move |orbit| &orbit[cell][..]).enumerate();
        on_cell.filter(|(_, facelets)| !facelets.is_empty())
    }

    /// Returns the same pieces with other numbers of their facelets: those of each piece are increased by its
    /// entry of `turns`.
    pub fn turned(mut self, turns: &[u16]) -> Self {
        for (cell, number) in &mut self.places {
            *number = (*number + turns[*cell]) % self.orientation_counts[*cell];
        }
        for on_cell in self.facelets.iter_mut().flatten() {
            on_cell.sort_by_key(|&facelet| self.places[facelet].1);
        }
        self
    }

    /// Returns the first facelet of each cell.
    pub fn first_facelets(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.orientation_counts.len()).map(|cell| {
            let first = self.facelets.iter().find_map(|orbit| orbit[cell].first());
            *first.expect("a cell has facelets")
        })
    }

    /// Returns an action on the facelets as one on the pieces; `None` if it splits pieces.
    pub fn action(&self, action: &Permutation) -> Option<OrientedPermutation> {
        let to: Vec<(usize, u16)> =
            self.first_facelets().map(|facelet| self.places[action.apply(facelet)]).collect();
        let cells =
            Permutation::from_images(to.iter().map(|&(cell, _)| cell as u16).collect::<Vec<_>>()).ok()?;
        let turns: Vec<u16> = to.iter().map(|&(_, turn)| turn).collect();
        let pieces = OrientedPermutation::new(cells, turns, &self.orientation_counts[..]).ok()?;
        let keeps = |facelet: usize| {
            let (cell, number) = self.places[facelet];
            let to = action.apply(facelet);
            pieces.apply(cell, number) == self.places[to] && self.orbits[facelet] == self.orbits[to]
        };
        (0..self.count()).all(keeps).then_some(pieces)
    }
}

/// Returns the map of the orbit of `from` that carries `from` to `to` and commutes with all moves; `None` if
/// there is none. The map of other points is meaningless.
fn commuting(from: usize, to: usize, degree: usize, moves: &[Permutation]) -> Option<Vec<usize>> {
    let mut map = vec![usize::MAX; degree];
    map[from] = to;
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for action in moves {
            let (next, image) = (action.apply(at), action.apply(map[at]));
            match std::mem::replace(&mut map[next], image) {
                usize::MAX => open.push(next),
                known if known != image => return None,
                _ => {}
            }
        }
    }
    Some(map)
}

/// Returns a number for each cell of an orbit of facelets: that of the best reference facelet for
/// orientations. As many moves and powers of moves as possible, tried in order, carry these facelets
/// to each other: these moves then turn no piece, and symmetries of the puzzle are more likely to preserve
/// the facelets.
fn marks(
    orbit: &[usize],
    places: &[Option<(usize, u16)>],
    moves: &[Permutation],
    cells: Range<usize>,
) -> Vec<u16> {
    /// Powers of a move are tried up to this one.
    const MAX_POWER: i64 = 6;
    let place = |facelet: usize| places[facelet].expect("the facelets of the orbit have places");
    let begin = cells.start;
    let carried = |kept: &[Permutation]| -> Option<Vec<u16>> {
        let mut marks = vec![None; cells.len()];
        for &facelet in orbit {
            if marks[place(facelet).0 - begin].is_some() {
                continue;
            }
            // The orbit of the facelet under these moves, if no two facelets of it are on one piece.
            let mut reached = vec![facelet];
            let mut found = marks.clone();
            found[place(facelet).0 - begin] = Some(place(facelet).1);
            let mut at = 0;
            let mut is_torn = false;
            while at < reached.len() {
                let from = reached[at];
                for to in kept.iter().map(|action| action.apply(from)) {
                    let (cell, turn) = place(to);
                    match found[cell - begin].replace(turn) {
                        None => reached.push(to),
                        Some(mark) => is_torn |= mark != turn,
                    }
                }
                at += 1;
            }
            if !is_torn {
                marks = found;
            }
        }
        marks.into_iter().collect()
    };
    let powers = (1..=MAX_POWER).flat_map(|power| moves.iter().map(move |g| g.power(power)));
    let mut kept: Vec<Permutation> = Vec::new();
    let mut best = carried(&kept).expect("without moves each facelet can be the reference");
    let mut tried: HashSet<Permutation> = HashSet::new();
    for action in powers {
        if !tried.insert(action.clone()) {
            continue;
        }
        kept.push(action);
        match carried(&kept) {
            Some(marks) => best = marks,
            None => _ = kept.pop(),
        }
    }
    best
}
