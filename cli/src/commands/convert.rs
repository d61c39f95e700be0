//! `fathom convert`.

use crate::arguments::ConvertArguments;
use anyhow::{Result, ensure};
use fathom_command::{bad_input, output};
use fathom_puzzle::{Definition, PuzzleSpec, RotationNormalizer, family};

pub(crate) fn convert(args: &ConvertArguments) -> Result<()> {
    let whole = in_the_hand(&args.puzzle)?;
    let held = RotationNormalizer::new(&whole).map_err(|error| bad_input!("{error}"))?;
    let converted = held.convert(&args.sequence).map_err(|error| bad_input!("{error}"))?;
    ensure!(
        held.are_alike(&args.sequence, &converted)?,
        "the sequence {converted} does not lead where {} leads: this is a fault in fathom",
        args.sequence
    );
    if converted.is_empty() {
        output::remark("the sequence only turns the whole: no move is left");
    }
    output::line(&converted)
}

/// Returns the puzzle with this name and its free moves. If the puzzle has no free moves, like the 2x2x2 held
/// at a corner, returns the puzzle of its family that is held in the hand, if there is one.
fn in_the_hand(word: &str) -> Result<Definition> {
    match PuzzleSpec::by_name(word).map_err(|error| bad_input!("{error}"))? {
        PuzzleSpec::Board(board) => {
            Err(bad_input!("{board} is a board: it has no free moves, and nothing is converted"))
        }
        PuzzleSpec::Defined(definition) if definition.free().is_empty() => {
            Ok(family::in_hand(word).unwrap_or(*definition))
        }
        PuzzleSpec::Defined(definition) => {
            definition.remarks_without_labels().into_iter().for_each(output::remark);
            Ok(*definition)
        }
    }
}
