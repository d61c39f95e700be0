//! The states whose depths a run records: they are read from a file when the run starts, kept in the journal,
//! and written to `watched.csv` in the run's directory.

use crate::journal::{Journal, Watched};
use anyhow::{Context, Result, anyhow};
use fathom_command::bad_input;
use fathom_layer::Disk;
use fathom_puzzle::tiles;
use fathom_space::Space;
use std::fmt::Write;
use std::path::Path;

const TABLE: &str = "watched.csv";

impl Watched {
    /// Returns the state as a word of labels.
    ///
    /// # Errors
    /// If the tiles are not a permutation of the tiles of the space.
    pub fn word(&self, space: &Space) -> Result<Vec<u8>> {
        word(&self.tiles, space).map_err(|reason| anyhow!("run.db has an invalid watched state: {reason}"))
    }
}

/// Returns the word of the state with these tiles, as [`read`] returns them.
///
/// # Errors
/// If the tiles are not a permutation of the tiles of the space.
pub fn word(tiles: &[u8], space: &Space) -> Result<Vec<u8>, String> {
    let tiles: Vec<usize> = unpacked(tiles).map(usize::from).collect();
    tiles::check(&tiles, space.piece_labels().pieces())?;
    let labels = space.piece_labels().of_pieces();
    let pieces: Vec<(u16, u8)> = tiles.iter().map(|&tile| (labels[tile], 0)).collect();
    let word = space.word_of_pieces(&pieces);
    // Another state may have the same pieces on the cells that words distinguish.
    let is_other = |word: &Vec<u8>| {
        space.tells_only_some() && space.all_free_order() == 1 && space.pieces(word) != pieces
    };
    word.filter(|word| !is_other(word)).ok_or_else(|| "no moves lead to this state".into())
}

/// The largest number of tiles for which a packed state has one byte per tile.
const MAX_BYTES: usize = 256;

/// Packs the tile on each cell: into a byte each, or into two bytes, the lower one first, if there are more
/// than [`MAX_BYTES`].
fn packed(tiles: &[u16]) -> Box<[u8]> {
    match tiles.len() {
        0..=MAX_BYTES => tiles.iter().map(|&tile| tile as u8).collect(),
        _ => tiles.iter().flat_map(|tile| tile.to_le_bytes()).collect(),
    }
}

/// Returns the tile on each cell of a packed state.
fn unpacked(tiles: &[u8]) -> impl Iterator<Item = u16> {
    let size = if tiles.len() <= MAX_BYTES { 1 } else { 2 };
    tiles.chunks(size).map(|tile| tile.iter().rev().fold(0, |tile, &byte| tile << 8 | u16::from(byte)))
}

/// Reads a list of states from a file, or from standard input if `path` is `-`. A line has one state: the
/// number of the tile on each cell, row by row, separated by spaces or commas. Empty lines and text after a
/// `#` are ignored. A state is returned as a byte for each tile, or as two if there are more than 256 tiles.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] if the file cannot be read or has no states, if pieces of the space
/// have orientations, or, with the number of the line, if a line is not a state of the space.
pub fn read(path: &Path, space: &Space) -> Result<Vec<Box<[u8]>>> {
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let text = text.map_err(|error| bad_input!("--watch-states: cannot read {}: {error}", path.display()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if space.has_turns() {
        return Err(bad_input!(
            "--watch-states: the pieces of {} have orientations, which a list of tiles cannot express. 'fathom solve' finds the distance of a single state",
            space.puzzle().name
        ));
    }
    let is_member = space.membership();
    let mut states = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let state = line.split('#').next().unwrap_or_default().trim();
        if state.is_empty() {
            continue;
        }
        let state = tiles::read(state, space.piece_labels().pieces())
            .map(|tiles| tiles.iter().map(|&tile| tile as u16).collect::<Vec<u16>>());
        let word = state.and_then(|tiles| match &is_member {
            Some(is_member) if !is_member(&tiles) => Err("the moves do not lead to it".into()),
            Some(_) => Ok(packed(&tiles)),
            None => require_places(&tiles, space).map(|()| packed(&tiles)),
        });
        states.push(
            word.map_err(|reason| bad_input!("--watch-states: {}, line {number}: {reason}", path.display()))?,
        );
    }
    match states.is_empty() {
        true => Err(bad_input!("--watch-states: {} has no states. Write one per line", path.display())),
        false => Ok(states),
    }
}

/// Checks that moves bring each tile, or one with its label, to its cell. Tiles that look
/// alike have labels of their own if moves bring them to different cells.
///
/// # Errors
/// The first tile that is wrong.
fn require_places(tiles: &[u16], space: &Space) -> Result<(), String> {
    let is_wrong = |&(cell, &tile): &(usize, &u16)| !space.comes_to(tile.into(), cell);
    match tiles.iter().enumerate().find(is_wrong) {
        Some((cell, tile)) => Err(format!(
            "no moves bring tile {tile} to cell {}. Of tiles that look alike, write one that the moves bring there",
            cell + 1
        )),
        None => Ok(()),
    }
}

/// Writes `watched.csv`: a line for each watched state, in the order in which they were given, with the tiles
/// on its cells and its depth if that is known. Writes nothing if no states are watched.
///
/// # Errors
/// If the journal cannot be read, or the file cannot be written.
pub fn write(run: &Path, journal: &Journal, disk: &dyn Disk) -> Result<()> {
    let watched = journal.watched().context("cannot read run.db")?;
    if watched.is_empty() {
        return Ok(());
    }
    let mut text = String::from("state,depth\n");
    for Watched { tiles, depth } in watched {
        let tiles: Vec<String> = unpacked(&tiles).map(|tile| tile.to_string()).collect();
        let depth = depth.map_or_else(String::new, |depth| depth.to_string());
        writeln!(text, "{},{depth}", tiles.join(" ")).expect("writing to a String succeeds");
    }
    let path = run.join(TABLE);
    let temporary = run.join(format!("{TABLE}.tmp"));
    let replace = || -> std::io::Result<()> {
        let mut file = disk.create(&temporary)?;
        file.write_at(text.as_bytes(), 0)?;
        file.sync()?;
        disk.rename(&temporary, &path)?;
        disk.sync_directory(run)
    };
    replace().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::{Board, Metric};
    use fathom_space::Labels;

    fn space(board: &str, labels: Option<&str>) -> Space {
        let board: Board = board.parse().unwrap();
        let labels = match labels {
            Some(list) => Labels::parse_list(list, board.cells()).unwrap(),
            None => Labels::distinct(board.cells()),
        };
        Space::new(board.puzzle(Metric::Multi), Metric::Multi, labels).unwrap()
    }

    fn read_text(text: &str, space: &Space) -> Result<Vec<Box<[u8]>>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path(), space).map_err(|error| error.to_string())
    }

    #[test]
    fn states_are_given_by_tiles_with_any_labels() {
        for labels in [None, Some("5,5,1,1"), Some("3,2,1,0")] {
            let space = space("2x2", labels);
            assert_eq!(read_text("\u{feff}0 1 2 3", &space).unwrap(), [Box::from([0, 1, 2, 3])]);
            let read = read_text("# a comment\n0 1 2 3\n\n 3,2,1,0 # turned\n", &space).unwrap();
            assert_eq!(read, [Box::from([0, 1, 2, 3]), Box::from([3, 2, 1, 0])]);
        }
        let labelled = space("2x2", Some("5,5,1,1"));
        let state = Watched { tiles: [2, 0, 3, 1].into(), depth: None };
        assert_eq!(state.word(&labelled).unwrap(), [1, 0, 1, 0]);
        let damaged = Watched { tiles: [2, 0, 3, 9].into(), depth: None };
        assert!(damaged.word(&labelled).unwrap_err().to_string().contains("there is no tile 9"));
    }

    /// Only the first row moves, and tile 1 looks like the tiles of the second one.
    #[test]
    fn identical_tiles_must_be_reachable() {
        let board: Board = "2x3".parse().unwrap();
        let moves = fathom_puzzle::PuzzleSpec::Board(board).with_moves(Metric::Multi, "H1").unwrap();
        let labels = Labels::parse_list("0,1,0,1,1,1", 6).unwrap();
        let space = Space::new(moves.puzzle(Metric::Given).unwrap(), Metric::Given, labels).unwrap();
        assert!(read_text("1 2 0 3 4 5", &space).is_ok());
        let error = read_text("3 2 0 1 4 5", &space).unwrap_err();
        assert!(error.contains("line 1: no moves bring tile 3 to cell 1. Of tiles"), "{error}");
    }

    #[test]
    fn invalid_states_are_refused_with_their_line() {
        let distinct = space("2x2", None);
        let error = |text| read_text(text, &distinct).unwrap_err();
        assert!(error("0 1 2 3\n0 1 2").contains("line 2: expected 4 tiles, got 3"));
        assert!(error("0 1 2 x").contains("line 1: \"x\" is not a tile"));
        assert!(error("0 1 1 3").contains("tile 1 occurs twice"));
        assert!(error("0 1 2 4").contains("there is no tile 4: tiles are numbered 0 to 3"));
        assert!(error("# nothing\n").contains("has no states"));
        // On 3 x 3 all moves are even.
        let even = space("3x3", None);
        assert!(read_text("1 0 2 3 4 5 6 7 8", &even).unwrap_err().contains("do not lead to it"));
        assert!(read_text("1 2 0 3 4 5 6 7 8", &even).is_ok());
    }
}
