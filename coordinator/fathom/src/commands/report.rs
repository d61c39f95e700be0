//! `fathom report`.

mod solutions;

use crate::arguments::ReportArguments;
use anyhow::{Context, Result};
use fathom_command::exit::said_by_system;
use fathom_command::{bad_input, output};
use fathom_engine::directory::RunDirectory;
use fathom_report::{Format, Report};
use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub(crate) fn report(args: &ReportArguments) -> Result<()> {
    args.output.as_deref().map_or(Ok(()), refuse_taken)?;
    let text = text_of(&args.dir, args.format)?;
    match &args.output {
        None => output::line(text.trim_end()),
        Some(file) => write(file, text.trim_end()),
    }
}

/// Returns the report of a run, with solutions if they can be found quickly.
pub(crate) fn text_of(path: &Path, format: Format) -> Result<String> {
    let run = RunDirectory::open_for_reading(path)?;
    let mut report = Report::of(&run)?;
    if matches!(format, Format::Html | Format::Markdown | Format::Json) {
        solutions::add(&mut report, &run)?;
    }
    report.to_text(format)
}

/// Returns an error if the file to be written exists already.
pub(crate) fn refuse_taken(file: &Path) -> Result<()> {
    if file.is_symlink() || file.exists() { Err(taken(file)) } else { Ok(()) }
}

/// Writes a file as a whole or not at all.
pub(crate) fn write(file: &Path, text: &str) -> Result<()> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The umask of the user reduces these permissions.
    let permissions = Permissions::from_mode(0o666);
    let made =
        tempfile::Builder::new().prefix(".fathom-report-").permissions(permissions).tempfile_in(directory);
    let mut unfinished = made.map_err(|error| {
        bad_input!(
            "{} cannot be written: {}: name another file with --output",
            file.display(),
            said_by_system(&error)
        )
    })?;
    let written = writeln!(unfinished, "{text}").and_then(|()| unfinished.as_file().sync_all());
    written.with_context(|| format!("cannot write {}", file.display()))?;
    match unfinished.persist_noclobber(file) {
        Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => Err(taken(file)),
        other => other.map(drop).with_context(|| format!("cannot write {}", file.display())),
    }
}

fn taken(file: &Path) -> anyhow::Error {
    bad_input!("{} is there already and was left as it is: name a new file with --output", file.display())
}
