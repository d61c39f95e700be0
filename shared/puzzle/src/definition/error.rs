//! What can be wrong with a definition.

use super::Definition;
use crate::Metric;

/// Why something is no definition of a puzzle. Cells count from 1, as users write them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// There are no orbits, or an orbit has no cells.
    #[error("the puzzle has no cells: it needs at least one orbit, and each orbit at least one cell")]
    NoCells,
    /// The pieces of an orbit have 0 orientations.
    #[error("the pieces of {0:?} have 0 orientations: write 1 where orientation does not matter")]
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
    #[error("the free moves make a group of more than {limit} elements", limit = Definition::MAX_FREE)]
    TooManyFree,
    /// Two orbits, or two generators, have one name.
    #[error("the name {0:?} is given twice")]
    NameTwice(String),
    /// The name of the puzzle cannot be printed in one line.
    #[error("the puzzle's name {name:?} has the character {control:?}: give it a name of one line")]
    BadTitle {
        /// The name.
        name: String,
        /// The character.
        control: char,
    },
    /// The name of the puzzle is blank.
    #[error("the name of the puzzle is blank: give it a name")]
    NoTitle,
    /// The name of a generator begins with a sign that has a meaning in sequences.
    #[error(
        "{0:?} is no name of a move: a name does not begin with a sign that means something in sequences, which are [ ] * ' ^ and :"
    )]
    BeginsWithSign(String),
    /// A name cannot be written on the command line.
    #[error("{0:?} is no name: names are not empty, without blanks, commas, quotes and parentheses")]
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
    #[error("{name} turns the piece on cell {cell} modulo {found}, but it has {order} orientations")]
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
        "{name} carries the piece on cell {from} ({from_orbit}) to cell {to} ({to_orbit}), another orbit"
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
    #[error("the guard of {name} has cell {cell}, but the puzzle has {cells} cells")]
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
        "{name} carries the piece on cell {cell} to cell {to}, but cell {cell} is in its guard: a move leaves its guard where it is"
    )]
    GuardMoves {
        /// The generator.
        name: String,
        /// The cell of the guard, from 1.
        cell: usize,
        /// The cell to which the generator carries the piece, from 1.
        to: usize,
    },
    /// The limits of the states name a cell, or the cell of a piece, that does not exist.
    #[error("states are limited by cell {cell}, but the puzzle has {cells} cells")]
    AlwaysCell {
        /// The cell, from 1.
        cell: usize,
        /// The number of cells of the puzzle.
        cells: usize,
    },
    /// The limits rule out the solved state.
    #[error(
        "the solved state is ruled out: cell {cell} holds a piece that looks like one that never stands there"
    )]
    NeverSolved {
        /// The cell, from 1.
        cell: usize,
    },
    /// States are limited and there are free moves: among the words of one state, some would satisfy the
    /// limits and others would not.
    #[error(
        "states are limited by what cells always or never hold, and there are free moves: only one of both can be"
    )]
    AlwaysFree,
    /// States are limited, and a metric asks for powers or inverses that are not listed.
    #[error(
        "the states of {0} are limited by what cells always or never hold, so powers and inverses that are not listed are no moves: leave out --metric {1}"
    )]
    AlwaysListed(String, Metric),
    /// The solved state has another number of pieces than the puzzle has cells.
    #[error("the solved state tells {found} pieces, but the puzzle has {cells} cells")]
    SolvedCells {
        /// The number of pieces of the solved state.
        found: usize,
        /// The number of cells of the puzzle.
        cells: usize,
    },
    /// The orientation of a solved piece is not below the number of orientations.
    #[error("the piece on cell {cell} is solved with orientation {orientation}, but it has {order} of them")]
    SolvedOrientation {
        /// The cell, from 1.
        cell: usize,
        /// The orientation as given.
        orientation: u16,
        /// The number of orientations of the orbit.
        order: u16,
    },
    /// The number of orientations that are told apart is not a divisor of the orbit's number.
    #[error(
        "{seen} orientations of the piece on cell {cell} cannot be told apart: that is no divisor of its {order}"
    )]
    Seen {
        /// The cell, from 1.
        cell: usize,
        /// The number as given.
        seen: u16,
        /// The number of orientations of the orbit.
        order: u16,
    },
    /// Pieces with one label differ in their orbits or in the orientations that are told apart.
    #[error("the pieces on cells {first} and {second} have one label, but differ in {what}")]
    UnlikePieces {
        /// The first cell, from 1.
        first: usize,
        /// The second cell, from 1.
        second: usize,
        /// The property in which they differ.
        what: &'static str,
    },
    /// There is no orbit of this name.
    #[error("there is no orbit {name:?}: the orbits are {known}")]
    NoSuchOrbit {
        /// The name as written.
        name: String,
        /// The names of the orbits of the puzzle.
        known: String,
    },
    /// Pieces cannot be given labels of their own, because guards or limits ask for labels.
    #[error(
        "the guards and limits of {0} ask for labels, and other states would be meant if pieces that look alike were told apart"
    )]
    Guarded(String),
    /// All orbits would be left out.
    #[error("{0} has no piece left if all of its orbits are left out")]
    NothingLeft(String),
    /// Orbits cannot be left out, because guards or limits ask for their cells.
    #[error("guards or limits of {0} ask for pieces of an orbit that would be left out")]
    AskedFor(String),
    /// The puzzle has no moves, so that there is nothing to search.
    #[error("the puzzle has no moves")]
    NoMoves,
}
