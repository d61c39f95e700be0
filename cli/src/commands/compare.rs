//! `fathom compare`: lists the differences between two results.

use crate::arguments::CompareArguments;
use anyhow::Result;
use fathom_command::exit::{No, said_by_system};
use fathom_command::{bad_input, output};
use fathom_engine::directory::RunDirectory;
use fathom_engine::summary::Summary;
use fathom_report::text;
use indicatif::HumanCount;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Fields with one value for the whole run.
const SINGLE: [&str; 9] = [
    "space",
    "metric",
    "labels",
    "states",
    "inverse_closed",
    "god_number",
    "complete",
    "symmetries",
    "digest",
];
/// Fields that say which space it is. If one of them differs, no others are compared.
const SPACE: [&str; 4] = ["space", "metric", "labels", "inverse_closed"];
/// Fields with a number for each depth.
const BY_DEPTH: [&str; 3] = ["counts", "classes", "classes_with_inverse"];

/// A difference between two results; `depth` is `None` for the fields of [`SINGLE`].
struct Difference {
    field: &'static str,
    depth: Option<usize>,
    values: [Value; 2],
}

pub(crate) fn compare(args: &CompareArguments) -> Result<()> {
    let [one, other] = [read(&args.one)?, read(&args.other)?];
    let found = differences(&one, &other);
    if args.json {
        let list = found.iter().map(|d| json!({"field": d.field, "depth": d.depth, "values": d.values}));
        let json = json!({"same": found.is_empty(), "differences": list.collect::<Vec<_>>()});
        output::line(&json.to_string())?;
    } else if found.is_empty() {
        let depths = one["counts"].as_array().map_or(0, Vec::len);
        let is_one = depths == 1;
        output::line(&format!(
            "the same: {} {}, {depths} {}",
            shown(&one["space"]),
            shown(&one["metric"]),
            if is_one { "depth" } else { "depths" }
        ))?;
    } else {
        let name = |path: &Path| path.display().to_string();
        let rows = found.iter().map(|difference| {
            let depth = difference.depth.map_or("-".into(), |depth| depth.to_string());
            let [a, b] = difference.values.each_ref().map(shown);
            [depth, difference.field.to_owned(), a, b]
        });
        let table = text::left(["depth", "differs in", &name(&args.one), &name(&args.other)], rows);
        output::line(table.trim_end())?;
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(No.into()),
    }
}

/// Reads a result from a run's directory or from a file, as the fields of `--json`.
fn read(path: &Path) -> Result<Map<String, Value>> {
    let json = match path.is_dir() {
        true => Summary::new(&RunDirectory::open_for_reading(path)?)?.to_json(),
        false => std::fs::read_to_string(path)
            .map_err(|error| bad_input!("cannot read {}: {}", path.display(), said_by_system(&error)))?,
    };
    let no_result = || {
        bad_input!(
            "{} is not a result. Pass a run's directory, a file with the output of 'fathom run', 'status' or 'report' with --json, or a report as CSV",
            path.display()
        )
    };
    if let Some(fields) = fathom_report::csv_report::numbers(&json) {
        return Ok(fields);
    }
    let fields: Map<String, Value> = serde_json::from_str(&json).map_err(|_| no_result())?;
    match fields.get("counts") {
        Some(Value::Array(_)) => Ok(fields),
        _ => Err(no_result()),
    }
}

/// Returns the differences between two results. A field that is missing or null in one result is not a
/// difference, because the results may come from different versions.
fn differences(one: &Map<String, Value>, other: &Map<String, Value>) -> Vec<Difference> {
    let value =
        |of: &Map<String, Value>, field: &str| of.get(field).filter(|value| !value.is_null()).cloned();
    let mut found = Vec::new();
    for field in SINGLE {
        let values = [one, other].map(|of| value(of, field));
        // `labels` is omitted if all labels differ, so an absent field is a value here, except in a table without a space.
        let names_space = || [one, other].iter().all(|of| of.contains_key("space"));
        let is_told = field == "labels" && names_space() || values.iter().all(Option::is_some);
        if is_told && values[0] != values[1] {
            found.push(Difference { field, depth: None, values: values.map(Option::unwrap_or_default) });
        }
    }
    // Numbers of other spaces are expected to differ.
    if found.iter().any(|difference| SPACE.contains(&difference.field)) {
        found.retain(|difference| SPACE.contains(&difference.field));
        return found;
    }
    for field in BY_DEPTH {
        let lists = [one, other].map(|of| value(of, field).and_then(|list| list.as_array().cloned()));
        let [Some(a), Some(b)] = lists else { continue };
        for depth in 0..a.len().max(b.len()) {
            let values = [a.get(depth), b.get(depth)].map(|value| value.cloned().unwrap_or_default());
            if values[0] != values[1] {
                found.push(Difference { field, depth: Some(depth), values });
            }
        }
    }
    found
}

/// Formats a value for display.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_u64().map_or(number.to_string(), |n| HumanCount(n).to_string()),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(json: Value) -> Map<String, Value> {
        json.as_object().unwrap().clone()
    }

    #[test]
    fn differences_are_listed_by_depth() {
        let one = result(json!({"space": "3x3", "counts": [1, 12, 96], "classes": [1, 1, 3], "digest": "a"}));
        let other = result(json!({"space": "3x3", "counts": [1, 12, 97, 5], "classes": null, "digest": "a"}));
        let found = |other: &Map<String, Value>| -> Vec<_> {
            differences(&one, other).into_iter().map(|d| (d.field, d.depth, d.values)).collect()
        };
        assert_eq!(
            found(&other),
            [("counts", Some(2), [json!(96), json!(97)]), ("counts", Some(3), [Value::Null, json!(5)])]
        );
        let labelled = result(json!({"space": "3x3", "counts": [1, 3], "labels": [0, 1]}));
        assert_eq!(found(&labelled), [("labels", None, [Value::Null, json!([0, 1])])]);
        assert!(differences(&one, &one).is_empty());
    }
}
