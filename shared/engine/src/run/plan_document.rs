//! The plan of a run as a document: how the space is encoded and cut into cosets. A plan is made once, and
//! recorded in `run.toml`; opening a run plans nothing and searches for nothing.
//!
//! A plan can also be a file of its own, which `fathom plan --output` writes and `fathom run --plan` reads,
//! so that two machines or two versions search a space in the same way and end with the same digest.
//!
//! Whatever is not recorded follows from the recorded data by a rule. A rule that other versions could change
//! is recorded by its name: the numbering of cosets. The fingerprint covers the result: cells, moves, labels,
//! symmetries, colours, axes, and whether the last axis is halved.

use crate::run::{AUTHOR, FORMAT, RunError, SpaceSpec};
use fathom_layer::Digest;
use fathom_puzzle::load::{self, Format};
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::fingerprint::fingerprint;
use fathom_space::{AxisView, Colouring, ColouringError, CosetGraph, Encoding, Labels, Plan, Space};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::Path;

/// How the cosets are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// By the rank of the representative's pattern.
    Rank,
    /// By the representative's pattern, symbol by symbol.
    Symbols,
}

impl Numbering {
    fn new(space: &Space, colouring: &Colouring) -> Self {
        if CosetGraph::has_ranks(space, colouring) { Self::Rank } else { Self::Symbols }
    }
}

/// Digests as hexadecimal digits.
pub(super) mod digits {
    use fathom_layer::Digest;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::run) fn serialize<S: Serializer>(digest: &Digest, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(digest)
    }

    pub(in crate::run) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|()| D::Error::custom("a fingerprint has 64 hexadecimal digits"))
    }
}

/// A plan, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanDocument {
    /// The hash of everything on which the addresses of states depend, in hexadecimal digits.
    #[serde(with = "digits")]
    pub fingerprint: Digest,
    /// The number of representative cosets.
    #[serde(deserialize_with = "positive")]
    pub cosets: u64,
    /// How they are numbered.
    pub numbering: Numbering,
    /// The colour of each piece.
    pub colouring: Vec<u8>,
    /// The axes, if they have only the words that moves reach; omitted if each colour is an axis of all its
    /// arrangements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<AxisView>,
    /// The reductions and the symmetries of the space.
    pub encoding: Encoding,
}

impl PlanDocument {
    /// Records a plan of a space.
    pub fn new(space: &Space, plan: &Plan) -> Self {
        let colouring = &plan.colouring;
        Self {
            fingerprint: Digest(fingerprint(space, colouring)),
            cosets: plan.representative_cosets,
            numbering: Numbering::new(space, colouring),
            colouring: colouring.of_pieces().to_vec(),
            axes: colouring.views(),
            encoding: space.encoding(),
        }
    }

    /// Builds the space and the colouring. Nothing is planned or searched for.
    ///
    /// # Errors
    /// [`RunError`] if the plan is not one of this puzzle, or contradicts its fingerprint.
    pub fn open(&self, spec: &SpaceSpec) -> Result<(Space, Colouring), RunError> {
        let puzzle = spec.source.unsearched(spec.metric)?;
        let space = Space::open(puzzle, spec.metric, spec.labels.clone(), &self.encoding)?;
        let colouring = self.colouring(&space)?;
        self.check(&space, &colouring)?;
        Ok((space, colouring))
    }

    /// Returns the colouring, with its axes.
    ///
    /// # Errors
    /// If the colouring does not fit the space.
    pub fn colouring(&self, space: &Space) -> Result<Colouring, ColouringError> {
        Colouring::with_axes(&self.colouring, &self.axes, space)
    }

    /// Checks that a space and a colouring are those of the plan.
    ///
    /// # Errors
    /// [`RunError::Fingerprint`] or [`RunError::Numbering`] if they are not.
    pub fn check(&self, space: &Space, colouring: &Colouring) -> Result<(), RunError> {
        let found = Digest(fingerprint(space, colouring));
        if found != self.fingerprint {
            let (expected, got) = (self.fingerprint.to_string(), found.to_string());
            return Err(RunError::Fingerprint { expected, got });
        }
        match Numbering::new(space, colouring) == self.numbering {
            true => Ok(()),
            false => Err(RunError::Numbering),
        }
    }
}

/// The puzzle of a run, as `run.toml` and plan files have it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PuzzleTable {
    name: String,
    metric: Metric,
    /// Omitted when all pieces differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<u16>>,
    /// The definition of a puzzle that is not a board, in the TOML format of definition files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
}

impl PuzzleTable {
    /// Returns what describes a space.
    pub fn new(spec: &SpaceSpec) -> Self {
        Self {
            name: spec.source.name(),
            metric: spec.metric,
            labels: (!spec.labels.are_distinct()).then(|| spec.labels.of_pieces().to_vec()),
            definition: match &spec.source {
                PuzzleSpec::Board(_) => None,
                PuzzleSpec::Defined(definition) => Some(definition.to_toml()),
            },
        }
    }

    /// Returns the space.
    ///
    /// # Errors
    /// If the puzzle cannot be read, or the labels do not fit it.
    pub fn spec(self) -> Result<SpaceSpec, RunError> {
        let source = match self.definition {
            None => PuzzleSpec::Board(self.name.parse::<Board>()?),
            Some(text) => PuzzleSpec::Defined(Box::new(load::parse(&text, Format::Toml, "its puzzle")?)),
        };
        let cells = source.cells();
        let labels = match self.labels {
            Some(labels) if labels.len() != cells => {
                let (labels, puzzle) = (labels.len(), source.name());
                return Err(RunError::LabelCount { labels, cells, puzzle });
            }
            Some(labels) => Labels::from_values(labels.into_iter().map(usize::from)),
            None => Labels::distinct(cells),
        };
        Ok(SpaceSpec { source, metric: self.metric, labels })
    }
}

/// Reads a number that is not zero.
pub(super) fn positive<'de, D: Deserializer<'de>, N: Deserialize<'de> + Default + PartialEq>(
    from: D,
) -> Result<N, D::Error> {
    let number = N::deserialize(from)?;
    match number == N::default() {
        true => Err(D::Error::custom("zero, but a positive number is expected")),
        false => Ok(number),
    }
}

/// Checks that a file has the format that this version reads.
///
/// # Errors
/// [`RunError`] if the file has another format, or none.
pub(super) fn check_format(text: &str) -> Result<(), RunError> {
    /// The fields that decide whether the others are understood.
    #[derive(Deserialize)]
    struct Version {
        format: u32,
        /// Files of versions before 1.0.0 have the colours of pieces at their top.
        colouring: Option<toml::Value>,
    }
    let Version { format, colouring } = toml::from_str(text).map_err(|_| RunError::NoFormat)?;
    match format {
        _ if colouring.is_some() => Err(RunError::BeforeFirst),
        FORMAT => Ok(()),
        found => Err(RunError::OtherFormat { found }),
    }
}

/// A plan in a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// What is planned.
    pub spec: SpaceSpec,
    /// The plan.
    pub plan: PlanDocument,
}

/// The fields of a plan file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    written_by: String,
    puzzle: PuzzleTable,
    plan: PlanDocument,
}

impl PlanFile {
    /// Returns the text of the file.
    pub fn to_toml(&self) -> String {
        let (format, written_by) = (FORMAT, AUTHOR.into());
        let file = File { format, written_by, puzzle: PuzzleTable::new(&self.spec), plan: self.plan.clone() };
        toml::to_string(&file).expect("numbers, words and lists of numbers are TOML")
    }

    /// Reads a plan file. The `run.toml` of a run is a plan file too.
    ///
    /// # Errors
    /// [`RunError::PlanFile`] if the file cannot be read, has a newer format, or is not what
    /// [`PlanFile::to_toml`] writes.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        let wrong = |source: RunError| RunError::PlanFile { path: path.into(), source: Box::new(source) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| wrong(RunError::Io { action: "read", path: path.into(), source }))?;
        Self::from_toml(&text).map_err(wrong)
    }

    fn from_toml(text: &str) -> Result<Self, RunError> {
        check_format(text)?;
        let File { puzzle, plan, .. } = toml::from_str(text)?;
        Ok(Self { spec: puzzle.spec()?, plan })
    }
}
