//! The addresses of states that are given as words.

use super::{CosetGraph, CosetId, Index};
use crate::colouring::ReachableAxis;
use rustc_hash::FxHashMap;

/// The largest number of patterns whose representatives a locator caches, where finding one takes a search.
const MAX_REMEMBERED: usize = 1 << 12;

/// Finds the addresses of states one after another, without allocating memory for each of them.
#[derive(Debug)]
pub struct Locator<'a> {
    graph: &'a CosetGraph,
    pattern: Vec<u8>,
    /// The representatives of patterns, each with the symmetry that leads there.
    found: FxHashMap<Box<[u8]>, Option<(CosetId, usize)>>,
    /// The largest number of patterns in `found`.
    most: usize,
    image: Vec<u8>,
    /// Where the arrangement of each axis begins in `arrangements`; empty if axes hold only reachable words.
    begins: Vec<usize>,
    /// By symbol: its axis, and the number of its label there; empty if axes hold only reachable words.
    symbols: Vec<(u8, u8)>,
    /// The arrangements of the axes, concatenated.
    arrangements: Vec<u8>,
    /// By axis: where the next label of its arrangement goes.
    ends: Vec<usize>,
    indices: Vec<u32>,
    /// By axis: the class of the word.
    classes: Vec<u8>,
}

impl<'a> Locator<'a> {
    /// Creates a locator of the states of `graph`.
    pub fn new(graph: &'a CosetGraph) -> Self {
        let CosetGraph { space, colouring, .. } = graph;
        let (mut begins, mut symbols) = (Vec::new(), Vec::new());
        if colouring.reached_axes().is_none() {
            let mut next = 0;
            begins.extend(colouring.axes().iter().map(|axis| {
                next += axis.length();
                next - axis.length()
            }));
            symbols.extend((0..space.symbols().count()).map(|letter| {
                let label = space.symbols().mark(letter as u8);
                (colouring.of_label(label), colouring.local(label))
            }));
        }
        Self {
            graph,
            begins,
            symbols,
            pattern: Vec::new(),
            found: FxHashMap::default(),
            most: MAX_REMEMBERED,
            image: vec![0; graph.space.cells()],
            arrangements: vec![0; graph.space.cells()],
            ends: Vec::new(),
            indices: Vec::new(),
            classes: Vec::new(),
        }
    }

    /// Does what [`CosetGraph::locate`] does.
    pub fn locate(&mut self, word: &[u8]) -> Option<(CosetId, u32)> {
        let CosetGraph { space, colouring, symmetries, .. } = self.graph;
        self.pattern.clear();
        self.pattern.extend(word.iter().map(|&letter| colouring.of_letter(letter)));
        if !colouring.patterns().has(&self.pattern) {
            return None;
        }
        let (coset, to) = self.find()?;
        let mut image = std::mem::take(&mut self.image);
        space.write_image(&symmetries[to].symmetry, word, &mut image);
        let position = self.position(coset, &image);
        self.image = image;
        position.map(|position| (coset, position))
    }

    /// Does what [`CosetGraph::find`] does with `pattern`.
    fn find(&mut self) -> Option<(CosetId, usize)> {
        if matches!(self.graph.index, Index::Table(_)) {
            return self.graph.find(&self.pattern);
        }
        if let Some(&found) = self.found.get(&*self.pattern) {
            return found;
        }
        let found = self.graph.find(&self.pattern);
        if self.found.len() == self.most {
            self.found.clear();
        }
        self.found.insert(self.pattern.as_slice().into(), found);
        found
    }

    /// Does what [`CosetGraph::position`] does.
    pub(crate) fn position(&mut self, coset: CosetId, word: &[u8]) -> Option<u32> {
        let graph = self.graph;
        let colouring = &graph.colouring;
        self.indices.clear();
        if let Some(axes) = colouring.reached_axes() {
            self.classes.clear();
            for (number, axis) in axes.iter().enumerate() {
                let packed = graph.packed(axis, word);
                let index = graph.frames.index(graph, coset, number, packed)?;
                self.classes.push((index / axis.class as u32) as u8);
                self.indices.push(index % axis.class as u32);
            }
            let summand = graph.frames.summands(coset).number(&self.classes)?;
            return Some(summand * graph.shape.summand_positions() + graph.shape.position(&self.indices));
        }
        self.ends.clone_from(&self.begins);
        for &letter in word {
            let (axis, label) = self.symbols[usize::from(letter)];
            let end = &mut self.ends[usize::from(axis)];
            self.arrangements[*end] = label;
            *end += 1;
        }
        for ((axis, &begin), &end) in colouring.axes().iter().zip(&self.begins).zip(&self.ends) {
            self.indices.push(axis.rank(self.arrangements[begin..end].iter().copied()) as u32);
        }
        let is_there = graph.shape.holds(&self.indices, graph.is_odd(coset));
        is_there.then(|| graph.shape.position(&self.indices))
    }
}

impl CosetGraph {
    /// Returns the address of a state that is given as a word of symbols: the representative of its coset,
    /// and the position there of the state's image under the symmetry that leads to the representative.
    /// `None` if the state is known to be unreachable.
    pub fn locate(&self, word: &[u8]) -> Option<(CosetId, u32)> {
        Locator::new(self).locate(word)
    }

    /// Returns the position, in a representative coset, of a state that is given as a word of symbols. The
    /// state must have the pattern of the representative. `None` if the state is known to be unreachable.
    pub fn position(&self, coset: CosetId, word: &[u8]) -> Option<u32> {
        Locator::new(self).position(coset, word)
    }

    /// Returns the word of an axis in a state, as a number.
    fn packed(&self, axis: &ReachableAxis, word: &[u8]) -> u128 {
        let symbols = self.space.symbols();
        let mut packed = 0;
        for part in axis.form.parts() {
            let is_here =
                |letter: &&u8| self.colouring.of_label(symbols.mark(**letter)) == part.component.colour;
            for (place, &letter) in word.iter().filter(is_here).enumerate() {
                let label = match part.component.view.has_pieces() {
                    true => self.colouring.local(symbols.mark(letter)),
                    false => 0,
                };
                let symbol = label * part.turns + symbols.orientation(letter) % part.turns;
                packed |= axis.form.symbol(part.first + place, symbol);
            }
        }
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, Plan, Space};
    use fathom_puzzle::{Metric, PuzzleSpec};

    /// One locator finds the same addresses for many words as a new locator does for each, also for
    /// unreachable words, and for more patterns than it caches.
    #[test]
    fn locator_cache_does_not_change_addresses() {
        for word in ["3x3", "2x2x2", "pyraminx", "skewb"] {
            let puzzle = PuzzleSpec::by_name(word).unwrap().puzzle(Metric::Multi).unwrap();
            let labels = Labels::distinct(puzzle.cells);
            let space = Space::new(puzzle, Metric::Multi, labels).unwrap();
            let graph = CosetGraph::build(&space, &Plan::new(&space).unwrap().colouring).unwrap();
            let mut locator = Locator { most: 60, ..Locator::new(&graph) };
            let mut forgot = false;
            for round in 0..2 {
                for coset in (0..graph.len()).map(CosetId) {
                    let Some(position) = graph.shape().positions().nth(coset.0 as usize % 19) else {
                        continue;
                    };
                    let mut state = graph.word_at(coset, position);
                    for symmetry in space.symmetries().iter().step_by(5) {
                        let image = space.image(symmetry, &state);
                        let before = locator.found.len();
                        assert_eq!(locator.locate(&image), graph.locate(&image), "{word}, round {round}");
                        forgot |= locator.found.len() < before;
                    }
                    // A swap of two pieces is not a move.
                    state.swap(0, 1);
                    assert_eq!(locator.locate(&state), graph.locate(&state), "{word}, round {round}");
                }
            }
            assert_eq!(forgot, matches!(graph.index, Index::Canonical(_)), "{word}");
        }
    }
}
