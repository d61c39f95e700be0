//! Puzzles with built-in names: families of sorting puzzles such as `pancake:8`, and twisty puzzles
//! such as `2x2x2` and [Square-1](square1). Boards (`3x4`) have their [own type](crate::Board); boards that
//! can be turned over (`3x3+flip`) are families of this module.

pub mod clock;
pub mod cube;
pub mod cuboid;
pub mod facelet_places;
pub mod gear;
pub mod geometry;
pub mod in_space;
pub mod kilominx;
pub mod ring;
pub mod sliding;
pub mod sorting;
pub mod square1;
mod table;
pub mod tetrahedron;
pub mod two_sided_board;

use crate::definition::Definition;
use crate::{Board, Metric};
pub use facelet_places::{Facelets, facelets};
use table::FAMILIES;

/// A name, or a pattern of names, and the puzzles that have these names.
#[derive(Debug)]
pub struct Family {
    /// The group in which users see the family.
    pub group: &'static str,
    /// The pattern of the names, where capital letters stand for numbers: `pancake:N`.
    pub pattern: &'static str,
    /// A name of this pattern.
    pub example: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// The number of states, as a formula in N.
    pub states: &'static str,
    /// The default metric.
    pub metric: Metric,
    /// The variant with free rotations of the whole puzzle, if it differs from the family's own puzzle.
    pub in_hand: Option<InHand>,
    build: Build,
}

/// A puzzle with free rotations of the whole puzzle.
#[derive(Debug)]
pub struct InHand {
    /// The number of states, as a formula.
    pub states: &'static str,
    /// Whether the family's own puzzle is this puzzle with one piece fixed: both have the same number of
    /// states at each distance, and this puzzle has more symmetries.
    pub same_distances: bool,
    build: fn() -> Definition,
}

#[derive(Debug)]
enum Build {
    /// The pattern itself is the only name.
    One(fn() -> Definition),
    /// A name has one number, of at least the given value.
    Sized(usize, fn(usize) -> Definition),
    /// A name has two numbers N,K with 2 <= K <= N, or with 1 <= K < N if `proper` is set.
    Ring { proper: bool, build: fn(usize, usize) -> Definition },
    /// A name has the three sides AxBxC of a cuboid.
    Cuboid(fn([usize; 3]) -> Definition),
    /// A name has the board that is turned over, which must be square if `square` is set.
    Turned { square: bool, build: fn(Board) -> Definition },
}

/// Why a name is not that of a puzzle of a family.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FamilyError {
    /// There is no family of this name.
    #[error("unknown puzzle {word:?}.{} See 'fathom puzzles', or describe it in a file (docs/puzzles.md)",
        nearest.map_or(String::new(), |nearest| format!(" Did you mean {nearest:?}?")))]
    Unknown {
        /// The name as written.
        word: String,
        /// The pattern of the family with the most similar name, if it may be a typing error.
        nearest: Option<&'static str>,
    },
    /// The family exists, but not with these numbers.
    #[error("{word:?} is not of the form {pattern} with {limits}: for example {example}")]
    Numbers {
        /// The name as written.
        word: String,
        /// The pattern of the family.
        pattern: &'static str,
        /// The numbers that the family takes.
        limits: String,
        /// A name of this pattern.
        example: &'static str,
    },
    /// The family has no variant with free rotations.
    #[error("{word:?} has no free rotations; only {known} have them")]
    NotInHand {
        /// The name as written.
        word: String,
        /// The names of the families that have such a variant.
        known: String,
    },
}

/// The pattern of the names of cuboids.
const CUBOID: &str = "AxBxC";

/// The largest N of a family: the number of cells of the largest board.
pub const MAX_SIZE: usize = Board::MAX_CELLS;

/// Returns all families, in the order in which users see them.
pub fn families() -> &'static [Family] {
    &FAMILIES
}

/// Returns the pattern of the family whose name is closest to `name`, if they differ only by typing
/// errors: at most one letter in four is wrong, missing, superfluous, or exchanged with its neighbour.
fn nearest(name: &str) -> Option<&'static str> {
    let names =
        FAMILIES.iter().map(|family| (strsim::damerau_levenshtein(name, family.name()), family.pattern));
    let (slips, found) = names.min()?;
    (slips <= (name.chars().count() / 4).max(1) && name.chars().count() > 2).then_some(found)
}

/// Returns the puzzle of a name.
///
/// # Errors
/// [`FamilyError`] with the patterns that exist, or with the numbers that the family takes.
pub fn by_name(text: &str) -> Result<Definition, FamilyError> {
    if let Some(found) = sliding::Sliding::by_name(text) {
        return Ok(found?.definition());
    }
    let turned = text.split_once('+').and_then(|(board, turn)| {
        let is_meant = |family: &&Family| match family.build {
            Build::Turned { .. } => family.pattern.split_once('+').is_some_and(|(_, word)| word == turn),
            _ => false,
        };
        Some((FAMILIES.iter().find(is_meant)?.name(), Some(board)))
    });
    let is_cuboid = text.split('x').count() == 3 && text.split('x').all(|side| side.parse::<usize>().is_ok());
    let known = |name: &str| FAMILIES.iter().find(|family| family.name() == name);
    let (name, numbers) = turned.unwrap_or_else(|| match text.split_once(':') {
        Some((name, numbers)) => (name, Some(numbers)),
        None if is_cuboid && known(text).is_none() => (CUBOID, Some(text)),
        None => (text, None),
    });
    let family = known(name);
    let family = family.ok_or_else(|| FamilyError::Unknown { word: text.into(), nearest: nearest(name) })?;
    let limits = match &family.build {
        Build::One(_) => "no numbers".into(),
        Build::Sized(least, _) => format!("{least} <= N <= {MAX_SIZE}"),
        Build::Ring { proper: false, .. } => format!("2 <= K <= N <= {MAX_SIZE}"),
        Build::Ring { proper: true, .. } => format!("1 <= K < N <= {MAX_SIZE}"),
        Build::Cuboid(_) => format!("1 <= A B C <= {}, two of them at least 2", cuboid::MAX_SIDE),
        Build::Turned { square: false, .. } => format!("1 <= M N <= {MAX_SIZE}"),
        Build::Turned { square: true, .. } => format!("1 <= M = N and M N <= {MAX_SIZE}"),
    };
    let wrong = || FamilyError::Numbers {
        word: text.into(),
        pattern: family.pattern,
        limits,
        example: family.example,
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<usize>().ok().filter(|&n| digits && n <= MAX_SIZE)
    };
    let mut puzzle = match (&family.build, numbers) {
        (Build::One(build), None) => build(),
        (Build::Sized(least, build), Some(numbers)) => {
            build(number(numbers).filter(|n| n >= least).ok_or_else(wrong)?)
        }
        (Build::Ring { proper, build }, Some(numbers)) => {
            let pair = numbers.split_once(',').and_then(|(n, k)| Some((number(n)?, number(k)?)));
            let fits = |&(n, k): &(usize, usize)| if *proper { 1 <= k && k < n } else { 2 <= k && k <= n };
            let (n, k) = pair.filter(fits).ok_or_else(wrong)?;
            build(n, k)
        }
        (Build::Cuboid(build), Some(sides)) => {
            let sides: Vec<usize> = sides.split('x').filter_map(number).collect();
            let fits = |sides: &[usize; 3]| {
                sides.iter().all(|side| (1..=cuboid::MAX_SIDE).contains(side))
                    && sides.iter().filter(|&&side| side > 1).count() > 1
            };
            build(<[usize; 3]>::try_from(sides).ok().filter(fits).ok_or_else(wrong)?)
        }
        (Build::Turned { square, build }, Some(board)) => {
            let board = board.parse::<Board>().ok();
            build(board.filter(|board| !square || board.rows() == board.columns()).ok_or_else(wrong)?)
        }
        _ => return Err(wrong()),
    };
    puzzle.set_metric(family.metric);
    Ok(puzzle)
}

/// Returns the names of the pieces of the puzzle of a name, in the order of its cells; `None` if they have
/// none.
pub fn piece_names(word: &str) -> Option<Vec<&'static str>> {
    cube::names(word).or_else(|| tetrahedron::names(word))
}

/// Returns the variant of a family with free rotations.
///
/// # Errors
/// [`FamilyError::NotInHand`] with the names of the families that have such a variant.
pub fn in_hand(word: &str) -> Result<Definition, FamilyError> {
    let known = || FAMILIES.iter().filter_map(|family| Some((family, family.in_hand.as_ref()?)));
    let (family, in_hand) = known().find(|(family, _)| family.pattern == word).ok_or_else(|| {
        let words: Vec<_> = known().map(|(family, _)| family.pattern).collect();
        FamilyError::NotInHand { word: word.into(), known: words.join(", ") }
    })?;
    let mut puzzle = (in_hand.build)();
    puzzle.set_metric(family.metric);
    Ok(puzzle)
}

/// Returns the puzzle of this name under a metric of a single family; `None` if the name is not that of
/// the family.
pub fn in_metric(name: &str, metric: Metric) -> Option<Definition> {
    if let Some(found) = sliding::Sliding::by_name(name) {
        return Some(found.ok()?.with_rows(metric == Metric::Multi).definition());
    }
    let build = match (name, metric) {
        ("square1", Metric::Face) => square1::square1,
        ("square1", Metric::Twist) => square1::by_twists,
        _ => return None,
    };
    let mut puzzle = build();
    puzzle.set_metric(metric);
    Some(puzzle)
}

/// Returns the whole puzzle of a name: the variant with free rotations, if the family's own puzzle is that
/// variant with a piece fixed; otherwise the family's own puzzle.
///
/// # Errors
/// As [`by_name`].
pub fn whole(word: &str) -> Result<Definition, FamilyError> {
    let is_held = |family: &Family| family.in_hand.as_ref().is_some_and(|in_hand| in_hand.same_distances);
    match FAMILIES.iter().any(|family| family.pattern == word && is_held(family)) {
        true => in_hand(word),
        false => by_name(word),
    }
}

impl Family {
    /// Returns the part of the pattern before the colon: the name without its numbers.
    pub fn name(&self) -> &'static str {
        self.pattern.split(':').next().expect("a split has at least one part")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_has_the_metric_of_its_family() {
        for family in families() {
            let puzzle = by_name(family.example).unwrap();
            assert_eq!(puzzle.name(), family.example);
            assert_eq!(puzzle.metric(), family.metric, "{}", family.example);
            assert!(!puzzle.generators(family.metric).unwrap().is_empty());
            assert!(families().iter().filter(|other| other.name() == family.name()).count() == 1);
        }
    }

    /// A turn about a face carries exactly the pieces of whose names the face is part.
    #[test]
    fn pieces_are_named_by_the_faces_where_they_belong() {
        for word in ["2x2x2", "3x3x3", "3x3x3-corners", "3x3x3-edges", "3x3x3-positions"] {
            let (puzzle, names) = (by_name(word).unwrap(), piece_names(word).unwrap());
            assert_eq!(names.len(), puzzle.cells(), "{word}");
            for generator in puzzle.moves() {
                let is_moved = |cell: usize| generator.action.cells().apply(cell) != cell;
                assert!((0..names.len()).all(|cell| is_moved(cell) == names[cell].contains(&generator.name)));
            }
        }
        for word in ["pyraminx", "pyraminx+tips", "skewb", "dino", "compy"] {
            assert_eq!(piece_names(word).unwrap().len(), by_name(word).unwrap().cells(), "{word}");
        }
        // U turns the axial piece, the edges and the tip at its vertex.
        let puzzle = by_name("pyraminx+tips").unwrap();
        for (cell, name) in piece_names("pyraminx+tips").unwrap().iter().enumerate() {
            let turn = &puzzle.moves()[0].action;
            let is_moved = turn.cells().apply(cell) != cell || turn.turns()[cell] != 0;
            assert_eq!(is_moved, name.to_uppercase().contains('U'), "{name}");
        }
        assert_eq!(piece_names("pancake:4"), None);
    }

    #[test]
    fn families_with_free_rotations() {
        for family in families() {
            let word = family.example;
            let (own, whole) = (by_name(word).unwrap(), whole(word).unwrap());
            let Some(twin) = &family.in_hand else {
                assert_eq!(whole, own);
                let refused = in_hand(word).unwrap_err().to_string();
                let known = "only 2x2x2, 3x3x3-corners, 3x3x3-edges, dino have them";
                assert_eq!(refused, format!("{word:?} has no free rotations; {known}"));
                continue;
            };
            let free = in_hand(word).unwrap();
            assert!(own.free().is_empty() && !free.free().is_empty(), "{word}");
            assert_eq!(free.metric(), family.metric, "{word}");
            // Two puzzles have the same name only if they have the same number of states.
            assert_eq!(twin.same_distances, free.name() == word);
            assert_eq!(twin.same_distances, own.states() == free.states(), "{word}");
            assert_eq!(whole == free, twin.same_distances, "{word}");
        }
    }

    /// Jaap Scherphuis's pages have the number of positions of the Ivy cube, and 3,604,333,606,207,488,000
    /// for the void cube: 8! 3^7 12! 2^11 / 24.
    #[test]
    fn numbers_of_states() {
        assert_eq!(by_name("ivy").unwrap().states(), Some(29_160));
        assert_eq!(by_name("void").unwrap().states(), Some(3_604_333_606_207_488_000));
    }

    #[test]
    fn smallest_and_largest_of_each_family_exist() {
        for word in ["pancake:2", "burnt-pancake:1", "star:2", "coxeter:2", "all-transpositions:2"] {
            assert!(by_name(word).is_ok(), "{word}");
        }
        for word in ["necklace:2,1", "necklace:64,63", "1x2x2", "3x3x1", "3x2x3", "2x2x5", "3x3x5"] {
            assert!(by_name(word).is_ok(), "{word}");
        }
        for word in ["lrx:2", "lx:2", "topspin:2,2", "topspin:64,64", "all-transpositions:64", "lrx:64"] {
            assert!(by_name(word).is_ok(), "{word}");
        }
    }

    #[test]
    fn unknown_names_are_rejected() {
        let message = |word: &str| by_name(word).unwrap_err().to_string();
        assert!(message("pancakes").starts_with("unknown puzzle \"pancakes\". Did you mean \"pancake"));
        assert!(message("nonsense").starts_with("unknown puzzle \"nonsense\". See 'fathom puzzles', or "));
        assert!(message("").ends_with("describe it in a file (docs/puzzles.md)"));
        let pancake = "is not of the form pancake:N with 2 <= N <= 64: for example pancake:8";
        for word in
            ["pancake", "pancake:", "pancake:1", "pancake:65", "pancake:+5", "pancake:5,2", "pancake:x"]
        {
            assert_eq!(message(word), format!("{word:?} {pancake}"));
        }
        assert!(message("pancake:99999999999999999999999").ends_with(pancake));
        let topspin = "is not of the form topspin:N,K with 2 <= K <= N <= 64: for example topspin:8,4";
        for word in ["topspin:8", "topspin:8,1", "topspin:4,8", "topspin:8,4,2", "topspin:,"] {
            assert_eq!(message(word), format!("{word:?} {topspin}"));
        }
        for word in ["+flip", "0x3+flip", "9x8+flip", "3y3+flip", "3x3x3+flip", "MxN+flip"] {
            let says =
                format!("{word:?} is not of the form MxN+flip with 1 <= M N <= 64: for example 3x3+flip");
            assert_eq!(message(word), says);
        }
        assert!(
            message("3x4+transpose").contains("with 1 <= M = N and M N <= 64: for example 3x3+transpose")
        );
        let necklace = "is not of the form necklace:N,K with 1 <= K < N <= 64: for example necklace:20,10";
        for word in ["necklace:5", "necklace:5,0", "necklace:5,5", "necklace:65,5"] {
            assert_eq!(message(word), format!("{word:?} {necklace}"));
        }
        let cuboid =
            "is not of the form AxBxC with 1 <= A B C <= 5, two of them at least 2: for example 2x2x3";
        for word in ["6x6x6", "2x2x0", "1x1x3", "2x3x9", "AxBxC", "AxBxC:2"] {
            assert_eq!(message(word), format!("{word:?} {cuboid}"));
        }
        assert!(message("3x3+turn").contains("unknown puzzle"));
        assert!(message("3x3+flip+flip").contains("unknown puzzle"));
        assert_eq!(
            message("2x2x2:3"),
            "\"2x2x2:3\" is not of the form 2x2x2 with no numbers: for example 2x2x2"
        );
    }
}
