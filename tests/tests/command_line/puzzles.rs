//! Puzzles other than boards: families, files, and subsets of the moves.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_engine::run::SpaceSpec;
use fathom_puzzle::{Metric, PuzzleSpec};
use fathom_space::{Labels, Space};
use fathom_tests::{KnownTable, assert_same, fathom, json, known_tables, texts};
use serde_json::{Value, json as value};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Runs `fathom run` in a directory of its own. Returns the result.
pub(crate) fn run(arguments: &[&str]) -> Value {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    json(&fathom().args(["run", "--json", "-q", "--dir"]).arg(&path).args(arguments).output().unwrap())
}

fn refusal(arguments: &[&str]) -> String {
    let directory = fathom_tests::tempdir().unwrap();
    let output = fathom().args(arguments).current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is written");
    texts(&output).1
}

#[test]
fn families_grow_as_published() {
    let growth: [(&str, &[u64]); 5] = [
        // OEIS A092113, row 8.
        ("pancake:8", &[1, 7, 42, 251, 1191, 4281, 10561, 15011, 8520, 455]),
        // OEIS A007799, row 7.
        ("star:7", &[1, 6, 30, 135, 460, 1110, 1689, 1254, 340, 15]),
        // OEIS A008302, row 6: permutations by inversions.
        ("coxeter:6", &[1, 5, 14, 29, 49, 71, 90, 101, 101, 90, 71, 49, 29, 14, 5, 1]),
        // OEIS A094638, row 7: Stirling numbers of the first kind.
        ("all-transpositions:7", &[1, 21, 175, 735, 1624, 1764, 720]),
        // The rotations of one line form a cyclic group.
        ("1x7", &[1, 6]),
    ];
    for (word, counts) in growth {
        let told = run(&[word]);
        assert_eq!((&told["complete"], &told["counts"]), (&value!(true), &value!(counts)), "{word}");
    }
    // OEIS A186783: the largest distance.
    assert_eq!(run(&["lrx:8"])["god_number"], 28);
}

/// Growth of puzzles with oriented pieces. That of the 2x2x2 cube is the same with a fixed corner and with
/// six faces and free turns of the whole cube.
#[test]
fn twisty_puzzles_grow_as_published() {
    let quarter: &[u64] =
        &[1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588, 1350852, 782536, 90280, 276];
    let half: &[u64] = &[1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644];
    // Names of moves are those of the cube with a fixed corner; with free turns of the whole, of all six
    // faces.
    let held = "U,U2,U',R,R2,R',F,F2,F'";
    let free = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/pyraminx-free.tws");
    let growth: [(&[&str], &[u64]); 13] = [
        // B. Norskog, cubezzz forum, "2x2x2 Cube".
        (&["2x2x2", "--metric", "single"], quarter),
        (&["2x2x2", "--metric", "single", "--moves", "U,U',R,R',F,F'"], quarter),
        (&["2x2x2"], half),
        (&["2x2x2", "--free-rotations"], half),
        (&["2x2x2", "--moves", held], half),
        (&["2x2x2", "--free-rotations", "--moves", "D,D2,D'"], half),
        (&["2x2x2", "--free-rotations", "--moves", "D,L'", "--metric", "single"], quarter),
        // The corners of the 3x3x3 cube are those of the 2x2x2 cube.
        (&["3x3x3-corners", "--free-rotations"], half),
        // Jaap Scherphuis, Jaap's Puzzle Page, Pyraminx.
        (&["pyraminx"], &[1, 8, 48, 288, 1728, 9896, 51808, 220_111, 480_467, 166_276, 2457, 32]),
        // T. Rokicki, twsearch-results. Of 24 x 24 arrangements of corners and tips 12 occur, and edges are
        // even.
        (
            &[free, "--metric", "multi"],
            &[
                1, 16, 136, 896, 5456, 32_528, 190_260, 1_070_699, 5_421_594, 21_136_359, 55_716_688,
                91_554_722, 85_678_373, 37_687_176, 3_822_520, 13_120, 336,
            ],
        ),
        // T. Rokicki, twsearch-results, where the cube has no fixed corner: twelve times these.
        (&["skewb"], &[1, 8, 48, 288, 1728, 10248, 59304, 315_198, 1_225_483, 1_455_856, 81_028, 90]),
        // cayleypy, puzzles_growth.csv.
        (
            &["dino"],
            &[
                1,
                16,
                160,
                1408,
                11712,
                90912,
                644_756,
                4_070_826,
                21_433_009,
                76_410_122,
                109_897_795,
                26_611_502,
                328_215,
                366,
            ],
        ),
        // Only one face.
        (&["2x2x2", "--moves", "R,R2,R'"], &[1, 3]),
    ];
    for (arguments, counts) in growth {
        let told = run(arguments);
        assert_eq!((&told["complete"], &told["counts"]), (&value!(true), &value!(counts)), "{arguments:?}");
    }
    // OEIS A078941: the largest distance of burnt pancakes. R. Korf, 1997: of the corners of Rubik's cube.
    assert_eq!(run(&["burnt-pancake:6"])["god_number"], 12);
    assert_eq!(run(&["3x3x3-corners"])["god_number"], 11);
}

/// Source: B. Norskog, cubezzz forum, "2x2x2 Cube": quarter turns, up to the 48 symmetries of the cube and
/// inversion.
#[test]
fn classes_of_the_pocket_cube_are_as_published() {
    let told = run(&["2x2x2", "--metric", "single"]);
    let published = [1, 1, 3, 4, 13, 35, 126, 398, 1301, 3952, 10086, 14658, 8619, 1091, 8];
    assert_eq!((&told["classes_with_inverse"], &told["symmetries"]), (&value!(published), &value!(48)));
}

/// Returns the number of classes at each depth, without and with inversion, counted without Burnside's lemma:
/// a state counts if neither an image of the state nor one of its inverse is smaller.
fn classes(source: PuzzleSpec, metric: Metric, max_depth: usize) -> [Vec<usize>; 2] {
    let definition = source.definition(metric).unwrap();
    let generators = definition.generators(definition.metric()).unwrap();
    let space = SpaceSpec { labels: Labels::distinct(source.cells()), source, metric }.space().unwrap();
    let is_smallest =
        |state: &Vec<u8>, of: &[u8]| space.symmetries().iter().all(|s| *state <= space.image(s, of));
    let mut layer = vec![OrientedPermutation::identity(definition.orientation_counts())];
    let mut seen: HashSet<OrientedPermutation> = layer.iter().cloned().collect();
    let mut classes = [Vec::new(), Vec::new()];
    while !layer.is_empty() && classes[0].len() <= max_depth {
        let mut counts = [0, 0];
        for element in &layer {
            let state = space.word(element);
            if is_smallest(&state, &state) {
                counts[0] += 1;
                counts[1] += usize::from(is_smallest(&state, &space.word(&element.inverse())));
            }
        }
        for (classes, count) in classes.iter_mut().zip(counts) {
            classes.push(count);
        }
        let neighbours = layer.iter().flat_map(|element| generators.iter().map(|g| element.then(&g.action)));
        layer = neighbours.filter(|element| seen.insert(element.clone())).collect();
    }
    classes
}

#[test]
fn classes_are_the_orbits_of_symmetries_and_inversion() {
    for (word, moves) in [
        ("burnt-pancake:5", None),
        ("topspin:7,4", None),
        ("all-transpositions:6", None),
        ("2x2x2", Some("R,R',U,U'")),
        ("pyraminx", Some("U,U',L,L'")),
    ] {
        let whole = PuzzleSpec::by_name(word).unwrap();
        let (source, metric) = match moves {
            Some(moves) => (whole.with_moves(whole.metric(), moves).unwrap(), Metric::Given),
            None => (whole.clone(), whole.metric()),
        };
        let expected = classes(source, metric, usize::MAX);
        let told = run(&[&[word][..], &moves.map_or(vec![], |moves| vec!["--moves", moves])].concat());
        assert_eq!(value!([told["classes"], told["classes_with_inverse"]]), value!(expected), "{word}");
    }
    // With 14! states, the classes are counted only on request.
    let large = ["2x7", "--max-depth", "3"];
    assert_eq!(run(&large)["classes_with_inverse"], Value::Null);
    let told = run(&[&large[..], &["--inverse-classes"]].concat());
    let expected = classes(PuzzleSpec::by_name("2x7").unwrap(), Metric::Multi, 3);
    assert_eq!(value!([told["classes"], told["classes_with_inverse"]]), value!(expected));
}

/// For oriented pieces, several orbits, and guards, the cosets give the same result as a plain search.
#[test]
fn plain_search_agrees_on_orientations_and_guards() {
    let bandaged = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/bandaged.toml");
    let limited = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/limited.toml");
    let cut = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/small-cut.tws");
    for word in ["burnt-pancake:5", "pyraminx", bandaged, limited, cut] {
        assert_same(&run(&[word]), &run(&[word, "--kernel", "reference"]));
    }
}

/// Two orbits of five and four pieces that moves permute with the same parity: half of 5! 4! arrangements.
/// Half of an axis is stored, so that every bit is a state, and a run started without that continues without
/// it.
#[test]
fn parity_links_the_orbits_of_a_puzzle() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("tied.toml");
    let moves = r#"R = "(1,2,3,4)(6,7,8,9)", S = "(1,5)(6,7)", T = "(2,3)(7,8)""#;
    fs::write(&path, format!("name = \"tied\"\ndegree = 9\nmoves = {{ {moves} }}\n")).unwrap();
    let word = path.to_str().unwrap();
    let found = run(&[word]);
    assert_eq!(found["states"], 1440);
    assert_same(&found, &run(&[word, "--kernel", "reference"]));
    let plan = json(&fathom().args(["plan", word, "--json"]).output().unwrap());
    let stored = plan["representative_cosets"].as_u64().unwrap() * plan["coset_bits"].as_u64().unwrap();
    assert!(stored <= 1440 / found["symmetries"].as_u64().unwrap() * 2, "{plan}");
}

/// The free move turns the piece on the first cell. Only one of the two pieces has visible orientations, so
/// the move does not change some states, and dividing words by free moves would count them wrongly.
#[test]
fn free_turn_hidden_by_a_piece_is_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("hidden.toml");
    let write = |seen: &str| {
        let orbits = "orbits = [{ name = \"p\", cells = 2, orientations = 2 }]";
        let moves = "[moves]\nS = \"(1,2)\"\n[free]\nf = \"(1+1)\"";
        fs::write(&path, format!("{orbits}\n{moves}\n[solved]\nseen = [{seen}]\n")).unwrap();
    };
    write("2, 1");
    let said = refusal(&["plan", path.to_str().unwrap()]);
    assert!(said.contains("has free moves that may change nothing visible"), "{said}");
    // Now both show it. By hand: S leads from solved to the exchanged pieces with either turn of the second
    // one, and from there to solved with the other turn of the second one.
    write("2, 2");
    assert_eq!(run(&[path.to_str().unwrap()])["counts"], value!([1, 2, 1]));
}

/// The position and the orientation of the piece with visible orientations make four states, whatever the
/// labels are.
#[test]
fn pieces_with_different_visible_orientations_stay_distinct() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("half.toml");
    let said = |seen: &str, arguments: &[&str]| {
        let orbits = "orbits = [{ name = \"p\", cells = 2, orientations = 2 }]";
        let moves = "[moves]\nS = \"(1,2)\"\nF = \"(1+1)\"";
        fs::write(&path, format!("{orbits}\n{moves}\n[solved]\nseen = [{seen}]\n")).unwrap();
        let output = fathom().arg("plan").arg(&path).args(arguments).output().unwrap();
        let (told, said) = texts(&output);
        (told.contains("4 states"), said)
    };
    let note = "note: pieces that show different numbers of orientations, such as those of cells 1 and 2, are distinguished although they have the same label\n";
    assert_eq!(said("2, 1", &["--labels", "1,1"]), (true, note.into()));
    assert_eq!(said("2, 1", &[]), (true, String::new()));
    assert_eq!(said("2, 2", &["--labels", "1,1"]), (true, String::new()));
}

/// Five cells are permuted freely, so that the states are the position of the sixth piece: on its cell or
/// not. There are 5! relabellings and 5! free moves.
#[test]
fn tiny_puzzle_with_many_symmetries_is_cut_into_single_states() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("free.toml");
    let moves = "[moves]\na = \"(5,6)\"\n[free]\nf = \"(1,2)\"\ng = \"(1,2,3,4,5)\"\n";
    fs::write(&path, format!("degree = 6\nmetric = \"single\"\n{moves}")).unwrap();
    let file = path.to_str().unwrap();
    assert_eq!(run(&[file])["counts"], value!([1, 5]));
    let plan = json(&fathom().args(["plan", file, "--json"]).output().unwrap());
    assert_eq!((&plan["coset_bits"], &plan["symmetries"]), (&value!(1), &value!(120)));
}

/// S. Chen (2017), by J. Scherphuis, Puzzle Pages: turns of one layer and twists count, between states that
/// can be twisted.
#[test]
fn square_one_grows_by_turns_and_twists_as_published() {
    // The table of shapes takes as long as all other searches of this file together.
    if fathom_slow::is_wanted() {
        let told = run(&["square1", "--metric", "face", "--max-depth", "4"]);
        assert_eq!((&told["space"], &told["metric"]), (&value!("square1"), &value!("face")));
        assert_eq!(told["states"], 11_958_666_854_400_u64);
        assert_eq!(told["counts"], value!([1, 15, 69, 212, 1141]));
    }
    let planned = fathom().args(["plan", "square1", "--metric", "face", "--json"]).output().unwrap();
    assert_eq!(json(&planned)["states"], 11_958_666_854_400_u64);
    let refused = refusal(&["plan", "square1", "--metric", "multi"]);
    assert!(refused.contains("square1 restricts which states are allowed"), "{refused}");
}

/// Source: M. Masonjones, forum.cubeman.org node 35: turns of the layers are free, only twists count. The
/// files in a run's directory are enough to resume the run.
#[test]
fn square_one_grows_by_twists_as_published() {
    if !fathom_slow::is_wanted() {
        return;
    }
    let directory = fathom_tests::tempdir().unwrap();
    let fathom = |arguments: &[&str]| {
        let output = fathom().args(arguments).arg("--json").current_dir(directory.path()).output().unwrap();
        json(&output)
    };
    fathom(&["run", "square1", "--metric", "twist", "--max-depth", "2", "--dir", "run", "-q"]);
    let found = fathom(&["resume", "run", "--max-depth", "5", "-q"]);
    assert_eq!((&found["space"], &found["metric"]), (&value!("square1"), &value!("twist")));
    assert_eq!(found["states"], 435_891_456_000_u64);
    assert_eq!(found["counts"], value!([1, 64, 1153, 17050, 235_144, 3_091_458]));
    fathom(&["verify", "run"]);
}

/// One puzzle by its name, from a file, and as a board with all moves listed.
#[test]
fn puzzle_has_the_same_growth_under_all_its_names() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/pancake-5.toml");
    let (of_file, of_word) = (run(&[file.to_str().unwrap()]), run(&["pancake:5"]));
    assert_same(&of_file, &of_word);
    assert_eq!(of_word["counts"], value!([1, 4, 12, 35, 48, 20]), "OEIS A092113, row 5");
    let board = run(&["2x4", "--metric", "single"]);
    let names = "V1,V2,V3,V4,H1,H1^-1,H2,H2^-1";
    let named = run(&["2x4", "--metric", "single", "--moves", names]);
    assert_eq!((&named["counts"], &named["metric"]), (&board["counts"], &value!("given")));
    // One rotating row: a subgroup is searched as well.
    assert_eq!(run(&["2x4", "--moves", "H1,H1^2,H1^3"])["counts"], value!([1, 3]));
}

/// The flip of the 3x3 board maps rotations to rotations, so flips can be made last, and two of them cancel:
/// an even state takes as many moves as without flips, an odd one a move more. The counts are those of 3x3
/// (`boards.json`), and again one depth later.
#[test]
fn flipped_boards_grow_as_predicted() {
    let even = known_tables("boards.json");
    for metric in [Metric::Multi, Metric::Single] {
        let is_meant = |table: &&KnownTable| {
            (table.puzzle.as_str(), table.metric) == ("3x3", metric) && table.states == 181_440
        };
        let even = &even.iter().find(is_meant).expect("the table exists").counts;
        let expected: Vec<u64> = (0..=even.len())
            .map(|d| even.get(d).unwrap_or(&0) + d.checked_sub(1).map_or(0, |d| even[d]))
            .collect();
        for word in ["3x3+flip", "3x3+transpose"] {
            let told = run(&[word, "--metric", metric.as_str()]);
            assert_eq!(
                (&told["counts"], &told["complete"]),
                (&value!(expected), &value!(true)),
                "{word} {metric}"
            );
        }
    }
    // Harris: 8 without the flip.
    assert_eq!(run(&["3x3+flip"])["god_number"], 9);
    for word in ["3x3+flips", "2x3+flips", "2x4+flip", "3x2+flip", "2x2+transpose"] {
        assert_same(&run(&[word]), &run(&[word, "--kernel", "reference"]));
    }
}

#[test]
fn sequences_are_converted_for_a_cube_with_a_fixed_corner() {
    let convert = |puzzle: &str, sequence: &str| {
        let output = fathom().args(["convert", puzzle, sequence]).output().unwrap();
        assert!(output.status.success(), "{}", texts(&output).1);
        texts(&output).0
    };
    // The cubing forum, "2x2x2 Cube", To Group or Not to Group.
    for puzzle in ["2x2x2", "3x3x3-corners"] {
        let converted = convert(puzzle, "B' R B D D R' B D' B' R B'");
        assert_eq!(converted, "F' U F U U R' U R' U' R F'\n", "{puzzle}");
    }
    // No turn of a dino's corner equals another up to a rotation of the whole.
    assert_eq!(convert("dino", "URF y UFL x"), "URF URF\n");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/2x2x2-free.toml");
    assert!(!convert(file.to_str().unwrap(), "").trim_end().contains(char::is_alphanumeric));
}

/// A joining worker receives the definition from its coordinator.
#[test]
fn workers_search_families_too() {
    assert_same(&run(&["pancake:8", "--workers", "2", "--threads", "2"]), &run(&["pancake:8"]));
}

#[test]
fn unsearchable_puzzles_are_refused() {
    for (arguments, says) in [
        (&["run", "pancake:1"][..], "is not of the form pancake:N with 2 <= N <= 64"),
        (&["run", "pancake:30"], "pancake:30 given has 265,252,859,812,191,058,636,308,480,000,000 states"),
        (&["run", "pancakes"], "unknown puzzle \"pancakes\". Did you mean \"pancake:N\"?"),
        (&["run", "no/such.gap"], "no/such.gap: cannot be read"),
        (&["plan", "3x4", "--moves", "V1,V9"], "unknown move \"V9\""),
        (&["plan", "3x4", "--moves", "V1,V1"], "is given twice"),
        (&["run", "3x4+transpose"], "is not of the form MxM+transpose with 1 <= M = N"),
        (&["convert", "2x2x2", "R M"], "unknown move \"M\". Moves of 2x2x2: U R F D L B x y"),
        (&["convert", "3x3", "V1"], "3x3 is a board"),
        (&["convert", "pancake:5", "r2"], "has no free moves"),
    ] {
        let said = refusal(arguments);
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}

/// The number of positions of cubes of four and five cubies, as published: Wikipedia, "Rubik's Revenge" and
/// "Professor's Cube". Centres of one colour look alike.
#[test]
fn cuboids_have_the_published_numbers_of_states() {
    for (word, states) in [
        ("4x4x4", "7401196841564901869874093974498574336000000000"),
        ("5x5x5", "282870942277741856536180333107150328293127731985672134721536000000000000000"),
    ] {
        let source = PuzzleSpec::by_name(word).unwrap();
        let labels = Labels::from_values(source.solved());
        let space = Space::new(source.puzzle(Metric::Multi).unwrap(), Metric::Multi, labels).unwrap();
        assert_eq!(space.states().to_string(), states, "{word}");
    }
}

#[test]
fn puzzle_list_shows_what_can_be_searched() {
    let list = json(&fathom().args(["puzzles", "--json"]).output().unwrap());
    let of = |word: &str| {
        let all = list.as_array().unwrap();
        all.iter().find(|known| known["word"] == word).unwrap_or_else(|| panic!("{word}")).clone()
    };
    assert_eq!(of("pancake:N")["not_searched"], Value::Null);
    assert_eq!(of("MxN")["metric"], "multi");
    assert_eq!(of("lx:N")["not_searched"], Value::Null);
    assert_eq!(of("2x2x2")["not_searched"], Value::Null);
    assert_eq!(
        (&of("dino")["states_in_hand"], &of("skewb")["states_in_hand"]),
        (&value!("12! / 24"), &Value::Null)
    );
    let (text, _) = texts(&fathom().arg("puzzles").output().unwrap());
    // Continuation lines begin with spaces.
    let first_lines = text.lines().filter(|line| !line.starts_with("  ")).count();
    // A line for each puzzle, the header, and the names of the groups.
    assert_eq!(first_lines, list.as_array().unwrap().len() + 1 + 4);
    assert!(["Boards:", "Sorting:", "Rings:", "Twisty puzzles:"].iter().all(|group| text.contains(group)));
    assert!(text.lines().all(|line| line.len() <= 120), "{text}");
    assert!(text.contains(" 11, 14 single  "), "{text}");
}

/// Each known number is found again or is a record, and its source other than Fathom is named. The numbers of
/// those sources are in the tests of growth: here, in `known_numbers.rs`, `records.rs`, and for lx in
/// `one_way.rs`.
#[test]
fn listed_gods_numbers_are_confirmed() {
    let list = json(&fathom().args(["puzzles", "--json"]).output().unwrap());
    let known: Vec<&Value> =
        list.as_array().unwrap().iter().flat_map(|line| line["known"].as_array().unwrap()).collect();
    assert!(known.len() >= 15, "{known:?}");
    for known in known {
        let [space, metric, source] =
            ["space", "metric", "source"].map(|field| known[field].as_str().unwrap());
        assert!(!source.is_empty(), "{space}");
        let found = match known["states"].as_u64().unwrap() {
            0..1_000_000_000 => run(&[space, "--metric", metric]),
            _ => {
                let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records");
                let name = format!("{space}-{metric}.json");
                let paths = [records.join(&name), records.join("puzzles").join(&name)];
                let record = paths.iter().find_map(|path| fs::read_to_string(path).ok());
                serde_json::from_str(&record.expect("a record exists")).unwrap()
            }
        };
        assert_eq!(found["complete"], true, "{space}");
        let expected = (&known["gods_number"], &known["states"]);
        assert_eq!((&found["god_number"], &found["states"]), expected, "{space} {metric}");
        // The puzzles of records are closed under inverses.
        let is_closed = found.get("inverse_closed").is_none_or(|is_closed| is_closed == true);
        assert_eq!(known["inverse_closed"], is_closed, "{space} {metric}");
    }
}

/// The six faces in the numbering of the article on counting positions (HaskellForMaths, 2009).
#[test]
fn group_of_rubiks_cube() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/rubik.gap");
    let group = |arguments: &[&str]| {
        json(&fathom().arg("group").arg(&file).args(arguments).arg("--json").output().unwrap())
    };
    assert_eq!(group(&[])["order"], "43252003274489856000");
    assert_eq!(group(&["--element", "f*l"])["order"], 105);
}

/// Every command that reads a file prints notes on how it was read, and every result has them, including the
/// results of a run that is read from its directory.
#[test]
fn notes_on_a_file_are_in_every_result() {
    let directory = fathom_tests::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (file, run) = (at("some.g"), at("run"));
    fs::write(&file, "G := Group((1,2,3,4,5), (1,2));\nH := Subgroup(G, [(1,2), (2,3)]);\n").unwrap();
    let note = "the moves are those of the group H; unused permutations: G";
    for command in [
        &["group", &file][..],
        &["group", &file, "--element", "(1,2)"],
        &["group", &file, "--factor", "(1,2)"],
        &["group", &file, "--contains", "(1,2)"],
        &["plan", &file],
        &["solve", &file, "(1,2)"],
        &["antipodes", &file],
        &["bound", &file],
        &["run", &file, "--dir", &run],
    ] {
        let output = fathom().args(command).arg("--json").output().unwrap();
        let told = json(&output);
        assert_eq!(told["notes"], value!([note]), "{command:?}");
        let (_, err) = texts(&output);
        assert!(err.contains(&format!("note: {note}\n")), "{command:?}: {err}");
        // 3! states.
        match command[0] {
            "group" if command.len() == 2 => assert_eq!(told["order"], "6"),
            "run" | "plan" => assert_eq!(told["states"], 6),
            _ => {}
        }
    }
    for command in [
        &["status", &run, "--json"][..],
        &["resume", &run, "--json", "-q"],
        &["report", &run, "--format", "json"],
        &["solve", &run, "(1,2)", "--json"],
        &["antipodes", &run, "--json"],
    ] {
        let told = json(&fathom().args(command).output().unwrap());
        assert_eq!(told["notes"], value!([note]), "{command:?}");
    }
    for format in ["md", "html"] {
        let report = texts(&fathom().args(["report", &run, "--format", format]).output().unwrap()).0;
        assert!(report.contains(note), "{report}");
    }
}

/// One generator per line, without a terminator: the group of two exchanges.
#[test]
fn lines_of_a_gap_file_are_moves() {
    let directory = fathom_tests::tempdir().unwrap();
    let file = directory.path().join("lines.g");
    fs::write(&file, "(1,2)\n(3,4)\n").unwrap();
    assert_eq!(run(&[file.to_str().unwrap()])["counts"], value!([1, 2, 1]));
}

/// Returns the path of an example file.
fn example(name: &str) -> String {
    format!("{}/../docs/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the images of point sets under a permutation.
fn image(sets: &[Vec<usize>], by: &Permutation) -> Vec<Vec<usize>> {
    let carried = |set: &Vec<usize>| {
        let mut set: Vec<usize> = set.iter().map(|&point| by.apply(point)).collect();
        set.sort_unstable();
        set
    };
    sets.iter().map(carried).collect()
}

/// Three pieces with three sides that exchange places in all ways, with twists whose sum is zero: 3! 3^2
/// states. The first two pieces look alike, which halves the number of distinct states.
#[test]
fn identical_pieces_of_a_gap_file_are_honoured() {
    let file = example("alike.gap");
    let (alike, apart) = (run(&[&file]), run(&[&file, "--labelled"]));
    assert_eq!((&alike["states"], &apart["states"]), (&value!(27), &value!(54)));
    // A plain search: where the sets of points are, and where each point is.
    let moves =
        ["(1,2,3)(4,6,5)", "(1,4)(2,5)(3,6)", "(4,7)(5,8)(6,9)"].map(|m| Permutation::parse(m, 9).unwrap());
    let growth = |sets: Vec<Vec<usize>>| {
        let mut known = HashSet::from([sets.clone()]);
        let (mut layer, mut counts) = (vec![sets], Vec::new());
        while !layer.is_empty() {
            counts.push(layer.len());
            let moved = layer.iter().flat_map(|sets| moves.iter().map(move |m| image(sets, m)));
            layer = moved.filter(|sets| known.insert(sets.clone())).collect();
        }
        counts
    };
    assert_eq!(alike["counts"], value!(growth(vec![vec![0, 3], vec![6]])));
    assert_eq!(apart["counts"], value!(growth((0..9).map(|point| vec![point]).collect())));
    let said =
        |arguments: &[&str]| texts(&fathom().arg("plan").arg(&file).args(arguments).output().unwrap()).1;
    assert!(said(&[]).contains("note: ip is used"), "{}", said(&[]));
    // Where distances are one way, that is a warning, which --quiet leaves.
    assert!(said(&[]).contains("warning: distances are one way"), "{}", said(&[]));
    assert_eq!(said(&["--labelled", "--metric", "multi"]), "");
    assert_eq!(said(&["--metric", "multi", "-q"]), "");
    let quiet = said(&["-q"]);
    assert!(quiet.starts_with("warning: distances are one way") && quiet.lines().count() == 1, "{quiet}");
}

/// The 2x2x2 cube by its stickers, of which those of a corner are one piece, has the published growth of the
/// puzzle 2x2x2. States are named by stickers.
#[test]
fn stickers_are_searched_by_their_pieces() {
    let directory = fathom_tests::tempdir().unwrap();
    let (file, path) = (directory.path().join("stickers.gap"), directory.path().join("run"));
    let turns = "F := (1,2,4,3)(7,15,13,11)(8,17,12,10); R := (15,16,18,17)(2,6,21,13)(4,8,19,14);
        U := (5,6,8,7)(1,9,19,15)(2,10,20,16);";
    fs::write(&file, turns).unwrap();
    let file = file.to_str().unwrap();
    let told = run(&[file, "--metric", "multi"]);
    let known = [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644];
    assert_eq!(told["counts"], value!(known));
    let kept = ["run", file, "--metric", "multi", "-q", "--keep", "all", "--dir"];
    let kept = fathom().args(kept).arg(&path).output().unwrap();
    assert!(kept.status.success(), "{}", texts(&kept).1);
    let audit = fathom().arg("audit").arg(&path).args(["--seed", "1"]).output().unwrap();
    assert!(texts(&audit).0.ends_with("no contradiction found\n"), "{:?}", texts(&audit));
    let solve = |state: &str| fathom().args(["solve", file, "--metric", "multi", state]).output().unwrap();
    assert_eq!(texts(&solve("(5,7,8,6)(1,15,19,9)(2,16,20,10)")).0, "distance: 1\nsolution: U\n");
    let torn = solve("(5,6)");
    assert_eq!(torn.status.code(), Some(2));
    assert!(texts(&torn).1.contains("which all moves keep together"), "{:?}", texts(&torn));
}

/// Four beads, two of each kind, have six states. Three pieces move in a circle, and R applied three times
/// turns each of them once: with orientations that makes six states, without three. The moves of beads and of
/// pieces are independent, because identical beads may change places.
#[test]
fn orbits_and_orientations_may_be_omitted() {
    let file = example("sequences.tws");
    let whole = run(&[&file]);
    assert_eq!((&whole["metric"], &whole["states"]), (&value!("multi"), &value!(36)));
    // L, R and S with all their powers: S is R L', and has order 6.
    assert_eq!(whole["counts"], value!([1, 13, 22]));
    assert_eq!(run(&[&file, "--omit", "A"])["states"], 6);
    assert_eq!(run(&[&file, "--omit", "B"])["states"], 6);
    assert_eq!(run(&[&file, "--omit", "A", "--ignore-orientation", "B"])["states"], 3);
    let flat = run(&[&file, "--ignore-orientation", "B"]);
    assert_eq!((&flat["states"], &flat["space"]), (&value!(18), &value!("sequences-unturned-B")));
    let refused = |orbit: &str| texts(&fathom().args(["plan", &file, "--omit", orbit]).output().unwrap()).1;
    assert!(refused("C").contains("unknown orbit \"C\": the orbits are A, B"), "{}", refused("C"));
}

/// Identical beads in three orbits that move independently: 6!/(2! 2! 2!) x 7!/(4! 3!) x 5!/(2! 2!) states,
/// which the search also finds.
#[test]
fn labelled_orbits_multiply() {
    let directory = fathom_tests::tempdir().unwrap();
    let file = directory.path().join("beads.toml");
    fs::write(
        &file,
        "orbits = [{ name = \"a\", cells = 6 }, { name = \"b\", cells = 7 }, { name = \"c\", cells = 5 }]\nmetric = \"multi\"\n\
         [moves]\nA = \"(1,2,3,4,5,6)\"\nB = \"(7,8,9,10,11,12,13)\"\nC = \"(14,15,16,17,18)\"\na = \"(1,2)\"\nb = \"(7,8)\"\nc = \"(14,15)\"\n\
         [solved]\nlabels = [0,0,1,1,2,2, 3,3,3,3,4,4,4, 5,5,6,6,7]\n",
    )
    .unwrap();
    let found = run(&[file.to_str().unwrap()]);
    assert_eq!((&found["states"], &found["complete"]), (&value!(90 * 35 * 30), &value!(true)));
    let visited: u64 = found["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(visited, 94_500);
}

/// The name of a puzzle takes precedence over a file of that name, and a directory in place of a puzzle is
/// reported.
#[test]
fn puzzle_names_precede_files() {
    let directory = fathom_tests::tempdir().unwrap();
    let at = directory.path();
    let said = |arguments: &[&str]| {
        let output = fathom().args(arguments).current_dir(at).output().unwrap();
        let (out, err) = texts(&output);
        (output.status.code(), out + err.as_str())
    };
    let ring = "name = \".ring\"\ndegree = 3\n[moves]\nR = \"(1,2,3)\"\nL = \"(1,3,2)\"\n";
    for file in ["skewb", "ring"] {
        fs::write(at.join(file), ring).unwrap();
    }
    for (puzzle, says) in [("skewb", "3,149,280 states"), ("./skewb", "3 states"), ("ring", "3 states")] {
        let (code, said) = said(&["plan", puzzle, "-q"]);
        assert!(code == Some(0) && said.contains(says), "{puzzle}: {said}");
    }
    // A name that begins with a dot does not hide the run.
    assert_eq!(said(&["run", "ring", "-q"]).0, Some(0));
    assert!(at.join("runs/-ring-given").is_dir());
    fs::create_dir(at.join("2x2x2")).unwrap();
    fs::create_dir(at.join("empty")).unwrap();
    for (arguments, says) in [
        (&["run", "runs/-ring-given"][..], "To continue the run: fathom resume runs/-ring-given"),
        (&["run", "empty"], "empty is a directory without a run"),
        (&["run", "2x2x2", "--omit", "edges"], "unknown orbit \"edges\": the orbits are corners"),
        (&["run", "2x2x2", "--omit", "corners"], "no pieces left"),
        (&["solve", "2x2x2", "X", "--scramble"], "unknown move \"X\""),
    ] {
        let (code, said) = said(arguments);
        assert!(code == Some(2) && said.contains(says), "{arguments:?}: {said}");
    }
    let (code, said) = said(&["logs", "runs/-ring-given", "--depth", "9"]);
    assert!(code == Some(0) && said.contains("no log line matches the options"), "{said}");
}
