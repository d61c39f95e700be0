//! `fathom completions` and `fathom help`.

use crate::arguments::{Arguments, CompletionsArguments, HelpArguments, all_commands};
use anyhow::Result;
use fathom_command::{bad_input, output};
use fathom_worker::completion;

pub(crate) fn completions(args: &CompletionsArguments) -> Result<()> {
    let mut script = Vec::new();
    for program in ["fathom", "fathom-worker"] {
        completion::write_script(&args.shell.to_string(), program, &mut script)?;
    }
    output::line(String::from_utf8_lossy(&script).trim())
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
