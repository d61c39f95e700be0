//! The states whose depths a run records: they are read from a file when the run starts, kept in the journal,
//! and written to `watched.csv` in the run's directory.

use crate::directory::RunDirectory;
use crate::journal::Watched;
use anyhow::{Context, Result, anyhow};
use fathom_algebra::{OrientedPermutation, Permutation};
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
        word(&self.tiles, space).map_err(invalid)
    }
}

fn invalid(reason: String) -> anyhow::Error {
    anyhow!("run.db has an invalid watched state: {reason}")
}

/// Returns the word of a state as [`read`] returns it.
///
/// # Errors
/// If it is not a permutation of the tiles of the space, or moves do not lead to it.
pub fn word(state: &[u8], space: &Space) -> Result<Vec<u8>, String> {
    let state = Placed::unpacked(state, space)?;
    let labels = space.piece_labels().of_pieces();
    let placed = state.tiles.iter().zip(&state.turns);
    let pieces: Vec<(u16, u8)> =
        placed.map(|(&tile, &turn)| (labels[tile], (turn % space.shown(tile)) as u8)).collect();
    let word = space.word_of_pieces(&pieces);
    // Another state may have the same pieces on the cells that words distinguish.
    let is_other = |word: &Vec<u8>| {
        space.tells_only_some() && space.all_free_order() == 1 && space.pieces(word) != pieces
    };
    word.filter(|word| !is_other(word)).ok_or_else(|| "no moves lead to this state".into())
}

/// The tile on each cell, and how far it is turned.
struct Placed {
    tiles: Vec<usize>,
    turns: Vec<u16>,
}

impl Placed {
    /// Reads a state: the tile on each cell, or cycles, which give turns too.
    fn read(text: &str, space: &Space) -> Result<Self, String> {
        let cells = space.piece_labels().pieces();
        if !text.starts_with('(') {
            let tiles = tiles::read(text, cells)?;
            return match space.has_turns() {
                true => Err(format!(
                    "a list of tiles does not give the orientations of the pieces of {}. Use cycles such as (1+1,2+2)",
                    space.puzzle().name
                )),
                false => Ok(Self { turns: vec![0; tiles.len()], tiles }),
            };
        }
        let element = OrientedPermutation::parse(text, space.orientation_counts());
        let element = element.map_err(|error| error.to_string())?;
        let mut placed = Self { tiles: vec![0; cells], turns: vec![0; cells] };
        for tile in 0..cells {
            let cell = element.cells().apply(tile);
            (placed.tiles[cell], placed.turns[cell]) = (tile, element.turns()[tile]);
        }
        Ok(placed)
    }

    /// Returns the tile on each cell, and after them, if tiles turn, how far each is turned: a byte each, or two, the lower
    /// one first, if there are more than [`MAX_BYTES`] numbers.
    fn packed(&self, space: &Space) -> Box<[u8]> {
        let turns = self.turns.iter().filter(|_| space.has_turns());
        let numbers: Vec<u16> = self.tiles.iter().map(|&tile| tile as u16).chain(turns.copied()).collect();
        match numbers.len() {
            0..=MAX_BYTES => numbers.iter().map(|&number| number as u8).collect(),
            _ => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
        }
    }

    /// Returns the state that was packed.
    fn unpacked(bytes: &[u8], space: &Space) -> Result<Self, String> {
        let size = if bytes.len() <= MAX_BYTES { 1 } else { 2 };
        let numbers = bytes.chunks(size);
        let numbers =
            numbers.map(|number| number.iter().rev().fold(0, |all, &byte| all << 8 | u16::from(byte)));
        let mut numbers: Vec<u16> = numbers.collect();
        let cells = space.piece_labels().pieces();
        let turns = match space.has_turns() {
            true => numbers.split_off(numbers.len().min(cells)),
            false => vec![0; cells],
        };
        let tiles: Vec<usize> = numbers.into_iter().map(usize::from).collect();
        tiles::check(&tiles, cells)?;
        let may_turn = |(&tile, &turn): (&usize, &u16)| turn < space.orientation_counts()[tile];
        match turns.len() == cells && tiles.iter().zip(&turns).all(may_turn) {
            true => Ok(Self { tiles, turns }),
            false => Err("its orientations do not fit the pieces".into()),
        }
    }

    /// Returns the state as text that can be read again, in quotation marks if it has commas.
    fn text(&self, space: &Space) -> String {
        if !space.has_turns() {
            return self.tiles.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        }
        let mut to: Vec<(u16, u16)> = vec![(0, 0); self.tiles.len()];
        for (cell, (&tile, &turn)) in self.tiles.iter().zip(&self.turns).enumerate() {
            to[tile] = (cell as u16, turn);
        }
        let (images, turns): (Vec<u16>, Vec<u16>) = to.into_iter().unzip();
        let cells = Permutation::from_images(images).expect("each tile is on one cell");
        let element = OrientedPermutation::new(cells, turns, space.orientation_counts());
        format!("\"{}\"", element.expect("the turns were checked"))
    }
}

/// The largest number of numbers of which a packed state has one byte each.
const MAX_BYTES: usize = 256;

/// Reads a list of states from a file, or from standard input if `path` is `-`. A line has one state: the
/// number of the tile on each cell, row by row, separated by spaces or commas, or cycles. Empty lines and text after a
/// `#` are ignored. The states are returned packed, as the journal has them.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] if the file cannot be read or has no states, or, with the number of the
/// line, if a line is not a state of the space.
pub fn read(path: &Path, space: &Space) -> Result<Vec<Box<[u8]>>> {
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let text = text.map_err(|error| bad_input!("--watch-states: cannot read {}: {error}", path.display()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let is_member = space.membership();
    let mut states = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let state = line.split('#').next().unwrap_or_default().trim();
        if state.is_empty() {
            continue;
        }
        let state = Placed::read(state, space).and_then(|state| {
            let tiles: Vec<u16> = state.tiles.iter().map(|&tile| tile as u16).collect();
            match &is_member {
                Some(is_member) if !is_member(&tiles) => return Err("the moves do not lead to it".into()),
                Some(_) => {}
                None => require_places(&tiles, space)?,
            }
            Ok(state.packed(space))
        });
        states.push(
            state.map_err(|reason| {
                bad_input!("--watch-states: {}, line {number}: {reason}", path.display())
            })?,
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
/// on its cells, or its cycles if tiles turn, and its depth if that is known. Writes nothing if no states are watched.
///
/// # Errors
/// If the journal cannot be read, or the file cannot be written.
pub fn write(run: &RunDirectory, disk: &dyn Disk) -> Result<()> {
    let watched = run.journal.watched().context("cannot read run.db")?;
    if watched.is_empty() {
        return Ok(());
    }
    let space = run.space.cosets()?;
    let mut text = String::from("state,depth\n");
    for Watched { tiles, depth } in watched {
        let state = Placed::unpacked(&tiles, space).map_err(invalid)?;
        let depth = depth.map_or_else(String::new, |depth| depth.to_string());
        writeln!(text, "{},{depth}", state.text(space)).expect("writing to a String succeeds");
    }
    let run = &run.path;
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
    fn states_with_orientations_are_given_by_cycles() {
        let puzzle = fathom_puzzle::PuzzleSpec::by_name("3x3x3-corners").unwrap();
        let labels = Labels::parse_list("0,1,0,1,1,0,0,1", 8).unwrap();
        let space = Space::new(puzzle.puzzle(Metric::Multi).unwrap(), Metric::Multi, labels).unwrap();
        let states = read_text("(1+1)(2+2)\n(1,3+1,6+2)\n()\n", &space).unwrap();
        let words: Vec<_> = states.iter().map(|state| word(state, &space).unwrap()).collect();
        assert_eq!(words[2], space.solved());
        assert!(words[0] != words[2] && words[1] != words[2]);
        let texts = states.iter().map(|state| Placed::unpacked(state, &space).unwrap().text(&space));
        assert_eq!(texts.collect::<Vec<_>>(), ["\"(1+1)(2+2)\"", "\"(1,3+1,6+2)\"", "\"()\""]);
        let error = read_text("0 1 2 3 4 5 6 7", &space).unwrap_err();
        assert!(error.contains("line 1: a list of tiles does not give the orientations"), "{error}");
        assert!(read_text("(1+3)", &space).is_err());
        assert!(word(&[0, 1, 2, 3, 4, 5, 6, 7, 3, 0, 0, 0, 0, 0, 0, 0], &space).is_err());
        assert!(word(&[0, 1, 2, 3, 4, 5, 6, 7], &space).is_err());
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
