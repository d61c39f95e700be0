//! Errors of a definition.

use super::Definition;
use crate::Metric;

/// Why a definition is invalid. Cells are numbered from 1, as users write them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// There are no orbits, or an orbit has no cells.
    #[error("the puzzle has no cells: it needs at least one orbit, and each orbit at least one cell")]
    NoCells,
    /// The pieces of an orbit have 0 orientations.
    #[error("orbit {0:?} has 0 orientations: use 1 if orientation does not matter")]
    NoOrientations(String),
    /// The puzzle has more points than [`Definition::MAX_POINTS`].
    #[error(
        "the puzzle has {points} points (cells times orientations), more than {limit}",
        limit = Definition::MAX_POINTS
    )]
    TooManyPoints {
        /// The number of points.
        points: usize,
    },
    /// There are more generators than [`Definition::MAX_MOVES`].
    #[error("there are more than {limit} moves", limit = Definition::MAX_MOVES)]
    TooManyMoves,
    /// The group of the free moves has more elements than [`Definition::MAX_FREE`].
    #[error("the free moves generate a group of more than {limit} elements", limit = Definition::MAX_FREE)]
    TooManyFree,
    /// Two orbits, or two generators, have the same name.
    #[error("the name {0:?} is used twice")]
    NameTwice(String),
    /// The name of the puzzle cannot be printed in one line.
    #[error(
        "the puzzle's name {name:?} contains the character {control:?}: use printable characters, on one line"
    )]
    BadTitle {
        /// The name.
        name: String,
        /// The character.
        control: char,
    },
    /// The name of the puzzle is blank.
    #[error("the puzzle's name is blank: give it a name")]
    NoTitle,
    /// The name of a generator begins with a character that has a meaning in sequences.
    #[error(
        "{0:?} is not a move name: a name cannot begin with [ ] * ' ^ or :, which have a meaning in sequences"
    )]
    BeginsWithSign(String),
    /// A name cannot be written on the command line.
    #[error(
        "{0:?} is not a valid name: a name is not empty and has no blanks, commas, quotes, parentheses or invisible characters"
    )]
    BadName(String),
    /// A generator acts on another number of cells.
    #[error("{name} acts on {found} cells, but the puzzle has {cells}")]
    OtherCells {
        /// The generator.
        name: String,
        /// The number of cells of the generator.
        found: usize,
        /// The number of cells of the puzzle.
        cells: usize,
    },
    /// A generator has other numbers of orientations than the orbits.
    #[error("{name} turns the piece on cell {cell} modulo {found}, but the piece has {order} orientations")]
    OtherOrders {
        /// The generator.
        name: String,
        /// The first cell where they differ, from 1.
        cell: usize,
        /// The modulus of the generator.
        found: u16,
        /// The number of orientations of the orbit.
        order: u16,
    },
    /// A generator carries a piece into another orbit.
    #[error(
        "{name} carries the piece on cell {from} ({from_orbit}) to cell {to} ({to_orbit}), which is in another orbit"
    )]
    BetweenOrbits {
        /// The generator.
        name: String,
        /// The cell that the piece leaves, from 1.
        from: usize,
        /// The orbit of the cell that the piece leaves.
        from_orbit: String,
        /// The cell that the piece reaches, from 1.
        to: usize,
        /// The orbit of the cell that the piece reaches.
        to_orbit: String,
    },
    /// A guard names a cell that does not exist.
    #[error("the guard of {name} names cell {cell}, but the puzzle has {cells} cells")]
    GuardCell {
        /// The generator.
        name: String,
        /// The cell, from 1.
        cell: usize,
        /// The number of cells of the puzzle.
        cells: usize,
    },
    /// A guard names a cell that the generator itself moves.
    #[error(
        "{name} carries the piece on cell {cell} to cell {to}, but cell {cell} is in its guard: a move must leave the pieces on the cells of its guard where they are"
    )]
    GuardMoves {
        /// The generator.
        name: String,
        /// The cell of the guard, from 1.
        cell: usize,
        /// The cell to which the generator carries the piece, from 1.
        to: usize,
    },
    /// The limits on states name a cell, or the cell of a piece, that does not exist.
    #[error("the limits on states name cell {cell}, but the puzzle has {cells} cells")]
    AlwaysCell {
        /// The cell, from 1.
        cell: usize,
        /// The number of cells of the puzzle.
        cells: usize,
    },
    /// The limits rule out the solved state.
    #[error(
        "the solved state is ruled out: cell {cell} holds a piece with the same label as one that is never allowed there"
    )]
    NeverSolved {
        /// The cell, from 1.
        cell: usize,
    },
    /// States are limited and there are free moves: of the representations of one state, some would satisfy
    /// the limits and others would not.
    #[error(
        "limits on states ('always', 'never') and guards that name pieces cannot be combined with free moves"
    )]
    AlwaysFree,
    /// Distances are not from the solved state alone.
    #[error(
        "{0} has other start states than the solved one, so its states can only be listed: use 'fathom run' without workers"
    )]
    OtherStarts(String),
    /// Some moves ask for pieces on any cells.
    #[error(
        "{0} has moves with guards that name pieces, so its states can only be listed: use 'fathom run' without workers"
    )]
    Asks(String),
    /// A guard names a piece that is never on the cell.
    #[error("the guard of {name} asks cell {cell} for piece {piece}, which belongs to another orbit")]
    AsksOtherOrbit {
        /// The generator.
        name: String,
        /// The cell, from 1.
        cell: usize,
        /// The piece, from 1.
        piece: usize,
    },
    /// A guard asks a cell for no piece, or for pieces that exclude each other.
    #[error(
        "the guard of {name} can never be met: it asks cell {cell} for pieces that exclude each other, or for none"
    )]
    AsksContradict {
        /// The generator.
        name: String,
        /// The cell, from 1.
        cell: usize,
    },
    /// The set of starts has no state.
    #[error("there are no start states: give at least one")]
    NoStarts,
    /// Moves give the start states of a puzzle whose states are limited.
    #[error(
        "limits on states ('always', 'never') cannot be combined with start states that moves give: list the states"
    )]
    LimitedStartsBy,
    /// A start state is excluded by the limits on states.
    #[error("start state {number} is excluded by the limits on states ('always', 'never')")]
    StartLimited {
        /// The number of the start, from 1.
        number: usize,
    },
    /// States are limited, and a metric asks for powers or inverses that are not listed.
    #[error(
        "{0} restricts which states are allowed, so its moves are used exactly as listed, without powers or inverses. Drop --metric {1}"
    )]
    AlwaysListed(String, Metric),
    /// The solved state has another number of pieces than the puzzle has cells.
    #[error("the solved state lists {found} pieces, but the puzzle has {cells} cells")]
    SolvedCells {
        /// The number of pieces of the solved state.
        found: usize,
        /// The number of cells of the puzzle.
        cells: usize,
    },
    /// The orientation of a solved piece is not below the number of orientations.
    #[error(
        "the piece on cell {cell} has orientation {orientation} in the solved state, but has only {order} orientations, numbered from 0"
    )]
    SolvedOrientation {
        /// The cell, from 1.
        cell: usize,
        /// The orientation as given.
        orientation: u16,
        /// The number of orientations of the orbit.
        order: u16,
    },
    /// The number of distinguished orientations is not a divisor of the orbit's number.
    #[error(
        "{seen} orientations of the piece on cell {cell} cannot be distinguished: not a divisor of its {order} orientations"
    )]
    Seen {
        /// The cell, from 1.
        cell: usize,
        /// The number as given.
        seen: u16,
        /// The number of orientations of the orbit.
        order: u16,
    },
    /// Pieces with the same label differ in their orbits or in the number of distinguished orientations.
    #[error("the pieces on cells {first} and {second} have the same label, but differ in {what}")]
    UnlikePieces {
        /// The first cell, from 1.
        first: usize,
        /// The second cell, from 1.
        second: usize,
        /// The property in which they differ.
        what: &'static str,
    },
    /// There is no orbit of this name.
    #[error("unknown orbit {name:?}: the orbits are {known}")]
    NoSuchOrbit {
        /// The name as written.
        name: String,
        /// The names of the orbits of the puzzle.
        known: String,
    },
    /// Pieces cannot be given labels of their own, because guards or limits refer to labels.
    #[error(
        "the guards and limits of {0} refer to labels, so pieces with the same label cannot be distinguished"
    )]
    Guarded(String),
    /// All orbits would be omitted.
    #[error("{0} would have no pieces left: keep at least one of its orbits")]
    NothingLeft(String),
    /// Orbits cannot be omitted, because guards or limits refer to their cells.
    #[error("guards or limits of {0} refer to pieces of an orbit that would be omitted")]
    AskedFor(String),
    /// The puzzle has no moves, so that there is nothing to search.
    #[error("the puzzle has no moves")]
    NoMoves,
}
