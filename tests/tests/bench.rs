//! `fathom bench`, as a real process.

use fathom_tests::{fathom, json};
use serde_json::{Value, json as value};
use std::fs;

#[test]
fn all_is_measured_and_nothing_stays() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        fathom().args(["bench", "--repeat", "1", "--json", "--dir"]).arg(directory.path()).output().unwrap();
    let told = json(&output);
    let list = |name: &str| told[name].as_array().unwrap().clone();
    let all = |list: &[Value], field: &str| list.iter().map(|one| one[field].clone()).collect::<Vec<_>>();
    let is_rate = |rate: &Value| rate.as_f64().is_some_and(|rate| rate.is_finite() && rate > 0.0);
    let (pulls, rates, searches) = (list("pulls"), list("rates"), list("searches"));
    assert!(all(&pulls, "kernel").contains(&value!("portable")));
    assert!(all(&pulls, "state_moves_per_second").iter().all(is_rate), "{pulls:?}");
    assert_eq!(rates.len(), 8, "{rates:?}");
    assert!(all(&rates, "bytes_per_second").iter().all(is_rate), "{rates:?}");
    // Orders of the groups: 9! / 2, 10!, 12!.
    assert_eq!(
        value!(all(&searches, "states")),
        value!([181_440, 3_628_800, 479_001_600, 479_001_600, 479_001_600])
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
