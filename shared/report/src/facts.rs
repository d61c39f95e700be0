//! The results of a run and their origin, as text.

use super::Report;
use super::numbers::duration;
use crate::text::{many, or_more, visited_of};
use fathom_engine::summary::Summary;
use fathom_puzzle::{Metric, PuzzleSpec};
use indicatif::HumanCount;
use std::time::{Duration, UNIX_EPOCH};

/// The maximum number of moves that are listed by name.
const MAX_MOVES: usize = 48;

/// One fact of a report: a name and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The name.
    pub what: &'static str,
    /// The value.
    pub said: String,
    /// Whether the value is set in a typewriter font: digests, names of moves.
    pub code: bool,
}

fn fact(what: &'static str, said: impl Into<String>) -> Fact {
    Fact { what, said: said.into(), code: false }
}

fn code(what: &'static str, said: impl Into<String>) -> Fact {
    Fact { what, said: said.into(), code: true }
}

/// Describes the states from which distances are counted, what one move is, and whether distances are one
/// way. The text is the end of a sentence, on one line and without control characters.
pub fn from_where(report: &Report) -> String {
    let summary = &report.summary;
    let alike =
        if report.told_labels().is_some() { "; pieces with the same label are interchangeable" } else { "" };
    let one_way = summary.one_way().map_or_else(String::new, |one_way| format!("; {one_way}"));
    let puzzle = puzzle(&report.source);
    let move_is = move_is(&report.source, &report.summary.metric);
    let starts = summary.starts.map_or("the solved state".into(), |starts| many(starts, "start state"));
    let text = format!("{starts} of {puzzle}; {move_is}{alike}{one_way}");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the enumerated space and the results.
pub fn of_results(report: &Report) -> Vec<Fact> {
    let summary = &report.summary;
    let metric = format!("{}: {}", summary.metric, move_is(&report.source, &report.summary.metric));
    let mut facts = vec![fact("puzzle", puzzle(&report.source)), fact("metric", metric)];
    let count = report.moves.len();
    facts.push(match count <= MAX_MOVES {
        true => code("moves", format!("{count}: {}", report.moves.join(", "))),
        false => fact("moves", HumanCount(count as u64).to_string()),
    });
    if let Some(labels) = report.told_labels() {
        let labels: Vec<String> = labels.iter().map(u16::to_string).collect();
        facts.push(code("labels", labels.join(",")));
    }
    facts.push(fact("states", summary.all_states().unwrap_or_else(|| "not known".into())));
    facts.push(fact("symmetries", symmetries(summary)));
    facts.push(fact(summary.largest_distance_is(), largest_distance(report)));
    facts.extend(antipodes(report).map(|said| fact("antipodes", said)));
    facts.extend(mean_distance(report).map(|mean| fact("mean distance", format!("{mean:.4}"))));
    facts.extend(variance(report).map(|variance| fact("variance of the distance", format!("{variance:.4}"))));
    facts.push(fact("status", status(report)));
    facts.extend(summary.notes.iter().map(|note| fact("note", note)));
    facts
}

/// Returns the origin of the results.
pub fn of_origin(report: &Report) -> Vec<Fact> {
    let provenance = &report.provenance;
    let mut facts = vec![
        code("digest of the run", report.summary.digest.clone()),
        code("fingerprint", provenance.fingerprint.clone()),
    ];
    if !report.rows.is_empty() {
        facts.push(fact("wall time of all layers", duration(report.summary.seconds)));
    }
    facts.push(fact("shards", many(provenance.shards.into(), "shard")));
    for process in &provenance.processes {
        let begun = UNIX_EPOCH + Duration::from_secs(process.begun);
        let processor = process.processor.as_deref().map_or_else(String::new, |name| format!(" on {name}"));
        facts.push(fact(
            "process",
            format!(
                "fathom {}, {}{processor}, kernel {}, started {}, {}",
                process.version,
                many(process.threads as u64, "thread"),
                process.kernel,
                humantime::format_rfc3339_seconds(begun),
                duration(process.seconds)
            ),
        ));
    }
    if !provenance.workers.is_empty() {
        let workers = many(provenance.workers.len() as u64, "worker");
        facts.push(fact("workers", format!("{workers}: {}", provenance.workers.join(", "))));
    }
    facts.push(fact("started by", provenance.begun_by.clone()));
    facts.push(fact("reported by", provenance.reported_by.clone()));
    facts
}

/// Returns the status: that the run is complete, or its progress.
pub fn status(report: &Report) -> String {
    let summary = &report.summary;
    match (summary.check(), report.rows.last()) {
        (Some(check), _) => format!("complete: {check}"),
        (None, Some(last)) => {
            format!("unfinished: known up to distance {}, {}", last.depth, visited_of(summary))
        }
        (None, None) => "unfinished: no distance is known yet".into(),
    }
}

/// Returns the largest distance. If the run is not complete, returns a lower bound: the remaining states
/// are beyond the last finished depth.
pub fn largest_distance(report: &Report) -> String {
    match report.summary.god_number {
        Some(distance) => distance.to_string(),
        None => format!("at least {}", report.rows.len()),
    }
}

/// Returns the number of symmetries up to which classes are counted, and whether there may be more.
pub fn symmetries(summary: &Summary) -> String {
    format!("{}{}", HumanCount(summary.symmetries as u64), or_more(summary.symmetries_are_all))
}

/// Returns the number of states at the largest distance; `None` if the run is not complete.
pub fn antipodes(report: &Report) -> Option<String> {
    let last = report.rows.last().filter(|_| report.summary.complete)?;
    Some(match last.classes {
        _ if report.summary.symmetries == 1 => many(last.states, "state"),
        Some(1) => format!("{}, all equivalent under symmetry", many(last.states, "state")),
        Some(classes) => format!("{}, {} up to symmetry", many(last.states, "state"), HumanCount(classes)),
        None => many(last.states, "state"),
    })
}

/// Returns the mean distance of a state; `None` if the run is not complete.
pub fn mean_distance(report: &Report) -> Option<f64> {
    let rows = report.rows.iter().map(|row| Some(f64::from(row.depth) * row.share?));
    rows.sum::<Option<f64>>().filter(|_| report.summary.complete)
}

/// Returns the variance of the distance of a state; `None` if the run is not complete.
fn variance(report: &Report) -> Option<f64> {
    let mean = mean_distance(report)?;
    report.rows.iter().map(|row| Some((f64::from(row.depth) - mean).powi(2) * row.share?)).sum()
}

fn puzzle(source: &PuzzleSpec) -> String {
    match source {
        PuzzleSpec::Board(board) => {
            format!("a board of {} x {} tiles whose rows and columns rotate", board.rows(), board.columns())
        }
        PuzzleSpec::Defined(definition) => {
            format!("{}, a puzzle of {}", definition.name(), many(definition.cells() as u64, "cell"))
        }
    }
}

/// Describes what counts as one move.
pub(crate) fn move_is(source: &PuzzleSpec, metric: &str) -> &'static str {
    let is = |known: Metric| metric == known.as_str();
    match source {
        PuzzleSpec::Board(_) if is(Metric::Multi) => "any rotation of one line is one move",
        PuzzleSpec::Board(_) if is(Metric::Single) => {
            "a shift of one line by one cell, either way, is one move"
        }
        PuzzleSpec::Board(_) => {
            "a shift of one row to the left or one column upwards, by one cell, is one move"
        }
        PuzzleSpec::Defined(_) if is(Metric::Multi) => "any power of a listed move is one move",
        PuzzleSpec::Defined(_) if is(Metric::Single) => "a listed move or its inverse is one move",
        PuzzleSpec::Defined(_) if is(Metric::Face) => "a turn of one layer or a twist is one move",
        PuzzleSpec::Defined(_) if is(Metric::Twist) => {
            "a twist is one move, and turns of the layers cost nothing"
        }
        PuzzleSpec::Defined(_) => "a listed move is one move",
    }
}
