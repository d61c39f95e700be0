//! The growth function as a picture: states by distance on a linear scale, and beside them states and classes
//! on a logarithmic one.

use super::Row;
use super::numbers::{power_of_ten, scientific};
use indicatif::HumanCount;
use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::combinators::{BindKeyPoints, WithKeyPoints};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordi64;
use plotters::prelude::*;
use std::io;

/// Width and height in units of the picture, which is scaled to fit.
const SIZE: (u32, u32) = (1120, 420);
const FONT: &str = "system-ui, sans-serif";
const MAX_TICKS: usize = 15;
/// The units of the horizontal axis from one distance to the next: bars are drawn in parts of a distance.
const UNIT: i64 = 10;

/// The colours, each for one thing. A page may replace them by CSS on dark screens.
const PAPER: RGBColor = RGBColor(255, 255, 255);
const INK: RGBColor = RGBColor(43, 48, 56);
const GRID: RGBColor = RGBColor(222, 226, 231);
const STATES: RGBColor = RGBColor(37, 99, 168);
const CLASSES: RGBColor = RGBColor(192, 98, 35);

type Drawn<T> = Result<T, DrawingAreaErrorKind<io::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, Y> = ChartContext<
    'a,
    SVGBackend<'a>,
    Cartesian2d<WithKeyPoints<RangedCoordi64>, <Y as AsRangedCoord>::CoordDescType>,
>;

/// Draws the picture, as an SVG document. Its caption says whether distances are one way.
pub fn svg(rows: &[Row], is_one_way: bool) -> String {
    let mut picture = String::new();
    draw(&SVGBackend::with_string(&mut picture, SIZE).into_drawing_area(), rows, is_one_way)
        .expect("a String takes all that is drawn");
    picture
}

fn draw(picture: &Area<'_>, rows: &[Row], is_one_way: bool) -> Drawn<()> {
    picture.fill(&PAPER)?;
    let halves = picture.split_evenly((1, 2));
    let most = rows.iter().map(|row| row.states).max().unwrap_or(1) as f64;
    let caption = if is_one_way { "states by distance, one way" } else { "states by distance" };
    linear(&halves[0], caption, rows, most)?;
    logarithmic(&halves[1], rows, most)?;
    picture.present()
}

fn linear(area: &Area<'_>, caption: &str, rows: &[Row], most: f64) -> Drawn<()> {
    let label = |&count: &f64| match count {
        // With few states, ticks between whole numbers are meaningless.
        _ if (count - count.round()).abs() > 1e-6 => String::new(),
        count if count < 1e6 => HumanCount(count.round() as u64).to_string(),
        count => scientific(count),
    };
    let mut chart = panel(area, caption, rows, 0.0..most * 1.05, &label)?;
    chart.draw_series(rows.iter().map(|row| {
        let (x, y) = point(row, row.states);
        Rectangle::new([(x - 4, 0.0), (x + 4, y)], STATES.filled())
    }))?;
    Ok(())
}

fn logarithmic(area: &Area<'_>, rows: &[Row], most: f64) -> Drawn<()> {
    // The range goes beyond the largest count, to leave space for the legend, which is at the left above
    // SHARE of the height.
    const SHARE: f64 = 0.8;
    const LEAST: f64 = 0.5;
    let at_left = rows.iter().take(rows.len().div_ceil(2)).map(|row| row.states).max().unwrap_or(1) as f64;
    let top = (most * 8.0).max(LEAST * (at_left / LEAST).powf(1.0 / SHARE));
    let decades = 0..=most.log10().floor() as usize;
    let stride = stride(decades.end() + 1);
    let decades = decades.step_by(stride).map(|exponent| 10_f64.powi(exponent as i32)).collect();
    let range = (LEAST..top).log_scale().with_key_points(decades);
    let label = |&count: &f64| match count.log10().round() as i32 {
        0 => "1".into(),
        1 => "10".into(),
        exponent => power_of_ten(exponent),
    };
    let mut chart = panel(area, "the same on a logarithmic scale", rows, range, &label)?;
    let states: Vec<_> = rows.iter().map(|row| point(row, row.states)).collect();
    let told_apart = rows.iter().any(|row| row.classes != Some(row.states));
    let classes = rows.iter().filter_map(|row| Some(point(row, row.classes.filter(|_| told_apart)?)));
    let classes: Vec<_> = classes.collect();
    for (name, points, colour) in [("states", states, STATES), ("classes up to symmetry", classes, CLASSES)] {
        if points.is_empty() {
            continue;
        }
        chart.draw_series(points.iter().map(|&at| Circle::new(at, 4, colour.filled())))?;
        let line = chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        line.label(name).legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font((FONT, 15, &INK))
        .background_style(PAPER)
        .legend_area_size(24)
        .draw()
}

/// Draws the axes of an empty chart.
fn panel<'a, Y>(
    area: &Area<'a>,
    caption: &str,
    rows: &[Row],
    range: Y,
    label: &dyn Fn(&f64) -> String,
) -> Drawn<Chart<'a, Y>>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let last = rows.len().saturating_sub(1) as i64;
    let ticks = (0..=last).step_by(stride(rows.len())).map(|distance| distance * UNIT);
    let distances = (-7..last * UNIT + 7).with_key_points(ticks.collect());
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .caption(caption, (FONT, 18, &INK))
        .x_label_area_size(48)
        .y_label_area_size(78)
        .build_cartesian_2d(distances, range)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(0)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style((FONT, 15, &INK))
        .y_labels(6)
        .x_desc("distance from the solved state")
        .x_label_formatter(&|x| (x / UNIT).to_string())
        .y_label_formatter(label)
        .draw()?;
    Ok(chart)
}

fn point(row: &Row, count: u64) -> (i64, f64) {
    (i64::from(row.depth) * UNIT, count as f64)
}

/// Returns the smallest of 1, 2, 5, 10, 20 and so on that, as the distance between ticks, gives at most
/// [`MAX_TICKS`] of them.
fn stride(ticks: usize) -> usize {
    let mut strides = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_usize.pow(power)));
    strides
        .find(|stride| ticks.div_ceil(*stride) <= MAX_TICKS)
        .expect("strides grow beyond any number of ticks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_limited() {
        assert_eq!([1, 15, 16, 31, 100, 1000].map(stride), [1, 1, 2, 5, 10, 100]);
    }

    #[test]
    fn empty_plot_is_drawn() {
        assert!(svg(&[], false).trim_end().ends_with("</svg>"));
    }
}
