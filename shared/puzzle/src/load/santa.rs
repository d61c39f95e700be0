//! `puzzle_info.csv` of Kaggle's Santa 2023: in each row the type of a puzzle, and a dict of its moves. The
//! list of a move has, for each place, the place that its piece comes from, numbered from 0. In the
//! competition the inverse of a move is a move too, so the metric is [`Metric::Single`].

use super::{Fault, Reason, images};
use crate::Metric;
use crate::definition::Definition;

/// The columns of the file.
const HEADER: &str = "puzzle_type,allowed_moves";

/// Reads the puzzle of a type; without a type, the only puzzle of the file.
pub(super) fn read(text: &str, wanted: Option<&str>) -> Result<Definition, Fault> {
    let mut lines = text.split_inclusive('\n');
    let header = lines.next().unwrap_or_default();
    if header.trim() != HEADER {
        return Err(Fault::syntax(0, format!("expected the columns {HEADER:?} of Kaggle's Santa 2023")));
    }
    let mut at = header.len();
    let mut rows = Vec::new();
    for line in lines {
        if let Some((kind, moves)) = line.trim_end().split_once(',') {
            rows.push((at, kind.trim_matches('"'), moves));
        }
        at += line.len();
    }
    let known: Vec<&str> = rows.iter().map(|&(_, kind, _)| kind).collect();
    let row = match (wanted, &rows[..]) {
        (None, &[row]) => row,
        (None, _) => {
            let reason = format!(
                "the file has {} puzzles; write FILE:TYPE with one of {}",
                rows.len(),
                known.join(" ")
            );
            return Err(Fault::whole(Reason::Syntax(reason)));
        }
        (Some(wanted), rows) => *rows.iter().find(|(_, kind, _)| *kind == wanted).ok_or_else(|| {
            let reason = format!("unknown puzzle type {wanted:?}; the file has {}", known.join(" "));
            Fault::whole(Reason::Syntax(reason))
        })?,
    };
    let (at, kind, moves) = row;
    let list = moves.trim_matches('"');
    let start = at + text[at..].find(list).unwrap_or(0);
    let mut puzzle = images::read_sources(list, &kind.replace('/', "x"))
        .map_err(|fault| Fault { at: fault.at.map(|at| start + at), ..fault })?;
    puzzle.set_metric(Metric::Single);
    Ok(puzzle)
}
