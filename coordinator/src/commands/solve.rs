//! `fathom solve`.

use crate::arguments::SolveArguments;
use anyhow::{Context, Result, ensure};
use fathom_algebra::OrientedPermutation;
use fathom_command::{bad_input, output};
use fathom_coordinator::directory::RunDirectory;
use fathom_coordinator::solve::{Bidirectional, KeptLayers, Model, SearchError, Solutions, Walk};
use fathom_coordinator::solve::{SpaceWalk, descend};
use fathom_layer::LocalDisk;
use fathom_space::Space;
use serde_json::json;

pub(crate) fn solve(asked: &SolveArguments) -> Result<()> {
    let run = asked.space.directory()?.map(RunDirectory::open_for_reading).transpose()?;
    let question = match &run {
        Some(run) => run.definition.question.clone(),
        None => asked.space.question()?,
    };
    let model = Model::new(&question).map_err(|error| bad_input!("{error}"))?;
    let state = model.read(&asked.state, asked.scramble).map_err(|error| bad_input!("STATE: {error}"))?;
    let unreachable = |why: &str| bad_input!("no moves of {} lead to this state: {why}", model.name());
    if let Some(why) = model.why_not(&state) {
        return Err(unreachable(&why));
    }
    // Where moves have no inverses, layers tell how far a state is from the solved one, and not how far it is to that.
    let kept = match &run {
        Some(run) if SpaceWalk::new(&run.space).is_ok() => {
            KeptLayers::of(run, asked.memory_bytes(), &LocalDisk)?
        }
        _ => None,
    };
    let kept =
        kept.filter(|kept| !kept.layers().is_empty() && kept.has_all_to(kept.layers().len() as u32 - 1));
    let (found, method) = match (kept, &run) {
        (Some(mut kept), Some(run)) => {
            let word = run.space.word(&model.from_solved(&state));
            match kept.depth_of(&word)? {
                Some(depth) => {
                    (from_layers(&mut kept, &run.space, &model, &word, depth, asked.most())?, "layers")
                }
                None if kept.is_complete() => {
                    return Err(unreachable("the run is complete, and none of its layers has it"));
                }
                None => {
                    anyhow::bail!(
                        "it is more than {} from solved, and deeper layers are not there yet: go on with 'fathom resume {}', or name the puzzle instead of the directory",
                        fathom_coordinator::table::many(kept.layers().len() as u64 - 1, "move"),
                        run.path.display()
                    );
                }
            }
        }
        _ => {
            let mut search = Bidirectional::new(&model, asked.memory_bytes());
            let found = search.solve(&model.word(&state), asked.most());
            let found = found.map_err(|error| match error {
                SearchError::Unreachable { .. } => bad_input!("{}: {error}", model.name()),
                SearchError::Memory { .. } => anyhow::Error::new(error).context(format!(
                    "{} is too far from solved: give more with --memory, or name the directory of a run with --keep all",
                    model.written_state(&state)
                )),
            })?;
            (found, "bidirectional")
        }
    };
    print(asked, &model, &state, &found, method)
}

/// Solutions by the layers of a run, in the model's moves.
pub(crate) fn from_layers(
    kept: &mut KeptLayers<'_>,
    space: &Space,
    model: &Model,
    word: &[u8],
    depth: u32,
    most: usize,
) -> Result<Solutions> {
    let walk = SpaceWalk::new(space).map_err(|error| bad_input!("{error}"))?;
    let mut found = descend(&walk, word, depth, most, |word, left| kept.is_at(word, left))?;
    ensure!(
        !found.solutions.is_empty(),
        "a state of depth {depth} has no neighbour in the layer before: 'fathom verify' tells what is wrong"
    );
    for solution in &mut found.solutions {
        let (mut at, mut next) = (word.to_vec(), word.to_vec());
        for mv in &mut *solution {
            walk.apply(*mv, &at, &mut next);
            std::mem::swap(&mut at, &mut next);
            *mv = model_move(space, model, *mv)?;
        }
        ensure!(at == walk.solved(), "a solution of {} does not end where it should", space.slug());
    }
    Ok(found)
}

/// The model's number of a move of a space.
pub(crate) fn model_move(space: &Space, model: &Model, mv: usize) -> Result<usize> {
    let name = &space.puzzle().moves[mv].name;
    let found = model.moves().iter().position(|generator| generator.name == *name);
    found.with_context(|| format!("the puzzle has no move {name:?}"))
}

/// A solution as it is printed, after it was carried out.
pub(crate) fn replayed(model: &Model, state: &OrientedPermutation, solution: &[usize]) -> Result<String> {
    let written = model.written(solution);
    ensure!(model.solves(state, solution), "{written} does not solve {state}: this is a fault in fathom");
    Ok(written)
}

fn print(
    asked: &SolveArguments,
    model: &Model,
    state: &OrientedPermutation,
    found: &Solutions,
    method: &str,
) -> Result<()> {
    let Solutions { distance, solutions, more } = found;
    let solutions: Vec<String> =
        solutions.iter().map(|solution| replayed(model, state, solution)).collect::<Result<_>>()?;
    if asked.json {
        let json = json!({
            "puzzle": model.name(),
            "metric": model.metric().to_string(),
            "state": model.written_state(state),
            "distance": distance,
            "solutions": solutions,
            "more": more,
            "method": method,
        });
        return output::line(&json.to_string());
    }
    let solutions = match &solutions[..] {
        [one] if !asked.all => format!("solution: {one}"),
        all => {
            let or_more = if *more { " and more" } else { "" };
            let lines: String = all.iter().map(|solution| format!("\n    {solution}")).collect();
            format!("solutions: {}{or_more}{lines}", all.len())
        }
    };
    output::line(&format!("distance: {distance}\n{solutions}"))
}
