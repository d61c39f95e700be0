//! The families, compared with published numbers of states and of states at each distance.

use crate::search::growth;
use fathom_algebra::OrientedPermutation;
use fathom_puzzle::{Definition, Family, InHand, Metric, families, family};
use std::collections::HashSet;
use std::path::Path;

const ALL: usize = usize::MAX;

fn whole(word: &str) -> Vec<usize> {
    let puzzle = family::by_name(word).unwrap();
    growth(&puzzle, puzzle.metric(), ALL)
}

#[test]
fn state_counts() {
    for (word, states) in [
        // OEIS A000142 and A000165 (2^n n!).
        ("pancake:8", 40_320),
        ("burnt-pancake:6", 46_080),
        ("star:8", 40_320),
        ("coxeter:8", 40_320),
        ("all-transpositions:8", 40_320),
        ("lrx:8", 40_320),
        ("lx:9", 362_880),
        // Jaap Scherphuis, Puzzle Pages: 7! 3^6.
        ("2x2x2", 3_674_160),
        // The comment of OEIS A080630.
        ("3x3x3-corners", 88_179_840),
        // The order of the cube group, 8! 3^7 12! 2^11 / 2, gives the factor 12! 2^11 for edges.
        ("3x3x3-edges", 980_995_276_800),
        // 8! 12! / 2; B. Norskog searched these in 2005.
        ("3x3x3-positions", 9_656_672_256_000),
        ("3x3x3", 43_252_003_274_489_856_000),
        // The comment of OEIS A079745.
        ("skewb", 3_149_280),
        // This is the sum of the table in cayleypy, puzzles_growth.csv; up to 12 rotations there are
        // 19,958,400 states (OEIS A079766).
        ("dino", 239_500_800),
        // T. Rokicki, twsearch-results.
        ("compy", 1_571_364_748_800),
        // OEIS A309109 and A309110, n = 3.
        ("pyraminx", 933_120),
        ("pyraminx+tips", 75_582_720),
    ] {
        assert_eq!(family::by_name(word).unwrap().states(), Some(states), "{word}");
    }
    for (word, states) in [
        // The corners move like those of the pocket cube.
        ("2x2x2", 3_674_160),
        ("3x3x3-corners", 3_674_160),
        // One state represents 24 rotated cubes.
        ("3x3x3-edges", 980_995_276_800 / 24),
        // The comment of OEIS A079766.
        ("dino", 19_958_400),
    ] {
        assert_eq!(family::in_hand(word).unwrap().states(), Some(states), "{word}");
    }
}

/// A board with two odd sides reaches half of all states, and all of them if flipping it is odd.
#[test]
fn two_sided_boards() {
    let factorial = |n: u128| (1..=n).product::<u128>();
    for (word, states) in [
        // Harris: the flip of the Rubeish square is odd, and doubles the 9!/2 states.
        ("3x3+flip", factorial(9)),
        ("3x3+flips", factorial(9)),
        ("3x3+transpose", factorial(9)),
        // The flip swaps two pairs in each of five rows, and the transposition ten pairs across the
        // diagonal.
        ("5x5+flip", factorial(25) / 2),
        ("5x5+transpose", factorial(25) / 2),
        ("3x5+flip", factorial(15) / 2),
        ("3x5+flips", factorial(15)),
        ("5x3+flip", factorial(15)),
        ("4x4+flips", factorial(16)),
        // The groups are dihedral.
        ("1x5+flip", 10),
        ("1x6+flip", 12),
        ("1x6+flips", 12),
        ("2x1+flips", 2),
    ] {
        assert_eq!(family::by_name(word).unwrap().states(), Some(states), "{word}");
    }
    // The rotations and the flip come first, then their products.
    assert_eq!(whole("1x7+flip"), [1, 7, 6]);
    // On two columns the flip equals the shifts of all three rows, in one move.
    assert_eq!(growth(&family::by_name("3x2+flip").unwrap(), Metric::Multi, 1), [1, 7 + 1]);
    let names = |word: &str, metric| {
        let moves = family::by_name(word).unwrap().generators(metric).unwrap();
        moves.into_iter().map(|generator| generator.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("2x3+flips", Metric::Multi), "V1 V2 V3 H1 H1' H2 H2' flip upend");
    assert_eq!(names("1x4+flip", Metric::Single), "H1 H1' flip");
    assert_eq!(names("2x2+transpose", Metric::Given), "V1 V2 H1 H2 transpose");
}

#[test]
fn pancakes() {
    // OEIS A092113, rows 5 to 8; the last depths are A058986.
    assert_eq!(whole("pancake:5"), [1, 4, 12, 35, 48, 20]);
    assert_eq!(whole("pancake:6"), [1, 5, 20, 79, 199, 281, 133, 2]);
    assert_eq!(whole("pancake:7"), [1, 6, 30, 149, 543, 1357, 1903, 1016, 35]);
    assert_eq!(whole("pancake:8"), [1, 7, 42, 251, 1191, 4281, 10561, 15011, 8520, 455]);
    // OEIS A078941: the largest numbers of flips for 1 to 6 burnt pancakes.
    let depths = (1..=6).map(|n| whole(&format!("burnt-pancake:{n}")).len() - 1);
    assert_eq!(depths.collect::<Vec<_>>(), [1, 4, 6, 8, 10, 12]);
}

#[test]
fn transpositions() {
    // OEIS A007799, rows 5 to 7.
    assert_eq!(whole("star:5"), [1, 4, 12, 30, 44, 26, 3]);
    assert_eq!(whole("star:6"), [1, 5, 20, 70, 170, 250, 169, 35]);
    assert_eq!(whole("star:7"), [1, 6, 30, 135, 460, 1110, 1689, 1254, 340, 15]);
    // OEIS A008302, the numbers of permutations by inversions.
    assert_eq!(whole("coxeter:4"), [1, 3, 5, 6, 5, 3, 1]);
    assert_eq!(whole("coxeter:5"), [1, 4, 9, 15, 20, 22, 20, 15, 9, 4, 1]);
    // OEIS A094638, Stirling numbers of the first kind: n - k transpositions make k cycles.
    assert_eq!(whole("all-transpositions:5"), [1, 10, 35, 50, 24]);
    assert_eq!(whole("all-transpositions:6"), [1, 15, 85, 225, 274, 120]);
}

#[test]
fn rings() {
    // OEIS A186783 and A039745: the largest distances for n = 2 to 8.
    let depths =
        |family: &str| (2..=8).map(|n| whole(&format!("{family}:{n}")).len() - 1).collect::<Vec<_>>();
    assert_eq!(depths("lrx"), [1, 2, 6, 10, 15, 21, 28]);
    assert_eq!(depths("lx"), [1, 2, 6, 11, 18, 25, 35]);
    // OEIS A186144 has the number of states at the largest distance.
    let last = |n: usize| *whole(&format!("lx:{n}")).last().unwrap();
    assert_eq!((4..=8).map(last).collect::<Vec<_>>(), [3, 2, 1, 2, 1]);
    // With k = 2 the turntable of Top Spin is the swap of LRX.
    assert_eq!(whole("topspin:7,2"), whole("lrx:7"));
    // A shift of eight pieces is odd, so that all states are reached. A shift of seven pieces and the
    // reversal of four are even. On an even ring the reversal of three keeps odd places odd, so the two
    // halves are never mixed.
    assert_eq!(family::by_name("topspin:8,4").unwrap().states(), Some(40_320));
    assert_eq!(family::by_name("topspin:7,4").unwrap().states(), Some(2_520));
    assert_eq!(family::by_name("topspin:8,3").unwrap().states(), Some(24 * 24 * 2));
}

#[test]
fn pocket_cube() {
    let cube = family::by_name("2x2x2").unwrap();
    // B. Norskog, cubing forum, "2x2x2 Cube".
    let quarter_turns =
        [1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588, 1350852, 782536, 90280, 276];
    let (quarter, half) = fathom_slow::choose((8, 6), (14, 11));
    assert_eq!(growth(&cube, Metric::Single, quarter), quarter_turns[..=quarter]);
    // OEIS A079761.
    let half_turns = [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644];
    assert_eq!(growth(&cube, Metric::Multi, half), half_turns[..=half]);
    // These are the same states with all faces and free rotations of the cube. The search takes 24 times as
    // long.
    for word in ["2x2x2", "3x3x3-corners"] {
        let free = family::in_hand(word).unwrap();
        let depth = fathom_slow::choose(3, 4);
        assert_eq!(growth(&free, Metric::Multi, depth), half_turns[..=depth]);
        assert_eq!(growth(&free, Metric::Single, depth), quarter_turns[..=depth]);
        // Clockwise turns stay clockwise when the cube is rotated.
        assert_eq!(growth(&free, Metric::Given, depth + 1), growth(&cube, Metric::Given, depth + 1));
    }
}

/// With free rotations, states that differ by rotations form a class, whose distance is that of the nearest
/// of them. So each layer has as many states as there are classes with this least distance.
#[test]
fn free_rotations_count_the_nearest_rotated_state() {
    for (word, deepest) in fathom_slow::choose(
        [("dino", 3), ("3x3x3-edges", 2), ("3x3x3-corners", 3)],
        [("dino", 4), ("3x3x3-edges", 3), ("3x3x3-corners", 4)],
    ) {
        let free = family::in_hand(word).unwrap();
        let (still, metric) = (family::by_name(word).unwrap(), free.metric());
        let (layers, turns) = (layers(&still, metric, deepest), crate::search::free_products(&free));
        assert_eq!(turns.len(), 24, "{word}");
        let mut known = HashSet::new();
        let nearest: Vec<usize> = layers
            .iter()
            .map(|layer| {
                let turned =
                    |state: &OrientedPermutation| turns.iter().map(|turn| state.then(turn)).collect();
                let mut classes: Vec<Vec<OrientedPermutation>> = layer.iter().map(turned).collect();
                // Classes found in an earlier layer, or already in this layer, are skipped.
                classes.retain(|class| {
                    class.iter().all(|state| !known.contains(state)) && known.insert(class[0].clone())
                });
                classes.len()
            })
            .collect();
        assert_eq!(nearest, growth(&free, metric, deepest), "{word}");
    }
}

/// The positions of the pieces of Rubik's cube do not depend on their orientations.
#[test]
fn positions_match_the_cube_without_orientations() {
    const MAX_DEPTH: usize = 3;
    let rubik = layers(&family::by_name("3x3x3").unwrap(), Metric::Multi, MAX_DEPTH);
    let mut known = HashSet::new();
    let new = |layer: &Vec<OrientedPermutation>| {
        layer.iter().filter(|state| known.insert(state.cells().clone())).count()
    };
    let nearest: Vec<usize> = rubik.iter().map(new).collect();
    let positions = layers(&family::by_name("3x3x3-positions").unwrap(), Metric::Multi, MAX_DEPTH);
    assert_eq!(positions.iter().map(Vec::len).collect::<Vec<_>>(), nearest);
}

/// The first rows of the table of T. Rokicki (repository rokicki/twsearch-results,
/// `godsnumber/compy_cube-symm-g7.log`).
#[test]
fn compy_cube_matches_published_layers() {
    let compy = layers(&family::by_name("compy").unwrap(), Metric::Multi, 4);
    assert_eq!(compy.iter().map(Vec::len).collect::<Vec<_>>(), [1, 16, 160, 1408, 11808]);
}

/// Returns the elements at each distance up to `deepest`, for a puzzle whose pieces are all distinct.
fn layers(puzzle: &Definition, metric: Metric, deepest: usize) -> Vec<Vec<OrientedPermutation>> {
    let moves = puzzle.generators(metric).unwrap();
    let solved = OrientedPermutation::identity(puzzle.orientation_counts());
    let mut known = HashSet::from([solved.clone()]);
    let mut layers = vec![vec![solved]];
    for depth in 0..deepest {
        let next = layers[depth].iter().flat_map(|state| moves.iter().map(|m| state.then(&m.action)));
        let next = next.filter(|state| known.insert(state.clone())).collect();
        layers.push(next);
    }
    layers
}

#[test]
fn pyraminx() {
    // Jaap Scherphuis, Puzzle Pages, Pyraminx.
    let published = [1, 8, 48, 288, 1728, 9896, 51808, 220111, 480467, 166276, 2457, 32];
    let deepest = fathom_slow::choose(8, 11);
    let pyraminx = family::by_name("pyraminx").unwrap();
    assert_eq!(growth(&pyraminx, pyraminx.metric(), deepest), published[..=deepest]);
    // Independently of the rest, a tip takes no move, or one move in either direction: this multiplies the
    // growth series by 1 + 2x for each of the four tips.
    let mut with_tips = published.to_vec();
    for _tip in 0..4 {
        with_tips.push(0);
        for depth in (1..with_tips.len()).rev() {
            with_tips[depth] += 2 * with_tips[depth - 1];
        }
    }
    assert_eq!(with_tips.iter().sum::<usize>(), 75_582_720);
    let tips = family::by_name("pyraminx+tips").unwrap();
    assert_eq!(growth(&tips, Metric::Multi, 6), with_tips[..=6]);
}

#[test]
fn skewb() {
    // OEIS A079745.
    let published = [1, 8, 48, 288, 1728, 10248, 59304, 315198, 1225483, 1455856, 81028, 90];
    let deepest = fathom_slow::choose(7, ALL);
    let skewb = family::by_name("skewb").unwrap();
    assert_eq!(
        growth(&skewb, skewb.metric(), deepest),
        published[..published.len().min(deepest.saturating_add(1))]
    );
}

#[test]
fn first_layers_of_larger_searches() {
    // cayleypy, puzzles_growth.csv.
    let dino = family::by_name("dino").unwrap();
    let known = [1, 16, 160, 1408, 11712, 90912, 644756];
    let deepest = fathom_slow::choose(5, 6);
    assert_eq!(growth(&dino, Metric::Multi, deepest), known[..=deepest]);
    // OEIS A080630 counts a half turn as two moves.
    let corners = family::by_name("3x3x3-corners").unwrap();
    let known = [1, 12, 114, 924, 6539, 39528, 199926, 806136];
    let deepest = fathom_slow::choose(6, 7);
    assert_eq!(growth(&corners, Metric::Single, deepest), known[..=deepest]);
}

#[test]
fn documentation_lists_all_families() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/puzzles.md");
    let page = std::fs::read_to_string(page).unwrap();
    for Family { pattern, about, states, metric, .. } in families() {
        let row = format!("| `{pattern}` | {about} | {states} | `{metric}` |\n").replace("*", "\\*");
        assert!(page.contains(&row), "docs/puzzles.md lacks\n{row}");
    }
    let in_hand = families().iter().filter_map(|family| Some((family.pattern, family.in_hand.as_ref()?)));
    for (pattern, InHand { states, .. }) in in_hand {
        let row = format!("| `{pattern}` | {states} |\n").replace("*", "\\*");
        assert!(page.contains(&row), "docs/puzzles.md lacks\n{row}");
    }
}
