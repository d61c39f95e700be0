//! Rubik's cube by its stickers.

/// The 48 stickers of corners and edges: the coordinates of the cubie, which are -1, 0 or 1, and the axis along which the sticker
/// faces.
pub(super) struct Stickers(pub(super) Vec<([i8; 3], usize)>);

impl Stickers {
    pub(super) fn new() -> Self {
        let mut stickers = Vec::new();
        for number in 0..27_i8 {
            let cubie = [number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1];
            if cubie.iter().filter(|&&at| at != 0).count() > 1 {
                stickers.extend((0..3).filter(|&axis| cubie[axis] != 0).map(|axis| (cubie, axis)));
            }
        }
        Self(stickers)
    }

    /// Returns, for each sticker, the one that comes there if the cubies at `sides` of an axis make a quarter turn about it.
    pub(super) fn quarter(&self, axis: usize, sides: &[i8]) -> Vec<usize> {
        let (one, other) = ((axis + 1) % 3, (axis + 2) % 3);
        let from = |&(cubie, along): &([i8; 3], usize)| {
            let (mut from, mut side) = (cubie, along);
            if sides.contains(&cubie[axis]) {
                (from[one], from[other]) = (-cubie[other], cubie[one]);
                side = if along == axis { axis } else { one + other - along };
            }
            self.0.iter().position(|&at| at == (from, side)).expect("a turn carries stickers to stickers")
        };
        self.0.iter().map(from).collect()
    }
}
