//! The interface of a coset kernel: it collects the states that moves bring into one coset, and removes known
//! states.

use fathom_space::{AxisMap, Transform};

/// Readable bytes that follow a dense tensor at least, so that a row can be loaded as whole words.
pub const SLACK_BYTES: usize = 8;

/// The states of one coset, as they lie in a layer file.
#[derive(Clone, Copy, Debug)]
pub enum Bits<'a> {
    /// No states.
    Empty,
    /// Positions in increasing order, 32 bits each, little-endian.
    Sparse(&'a [u8]),
    /// The packed tensor (see [`fathom_space::Shape`]), followed by at least [`SLACK_BYTES`] bytes of any
    /// content.
    Dense(&'a [u8]),
}

impl<'a> Bits<'a> {
    /// Returns the positions of sparse bits.
    pub(crate) fn positions(bytes: &'a [u8]) -> impl Iterator<Item = u32> {
        bytes.chunks_exact(4).map(|p| u32::from_le_bytes(p.try_into().expect("chunks of four")))
    }
}

/// Collects the states of one coset of a new layer. Each thread has its own kernel.
///
/// The transforms given to one kernel must come from one [`fathom_space::Transforms`], whose maps are passed
/// along: kernels cache what they derive from a map under the map's number.
pub trait Kernel {
    /// Forgets all states.
    fn clear(&mut self);

    /// Announces the source of the pull after the next one, so that its bytes can be prefetched during the
    /// next pull.
    fn expect(&mut self, _later: Bits<'_>) {}

    /// Adds the states to which `transform` carries the states of `source`.
    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]);

    /// Removes the states of `known`.
    fn subtract(&mut self, known: Bits<'_>);

    /// Overwrites `packed` with the packed tensor, and returns the number of states. The length of `packed`
    /// must be [`fathom_space::Shape::packed_bytes`].
    fn pack(&mut self, packed: &mut [u8]) -> u32;
}
