//! Maps from the indices of one axis to those of another.

/// A bijection from the indices of one axis to those of another of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisMap {
    /// The image of each index.
    pub to: Box<[u32]>,
    /// The preimage of each index.
    pub from: Box<[u32]>,
}

impl AxisMap {
    /// Creates the map that sends index i to `to[i]`.
    ///
    /// # Panics
    /// If `to` is not a bijection.
    pub fn new(to: Vec<u32>) -> Self {
        let mut from = vec![u32::MAX; to.len()];
        for (index, &image) in to.iter().enumerate() {
            from[image as usize] = index as u32;
        }
        assert!(!from.contains(&u32::MAX), "an axis map is a bijection");
        Self { to: to.into(), from: from.into() }
    }
}
