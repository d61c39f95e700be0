//! The text of `--version`.

use fathom_kernel::SimdLevel;

/// Returns the version, the commit and target that the program was built for, and the kernels that run on
/// this machine.
pub fn long() -> String {
    let words: Vec<&str> =
        SimdLevel::ALL.iter().filter(|level| level.is_supported()).map(|level| level.as_str()).collect();
    format!(
        "{} ({}, {})\nkernels on this machine: {}",
        env!("CARGO_PKG_VERSION"),
        env!("FATHOM_BUILT_FROM"),
        env!("FATHOM_TARGET"),
        words.join(", ")
    )
}
