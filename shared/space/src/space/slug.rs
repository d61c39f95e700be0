//! Names of spaces.

use super::Space;

/// The largest number of letters for labels in a short name.
const MAX_LETTERS: usize = 24;

impl Space {
    /// Returns a name that identifies this space and is suitable as a file name: `3x4-multi`, or with labels
    /// as letters, `2x2-multi-aabb`.
    pub fn slug(&self) -> String {
        self.slug_with(self.letters_of_labels())
    }

    /// Returns a name that is short enough for a directory. The letters are omitted if the labels are the
    /// puzzle's own, and replaced by a hash if there are many.
    pub fn short_slug(&self, labels_are_its_own: bool) -> String {
        let symbols = self.letters_of_labels().filter(|_| !labels_are_its_own);
        self.slug_with(symbols.map(|symbols| match symbols.len() {
            0..=MAX_LETTERS => symbols,
            // FNV-1a, 64 bits.
            _ => {
                let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                format!("{:016x}", symbols.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
            }
        }))
    }

    /// Returns a letter for the label of each piece; `None` if all pieces differ.
    fn letters_of_labels(&self) -> Option<String> {
        let letter = |&label: &u16| match label {
            0..26 => char::from(b'a' + label as u8).to_string(),
            _ => format!("_{label}"),
        };
        (!self.piece_labels().are_distinct())
            .then(|| self.piece_labels().of_pieces().iter().map(letter).collect())
    }

    fn slug_with(&self, symbols: Option<String>) -> String {
        let fit =
            |letter: char| if letter.is_alphanumeric() || "-_+.".contains(letter) { letter } else { '-' };
        let mut name: String = self.puzzle.name.chars().map(fit).collect();
        if name.starts_with('.') {
            // On Unix, files whose names begin with a dot are hidden.
            name.replace_range(..1, "-");
        }
        match symbols {
            Some(symbols) => format!("{name}-{}-{symbols}", self.metric),
            None => format!("{name}-{}", self.metric),
        }
    }
}
