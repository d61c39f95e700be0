//! An automaton that accepts the words without a forbidden subword, which are the words not known to be other
//! than normal forms.
//!
//! A word of up to K letters is forbidden if it is not a normal form. The automaton of all words without a
//! forbidden subword is that of Aho and Corasick (*Efficient string matching*, 1975) for the smallest
//! forbidden words: its states are the prefixes of such words, and after any word the automaton is in the
//! state of the longest prefix that the word ends with. The accepted words of up to K letters are exactly the
//! normal forms; longer accepted words include at least all normal forms.

use crate::bound::{NormalForms, Tally};
use fathom_puzzle::Puzzle;

/// Counts the words that have no forbidden subword.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// The index of the first step from each state, and the end of the last steps.
    begins: Vec<usize>,
    steps: Vec<Transition>,
}

/// A move from one state to the next.
#[derive(Clone, Copy, Debug)]
struct Transition {
    to: u32,
    is_odd: bool,
}

impl Automaton {
    /// Creates the automaton of the words that the normal forms of a puzzle allow.
    pub fn new(forms: &NormalForms, puzzle: &Puzzle) -> Self {
        let is_odd: Vec<bool> = puzzle.moves.iter().map(|m| !m.action.cells().is_even()).collect();
        // No forbidden words are known beyond the longest normal forms, so these are not states.
        let known = forms.nodes(forms.depth()).start;
        let mut begins_forbidden = vec![false; known];
        for node in (0..known).rev() {
            let children = forms.children(node);
            // The letters that continue a node are among those that continue the node without its first
            // letter. A missing letter gives a smallest forbidden word: without its first letter, and without
            // its last one, that word is a normal form.
            begins_forbidden[node] = node == 0
                || children.len() < forms.children(forms.link(node)).len()
                || children.into_iter().any(|child| child < known && begins_forbidden[child]);
        }
        let states: Vec<usize> = (0..known).filter(|&node| begins_forbidden[node]).collect();
        let mut numbers = vec![u32::MAX; known];
        for (number, &node) in states.iter().enumerate() {
            numbers[node] = number as u32;
        }
        let longest_end = |mut node: usize| {
            while node >= known || !begins_forbidden[node] {
                node = forms.link(node);
            }
            numbers[node]
        };
        let mut begins = vec![0];
        let mut steps = Vec::new();
        for &node in &states {
            for child in forms.children(node) {
                steps.push(Transition { to: longest_end(child), is_odd: is_odd[forms.letter(child)] });
            }
            begins.push(steps.len());
        }
        Self { begins, steps }
    }

    /// Returns the number of states.
    pub fn states(&self) -> usize {
        self.begins.len() - 1
    }

    /// Returns the numbers of accepted words of length 0, 1, 2, …, as an infinite iterator.
    pub fn counts(&self) -> impl Iterator<Item = Tally> {
        let mut words = vec![Tally::default(); self.states()];
        words[0] = Tally::one();
        std::iter::from_fn(move || {
            let mut count = Tally::default();
            words.iter().for_each(|tally| count += tally);
            words = self.step(&words);
            Some(count)
        })
    }

    /// Counts the words that are one letter longer, by the states in which the words end.
    fn step(&self, words: &[Tally]) -> Vec<Tally> {
        let mut longer = vec![Tally::default(); words.len()];
        for (tally, ends) in words.iter().zip(self.begins.windows(2)) {
            for step in &self.steps[ends[0]..ends[1]] {
                let to = &mut longer[step.to as usize];
                let (even, odd) =
                    if step.is_odd { (&tally.odd, &tally.even) } else { (&tally.even, &tally.odd) };
                to.even += even;
                to.odd += odd;
            }
        }
        longer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::Arrangements;
    use fathom_algebra::Permutation;
    use fathom_puzzle::{Board, Metric};
    use num_bigint::BigUint;
    use std::collections::HashMap;

    fn puzzle(word: &str, metric: Metric) -> Puzzle {
        word.parse::<Board>().unwrap().puzzle(metric)
    }

    fn counts(puzzle: &Puzzle, depth: u32, lengths: usize) -> Vec<Tally> {
        let forms = NormalForms::search(puzzle, depth, u64::MAX);
        Automaton::new(&forms, puzzle).counts().take(lengths).collect()
    }

    /// Counts all words in which each subword of up to `depth` letters is the first word for its permutation.
    fn words_without_forbidden_parts(puzzle: &Puzzle, depth: usize, longest: usize) -> Vec<Tally> {
        let product = |word: &[usize]| {
            let moves = word.iter().map(|&letter| puzzle.moves[letter].action.cells());
            moves.fold(Permutation::identity(puzzle.cells), |product, action| product.then(action))
        };
        let mut first: HashMap<Permutation, Vec<usize>> = HashMap::new();
        let mut words = vec![Vec::new()];
        let mut all = words.clone();
        let mut found = Vec::new();
        for length in 0..=longest {
            if length <= depth {
                for word in &all {
                    first.entry(product(word)).or_insert_with(|| word.clone());
                }
            }
            let is_first = |part: &[usize]| first[&product(part)] == part;
            words.retain(|word: &Vec<usize>| {
                (0..length).rev().take(depth).all(|from| is_first(&word[from..]))
            });
            let mut tally = Tally::default();
            for word in &words {
                *(if product(word).is_even() { &mut tally.even } else { &mut tally.odd }) += 1_u32;
            }
            found.push(tally);
            let longer = |words: &[Vec<usize>]| -> Vec<Vec<usize>> {
                let letters = 0..puzzle.moves.len();
                words.iter().flat_map(|w| letters.clone().map(move |x| [&w[..], &[x]].concat())).collect()
            };
            words = longer(&words);
            all = if length < depth { longer(&all) } else { Vec::new() };
        }
        found
    }

    #[test]
    fn counts_match_generated_words() {
        for (word, metric, depth, longest) in [
            ("2x2", Metric::Multi, 3, 7),
            ("2x3", Metric::Multi, 2, 5),
            ("2x3", Metric::Multi, 4, 5),
            ("2x4", Metric::Single, 3, 5),
            ("3x3", Metric::Multi, 2, 4),
            ("3x3", Metric::Multi, 3, 4),
            ("1x6", Metric::Single, 4, 6),
        ] {
            let puzzle = puzzle(word, metric);
            assert_eq!(
                counts(&puzzle, depth, longest + 1),
                words_without_forbidden_parts(&puzzle, depth as usize, longest),
                "{word} {metric} {depth}"
            );
        }
    }

    /// Growth functions from searches over Lehmer ranks, as in tests/data/boards.json; 3x3 is Table 1 of the
    /// paper.
    const GROWTH: [(&str, Metric, &[u64]); 6] = [
        ("2x2", Metric::Multi, &[1, 4, 10, 8, 1]),
        ("2x3", Metric::Multi, &[1, 7, 31, 115, 274, 253, 36, 3]),
        ("2x4", Metric::Multi, &[1, 10, 63, 352, 1623, 5890, 14_345, 15_772, 2264]),
        ("2x4", Metric::Single, &[1, 8, 44, 208, 854, 2936, 8468, 15_144, 10_789, 1864, 4]),
        (
            "2x5",
            Metric::Multi,
            &[1, 13, 106, 790, 4845, 25_771, 121_338, 472_506, 1_251_350, 1_484_825, 258_645, 8295, 315],
        ),
        ("3x3", Metric::Multi, &[1, 12, 96, 736, 5208, 28_674, 89_497, 54_741, 2475]),
    ];

    #[test]
    fn counts_are_exact_up_to_the_depth_and_upper_bounds_beyond() {
        for (word, metric, growth) in GROWTH {
            let puzzle = puzzle(word, metric);
            let mut shallower: Option<Vec<Tally>> = None;
            for depth in 1..=6 {
                let counts = counts(&puzzle, depth, growth.len());
                for (length, (count, &states)) in counts.iter().zip(growth).enumerate() {
                    let states = BigUint::from(states);
                    assert!(count.total() >= states, "{word} {metric} {depth} {length}");
                    assert!(
                        length > depth as usize || count.total() == states,
                        "{word} {metric} {depth} {length}"
                    );
                }
                if let Some(shallower) = &shallower {
                    assert!(shallower.iter().zip(&counts).all(|(less, more)| less.covers(more)));
                }
                shallower = Some(counts);
            }
        }
    }

    #[test]
    fn depth_two_counts_the_arrangements_of_the_paper() {
        // Rotations of one line merge, and those of parallel lines commute, within two letters: in the metric
        // single if lines have two or three cells, in multi for all lines.
        for (word, metric) in
            [("3x3", Metric::Multi), ("3x3", Metric::Single), ("4x4", Metric::Multi), ("3x5", Metric::Multi)]
        {
            let by_lines = Arrangements::new(word.parse().unwrap(), metric).map(|row| row.total);
            let known = counts(&puzzle(word, metric), 2, 12);
            assert!(by_lines.take(12).eq(known), "{word} {metric}");
        }
    }
}
