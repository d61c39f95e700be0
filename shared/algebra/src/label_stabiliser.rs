//! Counts the elements of a group without a visible effect, because pieces look alike or hide their
//! orientations. These *unseen* elements form the stabiliser of a labelling, so the number of labelled states
//! is the order of the group divided by the number of unseen elements. No states are listed.
//!
//! The cells are divided into *parts*, unions of orbits. The *kernel* Kᵢ of part i is the subgroup of the
//! elements of the group G that move only part i. Let K be the product of all Kᵢ. On part i, a coset gK
//! acts like gKᵢ, independently of the other parts. So a coset gK contains unseen elements if and only
//! if it contains for each part an element that is unseen on that part, and then it contains as many as K.
//! The number of unseen elements is the number of such cosets, times the numbers of unseen elements of all
//! Kᵢ. If the quotient G/K is large, parts that depend on each other are joined.
//!
//! On one part there are two methods. If Kᵢ has all permutations, or all even permutations, of the cells,
//! together with all twists whose sum is a multiple of some number, the numbers follow from the sizes of the
//! label classes. Otherwise a backtracking search along a stabiliser chain finds the elements.

mod chain;

use crate::orbits::orbits;
use crate::permutation::gcd;
use crate::{OrientedPermutation, Permutation, StabiliserChain};
use chain::Chain;
use num_bigint::BigUint;

/// The largest quotient whose cosets are listed. For a larger quotient, parts are joined.
const MAX_COSETS: u64 = 256;
/// The maximum number of images that one call tries in all its searches.
const MAX_NODES: u64 = 1 << 24;

/// The visible part of the piece on a cell. Pieces with equal labels look alike, and must show equally many
/// orientations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisibleLabel {
    /// The label.
    pub label: u32,
    /// The number of distinguished orientations: a divisor of the number of orientations of the cell.
    pub seen: u16,
}

/// Returns the number of elements of the group that carry each piece to a cell of an equal label and turn it
/// by a multiple of the number of orientations that it shows. `None` if that takes too long.
///
/// `order` must be the order of the group. If it is larger, the function does not terminate.
///
/// # Panics
/// If a generator is not the identity and there is not one [`VisibleLabel`] for each cell, or if generators
/// are of different cells.
pub fn label_stabiliser(
    generators: &[OrientedPermutation],
    order: &BigUint,
    visible_labels: &[VisibleLabel],
) -> Option<BigUint> {
    let Some(first) = generators.iter().find(|generator| !generator.is_identity()) else {
        return Some(BigUint::from(1_u32));
    };
    assert_eq!(first.degree(), visible_labels.len(), "one label per cell");
    let whole = LabelledGroup {
        generators: generators.iter().map(OrientedPermutation::as_points).collect(),
        order: order.clone(),
        cells: Cells::new(first.orientation_counts(), visible_labels),
    };
    let mut parts = whole.parts(generators);
    loop {
        let kernels: BigUint = parts.iter().map(|part| part.kernel.big_order()).product();
        let cosets = &whole.order / kernels;
        match u64::try_from(&cosets) {
            Ok(cosets) if cosets <= MAX_COSETS || parts.len() == 1 => return whole.unseen(&parts, cosets),
            _ if parts.len() == 1 => return None,
            _ => whole.join_two(&mut parts),
        }
    }
}

/// The cells of the puzzle, with one point for each cell and orientation.
struct Cells {
    /// The first point of each cell.
    first: Vec<usize>,
    orientation_counts: Vec<u16>,
    visible_labels: Vec<VisibleLabel>,
    /// For each point: its cell, its label, and its visible orientation.
    seen_at: Vec<(usize, u32, u16)>,
}

impl Cells {
    fn new(orientation_counts: &[u16], visible_labels: &[VisibleLabel]) -> Self {
        let mut first = Vec::new();
        let mut seen_at = Vec::new();
        for (cell, (&order, visible_labels)) in orientation_counts.iter().zip(visible_labels).enumerate() {
            first.push(seen_at.len());
            seen_at.extend((0..order).map(|side| (cell, visible_labels.label, side % visible_labels.seen)));
        }
        Self {
            first,
            orientation_counts: orientation_counts.into(),
            visible_labels: visible_labels.into(),
            seen_at,
        }
    }

    fn points(&self, cells: &[usize]) -> Vec<usize> {
        let of =
            |&cell: &usize| self.first[cell]..self.first[cell] + usize::from(self.orientation_counts[cell]);
        cells.iter().flat_map(of).collect()
    }

    /// Returns the cell to which `element` carries the piece on `cell`, and the amount by which it turns the
    /// piece.
    fn image(&self, element: &Permutation, cell: usize) -> (usize, u16) {
        let point = element.apply(self.first[cell]);
        let to = self.seen_at[point].0;
        (to, (point - self.first[to]) as u16)
    }

    /// Returns whether two points show the same label and orientation.
    fn alike(&self, one: usize, other: usize) -> bool {
        let [(_, label, side), (_, other_label, other_side)] = [self.seen_at[one], self.seen_at[other]];
        (label, side) == (other_label, other_side)
    }
}

struct LabelledGroup {
    /// The generators, as permutations of the points.
    generators: Vec<Permutation>,
    order: BigUint,
    cells: Cells,
}

/// A union of orbits of cells.
struct Part {
    cells: Vec<usize>,
    /// The subgroup of the elements that move only this part.
    kernel: Chain,
}

impl LabelledGroup {
    /// Returns a part for each orbit of cells, and for each cell whose piece turns but never leaves it.
    fn parts(&self, generators: &[OrientedPermutation]) -> Vec<Part> {
        let on_cells: Vec<Permutation> = generators.iter().map(|g| g.cells().clone()).collect();
        let mut orbits = orbits(self.cells.visible_labels.len(), &on_cells);
        let moved: Vec<usize> = orbits.iter().flatten().copied().collect();
        let turns = |cell: usize| generators.iter().any(|generator| generator.turns()[cell] > 0);
        orbits.extend(
            (0..self.cells.visible_labels.len()).filter(|c| !moved.contains(c) && turns(*c)).map(|c| vec![c]),
        );
        orbits.into_iter().map(|cells| self.part(cells)).collect()
    }

    fn part(&self, mut cells: Vec<usize>) -> Part {
        cells.sort_unstable();
        let inside = self.cells.points(&cells);
        let mut is_inside = vec![false; self.cells.seen_at.len()];
        inside.iter().for_each(|&point| is_inside[point] = true);
        let outside: Vec<usize> = (0..is_inside.len()).filter(|&point| !is_inside[point]).collect();
        let base = outside.iter().chain(&inside).copied();
        let chain = Chain::of_order(&self.generators, base.collect(), &self.order);
        Part { cells, kernel: chain.after(outside.len()) }
    }

    /// Joins two parts that depend on each other: the part whose kernel is smallest relative to the action of
    /// the whole group on that part, and the part with which it gains most.
    fn join_two(&self, parts: &mut Vec<Part>) {
        let missing = |part: &Part| {
            let inside = self.cells.points(&part.cells);
            let on_part: Vec<Permutation> = self.generators.iter().map(|g| restricted(g, &inside)).collect();
            StabiliserChain::new(inside.len(), &on_part).big_order() / part.kernel.big_order()
        };
        let worst = (0..parts.len()).max_by_key(|&i| missing(&parts[i])).expect("there are parts");
        let one = parts.swap_remove(worst);
        let joined = parts.iter().enumerate().map(|(i, part)| {
            let together = self.part(one.cells.iter().chain(&part.cells).copied().collect());
            let gained = together.kernel.big_order() / part.kernel.big_order();
            (gained, i, together)
        });
        let (_, other, together) =
            joined.max_by_key(|(gained, ..)| gained.clone()).expect("there are two parts");
        parts[other] = together;
    }

    fn unseen(&self, parts: &[Part], cosets: u64) -> Option<BigUint> {
        let mut nodes = MAX_NODES;
        let kinds: Vec<Kind> = parts.iter().map(|part| Kind::new(part, &self.cells)).collect();
        let mut inside = BigUint::from(1_u32);
        for (part, kind) in parts.iter().zip(&kinds) {
            inside *= kind.unseen(part, &self.cells, &mut nodes)?;
        }
        let mut found = 0_u64;
        for representative in self.representatives(parts, cosets) {
            let mut all = true;
            for (part, kind) in parts.iter().zip(&kinds) {
                if !kind.coset_has_unseen(part, &self.cells, &representative, &mut nodes)? {
                    all = false;
                    break;
                }
            }
            found += u64::from(all);
        }
        Some(inside * found)
    }

    /// Returns one element of each coset of the product of the kernels.
    fn representatives(&self, parts: &[Part], cosets: u64) -> Vec<Permutation> {
        let mut found = vec![Permutation::identity(self.cells.seen_at.len())];
        let mut next = 0;
        while next < found.len() && (found.len() as u64) < cosets {
            for generator in &self.generators {
                let element = found[next].then(generator);
                let is_new = found.iter().all(|other| {
                    let quotient = element.then(&other.inverse());
                    parts
                        .iter()
                        .any(|part| !part.kernel.contains_on_part(&quotient, &self.cells, &part.cells))
                });
                if is_new {
                    found.push(element);
                }
            }
            next += 1;
        }
        debug_assert_eq!(found.len() as u64, cosets, "the generators reach all cosets");
        found
    }
}

/// Returns the action of `element` on `points`, a sorted list of points that it permutes, numbered in their
/// order.
fn restricted(element: &Permutation, points: &[usize]) -> Permutation {
    Permutation::from_fn(points.len(), |i| {
        points.binary_search(&element.apply(points[i])).expect("the points are permuted")
    })
}

/// How to count the unseen elements of a kernel.
enum Kind {
    /// By a formula: the kernel has all permutations, or all even permutations, of the cells, and all twists
    /// whose sum is a multiple of [`Symmetric::sums`].
    Symmetric(Symmetric),
    /// By searching, for any group.
    Any,
}

struct Symmetric {
    /// The number of orientations of each cell.
    order: u16,
    /// A divisor of the number of orientations: the sums of twists that move no piece are its multiples.
    sums: u16,
    /// An element with an odd permutation of the cells, if the kernel has one.
    odd: Option<Permutation>,
    /// A divisor of the number of orientations: the sums of unseen twists are its multiples.
    shown_sums: u16,
    /// Whether two cells have equal labels.
    has_alike: bool,
}

impl Kind {
    fn new(part: &Part, cells: &Cells) -> Self {
        Self::symmetric(part, cells).map_or(Self::Any, Self::Symmetric)
    }

    fn symmetric(part: &Part, cells: &Cells) -> Option<Symmetric> {
        let of_part = &part.cells;
        let order = cells.orientation_counts[of_part[0]];
        if of_part.iter().any(|&cell| cells.orientation_counts[cell] != order) {
            return None;
        }
        let on_cells = |element: &Permutation| {
            Permutation::from_fn(of_part.len(), |i| {
                of_part.binary_search(&cells.image(element, of_part[i]).0).expect("parts are permuted")
            })
        };
        let generators: Vec<Permutation> = part.kernel.generators().map(on_cells).collect();
        let permutations = StabiliserChain::new(of_part.len(), &generators).big_order();
        let factorial: BigUint = (1..=of_part.len()).map(BigUint::from).product();
        let odd = part.kernel.generators().find(|element| !on_cells(element).is_even()).cloned();
        if permutations != factorial && (odd.is_some() || permutations * 2_u32 != factorial) {
            return None;
        }
        // The kernel must have all twists of sum 0, for which pairs of opposite twists suffice. Its other
        // twists are then described by their sums.
        let twist = |by: &[(usize, u16)]| {
            Permutation::from_fn(cells.seen_at.len(), |point| {
                let (cell, ..) = cells.seen_at[point];
                let turn = by.iter().find(|(of, _)| *of == cell).map_or(0, |&(_, turn)| turn);
                let side = (point - cells.first[cell]) as u16;
                cells.first[cell] + usize::from((side + turn) % cells.orientation_counts[cell])
            })
        };
        let cancel = |&cell: &usize| part.kernel.contains(&twist(&[(of_part[0], 1), (cell, order - 1)]));
        if order > 1 && !of_part[1..].iter().all(cancel) {
            return None;
        }
        let sums = (1..=order)
            .filter(|sum| order.is_multiple_of(*sum))
            .find(|&sum| part.kernel.contains(&twist(&[(of_part[0], sum % order)])))?;
        // The formula needs that the sum of an element, modulo the sums of twists, depends only on its
        // parity: 0 for even permutations, and the same number for all odd ones.
        let sum = |element: &Permutation| {
            of_part.iter().map(|&cell| u64::from(cells.image(element, cell).1)).sum::<u64>() % u64::from(sums)
        };
        let odd_sum = odd.as_ref().map_or(0, &sum);
        let by_parity =
            |element: &Permutation| sum(element) == if on_cells(element).is_even() { 0 } else { odd_sum };
        if !(2 * odd_sum).is_multiple_of(sums.into()) || !part.kernel.generators().all(by_parity) {
            return None;
        }
        let shown_sums = of_part
            .iter()
            .fold(u64::from(order), |all, &cell| gcd(all, cells.visible_labels[cell].seen.into()));
        let mut labels: Vec<u32> = of_part.iter().map(|&cell| cells.visible_labels[cell].label).collect();
        labels.sort_unstable();
        let has_alike = labels.windows(2).any(|pair| pair[0] == pair[1]);
        Some(Symmetric { order, sums, odd, shown_sums: shown_sums as u16, has_alike })
    }

    /// Returns the number of unseen elements of the kernel.
    fn unseen(&self, part: &Part, cells: &Cells, nodes: &mut u64) -> Option<BigUint> {
        let symmetric = match self {
            Self::Any => return part.kernel.unseen(cells, nodes),
            Self::Symmetric(symmetric) => symmetric,
        };
        let mut labels: Vec<u32> = part.cells.iter().map(|&cell| cells.visible_labels[cell].label).collect();
        labels.sort_unstable();
        let classes = labels.chunk_by(|a, b| a == b);
        let exchanges: BigUint =
            classes.map(|class| (1..=class.len()).map(BigUint::from).product::<BigUint>()).product();
        let even = if symmetric.has_alike { &exchanges / 2_u32 } else { exchanges.clone() };
        let odd = &exchanges - &even;
        // For one permutation of the cells, the kernel has either no unseen element, or as many as it has
        // unseen twists.
        let hidden: BigUint = part
            .cells
            .iter()
            .map(|&cell| BigUint::from(symmetric.order / cells.visible_labels[cell].seen))
            .product();
        // The sums of unseen twists are the multiples of `shown_sums`, equally often. Those in the kernel
        // also have multiples of `sums` as sums.
        let both = lcm(symmetric.sums, symmetric.shown_sums);
        let twists =
            hidden * u32::from(symmetric.order / both) / u32::from(symmetric.order / symmetric.shown_sums);
        let with_odd =
            symmetric.odd.as_ref().is_some_and(|element| symmetric.can_be_unseen(element, part, cells));
        Some(twists * if with_odd { even + odd } else { even })
    }

    /// Returns whether the coset of an element of the whole group has an element that is unseen on the part.
    fn coset_has_unseen(
        &self,
        part: &Part,
        cells: &Cells,
        element: &Permutation,
        nodes: &mut u64,
    ) -> Option<bool> {
        let symmetric = match self {
            Self::Any => return part.kernel.coset_has_unseen(cells, &part.cells, element, nodes),
            Self::Symmetric(symmetric) => symmetric,
        };
        let is_even = |element: &Permutation| {
            let of_part = &part.cells;
            Permutation::from_fn(of_part.len(), |i| {
                of_part.binary_search(&cells.image(element, of_part[i]).0).expect("parts are permuted")
            })
            .is_even()
        };
        let others = symmetric.odd.iter().map(|odd| element.then(odd));
        // The coset of an even element contains the identity permutation of the cells, which is unseen. The
        // coset of an odd element needs two pieces that look alike, which an unseen element swaps.
        let can = |element: &Permutation| {
            (is_even(element) || symmetric.has_alike) && symmetric.can_be_unseen(element, part, cells)
        };
        Some(can(element) || others.into_iter().any(|other| can(&other)))
    }
}

impl Symmetric {
    /// Returns whether twists of the kernel and unseen twists together can cancel the sum of the turns of
    /// `element`. Elements with the same permutation of the cells agree here, because their sums differ by
    /// those of twists of the kernel.
    fn can_be_unseen(&self, element: &Permutation, part: &Part, cells: &Cells) -> bool {
        let sum: u64 = part.cells.iter().map(|&cell| u64::from(cells.image(element, cell).1)).sum();
        sum.is_multiple_of(gcd(self.sums.into(), self.shown_sums.into()))
    }
}

fn lcm(a: u16, b: u16) -> u16 {
    a / gcd(a.into(), b.into()) as u16 * b
}
