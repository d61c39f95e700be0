//! Errors as Python sees them, and computations that Ctrl-C ends.

use fathom_command::exit::{BadInput, without_numbers};
use fathom_engine::run::error::is_bad_input;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The interval at which signals are noticed.
const TICK: Duration = Duration::from_millis(100);

/// Returns whether an error asks for other arguments.
pub(crate) fn is_users(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<BadInput>() || is_bad_input(cause))
}

/// Returns a `ValueError` for bad input, and a `RuntimeError` for anything else.
pub(crate) fn failed(error: anyhow::Error) -> PyErr {
    let text = without_numbers(format!("{error:#}"));
    match is_users(&error) {
        true => PyValueError::new_err(text),
        false => PyRuntimeError::new_err(text),
    }
}

/// Computes in another thread without the GIL. A signal whose handler raises an exception, as that of Ctrl-C does, sets
/// `stop`, and the exception is raised when the computation has ended.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (ended, ends) = channel();
            let working = scope.spawn(move || {
                let result = work();
                let _ = ended.send(());
                result
            });
            let mut raised = None;
            while ends.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
            let result = working.join().unwrap_or_else(|_| Err(anyhow::anyhow!("this is a bug in fathom")));
            raised.map_or_else(|| result.map_err(failed), Err)
        })
    })
}
