//! Colourings whose colours are axes of all their arrangements, judged by the model.
//!
//! There are hundreds of candidates, and most are too expensive whatever symmetries they respect. So a lower
//! bound of the time of each is computed first, and only those that may be the cheapest are judged.

use super::cost::CostModel;
use super::partitions::candidates;
use super::{Candidate, Plan, share_of_kinds, words_of};
use crate::multiset_ranker::multinomial;
use crate::{Colouring, CosetGraph, Ranks, Shape, Space, Symmetry};
use rustc_hash::FxHashMap;
use std::collections::HashSet;

impl Candidate {
    /// Returns the cheapest of the colourings whose colours are axes of all their arrangements; of equally
    /// cheap ones the first.
    pub(super) fn cheapest(
        space: &Space,
        actions: &[(&Symmetry, usize)],
        model: &CostModel,
        words: Option<&HashSet<Box<[u8]>>>,
    ) -> Option<Self> {
        let drafts =
            candidates(space, actions).into_iter().filter_map(|of_piece| Draft::new(space, of_piece));
        let mut drafts: Vec<(f64, usize, Draft)> =
            drafts.zip(0..).map(|(draft, number)| (draft.least(space, model), number, draft)).collect();
        drafts.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
        let mut best: Option<(Self, usize)> = None;
        for (least, number, draft) in drafts {
            if best.as_ref().is_some_and(|(best, _)| best.nanoseconds < least) {
                break;
            }
            let Some(candidate) = draft.judge(space, actions, model, words) else {
                continue;
            };
            let is_better = |(best, first): &(Self, usize)| {
                candidate.nanoseconds.total_cmp(&best.nanoseconds).then(number.cmp(first)).is_lt()
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some((candidate, number));
            }
        }
        best.map(|(best, _)| best)
    }
}

/// A partition of the pieces with the axes that its classes would be, before it is known which symmetries
/// respect it.
pub(super) struct Draft {
    /// The colour of each piece, in the order of the axes.
    pub(super) of_piece: Vec<u8>,
    /// For each axis its length and the number of its pieces.
    axes: Vec<(u64, u16)>,
    shape: Shape,
}

impl Draft {
    /// Returns `None` if an axis or a coset would exceed the limits of the engine.
    pub(super) fn new(space: &Space, of_piece: Vec<u8>) -> Option<Self> {
        let labels = space.labels();
        let mut contents: FxHashMap<u8, FxHashMap<u8, u16>> = FxHashMap::default();
        for (&colour, &label) in of_piece.iter().zip(labels.of_pieces()) {
            contents.entry(colour).or_default().insert(label, labels.sizes()[usize::from(label)]);
        }
        let mut lengths: Vec<(u8, u64, u16)> = Vec::new();
        for (&colour, content) in &contents {
            let counts: Vec<u16> = content.values().copied().collect();
            let length = u64::try_from(multinomial(&counts)?).ok()?;
            let size = counts.iter().sum();
            if length > 1 && (length > Colouring::MAX_AXIS || usize::from(size) > Colouring::MAX_COLOUR) {
                return None;
            }
            lengths.push((colour, length, size));
        }
        // The last axis lies inside a 64-bit word, and is the longest axis that fits. Colours with one
        // arrangement come first.
        lengths.sort_unstable_by_key(|&(colour, length, _)| (length > 1, length <= 64, length, colour));
        let axes: Vec<u32> = lengths.iter().map(|&(_, length, _)| length as u32).collect();
        let shape =
            Shape::in_space(space, &axes).filter(|shape| shape.packed_bytes() <= Plan::MAX_COSET_BYTES)?;
        let order: FxHashMap<u8, u8> =
            lengths.iter().zip(0..).map(|(&(colour, _, _), axis)| (colour, axis)).collect();
        Some(Self {
            of_piece: of_piece.iter().map(|colour| order[colour]).collect(),
            axes: lengths.into_iter().map(|(_, length, size)| (length, size)).collect(),
            shape,
        })
    }

    /// Returns the number of arrangements of all axes.
    fn arrangements(&self) -> f64 {
        self.axes.iter().map(|&(length, _)| length as f64).product()
    }

    /// Returns a lower bound of [`Draft::judge`], up to rounding: the time of the layers if all
    /// symmetries respect the colouring and every coset is full.
    pub(super) fn least(&self, space: &Space, model: &CostModel) -> f64 {
        const ROUNDING: f64 = 1.0 - 1e-6;
        let patterns = words_of(space) / self.arrangements();
        let cosets = (patterns / space.symmetries().len() as f64).max(1.0);
        ROUNDING * self.layers(space, model, cosets)
    }

    /// Returns the time of all layers with this number of representative cosets.
    fn layers(&self, space: &Space, model: &CostModel, cosets: f64) -> f64 {
        let row = match self.shape.row_bits() {
            0..=32 => model.row_32,
            33..=64 => model.row_64,
            bits => model.word_of_a_long_row * f64::from(bits.div_ceil(64)),
        };
        // A row of several 64-bit words is moved bit by bit.
        let bitwise = if self.shape.row_bits() > 64 { f64::from(self.shape.row_bits()) } else { 0.0 };
        let pull = model.pull + bitwise + f64::from(self.shape.rows()) * row;
        let pulls = cosets * space.moves().len() as f64;
        model.layers(pulls, cosets, pull, f64::from(self.shape.packed_bytes()))
    }

    /// Returns the colouring with its cost; `None` if there is no such colouring, or its tables would be too
    /// large.
    pub(super) fn judge(
        self,
        space: &Space,
        actions: &[(&Symmetry, usize)],
        model: &CostModel,
        words: Option<&HashSet<Box<[u8]>>>,
    ) -> Option<Candidate> {
        let colouring = Colouring::new(&self.of_piece, space).ok()?;
        let respected = actions.iter().filter(|(symmetry, _)| colouring.is_respected_by(symmetry));
        let symmetries = respected.map(|(_, alike)| alike).sum::<usize>();
        let entries = CosetGraph::entries(&colouring, symmetries);
        let symmetries = symmetries as f64;
        // Without a table, the estimate is the number of patterns that all states need.
        let patterns = match (words, entries) {
            (Some(words), _) => {
                let pattern = |word: &[u8]| word.iter().map(|&letter| colouring.of_letter(letter)).collect();
                words.iter().map(|word| pattern(word)).collect::<HashSet<Box<[u8]>>>().len() as f64
            }
            // It is not known how many of so many patterns are reachable.
            (None, 0) if colouring.patterns().total() == Ranks::TOO_MANY => return None,
            (None, 0) => words_of(space) / self.arrangements() / share_of_kinds(space, &self.of_piece),
            (None, entries) => entries as f64,
        };

        let cosets = (patterns / symmetries).max(1.0);
        let pulls = cosets * space.moves().len() as f64;
        // Every place permutation and every renaming that occurs has its own axis map.
        let map_bytes: f64 = self
            .axes
            .iter()
            .map(|&(length, size)| {
                let permutations: f64 = (1..=size).map(f64::from).product();
                (permutations * symmetries.min(permutations)).min(pulls) * length as f64 * 8.0
            })
            .sum();
        let table_bytes = entries as f64 * 4.0 + pulls * 4.0 + map_bytes;
        if table_bytes > Plan::MAX_TABLE_BYTES as f64 || cosets * symmetries >= f64::from(u32::MAX) {
            return None;
        }
        let find = match entries {
            0 => pulls * symmetries * model.find_by_symmetry,
            entries => entries as f64 * model.find_by_table,
        };
        let start = find + map_bytes * model.map_byte;
        let nanoseconds = start + self.layers(space, model, cosets);
        Some(Candidate { of_piece: self.of_piece, made: None, nanoseconds, is_counted: entries > 0 })
    }
}
