//! The results of a run so far, as values and as one JSON object.

use crate::directory::{RunDirectory, Visited};
use crate::journal::LayerRow;
use crate::run::RunSpace;
use anyhow::{Context, Result};
use fathom_layer::{Digest, run_digest};
use fathom_puzzle::{ONE_WAY, grouped, one_way_note};
use fathom_space::Space;
use indicatif::HumanCount;
use num_bigint::BigUint;
use serde::Serialize;

/// The results of a run. The fields are those of `--json`, in its order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The puzzle.
    pub space: String,
    /// The metric.
    pub metric: String,
    /// The label of each piece; `None` if all differ.
    pub labels: Option<Vec<u16>>,
    /// The number of states of the space; `None` if it is unknown, or 2^64 or more.
    pub states: Option<u64>,
    /// The largest depth; `None` unless the run is complete.
    pub god_number: Option<u32>,
    /// Whether every state was visited.
    pub complete: bool,
    /// Whether the moves are closed under inverses. If not, distances are one way, from the solved state.
    pub inverse_closed: bool,
    /// The number of start states, if distances are not from the solved state alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<u64>,
    /// The number of states at depth 0, 1, 2, …
    pub counts: Vec<u64>,
    /// The number of states up to symmetry at each depth; `None` if not counted.
    pub classes: Option<Vec<u64>>,
    /// The number of states up to symmetry and inversion at each depth; `None` if not counted.
    pub classes_with_inverse: Option<Vec<u64>>,
    /// The number of symmetries up to which classes are counted.
    pub symmetries: usize,
    /// Whether these are known to be all symmetries.
    pub symmetries_are_all: bool,
    /// The number of representative cosets; `None` if states are listed.
    pub representative_cosets: Option<u64>,
    /// Wall-clock seconds that the layers took.
    pub seconds: f64,
    /// The size of each layer's files in bytes, as the search wrote them.
    pub layer_bytes: Vec<u64>,
    /// The digest of all layers so far.
    pub digest: String,
    /// Notes that readers need to interpret the results: how the puzzle was read, and that distances are one
    /// way if they are.
    pub notes: Vec<String>,
    /// The number of watched states at each depth; `None` if none are watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched: Option<Vec<u64>>,
    /// The number of watched states that were not found.
    #[serde(skip)]
    pub watched_missing: u64,
    /// Wall-clock seconds that each layer took.
    #[serde(skip)]
    pub seconds_each: Vec<f64>,
    /// The number of states of the space, if it is known.
    #[serde(skip)]
    pub all: Option<BigUint>,
    #[serde(skip)]
    what_states_are: String,
}

impl Summary {
    /// Summarises a run, using only its definition and its journal.
    ///
    /// # Errors
    /// If the journal cannot be read, or contradicts itself.
    pub fn new(run: &RunDirectory) -> Result<Self> {
        let spec = &run.manifest.spec;
        let space = &run.space;
        let Visited { layers, all, is_complete: complete, .. } = run.visited()?;
        let counts: Vec<u64> = layers.iter().map(|layer| layer.states).collect();
        let inverse_closed = space.is_closed_under_inverses();
        let states = run.journal.watched().context("cannot read run.db")?;
        let mut watched = vec![0; layers.len()];
        let known = states.iter().filter_map(|state| state.depth);
        for depth in known {
            *watched
                .get_mut(depth.0 as usize)
                .context("run.db has a watched state in a layer that it does not have")? += 1;
        }
        let watched_missing = states.iter().filter(|state| state.depth.is_none()).count() as u64;
        let digests: Vec<Digest> = layers.iter().map(|layer| layer.digest).collect();
        Ok(Self {
            space: spec.source.name(),
            metric: spec.metric.to_string(),
            labels: (!spec.labels.are_distinct()).then(|| spec.labels.of_pieces().to_vec()),
            states: all,
            god_number: layers.last().filter(|_| complete).map(|layer| layer.depth.0),
            complete,
            inverse_closed,
            starts: (!spec.source.starts().are_solved_alone()).then(|| counts.first().copied().unwrap_or(0)),
            classes: layers.iter().map(|layer| layer.classes).collect(),
            classes_with_inverse: layers.iter().map(|layer| layer.classes_with_inverse).collect(),
            symmetries: space.symmetry_order(),
            symmetries_are_all: space.has_all_symmetries(),
            representative_cosets: run.manifest.plan.cosets().ok().map(|plan| plan.cosets),
            seconds: microseconds(
                // The sum of no numbers is -0.
                layers.iter().map(|layer| layer.seconds).fold(0.0, |sum, seconds| sum + seconds),
            ),
            notes: spec.notes(inverse_closed),
            watched: (!states.is_empty()).then_some(watched),
            watched_missing,
            seconds_each: layers.iter().map(|layer| layer.seconds).collect(),
            layer_bytes: layers.iter().map(|layer: &LayerRow| layer.bytes).collect(),
            digest: run_digest(&digests).to_string(),
            counts,
            all: space.states().cloned(),
            what_states_are: match space {
                RunSpace::Cosets(space) => what_states_are(space),
                RunSpace::Lists(space) if space.states.is_some() => {
                    "the number of states of the space".into()
                }
                RunSpace::Lists(_) => "all states that moves reach".into(),
            },
        })
    }

    /// Returns the name of the largest distance: it is God's number only if all pieces differ, the moves are closed
    /// under inverses, and distances are from the solved state.
    pub fn largest_distance_is(&self) -> &'static str {
        match (self.labels.is_some() || self.starts.is_some(), self.inverse_closed) {
            (false, true) => "God's number",
            (true, true) => "largest distance",
            (false, false) => "directed diameter",
            (true, false) => "largest directed distance",
        }
    }

    /// Returns the clause that distances are one way, if they are.
    pub fn one_way(&self) -> Option<&'static str> {
        (!self.inverse_closed).then_some(ONE_WAY)
    }

    /// Returns the note that distances are one way, if they are, and how to get the other number.
    pub fn one_way_note(&self) -> Option<String> {
        (!self.inverse_closed).then(one_way_note)
    }

    /// Returns the sentence that the counts of a complete run add up, with their sum and what that number is;
    /// `None` if the run is not complete.
    pub fn check(&self) -> Option<String> {
        self.complete.then(|| self.check_of_all())
    }

    /// Returns the sentence of [`Summary::check`] as it will be when the run is complete.
    pub fn check_of_all(&self) -> String {
        let states = self.counts.iter().sum();
        let states = self.states.filter(|_| !self.complete).unwrap_or(states);
        format!("the counts add up to {}, {}", HumanCount(states), self.what_states_are)
    }

    /// Returns the number of states of the space in groups of three digits; `None` if it is unknown.
    pub fn all_states(&self) -> Option<String> {
        self.all.as_ref().map(grouped)
    }

    /// Returns the share of all states that some states are; `None` if the number of all states is unknown.
    pub fn share(&self, states: u64) -> Option<f64> {
        let all = match self.complete {
            true => self.counts.iter().sum::<u64>() as f64,
            false => self.all.as_ref()?.to_string().parse().ok()?,
        };
        Some(states as f64 / all)
    }

    /// Returns the JSON object on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, strings and lists are JSON")
    }
}

/// Rounds seconds to microseconds.
fn microseconds(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// Describes what the number of states of a space is.
fn what_states_are(space: &Space) -> String {
    if space.is_guarded() {
        "the states that moves with guards reach, counted by shapes and loops".into()
    } else if space.piece_labels().are_distinct() {
        match space.all_free_order() {
            1 => "the order of the group".into(),
            free => format!("the order of the group divided by that of its {free} free moves"),
        }
    } else {
        format!(
            "the number of labelled states reachable under a group of order {}",
            grouped(space.group_order())
        )
    }
}
