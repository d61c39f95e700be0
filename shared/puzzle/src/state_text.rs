//! States and scrambles as people write them, rewritten as the tiles or cycles that [`crate::tiles`] and
//! [`fathom_algebra::cycles`] read:
//!
//! | written | meaning |
//! |---|---|
//! | `[2, 0, 1]` | tiles, as Python programs write them |
//! | `-3 1 -2` | a signed permutation: pancakes from 1, with a minus for a burnt side up |
//! | `1 0 0 1`, `B;A;A;B` | the label on each cell |
//! | `1 2 0 3` | sliding tiles, from 1, and 0 for the blank; tokens by their vertices, and 0 for blanks |
//! | `UUUUUUUUURRR…` | the 54 facelets of Rubik's cube, by face in the order U R F D L B |
//! | `Rw U M' x` | moves of Rubik's cube with wide turns, slices and rotations; moves of the skewb as the WCA writes them |

use crate::family::sliding::Sliding;
use crate::family::{self, cube, in_space};
use crate::tiles::entries;
use crate::{Definition, PuzzleSpec};
use fathom_algebra::{OrientedPermutation, Permutation};

/// Rewrites a state of a puzzle. `labels` are the labels of the pieces as the user gave them, if any. A text
/// in another form is returned unchanged.
///
/// # Errors
/// Why the text has one of these forms but is not a state, as the end of a sentence.
pub fn plain(text: &str, source: &PuzzleSpec, labels: Option<&str>) -> Result<String, String> {
    let text = without_brackets(text.trim(), source.cells());
    if let PuzzleSpec::Defined(definition) = source {
        if let Some(numbers) = integers(text)
            && let Ok(numbers) = numbers.into_iter().map(u64::try_from).collect::<Result<Vec<_>, _>>()
            && let Some(board) = sliding(source)
            && let Some(tiles) = board.state(&numbers)
        {
            return Ok(tiles.iter().map(usize::to_string).collect::<Vec<_>>().join(" "));
        }
        if is_facelets(text) && is_built_in(definition, "3x3x3") {
            return Ok(of_facelets(text)?.to_string());
        }
        if is_signed(definition)
            && let Some(numbers) = integers(text)
        {
            return Ok(of_signed(definition, &numbers)?.to_string());
        }
    }
    let written = || match source {
        PuzzleSpec::Defined(definition) => definition.written_labels(),
        PuzzleSpec::Board(_) => None,
    };
    let labels: Vec<String> = match labels {
        Some(labels) => entries(labels).map(str::to_owned).collect(),
        None => written().unwrap_or_default().iter().map(u64::to_string).collect(),
    };
    let always = match source {
        PuzzleSpec::Defined(definition) => definition.always(),
        PuzzleSpec::Board(_) => &[],
    };
    Ok(by_labels(text, &labels, always).unwrap_or_else(|| text.into()))
}

/// Returns the board of a built-in puzzle with sliding tiles; `None` for other puzzles.
pub fn sliding(source: &PuzzleSpec) -> Option<Sliding> {
    let PuzzleSpec::Defined(definition) = source else { return None };
    let board = Sliding::by_name(definition.name())?.ok()?;
    is_built_in(definition, definition.name()).then_some(board)
}

/// Reads moves that [the definition](Definition) of a puzzle does not name, because they also turn the puzzle
/// as a whole: the state is the one in which the puzzle is turned back. `None` if the puzzle has no such
/// moves, or if the text is not a sequence of them.
pub fn scramble(text: &str, source: &PuzzleSpec) -> Option<OrientedPermutation> {
    let PuzzleSpec::Defined(definition) = source else { return None };
    in_space::read(definition.name(), text).filter(|_| is_built_in(definition, definition.name()))
}

/// Returns whether a definition has the cells and the moves of a family: a file may use the family's name for
/// a puzzle with other cells.
fn is_built_in(definition: &Definition, word: &str) -> bool {
    definition.name() == word
        && family::by_name(word)
            .is_ok_and(|own| own.orbits() == definition.orbits() && own.moves() == definition.moves())
}

/// Returns a permutation of the points of a definition's cells as an element on the cells; `None` if it does
/// not keep the points of a cell together, in their cyclic order.
pub fn on_cells(definition: &Definition, points: &Permutation) -> Option<OrientedPermutation> {
    let counts = definition.orientation_counts();
    let place: Vec<(usize, u16)> = counts
        .iter()
        .enumerate()
        .flat_map(|(cell, &count)| (0..count).map(move |turn| (cell, turn)))
        .collect();
    let mut first = 0;
    let images: Vec<(usize, u16)> = counts
        .iter()
        .map(|&count| {
            let image = place[points.apply(first)];
            first += usize::from(count);
            image
        })
        .collect();
    let cells =
        Permutation::from_images(images.iter().map(|&(cell, _)| cell as u16).collect::<Vec<_>>()).ok()?;
    let turns: Vec<u16> = images.iter().map(|&(_, turn)| turn).collect();
    let element = OrientedPermutation::new(cells, turns, counts).ok()?;
    (element.as_points() == *points).then_some(element)
}

/// Removes the brackets of a list of tiles, as Python programs write it. Cycles have more brackets.
fn without_brackets(text: &str, cells: usize) -> &str {
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let is_list = |inside: &&str| integers(inside).is_some_and(|numbers| numbers.len() == cells);
    inside.filter(is_list).unwrap_or(text)
}

/// Returns the numbers of a list; `None` if a text is not such a list.
fn integers(text: &str) -> Option<Vec<i64>> {
    entries(text)
        .map(|entry| entry.parse().ok())
        .collect::<Option<Vec<_>>>()
        .filter(|numbers| !numbers.is_empty())
}

/// Returns whether all pieces of a puzzle are in one orbit and have two sides.
fn is_signed(definition: &Definition) -> bool {
    definition.orbits().len() == 1 && definition.orbits()[0].orientations == 2
}

/// Reads a signed permutation: for each cell the number of its piece, from 1, negative if the piece is turned
/// over.
fn of_signed(definition: &Definition, numbers: &[i64]) -> Result<OrientedPermutation, String> {
    let cells = definition.cells();
    let mut images: Vec<Option<usize>> = vec![None; cells];
    let mut turns = vec![0; cells];
    if numbers.len() != cells {
        return Err(format!(
            "expected {cells} numbers from 1, negative for a piece that is turned over, got {}",
            numbers.len()
        ));
    }
    for (cell, &number) in numbers.iter().enumerate() {
        let piece = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
        if !(1..=cells).contains(&piece) {
            return Err(format!(
                "there is no piece {number}: pieces are numbered 1 to {cells}, negative if turned over"
            ));
        }
        if images[piece - 1].replace(cell).is_some() {
            return Err(format!("piece {piece} occurs twice"));
        }
        turns[piece - 1] = u16::from(number < 0);
    }
    let images = Permutation::from_fn(cells, |piece| images[piece].expect("each piece occurs once"));
    Ok(OrientedPermutation::new(images, turns, definition.orientation_counts())
        .expect("pieces have two sides"))
}

/// Returns tiles that show these labels, if the text is the labels of all pieces in another order, and not
/// itself a list of tiles. The labels of the cells that `always` hold their own may be omitted.
fn by_labels(text: &str, labels: &[String], always: &[u16]) -> Option<String> {
    let mut shown: Vec<&str> = entries(text).collect();
    let fits = always.iter().all(|&cell| usize::from(cell) < labels.len());
    if !shown.is_empty() && shown.len() + always.len() == labels.len() && fits {
        for cell in always.iter().copied().map(usize::from) {
            shown.insert(cell, &labels[cell]);
        }
    }
    if shown.is_empty() || shown.len() != labels.len() || crate::tiles::read(text, labels.len()).is_ok() {
        return None;
    }
    let mut taken = vec![false; labels.len()];
    let mut tiles = Vec::new();
    for label in &shown {
        let piece = (0..labels.len()).find(|&piece| !taken[piece] && labels[piece] == **label)?;
        taken[piece] = true;
        tiles.push(piece.to_string());
    }
    Some(tiles.join(" "))
}

/// Returns whether a text is 54 letters or digits, six of which are different and at the centres.
fn is_facelets(text: &str) -> bool {
    text.len() == 54 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Reads the facelets of Rubik's cube: nine for each of the faces U R F D L B, row by row, as H. Kociemba's
/// programs write them. The colours may be any six letters; those of the centres name the faces.
fn of_facelets(text: &str) -> Result<OrientedPermutation, String> {
    let colours = text.as_bytes();
    let centre = |face: usize| colours[9 * face + 4];
    let mut faces = [0; 54];
    for (i, colour) in colours.iter().enumerate() {
        let mut named = (0..6).filter(|&face| centre(face) == *colour);
        faces[i] = match (named.next(), named.next()) {
            (Some(face), None) => face,
            (None, _) => return Err(format!("the letter {:?} is not that of a centre", char::from(*colour))),
            _ => return Err(format!("two centres have the letter {:?}", char::from(*colour))),
        };
    }
    cube::of_facelets(&faces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;
    use fathom_algebra::expression;

    fn source(word: &str) -> PuzzleSpec {
        PuzzleSpec::by_name(word).unwrap()
    }

    fn definition(word: &str) -> Definition {
        source(word).definition(Metric::Given).unwrap()
    }

    /// Reads moves that the definition names.
    fn moves(word: &str, text: &str) -> OrientedPermutation {
        let definition = definition(word);
        let identity = OrientedPermutation::identity(definition.orientation_counts());
        let mut named = |name: &str| {
            let found = definition.moves().iter().find(|known| known.name == name);
            Ok(found.map(|known| known.action.clone()))
        };
        expression::sequence(text, &identity, &mut named).unwrap().unwrap_or(identity)
    }

    #[test]
    fn lists_of_tiles_may_have_brackets() {
        let board = source("2x3");
        for text in ["[2, 0, 4, 1, 3, 5]", "2, 0, 4, 1, 3, 5"] {
            assert_eq!(plain(text, &board, None).unwrap(), "2, 0, 4, 1, 3, 5", "{text}");
        }
        // Programs that count from 0 write cycles like these.
        for cycles in [
            "(0,1,2,3,4,5)",
            "[[0,1,2],[3,4,5]]",
            "(1,2,3,4,5,6)",
            "[[1,2,3],[4,5,6]]",
            "(1,2)",
            "[[1,2]]",
            "()",
            "[]",
            "V1 H1",
        ] {
            assert_eq!(plain(cycles, &board, None).unwrap(), cycles);
        }
        // With --from-one.
        assert_eq!(plain("[3,1,2,6,5,4]", &board, None).unwrap(), "3,1,2,6,5,4");
    }

    /// r2 reverses the first two pancakes and turns them over.
    #[test]
    fn signed_permutations() {
        let pancakes = source("burnt-pancake:3");
        for (text, sequence) in
            [("-2 -1 3", "r2"), ("[-1, 2, 3]", "r1"), ("1 2 3", "()"), ("-3 1 2", "r2 r3")]
        {
            let found = plain(text, &pancakes, None).unwrap();
            let expected = moves("burnt-pancake:3", sequence).to_string();
            assert_eq!(found, expected, "{text}");
        }
        let error = |text| plain(text, &pancakes, None).unwrap_err();
        assert_eq!(
            error("1 2"),
            "expected 3 numbers from 1, negative for a piece that is turned over, got 2"
        );
        assert_eq!(error("1 -1 2"), "piece 1 occurs twice");
        assert_eq!(
            error("0 1 2"),
            "there is no piece 0: pieces are numbered 1 to 3, negative if turned over"
        );
        // Pieces of ordinary pancakes have no sides.
        assert_eq!(plain("-3 1 2", &source("pancake:3"), None).unwrap(), "-3 1 2");
    }

    #[test]
    fn states_by_labels() {
        let ring = source("lrx:4");
        for (text, labels, tiles) in [
            ("1 0 0 1", "0,0,1,1", "2 0 1 3"),
            ("B;A;A;B", "A;A;B;B", "2 0 1 3"),
            // These are tiles, and not the labels of all pieces.
            ("1 0 2 3", "0,0,1,1", "1 0 2 3"),
            ("1 1 1 0", "0,0,1,1", "1 1 1 0"),
        ] {
            assert_eq!(plain(text, &ring, Some(labels)).unwrap(), tiles, "{text}");
        }
        assert_eq!(plain("1 0 0 1", &ring, None).unwrap(), "1 0 0 1");
        // A file has its own numbers.
        let text = "degree = 4\n[moves]\nL = \"(1,2,3,4)\"\n[solved]\nlabels = [7, 7, 2, 2]";
        let read = crate::load::read_text(text, crate::Format::Toml, "x").unwrap();
        let ring = PuzzleSpec::Defined(Box::new(read));
        assert_eq!(plain("2 7 7 2", &ring, None).unwrap(), "2 0 1 3");
        let apart = ring.with_distinct_pieces().unwrap();
        assert_eq!(plain("2 7 7 2", &apart, None).unwrap(), "2 7 7 2");
    }

    /// The facelets of the superflip: every edge shows its other side.
    #[test]
    fn facelets_of_the_cube() {
        let cube = source("3x3x3");
        let read = |text: &str| plain(text, &cube, None);
        let solved: String = "URFDLB".chars().flat_map(|face| std::iter::repeat_n(face, 9)).collect();
        assert_eq!(read(&solved).unwrap(), "()");
        assert_eq!(read(&solved.replace('U', "W").replace('R', "x")).unwrap(), "()");
        let superflip = "UBULURUFURURFRBRDRFUFLFRFDFDFDLDRDBDLULBLFLDLBUBRBLBDB";
        assert_eq!(
            read(superflip).unwrap(),
            "(9+1)(10+1)(11+1)(12+1)(13+1)(14+1)(15+1)(16+1)(17+1)(18+1)(19+1)(20+1)"
        );
        // After R, the right column of the top shows the front, and so on.
        let turned = "UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB";
        assert_eq!(read(turned).unwrap(), moves("3x3x3", "R").to_string());
        for (text, says) in [
            (solved.replacen('U', "R", 1), "no corner has the colours"),
            (solved.replace('R', "U"), "two centres have the letter 'U'"),
            (solved.replacen('U', "X", 1), "the letter 'X' is not that of a centre"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    /// A slice, a wide turn and a rotation are turns of faces, followed by rotations.
    #[test]
    fn moves_that_turn_the_whole_puzzle() {
        for (text, faces) in [
            ("Rw", "L"),
            ("r", "L"),
            ("M", "L' R"),
            ("E", "D' U"),
            ("S", "F' B"),
            ("x y z", "()"),
            ("Rw U", "L F"),
            ("y R", "B"),
            ("x2 U", "D"),
            ("M2 E2 S2", "L2 R2 U2 D2 F2 B2"),
            ("[r, U'] (M U)2", "[r, U'] M U M U"),
            ("R U2 F'", "R U2 F'"),
        ] {
            let expected = scramble(faces, &source("3x3x3")).unwrap();
            assert_eq!(scramble(text, &source("3x3x3")), Some(expected), "{text}");
        }
        assert_eq!(scramble("R U2 F'", &source("3x3x3")).unwrap(), moves("3x3x3", "R U2 F'"));
        // The half at DBL turns against the half at URF, which the definition turns.
        for (text, turns) in [("U", "ULB"), ("R", "DRB"), ("L", "DLF"), ("B", "URF"), ("B B'", "()")] {
            assert_eq!(scramble(text, &source("skewb")).unwrap(), moves("skewb", turns), "{text}");
        }
        assert!(scramble("R Q", &source("3x3x3")).is_none() && scramble("R", &source("dino")).is_none());
        // A file may use the name for other cells.
        let text = definition("3x3x3-corners").to_toml().replace("3x3x3-corners", "3x3x3");
        let other = crate::load::parse(&text, crate::Format::Toml, "x").unwrap();
        let other = PuzzleSpec::Defined(Box::new(other));
        assert!(scramble("R", &other).is_none());
    }

    #[test]
    fn elements_on_points_are_elements_on_cells() {
        for (word, text) in [("3x3x3", "R U2 F'"), ("skewb", "URF DLF'"), ("burnt-pancake:4", "r3 r1")] {
            let element = moves(word, text);
            assert_eq!(on_cells(&definition(word), &element.as_points()), Some(element), "{word}");
        }
        let torn = Permutation::parse("(1,4)", 48).unwrap();
        assert_eq!(on_cells(&definition("3x3x3"), &torn), None);
    }
}
