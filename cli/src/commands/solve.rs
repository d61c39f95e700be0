//! `fathom solve`.

mod states;

use crate::arguments::SolveArguments;
use crate::commands::temporary_run::{self, TemporaryRun};
use anyhow::{Context, Error, Result};
use fathom_algebra::OrientedPermutation;
use fathom_command::exit::BadInput;
use fathom_command::scratch::Scratch;
use fathom_command::{bad_input, output, shell};
use fathom_engine::directory::RunDirectory;
use fathom_engine::run::SpaceSpec;
use fathom_layer::LocalDisk;
use fathom_report::text::{grouped, many};
use fathom_solve::solutions::{from_layers, is_at, keeps_all, replayed};
use fathom_solve::{
    BeyondLayers, Bidirectional, Deepening, DistanceTable, LayerDistances, Looked, SearchError, Solutions,
    SolveModel, SpaceWords, TableOfModel, count,
};
use num_bigint::BigUint;
use serde_json::{Value, json};
use states::{Ends, Reader};
use std::cell::OnceCell;

pub(crate) fn solve(args: &SolveArguments) -> Result<()> {
    let run = args.space.directory()?.map(RunDirectory::open_for_reading).transpose()?;
    let spec = match &run {
        Some(run) => run.manifest.spec.clone(),
        None => args.space.spec()?,
    };
    let model = SolveModel::new(&spec).map_err(|error| bad_input!("{error}"))?;
    let reader = Reader::new(args, &model, &spec)?;
    let tables: Vec<DistanceTable> =
        args.table.iter().map(|path| DistanceTable::open(path)).collect::<Result<_>>()?;
    let one_way = spec.source.is_one_way(spec.metric).map_err(|error| bad_input!("{error}"))?;
    let enumerated = OnceCell::new();
    let mut solver = Solver {
        args,
        model: &model,
        spec: &spec,
        one_way,
        tables: tables.iter().map(|table| table.for_model(&model, &spec)).collect::<Result<_>>()?,
        layers: None,
        enumerated: &enumerated,
        search: None,
    };
    // If the moves are not closed under inverses, layers give the distance from the solved state to a state,
    // not the distance back.
    if let Some(run) = &run
        && run.space.is_closed_under_inverses()
        && keeps_all(run)?
    {
        let kept = LayerDistances::new(run, args.memory_bytes(), &LocalDisk)?;
        solver.layers = kept.map(|kept| Layers { run, kept, words: SpaceWords::new(&model, &run.space) });
    }
    let printer = Printer { args, model: &model, notes: spec.notes(!one_way) };
    let Some(file) = &args.states else {
        let ends = reader.ends()?;
        let found = solver.solve(&ends)?;
        return printer.print(&ends, &found);
    };
    for (line, number) in fathom_command::lines::of(file)?.zip(1_u64..) {
        let line = line?;
        let solved = reader.line(&line).and_then(|ends| Ok((solver.solve(&ends)?, ends)));
        match solved {
            Ok((found, ends)) => printer.print_line(number, &ends, &found)?,
            Err(error) if args.json && error.is::<BadInput>() => {
                output::line(&json!({ "line": number, "error": format!("{error:#}") }).to_string())?;
            }
            Err(error) => return Err(error.context(format!("line {number}"))),
        }
    }
    Ok(())
}

/// Finds solutions.
struct Solver<'a> {
    args: &'a SolveArguments,
    model: &'a SolveModel,
    spec: &'a SpaceSpec,
    one_way: bool,
    tables: Vec<TableOfModel<'a>>,
    /// The layers of the run, or of a run that was made for the question.
    layers: Option<Layers<'a>>,
    /// The run that was made for the question.
    enumerated: &'a OnceCell<(Scratch, RunDirectory)>,
    /// The search from both ends, which keeps the states near the goal.
    search: Option<Bidirectional<'a>>,
}

/// The layers of a run.
struct Layers<'a> {
    run: &'a RunDirectory,
    kept: LayerDistances<'a>,
    words: SpaceWords<'a>,
}

impl<'a> Solver<'a> {
    fn solve(&mut self, ends: &Ends<'_>) -> Result<Found> {
        let model = self.model;
        // A state whose distance from the solved state is the one in question, if there is such a state.
        let to_solve = ends.to_solve(model);
        if let Some(why) = ends.why_not(model, to_solve.as_ref()) {
            return Err(why);
        }
        if !self.tables.is_empty() {
            return self.by_tables(ends, to_solve.as_ref());
        }
        match to_solve {
            Some(state) if self.layers.is_some() => self.by_layers(ends, &state),
            to_solve => self.searched(ends, to_solve.as_ref()),
        }
    }

    /// Finds the solutions of a state from the layers.
    fn by_layers(&mut self, ends: &Ends<'_>, state: &OrientedPermutation) -> Result<Found> {
        let Self { args, model, .. } = *self;
        let Layers { kept, words, .. } = self.layers.as_mut().context("there are no layers")?;
        let word = model.word(state);
        let depth = words.in_space(&word).map(|word| kept.depth_of(&word)).transpose()?;
        let Some(depth) = depth.flatten() else {
            return match (kept.is_complete(), self.enumerated.get()) {
                (true, None) => Err(ends.unreachable(model, "no layer of the complete run contains it")),
                (true, Some(_)) => Err(ends.unreachable(
                    model,
                    "the states that can be reached were enumerated, and it is not among them",
                )),
                (false, _) if model.has_states_of_runs() => self.beyond_layers(ends, &word),
                (false, _) => self.searched(ends, Some(state)),
            };
        };
        let solutions = from_layers(kept, words, model, &word, depth, args.most())?;
        let number = args
            .count
            .then(|| count(model, &word, depth, |word, left| is_at(kept, words, word, left)))
            .transpose()?;
        let method = if self.enumerated.get().is_some() { "enumeration" } else { "layers" };
        Ok(Found { solutions, number, method })
    }

    /// Finds the solutions of a state beyond the layers of an unfinished run.
    fn beyond_layers(&mut self, ends: &Ends<'_>, word: &[u8]) -> Result<Found> {
        let Self { args, model, .. } = *self;
        let Layers { run, kept, words } = self.layers.as_mut().context("there are no layers")?;
        let mut looked = |looked: Looked| {
            if looked.states >= MANY_STATES {
                remark(looked);
            }
        };
        let mut beyond = BeyondLayers::new(model, kept, words, word, args.memory_bytes(), &mut looked)
            .map_err(|error| match error.downcast::<SearchError>() {
                Ok(error @ SearchError::Unreachable { .. }) => ends.exhausted(model, &error),
                Ok(error) => Error::new(error).context(format!(
                    "{}. Use more --memory, or continue the run with 'fathom resume {}'",
                    ends.too_far(),
                    shell::path(&run.path)
                )),
                Err(error) => error,
            })?;
        let number = args.count.then(|| beyond.count()).transpose()?;
        Ok(Found { solutions: beyond.solutions(args.most())?, number, method: "layers" })
    }

    /// Finds the solutions from both ends; or from the layers of a temporary run, if the search has become large and
    /// the whole space is small.
    fn searched(&mut self, ends: &Ends<'_>, to_solve: Option<&OrientedPermutation>) -> Result<Found> {
        let Self { args, model, spec, .. } = *self;
        let (start, goal) = match to_solve {
            Some(state) => (model.word(state), model.solved().to_vec()),
            None => (model.word(&ends.from), model.word(&ends.to)),
        };
        let mut asked = false;
        let mut planned = None;
        let mut goes_on = |looked: Looked| {
            if looked.states < MANY_STATES {
                return true;
            }
            if !asked {
                asked = true;
                planned = to_solve.and_then(|_| TemporaryRun::of_small_space(spec));
            }
            if planned.is_none() {
                remark(looked);
            }
            planned.is_none()
        };
        // The goal is the same for all states of a file.
        let search =
            self.search.get_or_insert_with(|| Bidirectional::towards(model, &goal, args.memory_bytes()));
        match search.paths(&start, &mut goes_on) {
            Ok(Some(paths)) => {
                let number = args.count.then(|| paths.count());
                return Ok(Found {
                    solutions: paths.solutions(args.most()),
                    number,
                    method: "bidirectional",
                });
            }
            Ok(None) => {}
            Err(error @ SearchError::Unreachable { .. }) => return Err(ends.exhausted(model, &error)),
            Err(error @ SearchError::Memory { .. }) => {
                return Err(Error::new(error).context(format!(
                    "{}. Use more --memory, or pass the directory of a run made with --keep all",
                    ends.too_far()
                )));
            }
        }
        self.search = None;
        let (state, planned) = to_solve.zip(planned).context("the search ended early")?;
        let directory = temporary_run::directory()?;
        let run = planned.run(&directory.path().join("run"), None, args.memory_bytes())?;
        let (_, run) = self.enumerated.get_or_init(|| (directory, run));
        let kept = LayerDistances::new(run, args.memory_bytes(), &LocalDisk)?;
        let (kept, words) =
            (kept.context("a temporary run has no layers")?, SpaceWords::new(model, &run.space));
        self.layers = Some(Layers { run, kept, words });
        self.by_layers(ends, state)
    }

    /// Finds a solution with lower bounds from tables.
    fn by_tables(&self, ends: &Ends<'_>, to_solve: Option<&OrientedPermutation>) -> Result<Found> {
        let model = self.model;
        let state = to_solve.filter(|_| !self.one_way).ok_or_else(|| {
            bad_input!("tables have the distances from the solved state, so --table needs moves that are closed under inverses, and a solution that ends solved")
        })?;
        let solution = Deepening::new(model, &self.tables).solve(&model.word(state), &mut |moves| {
            output::remark(&format!("no solution has {} or fewer", many(moves.into(), "move")));
            true
        });
        let solution = solution.ok_or_else(|| ends.unreachable(model, "a table does not contain it"))?;
        // The search ends at the first solution, so whether there are more is not known.
        let solutions = Solutions { distance: solution.len() as u32, solutions: vec![solution], more: false };
        Ok(Found { solutions, number: None, method: TABLES })
    }
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

/// Says how far a search has looked.
fn remark(looked: Looked) {
    let (moves, states) = (many(looked.moves.into(), "move"), many(looked.states, "state"));
    output::remark(&format!("no solution has {moves} or fewer; {states} so far"));
}

/// Prints solutions.
struct Printer<'a> {
    args: &'a SolveArguments,
    model: &'a SolveModel,
    notes: Vec<String>,
}

impl Printer<'_> {
    /// Prints the answer to the question of the arguments.
    fn print(&self, ends: &Ends<'_>, found: &Found) -> Result<()> {
        if self.args.json {
            return output::line(&self.json(ends, found)?.to_string());
        }
        let Found { solutions: Solutions { distance, more, .. }, number, .. } = found;
        let solutions = match &self.solutions(ends, found)?[..] {
            [one] if !self.args.all => format!("solution: {one}"),
            all => {
                let or_more = if *more { " (and more)" } else { "" };
                let lines: String = all.iter().map(|solution| format!("\n    {solution}")).collect();
                format!("solutions: {}{or_more}{lines}", all.len())
            }
        };
        let number =
            number.as_ref().map_or_else(String::new, |number| format!("\ncount: {}", grouped(number)));
        output::line(&format!("distance: {distance}\n{solutions}{number}"))
    }

    /// Prints the answer to a line of a file: the distance, and the solutions, with tabs between them.
    fn print_line(&self, line: u64, ends: &Ends<'_>, found: &Found) -> Result<()> {
        if self.args.json {
            let mut json = self.json(ends, found)?;
            json["line"] = line.into();
            return output::line(&json.to_string());
        }
        let distance = found.solutions.distance.to_string();
        output::line(&[vec![distance], self.solutions(ends, found)?].concat().join("\t"))
    }

    fn solutions(&self, ends: &Ends<'_>, found: &Found) -> Result<Vec<String>> {
        let solutions = found.solutions.solutions.iter();
        solutions.map(|solution| replayed(self.model, &ends.from, &ends.to, solution)).collect()
    }

    fn json(&self, ends: &Ends<'_>, found: &Found) -> Result<Value> {
        let Self { model, notes, .. } = self;
        let Found { solutions: Solutions { distance, more, .. }, number, method } = found;
        let mut json = json!({
            "puzzle": model.name(),
            "metric": model.metric().to_string(),
            "state": self.written_state(&ends.from),
            "distance": distance,
            "solutions": self.solutions(ends, found)?,
            "more": (*method != TABLES).then_some(more),
            "method": method,
            "notes": notes,
        });
        if let Some(number) = number {
            json["count"] = number.to_string().into();
        }
        if ends.has_goal {
            json["to"] = self.written_state(&ends.to).into();
        }
        Ok(json)
    }

    /// Formats a state for display, with tiles numbered from 0 or from 1 as the arguments say.
    fn written_state(&self, state: &OrientedPermutation) -> String {
        let written = self.model.written_state(state);
        let more = |tile: &str| tile.parse().map(|tile: u16| (tile + 1).to_string());
        match self.args.from_one && !self.model.counts_from_one() {
            // Cycles do not parse as a list of numbers, so they are unchanged.
            true => written
                .split(' ')
                .map(more)
                .collect::<Result<Vec<_>, _>>()
                .map_or(written, |tiles| tiles.join(" ")),
            false => written,
        }
    }
}
