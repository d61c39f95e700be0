//! `fathom pieces`: lists the pieces of a puzzle, with the numbers and names that `--track` takes.

use crate::arguments::PiecesArguments;
use anyhow::Result;
use fathom_command::{bad_input, output};
use fathom_puzzle::PuzzleSpec;
use fathom_report::text;
use serde_json::json;

pub(crate) fn pieces(args: &PiecesArguments) -> Result<()> {
    let source = PuzzleSpec::by_name(&args.puzzle).map_err(|error| bad_input!("{error}"))?;
    let definition = source.definition(source.metric()).map_err(|error| bad_input!("{error}"))?;
    let names = PuzzleSpec::piece_names(&args.puzzle);
    let name = |cell: usize| names.as_ref().map(|names| names[cell]);
    let pieces = definition.solved().iter().zip(definition.orientation_counts()).enumerate();
    if args.json {
        let piece = |(cell, (piece, orientations)): (usize, (&fathom_puzzle::Piece, u16))| {
            json!({
                "number": cell,
                "name": name(cell),
                "orbit": definition.orbits()[definition.orbit_of(cell)].name,
                "cell": cell + 1,
                "orientations": orientations,
                "visible_orientations": piece.seen,
                "label": piece.label,
            })
        };
        let pieces: Vec<_> = pieces.map(piece).collect();
        return output::line(&json!({ "puzzle": source.name(), "pieces": pieces }).to_string());
    }
    let rows = pieces.map(|(cell, (piece, orientations))| {
        [
            cell.to_string(),
            name(cell).unwrap_or("-").to_owned(),
            definition.orbits()[definition.orbit_of(cell)].name.clone(),
            (cell + 1).to_string(),
            if piece.seen == orientations {
                orientations.to_string()
            } else {
                format!("{} of {orientations}", piece.seen)
            },
            piece.label.to_string(),
        ]
    });
    let header = ["piece", "name", "orbit", "cell", "orientations", "label"];
    output::line(text::wrapped(header, rows, 100).trim_end())
}
