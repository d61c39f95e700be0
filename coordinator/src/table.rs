//! Text for people: tables with columns set flush right and no rules, and numbers of things.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::HumanCount;

/// So many things, with the plural's `s` where it belongs.
pub fn many(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", HumanCount(count))
}

/// Sets rows below a header, one line each.
pub fn plain<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
