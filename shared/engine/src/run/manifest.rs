//! `run.toml`, the definition of a run: the space that it enumerates, the plan, and how the cosets are cut
//! into shards.

use crate::run::plan_document::{PlanDocument, PuzzleTable, check_format, positive};
use crate::run::{AUTHOR, DEFINITION, FORMAT, ListPlan, Lookback, Producers};
use crate::run::{RunError, RunPlan, RunSpace, SpaceSpec};
use fathom_layer::Digest;
use fathom_space::counting::Pairs;
use fathom_space::fingerprint::cut_fingerprint;
use fathom_space::{Colouring, Plan, Space};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;

/// The layers that stay on disk when the search no longer reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The last two layers after a commit; three while a layer is computed.
    #[default]
    Last,
    /// The last two layers, even while a layer is computed: a shard of the older one is released as soon as
    /// the only shard that is computed from it is finished.
    Two,
    /// All layers, compressed.
    All,
}

impl Keep {
    /// Returns the name on the command line.
    pub fn as_str(self) -> &'static str {
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
            .find(|keep| keep.as_str() == text)
            .ok_or_else(|| format!("expected 'last', 'two' or 'all', not {text:?}"))
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Lookback {
    /// Returns which layers a run keeps if the user asked for `asked`. If all layers are read, all are
    /// kept.
    ///
    /// # Errors
    /// [`RunError::AllLayersNeeded`] if the user asked for fewer layers than are read.
    pub fn keep(self, asked: Option<Keep>) -> Result<Keep, RunError> {
        match (self, asked) {
            (Self::Two, asked) => Ok(asked.unwrap_or_default()),
            (Self::All, None | Some(Keep::All)) => Ok(Keep::All),
            (Self::All, Some(Keep::Last | Keep::Two)) => Err(RunError::AllLayersNeeded),
        }
    }
}

/// Everything that defines a run. It is written once, when the run's directory is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunManifest {
    /// What is enumerated.
    pub spec: SpaceSpec,
    /// How the space is searched.
    pub plan: RunPlan,
    /// The number of shards.
    pub shards: u32,
    /// The layers that are kept.
    pub keep: Keep,
    /// Whether classes up to inversion are counted as well.
    pub inverse_classes: bool,
    /// The fingerprint of everything on which the numbering of states depends: the plan's and the number of
    /// shards.
    pub fingerprint: Digest,
}

/// The fields of `run.toml`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    written_by: String,
    #[serde(deserialize_with = "positive")]
    shards: u32,
    keep: Keep,
    #[serde(default)]
    inverse_classes: bool,
    puzzle: PuzzleTable,
    /// The plan of a run by cosets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan: Option<PlanDocument>,
    /// The plan of a run by lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lists: Option<ListPlan>,
}

impl RunManifest {
    /// The default number of shards of a run by lists. The states of one shard are sorted at once.
    pub const LIST_SHARDS: u32 = 16;

    /// Plans a run. With `None` the number of shards is that for [unknown producers](Producers::unknown).
    /// Classes up to inversion are counted if `inverse_classes` is set, and always if there are inverses and
    /// [few states](Pairs::MAX_STATES_INVERTED).
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
            false => *space.states() <= Pairs::MAX_STATES_INVERTED.into() && space.has_inverses().is_ok(),
        };
        let plan_document = PlanDocument::new(space, plan);
        let cosets = plan.representative_cosets;
        let lookback = Lookback::new(space);
        lookback.keep(Some(keep))?;
        let shards = match shards {
            Some(asked) if u64::from(asked) > cosets => {
                return Err(RunError::TooManyShards { space: space.slug(), cosets, asked });
            }
            Some(asked) => asked,
            None => Producers::unknown().shards(plan, lookback),
        };
        Ok(Self::with_plan(spec, RunPlan::Cosets(plan_document), shards, keep, inverse_classes))
    }

    /// Plans a run by lists of states, of whose layers `keep` are kept.
    ///
    /// # Errors
    /// [`RunError`] if `keep` drops layers that the search reads, or releases shards one by one.
    pub fn plan_lists(
        spec: SpaceSpec,
        space: &RunSpace,
        plan: ListPlan,
        shards: Option<u32>,
        keep: Option<Keep>,
    ) -> Result<Self, RunError> {
        if keep == Some(Keep::Two) {
            return Err(RunError::ListsKeepTwo);
        }
        let keep = space.lookback().keep(keep)?;
        let shards = shards.unwrap_or(Self::LIST_SHARDS);
        Ok(Self::with_plan(spec, RunPlan::Lists(plan), shards, keep, false))
    }

    /// Makes the manifest of a run by a recorded plan.
    fn with_plan(spec: SpaceSpec, plan: RunPlan, shards: u32, keep: Keep, inverse_classes: bool) -> Self {
        let fingerprint = Digest(cut_fingerprint(&plan.fingerprint().0, shards));
        Self { spec, plan, shards, keep, inverse_classes, fingerprint }
    }

    /// Returns the text of `run.toml`.
    pub fn to_toml(&self) -> String {
        let (plan, lists) = match &self.plan {
            RunPlan::Cosets(plan) => (Some(plan.clone()), None),
            RunPlan::Lists(plan) => (None, Some(plan.clone())),
        };
        let file = File {
            format: FORMAT,
            written_by: AUTHOR.into(),
            shards: self.shards,
            keep: self.keep,
            inverse_classes: self.inverse_classes,
            puzzle: PuzzleTable::new(&self.spec),
            plan,
            lists,
        };
        toml::to_string(&file).expect("numbers, words and lists of numbers are TOML")
    }

    /// Reads the text of `run.toml`.
    ///
    /// # Errors
    /// If the text has another format, or is not what [`RunManifest::to_toml`] writes.
    pub fn from_toml(text: &str) -> Result<Self, RunError> {
        check_format(text)?;
        let File { shards, keep, inverse_classes, puzzle, plan, lists, .. } = toml::from_str(text)?;
        let plan = match (plan, lists) {
            (Some(plan), None) => RunPlan::Cosets(plan),
            (None, Some(plan)) => RunPlan::Lists(plan),
            _ => return Err(RunError::NoPlan),
        };
        Ok(Self::with_plan(puzzle.spec()?, plan, shards, keep, inverse_classes))
    }

    /// Reads `run.toml` in the directory of a run, and checks it.
    ///
    /// # Errors
    /// [`RunError::NoRun`] if there is no `run.toml`; otherwise if the file cannot be used. The error names
    /// the version of Fathom that wrote the file if that is another version.
    pub fn read(run: &Path) -> Result<Self, RunError> {
        Ok(Self::read_and_open(run)?.0)
    }

    /// Does the same as [`RunManifest::read`], and returns the space as well.
    ///
    /// # Errors
    /// As for [`RunManifest::read`].
    pub fn read_and_open(run: &Path) -> Result<(Self, RunSpace), RunError> {
        let path = run.join(DEFINITION);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(RunError::NoRun { path: run.into(), is_there: run.exists() });
            }
            Err(source) => return Err(RunError::Io { action: "use", path, source }),
            Ok(text) => text,
        };
        Self::from_toml(&text)
            .and_then(|manifest| manifest.open_space().map(|space| (manifest, space)))
            .map_err(|source| match author(&text) {
                Ok(author)
                    if author != AUTHOR
                        && !matches!(source, RunError::OtherFormat { .. } | RunError::BeforeFirst) =>
                {
                    RunError::OtherVersion { author, source: Box::new(source) }
                }
                _ => source,
            })
            .map_err(|source| RunError::Unusable { path, source: Box::new(source) })
    }

    /// Builds the space from the recorded plan. Nothing is planned or searched for.
    ///
    /// # Errors
    /// If the plan does not fit the puzzle, or the manifest contradicts a fingerprint.
    pub fn open_space(&self) -> Result<RunSpace, RunError> {
        let space = self.plan.open(&self.spec)?;
        space.lookback().keep(Some(self.keep))?;
        Ok(space)
    }

    /// Builds the space and the colouring of a run by cosets from the recorded plan. Nothing is planned or
    /// searched for.
    ///
    /// # Errors
    /// [`RunError::Listed`] if the run lists states, if the plan does not fit the puzzle, or if the manifest
    /// contradicts a fingerprint.
    pub fn open(&self) -> Result<(Space, Colouring), RunError> {
        let (space, colouring) = self.plan.cosets()?.open(&self.spec)?;
        Lookback::new(&space).keep(Some(self.keep))?;
        Ok((space, colouring))
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
    use crate::run::Geometry;
    use fathom_puzzle::{Board, Metric, PuzzleSpec};
    use fathom_space::{CosetGraph, Labels};

    fn manifest(labels: &str) -> RunManifest {
        let board: Board = "3x3".parse().unwrap();
        let labels = Labels::parse_list(labels, 9).unwrap();
        let spec = SpaceSpec { source: PuzzleSpec::Board(board), metric: Metric::Single, labels };
        let space = spec.space().unwrap();
        let plan = Plan::new(&space).unwrap();
        RunManifest::plan(spec, &space, &plan, None, Keep::All, false).unwrap()
    }

    #[test]
    fn layers_that_are_read_are_kept() {
        assert_eq!(Lookback::Two.keep(None).unwrap(), Keep::Last);
        assert_eq!(Lookback::All.keep(None).unwrap(), Keep::All);
        assert_eq!(Lookback::Two.keep(Some(Keep::Two)).unwrap(), Keep::Two);
        for keep in [Keep::Last, Keep::Two] {
            let error = Lookback::All.keep(Some(keep)).unwrap_err().to_string();
            assert!(error.contains("Drop --keep"), "{error}");
        }
    }

    #[test]
    fn run_toml_round_trips() {
        for labels in ["0,1,2,3,4,5,6,7,8", "0,0,0,1,1,1,2,2,2"] {
            let manifest = manifest(labels);
            let text = manifest.to_toml();
            let again = RunManifest::from_toml(&text).unwrap();
            assert_eq!(again, manifest);
            for field in ["shards", "cosets"] {
                let (before, number) = text.split_once(&format!("\n{field} = ")).unwrap();
                let after = number.split_once('\n').unwrap().1;
                let none = format!("{before}\n{field} = 0\n{after}");
                let error = RunManifest::from_toml(&none).unwrap_err().to_string();
                assert!(error.contains("zero, but a positive number is expected"), "{error}");
            }
            let (space, colouring) = again.open().unwrap();
            let graph = CosetGraph::build(&space, &colouring).unwrap();
            let geometry = Geometry::new(&again, &space, &colouring).unwrap();
            assert_eq!(geometry.cut.cosets(), graph.len());
        }
    }

    #[test]
    fn reachable_axes_are_recorded() {
        let source = PuzzleSpec::by_name("skewb").unwrap();
        let (metric, labels) = (source.metric(), Labels::from_values(source.solved()));
        let spec = SpaceSpec { source, metric, labels };
        let space = spec.space().unwrap();
        let plan = Plan::new(&space).unwrap();
        let manifest = RunManifest::plan(spec, &space, &plan, None, Keep::Last, false).unwrap();
        assert!(!manifest.plan.cosets().unwrap().axes.is_empty());
        let text = manifest.to_toml();
        let again = RunManifest::from_toml(&text).unwrap();
        assert_eq!(again, manifest);
        let (space, colouring) = again.open().unwrap();
        assert_eq!(colouring.views(), manifest.plan.cosets().unwrap().axes);
        let graph = CosetGraph::build(&space, &colouring).unwrap();
        assert_eq!(u64::from(graph.len()), manifest.plan.cosets().unwrap().cosets);
        let broken = text.replacen("axes = [\"", "axes = [\"x", 1);
        assert!(RunManifest::from_toml(&broken).unwrap_err().to_string().contains("invalid axis"));
    }

    /// Another planner would choose other colours, but those in the file are used.
    #[test]
    fn recorded_plan_is_reused() {
        let planned = manifest("0,1,2,3,4,5,6,7,8");
        let (space, _) = planned.open().unwrap();
        // Here each piece has a colour of its own, which no plan of a board chooses.
        let colours: Vec<u8> = (0..9).collect();
        assert_ne!(planned.plan.cosets().unwrap().colouring, colours);
        let colouring = Colouring::new(&colours, &space).unwrap();
        let cosets = CosetGraph::build(&space, &colouring).unwrap().len().into();
        let plan = Plan::recorded(&space, colouring, cosets).unwrap();
        let RunManifest { spec, shards, keep, .. } = planned;
        let chosen = RunManifest::plan(spec, &space, &plan, Some(shards), keep, true).unwrap();
        let again = RunManifest::from_toml(&chosen.to_toml()).unwrap();
        assert_eq!(again, chosen);
        let (space, colouring) = again.open().unwrap();
        assert_eq!(colouring.of_pieces(), colours);
        assert_eq!(u64::from(Geometry::new(&again, &space, &colouring).unwrap().cut.cosets()), cosets);
    }

    #[test]
    fn edited_and_foreign_files_are_refused() {
        let text = manifest("0,0,0,1,1,1,2,2,2").to_toml();
        let error = |text: &str| {
            let opened = RunManifest::from_toml(text).and_then(|manifest| manifest.open().map(|_| ()));
            format!("{:#}", opened.unwrap_err())
        };
        assert!(error(&text.replace("\"single\"", "\"double\"")).contains("double"));
        assert!(error(&text.replace("\"3x3\"", "\"1x9\"")).contains("symmetry 2 of the plan"));
        let distinct = manifest("0,1,2,3,4,5,6,7,8").to_toml();
        let first = distinct.find("colouring = [").unwrap() + "colouring = [".len();
        let other = if &distinct[first..=first] == "0" { "1" } else { "0" };
        let edited = format!("{}{other}{}", &distinct[..first], &distinct[first + 1..]);
        assert!(error(&edited).contains("it was edited"), "{}", error(&edited));
        assert!(error(&text.replace("format = 1", "format = 2")).contains("Use the version that wrote it"));
        assert!(error(&format!("colouring = [0]\n{text}")).contains("a version before 1.0.0"));
        assert!(
            error(&text.replace("0, 0, 0, 1", "0, 0, 1")).contains("it has 8 labels, but 3x3 has 9 tiles"),
            "{text}"
        );
        assert!(error("").contains("format"));
    }
}
