//! The shapes of Square-1, found by turning and twisting: the places of corners and edges, without their
//! colours and without the middle layer. B. Sambale, *Square-1* (2021), section 4.

use super::{CUT, FRONT, Layer, Outline, Turn, UNITS, in_all_shapes};
use crate::definition::Shapes;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// An upper bound on the number of shapes.
const MOST: usize = 1 << 16;

/// All shapes that turns and twists reach, each given by its number in [`Shapes`]; 0 is the solved shape.
#[derive(Clone, Debug)]
pub struct SquareOneShapes {
    shapes: Shapes,
    /// For each layer, the indices of its turns among the moves.
    turns: [Range<usize>; 2],
    /// The index of the twist among the moves.
    twist: usize,
}

/// Shapes that differ by turns of the layers, in increasing order.
pub type Class = Vec<usize>;

/// The quantity that a path between shapes minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Least {
    /// The number of twists; among the paths with the fewest twists, the number of turns of layers.
    Twists,
    /// The number of twists and turns of layers together.
    Moves,
}

impl SquareOneShapes {
    /// Finds the shapes by a search from the solved shape.
    pub fn new() -> Self {
        let puzzle = in_all_shapes();
        let twist = puzzle.moves().len() - 1;
        let shapes = puzzle.shapes(MOST).expect("there are fewer than that");
        Self { shapes, turns: [0..twist / 2, twist / 2..twist], twist }
    }

    /// Returns the number of shapes.
    pub fn count(&self) -> usize {
        self.shapes.count()
    }

    /// Returns whether no corner lies across the cut in front.
    pub fn is_aligned(&self, shape: usize) -> bool {
        self.shapes.holds(shape, &FRONT)
    }

    /// Returns whether the shape can be twisted, because no corner lies across the cut.
    pub fn is_twistable(&self, shape: usize) -> bool {
        self.shapes.holds(shape, &CUT)
    }

    /// Returns the shape after a twist, or `None` if the shape cannot be twisted.
    pub fn twisted(&self, shape: usize) -> Option<usize> {
        self.shapes.next(shape).nth(self.twist).flatten()
    }

    /// Returns the 11 shapes that turns of a layer lead to, where layer 0 is the top layer. Some of them may
    /// be the shape itself.
    ///
    /// # Panics
    /// If there is no such shape or layer.
    pub fn turned(&self, shape: usize, layer: usize) -> impl Iterator<Item = usize> {
        let Range { start, end } = self.turns[layer].clone();
        self.shapes.next(shape).skip(start).take(end - start).map(|next| next.expect("turns have no guards"))
    }

    /// Returns the places of corners and edges.
    pub fn outline(&self, shape: usize) -> Outline {
        // Shapes track only the pieces `no corner` and `no edge`, so a corner cell without a tracked piece
        // has a corner.
        Outline::new(|cell| self.shapes.piece(shape, cell).is_none())
    }

    /// Returns the moves that are possible, and the shapes to which they lead.
    pub fn steps(&self, shape: usize) -> impl Iterator<Item = (Turn, usize)> {
        let units = || (1..=UNITS as i64 / 2).chain(1 - UNITS as i64 / 2..=-1);
        let of_layer = move |layer| units().filter_map(move |units| Turn::of_layer(layer, units));
        let turns = of_layer(Layer::Top).chain(of_layer(Layer::Bottom)).chain([Turn::Twist]);
        turns.zip(self.shapes.next(shape)).filter_map(|(turn, to)| Some((turn, to?)))
    }

    /// Returns a path from one shape to another that minimises `least`: the first such path in the order of
    /// [`Self::steps`].
    pub fn way(&self, from: usize, to: usize, least: Least) -> Vec<Turn> {
        // The search runs from the end, so that the path can take the first step that comes nearer at each
        // shape. A twist undoes a twist, and a turn undoes a turn, so distances are the same in both
        // directions. When twists are minimised, a twist costs more than all turns of a path together.
        let cost = |turn: Turn| match (turn, least) {
            (Turn::Twist, Least::Twists) => self.count(),
            _ => 1,
        };
        let mut costs = vec![usize::MAX; self.count()];
        costs[to] = 0;
        let mut open = BinaryHeap::from([Reverse((0, to))]);
        while let Some(Reverse((so_far, shape))) = open.pop() {
            if so_far > costs[shape] {
                continue;
            }
            for (turn, next) in self.steps(shape) {
                let whole = so_far + cost(turn);
                if whole < costs[next] {
                    costs[next] = whole;
                    open.push(Reverse((whole, next)));
                }
            }
        }
        let mut way = Vec::new();
        let mut at = from;
        while at != to {
            let nearer = self.steps(at).find(|&(turn, next)| costs[next] + cost(turn) == costs[at]);
            let (turn, next) = nearer.expect("every shape can be reached from every other");
            way.push(turn);
            at = next;
        }
        way
    }

    /// Returns the shape and all shapes that turns of the layers lead to, each once.
    pub fn class_of(&self, shape: usize) -> Class {
        let top = std::iter::once(shape).chain(self.turned(shape, 0));
        let mut class: Class = top.flat_map(|top| std::iter::once(top).chain(self.turned(top, 1))).collect();
        class.sort_unstable();
        class.dedup();
        class
    }

    /// Runs the article's search, and returns the aligned shapes that each pass meets first. A pass makes all
    /// turns of the shapes that the last pass has found by twisting, and twists the results wherever
    /// possible. The first pass consists of the solved shape.
    pub fn passes(&self) -> Vec<Vec<usize>> {
        let mut known = vec![false; self.count()];
        let mut first_met = |shape: usize| !std::mem::replace(&mut known[shape], true);
        first_met(0);
        let mut passes = vec![vec![0]];
        let mut twisted = vec![0];
        while !twisted.is_empty() {
            let mut new = Vec::new();
            let mut next = Vec::new();
            for turned in twisted.iter().flat_map(|&shape| self.class_of(shape)) {
                if first_met(turned) {
                    new.push(turned);
                }
                if let Some(shape) = self.twisted(turned).filter(|&shape| first_met(shape)) {
                    new.push(shape);
                    next.push(shape);
                }
            }
            new.retain(|&shape| self.is_aligned(shape));
            if !new.is_empty() {
                passes.push(new);
            }
            twisted = next;
        }
        passes
    }

    /// Returns the shapes up to turns, by the number of twists that lead to them.
    pub fn classes_by_twists(&self) -> Vec<Vec<Class>> {
        let mut known = vec![false; self.count()];
        let mut classes: Vec<Vec<Class>> = Vec::new();
        let mut reached = vec![0];
        while !reached.is_empty() {
            let mut layer = Vec::new();
            for shape in reached {
                if !known[shape] {
                    let class = self.class_of(shape);
                    class.iter().for_each(|&shape| known[shape] = true);
                    layer.push(class);
                }
            }
            let twisted = layer.iter().flatten().filter_map(|&shape| self.twisted(shape));
            reached = twisted.filter(|&shape| !known[shape]).collect();
            classes.push(layer);
        }
        classes
    }
}

impl Default for SquareOneShapes {
    fn default() -> Self {
        Self::new()
    }
}
