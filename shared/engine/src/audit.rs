//! An audit: checks the layers of a run against properties that every distance must satisfy, with code that
//! shares no kernel, no numbering of cosets and no transform with the search.
//!
//! Module `plain_states` has states as plain words, and applies moves to them one by one. Module `kept_layers` is the
//! interface to the layers of a run; `coset_files` and `list_files` implement it, and find the layers that contain a
//! state in the files of the two engines. Module `distance_laws` has the properties of a state and its neighbours. Random states of a
//! layer are drawn from its files, a random symmetry is applied to each, and from then on they are plain words;
//! module `exhaustive` takes every state. Module `spot_checks` does the same with a few states while a search
//! continues, and module `first_depths` counts the states of the first depths. Random states at large
//! are images of the solved state under uniformly random elements of the puzzle's group (Schreier-Sims).

mod coset_files;
mod distance_laws;
mod exhaustive;
pub(crate) mod first_depths;
mod kept_layers;
mod layer;
mod list_files;
mod plain_states;
pub(crate) mod spot_checks;

pub use coset_files::FinishedLayer;
pub use distance_laws::Contradiction;
pub use layer::{KeptLayer, Place};

use crate::directory::RunDirectory;
use crate::journal::{Files, LayerRow};
use crate::run::{Geometry, ListedSpace, RunManifest, RunSpace};
use anyhow::{Context, Result, anyhow};
use coset_files::CosetFiles;
use fathom_command::bad_input;
use fathom_layer::Disk;
use fathom_puzzle::Puzzle;
use fathom_space::{CosetGraph, Labels, Space};
use kept_layers::KeptLayers;
use list_files::ListFiles;
use plain_states::{Plain, State};
use serde::Serialize;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The significance level of [`Audited::excluded`]: a share of wrong states counts as excluded if a sample
/// without wrong states has at most this probability under it.
const DOUBT: f64 = 0.001;

/// The maximum number of contradictions that are listed; the others are only counted.
const MAX_TOLD: usize = 20;

/// The least number of states that a thread takes at a time.
const CHUNK: u64 = 64;

/// The options of an audit.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of random states of each layer, and of random states at large; `None` for every state of
    /// the space.
    pub samples: Option<u64>,
    /// The seed of the random states.
    pub seed: u64,
    /// The number of threads.
    pub threads: usize,
    /// The memory budget of the tables, in bytes.
    pub memory_bytes: u64,
}

/// The result of an audit.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    /// Whether the finished layers hold every state of the space, by their counts.
    pub complete: bool,
    /// The audited layers, by depth. An audit by samples skips layers that were not kept.
    pub layers: Vec<Audited>,
    /// The random states of the whole space, if any were drawn.
    pub at_large: Option<AtLarge>,
    /// The statements that could not be checked, because layers were not kept or moves have guards.
    pub unchecked: Vec<String>,
    /// Whether every state of the space was checked, and nothing contradicts the run.
    pub proof: bool,
    /// The number of contradictions.
    pub wrong: u64,
    /// The first contradictions.
    pub contradictions: Vec<Contradiction>,
}

/// A layer that was audited.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audited {
    /// The depth.
    pub depth: u32,
    /// The number of states, by the journal.
    pub states: u64,
    /// The number of states that were checked.
    pub checked: u64,
    /// Whether all states were checked, or all stored representatives.
    pub all: bool,
    /// The number of contradictions.
    pub wrong: u64,
    /// The share of wrong states that is excluded at 99.9 %; `None` if a wrong state was found or all were
    /// checked.
    pub excluded: Option<f64>,
}

/// The result for random states of the whole space.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtLarge {
    /// The number of states that were checked.
    pub checked: u64,
    /// The number of those that some kept layer has.
    pub in_layers: u64,
    /// The number of contradictions.
    pub wrong: u64,
    /// The share of wrong states that is excluded at 99.9 %; `None` if a wrong state was found.
    pub excluded: Option<f64>,
}

/// Counts of checked states.
#[derive(Debug, Default)]
struct Tally {
    checked: u64,
    /// By depth: the number of checked states that the layer has.
    by_depth: Vec<u64>,
    wrong: u64,
    contradictions: Vec<Contradiction>,
}

/// Audits the layers that a run has kept in its directory or its shared store.
///
/// # Errors
/// If no layer can be read, all states are asked for and not all layers were kept, the tables exceed
/// `memory_bytes`, or a file is damaged.
pub fn audit(run: &RunDirectory, disk: &dyn Disk, options: Options) -> Result<Audit> {
    match &run.space {
        RunSpace::Cosets(_) => audit_cosets(run, disk, options),
        RunSpace::Lists(space) => audit_lists(run, space, disk, options),
    }
}

fn audit_cosets(run: &RunDirectory, disk: &dyn Disk, options: Options) -> Result<Audit> {
    let mut files = CosetFiles::open(run, options.memory_bytes, disk)?;
    let plain = plain_of(&run.manifest, labels_of(files.graph.space()))?;
    require_all(run, &files.kept(), options)?;
    let twice = files.tabulate(options.memory_bytes)?;
    let kept = files.kept();
    let audit = match options.samples {
        Some(samples) => sampled(&plain, &kept, samples, plain.why_no_group(), options)?,
        None => exhaustive::of_cosets(&plain, &kept, files.graph.space(), options)?,
    };
    let again = |(depth, state)| Contradiction {
        depth: Some(depth),
        state: Plain::written(&state),
        reason: "an earlier layer has it too".into(),
    };
    Ok(concluded(audit, twice.into_iter().map(again).collect(), options))
}

fn audit_lists(run: &RunDirectory, space: &ListedSpace, disk: &dyn Disk, options: Options) -> Result<Audit> {
    let (given, of_pieces) = run.space.labels();
    let plain = plain_of_puzzle(space.puzzle.clone(), (given, &of_pieces));
    let files = ListFiles::open(run, (space, &of_pieces), &plain, disk)?;
    let known = (run.visited()?.is_complete, run.space.lookback());
    let kept = files.kept(known, options.memory_bytes, options.threads);
    require_all(run, &kept, options)?;
    let audit = match options.samples {
        Some(samples) => {
            let why_no_group = match (&space.states, space.puzzle.starts.are_solved_alone()) {
                (_, false) => Some("the group does not say which states the start states reach"),
                (None, _) => Some("it is not known how many there are"),
                (Some(_), true) => plain.why_no_group(),
            };
            sampled(&plain, &kept, samples, why_no_group, options)?
        }
        None => exhaustive::of_lists(&plain, &kept, &files, options)?,
    };
    Ok(concluded(audit, Vec::new(), options))
}

/// Returns the directory with the layers of a run, and its finished layers.
///
/// # Errors
/// If there is no layer to read.
fn finished_layers(run: &RunDirectory) -> Result<(PathBuf, Vec<LayerRow>)> {
    let path = run.path.display();
    let Some(store) = run.store()? else {
        return Err(bad_input!(
            "the layers of the run in {path} are on its workers. While it is served, pass its coordinator as HOST:PORT"
        ));
    };
    let layers = run.visited()?.layers;
    if layers.is_empty() {
        return Err(bad_input!("the run in {path} has no finished layer yet"));
    }
    if layers.iter().all(|layer| layer.files == Files::Removed) {
        return Err(bad_input!("no layers of the run in {path} are left, so there is nothing to audit"));
    }
    Ok((store, layers))
}

/// Checks that all layers are kept if every state is asked for.
fn require_all(run: &RunDirectory, kept: &KeptLayers<'_>, options: Options) -> Result<()> {
    match options.samples.is_some() || kept.has_all(0..=kept.last()) {
        true => Ok(()),
        false => Err(bad_input!(
            "auditing every state needs all layers, but the run in {} keeps only the last two. Use --samples, or start a run with --keep all",
            run.path.display()
        )),
    }
}

/// Audits at least one layer whose files are on other hosts, by random states.
///
/// # Errors
/// If a layer cannot be read.
///
/// # Panics
/// If `options.samples` is `None`, or `layers` is empty.
pub fn audit_far(
    manifest: &RunManifest,
    graph: Arc<CosetGraph>,
    layers: Vec<FinishedLayer>,
    options: Options,
) -> Result<Audit> {
    let samples = options.samples.expect("auditing every state on other hosts takes too long");
    let plain = plain_of(manifest, labels_of(graph.space()))?;
    let files = CosetFiles::far(graph, layers);
    let audit = sampled(&plain, &files.kept(), samples, plain.why_no_group(), options)?;
    Ok(concluded(audit, Vec::new(), options))
}

/// Checks random states of the newest layer and of the one before it against the puzzle's moves, as a search in
/// one process does before it commits its last layer. `layers` has all layers by depth. Returns the number of
/// states that were checked, and the first contradiction.
///
/// # Errors
/// If a layer cannot be read.
///
/// # Panics
/// If there are no layers.
pub fn check_newest(
    manifest: &RunManifest,
    graph: Arc<CosetGraph>,
    layers: Vec<FinishedLayer>,
) -> Result<(u64, Option<Contradiction>)> {
    let plain = plain_of(manifest, labels_of(graph.space()))?;
    let Some(samples) = spot_checks::samples(&plain) else { return Ok((0, None)) };
    let files = CosetFiles::far(graph, layers);
    let kept = files.kept();
    let newest = kept.last();
    // Another check of the same depth draws the same states.
    let mut random = fastrand::Rng::with_seed(newest.into());
    let mut checked = 0;
    for depth in (newest.saturating_sub(1)..=newest).filter(|&depth| kept.has(depth)) {
        let (states, _) = of_layer(&kept, depth, samples, &mut random)?;
        let tally = look(&plain, &kept, 1, states.len() as u64, Some(depth), given(&states))?;
        checked += tally.checked;
        if let Some(contradiction) = tally.contradictions.into_iter().next() {
            return Ok((checked, Some(contradiction)));
        }
    }
    Ok((checked, None))
}

/// Returns the coset graph of a run, built again, and the geometry of its files.
///
/// # Errors
/// If the tables do not fit into `memory_bytes`, or the definition contradicts itself.
pub fn tables_of(definition: &RunManifest, memory_bytes: u64) -> Result<(CosetGraph, Geometry)> {
    crate::coset_graph::within(definition, memory_bytes, |space, colouring| {
        Ok(CosetGraph::build(space, colouring)?)
    })
}

/// Returns the labels of a space as they are given, and those that cells distinguish.
fn labels_of(space: &Space) -> (&Labels, &Labels) {
    (space.given_labels(), space.piece_labels())
}

fn plain_of(manifest: &RunManifest, (given, of_pieces): (&Labels, &Labels)) -> Result<Plain> {
    let puzzle = manifest.spec.source.moves_alone(manifest.spec.metric);
    Ok(plain_of_puzzle(puzzle.map_err(|error| anyhow!(error))?, (given, of_pieces)))
}

fn plain_of_puzzle(mut puzzle: Puzzle, (given, of_pieces): (&Labels, &Labels)) -> Plain {
    puzzle.rule_out_alike(given.of_pieces());
    Plain::new(&puzzle, of_pieces)
}

/// Adds contradictions that were found before all others, and says whether the run is proven.
fn concluded(mut audit: Audit, first: Vec<Contradiction>, options: Options) -> Audit {
    audit.wrong += first.len() as u64;
    audit.contradictions.splice(0..0, first);
    audit.contradictions.truncate(MAX_TOLD);
    audit.proof = options.samples.is_none() && audit.wrong == 0;
    audit
}

/// Checks random states of each layer and, unless there is a reason `why_no_group`, of the whole space.
fn sampled(
    plain: &Plain,
    kept: &KeptLayers<'_>,
    samples: u64,
    why_no_group: Option<&str>,
    options: Options,
) -> Result<Audit> {
    let mut random = fastrand::Rng::with_seed(options.seed);
    let (mut wrong, mut contradictions) = (0, Vec::new());
    let mut layers = Vec::new();
    for depth in kept.depths() {
        let (states, all) = of_layer(kept, depth, samples, &mut random)?;
        let tally = look(plain, kept, options.threads, states.len() as u64, Some(depth), given(&states))?;
        wrong += tally.wrong;
        contradictions.extend(tally.contradictions);
        let excluded = excluded(tally.checked, tally.wrong).filter(|_| !all);
        let states = kept.layers[depth as usize].states;
        layers.push(Audited { depth, states, checked: tally.checked, all, wrong: tally.wrong, excluded });
    }
    let mut unchecked = distance_laws::unchecked(kept);
    let at_large = match (why_no_group, plain.group()) {
        (None, Some(group)) => {
            let states: Vec<State> =
                (0..samples).map(|_| plain.word(&group.element(|length| random.usize(..length)))).collect();
            let tally = look(plain, kept, options.threads, samples, None, given(&states))?;
            wrong += tally.wrong;
            contradictions.extend(tally.contradictions);
            let in_layers = tally.by_depth.iter().sum();
            let excluded = excluded(tally.checked, tally.wrong);
            Some(AtLarge { checked: tally.checked, in_layers, wrong: tally.wrong, excluded })
        }
        (why, _) => {
            unchecked.push(format!("random states at large: {}", why.unwrap_or_default()));
            None
        }
    };
    Ok(Audit { complete: kept.is_complete, layers, at_large, unchecked, proof: false, wrong, contradictions })
}

/// Returns states of a layer, each under a random renaming, and whether they are all the stored states. If the
/// layer stores more than `samples` states, `samples` states are drawn.
fn of_layer(
    kept: &KeptLayers<'_>,
    depth: u32,
    samples: u64,
    random: &mut fastrand::Rng,
) -> Result<(Vec<State>, bool)> {
    let all = kept.layers[depth as usize].stored <= samples;
    let states = kept.files.draw(depth, (!all).then_some(samples), random);
    Ok((states.with_context(|| format!("cannot read the layer of depth {depth}"))?, all))
}

/// Returns a function that takes states from a list.
fn given(states: &[State]) -> impl Fn(Range<u64>) -> Result<Vec<State>> {
    |numbers| Ok(states[numbers.start as usize..numbers.end as usize].to_vec())
}

/// Checks the states `take(0..number)` on `threads` threads, each of which takes some of them at a time. `depth` is
/// the layer from which the states were taken, if they were taken from one.
fn look(
    plain: &Plain,
    kept: &KeptLayers<'_>,
    threads: usize,
    number: u64,
    depth: Option<u32>,
    take: impl Fn(Range<u64>) -> Result<Vec<State>> + Sync,
) -> Result<Tally> {
    let chunk = number.div_ceil(threads.max(1) as u64).clamp(CHUNK, kept.chunk);
    let next = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let all = Mutex::new(Tally { by_depth: vec![0; kept.layers.len()], ..Tally::default() });
    let some = || -> Result<()> {
        let mut mine = Tally { by_depth: vec![0; kept.layers.len()], ..Tally::default() };
        while !failed.load(Ordering::Relaxed) {
            let first = next.fetch_add(chunk, Ordering::Relaxed);
            if first >= number {
                break;
            }
            let states = take(first..(first + chunk).min(number))?;
            let lookup = kept.look_ahead(distance_laws::concerned(plain, &states))?;
            for state in &states {
                let (at, contradiction) = distance_laws::check(plain, &lookup, state, depth)?;
                mine.checked += 1;
                at.into_iter().for_each(|at| mine.by_depth[at as usize] += 1);
                mine.wrong += u64::from(contradiction.is_some());
                mine.contradictions.extend(contradiction.filter(|_| mine.contradictions.len() < MAX_TOLD));
            }
        }
        let mut all = all.lock().expect("no thread panics while it holds the lock");
        all.checked += mine.checked;
        all.wrong += mine.wrong;
        all.by_depth.iter_mut().zip(&mine.by_depth).for_each(|(all, mine)| *all += mine);
        all.contradictions.append(&mut mine.contradictions);
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1))
            .map(|_| scope.spawn(|| some().inspect_err(|_| failed.store(true, Ordering::Relaxed))))
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("an audit does not panic"))
    })?;
    Ok(all.into_inner().expect("no thread panics while it holds the lock"))
}

/// Returns the share p of wrong states for which (1 - p)^`checked` = [`DOUBT`]: with a larger share, a sample
/// of `checked` states without a wrong one is less likely than that. `None` if a state was wrong or none was
/// checked.
fn excluded(checked: u64, wrong: u64) -> Option<f64> {
    (checked > 0 && wrong == 0).then(|| 1.0 - DOUBT.powf(1.0 / checked as f64))
}
