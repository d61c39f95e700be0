//! The definition of a permutation puzzle: orbits of cells, generators that permute and turn the pieces on
//! them, and the solved state. All files and families are read into a [`Definition`], which checks them.

mod error;
mod facelet_pieces;
mod groupoid;
mod half_turn_extension;
mod search_form;
mod shapes;
mod variants;

pub use error::DefinitionError;
pub use groupoid::Groupoid;
pub use half_turn_extension::held_by;
pub use search_form::FreeGroup;
pub use shapes::Shapes;

use crate::{Metric, Starts};
use fathom_algebra::{OrientedPermutation, StabiliserChain};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Cells between which pieces move, all with the same number of orientations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Orbit {
    /// The name of the pieces, without blanks.
    pub name: String,
    /// The number of cells.
    pub cells: usize,
    /// The number of orientations of each piece: 1 if pieces have no orientation.
    pub orientations: u16,
}

/// A condition for a move: a cell holds one of these pieces, or another piece with the label of one of them. Cells are
/// numbered from 0, and a piece has the number of its home cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ask {
    /// The cell, which the move may move.
    pub cell: u16,
    /// The pieces.
    pub pieces: Box<[u16]>,
}

/// A named generator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Generator {
    /// The name, as users write it.
    pub name: String,
    /// The action on the pieces of all cells.
    pub action: OrientedPermutation,
    /// The guard: the generator can be applied only while each of these cells holds a piece with the label
    /// that belongs there when solved. The cells are numbered from 0, in increasing order, and the action
    /// moves none of them. Empty if the generator can always be applied.
    pub guard: Box<[u16]>,
    /// Further conditions, on any cells, in increasing order.
    pub asks: Box<[Ask]>,
}

/// The piece on a cell when the puzzle is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The label: pieces with the same label are interchangeable.
    pub label: u16,
    /// The orientation of the piece when the puzzle is solved, modulo `seen`.
    pub orientation: u16,
    /// The number of distinguished orientations, a divisor of the orbit's number of orientations:
    /// equal to that number if orientation counts, 1 if orientation is ignored.
    pub seen: u16,
}

/// A puzzle. Cells are numbered across orbits, from 0, in the order of the orbits.
///
/// Invariants: generators have distinct names, permute each orbit within itself, and turn pieces by less than
/// their number of orientations; no generator moves a cell of its guard, and only moves have guards; pieces
/// with the same label belong to the same orbit and have the same `seen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    name: String,
    orbits: Vec<Orbit>,
    /// For each cell the index of its orbit in `orbits`.
    orbit_of: Vec<usize>,
    moves: Vec<Generator>,
    free: Vec<Generator>,
    spare: Vec<Generator>,
    solved: Vec<Piece>,
    always: Box<[u16]>,
    /// Pairs of a cell and a piece that is never allowed there, in increasing order.
    never: Box<[(u16, u16)]>,
    starts: Starts,
    metric: Metric,
    remarks: Remarks,
    written_labels: WrittenLabels,
}

/// The labels of the pieces as a file writes them, before they are numbered in order. They are not part of
/// the puzzle: definitions that differ only in them are equal.
#[derive(Clone, Debug, Default)]
struct WrittenLabels(Option<Vec<u64>>);

impl PartialEq for WrittenLabels {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for WrittenLabels {}

/// Remarks for users about how a file was read. Remarks are not part of the puzzle: definitions that
/// differ only in their remarks are equal.
#[derive(Clone, Debug, Default)]
struct Remarks(Vec<String>);

impl PartialEq for Remarks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Remarks {}

impl Definition {
    /// The largest number of points: the sum over all cells of their numbers of orientations.
    pub const MAX_POINTS: usize = 1 << 14;
    /// The largest number of generators, listed or derived by a metric.
    pub const MAX_MOVES: usize = 4096;

    /// Creates a puzzle without moves, whose pieces are all different and show all their orientations. The
    /// metric is [`Metric::Given`].
    ///
    /// # Errors
    /// [`DefinitionError`] if the name is blank or has a character that cannot be seen, there are no orbits, an orbit has
    /// no cells or no orientations, the name of an orbit is bad or given twice, or there are more than
    /// [`Definition::MAX_POINTS`] points.
    pub fn new(name: impl Into<String>, orbits: Vec<Orbit>) -> Result<Self, DefinitionError> {
        let name = name.into();
        if let Some(control) = name.chars().find(|&c| is_unprintable(c)) {
            return Err(DefinitionError::BadTitle { name, control });
        }
        if name.trim().is_empty() {
            return Err(DefinitionError::NoTitle);
        }
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
            name,
            orbits,
            orbit_of,
            moves: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            solved,
            always: Box::default(),
            never: Box::default(),
            starts: Starts::default(),
            metric: Metric::Given,
            remarks: Remarks::default(),
            written_labels: WrittenLabels::default(),
        })
    }

    /// Creates a puzzle of `degree` cells in one orbit, whose pieces have no orientation.
    ///
    /// # Errors
    /// [`DefinitionError`] if `degree` is 0 or more than [`Definition::MAX_POINTS`].
    pub fn of_degree(name: impl Into<String>, degree: usize) -> Result<Self, DefinitionError> {
        Self::new(name, vec![Orbit { name: "cells".into(), cells: degree, orientations: 1 }])
    }

    /// Adds a generator that costs one move, after the existing moves.
    ///
    /// # Errors
    /// [`DefinitionError`] if the name is taken or bad, if the action does not fit the orbits, or if there
    /// are [`Definition::MAX_MOVES`] generators already.
    pub fn add_move(
        &mut self,
        name: impl Into<String>,
        action: OrientedPermutation,
    ) -> Result<(), DefinitionError> {
        self.add_guarded_move(name, action, &[])
    }

    /// Adds a generator that costs one move and can be applied only while each cell of `guard` holds a piece
    /// with the label that belongs there when solved. Cells are numbered from 0, in any order.
    ///
    /// # Errors
    /// As [`Definition::add_move`], and if a cell of the guard does not exist or is moved by `action`: a move
    /// that moved its guard would have an inverse with a different guard.
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

    /// Adds a generator as [`Definition::add_guarded_move`] does, which can be applied only while all conditions of `asks`
    /// hold as well. The states of such a puzzle can only be listed.
    ///
    /// # Errors
    /// As [`Definition::add_guarded_move`], and if a cell or a piece of a condition does not exist, the pieces are of
    /// another orbit than the cell, or conditions exclude each other.
    pub fn add_asking_move(
        &mut self,
        name: impl Into<String>,
        action: OrientedPermutation,
        guard: &[u16],
        asks: Box<[Ask]>,
    ) -> Result<(), DefinitionError> {
        let name = name.into();
        for Ask { cell, pieces } in &asks {
            for place in pieces.iter().chain([cell]) {
                let number = usize::from(*place) + 1;
                if number > self.cells() {
                    return Err(DefinitionError::GuardCell { name, cell: number, cells: self.cells() });
                }
            }
            let other =
                |piece: &&u16| self.orbit_of[usize::from(**piece)] != self.orbit_of[usize::from(*cell)];
            if let Some(piece) = pieces.iter().find(other) {
                let (cell, piece) = (usize::from(*cell) + 1, usize::from(*piece) + 1);
                return Err(DefinitionError::AsksOtherOrbit { name, cell, piece });
            }
        }
        let label = |piece: &u16| self.solved[usize::from(*piece)].label;
        let mut left: HashMap<u16, HashSet<u16>> = guard
            .iter()
            .filter(|&&cell| usize::from(cell) < self.cells())
            .map(|cell| (*cell, HashSet::from([label(cell)])))
            .collect();
        for Ask { cell, pieces } in &asks {
            let labels: HashSet<u16> = pieces.iter().map(label).collect();
            let left = left.entry(*cell).or_insert_with(|| labels.clone());
            left.retain(|label| labels.contains(label));
            if left.is_empty() {
                return Err(DefinitionError::AsksContradict { name, cell: usize::from(*cell) + 1 });
            }
        }
        self.add_guarded_move(name, action, guard)?;
        let sorted = |pieces: &[u16]| pieces.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let asks: BTreeSet<Ask> =
            asks.iter().map(|Ask { cell, pieces }| Ask { cell: *cell, pieces: sorted(pieces) }).collect();
        self.moves.last_mut().expect("a move was added").asks = asks.into_iter().collect();
        Ok(())
    }

    /// Returns whether some moves ask for pieces on any cells.
    pub fn has_asks(&self) -> bool {
        self.moves.iter().any(|generator| !generator.asks.is_empty())
    }

    /// Adds a free move: a generator that costs nothing.
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

    /// Adds a spare (derived) move: a named permutation that is a generator only if a user selects it by
    /// name.
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

    /// Sets the piece on each cell when the puzzle is solved. Labels are renumbered in the order
    /// in which they first occur, and each orientation is reduced modulo `seen`.
    ///
    /// # Errors
    /// [`DefinitionError`] if there is not one piece per cell, if an orientation or `seen` does not fit the
    /// orbit, if pieces with the same label differ in their orbits or in `seen`, or if a cell would hold a
    /// piece that is [never](Definition::set_never) allowed there.
    pub fn set_solved(&mut self, pieces: &[Piece]) -> Result<(), DefinitionError> {
        if pieces.len() != self.cells() {
            return Err(DefinitionError::SolvedCells { found: pieces.len(), cells: self.cells() });
        }
        let mut first_of: HashMap<u16, (u16, usize)> = HashMap::new();
        let mut solved = Vec::with_capacity(pieces.len());
        for (cell, (&piece, order)) in pieces.iter().zip(self.orientation_counts()).enumerate() {
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
                return Err(unlike("the number of orientations that are distinguished"));
            }
            solved.push(Piece { label, orientation: orientation % seen, seen });
        }
        check_solved_allowed(&solved, &self.never)?;
        self.solved = solved;
        self.written_labels = WrittenLabels::default();
        Ok(())
    }

    /// Records the label of the piece on each solved cell as a file writes it, for states that are given by
    /// labels.
    pub(crate) fn set_written_labels(&mut self, labels: Vec<u64>) {
        self.written_labels = WrittenLabels(Some(labels));
    }

    /// Forgets the labels as a file writes them.
    pub(crate) fn without_written_labels(self) -> Self {
        Self { written_labels: WrittenLabels::default(), ..self }
    }

    /// Returns the label of the piece on each solved cell as the file writes it; `None` if there is no file,
    /// or if the labels have been changed since.
    pub fn written_labels(&self) -> Option<&[u64]> {
        self.written_labels.0.as_deref()
    }

    /// Limits the states to those in which each of these cells holds a piece with the label that belongs
    /// there when solved: a move that leads to another state is not possible. Cells are numbered from 0, in
    /// any order.
    ///
    /// # Errors
    /// [`DefinitionError::AlwaysCell`] if a cell does not exist.
    pub fn set_always(&mut self, cells: &[u16]) -> Result<(), DefinitionError> {
        let all = self.cells();
        if let Some(&cell) = cells.iter().find(|&&cell| usize::from(cell) >= all) {
            return Err(DefinitionError::AlwaysCell { cell: usize::from(cell) + 1, cells: all });
        }
        let cells: BTreeSet<u16> = cells.iter().copied().collect();
        self.always = cells.into_iter().collect();
        Ok(())
    }

    /// Limits the states: for each pair of a cell and a piece, the cell never holds a piece with the label of
    /// that piece, and a move that leads to another state is not possible. A piece is identified by its home
    /// cell; cells are numbered from 0, and the pairs may be in any order.
    ///
    /// # Errors
    /// [`DefinitionError::AlwaysCell`] if a cell does not exist, [`DefinitionError::NeverSolved`] if a pair
    /// excludes the solved state.
    pub fn set_never(&mut self, ruled_out: &[(u16, u16)]) -> Result<(), DefinitionError> {
        let all = self.cells();
        let named = ruled_out.iter().flat_map(|&(cell, piece)| [cell, piece]);
        if let Some(cell) = named.map(usize::from).find(|&cell| cell >= all) {
            return Err(DefinitionError::AlwaysCell { cell: cell + 1, cells: all });
        }
        let never: Box<[(u16, u16)]> =
            ruled_out.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        check_solved_allowed(&self.solved, &never)?;
        self.never = never;
        Ok(())
    }

    /// Sets the states from which distances are counted: `states` as elements that carry the solved state to them,
    /// and all states to which the elements `by` lead from these, as often as they are applied. Without `states`,
    /// these are those to which they lead from the solved state.
    ///
    /// # Errors
    /// [`DefinitionError`] if an element does not fit the orbits, or a state is excluded by the limits on states.
    pub fn set_starts(&mut self, starts: Starts) -> Result<(), DefinitionError> {
        for (number, start) in starts.states.iter().chain(&starts.by).enumerate() {
            self.check_action(&format!("start state {}", number + 1), start)?;
        }
        if self.is_limited() && !starts.by.is_empty() {
            return Err(DefinitionError::LimitedStartsBy);
        }
        let label = |piece: usize| self.solved[piece].label;
        for (number, start) in starts.states.iter().enumerate() {
            let piece_on = start.cells().inverse();
            let is_met = |limit: crate::Guard| {
                let there = piece_on.apply(limit.cell.into());
                (label(there) == label(limit.piece.into())) == limit.holds
            };
            if !self.limits_of_states().all(is_met) {
                return Err(DefinitionError::StartLimited { number: number + 1 });
            }
        }
        self.starts = starts;
        Ok(())
    }

    /// Returns the states from which distances are counted.
    pub fn starts(&self) -> &Starts {
        &self.starts
    }

    /// Checks that distances are counted from the solved state alone, and that no move asks for pieces on any cells.
    ///
    /// # Errors
    /// [`DefinitionError::OtherStarts`] or [`DefinitionError::Asks`] if it is not so.
    pub fn require_not_listed(&self) -> Result<(), DefinitionError> {
        match (self.starts.are_solved_alone(), self.has_asks()) {
            (true, false) => Ok(()),
            (false, _) => Err(DefinitionError::OtherStarts(self.name.clone())),
            (true, true) => Err(DefinitionError::Asks(self.name.clone())),
        }
    }

    /// Sets the default metric.
    pub fn set_metric(&mut self, metric: Metric) {
        self.metric = metric;
    }

    /// Returns the finished definition, if it is valid.
    ///
    /// # Errors
    /// [`DefinitionError::NoMoves`] if there are no moves, or [`DefinitionError::AlwaysFree`] if there are
    /// both limits on states, or moves that ask for pieces on any cells, and free moves.
    pub fn validated(self) -> Result<Self, DefinitionError> {
        match (self.moves.is_empty(), !(self.is_limited() || self.has_asks()) || self.free.is_empty()) {
            (true, _) => Err(DefinitionError::NoMoves),
            (_, false) => Err(DefinitionError::AlwaysFree),
            _ => Ok(self),
        }
    }

    /// Returns the same puzzle with another name.
    pub(crate) fn renamed(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Returns the name of the puzzle.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the orbits.
    pub fn orbits(&self) -> &[Orbit] {
        &self.orbits
    }

    /// Returns exactly the listed generators that cost one move, in their order.
    pub fn moves(&self) -> &[Generator] {
        &self.moves
    }

    /// Returns the free moves: the generators that cost nothing.
    pub fn free(&self) -> &[Generator] {
        &self.free
    }

    /// Returns the spare (derived) moves, which are generators only if a user selects them by name:
    /// whole-puzzle rotations of a twsearch file, derived moves of a kpuzzle.
    pub fn spare(&self) -> &[Generator] {
        &self.spare
    }

    /// Returns the piece on each cell when the puzzle is solved.
    pub fn solved(&self) -> &[Piece] {
        &self.solved
    }

    /// Returns the cells to which states are [limited](Definition::set_always), in increasing order; empty
    /// if there is no such limit.
    pub fn always(&self) -> &[u16] {
        &self.always
    }

    /// Returns the pairs of a cell and a piece that is [never](Definition::set_never) allowed there, in
    /// increasing order.
    pub fn never(&self) -> &[(u16, u16)] {
        &self.never
    }

    /// Returns the pairs of [`Definition::never`], and for each of them the pairs with all pieces of the same
    /// label.
    pub(crate) fn ruled_out(&self) -> impl Iterator<Item = (u16, u16)> {
        let label = |piece: u16| self.solved[usize::from(piece)].label;
        let pieces = move |listed: u16| (0..self.cells() as u16).filter(move |&p| label(p) == label(listed));
        self.never.iter().flat_map(move |&(cell, listed)| pieces(listed).map(move |piece| (cell, piece)))
    }

    /// Returns the default metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Adds a remark: a line for users about how the puzzle was read.
    pub(crate) fn add_remark(&mut self, remark: &str) {
        self.remarks.0.push(remark.replace(is_unprintable, " "));
    }

    /// Removes remarks about labels of the file.
    pub(crate) fn forget_remarks_on_labels(&mut self) {
        self.remarks.0.retain(|remark| !is_on_labels(remark));
    }

    /// Returns the remarks for uses in which all pieces are distinguished, whatever labels the file has.
    pub fn remarks_without_labels(&self) -> Vec<&str> {
        self.remarks.0.iter().filter(|remark| !is_on_labels(remark)).map(String::as_str).collect()
    }

    /// Returns remarks for users about how the puzzle was read: one line each, without a full stop.
    pub fn remarks(&self) -> &[String] {
        &self.remarks.0
    }

    /// Returns the number of cells of all orbits.
    pub fn cells(&self) -> usize {
        self.solved.len()
    }

    /// Returns the number of orientations of the piece on each cell.
    pub fn orientation_counts(&self) -> Vec<u16> {
        self.orbit_of.iter().map(|&orbit| self.orbits[orbit].orientations).collect()
    }

    /// Returns the cells of an orbit, given by its index in [`Definition::orbits`].
    pub fn cells_of(&self, orbit: usize) -> Range<usize> {
        let first = self.orbits[..orbit].iter().map(|orbit| orbit.cells).sum();
        first..first + self.orbits[orbit].cells
    }

    /// Returns the index in [`Definition::orbits`] of the orbit that a cell belongs to.
    pub fn orbit_of(&self, cell: usize) -> usize {
        self.orbit_of[cell]
    }

    /// Returns a label for each point of [`OrientedPermutation::as_points`], such that a state of the puzzle
    /// is the list of these labels as the generators have permuted it.
    ///
    /// Point k of a cell shows side k - o, modulo `seen`, of the piece on that cell, where o is the
    /// orientation of the piece. The stabiliser of the labels is the subgroup of the elements with no visible
    /// effect.
    pub fn point_labels(&self) -> Vec<u16> {
        let mut numbers: HashMap<(u16, u16), u16> = HashMap::new();
        let mut labels = Vec::new();
        for (piece, order) in self.solved.iter().zip(self.orientation_counts()) {
            for k in 0..order {
                let side = (k % piece.seen + piece.seen - piece.orientation) % piece.seen;
                let next = numbers.len() as u16;
                labels.push(*numbers.entry((piece.label, side)).or_insert(next));
            }
        }
        labels
    }

    /// Returns whether some moves are possible only in some states.
    pub fn is_guarded(&self) -> bool {
        let is_guarded = |generator: &Generator| !generator.guard.is_empty() || !generator.asks.is_empty();
        self.is_limited() || self.moves.iter().any(is_guarded)
    }

    /// Returns whether states are limited, so that some states to which moves would lead are excluded.
    pub fn is_limited(&self) -> bool {
        !self.always.is_empty() || !self.never.is_empty()
    }

    /// Returns whether every piece has a label of its own and shows all its orientations, so that states
    /// correspond to the elements of the group.
    pub fn is_plain(&self) -> bool {
        let labels: HashSet<u16> = self.solved.iter().map(|piece| piece.label).collect();
        labels.len() == self.cells()
            && self.solved.iter().zip(self.orientation_counts()).all(|(piece, order)| piece.seen == order)
    }

    /// Returns the group on points that moves and free moves generate when guards and limits are ignored.
    pub fn group(&self) -> StabiliserChain {
        let points = self.orientation_counts().iter().map(|&order| usize::from(order)).sum();
        let generators: Vec<_> = self.moves.iter().chain(&self.free).map(|g| g.action.as_points()).collect();
        StabiliserChain::new(points, &generators)
    }

    /// Returns the number of states that moves and free moves reach from the solved state, where states that
    /// differ by free moves count as one: the order of the group divided by the order of the group of the
    /// free moves.
    ///
    /// `None` if pieces are interchangeable or hide orientations, if moves have guards or states are limited,
    /// or if an order exceeds 128 bits.
    pub fn states(&self) -> Option<u128> {
        let free: Vec<_> = self.free.iter().map(|generator| generator.action.as_points()).collect();
        let points = free.first().map_or(0, |action| action.degree());
        let free = StabiliserChain::new(points, &free).order()?;
        (self.is_plain() && !self.is_guarded()).then(|| self.group().order())?.map(|order| order / free)
    }

    /// Returns a generator without a guard, after checking that its name is free and that it fits the orbits.
    fn checked(&self, name: String, action: OrientedPermutation) -> Result<Generator, DefinitionError> {
        check_name(&name)?;
        if name.starts_with(['[', ']', '*', '\'', '^', ':']) {
            return Err(DefinitionError::BeginsWithSign(name));
        }
        let listed = || self.moves.iter().chain(&self.free).chain(&self.spare);
        if listed().any(|other| other.name == name) {
            return Err(DefinitionError::NameTwice(name));
        }
        if listed().count() >= Self::MAX_MOVES {
            return Err(DefinitionError::TooManyMoves);
        }
        self.check_action(&name, &action)?;
        Ok(Generator { name, action, guard: Box::default(), asks: Box::default() })
    }

    /// Checks that an action fits the orbits. Errors call it `name`.
    fn check_action(&self, name: &str, action: &OrientedPermutation) -> Result<(), DefinitionError> {
        let name = || name.to_owned();
        if action.degree() != self.cells() {
            return Err(DefinitionError::OtherCells {
                name: name(),
                found: action.degree(),
                cells: self.cells(),
            });
        }
        for (cell, (&found, order)) in
            action.orientation_counts().iter().zip(self.orientation_counts()).enumerate()
        {
            if found != order {
                return Err(DefinitionError::OtherOrders { name: name(), cell: cell + 1, found, order });
            }
        }
        for (from, &to) in action.cells().images().iter().enumerate() {
            let to = usize::from(to);
            if self.orbit_of[from] != self.orbit_of[to] {
                let orbit_name = |cell: usize| self.orbits[self.orbit_of[cell]].name.clone();
                return Err(DefinitionError::BetweenOrbits {
                    name: name(),
                    from: from + 1,
                    from_orbit: orbit_name(from),
                    to: to + 1,
                    to_orbit: orbit_name(to),
                });
            }
        }
        Ok(())
    }
}

/// Checks that no cell holds, when solved, a piece that is never allowed there.
fn check_solved_allowed(solved: &[Piece], never: &[(u16, u16)]) -> Result<(), DefinitionError> {
    let label = |cell: u16| solved[usize::from(cell)].label;
    match never.iter().find(|&&(cell, piece)| label(cell) == label(piece)) {
        Some(&(cell, _)) => Err(DefinitionError::NeverSolved { cell: usize::from(cell) + 1 }),
        None => Ok(()),
    }
}

/// Returns whether a remark is about labels of the file: it names the option that ignores these labels.
fn is_on_labels(remark: &str) -> bool {
    remark.contains("--labelled")
}

/// Returns whether a character cannot be seen: it is a control character, or one of the two Unicode
/// noncharacters that XML does not allow, or it has no width, or it changes the direction of the text around it,
/// so that a name would look like another one.
fn is_unprintable(c: char) -> bool {
    let is_invisible = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') || is_invisible
}

/// Checks a name. The command line separates names by blanks and commas, and parentheses are reserved for the
/// names of powers.
fn check_name(name: &str) -> Result<(), DefinitionError> {
    let bad = |c: char| c.is_whitespace() || is_unprintable(c) || ",\"()".contains(c);
    if name.is_empty() || name.contains(bad) { Err(DefinitionError::BadName(name.into())) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
