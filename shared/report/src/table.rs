//! The growth table as CSV: one line for each distance, with all digits.

use super::Report;
use anyhow::Result;
use csv::Writer;

const HEADER: [&str; 10] = [
    "distance",
    "states",
    "classes",
    "share",
    "cumulative",
    "cumulative_share",
    "seconds",
    "bytes",
    "digest",
    "classes_with_inverse",
];

/// Writes the table. Shares are fractions of all states; classes are empty if they were not counted.
///
/// # Errors
/// None: writing to memory does not fail.
pub fn csv(report: &Report) -> Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for row in &report.rows {
        writer.serialize((
            row.depth,
            row.states,
            row.classes,
            row.share,
            row.cumulative,
            row.cumulative_share,
            row.seconds,
            row.bytes,
            &row.digest,
            row.classes_with_inverse,
        ))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
