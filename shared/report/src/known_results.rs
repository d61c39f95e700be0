//! God's numbers of named spaces, each found by Fathom and, independently, by the given source.

use fathom_puzzle::Metric;
use serde::Serialize;

/// The largest distance in a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GodsNumber {
    /// The puzzle, as `fathom run` accepts it.
    pub space: &'static str,
    /// The metric.
    pub metric: Metric,
    /// The largest distance.
    pub gods_number: u32,
    /// The number of states.
    pub states: u64,
    /// Whether the moves are closed under inverses. If not, the distance is one way, from the solved state.
    pub inverse_closed: bool,
    /// The independent source of the number.
    pub source: &'static str,
}

/// Returns the known numbers of a family of puzzles, by its pattern; `MxN` are boards. A test of `fathom
/// puzzles` computes the numbers that take only seconds; the others are records.
pub fn gods_numbers(pattern: &str) -> Vec<GodsNumber> {
    use Metric::{Given, Multi, Single};
    let known = |space, metric, gods_number, states, source| GodsNumber {
        space,
        metric,
        gods_number,
        states,
        inverse_closed: true,
        source,
    };
    match pattern {
        "MxN" => vec![
            known("3x3", Multi, 8, 181_440, "Jia, Zhang, Xiang: two-dimensional magic cube, Table 1"),
            known("2x6", Multi, 14, 479_001_600, "Jia, Zhang, Xiang: two-dimensional magic cube, Table 4"),
            known("4x4", Single, 18, 20_922_789_888_000, "T. Rokicki, by solving cosets"),
        ],
        // The even states, as Harris found them, take 8; an odd one takes the flip as well.
        "MxN+flip" => {
            vec![known(
                "3x3+flip",
                Multi,
                9,
                362_880,
                "R. Harris: the Rubeish square, Overload; 8 and the flip",
            )]
        }
        "pancake:N" => vec![known("pancake:8", Given, 9, 40_320, "OEIS A058986")],
        "burnt-pancake:N" => vec![known("burnt-pancake:6", Given, 12, 46_080, "OEIS A078941")],
        "star:N" => vec![known("star:7", Given, 9, 5_040, "OEIS A007799")],
        "coxeter:N" => vec![known("coxeter:6", Given, 15, 720, "OEIS A008302")],
        "all-transpositions:N" => vec![known("all-transpositions:7", Given, 6, 5_040, "OEIS A094638")],
        "lrx:N" => vec![known("lrx:8", Given, 28, 40_320, "OEIS A186783")],
        "lx:N" => {
            vec![GodsNumber { inverse_closed: false, ..known("lx:8", Given, 35, 40_320, "OEIS A039745") }]
        }
        "2x2x2" => vec![
            known("2x2x2", Multi, 11, 3_674_160, "OEIS A079761"),
            known("2x2x2", Single, 14, 3_674_160, "B. Norskog, cubezzz forum, 2x2x2 Cube"),
        ],
        "3x3x3-corners" => {
            vec![known("3x3x3-corners", Multi, 11, 88_179_840, "R. Korf, 1997, pattern databases")]
        }
        "skewb" => vec![known("skewb", Multi, 11, 3_149_280, "OEIS A079745")],
        "compy" => vec![known("compy", Multi, 19, 1_571_364_748_800, "T. Rokicki, twsearch-results")],
        "dino" => vec![known("dino", Multi, 13, 239_500_800, "cayleypy, puzzles_growth.csv")],
        "pyraminx" => vec![known("pyraminx", Multi, 11, 933_120, "J. Scherphuis, Puzzle Pages, Pyraminx")],
        _ => Vec::new(),
    }
}
