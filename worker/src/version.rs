//! The text of `--version`.

use fathom_kernel::SimdLevel;
use fathom_space::Shape;

/// Returns the version, the commit and target that the program was built for, and the kernels that run on
/// this machine.
pub fn long() -> String {
    // Every kernel supports the shape of 3x4, so only the processor matters.
    let shape = Shape::new(&[24, 24, 24]).expect("13,824 bits are a tensor");
    let here = |level: &SimdLevel| level.kernel(&shape).is_some();
    let words: Vec<&str> =
        SimdLevel::ALL.iter().filter(|level| here(level)).map(|level| level.as_str()).collect();
    format!(
        "{} ({}, {})\nkernels on this machine: {}",
        env!("CARGO_PKG_VERSION"),
        env!("FATHOM_BUILT_FROM"),
        env!("FATHOM_TARGET"),
        words.join(", ")
    )
}
