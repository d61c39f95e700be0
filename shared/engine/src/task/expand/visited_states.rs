//! The states that a task subtracts: those that were visited before its depth.

use crate::run::Task;
use crate::task::layer::{Copied, bits};
use crate::task::union::OfTask;
use crate::task::{Expander, Layer, TaskError};
use fathom_kernel::Kernel;
use fathom_layer::{LayerError, ReadAhead};
use fathom_space::CosetId;

/// The states that were visited before a task's depth.
pub(super) struct VisitedStates<'a> {
    /// The layers that the task reads, the newest first.
    layers: &'a [&'a Layer],
    second: Second<'a>,
    /// The union of these layers, if there is one.
    union: Option<OfTask<'a>>,
}

/// The place from which a task reads its shard of the second layer.
enum Second<'a> {
    /// In the map of the file.
    Mapped,
    /// In buffers that bypass the page cache.
    Ahead(ReadAhead),
    /// In a copy of the one coset that is computed.
    Copied(&'a Copied),
}

impl<'a> VisitedStates<'a> {
    /// Starts to read the states visited before a task's depth. If `direct_io` is given, the second layer is
    /// read from its disk bypassing the page cache, with buffers of that many bytes.
    pub(super) fn begin<'j: 'a>(
        expander: &Expander<'j>,
        task: Task,
        layers: &'a [&'a Layer],
        direct_io: Option<usize>,
    ) -> Result<Self, TaskError> {
        let job = expander.job;
        let union = match &job.union {
            Some(union) if layers.len() > 1 => union.of_task(task.shard, layers)?,
            _ => None,
        };
        let ahead = match direct_io {
            Some(buffer_bytes) if union.is_none() => expander.ahead(task, layers, buffer_bytes)?,
            _ => None,
        };
        let second = ahead.map_or(Second::Mapped, Second::Ahead);
        Ok(Self { layers, second, union })
    }

    /// Prepares these states for one coset, with a copy of that coset in the second layer if there is one.
    pub(super) fn of_coset(layers: &'a [&'a Layer], copied: Option<&'a Copied>) -> Self {
        Self { layers, second: copied.map_or(Second::Mapped, Second::Copied), union: None }
    }

    /// Returns the layers that the task reads, the newest first.
    pub(super) fn layers(&self) -> &'a [&'a Layer] {
        self.layers
    }

    /// Removes these states of a coset from those that a kernel has collected.
    pub(super) fn subtract_from(&mut self, kernel: &mut dyn Kernel, coset: CosetId) -> Result<(), TaskError> {
        match &self.union {
            Some(union) => kernel.subtract(union.coset(coset)),
            None => {
                for (number, layer) in self.layers.iter().enumerate() {
                    let stored = match &mut self.second {
                        Second::Copied(copied) if number == 1 => {
                            kernel.subtract(copied.bits());
                            continue;
                        }
                        Second::Ahead(ahead) if number == 1 => ahead.coset(coset.0)?,
                        _ => layer.coset(coset)?,
                    };
                    kernel.subtract(bits(&stored));
                }
            }
        }
        Ok(())
    }
}

impl Expander<'_> {
    /// Starts to read the second layer from its disk, bypassing the page cache, with buffers of that many
    /// bytes.
    pub(super) fn ahead(
        &self,
        task: Task,
        before: &[&Layer],
        buffer_bytes: usize,
    ) -> Result<Option<ReadAhead>, LayerError> {
        let [newest, older, ..] = before else {
            return Ok(None);
        };
        let states_per_coset = self.job.graph.states_per_coset();
        let full =
            |coset| newest.states(coset).is_ok_and(|(_, visited)| u64::from(visited) >= states_per_coset);
        older.read_ahead(self.store.disk(), task.shard, buffer_bytes, |coset| !full(coset))
    }
}
