//! The reasons why an element is not in a group, as text.

use fathom_algebra::{Group, NonMembership, Permutation};

/// Returns why an element is not in a group: a keyword for the kind of the reason, and a sentence. `None` if
/// the element is in the group.
pub fn why_not(group: &Group, element: &Permutation) -> Option<(&'static str, String)> {
    Some(match group.why_not(element)? {
        NonMembership::Orbit { from, to } => {
            ("orbit", format!("it carries point {} to point {}, which is not in its orbit", from + 1, to + 1))
        }
        NonMembership::Parity { orbits } if orbits.len() == group.orbits().len() => {
            ("parity", "it is an odd permutation, but all generators are even".into())
        }
        NonMembership::Parity { orbits } => {
            let orbits = numbers(orbits.into_iter());
            ("parity", format!("it is odd on the points of orbit {orbits}, where all generators are even"))
        }
        NonMembership::Torn { block } => {
            let images = numbers(block.iter().map(|&point| element.apply(point)));
            let points = numbers(block.into_iter());
            ("torn", format!("it carries the points {points}, which all moves keep together, to {images}"))
        }
        NonMembership::Turned { block, alone } => {
            let size = block.len();
            let (turned, points) =
                (if block.len() == 2 { "flipped" } else { "twisted" }, numbers(block.into_iter()));
            let why = match alone {
                true => format!("the piece of the points {points} is {turned}, and no other piece is"),
                false => format!(
                    "its pieces of {size} points are {turned} in a way that no moves achieve: it would be in the group if one more piece, such as that of the points {points}, were {turned}"
                ),
            };
            ("turned", why)
        }
        NonMembership::BlockParity { points, blocks } => {
            let points = match points.is_empty() {
                true => String::new(),
                false => format!("the points of orbit {} and ", numbers(points.into_iter())),
            };
            let blocks = numbers(blocks.into_iter());
            let what = format!("{points}the pieces of orbit {blocks}");
            ("parity", format!("its combined parity on {what} is odd, but that of every generator is even"))
        }
        NonMembership::Together { orbits } => {
            let orbits = numbers(orbits.into_iter());
            let why = format!(
                "no sequence of moves acts like this on orbits {orbits} together, although it becomes possible if any one of them is ignored"
            );
            ("together", why)
        }
        NonMembership::Images { points } => {
            let images = numbers(points.iter().map(|&point| element.apply(point)));
            let points = numbers(points.into_iter());
            ("images", format!("no element of the group carries the points {points} to {images}"))
        }
    })
}

/// Writes indices of points or orbits, counted from 1 and separated by spaces.
fn numbers(indices: impl Iterator<Item = usize>) -> String {
    indices.map(|index| (index + 1).to_string()).collect::<Vec<_>>().join(" ")
}
