//! The first depths of a space, counted in memory.

use crate::key::sort_distinct;
use crate::{Key, ListSpace};

/// Returns the number of states at each depth up to `depth`; `None` if they are more than `most` together, or
/// the space has no [starts](ListSpace::starts).
pub fn first_depths<K: Key>(space: &ListSpace<K>, depth: u32, most: usize) -> Option<Vec<u64>> {
    let mut layers = vec![space.starts().ok()?];
    let mut visited = layers[0].len();
    for _ in 0..depth {
        let newest = layers.last().expect("depth 0");
        let mut next = Vec::new();
        for state in newest {
            space.successors(state, |found| next.push(found));
            // Most states are found several times.
            if next.len() > 8 * most {
                sort_distinct(&mut next);
                if next.len() > most {
                    return None;
                }
            }
        }
        sort_distinct(&mut next);
        next.retain(|state| layers.iter().all(|layer| layer.binary_search(state).is_err()));
        visited += next.len();
        if visited > most {
            return None;
        }
        layers.push(next);
    }
    Some(layers.iter().map(|layer| layer.len() as u64).collect())
}
