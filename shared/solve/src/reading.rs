//! Reads states in any form in which users write them.

use super::model::SolveModel;
use fathom_algebra::OrientedPermutation;
use fathom_puzzle::load::scramble_file::{self, Scramble};
use fathom_puzzle::{PuzzleSpec, state_text, tiles};
use fathom_space::Labels;

/// How states are written.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    /// As moves that lead to them.
    pub scramble: bool,
    /// As tiles that are numbered from 1.
    pub from_one: bool,
    /// The labels of the pieces as the user gave them.
    pub labels: Option<&'a str>,
}

/// Returns the labels of pieces as text, for [`Form::labels`]; `None` if all are distinct.
pub fn labels_as_text(labels: &Labels) -> Option<String> {
    let written = || labels.of_pieces().iter().map(u16::to_string).collect::<Vec<_>>().join(",");
    (!labels.are_distinct()).then(written)
}

/// Reads a state, in any form that a user may write it.
///
/// # Errors
/// The reason, if the text is not a state.
pub fn state(
    form: Form<'_>,
    text: &str,
    model: &SolveModel,
    source: &PuzzleSpec,
) -> Result<OrientedPermutation, String> {
    if let Some((file, name)) = scramble_file(text) {
        return from_file(file, name, model, source);
    }
    if form.scramble {
        return moves(text, model, source);
    }
    if let PuzzleSpec::Board(board) = source {
        tiles::check_rows(text, board.columns()).map_err(|error| error.to_string())?;
    }
    let mut text = state_text::plain(text, source, form.labels.filter(|_| !form.from_one))?;
    if form.from_one && !model.counts_from_one() {
        text = tiles::counted_from_one(&text, source.cells())?;
    }
    model.read(&text, false).map_err(|error| error.to_string())
}

/// Reads moves, which may also turn the puzzle as a whole.
///
/// # Errors
/// The reason, if the text is not a sequence of moves.
pub fn moves(text: &str, model: &SolveModel, source: &PuzzleSpec) -> Result<OrientedPermutation, String> {
    let read = model.read(text, true);
    read.or_else(|error| state_text::scramble(text, source).ok_or(error.to_string()))
}

/// Returns the file and the name of a scramble, if a text names one: `tperm.scr`, `some.scr:NAME`.
fn scramble_file(text: &str) -> Option<(&str, Option<&str>)> {
    match text.split_once(".scr:") {
        Some((file, name)) => Some((&text[..file.len() + 4], Some(name))),
        None => text.ends_with(".scr").then_some((text, None)),
    }
}

/// Reads a scramble from a file of twsearch.
fn from_file(
    file: &str,
    name: Option<&str>,
    model: &SolveModel,
    source: &PuzzleSpec,
) -> Result<OrientedPermutation, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: cannot be read: {error}"))?;
    let definition = source.definition(source.metric()).map_err(|error| error.to_string())?;
    let mut scrambles =
        scramble_file::read(&text, &definition).map_err(|error| format!("{file}: {error}"))?;
    let known: Vec<String> = scrambles.iter().map(|(name, _)| name.clone()).collect();
    scrambles.retain(|(known, _)| name.is_none_or(|name| name == known));
    match &scrambles[..] {
        [(_, Scramble::Moves(text))] => {
            moves(text, model, source).map_err(|error| format!("{file}: {error}"))
        }
        [(_, Scramble::State(state))] => Ok(state.clone()),
        _ => Err(format!("write {file}:NAME with one of the scrambles of the file: {}", known.join(" "))),
    }
}
