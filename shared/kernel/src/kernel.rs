//! What a coset kernel does: collect what moves bring into one coset, and take away what is known already.

use fathom_space::{AxisMap, Transform};

/// A dense tensor is followed by at least so many readable bytes, so that a row can be loaded as whole words.
pub const SLACK_BYTES: usize = 8;

/// The states of one coset, as they lie in a layer file.
#[derive(Clone, Copy, Debug)]
pub enum Bits<'a> {
    /// None.
    Empty,
    /// Positions in increasing order, 32 bits each, little-endian.
    Sparse(&'a [u8]),
    /// The packed tensor (see [`fathom_space::Shape`]) and behind it at least [`SLACK_BYTES`] bytes of any
    /// content.
    Dense(&'a [u8]),
}

impl<'a> Bits<'a> {
    /// The positions of sparse bits.
    pub(crate) fn positions(bytes: &'a [u8]) -> impl Iterator<Item = u32> {
        bytes.chunks_exact(4).map(|p| u32::from_le_bytes(p.try_into().expect("chunks of four")))
    }
}

/// Collects the states of one coset of a new layer. One kernel for each thread.
///
/// The transforms given to one kernel come from one [`fathom_space::Transforms`], whose maps are passed
/// along: what a kernel makes of a map it keeps under the map's number.
pub trait Kernel {
    /// Forgets all states.
    fn clear(&mut self);

    /// Tells what will be pulled after the next pull, so that its bytes can be on their way while that one is
    /// computed.
    fn expect(&mut self, _later: Bits<'_>) {}

    /// Adds the states into which `transform` carries those of `source`.
    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]);

    /// Removes the states of `known`.
    fn subtract(&mut self, known: Bits<'_>);

    /// Writes the packed tensor over `packed`, which is as long as [`fathom_space::Shape::packed_bytes`], and
    /// returns the number of states.
    fn pack(&mut self, packed: &mut [u8]) -> u32;
}
