//! Converts errors of this worker's disks to failures for the coordinator.

use fathom_engine::task::error::chain;
use fathom_layer::LayerError;
use fathom_proto::Failure;

/// Returns the failure of a command that cannot read or write a file here.
pub fn of_disk(error: &LayerError) -> Failure {
    let message = chain(error);
    if error.is_disk_full() { Failure::DiskFull(message) } else { Failure::Other(message) }
}
