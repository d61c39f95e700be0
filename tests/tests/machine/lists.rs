//! The search by lists of states: counts against the search by cosets and against a plain search, interruptions,
//! little memory, full disks and damaged files.

use fathom_algebra::OrientedPermutation;
use fathom_engine::Enumeration;
use fathom_engine::directory::RunDirectory;
use fathom_engine::run::SpaceSpec;
use fathom_engine::search::{Options, Stop, search};
use fathom_engine::summary::Summary;
use fathom_engine::verify::verify;
use fathom_layer::{LimitedDisk, LocalDisk};
use fathom_lists::{Identity, ListFile, ListSpace, ListWriter};
use fathom_puzzle::{Metric, PuzzleMove, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::{fathom, tempdir, texts};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

fn spec(puzzle: &str, metric: Option<Metric>, labels: Option<&str>) -> SpaceSpec {
    let source = PuzzleSpec::by_name(puzzle).unwrap();
    let metric = metric.unwrap_or(source.metric());
    let source = source.in_metric(metric).unwrap();
    let labels = match labels {
        Some(list) => Labels::parse_list(list, source.cells()).unwrap(),
        None => Labels::from_values(source.solved()),
    };
    SpaceSpec { source, metric, labels }
}

fn listed(spec: &SpaceSpec, path: &Path) -> Summary {
    Enumeration::new(spec.clone()).lists().threads(2).directory(path).run().unwrap()
}

/// Boards, labels, orientations, free rotations, moves with guards, limits on states, and moves without inverses.
#[test]
fn lists_and_cosets_agree() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples");
    let spaces = [
        spec("2x4", Some(Metric::Multi), None),
        spec("3x3", Some(Metric::Single), None),
        spec("3x3", Some(Metric::Multi), Some("0,0,0,1,1,1,2,2,2")),
        spec("pancake:7", None, None),
        spec("burnt-pancake:5", None, None),
        spec("pyraminx", None, None),
        spec("2x2x2", None, None),
        spec("3x3x3-edges", None, Some("0,0,0,1,1,1,1,1,1,1,1,1")),
        spec("topspin:8,4", None, None),
        spec(&format!("{examples}/2x2x2-free.toml"), None, None),
        spec(&format!("{examples}/two-colours.toml"), None, None),
        spec(&format!("{examples}/bandaged.toml"), None, None),
        spec(&format!("{examples}/limited.toml"), None, None),
    ];
    for space in &spaces {
        let directory = tempdir().unwrap();
        let found = listed(space, &directory.path().join("lists"));
        let cosets =
            Enumeration::new(space.clone()).directory(directory.path().join("cosets")).run().unwrap();
        assert!(found.complete && cosets.complete, "{space}");
        assert_eq!(found.counts, cosets.counts, "{space}");
        assert_eq!((found.states, found.inverse_closed), (cosets.states, cosets.inverse_closed), "{space}");
        let run = RunDirectory::open_for_reading(&directory.path().join("lists")).unwrap();
        let kept = if found.inverse_closed { 2.min(found.counts.len()) } else { found.counts.len() };
        assert_eq!(verify(&run, &LocalDisk).unwrap().layers as usize, kept, "{space}");
    }
}

/// Returns a word after a step, which has for each cell the cell to which its piece goes.
fn after(word: &[usize], images: &[usize]) -> Vec<usize> {
    let mut image = word.to_vec();
    images.iter().zip(word).for_each(|(&to, &label)| image[to] = label);
    image
}

/// Counts by plain sets of words of labels.
fn plain_counts(starts: HashSet<Vec<usize>>, steps: &[Vec<usize>]) -> Vec<u64> {
    let mut layer = starts;
    let mut seen = layer.clone();
    let mut counts = Vec::new();
    while !layer.is_empty() {
        counts.push(layer.len() as u64);
        let next: HashSet<_> =
            layer.iter().flat_map(|word| steps.iter().map(|images| after(word, images))).collect();
        layer = next.into_iter().filter(|word| seen.insert(word.clone())).collect();
    }
    counts
}

/// Writes a permutation in cycle notation, with points numbered from 1.
fn cycles(images: &[usize]) -> String {
    let mut left: Vec<bool> = vec![true; images.len()];
    let mut text = String::new();
    for start in 0..images.len() {
        let mut cycle = Vec::new();
        let mut at = start;
        while std::mem::take(&mut left[at]) {
            cycle.push((at + 1).to_string());
            at = images[at];
        }
        if cycle.len() > 1 {
            text += &format!("({})", cycle.join(","));
        }
    }
    text
}

/// Random moves on a few cells, with random labels; some without inverses.
#[test]
fn random_puzzles_match_plain_search() {
    let mut random = fastrand::Rng::with_seed(55);
    let mut directed = 0;
    for number in 0..60 {
        let cells = random.usize(3..8);
        let labels: Vec<usize> = (0..cells).map(|_| random.usize(0..cells)).collect();
        let steps: Vec<Vec<usize>> = (0..random.usize(1..4))
            .map(|_| {
                let mut images: Vec<usize> = (0..cells).collect();
                random.shuffle(&mut images);
                images
            })
            .collect();
        let is_identity = |images: &[usize]| images.iter().enumerate().all(|(from, &to)| from == to);
        if steps.iter().any(|images| is_identity(images)) {
            continue;
        }
        let metric = if random.bool() { "given" } else { "single" };
        let mut text =
            format!("name = \"random-{number}\"\nmetric = \"{metric}\"\ndegree = {cells}\n[moves]\n");
        for (name, images) in steps.iter().enumerate() {
            text += &format!("m{name} = \"{}\"\n", cycles(images));
        }
        let directory = tempdir().unwrap();
        let path = directory.path().join("puzzle.toml");
        fs::write(&path, &text).unwrap();
        let list: Vec<String> = labels.iter().map(usize::to_string).collect();
        let space = spec(path.to_str().unwrap(), None, Some(&list.join(",")));
        let puzzle = space.source.puzzle(space.metric).unwrap();
        let images = |m: &PuzzleMove| (0..cells).map(|cell| m.action.cells().apply(cell)).collect();
        let steps: Vec<Vec<usize>> = puzzle.moves.iter().map(images).collect();
        let found = listed(&space, &directory.path().join("run"));
        assert_eq!(found.counts, plain_counts(HashSet::from([labels]), &steps), "{text}");
        directed += u32::from(!found.inverse_closed);
    }
    assert!(directed > 5);
}

/// Random moves, labels and sets of starts: given states, states that elements reach from the solved one, and both.
#[test]
fn distances_from_sets_match_plain_search() {
    let mut random = fastrand::Rng::with_seed(56);
    let mut shuffled = |cells: usize| {
        let mut images: Vec<usize> = (0..cells).collect();
        random.shuffle(&mut images);
        images
    };
    let list = |elements: &[Vec<usize>]| {
        elements.iter().map(|images| format!("\"{}\"", cycles(images))).collect::<Vec<_>>().join(", ")
    };
    for number in 0..60 {
        let cells = 4 + number % 3;
        let labels: Vec<usize> =
            (0..cells).map(|cell| if number % 2 == 0 { cell } else { cell / 2 }).collect();
        let steps: Vec<Vec<usize>> = (0..2).map(|_| shuffled(cells)).collect();
        let states: Vec<Vec<usize>> = (0..number % 4).map(|_| shuffled(cells)).collect();
        let by: Vec<Vec<usize>> = (0..(number / 4) % 3).map(|_| shuffled(cells)).collect();
        let mut starts: Vec<Vec<usize>> = states.iter().map(|images| after(&labels, images)).collect();
        let different: HashSet<&Vec<usize>> = starts.iter().collect();
        let is_identity = |images: &Vec<usize>| images.iter().enumerate().all(|(from, &to)| from == to);
        if different.len() < starts.len()
            || states.is_empty() && by.is_empty()
            || steps.iter().any(is_identity)
        {
            continue;
        }
        if starts.is_empty() {
            starts.push(labels.clone());
        }
        let mut all: HashSet<Vec<usize>> = starts.iter().cloned().collect();
        while let Some(start) = starts.pop() {
            let images = by.iter().map(|images| after(&start, images));
            starts.extend(images.filter(|image| all.insert(image.clone())));
        }
        let given = if states.is_empty() { String::new() } else { format!("states = [{}]", list(&states)) };
        let text = format!(
            "name = \"set-{number}\"\nmetric = \"given\"\ndegree = {cells}\n[moves]\na = \"{}\"\nb = \"{}\"\n[solved]\nlabels = {labels:?}\n{given}\nby = [{}]\n",
            cycles(&steps[0]),
            cycles(&steps[1]),
            list(&by)
        );
        let directory = tempdir().unwrap();
        let path = directory.path().join("puzzle.toml");
        fs::write(&path, &text).unwrap();
        let space = spec(path.to_str().unwrap(), None, None);
        let moves: &[Vec<usize>] = if steps[0] == steps[1] { &steps[..1] } else { &steps };
        let found = listed(&space, &directory.path().join("run"));
        assert_eq!(found.counts, plain_counts(all.clone(), moves), "{text}");
        assert_eq!((found.starts, found.complete), (Some(all.len() as u64), true));
        let again = RunDirectory::open_for_reading(&directory.path().join("run")).unwrap();
        assert_eq!(again.manifest.spec, space);
        assert!(verify(&again, &LocalDisk).unwrap().states > 0);
    }
}

/// Random moves that ask for pieces on any cells, also on those that they move, in all metrics. A power is possible if
/// each application is, an inverse if it ends where its move can begin.
#[test]
fn guards_on_any_cells_match_plain_search() {
    let mut random = fastrand::Rng::with_seed(57);
    let (mut limited, mut two_way) = (0, 0);
    for number in 0..90 {
        let cells = random.usize(3..7);
        let labels: Vec<usize> = (0..cells).map(|_| random.usize(0..cells)).collect();
        let metric = ["given", "single", "multi"][number % 3];
        let mut text = format!(
            "name = \"asking-{number}\"\nmetric = \"{metric}\"\ndegree = {cells}\n[solved]\nlabels = {labels:?}\n[moves]\n"
        );
        let mut moves = Vec::new();
        for name in 0..2 {
            let mut images: Vec<usize> = (0..cells).collect();
            random.shuffle(&mut images);
            let cell = random.usize(0..cells);
            let asked: Vec<usize> = (0..cells).filter(|_| random.u8(0..3) > 0).collect();
            if asked.is_empty() || images.iter().enumerate().all(|(from, &to)| from == to) {
                continue;
            }
            let pieces: Vec<usize> = asked.iter().map(|piece| piece + 1).collect();
            text += &format!(
                "m{name} = {{ cycles = \"{}\", guard = [{{ cell = {}, pieces = {pieces:?} }}] }}\n",
                cycles(&images),
                cell + 1
            );
            let asked: HashSet<usize> = asked.iter().map(|&piece| labels[piece]).collect();
            moves.push((images, cell, asked));
        }
        if moves.is_empty() {
            continue;
        }
        let mut layer = HashSet::from([labels.clone()]);
        let (mut seen, mut counts) = (layer.clone(), Vec::new());
        while !layer.is_empty() {
            counts.push(layer.len() as u64);
            let mut next = HashSet::new();
            for word in &layer {
                for (images, cell, asked) in &moves {
                    let allows = |word: &Vec<usize>| asked.contains(&word[*cell]);
                    let mut powers = vec![word.clone()];
                    let most = if metric == "multi" { 1000 } else { 1 };
                    while powers.len() <= most && allows(powers.last().unwrap()) {
                        let image = after(powers.last().unwrap(), images);
                        if image == *word {
                            break;
                        }
                        powers.push(image);
                    }
                    next.extend(powers.into_iter().skip(1));
                    let mut back: Vec<usize> = vec![0; cells];
                    images.iter().enumerate().for_each(|(from, &to)| back[to] = from);
                    let source = after(word, &back);
                    if metric == "single" && allows(&source) {
                        next.insert(source);
                    }
                }
            }
            layer = next.into_iter().filter(|word| seen.insert(word.clone())).collect();
        }
        let directory = tempdir().unwrap();
        let path = directory.path().join("puzzle.toml");
        fs::write(&path, &text).unwrap();
        let space = spec(path.to_str().unwrap(), None, None);
        let found = listed(&space, &directory.path().join("run"));
        assert_eq!(found.counts, counts, "{text}");
        assert_eq!(
            RunDirectory::open_for_reading(&directory.path().join("run")).unwrap().manifest.spec,
            space
        );
        limited += u32::from(counts.len() > 2);
        two_way += u32::from(found.inverse_closed);
    }
    assert!(limited > 30 && two_way > 20, "{limited} {two_way}");
}

#[test]
fn bad_guards_are_refused() {
    let directory = tempdir().unwrap();
    for (guard, more, why) in [
        ("[{ cell = 9, pieces = [1] }]", "", "cell 9 in the guard is not between 1 and 4"),
        ("[{ cell = 1, pieces = [3] }]", "", "asks cell 1 for piece 3, which belongs to another orbit"),
        ("[{ cell = 1, pieces = [] }]", "", "can never be met: it asks cell 1"),
        ("[{ cell = 1, pieces = [1] }, { cell = 1, pieces = [2] }]", "", "can never be met: it asks cell 1"),
        ("[{ cell = 1, pieces = [1], piece = 2 }]", "", "unknown field `piece`"),
        ("[{ cell = 1, pieces = [1] }]", "[free]\nf = \"(3,4)\"\n", "cannot be combined with free moves"),
    ] {
        let orbits = "orbits = [{ name = \"a\", cells = 2 }, { name = \"b\", cells = 2 }]";
        let text = format!(
            "name = \"bad\"\n{orbits}\n[moves]\nm = {{ cycles = \"(1,2)(3,4)\", guard = {guard} }}\n{more}"
        );
        fs::write(directory.path().join("bad.toml"), text).unwrap();
        let output = fathom().current_dir(directory.path()).args(["run", "bad.toml"]).output().unwrap();
        let (_, error) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(why), "{error}");
    }
}

/// Distances from a set that some moves of a group reach are distances between cosets: each coset of the 2x2x2 by
/// U and R has 29,160 states (OEIS has this order; it is 120 * 243), and every state looks the same from its coset.
#[test]
fn distances_from_a_subgroup_are_those_of_cosets() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("run");
    let run = ["run", "2x2x2", "--solved-by", "U,R", "--json", "-q", "--dir", path.to_str().unwrap()];
    let (out, _) = texts(&fathom().args(run).output().unwrap());
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let counts: Vec<u64> = found["counts"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!((counts[0], counts.iter().sum::<u64>()), (29_160, 3_674_160));
    assert!(counts.iter().all(|count| count % 29_160 == 0), "{counts:?}");
    assert_eq!((found["starts"].as_u64(), found["complete"].as_bool()), (Some(29_160), Some(true)));
    let (report, _) = texts(&fathom().args(["resume", path.to_str().unwrap(), "-q"]).output().unwrap());
    assert!(!report.contains("God's number") && report.contains("largest distance"), "{report}");
    assert!(report.contains("note: distances are from 29,160 start states"), "{report}");
}

/// The 2x2x2 in the hand, solved if it looks solved from any side: colour neutrality. The eight corners of one colour
/// leave a single state; opposite faces alike are a cube that each of its half turns leaves as it is.
#[test]
fn free_moves_may_change_nothing_visible() {
    let directory = tempdir().unwrap();
    let run = |labels: &str| {
        let mut command = fathom();
        command.args(["run", "2x2x2", "--free-rotations", "--labels", labels, "--json", "-q", "--dir"]);
        let (out, _) = texts(&command.arg(directory.path().join(labels)).output().unwrap());
        let found: serde_json::Value = serde_json::from_str(&out).unwrap();
        found["counts"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect::<Vec<_>>()
    };
    let source = PuzzleSpec::in_hand("2x2x2").unwrap();
    let puzzle = source.moves_alone(source.metric()).unwrap();
    for labels in ["0,0,0,0,0,0,0,0", "0,1,1,0,1,0,0,1"] {
        // Words of a label and an orientation for each corner, up to the free moves.
        let label = labels.split(',').map(|label| label.parse().unwrap());
        let solved: Vec<(u16, u16)> = label.map(|label| (label, 0)).collect();
        let image = |word: &Vec<(u16, u16)>, action: &OrientedPermutation| {
            let mut image = word.clone();
            for (cell, &(label, turn)) in word.iter().enumerate() {
                image[action.cells().apply(cell)] = (label, (turn + action.turns()[cell]) % 3);
            }
            image
        };
        let least = |word: &Vec<(u16, u16)>| puzzle.free.iter().map(|free| image(word, free)).min().unwrap();
        let mut layer = HashSet::from([least(&solved)]);
        let (mut seen, mut counts) = (layer.clone(), Vec::new());
        while !layer.is_empty() {
            counts.push(layer.len() as u64);
            let next =
                layer.iter().flat_map(|word| puzzle.moves.iter().map(|m| least(&image(word, &m.action))));
            let next: HashSet<_> = next.collect();
            layer = next.into_iter().filter(|word| seen.insert(word.clone())).collect();
        }
        assert_eq!(run(labels), counts, "{labels}");
    }
}

#[test]
fn bad_starts_are_refused() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("starts.txt");
    let refused = |lines: &str, arguments: &[&str], why: &str| {
        fs::write(&file, lines).unwrap();
        let mut command = fathom();
        command.current_dir(directory.path()).args(["run", "3x3"]).args(arguments);
        let output = command.output().unwrap();
        let (_, error) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(why), "{error}");
        assert!(!directory.path().join("runs").exists());
    };
    let solved = ["--solved", "starts.txt"];
    refused("", &solved, "starts.txt has no states");
    refused("# nothing\n\n", &solved, "starts.txt has no states");
    refused("0 1 2 3 4 5 6 7 8\n0 1 2 3 4 5 6 7\n", &solved, "starts.txt, line 2: ");
    refused("8 1 2 3 4 5 6 7 0\n(1,9)\n", &solved, "start states 1 and 2 are the same state");
    refused("0 1 2 3 4 5 6 7 8\n", &["--solved", "missing.txt"], "cannot read missing.txt");
    refused("", &["--solved-by", "V9"], "--solved-by: unknown move \"V9\"");
    refused("(1,9)\n", &["--solved", "starts.txt", "--engine", "cosets"], "can only be listed");
    refused("(1,9)\n", &["--solved", "starts.txt", "--workers", "2"], "can only be listed");
    for question in [["solve", "3x3", "V1"], ["plan", "3x3", "--moves=V1"], ["antipodes", "3x3", "-q"]] {
        let output = fathom().current_dir(directory.path()).args(question).args(solved).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{question:?}");
    }
}

/// Interrupted at every depth, and with so little memory that states are spilled, a run ends with the same digest.
#[test]
fn interruptions_and_little_memory_change_nothing() {
    let space = spec("3x3", Some(Metric::Multi), None);
    let directory = tempdir().unwrap();
    let whole = listed(&space, &directory.path().join("whole"));
    let path = directory.path().join("parts");
    for depth in 0..9 {
        let part = Enumeration::new(space.clone()).lists().memory(100_000).max_depth(depth).directory(&path);
        assert_eq!(part.run().unwrap().counts, whole.counts[..=depth as usize]);
        // What a process that was killed leaves behind.
        let next = path.join(format!("layers/d{:03}", depth + 1));
        fs::create_dir_all(&next).unwrap();
        for name in ["s00000.list", "s00001.list.tmp", "t00000.spill"] {
            fs::write(next.join(name), "half").unwrap();
        }
    }
    let parts = listed(&space, &path);
    assert_eq!((parts.digest, parts.complete), (whole.digest, true));
    assert!(!path.join("layers/d009").exists());
}

#[test]
fn full_disk_ends_a_run_in_order() {
    let space = spec("3x3", Some(Metric::Multi), None);
    let directory = tempdir().unwrap();
    let path = directory.path().join("run");
    Enumeration::new(space.clone()).lists().max_depth(3).directory(&path).run().unwrap();
    let options = Options {
        threads: 2,
        kernel: fathom_engine::task::Kernel::Fastest,
        max_depth: None,
        memory_bytes: 1 << 30,
        checkpoint_every: Options::CHECKPOINT_EVERY,
    };
    let mut run = RunDirectory::open(&path).unwrap();
    let disk = LimitedDisk::new(path.clone(), 300_000);
    let error =
        search(&mut run, &disk, options, &Stop::default(), &fathom_engine::observer::Silent).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("no disk space is left at depth") && error.contains("fathom resume"), "{error}");
    let depths = Summary::new(&run).unwrap().counts.len();
    assert!((4..8).contains(&depths), "{depths}");
    drop(run);
    assert!(listed(&space, &path).complete);
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let space = spec("3x3", Some(Metric::Multi), None);
    let directory = tempdir().unwrap();
    let path = directory.path().join("run");
    let part = || Enumeration::new(space.clone()).lists().directory(&path);
    part().max_depth(5).run().unwrap();
    let file = path.join("layers/d005/s00003.list");
    let good = fs::read(&file).unwrap();
    let verified = || verify(&RunDirectory::open_for_reading(&path).unwrap(), &LocalDisk);
    assert_eq!(verified().unwrap().layers, 2);
    for at in [0, 20, 60, good.len() / 2, good.len() - 60, good.len() - 1] {
        let mut damaged = good.clone();
        damaged[at] ^= 1;
        fs::write(&file, damaged).unwrap();
        assert!(verified().is_err(), "byte {at}");
        let error = format!("{:#}", part().run().unwrap_err());
        assert!(error.contains("s00003.list"), "byte {at}: {error}");
    }
    fs::write(&file, &good[..good.len() - 1]).unwrap();
    assert!(verified().is_err());
    fs::copy(path.join("layers/d005/s00004.list"), &file).unwrap();
    assert!(format!("{:#}", part().run().unwrap_err()).contains("shard is 4, expected 3"));
    fs::write(&file, &good).unwrap();
    // A file of the same place with valid checksums, which lacks a state.
    let run = RunDirectory::open_for_reading(&path).unwrap();
    let listed = run.space.listed().unwrap();
    let states = ListSpace::<u64>::new(&listed.puzzle, &listed.labels);
    let identity = Identity { fingerprint: run.manifest.fingerprint, depth: 5, shard: 3 };
    let mut kept = Vec::new();
    ListFile::open(&states, &file, identity).unwrap().read_block(&states, 0, &mut kept).unwrap();
    let mut writer = ListWriter::create(&states, &LocalDisk, &file, identity).unwrap();
    kept[1..].iter().for_each(|state| writer.push(state).unwrap());
    writer.finish().unwrap();
    for error in [verified().unwrap_err(), part().run().unwrap_err()] {
        let error = format!("{error:#}");
        assert!(error.contains("not the file that was committed"), "{error}");
    }
    fs::write(&file, &good).unwrap();
    assert!(part().run().unwrap().complete);
}

/// The counts of Rubik's cube are OEIS A080601 (half turns count as one move) and A080602; 4 x 4 has 24 moves.
#[test]
fn huge_spaces_have_first_depths() {
    let directory = tempdir().unwrap();
    let counts = |arguments: &[&str]| -> Vec<u64> {
        let output =
            fathom().args(arguments).args(["-q", "--json"]).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", texts(&output).1);
        let json: serde_json::Value = serde_json::from_str(&texts(&output).0).unwrap();
        assert_eq!((json["representative_cosets"].is_null(), &json["complete"]), (true, &false.into()));
        json["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect()
    };
    assert_eq!(counts(&["run", "3x3x3", "--max-depth", "4"]), [1, 18, 243, 3240, 43239]);
    assert_eq!(
        counts(&["run", "3x3x3", "--metric", "single", "--max-depth", "4"]),
        [1, 12, 114, 1068, 10011]
    );
    assert_eq!(counts(&["run", "4x4", "--max-depth", "1"]), [1, 24]);
    // More cells than cosets can have: ten swaps of different cells, of which each subset is a state.
    let swaps = (0..10).map(|swap| format!("s{swap} = \"({},{})\"\n", 300 * swap + 1, 300 * swap + 2));
    let text = format!("name = \"swaps\"\ndegree = 3000\n[moves]\n{}", swaps.collect::<String>());
    fs::write(directory.path().join("swaps.toml"), text).unwrap();
    assert_eq!(counts(&["run", "swaps.toml", "--max-depth", "4"]), [1, 10, 45, 120, 210]);
}

/// The states of each layer, and solutions from them, against those of a run by cosets and a search from both ends.
#[test]
fn states_of_lists_are_looked_up() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples");
    let free = format!("{examples}/2x2x2-free.toml");
    let colours = format!("{examples}/two-colours.toml");
    let limited = format!("{examples}/limited.toml");
    let spaces = [
        ("2x3", "--metric=multi"),
        ("3x3", "--labels=0,0,0,1,1,1,2,2,2"),
        ("pyraminx", "--metric=multi"),
        ("2x2x2", "--moves=R,U,R',U'"),
        (&free, "-q"),
        (&colours, "-q"),
        (&limited, "-q"),
        ("lx:6", "-q"),
        ("clock", "--max-depth=2"),
    ];
    for (puzzle, option) in spaces {
        let directory = tempdir().unwrap();
        let fathom = |arguments: &[&str]| {
            let output = fathom().current_dir(directory.path()).args(arguments).output().unwrap();
            let (out, error) = texts(&output);
            assert!(output.status.success(), "{puzzle} {arguments:?}: {error}");
            out
        };
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let found = json(&fathom(&[
            "run", puzzle, option, "--engine", "lists", "--keep", "all", "--dir", "run", "--json",
        ]));
        let counts = found["counts"].as_array().unwrap();
        for depth in [1, counts.len() / 2, counts.len() - 1] {
            let depth_is = depth.to_string();
            let told = json(&fathom(&["antipodes", "run", "--depth", &depth_is, "--limit", "9", "--json"]));
            assert_eq!(told["states"], counts[depth], "{puzzle}");
            assert_eq!(told["classes"], told["states"], "{puzzle}");
            for class in told["representatives"].as_array().unwrap() {
                let state = class["state"].as_str().unwrap();
                if found["inverse_closed"].as_bool().unwrap() {
                    let from_layers = json(&fathom(&["solve", "run", state, "--json", "--count"]));
                    let mut search = vec!["solve", puzzle, state, "--json", "--count"];
                    search.extend([option].iter().filter(|option| !option.starts_with("--max-depth")));
                    let searched = json(&fathom(&search));
                    assert_eq!(from_layers["method"], "layers");
                    for field in ["distance", "count", "solutions"] {
                        assert_eq!(from_layers[field], searched[field], "{puzzle} {state} {field}");
                    }
                    assert_eq!(from_layers["distance"].as_u64(), Some(depth as u64));
                } else {
                    assert!(class["scramble"].is_string());
                }
            }
        }
    }
}

/// Commands that need cosets say so, and write nothing.
#[test]
fn runs_by_lists_are_refused_in_words() {
    let directory = tempdir().unwrap();
    let run = |arguments: &[&str]| {
        fathom().args(arguments).args(["-q"]).current_dir(directory.path()).output().unwrap()
    };
    assert!(run(&["run", "3x3", "--engine", "lists", "--dir", "r", "--max-depth", "3"]).status.success());
    assert!(run(&["run", "3x3x3", "--dir", "large", "--max-depth", "2"]).status.success());
    for (arguments, says) in [
        (&["antipodes", "r"][..], "is not complete"),
        (&["antipodes", "r", "--depth", "3", "--up-to-inversion"], "lists its states"),
        (&["serve", "3x3", "--engine", "lists", "--listen", "127.0.0.1:0"], "--engine lists"),
        (&["run", "3x3", "--engine", "lists", "--workers", "2"], "--engine lists"),
        (&["run", "3x3", "--engine", "lists", "--keep", "two"], "--keep two"),
        (&["run", "3x3", "--engine", "lists", "--inverse-classes"], "--inverse-classes"),
        (&["run", "4x4", "--engine", "lists"], "would fill the disk"),
        (&["resume", "large"], "would fill the disk"),
        (&["run", "3x3x3", "--dir", "large"], "would fill the disk"),
        (&["run", "3x3x3"], "with 'fathom run' and --max-depth"),
        (&["run", "3x3x3", "--engine", "cosets", "--max-depth", "3"], "too many"),
    ] {
        let output = run(arguments);
        let (_, error) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}
