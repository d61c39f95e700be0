//! The part that all feeds share: a run's space and finished depths, and the quantities derived from them.

use crate::snapshot::{DepthFacts, Growth, RunFacts, RunState};
use anyhow::{Context, Result};
use fathom_engine::directory::RunDirectory;
use fathom_engine::estimate::COSET_OVERHEAD_BYTES;
use fathom_engine::forecast::outlook::{Outlook, TimeLeft};
use fathom_engine::journal::{Files, LayerRow};
use fathom_engine::run::Geometry;
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
    /// The number of states of the space.
    pub states: u64,
    outlook: Outlook,
    /// Bytes of a layer whose cosets are all dense.
    dense_bytes: u64,
    largest_distance_is: &'static str,
    one_way: Option<&'static str>,
    check: String,
    /// The finished depths.
    pub layers: Vec<LayerRow>,
    expected: Vec<f64>,
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
        let (space, colouring) = run.manifest.open()?;
        let geometry = Geometry::new(&run.manifest, &space, &colouring)?;
        let of_coset = COSET_OVERHEAD_BYTES + u64::from(geometry.packed_bytes);
        let shape = Shape::of(&space, &colouring).context("the cosets are too large")?;
        let spec = &run.manifest.spec;
        let labels = summary.labels.as_ref().map_or_else(String::new, |labels| {
            let labels: Vec<String> = labels.iter().map(u16::to_string).collect();
            format!(", labels {}", labels.join(","))
        });
        let mut outline = Self {
            layers_at: run.store_path()?.unwrap_or_else(|| run.path.clone()),
            title: display_names::title(&spec.source, &summary.metric, display_names::is_labelled(spec)),
            name: format!("{} {}{labels}", summary.space, summary.metric),
            states: run.all_states()?,
            outlook: Outlook::new(&space, &shape, &[]),
            dense_bytes: run.manifest.plan.cosets()?.cosets * of_coset,
            largest_distance_is: summary.largest_distance_is(),
            one_way: summary.one_way(),
            check: summary.check_of_all(),
            layers: Vec::new(),
            expected: Vec::new(),
        };
        outline.set_layers(run.visited()?.layers);
        Ok(outline)
    }

    /// Replaces the finished depths.
    pub fn set_layers(&mut self, layers: Vec<LayerRow>) {
        self.outlook.set_layers(&layers);
        let states = self.outlook.states().unwrap_or_default();
        self.expected = states.into_iter().skip(layers.len()).collect();
        self.layers = layers;
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
        self.visited() == self.states
    }

    /// Returns the facts about the run as a whole. `present` is the progress of the depth that is being
    /// computed, if there is one.
    pub fn facts(&self, state: RunState, present: Option<Present>) -> RunFacts {
        let complete = self.is_complete();
        let now = present.unwrap_or_default();
        let visited = (self.visited() + now.states).min(self.states);
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
            state: if complete { RunState::Complete } else { state },
            states: self.states.to_string(),
            visited: visited.to_string(),
            share: visited as f64 / self.states as f64,
            depth,
            depth_share,
            depth_states: depth_states.to_string(),
            rate: now.rate,
            depth_left: now.left.map(f64::ceil),
            run_left: present.and_then(|present| self.run_left(present)),
            disk_used: live.map(|layer| layer.bytes).sum(),
            disk_next: if complete { 0 } else { self.dense_bytes },
            disk_free: self.free_bytes().map(|free| free >> 26 << 26),
            digest: run_digest(&digests).to_string(),
            largest: self
                .layers
                .last()
                .filter(|_| complete)
                .map(|layer| (self.largest_distance_is.to_owned(), layer.depth.0)),
            one_way: self.one_way,
            check: complete.then(|| self.check.clone()),
            reports: if complete { Format::ALL.map(Format::as_str).to_vec() } else { Vec::new() },
            ..RunFacts::default()
        }
    }

    /// Returns the free bytes for layers; `None` if they cannot be determined.
    fn free_bytes(&self) -> Option<u64> {
        Store::at(&self.layers_at, &LocalDisk).ok()?.free_bytes().ok()
    }

    /// Returns the minimum and maximum of the estimated remaining seconds of the run.
    fn run_left(&self, present: Present) -> Option<[f64; 2]> {
        let TimeLeft { seconds, uncertainty } =
            self.outlook.time_left(present.share, present.seconds, None)?;
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
