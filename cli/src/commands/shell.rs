//! `fathom completions` and `fathom man`: completion scripts and manual pages.

use crate::arguments::{Arguments, CompletionsArguments, ManArguments};
use anyhow::{Context, Result};
use clap::CommandFactory;
use fathom_command::{bad_input, output};
use std::fs;

pub(crate) fn completions(args: &CompletionsArguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "fathom", &mut script);
    output::line(String::from_utf8_lossy(&script).trim_end())
}

/// Writes one page for the program, and one for each command.
pub(crate) fn man(args: &ManArguments) -> Result<()> {
    let dir = &args.dir;
    if dir.exists() && !dir.is_dir() {
        return Err(bad_input!("{} is not a directory. Choose another one for the pages", dir.display()));
    }
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let command = Arguments::with_help().disable_help_subcommand(true);
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
