//! The usual colours of the faces of a cube, and of Square-1.

use fathom_puzzle::family::square1::Side;

pub(crate) const TOP: &str = "#f7f7f2";
pub(crate) const BOTTOM: &str = "#f3d43b";
pub(crate) const LEFT: &str = "#f08a24";
pub(crate) const FRONT: &str = "#3aa655";
pub(crate) const RIGHT: &str = "#d43d3d";
pub(crate) const BACK: &str = "#3b73c8";

/// Returns the colour of a side.
pub(crate) fn of(side: Side) -> &'static str {
    match side {
        Side::Left => LEFT,
        Side::Front => FRONT,
        Side::Right => RIGHT,
        Side::Back => BACK,
    }
}
