//! `fathom table`.

use crate::arguments::TableArguments;
use anyhow::Result;
use fathom_command::new_file::to_file;
use fathom_command::output;
use fathom_engine::directory::RunDirectory;
use fathom_report::text::many;
use fathom_solve::RunTable;

pub(crate) fn table(args: &TableArguments) -> Result<()> {
    // The run is locked, because a search would delete layers while they are read.
    let run = RunDirectory::open_unchanging(&args.dir)?;
    let table = RunTable::new(&run, args.memory_bytes())?;
    let states = table.states;
    to_file(&args.output, args.force, |out| table.write(out))?;
    output::remark(&format!("{} with {}", args.output.display(), many(states, "distance")));
    Ok(())
}
