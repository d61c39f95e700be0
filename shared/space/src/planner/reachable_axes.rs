//! Candidates with axes of reachable words.
//!
//! The search decides about the sets of pieces that moves carry among themselves, one class after the other;
//! a class consists of sets that symmetries exchange, which are treated alike. For each set, the pattern
//! contains either every piece or none, and in the second case the set is an axis. If there is a single set,
//! the pattern may also contain some of its pieces: base points of a group such as M24. The orientations of a
//! set are part of the pattern, of an axis of their own, or of the axis of the pieces. The group that the
//! pattern leaves open is known at each step. A branch of the search ends if its cosets are too small, or if
//! it costs more than the best candidate so far whatever its axes are. The search ends when, by the model, it
//! has taken as long as is worthwhile for a space of this size and for the best candidate.

use super::cost::CostModel;
use super::{Candidate, Plan};
use crate::axis::{AxisView, Component, Part, View};
use crate::cells::Cell;
use crate::colouring::{PatternStabiliser, ReachableAxis};
use crate::{Colouring, CosetGraph, Shape, Space, Symmetry};
use rustc_hash::FxHashMap;
use std::cell::{Cell as Shared, RefCell};

/// The smallest number of states of a coset.
pub(super) const MIN_STATES: f64 = 24.0;

/// The largest number of ends of branches that are judged.
const MAX_LEAVES: usize = 512;

/// The largest number of images that a set of pieces in the pattern may have.
const MAX_SETS: usize = 1 << 16;

/// The largest number of images of sets in all, after which the search ends.
const MAX_SETS_IN_ALL: f64 = 2e6;

/// The largest number of words of axes that are listed in all, after which the search ends.
const MAX_WORDS: usize = 3_000_000;

/// The limits if sets are cut into parts, which is tried if nothing else works: the images of a part, the
/// images in all, and the number of parts.
const MAX_SETS_OF_PARTS: usize = 1 << 20;
const MAX_SETS_OF_PARTS_IN_ALL: f64 = 4e6;
const MAX_PARTS: usize = 4;

/// The pattern contains fewer base points than this.
const MAX_BASE: usize = 7;

/// The largest number of symmetries of a space in which the pattern may contain base points, because
/// symmetries are then lost.
const FEW_SYMMETRIES: usize = 2;

/// Where the orientations of a set are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turning {
    InPattern,
    Apart,
    Joint,
}

/// The labels of a set that are colours of their own. The others are one colour together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Split {
    All,
    Nothing,
    /// The first labels: base points of a group that has no sets to distinguish.
    First(usize),
    /// No labels, but they are cut into this number of parts, each of which is a colour.
    Parts(usize),
}

/// The decision about a set.
#[derive(Clone, Copy, Debug)]
struct Choice {
    split: Split,
    turning: Turning,
}

/// A set of pieces that moves carry among themselves, all with the same number of orientations.
struct Set {
    cells: Vec<usize>,
    /// Whether the pieces turn.
    turns: bool,
}

pub(super) struct Search<'a> {
    space: &'a Space,
    actions: &'a [(&'a Symmetry, usize)],
    model: &'a CostModel,
    /// By class: the sets that symmetries exchange.
    classes: Vec<Vec<Set>>,
    /// The number of words of all states.
    words: f64,
    leaves: usize,
    /// Whether sets may be cut into parts.
    cuts: bool,
    /// The number of images of sets that may still be visited.
    sets: f64,
    /// The number of words of axes that may still be listed.
    words_left: Shared<usize>,
    /// The time that this search has taken, by the model.
    taken: Shared<f64>,
    found: Vec<Candidate>,
    /// The time of a search with the best candidate that is known.
    least: f64,
    limit: f64,
}

impl<'a> Search<'a> {
    /// Returns the candidates that cost less than `limit` and not [much more](CostModel::near) than the
    /// cheapest, which comes first. With `cuts`, sets may be cut into parts that symmetries do not respect.
    pub(super) fn run(
        space: &'a Space,
        actions: &'a [(&'a Symmetry, usize)],
        model: &'a CostModel,
        limit: f64,
        cuts: bool,
    ) -> Vec<Candidate> {
        let words =
            u128::try_from(space.states() * space.free_order()).map_or(f64::INFINITY, |words| words as f64);
        if space.is_guarded() || !words.is_finite() || !space.has_chains() {
            return Vec::new();
        }
        let classes = classes(space, actions);
        let mut search = Self {
            space,
            actions,
            model,
            classes,
            words,
            leaves: 0,
            cuts,
            sets: if cuts { MAX_SETS_OF_PARTS_IN_ALL } else { MAX_SETS_IN_ALL },
            words_left: Shared::new(MAX_WORDS),
            taken: Shared::new(0.0),
            found: Vec::new(),
            least: limit,
            limit,
        };
        let mut chosen = Vec::new();
        search.branch(&PatternStabiliser::whole(space), &mut chosen);
        let Search { mut found, limit, .. } = search;
        found.retain(|candidate| candidate.nanoseconds <= limit);
        found.sort_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
        found
    }

    fn branch(&mut self, hidden: &PatternStabiliser, chosen: &mut Vec<Choice>) {
        if self.leaves >= MAX_LEAVES
            || self.sets <= 0.0
            || self.words_left.get() == 0
            || self.taken.get() >= self.least.max(self.model.planning(self.words))
            || self.states_per_coset(hidden) < MIN_STATES
        {
            return;
        }
        let Some(class) = self.classes.get(chosen.len()) else {
            self.leaves += 1;
            if let Some(candidate) = self.judge(hidden, chosen) {
                self.least = self.least.min(candidate.nanoseconds);
                self.limit = self.limit.min(self.model.near(candidate.nanoseconds));
                self.found.push(candidate);
            }
            return;
        };
        let turnings: &[Turning] = match class.iter().any(|set| set.turns) {
            true => &[Turning::InPattern, Turning::Joint, Turning::Apart],
            false => &[Turning::InPattern],
        };
        // The pattern contains base points only if there is a single set, and few symmetries, which are lost.
        let base = match &self.classes[..] {
            [class]
                if class.len() == 1
                    && (self.actions.len() <= FEW_SYMMETRIES || self.space.tells_only_some()) =>
            {
                class[0].cells.len().min(MAX_BASE)
            }
            _ => 0,
        };
        // More than one part, fewer parts than labels, and each division only once.
        let labels = class.iter().map(|set| self.labels(set).len()).max().unwrap_or(0);
        let is_other = |&parts: &usize| parts < labels && labels.div_ceil(labels.div_ceil(parts)) == parts;
        let most_parts = if self.cuts { MAX_PARTS } else { 0 };
        let parts = (2..=most_parts).filter(is_other).map(Split::Parts);
        let splits = [Split::All, Split::Nothing].into_iter().chain((1..base).map(Split::First)).chain(parts);
        for split in splits {
            for &turning in turnings {
                if split == Split::All && turning == Turning::Joint {
                    continue;
                }
                let choice = Choice { split, turning };
                if let Some(hidden) = self.hide(hidden, chosen.len(), choice) {
                    chosen.push(choice);
                    self.branch(&hidden, chosen);
                    chosen.pop();
                }
            }
        }
    }

    fn states_per_coset(&self, hidden: &PatternStabiliser) -> f64 {
        u128::try_from(hidden.patterns()).map_or(0.0, |patterns| self.words / patterns as f64)
    }

    /// Returns the group that is left open by the pattern with the choice for a class. Returns `None` if the
    /// group is too small, or if a set has too many images.
    fn hide(
        &mut self,
        hidden: &PatternStabiliser,
        class: usize,
        choice: Choice,
    ) -> Option<PatternStabiliser> {
        let mut hidden = hidden.clone();
        for set in 0..self.classes[class].len() {
            for cells in self.colours(&self.classes[class][set], choice) {
                let seen = self.space.symbols().seen(self.space.labels().of_pieces()[cells[0]]);
                let seen = if choice.turning == Turning::InPattern { seen.into() } else { 1 };
                let points = PatternStabiliser::points_of(self.space, seen, |cell| cells.contains(&cell));
                let before = self.states_per_coset(&hidden);
                self.takes(self.model.keep_set);
                let is_cut = matches!(choice.split, Split::Parts(_));
                let most = if is_cut { MAX_SETS_OF_PARTS } else { MAX_SETS };
                let Some(next) = hidden.keeping(&points, most) else {
                    self.sets -= most as f64;
                    return None;
                };
                hidden = next;
                self.sets -= before / self.states_per_coset(&hidden);
                if self.states_per_coset(&hidden) < MIN_STATES {
                    return None;
                }
            }
        }
        Some(hidden)
    }

    fn takes(&self, nanoseconds: f64) {
        self.taken.set(self.taken.get() + nanoseconds);
    }

    /// Returns the labels of a set.
    fn labels(&self, set: &Set) -> Vec<u8> {
        let mut labels: Vec<u8> =
            set.cells.iter().map(|&cell| self.space.labels().of_pieces()[cell]).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// Returns the cells of each colour of a set.
    fn colours(&self, set: &Set, choice: Choice) -> Vec<Vec<usize>> {
        let label = |cell: usize| self.space.labels().of_pieces()[cell];
        let labels = self.labels(set);
        let alone = match choice.split {
            Split::All => labels.len(),
            Split::Nothing => 0,
            Split::First(number) => number,
            Split::Parts(parts) => {
                let part = |labels: &[u8]| {
                    set.cells.iter().copied().filter(|&cell| labels.contains(&label(cell))).collect()
                };
                return labels.chunks(labels.len().div_ceil(parts)).map(part).collect();
            }
        };
        let (alone, together) = labels.split_at(alone.min(labels.len()));
        let rest: Vec<usize> =
            set.cells.iter().copied().filter(|&cell| together.contains(&label(cell))).collect();
        let of = |&of: &u8| set.cells.iter().copied().filter(|&cell| label(cell) == of).collect();
        let rest = Some(rest).filter(|rest| !rest.is_empty());
        alone.iter().map(of).chain(rest).collect()
    }

    fn judge(&self, hidden: &PatternStabiliser, chosen: &[Choice]) -> Option<Candidate> {
        let space = self.space;
        let mut of_piece = vec![0; space.cells()];
        let mut views: Vec<AxisView> = Vec::new();
        let mut next = 0_u8;
        for (class, &choice) in self.classes.iter().zip(chosen) {
            for set in class {
                for cells in self.colours(set, choice) {
                    let labels = space.labels();
                    let label = |cell: usize| labels.of_pieces()[cell];
                    let is_one = cells.iter().all(|&cell| label(cell) == label(cells[0]));
                    let mut view = |view| views.push(vec![Component { colour: next, view }].into());
                    let turning = if set.turns { choice.turning } else { Turning::InPattern };
                    match (turning, is_one) {
                        (Turning::InPattern, true) => {}
                        (Turning::InPattern, false) => view(View::Pieces),
                        (Turning::Joint, false) => view(View::Both),
                        (Turning::Apart | Turning::Joint, true) => view(View::Orientations),
                        (Turning::Apart, false) => {
                            view(View::Pieces);
                            view(View::Orientations);
                        }
                    }
                    for &cell in &cells {
                        of_piece[cell] = next;
                    }
                    next = next.checked_add(1)?;
                }
            }
        }
        if views.is_empty() {
            return None;
        }
        let turned: Vec<u8> = views
            .iter()
            .flat_map(|view| &view.components)
            .filter(|component| component.view.has_orientations())
            .map(|component| component.colour)
            .collect();
        let (colouring, contents) = Colouring::partition(&of_piece, space, &turned).ok()?;
        let actions: Vec<(Vec<u8>, usize)> = self
            .actions
            .iter()
            .filter_map(|(symmetry, alike)| {
                Some((colouring.action_with(&views, symmetry)?.axes.to_vec(), *alike))
            })
            .collect();
        let symmetries = actions.iter().map(|(_, alike)| alike).sum::<usize>();
        let unused = match symmetries == self.space.symmetries().len() {
            true => 0.0,
            false => self.model.unused(self.words),
        };
        let symmetries = symmetries as f64;
        let states = self.states_per_coset(hidden);
        let cosets = (self.words / states / symmetries).max(1.0);
        let pulls = cosets * space.moves().len() as f64;
        let fewest = unused
            + self.model.search(
                pulls,
                cosets,
                symmetries,
                self.model.pull + states * self.model.fastest_bit,
                states / 8.0,
            );
        let table_bytes = cosets * CosetGraph::table_bytes(space, 0, 1) as f64;
        if fewest >= self.limit
            || cosets * symmetries >= f64::from(u32::MAX)
            || table_bytes > Plan::MAX_TABLE_BYTES as f64
        {
            return None;
        }
        let measured: RefCell<FxHashMap<AxisView, Option<usize>>> = RefCell::default();
        let listed: RefCell<FxHashMap<AxisView, Vec<u128>>> = RefCell::default();
        let length = |view: &AxisView| -> Option<usize> {
            let longest = (Colouring::MAX_AXIS as usize).min(self.words_left.get());
            let known = measured.borrow().get(view).copied();
            let length = match known {
                Some(length) => length,
                None => {
                    let form = colouring.form(view, space)?;
                    let length = match hidden.count(&colouring, &form, space) {
                        Some(words) => usize::try_from(words).ok().filter(|&words| words <= longest),
                        None => hidden.words(&colouring, &form, space, longest).map(|words| {
                            let length = words.len();
                            listed.borrow_mut().insert(view.clone(), words);
                            length
                        }),
                    };
                    measured.borrow_mut().insert(view.clone(), length);
                    length
                }
            };
            let words = length.unwrap_or(longest);
            self.words_left.set(self.words_left.get().saturating_sub(words));
            self.takes(self.model.list_word * words as f64);
            length
        };
        let lengths: Option<Vec<usize>> = views.iter().map(length).collect();
        let mut axes: Vec<(AxisView, usize)> = views.into_iter().zip(lengths?).collect();
        let apart: Vec<AxisView> = axes.iter().map(|(view, _)| view.clone()).collect();
        join(&mut axes, states, &actions, length);
        order(&mut axes);
        let start = |entries: f64| self.model.maps * entries * self.model.map_entry + unused;
        let entries: f64 = axes.iter().map(|&(_, length)| length as f64).sum();
        let bits: f64 = axes.iter().map(|&(_, length)| length as f64).product();
        // Rows of 32 bits are pulled fastest.
        let pull = self.model.pull + self.model.listed_transform + bits / 32.0 * self.model.row_in_planes;
        let least = self.model.search(pulls, cosets, symmetries, pull, bits / 8.0);
        let joined: Vec<AxisView> = axes.into_iter().map(|(view, _)| view).collect();
        let words = |view: &AxisView, form: &_| {
            let listed = listed.borrow().get(view).cloned();
            listed.or_else(|| hidden.words(&colouring, form, space, Colouring::MAX_AXIS as usize))
        };
        let with_axes = |views: &[AxisView]| {
            let colouring = colouring.clone().with_words(&contents, views, space, words).ok()?;
            let shape = Shape::of(space, &colouring)?;
            (shape.packed_bytes() <= Plan::MAX_COSET_BYTES).then_some((colouring, shape))
        };
        let cost = |(colouring, shape): (Colouring, Shape)| {
            let lengths = shape.lengths();
            let in_planes =
                shape.blocks() == 1 && lengths.len() > 1 && lengths.iter().all(|&length| length <= 32);
            let row = match (shape.row_bits(), shape.blocks()) {
                _ if in_planes => self.model.row_in_planes,
                (0..=32, 1) => self.model.row_32,
                (33..=64, 1) => self.model.row_64,
                (0..=32, _) => self.model.block_32,
                (33..=64, _) => self.model.block_64,
                (bits, _) => self.model.word_of_a_long_row * f64::from(bits.div_ceil(64)) + f64::from(bits),
            };
            let pull = self.model.pull * f64::from(shape.summands())
                + self.model.listed_transform
                + f64::from(shape.rows()) * row;
            let search = self.model.search(pulls, cosets, symmetries, pull, f64::from(shape.packed_bytes()));
            // Each way to move and turn the pieces of an axis is a map, but no pull needs more than one.
            let maps = |axis: &ReachableAxis| {
                let ways = |part: &Part| {
                    let orders: f64 = (1..=part.places).map(|place| place as f64).product();
                    orders * f64::from(part.turns).powf(part.places as f64)
                };
                let maps =
                    axis.form.parts().iter().map(ways).product::<f64>().min(pulls).max(self.model.maps);
                maps * axis.list.words().len() as f64 * self.model.map_entry
            };
            let axes = colouring.reached_axes().expect("the axes are of reachable words");
            let nanoseconds = unused + axes.iter().map(maps).sum::<f64>() + search;
            (colouring, nanoseconds)
        };
        let tied = ties(&joined, &apart, &actions).into_iter().filter_map(|views| {
            let (colouring, _) = with_axes(&views)?;
            with_axes(&in_order(views, &colouring.lengths()))
        });
        let whole = (start(entries) + least < self.limit).then(|| with_axes(&joined)).flatten();
        let best =
            whole.into_iter().chain(tied).map(cost).min_by(|(_, one), (_, other)| one.total_cmp(other));
        let (colouring, nanoseconds) = best?;
        let made = Some((colouring, hidden.patterns().clone()));
        (nanoseconds < self.limit).then_some(Candidate { of_piece, made, nanoseconds, is_counted: true })
    }
}

/// Returns the ways to replace each joined axis by tied ones: the axes from which it was joined, or one axis
/// for all of these that symmetries exchange.
fn ties(joined: &[AxisView], apart: &[AxisView], actions: &[(Vec<u8>, usize)]) -> Vec<Vec<AxisView>> {
    let orbit = |axis: usize| actions.iter().map(|(action, _)| action[axis]).min().unwrap_or(axis as u8);
    let tie = |key: &dyn Fn(usize) -> u8| -> Option<Vec<AxisView>> {
        let mut views = Vec::new();
        for (axis, number) in joined.iter().zip(0..) {
            let is_part = |part: &usize| axis.components.contains(&apart[*part].components[0]);
            let parts: Vec<usize> = (0..apart.len()).filter(is_part).collect();
            let mut keys: Vec<u8> = parts.iter().map(|&part| key(part)).collect();
            keys.sort_unstable();
            keys.dedup();
            if keys.len() == 1 {
                views.push(axis.clone());
                continue;
            }
            views.extend(keys.into_iter().map(|of| {
                let parts = parts.iter().filter(|&&part| key(part) == of);
                let mut components: Vec<Component> =
                    parts.flat_map(|&part| apart[part].components.iter().copied()).collect();
                components.sort_unstable();
                AxisView { components, tie: Some(number) }
            }));
        }
        (views.len() > joined.len()).then_some(views)
    };
    let mut ways: Vec<Vec<AxisView>> = [tie(&|axis| axis as u8), tie(&orbit)].into_iter().flatten().collect();
    ways.dedup();
    ways
}

/// Sorts the axes of a direct sum, which have these lengths. The last axis, which lies inside rows, is the one
/// that makes the packed tensor shortest, and the next to last, along which rows are gathered, is the longest
/// of the others.
fn in_order(views: Vec<AxisView>, lengths: &[u32]) -> Vec<AxisView> {
    let bytes = |length: u32| length.div_ceil(8) * 8;
    let mut axes: Vec<(AxisView, u32)> = views.into_iter().zip(lengths.iter().copied()).collect();
    axes.sort_by_key(|&(_, length)| length);
    let waste = |length: u32| f64::from(bytes(length)) / f64::from(length);
    let last = (0..axes.len()).min_by(|&one, &other| {
        let wastes = [one, other].map(|axis| waste(axes[axis].1));
        wastes[0].total_cmp(&wastes[1]).then(axes[other].1.cmp(&axes[one].1))
    });
    let last = axes.remove(last.expect("a tensor has an axis"));
    axes.push(last);
    axes.into_iter().map(|(view, _)| view).collect()
}

/// Returns the sets of pieces, grouped into classes that symmetries exchange. Pieces that moves carry among
/// themselves are one set, or several if they show different numbers of orientations.
fn classes(space: &Space, actions: &[(&Symmetry, usize)]) -> Vec<Vec<Set>> {
    let seen = |cell: Cell| space.symbols().seen(space.labels().of_pieces()[usize::from(cell)]);
    let mut sets: Vec<(u8, Vec<Cell>)> = Vec::new();
    for orbit in space.orbits() {
        let first = sets.len();
        for &cell in &orbit.cells {
            match sets[first..].iter_mut().find(|(shown, _)| *shown == seen(cell)) {
                Some((_, cells)) => cells.push(cell),
                None => sets.push((seen(cell), vec![cell])),
            }
        }
    }
    let set_of = |cell: Cell| sets.iter().position(|(_, cells)| cells.contains(&cell));
    let mut class_of: Vec<Option<usize>> = vec![None; sets.len()];
    let mut classes: Vec<Vec<Set>> = Vec::new();
    for (number, (shown, cells)) in sets.iter().enumerate() {
        let class = class_of[number].unwrap_or_else(|| {
            for (symmetry, _) in actions {
                if let Some(image) = set_of(symmetry.cells[usize::from(cells[0])]) {
                    class_of[image].get_or_insert(classes.len());
                }
            }
            classes.push(Vec::new());
            classes.len() - 1
        });
        classes[class]
            .push(Set { cells: cells.iter().map(|&cell| cell.into()).collect(), turns: *shown > 1 });
    }
    classes
}

/// Joins axes that depend on each other, with all images of the joined axes under symmetries, until nearly
/// every combination of words is a state. Also joins short axes, so that rows fill 64-bit words.
fn join(
    axes: &mut Vec<(AxisView, usize)>,
    states: f64,
    actions: &[(Vec<u8>, usize)],
    length: impl Fn(&AxisView) -> Option<usize>,
) {
    /// If axes depend on each other though no two of them do, they are joined to at most this number of
    /// words.
    const MAX_GUESS: usize = 1 << 12;
    const MAX_ROW: usize = 64;
    // The axes before any are joined, to which `actions` refer.
    let first: Vec<AxisView> = axes.iter().map(|(view, _)| view.clone()).collect();
    let product = |axes: &[(AxisView, usize)]| axes.iter().map(|&(_, length)| length as f64).product::<f64>();
    let longest = |axes: &[(AxisView, usize)]| axes.iter().map(|&(_, length)| length).max();
    let merged = |axes: &[(AxisView, usize)], pair: (usize, usize)| -> Option<Vec<(AxisView, usize)>> {
        let known = |view: &AxisView| axes.iter().find(|(known, _)| known == view).cloned();
        let measured = |view: AxisView| length(&view).map(|length| (view, length));
        joined(axes, &first, pair, actions)
            .into_iter()
            .map(|view| known(&view).or_else(|| measured(view)))
            .collect()
    };
    loop {
        let depends = product(axes) > states * 1.5;
        let mut best: Option<Vec<(AxisView, usize)>> = None;
        let pairs = (0..axes.len()).flat_map(|i| (i + 1..axes.len()).map(move |j| (i, j)));
        for pair in pairs.filter(|_| depends) {
            if let Some(merged) = merged(axes, pair)
                && product(&merged) < product(axes)
                && best.as_ref().is_none_or(|best| longest(&merged) < longest(best))
            {
                best = Some(merged);
            }
        }
        if best.is_none() && axes.len() > 1 {
            let mut by_length: Vec<usize> = (0..axes.len()).collect();
            by_length.sort_by_key(|&axis| axes[axis].1);
            let most = if depends { MAX_GUESS } else { MAX_ROW };
            let changed = |merged: &Vec<(AxisView, usize)>| {
                merged.iter().filter(|axis| !axes.contains(axis)).all(|&(_, length)| length <= most)
            };
            best = merged(axes, (by_length[0], by_length[1])).filter(changed);
        }
        match best {
            Some(best) => *axes = best,
            None => return,
        }
    }
}

/// Returns the axes after two of them, and with these their images under symmetries, are joined.
fn joined(
    axes: &[(AxisView, usize)],
    first: &[AxisView],
    (i, j): (usize, usize),
    actions: &[(Vec<u8>, usize)],
) -> Vec<AxisView> {
    let axis_of = |number: usize| {
        let is_in = |(axis, _): &(AxisView, usize)| axis.components.contains(&first[number].components[0]);
        axes.iter().position(is_in).expect("all components stay")
    };
    let some_first = |axis: usize| {
        let is_in = |view: &AxisView| axes[axis].0.components.contains(&view.components[0]);
        first.iter().position(is_in).expect("axes are made of what there was at first")
    };
    let (a, b) = (some_first(i), some_first(j));
    let mut class: Vec<usize> = (0..axes.len()).collect();
    for (action, _) in actions {
        let (a, b) = (axis_of(action[a].into()), axis_of(action[b].into()));
        let (keep, drop) = (class[a].min(class[b]), class[a].max(class[b]));
        class.iter_mut().filter(|class| **class == drop).for_each(|class| *class = keep);
    }
    let mut views = Vec::new();
    for number in 0..axes.len() {
        let members = (0..axes.len()).filter(|&axis| class[axis] == number);
        let mut components: Vec<Component> =
            members.flat_map(|axis| axes[axis].0.components.iter().copied()).collect();
        components.sort_unstable();
        if !components.is_empty() {
            views.push(components.into());
        }
    }
    views
}

/// Sorts the axes so that the last one, which lies inside rows, is the longest that fits into 64 bits, unless
/// that one is short. Otherwise it is the longest whose words have both pieces and orientations, because such
/// an axis can be cut into blocks.
fn order(axes: &mut [(AxisView, usize)]) {
    const SHORT: usize = 12;
    let rank = |(view, length): &(AxisView, usize)| {
        let has_blocks = view.components.iter().any(|component| component.view.has_orientations())
            && view.components.iter().any(|component| component.view.has_pieces());
        match *length {
            SHORT..=64 => (3, *length),
            65.. if has_blocks => (2, *length),
            1..SHORT => (1, *length),
            _ => (0, *length),
        }
    };
    axes.sort_by_key(rank);
}
