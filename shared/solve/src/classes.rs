//! The states of a layer up to the symmetries of the space.

use super::layer_distances::LayerDistances;
use anyhow::{Result, bail, ensure};
use fathom_command::bad_input;
use fathom_space::{Inverses, Space};
use indicatif::{HumanBytes, HumanCount};
use rustc_hash::FxHashMap;

/// States that symmetries carry to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The state whose word is the smallest.
    pub word: Vec<u8>,
    /// The number of states.
    pub size: u64,
    /// The number of symmetries that fix each state.
    pub symmetry: u64,
}

/// The memory of a class in addition to its word, in bytes: two allocations, and a slot in a table that may
/// be half empty.
const CLASS_BYTES: u64 = 96;

/// Returns the classes of a depth of a space with `cells` cells under `symmetries` symmetries, sorted by size and then by
/// word. The files of the depth must exist.
///
/// # Errors [`fathom_command::exit::BadInput`] if the classes would not fit in `memory_bytes`. Another error
/// if a file is missing or damaged, or contradicts the journal.
pub fn classes(
    kept: &mut LayerDistances<'_>,
    (cells, symmetries): (usize, usize),
    depth: u32,
    memory_bytes: u64,
) -> Result<Vec<Class>> {
    let layer = kept.layers()[depth as usize].clone();
    let most = layer.classes.unwrap_or(layer.stored);
    let needed = most.saturating_mul(CLASS_BYTES + cells as u64);
    if needed > memory_bytes {
        return Err(bad_input!(
            "depth {depth} has {} classes, which need {} of memory; the limit is {}. Increase it with --memory, or choose another depth",
            HumanCount(most),
            HumanBytes(needed),
            HumanBytes(memory_bytes)
        ));
    }
    let mut found: FxHashMap<Vec<u8>, u64> = FxHashMap::default();
    kept.each_stored(depth, |space, word| {
        let (smallest, symmetry) = space.map_or((word.clone(), 1), |space| smallest(space, &word));
        found.insert(smallest, symmetry);
    })?;
    let symmetries = symmetries as u64;
    let class = |(word, symmetry)| Class { word, size: symmetries / symmetry, symmetry };
    let mut classes: Vec<Class> = found.into_iter().map(class).collect();
    classes.sort_unstable_by(|a, b| (a.size, &a.word).cmp(&(b.size, &b.word)));
    let states: u64 = classes.iter().map(|class| class.size).sum();
    ensure!(
        states == layer.states && layer.classes.is_none_or(|counted| counted == classes.len() as u64),
        "depth {depth} has {} classes of {states} states, but run.db has {:?} of {}. Run 'fathom verify' to find the fault",
        classes.len(),
        layer.classes,
        layer.states
    );
    Ok(classes)
}

/// Merges each class with the class of the inverses of its states. The state with the smaller word represents
/// both. `symmetry` then counts the symmetries that fix it and those that map it to its inverse. `counted` is
/// the number of classes up to inversion that the search has counted, if it has.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] if the states of the space have no inverses. Another error if the
/// number of classes is not `counted`, or a class has no inverse at this depth.
pub fn up_to_inversion(space: &Space, classes: Vec<Class>, counted: Option<u64>) -> Result<Vec<Class>> {
    let inverses = Inverses::new(space)
        .map_err(|why| bad_input!("cannot invert the states of {}: {why}", space.slug()))?;
    let places: FxHashMap<&[u8], usize> =
        classes.iter().map(|class| class.word.as_slice()).zip(0..).collect();
    let mut found = Vec::new();
    for (at, class) in classes.iter().enumerate() {
        let (inverse, _) = smallest(space, &inverses.inverse(&class.word));
        let Some(&other) = places.get(inverse.as_slice()) else {
            bail!("the inverse of a state is at another depth; this is a bug in fathom");
        };
        ensure!(
            classes[other].size == class.size,
            "a class and the class of its inverses differ in size; this is a bug in fathom"
        );
        let Class { word, size, symmetry } = class.clone();
        if other == at {
            found.push(Class { word, size, symmetry: 2 * symmetry });
        } else if at < other {
            found.push(Class { word, size: 2 * size, symmetry });
        }
    }
    found.sort_unstable_by(|a, b| (a.size, &a.word).cmp(&(b.size, &b.word)));
    ensure!(
        counted.is_none_or(|counted| counted == found.len() as u64),
        "there are {} classes up to inversion, but run.db has {counted:?}. Run 'fathom verify' to find the fault",
        found.len()
    );
    Ok(found)
}

/// Returns the smallest image of a word under the symmetries, and the number of symmetries that fix the word.
/// With free moves, as many symmetries fix the state: each of these leads from the word to a word of the same
/// state, from which exactly one free move leads back.
fn smallest(space: &Space, word: &[u8]) -> (Vec<u8>, u64) {
    let (mut smallest, mut fixed_by) = (word.to_vec(), 0);
    for symmetry in space.symmetries() {
        let image = space.image(symmetry, word);
        fixed_by += u64::from(image == word);
        if image < smallest {
            smallest = image;
        }
    }
    (smallest, fixed_by)
}
