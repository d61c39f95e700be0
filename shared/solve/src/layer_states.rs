//! All states of a layer, in batches: each stored state and its images under symmetries.

use super::layer_distances::{CosetLayers, LayerDistances, Layers, positions};
use super::space_words::SpaceWords;
use anyhow::Result;
use fathom_engine::run::{Depth, ShardId};
use fathom_layer::LayerFile;
use fathom_space::{CosetGraph, CosetId};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// How many states a thread makes at a time.
const BATCH: usize = 1 << 16;

/// How many states wait to be made by all threads.
const BATCHES: usize = 1 << 20;

/// Some states of a representative coset, and a symmetry that carries them to a coset of its orbit.
struct Batch {
    coset: CosetId,
    positions: Arc<Vec<u32>>,
    range: Range<usize>,
    symmetry: usize,
}

impl LayerDistances<'_> {
    /// Calls `found` with the states of a depth, some at a time: words of the model, one behind the other, written as
    /// `form` does, in several threads, unless that leaves nothing. The order of the states does not depend on the number of threads. Ends early if
    /// `found` returns `false`. The files of the depth must exist.
    ///
    /// # Errors
    /// If a file is missing or damaged, or `found` fails.
    pub fn each_state(
        &mut self,
        depth: u32,
        words: &SpaceWords<'_>,
        form: &(dyn Fn(Vec<u8>) -> Vec<u8> + Sync),
        found: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        match &mut self.layers {
            Layers::Cosets(layers) => layers.each_state(depth, words, form, found),
            Layers::Lists(layers) => {
                let (mut batch, mut states, mut ended) = (Vec::new(), 0, Ok(true));
                layers.each(Depth(depth), &mut |state| {
                    if !matches!(ended, Ok(true)) {
                        return;
                    }
                    match words.in_model(&state) {
                        Some(word) => batch.extend(word),
                        None => ended = Err(foreign()),
                    }
                    states += 1;
                    if states == BATCH && ended.is_ok() {
                        ended = found(&form(std::mem::take(&mut batch)));
                        states = 0;
                    }
                })?;
                if ended? && !batch.is_empty() {
                    found(&form(batch))?;
                }
                Ok(())
            }
        }
    }
}

impl CosetLayers<'_> {
    fn each_state(
        &mut self,
        depth: u32,
        words: &SpaceWords<'_>,
        form: &(dyn Fn(Vec<u8>) -> Vec<u8> + Sync),
        found: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let shards: Vec<ShardId> = self.geometry.cut.ids().collect();
        for &shard in &shards {
            self.file(Depth(depth), shard)?;
        }
        let graph = &self.graph;
        let mut batches: Vec<Batch> = Vec::new();
        let mut waiting = 0;
        let mut make = |batches: &mut Vec<Batch>, waiting: &mut usize| -> Result<bool> {
            *waiting = 0;
            let made: Vec<Result<Vec<u8>>> = std::mem::take(batches)
                .into_par_iter()
                .map(|batch| Ok(form(made(graph, words, &batch)?)))
                .collect();
            for batch in made {
                let batch = batch?;
                if !batch.is_empty() && !found(&batch)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        for shard in shards {
            let file: &LayerFile = &self.open[&(Depth(depth), shard)];
            let identity = file.identity();
            for local in 0..identity.cosets {
                let coset = CosetId(identity.first_coset + local);
                let positions = Arc::new(positions(&file.coset(local)?));
                if positions.is_empty() {
                    continue;
                }
                for symmetry in graph.ways_to_orbit(coset) {
                    for first in (0..positions.len()).step_by(BATCH) {
                        let range = first..positions.len().min(first + BATCH);
                        waiting += range.len();
                        batches.push(Batch { coset, positions: Arc::clone(&positions), range, symmetry });
                        if waiting >= BATCHES && !make(&mut batches, &mut waiting)? {
                            return Ok(());
                        }
                    }
                }
            }
        }
        make(&mut batches, &mut waiting).map(drop)
    }
}

/// Returns the states of a batch as words of the model. Of the words of a state that free moves carry to each other, it has
/// the smallest.
fn made(graph: &CosetGraph, words: &SpaceWords<'_>, batch: &Batch) -> Result<Vec<u8>> {
    let cells = graph.space().cells();
    let (mut image, mut other) = (vec![0; cells], vec![0; cells]);
    let mut states = graph.words(batch.coset);
    let mut made = Vec::with_capacity(batch.range.len() * cells);
    for &position in &batch.positions[batch.range.clone()] {
        graph.write_image(batch.symmetry, states.at(position), &mut image);
        if graph.space().is_first_word(&image, &mut other) {
            words.add_in_model(&image, &mut made).ok_or_else(foreign)?;
        }
    }
    Ok(made)
}

fn foreign() -> anyhow::Error {
    anyhow::anyhow!(
        "a state has pieces on cells that they cannot reach. Run 'fathom verify' to find the fault"
    )
}
