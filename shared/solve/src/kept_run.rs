//! The layers of a run as arrays: states as [rows](super::rows), and their distances.

use super::classes;
use super::distance_table::TableMaker;
use super::layer_distances::LayerDistances;
use super::model::SolveModel;
use super::rows::RowReader;
use super::solutions::{ClassOfStates, not_kept, with_solutions};
use super::space_words::SpaceWords;
use super::state_graph::StateGraph;
use super::state_ranks::StateRanks;
use anyhow::{Result, ensure};
use fathom_command::{bad_input, shell};
use fathom_engine::directory::RunDirectory;
use fathom_engine::run::lock;
use fathom_layer::LocalDisk;
use rayon::prelude::*;
use std::path::Path;

/// How many rows a thread looks up at a time.
const ROWS: usize = 1024;

/// An open run that is only read.
#[derive(Debug)]
pub struct KeptRun {
    run: RunDirectory,
    model: SolveModel,
    kept: LayerDistances<'static>,
    reader: RowReader,
    memory_bytes: u64,
    /// The distances of a run that lists states.
    ranked: Option<TableMaker>,
    is_tabulated: bool,
}

impl KeptRun {
    /// Opens a run.
    ///
    /// # Errors
    /// If there is no run, or workers have its layers, or its files are damaged.
    pub fn open(path: &Path, memory_bytes: u64) -> Result<Self> {
        let run = RunDirectory::open_for_reading(path)?;
        let spec = &run.manifest.spec;
        let model = SolveModel::new(spec).map_err(|error| bad_input!("{error}"))?;
        let reader = RowReader::new(&model, &spec.labels);
        if !reader.are_clear() {
            return Err(bad_input!(
                "pieces of {} that have one label show different numbers of orientations, so rows of labels do not distinguish states. Give these pieces other labels",
                model.name()
            ));
        }
        let kept = LayerDistances::new(&run, memory_bytes, &LocalDisk)?;
        let kept = kept.ok_or_else(|| {
            bad_input!(
                "the layers of the run in {} are on its workers, which cannot be read from here",
                shell::path(path)
            )
        })?;
        Ok(Self { run, model, kept, reader, memory_bytes, ranked: None, is_tabulated: false })
    }

    /// Returns the form of the rows.
    pub fn reader(&self) -> &RowReader {
        &self.reader
    }

    /// Returns the model of the puzzle.
    pub fn model(&self) -> &SolveModel {
        &self.model
    }

    /// Returns the distance of the state of each row; `None` if no kept layer has it.
    ///
    /// # Errors
    /// If a row has other pieces than the puzzle, or a file is missing or damaged.
    pub fn distances<T: Copy + Into<u16> + Sync>(&mut self, rows: &[T]) -> Result<Vec<Option<u32>>> {
        self.tabulate()?;
        let Self { run, model, kept, reader, ranked, .. } = self;
        let words = SpaceWords::new(model, &run.space);
        if let Some(ranked) = ranked {
            return of_rows(reader, rows, || |word: &[u8]| ranked.distance(word));
        }
        if let Some(table) = kept.table() {
            let words = &words;
            return of_rows(reader, rows, || {
                let (mut finder, mut state) = (table.finder(), Vec::new());
                move |word: &[u8]| {
                    words.write_in_space(word, &mut state).then(|| finder.depth_of(&state)).flatten()
                }
            });
        }
        let (mut word, mut left) = (vec![0; reader.rows().cells], Vec::new());
        let one = |(number, row): (usize, &[T])| {
            reader.read(row, &mut word, &mut left).map_err(|error| bad_input!("row {number}: {error}"))?;
            words.in_space(&word).map_or(Ok(None), |word| kept.depth_of(&word))
        };
        rows.chunks_exact(reader.rows().entries()).enumerate().map(one).collect()
    }

    /// Reads all kept layers into memory, if they fit there.
    fn tabulate(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_tabulated, true) {
            return Ok(());
        }
        if self.kept.tabulate(self.memory_bytes)? || self.model.free().elements().len() > 1 {
            return Ok(());
        }
        let depths = self.kept.layers().len() as u32;
        let Some(ranks) =
            StateRanks::new(&self.model, self.model.definition(), &self.run.manifest.spec.labels)
        else {
            return Ok(());
        };
        if depths == 0 || TableMaker::bytes(&ranks, depths - 1) > self.memory_bytes / 2 {
            return Ok(());
        }
        let Some(maker) = TableMaker::new(ranks, depths - 1) else { return Ok(()) };
        let words = SpaceWords::new(&self.model, &self.run.space);
        let cells = self.model.solved().len();
        let kept: Vec<u32> = (0..depths).filter(|&depth| self.kept.has(depth)).collect();
        maker.add_layers(&mut self.kept, &words, cells, kept)?;
        self.ranked = Some(maker);
        Ok(())
    }

    /// Returns the number of states of a depth whose layer was kept.
    fn states(&self, depth: u32) -> Result<u64> {
        let path = shell::path(&self.run.path);
        let layers = self.kept.layers();
        let layer = layers.get(depth as usize).ok_or_else(|| {
            bad_input!(
                "the run in {path} has no layer of depth {depth}: its last one is {}",
                layers.len().saturating_sub(1)
            )
        })?;
        match self.kept.has(depth) {
            true => Ok(layer.states),
            false => Err(not_kept(&self.run, layers, Some(depth))),
        }
    }

    /// Returns the bytes of the rows of the first `limit` states of a depth, and their number.
    ///
    /// # Errors
    /// If the layer was not kept, the rows exceed the memory, or a file is missing or damaged.
    pub fn layer(&mut self, depth: u32, limit: Option<u64>) -> Result<(u64, Vec<u8>)> {
        let there = self.states(depth)?;
        let all = limit.map_or(there, |limit| limit.min(there));
        let rows = self.reader.rows().clone();
        let a_row = rows.entries() as u64 * if rows.are_bytes() { 1 } else { 2 };
        if all.saturating_mul(a_row) > self.memory_bytes {
            return Err(bad_input!(
                "depth {depth} has {there} states of {a_row} bytes, more than the memory limit. Give a limit"
            ));
        }
        let _lock = lock::reading(&self.run.path)?;
        let whole = (all * a_row) as usize;
        let mut found = Vec::with_capacity(whole);
        let words = SpaceWords::new(&self.model, &self.run.space);
        if all > 0 {
            self.kept.each_state(depth, &words, &|words| rows.written(&words), &mut |batch| {
                found.extend_from_slice(&batch[..batch.len().min(whole - found.len())]);
                Ok(found.len() < whole)
            })?;
        }
        ensure!(
            found.len() == whole,
            "depth {depth} has fewer states than run.db says. Run 'fathom verify' to find the fault"
        );
        Ok((all, found))
    }

    /// Returns the graph of all states.
    ///
    /// # Errors
    /// As [`StateGraph::new`].
    pub fn graph(&mut self) -> Result<StateGraph> {
        let _lock = lock::reading(&self.run.path)?;
        let words = SpaceWords::new(&self.model, &self.run.space);
        StateGraph::new(&self.run, &mut self.kept, &words, &self.model)
    }

    /// Returns the first `limit` classes of states of the last depth up to symmetry, each with a state and a solution.
    ///
    /// # Errors
    /// If the run is not complete, or its last layer was not kept, or a file is missing or damaged.
    pub fn antipodes(&mut self, limit: usize) -> Result<Vec<ClassOfStates>> {
        let path = shell::path(&self.run.path);
        let last = self.kept.layers().len().checked_sub(1).filter(|_| self.kept.is_complete());
        let last = last.ok_or_else(|| {
            bad_input!("the run in {path} is not complete. Continue it with 'fathom resume {path}'")
        })?;
        let depth = last as u32;
        self.states(depth)?;
        let _lock = lock::reading(&self.run.path)?;
        let Self { run, model, kept, memory_bytes, .. } = self;
        let sizes = (run.space.puzzle().cells, run.space.symmetry_order());
        let found = classes(kept, sizes, depth, *memory_bytes)?;
        let (shown, mut solved) = (found.into_iter().take(limit), Vec::new());
        with_solutions(run, model, kept, depth, shown, *memory_bytes, |class| {
            solved.push(class);
            Ok(())
        })?;
        Ok(solved)
    }
}

/// Looks up rows in all threads. `finder` makes what a thread looks up words with.
pub fn of_rows<T: Copy + Into<u16> + Sync, F: FnMut(&[u8]) -> Option<u32>>(
    reader: &RowReader,
    rows: &[T],
    finder: impl Fn() -> F + Sync,
) -> Result<Vec<Option<u32>>> {
    let entries = reader.rows().entries();
    let part = |(part, rows): (usize, &[T])| {
        let (mut find, mut word, mut left) = (finder(), vec![0; reader.rows().cells], Vec::new());
        let one = |(row, number): (&[T], usize)| {
            let read = reader.read(row, &mut word, &mut left);
            read.map_err(|error| bad_input!("row {number}: {error}"))?;
            Ok(find(&word))
        };
        rows.chunks_exact(entries).zip(part * ROWS..).map(one).collect::<Result<Vec<_>>>()
    };
    // Other threads would take longer to begin.
    if rows.len() <= ROWS * entries {
        return part((0, rows));
    }
    let parts: Vec<Vec<Option<u32>>> =
        rows.par_chunks(ROWS * entries).enumerate().map(part).collect::<Result<_>>()?;
    Ok(parts.into_iter().flatten().collect())
}
