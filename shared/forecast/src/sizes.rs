//! The sizes of a layer, coset by coset, and where these sizes come from.

use serde::Serialize;

/// The source of the growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GrowthSource {
    /// The space was searched: all sizes are real.
    Measured,
    /// The number of states at each depth is known; their spread over the cosets is modelled.
    Known,
    /// The first depths were counted, the others are modelled.
    Modelled,
}

/// The properties of a layer on which the costs of a search depend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerSizes {
    /// The number of states.
    pub states: f64,
    /// The size of each coset.
    pub cosets: Vec<CosetSize>,
}

/// The part of a layer in one coset. In a model these numbers are means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CosetSize {
    /// Stored states.
    pub states: f32,
    /// States of the coset that are neither in this layer nor in an earlier one.
    pub left: f32,
    /// Bytes of the coset's data in a layer file, and in a chunk before compression.
    pub data_bytes: f32,
    /// Compressed bytes of the coset's header and data.
    pub sent_bytes: f32,
}
