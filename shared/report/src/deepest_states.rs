//! A few states of the last layer, one of each class. If the run is complete, they are antipodes.

use super::Report;
use crate::text::many;
use anyhow::Result;
use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::{Files, LayerRow};
use fathom_engine::run::{Geometry, saved_tables};
use fathom_engine::task::Store;
use fathom_layer::LocalDisk;
use fathom_space::{CosetGraph, CosetId, Space};
use indicatif::HumanCount;
use serde::Serialize;
use std::collections::BTreeMap;

/// The maximum number of states that are shown.
const MOST: usize = 12;

/// States of the last layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deepest {
    /// The depth of the layer.
    pub depth: u32,
    /// One state of each class, in the order of their words.
    pub examples: Vec<Example>,
}

/// A state of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Example {
    /// The label on each cell. The state has the smallest word of its class.
    pub word: Vec<u16>,
    /// The orientation of the piece on each cell, counted from the orientation that the cell has in the
    /// solved state, if pieces have orientations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orientations: Option<Vec<u8>>,
    /// The number of states of the class.
    pub class_states: usize,
    /// A shortest solution, if the program that writes the report has added one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solution: Option<String>,
    /// The word of the state in the space.
    #[serde(skip)]
    pub in_space: Vec<u8>,
}

impl Example {
    /// Formats the content of each cell: a label, followed by `+` and the orientation if that is not 0.
    pub fn cells(&self) -> Vec<String> {
        let turn = |cell: usize| self.orientations.as_ref().map_or(0, |turns| turns[cell]);
        let written = |(cell, label): (usize, &u16)| match turn(cell) {
            0 => label.to_string(),
            turn => format!("{label}+{turn}"),
        };
        self.word.iter().enumerate().map(written).collect()
    }
}

/// Reads the last layer; `None` if there is none or some of its files are missing.
///
/// # Errors
/// If the files of the layer cannot be read, or do not have their digests.
pub fn of(run: &RunDirectory, layer: Option<&LayerRow>) -> Result<Option<Deepest>> {
    let Some((layer, store)) = layer.zip(run.store_path()?) else {
        return Ok(None);
    };
    let definition = &run.manifest;
    // A report needs only the results, even if the disks of the layers are not available.
    let Ok(store) = Store::at(&store, &LocalDisk) else {
        return Ok(None);
    };
    let depth = layer.depth;
    if layer.files == Files::Removed || store.finished_files(depth)? < definition.shards.into() {
        return Ok(None);
    }
    let (space, colouring) = definition.open()?;
    let geometry = Geometry::new(definition, &space, &colouring)?;
    let graph = saved_tables::cosets_for_reading(&run.path, definition.fingerprint, &space, &colouring)?;
    let digests = run.digests(depth)?;
    let most = layer.classes.map_or(MOST, |classes| MOST.min(classes as usize));
    let mut classes = BTreeMap::new();
    'layer: for shard in geometry.cut.ids() {
        let file = store.open_shard(&geometry, depth, shard)?;
        file.check_digest(digests[shard.0 as usize])?;
        for coset in geometry.cut.range(shard) {
            let local = coset - file.identity().first_coset;
            for position in file.coset(local)?.positions() {
                let (word, class_states) = class(&graph, CosetId(coset), position);
                classes.insert(word, class_states);
                if classes.len() == most {
                    break 'layer;
                }
            }
        }
    }
    let given: BTreeMap<u16, u16> = {
        let labels = space.piece_labels().of_pieces().iter().copied();
        labels.zip(space.given_labels().of_pieces().iter().copied()).collect()
    };
    let examples = classes.into_iter().map(|(in_space, class_states)| {
        let pieces = space.pieces(&in_space).into_iter();
        let (word, orientations): (Vec<u16>, Vec<u8>) =
            pieces.map(|(label, turn)| (given[&label], turn)).unzip();
        let orientations = space.has_turns().then_some(orientations);
        Example { orientations, word, class_states, solution: None, in_space }
    });
    Ok(Some(Deepest { depth: depth.0, examples: examples.collect() }))
}

/// Returns a title and two sentences that describe the states.
pub fn caption(report: &Report, deepest: &Deepest) -> (&'static str, String) {
    let summary = &report.summary;
    let title = if summary.complete { "Antipodes" } else { "States at the last known distance" };
    let shown = deepest.examples.len() as u64;
    let last = report.rows.last();
    let states = last.map_or(shown, |row| row.states);
    let what = match last.and_then(|row| row.classes).filter(|_| summary.symmetries > 1) {
        Some(1) => "all states are equivalent under symmetry; here is one".into(),
        Some(all) if all == shown => {
            format!("there are {all} classes up to symmetry; here is one state of each")
        }
        Some(all) => {
            format!(
                "there are {} classes up to symmetry; here are states from {shown} of them",
                HumanCount(all)
            )
        }
        None if states == 1 => "there is 1 state".into(),
        None if states == shown => format!("there are {}", many(states, "state")),
        None => format!("there are {}; here are {shown} of them", many(states, "state")),
    };
    let piece = if summary.labels.is_some() { "the label of the piece" } else { "the piece" };
    let turns = deepest.examples.iter().any(|example| example.orientations.is_some());
    let turned = if turns { ", followed by +1, +2, … if it is turned" } else { "" };
    (
        title,
        format!(
            "At distance {} {what}. A state is written as {piece} on each cell, numbered from 0{turned}.",
            deepest.depth
        ),
    )
}

/// Returns the smallest word of the class of a state, and the number of states of the class.
fn class(graph: &CosetGraph, coset: CosetId, position: u32) -> (Vec<u8>, usize) {
    let word = graph.word_at(coset, position);
    let space: &Space = graph.space();
    let mut images: Vec<Vec<u8>> =
        space.symmetries().iter().map(|symmetry| space.image(symmetry, &word)).collect();
    images.sort_unstable();
    images.dedup();
    (images[0].clone(), images.len() / space.free_order() as usize)
}
