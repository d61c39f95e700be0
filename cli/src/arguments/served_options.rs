//! The options with which a run was last served: `fathom serve --dir DIR` alone continues with them.

use anyhow::{Context, Result};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command};
use fathom_command::bad_input;
use fathom_command::new_file::to_file;
use fathom_command::shell;
use fathom_engine::directory::{Found, look};
use serde::{Deserialize, Serialize};
use std::any::TypeId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of the file in the run's directory.
pub(crate) const NAME: &str = "serve.toml";

/// The command line of a coordinator without `--dir`, with absolute paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServedOptions {
    arguments: Vec<String>,
}

impl ServedOptions {
    /// Returns the options that `matches` of the command `serve` were given; `None` if one of them is not text, and cannot
    /// be written.
    pub(crate) fn of(serve: &Command, matches: &ArgMatches) -> Option<Self> {
        let mut arguments = Vec::new();
        for argument in serve.get_arguments() {
            let id = argument.get_id().as_str();
            let is_given = matches!(matches.try_get_raw(id), Ok(Some(_)))
                && matches.value_source(id).is_some_and(|source| source != ValueSource::DefaultValue);
            if id == "dir" || !is_given {
                continue;
            }
            if matches!(argument.get_action(), ArgAction::SetTrue) {
                arguments.extend(argument.get_long().map(|long| format!("--{long}")));
                continue;
            }
            let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            for value in matches.get_raw(id).into_iter().flatten() {
                // A puzzle may be a file.
                let is_path = is_path || argument.is_positional() && Path::new(value).is_file();
                let absolute = std::path::absolute(value).ok().filter(|_| is_path && value != "-");
                let value = absolute.map_or_else(|| value.to_owned(), PathBuf::into_os_string);
                let value = value.to_str()?;
                arguments.push(match argument.get_long() {
                    Some(long) => format!("--{long}={value}"),
                    None => value.to_owned(),
                });
            }
        }
        Some(Self { arguments })
    }

    /// Reads the options of a run; `None` if it was never served.
    pub(crate) fn read(run: &Path) -> Result<Option<Self>> {
        let path = run.join(NAME);
        match std::fs::read_to_string(&path) {
            Ok(text) => match toml::from_str(&text) {
                Ok(options) => Ok(Some(options)),
                Err(error) => Err(bad_input!(
                    "{} is damaged: {}. Give all options of 'fathom serve' again",
                    path.display(),
                    error.message()
                )),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes the options into the run's directory.
    pub(crate) fn write(&self, run: &Path) -> Result<()> {
        let text = toml::to_string(self)?;
        to_file(&run.join(NAME), true, |out| Ok(out.write_all(text.as_bytes())?))
    }

    /// Returns a command line of `fathom serve --dir DIR` that lacks a puzzle, with the options of the run in DIR before
    /// its own, which override them; `None` if it is no such command line, or the run was never served.
    pub(crate) fn completed(line: &[OsString]) -> Result<Option<Vec<OsString>>> {
        let Some(serve) = line.iter().position(|word| word == "serve") else { return Ok(None) };
        let own = &line[serve + 1..];
        let mut directory = None;
        for (at, word) in own.iter().enumerate() {
            match word.to_str().and_then(|word| word.strip_prefix("--dir")) {
                Some("") => directory = own.get(at + 1).map(PathBuf::from),
                Some(rest) => directory = rest.strip_prefix('=').map(PathBuf::from).or(directory),
                None => {}
            }
        }
        let Some(directory) = directory else { return Ok(None) };
        let Some(recorded) = Self::read(&directory)? else {
            let path = shell::path(&directory);
            return match look(&directory)? {
                Found::Run => Err(bad_input!(
                    "the run in {path} was not served yet. Name its puzzle: fathom serve PUZZLE --dir {path}"
                )),
                _ => Ok(None),
            };
        };
        let recorded = recorded.arguments.into_iter().map(OsString::from);
        Ok(Some(line[..=serve].iter().cloned().chain(recorded).chain(own.iter().cloned()).collect()))
    }
}
