//! Shapes and states of Square-1 as pictures: the top layer as seen from above, the front of the
//! puzzle below, and beside it the bottom layer from below, the front above, so that the cut is left of the
//! middle of the front in both.

use super::colours::{self, BOTTOM, TOP};
use fathom_puzzle::family::square1::{Layer, Outline, Placement, Side};
use std::f64::consts::{PI, SQRT_2};
use std::fmt::Write;

/// The distance from the middle of a layer to the middle of a side of the square.
const HALF: f64 = 30.0;
/// The distance between the middles of two layers side by side; no layer is wider.
const APART: f64 = 94.0;
/// The distance between rows of pictures, the line of text included.
const DOWN: f64 = 112.0;
/// The number of pictures side by side.
const ACROSS: usize = 6;

/// The side of the square for a layer in the picture of a state.
const ROOM: f64 = 104.0;
/// The width of the middle layer, between the two other layers.
const FRONT: f64 = 56.0;
/// How far out the colours of sides reach, as a multiple of the layer.
const OUTER: f64 = 1.18;

type Point = (f64, f64);

const CORNER: &str = "#3b73c8";
const EDGE: &str = "#f3d43b";

/// Draws shapes with a line of text below each, side by side and row by row, as an SVG picture.
pub fn svg(shapes: &[(String, Outline)]) -> String {
    let rows = shapes.len().div_ceil(ACROSS);
    let columns = shapes.len().min(ACROSS);
    let (width, height) = (columns as f64 * 2.0 * APART, rows as f64 * DOWN);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="Shapes of Square-1"><rect width="100%" height="100%" fill="#ffffff"/>"##
    );
    for (number, (text, outline)) in shapes.iter().enumerate() {
        let left = (number % ACROSS) as f64 * 2.0 * APART;
        let middle = (number / ACROSS) as f64 * DOWN + APART / 2.0;
        layer(&mut svg, *outline, Layer::Top, (left + APART / 2.0, middle));
        layer(&mut svg, *outline, Layer::Bottom, (left + 1.5 * APART, middle));
        write!(
            svg,
            r##"<text x="{:.1}" y="{:.1}" font-family="system-ui, sans-serif" font-size="10" text-anchor="middle" fill="#2b3038">{text}</text>"##,
            left + APART,
            middle + APART / 2.0 + 8.0
        )
        .expect("writing to a String succeeds");
    }
    svg.push_str("</svg>");
    svg
}

/// Draws the pieces of a layer, and the cut.
fn layer(svg: &mut String, outline: Outline, layer: Layer, middle: Point) {
    for (unit, is_corner) in outline.pieces(layer) {
        let mut points = vec![middle];
        points.extend(border(middle, layer, (unit, is_corner), 1.0));
        polygon(svg, &points, if is_corner { CORNER } else { EDGE });
    }
    cut(svg, layer, middle, APART / 2.0 - 2.0);
}

/// Returns the outer corners of a piece that begins at a unit: two of an edge, three of a corner. Their
/// distance from the middle is multiplied by `times`.
fn border(middle: Point, layer: Layer, (unit, is_corner): (usize, bool), times: f64) -> Vec<Point> {
    let (unit, side) = (unit as f64, times * HALF / (PI / 12.0).cos());
    let mut points = vec![at(middle, layer, unit, side)];
    if is_corner {
        points.push(at(middle, layer, unit + 1.0, times * HALF * SQRT_2));
    }
    points.push(at(middle, layer, unit + if is_corner { 2.0 } else { 1.0 }, side));
    points
}

fn polygon(svg: &mut String, points: &[Point], colour: &str) {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    write!(svg, r##"<polygon points="{}" fill="{colour}" stroke="#333333"/>"##, points.join(" "))
        .expect("writing to a String succeeds");
}

fn cut(svg: &mut String, layer: Layer, middle: Point, radius: f64) {
    let [(x1, y1), (x2, y2)] = [0.0, 6.0].map(|unit| at(middle, layer, unit, radius));
    write!(
        svg,
        r##"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="#d43d3d" stroke-dasharray="4 2"/>"##
    )
    .expect("writing to a String succeeds");
}

/// Draws a state: both layers as [`svg`] does, each piece in its colours with those of its sides around it,
/// and between the layers the front of the middle layer.
pub(crate) fn state(state: &Placement) -> String {
    let [width, height] = [2.0 * ROOM + FRONT, ROOM];
    let mut svg = format!(
        r#"<svg class="net" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="The state, from above, in front and from below">"#
    );
    let middle = |layer| (if layer == Layer::Top { ROOM / 2.0 } else { 1.5 * ROOM + FRONT }, ROOM / 2.0);
    for piece in &state.pieces {
        let (layer, unit) = piece.place;
        let of = |times| border(middle(layer), layer, (unit, piece.is_corner), times);
        let (inner, outer) = (of(1.0), of(OUTER));
        let mut points = vec![middle(layer)];
        points.extend(&inner);
        polygon(&mut svg, &points, if piece.home.0 == Layer::Top { TOP } else { BOTTOM });
        for (part, side) in piece.sides().enumerate() {
            let band = [inner[part], inner[part + 1], outer[part + 1], outer[part]];
            polygon(&mut svg, &band, colours::of(side));
        }
    }
    for layer in [Layer::Top, Layer::Bottom] {
        cut(&mut svg, layer, middle(layer), ROOM / 2.0 - 1.0);
    }
    // The cut is 15 degrees left of the middle, and the right half turned over shows its narrow side.
    let [narrow, wide] = [-1.0, 1.0].map(|sign| (FRONT / 2.0 - 3.0) * (1.0 + sign * (PI / 12.0).tan()));
    let (left, top, bottom) = (ROOM + 3.0, ROOM / 2.0 - 9.0, ROOM / 2.0 + 9.0);
    let (right, side) = if state.middle { (narrow, Side::Back) } else { (wide, Side::Front) };
    for (from, to, side) in [(left, left + narrow, Side::Front), (left + narrow, left + narrow + right, side)]
    {
        polygon(&mut svg, &[(from, top), (to, top), (to, bottom), (from, bottom)], colours::of(side));
    }
    svg.push_str("</svg>");
    svg
}

/// Returns the point that is `units` of 30 degrees clockwise from the end of the cut where unit 0 begins.
/// This end is at the back of the top layer, 15 degrees clockwise of its middle, and at the front of the
/// bottom layer, 15 degrees the other way.
fn at(middle: Point, layer: Layer, units: f64, radius: f64) -> Point {
    let tilt = match layer {
        Layer::Top => 0.5,
        Layer::Bottom => -0.5,
    };
    let angle = (units + tilt) * PI / 6.0;
    (middle.0 + radius * angle.sin(), middle.1 - radius * angle.cos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::family::square1::square1;
    use std::collections::BTreeMap;

    /// Counts the polygons of each colour in a picture.
    fn counted(svg: &str) -> BTreeMap<&str, usize> {
        let mut colours = BTreeMap::new();
        for polygon in svg.split("<polygon ").skip(1) {
            let colour = polygon.split("fill=\"").nth(1).unwrap().split('"').next().unwrap();
            *colours.entry(colour).or_default() += 1;
        }
        colours
    }

    /// In the solved state, each side of a layer shows one colour three times. The middle layer shows the
    /// front twice, and the back once if it is turned over.
    #[test]
    fn solved_sides_have_one_colour() {
        let solved: Vec<u16> = square1().solved().iter().map(|piece| piece.label).collect();
        let drawn = |middle| state(&Placement::new(&solved, &solved, middle).unwrap());
        let straight = drawn(false);
        let [front, back, left, right] = [Side::Front, Side::Back, Side::Left, Side::Right].map(colours::of);
        let all = BTreeMap::from([(TOP, 8), (BOTTOM, 8), (front, 8), (back, 6), (left, 6), (right, 6)]);
        assert_eq!(counted(&straight), all);
        assert_eq!(counted(&drawn(true))[back], 7);
        // The sides lie as in the picture of the shape: the front below the top layer, above the bottom one.
        let bands =
            straight.split("<polygon ").filter(|polygon| polygon.contains(&format!("fill=\"{front}\"")));
        let mut seen = 0;
        for band in bands {
            let (x, y) = band.split('"').nth(1).unwrap().split(' ').next().unwrap().split_once(',').unwrap();
            let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            if x < ROOM {
                assert!(y > ROOM / 2.0, "{band}");
                seen += 1;
            } else if x > ROOM + FRONT {
                assert!(y < ROOM / 2.0, "{band}");
                seen += 1;
            }
        }
        assert_eq!(seen, 6);
    }

    /// The solved shape is two squares: their sides are parallel to those of the picture.
    #[test]
    fn solved_shape_is_square() {
        let svg = svg(&[("solved".into(), "21212121/12121212".parse().unwrap())]);
        assert_eq!(svg.matches("<polygon").count(), 16);
        for colour in [CORNER, EDGE] {
            assert_eq!(svg.matches(colour).count(), 8);
        }
        let middle = APART / 2.0;
        for x in [middle, middle + APART] {
            for (dx, dy) in [(-HALF, -HALF), (HALF, -HALF), (HALF, HALF), (-HALF, HALF)] {
                let corner = format!("{:.1},{:.1}", x + dx, middle + dy);
                assert!(svg.contains(&corner), "{corner}: {svg}");
            }
        }
        // The cut meets the front left of its middle: below in the picture of the top, above in the other.
        assert!(at((0.0, 0.0), Layer::Top, 6.0, 1.0).0 < 0.0 && at((0.0, 0.0), Layer::Top, 6.0, 1.0).1 > 0.0);
        assert!(
            at((0.0, 0.0), Layer::Bottom, 0.0, 1.0).0 < 0.0
                && at((0.0, 0.0), Layer::Bottom, 0.0, 1.0).1 < 0.0
        );
    }
}
