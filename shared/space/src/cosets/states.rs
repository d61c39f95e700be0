//! The states of a coset as words.

use super::{CosetGraph, CosetId};

/// The largest number of arrangements of an axis that are remembered, for those who read many states.
pub(super) const REMEMBERED: u64 = 4096;

/// Arrangements of the pieces along an axis.
#[derive(Debug)]
struct Arrangements {
    /// By slot, the remainder of an index: 1 + the index that is there, or 0.
    indices: Vec<u32>,
    /// By slot: the symbols on the cells along the axis.
    symbols: Vec<u8>,
}

/// Produces the words of the states of a representative coset. From one state to the next, only the pieces of
/// axes whose index changed are updated.
#[derive(Debug)]
pub struct StateWords<'a> {
    graph: &'a CosetGraph,
    coset: CosetId,
    /// By colour: its labels.
    labels: Vec<Vec<u8>>,
    /// By axis: for each of its parts the cells along the part.
    cells: Vec<Vec<Vec<usize>>>,
    /// By cell: the number of the label among those of its colour, and the orientation.
    told: Vec<(u8, u8)>,
    indices: Vec<u32>,
    /// The indices of the state before.
    before: Vec<Option<u32>>,
    /// By colour, if each has an axis of all its arrangements.
    arrangements: Vec<Arrangements>,
    word: Vec<u8>,
}

impl<'a> StateWords<'a> {
    /// Remembers up to `remembered` arrangements of each axis, at least one.
    pub(super) fn new(graph: &'a CosetGraph, coset: CosetId, remembered: u64) -> Self {
        let (colouring, pattern) = (graph.colouring(), graph.pattern(coset));
        let symbols = colouring.symbols();
        let mut labels: Vec<Vec<u8>> = Vec::new();
        for label in 0..graph.space().labels().sizes().len() as u8 {
            let colour = usize::from(colouring.of_label(label));
            labels.resize(labels.len().max(colour + 1), Vec::new());
            labels[colour].push(label);
        }
        let of_colour = |colour: usize| -> Vec<usize> {
            (0..pattern.len()).filter(|&cell| usize::from(symbols.mark(pattern[cell])) == colour).collect()
        };
        let cells: Vec<Vec<Vec<usize>>> = match colouring.reached_axes() {
            Some(axes) => {
                let parts = axes.iter().map(|axis| axis.form.parts());
                parts
                    .map(|parts| parts.iter().map(|part| of_colour(part.component.colour.into())).collect())
                    .collect()
            }
            None => (0..colouring.axes().len()).map(|colour| vec![of_colour(colour)]).collect(),
        };
        let axes = graph.shape().lengths().len();
        let arrangements = colouring.axes().iter().map(|axis| {
            let slots = axis.total().min(remembered) as usize;
            Arrangements { indices: vec![0; slots], symbols: vec![0; slots * axis.length()] }
        });
        let mut words = Self {
            graph,
            coset,
            labels,
            cells,
            // The axes overwrite the symbols that they hold.
            told: pattern.iter().map(|&letter| (0, symbols.orientation(letter))).collect(),
            indices: vec![0; axes],
            before: vec![None; axes],
            arrangements: arrangements.collect(),
            word: vec![0; pattern.len()],
        };
        (0..pattern.len()).for_each(|cell| words.show(cell));
        words
    }

    /// Returns the state at a position, as a word of symbols.
    pub fn at(&mut self, position: u32) -> &[u8] {
        let Self { graph, coset, .. } = *self;
        graph.shape().indices(position, graph.is_odd(coset), &mut self.indices);
        if let Some(axes) = graph.colouring().reached_axes() {
            let summand = position / graph.shape().summand_positions();
            let classes = graph.frames().summands(coset).classes(summand as usize);
            for ((index, axis), &class) in self.indices.iter_mut().zip(axes).zip(classes) {
                *index += u32::from(class) * axis.class as u32;
            }
        }
        for axis in 0..self.cells.len() {
            let index = self.indices[axis];
            if self.before[axis].replace(index) != Some(index) {
                self.set(axis, index);
            }
        }
        &self.word
    }

    /// Sets the cells along an axis.
    fn set(&mut self, number: usize, index: u32) {
        let Self { graph, coset, .. } = *self;
        let colouring = graph.colouring();
        match colouring.reached_axes() {
            Some(axes) => {
                let form = &axes[number].form;
                let packed = graph.frames().word(graph, coset, number, index);
                for (part, cells) in form.parts().iter().zip(&self.cells[number]) {
                    for (place, &cell) in cells.iter().enumerate() {
                        let symbol = form.at(packed, part.first + place);
                        if part.component.view.has_pieces() {
                            self.told[cell].0 = symbol / part.turns;
                        }
                        if part.component.view.has_orientations() {
                            self.told[cell].1 = symbol % part.turns;
                        }
                    }
                }
            }
            None => {
                let axis = &colouring.axes()[number];
                let Arrangements { indices, symbols } = &mut self.arrangements[number];
                let slot = index as usize % indices.len();
                let symbols = &mut symbols[slot * axis.length()..][..axis.length()];
                let cells = self.cells[number][0].iter();
                if std::mem::replace(&mut indices[slot], index + 1) != index + 1 {
                    axis.unrank(index.into(), symbols);
                    let letters = graph.space().symbols();
                    for (symbol, &cell) in symbols.iter_mut().zip(cells.clone()) {
                        let label = self.labels[number][usize::from(*symbol)];
                        *symbol = letters.letter(label, self.told[cell].1);
                    }
                }
                cells.zip(symbols).for_each(|(&cell, symbol)| self.word[cell] = *symbol);
                return;
            }
        }
        for part in 0..self.cells[number].len() {
            for place in 0..self.cells[number][part].len() {
                self.show(self.cells[number][part][place]);
            }
        }
    }

    /// Writes the symbol of a cell.
    fn show(&mut self, cell: usize) {
        let (local, orientation) = self.told[cell];
        let colour = self.graph.colouring().symbols().mark(self.graph.pattern(self.coset)[cell]);
        let label = self.labels[usize::from(colour)][usize::from(local)];
        self.word[cell] = self.graph.space().symbols().letter(label, orientation);
    }
}

#[cfg(test)]
mod tests {
    use crate::{CosetGraph, CosetId, Labels, Plan, Space};
    use fathom_puzzle::PuzzleSpec;

    /// In whatever order states are requested, each is the one at its position.
    #[test]
    fn words_are_independent_of_query_order() {
        // With axes of all arrangements (in 2x7 more than are remembered), a halved one, and axes of reached
        // pieces and orientations.
        for word in ["2x2x2", "2x7", "3x3", "skewb", "pyraminx"] {
            let source = PuzzleSpec::by_name(word).unwrap();
            let puzzle = source.puzzle(source.metric()).unwrap();
            let space = Space::new(puzzle, source.metric(), Labels::from_values(source.solved())).unwrap();
            let graph = CosetGraph::build(&space, &Plan::new(&space).unwrap().colouring).unwrap();
            let positions: Vec<u32> = graph.shape().positions().collect();
            for coset in (0..graph.len()).step_by(1 + graph.len() as usize / 5).map(CosetId) {
                let mut words = graph.words(coset);
                for number in (0..500).map(|step| step * step * 7919 % positions.len()) {
                    let position = positions[number];
                    let state = words.at(position).to_vec();
                    assert_eq!(state, graph.word_at(coset, position), "{word}");
                    let pattern = state.iter().map(|&letter| graph.colouring().of_letter(letter));
                    assert!(pattern.eq(graph.pattern(coset).iter().copied()), "{word}");
                }
            }
        }
    }
}
