//! `fathom distance`.

use crate::arguments::DistanceArguments;
use anyhow::{Context, Result};
use fathom_algebra::OrientedPermutation;
use fathom_command::{bad_input, lines, output};
use fathom_engine::directory::RunDirectory;
use fathom_layer::LocalDisk;
use fathom_solve::reading::{self, Form, labels_as_text};
use fathom_solve::solutions::{keeps_all, not_kept};
use fathom_solve::{DistanceTable, LayerDistances, SolveModel, SpaceWords};
use rayon::prelude::*;
use serde_json::json;
use std::io::{self, BufRead, Write};

/// How many bytes are read at once: lines that are there already are answered together, by all threads.
const CHUNK_BYTES: usize = 1 << 20;

/// How many lines a thread answers at a time.
const LINES: usize = 256;

pub(crate) fn distance(args: &DistanceArguments) -> Result<()> {
    if DistanceTable::is_one(&args.dir) {
        return of_table(args);
    }
    let run = RunDirectory::open_for_reading(&args.dir)?;
    if !keeps_all(&run)? {
        return Err(not_kept(&run, &run.visited()?.layers, None));
    }
    let kept = LayerDistances::new(&run, args.memory_bytes(), &LocalDisk)?;
    let mut kept = kept.context("the layers of the run are on its workers")?;
    kept.tabulate(args.memory_bytes())?;
    let model = SolveModel::new(&run.manifest.spec).map_err(|error| bad_input!("{error}"))?;
    let words = SpaceWords::new(&model, &run.space);
    let finished = (!kept.is_complete()).then(|| kept.layers().len() - 1);
    let reader = Reader { args, model: &model, labels: labels_as_text(&run.manifest.spec.labels), finished };
    answer_all(args, |lines| {
        if let Some(table) = kept.table() {
            return in_parts(lines, |part| {
                let (mut finder, mut state) = (table.finder(), Vec::new());
                let mut depth_of = |word: &[u8]| {
                    words.write_in_space(word, &mut state).then(|| finder.depth_of(&state)).flatten()
                };
                part.iter().map(|&line| reader.answer(line, |word| Ok(depth_of(word)))).collect()
            });
        }
        let mut depth_of = |word: &[u8]| words.in_space(word).map_or(Ok(None), |word| kept.depth_of(&word));
        lines.iter().map(|&line| reader.answer(line, &mut depth_of)).collect()
    })
}

/// Answers from a table.
fn of_table(args: &DistanceArguments) -> Result<()> {
    let table = DistanceTable::open(&args.dir)?;
    let spec = table.spec();
    let model = SolveModel::new(spec).map_err(|error| bad_input!("{error}"))?;
    let distances = table.for_model(&model, spec)?;
    let reader = Reader { args, model: &model, labels: labels_as_text(&spec.labels), finished: None };
    answer_all(args, |lines| {
        in_parts(lines, |part| {
            part.iter().map(|&line| reader.answer(line, |word| Ok(distances.distance_of_any(word)))).collect()
        })
    })
}

/// The answer to a line; an error says that the line is no state that the puzzle can reach.
type Answer = Result<String, String>;

/// Answers lines in several threads.
fn in_parts(
    lines: &[(u64, &str)],
    of_part: impl Fn(&[(u64, &str)]) -> Result<Vec<Answer>> + Send + Sync,
) -> Result<Vec<Answer>> {
    let parts: Vec<Vec<Answer>> = lines.par_chunks(LINES).map(of_part).collect::<Result<_>>()?;
    Ok(parts.into_iter().flatten().collect())
}

/// Reads lines, and writes the answers.
fn answer_all(
    args: &DistanceArguments,
    mut answers: impl FnMut(&[(u64, &str)]) -> Result<Vec<Answer>>,
) -> Result<()> {
    let mut input = lines::input(args.file.as_deref().unwrap_or("-"), CHUNK_BYTES)?;
    let mut number = 0;
    loop {
        let text = lines_that_are_there(&mut *input)?;
        if text.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8(text).map_err(|_| bad_input!("after line {number}: not UTF-8 text"))?;
        let lines: Vec<(u64, &str)> = (number + 1..).zip(text.lines()).collect();
        number += lines.len() as u64;
        let mut written = String::new();
        let mut bad = None;
        for answer in answers(&lines)? {
            match answer {
                Ok(line) => written = written + &line + "\n",
                Err(error) => {
                    bad = Some(error);
                    break;
                }
            }
        }
        let mut out = io::stdout().lock();
        output::written(out.write_all(written.as_bytes()).and_then(|()| out.flush()))?;
        if let Some(error) = bad {
            return Err(bad_input!("{error}"));
        }
    }
}

/// Waits for a line, and returns it with all lines after it that have arrived.
fn lines_that_are_there(input: &mut dyn BufRead) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let there = input.fill_buf().context("cannot read the states")?;
    let whole = there.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    text.extend_from_slice(&there[..whole]);
    input.consume(whole);
    if whole == 0 {
        input.read_until(b'\n', &mut text).context("cannot read the states")?;
    }
    Ok(text)
}

/// What lines are answered with.
struct Reader<'a> {
    args: &'a DistanceArguments,
    model: &'a SolveModel,
    labels: Option<String>,
    /// The depth of the last layer, unless all states were visited.
    finished: Option<usize>,
}

impl Reader<'_> {
    /// Answers a line. The inner error says that the line is no state that the puzzle can reach.
    fn answer(
        &self,
        (number, line): (u64, &str),
        depth_of: impl FnOnce(&[u8]) -> Result<Option<u32>>,
    ) -> Result<Answer> {
        let state = match self.state(line) {
            Ok(state) => state,
            Err(why) => return Ok(self.refusal(number, &why)),
        };
        let depth = depth_of(&self.model.word(&state))?;
        Ok(match (depth, self.finished) {
            (Some(depth), _) if self.args.json => {
                Ok(json!({ "line": number, "distance": depth }).to_string())
            }
            (Some(depth), _) => Ok(depth.to_string()),
            (None, Some(last)) if self.args.json => {
                Ok(json!({ "line": number, "distance": null, "more_than": last }).to_string())
            }
            (None, Some(last)) => Ok(format!(">{last}")),
            (None, None) => {
                let why = self.model.why_not(&state).map_or_else(String::new, |why| format!(": {why}"));
                self.refusal(number, &format!("{} cannot reach this state{why}", self.model.name()))
            }
        })
    }

    /// Reads a state, or moves that lead to it.
    fn state(&self, line: &str) -> Result<OrientedPermutation, String> {
        let Self { args, model, .. } = self;
        let form = Form { scramble: args.scramble, from_one: args.from_one, labels: self.labels.as_deref() };
        reading::state(form, line, model, model.source()).or_else(|why| match args.scramble {
            true => Err(why),
            false => reading::moves(line, model, model.source()).map_err(|_| why),
        })
    }

    /// Returns the answer to a line that is no state: an error, or with `--json` an answer like others.
    fn refusal(&self, line: u64, why: &str) -> Answer {
        match self.args.json {
            true => Ok(json!({ "line": line, "error": why }).to_string()),
            false => Err(format!("line {line}: {why}")),
        }
    }
}
