//! Shapes of Square-1 as pictures: the top layer as one sees it from above, the front of the puzzle below,
//! and beside it the bottom layer from below, the front above, so that the cut is left of the middle of the
//! front in both.

use fathom_puzzle::family::square1::{Layer, Outline};
use std::f64::consts::{PI, SQRT_2};
use std::fmt::Write;

/// From the middle of a layer to the middle of a side of the square.
const HALF: f64 = 30.0;
/// From the middle of a picture's layer to the next one's; no layer is wider.
const APART: f64 = 94.0;
/// Between the rows of pictures, the line of text among it.
const DOWN: f64 = 112.0;
/// Pictures side by side.
const ACROSS: usize = 6;

const CORNER: &str = "#3b73c8";
const EDGE: &str = "#f3d43b";

/// Shapes with a line of text below each, side by side and row by row, as an SVG picture.
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
        .expect("a String takes all");
    }
    svg.push_str("</svg>");
    svg
}

/// Pieces and the cut.
fn layer(svg: &mut String, outline: Outline, layer: Layer, middle: (f64, f64)) {
    for (unit, is_corner) in outline.pieces(layer) {
        let end = unit + if is_corner { 2 } else { 1 };
        let side = HALF / (PI / 12.0).cos();
        let mut points = vec![middle, at(middle, layer, unit as f64, side)];
        if is_corner {
            points.push(at(middle, layer, unit as f64 + 1.0, HALF * SQRT_2));
        }
        points.push(at(middle, layer, end as f64, side));
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let colour = if is_corner { CORNER } else { EDGE };
        write!(svg, r##"<polygon points="{}" fill="{colour}" stroke="#333333"/>"##, points.join(" "))
            .expect("a String takes all");
    }
    let [(x1, y1), (x2, y2)] = [0.0, 6.0].map(|unit| at(middle, layer, unit, APART / 2.0 - 2.0));
    write!(
        svg,
        r##"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="#d43d3d" stroke-dasharray="4 2"/>"##
    )
    .expect("a String takes all");
}

/// A point so many units clockwise from the cut's end, where unit 0 begins: at the back of the top layer, 15
/// degrees clockwise of its middle, and in front of the bottom layer, 15 degrees the other way.
fn at(middle: (f64, f64), layer: Layer, units: f64, radius: f64) -> (f64, f64) {
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

    /// The solved shape is two squares: their sides are parallel to those of the picture.
    #[test]
    fn the_solved_shape_is_square() {
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
