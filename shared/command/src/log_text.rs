//! Log lines as readable text.

use indicatif::{HumanBytes, HumanCount};
use serde_json::Value;
use time::OffsetDateTime;

/// Fields that are omitted at the end of a line: they are at its beginning, or they do not help a reader.
const ELSEWHERE: [&str; 10] =
    ["timestamp", "time_unix_ms", "level", "target", "message", "worker", "run", "span", "spans", "digest"];

/// The fields that come first: they identify the subject of a line.
const FIRST: [&str; 2] = ["depth", "shard"];
/// The number of digits of a worker's id in its log lines.
const DIGITS: usize = 8;

/// The ids of workers, each with the worker's name.
pub type Names = Vec<(String, String)>;

/// Formats a log line: time, level if it is a warning or an error, worker, message, and the other fields.
pub fn line(fields: &Value, names: &Names) -> String {
    let text = |name: &str| fields[name].as_str().unwrap_or_default();
    let mut parts = vec![time(fields)];
    if matches!(text("level"), "WARN" | "ERROR") {
        parts.push(text("level").to_lowercase());
    }
    parts.extend(worker(fields, names).map(str::to_owned));
    parts.push(text("message").to_owned());
    parts.extend(details(fields, &[]));
    // A terminal would interpret control characters.
    parts.join("  ").replace(['\n', '\t'], " ").replace(char::is_control, "\u{fffd}")
}

/// Returns the name of the worker that a line is about, or its id if the name is not known.
pub fn worker<'t>(fields: &'t Value, names: &'t Names) -> Option<&'t str> {
    let id = fields["worker"].as_str()?;
    let name = names.iter().find(|(of, _)| short(of) == short(id)).map(|(_, name)| name.as_str());
    Some(name.unwrap_or(id))
}

/// Returns the fields that are not at the beginning of a line, each as its name and its value, without those
/// in `known`.
pub fn details(fields: &Value, known: &[&str]) -> Vec<String> {
    let is_told = |name: &str| !ELSEWHERE.contains(&name) && !known.contains(&name);
    let rest = fields.as_object().into_iter().flatten();
    let mut rest: Vec<(&String, &Value)> =
        rest.filter(|(name, value)| is_told(name) && !value.is_null()).collect();
    // Sorted, because the order depends on the features that serde_json was built with.
    rest.sort_by_key(|(name, _)| {
        (FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()), *name)
    });
    rest.into_iter().map(|(name, value)| format!("{name} {}", shown(name, value))).collect()
}

/// Returns an id in the form used in log lines.
pub fn short(id: &str) -> &str {
    id.get(..DIGITS).unwrap_or(id)
}

/// Returns the day and the time in UTC, to the second.
fn time(fields: &Value) -> String {
    let of_event = || {
        let milliseconds = fields["time_unix_ms"].as_i64()?;
        let time = OffsetDateTime::from_unix_timestamp(milliseconds.div_euclid(1000)).ok()?;
        Some(format!("{} {:02}:{:02}:{:02}", time.date(), time.hour(), time.minute(), time.second()))
    };
    match fields["timestamp"].as_str() {
        Some(time) => time.get(..19).unwrap_or(time).replace('T', " "),
        None => of_event().unwrap_or_default(),
    }
}

fn shown(name: &str, value: &Value) -> String {
    let number = value.as_u64();
    match (name, number) {
        ("bytes" | "free" | "sent_bytes" | "received_bytes", Some(bytes)) => HumanBytes(bytes).to_string(),
        (_, Some(number)) => HumanCount(number).to_string(),
        _ => match value {
            Value::Number(number) => number.as_f64().map_or(number.to_string(), |n| format!("{n:.3}")),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn log_lines_are_formatted() {
        let names = vec![("0123456789abcdef".into(), "node-3".into())];
        let fields = json!({
            "timestamp": "2026-11-22T08:12:33.123456Z", "level": "DEBUG", "target": "fathom_engine::search",
            "message": "task done", "depth": 9, "shard": 12, "states": 5_960_807, "bytes": 1 << 20, "seconds": 0.0125,
            "worker": "01234567",
        });
        assert_eq!(
            line(&fields, &names),
            "2026-11-22 08:12:33  node-3  task done  depth 9  shard 12  bytes 1.00 MiB  seconds 0.013  states 5,960,807"
        );
        let event = json!({"time_unix_ms": 1_763_799_153_123_u64, "message": "worker lost", "worker": "ffffffff", "depth": null});
        assert_eq!(line(&event, &names), "2025-11-22 08:12:33  ffffffff  worker lost");
        let coloured = json!({"time_unix_ms": 0, "message": "a", "detail": "\u{1b}[31mred\n"});
        assert_eq!(line(&coloured, &names), "1970-01-01 00:00:00  a  detail \u{fffd}[31mred ");
    }
}
