//! `fathom definition` and `fathom symmetries`: a puzzle as other programs read it.

use crate::arguments::{DefinitionArguments, DefinitionFormat, SymmetriesArguments};
use anyhow::Result;
use fathom_algebra::Relabelling;
use fathom_command::{bad_input, output};
use fathom_puzzle::PuzzleSpec;
use serde_json::json;

pub(crate) fn definition(args: &DefinitionArguments) -> Result<()> {
    let source = PuzzleSpec::by_name(&args.puzzle).map_err(|error| bad_input!("{error}"))?;
    let definition = source.definition(source.metric()).map_err(|error| bad_input!("{error}"))?;
    let text = match args.format {
        DefinitionFormat::Toml => Ok(definition.to_toml()),
        DefinitionFormat::Gap => definition.to_gap(),
        DefinitionFormat::Json => definition.to_images().map(|images| images.to_string()),
        DefinitionFormat::Kpuzzle => definition.to_kpuzzle().map(|puzzle| format!("{puzzle:#}")),
        DefinitionFormat::Tws => definition.to_ksolve(),
    };
    output::line(text.map_err(|why| bad_input!("{}: {why}", source.name()))?.trim_end())
}

pub(crate) fn symmetries(args: &SymmetriesArguments) -> Result<()> {
    let source = PuzzleSpec::by_name(&args.puzzle).map_err(|error| bad_input!("{error}"))?;
    let metric = args.metric.unwrap_or(source.metric());
    let puzzle = source.puzzle(metric).map_err(|error| bad_input!("{error}"))?;
    if args.json {
        let images =
            |a: &Relabelling| (0..puzzle.cells).map(|cell| a.cells().apply(cell)).collect::<Vec<_>>();
        let symmetry =
            |a: &Relabelling| json!({ "cells": images(a), "factors": a.factors(), "turns": a.turns() });
        return output::line(
            &json!({
                "puzzle": source.name(),
                "metric": metric.to_string(),
                "symmetries": puzzle.symmetries.iter().map(symmetry).collect::<Vec<_>>(),
                "symmetries_are_all": puzzle.has_all_symmetries,
            })
            .to_string(),
        );
    }
    let written = |a: &Relabelling| {
        let turns =
            || a.factors().iter().any(|&factor| factor != 1) || a.turns().iter().any(|&turn| turn != 0);
        let of_turns = || {
            let of_cell = |(factor, turn): (&u16, &u16)| format!("{factor}x+{turn}");
            a.factors().iter().zip(a.turns()).map(of_cell).collect::<Vec<_>>().join(" ")
        };
        if turns() { format!("{}  {}", a.cells(), of_turns()) } else { a.cells().to_string() }
    };
    output::line(&puzzle.symmetries.iter().map(written).collect::<Vec<_>>().join("\n"))
}
