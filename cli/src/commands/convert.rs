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
        "the result {converted} is not equivalent to {}; this is a bug in fathom",
        args.sequence
    );
    if converted.is_empty() {
        output::remark("the sequence only rotates the whole puzzle; no moves remain");
    }
    output::line(&converted)
}

/// Returns the puzzle with this name and its rotations. If the puzzle has no rotations, like the 2x2x2 with a
/// fixed corner, returns the member of its family that has them, if there is one.
fn in_the_hand(word: &str) -> Result<Definition> {
    match PuzzleSpec::by_name(word).map_err(|error| bad_input!("{error}"))? {
        PuzzleSpec::Board(board) => {
            Err(bad_input!("{board} is a board, which has no whole-puzzle rotations to convert"))
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
