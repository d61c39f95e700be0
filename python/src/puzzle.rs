//! Puzzles, spaces and groups.

use crate::failure::failed;
use anyhow::{Context, Result};
use fathom_algebra::factor::MAX_WORD;
use fathom_algebra::{Factoriser, Group as PermutationGroup, OrientedPermutation, Permutation};
use fathom_begin::SpaceChoice;
use fathom_command::bad_input;
use fathom_engine::membership::why_not;
use fathom_engine::run::SpaceSpec;
use fathom_puzzle::{Definition, Metric, PuzzleSpec, load};
use pyo3::prelude::*;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The name of a move, the images of the cells, and the turns.
type NamedMove = (String, Vec<u16>, Vec<u16>);

/// A puzzle by its name, or by its definition.
#[pyclass(frozen, module = "fathom_search._native")]
#[derive(Clone)]
pub(crate) struct Puzzle {
    word: String,
    given: Option<PuzzleSpec>,
}

#[pymethods]
impl Puzzle {
    /// Returns the puzzle of a name, such as `3x4`, or of a file.
    #[staticmethod]
    fn named(word: String) -> PyResult<Self> {
        let puzzle = Self { word, given: None };
        puzzle.by_name().map_err(failed)?;
        Ok(puzzle)
    }

    /// Returns the puzzle in a file.
    #[staticmethod]
    fn read(path: &str) -> PyResult<Self> {
        let definition = load::load(Path::new(path)).map_err(|error| failed(bad_input!("{error}")))?;
        let given = Some(PuzzleSpec::Defined(Box::new(definition)));
        Ok(Self { word: path.into(), given })
    }

    /// Returns the puzzle of lists of images, which are all of one length.
    #[staticmethod]
    fn of_images(name: &str, moves: Vec<(String, Vec<u16>)>, labels: Option<Vec<u16>>) -> PyResult<Self> {
        let permutations = moves.into_iter().map(|(name, images)| {
            let permutation = Permutation::from_images(images);
            let permutation = permutation.map_err(|error| bad_input!("move {name}: {error}"))?;
            Ok((name, permutation))
        });
        let moves = permutations.collect::<Result<Vec<_>>>().map_err(failed)?;
        Self::of_moves(name, moves, labels).map_err(failed)
    }

    /// Returns the name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.by_name().map_err(failed)?.name())
    }

    /// Returns the number of cells.
    #[getter]
    fn cells(&self) -> PyResult<usize> {
        Ok(self.by_name().map_err(failed)?.cells())
    }

    /// Returns the metric.
    #[getter]
    fn metric(&self) -> PyResult<String> {
        Ok(self.by_name().map_err(failed)?.metric().to_string())
    }

    /// Returns the label of the piece on each cell when the puzzle is solved.
    #[getter]
    fn labels(&self) -> PyResult<Vec<usize>> {
        Ok(self.by_name().map_err(failed)?.solved())
    }

    /// Returns remarks on how the puzzle was read.
    #[getter]
    fn remarks(&self) -> PyResult<Vec<String>> {
        Ok(self.by_name().map_err(failed)?.remarks().to_vec())
    }

    /// Returns the moves of a metric: the name, the images of the cells, and the turns.
    fn moves(&self, metric: Option<&str>) -> PyResult<Vec<NamedMove>> {
        let moves = || -> Result<Vec<_>> {
            let source = self.by_name()?;
            let metric = metric_of(metric)?.unwrap_or(source.metric());
            let definition = source.in_metric(metric).and_then(|source| Ok(source.definition(metric)?));
            let definition = definition.map_err(|error| bad_input!("{error}"))?;
            let generators = definition.generators(definition.metric());
            let generators = generators.map_err(|error| bad_input!("{error}"))?;
            let parts =
                |action: &OrientedPermutation| (action.cells().images().to_vec(), action.turns().to_vec());
            Ok(generators
                .iter()
                .map(|generator| {
                    let (images, turns) = parts(&generator.action);
                    (generator.name.clone(), images, turns)
                })
                .collect())
        };
        moves().map_err(failed)
    }
}

impl Puzzle {
    fn of_moves(name: &str, moves: Vec<(String, Permutation)>, labels: Option<Vec<u16>>) -> Result<Self> {
        let (first, permutation) = moves.first().ok_or_else(|| bad_input!("the puzzle has no moves"))?;
        let cells = permutation.degree();
        if let Some((other, permutation)) = moves.iter().find(|(_, other)| other.degree() != cells) {
            return Err(bad_input!(
                "move {other} has {} images, but {first} has {cells}",
                permutation.degree()
            ));
        }
        let define = || -> Result<Definition, fathom_puzzle::DefinitionError> {
            let mut definition = Definition::of_degree(name, cells)?;
            for (name, permutation) in moves {
                definition.add_move(name, OrientedPermutation::from_cells(permutation))?;
            }
            if let Some(labels) = labels {
                let solved = definition.solved().iter().zip(&labels);
                let mut solved: Vec<_> =
                    solved.map(|(&piece, &label)| fathom_puzzle::Piece { label, ..piece }).collect();
                // A wrong number of labels is refused like a wrong number of pieces.
                solved.extend(labels.iter().skip(cells).map(|&label| fathom_puzzle::Piece {
                    label,
                    orientation: 0,
                    seen: 1,
                }));
                definition.set_solved(&solved)?;
            }
            definition.validated()
        };
        let definition = define().map_err(|error| bad_input!("{error}"))?;
        let given = Some(PuzzleSpec::Defined(Box::new(definition)));
        Ok(Self { word: String::new(), given })
    }

    fn by_name(&self) -> Result<PuzzleSpec> {
        match &self.given {
            Some(given) => Ok(given.clone()),
            None => PuzzleSpec::by_name(&self.word).map_err(|error| bad_input!("{error}")),
        }
    }
}

fn metric_of(metric: Option<&str>) -> Result<Option<Metric>> {
    metric.map(|metric| metric.parse().map_err(|error| bad_input!("metric: {error}"))).transpose()
}

/// The options that choose a space, with the texts of those of `fathom run`.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    metric: Option<String>,
    moves: Option<String>,
    labels: Option<String>,
    track: Option<String>,
    free_rotations: bool,
}

/// Returns a space.
pub(crate) fn space(puzzle: &Puzzle, options: &Options) -> Result<SpaceSpec> {
    if options.labels.is_some() && options.track.is_some() {
        return Err(bad_input!("give labels or track, not both"));
    }
    let choice = SpaceChoice {
        puzzle: if puzzle.given.is_some() { "" } else { &puzzle.word },
        metric: metric_of(options.metric.as_deref())?,
        moves: options.moves.as_deref(),
        labels: options.labels.as_deref(),
        track: options.track.as_deref(),
        free_rotations: options.free_rotations,
        ..SpaceChoice::default()
    };
    match &puzzle.given {
        Some(_) if options.free_rotations => Err(bad_input!("free rotations are for puzzles by their names")),
        Some(given) => choice.of(given.clone()),
        None => choice.of(choice.whole()?),
    }
}

/// A permutation group, and words for its elements.
#[pyclass(frozen, module = "fathom_search._native")]
pub(crate) struct Group {
    group: Arc<PermutationGroup>,
    names: Vec<String>,
    /// Created for the first word.
    factoriser: OnceLock<Factoriser<Arc<PermutationGroup>>>,
}

impl Group {
    fn of(puzzle: &Puzzle) -> Result<Self> {
        const MAX_POINTS: usize = 512;
        let source = puzzle.by_name()?;
        let definition = source.definition(source.metric()).map_err(|error| bad_input!("{error}"))?;
        if definition.is_guarded() {
            return Err(bad_input!(
                "{} has moves that are not possible in every state, so they do not generate a group",
                source.name()
            ));
        }
        let named = definition.moves().iter().chain(definition.free());
        let (names, points): (_, Vec<Permutation>) =
            named.map(|named| (named.name.clone(), named.action.as_points())).unzip();
        let degree = points.first().context("a puzzle without moves")?.degree();
        let group = if degree <= MAX_POINTS {
            PermutationGroup::new(degree, points)
        } else {
            PermutationGroup::of_many_points(degree, points)
                .ok_or_else(|| bad_input!("{} has {degree} points, too many for its group", source.name()))?
        };
        Ok(Self { group: Arc::new(group), names, factoriser: OnceLock::new() })
    }

    fn element(&self, images: Vec<u16>) -> Result<Permutation> {
        let element = Permutation::from_images(images).map_err(|error| bad_input!("{error}"))?;
        if element.degree() != self.group.degree() {
            return Err(bad_input!(
                "a list of {} images; the group permutes {} points",
                element.degree(),
                self.group.degree()
            ));
        }
        Ok(element)
    }

    fn word(&self, element: &Permutation) -> Result<String> {
        let factoriser = self.factoriser.get_or_init(|| Factoriser::new(Arc::clone(&self.group)));
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        match (factoriser.factor(element), why_not(&self.group, element)) {
            (Some(word), _) => Ok(word.written(&names, &names)),
            (None, Some((_, why))) => Err(bad_input!("this permutation is not in the group: {why}")),
            (None, None) => Err(bad_input!(
                "no word of at most {MAX_WORD} moves per point of the base was found for this permutation"
            )),
        }
    }
}

#[pymethods]
impl Group {
    #[new]
    fn new(py: Python<'_>, puzzle: &Puzzle) -> PyResult<Self> {
        py.detach(|| Self::of(puzzle)).map_err(failed)
    }

    /// Returns the order in decimal digits.
    fn order(&self) -> String {
        self.group.order().to_string()
    }

    /// Returns the number of points.
    #[getter]
    fn degree(&self) -> usize {
        self.group.degree()
    }

    /// Returns whether the group contains the permutation with these images.
    fn contains(&self, images: Vec<u16>) -> PyResult<bool> {
        let element = self.element(images).map_err(failed)?;
        Ok(self.group.why_not(&element).is_none())
    }

    /// Returns a word in the moves whose product is the permutation with these images.
    fn factor(&self, py: Python<'_>, images: Vec<u16>) -> PyResult<String> {
        py.detach(|| self.word(&self.element(images)?)).map_err(failed)
    }
}
