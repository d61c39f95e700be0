//! Solving in phases, through a chain of subgroups G0 > G1 > … > 1 of the group of a puzzle: phase i leads from
//! any element of its group to the next group, by the moves of the puzzle that are in its own group.
//!
//! A word s leads from the state of x into the subgroup H if and only if x s is in H, and then h x s is, for
//! each h in H. So what counts is the coset H x, and a move m leads from it to the coset H x m. Moves need no
//! inverses, because the search goes backwards from H.
//!
//! A coset is stored as its smallest element, by the images of a base of H: among the points to which elements
//! of H carry the first base point, one has the smallest image under x. An element of H that carries the base
//! point there, followed by x, is in the same coset, and only elements that fix the base point may still be put
//! before it. The same is done with each further base point.

use crate::ball::{Ball, Full};
use crate::model::SolveModel;
use crate::state::StateError;
use fathom_algebra::{Permutation, StabiliserChain};
use fathom_puzzle::grouped;
use indicatif::{HumanBytes, HumanCount};
use num_bigint::BigUint;

/// A phase of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The order of the group in which the phase begins.
    pub order: BigUint,
    /// The generators of the group in which it ends, as they were given; none for the trivial group.
    pub subgroup: Vec<String>,
    /// The names of the moves that are used, which are all those in the group.
    pub moves: Vec<String>,
    /// The number of cosets of the subgroup at each distance from it.
    pub counts: Vec<u64>,
}

impl Phase {
    /// Returns the number of moves that suffices from any coset, and that some coset needs.
    pub fn gods_number(&self) -> u32 {
        self.counts.len() as u32 - 1
    }

    /// Returns the number of cosets.
    pub fn cosets(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Why a chain has no phases. Subgroups and phases are counted from 1; phase i ends in subgroup i, and the last
/// phase in the trivial group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhaseError {
    /// The states of the puzzle are not the elements of a group.
    #[error(
        "the states of {0} are not the elements of a group, so they have no cosets: pieces look alike, rotations are free, or moves are not always possible"
    )]
    NotAGroup(String),
    /// A point does not fit into a byte.
    #[error("{name} has {points} positions of pieces (cell and orientation); the limit is {MAX_POINTS}")]
    TooManyPoints {
        /// The name of the puzzle.
        name: String,
        /// The number of points.
        points: usize,
    },
    /// A list of generators has an empty entry.
    #[error("subgroup {subgroup} has an empty generator. Separate generators by ',' and subgroups by ';'")]
    Empty {
        /// The number of the subgroup.
        subgroup: usize,
    },
    /// A generator is not a sequence of moves.
    #[error("generator {generator} of subgroup {subgroup}: {error}")]
    Generator {
        /// The number of the subgroup.
        subgroup: usize,
        /// The generator.
        generator: String,
        /// The reason.
        error: StateError,
    },
    /// A generator is not in the group before.
    #[error("this is not a chain: generator {generator} of subgroup {subgroup} is not in {before}")]
    NotInside {
        /// The number of the subgroup.
        subgroup: usize,
        /// The generator.
        generator: String,
        /// The name of the group before.
        before: String,
    },
    /// The cosets of a phase do not fit into memory.
    #[error(
        "phase {phase} has {} cosets, too many for {} of memory. Insert a subgroup, or use more --memory (for up to 2^32 cosets)",
        grouped(.cosets),
        HumanBytes(*.memory_bytes)
    )]
    TooLarge {
        /// The number of the phase.
        phase: usize,
        /// The number of cosets.
        cosets: BigUint,
        /// The memory limit, in bytes.
        memory_bytes: u64,
    },
    /// The moves in the group do not lead from every coset to the subgroup.
    #[error(
        "phase {phase} cannot be solved within its group: from only {} of its {} cosets, the {moves} moves of the puzzle that are in the group lead to the next group. Choose groups that moves generate, or another --metric",
        HumanCount(*.reached),
        HumanCount(*.cosets)
    )]
    Stuck {
        /// The number of the phase.
        phase: usize,
        /// The number of moves in the group.
        moves: usize,
        /// The number of cosets from which moves lead to the subgroup.
        reached: u64,
        /// The number of all cosets.
        cosets: u64,
    },
}

/// Points are stored in bytes.
const MAX_POINTS: usize = 256;

/// The memory that a coset takes besides its points, in bytes, at least.
const BYTES_OF_COSET: usize = 6;

/// A group of a chain.
struct ChainGroup {
    name: String,
    generators: Vec<String>,
    elements: StabiliserChain,
}

/// Computes the phases of the chain that `chain` describes: subgroups separated by `;`, each a list of
/// generators separated by `,`, and each generator a sequence of moves. The chain begins with the group of the
/// puzzle and ends with the trivial group, which are not written. The cosets of a phase use at most
/// `memory_bytes`.
///
/// # Errors
/// [`PhaseError`] if the text describes no chain, or a phase cannot be enumerated.
pub fn phases(model: &SolveModel, chain: &str, memory_bytes: u64) -> Result<Vec<Phase>, PhaseError> {
    if !model.is_group() || model.free().elements().len() > 1 {
        return Err(PhaseError::NotAGroup(model.name().into()));
    }
    let moves: Vec<(String, Permutation)> = model
        .generators
        .iter()
        .map(|generator| (generator.name.clone(), generator.action.as_points()))
        .collect();
    let points = model.shown.len();
    if points > MAX_POINTS {
        return Err(PhaseError::TooManyPoints { name: model.name().into(), points });
    }
    let groups = groups(model, chain, &moves, points)?;
    // A phase that is too large is reported before others are searched.
    for (phase, pair) in (1..).zip(groups.windows(2)) {
        let cosets = pair[0].elements.big_order() / pair[1].elements.big_order();
        let bytes = &cosets * (points + BYTES_OF_COSET);
        if bytes > BigUint::from(memory_bytes) || cosets > BigUint::from(u32::MAX) {
            return Err(PhaseError::TooLarge { phase, cosets, memory_bytes });
        }
    }
    (1..).zip(groups.windows(2)).map(|(number, pair)| phase(number, pair, &moves, memory_bytes)).collect()
}

/// Reads the groups of a chain, from that of the puzzle to the trivial one.
fn groups(
    model: &SolveModel,
    chain: &str,
    moves: &[(String, Permutation)],
    points: usize,
) -> Result<Vec<ChainGroup>, PhaseError> {
    let whole = moves.iter().map(|(_, action)| action);
    let mut groups = vec![ChainGroup {
        name: format!("the group of {}", model.name()),
        generators: Vec::new(),
        elements: StabiliserChain::new(points, whole),
    }];
    for (subgroup, list) in (1..).zip(split(chain, ';')) {
        let before = &groups[groups.len() - 1];
        let (mut generators, mut actions) = (Vec::new(), Vec::new());
        for generator in split(list, ',').into_iter().map(|generator| generator.trim().to_owned()) {
            if generator.is_empty() {
                return Err(PhaseError::Empty { subgroup });
            }
            let read = model.read(&generator, true);
            let action = match read {
                Ok(element) => element.as_points(),
                Err(error) => return Err(PhaseError::Generator { subgroup, generator, error }),
            };
            if !before.elements.contains(&action) {
                let before = before.name.clone();
                return Err(PhaseError::NotInside { subgroup, generator, before });
            }
            generators.push(generator);
            actions.push(action);
        }
        let elements = StabiliserChain::new(points, &actions);
        groups.push(ChainGroup { name: format!("subgroup {subgroup}"), generators, elements });
    }
    groups.push(ChainGroup {
        name: "the trivial group".into(),
        generators: Vec::new(),
        elements: StabiliserChain::new(points, []),
    });
    Ok(groups)
}

/// Splits a text at separators outside of brackets.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0_i32;
    text.split(|c| {
        depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
        c == separator && depth <= 0
    })
    .collect()
}

/// Searches the cosets of the second group in the first.
fn phase(
    number: usize,
    pair: &[ChainGroup],
    moves: &[(String, Permutation)],
    memory_bytes: u64,
) -> Result<Phase, PhaseError> {
    let (group, subgroup) = (&pair[0].elements, &pair[1].elements);
    let inside: Vec<&(String, Permutation)> =
        moves.iter().filter(|(_, action)| group.contains(action)).collect();
    let back: Vec<Vec<u8>> = inside.iter().map(|(_, action)| bytes(&action.inverse())).collect();
    let cosets = Cosets::new(subgroup);
    let index = group.big_order() / subgroup.big_order();
    let points = moves.first().map_or(0, |(_, action)| action.degree());
    // The smallest element of the subgroup itself.
    let mut centre: Vec<u8> = (0..points).map(|point| point as u8).collect();
    cosets.reduce(&mut centre);
    let mut ball = Ball::new(&centre);
    let mut step = |mv: usize, coset: &[u8], image: &mut [u8]| {
        for (image, &point) in image.iter_mut().zip(coset) {
            *image = back[mv][usize::from(point)];
        }
        cosets.reduce(image);
        true
    };
    loop {
        match ball.grow(back.len(), memory_bytes, &mut step) {
            Ok(true) => {}
            Ok(false) => break,
            Err(Full) => return Err(PhaseError::TooLarge { phase: number, cosets: index, memory_bytes }),
        }
    }
    let counts: Vec<u64> = (0..ball.radius()).map(|distance| ball.level(distance).len() as u64).collect();
    let reached = ball.len() as u64;
    if BigUint::from(reached) != index {
        let cosets = u64::try_from(index).expect("phases of more cosets were refused");
        return Err(PhaseError::Stuck { phase: number, moves: inside.len(), reached, cosets });
    }
    Ok(Phase {
        order: group.big_order(),
        subgroup: pair[1].generators.clone(),
        moves: inside.iter().map(|(name, _)| name.clone()).collect(),
        counts,
    })
}

/// Returns the images of a permutation.
fn bytes(permutation: &Permutation) -> Vec<u8> {
    permutation.images().iter().map(|&image| image as u8).collect()
}

/// Finds the smallest element of each coset of a subgroup.
struct Cosets {
    /// The levels of the subgroup's chain whose base points it moves.
    levels: Vec<CosetLevel>,
}

/// A base point.
struct CosetLevel {
    /// The points to which the base point is carried while those before it are fixed.
    orbit: Vec<u8>,
    /// For each of them the images of an element that carries it there.
    carries: Vec<Vec<u8>>,
}

impl Cosets {
    fn new(subgroup: &StabiliserChain) -> Self {
        let level = |(level, orbit): (usize, &[usize])| {
            let carries = |&point: &usize| {
                bytes(subgroup.transversal_element(level, point).expect("the point is in the orbit"))
            };
            CosetLevel {
                orbit: orbit.iter().map(|&point| point as u8).collect(),
                carries: orbit.iter().map(carries).collect(),
            }
        };
        let moved = subgroup.orbits().enumerate().filter(|(_, orbit)| orbit.len() > 1);
        Self { levels: moved.map(level).collect() }
    }

    /// Replaces an element by the smallest of its coset.
    fn reduce(&self, element: &mut [u8]) {
        // Arrays that have an entry for each byte are read without checks.
        let (mut now, mut next) = ([0; MAX_POINTS], [0; MAX_POINTS]);
        let (mut now, mut next) = (&mut now, &mut next);
        now[..element.len()].copy_from_slice(element);
        for CosetLevel { orbit, carries } in &self.levels {
            let mut smallest = 0;
            let mut image = u8::MAX;
            for (at, &point) in orbit.iter().enumerate() {
                if now[usize::from(point)] <= image {
                    (smallest, image) = (at, now[usize::from(point)]);
                }
            }
            for (new, &point) in next.iter_mut().zip(&carries[smallest]) {
                *new = now[usize::from(point)];
            }
            std::mem::swap(&mut now, &mut next);
        }
        element.copy_from_slice(&now[..element.len()]);
    }
}
