//! Reads the states of `fathom solve`, and says why moves do not lead from one to the other.

use crate::arguments::SolveArguments;
use anyhow::{Error, Result};
use fathom_algebra::OrientedPermutation;
use fathom_command::bad_input;
use fathom_engine::run::SpaceSpec;
use fathom_puzzle::PuzzleSpec;
use fathom_solve::reading::{Form, labels_as_text, state};
use fathom_solve::{SearchError, SolveModel};
use indicatif::HumanCount;

/// The states between which a solution leads, each by the element that leads to it from the solved state.
pub(super) struct Ends<'a> {
    pub(super) from: OrientedPermutation,
    pub(super) to: OrientedPermutation,
    /// Whether the goal was given, and is not the solved state by default.
    pub(super) has_goal: bool,
    text: &'a str,
}

/// Reads states.
pub(super) struct Reader<'a> {
    args: &'a SolveArguments,
    model: &'a SolveModel,
    source: &'a PuzzleSpec,
    /// The puzzle with all its moves, if only some are used: sequences may have the others.
    whole: Option<(SolveModel, PuzzleSpec)>,
    /// The labels of a run.
    of_run: Option<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(args: &'a SolveArguments, model: &'a SolveModel, spec: &'a SpaceSpec) -> Result<Self> {
        // A puzzle that cannot be read with all its moves is read with those of the solution.
        let whole = args.space.with_all_moves().ok().flatten().and_then(|whole| {
            let model = SolveModel::new(&whole).ok()?;
            Some((model, whole.source))
        });
        // A run has the labels as it numbers them, and no others.
        let of_run = args.space.directory()?.and_then(|_| labels_as_text(&spec.labels));
        Ok(Self { args, model, source: &spec.source, whole, of_run })
    }

    fn read(&self, option: &str, text: &str) -> Result<OrientedPermutation> {
        let Self { args, model, source, .. } = *self;
        let (model, source) = self.whole.as_ref().map_or((model, source), |(model, source)| (model, source));
        let labels = args.space.labels.as_deref().or(self.of_run.as_deref());
        let form = Form { scramble: args.scramble, from_one: args.from_one, labels };
        state(form, text, model, source).map_err(|error| bad_input!("{option}{error}"))
    }

    /// Reads the states of the arguments.
    pub(super) fn ends(&self) -> Result<Ends<'a>> {
        let Self { args, model, .. } = *self;
        let (option, from) = match &args.from {
            Some(text) => ("--from: ", Some(text)),
            None => ("STATE: ", args.state.as_ref()),
        };
        let ends = self.between(option, from.map(String::as_str))?;
        if (args.from.is_some() || ends.has_goal) && model.leads(&ends.from, &ends.to, &[]) {
            return Err(bad_input!(
                "--from and --to are the same state, so there is nothing to solve. Give two different states; a state that is not given is the solved one"
            ));
        }
        Ok(ends)
    }

    /// Reads a state from a line of a file.
    pub(super) fn line<'t>(&self, text: &'t str) -> Result<Ends<'t>>
    where
        'a: 't,
    {
        self.between("", Some(text))
    }

    fn between<'t>(&self, option: &str, from: Option<&'t str>) -> Result<Ends<'t>> {
        let (args, solved) = (self.args, || Ok(self.model.product(&[])));
        Ok(Ends {
            from: from.map_or_else(solved, |text| self.read(option, text))?,
            to: args.to.as_ref().map_or_else(solved, |text| self.read("--to: ", text))?,
            has_goal: args.to.is_some(),
            text: from.map_or("the solved state", str::trim),
        })
    }
}

impl Ends<'_> {
    /// Returns the state whose solutions are those from one state to the other; `None` if the puzzle is not a
    /// group, and the goal is not the solved state.
    pub(super) fn to_solve(&self, model: &SolveModel) -> Option<OrientedPermutation> {
        match self.has_goal {
            false => Some(self.from.clone()),
            true => model.is_group().then(|| self.to.inverse().then(&self.from)),
        }
    }

    /// Explains why there is no solution. `to_solve` is the state that [`Ends::to_solve`] returns. `None`
    /// means that no reason was found.
    pub(super) fn why_not(
        &self,
        model: &SolveModel,
        to_solve: Option<&OrientedPermutation>,
    ) -> Option<Error> {
        if let Some(state) = to_solve {
            return model.why_not(state).map(|why| self.unreachable(model, &why));
        }
        [("--from", &self.from), ("--to", &self.to)].into_iter().find_map(|(option, state)| {
            let why = model.why_not(state)?;
            Some(bad_input!("{option}: {} cannot reach this state: {why}", model.name()))
        })
    }

    /// Returns the error for states between which no moves lead.
    pub(super) fn unreachable(&self, model: &SolveModel, why: &str) -> Error {
        let name = model.name();
        match self.has_goal {
            false => bad_input!("{name} cannot reach this state: {why}"),
            true => bad_input!(
                "no moves of {name} lead from --from to --to. About the element that would lead there: {why}"
            ),
        }
    }

    /// Returns the error for a search that has visited all states.
    pub(super) fn exhausted(&self, model: &SolveModel, error: &SearchError) -> Error {
        match error {
            SearchError::Unreachable { states } if self.has_goal => bad_input!(
                "no moves of {} lead from --from to --to: the search exhausted all {} states",
                model.name(),
                HumanCount(*states)
            ),
            _ => bad_input!("{}: {error}", model.name()),
        }
    }

    /// Says that the memory does not suffice.
    pub(super) fn too_far(&self) -> String {
        match self.has_goal {
            false => format!("{} is too far from solved", beginning(self.text)),
            true => "these states are too far from each other".into(),
        }
    }
}

/// Returns a text, truncated if it is too long for a message.
fn beginning(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into(),
    }
}
