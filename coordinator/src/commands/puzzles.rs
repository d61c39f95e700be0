//! `fathom puzzles`: the words that name a puzzle.

use crate::arguments::PuzzlesArguments;
use anyhow::Result;
use fathom_command::output;
use fathom_coordinator::table;
use fathom_puzzle::{Family, Metric, Source, families};
use serde::Serialize;

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
    /// What speaks against a search; `None` if nothing does.
    not_searched: Option<String>,
}

impl Known {
    fn of(family: &Family) -> Self {
        let searched = Source::of_word(family.example).and_then(|source| source.puzzle(family.metric));
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
            not_searched,
        }
    }
}

pub(crate) fn puzzles(asked: &PuzzlesArguments) -> Result<()> {
    let board = Known {
        word: "MxN",
        example: "3x4",
        about: "the two-dimensional magic cube, or Loopover: rows and columns of a board rotate",
        states: "(M N)!, half of that if M and N are odd",
        metric: Metric::Multi,
        not_searched: None,
    };
    let all: Vec<Known> = std::iter::once(board).chain(families().iter().map(Known::of)).collect();
    if asked.json {
        return output::line(&serde_json::to_string(&all)?);
    }
    let rows = all.iter().map(|known| {
        let searched = if known.not_searched.is_none() { "run" } else { "group" };
        let row = [known.word, known.metric.word(), searched, known.states, known.about];
        row.map(str::to_owned)
    });
    output::line(table::left(["word", "metric", "for", "states", "what it is"], rows).trim_end())
}
