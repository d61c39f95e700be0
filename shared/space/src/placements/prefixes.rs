//! Prefixes of the words that moves can reach.

use super::OPEN;
use crate::Space;
use crate::colouring::PatternStabiliser;
use fathom_algebra::{Permutation, StabiliserChain};

/// Determines whether a word with a given beginning is reachable.
///
/// A word of pieces that all differ is an element of the group, and the symbol on a cell determines to which
/// point the inverse of the element carries a point of that cell. A chain of stabilisers along these points
/// shows which images are possible for each point, given the images of the points before: an element that
/// carries those images back must carry the image of the point into the orbit of the point under the elements
/// that fix the points before.
#[derive(Debug)]
pub(super) struct Prefixes {
    /// By level and point: the offset in `tables` of the permutation that carries the point back to the base
    /// point and fixes the base points before, or [`OUT_OF_REACH`] if there is none.
    back: Vec<u32>,
    /// Permutations of points, concatenated.
    tables: Vec<u8>,
    /// By level and point: the smallest point of its orbit under the elements that fix the base points
    /// before.
    orbits: Vec<u8>,
    /// By level: the cell, and the number of cells of its ring, or 1 if it is on none.
    cells: Vec<(usize, usize)>,
    /// By cell: its first point, and the number of its points.
    points: Vec<(usize, usize)>,
    /// By symbol: the point to which the inverse of a word carries the first point of a cell with this
    /// symbol.
    images: Vec<u8>,
    /// By cell: whether it is on a ring.
    in_ring: Vec<bool>,
    degree: usize,
}

const OUT_OF_REACH: u32 = u32::MAX;

/// What is known about the beginning of a word.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// The number of levels that are known.
    levels: usize,
    /// By level: the permutation of points that carries the images of the base points before back.
    back: Vec<u8>,
}

impl Path {
    pub(super) fn levels(&self) -> usize {
        self.levels
    }

    /// Forgets all but the first levels.
    pub(super) fn truncate(&mut self, levels: usize) {
        self.levels = levels;
    }
}

impl Prefixes {
    /// The largest number of points. A chain on more points takes more time than it saves, and points are
    /// stored as bytes.
    const MAX_POINTS: usize = 256;

    /// Prefixes rule out too little if moves reach at least one of this number of words.
    const WORTH: u64 = 2;

    /// Creates the chain of a space. Returns `None` if words are not elements of a group, if there are too
    /// many points, or if moves reach most words.
    pub(super) fn new(space: &Space) -> Option<Self> {
        let shows_all =
            |(cell, &label): (usize, &u8)| u16::from(space.symbols().seen(label)) == space.order(cell);
        let labels = space.labels().of_pieces();
        let starts = (0..space.cells()).scan(0, |next, cell| {
            let first = *next;
            *next += usize::from(space.order(cell));
            Some((first, usize::from(space.order(cell))))
        });
        let points: Vec<(usize, usize)> = starts.collect();
        let most_are_reached = space
            .ranks()
            .is_some_and(|words| space.states() * space.free_order() * Self::WORTH >= words.total().into());
        let fits = !most_are_reached
            && space.piece_labels().are_distinct()
            && !space.tells_only_some()
            && !space.is_guarded()
            && labels.iter().enumerate().all(shows_all)
            && points.last().is_some_and(|(first, size)| first + size <= Self::MAX_POINTS);
        if !fits {
            return None;
        }
        let cells = (0..space.cells()).filter_map(|cell| match space.ring(cell) {
            None => Some((cell, 1)),
            Some((first, size)) => (cell == first).then_some((cell, size)),
        });
        let cells: Vec<(usize, usize)> = cells.collect();
        let in_ring = (0..space.cells()).map(|cell| space.ring(cell).is_some()).collect();
        let mut home = vec![0; space.labels().sizes().len()];
        for (cell, &label) in labels.iter().enumerate().rev() {
            home[usize::from(label)] = cell;
        }
        let symbols = space.symbols();
        let image_of = |letter: u8| {
            let (first, orientation_counts) = points[home[usize::from(symbols.mark(letter))]];
            let orientation = usize::from(symbols.orientation(letter));
            // A symbol of an orientation that its mark does not show is on no cell.
            (first + orientation_counts.saturating_sub(orientation) % orientation_counts) as u8
        };
        let images = (0..symbols.count()).map(|letter| image_of(letter as u8)).collect();
        let base: Vec<usize> = cells.iter().map(|&(cell, _)| points[cell].0).collect();
        let chain = PatternStabiliser::whole(space).along(&base);
        let degree = points.iter().map(|&(_, size)| size).sum();
        let (mut back, mut tables) = (Vec::new(), Vec::new());
        for (level, point) in (0..cells.len()).flat_map(|level| (0..degree).map(move |point| (level, point)))
        {
            let Some(carrier) = chain.transversal_element(level, point) else {
                back.push(OUT_OF_REACH);
                continue;
            };
            back.push(tables.len() as u32);
            tables.extend(carrier.inverse().images().iter().map(|&image| image as u8));
        }
        let orbits = (0..=cells.len()).flat_map(|level| orbits(&chain, &base[..level], degree)).collect();
        Some(Self { back, tables, orbits, cells, points, images, in_ring, degree })
    }

    /// Returns the state of knowledge before any cell is filled.
    pub(super) fn start(&self) -> Path {
        let identity = (0..self.degree).map(|point| point as u8);
        let mut back: Vec<u8> = identity.collect();
        back.resize((self.cells.len() + 1) * self.degree, 0);
        Path { levels: 0, back }
    }

    /// Returns whether moves reach a word that has these symbols on the cells before the first open one.
    /// `path` covers the first of these cells; what follows from the others is added to it.
    /// Also returns false if the symbols before the first open cell rule out a symbol after it.
    pub(super) fn allow(&self, space: &Space, word: &[u8], path: &mut Path) -> bool {
        let known = path.levels;
        while path.levels < self.cells.len() {
            let Some(image) = self.image(space, word, path.levels) else {
                break;
            };
            let table = self.table(path, image);
            if table == OUT_OF_REACH {
                return false;
            }
            let table = &self.tables[table as usize..][..self.degree];
            let (known, next) = path.back.split_at_mut((path.levels + 1) * self.degree);
            let known = &known[path.levels * self.degree..];
            for (next, &point) in next.iter_mut().zip(known) {
                *next = table[usize::from(point)];
            }
            path.levels += 1;
        }
        let behind = self.cells.get(path.levels).map_or(word.len(), |&(cell, _)| cell);
        path.levels == known
            || (behind..word.len()).all(|cell| word[cell] == OPEN || self.allows(path, cell, word[cell]))
    }

    /// Returns whether moves reach a word with the beginning of `path` and this symbol on a later cell.
    /// Always true for cells of a ring, for which the answer is not known.
    #[inline]
    pub(super) fn allows(&self, path: &Path, cell: usize, letter: u8) -> bool {
        if self.in_ring[cell] {
            return true;
        }
        let first = path.levels * self.degree;
        let image = path.back[first + usize::from(self.images[usize::from(letter)])];
        self.orbits[first + usize::from(image)] == self.orbits[first + self.points[cell].0]
    }

    /// Returns the entry of `back` for the permutation that carries the image of the next base point back.
    #[inline]
    fn table(&self, path: &Path, image: usize) -> u32 {
        let first = path.levels * self.degree;
        self.back[first + usize::from(path.back[first + image])]
    }

    /// Returns the point to which the inverse of a word carries the base point of a level; `None` if the cell
    /// is open.
    fn image(&self, space: &Space, word: &[u8], level: usize) -> Option<usize> {
        let (cell, size) = self.cells[level];
        if size == 1 {
            let letter = word[cell];
            return (letter != OPEN).then(|| usize::from(self.images[usize::from(letter)]));
        }
        // The mark has moved round the ring, and the inverse moves it back.
        let at = (0..size).find(|at| word[cell + at] == space.solved()[cell])?;
        Some(self.points[cell + (size - at) % size].0)
    }
}

/// Returns, by point, the smallest point of its orbit under the elements of a chain that fix the base points
/// `fixed`.
fn orbits(chain: &StabiliserChain, fixed: &[usize], degree: usize) -> Vec<u8> {
    let fixes = |generator: &&Permutation| fixed.iter().all(|&point| generator.apply(point) == point);
    let generators: Vec<&Permutation> = chain.strong_generators().into_iter().filter(fixes).collect();
    let mut orbits: Vec<Option<u8>> = vec![None; degree];
    for start in 0..degree {
        let mut open = vec![start];
        while let Some(point) = open.pop() {
            if orbits[point].is_none() {
                orbits[point] = Some(start as u8);
                open.extend(generators.iter().map(|generator| generator.apply(point)));
            }
        }
    }
    orbits.into_iter().flatten().collect()
}
