//! `run.toml`, the definition of a run: what the run enumerates, and how the cosets are cut into shards.

use crate::{Lookback, Makers, RunError};
use fathom_layer::Digest;
use fathom_puzzle::load::{self, Format};
use fathom_puzzle::{Board, Metric, Puzzle, PuzzleSpec, one_way_note};
use fathom_space::counting::Pairs;
use fathom_space::fingerprint::fingerprint;
use fathom_space::{AxisView, Colouring, ColouringError, Labels, Plan, Space};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;

/// The name of the file in a run's directory.
pub const DEFINITION: &str = "run.toml";

/// The format version of `run.toml` that is written, and the newest that is read. The schema of `run.db` has
/// a version of its own.
///
/// Version 3 added axes and the cost model, which Fathom 0.1.0 does not know.
pub const FORMAT: u32 = 3;

/// The author that is written to `run.toml`: the program and its version.
const AUTHOR: &str = concat!("fathom ", env!("CARGO_PKG_VERSION"));

/// What the user asks to enumerate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceSpec {
    /// The puzzle.
    pub source: PuzzleSpec,
    /// The metric.
    pub metric: Metric,
    /// The labels.
    pub labels: Labels,
}

impl SpaceSpec {
    /// Derives the space.
    ///
    /// # Errors
    /// If the puzzle cannot be made, or its states cannot be counted.
    pub fn space(&self) -> Result<Space, RunError> {
        let puzzle = self.source.puzzle(self.metric)?;
        Ok(Space::new(puzzle, self.metric, self.labels.clone())?)
    }

    /// Returns what must be known of results: how the puzzle was read, and that distances are one way if the
    /// moves are not closed under inverses.
    pub fn notes(&self, inverse_closed: bool) -> Vec<String> {
        let one_way = (!inverse_closed).then(one_way_note);
        self.source.remarks().iter().cloned().chain(one_way).collect()
    }

    /// Makes the space with the cells and orientations that the puzzle is given with, as runs have that were
    /// begun before [other pieces](fathom_puzzle::Facelets) were found.
    fn space_as_given(&self) -> Result<Space, RunError> {
        let puzzle = Puzzle { facelets: None, ..self.source.puzzle(self.metric)? };
        Ok(Space::new(puzzle, self.metric, self.labels.clone())?)
    }
}

/// Which layers stay on disk when the search no longer reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The last two layers after a commit; three while a layer is made.
    #[default]
    Last,
    /// The last two layers, even while a layer is made: a shard of the older one is given back as soon as the
    /// only shard that is made from it is finished.
    Two,
    /// All layers, compressed.
    All,
}

impl Keep {
    /// Returns the name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Two => "two",
            Self::All => "all",
        }
    }
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Last, Self::Two, Self::All]
            .into_iter()
            .find(|keep| keep.word() == text)
            .ok_or_else(|| format!("layers to keep are 'last', 'two' or 'all', not {text:?}"))
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Everything that defines a run. It is written once, when the run's directory is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunManifest {
    /// What is enumerated.
    pub spec: SpaceSpec,
    /// The colour of each piece.
    pub colouring: Vec<u8>,
    /// The axes, if they have only the words that moves reach; empty if each colour is an axis of all its
    /// arrangements.
    pub axes: Vec<AxisView>,
    /// The cost model by which colouring and axes were chosen; `None` in runs of version 0.1.0, which did
    /// not record it.
    pub cost_model: Option<String>,
    /// The number of representative cosets.
    pub representative_cosets: u64,
    /// The number of shards.
    pub shards: u32,
    /// The layers that are kept.
    pub keep: Keep,
    /// Whether classes up to inversion are counted as well.
    pub inverse_classes: bool,
    /// The fingerprint of everything on which the numbering of states depends.
    pub fingerprint: Digest,
}

/// The fields of `run.toml`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    written_by: String,
    space: String,
    metric: Metric,
    /// Left out when all pieces differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<u16>>,
    /// The definition of a puzzle that is not a board, in the TOML format of definition files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    puzzle: Option<String>,
    colouring: Vec<u8>,
    /// Left out if each colour is an axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    axes: Vec<String>,
    /// Left out in runs of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_model: Option<String>,
    #[serde(deserialize_with = "positive")]
    representative_cosets: u64,
    #[serde(deserialize_with = "positive")]
    shards: u32,
    keep: Keep,
    #[serde(default)]
    inverse_classes: bool,
    fingerprint: String,
}

/// Reads a number that is not zero.
fn positive<'de, D: Deserializer<'de>, N: Deserialize<'de> + Default + PartialEq>(
    from: D,
) -> Result<N, D::Error> {
    let number = N::deserialize(from)?;
    match number == N::default() {
        true => Err(D::Error::custom("zero, and a number above it is expected")),
        false => Ok(number),
    }
}

/// The one field that decides whether the others are understood.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl RunManifest {
    /// Plans a run. With `None` the number of shards is that for [unknown makers](Makers::unknown). Classes
    /// up to inversion are counted if `inverse_classes` is set, and always if there are inverses and [few
    /// states](Pairs::MOST_STATES_INVERTED).
    ///
    /// # Errors
    /// [`RunError`] if there are fewer cosets than shards, `keep` drops layers that the search reads, or
    /// `inverse_classes` is set and states have no inverses.
    pub fn plan(
        spec: SpaceSpec,
        space: &Space,
        plan: &Plan,
        shards: Option<u32>,
        keep: Keep,
        inverse_classes: bool,
    ) -> Result<Self, RunError> {
        let inverse_classes = match inverse_classes {
            true => {
                let no_inverses = |reason| RunError::NoInverses { space: space.slug(), reason };
                space.has_inverses().map_err(no_inverses)?;
                true
            }
            false => *space.states() <= Pairs::MOST_STATES_INVERTED.into() && space.has_inverses().is_ok(),
        };
        let cosets = plan.representative_cosets;
        let lookback = Lookback::of(space);
        lookback.keep(Some(keep))?;
        let shards = match shards {
            Some(asked) if u64::from(asked) > cosets => {
                return Err(RunError::TooManyShards { space: space.slug(), cosets, asked });
            }
            Some(asked) => asked,
            None => Makers::unknown().shards(plan, lookback),
        };
        Ok(Self {
            spec,
            colouring: plan.colouring.of_pieces().to_vec(),
            axes: plan.colouring.views(),
            cost_model: Some(Plan::COST_MODEL.into()),
            representative_cosets: cosets,
            shards,
            keep,
            inverse_classes,
            fingerprint: Digest(fingerprint(space, &plan.colouring, shards)),
        })
    }

    /// Returns the text of `run.toml`.
    pub fn to_toml(&self) -> String {
        let labels = &self.spec.labels;
        let file = File {
            format: FORMAT,
            written_by: AUTHOR.into(),
            space: self.spec.source.name(),
            metric: self.spec.metric,
            labels: (!labels.are_distinct()).then(|| labels.of_pieces().to_vec()),
            puzzle: match &self.spec.source {
                PuzzleSpec::Board(_) => None,
                PuzzleSpec::Defined(definition) => Some(definition.to_toml()),
            },
            colouring: self.colouring.clone(),
            axes: self.axes.iter().map(AxisView::to_string).collect(),
            cost_model: self.cost_model.clone(),
            representative_cosets: self.representative_cosets,
            shards: self.shards,
            keep: self.keep,
            inverse_classes: self.inverse_classes,
            fingerprint: self.fingerprint.to_string(),
        };
        toml::to_string(&file).expect("numbers, words and lists of numbers are TOML")
    }

    /// Reads the text of `run.toml`.
    ///
    /// # Errors
    /// If the text has a newer format, or is not what [`RunManifest::to_toml`] writes.
    pub fn from_toml(text: &str) -> Result<Self, RunError> {
        let Version { format } = toml::from_str(text).map_err(RunError::NoFormat)?;
        if format > FORMAT {
            return Err(RunError::NewerFormat { found: format });
        }
        let file: File = toml::from_str(text)?;
        let source = match file.puzzle {
            None => PuzzleSpec::Board(file.space.parse::<Board>()?),
            Some(text) => PuzzleSpec::Defined(Box::new(load::parse(&text, Format::Toml, "its puzzle")?)),
        };
        let cells = source.cells();
        if cells > PuzzleSpec::MOST_CELLS {
            return Err(RunError::TooManyCells { cells });
        }
        let labels = match file.labels {
            Some(labels) if labels.len() != cells => {
                let (labels, puzzle) = (labels.len(), source.name());
                return Err(RunError::LabelCount { labels, cells, puzzle });
            }
            Some(labels) => Labels::from_values(labels.into_iter().map(usize::from)),
            None => Labels::distinct(cells),
        };
        let spec = SpaceSpec { source, metric: file.metric, labels };
        let fingerprint = file.fingerprint.parse().map_err(|()| RunError::FingerprintSyntax)?;
        let axes = file.axes.iter().map(|axis| axis.parse()).collect::<Result<Vec<AxisView>, _>>()?;
        Ok(Self {
            spec,
            colouring: file.colouring,
            axes,
            cost_model: file.cost_model,
            representative_cosets: file.representative_cosets,
            shards: file.shards,
            keep: file.keep,
            inverse_classes: file.inverse_classes,
            fingerprint,
        })
    }

    /// Reads `run.toml` in the directory of a run, and checks it.
    ///
    /// # Errors
    /// [`RunError::NoRun`] if there is no `run.toml`; otherwise if the file cannot be used. The error names
    /// the version of Fathom that wrote the file if that is another version.
    pub fn read(run: &Path) -> Result<Self, RunError> {
        let path = run.join(DEFINITION);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(RunError::NoRun { path: run.into(), is_there: run.exists() });
            }
            Err(source) => return Err(RunError::Io { action: "use", path, source }),
            Ok(text) => text,
        };
        Self::from_toml(&text)
            .and_then(|manifest| manifest.check().map(|_| manifest))
            .map_err(|source| match author(&text) {
                Ok(author) if author != AUTHOR && !matches!(source, RunError::NewerFormat { .. }) => {
                    RunError::OtherVersion { author, source: Box::new(source) }
                }
                _ => source,
            })
            .map_err(|source| RunError::Unusable { path, source: Box::new(source) })
    }

    /// Derives the space: with the pieces for which the run was begun, those that were found or those that
    /// the puzzle is given with.
    ///
    /// # Errors
    /// The errors of [`SpaceSpec::space`].
    pub fn space(&self) -> Result<Space, RunError> {
        // Facelets were taken for pieces, whatever the model, until pieces were found; orientations that
        // follow from the rest were kept until the sixth model.
        let space = match self.spec.space()? {
            space if space.has_found_turns() && self.cost_model_number() < 6 => self.spec.space_as_given()?,
            space if self.colouring.len() == space.cells() => space,
            _ => self.spec.space_as_given()?,
        };
        // From the fifth model on, axes of puzzles with several orbits are halved.
        Ok(if self.cost_model_number() < 5 { space.without_joint_parity() } else { space })
    }

    /// Returns the number of the cost model by which the colouring was chosen.
    fn cost_model_number(&self) -> u32 {
        let number = self.cost_model.as_deref().and_then(|model| model.strip_prefix('v')?.parse().ok());
        number.unwrap_or(1)
    }

    /// Returns the colouring, with its axes.
    ///
    /// # Errors
    /// If the colouring does not fit the space.
    pub fn cut(&self, space: &Space) -> Result<Colouring, ColouringError> {
        Colouring::with_axes(&self.colouring, &self.axes, space)
    }

    /// Derives the space and the colouring, and checks that they are those for which the run was begun.
    ///
    /// # Errors
    /// If the manifest contradicts itself or its fingerprint.
    pub fn check(&self) -> Result<(Space, Colouring), RunError> {
        let space = self.space()?;
        let colouring = self.cut(&space)?;
        self.check_cut(&space, &colouring)?;
        Ok((space, colouring))
    }

    /// Checks that an already derived space and a colouring of it are those of the run.
    ///
    /// # Errors
    /// [`RunError::Fingerprint`] if they are not; [`RunError::AllLayersNeeded`] if the run keeps fewer layers
    /// than the search reads.
    pub fn check_cut(&self, space: &Space, colouring: &Colouring) -> Result<(), RunError> {
        Lookback::of(space).keep(Some(self.keep))?;
        let got = Digest(fingerprint(space, colouring, self.shards));
        if got != self.fingerprint {
            let expected = self.fingerprint.to_string();
            return Err(RunError::Fingerprint { expected, got: got.to_string() });
        }
        Ok(())
    }
}

/// Returns the program and version that wrote the `run.toml` in the directory of a run.
///
/// # Errors
/// If the file cannot be read.
pub fn written_by(run: &Path) -> Result<String, RunError> {
    let path = run.join(DEFINITION);
    let text = match std::fs::read_to_string(&path) {
        Err(source) => return Err(RunError::Io { action: "use", path, source }),
        Ok(text) => text,
    };
    author(&text).map_err(|error| RunError::Unusable { path, source: Box::new(error.into()) })
}

fn author(text: &str) -> Result<String, toml::de::Error> {
    /// The one field that is needed.
    #[derive(Deserialize)]
    struct Author {
        written_by: String,
    }
    Ok(toml::from_str::<Author>(text)?.written_by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Geometry;
    use fathom_space::CosetGraph;

    fn manifest(labels: &str) -> RunManifest {
        let board: Board = "3x3".parse().unwrap();
        let labels = Labels::parse_list(labels, 9).unwrap();
        let spec = SpaceSpec { source: PuzzleSpec::Board(board), metric: Metric::Single, labels };
        let space = spec.space().unwrap();
        let plan = Plan::new(&space).unwrap();
        RunManifest::plan(spec, &space, &plan, None, Keep::All, false).unwrap()
    }

    #[test]
    fn run_toml_says_all_that_defines_a_run() {
        for labels in ["0,1,2,3,4,5,6,7,8", "0,0,0,1,1,1,2,2,2"] {
            let manifest = manifest(labels);
            let text = manifest.to_toml();
            let again = RunManifest::from_toml(&text).unwrap();
            assert_eq!(again, manifest);
            for field in ["shards", "representative_cosets"] {
                let (before, number) = text.split_once(&format!("\n{field} = ")).unwrap();
                let after = number.split_once('\n').unwrap().1;
                let none = format!("{before}\n{field} = 0\n{after}");
                let error = RunManifest::from_toml(&none).unwrap_err().to_string();
                assert!(error.contains("zero, and a number above it is expected"), "{error}");
            }
            let (space, colouring) = again.check().unwrap();
            let graph = CosetGraph::build(&space, &colouring).unwrap();
            let geometry = Geometry::of(&again, &space, &colouring).unwrap();
            assert_eq!(geometry.cut.cosets(), graph.len());
        }
    }

    #[test]
    fn run_toml_keeps_axes_of_what_moves_reach() {
        let source = PuzzleSpec::by_name("skewb").unwrap();
        let (metric, labels) = (source.metric(), Labels::from_values(source.solved()));
        let spec = SpaceSpec { source, metric, labels };
        let space = spec.space().unwrap();
        let plan = Plan::new(&space).unwrap();
        let manifest = RunManifest::plan(spec, &space, &plan, None, Keep::Last, false).unwrap();
        assert!(!manifest.axes.is_empty());
        let text = manifest.to_toml();
        let again = RunManifest::from_toml(&text).unwrap();
        assert_eq!(again, manifest);
        let (space, colouring) = again.check().unwrap();
        assert_eq!(colouring.views(), manifest.axes);
        let graph = CosetGraph::build(&space, &colouring).unwrap();
        assert_eq!(u64::from(graph.len()), manifest.representative_cosets);
        let broken = text.replacen("axes = [\"", "axes = [\"x", 1);
        assert!(RunManifest::from_toml(&broken).unwrap_err().to_string().contains("an axis is given as"));
    }

    /// A run that was begun with a cell for each facelet goes on so.
    #[test]
    fn a_run_by_facelets_goes_on_by_facelets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("edges.gap");
        std::fs::write(&path, "Group((1,3,5)(2,4,6), (1,4)(2,3));").unwrap();
        let source = PuzzleSpec::by_name(path.to_str().unwrap()).unwrap();
        let spec = SpaceSpec { source, metric: Metric::Given, labels: Labels::distinct(6) };
        let (by_pieces, by_facelets) = (spec.space().unwrap(), spec.space_as_given().unwrap());
        assert_eq!((by_pieces.cells(), by_facelets.cells()), (3, 6));
        assert_eq!(by_pieces.states(), by_facelets.states());
        for space in [by_pieces, by_facelets] {
            let plan = Plan::new(&space).unwrap();
            let manifest = RunManifest::plan(spec.clone(), &space, &plan, None, Keep::All, false).unwrap();
            let again = RunManifest::from_toml(&manifest.to_toml()).unwrap();
            assert_eq!(again.check().unwrap().0.cells(), space.cells());
        }
    }

    /// The orientation of each piece follows from its cell. A run that was begun with orientations goes on
    /// so.
    #[test]
    fn a_run_with_orientations_that_follow_goes_on_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("turned.toml");
        let text = "name = \"turned\"\norbits = [{ name = \"pieces\", cells = 3, orientations = 2 }]\n[moves]\na = \"(1+1,2+1,3)\"\nb = \"(1,3)\"\n";
        std::fs::write(&path, text).unwrap();
        let source = PuzzleSpec::by_name(path.to_str().unwrap()).unwrap();
        let spec = SpaceSpec { source, metric: Metric::Given, labels: Labels::distinct(3) };
        let (found, given) = (spec.space().unwrap(), spec.space_as_given().unwrap());
        assert_eq!((found.letters().count(), given.letters().count()), (3, 6));
        assert_eq!(found.states(), given.states());
        for (space, model) in [(found, Plan::COST_MODEL), (given, "v5")] {
            let plan = Plan::new(&space).unwrap();
            let planned = RunManifest::plan(spec.clone(), &space, &plan, None, Keep::All, false).unwrap();
            let manifest = RunManifest { cost_model: Some(model.into()), ..planned };
            let again = RunManifest::from_toml(&manifest.to_toml()).unwrap();
            assert_eq!(again.check().unwrap().0.letters().count(), space.letters().count());
        }
    }

    /// Another cost model would choose a different colouring, but the one in the file is used.
    #[test]
    fn what_was_chosen_is_not_chosen_anew() {
        let planned = manifest("0,1,2,3,4,5,6,7,8");
        let (space, _) = planned.check().unwrap();
        // Here each piece has a colour of its own, which no plan of a board chooses.
        let colouring: Vec<u8> = (0..9).collect();
        assert_ne!(planned.colouring, colouring);
        let cut = Colouring::new(&colouring, &space).unwrap();
        let fingerprint = Digest(fingerprint(&space, &cut, planned.shards));
        let cosets = CosetGraph::build(&space, &cut).unwrap().len().into();
        for cost_model in [None, Some("v1".into())] {
            let (colouring, planned) = (colouring.clone(), planned.clone());
            let chosen =
                RunManifest { colouring, cost_model, fingerprint, representative_cosets: cosets, ..planned };
            let again = RunManifest::from_toml(&chosen.to_toml()).unwrap();
            assert_eq!(again, chosen);
            let (space, cut) = again.check().unwrap();
            assert_eq!(cut.of_pieces(), chosen.colouring);
            assert_eq!(u64::from(Geometry::of(&again, &space, &cut).unwrap().cut.cosets()), cosets);
        }
        assert!(planned.to_toml().contains(&format!("cost_model = \"{}\"", Plan::COST_MODEL)));
    }

    /// Corners and edges have one parity. A run that was begun before this halved an axis goes on as it was.
    #[test]
    fn a_run_of_whole_axes_goes_on_so() {
        let source = PuzzleSpec::by_name("3x3x3-positions").unwrap();
        let spec = SpaceSpec { source, metric: Metric::Multi, labels: Labels::distinct(20) };
        let halved = spec.space().unwrap();
        let whole = spec.space().unwrap().without_joint_parity();
        let fills = [(halved, Plan::COST_MODEL), (whole, "v4")].map(|(space, model)| {
            let plan = Plan::outline(&space).unwrap();
            let planned = RunManifest::plan(spec.clone(), &space, &plan, None, Keep::Last, false).unwrap();
            let manifest = RunManifest { cost_model: Some(model.into()), ..planned };
            RunManifest::from_toml(&manifest.to_toml()).unwrap().check().unwrap();
            plan.fill(&space)
        });
        assert!(fills[0] > 0.95 && fills[1] < 0.5, "{fills:?}");
    }

    #[test]
    fn changed_and_newer_files_are_refused() {
        let text = manifest("0,0,0,1,1,1,2,2,2").to_toml();
        let error = |text: &str| {
            let built = RunManifest::from_toml(text).and_then(|manifest| manifest.check().map(|_| ()));
            format!("{:#}", built.unwrap_err())
        };
        assert!(error(&text.replace("\"single\"", "\"double\"")).contains("double"));
        assert!(error(&text.replace("shards = 1", "shards = 2")).contains("it was changed"));
        assert!(error(&text.replace("format = 3", "format = 4")).contains("use a newer version"));
        assert!(error(&text.replace("0, 0, 0", "0, 0")).contains("8 labels for the 9 tiles"), "{text}");
        assert!(error("").contains("format"));
    }
}
