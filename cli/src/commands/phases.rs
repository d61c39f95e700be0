//! `fathom phases`.

use crate::arguments::PhasesArguments;
use anyhow::Result;
use fathom_command::{bad_input, output};
use fathom_engine::run::SpaceSpec;
use fathom_puzzle::PuzzleSpec;
use fathom_report::text::{columns, grouped, left};
use fathom_solve::{Phase, SolveModel, phases as computed};
use fathom_space::Labels;
use num_bigint::BigUint;
use serde_json::{Value, json};

pub(crate) fn phases(args: &PhasesArguments) -> Result<()> {
    let source = PuzzleSpec::by_name(&args.puzzle).and_then(|source| {
        let metric = args.metric.unwrap_or(source.metric());
        Ok((source.in_metric(metric)?, metric))
    });
    let (source, metric) = source.map_err(|error| bad_input!("{error}"))?;
    let labels = Labels::from_values(source.solved());
    let model = SolveModel::new(&SpaceSpec { source, metric, labels });
    let model = model.map_err(|error| bad_input!("{error}"))?;
    let phases = computed(&model, &args.chain, args.memory_bytes());
    let phases = phases.map_err(|error| bad_input!("--chain: {error}"))?;
    let upper_bound: u32 = phases.iter().map(Phase::gods_number).sum();
    if args.json {
        let phase = |phase: &Phase| {
            json!({
                "order": phase.order.to_string(),
                "subgroup": phase.subgroup,
                "moves": phase.moves,
                "cosets": phase.cosets(),
                "counts": phase.counts,
                "gods_number": phase.gods_number(),
            })
        };
        let json = json!({
            "puzzle": model.name(),
            "metric": metric.to_string(),
            "upper_bound": upper_bound,
            "phases": phases.iter().map(phase).collect::<Vec<Value>>(),
        });
        return output::line(&json.to_string());
    }
    let row = |(number, phase): (usize, &Phase)| {
        let end = match &phase.subgroup[..] {
            [] => "solved".into(),
            generators => generators.join(","),
        };
        [
            number.to_string(),
            phase.moves.len().to_string(),
            grouped(&phase.cosets().into()),
            phase.gods_number().to_string(),
            end,
        ]
    };
    let table = left(["phase", "moves", "cosets", "God's number", "ends in"], (1..).zip(&phases).map(row));
    let header: Vec<String> = std::iter::once("distance".to_owned())
        .chain((1..=phases.len()).map(|number| format!("phase {number}")))
        .collect();
    let distances = phases.iter().map(|phase| phase.counts.len()).max().unwrap_or(0);
    let rows = (0..distances).map(|distance| {
        let count = |phase: &Phase| {
            phase.counts.get(distance).map_or_else(String::new, |&count| grouped(&BigUint::from(count)))
        };
        std::iter::once(distance.to_string()).chain(phases.iter().map(count)).collect()
    });
    let sum: Vec<String> = phases.iter().map(|phase| phase.gods_number().to_string()).collect();
    output::line(&format!(
        "{} {metric}: {} states\n\n{table}\n{}\nGod's number is at most {upper_bound} = {}",
        model.name(),
        grouped(&phases[0].order),
        columns(&header, rows),
        sum.join(" + ")
    ))
}
