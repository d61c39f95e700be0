//! Translates between the words of a model and those of its space, which use different letters.

use super::model::SolveModel;
use fathom_engine::run::{ListedSpace, RunSpace};
use fathom_lists::{Packing, packing};
use fathom_space::Space;
use rustc_hash::FxHashMap;

/// Translates between the words of a model and the states of a run: words of its space, or packed states.
#[derive(Debug)]
pub enum SpaceWords<'s> {
    /// The run is by cosets.
    Cosets(CosetWords<'s>),
    /// The run lists states.
    Lists(ListWords),
}

impl<'s> SpaceWords<'s> {
    /// Creates the tables for a model and a run that were built from the same
    /// [`SpaceSpec`](fathom_engine::run::SpaceSpec).
    pub fn new(model: &'s SolveModel, space: &'s RunSpace) -> Self {
        match space {
            RunSpace::Cosets(space) => Self::Cosets(CosetWords::new(model, space)),
            RunSpace::Lists(space) => Self::Lists(ListWords::new(model, space)),
        }
    }

    /// Returns the state of the run for a word of the model; `None` if some piece is on a cell that it cannot reach.
    pub fn in_space(&self, word: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Cosets(words) => words.in_space(word),
            Self::Lists(words) => words.in_space(word),
        }
    }

    /// Writes the state of the run for a word of the model to `state`. Returns false if some piece is on a cell that it
    /// cannot reach.
    pub fn write_in_space(&self, word: &[u8], state: &mut Vec<u8>) -> bool {
        state.clear();
        if let Self::Cosets(CosetWords { of_letters: Some(of_letters), tables, .. }) = self {
            let symbols =
                tables.iter().zip(word).map(|(&table, &letter)| of_letters[table][usize::from(letter)]);
            state.extend(symbols.map_while(|symbol| symbol));
            return state.len() == word.len();
        }
        self.in_space(word).map(|found| state.extend(found)).is_some()
    }

    /// Appends the word of the model for a state of the run to `words`; `None` if the model has no letter for one of the
    /// pieces.
    pub(crate) fn add_in_model(&self, word: &[u8], words: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Cosets(CosetWords { of_symbols: Some(of_symbols), tables, .. }) => {
                for (&table, &symbol) in tables.iter().zip(word) {
                    words.push(of_symbols[table][usize::from(symbol)]?);
                }
            }
            _ => words.extend(self.in_model(word)?),
        }
        Some(())
    }

    /// Returns the word of the model for a state of the run; `None` if the model has no letter for one of the pieces.
    pub fn in_model(&self, word: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Cosets(words) => words.in_model(word),
            Self::Lists(words) => words.in_model(word),
        }
    }
}

/// Tables that translate between the letters of a model and the symbols of packed states, cell by cell.
#[derive(Debug)]
pub struct ListWords {
    packing: Box<dyn Packing>,
    symbols: Vec<FxHashMap<u8, u64>>,
    letters: Vec<FxHashMap<u64, u8>>,
}

impl ListWords {
    fn new(model: &SolveModel, space: &ListedSpace) -> Self {
        let (orientation_counts, solved) = (model.definition.orientation_counts(), model.definition.solved());
        let packing = packing(&space.puzzle, &space.labels);
        let (mut symbols, mut letters) = (Vec::new(), Vec::new());
        for cell in 0..space.puzzle.cells {
            let (mut of_letter, mut of_symbol) = (FxHashMap::default(), FxHashMap::default());
            for piece in 0..space.puzzle.cells {
                for turn in 0..orientation_counts[piece] {
                    let counted = turn + solved[piece].orientation + orientation_counts[piece];
                    // A letter that hides the orientation may stand for any.
                    if let Some(counted) = counted.checked_sub(solved[cell].orientation)
                        && let Some(symbol) = packing.symbol(piece, counted, cell)
                    {
                        let letter = model.alphabet.letter(piece, turn);
                        of_letter.insert(letter, symbol);
                        of_symbol.insert(symbol, letter);
                    }
                }
            }
            symbols.push(of_letter);
            letters.push(of_symbol);
        }
        Self { packing, symbols, letters }
    }

    fn in_space(&self, word: &[u8]) -> Option<Vec<u8>> {
        let symbols = self.symbols.iter().zip(word).map(|(symbols, letter)| symbols.get(letter).copied());
        Some(self.packing.pack(&symbols.collect::<Option<Vec<_>>>()?))
    }

    fn in_model(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let symbols = self.packing.symbols(bytes);
        self.letters.iter().zip(symbols).map(|(letters, symbol)| letters.get(&symbol).copied()).collect()
    }
}

/// Tables that translate between the letters of a model and pieces of a space: the label of a piece and its
/// orientation, as the space counts orientations.
#[derive(Clone, Debug)]
pub struct CosetWords<'s> {
    model: &'s SolveModel,
    space: &'s Space,
    /// By cell: the number of its table.
    tables: Vec<usize>,
    /// By table, the label and the orientation for each letter of the model.
    pieces: Vec<FxHashMap<u8, (u16, u8)>>,
    /// By table, the letter of the model for each label and orientation.
    letters: Vec<FxHashMap<(u16, u8), u8>>,
    /// By table, the letter of the model for each symbol, if the space has the cells of the puzzle.
    of_symbols: Option<Vec<[Option<u8>; 256]>>,
    /// By table, the symbol for each letter of the model, if the space has the cells of the puzzle.
    of_letters: Option<Vec<[Option<u8>; 256]>>,
}

impl<'s> CosetWords<'s> {
    fn new(model: &'s SolveModel, space: &'s Space) -> Self {
        let (orientation_counts, solved) = (model.definition.orientation_counts(), model.definition.solved());
        let labels = space.piece_labels().of_pieces();
        let (mut pieces, mut letters) = (Vec::new(), Vec::new());
        let (mut tables, mut known) = (Vec::new(), FxHashMap::default());
        for cell in 0..labels.len() {
            // Cells that the same pieces reach in the same orientations, and whose own pieces are solved
            // in the same orientation, have the same table.
            let first = (0..labels.len()).find(|&piece| space.comes_to(piece, cell));
            let key = (first, solved[cell].orientation, space.point_orbit(cell));
            let number = *known.entry(key).or_insert(pieces.len());
            tables.push(number);
            if number < pieces.len() {
                continue;
            }
            let (mut of_letter, mut of_piece) = (FxHashMap::default(), FxHashMap::default());
            for piece in (0..labels.len()).filter(|&piece| space.comes_to(piece, cell)) {
                for turn in 0..orientation_counts[piece] {
                    // A space counts the orientations of pieces from those in the solved state.
                    let counted = turn + solved[piece].orientation + orientation_counts[piece]
                        - solved[cell].orientation;
                    let told =
                        (labels[piece], (counted % orientation_counts[piece] % space.shown(piece)) as u8);
                    let letter = model.alphabet.letter(piece, turn);
                    // A letter that hides the orientation represents the orientation that moves bring here.
                    if space.may_stand(piece, turn, cell) {
                        of_letter.insert(letter, told);
                    }
                    of_piece.insert(told, letter);
                }
            }
            pieces.push(of_letter);
            letters.push(of_piece);
        }
        let symbols = space.symbols();
        let of_table = |letters: &FxHashMap<(u16, u8), u8>| {
            let told = |symbol: u8| (symbols.mark(symbol).into(), symbols.orientation(symbol));
            std::array::from_fn(|symbol| match symbol < symbols.count() {
                true => letters.get(&told(symbol as u8)).copied(),
                false => None,
            })
        };
        let of_symbols = (!space.is_reduced()).then(|| letters.iter().map(of_table).collect());
        let of_table = |pieces: &FxHashMap<u8, (u16, u8)>| {
            std::array::from_fn(|letter| {
                let &(label, orientation) = pieces.get(&(letter as u8))?;
                Some(symbols.letter(label as u8, orientation % symbols.seen(label as u8)))
            })
        };
        let of_letters = (!space.is_reduced()).then(|| pieces.iter().map(of_table).collect());
        Self { model, space, tables, pieces, letters, of_symbols, of_letters }
    }

    fn in_space(&self, word: &[u8]) -> Option<Vec<u8>> {
        let tables = self.tables.iter().map(|&table| &self.pieces[table]);
        let pieces = tables.zip(word).map(|(pieces, letter)| pieces.get(letter).copied());
        let found = self.space.word_of_pieces(&pieces.collect::<Option<Vec<_>>>()?)?;
        // Another state may have the same pieces on the cells that words of the space distinguish.
        let is_other = || {
            let back = self.in_model(&found);
            back.is_none_or(|back| back != word && self.model.reduced(&back) != self.model.reduced(word))
        };
        (!self.space.tells_only_some() || !is_other()).then_some(found)
    }

    fn in_model(&self, word: &[u8]) -> Option<Vec<u8>> {
        if let Some(of_symbols) = &self.of_symbols {
            let letter = |(&table, &symbol): (&usize, &u8)| of_symbols[table][usize::from(symbol)];
            return self.tables.iter().zip(word).map(letter).collect();
        }
        let pieces = self.space.pieces(word);
        let tables = self.tables.iter().map(|&table| &self.letters[table]);
        tables.zip(pieces).map(|(letters, piece)| letters.get(&piece).copied()).collect()
    }
}
