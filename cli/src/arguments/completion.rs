//! What shells complete: puzzles, and the values of options.

use super::Arguments;
use clap::{Command, CommandFactory};
use fathom_engine::run::Keep;
use fathom_puzzle::{Metric, families};
use fathom_report::Format;
use fathom_worker::completion::{candidates, with_values};

/// Returns the command line with candidates for the values of options.
pub(crate) fn command() -> Command {
    Arguments::command().mut_subcommands(completed)
}

fn completed(command: Command) -> Command {
    let is_report = command.get_name() == "report";
    command.mut_subcommands(completed).mut_args(|argument| match argument.get_id().as_str() {
        "puzzle" => candidates(argument, puzzles),
        "metric" => candidates(argument, || {
            let metrics = [Metric::Multi, Metric::Single, Metric::Given, Metric::Face, Metric::Twist];
            metrics.map(|metric| metric.to_string()).into()
        }),
        "keep" => {
            candidates(argument, || [Keep::Last, Keep::Two, Keep::All].map(|keep| keep.to_string()).into())
        }
        "format" if is_report => {
            candidates(argument, || Format::ALL.map(|format| format.as_str().to_owned()).into())
        }
        _ => with_values(argument),
    })
}

/// Returns the names of puzzles, an example of each family, and the files and directories here.
fn puzzles() -> Vec<String> {
    let known = families().iter().map(|family| family.example.to_owned());
    let here = std::fs::read_dir(".").into_iter().flatten().flatten();
    let here = here.filter_map(|entry| {
        let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
        Some(if entry.path().is_dir() { format!("{name}/") } else { name })
    });
    ["2x3", "3x4", "4x4"].map(str::to_owned).into_iter().chain(known).chain(here).collect()
}
