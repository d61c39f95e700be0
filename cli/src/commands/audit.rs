//! `fathom audit`.

mod remote;

use crate::arguments::AuditArguments;
use crate::commands::coordinator_queries::address_of;
use anyhow::Result;
use fathom_command::exit::No;
use fathom_command::output;
use fathom_engine::audit::{AtLarge, Audit, Audited, Contradiction, Options, audit as audit_run};
use fathom_engine::directory::RunDirectory;
use fathom_layer::LocalDisk;
use fathom_report::text::{many, plain};
use indicatif::HumanCount;

pub(crate) fn audit(args: &AuditArguments) -> Result<()> {
    let seed = args.seed();
    let options =
        Options { samples: args.samples(), seed, threads: args.threads(), memory_bytes: args.memory_bytes() };
    let (space, audit) = match address_of(&args.dir) {
        Some(address) => remote::audit(args, address, options)?,
        None => {
            // The run is locked because a search would delete layers while they are read.
            let run = RunDirectory::open_unchanging(&args.dir)?;
            (run.space.slug(), audit_run(&run, &LocalDisk, options)?)
        }
    };
    if args.json {
        let mut json = serde_json::to_value(&audit)?;
        json["space"] = space.into();
        json["samples"] = options.samples.into();
        json["seed"] = options.samples.map(|_| seed).into();
        output::line(&json.to_string())?;
    } else {
        output::line(&text(&space, &audit, options))?;
    }
    if audit.wrong > 0 { Err(No.into()) } else { Ok(()) }
}

fn text(space: &str, audit: &Audit, options: Options) -> String {
    let row = |layer: &Audited| {
        let Audited { depth, states, checked, all, wrong, excluded } = layer;
        let share = match (all, excluded) {
            (true, _) => "all".into(),
            (false, excluded) => excluded.map_or_else(String::new, one_in),
        };
        [
            depth.to_string(),
            HumanCount(*states).to_string(),
            HumanCount(*checked).to_string(),
            HumanCount(*wrong).to_string(),
            share,
        ]
    };
    let table =
        plain(["depth", "states", "checked", "wrong", "excluded at 99.9 %"], audit.layers.iter().map(row));
    let how = match options.samples {
        Some(_) => format!("random states, seed {}", options.seed),
        None => "every state".into(),
    };
    let mut text = format!("{space}: {how}\n\n{}\n", table.trim_end());
    if let Some(AtLarge { checked, in_layers, wrong, excluded }) = &audit.at_large {
        text += &format!(
            "\n{} sampled from the whole space: {} found in the kept layers, {} in none of them, {} wrong",
            many(*checked, "state"),
            HumanCount(*in_layers),
            HumanCount(checked - in_layers),
            HumanCount(*wrong)
        );
        if let Some(excluded) = excluded {
            text += &format!("; excluded at 99.9 %: {}", one_in(*excluded));
        }
        text += "\n";
    }
    for unchecked in &audit.unchecked {
        text += &format!("not checked: {unchecked}\n");
    }
    for Contradiction { state, reason, .. } in &audit.contradictions {
        text += &match state.is_empty() {
            true => format!("contradiction: {reason}\n"),
            false => format!("contradiction: state {state}: {reason}\n"),
        };
    }
    if audit.wrong > 0 {
        text += &format!("the run is wrong: {} found\n", many(audit.wrong, "contradiction"));
    } else if audit.proof && audit.complete {
        text += "proved: every state is in the layer of its distance, and no state is missing\n";
    } else if audit.proof {
        text += "proved: the finished layers contain exactly the states of their distances\n";
    } else {
        text += "no contradiction found\n";
    }
    text.trim_end().into()
}

/// Writes an excluded share of wrong states as `1 in N`.
fn one_in(share: f64) -> String {
    format!("1 in {}", HumanCount((1.0 / share).floor() as u64))
}
