//! Transforms of axes that hold only reachable words.
//!
//! In each coset an axis has a list of words of its own, its *frame* there. A transform maps the words of one
//! frame to those of another: it moves places, and renames and turns the symbols on them. Frames are numbered
//! in the order of discovery, from coset to coset along the moves. The index of a word is its position in the
//! sorted frame of its coset, so that addresses do not depend on how frames were found.
//!
//! Some groups have nearly as many frames as cosets: M24 with four points fixed by the pattern has 255,024
//! cosets, each with 960 words of its own. In such a space frames are *carried*: each coset has an element of
//! the group that carries the words of the home coset, which is that of the solved state, to the words of the
//! coset. The index of a word is then the number of the word of the home coset from which it is carried, and
//! a map is the action of one of the few elements that keep the home coset's pattern. Frames are carried only
//! where no symmetries are in use, because symmetries would rename the words.
//!
//! Where axes are tied, the frame of an axis is in classes, and each coset has a list of its summands. A
//! transform maps classes to classes, and thereby summands to summands.

mod frames;

use crate::axis::{Carry, List, View, with_turn};
use crate::cells::Cell;
use crate::colouring::{ReachableAxis, Summands};
use crate::cosets::CosetSymmetry;
use crate::{AxisMap, Colouring, CosetError, CosetGraph, CosetId, Space};
use frames::{carriers, elements};
use rustc_hash::FxHashMap;

/// The frames of all axes in all representative cosets.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// By axis: the frames, by number. Where frames are carried, only the frame of the home coset.
    lists: Box<[Vec<List>]>,
    /// The lists of summands, by number. Where frames are carried, only the list of the home coset.
    summands: Box<[Summands]>,
    /// By coset: the number of the frame of each axis, and of the list of summands. Empty where frames are
    /// carried.
    of: Box<[u16]>,
    /// Where frames are carried, by coset, colour and place in the home coset: the place to which a symbol
    /// is carried, and its turn.
    carriers: Box<[(Cell, u8)]>,
    /// The number of entries of `carriers` for each coset.
    cells: usize,
    /// Where frames are carried and moves have few different actions on indices, by coset and arrival: the
    /// number of the action, or [`NO_ELEMENT`] if the move is not possible.
    elements: Box<[u32]>,
}

const NO_ELEMENT: u32 = u32::MAX;

impl Frames {
    /// The largest number of words of all frames together. If there are more, frames are carried.
    pub(crate) const MAX_WORDS: usize = 1 << 22;
    const UNKNOWN: u16 = u16::MAX;

    /// Finds the frames by following the moves from the solved coset. If the frames have more than
    /// `most_words` words, and no symmetries are in use, they are carried.
    ///
    /// # Errors
    /// [`CosetError::TooManyFrames`] if there are more words or frames, and symmetries are in use.
    pub(crate) fn find(graph: &CosetGraph, most_words: usize) -> Result<Self, CosetError> {
        let Some(reached) = graph.colouring().reached_axes() else {
            return Ok(Self::default());
        };
        let axes = reached.len();
        let cosets = graph.len() as usize;
        // Group the moves by the coset from which they lead.
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
        let has_all = |axis: &ReachableAxis| {
            let words = axis.list.words();
            // The classes of a tied axis could differ.
            axis.class == words.len() && axis.form.arrangements(words[0]) == Some(words.len() as u128)
        };
        let mut finder = Finder {
            graph,
            actions: Actions::new(graph),
            lists: vec![Vec::new(); axes],
            summands: Vec::new(),
            by_smallest: FxHashMap::default(),
            known: FxHashMap::default(),
            has_all: reached.iter().map(has_all).collect(),
            words: 0,
            most_words: usize::MAX,
        };
        let (first, to) = graph.home();
        // The frame of the solved pattern is known. The symmetry that leads to its representative maps this
        // frame to that of the home coset.
        let mut solved: Vec<u16> = (0..axes)
            .map(|axis| finder.enter(axis, reached[axis].list.words().to_vec()))
            .collect::<Result<_, _>>()?;
        solved.push(finder.enter_summands(graph.colouring().summands().clone())?);
        let leads = Leads { starts, leads };
        let images = finder.through_symmetry(to, &solved)?;
        // The limit is set only now, because the frames of the home coset are needed in any case.
        finder.most_words = most_words;
        match finder.follow(&leads, first, &images) {
            Ok(of) => Ok(Self {
                lists: finder.lists.into(),
                summands: finder.summands.into(),
                of,
                carriers: Box::default(),
                cells: graph.space().cells(),
                elements: Box::default(),
            }),
            Err(CosetError::TooManyFrames) if graph.symmetries().len() == 1 => {
                let summands = [finder.summands.swap_remove(images[axes].into())].into();
                let home = finder.lists.into_iter().zip(images);
                let home = home.map(|(mut lists, number)| vec![lists.swap_remove(number.into())]);
                let (carriers, cells) = (carriers(graph, &leads, first), graph.space().cells());
                let lists = home.collect();
                let mut carried = Self { lists, summands, carriers, cells, ..Self::default() };
                carried.elements = elements(graph, &carried).unwrap_or_default();
                Ok(carried)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the number of an arrival's action on indices; `None` if actions are not numbered, or the move
    /// is not possible.
    #[inline]
    pub(crate) fn element(&self, graph: &CosetGraph, coset: CosetId, mv: usize) -> Option<u32> {
        let incoming = graph.space().incoming_moves().len();
        self.elements.get(coset.0 as usize * incoming + mv).copied().filter(|&number| number != NO_ELEMENT)
    }

    /// Returns the number of the frame of an axis in a coset; 0 where frames are carried.
    #[inline]
    pub(crate) fn number(&self, coset: CosetId, axis: usize) -> u16 {
        self.of.get(coset.0 as usize * (self.lists.len() + 1) + axis).copied().unwrap_or(0)
    }

    /// Returns the summands of a coset.
    #[inline]
    pub(crate) fn summands(&self, coset: CosetId) -> &Summands {
        &self.summands[usize::from(self.number(coset, self.lists.len()))]
    }

    /// Returns a frame.
    #[inline]
    pub(crate) fn list(&self, axis: usize, number: u16) -> &List {
        &self.lists[axis][usize::from(number)]
    }

    /// Returns the index of a word of an axis in a coset; `None` if the frame does not have the word.
    pub(crate) fn index(&self, graph: &CosetGraph, coset: CosetId, axis: usize, word: u128) -> Option<u32> {
        let word = self.carried(graph, coset, axis, word, false);
        self.list(axis, self.number(coset, axis)).number(word)
    }

    /// Returns the word of an axis in a coset that has this index.
    pub(crate) fn word(&self, graph: &CosetGraph, coset: CosetId, axis: usize, index: u32) -> u128 {
        let word = self.list(axis, self.number(coset, axis)).words()[index as usize];
        self.carried(graph, coset, axis, word, true)
    }

    /// Carries a word from the home coset to `coset`, or from `coset` to the home coset if `to` is false.
    /// Returns the same word where frames are not carried.
    fn carried(&self, graph: &CosetGraph, coset: CosetId, axis: usize, word: u128, to: bool) -> u128 {
        let Some(carrier) = self.carrier(coset) else {
            return word;
        };
        let colouring = graph.colouring();
        let form = &colouring.reached_axes().expect("frames are of what is reached")[axis].form;
        let mut carried = 0;
        for part in form.parts() {
            let first = colouring.first_place(part.component.colour);
            for (home, &(place, turn)) in carrier[first..first + part.places].iter().enumerate() {
                let (here, there) = (part.first + home, part.first + usize::from(place));
                let turn = turn % part.turns;
                let (from, at, turn) =
                    if to { (here, there, turn) } else { (there, here, part.turns - turn) };
                carried |= form.symbol(at, with_turn(form.at(word, from), turn, part.turns));
            }
        }
        carried
    }

    /// Returns what carries the home coset's frames to those of `coset`; `None` where frames are not carried.
    fn carrier(&self, coset: CosetId) -> Option<&[(Cell, u8)]> {
        (!self.carriers.is_empty()).then(|| &self.carriers[coset.0 as usize * self.cells..][..self.cells])
    }
}

/// The moves that lead out of each coset.
struct Leads {
    /// By coset: the index of its first entry in `leads`.
    starts: Vec<u32>,
    /// Target cosets, and the numbers of the arrivals.
    leads: Vec<(u32, u32)>,
}

impl Leads {
    fn from(&self, coset: u32) -> &[(u32, u32)] {
        &self.leads[self.starts[coset as usize] as usize..self.starts[coset as usize + 1] as usize]
    }
}

/// The frame to which an action leads, and the image of each class.
type Images = (u16, Box<[u8]>);

/// Finds the frames of all cosets.
struct Finder<'g> {
    graph: &'g CosetGraph,
    actions: Actions<'g>,
    lists: Vec<Vec<List>>,
    summands: Vec<Summands>,
    /// By axis and smallest word: the numbers of the frames.
    by_smallest: FxHashMap<(usize, u128), Vec<u16>>,
    /// By the key of an action.
    known: FxHashMap<Box<[u8]>, Images>,
    /// By axis: whether all words with its pieces are reachable, so that the axis has a single frame.
    has_all: Vec<bool>,
    words: usize,
    most_words: usize,
}

impl Finder<'_> {
    /// Returns the frame that has these words, class by class. A new frame is entered.
    fn enter(&mut self, axis: usize, words: Vec<u128>) -> Result<u16, CosetError> {
        let smallest = *words.iter().min().expect("a list has a word");
        let class = self.actions.reached[axis].class;
        let same = self.by_smallest.entry((axis, smallest)).or_default();
        for &number in &*same {
            let list = &self.lists[axis][usize::from(number)];
            let class_of = |&word: &u128| list.number(word).map(|number| number as usize / class);
            let is_class = |words: &[u128]| {
                let first = class_of(&words[0]);
                first.is_some() && words.iter().all(|word| class_of(word) == first)
            };
            if words.chunks_exact(class).all(is_class) {
                return Ok(number);
            }
        }
        self.words += words.len();
        let number = self.lists[axis].len() as u16;
        if self.words > self.most_words || number == Frames::UNKNOWN {
            return Err(CosetError::TooManyFrames);
        }
        same.push(number);
        self.lists[axis].push(List::new(words, class));
        Ok(number)
    }

    /// Returns the number of a list of summands. A new list is entered.
    fn enter_summands(&mut self, summands: Summands) -> Result<u16, CosetError> {
        let known = self.summands.iter().position(|known| *known == summands);
        let number = known.unwrap_or_else(|| {
            self.summands.push(summands);
            self.summands.len() - 1
        });
        // Lists of summands are compared one by one.
        const MOST: usize = 1 << 10;
        if number < MOST { Ok(number as u16) } else { Err(CosetError::TooManyFrames) }
    }

    /// Returns the numbers of the frames of all cosets, as in [`Frames`], given `frames`, those of coset
    /// `first`.
    fn follow(&mut self, leads: &Leads, first: CosetId, frames: &[u16]) -> Result<Box<[u16]>, CosetError> {
        let entries = frames.len();
        let mut of = vec![Frames::UNKNOWN; self.graph.len() as usize * entries];
        of[first.0 as usize * entries..][..entries].copy_from_slice(frames);
        let mut open = vec![first.0];
        while let Some(source) = open.pop() {
            let frames: Vec<u16> = of[source as usize * entries..][..entries].to_vec();
            for &(target, mv) in leads.from(source) {
                let known = &mut of[target as usize * entries..][..entries];
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
        let (&of_summands, frames) = frames.split_last().expect("the list of summands is the last entry");
        let mut images = vec![0; frames.len() + 1];
        // By source axis: its target, and the image of each class.
        let mut classes: Vec<(usize, Box<[u8]>)> = Vec::with_capacity(frames.len());
        for (axis, &frame) in frames.iter().enumerate() {
            let (target, key) = self.actions.key(symmetry, axis, frame);
            // An axis that has all words has a single frame.
            if self.has_all[target] {
                classes.push((target, [0].into()));
                continue;
            }
            if let Some((number, of_classes)) = self.known.get(key) {
                images[target] = *number;
                classes.push((target, of_classes.clone()));
                continue;
            }
            let key: Box<[u8]> = key.into();
            let carry = self.actions.carry(symmetry, axis);
            let ReachableAxis { form, class, .. } = &self.actions.reached[axis];
            let words = self.lists[axis][usize::from(frame)].words();
            let carried: Vec<u128> = words.iter().map(|&word| carry.apply(form, word)).collect();
            let firsts: Vec<u128> = carried.iter().step_by(*class).copied().collect();
            let number = self.enter(target, carried)?;
            let list = &self.lists[target][usize::from(number)];
            let class_of = |&word: &u128| list.number(word).map(|word| (word as usize / class) as u8);
            let of_classes: Box<[u8]> =
                firsts.iter().map(|word| class_of(word).expect("the list has the words")).collect();
            self.known.insert(key, (number, of_classes.clone()));
            images[target] = number;
            classes.push((target, of_classes));
        }
        let summands = &self.summands[usize::from(of_summands)];
        let carried = summands.iter().map(|summand| {
            let mut image: Box<[u8]> = vec![0; summand.len()].into();
            for (&class, (target, of_classes)) in summand.iter().zip(&classes) {
                image[*target] = of_classes[usize::from(class)];
            }
            image
        });
        let carried = Summands::new(carried.collect());
        images[frames.len()] = self.enter_summands(carried)?;
        Ok(images)
    }
}

/// The action of a transform on the places of all axes. The buffers serve one transform after the other.
#[derive(Debug)]
pub(crate) struct Actions<'g> {
    space: &'g Space,
    colouring: &'g Colouring,
    symmetries: &'g [CosetSymmetry],
    reached: &'g [ReachableAxis],
    /// By symmetry, axis and component: the number of the renaming in `renamed`.
    renamings: Vec<Vec<Vec<u32>>>,
    /// Renamings of the symbols of a component.
    renamed: Vec<Box<[u8]>>,
    /// For each cell of the target: its number among the cells of its colour.
    places: Vec<Cell>,
    prepared: Option<CosetId>,
    /// By colour, for each of its cells: the cell to which the symbol goes, as a number among the cells of
    /// the colour there, and its turn.
    moved: Vec<Vec<(Cell, u8)>>,
    /// By colour: the number of orientations on its cells.
    orientation_counts: Vec<u16>,
    counts: Vec<Cell>,
    key: Vec<u8>,
    /// Whether places take two bytes of a key.
    is_wide: bool,
    /// The buffers of [`Actions::between_carried`], so that the calls allocate nothing.
    home: Vec<(Cell, u16)>,
    through: Vec<(Cell, u8)>,
}

/// Returns the turn `by` modulo the number of orientations.
#[inline]
fn turned(by: u16, order: u16) -> u8 {
    if order == 1 { 0 } else { (by % order) as u8 }
}

impl<'g> Actions<'g> {
    pub(crate) fn new(graph: &'g CosetGraph) -> Self {
        let (space, colouring) = (graph.space(), graph.colouring());
        let reached = colouring.reached_axes().unwrap_or_default();
        let mut numbers: FxHashMap<Box<[u8]>, u32> = FxHashMap::default();
        let mut renamed = Vec::new();
        let mut number = |renaming: Box<[u8]>| {
            *numbers.entry(renaming).or_insert_with_key(|renaming| {
                renamed.push(renaming.clone());
                (renamed.len() - 1) as u32
            })
        };
        let renamings = graph.symmetries().iter().map(|s| {
            let of_axis = |axis: &ReachableAxis| {
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
            orientation_counts: (0..colouring.colours() as u8).map(order).collect(),
            counts: vec![0; colouring.colours()],
            key: Vec::new(),
            is_wide: space.cells() > 256,
            home: Vec::new(),
            through: Vec::new(),
        }
    }

    /// Sets the pattern to which the next transform leads.
    fn prepare(&mut self, pattern: &[u8]) {
        self.prepared = None;
        self.counts.fill(0);
        for (place, &letter) in self.places.iter_mut().zip(pattern) {
            let count = &mut self.counts[usize::from(self.colouring.symbols().mark(letter))];
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

    /// Reads a transform of the states of a source pattern. `goes_to` returns, for each cell, where its
    /// symbol goes and the turn of that symbol.
    fn read(&mut self, pattern: &[u8], goes_to: impl Fn(usize) -> (Cell, u16)) {
        self.moved.iter_mut().for_each(Vec::clear);
        for (cell, &letter) in pattern.iter().enumerate() {
            let (to, turn) = goes_to(cell);
            let colour = usize::from(self.colouring.symbols().mark(letter));
            let turn = turned(turn, self.orientation_counts[colour]);
            self.moved[colour].push((self.places[usize::from(to)], turn));
        }
    }

    /// Replaces the transform that was read by its action on indices where frames are carried: from the home
    /// coset to the source, through the transform, and back from the target. Does nothing where frames are
    /// not carried.
    pub(crate) fn between_carried(&mut self, frames: &Frames, source: CosetId, target: CosetId) {
        let (Some(from), Some(to)) = (frames.carrier(source), frames.carrier(target)) else {
            return;
        };
        for colour in 0..self.moved.len() {
            let first = self.colouring.first_place(colour as u8);
            let order = self.orientation_counts[colour];
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
    /// that acts first.
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

    /// Returns the axis that an axis becomes, and a key that determines the action on the words of one of its
    /// frames.
    pub(crate) fn key(&mut self, symmetry: usize, axis: usize, frame: u16) -> (usize, &[u8]) {
        self.key.clear();
        self.key.push(axis as u8);
        self.key.extend(frame.to_le_bytes());
        // Axes with the same renamings may become different axes.
        let target = self.symmetries[symmetry].action.axes[axis];
        self.key.push(target);
        for (part, &renaming) in self.reached[axis].form.parts().iter().zip(&self.renamings[symmetry][axis]) {
            let colour = part.component.colour;
            self.key.extend(renaming.to_le_bytes());
            self.key.push(self.symmetries[symmetry].action.colours[usize::from(colour)]);
            for &(place, turn) in &self.moved[usize::from(colour)] {
                self.key.push(place as u8);
                if self.is_wide {
                    self.key.push((place >> 8) as u8);
                }
                if part.turns > 1 {
                    self.key.push(turn % part.turns);
                }
            }
        }
        (target.into(), &self.key)
    }

    /// Returns the action of the transform that was read on the words of an axis.
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
            (to, with_turn(renamed[usize::from(symbol)], turn, turns))
        })
    }

    /// Returns, for each class of a frame of an axis, the class of a frame of the axis that it becomes, and
    /// the map from the indices of the one to those of the other.
    pub(crate) fn maps(&self, symmetry: usize, axis: usize, from: &List, to: &List) -> Vec<(u8, AxisMap)> {
        let carry = self.carry(symmetry, axis);
        let ReachableAxis { form, class, .. } = &self.reached[axis];
        let length = *class as u32;
        let number =
            |&word: &u128| to.number(carry.apply(form, word)).expect("transforms map frames to frames");
        let of_class = |words: &[u128]| {
            let image = number(&words[0]) / length;
            let index = |word| {
                let number = number(word);
                assert_eq!(number / length, image, "transforms map classes to classes");
                number % length
            };
            (image as u8, AxisMap::new(words.iter().map(index).collect()))
        };
        from.words().chunks_exact(*class).map(of_class).collect()
    }
}

/// Returns the action of a symmetry on the symbols of a component, before it turns them.
fn renaming(space: &Space, colouring: &Colouring, s: &CosetSymmetry, colour: u8, view: View) -> Box<[u8]> {
    let symbols = space.symbols();
    let labels = (0..space.labels().sizes().len() as u8).filter(|&label| colouring.of_label(label) == colour);
    let image = |label: u8, orientation: u8| {
        let to = s.symmetry.symbols()[usize::from(symbols.letter(label, orientation))];
        (colouring.local(symbols.mark(to)), symbols.orientation(to))
    };
    let labels: Vec<u8> = labels.collect();
    let seen = symbols.seen(labels[0]);
    match view {
        View::Pieces => labels.iter().map(|&label| image(label, 0).0).collect(),
        View::Orientations => (0..seen).map(|orientation| image(labels[0], orientation).1).collect(),
        View::Both => {
            let of_label = |&label: &u8| (0..seen).map(move |orientation| image(label, orientation));
            labels.iter().flat_map(of_label).map(|(label, orientation)| label * seen + orientation).collect()
        }
    }
}
