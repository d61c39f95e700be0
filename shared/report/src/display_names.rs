//! Readable names of puzzles, for titles and for the names of sequences.

use fathom_engine::run::SpaceSpec;
use fathom_puzzle::{Metric, PuzzleSpec};
use fathom_space::Labels;

/// The names of a puzzle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayNames {
    /// The title, such as `The pocket cube`.
    pub title: String,
    /// The part of a sequence's name after "Number of": what is counted, and when it has the distance n.
    pub counted: String,
    /// The part of the same name after "where": what one move is.
    pub one_move: String,
}

/// Returns the title of a space. `is_labelled` says whether some pieces of the puzzle have the same label
/// that the puzzle itself distinguishes.
pub fn title(source: &PuzzleSpec, metric: &str, is_labelled: bool) -> String {
    let puzzle = words(source, metric).map_or_else(|| source.name(), |words| words.title);
    if is_labelled { format!("{puzzle}, some pieces alike") } else { puzzle }
}

/// Returns whether pieces of a space have other labels than those of its puzzle.
pub fn is_labelled(spec: &SpaceSpec) -> bool {
    spec.labels != Labels::from_values(spec.source.solved())
}

/// The powers of the listed moves that cost one move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Powers {
    /// All.
    All,
    /// The first, and its inverse.
    BothWays,
    /// The first.
    OneWay,
}

impl Powers {
    /// Returns the powers of a metric; `None` for a metric that is not a choice of powers.
    fn new(metric: &str) -> Option<Self> {
        match metric {
            _ if metric == Metric::Multi.as_str() => Some(Self::All),
            _ if metric == Metric::Single.as_str() => Some(Self::BothWays),
            _ if metric == Metric::Given.as_str() => Some(Self::OneWay),
            _ => None,
        }
    }

    /// Returns one of three words.
    fn choose(self, all: &'static str, both_ways: &'static str, one_way: &'static str) -> &'static str {
        match self {
            Self::All => all,
            Self::BothWays => both_ways,
            Self::OneWay => one_way,
        }
    }
}

/// Returns the names of a board or of a built-in puzzle; `None` for a puzzle that a user has defined, and if
/// there are no names for the moves of the metric.
pub fn words(source: &PuzzleSpec, metric: &str) -> Option<DisplayNames> {
    if !matches!(source, PuzzleSpec::Board(_)) && source.name() == "square1" {
        return is_of_its_word(source).then(|| of_square1(metric)).flatten();
    }
    let powers = Powers::new(metric)?;
    let (title, counted, one_move) = match source {
        PuzzleSpec::Board(board) => {
            let (rows, columns) = (board.rows(), board.columns());
            let one_move = powers.choose(
                "a move rotates one row or column by any number of cells",
                "a move rotates one row or column by one cell, either way",
                "a move rotates one row by one cell to the left, or one column by one cell upwards",
            );
            let counted = format!(
                "arrangements of a {rows} X {columns} board with cyclically rotating rows and columns that need exactly n moves to be solved"
            );
            (format!("The {rows} × {columns} board"), counted, one_move.to_owned())
        }
        PuzzleSpec::Defined(_) if !is_of_its_word(source) => return None,
        PuzzleSpec::Defined(_) => {
            let name = source.name();
            let (family, number) = name.split_once(':').unwrap_or((&name, ""));
            let permutations =
                format!("permutations of {number} elements that need exactly n moves to be sorted");
            let positions =
                |puzzle: &str| format!("positions of {puzzle} that need exactly n moves to be solved");
            let face = powers.choose(
                "a move turns one face by any angle",
                "a move turns one face by its smallest angle, either way",
                "a move turns one face by its smallest angle, clockwise",
            );
            let layer = powers.choose(
                "a move turns one layer by any angle",
                "a move turns one layer by its smallest angle, either way",
                "a move turns one layer by its smallest angle, clockwise",
            );
            // A third of a turn has only itself and its inverse as powers.
            let third = |what: &str| {
                format!("a move turns {what}, {}", powers.choose("either way", "either way", "clockwise"))
            };
            match family {
                "pancake" => (
                    format!("{number} pancakes"),
                    format!("stacks of {number} pancakes that need exactly n flips to be sorted"),
                    "a flip turns over any number of pancakes from the top".into(),
                ),
                "burnt-pancake" => (
                    format!("{number} burnt pancakes"),
                    format!("stacks of {number} burnt pancakes that need exactly n flips to be sorted"),
                    "a flip turns over any number of pancakes from the top".into(),
                ),
                "star" => (
                    format!("The star graph of {number} pieces"),
                    permutations,
                    "a move exchanges the first element with any other".into(),
                ),
                "coxeter" => (
                    format!("Bubble sort of {number} pieces"),
                    permutations,
                    "a move exchanges two neighbors".into(),
                ),
                "all-transpositions" => (
                    format!("All exchanges of {number} pieces"),
                    permutations,
                    "a move exchanges any two elements".into(),
                ),
                "lrx" => (
                    format!("{number} pieces in a ring, L, R and X"),
                    permutations,
                    // A shift to the right is listed as well.
                    powers
                        .choose(
                            "a move rotates all elements by any number of places, or exchanges the first two",
                            "a move rotates all elements by one place either way, or exchanges the first two",
                            "a move rotates all elements by one place either way, or exchanges the first two",
                        )
                        .into(),
                ),
                "lx" => (
                    format!("{number} pieces in a ring, L and X"),
                    permutations,
                    powers
                        .choose(
                            "a move rotates all elements by any number of places, or exchanges the first two",
                            "a move rotates all elements by one place either way, or exchanges the first two",
                            "a move rotates all elements by one place to the left, or exchanges the first two",
                        )
                        .into(),
                ),
                "topspin" => {
                    let (all, turned) = number.split_once(',')?;
                    (
                        format!("TopSpin with {all} pieces"),
                        format!(
                            "permutations of {all} elements in a ring that need exactly n moves to be sorted"
                        ),
                        format!(
                            "a move rotates the ring by {}, or reverses the first {turned}",
                            powers.choose(
                                "any number of places",
                                "one place either way",
                                "one place either way"
                            )
                        ),
                    )
                }
                "necklace" => {
                    let (all, black) = number.split_once(',')?;
                    (
                        format!("Necklaces of {all} beads, {black} of them black"),
                        format!(
                            "arrangements of {all} beads in a ring, {black} of them black, that need exactly n moves to be sorted"
                        ),
                        powers
                            .choose(
                                "a move rotates all beads by any number of places, or exchanges the first two",
                                "a move rotates all beads by one place either way, or exchanges the first two",
                                "a move rotates all beads by one place either way, or exchanges the first two",
                            )
                            .into(),
                    )
                }
                "sliding" if powers == Powers::OneWay => {
                    let (rows, columns) = number.split(',').next()?.split_once('x')?;
                    let has = |word| number.split(',').any(|option| option == word);
                    let torus = if has("torus") { "toroidal " } else { "" };
                    let blank = number
                        .split_once("blank=")
                        .map_or_else(String::new, |(_, cell)| format!(", which means that the blank is in cell {cell}"));
                    let one_move = match has("multi") {
                        true => "a move slides one or more tiles of a row or column towards the blank cell",
                        false => "a move slides one tile to the blank cell",
                    };
                    (
                        format!("Sliding tiles, {torus}{rows} × {columns}"),
                        format!(
                            "arrangements of sliding tiles on a {torus}{rows} X {columns} board that need exactly n moves to be solved{blank}"
                        ),
                        one_move.into(),
                    )
                }
                "void" => ("The Void Cube".into(), positions("the Void Cube"), face.into()),
                "floppy" => (
                    "The Floppy Cube".into(),
                    positions("the Floppy Cube"),
                    "a move turns one side by a half turn".into(),
                ),
                "gear" => (
                    "The Gear Cube".into(),
                    positions("the Gear Cube"),
                    powers
                        .choose(
                            "a move turns one face by any number of half turns",
                            "a move turns one face by half a turn, either way",
                            "a move turns one face by half a turn, clockwise",
                        )
                        .into(),
                ),
                "ivy" => ("The Ivy Cube".into(), positions("the Ivy Cube"), third("one corner")),
                "kilominx" => ("The Kilominx".into(), positions("the Kilominx"), face.into()),
                "clock" => (
                    "Rubik's Clock".into(),
                    positions("Rubik's Clock"),
                    powers
                        .choose(
                            "a move turns the wheels that pins connect by any angle",
                            "a move turns the wheels that pins connect by one hour, either way",
                            "a move turns the wheels that pins connect by one hour, clockwise",
                        )
                        .into(),
                ),
                "4x4x4-centers" => (
                    "The centers of the 4 × 4 × 4 cube".into(),
                    positions("the centers of the 4 X 4 X 4 Rubik cube in space"),
                    layer.into(),
                ),
                "5x5x5-centers" => (
                    "The centers of the 5 × 5 × 5 cube".into(),
                    positions("the centers of the 5 X 5 X 5 Rubik cube in space"),
                    layer.into(),
                ),
                cuboid if cuboid != "2x2x2" && cuboid != "3x3x3" && is_cuboid(cuboid) => (
                    format!("The {} cuboid", cuboid.replace('x', " × ")),
                    positions(&format!("the {} cuboid", cuboid.replace('x', " X "))),
                    layer.into(),
                ),
                "2x2x2" => ("The pocket cube".into(), positions("the 2 X 2 X 2 Rubik cube"), face.into()),
                "3x3x3-corners" => (
                    "The corners of Rubik's cube".into(),
                    positions("the corners of the 3 X 3 X 3 Rubik cube"),
                    face.into(),
                ),
                "3x3x3-edges" => (
                    "The edges of Rubik's cube".into(),
                    positions("the edges of the 3 X 3 X 3 Rubik cube"),
                    face.into(),
                ),
                "3x3x3-positions" => (
                    "The positions of the pieces of Rubik's cube".into(),
                    positions("the pieces of the 3 X 3 X 3 Rubik cube, however these are turned,"),
                    face.into(),
                ),
                "3x3x3" => ("Rubik's cube".into(), positions("the 3 X 3 X 3 Rubik cube"), face.into()),
                "skewb" => {
                    ("The Skewb".into(), positions("the Skewb"), third("half of the puzzle about one corner"))
                }
                "dino" => (
                    "The Dino Cube".into(),
                    positions("the Dino Cube in space (cubes that are turned as a whole differ)"),
                    third("one corner"),
                ),
                "compy" => ("The Compy Cube".into(), positions("the Compy Cube"), third("one corner")),
                "pyraminx" => (
                    "The Pyraminx without its tips".into(),
                    positions("the Pyraminx (without the trivial tips)"),
                    third("one corner"),
                ),
                "pyraminx+tips" => (
                    "The Pyraminx with its tips".into(),
                    positions("the Pyraminx (with its tips)"),
                    third("one corner or tip"),
                ),
                _ => return None,
            }
        }
    };
    Some(DisplayNames { title, counted, one_move })
}

/// Returns whether a name consists of three numbers, such as 2x2x3.
fn is_cuboid(name: &str) -> bool {
    name.split('x').count() == 3 && name.split('x').all(|side| side.parse::<u8>().is_ok())
}

/// Returns the names of Square-1, which lists the moves of its two metrics itself.
fn of_square1(metric: &str) -> Option<DisplayNames> {
    let one_move = match metric {
        _ if metric == Metric::Twist.as_str() => "a move is a twist, and turns of the two layers are free",
        _ if metric == Metric::Face.as_str() => "a move is a twist, or turns one layer by any angle",
        _ => return None,
    };
    let counted = "positions of the Square-1 puzzle that need exactly n moves to be solved";
    Some(DisplayNames { title: "Square-1".into(), counted: counted.into(), one_move: one_move.into() })
}

/// Returns whether a puzzle is the built-in one with its name: a file may have any name.
pub(crate) fn is_of_its_word(source: &PuzzleSpec) -> bool {
    let name = source.name();
    let metric = source.metric();
    let found = [PuzzleSpec::by_name(&name), PuzzleSpec::whole(&name), PuzzleSpec::in_hand(&name)];
    found.into_iter().filter_map(|found| found.ok()?.in_metric(metric).ok()).any(|found| found == *source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts;
    use fathom_puzzle::{Generator, families};
    use std::collections::BTreeSet;

    /// Returns the actions that a sentence promises, of the listed moves `listed`.
    fn promised(sentence: &str, listed: &[Generator]) -> BTreeSet<String> {
        let any = [
            "any angle",
            "any number of cells",
            "any number of places",
            "any rotation",
            "any power",
            "any number of half turns",
        ];
        let both = ["either way", "or its inverse"];
        let one = ["clockwise", "to the left", "upwards", "a listed move is"];
        let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
        let mut found = BTreeSet::new();
        for Generator { action, .. } in listed {
            let inverse = action.inverse();
            let mut powers = vec![action.clone()];
            if has(&any) {
                while powers.last() != Some(&inverse) {
                    powers.push(powers[powers.len() - 1].then(action));
                }
            } else if has(&both) {
                powers.push(inverse);
            } else {
                // Without a word for the direction, both directions must be the same.
                assert!(has(&one) || *action == inverse, "{sentence}");
            }
            found
                .extend(powers.iter().filter(|power| !power.is_identity()).map(|power| format!("{power:?}")));
        }
        found
    }

    #[test]
    fn sentences_describe_the_moves_of_the_metric() {
        let names = families().iter().map(|family| family.example);
        let names = names.chain(["2x2", "2x3", "3x4", "1x5", "lrx:6", "lx:6", "topspin:6,4", "star:2"]);
        let mut with_words = 0;
        for name in names {
            let sources = [PuzzleSpec::by_name(name), PuzzleSpec::whole(name), PuzzleSpec::in_hand(name)];
            for source in sources.into_iter().flatten() {
                for metric in [Metric::Multi, Metric::Single, Metric::Given] {
                    if source.metric().is_square1_only() {
                        continue;
                    }
                    let word = metric.as_str();
                    let definition = source.definition(metric).unwrap();
                    let moves = definition.generators(definition.metric()).unwrap();
                    let moves: BTreeSet<String> = moves.iter().map(|m| format!("{:?}", m.action)).collect();
                    let listed = source.definition(Metric::Given).unwrap();
                    let general = facts::move_is(&source, word);
                    assert_eq!(promised(general, listed.moves()), moves, "{name} {word}: {general}");
                    let Some(words) = words(&source, word) else {
                        assert!(name.contains('+') || source.name().ends_with("-free"), "{name} {word}");
                        continue;
                    };
                    with_words += 1;
                    let said = words.one_move;
                    assert_eq!(promised(&said, listed.moves()), moves, "{name} {word}: {said}");
                }
            }
        }
        assert!(with_words > 60, "{with_words}");
    }

    #[test]
    fn directions_match_their_names() {
        let action = |name: &str| {
            let source = PuzzleSpec::by_name(name).unwrap();
            source.definition(Metric::Given).unwrap().moves()[0].action.clone()
        };
        let to = |name: &str, cell| action(name).apply(cell, 0).0;
        // Seen from above, U of the pocket cube moves the corner URF to UFL.
        assert_eq!(to("2x2x2", 0), 1);
        // V1 of a board moves the cell of the second row to the first, L of a ring moves cell 1 to 0.
        assert_eq!(to("3x4", 4), 0);
        assert_eq!(to("lx:6", 1), 0);
    }

    #[test]
    fn square1_has_names_only_for_its_metrics() {
        let by_face = PuzzleSpec::by_name("square1").unwrap();
        let by_twist = by_face.clone().in_metric(Metric::Twist).unwrap();
        assert!(words(&by_face, "face").unwrap().one_move.contains("any angle"));
        assert!(words(&by_twist, "twist").unwrap().one_move.contains("free"));
        for metric in ["multi", "single", "given"] {
            assert_eq!(words(&by_face, metric), None);
        }
    }

    #[test]
    fn dino_in_space_has_its_own_name() {
        let counted = words(&PuzzleSpec::by_name("dino").unwrap(), "multi").unwrap().counted;
        assert!(counted.contains("in space"), "{counted}");
        assert_eq!(words(&PuzzleSpec::in_hand("dino").unwrap(), "multi"), None);
    }

    #[test]
    fn every_family_has_names() {
        for family in families()
            .iter()
            .filter(|family| !family.example.contains('+') || family.example.starts_with("pyraminx"))
        {
            let source = PuzzleSpec::by_name(family.example).unwrap();
            let metric = source.metric().to_string();
            let words = words(&source, &metric).unwrap_or_else(|| panic!("{}", family.example));
            assert!(words.counted.contains("exactly n") && !words.title.contains(':'), "{words:?}");
        }
    }

    #[test]
    fn sliding_tiles_are_named_by_their_board() {
        let said = |name: &str| {
            let words = words(&PuzzleSpec::by_name(name).unwrap(), "given").unwrap();
            format!("{}; {}; {}", words.title, words.counted, words.one_move)
        };
        assert_eq!(
            said("sliding:2x3"),
            "Sliding tiles, 2 × 3; arrangements of sliding tiles on a 2 X 3 board that need exactly n moves to be solved; \
             a move slides one tile to the blank cell"
        );
        assert_eq!(
            said("sliding:3x4,torus,blank=2,multi"),
            "Sliding tiles, toroidal 3 × 4; arrangements of sliding tiles on a toroidal 3 X 4 board that need exactly n \
             moves to be solved, which means that the blank is in cell 2; a move slides one or more tiles of a row or \
             column towards the blank cell"
        );
    }

    #[test]
    fn name_does_not_identify_a_puzzle() {
        let board = PuzzleSpec::by_name("3x4").unwrap();
        assert_eq!(title(&board, "multi", false), "The 3 × 4 board");
        assert_eq!(title(&board, "multi", true), "The 3 × 4 board, some pieces alike");
        assert_eq!(title(&PuzzleSpec::whole("2x2x2").unwrap(), "multi", false), "The pocket cube");
        let mut definition = PuzzleSpec::by_name("pancake:5").unwrap().definition(Metric::Given).unwrap();
        let other = PuzzleSpec::by_name("star:5").unwrap().definition(Metric::Given).unwrap();
        assert!(words(&PuzzleSpec::Defined(Box::new(definition.clone())), "given").is_some());
        for (name, action) in other.moves().iter().map(|m| (m.name.clone(), m.action.clone())) {
            // One more move, under an unused name.
            let _ = definition.add_move(format!("x{name}"), action);
        }
        assert_eq!(words(&PuzzleSpec::Defined(Box::new(definition)), "given"), None);
    }
}
