//! The interface of a coset kernel: it collects the states that moves bring into one coset, and removes known
//! states.

use fathom_space::{AxisMap, Transform};

/// The minimum number of readable bytes after a dense tensor, so that a row can be loaded as whole words.
pub const SLACK_BYTES: usize = 8;

/// The states of one coset, as stored in a layer file.
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
/// A kernel on a device with memory of its own may take many cosets at a time: its [`batch`](Kernel::batch)
/// is the number of cosets that are cleared, pulled and subtracted before the first of them is packed. Such a
/// kernel copies its inputs, because sources are borrowed only for one call.
///
/// The transforms given to one kernel must come from one [`fathom_space::Transforms`], whose maps are passed
/// along: kernels cache what they derive from a map under the map's number, until
/// [`drop_maps`](Kernel::drop_maps).
pub trait Kernel {
    /// Returns the largest number of cosets that may be started before the first of them is
    /// [packed](Kernel::pack).
    fn batch(&self) -> usize {
        1
    }

    /// Discards the cosets that were started and not packed. Kernels with a batch of 1 do so when the next
    /// one is started.
    fn forget(&mut self) {}

    /// Drops everything derived from axis maps, because their numbers refer to other maps from now on.
    /// Earlier pulls referred to the old maps.
    fn drop_maps(&mut self) {}

    /// Returns the bytes that were derived from axis maps, besides those that
    /// [`fathom_space::Transforms::bytes`] counts for each map.
    fn map_bytes(&self) -> usize {
        0
    }

    /// Starts a coset without states. If the [batch](Kernel::batch) is 1, discards the previous coset.
    fn clear(&mut self);

    /// Announces the source of the pull after the next one, so that its bytes can be prefetched during the
    /// next pull.
    fn expect(&mut self, _later: Bits<'_>) {}

    /// Adds the states to which `transform` carries the states of `source`.
    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]);

    /// Removes the states of `known`.
    fn subtract(&mut self, known: Bits<'_>);

    /// Overwrites `packed` with the packed tensor, and returns the number of states. The length of `packed`
    /// must be [`fathom_space::Shape::packed_bytes`]. If the [batch](Kernel::batch) is 1, the tensor is that
    /// of the coset so far, which may change and be packed again; otherwise each coset is packed once, in the
    /// order in which the cosets were started.
    fn pack(&mut self, packed: &mut [u8]) -> u32;
}
