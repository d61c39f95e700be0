//! A report as one JSON object: all fields of `fathom run --json`, and the origin of the numbers.

use super::wait_times::WaitTimes;
use super::{Deepest, Provenance, Report};
use anyhow::Result;
use fathom_engine::summary::Summary;
use serde::Serialize;

#[derive(Serialize)]
struct Object<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    /// The wall-clock seconds of each layer.
    layer_seconds: Vec<f64>,
    /// The digest of each layer.
    layer_digests: Vec<&'a str>,
    /// How kernel threads spent their time, by depth; empty if workers searched.
    waits: &'a [WaitTimes],
    /// States of the last layer, if its files exist.
    deepest: Option<&'a Deepest>,
    provenance: &'a Provenance,
}

/// Writes the object on one line.
///
/// # Errors
/// None: numbers, strings and lists are JSON.
pub fn json(report: &Report) -> Result<String> {
    Ok(serde_json::to_string(&Object {
        summary: &report.summary,
        layer_seconds: report.rows.iter().map(|row| row.seconds).collect(),
        layer_digests: report.rows.iter().map(|row| row.digest.as_str()).collect(),
        waits: &report.waits,
        deepest: report.deepest.as_ref(),
        provenance: &report.provenance,
    })?)
}
