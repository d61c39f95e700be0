//! The differences between what readers know and the newest snapshot: a few kilobytes a second, however many
//! workers and shards there are.

use crate::snapshot::{EventFacts, Growth, RunFacts, ShardState, Snapshot, WorkerFacts};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// Maximum number of past events that a new reader receives.
const MAX_EVENTS: usize = 400;
/// Maximum number of events in one change. Further ones are only counted.
const MAX_NEW_EVENTS: usize = 40;
/// Maximum number of workers in one change; the others follow in later changes. Workers that join, leave or
/// fall silent are always part of the next change.
const MAX_WORKERS: usize = 24;

/// The state of a shard in the form that readers receive.
type Shard = (ShardState, Option<u32>);

/// What all readers have received.
#[derive(Debug, Default)]
pub(crate) struct PublishedFacts {
    run: RunFacts,
    growth: Growth,
    shards: Vec<Shard>,
    workers: Vec<WorkerFacts>,
    events: VecDeque<EventFacts>,
    /// The number of older events that are no longer kept.
    forgotten: u64,
    /// The worker that is next in turn.
    turn: usize,
}

impl PublishedFacts {
    /// Returns everything as JSON, for a new reader.
    pub(crate) fn all(&self) -> String {
        let histories: Vec<Vec<Value>> =
            self.workers.iter().map(|worker| worker.history.iter().copied().map(rounded).collect()).collect();
        json!({
            "run": self.run,
            "growth": self.growth,
            "shard_count": self.shards.len(),
            "shards": runs(&self.shards, |_| true),
            "workers": self.workers.iter().enumerate().map(|(number, worker)| row(number, worker)).collect::<Vec<_>>(),
            "histories": histories,
            "events": self.events,
            "first_event": self.forgotten,
        })
        .to_string()
    }

    /// Applies a snapshot. Returns what has changed as JSON; `None` if nothing has.
    pub(crate) fn change(&mut self, snapshot: Snapshot) -> Option<String> {
        let mut change = Map::new();
        if self.run != snapshot.run {
            change.insert("run".into(), json!(snapshot.run));
            self.run = snapshot.run;
        }
        if self.growth != snapshot.growth {
            change.insert("growth".into(), json!(snapshot.growth));
            self.growth = snapshot.growth;
        }
        if self.shards.len() != snapshot.shards.len() {
            self.shards = vec![Shard::default(); snapshot.shards.len()];
            change.insert("shard_count".into(), json!(self.shards.len()));
        }
        let changed = runs(&snapshot.shards, |shard| self.shards[shard] != snapshot.shards[shard]);
        if !changed.is_empty() {
            change.insert("shards".into(), json!(changed));
            self.shards = snapshot.shards;
        }
        let workers = self.change_workers(snapshot.workers);
        if !workers.is_empty() {
            change.insert("workers".into(), json!(workers));
        }
        let events = self.change_events(snapshot.events);
        if !events.is_empty() {
            change.insert("events".into(), json!(events));
        }
        (!change.is_empty()).then(|| Value::Object(change).to_string())
    }

    fn change_workers(&mut self, workers: Vec<WorkerFacts>) -> Vec<Value> {
        let mut told = Vec::new();
        let count = workers.len();
        let mut left = MAX_WORKERS;
        let begin = self.turn.min(count);
        for number in (begin..count).chain(0..begin) {
            let worker = &workers[number];
            let is_urgent = match self.workers.get(number) {
                None => true,
                Some(before) if !differs(before, worker) => continue,
                Some(before) => {
                    before.presence != worker.presence || before.silent.is_some() != worker.silent.is_some()
                }
            };
            if is_urgent || left > 0 {
                left = left.saturating_sub(1);
                told.push((number, row(number, worker)));
                if number < self.workers.len() {
                    self.workers[number] = worker.clone();
                }
                self.turn = number + 1;
            }
        }
        // Sorted by number, so that new workers are appended to a reader's list.
        told.sort_unstable_by_key(|(number, _)| *number);
        self.workers.extend(workers.iter().skip(self.workers.len()).cloned());
        for (told, worker) in self.workers.iter_mut().zip(workers) {
            told.history = worker.history;
        }
        told.into_iter().map(|(_, row)| row).collect()
    }

    fn change_events(&mut self, mut events: Vec<EventFacts>) -> Vec<EventFacts> {
        if events.len() > MAX_NEW_EVENTS {
            let left_out = events.len() - MAX_NEW_EVENTS + 1;
            // Warnings and errors are kept first, then events of the whole run such as the end of a layer.
            events.sort_by_key(|event| (event.severity == "info", event.shard.is_some()));
            let time = events.last().map_or(0, |event| event.time);
            events.truncate(MAX_NEW_EVENTS - 1);
            events.sort_by_key(|event| event.time);
            let what = format!("{left_out} more events (see the log)");
            events.push(EventFacts { time, severity: "info", what, ..EventFacts::default() });
        }
        self.events.extend(events.iter().cloned());
        while self.events.len() > MAX_EVENTS {
            self.events.pop_front();
            self.forgotten += 1;
        }
        events
    }
}

/// Returns whether anything but the history of a worker has changed.
fn differs(before: &WorkerFacts, worker: &WorkerFacts) -> bool {
    let without = |worker: &WorkerFacts| WorkerFacts { history: Vec::new(), ..worker.clone() };
    without(before) != without(worker)
}

/// Returns a worker as a list, which takes a third of the bytes of an object.
fn row(number: usize, worker: &WorkerFacts) -> Value {
    let WorkerFacts { id, name, address, presence, silent, threads, kernel, shards, .. } = worker;
    let (rate, sent, received, free) = (rounded(worker.rate), worker.sent, worker.received, worker.free);
    let (memory, read) = (worker.memory, worker.read);
    json!([
        number, id, name, address, presence, silent, threads, kernel, shards, rate, sent, received, free,
        memory, read
    ])
}

/// Rounds a rate to three digits, because a rate is no more exact than that.
fn rounded(rate: f64) -> Value {
    if rate < 1.0 {
        return json!(0);
    }
    let unit = 10_f64.powi(rate.log10().floor() as i32 - 2).max(1.0);
    json!(((rate / unit).round() * unit) as u64)
}

/// Returns the wanted shards as `[first, count, letter, worker]`, one entry for each stretch of consecutive
/// shards in the same state.
fn runs(shards: &[Shard], is_wanted: impl Fn(usize) -> bool) -> Vec<Value> {
    let mut runs: Vec<(usize, usize, Shard)> = Vec::new();
    for (number, &shard) in shards.iter().enumerate().filter(|(number, _)| is_wanted(*number)) {
        match runs.last_mut() {
            Some((first, length, before)) if *before == shard && *first + *length == number => *length += 1,
            _ => runs.push((number, 1, shard)),
        }
    }
    let letter =
        |state| ShardState::ALL.into_iter().find(|(known, ..)| *known == state).map(|(_, letter, _)| letter);
    runs.into_iter()
        .map(|(first, length, (state, worker))| json!([first, length, letter(state), worker]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(number: usize, rate: f64) -> WorkerFacts {
        WorkerFacts {
            id: format!("{number:08x}"),
            name: format!("node{number}"),
            address: format!("10.0.{}.{}:41000", number / 256, number % 256),
            presence: "alive".into(),
            threads: 64,
            kernel: "avx512".into(),
            rate,
            free: 1 << 40,
            ..WorkerFacts::default()
        }
    }

    #[test]
    fn a_thousand_workers_take_turns_in_small_changes() {
        let workers = |rate: f64| (0..1024).map(|number| worker(number, rate)).collect();
        let mut told = PublishedFacts::default();
        told.change(Snapshot { workers: workers(1e9), ..Snapshot::default() });
        let mut rates = 0;
        for _ in 0..1024_usize.div_ceil(MAX_WORKERS) {
            let change = told.change(Snapshot { workers: workers(2e9), ..Snapshot::default() }).unwrap();
            assert!(change.len() < 3 << 10, "{} bytes", change.len());
            let change: Value = serde_json::from_str(&change).unwrap();
            rates += change["workers"].as_array().unwrap().len();
        }
        assert_eq!(rates, 1024);
        assert_eq!(told.change(Snapshot { workers: workers(2e9), ..Snapshot::default() }), None);
    }

    #[test]
    fn a_lost_worker_is_reported_immediately() {
        let mut told = PublishedFacts::default();
        let mut workers: Vec<_> = (0..1024).map(|number| worker(number, 1e9)).collect();
        told.change(Snapshot { workers: workers.clone(), ..Snapshot::default() });
        workers.iter_mut().for_each(|worker| worker.rate = 3e9);
        workers[1000].presence = "lost".into();
        let change = told.change(Snapshot { workers, ..Snapshot::default() }).unwrap();
        let change: Value = serde_json::from_str(&change).unwrap();
        let rows = change["workers"].as_array().unwrap();
        assert!(rows.iter().any(|row| row[0] == 1000 && row[4] == "lost"));
    }

    #[test]
    fn equal_shards_are_merged_into_runs() {
        let mut shards = vec![Shard::default(); 16_384];
        let mut told = PublishedFacts::default();
        told.change(Snapshot { shards: shards.clone(), ..Snapshot::default() });
        shards[100..200].fill((ShardState::Running, Some(3)));
        shards[200] = (ShardState::Done, Some(3));
        let change = told.change(Snapshot { shards: shards.clone(), ..Snapshot::default() }).unwrap();
        let change: Value = serde_json::from_str(&change).unwrap();
        assert_eq!(change, json!({"shards": [[100, 100, "r", 3], [200, 1, "d", 3]]}));
        assert_eq!(told.change(Snapshot { shards, ..Snapshot::default() }), None);
        let all: Value = serde_json::from_str(&told.all()).unwrap();
        assert_eq!(all["shards"].as_array().unwrap().len(), 4, "a new reader receives all of them");
    }

    #[test]
    fn warnings_are_kept_when_events_are_dropped() {
        let event = |number: u64| EventFacts {
            time: number,
            severity: if number.is_multiple_of(100) { "warn" } else { "info" },
            what: format!("event {number}"),
            shard: (number != 999).then_some(1),
            ..EventFacts::default()
        };
        let mut told = PublishedFacts::default();
        let change = told.change(Snapshot { events: (0..1000).map(event).collect(), ..Snapshot::default() });
        let change: Value = serde_json::from_str(&change.unwrap()).unwrap();
        let events = change["events"].as_array().unwrap();
        assert_eq!(events.len(), MAX_NEW_EVENTS);
        assert_eq!(events.iter().filter(|event| event["severity"] == "warn").count(), 10);
        assert!(events.iter().any(|event| event["what"] == "event 999"), "the only event of the whole run");
        assert_eq!(events.last().unwrap()["what"], "961 more events (see the log)");
    }
}
