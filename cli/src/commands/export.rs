//! `fathom export`.

use crate::arguments::{ExportArguments, ExportFormat};
use anyhow::{Context, Result, ensure};
use fathom_command::{bad_input, shell};
use fathom_engine::directory::RunDirectory;
use fathom_layer::LocalDisk;
use fathom_report::text::many;
use fathom_solve::layer_states::Rows;
use fathom_solve::{LayerDistances, SolveModel, SpaceWords, classes};
use serde_json::json;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The largest number of states that are exported without `--limit`.
const MANY_STATES: u64 = 1_000_000_000;

/// The largest number of states whose edges are exported.
const MOST_NODES: u64 = 1_000_000;

pub(crate) fn export(args: &ExportArguments) -> Result<()> {
    // The run is locked, because a search would delete layers while they are read.
    let run = RunDirectory::open_unchanging(&args.dir)?;
    let model = SolveModel::new(&run.manifest.spec).map_err(|error| bad_input!("{error}"))?;
    let kept = LayerDistances::new(&run, args.memory_bytes(), &LocalDisk)?;
    let kept = kept.ok_or_else(|| {
        bad_input!(
            "the layers of the run in {} are on its workers, which this command cannot read",
            shell::path(&run.path)
        )
    })?;
    let mut states = States {
        rows: rows(&model, &run),
        words: SpaceWords::new(&model, &run.space),
        model: &model,
        run: &run,
        kept,
    };
    let mut write = |out: &mut dyn Write| match args.depth {
        Some(depth) => layer(args, &mut states, depth, out),
        None => edges(args, &mut states, out),
    };
    match &args.output {
        Some(path) => to_file(path, args.force, write),
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            write(&mut out)?;
            out.flush().context("cannot write to standard output")
        }
    }
}

/// Writes a file that appears under its name when it is whole.
pub(crate) fn to_file(
    path: &Path,
    replace: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    if path.exists() && !replace {
        return Err(bad_input!("{} exists. Choose another name, or replace it with --force", path.display()));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("cannot write {}", path.display());
    let file = tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(parent);
    let file = file.map_err(|error| bad_input!("{}: {error}", cannot()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(cannot)?;
    file.as_file().sync_all().with_context(cannot)?;
    let named = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    named.map(drop).map_err(|error| error.error).with_context(cannot)
}

struct States<'a> {
    run: &'a RunDirectory,
    model: &'a SolveModel,
    words: SpaceWords<'a>,
    kept: LayerDistances<'a>,
    rows: Rows,
}

/// Returns the rows of an array, with the labels of the run.
fn rows(model: &SolveModel, run: &RunDirectory) -> Rows {
    let (pieces, labels) = (model.pieces_of_letters(), run.manifest.spec.labels.of_pieces());
    let label = |piece: &Option<(u16, u16)>| piece.map_or(0, |(piece, _)| labels[usize::from(piece)]);
    let turn = |piece: &Option<(u16, u16)>| piece.map_or(0, |(_, turn)| turn as u8);
    Rows {
        cells: model.solved().len(),
        labels: pieces.iter().map(label).collect(),
        turns: model.has_orientations().then(|| pieces.iter().map(turn).collect()),
    }
}

/// Writes the states of a depth.
fn layer(args: &ExportArguments, states: &mut States<'_>, depth: u32, out: &mut dyn Write) -> Result<()> {
    let States { run, model, words, kept, rows } = states;
    let path = shell::path(&run.path);
    let Some(row) = kept.layers().get(depth as usize).cloned() else {
        return Err(bad_input!(
            "the run in {path} has no layer of depth {depth}: its last one is {}",
            kept.layers().len().saturating_sub(1)
        ));
    };
    if !kept.has(depth) {
        return Err(bad_input!(
            "the run in {path} did not keep the layer of depth {depth}, or it was removed. Start a run with --keep all in another directory"
        ));
    }
    let representatives = match args.representatives {
        true => {
            let sizes = (run.space.puzzle().cells, run.space.symmetry_order());
            let found = classes(kept, sizes, depth, args.memory_bytes())?;
            let word = |class: &fathom_solve::Class| {
                words.in_model(&class.word).context("a class has no state of the puzzle")
            };
            Some(found.iter().map(word).collect::<Result<Vec<_>>>()?)
        }
        false => None,
    };
    let there = representatives.as_ref().map_or(row.states, |found| found.len() as u64);
    if there > MANY_STATES && args.limit.is_none() && args.sample.is_none() {
        return Err(bad_input!(
            "depth {depth} has {}. Say how many to export with --limit",
            many(there, "state")
        ));
    }
    let drawn = args.sample.map(|number| Drawn::new(number.min(there), there, args.seed));
    let all =
        drawn.as_ref().map_or(there, |drawn| drawn.numbers.len() as u64).min(args.limit.unwrap_or(u64::MAX));
    let cells = model.solved().len();
    if args.format == ExportFormat::Npy {
        out.write_all(&npy_header(rows, all))?;
    }
    let is_array = args.format == ExportFormat::Npy;
    let form = |words: Vec<u8>| if is_array { rows.written(&words) } else { words };
    // The bytes of a state.
    let of_state = form(model.solved().to_vec()).len();
    let mut left = all;
    let mut drawn = drawn;
    let mut write = |batch: &[u8]| -> Result<bool> {
        let batch = drawn.as_mut().map_or(batch.into(), |drawn| Cow::from(drawn.of(batch, of_state)));
        let here = left.min((batch.len() / of_state) as u64);
        let batch = &batch[..here as usize * of_state];
        match args.format {
            ExportFormat::Npy => out.write_all(batch)?,
            ExportFormat::Text => {
                for word in batch.chunks_exact(cells) {
                    writeln!(out, "{}", model.written_state(&model.element(word)))?;
                }
            }
            ExportFormat::Jsonl => {
                for word in batch.chunks_exact(cells) {
                    writeln!(out, "{}", json(model, rows, word, depth))?;
                }
            }
            ExportFormat::Graphml => return Err(bad_input!("graphml is for --edges")),
        }
        left -= here;
        Ok(left > 0)
    };
    match representatives {
        Some(found) => write(&form(found.concat())).map(drop)?,
        None if all > 0 => kept.each_state(depth, words, &form, &mut write)?,
        None => {}
    }
    ensure!(
        left == 0,
        "depth {depth} has {left} states fewer than run.db says. Run 'fathom verify' to find the fault"
    );
    Ok(())
}

fn json(model: &SolveModel, rows: &Rows, word: &[u8], depth: u32) -> serde_json::Value {
    let labels: Vec<u16> = word.iter().map(|&letter| rows.labels[usize::from(letter)]).collect();
    let mut json =
        json!({ "state": model.written_state(&model.element(word)), "distance": depth, "labels": labels });
    if let Some(turns) = &rows.turns {
        json["orientations"] = word.iter().map(|&letter| turns[usize::from(letter)]).collect();
    }
    json
}

/// The numbers of states that were drawn at random, in the order of the states.
struct Drawn {
    numbers: Vec<u64>,
    /// How many of them were found.
    found: usize,
    /// The number of the next state.
    next: u64,
}

impl Drawn {
    fn new(number: u64, of: u64, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        // R. W. Floyd's sample (J. Bentley, Programming pearls, Communications of the ACM 30, 1987).
        let mut numbers = BTreeSet::new();
        for last in of - number..of {
            let drawn = random.u64(..=last);
            if !numbers.insert(drawn) {
                numbers.insert(last);
            }
        }
        Self { numbers: numbers.into_iter().collect(), found: 0, next: 0 }
    }

    /// Returns those of the next states that were drawn.
    fn of(&mut self, batch: &[u8], of_state: usize) -> Vec<u8> {
        let (begin, end) = (self.next, self.next + (batch.len() / of_state) as u64);
        let mut states = Vec::new();
        while let Some(&number) = self.numbers.get(self.found).filter(|&&number| number < end) {
            let at = (number - begin) as usize * of_state;
            states.extend(&batch[at..at + of_state]);
            self.found += 1;
        }
        self.next = end;
        states
    }
}

/// Returns the header of a file of NumPy, version 1.0, for `states` rows.
fn npy_header(rows: &Rows, states: u64) -> Vec<u8> {
    const ALIGNMENT: usize = 64;
    let kind = if rows.are_bytes() { "|u1" } else { "<u2" };
    let row = if rows.turns.is_some() { format!("2, {}", rows.cells) } else { rows.cells.to_string() };
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({states}, {row}), }}");
    let before = b"\x93NUMPY\x01\x00".len() + 2;
    let padding = (before + header.len() + 1).next_multiple_of(ALIGNMENT) - before - header.len() - 1;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes
}

/// Writes the graph whose nodes are all states and whose edges are moves.
fn edges(args: &ExportArguments, states: &mut States<'_>, out: &mut dyn Write) -> Result<()> {
    let States { run, model, words, kept, .. } = states;
    let path = shell::path(&run.path);
    let depths = kept.layers().len() as u32;
    if depths == 0 || !kept.has_all_to(depths - 1) {
        return Err(bad_input!(
            "the edges lead through all layers, and the run in {path} did not keep them. Start a run with --keep all in another directory"
        ));
    }
    let number: u64 = kept.layers().iter().map(|layer| layer.states).sum();
    if number > MOST_NODES {
        return Err(bad_input!(
            "the graph of {} is too large: edges are exported for at most {}",
            many(number, "state"),
            many(MOST_NODES, "state")
        ));
    }
    let cells = model.solved().len();
    let mut nodes: Vec<(Vec<u8>, u32)> = Vec::new();
    for depth in 0..depths {
        kept.each_state(depth, words, &|words| words, &mut |batch| {
            nodes.extend(batch.chunks_exact(cells).map(|word| (model.reduced(word), depth)));
            Ok(true)
        })?;
    }
    let numbers: HashMap<&[u8], usize> =
        nodes.iter().enumerate().map(|(number, (word, _))| (&**word, number)).collect();
    let name = |mv: usize| model.written(&[mv], 0);
    let each_edge = |found: &mut dyn FnMut(usize, usize, usize) -> io::Result<()>| -> Result<()> {
        let mut image = vec![0; cells];
        for (from, (word, _)) in nodes.iter().enumerate() {
            for mv in 0..model.moves().len() {
                if model.apply(mv, word, &mut image)
                    && let Some(&to) = numbers.get(&*model.reduced(&image))
                {
                    found(from, to, mv)?;
                }
            }
        }
        Ok(())
    };
    let state = |word: &[u8]| model.written_state(&model.element(word));
    match args.format {
        ExportFormat::Text => each_edge(&mut |from, to, mv| writeln!(out, "{from} {to} {}", name(mv))),
        ExportFormat::Jsonl => each_edge(&mut |from, to, mv| {
            writeln!(out, "{}", json!({ "from": from, "to": to, "move": name(mv) }))
        }),
        ExportFormat::Graphml => {
            writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
            writeln!(out, r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">"#)?;
            for (id, of, kind) in
                [("state", "node", "string"), ("distance", "node", "int"), ("move", "edge", "string")]
            {
                writeln!(out, r#"<key id="{id}" for="{of}" attr.name="{id}" attr.type="{kind}"/>"#)?;
            }
            writeln!(out, r#"<graph edgedefault="directed">"#)?;
            for (number, (word, depth)) in nodes.iter().enumerate() {
                writeln!(
                    out,
                    r#"<node id="{number}"><data key="state">{}</data><data key="distance">{depth}</data></node>"#,
                    state(word)
                )?;
            }
            each_edge(&mut |from, to, mv| {
                let name = name(mv).replace('&', "&amp;").replace('<', "&lt;");
                writeln!(out, r#"<edge source="{from}" target="{to}"><data key="move">{name}</data></edge>"#)
            })?;
            writeln!(out, "</graph>\n</graphml>")?;
            Ok(())
        }
        ExportFormat::Npy => Err(bad_input!("--edges has the formats text, jsonl and graphml")),
    }
}
