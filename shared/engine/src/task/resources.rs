//! The limits of a process, and the kernel that it uses.

use anyhow::Result;
use fathom_command::bad_input;
use fathom_kernel::SimdLevel;
use fathom_space::Shape;
use std::fmt;

/// The resources that a process may use for its tasks.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// The kernel.
    pub kernel: Kernel,
    /// The number of kernel threads.
    pub threads: usize,
    /// The memory budget in bytes: tables and tensors take their part, and the rest is for layers in the
    /// page cache.
    pub memory_bytes: u64,
    /// The last depth that will be requested, if that is known. It saves the reference kernel work.
    pub max_depth: Option<u32>,
}

/// The user's choice of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// The plain breadth-first search in memory, which checks all others.
    Reference,
    /// This engine, which pulls cosets.
    Cosets(SimdLevel),
    /// The fastest engine for the shape of the cosets on this processor.
    #[default]
    Fastest,
}

impl std::str::FromStr for Kernel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let engine = SimdLevel::ALL.into_iter().find(|engine| engine.as_str() == text);
        match (text, engine) {
            ("reference", _) => Ok(Self::Reference),
            ("fastest", _) => Ok(Self::Fastest),
            (_, Some(engine)) => Ok(Self::Cosets(engine)),
            _ => Err(format!(
                "expected 'fastest', 'avx512', 'avx2', 'neon', 'portable' or 'reference', not {text:?}"
            )),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reference => "reference",
            Self::Cosets(engine) => engine.as_str(),
            Self::Fastest => "fastest",
        })
    }
}

impl Kernel {
    /// Returns the engine for cosets of a shape. The reference kernel pulls no cosets; the portable engine
    /// stands in for it.
    ///
    /// # Errors
    /// [`fathom_command::exit::BadInput`] if the chosen engine does not support the shape on this processor.
    pub fn engine(self, shape: &Shape) -> Result<SimdLevel> {
        match self {
            Self::Reference => Ok(SimdLevel::Portable),
            Self::Fastest => Ok(SimdLevel::fastest(shape)),
            Self::Cosets(engine) => engine.kernel(shape).map(|_| engine).ok_or_else(|| {
                let axes: Vec<String> = shape.lengths().iter().map(u32::to_string).collect();
                bad_input!(
                    "the kernel '{}' does not support cosets of {} on this processor. Drop --kernel",
                    engine.as_str(),
                    axes.join(" x ")
                )
            }),
        }
    }
}
