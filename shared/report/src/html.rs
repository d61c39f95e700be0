//! A web page with everything: a self-contained file, for light and dark screens and for paper. The page
//! is also well-formed XML.

use super::deepest_states::{self, Example};
use super::facts::{self, Fact};
use super::numbers::percent;
use super::wait_times::WaitTimes;
use super::{Report, plot, unfolded_net};
use anyhow::Result;
use askama::Template;
use fathom_engine::task::Waits;
use fathom_puzzle::PuzzleSpec;
use indicatif::{HumanBytes, HumanCount};

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    report: &'a Report,
    from: String,
    figures: Vec<Fact>,
    results: Vec<Fact>,
    origin: Vec<Fact>,
    growth: Vec<[String; 8]>,
    files: Vec<[String; 4]>,
    causes: [&'static str; 6],
    waits: Vec<[String; 8]>,
    plot: String,
    pictures: Option<Pictures>,
}

/// States of the last layer.
struct Pictures {
    title: &'static str,
    about: String,
    /// The number of tiles in a row of a board; `None` for other puzzles, whose states are written in a
    /// line.
    columns: Option<usize>,
    states: Vec<Picture>,
}

/// A drawn state.
struct Picture {
    tiles: Vec<Tile>,
    /// The number of states equivalent to this one, if there are others.
    class: Option<String>,
    /// Its net, if the puzzle has one.
    net: Option<String>,
    /// The moves that solve it.
    solution: Option<String>,
}

/// The content of a cell.
struct Tile {
    text: String,
    /// An angle on the colour circle: the home row of the tile, or its label.
    hue: usize,
}

/// Writes the page.
///
/// # Errors
/// None: writing to a String does not fail.
pub fn page(report: &Report) -> Result<String> {
    let counted =
        |classes: Option<u64>| classes.map_or("–".into(), |classes| HumanCount(classes).to_string());
    let growth = report.rows.iter().zip(report.branching()).map(|(row, factor)| {
        [
            row.depth.to_string(),
            HumanCount(row.states).to_string(),
            counted(row.classes),
            counted(row.classes_with_inverse),
            branching(factor),
            row.share.map_or("–".into(), percent),
            HumanCount(row.cumulative).to_string(),
            row.cumulative_share.map_or("–".into(), percent),
        ]
    });
    let files = report.rows.iter().map(|row| {
        let bytes = HumanBytes(row.bytes).to_string();
        [row.depth.to_string(), format!("{:.3}", row.seconds), bytes, row.digest.clone()]
    });
    let page = Page {
        report,
        from: facts::from_where(report),
        figures: figures(report),
        results: facts::of_results(report),
        origin: facts::of_origin(report),
        growth: growth.collect(),
        files: files.collect(),
        causes: Waits::CAUSES,
        waits: report.waits.iter().map(WaitTimes::cells).collect(),
        plot: plot::svg(&report.rows, report.summary.one_way().is_some()),
        pictures: pictures(report),
    };
    Ok(page.render()?)
}

/// Writes a branching factor with three digits.
pub(crate) fn branching(factor: Option<f64>) -> String {
    match factor {
        None => "–".into(),
        Some(factor) if factor >= 0.01 => format!("{factor:.2}"),
        Some(factor) => format!("{factor:.1e}"),
    }
}

/// Returns the figures in the first paragraph of the page.
fn figures(report: &Report) -> Vec<Fact> {
    let summary = &report.summary;
    let mut figures = vec![
        (summary.largest_distance_is(), facts::largest_distance(report)),
        ("states", summary.all_states().unwrap_or_else(|| "not known".into())),
    ];
    if let Some(last) = report.rows.last().filter(|_| summary.complete) {
        figures.push(("antipodes", HumanCount(last.states).to_string()));
    }
    if let Some(mean) = facts::mean_distance(report) {
        figures.push(("mean distance", format!("{mean:.3}")));
    }
    figures.push(("symmetries", facts::symmetries(summary)));
    figures.into_iter().map(|(what, said)| Fact { what, said, code: false }).collect()
}

fn pictures(report: &Report) -> Option<Pictures> {
    let deepest = report.deepest.as_ref()?;
    let (title, about) = deepest_states::caption(report, deepest);
    let columns = match report.source {
        PuzzleSpec::Board(board) => Some(board.columns()),
        PuzzleSpec::Defined(_) => None,
    };
    let states = deepest.examples.iter().map(|example| picture(report, example)).collect();
    Some(Pictures { title, about, columns, states })
}

fn picture(report: &Report, example: &Example) -> Picture {
    let columns = report.source.columns();
    let labelled = report.summary.labels.is_some();
    let kinds = match labelled {
        true => example.word.iter().max().map_or(1, |&most| usize::from(most) + 1),
        false => example.word.len().div_ceil(columns),
    };
    let tile = |(text, &label): (String, &u16)| {
        let kind = if labelled { label.into() } else { usize::from(label) / columns };
        Tile { text, hue: (210 + 360 * kind / kinds) % 360 }
    };
    Picture {
        tiles: example.cells().into_iter().zip(&example.word).map(tile).collect(),
        class: match example.class_states {
            1 => None,
            alike => Some(format!("one of {} alike", HumanCount(alike as u64))),
        },
        net: unfolded_net::svg(&report.source, report.summary.labels.as_deref(), example),
        solution: example.solution.clone(),
    }
}
