//! Words and pieces: what words tell of pieces, which word a state has, and which pieces stand on the cells
//! of the puzzle in a word.

use super::{Space, group};
use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::with_hold;
use std::borrow::Cow;

impl Space {
    /// Returns whether pieces have orientations that are told apart. Facelets have none.
    pub fn has_turns(&self) -> bool {
        let on_words = || self.letters.width() > 1 || !self.rings.is_empty();
        match &self.facelets {
            Some(facelets) => facelets.given_cells().iter().any(|&(_, order)| order > 1),
            None => self.told.as_ref().map_or_else(on_words, |told| told.has_turns()),
        }
    }

    /// Returns whether the puzzle is searched by other pieces than it is given with, and those that it is
    /// given with turn.
    pub fn has_found_turns(&self) -> bool {
        self.facelets.is_some() && self.has_turns()
    }

    /// Returns whether words tell only some of the pieces apart, because there are too many pieces for
    /// letters. The states are those of all pieces nevertheless.
    pub fn tells_only_some(&self) -> bool {
        self.told.is_some()
    }

    /// Returns the number of pieces that words tell apart, and the number of all pieces, if words
    /// [tell only some](Space::tells_only_some).
    pub fn told_apart(&self) -> Option<(usize, usize)> {
        self.told.as_ref().map(|told| told.count())
    }

    /// Returns a function that tells whether moves lead from the solved state to the state with these pieces
    /// on the cells of the puzzle. The function ignores guards. `None` unless all pieces are told apart and
    /// do not turn.
    pub fn membership(&self) -> Option<impl Fn(&[u16]) -> bool> {
        let told = self.told.clone();
        let (facelets, left_out) = (self.facelets.clone(), self.left_out.clone());
        let chain = (told.is_none() && left_out.is_none()).then(|| group(&self.puzzle));
        let is_member = move |pieces: &[u16]| {
            let element = Permutation::from_images(pieces).ok();
            let element = element.and_then(|element| match &facelets {
                Some(facelets) => facelets.action(&element),
                None => Some(OrientedPermutation::from_cells(element)),
            });
            element.is_some_and(|element| match (&told, &left_out) {
                (Some(told), _) => told.contains(&element),
                (_, Some(left_out)) => left_out.behind(&element).is_some(),
                _ => chain.as_ref().is_some_and(|chain| chain.contains(&element.as_points())),
            })
        };
        (!self.has_turns() && self.piece_labels.are_distinct()).then_some(is_member)
    }

    /// Returns the word of the state to which a permutation of the puzzle's cells leads from the solved
    /// state.
    ///
    /// # Panics
    /// If the puzzle is given by facelets and the permutation tears its pieces.
    pub fn word(&self, state: &OrientedPermutation) -> Vec<u8> {
        let state = match &self.facelets {
            Some(facelets) => &facelets.action(&state.as_points()).expect("a state keeps pieces together"),
            None => state,
        };
        let state = match &self.told {
            Some(told) => &told.action(state).expect("a state keeps pieces in their orbits"),
            None => state,
        };
        let state = match self.is_held {
            true => self.rings.action(&with_hold(state, 0)),
            false => self.rings.action(state),
        };
        self.word_on(&state)
    }

    /// Returns the word of the state to which a permutation of the cells of words leads. Of the words that
    /// all free moves of the puzzle make of it, the result is one to which moves lead, with the free moves
    /// that are not left out.
    fn word_on(&self, state: &OrientedPermutation) -> Vec<u8> {
        let behind = self.left_out.as_ref().and_then(|left_out| left_out.behind(state));
        let state = behind.map_or(Cow::Borrowed(state), |free| Cow::Owned(state.then(free)));
        let mut word = vec![0; self.cells()];
        for (piece, &label) in self.labels.of_pieces().iter().enumerate() {
            let shown = u16::from(self.letters.seen(label));
            let turn = (state.turns()[piece] % shown) as u8;
            word[state.cells().apply(piece)] = self.letters.letter(label, turn);
        }
        word
    }

    /// Returns the permutation that leads to the state with these labels and orientations on the cells that
    /// words have before rings are made; `None` if two labels are equal. All pieces must be told apart.
    fn state_with(&self, on_cells: &[(u16, u8)]) -> Option<OrientedPermutation> {
        let order = |&(first, size): &(usize, u16)| if size == 1 { self.orders[first] } else { size };
        let orders: Vec<u16> = self.rings.spread().iter().map(order).collect();
        let (mut cells, mut turns) = (vec![0_u16; orders.len()], vec![0_u16; orders.len()]);
        for (&(label, orientation), cell) in on_cells.iter().zip(0..) {
            let piece = self.cell_labels.of_pieces().iter().position(|&of_piece| of_piece == label)?;
            (cells[piece], turns[piece]) = (cell, orientation.into());
        }
        OrientedPermutation::new(Permutation::from_images(cells).ok()?, turns, orders).ok()
    }

    /// Returns what stands on each cell of the puzzle: the [label of the piece](Space::piece_labels), and its
    /// orientation.
    ///
    /// If words tell only some of the pieces apart, and no moves lead to the word, the first piece stands on
    /// every cell of the result, which is then no state.
    pub fn pieces(&self, word: &[u8]) -> Vec<(u16, u8)> {
        let on_cells = match &self.told {
            None => self.on_cells(word),
            Some(told) => {
                let stands = |cell: usize| word.iter().position(|&letter| letter == self.solved[cell]);
                let Some(pieces) = told.pieces(stands) else {
                    return vec![(0, 0); self.piece_labels.pieces()];
                };
                pieces.into_iter().map(|(piece, turn)| (piece as u16, turn as u8)).collect()
            }
        };
        let Some(facelets) = &self.facelets else { return on_cells };
        let on = |&(first, order): &(usize, u16)| {
            // All pieces are told apart, and their labels are their numbers.
            let (piece, turn) = on_cells[facelets.place(first).0];
            let (piece, number) = facelets.given(facelets.seen_at(first, piece.into(), turn.into()));
            (self.piece_labels.of_pieces()[piece], ((order - number) % order) as u8)
        };
        facelets.given_cells().iter().map(on).collect()
    }

    /// Returns the label and the orientation of the piece on each cell that words have before rings are made.
    fn on_cells(&self, word: &[u8]) -> Vec<(u16, u8)> {
        let last = self.cells() - 1;
        let turned =
            (self.is_held && word[last] != self.solved[last]).then(|| self.image(&self.free[1], word));
        let word = turned.as_deref().unwrap_or(word);
        let spread = &self.rings.spread()[..self.cell_labels.pieces()];
        let on = |(cell, &(first, size)): (usize, &(usize, u16))| match size {
            1 => {
                let mark = self.letters.mark(word[first]);
                let piece = (0..self.rings.spread().len()).find(|&piece| self.label(piece) == mark);
                let piece = piece.expect("every label has a piece");
                (self.cell_labels.of_pieces()[piece], self.letters.orientation(word[first]))
            }
            size => {
                let turn = (0..usize::from(size)).find(|at| word[first + at] == self.solved[first]);
                (self.cell_labels.of_pieces()[cell], turn.expect("a ring has its mark") as u8)
            }
        };
        spread.iter().enumerate().map(on).collect()
    }

    /// Returns the word of the state with these labels and orientations on the cells of the puzzle: the
    /// inverse of [`Space::pieces`].
    pub fn word_of_pieces(&self, pieces: &[(u16, u8)]) -> Vec<u8> {
        let on_cells: Vec<(u16, u8)> = match &self.facelets {
            None => pieces.to_vec(),
            Some(facelets) => {
                let piece_on = |first: usize| {
                    let labels = self.piece_labels.of_pieces();
                    let (cell, number) = facelets.given(first);
                    let (label, orientation) = pieces[cell];
                    let piece = labels.iter().position(|&of_piece| of_piece == label);
                    let (facelet, order) = facelets.given_cells()[piece.expect("every label has a piece")];
                    let seen = (number + order - u16::from(orientation)) % order;
                    let (piece, turn) = facelets.piece_with(facelet + usize::from(seen));
                    (piece as u16, turn as u8)
                };
                facelets.first_facelets().map(piece_on).collect()
            }
        };
        if let Some(told) = &self.told {
            // All pieces are told apart, and their labels are their numbers.
            let on_cells: Vec<(usize, u16)> =
                on_cells.iter().map(|&(piece, turn)| (piece.into(), turn.into())).collect();
            return told.on_cells(&on_cells).into_iter().map(|cell| self.solved[cell]).collect();
        }
        if self.left_out.is_some()
            && let Some(state) = self.state_with(&on_cells)
        {
            return self.word_on(&self.rings.action(&state));
        }
        let labels = self.cell_labels.of_pieces();
        let mut word = self.solved.to_vec();
        for (&(label, orientation), &(first, size)) in on_cells.iter().zip(self.rings.spread()) {
            if size == 1 {
                let piece = labels.iter().position(|&of_piece| of_piece == label);
                let mark = self.label(piece.expect("every label has a piece"));
                word[first] = self.letters.letter(mark, orientation);
            } else {
                word[first..][..usize::from(size)].rotate_right(orientation.into());
            }
        }
        word
    }

    /// Returns the number of orientations of a piece of the puzzle that are told apart.
    pub fn shown(&self, piece: usize) -> u16 {
        if let Some(facelets) = &self.facelets {
            return facelets.given_cells()[piece].1;
        }
        if let Some(told) = &self.told {
            return told.order_of(piece);
        }
        match self.rings.spread()[piece] {
            (_, 1) => self.letters.seen(self.label(piece)).into(),
            (_, size) => size,
        }
    }

    /// Returns whether moves bring a piece of the puzzle, or one with its label, to a cell of the puzzle.
    pub fn comes_to(&self, piece: usize, cell: usize) -> bool {
        match &self.facelets {
            Some(facelets) => {
                let ((from, _), (first, order)) =
                    (facelets.given_cells()[piece], facelets.given_cells()[cell]);
                (first..first + usize::from(order)).any(|to| facelets.are_in_one_orbit(from, to))
            }
            None => match (&self.told, &self.left_out) {
                (Some(told), _) => told.are_in_one_orbit(piece, cell),
                (_, Some(left_out)) => {
                    let [from, to] = [piece, cell].map(|cell| self.rings.spread()[cell].0);
                    left_out.may_carry(from, to)
                }
                _ => self.belongs(self.label(piece), self.rings.spread()[cell].0),
            },
        }
    }

    /// Returns whether moves can bring a piece of the puzzle to a cell of the puzzle in an orientation. Where
    /// words tell all pieces, returns true. The answer is the same for cells of one [`Space::point_orbit`].
    pub fn may_stand(&self, piece: usize, turn: u16, cell: usize) -> bool {
        self.told.as_ref().is_none_or(|told| told.may_stand(piece, turn, cell))
    }

    /// Returns, where words tell only some of the pieces, the number of the orbit of a cell's first point.
    pub fn point_orbit(&self, cell: usize) -> Option<usize> {
        self.told.as_ref().map(|told| told.point_orbit(cell))
    }

    /// Returns the label in words of the piece that belongs on a cell, before rings are made; on a ring, the
    /// label of its mark.
    fn label(&self, piece: usize) -> u8 {
        self.labels.of_pieces()[self.rings.spread()[piece].0]
    }
}
