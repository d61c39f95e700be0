//! What is enumerated: the states of a puzzle, up to exchanging pieces with equal labels.

use crate::Labels;
use crate::words::multinomial;
use fathom_algebra::{OrientedPermutation, Permutation, StabiliserChain};
use fathom_puzzle::{Metric, Puzzle};
use num_bigint::BigUint;
use std::collections::HashSet;

/// A puzzle under a metric, with labels: a Cayley graph when all labels differ, a Schreier coset graph otherwise.
#[derive(Clone, Debug)]
pub struct Space {
    puzzle: Puzzle,
    metric: Metric,
    labels: Labels,
    /// `moves[x][c]`: the cell to which move x carries what stands on cell c.
    moves: Vec<Box<[u8]>>,
    symmetries: Vec<Symmetry>,
    group_order: BigUint,
    states: BigUint,
}

/// A relabelling of cells, pieces and with them labels that maps moves to moves: d(a g a⁻¹) = d(g).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Symmetry {
    /// Where each cell, and the piece that belongs there, goes.
    pub cells: Box<[u8]>,
    /// Where each label goes.
    pub labels: Box<[u8]>,
}

/// Why a puzzle and labels make no space that Fathom can enumerate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// The labelled states of a group that is neither symmetric nor alternating are counted by listing them.
    #[error("the labelled states of {name} cannot be counted: its group, of order {order}, is neither symmetric nor alternating and has more than {limit} states", limit = Space::LARGEST_LISTED)]
    Uncounted {
        /// The puzzle.
        name: String,
        /// The order of its group.
        order: BigUint,
    },
}

impl Space {
    /// Groups other than symmetric and alternating ones have their states listed up to this number.
    const LARGEST_LISTED: usize = 1 << 20;

    /// The space of a puzzle with labels. `metric` is the one that the puzzle's moves were made for.
    ///
    /// # Errors
    /// [`SpaceError`] if the states cannot be counted.
    pub fn new(puzzle: Puzzle, metric: Metric, labels: Labels) -> Result<Self, SpaceError> {
        assert_eq!(puzzle.cells, labels.pieces(), "one label a piece");
        let moves: Vec<Box<[u8]>> = puzzle.moves.iter().map(|m| bytes(&m.action)).collect();
        let symmetries = puzzle.symmetries.iter().filter_map(|a| Symmetry::of_labels(a, &labels)).collect();
        let chain = StabiliserChain::new(puzzle.cells, puzzle.moves.iter().map(|m| &m.action));
        let group_order = chain.big_order();
        let states = count_states(&group_order, &labels, &moves)
            .ok_or_else(|| SpaceError::Uncounted { name: puzzle.name.clone(), order: group_order.clone() })?;
        Ok(Self { puzzle, metric, labels, moves, symmetries, group_order, states })
    }

    /// The puzzle.
    pub fn puzzle(&self) -> &Puzzle {
        &self.puzzle
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.puzzle.cells
    }

    /// The moves as maps of cells, in the order of the puzzle's moves.
    pub fn moves(&self) -> &[Box<[u8]>] {
        &self.moves
    }

    /// Whether the inverse of every move is a move, so that the depths of neighbours differ by at most one. Distances are along
    /// moves, from the solved state, in any case.
    pub fn is_closed_under_inverses(&self) -> bool {
        self.puzzle.is_closed_under_inverses()
    }

    /// The solved state, as a word.
    pub fn solved(&self) -> &[u8] {
        self.labels.of_pieces()
    }

    /// The state, as a word, to which these permutations of cells lead from the solved one.
    pub fn word(&self, state: &OrientedPermutation) -> Vec<u8> {
        let mut word = vec![0; self.cells()];
        for (piece, &label) in self.labels.of_pieces().iter().enumerate() {
            word[state.cells().apply(piece)] = label;
        }
        word
    }

    /// Writes to `image` the state to which a move leads from the state `word`.
    #[inline]
    pub fn apply(&self, mv: usize, word: &[u8], image: &mut [u8]) {
        for (&to, &label) in self.moves[mv].iter().zip(word) {
            image[usize::from(to)] = label;
        }
    }

    /// The symmetries of the puzzle that map labels to labels, the identity first. Classes are counted up to these.
    pub fn symmetries(&self) -> &[Symmetry] {
        &self.symmetries
    }

    /// The order of the group that the moves generate (Schreier-Sims).
    pub fn group_order(&self) -> &BigUint {
        &self.group_order
    }

    /// The number of states: the order of the group over the order of the subgroup that exchanges only pieces with
    /// equal labels.
    pub fn states(&self) -> &BigUint {
        &self.states
    }

    /// Whether the states are all even permutations of pieces that all differ.
    pub fn has_only_even_states(&self) -> bool {
        let factorial: BigUint = (1..=self.cells()).map(BigUint::from).product();
        self.labels.are_distinct() && &self.group_order * 2_u32 == factorial
    }

    /// Tells of a word with each label as often as it should be whether moves lead from the solved state to it; `None`
    /// unless all pieces are told apart.
    pub fn membership(&self) -> Option<impl Fn(&[u8]) -> bool> {
        let chain = StabiliserChain::new(self.puzzle.cells, self.puzzle.moves.iter().map(|m| &m.action));
        let is_member = move |word: &[u8]| {
            let images = word.iter().map(|&piece| u16::from(piece)).collect::<Vec<_>>();
            Permutation::from_images(images).is_ok_and(|element| chain.contains(&element))
        };
        self.labels.are_distinct().then_some(is_member)
    }

    /// One word that tells this space from any other, fit for a file name: `3x4-multi`, or with labels as letters
    /// `2x2-multi-aabb`.
    pub fn slug(&self) -> String {
        let fit =
            |letter: char| if letter.is_alphanumeric() || "-_+.".contains(letter) { letter } else { '-' };
        let name: String = self.puzzle.name.chars().map(fit).collect();
        let mut slug = format!("{name}-{}", self.metric);
        if !self.labels.are_distinct() {
            slug.push('-');
            for &label in self.labels.of_pieces() {
                match label {
                    0..26 => slug.push(char::from(b'a' + label)),
                    _ => slug.push_str(&format!("_{label}")),
                }
            }
        }
        slug
    }
}

impl Symmetry {
    /// The symmetry with its action on labels; `None` if it does not map labels to labels.
    fn of_labels(relabelling: &Permutation, labels: &Labels) -> Option<Self> {
        let cells = bytes(relabelling);
        let images = induced(labels.of_pieces(), &cells, labels.sizes().len())?;
        Some(Self { cells, labels: images })
    }

    /// The image of a word: what stands on cell c goes to `cells[c]`, renamed by `letters`. With `letters` the
    /// action on labels this is the image of a state, with the action on colours that of a pattern.
    pub fn carry(&self, letters: &[u8], word: &[u8], image: &mut [u8]) {
        for (&to, &letter) in self.cells.iter().zip(word) {
            image[usize::from(to)] = letters[usize::from(letter)];
        }
    }
}

/// The map of classes that a map of pieces induces: `class[p]` goes to `class[pieces[p]]`, if that is well defined
/// and one to one.
pub(crate) fn induced(class: &[u8], pieces: &[u8], classes: usize) -> Option<Box<[u8]>> {
    const UNSET: u8 = u8::MAX;
    let mut images = vec![UNSET; classes];
    let mut preimages = vec![UNSET; classes];
    for (piece, &to) in pieces.iter().enumerate() {
        let (from, to) = (class[piece], class[usize::from(to)]);
        let (image, preimage) = (&mut images[usize::from(from)], &mut preimages[usize::from(to)]);
        if (*image != UNSET && *image != to) || (*preimage != UNSET && *preimage != from) {
            return None;
        }
        (*image, *preimage) = (to, from);
    }
    Some(images.into())
}

fn bytes(permutation: &Permutation) -> Box<[u8]> {
    permutation.images().iter().map(|&i| u8::try_from(i).expect("spaces have at most 255 cells")).collect()
}

/// The orbit length of the solved word. For the symmetric group it is a multinomial; so it is for the alternating
/// group unless all labels differ, because exchanging two equal pieces makes any permutation even.
fn count_states(group_order: &BigUint, labels: &Labels, moves: &[Box<[u8]>]) -> Option<BigUint> {
    let factorial: BigUint = (1..=labels.pieces()).map(BigUint::from).product();
    let alternating = group_order * 2_u32 == factorial;
    if labels.are_distinct() {
        return Some(group_order.clone());
    }
    if *group_order == factorial || alternating {
        return Some(match multinomial(labels.sizes()) {
            Some(words) => words.into(),
            None => labels.sizes().iter().fold(factorial, |words, &size| {
                words / (1..=u64::from(size)).map(BigUint::from).product::<BigUint>()
            }),
        });
    }
    let solved = labels.of_pieces().to_vec();
    let mut seen = HashSet::from([solved.clone()]);
    let mut open = vec![solved];
    while let Some(word) = open.pop() {
        for cells in moves {
            let mut image = vec![0; word.len()];
            for (&to, &label) in cells.iter().zip(&word) {
                image[usize::from(to)] = label;
            }
            if seen.insert(image.clone()) {
                open.push(image);
            }
        }
        if seen.len() > Space::LARGEST_LISTED {
            return None;
        }
    }
    Some(seen.len().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::Board;

    fn space(word: &str, labels: Option<&str>) -> Space {
        let board: Board = word.parse().unwrap();
        let labels = match labels {
            Some(list) => Labels::parse_list(list, board.cells()).unwrap(),
            None => Labels::distinct(board.cells()),
        };
        Space::new(board.puzzle(Metric::Multi), Metric::Multi, labels).unwrap()
    }

    #[test]
    fn numbers_of_states() {
        let states = |word, labels| space(word, labels).states().to_string();
        assert_eq!(states("3x4", None), "479001600");
        assert_eq!(states("3x3", None), "181440");
        assert_eq!(states("3x3", Some("0,0,0,1,1,1,2,2,2")), "1680");
        assert_eq!(states("1x7", None), "7");
        assert_eq!(states("1x6", Some("0,1,0,1,0,1")), "2");
        assert_eq!(states("1x1", None), "1");
        let factorial: BigUint = (1..=64_u32).map(BigUint::from).product();
        assert_eq!(states("8x8", None), factorial.to_string());
        assert_eq!(states("6x6", Some(&["0"; 36].join(","))), "1");
    }

    #[test]
    fn symmetries_must_respect_labels() {
        assert_eq!(space("4x4", None).symmetries().len(), 128);
        // The top row stands out: only the translations along it and two reflections are left.
        assert_eq!(space("4x4", Some("1,1,1,1,0,0,0,0,0,0,0,0,0,0,0,0")).symmetries().len(), 16);
        // Exchanging the two colours of a checkerboard is a symmetry.
        assert_eq!(space("4x4", Some("0,1,0,1,1,0,1,0,0,1,0,1,1,0,1,0")).symmetries().len(), 128);
    }

    #[test]
    fn slugs_tell_spaces_apart() {
        assert_eq!(space("3x4", None).slug(), "3x4-multi");
        assert_eq!(space("2x2", Some("5,5,1,1")).slug(), "2x2-multi-aabb");
    }
}
