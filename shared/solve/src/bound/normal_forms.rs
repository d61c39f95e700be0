//! Normal forms: the first of the shortest words of each state within a number of moves. They determine which
//! words are forbidden.
//!
//! Words are ordered by length, then letter by letter in the order of the puzzle's moves. Every subword of a
//! normal form is a normal form: otherwise it could be replaced by a word that is shorter or comes first, and
//! the whole word would become shorter or come first too. So a word is a candidate for a normal form only if
//! the word without its first letter is a normal form.

use fathom_puzzle::Puzzle;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;

/// The normal forms of a ball around the solved state, as a tree: a node is a word, and its children are the
/// words with one letter more. Nodes are numbered in the order of their words, the empty word first.
#[derive(Clone, Debug)]
pub struct NormalForms {
    /// The last letter of each node, as the index of a move. The entry of the empty word is not used.
    letters: Vec<u8>,
    /// The node of each word without its first letter. The empty word links to itself.
    links: Vec<u32>,
    /// The first child of each node whose children are known, and the end of the last children.
    children: Vec<u32>,
    /// The first node of each length, and the number of all nodes.
    lengths: Vec<usize>,
}

/// The bytes of a node in the tree.
const NODE_BYTES: usize = 9;

impl NormalForms {
    /// Finds the normal forms of up to `depth` letters, or of fewer letters if the search would need more
    /// than `memory_bytes`; words of one letter are always found. The puzzle's moves must be closed under
    /// inverses.
    pub fn search(puzzle: &Puzzle, depth: u32, memory_bytes: u64) -> Self {
        Self::search_while(puzzle, depth, memory_bytes, &|| true)
    }

    /// Does the same, but also stops at the last complete length when `goes_on` returns false.
    pub(crate) fn search_while(
        puzzle: &Puzzle,
        depth: u32,
        memory_bytes: u64,
        goes_on: &dyn Fn() -> bool,
    ) -> Self {
        let moves: Vec<Vec<u8>> = puzzle
            .moves
            .iter()
            .map(|m| m.action.cells().images().iter().map(|&image| image as u8).collect())
            .collect();
        let solved: Vec<u8> = (0..puzzle.cells).map(|cell| cell as u8).collect();
        let mut forms = Self { letters: vec![0], links: vec![0], children: Vec::new(), lengths: vec![0, 1] };
        let mut before = Level::new(puzzle.cells);
        let mut newest = Level::new(puzzle.cells);
        newest.insert(&solved);
        for length in 1..=depth as usize {
            let mut next = Level::new(puzzle.cells);
            let mut image = solved.clone();
            let mut fits = true;
            for node in forms.nodes(length - 1) {
                forms.children.push(forms.letters.len() as u32);
                let state = newest.state(node - forms.lengths[length - 1]);
                for (letter, link) in forms.candidates(node, moves.len()) {
                    for (&to, &piece) in moves[usize::from(letter)].iter().zip(state) {
                        image[usize::from(to)] = piece;
                    }
                    // One move changes the distance by at most one, so the image can only be in these three
                    // levels.
                    if !before.contains(&image) && !newest.contains(&image) && next.insert(&image) {
                        forms.letters.push(letter);
                        forms.links.push(link);
                    }
                }
                let bytes = before.bytes() + newest.bytes() + next.bytes() + NODE_BYTES * forms.letters.len();
                fits = bytes as u64 <= memory_bytes
                    && forms.letters.len() < u32::MAX as usize - moves.len()
                    && (!node.is_multiple_of(1 << 10) || goes_on());
                if !fits && length > 1 {
                    break;
                }
            }
            if !fits && length > 1 {
                let nodes = forms.lengths[length];
                forms.letters.truncate(nodes);
                forms.links.truncate(nodes);
                forms.children.truncate(forms.lengths[length - 1]);
                break;
            }
            forms.lengths.push(forms.letters.len());
            (before, newest) = (newest, next);
        }
        forms.children.push(forms.letters.len() as u32);
        forms
    }

    /// Returns the letters that may continue a node to a normal form, each with the node of that word without
    /// its first letter.
    fn candidates(&self, node: usize, letters: usize) -> Vec<(u8, u32)> {
        match node {
            0 => (0..letters).map(|letter| (letter as u8, 0)).collect(),
            _ => {
                let link = self.links[node] as usize;
                let end = self.children.get(link + 1).map_or(self.letters.len(), |&end| end as usize);
                (self.children[link] as usize..end).map(|child| (self.letters[child], child as u32)).collect()
            }
        }
    }

    /// Returns the length of the longest known normal forms: all states up to this distance have one.
    pub fn depth(&self) -> usize {
        self.lengths.len() - 2
    }

    /// Returns the number of normal forms of a length up to [`NormalForms::depth`], which is the number of
    /// states at this distance.
    pub fn count(&self, length: usize) -> usize {
        self.nodes(length).len()
    }

    /// Returns the nodes of a length.
    pub(crate) fn nodes(&self, length: usize) -> Range<usize> {
        self.lengths[length]..self.lengths[length + 1]
    }

    /// Returns the children of a node that is shorter than [`NormalForms::depth`].
    pub(crate) fn children(&self, node: usize) -> Range<usize> {
        self.children[node] as usize..self.children[node + 1] as usize
    }

    /// Returns the node of a word without its first letter.
    pub(crate) fn link(&self, node: usize) -> usize {
        self.links[node] as usize
    }

    /// Returns the letters of a node.
    pub(crate) fn letters(&self, mut node: usize) -> Vec<usize> {
        let mut letters = Vec::new();
        while node > 0 {
            letters.push(self.letter(node));
            // The parent is the last node whose children start no later than this node.
            node = self.children.partition_point(|&first| first as usize <= node) - 1;
        }
        letters.reverse();
        letters
    }

    /// Returns the last letter of a node.
    pub(crate) fn letter(&self, node: usize) -> usize {
        self.letters[node].into()
    }
}

/// The states at one distance, in the order in which they were found.
struct Level {
    cells: usize,
    /// The states one after the other, each as the piece on each cell.
    states: Vec<u8>,
    /// The numbers of the states.
    index: HashTable<u32>,
}

impl Level {
    fn new(cells: usize) -> Self {
        Self { cells, states: Vec::new(), index: HashTable::new() }
    }

    fn state(&self, number: usize) -> &[u8] {
        &self.states[number * self.cells..][..self.cells]
    }

    fn contains(&self, state: &[u8]) -> bool {
        self.index.find(hash(state), |&number| self.state(number as usize) == state).is_some()
    }

    /// Adds a state. Returns whether the state is new.
    fn insert(&mut self, state: &[u8]) -> bool {
        if self.contains(state) {
            return false;
        }
        let Self { cells, states, index } = self;
        let number = index.len() as u32;
        states.extend_from_slice(state);
        index.insert_unique(hash(state), number, |&number| {
            hash(&states[number as usize * *cells..][..*cells])
        });
        true
    }

    /// Returns the memory of the level in bytes. The index takes five bytes a slot, one of them for control;
    /// it doubles when seven eighths of the slots are full.
    fn bytes(&self) -> usize {
        self.states.capacity() + self.index.capacity() / 7 * 8 * 5
    }
}

fn hash(state: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(state);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::{Board, Metric};
    use std::collections::HashMap;

    fn puzzle(word: &str, metric: Metric) -> Puzzle {
        word.parse::<Board>().unwrap().puzzle(metric)
    }

    /// Returns the words of all nodes, by walking the tree.
    fn words(forms: &NormalForms) -> Vec<Vec<usize>> {
        let mut words = vec![Vec::new()];
        for length in 0..forms.depth() {
            for node in forms.nodes(length) {
                for child in forms.children(node) {
                    assert_eq!(child, words.len());
                    let mut word = words[node].clone();
                    word.push(forms.letter(child));
                    words.push(word);
                }
            }
        }
        words
    }

    /// Returns the first word of each permutation, from all words of each length in order.
    fn first_words(puzzle: &Puzzle, depth: usize) -> Vec<Vec<usize>> {
        let solved = fathom_algebra::Permutation::identity(puzzle.cells);
        let mut first: HashMap<_, Vec<usize>> = HashMap::from([(solved.clone(), Vec::new())]);
        let mut all = vec![(Vec::new(), solved)];
        let mut normal = vec![Vec::new()];
        for _ in 0..depth {
            let mut longer = Vec::new();
            for (word, product) in &all {
                for (letter, m) in puzzle.moves.iter().enumerate() {
                    let mut word: Vec<usize> = word.clone();
                    word.push(letter);
                    let product = product.then(m.action.cells());
                    if !first.contains_key(&product) {
                        first.insert(product.clone(), word.clone());
                        normal.push(word.clone());
                    }
                    longer.push((word, product));
                }
            }
            all = longer;
        }
        normal
    }

    #[test]
    fn normal_forms_are_the_first_words() {
        for (word, depth) in [("2x2", 5), ("2x3", 4), ("3x3", 3), ("2x4", 4), ("1x5", 4), ("3x4", 3)] {
            for metric in Metric::ALL {
                let puzzle = puzzle(word, metric);
                let forms = NormalForms::search(&puzzle, depth, u64::MAX);
                let words = words(&forms);
                assert!(words == first_words(&puzzle, depth as usize), "{word} {metric}");
                for (node, word) in words.iter().enumerate().skip(1) {
                    assert_eq!(words[forms.link(node)], word[1..]);
                }
            }
        }
    }

    #[test]
    fn counts_match_known_growth_functions() {
        // Table 1 of the paper; 2x3 and 2x5 by a search over Lehmer ranks, as in tests/data/boards.json.
        for (word, metric, counts) in [
            ("3x3", Metric::Multi, &[1, 12, 96, 736, 5208, 28_674, 89_497, 54_741, 2475][..]),
            ("2x3", Metric::Multi, &[1, 7, 31, 115, 274, 253, 36, 3]),
            ("2x4", Metric::Single, &[1, 8, 44, 208, 854, 2936, 8468, 15_144, 10_789, 1864, 4]),
        ] {
            let forms = NormalForms::search(&puzzle(word, metric), 20, u64::MAX);
            let found: Vec<usize> = (0..counts.len()).map(|length| forms.count(length)).collect();
            assert_eq!(found, counts, "{word} {metric}");
            assert!((counts.len()..=20).all(|length| forms.count(length) == 0));
        }
    }

    #[test]
    fn search_stops_early_with_little_memory() {
        let puzzle = puzzle("3x3", Metric::Multi);
        let mut depths = Vec::new();
        for memory in [0, 10_000, 100_000, 1_000_000, 100_000_000] {
            let forms = NormalForms::search(&puzzle, 6, memory);
            let whole = NormalForms::search(&puzzle, forms.depth() as u32, u64::MAX);
            assert_eq!(words(&forms), words(&whole));
            assert_eq!((forms.links, forms.children), (whole.links, whole.children));
            depths.push(forms.lengths.len() - 2);
        }
        assert!(
            depths.is_sorted() && depths[0] == 1 && depths[1] < depths[3] && depths[4] == 6,
            "{depths:?}"
        );
    }
}
