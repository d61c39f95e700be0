//! A shape of Square-1 as text: the pieces of the top layer, a slash, and the pieces of the bottom
//! layer. A corner is 2 and an edge is 1, clockwise seen from outside the layer, beginning at the cut in
//! front. The solved shape is `21212121/12121212`.

use super::{Layer, UNITS};
use std::fmt;
use std::str::FromStr;

/// The number of corners in both layers.
const CORNERS: u32 = 8;

/// The units that corners and edges take. Edges are on all units that no corner takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Outline {
    /// For the top layer and the bottom layer, a bit for each unit on which a corner begins.
    corners: [u16; 2],
}

/// Why a text is not a shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutlineError {
    /// The text is not two rows of the digits 1 and 2.
    #[error(
        "{0:?} is not a shape: write the pieces of both layers, 2 for a corner and 1 for an edge, clockwise from the cut in front, for example 21212121/12121212"
    )]
    Form(String),
    /// The pieces of a layer do not fill the circle.
    #[error(
        "the {layer} layer {pieces:?} takes {units} times 30 degrees, not 12: a corner takes two, an edge one"
    )]
    Units {
        /// `top` or `bottom`.
        layer: &'static str,
        /// The pieces of the layer, as written.
        pieces: String,
        /// The number of units that the pieces take.
        units: usize,
    },
    /// The number of corners is wrong.
    #[error("{text:?} has {corners} corners, but the puzzle has 8")]
    Corners {
        /// The shape as written.
        text: String,
        /// The number of corners.
        corners: u32,
    },
}

impl Outline {
    /// Creates an outline. `is_corner` returns whether a corner is on a corner cell; the cells of the top
    /// layer come first, then those of the bottom layer.
    pub(super) fn new(is_corner: impl Fn(usize) -> bool) -> Self {
        let of = |layer: usize| {
            (0..UNITS).filter(|unit| is_corner(layer * UNITS + unit)).fold(0, |bits, unit| bits | 1 << unit)
        };
        Self { corners: [of(0), of(1)] }
    }

    /// Returns the pieces of a layer, clockwise seen from outside the layer: for each the unit on which the
    /// piece begins, and whether it is a corner. The first piece is the first that begins at the cut in front
    /// or after the cut.
    pub fn pieces(self, layer: Layer) -> Vec<(usize, bool)> {
        let corners = self.corners[layer as usize];
        let is_corner = |unit: usize| corners >> (unit % UNITS) & 1 == 1;
        // No piece begins on the second unit of a corner.
        let begins = |unit: &usize| !is_corner(unit + UNITS - 1);
        let units = (0..UNITS).map(|unit| (unit + front(layer)) % UNITS);
        units.filter(begins).map(|unit| (unit, is_corner(unit))).collect()
    }

    /// Returns whether no corner lies across the cut in front.
    pub fn is_aligned(self) -> bool {
        let before = |layer: Layer| (front(layer) + UNITS - 1) % UNITS;
        [Layer::Top, Layer::Bottom]
            .into_iter()
            .all(|layer| self.corners[layer as usize] >> before(layer) & 1 == 0)
    }
}

/// Returns the unit that begins at the cut in front.
fn front(layer: Layer) -> usize {
    match layer {
        Layer::Top => UNITS / 2,
        Layer::Bottom => 0,
    }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = |layer| -> String {
            let pieces = self.pieces(layer).into_iter();
            pieces.map(|(_, is_corner)| if is_corner { '2' } else { '1' }).collect()
        };
        write!(f, "{}/{}", written(Layer::Top), written(Layer::Bottom))
    }
}

impl FromStr for Outline {
    type Err = OutlineError;

    fn from_str(text: &str) -> Result<Self, OutlineError> {
        let form = || OutlineError::Form(text.into());
        let is_row = |row: &str| !row.is_empty() && row.bytes().all(|byte| byte == b'1' || byte == b'2');
        let (top, bottom) = text.split_once('/').ok_or_else(form)?;
        if !is_row(top) || !is_row(bottom) {
            return Err(form());
        }
        let mut corners = [0_u16; 2];
        for (layer, name, row) in [(Layer::Top, "top", top), (Layer::Bottom, "bottom", bottom)] {
            let units: usize = row.bytes().map(|byte| usize::from(byte - b'0')).sum();
            if units != UNITS {
                return Err(OutlineError::Units { layer: name, pieces: row.into(), units });
            }
            let mut unit = front(layer);
            for byte in row.bytes() {
                if byte == b'2' {
                    corners[layer as usize] |= 1 << (unit % UNITS);
                }
                unit += usize::from(byte - b'0');
            }
        }
        match corners.iter().map(|bits| bits.count_ones()).sum() {
            CORNERS => Ok(Self { corners }),
            corners => Err(OutlineError::Corners { text: text.into(), corners }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn solved_shape_starts_at_the_cut() {
        let solved: Outline = "21212121/12121212".parse().unwrap();
        assert_eq!(solved.to_string(), "21212121/12121212");
        assert!(solved.is_aligned());
        // Corners are on the units 0 and 1, 3 and 4 and so on in the top layer, and one unit later in the
        // bottom layer.
        assert_eq!(solved, Outline::new(|cell| cell % 3 == cell / UNITS));
    }

    #[test]
    fn invalid_shapes_are_rejected() {
        for (text, says) in [
            ("", "\"\" is not a shape: write"),
            ("2121", "\"2121\" is not a shape"),
            ("21212121/1212121x", "is not a shape"),
            ("2121212/12121212", "the top layer \"2121212\" takes 11 times 30 degrees, not 12"),
            ("21212121/121212121", "the bottom layer \"121212121\" takes 13 times"),
            ("222222/222222", "\"222222/222222\" has 12 corners, but the puzzle has 8"),
        ] {
            let error = text.parse::<Outline>().unwrap_err().to_string();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_rejected(text in "\\PC*|[12/]{0,20}") {
            if let Ok(outline) = text.parse::<Outline>() {
                prop_assert_eq!(outline.to_string(), text);
            }
        }
    }
}
