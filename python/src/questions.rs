//! Solutions of single states, and plans.

use crate::failure::{failed, interruptible};
use crate::puzzle::{Options, Puzzle, space};
use anyhow::{Result, bail};
use fathom_begin::has_tiny_cosets;
use fathom_begin::plan_search::{planned, without_cosets};
use fathom_command::{bad_input, machine};
use fathom_engine::estimate::Estimate;
use fathom_engine::run::Lookback;
use fathom_solve::reading::{Form, state as read};
use fathom_solve::solutions::replayed;
use fathom_solve::{
    Bidirectional, Deepening, DistanceTable, SearchError, Solutions, SolveModel, TableOfModel,
};
use fathom_space::Plan;
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The method of a search with tables.
const TABLES: &str = "tables";

/// How a state is solved.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SolveOptions {
    scramble: bool,
    most: usize,
    count: bool,
    tables: Vec<PathBuf>,
    memory: Option<u64>,
}

/// Solves a state, and returns the object that `fathom solve --json` prints.
#[pyfunction]
pub(crate) fn solve(
    py: Python<'_>,
    puzzle: &Puzzle,
    space_options: Options,
    state: &str,
    labels: Option<&str>,
    options: SolveOptions,
) -> PyResult<String> {
    let stop = AtomicBool::new(false);
    interruptible(py, &stop, || {
        let spec = space(puzzle, &space_options)?;
        let model = SolveModel::new(&spec).map_err(|error| bad_input!("{error}"))?;
        let form = Form { scramble: options.scramble, from_one: false, labels };
        let from = read(form, state, &model, &spec.source).map_err(|error| bad_input!("{error}"))?;
        let unreachable = |why: &str| bad_input!("{} cannot reach this state: {why}", model.name());
        if let Some(why) = model.why_not(&from) {
            return Err(unreachable(&why));
        }
        let memory_bytes = machine::memory_bytes(options.memory);
        let one_way = spec.source.is_one_way(spec.metric).map_err(|error| bad_input!("{error}"))?;
        let mut number = None;
        let (found, method) = if options.tables.is_empty() {
            let mut search = Bidirectional::new(&model, memory_bytes);
            match search.paths(&model.word(&from), &mut |_| !stop.load(Ordering::Relaxed)) {
                Ok(Some(paths)) => {
                    number = options.count.then(|| paths.count());
                    (paths.solutions(options.most), "bidirectional")
                }
                Ok(None) => bail!("interrupted"),
                Err(error @ SearchError::Unreachable { .. }) => {
                    return Err(bad_input!("{}: {error}", model.name()));
                }
                Err(error) => return Err(error.into()),
            }
        } else {
            if one_way || options.count {
                return Err(bad_input!(
                    "tables give one solution, and need moves that are closed under inverses"
                ));
            }
            let tables: Vec<DistanceTable> =
                options.tables.iter().map(|path| DistanceTable::open(path)).collect::<Result<_>>()?;
            let tables: Vec<TableOfModel<'_>> =
                tables.iter().map(|table| table.for_model(&model, &spec)).collect::<Result<_>>()?;
            let deepening = Deepening::new(&model, &tables);
            let found = deepening.solve(&model.word(&from), &mut |_| !stop.load(Ordering::Relaxed));
            let found = match found {
                None if stop.load(Ordering::Relaxed) => bail!("interrupted"),
                None => return Err(unreachable("a table does not contain it")),
                Some(found) => found,
            };
            (Solutions { distance: found.len() as u32, solutions: vec![found], more: false }, TABLES)
        };
        let solved = model.product(&[]);
        let written = |solution: &Vec<usize>| replayed(&model, &from, &solved, solution);
        let solutions: Vec<String> = found.solutions.iter().map(written).collect::<Result<_>>()?;
        Ok(json!({
            "puzzle": model.name(),
            "metric": model.metric().to_string(),
            "state": model.written_state(&from),
            "distance": found.distance,
            "solutions": solutions,
            "more": (method != TABLES).then_some(found.more),
            "count": number.map(|number| number.to_string()),
            "method": method,
            "notes": spec.notes(!one_way),
        })
        .to_string())
    })
}

/// Plans a run, and returns the object that `fathom plan --json` prints, with the engine.
#[pyfunction]
pub(crate) fn plan(
    py: Python<'_>,
    puzzle: &Puzzle,
    space_options: Options,
    threads: Option<usize>,
    keep: Option<&str>,
) -> PyResult<String> {
    let plan = || -> Result<String> {
        let spec = space(puzzle, &space_options)?;
        let space = spec.space().map_err(without_cosets)?;
        let plan = planned(&spec, &space, || Plan::outline(&space))?;
        let keep = keep.map(|keep| keep.parse().map_err(|error| bad_input!("keep: {error}")));
        let keep = Lookback::new(&space).keep(keep.transpose()?)?;
        let threads = threads.unwrap_or_else(machine::processors);
        let estimate = Estimate::new(&space, &plan, threads, keep);
        let mut json = serde_json::to_value(&estimate)?;
        json["engine"] = if has_tiny_cosets(&space, plan.shape.bits()) { "lists" } else { "cosets" }.into();
        json["notes"] = spec.notes(estimate.inverse_closed).into();
        Ok(json.to_string())
    };
    py.detach(plan).map_err(failed)
}
