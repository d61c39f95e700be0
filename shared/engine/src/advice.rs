//! Advice on faults that both engines meet.

use crate::run::Depth;

/// Returns the advice for a file that is larger than files may be.
pub(crate) fn file_limit(depth: Depth, path: &str) -> String {
    format!(
        "a file of depth {depth} is larger than this process may write, or than its file system allows; raise the limit ('ulimit -f unlimited') or use another disk, then continue with 'fathom resume {path}'"
    )
}
