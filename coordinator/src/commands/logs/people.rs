//! A log line as text for people.

use super::{Names, short};
use indicatif::{HumanBytes, HumanCount};
use serde_json::Value;
use std::collections::BTreeMap;
use time::OffsetDateTime;

/// Fields that are left out at the end of a line: the beginning has them, or they tell a reader nothing new.
const ELSEWHERE: [&str; 10] =
    ["timestamp", "time_unix_ms", "level", "target", "message", "worker", "run", "span", "spans", "digest"];

/// Writes a log line: time, level if it is a warning or an error, worker, message, and the other fields.
pub(crate) fn line(fields: &Value, names: &Names) -> String {
    let text = |name: &str| fields[name].as_str().unwrap_or_default();
    let mut parts = vec![time(fields)];
    if matches!(text("level"), "WARN" | "ERROR") {
        parts.push(text("level").to_lowercase());
    }
    if let Some(id) = fields["worker"].as_str() {
        let name = names.iter().find(|(of, _)| short(of) == short(id)).map(|(_, name)| name.as_str());
        parts.push(name.unwrap_or(id).to_owned());
    }
    parts.push(text("message").to_owned());
    let rest = fields.as_object().into_iter().flatten();
    let rest = rest.filter(|(name, value)| !ELSEWHERE.contains(&name.as_str()) && !value.is_null());
    // The fields are sorted, because their order depends on the features that serde_json was built with.
    let rest: BTreeMap<&String, &Value> = rest.collect();
    parts.extend(rest.into_iter().map(|(name, value)| format!("{name} {}", shown(name, value))));
    parts.join("  ")
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
    fn lines_are_for_people() {
        let names = vec![("0123456789abcdef".into(), "node-3".into())];
        let fields = json!({
            "timestamp": "2026-11-22T08:12:33.123456Z", "level": "DEBUG", "target": "fathom_engine::search",
            "message": "task done", "depth": 9, "shard": 12, "states": 5_960_807, "bytes": 1 << 20, "seconds": 0.0125,
            "worker": "01234567",
        });
        assert_eq!(
            line(&fields, &names),
            "2026-11-22 08:12:33  node-3  task done  bytes 1.00 MiB  depth 9  seconds 0.013  shard 12  states 5,960,807"
        );
        let event = json!({"time_unix_ms": 1_763_799_153_123_u64, "message": "worker lost", "worker": "ffffffff", "depth": null});
        assert_eq!(line(&event, &names), "2025-11-22 08:12:33  ffffffff  worker lost");
    }
}
