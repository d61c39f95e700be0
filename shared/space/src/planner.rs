//! The choice of the colouring.
//!
//! Candidates are the orbits of every subgroup that two symmetries generate (block systems of the symmetry
//! group are among them), and the partitions that come from cutting these orbits into chunks or joining
//! neighbouring ones. A model (`CostModel`) estimates the time of a search with each candidate, and the
//! cheapest candidate whose tables are not too large is chosen. If its axes have arrangements that moves do
//! not reach, or if most symmetries would be lost in a long search, axes of reachable words (`reachable_axes`) are candidates, too. If these also store mostly
//! unused bits, a tiny space is cut into single states. The choice depends only on the space, never on the
//! machine, so that the same space has the same digest everywhere.

mod cost;
mod draft;
mod fixed_patterns;
mod partitions;
mod reachable_axes;

use crate::colouring::PatternStabiliser;
use crate::multiset_ranker::multinomial;
use crate::space::reached_words;
pub use fathom_puzzle::grouped;

use crate::{Colouring, CosetGraph, Refusal, Shape, Space, Symmetry};
use cost::CostModel;
use fixed_patterns::fixed_patterns;
use num_bigint::BigUint;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// A colouring with the sizes that follow from it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The colouring.
    pub colouring: Colouring,
    /// The shape of a coset's tensor.
    pub shape: Shape,
    /// The number of symmetries of the space that respect the colouring.
    pub symmetries_used: usize,
    /// The number of entries of the pattern table, whose patterns may be unreachable; 0 if cosets are found
    /// without a table.
    pub patterns: u64,
    /// The number of representative cosets. If an [outline](Plan::outline) would take too long to count
    /// them, an estimate: patterns / symmetries.
    pub representative_cosets: u64,
    /// Whether the number of representative cosets is exact.
    pub is_exact: bool,
    /// The [period](Colouring::period) of the colouring.
    period: u64,
    /// The cosets, if they were listed to be counted.
    graph: Option<Arc<CosetGraph>>,
}

/// The reason why no colouring can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Every candidate exceeds the limits of the engine.
    #[error(
        "{space} has {} states, too many to search: no colouring keeps axes within {axis} arrangements and tables within {gibibytes} GiB. Choose a smaller puzzle, or distinguish fewer pieces with --track or --labels",
        grouped(states), axis = Colouring::MAX_AXIS, gibibytes = Plan::MAX_TABLE_BYTES >> 30
    )]
    TooLarge {
        /// The puzzle and the metric.
        space: String,
        /// The number of states of the space.
        states: BigUint,
    },
}

impl Plan {
    /// The largest size of the tables of a search, in bytes.
    pub const MAX_TABLE_BYTES: u64 = 8 << 30;
    /// The largest size of a packed coset, in bytes. A kernel keeps about ten tensors in memory for each
    /// thread.
    pub const MAX_COSET_BYTES: u32 = 1 << 26;
    /// An outline does not list cosets if the listing takes longer than this, by the model.
    const MAX_NANOSECONDS: f64 = 3e8;
    /// The largest number of words of a space that may be cut into single states, and the largest number of
    /// entries of its pattern table.
    const FEW_WORDS: f64 = 4096.0;
    const FEW_PATTERNS: u64 = 1 << 16;
    /// The number of symmetries from which on a space of few words is cut into single states in any case, and
    /// the number from which on any space is, if the pattern table is small.
    const MANY_SYMMETRIES: usize = 1 << 9;
    const VERY_MANY_SYMMETRIES: usize = 1 << 12;

    /// Chooses a colouring, and counts its cosets.
    ///
    /// # Errors
    /// [`PlanError`] if every candidate exceeds the limits of the engine.
    pub fn new(space: &Space) -> Result<Self, PlanError> {
        Self::outline(space)?.exact(space)
    }

    /// Chooses a colouring. Cosets that take long to list are not counted.
    ///
    /// # Errors
    /// [`PlanError`] if every candidate exceeds the limits of the engine.
    pub fn outline(space: &Space) -> Result<Self, PlanError> {
        // Listing the cosets of each candidate under very many symmetries takes longer than any search.
        let singles = match space.symmetries().len() {
            Self::VERY_MANY_SYMMETRIES.. => Self::of_single_states(space, f64::INFINITY, Self::FEW_PATTERNS),
            Self::MANY_SYMMETRIES.. => Self::of_single_states(space, Self::FEW_WORDS, u64::MAX),
            _ => None,
        };
        if let Some(plan) = singles {
            return Ok(plan);
        }
        let plan = Choices::new(space).next(space).ok_or_else(|| Self::too_large(space))?;
        let fill = plan.fill(space);
        if fill >= Choices::LOW || reaches_most_words(space) {
            return Ok(plan);
        }
        let singles = Self::of_single_states(space, Self::FEW_WORDS, Self::FEW_PATTERNS);
        Ok(singles.filter(|singles| singles.fill(space) > fill).unwrap_or(plan))
    }

    /// Returns the plan that was recorded, with a colouring of the space and the number of its representative
    /// cosets. Nothing is chosen. `None` if the tensor of a coset is too large.
    pub fn recorded(space: &Space, colouring: Colouring, representative_cosets: u64) -> Option<Self> {
        Some(Self {
            shape: Shape::of(space, &colouring)?,
            symmetries_used: space.symmetries().iter().filter(|s| colouring.action(s).is_some()).count(),
            patterns: CosetGraph::table_entries(space, &colouring),
            representative_cosets,
            is_exact: true,
            period: colouring.period(space),
            graph: None,
            colouring,
        })
    }

    /// Returns the plan whose cosets are single states if the space has at most this many words, and the
    /// pattern table at most this many entries. With a colour for each label no symmetry splits a colour, so
    /// all of them are used.
    fn of_single_states(space: &Space, most_words: f64, most_patterns: u64) -> Option<Self> {
        if words_of(space) > most_words || space.is_guarded() {
            return None;
        }
        let colouring = Colouring::new(space.labels().of_pieces(), space).ok()?;
        if CosetGraph::ranked_patterns(space, &colouring) > most_patterns {
            return None;
        }
        let of_piece = colouring.of_pieces().to_vec();
        let singles = Candidate { of_piece, made: None, nanoseconds: 0.0, is_counted: false };
        Self::with(space, &singles).filter(|singles| singles.is_exact)
    }

    /// Counts the cosets of an outline. If the cosets cannot be listed with the chosen axes, the next best
    /// candidate is chosen.
    ///
    /// # Errors
    /// [`PlanError`] if no candidate is left.
    pub fn exact(self, space: &Space) -> Result<Self, PlanError> {
        let mut choices: Option<Choices> = None;
        let mut plan = self;
        while !plan.is_exact {
            if let Ok(graph) = CosetGraph::build(space, &plan.colouring) {
                let representative_cosets = graph.len().into();
                return Ok(Self {
                    representative_cosets,
                    is_exact: true,
                    graph: Some(Arc::new(graph)),
                    ..plan
                });
            }
            // The first choice is the one that has just failed.
            let choices = choices.get_or_insert_with(|| {
                let mut choices = Choices::new(space);
                choices.next(space);
                choices
            });
            plan = choices.next(space).ok_or_else(|| Self::too_large(space))?;
        }
        Ok(plan)
    }

    /// Returns the cosets, if they were listed to be counted.
    pub fn graph(&self) -> Option<&Arc<CosetGraph>> {
        self.graph.as_ref()
    }

    fn too_large(space: &Space) -> PlanError {
        let name = format!("{} {}", space.puzzle().name, space.metric());
        PlanError::TooLarge { space: name, states: space.states().clone() }
    }

    fn with(space: &Space, candidate: &Candidate) -> Option<Self> {
        let (colouring, known_patterns) = match &candidate.made {
            Some((colouring, patterns)) => (colouring.clone(), Some(patterns)),
            None => (Colouring::new(&candidate.of_piece, space).ok()?, None),
        };
        let shape = Shape::of(space, &colouring)?;
        let actions: Vec<_> = space
            .symmetries()
            .iter()
            .filter_map(|symmetry| Some((&*symmetry.cells, colouring.action(symmetry)?)))
            .collect();
        let symmetries_used = actions.len();
        let patterns = CosetGraph::table_entries(space, &colouring);
        let sizes: Vec<u16> = colouring.axes().iter().map(|axis| axis.length() as u16).collect();
        let mut plan = Self {
            period: colouring.period(space),
            shape,
            symmetries_used,
            patterns,
            representative_cosets: 0,
            is_exact: true,
            graph: None,
            colouring,
        };
        if plan.colouring.reached_axes().is_none() && reaches_all_patterns(space, &sizes) {
            let fixed: u128 =
                actions.iter().map(|(cells, action)| fixed_patterns(cells, &action.colours, &sizes)).sum();
            plan.representative_cosets = u64::try_from(fixed / actions.len() as u128).ok()?;
            return Some(plan);
        }
        // Symmetries fix few of many patterns, except those that fix all, so patterns / other symmetries is
        // a good estimate. With guards most patterns are unreachable. Their number is then estimated from the
        // number of words, as if each reachable coset were full except for arrangements with pieces in the
        // places of other kinds.
        let counted = || {
            Some(
                PatternStabiliser::new(space, &plan.colouring, Colouring::MAX_PATTERNS)
                    .ok()?
                    .patterns()
                    .clone(),
            )
        };
        let reached = match known_patterns.cloned().or_else(counted) {
            _ if space.is_guarded() => {
                let bits = plan.shape.bits() as f64 * share_of_kinds(space, &candidate.of_piece);
                (words_of(space) / bits).max(1.0) as u64
            }
            Some(patterns) => u64::try_from(patterns).ok()?,
            None => plan.colouring.patterns().total(),
        };
        let acting = symmetries_used / idle(space, &plan.colouring);
        plan.representative_cosets = reached.div_ceil(acting as u64);
        if CostModel::MEASURED.listing(space, patterns, plan.representative_cosets, symmetries_used)
            > Self::MAX_NANOSECONDS
        {
            plan.is_exact = false;
            return Some(plan);
        }
        let graph = CosetGraph::build(space, &plan.colouring).ok()?;
        plan.representative_cosets = graph.len().into();
        plan.graph = Some(Arc::new(graph));
        Some(plan)
    }

    /// Returns the share of the stored bits that are states of different orbits under the symmetries of the
    /// space: states / (symmetries x stored bits). The share is near 1 if no unreachable bits are stored and
    /// all symmetries are used. States that symmetries fix make the share a little smaller.
    pub fn fill(&self, space: &Space) -> f64 {
        let bits = self.representative_cosets as f64 * self.shape.bits() as f64;
        words_of(space) / space.symmetries().len() as f64 / bits
    }

    /// Returns the reasons why symmetries are not used, with the number of symmetries for each.
    pub fn refusals(&self, space: &Space) -> Vec<(Refusal, usize)> {
        let refused = space.symmetries().iter().filter_map(|symmetry| self.colouring.refusal(symmetry));
        let mut counts: BTreeMap<Refusal, usize> = BTreeMap::new();
        refused.for_each(|refusal| *counts.entry(refusal).or_default() += 1);
        counts.into_iter().map(|(refusal, count)| (refusal, count / space.free_order() as usize)).collect()
    }

    /// Returns the size in bytes of the packed tensors of one layer if every coset is dense that can have
    /// states.
    pub fn layer_bytes(&self) -> u64 {
        self.representative_cosets.div_ceil(self.period) * u64::from(self.shape.packed_bytes())
    }

    /// Returns the number of pulls for one dense layer. A pull carries one whole coset through one move.
    pub fn pulls_per_layer(&self, space: &Space) -> u64 {
        self.representative_cosets.div_ceil(self.period) * space.moves().len() as u64
    }

    /// Returns the size in bytes of the tables that a search keeps in memory.
    pub fn table_bytes(&self, space: &Space) -> u64 {
        CosetGraph::table_bytes(space, self.patterns, self.representative_cosets)
    }
}

/// The possible choices, in the order of trial.
struct Choices {
    /// Candidates with axes of reachable words, the cheapest first.
    reached: Vec<Candidate>,
    /// The best candidate whose colours are axes of all their arrangements.
    best: Option<Candidate>,
}

impl Choices {
    /// The minimum fill at which one of the first candidates is accepted.
    const FULL: f64 = 0.5;
    /// The minimum fill at which a later candidate is accepted.
    const LOW: f64 = 0.4;
    /// The time of a search for which no plan is improved, in nanoseconds of one thread.
    const SHORT: f64 = 1e10;

    fn new(space: &Space) -> Self {
        let none = Self { reached: Vec::new(), best: None };
        if is_beyond_tables(space) {
            return none;
        }
        let actions = actions_on_letters(space);
        let model = &CostModel::MEASURED;
        let words = listed_words(space);
        let best = Candidate::cheapest(space, &actions, model, words.as_ref());
        // Where many symmetries would be lost, other axes are worth looking for, unless the search is short anyway.
        let is_good = |best: &Candidate| {
            best.is_full(space) && (best.nanoseconds < Self::SHORT || best.symmetries(space) >= Self::LOW)
        };
        if reaches_most_words(space) && best.as_ref().is_some_and(is_good) {
            return Self { best, ..none };
        }
        // Without a table, the number of patterns is an estimate, which is far too small for some groups.
        let known = best.as_ref().filter(|best| best.is_counted || reaches_most_words(space));
        let limit = known.map_or(f64::INFINITY, |best| best.nanoseconds * best.crowding(space));
        let search = |cuts| reachable_axes::Search::run(space, &actions, model, limit, cuts);
        let mut reached = search(false);
        if reached.is_empty() && !best.as_ref().is_some_and(|best| best.serves(space)) {
            reached = search(true);
        }
        Self { reached, best }
    }

    /// Returns the next choice. Of the candidates with axes of reachable words, in order of cost, this choice
    /// is the first that has a good fill, or the one with the best fill. The fill is known only when the
    /// cosets are listed, because symmetries fix many patterns of small spaces.
    fn next(&mut self, space: &Space) -> Option<Plan> {
        const TRIED: usize = 6;
        // Where there are many symmetries and few cosets, trying takes longer than the search.
        const FEW_ORBITS: f64 = 8192.0;
        let symmetries = space.symmetries().len();
        let orbits = words_of(space) / symmetries as f64;
        let most_tried = if symmetries >= Plan::MANY_SYMMETRIES && orbits <= FEW_ORBITS { 1 } else { 24 };
        let mut chosen: Option<(Plan, f64, usize)> = None;
        for (number, candidate) in self.reached.iter().enumerate().take(most_tried) {
            // If a candidate cannot be listed, the words of its axes differ too much from coset to coset.
            let Some(plan) = Plan::with(space, candidate) else {
                continue;
            };
            let fill = plan.fill(space);
            if chosen.as_ref().is_none_or(|&(_, best, _)| fill > best) {
                chosen = Some((plan, fill, number));
            }
            let enough = if number + 1 < TRIED { Self::FULL } else { Self::LOW };
            if chosen.as_ref().is_some_and(|&(_, best, _)| best >= enough) {
                break;
            }
        }
        if let Some((plan, _, number)) = chosen {
            self.reached.remove(number);
            return Some(plan);
        }
        self.reached.clear();
        self.best.take().and_then(|best| Plan::with(space, &best))
    }
}

/// Returns whether even the largest possible cosets would be too many for the tables, or the number of states
/// exceeds 64 bits.
fn is_beyond_tables(space: &Space) -> bool {
    let words = space.states() * space.free_order();
    let least = words / (8 * Plan::MAX_COSET_BYTES) / space.symmetries().len();
    let Ok(cosets) = u64::try_from(least) else {
        return true;
    };
    u64::try_from(space.states()).is_err()
        || u128::from(cosets) * u128::from(CosetGraph::table_bytes(space, 0, 1))
            > Plan::MAX_TABLE_BYTES.into()
}

/// Returns whether moves reach all words, or the even half of them. Every colouring that symmetries respect then has a
/// good fill, and the best one is kept. Also true for spaces with guards, for which there are no axes of reachable words.
fn reaches_most_words(space: &Space) -> bool {
    let words = space.states() * space.free_order();
    space.is_guarded() || space.ranks().is_some_and(|ranks| words * 2_u32 >= ranks.total().into())
}

/// Returns whether moves reach every pattern. They do if they generate the symmetric group, or the
/// alternating group and two pieces share a colour. Of other groups nothing is assumed, and the result is
/// false.
fn reaches_all_patterns(space: &Space, sizes: &[u16]) -> bool {
    let factorial: BigUint = (1..=space.cells()).map(BigUint::from).product();
    if space.symbols().width() > 1 || space.free_order() > 1 || space.is_guarded() {
        return false;
    }
    *space.group_order() == factorial
        || (space.group_order() * 2_u32 == factorial && sizes.iter().any(|&size| size > 1))
}

/// Returns the number of words of all states.
fn words_of(space: &Space) -> f64 {
    u128::try_from(space.states() * space.free_order()).map_or(f64::INFINITY, |words| words as f64)
}

/// Lists the words of a small space with guards. There, cosets may have far fewer words than their axes have
/// arrangements, so patterns cannot be estimated from the number of words.
fn listed_words(space: &Space) -> Option<HashSet<Box<[u8]>>> {
    const MAX_WORDS: usize = 1 << 14;
    let is_small = space.is_guarded() && words_of(space) <= MAX_WORDS as f64;
    is_small.then(|| reached_words(space, MAX_WORDS)).flatten()
}

/// Returns the share of the words of all colours in which each piece is on a cell that has a piece of its
/// kind in the solved state. Kinds are those of [`fathom_puzzle::Puzzle::kinds`]; without a change of the
/// pattern, moves reach no other words. The share is 1 if no colour has several kinds.
fn share_of_kinds(space: &Space, of_piece: &[u8]) -> f64 {
    let words = |kind_of: &dyn Fn(usize) -> (u8, u16)| -> f64 {
        let mut classes: FxHashMap<(u8, u16), FxHashMap<u8, u16>> = FxHashMap::default();
        for (piece, &label) in space.labels().of_pieces().iter().enumerate() {
            *classes.entry(kind_of(piece)).or_default().entry(label).or_default() += 1;
        }
        let arrangements = |class: &FxHashMap<u8, u16>| {
            let sizes: Vec<u16> = class.values().copied().collect();
            multinomial(&sizes).map_or(f64::INFINITY, |words| words as f64)
        };
        classes.values().map(arrangements).product()
    };
    let kinds = &space.puzzle().kinds;
    words(&|piece| (of_piece[piece], kinds[piece])) / words(&|piece| (of_piece[piece], 0))
}

struct Candidate {
    of_piece: Vec<u8>,
    /// The colouring with axes of reachable words, and the number of its patterns; `None` if each colour is
    /// an axis of all its arrangements.
    made: Option<(Colouring, BigUint)>,
    nanoseconds: f64,
    /// Whether `nanoseconds` follows from a known number of patterns, not from an estimate.
    is_counted: bool,
}

impl Candidate {
    /// Returns whether moves reach all arrangements of the axes. False if the answer is not known.
    fn is_full(&self, space: &Space) -> bool {
        self.share(space) >= 1.0
    }

    /// Returns the share of the symmetries that the colouring respects.
    fn symmetries(&self, space: &Space) -> f64 {
        let respecting = Colouring::new(&self.of_piece, space).map_or(0, |colouring| {
            space.symmetries().iter().filter(|symmetry| colouring.action(symmetry).is_some()).count()
        });
        respecting as f64 / space.symmetries().len() as f64
    }

    /// Returns whether moves reach at least half of the arrangements of the axes, and these are not too few.
    fn serves(&self, space: &Space) -> bool {
        let shape = Colouring::new(&self.of_piece, space).ok().and_then(|of| Shape::of(space, &of));
        let is_large = shape.is_some_and(|shape| shape.bits() as f64 >= reachable_axes::MIN_STATES);
        is_large && self.share(space) >= Choices::FULL
    }

    /// Returns how many times as many cosets are stored as there would be if no symmetry but the identity
    /// fixed a pattern. Returns 1 without checking unless there would be few, and also if the fill is not
    /// very low.
    fn crowding(&self, space: &Space) -> f64 {
        const FEW_COSETS: u64 = 64;
        const VERY_LOW: f64 = 0.005;
        let crowding = || {
            let colouring = Colouring::new(&self.of_piece, space).ok()?;
            let respecting = space.symmetries().iter().filter(|symmetry| colouring.is_respected_by(symmetry));
            let symmetries = respecting.count() as u64;
            let few = symmetries..=FEW_COSETS * symmetries;
            few.contains(&CosetGraph::table_entries(space, &colouring)).then_some(())?;
            let plan = Plan::with(space, self).filter(|plan| plan.is_exact)?;
            let cosets = plan.patterns as f64 / plan.symmetries_used as f64;
            (plan.fill(space) < VERY_LOW).then_some(plan.representative_cosets as f64 / cosets)
        };
        crowding().unwrap_or(1.0)
    }

    /// Returns the share of the arrangements of the axes that moves reach, 0 if the share is not known.
    fn share(&self, space: &Space) -> f64 {
        let Ok(colouring) = Colouring::new(&self.of_piece, space) else {
            return 0.0;
        };
        let Some(shape) = Shape::of(space, &colouring) else {
            return 0.0;
        };
        let sizes: Vec<u16> = colouring.axes().iter().map(|axis| axis.length() as u16).collect();
        if space.is_guarded() {
            return share_of_kinds(space, &self.of_piece);
        }
        if reaches_all_patterns(space, &sizes) {
            return 1.0;
        }
        // Without guards, all reachable patterns have equally many reachable states.
        let words = space.states() * space.free_order();
        let Ok(hidden) = PatternStabiliser::new(space, &colouring, Colouring::MAX_PATTERNS) else {
            return 0.0;
        };
        let bits = hidden.patterns() * shape.bits();
        if bits == words {
            return 1.0;
        }
        let percents = u64::try_from(words * 100_u32 / bits).map_or(0.0, |percents| percents as f64);
        percents.min(99.0) / 100.0
    }
}

/// Returns the number of symmetries that a colouring respects and that map each pattern to itself. They store
/// no fewer cosets. Such a symmetry keeps every cell in place and only renames pieces of one colour: with
/// free moves, a turn of the solved puzzle is one.
fn idle(space: &Space, colouring: &Colouring) -> usize {
    let is_in_place = |symmetry: &&Symmetry| {
        (0..space.cells()).all(|cell| usize::from(symmetry.cells[cell]) == cell && symmetry.turn(cell) == 0)
    };
    // Symbols that no piece shows are mapped to symbol 0.
    let is_kept = |(letter, &to): (usize, &u8)| usize::from(to) == letter || to == 0;
    let keeps_all = |symmetry: &&Symmetry| {
        colouring.action(symmetry).is_some_and(|action| action.symbols.iter().enumerate().all(is_kept))
    };
    space.symmetries().iter().filter(is_in_place).filter(keeps_all).count()
}

/// Returns one symmetry for each action on labels and symbols, with the number of symmetries that have this
/// action. With free moves, several symmetries have the same action.
fn actions_on_letters(space: &Space) -> Vec<(&Symmetry, usize)> {
    let mut numbers = FxHashMap::default();
    let mut actions: Vec<(&Symmetry, usize)> = Vec::new();
    for symmetry in space.symmetries() {
        let number = *numbers.entry((&symmetry.labels, symmetry.symbols())).or_insert(actions.len());
        match actions.get_mut(number) {
            Some((_, alike)) => *alike += 1,
            None => actions.push((symmetry, 1)),
        }
    }
    actions
}

#[cfg(test)]
mod tests;
