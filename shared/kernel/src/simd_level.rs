//! The choice of a coset kernel.

use crate::kernel::Kernel;
use crate::portable::portable;
use fathom_space::Shape;

/// The instruction set of a coset kernel. All levels compute the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimdLevel {
    /// Plain code.
    Portable,
    /// NEON, on 64-bit Arm.
    Neon,
    /// AVX2.
    Avx2,
    /// AVX-512 with VBMI, and GFNI.
    Avx512,
}

impl SimdLevel {
    /// All levels, the fastest last.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// The fastest level that is built for this architecture.
    pub const FASTEST: Self = if cfg!(target_arch = "x86_64") {
        Self::Avx512
    } else if cfg!(target_arch = "aarch64") {
        Self::Neon
    } else {
        Self::Portable
    };

    /// Returns the name of the level on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Creates a kernel for tensors of a shape; `None` if this processor lacks the
    /// instructions, or the level has no kernel for the shape.
    pub fn kernel(self, shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
        match self {
            Self::Portable => Some(portable(shape)),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => crate::shuffle::avx2(shape),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => crate::avx512::avx512(shape),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => crate::shuffle::neon(shape),
            #[allow(unreachable_patterns, reason = "each architecture has levels that others lack")]
            _ => None,
        }
    }

    /// Returns whether this processor has the instructions of the level.
    pub fn is_supported(self) -> bool {
        // Every level has a kernel for this shape.
        let shape = Shape::new(&[24, 24, 24]).expect("13,824 bits are a tensor");
        self.kernel(&shape).is_some()
    }

    /// Returns the fastest level that this processor supports.
    pub fn of_processor() -> Self {
        Self::ALL.into_iter().rfind(|level| level.is_supported()).expect("the portable level needs nothing")
    }

    /// Returns the fastest level for a shape on this processor.
    pub fn fastest(shape: &Shape) -> Self {
        let usable = |level: &Self| level.kernel(shape).is_some();
        Self::ALL.into_iter().rfind(usable).expect("the portable level does all shapes")
    }
}
