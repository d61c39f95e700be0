//! Tied axes, whose words occur only in some combinations, such as the orientations of several colours that
//! have a fixed sum.
//!
//! Two words of a tied axis are of one *class* if they occur together with the same words of the other axes.
//! All maps act on the axes separately, so they carry classes to classes. Whether a combination of words
//! occurs depends only on the classes: if one word after the other is replaced by another one of its class,
//! the combination still occurs. So the words of a coset are a union of products of classes, the *summands*.
//! The group of the pattern permutes the combinations transitively, and therefore the classes of an axis: all
//! of them have equally many words.

use super::ReachableAxis;
use crate::axis::{AxisView, Component, Form, List};
use crate::{Colouring, ColouringError, Space};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The summands of a coset, in increasing order: for each the class of every axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summands(Box<[Box<[u8]>]>);

impl Summands {
    /// The largest number of summands.
    const MAX: usize = 256;

    pub(crate) fn new(mut summands: Vec<Box<[u8]>>) -> Self {
        summands.sort_unstable();
        Self(summands.into())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the classes of each summand.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|classes| &**classes)
    }

    /// Returns the classes of a summand.
    pub(crate) fn classes(&self, number: usize) -> &[u8] {
        &self.0[number]
    }

    /// Returns the number of the summand with these classes; `None` if no state has them.
    pub(crate) fn number(&self, classes: &[u8]) -> Option<u32> {
        self.0.binary_search_by(|known| (**known).cmp(classes)).ok().map(|number| number as u32)
    }
}

/// Returns the axes of these views, and the summands of the solved pattern's coset. `words` returns the words
/// of an axis, or of several together.
pub(super) fn axes(
    colouring: &Colouring,
    views: &[AxisView],
    space: &Space,
    words: impl Fn(&AxisView, &Form) -> Option<Vec<u128>>,
) -> Result<(Vec<ReachableAxis>, Summands), ColouringError> {
    let form = |view: &AxisView| colouring.form(view, space).ok_or(ColouringError::TooLarge);
    let list = |view: &AxisView| words(view, &form(view)?).ok_or(ColouringError::TooLarge);
    let mut axes: Vec<Option<ReachableAxis>> = vec![None; views.len()];
    let mut summands = vec![vec![0; views.len()]];
    for (number, view) in views.iter().enumerate() {
        if axes[number].is_some() {
            continue;
        }
        let Some(tie) = view.tie else {
            let words = list(view)?;
            let class = words.len();
            axes[number] = Some(ReachableAxis {
                view: view.clone(),
                form: form(view)?,
                list: List::new(words, class),
                class,
            });
            continue;
        };
        let tied: Vec<usize> = (number..views.len()).filter(|&axis| views[axis].tie == Some(tie)).collect();
        let components = |&axis: &usize| views[axis].components.iter().copied();
        let joint = AxisView::from(tied.iter().flat_map(components).collect::<Vec<Component>>());
        let forms: Vec<Form> = tied.iter().map(|&axis| form(&views[axis])).collect::<Result<_, _>>()?;
        let combinations = apart(&list(&joint)?, &form(&joint)?, &forms);
        let (classes, mut combined) = classes(&combinations).ok_or(ColouringError::BadAxes)?;
        for ((&axis, form), classes) in tied.iter().zip(forms).zip(classes) {
            let class = classes[0].len();
            let list = List::new(classes.concat(), class);
            // Classes are numbered anew, in the order of the list.
            let renumbered =
                |of: u8| list.number(classes[usize::from(of)][0]).map(|word| (word as usize / class) as u8);
            let number = tied.iter().position(|&other| other == axis).expect("the axis is tied");
            combined
                .iter_mut()
                .for_each(|of| of[number] = renumbered(of[number]).expect("a word of the axis"));
            axes[axis] = Some(ReachableAxis { view: views[axis].clone(), form, list, class });
        }
        if summands.len() * combined.len() > Summands::MAX {
            return Err(ColouringError::TooLarge);
        }
        let with = |summand: &Vec<u8>| {
            let summand = summand.clone();
            let set = |classes: &Vec<u8>| {
                let mut summand = summand.clone();
                tied.iter().zip(classes).for_each(|(&axis, &class)| summand[axis] = class);
                summand
            };
            combined.iter().map(set).collect::<Vec<_>>()
        };
        summands = summands.iter().flat_map(with).collect();
    }
    let axes = axes.into_iter().map(|axis| axis.expect("every axis is tied or not")).collect();
    Ok((axes, Summands::new(summands.into_iter().map(Vec::into).collect())))
}

/// Returns, for each word of several axes together, its word on each of the axes.
fn apart(words: &[u128], joint: &Form, forms: &[Form]) -> Vec<Vec<u128>> {
    let of_word = |&word: &u128| {
        let mut first = 0;
        let of_axis = |form: &Form| {
            let places = first..first + form.places();
            first = places.end;
            places.zip(0..).fold(0, |own, (place, at)| own | form.symbol(at, joint.at(word, place)))
        };
        forms.iter().map(of_axis).collect()
    };
    words.iter().map(of_word).collect()
}

/// The classes of an axis, each with its words.
type Classes = Vec<Vec<u128>>;

/// Returns the classes of each axis, and the combinations of classes that occur. Returns `None` if there are
/// too many classes, or the combinations are not an orbit of a group that acts on the axes separately.
fn classes(combinations: &[Vec<u128>]) -> Option<(Vec<Classes>, Vec<Vec<u8>>)> {
    let axes = combinations[0].len();
    let mut of_axes = Vec::with_capacity(axes);
    let mut class_of: Vec<FxHashMap<u128, u8>> = vec![FxHashMap::default(); axes];
    for (axis, class_of) in class_of.iter_mut().enumerate() {
        // By word: the numbers of the combinations of other words with which the word occurs.
        let mut others: FxHashMap<Vec<u128>, u32> = FxHashMap::default();
        let mut together: FxHashMap<u128, BTreeSet<u32>> = FxHashMap::default();
        for combination in combinations {
            let mut rest = combination.clone();
            let word = rest.remove(axis);
            let next = others.len() as u32;
            together.entry(word).or_default().insert(*others.entry(rest).or_insert(next));
        }
        let mut classes: FxHashMap<BTreeSet<u32>, Vec<u128>> = FxHashMap::default();
        for (word, together) in together {
            classes.entry(together).or_default().push(word);
        }
        let classes: Classes = classes.into_values().collect();
        if classes.len() > Summands::MAX || classes.iter().any(|class| class.len() != classes[0].len()) {
            return None;
        }
        for (words, number) in classes.iter().zip(0..=u8::MAX) {
            class_of.extend(words.iter().map(|&word| (word, number)));
        }
        of_axes.push(classes);
    }
    let of = |combination: &Vec<u128>| -> Vec<u8> {
        combination.iter().zip(&class_of).map(|(word, class_of)| class_of[word]).collect()
    };
    let combined: BTreeSet<Vec<u8>> = combinations.iter().map(of).collect();
    let words: usize = of_axes.iter().map(|classes| classes[0].len()).product();
    (words * combined.len() == combinations.len()).then(|| (of_axes, combined.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted((of_axes, combined): (Vec<Classes>, Vec<Vec<u8>>)) -> (Vec<Vec<Vec<u128>>>, usize) {
        let sorted = |mut classes: Classes| {
            classes.iter_mut().for_each(|class| class.sort_unstable());
            classes.sort_unstable();
            classes
        };
        (of_axes.into_iter().map(sorted).collect(), combined.len())
    }

    /// Words with an even sum; pairs of different words; pairs that no group permutes transitively.
    #[test]
    fn classes_are_words_with_equal_partners() {
        let words = |length: u128| {
            (0..length * length * 2).map(move |n| vec![n % length, n / length % length, n / length / length])
        };
        let even: Vec<Vec<u128>> = words(4).filter(|word| word.iter().sum::<u128>() % 2 == 0).collect();
        let halves = vec![vec![0, 2], vec![1, 3]];
        let expected = vec![halves.clone(), halves, vec![vec![0], vec![1]]];
        assert_eq!(sorted(classes(&even).unwrap()), (expected, 4));
        let pairs = |length: u128| (0..length * length).map(move |n| vec![n % length, n / length]);
        let different: Vec<Vec<u128>> = pairs(4).filter(|word| word[0] != word[1]).collect();
        let single: Vec<Vec<u128>> = (0..4).map(|word| vec![word]).collect();
        assert_eq!(sorted(classes(&different).unwrap()), (vec![single.clone(), single], 12));
        let all: Vec<Vec<u128>> = pairs(3).collect();
        assert_eq!(sorted(classes(&all).unwrap()), (vec![vec![vec![0, 1, 2]]; 2], 1));
        let unequal: Vec<Vec<u128>> = pairs(3).filter(|word| (word[0] == 0) == (word[1] == 0)).collect();
        assert_eq!(classes(&unequal), None);
    }
}
