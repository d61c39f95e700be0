//! Reports: the results of a run and their origin, for readers and for programs.
//!
//! Reading order: [`deepest_states`] (states of the last layer), [`provenance`] (the origin of the numbers),
//! [`wait_times`] (how threads spent their time), [`facts`] (all of these as text), [`display_names`]
//! (readable names of puzzles), [`numbers`], and a module for each format: [`html`] with [`plot`] and
//! `unfolded_net` (states of cubes and similar puzzles) and `colours`, [`markdown`], [`latex`], [`table`] (CSV),
//! [`json`] (JSON), [`oeis`], [`text`] (the growth table on a terminal, and tables in general).
//! [`known_results`] has God's numbers that others found as well, and [`shapes`] draws the shapes of
//! Square-1.
//!
//! Invariant: a report uses only the directory of a run, and changes nothing there.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bibtex;
mod colours;
pub mod csv_report;
pub mod deepest_states;
pub mod display_names;
pub mod facts;
pub mod html;
pub mod json;
pub mod known_results;
pub mod latex;
pub mod markdown;
pub mod numbers;
pub mod oeis;
pub mod plot;
pub mod provenance;
pub mod shapes;
pub mod table;
pub mod text;
mod unfolded_net;
pub mod wait_times;

use anyhow::Result;
use deepest_states::Deepest;
use display_names::DisplayNames;
use fathom_engine::directory::{RunDirectory, Visited};
use fathom_engine::summary::Summary;
use fathom_puzzle::PuzzleSpec;
use provenance::Provenance;
use std::path::Path;
use std::str::FromStr;

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A web page with everything, one file.
    Html,
    /// Tables for pages in Markdown, as GitHub shows them.
    Markdown,
    /// A table for a spreadsheet.
    Csv,
    /// One object for programs.
    Json,
    /// A table for a paper.
    Latex,
    /// An entry for the bibliography of a paper.
    Bibtex,
    /// Terms for the On-Line Encyclopedia of Integer Sequences.
    Oeis,
    /// Only the plot.
    Svg,
}

impl Format {
    /// All formats, in the order in which users see them.
    pub const ALL: [Self; 8] =
        [Self::Html, Self::Markdown, Self::Csv, Self::Json, Self::Latex, Self::Bibtex, Self::Oeis, Self::Svg];

    /// Returns the word for the format on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Latex => "latex",
            Self::Bibtex => "bibtex",
            Self::Oeis => "oeis",
            Self::Svg => "svg",
        }
    }

    /// Returns whether reports in this format show states of the last layer. The others need no layer files.
    pub fn shows_states(self) -> bool {
        matches!(self, Self::Html | Self::Markdown | Self::Json)
    }

    /// Returns the format that a file of this name has: that of its suffix, or a web page if the name has
    /// no suffix.
    ///
    /// # Errors
    /// If no format has such a suffix.
    pub fn of_file(file: &Path) -> Result<Self, String> {
        let Some(suffix) = file.extension() else { return Ok(Self::Html) };
        match suffix.to_string_lossy().to_lowercase().as_str() {
            "htm" => Ok(Self::Html),
            "markdown" => Ok(Self::Markdown),
            "tex" => Ok(Self::Latex),
            "bib" => Ok(Self::Bibtex),
            word => word.parse(),
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or_else(|| {
            format!("expected one of {}, not {text:?}", Self::ALL.map(|format| format.as_str()).join(", "))
        })
    }
}

/// One distance of the growth table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The distance.
    pub depth: u32,
    /// The states of the depth.
    pub states: u64,
    /// The states of the depth up to symmetry, if they were counted.
    pub classes: Option<u64>,
    /// The states of the depth up to symmetry and inversion, if they were counted.
    pub classes_with_inverse: Option<u64>,
    /// The states of the depth over all states of the space.
    pub share: Option<f64>,
    /// States up to this distance.
    pub cumulative: u64,
    /// The cumulative states over all states of the space.
    pub cumulative_share: Option<f64>,
    /// Wall-clock seconds that the layer took.
    pub seconds: f64,
    /// Bytes of the layer's files as the search wrote them.
    pub bytes: u64,
    /// The layer's digest.
    pub digest: String,
}

impl Report {
    /// Returns the branching factor at each distance: the number of its states divided by that of the
    /// distance before; `None` at distance 0.
    pub fn branching(&self) -> Vec<Option<f64>> {
        let before = self.rows.iter().map(|row| row.states as f64);
        let factors =
            self.rows.iter().skip(1).zip(before).map(|(row, before)| Some(row.states as f64 / before));
        std::iter::once(None).chain(factors).take(self.rows.len()).collect()
    }
}

/// The contents of a report, independent of its format.
#[derive(Clone, Debug)]
pub struct Report {
    /// The readable name of the space, without control characters.
    pub heading: String,
    /// Puzzle and metric in a line, without control characters.
    pub title: String,
    /// The readable names of the puzzle, if it has any and its pieces have the puzzle's own labels.
    pub words: Option<DisplayNames>,
    /// The object that `fathom run --json` prints.
    pub summary: Summary,
    /// The growth table.
    pub rows: Vec<Row>,
    /// The puzzle.
    pub source: PuzzleSpec,
    /// The names of its moves in the metric.
    pub moves: Vec<String>,
    /// States of the last layer; `None` if its files do not exist.
    pub deepest: Option<Deepest>,
    /// How kernel threads spent their time, by depth.
    pub waits: Vec<wait_times::WaitTimes>,
    /// The origin of the numbers.
    pub provenance: Provenance,
}

impl Report {
    /// Returns the labels of the pieces, cell by cell; `None` if they are distinct, or if they are those of a
    /// built-in puzzle, whose name says which pieces are alike.
    pub(crate) fn told_labels(&self) -> Option<&[u16]> {
        self.summary.labels.as_deref().filter(|_| self.words.is_none())
    }

    /// Makes the report of a run, complete or not. `workers` has the names of the workers that the run was
    /// served to. If the format shows states, and the files of the last layer exist, the tables of cosets
    /// are built too, which takes as long as for a resumed run.
    ///
    /// # Errors
    /// If the journal or the last layer cannot be read.
    pub fn new(run: &RunDirectory, workers: Vec<String>, format: Format) -> Result<Self> {
        let Visited { layers, .. } = run.visited()?;
        let summary = Summary::new(run)?;
        let of_all = |states: u64| summary.share(states);
        let mut cumulative = 0;
        let rows = layers.iter().map(|layer| {
            cumulative += layer.states;
            Row {
                depth: layer.depth.0,
                states: layer.states,
                classes: layer.classes,
                classes_with_inverse: layer.classes_with_inverse,
                share: of_all(layer.states),
                cumulative,
                cumulative_share: of_all(cumulative),
                seconds: layer.seconds,
                bytes: layer.bytes,
                digest: layer.digest.to_string(),
            }
        });
        let plain = |text: String| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let spec = &run.manifest.spec;
        let is_labelled = display_names::is_labelled(spec);
        let words = display_names::words(&spec.source, &summary.metric);
        let title: String = plain(format!("{} {}", summary.space, summary.metric));
        let heading = display_names::title(&spec.source, &summary.metric, is_labelled);
        Ok(Self {
            // The name in a file does not include the metric.
            heading: if words.is_some() { heading } else { title.clone() },
            title,
            words: words.filter(|_| !is_labelled),
            rows: rows.collect(),
            source: run.manifest.spec.source.clone(),
            moves: run.space.puzzle().moves.iter().map(|m| m.name.clone()).collect(),
            deepest: deepest_states::of(run, layers.last().filter(|_| format.shows_states()))?,
            waits: wait_times::WaitTimes::new(run)?,
            provenance: Provenance::new(run, &summary, workers)?,
            summary,
        })
    }

    /// Writes the whole report in a format.
    ///
    /// # Errors
    /// None: every report can be written in every format.
    pub fn to_text(&self, format: Format) -> Result<String> {
        match format {
            Format::Html => html::page(self),
            Format::Markdown => markdown::page(self),
            Format::Csv => table::csv(self),
            Format::Json => json::json(self),
            Format::Latex => Ok(latex::table(self)),
            Format::Bibtex => Ok(bibtex::entry(self)),
            Format::Oeis => Ok(oeis::b_file(self)),
            Format::Svg => Ok(plot::svg(&self.rows, self.summary.one_way().is_some())),
        }
    }
}
