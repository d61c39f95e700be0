//! `fathom completions`, `fathom man` and `fathom help`: completion scripts, manual pages and help.

use crate::arguments::{Arguments, CompletionsArguments, HelpArguments, ManArguments, all_commands};
use anyhow::{Context, Result};
use clap::CommandFactory;
use fathom_command::{bad_input, output};
use std::fs;

pub(crate) fn completions(args: &CompletionsArguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "fathom", &mut script);
    output::line(String::from_utf8_lossy(&script).trim_end())
}

pub(crate) fn help(args: &HelpArguments) -> Result<()> {
    let mut command = Arguments::with_help();
    command.build();
    let text = match &args.command {
        None if args.all => all_commands(&command),
        None => command.render_help(),
        Some(name) => match command.find_subcommand_mut(name) {
            Some(command) => command.render_long_help(),
            None => {
                return Err(bad_input!("unknown command {name:?}. To list all commands: fathom help --all"));
            }
        },
    };
    output::line(text.to_string().trim_end())
}

/// Writes one page for the program, and one for each command.
pub(crate) fn man(args: &ManArguments) -> Result<()> {
    let dir = &args.dir;
    if dir.exists() && !dir.is_dir() {
        return Err(bad_input!("{} is not a directory. Choose another one for the pages", dir.display()));
    }
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let command = Arguments::with_help();
    let mut command = command.version(version).long_version(version);
    command.build();
    let mut pages = vec![command.clone()];
    pages.extend(command.get_subcommands().cloned().map(|below| {
        let name = format!("fathom-{}", below.get_name());
        below.name(name).version(version)
    }));
    for page in &pages {
        let page = clap_mangen::Man::new(page.clone());
        let file = dir.join(page.get_filename());
        let mut text = Vec::new();
        page.render(&mut text)?;
        // The text below the help of a command is its examples.
        let text = String::from_utf8(text)?.replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n");
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    output::line(&format!("{} pages in {}", pages.len(), dir.display()))
}
