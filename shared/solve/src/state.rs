//! Reads and writes states, and explains why a state cannot be reached.

use super::model::{MAX_POINTS, SolveModel};
use crate::elements;
use fathom_algebra::expression::{self, Named};
use fathom_algebra::{CycleError, ExpressionError, Group, OrientedPermutation, Permutation, Turn, Turns};
use fathom_engine::membership::why_not;
use fathom_puzzle::family::square1::{LettersError, Sequence};
use fathom_puzzle::tiles;
use fathom_puzzle::{Generator, PuzzleSpec};

fn joined(numbers: impl IntoIterator<Item = impl ToString>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

/// The maximum number of single turns that replace a power that is not itself a move.
const MAX_TURNS: u64 = 1 << 16;

/// The maximum number of move names listed in a message.
const MAX_LISTED: usize = 40;

/// Why a text is not a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The text begins like cycles, but is malformed.
    #[error(
        "{0}; cycles are written as (1,2,3)(4,5), with cells numbered from 1 and turns after them, as in (1+1,2+2)"
    )]
    Cycles(CycleError),
    /// The text looks like tiles, but does not name each tile once.
    #[error("{0}")]
    Tiles(String),
    /// The text is tiles, but pieces of this puzzle also have orientations.
    #[error(
        "a list of tiles does not give the orientations of the pieces of {0}. Use cycles such as (1+1,2+2), or moves with --scramble"
    )]
    Turned(String),
    /// The text is neither tiles nor cycles.
    #[error("{0:?} is neither a list of tiles nor cycles. To give moves, add --scramble")]
    Neither(String),
    /// A malformed expression in the moves of a board.
    #[error("{0}")]
    Expression(ExpressionError),
    /// A malformed sequence of Square-1.
    #[error("{0}")]
    SquareOne(LettersError),
    /// A move whose guard does not hold.
    #[error("move {number}, {name}, is not possible after the moves before it")]
    Blocked {
        /// The number of the move in the sequence, from 1.
        number: usize,
        /// The name of the move.
        name: String,
    },
    /// A malformed move sequence of another puzzle.
    #[error("at offset {at}: {reason}")]
    Moves {
        /// Byte offset.
        at: usize,
        /// The reason.
        reason: String,
    },
}

/// The meaning of a name in a sequence.
#[derive(Clone, Copy, Debug)]
enum Role {
    Move,
    Free,
    Spare,
}

/// One move of a sequence.
#[derive(Clone, Debug)]
struct Step {
    name: String,
    action: OrientedPermutation,
    /// Guards, one of which must hold, in addition to the limits of states; empty if the step is always
    /// possible.
    asks: Vec<Box<[u16]>>,
}

impl SolveModel {
    /// Reads a state: as moves that lead to it from the solved state if `is_scramble`, and otherwise as tiles
    /// row by row or as cycles of cells. The returned element carries each piece from its own cell to the
    /// cell where it is.
    ///
    /// # Errors
    /// [`StateError`] with the reason and, if known, the position.
    pub fn read(&self, text: &str, is_scramble: bool) -> Result<OrientedPermutation, StateError> {
        let text = text.trim();
        if is_scramble {
            return self.read_moves(text);
        }
        match text.chars().next() {
            Some('(' | '[') => OrientedPermutation::parse(text, &self.definition.orientation_counts())
                .map_err(StateError::Cycles),
            Some(_) if tiles::is_tiles(text) => {
                if self.has_orientations() {
                    return Err(StateError::Turned(self.name().into()));
                }
                let tiles =
                    tiles::read_from_zero(text, self.definition.cells()).map_err(StateError::Tiles)?;
                Ok(OrientedPermutation::from_cells(elements::of_tiles(&tiles)))
            }
            _ => Err(StateError::Neither(text.into())),
        }
    }

    /// Reads moves: those of a board as `V1 H2^-1`, with powers of any expression; those of Square-1 as
    /// `(1,0)/(3,-3)/`, by their names, or in the article's letters; those of other puzzles as `R U2 F'`,
    /// with all permutations that the definition names.
    fn read_moves(&self, text: &str) -> Result<OrientedPermutation, StateError> {
        let definition = &self.definition;
        if let PuzzleSpec::Board(board) = self.source {
            // An expression is never empty.
            if text.is_empty() {
                return Ok(OrientedPermutation::identity(definition.orientation_counts()));
            }
            let shifts = board.lines().map(|line| (line.move_name(1), board.rotation(line, 1)));
            let shifts: Vec<(String, Permutation)> = shifts.collect();
            let named: Vec<Named> = shifts.iter().map(|(name, action)| Named { name, action }).collect();
            let element = expression::parse(text, board.cells(), &named).map_err(StateError::Expression)?;
            return Ok(OrientedPermutation::from_cells(element));
        }
        if self.square1.is_some() {
            let turns = Sequence::read(text).map_err(StateError::SquareOne)?;
            let steps = turns.0.iter().map(|turn| {
                let action = turn.action();
                Step { name: turn.to_string(), asks: self.guards_of(&action), action }
            });
            return self.one_by_one(steps);
        }
        let names = self.names();
        let mut move_named = |name: &str| {
            let found = names.iter().find(|(generator, _)| generator.name == name);
            Ok(found.map(|(generator, _)| generator.action.clone()))
        };
        let identity = OrientedPermutation::identity(definition.orientation_counts());
        let element = expression::sequence(text, &identity, &mut move_named);
        let element = element.map_err(|error| self.refused(error))?.unwrap_or(identity);
        if !definition.is_guarded() {
            return Ok(element);
        }
        self.one_by_one(self.written_out(text, &names)?)
    }

    /// Returns all permutations that the definition names, with their roles.
    fn names(&self) -> Vec<(Generator, Role)> {
        let definition = &self.definition;
        let moves = definition.moves().iter().chain(&self.generators).cloned();
        let free = definition.free().iter().cloned();
        let free = free.chain(definition.free_generators().unwrap_or_default());
        let free = free.chain(definition.third_rotation());
        let spare = definition.spare().iter().cloned();
        moves
            .map(|named| (named, Role::Move))
            .chain(free.map(|named| (named, Role::Free)))
            .chain(spare.map(|named| (named, Role::Spare)))
            .collect()
    }

    fn refused(&self, error: ExpressionError) -> StateError {
        let at = error.at();
        let ExpressionError::NoSuchGenerator { name, .. } = error else {
            return StateError::Moves { at, reason: error.reason() };
        };
        let definition = &self.definition;
        let third = definition.third_rotation();
        let named =
            definition.moves().iter().chain(definition.free()).chain(&third).chain(definition.spare());
        let mut known: Vec<&str> = named.map(|generator| generator.name.as_str()).collect();
        if known.len() > MAX_LISTED {
            known.truncate(MAX_LISTED);
            known.push("...");
        }
        let mut reason = format!("unknown move {name:?}. Moves: {}", known.join(" "));
        // Scrambles of the pyraminx turn its tips too, which `pyraminx` does not have.
        let with_tips = format!("{}+tips", self.name());
        if let Ok(PuzzleSpec::Defined(twin)) = PuzzleSpec::by_name(&with_tips)
            && twin.moves().iter().any(|tip| tip.name == name)
        {
            reason.push_str(&format!(
                ". {name} turns a tip, and {} has no tips: omit turns of tips, or use {with_tips}",
                self.name()
            ));
        }
        StateError::Moves { at, reason }
    }

    /// Returns the guards of all moves that have this action.
    fn guards_of(&self, action: &OrientedPermutation) -> Vec<Box<[u16]>> {
        let same = self.generators.iter().filter(|generator| generator.action == *action);
        same.map(|generator| generator.guard.clone()).collect()
    }

    /// Expands a sequence of `known` names into single moves. A power that is not itself a move becomes
    /// single turns.
    fn written_out(&self, text: &str, known: &[(Generator, Role)]) -> Result<Vec<Step>, StateError> {
        let mut named = |name: &str| {
            let place = known.iter().position(|(generator, _)| generator.name == name);
            Ok(place.map(|generator| Turns(vec![Turn { generator, exponent: 1 }])))
        };
        let turns = expression::sequence(text, &Turns::default(), &mut named);
        let turns = turns.map_err(|error| self.refused(error))?;
        let mut steps = Vec::new();
        for Turn { generator, exponent } in turns.unwrap_or_default().0 {
            let (Generator { name, action, guard, .. }, role) = &known[generator];
            let whole = action.power(exponent);
            let (single, times) = match self.generators.iter().any(|other| other.action == whole) {
                true => (whole, 1),
                false => (action.power(exponent.signum()), exponent.unsigned_abs()),
            };
            if times > MAX_TURNS {
                return Err(StateError::Moves {
                    at: 0,
                    reason: format!("{name} is repeated too often ({times} times)"),
                });
            }
            let asks = match role {
                // A power of a move has the same guard.
                Role::Move => vec![guard.clone()],
                Role::Free => Vec::new(),
                Role::Spare => self.guards_of(&single),
            };
            let step = Step { name: name.clone(), action: single, asks };
            steps.extend((0..times).map(|_| step.clone()));
        }
        Ok(steps)
    }

    /// Multiplies steps in order. Returns [`StateError::Blocked`] at the first that is not possible.
    fn one_by_one(&self, steps: impl IntoIterator<Item = Step>) -> Result<OrientedPermutation, StateError> {
        let label = |cell: usize| self.definition.solved()[cell].label;
        let mut state = OrientedPermutation::identity(self.definition.orientation_counts());
        for (number, Step { name, action, asks }) in (1..).zip(steps) {
            let back = state.cells().inverse();
            let holds = |cell: u16, piece: u16| label(back.apply(cell.into())) == label(piece.into());
            let are_home = |guard: &[u16]| guard.iter().all(|&cell| holds(cell, cell));
            let keeps_limits = || {
                let mut limits = self.definition.limits(&action);
                limits.all(|limit| holds(limit.cell, limit.piece) == limit.holds)
            };
            let may = asks.is_empty() || asks.iter().any(|guard| are_home(guard)) && keeps_limits();
            if !may {
                return Err(StateError::Blocked { number, name });
            }
            state = state.then(&action);
        }
        Ok(state)
    }

    /// Writes a state: as tiles row by row, or as cycles if pieces have orientations; sliding tiles from 1, with 0 for the
    /// blank.
    pub fn written_state(&self, element: &OrientedPermutation) -> String {
        if self.has_orientations() {
            return element.to_string();
        }
        let tiles = elements::tiles_of(element.cells());
        match self.sliding {
            Some(board) => joined(board.numbers(&tiles)),
            None => joined(tiles),
        }
    }

    /// Returns whether tiles are numbered from 1 in all texts.
    pub fn counts_from_one(&self) -> bool {
        self.sliding.is_some()
    }

    /// Explains why a state cannot be reached. `None` means that no reason was found; if all pieces are
    /// distinct, the state can then be reached.
    ///
    /// The checks are on the cells alone, then on the sum of the turns of each orbit, then on cells and turns
    /// together. Pieces that look alike may be exchanged, so the groups contain these exchanges besides the
    /// moves.
    pub fn why_not(&self, element: &OrientedPermutation) -> Option<String> {
        if let Some(cell) = self.missing(element) {
            return Some(format!("cell {} must always hold its own piece or one that looks alike", cell + 1));
        }
        if let Some((cell, piece)) = self.ruled_out(element) {
            let (cell, piece) = (cell + 1, piece + 1);
            return Some(format!(
                "cell {cell} must never hold the piece of cell {piece} or one that looks alike"
            ));
        }
        if let Some(told) = &self.told {
            let element =
                self.definition.seen_element(element, &self.definition.visible_orientation_counts());
            if element.is_some_and(|element| told.contains(&element)) {
                return None;
            }
            if self.shown.len() > MAX_POINTS {
                return Some("it is not in the group generated by the moves".into());
            }
        }
        let exchanges = self.exchanges();
        let (first, cells) = (&self.alphabet.first, self.definition.cells());
        let on_cells = |exchange: &Permutation| {
            Permutation::from_fn(cells, |cell| self.alphabet.cell_of(exchange.apply(first[cell])))
        };
        let of_cells = self.actions().map(|action| action.cells().clone());
        let of_cells: Vec<Permutation> = of_cells.chain(exchanges.iter().map(on_cells)).collect();
        if let Some((_, why)) = why_not(&Group::new(cells, of_cells), element.cells()) {
            return Some(why);
        }
        if !self.has_orientations() {
            return None;
        }
        self.turned_in_sum(element).or_else(|| {
            let of_points = self.actions().map(OrientedPermutation::as_points).chain(exchanges);
            let group = Group::new(self.alphabet.labels.len(), of_points.collect());
            let (_, why) = why_not(&group, &element.as_points())?;
            Some(format!("{why} (the points of a cell are the orientations of a piece there)"))
        })
    }

    /// Returns the first cell whose piece the definition fixes for all states, but which holds another piece.
    fn missing(&self, element: &OrientedPermutation) -> Option<u16> {
        let back = element.cells().inverse();
        let label = |cell: usize| self.definition.solved()[cell].label;
        let differs = |&cell: &u16| label(back.apply(cell.into())) != label(cell.into());
        self.definition.always().iter().copied().find(differs)
    }

    /// Returns the first cell that holds a piece which is forbidden there, and that piece.
    fn ruled_out(&self, element: &OrientedPermutation) -> Option<(u16, u16)> {
        let back = element.cells().inverse();
        let label = |cell: usize| self.definition.solved()[cell].label;
        let is_there = |&(cell, piece): &(u16, u16)| label(back.apply(cell.into())) == label(piece.into());
        self.definition.never().iter().copied().find(is_there)
    }

    /// Returns the actions of the moves and free moves.
    fn actions(&self) -> impl Iterator<Item = &OrientedPermutation> {
        self.generators.iter().chain(self.definition.free()).map(|generator| &generator.action)
    }

    /// Returns the reason if the turns of an orbit have a sum that cannot be reached. Only orbits whose turns
    /// are all visible, and whose sum every move keeps at 0, are considered.
    fn turned_in_sum(&self, element: &OrientedPermutation) -> Option<String> {
        let all_seen = |&orbit: &usize| {
            let cells = self.definition.cells_of(orbit);
            let order = self.definition.orbits()[orbit].orientations;
            order > 1 && cells.into_iter().all(|cell| self.definition.solved()[cell].seen == order)
        };
        (0..self.definition.orbits().len()).filter(all_seen).find_map(|number| {
            let orbit = &self.definition.orbits()[number];
            let sum = |element: &OrientedPermutation| {
                let turns = self.definition.cells_of(number).map(|cell| u64::from(element.turns()[cell]));
                turns.sum::<u64>() % u64::from(orbit.orientations)
            };
            let moves_keep_it = self.actions().all(|action| sum(action) == 0);
            (moves_keep_it && sum(element) != 0).then(|| {
                format!(
                    "the orientations of its {} add up to {} modulo {}, but every move keeps this sum at 0",
                    orbit.name,
                    sum(element),
                    orbit.orientations
                )
            })
        })
    }

    /// Returns generators of the permutations of points that leave the solved puzzle looking the same:
    /// exchanges of pieces that look alike, and turns of pieces that look the same after them.
    fn exchanges(&self) -> Vec<Permutation> {
        let orientation_counts = self.definition.orientation_counts();
        let (labels, first) = (&self.shown, &self.alphabet.first);
        let shown = |cell: usize| &labels[first[cell]..][..usize::from(orientation_counts[cell])];
        // Returns the smallest shift, at least `from`, after which the points of cell `a` show what those of
        // `b` show.
        let shift = |a: usize, b: usize, from: usize| {
            let (a, b) = (shown(a), shown(b));
            let fits = |&k: &usize| (0..a.len()).all(|i| a[i] == b[(i + k) % b.len()]);
            (a.len() == b.len()).then(|| (from..a.len()).find(fits)).flatten()
        };
        let mut exchanges = Vec::new();
        let mut add = |a: usize, b: usize, k: usize| {
            let order = usize::from(orientation_counts[a]);
            let (first, second) = (first[a], first[b]);
            exchanges.push(Permutation::from_fn(labels.len(), |point| {
                if (first..first + order).contains(&point) {
                    second + (point - first + k) % order
                } else if (second..second + order).contains(&point) {
                    first + (point - second + order - k) % order
                } else {
                    point
                }
            }));
        };
        for b in 0..orientation_counts.len() {
            if let Some((a, k)) = (0..b).find_map(|a| Some((a, shift(a, b, 0)?))) {
                add(a, b, k);
            }
            if let Some(k) = shift(b, b, 1) {
                add(b, b, k);
            }
        }
        exchanges
    }
}
