//! Cuboids of up to 5 x 5 x 5 cubies. Layers turn, by quarters where they are square and by half turns
//! otherwise: the outer ones, and where there are four or five layers also the ones inside these. Rotations of
//! the whole cuboid are free, unless they move a cubie that no move changes.
//!
//! A cell is the place of a cubie. Its orientations are the ways to put a cubie there that moves and
//! rotations reach: a corner of 2 x 2 x 3 has only one. Cubies that have the same colours wherever they are,
//! such as those in the middle of a side of 3 x 3 x 4, have the same label.

use super::geometry::{Vector, clockwise, dot};
use crate::definition::{Definition, Orbit, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};
use std::ops::RangeInclusive;

/// The largest number of cubies on an edge.
pub const MAX_SIDE: usize = 5;

const FACES: [(&str, Vector); 6] = [
    ("U", [0, 1, 0]),
    ("R", [1, 0, 0]),
    ("F", [0, 0, 1]),
    ("D", [0, -1, 0]),
    ("L", [-1, 0, 0]),
    ("B", [0, 0, -1]),
];
/// The rotations of the whole cuboid, and their axes.
const ROTATIONS: [(&str, Vector); 3] = [("x", [1, 0, 0]), ("y", [0, 1, 0]), ("z", [0, 0, 1])];

/// A cubie: its place, in half cubies from the middle, and the directions of its faces, in an order of its
/// own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cubie {
    place: Vector,
    faces: Vec<Vector>,
}

/// A turn of the layers in which the product of a place and the axis is in a range.
struct Turn {
    axis: Vector,
    quarters: usize,
    layers: RangeInclusive<i32>,
}

impl Turn {
    fn of(&self, cubie: &Cubie) -> Cubie {
        let turned = |v: Vector| (0..self.quarters).fold(v, |v, _| clockwise(self.axis, v));
        match self.layers.contains(&dot(cubie.place, self.axis)) {
            true => {
                Cubie { place: turned(cubie.place), faces: cubie.faces.iter().map(|&v| turned(v)).collect() }
            }
            false => cubie.clone(),
        }
    }
}

/// The places between which a cubie moves.
struct Places {
    /// The cubie at each place, in the orientation 0.
    upright: Vec<Cubie>,
    /// The rearrangement of the faces of a cubie that turns it by one orientation.
    twist: Vec<usize>,
    orientations: usize,
}

impl Places {
    /// Returns the places that a cubie reaches by these turns.
    fn of(cubie: &Cubie, turns: &[&Turn]) -> Self {
        let mut reached = vec![cubie.clone()];
        let mut next = 0;
        while next < reached.len() {
            for turn in turns {
                let to = turn.of(&reached[next]);
                if !reached.contains(&to) {
                    reached.push(to);
                }
            }
            next += 1;
        }
        let mut upright: Vec<Cubie> = Vec::new();
        for cubie in &reached {
            if upright.iter().all(|known| known.place != cubie.place) {
                upright.push(cubie.clone());
            }
        }
        // The rotations that fix a place other than the middle form a cyclic group.
        let orientations = reached.len() / upright.len();
        let arrangement = |other: &Cubie| -> Vec<usize> {
            let index = |face| cubie.faces.iter().position(|known| known == face).expect("the same faces");
            other.faces.iter().map(index).collect()
        };
        let order = |twist: &Vec<usize>| {
            (1..)
                .find(|&times| (0..twist.len()).all(|i| (0..times).fold(i, |i, _| twist[i]) == i))
                .expect("an order")
        };
        let here = reached.iter().filter(|other| other.place == cubie.place).map(arrangement);
        let twist = here.into_iter().find(|twist| order(twist) == orientations).expect("the group is cyclic");
        Self { upright, twist, orientations }
    }

    /// Returns the index of a cubie's place, and its orientation there; `None` if it is elsewhere.
    fn find(&self, cubie: &Cubie) -> Option<(usize, u16)> {
        let place = self.upright.iter().position(|known| known.place == cubie.place)?;
        let mut faces = self.upright[place].faces.clone();
        for orientation in 0..self.orientations {
            if faces == cubie.faces {
                return Some((place, orientation as u16));
            }
            faces = self.twist.iter().map(|&i| faces[i]).collect();
        }
        None
    }
}

/// Returns the cuboid with this many cubies from left to right, from bottom to top and from back to front.
pub fn cuboid([x, y, z]: [usize; 3]) -> Definition {
    named(format!("{x}x{y}x{z}"), [x, y, z])
}

/// Returns the floppy cube: 3 x 1 x 3 cubies.
pub fn floppy() -> Definition {
    named("floppy".into(), [3, 1, 3])
}

fn named(name: String, sides: [usize; 3]) -> Definition {
    let sides = sides.map(|side| side as i32);
    let thick = |axis: Vector| (0..3).map(|i| axis[i].abs() * sides[i]).sum::<i32>();
    let turn = |axis: Vector, layers: RangeInclusive<i32>| {
        let across: Vec<i32> = (0..3).filter(|&i| axis[i] == 0).map(|i| sides[i]).collect();
        Turn { axis, quarters: if across[0] == across[1] { 1 } else { 2 }, layers }
    };
    let cubies = cubies(sides);
    let changes = |turn: &Turn| cubies.iter().any(|cubie| turn.of(cubie) != *cubie);
    // The outer layer of each face, and the one inside it, if that is not a middle one.
    let layers = [0, 1].into_iter().flat_map(|depth| {
        FACES.iter().filter_map(move |&(name, axis)| {
            let name = if depth == 0 { name.to_owned() } else { name.to_lowercase() };
            let at = thick(axis) - 1 - 2 * depth;
            (if depth == 0 { thick(axis) > 1 } else { at > 0 }).then(|| (name, turn(axis, at..=at)))
        })
    });
    let moves: Vec<(String, Turn)> = layers.filter(|(_, turn)| changes(turn)).collect();
    let (fixed, movable): (Vec<Cubie>, Vec<Cubie>) =
        cubies.iter().cloned().partition(|cubie| moves.iter().all(|(_, turn)| turn.of(cubie) == *cubie));
    let keeps = |turn: &Turn| fixed.iter().all(|cubie| turn.of(cubie) == *cubie);
    let whole = |&(name, axis): &(&'static str, Vector)| (name, turn(axis, -thick(axis)..=thick(axis)));
    let rotations: Vec<(&str, Turn)> = ROTATIONS.iter().map(whole).filter(|(_, turn)| keeps(turn)).collect();
    let all: Vec<&Turn> =
        moves.iter().map(|(_, turn)| turn).chain(rotations.iter().map(|(_, turn)| turn)).collect();
    let mut orbits: Vec<Places> = Vec::new();
    for cubie in &movable {
        if orbits.iter().all(|orbit| orbit.upright.iter().all(|known| known.place != cubie.place)) {
            orbits.push(Places::of(cubie, &all));
        }
    }
    let orbit = |(number, places): (usize, &Places)| Orbit {
        name: format!("cubies-{}", number + 1),
        cells: places.upright.len(),
        orientations: places.orientations as u16,
    };
    let mut puzzle =
        Definition::new(name, orbits.iter().enumerate().map(orbit).collect()).expect("few cells");
    let shown: Vec<(usize, &[Vector])> = orbits
        .iter()
        .enumerate()
        .flat_map(|(orbit, places)| places.upright.iter().map(move |cubie| (orbit, &cubie.faces[..])))
        .collect();
    // The faces of a cubie are in the order in which turns carry them from the first cubie of the orbit.
    let solved = |(cell, &seen): (usize, &u16)| Piece {
        label: shown.iter().position(|other| *other == shown[cell]).expect("it looks like itself") as u16,
        orientation: 0,
        seen,
    };
    let solved: Vec<Piece> = puzzle.orientation_counts().iter().enumerate().map(solved).collect();
    puzzle.set_solved(&solved).expect("labels are those of the orbits");
    let action = |turn: &Turn| {
        let (mut images, mut turns) = (Vec::new(), Vec::new());
        for places in &orbits {
            let first = images.len();
            for cubie in &places.upright {
                let (to, twist) = places.find(&turn.of(cubie)).expect("turns keep the orbits");
                images.push((first + to) as u16);
                turns.push(twist);
            }
        }
        let images = Permutation::from_images(images).expect("a turn is a bijection");
        OrientedPermutation::new(images, turns, puzzle.orientation_counts())
            .expect("one number in each orbit")
    };
    let moves: Vec<_> = moves.into_iter().map(|(name, turn)| (name, action(&turn))).collect();
    let rotations: Vec<_> = rotations.iter().map(|(name, turn)| (*name, action(turn))).collect();
    moves.into_iter().for_each(|(name, action)| puzzle.add_move(name, action).expect("names are distinct"));
    rotations
        .into_iter()
        .for_each(|(name, action)| puzzle.add_free(name, action).expect("names are distinct"));
    puzzle
}

/// Returns the cubies that have faces, from the top front right corner on.
fn cubies(sides: [i32; 3]) -> Vec<Cubie> {
    let along = |side: i32| (0..side).map(move |i| side - 1 - 2 * i);
    let mut cubies = Vec::new();
    for y in along(sides[1]) {
        for z in along(sides[2]) {
            for x in along(sides[0]) {
                let place = [x, y, z];
                let is_outside = |axis: Vector| {
                    dot(place, axis) == (0..3).map(|i| axis[i].abs() * sides[i]).sum::<i32>() - 1
                };
                let faces: Vec<Vector> =
                    FACES.iter().map(|&(_, axis)| axis).filter(|&axis| is_outside(axis)).collect();
                cubies.extend((!faces.is_empty()).then_some(Cubie { place, faces }));
            }
        }
    }
    cubies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;
    use crate::family::by_name;
    use fathom_algebra::StabiliserChain;
    use std::collections::HashSet;

    /// Jaap Scherphuis's pages on the tower cube, the domino and the floppy cube have these numbers of
    /// positions.
    #[test]
    fn numbers_of_states() {
        for (word, states) in
            [("2x2x3", 241_920), ("3x2x2", 241_920), ("3x3x2", 406_425_600), ("2x3x3", 406_425_600)]
        {
            assert_eq!(by_name(word).unwrap().states(), Some(states), "{word}");
        }
        assert_eq!(by_name("floppy").unwrap().states(), Some(192));
        assert_eq!(by_name("3x1x3").unwrap().states(), Some(192));
        // As cuboids, the cubes have the states of their own words.
        for (sides, word) in [([2, 2, 2], "2x2x2"), ([3, 3, 3], "3x3x3")] {
            assert_eq!(cuboid(sides).states(), by_name(word).unwrap().states(), "{word}");
        }
    }

    /// The group of the stickers, each with its place and the direction it faces, has the order of the group
    /// of the cubies.
    #[test]
    fn stickers_have_the_same_group() {
        type Sticker = (Vector, Vector);
        let quarter = |axis: usize, [x, y, z]: Vector| match axis {
            0 => [x, z, -y],
            1 => [-z, y, x],
            _ => [y, -x, z],
        };
        for sides in [[2, 2, 3], [3, 3, 2], [2, 2, 4], [2, 3, 4], [4, 2, 4], [2, 2, 5], [3, 3, 4], [3, 5, 3]]
        {
            let puzzle = cuboid(sides);
            let sides = sides.map(|side| side as i32);
            let mut stickers: Vec<Sticker> = Vec::new();
            for place in (0..125).map(|n| [n / 25, n / 5 % 5, n % 5]) {
                for (axis, sign) in [(0, 1), (0, -1), (1, 1), (1, -1), (2, 1), (2, -1)] {
                    let end = if sign == 1 { sides[axis] - 1 } else { 0 };
                    if place[axis] == end && (0..3).all(|i| place[i] < sides[i]) {
                        let mut normal = [0; 3];
                        normal[axis] = sign;
                        stickers.push((std::array::from_fn(|i| 2 * place[i] - sides[i] + 1), normal));
                    }
                }
            }
            let turn = |axis: usize, layers: RangeInclusive<i32>| {
                let is_square = sides[(axis + 1) % 3] == sides[(axis + 2) % 3];
                let turned = |v: Vector| {
                    let once = quarter(axis, v);
                    if is_square { once } else { quarter(axis, once) }
                };
                Permutation::from_fn(stickers.len(), |from| {
                    let (place, normal) = stickers[from];
                    let to = match layers.contains(&place[axis]) {
                        true => (turned(place), turned(normal)),
                        false => (place, normal),
                    };
                    stickers.iter().position(|&sticker| sticker == to).unwrap()
                })
            };
            let mut turns = Vec::new();
            for axis in 0..3 {
                let all = || (0..sides[axis]).map(|i| 2 * i - sides[axis] + 1);
                turns.extend(all().filter(|&at| at != 0).map(|at| turn(axis, at..=at)));
                // The whole turns too, unless that moves centres that no layer moves.
                let odd = (0..3).filter(|&i| i != axis && sides[i] % 2 == 1).count();
                if odd == 0 || sides[axis] % 2 == 0 {
                    turns.push(turn(axis, -9..=9));
                }
            }
            let order = StabiliserChain::new(stickers.len(), &turns).order();
            assert!(order.is_some());
            assert_eq!(puzzle.group().order(), order, "{sides:?}");
        }
    }

    /// The cubies inside the sides of 3 x 3 x 4 are two of each colour; those of 2 x 3 x 4 and of the
    /// middles of edges differ.
    #[test]
    fn cubies_of_one_colour_look_alike() {
        let labels = |sides: [usize; 3]| {
            let puzzle = cuboid(sides);
            let labels: HashSet<u16> = puzzle.solved().iter().map(|piece| piece.label).collect();
            (puzzle.cells(), labels.len())
        };
        // Of 36 cubies two are inside and two are fixed centres.
        assert_eq!(labels([3, 4, 3]), (36 - 2 - 2, 28));
        assert_eq!(labels([2, 2, 4]), (16, 16));
        // The centres of the 4 x 4 x 4 cube are four of each colour, and its pairs of edges differ.
        assert_eq!(labels([4, 4, 4]), (56, 8 + 24 + 6));
    }

    /// The numbers of states of the floppy cube at each distance, of Jaap Scherphuis's page.
    #[test]
    fn floppy_cube() {
        let puzzle = floppy();
        let moves = puzzle.generators(Metric::Multi).unwrap();
        let mut layer = vec![OrientedPermutation::identity(puzzle.orientation_counts())];
        let mut seen: HashSet<OrientedPermutation> = layer.iter().cloned().collect();
        let mut counts = Vec::new();
        while !layer.is_empty() {
            counts.push(layer.len());
            let next = layer.iter().flat_map(|state| moves.iter().map(|m| state.then(&m.action)));
            layer = next.filter(|state| seen.insert(state.clone())).collect();
        }
        assert_eq!(counts, [1, 4, 10, 24, 53, 64, 31, 4, 1]);
    }
}
