//! How many elements of a group cannot be seen, where pieces look alike or hide their orientations: the order
//! of the stabiliser of a labelling. The number of labelled states is the order of the group over this
//! number. No states are listed.
//!
//! The cells are cut into *parts*, unions of orbits. Let K be the product of the subgroups Kᵢ that move one
//! part i alone. An element of a coset gK is unseen if and only if it is on each part, and on part i it may
//! be any element of gKᵢ. So the number of unseen elements is the number of cosets gK that have one on each
//! part, times the unseen elements of each Kᵢ. Where the quotient G/K is large, parts that depend on each
//! other are joined.
//!
//! On one part there are two ways. Where Kᵢ gives all, or all even, permutations of the cells, together with
//! all twists of a given sum, the numbers follow from the sizes of the classes. Elsewhere elements are looked
//! for by backtracking along a stabiliser chain.

mod chain;

use crate::orbits::orbits;
use crate::permutation::gcd;
use crate::{OrientedPermutation, Permutation, StabiliserChain};
use chain::Chain;
use num_bigint::BigUint;

/// Larger quotients have parts joined.
const MOST_COSETS: u64 = 256;
/// So many images are tried at most, of all elements that are looked for.
const MOST_NODES: u64 = 1 << 24;

/// What stands on a cell: pieces with one label are alike, and show so many of their orientations, a divisor
/// of their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The label.
    pub label: u32,
    /// How many orientations are told apart.
    pub seen: u16,
}

/// The number of elements of the group that carry each piece to a cell of an equal label and turn it by a
/// multiple of what it shows. `order` is that of the group. `None` if that takes too long to find out.
///
/// # Panics
/// If there is not one [`Shown`] for each cell, or generators are of different cells.
pub fn unseen_elements(
    generators: &[OrientedPermutation],
    order: &BigUint,
    shown: &[Shown],
) -> Option<BigUint> {
    let Some(first) = generators.iter().find(|generator| !generator.is_identity()) else {
        return Some(BigUint::from(1_u32));
    };
    assert_eq!(first.degree(), shown.len(), "one label a cell");
    let whole = Whole {
        generators: generators.iter().map(OrientedPermutation::as_points).collect(),
        order: order.clone(),
        cells: Cells::of(first.orders(), shown),
    };
    let mut parts = whole.parts(generators);
    loop {
        let kernels: BigUint = parts.iter().map(|part| part.kernel.big_order()).product();
        let cosets = &whole.order / kernels;
        match u64::try_from(&cosets) {
            Ok(cosets) if cosets <= MOST_COSETS || parts.len() == 1 => return whole.unseen(&parts, cosets),
            _ if parts.len() == 1 => return None,
            _ => whole.join_two(&mut parts),
        }
    }
}

/// The cells, as points.
struct Cells {
    /// The first point of each cell.
    first: Vec<usize>,
    orders: Vec<u16>,
    shown: Vec<Shown>,
    /// By point: its cell, and what is seen there.
    seen_at: Vec<(usize, u32, u16)>,
}

impl Cells {
    fn of(orders: &[u16], shown: &[Shown]) -> Self {
        let mut first = Vec::new();
        let mut seen_at = Vec::new();
        for (cell, (&order, shown)) in orders.iter().zip(shown).enumerate() {
            first.push(seen_at.len());
            seen_at.extend((0..order).map(|side| (cell, shown.label, side % shown.seen)));
        }
        Self { first, orders: orders.into(), shown: shown.into(), seen_at }
    }

    fn points(&self, cells: &[usize]) -> Vec<usize> {
        let of = |&cell: &usize| self.first[cell]..self.first[cell] + usize::from(self.orders[cell]);
        cells.iter().flat_map(of).collect()
    }

    /// The cell to which an element carries the piece of a cell, and by how much it turns it.
    fn image(&self, element: &Permutation, cell: usize) -> (usize, u16) {
        let point = element.apply(self.first[cell]);
        let to = self.seen_at[point].0;
        (to, (point - self.first[to]) as u16)
    }

    /// Whether two points show the same.
    fn alike(&self, one: usize, other: usize) -> bool {
        let [(_, label, side), (_, other_label, other_side)] = [self.seen_at[one], self.seen_at[other]];
        (label, side) == (other_label, other_side)
    }
}

struct Whole {
    /// On points.
    generators: Vec<Permutation>,
    order: BigUint,
    cells: Cells,
}

/// A union of orbits.
struct Part {
    cells: Vec<usize>,
    /// The elements that move this part alone.
    kernel: Chain,
}

impl Whole {
    /// A part for each orbit of cells, and for each piece that turns where it stays.
    fn parts(&self, generators: &[OrientedPermutation]) -> Vec<Part> {
        let on_cells: Vec<Permutation> = generators.iter().map(|g| g.cells().clone()).collect();
        let mut orbits = orbits(self.cells.shown.len(), &on_cells);
        let moved: Vec<usize> = orbits.iter().flatten().copied().collect();
        let turns = |cell: usize| generators.iter().any(|generator| generator.turns()[cell] > 0);
        orbits
            .extend((0..self.cells.shown.len()).filter(|c| !moved.contains(c) && turns(*c)).map(|c| vec![c]));
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

    /// Joins two parts that depend on each other: the one whose kernel misses most, and the one that gives it
    /// most.
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
        let mut nodes = MOST_NODES;
        let kinds: Vec<Kind> = parts.iter().map(|part| Kind::of(part, &self.cells)).collect();
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

    /// One element of each coset of the product of the kernels.
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

/// What an element does to some points that it permutes, numbered in their order.
fn restricted(element: &Permutation, points: &[usize]) -> Permutation {
    Permutation::from_fn(points.len(), |i| {
        points.binary_search(&element.apply(points[i])).expect("the points are permuted")
    })
}

/// How the unseen elements of a kernel are counted.
enum Kind {
    /// All, or all even, permutations of the cells, and all twists whose sum is a multiple of `sums`.
    Symmetric(Symmetric),
    /// Any group.
    Any,
}

struct Symmetric {
    /// The number of orientations.
    order: u16,
    /// Twists that move no piece have sums that are the multiples of this divisor of the number of
    /// orientations.
    sums: u16,
    /// An element with an odd permutation of the cells, if there is one.
    odd: Option<Permutation>,
    /// What the pieces show is turned in sums that are multiples of this.
    shown_sums: u16,
    /// Whether two cells have one label.
    has_alike: bool,
}

impl Kind {
    fn of(part: &Part, cells: &Cells) -> Self {
        Self::symmetric(part, cells).map_or(Self::Any, Self::Symmetric)
    }

    fn symmetric(part: &Part, cells: &Cells) -> Option<Symmetric> {
        let of_part = &part.cells;
        let order = cells.orders[of_part[0]];
        if of_part.iter().any(|&cell| cells.orders[cell] != order) {
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
        // All twists of two cells that cancel, and then those that are left have any sums that are there.
        let twist = |by: &[(usize, u16)]| {
            Permutation::from_fn(cells.seen_at.len(), |point| {
                let (cell, ..) = cells.seen_at[point];
                let turn = by.iter().find(|(of, _)| *of == cell).map_or(0, |&(_, turn)| turn);
                let side = (point - cells.first[cell]) as u16;
                cells.first[cell] + usize::from((side + turn) % cells.orders[cell])
            })
        };
        let cancel = |&cell: &usize| part.kernel.contains(&twist(&[(of_part[0], 1), (cell, order - 1)]));
        if order > 1 && !of_part[1..].iter().all(cancel) {
            return None;
        }
        let sums = (1..=order)
            .filter(|sum| order.is_multiple_of(*sum))
            .find(|&sum| part.kernel.contains(&twist(&[(of_part[0], sum % order)])))?;
        // Even permutations come with sums that twists make up for, and all odd ones with the same sum but
        // for that: so it is where the sum depends on nothing but the parity.
        let sum = |element: &Permutation| {
            of_part.iter().map(|&cell| u64::from(cells.image(element, cell).1)).sum::<u64>() % u64::from(sums)
        };
        let odd_sum = odd.as_ref().map_or(0, &sum);
        let by_parity =
            |element: &Permutation| sum(element) == if on_cells(element).is_even() { 0 } else { odd_sum };
        if !(2 * odd_sum).is_multiple_of(sums.into()) || !part.kernel.generators().all(by_parity) {
            return None;
        }
        let shown_sums =
            of_part.iter().fold(u64::from(order), |all, &cell| gcd(all, cells.shown[cell].seen.into()));
        let mut labels: Vec<u32> = of_part.iter().map(|&cell| cells.shown[cell].label).collect();
        labels.sort_unstable();
        let has_alike = labels.windows(2).any(|pair| pair[0] == pair[1]);
        Some(Symmetric { order, sums, odd, shown_sums: shown_sums as u16, has_alike })
    }

    /// The number of unseen elements of the kernel.
    fn unseen(&self, part: &Part, cells: &Cells, nodes: &mut u64) -> Option<BigUint> {
        let symmetric = match self {
            Self::Any => return part.kernel.unseen(cells, nodes),
            Self::Symmetric(symmetric) => symmetric,
        };
        let mut labels: Vec<u32> = part.cells.iter().map(|&cell| cells.shown[cell].label).collect();
        labels.sort_unstable();
        let classes = labels.chunk_by(|a, b| a == b);
        let exchanges: BigUint =
            classes.map(|class| (1..=class.len()).map(BigUint::from).product::<BigUint>()).product();
        let even = if symmetric.has_alike { &exchanges / 2_u32 } else { exchanges.clone() };
        let odd = &exchanges - &even;
        // Of the elements of one permutation of the cells either none is unseen, or as many as there are
        // unseen twists.
        let hidden: BigUint =
            part.cells.iter().map(|&cell| BigUint::from(symmetric.order / cells.shown[cell].seen)).product();
        // Unseen twists have all multiples of `shown_sums` as sums, equally often; those of the kernel have
        // multiples of `sums`.
        let both = lcm(symmetric.sums, symmetric.shown_sums);
        let twists =
            hidden * u32::from(symmetric.order / both) / u32::from(symmetric.order / symmetric.shown_sums);
        let with_odd =
            symmetric.odd.as_ref().is_some_and(|element| symmetric.can_be_unseen(element, part, cells));
        Some(twists * if with_odd { even + odd } else { even })
    }

    /// Whether the coset of an element of the whole group has an element that is unseen on the part.
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
        // Even permutations that exchange alike pieces are always there, for the identity is one.
        let can = |element: &Permutation| {
            (is_even(element) || symmetric.has_alike) && symmetric.can_be_unseen(element, part, cells)
        };
        Some(can(element) || others.into_iter().any(|other| can(&other)))
    }
}

impl Symmetric {
    /// Whether twists of the kernel, and twists that are not seen, can make up for the sum of the turns of an
    /// element. The sum of another element with the same permutation of the cells differs by what twists
    /// of the kernel make up for.
    fn can_be_unseen(&self, element: &Permutation, part: &Part, cells: &Cells) -> bool {
        let sum: u64 = part.cells.iter().map(|&cell| u64::from(cells.image(element, cell).1)).sum();
        sum.is_multiple_of(gcd(self.sums.into(), self.shown_sums.into()))
    }
}

fn lcm(a: u16, b: u16) -> u16 {
    a / gcd(a.into(), b.into()) as u16 * b
}
