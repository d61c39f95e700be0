//! The cells of words, and the orbits that moves make of them.

/// The number of a cell.
pub type Cell = u16;

/// Cells between which moves carry pieces.
#[derive(Clone, Debug)]
pub(crate) struct CellOrbit {
    pub(crate) cells: Box<[Cell]>,
    /// The labels of the pieces on these cells.
    pub(crate) labels: Box<[u8]>,
    /// Whether every move keeps the sum of the orientations.
    pub(crate) keeps_sum: bool,
}
