//! `fathom export`.

use crate::arguments::{ExportArguments, ExportFormat};
use anyhow::{Context, Result, ensure};
use fathom_command::new_file::to_file;
use fathom_command::{bad_input, shell};
use fathom_engine::directory::RunDirectory;
use fathom_layer::LocalDisk;
use fathom_report::text::many;
use fathom_solve::rows::Rows;
use fathom_solve::solutions::not_kept;
use fathom_solve::{LayerDistances, SolveModel, SpaceWords, StateGraph, classes};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

/// The largest number of states that are exported without `--limit`.
const MANY_STATES: u64 = 1_000_000_000;

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
        rows: Rows::new(&model, &run.manifest.spec.labels),
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

struct States<'a> {
    run: &'a RunDirectory,
    model: &'a SolveModel,
    words: SpaceWords<'a>,
    kept: LayerDistances<'a>,
    rows: Rows,
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
        return Err(not_kept(run, kept.layers(), Some(depth)));
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
    let mut drawn = args.sample.map(|number| Drawn::new(number.min(there), there, args.seed));
    let all =
        drawn.as_ref().map_or(there, |drawn| drawn.numbers.len() as u64).min(args.limit.unwrap_or(u64::MAX));
    let cells = model.solved().len();
    let is_array = args.format == ExportFormat::Npy;
    if is_array {
        out.write_all(&npy_header(rows, all))?;
    }
    let elements = model.elements();
    let written = |word: &[u8]| model.written_state(&elements.of(word));
    let form = |words: Vec<u8>| if is_array { rows.written(&words) } else { words };
    // The bytes of a state.
    let of_state = form(model.solved().to_vec()).len();
    let mut left = all;
    let mut write = |batch: &[u8]| -> Result<bool> {
        let batch = drawn.as_mut().map_or(batch.into(), |drawn| Cow::from(drawn.of(batch, of_state)));
        let here = left.min((batch.len() / of_state) as u64);
        let batch = &batch[..here as usize * of_state];
        match args.format {
            ExportFormat::Npy => out.write_all(batch)?,
            ExportFormat::Text => {
                for word in batch.chunks_exact(cells) {
                    writeln!(out, "{}", written(word))?;
                }
            }
            ExportFormat::Jsonl => {
                for word in batch.chunks_exact(cells) {
                    writeln!(out, "{}", json(written(word), rows, word, depth))?;
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

/// Returns a state, which is also given as text, as an object.
fn json(state: String, rows: &Rows, word: &[u8], depth: u32) -> serde_json::Value {
    let labels: Vec<u16> = word.iter().map(|&letter| rows.labels[usize::from(letter)]).collect();
    let mut json = json!({ "state": state, "distance": depth, "labels": labels });
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
    let graph = StateGraph::new(run, kept, words, model)?;
    let name = |mv: usize| model.written(&[mv], 0);
    let each_edge = |found: &mut dyn FnMut(usize, usize, usize) -> io::Result<()>| {
        graph.each_edge(model, &mut |from, to, mv| Ok(found(from, to, mv)?))
    };
    let elements = model.elements();
    let state = |word: &[u8]| model.written_state(&elements.of(word));
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
            for (number, (word, depth)) in graph.nodes.iter().enumerate() {
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
