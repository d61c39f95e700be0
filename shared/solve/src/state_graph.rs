//! The graph of a small space: its states, and the moves between them.

use super::layer_distances::LayerDistances;
use super::model::SolveModel;
use super::solutions::not_kept;
use super::space_words::SpaceWords;
use anyhow::Result;
use fathom_command::bad_input;
use fathom_engine::directory::RunDirectory;
use indicatif::HumanCount;
use std::collections::HashMap;

/// The largest number of states of a graph.
const MOST_NODES: u64 = 1_000_000;

/// The states of a run as nodes. An edge leads along each move.
#[derive(Clone, Debug)]
pub struct StateGraph {
    /// The words of the states and their distances, in the order of distances. Of the words of a state that free moves
    /// carry to each other, it has the smallest.
    pub nodes: Vec<(Vec<u8>, u32)>,
}

impl StateGraph {
    /// Reads the states of a run.
    ///
    /// # Errors
    /// If the run did not keep all layers, or has too many states, or a file is missing or damaged.
    pub fn new(
        run: &RunDirectory,
        kept: &mut LayerDistances<'_>,
        words: &SpaceWords<'_>,
        model: &SolveModel,
    ) -> Result<Self> {
        let depths = kept.layers().len() as u32;
        if depths == 0 || !kept.has_all_to(depths - 1) {
            return Err(not_kept(run, kept.layers(), None));
        }
        let number: u64 = kept.layers().iter().map(|layer| layer.states).sum();
        if number > MOST_NODES {
            return Err(bad_input!(
                "the graph of {} states is too large: edges are exported for at most {} states",
                HumanCount(number),
                HumanCount(MOST_NODES)
            ));
        }
        let cells = model.solved().len();
        let mut nodes: Vec<(Vec<u8>, u32)> = Vec::new();
        for depth in 0..depths {
            kept.each_state(depth, words, &|words| words, &mut |batch| {
                nodes.extend(batch.chunks_exact(cells).map(|word| (model.reduced(word), depth)));
                Ok(true)
            })?;
        }
        Ok(Self { nodes })
    }

    /// Calls `found` with each edge: the numbers of two nodes, and that of a move between them.
    ///
    /// # Errors
    /// If `found` fails.
    pub fn each_edge(
        &self,
        model: &SolveModel,
        found: &mut dyn FnMut(usize, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let nodes = &self.nodes;
        let numbers: HashMap<&[u8], usize> =
            nodes.iter().enumerate().map(|(number, (word, _))| (&**word, number)).collect();
        let mut image = vec![0; model.solved().len()];
        for (from, (word, _)) in nodes.iter().enumerate() {
            for mv in 0..model.moves().len() {
                if model.apply(mv, word, &mut image)
                    && let Some(&to) = numbers.get(&*model.reduced(&image))
                {
                    found(from, to, mv)?;
                }
            }
        }
        Ok(())
    }
}
