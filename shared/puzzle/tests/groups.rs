//! The groups of boards, and words for their elements and for those of Rubik's cube.

use fathom_algebra::{Factoriser, Group, Kind, Permutation, WhyNot, Word};
use fathom_puzzle::Board;
use num_bigint::BigUint;
use proptest::prelude::*;
use std::sync::LazyLock;

/// The group that the shifts of all lines of a board by one cell generate.
fn board(word: &str) -> Group {
    let board: Board = word.parse().unwrap();
    Group::new(board.cells(), board.lines().map(|line| board.rotation(line, 1)).collect())
}

/// Rubik's cube on stickers 1 to 59, centres and numbers that end in 0 being idle: "How to count the number
/// of positions of Rubik's cube", HaskellForMaths, 2009; faces f, b, l, r, u, d.
fn rubik() -> Group {
    let turns = [
        "[[1,3,9,7],[2,6,8,4],[17,41,33,29],[18,44,32,26],[19,47,31,23]]",
        "[[51,53,59,57],[52,56,58,54],[11,27,39,43],[12,24,38,46],[13,21,37,49]]",
        "[[21,23,29,27],[22,26,28,24],[1,31,59,11],[4,34,56,14],[7,37,53,17]]",
        "[[41,43,49,47],[42,46,48,44],[3,13,57,33],[6,16,54,36],[9,19,51,39]]",
        "[[11,13,19,17],[12,16,18,14],[1,21,51,41],[2,22,52,42],[3,23,53,43]]",
        "[[31,33,39,37],[32,36,38,34],[7,47,57,27],[8,48,58,28],[9,49,59,29]]",
    ];
    Group::new(59, turns.iter().map(|turn| Permutation::parse(turn, 59).unwrap()).collect())
}

#[test]
fn rubiks_cube_has_the_order_of_the_article() {
    let cube = rubik();
    assert_eq!(cube.order(), BigUint::from(43_252_003_274_489_856_000_u128));
    let [f, l] = [0, 2].map(|face| &cube.generators()[face]);
    assert_eq!(f.then(l).order(), Some(105));
}

/// The article of HaskellForMaths: what turns of faces do not do to Rubik's cube, and what they do.
#[test]
fn what_is_wrong_with_a_cube_is_told_by_its_pieces() {
    let group = rubik();
    let why_not = |cycles| group.why_not(&Permutation::parse(cycles, group.degree()).unwrap());
    let turned =
        |block: [usize; 3], alone| Some(WhyNot::Turned { block: block.map(|p| p - 1).to_vec(), alone });
    for corner in ["(1,17,23)", "(1,23,17)"] {
        assert_eq!(why_not(corner), turned([1, 17, 23], true), "{corner}");
    }
    let flipped = WhyNot::Turned { block: vec![1, 17], alone: true };
    assert_eq!(why_not("(2,18)"), Some(flipped));
    // Two corners exchanged, or two edges.
    let exchanged = Some(WhyNot::BlockParity { points: vec![], blocks: vec![0, 1] });
    assert_eq!(why_not("(1,19)(3,17)(23,41)"), exchanged);
    assert_eq!(why_not("(2,4)(18,26)"), exchanged);
    for possible in ["[[27,59,37],[39,49,57]]", "[[38,58],[46,54]]"] {
        assert_eq!(why_not(possible), None, "{possible}");
    }
}

#[test]
fn groups_of_boards_are_those_of_the_paper() {
    // Jia, Zhang and Xiang, theorems 3.3 and 5.2.3: alternating when rows and columns are both odd, else
    // symmetric.
    for (rows, columns) in (2..=8).flat_map(|rows| (2..=8).map(move |columns| (rows, columns))) {
        let (word, cells) = (format!("{rows}x{columns}"), rows * columns);
        let group = board(&word);
        let odd = cells % 2 == 1;
        assert_eq!(
            group.kind(),
            if odd { Kind::Alternating(cells) } else { Kind::Symmetric(cells) },
            "{word}"
        );
        let factorial: BigUint = (1..=cells).map(BigUint::from).product();
        assert_eq!(group.order(), if odd { factorial / 2_u32 } else { factorial }, "{word}");
        assert_eq!(group.transitivity(), if odd { cells - 2 } else { cells }, "{word}");
        // A line is odd where its length is even.
        let odd_lines = columns * (1 - rows % 2) + rows * (1 - columns % 2);
        assert_eq!(group.odd_generators(), odd_lines, "{word}");
        assert_eq!(group.orbits()[0].blocks, None, "{word}");
    }
}

/// Jia, Zhang and Xiang, theorem 5.2.3, on boards with more columns, which are not all searched.
#[test]
fn boards_of_up_to_sixteen_rows_and_columns_are_those_of_the_paper() {
    for (rows, columns) in (2..=16).flat_map(|rows| (rows.max(9)..=16).map(move |columns| (rows, columns))) {
        let word = format!("{rows}x{columns}");
        let board = Board::for_its_group(&word).unwrap();
        let group = Group::new(board.cells(), board.lines().map(|line| board.rotation(line, 1)).collect());
        let kind = match rows * columns % 2 {
            1 => Kind::Alternating(board.cells()),
            _ => Kind::Symmetric(board.cells()),
        };
        assert_eq!(group.kind(), kind, "{word}");
        let factorial: BigUint = (1..=board.cells()).map(BigUint::from).product();
        assert_eq!(group.order(), factorial / (1 + board.cells() % 2), "{word}");
    }
    assert!(Board::for_its_group("17x16").is_err());
    assert!("9x9".parse::<Board>().is_err());
}

/// Groups whose elements are factored, each with a bound on the turns of words: what is found is about half
/// of it.
static GROUPS: LazyLock<Vec<(Group, usize)>> = LazyLock::new(|| {
    let boards = [("1x7", 1), ("3x3", 8), ("3x4", 26), ("4x4", 36), ("5x5", 80), ("2x7", 50)];
    boards.iter().map(|&(word, most)| (board(word), most)).chain([(rubik(), 110)]).collect()
});

static FACTORISERS: LazyLock<Vec<Factoriser<'static>>> =
    LazyLock::new(|| GROUPS.iter().map(|(group, _)| Factoriser::new(group)).collect());

/// A group's place, and an element by a random walk that is much longer than the group is wide.
fn element() -> impl Strategy<Value = (usize, Permutation)> {
    let turns = proptest::collection::vec((any::<prop::sample::Index>(), 1_i64..12), 0..500);
    (0..GROUPS.len(), turns).prop_map(|(place, turns)| {
        let group = &GROUPS[place].0;
        let walk = turns.iter().fold(Permutation::identity(group.degree()), |element, (turn, exponent)| {
            element.then(&turn.get(group.generators()).power(*exponent))
        });
        (place, walk)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_word_makes_its_element_and_is_short((place, element) in element()) {
        let (group, most) = &GROUPS[place];
        let word = FACTORISERS[place].factor(&element).unwrap();
        let product = word.turns().iter().fold(Permutation::identity(group.degree()), |product, turn| {
            product.then(&group.generators()[turn.generator].power(turn.exponent))
        });
        prop_assert_eq!(&product, &element);
        prop_assert!(word.len() <= *most, "{} turns", word.len());
        prop_assert_eq!(word.is_empty(), element.is_identity());
    }

    #[test]
    fn a_group_is_closed((place, element) in element()) {
        let group = &GROUPS[place].0;
        prop_assert_eq!(group.why_not(&element), None);
        prop_assert_eq!(group.why_not(&element.inverse()), None);
        for other in group.chain().strong_generators() {
            prop_assert!(group.chain().contains(&element.then(other)));
        }
    }

    #[test]
    fn what_is_not_in_the_group_has_no_word((place, element) in element(), at in any::<prop::sample::Index>()) {
        // A transposition leaves the groups of even permutations, that of one cycle, and that of the cube.
        let (group, _) = &GROUPS[place];
        let orbit = &group.orbits()[0].points;
        let point = at.index(orbit.len() - 1);
        let swap = Permutation::parse(&format!("({},{})", orbit[point] + 1, orbit[point + 1] + 1), group.degree());
        let outside = element.then(&swap.unwrap());
        let is_member = matches!(group.kind(), Kind::Symmetric(_));
        prop_assert_eq!(group.why_not(&outside).is_none(), is_member);
        prop_assert_eq!(FACTORISERS[place].factor(&outside).is_some(), is_member);
    }
}

/// The last elements of the article's strong generating set: three-cycles of edges, and twists of corners.
#[test]
fn the_short_elements_of_the_article_have_short_words() {
    let (cube, _) = GROUPS.last().unwrap();
    let factoriser = FACTORISERS.last().unwrap();
    for (element, most) in [
        ("[[28,54,58],[34,46,38]]", 12),
        ("[[36,38,54],[46,48,58]]", 12),
        ("[[36,58,54],[38,46,48]]", 12),
        ("[[13,43,51],[27,37,59]]", 12),
        // Two corners beside each other.
        ("[[27,59,37],[39,49,57]]", 14),
    ] {
        let element = Permutation::parse(element, cube.degree()).unwrap();
        let word = factoriser.factor(&element).unwrap();
        assert_eq!(word.product(cube.degree(), cube.generators()), element);
        assert!(word.len() <= most, "{element}: {} turns", word.len());
    }
}

#[test]
fn groups_that_fit_the_ball_get_shortest_words() {
    // The diameters of 2 x 2 and 2 x 3 in the metric of all rotations: 4 and 7 (Jia, Zhang and Xiang, table
    // 4).
    for (word, diameter) in [("2x2", 4), ("2x3", 7)] {
        let group = board(word);
        let factoriser = Factoriser::new(&group);
        let elements = (0..).map_while(|rank| Permutation::unrank(group.degree(), rank));
        let longest = elements.map(|element| factoriser.factor(&element).unwrap().len()).max();
        assert_eq!(longest, Some(diameter), "{word}");
    }
}

#[test]
fn groups_without_moves_and_without_generators() {
    for generators in [vec![], vec![Permutation::identity(3)]] {
        let group = Group::new(3, generators);
        assert_eq!(group.kind(), Kind::Trivial);
        let factoriser = Factoriser::new(&group);
        assert_eq!(factoriser.factor(&Permutation::identity(3)), Some(Word::identity()));
        assert_eq!(factoriser.factor(&Permutation::parse("(1,2)", 3).unwrap()), None);
    }
}

/// 43,252,003,274,489,856,000 is the order of the group of Rubik's cube (D. Singmaster, *Notes on Rubik's
/// Magic Cube*, 1981), whether its pieces or its stickers are moved.
#[test]
fn states_follow_from_what_is_done_to_each_orbit() {
    let order = Some("43252003274489856000".parse().unwrap());
    assert_eq!(fathom_puzzle::family::puzzle("3x3x3").unwrap().states_by_orbits(), order);
    let stickers = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/rubik.gap");
    let stickers = fathom_puzzle::load::load(&stickers).unwrap();
    assert_eq!(stickers.states_by_orbits(), order);
}
