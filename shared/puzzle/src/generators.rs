//! The generators that a metric derives from the listed ones, their names, and the selection of some of them
//! by name.

use crate::Metric;
use crate::definition::{Ask, Definition, DefinitionError, Generator};
use fathom_algebra::{OrientedPermutation, expression, power_name};
use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// Why a list of names does not select generators.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// A name is not that of a generator.
    #[error("unknown move {word:?}. Moves of {puzzle}: {known}")]
    Unknown {
        /// The name as written.
        word: String,
        /// The name of the puzzle.
        puzzle: String,
        /// The names of all generators.
        known: Names,
    },
    /// A generator is given twice.
    #[error("the move {word:?} is given twice{}", if word == name { String::new() } else { format!(": it is the same as {name:?}") })]
    Twice {
        /// The word as written.
        word: String,
        /// The name of the generator.
        name: String,
    },
    /// The list is empty. The field is the name of a move, as an example.
    #[error("no moves are given: name at least one, for example {0}")]
    Empty(String),
    /// The metric has too many generators.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

/// Names of generators, displayed with blanks between them; beyond the first hundred, only the number of
/// the others is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 100;
        if self.0.is_empty() {
            return f.write_str("none that change anything");
        }
        f.write_str(&self.0[..self.0.len().min(SHOWN)].join(" "))?;
        match self.0.len().checked_sub(SHOWN) {
            Some(more) if more > 0 => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}

impl Definition {
    /// Returns the generators of a metric, in the order of the listed ones, each followed by its powers.
    ///
    /// None of them is the identity and no two are equal: a listed generator keeps its name, and a power that
    /// equals an earlier generator is omitted. The powers of a guarded generator have the same guard: the
    /// generator does not move those cells, so it can be applied again. What else a generator asks for must hold before
    /// each application.
    ///
    /// # Errors
    /// [`DefinitionError::TooManyMoves`] if there would be more than [`Definition::MAX_MOVES`];
    /// [`DefinitionError::AlwaysListed`] if the metric needs powers or inverses but states are limited.
    pub fn generators(&self, metric: Metric) -> Result<Vec<Generator>, DefinitionError> {
        self.expand_metric(&self.moves().iter().collect::<Vec<_>>(), metric)
    }

    fn expand_metric(
        &self,
        listed: &[&Generator],
        metric: Metric,
    ) -> Result<Vec<Generator>, DefinitionError> {
        if matches!(metric, Metric::Multi | Metric::Single) && self.is_limited() {
            return Err(DefinitionError::AlwaysListed(self.name().into(), metric));
        }
        expand_metric(listed, metric, &self.named())
    }

    /// Returns all generators that have names of their own.
    fn named(&self) -> Vec<&Generator> {
        self.moves().iter().chain(self.spare()).chain(self.free()).collect()
    }

    /// Returns the free moves, each followed by its powers, which are named like powers of other generators.
    ///
    /// # Errors
    /// [`DefinitionError::TooManyMoves`] if there would be more than [`Definition::MAX_MOVES`].
    pub fn free_generators(&self) -> Result<Vec<Generator>, DefinitionError> {
        expand_metric(&self.free().iter().collect::<Vec<_>>(), Metric::Multi, &self.named())
    }

    /// Returns the generators named in `words`, in that order; the names are separated by commas or blanks.
    /// The names may be those of all generators that `metric` derives from the listed and the spare moves, or
    /// sequences with the same effect as exactly one of them.
    ///
    /// # Errors
    /// [`SelectionError`] with the first name that is unknown and the names that exist, with a generator that
    /// is named twice, or if there are no names; also the errors of [`Definition::generators`].
    pub fn select(&self, metric: Metric, words: &str) -> Result<Vec<Generator>, SelectionError> {
        let all = self.expand_metric(&self.moves().iter().chain(self.spare()).collect::<Vec<_>>(), metric)?;
        let mut chosen: Vec<Generator> = Vec::new();
        for word in words.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty()) {
            let found = all.iter().find(|generator| generator.name == word);
            let generator =
                found.or_else(|| self.by_effect(word, &all)).ok_or_else(|| SelectionError::Unknown {
                    word: word.into(),
                    puzzle: self.name().into(),
                    known: Names(all.iter().map(|generator| generator.name.clone()).collect()),
                })?;
            if chosen.contains(generator) {
                return Err(SelectionError::Twice { word: word.into(), name: generator.name.clone() });
            }
            chosen.push(generator.clone());
        }
        if chosen.is_empty() {
            return Err(SelectionError::Empty(
                self.moves().first().map_or(String::new(), |m| m.name.clone()),
            ));
        }
        Ok(chosen)
    }

    /// Returns the generator with the effect of a sequence; `None` if there is not exactly one. So
    /// `V1^-1` and `V_1^{-1}` are other ways to write `V1'`.
    fn by_effect<'a>(&self, text: &str, all: &'a [Generator]) -> Option<&'a Generator> {
        let identity = OrientedPermutation::identity(self.orientation_counts());
        let identity = Effect { action: identity, guards: BTreeSet::new() };
        let mut named = |name: &str| {
            let mut known = self.moves().iter().chain(self.spare()).chain(all);
            let found = known.find(|generator| generator.name == name);
            Ok(found.map(|Generator { action, guard, .. }| Effect {
                action: action.clone(),
                guards: BTreeSet::from([guard.clone()]),
            }))
        };
        let Effect { action, guards } = expression::sequence(text, &identity, &mut named).ok()??;
        let has_guards = |generator: &Generator| guards.iter().all(|guard| *guard == generator.guard);
        let mut found = all.iter().filter(|generator| generator.action == action && has_guards(generator));
        found.next().filter(|_| found.next().is_none())
    }
}

/// The action of a sequence, and the guards of its generators. If these are equal, they are the guard of
/// the whole sequence, because each generator fixes the cells of its guard.
#[derive(Clone)]
struct Effect {
    action: OrientedPermutation,
    guards: BTreeSet<Box<[u16]>>,
}

impl expression::Element for Effect {
    fn then(mut self, next: &Self) -> Option<Self> {
        self.action = OrientedPermutation::then(&self.action, &next.action);
        self.guards.extend(next.guards.iter().cloned());
        Some(self)
    }

    fn inverse(&self) -> Self {
        Self { action: self.action.inverse(), guards: self.guards.clone() }
    }

    fn power(&self, exponent: i64) -> Option<Self> {
        Some(Self { action: self.action.power(exponent), guards: self.guards.clone() })
    }
}

/// Derives the generators of a metric from the listed ones. The names of powers are read as these powers
/// among all generators in `named`.
fn expand_metric(
    listed: &[&Generator],
    metric: Metric,
    named: &[&Generator],
) -> Result<Vec<Generator>, DefinitionError> {
    let mut seen: HashSet<Generator> = HashSet::new();
    let mut made: Vec<Generator> = Vec::new();
    let mut add = |name: String, action: OrientedPermutation, guard: &[u16], asks: Box<[Ask]>| {
        let unnamed = Generator { name: String::new(), action, guard: guard.into(), asks };
        if unnamed.action.is_identity() || !seen.insert(unnamed.clone()) {
            return Ok(());
        }
        made.push(Generator { name, ..unnamed });
        if made.len() > Definition::MAX_MOVES { Err(DefinitionError::TooManyMoves) } else { Ok(()) }
    };
    for generator in listed {
        let guard = &generator.guard;
        add(generator.name.clone(), generator.action.clone(), guard, generator.asks.clone())?;
        let order = generator.action.order().filter(|&order| order <= i64::MAX as u64);
        let exponents = match (metric, order) {
            (Metric::Given | Metric::Face | Metric::Twist, _) => 0..0,
            (Metric::Single, _) => -1..0,
            // Since 1 < order, a range longer than the number of allowed moves reaches the limit before its
            // end.
            (Metric::Multi, order) => {
                2..order.unwrap_or(u64::MAX).min(Definition::MAX_MOVES as u64 + 3) as i64
            }
        };
        let mut power = generator.action.clone();
        for exponent in exponents {
            power = if exponent < 0 { generator.action.inverse() } else { power.then(&generator.action) };
            let applied = exponent;
            let exponent = match order {
                // The name uses the shorter direction, forwards if both are equally long: R2, not R2'.
                Some(order) if exponent > 0 && 2 * exponent > order as i64 => exponent - order as i64,
                _ => exponent,
            };
            let asks = asks_of_power(generator, applied);
            let is_listed =
                |other: &&&Generator| other.action == power && other.guard == *guard && other.asks == asks;
            let usual = power_name(&generator.name, exponent, std::iter::empty());
            let name = match listed.iter().find(is_listed) {
                Some(other) => other.name.clone(),
                // The same move has this name in the definition.
                None if named.iter().any(|other| is_listed(&other) && other.name == usual) => usual,
                None => power_name(&generator.name, exponent, named.iter().map(|other| &*other.name)),
            };
            add(name, power.clone(), guard, asks)?;
        }
    }
    Ok(made)
}

/// Returns what a generator asks for that is applied some times, or whose inverse is: the conditions before each
/// application, as conditions before the first. They are in increasing order, and none occurs twice.
fn asks_of_power(generator: &Generator, exponent: i64) -> Box<[Ask]> {
    // Before application i, what was on a cell at first is i applications further. An inverse ends where the generator
    // begins.
    let applications = if exponent < 0 { exponent..0 } else { 0..exponent };
    let before = |times: i64| {
        let back = generator.action.cells().power(-times);
        let moved = move |ask: &Ask| Ask { cell: back.apply(ask.cell.into()) as u16, ..ask.clone() };
        generator.asks.iter().map(moved)
    };
    applications.flat_map(before).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Board, Line};
    use fathom_algebra::Permutation;

    fn puzzle(degree: usize, moves: &[(&str, &str)]) -> Definition {
        let mut puzzle = Definition::of_degree("test", degree).unwrap();
        for (name, cycles) in moves {
            let cells = Permutation::parse(cycles, degree).unwrap();
            puzzle.add_move(*name, OrientedPermutation::from_cells(cells)).unwrap();
        }
        puzzle
    }

    fn names(puzzle: &Definition, metric: Metric) -> String {
        let generators = puzzle.generators(metric).unwrap();
        generators.into_iter().map(|generator| generator.name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn metrics_of_listed_moves() {
        let cube = puzzle(5, &[("R", "(1,2,3,4)"), ("U", "(4,5)"), ("W", "(1,2,3,4,5)")]);
        assert_eq!(names(&cube, Metric::Given), "R U W");
        assert_eq!(names(&cube, Metric::Single), "R R' U W W'");
        assert_eq!(names(&cube, Metric::Multi), "R R2 R' U W W2 W2' W'");
        let lines = puzzle(5, &[("V1", "(1,2,3,4)"), ("R'", "(1,2,5)")]);
        assert_eq!(names(&lines, Metric::Single), "V1 V1' R' R''");
        assert_eq!(names(&lines, Metric::Multi), "V1 V1^2 V1' R' R''");
    }

    #[test]
    fn listed_moves_keep_names_and_duplicates_are_dropped() {
        let moves =
            [("R", "(1,2,3,4)"), ("Rr", "(1,3)(2,4)"), ("R'", "(1,4,3,2)"), ("X", "()"), ("S", "(1,2,3,4)")];
        let doubled = puzzle(4, &moves);
        assert_eq!(names(&doubled, Metric::Given), "R Rr R'");
        assert_eq!(names(&doubled, Metric::Multi), "R Rr R'");
        // The names of powers avoid the names of listed moves.
        let taken = puzzle(4, &[("R", "(1,2,3)"), ("R'", "(1,2)"), ("R^-1", "(2,3)")]);
        assert_eq!(names(&taken, Metric::Single), "R (R)^-1 R' R^-1");
    }

    #[test]
    fn powers_of_a_guarded_move_have_its_guard() {
        let mut lock = puzzle(6, &[("R", "(1,2,3,4)")]);
        for (name, cycles, guard) in
            [("U", "(1,2,3,4)", &[5][..]), ("W", "(1,4,3,2)", &[4, 5]), ("S", "(1,3)", &[5])]
        {
            let cells = Permutation::parse(cycles, 6).unwrap();
            lock.add_guarded_move(name, OrientedPermutation::from_cells(cells), guard).unwrap();
        }
        // W is not a power of R or U, because its guard has more cells.
        assert_eq!(names(&lock, Metric::Given), "R U W S");
        for (metric, made) in
            [(Metric::Single, "R R' U U' W W' S"), (Metric::Multi, "R R2 R' U U2 U' W W2 W' S")]
        {
            assert_eq!(names(&lock, metric), made);
            for generator in lock.generators(metric).unwrap() {
                let listed =
                    lock.moves().iter().find(|listed| generator.name.starts_with(&listed.name)).unwrap();
                assert_eq!(generator.guard, listed.guard, "{}", generator.name);
            }
        }
        let chosen = lock.select(Metric::Multi, "U'").unwrap();
        assert_eq!(*chosen[0].guard, [5]);
    }

    /// A sequence selects a move with the same action and the same guard.
    #[test]
    fn sequences_select_only_moves_with_equal_guards() {
        let mut lock = puzzle(7, &[("U", "(6,7)")]);
        for (name, cycles, guard) in [("A", "(1,2,3,4)", &[4_u16][..]), ("B", "(1,3)(2,4)", &[5])] {
            let cells = Permutation::parse(cycles, 7).unwrap();
            lock.add_guarded_move(name, OrientedPermutation::from_cells(cells), guard).unwrap();
        }
        for word in ["A2", "A*A", "U*A2*U", "A*B*A'"] {
            let refused = lock.select(Metric::Single, word);
            assert!(matches!(refused, Err(SelectionError::Unknown { .. })), "{word}: {refused:?}");
        }
        for (word, name) in [("A3", "A'"), ("B'", "B"), ("U'", "U")] {
            assert_eq!(lock.select(Metric::Single, word).unwrap()[0].name, name, "{word}");
        }
        // In this metric the power is a move.
        assert_eq!(*lock.select(Metric::Multi, "A^-2").unwrap()[0].guard, [4]);
    }

    #[test]
    fn metrics_match_their_definitions() {
        let cube = puzzle(9, &[("R", "(1,2,3,4)(5,6,7)"), ("U", "(4,5)(7,8,9)")]);
        for generator in cube.generators(Metric::Multi).unwrap() {
            let order = generator.action.order().unwrap() as i64;
            let of = |power: &OrientedPermutation| {
                cube.moves()
                    .iter()
                    .any(|m| (1..m.action.order().unwrap() as i64).any(|e| m.action.power(e) == *power))
            };
            assert!(order > 1 && of(&generator.action), "{}", generator.name);
        }
        assert_eq!(cube.generators(Metric::Multi).unwrap().len(), 11 + 5);
    }

    #[test]
    fn single_shifts_generate_the_moves_of_the_board() {
        let board: Board = "3x5".parse().unwrap();
        let mut shifts = Definition::of_degree("3x5", board.cells()).unwrap();
        for line in board.lines() {
            let shift = OrientedPermutation::from_cells(board.rotation(line, 1));
            shifts.add_move(line.move_name(1), shift).unwrap();
        }
        for metric in [Metric::Multi, Metric::Single, Metric::Given] {
            let mut made: Vec<_> =
                shifts.generators(metric).unwrap().iter().map(|g| g.action.cells().clone()).collect();
            let mut moves: Vec<_> =
                board.puzzle(metric).moves.into_iter().map(|m| m.action.cells().clone()).collect();
            made.sort();
            moves.sort();
            assert_eq!(made, moves, "{metric}");
        }
        for generator in shifts.generators(Metric::Multi).unwrap() {
            let read = board.parse_sequence(&generator.name).unwrap();
            assert_eq!(read, *generator.action.cells(), "{}", generator.name);
        }
        assert_eq!(Line::Row(0).move_name(2), "H1^2");
    }

    #[test]
    fn too_many_powers_are_rejected() {
        // Cycles of the lengths 2, 3, 5, 7, 11 and 13 give the order 2 * 3 * 5 * 7 * 11 * 13 = 30,030.
        let long = "(1,2)(3,4,5)(6,7,8,9,10)(11,12,13,14,15,16,17)(18,19,20,21,22,23,24,25,26,27,28)\
                    (29,30,31,32,33,34,35,36,37,38,39,40,41)";
        let long = puzzle(41, &[("R", long)]);
        assert_eq!(long.generators(Metric::Single).unwrap().len(), 2);
        assert_eq!(long.generators(Metric::Multi), Err(DefinitionError::TooManyMoves));
        assert_eq!(DefinitionError::TooManyMoves.to_string(), "there are more than 4096 moves");
    }

    #[test]
    fn moves_are_selected_by_name() {
        let mut cube = puzzle(5, &[("R", "(1,2,3,4)"), ("U", "(4,5)")]);
        cube.add_spare("x", OrientedPermutation::from_cells(Permutation::parse("(1,2,3)", 5).unwrap()))
            .unwrap();
        let chosen = |words| {
            cube.select(Metric::Multi, words).map(|all| all.into_iter().map(|g| g.name).collect::<Vec<_>>())
        };
        assert_eq!(chosen("U,R2"), Ok(vec!["U".into(), "R2".into()]));
        assert_eq!(chosen(" R' , x' "), Ok(vec!["R'".into(), "x'".into()]));
        assert_eq!(
            chosen("R,F2").unwrap_err().to_string(),
            "unknown move \"F2\". Moves of test: R R2 R' U x x'"
        );
        assert_eq!(chosen("R,U,R").unwrap_err().to_string(), "the move \"R\" is given twice");
        assert_eq!(
            chosen("U,R,U'").unwrap_err().to_string(),
            "the move \"U'\" is given twice: it is the same as \"U\""
        );
        let still = puzzle(5, &[("R", "()")]);
        assert_eq!(
            still.select(Metric::Multi, "R").unwrap_err().to_string(),
            "unknown move \"R\". Moves of test: none that change anything"
        );
        assert_eq!(
            chosen(" ,").unwrap_err().to_string(),
            "no moves are given: name at least one, for example R"
        );
        assert_eq!(
            cube.select(Metric::Given, "R2").unwrap_err().to_string(),
            "unknown move \"R2\". Moves of test: R U x"
        );
    }
}
