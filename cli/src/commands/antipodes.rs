//! `fathom antipodes`.

use crate::arguments::AntipodesArguments;
use crate::commands::temporary_run::{self, TemporaryRun};
use anyhow::{Context, Result};
use fathom_command::{bad_input, output, shell};
use fathom_engine::directory::RunDirectory;
use fathom_engine::run::SpaceSpec;
use fathom_layer::LocalDisk;
use fathom_report::text::{left, many, or_more};
use fathom_solve::solutions::{not_kept, with_solutions};
use fathom_solve::{Class, LayerDistances, SolveModel, SpaceWords, classes, up_to_inversion};
use indicatif::HumanBytes;
use serde_json::json;
use std::path::Path;

/// The maximum disk use, in bytes, of a run that is created only for this command.
const MAX_BYTES: u64 = 1 << 30;

/// Returns the name of the moves printed beside a state. If the moves are not closed under inverses, layers
/// give only a path from the solved state to a state, so the moves are a scramble.
fn way(run: &RunDirectory) -> &'static str {
    if run.space.is_closed_under_inverses() { "solution" } else { "scramble" }
}

pub(crate) fn antipodes(args: &AntipodesArguments) -> Result<()> {
    if let Some(path) = args.space.directory()? {
        // The run is locked, because a search would delete layers while they are read.
        return tell(args, &RunDirectory::open_unchanging(path)?);
    }
    let directory = temporary_run::directory()?;
    let run = run(args, &directory.path().join("run"))?;
    tell(args, &run)
}

/// Returns the model that writes states as text.
fn model(spec: &SpaceSpec) -> Result<SolveModel> {
    SolveModel::new(spec).map_err(|error| bad_input!("{error}"))
}

/// Enumerates a space that needs at most [`MAX_BYTES`] of disk, keeping all layers.
fn run(args: &AntipodesArguments, path: &Path) -> Result<RunDirectory> {
    let spec = args.space.spec()?;
    model(&spec)?;
    let planned = TemporaryRun::plan(spec)?;
    let needed = planned.disk_bytes(args.depth);
    if needed > MAX_BYTES {
        return Err(bad_input!(
            "{} needs up to {} of disk, but temporary runs are limited to {}. Run 'fathom run {} --keep all' first, then pass its directory",
            planned.slug(),
            HumanBytes(needed),
            HumanBytes(MAX_BYTES),
            planned.spec().source.name()
        ));
    }
    planned.run(path, args.depth, args.memory_bytes())
}

fn tell(args: &AntipodesArguments, run: &RunDirectory) -> Result<()> {
    let path = shell::path(&run.path);
    let model = model(&run.manifest.spec)?;
    let Some(mut kept) = LayerDistances::new(run, args.memory_bytes(), &LocalDisk)? else {
        return Err(bad_input!(
            "the layers of the run in {path} are on its workers, which this command cannot read"
        ));
    };
    let last = kept.layers().len().checked_sub(1).map(|last| last as u32);
    let last = last.ok_or_else(|| bad_input!("the run in {path} has no finished layer yet"))?;
    let depth = match args.depth {
        Some(depth) if depth > last && kept.is_complete() => {
            return Err(bad_input!(
                "{} has no states at depth {depth}: the largest depth is {last}",
                run.space.slug()
            ));
        }
        Some(depth) if depth > last => {
            return Err(bad_input!(
                "the run in {path} is finished only to depth {last}. Continue it with 'fathom resume {path}'"
            ));
        }
        Some(depth) => depth,
        None if kept.is_complete() => last,
        None => {
            return Err(bad_input!(
                "the run in {path} is not complete (finished to depth {last}). Continue it with 'fathom resume {path}', or choose a depth with --depth"
            ));
        }
    };
    if !kept.has(depth) {
        return Err(not_kept(run, kept.layers(), Some(depth)));
    }
    let layer = kept.layers()[depth as usize].clone();
    let found = classes(
        &mut kept,
        (run.space.puzzle().cells, run.space.symmetry_order()),
        depth,
        args.memory_bytes(),
    )?;
    let found = match args.up_to_inversion {
        true => up_to_inversion(run.space.cosets()?, found, layer.classes_with_inverse)?,
        false => found,
    };
    let number = found.len() as u64;
    let shown: Vec<Class> = found.into_iter().take(args.limit as usize).collect();
    let (symmetries, way) = (run.space.symmetry_order() as u64, way(run));
    if args.json {
        let mut representatives = Vec::new();
        with_solutions(run, &model, &mut kept, depth, shown, args.memory_bytes(), |told| {
            let Class { size, symmetry, .. } = told.class;
            representatives
                .push(json!({ "size": size, "symmetry": symmetry, "state": told.state, way: told.moves }));
            Ok(())
        })?;
        let labels = &run.manifest.spec.labels;
        let json = json!({
            "space": run.manifest.spec.source.name(),
            "metric": run.manifest.spec.metric.to_string(),
            "labels": (!labels.are_distinct()).then(|| labels.of_pieces()),
            "depth": depth,
            "states": layer.states,
            "classes": number,
            "symmetries": symmetries,
            "symmetries_are_all": run.space.has_all_symmetries(),
            "up_to_inversion": args.up_to_inversion,
            "notes": run.manifest.spec.notes(run.space.is_closed_under_inverses()),
            "representatives": representatives,
        });
        return output::line(&json.to_string());
    }
    output::line(&format!(
        "{}: {} at depth {depth}, in {} under {}{}{}\n",
        run.space.slug(),
        many(layer.states, "state"),
        many(number, "class"),
        many(symmetries, "symmetry"),
        or_more(run.space.has_all_symmetries()),
        if args.up_to_inversion { " and inversion" } else { "" },
    ))?;
    let rest = match number - shown.len() as u64 {
        0 => String::new(),
        rest => format!("\n{} not shown: print all with --limit {number}", many(rest, "class")),
    };
    let numbered = |number: usize, class: &Class, state: String| {
        [(number + 1).to_string(), class.size.to_string(), class.symmetry.to_string(), state]
    };
    if kept.has_all_to(depth) {
        let mut rows = Vec::new();
        with_solutions(run, &model, &mut kept, depth, shown, args.memory_bytes(), |told| {
            let [number, size, symmetry, state] = numbered(rows.len(), &told.class, told.state);
            rows.push([number, size, symmetry, state, told.moves]);
            Ok(())
        })?;
        let table = left(["class", "size", "symmetry", "state", way], rows);
        return output::line(&format!("{}{rest}", table.trim_end()));
    }
    // Each solution takes a search: the states first, and solutions as they are found.
    let (words, elements) = (SpaceWords::new(&model, &run.space), model.elements());
    let states = shown.iter().enumerate().map(|(number, class)| {
        let word = words.in_model(&class.word);
        let word = word.context("a state has pieces on cells that they cannot reach")?;
        Ok(numbered(number, class, model.written_state(&elements.of(&word))))
    });
    let table = left(["class", "size", "symmetry", "state"], states.collect::<Result<Vec<_>>>()?);
    output::line(&format!("{}{rest}\n\n class  {way}", table.trim_end()))?;
    let mut number = 0;
    with_solutions(run, &model, &mut kept, depth, shown, args.memory_bytes(), |told| {
        number += 1;
        output::line(&format!(" {number:<5}  {}", told.moves))
    })
}
