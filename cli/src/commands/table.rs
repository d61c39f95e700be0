//! `fathom table`.

use crate::arguments::TableArguments;
use crate::commands::export::to_file;
use anyhow::{Context, Result, ensure};
use fathom_command::{bad_input, output, shell};
use fathom_engine::directory::RunDirectory;
use fathom_engine::summary::Summary;
use fathom_layer::LocalDisk;
use fathom_report::text::many;
use fathom_solve::{LayerDistances, SolveModel, SpaceWords, StateRanks, TableMaker};
use indicatif::HumanBytes;

pub(crate) fn table(args: &TableArguments) -> Result<()> {
    // The run is locked, because a search would delete layers while they are read.
    let run = RunDirectory::open_unchanging(&args.dir)?;
    let path = shell::path(&run.path);
    let model = SolveModel::new(&run.manifest.spec).map_err(|error| bad_input!("{error}"))?;
    if model.free().elements().len() > 1 {
        return Err(bad_input!(
            "a table numbers states by the pieces on cells, and the free moves of {} rename these. Use the same puzzle with a piece that is fixed",
            model.name()
        ));
    }
    let kept = LayerDistances::new(&run, args.memory_bytes(), &LocalDisk)?;
    let mut kept = kept.ok_or_else(|| {
        bad_input!("the layers of the run in {path} are on its workers, which this command cannot read")
    })?;
    let Some(largest) = (kept.layers().len() as u32).checked_sub(1).filter(|_| kept.is_complete()) else {
        return Err(bad_input!("the run in {path} is not complete. Continue it with 'fathom resume {path}'"));
    };
    if !kept.has_all_to(largest) {
        return Err(bad_input!(
            "the run in {path} did not keep all layers. Run 'fathom run {} --keep all' in another directory",
            run.manifest.spec.source.name()
        ));
    }
    let ranks = StateRanks::new(&model, model.definition(), &run.manifest.spec.labels)
        .with_context(|| format!("{} has too many arrangements for a table", run.space.slug()))?;
    let needed = TableMaker::bytes(&ranks, largest);
    if needed > args.memory_bytes() {
        return Err(bad_input!(
            "the table has {} entries and takes {}; the memory limit is {}. Raise it with --memory, or distinguish fewer pieces",
            ranks.total(),
            HumanBytes(needed),
            HumanBytes(args.memory_bytes())
        ));
    }
    let maker = TableMaker::new(ranks, largest)
        .with_context(|| format!("distances up to {largest} do not fit in a byte"))?;
    let words = SpaceWords::new(&model, &run.space);
    let cells = model.solved().len();
    let states: u64 = kept.layers().iter().map(|layer| layer.states).sum();
    for depth in 0..=largest {
        let note = |words: Vec<u8>| {
            maker.add(&words, cells, depth);
            Vec::new()
        };
        kept.each_state(depth, &words, &note, &mut |_| Ok(true))?;
    }
    ensure!(
        maker.states() == states,
        "the layers have {} different states, but run.db has {states}. Run 'fathom verify' to find the fault",
        maker.states()
    );
    let digest = Summary::new(&run)?.digest.to_string();
    to_file(&args.output, args.force, |out| {
        maker.write(&run.manifest.spec, (states, largest, digest.clone()), out)
    })?;
    output::remark(&format!("{} with {}", args.output.display(), many(states, "distance")));
    Ok(())
}
