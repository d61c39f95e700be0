//! Axes that hold only reachable words: the properties of pieces that an axis holds, and the packing of its
//! words into numbers.
//!
//! An axis has one or several *components*, each a colour with a [`View`]. Its word for a state consists of
//! one symbol for each cell of each component, ordered by component and then by cell. In the number of a
//! word, all pieces come before all orientations, so that words with equal pieces are consecutive in
//! numerical order.
//!
//! Axes may be *tied* (`colouring::ties`): a coset then has only some combinations of their words.
//!
//! In a space of very many cells, a component is *sparse* if each of its labels is on a single cell, except
//! for one label on all other cells. The number of its word then stores the place of each single-cell label.

use crate::multiset_ranker::multinomial;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The properties of a colour's pieces that a component holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// The piece on each cell.
    Pieces,
    /// The orientation on each cell, regardless of the piece.
    Orientations,
    /// The piece on each cell, and its orientation.
    Both,
}

impl View {
    const ALL: [(Self, char); 3] = [(Self::Pieces, 'p'), (Self::Orientations, 'o'), (Self::Both, 'b')];

    /// Returns whether the view distinguishes pieces.
    pub fn has_pieces(self) -> bool {
        self != Self::Orientations
    }

    /// Returns whether the view distinguishes orientations.
    pub fn has_orientations(self) -> bool {
        self != Self::Pieces
    }
}

/// A colour, and the properties of its pieces that an axis holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Component {
    /// The colour.
    pub colour: u8,
    /// The properties that the axis holds.
    pub view: View,
}

/// The components of an axis. In text, a component is the number of a colour followed by a letter: `1p 2o`
/// has the pieces of colour 1 and the orientations of colour 2; the letter `b` stands for both. A tie follows
/// as `~` and a number: `3o ~0` and `4o ~0` are tied to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct AxisView {
    /// The components.
    pub components: Vec<Component>,
    /// The number of the tie, which all axes tied to each other have; `None` for an axis whose words occur
    /// in every combination with those of the others.
    pub tie: Option<u8>,
}

impl From<Vec<Component>> for AxisView {
    fn from(components: Vec<Component>) -> Self {
        Self { components, tie: None }
    }
}

impl From<AxisView> for String {
    fn from(view: AxisView) -> Self {
        view.to_string()
    }
}

impl TryFrom<String> for AxisView {
    type Error = NoAxis;

    fn try_from(text: String) -> Result<Self, NoAxis> {
        text.parse()
    }
}

/// The error for a text that does not describe an axis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid axis {0:?}: write colours, each followed by p, o or b, such as '1p 2o', and a tie as '~0'")]
pub struct NoAxis(String);

impl fmt::Display for AxisView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, component) in self.components.iter().enumerate() {
            let space = if number == 0 { "" } else { " " };
            let letter =
                View::ALL.iter().find(|(view, _)| *view == component.view).map(|&(_, letter)| letter);
            write!(f, "{space}{}{}", component.colour, letter.expect("all views have symbols"))?;
        }
        self.tie.map_or(Ok(()), |tie| write!(f, " ~{tie}"))
    }
}

impl FromStr for AxisView {
    type Err = NoAxis;

    fn from_str(text: &str) -> Result<Self, NoAxis> {
        let component = |word: &str| {
            let (view, letter) = View::ALL.into_iter().find(|&(_, letter)| word.ends_with(letter))?;
            Some(Component { colour: word.strip_suffix(letter)?.parse().ok()?, view })
        };
        let wrong = || NoAxis(text.into());
        let (words, tie) = match text.split_once(" ~") {
            Some((words, tie)) => (words, Some(tie.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let components: Option<Vec<Component>> = words.split(' ').map(component).collect();
        Ok(Self { components: components.ok_or_else(wrong)?, tie })
    }
}

/// The packing of an axis's words into numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    parts: Box<[Part]>,
    /// One entry for each place; the places of a component are consecutive.
    places: Box<[Place]>,
    /// Whether some component is sparse.
    is_sparse: bool,
}

/// The packing of one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) component: Component,
    /// The number of labels that are distinguished, 1 if the view has no pieces.
    pub(crate) labels: u8,
    /// The number of orientations that are distinguished, 1 if the view has none.
    pub(crate) turns: u8,
    /// The number of the component's first place.
    pub(crate) first: usize,
    /// The number of places, one for each cell of the colour.
    pub(crate) places: usize,
    /// `None` unless the component is sparse.
    sparse: Option<Sparse>,
}

/// The packing of a sparse component.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sparse {
    /// By label: the shift of its place; `None` for the label on all other places, which has no bits.
    shifts: Box<[Option<u8>]>,
    mask: u128,
}

impl Sparse {
    fn place(&self, word: u128, shift: u8) -> usize {
        (word >> shift & self.mask) as usize
    }
}

impl Part {
    /// Returns the number of symbols. The symbol of a local label in an orientation is
    /// `label * turns + orientation`.
    pub(crate) fn symbols(&self) -> usize {
        usize::from(self.labels) * usize::from(self.turns)
    }
}

/// Returns the symbol with the same label, turned by `turn`, where the label has `turns` orientations. There
/// may be up to 255.
#[inline]
pub(crate) fn with_turn(symbol: u8, turn: u8, turns: u8) -> u8 {
    let orientation = symbol % turns;
    symbol - orientation + ((u16::from(orientation) + u16::from(turn)) % u16::from(turns)) as u8
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    turns: u8,
    label_shift: u8,
    label_mask: u8,
    turn_shift: u8,
    turn_mask: u8,
}

impl Form {
    /// Creates the form of an axis from its components, each with its numbers of places, labels and
    /// orientations. `sparse` contains the label sizes of a component that is to be sparse. Returns `None` if
    /// the words need more than 128 bits.
    pub(crate) fn new(
        components: &[(Component, usize, u8, u8)],
        sparse: impl Fn(&Component) -> Option<Vec<u16>>,
    ) -> Option<Self> {
        let bits = |symbols: u8| u32::from(symbols).next_power_of_two().trailing_zeros();
        let of_place = |places: usize| places.next_power_of_two().trailing_zeros();
        let width = components.iter().map(|&(component, places, labels, turns)| {
            if let Some(sizes) = sparse(&component) {
                let fields = sizes.iter().filter(|&&size| size == 1).count();
                return Some((u32::try_from(fields).ok()? * of_place(places), 0));
            }
            u32::try_from(places).ok().map(|places| (places * bits(labels), places * bits(turns)))
        });
        let (of_labels, of_turns) = width
            .collect::<Option<Vec<_>>>()?
            .iter()
            .fold((0, 0), |sum, width| (sum.0 + width.0, sum.1 + width.1));
        let (mut label_shift, mut turn_shift) = (of_labels + of_turns, of_turns);
        if label_shift > 128 {
            return None;
        }
        let (mut parts, mut all) = (Vec::new(), Vec::new());
        for &(component, places, labels, turns) in components {
            let sparse = sparse(&component).map(|sizes| {
                let mut shift = |size: &u16| {
                    (*size == 1).then(|| {
                        label_shift -= of_place(places);
                        label_shift.min(127) as u8
                    })
                };
                Sparse {
                    shifts: sizes.iter().map(&mut shift).collect(),
                    mask: places.next_power_of_two() as u128 - 1,
                }
            });
            let is_sparse = sparse.is_some();
            parts.push(Part { component, labels, turns, first: all.len(), places, sparse });
            if is_sparse {
                let none = Place { turns: 1, label_shift: 0, label_mask: 0, turn_shift: 0, turn_mask: 0 };
                all.extend(std::iter::repeat_n(none, places));
                continue;
            }
            for _ in 0..places {
                label_shift -= bits(labels);
                turn_shift -= bits(turns);
                // A shift by 128 would overflow. It occurs only for a field without bits, where any shift is
                // correct.
                all.push(Place {
                    turns,
                    label_shift: label_shift.min(127) as u8,
                    label_mask: (1_u32 << bits(labels)).wrapping_sub(1) as u8,
                    turn_shift: turn_shift.min(127) as u8,
                    turn_mask: (1_u32 << bits(turns)).wrapping_sub(1) as u8,
                });
            }
        }
        let is_sparse = parts.iter().any(|part| part.sparse.is_some());
        Some(Self { parts: parts.into(), places: all.into(), is_sparse })
    }

    /// Returns the components.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the number of places of a word.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// Returns the bits that a symbol at a place adds to the number of a word.
    #[inline]
    pub(crate) fn symbol(&self, place: usize, symbol: u8) -> u128 {
        if let Some((part, sparse)) = self.sparse(place) {
            let shift = sparse.shifts[usize::from(symbol)];
            return shift.map_or(0, |shift| ((place - part.first) as u128) << shift);
        }
        let place = &self.places[place];
        let (label, turn) = (symbol / place.turns, symbol % place.turns);
        u128::from(label) << place.label_shift | u128::from(turn) << place.turn_shift
    }

    /// Returns the symbol at a place of a word.
    #[inline]
    pub(crate) fn at(&self, word: u128, place: usize) -> u8 {
        if let Some((part, sparse)) = self.sparse(place) {
            let is_here = |shift: &Option<u8>| {
                shift.is_some_and(|shift| part.first + sparse.place(word, shift) == place)
            };
            let label = sparse.shifts.iter().position(is_here);
            let label = label.or_else(|| sparse.shifts.iter().position(Option::is_none));
            return label.expect("a place without a label of its own has the common one") as u8;
        }
        self.dense_at(word, place)
    }

    /// Returns the sparse component that has a place.
    #[inline]
    fn sparse(&self, place: usize) -> Option<(&Part, &Sparse)> {
        if !self.is_sparse {
            return None;
        }
        let part = self.parts.iter().rfind(|part| part.first <= place && part.places > 0)?;
        Some((part, part.sparse.as_ref()?))
    }

    #[inline]
    fn dense_at(&self, word: u128, place: usize) -> u8 {
        let place = &self.places[place];
        let label = (word >> place.label_shift) as u8 & place.label_mask;
        let turn = (word >> place.turn_shift) as u8 & place.turn_mask;
        label * place.turns + turn
    }

    /// Returns the number of words, reachable or not, with the same labels as `word` in any order and in any
    /// orientations; `None` if the number exceeds 128 bits.
    pub(crate) fn arrangements(&self, word: u128) -> Option<u128> {
        self.parts.iter().try_fold(1_u128, |product, part| {
            let mut counts = vec![0; usize::from(part.labels)];
            for place in part.first..part.first + part.places {
                counts[usize::from(self.at(word, place) / part.turns)] += 1;
            }
            let turned = u128::from(part.turns).checked_pow(u32::try_from(part.places).ok()?)?;
            product.checked_mul(multinomial(&counts)?)?.checked_mul(turned)
        })
    }

    /// Returns the number of a word with all orientations set to 0.
    pub(crate) fn pieces(&self, word: u128) -> u128 {
        (0..self.places.len()).fold(0, |pieces, place| {
            let symbol = self.at(word, place);
            pieces | self.symbol(place, symbol - symbol % self.places[place].turns)
        })
    }
}

/// The action of a transform on the words of an axis.
#[derive(Clone, Debug)]
pub(crate) struct Carry {
    /// By source place and symbol: the bits that the symbol adds to the image.
    images: Vec<u128>,
    /// By source place: the index of its first entry in `images`.
    starts: Vec<u32>,
}

impl Carry {
    /// Creates the action from words of form `from` to words of form `to` that sends symbol s at place j to
    /// `image(j, s)`, a place and a symbol of the target.
    pub(crate) fn new(from: &Form, to: &Form, mut image: impl FnMut(usize, u8) -> (usize, u8)) -> Self {
        let (mut images, mut starts) = (Vec::new(), Vec::new());
        for part in from.parts() {
            for place in part.first..part.first + part.places {
                starts.push(images.len() as u32);
                images.extend((0..part.symbols()).map(|symbol| {
                    let (place, symbol) = image(place, symbol as u8);
                    to.symbol(place, symbol)
                }));
            }
        }
        Self { images, starts }
    }

    /// Returns the image of a word of form `from`.
    #[inline]
    pub(crate) fn apply(&self, from: &Form, word: u128) -> u128 {
        if from.is_sparse {
            return self.apply_sparse(from, word);
        }
        self.starts.iter().enumerate().fold(0, |image, (place, &start)| {
            image | self.images[start as usize + usize::from(from.dense_at(word, place))]
        })
    }

    fn apply_sparse(&self, from: &Form, word: u128) -> u128 {
        let image = |place: usize, symbol: usize| self.images[self.starts[place] as usize + symbol];
        let mut images = 0;
        for part in from.parts() {
            match &part.sparse {
                // The label on all other places has no bits.
                Some(sparse) => {
                    for (label, shift) in sparse.shifts.iter().enumerate() {
                        if let Some(shift) = *shift {
                            images |= image(part.first + sparse.place(word, shift), label);
                        }
                    }
                }
                None => {
                    for place in part.first..part.first + part.places {
                        images |= image(place, from.dense_at(word, place).into());
                    }
                }
            }
        }
        images
    }
}

/// Words in increasing order, class by class if they are in classes; classes are in the order of their
/// smallest words. The number of a word is its position.
#[derive(Clone, Debug)]
pub(crate) struct List {
    words: Box<[u128]>,
    numbers: hashbrown::HashTable<u32>,
}

impl List {
    /// Creates the list of `words`, which must be distinct. Each `class` of them, one after the other, are a
    /// class.
    pub(crate) fn new(mut words: Vec<u128>, class: usize) -> Self {
        let mut classes: Vec<&mut [u128]> = words.chunks_exact_mut(class).collect();
        classes.iter_mut().for_each(|class| class.sort_unstable());
        classes.sort_unstable_by_key(|class| class[0]);
        let words = classes.concat();
        let mut numbers = hashbrown::HashTable::with_capacity(words.len());
        for (number, &word) in words.iter().enumerate() {
            numbers.insert_unique(hash(word), number as u32, |&number| hash(words[number as usize]));
        }
        Self { words: words.into(), numbers }
    }

    /// Returns the words in the order of their numbers.
    pub(crate) fn words(&self) -> &[u128] {
        &self.words
    }

    /// Returns the number of a word; `None` if the list does not contain the word.
    #[inline]
    pub(crate) fn number(&self, word: u128) -> Option<u32> {
        self.numbers.find(hash(word), |&number| self.words[number as usize] == word).copied()
    }
}

/// Hashes a word by multiplication. The table takes its bucket from the low bits and its tag from the high
/// ones, so both must depend on the whole word.
#[inline]
fn hash(word: u128) -> u64 {
    let mixed = (word as u64 ^ ((word >> 64) as u64).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_text_round_trips() {
        for text in ["0p", "1p 2o", "12b 3b 4b", "3o ~0", "1p 2o ~12"] {
            assert_eq!(text.parse::<AxisView>().unwrap().to_string(), text);
        }
        for text in ["", "p", "1", "1p  2o", "300p", "-1p", "1q", "1p ~", "~0", "1p~0", "1p ~256"] {
            assert!(text.parse::<AxisView>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn words_order_by_pieces_then_orientations() {
        let both = Component { colour: 0, view: View::Both };
        let form = Form::new(&[(both, 3, 3, 2)], |_| None).unwrap();
        let word = |symbols: [u8; 3]| {
            symbols.iter().enumerate().fold(0, |word, (place, &symbol)| word | form.symbol(place, symbol))
        };
        // Labels 0 1 2 with the first piece turned come before labels 0 2 1 unturned.
        assert!(word([1, 2, 4]) < word([0, 4, 2]));
        assert!(word([0, 3, 4]) < word([1, 2, 4]));
        let turned = word([1, 3, 4]);
        assert_eq!([0, 1, 2].map(|place| form.at(turned, place)), [1, 3, 4]);
        assert_eq!(form.pieces(turned), word([0, 2, 4]));
        // 3! orders of the pieces, and 2^3 ways to turn them.
        assert_eq!(form.arrangements(turned), Some(48));
        // A colour of one label that does not turn takes no bits; 24 cells with 12 labels in 2 orientations
        // take 120, and 26 cells with 24 labels take 130.
        assert!(Form::new(&[(both, 200, 1, 1)], |_| None).is_some());
        assert!(Form::new(&[(both, 24, 12, 2)], |_| None).is_some());
        assert!(Form::new(&[(both, 26, 24, 1)], |_| None).is_none());
    }

    /// Words of 300 places, with two labels on one place each and a third one on all others; and words of
    /// three places with two labels that turn.
    #[test]
    fn sparse_components_store_label_positions() {
        let many = Component { colour: 0, view: View::Pieces };
        let both = Component { colour: 1, view: View::Both };
        let components = [(many, 300, 3, 1), (both, 3, 2, 2)];
        let sizes = |component: &Component| (*component == many).then(|| vec![1, 298, 1]);
        assert!(Form::new(&components, |_| None).is_none());
        let form = Form::new(&components, sizes).unwrap();
        let symbols = |at: [usize; 2]| {
            let of_many = (0..300).map(move |place| match place {
                _ if place == at[0] => 0,
                _ if place == at[1] => 2,
                _ => 1,
            });
            of_many.chain([2, 1, 3]).collect::<Vec<u8>>()
        };
        let word = |symbols: &[u8]| {
            symbols.iter().enumerate().fold(0, |word, (place, &symbol)| word | form.symbol(place, symbol))
        };
        // Places move on by one, the labels with one place each are exchanged, and the pieces turn.
        let carry = Carry::new(&form, &form, |place, symbol| match place {
            0..300 => ((place + 1) % 300, 2 - symbol),
            _ => (place, symbol ^ 1),
        });
        let mut seen = std::collections::BTreeSet::new();
        for at in [[0, 1], [0, 299], [299, 0], [17, 256], [256, 17]] {
            let symbols_here = symbols(at);
            let packed = word(&symbols_here);
            assert!(seen.insert(packed));
            assert!(symbols_here.iter().enumerate().all(|(place, &symbol)| form.at(packed, place) == symbol));
            assert_eq!(form.arrangements(packed), Some(300 * 299 * 3 * 8));
            let moved = carry.apply(&form, packed);
            let mut images = symbols([(at[1] + 1) % 300, (at[0] + 1) % 300]);
            images[300..].copy_from_slice(&[3, 0, 2]);
            assert_eq!(moved, word(&images), "{at:?}");
            assert_eq!(form.pieces(packed), packed - packed % 8);
        }
    }

    #[test]
    fn lists_number_words_in_order() {
        let words: Vec<u128> = (0..3000_u128).map(|i| ((i * i) << 40) | ((i * 7919) % 3001)).collect();
        let list = List::new(words.clone(), words.len());
        assert!(list.words().is_sorted());
        for (number, &word) in list.words().iter().enumerate() {
            assert_eq!(list.number(word), Some(number as u32));
        }
        assert_eq!(list.number(1 << 127), None);
        assert_eq!(List::new(vec![8, 3, 9, 1, 7, 2], 2).words(), [1, 9, 2, 7, 3, 8]);
    }
}
