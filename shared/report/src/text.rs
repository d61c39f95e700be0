//! Text for a terminal: the growth table, tables without rules, and counted nouns.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets};
use fathom_engine::summary::Summary;
pub use fathom_space::grouped;
use indicatif::{HumanBytes, HumanCount};
use std::fmt::{self, Write};

/// Writes the growth table of a run, its largest distance, and the check that its counts add up.
pub fn growth(summary: &Summary) -> String {
    let mut out = String::new();
    write_growth(&mut out, summary).expect("writing to a string succeeds");
    out
}

fn write_growth(out: &mut String, summary: &Summary) -> fmt::Result {
    writeln!(out, "{} {}", summary.space, summary.metric)?;
    if let Some(labels) = &summary.labels {
        let labels: Vec<String> = labels.iter().map(u16::to_string).collect();
        writeln!(out, "labels {}", labels.join(","))?;
    }
    writeln!(out)?;
    let mut cumulative = 0;
    let rows = summary.counts.iter().enumerate().map(|(depth, &states)| {
        cumulative += states;
        let counted = |classes: &Option<Vec<u64>>| {
            classes.as_ref().map_or("-".into(), |classes| HumanCount(classes[depth]).to_string())
        };
        [
            depth.to_string(),
            HumanCount(states).to_string(),
            counted(&summary.classes),
            counted(&summary.classes_with_inverse),
            HumanCount(cumulative).to_string(),
            summary.share(states).map_or("-".into(), |share| format!("{:.4} %", 100.0 * share)),
            format!("{:.3}", summary.seconds_each[depth]),
            HumanBytes(summary.layer_bytes[depth]).to_string(),
        ]
    });
    let header = ["depth", "states", "classes", "+inverse", "cumulative", "share", "seconds", "bytes"];
    out.push_str(&plain(header, rows));
    match summary.god_number.zip(summary.check()) {
        Some((god_number, check)) => {
            writeln!(out, "\n{}: {god_number}", summary.largest_distance_is())?;
            writeln!(out, "check: {check}")?;
        }
        None => writeln!(out, "\nnot complete: {} visited", visited_of(summary))?,
    }
    if let Some(note) = summary.one_way_note() {
        writeln!(out, "note: {note}")?;
    }
    if let Some(starts) = summary.starts {
        writeln!(out, "note: distances are from {}", many(starts, "start state"))?;
    }
    if let Some(watched) = &summary.watched {
        let counts: Vec<String> = watched.iter().map(u64::to_string).collect();
        write!(out, "watched states by depth: {}", counts.join(" "))?;
        match summary.watched_missing {
            0 => writeln!(out)?,
            missing if summary.complete => writeln!(out, "; {missing} cannot be reached")?,
            missing => writeln!(out, "; {missing} not found yet")?,
        }
    }
    write!(out, "digest: {}", summary.digest)
}

/// Writes the number of visited states, out of all if their number is known: `30 of 120 states`.
pub fn visited_of(summary: &Summary) -> String {
    let visited = summary.counts.iter().sum();
    match summary.all_states() {
        Some(all) => format!("{} of {all} states", HumanCount(visited)),
        None => many(visited, "state"),
    }
}

/// Writes a number and a noun, in the plural unless the number is one: `moves`, `classes`, `symmetries`.
pub fn many(count: u64, thing: &str) -> String {
    let things = match thing.strip_suffix('y') {
        _ if count == 1 => thing.into(),
        Some(stem) => format!("{stem}ies"),
        None if thing.ends_with('s') => format!("{thing}es"),
        None => format!("{thing}s"),
    };
    format!("{} {things}", HumanCount(count))
}

/// Returns the text after a number of symmetries: nothing if they are known to be all symmetries.
pub fn or_more(are_all: bool) -> &'static str {
    if are_all { "" } else { " (there may be more)" }
}

/// Formats rows of numbers below a header, one line each.
pub fn plain<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    set(header, rows, CellAlignment::Right)
}

/// Formats rows of numbers below a header, with any number of columns.
pub fn columns(header: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    lines(&table(header, rows, CellAlignment::Right))
}

/// Formats rows of words below a header, one line each.
pub fn left<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    set(header, rows, CellAlignment::Left)
}

/// Formats rows of words like [`left`], in lines of at most `width` columns: the last column is wrapped.
pub fn wrapped<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    width: u16,
) -> String {
    let mut table = table(header, rows, CellAlignment::Left);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    for column in table.column_iter_mut().take(N - 1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    lines(&table)
}

fn set<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    alignment: CellAlignment,
) -> String {
    lines(&table(header, rows, alignment))
}

fn table(
    header: impl Into<Row>,
    rows: impl IntoIterator<Item = impl Into<Row>>,
    alignment: CellAlignment,
) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(alignment);
    }
    table
}

fn lines(table: &Table) -> String {
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

    #[test]
    fn nouns_are_pluralised() {
        assert_eq!((many(1, "move"), many(0, "move")), ("1 move".into(), "0 moves".into()));
        assert_eq!((many(1, "class"), many(43, "class")), ("1 class".into(), "43 classes".into()));
        assert_eq!(
            (many(1, "symmetry"), many(1000, "symmetry")),
            ("1 symmetry".into(), "1,000 symmetries".into())
        );
    }

    #[test]
    fn last_column_is_wrapped() {
        let rows = [["a word".to_owned(), "and what it means in many more words".to_owned()]];
        let text = wrapped(["word", "meaning"], rows, 30);
        assert_eq!(text, " word    meaning\n a word  and what it means in\n         many more words\n");
    }

    #[test]
    fn numbers_of_any_size_are_grouped() {
        for (number, text) in [
            (0_u128, "0"),
            (999, "999"),
            (1000, "1,000"),
            (43_252_003_274_489_856_000, "43,252,003,274,489,856,000"),
        ] {
            assert_eq!(grouped(&BigUint::from(number)), text);
        }
    }
}
