//! What a pattern leaves open: the group H of all that moves can do without changing the solved pattern.
//!
//! The states of a pattern are what H makes of one of them, so the words of an axis are an orbit of H. A
//! pattern is a list of sets, of the cells of each colour with the orientations there, so H is found as the
//! stabiliser of one set after the other. That takes as many steps as there are patterns of one colour at a
//! time, a small number, where listing all patterns would take their product.

use crate::axis::{Carry, Form};
use crate::{Colouring, ColouringError, Space};
use fathom_algebra::{Permutation, Stabiliser, StabiliserChain};
use num_bigint::BigUint;
use rustc_hash::FxHashSet;

/// The group of a pattern, on points: one for each cell and orientation.
#[derive(Clone, Debug)]
pub(crate) struct Hidden {
    group: Stabiliser,
    /// How many patterns moves reach.
    patterns: BigUint,
}

impl Hidden {
    /// Where the pattern tells nothing yet: the whole group.
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

    /// Of the patterns of a colouring.
    ///
    /// # Errors
    /// [`ColouringError`] if moves have guards, or one colour has more than `most` patterns.
    pub(crate) fn of(space: &Space, colouring: &Colouring, most: usize) -> Result<Self, ColouringError> {
        if space.is_guarded() {
            return Err(ColouringError::Guarded);
        }
        let sets = (0..colouring.colours() as u8).map(|colour| Self::points(space, colouring, colour));
        let whole = Self::whole(space);
        sets.into_iter()
            .try_fold(whole, |hidden, set| hidden.keeping(&set, most))
            .ok_or(ColouringError::TooLarge)
    }

    /// The points that say where a colour is in the solved pattern: the cells of the colour, each with the
    /// orientations that look as in the solved state.
    fn points(space: &Space, colouring: &Colouring, colour: u8) -> Vec<usize> {
        let seen = u16::from(colouring.letters().seen(colour));
        Self::points_of(space, seen, |cell| colouring.of_pieces()[cell] == colour)
    }

    /// The points of some cells, each with every `seen`-th orientation.
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

    /// Where the pattern tells a set of points as well. `None` if more than `most` sets come of it.
    pub(crate) fn keeping(&self, set: &[usize], most: usize) -> Option<Self> {
        let (group, sets) = self.group.of_set(set, most)?;
        Some(Self { group, patterns: &self.patterns * sets })
    }

    /// The chain of the group along a base that begins with these points.
    pub(crate) fn along(&self, base: &[usize]) -> StabiliserChain {
        self.group.along(base)
    }

    /// How many patterns moves reach.
    pub(crate) fn patterns(&self) -> &BigUint {
        &self.patterns
    }

    /// The words of an axis in the states of the solved pattern; `None` if they are more than `most`.
    pub(crate) fn words(
        &self,
        colouring: &Colouring,
        form: &Form,
        space: &Space,
        most: usize,
    ) -> Option<Vec<u128>> {
        /// To find few generators takes as long as to list so many words with all.
        const SHORT: usize = 1 << 10;
        let list = |generators: &[Permutation], most| Self::list(generators, colouring, form, space, most);
        let all = self.group.generators();
        list(all, most.min(SHORT)).or_else(|| match most > SHORT {
            true => list(&self.group.few_generators(), most),
            false => None,
        })
    }

    /// How many words that would be, where no two elements of the group that differ on the cells of the axis
    /// make the same word of it: where the axis tells all pieces apart, in all their orientations unless the
    /// pattern tells these. `None` otherwise.
    pub(crate) fn count(&self, colouring: &Colouring, form: &Form, space: &Space) -> Option<BigUint> {
        let mut base = Vec::new();
        for part in form.parts() {
            let colour = part.component.colour;
            let is_here = |cell: &usize| colouring.of_pieces()[*cell] == colour;
            let cells: Vec<usize> = (0..space.cells()).filter(is_here).collect();
            let order = space.order(cells[0]);
            let all_told = u16::from(colouring.letters().seen(colour)) == order
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

    /// What generators make of the solved word of an axis.
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
                let modulus = part_of(place).turns;
                let turned = (symbol % modulus + turns[place] as u8) % modulus;
                (places[place], symbol - symbol % modulus + turned)
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
        let source = PuzzleSpec::of_word(word).unwrap();
        let puzzle = source.puzzle(source.metric()).unwrap();
        Space::new(puzzle, source.metric(), Labels::from_values(source.solved())).unwrap()
    }

    /// By hand: a skewb whose corner is held has 6 centres, which are permuted evenly, 4 corners that are
    /// permuted evenly, and 3 that only turn.
    #[test]
    fn axes_have_what_the_group_reaches() {
        let space = space("skewb");
        let mut orbits: Vec<usize> = space.orbits().iter().map(|orbit| orbit.cells.len()).collect();
        orbits.sort_unstable();
        let colours: Vec<u8> = (0..space.cells())
            .map(|cell| space.orbits().iter().position(|o| o.cells.contains(&(cell as u8))).unwrap() as u8)
            .collect();
        let lengths = |suffix: &str| -> Vec<(usize, u32)> {
            let number = |colour: &usize| space.orbits()[*colour].cells.len() > 3;
            let colours_told = (0..space.orbits().len()).filter(number);
            let told = colours_told.map(|colour| {
                let turns = space.letters().seen(space.orbits()[colour].labels[0]) > 1;
                let view =
                    format!("{colour}{}", if turns { suffix } else { "p" }).parse::<AxisView>().unwrap();
                (space.orbits()[colour].cells.len(), view)
            });
            let (sizes, views): (Vec<usize>, Vec<AxisView>) = told.unzip();
            let rings = (0..space.orbits().len()).filter(|colour| space.orbits()[*colour].cells.len() == 3);
            let rings = rings.map(|colour| format!("{colour}p").parse().unwrap());
            let views: Vec<AxisView> = views.into_iter().chain(rings).collect();
            let colouring = Colouring::with_axes(&colours, &views, &space).unwrap();
            let hidden = Hidden::of(&space, &colouring, Colouring::MOST_PATTERNS).unwrap();
            // Of the cells of a ring all but one look alike.
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
        // With orientations in the pattern the corners can do no more than be permuted.
        assert_eq!(without, [(4, 12), (6, 360)]);
    }
}
