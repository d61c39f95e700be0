//! `fathom report`: each format is checked against published numbers, the drawings against a plain search,
//! and the printed command against the run that it came from.

use fathom_engine::run::SpaceSpec;
use fathom_kernel::reference::Distances;
use fathom_puzzle::PuzzleSpec;
use fathom_space::Labels;
use fathom_tests::cluster::Cluster;
use fathom_tests::layers::{damage_at, layer_files};
use fathom_tests::{KnownTable, MEMORY, fathom, json, known_tables, texts};
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Value, json as value};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// OEIS A092113, row 7.
const PANCAKES: [u64; 9] = [1, 6, 30, 149, 543, 1357, 1903, 1016, 35];

/// A run in a directory of its own.
struct Run(TempDir);

impl Run {
    fn new(arguments: &[&str]) -> Self {
        let directory = fathom_tests::tempdir().unwrap();
        let output = fathom()
            .args(["run", "-q", "--dir", "run"])
            .args(arguments)
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", texts(&output).1);
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `fathom report`. Returns the exit code, standard output and standard error.
    fn report(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = fathom().arg("report").args(arguments).current_dir(self.0.path()).output().unwrap();
        let (out, err) = texts(&output);
        (output.status.code(), out, err)
    }

    fn in_format(&self, format: &str) -> String {
        let before = self.files();
        let (code, out, err) = self.report(&["run", "--format", format]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{format}");
        assert!(self.files() == before, "{format} changed the run");
        assert!(out.ends_with('\n') && !out.ends_with("\n\n"));
        out
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.in_format("json")).unwrap()
    }

    /// Returns every file of the run with its contents.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(path: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => walk(&path, found),
                    false => found.push((path.clone(), fs::read(&path).unwrap())),
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.path("run"), &mut found);
        found.sort();
        found
    }
}

/// The board 3x3, from the tables of an independent search.
fn board() -> KnownTable {
    let mut tables = known_tables("boards.json").into_iter();
    tables.find(|table| table.puzzle == "3x3" && table.metric.as_str() == "multi").unwrap()
}

fn xml(text: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the cells of the rows of a table; numbers as digits only.
fn cells(table: Node<'_, '_>) -> Vec<Vec<String>> {
    let body = table.children().find(|node| node.has_tag_name("tbody")).unwrap();
    let rows = body.children().filter(|node| node.has_tag_name("tr"));
    rows.map(|row| row.children().map(|cell| cell.text().unwrap().replace(',', "")).collect()).collect()
}

fn with_class<'a, 'i>(document: &'a Document<'i>, class: &str) -> Vec<Node<'a, 'i>> {
    document.descendants().filter(|node| node.attribute("class") == Some(class)).collect()
}

fn strings(counts: &[u64]) -> Vec<String> {
    counts.iter().map(u64::to_string).collect()
}

#[test]
fn every_format_has_the_published_growth() {
    for (space, counts) in [("pancake:7", &PANCAKES[..]), ("3x3", &board().counts)] {
        let run = Run::new(&[space]);
        let told = run.json();
        assert_eq!(told["counts"], value!(counts));

        let csv = run.in_format("csv");
        let mut csv = csv::Reader::from_reader(csv.as_bytes());
        let header: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(header[..3], ["distance", "states", "classes"]);
        let mut cumulative = 0;
        let all: u64 = counts.iter().sum();
        let rows: Vec<Vec<String>> = csv.deserialize().map(Result::unwrap).collect();
        assert_eq!(rows.len(), counts.len());
        for (depth, row) in rows.iter().enumerate() {
            cumulative += counts[depth];
            assert_eq!(row[..2], [depth.to_string(), counts[depth].to_string()]);
            assert_eq!(row[3].parse::<f64>().unwrap(), counts[depth] as f64 / all as f64);
            assert_eq!(row[4], cumulative.to_string());
            assert_eq!(value!(row[8]), told["layer_digests"][depth]);
            assert_eq!(row[9], told["classes_with_inverse"][depth].to_string());
        }

        let oeis = run.in_format("oeis");
        let terms: Vec<String> =
            counts.iter().enumerate().map(|(depth, count)| format!("{depth} {count}")).collect();
        let lines: Vec<&str> = oeis.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, terms);
        assert!(oeis.contains(&format!("\n# %S {}\n", strings(counts).join(","))), "{oeis}");
        assert!(oeis.contains("\n# %K nonn,fini,full\n# %O 0,2\n"), "{oeis}");

        let latex = run.in_format("latex");
        assert_eq!(latex.matches(r"\\").count(), counts.len() + 1, "{latex}");
        let markdown = run.in_format("md");
        for (depth, count) in counts.iter().enumerate() {
            let row = |text: &str, separator: &str| {
                let line = text.lines().map(|line| line.trim_start_matches("| ").replace([','], ""));
                let mut line = line.map(|line| line.replace(r"\,", ""));
                line.any(|line| line.starts_with(&format!("{depth} {separator} {count} {separator} ")))
            };
            assert!(row(&latex.replace(r"\,", ""), "&"), "{depth}: {latex}");
            assert!(row(&markdown, "|"), "{depth}: {markdown}");
        }

        let html = run.in_format("html");
        let html = xml(&html);
        let table = with_class(&html, "growth");
        let states: Vec<String> = cells(table[0]).into_iter().map(|row| row[1].clone()).collect();
        assert_eq!(states, strings(counts));
    }
}

#[test]
fn json_has_everything_that_run_prints() {
    let run = Run::new(&["3x3"]);
    let told = run.json();
    let output = fathom().args(["run", "3x3", "--json", "-q", "--dir"]).arg(run.path("run")).output();
    for (field, expected) in json(&output.unwrap()).as_object().unwrap() {
        assert_eq!(told[field], *expected, "{field}");
    }
    assert_eq!(value!(board().classes), told["classes"]);
    assert_eq!(told["provenance"]["begun_by"], format!("fathom {}", env!("CARGO_PKG_VERSION")));
    assert_eq!(told["provenance"]["processes"][0]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn bar_heights_match_the_counts() {
    let run = Run::new(&["pancake:7"]);
    let svg = run.in_format("svg");
    let picture = xml(&svg);
    assert_eq!(picture.root_element().tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
    let number = |node: &Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let bars: Vec<_> = picture
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "rect")))
        .filter(|node| node.attribute("fill") == Some("#2563A8"))
        .take(PANCAKES.len())
        .collect();
    let most = PANCAKES.iter().copied().max().unwrap() as f64;
    let highest = bars.iter().map(|bar| number(bar, "height")).fold(0.0, f64::max);
    assert!(highest > 200.0);
    for (bar, &count) in bars.iter().zip(&PANCAKES) {
        let expected = highest * count as f64 / most;
        assert!((number(bar, "height") - expected).abs() <= 2.0, "{count}");
    }
    assert!(bars.windows(2).all(|pair| number(&pair[0], "x") < number(&pair[1], "x")));
    // A page has the same picture.
    assert!(run.in_format("html").contains(svg.trim_end()));
}

#[test]
fn page_is_self_contained() {
    for arguments in [&["3x3"][..], &["pancake:7"], &["3x3", "--max-depth", "4"], &["2x3", "--track", "0-1"]]
    {
        let text = Run::new(arguments).in_format("html");
        let page = xml(&text);
        for node in page.descendants() {
            assert!(!["script", "link", "img", "iframe", "object"].contains(&node.tag_name().name()));
            assert!(node.attributes().all(|attribute| !["src", "href"].contains(&attribute.name())));
        }
        let elsewhere = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        for loads in ["http://", "https://", "url(", "@import"] {
            assert!(!elsewhere.contains(loads), "{loads}");
        }
    }
}

/// A plain search confirms the distance of each drawn state.
#[test]
fn drawn_states_are_antipodes() {
    for known in known_tables("boards.json").into_iter().filter(|table| table.states < 200_000) {
        let run = Run::new(&[&known.puzzle, "--metric", known.metric.as_str()]);
        let space = known.question().space().unwrap();
        let distances = Distances::search(&space, None, MEMORY).unwrap();
        let antipodes: Vec<Vec<u8>> = distances
            .states()
            .filter(|(_, distance)| *distance == known.god_number)
            .map(|(state, _)| state.to_vec())
            .collect();
        let text = run.in_format("html");
        let page = xml(&text);
        let boards = with_class(&page, "board");
        let classes = known.classes.as_ref().map(|classes| classes[known.god_number as usize]).unwrap();
        assert_eq!(boards.len() as u64, classes.min(12), "{} {}", known.puzzle, known.metric);
        for board in boards {
            let tiles: Vec<u8> = board.children().map(|tile| tile.text().unwrap().parse().unwrap()).collect();
            assert!(antipodes.contains(&tiles), "{} {}: {tiles:?}", known.puzzle, known.metric);
        }
        // If all classes are shown, their states are all antipodes.
        let examples = run.json()["deepest"]["examples"].as_array().unwrap().clone();
        if classes <= 12 {
            let states: u64 = examples.iter().map(|example| example["class_states"].as_u64().unwrap()).sum();
            assert_eq!(states, known.counts[known.god_number as usize]);
        }
    }
}

/// Half of the distances are high on the logarithmic scale, where the legend is.
#[test]
fn legend_covers_no_points() {
    let run = Run::new(&["coxeter:10"]);
    let svg = run.in_format("svg");
    let picture = xml(&svg);
    let number = |node: Node, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let legend = picture
        .descendants()
        .filter(|node| node.text().is_some_and(|text| text.trim() == "classes up to symmetry"));
    let legend: Vec<Node> = legend.filter(|node| node.has_tag_name("text")).collect();
    let [words] = legend[..] else { panic!("one legend: {legend:?}") };
    // A character is at most half as wide as the letters are high.
    let (right, bottom) = (number(words, "x") + 22.0 * 7.5, number(words, "y") + 15.0);
    let points: Vec<Node> = picture.descendants().filter(|node| node.has_tag_name("circle")).collect();
    assert_eq!(points.len(), 2 * 46, "10 x 9 / 2 = 45 is the largest distance");
    for point in points {
        let (x, y) = (number(point, "cx"), number(point, "cy"));
        assert!(x > right || y > bottom, "a point at {x}, {y} is under the legend");
    }
}

/// If no distance has more than one state, the axis has no other numbers.
#[test]
fn ticks_between_counts_have_no_labels() {
    let svg = Run::new(&["pancake:4", "--max-depth", "0"]).in_format("svg");
    let picture = xml(&svg);
    let texts = picture.descendants().filter(|node| node.has_tag_name("text"));
    let numbers: Vec<&str> = texts
        .filter_map(|node| node.text())
        .map(str::trim)
        .filter(|text| text.parse::<u64>().is_ok())
        .collect();
    // Distances and states on the linear scale, and on the logarithmic one.
    let count = |number: &str| numbers.iter().filter(|text| **text == number).count();
    assert_eq!((count("0"), count("1"), numbers.len()), (3, 2, 5), "{numbers:?}");
}

/// A format that shows no states needs no layers.
#[test]
fn only_formats_with_states_read_the_last_layer() {
    let run = Run::new(&["3x3"]);
    let formats = ["csv", "oeis", "svg", "latex", "bibtex"];
    let before = formats.map(|format| run.in_format(format));
    let last = layer_files(&run.path("run/layers")).pop().unwrap().2;
    damage_at(&last, 0);
    assert_eq!(formats.map(|format| run.in_format(format)), before);
    for format in ["html", "md", "json"] {
        let (code, _, err) = run.report(&["run", "--format", format]);
        assert!(code == Some(1) && err.contains(last.file_name().unwrap().to_str().unwrap()), "{err}");
    }
}

/// The entry has what `CITATION.cff` asks for.
#[test]
fn bibliographies_name_version_run_and_digest() {
    let run = Run::new(&["3x3"]);
    let entry = run.in_format("bibtex");
    let digest =
        json(&fathom().args(["status", "--json"]).arg(run.path("run")).output().unwrap())["digest"].clone();
    for part in ["@misc{fathom-", "3x3 multi", env!("CARGO_PKG_VERSION"), digest.as_str().unwrap()] {
        assert!(entry.contains(part), "{part}: {entry}");
    }
    assert_eq!(entry.matches('{').count(), entry.matches('}').count());
}

/// Each solution is applied move by move.
#[test]
fn drawn_states_have_shortest_solutions() {
    for options in [&["3x3"][..], &["3x3", "--keep", "all"], &["2x4", "--metric", "single"]] {
        let run = Run::new(options);
        let told = run.json();
        let metric = told["metric"].as_str().unwrap().parse().unwrap();
        let source = PuzzleSpec::by_name(options[0]).unwrap();
        let labels = Labels::from_values(source.solved());
        let space = SpaceSpec { source, metric, labels }.space().unwrap();
        let examples = told["deepest"]["examples"].as_array().unwrap();
        assert!(!examples.is_empty());
        let page = run.in_format("html");
        for example in examples {
            let solution = example["solution"].as_str().unwrap();
            assert!(page.contains(&solution.replace('\'', "&#39;")), "{solution}");
            assert_eq!(solution.split(' ').count() as u64, told["god_number"].as_u64().unwrap());
            let mut word: Vec<u8> = serde_json::from_value(example["word"].clone()).unwrap();
            for name in solution.split(' ') {
                let mv = space.puzzle().moves.iter().position(|m| m.name == name).unwrap();
                let mut image = vec![0; word.len()];
                assert!(space.apply(mv, &word, &mut image));
                word = image;
            }
            assert_eq!(word, space.solved(), "{solution}");
        }
    }
}

/// What an editor of the OEIS would delete is not written.
#[test]
fn oeis_entries_use_readable_names() {
    for (space, name) in [
        ("pancake:5", "Number of stacks of 5 pancakes that need exactly n flips to be sorted, where a flip"),
        (
            "2x3",
            "Number of arrangements of a 2 X 3 board with cyclically rotating rows and columns that need",
        ),
        (
            "pyraminx",
            "Number of positions of the Pyraminx (without the trivial tips) that need exactly n moves",
        ),
    ] {
        let run = Run::new(&[space]);
        let entry = run.in_format("oeis");
        assert!(entry.contains(&format!("\n# %N {name}")), "{entry}");
        let symmetries = run.json()["symmetries"].as_u64().unwrap();
        assert_eq!(entry.contains("# %C Up to symmetry: "), symmetries > 1, "{entry}");
    }
    // All 7! ways to rename the pieces are symmetries, and those that fix a piece are used: they do not merge
    // the 21 exchanges into one class.
    let run = Run::new(&["all-transpositions:7"]);
    let entry = run.in_format("oeis");
    assert!(entry.contains("\n# %C Up to 720 symmetries (there may be more): 1,2,"), "{entry}");
    for format in ["md", "html"] {
        assert!(run.in_format(format).contains("720 (there may be more)"));
    }
    let run = Run::new(&["2x2x2"]);
    let html = run.in_format("html");
    let heading =
        xml(&html).descendants().find(|node| node.has_tag_name("h1")).unwrap().text().unwrap().to_owned();
    assert_eq!(heading, "The pocket cube");
}

#[test]
fn oriented_pieces_are_written_with_their_orientations() {
    let source = PuzzleSpec::by_name("burnt-pancake:4").unwrap();
    let labels = Labels::from_values(source.solved());
    let space = SpaceSpec { metric: source.metric(), source, labels }.space().unwrap();
    let distances = Distances::search(&space, None, MEMORY).unwrap();
    // OEIS A078941: four burnt pancakes take eight flips.
    let last = distances.states().filter(|(_, distance)| *distance == 8);
    let antipodes: Vec<(Vec<u8>, Vec<u8>)> = last
        .map(|(word, _)| {
            let letters = space.symbols();
            let of = |what: &dyn Fn(u8) -> u8| word.iter().map(|&letter| what(letter)).collect();
            (of(&|letter| letters.mark(letter)), of(&|letter| letters.orientation(letter)))
        })
        .collect();
    let run = Run::new(&["burnt-pancake:4"]);
    let told = run.json();
    assert_eq!(told["god_number"], 8);
    let markdown = run.in_format("md");
    let list = |value: &Value| serde_json::from_value::<Vec<u8>>(value.clone()).unwrap();
    let examples = told["deepest"]["examples"].as_array().unwrap();
    assert!(!examples.is_empty());
    for example in examples {
        let (pieces, turns) = (list(&example["word"]), list(&example["orientations"]));
        let cells = pieces.iter().zip(&turns).map(|(piece, turn)| match turn {
            0 => piece.to_string(),
            turn => format!("{piece}+{turn}"),
        });
        let line = cells.collect::<Vec<_>>().join(" ");
        assert!(markdown.contains(&format!("\n- `{line}`, solved by `")), "{line}: {markdown}");
        assert!(antipodes.contains(&(pieces, turns)), "{line}");
    }
}

/// The command in the report is run in an empty directory, and gives the same result.
#[test]
fn reported_command_reproduces_the_run() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/");
    let (pancakes, colours) = (format!("{example}pancake-5.toml"), format!("{example}two-colours.toml"));
    for arguments in [
        &["3x3"][..],
        &["2x4", "--metric", "single", "--shards", "2"],
        &["3x3", "--track", "0-2", "--keep", "all"],
        &["3x3", "--max-depth", "4"],
        &["2x4", "--moves", "V1,H1,H1^3"],
        &["pancake:7"],
        &["topspin:6,4"],
        &["burnt-pancake:4"],
        &[&pancakes],
        &[&colours, "--metric", "single"],
    ] {
        let told = Run::new(arguments).json();
        let provenance = &told["provenance"];
        let again = fathom_tests::tempdir().unwrap();
        if let Some(file) = provenance["definition_file"].as_str() {
            fs::write(again.path().join(file), provenance["definition"].as_str().unwrap()).unwrap();
        }
        let command = provenance["command"].as_str().unwrap().strip_prefix("fathom ").unwrap();
        assert!(!command.contains('\''), "{command}");
        let output = fathom()
            .args(command.split(' '))
            .args(["-q", "--dir", "run"])
            .current_dir(again.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", texts(&output).1);
        let found = Run(again).json();
        assert_eq!(found["digest"], told["digest"], "{command}");
        assert_eq!(found["provenance"]["fingerprint"], provenance["fingerprint"], "{command}");
    }
}

#[test]
fn unfinished_run_is_reported_as_such() {
    let run = Run::new(&["3x3", "--max-depth", "4"]);
    let says = "unfinished: known up to distance 4, 6,053 of 181,440 states";
    assert!(run.in_format("md").contains(says));
    assert!(run.in_format("html").contains(says));
    assert!(run.in_format("html").contains("<dd>at least 5</dd>"));
    assert!(run.in_format("html").contains("States at the last known distance"));
    assert!(run.in_format("latex").contains("God's number: at least 5."));
    assert!(run.in_format("oeis").contains("# %K nonn,fini,more\n"));
    assert!(run.in_format("latex").contains("The 181\\,440 states (not all of which were visited) by"));
    assert_eq!(run.json()["complete"], false);
    // Nothing is known about a run that was stopped before its first layer.
    let database = rusqlite::Connection::open(run.path("run/run.db")).unwrap();
    database.execute_batch("DELETE FROM shard; DELETE FROM layer").unwrap();
    drop(database);
    for format in ["html", "md", "csv", "json", "latex", "oeis", "svg"] {
        run.in_format(format);
    }
    assert!(run.in_format("html").contains("no distance is known yet"));
    let told = run.in_format("json");
    assert!(told.contains("\"seconds\":0.0") && !told.contains("-0.0"), "{told}");
    assert!(!run.json()["provenance"]["command"].as_str().unwrap().contains("--max-depth"));
    let entry = run.in_format("oeis");
    assert!(!entry.contains("Up to ") && !entry.contains(" \n"), "{entry}");
    for (format, says) in [("md", "To repeat the run"), ("html", "To repeat the run")] {
        let page = run.in_format(format);
        assert!(!page.contains("wall time of all layers") && !page.contains(says), "{page}");
    }
}

#[test]
fn layers_elsewhere_or_removed_are_not_drawn() {
    let mut cluster = Cluster::new(&["3x3"], &["--audit", "0"]);
    cluster.serve();
    cluster.join_together(&["w1", "w2"]);
    cluster.finishes();
    let report = |format: &str| {
        let output = fathom().arg("report").arg(cluster.run()).args(["--format", format]).output().unwrap();
        assert!(output.status.success(), "{}", texts(&output).1);
        texts(&output).0
    };
    let told: Value = serde_json::from_str(&report("json")).unwrap();
    assert_eq!((&told["counts"], &told["deepest"]), (&value!(board().counts), &Value::Null));
    assert_eq!(told["provenance"]["workers"].as_array().unwrap().len(), 2);
    assert!(!report("html").contains("Antipodes"));
    let run = Run::new(&["3x3"]);
    fs::remove_dir_all(run.path("run/layers")).unwrap();
    assert_eq!(run.json()["deepest"], Value::Null);
}

/// The edges of a pyraminx never occupy cells of its corners, so equal labels confuse none of them.
#[test]
fn states_have_the_given_labels() {
    let space = ["pyraminx", "--labels", "0,1,2,3,4,5,0,1,2,3"];
    let told = Run::new(&space).json();
    assert_eq!(told["labels"], value!([0, 1, 2, 3, 4, 5, 0, 1, 2, 3]));
    assert_eq!(
        json(&fathom().arg("plan").args(space).arg("--json").output().unwrap())["labels"],
        told["labels"]
    );
    for example in told["deepest"]["examples"].as_array().unwrap() {
        let mut word: Vec<u16> = serde_json::from_value(example["word"].clone()).unwrap();
        let corners = &mut word[6..];
        corners.sort_unstable();
        assert_eq!(corners, [0, 1, 2, 3]);
    }
}

#[test]
fn report_rebuilds_the_coset_tables() {
    let run = Run::new(&["3x4"]);
    fs::remove_file(run.path("run/cosets.bin")).unwrap();
    // Jia, Zhang and Xiang, Table 1, have two states at distance 13.
    assert_eq!(run.json()["deepest"]["examples"][0]["class_states"], 2);
}

#[test]
fn names_are_escaped_in_every_format() {
    let name = r#"<b>&amp; "`x`" $a_1^2$ {\em} %|#~"#;
    let directory = fathom_tests::tempdir().unwrap();
    let file = directory.path().join("puzzle.toml");
    let text = "degree = 3\n[moves]\na = \"(1,2)\"\nb = \"(2,3)\"\n";
    fs::write(&file, format!("name = '{name}'\n{text}")).unwrap();
    let run = Run::new(&[file.to_str().unwrap()]);
    let html = run.in_format("html");
    let page = xml(&html);
    let heading = page.descendants().find(|node| node.has_tag_name("h1")).unwrap();
    assert_eq!(heading.text().unwrap(), format!("{name} given"));
    assert_eq!(with_class(&page, "definition")[0].text().unwrap().lines().count(), 9);
    let markdown = run.in_format("md");
    assert!(
        markdown.starts_with(r##"# \<b\>\&amp; "\`x\`" \$a\_1\^2\$ {\\em} %\|\#\~ given"##),
        "{markdown}"
    );
    let latex = run.in_format("latex");
    assert!(
        latex.contains(r"\$a\_1\textasciicircum{}2\$ \{\textbackslash{}em\} \%\textbar{}\#\textasciitilde{}")
    );
    // A line break in a name would be a separate line among the terms of a sequence.
    fs::write(&file, format!("name = \"two\\n9 9\"\n{text}")).unwrap();
    let output = fathom_tests::fathom().arg("plan").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("contains the character '\\n': use printable characters"), "{error}");
}

#[test]
fn output_file_is_complete_and_never_replaced() {
    let run = Run::new(&["2x3"]);
    let (code, out, err) = run.report(&["run", "--format", "md", "--output", "report.md"]);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read_to_string(run.path("report.md")).unwrap(), run.in_format("md"));
    // A suffix selects the format.
    for (file, format) in
        [("page", "html"), ("page.htm", "html"), ("growth.TEX", "latex"), ("growth.svg", "svg")]
    {
        assert_eq!(run.report(&["run", "--output", file]), (Some(0), String::new(), String::new()), "{file}");
        assert_eq!(fs::read_to_string(run.path(file)).unwrap(), run.in_format(format), "{file}");
    }
    // The report is as readable as any other new file.
    fs::write(run.path("other"), "").unwrap();
    let mode = |name: &str| fs::metadata(run.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("report.md"), mode("other"));
    let entries = || fs::read_dir(run.0.path()).unwrap().count();
    let before = (entries(), run.files());
    for (arguments, says) in [
        (&["run", "--output", "report.md"][..], "report.md already exists; choose another --output"),
        (&["run", "--output", "run"], "run already exists"),
        (
            &["run", "--output", "no/such/report.html"],
            "cannot write no/such/report.html: no such directory no/such",
        ),
        (
            &["run", "--output", "other/report.html"],
            "cannot write other/report.html: other is not a directory",
        ),
        (&["run", "--output", "new/"], "cannot write new/: the name is that of a directory"),
        (
            &["run", "--output", "report.pdf"],
            "report.pdf: expected one of html, md, csv, json, latex, bibtex, oeis, svg, not \"pdf\". Use --format",
        ),
        (&["run", "--output", ""], "a value is required"),
        (
            &["run", "--format", "pdf"],
            "expected one of html, md, csv, json, latex, bibtex, oeis, svg, not \"pdf\"",
        ),
        (&["nowhere"], "nowhere is not a run directory"),
        (&["other"], "other is not a run directory"),
    ] {
        let (code, out, err) = run.report(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(says) && err.matches("error:").count() == 1, "{arguments:?}: {err}");
        assert!((entries(), run.files()) == before, "{arguments:?}");
    }
}
