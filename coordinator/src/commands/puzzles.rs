//! `fathom puzzles`: the words that name a puzzle, and what is known of some.

use crate::arguments::PuzzlesArguments;
use anyhow::Result;
use fathom_command::output;
use fathom_puzzle::{Family, Metric, PuzzleSpec, families};
use fathom_report::known::{GodsNumber, gods_numbers};
use fathom_report::text;
use serde::Serialize;

/// Columns of a terminal that the table fits into.
const WIDTH: u16 = 120;

/// One line, and the fields of `puzzles --json`.
#[derive(Serialize)]
struct Known {
    /// The word, or its pattern.
    word: &'static str,
    /// A word of that pattern.
    example: &'static str,
    /// What it is.
    about: &'static str,
    /// How many states it has.
    states: &'static str,
    /// The metric that is meant unless another one is asked for.
    metric: Metric,
    /// How many states it has with --free-rotations; `None` where there is no such thing.
    states_in_hand: Option<&'static str>,
    /// The command that does most with it; `None` if none does anything.
    command: Option<&'static str>,
    /// What speaks against a search; `None` if nothing does.
    not_searched: Option<String>,
    /// God's numbers that were found here and elsewhere.
    known: Vec<GodsNumber>,
}

impl Known {
    fn of(family: &Family) -> Self {
        let searched = PuzzleSpec::by_name(family.example).and_then(|source| source.puzzle(family.metric));
        let not_searched = match searched {
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        Self {
            word: family.pattern,
            example: family.example,
            about: family.about,
            states: family.states,
            metric: family.metric,
            states_in_hand: family.in_hand.as_ref().map(|in_hand| in_hand.states),
            command: Some(if not_searched.is_none() { "run" } else { "group" }),
            not_searched,
            known: gods_numbers(family.pattern),
        }
    }

    /// God's numbers in a few words: the space and the metric where they are not those of the line.
    fn gods_numbers(&self) -> String {
        let words = |known: &GodsNumber| {
            let GodsNumber { space, metric, gods_number, .. } = known;
            let space = if *space == self.word { String::new() } else { format!("{space}: ") };
            let metric = if *metric == self.metric { String::new() } else { format!(" {metric}") };
            format!("{space}{gods_number}{metric}")
        };
        self.known.iter().map(words).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) fn puzzles(args: &PuzzlesArguments) -> Result<()> {
    let board = Known {
        word: "MxN",
        example: "3x4",
        about: "the two-dimensional magic cube, or Loopover: rows and columns of a board rotate",
        states: "(M N)!, or half of that",
        metric: Metric::Multi,
        states_in_hand: None,
        command: Some("run"),
        not_searched: None,
        known: gods_numbers("MxN"),
    };
    let all: Vec<Known> = std::iter::once(board).chain(families().iter().map(Known::of)).collect();
    if args.json {
        return output::line(&serde_json::to_string(&all)?);
    }
    let rows = all.iter().map(|known| {
        let row = [known.word, known.metric.word(), known.states, &known.gods_numbers(), known.about];
        row.map(str::to_owned)
    });
    let header = ["word", "metric", "states", "God's number", "what it is"];
    output::line(text::wrapped(header, rows, WIDTH).trim_end())
}
