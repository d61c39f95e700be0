//! Iterative deepening (R. E. Korf, *Depth-first iterative-deepening*, Artificial Intelligence 27 (1985)) with tables
//! of lower bounds: the largest one counts.

use super::distance_table::TableOfModel;
use super::model::SolveModel;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Searches of at most this many moves are over in so short a time that they need not look whether others have ended.
const OFTEN_ENOUGH: u32 = 6;

/// A search for solutions.
#[derive(Debug)]
pub struct Deepening<'a> {
    model: &'a SolveModel,
    tables: &'a [TableOfModel<'a>],
    /// By move: whether each move may follow it. Of two orders of moves that commute, one is searched, and no two moves
    /// that one move or none replaces.
    follows: Vec<Vec<bool>>,
}

impl<'a> Deepening<'a> {
    /// Creates a search. Without guards and free moves, sequences that shorter or earlier ones replace are omitted.
    pub fn new(model: &'a SolveModel, tables: &'a [TableOfModel<'a>]) -> Self {
        let moves = model.moves();
        let is_plain = model.is_group() && model.free().elements().len() == 1;
        let may_follow = |first: usize, second: usize| {
            let product = moves[first].action.then(&moves[second].action);
            let is_replaced = product.is_identity() || moves.iter().any(|mv| mv.action == product);
            let commutes = moves[second].action.then(&moves[first].action) == product;
            !is_plain || !(is_replaced || commutes && second < first)
        };
        let row = |first: usize| (0..moves.len()).map(|second| may_follow(first, second)).collect();
        Self { model, tables, follows: (0..moves.len()).map(row).collect() }
    }

    /// Returns a lower bound on the distance of a state; `None` if it cannot be solved.
    pub fn bound(&self, word: &[u8]) -> Option<u32> {
        self.tables.iter().try_fold(0, |most, table| Some(table.distance(word)?.max(most)))
    }

    /// Returns a shortest solution of a state: the first one in the order of moves. `None` if a table says that there is
    /// none, or `goes_on` returns false; it is called with each number of moves that solves nothing.
    pub fn solve(&self, word: &[u8], goes_on: &mut dyn FnMut(u32) -> bool) -> Option<Vec<usize>> {
        let mut most = self.bound(word)?;
        loop {
            if let Some(solution) = self.within(word, most) {
                return Some(solution);
            }
            if !goes_on(most) {
                return None;
            }
            most += 1;
        }
    }

    /// Returns a solution of exactly `most` moves; there must be none of fewer.
    fn within(&self, word: &[u8], most: u32) -> Option<Vec<usize>> {
        if most == 0 {
            return self.is_solved(word).then(Vec::new);
        }
        // Threads search behind the first three moves.
        let mut begun: Vec<(Vec<usize>, Vec<u8>)> = vec![(Vec::new(), word.to_vec())];
        for depth in 1..=most.min(3) {
            let mut next = Vec::new();
            for (way, word) in &begun {
                for mv in self.after(way.last().copied()) {
                    let mut image = word.clone();
                    if self.model.apply(mv, word, &mut image)
                        && self.bound(&image).is_some_and(|bound| bound <= most - depth)
                    {
                        next.push(([way.as_slice(), &[mv]].concat(), image));
                    }
                }
            }
            begun = next;
        }
        // The first of the beginnings that is known to lead to a solution: what is behind it is not searched.
        let first = AtomicUsize::new(usize::MAX);
        let solved = begun.into_par_iter().enumerate().map(|(number, (mut way, word))| {
            let left = most - way.len() as u32;
            let mut words = vec![vec![0; word.len()]; left as usize];
            let is_over = || first.load(Ordering::Relaxed) < number;
            let is_solved = !is_over() && self.deepen(&word, left, &mut way, &mut words, &is_over);
            if is_solved {
                first.fetch_min(number, Ordering::Relaxed);
            }
            is_solved.then_some(way)
        });
        solved.find_first(Option::is_some).flatten()
    }

    fn after(&self, last: Option<usize>) -> impl Iterator<Item = usize> {
        let follows = last.map(|last| &self.follows[last]);
        (0..self.model.moves().len()).filter(move |&mv| follows.is_none_or(|follows| follows[mv]))
    }

    fn is_solved(&self, word: &[u8]) -> bool {
        self.model.reduced(word) == self.model.reduced(self.model.solved())
    }

    fn deepen(
        &self,
        word: &[u8],
        left: u32,
        way: &mut Vec<usize>,
        words: &mut [Vec<u8>],
        is_over: &dyn Fn() -> bool,
    ) -> bool {
        let Some((image, words)) = words.split_first_mut() else { return self.is_solved(word) };
        for mv in self.after(way.last().copied()) {
            if self.model.apply(mv, word, image) && self.bound(image).is_some_and(|bound| bound < left) {
                if left > OFTEN_ENOUGH && is_over() {
                    return false;
                }
                way.push(mv);
                if self.deepen(image, left - 1, way, words, is_over) {
                    return true;
                }
                way.pop();
            }
        }
        false
    }
}
