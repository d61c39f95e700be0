//! Upper bounds on God's number: every state is solved stage by stage, and each stage has a maximum number of
//! moves.
//!
//! At their end, the words of a stage leave the tiles of earlier stages solved, though not in between. They
//! are found as pairs from a ball: if a and c carry all earlier tiles to the same cells, a followed by the
//! inverse of c fixes these tiles. Each such word of up to twice the radius is such a pair. If single words
//! solve all states of the stage, its number of moves is exact.

use crate::bound::stage::{SolvingOrder, Stage};
use crate::bound::stage_chain::Chain;
use crate::bound::stage_pairs::{Joined, can_be_joined, joined};
use crate::bound::{Cover, NormalForms, NotBounded};
use fathom_algebra::Permutation;
use fathom_puzzle::{Board, Metric, Puzzle, PuzzleSpec};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The data needed to verify an upper bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The name of the board.
    pub space: String,
    /// The metric.
    pub metric: Metric,
    /// The upper bound: no state is further away than this.
    pub upper_bound: u32,
    /// The stages in order.
    pub stages: Vec<CertifiedStage>,
    /// Whether the two stages take fewer moves together than one after the other, because one of the many
    /// ways to finish the first stage leaves little to the second. There are too many words to list, so
    /// [`Certificate::verify`] joins the stages again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// Whether the first stage also makes the permutation of the points even, so that all words of later
    /// stages are even.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub even: bool,
}

/// The moves of one stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedStage {
    /// The tiles that are solved after the stage.
    pub solved: Vec<usize>,
    /// The number of states before the stage.
    pub states: u64,
    /// A number of moves that solves all of these states.
    pub moves: u32,
    /// Whether some state needs that many moves.
    pub exact: bool,
    /// Words whose products solve all states. Each word fixes the tiles that were solved before.
    pub words: Vec<String>,
}

/// Why a bound was not found, or why a certificate is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpperError {
    /// Puzzles of this kind cannot be bounded from above.
    #[error(transparent)]
    NotBounded(#[from] NotBounded),
    /// The table of a stage would be too large.
    #[error(
        "stage {stage} needs a table of more than 2^28 entries. Solve fewer tiles in it, with more stages"
    )]
    TooLarge {
        /// The number of the stage, from 1.
        stage: usize,
    },
    /// The words of the ball do not solve all states of a stage.
    #[error(
        "stage {stage}: words of up to {moves} moves that keep the solved tiles do not solve all of its {states} states. Leave more tiles to this stage, or increase --radius and --memory"
    )]
    NotReached {
        /// The number of the stage, from 1.
        stage: usize,
        /// The length of the longest words.
        moves: usize,
        /// The number of states of the stage.
        states: u64,
    },
    /// The search found no chain.
    #[error(
        "no chain of stages with words of up to {moves} moves was found in time. Increase --time, allow longer words with --radius and --memory, or give the stages of a board with --chain"
    )]
    NoChain {
        /// The length of the longest words.
        moves: usize,
    },
    /// The certificate is wrong.
    #[error("the certificate is wrong: {0}")]
    Wrong(String),
    /// The stages of a certificate cannot be joined again, or only in more moves, in this memory.
    #[error(
        "the certificate could not be checked: there is not enough memory to join its stages. Use more --memory"
    )]
    Unchecked,
}

/// Computes an upper bound of a board by a chain. Words are products of two elements of a ball of this
/// radius, or of a smaller radius if that is what fits in `memory_bytes`.
///
/// # Errors
/// [`UpperError`] if a stage is too large, or its words do not solve all states.
pub fn upper_bound(
    board: Board,
    metric: Metric,
    chain: &Chain,
    radius: u32,
    memory_bytes: u64,
) -> Result<Certificate, UpperError> {
    let cover = Cover::of_board(board, metric);
    let (order, cuts) = order_of(&cover, &chain.stages);
    let ball = Ball::new(&cover, radius, memory_bytes, &|| true);
    by_cuts(&cover, &board.to_string(), &order, &cuts, &ball)
}

/// Returns the order of the pieces in growing sets, and the number of them brought home after each set.
fn order_of(cover: &Cover, sets: &[Vec<usize>]) -> (SolvingOrder, Vec<usize>) {
    let mut pieces: Vec<usize> = Vec::new();
    let mut ends = Vec::new();
    for set in sets {
        let further: Vec<usize> = set.iter().copied().filter(|piece| !pieces.contains(piece)).collect();
        pieces.extend(further);
        ends.push(pieces.len());
    }
    let order = SolvingOrder::new(cover, &pieces);
    let cuts = ends.into_iter().map(|end| order.needed(end)).collect();
    (order, cuts)
}

/// Computes an upper bound by the stages that end when the given numbers of pieces of an order were brought
/// home, with the words of a ball. `space` is the name from which the puzzle can be loaded again.
pub(crate) fn by_cuts(
    cover: &Cover,
    space: &str,
    order: &SolvingOrder,
    cuts: &[usize],
    ball: &Ball,
) -> Result<Certificate, UpperError> {
    let mut all = Vec::new();
    let mut from = 0;
    for (at, &to) in cuts.iter().enumerate() {
        // The pieces of a stage may be determined once those before are home.
        if to == from && !all.is_empty() {
            continue;
        }
        let stage = order.stage(&(from..to)).ok_or(UpperError::TooLarge { stage: at + 1 })?;
        let found = certified(ball, &cover.puzzle, &stage, order, &(from..to), u64::MAX, &|| true);
        all.push(found.ok_or(UpperError::NotReached {
            stage: at + 1,
            moves: 2 * ball.depth(),
            states: stage.states(),
        })?);
        from = to;
    }
    let upper_bound = all.iter().map(|stage| stage.moves).sum();
    Ok(Certificate {
        space: space.into(),
        metric: cover.metric,
        upper_bound,
        stages: all,
        joined: false,
        even: false,
    })
}

/// Computes the moves of a stage by the words of a ball; `None` if the words do not solve all states, if that
/// would take more than `most_trials` trials of words on states, or if `goes_on` returns false.
pub(crate) fn certified(
    ball: &Ball,
    puzzle: &Puzzle,
    stage: &Stage,
    order: &SolvingOrder,
    brought: &Range<usize>,
    most_trials: u64,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Option<CertifiedStage> {
    let before = order.points(brought.start);
    let (words, exact) = match &before[..] {
        // All moves are words of the first stage.
        [] => ((1..=puzzle.moves.len()).map(|node| (node, 0)).collect(), true),
        // If the remaining pieces can be in only one arrangement, nothing remains to be solved.
        _ if stage.states() == 1 => (Vec::new(), true),
        _ => ball.words(stage, &before, goes_on)?,
    };
    let left = stage.states().saturating_sub(1 + words.len() as u64);
    if !exact && left.saturating_mul(words.len() as u64) > most_trials {
        return None;
    }
    let permutations: Vec<_> = words.iter().map(|&pair| ball.product(pair)).collect();
    let moves = stage.largest(&permutations, None, goes_on)?;
    Some(CertifiedStage {
        solved: order.solved(brought.end).to_vec(),
        states: stage.states(),
        moves,
        exact,
        words: words.iter().map(|&pair| ball.text(puzzle, pair)).collect(),
    })
}

impl Certificate {
    /// Returns the certificate of two joined stages.
    pub(crate) fn joined(cover: &Cover, space: &str, found: &Joined) -> Self {
        let stage = |solved: Vec<usize>, states, moves, exact, words| CertifiedStage {
            solved,
            states,
            moves,
            exact,
            words,
        };
        let moves = cover.puzzle.moves.iter().map(|m| m.name.clone()).collect();
        let all = (0..cover.first_points.len()).collect();
        Self {
            space: space.into(),
            metric: cover.metric,
            upper_bound: found.moves,
            stages: vec![
                stage(found.tiles.clone(), found.places, found.first, true, moves),
                stage(all, found.arrangements, found.second, found.is_exact, Vec::new()),
            ],
            joined: true,
            even: false,
        }
    }

    /// Omits the piece that [`Cover::with_parity`] adds to the pieces of `cover`, if it is present.
    pub(crate) fn of_pieces(mut self, cover: &Cover) -> Self {
        for stage in &mut self.stages {
            self.even |= stage.solved.contains(&cover.pieces());
            stage.solved = cover.own_pieces(&stage.solved).collect();
        }
        self
    }

    /// Verifies the certificate from its words only. Joined stages are joined again, in up to `memory_bytes`.
    ///
    /// # Errors
    /// [`UpperError`] with the first contradiction.
    pub fn verify(&self, memory_bytes: u64) -> Result<(), UpperError> {
        let wrong = |text: String| Err(UpperError::Wrong(text));
        let cover = match PuzzleSpec::by_name(&self.space) {
            Ok(PuzzleSpec::Board(_)) if !Metric::ALL.contains(&self.metric) => {
                return wrong(NotBounded::OfBoard(self.metric).to_string());
            }
            Ok(PuzzleSpec::Board(board)) => Cover::of_board(board, self.metric),
            Ok(PuzzleSpec::Defined(puzzle)) => match Cover::new(&puzzle, self.metric) {
                Ok(cover) => cover,
                Err(error) => return wrong(error.to_string()),
            },
            Err(error) => return wrong(format!("unknown space: {error}")),
        };
        if cover.has_guards {
            return wrong(NotBounded::Guarded(self.space.clone()).to_string());
        }
        // The parity is the last piece of this group, and is solved in the first stage.
        let (cover, parity) = match cover.with_parity().filter(|_| self.even) {
            Some(with_parity) => (with_parity, Some(cover.pieces())),
            None => (cover, None),
        };
        let solved = |stage: &CertifiedStage| stage.solved.iter().copied().chain(parity).collect();
        let chain: Vec<Vec<usize>> = self.stages.iter().map(solved).collect();
        let pieces = cover.pieces();
        let mut before: &[usize] = &[];
        for after in &chain {
            let is_set =
                after.is_sorted_by(|a, b| a < b) && after.last().is_some_and(|&piece| piece < pieces);
            if !is_set || after.len() <= before.len() || !before.iter().all(|piece| after.contains(piece)) {
                return wrong(format!("a stage solves {after:?} after {before:?}"));
            }
            before = after;
        }
        if before.len() != pieces {
            return wrong("the last stage leaves pieces unsolved".into());
        }
        if self.joined {
            let [pieces, _] = &chain[..] else {
                return wrong("a joined certificate needs exactly two stages".into());
            };
            if !can_be_joined(&cover, pieces) {
                return wrong("the stages of this puzzle cannot be joined".into());
            }
            // The search for fewer moves ends when it has reached those of the certificate.
            let is_enough = AtomicBool::new(false);
            let goes_on = || !is_enough.load(Ordering::Relaxed);
            let mut tell =
                |found: &Joined| is_enough.store(found.moves <= self.upper_bound, Ordering::Relaxed);
            return must_be(joined(&cover, pieces, memory_bytes, &goes_on, &mut tell), self);
        }
        let puzzle = &cover.puzzle;
        let (order, cuts) = order_of(&cover, &chain);
        let moves_named: FxHashMap<&str, &Permutation> =
            puzzle.moves.iter().map(|m| (m.name.as_str(), m.action.cells())).collect();
        let (mut sum, mut from) = (0_u32, 0);
        for (number, (certified, &to)) in self.stages.iter().zip(&cuts).enumerate() {
            let stage = order.stage(&(from..to)).ok_or(UpperError::TooLarge { stage: number + 1 })?;
            let before = order.points(from);
            let mut words = Vec::new();
            for text in &certified.words {
                let mut product = Permutation::identity(puzzle.cells);
                let mut length = 0;
                for name in text.split_whitespace() {
                    let Some(action) = moves_named.get(name) else {
                        return wrong(format!(
                            "{name:?} in {text:?} is not a move of {} {}",
                            self.space, self.metric
                        ));
                    };
                    product = product.then(action);
                    length += 1;
                }
                if let Some(&moved) = before.iter().find(|&&point| product.apply(point) != point) {
                    let piece = cover.first_points.partition_point(|&first| first <= moved) - 1;
                    return wrong(format!(
                        "the word {text:?} moves piece {piece}, which an earlier stage has solved"
                    ));
                }
                words.push((product, length));
            }
            if stage.states() != certified.states {
                return wrong(format!("a stage has {} states, not {}", stage.states(), certified.states));
            }
            match stage.largest(&words, Some(certified.moves), &|| true) {
                Some(moves) if moves == certified.moves => sum += moves,
                Some(moves) => return wrong(format!("a stage takes {moves} moves, not {}", certified.moves)),
                None => {
                    return wrong(format!(
                        "the words of stage {} do not solve {:?} in {}",
                        number + 1,
                        certified.solved,
                        certified.moves
                    ));
                }
            }
            from = to;
        }
        match sum == self.upper_bound {
            true => Ok(()),
            false => wrong(format!("the stages add up to {sum}, not {}", self.upper_bound)),
        }
    }
}

/// The elements within some moves, as permutations of the points.
pub(crate) struct Ball {
    forms: NormalForms,
    points: usize,
    /// The image of each point, for each node.
    images: Vec<u8>,
}

/// Two nodes, which represent the word of the first followed by the inverse of the second.
type Pair = (usize, usize);

impl Ball {
    /// Returns the radius.
    pub(crate) fn depth(&self) -> usize {
        self.forms.depth()
    }

    /// Searches the ball while `goes_on` returns true; a ball of radius 1 at least.
    pub(crate) fn new(cover: &Cover, radius: u32, memory_bytes: u64, goes_on: &dyn Fn() -> bool) -> Self {
        let puzzle = &cover.puzzle;
        let forms = NormalForms::search_while(puzzle, radius, memory_bytes, goes_on);
        let mut images: Vec<u8> = (0..puzzle.cells).map(|cell| cell as u8).collect();
        for length in 0..forms.depth() {
            for node in forms.nodes(length) {
                for child in forms.children(node) {
                    let action = puzzle.moves[forms.letter(child)].action.cells();
                    for cell in 0..puzzle.cells {
                        images.push(action.apply(images[node * puzzle.cells + cell].into()) as u8);
                    }
                }
            }
        }
        Self { forms, points: puzzle.cells, images }
    }

    fn images(&self, node: usize) -> &[u8] {
        &self.images[node * self.points..][..self.points]
    }

    /// Returns a shortest word for each state of a stage that a word solves, and whether these are all
    /// states. Words fix the points `before`. `None` if `goes_on` returns false.
    fn words(
        &self,
        stage: &Stage,
        before: &[usize],
        goes_on: &dyn Fn() -> bool,
    ) -> Option<(Vec<Pair>, bool)> {
        let carried =
            |node: usize| -> Vec<u8> { before.iter().map(|&point| self.images(node)[point]).collect() };
        let mut seen = vec![false; stage.table()];
        seen[stage.index(|point| point)] = true;
        let mut words = Vec::new();
        for length in 1..=2 * self.forms.depth() {
            // A word of this length is split in the middle.
            let mut seconds: FxHashMap<Vec<u8>, Vec<u32>> = FxHashMap::default();
            for node in self.forms.nodes(length / 2) {
                seconds.entry(carried(node)).or_default().push(node as u32);
            }
            for first in self.forms.nodes(length - length / 2) {
                let Some(seconds) = seconds.get(&carried(first)) else {
                    continue;
                };
                if !goes_on() {
                    return None;
                }
                let mut back = vec![0; self.points];
                self.images(first).iter().enumerate().for_each(|(point, &to)| back[usize::from(to)] = point);
                for &second in seconds {
                    let images = self.images(second as usize);
                    // The state that this word solves.
                    let index = stage.index(|point| back[usize::from(images[point])]);
                    if !std::mem::replace(&mut seen[index], true) {
                        words.push((first, second as usize));
                        if words.len() as u64 + 1 == stage.states() {
                            return Some((words, true));
                        }
                    }
                }
            }
        }
        Some((words, false))
    }

    fn product(&self, (first, second): Pair) -> (Permutation, u32) {
        let of = |node: usize| {
            let images = self.images(node);
            Permutation::from_fn(self.points, |point| images[point].into())
        };
        let length = self.forms.letters(first).len() + self.forms.letters(second).len();
        (of(first).then(&of(second).inverse()), length as u32)
    }

    fn text(&self, puzzle: &Puzzle, (first, second): Pair) -> String {
        let name = |letter: usize| puzzle.moves[letter].name.as_str();
        let undone = |letter: usize| {
            let inverse = puzzle.moves[letter].action.inverse();
            let found = puzzle.moves.iter().find(|m| m.action == inverse);
            found.expect("the moves are closed under inverses").name.as_str()
        };
        let forwards = self.forms.letters(first).into_iter().map(name);
        let backwards = self.forms.letters(second).into_iter().rev().map(undone);
        forwards.chain(backwards).collect::<Vec<_>>().join(" ")
    }
}

/// Checks that the stages, joined again, need no more moves than a certificate says. They may need fewer,
/// because the certificate may have been computed with less memory.
fn must_be(joined: Option<Joined>, certificate: &Certificate) -> Result<(), UpperError> {
    let wrong = |text: String| Err(UpperError::Wrong(text));
    let Some(found) = joined else {
        return Err(UpperError::Unchecked);
    };
    let stages = [(found.places, found.first, true), (found.arrangements, found.second, found.is_exact)];
    for (stage, (states, moves, is_exact)) in certificate.stages.iter().zip(stages) {
        if stage.states != states {
            return wrong(format!("a stage has {states} states, not {}", stage.states));
        }
        if moves > stage.moves && !is_exact {
            return Err(UpperError::Unchecked);
        }
        if moves > stage.moves {
            return wrong(format!("a stage takes {moves} moves, not {}", stage.moves));
        }
    }
    match found.moves <= certificate.upper_bound {
        true => Ok(()),
        false if !found.is_exact => Err(UpperError::Unchecked),
        false => wrong(format!(
            "the stages together are only known to take at most {} moves, not {}",
            found.moves, certificate.upper_bound
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(word: &str, metric: Metric, chain: &str, radius: u32) -> Result<Certificate, UpperError> {
        let board: Board = word.parse().unwrap();
        upper_bound(board, metric, &Chain::parse(chain, board).unwrap(), radius, 1 << 30)
    }

    #[test]
    fn single_stage_gives_gods_number() {
        // Table 4 of the paper; single as in tests/data/boards.json.
        for (board, metric, tiles, god_number) in [
            ("2x2", Metric::Multi, "0-3", 4),
            ("2x3", Metric::Multi, "0-5", 7),
            ("2x4", Metric::Multi, "0-7", 8),
            ("2x4", Metric::Single, "0-7", 10),
        ] {
            let certificate = bound(board, metric, tiles, 2).unwrap();
            assert_eq!((certificate.upper_bound, certificate.stages[0].exact), (god_number, true), "{board}");
            assert_eq!(certificate.verify(1 << 30), Ok(()));
        }
    }

    #[test]
    fn stages_without_work_are_omitted() {
        // The moves of 3x3 are even, so two tiles that are left are at home; those of 1x6 are one cycle.
        for (board, chain, stages) in
            [("3x3", "0-6;0-8", 1), ("3x3", "0-2;0-6;0-8", 2), ("1x6", "0;0-5", 1), ("1x6", "0;0-2;0-5", 1)]
        {
            let certificate = bound(board, Metric::Multi, chain, 4).unwrap();
            assert_eq!(certificate.stages.len(), stages, "{board} {chain}");
            assert_eq!(certificate.verify(1 << 30), Ok(()), "{board} {chain}");
        }
    }

    #[test]
    fn exact_stages_match_a_plain_search() {
        use fathom_kernel::reference::Distances;
        use fathom_space::{Labels, Space};
        for (board, chain, metric) in
            [("3x3", ["0-2", "0-5", "0-8"], Metric::Multi), ("2x4", ["0-1", "0-3", "0-7"], Metric::Single)]
        {
            let certificate = bound(board, metric, &chain.join(";"), 5).unwrap();
            let board: Board = board.parse().unwrap();
            let mut before: &[usize] = &[];
            for (tiles, stage) in chain.into_iter().zip(&certificate.stages) {
                let labels = Labels::parse_tracked(tiles, board.cells()).unwrap();
                let space = Space::new(board.puzzle(metric), metric, labels).unwrap();
                let distances = Distances::search(&space, None, 1 << 30).unwrap();
                let solved = space.labels().of_pieces();
                let states =
                    distances.states().filter(|(word, _)| before.iter().all(|&t| word[t] == solved[t]));
                let found: Vec<u32> = states.map(|(_, distance)| distance).collect();
                assert_eq!((stage.states, stage.exact), (found.len() as u64, true), "{board} {tiles}");
                assert_eq!(Some(&stage.moves), found.iter().max(), "{board} {tiles}");
                before = &stage.solved;
            }
            assert_eq!(certificate.verify(1 << 30), Ok(()));
        }
    }

    /// Distances of the 4x4 board's states with the top two rows solved, in the whole graph, up to 8: xyzzy,
    /// speedsolving.com thread 75180, 2019.
    const TOP_ROWS_SOLVED: [usize; 9] = [1, 6, 9, 24, 288, 1132, 1340, 8936, 16_721];

    #[test]
    fn words_are_shortest_and_keep_solved_pieces() {
        let cover = Cover::of_board("4x4".parse().unwrap(), Metric::Multi);
        let ball = Ball::new(&cover, 4, u64::MAX, &|| true);
        let before: Vec<usize> = (0..8).collect();
        let (order, cuts) = order_of(&cover, &[before.clone(), (0..16).collect()]);
        let stage = order.stage(&(cuts[0]..cuts[1])).unwrap();
        let (words, is_all) = ball.words(&stage, &before, &|| true).unwrap();
        let mut counts = [1, 0, 0, 0, 0, 0, 0, 0, 0];
        for pair in words {
            let (product, length) = ball.product(pair);
            assert!(before.iter().all(|&tile| product.apply(tile) == tile));
            counts[length as usize] += 1;
        }
        assert_eq!((counts, is_all, stage.states()), (TOP_ROWS_SOLVED, false, 40_320));
    }

    #[test]
    fn bounds_are_valid_for_products_of_words() {
        let certificate = bound("3x3", Metric::Multi, "0-2;0-8", 2).unwrap();
        assert!(!certificate.stages[1].exact);
        // Table 1 of the paper: 8.
        assert!(certificate.upper_bound >= 8);
        assert_eq!(certificate.verify(1 << 30), Ok(()));
        let longer = bound("3x3", Metric::Multi, "0-2;0-8", 4).unwrap();
        assert!((8..=certificate.upper_bound).contains(&longer.upper_bound));
    }

    #[test]
    fn wrong_certificates_are_rejected() {
        let good = bound("2x3", Metric::Multi, "0-1;0-5", 3).unwrap();
        let says = |change: &dyn Fn(&mut Certificate), expected: &str| {
            let mut bad = good.clone();
            change(&mut bad);
            let error = bad.verify(1 << 30).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        says(&|bad| bad.upper_bound -= 1, "add up to");
        says(&|bad| bad.stages[1].moves -= 1, "the words of stage 2 do not solve");
        says(&|bad| bad.stages[1].moves += 1, "moves, not");
        says(&|bad| bad.stages[1].words.push("V1".into()), "moves piece 0");
        says(&|bad| bad.stages[1].words.push("V9".into()), "\"V9\" in \"V9\" is not a move of 2x3 multi");
        says(&|bad| bad.stages[1].words.clear(), "the words of stage 2 do not solve");
        says(&|bad| bad.stages[1].states += 1, "states, not");
        says(&|bad| bad.stages.truncate(1), "leaves pieces unsolved");
        says(&|bad| bad.stages[1].solved = vec![0, 2, 3], "a stage solves");
        says(&|bad| bad.stages[1].solved.push(9), "a stage solves");
        says(&|bad| bad.space = "2y3".into(), "unknown space");
    }

    #[test]
    fn impossible_bounds_are_errors() {
        assert_eq!(bound("4x5", Metric::Multi, "0-9;0-19", 2), Err(UpperError::TooLarge { stage: 1 }));
        // Tiles 1, 7 and 8 are in no common line, and no two moves fix all other tiles.
        let unreached = bound("3x3", Metric::Multi, "0,2-6;0-8", 1);
        assert_eq!(unreached, Err(UpperError::NotReached { stage: 2, moves: 2, states: 3 }));
    }
}
