//! The shapes of Square-1, found by turning and twisting: where corners and edges are, colours and middle
//! layer not looked at. B. Sambale, *Square-1* (2021), section 4.

use super::{CUT, FRONT, Layer, Outline, Turn, UNITS, in_all_shapes};
use crate::definition::Shapes;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// More shapes than there are.
const MOST: usize = 1 << 16;

/// All shapes that turns and twists reach, each by its number among [`Shapes`]; 0 is the solved one.
#[derive(Clone, Debug)]
pub struct SquareOneShapes {
    shapes: Shapes,
    /// The places of the turns of each layer among the moves.
    turns: [Range<usize>; 2],
    /// The place of the twist.
    twist: usize,
}

/// Shapes that are one if layers are turned.
pub type Class = Vec<usize>;

/// What is least on a way from shape to shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Least {
    /// Twists; and of the ways with as many of these, turns of layers.
    Twists,
    /// Twists and turns of layers together.
    Moves,
}

impl SquareOneShapes {
    /// By a search from the solved shape.
    pub fn new() -> Self {
        let puzzle = in_all_shapes();
        let twist = puzzle.moves().len() - 1;
        let shapes = puzzle.shapes(MOST).expect("there are fewer than that");
        Self { shapes, turns: [0..twist / 2, twist / 2..twist], twist }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.shapes.count()
    }

    /// Whether no corner lies across the cut in front.
    pub fn is_aligned(&self, shape: usize) -> bool {
        self.shapes.holds(shape, &FRONT)
    }

    /// Whether it can be twisted: no corner lies across the cut.
    pub fn is_twistable(&self, shape: usize) -> bool {
        self.shapes.holds(shape, &CUT)
    }

    /// The shape after a twist, if it can be twisted.
    pub fn twisted(&self, shape: usize) -> Option<usize> {
        self.shapes.next(shape).nth(self.twist).flatten()
    }

    /// The shapes that a layer can be turned into, 0 being the top layer: 11 of them, some of which may be
    /// the shape itself.
    pub fn turned(&self, shape: usize, layer: usize) -> impl Iterator<Item = usize> {
        let Range { start, end } = self.turns[layer].clone();
        self.shapes.next(shape).skip(start).take(end - start).map(|next| next.expect("turns have no guards"))
    }

    /// Where corners and edges are.
    pub fn outline(&self, shape: usize) -> Outline {
        // Shapes tell of the cells on which nothing stands.
        Outline::new(|cell| self.shapes.piece(shape, cell).is_none())
    }

    /// The moves that can be made, and the shapes that they lead to.
    pub fn steps(&self, shape: usize) -> impl Iterator<Item = (Turn, usize)> {
        let units = || (1..=UNITS as i64 / 2).chain(1 - UNITS as i64 / 2..=-1);
        let of_layer = move |layer| units().filter_map(move |units| Turn::of_layer(layer, units));
        let turns = of_layer(Layer::Top).chain(of_layer(Layer::Bottom)).chain([Turn::Twist]);
        turns.zip(self.shapes.next(shape)).filter_map(|(turn, to)| Some((turn, to?)))
    }

    /// A way from one shape to another on which twists or moves are least: the first of these ways, if moves
    /// come in the order of [`Self::steps`].
    pub fn way(&self, from: usize, to: usize, least: Least) -> Vec<Turn> {
        // From the end, so that from each shape on the way the first step that comes nearer is taken. A twist
        // takes back a twist, and a turn a turn, so that distances are the same both ways.
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
            let (turn, next) = nearer.expect("each shape is reached from each other");
            way.push(turn);
            at = next;
        }
        way
    }

    /// The shape, and all that it can be turned into, each once.
    pub fn class_of(&self, shape: usize) -> Class {
        let top = std::iter::once(shape).chain(self.turned(shape, 0));
        let mut class: Class = top.flat_map(|top| std::iter::once(top).chain(self.turned(top, 1))).collect();
        class.sort_unstable();
        class.dedup();
        class
    }

    /// The article's search: a pass turns all shapes that the last one has come to, and twists what it has
    /// turned them into wherever that can be done. Told are the aligned shapes that each pass meets
    /// first; the pass before all others has the solved one.
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

    /// The shapes up to turns, by the number of twists that lead to them.
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
