//! Solutions of states of a run, from its layers or from both ends, and checked.

use super::bidirectional::Bidirectional;
use super::classes::Class;
use super::descent::{Solutions, descend, way_to};
use super::layer_distances::LayerDistances;
use super::model::SolveModel;
use super::space_words::SpaceWords;
use anyhow::{Context, Result, ensure};
use fathom_algebra::OrientedPermutation;
use fathom_command::{bad_input, shell};
use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::{Files, LayerRow};
use indicatif::{HumanBytes, HumanDuration};
use std::time::Duration;

/// Returns whether a run has finished layers, and the files of all of them exist.
///
/// # Errors
/// If a file is missing or damaged, or the layers contradict each other.
pub fn keeps_all(run: &RunDirectory) -> Result<bool> {
    let layers = run.visited()?.layers;
    Ok(!layers.is_empty() && layers.iter().all(|layer| layer.files != Files::Removed))
}

/// Returns the error of a command that needs the layer of a depth, or all `layers` of a run, and does not find them.
pub fn not_kept(run: &RunDirectory, layers: &[LayerRow], depth: Option<u32>) -> anyhow::Error {
    let missing = match depth {
        Some(depth) => format!("the layer of depth {depth}, or it was removed"),
        None => "all layers, or some were removed".into(),
    };
    let bytes = layers.iter().map(|layer| layer.bytes).sum();
    let seconds = layers.iter().map(|layer| layer.seconds).sum::<f64>().ceil();
    let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    bad_input!(
        "the run in {} did not keep {missing}. Start it again in another directory with --keep all: its {} depths need at most {} of disk, and took {} here",
        shell::path(&run.path),
        layers.len(),
        HumanBytes(bytes),
        HumanDuration(took)
    )
}

/// Finds up to `most` shortest solutions from the layers of a run, for a state given as a word of the model.
///
/// # Errors
/// If a file is missing or damaged, or the layers contradict each other.
pub fn from_layers(
    kept: &mut LayerDistances<'_>,
    words: &SpaceWords<'_>,
    model: &SolveModel,
    word: &[u8],
    depth: u32,
    most: usize,
) -> Result<Solutions> {
    let found = descend(model, word, depth, most, |word, left| is_at(kept, words, word, left))?;
    ensure!(!found.solutions.is_empty(), no_neighbour(depth));
    Ok(found)
}

/// Returns whether a state, given as a word of the model, is at a depth.
///
/// # Errors
/// If a file is missing or damaged, or the layers contradict each other.
pub fn is_at(kept: &mut LayerDistances<'_>, words: &SpaceWords<'_>, word: &[u8], depth: u32) -> Result<bool> {
    words.in_space(word).map_or(Ok(false), |word| kept.is_at(&word, depth))
}

/// Returns the message for layers that contain no path from a state of this depth to the solved state.
pub fn no_neighbour(depth: u32) -> String {
    format!(
        "a state of depth {depth} has no neighbour in the layer before it. Run 'fathom verify' to find the fault"
    )
}

/// Formats a solution, after checking that it leads from a state to another.
///
/// # Errors
/// If it does not lead there.
pub fn replayed(
    model: &SolveModel,
    from: &OrientedPermutation,
    to: &OrientedPermutation,
    solution: &[usize],
) -> Result<String> {
    let end = model.carry_out(from, solution);
    let behind = end.and_then(|end| model.free_between(&model.word(&end), &model.word(to)));
    let written = model.written(solution, behind.unwrap_or(0));
    ensure!(
        model.leads(from, to, solution),
        "{written} does not lead from {from} to {to}; this is a bug in fathom"
    );
    Ok(written)
}

/// Returns a state with the given word, and its first solution. The solution is read from the layers if
/// `kept` has all of them up to `depth`; otherwise a search from both ends finds it.
///
/// # Errors
/// If a file is missing or damaged, or the layers contradict each other.
pub fn solved(
    model: &SolveModel,
    words: &SpaceWords<'_>,
    kept: Option<&mut LayerDistances<'_>>,
    search: &mut Bidirectional<'_>,
    word: &[u8],
    depth: u32,
) -> Result<(OrientedPermutation, String)> {
    let found = match kept.filter(|kept| kept.has_all_to(depth)) {
        Some(kept) => from_layers(kept, words, model, word, depth, 1)?,
        None => search.solve(word, 1).context("this state cannot be solved without the layers before it")?,
    };
    let solution = found.solutions.first().context("a state has no solution")?;
    // A solution solves one state for each rotation; take the state with this word.
    let product = model.product(solution);
    let mut solved_by = model.free().elements().iter().map(|free| product.then(free).inverse());
    let state =
        solved_by.find(|state| model.word(state) == word).context("the solution solves another state")?;
    let written = replayed(model, &state, &model.product(&[]), solution)?;
    Ok((state, written))
}

/// Returns a state with the given word, and moves that lead to it from the solved state.
///
/// # Errors
/// If a file is missing or damaged, or the layers contradict each other.
pub fn scramble(
    model: &SolveModel,
    words: &SpaceWords<'_>,
    kept: &mut LayerDistances<'_>,
    word: &[u8],
    depth: u32,
) -> Result<(OrientedPermutation, String)> {
    ensure!(kept.has_all_to(depth), "the layers before depth {depth} were not kept");
    let moves = way_to(model, word, depth, |word, depth| is_at(kept, words, word, depth))?;
    let moves = moves.with_context(|| no_neighbour(depth))?;
    let made = model
        .carry_out(&model.product(&[]), &moves)
        .context("a scramble contains a move that is not possible there")?;
    let mut made = model.free().elements().iter().map(|free| made.then(free)).zip(0..);
    let found = made.find(|(state, _)| model.word(state) == word);
    let (state, behind) = found.context("the scramble leads to another state")?;
    Ok((state, model.written(&moves, behind)))
}

/// A class of states with its first state.
#[derive(Clone, Debug)]
pub struct ClassOfStates {
    /// The class.
    pub class: Class,
    /// The state as text.
    pub state: String,
    /// A shortest solution; a scramble if the moves are not closed under inverses.
    pub moves: String,
}

/// Finds a solution of a state of each class of a depth, and passes each class on as soon as it has one. If the moves are
/// not closed under inverses, each state has a scramble instead, which needs all layers before `depth`.
///
/// # Errors
/// If a file is missing or damaged, the search for a solution exceeds `memory_bytes`, or `each` fails.
pub fn with_solutions(
    run: &RunDirectory,
    model: &SolveModel,
    kept: &mut LayerDistances<'_>,
    depth: u32,
    classes: impl IntoIterator<Item = Class>,
    memory_bytes: u64,
    mut each: impl FnMut(ClassOfStates) -> Result<()>,
) -> Result<()> {
    let words = SpaceWords::new(model, &run.space);
    let mut search = Bidirectional::new(model, memory_bytes);
    for class in classes {
        let word = words.in_model(&class.word);
        let word = word.context("a state has pieces on cells that they cannot reach")?;
        let (state, moves) = match run.space.is_closed_under_inverses() {
            true => solved(model, &words, Some(&mut *kept), &mut search, &word, depth)?,
            false => scramble(model, &words, kept, &word, depth)?,
        };
        each(ClassOfStates { class, state: model.written_state(&state), moves })?;
    }
    Ok(())
}
