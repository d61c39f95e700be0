//! Transforms of axes that hold only what is reached.
//!
//! In each coset the words of an axis are a list of their own, its *frame* there. A transform carries the
//! words of one frame to those of another: it moves places, and turns and renames what stands on them. Frames
//! are numbered as they are found, from coset to coset along the moves; but a word's index is its number in
//! the frame of its coset in the order of words, so that addresses do not depend on how frames were found.
//!
//! Some groups have nearly as many frames as cosets: M24 with four points told by the pattern has 255,024
//! cosets, each with 960 words of its own. There each coset has an element of the group that carries the
//! words of the home coset, one of which is the solved one, to its own; the index of a word is the number of
//! the word from which it was carried. Frames are *carried* then. The maps are those of the few elements that
//! keep the home coset's pattern. That is done where no symmetries are in use, which would rename what is
//! carried.

mod carried;

use crate::axis::{Carry, Form, List, View};
use crate::colouring::Reached;
use crate::cosets::CosetSymmetry;
use crate::{AxisMap, Colouring, CosetError, CosetGraph, CosetId, Space};
use carried::{carriers, elements};
use rustc_hash::FxHashMap;

/// The frames of all axes in all representative cosets.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// By axis.
    lists: Box<[Vec<List>]>,
    /// By coset and axis; empty where frames are carried.
    of: Box<[u16]>,
    /// Where frames are carried: by coset, colour and place in the home coset, where that goes and how far
    /// it is turned.
    carriers: Box<[(u8, u8)]>,
    /// How many of those a coset has.
    cells: usize,
    /// Where frames are carried, and moves do few different things to indices: by coset and arrival, the
    /// number of what it does; [`NO_ELEMENT`] for arrivals that cannot be made.
    elements: Box<[u32]>,
}

const NO_ELEMENT: u32 = u32::MAX;

impl Frames {
    /// All frames together have no more words, or they are carried.
    pub(crate) const MOST_WORDS: usize = 1 << 22;
    const UNKNOWN: u16 = u16::MAX;

    /// Follows the moves from the solved coset.
    ///
    /// # Errors
    /// [`CosetError::TooManyFrames`].
    pub(crate) fn find(graph: &CosetGraph, most_words: usize) -> Result<Self, CosetError> {
        let Some(reached) = graph.colouring().reached() else {
            return Ok(Self::default());
        };
        let axes = reached.len();
        let cosets = graph.len() as usize;
        // Where moves lead to from each coset.
        let mut starts = vec![0_u32; cosets + 1];
        for coset in (0..graph.len()).map(CosetId) {
            for (_, source) in graph.sources(coset) {
                starts[source.0 as usize + 1] += 1;
            }
        }
        for coset in 0..cosets {
            starts[coset + 1] += starts[coset];
        }
        let mut ends = starts.clone();
        let mut leads = vec![(0_u32, 0_u32); starts[cosets] as usize];
        for coset in (0..graph.len()).map(CosetId) {
            for (mv, source) in graph.sources(coset) {
                let end = &mut ends[source.0 as usize];
                leads[*end as usize] = (coset.0, mv as u32);
                *end += 1;
            }
        }
        let has_all = |axis: &Reached| {
            let words = axis.list.words();
            axis.form.arrangements(words[0]) == Some(words.len() as u128)
        };
        let mut finder = Finder {
            graph,
            actions: Actions::new(graph),
            lists: vec![Vec::new(); axes],
            by_smallest: FxHashMap::default(),
            known: FxHashMap::default(),
            has_all: reached.iter().map(has_all).collect(),
            words: 0,
            most_words: usize::MAX,
        };
        let (first, to) = graph.home();
        // The list of the solved pattern, as it is; and what the symmetry to its representative makes of it.
        let solved: Vec<u16> = (0..axes)
            .map(|axis| finder.enter(axis, reached[axis].list.words().to_vec()))
            .collect::<Result<_, _>>()?;
        let leads = Leads { starts, leads };
        let images = finder.through_symmetry(to, &solved)?;
        // Those of the home coset are needed in any case.
        finder.most_words = most_words;
        match finder.follow(&leads, first, &images) {
            Ok(of) => Ok(Self {
                lists: finder.lists.into(),
                of,
                carriers: Box::default(),
                cells: graph.space().cells(),
                elements: Box::default(),
            }),
            Err(CosetError::TooManyFrames) if graph.symmetries().len() == 1 => {
                let home = finder.lists.into_iter().zip(images);
                let home = home.map(|(mut lists, number)| vec![lists.swap_remove(number.into())]);
                let (carriers, cells) = (carriers(graph, &leads, first), graph.space().cells());
                let lists = home.collect();
                let mut carried = Self { lists, carriers, cells, ..Self::default() };
                carried.elements = elements(graph, &carried).unwrap_or_default();
                Ok(carried)
            }
            Err(error) => Err(error),
        }
    }

    /// The number of what an arrival does to indices, if it has one.
    #[inline]
    pub(crate) fn element(&self, graph: &CosetGraph, coset: CosetId, mv: usize) -> Option<u32> {
        let arrivals = graph.space().incoming_moves().len();
        self.elements.get(coset.0 as usize * arrivals + mv).copied().filter(|&number| number != NO_ELEMENT)
    }

    /// The number of the frame of an axis in a coset; 0 where frames are carried.
    #[inline]
    pub(crate) fn number(&self, coset: CosetId, axis: usize) -> u16 {
        self.of.get(coset.0 as usize * self.lists.len() + axis).copied().unwrap_or(0)
    }

    /// A frame.
    #[inline]
    pub(crate) fn list(&self, axis: usize, number: u16) -> &List {
        &self.lists[axis][usize::from(number)]
    }

    /// The index of a word of an axis in a coset; `None` if it is not one of the words there.
    pub(crate) fn index(&self, graph: &CosetGraph, coset: CosetId, axis: usize, word: u128) -> Option<u32> {
        let word = self.carried(graph, coset, axis, word, false);
        self.list(axis, self.number(coset, axis)).number(word)
    }

    /// The word of an axis in a coset that has this index.
    pub(crate) fn word(&self, graph: &CosetGraph, coset: CosetId, axis: usize, index: u32) -> u128 {
        let word = self.list(axis, self.number(coset, axis)).words()[index as usize];
        self.carried(graph, coset, axis, word, true)
    }

    /// A word of the home coset carried to another one, or from there. The same word where frames are not
    /// carried.
    fn carried(&self, graph: &CosetGraph, coset: CosetId, axis: usize, word: u128, to: bool) -> u128 {
        let Some(carrier) = self.carrier(coset) else {
            return word;
        };
        let colouring = graph.colouring();
        let form = &colouring.reached().expect("frames are of what is reached")[axis].form;
        let mut carried = 0;
        for part in form.parts() {
            let first = colouring.first_place(part.component.colour);
            for (home, &(place, turn)) in carrier[first..first + part.places].iter().enumerate() {
                let (here, there) = (part.first + home, part.first + usize::from(place));
                let turn = turn % part.turns;
                let (from, at, turn) =
                    if to { (here, there, turn) } else { (there, here, part.turns - turn) };
                let symbol = form.at(word, from);
                let turned = symbol - symbol % part.turns + (symbol % part.turns + turn) % part.turns;
                carried |= form.symbol(at, turned);
            }
        }
        carried
    }

    /// What carries the home coset's frames to a coset's; `None` where frames are not carried.
    fn carrier(&self, coset: CosetId) -> Option<&[(u8, u8)]> {
        (!self.carriers.is_empty()).then(|| &self.carriers[coset.0 as usize * self.cells..][..self.cells])
    }
}

/// Where moves lead to from each coset.
struct Leads {
    /// By coset.
    starts: Vec<u32>,
    /// Cosets, and the moves.
    leads: Vec<(u32, u32)>,
}

impl Leads {
    fn from(&self, coset: u32) -> &[(u32, u32)] {
        &self.leads[self.starts[coset as usize] as usize..self.starts[coset as usize + 1] as usize]
    }
}

/// Finds frames.
struct Finder<'g> {
    graph: &'g CosetGraph,
    actions: Actions<'g>,
    lists: Vec<Vec<List>>,
    /// By axis and smallest word.
    by_smallest: FxHashMap<(usize, u128), Vec<u16>>,
    /// By the key of an action: the frame to which it leads.
    known: FxHashMap<Box<[u8]>, u16>,
    /// By axis: whether it has all words of its pieces.
    has_all: Vec<bool>,
    words: usize,
    most_words: usize,
}

impl Finder<'_> {
    /// The frame that has these words.
    fn enter(&mut self, axis: usize, words: Vec<u128>) -> Result<u16, CosetError> {
        let smallest = *words.iter().min().expect("a list has a word");
        let same = self.by_smallest.entry((axis, smallest)).or_default();
        for &number in &*same {
            let list = &self.lists[axis][usize::from(number)];
            if words.iter().all(|&word| list.number(word).is_some()) {
                return Ok(number);
            }
        }
        self.words += words.len();
        let number = self.lists[axis].len() as u16;
        if self.words > self.most_words || number == Frames::UNKNOWN {
            return Err(CosetError::TooManyFrames);
        }
        same.push(number);
        self.lists[axis].push(List::new(words));
        Ok(number)
    }

    /// The numbers of the frames of all cosets, by coset and axis, when those of one are known.
    fn follow(&mut self, leads: &Leads, first: CosetId, frames: &[u16]) -> Result<Box<[u16]>, CosetError> {
        let axes = frames.len();
        let mut of = vec![Frames::UNKNOWN; self.graph.len() as usize * axes];
        of[first.0 as usize * axes..][..axes].copy_from_slice(frames);
        let mut open = vec![first.0];
        while let Some(source) = open.pop() {
            let frames: Vec<u16> = of[source as usize * axes..][..axes].to_vec();
            for &(target, mv) in leads.from(source) {
                let known = &mut of[target as usize * axes..][..axes];
                if known[0] == Frames::UNKNOWN {
                    known.copy_from_slice(&self.through_move(CosetId(target), mv as usize, &frames)?);
                    open.push(target);
                }
            }
        }
        Ok(of.into())
    }

    fn through_symmetry(&mut self, symmetry: usize, frames: &[u16]) -> Result<Vec<u16>, CosetError> {
        let graph = self.graph;
        let through = &graph.symmetries()[symmetry].symmetry;
        let solved = graph.colouring().solved();
        let image = graph.image(symmetry, solved);
        self.actions.prepare(&image);
        self.actions.read(solved, |cell| (through.cells[cell], u16::from(through.turn(cell))));
        self.through(symmetry, frames)
    }

    fn through_move(&mut self, coset: CosetId, mv: usize, frames: &[u16]) -> Result<Vec<u16>, CosetError> {
        let symmetry = self.actions.read_move(self.graph, coset, mv);
        self.through(symmetry, frames)
    }

    fn through(&mut self, symmetry: usize, frames: &[u16]) -> Result<Vec<u16>, CosetError> {
        let mut images = vec![0; frames.len()];
        for (axis, &frame) in frames.iter().enumerate() {
            let (target, key) = self.actions.key(symmetry, axis, frame);
            // Where an axis has all words there is one frame alone.
            if self.has_all[target] {
                continue;
            }
            images[target] = match self.known.get(key) {
                Some(&number) => number,
                None => {
                    let key: Box<[u8]> = key.into();
                    let carry = self.actions.carry(symmetry, axis);
                    let form = &self.actions.reached[axis].form;
                    let words = self.lists[axis][usize::from(frame)].words();
                    let images = words.iter().map(|&word| carry.apply(form, word)).collect();
                    let number = self.enter(target, images)?;
                    self.known.insert(key, number);
                    number
                }
            };
        }
        Ok(images)
    }
}

/// What a transform does to the places of all axes: read for one transform after the other.
#[derive(Debug)]
pub(crate) struct Actions<'g> {
    space: &'g Space,
    colouring: &'g Colouring,
    symmetries: &'g [CosetSymmetry],
    reached: &'g [Reached],
    /// By symmetry, axis and component: the number of the renaming.
    renamings: Vec<Vec<Vec<u32>>>,
    /// Renamings of the symbols of a component.
    renamed: Vec<Box<[u8]>>,
    /// For each cell of the target its number among the cells of its colour.
    places: Vec<u8>,
    prepared: Option<CosetId>,
    /// By colour: where each of its cells goes, as the number among the cells of its colour, and how far it
    /// is turned.
    moved: Vec<Vec<(u8, u8)>>,
    /// By colour: the number of orientations on its cells.
    orders: Vec<u16>,
    counts: Vec<u8>,
    key: Vec<u8>,
    /// What is needed to go back to the home coset, so that nothing is allocated.
    home: Vec<(u8, u16)>,
    through: Vec<(u8, u8)>,
}

/// A turn by so much, of so many orientations.
#[inline]
fn turned(by: u16, order: u16) -> u8 {
    if order == 1 { 0 } else { (by % order) as u8 }
}

impl<'g> Actions<'g> {
    pub(crate) fn new(graph: &'g CosetGraph) -> Self {
        let (space, colouring) = (graph.space(), graph.colouring());
        let reached = colouring.reached().unwrap_or_default();
        let mut numbers: FxHashMap<Box<[u8]>, u32> = FxHashMap::default();
        let mut renamed = Vec::new();
        let mut number = |renaming: Box<[u8]>| {
            *numbers.entry(renaming).or_insert_with_key(|renaming| {
                renamed.push(renaming.clone());
                (renamed.len() - 1) as u32
            })
        };
        let renamings = graph.symmetries().iter().map(|s| {
            let of_axis = |axis: &Reached| {
                let parts = axis.form.parts().iter();
                parts
                    .map(|part| {
                        number(renaming(space, colouring, s, part.component.colour, part.component.view))
                    })
                    .collect()
            };
            reached.iter().map(of_axis).collect()
        });
        let order = |colour: u8| {
            let cell = colouring.of_pieces().iter().position(|&of_piece| of_piece == colour);
            space.order(cell.expect("every colour has a cell")).max(1)
        };
        Self {
            space,
            colouring,
            symmetries: graph.symmetries(),
            reached,
            renamings: renamings.collect(),
            renamed,
            places: vec![0; space.cells()],
            prepared: None,
            moved: vec![Vec::new(); colouring.colours()],
            orders: (0..colouring.colours() as u8).map(order).collect(),
            counts: vec![0; colouring.colours()],
            key: Vec::new(),
            home: Vec::new(),
            through: Vec::new(),
        }
    }

    /// Notes the pattern to which a transform leads.
    fn prepare(&mut self, pattern: &[u8]) {
        self.prepared = None;
        self.counts.fill(0);
        for (place, &letter) in self.places.iter_mut().zip(pattern) {
            let count = &mut self.counts[usize::from(self.colouring.letters().mark(letter))];
            *place = *count;
            *count += 1;
        }
    }

    fn prepare_coset(&mut self, graph: &CosetGraph, coset: CosetId) {
        if self.prepared != Some(coset) {
            self.prepare(graph.pattern(coset));
            self.prepared = Some(coset);
        }
    }

    /// Reads a transform of a source pattern of which it is known for each cell where what stands there goes,
    /// and by how much it is turned.
    fn read(&mut self, pattern: &[u8], goes_to: impl Fn(usize) -> (u8, u16)) {
        self.moved.iter_mut().for_each(Vec::clear);
        for (cell, &letter) in pattern.iter().enumerate() {
            let (to, turn) = goes_to(cell);
            let colour = usize::from(self.colouring.letters().mark(letter));
            let turn = turned(turn, self.orders[colour]);
            self.moved[colour].push((self.places[usize::from(to)], turn));
        }
    }

    /// Makes of the transform that was read what it does to indices where frames are carried: from the home
    /// coset to the source, through the transform, and back from the target.
    pub(crate) fn between_carried(&mut self, frames: &Frames, source: CosetId, target: CosetId) {
        let (Some(from), Some(to)) = (frames.carrier(source), frames.carrier(target)) else {
            return;
        };
        for colour in 0..self.moved.len() {
            let first = self.colouring.first_place(colour as u8);
            let order = self.orders[colour];
            let (moved, home) = (&mut self.moved[colour], &mut self.home);
            let (from, to) = (&from[first..][..moved.len()], &to[first..][..moved.len()]);
            home.resize(home.len().max(moved.len()), (0, 0));
            for (&(place, turn), number) in to.iter().zip(0..) {
                home[usize::from(place)] = (number, order - u16::from(turn));
            }
            self.through.clear();
            self.through.extend(from.iter().map(|&(place, turn)| {
                let (at, more) = moved[usize::from(place)];
                let (place, back) = home[usize::from(at)];
                (place, turned(u16::from(turn) + u16::from(more) + back, order))
            }));
            std::mem::swap(moved, &mut self.through);
        }
    }

    /// Reads the transform from the source of an arrival into a coset. Returns the number of the symmetry
    /// that comes first.
    pub(crate) fn read_move(&mut self, graph: &CosetGraph, coset: CosetId, mv: usize) -> usize {
        let (source, symmetry) = graph.source(coset, mv).expect("the move can be made");
        self.prepare_coset(graph, coset);
        let step = &self.space.incoming_moves()[mv];
        let through = &graph.symmetries()[symmetry].symmetry;
        self.read(graph.pattern(source), |cell| {
            let at = usize::from(through.cells[cell]);
            (step.cells[at], u16::from(through.turn(cell)) + u16::from(step.turn(at)))
        });
        symmetry
    }

    /// Reads the transform of a coset to itself by a symmetry of its stabiliser.
    pub(crate) fn read_symmetry(&mut self, graph: &CosetGraph, coset: CosetId, symmetry: usize) {
        self.prepare_coset(graph, coset);
        let through = &graph.symmetries()[symmetry].symmetry;
        self.read(graph.pattern(coset), |cell| (through.cells[cell], u16::from(through.turn(cell))));
    }

    /// The axis that an axis becomes, and a key of all that is done to the words of a frame of it.
    pub(crate) fn key(&mut self, symmetry: usize, axis: usize, frame: u16) -> (usize, &[u8]) {
        self.key.clear();
        self.key.push(axis as u8);
        self.key.extend(frame.to_le_bytes());
        // Where axes have the same renamings, the one that an axis becomes need not be the same.
        let target = self.symmetries[symmetry].action.axes[axis];
        self.key.push(target);
        for (part, &renaming) in self.reached[axis].form.parts().iter().zip(&self.renamings[symmetry][axis]) {
            let colour = part.component.colour;
            self.key.extend(renaming.to_le_bytes());
            self.key.push(self.symmetries[symmetry].action.colours[usize::from(colour)]);
            for &(place, turn) in &self.moved[usize::from(colour)] {
                self.key.push(place);
                if part.turns > 1 {
                    self.key.push(turn % part.turns);
                }
            }
        }
        (target.into(), &self.key)
    }

    /// What the transform that was read makes of the words of an axis.
    pub(crate) fn carry(&self, symmetry: usize, axis: usize) -> Carry {
        let action = &self.symmetries[symmetry].action;
        let from = &self.reached[axis].form;
        let to = &self.reached[usize::from(action.axes[axis])].form;
        let mut images: Vec<(usize, u8, &[u8], u8)> = Vec::with_capacity(from.places());
        for (part, &renaming) in from.parts().iter().zip(&self.renamings[symmetry][axis]) {
            let colour = action.colours[usize::from(part.component.colour)];
            let is_image = |other: &&crate::axis::Part| {
                other.component.colour == colour && other.component.view == part.component.view
            };
            let image =
                to.parts().iter().find(is_image).expect("symmetries in use map components to components");
            for &(place, turn) in &self.moved[usize::from(part.component.colour)] {
                let place = image.first + usize::from(place);
                images.push((place, turn % part.turns, &*self.renamed[renaming as usize], part.turns));
            }
        }
        Carry::new(from, to, |place, symbol| {
            let (to, turn, renamed, turns) = images[place];
            let symbol = renamed[usize::from(symbol)];
            (to, symbol - symbol % turns + (symbol % turns + turn) % turns)
        })
    }

    /// The form of an axis.
    fn form(&self, axis: usize) -> &'g Form {
        &self.reached[axis].form
    }

    /// The map of the indices of a frame of an axis to those of a frame of the axis that it becomes.
    pub(crate) fn map(&self, symmetry: usize, axis: usize, from: &List, to: &List) -> AxisMap {
        let carry = self.carry(symmetry, axis);
        let form = self.form(axis);
        let number =
            |&word: &u128| to.number(carry.apply(form, word)).expect("transforms map frames to frames");
        AxisMap::new(from.words().iter().map(number).collect())
    }
}

/// What a symmetry makes of the symbols of a component, before they are turned.
fn renaming(space: &Space, colouring: &Colouring, s: &CosetSymmetry, colour: u8, view: View) -> Box<[u8]> {
    let letters = space.letters();
    let labels = (0..space.labels().sizes().len() as u8).filter(|&label| colouring.of_label(label) == colour);
    let image = |label: u8, orientation: u8| {
        let to = s.symmetry.letters()[usize::from(letters.letter(label, orientation))];
        (colouring.local(letters.mark(to)), letters.orientation(to))
    };
    let labels: Vec<u8> = labels.collect();
    let seen = letters.seen(labels[0]);
    match view {
        View::Pieces => labels.iter().map(|&label| image(label, 0).0).collect(),
        View::Orientations => (0..seen).map(|orientation| image(labels[0], orientation).1).collect(),
        View::Both => {
            let of_label = |&label: &u8| (0..seen).map(move |orientation| image(label, orientation));
            labels.iter().flat_map(of_label).map(|(label, orientation)| label * seen + orientation).collect()
        }
    }
}
