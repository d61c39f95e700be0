//! `fathom plan`.

use crate::arguments::PlanArguments;
use crate::commands::table_memory;
use anyhow::Result;
use fathom_coordinator::bad_input;
use fathom_coordinator::definition::Keep;
use fathom_coordinator::estimate::Estimate;
use fathom_space::Plan;
use indicatif::{HumanBytes, HumanCount};

pub(crate) fn plan(asked: &PlanArguments) -> Result<()> {
    let question = asked.space.question()?;
    let space = question.space()?;
    let plan = Plan::new(&space, table_memory()).map_err(|error| bad_input!("{error}"))?;
    let estimate = Estimate::of(&space, &plan, asked.threads(), Keep::Last);
    if asked.json {
        println!("{}", serde_json::to_string(&estimate)?);
        return Ok(());
    }
    let board = question.board;
    println!(
        "{} {}: {} states, {} moves",
        estimate.space,
        estimate.metric,
        HumanCount(estimate.states),
        estimate.moves
    );
    println!("colouring:");
    for row in estimate.colouring.chunks(board.columns()) {
        println!("    {}", row.iter().map(u8::to_string).collect::<Vec<_>>().join(" "));
    }
    let axes = estimate.axes.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
    println!("coset: {axes} = {} bits", HumanCount(estimate.coset_bits));
    println!(
        "cosets: {} patterns, {} representatives under {} of {} symmetries",
        HumanCount(estimate.patterns),
        HumanCount(estimate.representative_cosets),
        estimate.symmetries_used,
        estimate.symmetries
    );
    println!("layer: {} when dense", HumanBytes(estimate.layer_bytes));
    println!("memory: {}, besides the page cache", HumanBytes(estimate.memory_bytes));
    println!("disk at the peak: {}", HumanBytes(estimate.disk_peak_bytes));
    println!(
        "time: about {} with {} threads (a dense pull takes {:.1} us here; the growth is guessed)",
        seconds(estimate.seconds),
        estimate.threads,
        estimate.pull_microseconds
    );
    Ok(())
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
