//! `fathom puzzles`: lists the names of puzzles, with their known God's numbers.

use crate::arguments::PuzzlesArguments;
use anyhow::Result;
use fathom_command::{output, terminal_line};
use fathom_puzzle::family::sliding;
use fathom_puzzle::load::tokens;
use fathom_puzzle::{Family, Metric, PuzzleSpec, families};
use fathom_report::known_results::{GodsNumber, gods_numbers};
use fathom_report::text;
use serde::Serialize;
use std::io::IsTerminal;

/// The columns of the table.
const WIDTH: u16 = 120;

/// A row of the table, and an object of `puzzles --json`.
#[derive(Clone, Serialize)]
struct Known {
    /// The group of puzzles.
    group: &'static str,
    /// The name of the puzzle, or a pattern of names such as `MxN`.
    word: &'static str,
    /// A name of that pattern.
    example: &'static str,
    /// A description of the puzzle in one sentence.
    about: &'static str,
    /// The number of states.
    states: &'static str,
    /// The default metric.
    metric: Metric,
    /// The number of states with `--free-rotations`; `None` if the puzzle has no free rotations.
    states_in_hand: Option<&'static str>,
    /// The most useful command for the puzzle; `None` if no command accepts it.
    command: Option<&'static str>,
    /// Why the puzzle cannot be searched; `None` if it can.
    not_searched: Option<String>,
    /// Known God's numbers, computed by this program or published elsewhere.
    known: Vec<GodsNumber>,
}

impl Known {
    fn new(family: &Family) -> Self {
        let searched = PuzzleSpec::by_name(family.example).and_then(|source| source.puzzle(family.metric));
        let not_searched = match searched {
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        Self {
            group: family.group,
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

    /// Describes the puzzle in lines, for a terminal that is too narrow for the table.
    fn lines(&self) -> String {
        let Self { word, about, metric, states, .. } = self;
        let known = match self.gods_numbers() {
            none if none.is_empty() => none,
            some => format!("\n    God's number: {some}"),
        };
        format!("{word}: {about}\n    metric: {metric}; states: {states}{known}")
    }

    /// Formats the known God's numbers, each with its space and metric if these differ from those of the row.
    fn gods_numbers(&self) -> String {
        let words = |known: &GodsNumber| {
            let GodsNumber { space, metric, gods_number, inverse_closed, .. } = known;
            let space = if *space == self.word { String::new() } else { format!("{space}: ") };
            let metric = if *metric == self.metric { String::new() } else { format!(" {metric}") };
            let one_way = if *inverse_closed { "" } else { " one way" };
            format!("{space}{gods_number}{metric}{one_way}")
        };
        self.known.iter().map(words).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) fn puzzles(args: &PuzzlesArguments) -> Result<()> {
    let board = Known {
        group: "Boards",
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
    let sliding = Known {
        word: sliding::PATTERN,
        example: "sliding:3x4",
        about: "sliding tiles, such as the 15-puzzle: ,multi moves rows of tiles at once; ,torus; ,blank=CELL",
        states: "(R C)!, or half of that",
        metric: Metric::Given,
        ..board.clone()
    };
    let sliding = Known { known: Vec::new(), ..sliding };
    let tokens = Known {
        word: tokens::PATTERN,
        example: "tokens:docs/examples/theta.graph",
        about: "tokens on the vertices of a graph, whose edges a file lists; they slide to blank vertices",
        states: "n! / blanks!, or fewer",
        ..sliding.clone()
    };
    let all: Vec<Known> =
        [board, sliding, tokens].into_iter().chain(families().iter().map(Known::new)).collect();
    if args.json {
        return output::line(&serde_json::to_string(&all)?);
    }
    let groups = all.chunk_by(|one, other| one.group == other.group);
    if std::io::stdout().is_terminal() && terminal_line::columns() < WIDTH.into() {
        for group in groups {
            let lines: Vec<String> = group.iter().map(Known::lines).collect();
            output::line(&format!("{}:\n{}\n", group[0].group, lines.join("\n")))?;
        }
        return Ok(());
    }
    let row = |known: &Known| [known.word, &known.gods_numbers(), known.about].map(str::to_owned);
    let rows = groups.flat_map(|group| {
        let heading = [format!("{}:", group[0].group), String::new(), String::new()];
        std::iter::once(heading).chain(group.iter().map(row))
    });
    let header = ["name", "God's number", "description"];
    output::line(text::wrapped(header, rows, WIDTH).trim_end())
}
