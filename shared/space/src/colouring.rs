//! Colourings. A colouring cuts the space into cosets; a coset is the set of all states with one colour
//! pattern.

mod pattern_stabiliser;
mod ties;

use crate::axis::{AxisView, Component, Form, List, View};
use crate::cells::Cell;
use crate::space::WordGuard;
use crate::space::symmetry::{induced, induced_images};
use crate::{MultisetRanker, Ranks, Space, SymbolTable, Symmetry, WordMove};
pub(crate) use pattern_stabiliser::PatternStabiliser;
use std::sync::Arc;
pub(crate) use ties::Summands;

/// A partition of the labels, and with them of the pieces, into colours.
///
/// The axes of every coset's tensor are either the colours, where axis c holds all arrangements of colour c,
/// or given as [`AxisView`]s, where each axis holds only the words that moves reach.
#[derive(Clone, Debug)]
pub struct Colouring {
    of_piece: Box<[u8]>,
    of_label: Box<[u8]>,
    /// By label: its number among the labels of its colour, in increasing order.
    local: Box<[u8]>,
    /// By colour; empty where the axes hold only reachable words.
    axes: Box<[MultisetRanker]>,
    reached: Option<Arc<[ReachableAxis]>>,
    /// The summands of the coset of the solved pattern; empty where the axes hold all arrangements.
    summands: Arc<Summands>,
    symbols: SymbolTable,
    /// The symbols of states.
    state_letters: SymbolTable,
    /// By symbol of states: the symbol of patterns.
    of_letter: Box<[u8]>,
    /// By symbol of states: whether the symbol is unused, because its label shows fewer orientations.
    is_unused: Box<[bool]>,
    solved: Box<[u8]>,
    patterns: Ranks,
}

/// An axis that holds only the words that moves reach.
#[derive(Clone, Debug)]
pub(crate) struct ReachableAxis {
    pub(crate) view: AxisView,
    pub(crate) form: Form,
    /// The words in states that have the solved pattern.
    pub(crate) list: List,
    /// The number of words of a class, which is all of them unless the axis is tied.
    pub(crate) class: usize,
}

/// The action of a symmetry on colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColourAction {
    /// The image of each colour.
    pub colours: Box<[u8]>,
    /// The image of each axis.
    pub axes: Box<[u8]>,
    /// The image of each symbol of a pattern, before it is turned.
    pub symbols: Box<[u8]>,
}

/// The reason why a symmetry is not used with a colouring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// The symmetry does not map colours to colours.
    SplitsColours,
    /// The symmetry turns pieces of one colour differently, or does not map axes to axes.
    TurnsDifferently,
}

impl Refusal {
    /// Returns what would happen if the symmetry were used, as a clause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::SplitsColours => "colours would be split",
            Self::TurnsDifferently => "pieces of one colour would be turned differently",
        }
    }
}

/// The reason why a partition is not a colouring that the engine can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColouringError {
    /// The list does not have one colour for each piece, or its colours are not numbered 0, 1, 2, …
    #[error("a colouring must give each of the {pieces} pieces a colour, numbered from 0 without gaps")]
    NotAPartition {
        /// Pieces of the puzzle.
        pieces: usize,
    },
    /// Interchangeable pieces have two colours.
    #[error("pieces with label {label} have more than one colour")]
    SplitsLabel {
        /// The label.
        label: u8,
    },
    /// Pieces of one colour never occupy the same cells, or show different numbers of orientations.
    #[error("colour {colour} has pieces of several kinds")]
    MixesKinds {
        /// The colour.
        colour: u8,
    },
    /// A guard requires one label of a colour that has several, so the pattern does not determine whether the
    /// move is possible.
    #[error("colour {colour} does not determine whether a move is possible")]
    HidesGuard {
        /// The colour.
        colour: u8,
    },
    /// An axis names a colour or orientations that do not exist, or the axes do not hold everything that the
    /// pattern leaves open exactly once.
    #[error("the axes must determine everything that the colours leave open, exactly once")]
    BadAxes,
    /// Moves have guards, so the reachable states of a pattern are not images of one state under a group.
    #[error("reachable axes require moves that are possible in every state")]
    Guarded,
    /// An axis or the number of patterns exceeds the engine's limits.
    #[error("the colouring's tensors or patterns exceed the limits of the engine")]
    TooLarge,
}

impl Colouring {
    /// The largest number of pieces of a colour that has more than one arrangement. A permutation of so many places
    /// fits in 128 bits.
    pub const MAX_COLOUR: usize = 24;
    /// The largest number of patterns of one colour that the planner visits when it counts patterns or looks
    /// for axes of reachable words.
    pub(crate) const MAX_PATTERNS: usize = 1 << 18;
    /// The same limit where the axes are given.
    const MAX_PATTERNS_OF_AXES: usize = 1 << 20;
    /// With more cells than this, an axis whose labels are on few cells is packed as the positions of the
    /// labels.
    const MAX_CELLS_PACKED: usize = 255;
    /// The largest length of an axis, such as the number of arrangements of one colour.
    pub const MAX_AXIS: u64 = 1 << 14;

    /// Creates the colouring that gives piece `p` the colour `of_piece[p]`, with one axis for each colour.
    ///
    /// # Errors
    /// [`ColouringError`] if `of_piece` is not a partition that keeps equal labels together and different
    /// kinds of pieces apart, if a colour hides a guard, or if the limits of the engine are exceeded.
    pub fn new(of_piece: &[u8], space: &Space) -> Result<Self, ColouringError> {
        let (mut colouring, contents) = Self::partition(of_piece, space, &[])?;
        colouring.axes = contents
            .iter()
            .map(|content| {
                MultisetRanker::new(content).filter(|axis| {
                    axis.total() == 1 || (axis.total() <= Self::MAX_AXIS && axis.length() <= Self::MAX_COLOUR)
                })
            })
            .collect::<Option<_>>()
            .ok_or(ColouringError::TooLarge)?;
        let asked = space.moves().iter().flat_map(WordMove::guard);
        let mut asked = asked.map(|asked| colouring.of_label(asked.label));
        if let Some(colour) = asked.find(|&colour| contents[usize::from(colour)].len() > 1) {
            return Err(ColouringError::HidesGuard { colour });
        }
        Ok(colouring)
    }

    /// Creates the colouring with these axes, each of which holds the words that moves reach without changing
    /// the pattern. Orientations that an axis holds are not part of the pattern. Without `views`, the result
    /// is that of [`Colouring::new`].
    ///
    /// # Errors
    /// [`ColouringError`] as for [`Colouring::new`], and if moves have guards or the axes do not fit the
    /// colours.
    pub fn with_axes(of_piece: &[u8], views: &[AxisView], space: &Space) -> Result<Self, ColouringError> {
        if views.is_empty() {
            return Self::new(of_piece, space);
        }
        let turned: Vec<u8> = views
            .iter()
            .flat_map(|view| &view.components)
            .filter(|component| component.view.has_orientations())
            .map(|component| component.colour)
            .collect();
        let (colouring, contents) = Self::partition(of_piece, space, &turned)?;
        let hidden = PatternStabiliser::new(space, &colouring, Self::MAX_PATTERNS_OF_AXES)?;
        let bare = colouring.clone();
        colouring.with_words(&contents, views, space, |_, form| {
            hidden.words(&bare, form, space, Self::MAX_AXIS as usize)
        })
    }

    /// Adds axes whose words are known to a partition. `words` returns the words of an axis, or of tied axes
    /// together; `None` if there are too many.
    pub(crate) fn with_words(
        mut self,
        contents: &[Vec<u16>],
        views: &[AxisView],
        space: &Space,
        words: impl Fn(&AxisView, &Form) -> Option<Vec<u128>>,
    ) -> Result<Self, ColouringError> {
        self.tells_all(contents, views, space)?;
        let (reached, summands) = ties::axes(&self, views, space, words)?;
        (self.reached, self.summands) = (Some(reached.into()), Arc::new(summands));
        Ok(self)
    }

    /// Checks that the axes hold the pieces of each colour of several labels exactly once, and the
    /// orientations of each colour at most once. Orientations that no axis holds are part of the pattern.
    fn tells_all(
        &self,
        contents: &[Vec<u16>],
        views: &[AxisView],
        space: &Space,
    ) -> Result<(), ColouringError> {
        let mut told = vec![(0, 0); contents.len()];
        for &Component { colour, view } in views.iter().flat_map(|view| &view.components) {
            let (pieces, orientations) = told.get_mut(usize::from(colour)).ok_or(ColouringError::BadAxes)?;
            *pieces += usize::from(view.has_pieces());
            *orientations += usize::from(view.has_orientations());
        }
        let is_right = |(colour, &(pieces, orientations)): (usize, &(usize, usize))| {
            let turns = self.seen_of(colour as u8, space) > 1;
            pieces <= 1 && (pieces == 1 || contents[colour].len() == 1) && orientations <= usize::from(turns)
        };
        let empty = views.iter().any(|view| view.components.is_empty());
        let all = told.iter().enumerate().all(is_right) && !empty && views.len() <= usize::from(u8::MAX);
        if all { Ok(()) } else { Err(ColouringError::BadAxes) }
    }

    /// Returns the number of orientations that the pieces of a colour show.
    fn seen_of(&self, colour: u8, space: &Space) -> u8 {
        let label = self.of_label.iter().position(|&of_label| of_label == colour);
        space.symbols().seen(label.expect("every colour has a label") as u8)
    }

    /// Returns the packing of an axis's words; `None` if they need more than 128 bits.
    pub(crate) fn form(&self, view: &AxisView, space: &Space) -> Option<Form> {
        let component = |component: &Component| {
            let &Component { colour, view } = component;
            let places = self.of_piece.iter().filter(|&&of_piece| of_piece == colour).count();
            let labels = self.of_label.iter().filter(|&&of_label| of_label == colour).count() as u8;
            let seen = self.seen_of(colour, space);
            (
                *component,
                places,
                if view.has_pieces() { labels } else { 1 },
                if view.has_orientations() { seen } else { 1 },
            )
        };
        // Words of at most 255 cells keep the packing of existing runs, which determines their order.
        let sparse = |component: &Component| {
            let &Component { colour, view } = component;
            let is_of = |label: &usize| self.of_label[*label] == colour;
            let sizes: Vec<u16> =
                (0..self.of_label.len()).filter(is_of).map(|label| space.labels().sizes()[label]).collect();
            let has_orientations = view.has_orientations() && self.seen_of(colour, space) > 1;
            let is_sparse = space.cells() > Self::MAX_CELLS_PACKED
                && view.has_pieces()
                && !has_orientations
                && sizes.len() > 1
                && sizes.iter().filter(|&&size| size > 1).count() <= 1;
            is_sparse.then_some(sizes)
        };
        Form::new(&view.components.iter().map(component).collect::<Vec<_>>(), sparse)
    }

    /// Creates the partition without axes. Also returns, for each colour, the sizes of its labels. The
    /// orientations of the colours in `turned` are not part of the pattern.
    pub(crate) fn partition(
        of_piece: &[u8],
        space: &Space,
        turned: &[u8],
    ) -> Result<(Self, Vec<Vec<u16>>), ColouringError> {
        let labels = space.labels();
        let pieces = labels.pieces();
        let colours = of_piece.iter().map(|&c| usize::from(c) + 1).max().unwrap_or(0);
        let used = |colour: usize| of_piece.iter().any(|&c| usize::from(c) == colour);
        if of_piece.len() != pieces || !(0..colours).all(used) {
            return Err(ColouringError::NotAPartition { pieces });
        }
        let mut of_label = vec![0; labels.sizes().len()];
        for (&label, &colour) in labels.of_pieces().iter().zip(of_piece) {
            of_label[usize::from(label)] = colour;
        }
        if let Some((&label, _)) =
            labels.of_pieces().iter().zip(of_piece).find(|&(&label, &c)| of_label[usize::from(label)] != c)
        {
            return Err(ColouringError::SplitsLabel { label });
        }
        let mut local = vec![0; of_label.len()];
        let mut contents = vec![Vec::new(); colours];
        for (label, &colour) in of_label.iter().enumerate() {
            let content: &mut Vec<u16> = &mut contents[usize::from(colour)];
            local[label] = content.len() as u8;
            content.push(labels.sizes()[label]);
        }
        let mut seen = vec![0; colours];
        for (label, &colour) in of_label.iter().enumerate() {
            let shown = u16::from(space.symbols().seen(label as u8));
            let known = std::mem::replace(&mut seen[usize::from(colour)], shown);
            if known != 0 && known != shown {
                return Err(ColouringError::MixesKinds { colour });
            }
        }
        for orbit in space.orbits() {
            let colour = |cell: &Cell| of_piece[usize::from(*cell)];
            let is_inside = |cell: &usize| orbit.cells.contains(&(*cell as Cell));
            let strays =
                |cell: &usize| !is_inside(cell) && orbit.cells.iter().any(|c| colour(c) == of_piece[*cell]);
            if let Some(cell) = (0..pieces).find(strays) {
                return Err(ColouringError::MixesKinds { colour: of_piece[cell] });
            }
        }
        for &colour in turned {
            *seen.get_mut(usize::from(colour)).ok_or(ColouringError::BadAxes)? = 1;
        }
        let symbols = SymbolTable::new(&seen, space.most_turns()).ok_or(ColouringError::TooLarge)?;
        let of_letter = |letter: u8| {
            let colour = of_label[usize::from(space.symbols().mark(letter))];
            symbols.letter(colour, space.symbols().orientation(letter))
        };
        let of_letter: Box<[u8]> =
            (0..space.symbols().count()).map(|letter| of_letter(letter as u8)).collect();
        let letter = |number| number as u8;
        let is_unused = (0..space.symbols().count())
            .map(letter)
            .map(|letter| {
                space.symbols().orientation(letter) >= space.symbols().seen(space.symbols().mark(letter))
            })
            .collect();
        let solved: Box<[u8]> = space.solved().iter().map(|&letter| of_letter[usize::from(letter)]).collect();
        let patterns = Ranks::new(space.orbits(), &symbols, &solved);
        // Patterns are ranked to find them in a table. With guards, few of the patterns may be reached, and
        // they need no table.
        if patterns.total() == Ranks::TOO_MANY && !space.is_guarded() {
            return Err(ColouringError::TooLarge);
        }
        let colouring = Self {
            of_piece: of_piece.into(),
            of_label: of_label.into(),
            local: local.into(),
            axes: Box::default(),
            reached: None,
            summands: Arc::default(),
            symbols,
            state_letters: space.symbols().clone(),
            of_letter,
            is_unused,
            solved,
            patterns,
        };
        Ok((colouring, contents))
    }

    /// Returns the colour of each piece.
    pub fn of_pieces(&self) -> &[u8] {
        &self.of_piece
    }

    /// Returns the number of pieces that have a smaller colour.
    pub(crate) fn first_place(&self, colour: u8) -> usize {
        self.of_piece.iter().filter(|&&of_piece| of_piece < colour).count()
    }

    /// Returns the colour of a label.
    pub fn of_label(&self, label: u8) -> u8 {
        self.of_label[usize::from(label)]
    }

    /// Returns the number of a label among the labels of its colour.
    pub fn local(&self, label: u8) -> u8 {
        self.local[usize::from(label)]
    }

    /// Returns the label with number `local` among the labels of a colour.
    ///
    /// # Panics
    /// If the colour has no such label.
    pub fn label(&self, colour: u8, local: u8) -> u8 {
        (0..self.of_label.len() as u8)
            .filter(|&label| self.of_label(label) == colour)
            .nth(usize::from(local))
            .expect("the colour has such a label")
    }

    /// Returns the arrangements of each colour, as words of local labels. Axis c of a coset's tensor has one
    /// entry for each arrangement of colour c. Empty where the axes hold [only reachable
    /// words](Colouring::views).
    pub fn axes(&self) -> &[MultisetRanker] {
        &self.axes
    }

    /// Returns the axes that hold only reachable words; `None` where the axes hold all arrangements.
    pub(crate) fn reached_axes(&self) -> Option<&[ReachableAxis]> {
        self.reached.as_deref()
    }

    /// Returns the views of the axes where these hold only reachable words; empty where each colour is an
    /// axis of all its arrangements.
    pub fn views(&self) -> Vec<AxisView> {
        self.reached_axes().unwrap_or_default().iter().map(|axis| axis.view.clone()).collect()
    }

    /// Returns the summands of the coset of the solved pattern; empty where the axes hold all arrangements.
    pub(crate) fn summands(&self) -> &Summands {
        &self.summands
    }

    /// Returns the length of each axis; of a tied axis, that of its classes.
    pub fn lengths(&self) -> Vec<u32> {
        match self.reached_axes() {
            Some(axes) => axes.iter().map(|axis| axis.class as u32).collect(),
            None => self.axes.iter().map(|axis| axis.total() as u32).collect(),
        }
    }

    /// Returns the length of the blocks into which the last axis is cut. A block is all words with the same
    /// pieces, so every map carries blocks to blocks. Only an axis of reachable words is cut, and only if a
    /// row can hold a block; otherwise the whole axis is one block. Returns 1 where the axes hold all
    /// arrangements.
    pub(crate) fn block(&self) -> u32 {
        const MAX_ROW: usize = 64;
        let Some(axis) = self.reached_axes().and_then(<[ReachableAxis]>::last) else {
            return 1;
        };
        let words = axis.list.words();
        let first = axis.form.pieces(words[0]);
        let block = words.iter().take_while(|&&word| axis.form.pieces(word) == first).count();
        // The group permutes the words of pieces transitively, so each has equally many words of
        // orientations. An axis is not cut if another axis has the same length, because a symmetry may
        // exchange the two.
        let lengths = self.lengths();
        let is_alone = lengths.iter().filter(|&&length| length as usize == words.len()).count() == 1;
        let cut = words.len() > MAX_ROW && (2..=MAX_ROW).contains(&block) && is_alone;
        if cut { block as u32 } else { words.len() as u32 }
    }

    /// Returns the number of colours.
    pub(crate) fn colours(&self) -> usize {
        self.of_label.iter().map(|&colour| usize::from(colour) + 1).max().unwrap_or(0)
    }

    /// Returns the symbols of patterns: colours with orientations.
    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// Returns the symbol of a pattern for a symbol of a state.
    #[inline]
    pub fn of_letter(&self, letter: u8) -> u8 {
        self.of_letter[usize::from(letter)]
    }

    /// Returns the pattern of the solved state.
    pub fn solved(&self) -> &[u8] {
        &self.solved
    }

    /// Returns the ranks of all patterns, reachable or not, that have as many cells of each colour as the
    /// solved pattern in every orbit.
    pub fn patterns(&self) -> &Ranks {
        &self.patterns
    }

    /// Returns whether a move is possible in the states of a pattern.
    #[inline]
    pub(crate) fn allows(&self, step: &WordMove, pattern: &[u8]) -> bool {
        let is_met = |asked: &WordGuard| {
            let colour = self.symbols.mark(pattern[usize::from(asked.cell)]);
            (colour == self.of_label[usize::from(asked.label)]) == asked.holds
        };
        step.guard().iter().all(is_met)
    }

    /// Returns the action of a symmetry on colours; `None` if the symmetry does not map colours to colours
    /// and axes to axes, or turns pieces of one colour differently.
    pub fn action(&self, symmetry: &Symmetry) -> Option<ColourAction> {
        self.action_with(&self.views(), symmetry)
    }

    /// Returns whether a symmetry has an [action](Colouring::action) on colours, where each colour is an
    /// axis.
    ///
    /// # Panics
    /// If the axes hold only reachable words.
    pub(crate) fn is_respected_by(&self, symmetry: &Symmetry) -> bool {
        assert!(self.reached.is_none(), "axes of reachable words have actions of their own");
        let keeps_colours = induced_images(&self.of_label, &symmetry.labels).is_some();
        // Symbols of one orientation are colours.
        keeps_colours && (self.symbols.width() == 1 || self.letters_of(symmetry).is_some())
    }

    /// Returns the image of each symbol of a pattern; `None` if that depends on the piece. Symbols that no
    /// piece shows may be mapped to anything.
    fn letters_of(&self, symmetry: &Symmetry) -> Option<[Option<u8>; 256]> {
        let mut symbols = [None; 256];
        for (number, (&letter, &to)) in self.of_letter.iter().zip(symmetry.symbols()).enumerate() {
            if self.is_unused[number] {
                continue;
            }
            let to = self.of_letter(to);
            let known = symbols[usize::from(letter)].get_or_insert(to);
            if *known != to {
                return None;
            }
        }
        Some(symbols)
    }

    /// Returns why a symmetry has no action on colours; `None` if the symmetry has one.
    pub fn refusal(&self, symmetry: &Symmetry) -> Option<Refusal> {
        if self.action(symmetry).is_some() {
            return None;
        }
        let maps_colours = induced(&self.of_label, &symmetry.labels, self.colours()).is_some();
        Some(if maps_colours { Refusal::TurnsDifferently } else { Refusal::SplitsColours })
    }

    /// Returns the action of a symmetry where the axes are `views`. Without views, each colour is an axis.
    pub(crate) fn action_with(&self, views: &[AxisView], symmetry: &Symmetry) -> Option<ColourAction> {
        let colours = induced(&self.of_label, &symmetry.labels, self.colours())?;
        let symbols = self.letters_of(symmetry)?;
        let symbols =
            symbols[..self.symbols.count()].iter().map(|letter| letter.unwrap_or_default()).collect();
        let axes = match views {
            [] => colours.clone(),
            _ => self.action_on_axes(views, symmetry, &colours)?,
        };
        Some(ColourAction { colours, axes, symbols })
    }

    /// Returns the image of each axis; `None` if the symmetry does not map axes to axes, or maps a colour to
    /// one with another number of orientations in the pattern.
    fn action_on_axes(&self, views: &[AxisView], symmetry: &Symmetry, colours: &[u8]) -> Option<Box<[u8]>> {
        let keeps_orientations =
            |(colour, &to): (usize, &u8)| self.symbols.seen(colour as u8) == self.symbols.seen(to);
        if !colours.iter().enumerate().all(keeps_orientations) {
            return None;
        }
        let image = |component: &Component| Component {
            colour: colours[usize::from(component.colour)],
            ..*component
        };
        let axis = |AxisView { components, .. }: &AxisView| {
            // An axis may hold orientations without pieces. The symmetry must then change these orientations
            // in the same way for all pieces.
            let is_alike = |part: &&Component| {
                part.view != View::Orientations || self.renamed_orientations(symmetry, part.colour).is_some()
            };
            if !components.iter().all(|part| is_alike(&part)) {
                return None;
            }
            let to = image(&components[0]);
            let target = views.iter().position(|axis| axis.components.contains(&to))?;
            let images = &views[target].components;
            let fits = images.len() == components.len()
                && components.iter().all(|component| images.contains(&image(component)));
            fits.then_some(target as u8)
        };
        let images: Box<[u8]> = views.iter().map(axis).collect::<Option<_>>()?;
        let image_of = |axis: usize| &views[usize::from(images[axis])];
        let ties_stay = |(number, one): (usize, &AxisView)| {
            views
                .iter()
                .zip(0..)
                .all(|(other, to)| (one.tie == other.tie) == (image_of(number).tie == image_of(to).tie))
                && one.tie.is_none() == image_of(number).tie.is_none()
        };
        views.iter().enumerate().all(ties_stay).then_some(images)
    }

    /// Returns the action of a symmetry on the orientations of a colour, before it turns the symbols on
    /// cells; `None` if the result depends on the piece.
    fn renamed_orientations(&self, symmetry: &Symmetry, colour: u8) -> Option<Vec<u8>> {
        let mut renamed: Option<Vec<u8>> = None;
        for label in (0..self.of_label.len() as u8).filter(|&label| self.of_label(label) == colour) {
            let seen = self.state_letters.seen(label);
            let to =
                |orientation| symmetry.symbols()[usize::from(self.state_letters.letter(label, orientation))];
            let of_label: Vec<u8> =
                (0..seen).map(|orientation| self.state_letters.orientation(to(orientation))).collect();
            if renamed.get_or_insert_with(|| of_label.clone()) != &of_label {
                return None;
            }
        }
        renamed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use fathom_puzzle::{Board, Metric};

    fn space(labels: Labels) -> Space {
        let board: Board = if labels.pieces() == 4 { "2x2" } else { "3x3" }.parse().unwrap();
        Space::new(board.puzzle(Metric::Multi), Metric::Multi, labels).unwrap()
    }

    #[test]
    fn interchangeable_pieces_share_a_colour() {
        let labels = space(Labels::parse_list("0,0,1,2", 4).unwrap());
        assert_eq!(
            Colouring::new(&[0, 1, 1, 1], &labels).unwrap_err(),
            ColouringError::SplitsLabel { label: 0 }
        );
        let colouring = Colouring::new(&[1, 1, 0, 1], &labels).unwrap();
        assert_eq!(colouring.axes().iter().map(MultisetRanker::total).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(colouring.patterns().total(), 4);
        assert_eq!((colouring.local(2), colouring.label(1, 1)), (1, 2));
    }

    #[test]
    fn invalid_partitions_are_rejected() {
        let labels = space(Labels::distinct(4));
        let error = ColouringError::NotAPartition { pieces: 4 };
        assert_eq!(Colouring::new(&[0, 0, 2, 2], &labels).unwrap_err(), error);
        assert_eq!(Colouring::new(&[0, 0, 1], &labels).unwrap_err(), error);
        let nine = space(Labels::distinct(9));
        assert_eq!(Colouring::new(&[0; 9], &nine).unwrap_err(), ColouringError::TooLarge);
    }
}
