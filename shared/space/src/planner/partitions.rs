//! Partitions of the pieces that may serve as colourings.

use crate::alternation::alternating_rings;
use crate::cells::Cell;
use crate::{Space, Symmetry};
use fathom_algebra::numbered;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A class of pieces for each piece. There may be more classes than colours, until the pieces of each label
/// are joined.
type Partition = Vec<u16>;

/// Returns the partitions of the pieces that are worth judging. None of them splits a label.
pub(super) fn candidates(space: &Space, actions: &[(&Symmetry, usize)]) -> BTreeSet<Vec<u8>> {
    let cells = space.cells();
    let mut bases: FxHashSet<Partition> = FxHashSet::default();
    let labels = space.labels();
    let first_with = |label: u8| {
        labels.of_pieces().iter().position(|&l| l == label).expect("every label is on a piece") as Cell
    };
    let first_with: Vec<Cell> = (0..labels.sizes().len()).map(|label| first_with(label as u8)).collect();
    let label = |piece: usize| usize::from(labels.of_pieces()[piece]);
    let image = |s: &Symmetry, piece: usize| first_with[usize::from(s.labels[label(piece)])];
    // The orbits of two symmetries are the join of those of each, and many symmetries have the same orbits.
    let of_one: BTreeSet<Vec<Cell>> = actions
        .iter()
        .map(|(symmetry, _)| firsts(&joined(cells, (0..cells).map(|c| (c, image(symmetry, c))))))
        .collect();
    for a in &of_one {
        for b in of_one.range::<Vec<Cell>, _>(a..) {
            bases.insert(joined(cells, (0..cells).flat_map(|c| [(c, a[c]), (c, b[c])])));
        }
    }
    let mut partitions = FxHashSet::default();
    for base in bases {
        for size in 1..=5 {
            partitions.insert(chunked(&base, size));
        }
        for size in 2..=8 {
            partitions.insert(merged(&base, size));
        }
        partitions.insert(base);
    }
    // If pieces that never exchange places share a colour, moves reach few of its words. If there are many
    // such pieces, separating them may give too many patterns. So partitions of both sorts are candidates.
    let kinds: Partition = numbered(space.puzzle().kinds.iter());
    if kinds.iter().any(|&kind| kind != 0) {
        let cut = |partition: &Partition| numbered(partition.iter().zip(&kinds));
        let cut: Vec<Partition> = partitions.iter().map(cut).collect();
        partitions.extend(cut);
        partitions.extend((2..=8).map(|size| chunked(&kinds, size)));
    }
    // Every partition is cut further where pieces of different orbits, or with different numbers of
    // orientations, are together.
    let kind: Vec<(usize, u8)> = (0..cells)
        .map(|cell| {
            let orbit = space.orbits().iter().position(|orbit| orbit.cells.contains(&(cell as Cell)));
            let seen = space.symbols().seen(space.labels().of_pieces()[cell]);
            (orbit.expect("every cell is in an orbit"), seen)
        })
        .collect();
    let mut whole = FxHashSet::default();
    for partition in partitions {
        let partition: Partition = numbered((0..cells).map(|cell| (partition[cell], kind[cell])));
        // Either the colours that share a label are joined, or every label with several pieces is a colour of
        // its own.
        let same_colour = firsts(&partition).into_iter().enumerate();
        let same_label = (0..cells).map(|c| (c, first_with[label(c)]));
        whole.insert(joined(cells, same_colour.chain(same_label)));
        let key = |c: usize| {
            let label = labels.of_pieces()[c];
            if labels.sizes()[usize::from(label)] > 1 { (true, label.into()) } else { (false, partition[c]) }
        };
        whole.insert(numbered((0..cells).map(key)));
    }
    // If pieces look alike, whole orbits have few arrangements.
    if !labels.are_distinct() && space.orbits().len() > 1 {
        whole.insert(numbered(kind.iter()));
    }
    // Each partition is also tried with every ring as one class. A ring that alternates is always cut, so
    // that half of the cosets of a layer are empty.
    let alternating: Vec<usize> = alternating_rings(space).collect();
    let class_of_ring = |cell: usize| {
        let (first, _) = space.ring(cell)?;
        Some(if alternating.contains(&first) { cell } else { first })
    };
    let with_rings = |partition: &Partition| {
        numbered((0..cells).map(|cell| match class_of_ring(cell) {
            Some(class) => (true, class),
            None => (false, usize::from(partition[cell])),
        }))
    };
    let by_rings: FxHashSet<Partition> = whole.iter().map(with_rings).collect();
    let found = if alternating.is_empty() { &whole | &by_rings } else { by_rings };
    let colours =
        |partition: Partition| partition.into_iter().map(|class| u8::try_from(class).ok()).collect();
    found.into_iter().filter_map(colours).collect()
}

/// Returns the finest partition in which both ends of every pair share a class.
fn joined(cells: usize, pairs: impl Iterator<Item = (usize, Cell)>) -> Partition {
    fn root(parent: &mut [usize], mut cell: usize) -> usize {
        while parent[cell] != cell {
            parent[cell] = parent[parent[cell]];
            cell = parent[cell];
        }
        cell
    }
    let mut parent: Vec<usize> = (0..cells).collect();
    for (a, b) in pairs {
        let (a, b) = (root(&mut parent, a), root(&mut parent, usize::from(b)));
        parent[a.max(b)] = a.min(b);
    }
    // Roots are the first cells of their classes.
    let mut partition = Partition::with_capacity(cells);
    let mut classes = 0;
    for cell in 0..cells {
        let first = root(&mut parent, cell);
        partition.push(if first == cell { classes } else { partition[first] });
        classes += u16::from(first == cell);
    }
    partition
}

/// Returns for each piece the first piece of its class.
fn firsts(partition: &[u16]) -> Vec<Cell> {
    let first = |class| partition.iter().position(|&other| other == class).expect("the class has the piece");
    partition.iter().map(|&class| first(class) as Cell).collect()
}

/// Cuts every class into chunks of at most `size` pieces.
fn chunked(partition: &[u16], size: usize) -> Partition {
    let mut seen = FxHashMap::default();
    numbered(partition.iter().map(|&class| {
        let count = seen.entry(class).or_insert(0);
        *count += 1;
        (class, (*count - 1) / size)
    }))
}

/// Joins neighbouring classes as long as they have at most `size` pieces together.
fn merged(partition: &[u16], size: usize) -> Partition {
    let classes = partition.iter().map(|&class| usize::from(class) + 1).max().unwrap_or(0);
    let mut groups = vec![0; classes];
    let (mut group, mut pieces) = (0, 0);
    for (class, number) in groups.iter_mut().enumerate() {
        let members = partition.iter().filter(|&&c| usize::from(c) == class).count();
        if pieces > 0 && pieces + members > size {
            group += 1;
            pieces = 0;
        }
        pieces += members;
        *number = group;
    }
    numbered(partition.iter().map(|&class| groups[usize::from(class)]))
}
