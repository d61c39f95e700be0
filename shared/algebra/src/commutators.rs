//! Words of the form C X Y X' Y' C', of which many short words for elements that move few points are.

use crate::{Ball, Permutation, Word};
use rustc_hash::FxHashMap;

/// So many elements, the nearest ones, are tried as X and as Y.
const SHORT: usize = 4_000;
/// So many as C.
const AROUND: usize = 300;
/// Elements that move a larger part of the points are hardly ever such a word.
const MOVED: usize = 4;
/// What may cancel between the parts of a word.
const SLACK: usize = 2;

/// The shortest word of this form for an element with fewer than `below` turns, if there is one.
///
/// C X Y X' Y' C' is the element g where Y carries X' to X' C' g C, by conjugation: so these two have cycles of
/// the same lengths, which few X do.
pub(crate) fn commutator(ball: &Ball, element: &Permutation, below: usize) -> Option<Word> {
    let moved = (0..element.degree()).filter(|&point| element.apply(point) != point).count();
    if moved * MOVED > element.degree() {
        return None;
    }
    let within = |most: usize| {
        let radius = (0..=ball.complete_to().min(usize::from(u8::MAX)))
            .take_while(|&radius| ball.within(radius).len() <= most)
            .last();
        ball.within(radius.unwrap_or(0))
    };
    let (around, short) = (within(AROUND), within(SHORT));
    let kinds: Vec<u64> = short.iter().map(kind).collect();
    // The places of the elements that carry a point to another.
    let degree = element.degree();
    let mut best: Option<Word> = None;
    let mut tried: FxHashMap<Permutation, usize> = FxHashMap::default();
    for (c, by) in around.iter().enumerate() {
        let inside = by.inverse().then(element).then(by);
        let cost = 2 * ball.distance(c);
        // Another C, no longer, has made the same of the element.
        if tried.insert(inside.clone(), cost).is_some() {
            continue;
        }
        for (x, first) in short.iter().enumerate().skip(1) {
            let most = best.as_ref().map_or(below, Word::len);
            let room = (most + SLACK).saturating_sub(cost + 2 * ball.distance(x));
            if room < 2 {
                break;
            }
            let back = first.inverse();
            let target = back.then(&inside);
            if kind(&target) != kinds[x] {
                continue;
            }
            for (y, second) in short.iter().enumerate().skip(1) {
                if 2 * ball.distance(y) > room {
                    break;
                }
                // Y X' = (X' C' g C) Y.
                let is_it =
                    |point: usize| back.apply(second.apply(point)) == second.apply(target.apply(point));
                if (0..degree).all(is_it) {
                    let word = written(ball, c, x, y);
                    if word.len() < best.as_ref().map_or(below, Word::len) {
                        best = Some(word);
                    }
                }
            }
        }
    }
    best
}

fn written(ball: &Ball, c: usize, x: usize, y: usize) -> Word {
    let orders = ball.orders();
    let [c, x, y] = [c, x, y].map(|at| ball.word(at));
    let parts = [&x, &y, &x.inverse(orders), &y.inverse(orders), &c.inverse(orders)];
    parts.into_iter().fold(c.clone(), |word, part| word.then(part, orders))
}

/// A number that permutations with cycles of the same lengths share, and others hardly ever.
fn kind(permutation: &Permutation) -> u64 {
    let mut seen = vec![false; permutation.degree()];
    let mut sum = 0_u64;
    for start in 0..permutation.degree() {
        let mut length = 0_u64;
        let mut at = start;
        while !std::mem::replace(&mut seen[at], true) {
            length += 1;
            at = permutation.apply(at);
        }
        // A cycle counts by itself, whatever its place.
        sum = sum.wrapping_add(
            length.wrapping_mul(length).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(length as u32),
        );
    }
    sum
}
