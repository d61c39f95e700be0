//! Puzzles with more than 255 cells and a small space, compared with a plain search.

use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_engine::run::{Keep, SpaceSpec};
use fathom_engine::task::Kernel;
use fathom_puzzle::{Definition, Metric, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::{Setup, fathom, json, texts};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

const SETUP: Setup = Setup {
    kernel: Kernel::Fastest,
    threads: 2,
    shards: None,
    keep: Keep::All,
    max_depth: None,
    memory_bytes: fathom_tests::MEMORY,
    checkpoint_every: std::time::Duration::MAX,
};

/// A move: where the piece on each cell goes.
type Images = Vec<u16>;

fn images(cells: usize, image: impl Fn(usize) -> usize) -> Images {
    (0..cells).map(|cell| image(cell) as u16).collect()
}

fn inverse(images: &Images) -> Images {
    let mut inverse = vec![0; images.len()];
    images.iter().zip(0..).for_each(|(&to, cell)| inverse[usize::from(to)] = cell);
    inverse
}

/// Returns the moves and their inverses.
fn with_inverses(moves: &[Images]) -> Vec<Images> {
    moves.iter().flat_map(|images| [images.clone(), inverse(images)]).collect()
}

/// Returns the numbers of states at each distance up to `most`, by a search that applies the moves directly
/// to the labels on the cells.
fn growth(solved: Vec<u16>, moves: &[Images], most: usize) -> Vec<u64> {
    let mut seen = HashSet::from([solved.clone()]);
    let mut newest = vec![solved];
    let mut counts = Vec::new();
    while !newest.is_empty() && counts.len() <= most {
        counts.push(newest.len() as u64);
        let mut next = Vec::new();
        for word in &newest {
            for to in moves {
                let mut image = vec![0; word.len()];
                to.iter().zip(word).for_each(|(&to, &label)| image[usize::from(to)] = label);
                if seen.insert(image.clone()) {
                    next.push(image);
                }
            }
        }
        newest = next;
    }
    counts
}

fn source(moves: &[Images]) -> PuzzleSpec {
    let mut definition = Definition::of_degree("many", moves[0].len()).unwrap();
    for (number, images) in (1..).zip(moves) {
        let cells = Permutation::from_images(images.clone()).unwrap();
        // A reflection is its own inverse.
        if definition.moves().iter().all(|known| *known.action.cells() != cells) {
            definition.add_move(format!("g{number}"), OrientedPermutation::from_cells(cells)).unwrap();
        }
    }
    PuzzleSpec::Defined(Box::new(definition.validated().unwrap()))
}

fn question(moves: &[Images]) -> SpaceSpec {
    let source = source(moves);
    SpaceSpec { labels: Labels::distinct(source.cells()), source, metric: Metric::Given }
}

/// Returns the moves of the symmetric group on six cells, with an action on `cells` more cells.
fn six_and(cells: usize, more: impl Fn(usize, usize) -> usize) -> Vec<Images> {
    let moves = [[1, 2, 3, 4, 5, 0], [1, 0, 2, 3, 4, 5]].iter().enumerate().map(|(number, six)| {
        images(6 + cells, |cell| if cell < 6 { six[cell] } else { 6 + more(number, cell - 6) })
    });
    moves.collect()
}

#[test]
fn small_groups_on_many_cells_agree_with_a_plain_search() {
    let cyclic = |cells: usize| vec![images(cells, |cell| (cell + 1) % cells)];
    let dihedral = vec![images(300, |cell| (cell + 1) % 300), images(300, |cell| (300 - cell) % 300)];
    // x + 1 and 3x modulo the prime 257.
    let affine = vec![images(257, |x| (x + 1) % 257), images(257, |x| 3 * x % 257)];
    // Four cells with all permutations, and 300 cells that turn with the first move.
    let turned = [[1, 2, 3, 0], [1, 0, 2, 3]].iter().enumerate().map(|(number, four)| {
        images(304, |cell| if cell < 4 { four[cell] } else { 4 + (cell - 3 - number) % 300 })
    });
    let turned = turned.collect();
    // Two orbits of 200 cells that turn independently.
    let rings = [0, 200].map(|first| {
        images(400, |cell| match cell.checked_sub(first) {
            Some(at) if at < 200 => first + (at + 1) % 200,
            _ => cell,
        })
    });
    for (moves, states) in [
        (cyclic(300), 300),
        (cyclic(1000), 1000),
        (dihedral, 600),
        (affine, 257 * 256),
        (turned, 24 * 300),
        (rings.to_vec(), 200 * 200),
    ] {
        let moves = with_inverses(&moves);
        let cells = moves[0].len();
        assert_eq!(question(&moves).space().unwrap().states().to_string(), states.to_string(), "{cells}");
        // Some of them have hundreds of depths.
        let setup = Setup { max_depth: Some(20), ..SETUP };
        let found = setup.search(question(&moves));
        assert_eq!(found.counts, growth(images(cells, |cell| cell), &moves, 20), "{cells}");
        if states < 1000 {
            let plain = Setup { kernel: Kernel::Reference, ..setup }.search(question(&moves));
            assert_eq!(plain.digest, found.digest, "{cells}");
        }
    }
}

/// Orbits determined by others are omitted, so that the search is that of the others.
#[test]
fn orbits_determined_by_others_cost_nothing() {
    let alone = SETUP.search(question(&with_inverses(&six_and(0, |_, cell| cell))));
    // The ordered pairs of six cells, ten times.
    let pairs: Vec<(usize, usize)> =
        (0..6).flat_map(|a| (0..6).map(move |b| (a, b))).filter(|(a, b)| a != b).collect();
    let six = [[1, 2, 3, 4, 5, 0], [1, 0, 2, 3, 4, 5]];
    let follows = six_and(300, |number, cell| {
        let (a, b) = pairs[cell % 30];
        let to = (six[number][a], six[number][b]);
        cell - cell % 30 + pairs.iter().position(|&pair| pair == to).unwrap()
    });
    let follows = SETUP.search(question(&with_inverses(&follows)));
    assert_eq!((follows.counts, follows.digest), (alone.counts, alone.digest));
}

/// PSL(2, 257) has order 257 (257^2 - 1) / 2 and acts on the 258 points of the projective line.
#[test]
fn linear_group_on_a_projective_line_is_searched() {
    const P: usize = 257;
    let power = |x: usize, exponent: usize| (0..exponent).fold(1, |product, _| product * x % P);
    let turned = |x: usize| match x {
        P => 0,
        0 => P,
        x => (P - power(x, P - 2)) % P,
    };
    let moves = with_inverses(&[
        images(P + 1, |x| if x == P { P } else { (x + 1) % P }),
        images(P + 1, |x| if x == P { P } else { 9 * x % P }),
        images(P + 1, turned),
    ]);
    let question = question(&moves);
    assert_eq!(question.space().unwrap().states().to_string(), "8487168");
    // Axes of a group without blocks take long to plan.
    if fathom_slow::is_wanted() {
        let found = Setup { max_depth: Some(6), ..SETUP }.search(question);
        assert_eq!(found.counts, growth(images(P + 1, |x| x), &moves, 6));
    }
}

/// Two pieces of 300 are distinct: on a ring whose first two pieces may be exchanged they reach all places,
/// and on a ring that only turns they stay adjacent.
#[test]
fn few_labels_on_many_cells_are_searched() {
    let turn = images(300, |cell| (cell + 1) % 300);
    let exchange = images(300, |cell| if cell < 2 { 1 - cell } else { cell });
    for (moves, depth) in [(vec![turn.clone(), exchange], Some(40)), (vec![turn], None)] {
        let moves = with_inverses(&moves);
        let labels = Labels::parse_tracked("0-1", 300).unwrap();
        let solved = labels.of_pieces().to_vec();
        let question = SpaceSpec { labels, ..question(&moves) };
        let found = Setup { max_depth: depth, ..SETUP }.search(question);
        let expected = growth(solved, &moves, depth.map_or(usize::MAX, |depth| depth as usize));
        assert_eq!(found.counts, expected);
    }
}

fn cycle(cells: usize) -> String {
    let points: Vec<String> = (1..=cells).map(|point| point.to_string()).collect();
    format!("({})", points.join(","))
}

/// Returns the exit code, standard output and standard error of `fathom`.
fn run_in(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = fathom().args(arguments).current_dir(directory).output().unwrap();
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

#[test]
fn states_are_read_and_written_with_all_their_points() {
    let directory = fathom_tests::tempdir().unwrap();
    let at = directory.path();
    fs::write(at.join("ring.gap"), format!("ring := Group({});\n", cycle(300))).unwrap();
    fs::write(
        at.join("ring.toml"),
        format!("name = \"ring\"\ndegree = 300\n\n[moves]\nr = \"{}\"\n", cycle(300)),
    )
    .unwrap();
    // The piece of cell 0 is on cell 7, that of cell 1 on cell 8, and so on.
    let tiles = |by: usize| -> String {
        let tiles: Vec<String> = (0..300).map(|cell| ((cell + 300 - by) % 300).to_string()).collect();
        tiles.join(" ")
    };
    let mut swapped: Vec<String> = tiles(7).split(' ').map(str::to_owned).collect();
    swapped.swap(100, 200);
    fs::write(at.join("watched"), format!("{}\n{}\n", tiles(7), tiles(293))).unwrap();
    fs::write(at.join("wrong"), swapped.join(" ")).unwrap();
    for file in ["ring.gap", "ring.toml"] {
        let run = &*format!("run-{file}");
        let options = ["--metric", "single", "--dir", run, "--keep", "all", "--watch-states"];
        let (code, _, err) = run_in(at, &[&["run", file], &options[..], &["watched"]].concat());
        assert_eq!(code, Some(0), "{err}");
        let watched = fs::read_to_string(at.join(run).join("watched.csv")).unwrap();
        assert_eq!(watched, format!("state,depth\n{},7\n{},7\n", tiles(7), tiles(293)));
        for space in [&[run][..], &[file, "--metric", "single"]] {
            let solved = |state: &str| -> serde_json::Value {
                json(
                    &fathom()
                        .arg("solve")
                        .args(space)
                        .args([state, "--json"])
                        .current_dir(at)
                        .output()
                        .unwrap(),
                )
            };
            let found = solved(&tiles(7));
            assert_eq!((&found["distance"], &found["state"]), (&7.into(), &tiles(7).into()), "{space:?}");
            let solution = found["solutions"][0].as_str().unwrap().to_owned();
            assert_eq!(solution.split(' ').count(), 7, "{solution}");
            let (code, _, err) = run_in(at, &[&["solve"], space, &[&*swapped.join(" ")]].concat());
            assert_eq!(code, Some(2));
            assert!(err.contains("ring cannot reach this state"), "{err}");
        }
        let farthest = json(&fathom().args(["antipodes", run, "--json"]).current_dir(at).output().unwrap());
        assert_eq!(farthest["depth"], 150);
        assert!(farthest.to_string().contains(&tiles(150)), "{farthest}");
    }
    let wrong = ["run", "ring.gap", "--metric", "single", "--dir", "no", "--watch-states", "wrong"];
    let (code, _, err) = run_in(at, &wrong);
    assert_eq!(code, Some(2));
    assert!(err.contains("wrong, line 1: the moves do not lead to it") && !at.join("no").exists(), "{err}");
    let (_, planned, _) = run_in(at, &["plan", "ring.gap"]);
    assert!(planned.contains("base: 1 of 300 pieces, which determine the others\n"), "{planned}");
    let (_, planned, _) = run_in(at, &["plan", "3x3"]);
    assert!(!planned.contains("base: "), "{planned}");
    let element = tiles(7);
    let (code, out, err) = run_in(at, &["group", "ring.gap", "--element", &element]);
    assert!(code == Some(0) && out.contains("order: 300\n") && out.contains("tiles: 293 294 "), "{out}{err}");
}

/// Two turns of a torus of 8 times 8 cells. Words of 64 distinct pieces are too long, and the position of one
/// piece determines those of all others.
#[test]
fn pieces_that_determine_all_others_are_named() {
    let torus =
        |down: usize, right: usize| images(64, |cell| (cell / 8 + down) % 8 * 8 + (cell % 8 + right) % 8);
    let moves = with_inverses(&[torus(1, 0), torus(0, 1)]);
    let directory = fathom_tests::tempdir().unwrap();
    let cycles = |images: &Images| Permutation::from_images(images.clone()).unwrap().to_string();
    let listed =
        moves.iter().zip(1..).map(|(images, number)| format!("g{number} = \"{}\"\n", cycles(images)));
    let text = format!("degree = 64\n[moves]\n{}", listed.collect::<String>());
    fs::write(directory.path().join("torus.toml"), text).unwrap();
    let (code, _, err) = run_in(directory.path(), &["run", "torus.toml", "-q"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("only 64 states") && err.contains("use '--track 0', the pieces"), "{err}");
    let (_, out, err) = run_in(directory.path(), &["run", "torus.toml", "--track", "0", "-q", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&out).expect(&err);
    assert_eq!(found["counts"], serde_json::json!(growth((0..64).collect(), &moves, 64)));
}

#[test]
fn too_large_puzzles_are_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    let at = directory.path();
    fs::write(at.join("all.gap"), format!("all := Group({}, (1,2));\n", cycle(300))).unwrap();
    fs::write(at.join("ring.gap"), format!("ring := Group({});\n", cycle(2049))).unwrap();
    fs::write(at.join("points.gap"), format!("points := Group({});\n", cycle(70_000))).unwrap();
    let refused = |file: &str| {
        let (code, out, err) = run_in(at, &["run", file, "--metric", "single"]);
        assert_eq!((code, &*out), (Some(2), ""), "{err}");
        err
    };
    let all = refused("all.gap");
    // The first digits of 300!.
    assert!(all.contains("all has 306,057,512,216,440,636,035,370,461,297,268,629,388"), "{all}");
    let ring = refused("ring.gap");
    assert!(ring.contains("ring has 2049 cells, but a search supports at most 2048"), "{ring}");
    let points = refused("points.gap");
    assert!(
        points.contains("the puzzle has 70000 points (cells times orientations), more than 16384"),
        "{points}"
    );
    let left: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

/// With more than 128 orientations no carry may occur in sums, and distances may exceed 255.
#[test]
fn many_orientations_and_large_distances_agree_with_the_reference() {
    let directory = fathom_tests::tempdir().unwrap();
    let file = directory.path().join("puzzle.toml");
    let turns = |orientations: u32| {
        format!(
            "metric = 'single'\norbits = [{{name = 'x', cells = 2, orientations = {orientations}}}]\n[moves]\nA = '(1+1)(2+1)'\nB = '(1+7,2+7)'\n[solved]\nlabels = [1, 1]\n"
        )
    };
    let ring: Vec<String> = (1..=520).map(|cell| cell.to_string()).collect();
    let ring = format!(
        "degree = 520\nmetric = 'single'\n[moves]\nr = '({})'\n[solved]\nlabels = [1{}]\n",
        ring.join(","),
        ", 2".repeat(519)
    );
    // Two ways round a ring of 520 places: 260 steps to the opposite one.
    let cases =
        [(turns(128), 128, None), (turns(129), 129, None), (turns(250), 250, None), (ring, 520, Some(260))];
    for (number, (text, states, farthest)) in cases.into_iter().enumerate() {
        fs::write(&file, text).unwrap();
        let found = ["fastest", "portable", "reference"].map(|kernel| {
            let mut command = fathom();
            command.arg("run").arg(&file).args(["-q", "--json", "--kernel", kernel, "--dir"]);
            json(&command.arg(directory.path().join(format!("{number}-{kernel}"))).output().unwrap())
        });
        assert_eq!(
            found[0]["counts"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>(),
            states
        );
        assert!(farthest.is_none_or(|farthest| found[0]["god_number"] == farthest), "{number}");
        for other in &found[1..] {
            assert_eq!(
                (&other["counts"], &other["digest"]),
                (&found[0]["counts"], &found[0]["digest"]),
                "{number}"
            );
        }
    }
}

/// Five rings that turn together, with one marked piece each, return after 69,300 moves. The reference can
/// store distances up to 65,534.
#[test]
fn reference_reports_distances_beyond_its_limit() {
    let directory = fathom_tests::tempdir().unwrap();
    let (mut cycles, mut labels, mut first) = (String::new(), Vec::new(), 1);
    for size in [4, 7, 9, 11, 25] {
        let ring: Vec<String> = (first..first + size).map(|cell| cell.to_string()).collect();
        cycles += &format!("({})", ring.join(","));
        labels.extend((first..first + size).map(|cell| if cell == first { first } else { first + 1 }));
        first += size;
    }
    let file = directory.path().join("rings.toml");
    let text = format!(
        "degree = {}\nmetric = 'given'\n[moves]\nr = '{cycles}'\n[solved]\nlabels = {labels:?}\n",
        first - 1
    );
    fs::write(&file, text).unwrap();
    let mut command = fathom();
    command.arg("run").arg(&file).args(["-q", "--kernel", "reference", "--dir"]);
    let output = command.arg(directory.path().join("run")).output().unwrap();
    let err = texts(&output).1;
    assert!(output.status.code() == Some(2) && err.contains("there are states farther than 65534"), "{err}");
}
