//! Counts the states of puzzles with many cells without a stabiliser chain.
//!
//! Let an orbit have n >= 8 cells whose pieces turn modulo m. All possible actions on the orbit form the
//! wreath product W = C_m wr S_n. Its commutator subgroup D consists of the even permutations with twists of
//! sum 0. D is perfect, and each of its proper normal subgroups consists of twists only. Two conditions on
//! the group G must hold:
//!
//! - On each large orbit, G contains D. This follows if some element has a cycle of a prime length p with n/2
//!   < p < n - 2, and if the powers that move no piece turn pieces by amounts whose differences generate all
//!   turns. (A power of the element is only the cycle of length p, so by a theorem of C. Jordan the group has
//!   all even permutations of the cells.)
//! - No two large orbits are permuted in the same way: some element has cycles of different lengths on them.
//!   For n > 6, an automorphism of the group of even permutations of n points is a renaming of the points, so
//!   it keeps cycle lengths.
//!
//! Then G contains the product of the groups D of all large orbits, by Goursat's lemma and because pairs of
//! factors suffice for perfect groups. The action on the other cells is independent of this product, because
//! its simple factors are smaller. The rest is the quotient of G by this product, a small group: the
//! action on the other cells, the parity on each large orbit, and the sum of the twists of each large orbit.
//! The states of the quotient are counted with a stabiliser chain. Each of these states represents the same
//! number of states of the puzzle: the size of an orbit of the product.
//!
//! If stickers are cells, the stickers of a piece are a block, and become one cell. Of orbits that are
//! permuted in the same way, such as the two stickers of a wing of a large cube, only one is kept. Pieces
//! that are turned but have only one orientation on each cell, such as wings, count as pieces that do not
//! turn.

use crate::orbits::{orbits, smallest_blocks};
use crate::permutation::gcd;
use crate::{OrientedPermutation, Permutation, StabiliserChain, VisibleLabel, label_stabiliser, numbered};
use num_bigint::BigUint;
use std::collections::HashMap;

/// The minimum number of cells of a large orbit. Smaller orbits are handled by a stabiliser chain.
const MIN_CELLS: usize = 8;
/// The largest number of points that the quotient may have.
const MAX_POINTS_LEFT: usize = 512;
/// The largest number of random elements that are examined.
const MAX_SAMPLES: usize = 400;
/// The largest number of stickers of a piece.
const MAX_STICKERS: usize = 5;

/// Returns the number of states that a group reaches from the state in which each piece is on its home cell,
/// where pieces with equal labels look alike and show some of their orientations. `None` if the group does
/// not meet the conditions in the [module documentation](self), or if random elements do not prove that it
/// does.
///
/// # Panics
/// If there is not one [`VisibleLabel`] for each cell, or if actions are of different cells.
pub fn states_by_orbits(actions: &[OrientedPermutation], visible_labels: &[VisibleLabel]) -> Option<BigUint> {
    let mut puzzle = Cells { actions: actions.to_vec(), visible_labels: visible_labels.to_vec() };
    puzzle = puzzle.without_idle_turns()?.with_pieces()?;
    let samples = samples(&puzzle.actions)?;
    let mut large = puzzle.orbits();
    large.retain(|orbit| orbit.len() >= MIN_CELLS);
    let large = puzzle.without_copies(large, &samples)?;
    if !large.iter().all(|orbit| puzzle.has_all(orbit, &samples)) {
        return None;
    }
    let mut states = BigUint::from(1_u32);
    let mut rest = Quotient::default();
    let in_orbit = |cell: &usize| large.iter().any(|orbit| orbit.contains(cell));
    let copies = puzzle.copies(&large);
    rest.keep(
        &puzzle,
        &(0..puzzle.visible_labels.len()).filter(|c| !in_orbit(c) && !copies.contains(c)).collect::<Vec<_>>(),
    );
    for orbit in &large {
        let seen = orbit.iter().fold(0, |all, &cell| gcd(all, puzzle.visible_labels[cell].seen.into()));
        let mut alike: HashMap<u32, u32> = HashMap::new();
        orbit.iter().for_each(|&cell| *alike.entry(puzzle.visible_labels[cell].label).or_default() += 1);
        let factorial = |n: u32| -> BigUint { (1..=n).map(BigUint::from).product() };
        let mut words = factorial(orbit.len() as u32);
        words /= alike.values().map(|&number| factorial(number)).product::<BigUint>();
        words *=
            orbit.iter().map(|&cell| BigUint::from(puzzle.visible_labels[cell].seen)).product::<BigUint>();
        let all_differ = alike.len() == orbit.len();
        states *= words / (if all_differ { 2 * seen } else { seen });
        rest.add_quotient(&puzzle, orbit, all_differ, seen as u16);
    }
    Some(states * rest.states()?)
}

/// The generators as actions on cells, and the visible part of the piece on each cell.
struct Cells {
    actions: Vec<OrientedPermutation>,
    visible_labels: Vec<VisibleLabel>,
}

impl Cells {
    fn orbits(&self) -> Vec<Vec<usize>> {
        let places: Vec<Permutation> = self.actions.iter().map(|action| action.cells().clone()).collect();
        orbits(self.visible_labels.len(), &places)
    }

    /// Replaces pieces that have only one orientation on each cell by pieces that do not turn. The
    /// orientation of such a piece is the mark of its cell minus the mark of the piece's home cell, so
    /// pieces whose home cells have different marks no longer look alike.
    fn without_idle_turns(self) -> Option<Self> {
        let orientation_counts: Vec<u16> = self.actions.first()?.orientation_counts().into();
        let (mut marks, mut idle) =
            (vec![0; orientation_counts.len()], vec![false; orientation_counts.len()]);
        for orbit in self.orbits() {
            let order = orientation_counts[orbit[0]];
            if order > 1
                && let Some(of_orbit) = self.marks(&orbit, order)
            {
                of_orbit.into_iter().for_each(|(cell, mark)| (marks[cell], idle[cell]) = (mark, true));
            }
        }
        if !idle.contains(&true) {
            return Some(self);
        }
        let unless_idle = |of_cell: &[u16], value: u16| -> Vec<u16> {
            of_cell.iter().zip(&idle).map(|(&of_cell, &idle)| if idle { value } else { of_cell }).collect()
        };
        let turning = unless_idle(&orientation_counts, 1);
        let action = |action: &OrientedPermutation| {
            OrientedPermutation::new(action.cells().clone(), unless_idle(action.turns(), 0), &*turning).ok()
        };
        let labels = self
            .visible_labels
            .iter()
            .zip(&marks)
            .map(|(visible_labels, mark)| (visible_labels.label, mark % visible_labels.seen));
        let labels: Vec<u32> = numbered(labels);
        let visible_labels = self.visible_labels.iter().zip(labels).zip(&idle);
        let visible_labels = visible_labels
            .map(|((visible_labels, label), &idle)| VisibleLabel {
                label,
                seen: if idle { 1 } else { visible_labels.seen },
            })
            .collect();
        Some(Self { actions: self.actions.iter().map(action).collect::<Option<_>>()?, visible_labels })
    }

    /// Returns marks on the cells of an orbit such that each turn is the difference of the marks of two
    /// cells. `None` if there are none: then a piece has several orientations on one cell.
    fn marks(&self, orbit: &[usize], order: u16) -> Option<HashMap<usize, u16>> {
        let mut marks = HashMap::from([(orbit[0], 0)]);
        let mut open = vec![orbit[0]];
        while let Some(cell) = open.pop() {
            for action in &self.actions {
                let (to, mark) = (action.cells().apply(cell), (marks[&cell] + action.turns()[cell]) % order);
                match marks.insert(to, mark) {
                    None => open.push(to),
                    Some(before) if before != mark => return None,
                    Some(_) => {}
                }
            }
        }
        Some(marks)
    }

    /// Merges the stickers of each piece into one cell. A cell whose pieces turn stays one cell.
    fn with_pieces(self) -> Option<Self> {
        let before: Vec<u16> = self.actions.first()?.orientation_counts().into();
        let places: Vec<Permutation> = self.actions.iter().map(|action| action.cells().clone()).collect();
        let mut pieces: Vec<Vec<usize>> = Vec::new();
        let mut is_in_piece = vec![false; self.visible_labels.len()];
        let is_of_stickers = |orbit: &&Vec<usize>| orbit.len() >= MIN_CELLS && before[orbit[0]] == 1;
        for orbit in self.orbits().iter().filter(is_of_stickers) {
            let found = smallest_blocks(orbit, &places).and_then(|blocks| in_order(&blocks, &places));
            for piece in found.into_iter().flatten() {
                piece.iter().for_each(|&cell| is_in_piece[cell] = true);
                pieces.push(self.in_least_order(&piece));
            }
        }
        pieces
            .extend((0..self.visible_labels.len()).filter(|&cell| !is_in_piece[cell]).map(|cell| vec![cell]));
        let mut at = vec![(0, 0); self.visible_labels.len()];
        for (number, piece) in pieces.iter().enumerate() {
            piece.iter().enumerate().for_each(|(turn, &cell)| at[cell] = (number, turn));
        }
        let order = |piece: &Vec<usize>| if piece.len() > 1 { piece.len() as u16 } else { before[piece[0]] };
        let orientation_counts: Vec<u16> = pieces.iter().map(order).collect();
        let action = |action: &OrientedPermutation| {
            let to = |number: usize| at[action.cells().apply(pieces[number][0])];
            let cells = Permutation::from_fn(pieces.len(), |number| to(number).0);
            let turn = |number: usize| match pieces[number][..] {
                [cell] => action.turns()[cell],
                _ => to(number).1 as u16,
            };
            let turns: Vec<u16> = (0..pieces.len()).map(turn).collect();
            OrientedPermutation::new(cells, turns, &*orientation_counts).ok()
        };
        let actions = self.actions.iter().map(action).collect::<Option<_>>()?;
        // The visible part of a piece are the labels of its stickers, and the number of rotations that can be
        // distinguished.
        let looks = pieces.iter().map(|piece| {
            if let [cell] = piece[..] {
                return (vec![self.visible_labels[cell].label], self.visible_labels[cell].seen);
            }
            let labels = self.labels_of(piece);
            let seen = (1..=labels.len()).find(|&by| labels[by..].iter().chain(&labels[..by]).eq(&labels));
            let seen = seen.expect("a full turn changes nothing") as u16;
            (labels, seen)
        });
        let (labels, seen): (Vec<Vec<u32>>, Vec<u16>) = looks.unzip();
        let labels: Vec<u32> = numbered(labels.into_iter());
        let visible_labels =
            labels.into_iter().zip(seen).map(|(label, seen)| VisibleLabel { label, seen }).collect();
        Some(Self { actions, visible_labels })
    }

    fn labels_of(&self, stickers: &[usize]) -> Vec<u32> {
        stickers.iter().map(|&cell| self.visible_labels[cell].label).collect()
    }

    /// Returns the stickers of a piece, rotated so that their labels are lexicographically smallest. So
    /// pieces that look alike in some orientations have their labels in the same order, and look alike
    /// whenever they are turned equally.
    fn in_least_order(&self, stickers: &[usize]) -> Vec<usize> {
        let turned = (0..stickers.len()).map(|by| [&stickers[by..], &stickers[..by]].concat());
        turned.min_by_key(|turned| self.labels_of(turned)).expect("a piece has a sticker")
    }

    /// Returns the large orbits without copies: those that are permuted like another one. The labels on a
    /// removed orbit become part of the labels on the other one. `None` if two orbits may be linked in
    /// another way.
    fn without_copies(
        &mut self,
        large: Vec<Vec<usize>>,
        samples: &[OrientedPermutation],
    ) -> Option<Vec<Vec<usize>>> {
        let mut kept: Vec<(Vec<Vec<usize>>, Vec<usize>)> = Vec::new();
        for orbit in large {
            let cycles: Vec<Vec<usize>> = samples
                .iter()
                .map(|sample| cycles(sample, &orbit).into_iter().map(|(length, _)| length).collect())
                .collect();
            match kept.iter().find(|(known, other)| other.len() == orbit.len() && *known == cycles) {
                None => kept.push((cycles, orbit)),
                Some((_, other)) => {
                    let turn = |cells: &[usize]| self.actions[0].orientation_counts()[cells[0]] > 1;
                    if turn(other) || turn(&orbit) {
                        return None;
                    }
                    let copy = self.copy(other, &orbit)?;
                    let pairs = other
                        .iter()
                        .zip(&copy)
                        .map(|(&a, &b)| (self.visible_labels[a].label, self.visible_labels[b].label));
                    let labels: Vec<u32> = numbered(pairs);
                    other
                        .iter()
                        .zip(labels)
                        .for_each(|(&cell, label)| self.visible_labels[cell].label = label);
                }
            }
        }
        Some(kept.into_iter().map(|(_, orbit)| orbit).collect())
    }

    /// Returns for each cell of `orbit` a cell of `other` such that all actions permute both in the same way;
    /// `None` if there is no such map.
    fn copy(&self, orbit: &[usize], other: &[usize]) -> Option<Vec<usize>> {
        other.iter().find_map(|&first| {
            let mut images: HashMap<usize, usize> = HashMap::from([(orbit[0], first)]);
            let mut open = vec![orbit[0]];
            while let Some(cell) = open.pop() {
                for action in &self.actions {
                    let (to, image) = (action.cells().apply(cell), action.cells().apply(images[&cell]));
                    match images.insert(to, image) {
                        None => open.push(to),
                        Some(before) if before != image => return None,
                        Some(_) => {}
                    }
                }
            }
            orbit.iter().map(|cell| images.get(cell).copied()).collect()
        })
    }

    /// Returns the cells of large orbits that are not in `kept`, because they are copies.
    fn copies(&self, kept: &[Vec<usize>]) -> Vec<usize> {
        let mut orbits = self.orbits();
        orbits.retain(|orbit| orbit.len() >= MIN_CELLS && !kept.contains(orbit));
        orbits.concat()
    }

    /// Returns whether samples show that the group has on `orbit` all even permutations with twists of sum 0.
    /// The [module documentation](self) has the argument.
    fn has_all(&self, orbit: &[usize], samples: &[OrientedPermutation]) -> bool {
        let is_prime = |p: usize| (2..p).take_while(|d| d * d <= p).all(|d| !p.is_multiple_of(d));
        let order = u64::from(self.actions[0].orientation_counts()[orbit[0]]);
        let mut is_alternating = false;
        let mut differences = order;
        for sample in samples {
            let cycles = cycles(sample, orbit);
            let n = orbit.len();
            is_alternating |= cycles.iter().any(|&(p, _)| 2 * p > n && p < n - 2 && is_prime(p));
            // The least power that moves no piece turns a piece by the twist of its cycle, power / length
            // times. The power may have hundreds of digits.
            let power = cycles.iter().fold(BigUint::from(1_u32), |all, &(length, _)| {
                let common = gcd(remainder(&all, length as u64), length as u64);
                all * (length as u64 / common)
            });
            let by = |&(length, twist): &(usize, u64)| remainder(&(&power / length), order) * twist % order;
            let first = by(&cycles[0]);
            differences =
                cycles.iter().fold(differences, |all, cycle| gcd(all, (by(cycle) + order - first) % order));
        }
        is_alternating && differences == 1
    }
}

/// Returns the remainder of a division by a number other than 0.
fn remainder(number: &BigUint, by: u64) -> u64 {
    u64::try_from(number % by).expect("the remainder is less than the divisor")
}

/// Returns the length of each cycle of an action on an orbit, with the sum of its turns, in increasing order.
fn cycles(action: &OrientedPermutation, orbit: &[usize]) -> Vec<(usize, u64)> {
    let mut seen: Vec<bool> = vec![false; action.degree()];
    let mut cycles = Vec::new();
    for &start in orbit {
        let (mut cell, mut length, mut twist) = (start, 0, 0);
        while !std::mem::replace(&mut seen[cell], true) {
            twist += u64::from(action.turns()[cell]);
            length += 1;
            cell = action.cells().apply(cell);
        }
        if length > 0 {
            cycles.push((length, twist));
        }
    }
    cycles.sort_unstable();
    cycles
}

/// Returns random elements, by product replacement. (F. Celler et al., *Generating random elements of a
/// finite group*, 1995.) `None` if there are no actions.
fn samples(actions: &[OrientedPermutation]) -> Option<Vec<OrientedPermutation>> {
    const FEWEST: usize = 12;
    let mut random = fastrand::Rng::with_seed(0);
    let mut elements: Vec<OrientedPermutation> =
        actions.iter().cycle().take(actions.len().max(FEWEST)).cloned().collect();
    if actions.is_empty() {
        return None;
    }
    let points: usize = actions[0].degree();
    let wanted = (2_000_000 / points.max(1)).clamp(40, MAX_SAMPLES);
    let mut samples = Vec::new();
    let mut product = elements[0].clone();
    for step in 0..wanted + 4 * elements.len() {
        let (i, j) = (random.usize(..elements.len()), random.usize(..elements.len()));
        if i != j {
            elements[i] = elements[i].then(&elements[j]);
        }
        product = product.then(&elements[i]);
        if step >= 4 * elements.len() {
            samples.push(product.clone());
        }
    }
    Some(samples)
}

/// Orders the stickers of each block such that all actions keep the orders up to rotations.
/// `None` if that is impossible, or if blocks are too large.
fn in_order(blocks: &[Vec<usize>], actions: &[Permutation]) -> Option<Vec<Vec<usize>>> {
    let size = blocks[0].len();
    if size > MAX_STICKERS {
        return None;
    }
    let block_of: HashMap<usize, usize> = blocks
        .iter()
        .enumerate()
        .flat_map(|(number, block)| block.iter().map(move |&cell| (cell, number)))
        .collect();
    orders_of(&blocks[0][1..]).into_iter().find_map(|others| {
        let mut ordered: Vec<Option<Vec<usize>>> = vec![None; blocks.len()];
        ordered[0] = Some([&blocks[0][..1], &others].concat());
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            for action in actions {
                let from = ordered[number].as_ref().expect("blocks are ordered before they are visited");
                let image: Vec<usize> = from.iter().map(|&cell| action.apply(cell)).collect();
                let to = block_of[&image[0]];
                match &ordered[to] {
                    None => {
                        ordered[to] = Some(image);
                        open.push(to);
                    }
                    Some(known) => {
                        let by = known.iter().position(|&cell| cell == image[0])?;
                        if (0..size).any(|at| known[(at + by) % size] != image[at]) {
                            return None;
                        }
                    }
                }
            }
        }
        ordered.into_iter().collect()
    })
}

/// Returns all orders (arrangements) of `things`.
fn orders_of(things: &[usize]) -> Vec<Vec<usize>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    let first = |at: usize| {
        let rest = [&things[..at], &things[at + 1..]].concat();
        orders_of(&rest).into_iter().map(move |rest| [&things[at..=at], &rest].concat())
    };
    (0..things.len()).flat_map(first).collect()
}

/// The quotient of the group by the product of the groups D of the large orbits.
#[derive(Default)]
struct Quotient {
    orientation_counts: Vec<u16>,
    visible_labels: Vec<VisibleLabel>,
    /// For each action and each cell: where the action carries the piece, and how it turns it.
    images: Vec<Vec<(usize, u16)>>,
}

impl Quotient {
    /// Starts the quotient with the action on `cells`, which are not in large orbits.
    fn keep(&mut self, puzzle: &Cells, cells: &[usize]) {
        let numbers: HashMap<usize, usize> = cells.iter().copied().zip(0..).collect();
        self.orientation_counts =
            cells.iter().map(|&cell| puzzle.actions[0].orientation_counts()[cell]).collect();
        self.visible_labels = cells.iter().map(|&cell| puzzle.visible_labels[cell]).collect();
        let image = |action: &OrientedPermutation| {
            cells.iter().map(|&cell| (numbers[&action.cells().apply(cell)], action.turns()[cell])).collect()
        };
        self.images = puzzle.actions.iter().map(image).collect();
    }

    /// Adds the quotient of a large orbit: two cells for the parity, if no pieces look alike, and one cell
    /// for the sum of the twists modulo `seen`.
    fn add_quotient(&mut self, puzzle: &Cells, orbit: &[usize], has_parity: bool, seen: u16) {
        let mut next =
            self.visible_labels.iter().map(|visible_labels| visible_labels.label + 1).max().unwrap_or(0);
        let mut add =
            |visible_labels: &mut Vec<VisibleLabel>, orientation_counts: &mut Vec<u16>, seen: u16| {
                visible_labels.push(VisibleLabel { label: next, seen });
                orientation_counts.push(seen);
                next += 1;
            };
        let first = self.orientation_counts.len();
        if has_parity {
            add(&mut self.visible_labels, &mut self.orientation_counts, 1);
            add(&mut self.visible_labels, &mut self.orientation_counts, 1);
        }
        if seen > 1 {
            add(&mut self.visible_labels, &mut self.orientation_counts, seen);
        }
        for (action, images) in puzzle.actions.iter().zip(&mut self.images) {
            let cycles = cycles(action, orbit);
            if has_parity {
                let is_odd = cycles.iter().map(|(length, _)| length - 1).sum::<usize>() % 2;
                images.extend([(first + is_odd, 0), (first + 1 - is_odd, 0)]);
            }
            if seen > 1 {
                let twist = cycles.iter().map(|(_, twist)| twist).sum::<u64>() % u64::from(seen);
                images.push((self.orientation_counts.len() - 1, twist as u16));
            }
        }
    }

    /// Returns the number of states of the quotient; `None` if the quotient is too large.
    fn states(&self) -> Option<BigUint> {
        let points: usize = self.orientation_counts.iter().map(|&order| usize::from(order)).sum();
        if self.orientation_counts.is_empty() {
            return Some(BigUint::from(1_u32));
        }
        if points > MAX_POINTS_LEFT {
            return None;
        }
        let action = |images: &Vec<(usize, u16)>| {
            let cells = Permutation::from_fn(images.len(), |cell| images[cell].0);
            let turns: Vec<u16> = images.iter().map(|&(_, turn)| turn).collect();
            OrientedPermutation::new(cells, turns, &*self.orientation_counts).ok()
        };
        let actions: Vec<OrientedPermutation> = self.images.iter().map(action).collect::<Option<_>>()?;
        let on_points: Vec<Permutation> = actions.iter().map(OrientedPermutation::as_points).collect();
        let order = StabiliserChain::new(points, &on_points).big_order();
        Some(&order / label_stabiliser(&actions, &order, &self.visible_labels)?)
    }
}
