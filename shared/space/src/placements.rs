//! Words as sets of placements: a placement is a letter on a cell. Symmetries, and the inversion of states,
//! permute placements.

use crate::hidden::Hidden;
use crate::{Space, Symmetry};
use fathom_algebra::Permutation;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// A permutation of placements, by their numbers.
pub(crate) type Action = Box<[u16]>;

/// All placements of a space, numbered.
#[derive(Debug)]
pub(crate) struct Placements {
    /// Cell and letter.
    of: Vec<(u8, u8)>,
    /// By cell and letter; `NONE` where the letter stands for nothing or its label never comes to the cell.
    numbers: Vec<u16>,
    letters: usize,
    prefixes: Option<Prefixes>,
}

/// Tells of the beginnings of words whether moves reach a word that begins so.
///
/// A word of pieces that all differ is an element of the group, and what stands on a cell is what its inverse
/// makes of a point of that cell. A chain of stabilisers along these points tells which images are possible
/// for each when those before are given.
#[derive(Debug)]
struct Prefixes {
    /// By level and point: what brings the point back to the base point, without moving those before; `None`
    /// if the point is out of reach.
    back: Vec<Vec<Option<Permutation>>>,
    /// By level: the cell, and the number of cells of its ring, or 1.
    cells: Vec<(usize, usize)>,
    /// By cell: its first point, and the number of its points.
    points: Vec<(usize, usize)>,
    /// By label: the cell where its piece belongs.
    home: Vec<usize>,
}

impl Prefixes {
    /// Chains of larger degree take longer than they save.
    const MOST_POINTS: usize = 256;

    /// Where moves reach at least one of so many words, too little is gained.
    const WORTH: u64 = 2;

    /// `None` where words are no elements of a group, or where moves reach most of them.
    fn new(space: &Space) -> Option<Self> {
        let shows_all =
            |(cell, &label): (usize, &u8)| u16::from(space.letters().seen(label)) == space.order(cell);
        let labels = space.labels().of_pieces();
        let starts = (0..space.cells()).scan(0, |next, cell| {
            let first = *next;
            *next += usize::from(space.order(cell));
            Some((first, usize::from(space.order(cell))))
        });
        let points: Vec<(usize, usize)> = starts.collect();
        let most_are_reached = space
            .ranks()
            .is_some_and(|words| space.states() * space.free_order() * Self::WORTH >= words.total().into());
        let fits = !most_are_reached
            && space.piece_labels().are_distinct()
            && !space.is_guarded()
            && labels.iter().enumerate().all(shows_all)
            && points.last().is_some_and(|(first, size)| first + size <= Self::MOST_POINTS);
        if !fits {
            return None;
        }
        let cells = (0..space.cells()).filter_map(|cell| match space.rings().ring(cell) {
            None => Some((cell, 1)),
            Some((first, size)) => (cell == first).then_some((cell, size)),
        });
        let cells: Vec<(usize, usize)> = cells.collect();
        let mut home = vec![0; space.labels().sizes().len()];
        for (cell, &label) in labels.iter().enumerate().rev() {
            home[usize::from(label)] = cell;
        }
        let base: Vec<usize> = cells.iter().map(|&(cell, _)| points[cell].0).collect();
        let chain = Hidden::whole(space).along(&base);
        let degree = points.iter().map(|&(_, size)| size).sum();
        let back = |level: usize| {
            let carrier = |point: usize| chain.carrier(level, point);
            (0..degree).map(|point| carrier(point).map(Permutation::inverse)).collect()
        };
        Some(Self { back: (0..cells.len()).map(back).collect(), cells, points, home })
    }

    /// Whether moves reach a word that has these letters on the cells before the first open one. `allowed`
    /// has what is known of the first of these cells, by level: the point to which the base point is carried
    /// when the levels before are divided out. What follows from more cells is added.
    fn allow(&self, space: &Space, word: &[Option<u8>], allowed: &mut Vec<u16>) -> bool {
        for level in allowed.len()..self.cells.len() {
            let Some(image) = self.image(space, word, level) else {
                break;
            };
            let back = |image: usize, (level, &point): (usize, &u16)| {
                let back = self.back[level][usize::from(point)].as_ref();
                back.expect("points that are out of reach are not allowed").apply(image)
            };
            let image = allowed.iter().enumerate().fold(image, back);
            if self.back[level][image].is_none() {
                return false;
            }
            allowed.push(image as u16);
        }
        true
    }

    /// The point to which the inverse of a word carries the base point of a level; `None` if it is open.
    fn image(&self, space: &Space, word: &[Option<u8>], level: usize) -> Option<usize> {
        let (cell, size) = self.cells[level];
        if size == 1 {
            let letter = word[cell]?;
            let (first, orders) = self.points[self.home[usize::from(space.letters().mark(letter))]];
            return Some(first + (orders - usize::from(space.letters().orientation(letter))) % orders);
        }
        // The mark went round the ring, and the inverse brings it back.
        let at = (0..size).find(|at| word[cell + at] == Some(space.solved()[cell]))?;
        Some(self.points[cell + (size - at) % size].0)
    }
}

const NONE: u16 = u16::MAX;

/// Why states have no inverses among the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoInverses {
    /// A state does not tell which permutation leads to it.
    #[error("pieces that look alike leave it open which permutation a state is")]
    Alike,
    /// Which moves can be made depends on the state.
    #[error("its moves can be made only in some states")]
    Guarded,
    /// The inverse of a state may be at another distance.
    #[error("the inverse of a move may be no move")]
    OneWay,
    /// The words of a state have inverses in different states, or symmetries that were not found would be
    /// needed to map them to each other.
    #[error("its free moves are not all known as symmetries")]
    FreeMoves,
}

impl Placements {
    pub(crate) fn new(space: &Space) -> Self {
        let letters = space.letters();
        let mut numbers = vec![NONE; space.cells() * letters.count()];
        let mut of = Vec::new();
        for cell in 0..space.cells() {
            for letter in 0..letters.count() as u8 {
                let mark = letters.mark(letter);
                if letters.orientation(letter) < letters.seen(mark) && space.belongs(mark, cell) {
                    numbers[cell * letters.count() + usize::from(letter)] = of.len() as u16;
                    of.push((cell as u8, letter));
                }
            }
        }
        assert!(
            of.len() < usize::from(NONE),
            "255 cells and letters at most, and not every letter on every cell"
        );
        Self { of, numbers, letters: letters.count(), prefixes: Prefixes::new(space) }
    }

    /// The number of a placement.
    pub(crate) fn number(&self, cell: u8, letter: u8) -> u16 {
        self.numbers[usize::from(cell) * self.letters + usize::from(letter)]
    }

    /// The cell and the letter of a placement.
    pub(crate) fn at(&self, number: u16) -> (u8, u8) {
        self.of[usize::from(number)]
    }

    /// What a symmetry does.
    pub(crate) fn of_symmetry(&self, space: &Space, symmetry: &Symmetry) -> Action {
        let image = |&(cell, letter): &(u8, u8)| {
            let renamed = symmetry.letters()[usize::from(letter)];
            let cell = usize::from(cell);
            self.number(symmetry.cells[cell], space.letters().turned(renamed, symmetry.turn(cell)))
        };
        self.of.iter().map(image).collect()
    }

    /// What inverting a state does: a piece on a cell, turned, becomes the cell's own piece on the piece's
    /// own cell, turned back; the mark of a ring goes round it the other way.
    ///
    /// # Errors
    /// [`NoInverses`] if that makes no states, or states at other distances.
    pub(crate) fn inversion(&self, space: &Space) -> Result<Action, NoInverses> {
        let (labels, letters) = (space.labels(), space.letters());
        let shows_all = |(cell, &label): (usize, &u8)| u16::from(letters.seen(label)) == space.order(cell);
        if !space.piece_labels().are_distinct() || !labels.of_pieces().iter().enumerate().all(shows_all) {
            return Err(NoInverses::Alike);
        }
        if space.is_guarded() {
            return Err(NoInverses::Guarded);
        }
        if !space.is_closed_under_inverses() {
            return Err(NoInverses::OneWay);
        }
        let mut home = vec![0; labels.sizes().len()];
        for (cell, &label) in labels.of_pieces().iter().enumerate() {
            home[usize::from(label)] = cell as u8;
        }
        let inverse = |&(cell, letter): &(u8, u8)| {
            if let Some((first, size)) = space.rings().ring(cell.into()) {
                let at = (size - (usize::from(cell) - first)) % size;
                return self.number((first + at) as u8, letter);
            }
            let label = labels.of_pieces()[usize::from(cell)];
            let back = letters.seen(label) - letters.orientation(letter);
            self.number(home[usize::from(letters.mark(letter))], letters.letter(label, back))
        };
        Ok(self.of.iter().map(inverse).collect())
    }

    /// Calls `found` with words that an action maps to itself, until that returns false. Moves need not reach
    /// them all, though most that they do not reach are passed over where all pieces differ. Of words
    /// that `symmetries`, a group, make of each other and that the action fixes the smallest is told,
    /// with their number.
    ///
    /// Such a word is a union of cycles of the action: of those that have each cell once at most, and each
    /// label as often as there are pieces.
    pub(crate) fn fixed_words(
        &self,
        space: &Space,
        action: &Action,
        symmetries: &[Action],
        found: &mut impl FnMut(&[u8], u32) -> bool,
    ) {
        let mut cycles: Vec<Vec<Vec<(u8, u8)>>> = vec![Vec::new(); space.cells()];
        let mut seen = vec![false; self.of.len()];
        for start in 0..self.of.len() {
            let mut cycle = Vec::new();
            let mut at = start;
            while !std::mem::replace(&mut seen[at], true) {
                cycle.push(self.of[at]);
                at = usize::from(action[at]);
            }
            // Placements come in order of their cells.
            if let Some(&(first, _)) = cycle.first() {
                cycles[usize::from(first)].push(cycle);
            }
        }
        let commutes = |symmetry: &&Action| then(action, symmetry) == then(symmetry, action);
        let (idle, moving): (Vec<&Action>, Vec<&Action>) =
            symmetries.iter().filter(commutes).partition(|symmetry| symmetry.is_sorted());
        let moving: Vec<Renaming> = moving.into_iter().map(|symmetry| Renaming::of(self, symmetry)).collect();
        FixedWords {
            space,
            prefixes: self.prefixes.as_ref(),
            symmetries: idle.len() + moving.len(),
            idle: idle.len(),
            cycles,
            left: space.labels().sizes().to_vec(),
            word: vec![None; space.cells()],
            allowed: Vec::new(),
            whole: Vec::new(),
            found,
        }
        .place(0, &moving.iter().collect::<Vec<_>>());
    }
}

/// What a symmetry makes of words.
struct Renaming {
    letters: usize,
    /// For each cell: from which cell its letter comes.
    sources: Vec<u8>,
    /// For each cell, and each letter on the cell that it comes from: what the letter becomes.
    becomes: Vec<u8>,
}

impl Renaming {
    fn of(placements: &Placements, symmetry: &Action) -> Self {
        let letters = placements.letters;
        let mut sources = vec![0; placements.numbers.len() / letters];
        let mut becomes = vec![0; placements.numbers.len()];
        for (&(from, letter), &to) in placements.of.iter().zip(symmetry) {
            let (to, renamed) = placements.at(to);
            sources[usize::from(to)] = from;
            becomes[usize::from(to) * letters + usize::from(letter)] = renamed;
        }
        Self { letters, sources, becomes }
    }

    /// How the image of a word compares to the word. In a word current, cells that are open make all that
    /// follows equal.
    fn compare(&self, word: &[Option<u8>]) -> Ordering {
        let pairs = self.sources.iter().zip(word).enumerate().map_while(|(cell, (&from, letter))| {
            let from = word[usize::from(from)]?;
            Some((self.becomes[cell * self.letters + usize::from(from)], (*letter)?))
        });
        pairs.map(|(image, letter)| image.cmp(&letter)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

/// A word current.
struct FixedWords<'a, F> {
    space: &'a Space,
    prefixes: Option<&'a Prefixes>,
    /// How many symmetries commute with the action.
    symmetries: usize,
    /// How many of them change no word.
    idle: usize,
    /// By their first cells.
    cycles: Vec<Vec<Vec<(u8, u8)>>>,
    /// By label: pieces that have no place yet.
    left: Vec<u8>,
    word: Vec<Option<u8>>,
    /// What [`Prefixes::allow`] knows of it.
    allowed: Vec<u16>,
    /// The word, when it is made.
    whole: Vec<u8>,
    found: &'a mut F,
}

impl<F: FnMut(&[u8], u32) -> bool> FixedWords<'_, F> {
    /// Fills the cells from `cell` on in all ways, but those of which one of the symmetries makes smaller
    /// words. All others make larger ones. Returns whether it should go on.
    fn place(&mut self, cell: usize, symmetries: &[&Renaming]) -> bool {
        let is_allowed = |prefixes: &Prefixes| prefixes.allow(self.space, &self.word, &mut self.allowed);
        if !self.prefixes.is_none_or(is_allowed) {
            return true;
        }
        let mut equal = Vec::with_capacity(symmetries.len());
        for &symmetry in symmetries {
            match symmetry.compare(&self.word) {
                Ordering::Less => return true,
                Ordering::Equal => equal.push(symmetry),
                Ordering::Greater => {}
            }
        }
        let Some(cell) = (cell..self.word.len()).find(|&cell| self.word[cell].is_none()) else {
            self.whole.clear();
            self.whole.extend(self.word.iter().flatten());
            return (self.found)(&self.whole, (self.symmetries / (self.idle + equal.len())) as u32);
        };
        // What cannot be taken back while they are gone through is taken out.
        let cycles = std::mem::take(&mut self.cycles[cell]);
        let allowed = self.allowed.len();
        let mut goes_on = true;
        for cycle in &cycles {
            let mut placed = 0;
            for &(cell, letter) in cycle {
                let left = &mut self.left[usize::from(self.space.letters().mark(letter))];
                if *left == 0 || self.word[usize::from(cell)].is_some() {
                    break;
                }
                *left -= 1;
                self.word[usize::from(cell)] = Some(letter);
                placed += 1;
            }
            goes_on = placed < cycle.len() || self.place(cell + 1, &equal);
            self.allowed.truncate(allowed);
            for &(cell, letter) in &cycle[..placed] {
                self.left[usize::from(self.space.letters().mark(letter))] += 1;
                self.word[usize::from(cell)] = None;
            }
            if !goes_on {
                break;
            }
        }
        self.cycles[cell] = cycles;
        goes_on
    }
}

/// The action of `first`, then `second`.
pub(crate) fn then(first: &Action, second: &Action) -> Action {
    first.iter().map(|&to| second[usize::from(to)]).collect()
}

fn inverse(action: &Action) -> Action {
    let mut inverse = vec![0; action.len()];
    for (from, &to) in action.iter().enumerate() {
        inverse[usize::from(to)] = from as u16;
    }
    inverse.into()
}

/// One of each class of `actions` that `by` conjugate to each other, with the number of its members: they fix
/// equally many words of every layer. `None` if a conjugate is not among `actions`, unless it may be in
/// `others`.
pub(crate) fn conjugacy_classes(
    actions: &[Action],
    by: &[Action],
    others: &[Action],
) -> Option<Vec<(usize, u32)>> {
    const OTHER: usize = usize::MAX;
    let mut numbers: FxHashMap<&Action, usize> = others.iter().map(|action| (action, OTHER)).collect();
    numbers.extend(actions.iter().zip(0..));
    let back: Vec<Action> = by.iter().map(inverse).collect();
    let mut counted = vec![false; actions.len()];
    let mut classes = Vec::new();
    for (number, action) in actions.iter().enumerate() {
        if counted[number] {
            continue;
        }
        let mut members = 0;
        for (by, back) in by.iter().zip(&back) {
            let conjugate = *numbers.get(&then(&then(back, action), by))?;
            if conjugate != OTHER && !std::mem::replace(&mut counted[conjugate], true) {
                members += 1;
            }
        }
        classes.push((number, members));
    }
    Some(classes)
}
