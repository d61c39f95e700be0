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

/// The tiles of a state that were counted from 1, counted from 0. A text that is no tiles is left as it is.
///
/// # Errors
/// If a tile is 0.
pub fn counted_from_one(text: &str) -> Result<String, String> {
    let is_tiles = text.trim_start().starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || ",;".contains(c));
    if !is_tiles {
        return Ok(text.into());
    }
    let mut counted = String::new();
    let mut number = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        if !number.is_empty() {
            // What does not fit is told by who reads tiles.
            match number.parse::<u64>() {
                Ok(0) => return Err("tile 0: --from-one counts tiles from 1".into()),
                Ok(tile) => counted.push_str(&(tile - 1).to_string()),
                Err(_) => counted.push_str(&number),
            }
            number.clear();
        }
        counted.push(c);
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_counted_from_one_or_from_none() {
        assert_eq!(counted_from_one("3 1 2; 10,4").as_deref(), Ok("2 0 1; 9,3 "));
        for other in ["(1,2,3)", "V1 H2'", "", "[[1,2]]"] {
            assert_eq!(counted_from_one(other).as_deref(), Ok(other));
        }
        assert!(counted_from_one("0 1 2").unwrap_err().contains("tile 0"));
    }
}
