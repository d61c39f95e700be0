//! `fathom solve`.

use crate::arguments::SolveArguments;
use anyhow::{Result, ensure};
use fathom_algebra::OrientedPermutation;
use fathom_command::{bad_input, output, shell};
use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::Files;
use fathom_layer::LocalDisk;
use fathom_puzzle::load::scramble_file::{self, Scramble};
use fathom_puzzle::{PuzzleSpec, state_text, tiles};
use fathom_solve::{Bidirectional, LayerDistances, SearchError, Solutions, SolveModel, SpaceWords, descend};
use serde_json::json;

pub(crate) fn solve(args: &SolveArguments) -> Result<()> {
    let run = args.space.directory()?.map(RunDirectory::open_for_reading).transpose()?;
    let spec = match &run {
        Some(run) => run.manifest.spec.clone(),
        None => args.space.spec()?,
    };
    let model = SolveModel::new(&spec).map_err(|error| bad_input!("{error}"))?;
    if let PuzzleSpec::Board(board) = &spec.source
        && !args.scramble
    {
        tiles::check_rows(&args.state, board.columns()).map_err(|error| bad_input!("STATE: {error}"))?;
    }
    let state = state(args, &model, &spec.source).map_err(|error| bad_input!("STATE: {error}"))?;
    let unreachable = |why: &str| bad_input!("{} cannot reach this state: {why}", model.name());
    if let Some(why) = model.why_not(&state) {
        return Err(unreachable(&why));
    }
    // If the moves are not closed under inverses, layers give the distance from the solved state to a state,
    // not the distance back.
    let kept = match &run {
        Some(run) if run.space.is_closed_under_inverses() && keeps_all(run)? => {
            LayerDistances::new(run, args.memory_bytes(), &LocalDisk)?
        }
        _ => None,
    };
    let (found, method) = match (kept, &run) {
        (Some(mut kept), Some(run)) => {
            let (words, word) = (SpaceWords::new(&model, run.space.cosets()?), model.word(&state));
            let depth = words.in_space(&word).map(|word| kept.depth_of(&word)).transpose()?;
            match depth.flatten() {
                Some(depth) => (from_layers(&mut kept, &words, &model, &word, depth, args.most())?, "layers"),
                None if kept.is_complete() => {
                    return Err(unreachable("no layer of the complete run contains it"));
                }
                None => {
                    anyhow::bail!(
                        "the state is more than {} from solved, deeper than the run's layers. Continue the run with 'fathom resume {}', or pass the puzzle instead of the directory",
                        fathom_report::text::many(kept.layers().len() as u64 - 1, "move"),
                        shell::path(&run.path)
                    );
                }
            }
        }
        _ => {
            let mut search = Bidirectional::new(&model, args.memory_bytes());
            let found = search.solve(&model.word(&state), args.most());
            let found = found.map_err(|error| match error {
                SearchError::Unreachable { .. } => bad_input!("{}: {error}", model.name()),
                SearchError::Memory { .. } => anyhow::Error::new(error).context(format!(
                    "{} is too far from solved. Use more --memory, or pass the directory of a run made with --keep all",
                    beginning(args.state.trim())
                )),
            })?;
            (found, "bidirectional")
        }
    };
    let one_way = spec.source.is_one_way(spec.metric).map_err(|error| bad_input!("{error}"))?;
    print(args, &model, &state, &found, method, &spec.notes(!one_way))
}

/// Reads the state, in any form that a user may write it.
fn state(
    args: &SolveArguments,
    model: &SolveModel,
    source: &PuzzleSpec,
) -> Result<OrientedPermutation, String> {
    if let Some((file, name)) = scramble_file(&args.state) {
        return from_file(file, name, model, source);
    }
    if args.scramble {
        return moves(&args.state, model, source);
    }
    let labels = args.space.labels.as_deref().filter(|_| !args.from_one);
    let mut text = state_text::plain(&args.state, source, labels)?;
    if args.from_one {
        text = tiles::counted_from_one(&text, source.cells())?;
    }
    model.read(&text, false).map_err(|error| error.to_string())
}

/// Reads moves, which may also turn the puzzle as a whole.
fn moves(text: &str, model: &SolveModel, source: &PuzzleSpec) -> Result<OrientedPermutation, String> {
    let read = model.read(text, true);
    read.or_else(|error| state_text::scramble(text, source).ok_or(error.to_string()))
}

/// Returns the file and the name of a scramble, if a text names one: `tperm.scr`, `some.scr:NAME`.
fn scramble_file(text: &str) -> Option<(&str, Option<&str>)> {
    match text.split_once(".scr:") {
        Some((file, name)) => Some((&text[..file.len() + 4], Some(name))),
        None => text.ends_with(".scr").then_some((text, None)),
    }
}

/// Reads a scramble from a file of twsearch.
fn from_file(
    file: &str,
    name: Option<&str>,
    model: &SolveModel,
    source: &PuzzleSpec,
) -> Result<OrientedPermutation, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: cannot be read: {error}"))?;
    let definition = source.definition(source.metric()).map_err(|error| error.to_string())?;
    let mut scrambles =
        scramble_file::read(&text, &definition).map_err(|error| format!("{file}: {error}"))?;
    let known: Vec<String> = scrambles.iter().map(|(name, _)| name.clone()).collect();
    scrambles.retain(|(known, _)| name.is_none_or(|name| name == known));
    match &scrambles[..] {
        [(_, Scramble::Moves(text))] => {
            moves(text, model, source).map_err(|error| format!("{file}: {error}"))
        }
        [(_, Scramble::State(state))] => Ok(state.clone()),
        _ => Err(format!("write {file}:NAME with one of the scrambles of the file: {}", known.join(" "))),
    }
}

/// Returns a text, truncated if it is too long for a message.
fn beginning(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into(),
    }
}

/// Returns whether a run has finished layers, and the files of all of them exist.
fn keeps_all(run: &RunDirectory) -> Result<bool> {
    let layers = run.visited()?.layers;
    // A run by lists is not read yet.
    Ok(run.space.cosets().is_ok()
        && !layers.is_empty()
        && layers.iter().all(|layer| layer.files != Files::Removed))
}

/// Finds up to `most` shortest solutions from the layers of a run, for a state given as a word of the model.
pub(crate) fn from_layers(
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
pub(crate) fn is_at(
    kept: &mut LayerDistances<'_>,
    words: &SpaceWords<'_>,
    word: &[u8],
    depth: u32,
) -> Result<bool> {
    words.in_space(word).map_or(Ok(false), |word| kept.is_at(&word, depth))
}

/// Returns the message for layers that contain no path from a state of this depth to the solved state.
pub(crate) fn no_neighbour(depth: u32) -> String {
    format!(
        "a state of depth {depth} has no neighbour in the layer before it. Run 'fathom verify' to find the fault"
    )
}

/// Formats a solution, after checking that it solves the state.
pub(crate) fn replayed(
    model: &SolveModel,
    state: &OrientedPermutation,
    solution: &[usize],
) -> Result<String> {
    let end = model.carry_out(state, solution);
    let behind = end.and_then(|end| model.free_between(&model.word(&end), model.solved()));
    let written = model.written(solution, behind.unwrap_or(0));
    ensure!(model.solves(state, solution), "{written} does not solve {state}; this is a bug in fathom");
    Ok(written)
}

/// Formats a state for display, with tiles numbered from 0 or from 1 as the arguments say.
fn written_state(args: &SolveArguments, model: &SolveModel, state: &OrientedPermutation) -> String {
    let written = model.written_state(state);
    let more = |tile: &str| tile.parse().map(|tile: u16| (tile + 1).to_string());
    match args.from_one {
        // Cycles do not parse as a list of numbers, so they are unchanged.
        true => written
            .split(' ')
            .map(more)
            .collect::<Result<Vec<_>, _>>()
            .map_or(written, |tiles| tiles.join(" ")),
        false => written,
    }
}

fn print(
    args: &SolveArguments,
    model: &SolveModel,
    state: &OrientedPermutation,
    found: &Solutions,
    method: &str,
    notes: &[String],
) -> Result<()> {
    let Solutions { distance, solutions, more } = found;
    let solutions: Vec<String> =
        solutions.iter().map(|solution| replayed(model, state, solution)).collect::<Result<_>>()?;
    if args.json {
        let json = json!({
            "puzzle": model.name(),
            "metric": model.metric().to_string(),
            "state": written_state(args, model, state),
            "distance": distance,
            "solutions": solutions,
            "more": more,
            "method": method,
            "notes": notes,
        });
        return output::line(&json.to_string());
    }
    let solutions = match &solutions[..] {
        [one] if !args.all => format!("solution: {one}"),
        all => {
            let or_more = if *more { " (and more)" } else { "" };
            let lines: String = all.iter().map(|solution| format!("\n    {solution}")).collect();
            format!("solutions: {}{or_more}{lines}", all.len())
        }
    };
    output::line(&format!("distance: {distance}\n{solutions}"))
}
