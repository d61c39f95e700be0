//! `fathom completions` and `fathom man`: completion scripts and manual pages.

use crate::arguments::{Arguments, CompletionsArguments, ManArguments};
use anyhow::{Context, Result};
use clap::CommandFactory;
use fathom_command::output;
use std::fs;

pub(crate) fn completions(args: &CompletionsArguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "fathom", &mut script);
    output::line(String::from_utf8_lossy(&script).trim_end())
}

/// Writes one page for the program, and one for each command.
pub(crate) fn man(args: &ManArguments) -> Result<()> {
    let dir = &args.dir;
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let mut command = Arguments::with_help();
    command.build();
    let mut pages = vec![command.clone()];
    pages.extend(command.get_subcommands().filter(|command| command.get_name() != "help").cloned().map(
        |below| {
            let name = format!("fathom-{}", below.get_name());
            below.name(name)
        },
    ));
    for page in &pages {
        let page = clap_mangen::Man::new(page.clone());
        let file = dir.join(page.get_filename());
        let mut text = Vec::new();
        page.render(&mut text)?;
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    output::line(&format!("{} pages in {}", pages.len(), dir.display()))
}
