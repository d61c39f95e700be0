//! Symmetries of a space: their action on words, and their composition.

use crate::SymbolTable;
use crate::cells::Cell;
use crate::space::{Space, WordGuard};
use fathom_algebra::{OrientedPermutation, Relabelling};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// A relabelling of cells and pieces, and with them of labels, that maps moves to moves, so that
/// d(a g a⁻¹) = d(g).
///
/// If `a` renames orientation i on cell c, (c, i), to (a(c), f i + t(c)), then a g a⁻¹ has on cell a(c) what
/// g has on c, with the symbol (l, o) renamed to (a(l), f o - t(l) + t(c)), where t(l) is the turn of the
/// cell to which pieces of label l belong. Turning all symbols of an orbit forward and its cells back has no
/// effect. The turn of each orbit's first cell is therefore set to 0, so that different symmetries have
/// different actions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Symmetry {
    /// The image of each cell, and of the piece that belongs there.
    pub cells: Box<[Cell]>,
    /// How much a piece turns when it leaves each cell; empty if nothing turns.
    turns: Box<[u8]>,
    /// The factor of the orientation of the contents that leave each cell.
    factors: Box<[u8]>,
    /// The image of each label.
    pub labels: Box<[u8]>,
    /// The image of each symbol, before it is turned.
    symbols: Box<[u8]>,
}

impl Symmetry {
    /// Returns the symmetry with its action on labels and symbols; `None` if the relabelling has no such
    /// action.
    pub(crate) fn new(relabelling: &Relabelling, of_pieces: &[u8], symbols: &SymbolTable) -> Option<Self> {
        let cells: Box<[Cell]> = relabelling.cells().images().into();
        let marks = symbols.count() / usize::from(symbols.width());
        let labels = induced(of_pieces, &cells, marks)?;
        let mut renamed: Vec<Option<u8>> = vec![None; symbols.count()];
        for (piece, &label) in of_pieces.iter().enumerate() {
            let (image, seen) = (labels[usize::from(label)], u16::from(symbols.seen(label)));
            if symbols.seen(image) != symbols.seen(label) {
                return None;
            }
            let (factor, turn) = (relabelling.factors()[piece], relabelling.turns()[piece]);
            for orientation in 0..seen {
                let to = (factor * orientation + seen - turn % seen) % seen;
                let to = symbols.letter(image, to as u8);
                let known = renamed[usize::from(symbols.letter(label, orientation as u8))].get_or_insert(to);
                if *known != to {
                    return None;
                }
            }
        }
        // Unused symbols go with their label.
        let width = symbols.width();
        let rest =
            |letter: u8| labels[usize::from(symbols.mark(letter))] * width + symbols.orientation(letter);
        let turns = relabelling.turns().iter().map(|&turn| turn as u8);
        Some(Self {
            cells,
            turns: if width == 1 { Box::default() } else { turns.collect() },
            factors: relabelling.factors().iter().map(|&factor| factor as u8).collect(),
            symbols: renamed.iter().zip(0..).map(|(to, letter)| to.unwrap_or_else(|| rest(letter))).collect(),
            labels,
        })
    }

    /// Returns the action of a free move on words, which moves and turns symbols and renames none.
    pub(crate) fn free(action: &OrientedPermutation, space: &Space) -> Self {
        let same = |n: usize| (0..n).map(|i| i as u8).collect();
        let turns = action.turns().iter().map(|&turn| turn as u8);
        let mut free = Self {
            cells: action.cells().images().into(),
            turns: if space.symbols().width() == 1 { Box::default() } else { turns.collect() },
            factors: vec![1; space.cells()].into(),
            labels: same(space.labels().sizes().len()),
            symbols: same(space.symbols().count()),
        };
        space.normalise(&mut free);
        free
    }

    /// Returns the image of each symbol, before it is turned.
    pub fn symbols(&self) -> &[u8] {
        &self.symbols
    }

    /// Returns the turn of the contents that leave a cell, which follows the renaming.
    #[inline]
    pub fn turn(&self, cell: usize) -> u8 {
        self.turns.get(cell).copied().unwrap_or(0)
    }

    /// Writes the image of a word: the symbol on cell c is renamed by `renamed`, turned, and goes to
    /// `cells[c]`. If `renamed` is the action on symbols of labels, the image is that of a state; if it is
    /// the action on symbols of colours, the image is that of a pattern.
    #[inline]
    pub fn carry(&self, symbols: &SymbolTable, renamed: &[u8], word: &[u8], image: &mut [u8]) {
        symbols.carry(&self.cells, &self.turns, renamed, word, image);
    }
}

/// The moves of a space with their guards.
struct GuardedMoves<'s> {
    space: &'s Space,
    free: HashSet<&'s OrientedPermutation>,
    /// The actions of the moves that have the same guard, by guard, in increasing order.
    by_guard: HashMap<Vec<WordGuard>, Vec<&'s OrientedPermutation>>,
}

impl<'s> GuardedMoves<'s> {
    fn new(space: &'s Space) -> Self {
        let mut by_guard: HashMap<_, Vec<_>> = HashMap::new();
        for (step, m) in space.moves().iter().zip(&space.puzzle().moves) {
            by_guard.entry(sorted(step.guard().iter().copied())).or_default().push(&m.action);
        }
        Self { space, free: space.puzzle().free.iter().collect(), by_guard }
    }

    /// Returns whether a relabelling, which renames labels by `labels`, maps the moves to moves whose guards
    /// have the renamed labels, up to free moves that follow.
    fn are_kept(&self, relabelling: &Relabelling, labels: &[u8]) -> bool {
        let renamed = |asked: &WordGuard| WordGuard {
            cell: relabelling.cells().apply(asked.cell.into()) as Cell,
            label: labels[usize::from(asked.label)],
            ..*asked
        };
        self.space.moves().iter().zip(&self.space.puzzle().moves).all(|(step, m)| {
            let back = relabelling.rename(&m.action).inverse();
            let asks_alike = self.by_guard.get(&sorted(step.guard().iter().map(renamed)));
            asks_alike.is_some_and(|moves| moves.iter().any(|&to| self.free.contains(&back.then(to))))
        })
    }
}

fn sorted(guard: impl Iterator<Item = WordGuard>) -> Vec<WordGuard> {
    let mut guard: Vec<WordGuard> = guard.collect();
    guard.sort_unstable();
    guard
}

impl Space {
    /// Finds the symmetries: those of the puzzle that map labels to labels, each followed by each free move.
    /// The identity is the first. Of symmetries with the same action on states, one is enough. Returns them,
    /// and the numbers of the symmetries of the puzzle of which they are products with free moves.
    pub(crate) fn all_symmetries(&self) -> (Vec<Symmetry>, Vec<usize>) {
        let mut known = HashSet::new();
        let mut found = Vec::new();
        let mut used = Vec::new();
        let guarded = self.guarded();
        for (number, relabelling) in self.puzzle().symmetries.iter().enumerate() {
            let Some(symmetry) = self.symmetry_of(relabelling, guarded.as_ref()) else {
                continue;
            };
            // With a symmetry, its products with all free moves are known.
            if known.contains(&symmetry) {
                continue;
            }
            known.extend(self.free().iter().map(|free| self.compose(&symmetry, free)));
            found.push(symmetry);
            used.push(number);
        }
        let renamings: Vec<&Relabelling> =
            used.iter().map(|&number| &self.puzzle().symmetries[number]).collect();
        if let Some(numbers) = self.faithful(&found, &renamings) {
            used = numbers.iter().map(|&number| used[number]).collect();
            found = numbers.into_iter().map(|number| found[number].clone()).collect();
        }
        (self.with_free(&found), used)
    }

    /// Returns the symmetries of the puzzle, each followed by each free move, as a plan records them. All
    /// must be distinct, with the identity first.
    ///
    /// # Errors
    /// The index of a recorded symmetry that is not one.
    pub(crate) fn recorded_symmetries(&self) -> Result<Vec<Symmetry>, usize> {
        let guarded = self.guarded();
        let recorded = &self.puzzle().symmetries;
        if recorded.first().is_none_or(|first| !first.is_identity()) {
            return Err(0);
        }
        let mut known = HashSet::new();
        let mut found = Vec::new();
        for (number, relabelling) in recorded.iter().enumerate() {
            let symmetry = self.symmetry_of(relabelling, guarded.as_ref()).ok_or(number)?;
            // Moves with guards were compared with the labels. A turn of the whole that keeps guards may
            // exchange pieces that look alike, whose moves then differ.
            let is_one = guarded.is_some() || self.keeps_guards() || self.puzzle().is_symmetry(relabelling);
            if !is_one || !known.insert(symmetry.clone()) {
                return Err(number);
            }
            found.push(symmetry);
        }
        Ok(self.with_free(&found))
    }

    /// Returns the action of a relabelling on words; `None` if it does not map labels to labels, or guards to
    /// guards.
    fn symmetry_of(&self, relabelling: &Relabelling, guarded: Option<&GuardedMoves<'_>>) -> Option<Symmetry> {
        let mut symmetry = Symmetry::new(relabelling, self.labels().of_pieces(), self.symbols())?;
        if guarded.is_some_and(|guarded| !guarded.are_kept(relabelling, &symmetry.labels)) {
            return None;
        }
        self.normalise(&mut symmetry);
        Some(symmetry)
    }

    fn with_free(&self, found: &[Symmetry]) -> Vec<Symmetry> {
        let all = found
            .iter()
            .flat_map(|symmetry| self.free().iter().map(move |free| self.compose(symmetry, free)));
        all.collect()
    }

    /// Returns the moves, if a relabelling by free moves may change their guards. Where a turn of
    /// the whole is a free move because it maps guards to guards, it cannot.
    fn guarded(&self) -> Option<GuardedMoves<'_>> {
        let has_guards = self.moves().iter().any(|step| !step.guard().is_empty());
        (has_guards && self.free().len() > 1 && !self.keeps_guards()).then(|| GuardedMoves::new(self))
    }

    /// Returns the indices of symmetries that form a group and of which exactly one renames the moves and the
    /// free moves as each of `all` does; `None` if that is all of them, or if no group is found. `renamings`
    /// are those of `all`. Symmetries that rename by free moves are in the group, because the inversion of
    /// states maps to them the free moves that follow.
    ///
    /// Moves reach every state from the solved one, which symmetries fix. So symmetries that rename the moves
    /// in the same way have the same action on states. There are such symmetries if pieces always move
    /// together, as the facelets of a corner do in a puzzle that is given by facelets.
    fn faithful(&self, all: &[Symmetry], renamings: &[&Relabelling]) -> Option<Vec<usize>> {
        let actions = || self.puzzle().moves.iter().map(|m| &m.action).chain(&self.puzzle().free);
        let keeps_actions =
            |relabelling: &&Relabelling| actions().all(|action| relabelling.rename(action) == *action);
        if !renamings.iter().skip(1).any(keeps_actions) {
            return None;
        }
        let mut names = HashMap::new();
        let mut name = |action: OrientedPermutation| {
            let next = names.len();
            *names.entry(action).or_insert(next)
        };
        let renamed: Vec<Vec<usize>> = renamings
            .iter()
            .map(|relabelling| actions().map(|action| name(relabelling.rename(action))).collect())
            .collect();
        let distinct = renamed.iter().collect::<HashSet<_>>().len();
        let numbers: HashMap<&Symmetry, usize> = all.iter().zip(0..).collect();
        let product = |a: usize, b: usize| numbers.get(&self.compose(&all[a], &all[b])).copied();
        let by_free = self.puzzle().free[1..].iter().filter_map(|free| {
            let relabelling = Relabelling::from_action(free);
            let mut symmetry = Symmetry::new(&relabelling, self.labels().of_pieces(), self.symbols())?;
            self.normalise(&mut symmetry);
            numbers.get(&symmetry).copied()
        });
        let mut generators: Vec<usize> = by_free.collect();
        let mut group = closure(&generators, product, |number| &renamed[number])?;
        // Symmetries that move few cells come first: more colourings respect them.
        let moved =
            |&number: &usize| all[number].cells.iter().zip(0..).filter(|&(&to, cell)| to != cell).count();
        let mut candidates: Vec<usize> = (0..all.len()).collect();
        candidates.sort_by_key(moved);
        for candidate in candidates {
            if group.iter().any(|&member| renamed[member] == renamed[candidate]) {
                continue;
            }
            let more = [&generators[..], &[candidate]].concat();
            if let Some(larger) = closure(&more, product, |number| &renamed[number]) {
                (generators, group) = (more, larger);
            }
        }
        group.sort_unstable();
        (group.len() == distinct).then_some(group)
    }

    /// Returns the image of a state under a symmetry.
    pub fn image(&self, symmetry: &Symmetry, word: &[u8]) -> Vec<u8> {
        let mut image = vec![0; word.len()];
        self.write_image(symmetry, word, &mut image);
        image
    }

    /// Writes the image of a state under a symmetry.
    pub(crate) fn write_image(&self, symmetry: &Symmetry, word: &[u8], image: &mut [u8]) {
        symmetry.carry(self.symbols(), &symmetry.symbols, word, image);
    }

    /// Returns the symmetry that applies `first`, then `second`.
    pub(crate) fn compose(&self, first: &Symmetry, second: &Symmetry) -> Symmetry {
        let cells: Box<[Cell]> = first.cells.iter().map(|&cell| second.cells[usize::from(cell)]).collect();
        let at = |cell: usize| usize::from(first.cells[cell]);
        let factor = |cell: usize| match self.period(cell) {
            1 => 1,
            period => (u16::from(second.factors[at(cell)]) * u16::from(first.factors[cell]) % period) as u8,
        };
        let turn = |cell: usize| {
            let turned = u16::from(second.factors[at(cell)]) * u16::from(first.turn(cell));
            ((turned + u16::from(second.turn(at(cell)))) % self.period(cell)) as u8
        };
        let mut composed = Symmetry {
            turns: match self.symbols().width() {
                1 => Box::default(),
                _ => (0..cells.len()).map(turn).collect(),
            },
            factors: (0..cells.len()).map(factor).collect(),
            labels: first.labels.iter().map(|&label| second.labels[usize::from(label)]).collect(),
            symbols: first.symbols.iter().map(|&letter| second.symbols[usize::from(letter)]).collect(),
            cells,
        };
        self.normalise(&mut composed);
        composed
    }

    /// Returns the inverse of a symmetry.
    pub(crate) fn inverse(&self, symmetry: &Symmetry) -> Symmetry {
        let (mut turns, mut factors) = (vec![0; self.cells()], vec![1; self.cells()]);
        for (cell, &to) in symmetry.cells.iter().enumerate() {
            let (period, factor) = (self.period(cell), u16::from(symmetry.factors[cell]));
            let unit = (1..period).find(|unit| unit * factor % period == 1).unwrap_or(1);
            factors[usize::from(to)] = unit as u8;
            turns[usize::from(to)] = ((period - u16::from(symmetry.turn(cell))) * unit % period) as u8;
        }
        let mut inverse = Symmetry {
            cells: inverse(&symmetry.cells, |cell| cell as Cell),
            turns: if symmetry.turns.is_empty() { Box::default() } else { turns.into() },
            factors: factors.into(),
            labels: inverse(&symmetry.labels, |label| label as u8),
            symbols: inverse(&symmetry.symbols, |letter| letter as u8),
        };
        self.normalise(&mut inverse);
        inverse
    }

    /// Turns all symbols of each orbit so that nothing leaves the orbit's first cell turned, and removes the
    /// invisible part of factors and turns.
    fn normalise(&self, symmetry: &mut Symmetry) {
        for (cell, factor) in symmetry.factors.iter_mut().enumerate() {
            *factor = match self.period(cell) {
                1 => 1,
                period => (u16::from(*factor) % period) as u8,
            };
        }
        if symmetry.turns.is_empty() {
            return;
        }
        for orbit in self.orbits() {
            let first = usize::from(orbit.cells[0]);
            let by = u16::from(symmetry.turns[first]) % self.period(first);
            for &cell in &orbit.cells {
                let (cell, period) = (usize::from(cell), self.period(cell.into()));
                let turn = u16::from(symmetry.turns[cell]) % period;
                symmetry.turns[cell] = ((turn + period - by) % period) as u8;
            }
            if by == 0 {
                continue;
            }
            let by = by as u8;
            for letter in 0..self.symbols().count() {
                if orbit.labels.contains(&self.symbols().mark(letter as u8)) {
                    symmetry.symbols[letter] = self.symbols().turned(symmetry.symbols[letter], by);
                }
            }
        }
    }
}

/// Returns the inverse of a permutation of numbers. `number` converts a position to such a number.
fn inverse<N: Copy + Default + Into<usize>>(map: &[N], number: impl Fn(usize) -> N) -> Box<[N]> {
    let mut inverse = vec![N::default(); map.len()];
    for (from, &to) in map.iter().enumerate() {
        inverse[to.into()] = number(from);
    }
    inverse.into()
}

/// Returns the group that `generators` generate, as numbers of which 0 is the identity. Returns `None` if two
/// members have the same key, or if a product is not known.
fn closure<'k, K: Eq + Hash + ?Sized + 'k>(
    generators: &[usize],
    product: impl Fn(usize, usize) -> Option<usize>,
    key: impl Fn(usize) -> &'k K,
) -> Option<Vec<usize>> {
    let mut members = HashMap::from([(key(0), 0)]);
    let mut group = vec![0];
    let mut next = 0;
    while let Some(&member) = group.get(next) {
        for &generator in generators {
            let image = product(member, generator)?;
            match members.entry(key(image)) {
                Entry::Vacant(entry) => {
                    entry.insert(image);
                    group.push(image);
                }
                Entry::Occupied(entry) if *entry.get() == image => {}
                Entry::Occupied(_) => return None,
            }
        }
        next += 1;
    }
    Some(group)
}

/// Returns the map of classes that a map of pieces induces: `class[p]` goes to `class[pieces[p]]`. Returns
/// `None` if this map is not well defined or not one to one.
pub(crate) fn induced<P: Copy + Into<usize>>(
    class: &[u8],
    pieces: &[P],
    classes: usize,
) -> Option<Box<[u8]>> {
    Some(induced_images(class, pieces)?[..classes].into())
}

/// Returns the same map, with arbitrary values for classes that have no pieces.
pub(crate) fn induced_images<P: Copy + Into<usize>>(class: &[u8], pieces: &[P]) -> Option<[u8; 256]> {
    const UNSET: u8 = u8::MAX;
    let mut images = [UNSET; 256];
    let mut preimages = [UNSET; 256];
    for (piece, &to) in pieces.iter().enumerate() {
        let (from, to) = (class[piece], class[to.into()]);
        let (image, preimage) = (&mut images[usize::from(from)], &mut preimages[usize::from(to)]);
        if (*image != UNSET && *image != to) || (*preimage != UNSET && *preimage != from) {
            return None;
        }
        (*image, *preimage) = (to, from);
    }
    Some(images)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::placements::Placements;
    use crate::space::reached_words;
    use fathom_puzzle::definition::{Orbit, Piece};
    use fathom_puzzle::{Definition, Metric};
    use std::collections::BTreeSet;

    /// The pieces that reach cells 2 and 3 show two of four orientations, and the piece on cell 1 shows all.
    /// Turning cell 3 by two changes nothing visible.
    #[test]
    fn symmetries_ignore_invisible_differences() {
        let orbit = Orbit { name: "A".into(), cells: 3, orientations: 4 };
        let mut definition = Definition::new("t", vec![orbit]).unwrap();
        let action = OrientedPermutation::parse("(2,3+1)", &definition.orientation_counts()).unwrap();
        definition.add_move("x", action).unwrap();
        let seen = [4, 2, 2].into_iter().zip(0..);
        let solved: Vec<Piece> = seen.map(|(seen, label)| Piece { label, orientation: 0, seen }).collect();
        definition.set_solved(&solved).unwrap();
        let puzzle = definition.puzzle(Metric::Multi).unwrap();
        let space = Space::new(puzzle, Metric::Multi, Labels::distinct(3)).unwrap();
        assert_eq!(space.states().to_string(), "4");
        let placements = Placements::new(&space);
        let actions = space.symmetries().iter().map(|symmetry| placements.of_symmetry(&space, symmetry));
        assert_eq!(actions.collect::<HashSet<_>>().len(), space.symmetries().len());
        for symmetry in space.symmetries() {
            let back = space.inverse(symmetry);
            assert_eq!(space.compose(symmetry, &back), space.symmetries()[0]);
        }
    }

    /// A move exchanges two pairs of cells, and another one turns four cells; one of these four and a fifth
    /// are exchanged by a free move. Eight automorphisms of the pairs rename no move, so they change no
    /// state: no two of the symmetries have the same action on states, and those that rename by the free move
    /// are among them.
    #[test]
    fn symmetries_with_free_moves_are_distinct() {
        let orbit = Orbit { name: "A".into(), cells: 9, orientations: 1 };
        let mut definition = Definition::new("t", vec![orbit]).unwrap();
        let orientation_counts = definition.orientation_counts().to_vec();
        let action = |cycles| OrientedPermutation::parse(cycles, &orientation_counts).unwrap();
        definition.add_move("x", action("(1,2)(3,4)")).unwrap();
        definition.add_move("y", action("(5,6,7,8)")).unwrap();
        definition.add_free("f", action("(8,9)")).unwrap();
        let puzzle = definition.puzzle(Metric::Multi).unwrap();
        let found = puzzle.symmetries.len();
        let by_free = Relabelling::from_action(&action("(8,9)"));
        let (of_pieces, free_order) = (Labels::distinct(9), puzzle.free.len());
        let space = Space::new(puzzle, Metric::Multi, of_pieces).unwrap();
        // 5! arrangements of cells 5 to 9, up to the free move, times two of the pairs.
        assert_eq!((space.states().to_string().as_str(), free_order), ("120", 2));
        let words = reached_words(&space, 1000).unwrap();
        let state = |word: &[u8]| -> Vec<u8> {
            let images = space.free().iter().map(|free| space.image(free, word));
            images.min().expect("the identity is a free move")
        };
        let states: Vec<Vec<u8>> =
            words.iter().map(|word| state(word)).collect::<BTreeSet<_>>().into_iter().collect();
        assert_eq!(states.len(), 120);
        let on_states = |symmetry: &Symmetry| -> Vec<Vec<u8>> {
            states.iter().map(|word| state(&space.image(symmetry, word))).collect()
        };
        let actions: HashSet<_> = space.symmetries().iter().map(on_states).collect();
        assert_eq!(actions.len() * free_order, space.symmetries().len());
        assert!(space.symmetries().len() < found * free_order, "{found} automorphisms");
        let mut by_free = Symmetry::new(&by_free, space.labels().of_pieces(), space.symbols()).unwrap();
        space.normalise(&mut by_free);
        assert!(space.symmetries().contains(&by_free));
    }
}
