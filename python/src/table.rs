//! Files with the distances of all states.

use crate::failure::failed;
use crate::run::{Rows, distances};
use anyhow::Result;
use fathom_command::bad_input;
use fathom_solve::kept_run::of_rows;
use fathom_solve::rows::RowReader;
use fathom_solve::{DistanceTable, SolveModel, StateRanks};
use numpy::PyArray1;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A file that `fathom table` or `Result.table_file` wrote.
#[pyclass(frozen, module = "fathom_search._native")]
pub(crate) struct Table {
    table: DistanceTable,
    ranks: StateRanks,
    reader: RowReader,
}

impl Table {
    fn open(path: &std::path::Path) -> Result<Self> {
        let table = DistanceTable::open(path)?;
        let spec = table.spec();
        let model = SolveModel::new(spec).map_err(|error| bad_input!("{error}"))?;
        let (ranks, reader) = (table.ranks(&model, spec)?, RowReader::new(&model, &spec.labels));
        Ok(Self { table, ranks, reader })
    }

    fn look_up<T: Copy + Into<u16> + Sync>(&self, rows: &[T]) -> Result<Vec<i16>> {
        let distance = |word: &[u8]| {
            let has = self.ranks.has(word);
            has.then(|| self.table.distance(self.ranks.rank(word))).flatten()
        };
        distances(of_rows(&self.reader, rows, || distance))
    }
}

#[pymethods]
impl Table {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| Self::open(&path)).map_err(failed)
    }

    /// Returns the description at the beginning of the file, as JSON.
    fn head(&self) -> PyResult<String> {
        serde_json::to_string(self.table.head()).map_err(|error| failed(error.into()))
    }

    /// Returns the name of the puzzle, the metric and the label of each piece.
    fn space(&self) -> (String, String, Vec<u16>) {
        let spec = self.table.spec();
        (spec.source.name(), spec.metric.to_string(), spec.labels.of_pieces().to_vec())
    }

    /// Returns the form of states, as that of a run.
    fn form(&self) -> (usize, bool, bool) {
        let rows = self.reader.rows();
        (rows.cells, rows.turns.is_some(), rows.are_bytes())
    }

    fn distances<'py>(&self, py: Python<'py>, rows: Rows<'py>) -> PyResult<Bound<'py, PyArray1<i16>>> {
        let found = match &rows {
            Rows::Bytes(rows) => {
                let rows = rows.as_slice()?;
                py.detach(|| self.look_up(rows))
            }
            Rows::Words(rows) => {
                let rows = rows.as_slice()?;
                py.detach(|| self.look_up(rows))
            }
        };
        Ok(PyArray1::from_vec(py, found.map_err(failed)?))
    }
}
