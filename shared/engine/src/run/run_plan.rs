//! How a run searches: by cosets with a plan, or by lists of states.

use crate::run::plan_document::digits;
use crate::run::run_space::ListedSpace;
use crate::run::{PlanDocument, RunError, RunSpace, SpaceSpec};
use fathom_layer::Digest;
use fathom_lists::list_space;
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

/// How a run searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunPlan {
    /// Cosets are tensors of bits.
    Cosets(PlanDocument),
    /// Layers are lists of states.
    Lists(ListPlan),
}

/// The plan of a search by lists: the packing of states follows from the puzzle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListPlan {
    /// The hash of everything on which the packing of states depends, in hexadecimal digits.
    #[serde(with = "digits")]
    pub fingerprint: Digest,
    /// The number of states in decimal digits, if it was known when the run was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    states: Option<String>,
}

impl ListPlan {
    /// Plans a search of a space.
    pub fn new(space: &ListedSpace) -> Self {
        let states = space.states.as_ref().map(BigUint::to_string);
        Self { fingerprint: list_space::fingerprint(&space.puzzle, &space.labels), states }
    }

    /// Builds the space.
    ///
    /// # Errors
    /// If the puzzle cannot be built, or is not the one that was planned.
    pub fn open(&self, spec: &SpaceSpec) -> Result<ListedSpace, RunError> {
        let states = self.states.as_deref().and_then(|digits| digits.parse().ok());
        let space = ListedSpace::new(spec, states)?;
        let found = Self::new(&space).fingerprint;
        match found == self.fingerprint {
            true => Ok(space),
            false => {
                Err(RunError::Fingerprint { expected: self.fingerprint.to_string(), got: found.to_string() })
            }
        }
    }
}

impl RunPlan {
    /// Returns the plan of cosets.
    ///
    /// # Errors
    /// [`RunError::Listed`] if the run lists states.
    pub fn cosets(&self) -> Result<&PlanDocument, RunError> {
        match self {
            Self::Cosets(plan) => Ok(plan),
            Self::Lists(_) => Err(RunError::Listed),
        }
    }

    /// Returns the fingerprint of the plan.
    pub fn fingerprint(&self) -> Digest {
        match self {
            Self::Cosets(plan) => plan.fingerprint,
            Self::Lists(plan) => plan.fingerprint,
        }
    }

    /// Builds the space.
    ///
    /// # Errors
    /// If the plan is not one of this puzzle, or contradicts its fingerprint.
    pub fn open(&self, spec: &SpaceSpec) -> Result<RunSpace, RunError> {
        match self {
            Self::Cosets(plan) => Ok(plan.open(spec)?.0.into()),
            Self::Lists(plan) => Ok(RunSpace::Lists(Box::new(plan.open(spec)?))),
        }
    }
}
