//! Finds words of the form C X Y X' Y' C'. Many short words of elements that move few points have this form.

use crate::{Ball, Permutation, Word};
use rustc_hash::{FxHashMap, FxHashSet};

/// The maximum number of elements that are tried as X and as Y: the nearest ones.
const SHORT: usize = 4_000;
/// The largest number of tables in [`ByTwoImages`], each of up to `SHORT` elements, which bounds its memory.
const TABLES: usize = 200;
/// The largest number of elements that are tried as C.
const AROUND: usize = 300;
/// Elements that move more than 1/`MOVED` of the points are skipped: they rarely have such a word.
const MOVED: usize = 4;
/// The largest numbers of elements that are tried as the first and as the second half of X, where Y is one
/// turn.
const HALVES: [usize; 2] = [4_000, 50_000];
/// The number of turns that may cancel where parts of a word meet.
const SLACK: usize = 3;
/// The largest degree that is tried: on more points the search finds little.
const MAX_POINTS: usize = 256;

/// Returns the shortest word of this form for `element` that is found, with fewer than `below` turns.
///
/// C X Y X' Y' C' is the element g if and only if Y X' Y' = X' C' g C. The right side is then conjugate to
/// X', so the two have cycles of the same lengths, which is rare: all Y are tried only for the few remaining
/// X.
pub(crate) fn commutator(ball: &Ball, element: &Permutation, below: usize) -> Option<Word> {
    let moved = (0..element.degree()).filter(|&point| element.apply(point) != point).count();
    if moved * MOVED > element.degree() || element.degree() > MAX_POINTS {
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
    let degree = element.degree();
    let mut best: Option<Word> = None;
    let mut tried: FxHashSet<Permutation> = FxHashSet::default();
    let mut by_two_images = ByTwoImages { elements: short, tables: FxHashMap::default() };
    for (c, by) in around.iter().enumerate() {
        let inside = by.inverse().then(element).then(by);
        let cost = 2 * ball.distance(c);
        // An earlier C, which is no longer than this one, has given the same conjugate of the element.
        if !tried.insert(inside.clone()) {
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
            // If Y maps the points moved by `target` correctly, it maps them to all points moved by
            // X', so Y need not be checked on other points.
            let moved: Vec<usize> = (0..degree).filter(|&point| target.apply(point) != point).collect();
            // Few Y do so at the first of these points; a table lists them.
            let table = by_two_images.of([moved[0], target.apply(moved[0])]);
            // Checks Y X' = (X' C' g C) Y at a point.
            let is_it = |second: &Permutation, point: usize| {
                back.apply(second.apply(point)) == second.apply(target.apply(point))
            };
            let is_all = |&y: &usize| {
                2 * ball.distance(y) <= room && moved[1..].iter().all(|&point| is_it(&short[y], point))
            };
            let images = (0..degree).filter_map(|image| table.get(&[image, back.apply(image)]));
            let mut found: Vec<usize> = images.flatten().copied().filter(is_all).collect();
            found.sort_unstable();
            for y in found {
                let word = written(ball, c, x, y);
                if word.len() < best.as_ref().map_or(below, Word::len) {
                    best = Some(word);
                }
            }
        }
    }
    best
}

/// Returns the shortest word of this form that is found, as [`commutator`] does, where Y is one turn and X =
/// P Q is found by halves. C X Y X' Y' C' is the element g if and only if Q Y Q' = P' (C' g C Y) P. So the
/// left sides are listed for all Q, and the right sides are looked up for all P.
pub(crate) fn commutator_with_a_turn(ball: &Ball, element: &Permutation, below: usize) -> Option<Word> {
    let is_local = element.degree() <= MAX_POINTS && {
        let moved = (0..element.degree()).filter(|&point| element.apply(point) != point).count();
        moved * MOVED <= element.degree()
    };
    if !is_local {
        return None;
    }
    let within = |most: usize| {
        let radius = (0..=ball.complete_to().min(usize::from(u8::MAX)))
            .take_while(|&radius| ball.within(radius).len() <= most)
            .last();
        ball.within(radius.unwrap_or(0))
    };
    let (around, turns) = (within(AROUND), ball.within(1));
    let [firsts, seconds] = HALVES.map(within);
    let mut best: Option<Word> = None;
    for (y, turn) in turns.iter().enumerate().skip(1) {
        let same = kind(turn);
        let mut of_halves: Option<FxHashMap<Permutation, usize>> = None;
        for (c, by) in around.iter().enumerate() {
            let inside = by.inverse().then(element).then(by).then(turn);
            let most = best.as_ref().map_or(below, Word::len);
            if kind(&inside) != same || 2 * ball.distance(c) + 2 >= most + SLACK {
                continue;
            }
            let of_halves = of_halves.get_or_insert_with(|| {
                let mut conjugates = FxHashMap::default();
                for (q, half) in seconds.iter().enumerate() {
                    // Elements are in order of distance, so the first Q is a shortest one.
                    conjugates.entry(half.then(turn).then(&half.inverse())).or_insert(q);
                }
                conjugates
            });
            for (p, half) in firsts.iter().enumerate() {
                if 2 * (ball.distance(c) + ball.distance(p) + 1)
                    >= best.as_ref().map_or(below, Word::len) + SLACK
                {
                    break;
                }
                let Some(&q) = of_halves.get(&half.inverse().then(&inside).then(half)) else { continue };
                let generator_orders = ball.generator_orders();
                let x = ball.word(p).then(&ball.word(q), generator_orders);
                let [c, y] = [c, y].map(|at| ball.word(at));
                let parts = [
                    &x,
                    &y,
                    &x.inverse(generator_orders),
                    &y.inverse(generator_orders),
                    &c.inverse(generator_orders),
                ];
                let word = parts.into_iter().fold(c.clone(), |word, part| word.then(part, generator_orders));
                if word.len() < best.as_ref().map_or(below, Word::len) {
                    best = Some(word);
                }
            }
        }
    }
    best
}

/// Elements, indexed by the images of two points.
struct ByTwoImages<'a> {
    elements: &'a [Permutation],
    /// For two points, and two images of these: the indices of the elements that have these images, in order.
    tables: FxHashMap<[usize; 2], FxHashMap<[usize; 2], Vec<usize>>>,
}

impl ByTwoImages<'_> {
    /// Returns the table of two points, without the identity, which is the first element.
    fn of(&mut self, points: [usize; 2]) -> &FxHashMap<[usize; 2], Vec<usize>> {
        if self.tables.len() >= TABLES && !self.tables.contains_key(&points) {
            self.tables.clear();
        }
        self.tables.entry(points).or_insert_with(|| {
            let mut table: FxHashMap<[usize; 2], Vec<usize>> = FxHashMap::default();
            for (at, element) in self.elements.iter().enumerate().skip(1) {
                table.entry(points.map(|point| element.apply(point))).or_default().push(at);
            }
            table
        })
    }
}

fn written(ball: &Ball, c: usize, x: usize, y: usize) -> Word {
    let generator_orders = ball.generator_orders();
    let [c, x, y] = [c, x, y].map(|at| ball.word(at));
    let parts =
        [&x, &y, &x.inverse(generator_orders), &y.inverse(generator_orders), &c.inverse(generator_orders)];
    parts.into_iter().fold(c.clone(), |word, part| word.then(part, generator_orders))
}

/// Returns a hash of the cycle lengths of a permutation, which does not depend on the order of cycles.
fn kind(permutation: &Permutation) -> u64 {
    let mut seen = [0_u64; MAX_POINTS / 64];
    let images = permutation.images();
    let mut sum = 0_u64;
    for start in 0..images.len() {
        let mut length = 0_u32;
        let mut at = start;
        while seen[at / 64] >> (at % 64) & 1 == 0 {
            seen[at / 64] |= 1 << (at % 64);
            length += 1;
            at = usize::from(images[at]);
        }
        // Summands of cycles are added, so the order of cycles does not matter.
        if length > 1 {
            sum = sum.wrapping_add(
                u64::from(length * length).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(length),
            );
        }
    }
    sum
}
