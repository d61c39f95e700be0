//! Joins two stages: first some tiles are brought home, then all others, in fewer moves than the sum of both
//! stages.
//!
//! The first stage brings the tiles T home, which leaves the other tiles in some arrangement. These
//! arrangements form the group H of the permutations that fix T. All distances in H are found: if π and ρ of
//! a ball carry T to the same cells, ρ⁻¹ π is in H, and every element of H of up to twice the radius has this
//! form. For the places of T all distances are found as well. The two largest distances add up to a bound.
//!
//! But few places of T are far from home, few elements of H are, and there are many ways to bring T home that
//! arrange the other tiles differently: if one way ends in an element that is far, another may not. So
//! for each far place p of T the search checks that all states at p are solved in N moves. Ways w₁, w₂,
//! … bring one state at p to h₁, h₂, … of H, and bring the state whose other tiles are first permuted
//! by σ to h₁σ, h₂σ, …; this state is solved if one of these is near enough. The states that the
//! first way leaves unsolved are listed, and each further way strikes some from the list.

use crate::bound::Cover;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// The largest number of cells: permutations are packed with four bits a cell.
const MAX_CELLS: usize = 16;
/// Limits of the tables: the bits of an index of places, and the number of arrangements of the other tiles.
const MAX_PLACES: u32 = 24;
const MAX_ARRANGEMENTS: u64 = 4_000_000;
/// The memory used by a layer of a ball while it is computed, in bytes per element.
const BYTES: u64 = 64;
/// The largest number of pairs of elements of a ball that are multiplied for one length.
const MAX_PAIRS: usize = 1 << 29;
/// The largest detour of the ways that bring tiles home: moves in addition to those of a shortest way.
const DETOUR: u32 = 2;
/// The maximum length of the first word if two words bound the distance of an arrangement that no single word
/// reached.
const SHORT: u8 = 5;

const UNSEEN: u8 = u8::MAX;

/// The moves of two joined stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The tiles of the first stage.
    pub tiles: Vec<usize>,
    /// The number of places of these tiles.
    pub places: u64,
    /// The largest distance of these tiles from home, in moves.
    pub first: u32,
    /// The number of arrangements of the other tiles.
    pub arrangements: u64,
    /// A number of moves that solves each arrangement of the other tiles.
    pub second: u32,
    /// Whether some arrangement needs `second` moves.
    pub is_exact: bool,
    /// A number of moves that solves every state.
    pub moves: u32,
}

/// A permutation of up to 16 points, the image of each in four bits.
type Packed = u64;

fn at(packed: Packed, point: usize) -> usize {
    (packed >> (4 * point) & 15) as usize
}

fn packed(images: impl Iterator<Item = usize>) -> Packed {
    images.enumerate().fold(0, |packed, (point, image)| packed | (image as Packed) << (4 * point))
}

/// Returns the product: `first`, and then `second`.
fn then(first: Packed, second: Packed, points: usize) -> Packed {
    packed((0..points).map(|point| at(second, at(first, point))))
}

fn inverse(of: Packed, points: usize) -> Packed {
    (0..points).fold(0, |inverse, point| inverse | (point as Packed) << (4 * at(of, point)))
}

/// The layers of a ball, each of them sorted.
struct Layers<'a> {
    moves: &'a [Packed],
    cells: usize,
    most: usize,
    layers: Vec<Vec<Packed>>,
}

impl Layers<'_> {
    /// Returns the layer at a distance; `None` if a layer would be too large.
    fn layer(&mut self, distance: usize) -> Option<&[Packed]> {
        while self.layers.len() <= distance {
            let newest = self.layers.last().expect("the first layer exists");
            if newest.len().saturating_mul(self.moves.len()) > self.most {
                return None;
            }
            let (moves, cells) = (self.moves, self.cells);
            let images = |&element: &Packed| moves.iter().map(move |&mv| then(element, mv, cells));
            let mut next: Vec<Packed> = newest.par_iter().flat_map_iter(images).collect();
            next.par_sort_unstable();
            next.dedup();
            // One move changes the distance by at most one.
            let known: Vec<_> = self.layers.iter().rev().take(2).collect();
            let is_new = |element: &Packed| known.iter().all(|layer| layer.binary_search(element).is_err());
            let next = next.into_par_iter().filter(is_new).collect();
            self.layers.push(next);
        }
        Some(&self.layers[distance])
    }
}

/// The tiles of the first stage, and the others.
struct Cut {
    cells: usize,
    moves: Vec<Packed>,
    tiles: Vec<usize>,
    others: Vec<usize>,
    /// The number of each tile among the others.
    number: Vec<usize>,
}

impl Cut {
    /// Returns the places of the tiles of the first stage in a state, or under an element of a ball, as an
    /// index.
    fn place(&self, state: Packed) -> u32 {
        self.tiles.iter().fold(0, |place, &tile| place << 4 | at(state, tile) as u32)
    }

    fn moved(&self, place: u32, mv: Packed) -> u32 {
        let tiles = self.tiles.len();
        (0..tiles)
            .fold(0, |moved, tile| moved | (at(mv, (place >> (4 * tile) & 15) as usize) as u32) << (4 * tile))
    }

    /// Returns the rank of an arrangement of the other tiles on their own cells.
    fn rank(&self, state: Packed) -> usize {
        let others = self.others.len();
        let mut left = (1_u32 << others) - 1;
        self.others.iter().enumerate().fold(0, |rank, (place, &tile)| {
            let number = self.number[at(state, tile)];
            left &= !(1 << number);
            rank * (others - place) + (left & ((1 << number) - 1)).count_ones() as usize
        })
    }

    /// Returns the rank of a product, without computing the product.
    fn rank_of_product(&self, first: Packed, second: Packed) -> usize {
        let others = self.others.len();
        let mut left = (1_u32 << others) - 1;
        self.others.iter().enumerate().fold(0, |rank, (place, &tile)| {
            let number = self.number[at(second, at(first, tile))];
            left &= !(1 << number);
            rank * (others - place) + (left & ((1 << number) - 1)).count_ones() as usize
        })
    }

    /// Returns the distance of each place of the tiles from home, and the places at each distance.
    fn distances_of_places(&self) -> (Vec<u8>, Vec<Vec<u32>>) {
        let mut distances = vec![UNSEEN; 1 << (4 * self.tiles.len())];
        let home = self.place(packed(0..self.cells));
        distances[home as usize] = 0;
        let mut layers = vec![vec![home]];
        loop {
            let depth = layers.len() as u8;
            let mut next = Vec::new();
            for &place in layers.last().expect("home is a place") {
                for &mv in &self.moves {
                    let image = self.moved(place, mv);
                    if distances[image as usize] == UNSEEN {
                        distances[image as usize] = depth;
                        next.push(image);
                    }
                }
            }
            if next.is_empty() {
                return (distances, layers);
            }
            layers.push(next);
        }
    }

    /// Returns the distances of all arrangements of the other tiles, by rank, and whether all are exact;
    /// otherwise some are upper bounds. `None` if the search was stopped, or if the layers that fit into
    /// memory do not lead to all arrangements.
    fn distances_of_arrangements(
        &self,
        layers: &mut Layers,
        count: usize,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Option<(Vec<u8>, bool)> {
        let distances: Vec<AtomicU8> = (0..count).map(|_| AtomicU8::new(UNSEEN)).collect();
        distances[self.rank(packed(0..self.cells))].store(0, Ordering::Relaxed);
        let reached = AtomicUsize::new(1);
        let plain = |distances: Vec<AtomicU8>| distances.into_iter().map(AtomicU8::into_inner).collect();
        let (mut length, mut is_exact) = (0, true);
        while reached.load(Ordering::Relaxed) < count && length + 1 < UNSEEN && goes_on() {
            length += 1;
            let (short, long) = (usize::from(length) / 2, usize::from(length).div_ceil(2));
            if layers.layer(long).is_none() {
                break;
            }
            let sorted = |distance: usize| {
                let keyed = |&element: &Packed| (self.place(element), element);
                let mut keyed: Vec<_> = layers.layers[distance].par_iter().map(keyed).collect();
                keyed.par_sort_unstable();
                keyed
            };
            let firsts = sorted(long);
            let of_short = if short == long { None } else { Some(sorted(short)) };
            let seconds = of_short.as_ref().unwrap_or(&firsts);
            let see = |rank: usize| {
                if distances[rank].load(Ordering::Relaxed) == UNSEEN
                    && distances[rank].swap(length, Ordering::Relaxed) == UNSEEN
                {
                    reached.fetch_add(1, Ordering::Relaxed);
                }
            };
            // Groups of elements that carry the tiles to the same cells, small groups first: the largest
            // groups are those where the tiles stay near home, and few of their pairs give elements that
            // smaller groups do not.
            let groups = firsts.par_chunk_by(|a, b| a.0 == b.0).map(|group| {
                let place = group[0].0;
                let from = seconds.partition_point(|&(other, _)| other < place);
                let to = from + seconds[from..].partition_point(|&(other, _)| other == place);
                (group.len() * (to - from), group, &seconds[from..to])
            });
            let mut groups: Vec<_> = groups.filter(|&(pairs, ..)| pairs > 0).collect();
            groups.par_sort_by_key(|&(pairs, ..)| pairs);
            let sums = groups.iter().scan(0, |sum, group| {
                *sum += group.0;
                Some(*sum)
            });
            let most = sums.take_while(|&sum| sum <= MAX_PAIRS).count();
            is_exact &= most == groups.len();
            groups[..most].par_iter().for_each(|&(_, firsts, seconds)| {
                for (number, &(_, second)) in seconds.iter().enumerate() {
                    if reached.load(Ordering::Relaxed) == count || !goes_on() {
                        return;
                    }
                    let back = inverse(second, self.cells);
                    // The inverse of a product has the same length, and is the product of the same two
                    // elements in the other order.
                    let firsts = if short == long { &firsts[..number] } else { firsts };
                    for &(_, first) in firsts {
                        see(self.rank_of_product(first, back));
                        see(self.rank_of_product(second, inverse(first, self.cells)));
                    }
                }
            });
        }
        let mut distances: Vec<u8> = plain(distances);
        if reached.into_inner() == count {
            return Some((distances, is_exact));
        }
        if !goes_on() {
            return None;
        }
        self.by_two_words(&mut distances).then_some((distances, false))
    }

    /// Bounds the unknown distances by two words, the first of which is short. Returns false if some remain
    /// unknown.
    fn by_two_words(&self, distances: &mut [u8]) -> bool {
        let all = self.arrangements();
        let short: Vec<(Packed, u8)> = all
            .iter()
            .map(|&state| (state, distances[self.rank(state)]))
            .filter(|&(_, distance)| distance <= SHORT && distance > 0)
            .collect();
        let known: &[u8] = distances;
        let bounded = |&state: &Packed| {
            let by = |&(word, length): &(Packed, u8)| {
                known[self.rank(then(state, word, self.cells))].saturating_add(length)
            };
            (self.rank(state), short.iter().map(by).min().unwrap_or(UNSEEN))
        };
        let left = all.par_iter().filter(|&&state| known[self.rank(state)] == UNSEEN);
        let bounds: Vec<(usize, u8)> = left.map(bounded).collect();
        bounds.iter().for_each(|&(rank, bound)| distances[rank] = bound);
        !distances.contains(&UNSEEN)
    }

    /// Returns all arrangements of the other tiles.
    fn arrangements(&self) -> Vec<Packed> {
        let mut all = vec![packed(0..self.cells)];
        // Each tile in turn is exchanged with itself or a later tile.
        for (place, &tile) in self.others.iter().enumerate() {
            let exchanged = |state: Packed| {
                self.others[place..].iter().map(move |&other| {
                    let (a, b) = (at(state, tile) as Packed, at(state, other) as Packed);
                    state ^ (a ^ b) << (4 * tile) ^ if tile == other { 0 } else { (a ^ b) << (4 * other) }
                })
            };
            all = all.into_iter().flat_map(exchanged).collect();
        }
        all
    }
}

/// Checks whether all states with the tiles on a place are solved in `moves` moves.
struct Check<'a> {
    cut: &'a Cut,
    of_places: &'a [u8],
    of_arrangements: &'a [u8],
    /// The arrangements at each distance.
    at_distance: &'a [Vec<Packed>],
    moves: u32,
}

impl Check<'_> {
    fn solves(&self, place: u32) -> bool {
        let Cut { cells, tiles, others, .. } = self.cut;
        // Any state at the place.
        let on = |number: usize| (place >> (4 * (tiles.len() - 1 - number)) & 15) as usize;
        let mut state = tiles
            .iter()
            .enumerate()
            .fold(0, |state, (number, &tile)| state | (on(number) as Packed) << (4 * tile));
        let taken = (0..tiles.len()).fold(0_u32, |taken, number| taken | 1 << on(number));
        let left = (0..*cells).filter(|cell| taken >> cell & 1 == 0);
        for (&tile, cell) in others.iter().zip(left) {
            state |= (cell as Packed) << (4 * tile);
        }
        let shortest = u32::from(self.of_places[place as usize]);
        let mut unsolved: Option<Vec<Packed>> = None;
        (shortest..=(shortest + DETOUR).min(self.moves))
            .any(|length| self.strike(state, length, self.moves - length, &mut unsolved))
    }

    /// Tries all ways of exactly `length` moves that bring the tiles of a state home, and strikes from
    /// `unsolved` what `rest` further moves solve. Returns true as soon as nothing is left.
    fn strike(&self, state: Packed, length: u32, rest: u32, unsolved: &mut Option<Vec<Packed>>) -> bool {
        let cells = self.cut.cells;
        if length == 0 {
            match unsolved {
                Some(left) => left.retain(|&exchange| {
                    u32::from(self.of_arrangements[self.cut.rank(then(exchange, state, cells))]) > rest
                }),
                None => {
                    let back = inverse(state, cells);
                    let far = self.at_distance.iter().skip(rest as usize + 1).flatten();
                    *unsolved = Some(far.map(|&arrangement| then(arrangement, back, cells)).collect());
                }
            }
            return unsolved.as_ref().is_some_and(Vec::is_empty);
        }
        self.cut.moves.iter().any(|&mv| {
            let next = then(state, mv, cells);
            u32::from(self.of_places[self.cut.place(next) as usize]) < length
                && self.strike(next, length - 1, rest, unsolved)
        })
    }
}

/// Returns whether the stages of a puzzle that solve these tiles and the others can be joined: the group is
/// symmetric, and there are not too many cells, places and arrangements.
pub(crate) fn can_be_joined(cover: &Cover, tiles: &[usize]) -> bool {
    let cells = cover.puzzle.cells;
    cells <= MAX_CELLS
        && 4 * tiles.len() as u32 <= MAX_PLACES
        && arrangements(cells - tiles.len()) <= MAX_ARRANGEMENTS
        && cover.is_symmetric()
}

/// Returns the number of arrangements of at most [`MAX_CELLS`] tiles.
fn arrangements(tiles: usize) -> u64 {
    (1..=tiles as u64).product()
}

/// Returns a number of moves that solves all states by solving these tiles first and then the others. `None`
/// if the stages [cannot be joined](can_be_joined), if memory does not hold the ball that is needed, or if
/// `goes_on` returns false.
pub(crate) fn joined(
    cover: &Cover,
    tiles: &[usize],
    memory_bytes: u64,
    goes_on: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(&Joined),
) -> Option<Joined> {
    let cells = cover.puzzle.cells;
    if !can_be_joined(cover, tiles) {
        return None;
    }
    let places = (0..tiles.len()).map(|taken| (cells - taken) as u64).product();
    let arrangements = arrangements(cells - tiles.len());
    let others: Vec<usize> = (0..cells).filter(|tile| !tiles.contains(tile)).collect();
    let mut number = vec![usize::MAX; cells];
    others.iter().enumerate().for_each(|(at, &tile)| number[tile] = at);
    let moves =
        cover.puzzle.moves.iter().map(|m| packed((0..cells).map(|cell| m.action.cells().apply(cell))));
    let cut = Cut { cells, moves: moves.collect(), tiles: tiles.to_vec(), others, number };
    let (of_places, layers_of_places) = cut.distances_of_places();
    let home = vec![vec![packed(0..cells)]];
    let mut layers = Layers { moves: &cut.moves, cells, most: (memory_bytes / BYTES) as usize, layers: home };
    let (of_arrangements, is_exact) =
        cut.distances_of_arrangements(&mut layers, arrangements as usize, goes_on)?;
    drop(layers);
    let second = of_arrangements.iter().copied().max()?;
    let mut at_distance = vec![Vec::new(); usize::from(second) + 1];
    for state in cut.arrangements() {
        at_distance[usize::from(of_arrangements[cut.rank(state)])].push(state);
    }
    let first = layers_of_places.len() as u32 - 1;
    let mut best = Joined {
        tiles: tiles.to_vec(),
        places,
        first,
        arrangements,
        second: second.into(),
        is_exact,
        moves: first + u32::from(second),
    };
    tell(&best);
    while best.moves > first.max(second.into()) {
        let moves = best.moves - 1;
        let check = Check {
            cut: &cut,
            of_places: &of_places,
            of_arrangements: &of_arrangements,
            at_distance: &at_distance,
            moves,
        };
        let fails = AtomicBool::new(false);
        let is_solved = |&place: &u32| {
            let solved = !fails.load(Ordering::Relaxed) && goes_on() && check.solves(place);
            fails.fetch_or(!solved, Ordering::Relaxed);
            solved
        };
        // Places this near need no check: they leave enough moves for the farthest arrangement.
        let near = (moves - u32::from(second)) as usize;
        if !layers_of_places[near + 1..].iter().rev().all(|layer| layer.par_iter().all(is_solved)) {
            break;
        }
        best.moves = moves;
        tell(&best);
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::upper_bound::{Certificate, UpperError};
    use fathom_kernel::reference::Distances;
    use fathom_puzzle::{Board, Metric};
    use fathom_space::{Labels, Space};

    fn join(word: &str, metric: Metric, tiles: &[usize]) -> Option<Joined> {
        let cover = Cover::of_board(word.parse().unwrap(), metric);
        joined(&cover, tiles, 1 << 30, &|| true, &mut |_| ())
    }

    /// Memory in bytes that holds only the first layers of a ball.
    const LITTLE: u64 = 50 * BYTES;

    /// Compares with plain searches: God's numbers of table 4, and states with only the tiles tracked as
    /// places.
    #[test]
    fn joined_stages_bound_gods_number() {
        for (board, metric, tiles, god_number) in [
            ("2x3", Metric::Multi, &[0, 1, 2][..], 7),
            ("2x4", Metric::Multi, &[0, 1, 2, 3], 8),
            ("2x4", Metric::Single, &[0, 1, 4, 5], 10),
        ] {
            let found = join(board, metric, tiles).unwrap();
            assert!(found.moves >= god_number, "{board}: {found:?}");
            assert!(found.moves < found.first + found.second, "{board}: {found:?}");
            let parsed: Board = board.parse().unwrap();
            let labelled = |labels: Vec<usize>| {
                let space = Space::new(parsed.puzzle(metric), metric, Labels::from_values(labels)).unwrap();
                Distances::search(&space, None, 1 << 30).unwrap()
            };
            let tracked = |tile: usize| if tiles.contains(&tile) { tile } else { 99 };
            let places = labelled((0..parsed.cells()).map(tracked).collect());
            assert_eq!(places.counts().iter().sum::<u64>(), found.places);
            assert_eq!(places.counts().len() as u32, found.first + 1, "{board}");
            let all = labelled((0..parsed.cells()).collect());
            let is_left = |word: &[u8]| tiles.iter().all(|&tile| usize::from(word[tile]) == tile);
            let far = all.states().filter(|(word, _)| is_left(word)).map(|(_, distance)| distance).max();
            assert!(found.is_exact && far == Some(found.second), "{board}: {far:?} {found:?}");
        }
    }

    #[test]
    fn certificates_of_joined_stages_are_checked_by_joining_them_again() {
        let found = join("2x4", Metric::Multi, &[0, 1, 2, 3]).unwrap();
        let cover = Cover::of_board("2x4".parse().unwrap(), Metric::Multi);
        let good = Certificate::joined(&cover, "2x4", &found);
        assert_eq!(good.verify(1 << 30), Ok(()));
        let wrong = |change: &dyn Fn(&mut Certificate)| {
            let mut bad = good.clone();
            change(&mut bad);
            bad.verify(1 << 30).unwrap_err().to_string()
        };
        assert!(wrong(&|bad| bad.upper_bound -= 1).contains("are only known to take at most"));
        assert!(wrong(&|bad| bad.stages[0].moves -= 1).contains("a stage takes"));
        assert!(wrong(&|bad| bad.stages[1].moves -= 1).contains("a stage takes"));
        assert!(wrong(&|bad| bad.stages[1].states += 1).contains("a stage has"));
        assert!(wrong(&|bad| drop(bad.stages.remove(0))).contains("needs exactly two stages"));
    }

    #[test]
    fn certificates_are_valid_with_more_memory() {
        let cover = Cover::of_board("2x3".parse().unwrap(), Metric::Multi);
        let with = |bytes| joined(&cover, &[0, 1], bytes, &|| true, &mut |_| ()).unwrap();
        let (little, much) = (with(LITTLE), with(1 << 30));
        assert!(!little.is_exact && little.second > much.second, "{little:?} {much:?}");
        let certificate = Certificate::joined(&cover, "2x3", &little);
        for bytes in [LITTLE, 1 << 30] {
            assert_eq!(certificate.verify(bytes), Ok(()));
        }
        // With less memory, the check finds no contradiction, but no proof either.
        let certificate = Certificate::joined(&cover, "2x3", &much);
        let error = certificate.verify(LITTLE).unwrap_err();
        assert!(matches!(error, UpperError::Unchecked), "{error}");
        assert!(error.to_string().contains("Use more --memory"), "{error}");
    }

    /// The moves of 3x3 generate the alternating group, and 8x8 has more cells than a packed permutation.
    #[test]
    fn certificates_with_unjoinable_stages_are_rejected() {
        let found = join("2x4", Metric::Multi, &[0, 1, 2, 3]).unwrap();
        for board in ["3x3", "8x8"] {
            assert_eq!(join(board, Metric::Multi, &[0, 1, 2, 3]), None);
            let cover = Cover::of_board(board.parse().unwrap(), Metric::Multi);
            let error = Certificate::joined(&cover, board, &found).verify(1 << 30).unwrap_err();
            assert!(matches!(error, UpperError::Wrong(_)), "{board}: {error}");
            assert!(error.to_string().contains("cannot be joined"), "{board}: {error}");
        }
    }

    /// Words of a joined certificate are pairs of an element and an inverse.
    #[test]
    fn certificates_in_a_metric_without_inverses_are_rejected() {
        let found = join("2x3", Metric::Multi, &[0, 1, 2]).unwrap();
        let cover = Cover::of_board("2x3".parse().unwrap(), Metric::Multi);
        let good = Certificate::joined(&cover, "2x3", &found);
        assert_eq!(good.verify(1 << 30), Ok(()));
        for metric in [Metric::Given, Metric::Face, Metric::Twist] {
            let error = Certificate { metric, ..good.clone() }.verify(1 << 30).unwrap_err().to_string();
            assert!(error.contains("boards have bounds only in the metrics"), "{error}");
        }
    }

    #[test]
    fn arrangements_have_distinct_ranks() {
        let found = join("2x3", Metric::Multi, &[1]).unwrap();
        assert_eq!((found.places, found.arrangements, found.is_exact), (6, 120, true));
        let cut = Cut {
            cells: 5,
            moves: Vec::new(),
            tiles: vec![1],
            others: vec![0, 2, 3, 4],
            number: vec![0, 9, 1, 2, 3],
        };
        let mut ranks: Vec<usize> = cut.arrangements().into_iter().map(|state| cut.rank(state)).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, (0..24).collect::<Vec<_>>());
    }

    #[test]
    fn packed_permutations_round_trip() {
        let (a, b) = (packed([1, 2, 0, 3].into_iter()), packed([3, 1, 2, 0].into_iter()));
        assert_eq!(then(a, b, 4), packed([1, 2, 3, 0].into_iter()));
        assert_eq!(then(a, inverse(a, 4), 4), packed(0..4));
    }
}
