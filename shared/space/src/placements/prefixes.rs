//! Which beginnings of words moves reach.

use crate::Space;
use crate::hidden::Hidden;
use fathom_algebra::{Permutation, StabiliserChain};

/// Tells of the beginnings of words whether moves reach a word that begins so.
///
/// A word of pieces that all differ is an element of the group, and what stands on a cell is what its inverse
/// makes of a point of that cell. A chain of stabilisers along these points tells which images are possible
/// for each when those before are given: what carries the images of the points before back must carry the
/// image of any point into the orbit of that point under the elements that fix those before.
#[derive(Debug)]
pub(super) struct Prefixes {
    /// By level and point: where in `tables` that begins which brings the point back to the base point,
    /// without moving those before; [`OUT_OF_REACH`] if nothing does.
    back: Vec<u32>,
    /// Permutations of points.
    tables: Vec<u8>,
    /// By level and point: the smallest point of its orbit under what fixes the base points before.
    orbits: Vec<u8>,
    /// By level: the cell, and the number of cells of its ring, or 1.
    cells: Vec<(usize, usize)>,
    /// By cell: its first point, and the number of its points.
    points: Vec<(usize, usize)>,
    /// By label: the cell where its piece belongs.
    home: Vec<usize>,
    /// By cell.
    in_ring: Vec<bool>,
    degree: usize,
}

const OUT_OF_REACH: u32 = u32::MAX;

/// What is known of the beginning of a word.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// How many levels are known.
    levels: usize,
    /// By level: what carries the base points before it back, as a permutation of points.
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
    /// Chains of larger degree take longer than they save, and points are bytes.
    const MOST_POINTS: usize = 256;

    /// Where moves reach at least one of so many words, too little is gained.
    const WORTH: u64 = 2;

    /// `None` where words are no elements of a group, or where moves reach most of them.
    pub(super) fn new(space: &Space) -> Option<Self> {
        let shows_all =
            |(cell, &label): (usize, &u8)| u16::from(space.letters().seen(label)) == space.order(cell);
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
            && !space.is_guarded()
            && labels.iter().enumerate().all(shows_all)
            && points.last().is_some_and(|(first, size)| first + size <= Self::MOST_POINTS);
        if !fits {
            return None;
        }
        let cells = (0..space.cells()).filter_map(|cell| match space.rings().ring(cell) {
            None => Some((cell, 1)),
            Some((first, size)) => (cell == first).then_some((cell, size)),
        });
        let cells: Vec<(usize, usize)> = cells.collect();
        let in_ring = (0..space.cells()).map(|cell| space.rings().ring(cell).is_some()).collect();
        let mut home = vec![0; space.labels().sizes().len()];
        for (cell, &label) in labels.iter().enumerate().rev() {
            home[usize::from(label)] = cell;
        }
        let base: Vec<usize> = cells.iter().map(|&(cell, _)| points[cell].0).collect();
        let chain = Hidden::whole(space).along(&base);
        let degree = points.iter().map(|&(_, size)| size).sum();
        let (mut back, mut tables) = (Vec::new(), Vec::new());
        for (level, point) in (0..cells.len()).flat_map(|level| (0..degree).map(move |point| (level, point)))
        {
            let Some(carrier) = chain.carrier(level, point) else {
                back.push(OUT_OF_REACH);
                continue;
            };
            back.push(tables.len() as u32);
            tables.extend(carrier.inverse().images().iter().map(|&image| image as u8));
        }
        let orbits = (0..=cells.len()).flat_map(|level| orbits(&chain, &base[..level], degree)).collect();
        Some(Self { back, tables, orbits, cells, points, home, in_ring, degree })
    }

    /// What is known before any cell is.
    pub(super) fn start(&self) -> Path {
        let identity = (0..self.degree).map(|point| point as u8);
        let mut back: Vec<u8> = identity.collect();
        back.resize((self.cells.len() + 1) * self.degree, 0);
        Path { levels: 0, back }
    }

    /// Whether moves reach a word that has these letters on the cells before the first open one. `path` is
    /// what is known of the first of these cells, and what follows from more cells is added. Where that rules
    /// out what stands on a cell behind, the answer is no as well.
    pub(super) fn allow(&self, space: &Space, word: &[Option<u8>], path: &mut Path) -> bool {
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
            || (behind..word.len())
                .all(|cell| word[cell].is_none_or(|letter| self.allows(space, path, cell, letter)))
    }

    /// Whether moves reach a word that begins as `path` says and has a letter on a cell behind. That is not
    /// known of cells of a ring.
    #[inline]
    pub(super) fn allows(&self, space: &Space, path: &Path, cell: usize, letter: u8) -> bool {
        if self.in_ring[cell] {
            return true;
        }
        let first = path.levels * self.degree;
        let image = path.back[first + self.image_of(space, letter)];
        self.orbits[first + usize::from(image)] == self.orbits[first + self.points[cell].0]
    }

    /// Where what brings the image of the next base point back begins.
    #[inline]
    fn table(&self, path: &Path, image: usize) -> u32 {
        let first = path.levels * self.degree;
        self.back[first + usize::from(path.back[first + image])]
    }

    /// The point to which the inverse of a word carries the base point of a level; `None` if it is open.
    fn image(&self, space: &Space, word: &[Option<u8>], level: usize) -> Option<usize> {
        let (cell, size) = self.cells[level];
        if size == 1 {
            return word[cell].map(|letter| self.image_of(space, letter));
        }
        // The mark went round the ring, and the inverse brings it back.
        let at = (0..size).find(|at| word[cell + at] == Some(space.solved()[cell]))?;
        Some(self.points[cell + (size - at) % size].0)
    }

    /// The point to which the inverse of a word carries the first point of a cell with this letter.
    #[inline]
    fn image_of(&self, space: &Space, letter: u8) -> usize {
        let (first, orders) = self.points[self.home[usize::from(space.letters().mark(letter))]];
        first + (orders - usize::from(space.letters().orientation(letter))) % orders
    }
}

/// By point: the smallest point of its orbit under the elements of a chain that fix these base points.
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
