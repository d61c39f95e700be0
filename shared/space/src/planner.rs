//! The choice of the colouring.
//!
//! Candidates: the orbits of every subgroup that two symmetries generate (block systems of the symmetry group are
//! among them), and what comes of cutting their classes into chunks or joining neighbouring ones. Each is judged
//! by a [model](CostModel) of the time that a search takes with it; the cheapest whose tables are not too large is taken. Where its axes have
//! arrangements that no move brings about, [axes of what moves reach](reached) are candidates, too. The choice
//! depends on the space alone, never on the machine, so that the same space has the same digest everywhere.

mod reached;

use crate::axis::AxisView;
use crate::hidden::Hidden;
use crate::words::multinomial;
use crate::{Colouring, CosetGraph, Refusal, Shape, Space, Symmetry};
use fathom_algebra::numbered;
use num_bigint::BigUint;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A colouring with the sizes that follow from it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The colouring.
    pub colouring: Colouring,
    /// The shape of a coset's tensor.
    pub shape: Shape,
    /// How many symmetries of the space respect the colouring.
    pub symmetries_used: usize,
    /// Patterns that have an entry in a table, reachable or not; none where cosets are found without one.
    pub patterns: u64,
    /// Representative cosets: their number, exactly.
    pub representative_cosets: u64,
}

/// Why no colouring serves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Every candidate is beyond the engine's limits.
    #[error(
        "no colouring of {space}, which has {} states, gives axes of at most {axis} arrangements and tables of at most {gibibytes} GiB: choose a smaller puzzle, or tell fewer pieces apart with --track or --labels",
        grouped(states), axis = Colouring::LONGEST_AXIS, gibibytes = Plan::MOST_TABLE_BYTES >> 30
    )]
    NoColouring {
        /// The space.
        space: String,
        /// Its number of states.
        states: BigUint,
    },
}

/// A number of any size with a comma between each three digits.
pub fn grouped(number: &BigUint) -> String {
    let digits = number.to_string();
    let from_the_end = digits.bytes().rev().collect::<Vec<_>>();
    let groups: Vec<&[u8]> = from_the_end.chunks(3).collect();
    groups.join(&b',').iter().rev().map(|&byte| char::from(byte)).collect()
}

impl Plan {
    /// The most that the tables of a search may take, in bytes.
    pub const MOST_TABLE_BYTES: u64 = 8 << 30;

    /// Chooses a colouring.
    ///
    /// # Errors
    /// [`PlanError`] if no candidate serves.
    pub fn new(space: &Space) -> Result<Self, PlanError> {
        let actions = actions_on_letters(space);
        let model = &CostModel::V2;
        let best = candidates(space, &actions)
            .into_iter()
            .filter_map(|of_piece| Candidate::judge(space, &actions, model, of_piece))
            .min_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
        if !moves_bring_about_all(space) || !best.as_ref().is_some_and(|best| best.is_full(space)) {
            let limit = best.as_ref().map_or(f64::INFINITY, |best| best.nanoseconds);
            let reached = reached::Search::run(space, &actions, model, limit);
            if let Some(plan) = Self::fullest(space, &reached) {
                return Ok(plan);
            }
        }
        best.and_then(|best| Self::with(space, &best))
            .ok_or_else(|| PlanError::NoColouring { space: space.slug(), states: space.states().clone() })
    }

    /// The first of these choices, in order of their costs, that stores few bits that are no states, or the one that stores the fewest. How many that
    /// are is known when the cosets are listed: small spaces have many patterns that symmetries fix.
    fn fullest(space: &Space, candidates: &[Candidate]) -> Option<Self> {
        const MOST_TRIED: usize = 6;
        const FULL: f64 = 0.5;
        let mut best: Option<(Self, f64)> = None;
        // What fails to be listed has axes whose words differ too much from coset to coset.
        let tried = candidates.iter().take(MOST_TRIED);
        for plan in tried.filter_map(|candidate| Self::with(space, candidate)) {
            let fill = plan.fill(space);
            if best.as_ref().is_none_or(|&(_, best)| fill > best) {
                best = Some((plan, fill));
            }
            if fill >= FULL {
                break;
            }
        }
        best.map(|(plan, _)| plan)
    }

    fn with(space: &Space, candidate: &Candidate) -> Option<Self> {
        let colouring = Colouring::with_axes(&candidate.of_piece, &candidate.views, space).ok()?;
        let shape = Shape::of(space, &colouring)?;
        let actions: Vec<_> = space
            .symmetries()
            .iter()
            .filter_map(|symmetry| Some((&*symmetry.cells, colouring.action(symmetry)?)))
            .collect();
        let sizes: Vec<u8> = colouring.axes().iter().map(|axis| axis.length() as u8).collect();
        let representative_cosets = if colouring.reached().is_none() && reaches_all_patterns(space, &sizes) {
            let fixed: u128 =
                actions.iter().map(|(cells, action)| fixed_patterns(cells, &action.colours, &sizes)).sum();
            u64::try_from(fixed / actions.len() as u128).ok()?
        } else {
            u64::from(CosetGraph::build(space, &colouring).ok()?.len())
        };
        let patterns = CosetGraph::table_entries(space, &colouring);
        Some(Self { shape, symmetries_used: actions.len(), patterns, representative_cosets, colouring })
    }

    /// The share of the stored bits that are states of different orbits under the symmetries of the space: states / (symmetries x stored bits).
    /// It is near 1 where nothing is stored that cannot be, and all symmetries are used. States that symmetries fix make it a
    /// little smaller.
    pub fn fill(&self, space: &Space) -> f64 {
        let words =
            u128::try_from(space.states() * space.free_order()).map_or(f64::INFINITY, |words| words as f64);
        let bits = self.representative_cosets as f64 * self.shape.bits() as f64;
        words / space.symmetries().len() as f64 / bits
    }

    /// Why symmetries are not used, and how many for each reason.
    pub fn refusals(&self, space: &Space) -> Vec<(Refusal, usize)> {
        let refused = space.symmetries().iter().filter_map(|symmetry| self.colouring.refusal(symmetry));
        let mut counts: BTreeMap<Refusal, usize> = BTreeMap::new();
        refused.for_each(|refusal| *counts.entry(refusal).or_default() += 1);
        counts.into_iter().map(|(refusal, count)| (refusal, count / space.free_order() as usize)).collect()
    }

    /// Bytes of the packed tensors of one layer when every coset is dense.
    pub fn layer_bytes(&self) -> u64 {
        self.representative_cosets * u64::from(self.shape.packed_bytes())
    }

    /// Pulls, of a whole coset through one move, that one dense layer takes.
    pub fn pulls_per_layer(&self, space: &Space) -> u64 {
        self.representative_cosets * space.moves().len() as u64
    }

    /// Bytes of the tables that a search keeps in memory.
    pub fn table_bytes(&self, space: &Space) -> u64 {
        CosetGraph::table_bytes(space, self.patterns, self.representative_cosets)
    }
}

/// Whether moves reach all words, or the half that is even. Where they do, every colouring serves, and the best of them is kept.
fn moves_bring_about_all(space: &Space) -> bool {
    let words = space.states() * space.free_order();
    space.is_guarded() || space.ranks().is_some_and(|ranks| words * 2_u32 >= ranks.total().into())
}

/// The symmetric group reaches every pattern, and so does the alternating one when two pieces share a colour. Of
/// other groups nothing is assumed.
fn reaches_all_patterns(space: &Space, sizes: &[u8]) -> bool {
    let factorial: BigUint = (1..=space.cells()).map(BigUint::from).product();
    if space.letters().width() > 1 || space.free_order() > 1 || space.is_guarded() {
        return false;
    }
    *space.group_order() == factorial
        || (space.group_order() * 2_u32 == factorial && sizes.iter().any(|&size| size > 1))
}

/// The model of a search's time: nanoseconds of one thread, rates rounded from `fathom bench` on a 2024 server core. It need only
/// rank colourings. The choice is part of what defines a run, so a change of the numbers is a new version.
#[derive(Clone, Copy, Debug)]
struct CostModel {
    /// Layers whose cosets are dense.
    dense_layers: f64,
    /// Layers in which every coset is looked at.
    all_layers: f64,
    /// Finding the representative of a pattern, by a table.
    find_by_table: f64,
    /// The same by trying symmetries, for each of them.
    find_by_symmetry: f64,
    /// Looking at a coset, and at a source of it.
    look_at_coset: f64,
    look_at_source: f64,
    /// A pull, whatever its size.
    pull: f64,
    /// Finding the transform of a pull along axes of what is reached.
    listed_transform: f64,
    /// A row of up to 32 bits, of up to 64, and each word of a longer one.
    row_32: f64,
    row_64: f64,
    word_of_a_long_row: f64,
    /// The same of rows that are blocks.
    block_32: f64,
    block_64: f64,
    /// A bit of the fastest rows.
    fastest_bit: f64,
    /// A byte of a map, as it is made.
    map_byte: f64,
    /// An entry of a map along an axis of what is reached, as it is made, and how many such maps an axis has.
    map_entry: f64,
    maps: f64,
    /// What does not matter.
    negligible: f64,
    /// Writing a coset, and a byte of it.
    write_coset: f64,
    write_byte: f64,
}

impl CostModel {
    /// The first numbers, and those of axes of what is reached.
    const V2: Self = Self {
        dense_layers: 5.0,
        all_layers: 15.0,
        find_by_table: 60.0,
        find_by_symmetry: 10.0,
        look_at_coset: 1_500.0,
        look_at_source: 60.0,
        pull: 150.0,
        listed_transform: 200.0,
        row_32: 3.0,
        row_64: 6.0,
        word_of_a_long_row: 16.0,
        block_32: 8.0,
        block_64: 16.0,
        fastest_bit: 0.1,
        map_byte: 2.0,
        map_entry: 40.0,
        maps: 200.0,
        negligible: 2e7,
        write_coset: 1_000.0,
        write_byte: 1.0,
    };

    /// Up to here a choice costs about as much as one of this cost.
    fn near(&self, nanoseconds: f64) -> f64 {
        nanoseconds * 1.25 + self.negligible
    }

    /// A search that finds representatives by trying symmetries, where a pull takes `pull` and a coset has so many bytes.
    fn search(&self, pulls: f64, cosets: f64, symmetries: f64, pull: f64, bytes: f64) -> f64 {
        pulls * symmetries * self.find_by_symmetry + self.layers(pulls, cosets, pull, bytes)
    }

    /// All layers.
    fn layers(&self, pulls: f64, cosets: f64, pull: f64, bytes: f64) -> f64 {
        // Empty cosets and sources are looked at, too.
        let look = self.all_layers * (cosets * self.look_at_coset + pulls * self.look_at_source);
        look + self.dense_layers * (pulls * pull + cosets * (self.write_coset + self.write_byte * bytes))
    }
}

struct Candidate {
    of_piece: Vec<u8>,
    /// Empty if each colour is an axis of all its arrangements.
    views: Vec<AxisView>,
    nanoseconds: f64,
}

impl Candidate {
    /// Whether moves bring about all that its axes have. What is not known for certain counts as no.
    fn is_full(&self, space: &Space) -> bool {
        let Ok(colouring) = Colouring::new(&self.of_piece, space) else {
            return false;
        };
        let Some(shape) = Shape::of(space, &colouring) else {
            return false;
        };
        let sizes: Vec<u8> = colouring.axes().iter().map(|axis| axis.length() as u8).collect();
        if reaches_all_patterns(space, &sizes) || space.is_guarded() {
            return true;
        }
        // Without guards the cosets are as large as each other.
        let words = space.states() * space.free_order();
        Hidden::of(space, &colouring, Colouring::MOST_PATTERNS)
            .is_ok_and(|hidden| hidden.patterns() * shape.bits() == words)
    }

    fn judge(
        space: &Space,
        actions: &[(&Symmetry, usize)],
        model: &CostModel,
        of_piece: Vec<u8>,
    ) -> Option<Self> {
        let words =
            u128::try_from(space.states() * space.free_order()).map_or(f64::INFINITY, |words| words as f64);
        let labels = space.labels();
        let mut contents: HashMap<u8, HashMap<u8, u8>> = HashMap::new();
        for (&colour, &label) in of_piece.iter().zip(labels.of_pieces()) {
            contents.entry(colour).or_default().insert(label, labels.sizes()[usize::from(label)]);
        }
        let mut lengths: Vec<(u8, u64, u8)> = Vec::new();
        for (&colour, content) in &contents {
            let counts: Vec<u8> = content.values().copied().collect();
            let length = u64::try_from(multinomial(&counts)?).ok()?;
            let size = counts.iter().sum();
            if length > 1
                && (length > Colouring::LONGEST_AXIS || usize::from(size) > Colouring::LARGEST_COLOUR)
            {
                return None;
            }
            lengths.push((colour, length, size));
        }
        // The last axis lies inside a word: the longest that fits. Colours with one arrangement come first.
        lengths.sort_unstable_by_key(|&(colour, length, _)| (length > 1, length <= 64, length, colour));
        let axes: Vec<u32> = lengths.iter().map(|&(_, length, _)| length as u32).collect();
        let shape = Shape::in_space(space, &axes)?;
        let order: HashMap<u8, u8> =
            lengths.iter().zip(0..).map(|(&(colour, _, _), axis)| (colour, axis)).collect();
        let of_piece: Vec<u8> = of_piece.iter().map(|colour| order[colour]).collect();
        let colouring = Colouring::new(&of_piece, space).ok()?;
        let respecting = actions.iter().filter(|(symmetry, _)| colouring.action(symmetry).is_some());
        let symmetries = respecting.map(|(_, alike)| alike).sum::<usize>();
        let entries = CosetGraph::entries(&colouring, symmetries);
        let symmetries = symmetries as f64;
        // Without a table, as many patterns as there must be for all states.
        let patterns = match entries {
            0 => words / lengths.iter().map(|&(_, length, _)| length as f64).product::<f64>(),
            entries => entries as f64,
        };

        let cosets = (patterns / symmetries).max(1.0);
        let pulls = cosets * space.moves().len() as f64;
        // A different axis map for every place permutation and renaming that occurs.
        let map_bytes: f64 = lengths
            .iter()
            .map(|&(_, length, size)| {
                let permutations: f64 = (1..=size).map(f64::from).product();
                (permutations * symmetries.min(permutations)).min(pulls) * length as f64 * 8.0
            })
            .sum();
        let table_bytes = entries as f64 * 4.0 + pulls * 4.0 + map_bytes;
        if table_bytes > Plan::MOST_TABLE_BYTES as f64 || cosets * symmetries >= f64::from(u32::MAX) {
            return None;
        }
        let row = match shape.row_bits() {
            0..=32 => model.row_32,
            33..=64 => model.row_64,
            bits => model.word_of_a_long_row * f64::from(bits.div_ceil(64)),
        };
        let find = match entries {
            0 => pulls * symmetries * model.find_by_symmetry,
            _ => patterns * model.find_by_table,
        };
        let start = find + map_bytes * model.map_byte;
        // A row of several words is moved bit by bit.
        let bitwise = if shape.row_bits() > 64 { f64::from(shape.row_bits()) } else { 0.0 };
        let pull = model.pull + bitwise + f64::from(shape.rows()) * row;
        let nanoseconds = start + model.layers(pulls, cosets, pull, f64::from(shape.packed_bytes()));
        Some(Self { of_piece, views: Vec::new(), nanoseconds })
    }
}

/// One of those symmetries that do the same to letters, and how many they are. Different ones do so where there are free moves.
fn actions_on_letters(space: &Space) -> Vec<(&Symmetry, usize)> {
    let mut numbers = HashMap::new();
    let mut actions: Vec<(&Symmetry, usize)> = Vec::new();
    for symmetry in space.symmetries() {
        let number = *numbers.entry((&symmetry.labels, symmetry.letters())).or_insert(actions.len());
        match actions.get_mut(number) {
            Some((_, alike)) => *alike += 1,
            None => actions.push((symmetry, 1)),
        }
    }
    actions
}

/// Partitions of the pieces worth judging, none of which splits a label.
fn candidates(space: &Space, actions: &[(&Symmetry, usize)]) -> BTreeSet<Vec<u8>> {
    let cells = space.cells();
    let mut bases: BTreeSet<Vec<u8>> = BTreeSet::new();
    let labels = space.labels();
    let first_with = |label: u8| {
        labels.of_pieces().iter().position(|&l| l == label).expect("every label is on a piece") as u8
    };
    let first_with: Vec<u8> = (0..labels.sizes().len()).map(|label| first_with(label as u8)).collect();
    let label = |piece: usize| usize::from(labels.of_pieces()[piece]);
    let image = |s: &Symmetry, piece: usize| first_with[usize::from(s.labels[label(piece)])];
    for (i, (a, _)) in actions.iter().enumerate() {
        for (b, _) in &actions[i..] {
            bases.insert(joined(cells, (0..cells).flat_map(|c| [(c, image(a, c)), (c, image(b, c))])));
        }
    }
    let mut partitions = BTreeSet::new();
    for base in bases {
        for size in 1..=5 {
            partitions.insert(chunked(&base, size));
        }
        for size in 2..=8 {
            partitions.insert(merged(&base, size));
        }
        partitions.insert(base);
    }
    // Every partition is cut further where pieces of different kinds are together.
    let kind: Vec<(usize, u8)> = (0..cells)
        .map(|cell| {
            let orbit = space.orbits().iter().position(|orbit| orbit.cells.contains(&(cell as u8)));
            let seen = space.letters().seen(space.labels().of_pieces()[cell]);
            (orbit.expect("every cell is in an orbit"), seen)
        })
        .collect();
    let mut whole = BTreeSet::new();
    for partition in partitions {
        let partition = numbered((0..cells).map(|cell| (partition[cell], kind[cell])));
        // Either the colours that share a label are joined, or every label with several pieces is a colour.
        let same_colour = (0..cells).map(|c| {
            let first = partition.iter().position(|&colour| colour == partition[c]);
            (c, first.expect("the colour is there") as u8)
        });
        let same_label = (0..cells).map(|c| (c, first_with[label(c)]));
        whole.insert(joined(cells, same_colour.chain(same_label)));
        let key = |c: usize| {
            let label = labels.of_pieces()[c];
            if labels.sizes()[usize::from(label)] > 1 { (true, label) } else { (false, partition[c]) }
        };
        whole.insert(numbered((0..cells).map(key)));
    }
    // And all rings whole.
    let rings = |cell: usize| space.rings().ring(cell).map(|(first, _)| first);
    let joined = |partition: &Vec<u8>| {
        numbered((0..cells).map(|cell| match rings(cell) {
            Some(first) => (true, first),
            None => (false, usize::from(partition[cell])),
        }))
    };
    let with_rings: Vec<Vec<u8>> = whole.iter().map(joined).collect();
    whole.extend(with_rings);
    whole
}

/// The finest partition in which both ends of every pair share a class.
fn joined(cells: usize, pairs: impl Iterator<Item = (usize, u8)>) -> Vec<u8> {
    fn root(parent: &mut [usize], mut cell: usize) -> usize {
        while parent[cell] != cell {
            parent[cell] = parent[parent[cell]];
            cell = parent[cell];
        }
        cell
    }
    let mut parent: Vec<usize> = (0..cells).collect();
    for (a, b) in pairs {
        let (a, b) = (root(&mut parent, a), root(&mut parent, usize::from(b)));
        parent[a.max(b)] = a.min(b);
    }
    numbered((0..cells).map(|cell| root(&mut parent, cell)))
}

/// Every class cut into chunks of at most `size` pieces.
fn chunked(partition: &[u8], size: usize) -> Vec<u8> {
    let mut seen = HashMap::new();
    numbered(partition.iter().map(|&class| {
        let count = seen.entry(class).or_insert(0);
        *count += 1;
        (class, (*count - 1) / size)
    }))
}

/// Neighbouring classes joined as long as they have at most `size` pieces together.
fn merged(partition: &[u8], size: usize) -> Vec<u8> {
    let classes = partition.iter().map(|&class| usize::from(class) + 1).max().unwrap_or(0);
    let mut groups = vec![0; classes];
    let (mut group, mut pieces) = (0, 0);
    for (class, number) in groups.iter_mut().enumerate() {
        let members = partition.iter().filter(|&&c| usize::from(c) == class).count();
        if pieces > 0 && pieces + members > size {
            group += 1;
            pieces = 0;
        }
        pieces += members;
        *number = group;
    }
    numbered(partition.iter().map(|&class| groups[usize::from(class)]))
}

/// How many patterns with these colour sizes a symmetry fixes. The colour on the first cell of a cycle of cells
/// determines the others; it must come back to itself, so its cycle of colours has a length k that divides the
/// length l of the cycle of cells, and each colour of that cycle is used l / k times.
fn fixed_patterns(cells: &[u8], colours: &[u8], sizes: &[u8]) -> u128 {
    let colour_cycles = cycle_lengths_by_start(colours);
    let left: Vec<u8> = colour_cycles.iter().map(|&(start, _)| sizes[start]).collect();
    let mut ways: HashMap<Vec<u8>, u128> = HashMap::from([(left, 1)]);
    for (_, length) in cycle_lengths_by_start(cells) {
        let mut next: HashMap<Vec<u8>, u128> = HashMap::new();
        for (left, count) in &ways {
            for (i, &(_, period)) in colour_cycles.iter().enumerate() {
                let used = length / period;
                if length % period == 0 && usize::from(left[i]) >= used {
                    let mut left = left.clone();
                    left[i] -= used as u8;
                    *next.entry(left).or_default() += count * period as u128;
                }
            }
        }
        ways = next;
    }
    ways.values().sum()
}

fn cycle_lengths_by_start(map: &[u8]) -> Vec<(usize, usize)> {
    let mut seen = vec![false; map.len()];
    let mut cycles = Vec::new();
    for start in 0..map.len() {
        let (mut at, mut length) = (start, 0);
        while !std::mem::replace(&mut seen[at], true) {
            at = usize::from(map[at]);
            length += 1;
        }
        if length > 0 {
            cycles.push((start, length));
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use fathom_puzzle::{Board, Metric, PuzzleSpec};

    fn space(word: &str, track: Option<&str>) -> Space {
        let board: Board = word.parse().unwrap();
        let labels = match track {
            Some(list) => Labels::parse_tracked(list, board.cells()).unwrap(),
            None => Labels::distinct(board.cells()),
        };
        Space::new(board.puzzle(Metric::Multi), Metric::Multi, labels).unwrap()
    }

    #[test]
    fn representatives_are_as_many_as_the_closure_finds() {
        for word in ["1x1", "1x2", "1x7", "2x2", "2x3", "2x4", "2x5", "3x3", "3x4", "2x6"] {
            let space = space(word, None);
            let plan = Plan::new(&space).unwrap();
            let graph = CosetGraph::build(&space, &plan.colouring).unwrap();
            assert_eq!(u64::from(graph.len()), plan.representative_cosets, "{word}");
            assert_eq!(graph.symmetries().len(), plan.symmetries_used, "{word}");
        }
    }

    #[test]
    fn the_designs_choices_for_large_boards() {
        // 4x4: four sublattices, 63,063,000 patterns, 499,961 representative cosets under all 128 symmetries, and
        // 3x4: rows, 826 cosets; 2x6: columns mod 3, 1,556 cosets (the design's prototype).
        let sizes = |word| {
            let space = space(word, None);
            let plan = Plan::new(&space).unwrap();
            (plan.patterns, plan.representative_cosets, plan.symmetries_used, plan.shape.packed_bytes())
        };
        assert_eq!(sizes("4x4"), (63_063_000, 499_961, 128, 41_472));
        assert_eq!(sizes("3x4"), (34_650, 826, 48, 1_728));
        assert_eq!(sizes("2x6"), (34_650, 1_556, 24, 1_728));
    }

    /// Nothing is stored that cannot be, or that a symmetry makes of something else; and where moves bring about everything,
    /// colours are axes as ever.
    #[test]
    fn puzzles_whose_moves_reach_few_words_are_stored_densely() {
        for (word, is_reached) in
            [("skewb", true), ("pyraminx", true), ("dino", false), ("2x2x2", false), ("3x4", false)]
        {
            let source = PuzzleSpec::of_word(word).unwrap();
            let puzzle = source.puzzle(source.metric()).unwrap();
            let space = Space::new(puzzle, source.metric(), Labels::from_values(source.solved())).unwrap();
            let plan = Plan::new(&space).unwrap();
            let views = plan.colouring.views();
            assert_eq!(!views.is_empty(), is_reached, "{word} {views:?}");
            assert!(!is_reached || plan.fill(&space) > 0.4, "{word} {}", plan.fill(&space));
            let unused: usize = plan.refusals(&space).iter().map(|(_, count)| count).sum();
            assert_eq!(
                plan.symmetries_used / space.free_order() as usize + unused,
                space.symmetry_order(),
                "{word}"
            );
        }
    }

    #[test]
    fn every_board_up_to_sixteen_cells_has_a_plan() {
        for m in 1..=16 {
            for n in 1..=16 / m {
                let space = space(&format!("{m}x{n}"), None);
                Plan::new(&space).unwrap_or_else(|error| panic!("{m}x{n}: {error}"));
            }
        }
    }

    #[test]
    fn spaces_beyond_all_tables_are_refused_with_their_size() {
        let error = Plan::new(&space("5x5", None)).unwrap_err().to_string();
        assert!(error.contains("5x5-multi, which has 7,755,605,021,665,492,992,000,000 states"), "{error}");
        assert!(Plan::new(&space("5x5", Some("0-3"))).is_ok());
    }
}
