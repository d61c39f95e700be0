//! `fathom group square1 --element`: the effect of a sequence on the sixteen pieces.

use crate::arguments::GroupArguments;
use anyhow::Result;
use fathom_command::{bad_input, output};
use fathom_puzzle::family::square1::Sequence;
use serde_json::json;

pub(super) fn element(text: &str, args: &GroupArguments) -> Result<()> {
    if args.moves.is_some() {
        return Err(bad_input!("--moves does not apply to square1: sequences may use all of its moves"));
    }
    let sequence = Sequence::read(text).map_err(|error| bad_input!("--element: {error}"))?;
    // A sequence in the article's letters starts after the turn d.
    let in_letters = text.contains(char::is_alphabetic);
    let carried = sequence.carried(in_letters).map_err(|error| bad_input!("--element: {error}"))?;
    let pieces = &carried.pieces;
    // If the sequence flips the middle layer, so does an odd number of repetitions.
    let order = pieces.order().and_then(|order| match carried.middle && order % 2 == 1 {
        true => order.checked_mul(2),
        false => Some(order),
    });
    let order_text = order.map_or("more than 64 bits".into(), |order| order.to_string());
    let parity = if pieces.is_even() { "even" } else { "odd" };
    let from = if carried.after_d { "the solved state turned by d, (1,0)" } else { "the solved state" };
    let middle = if carried.middle { "flipped" } else { "unchanged" };
    let written = sequence.to_string();
    let moves = if written.is_empty() { "()" } else { &written };
    let told = json!({
        "puzzle": "square1",
        "element": pieces.to_string(),
        "order": order,
        "parity": parity,
        "middle_turned_over": carried.middle,
        "after_d": carried.after_d,
        "sequence": written,
    });
    let text = format!(
        "{pieces}\norder: {order_text}\nparity: {parity}\nmiddle layer: {middle}\nmoves: {moves}\nfrom: {from}"
    );
    output::line(&if args.json { told.to_string() } else { text })
}
