//! `fathom status`.

use crate::arguments::DirectoryArguments;
use anyhow::Result;
use fathom_coordinator::directory::RunDirectory;
use fathom_coordinator::summary::Summary;

pub(crate) fn status(asked: &DirectoryArguments) -> Result<()> {
    let summary = Summary::of(&RunDirectory::open_for_reading(&asked.dir)?)?;
    if asked.json {
        println!("{}", summary.to_json());
    } else {
        println!("{summary}");
        if !summary.complete {
            println!("go on with 'fathom resume {}'", asked.dir.display());
        }
    }
    Ok(())
}
