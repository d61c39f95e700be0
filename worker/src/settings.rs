//! User defaults for all commands: `config.toml` and the variables `FATHOM_*`.
//!
//! An option on the command line overrides its variable, and a variable overrides the file.

use anyhow::{Context, Result};
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgMatches, Command};
use fathom_command::exit::said_by_system;
use fathom_command::{bad_input, output};
use serde::Deserialize;
use std::env;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// The file, relative to the user's configuration directory.
const FILE: &str = "fathom/config.toml";

/// The fields of the file. Each is the default of the option of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The directory of keys.
    pub keys: Option<PathBuf>,
    /// The directory in which run directories are created.
    pub dir: Option<PathBuf>,
    /// Kernel threads.
    pub threads: Option<u32>,
    /// The memory limit, with its unit.
    pub memory: Option<String>,
    /// The file itself, if there is one.
    #[serde(skip)]
    path: Option<PathBuf>,
}

impl Settings {
    /// Reads `$XDG_CONFIG_HOME/fathom/config.toml`, or `~/.config/fathom/config.toml` if that variable is not
    /// set. Returns defaults if there is no such file.
    ///
    /// # Errors
    /// [`fathom_command::exit::BadInput`] if the file cannot be read or parsed.
    pub fn read() -> Result<Self> {
        let given = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = given("XDG_CONFIG_HOME").or_else(|| Some(given("HOME")?.join(".config")));
        let Some(path) = base.map(|base| base.join(FILE)) else {
            return Ok(Self::default());
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let settings =
                    Self::parse(&text).with_context(|| format!("cannot use {}", path.display()))?;
                Ok(Self { path: Some(path), ..settings })
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Self::default())
            }
            // The home directory belongs to another user, whose settings do not apply to this process.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && path.symlink_metadata().is_err() => {
                Ok(Self::default())
            }
            Err(error) => Err(bad_input!("cannot read {}: {}", path.display(), said_by_system(&error))),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| bad_input!("{}", error.to_string().trim_end()))
    }

    /// Parses the arguments of this process, with these settings as defaults of `command`. Ends the process
    /// if the arguments are wrong, or if they ask for help.
    ///
    /// # Errors
    /// If the help text cannot be written, for example to a file on a full disk, or a value in the file or a
    /// variable is wrong.
    pub fn matches(&self, command: Command) -> Result<ArgMatches> {
        match self.applied(command.clone()).try_get_matches() {
            Ok(matches) => Ok(matches),
            Err(error) => {
                if let Some(place) = self.place_of(&error, command) {
                    let text = error.to_string();
                    let what = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
                    return Err(bad_input!("{place}: {what}"));
                }
                output::written(error.print().and_then(|()| std::io::stdout().flush()))?;
                std::process::exit(error.exit_code())
            }
        }
    }

    /// Returns the source of a wrong value if it is not on the command line: without the file, or without the
    /// variables, there is no error.
    fn place_of(&self, error: &clap::Error, command: Command) -> Option<String> {
        let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        if command.clone().try_get_matches().is_ok() {
            return self.path.as_ref().map(|path| path.display().to_string());
        }
        let long = argument.trim_start_matches('-').split([' ', '=']).next()?;
        let variable = variable_of(&command, long)?;
        without_variables(command).try_get_matches().is_ok().then_some(variable)
    }

    /// Sets these settings as defaults of a command and its subcommands.
    pub fn applied(&self, command: Command) -> Command {
        let text = |path: &PathBuf| path.display().to_string();
        let defaults = [
            ("keys", self.keys.as_ref().map(text)),
            ("runs", self.dir.as_ref().map(text)),
            ("threads", self.threads.map(|threads| threads.to_string())),
            ("memory", self.memory.clone()),
        ];
        let mut command = command;
        for (name, value) in defaults {
            let is_option = |arg: &Arg| arg.get_id() == name && arg.get_long().is_some();
            if let Some(value) = value.filter(|_| command.get_arguments().any(is_option)) {
                command = command.mut_arg(name, |arg| arg.default_value(value));
            }
        }
        command.mut_subcommands(|command| self.applied(command))
    }
}

/// Returns the variable that overrides the default of an option of a command or of its subcommands.
fn variable_of(command: &Command, long: &str) -> Option<String> {
    let mut options = command.get_arguments().filter(|option| option.get_long() == Some(long));
    let own = options.find_map(Arg::get_env).map(|variable| variable.display().to_string());
    own.or_else(|| command.get_subcommands().find_map(|command| variable_of(command, long)))
}

fn without_variables(command: Command) -> Command {
    command.mut_args(|option| option.env(Resettable::Reset)).mut_subcommands(without_variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_provide_defaults() {
        let settings = Settings::parse("threads = 3\nmemory = \"1GiB\"\nkeys = \"/keys\"").unwrap();
        let option = |name: &'static str| Arg::new(name).long(name);
        let command = Command::new("any")
            .arg(option("threads").env("FATHOM_TEST_UNSET"))
            .subcommand(Command::new("below").arg(option("threads")).arg(option("memory")));
        let matches = settings.applied(command).get_matches_from(["any", "below", "--threads", "5"]);
        let text = |matches: &clap::ArgMatches, name| matches.get_one::<String>(name).cloned();
        assert_eq!(text(&matches, "threads").as_deref(), Some("3"));
        let below = matches.subcommand_matches("below").unwrap();
        assert_eq!(text(below, "threads").as_deref(), Some("5"));
        assert_eq!(text(below, "memory").as_deref(), Some("1GiB"));
    }

    #[test]
    fn unknown_settings_are_rejected() {
        let error = Settings::parse("thread = 3").unwrap_err().to_string();
        assert!(
            error.contains("thread") && error.contains("expected one of `keys`, `dir`, `threads`, `memory`"),
            "{error}"
        );
        assert_eq!(Settings::parse("").unwrap(), Settings::default());
    }
}
