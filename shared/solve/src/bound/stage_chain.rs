//! Chains: the tiles that are solved after each stage of a solution of a board.

use fathom_puzzle::Board;
use fathom_space::Labels;
use fathom_space::labels::LabelError;

/// Growing sets of tiles, the last of which contains all tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The tiles that are solved after each stage, in increasing order.
    pub stages: Vec<Vec<usize>>,
}

/// Why a text is not a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// A stage is not a list of tiles.
    #[error("stage {text:?}: {error}")]
    Tiles {
        /// The stage as written.
        text: String,
        /// The reason.
        error: LabelError,
    },
    /// A stage does not keep all solved tiles, or solves no further tile.
    #[error(
        "stage {0:?} must contain all tiles of the stage before it and at least one more, for example \"0-3;0-7;0-15\" (a stage that leaves only one tile solves that tile too)"
    )]
    NotGrowing(String),
    /// The last stage does not solve all tiles.
    #[error("the last stage {0:?} must contain all tiles, 0-{1}")]
    NotAll(String, usize),
}

impl Chain {
    /// Reads stages such as `0-3;0-7;0-15`, each with all tiles that are solved after it. A stage that leaves
    /// one tile has solved that tile too.
    ///
    /// # Errors
    /// [`ChainError`] for the first stage that is malformed or does not grow, or if tiles are left at the
    /// end.
    pub fn parse(text: &str, board: Board) -> Result<Self, ChainError> {
        let mut stages: Vec<Vec<usize>> = Vec::new();
        for part in text.split(';') {
            let labels = Labels::parse_tracked(part, board.cells())
                .map_err(|error| ChainError::Tiles { text: part.into(), error })?;
            let is_alone = |tile: &usize| labels.sizes()[usize::from(labels.of_pieces()[*tile])] == 1;
            let tiles: Vec<usize> = (0..board.cells()).filter(is_alone).collect();
            let before = stages.last().map_or(&[][..], Vec::as_slice);
            if tiles.len() <= before.len() || !before.iter().all(|tile| tiles.contains(tile)) {
                return Err(ChainError::NotGrowing(part.into()));
            }
            stages.push(tiles);
        }
        match stages.last() {
            Some(last) if last.len() == board.cells() => Ok(Self { stages }),
            _ => Err(ChainError::NotAll(text.rsplit(';').next().unwrap_or(text).into(), board.cells() - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stages_grow_to_all_tiles() {
        let board = Board::new(2, 3).unwrap();
        let stages = |text| Chain::parse(text, board).map(|chain| chain.stages);
        assert_eq!(stages("0-2;0-5"), Ok(vec![vec![0, 1, 2], vec![0, 1, 2, 3, 4, 5]]));
        assert_eq!(stages("5,0;0-1,5;0-4"), Ok(vec![vec![0, 5], vec![0, 1, 5], vec![0, 1, 2, 3, 4, 5]]));
        assert_eq!(stages("0-2;3-5"), Err(ChainError::NotGrowing("3-5".into())));
        assert_eq!(stages("0-2;0-2;0-5"), Err(ChainError::NotGrowing("0-2".into())));
        assert_eq!(stages("0-2;0-3"), Err(ChainError::NotAll("0-3".into(), 5)));
        assert!(matches!(stages("0-2;"), Err(ChainError::Tiles { .. })));
        assert!(matches!(
            stages("0-6"),
            Err(ChainError::Tiles { error: LabelError::OffTheBoard { .. }, .. })
        ));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in "\\PC*|[0-9,;-]{0,12}") {
            match Chain::parse(&text, Board::new(2, 3).unwrap()) {
                Ok(chain) => prop_assert_eq!(chain.stages.last().unwrap().len(), 6),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
