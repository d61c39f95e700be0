//! The results of a run.

use crate::failure::failed;
use anyhow::{Result, bail};
use fathom_begin::report_solutions;
use fathom_command::new_file::to_file;
use fathom_command::{bad_input, machine};
use fathom_engine::directory::RunDirectory;
use fathom_engine::summary::Summary;
use fathom_engine::verify::verify;
use fathom_layer::LocalDisk;
use fathom_report::{Format, Report};
use fathom_solve::{KeptRun, RunTable};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Rows of an array, one behind the other.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    /// Entries of one byte.
    Bytes(PyReadonlyArray1<'py, u8>),
    /// Entries of two bytes.
    Words(PyReadonlyArray1<'py, u16>),
}

/// Returns distances, -1 for states without one.
pub(crate) fn distances(found: Result<Vec<Option<u32>>>) -> Result<Vec<i16>> {
    let distance = |found: Option<u32>| Ok(found.map_or(Ok(-1), i16::try_from)?);
    found?.into_iter().map(distance).collect()
}

/// An array of labels, and turns.
type Labels<'py> = Bound<'py, PyAny>;

/// Returns the bytes of rows as an array.
fn array(py: Python<'_>, bytes: Vec<u8>, are_bytes: bool) -> Labels<'_> {
    if are_bytes {
        return PyArray1::from_vec(py, bytes).into_any();
    }
    let (words, _) = bytes.as_chunks::<2>();
    let words: Vec<u16> = words.iter().map(|&word| u16::from_le_bytes(word)).collect();
    PyArray1::from_vec(py, words).into_any()
}

/// The directory of a run.
#[pyclass(frozen, module = "fathom_search._native")]
pub(crate) struct Run {
    path: PathBuf,
    memory_bytes: u64,
    summary: Summary,
    kept: Mutex<Option<KeptRun>>,
}

impl Run {
    /// Computes without the GIL with the kept layers.
    fn with_kept<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut KeptRun) -> Result<T> + Send,
    ) -> PyResult<T> {
        let with = || {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.is_none() {
                *kept = Some(KeptRun::open(&self.path, self.memory_bytes)?);
            }
            work(kept.as_mut().expect("it was opened"))
        };
        py.detach(with).map_err(failed)
    }
}

#[pymethods]
impl Run {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, memory: Option<u64>) -> PyResult<Self> {
        let summary = || Summary::new(&RunDirectory::open_for_reading(&path)?);
        let summary = py.detach(summary).map_err(failed)?;
        Ok(Self { path, memory_bytes: machine::memory_bytes(memory), summary, kept: Mutex::new(None) })
    }

    /// Returns the object that `fathom run --json` prints.
    fn summary(&self) -> String {
        self.summary.to_json()
    }

    /// Returns the form of states: the number of cells, whether pieces turn, and whether labels are bytes.
    fn form(&self, py: Python<'_>) -> PyResult<(usize, bool, bool)> {
        self.with_kept(py, |kept| {
            let rows = kept.reader().rows();
            Ok((rows.cells, rows.turns.is_some(), rows.are_bytes()))
        })
    }

    fn distances<'py>(&self, py: Python<'py>, rows: Rows<'py>) -> PyResult<Bound<'py, PyArray1<i16>>> {
        let found = match &rows {
            Rows::Bytes(rows) => {
                let rows = rows.as_slice()?;
                self.with_kept(py, |kept| distances(kept.distances(rows)))
            }
            Rows::Words(rows) => {
                let rows = rows.as_slice()?;
                self.with_kept(py, |kept| distances(kept.distances(rows)))
            }
        };
        Ok(PyArray1::from_vec(py, found?))
    }

    /// Returns the number of states of a depth, at most `limit`, and their rows.
    fn layer<'py>(&self, py: Python<'py>, depth: u32, limit: Option<u64>) -> PyResult<(u64, Labels<'py>)> {
        let (states, bytes, are_bytes) = self.with_kept(py, |kept| {
            let (states, bytes) = kept.layer(depth, limit)?;
            Ok((states, bytes, kept.reader().rows().are_bytes()))
        })?;
        Ok((states, array(py, bytes, are_bytes)))
    }

    /// Returns the states and distances of all nodes; the nodes from and to which edges lead, and their moves; and the
    /// names of moves.
    #[allow(clippy::type_complexity)]
    fn edges<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Labels<'py>, Bound<'py, PyArray1<i16>>, [Bound<'py, PyArray1<i64>>; 3], Vec<String>)> {
        let (bytes, are_bytes, depths, edges, names) = self.with_kept(py, |kept| {
            let graph = kept.graph()?;
            let rows = kept.reader().rows();
            let words: Vec<u8> = graph.nodes.iter().flat_map(|(word, _)| word).copied().collect();
            let depths = distances(Ok(graph.nodes.iter().map(|&(_, depth)| Some(depth)).collect()))?;
            let mut edges = [Vec::new(), Vec::new(), Vec::new()];
            graph.each_edge(kept.model(), &mut |from, to, mv| {
                edges.iter_mut().zip([from, to, mv]).for_each(|(edges, number)| edges.push(number as i64));
                Ok(())
            })?;
            let moves = 0..kept.model().moves().len();
            let names = moves.map(|mv| kept.model().written(&[mv], 0)).collect();
            Ok((rows.written(&words), rows.are_bytes(), depths, edges, names))
        })?;
        let edges = edges.map(|edges| PyArray1::from_vec(py, edges));
        Ok((array(py, bytes, are_bytes), PyArray1::from_vec(py, depths), edges, names))
    }

    /// Returns classes of the states of the last depth, as JSON.
    fn antipodes(&self, py: Python<'_>, limit: usize) -> PyResult<String> {
        let way = if self.summary.inverse_closed { "solution" } else { "scramble" };
        self.with_kept(py, |kept| {
            let told = kept.antipodes(limit)?;
            let class = told.iter().map(|told| {
                json!({ "size": told.class.size, "symmetry": told.class.symmetry, "state": told.state, way: told.moves })
            });
            Ok(serde_json::Value::from_iter(class).to_string())
        })
    }

    /// Writes a table of all distances, and returns the number of states.
    fn table_file(&self, py: Python<'_>, path: PathBuf, replace: bool) -> PyResult<u64> {
        let write = || -> Result<u64> {
            if path.exists() && !replace {
                return Err(bad_input!("{} exists. Choose another name, or replace it", path.display()));
            }
            let run = RunDirectory::open_unchanging(&self.path)?;
            let table = RunTable::new(&run, self.memory_bytes)?;
            let states = table.states;
            to_file(&path, replace, |out| table.write(out))?;
            Ok(states)
        };
        py.detach(write).map_err(failed)
    }

    /// Returns a report in a format.
    fn report(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let report = || -> Result<String> {
            let format: Format = format.parse().map_err(|error| bad_input!("format: {error}"))?;
            let run = RunDirectory::open_for_reading(&self.path)?;
            let mut report = Report::new(&run, Vec::new(), format)?;
            if format.shows_states() {
                report_solutions::add(&mut report, &run)?;
            }
            report.to_text(format)
        };
        py.detach(report).map_err(failed)
    }

    /// Reads all files, and returns what was verified, as JSON.
    fn verify(&self, py: Python<'_>) -> PyResult<String> {
        let verify = || -> Result<String> {
            let run = RunDirectory::open_unchanging(&self.path)?;
            let verified = verify(&run, &LocalDisk)?;
            if verified.layers == 0 {
                bail!("nothing to verify: the run in {} has no layer files", self.path.display());
            }
            let summary = Summary::new(&run)?;
            Ok(json!({
                "complete": summary.complete,
                "layers": verified.layers,
                "files": verified.files,
                "bytes": verified.bytes,
                "states": verified.states,
                "digest": summary.digest,
            })
            .to_string())
        };
        py.detach(verify).map_err(failed)
    }
}
