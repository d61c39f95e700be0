//! A colouring cuts the space into cosets: all states with one colour pattern.

use crate::axis::{AxisView, Component, Form, List, View};
use crate::hidden::Hidden;
use crate::space::WordGuard;
use crate::symmetry::induced;
use crate::{Letters, Ranks, Space, Symmetry, WordMove, Words};
use std::sync::Arc;

/// A partition of the labels, and with them of the pieces, into colours.
///
/// Either colour c is axis c of every coset's tensor, with all arrangements of its pieces, or the axes are
/// given, with the words that moves reach.
#[derive(Clone, Debug)]
pub struct Colouring {
    of_piece: Box<[u8]>,
    of_label: Box<[u8]>,
    /// The number of a label among the labels of its colour, in increasing order.
    local: Box<[u8]>,
    /// Empty where the axes hold only what is reached.
    axes: Box<[Words]>,
    reached: Option<Arc<[Reached]>>,
    letters: Letters,
    /// The letters of states.
    state_letters: Letters,
    /// The letter of patterns for each letter of states.
    of_letter: Box<[u8]>,
    /// By letter of states.
    stands_for_nothing: Box<[bool]>,
    solved: Box<[u8]>,
    patterns: Ranks,
}

/// An axis that holds only what moves reach.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub(crate) view: AxisView,
    pub(crate) form: Form,
    /// The words in states that have the solved pattern.
    pub(crate) list: List,
}

/// What a symmetry does to colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColourAction {
    /// Where each colour goes.
    pub colours: Box<[u8]>,
    /// Where each axis goes.
    pub axes: Box<[u8]>,
    /// Where each letter of a pattern goes, before it is turned.
    pub letters: Box<[u8]>,
}

/// Why a symmetry is not used with a colouring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// It does not map colours to colours, or axes to axes.
    SplitsColours,
    /// It turns pieces of one colour differently.
    TurnsDifferently,
}

impl Refusal {
    /// What would happen, in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::SplitsColours => "colours would be split",
            Self::TurnsDifferently => "pieces of one colour would be turned differently",
        }
    }
}

/// Why a partition is no colouring that the engine can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColouringError {
    /// Not one colour a piece, or colours not numbered 0, 1, 2, …
    #[error("a colouring gives each of {pieces} pieces a colour, numbered from 0 without gaps")]
    NotAPartition {
        /// Pieces of the puzzle.
        pieces: usize,
    },
    /// Interchangeable pieces in two colours.
    #[error("pieces with label {label} have more than one colour")]
    SplitsLabel {
        /// The label.
        label: u8,
    },
    /// Pieces in one colour that never stand on the same cells, or show different numbers of orientations.
    #[error("colour {colour} has pieces of several kinds")]
    MixesKinds {
        /// The colour.
        colour: u8,
    },
    /// A colour of several labels, one of which a move asks for.
    #[error("colour {colour} hides whether a move can be made")]
    HidesGuard {
        /// The colour.
        colour: u8,
    },
    /// Axes that name colours or orientations that there are not, or do not tell all.
    #[error("the axes do not tell all that the colours leave open, or tell it twice")]
    BadAxes,
    /// Which moves can be made depends on the state, so states are no cosets of a group.
    #[error("axes of what moves reach need moves that can be made in all states")]
    Guarded,
    /// An axis or the number of patterns exceeds the engine's limits.
    #[error("the colouring gives tensors or patterns beyond the limits of the engine")]
    TooLarge,
}

impl Colouring {
    /// A colour with more than one arrangement has at most this many pieces.
    pub const LARGEST_COLOUR: usize = 16;
    /// The largest number of patterns that are counted on the way to axes of what is reached: those of one
    /// colour at a time.
    pub(crate) const MOST_PATTERNS: usize = 1 << 18;
    /// The same where the axes are given.
    const MOST_PATTERNS_OF_AXES: usize = 1 << 20;
    /// The largest number of arrangements of one colour, the length of an axis.
    pub const LONGEST_AXIS: u64 = 1 << 14;

    /// The colouring that gives piece `p` the colour `of_piece[p]`.
    ///
    /// # Errors
    /// [`ColouringError`] with the reason.
    pub fn new(of_piece: &[u8], space: &Space) -> Result<Self, ColouringError> {
        let (mut colouring, contents) = Self::partition(of_piece, space, &[])?;
        colouring.axes = contents
            .iter()
            .map(|content| {
                Words::new(content).filter(|axis| {
                    axis.total() == 1
                        || (axis.total() <= Self::LONGEST_AXIS && axis.length() <= Self::LARGEST_COLOUR)
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

    /// The same with these axes, each of which holds the words that moves reach without changing the pattern.
    /// Orientations that an axis tells are not part of the pattern.
    ///
    /// # Errors
    /// [`ColouringError`] with the reason.
    pub fn with_axes(of_piece: &[u8], views: &[AxisView], space: &Space) -> Result<Self, ColouringError> {
        if views.is_empty() {
            return Self::new(of_piece, space);
        }
        let turned: Vec<u8> = views
            .iter()
            .flat_map(|view| &view.0)
            .filter(|component| component.view.has_orientations())
            .map(|component| component.colour)
            .collect();
        let (colouring, contents) = Self::partition(of_piece, space, &turned)?;
        let hidden = Hidden::of(space, &colouring, Self::MOST_PATTERNS_OF_AXES)?;
        let bare = colouring.clone();
        colouring.with_words(&contents, views, space, |_, form| {
            hidden.words(&bare, form, space, Self::LONGEST_AXIS as usize)
        })
    }

    /// The same, where the words of axes are known; they are `None` if they are too many.
    pub(crate) fn with_words(
        mut self,
        contents: &[Vec<u8>],
        views: &[AxisView],
        space: &Space,
        words: impl Fn(&AxisView, &Form) -> Option<Vec<u128>>,
    ) -> Result<Self, ColouringError> {
        self.tells_all(contents, views, space)?;
        let reached = views.iter().map(|view| {
            let form = self.form(view, space).ok_or(ColouringError::TooLarge)?;
            let list = words(view, &form).ok_or(ColouringError::TooLarge)?;
            Ok(Reached { view: view.clone(), form, list: List::new(list) })
        });
        self.reached = Some(reached.collect::<Result<_, _>>()?);
        Ok(self)
    }

    /// Whether the axes tell each piece of a colour of several labels, and each orientation that is not part
    /// of the pattern, once.
    fn tells_all(
        &self,
        contents: &[Vec<u8>],
        views: &[AxisView],
        space: &Space,
    ) -> Result<(), ColouringError> {
        let mut told = vec![(0, 0); contents.len()];
        for &Component { colour, view } in views.iter().flat_map(|view| &view.0) {
            let (pieces, orientations) = told.get_mut(usize::from(colour)).ok_or(ColouringError::BadAxes)?;
            *pieces += usize::from(view.has_pieces());
            *orientations += usize::from(view.has_orientations());
        }
        let is_right = |(colour, &(pieces, orientations)): (usize, &(usize, usize))| {
            let turns = self.seen_of(colour as u8, space) > 1;
            pieces <= 1 && (pieces == 1 || contents[colour].len() == 1) && orientations <= usize::from(turns)
        };
        let empty = views.iter().any(|view| view.0.is_empty());
        let all = told.iter().enumerate().all(is_right) && !empty && views.len() <= usize::from(u8::MAX);
        if all { Ok(()) } else { Err(ColouringError::BadAxes) }
    }

    /// How many orientations the pieces of a colour show.
    fn seen_of(&self, colour: u8, space: &Space) -> u8 {
        let label = self.of_label.iter().position(|&of_label| of_label == colour);
        space.letters().seen(label.expect("every colour has a label") as u8)
    }

    /// How the words of an axis are packed.
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
        Form::new(&view.0.iter().map(component).collect::<Vec<_>>())
    }

    /// The partition without axes, and for each colour the sizes of its labels. The orientations of the
    /// colours `turned` are not part of patterns.
    pub(crate) fn partition(
        of_piece: &[u8],
        space: &Space,
        turned: &[u8],
    ) -> Result<(Self, Vec<Vec<u8>>), ColouringError> {
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
            let content: &mut Vec<u8> = &mut contents[usize::from(colour)];
            local[label] = content.len() as u8;
            content.push(labels.sizes()[label]);
        }
        let mut seen = vec![0; colours];
        for (label, &colour) in of_label.iter().enumerate() {
            let shown = u16::from(space.letters().seen(label as u8));
            let known = std::mem::replace(&mut seen[usize::from(colour)], shown);
            if known != 0 && known != shown {
                return Err(ColouringError::MixesKinds { colour });
            }
        }
        for orbit in space.orbits() {
            let colour = |cell: &u8| of_piece[usize::from(*cell)];
            let is_inside = |cell: &usize| orbit.cells.contains(&(*cell as u8));
            let strays =
                |cell: &usize| !is_inside(cell) && orbit.cells.iter().any(|c| colour(c) == of_piece[*cell]);
            if let Some(cell) = (0..pieces).find(strays) {
                return Err(ColouringError::MixesKinds { colour: of_piece[cell] });
            }
        }
        for &colour in turned {
            *seen.get_mut(usize::from(colour)).ok_or(ColouringError::BadAxes)? = 1;
        }
        let letters = Letters::new(&seen, space.most_turns()).ok_or(ColouringError::TooLarge)?;
        let of_letter = |letter: u8| {
            let colour = of_label[usize::from(space.letters().mark(letter))];
            letters.letter(colour, space.letters().orientation(letter))
        };
        let of_letter: Box<[u8]> =
            (0..space.letters().count()).map(|letter| of_letter(letter as u8)).collect();
        let letter = |number| number as u8;
        let stands_for_nothing = (0..space.letters().count())
            .map(letter)
            .map(|letter| {
                space.letters().orientation(letter) >= space.letters().seen(space.letters().mark(letter))
            })
            .collect();
        let solved: Box<[u8]> = space.solved().iter().map(|&letter| of_letter[usize::from(letter)]).collect();
        let patterns = Ranks::new(space.orbits(), &letters, &solved).ok_or(ColouringError::TooLarge)?;
        let colouring = Self {
            of_piece: of_piece.into(),
            of_label: of_label.into(),
            local: local.into(),
            axes: Box::default(),
            reached: None,
            letters,
            state_letters: space.letters().clone(),
            of_letter,
            stands_for_nothing,
            solved,
            patterns,
        };
        Ok((colouring, contents))
    }

    /// The colour of each piece.
    pub fn of_pieces(&self) -> &[u8] {
        &self.of_piece
    }

    /// How many pieces have a smaller colour.
    pub(crate) fn first_place(&self, colour: u8) -> usize {
        self.of_piece.iter().filter(|&&of_piece| of_piece < colour).count()
    }

    /// The colour of a label.
    pub fn of_label(&self, label: u8) -> u8 {
        self.of_label[usize::from(label)]
    }

    /// The number of a label among those of its colour.
    pub fn local(&self, label: u8) -> u8 {
        self.local[usize::from(label)]
    }

    /// The label of a colour that has this number among those of the colour.
    pub fn label(&self, colour: u8, local: u8) -> u8 {
        (0..self.of_label.len() as u8)
            .filter(|&label| self.of_label(label) == colour)
            .nth(usize::from(local))
            .expect("the colour has such a label")
    }

    /// The arrangements of each colour: words of local labels. Axis c of a coset's tensor has as many
    /// entries. Empty where the axes hold [only what is reached](Colouring::views).
    pub fn axes(&self) -> &[Words] {
        &self.axes
    }

    /// The axes that hold only what is reached; `None` where they hold all arrangements.
    pub(crate) fn reached(&self) -> Option<&[Reached]> {
        self.reached.as_deref()
    }

    /// What the axes tell, where they hold only what is reached; empty where each colour is an axis of all
    /// its arrangements.
    pub fn views(&self) -> Vec<AxisView> {
        self.reached().unwrap_or_default().iter().map(|axis| axis.view.clone()).collect()
    }

    /// How many entries each axis has.
    pub fn lengths(&self) -> Vec<u32> {
        match self.reached() {
            Some(axes) => axes.iter().map(|axis| axis.list.words().len() as u32).collect(),
            None => self.axes.iter().map(|axis| axis.total() as u32).collect(),
        }
    }

    /// How many entries of the last axis, where it holds only what is reached, make a block that all maps
    /// carry to blocks: the words that have the same pieces, if a row holds them.
    pub(crate) fn block(&self) -> u32 {
        const LONGEST_ROW: usize = 64;
        let Some(axis) = self.reached().and_then(<[Reached]>::last) else {
            return 1;
        };
        let words = axis.list.words();
        let first = axis.form.pieces(words[0]);
        let block = words.iter().take_while(|&&word| axis.form.pieces(word) == first).count();
        // The group acts on the words of pieces, so each has as many words of orientations.
        // An axis that may become another one stays whole.
        let lengths = self.lengths();
        let is_alone = lengths.iter().filter(|&&length| length as usize == words.len()).count() == 1;
        let cut = words.len() > LONGEST_ROW && (2..=LONGEST_ROW).contains(&block) && is_alone;
        if cut { block as u32 } else { words.len() as u32 }
    }

    /// The number of colours.
    pub(crate) fn colours(&self) -> usize {
        self.of_label.iter().map(|&colour| usize::from(colour) + 1).max().unwrap_or(0)
    }

    /// The letters of patterns: colours with orientations.
    pub fn letters(&self) -> &Letters {
        &self.letters
    }

    /// The letter of a pattern for a letter of a state.
    #[inline]
    pub fn of_letter(&self, letter: u8) -> u8 {
        self.of_letter[usize::from(letter)]
    }

    /// The pattern of the solved state.
    pub fn solved(&self) -> &[u8] {
        &self.solved
    }

    /// All patterns with this many cells of each colour, reachable or not.
    pub fn patterns(&self) -> &Ranks {
        &self.patterns
    }

    /// Whether a move can be made in the states of a pattern.
    #[inline]
    pub(crate) fn allows(&self, step: &WordMove, pattern: &[u8]) -> bool {
        let is_met = |asked: &WordGuard| {
            let colour = self.letters.mark(pattern[usize::from(asked.cell)]);
            (colour == self.of_label[usize::from(asked.label)]) == asked.holds
        };
        step.guard().iter().all(is_met)
    }

    /// The action of a symmetry on colours; `None` if it does not map colours to colours, or turns pieces of
    /// one colour differently.
    pub fn action(&self, symmetry: &Symmetry) -> Option<ColourAction> {
        self.action_with(&self.views(), symmetry)
    }

    /// Why a symmetry has no action on colours; `None` if it has one.
    pub fn refusal(&self, symmetry: &Symmetry) -> Option<Refusal> {
        if self.action(symmetry).is_some() {
            return None;
        }
        let maps_colours = induced(&self.of_label, &symmetry.labels, self.colours()).is_some();
        Some(if maps_colours { Refusal::TurnsDifferently } else { Refusal::SplitsColours })
    }

    /// The same with these axes; without any, each colour is one.
    pub(crate) fn action_with(&self, views: &[AxisView], symmetry: &Symmetry) -> Option<ColourAction> {
        let colours = induced(&self.of_label, &symmetry.labels, self.colours())?;
        let mut letters: Vec<Option<u8>> = vec![None; self.letters.count()];
        for (number, (&letter, &to)) in self.of_letter.iter().zip(symmetry.letters()).enumerate() {
            if self.stands_for_nothing[number] {
                continue;
            }
            let to = self.of_letter(to);
            let known = letters[usize::from(letter)].get_or_insert(to);
            if *known != to {
                return None;
            }
        }
        // Letters that stand for nothing may go anywhere.
        let letters = letters.into_iter().map(Option::unwrap_or_default).collect();
        let axes = match views {
            [] => colours.clone(),
            _ => self.action_on_axes(views, symmetry, &colours)?,
        };
        Some(ColourAction { colours, axes, letters })
    }

    /// Where the axes go; `None` if a symmetry does not map axes to axes, or patterns' orientations to such.
    fn action_on_axes(&self, views: &[AxisView], symmetry: &Symmetry, colours: &[u8]) -> Option<Box<[u8]>> {
        let keeps_orientations =
            |(colour, &to): (usize, &u8)| self.letters.seen(colour as u8) == self.letters.seen(to);
        if !colours.iter().enumerate().all(keeps_orientations) {
            return None;
        }
        let image = |component: &Component| Component {
            colour: colours[usize::from(component.colour)],
            ..*component
        };
        let axis = |AxisView(components): &AxisView| {
            // An axis that tells orientations without pieces needs them to change alike, whatever piece it
            // is.
            let is_alike = |part: &&Component| {
                part.view != View::Orientations || self.renamed_orientations(symmetry, part.colour).is_some()
            };
            if !components.iter().all(|part| is_alike(&part)) {
                return None;
            }
            let to = image(&components[0]);
            let target = views.iter().position(|axis| axis.0.contains(&to))?;
            let images = &views[target].0;
            let fits = images.len() == components.len()
                && components.iter().all(|component| images.contains(&image(component)));
            fits.then_some(target as u8)
        };
        views.iter().map(axis).collect()
    }

    /// What a symmetry makes of the orientations of a colour, before what is on a cell is turned; `None` if
    /// that depends on the piece.
    fn renamed_orientations(&self, symmetry: &Symmetry, colour: u8) -> Option<Vec<u8>> {
        let mut renamed: Option<Vec<u8>> = None;
        for label in (0..self.of_label.len() as u8).filter(|&label| self.of_label(label) == colour) {
            let seen = self.state_letters.seen(label);
            let to =
                |orientation| symmetry.letters()[usize::from(self.state_letters.letter(label, orientation))];
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
        assert_eq!(colouring.axes().iter().map(Words::total).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(colouring.patterns().total(), 4);
        assert_eq!((colouring.local(2), colouring.label(1, 1)), (1, 2));
    }

    #[test]
    fn partitions_that_are_none_are_refused() {
        let labels = space(Labels::distinct(4));
        let error = ColouringError::NotAPartition { pieces: 4 };
        assert_eq!(Colouring::new(&[0, 0, 2, 2], &labels).unwrap_err(), error);
        assert_eq!(Colouring::new(&[0, 0, 1], &labels).unwrap_err(), error);
        let nine = space(Labels::distinct(9));
        assert_eq!(Colouring::new(&[0; 9], &nine).unwrap_err(), ColouringError::TooLarge);
    }
}
