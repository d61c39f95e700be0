//! `fathom bound` of a puzzle that is neither a board nor Square-1: from below.

use crate::arguments::BoundArguments;
use anyhow::Result;
use fathom_command::{bad_input, output};
use fathom_report::text::{grouped, many, plain};
use fathom_solve::bound::{Cover, by_words};
use num_bigint::BigUint;
use serde_json::json;

/// The default of `--refine`: the maximum length, in moves, of the subwords that are checked.
const REFINE: u32 = 2;

/// Bounds God's number of a puzzle from below. `notes` describe how its definition was interpreted.
pub(super) fn from_below(cover: &Cover, notes: &[&str], args: &BoundArguments) -> Result<()> {
    let refine = args.refine.unwrap_or(REFINE);
    let states = cover.states().map_err(|error| bad_input!("{error}"))?;
    let refined = by_words(cover, refine, args.memory_bytes()).map_err(|error| bad_input!("{error}"))?;
    let (name, metric) = (cover.name(), cover.metric());
    if args.json {
        let counts: Vec<String> = refined.counts.iter().map(|count| count.total().to_string()).collect();
        let told = json!({
            "space": name,
            "metric": metric,
            "states": states.to_string(),
            "bound": refined.bound,
            "depth": refined.depth,
            "automaton_states": refined.automaton,
            "words": counts,
            "notes": notes,
        });
        return output::line(&told.to_string());
    }
    let mut sum = BigUint::ZERO;
    let rows = refined.counts.iter().enumerate().map(|(length, count)| {
        let words = count.total();
        sum += &words;
        [length.to_string(), grouped(&words), grouped(&sum)]
    });
    let table = plain(["length", "refined", "cumulative"], rows);
    output::line(&format!(
        "{name} {metric}: {} states\n\n{table}\nGod's number is at least\n{:>4}  by counting sequences without redundant parts of up to {} ({} in the automaton)",
        grouped(states),
        refined.bound,
        many(refined.depth.into(), "move"),
        many(refined.automaton as u64, "state")
    ))
}
