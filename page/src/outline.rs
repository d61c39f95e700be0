//! The part that all feeds share: a run's space and finished depths, and the quantities derived from them.

use crate::snapshot::{DepthFacts, Growth, RunFacts, RunState};
use anyhow::{Context, Result};
use fathom_engine::directory::{RunDirectory, Visited};
use fathom_engine::estimate::COSET_OVERHEAD_BYTES;
use fathom_engine::forecast::outlook::{Outlook, TimeLeft};
use fathom_engine::journal::{Files, LayerRow};
use fathom_engine::run::{Geometry, RunSpace};
use fathom_engine::summary::Summary;
use fathom_engine::task::Store;
use fathom_layer::{Digest, LocalDisk, run_digest};
use fathom_report::{Format, display_names};
use fathom_space::Shape;
use std::path::PathBuf;

/// A run, from its definition and its journal.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The directory with the layers.
    layers_at: PathBuf,
    title: String,
    name: String,
    identity: [String; 3],
    /// The number of states of the space in digits, if it is known.
    states: Option<String>,
    /// Whether every state is visited.
    is_complete: bool,
    /// The forecast; `None` for a run by lists.
    forecast: Option<Forecast>,
    distances_from: &'static str,
    largest_distance_is: &'static str,
    one_way: Option<&'static str>,
    summary: Summary,
    /// The finished depths.
    pub layers: Vec<LayerRow>,
    expected: Vec<f64>,
}

/// What is known in advance of a search by cosets.
#[derive(Clone, Debug)]
struct Forecast {
    /// The number of states of the space.
    states: u64,
    outlook: Outlook,
    /// Bytes of a layer whose cosets are all dense.
    dense_bytes: u64,
}

impl Forecast {
    fn new(run: &RunDirectory) -> Result<Self> {
        let (space, colouring) = run.manifest.open()?;
        let geometry = Geometry::new(&run.manifest, &space, &colouring)?;
        let of_coset = COSET_OVERHEAD_BYTES + u64::from(geometry.packed_bytes);
        let shape = Shape::of(&space, &colouring).context("the cosets are too large")?;
        Ok(Self {
            states: run.all_states()?,
            outlook: Outlook::new(&space, &shape, &[]),
            dense_bytes: run.manifest.plan.cosets()?.cosets * of_coset,
        })
    }
}

/// The progress of the present depth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Present {
    /// States found.
    pub states: u64,
    /// The share of the depth that is done, from 0 to 1.
    pub share: f64,
    /// Seconds since the depth was started.
    pub seconds: f64,
    /// Estimated remaining seconds of the depth, if known.
    pub left: Option<f64>,
    /// States a second.
    pub rate: Option<f64>,
}

impl Outline {
    /// Reads the outline of a run from its directory.
    ///
    /// # Errors
    /// If the run cannot be read, or its space is too large.
    pub fn new(run: &RunDirectory) -> Result<Self> {
        let summary = Summary::new(run)?;
        let spec = &run.manifest.spec;
        let labels = summary.labels.as_ref().map_or_else(String::new, |labels| {
            let labels: Vec<String> = labels.iter().map(u16::to_string).collect();
            format!(", labels {}", labels.join(","))
        });
        let mut outline = Self {
            layers_at: run.store_path()?.unwrap_or_else(|| run.path.clone()),
            title: display_names::title(&spec.source, &summary.metric, display_names::is_labelled(spec)),
            name: format!("{} {}{labels}", summary.space, summary.metric),
            identity: [
                run.manifest.fingerprint.to_string()[..16].to_owned(),
                format!("{}{labels}", summary.space),
                summary.metric.clone(),
            ],
            states: summary.all.as_ref().map(ToString::to_string),
            is_complete: false,
            forecast: match &run.space {
                RunSpace::Cosets(_) => Some(Forecast::new(run)?),
                RunSpace::Lists(_) => None,
            },
            distances_from: if summary.starts.is_some() { "start states" } else { "solved state" },
            largest_distance_is: summary.largest_distance_is(),
            one_way: summary.one_way(),
            summary,
            layers: Vec::new(),
            expected: Vec::new(),
        };
        let Visited { layers, is_complete, .. } = run.visited()?;
        outline.set_layers(layers);
        outline.is_complete = is_complete;
        Ok(outline)
    }

    /// Returns whether the run is by cosets. The search then reports how many cosets are done.
    pub fn is_by_cosets(&self) -> bool {
        self.forecast.is_some()
    }

    /// Replaces the finished depths.
    pub fn set_layers(&mut self, layers: Vec<LayerRow>) {
        self.layers = layers;
        if let Some(forecast) = &mut self.forecast {
            forecast.outlook.set_layers(&self.layers);
            let states = forecast.outlook.states().unwrap_or_default();
            self.expected = states.into_iter().skip(self.layers.len()).collect();
            let visited: u64 = self.layers.iter().map(|layer| layer.states).sum();
            self.is_complete = visited == forecast.states;
        }
    }

    /// Adds a finished depth.
    pub fn push(&mut self, layer: LayerRow) {
        // Only the two newest layers are counted: older ones are deleted, or compressed to a fraction.
        if let [.., before, _] = &mut self.layers[..] {
            before.files = Files::Removed;
        }
        let mut layers = std::mem::take(&mut self.layers);
        layers.push(layer);
        self.set_layers(layers);
    }

    /// Returns the number of states in the finished depths.
    pub fn visited(&self) -> u64 {
        self.layers.iter().map(|layer| layer.states).sum()
    }

    /// Returns whether every state is visited.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Notes that a search by lists has found no more states.
    pub fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Returns the number of states of the space in digits, if it is known, and the share that `visited` states are of
    /// them.
    fn share(&self, visited: u64) -> (Option<String>, Option<f64>) {
        if self.is_complete {
            return (Some(self.visited().to_string()), Some(1.0));
        }
        let all: Option<f64> = self.states.as_ref().and_then(|digits| digits.parse().ok());
        (self.states.clone(), all.map(|all| (visited as f64 / all).min(1.0)))
    }

    /// Returns the facts about the run as a whole. `present` is the progress of the depth that is being
    /// computed, if there is one.
    pub fn facts(&self, state: RunState, present: Option<Present>) -> RunFacts {
        let complete = self.is_complete();
        let now = present.unwrap_or_default();
        let most = self.forecast.as_ref().map_or(u64::MAX, |forecast| forecast.states);
        let visited = self.visited().saturating_add(now.states).min(most);
        let (states, share) = self.share(visited);
        let (depth, depth_share, depth_states) = match (present, self.layers.last()) {
            (Some(now), _) => (Some(self.layers.len() as u32), now.share, now.states),
            (None, Some(last)) => (Some(last.depth.0), 1.0, last.states),
            (None, None) => (None, 0.0, 0),
        };
        let digests: Vec<Digest> = self.layers.iter().map(|layer| layer.digest).collect();
        let live = self.layers.iter().filter(|layer| layer.files == Files::Live);
        RunFacts {
            title: self.title.clone(),
            name: self.name.clone(),
            identity: self.identity.clone(),
            seconds: self.layers.iter().map(|layer| layer.seconds).sum(),
            state: if complete { RunState::Complete } else { state },
            states,
            visited: visited.to_string(),
            share,
            distances_from: self.distances_from,
            has_forecast: self.forecast.is_some(),
            depth,
            depth_share,
            depth_states: depth_states.to_string(),
            rate: now.rate,
            depth_left: now.left.map(f64::ceil),
            run_left: present.and_then(|present| self.run_left(present)),
            disk_used: live.map(|layer| layer.bytes).sum(),
            disk_next: self.forecast.as_ref().map(|forecast| if complete { 0 } else { forecast.dense_bytes }),
            disk_free: self.free_bytes().map(|free| free >> 26 << 26),
            digest: run_digest(&digests).to_string(),
            largest: self
                .layers
                .last()
                .filter(|_| complete)
                .map(|layer| (self.largest_distance_is.to_owned(), layer.depth.0)),
            one_way: self.one_way,
            check: complete.then(|| self.check()),
            reports: if complete { Format::ALL.map(Format::as_str).to_vec() } else { Vec::new() },
            ..RunFacts::default()
        }
    }

    /// Returns the sentence that the counts of the finished depths, which are all, add up.
    fn check(&self) -> String {
        let mut summary = self.summary.clone();
        summary.counts = self.layers.iter().map(|layer| layer.states).collect();
        summary.complete = true;
        summary.check_of_all()
    }

    /// Returns the free bytes for layers; `None` if they cannot be determined.
    fn free_bytes(&self) -> Option<u64> {
        Store::at(&self.layers_at, &LocalDisk).ok()?.free_bytes().ok()
    }

    /// Returns the minimum and maximum of the estimated remaining seconds of the run.
    fn run_left(&self, present: Present) -> Option<[f64; 2]> {
        let TimeLeft { seconds, uncertainty } =
            self.forecast.as_ref()?.outlook.time_left(present.share, present.seconds, None)?;
        Some([(seconds / uncertainty).floor(), (seconds * uncertainty).ceil()])
    }

    /// Returns the finished depths, and the expected states of the next ones.
    pub fn growth(&self) -> Growth {
        let depths = self.layers.iter().map(|layer| DepthFacts {
            states: layer.states.to_string(),
            classes: layer.classes.map(|classes| classes.to_string()),
            seconds: layer.seconds,
            bytes: layer.bytes,
        });
        Growth { depths: depths.collect(), expected: self.expected.clone() }
    }
}
