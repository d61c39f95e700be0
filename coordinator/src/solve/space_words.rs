//! The words of a model and those of the space of the same question, which have other letters.

use super::model::Model;
use fathom_space::Space;

/// For each cell the letters of both that tell the same.
#[derive(Clone, Debug)]
pub struct SpaceWords {
    /// By cell and letter of the model.
    in_space: Vec<Vec<Option<u8>>>,
    /// By cell and letter of the space.
    in_model: Vec<Vec<Option<u8>>>,
}

impl SpaceWords {
    /// Of a model and the space of the same question.
    pub fn new(model: &Model, space: &Space) -> Self {
        let none = vec![vec![None; 256]; space.cells()];
        let (mut in_space, mut in_model) = (none.clone(), none);
        let (orders, solved) = (model.definition.orders(), model.definition.solved());
        for orbit in space.puzzle().orbits() {
            for (&piece, &cell) in orbit.iter().flat_map(|piece| orbit.iter().map(move |cell| (piece, cell)))
            {
                for turn in 0..orders[piece] {
                    // A space counts the orientations of pieces from those that they have when solved.
                    let counted = turn + solved[piece].orientation + orders[piece] - solved[cell].orientation;
                    let label = space.labels().of_pieces()[piece];
                    let seen = u16::from(space.letters().seen(label));
                    let theirs = space.letters().letter(label, (counted % orders[piece] % seen) as u8);
                    let ours = model.alphabet.letter(piece, turn);
                    in_space[cell][usize::from(ours)] = Some(theirs);
                    in_model[cell][usize::from(theirs)] = Some(ours);
                }
            }
        }
        Self { in_space, in_model }
    }

    /// The word of the space for one of the model; `None` if no moves bring a piece to where it stands.
    pub fn in_space(&self, word: &[u8]) -> Option<Vec<u8>> {
        translated(&self.in_space, word)
    }

    /// The word of the model for one of the space.
    pub fn in_model(&self, word: &[u8]) -> Option<Vec<u8>> {
        translated(&self.in_model, word)
    }
}

fn translated(letters: &[Vec<Option<u8>>], word: &[u8]) -> Option<Vec<u8>> {
    letters.iter().zip(word).map(|(letters, &letter)| letters[usize::from(letter)]).collect()
}
