//! `fathom bound square1`.

use crate::arguments::BoundArguments;
use anyhow::Result;
use fathom_command::{bad_input, output};
use fathom_puzzle::Metric;
use fathom_report::text::{grouped, many, plain};
use fathom_solve::bound::SquareOneBounds;
use fathom_solve::bound::square1::Kind;
use num_bigint::BigUint;
use serde_json::{Value, json};

pub(super) fn bound(args: &BoundArguments) -> Result<()> {
    if args.metric.is_some_and(|metric| metric != Metric::Face) {
        return Err(bad_input!("square1 has bounds only in the metric 'face'. Drop --metric"));
    }
    if args.refine.is_some() || args.upper {
        return Err(bad_input!(
            "--refine and --upper do not apply to square1, because its moves are not possible in every state"
        ));
    }
    let bounds = SquareOneBounds::new();
    output::line(&if args.json { told(&bounds).to_string() } else { text(&bounds) })
}

fn text(bounds: &SquareOneBounds) -> String {
    let SquareOneBounds { all, aligned, twistable, last, by_shape } = bounds;
    let kinds = [("all", all), ("aligned", aligned), ("twistable", twistable)];
    let kinds = plain(
        ["kind", "shapes", "states"],
        kinds.map(|(name, kind)| [name.into(), grouped(&BigUint::from(kind.shapes)), grouped(&kind.states)]),
    );
    let mut sum = BigUint::ZERO;
    let lengths = last.words.iter().enumerate().filter(|(_, words)| **words != BigUint::ZERO);
    let words = plain(
        ["length", "words", "cumulative"],
        lengths.map(|(length, words)| {
            sum += words;
            [length.to_string(), grouped(words), grouped(&sum)]
        }),
    );
    let [one, both] = last.turns;
    let [least_twistable, least] = by_shape;
    format!(
        "square1 face\n\n{kinds}\n\
         The last of {passes} passes finds {shapes}, which have {states} with the middle layer unchanged.\n\
         They need at least {twists} twists. Between twists, at most {one} turns of one layer, or {both} of both layers, lead to an aligned shape:\n\n\
         {words}\n\
         God's number is at least\n\
         {counted:>4}  by counting sequences with {twists} twists\n\
         {least_twistable:>4}  by counting sequences to each shape, for states that can be twisted\n\
         {least:>4}  by counting sequences to each shape, for all states",
        passes = last.passes,
        shapes = many(last.found.shapes as u64, "aligned shape"),
        states = format_args!("{} states", grouped(&last.found.states)),
        twists = last.twists,
        counted = last.bound(),
    )
}

/// Returns the object that `bound square1 --json` prints. Counts that may exceed 64 bits are strings.
fn told(bounds: &SquareOneBounds) -> Value {
    let kind = |kind: &Kind| json!({ "shapes": kind.shapes, "states": kind.states.to_string() });
    let SquareOneBounds { all, aligned, twistable, last, by_shape: [of_twistable, of_all] } = bounds;
    json!({
        "space": "square1",
        "metric": Metric::Face,
        "all": kind(all),
        "aligned": kind(aligned),
        "twistable": kind(twistable),
        "bound": bounds.best(),
        "last_shapes": {
            "passes": last.passes,
            "found": kind(&last.found),
            "twists": last.twists,
            "turns_of_one_layer": last.turns[0],
            "turns_of_both": last.turns[1],
            "words": last.words.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "bound": last.bound(),
        },
        "by_shape": { "twistable": of_twistable, "all": of_all },
    })
}
