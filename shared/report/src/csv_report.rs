//! Reads the numbers of a report in CSV.

use serde_json::{Map, Value};

/// Returns the numbers of a report in CSV under the names that they have in JSON: `counts`, `classes` and
/// `classes_with_inverse`. `None` if the text is no such report.
pub fn numbers(text: &str) -> Option<Map<String, Value>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let titles = reader.headers().ok()?.clone();
    if titles.get(0) != Some("distance") {
        return None;
    }
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().ok()?;
    let mut numbers = Map::new();
    for (title, name) in
        [("states", "counts"), ("classes", "classes"), ("classes_with_inverse", "classes_with_inverse")]
    {
        let Some(column) = titles.iter().position(|known| known == title) else { continue };
        let of_row = |row: &csv::StringRecord| row.get(column)?.parse::<u64>().ok();
        if let Some(column) = rows.iter().map(of_row).collect::<Option<Vec<_>>>() {
            numbers.insert(name.into(), column.into());
        }
    }
    numbers.contains_key("counts").then_some(numbers)
}
