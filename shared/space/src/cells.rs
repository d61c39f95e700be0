//! The cells of words, and their orbits under the moves.

/// The number of a cell.
pub type Cell = u16;

/// An orbit of cells: moves carry pieces between them.
#[derive(Clone, Debug)]
pub(crate) struct CellOrbit {
    pub(crate) cells: Box<[Cell]>,
    /// The labels of the pieces on these cells.
    pub(crate) labels: Box<[u8]>,
    /// Whether every move keeps the sum of the orientations.
    pub(crate) keeps_sum: bool,
}
