//! Converts errors of this worker's disks to failures for the coordinator.

use fathom_engine::task::Store;
use fathom_engine::task::error::chain;
use fathom_layer::LayerError;
use fathom_proto::Failure;

/// Returns the failure of an order that cannot read or write a file here. If one of several stores is at
/// fault, the failure says which one, because the others go on.
pub fn of_disk(store: &Store<'_>, error: &LayerError) -> Failure {
    let (message, is_full) = (chain(error), error.is_disk_full());
    let stores = store.stores().directories().len();
    match store.number_at(error.path()).filter(|_| stores > 1) {
        Some(number) => Failure::Store { number: number as u32, stores: stores as u32, is_full, message },
        None if is_full => Failure::DiskFull(message),
        None => Failure::Other(message),
    }
}
