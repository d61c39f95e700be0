//! The help: commands in groups, and examples below each.

use clap::Command;
use clap::builder::StyledStr;
use clap::builder::styling::{Style, Styles};
use std::fmt::Write;

/// The commands in groups: those of `fathom -h`, and those that only `fathom help --all` shows.
const GROUPS: [(&str, &[&str], &[&str]); 5] = [
    ("Runs", &["run", "resume", "plan", "status", "top", "ls", "remove"], &["logs", "merge"]),
    ("Clusters", &["serve", "worker", "keys", "stop", "drain"], &["workers"]),
    ("Results", &["report", "page", "verify", "audit"], &["compare", "distance", "export", "table"]),
    (
        "Puzzles",
        &["puzzles", "solve", "group", "bound"],
        &["pieces", "antipodes", "phases", "shapes", "convert", "definition", "symmetries"],
    ),
    ("This program", &[], &["bench", "completions", "man", "help"]),
];

/// Examples by command. `tests/tests/command_line/help.rs` parses each line.
const EXAMPLES: [(&str, &[&str]); 38] = [
    (
        "run",
        &[
            "fathom run 3x4",
            "fathom run 3x3 --track 0-2",
            "fathom run 3x3x3 --only DF,DR,DB,DL",
            "fathom run 2x2x2 --free-rotations --json",
            "fathom run 4x4 --workers 2 --dir /scratch/4x4",
            "fathom run 4x4 --store /scratch/fathom",
            "fathom run 3x4 --on-done 'echo \"$FATHOM_SPACE: $FATHOM_GOD_NUMBER\"'",
        ],
    ),
    ("resume", &["fathom resume runs/3x4-multi", "fathom resume runs/4x4-multi --max-depth 9"]),
    ("merge", &["fathom merge runs/4x4-multi --depth 9"]),
    (
        "serve",
        &[
            "fathom serve 4x4 --listen 0.0.0.0:7400 --keys keys",
            "fathom serve 4x4 --shared-store /lustre/fathom --listen 0.0.0.0:7400 --keys keys",
        ],
    ),
    ("worker", &["fathom worker --join node-0:7400 --listen 0.0.0.0:0 --store /scratch/fathom --keys keys"]),
    ("ls", &["fathom ls", "fathom ls /scratch/runs --json"]),
    ("help", &["fathom help --all", "fathom help run"]),
    ("status", &["fathom status runs/3x4-multi", "fathom status 127.0.0.1:7400 --watch"]),
    ("top", &["fathom top runs/4x4-multi", "fathom top 127.0.0.1:7400"]),
    ("workers", &["fathom workers 127.0.0.1:7400", "fathom workers 127.0.0.1:7400 --json"]),
    ("drain", &["fathom drain 127.0.0.1:7400 node-3"]),
    ("stop", &["fathom stop 127.0.0.1:7400"]),
    (
        "logs",
        &[
            "fathom logs runs/3x4-multi",
            "fathom logs runs/3x4-multi --depth 9 --json",
            "fathom logs 127.0.0.1:7400 --worker node-3",
        ],
    ),
    (
        "report",
        &[
            "fathom report runs/3x4-multi --output 3x4.html",
            "fathom report runs/3x4-multi --format latex",
            "fathom report runs/3x4-multi --format oeis",
        ],
    ),
    ("page", &["fathom page runs/3x4-multi", "fathom page runs/3x4-multi --http 127.0.0.1:8080"]),
    ("verify", &["fathom verify runs/3x4-multi", "fathom verify 5x5.json"]),
    ("audit", &["fathom audit runs/3x4-multi --samples 10000"]),
    ("plan", &["fathom plan 4x4", "fathom plan 4x4 --workers 64 --network 25G --threads 32"]),
    ("puzzles", &["fathom puzzles", "fathom puzzles --json"]),
    (
        "group",
        &[
            "fathom group 2x2x2",
            "fathom group 3x3 --element 'V1*H1'",
            "fathom group 3x4 --contains '1 0 2 3 4 5 6 7 8 9 10 11'",
        ],
    ),
    (
        "shapes",
        &["fathom shapes square1", "fathom shapes square1 170", "fathom shapes square1 --output shapes.svg"],
    ),
    ("pieces", &["fathom pieces 3x3x3", "fathom pieces docs/examples/2x2x2.toml --json"]),
    ("definition", &["fathom definition 3x3x3 --format gap", "fathom definition docs/examples/2x2x2.tws"]),
    ("symmetries", &["fathom symmetries 3x4", "fathom symmetries 2x2x2 --json"]),
    ("distance", &["fathom distance runs/3x4-multi states.txt", "fathom distance 3x4.table --json"]),
    (
        "export",
        &[
            "fathom export runs/3x4-multi --depth 12",
            "fathom export runs/3x4-multi --depth 8 --format npy --output 8.npy",
            "fathom export runs/2x3-multi --edges --format graphml --output 2x3.graphml",
        ],
    ),
    ("table", &["fathom table runs/3x4-multi --output 3x4.table"]),
    ("convert", &["fathom convert 2x2x2 \"B' R B D D\""]),
    (
        "solve",
        &[
            "fathom solve 3x3 '8 7 6 5 4 3 2 1 0'",
            "fathom solve 2x2x2 --scramble \"R U2 F'\" --all",
            "fathom solve 3x3x3 --scramble \"R U2\" --to \"F D'\"",
            "fathom solve 3x4 '1 0 2 3 4 5 6 7 8 9 10 11' --count",
            "fathom solve runs/3x4-multi '11 10 9 8 7 6 5 4 3 2 1 0'",
        ],
    ),
    ("antipodes", &["fathom antipodes 3x3", "fathom antipodes runs/3x4-multi --depth 12 --limit 5"]),
    ("phases", &["fathom phases 3x3x3 --chain 'U,D,L,R,F2,B2; U,D,L2,R2,F2,B2; U2,D2,L2,R2,F2,B2'"]),
    (
        "bound",
        &["fathom bound 5x5", "fathom bound 2..8 --json", "fathom bound 4x4 --upper --chain '0-3;0-7;0-15'"],
    ),
    (
        "bench",
        &[
            "fathom bench",
            "fathom bench --repeat 3 --dir /scratch",
            "fathom bench --against old/fathom -- 4x4 --max-depth 9",
        ],
    ),
    ("keys", &["fathom keys keys"]),
    ("remove", &["fathom remove runs/3x4-multi --dry-run", "fathom remove runs/3x4-multi --all"]),
    ("compare", &["fathom compare runs/3x4-multi 3x4.json"]),
    ("completions", &["fathom completions bash > ~/.local/share/bash-completion/completions/fathom"]),
    ("man", &["fathom man ~/.local/share/man/man1"]),
];

/// Returns the examples of a command.
fn examples(name: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(of, _)| *of == name).map_or(&[], |(_, examples)| examples)
}

/// Puts the commands in groups, and examples below each.
pub(super) fn with_groups(command: Command) -> Command {
    let header = *Styles::default().get_header();
    let groups = groups(&command, header, false);
    let mut command = command
        .help_template(
            "{about}\n\n{usage-heading} {usage}\n\n{before-help}Output:\n{options}\n\nHelp on a command: fathom COMMAND -h (--help shows all options). All commands: fathom help --all\n",
        )
        .before_help(groups);
    for (name, _) in EXAMPLES {
        command = command.mut_subcommand(name, |command| {
            // The worker has examples of its own.
            if name == "worker" {
                return command;
            }
            let mut text = StyledStr::new();
            heading(&mut text, "Examples", header);
            examples(name).iter().for_each(|example| add(&mut text, &format!("  {example}\n")));
            command.after_help(text)
        });
    }
    command
}

/// Returns the help of `fathom help --all`, which lists all commands.
pub(crate) fn all_commands(command: &Command) -> StyledStr {
    groups(command, *Styles::default().get_header(), true)
}

/// Returns the commands in groups, all of them or those that most people need.
fn groups(command: &Command, header: Style, all: bool) -> StyledStr {
    let mut text = StyledStr::new();
    for (title, common, others) in GROUPS {
        let names: Vec<&str> = common.iter().chain(others.iter().filter(|_| all)).copied().collect();
        if names.is_empty() {
            continue;
        }
        heading(&mut text, title, header);
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(StyledStr::to_string).unwrap_or_default();
            add(&mut text, &format!("  {name:<11}  {about}\n"));
        }
        add(&mut text, "\n");
    }
    text
}

fn heading(text: &mut StyledStr, title: &str, header: Style) {
    add(text, &format!("{header}{title}:{header:#}\n"));
}

fn add(text: &mut StyledStr, more: &str) {
    text.write_str(more).expect("writing to a string succeeds");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use std::collections::BTreeSet;

    #[test]
    fn each_command_is_in_one_group_and_has_examples() {
        let command = Arguments::with_help();
        command.clone().debug_assert();
        let names: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        let grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, common, others)| common.iter().chain(*others)).copied().collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), names);
        assert_eq!(grouped.len(), names.len());
        assert!(GROUPS.iter().map(|(_, common, _)| common.len()).sum::<usize>() <= 20);
        assert_eq!(EXAMPLES.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), names);
        for (name, examples) in EXAMPLES {
            assert!(examples.iter().all(|example| example.starts_with(&format!("fathom {name}"))), "{name}");
        }
    }

    #[test]
    fn short_help_fits_a_terminal() {
        let mut command = Arguments::with_help();
        let help = command.render_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        for command in command.get_subcommands() {
            let about = command.get_about().expect("a command says what it does").to_string();
            assert!(about.chars().count() <= 86, "{about}");
        }
    }
}
