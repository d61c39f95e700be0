//! `fathom plan`.

use crate::arguments::PlanArguments;
use anyhow::Result;
use fathom_command::bad_input;
use fathom_command::output;
use fathom_coordinator::estimate::Estimate;
use fathom_coordinator::table::many;
use fathom_run::definition::Question;
use fathom_space::Plan;
use indicatif::HumanBytes;

pub(crate) fn plan(asked: &PlanArguments) -> Result<()> {
    let question = asked.space.question()?;
    let space = question.space()?;
    let plan = Plan::new(&space).map_err(|error| bad_input!("{error}"))?;
    let estimate = Estimate::of(&space, &plan, asked.threads(), asked.keep);
    output::line(&match asked.json {
        true => serde_json::to_string(&estimate)?,
        false => text(&estimate, &question),
    })
}

fn text(estimate: &Estimate, question: &Question) -> String {
    let board = |values: &[u8]| {
        let rows = values.chunks(question.board.columns());
        let rows = rows.map(|row| row.iter().map(u8::to_string).collect::<Vec<_>>().join(" "));
        rows.map(|row| format!("    {row}\n")).collect::<String>()
    };
    let labels = match &estimate.labels {
        Some(labels) => format!("labels:\n{}", board(labels)),
        None => String::new(),
    };
    let axes = estimate.axes.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
    format!(
        "{} {}: {}, {}
{labels}colouring:
{}coset: {axes} = {}
cosets: {}, {} under {} of {}
layer: {} when dense
memory: {}, besides the page cache
disk at the peak: {}
time: about {} with {} (a dense pull takes {:.1} us here; the growth is guessed)",
        estimate.space,
        estimate.metric,
        many(estimate.states, "state"),
        many(estimate.moves as u64, "move"),
        board(&estimate.colouring),
        many(estimate.coset_bits, "bit"),
        many(estimate.patterns, "pattern"),
        many(estimate.representative_cosets, "representative"),
        estimate.symmetries_used,
        many(estimate.symmetries as u64, "symmetry").replace("symmetrys", "symmetries"),
        HumanBytes(estimate.layer_bytes),
        HumanBytes(estimate.memory_bytes),
        HumanBytes(estimate.disk_peak_bytes),
        seconds(estimate.seconds),
        many(estimate.threads as u64, "thread"),
        estimate.pull_microseconds
    )
}

/// Two digits are more than the estimate is worth.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 600.0 => format!("{s:.0} s"),
        s if s < 36_000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}
