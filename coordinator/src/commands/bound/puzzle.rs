//! `fathom bound` of a puzzle that is neither a board nor Square-1.

use crate::arguments::BoundArguments;
use anyhow::Result;
use fathom_bound::by_words;
use fathom_command::{bad_input, output};
use fathom_puzzle::PuzzleSpec;
use fathom_report::text::{grouped, many, plain};
use num_bigint::BigUint;
use serde_json::json;

/// The default of `--refine`: the most moves of the parts of words that are checked.
const REFINE: u32 = 2;

pub(super) fn bound(source: &PuzzleSpec, args: &BoundArguments) -> Result<()> {
    if args.upper || args.by_last_line {
        return Err(bad_input!("--upper and --by-last-line are for boards"));
    }
    if let PuzzleSpec::Defined(definition) = source
        && !definition.is_plain()
        && !definition.is_guarded()
    {
        return Err(bad_input!(
            "{} has pieces that look alike or hide how they are turned: words are counted against the elements of a group",
            source.name()
        ));
    }
    let metric = args.metric.unwrap_or_else(|| source.metric());
    let puzzle = source.puzzle(metric).map_err(|error| bad_input!("{error}"))?;
    let refine = args.refine.unwrap_or(REFINE);
    let found = by_words(&puzzle, refine, args.memory_bytes()).map_err(|error| bad_input!("{error}"))?;
    let (states, refined) = found;
    if args.json {
        let counts: Vec<String> = refined.counts.iter().map(|count| count.total().to_string()).collect();
        let told = json!({
            "space": puzzle.name,
            "metric": metric,
            "states": states.to_string(),
            "bound": refined.bound,
            "depth": refined.depth,
            "automaton_states": refined.automaton,
            "words": counts,
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
        "{} {metric}: {} states\n\n{table}\nGod's number is at least\n{:>4}  by words whose parts of up to {} are the first of their states ({} of an automaton)",
        puzzle.name,
        grouped(&states),
        refined.bound,
        many(refined.depth.into(), "move"),
        many(refined.automaton as u64, "state")
    ))
}
