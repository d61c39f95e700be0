//! `fathom status`.

use crate::arguments::DirectoryArguments;
use anyhow::Result;
use fathom_coordinator::directory::RunDirectory;
use fathom_coordinator::output;
use fathom_coordinator::summary::Summary;

pub(crate) fn status(asked: &DirectoryArguments) -> Result<()> {
    let summary = Summary::of(&RunDirectory::open_for_reading(&asked.dir)?)?;
    if asked.json {
        return output::line(&summary.to_json());
    }
    output::line(&summary.to_string())?;
    match summary.complete {
        true => Ok(()),
        false => output::line(&format!("go on with 'fathom resume {}'", asked.dir.display())),
    }
}
