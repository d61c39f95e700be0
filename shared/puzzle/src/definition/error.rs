//! What can be wrong with a definition.

use super::Definition;

/// Why something is no definition of a puzzle. Cells are counted from 1 where they are written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// No orbits, or an orbit without cells.
    #[error("the puzzle has no cells: it needs at least one orbit, and each orbit at least one cell")]
    NoCells,
    /// An orbit whose pieces have 0 orientations.
    #[error("the pieces of {0:?} have 0 orientations: write 1 where orientation does not matter")]
    NoOrientations(String),
    /// Above the limit.
    #[error(
        "the puzzle has {points} points (cells times orientations), more than {limit}",
        limit = Definition::MAX_POINTS
    )]
    TooManyPoints {
        /// Their number.
        points: usize,
    },
    /// Above the limit.
    #[error("there are more than {limit} moves", limit = Definition::MAX_MOVES)]
    TooManyMoves,
    /// Above the limit.
    #[error("the free moves make a group of more than {limit} elements", limit = Definition::MOST_FREE)]
    TooManyFree,
    /// Two orbits, or two generators, of one name.
    #[error("the name {0:?} is given twice")]
    NameTwice(String),
    /// A name that could not be written on the command line.
    #[error("{0:?} is no name: names are not empty, without blanks, commas, quotes and parentheses")]
    BadName(String),
    /// A generator of another puzzle.
    #[error("{name} acts on {found} cells, but the puzzle has {cells}")]
    OtherCells {
        /// The generator.
        name: String,
        /// Its number of cells.
        found: usize,
        /// The puzzle's number of cells.
        cells: usize,
    },
    /// A generator made for other numbers of orientations.
    #[error("{name} turns the piece on cell {cell} modulo {found}, but it has {order} orientations")]
    OtherOrders {
        /// The generator.
        name: String,
        /// The first such cell, from 1.
        cell: usize,
        /// The modulus of the generator.
        found: u16,
        /// The number of orientations of the orbit.
        order: u16,
    },
    /// A generator that carries a piece into another orbit.
    #[error(
        "{name} carries the piece on cell {from} ({from_orbit}) to cell {to} ({to_orbit}), another orbit"
    )]
    BetweenOrbits {
        /// The generator.
        name: String,
        /// The cell that the piece leaves, from 1.
        from: usize,
        /// Its orbit.
        from_orbit: String,
        /// The cell that it reaches, from 1.
        to: usize,
        /// Its orbit.
        to_orbit: String,
    },
    /// A guard on a cell that is not there.
    #[error("the guard of {name} has cell {cell}, but the puzzle has {cells} cells")]
    GuardCell {
        /// The generator.
        name: String,
        /// The cell, from 1.
        cell: usize,
        /// The puzzle's number of cells.
        cells: usize,
    },
    /// A guard on a cell that the generator itself moves.
    #[error(
        "{name} carries the piece on cell {cell} to cell {to}, but cell {cell} is in its guard: a move leaves its guard where it is"
    )]
    GuardMoves {
        /// The generator.
        name: String,
        /// The cell of the guard, from 1.
        cell: usize,
        /// The cell that its piece reaches, from 1.
        to: usize,
    },
    /// States limited by a cell that is not there.
    #[error("states are limited by cell {cell}, but the puzzle has {cells} cells")]
    AlwaysCell {
        /// The cell, from 1.
        cell: usize,
        /// The puzzle's number of cells.
        cells: usize,
    },
    /// The solved state itself is ruled out.
    #[error(
        "the solved state is ruled out: cell {cell} holds a piece that looks like one that never stands there"
    )]
    NeverSolved {
        /// The cell, from 1.
        cell: usize,
    },
    /// Limited states and free moves: of the words of one state some would be states, and others not.
    #[error(
        "states are limited by what cells always or never hold, and there are free moves: only one of both can be"
    )]
    AlwaysFree,
    /// Limited states, and powers or inverses that are not listed.
    #[error(
        "the states of {0} are limited by what cells always or never hold: its moves are those that are listed, without --metric"
    )]
    AlwaysListed(String),
    /// A solved state of another puzzle.
    #[error("the solved state tells {found} pieces, but the puzzle has {cells} cells")]
    SolvedCells {
        /// The number of pieces told.
        found: usize,
        /// The puzzle's number of cells.
        cells: usize,
    },
    /// A piece turned further than it can be.
    #[error("the piece on cell {cell} is solved with orientation {orientation}, but it has {order} of them")]
    SolvedOrientation {
        /// The cell, from 1.
        cell: usize,
        /// The orientation as given.
        orientation: u16,
        /// The number of orientations.
        order: u16,
    },
    /// Orientations told apart by something else than a divisor.
    #[error(
        "{seen} of the {order} orientations of the piece on cell {cell} cannot be told apart: use a divisor"
    )]
    Seen {
        /// The cell, from 1.
        cell: usize,
        /// The number as given.
        seen: u16,
        /// The number of orientations.
        order: u16,
    },
    /// Interchangeable pieces that differ.
    #[error("the pieces on cells {first} and {second} have one label, but differ in {what}")]
    UnlikePieces {
        /// The first cell, from 1.
        first: usize,
        /// The second cell, from 1.
        second: usize,
        /// In what they differ.
        what: &'static str,
    },
    /// An orbit that is not there.
    #[error("there is no orbit {name:?}: there are {known}")]
    NoSuchOrbit {
        /// The name as written.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Pieces would be told apart where guards or limits ask for labels.
    #[error(
        "the guards and limits of {0} ask for labels, and other states would be meant if all pieces were told apart"
    )]
    Guarded(String),
    /// Cells would be left out that guards or limits ask for.
    #[error("guards or limits of {0} ask for pieces of an orbit that would be left out")]
    AskedFor(String),
    /// Nothing to search with.
    #[error("the puzzle has no moves")]
    NoMoves,
}
