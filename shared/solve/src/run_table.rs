//! The table of the distances of all states of a run.

use super::distance_table::TableMaker;
use super::layer_distances::LayerDistances;
use super::model::SolveModel;
use super::solutions::not_kept;
use super::space_words::SpaceWords;
use super::state_ranks::StateRanks;
use anyhow::{Context, Result, ensure};
use fathom_command::{bad_input, shell};
use fathom_engine::directory::RunDirectory;
use fathom_engine::run::SpaceSpec;
use fathom_engine::summary::Summary;
use fathom_layer::LocalDisk;
use indicatif::HumanBytes;
use std::io::Write;

/// The distances of all states of a complete run that has kept its layers.
#[derive(Debug)]
pub struct RunTable {
    /// The number of states.
    pub states: u64,
    largest: u32,
    digest: String,
    maker: TableMaker,
    spec: SpaceSpec,
}

impl RunTable {
    /// Reads the layers of a run, which no search may change meanwhile.
    ///
    /// # Errors
    /// If the run has no such table, the table takes more than `memory_bytes`, or a file is missing or damaged.
    pub fn new(run: &RunDirectory, memory_bytes: u64) -> Result<Self> {
        let path = shell::path(&run.path);
        let model = SolveModel::new(&run.manifest.spec).map_err(|error| bad_input!("{error}"))?;
        if model.free().elements().len() > 1 {
            return Err(bad_input!(
                "a table numbers states by the pieces on cells, and the free moves of {} rename these. Use the same puzzle with a piece that is fixed",
                model.name()
            ));
        }
        let kept = LayerDistances::new(run, memory_bytes, &LocalDisk)?;
        let mut kept = kept.ok_or_else(|| {
            bad_input!("the layers of the run in {path} are on its workers, which this command cannot read")
        })?;
        let Some(largest) = (kept.layers().len() as u32).checked_sub(1).filter(|_| kept.is_complete()) else {
            return Err(bad_input!(
                "the run in {path} is not complete. Continue it with 'fathom resume {path}'"
            ));
        };
        if !kept.has_all_to(largest) {
            return Err(not_kept(run, kept.layers(), None));
        }
        let ranks = StateRanks::new(&model, model.definition(), &run.manifest.spec.labels)
            .with_context(|| format!("{} has too many arrangements for a table", run.space.slug()))?;
        let needed = TableMaker::bytes(&ranks, largest);
        if needed > memory_bytes {
            return Err(bad_input!(
                "the table has {} entries and takes {}; the memory limit is {}. Raise it with --memory, or distinguish fewer pieces",
                ranks.total(),
                HumanBytes(needed),
                HumanBytes(memory_bytes)
            ));
        }
        let maker = TableMaker::new(ranks, largest)
            .with_context(|| format!("distances up to {largest} do not fit in a byte"))?;
        let words = SpaceWords::new(&model, &run.space);
        let cells = model.solved().len();
        let states: u64 = kept.layers().iter().map(|layer| layer.states).sum();
        maker.add_layers(&mut kept, &words, cells, 0..=largest)?;
        ensure!(
            maker.states() == states,
            "the layers have {} different states, but run.db has {states}. Run 'fathom verify' to find the fault",
            maker.states()
        );
        let digest = Summary::new(run)?.digest.to_string();
        Ok(Self { states, largest, digest, maker, spec: run.manifest.spec.clone() })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(self, out: &mut dyn Write) -> Result<()> {
        let Self { states, largest, digest, maker, spec } = self;
        maker.write(&spec, (states, largest, digest), out)
    }
}
