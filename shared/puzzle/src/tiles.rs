//! States as people write them: the number of the tile on each cell, from 0, row by row, separated by blanks,
//! commas or semicolons.

/// Reads the tiles on so many cells.
///
/// # Errors
/// Why these are not the tiles of a state, as the end of a sentence.
pub fn read(text: &str, cells: usize) -> Result<Vec<usize>, String> {
    let entries = text.split([' ', '\t', ',', ';']).filter(|entry| !entry.is_empty());
    let number =
        |entry: &str| entry.parse().map_err(|_| format!("{entry:?} is no tile: they are 0 to {}", cells - 1));
    let tiles: Vec<usize> = entries.map(number).collect::<Result<_, _>>()?;
    check(&tiles, cells).map(|()| tiles)
}

/// Whether each tile is there once.
///
/// # Errors
/// What is wrong, as the end of a sentence.
pub fn check(tiles: &[usize], cells: usize) -> Result<(), String> {
    if tiles.len() != cells {
        return Err(format!("it has {} tiles, and the puzzle has {cells}", tiles.len()));
    }
    let mut seen = vec![false; cells];
    for &tile in tiles {
        match seen.get_mut(tile) {
            None => return Err(format!("there is no tile {tile}: they are 0 to {}", cells - 1)),
            Some(true) => return Err(format!("tile {tile} is there twice")),
            Some(seen) => *seen = true,
        }
    }
    Ok(())
}
