//! Where layer files lie: `layers/d007/s00012.layer` below a run's directory.

use crate::{Job, Layer};
use fathom_layer::writer::TEMPORARY_SUFFIX;
use fathom_layer::{Disk, LayerError, LayerFile, LayerWriter, archive};
use fathom_proto::{Depth, ShardId, ShardReport, Task};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The layer files of a run.
#[derive(Debug)]
pub struct Store<'d> {
    directory: PathBuf,
    disk: &'d dyn Disk,
}

impl<'d> Store<'d> {
    /// The store in the directory of a run.
    pub fn new(run: &Path, disk: &'d dyn Disk) -> Self {
        Self { directory: run.join("layers"), disk }
    }

    /// The directory of a layer.
    pub fn layer_directory(&self, depth: Depth) -> PathBuf {
        self.directory.join(format!("d{:03}", depth.0))
    }

    /// The path of a layer file.
    pub fn path(&self, depth: Depth, shard: ShardId) -> PathBuf {
        self.layer_directory(depth).join(format!("s{:05}.layer", shard.0))
    }

    /// Makes room for a layer, and removes what an interrupted run left there unfinished.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the disk refuses.
    pub fn prepare(&self, depth: Depth) -> Result<(), LayerError> {
        let directory = self.layer_directory(depth);
        self.disk.create_directory(&directory).map_err(failed("create", &directory))?;
        for entry in fs::read_dir(&directory).map_err(failed("list", &directory))? {
            let path = entry.map_err(failed("list", &directory))?.path();
            if path.as_os_str().as_encoded_bytes().ends_with(TEMPORARY_SUFFIX.as_bytes()) {
                self.disk.remove(&path).map_err(failed("remove", &path))?;
            }
        }
        // The new directory's own name, and that of the directory which holds it.
        for directory in [&self.directory, self.directory.parent().unwrap_or(&self.directory)] {
            self.disk.sync_directory(directory).map_err(failed("sync", directory))?;
        }
        Ok(())
    }

    /// Begins the file of a task.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the disk refuses.
    pub fn writer(&self, job: &Job, task: Task) -> Result<LayerWriter<'d>, LayerError> {
        LayerWriter::create(
            self.disk,
            &self.path(task.depth, task.shard),
            job.identity(task.depth, task.shard),
        )
    }

    /// The report of a task whose file is there already; `None` if it is not.
    ///
    /// # Errors
    /// [`LayerError`] if there is a file but not the right one, whole.
    pub fn finished(&self, job: &Job, task: Task) -> Result<Option<ShardReport>, LayerError> {
        let path = self.path(task.depth, task.shard);
        if !path.try_exists().map_err(failed("look for", &path))? {
            return Ok(None);
        }
        let file = LayerFile::open(&path, &job.identity(task.depth, task.shard))?;
        let totals = file.totals();
        Ok(Some(ShardReport {
            task,
            stored: totals.stored,
            states: totals.states,
            pairs: job.fixed.is_some().then_some(totals.pairs),
            bytes: file.bytes(),
            checksums: file.checksums()?,
        }))
    }

    /// Opens a whole layer.
    ///
    /// # Errors
    /// [`LayerError`] if one of its files is missing, damaged or not the right one.
    pub fn open(&self, job: &Job, depth: Depth) -> Result<Layer, LayerError> {
        let files = job
            .cut
            .ids()
            .map(|shard| LayerFile::open(&self.path(depth, shard), &job.identity(depth, shard)))
            .collect::<Result<_, _>>()?;
        Ok(Layer::new(job.cut, files))
    }

    /// Deletes a layer; files that are gone already are no error.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the disk refuses.
    pub fn remove(&self, job: &Job, depth: Depth) -> Result<(), LayerError> {
        let ignore_missing = |result: io::Result<()>| match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        for shard in job.cut.ids() {
            let path = self.path(depth, shard);
            ignore_missing(self.disk.remove(&path)).map_err(failed("remove", &path))?;
        }
        let directory = self.layer_directory(depth);
        ignore_missing(self.disk.remove_directory(&directory)).map_err(failed("remove", &directory))
    }

    /// Compresses a layer that the search no longer reads. Returns its bytes.
    ///
    /// # Errors
    /// [`LayerError`] if it is damaged or the disk refuses.
    pub fn archive(&self, job: &Job, depth: Depth) -> Result<u64, LayerError> {
        job.cut
            .ids()
            .map(|shard| archive(self.disk, &self.path(depth, shard), &job.identity(depth, shard)))
            .sum()
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LayerError {
    move |source| LayerError::Io { action, path: path.into(), source }
}
