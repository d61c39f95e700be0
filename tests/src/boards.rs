//! Small boards of every kind, for properties that must hold for all of them.

use fathom_engine::run::SpaceSpec;
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::Labels;
use proptest::prelude::*;

/// Generates a board with a metric and labels: some tiles have labels of their own, and the others share up
/// to four labels.
pub fn labelled_boards() -> impl Strategy<Value = SpaceSpec> {
    let board = prop::sample::select(vec!["2x3", "3x3", "2x4", "4x2", "3x2", "1x6"]);
    let metric = prop::sample::select(Metric::ALL.to_vec());
    (board, metric, prop::collection::vec(0..4_usize, 9), 0..9_usize).prop_map(
        |(board, metric, labels, distinct)| {
            let board: Board = board.parse().expect("valid boards");
            let label = |tile| if tile < distinct { 10 + tile } else { labels[tile] };
            let labels = Labels::from_values((0..board.cells()).map(label));
            SpaceSpec { source: PuzzleSpec::Board(board), metric, labels }
        },
    )
}
