//! The metrics of a run in the OpenMetrics format, for Prometheus and compatible collectors.

use crate::snapshot::{Faults, ShardState, Snapshot, WorkerFacts};
use fathom_proto::Latencies;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The content type of the answer.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Writes all metrics of a run.
pub(crate) fn text(snapshot: Arc<Snapshot>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("fathom");
    registry.register_collector(Box::new(Metrics(snapshot)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Metrics(Arc<Snapshot>);

/// Writes metrics one after the other.
struct Writer<'a, 'e>(&'a mut DescriptorEncoder<'e>);

impl Writer<'_, '_> {
    fn gauge(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: f64) -> fmt::Result {
        let gauge = ConstGauge::new(value);
        gauge.encode(self.0.encode_descriptor(name, help, unit, gauge.metric_type())?)
    }

    /// Writes a gauge with one value for each value of a label.
    fn gauges<'l>(
        &mut self,
        about: (&str, &str, Option<&Unit>),
        label: &'static str,
        values: impl Iterator<Item = (&'l str, f64)>,
    ) -> fmt::Result {
        self.labelled_gauges(about, values.map(|(of, value)| ([(label, of)], value)))
    }

    /// Writes a gauge of each worker.
    fn gauge_of_workers(
        &mut self,
        about: (&str, &str, Option<&Unit>),
        workers: &[WorkerFacts],
        value: impl Fn(&WorkerFacts) -> f64,
    ) -> fmt::Result {
        self.labelled_gauges(about, workers.iter().map(|worker| (labels_of(worker), value(worker))))
    }

    /// Writes a counter of each worker.
    fn counter_of_workers(
        &mut self,
        (name, help, unit): (&str, &str, Option<&Unit>),
        workers: &[WorkerFacts],
        value: impl Fn(&WorkerFacts) -> u64,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, unit, MetricType::Counter)?;
        for worker in workers {
            ConstCounter::new(value(worker)).encode(family.encode_family(&labels_of(worker))?)?;
        }
        Ok(())
    }

    /// Writes a metric that has the value 1 and says something in its labels.
    fn info(&mut self, name: &str, help: &str, labels: Vec<(&str, String)>) -> fmt::Result {
        let info = Info::new(labels);
        info.encode(self.0.encode_descriptor(name, help, None, info.metric_type())?)
    }

    fn counter(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: u64) -> fmt::Result {
        let counter = ConstCounter::new(value);
        counter.encode(self.0.encode_descriptor(name, help, unit, counter.metric_type())?)
    }

    fn labelled_gauges<L: EncodeLabelSet>(
        &mut self,
        (name, help, unit): (&str, &str, Option<&Unit>),
        values: impl Iterator<Item = (L, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (labels, value) in values {
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn counters<'l>(
        &mut self,
        (name, help, unit): (&str, &str, Option<&Unit>),
        label: &'static str,
        values: impl Iterator<Item = (&'l str, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, unit, MetricType::Counter)?;
        for (of, value) in values {
            ConstCounter::new(value).encode(family.encode_family(&[(label, of)])?)?;
        }
        Ok(())
    }
}

/// The labels with the [identity](crate::snapshot::RunFacts::identity) of a run.
const RUN_LABELS: [&str; 3] = ["run", "space", "metric"];

/// Two workers may have the same name, so each also has its id.
fn labels_of(worker: &WorkerFacts) -> [(&'static str, String); 2] {
    [("worker", worker.name.clone()), ("id", worker.id.clone())]
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Snapshot { run, shards, workers, tallies, growth, .. } = &*self.0;
        let mut out = Writer(&mut encoder);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        out.info("build", "The program", vec![("version", version)])?;
        let labels = RUN_LABELS.into_iter().zip(run.identity.iter().cloned()).collect();
        out.info("run", "The run", labels)?;
        let digits = |digits: &str| digits.parse::<f64>().unwrap_or_default();
        if let Some(states) = &run.states {
            out.gauge("space_states", "States of the space", None, digits(states))?;
        }
        out.gauge("visited_states", "Visited states", None, digits(&run.visited))?;
        out.gauge(
            "complete",
            "Whether every state was visited",
            None,
            f64::from(u8::from(run.check.is_some())),
        )?;
        out.gauge(
            "depth",
            "The depth being computed, or the last one",
            None,
            run.depth.map_or(0.0, f64::from),
        )?;
        out.gauge("depth_done_ratio", "Share of the depth that is done", None, run.depth_share)?;
        out.gauge("depth_states", "States found in the depth", None, digits(&run.depth_states))?;
        out.gauge(
            "states_per_second",
            "States per second over the last 30 seconds",
            None,
            run.rate.unwrap_or(0.0),
        )?;
        if let Some(left) = run.depth_left {
            out.gauge("depth_left", "Estimated remaining time of the depth", Some(&Unit::Seconds), left)?;
        }
        if let Some([least, most]) = run.run_left {
            let values = [("least", least), ("most", most)];
            let about = ("run_left", "Estimated remaining time of the run", Some(&Unit::Seconds));
            out.gauges(about, "bound", values.into_iter())?;
        }
        out.gauge(
            "layers",
            "Size of the kept layers that are not compressed",
            Some(&Unit::Bytes),
            run.disk_used as f64,
        )?;
        if let Some(free) = run.disk_free {
            out.gauge(
                "disk_free",
                "Free space on the file system of the run's directory",
                Some(&Unit::Bytes),
                free as f64,
            )?;
        }
        if let Some(memory) = run.memory {
            out.gauge(
                "memory",
                "Private memory of this process, or of all workers together",
                Some(&Unit::Bytes),
                memory as f64,
            )?;
        }
        if let Some(limit) = run.memory_limit {
            let help = "Memory limit, including layers in the page cache";
            out.gauge("memory_limit", help, Some(&Unit::Bytes), limit as f64)?;
        }
        if let Some(read) = run.read {
            let help = "Read from disks by this process, or by all connected workers";
            out.counter("read", help, Some(&Unit::Bytes), read)?;
        }
        let written = growth.depths.iter().map(|depth| depth.bytes).sum::<u64>();
        out.counter("written", "Size of the written layers", Some(&Unit::Bytes), written)?;
        let of_state = |state| shards.iter().filter(|(is, _)| *is == state).count() as f64;
        let states = ShardState::ALL.map(|(state, _, word)| (word, of_state(state)));
        out.gauges(("shards", "Shards of the depth", None), "state", states.into_iter())?;
        if let Some(cosets) = tallies.cosets {
            out.gauge("depth_cosets", "Finished cosets of the depth", None, cosets as f64)?;
        }
        if run.sent.is_some() {
            let presences = ["alive", "silent", "draining", "awaited", "lost", "left"];
            let of = |presence| workers.iter().filter(|worker| worker.presence == presence).count() as f64;
            let presences = presences.map(|presence| (presence, of(presence)));
            out.gauges(("workers", "Workers", None), "presence", presences.into_iter())?;
            let rate = ("worker_states_per_second", "States per second of a worker", None);
            out.gauge_of_workers(rate, workers, |worker| worker.rate)?;
            let silent =
                ("worker_silent", "Time since the last message of a silent worker", Some(&Unit::Seconds));
            out.gauge_of_workers(silent, workers, |worker| worker.silent.unwrap_or(0) as f64)?;
            for (name, help, of) in GAUGES_OF_WORKERS {
                out.gauge_of_workers((name, help, Some(&Unit::Bytes)), workers, |worker| of(worker) as f64)?;
            }
            for (name, help, of) in COUNTERS_OF_WORKERS {
                out.counter_of_workers((name, help, Some(&Unit::Bytes)), workers, of)?;
            }
        }
        let events = tallies.events.iter().map(|(event, times)| (&**event, *times));
        out.counters(("events", "Number of events of each kind", None), "event", events)?;
        if let Some(Faults { failures, retries }) = &tallies.faults {
            let failures = failures.iter().map(|(kind, times)| (*kind, *times));
            out.counters(("failures", "Tasks and copies that failed", None), "kind", failures)?;
            out.counter("retries", "Tasks that were assigned again", None, *retries)?;
        }
        if let Some(journal) = &tallies.journal {
            let help = "Time of a durable write to the journal";
            histogram(&mut encoder, ("journal", help), journal)?;
        }
        if let Some(fetches) = &tallies.fetches {
            let help = "Time until a fetch from another worker is complete";
            histogram(&mut encoder, ("fetch", help), fetches)?;
        }
        Ok(())
    }
}

/// The metrics of each worker that are in bytes.
type OfWorker = (&'static str, &'static str, fn(&WorkerFacts) -> u64);

const GAUGES_OF_WORKERS: [OfWorker; 2] = [
    ("worker_disk_free", "Free space of a worker", |worker| worker.free),
    ("worker_memory", "Private memory of the worker's process", |worker| worker.memory),
];

const COUNTERS_OF_WORKERS: [OfWorker; 4] = [
    ("worker_sent", "Sent to other workers since the worker registered", |worker| worker.sent),
    ("worker_received", "Received from other workers since the worker registered", |worker| worker.received),
    ("worker_read", "Read from disks by the worker's process", |worker| worker.read),
    ("worker_written", "Written to disks by the worker's process", |worker| worker.written),
];

fn histogram(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    latencies: &Latencies,
) -> fmt::Result {
    let bounds = Latencies::BOUNDS.into_iter().chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(latencies.counts).collect();
    let mut metric = encoder.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
    let times = latencies.counts.iter().sum();
    let seconds = Duration::from_micros(latencies.micros).as_secs_f64();
    metric.encode_histogram::<prometheus_client::encoding::NoLabelSet>(seconds, times, &buckets, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{RunFacts, Tallies};
    use std::collections::{BTreeMap, BTreeSet};

    /// Creates a snapshot with the maximum number of workers and shards.
    fn large() -> Snapshot {
        let worker = |number: usize| WorkerFacts {
            // Two workers have each name.
            name: format!("node{}", number / 2),
            id: format!("{number:08x}"),
            presence: if number == 7 { "lost" } else { "alive" }.into(),
            rate: 1e9,
            memory: 2 << 20,
            ..WorkerFacts::default()
        };
        let mut journal = Latencies::default();
        for milliseconds in [2, 20, 2000] {
            journal.note(Duration::from_millis(milliseconds));
        }
        Snapshot {
            run: RunFacts { visited: "18446744073709551615".into(), sent: Some(1), ..RunFacts::default() },
            shards: vec![(ShardState::Done, Some(3)); 16_384],
            workers: (0..1024).map(worker).collect(),
            tallies: Tallies {
                journal: Some(journal),
                fetches: Some(journal),
                faults: Some(Faults { failures: BTreeMap::from([("disk full", 3)]), retries: 4 }),
                ..Tallies::default()
            },
            ..Snapshot::default()
        }
    }

    #[test]
    fn large_cluster_has_metrics_of_each_worker() {
        let text = text(Arc::new(large())).unwrap();
        for line in [
            "fathom_shards{state=\"done\"} 16384.0",
            "fathom_workers{presence=\"alive\"} 1023.0",
            "fathom_workers{presence=\"lost\"} 1.0",
            "fathom_worker_states_per_second{worker=\"node511\",id=\"000003ff\"} 1000000000.0",
            "fathom_worker_memory_bytes{worker=\"node511\",id=\"000003ff\"} 2097152.0",
            "fathom_worker_read_bytes_total{worker=\"node0\",id=\"00000001\"} 0",
            "fathom_failures_total{kind=\"disk full\"} 3",
            "fathom_retries_total 4",
            "fathom_fetch_seconds_sum 2.022",
            "fathom_journal_seconds_count 3",
            "fathom_journal_seconds_bucket{le=\"0.003\"} 1",
            "fathom_journal_seconds_bucket{le=\"0.03\"} 2",
            "fathom_journal_seconds_bucket{le=\"+Inf\"} 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
        let series: Vec<&str> = text.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
        let samples = || series.iter().filter(|name| !name.starts_with('#'));
        assert_eq!(samples().collect::<BTreeSet<_>>().len(), samples().count(), "each series appears once");
    }

    #[test]
    fn label_values_are_escaped() {
        let mut snapshot = large();
        snapshot.workers.truncate(1);
        snapshot.workers[0].name = "a\"} 1\\b".into();
        let text = text(Arc::new(snapshot)).unwrap();
        assert!(text.contains(r#"{worker="a\"} 1\\b",id="00000000"}"#), "{text}");
    }
}
