//! `fathom solve`.

mod states;

use crate::arguments::SolveArguments;
use crate::commands::temporary_run::{self, TemporaryRun};
use anyhow::{Context, Result};
use fathom_algebra::OrientedPermutation;
use fathom_command::{bad_input, output, shell};
use fathom_engine::directory::RunDirectory;
use fathom_engine::run::SpaceSpec;
use fathom_layer::LocalDisk;
use fathom_report::text::{grouped, many};
use fathom_solve::solutions::{from_layers, is_at, keeps_all, replayed};
use fathom_solve::{
    Bidirectional, Deepening, DistanceTable, LayerDistances, Looked, SearchError, Solutions, SolveModel,
    SpaceWords, TableOfModel, count,
};
use num_bigint::BigUint;
use serde_json::json;
use states::Ends;

pub(crate) fn solve(args: &SolveArguments) -> Result<()> {
    let run = args.space.directory()?.map(RunDirectory::open_for_reading).transpose()?;
    let spec = match &run {
        Some(run) => run.manifest.spec.clone(),
        None => args.space.spec()?,
    };
    let model = SolveModel::new(&spec).map_err(|error| bad_input!("{error}"))?;
    let ends = Ends::read(args, &model, &spec)?;
    // A state whose distance from the solved state is the one in question, if there is such a state.
    let to_solve = ends.to_solve(&model);
    if let Some(why) = ends.why_not(&model, to_solve.as_ref()) {
        return Err(why);
    }
    // If the moves are not closed under inverses, layers give the distance from the solved state to a state,
    // not the distance back.
    let kept = match (&run, &to_solve) {
        (Some(run), Some(state)) if run.space.is_closed_under_inverses() && keeps_all(run)? => {
            LayerDistances::new(run, args.memory_bytes(), &LocalDisk)?.map(|kept| (run, state, kept))
        }
        _ => None,
    };
    let found = match kept {
        Some((run, state, mut kept)) => match looked_up(args, &model, run, &mut kept, state)? {
            Some(found) => Found { method: "layers", ..found },
            None if kept.is_complete() => {
                return Err(ends.unreachable(&model, "no layer of the complete run contains it"));
            }
            None => {
                anyhow::bail!(
                    "the state is more than {} from solved, deeper than the run's layers. Continue the run with 'fathom resume {}', or pass the puzzle instead of the directory",
                    many(kept.layers().len() as u64 - 1, "move"),
                    shell::path(&run.path)
                );
            }
        },
        None => searched(args, &model, &spec, &ends, to_solve.as_ref())?,
    };
    let one_way = spec.source.is_one_way(spec.metric).map_err(|error| bad_input!("{error}"))?;
    print(args, &model, &ends, &found, &spec.notes(!one_way))
}

/// The method of a search with tables.
const TABLES: &str = "tables";

/// The answer.
struct Found {
    solutions: Solutions,
    /// The number of all shortest solutions, if it was asked for.
    number: Option<BigUint>,
    method: &'static str,
}

/// A search that holds this many states asks whether to enumerate the whole space instead.
const MANY_STATES: u64 = 1 << 18;

/// Finds the solutions from both ends; or from the layers of a temporary run, if the search has become large and
/// the whole space is small.
fn searched(
    args: &SolveArguments,
    model: &SolveModel,
    spec: &SpaceSpec,
    ends: &Ends<'_>,
    to_solve: Option<&OrientedPermutation>,
) -> Result<Found> {
    if !args.table.is_empty() {
        return by_tables(args, model, spec, ends, to_solve);
    }
    let (start, goal) = match to_solve {
        Some(state) => (model.word(state), model.solved().to_vec()),
        None => (model.word(&ends.from), model.word(&ends.to)),
    };
    let mut search = Bidirectional::towards(model, &goal, args.memory_bytes());
    let mut asked = false;
    let mut enumerated = None;
    let mut goes_on = |looked: Looked| {
        if looked.states < MANY_STATES {
            return true;
        }
        if !asked {
            asked = true;
            enumerated = to_solve.and_then(|state| Some((state, TemporaryRun::of_small_space(spec)?)));
        }
        if enumerated.is_none() {
            output::remark(&format!(
                "no solution has {} or fewer; {} so far",
                many(looked.moves.into(), "move"),
                many(looked.states, "state")
            ));
        }
        enumerated.is_none()
    };
    match search.paths(&start, &mut goes_on) {
        Ok(Some(paths)) => {
            let number = args.count.then(|| paths.count());
            return Ok(Found { solutions: paths.solutions(args.most()), number, method: "bidirectional" });
        }
        Ok(None) => {}
        Err(error @ SearchError::Unreachable { .. }) => return Err(ends.exhausted(model, &error)),
        Err(error @ SearchError::Memory { .. }) => {
            return Err(anyhow::Error::new(error).context(format!(
                "{}. Use more --memory, or pass the directory of a run made with --keep all",
                ends.too_far()
            )));
        }
    }
    drop(search);
    let (state, planned) = enumerated.context("the search ended early")?;
    let directory = temporary_run::directory()?;
    let run = planned.run(&directory.path().join("run"), None, args.memory_bytes())?;
    let kept = LayerDistances::new(&run, args.memory_bytes(), &LocalDisk)?;
    let mut kept = kept.context("a temporary run has no layers")?;
    looked_up(args, model, &run, &mut kept, state)?.ok_or_else(|| {
        ends.unreachable(model, "the states that can be reached were enumerated, and it is not among them")
    })
}

/// Finds a solution with lower bounds from tables.
fn by_tables(
    args: &SolveArguments,
    model: &SolveModel,
    spec: &SpaceSpec,
    ends: &Ends<'_>,
    to_solve: Option<&OrientedPermutation>,
) -> Result<Found> {
    let one_way = spec.source.is_one_way(spec.metric).map_err(|error| bad_input!("{error}"))?;
    let state = to_solve.filter(|_| !one_way).ok_or_else(|| {
        bad_input!("tables have the distances from the solved state, so --table needs moves that are closed under inverses, and a solution that ends solved")
    })?;
    let tables: Vec<DistanceTable> =
        args.table.iter().map(|path| DistanceTable::open(path)).collect::<Result<_>>()?;
    let tables: Vec<TableOfModel<'_>> =
        tables.iter().map(|table| table.for_model(model, spec)).collect::<Result<_>>()?;
    let solution = Deepening::new(model, &tables).solve(&model.word(state), &mut |moves| {
        output::remark(&format!("no solution has {} or fewer", many(moves.into(), "move")));
        true
    });
    let solution = solution.ok_or_else(|| ends.unreachable(model, "a table does not contain it"))?;
    // The search ends at the first solution, so whether there are more is not known.
    let solutions = Solutions { distance: solution.len() as u32, solutions: vec![solution], more: false };
    Ok(Found { solutions, number: None, method: TABLES })
}

/// Finds the solutions of a state from the layers of a run; `None` if they do not contain the state.
fn looked_up(
    args: &SolveArguments,
    model: &SolveModel,
    run: &RunDirectory,
    kept: &mut LayerDistances<'_>,
    state: &OrientedPermutation,
) -> Result<Option<Found>> {
    let (words, word) = (SpaceWords::new(model, &run.space), model.word(state));
    let depth = words.in_space(&word).map(|word| kept.depth_of(&word)).transpose()?;
    let Some(depth) = depth.flatten() else { return Ok(None) };
    let solutions = from_layers(kept, &words, model, &word, depth, args.most())?;
    let number = args
        .count
        .then(|| count(model, &word, depth, |word, left| is_at(kept, &words, word, left)))
        .transpose()?;
    Ok(Some(Found { solutions, number, method: "enumeration" }))
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
    ends: &Ends<'_>,
    found: &Found,
    notes: &[String],
) -> Result<()> {
    let Found { solutions: Solutions { distance, solutions, more }, number, method } = found;
    let solutions: Vec<String> = solutions
        .iter()
        .map(|solution| replayed(model, &ends.from, &ends.to, solution))
        .collect::<Result<_>>()?;
    if args.json {
        let mut json = json!({
            "puzzle": model.name(),
            "metric": model.metric().to_string(),
            "state": written_state(args, model, &ends.from),
            "distance": distance,
            "solutions": solutions,
            "more": (*method != TABLES).then_some(more),
            "method": method,
            "notes": notes,
        });
        if let Some(number) = number {
            json["count"] = number.to_string().into();
        }
        if ends.has_goal {
            json["to"] = written_state(args, model, &ends.to).into();
        }
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
    let number = number.as_ref().map_or_else(String::new, |number| format!("\ncount: {}", grouped(number)));
    output::line(&format!("distance: {distance}\n{solutions}{number}"))
}
