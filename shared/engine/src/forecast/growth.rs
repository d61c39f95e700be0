//! The number of states at each depth: known, or counted for the first depths and extrapolated from there.

use crate::estimate::first_counts;
use crate::forecast::expected_growth;
use anyhow::Result;
use fathom_command::bad_input;
use fathom_puzzle::Metric;
use fathom_space::Space;
use serde::Serialize;

/// The source of the growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GrowthSource {
    /// The number of states at each depth is known.
    Known,
    /// The first depths were counted, the others are extrapolated ([`expected_growth`]).
    Modelled,
}

/// States of the 4x4 board by depth in the metric multi, from `records/4x4-multi.json`.
pub(crate) const BOARD: [u64; 15] = [
    1,
    24,
    396,
    6264,
    97_558,
    1_486_728,
    22_201_916,
    324_714_424,
    4_612_908_913,
    62_546_431_704,
    761_114_737_756,
    6_477_461_009_768,
    13_117_496_920_628,
    499_209_363_040,
    8_880,
];

/// Growth functions of 16! states, from `records/4x4-multi.json` and `records/4x4-single.json`.
const KNOWN: [(&str, Metric, &[u64]); 2] = [
    ("4x4", Metric::Multi, &BOARD),
    (
        "4x4",
        Metric::Single,
        &[
            1,
            16,
            184,
            2032,
            21_932,
            230_480,
            2_377_512,
            24_093_488,
            239_515_262,
            2_325_051_968,
            21_748_418_824,
            189_023_504_040,
            1_374_704_837_536,
            6_084_797_063_672,
            8_959_617_240_656,
            4_185_223_547_376,
            105_082_532_061,
            1_450_928,
            32,
        ],
    ),
];

/// Returns the growth function of a space, if it is among the known ones.
pub(crate) fn known(space: &Space) -> Option<&'static [u64]> {
    let is_meant = |&(board, metric, _): &(&str, Metric, _)| {
        space.piece_labels().are_distinct()
            && (board, metric) == (space.puzzle().name.as_str(), space.metric())
    };
    KNOWN.into_iter().find(is_meant).map(|(_, _, counts)| counts)
}

/// Returns the number of states at each depth of a space, and the source of the numbers.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] if too few depths can be counted to extrapolate the others.
pub(crate) fn growth(space: &Space) -> Result<(Vec<f64>, GrowthSource)> {
    if let Some(counts) = known(space) {
        return Ok((counts.iter().map(|&count| count as f64).collect(), GrowthSource::Known));
    }
    let counted: Vec<u64> =
        first_counts(space, u32::MAX).into_iter().take_while(|&count| count > 0).collect();
    let all = u64::try_from(space.states()).expect("a planned space has fewer than 2^64 states");
    let is_complete = counted.iter().sum::<u64>() == all;
    let rest = expected_growth::growth(&counted, all, space.incoming_moves().len());
    if rest.is_empty() && !is_complete {
        return Err(bad_input!(
            "the growth of {} cannot be predicted from its first {} depths. Drop --workers",
            space.slug(),
            counted.len()
        ));
    }
    let source = if is_complete { GrowthSource::Known } else { GrowthSource::Modelled };
    Ok((counted.into_iter().map(|count| count as f64).chain(rest).collect(), source))
}
