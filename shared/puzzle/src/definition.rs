//! The definition of any permutation puzzle: orbits of cells, generators that permute and turn the pieces on
//! them, and what stands where when it is solved. Files and families end here, and all of them are checked
//! here.

mod error;
mod groupoid;
mod reduced;
mod searched;
mod shapes;

pub use error::DefinitionError;
pub use groupoid::Groupoid;
pub use searched::FreeGroup;
pub use shapes::Shapes;

use crate::Metric;
use fathom_algebra::{OrientedPermutation, StabiliserChain};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Cells between which pieces move, and the number of ways in which a piece can stand on them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Orbit {
    /// As people call the pieces: one word.
    pub name: String,
    /// The number of cells.
    pub cells: usize,
    /// The number of orientations of each piece: 1 where it has none.
    pub orientations: u16,
}

/// A named generator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Generator {
    /// As people write it.
    pub name: String,
    /// What it does to the pieces on all cells.
    pub action: OrientedPermutation,
    /// It can be made only while each of these cells holds a piece with the label that belongs there when
    /// solved. Cells from 0, in increasing order, none of which the action moves; none at all where it
    /// can always be made.
    pub guard: Box<[u16]>,
}

/// What stands on a cell when the puzzle is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Pieces with one label are interchangeable.
    pub label: u16,
    /// How the piece is turned when the puzzle is solved, modulo `seen`.
    pub orientation: u16,
    /// How many of its orientations are told apart, a divisor of the orbit's number: that number where
    /// orientation counts, 1 where it is not looked at.
    pub seen: u16,
}

/// A puzzle. Cells are numbered across orbits, from 0, in the order of the orbits.
///
/// Always true: generators have distinct names, permute each orbit within itself, and turn pieces by less
/// than their number of orientations; no generator moves a cell of its guard, and only moves have guards;
/// pieces with one label belong to one orbit and show equally many orientations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    name: String,
    orbits: Vec<Orbit>,
    /// The orbit of each cell, by its place in `orbits`.
    orbit_of: Vec<usize>,
    moves: Vec<Generator>,
    free: Vec<Generator>,
    spare: Vec<Generator>,
    solved: Vec<Piece>,
    always: Box<[u16]>,
    /// Cells with the pieces that never stand there, in increasing order.
    never: Box<[(u16, u16)]>,
    metric: Metric,
    remarks: Remarks,
}

/// What users are told about how a file was read. Remarks do not belong to the puzzle: definitions that
/// differ by them alone are equal.
#[derive(Clone, Debug, Default)]
struct Remarks(Vec<String>);

impl PartialEq for Remarks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Remarks {}

impl Definition {
    /// The largest number of points, that is of cells times orientations.
    pub const MAX_POINTS: usize = 1 << 14;
    /// The largest number of generators, listed or made by a metric.
    pub const MAX_MOVES: usize = 4096;

    /// A puzzle without moves, all of whose pieces are different and show all their orientations. Its metric
    /// is [`Metric::Given`].
    ///
    /// # Errors
    /// [`DefinitionError`] if the orbits have no cells, too many points, or one name twice.
    pub fn new(name: impl Into<String>, orbits: Vec<Orbit>) -> Result<Self, DefinitionError> {
        if orbits.is_empty() || orbits.iter().any(|orbit| orbit.cells == 0) {
            return Err(DefinitionError::NoCells);
        }
        let mut names = HashSet::new();
        for orbit in &orbits {
            check_name(&orbit.name)?;
            if orbit.orientations == 0 {
                return Err(DefinitionError::NoOrientations(orbit.name.clone()));
            }
            if !names.insert(&orbit.name) {
                return Err(DefinitionError::NameTwice(orbit.name.clone()));
            }
        }
        let points = orbits.iter().fold(0_usize, |points, orbit| {
            points.saturating_add(orbit.cells.saturating_mul(orbit.orientations.into()))
        });
        if points > Self::MAX_POINTS {
            return Err(DefinitionError::TooManyPoints { points });
        }
        let orbit_of: Vec<usize> =
            orbits.iter().enumerate().flat_map(|(i, orbit)| vec![i; orbit.cells]).collect();
        let solved = (0_u16..)
            .zip(&orbit_of)
            .map(|(cell, &orbit)| Piece { label: cell, orientation: 0, seen: orbits[orbit].orientations })
            .collect();
        Ok(Self {
            name: name.into(),
            orbits,
            orbit_of,
            moves: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            solved,
            always: Box::default(),
            never: Box::default(),
            metric: Metric::Given,
            remarks: Remarks::default(),
        })
    }

    /// A puzzle of `degree` cells whose pieces have no orientation.
    ///
    /// # Errors
    /// [`DefinitionError`] if there are no cells, or too many.
    pub fn of_degree(name: impl Into<String>, degree: usize) -> Result<Self, DefinitionError> {
        Self::new(name, vec![Orbit { name: "cells".into(), cells: degree, orientations: 1 }])
    }

    /// Adds a generator that costs one move, behind those that are there.
    ///
    /// # Errors
    /// [`DefinitionError`] if its name is taken or bad, or it does not fit the orbits.
    pub fn add_move(
        &mut self,
        name: impl Into<String>,
        action: OrientedPermutation,
    ) -> Result<(), DefinitionError> {
        self.add_guarded_move(name, action, &[])
    }

    /// Adds a generator that costs one move and can be made only while each cell of `guard` holds a piece
    /// with the label that belongs there when solved. Cells count from 0, in any order.
    ///
    /// # Errors
    /// As [`Definition::add_move`], and if a cell of the guard is not there, or is moved: what the inverse
    /// asks for would be another guard then.
    pub fn add_guarded_move(
        &mut self,
        name: impl Into<String>,
        action: OrientedPermutation,
        guard: &[u16],
    ) -> Result<(), DefinitionError> {
        let mut generator = self.checked(name.into(), action)?;
        for &cell in guard {
            let (name, number) = (generator.name.clone(), usize::from(cell) + 1);
            if number > self.cells() {
                return Err(DefinitionError::GuardCell { name, cell: number, cells: self.cells() });
            }
            let to = generator.action.cells().apply(cell.into()) + 1;
            if to != number {
                return Err(DefinitionError::GuardMoves { name, cell: number, to });
            }
        }
        let guard: BTreeSet<u16> = guard.iter().copied().collect();
        generator.guard = guard.into_iter().collect();
        self.moves.push(generator);
        Ok(())
    }

    /// Adds a generator that costs nothing.
    ///
    /// # Errors
    /// As [`Definition::add_move`].
    pub fn add_free(
        &mut self,
        name: impl Into<String>,
        action: OrientedPermutation,
    ) -> Result<(), DefinitionError> {
        let generator = self.checked(name.into(), action)?;
        self.free.push(generator);
        Ok(())
    }

    /// Adds a named permutation that is no generator unless somebody chooses it by name.
    ///
    /// # Errors
    /// As [`Definition::add_move`].
    pub fn add_spare(
        &mut self,
        name: impl Into<String>,
        action: OrientedPermutation,
    ) -> Result<(), DefinitionError> {
        let generator = self.checked(name.into(), action)?;
        self.spare.push(generator);
        Ok(())
    }

    /// Says what stands on each cell when the puzzle is solved. Labels are renumbered in the order in which
    /// they first occur, and orientations are reduced to those that are seen.
    ///
    /// # Errors
    /// [`DefinitionError`] if the pieces do not fit the cells, or pieces with one label differ.
    pub fn set_solved(&mut self, pieces: &[Piece]) -> Result<(), DefinitionError> {
        if pieces.len() != self.cells() {
            return Err(DefinitionError::SolvedCells { found: pieces.len(), cells: self.cells() });
        }
        let mut first_of: HashMap<u16, (u16, usize)> = HashMap::new();
        let mut solved = Vec::with_capacity(pieces.len());
        for (cell, (&piece, order)) in pieces.iter().zip(self.orders()).enumerate() {
            let Piece { label, orientation, seen } = piece;
            if orientation >= order {
                return Err(DefinitionError::SolvedOrientation { cell: cell + 1, orientation, order });
            }
            if seen == 0 || order % seen != 0 {
                return Err(DefinitionError::Seen { cell: cell + 1, seen, order });
            }
            let next = first_of.len() as u16;
            let &mut (label, first) = first_of.entry(label).or_insert((next, cell));
            let unlike = |what| DefinitionError::UnlikePieces { first: first + 1, second: cell + 1, what };
            if self.orbit_of(first) != self.orbit_of(cell) {
                return Err(unlike("their orbits"));
            }
            if pieces[first].seen != seen {
                return Err(unlike("the orientations that are looked at"));
            }
            solved.push(Piece { label, orientation: orientation % seen, seen });
        }
        leaves_solved(&solved, &self.never)?;
        self.solved = solved;
        Ok(())
    }

    /// Limits the states to those in which each of these cells holds a piece with the label that belongs
    /// there when solved: a move that leads to another state cannot be made. Cells count from 0, in any
    /// order.
    ///
    /// # Errors
    /// [`DefinitionError::AlwaysCell`] if one is not there.
    pub fn set_always(&mut self, cells: &[u16]) -> Result<(), DefinitionError> {
        let all = self.cells();
        if let Some(&cell) = cells.iter().find(|&&cell| usize::from(cell) >= all) {
            return Err(DefinitionError::AlwaysCell { cell: usize::from(cell) + 1, cells: all });
        }
        let cells: BTreeSet<u16> = cells.iter().copied().collect();
        self.always = cells.into_iter().collect();
        Ok(())
    }

    /// Limits the states to those in which no cell holds a piece with the label of one that is listed beside
    /// the cell: a move that leads to another state cannot be made. Pieces are told by the cells where they
    /// belong; cells count from 0, in any order.
    ///
    /// # Errors
    /// [`DefinitionError::AlwaysCell`] if a cell is not there, [`DefinitionError::NeverSolved`] if that rules
    /// out the solved state.
    pub fn set_never(&mut self, ruled_out: &[(u16, u16)]) -> Result<(), DefinitionError> {
        let all = self.cells();
        let named = ruled_out.iter().flat_map(|&(cell, piece)| [cell, piece]);
        if let Some(cell) = named.map(usize::from).find(|&cell| cell >= all) {
            return Err(DefinitionError::AlwaysCell { cell: cell + 1, cells: all });
        }
        let never: Box<[(u16, u16)]> =
            ruled_out.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        leaves_solved(&self.solved, &never)?;
        self.never = never;
        Ok(())
    }

    /// Sets the metric that is meant unless another one is asked for.
    pub fn set_metric(&mut self, metric: Metric) {
        self.metric = metric;
    }

    /// The definition, now that everything has been added.
    ///
    /// # Errors
    /// [`DefinitionError::NoMoves`], or [`DefinitionError::AlwaysFree`] if states are limited where moves are
    /// free.
    pub fn finished(self) -> Result<Self, DefinitionError> {
        match (self.moves.is_empty(), !self.is_limited() || self.free.is_empty()) {
            (true, _) => Err(DefinitionError::NoMoves),
            (_, false) => Err(DefinitionError::AlwaysFree),
            _ => Ok(self),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The orbits.
    pub fn orbits(&self) -> &[Orbit] {
        &self.orbits
    }

    /// Exactly the listed generators, in their order.
    pub fn moves(&self) -> &[Generator] {
        &self.moves
    }

    /// The generators that cost nothing.
    pub fn free(&self) -> &[Generator] {
        &self.free
    }

    /// Named permutations that are no generators unless they are chosen by name: whole-puzzle rotations of a
    /// twsearch file, derived moves of a kpuzzle.
    pub fn spare(&self) -> &[Generator] {
        &self.spare
    }

    /// What stands on each cell when the puzzle is solved.
    pub fn solved(&self) -> &[Piece] {
        &self.solved
    }

    /// The cells to which states are [limited](Definition::set_always), in increasing order; none where all
    /// states are meant.
    pub fn always(&self) -> &[u16] {
        &self.always
    }

    /// Cells with the pieces that [never](Definition::set_never) stand there, in increasing order.
    pub fn never(&self) -> &[(u16, u16)] {
        &self.never
    }

    /// Cells with all pieces that never stand there: also those that look like one that is listed.
    pub(crate) fn ruled_out(&self) -> impl Iterator<Item = (u16, u16)> {
        let label = |piece: u16| self.solved[usize::from(piece)].label;
        let pieces = move |listed: u16| (0..self.cells() as u16).filter(move |&p| label(p) == label(listed));
        self.never.iter().flat_map(move |&(cell, listed)| pieces(listed).map(move |piece| (cell, piece)))
    }

    /// The metric that is meant unless another one is asked for.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Adds a line that users are told about how the puzzle was read.
    pub(crate) fn add_remark(&mut self, remark: impl Into<String>) {
        self.remarks.0.push(remark.into());
    }

    /// What users are told about how the puzzle was read: one line each, without a full stop.
    pub fn remarks(&self) -> &[String] {
        &self.remarks.0
    }

    /// The number of cells of all orbits.
    pub fn cells(&self) -> usize {
        self.solved.len()
    }

    /// The number of orientations of the piece on each cell.
    pub fn orders(&self) -> Vec<u16> {
        self.orbit_of.iter().map(|&orbit| self.orbits[orbit].orientations).collect()
    }

    /// The cells of orbit `orbit`, by its place in [`Definition::orbits`].
    pub fn cells_of(&self, orbit: usize) -> Range<usize> {
        let first = self.orbits[..orbit].iter().map(|orbit| orbit.cells).sum();
        first..first + self.orbits[orbit].cells
    }

    /// The orbit that a cell belongs to, by its place in [`Definition::orbits`].
    pub fn orbit_of(&self, cell: usize) -> usize {
        self.orbit_of[cell]
    }

    /// A label for each point of [`OrientedPermutation::as_points`], such that a state of the puzzle is how
    /// the generators have permuted these labels: point k of a cell shows side k - o, modulo what is
    /// seen, of the piece on that cell, o being its orientation. The stabiliser of the labels is what
    /// cannot be seen.
    pub fn point_labels(&self) -> Vec<u16> {
        let mut numbers: HashMap<(u16, u16), u16> = HashMap::new();
        let mut labels = Vec::new();
        for (piece, order) in self.solved.iter().zip(self.orders()) {
            for k in 0..order {
                let side = (k % piece.seen + piece.seen - piece.orientation) % piece.seen;
                let next = numbers.len() as u16;
                labels.push(*numbers.entry((piece.label, side)).or_insert(next));
            }
        }
        labels
    }

    /// Whether some moves can be made only in some states.
    pub fn is_guarded(&self) -> bool {
        self.is_limited() || self.moves.iter().any(|generator| !generator.guard.is_empty())
    }

    /// Whether some states that moves would lead to are ruled out.
    pub fn is_limited(&self) -> bool {
        !self.always.is_empty() || !self.never.is_empty()
    }

    /// Whether every piece has a label of its own and shows all its orientations, so that states are the
    /// elements of the group.
    pub fn is_plain(&self) -> bool {
        let labels: HashSet<u16> = self.solved.iter().map(|piece| piece.label).collect();
        labels.len() == self.cells()
            && self.solved.iter().zip(self.orders()).all(|(piece, order)| piece.seen == order)
    }

    /// The group that moves and free moves generate, on points, if guards are not looked at.
    pub fn group(&self) -> StabiliserChain {
        let points = self.orders().iter().map(|&order| usize::from(order)).sum();
        let generators: Vec<_> = self.moves.iter().chain(&self.free).map(|g| g.action.as_points()).collect();
        StabiliserChain::new(points, &generators)
    }

    /// The number of states that moves and free moves reach from the solved one, those that differ by free
    /// moves being one state: the order of the group over that of the free moves. `None` if pieces are
    /// interchangeable or hide orientations, if moves have guards, or if the number exceeds 128 bits.
    pub fn states(&self) -> Option<u128> {
        let free: Vec<_> = self.free.iter().map(|generator| generator.action.as_points()).collect();
        let points = free.first().map_or(0, |action| action.degree());
        let free = StabiliserChain::new(points, &free).order()?;
        (self.is_plain() && !self.is_guarded()).then(|| self.group().order())?.map(|order| order / free)
    }

    /// A generator that fits the orbits, with a name that is free.
    fn checked(&self, name: String, action: OrientedPermutation) -> Result<Generator, DefinitionError> {
        check_name(&name)?;
        let listed = || self.moves.iter().chain(&self.free).chain(&self.spare);
        if listed().any(|other| other.name == name) {
            return Err(DefinitionError::NameTwice(name));
        }
        if listed().count() >= Self::MAX_MOVES {
            return Err(DefinitionError::TooManyMoves);
        }
        if action.degree() != self.cells() {
            return Err(DefinitionError::OtherCells { name, found: action.degree(), cells: self.cells() });
        }
        for (cell, (&found, order)) in action.orders().iter().zip(self.orders()).enumerate() {
            if found != order {
                return Err(DefinitionError::OtherOrders { name, cell: cell + 1, found, order });
            }
        }
        for (from, &to) in action.cells().images().iter().enumerate() {
            let to = usize::from(to);
            if self.orbit_of[from] != self.orbit_of[to] {
                let orbit_name = |cell: usize| self.orbits[self.orbit_of[cell]].name.clone();
                return Err(DefinitionError::BetweenOrbits {
                    name,
                    from: from + 1,
                    from_orbit: orbit_name(from),
                    to: to + 1,
                    to_orbit: orbit_name(to),
                });
            }
        }
        Ok(Generator { name, action, guard: Box::default() })
    }
}

/// That no cell holds a piece that never stands there.
fn leaves_solved(solved: &[Piece], never: &[(u16, u16)]) -> Result<(), DefinitionError> {
    let label = |cell: u16| solved[usize::from(cell)].label;
    match never.iter().find(|&&(cell, piece)| label(cell) == label(piece)) {
        Some(&(cell, _)) => Err(DefinitionError::NeverSolved { cell: usize::from(cell) + 1 }),
        None => Ok(()),
    }
}

/// Names are words of a list on the command line, and parentheses are kept for names of powers.
fn check_name(name: &str) -> Result<(), DefinitionError> {
    let bad = |c: char| c.is_whitespace() || c.is_control() || ",\"()".contains(c);
    if name.is_empty() || name.contains(bad) { Err(DefinitionError::BadName(name.into())) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
