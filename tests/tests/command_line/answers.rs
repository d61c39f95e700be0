//! What leaves a run as data: `distance`, `export` and `table`, against a plain search.

use fathom_engine::run::SpaceSpec;
use fathom_puzzle::{Metric, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::{fathom, json, tempdir, texts};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The label and the orientation on each cell.
type State = Vec<(u16, u16)>;

/// Returns the states at each distance, by a plain search.
fn growth(spec: &SpaceSpec) -> Vec<HashSet<State>> {
    let puzzle = spec.source.puzzle(spec.metric).unwrap();
    let solved: State = spec.labels.of_pieces().iter().map(|&label| (label, 0)).collect();
    let mut seen = HashSet::from([solved.clone()]);
    let mut layers = vec![HashSet::from([solved])];
    loop {
        let mut next = HashSet::new();
        for state in layers.last().unwrap() {
            for m in &puzzle.moves {
                let mut image = state.clone();
                for (cell, &(label, turn)) in state.iter().enumerate() {
                    let (to, turn) = m.action.apply(cell, turn);
                    image[to] = (label, turn);
                }
                if seen.insert(image.clone()) {
                    next.insert(image);
                }
            }
        }
        if next.is_empty() {
            return layers;
        }
        layers.push(next);
    }
}

/// Runs a command and returns what it prints.
fn printed(arguments: &[&str], at: &Path) -> String {
    let output = fathom().args(arguments).current_dir(at).output().unwrap();
    let (out, err) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {err}");
    out
}

fn refused(arguments: &[&str], at: &Path) -> String {
    let output = fathom().args(arguments).current_dir(at).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    texts(&output).1
}

/// Answers lines that are given to `fathom distance`.
fn distances(of: &str, lines: &str, at: &Path) -> Vec<String> {
    fs::write(at.join("states"), lines).unwrap();
    printed(&["distance", of, "states"], at).lines().map(str::to_owned).collect()
}

/// By cosets with symmetries, labels, orientations, one coset a state, and by lists; one way too.
#[test]
fn states_and_distances_match_a_plain_search() {
    let spaces: [(&str, Option<&str>, &[&str]); 8] = [
        ("2x4", None, &[]),
        ("3x3", Some("0,0,0,1,1,1,2,2,2"), &[]),
        ("pancake:6", None, &["--engine", "cosets"]),
        ("pancake:6", None, &["--engine", "lists"]),
        ("burnt-pancake:4", None, &[]),
        ("ivy", None, &[]),
        ("lx:5", None, &[]),
        ("necklace:8,3", None, &[]),
    ];
    for (word, labels, options) in spaces {
        let source = PuzzleSpec::by_name(word).unwrap();
        let labels_of = labels.map(|list| Labels::parse_list(list, source.cells()).unwrap());
        let labels_of = labels_of.unwrap_or_else(|| Labels::from_values(source.solved()));
        let spec = SpaceSpec { metric: source.metric(), source, labels: labels_of };
        let layers = growth(&spec);
        let directory = tempdir().unwrap();
        let at = directory.path();
        let mut run = vec!["run", word, "--keep", "all", "-q", "--dir", "run"];
        run.extend(labels.iter().flat_map(|&labels| ["--labels", labels]));
        run.extend(options);
        printed(&run, at);
        let has_table = !options.contains(&"lists");
        printed(&["table", "run", "-o", "table"], at);
        for (depth, layer) in layers.iter().enumerate() {
            let depth_text = depth.to_string();
            let lines = printed(&["export", "run", "--depth", &depth_text, "--format", "jsonl"], at);
            let states: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let number = |value: &Value| value.as_u64().unwrap() as u16;
            let exported: HashSet<State> = states
                .iter()
                .map(|state| {
                    let labels = state["labels"].as_array().unwrap().iter().map(number);
                    match &state["orientations"] {
                        Value::Array(turns) => labels.zip(turns.iter().map(number)).collect(),
                        _ => labels.map(|label| (label, 0)).collect(),
                    }
                })
                .collect();
            assert_eq!((states.len(), &exported), (layer.len(), layer), "{word} {options:?}, depth {depth}");
            let text = printed(&["export", "run", "--depth", &depth_text], at);
            assert_eq!(distances("run", &text, at), vec![depth_text.clone(); layer.len()], "{word}");
            if has_table {
                assert_eq!(distances("table", &text, at), vec![depth_text.clone(); layer.len()], "{word}");
            }
            let limited = printed(&["export", "run", "--depth", &depth_text, "--limit", "1"], at);
            assert_eq!(limited.lines().next(), text.lines().next());
        }
    }
}

/// Every arrangement of the pieces has its distance, or none: stickers that pieces keep together, and a group that few
/// pieces determine (PSL(2, 5) on six points).
#[test]
fn arrangements_out_of_reach_have_no_distance() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    let stickers = "A = \"(1,2,3)\"\nB = \"(1,4)(2,5)(3,6)\"\n[solved]\nlabels = [0, 1, 1, 0, 1, 1]\n";
    let torn = "A = \"(1,2,3)(4,6,5)\"\nB = \"(1,4)(2,5)(3,6)\"\n";
    let projective = "A = \"(1,2,3,4,5)\"\nB = \"(1,6)(2,5)\"\n";
    for (name, moves, reached) in
        [("stickers", stickers, 9), ("torn", torn, 6), ("projective", projective, 60)]
    {
        let file = format!("{name}.toml");
        fs::write(at.join(&file), format!("name = \"{name}\"\ndegree = 6\n[moves]\n{moves}")).unwrap();
        let source = PuzzleSpec::by_name(at.join(&file).to_str().unwrap()).unwrap();
        let labels = Labels::from_values(source.solved());
        let layers = growth(&SpaceSpec { metric: Metric::Single, source, labels: labels.clone() });
        assert_eq!(layers.iter().map(HashSet::len).sum::<usize>(), reached, "{name}");
        let mut arrangements = vec![Vec::new()];
        for _ in 0..6 {
            let longer = |tiles: &Vec<u16>| {
                let unused = (0..6).filter(|tile| !tiles.contains(tile)).collect::<Vec<_>>();
                unused.into_iter().map(|tile| [&tiles[..], &[tile]].concat()).collect::<Vec<_>>()
            };
            arrangements = arrangements.iter().flat_map(longer).collect();
        }
        let written =
            |tiles: &Vec<u16>| tiles.iter().map(u16::to_string).collect::<Vec<_>>().join(" ") + "\n";
        fs::write(at.join("states"), arrangements.iter().map(written).collect::<String>()).unwrap();
        for engine in ["cosets", "lists"] {
            let run = [
                "run", &file, "--metric", "single", "--engine", engine, "--keep", "all", "-q", "--dir", "run",
            ];
            printed(&run, at);
            printed(&["table", "run", "-o", "table", "--force"], at);
            for of in ["run", "table"] {
                let answers = printed(&["distance", of, "states", "--json"], at);
                for (tiles, answer) in arrangements.iter().zip(answers.lines()) {
                    let label = |&tile: &u16| (labels.of_pieces()[usize::from(tile)], 0);
                    let state: State = tiles.iter().map(label).collect();
                    let answer: Value = serde_json::from_str(answer).unwrap();
                    let expected = layers.iter().position(|layer| layer.contains(&state));
                    assert_eq!(
                        answer["distance"].as_u64(),
                        expected.map(|depth| depth as u64),
                        "{name} {state:?}"
                    );
                    assert_eq!(answer["error"].is_string(), expected.is_none(), "{answer}");
                }
            }
            fs::remove_dir_all(at.join("run")).unwrap();
        }
    }
}

/// The file of NumPy has a header of 64 bytes or a multiple, and a byte for each cell.
#[test]
fn arrays_have_the_labels_on_the_cells() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    printed(&["run", "2x3", "--keep", "all", "-q", "--dir", "run"], at);
    let text = printed(&["export", "run", "--depth", "3"], at);
    printed(&["export", "run", "--depth", "3", "--format", "npy", "-o", "3.npy"], at);
    let array = fs::read(at.join("3.npy")).unwrap();
    let (length, states) = (u16::from_le_bytes([array[8], array[9]]) as usize, text.lines().count());
    let header = str::from_utf8(&array[10..10 + length]).unwrap();
    assert!(header.contains(&format!("'shape': ({states}, 6), ")) && header.ends_with('\n'), "{header}");
    assert_eq!((array.len() - 10 - length, (10 + length) % 64), (6 * states, 0));
    let rows: Vec<String> = array[10 + length..]
        .chunks(6)
        .map(|row| row.iter().map(u8::to_string).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(rows, text.lines().collect::<Vec<_>>());
    assert!(
        refused(&["export", "run", "--depth", "3", "--format", "npy", "-o", "3.npy"], at).contains("--force")
    );
    assert!(refused(&["export", "run", "--depth", "99"], at).contains("its last one is"));
    assert_eq!(fs::read_dir(at).unwrap().count(), 2, "no file is left");
}

/// Edges lead from a state to those that its moves reach.
#[test]
fn edges_are_moves() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    printed(&["run", "pancake:4", "--keep", "all", "-q", "--dir", "run"], at);
    let edges = printed(&["export", "run", "--edges"], at);
    let mut to: HashMap<usize, HashSet<usize>> = HashMap::new();
    for line in edges.lines() {
        let ends: Vec<usize> = line.split(' ').take(2).map(|end| end.parse().unwrap()).collect();
        to.entry(ends[0]).or_default().insert(ends[1]);
    }
    assert!(to.len() == 24 && to.values().all(|to| to.len() == 3));
    assert!(to.iter().all(|(from, reached)| reached.iter().all(|other| to[other].contains(from))));
    let graph = printed(&["export", "run", "--edges", "--format", "graphml"], at);
    let graph = roxmltree::Document::parse(&graph).unwrap();
    let number = |name: &str| graph.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!((number("node"), number("edge")), (24, 72));
}

/// `docs/examples/read_table.py` reads tables by the description of the format alone.
#[test]
fn tables_are_read_by_an_example_in_python() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/read_table.py");
    let directory = tempdir().unwrap();
    let at = directory.path();
    // Entries of four bits, of eight, and turns.
    for word in ["2x3", "coxeter:7", "burnt-pancake:4"] {
        printed(&["run", word, "--keep", "all", "-q", "--dir", "run"], at);
        printed(&["table", "run", "-o", "table", "--force"], at);
        let last =
            json(&fathom().args(["report", "run", "--format", "json"]).current_dir(at).output().unwrap());
        let mut program =
            format!("import sys\nsys.path.insert(0, {:?})\n", Path::new(example).parent().unwrap());
        program += "from read_table import Table\ntable = Table('table')\n";
        for depth in 0..last["counts"].as_array().unwrap().len() {
            let lines = printed(
                &["export", "run", "--depth", &depth.to_string(), "--format", "jsonl", "--limit", "40"],
                at,
            );
            for line in lines.lines() {
                let state: Value = serde_json::from_str(line).unwrap();
                let turns = state["orientations"]
                    .as_array()
                    .map_or("None".into(), |_| state["orientations"].to_string());
                program += &format!("assert table.distance({}, {turns}) == {depth}\n", state["labels"]);
            }
        }
        fs::write(at.join("check.py"), program).unwrap();
        let output = Command::new("python3").arg("-B").arg("check.py").current_dir(at).output().unwrap();
        assert!(output.status.success(), "{word}: {}", texts(&output).1);
        fs::remove_dir_all(at.join("run")).unwrap();
    }
}

/// Another program may ask and wait for each answer.
#[test]
fn distances_are_answered_line_by_line() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    printed(&["run", "2x4", "--keep", "all", "-q", "--dir", "run"], at);
    let mut program = fathom()
        .args(["distance", "run", "--json"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (program.stdin.take().unwrap(), BufReader::new(program.stdout.take().unwrap()));
    let mut ask = |line: &str| {
        writeln!(to, "{line}").unwrap();
        let mut answer = String::new();
        from.read_line(&mut answer).unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    assert_eq!(ask("0 1 2 3 4 5 6 7")["distance"], 0);
    assert_eq!(ask("V1 H1")["distance"], 2);
    assert!(ask("0 1")["error"].is_string());
    assert_eq!(ask("V2")["line"], 4);
    drop(to);
    assert!(program.wait().unwrap().success());
    assert!(refused(&["distance", "run", "missing"], at).contains("cannot be read"));
    fs::write(at.join("states"), "V1\nV9\n").unwrap();
    assert!(refused(&["distance", "run", "states"], at).contains("line 2: "));
    printed(&["run", "2x4", "-q", "--dir", "last"], at);
    for command in [&["distance", "last", "states"][..], &["table", "last", "-o", "table"]] {
        assert!(refused(command, at).contains("--keep all"), "{command:?}");
    }
}

/// Tables of fewer labels are lower bounds: the solutions are as short as those of a search from both ends.
#[test]
fn tables_lead_to_shortest_solutions() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    for (name, tracked) in [("a", "0-4"), ("b", "5-8")] {
        printed(&["run", "3x3", "--track", tracked, "--keep", "all", "-q", "--dir", name], at);
        printed(&["table", name, "-o", &format!("{name}.table")], at);
    }
    let mut random = fastrand::Rng::with_seed(56);
    for _ in 0..20 {
        let mut tiles: Vec<usize> = (0..9).collect();
        random.shuffle(&mut tiles);
        let state = tiles.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let solved = |options: &[&str]| {
            let solve = [&["solve", "3x3", &state, "--json", "-q"], options].concat();
            let output = fathom().args(&solve).current_dir(at).output().unwrap();
            (output.status.code() == Some(0)).then(|| json(&output))
        };
        let (by_tables, by_search) = (solved(&["--table", "a.table", "--table", "b.table"]), solved(&[]));
        for field in ["distance", "solutions"] {
            let of = |found: &Option<Value>| found.as_ref().map(|found| found[field].clone());
            assert_eq!(of(&by_tables), of(&by_search), "{state}");
        }
        assert!(by_tables.is_none_or(|found| found["more"].is_null()));
    }
    let other = refused(&["solve", "3x4", "V1", "--scramble", "--table", "a.table"], at);
    assert!(other.contains("the table is of 3x3"), "{other}");
    // Where pieces look alike, the group does not say which states moves reach: a table of all that is seen does.
    printed(&["run", "necklace:8,3", "--keep", "all", "-q", "--dir", "beads"], at);
    printed(&["table", "beads", "-o", "beads.table"], at);
    let solved = |options: &[&str]| {
        let solve =
            [&["solve", "necklace:8,3", "L L X R X L L X", "--scramble", "--json", "-q"], options].concat();
        json(&fathom().args(&solve).current_dir(at).output().unwrap())
    };
    assert_eq!(solved(&["--table", "beads.table"])["solutions"], solved(&[])["solutions"]);
    // A state may be given by the labels that the run has on the cells.
    let state = printed(&["export", "beads", "--depth", "4", "--limit", "1", "--format", "jsonl"], at);
    let labels = serde_json::from_str::<Value>(&state).unwrap()["labels"].to_string();
    assert!(printed(&["solve", "beads", &labels], at).starts_with("distance: 4\n"), "{labels}");
    let no = refused(
        &["solve", "3x3", "--labels", "0,1,2,3,4,5,6,7,7", "V1", "--scramble", "--table", "a.table"],
        at,
    );
    assert!(no.contains("other labels"), "{no}");
    let mut damaged = fs::read(at.join("a.table")).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(at.join("a.table"), damaged).unwrap();
    let solve = ["solve", "3x3", "V1", "--scramble", "--table", "a.table"];
    let output = fathom().args(solve).current_dir(at).output().unwrap();
    assert!(texts(&output).1.contains("damaged"), "{}", texts(&output).1);
}

/// `solve --states` answers each line as `solve` answers a state, by search, by layers and by a table.
#[test]
fn solutions_of_many_states_are_those_of_each() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    printed(&["run", "2x4", "--keep", "all", "-q", "--dir", "run"], at);
    printed(&["table", "run", "-o", "table"], at);
    let scrambles = ["V1", "V1 H1 V2 H2", "H1 V1 H2 V3 H1^2 V1 V4", "V1 V1'"];
    fs::write(at.join("states"), scrambles.join("\n") + "\n").unwrap();
    for of in [&["2x4"][..], &["run"], &["2x4", "--table", "table"]] {
        let many = [&["solve"][..], of, &["--scramble", "--states", "states"]].concat();
        let lines = printed(&many, at);
        let objects = printed(&[&many[..], &["--json"]].concat(), at);
        assert_eq!((lines.lines().count(), objects.lines().count()), (4, 4));
        for (number, scramble) in scrambles.iter().enumerate() {
            let one = [&["solve"][..], of, &[scramble, "--scramble", "--json"]].concat();
            let mut one = json(&fathom().args(one).current_dir(at).output().unwrap());
            let (line, object) = (lines.lines().nth(number).unwrap(), objects.lines().nth(number).unwrap());
            let (distance, solution) = line.split_once('\t').unwrap();
            assert_eq!(one["distance"].to_string(), distance);
            assert_eq!(one["solutions"][0].as_str().unwrap(), solution);
            one["line"] = (number + 1).into();
            assert_eq!(serde_json::from_str::<Value>(object).unwrap(), one);
        }
    }
    fs::write(at.join("states"), "V1\nX\nV2\n").unwrap();
    let many = ["solve", "2x4", "--scramble", "--states", "states"];
    let error = refused(&many, at);
    assert!(error.contains("line 2") && error.contains('X'), "{error}");
    let objects = printed(&[&many[..], &["--json"]].concat(), at);
    let objects: Vec<Value> = objects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(objects[1]["error"].as_str().unwrap().contains('X'));
    assert_eq!((&objects[2]["line"], &objects[2]["distance"]), (&3.into(), &1.into()));
}

/// Without all layers, states come first, and then their solutions, the same as from layers.
#[test]
fn antipodes_come_before_their_solutions() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    for (dir, keep) in [("all", "all"), ("last", "last")] {
        printed(&["run", "2x4", "--keep", keep, "-q", "--dir", dir], at);
    }
    let all = json(&fathom().args(["antipodes", "all", "--json"]).current_dir(at).output().unwrap());
    let text = printed(&["antipodes", "last"], at);
    let (states, solutions) = text.split_once("class  solution").unwrap();
    let solutions: Vec<&str> = solutions.lines().skip(1).collect();
    let representatives = all["representatives"].as_array().unwrap();
    assert_eq!(solutions.len(), representatives.len());
    for (number, (told, line)) in representatives.iter().zip(solutions).enumerate() {
        assert!(states.contains(told["state"].as_str().unwrap()));
        let (class, moves) = line.trim().split_once(' ').unwrap();
        assert_eq!(class, (number + 1).to_string());
        let solved = json(
            &fathom()
                .args(["solve", "all", told["state"].as_str().unwrap(), "--all", "--json", "--limit", "1000"])
                .current_dir(at)
                .output()
                .unwrap(),
        );
        assert!(solved["solutions"].as_array().unwrap().contains(&moves.trim().into()), "{line}");
    }
}

/// Definitions that are written for other programs are read back with the same growth.
#[test]
fn written_definitions_are_read_back() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    let counts = |puzzle: &str, metric: &str| {
        let run = ["run", puzzle, "--metric", metric, "--json", "-q", "--dir", "run"];
        let found = json(&fathom().args(run).current_dir(at).output().unwrap())["counts"].clone();
        fs::remove_dir_all(at.join("run")).unwrap();
        found
    };
    for (word, metric, formats) in [
        ("ivy", "multi", &["toml", "gap", "json", "tws", "kpuzzle.json"][..]),
        ("burnt-pancake:4", "given", &["toml", "gap", "json", "tws", "kpuzzle.json"]),
        ("2x3", "single", &["toml", "gap", "json", "tws", "kpuzzle.json"]),
        ("necklace:7,3", "given", &["toml", "gap", "tws", "kpuzzle.json"]),
        ("sliding:2x3", "given", &["toml"]),
    ] {
        for format in formats {
            let file = format!("puzzle.{format}");
            let option = format.split('.').next().unwrap();
            fs::write(at.join(&file), printed(&["definition", word, "--format", option], at)).unwrap();
            assert_eq!(counts(&file, metric), counts(word, metric), "{word} {format}");
        }
    }
    // GAP has a function X, and takes no other value for it.
    let gap = printed(&["definition", "lrx:5", "--format", "gap"], at);
    assert!(gap.contains("g3 := (1,2);") && gap.contains("Group(L, R, g3)"), "{gap}");
    let no = refused(&["definition", "sliding:2x3", "--format", "gap"], at);
    assert!(no.contains("possible only in some states"), "{no}");
    let no = refused(&["definition", "necklace:7,3", "--format", "json"], at);
    assert!(no.contains("look alike"), "{no}");
}

/// A board of 2 x 3 has its four reflections, and the exchange of neighbouring columns does not change its moves either.
#[test]
fn symmetries_map_moves_to_moves() {
    let directory = tempdir().unwrap();
    let told = json(&fathom().args(["symmetries", "2x3", "--json"]).output().unwrap());
    let group = json(&fathom().args(["group", "2x3", "--json"]).output().unwrap());
    let numbers = |list: &Value| -> Vec<usize> {
        list.as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as usize).collect()
    };
    let moves: HashSet<Vec<usize>> =
        group["generators"].as_array().unwrap().iter().map(|mv| numbers(&mv["images"])).collect();
    let symmetries = told["symmetries"].as_array().unwrap();
    assert_eq!(symmetries.len(), 12);
    for symmetry in symmetries {
        let to = numbers(&symmetry["cells"]);
        for mv in &moves {
            let mut renamed = vec![0; mv.len()];
            mv.iter().enumerate().for_each(|(from, &image)| renamed[to[from]] = to[image]);
            // The generators of a group need no inverses.
            let mut inverse = renamed.clone();
            renamed.iter().enumerate().for_each(|(from, &image)| inverse[image] = from);
            assert!(moves.contains(&renamed) || moves.contains(&inverse), "{symmetry}");
        }
    }
    // Random states of a depth are different states of it.
    let at = directory.path();
    printed(&["run", "2x4", "--keep", "all", "-q", "--dir", "run"], at);
    let sample =
        |seed: &str| printed(&["export", "run", "--depth", "6", "--sample", "50", "--seed", seed], at);
    let (one, other) = (sample("1"), sample("2"));
    assert_eq!(one.lines().collect::<HashSet<_>>().len(), 50);
    assert_eq!(distances("run", &one, at), vec!["6"; 50]);
    assert!(one == sample("1") && one != other);
}

/// Results remain when layers are removed: they are verified as far as they go, and compared with tables of others.
#[test]
fn results_without_layers_are_verified_and_compared() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    printed(&["run", "2x4", "-q", "--dir", "one"], at);
    printed(&["run", "2x3", "-q", "--dir", "other"], at);
    printed(&["remove", "one"], at);
    let verified = printed(&["verify", "one"], at);
    assert!(verified.contains("were removed") && verified.contains("40,320"), "{verified}");
    let table = printed(&["report", "one", "--format", "csv"], at);
    fs::write(at.join("one.csv"), &table).unwrap();
    printed(&["compare", "one", "one.csv"], at);
    fs::write(at.join("one.csv"), table.replace("\n3,352,", "\n3,353,")).unwrap();
    let compare = |other: &str| fathom().args(["compare", "one", other]).current_dir(at).output().unwrap();
    let (differs, _) = texts(&compare("one.csv"));
    assert!(differs.contains("353") && differs.lines().count() == 2, "{differs}");
    let (spaces, _) = texts(&compare("other"));
    assert!(spaces.contains("2x3") && spaces.lines().count() == 2, "{spaces}");
}
