//! Variants of definitions: with all pieces distinguished, without some orbits, and without some
//! orientations.

use super::{Ask, Definition, DefinitionError, Generator, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};
use std::collections::{HashMap, HashSet};

impl Definition {
    /// Returns the same puzzle with all pieces and all orientations distinguished.
    ///
    /// # Errors
    /// [`DefinitionError::Guarded`] if there are guards or limits: they refer to labels, and would allow
    /// other states if the labels changed.
    pub fn with_distinct_pieces(&self) -> Result<Self, DefinitionError> {
        if self.is_guarded() {
            return Err(DefinitionError::Guarded(self.name().into()));
        }
        let mut apart = self.clone();
        let pieces = (0_u16..).zip(self.orientation_counts()).map(|(label, seen)| Piece {
            label,
            orientation: 0,
            seen,
        });
        apart.set_solved(&pieces.collect::<Vec<_>>())?;
        apart.forget_remarks_on_labels();
        Ok(apart)
    }

    /// Returns the same puzzle with the orientations of some pieces ignored, given by cell. Pieces with one
    /// label, of which only some are among them, get different labels.
    ///
    /// # Errors
    /// [`DefinitionError::Guarded`] if such labels have a meaning for guards or limits.
    pub fn without_orientations(&self, hidden: &[bool]) -> Result<Self, DefinitionError> {
        let first = |label: u16, is_hidden: bool| {
            let is_first = |&cell: &usize| self.solved()[cell].label == label && hidden[cell] == is_hidden;
            (0..self.cells()).find(is_first).expect("a piece has this label") as u16
        };
        let piece = |cell: usize| match (self.solved()[cell], hidden[cell]) {
            (piece, true) => Piece { label: first(piece.label, true), orientation: 0, seen: 1 },
            (piece, false) => Piece { label: first(piece.label, false), ..piece },
        };
        let pieces: Vec<Piece> = (0..self.cells()).map(piece).collect();
        let number = |pieces: &[Piece]| pieces.iter().map(|piece| piece.label).collect::<HashSet<_>>().len();
        if self.is_guarded() && number(&pieces) > number(self.solved()) {
            return Err(DefinitionError::Guarded(self.name().into()));
        }
        let mut hiding = self.clone();
        hiding.set_solved(&pieces)?;
        Ok(hiding)
    }

    /// Checks that other labels of the pieces, given by cell, do not change the meaning of guards and limits:
    /// pieces with a label to which these refer must keep a common label, and if guards name pieces, pieces with different
    /// labels must keep different ones.
    ///
    /// # Errors
    /// [`DefinitionError::Guarded`] if such pieces get different labels.
    pub fn check_labels(&self, labels: &[u16]) -> Result<(), DefinitionError> {
        let label = |cell: u16| self.solved()[usize::from(cell)].label;
        let guards = self.moves().iter().flat_map(|generator| generator.guard.iter());
        let is_kept = |&asked: &u16| {
            let mut alike = (0..self.cells() as u16).filter(|&cell| label(cell) == label(asked));
            alike.all(|cell| labels[usize::from(cell)] == labels[usize::from(asked)])
        };
        let all = 0..self.cells() as u16;
        let is_told_apart = |one: u16| {
            let others = 0..self.cells() as u16;
            let alike = |other: u16| labels[usize::from(one)] == labels[usize::from(other)];
            others.into_iter().all(|other| !alike(other) || label(one) == label(other))
        };
        let asks_keep = !self.has_asks() || all.into_iter().all(|cell| is_kept(&cell) && is_told_apart(cell));
        match asks_keep && guards.chain(self.always()).all(is_kept) {
            true => Ok(()),
            false => Err(DefinitionError::Guarded(self.name().into())),
        }
    }

    /// Returns two cells, numbered from 1, of one orbit whose pieces have the same label of these, given by
    /// cell, but are still distinguished because they show different numbers of orientations.
    pub fn kept_apart(&self, labels: &[u16]) -> Option<[usize; 2]> {
        let mut first = HashMap::new();
        let differs = |cell: usize| {
            let &mut other = first.entry((labels[cell], self.orbit_of(cell))).or_insert(cell);
            (self.solved()[other].seen != self.solved()[cell].seen).then_some([other + 1, cell + 1])
        };
        (0..self.cells()).find_map(differs)
    }

    /// Returns the same puzzle without the orbits `omitted`, and with the orientations of the orbits
    /// `unturned` ignored. The new name contains both lists.
    ///
    /// # Errors
    /// [`DefinitionError`] if there is no such orbit, a guard or a limit refers to pieces of an omitted
    /// orbit, or no orbits are left.
    pub fn reduced(&self, omitted: &[String], unturned: &[String]) -> Result<Self, DefinitionError> {
        let orbit = |name: &String| {
            let found = self.orbits().iter().position(|orbit| orbit.name == *name);
            found.ok_or_else(|| DefinitionError::NoSuchOrbit {
                name: name.clone(),
                known: self.orbits().iter().map(|orbit| orbit.name.clone()).collect::<Vec<_>>().join(", "),
            })
        };
        let places = |names: &[String]| names.iter().map(orbit).collect::<Result<Vec<_>, _>>();
        let (omitted, unturned) = (places(omitted)?, places(unturned)?);
        let kept = |cell: &usize| !omitted.contains(&self.orbit_of(*cell));
        let cells: Vec<usize> = (0..self.cells()).filter(kept).collect();
        if cells.is_empty() {
            return Err(DefinitionError::NothingLeft(self.name().into()));
        }
        let mut numbers = vec![None; self.cells()];
        cells.iter().zip(0_u16..).for_each(|(&cell, number)| numbers[cell] = Some(number));
        let mut name = self.name().to_owned();
        for (word, orbits) in [("without", &omitted), ("unturned", &unturned)] {
            orbits.iter().for_each(|&orbit| name.push_str(&format!("-{word}-{}", self.orbits()[orbit].name)));
        }
        let orbits = self.orbits().iter().enumerate().filter(|(orbit, _)| !omitted.contains(orbit));
        let mut reduced = Self::new(name, orbits.map(|(_, orbit)| orbit.clone()).collect())?;
        let piece = |&cell: &usize| match (self.solved()[cell], unturned.contains(&self.orbit_of(cell))) {
            (piece, true) => Piece { orientation: 0, seen: 1, ..piece },
            (piece, false) => piece,
        };
        reduced.set_solved(&cells.iter().map(piece).collect::<Vec<_>>())?;
        reduced.set_metric(self.metric());
        let action = |action: &OrientedPermutation| {
            let image = |i: usize| numbers[action.cells().apply(cells[i])].expect("whole orbits are kept");
            let turns: Vec<u16> = cells.iter().map(|&cell| action.turns()[cell]).collect();
            let permutation = Permutation::from_fn(cells.len(), |i| image(i).into());
            OrientedPermutation::new(permutation, turns, reduced.orientation_counts())
                .expect("orientation_counts are those of the orbits")
        };
        let numbered = |asked: &[u16]| -> Result<Vec<u16>, DefinitionError> {
            let number = |&cell: &u16| numbers[usize::from(cell)];
            let all: Option<Vec<u16>> = asked.iter().map(number).collect();
            all.ok_or_else(|| DefinitionError::AskedFor(self.name().into()))
        };
        let moves: Vec<_> = self.moves().iter().map(|g| (g, action(&g.action))).collect();
        let free: Vec<_> = self.free().iter().map(|g| (g, action(&g.action))).collect();
        let spare: Vec<_> = self.spare().iter().map(|g| (g, action(&g.action))).collect();
        let starts = self.starts().map(action);
        for (Generator { name, guard, asks, .. }, action) in moves {
            let asked = |Ask { cell, pieces }: &Ask| {
                Ok(Ask { cell: numbered(&[*cell])?[0], pieces: numbered(pieces)?.into() })
            };
            let asks = asks.iter().map(asked).collect::<Result<_, DefinitionError>>()?;
            reduced.add_asking_move(name.clone(), action, &numbered(guard)?, asks)?;
        }
        for (Generator { name, .. }, action) in free {
            reduced.add_free(name.clone(), action)?;
        }
        for (Generator { name, .. }, action) in spare {
            reduced.add_spare(name.clone(), action)?;
        }
        reduced.set_always(&numbered(self.always())?)?;
        let (cells, pieces): (Vec<u16>, Vec<u16>) = self.never().iter().copied().unzip();
        let never: Vec<_> = numbered(&cells)?.into_iter().zip(numbered(&pieces)?).collect();
        reduced.set_never(&never)?;
        reduced.set_starts(starts)?;
        for remark in self.remarks() {
            reduced.add_remark(remark);
        }
        reduced.validated()
    }

    /// Returns whether the inverse of each move of a metric is a move, up to free moves before and after,
    /// when orientations that no piece shows are ignored.
    ///
    /// # Errors
    /// [`DefinitionError`] if the metric has too many moves, or there are too many free moves.
    pub fn is_closed_under_inverses(&self, metric: crate::Metric) -> Result<bool, DefinitionError> {
        if self.has_asks() {
            return Ok(self.moves_alone(metric)?.is_closed_under_inverses());
        }
        let orientation_counts = self.visible_orientation_counts();
        let seen = |action: &OrientedPermutation| self.seen_action(action, &orientation_counts);
        let moves = self.generators(metric)?;
        let free: HashSet<OrientedPermutation> = self.free_group()?.elements().iter().map(seen).collect();
        // A free move before a move that has the same guard as the product fixes the cells of the guard.
        let leaves = |free: &OrientedPermutation, guard: &[u16]| {
            guard.iter().all(|&c| free.cells().apply(c.into()) == usize::from(c))
        };
        let mut all = HashSet::new();
        for Generator { action, guard, .. } in &moves {
            let action = seen(action);
            let products = free.iter().filter(|free| leaves(free, guard)).map(|free| free.then(&action));
            all.extend(products.map(|product| (product, guard.clone())));
        }
        Ok(moves.iter().all(|g| {
            let inverse = seen(&g.action).inverse();
            free.contains(&inverse)
                || free.iter().any(|free| all.contains(&(inverse.then(free), g.guard.clone())))
        }))
    }
}
