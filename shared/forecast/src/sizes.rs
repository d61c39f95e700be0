//! How large a layer is, coset by coset, and where these sizes come from.

use serde::Serialize;

/// The source of the growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GrowthSource {
    /// The space was searched: all sizes are real.
    Measured,
    /// The number of states at each depth is known; how they spread over the cosets is modelled.
    Known,
    /// The first depths were counted, the others are modelled.
    Modelled,
}

/// A layer as far as the costs of a search depend on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerSizes {
    /// Its states.
    pub states: f64,
    /// The size of each coset.
    pub cosets: Vec<CosetSize>,
}

/// What a layer has of one coset. Of a model these are means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CosetSize {
    /// Stored states.
    pub states: f32,
    /// States of the coset that neither this layer nor one before it has.
    pub left: f32,
    /// Bytes of its data in a layer file, and in a chunk before compression.
    pub data_bytes: f32,
    /// Bytes of its header and data, compressed.
    pub sent_bytes: f32,
}
