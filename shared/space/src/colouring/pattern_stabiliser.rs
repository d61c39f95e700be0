//! The group H of all move sequences that keep the solved pattern, which permutes what a pattern leaves open.
//!
//! The states of a pattern are the images of one of them under H, so the words of an axis are an orbit of H.
//! A pattern is a list of sets, one for each colour: the cells of the colour with the orientations there. H
//! is the stabiliser of these sets, found one set after the other. The number of steps is a sum of the
//! numbers of patterns of single colours, which is small; listing all patterns would take the product of
//! these numbers.

use crate::axis::{Carry, Form, with_turn};
use crate::{Colouring, ColouringError, Space};
use fathom_algebra::{Permutation, Stabiliser, StabiliserChain};
use num_bigint::BigUint;
use rustc_hash::FxHashSet;

/// The group of a pattern, on points. Each cell has one point for each orientation.
#[derive(Clone, Debug)]
pub(crate) struct PatternStabiliser {
    group: Stabiliser,
    /// The number of patterns that moves reach.
    patterns: BigUint,
}

impl PatternStabiliser {
    /// Returns the whole group, for a pattern without information.
    pub(crate) fn whole(space: &Space) -> Self {
        let puzzle = space.puzzle();
        let actions = puzzle.moves.iter().map(|m| &m.action).chain(&puzzle.free);
        let mut generators: Vec<Permutation> = Vec::new();
        for generator in actions.map(|action| action.as_points()).filter(|action| !action.is_identity()) {
            if !generators.contains(&generator) {
                generators.push(generator);
            }
        }
        let points = (0..space.cells()).map(|cell| usize::from(space.order(cell))).sum();
        Self { group: Stabiliser::whole(points, generators), patterns: 1_u32.into() }
    }

    /// Returns the group of the solved pattern of a colouring.
    ///
    /// # Errors
    /// [`ColouringError`] if moves have guards, one colour has more than `most` patterns, or there are too
    /// many cells for the chain of so large a group.
    pub(crate) fn new(space: &Space, colouring: &Colouring, most: usize) -> Result<Self, ColouringError> {
        if space.is_guarded() {
            return Err(ColouringError::Guarded);
        }
        if !space.has_chains() {
            return Err(ColouringError::TooLarge);
        }
        let sets = (0..colouring.colours() as u8).map(|colour| Self::points(space, colouring, colour));
        let whole = Self::whole(space);
        sets.into_iter()
            .try_fold(whole, |hidden, set| hidden.keeping(&set, most))
            .ok_or(ColouringError::TooLarge)
    }

    /// Returns the points that represent a colour in the solved pattern: the cells of the colour, each
    /// with the orientations that look the same as in the solved state.
    fn points(space: &Space, colouring: &Colouring, colour: u8) -> Vec<usize> {
        let seen = u16::from(colouring.symbols().seen(colour));
        Self::points_of(space, seen, |cell| colouring.of_pieces()[cell] == colour)
    }

    /// Returns the points of some cells, each with every `seen`-th orientation.
    pub(crate) fn points_of(space: &Space, seen: u16, is_in: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut points = Vec::new();
        let mut first = 0;
        for cell in 0..space.cells() {
            let order = space.order(cell);
            if is_in(cell) {
                points.extend((0..order).step_by(seen.into()).map(|turn| first + usize::from(turn)));
            }
            first += usize::from(order);
        }
        points
    }

    /// Returns the group if the pattern also fixes a set of points. `None` if the set has more than `most`
    /// images.
    pub(crate) fn keeping(&self, set: &[usize], most: usize) -> Option<Self> {
        let (group, sets) = self.group.of_set(set, most)?;
        Some(Self { group, patterns: &self.patterns * sets })
    }

    /// Returns the chain of the group along a base that begins with these points.
    pub(crate) fn along(&self, base: &[usize]) -> StabiliserChain {
        self.group.along(base)
    }

    /// Returns the number of patterns that moves reach.
    pub(crate) fn patterns(&self) -> &BigUint {
        &self.patterns
    }

    /// Returns the words of an axis in the states of the solved pattern; `None` if there are more than
    /// `most`.
    pub(crate) fn words(
        &self,
        colouring: &Colouring,
        form: &Form,
        space: &Space,
        most: usize,
    ) -> Option<Vec<u128>> {
        /// Finding few generators takes as long as listing this number of words with all generators.
        const SHORT: usize = 1 << 10;
        let list = |generators: &[Permutation], most| Self::list(generators, colouring, form, space, most);
        let all = self.group.generators();
        list(all, most.min(SHORT)).or_else(|| match most > SHORT {
            true => list(&self.group.few_generators(), most),
            false => None,
        })
    }

    /// Returns the number of words of an axis without listing them. The count requires that elements of the
    /// group that differ on the cells of the axis give different words: the axis must distinguish all pieces,
    /// and all their orientations unless the pattern contains these. Otherwise returns `None`.
    pub(crate) fn count(&self, colouring: &Colouring, form: &Form, space: &Space) -> Option<BigUint> {
        let mut base = Vec::new();
        for part in form.parts() {
            let colour = part.component.colour;
            let is_here = |cell: &usize| colouring.of_pieces()[*cell] == colour;
            let cells: Vec<usize> = (0..space.cells()).filter(is_here).collect();
            let order = space.order(cells[0]);
            let all_told = u16::from(colouring.symbols().seen(colour)) == order
                || (part.component.view.has_orientations() && u16::from(part.turns) == order);
            let all_differ = cells.len() == 1 || usize::from(part.labels) == cells.len();
            if !all_told || !all_differ {
                return None;
            }
            base.extend(Self::points_of(space, order, |cell| colouring.of_pieces()[cell] == colour));
        }
        let chain = self.along(&base);
        Some(chain.orbit_lengths().take(base.len()).map(BigUint::from).product())
    }

    /// Lists the images of the solved word of an axis under generators. Returns `None` if there are more than
    /// `most`.
    fn list(
        generators: &[Permutation],
        colouring: &Colouring,
        form: &Form,
        space: &Space,
        most: usize,
    ) -> Option<Vec<u128>> {
        let cells_of =
            |colour: u8| (0..space.cells()).filter(move |&cell| colouring.of_pieces()[cell] == colour);
        let firsts: Vec<usize> = (0..space.cells())
            .scan(0, |next, cell| {
                let first = *next;
                *next += usize::from(space.order(cell));
                Some(first)
            })
            .collect();
        let carry = |generator: &Permutation| {
            let (mut places, mut turns) = (Vec::new(), Vec::new());
            for part in form.parts() {
                let cells: Vec<usize> = cells_of(part.component.colour).collect();
                for &cell in &cells {
                    let to = generator.apply(firsts[cell]);
                    let target = firsts.partition_point(|&first| first <= to) - 1;
                    let place = cells.iter().position(|&cell| cell == target).expect("the pattern is kept");
                    places.push(part.first + place);
                    turns.push((to - firsts[target]) % usize::from(part.turns));
                }
            }
            let part_of = |place: usize| {
                form.parts()
                    .iter()
                    .rfind(|part| part.first <= place && part.places > 0)
                    .expect("a place is in a part")
            };
            Carry::new(form, form, |place, symbol| {
                (places[place], with_turn(symbol, turns[place] as u8, part_of(place).turns))
            })
        };
        let carries: Vec<Carry> = generators.iter().map(carry).collect();
        let solved = form.parts().iter().flat_map(|part| {
            let local = |cell: usize| match part.component.view.has_pieces() {
                true => colouring.local(space.labels().of_pieces()[cell]) * part.turns,
                false => 0,
            };
            cells_of(part.component.colour).map(local).collect::<Vec<_>>()
        });
        let solved = solved.enumerate().fold(0, |word, (place, symbol)| word | form.symbol(place, symbol));
        let mut seen = FxHashSet::from_iter([solved]);
        let mut words = vec![solved];
        let mut next = 0;
        while next < words.len() {
            for carry in &carries {
                let image = carry.apply(form, words[next]);
                if seen.insert(image) {
                    words.push(image);
                }
            }
            if words.len() > most {
                return None;
            }
            next += 1;
        }
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AxisView, Labels};
    use fathom_puzzle::PuzzleSpec;

    fn space(word: &str) -> Space {
        let source = PuzzleSpec::by_name(word).unwrap();
        let puzzle = source.puzzle(source.metric()).unwrap();
        Space::new(puzzle, source.metric(), Labels::from_values(source.solved())).unwrap()
    }

    /// The expected lengths were computed by hand. A skewb with one corner fixed has 6 centres that are
    /// permuted evenly, 4 corners that are permuted evenly, and 3 corners that only turn.
    #[test]
    fn axis_lengths_match_group_orbits() {
        let space = space("skewb");
        let mut orbits: Vec<usize> = space.orbits().iter().map(|orbit| orbit.cells.len()).collect();
        orbits.sort_unstable();
        let colours: Vec<u8> = (0..space.cells())
            .map(|cell| space.orbits().iter().position(|o| o.cells.contains(&(cell as u16))).unwrap() as u8)
            .collect();
        let lengths = |suffix: &str| -> Vec<(usize, u32)> {
            let number = |colour: &usize| space.orbits()[*colour].cells.len() > 3;
            let colours_told = (0..space.orbits().len()).filter(number);
            let told = colours_told.map(|colour| {
                let turns = space.symbols().seen(space.orbits()[colour].labels[0]) > 1;
                let view =
                    format!("{colour}{}", if turns { suffix } else { "p" }).parse::<AxisView>().unwrap();
                (space.orbits()[colour].cells.len(), view)
            });
            let (sizes, views): (Vec<usize>, Vec<AxisView>) = told.unzip();
            let orientation_positions =
                (0..space.orbits().len()).filter(|colour| space.orbits()[*colour].cells.len() == 3);
            let orientation_positions =
                orientation_positions.map(|colour| format!("{colour}p").parse().unwrap());
            let views: Vec<AxisView> = views.into_iter().chain(orientation_positions).collect();
            let colouring = Colouring::with_axes(&colours, &views, &space).unwrap();
            let hidden = PatternStabiliser::new(&space, &colouring, Colouring::MAX_PATTERNS).unwrap();
            // All cells of a ring but one look alike, so `count` does not apply to rings.
            let distinct = views.iter().zip(colouring.lengths()).take(sizes.len());
            for (view, length) in distinct {
                let form = colouring.form(view, &space).unwrap();
                assert_eq!(hidden.count(&colouring, &form, &space), Some(length.into()), "{view}");
            }
            sizes.into_iter().zip(colouring.lengths()).collect()
        };
        assert!(orbits.ends_with(&[4, 6]), "{orbits:?}");
        let mut with_turns = lengths("b");
        with_turns.sort_unstable();
        assert_eq!(with_turns, [(4, 12 * 27), (6, 360)]);
        let mut without = lengths("p");
        without.sort_unstable();
        // With orientations in the pattern, the corners can only be permuted.
        assert_eq!(without, [(4, 12), (6, 360)]);
    }
}
