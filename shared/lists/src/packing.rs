//! Packed states without the type of their keys, for readers of single states.

use crate::list_space::words;
use crate::{Key, ListSpace, with_key};
use fathom_puzzle::Puzzle;
use fathom_space::Labels;
use std::fmt::Debug;

/// Packs states whose pieces are known cell by cell, as [`ListSpace`] does, into the bytes that lists have.
pub trait Packing: Debug + Send + Sync {
    /// Returns the symbol of a piece in an orientation on a cell; `None` if it never comes to the cell.
    fn symbol(&self, piece: usize, orientation: u16, cell: usize) -> Option<u64>;

    /// Returns the bytes of the state with these symbols, one for each cell. With free moves, they are those of the
    /// smallest vector of the state.
    fn pack(&self, symbols: &[u64]) -> Vec<u8>;

    /// Returns the symbol on each cell of a state.
    fn symbols(&self, bytes: &[u8]) -> Vec<u64>;
}

impl<K: Key> Packing for ListSpace<K> {
    fn symbol(&self, piece: usize, orientation: u16, cell: usize) -> Option<u64> {
        self.symbol_of(piece, orientation, cell)
    }

    fn pack(&self, symbols: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0; self.state_bytes()];
        self.write(&self.of_symbols(symbols), &mut bytes);
        bytes
    }

    fn symbols(&self, bytes: &[u8]) -> Vec<u64> {
        self.symbols_of(&self.read(bytes))
    }
}

/// Returns the packing of a puzzle with labels.
pub fn packing(puzzle: &Puzzle, labels: &Labels) -> Box<dyn Packing> {
    fn of<K: Key>(puzzle: &Puzzle, labels: &Labels) -> Box<dyn Packing> {
        Box::new(ListSpace::<K>::new(puzzle, labels))
    }
    with_key!(words(puzzle, labels), of(puzzle, labels))
}
