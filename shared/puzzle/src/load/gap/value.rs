//! The values of a GAP file, and the permutations that they represent.

use super::super::{Fault, Reason};
use crate::definition::{Definition, DefinitionError};
use fathom_algebra::{CycleError, Permutation};
use std::borrow::Cow;

/// A permutation on as many points as its largest one, its byte offset in the text, and the name that it was
/// assigned to.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) name: Option<String>,
    pub(super) at: usize,
    pub(super) action: Permutation,
}

/// The value on the right of `:=`.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Permutation(Element),
    List(Vec<Value>),
    Group(Vec<Element>),
    /// A whole number, with its byte offset.
    Number(usize, u64),
    /// Something that defines no moves: its byte offset, and a description.
    Other(usize, String),
    /// Something that may be an unknown group: its byte offset, and a description.
    Unknown(usize, String),
}

/// Returns whether there is a permutation in a list, written as one.
pub(super) fn has_permutation(values: &[Value]) -> bool {
    values.iter().any(|value| match value {
        Value::Permutation(_) | Value::Group(_) => true,
        Value::List(inner) => has_permutation(inner),
        Value::Number(..) | Value::Other(..) | Value::Unknown(..) => false,
    })
}

/// Returns whether there are lists of lists of numbers in a list. They may be cycles, and stand for
/// permutations, or something else, such as blocks of points.
pub(super) fn has_cycles(values: &[Value]) -> bool {
    values.iter().any(|value| match value {
        Value::List(inner) => is_cycles(inner) || has_cycles(inner),
        _ => false,
    })
}

/// Returns whether a list is a permutation in the form of its cycles, `[[1,2],[3,4]]`.
pub(super) fn is_cycles(values: &[Value]) -> bool {
    let is_cycle = |value: &Value| match value {
        Value::List(points) => !points.is_empty() && points.iter().all(|p| matches!(p, Value::Number(..))),
        _ => false,
    };
    !values.is_empty() && values.iter().all(is_cycle)
}

/// Returns the permutations of a list.
pub(super) fn elements_of(values: Vec<Value>) -> Result<Vec<Element>, Fault> {
    let mut elements = Vec::new();
    for value in values {
        match value {
            Value::Permutation(element) => elements.push(element),
            Value::Group(more) => elements.extend(more),
            Value::List(cycles) if is_cycles(&cycles) => elements.push(of_cycles(&cycles)?),
            Value::List(inner) => elements.extend(elements_of(inner)?),
            Value::Number(at, number) => {
                return Err(Fault::syntax(at, format!("{number} is not a permutation")));
            }
            Value::Other(at, what) | Value::Unknown(at, what) => {
                let why = "a move depends on it; use only permutations, lists of permutations and Group(...)";
                return Err(Fault::new(at, Reason::Unsupported { what, why }));
            }
        }
        if elements.len() > Definition::MAX_MOVES {
            return Err(Fault::new(elements[0].at, DefinitionError::TooManyMoves));
        }
    }
    Ok(elements)
}

/// Returns the permutation of a list of cycles.
fn of_cycles(cycles: &[Value]) -> Result<Element, Fault> {
    let points = |cycle: &Value| match cycle {
        Value::List(points) => points.clone(),
        _ => Vec::new(),
    };
    let cycles: Vec<Vec<(usize, u64)>> = cycles
        .iter()
        .map(|cycle| {
            points(cycle)
                .iter()
                .filter_map(|point| match *point {
                    Value::Number(at, number) => Some((at, number)),
                    _ => None,
                })
                .collect()
        })
        .collect();
    let mut largest = (0, 0);
    for &(at, point) in cycles.iter().flatten() {
        if point > largest.1 {
            largest = (at, point);
        }
    }
    let degree = checked_degree(largest.0, largest.1)?;
    let mut images: Vec<u16> = (0..degree as u16).collect();
    let mut seen = vec![false; degree];
    for cycle in &cycles {
        for (i, &(at, point)) in cycle.iter().enumerate() {
            if point == 0 {
                return Err(Fault::new(
                    at,
                    Reason::Cycles(CycleError::OutOfRange { at: 0, point: "0".into(), degree }),
                ));
            }
            let point = point as usize - 1;
            if std::mem::replace(&mut seen[point], true) {
                return Err(Fault::new(at, Reason::Cycles(CycleError::Repeated { at: 0, point: point + 1 })));
            }
            images[point] = (cycle[(i + 1) % cycle.len()].1.max(1) - 1) as u16;
        }
    }
    let at = cycles[0][0].0;
    let action = Permutation::from_images(images).expect("no point occurs twice");
    Ok(Element { name: None, at, action })
}

/// Returns the permutation of the arguments of `PermList`: the image of each point, counted from 1. `at` is
/// the byte offset of the call.
///
/// # Errors
/// If the arguments are not one list of all points up to its length.
pub(super) fn of_images(at: usize, arguments: &[Value]) -> Result<Value, Fault> {
    let [Value::List(points)] = arguments else {
        return Err(Fault::syntax(at, "PermList takes one list of points"));
    };
    let degree = checked_degree(at, points.len() as u64)?;
    let image = |point: &Value| match *point {
        Value::Number(_, point) => {
            u16::try_from(point).ok()?.checked_sub(1).filter(|&p| usize::from(p) < degree)
        }
        _ => None,
    };
    let images = points.iter().map(image).collect::<Option<Vec<u16>>>();
    let action = images.and_then(|images| Permutation::from_images(images).ok());
    let action = action.ok_or_else(|| {
        Fault::syntax(at, format!("PermList takes each point from 1 to {degree} once, in any order"))
    })?;
    Ok(Value::Permutation(Element { name: None, at, action }))
}

impl Value {
    /// Returns the entry of nested lists that these numbers, counted from 1, lead to, or a generator of a
    /// group; `None` if there is none.
    pub(super) fn entry(&self, path: &[usize]) -> Option<Cow<'_, Self>> {
        let Some((&number, rest)) = path.split_first() else { return Some(Cow::Borrowed(self)) };
        match self {
            Self::List(values) => values.get(number.checked_sub(1)?)?.entry(rest),
            Self::Group(elements) if rest.is_empty() => {
                let element = elements.get(number.checked_sub(1)?)?;
                Some(Cow::Owned(Self::Permutation(element.clone())))
            }
            _ => None,
        }
    }

    /// Returns the number of values in this value, the number of points of its permutations, and the depth to
    /// which it is nested.
    pub(super) fn size(&self) -> (usize, usize, usize) {
        let add = |(values, points, depth), (v, p, d): (usize, usize, usize)| {
            (values + v, points + p, d.max(depth))
        };
        match self {
            Self::Permutation(element) => (1, element.action.degree(), 0),
            Self::List(values) => {
                let (values, points, depth) = values.iter().map(Self::size).fold((1, 0, 0), add);
                (values, points, depth + 1)
            }
            Self::Group(elements) => {
                (1 + elements.len(), elements.iter().map(|element| element.action.degree()).sum(), 1)
            }
            Self::Number(..) | Self::Other(..) | Self::Unknown(..) => (1, 0, 0),
        }
    }
}

/// Checks that a puzzle may have this many points.
pub(super) fn checked_degree(at: usize, largest: u64) -> Result<usize, Fault> {
    match usize::try_from(largest) {
        Ok(degree) if degree <= Definition::MAX_POINTS => Ok(degree),
        largest => {
            let points = largest.unwrap_or(usize::MAX);
            Err(Fault::new(at, DefinitionError::TooManyPoints { points }))
        }
    }
}

/// Returns the same permutation on more points, which it fixes.
pub(super) fn extended(action: &Permutation, degree: usize) -> Permutation {
    Permutation::from_fn(degree, |point| if point < action.degree() { action.apply(point) } else { point })
}
