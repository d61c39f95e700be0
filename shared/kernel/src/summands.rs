//! The kernel for tensors that are direct sums ([`fathom_space::Shape`]): a kernel for one summand, which is
//! lent the states of one summand after the other.
//!
//! A transform carries each summand of the source to one of the target, by maps of its own along the axes. So
//! a pull of a tensor is a pull of each of its summands, with everything that the kernel derives from maps
//! shared by all. A state of the source is carried by the maps of its summand, because each summand is packed
//! by itself. While one summand is pulled the next one is prefetched.

use crate::kernel::{Bits, Kernel, SLACK_BYTES};
use fathom_space::{AxisMap, Shape, Transform};

/// A kernel whose states can be exchanged for those of another coset.
pub(crate) trait Lent: Kernel {
    /// The states of a coset.
    type States: Send;

    /// Returns the states of a coset without states.
    fn no_states(&self) -> Self::States;

    /// Returns the states collected so far.
    fn states(&mut self) -> &mut Self::States;
}

/// Returns the kernel for a shape from that for its summands.
pub(crate) fn of_summands<K: Lent + Send + 'static>(shape: &Shape, kernel: K) -> Box<dyn Kernel + Send> {
    match shape.summands() {
        1 => Box::new(kernel),
        _ => Box::new(Summands::new(shape, kernel)),
    }
}

struct Summands<K: Lent> {
    kernel: K,
    /// The states of each summand.
    states: Vec<K::States>,
    /// The size of a packed summand.
    bytes: usize,
    /// The transform of a summand.
    transform: Transform,
    /// The positions of a sparse source in one of its summands.
    sparse: Vec<u8>,
}

impl<K: Lent> Summands<K> {
    fn new(shape: &Shape, kernel: K) -> Self {
        Self {
            states: (0..shape.summands()).map(|_| kernel.no_states()).collect(),
            bytes: (shape.packed_bytes() / shape.summands()) as usize,
            kernel,
            transform: Transform::default(),
            sparse: Vec::new(),
        }
    }

    /// Calls `work` for each summand with the kernel that has its states, and the summand of `bits`.
    fn each(&mut self, bits: Bits<'_>, mut work: impl FnMut(&mut K, usize, Bits<'_>)) {
        for (summand, states) in self.states.iter_mut().enumerate() {
            std::mem::swap(self.kernel.states(), states);
            work(&mut self.kernel, summand, part(bits, summand, self.bytes, &mut self.sparse));
            std::mem::swap(self.kernel.states(), states);
        }
    }
}

/// Returns a summand of a tensor whose summands have `bytes` bytes each. The positions of a sparse one are
/// written to `sparse`.
fn part<'a>(bits: Bits<'a>, summand: usize, bytes: usize, sparse: &'a mut Vec<u8>) -> Bits<'a> {
    match bits {
        Bits::Empty => Bits::Empty,
        Bits::Dense(packed) => Bits::Dense(&packed[summand * bytes..][..bytes + SLACK_BYTES]),
        Bits::Sparse(positions) => {
            let (start, length) = ((summand * bytes * 8) as u32, (bytes * 8) as u32);
            let first = positions.as_chunks::<4>().0.partition_point(|&at| u32::from_le_bytes(at) < start);
            let here = Bits::positions(&positions[4 * first..]).map(|position| position - start);
            sparse.clear();
            sparse.extend(here.take_while(|&position| position < length).flat_map(u32::to_le_bytes));
            if sparse.is_empty() { Bits::Empty } else { Bits::Sparse(sparse) }
        }
    }
}

impl<K: Lent> Kernel for Summands<K> {
    fn drop_maps(&mut self) {
        self.kernel.drop_maps();
    }

    fn map_bytes(&self) -> usize {
        self.kernel.map_bytes()
    }

    fn clear(&mut self) {
        self.each(Bits::Empty, |kernel, _, _| kernel.clear());
    }

    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        self.transform.target.clone_from(&transform.target);
        for (summand, target, along) in transform.of_summands() {
            self.transform.maps.clear();
            self.transform.maps.extend_from_slice(along);
            let summand = summand as usize;
            if let Bits::Dense(_) = source
                && summand + 1 < self.states.len()
            {
                self.kernel.expect(part(source, summand + 1, self.bytes, &mut self.sparse));
            }
            let here = part(source, summand, self.bytes, &mut self.sparse);
            std::mem::swap(self.kernel.states(), &mut self.states[target as usize]);
            self.kernel.pull(here, &self.transform, maps);
            std::mem::swap(self.kernel.states(), &mut self.states[target as usize]);
        }
    }

    fn subtract(&mut self, known: Bits<'_>) {
        self.each(known, |kernel, _, known| kernel.subtract(known));
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        let bytes = self.bytes;
        let mut states = 0;
        self.each(Bits::Empty, |kernel, summand, _| {
            states += kernel.pack(&mut packed[summand * bytes..][..bytes]);
        });
        states
    }
}
