//! Spot checks: before the search commits a layer, it checks some states of its newest layers against the
//! puzzle's moves.

use super::coset_files::{CosetFiles, FinishedLayer, renamed};
use super::layer::OnDisk;
use super::plain_states::{Plain, State};
use super::{Contradiction, distance_laws, labels_of, plain_of};
use crate::run::RunManifest;
use crate::task::{Layer, Words};
use anyhow::{Context, Result};
use fathom_space::CosetGraph;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The share of the time of a search that spot checks may take.
const SHARE: f64 = 0.01;

/// The number of states that a check examines in each of the two newest layers, even if that takes more than
/// [`SHARE`], unless one of them takes longer than [`LONG`].
const LEAST: u64 = 4;
const LONG: Duration = Duration::from_millis(10);

/// The approximate number of bytes of layers that are read and checked against their checksums per second.
const BYTES_PER_SECOND: f64 = 1e9;

/// The maximum number of states that a check examines in each of the two newest layers.
const MOST: u64 = 10_000;

/// The maximum number of lookups of neighbours that one state may need. With more, no state is checked.
const MAX_LOOKUPS: usize = 4_096;

/// The number of neighbours that a check of the last layers looks up in each of them, at most.
const LOOKUPS_AT_END: u64 = 65_536;

/// Returns the number of states that a check of the last layers draws from each of them; `None` if states have
/// too many neighbours.
pub(super) fn samples(plain: &Plain) -> Option<u64> {
    let neighbours = plain.neighbours();
    (neighbours <= MAX_LOOKUPS).then(|| (LOOKUPS_AT_END / neighbours.max(1) as u64).clamp(LEAST, 256))
}

/// A layer as a spot check sees it.
#[derive(Debug)]
pub(crate) struct Row {
    /// The number of states.
    pub(crate) states: u64,
    /// The number of states in the stored representatives.
    pub(crate) stored: u64,
    /// The layer, if it is open.
    pub(crate) layer: Option<Arc<Layer>>,
}

/// The spot checks of a search.
#[derive(Debug)]
pub(crate) struct SpotChecks {
    plain: Plain,
    graph: Arc<CosetGraph>,
    /// The time that all checks took.
    spent: Duration,
    /// The time that the next check takes before the first state, and for each state: estimated at first, and
    /// measured from the second check on.
    start: Duration,
    each: Duration,
}

impl SpotChecks {
    /// Prepares the checks of a run.
    ///
    /// # Errors
    /// If the run's definition of the puzzle cannot be read.
    pub(crate) fn new(manifest: &RunManifest, graph: &Arc<CosetGraph>) -> Result<Self> {
        let begun = Instant::now();
        let plain = plain_of(manifest, labels_of(graph.space()))?;
        // The neighbours of the first state are in cosets of three layers that were not read yet.
        let cosets = (plain.neighbours() as f64).min(graph.len().into());
        let bytes = 3.0 * cosets * f64::from(graph.shape().packed_bytes());
        Ok(Self {
            plain,
            graph: Arc::clone(graph),
            spent: begun.elapsed(),
            start: Duration::ZERO,
            each: Duration::from_secs_f64(bytes / BYTES_PER_SECOND),
        })
    }

    /// Returns whether it is time for another check of a search of this age, or a check is required (`must`),
    /// and states have few enough neighbours.
    pub(crate) fn are_due(&self, age: Duration, must: bool) -> bool {
        let have_time = self.spent + self.start + 2 * self.each < age.mul_f64(SHARE);
        (have_time || must) && self.plain.neighbours() <= MAX_LOOKUPS
    }

    /// Checks random states of the newest layer and of the one before it, in turns, as long as a search of
    /// this age has time. `layers` has all layers by depth, the newest one too, and `begun` is the time when
    /// they were opened. Another check of the same depth draws the same states. Returns the number of states
    /// that were checked, and the first contradiction.
    ///
    /// # Errors
    /// If a layer cannot be read.
    pub(crate) fn look(
        &mut self,
        layers: Vec<Row>,
        age: Duration,
        begun: Instant,
    ) -> Result<(u32, Option<Contradiction>)> {
        let newest = layers.len() - 1;
        let drawn = layers.iter().enumerate().skip(newest.saturating_sub(1));
        let drawn = drawn.filter_map(|(depth, row)| Some((depth as u32, Arc::clone(row.layer.as_ref()?))));
        let drawn: Vec<(u32, Arc<Layer>)> = drawn.collect();
        let graph = &self.graph;
        let count = |layer: &Layer| Words::count(graph, 0..graph.len(), |coset| Ok(layer.states(coset)?.0));
        let words: Vec<Words> = drawn.iter().map(|(_, layer)| count(layer)).collect::<Result<_, _>>()?;
        if words.iter().any(|words| words.number() == 0) {
            // The commit refuses a layer without states.
            return Ok((0, None));
        }
        let open = |row: Row| FinishedLayer {
            states: row.states,
            stored: row.stored,
            files: row.layer.map(|layer| Box::new(OnDisk { layer, graph: Arc::clone(graph) }) as _),
        };
        let files = CosetFiles::new(Arc::clone(graph), layers.into_iter().map(open).collect());
        let kept = files.kept();
        self.start = begun.elapsed();
        let until = age.mul_f64(SHARE).saturating_sub(self.spent);
        let mut random = fastrand::Rng::with_seed(newest as u64);
        let mut looked_at = 0_u32;
        let mut found = None;
        'looking: for turn in 0..MOST {
            let elapsed = begun.elapsed();
            let is_enough = turn >= LEAST || turn > 0 && elapsed - self.start >= LONG;
            if is_enough && elapsed >= until {
                break;
            }
            for ((depth, layer), words) in drawn.iter().zip(&words) {
                let state = draw(graph, layer, words, &mut random)?;
                let lookup = kept.look_ahead(std::iter::empty())?;
                looked_at += 1;
                if let (_, Some(contradiction)) =
                    distance_laws::check(&self.plain, &lookup, &state, Some(*depth))?
                {
                    found = Some(contradiction);
                    break 'looking;
                }
            }
        }
        let took = begun.elapsed();
        self.spent += took;
        self.each = (took - self.start) / looked_at;
        Ok((looked_at, found))
    }
}

/// Draws a word of a layer under a random symmetry.
fn draw(graph: &CosetGraph, layer: &Layer, words: &Words, random: &mut fastrand::Rng) -> Result<State> {
    let word = random.u128(..words.number());
    let place = words.place(graph, word, |coset| layer.coset(coset))?;
    let place = place.context("a coset has fewer states than its file says")?;
    Ok(renamed(graph, place, random))
}
