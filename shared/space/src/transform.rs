//! The action of a move on a whole coset: a permutation of the axes, and one fixed permutation along each
//! axis.
//!
//! Let R be a representative coset, and a⁻¹ the symmetry that carries R to the pattern from which move x
//! leads into coset C. In a state of R, written as a word, the label on cell q goes to cell m(q) =
//! x(a⁻¹(q)) and is renamed by a⁻¹. The cells of colour c of R become the cells of colour a⁻¹(c)
//! of C. The j-th of them becomes the π(j)-th, where π depends on R, C, m and c but not on the state. Local
//! label l becomes ρ(l), where ρ depends only on a⁻¹ and c. So index i along axis c goes to an index
//! along axis a⁻¹(c): that of the word of i with places moved by π and symbols renamed by ρ. For a
//! colour of s different pieces there are at most s! x s! such maps, each of which is computed once.

#[cfg(doc)]
use crate::Shape;
use crate::cells::Cell;
use crate::cosets::explicit_axes::Actions;
use crate::multiset_ranker::advance;
use crate::{AxisMap, CosetGraph, CosetId, MultisetRanker};
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// A permutation of axes, and a map along each axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transform {
    /// For each axis of the source: the axis of the target that it becomes.
    pub target: Vec<u8>,
    /// For each axis of the source: the number of its [`AxisMap`] in the [`Transforms`] that computed the
    /// transform. If the tensor is a direct sum (see [`Shape`]), the same for each of its summands in turn.
    pub maps: Vec<u32>,
    /// For each summand of the source: the summand of the target that it becomes. Empty if there is only one.
    pub summands: Vec<u32>,
    /// Whether the parities of the indices of the source's states have an odd sum (see [`Shape`]). False
    /// unless the last axis is halved.
    pub odd: bool,
}

impl Transform {
    /// Returns, for each summand of the source: its number, the summand of the target that it becomes, and
    /// the numbers of the maps along its axes.
    pub fn of_summands(&self) -> impl Iterator<Item = (u32, u32, &[u32])> {
        let to = |number: u32| self.summands.get(number as usize).copied().unwrap_or(number);
        self.maps
            .chunks_exact(self.target.len())
            .zip(0..)
            .map(move |(maps, number)| (number, to(number), maps))
    }
}

/// Computes transforms, and keeps each axis map as long as the maps take no more than a limit. Each thread
/// has its own `Transforms`, so nothing is shared.
#[derive(Debug)]
pub struct Transforms<'g> {
    graph: &'g CosetGraph,
    /// The bytes that maps take, and the number above which all are dropped.
    bytes: usize,
    most_bytes: usize,
    /// How often all maps were dropped.
    dropped: u64,
    /// By symmetry and colour: the number of the symmetry's renaming of the colour's local labels.
    renamings: Vec<Vec<u16>>,
    numbers: FxHashMap<(u16, u128), u32>,
    maps: Vec<AxisMap>,
    /// For each cell of the coset `prepared`: its number among the cells of its colour.
    places: Vec<Cell>,
    prepared: Option<CosetId>,
    codes: Vec<u128>,
    counts: Vec<Cell>,
    /// By number of an arrival, if arrivals are numbered: the numbers of its maps, or [`UNKNOWN`], and the
    /// targets of its summands.
    of_arrivals: Vec<u32>,
    /// The number of entries of an arrival in `of_arrivals`.
    entries: usize,
    /// The extra data for axes that hold only reachable words.
    listed: Option<ExplicitAxis<'g>>,
}

/// The part of [`Transforms`] for axes that hold only reachable words.
#[derive(Debug)]
struct ExplicitAxis<'g> {
    actions: Actions<'g>,
    /// By the key of an action: its first entry in `images`.
    numbers: FxHashMap<Box<[u8]>, u32>,
    /// By action and class: the image of the class, and the number of the map.
    images: Vec<(u8, u32)>,
    /// The numbers of maps, by their images.
    known: HashTable<u32>,
    /// By axis of the transform that is filled: its first entry in `images`.
    firsts: Vec<u32>,
    /// The images of the classes of a summand.
    classes: Vec<u8>,
}

/// The bytes of a map besides those of its entries: its number, its key, and what a kernel derives from maps
/// of up to 64 entries.
const MAP_BYTES: usize = 2048;

/// The bytes of an entry of a map: its image, its preimage, and what a kernel derives from it.
const ENTRY_BYTES: usize = 12;

/// Returns the bytes of a map along an axis of this length.
fn map_bytes(length: u32) -> usize {
    MAP_BYTES + length as usize * ENTRY_BYTES
}

/// The placeholder for a map that is not computed yet.
const UNKNOWN: u32 = u32::MAX;

/// The largest number of maps, one for each axis of an arrival, that are kept for all arrivals. They take 4
/// bytes each.
const MAX_OF_ARRIVALS: usize = 1 << 18;

impl<'g> Transforms<'g> {
    /// Creates an empty table for the cosets of `graph`, which keeps all maps.
    pub fn new(graph: &'g CosetGraph) -> Self {
        Self::within(graph, usize::MAX)
    }

    /// Creates an empty table for the cosets of `graph`, which [drops](Transforms::drop_maps) all maps before
    /// they could take more than `most_bytes`, or more than those of one transform if these are more.
    pub fn within(graph: &'g CosetGraph, most_bytes: usize) -> Self {
        let colouring = graph.colouring();
        let axes = colouring.axes();
        let mut seen: FxHashMap<(&[u16], Vec<u8>), u16> = FxHashMap::default();
        let renamings = graph
            .symmetries()
            .iter()
            .map(|s| {
                (0..axes.len())
                    .map(|colour| {
                        let renaming = renaming(graph, &s.symmetry.labels, colour);
                        let next =
                            u16::try_from(seen.len()).expect("fewer renamings than symmetries x colours");
                        *seen.entry((axes[colour].counts(), renaming)).or_insert(next)
                    })
                    .collect()
            })
            .collect();
        let (shape, summands) = (graph.shape(), graph.shape().summands() as usize);
        let of_transform: usize =
            summands * shape.lengths().iter().map(|&length| map_bytes(length)).sum::<usize>();
        let of_summands = if summands > 1 { summands } else { 0 };
        Self {
            graph,
            bytes: 0,
            most_bytes: most_bytes.saturating_sub(of_transform),
            dropped: 0,
            renamings,
            numbers: FxHashMap::default(),
            maps: Vec::new(),
            places: vec![0; graph.space().cells()],
            prepared: None,
            codes: vec![0; axes.len()],
            counts: vec![0; axes.len()],
            of_arrivals: Vec::new(),
            entries: shape.lengths().len() * summands + of_summands,
            listed: colouring.reached_axes().map(|_| ExplicitAxis {
                actions: Actions::new(graph),
                numbers: FxHashMap::default(),
                images: Vec::new(),
                known: HashTable::new(),
                firsts: Vec::new(),
                classes: Vec::new(),
            }),
        }
    }

    /// Returns the graph whose transforms these are.
    pub fn graph(&self) -> &'g CosetGraph {
        self.graph
    }

    /// Returns the axis map with this number.
    pub fn map(&self, number: u32) -> &AxisMap {
        &self.maps[number as usize]
    }

    /// Returns all axis maps computed so far, by number.
    pub fn maps(&self) -> &[AxisMap] {
        &self.maps
    }

    /// Returns the bytes that the maps take, with what a kernel derives from them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns how often all maps were dropped. If this changes, the numbers of the maps of earlier
    /// transforms mean other maps, and a kernel must drop what it derived from them.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Drops all maps. Those that later transforms need are computed again.
    pub fn drop_maps(&mut self) {
        self.maps.clear();
        self.numbers.clear();
        self.of_arrivals.clear();
        if let Some(listed) = &mut self.listed {
            listed.numbers.clear();
            listed.images.clear();
            listed.known.clear();
        }
        self.bytes = 0;
        self.dropped += 1;
    }

    /// Makes space for the maps of one transform.
    fn make_room(&mut self) {
        if self.bytes > self.most_bytes {
            self.drop_maps();
        }
    }

    /// Writes the transform from the coset [`CosetGraph::source`] of this
    /// [arrival](crate::Space::incoming_moves) into `coset`.
    ///
    /// # Panics
    /// If the move is not possible there, so that the arrival has no source.
    pub fn of_move(&mut self, coset: CosetId, mv: usize, transform: &mut Transform) {
        let (source, symmetry) = self.graph.source(coset, mv).expect("the move can be made");
        let entries =
            self.number_of(coset, mv).map(|number| number * self.entries..(number + 1) * self.entries);
        if let Some(known) = entries.clone().and_then(|entries| self.of_arrivals.get(entries))
            && known[0] != UNKNOWN
        {
            let maps = self.graph.shape().lengths().len() * self.graph.shape().summands() as usize;
            let action = &self.graph.symmetries()[symmetry].action;
            let (target, odd) = match self.listed {
                Some(_) => (&action.axes, false),
                None => (&action.colours, self.graph.is_odd(source)),
            };
            transform.odd = odd;
            transform.target.clear();
            transform.target.extend_from_slice(target);
            transform.maps.clear();
            transform.maps.extend_from_slice(&known[..maps]);
            transform.summands.clear();
            transform.summands.extend_from_slice(&known[maps..]);
            return;
        }
        self.make_room();
        if let Some(listed) = &mut self.listed {
            listed.actions.read_move(self.graph, coset, mv);
            self.fill_listed(source, coset, symmetry, transform);
        } else {
            let cells = &self.graph.space().incoming_moves()[mv].cells;
            let through = &self.graph.symmetries()[symmetry].symmetry.cells;
            self.fill(source, coset, symmetry, |cell| cells[usize::from(through[cell])], transform);
        }
        if let Some(entries) = entries {
            if self.of_arrivals.len() < entries.end {
                self.of_arrivals.resize(entries.end, UNKNOWN);
            }
            let (maps, summands) = self.of_arrivals[entries].split_at_mut(transform.maps.len());
            maps.copy_from_slice(&transform.maps);
            summands.copy_from_slice(&transform.summands);
        }
    }

    /// Returns the number of an arrival, which determines its maps. `None` if arrivals are not numbered,
    /// because they are too many.
    #[inline]
    fn number_of(&self, coset: CosetId, mv: usize) -> Option<usize> {
        if let Some(element) = self.graph.frames().element(self.graph, coset, mv) {
            return Some(element as usize);
        }
        let (cosets, moves) = (self.graph.len() as usize, self.graph.space().incoming_moves().len());
        let is_small = cosets * moves * self.entries <= MAX_OF_ARRIVALS;
        is_small.then_some(coset.0 as usize * moves + mv)
    }

    /// Writes the transform of a coset to itself by a symmetry of its [`CosetGraph::stabiliser`].
    pub fn of_symmetry(&mut self, coset: CosetId, symmetry: usize, transform: &mut Transform) {
        self.make_room();
        if let Some(listed) = &mut self.listed {
            listed.actions.read_symmetry(self.graph, coset, symmetry);
            return self.fill_listed(coset, coset, symmetry, transform);
        }
        let through = &self.graph.symmetries()[symmetry].symmetry.cells;
        self.fill(coset, coset, symmetry, |cell| through[cell], transform);
    }

    /// Writes the transform that `actions` has read.
    fn fill_listed(&mut self, source: CosetId, coset: CosetId, symmetry: usize, transform: &mut Transform) {
        let listed = self.listed.as_mut().expect("the axes hold only what is reached");
        let frames = self.graph.frames();
        listed.actions.between_carried(frames, source, coset);
        transform.odd = false;
        transform.target.clear();
        transform.target.extend_from_slice(&self.graph.symmetries()[symmetry].action.axes);
        listed.firsts.clear();
        for axis in 0..transform.target.len() {
            let frame = frames.number(source, axis);
            let (target, key) = listed.actions.key(symmetry, axis, frame);
            let first = match listed.numbers.get(key) {
                Some(&number) => number,
                None => {
                    let number = listed.images.len() as u32;
                    listed.numbers.insert(key.into(), number);
                    let (from, to) =
                        (frames.list(axis, frame), frames.list(target, frames.number(coset, target)));
                    for (class, map) in listed.actions.maps(symmetry, axis, from, to) {
                        let hash = |map: &AxisMap| FxBuildHasher.hash_one(&map.to);
                        let maps = &mut self.maps;
                        let known = listed.known.find(hash(&map), |&number| maps[number as usize] == map);
                        let number = known.copied().unwrap_or_else(|| {
                            self.bytes += map_bytes(map.to.len() as u32);
                            let number = maps.len() as u32;
                            maps.push(map);
                            let of = |&number: &u32| hash(&maps[number as usize]);
                            listed.known.insert_unique(of(&number), number, of);
                            number
                        });
                        listed.images.push((class, number));
                    }
                    number
                }
            };
            listed.firsts.push(first);
        }
        transform.maps.clear();
        transform.summands.clear();
        let [from, to] = [source, coset].map(|coset| frames.summands(coset));
        for summand in from.iter() {
            listed.classes.clear();
            listed.classes.resize(summand.len(), 0);
            for ((&class, &first), &target) in summand.iter().zip(&listed.firsts).zip(&transform.target) {
                let (class, map) = listed.images[first as usize + usize::from(class)];
                listed.classes[usize::from(target)] = class;
                transform.maps.push(map);
            }
            if from.len() > 1 {
                let number = to.number(&listed.classes);
                transform.summands.push(number.expect("transforms map summands to summands"));
            }
        }
    }

    fn fill(
        &mut self,
        source: CosetId,
        coset: CosetId,
        symmetry: usize,
        goes_to: impl Fn(usize) -> Cell,
        transform: &mut Transform,
    ) {
        let symbols = self.graph.colouring().symbols();
        if self.prepared != Some(coset) {
            self.counts.fill(0);
            for (place, &letter) in self.places.iter_mut().zip(self.graph.pattern(coset)) {
                let count = &mut self.counts[usize::from(symbols.mark(letter))];
                *place = *count;
                *count += 1;
            }
            self.prepared = Some(coset);
        }
        // The place permutation of each colour, with five bits for each place. Places beyond [`Colouring::MAX_COLOUR`]
        // exist only in colours with a single arrangement, for which the code does not matter.
        self.counts.fill(0);
        self.codes.fill(0);
        for (cell, &letter) in self.graph.pattern(source).iter().enumerate() {
            let colour = usize::from(symbols.mark(letter));
            let place = u128::from(self.places[usize::from(goes_to(cell))]);
            self.codes[colour] |= place.checked_shl(5 * u32::from(self.counts[colour])).unwrap_or(0);
            self.counts[colour] += 1;
        }
        transform.odd = self.graph.is_odd(source);
        transform.summands.clear();
        transform.target.clear();
        transform.target.extend_from_slice(&self.graph.symmetries()[symmetry].action.colours);
        transform.maps.clear();
        for colour in 0..self.codes.len() {
            let number = self.number(symmetry, colour);
            transform.maps.push(number);
        }
    }

    /// Returns the number of the map along one axis. The map is computed when it is first needed.
    fn number(&mut self, symmetry: usize, colour: usize) -> u32 {
        let axes = self.graph.colouring().axes();
        let code = if axes[colour].total() == 1 { 0 } else { self.codes[colour] };
        let key = (self.renamings[symmetry][colour], code);
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let s = &self.graph.symmetries()[symmetry];
        let renaming = renaming(self.graph, &s.symmetry.labels, colour);
        let map = axis_map(&axes[colour], &axes[usize::from(s.action.colours[colour])], code, &renaming);
        let number = self.maps.len() as u32;
        self.bytes += map_bytes(map.to.len() as u32);
        self.maps.push(map);
        self.numbers.insert(key, number);
        number
    }
}

/// Returns the renaming of the local labels of a colour by an action on labels.
fn renaming(graph: &CosetGraph, labels: &[u8], colour: usize) -> Vec<u8> {
    let colouring = graph.colouring();
    (0..colouring.axes()[colour].counts().len() as u8)
        .map(|local| colouring.local(labels[usize::from(colouring.label(colour as u8, local))]))
        .collect()
}

/// Returns the map from the words of `from` to those of `to` that moves place j to place `code >> 5j & 31`
/// and renames symbols.
fn axis_map(from: &MultisetRanker, to: &MultisetRanker, code: u128, renaming: &[u8]) -> AxisMap {
    if from.total() == 1 {
        return AxisMap::new(vec![0]);
    }
    let mut word = vec![0; from.length()];
    from.unrank(0, &mut word);
    let mut image = vec![0; from.length()];
    let mut images = Vec::with_capacity(from.total() as usize);
    loop {
        for (place, &letter) in word.iter().enumerate() {
            image[(code >> (5 * place) & 31) as usize] = renaming[usize::from(letter)];
        }
        images.push(to.rank(image.iter().copied()) as u32);
        if !advance(&mut word) {
            return AxisMap::new(images);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Colouring;

    /// All places of the largest colour are turned by one; the two symbols are exchanged.
    #[test]
    fn all_places_of_the_largest_colour_are_permuted() {
        const PLACES: usize = Colouring::MAX_COLOUR;
        let (from, to) = (MultisetRanker::new(&[22, 2]).unwrap(), MultisetRanker::new(&[2, 22]).unwrap());
        let code = (0..PLACES).map(|place| ((place + 1) as u128 % PLACES as u128) << (5 * place)).sum();
        let map = axis_map(&from, &to, code, &[1, 0]);
        let (mut word, mut image) = ([0; PLACES], [0; PLACES]);
        for (rank, &mapped) in map.to.iter().enumerate() {
            from.unrank(rank as u64, &mut word);
            to.unrank(mapped.into(), &mut image);
            word.rotate_right(1);
            assert_eq!(image, word.map(|symbol| 1 - symbol));
        }
    }
}
