//! States of boards as text: the number of the tile on each cell, from 0, row by row, separated
//! by blanks, commas or semicolons.

/// Reads the tiles of a state of `cells` cells.
///
/// # Errors
/// Why the text is not a list of the tiles of a state, as the end of a sentence.
pub fn read(text: &str, cells: usize) -> Result<Vec<usize>, String> {
    read_from(0, text, cells)
}

/// Reads the tiles of a state of `cells` cells, for commands with the option `--from-one`.
///
/// # Errors
/// As [`read`]. If the numbers are exactly those from 1, the error names the option.
pub fn read_from_zero(text: &str, cells: usize) -> Result<Vec<usize>, String> {
    read(text, cells).map_err(|error| match read_from(1, text, cells) {
        Ok(_) => format!("{error}; use --from-one for tiles numbered from 1"),
        Err(_) => error,
    })
}

/// Checks that there are `cells` tiles and that each tile occurs once.
///
/// # Errors
/// The fault, as the end of a sentence.
pub fn check(tiles: &[usize], cells: usize) -> Result<(), String> {
    check_from(0, tiles, cells)
}

/// Checks that each row has `columns` tiles, if the text is tiles in rows that end with semicolons: a state
/// of a board with other dimensions may have as many tiles.
///
/// # Errors
/// The fault, as the end of a sentence.
pub fn check_rows(text: &str, columns: usize) -> Result<(), String> {
    if !is_tiles(text) || !text.contains(';') {
        return Ok(());
    }
    let rows = text.split(';').map(|row| entries(row).count());
    match rows.enumerate().find(|&(_, tiles)| tiles != columns && tiles > 0) {
        Some((row, tiles)) => {
            Err(format!("row {} has {tiles} tiles, but rows of the board have {columns}", row + 1))
        }
        None => Ok(()),
    }
}

/// Returns whether a text consists of numbers and separators.
pub fn is_tiles(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || is_separator(c))
}

/// Returns the entries of a list, which blanks, commas or semicolons separate.
pub fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_separator).filter(|entry| !entry.is_empty())
}

fn is_separator(c: char) -> bool {
    matches!(c, ' ' | ',' | ';') || c.is_whitespace()
}

/// Reads the tiles on `cells` cells, numbered from `first`.
fn read_from(first: usize, text: &str, cells: usize) -> Result<Vec<usize>, String> {
    let number = |entry: &str| {
        let last = cells - 1 + first;
        entry.parse().map_err(|_| format!("{entry:?} is not a tile: tiles are numbered {first} to {last}"))
    };
    let mut tiles = Vec::with_capacity(cells);
    for entry in entries(text) {
        tiles.push(number(entry)?);
    }
    check_from(first, &tiles, cells).map(|()| tiles)
}

fn check_from(first: usize, tiles: &[usize], cells: usize) -> Result<(), String> {
    if let ([_], 2..) = (tiles, cells) {
        return Err(format!("expected {cells} tiles, got only one: separate the tiles with spaces"));
    }
    if tiles.len() != cells {
        return Err(format!("expected {cells} tiles, got {}", tiles.len()));
    }
    let mut seen = vec![false; cells];
    for &tile in tiles {
        match tile.checked_sub(first).and_then(|number| seen.get_mut(number)) {
            None => {
                return Err(format!(
                    "there is no tile {tile}: tiles are numbered {first} to {}",
                    cells - 1 + first
                ));
            }
            Some(true) => return Err(format!("tile {tile} occurs twice")),
            Some(seen) => *seen = true,
        }
    }
    Ok(())
}

/// Renumbers the tiles of a state of `cells` cells from 0 if they are numbered from 1. Returns a text that is
/// not a list of numbers unchanged.
///
/// # Errors
/// Why the numbers are not the tiles of a state, as the end of a sentence.
pub fn counted_from_one(text: &str, cells: usize) -> Result<String, String> {
    if !is_tiles(text) {
        return Ok(text.into());
    }
    let tiles = read_from(1, text, cells)
        .map_err(|error| format!("{error}; with --from-one tiles are numbered from 1, row by row"))?;
    Ok(tiles.iter().map(|tile| (tile - 1).to_string()).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_must_match_the_board() {
        for right in ["3 1 2; 5,4 0", "3 1 2; 5,4 0;", "3 1\n2; 5 4 0", "3 1 2 5 4 0", "(1,2);(3,4)", "V1;H1"]
        {
            assert_eq!(check_rows(right, 3), Ok(()), "{right}");
        }
        for (wrong, row) in [("3 1; 2 5; 4 0", 1), ("3 1 2; 5 4 0 6", 2), ("3 1 2 5; 4 0", 1)] {
            let found = check_rows(wrong, 3).unwrap_err();
            assert!(found.starts_with(&format!("row {row} has ")) && found.ends_with("have 3"), "{found}");
        }
    }

    #[test]
    fn tiles_are_numbered_from_one_or_zero() {
        assert_eq!(counted_from_one("3 1 2; 5,4", 5).as_deref(), Ok("2 0 1 4 3"));
        assert_eq!(read("2 0\n1,4\r\n\t3", 5), Ok(vec![2, 0, 1, 4, 3]));
        assert_eq!(
            read("20143", 5).unwrap_err(),
            "expected 5 tiles, got only one: separate the tiles with spaces"
        );
        let from_one = read_from_zero("3 1 2", 3).unwrap_err();
        assert!(
            from_one.ends_with("numbered 0 to 2; use --from-one for tiles numbered from 1"),
            "{from_one}"
        );
        assert!(!read_from_zero("3 1 3", 3).unwrap_err().contains("--from-one"));
        for other in ["(1,2,3)", "V1 H2'", "", "[[1,2]]"] {
            assert_eq!(counted_from_one(other, 3).as_deref(), Ok(other));
        }
        for (wrong, message) in [
            ("0 1 2", "there is no tile 0: tiles are numbered 1 to 3; with --from-one"),
            ("4 1 2", "there is no tile 4: tiles are numbered 1 to 3; with --from-one"),
            ("1 3 3", "tile 3 occurs twice; with --from-one"),
            ("1 2", "expected 3 tiles, got 2; with --from-one"),
            ("1 2 99999999999999999999", "\"99999999999999999999\" is not a tile: tiles are numbered 1 to 3"),
        ] {
            let found = counted_from_one(wrong, 3).unwrap_err();
            assert!(found.starts_with(message), "{found}");
        }
    }
}
