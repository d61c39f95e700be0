//! The vector operations with which the algorithm on byte planes is written, and their instances.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;

/// Work that is compiled for the instructions of a vector.
pub(super) trait Work {
    type Output;

    /// Does the work.
    ///
    /// # Safety
    /// The processor must have the instructions of the vector.
    unsafe fn run<V: Slot>(self) -> Self::Output;
}

/// A register of bytes, in *lanes* of 16. Only [`Vector::load_lanes`] and [`Vector::splat`] make vectors, and
/// they require that the processor has the instructions; so every other operation is safe.
pub(super) trait Vector: Copy {
    /// The bytes of a vector.
    const BYTES: usize;

    /// Loads 16 bytes for each lane, those of lane n at `n * stride` bytes from the start.
    ///
    /// # Safety
    /// The bytes must be readable, and the processor must have the instructions.
    unsafe fn load_lanes(from: *const u8, stride: usize) -> Self;

    /// Stores each lane, lane n at `n * stride` bytes from the start.
    ///
    /// # Safety
    /// The bytes must be writable.
    unsafe fn store_lanes(self, to: *mut u8, stride: usize);

    /// Returns a vector of equal bytes.
    ///
    /// # Safety
    /// The processor must have the instructions.
    unsafe fn splat(byte: u8) -> Self;

    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Returns the bits that are not in `other`.
    fn without(self, other: Self) -> Self;
    /// Shifts words of 64 bits.
    fn right<const BITS: i32>(self) -> Self;
    /// Shifts words of 64 bits.
    fn left<const BITS: i32>(self) -> Self;
    /// Returns, for each byte of `index`, the byte of the same lane with that number, or zero if the number
    /// has its highest bit set.
    fn shuffle(self, index: Self) -> Self;

    /// Loads a whole vector.
    ///
    /// # Safety
    /// As for [`Vector::load_lanes`].
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::load_lanes(from, LANE) }
    }

    /// Loads 16 bytes into all lanes.
    ///
    /// # Safety
    /// As for [`Vector::load_lanes`].
    #[inline(always)]
    unsafe fn load_copies(from: *const u8) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::load_lanes(from, 0) }
    }

    /// Stores a whole vector.
    ///
    /// # Safety
    /// As for [`Vector::store_lanes`].
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { self.store_lanes(to, LANE) }
    }
}

/// The bytes of a lane.
pub(super) const LANE: usize = 16;

/// A vector of two lanes, as long as a slot.
pub(super) trait Slot: Vector {
    /// A vector for work on bytes in sequence, as long as the processor has.
    type Long: Vector;

    /// Does work, compiled for the instructions of this vector.
    ///
    /// # Safety
    /// The processor must have the instructions.
    unsafe fn compiled<W: Work>(work: W) -> W::Output;

    /// Loads four words of eight bytes.
    ///
    /// # Safety
    /// The words must be readable, and the processor must have the instructions.
    unsafe fn load_words(from: [*const u8; 4]) -> Self;

    /// Interleaves units of `UNIT` bytes of the first half of each lane with those of `other`.
    fn interleave_low<const UNIT: usize>(self, other: Self) -> Self;
    /// Interleaves units of `UNIT` bytes of the second half of each lane with those of `other`.
    fn interleave_high<const UNIT: usize>(self, other: Self) -> Self;
    /// Returns the first lanes of both vectors.
    fn first_lanes(self, other: Self) -> Self;
    /// Returns the second lanes of both vectors.
    fn second_lanes(self, other: Self) -> Self;
    /// Returns the bytes of this vector where the highest bit of `by` is set, and those of `other` elsewhere.
    fn select(self, other: Self, by: Self) -> Self;
    /// Returns the bytes that are equal in both vectors, as bits.
    fn equal(self, other: Self) -> u32;
}
