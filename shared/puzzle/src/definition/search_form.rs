//! A definition in the form that the engine searches: without invisible orientations, with free moves
//! combined into the moves, and with its symmetries.

use super::{Ask, Definition, DefinitionError, Groupoid};
use crate::puzzle::Counted;
use crate::up_to_free_moves::UpToFree;
use crate::{Generator, Guard, Metric, Puzzle, PuzzleMove};
use fathom_algebra::permutation::gcd;
use fathom_algebra::{
    Automorphisms, OrientedPermutation, Permutation, Relabelling, VisibleLabel, relabellings_among,
    states_by_orbits,
};
use num_bigint::BigUint;
use std::collections::{BTreeSet, HashMap, HashSet};

impl Definition {
    /// The maximum number of symmetries that are searched for.
    const MAX_SYMMETRIES: usize = 1024;

    /// The largest number of points whose symmetries are searched for with the guidance of common turns. On
    /// some puzzles of hundreds of points that search takes minutes, and the one without guidance does not.
    const MAX_GUIDED_POINTS: usize = 64;
    /// The largest number of orientations of cells whose common turns guide the search for symmetries.
    const MAX_COMMON_TURNS: u16 = 24;

    /// The states of a puzzle with guards are counted only if there are at most this many shapes.
    const MAX_SHAPES: usize = 1 << 18;

    /// The largest order of the group of the free moves.
    pub const MAX_FREE: usize = 1024;

    /// Returns the puzzle under a metric. Orientations that no piece of an orbit shows are dropped; the
    /// others are relative to the orientation of the solved piece.
    ///
    /// Finding the symmetries takes up to tenths of a second. A puzzle with very many points and states gets
    /// only the identity, because no search can finish it anyway, and so does one with hundreds of cells and
    /// moves.
    ///
    /// # Errors
    /// [`DefinitionError`] if the metric has too many moves, if the free moves generate a group of more
    /// than [`Definition::MAX_FREE`] elements, if there are both limits on states and free moves, or
    /// as [`Definition::require_not_listed`].
    pub fn puzzle(&self, metric: Metric) -> Result<Puzzle, DefinitionError> {
        self.require_not_listed()?;
        let orientation_counts = self.visible_orientation_counts();
        let generators = self.seen(&self.generators(metric)?, &orientation_counts);
        let mut puzzle = self.counted(self.of_generators(&generators, &orientation_counts)?);
        if !self.is_too_large_for_symmetries(&orientation_counts, puzzle.moves.len()) {
            (puzzle.symmetries, puzzle.has_all_symmetries) =
                symmetries(&puzzle, &generators, &self.limits_of_states().collect(), &orientation_counts);
        }
        if !self.always.is_empty() && self.never.is_empty() {
            puzzle.held = self.held(&puzzle, &generators, &orientation_counts).map(Box::new);
        }
        puzzle.facelets = self.facelets(metric)?.map(Box::new);
        Ok(puzzle)
    }

    /// Returns the moves of the puzzle and what they act on, as [`Definition::puzzle`] does, without
    /// computing anything that follows from them: the only symmetry is the identity.
    ///
    /// # Errors
    /// The errors of [`Definition::puzzle`].
    pub fn moves_alone(&self, metric: Metric) -> Result<Puzzle, DefinitionError> {
        let orientation_counts = self.visible_orientation_counts();
        self.of_generators(&self.seen(&self.generators(metric)?, &orientation_counts), &orientation_counts)
    }

    /// Returns the puzzle as [`Definition::puzzle`] does, without searching for symmetries or other
    /// pieces: the only symmetry is the identity.
    ///
    /// # Errors
    /// The errors of [`Definition::puzzle`].
    pub fn unsearched(&self, metric: Metric) -> Result<Puzzle, DefinitionError> {
        self.require_not_listed()?;
        Ok(self.counted(self.moves_alone(metric)?))
    }

    /// Sets the number of states and the kinds of pieces of a puzzle whose moves have guards.
    fn counted(&self, mut puzzle: Puzzle) -> Puzzle {
        let groupoid = self.is_guarded().then(|| self.groupoid(Self::MAX_SHAPES)).flatten();
        let states = groupoid.as_ref().and_then(Groupoid::states);
        puzzle.counted = states.map(|states| Counted { labels: self.solved_labels(), states });
        if let Some(groupoid) = groupoid {
            puzzle.kinds = groupoid.kinds().to_vec();
        }
        puzzle
    }

    /// Returns generators as they act on the orientations of [`Definition::visible_orientation_counts`].
    fn seen(&self, generators: &[Generator], orientation_counts: &[u16]) -> Vec<Generator> {
        let action = |g: &Generator| self.seen_action(&g.action, orientation_counts);
        generators.iter().map(|g| Generator { action: action(g), ..g.clone() }).collect()
    }

    fn solved_labels(&self) -> Vec<u16> {
        self.solved.iter().map(|piece| piece.label).collect()
    }

    /// Returns the puzzle whose moves are these generators, with the identity as its only symmetry.
    fn of_generators(
        &self,
        generators: &[Generator],
        orientation_counts: &[u16],
    ) -> Result<Puzzle, DefinitionError> {
        if self.is_limited() && !self.free.is_empty() {
            return Err(DefinitionError::AlwaysFree);
        }
        let free = FreeGroup::new(&self.seen(&self.free, orientation_counts), orientation_counts)?;
        let mut puzzle = Puzzle {
            name: self.name.clone(),
            cells: self.cells(),
            seen: self.solved.iter().map(|piece| piece.seen).collect(),
            moves: free.before(generators, |m| self.asked(m))?,
            incoming_moves: free.behind(generators, &self.solved_labels(), |m| self.asked(m))?,
            symmetries: vec![Relabelling::from_action(&free.elements[0])],
            has_all_symmetries: false,
            free: free.elements,
            limits: self.limits_of_states().collect(),
            starts: self.starts.map(|start| self.seen_action(start, orientation_counts)),
            counted: None,
            kinds: vec![0; self.cells()],
            held: None,
            facelets: None,
        };
        for m in puzzle.moves.iter_mut().chain(&mut puzzle.incoming_moves) {
            m.guard = self.limited(m);
        }
        Ok(puzzle)
    }

    /// Returns the conditions of the `asks` of a generator: a cell holds none of the pieces that it is not asked for.
    fn asked(&self, generator: &Generator) -> Vec<Guard> {
        let label = |piece: u16| self.solved[usize::from(piece)].label;
        let guards = generator.asks.iter().flat_map(|Ask { cell, pieces }| {
            let cell = *cell;
            let labels: BTreeSet<u16> = pieces.iter().map(|&piece| label(piece)).collect();
            let orbit = self.cells_of(self.orbit_of(cell.into())).map(|piece| piece as u16);
            let others = orbit.filter(move |&piece| !labels.contains(&label(piece)));
            others.map(move |piece| Guard { cell, piece, holds: false })
        });
        guards.collect()
    }

    /// Returns whether symmetries would take long to find, because there are many points. In a search they
    /// would not help, because there are too many states, or would help little, because there are hundreds of
    /// points and moves.
    fn is_too_large_for_symmetries(&self, orientation_counts: &[u16], moves: usize) -> bool {
        const MANY_POINTS: usize = 128;
        const MAX_BITS_OF_STATES: u64 = 128;
        const VERY_MANY_POINTS: usize = 255;
        const MAX_IMAGES: usize = 1 << 17;
        const MANY_IMAGES: usize = 1 << 16;
        let points = orientation_counts.iter().map(|&order| usize::from(order)).sum::<usize>();
        if points > VERY_MANY_POINTS && points * moves > MAX_IMAGES {
            return true;
        }
        (points > MANY_POINTS || points * moves > MANY_IMAGES)
            && self.states_by_orbits().is_some_and(|states| states.bits() > MAX_BITS_OF_STATES)
    }

    /// Returns the guard of a move together with the limits of the states before and after the move.
    fn limited(&self, m: &PuzzleMove) -> Box<[Guard]> {
        let guard: BTreeSet<Guard> = m.guard.iter().copied().chain(self.limits(&m.action)).collect();
        guard.into_iter().collect()
    }

    /// Returns the conditions before an action under which the state after it satisfies the limits set by
    /// [`always`](Definition::set_always) and [`never`](Definition::set_never).
    ///
    /// The limits of the state before the action are included although every state satisfies them: this way
    /// the action maps the guards of a move and its inverse to each other, and they are recognised as
    /// inverses.
    pub fn limits(&self, action: &OrientedPermutation) -> impl Iterator<Item = Guard> {
        let back = action.cells().inverse();
        self.limits_of_states().flat_map(move |limit| {
            [limit.cell, back.apply(limit.cell.into()) as u16].map(|cell| Guard { cell, ..limit })
        })
    }

    /// Returns the limits on states, as conditions that all states satisfy.
    pub(super) fn limits_of_states(&self) -> impl Iterator<Item = Guard> {
        let always = self.always.iter().map(|&cell| Guard { cell, piece: cell, holds: true });
        always.chain(self.ruled_out().map(|(cell, piece)| Guard { cell, piece, holds: false }))
    }

    /// Returns the number of states of a puzzle that may be too large to be searched. `None` if the number
    /// does not follow from the action on each orbit separately, or if there are free moves, guards or
    /// limits.
    pub fn states_by_orbits(&self) -> Option<BigUint> {
        if self.is_guarded() || !self.free.is_empty() {
            return None;
        }
        let orientation_counts = self.visible_orientation_counts();
        let actions: Vec<OrientedPermutation> =
            self.moves.iter().map(|g| self.seen_action(&g.action, &orientation_counts)).collect();
        let shown =
            self.solved.iter().map(|piece| VisibleLabel { label: piece.label.into(), seen: piece.seen });
        states_by_orbits(&actions, &shown.collect::<Vec<_>>())
    }

    /// Returns the group of the free moves, with elements named by powers of the free moves.
    ///
    /// # Errors
    /// [`DefinitionError::TooManyFree`] if the group has more than [`Definition::MAX_FREE`] elements.
    pub fn free_group(&self) -> Result<FreeGroup, DefinitionError> {
        let powers = self.free_generators().map_err(|_| DefinitionError::TooManyFree)?;
        FreeGroup::new(&powers, &self.orientation_counts())
    }

    /// Returns the number of orientations on each cell, not counting those that no piece of its orbit shows.
    pub fn visible_orientation_counts(&self) -> Vec<u16> {
        // The least common multiple of the `seen` of all pieces, found as the smallest suitable divisor of
        // the order.
        let of_orbit = |orbit: usize| {
            let tells_all =
                |order: &u16| self.cells_of(orbit).all(|cell| order.is_multiple_of(self.solved[cell].seen));
            let all = self.orbits[orbit].orientations;
            (1..=all).find(|order| all.is_multiple_of(*order) && tells_all(order)).unwrap_or(all)
        };
        let of_orbit: Vec<u16> = (0..self.orbits.len()).map(of_orbit).collect();
        self.orbit_of.iter().map(|&orbit| of_orbit[orbit]).collect()
    }

    /// Returns an action with orientations modulo `orientation_counts`, counted from the orientation of the
    /// solved pieces.
    pub(super) fn seen_action(
        &self,
        action: &OrientedPermutation,
        orientation_counts: &[u16],
    ) -> OrientedPermutation {
        self.seen_element(action, orientation_counts)
            .expect("cells of one orbit have the same number of orientations")
    }

    /// Returns an element with orientations modulo `orientation_counts`, which are those of
    /// [`Definition::visible_orientation_counts`], counted from the orientation of the solved pieces: as an
    /// action on [`Definition::puzzle`]. `None` if the element carries pieces to cells with
    /// other orientation counts.
    pub fn seen_element(
        &self,
        action: &OrientedPermutation,
        orientation_counts: &[u16],
    ) -> Option<OrientedPermutation> {
        let turns = (0..self.cells()).map(|cell| {
            let to = action.cells().apply(cell);
            let order = orientation_counts[cell];
            let (leaves, arrives) = (self.solved[cell].orientation, self.solved[to].orientation);
            (action.turns()[cell] % order + leaves % order + order - arrives % order) % order
        });
        OrientedPermutation::new(action.cells().clone(), turns.collect::<Vec<_>>(), orientation_counts).ok()
    }
}

/// The maximum number of symmetries, each counted once for every free move, because a state has as many state
/// vectors as there are free moves.
const MAX_WITH_FREE: usize = 1 << 14;

/// The group that the free moves generate.
#[derive(Clone, Debug)]
pub struct FreeGroup {
    /// The elements, the identity first.
    elements: Vec<OrientedPermutation>,
    /// A word for each element, each name followed by a space.
    names: Vec<String>,
    known: HashSet<OrientedPermutation>,
}

impl FreeGroup {
    /// Returns the elements, the identity first.
    pub fn elements(&self) -> &[OrientedPermutation] {
        &self.elements
    }

    /// Returns whether an action is one of the elements.
    pub fn contains(&self, action: &OrientedPermutation) -> bool {
        self.known.contains(action)
    }

    /// Returns for each element a shortest word in the generators of the group, each name followed by a
    /// space; empty for the identity.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn new(generators: &[Generator], orientation_counts: &[u16]) -> Result<Self, DefinitionError> {
        let one = OrientedPermutation::identity(orientation_counts);
        let known = HashSet::from([one.clone()]);
        let mut group = Self { elements: vec![one], names: vec![String::new()], known };
        let mut next = 0;
        while next < group.elements.len() {
            for generator in generators {
                let product = group.elements[next].then(&generator.action);
                if group.known.insert(product.clone()) {
                    group.elements.push(product);
                    group.names.push(format!("{}{} ", group.names[next], generator.name));
                }
            }
            next += 1;
            if group.elements.len() > Definition::MAX_FREE {
                return Err(DefinitionError::TooManyFree);
            }
        }
        Ok(group)
    }

    /// Returns the products of each free move followed by each move, keeping the first of those that differ
    /// only by a free move after the move.
    fn before(
        &self,
        moves: &[Generator],
        asked: impl Fn(&Generator) -> Vec<Guard>,
    ) -> Result<Vec<PuzzleMove>, DefinitionError> {
        let differ_behind = |x: &OrientedPermutation, y: &OrientedPermutation| x.inverse().then(y);
        // Both start from the current state vector.
        let asks_alike = |_: &OrientedPermutation, x: &PuzzleMove, y: &PuzzleMove| x.guard == y.guard;
        self.distinct(moves, (differ_behind, asks_alike), OrientedPermutation::clone, |before, m, name| {
            let back = before.cells().inverse();
            let guard =
                |&cell: &u16| Guard { cell: back.apply(cell.into()) as u16, piece: cell, holds: true };
            let guard = m.guard.iter().map(guard).chain(asked(m)).collect();
            PuzzleMove { name: format!("{name}{}", m.name), action: before.then(&m.action), guard }
        })
    }

    /// Returns the products of each move followed by each free move, keeping the first of those that differ
    /// only by a free move before the move, and are possible in the same states. `labels` are those of the
    /// pieces, to which guards refer.
    fn behind(
        &self,
        moves: &[Generator],
        labels: &[u16],
        further: impl Fn(&Generator) -> Vec<Guard>,
    ) -> Result<Vec<PuzzleMove>, DefinitionError> {
        let differ_before = |x: &OrientedPermutation, y: &OrientedPermutation| y.then(&x.inverse());
        let asked = |guard: &[Guard], to: &dyn Fn(u16) -> u16| -> BTreeSet<(u16, u16)> {
            guard.iter().map(|asked| (to(asked.cell), labels[usize::from(asked.piece)])).collect()
        };
        // The guard of y is for the state in which y starts; the free move carries it to the state in which x
        // starts.
        let asks_alike = |free: &OrientedPermutation, x: &PuzzleMove, y: &PuzzleMove| {
            let carried = |cell: u16| free.cells().apply(cell.into()) as u16;
            asked(&x.guard, &|cell| cell) == asked(&y.guard, &carried)
        };
        self.distinct(moves, (differ_before, asks_alike), OrientedPermutation::inverse, |behind, m, name| {
            let guard = m.guard.iter().map(|&cell| Guard { cell, piece: cell, holds: true });
            let guard = guard.chain(further(m)).collect();
            let name = format!("{} {name}", m.name).trim_end().to_owned();
            PuzzleMove { name, action: m.action.then(behind), guard }
        })
    }

    /// Returns the products by `combine` of moves and free moves. Products x and y whose `difference` is a
    /// free move under which their guards `ask_alike` count as one, and the first is kept; moves that are
    /// free moves are omitted. The results of `side` for two such products differ by a free move that
    /// follows.
    fn distinct(
        &self,
        moves: &[Generator],
        (difference, ask_alike): (
            impl Fn(&OrientedPermutation, &OrientedPermutation) -> OrientedPermutation,
            impl Fn(&OrientedPermutation, &PuzzleMove, &PuzzleMove) -> bool,
        ),
        side: impl Fn(&OrientedPermutation) -> OrientedPermutation,
        combine: impl Fn(&OrientedPermutation, &Generator, &str) -> PuzzleMove,
    ) -> Result<Vec<PuzzleMove>, DefinitionError> {
        let mut distinct: Vec<PuzzleMove> = Vec::new();
        // By product up to a free move: the indices of those with different guards.
        let mut up_to_free = UpToFree::new(&self.elements);
        let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
        for m in moves.iter().filter(|m| !self.contains(&m.action)) {
            for (free, name) in self.elements.iter().zip(&self.names) {
                let mut made = combine(free, m, name);
                made.guard.sort_unstable();
                let others = alike.entry(up_to_free.of(&side(&made.action))).or_default();
                let is_same = |other: &usize| {
                    let other: &PuzzleMove = &distinct[*other];
                    ask_alike(&difference(&other.action, &made.action), other, &made)
                };
                if !others.iter().any(is_same) {
                    others.push(distinct.len());
                    distinct.push(made);
                }
            }
            if distinct.len() > Definition::MAX_MOVES {
                return Err(DefinitionError::TooManyMoves);
            }
        }
        Ok(distinct)
    }
}

/// Returns the turns of all pieces of an orbit of cells by the same amount, for the amounts that generate all
/// such turns. A renaming of points that maps these turns to each other maps cells to cells. Untouched cells
/// have none, nor do cells with more than [`Definition::MAX_COMMON_TURNS`] orientations.
fn common_turns(puzzle: &Puzzle, orientation_counts: &[u16]) -> Vec<OrientedPermutation> {
    let actions = || puzzle.moves.iter().map(|m| &m.action).chain(&puzzle.free);
    let is_touched = |cell: usize| actions().any(|action| action.apply(cell, 0) != (cell, 0));
    let turned = |orbit: &[usize], amount: u16| {
        let turns = (0..orientation_counts.len()).map(|cell| if orbit.contains(&cell) { amount } else { 0 });
        OrientedPermutation::new(
            Permutation::identity(orientation_counts.len()),
            turns.collect::<Vec<_>>(),
            orientation_counts,
        )
        .expect("amounts are below the order")
    };
    let mut found = Vec::new();
    for orbit in puzzle.orbits().iter().filter(|orbit| is_touched(orbit[0])) {
        let order = orientation_counts[orbit[0]];
        if order <= Definition::MAX_COMMON_TURNS {
            let amounts = (1..order).filter(|&amount| gcd(amount.into(), order.into()) == 1);
            found.extend(amounts.map(|amount| turned(orbit, amount)));
        }
    }
    found
}

/// Returns the automorphisms that map the moves with their guards, the free moves, and the limits of the
/// states onto themselves, and the products of these automorphisms with free moves, and whether these are
/// all. If there are too many, the result is a subgroup.
///
/// Turning all pieces of an orbit by the same amount changes no move, so only one of the automorphisms that
/// differ by such a turn is returned.
pub(super) fn symmetries(
    puzzle: &Puzzle,
    generators: &[Generator],
    limits: &HashSet<Guard>,
    orientation_counts: &[u16],
) -> (Vec<Relabelling>, bool) {
    let points: Vec<(usize, u16)> = orientation_counts
        .iter()
        .enumerate()
        .flat_map(|(cell, &order)| (0..order).map(move |k| (cell, k)))
        .collect();
    let mut is_first = vec![false; points.len()];
    for orbit in puzzle.orbits() {
        is_first[points.partition_point(|&(cell, _)| cell < orbit[0])] = true;
    }
    let may = |from: usize, to: usize| !is_first[from] || points[to].1 == 0;
    let kinds = generators.iter().map(|g| (&g.action, &*g.guard)).filter(|(action, _)| !action.is_identity());
    let turns = match points.len() <= Definition::MAX_GUIDED_POINTS {
        true => common_turns(puzzle, orientation_counts),
        false => Vec::new(),
    };
    // The kind of each action of the set: a move, a free move, a common turn, or several of these.
    let mut set = Vec::new();
    let mut roles: Vec<[bool; 3]> = Vec::new();
    let mut numbers = HashMap::new();
    let moves = kinds.clone().map(|(action, _)| (action, 0));
    let others = puzzle.free[1..].iter().map(|free| (free, 1)).chain(turns.iter().map(|turn| (turn, 2)));
    for (action, role) in moves.chain(others) {
        let number = *numbers.entry(action).or_insert(set.len());
        if number == set.len() {
            set.push(action.as_points());
            roles.push([false; 3]);
        }
        roles[number][role] = true;
    }
    let alike = |x: usize, y: usize| roles[x] == roles[y];
    let guards: HashSet<(OrientedPermutation, Vec<u16>)> =
        kinds.clone().map(|(action, guard)| (action.clone(), guard.to_vec())).collect();
    // If no move has a guard, automorphisms only have to preserve the moves.
    let has_guards = kinds.clone().any(|(_, guard)| !guard.is_empty());
    let keeps_guards = |a: &Relabelling| {
        !has_guards
            || kinds.clone().all(|(action, guard)| {
                let mut guard: Vec<u16> =
                    guard.iter().map(|&cell| a.cells().apply(cell.into()) as u16).collect();
                guard.sort_unstable();
                guards.contains(&(a.rename(action), guard))
            })
    };
    let most = Definition::MAX_SYMMETRIES.min(MAX_WITH_FREE / puzzle.free.len());
    let Automorphisms { found, are_all } = relabellings_among(points.len(), &set, most, &may, &alike);
    let mut found: Vec<Relabelling> = found
        .iter()
        .filter_map(|a| Relabelling::from_points(a, orientation_counts))
        .filter(keeps_guards)
        .filter(|a| limits.iter().all(|limit| limits.contains(&limit.renamed(a))))
        .collect();
    let mut all: HashSet<Relabelling> = found.iter().cloned().collect();
    let without = found.len();
    for free in &puzzle.free[1..] {
        let free = Relabelling::from_action(free);
        for number in 0..without {
            let product = found[number].then(&free);
            if all.insert(product.clone()) {
                found.push(product);
            }
        }
        if found.len() * puzzle.free.len() > MAX_WITH_FREE {
            found.truncate(without);
            return (found, false);
        }
    }
    (found, are_all)
}
