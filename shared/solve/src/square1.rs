//! Writes sequences of Square-1, as in `(1,0)/(3,-3)/`.

use fathom_algebra::OrientedPermutation;
use fathom_puzzle::Definition;
use fathom_puzzle::family::square1::{Layer, Sequence, Turn};
use std::collections::HashMap;

/// The turns of the layers, singly and in pairs, and the twist, by their actions.
#[derive(Clone, Debug)]
pub struct SquareOne {
    turns: HashMap<OrientedPermutation, Vec<Turn>>,
}

impl SquareOne {
    /// Returns the table for a puzzle whose moves and free moves are all turns of layers and twists of
    /// Square-1, by name and action; `None` for other puzzles.
    pub fn new(definition: &Definition) -> Option<Self> {
        let twist = Turn::Twist.action();
        if definition.orientation_counts() != twist.orientation_counts() {
            return None;
        }
        let pairs = (0..12).flat_map(|x| (0..12).map(move |y| [(Layer::Top, x), (Layer::Bottom, y)]));
        let product = |turns: &Vec<Turn>| {
            let one = OrientedPermutation::identity(twist.orientation_counts());
            turns.iter().fold(one, |product, turn| product.then(&turn.action()))
        };
        let turned = pairs.map(|pair| {
            pair.into_iter().filter_map(|(layer, units)| Turn::of_layer(layer, units)).collect::<Vec<_>>()
        });
        let turns: HashMap<_, _> =
            turned.chain([vec![Turn::Twist]]).map(|turns| (product(&turns), turns)).collect();
        let is_turn = |name: &str, action: &OrientedPermutation| {
            turns.get(action).is_some_and(|turns| matches!(turns[..], [turn] if turn.to_string() == name))
        };
        let mut generators = definition.moves().iter().chain(definition.free());
        generators.all(|generator| is_turn(&generator.name, &generator.action)).then_some(Self { turns })
    }

    /// Writes actions in order, or `()` if there are none. Each action is a twist, a turn of a layer, or a
    /// pair of turns.
    ///
    /// # Panics
    /// If an action is neither a turn of layers nor a twist.
    pub fn written<'a>(&self, actions: impl Iterator<Item = &'a OrientedPermutation>) -> String {
        let turns = actions.flat_map(|action| &self.turns[action]);
        let written = Sequence(turns.copied().collect()).to_string();
        if written.is_empty() { "()".into() } else { written }
    }
}
