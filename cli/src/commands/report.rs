//! `fathom report`.

use crate::arguments::ReportArguments;
use anyhow::{Context, Result};
use fathom_begin::report_solutions;
use fathom_command::{bad_input, output};
use fathom_coordinator::cluster::journal_tables;
use fathom_engine::directory::RunDirectory;
use fathom_report::{Format, Report};
use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub(crate) fn report(args: &ReportArguments) -> Result<()> {
    args.output.as_deref().map_or(Ok(()), refuse_taken)?;
    let format = match (args.format, &args.output) {
        (Some(format), _) => format,
        (None, None) => Format::Html,
        (None, Some(file)) => Format::of_file(file).map_err(|error| {
            bad_input!("{}: {error}. Use --format to choose one for any file name", file.display())
        })?,
    };
    let text = text_of(&args.dir, format)?;
    match &args.output {
        None => output::line(text.trim_end()),
        Some(file) => write(file, text.trim_end()),
    }
}

/// Returns the report of a run, with solutions if they can be found quickly.
pub(crate) fn text_of(path: &Path, format: Format) -> Result<String> {
    let run = RunDirectory::open_for_reading(path)?;
    let workers = journal_tables::workers(&run.journal).context("cannot read run.db")?;
    let names = workers.into_iter().map(|(_, name, _)| name).collect();
    let mut report = Report::new(&run, names, format)?;
    if format.shows_states() {
        report_solutions::add(&mut report, &run)?;
    }
    report.to_text(format)
}

/// Returns an error if the file to be written already exists, or cannot be created because of its name.
pub(crate) fn refuse_taken(file: &Path) -> Result<()> {
    if file.is_symlink() || file.exists() {
        return Err(taken(file));
    }
    let directory = directory_of(file);
    let text = file.as_os_str().as_encoded_bytes();
    let why = match directory {
        _ if text.ends_with(b"/") || text.ends_with(b"/.") => "the name is that of a directory".into(),
        _ if matches!(directory.try_exists(), Ok(false)) => {
            format!("no such directory {}", directory.display())
        }
        _ if directory.is_file() => format!("{} is not a directory", directory.display()),
        _ => return Ok(()),
    };
    Err(bad_input!("cannot write {}: {why}. Choose another file with --output", file.display()))
}

fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file atomically.
pub(crate) fn write(file: &Path, text: &str) -> Result<()> {
    refuse_taken(file)?;
    let directory = directory_of(file);
    // The umask of the user reduces these permissions.
    let permissions = Permissions::from_mode(0o666);
    let made =
        tempfile::Builder::new().prefix(".fathom-report-").permissions(permissions).tempfile_in(directory);
    let mut unfinished = made.map_err(|error| {
        bad_input!(
            "cannot write {}: cannot create a file in {}: {}. Choose another file with --output",
            file.display(),
            directory.display(),
            // The error's own text names the temporary file.
            error.kind()
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
    bad_input!("{} already exists; choose another --output", file.display())
}
