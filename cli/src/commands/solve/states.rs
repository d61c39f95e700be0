//! Reads the states of `fathom solve`, and says why moves do not lead from one to the other.

use crate::arguments::SolveArguments;
use anyhow::{Error, Result};
use fathom_algebra::OrientedPermutation;
use fathom_command::bad_input;
use fathom_engine::run::SpaceSpec;
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

impl<'a> Ends<'a> {
    /// Reads the states of the arguments. Sequences may have moves that `--moves` leaves out.
    pub(super) fn read(args: &'a SolveArguments, model: &SolveModel, spec: &SpaceSpec) -> Result<Self> {
        // A puzzle that cannot be read with all its moves is read with those of the solution.
        let whole = args.space.with_all_moves().ok().flatten().and_then(|whole| {
            let model = SolveModel::new(&whole).ok()?;
            Some((model, whole.source))
        });
        let (model_to_read, source) =
            whole.as_ref().map_or((model, &spec.source), |(model, source)| (model, source));
        // A run has the labels as it numbers them, and no others.
        let of_run = args.space.directory()?.and_then(|_| labels_as_text(&spec.labels));
        let labels = args.space.labels.as_deref().or(of_run.as_deref());
        let form = Form { scramble: args.scramble, from_one: args.from_one, labels };
        let read = |option: &str, text: &str| {
            state(form, text, model_to_read, source).map_err(|error| bad_input!("{option}: {error}"))
        };
        let solved = || Ok(model.product(&[]));
        let (option, from) = match &args.from {
            Some(text) => ("--from", Some(text)),
            None => ("STATE", args.state.as_ref()),
        };
        let ends = Self {
            from: from.map_or_else(solved, |text| read(option, text))?,
            to: args.to.as_ref().map_or_else(solved, |text| read("--to", text))?,
            has_goal: args.to.is_some(),
            text: from.map_or("the solved state", |text| text.trim()),
        };
        if (args.from.is_some() || ends.has_goal) && model.leads(&ends.from, &ends.to, &[]) {
            return Err(bad_input!(
                "--from and --to are the same state, so there is nothing to solve. Give two different states; a state that is not given is the solved one"
            ));
        }
        Ok(ends)
    }

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
