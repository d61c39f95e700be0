//! `fathom bound`.

mod puzzle;
mod square1;

use crate::arguments::{BoundArguments, Bounded};
use anyhow::Result;
use fathom_command::bad_input;
use fathom_command::output;
use fathom_puzzle::{Board, Metric};
use fathom_report::text::{columns, grouped, many, plain};
use fathom_solve::bound::chain_search::{Progress, search};
use fathom_solve::bound::{
    Boards, Certificate, Chain, Cover, LowerBounds, NotBounded, UpperError, upper_bound,
};
use num_bigint::BigUint;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Instant;

pub(crate) fn bound(args: &BoundArguments) -> Result<()> {
    if args.by_last_line && !matches!(args.bounded, Bounded::Boards(Boards::One(_))) {
        return Err(bad_input!("--by-last-line takes a single board (ROWSxCOLUMNS)"));
    }
    let boards = match &args.bounded {
        Bounded::SquareOne => return square1::bound(args),
        Bounded::Puzzle(space, definition) => {
            let notes = definition.remarks_without_labels();
            notes.iter().for_each(|note| output::remark(note));
            let metric = args.metric.unwrap_or_else(|| definition.metric());
            let cover = Cover::new(definition, metric).map_err(|error| bad_input!("{error}"))?;
            return match args.upper {
                true => from_above(args, &cover, space),
                false => puzzle::from_below(&cover, &notes, args),
            };
        }
        Bounded::Boards(boards) => boards,
    };
    let metric = args.metric.unwrap_or_default();
    if !Metric::ALL.contains(&metric) {
        return Err(bad_input!("{}", NotBounded::OfBoard(metric)));
    }
    match (args.upper, boards) {
        (true, &Boards::One(board)) => from_above(args, &Cover::of_board(board, metric), &board.to_string()),
        (true, _) => Err(bad_input!("--upper takes a single board (ROWSxCOLUMNS)")),
        (false, _) => from_below(args, boards, metric),
    }
}

/// Bounds God's number of a puzzle from above. `space` is the name of the puzzle or the path of its file.
fn from_above(args: &BoundArguments, cover: &Cover, space: &str) -> Result<()> {
    let found = match (&args.chain, cover.board()) {
        (Some(chain), Some(board)) => {
            let chain = Chain::parse(chain, board).map_err(|error| bad_input!("--chain: {error}"))?;
            upper_bound(board, cover.metric(), &chain, args.radius, args.memory_bytes())
        }
        (Some(_), None) => {
            return Err(bad_input!(
                "--chain applies only to boards. Drop it to search for stages of {space}"
            ));
        }
        (None, _) => searched(args, cover, space),
    };
    let certificate = found.map_err(|error| bad_input!("{error}"))?;
    if args.json {
        return output::line(&serde_json::to_string(&certificate)?);
    }
    let stages = certificate.stages.iter().enumerate().map(|(at, stage)| {
        let moves = format!("{}{}", if stage.exact { "" } else { "at most " }, stage.moves);
        let states = grouped(&stage.states.into());
        [(at + 1).to_string(), stage.solved.len().to_string(), states, stage.words.len().to_string(), moves]
    });
    let table = plain(["stage", "solved", "states", "words", "moves"], stages);
    let together = match certificate.joined {
        true => format!(
            "Both stages together take at most {} moves: one of the many solutions of the first leaves little for the second.\n\n",
            certificate.upper_bound
        ),
        false => String::new(),
    };
    output::line(&format!(
        "{} {}\n\n{table}\n{together}God's number is at most {}",
        cover.name(),
        cover.metric(),
        certificate.upper_bound
    ))
}

/// Searches for a chain, printing a remark on each attempt.
fn searched(args: &BoundArguments, cover: &Cover, space: &str) -> Result<Certificate, UpperError> {
    let name = cover.name();
    let pieces = if cover.board().is_some() { "tiles" } else { "pieces" };
    let begun = Instant::now();
    let goes_on = || begun.elapsed().as_secs() < args.time;
    let mut least = u32::MAX;
    let mut tell = |told: &Progress| {
        let tried = match told {
            Progress::Tried(tried) => tried,
            Progress::Joined { order, joined } => {
                return output::remark(&format!(
                    "{name}, {order}: {} {pieces} in {}, the others in {}, at most {} in all",
                    joined.tiles.len(),
                    many(joined.first.into(), "move"),
                    joined.second,
                    many(joined.moves.into(), "move")
                ));
            }
        };
        let found = match &tried.best {
            Some((solved, moves)) if *moves < least => {
                least = *moves;
                let solved: Vec<String> = solved.iter().map(ToString::to_string).collect();
                let moves = many((*moves).into(), "move");
                format!("at most {moves}, with {} {pieces} solved after each stage", solved.join(", "))
            }
            Some(_) => "no improvement".into(),
            None => "no complete chain".into(),
        };
        output::remark(&format!(
            "{name}, {}, sequences of up to {}, stages of up to {} states, {} tried: {found}",
            tried.order,
            many(tried.longest as u64, "move"),
            grouped(&tried.table.into()),
            many(tried.stages as u64, "stage")
        ));
    };
    search(cover, space, args.radius, args.memory_bytes(), &goes_on, &mut tell)
}

fn from_below(args: &BoundArguments, boards: &Boards, metric: Metric) -> Result<()> {
    let of = |board| LowerBounds::new(board, metric, args.refine, args.memory_bytes());
    match boards {
        Boards::One(board) => {
            let bounds = of(*board);
            output::line(&match args.json {
                true => serde_json::to_string(&BoundReport::new(*board, metric, &bounds))?,
                false => text(*board, metric, &bounds, args.by_last_line),
            })
        }
        Boards::Sides(sides) => {
            // An m x n board is an n x m board, transposed.
            let boards = Boards::all(sides).filter(|board| board.rows() <= board.columns());
            let bounds: BTreeMap<(usize, usize), (Board, LowerBounds)> =
                boards.map(|board| (sorted_sides(board), (board, of(board)))).collect();
            output::line(&match args.json {
                true => {
                    let told = Boards::all(sides).map(|board| {
                        let (turned, bounds) = &bounds[&sorted_sides(board)];
                        match board == *turned {
                            true => BoundReport::new(board, metric, bounds),
                            false => BoundReport::new(board, metric, &bounds.turned(board, metric)),
                        }
                    });
                    serde_json::to_string(&told.collect::<Vec<_>>())?
                }
                false => tables(sides, args, metric, &bounds),
            })
        }
    }
}

/// Returns the shorter and the longer side, so that an m x n and an n x m board share an entry.
fn sorted_sides(board: Board) -> (usize, usize) {
    (board.rows().min(board.columns()), board.rows().max(board.columns()))
}

/// The object that `bound --json` prints for a board. Counts that may exceed 64 bits are strings.
#[derive(Serialize)]
struct BoundReport {
    space: String,
    metric: Metric,
    states: String,
    /// The best of the bounds.
    bound: u32,
    arrangements: u32,
    parity: u32,
    refined: Option<u32>,
    /// The distance up to which states were enumerated.
    depth: Option<u32>,
    automaton_states: Option<usize>,
    lengths: Vec<LengthRow>,
}

/// The counts for one length.
#[derive(Serialize)]
struct LengthRow {
    arrangements: String,
    /// The number of arrangements that end with each line: columns first, then rows.
    by_last_line: Vec<String>,
    refined: Option<String>,
}

impl BoundReport {
    fn new(board: Board, metric: Metric, bounds: &LowerBounds) -> Self {
        let refined = bounds.refined.as_ref();
        let lengths = bounds.rows.iter().enumerate().map(|(length, row)| LengthRow {
            arrangements: row.total.total().to_string(),
            by_last_line: row.by_last_line.iter().map(|tally| tally.total().to_string()).collect(),
            refined: refined.map(|refined| refined.counts[length].total().to_string()),
        });
        Self {
            space: board.to_string(),
            metric,
            states: bounds.states.to_string(),
            bound: bounds.best(),
            arrangements: bounds.arrangements,
            parity: bounds.parity,
            refined: refined.map(|refined| refined.bound),
            depth: refined.map(|refined| refined.depth),
            automaton_states: refined.map(|refined| refined.automaton),
            lengths: lengths.collect(),
        }
    }
}

fn text(board: Board, metric: Metric, bounds: &LowerBounds, by_last_line: bool) -> String {
    let mut sums = [BigUint::ZERO, BigUint::ZERO];
    let rows = bounds.rows.iter().enumerate().map(|(length, row)| {
        let arrangements = row.total.total();
        sums[0] += &arrangements;
        let refined = bounds.refined.as_ref().map(|refined| refined.counts[length].total());
        let mut cells = vec![length.to_string()];
        if by_last_line {
            cells.extend(row.by_last_line.iter().map(|tally| grouped(&tally.total())));
        }
        cells.extend([grouped(&arrangements), grouped(&sums[0])]);
        if let Some(refined) = refined {
            sums[1] += &refined;
            cells.extend([grouped(&refined), grouped(&sums[1])]);
        }
        cells
    });
    let mut header = vec!["length".to_owned()];
    if by_last_line {
        header.extend(board.lines().map(|line| line.move_name(1)));
    }
    header.extend(["arrangements", "cumulative"].map(str::to_owned));
    if bounds.refined.is_some() {
        header.extend(["refined", "cumulative"].map(str::to_owned));
    }
    let table = columns(&header, rows);
    let mut text = format!(
        "{board} {metric}: {} states\n\n{table}\nGod's number is at least\n",
        grouped(&bounds.states)
    );
    let mut line = |bound: u32, by: &str| text.push_str(&format!("{bound:>4}  by {by}\n"));
    line(bounds.arrangements, "arrangements");
    line(bounds.parity, "arrangements of each parity");
    if let Some(refined) = &bounds.refined {
        let by = format!(
            "counting sequences without redundant parts of up to {} ({} in the automaton)",
            many(refined.depth.into(), "move"),
            many(refined.automaton as u64, "state")
        );
        line(refined.bound, &by);
    }
    text.trim_end().into()
}

/// Writes one table of rows against columns for each way of counting.
fn tables(
    sides: &RangeInclusive<usize>,
    args: &BoundArguments,
    metric: Metric,
    bounds: &BTreeMap<(usize, usize), (Board, LowerBounds)>,
) -> String {
    let table = |title: &str, of: &dyn Fn(&LowerBounds) -> String| {
        let cell = |rows: usize, columns: usize| of(&bounds[&(rows.min(columns), rows.max(columns))].1);
        let width = 4;
        let line = |first: String, cells: Vec<String>| {
            let cells: String = cells.iter().map(|cell| format!(" {cell:>width$}")).collect();
            format!("{first:>width$}{cells}\n")
        };
        let mut text = format!("{title}\n\n");
        text += &line(String::new(), sides.clone().map(|columns| columns.to_string()).collect());
        for rows in sides.clone() {
            text += &line(rows.to_string(), sides.clone().map(|columns| cell(rows, columns)).collect());
        }
        text
    };
    let mut text = format!("{metric}: lower bounds on God's number, by rows and columns\n\n");
    text += &table("by arrangements", &|bounds| bounds.arrangements.to_string());
    text.push('\n');
    text += &table("by arrangements of each parity", &|bounds| bounds.parity.to_string());
    if args.refine.is_some() {
        let refined = |bounds: &LowerBounds| bounds.refined.clone();
        text.push('\n');
        text += &table("by words whose subwords are normal forms", &|bounds| {
            refined(bounds).map_or_else(String::new, |refined| refined.bound.to_string())
        });
        text.push('\n');
        text += &table("maximum length of these subwords, in moves", &|bounds| {
            refined(bounds).map_or_else(String::new, |refined| refined.depth.to_string())
        });
    }
    text.trim_end().into()
}
